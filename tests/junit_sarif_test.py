"""Gives the reports of real runs to other people's readers: JUnit, SARIF, the badge, and what GitHub Actions gets.

    junit_sarif_test.py BUILD_BIN_DIR SAMPLES_PROGRAM TOOLS_DIRECTORY [unittest arguments]

SAMPLES_PROGRAM is the unit test that writes reports which no real run makes; TOOLS_DIRECTORY is what report_tools.py
has filled; where it could not, what needs it is skipped. The runs are in process, with the cases of this file: they need
no broker and take no time.
"""

import json
import os
import pathlib
import re
import unittest
import xml.etree.ElementTree as ElementTree

import jsonschema
import junitparser
import yaml

import harness
import report_tools
from harness import FENCEPOST, ROOT, Reports, must, run_command

SAMPLES, TOOLS = harness.path_argument(), harness.path_argument()
XSD = ROOT / "docs" / "junit.xsd"
# Other people's schemas are not ours to keep: who has them names their folder.
SCHEMAS = os.environ.get("FENCEPOST_JUNIT_SCHEMAS")
MULTITOOL = TOOLS / "node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool"
needs_tools = unittest.skipUnless(report_tools.is_complete(TOOLS), f"{TOOLS} does not have {', '.join(report_tools.PACKAGES)}")

# Reports show 200 bytes of a value, so every byte takes two values.
HALVES = [bytes(range(128)), bytes(range(128, 256))]
# One case for each verdict that a store in process can have; values that have every byte.
SCENARIOS = r"""
area: sample
cases:
  - id: passes
    title: "<\"quotes\"> & such ]]> in a title, and é"
    requirements: [SET-NX-2]
    steps:
      - set: {key: k, value: {hex: "FIRST_HALF"}}
        expect: ok
      - get: k
        expect: {reply: {value: {hex: "FIRST_HALF"}}}
  - id: fails
    title: Expects other bytes
    requirements: [SET-NX-2]
    steps:
      - set: {key: k, value: {hex: "FIRST_HALF"}}
        expect: ok
      - get: k
        expect: {reply: {value: {hex: "ff00"}}}
  - id: fails-too
    title: Expects other bytes
    requirements: [SET-NX-2]
    steps:
      - set: {key: k, value: {hex: "OTHER_HALF"}}
        expect: ok
      - get: k
        expect: {reply: {value: {hex: "ff00"}}}
  - id: warns
    title: Blames a recommendation
    requirements: [VER-NODE-2]
    steps:
      - get: k
        expect: ok
""".replace("FIRST_HALF", HALVES[0].hex()).replace("OTHER_HALF", HALVES[1].hex()) + harness.undecided_and_skipped()

JUNIT2JSON = """
import fs from 'fs';
import {parse} from 'junit2json';
const whole = await parse(fs.readFileSync(process.argv[1], 'utf8'));
const out = {};
for (const suite of whole.testsuite ?? []) {
  for (const test of suite.testcase ?? []) {
    const kind = ['failure', 'error', 'skipped'].filter(name => test[name] !== undefined);
    out[test.name] = kind.length > 0 ? kind.join() : 'passed';
  }
}
console.log(JSON.stringify(out));
"""
TEST_RESULTS_PARSER = """
const {parse} = require('test-results-parser');
const kinds = {PASS: 'passed', FAIL: 'failure', SKIP: 'skipped'};
const out = {};
for (const suite of parse({type: 'junit', files: [process.argv[1]]}).suites) {
  for (const test of suite.cases) out[test.name] = kinds[test.status] ?? test.status;
}
console.log(JSON.stringify(out));
"""


class Run(Reports):
    def __init__(self, folder, *arguments, scenarios=SCENARIOS, **variables):
        super().__init__(folder, *arguments, kinds=("json", "junit", "sarif", "badge"), scenarios=scenarios,
                         env=harness.environment(**variables))
        self.sarif, self.badge = (json.loads(self.text(kind)) for kind in ("sarif", "badge"))


class World:
    """The reports that all tests look at, made once."""

    folder = None  # of this test run
    runs = {}
    junit_files = []
    sarif_files = []


