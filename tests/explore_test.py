"""`fencepost explore` as its users meet it: exit codes, what is saved, endpoints that are slow or lose connections.

usage: explore_test.py BUILD_BIN_DIR [unittest arguments]
"""

import random
import re
import shlex
import signal

import harness
from harness import HANG, NOBODY, connections_to, run, wait_until

# Faults of every area that random requests can show.
FAULTS = ["C05", "C09", "C13", "C15", "C20", "S01", "S04", "S08", "S11", "S17", "X02", "X09", "X14", "D01", "D06", "H10", "H14",
          "H20", "F01", "F06", "F12", "N03", "N10", "N14", "M20"]
# What is wrong with these shows only after some time without requests.
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


class CuttingProxy(harness.Proxy):
    """Cuts every third connection after some bytes. The first ones, which look at the endpoint, are left alone; a workload
    needs few more bytes than are passed, so that a slow machine sees a cut as well."""

    def __init__(self, port, seed):
        self.random = random.Random(seed)
        self.left = {}  # of a connection that will be cut: bytes until then, in each direction
        self.cut = 0
        super().__init__(port)

    def passes(self, number, up, data):
        if number <= 6 or number % 3 != 0:
            return True
        left = self.left.setdefault((number, up), self.random.randrange(300, 1_500))
        self.left[number, up] = left - len(data)
        self.cut += left < len(data)
        return left >= len(data)


