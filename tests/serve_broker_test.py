"""`fencepost serve --broker`: the store as a client of a broker that is not ours, here a mosquitto without the plugin.

usage: serve_broker_test.py BUILD_BIN_DIR [unittest arguments]
"""

import signal
import subprocess

from harness import FENCEPOST, HANG, NOBODY, FolderTest, main, must, run, wait_until

# What a client of a broker cannot know or do: docs/CLIENTS.md.
DESCRIPTOR = "url: {}\ncapabilities: {{store_in_broker: false}}\n"
NEEDS_BROKER = 25
# All of these, and those where the transport counts.
AREAS = ("delete", "envelope", "expiry", "fencing", "get", "interop", "lifecycle", "lock", "notify", "set")
REQUESTS = "statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke"
GET = "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n"
SET = "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$3\r\none\r\n"


class ServeBroker(FolderTest):
    def serve_at(self, url, *options):
        """`serve --broker`, once it is ready; its output goes to a file."""
        ready = self.folder / "ready"
        ready.unlink(missing_ok=True)
        self.output = self.folder / "output"
        with self.output.open("wb") as output:
            server = self.start(FENCEPOST, "serve", "--broker", url, "--ready-file", ready, *options, stdout=output,
                                stderr=subprocess.STDOUT)
        wait_until(lambda: ready.exists() and ready.read_text() or server.poll() is not None)
        self.assertIsNone(server.poll(), self.said())
        return server, ready.read_text().strip()

    def said(self):
        return self.output.read_text(encoding="utf-8")

    def wait_for(self, text):
        wait_until(lambda: text in self.said())

    def ask(self, port, payload, *arguments, topic="clients/me/r"):
        return must("mosquitto_rr", "-V", "5", "-p", port, "-q", "1", "-t", REQUESTS, "-e", topic, "-D", "publish",
                    "correlation-data", "1", "-D", "publish", "user-property", "__ts", f"{2 ** 40}:0:me", *arguments, "-m",
                    payload, "-W", "30", "-N")

    def test_it_conforms_but_for_what_a_client_of_a_broker_cannot_do(self):
        broker = self.start_mosquitto("allow_anonymous true")
        server, ready = self.serve_at(broker.url)
        self.assertEqual(broker.url, ready)
        descriptor = self.write("broker.yaml", DESCRIPTOR.format(ready))
        done = run("certify", "--descriptor", descriptor, "--json", self.folder / "report.json",
                   *(word for area in AREAS for word in ("--run", area + ".*")))
        report = self.load("report.json")
        self.assert_none_failed(done.returncode, report, done.stdout[-2000:])
        beside = [case["id"] for case in report["cases"]
                  if case["verdict"] == "skipped" and case["message"].startswith("store-in-broker")]
        self.assertEqual(NEEDS_BROKER, len(beside), beside)
        # Not declared, the same cases fail: none passes silently.
        done = run("certify", "--endpoint", ready, "--json", self.folder / "failed.json",
                   *(word for case in beside for word in ("--run", case)))
        self.assertEqual(1, done.returncode, done.stdout[-2000:])
        self.assertEqual({"failed"}, {case["verdict"] for case in self.load("failed.json")["cases"]})
        # Searches know it, too: a registration may outlast a connection.
        done = run("explore", "--duration", "1s", "--descriptor", descriptor)
        self.assertEqual(0, done.returncode, done.stdout[-2000:])
        server.send_signal(signal.SIGINT)
        self.assertEqual(0, server.wait(HANG), self.said())
        self.assertTrue(self.said().endswith("fencepost: stopped\n"), self.said())

    def test_a_fault_is_found_there_too(self):
        broker = self.start_mosquitto("allow_anonymous true")
        self.serve_at(broker.url, "--fault", "S01")
        done = run("certify", "--descriptor", self.write("broker.yaml", DESCRIPTOR.format(broker.url)), "-x", "--run", "set.*")
        self.assertEqual(1, done.returncode, done.stdout[-2000:])
        self.assertIn("SET-NX-2", done.stdout)

    def test_it_keeps_its_keys_while_the_broker_is_away(self):
        broker = self.start_mosquitto("allow_anonymous true")
        self.serve_at(broker.url, "--explain", "--control")
        self.assertEqual("+OK\r\n", self.ask(broker.port, SET))
        self.wait_for('me: SET key "one": +OK, SET-OK-1\n')
        broker.process.kill()
        broker.process.wait()
        self.wait_for("fencepost: " + broker.url + ": the broker ended the connection; connecting again\n")
        self.wait_for("cannot connect again")
        self.start(broker.process.args[0], "-c", broker.process.args[2], stderr=subprocess.DEVNULL)
        self.wait_for("fencepost: " + broker.url + ": connected again\n")
        self.assertEqual("$3\r\none\r\n", self.ask(broker.port, GET))
        state = must("mosquitto_sub", "-p", broker.port, "-t", "fencepost/control/state", "-C", "1", "-W", "30")
        self.assertTrue(state.startswith("fault none"), state)

    def test_a_second_store_does_not_start(self):
        broker = self.start_mosquitto("allow_anonymous true")
        self.serve_at(broker.url)
        second = run("serve", "--broker", broker.url)
        self.assertEqual(2, second.returncode)
        self.assertIn("another state store answers requests at this broker", second.stderr)

    def test_it_has_a_user_and_hides_nothing_from_the_store(self):
        passwords = self.password_file(store="a secret")
        broker = self.start_mosquitto("allow_anonymous false", f"password_file {passwords}")
        refused = run("serve", "--broker", broker.url)
        self.assertEqual(3, refused.returncode, refused.stderr)
        _, ready = self.serve_at(broker.url_of("store", "a%20secret"))
        self.assertEqual(broker.url.replace("//", "//store@"), ready)
        login = ("-u", "store", "-P", "a secret")
        self.assertEqual("+OK\r\n", self.ask(broker.port, SET.replace("$3\r\none", "$8\r\na secret"), *login))
        self.assertEqual("$8\r\na secret\r\n", self.ask(broker.port, GET, *login))
        self.assertNotIn("a secret", self.said())

    def test_what_it_cannot_do_is_refused(self):
        url = NOBODY
        for options, text in {("--port", "0"): "--port and --broker: expected the options of the store only",
                              ("--database", "d"): "--database and --broker: only the store in a broker",
                              ("--judge-clients",): "--judge-clients and --broker: it needs a broker that serve starts",
                              ("--null", "drops-connection"): "cannot end the connections of others"}.items():
            with self.subTest(options[0]):
                done = run("serve", "--broker", url, *options)
                self.assertEqual(2, done.returncode)
                self.assertIn(text, done.stderr)
        done = run("serve", "--broker", "inproc:")
        self.assertEqual(2, done.returncode)
        self.assertIn("--broker inproc:: expected the URL of a broker", done.stderr)
        done = run("serve", "--broker", url)
        self.assertEqual(3, done.returncode)
        self.assertIn(f"cannot serve at {url}: cannot connect to", done.stderr)


if __name__ == "__main__":
    main()
