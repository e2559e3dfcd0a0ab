"""Runs the parts of ci/test and says what each came to. ci/test calls it, with everything installed that it needs.

Every part runs, also after a failure; what needs a build that failed is "not run". Builds follow one another, and the
tests of one build run beside the next build, because many tests wait more than they compute. A part's output is in a file of
its own and is shown only where the part failed.
"""

import argparse
import dataclasses
import datetime
import fnmatch
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["FENCEPOST_BUILD_DIR"])  # of ci/paths.sh
LOGS = BUILD / "test-logs"
# What each part of --full came to when it last ran, for the line that ci/test ends with.
FULL_RECORD = BUILD / "full.json"
# Tests print these where something that they need is missing on this machine.
LEFT_OUT = re.compile(r"^NOT CHECKED.*|.*\.\.\. skipped .*|^\[  SKIPPED \] .* ms.*", re.MULTILINE)
# tests/harness.py skips with this what is marked with full().
ONLY_FULL = "only in ci/test --full"
HEARTBEAT_SECONDS = 60
EXIT_INTERRUPTED = 130
# A part that cannot run on this machine exits with this (as tests that use automake's convention do), after saying why.
EXIT_SKIPPED = 77


@dataclasses.dataclass
class Part:
    """Something that runs as one command. Parts of one lane follow one another, lanes run beside each other."""

    name: str
    command: list
    lane: str
    after: tuple = ()  # names of parts that have to succeed first
    behind: tuple = ()  # names of parts that have to end first, however they end
    is_ctest: bool = False
    full: bool = False  # belongs to --full alone
    environment: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Outcome:
    part: Part
    result: str = "not run"  # ok, FAILED, not run, skipped
    seconds: float = 0
    processor_seconds: float = 0  # of the part and of all that it has started and waited for
    passed: int = 0
    only_full: int = 0  # of the passed and skipped ones: methods that are left to --full
    failed: list = dataclasses.field(default_factory=list)  # names of tests
    left_out: list = dataclasses.field(default_factory=list)
    skipped: int = 0
    reason: str = ""


def ctest(name, preset, lane, after, *arguments, **more):
    return Part(name, ["ctest", "--test-dir", str(BUILD / preset), "--no-tests=error", "--output-on-failure", *arguments],
                lane, after, is_ctest=True, **more)


def parts_of_the_gate(full):
    """Every line of the table at the end. `full`: with the tests that are marked as too long for the gate."""
    some = [] if full else ["-LE", "full"]
    # See tests/harness.py and base/gate.h; and of random inputs half as many as by default.
    tests = {} if full else {"FENCEPOST_GATE": "1", "RC_PARAMS": "max_success=50 seed=1"}
    return [
        Part("format", ["ci/tidy", "--format"], "format"),
        # As ci/certify builds it, so that nothing is compiled twice: warnings are errors in the other builds.
        Part("build release", ["ci/build", "release", "system_tests", *(["full_tests"] if full else [])], "build",
             environment={"FENCEPOST_WARNINGS_AS_ERRORS": "OFF"}),
        Part("build asan", ["ci/build", "asan"], "build"),
        Part("build tsan", ["ci/build", "tsan", "threaded_tests", *(["fencepost"] if full else [])], "build",
             ("build release",)),
        # Behind the build that its tests would make three times as long, while the other lanes waited for that.
        ctest("program", "release", "program", ("build release",), "-j", "6", "-L", "system", *some, environment=tests,
              behind=("build asan",)),
        ctest("units", "asan", "units", ("build asan",), "-j", "3", *some, environment=tests),
        ctest("threads", "tsan", "threads", ("build tsan",), "-j", "3", "-L", "broker", *some, environment=tests),
    ]


def parts_of_full():
    """What takes longer than a person waits. docs/TESTING.md says why each is here."""
    release = str(BUILD / "release")

    def one(name, *command, after=("build release",)):
        return Part(name, list(command), "full", after, full=True)

    return [
        one("tidy", "ci/tidy", after=()),
        one("prose", "ci/prose", after=()),
        one("adapters", "ci/clients", "--build", release),
        one("other stores", "ci/other-stores", "--build", release),
        one("hostile", "ci/hostile", release),
        one("kills", "ci/kills", f"{release}/bin/fencepost"),
        one("live faults", "ci/live-faults"),
        one("link-time", "ci/odr", after=()),
        one("build gcc", "ci/build", "gcc", after=()),
        one("bare root", "ci/bare", after=()),
    ]


