"""Clients that are right and unusual. Each breaks nothing."""

import os, struct, time, threading
from mq import *

TABLE = {}
EXP = [(SESSEXP, 300)]


def right(name, sentence, source="", opts=()):
    def add(f):
        assert name not in TABLE
        TABLE[name] = dict(name=name, sentence=sentence, source=source, opts=list(opts), run=f, grade="R")
        return f

    return add


def ms():
    return int(time.time() * 1000)


def session(name, sentence, source="", opts=(), setup=None, **kw):
    """An ordinary session with one thing before its work."""

    def f(port):
        c = C(port, **kw)
        c.setup()
        if setup:
            setup(c)
        c.work(2)
        c.bye()

    right(name, sentence, source, opts)(f)


session("plain", "an ordinary session")
session("keep-alive-0", "keep alive 0 and silence for 3 s", "MQTT 5 3.1.2.10", keepalive=0, setup=lambda c: c.drain(3))
session("keep-alive-max", "keep alive 65535", keepalive=65535)
session("client-receive-maximum-1", "its own Receive Maximum is 1", "MQTT 5 3.1.2.11.3", ps=[(RECVMAX, 1)])
session("client-packet-max", "its own Maximum Packet Size is 2000", ps=[(MAXPKT, 2000)])
session("client-alias-max", "it lets the broker use topic aliases", ps=[(ALIASMAX, 10)])
session(
    "connect-properties",
    "all properties of CONNECT",
    ps=[
        (SESSEXP, 10),
        (RECVMAX, 100),
        (MAXPKT, 100000),
        (ALIASMAX, 3),
        (RESPINFO, 1),
        (PROBLEM, 0),
        (USER, ("a", "b")),
        (USER, ("a", "b")),
        (USER, ("", "")),
    ],
)
session("expiry-max", "session expiry 0xFFFFFFFF", ps=[(SESSEXP, 0xFFFFFFFF)])
session("clock-50-ahead", "its clock is 50 s ahead", "article: within one minute", clock=Clock(offset=50000))
session(
    "clock-50-behind",
    "its clock is 50 s behind (and takes versions in)",
    "article: within one minute",
    clock=Clock(offset=-50000),
)
session("clock-coarse", "its physical clock ticks once a second; the counter counts", "facts 5.3", clock=Clock(coarse=1000))
session("node-non-ascii", "its node id has blanks and accents", "facts 5.1: ok in all three", clock=Clock(node="a b é"))
session("node-long", "its node id has 300 characters", clock=Clock(node="n" * 300))
session("node-is-client-id", "node id is a GUID in braces", clock=Clock(node="{0198A1B2-0000-7000-8000-000000000000}"))
session("puback-code-0", "PUBACKs carry reason code 0", "MQTT 5 3.4.2", setup=lambda c: setattr(c, "ack_form", "code"))
session(
    "puback-properties",
    "PUBACKs carry a reason string and user properties",
    "MQTT 5 3.4.2.2",
    setup=lambda c: setattr(c, "ack_form", "long"),
)
session(
    "subscribe-all",
    "it subscribes to # and +/+ and to its topics by wildcard",
    "MQTT 5 4.7",
    setup=lambda c: (c.sub("#"), c.sub("+/+/#", "clients/" + c.cid + "/#", "clients/+/services/#")),
)
session(
    "subids",
    "its subscriptions have identifiers, up to 268435455",
    "MQTT 5 3.8.2.1.2",
    setup=lambda c: (c.sub(c.rt, ps=[(SUBID, 268435455)]), c.sub("clients/%s/#" % c.cid, ps=[(SUBID, 1), (USER, ("x", "y"))])),
)
session("resubscribe", "it subscribes to its response topic five times", setup=lambda c: [c.sub(c.rt) for i in range(5)])
session(
    "subscribe-options",
    "No Local, Retain As Published and Retain Handling 2",
    setup=lambda c: c.sub(c.rt, opts=1 | 4 | 8 | 0x20),
)
session("subscribe-qos-2", "its subscription asks for QoS 2", setup=lambda c: c.sub(c.rt, opts=2))
session(
    "unsubscribe",
    "it unsubscribes from topics it has and has not",
    setup=lambda c: (c.sub("tele/#"), c.unsub("tele/#", "never/had"), c.unsub("never/had")),
)
session(
    "telemetry",
    "other messages to other topics, of all QoS, retained and not",
    setup=lambda c: [c.publish("tele/%s/%d" % (c.cid, q), b"\0\xffx", qos=q, retain=r) for q in (0, 1, 2) for r in (0, 1)],
)
session(
    "telemetry-self",
    "it receives its own messages of all QoS",
    setup=lambda c: (
        c.sub("tele/#", opts=2),
        [c.publish("tele/x", "v%d" % q, qos=q) for q in (0, 1, 2, 0, 1, 2)],
        c.drain(0.2),
    ),
)
session(
    "telemetry-empty",
    "messages without payload, with all properties",
    setup=lambda c: c.publish(
        "tele/x",
        "",
        qos=1,
        ps=[
            (PFI, 1),
            (EXPIRY, 1),
            (CTYPE, "text/plain"),
            (RTOPIC, "tele/r"),
            (CORR, b""),
            (USER, ("__ts", "not for the store")),
        ],
    ),
)
session(
    "other-rpc",
    "requests to another service, without correlation, with JSON",
    setup=lambda c: c.publish("svc/other/command/invoke", '{"a":1}', qos=1, ps=[(RTOPIC, c.rt + "2")]),
)
session(
    "user-properties",
    "requests have 50 user properties of their own, some empty, some twice",
    "MQTT 5 3.3.2.3.7",
    setup=lambda c: [
        c.set("k", str(i), after=[(USER, ("p%d" % (j % 20), "")) for j in range(49)] + [(USER, ("", ""))]) for i in range(3)
    ],
)
session(
    "user-properties-front",
    "user properties stand before the response topic and between",
    setup=lambda c: c.set(
        "k",
        "1",
        raw=[(USER, ("z", "1")), (USER, ("__ts", c.clock.tick())), (CORR, b"abc"), (USER, ("z", "1")), (RTOPIC, c.rt)],
        wait=False,
    ),
)
session(
    "sdk-properties",
    "the properties that the SDKs send",
    "facts 1.1",
    setup=lambda c: [
        c.ask(
            resp(*e),
            after=[
                (USER, ("__protVer", "1.0")),
                (USER, ("__srcId", c.cid)),
                (USER, ("$partition", c.cid)),
                (USER, ("$high_priority", "")),
                (USER, ("__invId", c.cid)),
                (USER, ("aio-persistence", "true")),
            ],
            extra=[(PFI, 0), (EXPIRY, 10), (CTYPE, "application/octet-stream")],
        )
        for e in (("SET", "k", "v"), ("GET", "k"), ("DEL", "k"), ("KEYNOTIFY", "zz", "STOP"))
    ],
)
session(
    "pfi-1-utf8", "payload format 1 and a payload that is UTF-8", setup=lambda c: c.set("ключ", "größe ☃", extra=[(PFI, 1)])
)
session("pfi-0-binary", "payload format 0 and a binary value", setup=lambda c: c.set("k", b"\xff\0\xc3", extra=[(PFI, 0)]))
session("expiry-max-request", "Message Expiry Interval 0xFFFFFFFF", setup=lambda c: c.get("k", extra=[(EXPIRY, 0xFFFFFFFF)]))
session("no-ts-elsewhere", "no __ts on GET, DEL, VDEL, KEYNOTIFY", "article")
session(
    "ts-everywhere",
    "__ts on each request",
    "facts 1.1",
    setup=lambda c: [c.ask(resp(*e)) for e in (("GET", "a"), ("DEL", "a"), ("VDEL", "a", "x"), ("KEYNOTIFY", "a", "STOP"))],
)
session(
    "ts-padded",
    "__ts is padded as SDKs do it",
    "facts 5.1",
    setup=lambda c: [
        c.set("k", str(i), ts="%015d:%05d:%s" % tuple((lambda t: (int(t[0]), int(t[1]), t[2]))(c.clock.tick().split(":"))))
        for i in range(4)
    ],
)
session(
    "correlation-lengths",
    "correlation data of 1, 2, 300 and 60000 bytes",
    "article: opaque",
    setup=lambda c: [c.get("k", corr=os.urandom(n)) for n in (1, 2, 300, 60000)],
)
session(
    "correlation-again",
    "correlation data is taken again after its response",
    "facts 8b.25",
    setup=lambda c: [c.set("k", str(i), corr=b"always the same") for i in range(6)],
)
session(
    "binary-keys",
    "keys and values with NUL, CRLF, FF, RESP inside",
    "facts 7",
    setup=lambda c: [
        (c.set(k, k), c.get(k), c.vdel(k, k)) for k in (b"\0", b"\r\n", b"\xff\xfe", b"*3\r\n$3\r\nSET\r\n", b"$-1", b" ")
    ],
)
session(
    "keys-like-verbs",
    "keys and values that read like verbs and options",
    setup=lambda c: (
        c.set("set", "nx"),
        c.set("NX", "px", "NEX"),
        c.set("PX", "PX", "PX", "5000"),
        c.get("get"),
        c.vdel("stop", "STOP"),
        c.keynotify("STOP"),
        c.keynotify("stop", "STOP"),
        c.keynotify("STOP", "STOP"),
        c.dele("set"),
    ),
)
session(
    "large-key",
    "a key of 6500 bytes and a value of 1 MB",
    "facts 7",
    setup=lambda c: (c.set(b"\0" * 6500, b"v" * 1000000), c.get(b"\0" * 6500), c.dele(b"\0" * 6500)),
)
session("very-large", "a value of 4,000,000 bytes", setup=lambda c: (c.set("big", b"\1" * 4000000), c.dele("big")))
session(
    "empty-values",
    "values of no bytes",
    "facts 2",
    setup=lambda c: (c.set("e", ""), c.get("e"), c.set("e", "", "NX"), c.vdel("e", "")),
)
session(
    "px-extremes",
    "PX 1 and PX of ten years and of 2^53",
    "article: milliseconds",
    setup=lambda c: (
        c.set("k1", "v", "PX", "1"),
        c.set("k2", "v", "PX", "315360000000"),
        c.set("k3", "v", "NX", "PX", "9007199254740992"),
    ),
)
session(
    "options",
    "all options that the documents have",
    setup=lambda c: [
        c.set("o", "v", *o) for o in ((), ("NX",), ("NEX",), ("PX", "1000"), ("NX", "PX", "1000"), ("NEX", "PX", "1000"))
    ],
)
session(
    "refused",
    "SETs and VDELs that are not applied, GETs that miss",
    setup=lambda c: (
        c.set("r", "1"),
        c.set("r", "2", "NX"),
        c.set("r", "3", "NEX"),
        c.vdel("r", "x"),
        c.get("none"),
        c.dele("none"),
        c.vdel("none", "x"),
    ),
)
session(
    "keynotify-twice",
    "KEYNOTIFY of a key twice, STOP twice",
    "facts 4, 8b.50",
    setup=lambda c: (
        c.sub(c.note_topic("#")),
        c.keynotify("t"),
        c.keynotify("t"),
        c.set("t", "1"),
        c.keynotify("t", "STOP"),
        c.keynotify("t", "STOP"),
    ),
)
session(
    "keynotify-exact",
    "it subscribes to the exact notification topics",
    setup=lambda c: (
        c.sub(c.note_topic("e1"), c.note_topic("e2")),
        c.keynotify("e1"),
        c.keynotify("e2"),
        c.set("e1", "v"),
        c.dele("e1"),
        c.keynotify("e1", "STOP"),
        c.unsub(c.note_topic("e1")),
    ),
)
session(
    "keynotify-many",
    "200 registrations",
    setup=lambda c: (
        c.sub(c.note_topic()),
        [c.keynotify("m%d" % i) for i in range(200)],
        [c.set("m%d" % i, "x") for i in range(0, 200, 20)],
    ),
)
session(
    "ft-own",
    "a fencing token of its own clock, without any lock",
    "article: may come from anywhere",
    setup=lambda c: (
        lambda t: (c.set("f", "1", ft=t), c.get("f"), c.set("f", "2", ft=t), c.vdel("f", "9", ft=t), c.dele("f", ft=t))
    )(c.clock.tick()),
)
session(
    "ft-old",
    "a fencing token of wall clock 0",
    "facts 5.1: legal input",
    setup=lambda c: (c.set("f", "1", ft="000000000000000:00000:x"), c.set("f", "2", ft="1:0:x"), c.dele("f", ft="1:0:x")),
)
session(
    "response-topic-go",
    "the response topic of the Go SDK",
    "facts 1.3",
    setup=lambda c: (
        setattr(
            c,
            "rt",
            "clients/%s/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke/response"
            % c.cid.encode().hex().upper(),
        ),
        c.setup(),
    ),
)
session(
    "response-topic-own",
    "a response topic of its own form",
    "ENV-RESPONSE-TOPIC-7",
    setup=lambda c: (setattr(c, "rt", "my/answers/%s" % c.cid), c.setup()),
)
session(
    "response-topics-many",
    "each request has another response topic below one wildcard",
    setup=lambda c: (c.sub("answers/%s/#" % c.cid), [c.get("k", rt="answers/%s/%d" % (c.cid, i)) for i in range(5)]),
)
session(
    "message-to-self",
    "it publishes to its own response topic, without correlation data",
    setup=lambda c: (c.publish(c.rt, "hello me", qos=1), c.drain(0.1)),
)
session(
    "pids-odd",
    "packet identifiers 65535, 1, 32768, 2, descending",
    setup=lambda c: [c.set("k", "x", pid=p) for p in (65535, 1, 32768, 2, 500, 499, 498)],
)
session(
    "pid-same",
    "each request has the same packet identifier, after its PUBACK",
    "[MQTT-2.2.1-3]",
    setup=lambda c: [c.set("k", str(i), pid=7) for i in range(6)],
)
session(
    "pid-both-ways",
    "its identifiers are those of the broker at the same time",
    "MQTT 5 2.2.1: independent",
    setup=lambda c: [c.set("k", str(i), pid=i) for i in range(20, 30)],
)


