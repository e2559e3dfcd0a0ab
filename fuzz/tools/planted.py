"""The command behind ci/planted: see --help, and docs/FUZZING.md.

A patch in fuzz/planted/ begins with what is wrong, in a sentence, and `Target: NAME`, which has to find it."""

import argparse
import dataclasses
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import libfuzzer  # noqa: E402
import targets  # noqa: E402
from campaign import print_table  # noqa: E402

WALL_FACTOR = 20  # on a machine that is busy with other things, a minute of a core takes longer


@dataclasses.dataclass
class Bug:
    name: str
    path: pathlib.Path
    what: str
    target: str


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        prog="ci/planted",
        description="Puts bugs into a copy of the sources, one at a time, and tells how long their targets need to find them "
        "on one core, from the seeds alone. Before that, shows that the targets find nothing where no bug is.",
        epilog="Exit code: 0 all found, 1 not all found, or something found without a bug, 2 it could not be done.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a bug, or the beginning of its name, e.g. 05 (default: all)")
    parser.add_argument("--time", type=int, default=60, metavar="S",
                        help="seconds of processor time that a target has (default: %(default)s)")
    parser.add_argument("--clean-time", type=int, default=10, metavar="S",
                        help="seconds that each target runs without a bug (default: %(default)s; 0: not at all)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of libFuzzer's random numbers (default: 1)")
    parser.add_argument("--no-seeds", action="store_true",
                        help="begin with nothing: tells what the targets find by themselves, not what the seeds show")
    parser.add_argument("--idle", action="store_true", help="only use what other programs leave of the processors")
    parser.add_argument("--check", action="store_true", help="only look whether the patches fit the sources, in no time")
    return parser.parse_args(arguments)


def read_bug(path):
    head = path.read_text(encoding="utf-8").split("\ndiff --git", 1)[0]
    match = re.fullmatch(r"(\S.+)\nTarget: (\w+)\n\s*", head + "\n")
    if not match:
        raise targets.Failure(f"{path}: begins with a sentence and `Target: NAME`")
    return Bug(path.stem, path, match.group(1), match.group(2))


def read_bugs(root, names=()):
    """Those whose names begin so."""
    bugs = [read_bug(path) for path in sorted((pathlib.Path(root) / "fuzz/planted").glob("*.patch"))]
    unknown = [name for name in names if not any(bug.name.startswith(name) for bug in bugs)]
    if unknown:
        raise targets.Failure(f"no such bug: {', '.join(unknown)}; there are {', '.join(bug.name for bug in bugs)}")
    return [bug for bug in bugs if not names or any(bug.name.startswith(name) for name in names)]


def apply(bug, folder, *options):
    """Raises targets.Failure when the patch does not fit."""
    run = subprocess.run(["git", "apply", *options, bug.path], cwd=folder, capture_output=True, text=True, check=False,
                         env={**os.environ, "GIT_CEILING_DIRECTORIES": str(pathlib.Path(folder).parent)})
    if run.returncode != 0:
        raise targets.Failure(f"{bug.path.name}: {run.stderr.strip()}")


def check(bugs, root):
    """Errors: patches that do not fit, targets that are not there."""
    known = {target.name for target in targets.all_targets(root)}
    complaints = [f"{bug.path.name}: no target {bug.target}" for bug in bugs if bug.target not in known]
    for bug in bugs:
        try:
            apply(bug, root, "--check")
        except targets.Failure as failure:
            complaints.append(str(failure))
    return complaints


