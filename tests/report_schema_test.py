"""Checks the reports of real runs: the JSON one against docs/report.schema.json, the JUnit one against the JSON one.

    report_schema_test.py SOURCE_DIRECTORY FENCEPOST_PROGRAM [unittest arguments]

The runs are in process, with the cases of this file: they need no broker and take no time.
"""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import jsonschema

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
FENCEPOST = pathlib.Path(sys.argv.pop(1)).resolve()
SCHEMA = json.loads((ROOT / "docs" / "report.schema.json").read_text(encoding="utf-8"))
MAX_CLEAN_REPORT = 2_000_000  # bytes of a run in which every built-in case passed: to be mailed
HANG = 120  # seconds after which a run counts as hung

# One case for each verdict that a store in process can have, and every kind of byte on the wire.
SCENARIOS = r"""
area: sample
cases:
  - id: refuses-existing-key
    title: NX on an existing key is refused
    requirements: [SET-NX-2, SET-NOT-APPLIED-1]
    divergence: [set-not-applied]
    steps:
      - set: {key: k, value: "one"}
        expect: {reply: ok, ts: {save: v1, greater_than: [sent]}}
      - set: {key: k, value: "two", options: [NX]}
        expect: not-applied
  - id: binary
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
  - id: came-too-late
    title: Cannot be decided
    requirements: [SET-NX-2]
    tags: [wrong]
    steps:
      - get: {key: k, mark: t}
        expect: missing
      - get: k
        expect: {reply: missing, before: t + 0ms}
  - id: needs-connections
    title: Is skipped in process
    requirements: [SET-NX-2]
    requires: [transport]
    steps:
      - get: k
        expect: missing
"""


class Run:
    """What a run returned and wrote."""

    def __init__(self, *arguments, scenarios=SCENARIOS):
        with tempfile.TemporaryDirectory() as folder:
            paths = {name: pathlib.Path(folder) / name for name in ("report.json", "report.xml", "sample.yaml")}
            command = [FENCEPOST, "certify", "--json", paths["report.json"], "--junit", paths["report.xml"], "--quiet"]
            if scenarios:
                paths["sample.yaml"].write_text(scenarios, encoding="utf-8")
                command += ["--scenarios", paths["sample.yaml"]]
            done = subprocess.run(command + list(arguments), capture_output=True, timeout=HANG, check=False)
            self.code = done.returncode
            self.said = (done.stdout + done.stderr).decode("utf-8")
            self.json_text = paths["report.json"].read_text(encoding="utf-8")
            self.junit_text = paths["report.xml"].read_text(encoding="utf-8")
        self.json = json.loads(self.json_text)
        self.junit = ElementTree.fromstring(self.junit_text)

    def verdicts(self):
        return {case["id"]: case["verdict"] for case in self.json["cases"]}


