"""Baselines of known failures, as their users meet them: exit codes, messages, reports, the file rewritten.

    baseline_test.py BUILD_BIN_DIR [unittest arguments]

The runs are in process, with the cases of this file: some fail on every store.
"""

import os
import re
import xml.etree.ElementTree as ElementTree

import harness
from harness import FENCEPOST, ROOT, run
from schema_checks import complaints

SCHEMA = harness.load_schema("report")

SCENARIOS = {
    "value.yaml": """
area: value
cases:
  - id: good.one
    title: Passes on every store
    requirements: [SET-NX-2]
    steps:
      - get: k
        expect: missing
  - id: wrong.value
    title: Fails on every store, with a quote in its bytes
    requirements: [SET-NX-2]
    steps:
      - set: {key: k, value: "it's"}
        expect: ok
      - get: k
        expect: {reply: {value: "other"}}
  - id: wrong.key
    title: Fails with a key, a client id and a version in its words
    requirements: [SET-NX-2]
    steps:
      - keynotify: k
        expect: ok
      - set: {key: k, value: "x"}
        expect: ok
      - notification: {key: other, operation: set, value: "x"}
""",
    "odd.yaml": """
area: odd
cases:
""" + harness.undecided_and_skipped("odd.late", "odd.connections"),
}
SIGNATURE = r"'SET-NX-2: the reply is not the expected one | want $5\r\nother\r\n | got $4\r\nit''s\r\n'"
# A baseline with which a run of all the cases is conformant.
RIGHT = """# Known failures of the sample.
version: 1
sut: {name: sample, version: "1"}
fail:
  - {case: wrong.value, signature: %s, reason: "no such value", ticket: T-1, expires: 2999-12-31}
  - {case: wrong.k*, max: 1, reason: "no such key"}
flaky:
  - {case: odd.late, statuses: [passed, inconclusive], reason: "a slow machine"}
""" % SIGNATURE


