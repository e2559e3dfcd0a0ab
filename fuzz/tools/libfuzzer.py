"""What libFuzzer prints, and how to run it: progress, failures and their names, minimising, merging."""

import dataclasses
import hashlib
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import targets  # noqa: E402

# The limit for one input. OSS-Fuzz has the same.
TIMEOUT_S = 25
RSS_LIMIT_MB = 2560
LIMITS = [f"-timeout={TIMEOUT_S}", f"-rss_limit_mb={RSS_LIMIT_MB}"]

PROGRESS = re.compile(r"#(\d+)\t(\w+)\s+(?:cov: (\d+) )?(?:ft: (\d+) )?(?:corp: (\d+)/\S+ )?.*?exec/s: (\d+)")
FRAME = re.compile(r"\s+#\d+ 0x[0-9a-f]+ in (.+?) (/.+?):(\d+)(?::\d+)?$")
CHECK_FAILED = re.compile(r"(\S+):(\d+): check failed: (.*)")
SANITIZER_ERROR = re.compile(r"ERROR: (?:Address|Memory|Leak)Sanitizer: ([a-zA-Z-]+)")
UNDEFINED = re.compile(r"(\S+):(\d+):\d+: runtime error: (.*)")
EXCEPTION = re.compile(r"terminate called after throwing an instance of '([^']+)'")
LIBFUZZER_ERROR = re.compile(r"ERROR: libFuzzer: (.*)")
OF_LIBFUZZER = re.compile(r"#\d|INFO: |Running: |Executed |/.*: Running |Dictionary: |\s*NEW_FUNC|=====")
# Frames that say nothing of the place: they only report.
REPORTERS = ("base/check.cc",)


@dataclasses.dataclass
class Progress:
    executions: int = 0
    coverage: int = 0  # edges
    features: int = 0
    corpus: int = 0  # inputs
    speed: int = 0  # executions per second

    def read(self, line):
        """Takes in a line of the program, of any kind."""
        match = PROGRESS.match(line)
        if match:
            numbers = [int(match.group(i) or 0) for i in (1, 3, 4, 5, 6)]
            self.executions, self.speed = numbers[0], numbers[4]
            self.coverage, self.features, self.corpus = (new or old for new, old in zip(
                numbers[1:4], (self.coverage, self.features, self.corpus)))
        elif line.startswith("stat::number_of_executed_units:"):
            self.executions = int(line.split()[1])


@dataclasses.dataclass(frozen=True)
class Failure:
    """What a program said when it failed. Two inputs with the same kind, function and text show the same defect."""
    kind: str  # one word, e.g. check, heap-buffer-overflow, timeout
    function: str  # the innermost one of ours, or "unknown"
    text: str  # the line that says what is wrong
    detail: str = dataclasses.field(default="", compare=False)  # what the target said before that

    def name(self, content):
        """A name for a file with the input: readable, and another one for other bytes."""
        return "-".join([self.kind, self.function, hashlib.sha1(content).hexdigest()[:8]])


