"""No password and no key ends in anything that a run prints or writes, also in case of an error.

    redaction_test.py BUILD_BIN_DIR [unittest arguments]

Each run gets every kind of report and GitHub's files; then all of it is searched for the secrets, as they are, as they
stand in a URL, and as JSON and XML would write them. Starts brokers on free loopback ports and ends only those.
"""

import html
import json
import os
import pathlib
import shlex
import urllib.parse

import evidence_file
import harness
import hostile_broker
from harness import HANG, NO_PORT, PLUGIN, SLOW, free_port, load_json, run

# Each with a core that no escaping changes, so that it is found wherever it is cut out or written differently.
PASSWORD = 'p@ss:w/örd"&%<xyzzy0815>'
ROLE_PASSWORD = "role's: pl4ugh{99}"
KEY_MATERIAL = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0waw"
REPORTS = ("json", "junit", "sarif", "badge", "html")
CORES = ["xyzzy0815", "pl4ugh", KEY_MATERIAL[4:30]]


def quoted(password):
    return urllib.parse.quote(password, safe="")


def percent(password):
    """Every character as %XX: the core cannot be seen in the URL."""
    return "".join(f"%{byte:02x}" for byte in password.encode())


def forms(secret):
    """How a secret could be written: as it is, in a URL, in JSON, in XML."""
    return {secret, quoted(secret), percent(secret), percent(secret).upper(), json.dumps(secret)[1:-1],
            html.escape(secret), html.escape(secret, quote=False)}


FORBIDDEN = set(CORES).union(*(forms(secret) for secret in (PASSWORD, ROLE_PASSWORD, KEY_MATERIAL)))


class RedactionTest(harness.FolderTest):
    def setUp(self):
        super().setUp()
        self.inputs = self.folder / "inputs"
        self.outputs = self.folder / "outputs"
        self.inputs.mkdir()
        self.outputs.mkdir()

    def start_broker(self, *lines, password=PASSWORD):
        """One that knows two users."""
        passwords = self.password_file(me=password, restricted=ROLE_PASSWORD)
        return self.start_mosquitto("allow_anonymous false", f"password_file {passwords}", *lines)

    def descriptor(self, text):
        path = self.inputs / "descriptor.yaml"
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)  # else it is warned of
        return path

    def arguments(self, *arguments):
        """The arguments of `certify` with every kind of report."""
        reports = [word for kind in REPORTS for word in (f"--{kind}", self.outputs / f"report.{kind}")]
        return ["certify", *reports, *SLOW, *arguments]

    def environment(self):
        """As on GitHub Actions."""
        return harness.environment(GITHUB_ACTIONS="true", GITHUB_OUTPUT=str(self.outputs / "output"),
                                   GITHUB_STEP_SUMMARY=str(self.outputs / "summary"))

    def run_certify(self, *arguments):
        for path in self.outputs.iterdir():
            path.unlink()
        done = run(*self.arguments(*arguments), cwd=self.outputs, env=self.environment())
        return done.returncode, done.stdout, done.stderr

    def expect_no_secret(self, code, *arguments, wrote=True):
        """Runs, checks the exit code, and searches all that came of it."""
        found, out, err = self.run_certify(*arguments)
        self.assertEqual(found, code, out[-3000:] + err[-3000:])
        # Not even as a mask: standard error may be kept in a file.
        self.search("standard error", err)
        self.search("standard output", out)
        self.search_files(wrote)
        return out + err

    def search_files(self, wrote=True):
        names = {path.name for path in self.outputs.iterdir()}
        if wrote:
            self.assertLessEqual({f"report.{kind}" for kind in REPORTS} | {"output", "summary"}, names)
        for path in self.outputs.iterdir():
            self.search(path.name, path.read_text(encoding="utf-8"))

    def search(self, where, text):
        for secret in FORBIDDEN:
            self.assertFalse(secret.lower() in text.lower(), f"{secret} is in {where}:\n{text[:2000]}")


