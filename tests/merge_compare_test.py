"""Reports put together and compared, as users of the program do it.

usage: merge_compare_test.py BUILD_BIN_DIR [unittest arguments]
Runs on the embedded endpoint are those that the promises are about; all others are in process.
"""

import json
import re
import signal
import xml.etree.ElementTree as ElementTree

import harness
from harness import SLOW, run
from schema_checks import complaints

REPORT = harness.load_schema("report")
COMPARE = harness.load_schema("compare")
SHARDS = 4
NOBODY = "mqtt://me:xyzzy-42@127.0.0.1:1"  # no broker listens there



class MergeCompareTest(harness.FolderTest):
    def path(self, name):
        return self.folder / name

    def certify(self, name, *arguments):
        return run("certify", "--quiet", "--json", self.path(name), *arguments)

    def certify_shards(self, *arguments):
        for shard in range(1, SHARDS + 1):
            self.certify(f"s{shard}.json", "--shard", f"{shard}/{SHARDS}", *arguments)
        return [self.path(f"s{shard}.json") for shard in range(1, SHARDS + 1)]

    def merge(self, *arguments):
        return run("merge", "--json", self.path("merged.json"), "--junit", self.path("merged.xml"), *arguments)

    def check_same(self, single, code, said):
        """The merged report says what the report of a single run says."""
        merged, whole = self.load("merged.json"), self.load(single)
        self.assertEqual(complaints(REPORT, merged), [])
        self.assertEqual(code, whole["exit_code"], said)
        for member in ("exit_code", "summary", "forms_observed", "open_points_observed", "dialect_observed", "strict",
                       "profile", "endpoint", "selection", "shard"):
            self.assertEqual(merged[member], whole[member], member)
        for member in ("id", "verdict", "level", "forms_observed", "open_points_observed"):
            self.assertEqual([case[member] for case in merged["cases"]], [case[member] for case in whole["cases"]])
        # Not those of the single run: whether a client that is disconnected receives one more reply is a matter of luck.
        self.assertEqual(merged["latency_ms"]["round_trips"],
                         sum(self.load(f"s{shard}.json")["latency_ms"]["round_trips"] for shard in range(1, SHARDS + 1)))
        junit = ElementTree.parse(self.path("merged.xml")).getroot()
        # Concurrent clients: those of the first shard are those of the run.
        phases = [merged[name]["findings"] for name in ("stress", "enumeration") if name in merged]
        findings = sum(phases, [])
        at_once = sum(max(1, len(each)) for each in phases)
        self.assertEqual("stress" in merged, "stress" in whole)
        self.assertEqual(harness.junit_count(junit, "tests"), len(whole["cases"]) + at_once)
        self.assertEqual(harness.junit_count(junit, "failures"), whole["summary"]["failed"] + len(findings))


