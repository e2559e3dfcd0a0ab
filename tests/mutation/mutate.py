"""The command behind ci/mutate: see --help, and docs/MUTATION.md."""

import argparse
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import sys
import time

import build
import project
import runner

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("FENCEPOST_BUILD_DIR") or ROOT / "build").resolve()
EQUIVALENT = "tests/mutation/equivalent.txt"


def read_equivalents(text):
    """Key of a mutant -> why it is equivalent. Keys are lines of their own; the reason that follows them, indented, is
    that of all of them."""
    reasons = {}
    waiting = []
    reason = ""
    for number, line in enumerate([*text.splitlines(), "end"], 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace():
            if not waiting:
                raise build.Failure(f"{EQUIVALENT}:{number}: a reason without a mutant above it")
            reason = f"{reason} {line.strip()}".strip()
            continue
        if reason:
            reasons.update((key, reason) for key in waiting)
            waiting, reason = [], ""
        if line in reasons or line in waiting:
            raise build.Failure(f"{EQUIVALENT}:{number}: this mutant is listed twice")
        waiting.append(line)
    if waiting != ["end"]:
        raise build.Failure(f"{EQUIVALENT}: no reason for {waiting[0]}")
    return reasons


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        prog="ci/mutate",
        description="Changes the sources of codec/, hlc/ and reference_store/ in small ways (mutants) and tells which "
        "changes no test sees. All mutants are compiled into one tree, build/mutants, and chosen by an environment "
        "variable. The result is printed and written to build/mutants/report.json.",
        epilog="Exit code: 0 when every mutant is killed or listed as equivalent, 1 when some survive, "
        "3 when nothing could be said.")
    parser.add_argument("--module", action="append", choices=list(project.MODULES), metavar="NAME",
                        help="only this module (may be repeated): " + ", ".join(project.MODULES))
    parser.add_argument("--only", metavar="GLOB", help="only mutants whose printed name, `file [operator] line`, or file "
                        "matches this glob")
    parser.add_argument("--layers", default=",".join(project.LAYERS), metavar="LIST",
                        help="who looks, in this order (default: %(default)s): the module's unit tests and properties, "
                        "tests of modules above it, the suite in process; not by default: cases, enumeration (all workloads "
                        "of depth 2)")
    parser.add_argument("-P", "--parallel", type=int, default=os.cpu_count(), metavar="N",
                        help="how many mutants run at once (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    parser.add_argument("--no-build", action="store_true", help="take the binaries as they are (after a full run)")
    parser.add_argument("--survivors", action="store_true",
                        help="only the mutants that survived the last run, in build/mutants/report.json")
    parser.add_argument("--report", default=str(BUILD / "mutants/report.json"), metavar="FILE",
                        help="where the report goes (default: build/mutants/report.json)")
    options = parser.parse_args(arguments)
    options.layers = options.layers.split(",")
    unknown = set(options.layers) - set(project.ALL_LAYERS)
    if unknown:
        parser.error(f"no such layer: {', '.join(sorted(unknown))}; expected {', '.join(project.ALL_LAYERS)}")
    options.modules = options.module or list(project.MODULES)
    return options


def say(text):
    print(f"mutate: {text}", file=sys.stderr, flush=True)


def chosen(tree, options):
    wanted = [mutant for mutant in tree.mutants.values() if project.module_of(mutant.file) in options.modules]
    if options.only:
        wanted = [mutant for mutant in wanted
                  if fnmatch.fnmatch(mutant.key(), options.only) or fnmatch.fnmatch(mutant.file, options.only)]
    if options.survivors:
        with open(options.report, encoding="utf-8") as file:
            survived = {entry["mutant"] for entry in json.load(file)["mutants"] if entry["result"] == "survived"}
        wanted = [mutant for mutant in wanted if mutant.key() in survived]
    return wanted


def run_all(tree, wanted, options):
    """Mutant -> (verdict, reached by any program)."""
    run = runner.Runner(str(tree.build / "bin"), tree)
    programs = {module: project.programs(module, options.layers) for module in options.modules}
    for module in options.modules:
        failing = run.measure(programs[module])
        if failing:
            raise build.Failure(f"without any mutant, these fail already: {', '.join(failing)}")
    results = {}

    def judge(mutant):
        mine = programs[project.module_of(mutant.file)]
        return run.judge(mutant, mine), run.is_reached(mutant, mine)

    alive = [mutant for mutant in wanted if mutant.id not in tree.dropped]
    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        for done, (mutant, result) in enumerate(zip(alive, pool.map(judge, alive)), 1):
            results[mutant.id] = result
            if done % 200 == 0:
                say(f"{done} of {len(alive)}")
    return results


def entry_of(mutant, results, reasons):
    entry = {"module": project.module_of(mutant.file), "mutant": mutant.key(), "file": mutant.file,
             "line": mutant.line_number, "operator": mutant.operator}
    if mutant.id not in results:
        return {**entry, "result": "does not compile"}
    verdict, reached = results[mutant.id]
    if verdict.killer:
        return {**entry, "result": "killed", "layer": verdict.layer, "killer": verdict.killer, "how": verdict.how}
    if mutant.key() in reasons:
        return {**entry, "result": "equivalent", "reason": reasons[mutant.key()]}
    return {**entry, "result": "survived", "reached": reached}


def summary(entries, finders, module):
    mine = [entry for entry in entries if entry["module"] == module]
    count = {name: sum(entry["result"] == name for entry in mine)
             for name in ("killed", "survived", "equivalent", "does not compile")}
    layers = {layer: sum(entry.get("layer") == layer for entry in mine) for layer in project.ALL_LAYERS}
    skipped = {}
    for path, finder in finders.items():
        if project.module_of(path) == module:
            for reason, number in finder.skipped.items():
                skipped[reason] = skipped.get(reason, 0) + number
    judged = count["killed"] + count["survived"]
    return {"mutants": len(mine), **count, "killed by": layers, "skipped": skipped,
            "score": round(100 * count["killed"] / judged, 1) if judged else None}


def print_table(summaries, layers):
    columns = ["module", "mutants", "no compile", *layers, "equivalent", "survived", "score"]
    rows = [columns]
    for module, found in summaries.items():
        rows.append([module, found["mutants"], found["does not compile"],
                     *[found["killed by"][layer] for layer in layers], found["equivalent"], found["survived"],
                     "-" if found["score"] is None else f"{found['score']:.1f} %"])
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(columns))]
    for row in rows:
        print("  ".join(str(cell).rjust(width) if i else str(cell).ljust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))))


