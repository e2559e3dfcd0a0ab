"""Makes the tree with all mutants in it, and builds it; mutants that do not compile are dropped."""

import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess

import operators
import project

HEADER = "tests/mutation/fencepost_mutant.h"
PLACE = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?P<column>\d+): +(?P<what>fatal error|error|note|"
                   r"required from|in \W*constexpr)", re.MULTILINE)
MOST_OF_A_FILE = 1024
FLAGS = ["-w", "-Wno-narrowing"]


class Failure(Exception):
    """What went wrong, in a sentence for the user."""


class Tree:
    def __init__(self, root, build):
        self.root = pathlib.Path(root)
        self.source = pathlib.Path(build) / "src"
        self.build = pathlib.Path(build) / "build"
        self.memory = pathlib.Path(build) / "dropped.txt"
        self.finders = {}  # path -> Finder
        self.mutants = {}  # id -> Mutant
        self.dropped = set()
        self.schemata = {}
        self.find()

    def fingerprint(self):
        text = "".join(f"{path}\0{finder.text}\0" for path, finder in self.finders.items())
        return hashlib.sha256(text.encode("latin-1")).hexdigest()

    def save(self):
        """Remembers, for the next run, of which sources the binaries are and, by name, what does not compile."""
        keys = sorted(self.mutants[number].key() for number in self.dropped)
        self.memory.write_text("".join(line + "\n" for line in [self.fingerprint(), *keys]), encoding="utf-8")

    def load(self):
        """Drops what did not compile the last time; returns whether the sources are those of then."""
        if not self.memory.is_file():
            return False
        fingerprint, *keys = self.memory.read_text(encoding="utf-8").splitlines()
        self.dropped |= {mutant.id for mutant in self.mutants.values() if mutant.key() in set(keys)}
        return fingerprint == self.fingerprint()

    def listed(self):
        command = ["git", "-C", str(self.root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(command, capture_output=True, check=True).stdout.decode().split("\0")
        return sorted({name for name in names if name and (self.root / name).is_file()})

    def read(self, path):
        # One byte is one character, as compilers count columns.
        return (self.root / path).read_text(encoding="latin-1")

    def find(self):
        paths = [path for path in self.listed() if project.module_of(path)]
        enumerators = operators.enumerations(self.read(path) for path in paths if path.endswith(".h"))
        files = 0
        for module in project.MODULES:
            for path in paths:
                if project.module_of(path) != module:
                    continue
                finder = operators.Finder(self.read(path), enumerators)
                finder.find()
                self.finders[path] = finder
                # Numbers of their own for each file: a change of one file compiles no other again.
                number = files * MOST_OF_A_FILE
                files += 1
                if sum(len(site.mutants) for site in finder.sites) >= MOST_OF_A_FILE:
                    raise Failure(f"{path} has too many mutants for one file; MOST_OF_A_FILE says how many may be")
                for site in finder.sites:
                    for mutant in site.mutants:
                        number += 1
                        mutant.id = number
                        mutant.file = path
                        self.mutants[number] = mutant

    def write(self):
        """Brings the tree up to date; what is the same is not touched, so that it is not compiled again."""
        listed = self.listed()
        for path in listed:
            if path in self.finders:
                finder = self.finders[path]
                live = any(mutant.id not in self.dropped for site in finder.sites for mutant in site.mutants)
                schema = operators.Schema(finder.text, finder.sites, self.dropped, HEADER if live else "")
                self.schemata[path] = schema
                content = schema.text.encode("latin-1")
            else:
                content = (self.root / path).read_bytes()
            target = self.source / path
            if not target.is_file() or target.read_bytes() != content:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        kept = set(listed)
        for old in [path for path in self.source.rglob("*") if path.is_file()]:
            if str(old.relative_to(self.source)) not in kept:
                old.unlink()

    def drop(self, output):
        """Drops the mutants that the errors of a compiler are about; returns how many."""
        blamed, constants = set(), set()
        for block in re.split(r"(?m)^(?=\S+:\d+:\d+: (?:fatal )?error: )", output):
            places = list(PLACE.finditer(block))
            first = next((i for i, place in enumerate(places) if "error" in place.group("what")), None)
            if first is None:
                continue
            for place in [places[first], *places[:first], *places[first + 1:]]:
                path = os.path.relpath(os.path.join(self.build, place.group("file")), self.source)
                schema = self.schemata.get(path)
                found = schema.culprits(int(place.group("line")), int(place.group("column"))) if schema else []
                if found:
                    (constants if schema.blames_constant(found) else blamed).update(found)
                    break
        # A constant that is no longer one spoils what uses it: the other errors may be its fault.
        found = (constants or blamed) - self.dropped
        self.dropped |= found
        return len(found)

    def check_source(self, path):
        command = ["g++", "-std=c++20", "-fsyntax-only", *FLAGS, "-fno-diagnostics-show-caret", "-fmax-errors=0",
                   "-x", "c++", f"-I{self.source}", str(self.source / path)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr

    def check_sources(self, jobs, say):
        """Compiles each rewritten file by itself: errors cost little here."""
        for _ in range(30):
            self.write()
            with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
                output = "".join(pool.map(self.check_source, self.finders))
            if "error: " not in output:
                return
            count = self.drop(output)
            say(f"{count} mutants do not compile")
            if not count:
                raise Failure("the mutated sources do not compile, and no mutant is to blame:\n" + output[-3000:])
        raise Failure("the mutated sources still do not compile after 30 rounds")

    def compile(self, targets, jobs, say):
        self.load()
        self.check_sources(jobs, say)
        environment = dict(os.environ, CCACHE_BASEDIR=str(self.source), CCACHE_NOHASHDIR="1")
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if has_ccache() else []
        configure = ["cmake", "-S", str(self.source), "-B", str(self.build), "-G", "Ninja", "-DCMAKE_CXX_COMPILER=g++",
                     "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1", f"-DCMAKE_CXX_FLAGS={' '.join(FLAGS)}",
                     "-DFENCEPOST_BUILD_BENCHMARKS=OFF", *launcher]
        make = ["cmake", "--build", str(self.build), f"-j{jobs}", "--target", *targets, "--", "-k0"]
        for _ in range(10):
            self.write()
            done = subprocess.run(configure, capture_output=True, text=True, check=False, env=environment)
            if done.returncode:
                raise Failure("the mutated tree cannot be configured:\n" + done.stderr[-3000:])
            done = subprocess.run(make, capture_output=True, text=True, check=False, env=environment)
            if done.returncode == 0:
                self.save()
                return
            count = self.drop(done.stdout + done.stderr)
            say(f"{count} mutants more do not compile")
            if not count:
                raise Failure("the mutated tree does not compile, and no mutant is to blame:\n" + done.stdout[-3000:])
        raise Failure("the mutated tree still does not compile after 10 rounds")


def has_ccache():
    return subprocess.run(["which", "ccache"], capture_output=True, check=False).returncode == 0
