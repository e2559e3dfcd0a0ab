"""Called by ci/quick: what can the changed files break? Found from the build graph, and from the rules that scenarios cite."""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["FENCEPOST_BUILD_DIR"]) / "dev"
FENCEPOST = BUILD / "bin/fencepost"
PROFILES = ("deployed", "documented")
PYTHON = "/usr/bin/python3"  # as tests/CMakeLists.txt: with Debian's modules
# What a test costs that has never run here.
UNKNOWN_COST = 3.0


class Steps:
    """Runs commands, says how each ended, and remembers whether one failed."""

    def __init__(self):
        self.begun = time.monotonic()
        self.failed = 0

    def elapsed(self):
        return time.monotonic() - self.begun

    def check(self, what, command, quiet=True, **options):
        """True when it succeeds. Its output is shown where it does not."""
        begun = time.monotonic()
        done = subprocess.run([str(word) for word in command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, check=False, **options)
        self.say(done.returncode == 0, what, time.monotonic() - begun)
        if done.returncode != 0 or not quiet:
            sys.stdout.write("".join(f"    {line}\n" for line in done.stdout.decode("utf-8", "replace").splitlines()[-60:]))
        return done.returncode == 0

    def say(self, good, what, seconds=None):
        self.failed += not good
        took = "" if seconds is None else f"{seconds:7.1f} s"
        print(f"{'ok' if good else 'FAILED':8}{what:64}{took}", flush=True)


def output_of(*command, code=0):
    done = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, check=False)
    if code is not None and done.returncode != code:
        sys.exit(f"ci/quick: {' '.join(map(str, command))} returned {done.returncode}: {done.stderr.decode()[-2000:]}")
    return done.stdout.decode("utf-8", "replace")


def changed_files():
    names = output_of("git", "diff", "--name-only", "-z", "HEAD") + output_of("git", "ls-files", "-z", "--others",
                                                                            "--exclude-standard")
    return sorted({name for name in names.split("\0") if name and (ROOT / name).is_file()})


# --- C++ ---