def report(tree, wanted, results, reasons, options, seconds):
    entries = [entry_of(mutant, results, reasons) for mutant in wanted]
    summaries = {module: summary(entries, tree.finders, module) for module in options.modules}
    document = {"layers": options.layers, "seconds": round(seconds), "modules": summaries, "mutants": entries}
    pathlib.Path(options.report).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    survivors = [entry for entry in entries if entry["result"] == "survived"]
    for entry in survivors:
        print(entry["mutant"] + ("" if entry["reached"] else "    (no test comes by)"))
    if survivors:
        print()
    print_table(summaries, options.layers)
    for module, found in summaries.items():
        for reason, number in found["skipped"].items():
            print(f"{module}: {number} places left alone: {reason}")
    print(f"{seconds:.0f} s; report: {os.path.relpath(options.report)}")
    return survivors


def complaints(tree, results, reasons):
    """What is wrong with the list of equivalent mutants."""
    keys = {mutant.key(): mutant for mutant in tree.mutants.values()}
    found = []
    for key in reasons:
        if key not in keys:
            found.append(f"{EQUIVALENT}: no mutant is called: {key}")
        elif keys[key].id in tree.dropped:
            found.append(f"{EQUIVALENT}: does not compile, so it need not be listed: {key}")
        elif keys[key].id in results and results[keys[key].id][0].killer:
            found.append(f"{EQUIVALENT}: not equivalent, {results[keys[key].id][0].killer} sees it: {key}")
    return found


def main(arguments):
    options = parse_arguments(arguments)
    start = time.monotonic()
    try:
        listed = ROOT / EQUIVALENT
        reasons = read_equivalents(listed.read_text(encoding="utf-8")) if listed.is_file() else {}
        tree = build.Tree(ROOT, BUILD / "mutants")
        wanted = chosen(tree, options)
        if not wanted:
            raise build.Failure("no mutant is chosen; --list prints all")
        if options.list:
            for mutant in wanted:
                print(mutant.key())
            print(f"{len(wanted)} mutants", file=sys.stderr)
            return 0
        if options.no_build:
            if not tree.load():
                raise build.Failure("the sources are not those of the last build: run without --no-build")
        else:
            tree.compile(project.targets(options.modules, options.layers), options.parallel, say)
            say(f"{len(tree.mutants) - len(tree.dropped)} mutants compiled after {time.monotonic() - start:.0f} s")
        results = run_all(tree, wanted, options)
    except build.Failure as failure:
        say(str(failure))
        return 3
    survivors = report(tree, wanted, results, reasons, options, time.monotonic() - start)
    wrong = complaints(tree, results, reasons)
    for complaint in wrong:
        print(complaint)
    return 1 if survivors or wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