class Merge(MergeCompareTest):
    @harness.full("five whole certifications in real time; the next test is the same in process")
    def test_shards_of_the_embedded_endpoint_are_the_single_run(self):
        self.certify("single.json", *SLOW)
        result = self.merge(*reversed(self.certify_shards(*SLOW)))
        self.check_same("single.json", result.returncode, result.stdout[-3000:] + result.stderr)
        self.assertEqual(0, result.returncode)
        summary = self.load("single.json")["summary"]
        self.assertIn(f"{len(self.load('single.json')['cases'])} cases: {summary['passed']} passed", result.stdout)
        self.assertEqual(len(self.load("merged.json")["parts"]), SHARDS)

    def test_shards_of_a_failing_endpoint_are_the_single_run(self):
        where = ["--endpoint", "inproc:?dialect=documented", "--profile", "deployed", "--strict", "--skip", "lock.*"]
        self.certify("single.json", *where)
        result = self.merge(*self.certify_shards(*where))
        self.check_same("single.json", result.returncode, result.stdout[-3000:] + result.stderr)
        self.assertEqual(1, result.returncode)
        self.assertIn("FAILED", result.stdout)

    def test_the_shards_of_one_endpoint_may_not_speak_two_dialects(self):
        for shard, dialect in ((1, "documented"), (2, "deployed")):
            code = self.certify(f"s{shard}.json", "--endpoint", f"inproc:?dialect={dialect}", "--shard",
                                f"{shard}/2").returncode
            self.assertEqual(0, code)
        second = self.load("s2.json")
        second["endpoint"] = self.load("s1.json")["endpoint"]
        self.write("s2.json", json.dumps(second))
        result = self.merge(self.path("s1.json"), self.path("s2.json"))
        self.assertEqual(1, result.returncode)
        self.assertEqual("mixed", self.load("merged.json")["dialect_observed"])
        self.assertIn("the endpoint mixes both forms of set-not-applied",
                      [case["message"] for case in self.load("merged.json")["cases"]])
        self.assertIn("1 root cause explains ", result.stdout)

    def check_survives(self, name):
        """A report merged with nothing is itself."""
        before = self.load(name)
        result = self.merge(self.path(name))
        self.assertEqual(result.returncode, before["exit_code"], result.stdout[-3000:] + result.stderr)
        after = self.load("merged.json")
        self.assertEqual(len(after.pop("parts")), 1)
        reason = before.pop("stopped_because", "")
        where = f"shard 1 of 1 ({self.path(name)}): "
        self.assertEqual(after.pop("stopped_because", ""), where + reason if reason else "")
        self.assertEqual(after, before)

    def test_a_report_of_any_end_survives(self):
        for arguments in (["--seed", "18446744073709551615", "--endpoint", "inproc:"],
                          ["--endpoint", "inproc:?dialect=documented", "--profile", "deployed"],
                          ["--endpoint", NOBODY]):
            self.certify("one.json", *arguments, *SLOW)
            self.check_survives("one.json")

    def test_what_a_baseline_says_survives(self):
        where = ["--endpoint", "inproc:?dialect=documented", "--profile", "deployed"]
        baseline = self.path("baseline.yaml")
        self.certify("one.json", *where, "--baseline", baseline, "--update-baseline")
        text = baseline.read_text(encoding="utf-8")
        known = re.search("case: (.*)", text)[1]
        baseline.write_text(f"{text}fail:\n  - case: {known}\n    reason: a case of its own\n", encoding="utf-8")
        for arguments in (where, ["--endpoint", "inproc:", "--profile", "deployed"]):
            self.certify("one.json", *arguments, "--baseline", baseline)
            report = self.load("one.json")
            self.assertTrue(report["baseline_complaints"])  # no entry has a reason
            self.assertEqual(arguments == where, report["summary"]["expected_failures"] > 0)
            self.assertEqual(arguments != where, any("unexpected_pass" in case for case in report["cases"]))
            self.check_survives("one.json")

    def test_an_interrupted_report_survives(self):
        process = self.start_program("certify", "--json", self.path("one.json"), "-j", "1", *SLOW)
        process.stdout.readline()  # one case at a time takes minutes, and the preflight is over
        process.stdout.readline()
        self.assertEqual(130, self.stop(process, signal.SIGINT)[0])
        self.assertTrue(self.load("one.json")["interrupted"])
        self.check_survives("one.json")

    def test_a_missing_shard_is_named_and_leaves_no_verdict(self):
        paths = self.certify_shards("--endpoint", "inproc:", "--run", "set.*", "--run", "get.*")
        result = self.merge(*paths[:2], paths[3])
        self.assertEqual(4, result.returncode, result.stderr)
        self.assertIn("shard 3 of 4 is missing", result.stdout)
        report = self.load("merged.json")
        self.assertIn("shard 3 of 4 is missing", report["stopped_because"])
        missing = {case["id"] for case in report["cases"] if case["verdict"] == "not-run"}
        self.assertEqual(missing, {case["id"] for case in self.load("s3.json")["cases"]})
        self.assertTrue(missing)

    def test_a_shard_without_endpoint_is_named(self):
        for shard in (1, 2):
            self.certify(f"s{shard}.json", "--endpoint", NOBODY, "--shard", f"{shard}/2")
        result = self.merge(self.path("s1.json"), self.path("s2.json"))
        self.assertEqual(3, result.returncode)
        reason = self.load("merged.json")["stopped_because"]
        self.assertIn("shard 1 of 2", reason)
        self.assertIn("shard 2 of 2", reason)
        self.assertIn("no broker", reason)
        self.assertNotIn("xyzzy-42", self.path("merged.json").read_text() + result.stdout + result.stderr)

    def test_what_does_not_belong_together_is_refused(self):
        self.certify("s1.json", "--endpoint", "inproc:", "--shard", "1/2", "--run", "get.*")
        good = self.load("s1.json")
        other = self.path("other.json")
        for text, message in (
                (json.dumps(good), "are both of shard 1 of 2"),
                (json.dumps({**good, "suite_version": "9.9"}), "was written by fencepost 9.9, and this is"),
                (json.dumps({**good, "endpoint": "embedded"}), "the endpoint is inproc: in the first and embedded"),
                (json.dumps(good)[:5000], "other.json:1:5001: is not valid JSON"),
                ("[]", "but not a report of this suite"),
                (json.dumps({**good, "cases": good["cases"][1:]}), "the report was changed after it was written")):
            other.write_text(text, encoding="utf-8")
            result = self.merge(self.path("s1.json"), other)
            self.assertEqual(2, result.returncode, text[:100])
            self.assertIn(message, result.stderr)
            self.assertFalse(self.path("merged.json").exists())
        self.assertIn("cannot read", self.merge(self.path("nowhere.json")).stderr)
        for options, message in (({"--profile": "deployed"}, "the profile is auto in the first and deployed"),
                                 ({"--run": "set.*"}, "the selection is --run 'get.*' in the first"),
                                 ({"--shard": "2/3"}, "the number of shards is 2 in the first and 3")):
            options = {"--shard": "2/2", "--run": "get.*", **options}
            words = [word for pair in options.items() for word in pair]
            done = self.certify("other.json", "--endpoint", "inproc:", *words)
            self.assertEqual(0, done.returncode, done.stderr)
            result = self.merge(self.path("s1.json"), other)
            self.assertEqual(2, result.returncode)
            self.assertIn(message, result.stderr)
        self.certify("other.json", "--endpoint", "inproc:", "--shard", "2/2", "--run", "get.*", "--strict")
        self.assertIn("--strict is off in the first and on", self.merge(self.path("s1.json"), other).stderr)

    def test_cases_of_ones_own_need_their_files(self):
        scenarios = self.write("own.yaml", harness.OWN_CASES)
        self.certify("own.json", "--endpoint", "inproc:", "--scenarios", scenarios)
        result = self.merge(self.path("own.json"))
        self.assertEqual(2, result.returncode)
        self.assertIn("--scenarios", result.stderr)
        self.assertEqual(0, self.merge(self.path("own.json"), "--scenarios", scenarios).returncode)
        self.write("own.yaml", "# one line more\n" + harness.OWN_CASES)
        result = self.merge(self.path("own.json"), "--scenarios", scenarios)
        self.assertEqual(2, result.returncode)
        self.assertIn("/cases/0/line", result.stderr)


