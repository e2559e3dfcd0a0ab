"""The cases of envelope.combined against brokers that are wrong with some properties of MQTT 5 alone.

    mqtt_properties_test.py BIN

A proxy in front of `fencepost serve` does to packets what such a broker would. It is written from the MQTT 5 standard.
"""
import pathlib
import socket
import struct
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import harness  # noqa: E402
from hostile_broker import CONNACK, CONNECT, PUBACK, PUBLISH, SUBSCRIBE, packet, text, variable  # noqa: E402

CASES = "envelope.combined.*"
# What follows the identifier of a property: a number of bytes, a text (0), two texts (-1), a number of up to four bytes (-2).
FORMS = {0x01: 1, 0x02: 4, 0x03: 0, 0x08: 0, 0x09: 0, 0x0b: -2, 0x11: 4, 0x12: 0, 0x13: 2, 0x15: 0, 0x16: 0, 0x17: 1, 0x18: 4,
         0x19: 1, 0x1a: 0, 0x1c: 0, 0x1f: 0, 0x21: 2, 0x22: 2, 0x23: 2, 0x24: 1, 0x25: 1, 0x26: -1, 0x27: 4, 0x28: 1, 0x29: 1,
         0x2a: 1}
EXPIRY, CORRELATION, SUBSCRIPTION, PROBLEM, ALIASES, ALIAS, USER = 0x02, 0x09, 0x0b, 0x17, 0x22, 0x23, 0x26


def read_variable(data, at):
    number, shift = 0, 0
    while True:
        number |= (data[at] & 0x7f) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return number, at


def read_properties(data, at):
    """([(identifier, bytes of its value)], where they end)."""
    size, at = read_variable(data, at)
    end, found = at + size, []
    while at < end:
        kind, begin = data[at], at + 1
        form = FORMS[kind]
        at = begin + form
        if form == -2:
            _, at = read_variable(data, begin)
        elif form <= 0:
            at = begin
            for _ in range(1 - form):
                at += 2 + struct.unpack_from(">H", data, at)[0]
        found.append((kind, data[begin:at]))
    return found, end


def with_length(properties):
    inside = b"".join(bytes([kind]) + value for kind, value in properties)
    return variable(len(inside)) + inside


class Publish:
    def __init__(self, flags, body):
        self.flags = flags
        size = struct.unpack_from(">H", body)[0]
        self.topic, at = body[2:2 + size], 2 + size
        self.id = body[at:at + 2] if flags & 6 else b""
        self.properties, at = read_properties(body, at + len(self.id))
        self.payload = body[at:]

    def of(self, kind):
        return next((value for each, value in self.properties if each == kind), None)

    def bytes(self):
        return packet(PUBLISH, text(self.topic) + self.id + with_length(self.properties) + self.payload, self.flags)


class Way:
    """One connection through a broker that is right; those that are wrong change what it does."""

    def __init__(self):
        self.connect = {}
        self.subscription_identifiers = False

    def request(self, publish):
        """What the broker takes of a PUBLISH of the client; None: it is acknowledged, and that is all."""
        return publish

    def delivery(self, publish):
        """The PUBLISH that the client gets."""
        return publish


class NoUserProperties(Way):
    """One of the issue's own examples: user properties are lost for clients that take topic aliases."""

    def delivery(self, publish):
        if ALIASES in self.connect:
            publish.properties = [each for each in publish.properties if each[0] != USER]
        return publish


class ExpiryIsSigned(Way):
    """Another: requests whose Message Expiry Interval is 2^31 or more have expired when they come."""

    def request(self, publish):
        expiry = publish.of(EXPIRY)
        return None if expiry and struct.unpack(">i", expiry)[0] < 0 else publish


class NoProblemInformation(Way):
    """It takes Request Problem Information for what a PUBLISH is about, too (3.1.2.11.7 says that it is not)."""

    def delivery(self, publish):
        if self.connect.get(PROBLEM) == b"\0":
            publish.properties = [each for each in publish.properties if each[0] != USER]
        return publish


class AliasesAreMixed(Way):
    """An alias of a client stands for the topic that was published last."""

    last = b""

    def request(self, publish):
        if publish.of(ALIAS) is not None and not publish.topic:
            publish.topic, publish.properties = self.last, [each for each in publish.properties if each[0] != ALIAS]
        self.last = b"elsewhere"
        return publish


class NoTextInCorrelation(Way):
    """Correlation data ends at a zero byte where the request has an expiry, too."""

    expires = False

    def request(self, publish):
        self.expires = publish.of(EXPIRY) is not None
        return publish

    def delivery(self, publish):
        def cut(value):
            return text(value[2:].split(b"\0")[0]) if self.expires else value

        publish.properties = [(kind, cut(value) if kind == CORRELATION else value) for kind, value in publish.properties]
        return publish


class NoNotifications(Way):
    """What is delivered through a subscription with an identifier is lost, where there is no room for two messages."""

    def delivery(self, publish):
        lost = self.subscription_identifiers and b"notify" in publish.topic and 0x21 in self.connect
        return None if lost else publish


class IdentifiersEnd(Way):
    """Nothing is delivered on a connection behind its 65,535th message."""

    delivered = 0

    def delivery(self, publish):
        self.delivered += 1
        return publish if self.delivered <= 65535 else None


