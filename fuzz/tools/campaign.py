"""The command behind ci/fuzz: see --help, and docs/FUZZING.md."""

import argparse
import collections
import dataclasses
import errno
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
import libfuzzer  # noqa: E402
import targets  # noqa: E402

DONE, FOUND, WRONG, INTERRUPTED = 0, 1, 2, 130
MAX_SLICE_S = 120  # of one run of a program; then the worker turns to the target that had least time
MAX_REPEATS = 200  # ends of a target by defects that are known already; then it is left alone
PATIENCE_S = 2  # with a program that has to end
LEAST_FREE_BYTES = 256 << 20
# Limits for corpus/TARGET/distilled: everybody who clones the repository has it, and each ctest replays it.
MOST_DISTILLED_FILES = 200
MOST_DISTILLED_BYTES = 300_000
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text):
    match = re.fullmatch(r"(\d+)([smhd]?)", text)
    if not match or int(match.group(1)) == 0:
        raise argparse.ArgumentTypeError(f"{text}: a time is a number with s, m, h or d, e.g. 10m")
    return int(match.group(1)) * UNITS[match.group(2) or "s"]


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        prog="ci/fuzz",
        description="Fuzzes with libFuzzer, ASan and UBSan. What is found is minimised, named and written to "
        "corpus/TARGET/regressions; the campaign goes on. Its corpus stays in build/fuzz-campaign/TARGET/corpus and is "
        "used again; build/fuzz-campaign/summary.json sums all campaigns up. Interrupting it loses nothing.",
        epilog="Exit code: 0 nothing found, 1 something found, 2 it could not be done, 130 interrupted.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="e.g. command_decoder (default: all targets)")
    parser.add_argument("--time", type=seconds, default=600, metavar="T",
                        help="how long, all targets together, e.g. 90s, 10m, 4h (default: 10m)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N",
                        help="how many programs run at once (default: %(default)s); time is shared fairly among targets")
    parser.add_argument("--findings", type=int, default=0, metavar="N", help="end when so many were found (default: never)")
    parser.add_argument("--idle", action="store_true", help="only use what other programs leave of the processors")
    parser.add_argument("--distil", action="store_true",
                        help="afterwards, merge what covers more than seeds and regressions do into corpus/TARGET/distilled")
    parser.add_argument("--minimise-time", type=seconds, default=30, metavar="T",
                        help="for each finding at most (default: 30s)")
    parser.add_argument("--programs", metavar="DIR", help="take built programs from there instead of building them")
    parser.add_argument("--root", default=str(targets.ROOT), metavar="DIR",
                        help="the folder with fuzz/ and corpus/ (default: this repository)")
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error("--jobs: at least 1")
    return options


