"""`fencepost serve --judge-clients`: a client written with Paho, right and wrong, and mosquitto's own programs.

usage: clients_test.py BUILD_BIN_DIR [unittest arguments]
"""

import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import xml.etree.ElementTree

from harness import (FENCEPOST, HANG, FolderTest, junit_count, load_schema, main, run, run_command, tcp_frame, wait_until,
                     write_pcap)
from schema_checks import complaints, left_open

PYTHON = "/usr/bin/python3"  # which has Debian's Paho
CLIENT = pathlib.Path(__file__).resolve().parent / "clients_of_paho.py"
RAW = CLIENT.with_name("clients_raw.py")
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
        for options in ([], ["--dialect", "documented"], ["--clock-offset", "5s"]):
            result, report, junit = self.paho("right", *options)
            self.assertEqual(0, result.returncode, result.stdout + result.stderr)
            self.assertEqual(("conformant", 0, [], 58), (report["verdict"], report["command"]["exit_code"], report["findings"],
                                                         report["requests"]))
            self.assertEqual(0, junit_count(junit, "failures"))
            self.assertEqual(len(report["rules"]) + 1, len(junit.findall("*/testcase")))
            self.assertRegex(result.stdout, "58 requests of 1 client over 1 connection, judged by [0-9]+ rules")

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

    def raw(self, way, *options):
        """(what it printed, rules that are broken) of a client of bytes."""
        result, report, _ = self.judge(sys.executable, "-B", RAW, *way.split(), options=options)
        self.assertEqual(0, report["command"]["exit_code"], result.stdout + result.stderr)
        return result.stdout, sorted({finding["rule"] for finding in report["findings"]})

    def test_the_limits_of_the_broker_are_told_and_judged(self):
        output, _ = self.raw("limits", "--receive-maximum", "2", "--maximum-packet-size", "1000")
        connack = re.search("connack ([0-9a-f]+)", output)[1]
        self.assertIn("210002", connack)
        self.assertIn("27000003e8", connack)
        limit = ["--receive-maximum", "2", "--puback-delay", "100ms"]
        self.assertEqual(["MQTT-3.3.4-7"], self.raw("at-once 3", *limit)[1])
        self.assertEqual([], self.raw("at-once 2", *limit)[1])
        self.assertEqual([], self.raw("at-once 3", "--puback-delay", "100ms")[1])

    def test_a_connection_that_ends_in_the_place_of_a_puback(self):
        drop = ["--drop-at-puback", "2"]
        self.assertEqual([], self.raw("again", *drop)[1])
        self.assertEqual(["MQTT-3.3.1-1"], self.raw("again-without-dup", *drop)[1])

    def test_what_was_encrypted_is_judged(self):
        ca, password = self.folder / "ca.pem", self.write("password", "a secret\n")
        ask = ('mosquitto_rr -W 300 -V 5 -h "$FENCEPOST_HOST" -p "$FENCEPOST_PORT" --cafile "$FENCEPOST_CA_FILE" -u me '
               f'-P "a secret" -i me -q 1 -t {REQUESTS} -D publish correlation-data 1 -m "$GET" -e ')
        get = "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n"
        options = ["--tls", ca, "--user", "me", "--password-file", password]
        topic = "clients/me/services/statestore/_any_/command/invoke/response"
        script = f"export GET='{get}'; case $FENCEPOST_URL in mqtts:*) {ask}{topic};; esac"
        result, report, _ = self.judge("sh", "-c", script, options=options)
        self.assertEqual(0, result.returncode, result.stdout + result.stderr)
        self.assertEqual((1, []), (report["requests"], report["findings"]))
        # No store answers that one, and its time ends.
        result, report, _ = self.judge("sh", "-c", script.replace("-q 1", "-q 0").replace("-W 300", "-W 20"), options=options)
        self.assertEqual((1, ["ENV-QOS-2"]), (result.returncode, [finding["rule"] for finding in report["findings"]]))
        # A client that does not trust the certificate is reported.
        stranger = run("serve", "--port", 0, "--judge-clients", "--tls", self.folder / "other.pem", "--", "sh", "-c",
                       "mosquitto_pub -V 5 -h $FENCEPOST_HOST -p $FENCEPOST_PORT --cafile /etc/ssl/certs/ca-certificates.crt "
                       "-t any -m any")
        self.assertEqual(1, stranger.returncode, stranger.stdout + stranger.stderr)
        self.assertRegex(stranger.stdout, "a connection ended during its TLS handshake: TLS: .*unknown ca")

    def test_the_schema_leaves_nothing_open(self):
        self.assertEqual([], left_open(SCHEMA))

    def test_options_that_do_not_go_together(self):
        for options, complaint in ((["--judge-clients", "--control"], "the clock of the store may change"),
                                   (["--json", self.folder / "j"], "need --judge-clients"),
                                   (["--html", self.folder / "h"], "need --judge-clients"),
                                   (["--puback-delay", "1s"], "need --judge-clients"),
                                   (["--drop-at-puback", "2"], "need --judge-clients"),
                                   (["--judge-clients", "--puback-delay", "soon"], "must be a duration"),
                                   (["--judge-clients", "--drop-at-puback", "1"], "--drop-at-puback"),
                                   (["--", "true"], "needs --judge-clients")):
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


