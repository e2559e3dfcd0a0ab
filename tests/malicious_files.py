#!/usr/bin/env python3
"""Files that are no good, of every format that the program reads: each has to be refused, or read, within 5 s and 1 GB, with a
documented exit code and, where it is refused, with a word.

    malicious_files.py BIN [--only GLOB] [--quick] [--jobs N] [--markdown FILE] [--megabytes N] [--memory MB] [--seconds N]

A file is FORMAT.CONTENT, e.g. `report.open-brackets`. Contents are of 10 MB, unless --megabytes says otherwise.
"""
import argparse
import concurrent.futures
import fnmatch
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEGABYTE = 1_000_000
SCENARIO = (pathlib.Path(__file__).parent / "one_case.yaml").read_text(encoding="utf-8")
BASELINE = """version: 1
fail:
  - case: set.*
    reason: "known"
"""
DESCRIPTOR = """version: 1
url: mqtt://127.0.0.1:1
"""
HISTORY = (ROOT / "tests/histories/ok-lost-write.jsonl").read_text(encoding="utf-8")
EDN = """INFO  jepsen.util - 0\t:invoke\t:write\t3
INFO  jepsen.util - 0\t:ok\t:write\t3
INFO  jepsen.util - 1\t:invoke\t:read\tnil
INFO  jepsen.util - 1\t:ok\t:read\t3
"""
TRACE = "# a workload\nset c0 0 \"v\" opts=0\nget c0 0\n"
AUTHORIZATION = '{"version": 1, "roles": []}'
FLEET = "one mqtt://127.0.0.1:1\n"
LOG = '{"fencepost_capture_log":1}\n{"t":1,"what":"request","client":"c","topic":"t","payload":"x"}\n'
ONE_CASE = ["--endpoint", "inproc:", "--run", "get.hit.*", "-q"]

# Format -> (name of the file, the command with {} for its path, a file that is right)
FORMATS = {
    "scenario": ("f.yaml", ["lint", "{}"], SCENARIO),
    "saved-case": ("f.yaml", ["replay", "{}", "--endpoint", "inproc:"], SCENARIO),
    "catalogue": ("requirements.yaml", ["lint", "{}"],
                  'version: 1\nrequirements:\n  - id: A-1\n    text: "a"\n    level: must\n'),
    "descriptor": ("f.yaml", ["certify", "--descriptor", "{}", "--dry-run", "-q"], DESCRIPTOR),
    "baseline": ("f.yaml", ["certify", *ONE_CASE, "--baseline", "{}"], BASELINE),
    "baseline-list": ("f.txt", ["certify", *ONE_CASE, "--baseline", "{}"], "set.*  # known\n"),
    "report": ("f.json", ["merge", "{}"], None),
    "report-compare": ("f.json", ["compare", "{}", "{}"], None),
    "report-site": ("f.json", ["compare", "--site", "site", "{}"], None),
    "report-matrix": ("f.json", ["matrix", "--report", "{}"], None),
    "report-failed": ("f.json", ["certify", "--dry-run", "--last-failed", "{}"], None),
    "history": ("f.jsonl", ["check", "{}"], HISTORY),
    "edn": ("f.log", ["check", "{}"], EDN),
    "trace": ("f.trace", ["explore", "--endpoint", "inproc:", "--replay", "{}"], TRACE),
    "authorization": ("f.json", ["serve", "--port", "0", "--authorization", "{}"], AUTHORIZATION),
    "certificate": ("f.pem", ["serve", "--port", "0", "--certificate", "{}", "--key", "{}"], None),
    "client-ca": ("f.pem", ["serve", "--port", "0", "--tls", "ca.pem", "--client-ca", "{}"], None),
    "password": ("f.txt", ["serve", "--port", "0", "--user", "u", "--password-file", "{}"], "sesame\n"),
    "fleet": ("f.txt", ["certify-all", "{}", "--out-dir", "out"], FLEET),
    "capture-log": ("f.log", ["record", "--out", "out.yaml", "--from", "{}"], LOG),
    "pcap": ("f.pcap", ["record", "--out", "out.yaml", "--pcap", "{}"], None),
}
CODES = {0, 1, 2, 3, 4, 5}
# A line is no more than this; what the program quotes of a file is cut.
MOST_WORDS = 4_000_000


