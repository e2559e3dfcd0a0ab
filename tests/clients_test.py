"""`fencepost serve --judge-clients`: a client written with Paho, right and wrong, and mosquitto's own programs.

usage: clients_test.py BUILD_BIN_DIR [unittest arguments]
"""

import json
import os
import pathlib
import re
import signal
import sys
import xml.etree.ElementTree

from harness import FENCEPOST, HANG, FolderTest, load_schema, main, run, run_command, wait_until
from schema_checks import complaints, left_open

PYTHON = "/usr/bin/python3"  # which has Debian's Paho
CLIENT = pathlib.Path(__file__).resolve().parent / "clients_of_paho.py"
SCHEMA = load_schema("clients")
REQUESTS = "statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke"


class JudgedCommand(FolderTest):
    def judge(self, *command, options=()):
        """(result, JSON report, JUnit report) of a command whose clients are judged."""
        json_file, junit_file = self.folder / "clients.json", self.folder / "clients.xml"
        result = run("serve", "--judge-clients", "--json", json_file, "--junit", junit_file, *options, "--", *command)
        report = json.loads(json_file.read_text())
        self.assertEqual([], complaints(SCHEMA, report))
        return result, report, xml.etree.ElementTree.parse(junit_file).getroot()

    def paho(self, way, *options):
        return self.judge(PYTHON, "-B", CLIENT, way, options=options)

    def test_a_right_client_is_accused_of_nothing(self):
        for options in ([], ["--profile", "documented"], ["--clock-offset", "5s"]):
            result, report, junit = self.paho("right", *options)
            self.assertEqual(0, result.returncode, result.stdout + result.stderr)
            self.assertEqual(("conformant", 0, [], 58), (report["verdict"], report["command"]["exit_code"], report["findings"],
                                                         report["requests"]))
            self.assertEqual("0", junit.get("failures"))
            self.assertEqual(len(report["rules"]) + 1, len(junit.findall("*/testcase")))
            self.assertRegex(result.stdout, "58 requests of 1 client over 1 connection judged by [0-9]+ rules")

    def test_a_wrong_client_is_told_which_rule_it_breaks(self):
        for way, rule, *options in (("qos-0", "ENV-QOS-2"), ("no-response-topic", "ENV-RESPONSE-TOPIC-5"),
                                    ("no-timestamp", "HLC-REQUIRED-2"), ("lower-case", "CASE-VERB-1"),
                                    ("reused-correlation", "ENV-CORRELATION-3"),
                                    ("clock-not-merged", "HLC-CLIENT-2", "--clock-offset", "5s")):
            result, report, junit = self.paho(way, *options)
            self.assertEqual(1, result.returncode, result.stdout + result.stderr)
            self.assertEqual("not conformant", report["verdict"])
            self.assertEqual({rule}, {finding["rule"] for finding in report["findings"]}, way)
            self.assertIn(f'client "paho-client" breaks {rule}: ', result.stdout)
            self.assertEqual(0, report["command"]["exit_code"], "the command does not know")
            finding = report["findings"][0]
            self.assertEqual(finding["packet_bytes"], len(bytes.fromhex(finding["packet_hex"])))
            (failure,) = junit.findall("*/testcase/failure")
            self.assertTrue(failure.get("message").startswith(f'{rule}: client "paho-client": '), failure.get("message"))

    def test_a_command_that_fails_is_told_beside_the_verdict(self):
        result, report, junit = self.paho("fails")
        self.assertEqual(1, result.returncode)
        self.assertEqual(("conformant", 3), (report["verdict"], report["command"]["exit_code"]))
        self.assertIn("fails ended with exit code 3\nfencepost: clients: conformant\n", result.stdout)
        (failure,) = junit.findall("*/testcase/failure")
        self.assertIn("ended with exit code 3", failure.get("message"))
        result, report, _ = self.judge("sh", "-c", "kill -9 $$")
        self.assertEqual((1, 137, "nothing judged"), (result.returncode, report["command"]["exit_code"], report["verdict"]))

    def test_a_command_that_asks_nothing_is_no_success(self):
        result, report, _ = self.judge("true")
        self.assertEqual((5, "nothing judged"), (result.returncode, report["verdict"]))
        result = run("serve", "--judge-clients", "--", "/no/such/command")
        self.assertEqual(2, result.returncode)
        self.assertIn("cannot start /no/such/command: No such file", result.stderr)

    def test_the_command_is_told_the_address(self):
        result, _, _ = self.judge("sh", "-c", "echo $FENCEPOST_URL $FENCEPOST_HOST $FENCEPOST_PORT")
        ready = re.search(r"ready at (mqtt://(127\.0\.0\.1):(\d+))\n", result.stdout)
        self.assertIn(" ".join(ready.groups()) + "\n", result.stdout)

    def test_the_schema_leaves_nothing_open(self):
        self.assertEqual([], left_open(SCHEMA))

    def test_options_that_do_not_go_together(self):
        for options, complaint in ((["--judge-clients", "--tls", self.folder / "ca"], "that are not encrypted"),
                                   (["--judge-clients", "--control"], "the clock of the store may change"),
                                   (["--json", self.folder / "j"], "are for --judge-clients"),
                                   (["--", "true"], "is for --judge-clients")):
            result = run("serve", "--port", 0, *options)
            self.assertEqual(2, result.returncode, result.stdout)
            self.assertIn(complaint, result.stderr)


