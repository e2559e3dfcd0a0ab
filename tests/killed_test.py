"""What is left of runs that were killed, and how they continue.

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

import evidence_file
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


def verdicts_of_run(report):
    """The same without what is tried after the run, which no evidence has."""
    def without(value):
        return {name: without(each) for name, each in value.items() if name != "alone"} if isinstance(value, dict) else value
    return {case: without(said) for case, said in verdicts(report).items()}


class Killed(harness.FolderTest):
    def certify(self, *arguments):
        return run("certify", "--quiet", *arguments, *SLOW, cwd=self.folder, env=harness.environment())

    def kill(self, seconds, *arguments, results=0):
        """What the file of a run has that is killed after this number of seconds, and once it has that many results: the head,
        and a document a case."""
        journal = self.folder / "r.json.unfinished"
        journal.unlink(missing_ok=True)
        process = self.start_program("certify", "--quiet", "--json", "r.json", *arguments, *SLOW, cwd=self.folder,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        harness.wait_until(lambda: journal.exists() or process.poll() is not None)
        time.sleep(seconds)  # the moment is what the test is about
        harness.wait_until(lambda: process.poll() is not None or results == 0 or
                           len(evidence_file.results(journal.read_bytes())) >= results)
        process.send_signal(signal.SIGKILL)
        process.wait(harness.HANG)
        if not journal.exists():
            self.assertTrue((self.folder / "r.json").exists())
            return []
        return evidence_file.results(journal.read_bytes())

    @staticmethod
    def whole_bytes(file):
        """How much of it is whole frames."""
        data, place = file.read_bytes(), len(evidence_file.MAGIC)
        while place + 12 <= len(data) and place + 12 + int.from_bytes(data[place:place + 4], "little") <= len(data):
            place += 12 + int.from_bytes(data[place:place + 4], "little")
        return place

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
                self.assertIn("resuming the run that began ", done.stderr)
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
        self.assertRegex(done.stderr, r"an earlier run was killed when \d+ of its cases had finished; to resume it, "
                                      r"add --resume r\.json\.unfinished\.old to its command")
        self.assertEqual(lines, evidence_file.results((self.folder / "r.json.unfinished.old").read_bytes()))

    def test_what_contradicts_the_killed_run_is_refused(self):
        lines = []
        while len(lines) < 2:
            lines = self.kill(random.uniform(0, 0.5), "--endpoint", "inproc:", "--seed", "3")
        for arguments, said in (
                (["--seed", "4"], "is of a run with --seed 3, and --seed 4 contradicts it; leave --seed out to resume"),
                (["--endpoint", "embedded"], "is of a run with --endpoint inproc:, and --endpoint embedded contradicts it"),
                (["--profile", "documented"], "is of a run with --profile auto, and --profile documented contradicts it"),
                (["--strict"], "is of a run with no --strict"),
                (["--run", "get.*"], "is of a run with another selection of cases")):
            done = self.certify("--resume", "r.json.unfinished", *arguments)
            self.assertEqual((2, True), (done.returncode, said in done.stderr), done.stderr)
        journal = self.folder / "r.json.unfinished"
        head, rest = evidence_file.parts(journal.read_bytes()[:self.whole_bytes(journal)])
        for member, value, said in (("cases", "0", "its run had other cases than these"),
                                    ("driver", "mine", 'is of a run with the unknown driver "mine"'),
                                    ("timeout_scale", 1000001.0, "timeout_scale")):
            changed = head | {"unfinished": head["unfinished"] | {member: value}}
            journal.write_bytes(evidence_file.of_parts(changed, rest))
            done = self.certify("--resume", journal)
            self.assertEqual((2, True), (done.returncode, said in done.stderr), done.stderr)
        journal.write_text("{}", "utf-8")
        self.assertIn("is not evidence of", self.certify("--resume", journal).stderr)

    def test_what_an_earlier_version_has_left_is_refused_with_its_name(self):
        self.write("r.json.unfinished", '{"unfinished":{"cases":"x"},"suite_version":"0.0.9"}\n{"case":"get.hit"}\n')
        for command in (["certify", "--resume", "r.json.unfinished"], ["merge", "r.json.unfinished"]):
            done = run(*command, cwd=self.folder)
            self.assertEqual(2, done.returncode, done.stdout)
            self.assertIn("r.json.unfinished: was written by fencepost 0.0.9 in a format that is no longer read", done.stderr)

    def test_passwords_are_not_kept(self):
        server = self.serve("--user", "me", "--password-file", self.write("pw", "xyzzy-42\n"))
        lines = self.kill(0, "--endpoint", server.url_of("me", "xyzzy-42"), results=1)
        self.assertGreater(len(lines), 0)
        self.assertNotIn("xyzzy-42", str(lines))
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
        self.assertIn("cannot write r.json.unfinished: File too large; the results of this run are lost if it is killed",
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
        process = self.start_program("certify", "--quiet", "--json", place / "r.json", "--stress", "none", "--depth", 0, *SLOW,
                                     env=harness.environment(TMPDIR=str(self.folder)))
        harness.wait_until((place / "r.json.unfinished").exists)
        (place / "r.json.unfinished").unlink()
        place.rmdir()
        out, said = process.communicate(timeout=harness.HANG)
        self.assertEqual(70, process.returncode, out + said)
        left = list(self.folder.glob("fencepost-*.unfinished"))
        self.assertEqual(1, len(left), said)
        self.assertEqual([str(left[0])], shlex.split(re.search(r"the results of the run are in (.*); write", said)[1]))
        made = run("merge", "--quiet", left[0], "--json", self.folder / "all.json")
        self.assertEqual(0, self.load("all.json")["summary"]["not_run"], made.stdout + made.stderr)

    def test_results_alone_cannot_be_judged(self):
        while len(self.kill(random.uniform(0, 0.5))) < 2:
            pass
        judged = run("judge", "r.json.unfinished", "--json", "judged.json", cwd=self.folder)
        self.assertEqual(2, judged.returncode, judged.stdout)
        self.assertIn("r.json.unfinished has the results of its run, but no requests and responses", judged.stderr)
        self.assertIn("`fencepost merge r.json.unfinished --json FILE`", judged.stderr)
        self.assertFalse((self.folder / "judged.json").exists())

    def kill_with_evidence(self, *arguments):
        """The file of a run with --evidence that is killed when some of its cases have finished."""
        process = self.start_program("certify", "--quiet", "--json", "r.json", "--evidence", "run.fpe", *arguments, *SLOW,
                                     cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        file = self.folder / "run.fpe"
        harness.wait_until(lambda: file.exists() and file.stat().st_size > 150_000)
        process.send_signal(signal.SIGKILL)
        process.wait(harness.HANG)
        self.assertEqual([file], [each for each in self.folder.iterdir() if each.name.startswith(("r", "run"))])
        return file.read_bytes()

    def test_evidence_is_resumed_and_merged_as_well(self):
        arguments = self.failing()
        whole = self.certify("--json", "whole.json", *arguments)
        expected = self.load("whole.json")
        for more in ([], ["--evidence", "run.fpe"]):
            with self.subTest(more):
                left = self.kill_with_evidence(*arguments)
                made = run("merge", "--quiet", "run.fpe", "--json", "partial.json", cwd=self.folder)
                self.assertIn(made.returncode, (1, 130), made.stderr)
                self.assertIn("the run was killed: ", self.load("partial.json")["stopped_because"])
                self.assertGreater(self.load("partial.json")["summary"]["failed"], 0)
                done = self.certify("--resume", "run.fpe", "--json", "r.json", *more)
                self.assertEqual(whole.returncode, done.returncode, done.stdout + done.stderr)
                self.assertEqual(verdicts(expected), verdicts(self.load("r.json")))
                # The requests until then are kept as they were.
                kept = self.folder / ("run.fpe.old" if more else "run.fpe")
                self.assertEqual(left[:self.whole_bytes(kept)], kept.read_bytes()[:self.whole_bytes(kept)])
                self.assertFalse((self.folder / "r.json.unfinished").exists())
                if more:
                    # The new file has all verdicts, and the packets of the rest.
                    made = run("merge", "--quiet", "run.fpe", "--json", "merged.json", cwd=self.folder)
                    self.assertEqual(whole.returncode, made.returncode, made.stderr)
                    self.assertEqual(verdicts_of_run(expected), verdicts_of_run(self.load("merged.json")))
                    judged = run("judge", "-q", "run.fpe", cwd=self.folder)
                    self.assertIn(judged.returncode, (1, 130), judged.stdout + judged.stderr)
                    self.assertRegex(judged.stdout, r"verdicts: \d+ the same as in the run, 0 different")
                    self.assertRegex(judged.stdout, r"\d+ of the run have incomplete evidence")
                for each in ("r.json", "run.fpe"):
                    (self.folder / each).unlink()

    def test_finished_evidence_makes_the_same_report(self):
        for arguments in (["--endpoint", "inproc:"], self.failing(), ["--endpoint", harness.NOBODY, "--run", "get.*"]):
            with self.subTest(arguments[1]):
                done = self.certify("--json", "r.json", "--evidence", "run.fpe", *arguments)
                made = run("merge", "--quiet", "run.fpe", "--json", "merged.json", cwd=self.folder)
                self.assertEqual(done.returncode, made.returncode, made.stdout + made.stderr)
                expected, merged = self.load("r.json"), self.load("merged.json")
                self.assertEqual(verdicts_of_run(expected), verdicts_of_run(merged))
                for member in ("exit_code", "summary", "judged_by", "clock_offset_ms", "stress"):
                    self.assertEqual(expected.get(member), merged.get(member), member)

    def test_without_a_report_nothing_is_kept(self):
        before = set(self.folder.iterdir())
        self.certify("--endpoint", "inproc:", "--run", "get.*")
        self.certify("--endpoint", "inproc:", "--run", "get.*", "--json", "/dev/null")
        self.certify("--endpoint", "inproc:", "--run", "get.*", "--json", "-")
        self.assertEqual(before, set(self.folder.iterdir()))


if __name__ == "__main__":
    assert isinstance(FENCEPOST, pathlib.Path)
    harness.main()
