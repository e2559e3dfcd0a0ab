"""A broker that misbehaves on purpose: one way at a time, at a layer of its own (TCP, MQTT, envelope, RESP3, time, floods).

    with Hostile(MODES["connack.reason-0x87"]) as broker: ... mqtt://127.0.0.1:{broker.port}

It is written from the MQTT 5 standard and shares no code with the client under test. What a mode does not touch is right: with
`behind=PORT`, a broker there that has a conforming store does it, and only what the mode changes is wrong; without, this broker
acknowledges, grants subscriptions and answers each request with a reply that a store could give.
"""
import socket
import struct
import threading
import time

CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP, SUBSCRIBE = range(1, 9)
SUBACK, UNSUBSCRIBE, UNSUBACK, PINGREQ, PINGRESP, DISCONNECT, AUTH = range(9, 16)
NAMES = ("reserved connect connack publish puback pubrec pubrel pubcomp subscribe suback unsubscribe unsuback pingreq pingresp "
         "disconnect auth").split()
FLAGS = {PUBREL: 2, SUBSCRIBE: 2, UNSUBSCRIBE: 2}
END = object()  # of a mode: close the connection


def variable(number):
    out = b""
    while True:
        number, low = divmod(number, 128)
        out += bytes([low | (0x80 if number else 0)])
        if not number:
            return out


def packet(kind, body=b"", flags=None):
    return bytes([kind << 4 | (FLAGS.get(kind, 0) if flags is None else flags)]) + variable(len(body)) + body


def text(content):
    content = content.encode() if isinstance(content, str) else content
    return struct.pack(">H", len(content)) + content


def publish(topic, payload=b"", properties=b"", qos=0, packet_id=1, flags=0):
    identifier = struct.pack(">H", packet_id) if qos else b""
    return packet(PUBLISH, text(topic) + identifier + variable(len(properties)) + properties + payload, flags | qos << 1)


def connack(reason=0, properties=b"", flags=0):
    return packet(CONNACK, bytes([flags, reason]) + variable(len(properties)) + properties)


def user(name, value):
    return b"\x26" + text(name) + text(value)


def timestamp(ahead_ms=0):
    return f"{int(time.time() * 1000) + ahead_ms:015d}:00000:Store"


class Request:
    """A PUBLISH of the client."""

    def __init__(self, flags, body):
        self.qos = flags >> 1 & 3
        size = struct.unpack_from(">H", body)[0]
        self.topic, at = body[2:2 + size], 2 + size
        self.id = struct.unpack_from(">H", body, at)[0] if self.qos else 0
        at += 2 if self.qos else 0
        length, shift = 0, 0
        while True:
            length |= (body[at] & 0x7f) << shift
            shift, at = shift + 7, at + 1
            if body[at - 1] < 0x80:
                break
        self.response_topic, self.correlation = b"", b""
        self.answer = None  # of the broker behind this one: topic, payload and properties
        properties, self.payload = body[at:at + length], body[at + length:]
        self.properties = properties
        fixed = {0x01: 1, 0x02: 4, 0x23: 2}
        at = 0
        while at < len(properties):
            kind = properties[at]
            if kind in fixed:
                at += 1 + fixed[kind]
                continue
            for _ in range(2 if kind == 0x26 else 1):
                size = struct.unpack_from(">H", properties, at + 1)[0]
                content = properties[at + 3:at + 3 + size]
                at += 2 + size
            at += 1
            if kind == 0x08:
                self.response_topic = content
            if kind == 0x09:
                self.correlation = content

    def reply(self, payload=None, properties=None, topic=None, **more):
        if self.answer:
            payload = self.answer[1] if payload is None else payload
            properties = self.answer[2] if properties is None else properties
        if payload is None:
            payload = b"$-1\r\n" if b"\r\nGET\r\n" in self.payload.upper() else b"+OK\r\n"
        if properties is None:
            properties = b"\x09" + text(self.correlation) + b"\x03" + text("application/octet-stream") + user("__ts",
                    timestamp())
        return publish(self.response_topic if topic is None else topic, payload, properties, **more)


