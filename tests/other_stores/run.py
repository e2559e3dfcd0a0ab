"""Runs the suite's commands against the stores of this folder, and complains of everything that is not green. ci/other-stores
calls it; README.md says what the stores are."""

import argparse
import itertools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ["FENCEPOST_BUILD_DIR"])  # of ci/paths.sh
WORK = BUILD / "tools" / "other_stores"
PROFILES = ("deployed", "documented")
EXIT_SKIPPED = 77
# What a store does not claim to be right in, with the reason in README.md.
EXCEPT = {"go": ["--skip", "envelope.packet.broken.*"]}


class Missing(Exception):
    pass


def tool(name, folders=()):
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *folders]))
    if found is None:
        raise Missing(f"{name} is not here")
    return found


def fetched(words, folder):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise Missing(f"{' '.join(map(str, words))} failed: {' '.join(done.stderr.split())[-200:]}")


def copied(name):
    folder = WORK / name
    folder.mkdir(parents=True, exist_ok=True)
    for file in (HERE / name).iterdir():
        if file.is_file():
            shutil.copy(file, folder)
    return folder


def go():
    compiler = tool("go", ["/usr/local/go/bin"])
    folder = copied("go")
    fetched([compiler, "build", "-o", "store", "."], folder)
    return [folder / "store"]


def js():
    folder = copied("js")
    fetched([tool("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=0"], folder)
    return [tool("node"), folder / "store.js"]


def py():
    return [sys.executable, HERE / "py" / "store.py"]


def cpp(options):
    """Returns how many findings there were: the program asks its stores itself."""
    done = subprocess.run([options.build.resolve() / "bin" / "fencepost_other_store", "--first", str(options.first),
                           "--seeds", str(options.seeds * 10), "--workloads", "100"], check=False)
    return done.returncode


MAKERS = {"go": go, "js": js, "py": py}
NAMES = ("cpp", *MAKERS)


class Store:
    def __init__(self, words, seed, profile):
        self.arguments = ["--port", "0", "--profile", profile, *([] if seed is None else ["--seed", str(seed)])]
        self.choices = tempfile.TemporaryFile(mode="w+", encoding="utf-8")
        self.process = subprocess.Popen([*map(str, words), *self.arguments], stdout=subprocess.PIPE, stderr=self.choices,
                                        text=True)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"listening on 127\.0\.0\.1:(\d+)\n", line)
        if found is None:
            raise Missing(f"{words[-1]} did not start: {line!r}")
        self.url = f"mqtt://127.0.0.1:{found[1]}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.choices.close()

    def said(self):
        self.choices.seek(0)
        return self.choices.read()


def commands(name, profile, seconds, depth):
    if depth:
        return {f"all workloads of depth {depth}": ["explore", "--profile", profile, "--exhaustive", str(depth), "-q"]}
    return {
        "certify": ["certify", "--profile", profile, *EXCEPT.get(name, [])],
        "explore": ["explore", "--profile", profile, "--duration", f"{seconds}s", "-q"],
        "stress": ["stress", "--duration", f"{seconds}s"],
    }


def main():
    parser = argparse.ArgumentParser(prog="ci/other-stores", description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=BUILD / "release")
    parser.add_argument("--seeds", type=int, default=3, help="how many stores that decide at random, besides the plain one")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--seconds", type=int, default=4, help="how long explore and stress ask, each")
    parser.add_argument("--exhaustive", type=int, metavar="DEPTH", help="instead: all workloads of this depth")
    parser.add_argument("stores", nargs="*", metavar="|".join(NAMES))
    options = parser.parse_args()
    unknown = set(options.stores) - set(NAMES)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: there are {', '.join(NAMES)}")
    program = options.build.resolve() / "bin" / "fencepost"
    if not program.exists():
        parser.error(f"{program} is not there: ci/build makes it")

    ran, bad = 0, 0
    for name in options.stores or NAMES:
        if name == "cpp":
            ran, bad = ran + 1, bad + (cpp(options) != 0)
            continue
        try:
            words = MAKERS[name]()
        except (Missing, subprocess.TimeoutExpired) as error:
            print(f"NOT CHECKED: the store {name}: {error}", flush=True)
            continue
        seeds = [None, *range(options.first, options.first + options.seeds)]
        for seed, profile in itertools.product(seeds, PROFILES):
            with tempfile.TemporaryDirectory() as folder, Store(words, seed, profile) as store:
                for command, arguments in commands(name, profile, options.seconds, options.exhaustive).items():
                    done = subprocess.run([program, *arguments, "--endpoint", store.url], cwd=folder, capture_output=True,
                                          text=True, check=False)
                    ran += 1
                    print(f"{'ok' if done.returncode == 0 else 'BAD':4}{name} {' '.join(store.arguments[2:])}: {command}"
                          f"{', ' + done.stdout.splitlines()[-1] if options.exhaustive and done.stdout else ''}", flush=True)
                    if done.returncode != 0:
                        bad += 1
                        print(done.stdout[-4000:], done.stderr[-2000:], store.said(), sep="\n", flush=True)
    print(f"other stores: {ran} runs, {bad} that found a fault in a right store")
    if ran == 0:
        return EXIT_SKIPPED
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
