#!/usr/bin/env python3
"""Every command that connects, against every way of hostile_broker.py to misbehave. Each run has to end by itself with a
documented exit code, within its time and 256 MB, without a word of the password and without a control character on the
terminal. What the mode does not touch is done by a broker with a conforming store, so that nothing else is wrong; a green
verdict is bad but where GREEN allows it.

    hostile_campaign.py BIN [--only GLOB] [--commands certify,probe,...] [--driver D] [--jobs N] [--markdown FILE] [--seconds N]
"""
import argparse
import concurrent.futures
import contextlib
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import hostile_broker  # noqa: E402

SECRET = "sesame-4711"
MOST_MEMORY_KB = 256 * 1024
SCENARIO = """area: hostile
cases:
  - id: hostile.set
    title: A key is set and read
    requirements: [SET-OK-1]
    steps:
      - set: {key: k, value: v}
        expect: {reply: ok, ts: {save: v1, greater_than: [sent]}}
      - get: k
        expect: {reply: {value: v}, ts: {equals: v1}}
"""
# Command -> its arguments, and the exit codes that it documents for an endpoint.
COMMANDS = {
    "certify": (["certify", "-q", "--run", "set.*", "--run", "notify.register.*", "--run", "envelope.*", "--skip",
                 "*.more-than-65535-packets"], {0, 1, 3, 4, 5}),
    "probe": (["probe"], {0, 3, 4}),
    "explore": (["explore", "--max-examples", "20", "--duration", "20s"], {0, 1, 3, 4}),
    "record": (["record", "--duration", "2s"], {0, 1, 3, 5}),
    "replay": (["replay"], {0, 1, 3, 4, 5}),
    "stress": (["stress", "-q", "--duration", "2s", "--no-shrink"], {0, 1, 3, 4}),
    "certify-all": (["certify-all", "--run", "set.*", "--out-dir", "out"], {0, 1, 3, 4, 5}),
}
# Where exit code 0 is right: what the broker does is allowed, or the command does not come to see it. What `probe` finds is
# no verdict.
VERDICTS = "certify explore replay stress certify-all"
GREEN = {
    "none": VERDICTS,
    # What MQTT 5 permits: 3.2.2.3.3, 3.2.2.3.14, 3.2.2.3.9 and 3.2.2.3.10; PUBACK "no matching subscribers", 3.4.2.1.
    "connack.receive-maximum-1": VERDICTS, "connack.keep-alive-1": VERDICTS, "connack.reason-string-of-60000": VERDICTS,
    "connack.user-properties-10000": VERDICTS, "puback.reason-0x10": VERDICTS,
    # Answered with 0x92, which "is not an error during recovery": 3.5.2.1, 3.6.2.1, 3.7.2.1.
    "unasked.pubrec": VERDICTS, "unasked.pubrel": VERDICTS, "unasked.pubcomp": VERDICTS,
    # The case that is replayed says nothing of it.
    "envelope.error-properties": "replay",
    # No document says how soon a reply has to come.
    "time.a-second-late": VERDICTS, "time.swapped": VERDICTS,
}
# Other arguments for a command, where a test has set them.
ARGUMENTS = {}


def green_is_allowed(mode, command):
    return command == "probe" or any(command in commands.split() for glob, commands in GREEN.items()
                                     if fnmatch.fnmatch(mode, glob))


class Run:
    def __init__(self, mode, command, code, seconds, memory_kb, output):
        self.mode, self.command = mode, command
        self.code, self.seconds, self.memory_kb, self.output = code, seconds, memory_kb, output

    def complaints(self, limit):
        out = []
        if self.code is None:
            out.append(f"did not end within {limit} s")
        elif self.code < 0:
            out.append(f"was ended by signal {-self.code}")
        elif self.code not in COMMANDS[self.command][1]:
            out.append(f"exit code {self.code}")
        if self.code == 0 and not green_is_allowed(self.mode, self.command):
            out.append("green")
        if self.memory_kb > MOST_MEMORY_KB:
            out.append(f"{self.memory_kb // 1024} MB")
        if SECRET in self.output:
            out.append("prints the password")
        if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", self.output):
            out.append("prints control characters")
        if "Sanitizer" in self.output or "runtime error" in self.output:
            out.append("a sanitizer complains")
        if self.code == 3 and not self.output.strip():
            out.append("says nothing")
        return out


