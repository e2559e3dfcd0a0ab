"""What the absence of an answer comes to: docs/VERDICTS.md, each cell a test.

    no_response_test.py BUILD_BIN_DIR [unittest arguments]

A right store stands behind a proxy that takes something away, or adds something, of what its broker sends: packets of MQTT 5,
read here from the standard. Nothing else is wrong, so that only this can be found.
"""

import collections
import json
import threading
import time

import harness

PUBLISH, PUBACK = 3, 4


def read_variable(data, at):
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at
    return None, at


def packets(buffer):
    """Takes whole packets from the front of the buffer."""
    while len(buffer) >= 2:
        length, start = read_variable(buffer, 1)
        if length is None or len(buffer) < start + length:
            return
        yield bytes(buffer[:start + length]), start
        del buffer[:start + length]


def topic_of(packet, start):
    size = int.from_bytes(packet[start:start + 2], "big")
    return packet[start + 2:start + 2 + size]


def is_reply(packet, start):
    return packet[0] >> 4 == PUBLISH and b"/response" in topic_of(packet, start)


class ChangingProxy(harness.Proxy):
    """`change(packet, is_reply, number)` says which packets go to the client in the place of one; `number` counts replies."""

    def __init__(self, port, change):
        self.change = change
        self.replies = 0
        self.lock = threading.Lock()
        self.begun = collections.defaultdict(bytearray)  # by connection: of a packet that is not whole yet
        super().__init__(port)

    @property
    def url(self):
        return f"mqtt://127.0.0.1:{self.port}"

    def changed(self, number, up, data):
        if up:
            return data
        with self.lock:
            buffer = self.begun[number]
            buffer += data
            return b"".join(each for packet, start in packets(buffer) for each in self.replaced(packet, start))

    def replaced(self, packet, start):
        reply = is_reply(packet, start)
        self.replies += reply
        return self.change(packet, reply, self.replies)


def without_pubacks(packet, _, __):
    return [] if packet[0] >> 4 == PUBACK else [packet]


def without_each_seventh_reply(packet, reply, number):
    """But for the first, with which a run finds out that there is a store."""
    return [] if reply and number > 400 and number % 7 == 0 else [packet]


def each_reply_twice(packet, reply, _):
    """With the QoS of the packet taken away: a packet identifier that comes twice would be a redelivery."""
    return [packet, as_qos_0(packet)] if reply else [packet]


def as_qos_0(packet):
    _, start = read_variable(packet, 1)
    size = int.from_bytes(packet[start:start + 2], "big")
    body = packet[start:start + 2 + size] + packet[start + 2 + size + (2 if packet[0] & 6 else 0):]
    length, out = len(body), bytearray([packet[0] & 0xf1])
    while True:
        length, low = divmod(length, 128)
        out.append(low | (0x80 if length else 0))
        if not length:
            return bytes(out) + body


def with_a_nul_in_the_topic(packet, reply, _):
    return [packet.replace(b"/response", b"/respons\0", 1)] if reply else [packet]


def with_refusals(packet, _, number):
    """Each tenth PUBACK says that the request has failed (0x80), though it is answered."""
    is_puback = packet[0] >> 4 == PUBACK
    return [bytes([0x40, 3]) + packet[2:4] + b"\x80"] if is_puback and number > 400 and packet[3] % 10 == 0 else [packet]


def without_our_properties(packet, reply, number):
    """As many stores would be that do not know MQTT 5: replies without `__ts` and `__stat`."""
    return [packet.replace(b"__ts", b"none").replace(b"__stat", b"nobody")] if reply and number > 400 else [packet]


def late(packet, reply, number):
    """Once all that is delivered comes 1.5 s late."""
    if reply and number == 500:
        time.sleep(1.5)
    return [packet]


