"""`fencepost record` as its users meet it: a session of clients that are not ours is captured by the broker's plugin, by a
subscriber and on the network, and what is made of it passes a conforming store and fails a faulty one.

usage: record_test.py BUILD_BIN_DIR [unittest arguments]
"""

import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import threading
import time

import harness
from harness import HANG, NOBODY, free_port, must, run, wait_until

REQUEST_TOPIC = "statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke"
NOTIFICATIONS = "clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8"


def command(*arguments):
    return "".join([f"*{len(arguments)}\r\n"] + [f"${len(word)}\r\n{word}\r\n" for word in arguments])


def timestamp():
    return f"{int(time.time() * 1000):015}:00000:test-client"


def response_topic(client):
    return f"clients/{client}/services/statestore/_any_/command/invoke/response"


def request(port, client, *arguments, ts=True, ft=None):
    """One request of mosquitto_rr: the version and the payload of the reply."""
    call = ["mosquitto_rr", "-h", "127.0.0.1", "-p", str(port), "-V", "mqttv5", "-q", "1", "-i", client, "-u", "some-user",
            "-P", "some-password", "-t", REQUEST_TOPIC, "-e", response_topic(client), "-m", command(*arguments), "-W",
            str(HANG), "-D", "publish", "correlation-data", os.urandom(8).hex(), "-F", "%P|%p"]
    if ts:
        call += ["-D", "publish", "user-property", "__ts", timestamp()]
    if ft:
        call += ["-D", "publish", "user-property", "__ft", ft]
    call += ["-D", "publish", "user-property", "session-cookie", "do-not-tell"]
    properties, _, payload = must(*call).partition("|")
    version = re.search(r"__ts:(\S+)", properties)
    return (version.group(1) if version else None), payload.strip()


class Observer:
    """An MQTT 5 client that stays connected and observes a key: none of mosquitto's clients can do both."""

    def __init__(self, port, client):
        self.client = client
        self.socket = socket.create_connection(("127.0.0.1", port), HANG)
        self.expect(self.packet(0x10, self.text("MQTT") + b"\x05\x02\x00\x00\x00" + self.text(client)), 0x20)
        self.notifications = f"{NOTIFICATIONS}/{client.encode().hex().upper()}/command/notify/+"
        for number, topic in enumerate((response_topic(client), self.notifications), 1):
            self.expect(self.packet(0x82, struct.pack(">HB", number, 0) + self.text(topic) + b"\x01"), 0x90)

    @staticmethod
    def text(words):
        data = words.encode()
        return struct.pack(">H", len(data)) + data

    @staticmethod
    def packet(kind, body):
        length, size = len(body), b""
        while True:
            length, low = length >> 7, length & 0x7F
            size += bytes([low | (0x80 if length else 0)])
            if not length:
                return bytes([kind]) + size + body

    def receive(self):
        def exactly(count):
            data = b""
            while len(data) < count:
                more = self.socket.recv(count - len(data))
                if not more:
                    raise EOFError
                data += more
            return data
        kind, length, shift = exactly(1)[0], 0, 0
        while True:
            byte = exactly(1)[0]
            length, shift = length | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                return kind, exactly(length)

    def expect(self, packet, kind):
        self.socket.sendall(packet)
        while True:
            seen, body = self.receive()
            if seen & 0xF0 == kind:
                return body

    def wait_for_publish(self):
        while True:
            kind, body = self.receive()
            if kind & 0xF0 == 0x30:
                size = struct.unpack(">H", body[:2])[0]
                self.socket.sendall(self.packet(0x40, body[2 + size:4 + size]))
                return body

    def observe(self, key):
        properties = b"\x08" + self.text(response_topic(self.client)) + b"\x09" + self.text("observer-data")
        body = self.text(REQUEST_TOPIC) + struct.pack(">HB", 9, len(properties)) + properties
        self.socket.sendall(self.packet(0x32, body + command("KEYNOTIFY", key).encode()))
        assert b"+OK\r\n" in self.wait_for_publish()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.sendall(b"\xe0\x00")
        self.socket.close()