def setUpModule():
    World.folder = harness.temporary_folder(unittest.addModuleCleanup)
    must(SAMPLES, "--gtest_filter=Samples.*", env={**os.environ, "FENCEPOST_SAMPLES": str(World.folder)})
    for name, arguments, scenarios in (
            ("verdicts", ["--endpoint", "inproc:"], SCENARIOS),
            ("strict", ["--endpoint", "inproc:", "--strict"], SCENARIOS),
            ("built-in", ["--endpoint", "inproc:?dialect=documented", "--profile", "deployed"], ""),
            ("nothing", ["--endpoint", "inproc:", "--run", "no-such-case"], SCENARIOS),
            ("unreachable", ["--endpoint", "mqtt://127.0.0.1:1"], SCENARIOS)):
        folder = World.folder / ("run-" + name)
        folder.mkdir()
        World.runs[name] = Run(folder, *arguments, scenarios=scenarios)
    World.junit_files = sorted(World.folder.glob("*.xml")) + sorted(World.folder.glob("*/report.junit"))
    World.sarif_files = sorted(World.folder.glob("*.sarif")) + sorted(World.folder.glob("*/report.sarif"))


class Runs(unittest.TestCase):
    def test_are_what_they_should_be(self):
        self.assertEqual(len(World.junit_files), 10)
        self.assertEqual(len(World.sarif_files), 10)
        self.assertEqual({name: run.code for name, run in World.runs.items()},
                         {"verdicts": 1, "strict": 1, "built-in": 1, "nothing": 5, "unreachable": 3})
        self.assertEqual(World.runs["verdicts"].verdicts(),
                         {"passes": "passed", "fails": "failed", "fails-too": "failed", "warns": "warning",
                          "came-too-late": "inconclusive", "needs-connections": "skipped"})