def write_whole(path, content):
    """The file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_bytes(content)
    os.replace(temporary, path)


def digest(path):
    return hashlib.sha1(path.read_bytes()).hexdigest()


@dataclasses.dataclass
class State:
    """What a campaign knows of a target."""
    target: targets.Target
    program: pathlib.Path
    folder: pathlib.Path  # its own, below build/fuzz-campaign
    core_seconds: float = 0.0  # computed by its program
    served: float = 0.0  # seconds that workers gave it, claimed by those that are at it: what is shared fairly
    executions: int = 0
    last: libfuzzer.Progress = dataclasses.field(default_factory=libfuzzer.Progress)
    corpus_before: int = 0
    seen: set = dataclasses.field(default_factory=set)  # Failures of this run
    findings: list = dataclasses.field(default_factory=list)
    repeats: int = 0
    left_alone: bool = False

    def part(self, name):
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def corpus_size(self):
        return sum(1 for _ in self.part("corpus").iterdir())


class Campaign:
    """One run of ci/fuzz. Workers are threads; each runs one program at a time."""

    def __init__(self, states, options, root):
        self.states = states
        self.options = options
        self.root = pathlib.Path(root)
        self.out = targets.build_folder(self.root) / "fuzz-campaign"
        self.start = time.monotonic()
        self.lock = threading.Lock()
        self.stop = threading.Event()
        self.interrupted = False
        self.trouble = None
        self.ended = None  # when end() was called
        self.running = {}  # process -> state
        share = options.time * options.jobs / len(states)
        self.slice_s = max(1, min(MAX_SLICE_S, share / 3))  # each gets its turns, also when findings take time

    # Output.

    def say(self, text):
        with self.lock:
            print(f"fuzz: {text}", flush=True)

    def show_progress(self):
        elapsed = int(time.monotonic() - self.start)
        with self.lock:
            running = list(dict.fromkeys(state.target.name for state in self.running.values()))
            states = {state.target.name: state for state in self.states}
        for name in running:
            state = states[name]
            self.say(f"{elapsed // 3600}:{elapsed // 60 % 60:02}:{elapsed % 60:02} {name}: {state.last.speed} executions/s, "
                     f"{state.last.coverage} edges, {state.last.corpus} inputs, {len(state.findings)} findings")

    # Findings.

    def prepare(self, state):
        """Copies the inputs of the repository: those that fail are taken out of the copy, so that the others are used."""
        shutil.rmtree(state.folder / "seeds", ignore_errors=True)
        seeds = state.part("seeds")
        for number, path in enumerate(state.target.inputs()):
            shutil.copyfile(path, seeds / f"{number:06}-{path.name}")
        state.corpus_before = state.corpus_size()
        for folder in sorted(state.part("artifacts").iterdir()):  # of a campaign that was killed
            self.take_findings(state, folder)

    def take_findings(self, state, folder):
        """Looks at what programs left in a folder, which is one worker's own."""
        for path in sorted(folder.iterdir()):
            if self.stop.is_set():
                return
            if path.name.startswith("slow-unit-"):
                path.replace(state.part("slow") / path.name)
            elif path.is_file():
                self.take_finding(state, path)

    def take_finding(self, state, path):
        content = path.read_bytes()
        self.take_out(state, content)
        failure = libfuzzer.reproduce(state.program, state.target.arguments(), path, self.root)
        if failure is None:
            kept = path.replace(state.part("unreproducible") / path.name)
            self.report(state, path.name, "it failed once, and not again", kept, None)
            return
        with self.lock:
            known = failure in state.seen
            state.seen.add(failure)
            state.repeats += known
        if known:
            path.unlink()
            return
        committed = next((file for file in state.target.inputs() if file.read_bytes() == content), None)
        if committed is None:
            committed = self.regression_of(state, failure)
        if committed is None:
            content = libfuzzer.minimise(state.program, state.target.arguments(), path, failure, self.root,
                                         self.options.minimise_time, state.part(f"scratch/{path.parent.name}"), self.stop)
            if self.stop.is_set():  # may be cut short: the next campaign does it again
                return
            committed = state.target.corpus / "regressions" / failure.name(content)
            write_whole(committed, content)
        self.report(state, committed.name, failure.text, committed, failure)
        path.unlink()

    def regression_of(self, state, failure):
        """The regression that shows this failure already, if there is one: what is found may be another input for it, and
        a second copy helps nobody."""
        for file in state.target.inputs(["regressions"]):
            if libfuzzer.reproduce(state.program, state.target.arguments(), file, self.root) == failure:
                return file
        return None

    def take_out(self, state, content):
        """Removes a failing input from what programs read first: nothing else would be run."""
        for folder in ("seeds", "corpus"):
            for file in state.part(folder).iterdir():
                if file.stat().st_size == len(content) and file.read_bytes() == content:
                    file.unlink()

    def report(self, state, name, text, path, failure):
        place = f" in {failure.function}" if failure else ""
        place += f": {failure.detail}" if failure and failure.detail else ""
        state.findings.append({"name": name, "target": state.target.name, "what": f"{text}{place}", "input": str(path),
                               "found": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
        self.say(f"FINDING {state.target.name}: {text}{place}\n"
                 f"      input:  {path} ({path.stat().st_size} bytes)\n"
                 f"      replay: {shlex.join(map(str, (state.program, path)))}")

    # Work.

    def next_state(self):
        """The target that had least time, with what is left for it; nothing when it is over."""
        with self.lock:
            left = self.options.time - (time.monotonic() - self.start)
            waiting = [state for state in self.states if not state.left_alone]
            if self.stop.is_set() or left < 0.5 or not waiting:
                return None, 0
            state = min(waiting, key=lambda candidate: candidate.served)
            length = max(1, round(min(left, self.slice_s)))
            state.served += length
            return state, length

    def fuzz(self, state, length, artifacts):
        """One run of the program. What it says goes to its log."""
        command = [state.program, state.part("corpus"), state.part("seeds"), f"-max_total_time={length}",
                   f"-artifact_prefix={artifacts}/", "-print_final_stats=1", *libfuzzer.LIMITS,
                   *state.target.arguments()]
        begin = time.monotonic()
        progress = libfuzzer.Progress()
        with open(state.folder / "log", "a", encoding="utf-8") as log:
            with subprocess.Popen(command, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  errors="replace", env=libfuzzer.environment(), start_new_session=True) as process:
                with self.lock:
                    self.running[process] = state
                if self.stop.is_set():
                    process.send_signal(signal.SIGINT)
                for line in process.stderr:
                    progress.read(line)
                    state.last = progress
                    log.write(line)
                spent = self.time_of(process, begin)
            with self.lock:
                del self.running[process]
                state.core_seconds += spent
                state.executions += progress.executions
        self.add_up({state.target.name: (spent, progress)})

    @staticmethod
    def time_of(process, begin):
        """What it has computed, in seconds; it is not waited for, as its times would be gone with it."""
        try:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            return libfuzzer.processor_time(process.pid)
        except (OSError, IndexError):
            return time.monotonic() - begin

    def work(self, number):
        try:
            while True:
                state, length = self.next_state()
                if state is None:
                    return
                if shutil.disk_usage(self.out).free < LEAST_FREE_BYTES:
                    raise targets.Failure(f"{self.out}: the disk is full")
                begin = time.monotonic()
                artifacts = state.part(f"artifacts/{number}")
                self.fuzz(state, length, artifacts)
                self.take_findings(state, artifacts)
                with self.lock:
                    state.served += time.monotonic() - begin - length
                if state.repeats >= MAX_REPEATS and not state.left_alone:
                    state.left_alone = True
                    self.say(f"{state.target.name}: what is found is known by now; left alone until that is fixed")
                if 0 < self.options.findings <= sum(len(each.findings) for each in self.states):
                    self.end(interrupted=False)
        except (OSError, targets.Failure) as error:
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                error = f"{self.out}: the disk is full"
            self.trouble = str(error)
            self.end(interrupted=False)

    def end(self, interrupted=True):
        self.interrupted |= interrupted
        self.ended = self.ended or time.monotonic()
        self.stop.set()
        for process in list(self.running):
            process.send_signal(signal.SIGINT)

    def end_for_good(self):
        """libFuzzer can hang in its handler of SIGINT. What it has found is on the disk."""
        if self.ended and time.monotonic() - self.ended > PATIENCE_S:
            for process in list(self.running):
                process.kill()

    def run(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: self.end())
        for state in self.states:
            self.prepare(state)
        self.start = time.monotonic()
        workers = [threading.Thread(target=self.work, args=[number]) for number in range(self.options.jobs)]
        for worker in workers:
            worker.start()
        every = 5 if sys.stdout.isatty() else 60
        shown = time.monotonic()
        for worker in workers:
            while worker.is_alive():
                worker.join(0.2)
                self.end_for_good()
                if time.monotonic() - shown >= every:
                    self.show_progress()
                    shown = time.monotonic()

    # Sums.

    def add_up(self, slices, last=None):
        """Adds runs of programs to those of earlier campaigns in summary.json."""
        with self.lock:
            path = self.out / "summary.json"
            try:
                summary = json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                summary = {"targets": {}}
            for name, (length, progress) in slices.items():
                entry = collections.defaultdict(int, summary["targets"].get(name, {}))
                entry["core_seconds"] = round(entry["core_seconds"] + length, 2)
                entry["executions"] += progress.executions
                entry["edges"], entry["features"] = progress.coverage, progress.features
                summary["targets"][name] = dict(entry)
            for state in self.states:
                entry = summary["targets"].setdefault(state.target.name, {})
                found = {finding["input"]: finding for finding in entry.get("findings", []) + state.findings}
                entry["findings"] = list(found.values())
                entry["corpus"] = state.corpus_size()
            if last:
                summary["last"] = last
            write_whole(path, json.dumps(summary, indent=1).encode())
            return summary

    def result(self):
        if self.trouble:
            return WRONG
        if self.interrupted:
            return INTERRUPTED
        return FOUND if any(state.findings for state in self.states) else DONE

    def finish(self):
        rows = [("target", "executions", "core s", "per s", "edges", "inputs", "new", "findings")]
        for state in self.states:
            speed = round(state.executions / state.core_seconds) if state.core_seconds else 0
            size = state.corpus_size()
            rows.append((state.target.name, state.executions, round(state.core_seconds), speed, state.last.coverage, size,
                         size - state.corpus_before, len(state.findings)))
        last = {"seconds": round(time.monotonic() - self.start, 1), "exit_code": self.result(),
                "targets": [dict(zip(rows[0], row)) for row in rows[1:]]}
        total = sum(entry.get("core_seconds", 0) for entry in self.add_up({}, last)["targets"].values())
        print_table(rows)
        print(f"fuzz: {round(total / 3600, 2)} core-hours in all campaigns: {self.out / 'summary.json'}")
        for finding in (finding for state in self.states for finding in state.findings):
            print(f"fuzz: {finding['target']}: {finding['what']}: {finding['input']}")


def print_table(rows, left=(0,)):
    """`left`: the columns that begin where they begin; numbers end together."""
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(str(cell).ljust(width) if i in left else str(cell).rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))).rstrip())