class Tree:
    """A copy of the sources with its own build folder, kept from run to run: only what differs is copied and built."""

    def __init__(self, root, folder):
        self.source = pathlib.Path(folder) / "source"
        self.source.mkdir(parents=True, exist_ok=True)
        listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True,
                                check=True).stdout.decode().split("\0")
        for name in filter(None, listed):
            origin, copy = pathlib.Path(root) / name, self.source / name
            if not origin.is_file() or name.startswith("corpus/"):
                continue
            if not copy.is_file() or copy.read_bytes() != origin.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(origin, copy)
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        self.run("cmake", "--preset", "fuzz", *launcher)

    def run(self, *command):
        run = subprocess.run(command, cwd=self.source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if run.returncode != 0:
            raise targets.Failure(f"{' '.join(command)}: {run.stdout.decode(errors='replace')[-3000:]}")

    def build(self, names):
        """Returns the folder with the programs."""
        self.run("cmake", "--build", "build/fuzz", "--target", *(f"{name}_fuzzer" for name in names))
        return self.source / "build/fuzz/bin"


@dataclasses.dataclass
class Hunt:
    """A run of a target. `failure`: what it found, if anything."""
    failure: libfuzzer.Failure
    executions: int
    seconds: float  # of processor time


def watch(process, limit_s):
    """Waits until the program ends or has had its time; then it is killed. Returns whether it ended by itself."""
    begin = time.monotonic()
    while process.poll() is None:
        if libfuzzer.processor_time(process.pid) >= limit_s or time.monotonic() - begin >= WALL_FACTOR * limit_s:
            process.kill()
            process.wait()
            return False
        time.sleep(0.05)
    return True


def hunt(target, program, source, limit_s, seed, parts=("seeds",)):
    """Runs a target from these parts of its corpus, on one core, until it finds something or has had its time."""
    with tempfile.TemporaryDirectory(prefix="fencepost-planted-") as folder:
        base = pathlib.Path(folder)
        for name in ("corpus", "seeds"):
            (base / name).mkdir()
        for number, path in enumerate(target.inputs(parts)):
            shutil.copyfile(path, base / f"seeds/{number}")
        before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
        with open(base / "log", "w+", encoding="utf-8", errors="replace") as log:
            with subprocess.Popen([program, base / "corpus", base / "seeds", f"-seed={seed}", "-print_final_stats=1",
                                   f"-artifact_prefix={base}/", *libfuzzer.LIMITS, *target.arguments()], cwd="/",
                                  env=libfuzzer.environment(), stdout=log, stderr=log) as process:
                ended = watch(process, limit_s)
            log.seek(0)
            output = log.read()
    spent = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before
    progress = libfuzzer.Progress()
    for line in output.splitlines():
        progress.read(line)
    failed = ended and process.returncode != 0
    return Hunt(libfuzzer.read_failure(output, source) if failed else None, progress.executions, spent)


def hunt_all(bugs, options, root):
    """(rows of the table, whether all is well)"""
    known = {target.name: target for target in targets.all_targets(root)}
    tree = Tree(root, targets.build_folder(root) / "planted")
    rows = [("bug", "target", "found after", "executions", "what it says")]
    well = True
    parts = [] if options.no_seeds else ["seeds"]
    names = sorted({bug.target for bug in bugs})
    programs = tree.build(names)
    for name in names if options.clean_time else []:
        clean = hunt(known[name], programs / known[name].program, tree.source, options.clean_time, options.seed, parts)
        well = well and clean.failure is None
        said = f"WRONG: {clean.failure.text}" if clean.failure else "nothing, as there is nothing"
        rows.append(("(none)", name, f"{clean.seconds:.1f} s", clean.executions, said))
        print(f"planted: no bug, {name}: {said}", flush=True)
    for bug in bugs:
        apply(bug, tree.source)
        try:
            programs = tree.build([bug.target])
            target = known[bug.target]
            result = hunt(target, programs / target.program, tree.source, options.time, options.seed, parts)
        finally:
            apply(bug, tree.source, "-R")
        well = well and result.failure is not None
        found = result.failure
        said = f"{found.kind} in {found.function}: {found.detail or found.text}" if found else ""
        after = f"{result.seconds:.1f} s" if result.failure else "NOT FOUND"
        rows.append((bug.name, bug.target, after, result.executions, said[:100]))
        print(f"planted: {bug.name}: {after}", flush=True)
    return rows, well


def main(arguments, root=targets.ROOT):
    options = parse_arguments(arguments)
    try:
        if options.idle:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        bugs = read_bugs(root, options.names)
        complaints = check(bugs, root)
        for complaint in complaints:
            print(f"planted: {complaint}", file=sys.stderr)
        if complaints or options.check:
            print(f"planted: {len(bugs)} bugs, {len(complaints)} complaints")
            return 2 if complaints else 0
        rows, well = hunt_all(bugs, options, root)
        print_table(rows, left=(0, 1, 4))
        return 0 if well else 1
    except (targets.Failure, OSError) as failure:
        print(f"planted: {failure}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