class Compare(MergeCompareTest):
    def compare(self, *arguments):
        self.path("compare.json").unlink(missing_ok=True)
        result = run("compare", "--json", self.path("compare.json"), *arguments)
        if self.path("compare.json").exists():
            document = self.load("compare.json")
            self.assertEqual(complaints(COMPARE, document), [])
            self.assertEqual(document["exit_code"], result.returncode)
        return result

    def differing(self, member):
        return [row for row in self.load("compare.json")[member] if row["differs"]]

    def test_an_endpoint_behaves_like_itself(self):
        result = self.compare("inproc:", "inproc:")
        self.assertEqual(0, result.returncode, result.stdout + result.stderr)
        self.assertIn("2 runs: no difference; ", result.stdout)
        document = self.load("compare.json")
        self.assertEqual(document["columns"][0]["seed"], document["columns"][1]["seed"])

    @harness.full("two whole certifications in real time")
    def test_the_embedded_endpoint_behaves_as_it_did(self):
        self.certify("before.json", "--seed", "5", *SLOW)
        result = self.compare(self.path("before.json"), "embedded", *SLOW)
        self.assertEqual(0, result.returncode, result.stdout + result.stderr)
        before, now = self.load("compare.json")["columns"]
        self.assertEqual(now["seed"], 5)
        for condition in ("profile", "wording", "strict"):
            self.assertEqual(before[condition], now[condition])

    def test_a_store_that_differs_in_an_open_point(self):
        result = self.compare("inproc:", "inproc:?fault=every-request-moves-the-clock")
        self.assertEqual(1, result.returncode, result.stdout + result.stderr)
        [point] = self.differing("open_points")
        self.assertEqual("VER-OPEN-2", point["id"])
        self.assertTrue(point["cases"])
        self.assertIn("      A: clock-not-moved\n", result.stdout)
        self.assertIn("2 runs differ in 1 choice;", result.stdout)

    def test_what_one_of_them_cannot_do_is_not_compared(self):
        self.certify("embedded.json", "--run", "envelope.*", *SLOW)
        result = self.compare(self.path("embedded.json"), "inproc:")
        self.assertEqual(4, result.returncode, result.stdout)
        self.assertIn("passed in A, skipped in B", result.stdout)
        document = self.load("compare.json")
        self.assertIn("envelope.delivery.retained-request", [row["id"] for row in document["cases"]])
        self.assertEqual(sum(document["columns"][1]["cases"].values()), len(self.load("embedded.json")["cases"]))

    def test_another_dialect_is_a_difference(self):
        result = self.compare("inproc:", "inproc:?dialect=documented")
        self.assertEqual(1, result.returncode)
        forms = {row["id"]: row["cells"] for row in self.differing("forms")}
        self.assertEqual(forms["set-not-applied"], [["deployed"], ["documented"]])
        # Not of keynotify-error: `-ERR text` is a form of both dialects (NTF-ERROR-OPEN-1), so only one store shows one.
        self.assertEqual(len(forms), 4)
        self.assertEqual(self.differing("cases"), [])

    def test_the_verdicts_of_one_profile_are_differences(self):
        result = self.compare("inproc:?dialect=deployed", "inproc:?dialect=documented", "--profile", "deployed",
                              "--run", "set.*")
        self.assertEqual(1, result.returncode)
        differing = self.differing("cases")
        self.assertTrue(differing)
        for row in differing:
            self.assertEqual([cell["verdict"] for cell in row["cells"]], ["passed", "failed"])
        self.assertIn("got -1\\r\\n", result.stdout)
        self.assertIn("2 runs differ in ", result.stdout.splitlines()[-1])

    def test_reports_are_cut_to_the_selection(self):
        for name in ("a.json", "b.json"):
            self.certify(name, "--endpoint", "inproc:")
        result = self.compare("--run", "get.*", self.path("a.json"), self.path("b.json"), "--quiet")
        self.assertEqual(0, result.returncode, result.stdout + result.stderr)
        document = self.load("compare.json")
        first, second = document["columns"]
        self.assertEqual(sum(first["cases"].values()), document["compared"] + document["skipped_in_all"])
        self.assertLess(document["compared"], 100)
        self.assertEqual(len(result.stdout.splitlines()), 1)
        self.assertNotEqual(first["seed"], second["seed"])
        self.assertEqual(5, self.compare("--run", "nope", self.path("a.json"), self.path("b.json")).returncode)

    def test_an_endpoint_that_is_not_there(self):
        result = self.compare("inproc:", NOBODY, "--run", "get.*")
        self.assertEqual(3, result.returncode)
        self.assertIn("no broker", result.stderr)
        self.assertNotIn("xyzzy-42", result.stdout + result.stderr)
        self.assertFalse(self.path("compare.json").exists())

    def test_an_endpoint_from_a_descriptor(self):
        here = self.write("here.yaml", "url: inproc:?dialect=documented\n")
        result = self.compare(f"mine={here}", "inproc:?dialect=documented", "--run", "get.*")
        self.assertEqual(0, result.returncode, result.stdout + result.stderr)
        self.assertEqual("mine", self.load("compare.json")["columns"][0]["name"])

    def test_evidence_is_read_as_a_report(self):
        run("certify", "--quiet", "--endpoint", "inproc:", "--run", "get.*", "--evidence", self.path("run.fpe"))
        result = self.compare(self.path("run.fpe"), "inproc:")
        self.assertEqual(0, result.returncode, result.stdout + result.stderr)

    def test_the_old_name_is_known_for_a_while(self):
        result = run("diff", "inproc:", "inproc:", "--run", "get.*")
        self.assertEqual(0, result.returncode, result.stdout + result.stderr)
        self.assertIn("warning: diff is now compare", result.stderr)
        self.assertNotIn("  diff ", run("--help").stdout)

    def test_usage_errors(self):
        odd = self.write("odd.txt", "odd")
        for arguments, message in (([self.path("nowhere.json"), "inproc:"], "there is no such file"),
                                   (["inproc:", "mqt://me:xyzzy-42@host"], "is neither a file nor an endpoint"),
                                   (["inproc:", odd], "this is not JSON"),
                                   (["inproc:", "inproc:?x=1"], "no option \"x\""),
                                   (["inproc:", "inproc:", "--profile", "both"], '"both" is not one of')):
            result = self.compare(*arguments)
            self.assertEqual(2, result.returncode, arguments)
            self.assertIn(message, result.stderr)
            self.assertNotIn("xyzzy-42", result.stderr)
        self.assertEqual(2, run("compare", "inproc:", "inproc:", "--json", "/nowhere/x.json").returncode)


if __name__ == "__main__":
    harness.main()