class Graph:
    """What is made of what, as build.ninja and the includes say it: the compiler knows only of what it has compiled."""

    def __init__(self):
        self.users = collections.defaultdict(set)  # file -> what is made of it
        text = (BUILD / "build.ninja").read_text(encoding="utf-8").replace("$\n", "")
        for match in re.finditer(r"^build ((?:[^:$]|\$.)*): \S+ ?(.*)$", text, re.MULTILINE):
            # What stands behind || is only made first; what is behind a | of the outputs is made as well.
            inputs = match[2].split(" || ")[0]
            for name in self.words(inputs):
                self.users[name].update(self.words(match[1]))
        for name in output_of("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.h", "*.cc").splitlines():
            if (ROOT / name).is_file():
                for header in re.findall(r'^#include "([^"]+)"', (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE):
                    self.users[str(ROOT / header)].add(str(ROOT / name))

    def words(self, text):
        found = re.findall(r"(?:[^\s$|]|\$.)+", text)
        return [re.sub(r"\$(.)", r"\1", word) for word in found]

    def made_of(self, files):
        """Everything that is made of these, at any distance: outputs of the build, as paths from its folder."""
        seen, todo = set(), [str(ROOT / file) for file in files]
        while todo:
            for user in self.users.get(todo.pop(), ()):
                if user not in seen:
                    seen.add(user)
                    todo.append(user)
        return seen


def configure(steps):
    if (BUILD / "build.ninja").exists():
        return True
    print("the first run: configures and builds, which takes minutes", flush=True)
    return steps.check("configure", ["ci/build", "dev", "fencepost_base"])


def known_tests():
    """name of a test -> (its program below bin/, or "", folder of its sources). `ctest --show-only` has no program that is
    not built yet."""
    tests = {}
    for listed in BUILD.rglob("CTestTestfile.cmake"):
        text = listed.read_text(encoding="utf-8")
        for name, program in re.findall(r'^add_test\(\[=\[(.*?)\]=\] "([^"]*)"', text, re.MULTILINE):
            tests[name] = (os.path.relpath(program, BUILD) if program.startswith(f"{BUILD}/") else "",
                           os.path.relpath(listed.parent, BUILD))
    return tests


def costs():
    """Seconds that each test took when it last ran here."""
    found = {}
    try:
        for line in (BUILD / "Testing/Temporary/CTestCostData.txt").read_text(encoding="utf-8").splitlines():
            words = line.split()
            if len(words) == 3:
                found[words[0]] = float(words[2])
    except OSError:
        pass
    return found


def test_sources(steps, files, allowed):
    """Formats, builds and tests what these sources are in. True when the program was among it."""
    sources = [file for file in files if file.endswith((".cc", ".h"))]
    if sources:
        steps.check(f"format of {len(sources)} files", ["clang-format", "--dry-run", "--Werror", *sources])
    if not configure(steps):
        return False
    outputs = Graph().made_of(files)
    tests = known_tests()
    rooms = {os.path.dirname(file) for file in files}
    hit = {name: program for name, (program, _) in tests.items() if program and program in outputs}
    # Those that start the program are system tests: they are chosen by their own files.
    units = {name: program for name, program in hit.items() if program != "bin/fencepost"}
    cost = costs()
    workers = os.cpu_count() or 1
    own = [name for name in units if tests[name][1] in rooms]
    others = sorted((name for name in units if name not in own), key=lambda name: cost.get(name, UNKNOWN_COST))
    chosen, left, spent = [], [], 0.0
    for name in own + others:
        spent += cost.get(name, UNKNOWN_COST) / workers
        (chosen if name in own or spent <= allowed else left).append(name)
    has_program = "bin/fencepost" in outputs
    targets = sorted({units[name] for name in chosen} | ({"fencepost"} if has_program else set()))
    if not targets:
        steps.say(True, "no test is made of these files")
        return False
    if not steps.check(f"build: {len(targets)} programs", ["ci/build", "dev", *targets]):
        return False
    if chosen:
        names = "|".join(re.escape(name) for name in chosen)
        steps.check(f"{len(chosen)} tests ({', '.join(chosen[:3])}{', ...' if len(chosen) > 3 else ''})",
                    ["ctest", "--test-dir", BUILD, "-j", workers, "--output-on-failure", "-R", f"^({names})$"])
    if left:
        names = "|".join(left)
        print(f"        left out, {sum(cost.get(name, UNKNOWN_COST) for name in left):.0f} s: {', '.join(left)}\n"
              f"        with them: ci/quick --time 600, or: ctest --test-dir {os.path.relpath(BUILD, ROOT)} -R '^({names})$'",
              flush=True)
    if has_program:
        for profile in PROFILES:
            steps.check(f"the reference store, {profile}", [FENCEPOST, "certify", "--quiet", "--profile", profile, "--stress",
                                                            "none", "--endpoint", f"inproc:?dialect={profile}"])
    return has_program


def need_program(steps):
    return configure(steps) and steps.check("build: fencepost", ["ci/build", "dev", "fencepost"])


# --- scenarios ---


def failed_cases(path, endpoint, profile):
    """The ids of the cases of this file that fail at the endpoint; None when it did not run to its end."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        output_of(FENCEPOST, "certify", "--quiet", "--stress", "none", "--profile", profile, "--endpoint", endpoint,
                  "--scenarios", path, "--json", report, code=None)
        if not report.exists():
            return None
        document = json.loads(report.read_text(encoding="utf-8"))
    return {case["id"] for case in document["cases"] if case["verdict"] == "failed"}


def caught(path, faults):
    """{(fault, dialect)} that some case of the file fails."""
    pairs = [(fault, dialect) for fault in faults for dialect in PROFILES]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda pair: failed_cases(path, f"inproc:?fault={pair[0]}&seed=1&dialect={pair[1]}", pair[1]), pairs)
        return {pair for pair, failed in zip(pairs, found) if failed}


def test_scenario(steps, file):
    text = (ROOT / file).read_text(encoding="utf-8")
    if not steps.check(f"lint {file}", [FENCEPOST, "lint", "scenarios"]):
        return
    for profile in PROFILES:
        steps.check(f"the reference store passes, {profile}", [
            FENCEPOST, "certify", "--quiet", "--stress", "none", "--profile", profile,
            "--endpoint", f"inproc:?dialect={profile}", "--scenarios", file])
    cited = {rule for rules in re.findall(r"(?:requirements|cites): *\[([^\]]*)\]", text)
             for rule in re.findall(r"[A-Z][A-Z0-9-]+", rules)}
    faults = [fault["id"] for fault in json.loads(output_of(FENCEPOST, "list", "faults", "--json"))
              if fault["kind"] == "fault" and fault["needs"] == "nothing" and cited & set(fault["requirements"])]
    begun = time.monotonic()
    now = caught(file, faults)
    lost = set()
    earlier = subprocess.run(["git", "show", f"HEAD:{file}"], cwd=ROOT, capture_output=True, check=False)
    if earlier.returncode == 0 and earlier.stdout.decode("utf-8") != text:
        with tempfile.TemporaryDirectory() as folder:
            old = pathlib.Path(folder) / pathlib.Path(file).name
            old.write_bytes(earlier.stdout)
            lost = caught(old, faults) - now
    steps.say(not lost, f"{len(now)} of {2 * len(faults)} stores that break one of its {len(cited)} rules fail",
              time.monotonic() - begun)
    for fault, dialect in sorted(lost):
        print(f"    {fault} ({dialect}) failed a case of this file before, and passes now", flush=True)
    never = sorted(fault for fault in faults if not any((fault, dialect) in now for dialect in PROFILES))
    if never:
        print(f"        not seen by this file (others may): {', '.join(never)}", flush=True)


def faults_of(file):
    """The ids of the faults in the changed lines of a file of reference_store/faults/; all where there are none."""
    text = (ROOT / file).read_text(encoding="utf-8")
    changed = output_of("git", "diff", "-U12", "HEAD", "--", file)
    pattern = r'"([A-Z]\d\d)"'
    return sorted(set(re.findall(pattern, changed)) or set(re.findall(pattern, text)))


# --- everything else ---


def python_test(steps, name):
    programs = [BUILD / "bin"] if "programs}" in cmake_line(name) else []
    steps.check(f"tests/{name}_test.py", [PYTHON, "-B", f"tests/{name}_test.py", *programs])


def cmake_line(name):
    """How tests/CMakeLists.txt starts it: most take the folder of programs."""
    text = (ROOT / "tests/CMakeLists.txt").read_text(encoding="utf-8")
    own = re.search(rf"add_python_test\({name} \w+(.*?)\)", text)
    return own[1] if own else "${programs}"


PAGES = {"report_page": "html_report", "matrix_page": "matrix_page", "selftest_page": "selftest_program",
         "timeline_page": "timeline_page", "clients_page": "clients_page", "compare_page": "compare",
         "certificate_page": "certificate_page"}


def main():
    parser = argparse.ArgumentParser(prog="ci/quick", add_help=False)
    parser.add_argument("--time", type=float, default=45)
    parser.add_argument("--from", dest="folder", default=os.getcwd())  # what FILE is relative to
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    files = [os.path.relpath(os.path.join(options.folder, file), ROOT) for file in options.files] or changed_files()
    missing = [file for file in files if not (ROOT / file).is_file()]
    if missing:
        print(f"ci/quick: there is no file {missing[0]}", file=sys.stderr)
        return 2
    if not files:
        print("nothing has changed since the last commit")
        return 0
    steps = Steps()
    kinds = collections.defaultdict(list)
    for file in files:
        kinds[kind_of(file)].append(file)

    with concurrent.futures.ThreadPoolExecutor() as beside:
        for what, script in (("rules of the repository", "style_check"), ("words of comments and texts", "words_check")):
            beside.submit(steps.check, f"{what} (tests/{script}.py)", [PYTHON, "-B", f"tests/{script}.py", "."])
        test_all(steps, kinds, options.time)
    print(f"{'FAILED' if steps.failed else 'ok'}, {steps.elapsed():.1f} s; what lands is decided by ci/test")
    return 1 if steps.failed else 0


def test_all(steps, kinds, allowed):
    built = False
    graph_files = kinds["source"] + kinds["page"]
    if graph_files:
        built = test_sources(steps, graph_files, allowed)
    faults = [fault for file in kinds["source"] if re.match(r"reference_store/faults/\w+\.cc$", file)
              for fault in faults_of(file)]
    needs = kinds["scenario"] or kinds["python"] or kinds["document"] or kinds["page"] or faults
    if needs and (built or need_program(steps)):
        for file in kinds["scenario"]:
            test_scenario(steps, file)
        if faults:
            steps.check(f"selftest of {', '.join(faults)}", [
                FENCEPOST, "selftest", *(word for fault in faults for word in ("--fault", fault))])
        for name in sorted({PAGES[page] for file in kinds["page"] for page in PAGES if page in file}):
            python_test(steps, name)
        for file in kinds["python"]:
            python_test(steps, pathlib.Path(file).name.removesuffix("_test.py"))
        if kinds["document"]:
            python_test(steps, "documents")
    for file in kinds["script"]:
        steps.check(f"bash -n {file}", ["bash", "-n", file])
    inputs = sorted({file.split("/")[1] for file in kinds["corpus"]})
    if inputs and configure(steps):
        steps.check("build: fuzz targets", ["ci/build", "dev", *(f"{name}_fuzzer" for name in inputs)])
        steps.check(f"inputs of {', '.join(inputs)}", [
            "ctest", "--test-dir", BUILD, "--output-on-failure", "-R", f"^corpus_({'|'.join(inputs)})$"])
    for file in kinds["other"]:
        print(f"        {file}: nothing here knows what it can break; ci/test does", flush=True)


def kind_of(file):
    path = pathlib.PurePath(file)
    if re.match(r"scenarios/.*\.yaml$", file) and path.name != "requirements.yaml":
        return "scenario"
    if file.startswith("report/page/") and path.suffix in (".js", ".css", ".html"):
        return "page"
    if path.suffix in (".cc", ".h") or path.name in ("CMakeLists.txt", "requirements.yaml") or path.suffix == ".cmake":
        return "source"
    if re.match(r"tests/\w+_test\.py$", file):
        return "python"
    if path.suffix == ".md":
        return "document"
    if file.startswith("corpus/"):
        return "corpus"
    if file.startswith("ci/") and path.suffix == "":
        return "script"
    return "other"


if __name__ == "__main__":
    sys.exit(main())