def repeated(text):
    text = text if isinstance(text, bytes) else text.encode()
    return lambda size, right: text * (size // len(text))


def laughs(size, right):
    """Aliases of aliases: 10^9 words of a few lines."""
    del size, right
    lines = ["a0: &a0 [lol, lol, lol]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    return "\n".join(lines).encode()


def stairs(size, right):
    """Each line a blank further in."""
    del right
    depth = int((2 * size) ** 0.5)
    return b"".join(b" " * i + b"a:\n" for i in range(depth))


def noise(size, right):
    del right
    return random.Random(1).randbytes(size)


def behind(text):
    """Something right, and then this without end."""
    return lambda size, right: right + repeated(text)(size, right)


def within(size, right):
    """The first value that there is, of that size."""
    found = re.search(rb'(?<=: )"?(\w)', right) or re.search(rb"()", right)
    at = found.start(1)
    return right[:at] + b"x" * size + right[at:]


CONTENTS = {
    "empty": lambda size, right: b"", "line-end": lambda size, right: b"\n", "comma": lambda size, right: b",",
    "nuls": repeated(b"\0"), "line-ends": repeated("\n"), "returns": repeated("\r"), "blanks": repeated(" "),
    "tabs": repeated("\t"), "one-line": repeated("a"), "two-lines": lambda size, right: b"a" * size + b"\n" + b"b" * size,
    "words": repeated("a "), "lines": repeated("a\n"),
    "not-utf-8": repeated(b"\xff\xfe\x80"), "latin-1": repeated(b"caf\xe9\n"),
    "surrogates": repeated(b"\xed\xa0\x80"), "marks": repeated(b"\xef\xbb\xbf"), "utf-16": repeated("ab\n".encode("utf-16")),
    "escapes": repeated("\x1b[2J\x1b]0;x\x07"), "open-brackets": repeated("["), "open-braces": repeated("{"),
    "both-open": repeated('{"a":['), "closed": repeated("]"), "empty-lists": lambda size, right: b"[" + b"[]," * (size // 3),
    "list-of-lists": lambda size, right: b"[" + b"[]," * (size // 3) + b"[]]",
    "list-of-numbers": lambda size, right: b"[" + b"1," * (size // 2) + b"1]",
    "list-of-objects": lambda size, right: b"[" + b'{"a":1},' * (size // 8) + b"1]",
    "members": lambda size, right: b"{" + b",".join(b'"%d":%d' % (i, i) for i in range(size // 16)) + b"}",
    "same-members": lambda size, right: b'{"a":1' + b',"a":1' * (size // 6) + b"}",
    "quote": lambda size, right: b'"' + b"a" * size, "quotes": repeated('"'), "apostrophes": repeated("'"),
    "backslashes": lambda size, right: b'"' + b"\\" * size + b'"',
    "escaped": lambda size, right: b'"' + b"\\u0041" * (size // 6) + b'"',
    "digits": repeated("9"), "exponent": lambda size, right: b"1e" + b"9" * size, "signs": repeated("-"),
    "dashes": repeated("- "), "colons": repeated(": "), "keys": repeated("a: "), "questions": repeated("? "),
    "anchors": repeated("&a "), "aliases": repeated("*a "), "tags": repeated("!a "), "exclamations": repeated("!"),
    "laughs": laughs, "stairs": stairs, "documents": repeated("---\n"), "document-ends": repeated("...\n"),
    "directives": repeated("%YAML 1.2\n"), "comments": repeated("# a\n"),
    "one-comment": lambda size, right: b"#" + b"a" * size,
    "block": lambda size, right: b"a: |\n" + b"  b\n" * (size // 4),
    "folded": lambda size, right: b"a: >\n" + b"  b\n" * (size // 4),
    "list": repeated("- a\n"), "map": lambda size, right: b"".join(b"%d: a\n" % i for i in range(size // 10)),
    "same-keys": repeated("a: b\n"), "noise": noise,
    "right-cut": lambda size, right: right[:len(right) * 2 // 3], "right-twice": lambda size, right: right * 2,
    "right-many": lambda size, right: right * (size // max(len(right), 1)), "right-then-nuls": behind(b"\0"),
    "right-then-line": behind("a"), "right-then-brackets": behind("["), "right-then-comments": behind("# a\n"),
    "right-then-line-ends": behind("\n"), "right-with-returns": lambda size, right: right.replace(b"\n", b"\r\n"),
    "right-huge-value": within, "right-reversed": lambda size, right: right[::-1],
    "right-numbers-huge": lambda size, right: re.sub(rb"\d+", b"9" * 400, right),
    "right-numbers-negative": lambda size, right: re.sub(rb"\b\d", rb"-\g<0>", right),
    "right-quotes-lost": lambda size, right: right.replace(b'"', b"", 5),
}
# What is no file of bytes.
KINDS = ["missing", "folder", "pipe", "zeros", "full", "loop", "socket", "self-memory"]
JSON_CONTENTS = {"open-brackets", "open-braces", "both-open", "list-of-lists", "list-of-numbers", "list-of-objects", "members",
                 "same-members", "escaped", "digits", "exponent", "nuls", "one-line", "noise", "right-cut", "right-many",
                 "right-huge-value", "right-numbers-huge", "right-numbers-negative", "empty", "quote", "right-then-nuls",
                 "not-utf-8", "line-ends"}
# Which contents say something of a format: those that its reader tells from others. The rest get the short list.
WHOLE = {"scenario", "baseline", "baseline-list", "descriptor", "report", "history"}
SHORT = {"empty", "nuls", "one-line", "lines", "not-utf-8", "open-brackets", "stairs", "noise", "right-cut", "right-many",
         "right-huge-value", "right-then-line", "line-ends"}
QUICK = ["scenario.open-brackets", "scenario.laughs", "scenario.stairs", "scenario.zeros", "scenario.keys", "baseline.one-line",
         "baseline-list.one-line", "baseline-list.line-ends", "baseline.comments", "descriptor.noise", "descriptor.loop",
         "report.open-brackets", "report.list-of-lists", "report.folder", "report-compare.list-of-numbers", "history.nuls",
         "history.one-line", "history.zeros", "history.right-many", "edn.right-many", "trace.lines", "fleet.escapes",
         "authorization.open-brackets", "fleet.right-many", "certificate.noise", "password.zeros", "capture-log.open-brackets"]


def modes():
    out = []
    for name in FORMATS:
        if name in WHOLE:
            wanted = list(CONTENTS)
        elif name.startswith("report"):
            wanted = [each for each in CONTENTS if each in JSON_CONTENTS]
        else:
            wanted = [each for each in CONTENTS if each in SHORT]
        out += [f"{name}.{each}" for each in wanted + KINDS]
    return out


class Run:
    def __init__(self, mode, code, seconds, memory_kb, output, size):
        self.mode, self.code, self.seconds, self.memory_kb = mode, code, seconds, memory_kb
        self.output, self.size = output, size

    def complaints(self, seconds, megabytes):
        out = []
        if self.code is None:
            out.append("did not end")
        elif self.code < 0:
            out.append(f"was ended by signal {-self.code}")
        elif self.code not in CODES:
            out.append(f"exit code {self.code}")
        if self.seconds > seconds:
            out.append(f"{self.seconds:.1f} s")
        if self.memory_kb > megabytes * 1024:
            out.append(f"{self.memory_kb // 1024} MB")
        if len(self.output) > MOST_WORDS:
            out.append(f"says {len(self.output)} bytes")
        if re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", self.output):
            out.append("prints control characters")
        if b"Sanitizer" in self.output or b"runtime error" in self.output:
            out.append("a sanitizer complains")
        if self.code == 2 and not self.output.strip():
            out.append("says nothing")
        return out

    def word(self):
        """The first error."""
        lines = [line for line in self.output.decode("utf-8", "replace").splitlines() if line.strip()]
        return lines[0] if lines else ""


def make(path, kind, size, right, kept):
    """The file; how many bytes it has."""
    if kind in CONTENTS:
        content = CONTENTS[kind](size, right)
        path.write_bytes(content)
        return len(content)
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
        kept.append(os.open(path, os.O_RDWR))  # somebody has it open and never writes
    elif kind == "zeros":
        path.symlink_to("/dev/zero")
    elif kind == "full":
        path.symlink_to("/dev/full")
    elif kind == "self-memory":
        path.symlink_to("/proc/self/mem")
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "socket":
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        kept.append(listener)
    return 0


def run(program, mode, size, right_report, limit):
    name, kind = mode.rsplit(".", 1)
    file_name, words, right = FORMATS[name]
    right = right.encode() if right is not None else right_report
    kept = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / file_name
        bytes_of = make(path, kind, size, right, kept)
        log = open(pathlib.Path(folder) / "log", "w+b")
        command = [program] + [str(path) if word == "{}" else word for word in words]
        ready = pathlib.Path(folder) / "ready"
        if words[0] == "serve":
            command += ["--ready-file", str(ready)]
        begin = time.monotonic()
        child = subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        memory_kb, taken, stopped = 0, False, False
        while True:
            memory_kb = max(memory_kb, high_water_mark_kb(child.pid))
            pid, status, used = os.wait4(child.pid, os.WNOHANG)
            if pid != 0:
                child.returncode = os.waitstatus_to_exitcode(status)
                break
            if words[0] == "serve" and not taken and ready.exists():
                taken = True
                child.terminate()
            if time.monotonic() - begin > limit and not stopped:
                stopped = True
                child.kill()
            time.sleep(0.005)
        # What others do on this machine is not the program's doing.
        seconds = used.ru_utime + used.ru_stime
        log.seek(0)
        output = log.read(MOST_WORDS + 1)
        log.close()
        for each in kept:
            os.close(each) if isinstance(each, int) else each.close()
        return Run(mode, None if stopped else child.returncode, seconds, memory_kb, output, bytes_of)


def high_water_mark_kb(pid):
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
    except OSError:
        return 0
    return int(found.group(1)) if found else 0


def make_report(program):
    """What a run of a conforming store has written."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "report.json"
        subprocess.run([program, "certify", "--endpoint", "inproc:", "--run", "set.*", "-q", "--json", path, "--transcripts",
                        "all"], check=False, capture_output=True)
        return path.read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("--only", action="append", default=[], metavar="GLOB")
    parser.add_argument("--quick", action="store_true", help="a selection")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--memory", type=int, default=1024, metavar="MB")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--markdown", metavar="FILE")
    options = parser.parse_args()
    program = str(pathlib.Path(options.bin).resolve() / "fencepost")
    names = QUICK if options.quick else modes()
    names = [each for each in names if not options.only or any(fnmatch.fnmatch(each, glob) for glob in options.only)]
    report = make_report(program)
    size = int(options.megabytes * MEGABYTE)
    runs, bad = [], 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for one in pool.map(lambda mode: run(program, mode, size, report, options.seconds * 60), names):
            runs.append(one)
            if options.verbose:
                print(f"     {one.mode}: {one.code} {one.seconds:.2f} s {one.memory_kb // 1024} MB {one.word()[:160]!r}",
                      flush=True)
            complaints = one.complaints(options.seconds, options.memory)
            if complaints:
                bad += 1
                print(f"BAD  {one.mode}: {'; '.join(complaints)}: {one.word()[:200]!r}", flush=True)
    worst = max(runs, key=lambda each: each.seconds)
    most = max(runs, key=lambda each: each.memory_kb)
    print(f"malicious files: {len(runs)}, {bad} bad; longest {worst.seconds:.1f} s ({worst.mode}), "
          f"most memory {most.memory_kb // 1024} MB ({most.mode})")
    if options.markdown:
        pathlib.Path(options.markdown).write_text(table(runs, options), encoding="utf-8")
    return 1 if bad else 0


def table(runs, options):
    lines = ["| format | read by | files | bad | longest | most memory |", "|---|---|---|---|---|---|"]
    for name, (_, words, _) in FORMATS.items():
        of = [each for each in runs if each.mode.rsplit(".", 1)[0] == name]
        if not of:
            continue
        worst = max(of, key=lambda each: each.seconds)
        most = max(of, key=lambda each: each.memory_kb)
        bad = sum(bool(each.complaints(options.seconds, options.memory)) for each in of)
        lines.append(f"| {name} | `{words[0]}` | {len(of)} | {bad} | {worst.seconds:.1f} s ({worst.mode.rsplit('.', 1)[1]}) "
                     f"| {most.memory_kb // 1024} MB ({most.mode.rsplit('.', 1)[1]}) |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
