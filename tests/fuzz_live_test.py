"""`fencepost fuzz-live` as its users meet it: exit codes, what is saved, and that no key stays behind.

usage: fuzz_live_test.py BUILD_BIN_DIR [unittest arguments]
"""

import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(sys.argv.pop(1)).resolve()
FENCEPOST = BIN / "fencepost"
# What a run may take at most before a test calls it hung. No test measures speed.
HANG = 300

# Writes as many keys as the store holds, and so needs all the room that there is.
ALL_ROOM = """area: room
cases:
  - id: room
    title: The store is empty
    requirements: [SET-OK-1]
    requires: [quota]
    exclusive: true
    steps:
      - write_many: {key: k, keys: 200}
"""


def run(*arguments, **options):
    return subprocess.run([FENCEPOST, *arguments], capture_output=True, text=True, timeout=HANG, check=False, **options)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class FuzzLive(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_right_store_shows_no_difference(self):
        for endpoint in ("inproc:", "embedded"):
            done = run("fuzz-live", "--endpoint", endpoint, "--time", "2s", "--seed", "1", cwd=self.folder)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("seed 1", done.stdout)
            self.assertIn("no difference", done.stdout)
            self.assertEqual(list(self.folder.iterdir()), [])

    def test_wrong_store_gets_a_scenario_that_it_fails_alone(self):
        wrong = "embedded?fault=S01&seed=1"
        done = run("fuzz-live", "--endpoint", wrong, "--time", "5m", "--seed", "1", cwd=self.folder)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        files = list((self.folder / "fuzz-live-findings").iterdir())
        self.assertEqual(len(files), 1)
        self.assertRegex(files[0].name, r"^fuzz-live\.set\.[0-9a-f]{8}\.yaml$")
        self.assertEqual(run("lint", files[0]).returncode, 0)
        # The command that it prints works as it is.
        command = re.search(r"reproduce .*? certify (--endpoint .*)", done.stdout).group(1)
        again = subprocess.run(f"'{FENCEPOST}' certify {command}", shell=True, capture_output=True, text=True, timeout=HANG,
                               check=False, cwd=self.folder)
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)
        right = run("certify", "--endpoint", "embedded", "--scenarios", files[0])
        self.assertEqual(right.returncode, 0, right.stdout + right.stderr)

    def test_usage(self):
        for wrong in (["--time", "soon"], ["--time", "0s"], ["--profile", "odd"], ["--max-steps", "0"],
                      ["--endpoint", "ftp://x"], ["--endpoint", "embedded?fault=no-such-fault"]):
            done = run("fuzz-live", *wrong, cwd=self.folder)
            self.assertEqual(done.returncode, 2, wrong)
            self.assertNotEqual(done.stderr, "")

    def test_nobody_there(self):
        done = run("fuzz-live", "--endpoint", f"mqtt://127.0.0.1:{free_port()}", cwd=self.folder)
        self.assertEqual(done.returncode, 3)
        self.assertIn("no broker", done.stderr)


class LiveBroker(unittest.TestCase):
    """A broker whose store has room for 200 keys and not for more."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        port = free_port()
        self.url = f"mqtt://user:secret@127.0.0.1:{port}"
        self.server = subprocess.Popen([FENCEPOST, "serve", "--port", str(port), "--quota", "200"],
                                       stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.stop_server)
        self.assertIn("mqtt://", self.server.stdout.readline())

    def stop_server(self):
        self.server.terminate()
        self.server.wait(HANG)
        self.server.stdout.close()

    def expect_empty_store(self):
        scenario = self.folder / "room.yaml"
        scenario.write_text(ALL_ROOM, encoding="utf-8")
        descriptor = self.folder / "endpoint.yaml"
        descriptor.write_text(f"url: {self.url}\ncapabilities:\n  quota: 200\n", encoding="utf-8")
        done = run("certify", "--descriptor", descriptor, "--scenarios", scenario)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_leaves_no_key_behind(self):
        done = run("fuzz-live", "--endpoint", self.url, "--time", "3s", "-j", "8", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("secret", done.stdout + done.stderr)
        self.expect_empty_store()

    def test_leaves_no_key_behind_when_interrupted(self):
        fuzzing = subprocess.Popen(
            [FENCEPOST, "fuzz-live", "--endpoint", self.url, "--time", "1h", "-j", "8", "--rate", "2000"],
            stdout=subprocess.PIPE, text=True, cwd=self.folder)
        self.assertIn("fuzz-live", fuzzing.stdout.readline())
        fuzzing.send_signal(signal.SIGINT)
        output, _ = fuzzing.communicate(timeout=HANG)
        self.assertEqual(fuzzing.returncode, 130, output)
        self.assertIn("interrupted", output)
        self.expect_empty_store()

    def test_lost_broker(self):
        fuzzing = subprocess.Popen([FENCEPOST, "fuzz-live", "--endpoint", self.url, "--time", "1h", "-j", "4"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        self.assertIn("fuzz-live", fuzzing.stdout.readline())
        self.server.terminate()
        _, complaint = fuzzing.communicate(timeout=HANG)
        self.assertEqual(fuzzing.returncode, 3, complaint)
        self.assertIn("lost", complaint)


if __name__ == "__main__":
    unittest.main(verbosity=2)
