"""`fencepost replay` as its users meet it: outcomes, exit codes, and that --update writes what it says and nothing else.

usage: replay_saved_test.py BUILD_BIN_DIR [unittest arguments]
"""

import json
import os
import re
import shlex
import signal
import xml.etree.ElementTree

import harness
from harness import FENCEPOST, HANG, connections_to, run, run_command, wait_until

# RECORDED is a line of its own, or gives way to some.
NX = """# A comment of mine.
area: saved
cases:
  - id: saved.nx
    title: NX keeps the value
    note: "It's mine."   # and so is this
    RECORDED
    requirements: [SET-NX-2, SET-OK-1, GET-HIT-3]
    divergence: [set-not-applied]
    steps:
      - set: {key: k, value: one}
        expect: {reply: ok, cites: SET-OK-1}
      - set: {key: k, value: two, options: [NX]}
        expect: not-applied
"""
GET = """area: saved
cases:
  - id: saved.get
    title: GET reads what SET wrote
    requirements: [GET-HIT-3]
    steps:
      - set: {key: k, value: one}
        expect: ok
      - get: k
        expect: {reply: {value: one}}
"""
# Its key is nobody's, so that it stays: the second run fails.
FIRST = """area: saved
cases:
  - id: saved.first
    title: I was first
    requirements: [SET-NX-1]
    steps:
      - send: {command: [SET, of-the-first, one, NX], ts: now}
        expect: ok
"""
OVERWRITES = "inproc:?fault=nx-overwrites"
RIGHT = "inproc:"