@right("ping-often", "200 PINGREQs among the requests", "MQTT 5 3.12")
def _(port):
    c = C(port, keepalive=1)
    c.setup()
    for i in range(20):
        c.send(b"\xc0\0" * 10)
        c.set("k", str(i))
        c.drain(0.02)
    c.work()
    c.bye()


@right("ping-idle", "idle for 4 s under a keep alive of 2 s, with PINGREQs alone", "[MQTT-3.1.2-20]")
def _(port):
    c = C(port, keepalive=2)
    c.setup()
    c.work(notify=False)
    for i in range(3):
        c.drain(1.3)
        c.send(b"\xc0\0")
    c.work()
    c.bye()


@right("aliases", "requests by topic alias, re-assigned to and fro", "MQTT 5 3.3.2.3.4")
def _(port):
    c = C(port)
    c.setup()
    m = c.cprops.get(ALIASMAX, 0)
    if m:
        c.set("k", "1", extra=[(ALIAS, m)])
        for i in range(4):
            c.get("k", topic="", extra=[(ALIAS, m)])
        c.publish("tele/x", "x", qos=1, ps=[(ALIAS, m)])
        c.publish("", "y", qos=1, ps=[(ALIAS, m)])
        c.set("k", "2", extra=[(ALIAS, 1)])
        c.set("k", "3", topic="", after=[(ALIAS, 1)])
        c.set("k", "4", extra=[(ALIAS, m)])
        c.get("k", topic="", extra=[(ALIAS, m)])
    c.work()
    c.bye()


