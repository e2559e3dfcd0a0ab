"""No text that comes from elsewhere commands anything: a terminal, the log of a CI, a page, a Markdown or SARIF viewer.

    hostile_text_test.py BUILD_BIN_DIR [unittest arguments]

Hostile strings stand in every text field of every file format, in file names, in what an adapter writes and in every text
field of an endpoint; every command that reads them runs, and everything that it prints or writes is searched. With
FENCEPOST_GATE each field gets all strings as one, else each of them by itself, too.
"""

import copy
import json
import re
import sys
import unicodedata
import xml.etree.ElementTree as ElementTree

import evidence_file
import harness
import hostile_broker
from harness import HANG, IN_GATE, run

# What nobody may read at the beginning of a line, and no log or page may take for its own.
FORGED = "fencepost: FORGED"
STRINGS = [
    # terminals: titles, clearing, colours, links, the clipboard, the answers of a terminal, 8-bit controls, bells, backspaces
    "\x1b]0;x\x07", "\x1b[2J", "\x1b[31mred", "\x1b]8;;https://e.example\x07k\x1b]8;;\x07", "\x1b]52;c;eA==\x07", "\x1b[6n",
    "\x1bc",
    "\x9b2J", "\x9d0;x\x9c", "\x85x", "\x07", "a\x08\x08b", "a\rb", "\x7f", "\x0b\x0c",
    # the order of letters and lines
    "\u202eabc", "\u2066a\u2069", "\u200fa", "\u061ca", "a\u2028" + FORGED, "a\u2029" + FORGED, "a\n" + FORGED,
    "a\r\n" + FORGED,
    # commands of CIs
    "\n::error::" + FORGED, "::error title=a::b", "\n  ::set-output name=a::b", "::stop-commands::x", "::add-mask::a",
    "##[error]a", "a ##[command]b", "##vso[task.setvariable variable=a]b", "a##vso[task.complete result=Succeeded]",
    # pages, Markdown, SARIF, XML, templates, shells
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "</script><b>", "]]><a/>&x;", "[k](https://e.example)",
    "![k](https://e.example/x.png)", "| a | `b` | <https://e.example>", "$(touch forged) `touch forged`; touch forged",
]
assert len(STRINGS) == 40, len(STRINGS)
# Some texts are cut: the worst ones first.
BRIEF = "\x1b[2J##vso[a]\u202e\n::error::x\n" + FORGED + "[k](https://e.example)<img src=x>"
TOGETHER = BRIEF + " ".join(STRINGS)
TRIED = [TOGETHER] if IN_GATE else [TOGETHER, BRIEF, *STRINGS]

BAD_FORMATS = {"Cc", "Cf", "Zl", "Zp", "Cs"}


def bad_characters(text):
    """Control characters but line ends and tabs, and what turns or ends a line."""
    found = {character for character in text if unicodedata.category(character) in BAD_FORMATS}
    return {f"U+{ord(character):04X}" for character in found} - {"U+000A", "U+0009"}


def leaks_of_log(text):
    """What a terminal or a CI takes for a command, or a reader for a line of the program."""
    out = [f"{each} is printed" for each in sorted(bad_characters(text))]
    out += [f"{each} is printed" for each in ("##[", "##vso[") if each in text]
    for line in text.split("\n"):
        if line.lstrip().startswith("::"):
            out.append("a line begins with ::")
        if line.startswith((FORGED, "FORGED")):
            out.append("a line is forged")
    return out


