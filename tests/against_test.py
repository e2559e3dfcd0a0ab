"""certify --against: what is new since earlier reports, on the console, in the exit code and in the comment.

    against_test.py BUILD_BIN_DIR [unittest arguments]

All runs are in process.
"""

import json
import os
import re
import shlex

import yaml

import harness
from harness import FENCEPOST, ROOT, run, run_command

RIGHT = "inproc:?seed=1"
NX = "inproc:?fault=S01"  # ignores NX
# Stands for GitHub's program: three runs, of which one has no report and one did not finish.
GH = """#!/bin/bash
case "$1 $2" in
  "run list") printf '1\\n2\\n3\\n' ;;
  "run download")
    [ "$3" != 2 ] || exit 1
    mkdir -p "earlier/$3"
    cp right.json "earlier/$3/report.json"
    [ "$3" = 1 ] || echo '"stopped_because"' >>"earlier/$3/report.json" ;;
  "pr comment") [ "$4" != --edit-last ] || exit 1
    cp comment.md "comment-of-$3.md" ;;
esac
"""


class AgainstTest(harness.FolderTest):
    def certify(self, endpoint, *arguments, cases="set.*"):
        """Runs with a fixed seed; says how it ended."""
        done = run("certify", "--quiet", "--endpoint", endpoint, "--seed", "7", "--run", cases, *arguments, cwd=self.folder)
        self.said, self.complained = done.stdout, done.stderr
        self.words = " ".join(self.said.split())
        return done.returncode

    def report(self, name, endpoint, day=20, **more):
        """The report of a run that began on that day."""
        self.certify(endpoint, "--json", name, **more)
        document = self.load(name) | {"started": f"2026-11-{day}T10:00:00Z"}
        self.write(name, json.dumps(document))
        return name

    def against(self, endpoint, *reports, arguments=(), **more):
        """How the run ended, its last line, and its comment."""
        code = self.certify(endpoint, "--against", *reports, "--against-comment", "comment.md", *arguments, **more)
        return code, self.said.splitlines()[-1], self.read("comment.md")

    def test_a_new_failure(self):
        code, verdict, comment = self.against(NX, self.report("right.json", RIGHT))
        self.assertEqual(1, code)
        self.assertRegex(verdict, r"^\d+ new failures since 2026-11-20 \(0 known, 0 fixed\)$")
        self.assertIn(f"## \u274c State store: {verdict}\n", comment)
        self.assertRegex(comment, r"\n### New failures \(\d+\)\n\n\| rule \| case \| seen \| sentence \| reproduce \|\n")
        [row] = [line for line in comment.splitlines() if line.startswith("| SET-NX-2 |")]
        self.assertIn("set&#46;nx&#46;refuses-existing-key", row)
        self.assertIn("<code>", row)
        self.assertIn("--run set&#46;nx&#46;", row)

    def test_known_failures_and_fixed_ones(self):
        before = self.report("before.json", NX)
        code, verdict, comment = self.against(NX, before)
        self.assertEqual(0, code, self.said)
        self.assertRegex(verdict, r"^no new failure since 2026-11-20 \([1-9]\d* known, 0 fixed\)$")
        self.assertIn("### Known failures (6)\n", comment)
        self.assertIn("; since 2026-11-20T10:00:00Z", self.words)
        self.assertNotIn("conformant", comment)
        code, verdict, comment = self.against(RIGHT, before)
        self.assertEqual(0, code, self.said)
        self.assertRegex(verdict, r"^no new failure since 2026-11-20 \(0 known, [1-9]\d* fixed\)$")
        self.assertRegex(comment, r"### Fixed \(6\)\n\n\| rule \| case \|\n\|---\|---\|\n(\|.*\n)*\| SET-NX-2 \|")

    def test_the_reports_say_what_they_say_without_it(self):
        self.against(NX, self.report("before.json", NX), arguments=("--json", "now.json"))
        self.assertEqual(1, self.load("now.json")["exit_code"])
        self.assertGreater(self.load("now.json")["summary"]["failed"], 0)

    def test_a_flaky_case(self):
        reports = [self.report("a.json", RIGHT, 18), self.report("b.json", NX, 19), self.report("c.json", RIGHT, 20)]
        code, verdict, comment = self.against(NX, *reversed(reports))
        self.assertEqual(1, code)
        self.assertRegex(verdict, r"^\d+ new failures, \d+ of them flaky, since 2026-11-20 \(0 known, 0 fixed\)$")
        self.assertIn("; flaky: failed 1 of 3 runs before", self.words)
        self.assertIn("### Flaky (", comment)
        self.assertRegex(comment, r"\| failed 1 of 3 runs, failed now \| .*set&#46;nx&#46;refuses-existing-key.* \|\n")

    def test_unspecified_behaviour_that_has_changed(self):
        before = self.report("before.json", "inproc:?variant=px-zero:refused", cases="expiry.number.*")
        other = "inproc:?variant=px-zero:never-expires"
        code, verdict, comment = self.against(other, before, cases="expiry.number.*")
        self.assertEqual((0, "no new failure since 2026-11-20 (0 known, 0 fixed)"), (code, verdict), self.said)
        self.assertIn("  warning    SET-PX-OPEN-", self.said)
        self.assertRegex(comment, r"### Changed unspecified behaviour \(1\)\n\n\| point \| then \| now \| case \| sentence \|")
        code, verdict, comment = self.against(other, before, arguments=("--strict",), cases="expiry.number.*")
        self.assertEqual(1, code)
        self.assertTrue(verdict.endswith(", but unspecified behaviour has changed (--strict)"), verdict)

    def test_a_part_is_not_the_whole(self):
        before = self.report("before.json", RIGHT)
        code, verdict, _ = self.against(RIGHT, before, cases="set.nx.*")
        self.assertEqual(0, code)
        self.assertRegex(verdict, r"^no new failure in \d+ of \d+ cases since 2026-11-20 ")
        code, verdict, _ = self.against(NX, self.report("part.json", RIGHT, cases="get.*"))
        self.assertEqual(1, code)
        self.assertIn("their failures count as new", self.words)

    def test_a_case_that_is_skipped_now_is_undecided(self):
        document = self.load(self.report("before.json", RIGHT, cases="lifecycle.*"))
        skipped = [case for case in document["cases"] if case["verdict"] == "skipped"]
        for case in skipped:
            case["verdict"] = "passed"
        document["summary"]["skipped"] -= len(skipped)
        document["summary"]["passed"] += len(skipped)
        self.write("before.json", json.dumps(document))
        code, verdict, comment = self.against(RIGHT, "before.json", cases="lifecycle.*")
        self.assertEqual(4, code, self.said)
        self.assertTrue(verdict.endswith(", but not everything could be decided"), verdict)
        self.assertIn("| passed then, skipped now |", comment)

    def test_an_endpoint_that_is_not_there(self):
        code, verdict, comment = self.against(harness.NOBODY, self.report("before.json", RIGHT))
        self.assertEqual(3, code)
        self.assertRegex(comment, "State store: no verdict, unreachable: no new failure since 2026-11-20 ")

    def test_the_rules_of_the_report_are_named(self):
        before = self.load(self.report("before.json", RIGHT)) | {"suite_version": "0.0.9", "profile": "documented"}
        self.write("before.json", json.dumps(before))
        self.against(RIGHT, "before.json")
        self.assertIn("before.json is of another profile: documented, and this run has auto", self.words)
        self.assertIn("before.json is of another version of the suite: 0.0.9 (", self.words)

    def test_what_cannot_be_compared_with_runs_nothing(self):
        right = self.report("right.json", RIGHT)
        self.write("text.json", "no JSON")
        self.write("stopped.json", json.dumps(self.load(right) | {"stopped_because": "interrupted"}))
        self.write("known.yaml", "version: 1\n")
        for words, said in ((["missing.json"], "missing.json"), (["text.json"], "text.json: this is not JSON"),
                            ([right, "stopped.json"], "stopped.json: its run did not finish (interrupted); name the report"),
                            ([right, "--baseline", "known.yaml"], "--against and --baseline both say what is known"),
                            ([right, "--json", "x", "--against-comment", "x"], "x is named for two reports")):
            self.assertEqual(2, self.certify(RIGHT, "--against", *words), words)
            self.assertIn(said, self.complained)
            self.assertEqual("", self.said)
        self.assertEqual(2, self.certify(RIGHT, "--against-comment", "x"))
        self.assertIn("--against", self.complained)

    def test_the_comment_may_go_to_standard_output(self):
        before = self.report("before.json", RIGHT)
        self.assertEqual(1, self.certify(NX, "--against", before, "--against-comment", "-"))
        self.assertTrue(self.said.startswith("## \u274c State store: "), self.said)

    def test_what_a_report_holds_is_not_markdown(self):
        document = self.load(self.report("before.json", NX))
        foreign = "|@nobody `x` <b>[a](http://host.example)"
        document |= {"started": foreign, "profile": foreign}
        for case in document["cases"]:
            if "failure" in case:
                case["failure"]["requirement"] = foreign
        self.write("before.json", json.dumps(document))
        for endpoint in (NX, RIGHT):
            _, verdict, comment = self.against(endpoint, "before.json")
            self.assertIn("since an unknown time", verdict)
            self.assertIn("&#64;nobody", comment)
            for text in ("@nobody", "`", "<b>", "]("):
                self.assertNotIn(text, comment)

    def test_the_steps_for_github(self):
        """Those of docs/CI.md run, with and without reports of earlier runs."""
        self.report("right.json", RIGHT)
        for name, text in (("gh", GH), ("apt-get", "#!/bin/bash\n")):
            self.write(f"bin/{name}", text).chmod(0o755)
        program = shlex.quote(str(FENCEPOST))
        certify = f"#!/bin/bash\nexec {program} certify --quiet --no-github --run 'set.*' \"${{@:3}}\" --endpoint '{NX}'\n"
        self.write("fencepost/ci/certify", certify).chmod(0o755)
        text = (ROOT / "docs/CI.md").read_text(encoding="utf-8")
        blocks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.S) if "gh pr comment" in block]
        [(find, judge, comment)] = blocks
        here = os.environ | {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "GITHUB_WORKFLOW": "w", "BRANCH": "main",
                             "NUMBER": "7"}
        for steps, said in (((judge,), "NOT conformant"), ((find, judge, comment), "new failures since 2026-11-20")):
            for step in steps:
                done = run_command("bash", "-eo", "pipefail", "-c", step["run"], cwd=self.folder, env=here)
                self.assertEqual(1 if step is judge else 0, done.returncode, done.stderr)
                if step is judge:
                    self.assertIn(said, done.stdout)
        self.assertIn("new failures since 2026-11-20", self.read("comment-of-7.md"))


if __name__ == "__main__":
    harness.main()
