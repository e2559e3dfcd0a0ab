"""The command behind ci/coverage: see --help, and docs/FUZZING.md."""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import targets  # noqa: E402
from campaign import print_table  # noqa: E402

# The folders whose coverage counts, and what in them is not part of the product that is fuzzed.
MODULES = ("codec", "hlc", "reference_store", "workload", "history", "loaders")
LOADER_FOLDERS = ("base/text", "endpoint", "suite", "report", "traffic", "clients/client_run")
NOT_COUNTED = re.compile(r"/testing/|^endpoint/wire/|^reference_store/(faults|broker_plugin)/")


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        prog="ci/coverage",
        description="Line and branch coverage that the inputs of the fuzz targets give: of corpus/, and of what campaigns of "
        "ci/fuzz have collected. Prints a table of modules by target and in total; build/fuzz-coverage/report has the text "
        "and HTML reports.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="e.g. command_decoder (default: all targets)")
    parser.add_argument("--missing", action="store_true", help="list the functions and branches that no input reaches")
    parser.add_argument("--corpus-only", action="store_true", help="leave out what campaigns have collected")
    return parser.parse_args(arguments)


def module_of(path):
    """The module that a file counts for, by its path in the repository; nothing when for none."""
    if NOT_COUNTED.search(path):
        return None
    if path.startswith(tuple(folder + "/" for folder in LOADER_FOLDERS)):
        return "loaders"
    folder = path.removeprefix("concurrency/").split("/")[0]
    return folder if folder in MODULES else None


def tool(*command):
    run = subprocess.run(command, capture_output=True, check=False)
    if run.returncode != 0:
        raise targets.Failure(f"{command[0]} failed: {run.stderr.decode(errors='replace')[-2000:]}")
    return run.stdout.decode(errors="replace")


def inputs_of(target, corpus_only):
    found = target.folders()
    campaign = targets.build_folder() / "fuzz-campaign" / target.name / "corpus"
    return found if corpus_only or not campaign.is_dir() else [*found, campaign]


def replay(target, build, folder, corpus_only):
    """Runs all inputs; returns the program's profile."""
    profile = folder / f"{target.name}.profdata"
    # One for each process: the program runs inputs in processes of their own.
    run = subprocess.run([build / "bin" / target.program, *inputs_of(target, corpus_only)], check=False, capture_output=True,
                         env={**os.environ, "LLVM_PROFILE_FILE": str(folder / f"{target.name}-%p.profraw")})
    if run.returncode != 0:
        raise targets.Failure(f"{target.program}: {run.stderr.decode(errors='replace')[-2000:] or 'no inputs'}")
    raw = sorted(folder.glob(f"{target.name}-*.profraw"))
    tool("llvm-profdata", "merge", "-sparse", *raw, "-o", profile)
    for path in raw:
        path.unlink()
    return profile


