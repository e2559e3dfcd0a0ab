"""Runs what tests a module with one mutant after the other active, and notes who was the first to see it."""

import os
import resource
import signal
import subprocess
import tempfile
import time

import project

MEMORY = 4 << 30  # bytes; a mutant that asks for more is dead


class Verdict:
    """The result for one mutant: `killer` is the program that saw it (None for a survivor), `how` is "failed", "crashed" or
    "timed out"."""

    def __init__(self, layer, killer, how):
        self.layer = layer
        self.killer = killer
        self.how = how


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Runner:
    def __init__(self, binaries, tree):
        self.binaries = binaries
        self.tree = tree
        self.seconds = {}  # program -> without a mutant
        self.reached = {}  # program -> the mutants that it comes by

    def run(self, arguments, mutant, timeout, log=None):
        """The exit code, None for a timeout."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FENCEPOST_MUTANT")}
        environment["RC_PARAMS"] = "seed=1"
        if mutant is not None:
            environment["FENCEPOST_MUTANT"] = str(mutant)
        if log:
            environment["FENCEPOST_MUTANT_LOG"] = log
        with tempfile.TemporaryDirectory() as scratch:
            process = subprocess.Popen([os.path.join(self.binaries, arguments[0]), *arguments[1:]], env=environment,
                                       cwd=scratch, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, preexec_fn=limit, start_new_session=True)
            try:
                return process.wait(timeout)
            except subprocess.TimeoutExpired:
                return None
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()

    def measure(self, programs):
        """Runs each program without a mutant; returns the names of those that fail already."""
        failing = []
        for _, name, arguments in programs:
            if name in self.seconds:
                continue
            with tempfile.TemporaryDirectory() as folder:
                log = os.path.join(folder, "reached")
                start = time.monotonic()
                code = self.run(arguments, None, 300, log)
                self.seconds[name] = time.monotonic() - start
                reached = open(log, encoding="ascii").read().split() if os.path.exists(log) else []
                self.reached[name] = {int(number) for number in reached}
            if code != 0:
                failing.append(name)
        return failing

    def judge(self, mutant, programs):
        for layer, name, arguments in programs:
            if mutant.id not in self.reached[name]:
                continue
            code = self.run(arguments, mutant.id, 2 + 10 * self.seconds[name])
            if code is None:
                return Verdict(layer, name, "timed out")
            if code != 0:
                return Verdict(layer, name, "crashed" if code < 0 else "failed")
        return Verdict(None, None, None)

    def is_reached(self, mutant, programs):
        return any(mutant.id in self.reached[name] for _, name, _ in programs)