def session(port):
    """What is recorded: two writers and an observer; a lock whose token guards a key; a key that expires."""
    with Observer(port, "observer-1") as observer:
        observer.observe("colour")
        assert request(port, "writer-1", "SET", "colour", "red")[1] == "+OK"
        observer.wait_for_publish()
        assert request(port, "writer-1", "GET", "colour", ts=False)[1] == "$3\r\nred"
        token, _ = request(port, "writer-2", "SET", "lock", "me", "NX")
        assert request(port, "writer-1", "SET", "lock", "you", "NX")[1].endswith("-1")
        assert request(port, "writer-2", "SET", "guarded", "x", ft=token)[1] == "+OK"
        assert request(port, "writer-1", "SET", "guarded", "y")[1].startswith("-ERR a fencing token is required")
        assert request(port, "writer-2", "SET", "short", "lived", "PX", "300")[1] == "+OK"
        time.sleep(0.6)  # what is recorded is that time passes, and the key with it
        assert request(port, "writer-2", "GET", "short", ts=False)[1] == "$-1"
        assert request(port, "writer-1", "DEL", "colour", ts=False)[1] == ":1"
        observer.wait_for_publish()
        assert request(port, "writer-1", "GET", "colour", ts=False)[1] == "$-1"


class Relay(harness.Proxy):
    """Keeps what passes, for a packet capture where no interface may be captured."""

    def __init__(self, to_port):
        self.chunks = []  # connection, from client?, time, bytes
        super().__init__(to_port)

    def passes(self, number, up, data):
        self.chunks.append((number, up, time.time(), data))
        return True

    def has_ended(self):
        """Have all connections ended, in both directions?"""
        return sum(not data for _, _, _, data in list(self.chunks)) == 2 * self.accepted

    def frames(self, port):
        """Packets made up around the bytes: Ethernet, IPv4, TCP."""
        sequence = {}
        for number, up, moment, data in self.chunks:
            pieces = [data[i:i + 1400] for i in range(0, len(data), 1400)] or [b""]
            for piece in pieces:
                mine, other = sequence.get((number, up), 1), sequence.get((number, not up), 1)
                ports = (20000 + number, port) if up else (port, 20000 + number)
                flags = 0x18 if piece else 0x11
                yield moment, harness.tcp_frame(ports, mine, other, flags, piece)
                sequence[(number, up)] = mine + max(len(piece), 1 if not piece else 0)


