"""Checks the reports of real runs: the JSON one against docs/report.schema.json, the JUnit one against the JSON one.

    report_schema_test.py BUILD_BIN_DIR [unittest arguments]

The runs are in process, with the cases of this file: they need no broker and take no time.
"""

import harness
from harness import Reports, load_schema
from schema_checks import complaints, left_open, taken

SCHEMA = load_schema("report")
MAX_CLEAN_REPORT = 2_000_000  # bytes of a run in which every built-in case passed: to be mailed

# One case for each verdict that a store in process can have, and every kind of byte in payloads.
SCENARIOS = r"""
area: sample
cases:
""" + harness.REFUSES_EXISTING_KEY + r"""  - id: binary
    title: "Any bytes, <\"quotes\"> & such ]]> come back"
    requirements: [SET-NX-2]
    steps:
      - set: {key: k, value: {hex: "00017f80ff0d0a5d5d3e3c26"}, correlation: {hex: "00ff"}, expiry: 10,
              content_type: "text/plain", payload_format: 1, properties: [["a", "b"], ["a", "c"]]}
        expect: ok
      - get: k
        expect: {reply: {value: {hex: "00017f80ff0d0a5d5d3e3c26"}}}
  - id: expects-other-bytes
    title: Fails on every store
    requirements: [SET-NX-2]
    tags: [wrong]
    steps:
      - set: {key: k, value: {hex: "00017f80ff0d0a5d5d3e3c26"}}
        expect: ok
      - get: k
        expect: {reply: {value: {hex: "ff00"}}}
""" + harness.undecided_and_skipped()