class Junit(unittest.TestCase):
    def is_valid(self, path):
        done = run_command("xmllint", "--noout", "--schema", XSD, path)
        # 1: no XML, 3: not as the schema wants it. Else the schema is wrong, or there is no xmllint.
        self.assertIn(done.returncode, (0, 1, 3), done.stderr)
        return done.returncode == 0

    def test_every_report_is_as_the_schema_wants_it(self):
        must("xmllint", "--noout", "--schema", XSD, *World.junit_files)

    def test_the_schema_refuses_what_readers_stumble_over(self):
        good = (World.folder / "fencepost-verdicts.xml").read_text(encoding="utf-8")
        changed = World.folder / "changed"
        self.assertTrue(self.is_valid(World.folder / "fencepost-verdicts.xml"))
        for old, new in ((' name="good"', ""),
                         ('name="good"', 'name=""'),
                         ('name="good"', 'name="bad"'),
                         (' classname="statestore.set"', ""),
                         ('classname="statestore.set"', 'classname="set"'),
                         ('time="0.002"', 'time="0,002"'),
                         ('time="0.002"', 'time="2"'),
                         (' timestamp="2026-01-01T00:00:00"', ' timestamp="2026-01-01 00:00:00"'),
                         (' timestamp="2026-01-01T00:00:00"', ' timestamp="2026-01-01T00:00:00Z"'),
                         (' hostname="host"', ""),
                         (' failures="1"', ""),
                         ('name="good" classname', 'name="good" file="t.yaml" line="3" classname'),
                         ("<testsuites>", '<testsuites name="fencepost">'),
                         ("<system-err />", ""),
                         ("<skipped ", '<failure type="MUST" message=""/><skipped '),
                         ('<error type="lost"', '<error type="broken"'),
                         ('<failure type="MUST"', '<failure type="failed"'),
                         ("</testsuites>", "<testcase/></testsuites>"),
                         ("wrong", "wrong\x01")):
            with self.subTest(old=old, new=new):
                self.assertIn(old, good)
                changed.write_text(good.replace(old, new, 1), encoding="utf-8")
                self.assertFalse(self.is_valid(changed))

    def others(self):
        """What other commands than certify write."""
        folder = World.folder / "others"
        folder.mkdir(exist_ok=True)
        files = [folder / name for name in ("stress.xml", "check.xml", "replay.xml", "client.xml", "clients.xml")]
        stress, check, replay, client, clients = files
        if not clients.exists():
            history = folder / "history.jsonl"
            run_command(FENCEPOST, "stress", "--endpoint", "inproc:?fault=L13", "--duration", "2s", "--history", history,
                        "--no-shrink", "--junit", stress)
            run_command(FENCEPOST, "check", history, "--junit", check)
            run_command(FENCEPOST, "replay", World.folder / "run-verdicts" / "sample.yaml", "--endpoint", "inproc:", "--junit",
                        replay)
            run_command(FENCEPOST, "certify-client", "--run", "get.missing", "--junit", client, "--", "/usr/bin/python3", "-B",
                        ROOT / "tests" / "faulty_clients.py", "missing-taken-for-empty")
            run_command(FENCEPOST, "serve", "--judge-clients", "--port", "0", "--junit", clients, "--", "false")
        return files

    def test_other_commands_write_the_same_form(self):
        must("xmllint", "--noout", "--schema", XSD, *self.others())

    def test_what_cases_have_besides_stands_in_their_suite(self):
        root = World.runs["verdicts"].junit
        said = "".join(node.text or "" for node in root.iter("system-out"))
        self.assertIn("warns: warning\n", said)
        self.assertIn("fails: packets\n", said)
        names = {node.get("name"): node.get("value") for node in root.iter("property")}
        self.assertEqual(names["fails: title"], "Expects other bytes")
        self.assertEqual(names["fails: explained_by"], "GET-HIT-3")

    def test_the_option_for_strict_readers_is_taken_for_a_version(self):
        done = run_command(FENCEPOST, "certify", "--endpoint", "inproc:", "--scenarios", "sample.yaml", "--quiet",
                           "--junit-strict", "--junit", World.folder / "s.xml", cwd=World.folder / "run-verdicts")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--junit-strict does nothing", done.stderr)
        self.assertNotIn("--junit-strict", must(FENCEPOST, "certify", "--help-all"))

    @unittest.skipUnless(SCHEMAS, "FENCEPOST_JUNIT_SCHEMAS names no folder with junit-10.xsd and JUnit.xsd")
    def test_the_schemas_of_jenkins_and_windyroad_take_every_file(self):
        for name in ("junit-10.xsd", "JUnit.xsd"):
            must("xmllint", "--noout", "--schema", pathlib.Path(SCHEMAS) / name, *World.junit_files, *self.others())

    def outcomes(self, path):
        """Name -> kind of child; and that the counts are those of the children."""
        root = ElementTree.parse(path).getroot()
        out = {}
        for suite in root.findall("testsuite"):
            counted = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
            for test in suite.findall("testcase"):
                children = [child.tag for child in test if child.tag in ("failure", "error", "skipped")]
                self.assertLessEqual(len(children), 1)
                self.assertNotIn(test.get("name"), out)
                out[test.get("name")] = children[0] if children else "passed"
                counted["tests"] += 1
                for child in children:
                    counted[{"failure": "failures", "error": "errors", "skipped": "skipped"}[child]] += 1
            self.assertEqual({key: int(suite.get(key)) for key in counted}, counted, path)
        return out

    def test_a_reader_sees_the_outcome_of_every_test(self):
        kinds = {junitparser.Failure: "failure", junitparser.Error: "error", junitparser.Skipped: "skipped"}
        total = 0
        for path in World.junit_files:
            expected = self.outcomes(path)
            total += len(expected)
            with self.subTest(path=path.name):
                seen = {test.name: ",".join(kinds[type(result)] for result in test.result) or "passed"
                        for suite in junitparser.JUnitXml.fromfile(str(path)) for test in suite}
                self.assertEqual(seen, expected)
        self.assertGreater(total, 400)

    @needs_tools
    def test_readers_of_other_languages_see_the_same(self):
        for path in World.junit_files:
            expected = self.outcomes(path)
            with self.subTest(path=path.name, reader="junit2json"):
                self.assertEqual(self.node("module", JUNIT2JSON, path), expected)
            with self.subTest(path=path.name, reader="test-results-parser"):
                # This one knows no errors: they are failures to it.
                fewer = {name: "failure" if kind == "error" else kind for name, kind in expected.items()}
                self.assertEqual(self.node("commonjs", TEST_RESULTS_PARSER, path), fewer)

    def node(self, kind, program, path):
        return json.loads(must("node", "--input-type=" + kind, "--eval", program, "--", path, cwd=TOOLS))

    def test_a_report_agrees_with_the_json_one(self):
        for name, run in World.runs.items():
            with self.subTest(run=name):
                outcomes = self.outcomes(run.paths["junit"])
                kinds = {"passed": "passed", "warning": "passed", "failed": "failure", "inconclusive": "error",
                         "not-run": "error", "lost": "error", "skipped": "skipped"}
                at_once = {"concurrent clients": "passed"} if "stress" in run.json else {}
                self.assertEqual(outcomes, at_once | {case["id"]: kinds[case["verdict"]] for case in run.json["cases"]})

    def test_each_failure_names_its_difference_and_one_of_them_has_the_messages(self):
        run = World.runs["built-in"]
        tests = {test.get("name"): test for test in run.junit.iter("testcase")}
        said = "".join(node.text or "" for node in run.junit.iter("system-out"))
        for found in run.json["differences"]:
            count = len(found["cases"])
            for at, case in enumerate(found["cases"], start=1):
                message = tests[case].find("failure").get("message")
                of = f"; root cause {found['id']}" + (f", {at} of {count} failures" if count > 1 else "")
                self.assertTrue(message.endswith(of), message)
                self.assertTrue(message.startswith(found["requirement"] + ": "), message)
                self.assertEqual(f"\n{case}: packets\n" in "\n" + said, case == found["cases"][0])

    def test_every_byte_is_there_in_words(self):
        words = {0x0a: "\\n", 0x0d: "\\r", 0x09: "\\t", 0x22: '\\"', 0x5c: "\\\\"}
        for half, name in zip(HALVES, ("fails", "fails-too")):
            shown = "".join(words.get(byte, chr(byte) if 0x20 <= byte < 0x7f else f"\\x{byte:02x}") for byte in half)
            test = next(test for test in World.runs["verdicts"].junit.iter("testcase")
                        if test.get("name") == name)
            self.assertIn("actual:   $128\\r\\n" + shown + "\\r\\n\n", test.find("failure").text)

    def test_a_warning_is_a_pass_with_an_output_unless_strict(self):
        # The rule that explains it is of GET, and applies regardless of what the case is about.
        for name, kind in (("verdicts", None), ("strict", "MUST")):
            test = next(test for test in World.runs[name].junit.iter("testcase")
                        if test.get("name") == "warns")
            failure = test.find("failure")
            self.assertEqual(None if failure is None else failure.get("type"), kind)
            said = "".join(node.text or "" for node in World.runs[name].junit.iter("system-out"))
            self.assertEqual("warns: warning\n" in said, kind is None)