class Peer:
    """One connection; what a mode gets to do things with."""

    def __init__(self, connection, broker):
        self.socket = connection
        self.broker = broker
        self.buffer = b""
        self.connect = None  # the CONNECT of the client
        self.lock = threading.Lock()

    def send(self, data):
        with self.lock:
            self.socket.sendall(data)

    def read(self, size):
        while len(self.buffer) < size:
            part = self.socket.recv(65536)
            if not part:
                raise ConnectionError
            self.buffer += part
        out, self.buffer = self.buffer[:size], self.buffer[size:]
        return out

    def read_packet(self):
        first = self.read(1)[0]
        length, shift = 0, 0
        while True:
            byte = self.read(1)[0]
            length |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                break
        kind, flags, body = first >> 4, first & 15, self.read(length)
        if kind == CONNECT:
            self.connect = packet(kind, body, flags)
        return kind, flags, body

    def wait(self):
        """Until the client has gone."""
        while self.socket.recv(65536):
            pass

    def serve(self, greeting=None, on_subscribe=None, on_request=None, on_any=None):
        """A right broker and store, but for what is given: each takes the peer and the packet, and sends what it likes."""
        if self.broker.behind:
            return Relay(self, greeting, on_subscribe, on_request).run()
        while True:
            kind, flags, body = self.read_packet()
            if on_any is not None and on_any(self, kind, body) is END:
                return
            if kind == CONNECT:
                self.send(connack() if greeting is None else greeting)
            elif kind == SUBSCRIBE:
                answer = packet(SUBACK, body[:2] + b"\0\1")
                if on_subscribe is None:
                    self.send(answer)
                elif on_subscribe(self, body) is END:
                    return
            elif kind == UNSUBSCRIBE:
                self.send(packet(UNSUBACK, body[:2] + b"\0\0"))
            elif kind == PINGREQ:
                self.send(packet(PINGRESP))
            elif kind == PUBLISH:
                request = Request(flags, body)
                if on_request is not None:
                    if on_request(self, request) is END:
                        return
                    continue
                self.acknowledge(request)
                self.send(request.reply())
            elif kind == DISCONNECT:
                return

    def acknowledge(self, request):
        if request.qos == 1:
            self.send(packet(PUBACK, struct.pack(">H", request.id)))
        elif request.qos == 2:
            self.send(packet(PUBREC, struct.pack(">H", request.id)))


class Relay:
    """Between a client and the broker behind this one: changes what the mode names, and passes on all else."""

    def __init__(self, peer, greeting, on_subscribe, on_request):
        self.peer, self.greeting, self.on_subscribe, self.on_request = peer, greeting, on_subscribe, on_request
        self.behind = Peer(socket.create_connection(("127.0.0.1", peer.broker.behind)), peer.broker)
        self.behind.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.waiting = {}  # correlation data -> requests whose reply the mode makes
        self.greeted = peer.connect is not None

    def run(self):
        try:
            if self.greeted:
                self.behind.send(self.peer.connect)
            threading.Thread(target=self.back, daemon=True).start()
            while True:
                kind, flags, body = self.peer.read_packet()
                if kind == PUBLISH and self.on_request:
                    request = Request(flags, body)
                    if request.response_topic and request.correlation:
                        self.waiting.setdefault(request.correlation, []).append(request)
                self.behind.send(packet(kind, body, flags))
        finally:
            self.behind.socket.shutdown(socket.SHUT_RDWR)
            self.behind.socket.close()

    def back(self):
        try:
            while self.take(*self.behind.read_packet()) is not END:
                pass
        except (OSError, IndexError, struct.error):
            pass
        finally:
            try:
                self.peer.socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def acknowledge(self, request, data):
        requests = self.waiting.get(request.correlation, [])
        if request in requests:
            requests.remove(request)
            suppress(self.peer, data)

    def take(self, kind, flags, body):
        """Of the broker. END: the connection is to end."""
        if kind == CONNACK and self.greeted:
            return None
        if kind == CONNACK and self.greeting is not None:
            return self.peer.send(self.greeting)
        if kind == SUBACK and self.on_subscribe:
            return self.on_subscribe(self.peer, body)
        if kind == PUBACK:
            # Copied at a stroke: the other thread adds to it.
            for request in [each for requests in list(self.waiting.values()) for each in requests]:
                if request.id == int.from_bytes(body[:2], "big"):
                    # The mode acknowledges, unless there is no reply.
                    threading.Timer(0.5, self.acknowledge, (request, packet(kind, body, flags))).start()
                    return None
        if kind == PUBLISH and self.on_request:
            reply = Request(flags, body)
            requests = self.waiting.get(reply.correlation)
            if requests and reply.topic == requests[0].response_topic:
                if reply.qos == 1:
                    self.behind.send(packet(PUBACK, struct.pack(">H", reply.id)))
                request = requests.pop(0)
                request.answer = reply.topic, reply.payload, reply.properties
                return self.on_request(self.peer, request)
        return self.peer.send(packet(kind, body, flags))