class Report:
    """The coverage of some programs together."""

    def __init__(self, build, chosen, profile):
        programs = [build / "bin" / target.program for target in chosen]
        objects = [part for program in programs[1:] for part in ("-object", program)]
        self.arguments = [f"-instr-profile={profile}", programs[0], *objects]
        self.data = json.loads(tool("llvm-cov", "export", "-format=text", *self.arguments))["data"][0]
        self.files = {}
        for file in self.data["files"]:
            path = os.path.relpath(file["filename"], targets.ROOT)
            if module_of(path):
                self.files[path] = file

    def sums(self):
        """Module -> [lines reached, lines, branches reached, branches]."""
        sums = collections.defaultdict(lambda: [0, 0, 0, 0])
        for path, file in self.files.items():
            lines, branches = file["summary"]["lines"], file["summary"]["branches"]
            numbers = (lines["covered"], lines["count"], branches["covered"], branches["count"])
            for module in (module_of(path), "total"):
                sums[module] = [old + new for old, new in zip(sums[module], numbers)]
        return sums

    def missing(self):
        """Places that no input reaches: functions, and sides of conditions in functions that are reached."""
        places = set()
        unreached = set()
        for function in self.data["functions"]:
            path = os.path.relpath(function["filenames"][0], targets.ROOT)
            if path not in self.files:
                continue
            first, last = function["regions"][0][0], function["regions"][0][2]
            key = (path, first, last)
            if function["count"] == 0:
                unreached.add((key, function["name"].split(":")[-1]))
        # A template or an inline function is there several times: it is reached when one of them is.
        reached = {(os.path.relpath(function["filenames"][0], targets.ROOT), function["regions"][0][0],
                    function["regions"][0][2]) for function in self.data["functions"] if function["count"] > 0}
        unreached = {(key, name) for key, name in unreached if key not in reached}
        places |= {(path, first, f"function {demangle(name)}") for (path, first, _), name in unreached}
        for path, file in self.files.items():
            sides = collections.defaultdict(lambda: [0, 0])
            for line, column, _, _, true, false, *_ in file.get("branches", []):
                sides[line, column] = [sides[line, column][0] + true, sides[line, column][1] + false]
            inside = [(key[1], key[2]) for key, _ in unreached if key[0] == path]
            text = (targets.ROOT / path).read_text(encoding="utf-8").splitlines()
            for (line, column), counts in sides.items():
                # That no case of a switch over an enumeration fits is counted, and cannot be.
                if any(first <= line <= last for first, last in inside) or text[line - 1].lstrip().startswith("switch ("):
                    continue
                for count, name in zip(counts, ("true", "false")):
                    if count == 0:
                        places.add((path, line, f"never {name}, column {column}"))
        return sorted(places)

    def write(self, folder):
        """Text and HTML, of the files that count."""
        names = [targets.ROOT / path for path in self.files]
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "report.txt").write_text(tool("llvm-cov", "report", *self.arguments, *names), encoding="utf-8")
        tool("llvm-cov", "show", "-format=html", f"-output-dir={folder}", "-show-branches=count", *self.arguments, *names)


def demangle(name):
    filt = shutil.which("c++filt") or shutil.which("llvm-cxxfilt")
    text = tool(filt, name).strip() if filt else name
    return re.sub(r"\(anonymous namespace\)::|fencepost::", "", text).split("(")[0]


def percent(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "-"


def rows_of(name, sums):
    return [(name if number == 0 else "", module, f"{row[0]}/{row[1]}", percent(row[0], row[1]), f"{row[2]}/{row[3]}",
             percent(row[2], row[3])) for number, (module, row) in
            enumerate((module, sums[module]) for module in (*MODULES, "total") if module in sums)]


def main(arguments):
    options = parse_arguments(arguments)
    try:
        chosen = targets.choose(options.targets)
        for name in ("clang++", "llvm-profdata", "llvm-cov"):
            if not shutil.which(name):
                raise targets.Failure(f"{name} is missing; run ci/setup --for-tests")
        if subprocess.run([targets.ROOT / "ci/build", "fuzz-coverage", *(target.program for target in chosen)],
                          check=False).returncode != 0:
            raise targets.Failure("the targets could not be built")
        build = targets.build_folder() / "fuzz-coverage"
        profiles = build / "profiles"
        profiles.mkdir(exist_ok=True)
        rows = [("target", "module", "lines", "", "branches", "")]
        merged = []
        for target in chosen:
            profile = replay(target, build, profiles, options.corpus_only)
            report = Report(build, [target], profile)
            report.write(build / "report" / target.name)
            rows += rows_of(target.name, report.sums())
            merged.append(profile)
        tool("llvm-profdata", "merge", "-sparse", *merged, "-o", profiles / "all.profdata")
        report = Report(build, chosen, profiles / "all.profdata")
        report.write(build / "report/all")
        rows += rows_of("together", report.sums())
        print_table(rows, left=(0, 1))
        if options.missing:
            for path, line, what in report.missing():
                print(f"{path}:{line}: {what}")
        print(f"coverage: {pathlib.Path(build, 'report/all/index.html')}")
        return 0
    except (targets.Failure, OSError) as failure:
        print(f"coverage: {failure}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