def short_function(name):
    """fencepost::codec::(anonymous namespace)::Cursor::read_bulk(char&) const -> read_bulk"""
    name = re.sub(r"\(anonymous namespace\)", "", name)
    name = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", name.split("(")[0]))
    word = re.sub(r"[^A-Za-z0-9_]", "", name.split("::")[-1].split(" ")[-1])
    return word or "unknown"


def is_ours(path, root):
    """Whether it is a source of this project. Compilers with a cache may have seen it in another folder than `root`."""
    parts = pathlib.PurePath(os.path.normpath(path)).parts
    return any(pathlib.Path(root, *parts[i:]).is_file() for i in range(1, len(parts) - 1))


def place_of(lines, root):
    """The innermost function of our sources in the first stack that has one."""
    for line in lines:
        match = FRAME.match(line)
        if match and not match.group(2).endswith(REPORTERS) and is_ours(match.group(2), root):
            return short_function(match.group(1))
    return "unknown"


def detail_before(lines, number):
    """What the target itself has printed in front of this line."""
    first = number
    while first > max(0, number - 8) and lines[first - 1] and not OF_LIBFUZZER.match(lines[first - 1]):
        first -= 1
    return "; ".join(line.strip() for line in lines[first:number])


def read_failure(output, root):
    """The Failure in what a program printed; nothing is in doubt: what is not known is called a crash."""
    lines = output.splitlines()
    kind, text, detail = "crash", "it ended without a word", ""
    for number, line in enumerate(lines):
        check, sanitizer, undefined, exception, error = (
            pattern.search(line) for pattern in (CHECK_FAILED, SANITIZER_ERROR, UNDEFINED, EXCEPTION, LIBFUZZER_ERROR))
        if check:
            kind, text, detail = "check", f"check failed: {check.group(3)}", detail_before(lines, number)
        elif undefined:
            kind, text = "undefined", undefined.group(3)
        elif exception:
            kind, text = "exception", line.strip()
        elif sanitizer and kind == "crash":
            # What is said of addresses and sizes differs between inputs.
            kind, text = sanitizer.group(1).lower(), f"{sanitizer.group(0)[len('ERROR: '):]}"
            kind = "leak" if kind == "detected" else kind
        elif error and kind == "crash":
            text = error.group(1)
            kind = next((word for word in ("timeout", "out-of-memory") if word in text), "crash")
            text = re.sub(r"\d+", "N", text)
        else:
            continue
        if kind in ("check", "undefined", "exception"):
            break
    return Failure(kind, place_of(lines, root), text, detail)


def processor_time(pid):
    """Seconds that a process has computed; it may have ended, as long as nobody has waited for it."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def environment():
    """For a program: UBSan is to say where it was."""
    return {**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1"}


def run(program, arguments, timeout_s, stop=None, **variables):
    """(exit code, output) of a run of its own. Killed when it takes longer, or when the threading.Event `stop` is set; then
    there is no exit code (None)."""
    end = time.monotonic() + timeout_s
    with subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/",
                          env=environment() | variables, start_new_session=True) as process:
        while True:
            try:
                output, _ = process.communicate(timeout=0.5)
                return process.returncode, output.decode(errors="replace")
            except subprocess.TimeoutExpired:
                if time.monotonic() > end or (stop is not None and stop.is_set()):
                    break
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
    return None, output.decode(errors="replace")


def run_by_itself(program, arguments, timeout_s, stop=None):
    """The same for what libFuzzer runs itself for. It does so through a shell, and quotes nothing: a path that has something
    to quote is given by way of a link to its folder, in a place with a plain name."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        command = [str(program), *map(str, arguments)]
        for number, argument in enumerate(command):
            option, slash, path = argument.partition("/")
            if slash and shlex.quote(argument) != argument:
                link = pathlib.Path(folder, str(number))
                link.symlink_to(os.path.dirname(slash + path))
                command[number] = f"{option}{link / os.path.basename(path)}"
        return run(command[0], command[1:], timeout_s, stop, TMPDIR=folder)


def reproduce(program, arguments, path, root):
    """The Failure that this input shows; nothing when it shows none. `arguments`: of the target."""
    code, output = run(program, [*LIMITS, *arguments, path], 2 * TIMEOUT_S + 30)
    return None if code == 0 else read_failure(output, root)


def minimise(program, arguments, path, failure, root, time_s, scratch, stop=None):
    """The smallest input found in that time that fails as the one at `path` does, as bytes. `scratch`: a folder to use."""
    content = pathlib.Path(path).read_bytes()
    if failure.kind in ("timeout", "out-of-memory"):
        return content  # each attempt takes too long
    smallest = pathlib.Path(scratch) / "minimised"
    smallest.unlink(missing_ok=True)
    run_by_itself(program, ["-minimize_crash=1", f"-max_total_time={time_s}", f"-exact_artifact_path={smallest}", *LIMITS,
                            *arguments, path], time_s, stop)
    if smallest.is_file() and reproduce(program, arguments, smallest, root) == failure:
        content = smallest.read_bytes()
    smallest.unlink(missing_ok=True)
    return content


def merge(program, arguments, into, sources, timeout_s=3600):
    """Adds to the folder `into` what of `sources` covers more than it does. Raises targets.Failure."""
    code, output = run_by_itself(program, ["-merge=1", *arguments, *LIMITS, into, *sources], timeout_s)
    if code != 0:
        raise targets.Failure(f"{pathlib.Path(program).name}: merging failed ({code}): {output[-2000:]}")
