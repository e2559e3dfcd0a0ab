"""The program's `matrix`, `lint` and `explain` as their users meet them, and the documents that come from them.

    matrix_test.py BUILD_BIN_DIR [unittest arguments]

Runs are in process: they need no broker and take no time.
"""

import copy
import html.parser
import json
import re
import shlex

import harness
from harness import ROOT, run
from schema_checks import complaints, left_open, taken

SCHEMA = harness.load_schema("matrix")

CATALOGUE = """
requirements:
  - {id: R-MUST-1, level: must, binds: store, text: The first rule., section: S, documents: [ga], source: article,
     observe: o}
  - {id: R-MUST-2, level: must, binds: store, text: The second rule., section: S, documents: [ga], source: article,
     observe: o}
  - {id: R-SHOULD-1, level: should, binds: store, text: A recommendation., section: S, documents: [ga],
     source: article, observe: o}
"""
CASES = """
area: some
cases:
  - id: some.first
    title: "The first </script> & last"
    requirements: [R-MUST-1, R-MUST-2]
    steps:
      - get: k
        expect: missing
"""


class Island(html.parser.HTMLParser):
    """Collects the data of a page, and everything that would make it load something."""

    def __init__(self):
        super().__init__()
        self.in_data = False
        self.data = ""
        self.loads = []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.in_data = tag == "script" and attributes.get("type") == "application/json"
        for name in ("src", "srcset", "data", "action", "background", "poster"):
            if name in attributes:
                self.loads.append((tag, attributes[name]))
        if not attributes.get("href", "#").startswith("#"):
            self.loads.append((tag, attributes["href"]))

    def handle_endtag(self, tag):
        self.in_data = False

    def handle_data(self, data):
        if self.in_data:
            self.data += data


class MatrixTest(harness.FolderTest):
    def library(self, catalogue=CATALOGUE, cases=CASES):
        self.write("scenarios/requirements.yaml", catalogue)
        return self.write("scenarios/some.yaml", cases).parent

    built_in = None  # what matrix() said of the built-in library

    def matrix(self, *arguments):
        """The exit code, and the JSON, which must satisfy the schema and agree with itself."""
        if not arguments and MatrixTest.built_in:
            return copy.deepcopy(MatrixTest.built_in)
        result = run("matrix", "--json", "-", *arguments)
        document = json.loads(result.stdout)
        self.assertEqual(complaints(SCHEMA, document), [])
        self.check(document)
        if not arguments:
            MatrixTest.built_in = result.returncode, copy.deepcopy(document)
        return result.returncode, document

    def check(self, document):
        rules = document["requirements"]
        cases = document["cases"]
        totals = document["totals"]
        self.assertEqual(totals["requirements"], len(rules))
        self.assertEqual(totals["cases"], len(cases))
        self.assertEqual(totals["testable"], sum(rule["testable"] for rule in rules))
        self.assertEqual(totals["covered"], sum(rule["testable"] and bool(rule["cases"]) for rule in rules))
        self.assertEqual(totals["uncovered"], totals["testable"] - totals["covered"])
        self.assertEqual(totals["of_clients"], sum(not rule["testable"] and rule["of_clients"] != "" for rule in rules))
        self.assertEqual(totals["untestable"], len(rules) - totals["testable"] - totals["of_clients"])
        self.assertEqual(totals["open"], sum(rule["open"] for rule in rules))
        for key in ("requirements", "testable", "covered", "uncovered", "of_clients", "untestable", "open"):
            self.assertEqual(totals[key], sum(level[key] for level in document["levels"].values()), key)
            self.assertEqual(totals[key], sum(section["totals"][key] for section in document["sections"]), key)
        self.assertEqual(sorted(rule["id"] for rule in rules),
                         sorted(rule for section in document["sections"] for rule in section["requirements"]))
        cited = {(rule["id"], case) for rule in rules for case in rule["cases"]}
        self.assertEqual(cited, {(rule, case["id"]) for case in cases for rule in case["requirements"]})
        for rule in rules:
            self.assertEqual(rule["testable"], rule["untestable"] == "", rule["id"])
            self.assertNotEqual(rule["observe"] == "", rule["untestable"] == "", rule["id"])