def size_of(paths):
    paths = list(paths)
    return f"{len(paths)} files, {sum(path.stat().st_size for path in paths)} bytes"


def distil(state):
    """Rewrites corpus/TARGET/distilled: what covers more than seeds and regressions do, of it and of the campaign. Where
    that is too much for a repository, only what reaches more edges; how often an edge is passed counts no longer."""
    distilled = state.target.corpus / "distilled"
    before = size_of(state.target.inputs(["distilled"]))
    sources = [source for source in (distilled, state.part("corpus")) if source.is_dir()]
    fresh = merged(state, sources, [])
    if len(fresh) > MOST_DISTILLED_FILES or sum(map(len, fresh.values())) > MOST_DISTILLED_BYTES:
        fresh = merged(state, sources, ["-use_counters=0"])
    shutil.rmtree(distilled, ignore_errors=True)
    for name, content in sorted(fresh.items()):
        write_whole(distilled / name, content)
    print(f"fuzz: {state.target.name}: distilled: {before} before, {size_of(state.target.inputs(['distilled']))} after; "
          f"campaign: {size_of(state.part('corpus').iterdir())}")


def merged(state, sources, how):
    """What libFuzzer takes of `sources` in addition to seeds and regressions: name -> content. `how`: its arguments."""
    with tempfile.TemporaryDirectory(dir=state.folder) as folder:
        base = pathlib.Path(folder, "base")
        base.mkdir()
        for number, path in enumerate(state.target.inputs(["seeds", "regressions"])):
            shutil.copyfile(path, base / f"{number}")
        given = {digest(path) for path in base.iterdir()}
        libfuzzer.merge(state.program, [*state.target.arguments(), *how], base, sources)
        fresh = {digest(path): path.read_bytes() for path in base.iterdir()}
    return {name: content for name, content in fresh.items() if name not in given}