class Runner:
    """Runs parts in lanes, one thread a lane."""

    def __init__(self, parts):
        self.outcomes = {part.name: Outcome(part) for part in parts}
        self.finished = {part.name: threading.Event() for part in parts}
        self.lock = threading.Lock()
        self.running = {}  # name -> process
        self.begun = {}
        self.stopped = False

    def run(self):
        lanes = {}
        for outcome in self.outcomes.values():
            lanes.setdefault(outcome.part.lane, []).append(outcome)
        threads = [threading.Thread(target=self.run_lane, args=(lane,), daemon=True) for lane in lanes.values()]
        for thread in threads:
            thread.start()
        beat = time.monotonic()
        while any(thread.is_alive() for thread in threads):
            for thread in threads:
                thread.join(0.2)
            if time.monotonic() - beat >= HEARTBEAT_SECONDS:
                beat = time.monotonic()
                self.say_what_runs()
        return list(self.outcomes.values())

    def say_what_runs(self):
        with self.lock:
            texts = [f"{name} ({time.monotonic() - self.begun[name]:.0f} s)" for name in self.running]
        say("      running: " + ", ".join(texts))

    def run_lane(self, outcomes):
        for outcome in outcomes:
            missing = ""
            for name in outcome.part.behind:
                if name in self.finished:
                    self.finished[name].wait()
            for name in outcome.part.after:
                if name in self.finished:
                    self.finished[name].wait()
                    if self.outcomes[name].result != "ok":
                        missing = name
            if missing or self.stopped:
                outcome.reason = f"needs {missing}" if missing else "interrupted"
            else:
                self.run_part(outcome)
            self.finished[outcome.part.name].set()

    def run_part(self, outcome):
        part = outcome.part
        log = log_of(part)
        command = list(part.command)
        if part.is_ctest:
            command += ["--output-junit", str(junit_of(part)), "--test-output-size-passed", "1000000",
                        "--test-output-size-failed", "1000000"]
            junit_of(part).unlink(missing_ok=True)
        begun = time.monotonic()
        with log.open("wb") as out:
            process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                       env={**os.environ, "FENCEPOST_WARNINGS_AS_ERRORS": "ON", **part.environment},
                                       start_new_session=True)
            with self.lock:
                self.running[part.name] = process
                self.begun[part.name] = begun
            # Popen.wait() does not say what the process has used.
            _, status, used = os.wait4(process.pid, 0)
            code = process.returncode = os.waitstatus_to_exitcode(status)
        with self.lock:
            del self.running[part.name]
        outcome.seconds = time.monotonic() - begun
        outcome.processor_seconds = used.ru_utime + used.ru_stime
        outcome.result = {0: "ok", EXIT_SKIPPED: "skipped"}.get(code, "FAILED")
        if code < 0 and self.stopped:
            outcome.result, outcome.reason = "not run", "interrupted"
        if part.is_ctest:
            read_tests(junit_of(part), outcome)
        else:
            text = log.read_text(encoding="utf-8", errors="replace")
            outcome.left_out = [line for line in text.splitlines() if line.startswith("NOT CHECKED")]
            if outcome.result == "skipped":
                outcome.reason = (text.strip().splitlines() or ["without a reason"])[-1]
        say(line_of(outcome))
        if outcome.result == "FAILED":
            say(end_of(outcome))

    def stop(self):
        """Ends what runs, with all that it has started."""
        self.stopped = True
        with self.lock:
            for process in self.running.values():
                try:
                    os.killpg(process.pid, signal.SIGTERM)
                except ProcessLookupError:
                    pass


def say(text):
    print(text, flush=True)


def log_of(part):
    return LOGS / (part.name.replace(" ", "-") + ".log")


def junit_of(part):
    return log_of(part).with_suffix(".xml")


def read_tests(path, outcome):
    """What ctest says of each test; a test that was skipped here for want of a tool passes, and is named."""
    try:
        cases = ElementTree.parse(path).getroot().iter("testcase")
    except (OSError, ElementTree.ParseError) as error:
        outcome.result = "FAILED" if outcome.result == "ok" else outcome.result
        outcome.reason = outcome.reason or f"no results of ctest: {error}"
        return
    for case in cases:
        said = case.findtext("system-out") or ""
        if case.get("status") == "run":
            outcome.passed += 1
        elif case.get("status") in ("notrun", "disabled"):
            outcome.skipped += 1
            outcome.left_out.append(f"{case.get('name')}: {(said.strip().splitlines() or ['was not run'])[-1]}")
        else:
            outcome.failed.append((case.get("name"), said))
        for line in LEFT_OUT.findall(said):
            if ONLY_FULL in line:
                outcome.only_full += 1
            else:
                outcome.left_out.append(f"{case.get('name')}: {line.strip()}")


def again(part, test=""):
    """The command that runs this part, or one test of it, alone; to be pasted into a shell in the repository."""
    words = [str(word) for word in part.command]
    words = [os.path.relpath(word, ROOT) if word.startswith(str(ROOT) + "/") else word for word in words]
    if test:
        words = [*words[:3], "--output-on-failure", "-R", f"^{re.escape(test)}$"]
    return shlex.join(words)


def tests_of(outcome):
    if not outcome.part.is_ctest or outcome.result in ("not run", "skipped"):
        return "-"
    return f"{outcome.passed} of {outcome.passed + len(outcome.failed)}"


def line_of(outcome):
    reason = f" ({outcome.reason})" if outcome.reason else ""
    times = f"{outcome.seconds:7.0f} s{outcome.processor_seconds:9.0f} s"
    return f"{outcome.result:8}{outcome.part.name:16}{tests_of(outcome):>12}{times}{reason}"


