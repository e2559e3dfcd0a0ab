"""What is left of runs that were killed, and how they go on.

usage: killed_test.py BUILD_BIN_DIR [unittest arguments]
"""

import pathlib
import random
import re
import resource
import shlex
import signal
import subprocess
import time

import harness
from harness import FENCEPOST, SLOW, run

# What a resumed run may say otherwise: how long things took, and who the clients of a run are.
TIMES = ("duration_ms", "round_trips_ms", "transcript")


def verdicts(report):
    """All that a report says of its cases, but for times, names of a run, and what bytes were seen."""
    def same(value):
        return re.sub(r"[0-9a-f]{8}|\d+", "#", value) if isinstance(value, str) else value

    def said(case):
        failure = case.get("failure", {})
        failure = {name: same(value) for name, value in failure.items() if name != "actual"}
        return {name: same(value) for name, value in case.items() if name not in TIMES} | {"failure": failure}
    return {case["id"]: said(case) for case in report["cases"]}


class Killed(harness.FolderTest):
    def certify(self, *arguments):
        return run("certify", "--quiet", *arguments, *SLOW, cwd=self.folder, env=harness.environment())

    def kill(self, seconds, *arguments):
        """The lines of the journal of a run that is killed after so many seconds, with the head."""
        journal = self.folder / "r.json.unfinished"
        journal.unlink(missing_ok=True)
        process = self.start_program("certify", "--quiet", "--json", "r.json", *arguments, *SLOW, cwd=self.folder,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        harness.wait_until(lambda: journal.exists() or process.poll() is not None)
        time.sleep(seconds)  # the moment is what the test is about
        process.send_signal(signal.SIGKILL)
        process.wait(harness.HANG)
        if not journal.exists():
            self.assertTrue((self.folder / "r.json").exists())
            return []
        return journal.read_text("utf-8").splitlines()

    def failing(self):
        """A run that fails in many ways, with expected outcomes."""
        return ["--endpoint", "inproc:?dialect=documented", "--profile", "deployed", "--seed", "11"]

    def test_a_resumed_run_is_an_uninterrupted_one(self):
        endpoints = [("in process", self.failing()), ("embedded", ["--seed", "11"])]
        for name, arguments in endpoints[:1] if harness.IN_GATE else endpoints:
            with self.subTest(name):
                whole = self.certify("--json", "whole.json", *arguments)
                lines = []
                for _ in range(20):
                    lines = self.kill(random.uniform(0, 1.0), *arguments)
                    if len(lines) > 1:
                        break
                self.assertGreater(len(lines), 1, "no run was killed in the middle")
                made = run("merge", "--quiet", "r.json.unfinished", "--json", "partial.json", cwd=self.folder)
                self.assertIn(made.returncode, (1, 130), made.stderr)
                partial, expected = self.load("partial.json"), self.load("whole.json")
                self.assertIn("the run was killed: ", partial["stopped_because"])
                self.assertLess(partial["summary"]["not_run"], len(expected["cases"]))
                done = run("certify", "--quiet", "--resume", "r.json.unfinished", cwd=self.folder, env=harness.environment())
                self.assertEqual(whole.returncode, done.returncode, done.stdout + done.stderr)
                self.assertIn("goes on with the run that began ", done.stderr)
                resumed = self.load("r.json")
                for member in ("exit_code", "summary", "requirements", "differences", "forms_observed", "judged_by", "seed"):
                    self.assertEqual(expected[member], resumed[member], member)
                self.assertEqual(verdicts(expected), verdicts(resumed))
                self.assertFalse((self.folder / "r.json.unfinished").exists())

    def test_a_new_run_says_that_one_was_killed_and_keeps_what_it_left(self):
        lines = []
        while len(lines) < 2:
            lines = self.kill(random.uniform(0, 0.5))
        done = self.certify("--json", "r.json", "--run", "get.*", "--endpoint", "inproc:")
        self.assertRegex(done.stderr, r"an earlier run was killed when \d+ of its cases had finished; to go on with it, "
                                      r"call it as it was called, with --resume r\.json\.unfinished\.old")
        self.assertEqual(lines, (self.folder / "r.json.unfinished.old").read_text("utf-8").splitlines())

    def test_what_contradicts_the_killed_run_is_refused(self):
        lines = []
        while len(lines) < 2:
            lines = self.kill(random.uniform(0, 0.5), "--endpoint", "inproc:", "--seed", "3")
        for arguments, said in (
                (["--seed", "4"], "is of a run with --seed 3: --seed 4 contradicts it; leave --seed out to go on"),
                (["--endpoint", "embedded"], "is of a run with --endpoint inproc:: --endpoint embedded contradicts it"),
                (["--profile", "documented"], "is of a run with --profile auto: --profile documented contradicts it"),
                (["--strict"], "is of a run with no --strict"),
                (["--run", "get.*"], "is of a run with another selection of cases")):
            done = self.certify("--resume", "r.json.unfinished", *arguments)
            self.assertEqual((2, True), (done.returncode, said in done.stderr), done.stderr)
        journal = self.folder / "r.json.unfinished"
        text = journal.read_text("utf-8")
        journal.write_text(text.replace('"cases":"', '"cases":"0', 1), "utf-8")
        self.assertIn("its run had other cases than these", self.certify("--resume", journal).stderr)
        for was, now, said in (('"driver":""', '"driver":"mine"', 'is of a run with the driver "mine", which there is not'),
                               ('"timeout_scale":1.0', '"timeout_scale":1000001.0', "timeout_scale")):
            self.assertIn(was, text)
            journal.write_text(text.replace(was, now, 1), "utf-8")
            done = self.certify("--resume", journal)
            self.assertEqual((2, True), (done.returncode, said in done.stderr), done.stderr)
        journal.write_text("{}", "utf-8")
        self.assertIn("is not what a killed run", self.certify("--resume", journal).stderr)

    def test_passwords_are_not_kept(self):
        server = self.serve("--user", "me", "--password-file", self.write("pw", "xyzzy-42\n"))
        lines = self.kill(0.5, "--endpoint", server.url_of("me", "xyzzy-42"))
        self.assertGreater(len(lines), 0)
        self.assertNotIn("xyzzy-42", "".join(lines))
        done = self.certify("--resume", "r.json.unfinished")
        self.assertEqual(2, done.returncode)
        self.assertIn("is of a run with --endpoint mqtt://me:***@127.0.0.1:", done.stderr)

    def test_a_full_disk_is_told_and_ends_nothing(self):
        """No file may be larger than 64 KiB: as on a full disk, what is written then fails."""
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))

        done = run("certify", "--quiet", "--json", "r.json", "--endpoint", "inproc:", cwd=self.folder, preexec_fn=limit,
                   env=harness.environment())
        self.assertEqual(70, done.returncode, done.stdout + done.stderr)
        self.assertIn("cannot write r.json.unfinished: File too large; what this run finds is lost when it is killed",
                      done.stderr)
        self.assertIn("cannot write the report r.json: File too large", done.stderr)
        self.assertIn("cases: ", done.stdout)
        # What fitted is there.
        made = run("merge", "--quiet", "r.json.unfinished", "--json", "partial.json", cwd=self.folder)
        self.assertEqual(130, made.returncode, made.stderr)
        self.assertGreater(self.load("partial.json")["summary"]["passed"], 10)

    def test_of_a_folder_that_is_removed_nothing_is_lost(self):
        place = self.folder / "reports"
        place.mkdir()
        process = self.start_program("certify", "--quiet", "--json", place / "r.json", *SLOW,
                                     env=harness.environment(TMPDIR=str(self.folder)))
        harness.wait_until((place / "r.json.unfinished").exists)
        (place / "r.json.unfinished").unlink()
        place.rmdir()
        out, said = process.communicate(timeout=harness.HANG)
        self.assertEqual(70, process.returncode, out + said)
        left = list(self.folder.glob("fencepost-*.unfinished"))
        self.assertEqual(1, len(left), said)
        self.assertEqual([str(left[0])], shlex.split(re.search(r"what the run has found is in (.*); make", said)[1]))
        made = run("merge", "--quiet", left[0], "--json", self.folder / "all.json")
        self.assertEqual(0, self.load("all.json")["summary"]["not_run"], made.stdout + made.stderr)

    def test_without_a_report_nothing_is_kept(self):
        before = set(self.folder.iterdir())
        self.certify("--endpoint", "inproc:", "--run", "get.*")
        self.certify("--endpoint", "inproc:", "--run", "get.*", "--json", "/dev/null")
        self.certify("--endpoint", "inproc:", "--run", "get.*", "--json", "-")
        self.assertEqual(before, set(self.folder.iterdir()))


if __name__ == "__main__":
    assert isinstance(FENCEPOST, pathlib.Path)
    harness.main()