class Hostile:
    def __init__(self, mode, behind=None):
        self.mode = mode
        self.behind = behind  # the port of a broker with a conforming store
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.peers = []

    def __enter__(self):
        if self.mode is None:  # nobody listens
            self.listener.close()
            return self
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.peers.append(connection)
            threading.Thread(target=self.run, args=(connection,), daemon=True).start()

    def run(self, connection):
        try:
            self.mode(Peer(connection, self))
        except (OSError, ConnectionError, IndexError, struct.error):
            pass
        finally:
            connection.close()

    def __exit__(self, *_):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        for connection in self.peers:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


# --- the modes


def after_connect(data, close=False):
    def run(peer):
        peer.read_packet()
        peer.send(data)
        if not close:
            peer.wait()
    return run


def slowly(data, seconds):
    def run(peer):
        peer.read_packet()
        for byte in data:
            peer.send(bytes([byte]))
            time.sleep(seconds)
        peer.serve()
    return run


def endlessly(*chunks):
    def run(peer):
        peer.read_packet()
        for chunk in chunks[:-1]:
            peer.send(chunk)
        while True:
            peer.send(chunks[-1])
    return run


def once_connected(data):
    """Sent behind the CONNACK; then all is right, if the client continues."""
    return lambda peer: peer.serve(greeting=connack() + data)


def on_subscribe(answer):
    def act(peer, body):
        data = answer(body[:2])
        if data is END:
            return END
        peer.send(data)
    return lambda peer: peer.serve(on_subscribe=act)


def on_request(act):
    return lambda peer: peer.serve(on_request=act)


def replies(make):
    def act(peer, request):
        peer.acknowledge(request)
        data = make(request)
        if data is END:
            return END
        for part in data if isinstance(data, (list, tuple)) or hasattr(data, "__next__") else [data]:
            peer.send(part)
    return on_request(act)


def payload(content):
    return replies(lambda request: request.reply(content))


def later(seconds):
    def act(peer, request):
        peer.acknowledge(request)
        threading.Timer(seconds, lambda: suppress(peer, request.reply())).start()
    return on_request(act)


def suppress(peer, data):
    try:
        peer.send(data)
    except OSError:
        pass


def swapped(peer):
    """Two by two, the second first."""
    waiting = []

    def act(peer, request):
        peer.acknowledge(request)
        waiting.append(request.reply())
        if len(waiting) == 2:
            peer.send(waiting.pop() + waiting.pop())
    peer.serve(on_request=act)


def flood(data, per_send=200):
    """From the CONNACK on, beside right answers."""
    def run(peer):
        lock = threading.Lock()
        send = peer.socket.sendall
        peer.send = lambda data: locked(lock, send, data)
        kind, _, _ = peer.read_packet()
        if kind == CONNECT:
            peer.send(connack())
        threading.Thread(target=flood_with, args=(peer, data * per_send), daemon=True).start()
        peer.serve()
    return run


def locked(lock, call, *arguments):
    with lock:
        call(*arguments)


def flood_with(peer, data):
    try:
        while True:
            peer.send(data)
    except OSError:
        pass


def reset(peer):
    peer.read_packet()
    peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def correlated(request):
    return b"\x09" + text(request.correlation)