def failures_in(said):
    """What a test printed of its failures: the blocks that failed of googletest's or unittest's, or the end of all."""
    blocks = []
    for block in re.split(r"^(?=\[ RUN      \])", said, flags=re.MULTILINE):
        lines = block.splitlines()
        ends = [at for at, line in enumerate(lines) if line.startswith("[  FAILED  ]") and line.endswith(" ms)")]
        if block.startswith("[ RUN ") and ends:
            blocks += lines[: ends[0] + 1][-40:]
    before, line, failures = said.partition(f"\n{'=' * 70}\n")  # unittest's, behind the names of all its tests
    return blocks or (failures if line else before).rstrip().splitlines()[-40:]


def end_of(outcome):
    """What somebody needs to see of a part that failed: the failures of its tests, or the end of its log."""
    lines = []
    for name, said in outcome.failed:
        lines += [f"--- {name}: what it printed of its failures", *failures_in(said)]
    if not lines:
        text = log_of(outcome.part).read_text(encoding="utf-8", errors="replace")
        lines = [f"--- {outcome.part.name}: the end of what it printed", *text.rstrip().splitlines()[-60:]]
    return "\n".join(["    " + line for line in lines])


def print_table(outcomes):
    say("")
    say(f"{'result':8}{'part':16}{'tests':>12}{'time':>9}{'processor':>11}")
    for outcome in outcomes:
        say(line_of(outcome))
    bad = [outcome for outcome in outcomes if outcome.result in ("FAILED", "not run")]
    if bad:
        say("\nrun alone what failed:")
    for outcome in bad:
        if outcome.result == "not run":
            continue
        for name, _ in outcome.failed:
            say("  " + again(outcome.part, name))
        if not outcome.failed:
            say("  " + again(outcome.part))
    for outcome in outcomes:
        for line in outcome.left_out:
            say(f"left out here: {line}")


def commit():
    done = subprocess.run(["git", "-c", "safe.directory=*", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True,
                          text=True, check=False)
    return done.stdout.strip() or "no commit"


def read_record():
    try:
        return json.loads(FULL_RECORD.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def keep_record(outcomes):
    record = read_record()
    now = datetime.datetime.now().strftime("%Y-%m-%d %H:%M")
    for outcome in outcomes:
        if outcome.result != "not run":
            record[outcome.part.name] = {"when": now, "commit": commit(), "result": outcome.result}
    FULL_RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def line_of_full():
    """One line that says when each part of --full last ran here, so that nobody forgets it."""
    record = read_record()
    names = [part.name for part in parts_of_full()]
    known = [name for name in ["program", *names] if name in record]
    if not known:
        return "ci/test --full has not run in this folder"
    texts = [f"{name} {entry['result']} {entry['when']} at {entry['commit']}"
             for name in known for entry in [record[name]]]
    never = [name for name in names if name not in record]
    return "ci/test --full: " + "; ".join(texts + ([f"never: {', '.join(never)}"] if never else []))


def main():
    parser = argparse.ArgumentParser(prog="ci/test", add_help=False)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--set-up-seconds", type=float, default=0)
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()

    parts = parts_of_the_gate(options.full) + (parts_of_full() if options.full else [])
    if options.list:
        for part in parts_of_the_gate(False) + parts_of_full():
            say(f"{part.name:16}{'--full  ' if part.full else '        '}{again(part)}")
        return 0
    if options.parts:
        parts = [part for part in parts_of_the_gate(options.full) + parts_of_full()
                 if any(fnmatch.fnmatch(part.name, glob) for glob in options.parts)]
        if not parts:
            names = ", ".join(part.name for part in parts_of_the_gate(False) + parts_of_full())
            print(f"ci/test: no part is called {' or '.join(options.parts)}; there are: {names}", file=sys.stderr)
            return 2
    LOGS.mkdir(parents=True, exist_ok=True)

    begun = time.monotonic()
    runner = Runner(parts)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: runner.stop())
    outcomes = runner.run()
    if options.full or options.parts:
        keep_record([outcome for outcome in outcomes if options.full or outcome.part.full])
    print_table(outcomes)
    say(f"\n{line_of_full()}")
    passed = sum(outcome.passed if outcome.part.is_ctest else outcome.result == "ok" for outcome in outcomes)
    failed = sum(max(len(outcome.failed), outcome.result in ("FAILED", "not run")) for outcome in outcomes)
    skipped = sum(outcome.skipped + (outcome.result == "skipped") for outcome in outcomes)
    only_full = sum(outcome.only_full for outcome in outcomes)
    if only_full:
        say(f"{only_full} tests are left to ci/test --full")
    minutes, seconds = divmod(round(options.set_up_seconds + time.monotonic() - begun), 60)
    say(f"ci/test took {minutes} min {seconds} s")
    # In this form for those who count the tests of any runner.
    say(f"{passed} passed, {failed} failed, {skipped} skipped")
    if runner.stopped:
        return EXIT_INTERRUPTED
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
