"""Many runs: side by side, of a whole fleet, in the shards that CI systems make; and the bytes of the cases.

usage: compare_test.py BUILD_BIN_DIR [unittest arguments]
All runs are in process.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import unittest

import yaml

import harness
from harness import FENCEPOST, ROOT, run
from schema_checks import complaints, left_open, taken

SCHEMA = harness.load_schema("compare")
VECTORS = harness.load_schema("vectors")
RUNS = {"right": "inproc:", "nx": "inproc:?fault=nx-overwrites", "documented": "inproc:?dialect=documented"}
SHARD_VARIABLES = ("CI_NODE_INDEX", "CI_NODE_TOTAL", "CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", "BUILDKITE_PARALLEL_JOB",
                   "BUILDKITE_PARALLEL_JOB_COUNT", "JOB_COMPLETION_INDEX", "FENCEPOST_SHARD_TOTAL", "FENCEPOST_SHARD")


def environment(**variables):
    """This one without what a CI system has set, and with these."""
    clean = {name: value for name, value in harness.environment().items() if name not in SHARD_VARIABLES}
    return {**clean, **variables}


def unescaped(text):
    """The bytes of an escaped text."""
    known = {"\\r": b"\r", "\\n": b"\n", "\\t": b"\t"}
    parts = re.findall(r"\\x[0-9a-f]{2}|\\.|[^\\]", text, re.S)
    return b"".join(bytes.fromhex(part[2:]) if part.startswith("\\x") else known.get(part, part[-1:].encode())
                    for part in parts)


def without_prefix(text):
    """A payload whose keys have neither the prefix of a run nor that of vectors, nor its length."""
    return re.sub(r"\$\d+\\r\\n(?:fencepost/[^/]+/[0-9a-f]{8}/|vector/)", "$N PREFIX/", text)


class CompareTest(harness.FolderTest):
    def path(self, name):
        return self.folder / name

    def reports(self, *selection):
        for name, endpoint in RUNS.items():
            run("certify", "--quiet", "--endpoint", endpoint, "--seed", 1,
                "--json", self.path(f"{name}.json"), *selection)

    def compare(self, *arguments, code=1):
        done = run("compare", *arguments, "--json", self.path("compare.json"), "--html", self.path("compare.html"))
        self.assertEqual(done.returncode, code, done.stderr)
        document = harness.load_json(self.path("compare.json"))
        self.assertEqual(complaints(SCHEMA, document), [])
        return done.stdout, document

    def test_runs_stand_side_by_side(self):
        self.reports()
        words = [f"{name}={self.path(name)}.json" for name in RUNS]
        text, document = self.compare(*words)
        self.assertEqual([column["name"] for column in document["columns"]], list(RUNS))
        [finding] = document["findings"]
        self.assertEqual(finding["id"], "SET-NX-2")
        self.assertEqual([cell and cell["verdict"] for cell in finding["cells"]], [None, "failed", None])
        reports = {name: harness.load_json(self.path(f"{name}.json")) for name in RUNS}
        for place, report in enumerate(reports.values()):
            states = {rule["id"]: rule["state"] for rule in report["requirements"] if rule["state"] != "open"}
            shown = {row["id"]: row["cells"][place] for row in document["requirements"] if row["cells"][place]}
            self.assertEqual(shown, states)
            seen = {row["id"]: row["cells"][place] for row in document["open_points"] if row["cells"][place]}
            self.assertEqual(seen, report["open_points_observed"])
        self.assertEqual([row["id"] for row in document["requirements"] if row["differs"]], ["SET-NX-2"])
        differing = {row["id"] for row in document["open_points"] if row["differs"]}
        self.assertIn("NTF-ERROR-OPEN-1", differing)
        self.assertRegex(text, r"(?m)^  B  nx: NOT conformant, \d+/\d+ MUST$")
        self.assertRegex(text, r"(?m)^  SET-NX-2 +- +failed \d+ +-$")
        self.assertRegex(text, r"(?m)^  SET-NX-2 +passed +broken +passed$")
        cases, forms = (sum(row["differs"] for row in document[member]) for member in ("cases", "forms"))
        self.assertEqual({row["cells"][1]["verdict"] for row in document["cases"] if row["differs"]}, {"failed"})
        self.assertIn(f"3 runs differ in 1 requirement, {cases} cases, {forms} dialect forms and {len(differing)} "
                      "choices; ", text.splitlines()[-1])
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        page = self.path("compare.html").read_text(encoding="utf-8")
        data = json.loads(re.search(r'id="p_data">(.*?)</script>', page, re.S).group(1))
        self.assertEqual(data, document)
        self.assertNotRegex(page, r'(?:src|href)="(?!#)')

    def test_one_store_at_two_times_is_alike(self):
        for name in ("a", "b"):
            run("certify", "--quiet", "--endpoint", "inproc:", "--run", "set.nx.*", "--json", self.path(f"{name}.json"))
        old = harness.load_json(self.path("a.json"))
        old["suite_version"], old["suite_commit"] = "0.0.9", "of long ago"
        self.path("a.json").write_text(json.dumps(old), encoding="utf-8")
        text, document = self.compare(self.path("a.json"), self.path("b.json"), code=0)
        self.assertTrue(text.splitlines()[-1].startswith("2 runs: no difference; "))
        self.assertFalse(document["differs"])
        self.assertEqual([column["name"] for column in document["columns"]],
                         [f"inproc: ({self.path(name)}.json)" for name in ("a", "b")])

    def test_a_report_that_contradicts_itself_is_refused(self):
        self.reports("--run", "set.nx.*")
        whole = harness.load_json(self.path("nx.json"))

        def passes(report):
            for case in report["cases"]:
                case["verdict"] = "passed"

        def is_well(report):
            report["exit_code"] = 0

        changes = {"it has no cases": lambda report: report.pop("cases"), "failed, but its cases are 0": passes,
                   "its exit code is 0": is_well,
                   "its summary says 99 skipped": lambda report: report["summary"].update(skipped=99),
                   "no root cause explains": lambda report: report.update(differences=[]),
                   "SET-NX-2 has failed and also passed": lambda report: report.update(
                       requirements=[dict(each, state="passed") for each in report["requirements"]])}
        for said, change in changes.items():
            with self.subTest(said):
                report = json.loads(json.dumps(whole))
                change(report)
                self.path("changed.json").write_text(json.dumps(report), encoding="utf-8")
                done = run("compare", self.path("changed.json"), self.path("right.json"))
                self.assertEqual((2, True), (done.returncode, said in done.stderr), done.stdout + done.stderr)

    def test_what_was_not_decided_differs_from_nothing(self):
        run("certify", "--quiet", "--endpoint", "inproc:", "--run", "set.nx.*", "--json", self.path("a.json"))
        run("certify", "--quiet", "--endpoint", "mqtt://127.0.0.1:1", "--run", "set.nx.*", "--json", self.path("b.json"))
        text, document = self.compare(self.path("a.json"), self.path("b.json"), code=3)
        self.assertFalse(document["differs"])
        self.assertEqual({row["cells"][1] for row in document["requirements"]}, {"not-run"})
        self.assertIn("unreachable", text)

    def test_more_runs_than_fit_stand_below_each_other(self):
        self.reports("--run", "set.nx.*")
        text, _ = self.compare(*[f"n{number}={self.path('nx' if number == 8 else 'right')}.json" for number in range(9)])
        heads = re.findall(r"(?m)^ {25}([A-Z ]+)$", text)
        self.assertEqual([head.split() for head in heads[:2]], [list("ABCDE"), list("FGHI")])

    def test_what_is_no_report_is_refused(self):
        self.path("bad.json").write_text('{"cases": []}', encoding="utf-8")
        for name, said in (("bad.json", "not a report of certify"), ("none.json", "cannot read")):
            done = run("compare", f"x={self.path(name)}")
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)
            self.assertIn(str(self.path(name)), done.stderr)

    def test_the_schema_describes_and_refuses(self):
        self.assertEqual(left_open(SCHEMA), [])
        self.reports("--run", "set.nx.*")
        _, good = self.compare(*[self.path(f"{name}.json") for name in RUNS])
        changes = [
            lambda document: document.pop("columns"),
            lambda document: document.update(extra=1),
            lambda document: document["columns"][0].pop("must"),
            lambda document: document["columns"][0].update(verdict="fine"),
            lambda document: document["findings"][0]["cells"][1].pop("cause"),
            lambda document: document["requirements"][0]["cells"].append("ok"),
            lambda document: document["open_points"][0].update(cells=[[]]),
            lambda document: document["forms"][0].update(cases=[]),
            lambda document: document["cases"][0]["cells"][1].pop("expected"),
            lambda document: document["cases"][0]["cells"][1].update(verdict="fine"),
        ]
        self.assertEqual(taken(SCHEMA, good, changes), [])


class FleetTest(harness.FolderTest):
    def fleet(self, text):
        (self.folder / "fleet.txt").write_text(text, encoding="utf-8")
        (self.folder / "documented.yaml").write_text('url: "inproc:?dialect=documented"\n', encoding="utf-8")
        return run("certify-all", "fleet.txt", "--out-dir", "out", "--run", "set.nx.*", cwd=self.folder)

    def test_every_endpoint_of_a_file_is_certified(self):
        done = self.fleet("# a comment\n\nright inproc:\nnx inproc:?fault=nx-overwrites # wrong\n"
                          "descriptor documented.yaml\ngone mqtt://127.0.0.1:1\n")
        self.assertEqual(done.returncode, 1, done.stderr)
        out = self.folder / "out"
        names = ("right", "nx", "descriptor", "gone")
        self.assertEqual({path.name for path in out.iterdir()}, {"index.html", "compare.json", *[
            f"{name}.{kind}" for name in names for kind in ("json", "html", "xml", "log")]})
        codes = {name: harness.load_json(out / f"{name}.json")["exit_code"] for name in names}
        self.assertEqual(codes, {"right": 0, "nx": 1, "descriptor": 0, "gone": 3})
        compared = harness.load_json(out / "compare.json")
        self.assertEqual([column["name"] for column in compared["columns"]], list(names))
        self.assertIn("gone: unreachable (exit code 3)", done.stdout)

    def test_the_exit_code_is_that_of_the_worst(self):
        self.assertEqual(self.fleet("right inproc:\nalso inproc:\n").returncode, 0)
        self.assertEqual(self.fleet("right inproc:\ngone mqtt://127.0.0.1:1\n").returncode, 3)

    def test_lines_that_cannot_be_used_are_named(self):
        for line, said in (("a/b inproc:", "the name must be letters"), ("alone", "expected a name, and an endpoint"),
                           ("x inproc: more", "expected a name, and an endpoint"), ("right inproc:", "occurs twice"),
                           ("compare inproc:", "is reserved for the comparison"), ("index inproc:", "is reserved for")):
            done = self.fleet(f"right inproc:\n{line}\n")
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"fleet.txt:2: ", done.stderr)
            self.assertIn(said, done.stderr)
        self.assertIn("no endpoint in this file", self.fleet("# nothing\n").stderr)

    def test_a_signal_ends_all_runs_with_their_reports(self):
        (self.folder / "fleet.txt").write_text("one embedded\ntwo embedded\nthree embedded\n", encoding="utf-8")
        process = subprocess.Popen([FENCEPOST, "certify-all", "fleet.txt", "--out-dir", "out"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment())
        log = self.folder / "out" / "one.log"
        harness.wait_until(lambda: log.exists() and "fencepost" in log.read_text(encoding="utf-8"))
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=harness.HANG)
        self.assertEqual(process.returncode, 130, said)
        self.assertFalse((self.folder / "out" / "three.json").exists())


class ShardTest(harness.FolderTest):
    def certify(self, *arguments, **variables):
        return run("certify", "--endpoint", "inproc:", "--quiet", "--shard", "auto", *arguments, env=environment(**variables),
                   cwd=self.folder)

    def test_what_ci_systems_set_is_taken_and_said(self):
        for variables, shard, name in (
                ({"CI_NODE_INDEX": "2", "CI_NODE_TOTAL": "5"}, (2, 5), "GitLab"),
                ({"CI_NODE_TOTAL": "1"}, (1, 1), "GitLab"),
                ({"CIRCLE_NODE_INDEX": "0", "CIRCLE_NODE_TOTAL": "5"}, (1, 5), "CircleCI"),
                ({"BUILDKITE_PARALLEL_JOB": "4", "BUILDKITE_PARALLEL_JOB_COUNT": "5"}, (5, 5), "Buildkite"),
                ({"JOB_COMPLETION_INDEX": "1", "FENCEPOST_SHARD_TOTAL": "5"}, (2, 5), "Kubernetes"),
                ({"FENCEPOST_SHARD": "3/5"}, (3, 5), "FENCEPOST_SHARD"),
                ({"FENCEPOST_SHARD": "2/5", "CI_NODE_INDEX": "2", "CI_NODE_TOTAL": "5"}, (2, 5), "FENCEPOST_SHARD")):
            with self.subTest(variables=variables):
                done = self.certify("--run", "set.nx.*", "--json", "r.json", **variables)
                self.assertIn(done.returncode, (0, 5), done.stderr)
                self.assertIn("fencepost: shard {}/{} ({}".format(*shard, name), done.stderr)
                report = harness.load_json(self.folder / "r.json")
                self.assertEqual((report["shard"]["index"], report["shard"]["of"]), shard)

    def test_what_is_missing_wrong_or_contradictory_is_said(self):
        for variables, said in (
                ({}, "nothing says which shard this is"),
                ({"JOB_COMPLETION_INDEX": "1"}, "set FENCEPOST_SHARD_TOTAL"),
                ({"CI_NODE_INDEX": "0", "CI_NODE_TOTAL": "5"}, "must be a number, 1 or greater"),
                ({"CIRCLE_NODE_INDEX": "5", "CIRCLE_NODE_TOTAL": "5"}, "must be a number, 0 or greater"),
                ({"CIRCLE_NODE_INDEX": "x", "CIRCLE_NODE_TOTAL": "5"}, "must be a number, 0 or greater"),
                ({"FENCEPOST_SHARD": "6/5"}, "must look like 2/5"),
                ({"CI_NODE_INDEX": "2", "CI_NODE_TOTAL": "5", "FENCEPOST_SHARD": "1/5"}, "contradict each other")):
            with self.subTest(variables=variables):
                done = self.certify(**variables)
                self.assertEqual(done.returncode, 2)
                self.assertIn(said, done.stderr)


class KubernetesTest(harness.FolderTest):
    def job(self, name):
        document = yaml.safe_load((ROOT / "ci" / "kubernetes" / name).read_text(encoding="utf-8"))
        self.assertEqual((document["apiVersion"], document["kind"]), ("batch/v1", "Job"))
        self.assertEqual(document["spec"]["completionMode"], "Indexed")
        [container] = document["spec"]["template"]["spec"]["containers"]
        return document, container

    def pods(self, name, **changes):
        """Runs every pod of the Job as a process here, in parallel; their exit codes and what they said."""
        document, container = self.job(name)
        variables = {entry["name"]: entry["value"] for entry in container["env"]} | changes
        path = f"{pathlib.Path(FENCEPOST).parent}:{os.environ['PATH']}"
        pods = [subprocess.Popen([*container["command"], *container["args"]], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True,
                                 env=environment(**variables, JOB_COMPLETION_INDEX=str(index), PATH=path))
                for index in range(document["spec"]["completions"])]
        return [(pod.communicate(timeout=300)[0], pod.returncode) for pod in pods]

    def test_eight_shards_merged_are_one_run(self):
        endpoint = "inproc:?fault=nx-overwrites"
        outcomes = self.pods("certify.yaml", ENDPOINT=endpoint, REPORTS=str(self.folder))
        self.assertEqual([code for _, code in outcomes], [0] * 9, outcomes)
        self.assertIn("exit code of the merged run: 1", outcomes[8][0])
        run("certify", "--endpoint", endpoint, "--seed", "1", "--quiet", "--json", self.folder / "one.json")
        one, merged = (harness.load_json(self.folder / name) for name in ("one.json", "merged.json"))
        self.assertEqual(len(merged["parts"]), 8)
        for member in ("summary", "requirements", "exit_code", "dialect_observed", "forms_observed"):
            self.assertEqual(merged[member], one[member], member)
        verdicts = lambda report: [(case["id"], case["verdict"]) for case in report["cases"]]
        self.assertEqual(verdicts(merged), verdicts(one))

    def test_pods_explore_with_seeds_of_their_own(self):
        outcomes = self.pods("explore.yaml", ENDPOINT="inproc:?fault=nx-overwrites", TIME="1s", FINDINGS=str(self.folder))
        self.assertEqual([code for _, code in outcomes], [0] * 8, outcomes)
        self.assertEqual({path.name for path in self.folder.iterdir()}, {f"seed-{1000 + index}" for index in range(8)})


class VectorsTest(harness.FolderTest):
    def vectors(self, *arguments):
        done = run("vectors", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(complaints(VECTORS, document), [])
        return document

    def test_every_case_has_its_bytes(self):
        # In the gate a part of them: all are a document of many megabytes.
        some = ["--run", "set.*"] if harness.IN_GATE else []
        document = self.vectors(*some, "--max-bytes", "17000000")
        listed = json.loads(run("list", "cases", "--json", *some).stdout)
        self.assertEqual([case["id"] for case in document["cases"]], [case["id"] for case in listed])
        requests = [step for case in document["cases"] for step in case["steps"] if "request" in step]
        self.assertGreater(len(requests), 100 if some else 5000)
        for step in requests:
            for each in [step["request"], *[reply for reply in step["replies"] if reply["kind"] == "bytes"]]:
                self.assertEqual(unescaped(each["text"]), bytes.fromhex(each["hex"]))

    def test_what_is_sent_and_expected_is_what_runs_send_and_see(self):
        name = "set.nx.refuses-existing-key"
        [case] = self.vectors("--run", name, "--profile", "deployed")["cases"]
        run("certify", "--endpoint", "inproc:", "--run", name, "--quiet", "--transcripts", "all", "--json",
            self.folder / "r.json")
        [ran] = harness.load_json(self.folder / "r.json")["cases"]
        steps = [step for step in case["steps"] if "request" in step]
        sent, received = ([entry for entry in ran["transcript"] if entry["direction"] == way and "payload" in entry]
                          for way in ("sent", "received"))
        self.assertEqual([without_prefix(step["request"]["text"]) for step in steps],
                         [without_prefix(entry["payload"]) for entry in sent[:len(steps)]])
        for step, entry in zip(steps, received):
            self.assertIn(entry["payload"], [reply["text"] for reply in step["replies"]])

    def test_each_dialect_has_its_own(self):
        forms = {}
        for profile in ("deployed", "documented"):
            [case] = self.vectors("--run", "set.nx.refuses-existing-key", "--profile", profile)["cases"]
            forms[profile] = {reply["text"] for step in case["steps"] for reply in step.get("replies", [])}
        self.assertNotEqual(forms["deployed"], forms["documented"])

    def test_a_selection_of_nothing_is_told(self):
        done = run("vectors", "--run", "nothing.*")
        self.assertEqual((done.returncode, done.stdout), (5, ""))
        self.assertIn("no id matches", done.stderr)

    def test_the_schema_describes_and_refuses(self):
        self.assertEqual(left_open(VECTORS), [])
        good = self.vectors("--run", "set.nx.refuses-existing-key")
        step = lambda document: next(step for step in document["cases"][0]["steps"] if "request" in step)
        self.assertEqual(taken(VECTORS, good, [
            lambda document: document.update(extra=1),
            lambda document: document.pop("key_prefix"),
            lambda document: document["cases"][0].pop("id"),
            lambda document: step(document).pop("replies"),
            lambda document: step(document)["request"].update(hex="0"),
            lambda document: step(document)["replies"][0].update(kind="other"),
            lambda document: step(document)["replies"][0].pop("hex"),
        ]), [])


if __name__ == "__main__":
    harness.main()