def modes():
    out = {
        "none": lambda peer: peer.serve(),
        "tcp.refused": None,
        "tcp.silent": lambda peer: peer.wait(),
        "tcp.closed": lambda peer: None,
        "tcp.closed-after-connect": lambda peer: peer.read_packet(),
        "tcp.reset": reset,
        "tcp.http": after_connect(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
        "tcp.tls-alert": after_connect(b"\x15\x03\x01\x00\x02\x02\x46"),
        "tcp.zeros": endlessly(b"\0" * 65536),
        "tcp.ones": endlessly(b"\xff" * 65536),
        "tcp.ssh": after_connect(b"SSH-2.0-OpenSSH_9.2\r\n"),
        "tcp.a-byte-a-second": slowly(connack(properties=user("a", "b" * 40)), 1),
        "tcp.reads-nothing": lambda peer: (peer.read_packet(), peer.send(connack()), time.sleep(3600)),
    }
    whole = connack(properties=b"\x21\x00\x0a\x12" + text("given"))
    for size in range(1, len(whole)):
        out[f"tcp.cut-after-{size}"] = after_connect(whole[:size], close=True)
        out[f"tcp.stands-still-after-{size}"] = after_connect(whole[:size])
    for reason in [0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8c, 0x90, 0x95, 0x97, 0x99, 0x9a,
            0x9b, 0x9c,
                   0x9d, 0x9f, 0x7f, 0xff]:
        out[f"connack.reason-{reason:#x}"] = after_connect(connack(reason))
    for name, properties in {
            "unknown-property": b"\x7f\0", "property-twice": b"\x21\0\1\x21\0\2", "receive-maximum-0": b"\x21\0\0",
            "receive-maximum-1": b"\x21\0\1", "packet-size-0": b"\x27\0\0\0\0", "packet-size-1": b"\x27\0\0\0\1",
            "packet-size-20": b"\x27\0\0\0\x14", "maximum-qos-0": b"\x24\0", "maximum-qos-7": b"\x24\7",
            "keep-alive-1": b"\x13\0\1",
            "not-for-it": b"\x23\0\1", "property-cut": b"\x1f\0\xff", "length-of-properties": b"",
            "reason-string-of-60000": b"\x1f" + text(b"x" * 60000), "user-properties-10000": user("", "") * 10000}.items():
        out[f"connack.{name}"] = lambda peer, properties=properties: peer.serve(greeting=connack(properties=properties))
    out["connack.length-of-properties"] = after_connect(packet(CONNACK, b"\0\0\x7f"))
    out["connack.reserved-flags"] = after_connect(connack(flags=2))
    out["connack.session-present"] = lambda peer: peer.serve(greeting=connack(flags=1))
    out["connack.twice"] = once_connected(connack())
    out["connack.without-end"] = after_connect(b"\x20\xff\xff\xff\xff\xff")
    for kind in range(16):
        out[f"first.{NAMES[kind]}"] = after_connect(packet(kind, b"\0\1\0"))
        out[f"empty.{NAMES[kind]}"] = once_connected(packet(kind))
        out[f"flags.{NAMES[kind]}"] = once_connected(packet(kind, b"\0\1\0\0", flags=0xf))
        out[f"unasked.{NAMES[kind]}"] = once_connected(packet(kind, b"\0\x09\0\0"))
    for reason in [0x00, 0x81, 0x82, 0x87, 0x89, 0x8b, 0x8d, 0x8e, 0x93, 0x95, 0x97, 0x98, 0xff]:
        out[f"disconnect.{reason:#x}"] = once_connected(packet(DISCONNECT, bytes([reason, 0])))
    out["disconnect.and-goes-on"] = once_connected(packet(DISCONNECT) + publish("a"))
    for name, make in {
            "never": lambda id: b"", "other-id": lambda id: packet(SUBACK, b"\xff\xfe\0\1"),
            "none": lambda id: packet(SUBACK, id + b"\0"),
            "two": lambda id: packet(SUBACK, id + b"\0\1\1"), "twice": lambda id: packet(SUBACK, id + b"\0\1") * 2,
            "qos-0": lambda id: packet(SUBACK, id + b"\0\0"), "qos-2": lambda id: packet(SUBACK, id + b"\0\2"),
            "qos-3": lambda id: packet(SUBACK, id + b"\0\3"), "refused-0x80": lambda id: packet(SUBACK, id + b"\0\x80"),
            "refused-0x87": lambda id: packet(SUBACK, id + b"\0\x87"), "unsuback": lambda id: packet(UNSUBACK, id + b"\0\0"),
            "end": lambda id: END, "id-0": lambda id: packet(SUBACK, b"\0\0\0\1")}.items():
        out[f"suback.{name}"] = on_subscribe(make)

    def acks(make):
        def act(peer, request):
            peer.send(make(struct.pack(">H", request.id)))
            peer.send(request.reply())
        return on_request(act)
    for name, make in {
            "never": lambda id: b"", "pubrec": lambda id: packet(PUBREC, id), "pubcomp": lambda id: packet(PUBCOMP, id),
            "pubrel": lambda id: packet(PUBREL, id), "other-id": lambda id: packet(PUBACK, b"\xff\xfe"),
            "twice": lambda id: packet(PUBACK, id) * 2, "id-0": lambda id: packet(PUBACK, b"\0\0"),
            "too-long": lambda id: packet(PUBACK, id + b"\0\0more"),
            "properties-cut": lambda id: packet(PUBACK, id + b"\0\x05\x1f\0\xff"),
            **{f"reason-{reason:#x}": lambda id, reason=reason: packet(PUBACK, id + bytes([reason]))
               for reason in (0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99)}}.items():
        out[f"puback.{name}"] = acks(make)
    for name, data in {
            "qos-3": publish("t", flags=6), "dup-qos-0": publish("t", flags=8), "no-topic": publish(""),
            "wildcard": publish("a/#"),
            "nul": publish("a\0b"), "id-0": publish("t", qos=1, packet_id=0), "alias": publish("t", properties=b"\x23\0\1"),
            "alias-alone": publish("", properties=b"\x23\0\1"), "latin-1": publish(b"\xe9"), "retained": publish("t", flags=1),
            "qos-2": publish("t", qos=2, packet_id=5) * 3, "announces-256-mib": b"\x30\xff\xff\xff\x7f",
            "topic-cut": packet(PUBLISH, b"\xff\xfft"),
            "properties-cut": packet(PUBLISH, text("t") + b"\x7f"), "payload-format-2": publish("t", properties=b"\1\2"),
            "correlation-twice": publish("t", properties=(b"\x09" + text("a")) * 2),
            "user-properties-100000": publish("t", properties=user("", "") * 100_000),
            "user-properties-2000000": publish("t", properties=user("", "") * 2_000_000),
            "of-16-mib": publish("t", b"x" * (16 << 20)), "of-100-mib": publish("t", b"x" * (100 << 20))}.items():
        out[f"publish.{name}"] = once_connected(data)
    for name, make in {
            "missing": lambda r: END, "none": lambda r: b"", "no-correlation": lambda r: r.reply(properties=user("__ts",
            timestamp())),
            "no-timestamp": lambda r: r.reply(properties=correlated(r)), "no-properties": lambda r: r.reply(properties=b""),
            "other-correlation": lambda r: r.reply(properties=b"\x09" + text("nobody's") + user("__ts", timestamp())),
            "other-topic": lambda r: r.reply(topic="nobody/listens"), "timestamp-twice": lambda r: r.reply(
                properties=correlated(r) + user("__ts", timestamp()) + user("__ts", "0:0:x")),
            "timestamp-of-60000": lambda r: r.reply(properties=correlated(r) + user("__ts", "9" * 60000)),
            "timestamp-binary": lambda r: r.reply(properties=correlated(r) + user(b"__ts", bytes(range(256)))),
            "timestamp-a-year-ahead": lambda r: r.reply(properties=correlated(r) + user("__ts", timestamp(31_536_000_000))),
            "error-properties": lambda r: r.reply(properties=correlated(r) + user("__ts", timestamp()) + user("__stat", "500")),
            "twice": lambda r: r.reply() * 2, "a-thousand-times": lambda r: r.reply() * 1000,
            "qos-2": lambda r: r.reply(qos=2, packet_id=77), "retained": lambda r: r.reply(flags=1),
            "binary-user-properties": lambda r: r.reply(properties=correlated(r) + user(b"\xff\0",
            b"\0\xff") * 100 + user("__ts", timestamp())),
    }.items():
        out[f"envelope.{name}"] = replies(make)
    for name, content in {
            "empty": b"", "nothing-known": b"?\r\n", "no-line-end": b"+OK", "line-feed": b"+OK\n",
            "nested-10": b"*1\r\n" * 10 + b":1\r\n",
            "nested-1000000": b"*1\r\n" * 1_000_000, "length-negative": b"$-2\r\n",
            "length-huge": b"$99999999999999999999\r\nx\r\n",
            "length-more-than-there-is": b"$100\r\nx\r\n", "count-huge": b"*2147483647\r\n",
            "of-4-mib": b"$4194304\r\n" + b"x" * 4194304 + b"\r\n",
            "line-of-4-mib": b"+" + b"x" * 4194304 + b"\r\n", "two-replies": b"+OK\r\n+OK\r\n", "nul": b"\0" * 100,
            "integer-huge": b":" + b"9" * 1000 + b"\r\n",
            "notification": b"*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n", "resp3-map": b"%1\r\n+a\r\n+b\r\n",
            "resp3-null": b"_\r\n", "attribute": b"|1\r\n+a\r\n+b\r\n+OK\r\n",
            "error-of-60000": b"-ERR " + b"x" * 60000 + b"\r\n",
            "escapes": b"-ERR \x1b[2J\x1b]0;x\x07<script>alert(1)</script>\r\n"}.items():
        out[f"resp3.{name}"] = payload(content)
    out["time.a-second-late"] = later(1)
    out["time.ten-seconds-late"] = later(10)
    out["time.swapped"] = swapped
    for name, data in {"messages": publish("fencepost/x", b"x" * 20),
            "large-messages": publish("fencepost/x", b"x" * (1 << 20)),
                       "pingresp": packet(PINGRESP), "replies": publish(
                           "clients/x/services/statestore/_any_/command/invoke/response", b"+OK\r\n"),
                       "qos-1": publish("t", qos=1, packet_id=9), "properties": publish("t", properties=user("a",
                       "b") * 1000)}.items():
        out[f"flood.{name}"] = flood(data, 200 if len(data) < 1000 else 1)
    return out


MODES = modes()