class Silence(harness.FolderTest):
    def behind(self, change, *options):
        proxy = ChangingProxy(self.serve(*options).port, change)
        self.addCleanup(proxy.close)
        return proxy.url

    def check(self, code, *arguments):
        done = harness.run(*arguments, cwd=self.folder)
        self.assertEqual(code, done.returncode, done.stdout[-3000:] + done.stderr[-1000:])
        return done.stdout + done.stderr

    def stress(self, code, url, *arguments):
        return self.check(code, "stress", "--endpoint", url, "--duration", "1s", "--no-shrink", "--timeout-scale", "0.3",
                          *arguments)

    def explore(self, code, url):
        return self.check(code, "explore", "--endpoint", url, "--duration", "3s", "--timeout-scale", "0.3", "-q")

    def certify(self, code, url):
        report = self.folder / "r.json"
        said = self.check(code, "certify", "--endpoint", url, "--quiet", "--timeout-scale", "0.3", "--json", report,
                          "--run", "set.plain.*", "--run", "get.*", "--run", "envelope.delivery.*",
                          "--skip", "*.more-than-65535-packets")
        return said, {difference["requirement"] for difference in harness.load_json(report)["differences"]}

    def test_a_proxy_that_changes_nothing_is_no_finding(self):
        url = self.behind(lambda packet, _, __: [packet])
        self.assertIn("no rule is broken", self.stress(0, url))
        self.assertIn("no rule is broken", self.explore(0, url))

    def test_no_puback(self):
        url = self.behind(without_pubacks)
        said, rules = self.certify(1, url)
        self.assertEqual({"ENV-MQTT5-3"}, rules, said)
        self.assertIn("VIOLATION  ENV-MQTT5-3", self.stress(1, url))
        self.assertIn("REJECTED  ENV-MQTT5-3", self.explore(1, url))

    def test_no_puback_with_room_for_few(self):
        """Its Receive Maximum keeps all but the first requests from being sent: that is no store that does not answer."""
        url = self.behind(without_pubacks, "--receive-maximum", "2")
        for command in ("certify", "explore"):
            self.assertRegex(self.check(3, command, "--endpoint", url, "--timeout-scale", "0.1"),
                             r"breaks MQTT 5 at .*4\.3\.2 \(ENV-MQTT5-3\): no acknowledgement of the PUBLISH")
        said = self.stress(1, url)
        self.assertIn("VIOLATION  ENV-MQTT5-3", said)
        self.assertNotIn("VIOLATION  ENV-RESPONSE-1", said)

    def test_lost_replies(self):
        url = self.behind(without_each_seventh_reply)
        said = self.stress(1, url)
        self.assertIn("VIOLATION  ENV-RESPONSE-1", said)
        self.assertIn("no response, though requests that were sent later have one", said)
        self.assertIn("REJECTED  ENV-RESPONSE-1", self.explore(1, self.behind(without_each_seventh_reply)))

    def test_doubled_replies(self):
        url = self.behind(each_reply_twice)
        said = self.stress(1, url)
        self.assertIn("VIOLATION  ENV-RESPONSE-1", said)
        self.assertIn("a second response to one request", said)
        self.assertIn("REJECTED", self.explore(1, url))
        self.certify(1, url)

    def test_late_replies(self):
        self.assertIn("answered too late", self.check(4, "stress", "--endpoint", self.behind(late), "--duration", "3s",
                                                     "--no-shrink", "--timeout-scale", "0.1"))

    def test_refused_requests_that_are_answered(self):
        self.assertIn("VIOLATION  ENV-PUBACK-1", self.stress(1, self.behind(with_refusals)))
        self.assertIn("REJECTED  ENV-PUBACK-1", self.explore(1, self.behind(with_refusals)))

    def test_replies_without_version_and_status(self):
        url = self.behind(without_our_properties)
        self.assertRegex(self.stress(1, url), "VIOLATION  (VER|ENV-STATUS)-")
        self.assertRegex(self.explore(1, url), "REJECTED  (VER|ENV-STATUS)-")

    def test_malformed_packets(self):
        url = self.behind(with_a_nul_in_the_topic)
        self.assertIn("VIOLATION  ENV-MQTT5-3", self.stress(1, url))
        # Nobody gets as far as to ask.
        for command in ("certify", "explore"):
            self.assertIn("U+0000", self.check(3, command, "--endpoint", url))

    def test_nobody_answers(self):
        url = self.behind(lambda packet, reply, _: [] if reply else [packet])
        said = self.stress(3, url)
        self.assertIn("no request was answered", said)
        self.assertIn("0 keys ok", said)

    def test_a_part_is_no_certificate(self):
        page = self.folder / "r.html"
        said = self.check(0, "certify", "--endpoint", "inproc:", "--run", "set.nx.refuses-equal-value", "--html", page,
                          "--junit", self.folder / "r.xml", "--json", self.folder / "r.json", "--badge", self.folder / "b.json")
        self.assertRegex(said, r"1 of \d+ cases selected; not a statement of conformance")
        self.assertNotIn("conformant", said)
        html = page.read_text("utf-8")
        self.assertIn("Partial run without a failure", html)
        self.assertNotIn("Every case that ran passed", html)
        self.assertRegex((self.folder / "r.xml").read_text("utf-8"), r'name="selected" value="1 of \d+ cases selected"')
        self.assertEqual(1, harness.load_json(self.folder / "r.json")["selected"]["cases"])
        self.assertIn("(part)", json.loads((self.folder / "b.json").read_text("utf-8"))["message"])

    def test_a_baseline_hides_no_other_rule(self):
        baseline = self.folder / "known.yaml"
        self.check(1, "certify", "--quiet", "--endpoint", "inproc:?fault=C08", "--baseline", baseline, "--update-baseline",
                   "--stress", "none")  # which leaves the reasons to write
        baseline.write_text(baseline.read_text("utf-8").replace("reason: ''", "reason: known"), "utf-8")
        self.check(0, "certify", "--quiet", "--endpoint", "inproc:?fault=C08", "--baseline", baseline, "--stress", "short")
        # Of 20,000 requests, as many as `short` has, a third of the seeds does not meet the fault.
        self.check(1, "certify", "--quiet", "--endpoint", "inproc:?fault=C08+T20", "--baseline", baseline, "--stress", "10s",
                   "--seed", "1")

    def test_nothing_to_record(self):
        self.assertIn("no request was seen", self.check(5, "record", "--endpoint", self.serve().url, "--duration", "500ms",
                                                        "--out", self.folder / "cases.yaml"))


if __name__ == "__main__":
    harness.main()
