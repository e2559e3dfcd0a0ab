"""`fencepost serve` for people who write clients: address, TLS, passwords, --explain, --control.

usage: serve_test.py BUILD_BIN_DIR [unittest arguments]
"""

import os
import pathlib
import resource
import signal
import socket
import subprocess
import time

from harness import FENCEPOST, HANG, WITHOUT_HASTE, FolderTest, children_of, main, must, run, run_command, wait_until

REQUESTS = "statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke"


def payload(*arguments):
    """The bytes of a request, which mosquitto's clients take as text."""
    return f"*{len(arguments)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in arguments)


class ServeTest(FolderTest):
    login = ()
    restore_signals = True

    def serve(self, *options, port=0):
        """The URL of the broker, whose output goes to a file."""
        ready = self.folder / "ready"
        ready.unlink(missing_ok=True)
        self.output = self.folder / "output"
        with self.output.open("wb") as output:
            self.server = self.start(FENCEPOST, "serve", "--port", port, "--ready-file", ready, *options, stdout=output,
                                     stderr=output, restore_signals=self.restore_signals)
        wait_until(lambda: ready.exists() and ready.read_text() or self.server.poll() is not None)
        self.assertIsNone(self.server.poll(), self.said())
        url = ready.read_text().strip()
        self.port = int(url.rpartition(":")[2])
        return url

    def said(self):
        return self.output.read_text(encoding="utf-8")

    def wait_for(self, text):
        wait_until(lambda: text in self.said() or self.server.poll() is not None)
        self.assertIn(text, self.said())

    def stop_server(self):
        self.server.send_signal(signal.SIGTERM)
        code = self.server.wait(HANG)
        # It is there as long as the store is.
        self.assertFalse((self.folder / "ready").exists())
        return code

    def client(self, program, name, *arguments):
        return run_command(program, "-V", "5", "-h", "127.0.0.1", "-p", self.port, "-i", name, *self.login, *arguments)

    def ask(self, name, *arguments, timestamp=True):
        """The reply to a request, as text."""
        stamp = ["-D", "publish", "user-property", "__ts", f"{2 ** 40}:0:{name}"] if timestamp else []
        done = self.client("mosquitto_rr", name, "-q", "1", "-t", REQUESTS, "-e", f"clients/{name}/r", "-D", "publish",
                           "correlation-data", "1", *stamp, "-m", payload(*arguments), "-W", "30", "-N")
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def control(self, text):
        done = self.client("mosquitto_rr", "control", "-q", "1", "-t", "fencepost/control", "-e", "control/r", "-m", text,
                           "-W", "30")
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout.strip()


