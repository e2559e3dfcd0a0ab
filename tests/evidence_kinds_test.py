"""Evidence of stress, explore and replay: judged again, killed, full, signed, and without secrets.

usage: evidence_kinds_test.py BUILD_BIN_DIR [unittest arguments]
"""

import re
import resource
import signal
import subprocess

import evidence_file
import harness
from harness import SLOW, run

SAME = r"verdicts: (\d+) the same as those of the run, 0 not"
CASES = harness.OWN_CASES + """\
  - id: own.nx
    title: NX keeps a key that exists
    requirements: [SET-NX-2]
    divergence: [set-not-applied]
    steps:
      - set: {key: k, value: one}
        expect: ok
      - set: {key: k, value: two, options: [NX]}
        expect: not-applied
"""


@harness.full_but("a process for each way in which such a run ends",
                  "test_explore_of_wrong_stores_shows_the_counterexample_again", "test_replay",
                  "test_stress_of_a_wrong_store", "test_no_password_is_in_it", "test_an_exit_code_in_it_decides_nothing",
                  "test_a_head_hides_no_failure", "test_records_hide_no_failure", "test_a_history_without_replies_is_not_green")
class Kinds(harness.FolderTest):
    def evidence_of(self, *arguments, **options):
        return run(*arguments, "--quiet", "--evidence", "run.fpe", *SLOW, cwd=self.folder, env=harness.environment(),
                   **options)

    def judge(self, *arguments):
        return run("judge", "run.fpe", "--quiet", *arguments, cwd=self.folder, env={"PATH": "/nowhere"})

    def change_head(self, change):
        file = self.folder / "run.fpe"
        head, rest = evidence_file.parts(file.read_bytes())
        change(head)
        file.write_bytes(evidence_file.of_parts(head, rest))

    def check_alike(self, done, code, judged_code=None):
        """The file alone gives the same verdicts; how many there were."""
        self.assertEqual(code, done.returncode, done.stdout[-2000:] + done.stderr)
        judged = self.judge()
        self.assertEqual(code if judged_code is None else judged_code, judged.returncode, judged.stdout[-2000:] + judged.stderr)
        self.assertIn("rules: the same as those of the run", judged.stdout)
        self.assertRegex(judged.stdout, SAME)
        return int(re.search(SAME, judged.stdout).group(1)), judged

    def kill(self, *arguments, size=20_000):
        """SIGKILL as soon as the file has so many bytes; then what judge says."""
        process = self.start_program(*arguments, "--quiet", "--evidence", "run.fpe", *SLOW, cwd=self.folder,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        file = self.folder / "run.fpe"
        harness.wait_until(lambda: file.exists() and file.stat().st_size > size)
        process.send_signal(signal.SIGKILL)
        self.assertEqual(-signal.SIGKILL, process.wait(harness.HANG))
        return self.judge()

    # --- explore

    def test_explore_of_right_stores(self):
        for endpoint in ("inproc:", "embedded", "embedded?dialect=documented&fault=U14"):
            with self.subTest(endpoint):
                runs, judged = self.check_alike(
                    self.evidence_of("explore", "--endpoint", endpoint, "--max-time", "2s"), 0)
                self.assertGreater(runs, 20)
                self.assertIn(f"{runs} workloads", judged.stdout)

    def test_explore_of_wrong_stores_shows_the_counterexample_again(self):
        for endpoint, rule in (("inproc:?fault=S01", "SET-NX-2"), ("embedded?fault=S01", "SET-NX-2")):
            with self.subTest(endpoint):
                done = self.evidence_of("explore", "--endpoint", endpoint, "--max-time", "60s", "--seed", "3")
                self.assertIn(rule, done.stdout)
                _, judged = self.check_alike(done, 1)
                self.assertIn(rule, judged.stdout)
                self.assertRegex(judged.stdout, r"rejected [2-9] times")

    def test_explore_with_a_rate_and_with_what_is_ignored(self):
        done = self.evidence_of("explore", "--endpoint", "inproc:?fault=S01", "--max-time", "2s", "--ignore", "*",
                                "--rate", "500")
        # Whoever is given the file has not said that he passes that over.
        runs, judged = self.check_alike(done, 0, judged_code=4)
        self.assertGreater(runs, 3)
        self.assertIn("rejections passed over", judged.stdout)

    def test_explore_of_saved_workloads(self):
        self.write("found.trace", 'c0 SET k0 "v" NX\nc0 SET k0 "w" NX\n')
        for endpoint, code in (("inproc:?fault=S01", 1), ("inproc:", 0)):
            done = self.evidence_of("explore", "--endpoint", endpoint, "--replay", "found.trace")
            self.assertEqual(5, self.check_alike(done, code)[0])

    def test_explore_of_nobody(self):
        done = self.evidence_of("explore", "--endpoint", harness.NOBODY)
        self.check_alike(done, 3)

    def test_explore_killed(self):
        judged = self.kill("explore", "--max-time", "300s")
        self.assertEqual(130, judged.returncode, judged.stdout + judged.stderr)
        self.assertIn("the run did not come to its end", judged.stdout)
        self.assertGreater(int(re.search(SAME, judged.stdout).group(1)), 5, judged.stdout)

    # --- replay

    def test_replay(self):
        self.write("own.yaml", CASES)
        for endpoint, code in (("inproc:", 0), ("embedded", 0), ("inproc:?fault=S01", 1)):
            with self.subTest(endpoint):
                done = self.evidence_of("replay", "own.yaml", "--endpoint", endpoint, "--runs", "3", "--json", "then.json")
                cases = self.folder / "own.yaml"
                cases.rename(self.folder / "away")  # the file has them
                self.assertEqual(6, self.check_alike(done, code)[0])
                self.judge("--json", "now.json")
                (self.folder / "away").rename(cases)
                then, now = self.load("then.json"), self.load("now.json")
                self.assertEqual([(case["id"], case["outcome"]) for case in then["cases"]],
                                 [(case["id"], case["outcome"]) for case in now["cases"]])

    def test_replay_killed(self):
        self.write("own.yaml", CASES)
        judged = self.kill("replay", "own.yaml", "--runs", "5000", size=80_000)
        self.assertEqual(130, judged.returncode, judged.stdout[-2000:] + judged.stderr)
        self.assertGreater(int(re.search(SAME, judged.stdout).group(1)), 10, judged.stdout)

    # --- stress

    def test_stress_of_right_stores(self):
        for endpoint in ("inproc:", "embedded"):
            with self.subTest(endpoint):
                done = self.evidence_of("stress", "--endpoint", endpoint, "--duration", "1s")
                requests = int(re.search(r"(\d+) requests", done.stdout).group(1))
                _, judged = self.check_alike(done, 0)
                self.assertIn(f"{requests} operations", judged.stdout)

    def test_stress_of_a_wrong_store(self):
        done = self.evidence_of("stress", "--endpoint", "inproc:?fault=L13", "--duration", "1s", "--workload", "hot-key",
                                "--seed", "6", "--no-shrink", "--json", "then.json")
        violations, _ = self.check_alike(done, 1)
        self.assertGreater(violations, 0)
        # The history in it is a history like any other.
        self.assertEqual(1, run("check", "run.fpe", "--json", "now.json", cwd=self.folder).returncode)
        then = {(each["key"], each["requirement"]) for each in self.load("then.json")["findings"]}
        now = {(each["key"], each["requirement"]) for each in self.load("now.json")["histories"][0]["keys"]
               if each["answer"] == "violation"}
        self.assertLessEqual(then, now)
        self.assertEqual(1, self.judge("--html", "page.html", "--junit", "junit.xml").returncode)
        self.assertIn("<html", (self.folder / "page.html").read_text("utf-8"))

    def test_stress_of_nobody(self):
        self.assertEqual(3, self.evidence_of("stress", "--endpoint", harness.NOBODY).returncode)
        self.assertEqual(3, self.judge().returncode)

    def test_stress_killed(self):
        judged = self.kill("stress", "--duration", "300s")
        self.assertEqual(130, judged.returncode, judged.stdout + judged.stderr)
        self.assertIn("the run did not come to its end", judged.stdout)
        self.assertGreater(int(re.search(r"(\d+) operations", judged.stdout).group(1)), 50)

    # --- of all of them

    def test_a_full_disk_is_told(self):
        self.write("own.yaml", CASES)

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

        for command in (["explore", "--endpoint", "inproc:", "--max-time", "5s"],
                        ["replay", "own.yaml", "--endpoint", "inproc:", "--runs", "3000"]):
            with self.subTest(command[0]):
                done = self.evidence_of(*command, preexec_fn=limit)
                self.assertEqual(70, done.returncode, done.stdout[-2000:] + done.stderr)
                self.assertIn("cannot write the evidence run.fpe: File too large", done.stderr)
                judged = self.judge()  # what fitted
                self.assertEqual(130, judged.returncode, judged.stdout[-2000:] + judged.stderr)
                self.assertGreater(int(re.search(SAME, judged.stdout).group(1)), 5, judged.stdout)

    def test_no_password_is_in_it(self):
        self.write("own.yaml", CASES)
        secret = "xyzzy-42-plugh"
        server = self.serve("--user", "me", "--password-file", self.write("pw", secret + "\n"))
        url = server.url_of("me", secret)
        for command in (["explore", "--max-time", "1s"], ["replay", "own.yaml"], ["stress", "--duration", "500ms"]):
            with self.subTest(command[0]):
                self.check_alike(self.evidence_of(*command, "--endpoint", url), 0)
                told = run("judge", "run.fpe", cwd=self.folder).stdout
                self.assertNotIn(secret, told)
                self.assertIn("me:***@", told)

    def test_an_exit_code_in_it_decides_nothing(self):
        """Evidence that is damaged, and says of itself that all is well, is not well."""
        self.write("own.yaml", CASES)
        for command in (["stress", "--endpoint", "inproc:", "--duration", "200ms"],
                        ["replay", "own.yaml", "--endpoint", "inproc:"],
                        ["explore", "--endpoint", "inproc:", "--max-examples", "3"]):
            done = self.evidence_of(*command)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
            file = self.folder / "run.fpe"
            content = evidence_file.content_of(file.read_bytes())
            self.assertIn(b'"exit_code":0', content)
            # What was received is gone, or what was asked is another thing.
            changed = content.replace(b'"type":"call"', b'"type":"cakk"').replace(b"$-1\r\n", b"$-2\r\n").replace(
                b"+OK\r\n", b"+KO\r\n")
            self.assertNotEqual(content, changed, command)
            file.write_bytes(evidence_file.of_content(changed))
            judged = self.judge()
            self.assertNotIn(judged.returncode, (0, 70, 134, 139), f"{command}: {judged.stdout}{judged.stderr}")

    def test_a_head_hides_no_failure(self):
        """A head that leaves out, skips or passes over what the file shows makes nothing green."""
        self.write("own.yaml", CASES)
        known = ("certify", "--endpoint", "inproc:?fault=S01", "--run", "set.nx.*", "--stress", "none")
        replayed = ("replay", "own.yaml", "--endpoint", "inproc:?fault=S01")
        explored = ("explore", "--endpoint", "inproc:?fault=S01", "--max-time", "60s", "--seed", "3")
        everything = {"roles": [], "client_ids": {}, "transport": False, "isolated_broker": False, "restart": False,
                      "odd_packets": False, "exact_clock": False, "ephemeral": False}

        def capabilities(head):
            head["evidence"]["capabilities"].update(everything)

        changes = {
            "skip": (known, 2, lambda head: head["selection"].update(skip=["*"])),
            "narrowed": (known, 2, lambda head: head["selection"].update(run=["set.nx.sets-*"])),
            "tag": (known, 2, lambda head: head["selection"].update(tags=["smoke"])),
            "requirement": (known, 2, lambda head: head["selection"].update(requirements=["GET-HIT-1"])),
            "shard": (known, 2, lambda head: head.update(shard={"index": 1, "total": 1000})),
            "capabilities": (("certify", "--endpoint", "inproc:?fault=S01", "--stress", "none"), 2, capabilities),
            "ignored": (explored, 4, lambda head: head["evidence"]["own"].update(ignore=["*"])),
            "no cases": (replayed, 2, lambda head: head["evidence"]["own"].update(
                files=[dict(each, content=each["content"].replace("own.nx", "own.other"))
                       for each in head["evidence"]["own"]["files"]])),
        }
        for name, (command, code, change) in changes.items():
            with self.subTest(name):
                done = self.evidence_of(*command)
                self.assertEqual(1, done.returncode, done.stdout[-1000:] + done.stderr)
                self.change_head(change)
                judged = self.judge()
                self.assertEqual(code, judged.returncode, judged.stdout[-1000:] + judged.stderr)

    def test_records_hide_no_failure(self):
        """Who renames sessions, or cuts what is asked in them, has something left that nobody judges."""
        self.write("own.yaml", CASES)
        bad = "set.nx.refuses-equal-value"
        known = ("certify", "--endpoint", "inproc:?fault=S01", "--run", bad, "--run", "get.*", "--stress", "none")
        replayed = ("replay", "own.yaml", "--endpoint", "inproc:?fault=S01")
        explored = ("explore", "--endpoint", "inproc:?fault=S01", "--max-time", "60s", "--seed", "3")
        at_once = ("certify", "--endpoint", "inproc:?fault=T20", "--run", "get.*", "--stress", "short",
                   "--seed", "2")  # which finds it

        def renamed(to):
            def change(head, rest):
                head["selection"]["skip"] = [bad]
                rest = rest.replace(f"{bad}/1".encode(), to.encode())
                return rest.replace(f'"case":"{bad}'.encode(), b'"case":"' + b"x" * len(bad))
            return change

        def cut_case(head, rest):
            for each in head["evidence"]["own"]["files"]:
                each["content"] = each["content"][:each["content"].rindex("- set:")]
            return rest

        changes = {
            "another attempt": (known, renamed(f"{bad}/9"), 4),
            "after another": (known, renamed(f"after {bad}/1"[:len(bad) + 2]), 2),
            "no case": (known, renamed("x" * len(bad) + "/1"), 2),
            "no end": (known, lambda _, rest: rest.replace(b'"verdicts"', b'"verdictz"'), 1),
            "a shorter case": (replayed, cut_case, 2),
            "no workload": (explored, lambda _, rest: rest.replace(b'"trace"', b'"tracf"'), 4),
            "a stopped workload": (explored, lambda _, rest: re.sub(
                rb'"verdict":"rejected ([^"]*)"', lambda found: b'"verdict":"stopped"'.ljust(len(found[0])), rest), 4),
            "clients at once": (at_once, lambda _, rest: rest.replace(b'"stress":', b'"strezz":'), 1),
        }
        for name, (command, change, code) in changes.items():
            with self.subTest(name):
                done = self.evidence_of(*command)
                self.assertEqual(1, done.returncode, done.stdout[-1000:] + done.stderr)
                self.assertEqual(1, self.judge().returncode)
                file = self.folder / "run.fpe"
                head, rest = evidence_file.parts(file.read_bytes())
                file.write_bytes(evidence_file.of_parts(head, change(head, rest)))
                judged = self.judge()
                self.assertEqual(code, judged.returncode, judged.stdout[-1000:] + judged.stderr)

    def test_a_history_without_replies_is_not_green(self):
        done = self.evidence_of("stress", "--endpoint", "embedded", "--duration", "500ms")
        self.assertEqual(0, done.returncode, done.stdout)
        file = self.folder / "run.fpe"
        head, rest = evidence_file.parts(file.read_bytes())

        def without_reply(line):
            return (b'{"type":"return","id":%s,"reply":"unknown"}' % line[1]).ljust(len(line[0]))

        for lost in (1, 1_000_000):
            with self.subTest(lost):
                changed, times = re.subn(rb'\{"type":"return","id":(\d+),[^\n]*', without_reply, rest, count=lost)
                self.assertGreater(times, 0)
                file.write_bytes(evidence_file.of_parts(head, changed))
                judged = self.judge("--json", "j.json")
                self.assertEqual(4, judged.returncode, judged.stdout[-1000:] + judged.stderr)

    def test_options_that_the_kind_has_not_are_refused(self):
        self.evidence_of("explore", "--endpoint", "inproc:", "--max-examples", "3")
        for arguments in (["--json", "x"], ["--profile", "documented"], ["--strict"]):
            done = self.judge(*arguments)
            self.assertEqual((2, True), (done.returncode, "is not for evidence of explore" in done.stderr), done.stderr)
        done = run("check", "run.fpe", cwd=self.folder)
        self.assertEqual((2, True), (done.returncode, "has no history" in done.stderr), done.stderr)

    def test_they_are_signed(self):
        self.write("own.yaml", CASES)
        key = self.folder / "key"
        harness.must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
        for command in (["explore", "--max-examples", "3"], ["replay", "own.yaml"], ["stress", "--duration", "200ms"]):
            with self.subTest(command[0]):
                done = self.evidence_of(*command, "--endpoint", "inproc:", "--sign", key)
                self.assertEqual(0, done.returncode, done.stdout + done.stderr)
                self.assertEqual(0, run("verify", "run.fpe", cwd=self.folder).returncode)
                file = self.folder / "run.fpe"
                file.write_bytes(file.read_bytes()[:-1] + b"x")
                self.assertEqual(1, run("verify", "run.fpe", cwd=self.folder).returncode)
        self.assertEqual(2, run("explore", "--sign", key, cwd=self.folder).returncode)


if __name__ == "__main__":
    harness.main()