@right("aliases-reconnect", "aliases are set anew after a reconnect", "[MQTT-3.3.2-7]")
def _(port):
    c = C(port, ps=EXP)
    c.setup()
    for i in range(3):
        c.set("k", "1", extra=[(ALIAS, 1)])
        c.get("k", topic="", extra=[(ALIAS, 1)])
        c.bye()
        c.connect(clean=False, ps=EXP)
    c.work()
    c.bye()


@right("in-flight-200", "200 requests under way, their answers taken later")
def _(port):
    c = C(port)
    c.setup()
    rs = [c.set("k%d" % (i % 7), str(i), wait=False) for i in range(200)]
    for r in rs:
        c.wait(r)
    c.work()
    c.bye()


@right(
    "in-flight-limit", "it keeps a Receive Maximum of 2", "[MQTT-3.3.4-7]",
    ["--receive-maximum", "2", "--puback-delay", "100ms"]
)
def _(port):
    c = C(port)
    c.setup()
    out = []
    for i in range(10):
        c.until(lambda: len(c.inflight) < 2)
        out.append(c.set("k", str(i), wait=False))
    for r in out:
        c.wait(r)
    c.bye()


@right(
    "packet-max-exact",
    "a request of just the Maximum Packet Size of 1000 bytes",
    "[MQTT-3.2.2-15]",
    ["--maximum-packet-size", "1000"],
)
def _(port):
    c = C(port)
    c.setup()
    for n in range(600, 1000):
        t = c.clock.tick()
        body = c.publish_bytes(
            REQ, resp("SET", "k", "x" * n), 1, 99, 0, 0, [(RTOPIC, c.rt), (CORR, b"c" * 16), (USER, ("__ts", t))]
        )
        if len(body) == 1000:
            c.used.add(99)
            c.send(body)
            break
    c.drain(0.2)
    c.work()
    c.bye()


@right("slow-puback", "each delivery is acknowledged 1 s later", "[MQTT-4.3.2-4] names no time")
def _(port):
    c = C(port)
    c.auto_ack = False
    c.setup()
    for i in range(3):
        c.set("k", str(i))
        c.drain(1)
        while c.unacked:
            c.puback(c.unacked.pop(0))
    c.auto_ack = True
    c.work()
    c.bye()


@right("late-pubacks", "deliveries are acknowledged in one go, in order, behind 30 requests", "[MQTT-4.6.0-2]")
def _(port):
    c = C(port)
    c.auto_ack = False
    c.setup()
    c.sub(c.note_topic())
    c.keynotify("lp")
    for i in range(30):
        c.set("lp", str(i))
    c.drain(0.1)
    c.send(b"".join(packet(0x40, struct.pack(">H", n)) for n in c.unacked))
    c.auto_ack = True
    c.work()
    c.bye()