class Explain(ServeTest):
    def test_a_line_for_each_request_also_for_those_that_are_ignored(self):
        self.serve("--explain")
        self.ask("me", "SET", "my-key", "one")
        self.ask("me", "SET", "my-key", "two", "NX")
        self.ask("me", "SET", "my-key", "two", timestamp=False)
        self.client("mosquitto_pub", "me", "-q", "0", "-t", REQUESTS, "-m", payload("GET", "my-key"))
        self.client("mosquitto_pub", "me", "-q", "1", "-t", REQUESTS, "-m", payload("GET", "my-key"))
        self.client("mosquitto_pub", "me", "-q", "1", "-t", "statestore/v1", "-m", payload("GET", "my-key"))
        self.client("mosquitto_pub", "me", "-q", "1", "-t", REQUESTS, "-D", "publish", "response-topic",
                    "clients/" + REQUESTS.removesuffix("/command/invoke"), "-m", payload("GET", "my-key"))
        self.wait_for("ENV-RESPONSE-TOPIC-4")
        lines = self.said().splitlines()[1:]
        for line, expected in zip(lines, [
                r'me: SET my-key "one": \+OK, SET-OK-1$',
                r'me: SET my-key "two" NX: :-1 \(not applied\), SET-NX-2$',
                'me: SET my-key "two": -ERR missing timestamp, HLC-REQUIRED-1: A SET without the user property',
                "me: GET my-key at QoS 0: ignored, ENV-QOS-1: A request must be of QoS 1",
                "me: GET my-key: ignored, without a response topic .*, ENV-RESPONSE-TOPIC-5: ",
                "me: a message to statestore/v1, which is not the request topic: ignored, ENV-TOPIC-2: ",
                "me: GET my-key: disconnected for its response topic .*, ENV-RESPONSE-TOPIC-4: "], strict=True):
            self.assertRegex(line, "^" + expected)
        self.assertEqual(0, self.stop_server())

    def test_notifications_are_told_and_a_silent_store_too(self):
        self.serve("--explain", "--null", "silent")
        self.client("mosquitto_pub", "me", "-q", "1", "-t", REQUESTS, "-D", "publish", "response-topic", "clients/me/r", "-D",
                    "publish", "correlation-data", "1", "-m", payload("GET", "k"))
        self.stop_server()
        self.assertIn("me: GET k: no response within 5 s, but a conforming store sends one\n", self.said())

        self.serve("--explain")
        self.assertEqual(0, run("certify", "-q", "--endpoint", f"mqtt://127.0.0.1:{self.port}", "--run", "notify.content.*",
                                "--run", "notify.deliver.*", *WITHOUT_HASTE).returncode)
        self.wait_for("NTF-SEND-2")
        self.assertRegex(self.said(), r'fp-\S+: receives NOTIFY SET fencepost/\S+ "[^"]*", NTF-SEND-1\n')
        self.assertRegex(self.said(), r"fp-\S+: receives NOTIFY DELETE fencepost/\S+, NTF-SEND-2\n")
        self.assertRegex(self.said(), r"fp-\S+: its connection ended, and with it \d+ registrations?, LIFE-DISC")

    def test_it_goes_together_with_a_recording(self):
        self.serve("--explain", "--record", self.folder / "made.yaml")
        self.ask("me", "SET", "k", "one", timestamp=False)
        self.wait_for("HLC-REQUIRED-1")
        self.assertEqual(0, self.stop_server(), self.said())
        self.assertEqual(0, run("certify", "-q", "--endpoint", "inproc:", "--scenarios", self.folder / "made.yaml").returncode)
        self.assertFalse((self.folder / "made.yaml.log").exists())


class Control(ServeTest):
    def test_a_fault_is_switched_while_the_keys_stay(self):
        self.serve("--control")
        self.ask("me", "SET", "k", "one")
        self.assertEqual(":-1", self.ask("me", "SET", "k", "two", "NX").strip())
        state = "response_delay_ms 0, response_jitter_ms 0, clock_offset_ms 0"
        self.assertEqual(f"fault S01, {state}", self.control("fault nx-overwrites"))
        self.assertEqual("+OK", self.ask("me", "SET", "k", "two", "NX").strip())
        self.assertEqual(f"fault none, {state}", self.control("fault none"))
        self.assertEqual("$3\r\ntwo\r\n", self.ask("me", "GET", "k"))
        self.wait_for(f"fencepost: control by control: fault S01, {state}\n")

    def test_what_is_wrong_is_said_and_changes_nothing(self):
        self.serve("--control", "--fault", "D02")
        self.assertRegex(self.control("fault nope"), '^refused: option fault is "nope"; expected one of `fencepost list')
        self.assertRegex(self.control("quota 3"), '^refused: "quota 3" is not a control message; expected state, or one of')
        self.assertRegex(self.control("response_delay_ms 1h"), "^refused: .*expected milliseconds from 0 to 60000")
        self.assertRegex(self.control("state"), "^fault D02, response_delay_ms 0,")
        retained = self.client("mosquitto_sub", "sub", "-t", "fencepost/control/state", "-C", "1", "-W", "30")
        self.assertRegex(retained.stdout, "^fault D02, ")

    def test_the_store_becomes_slow_and_fast_again(self):
        self.serve("--control")
        self.assertIn("response_delay_ms 300", self.control("response_delay_ms 300"))
        self.assertEqual("$-1", self.ask("me", "GET", "k").strip())
        self.assertIn("response_delay_ms 0", self.control("response_delay_ms 0"))
        self.assertEqual("$-1", self.ask("me", "GET", "k").strip())

    def test_nobody_controls_a_store_that_does_not_say_so(self):
        self.serve()
        done = self.client("mosquitto_sub", "sub", "-t", "fencepost/#", "-W", "1")
        self.assertEqual("", done.stdout)
        self.client("mosquitto_pub", "me", "-q", "1", "-t", "fencepost/control", "-m", "fault nx-overwrites")
        self.ask("me", "SET", "k", "one")
        self.assertEqual(":-1", self.ask("me", "SET", "k", "two", "NX").strip())
        self.assertIn("only the reference store", run("serve", "--control", "--variant", "7").stderr)


