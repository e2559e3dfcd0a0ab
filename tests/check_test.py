"""`fencepost check` as its users meet it: verdicts on a screen and as JSON, exit codes, files that are not right.

    check_test.py BUILD_BIN_DIR [unittest arguments]
"""

import json
import pathlib
import tempfile
from xml.etree import ElementTree

import jsonschema

import harness
from harness import ROOT
from schema_checks import complaints, left_open, taken

HISTORY = harness.load_schema("history")
VERDICTS = harness.load_schema("check")
HISTORIES = ROOT / "tests" / "histories"


def version(counter):
    return f"001696374425000:{counter:05}:StateStore"


def call(number, at, request, client=0, **more):
    return {"type": "call", "id": number, "at": at, "client": client, "request": request, "key": "k", **more}


def reply(number, at, said, **more):
    return {"type": "return", "id": number, "at": at, "reply": said, **more}


HEADER = {"type": "history", "format": 1}
RIGHT = [
    HEADER,
    {"type": "bounds", "expiry_early_ms": 50, "expiry_late_ms": 1000},
    {"type": "connection", "at": 0, "client": 1, "link": "connected"},
    call(8, 100, "KEYNOTIFY", client=1),
    reply(8, 200, "ok"),
    call(1, 1000, "SET", value="a\\x00", px_ms=60000, timestamp=version(0), token=version(7)),
    reply(1, 2000, "ok", version=version(1)),
    {"type": "notification", "at": 2100, "client": 1, "key": "k", "operation": "SET", "value": "a\\x00",
     "version": version(1), "duplicate": True},
    call(2, 3000, "GET", client=1),
    reply(2, 4000, "value", read="a\\x00", version=version(1)),
    call(3, 5000, "DEL"),
    reply(3, 6000, "token required", reason="a fencing token is required for this request"),
    call(4, 7000, "VDEL", value="b"),
]
WRONG = [
    HEADER,
    call(1, 1000, "SET", value="a", condition="NX"),
    call(2, 1200, "SET", client=1, value="b", condition="NX"),
    reply(1, 3_001_000, "ok", version=version(1)),
    reply(2, 3_100_000, "ok", version=version(2)),
]


def run(*arguments, code):
    done = harness.run(*arguments)
    assert done.returncode == code, f"exit code {done.returncode}: {done.stdout}{done.stderr}"
    return done