class Endpoints(RedactionTest):
    def urls(self, port, password=PASSWORD):
        return [f"mqtt://me:{quoted(password)}@127.0.0.1:{port}", f"mqtt://me:{percent(password)}@127.0.0.1:{port}"]

    def test_a_closed_port(self):
        for url in self.urls(NO_PORT):
            said = self.expect_no_secret(3, "--endpoint", url)
            self.assertIn("no broker at mqtt://me:***@127.0.0.1:", said)
            reproduce = load_json(self.outputs / "report.json")["cases"][0]["reproduce"]
            self.assertIn("mqtt://me:***@127.0.0.1:", reproduce)

    def test_a_broker_that_refuses_the_password(self):
        port = self.start_broker(password="another").port
        for url in self.urls(port):
            self.assertIn("not allowed", self.expect_no_secret(3, "--endpoint", url))

    def test_a_broker_without_a_store(self):
        port = self.start_broker().port
        url = self.urls(port)[0]
        said = self.expect_no_secret(3, "--endpoint", url)
        self.assertIn("a broker, but no state store", said)

    def test_a_store_that_passes_and_one_that_fails(self):
        port = self.start_broker(f"plugin {PLUGIN}").port
        path = self.descriptor(json.dumps({
            "url": self.urls(port)[0], "roles": {"restricted": {"user": "restricted", "password": ROLE_PASSWORD}}}))
        # Nobody is restricted here, so the cases of restricted clients fail; the others pass.
        self.expect_no_secret(0, "--descriptor", path, "--run", "get.*", "--run", "set.nx.*",
                              *harness.WITHOUT_HASTE)
        self.expect_no_secret(1, "--descriptor", path, "--trace", "--run", "authorization.*", "--run", "set.nx.*",
                              "--profile", "documented")

    def test_roles_whose_password_is_refused(self):
        port = self.start_broker(f"plugin {PLUGIN}").port
        path = self.descriptor(json.dumps({
            "url": self.urls(port)[0], "roles": {"restricted": {"user": "x", "password": ROLE_PASSWORD}}}))
        code, out, _ = self.run_certify("--descriptor", path, "--run", "authorization.*")
        self.assertNotEqual(code, 0, out)
        self.search("standard output", out)
        self.search_files()

    def test_a_store_that_is_lost(self):
        broker = self.start_broker(f"plugin {PLUGIN}")
        process = self.start_program(*self.arguments("--endpoint", self.urls(broker.port)[0], "--run", "expiry.*"),
                                     env=harness.environment())
        process.stdout.readline()  # the preflight is over, and the cases wait for an expiry
        process.stdout.readline()
        broker.process.kill()
        out, err = process.communicate(timeout=HANG)
        self.assertEqual(process.returncode, 3, out + err)
        self.assertIn("the endpoint was lost", out)
        self.search("standard output", out)
        self.search("standard error", err)
        self.search_files(wrote=False)

    def test_a_hook_that_fails(self):
        port = self.start_broker(f"plugin {PLUGIN}").port
        (self.inputs / "words").write_text(f"{ROLE_PASSWORD}\n{quoted(PASSWORD)}\n", encoding="utf-8")
        for restart in (f"echo {shlex.quote(PASSWORD)} {shlex.quote(ROLE_PASSWORD)}; exit 1", "cat words; exit 1"):
            path = self.descriptor(json.dumps({
                "url": self.urls(port)[0], "hooks": {"restart": restart},
                "roles": {"restricted": {"user": "restricted", "password": ROLE_PASSWORD}}}))
            said = self.expect_no_secret(4, "--descriptor", path, "--run", "lifecycle.restart.*")
            self.assertIn("the hook", said)

    def test_a_password_from_the_environment(self):
        port = self.start_broker().port
        path = self.descriptor(f"url: mqtt://127.0.0.1:{port}\n"
                               "roles: {default: {user: me, password_env: FENCEPOST_TEST_SECRET}}\n")
        os.environ["FENCEPOST_TEST_SECRET"] = PASSWORD
        self.addCleanup(os.environ.pop, "FENCEPOST_TEST_SECRET")
        said = self.expect_no_secret(3, "--descriptor", path)
        self.assertIn("a broker, but no state store", said)

    def test_other_commands(self):
        port = self.start_broker(f"plugin {PLUGIN}").port
        for url in (self.urls(port)[0], self.urls(NO_PORT)[0]):
            for command in (["probe", "--endpoint", url, "--out", self.outputs / "descriptor"],
                            ["compare", url, "inproc:", "--run", "get.*", "--json", self.outputs / "diff"],
                            ["compare", url + "x", "inproc:"]):
                done = run(*command, cwd=self.outputs, env=harness.environment())
                self.assertIn(done.returncode, (0, 1, 2, 3, 4), done.stderr)
                self.search(command[0], done.stdout + done.stderr)
                self.search_files(wrote=False)

    def test_a_url_where_a_file_belongs(self):
        for command in ("lint", "merge", "replay", "explain"):
            done = run(command, f"mqtt://user:{PASSWORD}@127.0.0.1", cwd=self.outputs)
            self.assertEqual(2, done.returncode, done.stderr)
            self.assertIn("does not take a URL", done.stderr)
            self.search(command, done.stdout + done.stderr)

    def test_in_process(self):
        path = self.descriptor(json.dumps({
            "url": "inproc:?dialect=documented",
            "roles": {"restricted": {"user": "restricted", "password": ROLE_PASSWORD}}}))
        # Its roles are its own: the error must not quote the password.
        self.expect_no_secret(2, "--descriptor", path, "--profile", "deployed", wrote=False)

    def test_keys(self):
        port = self.start_broker().port
        for name in ("ca.pem", "client.pem", "client.key"):
            (self.inputs / name).write_text(
                f"-----BEGIN PRIVATE KEY-----\n{KEY_MATERIAL}\n-----END PRIVATE KEY-----\n", encoding="utf-8")
        for place in (NO_PORT, port):
            path = self.descriptor(f"url: mqtts://127.0.0.1:{place}\n"
                                   "tls: {ca: ca.pem, certificate: client.pem, key: client.key}\n")
            for mode, warned in ((0o644, True), (0o600, False)):
                (self.inputs / "client.key").chmod(mode)
                said = self.expect_no_secret(3, "--descriptor", path)
                self.assertEqual(warned, "every user of this machine may read the key" in said, said)

    def test_nothing_selected(self):
        url = self.urls(1)[0]
        self.expect_no_secret(5, "--endpoint", url, "--run", "none")

    def test_an_endpoint_that_says_it_back(self):
        """In every text that a broker and a store have: reports, evidence and histories have stars there."""
        said = f"you said {PASSWORD}, and {ROLE_PASSWORD}"
        text, user = hostile_broker.text, hostile_broker.user
        bulk = said.encode()

        def reply(content=None, more=b""):
            return hostile_broker.replies(lambda request: request.reply(
                content, b"\x09" + text(request.correlation) + b"\x03" + text("application/octet-stream") +
                user("__ts", hostile_broker.timestamp()) + more))

        reason = b"\x1f" + text(said) + user(said, said)
        modes = {
            "error": reply(b"-ERR " + bulk + b"\r\n"), "value": reply(b"$%d\r\n%s\r\n" % (len(bulk), bulk)),
            "none": reply(bulk),
            "property": reply(more=user(said, said)), "content-type": reply(more=b"\x08" + text(said)),
            "disconnect": hostile_broker.on_request(lambda peer, request: peer.send(hostile_broker.packet(
                14, b"\x8b" + hostile_broker.variable(len(reason)) + reason)) or hostile_broker.END),
            "connack": hostile_broker.after_connect(hostile_broker.connack(0x87, reason), True)}
        for name, mode in modes.items():
            with hostile_broker.Hostile(mode) as broker:
                path = self.descriptor(json.dumps({
                    "url": self.urls(broker.port)[0],
                    "roles": {"restricted": {"user": "restricted", "password": ROLE_PASSWORD}}}))
                commands = [self.arguments("--descriptor", path, "--run", "get.hit.*", "--run", "set.nx.missing*", "--trace",
                                           "--stress", "none", "--evidence", self.outputs / "evidence")]
                if name in ("value", "connack") or not harness.IN_GATE:
                    commands += [["stress", "--descriptor", path, "--duration", "300ms", "--no-shrink",
                                  "--json", self.outputs / "s.json"],
                                 ["explore", "--descriptor", path, "--max-examples", "3", "--out-dir", self.outputs / "saved"],
                                 ["certify", "--driver", "paho", "--descriptor", path, "--run", "get.hit.*"]]
                for command in commands:
                    done = run(*command, cwd=self.outputs, env=self.environment())
                    self.assertIn(done.returncode, (1, 3, 4), done.stdout + done.stderr)
                    self.search(f"{name}: {command[0]}", done.stdout + done.stderr)
                    for written in self.outputs.rglob("*"):
                        content = written.read_bytes() if written.is_file() else b""
                        if content.startswith(b"fencepost evidence 1\n"):
                            content += b"".join(evidence_file.frames(content))
                        self.search(f"{name}: {written.name}", content.decode("utf-8", "replace"))

    def test_the_list_of_processes(self):
        """No command line has it, of the program, of what certify-all starts, and of a broker."""
        with hostile_broker.Hostile(hostile_broker.MODES["tcp.silent"]) as broker:
            url = self.urls(broker.port)[1]
            (self.inputs / "fleet").write_text(f"one {url}\n", encoding="utf-8")
            for command in (["certify", "--endpoint", url], [f"--endpoint={url}"],
                            ["certify-all", self.inputs / "fleet", "--out-dir", self.outputs / "fleet"]):
                command = command if command[0].startswith("certify") else ["certify", *command]
                count = len(broker.peers)
                process = self.start_program(*command, env=harness.environment())
                harness.wait_until(lambda: len(broker.peers) > count)  # it, or its child, has connected
                for pid in [process.pid, *harness.children_of(process.pid)]:
                    with open(f"/proc/{pid}/cmdline", encoding="utf-8") as words:
                        self.search(f"the command line of {command[0]}", words.read())
                process.terminate()
                process.communicate(timeout=HANG)

    def test_a_password_in_a_variable(self):
        port = self.start_broker(f"plugin {PLUGIN}").port
        done = run(*self.arguments("--endpoint", f"mqtt://me@127.0.0.1:{port}", "--run", "get.hit.*"), cwd=self.outputs,
                   env={**self.environment(), "FENCEPOST_PASSWORD": PASSWORD})
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.search("the output", done.stdout + done.stderr)
        self.search_files()

    def test_children_get_no_secret_of_the_environment(self):
        """A hook and a broker; of adapters certify_client_test.py says it."""
        secrets = {"CI_TOKEN": "t0ken-of-a-ci", "FENCEPOST_PASSWORD": PASSWORD}
        port = self.start_broker(f"plugin {PLUGIN}").port
        seen = self.inputs / "seen"
        path = self.descriptor(json.dumps({
            "url": f"mqtt://me@127.0.0.1:{port}", "hooks": {"restart": f"env > {shlex.quote(str(seen))}; exit 1",
                                                            "environment": ["WANTED"]}}))
        run(*self.arguments("--descriptor", path, "--run", "lifecycle.restart.*"), cwd=self.outputs,
            env={**self.environment(), **secrets, "WANTED": "yes"})
        variables = seen.read_text(encoding="utf-8").splitlines()
        self.assertIn("WANTED=yes", variables)
        self.assertTrue(any(line.startswith("PATH=") for line in variables))
        self.assertFalse([line for line in variables if line.split("=")[0] in secrets], variables)
        process = self.start_program("serve", "--port", free_port(), env={**harness.environment(), **secrets})
        process.stdout.readline()
        for pid in harness.children_of(process.pid):
            with open(f"/proc/{pid}/environ", encoding="utf-8") as words:
                self.assertNotIn("t0ken-of-a-ci", words.read())

    def test_the_broker_behind_the_judge_listens_nowhere(self):
        """Anyone on the machine could else go around its TLS."""
        port = free_port()
        process = self.start_program("serve", "--judge-clients", "--port", port, "--tls", self.inputs / "ca.pem",
                                     env=harness.environment())
        process.stdout.readline()
        children = harness.children_of(process.pid)
        self.assertEqual(1, len(children))
        inodes = {os.readlink(path) for path in pathlib.Path(f"/proc/{children[0]}/fd").iterdir()}
        listening = [line.split() for name in ("tcp", "tcp6")
                     for line in pathlib.Path(f"/proc/{children[0]}/net/{name}").read_text(encoding="ascii").splitlines()[1:]]
        self.assertFalse([words[1] for words in listening if words[3] == "0A" and f"socket:[{words[9]}]" in inodes])

    def test_the_search_finds_what_it_looks_for(self):
        for form in (PASSWORD, quoted(PASSWORD), json.dumps(ROLE_PASSWORD), html.escape(PASSWORD)):
            with self.assertRaises(AssertionError):
                self.search("a text", f"a{form}b")