@right("disconnect-unacked", "it disconnects while a delivery is not acknowledged yet", "MQTT 5 4.3.2 names no time")
def _(port):
    c = C(port)
    c.setup()
    c.work()
    c.get("k", wait=False)
    time.sleep(0.1)
    c.send(b"\xe0\0")
    time.sleep(0.1)
    c.drop()


@right("bytewise", "its packets arrive byte by byte")
def _(port):
    c = C(port)
    real = c.sock

    def slow(data):
        for i in range(len(data)):
            c.sock.sendall(data[i : i + 1])
            if i % 16 == 0:
                time.sleep(0.0005)

    c.send = slow
    c.setup()
    c.work()
    c.bye()


@right("one-segment", "CONNECT, SUBSCRIBE and requests in one segment, before the CONNACK", "MQTT 5 3.1.4: need not wait")
def _(port):
    c = C(port, connect=False)
    c.open()
    out = c.connect_packet()
    out += packet(0x82, struct.pack(">H", c.pid()) + props([]) + s16(c.rt) + b"\1")
    rs = []
    for i in range(3):
        r = c.set("k", str(i), send=False)
        rs.append(r)
        out += r.bytes
    c.send(out)
    c.connack()
    for r in rs:
        c.wait(r)
    c.work()
    c.bye()


@right("empty-client-id", "it lets the broker assign its client id", "[MQTT-3.1.3-6]")
def _(port):
    c = C(port, cid="")
    c.rt = "clients/%s/services/statestore/_any_/command/invoke/response" % c.cid
    c.setup()
    c.work()
    c.bye()


@right("client-id-odd", "a client id with blanks, slash and accents")
def _(port):
    c = C(port, cid="oh /é+#x")
    c.rt = "clients/odd/response"
    c.setup()
    c.work()
    c.bye()


@right(
    "resume-dup",
    "the connection is lost; the session is resumed and what waits is sent again, with DUP, in order",
    "[MQTT-4.4.0-1]",
    ["--puback-delay", "400ms"],
)
def _(port):
    c = C(port, ps=EXP)
    c.setup()
    rs = [c.set("r%d" % i, "v", wait=False) for i in range(5)]
    c.drain(0.1)
    c.drop()
    time.sleep(0.2)
    c.connect(clean=False, ps=EXP)
    assert c.present
    for r in rs:
        c.send(bytes([r.bytes[0] | 8]) + r.bytes[1:])
    c.drain(1)
    c.used.clear()
    c.set("after", "1")
    c.bye()


@right(
    "resume-dup-new-between",
    "as before, and new requests follow those that are sent again at once",
    "[MQTT-4.6.0-1]",
    ["--puback-delay", "300ms"],
)
def _(port):
    c = C(port, ps=EXP)
    c.setup()
    rs = [c.set("r%d" % i, "v", wait=False) for i in range(3)]
    c.drain(0.1)
    c.drop()
    time.sleep(0.2)
    c.connect(clean=False, ps=EXP)
    for r in rs:
        c.send(bytes([r.bytes[0] | 8]) + r.bytes[1:])
    c.set("n1", "1", wait=False)
    c.get("n1", wait=False)
    c.drain(1)
    c.bye()


@right(
    "drop-at-puback",
    "every third PUBACK is lost with its connection; all is sent again",
    "[MQTT-4.4.0-1]",
    ["--drop-at-puback", "3"],
)
def _(port):
    c = C(port, ps=EXP)
    c.setup()
    n = 0
    for i in range(8):
        r = c.set("d", str(i), send=False)
        data = r.bytes
        while True:
            try:
                c.send(data)
                c.until(lambda: r.pid not in c.used, 2)
                c.until(lambda: r.answer is not None, 1)
                break
            except Closed:
                n += 1
                c.drop()
                time.sleep(0.05)
                c.connect(clean=False, ps=EXP)
                data = bytes([r.bytes[0] | 8]) + r.bytes[1:]
    print("connections lost: %d" % n)
    try:
        c.bye()
    except Closed:
        pass


@right(
    "session-lost",
    "the session is gone: the requests are made anew with DUP 0 and new correlation",
    "[MQTT-4.3.2-2]",
    ["--puback-delay", "300ms"],
)
def _(port):
    c = C(port)
    c.setup()
    for i in range(3):
        c.set("s%d" % i, "v", wait=False)
    c.drain(0.1)
    c.drop()
    c.used.clear()
    c.pending.clear()
    c.next_pid = 1
    time.sleep(0.1)
    c.connect(clean=False)
    c.setup()
    for i in range(3):
        c.set("s%d" % i, "v")
    c.bye()


@right(
    "session-ended",
    "clean start ends a session with requests that wait; they are forgotten",
    "MQTT 5 3.1.2.4",
    ["--puback-delay", "300ms"],
)
def _(port):
    c = C(port, ps=EXP)
    c.setup()
    for i in range(3):
        c.set("s%d" % i, "v", wait=False)
    c.drain(0.1)
    c.drop()
    c.used.clear()
    c.pending.clear()
    c.next_pid = 1
    time.sleep(0.1)
    c.connect(clean=True)
    c.setup()
    c.get("s0")
    c.bye()


@right("reconnects", "ten connections one after the other, registered anew each time", "article")
def _(port):
    c = C(port, ps=EXP)
    c.setup()
    for i in range(10):
        c.sub(c.note_topic())
        c.keynotify("rn")
        c.set("rn", str(i))
        if i % 2:
            c.bye(linger=0.02)
        else:
            c.drain(0.05)
            c.drop()
            time.sleep(0.05)
        c.connect(clean=bool(i % 3 == 2), ps=EXP)
        c.setup()
    c.work()
    c.bye()


@right(
    "reconnect-no-interest", "after a reconnect it needs its keys no more, and does not register", "article: for keys it needs"
)
def _(port):
    c = C(port)
    c.setup()
    c.sub(c.note_topic())
    c.keynotify("ri")
    c.set("ri", "1")
    c.bye()
    c.connect()
    c.setup()
    c.set("ri", "2")
    c.get("ri")
    c.bye()