class Json(MatrixTest):
    def test_the_schema_describes_and_closes_every_object(self):
        self.assertEqual(left_open(SCHEMA), [])

    def test_the_schema_refuses_what_is_no_matrix(self):
        report = self.folder / "r.json"
        run("certify", "--endpoint", "inproc:", "--quiet", "--json", report)
        good = self.matrix("--report", report)[1]
        changes = [
            lambda matrix: matrix.pop("totals"),
            lambda matrix: matrix.update(extra=1),
            lambda matrix: matrix["totals"].update(covered=-1),
            lambda matrix: matrix["levels"].pop("should"),
            lambda matrix: matrix["run"].pop("endpoint"),
            lambda matrix: matrix["sections"][0].update(documents=["draft"]),
            lambda matrix: matrix["requirements"][0].update(level="shall"),
            lambda matrix: matrix["requirements"][0].pop("testable"),
            lambda matrix: matrix["requirements"][0].update(cases=["A case"]),
            lambda matrix: matrix["requirements"][0].update(dialects={"other": "x"}),
            lambda matrix: matrix["requirements"][3]["result"].update(verdict="ok"),
            lambda matrix: matrix["requirements"][3]["result"].update(cases={}),
            lambda matrix: matrix["cases"][0].update(line=0),
            lambda matrix: matrix["cases"][0]["result"].update(verdict="cut-short"),
        ]
        self.assertIn("result", good["requirements"][3])
        self.assertEqual(taken(SCHEMA, good, changes), [])

    def test_the_built_in_library_is_complete(self):
        code, document = self.matrix()
        self.assertEqual(code, 0)
        self.assertEqual(document["totals"]["uncovered"], 0)
        self.assertEqual(document["cases_without_requirement"], [])
        self.assertNotIn("run", document)
        languages = {language for section in document["sections"] for language in section["headings"]}
        self.assertEqual(languages, {"cs", "es", "id", "it", "pt"})

    def test_a_must_without_a_case_fails(self):
        code, document = self.matrix("--scenarios", self.library(cases=CASES.replace(", R-MUST-2", "")))
        self.assertEqual(code, 1)
        self.assertEqual(document["levels"]["must"]["uncovered"], 1)

    def test_a_should_without_a_case_does_not(self):
        code, document = self.matrix("--scenarios", self.library())
        self.assertEqual(code, 0)
        self.assertEqual(document["totals"]["uncovered"], 1)

    def test_a_run_is_laid_over(self):
        report = self.folder / "r.json"
        run("certify", "--endpoint", "inproc:?dialect=documented", "--profile", "deployed", "--quiet", "--json", report)
        code, document = self.matrix("--report", report)
        self.assertEqual(code, 0)
        verdicts = {rule["id"]: rule["result"]["verdict"] for rule in document["requirements"] if "result" in rule}
        states = {rule["id"]: rule["state"] for rule in json.loads(report.read_text(encoding="utf-8"))["requirements"]}
        self.assertEqual(verdicts, {name: state for name, state in states.items() if name in verdicts})
        self.assertIn("broken", verdicts.values())
        self.assertEqual(verdicts["GET-HIT-1"], "passed")
        self.assertTrue(document["run"]["endpoint"].startswith("inproc:"))
        self.assertEqual((document["run"]["exit_code"], document["run"]["absent_cases"]), (1, 0))
        seen = {rule["id"]: rule["result"]["observed"] for rule in document["requirements"] if "result" in rule}
        self.assertEqual(seen["SET-OK-1"], [])
        self.assertTrue(seen["SET-PX-OPEN-1"])

    def test_a_report_that_is_none_is_refused(self):
        bad = self.write("bad.json", "{}")
        other = self.write("other.json", '{"cases": [{"id": "elsewhere", "verdict": "passed"}]}')
        for path, complaint in ((bad, "not a report of fencepost"), (other, "contains none of these cases"),
                                (self.folder / "absent.json", "cannot read")):
            result = run("matrix", "--report", path)
            self.assertEqual(result.returncode, 2)
            self.assertIn(complaint, result.stderr)
            self.assertIn(str(path), result.stderr)

    def test_a_place_that_cannot_be_written_is_named(self):
        result = run("matrix", "--json", self.folder / "no" / "m.json")
        self.assertEqual(result.returncode, 2)
        self.assertIn("cannot write", result.stderr)


class Page(MatrixTest):
    def test_is_one_file_that_loads_nothing(self):
        path = self.folder / "m.html"
        result = run("matrix", "--html", path)
        self.assertEqual(result.returncode, 0)
        self.assertIn("complete: every testable must has a case", result.stdout)
        page = Island()
        text = path.read_text(encoding="utf-8")
        page.feed(text)
        self.assertEqual(page.loads, [])
        self.assertEqual(json.loads(page.data), self.matrix()[1])
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "{{"):
            self.assertNotIn(word, text)

    def test_text_of_a_case_cannot_become_markup(self):
        path = self.folder / "m.html"
        run("matrix", "--html", path, "--scenarios", self.library())
        text = path.read_text(encoding="utf-8")
        self.assertNotIn("The first </script>", text)
        page = Island()
        page.feed(text)
        self.assertEqual(json.loads(page.data)["cases"][0]["title"], "The first </script> & last")


