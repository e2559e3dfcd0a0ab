"""`fencepost certify-client`: the adapters that are shipped, wrong clients, and unusual ones.

usage: certify_client_test.py BUILD_BIN_DIR [unittest arguments]
"""

import concurrent.futures
import json
import pathlib
import re
import shlex
import signal
import sys
import tempfile
import time
import xml.etree.ElementTree

from harness import BIN, FENCEPOST, HANG, ROOT, FolderTest, full, junit_count, load_schema, main, must, run, run_command, \
    wait_until
from schema_checks import complaints, left_open

PYTHON = "/usr/bin/python3"  # which has Debian's Paho
PAHO = (PYTHON, "-B", ROOT / "adapters" / "python_paho" / "adapter.py")
CPP_PAHO = (BIN / "cpp_paho_adapter",)
CHANGED = (PYTHON, "-B", ROOT / "tests" / "faulty_clients.py")
AT_ONCE = 4
# A wrong client is waited for where it does not answer.
SHORT = ("--timeout", "1s")


# The members of each family of cases that show what the others do not.
SOME_OF_EACH = (
    "get.missing", "get.value.[el]*", "set.value.t*", "key.upper-case.*", "set.condition.present.*", "set.expiry.of-1*",
    "del.*", "vdel.*", "session.m*", "error.*.not-authorized", "error.u*.of-words", "malformed.get.*-alone",
    "malformed.set.nothing", "malformed.del.no-digits", "reply.twice.at*", "reply.of-nobody.[uo]*", "reply.stray.ok",
    "reply.late", "together.order.reversed.*", "clock.[mofi]*", "lock.*", "lock-helper.taken", "lock-helper.h*",
    "cut.i*", "cut.o*", "session.[fln]*", "limit.*",
    "observe.[dosa]*", "observe.key.t*", "observe.malformed.[el]*", "version.is*.of-the-store")


def area(rule):
    return rule.partition("-")[0]