class Aliases(Way):
    """A right broker that uses aliases of its own, as many as the client takes."""

    def __init__(self):
        super().__init__()
        self.topics = []

    def delivery(self, publish):
        most = struct.unpack(">H", self.connect.get(ALIASES, b"\0\0"))[0]
        if publish.topic not in self.topics and len(self.topics) < most:
            self.topics.append(publish.topic)
            publish.properties.append((ALIAS, struct.pack(">H", len(self.topics))))
        elif publish.topic in self.topics:
            publish.properties.append((ALIAS, struct.pack(">H", self.topics.index(publish.topic) + 1)))
            publish.topic = b""
        return publish


class NoAliases(Way):
    """A right broker that takes neither topic aliases nor subscription identifiers, and says so."""

    takes_none = True


class Proxy:
    def __init__(self, way, port):
        self.way, self.port = way, port
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = f"mqtt://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            broker = socket.create_connection(("127.0.0.1", self.port))
            for each in (client, broker):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            way, lock = self.way(), threading.Lock()
            for source, sink, change in ((client, broker, self.from_client), (broker, client, self.from_broker)):
                threading.Thread(target=self.forward, args=(source, sink, change, way, client, lock), daemon=True).start()

    @staticmethod
    def forward(source, sink, change, way, client, lock):
        waiting = b""
        try:
            while data := source.recv(65536):
                waiting += data
                while len(waiting) >= 2:
                    try:
                        size, at = read_variable(waiting, 1)
                    except IndexError:
                        break
                    if len(waiting) < at + size:
                        break
                    whole, waiting = waiting[:at + size], waiting[at + size:]
                    out = change(way, whole, whole[0] >> 4, whole[at:], client, lock)
                    with lock if sink is client else threading.Lock():
                        sink.sendall(out)
        except OSError:
            pass
        for each in (source, sink):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    @staticmethod
    def from_client(way, whole, kind, body, client, lock):
        if kind == CONNECT:
            way.connect = dict(read_properties(body, 10)[0])
        elif kind == SUBSCRIBE:
            way.subscription_identifiers = any(each == SUBSCRIPTION for each, _ in read_properties(body, 2)[0])
            if way.subscription_identifiers and hasattr(way, "takes_none"):
                return b"\xe0\x01\xa1"
        elif kind == PUBLISH:
            publish = Publish(whole[0] & 15, body)
            if publish.of(ALIAS) is not None and hasattr(way, "takes_none"):
                return b"\xe0\x01\x94"
            taken = way.request(publish)
            if taken is None:
                with lock:
                    client.sendall(packet(PUBACK, publish.id))
                return b""
            return taken.bytes()
        return whole

    @staticmethod
    def from_broker(way, whole, kind, body, client, lock):
        if kind == CONNACK and hasattr(way, "takes_none"):
            kept = [each for each in read_properties(body, 2)[0] if each[0] not in (ALIASES, 0x29)]
            return packet(CONNACK, body[:2] + with_length([*kept, (0x29, b"\0")]))
        if kind != PUBLISH:
            return whole
        delivered = way.delivery(Publish(whole[0] & 15, body))
        return delivered.bytes() if delivered else b""


class Brokers(harness.FolderTest):
    def certify(self, way, port, *options, cases=CASES):
        proxy = Proxy(way, port)
        self.addCleanup(proxy.listener.close)
        report = self.folder / "report.json"
        done = harness.run("certify", "--endpoint", proxy.url, "--run", cases, "--json", report, "-q", *options)
        return done, harness.load_json(report)

    def test_right_brokers_pass_all(self):
        server = self.serve()
        for way in (Way, Aliases, NoAliases):
            with self.subTest(way.__name__):
                done, report = self.certify(way, server.port)
                self.assert_none_failed(done.returncode, report, done.stdout + done.stderr)

    def test_wrong_brokers_are_found_by_the_pairs_that_they_are_wrong_with(self):
        server = self.serve()
        for way in (NoUserProperties, ExpiryIsSigned, NoProblemInformation, AliasesAreMixed, NoTextInCorrelation,
                    NoNotifications):
            with self.subTest(way.__name__):
                done, report = self.certify(way, server.port, "--timeout-scale", "0.2")
                self.assertEqual(1, done.returncode, done.stdout + done.stderr)
                summary = report["summary"]
                self.assertGreater(summary["passed"], 0, done.stdout)
                # The first member has nothing but what each client says.
                first = next(case for case in report["cases"] if case["id"] == "envelope.combined.mqtt.1")
                self.assertEqual("passed", first["verdict"], first.get("message"))

    @harness.full("130,000 packets through Python")
    def test_a_connection_that_ends_with_its_packet_identifiers(self):
        server = self.serve()
        for way, expected in ((Way, 0), (IdentifiersEnd, 1)):
            with self.subTest(way.__name__):
                done, report = self.certify(way, server.port, cases="envelope.delivery.more-than-65535-packets")
                self.assertEqual(expected, done.returncode, done.stdout + done.stderr)
                self.assertEqual(["failed" if expected else "passed"], [case["verdict"] for case in report["cases"]])
                if expected:
                    self.assertIn("rule      ENV-RESPONSE-1", done.stdout)


if __name__ == "__main__":
    harness.main()