class Text(MatrixTest):
    def test_table(self):
        result = run("matrix")
        self.assertEqual(result.returncode, 0)
        for part in ("SET options", "fencing", "untestable: ", "ENV-HA-1 (must, store)", "0 without a requirement"):
            self.assertIn(part, result.stdout)
        self.assertNotIn("\033[", result.stdout)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100)

    def test_in_full_every_case_is_named(self):
        result = run("matrix", "--verbose")
        for case in json.loads(run("list", "cases", "--json").stdout):
            self.assertIn("\n    " + case["id"] + "\n", result.stdout)

    def test_a_gap_is_shown_with_its_place(self):
        folder = self.library(cases=CASES.replace(", R-MUST-2", ""))
        result = run("matrix", "--scenarios", folder)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"R-MUST-2 (must) {folder}/requirements.yaml:5", result.stdout)
        self.assertIn("incomplete: 1 testable must is without a case", result.stdout)


class Lint(MatrixTest):
    def test_a_must_without_a_case_is_an_error(self):
        folder = self.library(cases=CASES.replace(", R-MUST-2", ""))
        result = run("lint", folder)
        self.assertEqual(result.returncode, 2)
        self.assertIn(f"{folder}/requirements.yaml:5:5: R-MUST-2 (must) is testable, but no case cites it: write a case",
                      result.stderr)
        self.assertIn("1 error, 1 warning", result.stdout)

    def test_others_without_a_case_are_warnings(self):
        folder = self.library(cases=CASES.replace("expect: missing", "expect: {reply: missing, cites: R-MUST-2}"))
        result = run("lint", folder)
        self.assertEqual(result.returncode, 0)
        self.assertIn(f"{folder}/requirements.yaml:7: warning: R-SHOULD-1 (should) is testable", result.stderr)
        self.assertIn("0 errors, 1 warning", result.stdout)

    def test_a_rule_that_no_failure_is_charged_to_is_an_error(self):
        result = run("lint", self.library())
        self.assertEqual(result.returncode, 2)
        self.assertIn("R-MUST-2 cannot be attributed: it is not the first requirement of any case, and no step cites it",
                      result.stderr)

    def test_files_without_a_catalogue_need_not_cover_it(self):
        path = self.write("mine.yaml", CASES.replace("R-MUST-1, R-MUST-2", "GET-MISS-1"))
        result = run("lint", path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("0 errors, 0 warnings", result.stdout)


class Explain(MatrixTest):
    @harness.full("starts the program for each rule and each case")
    def test_every_requirement_and_every_case(self):
        document = self.matrix()[1]
        for entry in document["requirements"][::80] + document["cases"][::120]:
            result = run("explain", entry["id"])
            self.assertEqual(result.returncode, 0)
            self.assertTrue(result.stdout.startswith(entry["id"] + "  "), result.stdout)
            self.assertIn(f"{entry['file']}:{entry['line']}", result.stdout)

    def test_a_case_shows_its_source(self):
        result = run("explain", "set.nx.refuses-existing-key")
        for part in ("checks       SET-NX-2", "set-not-applied", "    - id: set.nx.refuses-existing-key\n",
                     "      steps:\n", "run it with: fencepost certify --run set.nx.refuses-existing-key --trace"):
            self.assertIn(part, result.stdout)

    def test_a_near_miss_is_suggested(self):
        for wrong, right in (("SET-OKK-1", "SET-OK-1"), ("set.nx.refuse-existing-key", "set.nx.refuses-existing-key")):
            result = run("explain", wrong)
            self.assertEqual(result.returncode, 2)
            self.assertIn(f"did you mean {right}?", result.stderr)

    def test_the_command_names_the_scenarios(self):
        folder = self.library()
        result = run("explain", "some.first", "--scenarios", folder)
        command = re.search(r"^  run it with: (.*)$", result.stdout, re.MULTILINE)[1]
        self.assertEqual(["fencepost", "certify", "--scenarios", str(folder), "--run", "some.first", "--trace"],
                         shlex.split(command))

    def test_list_knows_every_field(self):
        listed = json.loads(run("list", "requirements", "--json").stdout)
        fields = set(SCHEMA["$defs"]["requirement"]["required"]) - {"testable", "at_once", "cases"}
        self.assertEqual({frozenset(entry) for entry in listed}, {frozenset(fields)})


class Documents(MatrixTest):
    def test_coverage_is_up_to_date(self):
        path = self.folder / "COVERAGE.md"
        run("matrix", "--markdown", path)
        committed = (ROOT / "docs" / "COVERAGE.md").read_text(encoding="utf-8")
        if path.read_text(encoding="utf-8") != committed:
            self.fail("docs/COVERAGE.md is out of date; regenerate it with:\n"
                      "    build/release/bin/fencepost matrix --markdown docs/COVERAGE.md")

    def test_coverage_has_every_heading_and_rule(self):
        text = (ROOT / "docs" / "COVERAGE.md").read_text(encoding="utf-8")
        document = self.matrix()[1]
        for rule in document["requirements"]:
            self.assertIn(f"| {rule['id']} |", text)
        for section in document["sections"]:
            for heading in section["headings"].values():
                self.assertIn(f"| {heading} |", text)


if __name__ == "__main__":
    harness.main()