class BaselineTest(harness.FolderTest):
    def setUp(self):
        super().setUp()
        for name, text in SCENARIOS.items():
            self.write(f"cases/{name}", text)

    def read(self, name="known.yaml"):
        return super().read(name)

    def run_program(self, *arguments, endpoint="inproc:"):
        for name in ("report.json", "report.xml"):
            (self.folder / name).unlink(missing_ok=True)
        done = run("certify", "--endpoint", endpoint, "--scenarios", "cases", "--json", "report.json", "--junit",
                   "report.xml", *arguments, cwd=self.folder)
        self.said = harness.unwrapped(done.stdout)
        self.complained = done.stderr
        self.report = None
        if (self.folder / "report.json").exists():
            self.report = self.load("report.json")
            self.assertEqual(complaints(SCHEMA, self.report), [])
            self.assertEqual(sum(self.report["summary"].values()), len(self.report["cases"]))
        return done.returncode

    def certify(self, text, *arguments, name="known.yaml"):
        """Runs with this baseline; says how it ended."""
        self.write(name, text)
        return self.run_program("--baseline", name, *arguments)

    def fix(self, *arguments, name="known.yaml", **more):
        return self.run_program("--baseline", name, "--update-baseline", *arguments, **more)

    def case(self, name):
        return next(case for case in self.report["cases"] if case["id"] == name)

    def line_of(self, text):
        lines = self.read().splitlines()
        return next(number for number, line in enumerate(lines, 1) if text in line)

    # --- judging

    def test_without_a_baseline_the_cases_fail(self):
        self.assertEqual(self.run_program(), 1)
        self.assertEqual(self.report["summary"]["failed"], 2)

    def test_known_failures_fail_no_run(self):
        self.assertEqual(self.certify(RIGHT, "--verbose"), 0, self.said)
        self.assertEqual(self.report["summary"], {"passed": 1, "failed": 0, "warnings": 0, "skipped": 1,
                                                  "inconclusive": 0, "expected_failures": 3, "not_run": 0})
        self.assertEqual(self.case("wrong.value")["verdict"], "expected-failure")
        self.assertEqual(self.case("wrong.value")["baseline"], "no such value, T-1")
        self.assertEqual(self.case("odd.late")["baseline"], "inconclusive this time: a slow machine")
        self.assertNotIn("FAILED", self.said)
        self.assertRegex(self.said, r"x wrong\.value .* expected failure: no such value, T-1\n")
        self.assertRegex(self.said, r"\npartial run without a new failure: 5 of \d+ cases selected; "
                                    r"not a statement of conformance\n$")
        self.assertIn("--baseline known.yaml", self.report["command"])

    def test_progress_does_not_count_what_is_known(self):
        for text, counted in ((RIGHT, False), ("version: 1\n", True)):
            self.write("known.yaml", text)
            terminal = harness.Terminal(self, FENCEPOST, "certify", "--endpoint", "inproc:", "--scenarios", "cases", "-j",
                                        "1", "--baseline", "known.yaml", cwd=self.folder)
            self.assertEqual(terminal.end(), 1 if counted else 0, terminal.shown)
            self.assertIn(" 5/5 done", terminal.shown)
            self.assertEqual("done, 1 failed" in terminal.shown, counted, terminal.shown)

    def test_the_signature_is_printed_ready_to_be_copied(self):
        self.run_program()
        self.assertIn("\n  signature " + SIGNATURE + "\n", self.said)
        signature = self.case("wrong.value")["failure"]["signature"]
        self.assertEqual("'" + signature.replace("'", "''") + "'", SIGNATURE)
        self.assertNotIn("signature", self.case("odd.late").get("failure", {}))
        again = self.case("wrong.key")["failure"]["signature"]
        self.run_program("--seed", "99")
        self.assertEqual(self.case("wrong.key")["failure"]["signature"], again)
        self.assertNotRegex(again, "[0-9a-f]{8}")

    def test_a_new_failure_fails(self):
        self.assertEqual(self.certify(RIGHT.replace("wrong.value", "good.none")), 1)
        self.assertIn("FAILED wrong.value", self.said)

    def test_an_unexpected_pass_fails_and_names_its_entry(self):
        self.assertEqual(self.certify(RIGHT + "skip: []\n", "--strict"), 0, self.said)
        text = RIGHT.replace("wrong.k*, max: 1", "good.one") + "skip: [{case: wrong.key, reason: r}]\n"
        self.assertEqual(self.certify(text), 1)
        place = f"known.yaml:{self.line_of('good.one')}"
        self.assertIn(f"UNEXPECTED PASS good.one  Passes on every store\n  because   it passes, but the baseline expects it "
                      f"to fail: in {place}, remove the entry\n", self.said)
        self.assertIn(f"\n  {place}: good.one passes: remove the entry\n", self.said)
        self.assertTrue(self.case("good.one")["unexpected_pass"])
        self.assertEqual(self.case("good.one")["verdict"], "failed")
        self.assertEqual(self.report["baseline_complaints"], [f"{place}: good.one passes: remove the entry"])

    def test_a_failure_of_another_kind_fails_with_both_signatures(self):
        self.assertEqual(self.certify(RIGHT.replace("got $4", "got $5")), 1)
        message = self.case("wrong.value")["message"]
        self.assertIn(f"known.yaml:{self.line_of('wrong.value')} knows", message)
        self.assertIn(SIGNATURE, message)
        self.assertIn(SIGNATURE.replace("got $4", "got $5"), message)
        # The signature that the run shows is the one to copy, regardless of what the message says by now.
        self.assertIn("\n  signature " + SIGNATURE + "\n", self.said)
        self.assertEqual(self.certify(RIGHT), 0)

    def test_entries_that_are_out_of_date_fail(self):
        changes = {
            "matches no case": ("skip:\n  - {case: gone, reason: r}\n", ""),
            "expired on 2020-02-29": ("2020-02-29", "2999-12-31"),
            "has no reason": ('reason: ""', 'reason: "no such key"'),
            "covers 2 failing cases; its limit is 1": ("wrong.*", "wrong.k*"),
        }
        for words, (new, old) in changes.items():
            text = RIGHT.replace(old, new) if old else RIGHT + new
            if "wrong.*" in new:
                text = re.sub(r"  - \{case: wrong\.value.*\n", "", text)
            with self.subTest(words):
                self.assertEqual(self.certify(text), 1, self.said)
                complaint, = self.report["baseline_complaints"]
                self.assertIn(words, complaint)
                self.assertIn(f"the baseline is out of date:\n  {complaint}\n", self.said)
                place = next(text for text in ("gone", "2020-02-29", 'reason: ""', "wrong.*") if text in new)
                self.assertTrue(complaint.startswith(f"known.yaml:{self.line_of(place)}: "), complaint)

    def test_only_the_baseline_is_wrong_and_the_end_says_so(self):
        self.certify(RIGHT + "skip: [{case: gone, reason: r}]\n")
        self.assertTrue(self.said.endswith("no new failure, but the baseline is out of date\n"), self.said)

    def test_a_flaky_case_may_fail_only_as_it_says(self):
        text = RIGHT.replace("case: wrong.value", "case: good.none").replace("case: odd.late", "case: wrong.value")
        self.assertEqual(self.certify(text), 1)
        self.assertIn("accepts passed, inconclusive only", self.case("wrong.value")["message"])

    def test_a_flaky_case_that_passes_is_noted(self):
        text = RIGHT.replace("flaky:\n", "flaky:\n  - {case: good.one, statuses: [passed, failed], reason: r}\n")
        self.assertEqual(self.certify(text), 0)
        self.assertIn("baseline: not needed this time, since their flaky cases passed: known.yaml:8 (good.one)\n",
                      self.said)
        self.assertEqual(self.case("good.one")["verdict"], "passed")

    def test_a_skipped_case_is_not_run(self):
        text = re.sub(r"  - \{case: wrong\.k.*\n", "", RIGHT)
        self.assertEqual(self.certify(text), 1)
        text += "skip: [{case: wrong.key, reason: crashes, ticket: T-2}]\n"
        self.assertEqual(self.certify(text, "--verbose"), 0, self.said)
        case = self.case("wrong.key")
        self.assertEqual((case["verdict"], case["message"], case["transcript"]),
                         ("skipped", "skipped by the baseline: crashes, T-2", []))
        self.assertRegex(self.said, r"- wrong\.key +skipped  skipped by the baseline: crashes, T-2\n")
        # Nothing was sent for it.
        sent = self.report["latency_ms"]["round_trips"]
        self.certify(text, "--skip", "wrong.key")
        self.assertEqual(self.report["latency_ms"]["round_trips"], sent)
        self.certify("version: 1\nskip: [{case: good.one, reason: r}]\n")
        self.assertEqual([case["verdict"] for case in self.report["cases"]],
                         ["inconclusive", "skipped", "skipped", "failed", "failed"])
        self.assertEqual([case["id"] for case in self.report["cases"]],
                         ["odd.late", "odd.connections", "good.one", "wrong.value", "wrong.key"])
        skipped = [test.get("name").split()[0] for test in
                   ElementTree.fromstring(self.read("report.xml")).iter("testcase")
                   if test.find("skipped") is not None and not test.find("skipped").get("type")]
        self.assertIn("good.one", skipped)

    def test_an_entry_of_a_case_that_cannot_run_is_neither_right_nor_wrong(self):
        text = RIGHT + "  - {case: odd.connections, statuses: [passed, failed], reason: r}\n"
        self.assertEqual(self.certify(text), 0, self.said)
        self.assertIn("baseline: not judged, since their cases were skipped, inconclusive or not run: known.yaml:9 "
                      "(odd.connections)\n", self.said)

    def test_entries_of_cases_that_are_not_selected_are_no_complaint(self):
        for arguments in (["--run", "wrong.*"], ["--skip", "odd.*"], ["--requirement", "SET-NX-2", "--skip", "x"],
                          ["--tag", "late"]):
            with self.subTest(arguments):
                self.assertEqual(self.certify(RIGHT + "skip: [{case: gone, reason: r}]\n", *arguments), 0, self.said)
                self.assertIn("baseline: not judged, since this run selects none of their cases: ", self.said)
        codes = {self.certify(RIGHT + "skip: [{case: gone, reason: r}]\n", "--shard", f"{k}/2") for k in (1, 2)}
        self.assertEqual(codes, {0})

    def test_a_list_knows_cases_by_glob(self):
        text = "# Known failures.\nwrong.*  # no such value, T-1\n"
        self.assertEqual(self.certify(text, "--skip", "odd.late", name="known.txt"), 0, self.said)
        self.assertEqual(self.case("wrong.key")["baseline"], "no such value, T-1")
        self.assertEqual(self.certify("wrong.*\n", "--skip", "odd.late", name="known.txt"), 1)
        self.assertEqual(self.report["baseline_complaints"], [
            "known.txt:1: wrong.* has no reason: say why it is in the baseline, in a comment after it"])

    # --- files that say what cannot be meant

    def test_a_file_that_is_wrong_is_a_usage_error_with_its_place(self):
        texts = {
            "version: 1\nfail: [\n": "known.yaml:3:1: this is not YAML: ",
            RIGHT.replace("ticket", "tikcet"): 'known.yaml:5:',
            RIGHT.replace("2999-12-31", "2999-02-30"): "known.yaml:5:",
            RIGHT + "  - {case: wrong.value, statuses: [passed, failed], reason: r}\n":
                "known.yaml:9:5: wrong.value is in flaky here, and already in fail at known.yaml:5",
            RIGHT + "skip: [{case: '*.late', reason: r}]\n":
                "known.yaml:9:8: odd.late is in skip here, and already in flaky at known.yaml:8",
        }
        for text, complaint in texts.items():
            with self.subTest(complaint):
                self.assertEqual(self.certify(text), 2, self.said)
                self.assertIn("fencepost: " + complaint, self.complained)
                self.assertIsNone(self.report)
        self.assertEqual(self.run_program("--baseline", "none.yaml"), 2)
        self.assertIn("cannot read none.yaml: No such file or directory; --update-baseline creates", self.complained)

    def test_the_examples_of_the_documentation_are_right(self):
        page = (ROOT / "docs" / "BASELINES.md").read_text(encoding="utf-8")
        yaml, = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
        text, = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
        self.write("known.yaml", re.sub("expires: .*", "expires: 2999-12-31", yaml))
        self.write("known.txt", text)
        for name, cases in (("known.yaml", 18), ("known.txt", 17)):
            # The reference store fails none of them, so all that is wrong is that they pass.
            done = run("certify", "--endpoint", "inproc:", "--baseline", name, "-q", cwd=self.folder)
            self.assertEqual(done.returncode, 1, done.stderr)
            complaints = harness.unwrapped(done.stdout).split("the baseline is out of date:\n")[1].splitlines()[:-1]
            self.assertEqual(len(complaints), cases)
            self.assertTrue(all(" passes: remove the entry" in complaint for complaint in complaints), complaints)

    # --- rewritten

    def test_a_baseline_is_made_and_wants_reasons(self):
        (self.folder / "cases" / "odd.yaml").unlink()
        self.assertEqual(self.fix(), 1, self.complained)
        self.assertRegex(self.said, r"known.yaml: added GET-HIT-3 \(wrong.value\): 1 failure; write its reason\n")
        self.assertIn("      - 'GET: want a value, got a value'\n", self.read())
        self.assertNotIn("fail:", self.read())
        self.assertTrue(self.read().startswith("# Known failures."))
        self.assertEqual(os.listdir(self.folder / "cases"), ["value.yaml"])
        self.assertNotIn("known.yaml.partial", os.listdir(self.folder))
        # The reasons are missing in this run and in the next one, and are all that is.
        for _ in range(2):
            self.assertEqual(len(self.report["baseline_complaints"]), self.read().count("requirement:"))
            self.assertTrue(all("no reason" in text for text in self.report["baseline_complaints"]))
            self.assertEqual(self.report["summary"]["failed"], 0)
            self.assertEqual(self.run_program("--baseline", "known.yaml"), 1)
        self.write("known.yaml", self.read().replace("reason: ''", "reason: because"))
        self.assertEqual(self.run_program("--baseline", "known.yaml"), 0, self.said)
        before = self.read()
        self.assertEqual(self.fix(), 0)
        self.assertTrue(self.said.endswith("known.yaml: nothing to fix\n"), self.said)
        self.assertEqual(self.read(), before)

    def test_one_fault_is_one_entry_and_stays_known_with_another_seed(self):
        faulty = "inproc:?fault=nx-overwrites"
        self.program(faulty, "--update-baseline")
        self.assertEqual(self.read().count("- requirement: SET-NX-2"), 1, self.read())
        self.assertEqual(self.read().count("requirement:"), 1, self.read())
        self.write("known.yaml", self.read().replace("reason: ''", "reason: NX is ignored"))
        self.assertEqual(self.program(faulty, "--seed", "99"), 0, self.said)
        self.assertRegex(self.said, r"\nbaseline: known: 1 root cause, \d+ failures; new: none\n")
        self.assertEqual(self.program(faulty, "--seed", "7", "--shuffle", "--skip", "set.nx.*"), 0, self.said)
        # A case less shows it, and another fault is seen beside it: that is new.
        self.assertEqual(self.program("inproc:?fault=px-ignored"), 1, self.said)
        self.assertRegex(self.said, r"known: none; new: \d+ root causes?, \d+ failures?\n")
        self.assertIn("SET-NX-2 (set.nx.", self.said)
        self.assertIn("no failure matches it any more, and the case passes: remove the entry", harness.unwrapped(self.said))

    def program(self, endpoint, *arguments):
        """The built-in cases of NX and a few others, against this store."""
        done = run("certify", "--endpoint", endpoint, "--baseline", "known.yaml", *arguments, cwd=self.folder)
        self.said, self.complained = done.stdout, done.stderr
        return done.returncode

    def test_a_baseline_is_made_where_nothing_fails(self):
        (self.folder / "cases" / "odd.yaml").unlink()
        text = SCENARIOS["value.yaml"].split("  - id: wrong.value")[0]
        self.write("cases/value.yaml", text)
        self.assertEqual(self.fix(), 0, self.complained)
        self.assertTrue(self.said.endswith("known.yaml: a new baseline\n"), self.said)
        self.assertEqual(self.run_program("--baseline", "known.yaml"), 0, self.complained)

    def test_a_baseline_is_brought_up_to_date(self):
        self.write("known.yaml", RIGHT.replace("got $4", "got $5")
                   .replace("flaky:\n", "  - {case: good.one, reason: r}\nflaky:\n") +
                   "skip: [{case: gone, reason: r}]\n")
        self.assertEqual(self.fix(), 0, self.complained)
        for words in ("changed wrong.value: signature " + SIGNATURE + " was ", "removed good.one: it passes",
                      "removed gone: there is no such case"):
            self.assertIn("known.yaml: " + words, self.said)
        self.assertEqual(self.read(), """# Known failures of the sample.
version: 1
sut:
  name: sample
  version: '1'
fail:
  - case: wrong.value
    signature: %s
    reason: 'no such value'
    ticket: T-1
    expires: 2999-12-31
  - case: 'wrong.k*'
    max: 1
    reason: 'no such key'
flaky:
  - case: odd.late
    statuses: [passed, inconclusive]
    reason: 'a slow machine'
""" % SIGNATURE)
        self.assertEqual(self.run_program("--baseline", "known.yaml"), 0)

    def test_a_run_of_a_part_fixes_nothing(self):
        for arguments in (["--run", "*"], ["--skip", "x"], ["--tag", "late"], ["--requirement", "SET-NX-2"],
                          ["--shard", "1/2"]):
            with self.subTest(arguments):
                self.write("known.yaml", "version: 1\n")
                self.assertEqual(self.fix(*arguments), 2)
                self.assertIn("--update-baseline needs a run of all cases", self.complained)
                self.assertEqual(self.read(), "version: 1\n")
                self.assertIsNone(self.report)
        self.assertEqual(self.run_program("--update-baseline"), 2)

    def test_a_run_that_leaves_a_case_open_fixes_nothing(self):
        self.write("known.yaml", "version: 1\n")
        self.assertEqual(self.fix(), 2)
        self.assertIn("known.yaml is not updated: odd.late is inconclusive", self.complained)
        self.assertEqual(self.read(), "version: 1\n")
        self.assertEqual(self.report["summary"]["failed"], 2)

    def test_a_file_that_cannot_be_written_is_refused_before_the_run(self):
        self.assertEqual(self.fix(name="no/such/folder.yaml"), 2)
        self.assertIn("no/such/folder.yaml", self.complained)
        self.assertIsNone(self.report)

    def test_an_endpoint_that_is_not_there_fixes_nothing(self):
        self.write("known.yaml", "version: 1\n")
        self.assertEqual(self.fix(endpoint="mqtt://127.0.0.1:1"), 3)
        self.assertEqual(self.read(), "version: 1\n")


if __name__ == "__main__":
    harness.main()