@right("takeover", "a second connection with the same client id takes over", "[MQTT-3.1.4-3]")
def _(port):
    a = C(port, cid="oh-take", ps=EXP)
    a.setup()
    a.work(notify=False)
    a.drain(0.1)
    c = C(port, cid="oh-take", connect=False, clock=a.clock)
    c.next_pid = 300
    c.connect(clean=False, ps=EXP)
    c.setup()
    c.sub(c.note_topic())
    c.keynotify("tk")
    c.set("tk", "1")
    c.bye()
    a.drop()


@right("will", "wills with all properties; one is sent, for the connection is cut", "MQTT 5 3.1.2.5")
def _(port):
    w = dict(
        topic="will/x",
        payload=b"\xff\0",
        qos=1,
        retain=1,
        props=[(WILLDELAY, 0), (PFI, 0), (EXPIRY, 9), (CTYPE, "x"), (RTOPIC, "w/r"), (CORR, b"1"), (USER, ("", ""))],
    )
    c = C(port, will=w)
    c.setup()
    c.work()
    c.drain(0.1)
    c.drop()
    time.sleep(0.2)
    c.connect(will=w)
    c.setup()
    c.set("k", "1")
    c.bye(code=4)
    c.connect(will=w)
    c.setup()
    c.set("k", "1")
    c.bye()


@right("user-password", "CONNECT with user name and password", "MQTT 5 3.1.3.5")
def _(port):
    c = C(port, user="me", password=b"\0\xff")
    c.setup()
    c.work()
    c.bye()


@right("password-alone", "CONNECT with a password and no user name", "MQTT 5 3.1.2.9 allows it")
def _(port):
    c = C(port, password=b"secret")
    c.setup()
    c.work()
    c.bye()


@right("disconnect-forms", "DISCONNECT with code, properties, a longer session expiry", "MQTT 5 3.14")
def _(port):
    c = C(port, ps=[(SESSEXP, 5)])
    c.setup()
    c.work()
    c.bye(0, [(SESSEXP, 100), (REASON, "bye"), (USER, ("a", "b"))])
    c.connect(clean=False, ps=[(SESSEXP, 5)])
    c.set("k", "1")
    c.bye(0, [])
    c.connect(clean=False)
    c.setup()
    c.set("k", "1")
    c.bye(0x80)


@right("several-clients", "five clients at once, each with its own clock")
def _(port):
    def run():
        c = C(port)
        c.setup()
        c.work(3)
        c.bye()

    ts = [threading.Thread(target=run) for i in range(5)]
    [t.start() for t in ts]
    [t.join() for t in ts]


@right("shared-clock", "three connections of one application share its clock and node id", "facts 1.1: application HLC")
def _(port):
    k = Clock()
    cs = [C(port, clock=k).setup() for i in range(3)]
    for i in range(10):
        cs[i % 3].set("sc", str(i))
    for c in cs:
        c.work()
        c.bye()


@right("shared-response", "two connections share one response topic with $share", "MQTT 5 4.8.2")
def _(port):
    k = Clock()
    a, c = C(port, clock=k), C(port, clock=k)
    for x in (a, c):
        x.rt = "answers/both"
        x.sub("$share/grp/answers/both")
    for i in range(5):
        a.set("k", str(i), wait=False)
        c.set("k", str(i), wait=False)
    a.drain(0.3)
    c.drain(0.3)
    a.bye()
    c.bye()