class Explore(harness.FolderTest):
    def test_no_rule_is_broken_by_a_right_store(self):
        for endpoint in ("inproc:", "embedded"):
            for profile in ("deployed", "documented"):
                done = run("explore", "--endpoint", endpoint, "--profile", profile, "--duration", "500ms", "--seed", "1",
                           cwd=self.folder)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("no rule is broken", done.stdout)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_all_short_workloads(self):
        right = run("explore", "--endpoint", "inproc:", "--exhaustive", "1", "-q")
        self.assertEqual(right.returncode, 0, right.stdout + right.stderr)
        workloads = re.search(r"no rule is broken in all (\d+) workloads", right.stdout)
        self.assertIn(f"{workloads[1]} workloads: each of ", right.stdout)
        wrong = run("explore", "--endpoint", "inproc:?fault=S01", "--exhaustive", "1", "-q", "--out-dir", self.folder)
        self.assertEqual(wrong.returncode, 1, wrong.stdout + wrong.stderr)
        again = re.search(r"--exhaustive 1 --example (\d+)", wrong.stdout)
        one = run("explore", "--endpoint", "inproc:?fault=S01", "--exhaustive", "1", "--example", again[1], "-q", "--out-dir",
                  self.folder)
        self.assertEqual(one.returncode, 1, one.stdout + one.stderr)
        self.assertIn(re.search("REJECTED  .*", wrong.stdout)[0], one.stdout)
        short = run("explore", "--endpoint", "inproc:", "--exhaustive", "3", "--duration", "1ms", "-q")
        self.assertEqual(short.returncode, 4, short.stdout + short.stderr)
        self.assertRegex(short.stdout, r"not decided: the time ended after \d+ of \d+ workloads")
        rest = re.search(r"continue with: (.* --exhaustive 3 --from-example (\d+))\n", short.stdout)
        again = run(*shlex.split(rest[1])[1:], "--duration", "1ms", "-q")
        # On a busy machine the first ended before its first workload.
        part = "" if rest[2] == "1" else f"workloads of depth 3, from {rest[2]}: "
        self.assertIn(f"{part}not decided: the time ended after ", again.stdout, again.stderr)
        beyond = run("explore", "--endpoint", "inproc:", "--exhaustive", "1", "--example", "1000000")
        self.assertEqual(beyond.returncode, 2)
        self.assertIn(f"there are {workloads[1]} workloads of depth 1", beyond.stderr)

    def test_shards_of_all_short_workloads(self):
        workloads = 0
        for shard in ("1/2", "2/2"):
            half = run("explore", "--endpoint", "inproc:", "--exhaustive", "1", "--shard", shard, "-q")
            self.assertEqual(half.returncode, 0, half.stdout + half.stderr)
            said = re.search(rf"shard {shard[0]} of 2 of all (\d+) workloads of depth 1: no rule is broken in its (\d+) ",
                             half.stdout)
            workloads += int(said[2])
        self.assertEqual(workloads, int(said[1]))
        last = run("explore", "--endpoint", "inproc:", "--exhaustive", "1", "--from-example", said[1], "-q")
        self.assertIn(f"all {said[1]} workloads of depth 1, from {said[1]}: no rule is broken in its 1 workloads", last.stdout)
        for wrong in (["--shard", "3/2"], ["--from-example", str(workloads + 1)], ["--shard", "1/2", "--example", "1"]):
            with self.subTest(wrong):
                self.assertEqual(run("explore", "--endpoint", "inproc:", "--exhaustive", "1", *wrong).returncode, 2)
        self.assertEqual(run("explore", "--endpoint", "inproc:", "--shard", "1/2").returncode, 2)

    def test_a_store_is_judged_by_the_documents_that_are_named(self):
        def explore(store, *basis):
            return run("explore", "--endpoint", f"inproc:?dialect=documented&fault={store}", *basis, "--seed", "1",
                       "--max-examples", "400", "--out-dir", self.folder)
        for store, basis, code, rule in (
                ("what-the-article-prints", ("--profile", "documented"), 0, ""),
                ("what-the-article-prints", ("--profile", "deployed"), 1, "REJECTED  ENV-STATUS-1"),
                ("what-the-article-prints", (), 0, ""),
                ("what-the-preview-prints", (), 0, ""),
                ("notifications-overtake-each-other", (), 0, ""),
                ("notifications-overtake-each-other", ("--profile", "deployed"), 1, "REJECTED  NTF-"),
                ("what-the-preview-prints", ("--profile", "documented", "--edition", "preview"), 0, ""),
                ("what-the-preview-prints", ("--profile", "documented", "--edition", "ga"), 1, "REJECTED  NTF-VERSION-")):
            with self.subTest(store=store, basis=basis):
                done = explore(store, *basis)
                self.assertEqual(done.returncode, code, done.stdout[-2000:])
                self.assertIn(rule, done.stdout)
                if rule:  # the command that finds it again judges by the same
                    for word in basis:
                        self.assertIn(word, done.stdout)
        self.assertEqual(2, run("explore", "--endpoint", "inproc:", "--edition", "older").returncode)

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
                done = run("explore", "--endpoint", wrong, "--duration", "60s", "--seed", "1", "--out-dir", save)
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
                done = run("explore", "--endpoint", wrong, "--duration", "120s", "--seed", "1", "--out-dir", save, "-q")
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
        done = run("explore", "--endpoint", wrong, "--duration", "120s", "--seed", "1", "--out-dir", save)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        files = list(save.iterdir())
        self.assertEqual([file.suffix for file in files], [".trace"], done.stdout)
        rule = re.search(r"^REJECTED  (\S+): ", done.stdout, re.MULTILINE)[1]
        self.assertIn(f"# requirement: {rule}\n", files[0].read_text(encoding="utf-8"))
        # A reader sees which timestamp was sent.
        self.assertRegex(done.stdout, r"  sent .*\s+__ts=\S+")
        # Both commands that it prints work as they are.
        for name in ("replay", "reproduce"):
            command = re.search(rf"^  {name} +(.*)$", done.stdout, re.MULTILINE)[1]
            shown = harness.run_command("sh", "-c", command, cwd=self.folder)
            self.assertEqual(shown.returncode, 1, shown.stdout + shown.stderr)
            self.assertIn(f"REJECTED  {rule}", shown.stdout)
        again = run("explore", "--endpoint", wrong, "--replay", save)
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)
        self.assertIn("still rejected in 5 of 5 runs", again.stdout)
        right = run("explore", "--endpoint", "inproc:", "--replay", save)
        self.assertEqual(right.returncode, 0, right.stdout + right.stderr)
        self.assertIn("accepted in 5 of 5 runs", right.stdout)

    def test_known_rejections_are_ignored(self):
        arguments = ["explore", "--endpoint", "inproc:?fault=S01&seed=1", "--max-examples", "300", "--seed", "1", "-q"]
        ignored = run(*arguments, "--ignore", "*", cwd=self.folder)
        self.assertEqual(ignored.returncode, 0, ignored.stdout + ignored.stderr)
        self.assertRegex(ignored.stdout, r"300 workloads .*  [1-9]\d* ignored")
        two = run(*arguments, "--max-failures", "2", cwd=self.folder)
        self.assertEqual(two.returncode, 1, two.stdout + two.stderr)
        rules = re.findall(r"^REJECTED  (\S+): ", two.stdout, re.MULTILINE)
        self.assertEqual(len(set(rules)), len(rules), two.stdout)
        third = run(*arguments, *(word for rule in rules for word in ("--ignore", rule)), cwd=self.folder)
        self.assertNotIn(f"REJECTED  {rules[0]}:", third.stdout)

    def test_files_to_replay_that_cannot_be_read(self):
        self.write("wrong.trace", "# a comment\nc0 SET\n")
        wrong = run("explore", "--endpoint", "inproc:", "--replay", "wrong.trace", cwd=self.folder)
        self.assertEqual(wrong.returncode, 2, wrong.stdout)
        self.assertIn("wrong.trace: line 2: expected a key", wrong.stderr)
        (self.folder / "empty").mkdir()
        for missing in ("none.trace", "empty"):
            self.assertEqual(run("explore", "--endpoint", "inproc:", "--replay", missing, cwd=self.folder).returncode, 2)

    @harness.full("searches a slow store in real time")
    def test_jitter_breaks_no_rule(self):
        done = run("explore", "--endpoint", "embedded?response-jitter=50ms", "--duration", "5s", "--seed", "2")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_connections_that_end_break_no_rule(self):
        proxy = CuttingProxy(self.serve().port, 1)
        self.addCleanup(proxy.close)
        done = run("explore", "--endpoint", f"mqtt://127.0.0.1:{proxy.port}", "--max-examples", "120", "--seed",
                   "4", "-j", "4", "--duration", "4m", cwd=self.folder)
        self.assertGreater(proxy.cut, 0)
        self.assertIn(done.returncode, (0, 3, 4), done.stdout + done.stderr)  # 3: the preflight was hit
        self.assertNotIn("REJECTED", done.stdout)

    def test_injected_faults_break_no_rule_and_hide_none(self):
        def explore(endpoint, *options):
            return run("explore", "--endpoint", endpoint, "--out-dir", self.folder, "--disturb", *options)
        done = explore("embedded", "all", "--disturb-every", "50ms", "--duration", "3s")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"disturbances  .*reset \d")
        done = explore("embedded?fault=S01", "delay,jitter", "--duration", "20s")
        self.assertEqual(1, done.returncode, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"reproduce .* --seed \d+ --example \d+ --disturb delay,jitter\n")
        for kinds, text in (("reset,kill", "use stress --disturb kill"), ("explode", "is not none, all, or one of")):
            done = explore("embedded", kinds)
            self.assertEqual(2, done.returncode)
            self.assertIn(text, done.stderr)

    def test_no_key_stays_behind(self):
        server = self.serve("--quota", "400")
        url = server.url_of("user", "secret")
        done = run("explore", "--endpoint", url, "--duration", "3s", "--seed", "5", "-j", "8", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("secret", done.stdout + done.stderr)
        interrupted = self.start_program("explore", "--endpoint", url, "--duration", "5m", "--seed", "6", "-j", "8",
                                         cwd=self.folder)
        self.assertIn("explore", interrupted.stdout.readline())
        # Several workloads run at the same time: each has a connection of its own.
        wait_until(lambda: connections_to(server.port) >= 4)
        code, out = self.stop(interrupted, signal.SIGINT)
        self.assertEqual(code, 130, out)
        self.write("room.yaml", ALL_ROOM)
        self.write("endpoint.yaml", f"url: {url}\ncapabilities:\n  quota: 400\n")
        room = run("certify", "--descriptor", "endpoint.yaml", "--scenarios", "room.yaml", cwd=self.folder)
        self.assertEqual(room.returncode, 0, room.stdout + room.stderr)

    def test_an_endpoint_that_is_lost(self):
        server = self.serve()
        exploring = self.start_program("explore", "--endpoint", server.url, "--duration", "1h", "-j", "4", cwd=self.folder)
        self.assertIn("explore", exploring.stdout.readline())
        server.process.terminate()
        out, complaint = exploring.communicate(timeout=HANG)
        self.assertEqual(exploring.returncode, 3, out + complaint)
        self.assertIn("lost", complaint)

    def test_a_shell_that_allows_few_open_files(self):
        """Most allow 1,024. What the machine allows beyond that is used; where that is no more, less runs in parallel."""
        for limit, options, said in (("ulimit -Sn 1024", [], "its"), ("ulimit -n 1024", ["--max-examples", "200"], "200 of")):
            done = harness.run_command("sh", "-c", limit + '; exec "$0" "$@"', harness.FENCEPOST, "explore", "--endpoint",
                                       "embedded", "--exhaustive", "1", "--shard", "1/4", *options)
            self.assertIn(f"no rule is broken in {said} 1455 workloads", done.stdout, done.stdout + done.stderr)

    def test_an_endpoint_that_is_not_there(self):
        done = run("explore", "--endpoint", NOBODY, "--duration", "5s")
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)

    def test_usage(self):
        self.assertEqual(run("explore", "--duration", "soon").returncode, 2)
        self.assertEqual(run("explore", "--profile", "other").returncode, 2)

    def test_interrupted(self):
        running = self.start_program("explore", "--endpoint", "inproc:", "--duration", "5m")
        running.stdout.readline()
        code, out = self.stop(running, signal.SIGINT)
        self.assertEqual(code, 130, out)
        self.assertIn("interrupted", out)


if __name__ == "__main__":
    harness.main()