def mqtt(first, body):
    """A control packet of at most 16383 bytes."""
    size = len(body)
    return bytes([first]) + (bytes([size]) if size < 128 else bytes([size % 128 | 128, size // 128])) + body


def text(content):
    return struct.pack(">H", len(content)) + content.encode()


CONNECT = mqtt(0x10, b"\0\4MQTT\5\2\0\0\0" + text("me"))
CONNACK = mqtt(0x20, b"\0\0\0")
AT_MOST_ONCE = mqtt(0x30, text(REQUESTS) + b"\0" + b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n")
ITS_RULES = ["ENV-QOS-2", "ENV-CORRELATION-2", "ENV-RESPONSE-TOPIC-5"]


class Recordings(FolderTest):
    def judge(self, *arguments):
        """(exit code, rules of the findings in their order, the report, what was printed)"""
        file, page = self.folder / "clients.json", self.folder / "clients.html"
        result = run("judge-clients", "--json", file, "--html", page, *arguments)
        report = json.loads(file.read_text()) if result.returncode in (0, 1, 5) else {"findings": []}
        if report["findings"]:
            self.assertEqual([], complaints(SCHEMA, report))
            self.assertIn(report["findings"][0]["rule"], page.read_text(encoding="utf-8"))
        return result.returncode, [finding["rule"] for finding in report["findings"]], report, result.stdout + result.stderr

    def capture(self, *chunks, begin=True, lost=()):
        """A classic pcap of one connection: Ethernet, IPv4, TCP. The chunks come from the client and the broker by turns; those
        of the numbers in `lost` are not in it."""
        path = self.folder / "packets.pcap"
        numbers = {True: 1000, False: 5000}
        frames = [(True, 999, 0, 2, b""), (False, 4999, 1000, 0x12, b"")] if begin else []
        for i, chunk in enumerate(chunks):
            up = i % 2 == 0
            if i not in lost:
                frames.append((up, numbers[up], numbers[not up], 0x18, chunk))
            numbers[up] += len(chunk)
        write_pcap(path, ((1795435200 + at / 1e6, tcp_frame((20000, 1883) if up else (1883, 20000), *rest))
                          for at, (up, *rest) in enumerate(frames)))
        return path

    def test_a_capture_is_judged(self):
        code, rules, report, _ = self.judge("--pcap", self.capture(CONNECT, CONNACK, AT_MOST_ONCE))
        self.assertEqual((1, ITS_RULES, 1, 0), (code, rules, report["requests"], report["not_judged"]))
        self.assertEqual("me", report["findings"][0]["client"])
        self.assertEqual(AT_MOST_ONCE.hex().upper(), report["findings"][0]["packet_hex"])
        self.assertEqual("2026-11-23T12:00:00.000004Z", report["findings"][0]["time"])

    def test_bytes_that_are_not_there_are_not_judged(self):
        for options in ({"begin": False}, {"lost": (1,)}, {"lost": (0,)}):
            path = self.capture(CONNECT, CONNACK, AT_MOST_ONCE, b"\x20\3\0\0\0", **options)
            code, rules, report, _ = self.judge("--pcap", path)
            self.assertEqual((5, [], 1), (code, rules, report["not_judged"]), options)

    def test_a_log_of_serve_is_judged(self):
        recorded, ready = self.folder / "recorded.yaml", self.folder / "ready"
        server = self.start(FENCEPOST, "serve", "--port", 0, "--record", recorded, "--ready-file", ready,
                            stdout=subprocess.DEVNULL)
        wait_until(lambda: ready.exists() and ready.read_text() or server.poll() is not None)
        port = ready.read_text().strip().rpartition(":")[2]
        sent = run_command("mosquitto_pub", "-V", "5", "-h", "127.0.0.1", "-p", port, "-i", "me", "-q", "0", "-t", REQUESTS,
                           "-m", "GET key")
        self.assertEqual(0, sent.returncode, sent.stderr)
        log = self.folder / "recorded.yaml.log"
        wait_until(lambda: b"GET key" in log.read_bytes())
        server.kill()
        server.wait(HANG)
        code, rules, report, _ = self.judge("--from", log)
        self.assertEqual((1, ITS_RULES + ["RESP-ARRAY-1"], 1), (code, rules, report["clients"]))

    def test_what_cannot_be_judged(self):
        for options, complaint in (([], "give one of --pcap and --from"),
                                   (["--pcap", "a", "--from", "b"], "give one of --pcap and --from"),
                                   (["--from", self.folder / "none"], "none"),
                                   (["--from", self.write("empty.log", "")], "the file is empty"),
                                   (["--from", "x", "--from-start"], "a log contains both"),
                                   (["--pcap", "x", "--clock-offset", "soon"], "--clock-offset"),
                                   (["--pcap", self.write("packets.pcap", "text")], "neither a pcap nor a pcapng")):
            code, _, _, said = self.judge(*options)
            self.assertEqual(2, code, said)
            self.assertIn(complaint, said)


if __name__ == "__main__":
    if not pathlib.Path(PYTHON).exists():
        sys.exit(f"{PYTHON} is missing")
    main()