@right("threads-share", "four threads send on one connection and share its response topic", "facts 1.4: correlation")
def _(port):
    c = C(port)
    c.setup()
    lk = threading.Lock()

    def run(n):
        for i in range(10):
            with lk:
                c.set("th%d" % n, str(i), wait=False)
            time.sleep(0.002)

    ts = [threading.Thread(target=run, args=(n,)) for n in range(4)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    c.drain(0.5)
    c.work()
    c.bye()


@right("advanced-clock", "a version that is 30 s ahead is taken in; the clock goes on from there, by its counter", "facts 5.3")
def _(port):
    f = C(port, clock=Clock(offset=30000))
    f.setup()
    f.set("fast", "1")
    c = C(port)
    c.setup()
    c.get("fast")
    for i in range(10):
        c.set("slow", str(i))
    c.work()
    c.bye()
    f.bye()


@right("advanced-clock-notify", "a version in a notification that is 30 s ahead is taken in", "facts 5.3")
def _(port):
    c = C(port)
    c.setup()
    c.sub(c.note_topic())
    c.keynotify("fast")
    f = C(port, clock=Clock(offset=30000))
    f.setup()
    f.set("fast", "1")
    c.drain(0.2)
    c.work()
    c.bye()
    f.bye()


@right("store-ahead", "the clock of the store is 40 s ahead", "article", ["--clock-offset", "40s"])
def _(port):
    c = C(port)
    c.setup()
    c.work(3)
    c.bye()


@right("version-behind-pending", "requests were made before a version that is ahead arrived, and are behind it", "facts 5.3")
def _(port):
    f = C(port, clock=Clock(offset=30000))
    f.setup()
    f.set("fast", "1")
    c = C(port)
    c.setup()
    rs = [c.get("fast", wait=False)] + [c.set("p", str(i), wait=False) for i in range(10)]
    for r in rs:
        c.wait(r)
    c.work()
    c.bye()
    f.bye()


@right("new-node-after-restart", "it restarts: a new node id, the clock of the machine", "facts 5.1: a UUID for each start")
def _(port):
    c = C(port)
    c.setup()
    c.work()
    c.bye()
    time.sleep(0.1)
    c.clock = Clock()
    c.connect()
    c.setup()
    c.work()
    c.bye()


@right("lock", "lock with NEX and PX, renewed, a protected key written and deleted, released", "article; facts 6")
def _(port):
    c = C(port)
    c.setup()
    t = c.set("L", c.cid, "NEX", "PX", "10000").ts
    c.set("P", "1", ft=t)
    c.set("P", "2", ft=t)
    c.get("P")
    t = c.set("L", c.cid, "NEX", "PX", "10000").ts
    c.set("P", "3", ft=t)
    c.vdel("P", "other", ft=t)
    c.vdel("P", "3", ft=t)
    c.set("P", "4", ft=t)
    c.dele("P", ft=t)
    c.vdel("L", c.cid)
    t = c.set("L", c.cid, "NEX", "PX", "10000").ts
    c.set("P", "1", ft=t)
    c.vdel("L", c.cid)
    c.work()
    c.bye()


@right("lock-nx", "lock with NX and PX, renewed with NEX, released", "article: SET NX is AcquireLock")
def _(port):
    c = C(port)
    c.setup()
    t = c.set("L", c.cid, "NX", "PX", "10000").ts
    c.set("P", "1", ft=t)
    t2 = c.set("L", c.cid, "NEX", "PX", "10000").ts
    c.set("P", "2", ft=t2)
    c.vdel("L", c.cid)
    c.work()
    c.bye()


@right("lock-two", "two clients: the second is refused, waits for the end of PX, and writes with its own token", "article")
def _(port):
    a = C(port)
    a.setup()
    c = C(port)
    c.setup()
    t = a.set("L", a.cid, "NEX", "PX", "400").ts
    a.set("P", "a", ft=t)
    assert c.set("L", c.cid, "NEX", "PX", "9000").answer == b":-1\r\n"
    c.get("L")
    time.sleep(0.6)
    r = c.set("L", c.cid, "NEX", "PX", "9000")
    assert r.answer == b"+OK\r\n"
    c.set("P", "c", ft=r.ts)
    c.vdel("L", c.cid)
    a.get("P")
    a.bye()
    c.bye()


@right(
    "lock-older-token-in-flight",
    "a write with the token of the lock is sent before the answer of the renewal is there",
    "facts 6: equal or newer",
)
def _(port):
    c = C(port)
    c.setup()
    t = c.set("L", c.cid, "NEX", "PX", "9000").ts
    c.set("P", "1", ft=t)
    r1 = c.set("L", c.cid, "NEX", "PX", "9000", wait=False)
    r2 = c.set("P", "2", ft=t, wait=False)
    c.wait(r1)
    c.wait(r2)
    c.set("P", "3", ft=r1.ts)
    c.vdel("L", c.cid)
    c.work()
    c.bye()


@right(
    "fenced-other", "another client deletes a protected key with the token; then SET without one", "facts 6: token is not kept"
)
def _(port):
    c = C(port)
    c.setup()
    t = c.set("L", c.cid, "NEX", "PX", "9000").ts
    c.set("P", "1", ft=t)
    c.dele("P", ft=t)
    c.set("P", "2")
    c.dele("P")
    c.bye()


@right(
    "fenced-unknown",
    "a client that does not know of the token writes without one, is refused, and gives up",
    "facts 6: the store refuses it",
)
def _(port):
    a = C(port)
    a.setup()
    t = a.set("L", a.cid, "NEX", "PX", "9000").ts
    a.set("P", "1", ft=t)
    c = C(port)
    c.setup()
    c.set("P", "2")
    c.get("P")
    c.work()
    c.bye()
    a.bye()


@right("puback-error", "a PUBACK with 0x80: it could not process an answer", "MQTT 5 Table 3-4")
def _(port):
    c = C(port)
    c.setup()
    c.get("k")
    real = c.puback
    c.puback = lambda n: c.send(packet(0x40, struct.pack(">HB", n, 0x80)))
    c.set("k", "1")
    c.puback = real
    c.work()
    c.bye()


@right("connect-only", "it connects and leaves; then connects and is cut off")
def _(port):
    c = C(port)
    c.bye()
    c.connect()
    c.drop()
    c.connect(connect=True) if False else None
    d = C(port, connect=False)
    d.open()
    d.drop()


@right("observer", "a client that reads all messages and asks nothing", "MQTT 5")
def _(port):
    o = C(port)
    o.sub("#", opts=0)
    o.sub("$SYS/#", opts=0)
    c = C(port)
    c.setup()
    c.work()
    c.bye()
    o.drain(0.2)
    o.bye()


@right("qos0-subscription", "it subscribes to its answers with QoS 0", "MQTT 5 3.8.3.1")
def _(port):
    c = C(port)
    c.sub(c.rt, opts=0)
    c.work()
    c.bye()


@right(
    "hold-puback",
    "PUBACKs come late; answers overtake them; next requests take other identifiers",
    "",
    ["--puback-delay", "300ms"],
)
def _(port):
    c = C(port)
    c.setup()
    for i in range(10):
        r = c.set("hp", str(i), wait=False)
        c.until(lambda: r.answer is not None)
    c.drain(0.6)
    c.bye()


@right(
    "delayed",
    "answers are late and come with jitter, many under way",
    "",
    ["--response-delay", "100ms", "--response-jitter", "100ms"],
)
def _(port):
    c = C(port)
    c.setup()
    rs = [c.set("k%d" % i, "v", wait=False) for i in range(20)]
    for r in rs:
        c.wait(r)
    c.drain(0.3)
    c.bye()


@right(
    "documented-dialect", "an ordinary session with a store of the documented dialect", "facts 8a", ["--dialect", "documented"]
)
def _(port):
    c = C(port)
    c.setup()
    c.work(2)
    c.bye()


@right("timed-out", "it gives a request up after 50 ms and asks anew with new correlation", "", ["--response-delay", "150ms"])
def _(port):
    c = C(port)
    c.setup()
    c.set("to", "1", timeout=0.05)
    c.set("to", "1", timeout=0.05)
    c.set("to", "1")
    c.drain(0.4)
    c.bye()


# ------------------------------------------------- second round
@right(
    "reconnect-stop-cleanup",
    "after a reconnect it sends STOP for keys it no longer needs, to be sure",
    "article: STOP of what is not monitored is answered :0",
)
def _(port):
    c = C(port)
    c.setup()
    c.sub(c.note_topic())
    c.keynotify("rs")
    c.set("rs", "1")
    c.bye()
    c.connect()
    c.setup()
    r = c.keynotify("rs", "STOP")
    assert r.answer == b":0\r\n"
    c.set("rs", "2")
    c.work()
    c.bye()


@right(
    "ft-own-with-lock",
    "it holds a lock and fences another key with a token of its own counting",
    "article: the token may come from anywhere",
)
def _(port):
    c = C(port)
    c.setup()
    t = c.set("L", c.cid, "NEX", "PX", "9000").ts
    c.set("P", "1", ft=t)
    for i in range(3):
        c.set("Q", str(i), ft="%d:0:epoch" % (i + 1))
    c.set("R", "1", ft=c.clock.tick())
    c.vdel("L", c.cid)
    c.work()
    c.bye()


@right("two-locks", "two locks and two protected keys, each with its own token, to and fro", "facts 6")
def _(port):
    c = C(port)
    c.setup()
    t = c.set("L1", c.cid, "NEX", "PX", "9000").ts
    u = c.set("L2", c.cid, "NEX", "PX", "9000").ts
    for i in range(3):
        c.set("P1", str(i), ft=t)
        c.set("P2", str(i), ft=u)
        t = c.set("L1", c.cid, "NEX", "PX", "9000").ts
    c.dele("P2", ft=u)
    c.dele("P1", ft=t)
    c.vdel("L1", c.cid)
    c.vdel("L2", c.cid)
    c.work()
    c.bye()


@right(
    "lock-handed-over",
    "the holder hands its token to another client of the same application, which writes",
    "article: may come from anywhere",
)
def _(port):
    a = C(port)
    a.setup()
    c = C(port)
    c.setup()
    t = a.set("L", a.cid, "NEX", "PX", "9000").ts
    c.set("P", "1", ft=t)
    a.set("P", "2", ft=t)
    c.dele("P", ft=t)
    a.vdel("L", a.cid)
    a.bye()
    c.bye()


@right("lock-get-own", "it gets the token by a GET of the lock that it holds", "facts 6: GET returns the version")
def _(port):
    c = C(port)
    c.setup()
    c.set("L", c.cid, "NEX", "PX", "9000")
    t = c.get("L").ts
    c.set("P", "1", ft=t)
    c.vdel("L", c.cid)
    c.work()
    c.bye()


@right(
    "fenced-deleted-by-other",
    "a key that it fenced is deleted by another, with the token; it then writes without one",
    "facts 6",
)
def _(port):
    a = C(port)
    a.setup()
    c = C(port)
    c.setup()
    t = c.set("L", c.cid, "NEX", "PX", "9000").ts
    c.set("P", "1", ft=t)
    assert a.dele("P", ft=t).answer == b":1\r\n"
    c.set("P", "2")
    c.dele("P")
    a.bye()
    c.bye()


@right("clock-step-back", "the clock of the machine steps back by 5 s; the HLC goes on by its counter", "facts 5.3")
def _(port):
    c = C(port)
    c.setup()
    for i in range(40):
        if i == 15:
            c.clock.offset = -5000
        c.set("t", str(i))
        c.drain(0.02)
    c.bye()


@right("clock-step-ahead", "the clock of the machine steps ahead by 20 s", "facts 5.3")
def _(port):
    c = C(port)
    c.setup()
    for i in range(20):
        if i == 8:
            c.clock.offset = 20000
        c.set("t", str(i))
        c.drain(0.02)
    c.bye()


@right(
    "threads-race",
    "threads take their __ts and then race to send: neighbours are swapped on the wire",
    "facts 5.3: each __ts that it makes is greater",
)
def _(port):
    c = C(port)
    c.setup()
    for i in range(20):
        t1, t2 = c.clock.tick(), c.clock.tick()
        c.set("a", str(i), ts=t2, wait=False)
        c.set("b", str(i), ts=t1, wait=False)
        c.drain(0.02)
    c.bye()


@right(
    "resp-elsewhere",
    "RESP requests to another service (a Redis bridge), with response topic and correlation",
    "the article binds requests to the store alone",
)
def _(port):
    c = C(port)
    c.setup()
    c.sub("bridge/answers")
    for e in (("GET", "k"), ("set", "k", "v"), ("SET", "k", "v", "EX", "10")):
        c.publish("redis/bridge/invoke", resp(*e), qos=1, ps=[(RTOPIC, "bridge/answers"), (CORR, b"1")])
    c.work()
    c.bye()


@right("near-topic-json", "JSON telemetry to a topic below statestore/", "the article binds requests to the store alone")
def _(port):
    c = C(port)
    c.setup()
    c.publish("statestore/v1/metrics", '{"a":1}', qos=1)
    c.publish("statestore", "x")
    c.publish("clients/%s/status" % c.cid, "up", retain=1)
    c.work()
    c.bye()


@right("resume-qos2", "QoS 2 to another topic: PUBLISH and PUBREL are sent again on the resumed session", "[MQTT-4.4.0-1]")
def _(port):
    c = C(port, ps=EXP)
    c.setup()
    c.no_pubrel = True
    d = c.publish_bytes("tele/x", "hi", 2, 77)
    c.send(d)
    c.drop()
    time.sleep(0.2)
    c.connect(clean=False, ps=EXP)
    assert c.present
    c.send(b"\x3c" + d[1:])
    c.drain(0.2)  # PUBLISH again with DUP
    c.drop()
    time.sleep(0.1)
    c.connect(clean=False, ps=EXP)
    c.no_pubrel = False
    c.send(packet(0x62, struct.pack(">H", 77)))
    c.drain(0.2)
    c.drop()
    time.sleep(0.1)
    c.connect(clean=False, ps=EXP)
    c.work()
    c.bye()


@right("pubrel-resumed", "a PUBREL without PUBCOMP is sent again on the resumed session", "[MQTT-4.4.0-1]")
def _(port):
    c = C(port, ps=EXP)
    c.setup()
    n = c.publish("tele/x", "hi", qos=2, wait=False)
    c.until(lambda: False, 0.0)
    while True:
        p = c.read(1)
        c.handle(p)  # PUBREC is answered with PUBREL
        if p.type == 5:
            break
    c.drop()
    time.sleep(0.1)
    c.connect(clean=False, ps=EXP)
    assert c.present
    c.send(packet(0x62, struct.pack(">H", n)))
    c.drain(0.2)
    c.work()
    c.bye()


@right(
    "redelivery",
    "deliveries that it had not acknowledged come again on the resumed session, and are acknowledged then",
    "[MQTT-4.4.0-1]",
)
def _(port):
    c = C(port, ps=EXP)
    c.setup()
    c.auto_ack = False
    for i in range(3):
        c.set("rd", str(i))
    c.drop()
    time.sleep(0.1)
    c.unacked.clear()
    c.auto_ack = True
    c.connect(clean=False, ps=EXP)
    c.drain(0.3)
    c.work()
    c.bye()


@right(
    "subscribe-id-after-reconnect",
    "the connection is lost before the SUBACK; the identifier is free then",
    "MQTT 5 4.1: session state",
)
def _(port):
    c = C(port, ps=EXP)
    c.send(packet(0x82, struct.pack(">H", 5) + props([]) + s16(c.rt) + b"\1"))
    c.drop()
    time.sleep(0.1)
    c.connect(clean=False, ps=EXP)
    c.setup()
    c.get("k", pid=5)
    c.work()
    c.bye()


@right(
    "takeover-in-flight",
    "a second connection takes the session over while requests wait, and sends them again",
    "[MQTT-4.4.0-1]",
    ["--puback-delay", "500ms"],
)
def _(port):
    c = C(port, ps=EXP)
    c.setup()
    rs = [c.set("t%d" % i, "v", wait=False) for i in range(3)]
    c.drain(0.1)
    old = c.sock
    c.connect(clean=False, ps=EXP)
    assert c.present
    for r in rs:
        c.send(bytes([r.bytes[0] | 8]) + r.bytes[1:])
    c.drain(1)
    old.close()
    c.bye()


@right(
    "other-resume",
    "a QoS 1 message to another topic waits and is sent again with DUP",
    "[MQTT-4.4.0-1]",
    ["--puback-delay", "400ms"],
)
def _(port):
    c = C(port, ps=EXP)
    c.setup()
    d = c.publish_bytes("tele/x", "hi", 1, 88)
    c.send(d)
    c.drain(0.1)
    c.drop()
    time.sleep(0.1)
    c.connect(clean=False, ps=EXP)
    c.send(b"\x3a" + d[1:])
    c.drain(0.6)
    c.work(notify=False)
    c.bye()


@right(
    "resume-resend-after-suback",
    "on the resumed session it first subscribes, and then sends again",
    "MQTT 5 4.4 names no time",
    ["--puback-delay", "400ms"],
)
def _(port):
    c = C(port, ps=EXP)
    c.setup()
    rs = [c.set("t%d" % i, "v", wait=False) for i in range(3)]
    c.drain(0.1)
    c.drop()
    time.sleep(0.1)
    c.connect(clean=False, ps=EXP)
    c.sub(c.rt, pid=700)
    c.send(b"\xc0\0")
    c.drain(0.1)
    for r in rs:
        c.send(bytes([r.bytes[0] | 8]) + r.bytes[1:])
    c.drain(0.8)
    c.bye()


@right(
    "lost-while-resending",
    "the connection is lost again in the midst of sending again",
    "[MQTT-4.6.0-1]",
    ["--puback-delay", "400ms"],
)
def _(port):
    c = C(port, ps=EXP)
    c.setup()
    rs = [c.set("t%d" % i, "v", wait=False) for i in range(4)]
    c.drain(0.1)
    c.drop()
    time.sleep(0.1)
    c.connect(clean=False, ps=EXP)
    for r in rs[:2]:
        c.send(bytes([r.bytes[0] | 8]) + r.bytes[1:])
    time.sleep(0.1)
    c.drop()
    time.sleep(0.1)
    c.connect(clean=False, ps=EXP)
    for r in rs:
        c.send(bytes([r.bytes[0] | 8]) + r.bytes[1:])
    c.drain(0.8)
    c.bye()


@right(
    "two-nodes",
    "two libraries on one connection, each with a clock and node id of its own",
    "facts 5.1: the node id names the clock",
)
def _(port):
    c = C(port)
    c.setup()
    k = [Clock(), Clock()]
    for i in range(30):
        c.clock = k[i % 2]
        for x in k:
            x.wall = max(x.wall, 0)
        r = c.set("n%d" % (i % 2), str(i))
        if r.ts:
            k[0].merge(r.ts)
            k[1].merge(r.ts)
    c.bye()


@right(
    "disconnect-resume-no-wait",
    "it disconnects with requests that wait, without session, and is gone",
    "MQTT 5 3.14",
    ["--puback-delay", "300ms"],
)
def _(port):
    c = C(port)
    c.setup()
    c.set("x", "1", wait=False)
    c.drain(0.05)
    c.send(b"\xe0\0")
    c.drop()
    time.sleep(0.2)


@right("response-topic-odd", "response topics with blanks, $, empty levels, and of 60,000 characters", "ENV-RESPONSE-TOPIC-7")
def _(port):
    c = C(port)
    c.setup()
    for t in ("a//b", " x ", "a/$b", "/", "r" * 60000):
        c.sub(t)
        c.get("k", rt=t)
    c.work()
    c.bye()


@right("keep-alive-busy", "keep alive 1 s, requests each 0.8 s, no PINGREQ", "[MQTT-3.1.2-20]: other packets count")
def _(port):
    c = C(port, keepalive=1)
    c.setup()
    for i in range(5):
        c.get("k")
        c.drain(0.75)
    c.bye()


@right("keep-alive-half-packet", "keep alive 2 s and the bytes of a large request come slowly over 3 s", "MQTT 5 3.1.2.10")
def _(port):
    c = C(port, keepalive=2)
    c.setup()
    r = c.set("k", "x" * 3000, send=False)
    n = len(r.bytes) // 6
    c.send(b"\xc0\0")
    for i in range(0, len(r.bytes), n):
        c.sock.sendall(r.bytes[i : i + n])
        time.sleep(0.25)
    c.wait(r)
    c.bye()


@right("px-number-forms", "PX with 1 to 15 digits", "article: milliseconds")
def _(port):
    c = C(port)
    c.setup()
    for n in range(1, 16):
        c.set("p%d" % n, "v", "PX", "9" * n)
    c.bye()
