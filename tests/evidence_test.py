"""Evidence of runs: judged again, signed, cut, and without secrets.

usage: evidence_test.py BUILD_BIN_DIR [--changes N] [unittest arguments]
"""

import random
import re
import resource
import signal
import subprocess
import sys

import evidence_file
import harness
from harness import SLOW, run

# One-byte changes that a test of the signature makes.
CHANGES = 40
if "--changes" in sys.argv:
    at = sys.argv.index("--changes")
    CHANGES = int(sys.argv[at + 1])
    del sys.argv[at:at + 2]

# Conditions, clocks, notifications, fencing, expiry; and over real connections.
WRONG = ["inproc:?fault=S01", "inproc:?fault=H01", "inproc:?fault=N03", "inproc:?fault=F01", "inproc:?fault=X01",
         "embedded?fault=C26"]


def verdicts(report):
    return {case["id"]: (case["verdict"], case.get("failure", {}).get("requirement"),
                         case.get("failure", {}).get("step")) for case in report["cases"]}


class Evidence(harness.FolderTest):
    def certify(self, *arguments):
        return run("certify", "--quiet", "--evidence", "run.fpe", "--json", "run.json", *arguments, *SLOW, cwd=self.folder,
                   env=harness.environment())

    def judge(self, *arguments):
        return run("judge", "run.fpe", "--quiet", *arguments, cwd=self.folder, env={"PATH": "/nowhere"})

    def check_judged_alike(self, done):
        """The file alone gives the same verdicts."""
        judged = self.judge("--json", "judged.json")
        self.assertEqual(done.returncode, judged.returncode, done.stdout + done.stderr + judged.stdout + judged.stderr)
        then, now = self.load("run.json"), self.load("judged.json")
        self.assertEqual(verdicts(then), verdicts(now))
        for member in ("summary", "judged_by", "forms_observed", "open_points_observed", "dialect_observed", "seed", "endpoint",
                       "clock_offset_ms", "clock_offset_bounds_ms", "exit_code"):
            self.assertEqual(then[member], now[member], member)
        # Not only the verdicts: each time that was measured.
        self.assertEqual([case["round_trips_ms"] for case in then["cases"]], [case["round_trips_ms"] for case in now["cases"]])
        self.assertIn("rules: the same as those of the run", judged.stdout)
        self.assertRegex(judged.stdout, rf"verdicts: {len(then['cases'])} the same as in the run, 0 different")

    def test_the_right_store_is_judged_alike(self):
        self.check_judged_alike(self.certify("--endpoint", "inproc:"))

    def test_wrong_stores_are_judged_alike(self):
        for endpoint in WRONG[::3] if harness.IN_GATE else WRONG:
            with self.subTest(endpoint):
                done = self.certify("--endpoint", endpoint)
                self.assertEqual(1, done.returncode, done.stdout[-2000:])
                self.check_judged_alike(done)

    def test_what_the_preflight_has_found_out_is_judged_by(self):
        """A broker says how large packets may be: cases that need such a limit run."""
        done = self.certify("--endpoint", self.serve().url, "--run", "limit.packet.*")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.check_judged_alike(done)

    def test_a_lost_endpoint_is_judged_alike(self):
        server = self.serve()
        process = self.start_program("certify", "--quiet", "--evidence", "run.fpe", "--json", "run.json", "--endpoint",
                                     server.url, *SLOW, cwd=self.folder)
        harness.wait_until(lambda: (self.folder / "run.fpe").exists() and (self.folder / "run.fpe").stat().st_size > 200_000)
        server.process.send_signal(signal.SIGKILL)
        out, said = process.communicate(timeout=harness.HANG)
        self.assertEqual(3, process.returncode, out + said)
        judged = self.judge("--json", "judged.json")
        self.assertIn(judged.returncode, (3, 130), judged.stdout + judged.stderr)
        then, now = verdicts(self.load("run.json")), verdicts(self.load("judged.json"))
        decided = {case for case, (verdict, _, _) in then.items() if verdict not in ("lost", "not-run")}
        self.assertGreater(len(decided), 10)
        self.assertEqual({case: then[case] for case in decided}, {case: now[case] for case in decided})

    @harness.full("a whole certification over TLS; redaction has the same for one case")
    def test_over_tls_with_passwords_no_secret_is_in_it(self):
        secret = "xyzzy-42-plugh"
        server = harness.Server(None, harness.free_port())
        server.process = self.start_program(
            "serve", "--port", server.port, "--tls", self.folder / "ca.pem", "--user", "me", "--password-file",
            self.write("pw", secret + "\n"))
        self.assertIn("ready at", server.process.stdout.readline())
        self.write("d.yaml", f"url: mqtts://localhost:{server.port}\ntls: {{ca: ca.pem}}\n"
                             f"roles: {{default: {{user: me, password: {secret}}}}}\n")
        done = self.certify("--descriptor", "d.yaml", "--skip", "moves-clock")
        self.assertIn(done.returncode, (0, 4), done.stdout + done.stderr)
        self.check_judged_alike(done)
        data = (self.folder / "run.fpe").read_bytes()
        content = b"".join(evidence_file.frames(data))
        self.assertIn(b"localhost", content)
        for place in (data, content):
            self.assertNotIn(secret.encode(), place)
            self.assertNotIn(secret.encode("utf-16-le"), place)
        # The same in a URL.
        done = self.certify("--endpoint", f"mqtts://me:{secret}@localhost:{server.port}", "--run", "get.*")
        self.assertNotIn(secret.encode(), b"".join(evidence_file.frames((self.folder / "run.fpe").read_bytes())))

    def test_a_kill_leaves_all_but_the_last_moment(self):
        process = self.start_program("certify", "--quiet", "--evidence", "run.fpe", "--json", "run.json", *SLOW,
                                     cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        file = self.folder / "run.fpe"
        harness.wait_until(lambda: file.exists() and file.stat().st_size > 150_000)
        process.send_signal(signal.SIGKILL)
        process.wait(harness.HANG)
        made = run("merge", "-q", "run.fpe", "--json", "made.json", cwd=self.folder)
        self.assertEqual(130, made.returncode, made.stderr)
        made = self.load("made.json")
        finished = len(made["cases"]) - made["summary"]["not_run"]
        judged = self.judge("--json", "judged.json")
        self.assertEqual(130, judged.returncode, judged.stdout + judged.stderr)
        report = self.load("judged.json")
        there = len(report["cases"]) - report["summary"]["not_run"]
        self.assertGreater(there, 10)
        self.assertGreater(there, finished / 4)
        self.assertRegex(judged.stdout, r"verdicts: \d+ the same as in the run, 0 different")

    def test_an_interrupted_run_is_judged_alike(self):
        process = self.start_program("certify", "--quiet", "--evidence", "run.fpe", "--json", "run.json", *SLOW,
                                     cwd=self.folder)
        file = self.folder / "run.fpe"
        harness.wait_until(lambda: file.exists() and file.stat().st_size > 150_000)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(130, process.wait(harness.HANG))
        judged = self.judge("--json", "judged.json")
        self.assertEqual(130, judged.returncode, judged.stdout + judged.stderr)
        self.assertRegex(judged.stdout, r"verdicts: \d+ the same as in the run, 0 different")
        self.assertGreater(self.load("judged.json")["summary"]["passed"], 10)

    def test_a_damaged_file_is_told_and_read_up_to_there(self):
        self.certify("--endpoint", "inproc:", "--run", "get.*")
        file = self.folder / "run.fpe"
        data = file.read_bytes()
        for _ in range(20):
            changed = bytearray(data)
            place = random.randrange(len(data))
            changed[place] ^= 1 << random.randrange(8)
            file.write_bytes(changed)
            judged = self.judge()
            self.assertRegex(judged.stderr, r"run\.fpe(:| is not| is truncated| has)", place)
        file.write_bytes(data[:-5])
        self.assertIn("is incomplete", self.judge().stderr)
        file.write_bytes(b"")
        self.assertEqual((2, "fencepost: run.fpe is not an evidence file\n"), (self.judge().returncode, self.judge().stderr))

    def test_rules_that_have_changed_are_named_and_judged_by(self):
        cases = harness.OWN_CASES
        self.write("own.yaml", cases)
        done = self.certify("--endpoint", "inproc:", "--scenarios", "own.yaml")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.write("own.yaml", cases.replace("expect: missing", "expect: {reply: {value: v}}"))
        judged = self.judge("--scenarios", "own.yaml")
        self.assertEqual(1, judged.returncode, judged.stdout + judged.stderr)
        self.assertIn("changed: 1 (own.missing)", judged.stdout)
        self.assertIn("own.missing: was passed, is failed GET-MISS-1", judged.stdout)
        # What was never requested decides nothing.
        self.write("own.yaml", cases.replace("get: k", "get: other"))
        judged = self.judge("--scenarios", "own.yaml")
        self.assertEqual(4, judged.returncode, judged.stdout + judged.stderr)
        self.assertIn("the evidence has no record of this request", judged.stdout)

    def test_a_full_disk_is_told(self):
        done = run("certify", "--quiet", "--evidence", "/dev/full", "--endpoint", "inproc:", cwd=self.folder)
        self.assertEqual(2, done.returncode)
        self.assertIn("cannot write /dev/full: No space left on device", done.stderr)

    def change(self, change):
        file = self.folder / "run.fpe"
        head, rest = evidence_file.parts(file.read_bytes())
        rest = change(head, rest)
        file.write_bytes(evidence_file.of_parts(head, rest))

    def check_changes(self, changes):
        for name, (command, change, code) in changes.items():
            with self.subTest(name):
                done = self.certify(*command)
                self.assertEqual(1, done.returncode, done.stdout[-1000:] + done.stderr)
                self.assertEqual(1, self.judge().returncode)
                self.change(change)
                judged = self.judge()
                self.assertEqual(code, judged.returncode, judged.stdout[-1000:] + judged.stderr)

    def test_a_head_hides_no_failure(self):
        """A head that leaves out or skips what the file shows makes nothing green."""
        known = ("--endpoint", "inproc:?fault=S01", "--run", "set.nx.*", "--stress", "none")
        everything = {"roles": [], "client_ids": {}, "transport": False, "isolated_broker": False, "restart": False,
                      "odd_packets": False, "store_in_broker": False, "exact_clock": False, "ephemeral": False}

        def of_head(change):
            def changed(head, rest):
                change(head)
                return rest
            return changed

        self.check_changes({
            "skip": (known, of_head(lambda head: head["selection"].update(skip=["*"])), 2),
            "narrowed": (known, of_head(lambda head: head["selection"].update(run=["set.nx.sets-*"])), 2),
            "tag": (known, of_head(lambda head: head["selection"].update(tags=["smoke"])), 2),
            "requirement": (known, of_head(lambda head: head["selection"].update(requirements=["GET-HIT-1"])), 2),
            "shard": (known, of_head(lambda head: head.update(shard={"index": 1, "total": 1000})), 2),
            "capabilities": (("--endpoint", "inproc:?fault=S01", "--stress", "none"),
                             of_head(lambda head: head["evidence"]["capabilities"].update(everything)), 2),
        })

    def test_records_hide_no_failure(self):
        """Who renames sessions has something left that nobody judges."""
        bad = "set.nx.refuses-equal-value"
        known = ("--endpoint", "inproc:?fault=S01", "--run", bad, "--run", "get.*", "--stress", "none")
        at_once = ("--endpoint", "inproc:?fault=T20", "--run", "get.*", "--stress", "short", "--seed", "2")  # which finds it

        def renamed(to):
            def change(head, rest):
                head["selection"]["skip"] = [bad]
                rest = rest.replace(f"{bad}/1".encode(), to.encode())
                return rest.replace(f'"case":"{bad}'.encode(), b'"case":"' + b"x" * len(bad))
            return change

        self.check_changes({
            "another attempt": (known, renamed(f"{bad}/9"), 4),
            "after another": (known, renamed(f"after {bad}/1"[:len(bad) + 2]), 2),
            "no case": (known, renamed("x" * len(bad) + "/1"), 2),
            "no end": (known, lambda _, rest: rest.replace(b'"verdicts"', b'"verdictz"'), 1),
            "clients at once": (at_once, lambda _, rest: rest.replace(b'"stress":', b'"strezz":'), 1),
        })

    def test_an_end_in_it_decides_nothing(self):
        """Evidence that is damaged, and says of itself that all is well, is not well."""
        done = self.certify("--endpoint", "inproc:", "--run", "get.*", "--run", "set.nx.*")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.change(lambda _, rest: rest.replace(b"$-1\r\n", b"$-2\r\n").replace(b"+OK\r\n", b"+KO\r\n"))
        judged = self.judge()
        self.assertEqual(1, judged.returncode, judged.stdout + judged.stderr)

    def test_evidence_of_other_commands_is_refused_with_what_there_is_instead(self):
        self.certify("--endpoint", "inproc:", "--run", "get.*")
        for command, instead in (("explore", "`fencepost explore --replay`"), ("replay", "`fencepost replay`"),
                                 ("stress", "`fencepost check`")):
            def of_command(head, rest, command=command):
                head["evidence"]["command"] = command
                head["suite_version"] = "0.0.9"
                return rest
            self.change(of_command)
            judged = self.judge()
            self.assertEqual(2, judged.returncode, judged.stdout + judged.stderr)
            self.assertIn(f"run.fpe: was written by `fencepost {command}` of version 0.0.9", judged.stderr)
            self.assertIn(instead, judged.stderr)

    def test_a_disk_that_is_full_later_is_told(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

        done = run("certify", "--quiet", "--evidence", "run.fpe", "--endpoint", "inproc:", cwd=self.folder, preexec_fn=limit,
                   env=harness.environment(TMPDIR=str(self.folder)))
        self.assertEqual(70, done.returncode, done.stdout[-2000:] + done.stderr)
        self.assertEqual(1, done.stderr.count("cannot write run.fpe: File too large"), done.stderr)
        judged = self.judge()  # what fitted
        self.assertEqual(130, judged.returncode, judged.stdout[-2000:] + judged.stderr)
        self.assertGreater(int(re.search(r"verdicts: (\d+) the same as in the run, 0 different", judged.stdout)[1]), 5)


class Signed(harness.FolderTest):
    def setUp(self):
        super().setUp()
        for name in ("me", "other"):
            harness.must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", self.folder / name)
        key = self.read("me.pub").split()
        self.write("allowed", f"me@example.com {key[0]} {key[1]}\n")

    def certify(self, *arguments):
        return run("certify", "--quiet", "--endpoint", "inproc:", "--run", "get.*", *arguments, cwd=self.folder,
                   env=harness.environment())

    def verify(self, *arguments, **options):
        return run("verify", *arguments, cwd=self.folder, **options)

    def test_what_was_signed_is_verified_by_us_and_by_everybody(self):
        for _ in range(2):  # the second time in the place of the first
            done = self.certify("--evidence", "run.fpe", "--json", "run.json", "--sign", "me")
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        for name in ("run.fpe", "run.json"):
            found = self.verify(name)
            self.assertEqual(0, found.returncode, found.stderr)
            self.assertIn('Good "fencepost" signature', found.stdout)
            self.assertIn("the owner of the key is checked only with --allowed-signers", found.stdout)
            found = self.verify(name, "--allowed-signers", "allowed")
            self.assertIn("for me@example.com", found.stdout)
            with open(self.folder / name, "rb") as file:
                harness.must("ssh-keygen", "-Y", "verify", "-f", self.folder / "allowed", "-I", "me@example.com", "-n",
                             "fencepost", "-s", self.folder / f"{name}.sig", stdin=file)

    def test_a_change_of_one_byte_is_found(self):
        self.certify("--evidence", "run.fpe", "--sign", "me")
        file = self.folder / "run.fpe"
        data = file.read_bytes()
        for _ in range(CHANGES):
            changed = bytearray(data)
            changed[random.randrange(len(data))] ^= random.randrange(1, 256)
            file.write_bytes(changed)
            found = self.verify("run.fpe", "--allowed-signers", "allowed")
            self.assertEqual(1, found.returncode, found.stdout)
            self.assertIn("run.fpe is not the file that was signed", found.stderr)

    def test_somebody_else_is_found(self):
        self.certify("--evidence", "run.fpe", "--sign", "other")
        found = self.verify("run.fpe", "--allowed-signers", "allowed")
        self.assertEqual((1, True), (found.returncode, "with a key that is not in allowed" in found.stderr), found.stderr)
        found = self.verify("run.fpe", "--allowed-signers", "allowed", "--signer", "me@example.com")
        self.assertEqual(1, found.returncode, found.stdout)

    def test_what_is_missing_is_told_before_the_run(self):
        self.write("text", "text")
        for arguments, said in (
                (["--sign", "me"], "--sign needs --evidence, --json or another report to sign"),
                (["--sign", "nobody", "--json", "r.json"], "cannot read the key nobody: ssh-keygen -t ed25519"),
                (["--sign", "text", "--json", "r.json"], "text is not a key")):
            done = self.certify(*arguments)
            self.assertEqual((2, True), (done.returncode, said in done.stderr), done.stderr)
        self.write("f", "text")
        self.assertEqual(2, self.verify("f").returncode)
        self.assertIn("cannot read f.sig", self.verify("f").stderr)
        self.write("f.sig", "no signature")
        self.assertEqual(1, self.verify("f").returncode)
        self.assertIn("ssh-keygen is not installed: signatures need it (Debian: openssh-client)",
                      self.verify("f", env={"PATH": "/nowhere"}).stderr)
        self.assertFalse(re.search("Traceback|abort", done.stderr))


if __name__ == "__main__":
    harness.main()