def run(program, mode, command, limit, options=(), behind=None):
    arguments = [*(ARGUMENTS.get(command) or COMMANDS[command][0]), *options]
    with tempfile.TemporaryDirectory() as folder, hostile_broker.Hostile(
            hostile_broker.MODES[mode], behind) as broker:
        url = f"mqtt://user:{SECRET}@127.0.0.1:{broker.port}"
        words = [program, *arguments]
        if command == "certify-all":
            fleet = os.path.join(folder, "fleet.txt")
            pathlib.Path(fleet).write_text(f"one {url}\n", encoding="utf-8")
            words += [fleet]
        else:
            words += ["--endpoint", url]
        if command == "record":
            words += ["--out", os.path.join(folder, "recorded.yaml")]
        if command == "replay":
            case = os.path.join(folder, "case.yaml")
            pathlib.Path(case).write_text(SCENARIO, encoding="utf-8")
            words += [case]
        begin = time.monotonic()
        log = open(os.path.join(folder, "log"), "w+b")
        child = subprocess.Popen(words, cwd=folder, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        memory_kb, stopped = 0, False
        # The most memory that the kernel has counted for wait4() is that of this process, too, before exec.
        while child.poll() is None:
            for each in (child.pid, *children_of(child.pid)):
                memory_kb = max(memory_kb, high_water_mark_kb(each))
            if time.monotonic() - begin > limit and not stopped:
                stopped = True
                child.kill()
            time.sleep(0.02)
        seconds = time.monotonic() - begin
        log.seek(0)
        output = log.read().decode("utf-8", "replace")
        for written in pathlib.Path(folder).glob("out/*.log"):  # what the runs of certify-all have said
            output += written.read_text("utf-8", "replace")
        log.close()
        return Run(mode, command, None if stopped else child.returncode, seconds, memory_kb, output)


@contextlib.contextmanager
def serving(program):
    """The port of a broker with the reference store."""
    with tempfile.TemporaryDirectory() as folder:
        ready = pathlib.Path(folder) / "ready"
        child = subprocess.Popen([program, "serve", "--port", "0", "--ready-file", ready], stdout=subprocess.DEVNULL)
        try:
            while not ready.exists() and child.poll() is None:
                time.sleep(0.02)
            yield int(re.search(r":(\d+)", ready.read_text("utf-8")).group(1))
        finally:
            child.terminate()
            child.wait()


def children_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return []


def high_water_mark_kb(pid):
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
    except OSError:
        return 0
    return int(found.group(1)) if found else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("--only", action="append", default=[], metavar="GLOB")
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--driver", choices=["builtin", "paho"])
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--markdown", metavar="FILE")
    parser.add_argument("--memory", type=int, default=256, metavar="MB", help="of a run at most; sanitized ones need 4096")
    options = parser.parse_args()
    global MOST_MEMORY_KB
    MOST_MEMORY_KB = options.memory * 1024
    program = str(pathlib.Path(options.bin).resolve() / "fencepost")
    names = [name for name in hostile_broker.MODES if not options.only or any(fnmatch.fnmatch(name,
            glob) for glob in options.only)]
    work = [(name, command) for name in names for command in options.commands.split(",")]
    bad, runs = 0, []
    with serving(program) as behind, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        driver = ["--driver", options.driver] if options.driver else []
        for result in pool.map(lambda each: run(program, *each, options.seconds, driver, behind), work):
            runs.append(result)
            complaints = result.complaints(options.seconds)
            if not complaints:
                continue
            bad += 1
            print(f"BAD  {result.command} {result.mode}: {'; '.join(complaints)} ({result.seconds:.1f} s)")
            print("".join("     " + line + "\n" for line in result.output.splitlines()[-6:]), end="", flush=True)
    worst = max(runs, key=lambda each: each.seconds)
    most = max(runs, key=lambda each: each.memory_kb)
    green = sum(each.code == 0 and not green_is_allowed(each.mode, each.command) for each in runs)
    print(f"hostile: {len(names)} modes, {len(runs)} runs, {bad} bad, {green} of them false greens; "
          f"longest {worst.seconds:.1f} s ({worst.command} {worst.mode}), "
          f"most memory {most.memory_kb // 1024} MB ({most.command} {most.mode})")
    if options.markdown:
        pathlib.Path(options.markdown).write_text(table(runs, options.seconds), encoding="utf-8")
    return 1 if bad else 0


def table(runs, limit):
    """Exit codes by mode and command, which of these may be green, and what was worst."""
    commands = list(dict.fromkeys(each.command for each in runs))
    lines = ["| what the broker does | " + " | ".join(commands) + " | green allowed | longest | most memory |",
            "|---" * (len(commands) + 4) + "|"]
    for mode in dict.fromkeys(each.mode for each in runs):
        of = {each.command: each for each in runs if each.mode == mode}
        codes = [str(of[name].code) + ("!" if of[name].complaints(limit) else "") for name in commands]
        green = [name for name in commands if name != "probe" and green_is_allowed(mode, name)]
        allowed = "all" if len(green) > 1 else ", ".join(green) or "no"
        lines.append(f"| `{mode}` | " + " | ".join(codes) + f" | {allowed} | {max(each.seconds for each in of.values()):.1f} s "
                     f"| {max(each.memory_kb for each in of.values()) // 1024} MB |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
