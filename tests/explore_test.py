"""`fencepost explore` as its users meet it: exit codes, what is saved, endpoints that are slow or lose connections.

usage: explore_test.py BUILD_BIN_DIR [unittest arguments]
"""

import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BIN = pathlib.Path(sys.argv.pop(1)).resolve()
FENCEPOST = BIN / "fencepost"
# What a run may take at most before a test calls it hung. No test measures speed.
HANG = 300

# Of every area that random requests can show.
FAULTS = ["C05", "C09", "C13", "C15", "C20", "S01", "S04", "S08", "S11", "S17", "X02", "X09", "X14", "D01", "D06", "H10", "H14",
          "H20", "F01", "F06", "F12", "N03", "N10", "N14", "M20"]
# What is wrong with these shows only after some time, in which nothing is asked.
NEED_WAITS = ["S11", "X09"]

# Writes as many keys as the store holds, and so needs all the room that there is.
ALL_ROOM = """area: room
cases:
  - id: room
    title: The store is empty
    requirements: [SET-OK-1]
    requires: [quota]
    exclusive: true
    steps:
      - write_many: {key: k, keys: 400}
"""


def run(*arguments, **options):
    return subprocess.run([FENCEPOST, *arguments], capture_output=True, text=True, timeout=HANG, check=False, **options)


class CuttingProxy:
    """Passes connections on to a broker, and cuts every third after some bytes. The first ones, which look at the endpoint,
    are left alone; a workload needs few more bytes than are passed, so that a slow machine sees a cut as well."""

    def __init__(self, port, seed):
        self.target = port
        self.random = random.Random(seed)
        self.cut = 0
        self.accepted = 0
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                broker = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            self.accepted += 1
            is_cut = self.accepted > 6 and self.accepted % 3 == 0
            allowed = self.random.randrange(300, 1_500) if is_cut else None
            threading.Thread(target=self.relay, args=(client, broker, allowed), daemon=True).start()

    def relay(self, client, broker, allowed):
        with client, broker:
            back = threading.Thread(target=self.pump, args=(broker, client, allowed), daemon=True)
            back.start()
            self.pump(client, broker, allowed)
            back.join()

    def pump(self, source, sink, allowed):
        passed = 0
        try:
            while data := source.recv(4096):
                passed += len(data)
                if allowed is not None and passed > allowed:
                    self.cut += 1
                    break
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()