class ReportTest(harness.FolderTest):
    def run_sample(self, *arguments, scenarios=SCENARIOS):
        """A run whose reports are as they should be."""
        run = Reports(self.folder, *arguments, scenarios=scenarios)
        self.check(run)
        return run

    def check(self, run):
        """What holds of every report."""
        self.assertEqual(complaints(SCHEMA, run.json), [])
        self.assertEqual(run.json["exit_code"], run.code, run.said)
        self.assertEqual(sum(run.json["summary"].values()), len(run.json["cases"]))
        for key, verdict in (("passed", "passed"), ("failed", "failed"), ("warnings", "warning"),
                             ("skipped", "skipped"), ("inconclusive", "inconclusive")):
            self.assertEqual(run.json["summary"][key], list(run.verdicts().values()).count(verdict))
        self.check_junit(run)

    def check_junit(self, run):
        summary = run.json["summary"]
        tests = run.junit.findall("./testsuite/testcase")
        phases = [run.json[name]["findings"] for name in ("stress", "enumeration") if name in run.json]
        findings = sum(phases, [])
        at_once = sum(max(1, len(each)) for each in phases)  # tests of the phases
        self.assertEqual(len(tests), len(run.json["cases"]) + at_once)
        self.assertEqual(len({test.get("name") for test in tests}), len(tests))
        expected = {
            "tests": len(run.json["cases"]) + at_once,
            "failures": summary["failed"] + sum(each["verdict"] == "failed" for each in findings),
            "errors": summary["inconclusive"] + summary["not_run"],
            "skipped": summary["skipped"] + summary["expected_failures"],
        }
        children = {"failures": "failure", "errors": "error", "skipped": "skipped"}
        for key, value in expected.items():
            self.assertEqual(harness.junit_count(run.junit, key), value, key)
            for suite in run.junit.findall("testsuite"):
                kind = "./testcase/" + children[key] if key in children else "./testcase"
                self.assertEqual(int(suite.get(key)), len(suite.findall(kind)), key)
        properties = {node.get("name"): node.get("value") for node in run.junit.iter("property")}
        for case in run.json["cases"]:
            name = case["id"]
            test = next(test for test in tests if test.get("name") == name)
            self.assertEqual(test.get("classname"), "statestore." + case["area"])
            self.assertEqual(properties[f"{name}: place"], f"{case['file']}:{case['line']}")

    def test_the_schema_describes_and_closes_every_object(self):
        self.assertEqual(left_open(SCHEMA, undescribed=("qos", "retain", "direction")), [])

    def test_messages_of_a_report_have_the_form_that_they_have_everywhere(self):
        message = load_schema("message")
        own = {"ms", "client", "direction", "summary", "payload_bytes"}
        self.assertEqual(set(SCHEMA["$defs"]["entry"]["properties"]) - own, set(message["properties"]))
        checked = 0
        for case in self.run_sample("--endpoint", "inproc:", "--transcripts", "all").json["cases"]:
            for entry in case["transcript"]:
                if entry["direction"] == "event":
                    continue
                shown = {name: value for name, value in entry.items() if name not in own}
                self.assertEqual(complaints(message, shown), [])
                checked += 1
        self.assertGreater(checked, 0)

    def test_the_schema_refuses_what_is_not_a_report(self):
        good = self.run_sample("--endpoint", "inproc:", "--transcripts", "all").json
        changes = [
            lambda report: report.pop("seed"),
            lambda report: report.update(extra=1),
            lambda report: report.update(profile="both"),
            lambda report: report.update(seed=-1),
            lambda report: report.update(started="yesterday"),
            lambda report: report["summary"].pop("not_run"),
            lambda report: report["summary"].update(passed="1"),
            lambda report: report["forms_observed"].update({"other": ["deployed"]}),
            lambda report: report["cases"][0].update(verdict="ok"),
            lambda report: report["cases"][0].update(line=0),
            lambda report: report["cases"][2]["failure"].update(signature="two\nlines"),
            lambda report: report["cases"][0].pop("transcript"),
            lambda report: report.update(transcripts="failures"),
            lambda report: report.update(transcripts="some"),
            lambda report: report["cases"][0]["transcript"][0].update(topic="of an event"),
            lambda report: report["cases"][0]["transcript"][1].pop("payload"),
            lambda report: report["cases"][0]["transcript"][1].update(correlation_data="0a"),
            lambda report: report["cases"][0]["transcript"][1]["user_properties"].append(["name"]),
        ]
        self.assertEqual(taken(SCHEMA, good, changes), [])

    def test_messages_of_passed_cases_are_there_when_asked_for(self):
        with_transcript = {}
        for options in ([], ["--transcripts", "failures"], ["--transcripts", "all"], ["--trace"]):
            run = self.run_sample("--endpoint", "inproc:", *options)
            with_transcript[" ".join(options)] = [case["id"] for case in run.json["cases"] if case.get("transcript")]
        failures, every = ["expects-other-bytes", "came-too-late"], [
            "refuses-existing-key", "binary", "expects-other-bytes", "came-too-late"]
        self.assertEqual(with_transcript, {
            "": failures, "--transcripts failures": failures, "--transcripts all": every, "--trace": every})

    def test_a_report_of_before_there_was_a_choice(self):
        report = self.run_sample("--endpoint", "inproc:", "--transcripts", "all").json
        del report["transcripts"]
        self.assertEqual(complaints(SCHEMA, report), [])

    def test_a_run_of_the_built_in_cases(self):
        run = self.run_sample("--endpoint", "inproc:", scenarios="")
        self.assertGreater(len(run.json["cases"]), 0)
        self.assertLess(len(run.text("json")), MAX_CLEAN_REPORT)

    def test_every_verdict(self):
        run = self.run_sample("--endpoint", "inproc:", "--seed", "18446744073709551615")
        self.assertEqual(run.code, 1)
        self.assertEqual(run.json["seed"], 18446744073709551615)
        self.assertEqual(run.json["dialect_observed"], "deployed")
        self.assertEqual(run.verdicts(), {
            "refuses-existing-key": "passed", "binary": "passed", "expects-other-bytes": "failed",
            "came-too-late": "inconclusive", "needs-connections": "skipped"})

    def test_bytes_survive(self):
        run = self.run_sample("--endpoint", "inproc:", "--run", "expects-other-bytes", "--run", "binary",
                              "--transcripts", "all")
        case = next(case for case in run.json["cases"] if case["id"] == "expects-other-bytes")
        shown = "$12\\r\\n\\x00\\x01\\x7f\\x80\\xff\\r\\n]]><&\\r\\n"
        self.assertEqual(case["failure"]["actual"], shown)
        self.assertIn(shown, run.junit.find(".//failure").text)
        binary = next(case for case in run.json["cases"] if case["id"] == "binary")
        sent = next(entry for entry in binary["transcript"] if entry["direction"] == "sent")
        self.assertEqual(sent["correlation_data"], "00FF")
        self.assertEqual(sent["content_type"], "text/plain")
        self.assertEqual(sent["expiry_seconds"], 10)
        self.assertEqual(sent["user_properties"][:2], [["a", "b"], ["a", "c"]])

    def test_the_wrong_dialect(self):
        run = self.run_sample("--endpoint", "inproc:?dialect=documented", "--profile", "deployed", "--run", "refuses-*")
        self.assertEqual(run.code, 1)
        self.assertEqual(run.json["profile"], "deployed")
        self.assertEqual(run.json["dialect_observed"], "documented")
        failure = run.json["cases"][0]["failure"]
        self.assertEqual(failure["step"], 2)
        self.assertTrue(failure["expected"].startswith(":-1\\r\\n"), failure)
        self.assertTrue(failure["actual"].startswith("-1\\r\\n"), failure)
        built_in = self.run_sample("--endpoint", "inproc:?dialect=documented", "--profile", "deployed", scenarios="")
        self.assertEqual(built_in.code, 1)

    def test_a_run_that_could_not_begin(self):
        run = self.run_sample("--endpoint", "mqtt://someone:secret@127.0.0.1:1")
        self.assertEqual(run.code, 3)
        self.assertEqual(run.json["summary"]["not_run"], 5)
        self.assertIn("no broker", run.json["stopped_because"])
        self.assertNotIn("secret", run.text("json") + run.text("junit") + run.said)

    def test_a_run_of_nothing(self):
        run = self.run_sample("--endpoint", "mqtt://someone:secret@127.0.0.1:1", "--run", "no-such-case")
        self.assertEqual(run.code, 5)
        self.assertEqual(run.json["cases"], [])
        self.assertNotIn("secret", run.text("json") + run.text("junit") + run.said)


if __name__ == "__main__":
    harness.main()