class JudgedUntilItEnds(FolderTest):
    def test_each_finding_is_told_at_once_and_a_signal_ends_it(self):
        output, ready = self.folder / "output", self.folder / "ready"
        with output.open("wb") as file:
            server = self.start(FENCEPOST, "serve", "--judge-clients", "--port", 0, "--ready-file", ready, stdout=file,
                                stderr=file)
        wait_until(lambda: ready.exists() and ready.read_text() or server.poll() is not None)
        port = ready.read_text().strip().rpartition(":")[2]
        sent = run_command("mosquitto_pub", "-V", "5", "-h", "127.0.0.1", "-p", port, "-i", "me", "-q", "0", "-t", REQUESTS,
                           "-m", "GET key")
        self.assertEqual(0, sent.returncode, sent.stderr)
        wait_until(lambda: b"RESP-ARRAY-1" in output.read_bytes() or server.poll() is not None)
        server.send_signal(signal.SIGTERM)
        self.assertEqual(1, server.wait(HANG))
        said = output.read_text(encoding="utf-8")
        for rule in ("ENV-QOS-2", "ENV-RESPONSE-TOPIC-5", "ENV-CORRELATION-2", "RESP-ARRAY-1"):
            self.assertIn(f'client "me" breaks {rule}: ', said)
        self.assertIn("fencepost: clients: not conformant\nfencepost: stopped\n", said)

    def test_mqtt_3_1_1_is_no_way_to_the_store(self):
        publish = ["mosquitto_pub", "-V", "311", "-h", "127.0.0.1", "-q", "1", "-m", "m", "-i", "old", "-t"]
        script = self.write("ask.sh", f'{" ".join(publish)} other -p $FENCEPOST_PORT\n'
                                      f'{" ".join(publish)} {REQUESTS} -p $FENCEPOST_PORT\n')
        result = run("serve", "--judge-clients", "--", "sh", script, env={**os.environ})
        self.assertEqual(1, result.returncode, result.stdout + result.stderr)
        self.assertEqual(1, result.stdout.count("breaks ENV-MQTT5-1: "))

    def test_large_packets_pass_in_both_directions(self):
        result, report, _ = JudgedCommand.judge(self, PYTHON, "-B", CLIENT, "large")
        self.assertEqual((0, []), (result.returncode, report["findings"]), result.stdout[:2000] + result.stderr)


if __name__ == "__main__":
    if not pathlib.Path(PYTHON).exists():
        sys.exit(f"{PYTHON} is missing")
    main()