def programs_of(options, chosen):
    """The folder with the programs, built if need be."""
    folder = pathlib.Path(options.programs or targets.build_folder(options.root) / "fuzz/bin").resolve()
    if not options.programs:
        if not shutil.which("clang++"):
            raise targets.Failure("clang++ is missing: libFuzzer comes with it; run ci/setup --for-tests")
        names = [target.program for target in chosen]
        if subprocess.run([pathlib.Path(options.root) / "ci/build", "fuzz", *names], check=False).returncode != 0:
            raise targets.Failure("the targets could not be built")
    missing = [target.program for target in chosen if not (folder / target.program).is_file()]
    if missing:
        raise targets.Failure(f"not in {folder}: {', '.join(missing)}")
    return folder


def main(arguments):
    options = parse_arguments(arguments)
    root = pathlib.Path(options.root).resolve()
    try:
        if options.idle:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        chosen = targets.choose(options.targets, root)
        if not chosen:
            raise targets.Failure(f"{root}: no targets")
        programs = programs_of(options, chosen)
        out = targets.build_folder(root) / "fuzz-campaign"
        out.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(out).free < LEAST_FREE_BYTES:
            raise targets.Failure(f"{out}: the disk is full")
        states = [State(target, programs / target.program, out / target.name) for target in chosen]
        campaign = Campaign(states, options, root)
        campaign.say(f"{len(states)} targets, {options.jobs} at once, {options.time} s in all, "
                     f"{round(options.time * options.jobs / len(states))} core seconds for each")
        campaign.run()
        campaign.finish()
        if campaign.trouble:
            raise targets.Failure(campaign.trouble)
        if options.distil and not campaign.interrupted:
            for state in states:
                distil(state)
        return campaign.result()
    except (targets.Failure, OSError) as failure:
        print(f"fuzz: {failure}", file=sys.stderr)
        return WRONG


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