class Record(harness.FolderTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "recorded.yaml"

    def start_recorder(self, *arguments):
        recorder = self.start_program("record", "--out", self.out, *arguments)
        self.assertIn("mqtt://", recorder.stdout.readline())
        return recorder

    def certify(self, endpoint, path=None):
        return run("certify", "--endpoint", endpoint, "--scenarios", path or self.out, "-q")

    def expect_scenario(self, *, all_known=True):
        """What is recorded holds for a conforming store, and not for one that is faulty in what was recorded."""
        text = self.out.read_text(encoding="utf-8")
        for secret in ("some-user", "some-password", "do-not-tell"):
            self.assertNotIn(secret, text)
        self.assertEqual(run("lint", self.out).returncode, 0, text)
        for endpoint in ("embedded", "inproc:"):
            done = self.certify(endpoint)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr + text)
        for needed in ("notification:", "operation: delete", "greater_than:", "token-required", "wait:", "ft: v"):
            self.assertIn(needed, text)
        if all_known:
            self.assertIn("client a: observer-1\n", text)
        # A store whose NX overwrites fails at the step that shows it.
        done = self.certify("embedded?fault=nx-overwrites")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        lines = text.splitlines()
        failed = int(re.search(r"step +\d+ at .+:(\d+) ", done.stdout).group(1))
        self.assertIn('value: you, options: [NX]', lines[failed - 1])

    # ---- Within the broker

    def test_serve_writes_what_it_has_seen(self):
        server = self.serve("--record", self.out)
        session(server.port)
        code, output = self.stop(server.process, signal.SIGTERM)
        self.assertEqual(code, 0, output)
        self.assertIn("requests", output)
        self.expect_scenario()
        self.assertFalse(pathlib.Path(f"{self.out}.log").exists())

    def test_nothing_is_lost_when_it_is_killed(self):
        server = self.serve("--record", self.out)
        session(server.port)
        self.stop(server.process, signal.SIGKILL)
        log = f"{self.out}.log"
        self.assertEqual(os.stat(log).st_mode & 0o777, 0o600)
        refused = run("serve", "--port", free_port(), "--record", self.out)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--from", refused.stderr)
        done = run("record", "--from", log, "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.expect_scenario()

    def test_replies_that_are_lost_doubled_or_bare_are_findings(self):
        """docs/VERDICTS.md: of the log, which has all that the store has said."""
        server = self.serve("--record", self.out)
        session(server.port)
        self.stop(server.process, signal.SIGKILL)
        lines = [json.loads(line) for line in pathlib.Path(f"{self.out}.log").read_text("utf-8").splitlines()]
        replies = [line for line in lines if line["event"] == "delivery" and "correlation_data" in line["message"]]
        bare = {**replies[1], "message": {**replies[1]["message"], "user_properties": []}}
        for name, changed, said in (("right", [replies[1]], None), ("lost", [], "ENV-RESPONSE-1: no response came"),
                                    ("doubled", [replies[1], replies[1]], "ENV-RESPONSE-1: it was answered 2 times"),
                                    ("bare", [bare], "ENV-STATUS-1: the response has no __stat")):
            with self.subTest(name):
                log = self.folder / f"{name}.log"
                log.write_text("".join(json.dumps(each) + "\n" for line in lines
                                       for each in (changed if line is replies[1] else [line])), "utf-8")
                done = run("record", "--from", log, "--out", self.folder / f"{name}.yaml")
                self.assertEqual(1 if said else 0, done.returncode, done.stdout + done.stderr)
                self.assertIn(said or "written to", done.stdout + done.stderr)

    # ---- As a history

    def stress(self, server, rate):
        done = run("stress", "--endpoint", server.url, "--duration", "2s", "--rate", rate, "--seed", "3", "--no-shrink",
                   "--keep-going", cwd=self.folder)
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        return done.returncode

    def judge(self, history, *source):
        """The exit code of `check`, and how many operations there were."""
        recorded = run("record", *source, "--history", history) if source else None
        document = self.folder / "verdict.json"
        code = run("check", history, "--json", document).returncode
        return code, json.loads(document.read_text())["histories"][0]["operations"], recorded

    def test_what_the_broker_has_logged_is_judged_as_a_history(self):
        for fault, expected in ((None, 0), ("S01", 1)):
            out = self.folder / f"{fault}.yaml"
            server = self.serve("--record", out, *(["--fault", fault] if fault else []))
            self.assertEqual(self.stress(server, "1000"), expected)
            self.stop(server.process, signal.SIGKILL)
            history = self.folder / f"{fault}.jsonl"
            code, operations, recorded = self.judge(history, "--from", f"{out}.log")
            self.assertEqual(code, expected, recorded.stdout + recorded.stderr)
            self.assertGreater(operations, 500)
            self.assertFalse(out.exists())

    def test_what_a_subscriber_sees_accuses_no_right_store(self):
        server = self.serve("--open-routing")
        history = self.folder / "seen.jsonl"
        recorder = self.start_program("record", "--endpoint", server.url, "--history", history)
        self.assertIn("mqtt://", recorder.stdout.readline())
        self.assertEqual(self.stress(server, "400"), 0)
        self.stop(recorder, signal.SIGINT)
        code, operations, _ = self.judge(history)
        self.assertEqual(code, 0)
        self.assertGreater(operations, 20)

    def test_something_has_to_be_written(self):
        for arguments in ([], ["--history", self.folder / "h", "--slack", "soon"]):
            done = run("record", "--endpoint", harness.NOBODY, *arguments)
            self.assertEqual(done.returncode, 2, done.stderr)

    # ---- As a subscriber

    def test_subscriber_sees_a_broker_that_routes_openly(self):
        server = self.serve("--open-routing")
        recorder = self.start_recorder("--endpoint", server.url_of("some-user", "some-password"))
        session(server.port)
        time.sleep(0.5)
        code, output = self.stop(recorder, signal.SIGINT)
        self.assertEqual(code, 0, output)
        self.assertNotIn("some-password", output)
        self.stop(server.process, signal.SIGTERM)
        self.expect_scenario(all_known=False)
        self.assertIn("client a: observer-1 (derived", self.out.read_text(encoding="utf-8"))

    def test_subscriber_of_a_private_broker_is_told_that_there_is_nothing(self):
        server = self.serve()
        recorder = self.start_recorder("--endpoint", server.url, "--duration", "2s")
        request(server.port, "writer-1", "GET", "k")
        output, complaint = recorder.communicate(timeout=HANG)
        self.assertEqual(recorder.returncode, 5, complaint)
        self.assertIn("no case", output + complaint)
        self.assertIn("nothing was judged", complaint)

    def test_lost_and_unreachable_endpoints(self):
        done = run("record", "--endpoint", NOBODY, "--out", self.out)
        self.assertEqual(done.returncode, 3, done.stderr)
        server = self.serve("--open-routing")
        recorder = self.start_recorder("--endpoint", server.url)
        request(server.port, "writer-1", "SET", "k", "v")
        time.sleep(0.5)
        self.stop(server.process, signal.SIGTERM)
        recorder.communicate(timeout=HANG)
        self.assertEqual(recorder.returncode, 3)
        self.assertIn("set:", self.out.read_text(encoding="utf-8"))

    # ---- On the network

    def test_packets_are_read(self):
        relay = Relay(self.serve().port)
        self.addCleanup(relay.close)
        session(relay.port)
        wait_until(relay.has_ended)
        pcap = self.folder / "packets.pcap"
        harness.write_pcap(pcap, relay.frames(1883))
        done = run("record", "--pcap", pcap, "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.expect_scenario()

    @harness.full("captures all packets of the loopback interface: the kernel drops some where other tests fill it")
    def test_packets_of_an_interface(self):
        """As the kernel has them: each twice, and larger than a network's."""
        try:
            interface = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        except PermissionError:
            self.skipTest("this user may not capture packets")
        interface.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        interface.bind(("lo", 0))
        port, frames = self.serve().port, []

        def capture():
            while data := interface.recv(1 << 17):
                frames.append((time.time(), data))
        threading.Thread(target=capture, daemon=True).start()
        session(port)
        # The reply to the last request: that there is no such key.
        mine = struct.pack(">H", port)
        wait_until(lambda: len({data for _, data in list(frames) if b"$-1\r\n" in data and mine in data}) == 2)
        pcap = self.folder / "packets.pcap"
        harness.write_pcap(pcap, list(frames))
        done = run("record", "--pcap", pcap, "--port", port, "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.expect_scenario()

    def test_what_is_no_capture(self):
        pcap = self.folder / "packets.pcap"
        pcap.write_bytes(b"no capture at all, just some bytes of text")
        done = run("record", "--pcap", pcap, "--out", self.out)
        self.assertEqual(done.returncode, 2)
        self.assertIn("it is neither a pcap nor a pcapng file", done.stderr)

    # ---- All of them

    def test_wrong_answers_are_flagged(self):
        server = self.serve("--record", self.out, "--fault", "nx-overwrites")
        request(server.port, "writer-1", "SET", "k", "one")
        request(server.port, "writer-2", "SET", "k", "two", "NX")
        code, output = self.stop(server.process, signal.SIGTERM)
        self.assertEqual(code, 1, output)
        self.assertRegex(output, r"record: client writer-2, SET k: broke SET-N\S+: ")
        text = self.out.read_text(encoding="utf-8")
        self.assertRegex(text, r"note: '.*broke SET-N")
        self.assertEqual(self.certify("embedded?fault=nx-overwrites").returncode, 0)
        self.assertEqual(self.certify("embedded").returncode, 1)

    def test_usage(self):
        for wrong in ([], ["--out", self.out], ["--out", self.out, "--endpoint", "embedded"],
                      ["--out", self.out, "--endpoint", "mqtt://h", "--pcap", "x"],
                      ["--out", self.out, "--pcap", self.folder / "none"],
                      ["--out", self.out, "--from", self.folder / "none"],
                      ["--out", self.folder / "no" / "file", "--from", __file__],
                      ["--out", self.out, "--endpoint", "mqtt://h", "--duration", "soon"]):
            done = run("record", *wrong)
            self.assertEqual(done.returncode, 2, wrong)
            self.assertNotEqual(done.stderr, "")


if __name__ == "__main__":
    harness.main()