class Database(ServeTest):
    restore_signals = False  # Python ignores SIGXFSZ: to a broker that inherits that, a full disk is an error

    def file(self):
        (self.folder / "a folder").mkdir(exist_ok=True)
        return self.folder / "a folder" / "a store.db"

    def broker(self):
        broker, = children_of(self.server.pid)
        return broker

    def kill(self):
        """Kills the broker, whose end `serve` then reports."""
        os.kill(self.broker(), signal.SIGKILL)
        self.assertEqual(3, self.server.wait(HANG))

    def ask_with_token(self, *arguments):
        done = self.client("mosquitto_rr", "me", "-q", "1", "-t", REQUESTS, "-e", "clients/me/r", "-D", "publish",
                           "correlation-data", "1", "-D", "publish", "user-property", "__ts", "0:0:me", "-D", "publish",
                           "user-property", "__ft", "7:0:me", "-m", payload(*arguments), "-W", "30", "-N", "-F", "%P %p")
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def test_what_was_answered_outlives_a_broker_that_is_killed(self):
        self.serve("--database", self.file())
        self.ask("me", "SET", "key", "one")
        self.ask("me", "SET", "key", "two")
        self.ask("me", "SET", "short", "x", "PX", "2000")
        written = time.monotonic()
        self.ask("me", "SET", "long", "x", "PX", "600000")
        locked = self.ask_with_token("SET", "lock", "mine")
        self.ask("me", "SET", "gone", "x")
        self.assertEqual(":1", self.ask("me", "DEL", "gone").strip())
        self.ask("watcher", "KEYNOTIFY", "key")
        self.kill()
        self.assertIn("the broker ended unexpectedly", self.said())

        self.serve("--database", self.file(), "--clock-offset", "-10m")
        self.assertIn("two", self.ask("me", "GET", "key"))
        self.assertIn("x", self.ask("me", "GET", "long"))
        self.assertEqual("$-1", self.ask("me", "GET", "gone").strip())
        self.assertIn("-ERR", self.ask("me", "SET", "lock", "stolen"))
        # The store's clock is ten minutes behind what it was, and its versions are not.
        version = lambda reply: [int(part) for part in reply.partition("__ts:")[2].split(":")[:2]]
        self.assertLess(version(locked), version(self.ask_with_token("SET", "lock", "still mine")))
        wait_until(lambda: self.ask("me", "GET", "short").strip() == "$-1")
        self.assertLess(time.monotonic() - written, 2 + HANG)
        self.assertEqual(0, self.stop_server())
        self.assertEqual(["a store.db"], os.listdir(self.file().parent))

    def test_a_full_disk_ends_the_store_without_a_reply(self):
        self.serve("--database", self.file())
        self.ask("me", "SET", "key", "one")
        broker = self.broker()
        resource.prlimit(broker, resource.RLIMIT_FSIZE, (100_000, 100_000))
        done = self.client("mosquitto_rr", "me", "-q", "1", "-t", REQUESTS, "-e", "clients/me/r", "-D", "publish",
                           "correlation-data", "1", "-D", "publish", "user-property", "__ts", "0:0:me", "-m",
                           payload("SET", "key", "two" * 40_000), "-W", "30")
        self.assertEqual("", done.stdout)
        self.assertEqual(3, self.server.wait(HANG))
        self.assertRegex(self.said(), "the broker ended unexpectedly: database .*a store.db: a change cannot be written: ")
        self.serve("--database", self.file())
        self.assertIn("one", self.ask("me", "GET", "key"))

    def test_what_it_cannot_keep_is_refused(self):
        self.serve("--database", self.file())
        foreign = self.write("foreign", "dear diary")
        for arguments, said in (
                (["--database", self.file()], "another process uses it"),
                (["--database", foreign], "expected a database that fencepost has made, or no file, found other content"),
                (["--database", "/proc/x.db"], "database /proc/x.db: cannot be"),
                (["--database", self.folder / "new", "--variant", "7"], "option database cannot be combined with"),
                (["--database", self.folder / "new", "--control"], "option database cannot be combined with"),
                (["--database", self.folder / "new", "--null", "echo"], "option database cannot be combined with fault Z02: ")):
            result = run("serve", "--port", 0, *arguments)
            self.assertEqual(2, result.returncode, f"{arguments} {result.stdout}")
            self.assertIn(said, result.stderr)
        self.assertEqual("dear diary", foreign.read_text(encoding="utf-8"))
        result = run("certify", "--endpoint", f"embedded?database={self.file()}", "--run", "get.*")
        self.assertEqual(2, result.returncode, result.stdout)
        self.assertIn("another process uses it", result.stderr)
        result = run("certify", "--endpoint", "inproc:?database=x")
        self.assertIn('no option "database"', result.stderr)

    def test_an_endpoint_and_a_fault_with_a_database(self):
        endpoint = f"embedded?database={self.file()}&fault=S01"
        result = run("certify", "--endpoint", endpoint, "--run", "set.nx.*", *WITHOUT_HASTE, "--json",
                     self.folder / "r.json")
        self.assertEqual(1, result.returncode, result.stderr)
        result = run("certify", "--endpoint", endpoint.removesuffix("&fault=S01"), "--run", "set.nx.*", *WITHOUT_HASTE)
        self.assertEqual(0, result.returncode, result.stdout)

    def test_a_recording_knows_that_the_store_was_not_empty(self):
        self.serve("--database", self.file())
        self.ask("me", "SET", "key", "one")
        self.stop_server()
        self.serve("--database", self.file(), "--record", self.folder / "session.yaml")
        self.ask("me", "GET", "key")
        self.assertEqual(0, self.stop_server(), self.said())


