"""The rules that OSS-Fuzz and ClusterFuzzLite have for what a build leaves in $OUT, as functions that return errors.

From their documents "new project guide", "fuzzer environment" and the scripts of the runner (targets_list,
bad_build_check). An error is a sentence; no errors, no problem."""

import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile

sys.dont_write_bytecode = True
import libfuzzer  # noqa: E402
import targets  # noqa: E402

NAME = re.compile(r"[A-Za-z0-9_-]+")
# What the machine that runs targets has. libstdc++ is not there: the image links libc++, statically.
RUNNER_LIBRARIES = re.compile(r"(linux-vdso|ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libresolv|libgcc_s)\.so")
SANITIZER_SYMBOL = {"address": b"__asan_init", "undefined": b"__ubsan_handle", "memory": b"__msan_init"}
RUNS = 1000
DONE = re.compile(r"^Done (\d+) runs", re.MULTILINE)
NOBODY = 65534


def is_program(path):
    if not path.is_file() or not path.stat().st_mode & stat.S_IXUSR:
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def programs(out):
    """The files that the runner takes for targets: ELF, executable, with the entry point in them."""
    return [path for path in sorted(pathlib.Path(out).iterdir())
            if is_program(path) and b"LLVMFuzzerTestOneInput" in path.read_bytes()]


def check_names(out, expected):
    """Every target was built, under its name; a name has no extension."""
    found = {path.name for path in programs(out)}
    complaints = [f"{name}: not built" for name in expected if name not in found]
    complaints += [f"{name}: not a target of this project" for name in sorted(found) if name not in expected]
    complaints += [f"{name}: a name is of letters, digits, _ and -" for name in sorted(found) if not NAME.fullmatch(name)]
    return complaints


def check_seed_corpus(program):
    archive = program.with_name(program.name + "_seed_corpus.zip")
    if not archive.is_file():
        return [f"{archive.name}: missing"]
    try:
        with zipfile.ZipFile(archive) as file:
            names = file.namelist()
            if file.testzip() is not None:
                return [f"{archive.name}: damaged"]
    except zipfile.BadZipFile as error:
        return [f"{archive.name}: {error}"]
    if not names:
        return [f"{archive.name}: empty"]
    return [f"{archive.name}: {name}: no folders in it, please" for name in names if "/" in name]


def check_options(program):
    """The .options file parses, and names a dictionary that is there, and that the program takes."""
    file = program.with_name(program.name + ".options")
    if not file.is_file():
        return []
    try:
        options = targets.read_options(file)
    except targets.Failure as failure:
        return [str(failure)]
    dictionary = options.get("dict")
    if dictionary is None:
        return []
    if not (program.parent / dictionary).is_file():
        return [f"{file.name}: no dictionary {dictionary}"]
    return check_dictionary(program, program.parent / dictionary)


def check_dictionary(program, dictionary):
    run = subprocess.run([program, f"-dict={dictionary}", "-runs=0"], capture_output=True, cwd="/", check=False)
    if run.returncode == 0:
        return []
    lines = [line for line in run.stderr.decode(errors="replace").splitlines() if "ParseDictionaryFile" in line]
    return [f"{dictionary.name}: {lines[0] if lines else 'not taken by ' + program.name}"]


def check_libraries(program):
    """Shared libraries that the runner does not have."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        return [f"{program.name}: ldd: {(listed.stdout + listed.stderr).strip()}"]
    needed = [line.split()[0].rsplit("/", 1)[-1] for line in listed.stdout.splitlines() if line.strip()]
    return [f"{program.name}: needs {name}, which the runner does not have"
            for name in needed if not RUNNER_LIBRARIES.match(name)]


def check_instrumentation(program, sanitizer):
    content = program.read_bytes()
    complaints = []
    if SANITIZER_SYMBOL[sanitizer] not in content:
        complaints.append(f"{program.name}: not built with the sanitizer {sanitizer}")
    if b"__sancov" not in content:
        complaints.append(f"{program.name}: not instrumented for a fuzzing engine")
    return complaints


def contents(folder):
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in pathlib.Path(folder).rglob("*")}


class ReadOnly:
    """While it is open, nobody can write below `folder`, and programs are started by user() as somebody who cannot. To
    root, modes say nothing: there, programs run as another user."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.modes = {}

    def __enter__(self):
        for path in [self.folder, *self.folder.rglob("*")]:
            self.modes[path] = path.stat().st_mode
            path.chmod((self.modes[path] | 0o055 if path.is_dir() else self.modes[path] | 0o044) & ~0o222)
        return self

    def __exit__(self, *_):
        for path, mode in self.modes.items():
            if path.exists():
                path.chmod(stat.S_IMODE(mode))

    @staticmethod
    def user():
        return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


def check_run(program, arguments, what, cwd="/", runs=RUNS):
    """The program takes that many inputs, from a folder that it cannot write to, and leaves its own as it was. Its file system
    is read-only but for /tmp."""
    before = contents(program.parent)
    with ReadOnly(program.parent):
        # The same limits as on the runner; an input without end is a finding, and must not keep us for ever either.
        command = [program, f"-runs={runs}", "-seed=1", *libfuzzer.LIMITS, *arguments]
        run = subprocess.run(command, cwd=cwd, check=False, capture_output=True, env={}, timeout=600, **ReadOnly.user())
    complaints = []
    said = run.stderr.decode(errors="replace")
    # Or more: once a second, libFuzzer reads the folder of its corpus again, and runs what it did not keep, beyond -runs.
    done = DONE.search(said)
    if run.returncode != 0 or done is None or int(done[1]) < runs:
        complaints.append(f"{program.name}: with {what}, exit code {run.returncode}: {said[-2000:]}")
    if contents(program.parent) != before:
        complaints.append(f"{program.name}: with {what}, it changed the folder that it is in")
    return complaints


def check_runs(program):
    """From any folder, with an empty corpus and with that of the archive, with its options."""
    base = pathlib.Path(tempfile.mkdtemp(prefix="fencepost-rules-"))
    try:
        base.chmod(0o755)
        for name in ("out", "empty", "seeds"):
            (base / name).mkdir()
            (base / name).chmod(0o777)
        # Copied to where every user can get at it.
        copy = pathlib.Path(shutil.copy2(program, base / "out"))
        options_file = program.with_name(program.name + ".options")
        options = targets.read_options(options_file) if options_file.is_file() else {}
        if "dict" in options:
            options["dict"] = shutil.copy2(program.parent / options["dict"], base / "out")
        arguments = [f"-{name}={value}" for name, value in options.items()]
        with zipfile.ZipFile(program.with_name(program.name + "_seed_corpus.zip")) as archive:
            archive.extractall(base / "seeds")
        return (check_run(copy, arguments, "no corpus") +
                check_run(copy, [*arguments, base / "empty"], "an empty corpus", cwd=base) +
                check_run(copy, [*arguments, base / "seeds"], "its seed corpus", runs=RUNS + len(archive.namelist())))
    finally:
        shutil.rmtree(base)


def check_program(program, sanitizer):
    complaints = check_seed_corpus(program) + check_options(program) + check_libraries(program)
    complaints += check_instrumentation(program, sanitizer)
    return complaints or check_runs(program)