class Folder(harness.FolderTest):
    def replay(self, *arguments, endpoint=RIGHT, code=0):
        done = run("replay", "--endpoint", endpoint, *arguments, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotIn("\033", done.stdout)
        return done

    def outcomes(self, *arguments, **options):
        self.replay(*arguments, "--json", self.folder / "out.json", **options)
        self.document = self.load("out.json")
        return {case["id"]: case["outcome"] for case in self.document["cases"]}

    def signature_at(self, endpoint):
        """The signature of the failure of saved.nx."""
        path = self.write("of/it.yaml", NX.replace("    RECORDED\n", ""))
        self.outcomes(path, endpoint=endpoint, code=1)
        return self.document["cases"][0]["failure"]["signature"]

    def write_recorded(self, endpoint=OVERWRITES):
        signature = self.signature_at(endpoint).replace("'", "''")
        recorded = f"recorded:\n      by: hand  # me\n      # Seen once.\n      signature: '{signature}'\n      seed: 7"
        return self.write("saved/nx.yaml", NX.replace("RECORDED", recorded))


class Replay(Folder):
    def test_what_explore_has_saved(self):
        wrong = "embedded?fault=S01&seed=1"
        found = run("explore", "--endpoint", wrong, "--duration", "60s", "--seed", "1", cwd=self.folder)
        self.assertEqual(found.returncode, 1, found.stdout + found.stderr)
        saved = self.folder / "explore-findings"
        text = next(saved.iterdir()).read_text()
        for line in ("recorded:", "by: explore", "endpoint: 'embedded?fault=S01&seed=1'", "seed: 1", "signature: '"):
            self.assertIn(line, text)
        self.assertEqual(run("lint", saved).returncode, 0)
        again = self.replay("explore-findings", endpoint=wrong, code=1)
        self.assertIn("✗ still failing  explore-findings/explore.set.", again.stdout)
        self.assertIn("1 case: 1 still failing", again.stdout)
        self.assertRegex(again.stdout, r"rule .*\n.*because .*\n.*step .*explore\.set\.[0-9a-f]+\.yaml:\d+ ")
        self.assertIn("  recorded  '", again.stdout)
        command = re.search(r"reproduce .*? certify (--endpoint .*)", again.stdout).group(1)
        shown = run_command("sh", "-c", f"{shlex.quote(str(FENCEPOST))} certify {command}", cwd=self.folder)
        self.assertEqual(shown.returncode, 1, shown.stdout + shown.stderr)
        right = self.replay("explore-findings", endpoint="embedded")
        self.assertIn("1 case: 1 fixed\nno case fails\n", right.stdout)

    def test_outcomes_follow_the_store(self):
        path = self.write_recorded()
        self.write("saved/deep/get.yaml", GET)
        self.assertEqual(self.outcomes("saved", endpoint=OVERWRITES, code=1),
                         {"saved.nx": "still failing", "saved.get": "passes"})
        self.assertEqual(self.outcomes("saved"), {"saved.nx": "fixed", "saved.get": "passes"})
        other = self.replay("saved", endpoint="inproc:?fault=failed-nx-says-missing", code=1)
        self.assertIn("2 cases: 1 changed, 1 passes", other.stdout)
        self.assertIn("  signature '", other.stdout)
        self.assertIn("  recorded  'SET-NX-2", other.stdout)
        # The same file by two ways is one; the same id in two files is two.
        self.write("copy.yaml", path.read_text())
        self.replay("saved", "saved/nx.yaml", "copy.yaml", "--json", "out.json")
        cases = self.load("out.json")["cases"]
        self.assertEqual([(case["file"], case["outcome"]) for case in cases],
                         [("saved/deep/get.yaml", "passes"), ("saved/nx.yaml", "fixed"), ("copy.yaml", "fixed")])

    def test_reports_of_a_failing_store(self):
        self.write_recorded()
        self.assertEqual(self.outcomes("saved", "--repeat", "3", "--junit", self.folder / "out.xml", "--seed", "5",
                                       endpoint=OVERWRITES, code=1), {"saved.nx": "still failing"})
        case = self.document["cases"][0]
        self.assertEqual((case["passed"], case["failed"], self.document["runs"], self.document["seed"]), (0, 3, 3, 5))
        self.assertEqual(case["failure"]["signature"], case["recorded"]["signature"])
        self.assertEqual(self.document["exit_code"], 1)
        suites = xml.etree.ElementTree.parse(self.folder / "out.xml").getroot()
        self.assertEqual(len(list(suites.iter("failure"))), 1)

    def test_files_that_cannot_be_loaded(self):
        self.write_recorded()
        broken = self.write("saved/broken.yaml", GET.replace("expect: ok", "expect: okay"))
        done = self.replay("saved", "missing.yaml", endpoint=OVERWRITES, code=2)
        self.assertRegex(done.stderr, r"saved/broken\.yaml:8:17: ")
        self.assertIn("cannot read missing.yaml", done.stderr)
        self.assertIn("1 case: 1 still failing", done.stdout)
        self.assertIn("some files cannot be loaded", done.stdout)
        alone = self.replay(broken, code=2)
        self.assertIn("no file could be loaded", alone.stderr)
        self.assertEqual(alone.stdout, "")

    def test_nothing_to_run(self):
        (self.folder / "empty").mkdir()
        self.assertIn("no case in these", self.replay("empty", code=5).stderr)
        self.write("needs.yaml", GET.replace("    steps:", "    requires: [restart]\n    steps:"))
        skipped = self.replay("needs.yaml", code=5)
        self.assertIn("1 case: 1 skipped", skipped.stdout)
        self.assertRegex(skipped.stdout, "- skipped .*restart")

    def test_usage(self):
        self.write("get.yaml", GET)
        for wrong in ([], ["get.yaml", "--profile", "odd"], ["get.yaml", "--repeat", "0"],
                      ["get.yaml", "--descriptor", "none.yaml"], ["get.yaml", "--json", "no/such/folder/out.json"]):
            done = run("replay", *wrong, cwd=self.folder)
            self.assertEqual(done.returncode, 2, wrong)
            self.assertNotEqual(done.stderr, "")
        self.replay("get.yaml", endpoint="ftp://x", code=2)
        self.replay("get.yaml", endpoint="embedded?fault=no-such-fault", code=2)

    def test_nobody_there(self):
        path = self.write_recorded()
        before = path.read_bytes()
        url = harness.NOBODY.replace("//", "//me:secret@")
        done = self.replay("saved", "--update", "--json", "out.json", endpoint=url, code=3)
        self.assertIn("no broker", done.stderr)
        report = (self.folder / "out.json").read_text()
        self.assertEqual(json.loads(report)["cases"][0]["outcome"], "not run")
        self.assertEqual(json.loads(report)["exit_code"], 3)
        self.assertNotIn("secret", done.stdout + done.stderr + report)
        self.assertEqual(path.read_bytes(), before)


class Heal(Folder):
    def test_nothing_is_written_without_it(self):
        path = self.write_recorded()
        before = path.read_bytes(), path.stat().st_mtime_ns
        self.replay("saved")
        self.replay("saved", endpoint="inproc:?fault=failed-nx-says-missing", code=1)
        self.assertEqual((path.read_bytes(), path.stat().st_mtime_ns), before)
        self.assertEqual([each.name for each in path.parent.iterdir()], ["nx.yaml"])

    def test_fixed_becomes_a_plain_regression(self):
        path = self.write_recorded()
        path.chmod(0o640)
        before = path.read_text()
        done = self.replay("saved", "--update", "--repeat", "2")
        self.assertIn("healed saved/nx.yaml:4 saved.nx: fixed", done.stdout)
        lines = [line for line in before.splitlines(keepends=True) if "signature: " not in line]
        self.assertEqual(path.read_text(), "".join(lines))
        self.assertEqual(path.stat().st_mode & 0o777, 0o640)
        self.assertEqual([each.name for each in path.parent.iterdir()], ["nx.yaml"])
        self.assertEqual(self.outcomes("saved"), {"saved.nx": "passes"})
        self.assertEqual(self.outcomes("saved", endpoint=OVERWRITES, code=1), {"saved.nx": "fails"})

    def test_changed_gets_its_new_signature(self):
        other = "inproc:?fault=failed-nx-says-missing"
        path = self.write_recorded()
        before = path.read_text()
        done = self.replay("saved", "--update", endpoint=other, code=1)
        self.assertIn("healed saved/nx.yaml:4 saved.nx: changed", done.stdout)
        old, new = (re.search(r"signature: .*", text).group(0) for text in (before, path.read_text()))
        self.assertNotEqual(old, new)
        self.assertEqual(path.read_text(), before.replace(old, new))
        self.assertEqual(self.outcomes("saved", "--update", endpoint=other, code=1), {"saved.nx": "still failing"})
        self.assertEqual(self.document["healed"] + self.document["not_healed"], [])

    def test_refuses_what_was_not_decided(self):
        path = self.write_recorded()
        path.write_text(path.read_text().replace("    steps:", "    requires: [restart]\n    steps:"))
        before = path.read_bytes()
        self.write("saved/get.yaml", GET)
        done = self.replay("saved", "--update")
        self.assertIn("not healed saved/nx.yaml:4 saved.nx: it is skipped", done.stdout)
        self.assertEqual(path.read_bytes(), before)

    def test_refuses_a_file_that_is_read_only(self):
        path = self.write_recorded()
        path.chmod(0o444)
        before = path.read_bytes()
        self.assertIn("not healed saved/nx.yaml: the file is read-only", self.replay("saved", "--update").stdout)
        self.assertEqual(path.read_bytes(), before)

    def test_follows_a_link(self):
        path = self.write_recorded()
        (self.folder / "link.yaml").symlink_to(path)
        self.replay("link.yaml", "--update")
        self.assertTrue((self.folder / "link.yaml").is_symlink())
        self.assertNotIn("signature", path.read_text())


class LiveBroker(Folder):
    def setUp(self):
        super().setUp()
        self.server = self.serve()

    def start_long(self, *arguments):
        replaying = self.start_program("replay", "--endpoint", self.server.url, *arguments, cwd=self.folder)
        self.assertIn("fencepost replay", replaying.stdout.readline())
        return replaying

    def test_a_file_that_changes_meanwhile_is_left_alone(self):
        path = self.write_recorded()
        path.write_text(path.read_text().replace("    steps:\n", "    steps:\n      - wait: 2s\n"))
        replaying = self.start_long("saved", "--update")
        mine = path.read_text() + "# A line that came meanwhile.\n"
        path.write_text(mine)
        output, complaint = replaying.communicate(timeout=HANG)
        self.assertEqual(replaying.returncode, 0, output + complaint)
        self.assertIn("not healed saved/nx.yaml: the file was changed during the run", output)
        self.assertEqual(path.read_text(), mine)

    def test_flaky(self):
        path = self.write("first.yaml", FIRST.replace("    steps:", "    recorded: {by: hand, requirement: SET-NX-1}\n"
                                                                    "    steps:"))
        before = path.read_text()
        done = self.replay("first.yaml", "--repeat", "3", "--update", endpoint=self.server.url, code=1)
        self.assertRegex(done.stdout, "✗ flaky  .* failed in 2 of 3 runs\n")
        self.assertIn("not healed first.yaml:3 saved.first: it failed in 2 of 3 runs", done.stdout)
        self.assertEqual(path.read_text(), before)

    def test_interrupted(self):
        self.write("get.yaml", GET)
        replaying = self.start_long("get.yaml", "--repeat", "10000", "--json", "out.json")
        code, output = self.stop(replaying, signal.SIGINT)
        self.assertEqual(code, 130, output)
        self.assertIn("interrupted", output)
        self.assertEqual(self.load("out.json")["exit_code"], 130)

    def test_lost_broker(self):
        self.write("get.yaml", GET.replace("      - get", "      - wait: 3s\n      - get"))
        replaying = self.start_long("get.yaml")
        wait_until(lambda: connections_to(self.server.port) > 0)
        self.server.process.terminate()
        output, complaint = replaying.communicate(timeout=HANG)
        self.assertEqual(replaying.returncode, 3, output + complaint)
        self.assertIn("the endpoint was lost", output)


if __name__ == "__main__":
    os.environ.pop("NO_COLOR", None)
    harness.main()