class Access(ServeTest):
    def test_passwords_come_from_files_and_are_shown_nowhere(self):
        self.write("one", "xyzzy-49\n")
        self.write("two", "plugh 50")
        self.serve("--user", "me", "--password-file", self.folder / "one", "--user", "sensor", "--password-file",
                   self.folder / "two", "--explain")
        self.assertIn("fencepost: users: me, sensor\n", self.said())
        for login, welcome in ((("-u", "me", "-P", "xyzzy-49"), True), (("-u", "sensor", "-P", "plugh 50"), True),
                               (("-u", "me", "-P", "plugh 50"), False), ((), False)):
            self.login = login
            done = self.client("mosquitto_pub", "a", "-q", "1", "-t", "t", "-m", "m")
            self.assertEqual(welcome, done.returncode == 0, done.stderr)
            self.assertEqual(welcome, "Not authorized" not in done.stderr, done.stderr)
        for pid in [self.server.pid, *children_of(self.server.pid)]:
            for name in ("cmdline", "environ"):
                shown = pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
                self.assertFalse(b"xyzzy-49" in shown or b"plugh 50" in shown)
        self.stop_server()
        self.assertNotRegex(self.said(), "xyzzy|plugh")

    def test_a_throw_away_certificate(self):
        url = self.serve("--tls", self.folder / "ca.pem", "--tls-host", "store.example")
        self.assertRegex(url, r"^mqtts://127\.0\.0\.1:\d+$")
        self.assertRegex(self.said(), r"the certificate is for localhost, 127\.0\.0\.1, ::1, .*store\.example; "
                                      "clients must trust the CA")
        for host in ("localhost", "127.0.0.1"):
            descriptor = self.write("endpoint.yaml", f"url: mqtts://{host}:{self.port}\ntls: {{ca: ca.pem}}\n")
            done = run("certify", "-q", "--descriptor", descriptor, "--run", "get.*")
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        shown = must("openssl", "s_client", "-connect", f"127.0.0.1:{self.port}", "-CAfile", self.folder / "ca.pem",
                     "-verify_hostname", "store.example", "-verify_return_error", stdin=subprocess.DEVNULL)
        self.assertIn("Verify return code: 0 (ok)", shown)
        # Nobody connects without TLS, here or beside it.
        self.assertNotEqual(0, self.client("mosquitto_pub", "a", "-t", "t", "-m", "m").returncode)
        owned = [line for line in must("ss", "-Hltnp").splitlines() if f"pid={children_of(self.server.pid)[0]}," in line]
        self.assertEqual(1, len(owned), owned)

    def test_a_certificate_of_ones_own_and_mutual_tls(self):
        must("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
             "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", "my.key", "-out", "my.pem", cwd=self.folder)
        self.serve("--certificate", self.folder / "my.pem", "--key", self.folder / "my.key", "--client-ca",
                   self.folder / "my.pem")
        url = f"url: mqtts://localhost:{self.port}\n"
        descriptor = self.write("endpoint.yaml", url + "tls: {ca: my.pem, certificate: my.pem, key: my.key}\n")
        done = run("certify", "-q", "--descriptor", descriptor, "--run", "get.*")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.write("endpoint.yaml", url + "tls: {ca: my.pem}\n")
        self.assertEqual(3, run("certify", "-q", "--descriptor", descriptor, "--run", "get.*").returncode)

    def test_who_can_reach_it_is_said(self):
        self.assertRegex(self.serve("--bind", "0.0.0.0"), r"^mqtt://127\.0\.0\.1:\d+$")
        self.assertIn("OPEN TO OTHERS: every host that reaches any address of this machine may use this store, "
                      "without a password", self.said())
        self.stop_server()
        # The port of 127.0.0.1 is held here: a store that wanted that address too, or all, could not start.
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            self.serve("--bind", "127.0.0.2", port=held.getsockname()[1])
            self.assertNotIn("OPEN", self.said())
            with socket.create_connection(("127.0.0.2", self.port)):
                pass

    def test_usage(self):
        here = self.write("empty", "")
        for arguments, said in (
                (["--bind", "nowhere"], "--bind nowhere: it is not an IP address; expected an IP address of this machine"),
                (["--bind", "192.0.2.1"], "--bind 192.0.2.1: Cannot assign requested address; expected"),
                (["--user", "me"], "--user is given 1 time and --password-file 0 times; expected one file for each user"),
                (["--user", "me", "--password-file", "/no/such"], "--password-file: cannot read /no/such"),
                (["--user", "me", "--password-file", here], "is empty; expected a password"),
                (["--user", "a:b", "--password-file", self.write("pw", "x\n")], "a user name must not be empty"),
                (["--client-ca", here], "--client-ca needs TLS: add --tls FILE, or --certificate and --key"),
                (["--certificate", here, "--key", here], f"cannot use the certificate {here}: "),
                (["--tls", "/no/such/folder/ca.pem"], "/no/such/folder/ca.pem"),
                (["--certificate", here], "--certificate requires --key"),
                (["--tls", self.folder / "ca.pem", "--tls-host", "a,b c"], "cannot make a certificate for localhost,")):
            result = run("serve", "--port", 0, *arguments)
            self.assertEqual(2, result.returncode, f"{arguments} {result.stdout}")
            self.assertIn(said, result.stderr)


if __name__ == "__main__":
    main()