class Mistakes(RedactionTest):
    ONE_CASE = """
area: sample
cases:
  - {id: x, title: T, requirements: [SET-NX-2], steps: [{get: k, expect: missing}]}
"""

    def arguments(self, *arguments):
        """With a single case: the built-in ones take a moment to read."""
        path = self.inputs / "one.yaml"
        path.write_text(self.ONE_CASE, encoding="utf-8")
        few = [] if "--scenarios" in arguments else ["--scenarios", path]
        return super().arguments(*few, *arguments)

    def test_malformed_descriptors(self):
        word = "xyzzy0815"
        role = "roles:\n  restricted: "
        pem = f"-----BEGIN PRIVATE KEY-----\n    {KEY_MATERIAL}\n    -----END PRIVATE KEY-----\n"
        # What stands there, and the line and column of the error.
        table = [
            (f"mqtt://me:{word}@127.0.0.1\n", "1:1"),
            (f"url: mqtt://me:{word}@127.0.0.1:99999\n", ""),
            (f"url: mqtt://me:{word}\n", ""),
            (f"url: http://me:{word}@h\n", ""),
            (f"url: [mqtt://me:{word}@h]\n", "1:6"),
            (f"url: &a mqtt://me:{word}@h\n", "1:6"),
            (f"url: !{word} mqtt://h\n", "1:"),
            (f"mqtt://me:{word}@h: x\n", "1:1"),
            (f"url: mqtt://h\nurl mqtt://me:{word}@h\n", "2:1"),
            (f"url: mqtt://h\nroles: {word}\n", "2:8"),
            (f"url: mqtt://h\n{role}{word}\n", "3:15"),
            (f"url: mqtt://h\n{role}{{user: me, {word}}}\n", "3:26"),
            (f"url: mqtt://h\n{role}{{user: me, password {word}}}\n", "3:26"),
            (f"url: mqtt://h\n{role}{{user: me, password={word}}}\n", "3:26"),
            (f"url: mqtt://h\n{role}{{user: me, passwort: {word}}}\n", "3:26"),
            (f"url: mqtt://h\n{role}{{user: me, password: !{word}}}\n", "3:"),
            (f"url: mqtt://h\n{role}{{user: me, password: '{word}}}\n", ""),
            (f"url: mqtt://h\n{role}{{user: me, password: *{word}}}\n", "3:"),
            (f"url: mqtt://h\n{role}{{user: me, password: &{word}}}\n", "3:"),
            (f"url: mqtt://h\n{role}{{user: me, password: @{word}}}\n", ""),
            (f"url: mqtt://h\n{role}{{user: me, password: %{word}}}\n", ""),
            (f"url: mqtt://h\n{role}{{user: me, password: \"\\{word}\"}}\n", ""),
            (f"url: mqtt://h\n{role}{{user: me, password: [{word}]}}\n", "3:36"),
            (f"url: mqtt://h\n{role}{{user: me, password: {{{word}: 1}}}}\n", "3:36"),
            (f"url: mqtt://h\n{role}{{user: me, password: a, password: {word}}}\n", "3:39"),
            (f"url: mqtt://h\n{role}{{user: me, password_env: {word}}}\n", "3:40"),
            ("url: mqtts://h\ntls: " + json.dumps(pem) + "\n", "2:6"),
            (f"url: mqtts://h\ntls:\n  key: |\n    {pem}", "3:8"),
            (f"url: mqtts://h\ntls: {{key: {KEY_MATERIAL}}}\n", "2:12"),
            (f"url: mqtts://h\ntls: {{ca: {KEY_MATERIAL}, certificate: {KEY_MATERIAL}}}\n", "2:11"),
            (f"url: mqtts://h\ntls: {{{KEY_MATERIAL}}}\n", "2:7"),
        ]
        for text, place in table:
            with self.subTest(text=text):
                path = self.descriptor(text)
                code, out, err = self.run_certify("--descriptor", path)
                self.search("standard error", err)
                self.search("standard output", out)
                self.search_files(wrote=False)
                self.assertEqual(code, 2, out + err)
                self.assertIn(f"descriptor.yaml:{place}" if place else "fencepost: ", err)

    def test_urls_that_are_none_or_stand_elsewhere(self):
        url = f"mqtt://me:{quoted(PASSWORD)}@127.0.0.1:1"
        for arguments in (["--endpoint", url + "x"],
                          ["--endpoint", url + "/topic"],
                          ["--endpoint", f"mqtt://me:{quoted(PASSWORD)}"],
                          ["--endpoint", f"mqtt:me:{quoted(PASSWORD)}"],
                          ["--endpoint", f"mqtt:/me:{quoted(PASSWORD)}@h"],
                          ["--endpoint", f"me:{quoted(PASSWORD)}@h:1883"],
                          ["--endpoint", f"ws://me:{quoted(PASSWORD)}@h"],
                          ["--endpoint", f"http://me:{quoted(PASSWORD)}@h"],
                          ["--endpoint", f"mqtt://me:{PASSWORD}%@h"],
                          ["--endpoint", f"mqtt://me:%{quoted(PASSWORD)}%zz@h"],
                          ["--endpoint", f"mqtt://h?password={quoted(PASSWORD)}"],
                          ["--endpoint", f"inproc:?password={quoted(PASSWORD)}"],
                          ["--endpiont", url],
                          ["--endpiont=" + url],
                          ["--seed", url],
                          ["--seed=" + url],
                          ["--descriptor", url],
                          ["--profile", url],
                          ["--shard", url],
                          ["--json", url],
                          ["--scenarios", url],
                          ["--run", url],
                          ["--timeout-scale", url],
                          ["--endpoint", url, "--endpoint", url],
                          [url]):
            with self.subTest(arguments=arguments):
                self.expect_no_secret(2, *arguments, wrote=False)


if __name__ == "__main__":
    harness.main()