def messages_in(value, message=False):
    """The texts of the message objects of a SARIF document, which viewers format."""
    if isinstance(value, list):
        for each in value:
            yield from messages_in(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if message and key == "text":
                yield each
            yield from messages_in(each, key in ("message", "shortDescription", "fullDescription", "help"))


def leaks_of_file(name, content):
    text = content.decode("utf-8")
    if name.endswith((".json", ".sarif")):
        document = json.loads(text)
        if name.endswith(".sarif"):
            return ["a link in a message"] * any("](" in each for each in messages_in(document))
        return []
    if name.endswith(".xml"):
        try:
            ElementTree.fromstring(text)
        except ElementTree.ParseError as error:
            return [f"is no XML: {error}"]
        return []
    if name.endswith(".html"):
        # What the pages hold is in JSON, and set as text by their script.
        return [f"{each} as it is" for each in ("<script>alert", "<img src=x", "</script><b>") if each in text]
    if name.endswith(".md"):
        return [f"{each} as it is" for each in ("<script>", "<img", "](https://e.example") if each in text]
    if name.endswith(".jsonl"):
        for line in text.splitlines():
            json.loads(line)
        return []
    return [f"{each} as it is" for each in sorted(bad_characters(text))]


def fields(document, path=()):
    """(place, value) of each text, of lists the first element alone of each shape."""
    if isinstance(document, str):
        yield path, document
    elif isinstance(document, dict):
        for key, value in document.items():
            yield from fields(value, (*path, key))
    elif isinstance(document, list):
        seen = set()
        for number, value in enumerate(document):
            for place, text in fields(value, (number,)):
                shape = tuple("#" if isinstance(part, int) else part for part in place)
                if shape not in seen:
                    seen.add(shape)
                    yield (*path, *place), text


def with_text(document, place, old, new):
    """The document with `new` at this place, and at each other one where `old` stands alone: what is said twice must agree."""
    def changed(value):
        if isinstance(value, str):
            return new if value == old and old else value
        if isinstance(value, list):
            return [changed(each) for each in value]
        if isinstance(value, dict):
            return {key: changed(each) for key, each in value.items()}
        return value
    out = changed(copy.deepcopy(document))
    at = out
    for part in place[:-1]:
        at = at[part]
    at[place[-1]] = new
    return out


CASES = {"area": "own", "cases": [
    {"id": "own.a", "title": "a title", "requirements": ["GET-HIT-3"], "tags": ["slow"], "clients": {"a": {}, "b": {}},
     "steps": [
        {"set": {"key": "k", "value": "v", "client": "a"}, "expect": {"reply": "ok", "ts": {"save": "v1"}}, "note": "a note"},
        {"get": {"key": "k", "client": "b", "user_properties": [["name", "value"]]},
         "expect": {"reply": {"value": "other"}, "ts": {"equals": "v1"}, "cites": "GET-HIT-3"}}]}]}
DESCRIPTOR = {"version": 1, "url": "mqtt://127.0.0.1:1", "note": "a note", "profile": "deployed", "key_prefix": "a/b",
              "timeout": "5s", "tls": {"ca": "ca.pem"},
              "roles": {"restricted": {"user": "u", "password": "p", "client_id": "c"}},
              "hooks": {"restart": "true", "timeout": "1s", "environment": ["A"]}}
BASELINE = {"version": 1, "fail": [{"case": "set.nx.*", "reason": "known", "owner": "o", "until": "2999-01-01"}]}
REPORTS = ["--json", "o.json", "--junit", "o.xml", "--html", "o.html", "--sarif", "o.sarif", "--badge", "badge.json"]


class HostileText(harness.FolderTest):
    def check(self, what, *arguments, documents=(), **options):
        """Runs the command, and searches what it says and writes."""
        before = {path: path.stat().st_mtime_ns for path in self.folder.rglob("*") if path.is_file()}
        done = run(*arguments, cwd=self.folder, env=harness.environment(GITHUB_ACTIONS=""), **options)
        self.ran += 1
        said = done.stdout + done.stderr
        leaks = leaks_of_log(said)
        if done.returncode < 0 or done.returncode in (70, 134, 139):
            leaks.append(f"exit code {done.returncode}")
        for path in self.folder.rglob("*"):
            if path.is_file() and before.get(path) != path.stat().st_mtime_ns and path.name not in documents:
                leaks += [f"{path.name}: {leak}" for leak in leaks_of_file(path.name, path.read_bytes())]
        if (self.folder / "forged").exists():
            leaks.append("a command was run")
        if leaks:
            self.found.append((what, " ".join(map(str, arguments))[:100], sorted(set(leaks)), said[:300]))

    def setUp(self):
        super().setUp()
        self.found = []
        self.ran = 0

    def tearDown(self):
        shown = "\n".join(f"{what}: {command}: {leaks}\n    {said!r}" for what, command, leaks, said in self.found[:12])
        print(f"{self.id().rsplit('.', 1)[-1]}: {self.ran} runs, {len(self.found)} leaks", file=sys.stderr)
        self.assertFalse(self.found, f"{len(self.found)} leaks\n{shown}")
        super().tearDown()

    def each_field(self, name, document, commands, dump=None):
        """Each hostile text in each field of the document, which is the file `name` to each command."""
        for number, (place, old) in enumerate(list(fields(document))):
            # In the gate one command for each field: of the fields one after the other all of them.
            chosen = [commands[number % len(commands)]] if IN_GATE else commands
            for new in TRIED:
                changed = with_text(document, place, old, new)
                content = dump(changed) if dump else json.dumps(changed, indent=1)
                (self.folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
                where = "/".join(map(str, place))
                for command in chosen:
                    self.check(f"{name} {where}", *command, documents=(name,))

    def report(self):
        run("certify", "--endpoint", "inproc:?fault=S01", "--run", "set.nx.refuses-equal-value", "--run", "set.nx.missing*",
            "--json", "sample.json", "--stress", "none", "-q", cwd=self.folder)
        return self.load("sample.json")

    def test_reports(self):
        report = self.report()
        self.each_field("r.json", report, [
            ["merge", "r.json", *REPORTS], ["compare", "r.json", "sample.json", "--run", "set.*", "--json", "o.json"],
            ["compare", "r.json", "n=sample.json", "--json", "o.json", "--html", "o.html"],
            ["matrix", "--report", "r.json", "--html", "o.html", "--markdown", "o.md"],
            ["certify", "--dry-run", "--last-failed", "r.json"]])

    def test_documents_on_standard_output(self):
        report = self.report()
        for command in (["merge", "r.json", "-q", "--json", "-"], ["merge", "r.json", "-q", "--junit", "-"],
                        ["compare", "r.json", "sample.json", "--json", "-"]):
            for place, old in list(fields(report))[:12]:
                self.write("r.json", json.dumps(with_text(report, place, old, BRIEF)))
                done = run(*command, cwd=self.folder)
                self.ran += 1
                for bad in ("##[", "##vso["):
                    self.assertNotIn(bad, done.stdout + done.stderr)
                if done.returncode in (0, 1) and command[-2] == "--json":
                    json.loads(done.stdout)

    def test_pages_on_standard_output(self):
        """The page of a file, byte by byte: its policy has checksums of its style and script. And nothing hostile in it."""
        report = self.report()
        self.write("r.json", json.dumps(report))
        run("merge", "r.json", "-q", "--html", "o.html", cwd=self.folder)
        self.assertEqual(self.read("o.html"), run("merge", "r.json", "-q", "--html", "-", cwd=self.folder).stdout)
        self.ran += 1
        greeting = {"fencepost_adapter": 1, "name": TOGETHER, "version": TOGETHER, "capabilities": ["set"]}
        self.write("adapter.py", f"import json\nprint(json.dumps({greeting!r}), flush=True)\n")
        for command in (["certify-client", "--run", "set.*", "--max-failures", "1", "--html", "-", "--", "/usr/bin/python3",
                         "adapter.py", TOGETHER.replace("\0", "")],
                        ["certify-client", "--run", "set.*", "--max-failures", "1", "--json", "-", "--", "/usr/bin/python3",
                         "adapter.py"]):
            said = run(*command, cwd=self.folder).stdout
            self.ran += 1
            self.assertTrue(said)
            self.assertEqual(set(), bad_characters(said))
            active = ("<script>alert", "<img src=x") if "--html" in command else ()
            self.assertFalse([each for each in ("##[", "##vso[", *active) if each in said])

    def test_an_unfinished_run(self):
        name = "r.json.unfinished"
        run("certify", "--endpoint", "inproc:?fault=S01", "--run", "set.nx.refuses-equal-value", "--evidence", "good.fpe",
            "--json", "r.json", "-q", "--stress", "none", cwd=self.folder)
        head, rest = evidence_file.parts((self.folder / "good.fpe").read_bytes())
        head["evidence"]["packets"] = False
        for each in ("case_digests", "requirement_digests"):
            head["evidence"][each] = dict(list(head["evidence"][each].items())[:2])
        self.each_field(name, head, [["certify", "--resume", name, "--dry-run"], ["merge", name]],
                        lambda changed: evidence_file.of_parts(changed, rest))

    def test_cases(self):
        self.each_field("f.yaml", CASES, [
            ["lint", "f.yaml"], ["list", "--scenarios", "f.yaml"], ["explain", "own.a", "--scenarios", "f.yaml"],
            ["matrix", "--scenarios", "f.yaml", "--verbose", "--markdown", "o.md", "--html", "o.html"],
            ["certify", "--endpoint", "inproc:", "--scenarios", "f.yaml", "--trace", *REPORTS],
            ["replay", "f.yaml", "--endpoint", "inproc:", "--json", "o.json", "--junit", "o.xml"]])

    def test_descriptors(self):
        self.each_field("d.yaml", DESCRIPTOR, [["certify", "--descriptor", "d.yaml", "--dry-run", "--run", "get.hit.*"],
                                               ["probe", "--descriptor", "d.yaml"]])

    def test_baselines(self):
        self.each_field("b.yaml", BASELINE, [["certify", "--endpoint", "inproc:?fault=S01", "--run", "set.nx.*", "--stress",
                                              "none", "--baseline", "b.yaml", *REPORTS]])

    def test_evidence(self):
        run("certify", "--endpoint", "inproc:?fault=S01", "--run", "set.nx.refuses-equal-value", "--evidence", "good.fpe", "-q",
            "--stress", "none", cwd=self.folder)
        head, rest = evidence_file.parts((self.folder / "good.fpe").read_bytes())
        # Two digests are as good as two thousand.
        for name in ("case_digests", "requirement_digests"):
            head["evidence"][name] = dict(list(head["evidence"][name].items())[:2])
        self.each_field("r.fpe", head, [["judge", "r.fpe", *REPORTS]], lambda changed: evidence_file.of_parts(changed, rest))

    def test_histories(self):
        lines = [json.loads(line) for line in (harness.ROOT / "tests/histories/ok-lost-write.jsonl").read_text().splitlines()]
        self.each_field("h.jsonl", lines, [["check", "h.jsonl", "--json", "o.json", "--junit", "o.xml", "--html", "o.html"]],
                        lambda documents: "".join(json.dumps(each) + "\n" for each in documents))
        for text in TRIED:
            quoted = json.dumps(text, ensure_ascii=False)
            self.write("e.log", f"INFO  jepsen.util - 0\t:invoke\t:write\t{quoted}\n"
                       f"INFO  jepsen.util - 0\t:ok\t:write\t{quoted}\n"
                       "INFO  jepsen.util - 1\t:invoke\t:read\tnil\nINFO  jepsen.util - 1\t:ok\t:read\t7\n")
            self.check("e.log", "check", "e.log", "--json", "o.json", "--junit", "o.xml", "--html", "o.html",
                       documents=("e.log",))

    def test_lists_and_workloads(self):
        for text in TRIED:
            self.write("fleet", f"{text} mqtt://127.0.0.1:1\none {text}\n")
            self.check("fleet", "certify-all", "fleet", "--out-dir", "out", documents=("fleet",))
            self.write("w.trace", f"# {text}\nset c0 0 \"{text}\" opts=0\n{text}\n")
            self.check("w.trace", "explore", "--endpoint", "inproc:", "--replay", "w.trace", documents=("w.trace",))
            self.write("b.txt", f"{text}\n")
            self.check("b.txt", "certify", "--endpoint", "inproc:", "--run", "get.hit.*", "--baseline", "b.txt",
                       documents=("b.txt",))
            self.write("a.json", json.dumps({"policies": [{"principals": {"usernames": [text]}, "stateStoreResources": [
                {"method": text, "keyType": text, "keys": [text]}]}]}))
            self.check("a.json", "serve", "--authorization", "a.json", documents=("a.json",))

    def test_captures(self):
        lines = [{"fencepost_capture_log": 1},
                 {"t": 1, "what": "request", "client": "c", "message": {"topic": "a/b", "payload": "x"}},
                 {"event": "request", "time": 2, "client": "c", "message": {"topic": "a/b", "payload": "x", "qos": 1}}]
        self.each_field("c.jsonl", lines, [["record", "--from", "c.jsonl", "--out", "o.yaml"], ["judge-clients", "c.jsonl"]],
                        lambda documents: "".join(json.dumps(each) + "\n" for each in documents))

    def test_names_of_files_and_words_of_the_command_line(self):
        for text in TRIED:
            name = text.replace("/", "_").replace("\0", "")[:80]
            for command in (["merge", name], ["check", name], ["judge", name], ["lint", name], ["replay", name],
                            ["compare", name, name], ["matrix", "--report", name],
                            ["certify", "--descriptor", name],
                            ["certify", "--baseline", name, "--endpoint", "inproc:"], ["certify", "--resume", name],
                            ["certify", "--last-failed", name], ["certify", "--run", name], ["certify", "--scenarios", name],
                            ["certify", "--endpoint", name], ["explain", name], ["record", "--from", name],
                            ["certify-all", name], ["judge-clients", name], ["verify", name], ["explore", "--replay", name],
                            ["list", name], [name],
                            ["serve", "--node-id", name], ["serve", "--bind", name], ["serve", "--record", name + "/x"],
                            ["serve", "--fault", name], ["certify", "--json", name + "/x", "--endpoint", "inproc:"],
                            ["certify-client", "--", "/nowhere/" + name], ["selftest", "--fault", name], ["--" + name]):
                self.check("words", *command)

    def test_adapters(self):
        adapter = self.folder / "adapter.py"
        greeting = {"fencepost_adapter": 1, "name": "mine", "version": "1", "capabilities": ["set", "get"]}
        answers = [{"ok": {}}, {"ok": {"value": "X"}}, {"ok": {"applied": "X"}}, {"error": {"kind": "X", "text": "X"}},
                   {"X": 1}, "X"]
        for number, (hello, answer) in enumerate(
                [(with_text(greeting, place, old, TOGETHER), {"ok": {}}) for place, old in fields(greeting)] +
                [(greeting, json.loads(json.dumps(answer).replace('"X"', json.dumps(TOGETHER)))) for answer in answers]):
            adapter.write_text("import json, sys\n"
                               f"print(json.dumps({hello!r}), flush=True)\n"
                               "for line in sys.stdin:\n"
                               f"    answer = {answer!r}\n"
                               "    sys.stderr.write(" + repr(TOGETHER + "\n") + ")\n"
                               "    if isinstance(answer, dict):\n"
                               "        answer = {'id': json.loads(line)['id'], **answer}\n"
                               "        print(json.dumps(answer), flush=True)\n"
                               "    else:\n"
                               "        print(answer.replace(chr(10), ' '), flush=True)\n"
                               "        sys.exit(1)\n", encoding="utf-8")
            self.check(f"adapter {number}", "certify-client", "--run", "set.reply.*", "--run", "get.*",
                       "--max-failures", "3", "--json", "o.json", "--junit", "o.xml", "--html", "o.html", "--",
                       "/usr/bin/python3", str(adapter), documents=("adapter.py",), timeout=HANG)

    def endpoints(self):
        """Ways of an endpoint to say something: name -> mode."""
        text, user = hostile_broker.text, hostile_broker.user
        # Texts of MQTT hold no NUL and are UTF-8.
        said = TOGETHER
        stamp = hostile_broker.timestamp

        def reply(content=None, more=b"", properties=None, topic=None):
            def make(request):
                basis = b"\x09" + text(request.correlation) + b"\x03" + text("application/octet-stream") + user("__ts", stamp())
                return request.reply(content, basis + more if properties is None else properties(request), topic)
            return hostile_broker.replies(make)

        bulk = said.encode()
        return {
            "error": reply(b"-ERR " + bulk.replace(b"\n", b" ").replace(b"\r", b" ") + b"\r\n"),
            "value": reply(b"$%d\r\n%s\r\n" % (len(bulk), bulk)),
            "no-reply": reply(bulk),
            "user-property": reply(more=user(said, said)),
            "stamp": reply(properties=lambda request: b"\x09" + text(request.correlation) + user("__ts", said)),
            "content-type": reply(properties=lambda request: b"\x09" + text(request.correlation) + b"\x03" + text(said)),
            "status": reply(more=user("__stat", said)),
            "correlation": reply(properties=lambda request: b"\x09" + text(said)),
            "response-topic": reply(more=b"\x08" + text(said)),
            "connack": hostile_broker.after_connect(
                hostile_broker.connack(0x87, b"\x1f" + text(said) + b"\x1c" + text(said)), True),
            "assigned": lambda peer: peer.serve(
                greeting=hostile_broker.connack(0, b"\x12" + text(said) + b"\x1a" + text(said) + user(said, said))),
            "disconnect": hostile_broker.on_request(lambda peer, request: peer.send(hostile_broker.packet(
                14, b"\x8b" + self.properties(b"\x1f" + text(said) + user(said, said)))) or hostile_broker.END),
            "suback": hostile_broker.on_subscribe(lambda number: hostile_broker.packet(
                9, number + self.properties(b"\x1f" + text(said)) + b"\x87")),
        }

    @staticmethod
    def properties(content):
        return hostile_broker.variable(len(content)) + content

    def test_endpoints(self):
        for name, mode in self.endpoints().items():
            with hostile_broker.Hostile(mode) as broker:
                url = f"mqtt://127.0.0.1:{broker.port}"
                commands = [["certify", "--endpoint", url, "--run", "get.hit.*", "--run", "set.nx.missing*", "--stress", "none",
                             "--trace", *REPORTS]]
                # The others wait for seconds.
                more = [] if IN_GATE else [
                    ["certify", "--driver", "paho", "--endpoint", url, "--run", "get.hit.*", "--stress", "none"],
                    ["stress", "--endpoint", url, "--duration", "300ms", "--json", "o.json", "--html", "o.html"],
                    ["explore", "--endpoint", url, "--max-examples", "5", "--duration", "2s", "--out-dir", "saved"],
                    ["probe", "--endpoint", url]]
                for command in commands + more:
                    self.check(f"endpoint {name}", *command, timeout=HANG)

    def test_the_search_finds_what_it_looks_for(self):
        for text in STRINGS[:32]:
            self.assertTrue(leaks_of_log(text) or "::" in text, ascii(text))
        self.assertTrue(leaks_of_file("o.html", b"<script>alert(1)"))
        self.assertTrue(leaks_of_file("o.sarif", b'{"a": [{"message": {"text": "x [k](https://e)"}}]}'))
        self.assertTrue(leaks_of_file("o.xml", b"<a>\x01</a>"))
        self.assertTrue(leaks_of_file("o.md", b"<img src=x>"))
        self.assertFalse(leaks_of_log("fencepost: a line\n  12 cases\tok [::1]\n"))


if __name__ == "__main__":
    harness.main()