def certify(adapter, *options):
    """(result, JSON report) of a run."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "certificate.json"
        # Concurrent runs are not to have more adapters than the machine can keep in time.
        jobs = () if "-j" in options else ("-j", "8")
        result = run("certify-client", "--json", file, *jobs, *options, "--", *adapter)
        return result, json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def changes(kind):
    return [row for row in map(json.loads, must(*CHANGED, "--list").splitlines()) if row["kind"] == kind]


def at_once(act, rows):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(zip(rows, pool.map(act, rows)))


class RightClients(FolderTest):
    @full("minutes of four SDKs; one of them is certified in the gate")
    def test_the_adapters_that_are_shipped_pass_in_both_dialects(self):
        # What depends on the dialect. The one in C++ does not connect again by itself, and has no helper for locks.
        some = [part for glob in ("set.*", "vdel.*", "error.*", "observe.*", "lock.*") for part in ("--run", glob)]
        documented = ["--dialect", "documented", *some]
        rows = [(PAHO, 0, []), (CPP_PAHO, 33, ["-j", "16"]), (PAHO, 0, documented), (CPP_PAHO, 0, documented)]
        for (_, skipped, options), (result, report) in at_once(lambda row: certify(row[0], *row[2]), rows):
            self.assertEqual(0, result.returncode, result.stdout[-6000:] + result.stderr)
            verdict = "part" if some[0] in options else "conformant"
            self.assertEqual((verdict, 0, skipped), (report["verdict"], report["failed"], report["skipped"]))
            self.assertEqual([], complaints(load_schema("client-certificate"), report))
            self.assertGreater(report["passed"], 100 if some[0] in options else 350)

    @full("a process for each of a table of clients")
    def test_unusual_clients_are_right(self):
        rows = changes("unusual")
        self.assertGreaterEqual(len(rows), 10)
        globs = ("*.text*", "set.condition*", "observe.[dos]*", "clock.[mo]*", "lock*", "cut.[io]*", "session.*",
                 "reply.[op]*", "together.order.sent.*")
        selected = [part for glob in globs for part in ("--run", glob)]
        for row, (result, report) in at_once(lambda row: certify((*CHANGED, row["name"]), "-j", "2", *selected), rows):
            self.assertEqual(0, result.returncode, row["name"] + ": " + result.stdout[-6000:] + result.stderr)
            self.assertGreater(report["passed"], 5, row["name"])


@full("a process for each of a table of clients; client_run/ tests the judge, and one wrong client is in the gate")
class WrongClients(FolderTest):
    def test_each_is_charged_first_with_the_rule_that_it_breaks(self):
        rows = [row for row in changes("wrong") if row["rule"]]
        self.assertGreaterEqual(len(rows), 40)
        play = lambda row: certify((*CHANGED, row["name"]), *SHORT, "--run", row["case"])
        others = []
        for row, (result, report) in at_once(play, rows):
            self.assertEqual(1, result.returncode, row["name"] + ": " + result.stdout + result.stderr)
            (case,) = report["cases"]
            first = re.search(r"^FAILED .*\n(?: +.*\n)*?  ([A-Z][-.0-9A-Z]+): ", result.stdout, re.M)[1]
            self.assertEqual(first, case["problems"][0]["requirement"])
            if first != row["rule"]:
                others.append(f"{row['name']} breaks {row['rule']}, and is charged with {first}")
        print(f"{len(rows) - len(others)} of {len(rows)} wrong clients are charged first with the rule that they break")
        self.assertLessEqual(len(others), len(rows) * 0.05, "\n".join(others))

    def test_none_is_charged_with_a_rule_of_something_else(self):
        rows = [row for row in changes("wrong") if row["rule"]]
        selected = [part for glob in SOME_OF_EACH for part in ("--run", glob)]
        play = lambda row: certify((*CHANGED, row["name"]), *SHORT, *selected, "--run", row["case"])
        failures, strange = 0, []
        for row, (result, report) in at_once(play, rows):
            self.assertEqual(1, result.returncode, row["name"] + ": " + result.stdout + result.stderr)
            related = {area(row["rule"]), *row["also"]}
            for case in report["cases"]:
                for problem in case["problems"]:
                    failures += 1
                    if area(problem["requirement"]) not in related:
                        strange.append(f"{row['name']}: {problem['requirement']} in {case['id']}: {problem['actual']}")
        print(f"{failures - len(strange)} of {failures} failures of {len(rows)} wrong clients are of what is wrong with them")
        self.assertGreater(failures, 500)
        self.assertEqual([], strange)

    def test_who_does_nothing_fails_every_case(self):
        for row in (row for row in changes("wrong") if not row["rule"]):
            result, report = certify((*CHANGED, row["name"]), "--quiet")
            self.assertEqual(1, result.returncode, result.stderr)
            passed = [case["id"] for case in report["cases"] if case["verdict"] != "failed"]
            self.assertEqual([], passed, row["name"])
            self.assertGreater(len(report["cases"]), 150)

    def test_one_that_crashes_or_hangs_is_started_again(self):
        cases = [part for glob in ("malformed.get.bytes-alone", "malformed.del.no-digits", "session.m*", "reply.stray.ok")
                 for part in ("--run", glob)]
        rows = [("crashes-on-a-malformed-reply", "the adapter ended with exit code 7"),
                ("hangs-on-a-malformed-reply", "no result within 6000 ms: the adapter hangs")]
        for (_, said), (result, report) in at_once(lambda row: certify((*CHANGED, row[0]), *SHORT, "-j", "1", *cases), rows):
            verdicts = [case["verdict"] for case in report["cases"]]
            self.assertEqual((1, 1, 3), (report["restarts"], verdicts.count("failed"), verdicts.count("passed")), result.stdout)
            self.assertIn(said, result.stdout)


class Adapters(FolderTest):
    def adapter(self, script):
        return ("/bin/sh", self.write("adapter.sh", script))

    def test_one_that_cannot_be_started(self):
        result = run("certify-client", "--", "/no/such/adapter")
        self.assertEqual(2, result.returncode)
        self.assertIn("cannot start /no/such/adapter: No such file", result.stderr)
        self.assertEqual(2, run("certify-client").returncode)

    @full("needs the adapter in C++: Python itself needs more descriptors than are left")
    def test_descriptors_that_are_used_up_are_no_failure_of_the_client(self):
        seen, said = set(), ""
        for limit in range(8, 32, 2):
            result = run_command("sh", "-c", f'ulimit -n {limit}; exec "$0" "$@"', FENCEPOST, "certify-client", "-j", "4",
                                 "--run", "get.value.*", "--", *CPP_PAHO)
            self.assertNotIn("FAILED", result.stdout, limit)
            self.assertIn(result.returncode, (0, 2, 70, 127), f"{limit}: {result.stdout} {result.stderr}")
            seen.add(result.returncode)
            said += result.stderr
        self.assertLessEqual({0, 70}, seen)
        self.assertIn("Too many open files", said)

    def test_an_adapter_that_is_not_there_any_more_is_no_failure_of_the_client(self):
        greeting = '{"fencepost_adapter": 1, "name": "n", "capabilities": ["get"]}'
        file = self.write("adapter.sh", f"#!/bin/sh\necho '{greeting}'\nread line\nrm \"$0\"\nexit 6\n")
        file.chmod(0o755)
        result = run("certify-client", "-j", "1", "--run", "get.[mv]*", "--", file)
        self.assertEqual(70, result.returncode, result.stdout + result.stderr)
        self.assertEqual(1, result.stdout.count("FAILED"), "it has ended with exit code 6, once")
        self.assertRegex(result.stderr, "adapter.sh'?: No such file or directory")

    def test_a_signal_ends_it_soon(self):
        mark = self.folder / "asked"
        greeting = '{"fencepost_adapter": 1, "name": "n", "capabilities": ["get"]}'
        adapter = self.adapter(f"echo '{greeting}'; read line; echo > {shlex.quote(str(mark))}; sleep 1000")
        program = self.start(FENCEPOST, "certify-client", "-j", "1", "--", *adapter)
        wait_until(mark.exists)
        began = time.monotonic()
        program.send_signal(signal.SIGINT)
        self.assertEqual(130, program.wait(HANG))
        self.assertLess(time.monotonic() - began, 10, "a command has ten seconds")

    def test_one_that_does_not_greet(self):
        died = "ended with exit code 4 before its greeting; its standard error ends in:\n  no good"
        for script, said in (("echo no good >&2; exit 4", died),
                             ("echo hello", 'the adapter wrote "hello", which is not a JSON object on one line'),
                             ("""echo '{"fencepost_adapter": 2, "name": "n", "capabilities": []}'""", "it speaks version 2"),
                             ("""echo '{"fencepost_adapter": 1, "name": "n"}'""", 'has no member "capabilities"')):
            result = run("certify-client", "--", *self.adapter(script))
            self.assertEqual(3, result.returncode, result.stdout)
            self.assertIn(said, result.stderr)

    def test_cases_that_an_adapter_cannot_play_are_skipped_and_counted(self):
        greeting = '{"fencepost_adapter": 1, "name": "n", "capabilities": []}'
        result, report = certify(self.adapter(f"echo '{greeting}'; cat > /dev/null"))
        self.assertEqual((5, "nothing judged", 0), (result.returncode, report["verdict"], report["failed"]))
        self.assertEqual(len(report["cases"]), report["skipped"])
        self.assertRegex(result.stdout, r"missing capability get: \d+ cases skipped")

    def test_a_line_that_is_no_result_is_an_error_of_the_adapter(self):
        greeting = '{"fencepost_adapter": 1, "name": "n", "capabilities": ["get"]}'
        for line, said in (("debug", 'answers none of the pending commands, id 1: "debug"'),
                           ('{"ok": {}}', "answers none of the pending commands, id 1"),
                           ('{"id": 1, "ok": 5}', "ok and error must be objects"),
                           ('{"id": 1}', "must have either ok or error")):
            adapter = self.adapter(f"echo '{greeting}'; while read line; do echo '{line}'; done")
            result, report = certify(adapter, "--run", "get.missing")
            self.assertEqual((3, "adapter error", 0), (result.returncode, report["verdict"], report["failed"]), line)
            self.assertIn(said, report["ended_by"])
            self.assertIn("in case get.missing", result.stderr)

    def test_a_capability_that_nobody_knows_is_refused_with_the_nearest(self):
        adapter = self.adapter("""echo '{"fencepost_adapter": 1, "name": "n", "capabilities": ["get", "observ"]}'""")
        result = run("certify-client", "--", *adapter)
        self.assertEqual(3, result.returncode)
        self.assertIn('there is no capability "observ"; did you mean "observe"?', result.stderr)


class NewAdapters(FolderTest):
    def test_one_in_python_runs_as_it_is(self):
        folder = self.folder / "new one"
        said = run("new-adapter", "python", folder)
        self.assertEqual(0, said.returncode, said.stderr)
        self.assertIn(f"cd {shlex.quote(str(folder))}\n    fencepost certify-client -- {PYTHON} adapter.py", said.stdout)
        result, report = certify((PYTHON, "-B", folder / "adapter.py"), "--run", "get.*")
        self.assertEqual((0, "part"), (result.returncode, report["verdict"]), result.stdout)
        self.assertIn("\nclient: partial run without a failure: ", result.stdout)

    def test_those_in_other_languages_are_the_shipped_ones(self):
        for language, folder, files in (("cpp", "cpp_paho", ("adapter.cc", "statestore.cc", "statestore.h")),
                                        ("js", "mqtt_js", ("adapter.js", "statestore.js", "package.json")),
                                        ("go", "go_sdk", ("main.go", "go.mod", "go.sum")),
                                        ("rust", "rust_sdk", ("Cargo.toml", "src/main.rs"))):
            said = run("new-adapter", language, self.folder / language)
            self.assertEqual(0, said.returncode, said.stderr)
            for file in files:
                shipped = (ROOT / "adapters" / folder / file).read_text().replace(f"adapters/{folder}/", "")
                self.assertEqual(shipped, (self.folder / language / file).read_text(), file)

    @full("compiles")
    def test_one_in_cpp_builds_with_the_command_that_is_told(self):
        said = run("new-adapter", "cpp", self.folder / "cpp")
        build = re.search(r"^    (c\+\+ .*)$", said.stdout, re.M)[1]
        built = run_command("sh", "-c", build, cwd=self.folder / "cpp")
        self.assertEqual(0, built.returncode, built.stderr)
        result, _ = certify((self.folder / "cpp" / "adapter",), "--run", "get.*")
        self.assertEqual(0, result.returncode, result.stdout)

    def test_what_is_there_stays(self):
        mine = self.write("statestore.py", "mine")
        said = run("new-adapter", "python", self.folder)
        self.assertEqual((2, "mine"), (said.returncode, mine.read_text()))
        self.assertIn("statestore.py exists already", said.stderr)
        self.assertFalse((self.folder / "adapter.py").exists())
        self.assertEqual(2, run("new-adapter", "cobol", self.folder / "new").returncode)


class Reports(FolderTest):
    def test_a_failure_says_what_to_know(self):
        junit = self.folder / "report.xml"
        result = run("certify-client", "--junit", junit, "--run", "get.missing", "--", *CHANGED, "missing-taken-for-empty")
        self.assertEqual(1, result.returncode)
        for said in ("FAILED get.missing  GET of a missing key is neither an error nor an empty value\n",
                     "  rule      GET-MISS-1 (must): GET of a key that does not exist is answered with `$-1\\r\\n`.",
                     'step 1, get "k" (scenarios/clients/', "  expected  no value\n",
                     '  actual    the value ""\n', "1 root cause explains 1 failure\n",
                     '> PUBLISH: "*2\\r\\n$3\\r\\nGET\\r\\n$1\\r\\nk\\r\\n"', "< PUBLISH to ",
                     "client: not conformant (1 of ",
                     f"certify-client --run get.missing -- {PYTHON} -B "):
            self.assertIn(said, result.stdout)
        suite = xml.etree.ElementTree.parse(junit).getroot()
        self.assertEqual([1, 1], [junit_count(suite, name) for name in ("tests", "failures")])
        (failure,) = suite.findall("*/testcase/failure")
        self.assertEqual("GET-MISS-1", failure.get("type"))

    def test_the_schemas_leave_nothing_open(self):
        for name in ("client-certificate", "adapter"):
            self.assertEqual([], left_open(load_schema(name)), name)

    def test_the_lines_of_an_adapter_are_as_its_schema_says(self):
        schema = load_schema("adapter")
        told, said = self.folder / "told", self.folder / "said"
        tee = self.write("tee.sh", 'told=$1 said=$2; shift 2; tee "$told" | "$@" | tee "$said"\n')
        result, report = certify(("/bin/sh", tee, told, said, *PAHO), "-j", "1", "--run", "session.m*", "--run", "lock.s*",
                                 "--run",
                                 "observe.[do]*", "--run", "error.set.s*")
        self.assertEqual((0, 0), (result.returncode, report["failed"]), result.stdout + result.stderr)
        lines = [json.loads(line) for file in (told, said) for line in file.read_text(encoding="utf-8").splitlines()]
        self.assertEqual({"connect", "disconnect", "set", "get", "del", "vdel", "observe", "notification"},
                         {line["command"] for line in lines if "command" in line})
        for line in lines:
            self.assertEqual([], complaints(schema, line), line)

    def test_the_cases_are_listed(self):
        result = run("certify-client", "--dry-run", "--run", "error.set.*")
        self.assertEqual((0, 13), (result.returncode, len(result.stdout.splitlines())))
        self.assertEqual(5, run("certify-client", "--dry-run", "--run", "no-such").returncode)

    def test_mistakes_in_cases_are_told_with_their_place(self):
        file = self.write("cases.yaml", "certifies: clients\narea: a\ncases:\n  - id: a\n    title: t\n"
                                        "    requirements: [GET-HIT-1]\n    steps:\n      - gett: k\n")
        result = run("certify-client", "--dry-run", "--scenarios", file)
        self.assertEqual(2, result.returncode)
        self.assertIn(f'{file}:8:9: step has no key "gett"; did you mean "get"?', result.stderr)


if __name__ == "__main__":
    if not pathlib.Path(PYTHON).exists():
        sys.exit(f"{PYTHON} is missing")
    main()