class Check(harness.unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, lines, name="history.jsonl", end="\n"):
        path = self.folder / name
        path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + end)
        return path

    def verdicts(self, *paths, code):
        document = json.loads(run("check", *paths, "--json", "-", code=code).stdout)
        self.assertEqual(complaints(VERDICTS, document), [])
        self.assertEqual(document["exit_code"], code)
        return document["histories"]

    def test_a_right_history(self):
        path = self.write(RIGHT)
        done = run("check", path, code=0)
        self.assertIn("5 operations of 2 clients on 1 key", done.stdout)
        self.assertIn("1 key ok, 0 violations, 0 unknown: linearizable", done.stdout)
        (history,) = self.verdicts(path, code=0)
        self.assertEqual((history["ok"], history["notifications"], history["cut"]), (1, 1, False))

    def test_a_violation_fits_a_screen(self):
        done = run("check", self.write(WRONG), code=1)
        self.assertLess(len(done.stdout.splitlines()), 13)
        self.assertIn("VIOLATION  SET-NX-2  key \"k\"", done.stdout)
        self.assertIn("SET with NX does not set a key that exists.", done.stdout)
        self.assertRegex(done.stdout, r'client 0 +0\.000 ms \.\. 3\.000 ms +SET "a" NX  ->  ok  version 1696374425000:1:')
        (history,) = self.verdicts(self.write(WRONG), code=1)
        (key,) = history["keys"]
        self.assertEqual([operation["number"] for operation in key["witness"]], [0, 1])
        self.assertEqual(key["witness"][1]["value"], "b")

    def test_the_worst_of_several_files_counts(self):
        right = self.write(RIGHT, "right.jsonl")
        wrong = self.write(WRONG, "wrong.jsonl")
        self.assertEqual([one["violations"] for one in self.verdicts(right, wrong, code=1)], [0, 1])
        document = self.folder / "verdicts.json"
        run("check", right, wrong, "--json", document, code=1)
        self.assertEqual(len(json.loads(document.read_text())["histories"]), 2)

    def test_junit_has_a_test_for_each_key(self):
        right = self.write(RIGHT, "right.jsonl")
        wrong = self.write(WRONG, "wrong.jsonl")
        run("check", right, wrong, "--junit", self.folder / "v.xml", code=1)
        root = ElementTree.parse(self.folder / "v.xml").getroot()
        self.assertEqual([harness.junit_count(root, name) for name in ("tests", "failures", "errors")], [2, 1, 0])
        self.assertEqual([suite.get("name") for suite in root], [str(right), str(wrong)])
        failure = root[1].find("testcase/failure")
        self.assertEqual(failure.get("type"), "MUST")
        self.assertTrue(failure.get("message").startswith("SET-NX-2: "))
        self.assertEqual(len(failure.text.strip().splitlines()), 4)
        piped = run("check", wrong, "--junit", "-", code=1)
        self.assertEqual(harness.junit_count(ElementTree.fromstring(piped.stdout), "tests"), 1)

    def test_files_that_cannot_be_written(self):
        wrong = self.write(WRONG)
        for option in ("--html", "--junit", "--json"):
            self.assertIn("cannot write", run("check", wrong, option, self.folder / "none" / "x", code=2).stderr)
        self.assertIn("one history", run("check", wrong, wrong, "--html", self.folder / "x.html", code=2).stderr)
        self.assertIn("only one", run("check", wrong, "--html", "-", "--json", "-", code=2).stderr)

    def test_what_is_given_up_is_unknown(self):
        lines = [HEADER]
        for number in range(10):
            lines.append(call(number, 0, "SET", client=number, value=str(number)))
        lines += [reply(number, 10, "ok") for number in range(10)]
        lines += [call(20, 20, "GET"), reply(20, 21, "value", read="nobody's")]
        path = self.write(lines)
        done = run("check", path, "--max-steps", "50", code=4)
        self.assertIn("ended undecided after 50 steps", done.stdout)
        (history,) = self.verdicts(path, code=1)
        self.assertEqual(history["keys"][0]["answer"], "violation")

    def test_a_killed_run_loses_its_last_line_at_most(self):
        path = self.write([*RIGHT, json.dumps(reply(4, 8000, "deleted"))[:-20]], end="")
        self.assertIn("the last line is incomplete", run("check", path, code=0).stdout)
        whole = self.write([*RIGHT, json.dumps(reply(4, 8000, "deleted", version=version(1)))], end="")
        self.assertNotIn("not complete", run("check", whole, code=1).stdout)

    def test_notifications(self):
        def observed(*told):
            return self.write([HEADER, call(1, 0, "KEYNOTIFY", client=7), reply(1, 1, "ok"),
                               call(2, 2, "SET", value="a"), reply(2, 3, "ok", version=version(1)), *told,
                               call(3, 5_000_000_000, "GET", client=7),
                               reply(3, 5_000_000_001, "value", read="a", version=version(1))])

        note = {"type": "notification", "at": 4, "client": 7, "key": "k", "operation": "SET", "value": "a",
                "version": version(1)}
        run("check", observed(note), code=0)
        missing = run("check", observed(), code=1)
        self.assertIn("NTF-SEND-1", missing.stdout)
        self.assertIn("client 7 was registered for the key but was not notified of a SET", missing.stdout)
        (history,) = self.verdicts(observed({**note, "client": 6}), code=1)
        self.assertEqual((history["keys"][0]["requirement"], history["keys"][0]["witness"]), ("NTF-SEND-3", []))

    def test_after_a_restart_nothing_is_a_violation(self):
        lines = [HEADER, call(1, 0, "SET", value="a"), reply(1, 1, "ok", version=version(1)), {"type": "restart", "at": 2},
                 call(2, 3, "GET"), reply(2, 4, "missing")]
        self.assertIn("restarted", run("check", self.write(lines), code=4).stdout)

    def test_files_that_cannot_be_read(self):
        self.assertIn("cannot read", run("check", self.folder / "none", code=2).stderr)
        done = run("check", self.write([HEADER, reply(1, 2, "ok"), HEADER]), code=2)
        self.assertIn("history.jsonl: line 2: /id: 1 was not called", done.stderr)
        run("check", self.write([HEADER]), code=5)
        run("check", code=2)

    def test_what_was_sent_again_may_have_happened_twice(self):
        lines = [HEADER, call(1, 0, "SET", value="a"), {"type": "resent", "id": 1, "at": 1},
                 reply(1, 2, "ok", version=version(1)),
                 call(2, 3, "SET", value="b"), reply(2, 4, "ok", version=version(2)),
                 call(3, 5, "GET"), reply(3, 6, "value", read="a", version=version(3))]
        self.assertIn("1 request sent again (DUP) and carried out twice", run("check", self.write(lines), code=0).stdout)
        (history,) = self.verdicts(self.write(lines), code=0)
        self.assertEqual(history["keys"][0]["repeated"], [0])
        del lines[2]
        (history,) = self.verdicts(self.write(lines), code=1)
        self.assertEqual(history["keys"][0]["by_values"], "violation")
        late = [HEADER, {"type": "resent", "id": 1, "at": 1}]
        self.assertIn("that of a request in flight", run("check", self.write([*late, HEADER]), code=2).stderr)

    def test_values_alone_and_the_clock_of_several_keys(self):
        lines = [HEADER, call(1, 0, "SET", value="a"), reply(1, 1, "ok", version=version(2)),
                 call(2, 2, "SET", value="b"), reply(2, 3, "ok", version=version(1)),
                 {**call(3, 4, "SET", value="c"), "key": "other"}, reply(3, 5, "ok", version=version(1))]
        path = self.write(lines)
        done = run("check", path, code=1).stdout
        self.assertIn("without the versions, one does", done)
        self.assertIn("not one clock for all keys: 1 of 1 SET got no greater version than one of another key", done)
        (history,) = self.verdicts(path, code=1)
        self.assertEqual(history["keys"][0]["by_values"], "ok")
        self.assertEqual(history["clock"], {"compared": 1, "against": 1})

    def test_the_order_in_which_observers_were_told(self):
        def told(at, value, number):
            return {"type": "notification", "at": at, "client": 1, "key": "k", "operation": "SET", "value": value,
                    "version": version(number)}

        changes = [HEADER, {**call(1, 0, "KEYNOTIFY"), "client": 1}, reply(1, 1, "ok"),
                   call(2, 2, "SET", value="a"), reply(2, 3, "ok", version=version(1)),
                   call(3, 4, "SET", value="b"), reply(3, 5, "ok", version=version(2))]
        for notifications, against, text in (
                ([told(6, "a", 1), told(7, "b", 2)], 0, "notified in order: 1 notification, none after one with a greater"),
                ([told(6, "b", 2), told(7, "a", 1)], 1, "not notified in order: 1 of 1 notification came after one")):
            path = self.write([*changes, *notifications])
            self.assertIn(text, run("check", path, code=0).stdout)
            (history,) = self.verdicts(path, code=0)
            self.assertEqual(history["notification_order"], {"compared": 1, "against": against})

    def test_logs_of_registers(self):
        log = ["INFO  jepsen.util - 0\t:invoke\t:write\t1", "INFO  jepsen.util - 0\t:ok\t:write\t1",
               "INFO  jepsen.util - 1\t:invoke\t:read\tnil", "INFO  jepsen.util - 1\t:ok\t:read\t"]
        run("check", self.write([*log[:3], log[3] + "1"]), code=0)
        stale = run("check", self.write([*log[:3], log[3] + "2"]), code=1)
        self.assertIn("line 3 .. line 4", stale.stdout)
        self.assertEqual(self.verdicts(self.write(log[:2]), code=0)[0]["time_unit"], "lines")

    def test_a_counter_example_that_is_not_minimal(self):
        # Each value twice, one write after the other: the search has many ways to leave replies out.
        log = [f"0 :{kind} :write {number % 40}" for number in range(80) for kind in ("invoke", "ok")]
        path = self.write([*log, "1 :invoke :read nil", "1 :ok :read 0"])
        done = run("check", path, code=1)
        self.assertNotIn("minimal", done.stdout)
        self.assertIn("counter-example (the search for a smaller one reached its limits):", done.stdout)
        (history,) = self.verdicts(path, code=1)
        self.assertTrue(history["keys"][0]["not_minimal"])
        stale = self.write([*log[:80], "1 :invoke :read nil", "1 :ok :read 0"])
        self.assertIn("    minimal counter-example:", run("check", stale, code=1).stdout)
        (history,) = self.verdicts(stale, code=1)
        self.assertEqual([len(history["keys"][0]["witness"]), history["keys"][0].get("not_minimal")], [3, None])

    def test_logs_of_what_is_no_register_are_refused_with_the_line(self):
        register = "{:process 0, :type :invoke, :f :read}\n{:process 0, :type :ok, :f :read, :value nil}\n"
        for log, said in (
                # Jepsen's list-append, as history.edn, as history.txt, and as lines of JSON.
                (register + "{:process 1, :type :invoke, :f :txn, :value [[:append 5 1] [:r 5 nil]]}",
                 "line 3: unknown function :txn"),
                ("INFO  jepsen.util - 0\t:invoke\t:txn\t[[:append 5 1]]", "line 1: unknown function :txn"),
                ('{"process": 0, "type": "invoke", "f": "txn", "value": [["append", 5, 1]]}', "line 1: unknown function :txn"),
                # Knossos' multi-register, and reads and writes that take a map.
                (register + "{:process 1, :type :invoke, :f :txn, :value [[:read :x nil] [:write :y 2]]}",
                 "line 3: unknown function :txn"),
                (register + "{:process 1, :type :invoke, :f :write, :value {:x 1, :y 2}}",
                 "line 3: {:x 1 :y 2} is of several")):
            with self.subTest(log):
                done = run("check", self.write([log]), code=2)
                self.assertIn(said, done.stderr)
                self.assertIn("not supported", done.stderr)

    def test_the_schema_and_the_reader_say_the_same(self):
        good = [*RIGHT, {"type": "notification", "at": 2100, "client": 1, "key": "k", "operation": "SET"},
                {"type": "restart", "at": 9}, call(9, 1, "CAS", value="a", expected="b"),
                {"type": "resent", "id": 9, "at": 2}, {"type": "return", "id": 9, "reply": "unknown", "reason": "time-out"}]
        for line in good:
            jsonschema.validate(line, HISTORY)
        run("check", self.write(good), code=0)
        bad = [call(9, 1, "SET"), call(9, 1, "set", value="a"), call(9, 1, "CAS", value="a"), call(9, -1, "GET"),
               call(9, 1, "SET", value="a", condition="XX"), call(9, 1, "SET", value="a", px_ms=-1),
               call("9", 1, "GET"), reply(4, 8000, "fine"), reply(4, 8000, "value"),
               {"type": "return", "id": 4, "reply": "deleted"}, {"type": "restart"}, {"type": "pause", "at": 1},
               {"type": "resent", "id": 4}, {"type": "resent", "at": 8000},
               {"type": "connection", "at": 1, "client": 1, "link": "slow"},
               {"type": "notification", "at": 1, "client": 1, "key": "k", "operation": "EXPIRE"},
               {"type": "bounds", "expiry_early_ms": 1}, {"type": "history", "format": 2}]
        validator = jsonschema.Draft202012Validator(HISTORY)
        for line in bad:
            self.assertFalse(validator.is_valid(line), line)
            self.assertIn(f"line {len(RIGHT) + 1}: ", run("check", self.write([*RIGHT, line]), code=2).stderr, line)

    def test_the_schema_of_verdicts_can_refuse(self):
        run("check", self.write(WRONG), "--json", self.folder / "v.json", code=1)
        good = json.loads((self.folder / "v.json").read_text())
        good["histories"][0]["whole"] = [{"answer": "unknown", "text": "no reply"}]
        self.assertEqual(left_open(VERDICTS), [])
        self.assertEqual(taken(VERDICTS, good, [
            lambda v: v.update(exit_code=3), lambda v: v["histories"][0].pop("cut"),
            lambda v: v["histories"][0]["keys"][0].pop("witness"), lambda v: v["histories"][0].pop("whole"),
            lambda v: v["histories"][0]["whole"][0].update(answer="ok"),
            lambda v: v["histories"][0]["keys"][0].update(answer="maybe"),
            lambda v: v["histories"][0]["keys"][0].update(not_minimal=False),
            lambda v: v["histories"][0]["keys"][0]["witness"][0].update(colour="red")]), [])

    def test_histories_that_once_taught_something(self):
        """The name of each file says what it is: ok-*, violation--RULE*."""
        paths = sorted(HISTORIES.iterdir())
        self.assertGreaterEqual(len(paths), 10)
        for path in paths:
            (history,) = self.verdicts(path, code=0 if path.name.startswith("ok") else 1)
            (key,) = history["keys"]
            expected = path.stem.split("--")[1] if "--" in path.stem else None
            self.assertEqual(key.get("requirement"), expected and expected.replace("not-", "not "), path.name)


if __name__ == "__main__":
    harness.main()