class Sarif(unittest.TestCase):
    def validator(self):
        schema = harness.load_json(MULTITOOL.with_name("sarif-2.1.0.json"))
        jsonschema.Draft202012Validator.check_schema(schema)
        return jsonschema.Draft202012Validator(schema)

    def findings(self, *paths):
        """What the validator of the standard's authors says: (file, rule, words)."""
        output = World.folder / "validation.json"
        must(MULTITOOL, "validate", *paths, "--rule-kind", "Sarif;Ghas", "--output", output, "--log", "ForceOverwrite",
             env={**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"})
        run = harness.load_json(output)["runs"][0]
        self.assertTrue(run["invocations"][0]["executionSuccessful"])
        return [(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].rsplit("/", 2)[-2:],
                 result["ruleId"], result["message"]) for result in run["results"]]

    @needs_tools
    def test_every_log_is_as_the_schema_wants_it(self):
        validator = self.validator()
        for path in World.sarif_files:
            with self.subTest(path=path.name):
                validator.validate(harness.load_json(path))

    @needs_tools
    def test_the_authors_of_the_standard_and_code_scanning_are_content(self):
        # SARIF2005 wants the address of a page about the suite, and there is none.
        self.assertEqual([found for found in self.findings(*World.sarif_files) if found[1] != "SARIF2005"], [])

    @needs_tools
    def test_the_checks_see_what_is_wrong(self):
        good = harness.load_json(World.folder / "fencepost-verdicts.sarif")
        good["runs"][0]["results"][0].pop("locations")
        path = World.folder / "broken.sarif"
        path.write_text(json.dumps(good), encoding="utf-8")
        self.assertIn("GH1015", [found[1] for found in self.findings(path)])
        good["runs"][0]["results"][0]["kind"] = "failed"
        self.assertFalse(self.validator().is_valid(good))

    def test_what_the_schema_cannot_say(self):
        for path in World.sarif_files:
            run = harness.load_json(path)["runs"][0]
            driver = run["tool"]["driver"]
            with self.subTest(path=path.name):
                self.assertEqual(len({"suppressions" in result for result in run["results"]} | {True, False}), 2)
                self.assertLessEqual(len({"suppressions" in result for result in run["results"]}), 1)
                for result in run["results"]:
                    self.assertEqual(driver["rules"][result["ruleIndex"]]["id"], result["ruleId"])
                    if result["kind"] != "fail":
                        self.assertEqual(result["level"], "none")
                prints = [json.dumps(result["partialFingerprints"]) for result in run["results"]]
                self.assertEqual(len(prints), len(set(prints)))
                # Braces are for placeholders, of which there are none.
                for text in re.findall(r'"text": "((?:[^"\\]|\\.)*)"', json.dumps([
                        driver, [result["message"] for result in run["results"]]])):
                    self.assertIsNone(re.search(r"(?<!{)(?:{{)*{(?!{)|(?<!})(?:}})*}(?!})", text), text)

    def test_a_log_agrees_with_the_json_report(self):
        for name, run in World.runs.items():
            with self.subTest(run=name):
                results = run.sarif["runs"][0]["results"]
                by_level = lambda kind, level: {case for result in results
                                                if (result["kind"], result["level"]) == (kind, level)
                                                for case in result["properties"].get(
                                                    "cases", [result["properties"]["case"]])}
                # For a root cause that fails cases, those that only warn of it are reported with it.
                told = lambda verdict: {case for found in run.json["differences"] if found["verdict"] == verdict
                                        for case in found["cases"]}
                self.assertEqual(by_level("fail", "error"), told("failed"))
                self.assertEqual(by_level("fail", "warning"), told("warning"))
                self.assertEqual(told("failed") | told("warning"), run.those("failed", "warning"))
                self.assertLessEqual(run.those("failed"), told("failed"))
                self.assertEqual(by_level("open", "none"), run.those("inconclusive"))
                self.assertEqual(len(results), len(run.json["differences"]) + len(run.those("inconclusive")))
                self.assertEqual([result["properties"]["cases"] for result in results if result["kind"] == "fail"],
                                 [found["cases"] for found in run.json["differences"]])
                invocation = run.sarif["runs"][0]["invocations"][0]
                self.assertEqual(invocation["exitCode"], run.code)
                self.assertEqual(invocation["executionSuccessful"], run.code not in (3, 5))

    def test_a_result_is_the_same_in_a_run_with_another_seed(self):
        folder = World.folder / "other-seed"
        folder.mkdir()
        other = Run(folder, "--endpoint", "inproc:?dialect=documented", "--profile", "deployed", "--seed", "99",
                    scenarios="")
        prints = [[result["partialFingerprints"] for result in run.sarif["runs"][0]["results"]]
                  for run in (World.runs["built-in"], other)]
        self.assertEqual(*prints)

    def test_a_result_points_at_the_failing_line_and_shows_it(self):
        result = next(result for result in World.runs["built-in"].sarif["runs"][0]["results"])
        physical = result["locations"][0]["physicalLocation"]
        lines = (ROOT / physical["artifactLocation"]["uri"]).read_text(encoding="utf-8").splitlines()
        region, context = physical["region"], physical["contextRegion"]
        self.assertEqual(region["snippet"]["text"], lines[region["startLine"] - 1])
        self.assertEqual(context["snippet"]["text"].rstrip("\n").split("\n"),
                         lines[context["startLine"] - 1:context["endLine"]])


class Badge(unittest.TestCase):
    def test_counts_are_those_of_the_json_report(self):
        rules = json.loads(must(FENCEPOST, "list", "requirements", "--json"))
        musts = {rule["id"] for rule in rules if rule["level"] == "must" and not rule["untestable"]}
        for name, colour in (("built-in", "red"), ("verdicts", "red"), ("unreachable", "lightgrey"),
                             ("nothing", "lightgrey")):
            run = World.runs[name]
            states = {rule["id"]: rule["state"] for rule in run.json["requirements"] if rule["id"] in musts}
            kept = [rule for rule, state in states.items() if state == "passed"]
            part = "" if name == "built-in" else " (part)"  # few cases, which are not all of ours
            self.assertEqual(run.badge["message"], f"{len(kept)}/{len(states)} MUST{part}")
            self.assertEqual(run.badge["color"], colour)
            self.assertEqual((run.badge["schemaVersion"], run.badge["label"]), (1, "state store"))
        self.assertGreater(len(musts), 100)

    def test_a_part_of_the_cases_is_not_the_whole(self):
        run = Run(World.folder, "--endpoint", "inproc:", "--run", "passes")
        self.assertEqual((run.badge["message"], run.badge["color"]), ("1/1 MUST (part)", "green"))


class GithubActions(unittest.TestCase):
    def environment(self, name):
        """The variables of a step, and the files that they name."""
        files = {variable: World.folder / f"{name}-{variable}" for variable in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
        return {"GITHUB_ACTIONS": "true", **{variable: str(path) for variable, path in files.items()}}, files

    def test_a_step_gets_annotations_a_summary_and_outputs(self):
        environment, files = self.environment("step")
        run = Run(World.folder, "--endpoint", "inproc:", **environment)
        lines = run.out.splitlines()
        word = lines[0].removeprefix("::stop-commands::")
        self.assertGreater(len(word), 20)
        resumed = lines.index(f"::{word}::")
        commands = [line for line in lines[resumed + 1:] if line]
        self.assertEqual([line.split("::")[1].split(",")[0] for line in commands],
                         ["error file=sample.yaml", "warning file=sample.yaml"])
        fails = next(case for case in run.json["cases"] if case["id"] == "fails")
        line = fails["failure"]["line"]
        self.assertTrue(commands[0].startswith(
            f"::error file=sample.yaml,line={line},title=MUST GET-HIT-3%3A fails and 2 more::"), commands[0])
        summary = files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8")
        for title in ("## State store conformance: ❌ NOT conformant", "### Failed (1 of 2 cases)",
                      "### Inconclusive (1)"):
            self.assertIn(title, summary)
        outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
        self.assertEqual(outputs, {"verdict": "failed", "exit_code": "1", "cases": "6", "passed": "1", "failed": "2",
                                   "warnings": "1", "skipped": "1", "inconclusive": "1", "expected_failures": "0",
                                   "not_run": "0"})

    def test_many_failures_are_no_more_than_are_shown(self):
        environment, _ = self.environment("many")
        run = Run(World.folder, "--endpoint", "inproc:?dialect=documented", "--profile", "deployed", scenarios="",
                  **environment)
        errors = [line for line in run.out.splitlines() if line.startswith("::error ")]
        self.assertGreater(run.json["summary"]["failed"], 20)
        self.assertEqual(len(errors), min(10, len(run.json["differences"])))

    def test_a_run_that_could_not_begin_says_so(self):
        environment, files = self.environment("unreachable")
        run = Run(World.folder, "--endpoint", "mqtt://127.0.0.1:1", **environment)
        self.assertEqual(run.code, 3)
        self.assertEqual(len([line for line in run.out.splitlines() if line.startswith("::error ")]), 1)
        self.assertIn("verdict=unreachable\n", files["GITHUB_OUTPUT"].read_text())

    def test_no_github_and_other_places_get_nothing(self):
        environment, files = self.environment("off")
        elsewhere = {**environment, "GITHUB_ACTIONS": "false"}
        for arguments, variables in ((["--no-github"], environment), ([], elsewhere)):
            run = Run(World.folder, "--endpoint", "inproc:", *arguments, **variables)
            # But for the pause of commands, which is for what others say.
            said = re.sub(r"\A::stop-commands::(\S+)\n(.*?)^::\1::\n", r"\2", run.said, flags=re.S | re.M)
            self.assertEqual(variables is environment, said != run.said)
            self.assertNotIn("::", said)
            self.assertFalse(any(path.exists() for path in files.values()))


class Workflow(unittest.TestCase):
    def test_the_example_calls_the_program_as_it_is(self):
        workflow = yaml.safe_load((ROOT / "ci" / "github" / "certify.yml").read_text(encoding="utf-8"))
        steps = {step["name"]: step for step in workflow["jobs"]["certify"]["steps"]}
        command = steps["Certify"]["run"].split()
        self.assertTrue((ROOT / command[0].removeprefix("fencepost/")).is_file())
        known = must(FENCEPOST, "certify", "--help-all")
        unknown = {word for word in command if word.startswith("--") and word + " " not in known}
        self.assertLessEqual(unknown, {"--html"})  # not every build has it
        files = [word for word in command if word.startswith("report.")]
        self.assertIn(steps["Show the results under code scanning"]["with"]["sarif_file"], files)


if __name__ == "__main__":
    harness.main()