class Explore(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def serve(self, *arguments):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        server = subprocess.Popen([FENCEPOST, "serve", "--port", port, *arguments], stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.wait, HANG)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.send_signal, signal.SIGTERM)
        self.server = server
        for line in server.stdout:
            found = re.search(r"mqtt://127\.0\.0\.1:(\d+)", line)
            if found:
                return int(found[1])
        self.fail("serve has not said its port")

    def test_no_rule_is_broken_by_a_right_store(self):
        for endpoint in ("inproc:", "embedded"):
            for profile in ("deployed", "documented"):
                done = run("explore", "--endpoint", endpoint, "--profile", profile, "--max-time", "2s", "--seed", "1",
                           cwd=self.folder)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("no rule is broken", done.stdout)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_the_same_seed_makes_the_same_workloads(self):
        lines = []
        for _ in range(2):
            done = run("explore", "--endpoint", "inproc:", "--max-examples", "200", "--seed", "3")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            lines.append(re.search(r"200 workloads +(\d+) operations", done.stdout)[1])
        self.assertEqual(lines[0], lines[1])

    def test_a_wrong_store_gets_a_scenario_that_tells_it_from_the_right_one(self):
        for wrong, right in (("embedded?fault=S01&seed=1", "embedded"), ("inproc:?fault=F06&seed=1", "inproc:")):
            with self.subTest(wrong):
                save = self.folder / wrong[:4]
                done = run("explore", "--endpoint", wrong, "--max-time", "60s", "--seed", "1", "--save", save)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertIn("the store breaks a rule", done.stdout)
                files = list(save.glob("*.yaml"))
                self.assertEqual(len(files), 1, done.stdout)
                self.assertIn("by: explore", files[0].read_text(encoding="utf-8"))
                self.assertEqual(run("lint", files[0]).returncode, 0)
                again = run("replay", files[0], "--endpoint", wrong)
                self.assertEqual(again.returncode, 1, again.stdout + again.stderr)
                self.assertIn("still failing", again.stdout)
                fixed = run("replay", files[0], "--endpoint", right)
                self.assertEqual(fixed.returncode, 0, fixed.stdout + fixed.stderr)
                self.assertIn("fixed", fixed.stdout)

    def test_what_is_found_fails_again_and_passes_on_the_right_store(self):
        saved = {".yaml": 0, ".trace": 0}
        for fault in FAULTS:
            with self.subTest(fault):
                wrong = f"inproc:?fault={fault}&seed=1"
                save = self.folder / fault
                done = run("explore", "--endpoint", wrong, "--max-time", "120s", "--seed", "1", "--save", save, "-q")
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                files = list(save.iterdir())
                self.assertEqual(len(files), 1, done.stdout)
                saved[files[0].suffix] += 1
                if fault in NEED_WAITS:
                    self.assertEqual(files[0].suffix, ".yaml", done.stdout)
                again = ["explore", "--replay"] if files[0].suffix == ".trace" else ["replay"]
                failing = run(*again, files[0], "--endpoint", wrong)
                self.assertEqual(failing.returncode, 1, failing.stdout + failing.stderr)
                fixed = run(*again, files[0], "--endpoint", "inproc:")
                self.assertEqual(fixed.returncode, 0, fixed.stdout + fixed.stderr)
        self.assertGreater(saved[".yaml"], saved[".trace"], saved)
        self.assertGreater(saved[".trace"], 0, saved)

    def test_what_no_scenario_can_say_is_saved_as_the_workload(self):
        wrong = "inproc:?fault=H20&seed=1"
        save = self.folder / "with a blank"
        done = run("explore", "--endpoint", wrong, "--max-time", "120s", "--seed", "1", "--save", save)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        files = list(save.iterdir())
        self.assertEqual([file.suffix for file in files], [".trace"], done.stdout)
        rule = re.search(r"^REJECTED  (\S+): ", done.stdout, re.MULTILINE)[1]
        self.assertIn(f"# requirement: {rule}\n", files[0].read_text(encoding="utf-8"))
        # A reader sees which timestamp was sent.
        self.assertRegex(done.stdout, r"  sent .*  __ts=\S+")
        # Both commands that it prints work as they are.
        for name in ("replay", "again"):
            command = re.search(rf"^  {name} +(.*)$", done.stdout, re.MULTILINE)[1]
            shown = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=HANG, check=False,
                                   cwd=self.folder)
            self.assertEqual(shown.returncode, 1, shown.stdout + shown.stderr)
            self.assertIn(f"REJECTED  {rule}", shown.stdout)
        again = run("explore", "--endpoint", wrong, "--replay", save)
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)
        self.assertIn("still rejected, 5 times of 5", again.stdout)
        right = run("explore", "--endpoint", "inproc:", "--replay", save)
        self.assertEqual(right.returncode, 0, right.stdout + right.stderr)
        self.assertIn("accepted, 5 times of 5", right.stdout)

    def test_known_rejections_are_ignored(self):
        arguments = ["explore", "--endpoint", "inproc:?fault=S01&seed=1", "--max-examples", "300", "--seed", "1", "-q"]
        ignored = run(*arguments, "--ignore", "*", cwd=self.folder)
        self.assertEqual(ignored.returncode, 0, ignored.stdout + ignored.stderr)
        self.assertRegex(ignored.stdout, r"300 workloads .*  [1-9]\d* ignored")
        two = run(*arguments, "--stop-after", "2", cwd=self.folder)
        self.assertEqual(two.returncode, 1, two.stdout + two.stderr)
        rules = re.findall(r"^REJECTED  (\S+): ", two.stdout, re.MULTILINE)
        self.assertEqual(len(set(rules)), len(rules), two.stdout)
        third = run(*arguments, *(word for rule in rules for word in ("--ignore", rule)), cwd=self.folder)
        self.assertNotIn(f"REJECTED  {rules[0]}:", third.stdout)

    def test_files_to_replay_that_cannot_be_read(self):
        (self.folder / "wrong.trace").write_text("# a comment\nc0 SET\n", encoding="utf-8")
        wrong = run("explore", "--endpoint", "inproc:", "--replay", "wrong.trace", cwd=self.folder)
        self.assertEqual(wrong.returncode, 2, wrong.stdout)
        self.assertIn("wrong.trace: line 2: expected a key", wrong.stderr)
        (self.folder / "empty").mkdir()
        for missing in ("none.trace", "empty"):
            self.assertEqual(run("explore", "--endpoint", "inproc:", "--replay", missing, cwd=self.folder).returncode, 2)

    def test_jitter_breaks_no_rule(self):
        done = run("explore", "--endpoint", "embedded?response-jitter=50ms", "--max-time", "5s", "--seed", "2")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_connections_that_end_break_no_rule(self):
        proxy = CuttingProxy(self.serve(), 1)
        self.addCleanup(proxy.close)
        done = run("explore", "--endpoint", f"mqtt://127.0.0.1:{proxy.port}", "--max-time", "8s", "--seed", "4", "-j", "4",
                   cwd=self.folder)
        self.assertGreater(proxy.cut, 0)
        self.assertIn(done.returncode, (0, 3), done.stdout + done.stderr)  # 3: the preflight was hit
        self.assertNotIn("REJECTED", done.stdout)

    def test_no_key_stays_behind(self):
        url = f"mqtt://user:secret@127.0.0.1:{self.serve('--quota', '400')}"
        done = run("explore", "--endpoint", url, "--max-time", "3s", "--seed", "5", "-j", "8", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("secret", done.stdout + done.stderr)
        interrupted = subprocess.Popen([FENCEPOST, "explore", "--endpoint", url, "--max-time", "5m", "--seed", "6", "-j", "8"],
                                       stdout=subprocess.PIPE, text=True, cwd=self.folder)
        self.assertIn("explore", interrupted.stdout.readline())
        time.sleep(1)  # any moment will do
        interrupted.send_signal(signal.SIGINT)
        out, _ = interrupted.communicate(timeout=HANG)
        self.assertEqual(interrupted.returncode, 130, out)
        (self.folder / "room.yaml").write_text(ALL_ROOM, encoding="utf-8")
        (self.folder / "endpoint.yaml").write_text(f"url: {url}\ncapabilities:\n  quota: 400\n", encoding="utf-8")
        room = run("certify", "--descriptor", "endpoint.yaml", "--scenarios", "room.yaml", cwd=self.folder)
        self.assertEqual(room.returncode, 0, room.stdout + room.stderr)

    def test_an_endpoint_that_is_lost(self):
        port = self.serve()
        url = f"mqtt://127.0.0.1:{port}"
        exploring = subprocess.Popen([FENCEPOST, "explore", "--endpoint", url, "--max-time", "1h", "-j", "4"],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        self.assertIn("explore", exploring.stdout.readline())
        self.server.terminate()
        out, complaint = exploring.communicate(timeout=HANG)
        self.assertEqual(exploring.returncode, 3, out + complaint)
        self.assertIn("lost", complaint)

    def test_an_endpoint_that_is_not_there(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        done = run("explore", "--endpoint", f"mqtt://127.0.0.1:{port}", "--max-time", "5s")
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)

    def test_usage(self):
        self.assertEqual(run("explore", "--max-time", "soon").returncode, 2)
        self.assertEqual(run("explore", "--profile", "other").returncode, 2)

    def test_interrupted(self):
        running = subprocess.Popen([FENCEPOST, "explore", "--endpoint", "inproc:", "--max-time", "5m"],
                                   stdout=subprocess.PIPE, text=True)
        running.stdout.readline()
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=HANG)
        self.assertEqual(running.returncode, 130, out)
        self.assertIn("interrupted", out)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