class ReportTest(unittest.TestCase):
    def check(self, run):
        """What holds of every report."""
        jsonschema.Draft202012Validator(SCHEMA).validate(run.json)
        self.assertEqual(run.json["exit_code"], run.code, run.said)
        self.assertEqual(sum(run.json["summary"].values()), len(run.json["cases"]))
        for key, verdict in (("passed", "passed"), ("failed", "failed"), ("warnings", "warning"),
                             ("skipped", "skipped"), ("inconclusive", "inconclusive")):
            self.assertEqual(run.json["summary"][key], list(run.verdicts().values()).count(verdict))
        self.check_junit(run)

    def check_junit(self, run):
        summary = run.json["summary"]
        tests = run.junit.findall("./testsuite/testcase")
        self.assertEqual(len(tests), len(run.json["cases"]))
        self.assertEqual(len({test.get("name") for test in tests}), len(tests))
        expected = {
            "tests": len(run.json["cases"]),
            "failures": summary["failed"],
            "errors": summary["inconclusive"] + summary["not_run"],
            "skipped": summary["skipped"] + summary["expected_failures"],
        }
        children = {"failures": "failure", "errors": "error", "skipped": "skipped"}
        for key, value in expected.items():
            self.assertEqual(int(run.junit.get(key)), value, key)
            self.assertEqual(sum(int(suite.get(key)) for suite in run.junit.findall("testsuite")), value, key)
            for suite in run.junit.findall("testsuite"):
                kind = "./testcase/" + children[key] if key in children else "./testcase"
                self.assertEqual(int(suite.get(key)), len(suite.findall(kind)), key)
        for case in run.json["cases"]:
            name = case["id"] + " " + case["title"]
            test = next(test for test in tests if test.get("name") == name)
            self.assertEqual(test.get("classname"), "statestore." + case["area"])
            self.assertEqual((test.get("file"), int(test.get("line"))), (case["file"], case["line"]))

    def test_the_schema_is_one(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_the_schema_describes_and_closes_every_object(self):
        def walk(node, path):
            if isinstance(node, dict):
                if node.get("type") == "object":
                    self.assertIn("additionalProperties", node, path)
                for name, member in node.get("properties", {}).items():
                    if name not in ("qos", "retain", "direction") and path.count("/if") == 0:
                        self.assertIn("description", member, path + "/" + name)
                for name, child in node.items():
                    walk(child, path + "/" + name)
            elif isinstance(node, list):
                for index, child in enumerate(node):
                    walk(child, f"{path}/{index}")

        walk(SCHEMA, "")

    def test_messages_of_a_report_have_the_form_that_they_have_everywhere(self):
        message = json.loads((ROOT / "docs" / "message.schema.json").read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(message)
        own = {"ms", "client", "direction", "summary", "payload_bytes"}
        self.assertEqual(set(SCHEMA["$defs"]["entry"]["properties"]) - own, set(message["properties"]))
        validator = jsonschema.Draft202012Validator(message)
        checked = 0
        for case in Run("--endpoint", "inproc:", "--transcripts", "all").json["cases"]:
            for entry in case["transcript"]:
                if entry["direction"] == "event":
                    continue
                validator.validate({name: value for name, value in entry.items() if name not in own})
                checked += 1
        self.assertGreater(checked, 0)

    def test_the_schema_refuses_what_is_not_a_report(self):
        good = Run("--endpoint", "inproc:", "--transcripts", "all").json
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
        validator = jsonschema.Draft202012Validator(SCHEMA)
        self.assertTrue(validator.is_valid(good))
        for number, change in enumerate(changes):
            report = copy.deepcopy(good)
            change(report)
            self.assertFalse(validator.is_valid(report), f"change {number}")

    def test_messages_of_passed_cases_are_there_when_asked_for(self):
        with_transcript = {}
        for options in ([], ["--transcripts", "failures"], ["--transcripts", "all"], ["--trace"]):
            run = Run("--endpoint", "inproc:", *options)
            self.check(run)
            with_transcript[" ".join(options)] = [case["id"] for case in run.json["cases"] if case.get("transcript")]
        failures, every = ["expects-other-bytes", "came-too-late"], [
            "refuses-existing-key", "binary", "expects-other-bytes", "came-too-late"]
        self.assertEqual(with_transcript, {
            "": failures, "--transcripts failures": failures, "--transcripts all": every, "--trace": every})

    def test_a_report_of_before_there_was_a_choice(self):
        report = Run("--endpoint", "inproc:", "--transcripts", "all").json
        del report["transcripts"]
        jsonschema.Draft202012Validator(SCHEMA).validate(report)

    def test_a_run_of_the_built_in_cases(self):
        run = Run("--endpoint", "inproc:", scenarios="")
        self.check(run)
        self.assertGreater(len(run.json["cases"]), 0)
        self.assertLess(len(run.json_text), MAX_CLEAN_REPORT)

    def test_every_verdict(self):
        run = Run("--endpoint", "inproc:", "--seed", "18446744073709551615")
        self.check(run)
        self.assertEqual(run.code, 1)
        self.assertEqual(run.json["seed"], 18446744073709551615)
        self.assertEqual(run.json["dialect_observed"], "deployed")
        self.assertEqual(run.verdicts(), {
            "refuses-existing-key": "passed", "binary": "passed", "expects-other-bytes": "failed",
            "came-too-late": "inconclusive", "needs-connections": "skipped"})

    def test_bytes_survive(self):
        run = Run("--endpoint", "inproc:", "--run", "expects-other-bytes", "--run", "binary", "--transcripts", "all")
        self.check(run)
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
        run = Run("--endpoint", "inproc:?dialect=documented", "--profile", "deployed", "--run", "refuses-*")
        self.check(run)
        self.assertEqual(run.code, 1)
        self.assertEqual(run.json["profile"], "deployed")
        self.assertEqual(run.json["dialect_observed"], "documented")
        failure = run.json["cases"][0]["failure"]
        self.assertEqual(failure["step"], 2)
        self.assertTrue(failure["expected"].startswith(":-1\\r\\n"), failure)
        self.assertTrue(failure["actual"].startswith("-1\\r\\n"), failure)
        built_in = Run("--endpoint", "inproc:?dialect=documented", "--profile", "deployed", scenarios="")
        self.check(built_in)
        self.assertEqual(built_in.code, 1)

    def test_a_run_that_could_not_begin(self):
        run = Run("--endpoint", "mqtt://someone:secret@127.0.0.1:1")
        self.check(run)
        self.assertEqual(run.code, 3)
        self.assertEqual(run.json["summary"]["not_run"], 5)
        self.assertIn("no broker", run.json["stopped_because"])
        self.assertNotIn("secret", run.json_text + run.junit_text + run.said)

    def test_a_run_of_nothing(self):
        run = Run("--endpoint", "mqtt://someone:secret@127.0.0.1:1", "--run", "no-such-case")
        self.check(run)
        self.assertEqual(run.code, 5)
        self.assertEqual(run.json["cases"], [])
        self.assertNotIn("secret", run.json_text + run.junit_text + run.said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
