"""Little address space, few files: every command says what it lacks, and none is aborted.

usage: limits_test.py BUILD_BIN_DIR [unittest arguments]
"""

import os
import re
import resource
import signal
import subprocess
import time

import harness
from harness import run

MEBIBYTE = 1 << 20
# What a command may end with that has come to its end: there was enough.
FINE = {0, 1, 4, 5}
# What it may end with that has not, with a word on why.
SAID = {2, 3, 70}
WORDS = re.compile(r"not enough memory|no thread for connections|Too many open files|Cannot allocate memory|"
                   r"Resource temporarily unavailable|does not answer|ended the connection|has no report; see|cannot ")


NOBODY = 65_534


def limited(what, most):
    return lambda: resource.setrlimit(what, (most, most))


def few_processes(most):
    """Runs as a user who has no other processes: the limit does not hold for root, and counts all that a user runs."""
    def limit():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    return limit


class Limits(harness.FolderTest):
    def setUp(self):
        super().setUp()
        self.write("own.yaml", harness.OWN_CASES)
        run("stress", "--endpoint", "inproc:", "--duration", "100ms", "--history", "h.jsonl", cwd=self.folder)
        run("certify", "-q", "--endpoint", "inproc:", "--run", "get.*", "--evidence", "run.fpe", cwd=self.folder)
        self.write("fleet.txt", "one inproc:\n")

    def commands(self):
        return [
            ["certify", "-q", "--run", "get.*"],
            ["certify", "-q", "--run", "get.*", "--endpoint", "inproc:", "--json", "r.json", "--evidence", "e.fpe"],
            ["certify-all", "fleet.txt", "--run", "get.*"],
            ["compare", "-q", "--run", "get.*", "inproc:", "inproc:"],
            ["probe", "--endpoint", "inproc:"],
            ["explore", "-q", "--max-examples", "3"],
            ["replay", "-q", "own.yaml"],
            ["stress", "-q", "--duration", "200ms"],
            ["check", "h.jsonl"],
            ["judge", "-q", "run.fpe"],
            ["record", "--endpoint", harness.NOBODY, "--out", "o.yaml"],
            ["list"],
            ["lint", "own.yaml"],
        ]

    def check_all(self, limit):
        for command in self.commands():
            with self.subTest(" ".join(command)):
                done = run(*command, cwd=self.folder, preexec_fn=limit, env=harness.environment())
                said = done.stdout + done.stderr
                self.assertIn(done.returncode, FINE | SAID, said[-2000:])
                if done.returncode in SAID:
                    self.assertRegex(said, WORDS)
                self.assertNotIn("terminate called", said)

    def test_little_address_space(self):
        for most in (40, 120):
            with self.subTest(f"{most} MB"):
                self.check_all(limited(resource.RLIMIT_AS, most * MEBIBYTE))

    def test_few_files(self):
        for most in (16,):
            with self.subTest(f"{most} files"):
                self.check_all(limited(resource.RLIMIT_NOFILE, most))

    def test_few_processes_and_threads(self):
        """A thread counts as a process."""
        if os.geteuid() != 0:
            print("NOT CHECKED: few processes, as this is not root")
            return
        self.folder.chmod(0o777)
        for file in self.folder.iterdir():
            file.chmod(0o666)
        try:
            run("--version", preexec_fn=few_processes(1), cwd=self.folder)
        except (PermissionError, subprocess.SubprocessError) as trouble:
            print(f"NOT CHECKED: few processes, as another user cannot run this program here: {trouble}")
            return
        for most in (1, 4):
            with self.subTest(f"{most} processes"):
                self.check_all(few_processes(most))

    def test_serve(self):
        for limit in (limited(resource.RLIMIT_AS, 40 * MEBIBYTE), limited(resource.RLIMIT_AS, 120 * MEBIBYTE),
                      limited(resource.RLIMIT_NOFILE, 8), limited(resource.RLIMIT_NOFILE, 16)):
            ready = self.folder / "ready"
            process = self.start_program("serve", "--port", "0", "--ready-file", ready, cwd=self.folder, preexec_fn=limit)
            end = time.monotonic() + harness.SOON
            while process.poll() is None and not ready.exists() and time.monotonic() < end:
                time.sleep(0.01)
            if process.poll() is None:
                self.assertTrue(ready.exists(), "neither ready nor ended")
                process.send_signal(signal.SIGTERM)
            out, said = process.communicate(timeout=harness.HANG)
            self.assertIn(process.returncode, {0} | SAID, out + said)
            if process.returncode in SAID:
                self.assertRegex(out + said, WORDS)
            ready.unlink(missing_ok=True)


if __name__ == "__main__":
    harness.main()
