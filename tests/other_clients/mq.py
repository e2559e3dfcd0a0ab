"""A small raw MQTT 5 client and, on it, a healthy client of the state store protocol."""

import os, socket, struct, time, select

REQ = "statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke"
NOTE = "clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/%s/command/notify/%s"

# property identifiers
PFI, EXPIRY, CTYPE, RTOPIC, CORR, SUBID, SESSEXP = 0x01, 0x02, 0x03, 0x08, 0x09, 0x0B, 0x11
AUTHM, AUTHD, PROBLEM, WILLDELAY, RESPINFO = 0x15, 0x16, 0x17, 0x18, 0x19
REASON, RECVMAX, ALIASMAX, ALIAS, USER, MAXPKT = 0x1F, 0x21, 0x22, 0x23, 0x26, 0x27
KIND = {
    0x01: "b",
    0x02: "I",
    0x03: "s",
    0x08: "s",
    0x09: "d",
    0x0B: "v",
    0x11: "I",
    0x12: "s",
    0x13: "H",
    0x15: "s",
    0x16: "d",
    0x17: "b",
    0x18: "I",
    0x19: "b",
    0x1A: "s",
    0x1C: "s",
    0x1F: "s",
    0x21: "H",
    0x22: "H",
    0x23: "H",
    0x24: "b",
    0x25: "b",
    0x26: "p",
    0x27: "I",
    0x28: "b",
    0x29: "b",
    0x2A: "b",
}


def b(x):
    return x if isinstance(x, (bytes, bytearray)) else str(x).encode("utf-8")


def varint(n):
    out = bytearray()
    while True:
        d, n = n % 128, n // 128
        out.append(d | (128 if n else 0))
        if not n:
            return bytes(out)


def s16(x):
    x = b(x)
    return struct.pack(">H", len(x)) + x


def prop(i, v):
    k = KIND[i]
    head = bytes([i])
    if k == "b":
        return head + bytes([v])
    if k == "H":
        return head + struct.pack(">H", v)
    if k == "I":
        return head + struct.pack(">I", v)
    if k == "v":
        return head + varint(v)
    if k == "p":
        return head + s16(v[0]) + s16(v[1])
    return head + s16(v)


def props(ps):
    """A list of (id, value), or of raw bytes, with its length before it."""
    body = b"".join(p if isinstance(p, bytes) else prop(*p) for p in ps)
    return varint(len(body)) + body


def packet(first, body):
    return bytes([first]) + varint(len(body)) + body


def resp(*els):
    return b"*%d\r\n" % len(els) + b"".join(b"$%d\r\n%s\r\n" % (len(b(e)), b(e)) for e in els)


def parse_props(body, at):
    n = sh = 0
    while True:
        c = body[at]
        at += 1
        n |= (c & 127) << sh
        sh += 7
        if c < 128:
            break
    end, out = at + n, []
    while at < end:
        i = body[at]
        at += 1
        k = KIND[i]
        if k == "b":
            v = body[at]
            at += 1
        elif k == "H":
            v = struct.unpack_from(">H", body, at)[0]
            at += 2
        elif k == "I":
            v = struct.unpack_from(">I", body, at)[0]
            at += 4
        elif k == "v":
            v = sh = 0
            while True:
                c = body[at]
                at += 1
                v |= (c & 127) << sh
                sh += 7
                if c < 128:
                    break
        else:

            def st():
                nonlocal at
                ln = struct.unpack_from(">H", body, at)[0]
                r = bytes(body[at + 2 : at + 2 + ln])
                at += 2 + ln
                return r

            v = (st(), st()) if k == "p" else st()
        out.append((i, v))
    return out, end


class Closed(Exception):
    pass


class Packet:
    def __init__(self, first, body):
        self.first, self.type, self.body = first, first >> 4, body
        self.pid, self.props, self.code = None, [], None


class Clock:
    """A hybrid logical clock; may be shared by several clients of one application."""

    def __init__(self, node=None, offset=0, coarse=1):
        self.wall, self.count, self.node = 0, -1, node or "n" + os.urandom(4).hex()
        self.offset, self.coarse = offset, coarse

    def phys(self):
        t = int(time.time() * 1000) + self.offset
        return t - t % self.coarse

    def tick(self):
        w = self.phys()
        if w > self.wall:
            self.wall, self.count = w, 0
        else:
            self.count += 1
        return "%d:%d:%s" % (self.wall, self.count, self.node)

    def merge(self, text):
        w, c, n = text.split(":", 2)
        if n == self.node:
            return
        w, c, p = int(w), int(c), self.phys()
        if p > self.wall and p > w:
            self.wall, self.count = p, 0
        elif self.wall == w:
            self.count = max(self.count, c) + 1
        elif self.wall > w:
            self.count += 1
        else:
            self.wall, self.count = w, c + 1


class Req:
    pass


class C:
    """A healthy client. All that is said to it by keyword changes one thing of it."""

    def __init__(self, port, cid=None, connect=True, clock=None, **kw):
        self.port = port
        self.cid = cid if cid is not None else "oh-" + os.urandom(5).hex()
        self.clock = clock or Clock()
        self.rt = "clients/%s/services/statestore/_any_/command/invoke/response" % self.cid
        self.sock, self.buf, self.inpids = None, b"", []
        self.next_pid, self.used = 1, set()
        self.pending, self.done, self.notes, self.others = {}, {}, [], []
        self.acks, self.deliveries, self.unacked = {}, [], []
        self.auto_ack, self.ack_form, self.merge, self.trace = True, "short", True, []
        self.aliases_in, self.inflight = {}, {}
        self.events = []
        if connect:
            self.connect(**kw)

    # ---- bytes
    def open(self):
        self.buf = b""
        self.sock = socket.create_connection(("127.0.0.1", self.port), 5)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data):
        try:
            self.sock.sendall(data)
        except OSError as e:
            raise Closed("send: %s" % e)

    def drop(self):
        try:
            self.sock.close()
        except OSError:
            pass
        self.sock = None

    def read(self, timeout):
        """One packet, or None after so long."""
        end = time.time() + timeout
        while True:
            p = self.cut()
            if p:
                return p
            left = end - time.time()
            if left < 0:
                left = 0
            if not select.select([self.sock], [], [], left)[0]:
                return None
            try:
                d = self.sock.recv(65536)
            except OSError as e:
                raise Closed("recv: %s" % e)
            if not d:
                raise Closed("end of file" + (", after " + self.events[-1] if self.events else ""))
            self.buf += d

    def cut(self):
        n = sh = 0
        i = 1
        while True:
            if i >= len(self.buf):
                return None
            c = self.buf[i]
            i += 1
            n |= (c & 127) << sh
            sh += 7
            if c < 128:
                break
        if len(self.buf) < i + n:
            return None
        p = Packet(self.buf[0], self.buf[i : i + n])
        self.buf = self.buf[i + n :]
        return p

    # ---- packets
    def connect_packet(
        self, clean=True, keepalive=60, ps=(), will=None, flags=None, name="MQTT", version=5, cid=None, user=None, password=None
    ):
        f = 2 if clean else 0
        tail = s16(self.cid if cid is None else cid)
        if will:
            f |= 4 | will.get("qos", 0) << 3 | (32 if will.get("retain") else 0)
            if version == 5:
                tail += props(will.get("props", []))
            tail += s16(will["topic"]) + s16(will["payload"])
        if user is not None:
            f |= 128
            tail += s16(user)
        if password is not None:
            f |= 64
            tail += s16(password)
        if flags is not None:
            f = flags
        body = s16(name) + bytes([version, f]) + struct.pack(">H", keepalive)
        if version == 5:
            body += props(ps)
        return packet(0x10, body + tail)

    def connect(self, wait=True, **kw):
        self.open()
        self.send(self.connect_packet(**kw))
        if wait:
            self.connack()

    def connack(self):
        p = self.read(5)
        if not p or p.type != 2:
            raise Closed("no CONNACK")
        self.present, self.code = p.body[0] & 1, p.body[1]
        self.cprops = dict(parse_props(p.body, 2)[0]) if len(p.body) > 2 else {}
        if 0x12 in self.cprops:
            self.cid = self.cprops[0x12].decode()
        if self.code:
            raise Closed("CONNACK 0x%02x" % self.code)

    def pid(self):
        while self.next_pid in self.used:
            self.next_pid = self.next_pid % 65535 + 1
        n = self.next_pid
        self.next_pid = n % 65535 + 1
        return n

    def sub(self, *filters, opts=1, ps=(), wait=True, pid=None):
        n = self.pid() if pid is None else pid
        self.used.add(n)
        body = struct.pack(">H", n) + props(ps)
        for f in filters:
            body += s16(f) + bytes([opts])
        self.send(packet(0x82, body))
        if wait:
            self.until(lambda: n in self.acks)
            return self.acks.pop(n, None)

    def unsub(self, *filters, wait=True):
        n = self.pid()
        self.used.add(n)
        self.send(packet(0xA2, struct.pack(">H", n) + props([]) + b"".join(s16(f) for f in filters)))
        if wait:
            self.until(lambda: n in self.acks)
            return self.acks.pop(n, None)

    def publish_bytes(self, topic, payload, qos=1, pid=None, dup=0, retain=0, ps=()):
        body = s16(topic)
        if qos:
            body += struct.pack(">H", pid)
        return packet(0x30 | dup << 3 | qos << 1 | retain, body + props(ps) + b(payload))

    def publish(self, topic, payload, qos=0, ps=(), retain=0, dup=0, wait=True):
        n = None
        if qos:
            n = self.pid()
            self.used.add(n)
        self.send(self.publish_bytes(topic, payload, qos, n, dup, retain, ps))
        if qos and wait:
            self.until(lambda: n in self.acks)
            return self.acks.pop(n, None)
        return n

    def puback(self, n):
        if self.ack_form == "short":
            self.send(packet(0x40, struct.pack(">H", n)))
        elif self.ack_form == "code":
            self.send(packet(0x40, struct.pack(">H", n) + b"\0"))
        else:
            self.send(packet(0x40, struct.pack(">H", n) + b"\0" + props([(REASON, "fine"), (USER, ("a", "b"))])))

    def handle(self, p):
        t = p.type
        if t == 4 or t == 9 or t == 11 or t == 7:  # PUBACK SUBACK UNSUBACK PUBCOMP
            n = struct.unpack_from(">H", p.body)[0]
            self.acks[n] = p.body[2:] or b"\0"
            self.used.discard(n)
            self.inflight.pop(n, None)
            return
        if t == 5:  # PUBREC
            n = struct.unpack_from(">H", p.body)[0]
            if len(p.body) > 2 and p.body[2] >= 0x80:
                self.used.discard(n)
                self.acks[n] = p.body[2:]
                return
            if getattr(self, "no_pubrel", False):
                return
            self.send(packet(0x62, struct.pack(">H", n)))
            return
        if t == 6:  # PUBREL
            self.send(packet(0x70, p.body[:2]))
            return
        if t == 13 or t == 2 or t == 15:
            return
        if t == 14:
            self.events.append("DISCONNECT 0x%02x" % (p.body[0] if p.body else 0))
            return
        if t != 3:
            return
        qos = p.first >> 1 & 3
        at = 2 + struct.unpack_from(">H", p.body)[0]
        topic = bytes(p.body[2:at])
        n = None
        if qos:
            n = struct.unpack_from(">H", p.body, at)[0]
            at += 2
        ps, at = parse_props(p.body, at)
        payload = bytes(p.body[at:])
        d = dict((i, v) for i, v in ps if i != USER)
        up = dict(v for i, v in ps if i == USER)
        if ALIAS in d:
            if topic:
                self.aliases_in[d[ALIAS]] = topic
            else:
                topic = self.aliases_in[d[ALIAS]]
        m = dict(topic=topic, qos=qos, pid=n, props=d, user=up, payload=payload, all=ps)
        self.deliveries.append(m)
        ts = up.get(b"__ts")
        if ts and self.merge:
            self.clock.merge(ts.decode())
        if qos == 1:
            if self.auto_ack:
                self.puback(n)
            else:
                self.unacked.append(n)
        elif qos == 2:
            self.send(packet(0x50, struct.pack(">H", n)))
        c = d.get(CORR)
        if c in self.pending and b"/command/notify/" not in topic:
            r = self.pending.pop(c)
            r.answer, r.ts, r.msg = payload, ts.decode() if ts else None, m
            self.done[c] = r
        elif b"/command/notify/" in topic:
            self.notes.append(m)
        else:
            self.others.append(m)

    def until(self, cond, timeout=4):
        end = time.time() + timeout
        while not cond():
            p = self.read(max(0, end - time.time()))
            if p is None:
                return False
            self.handle(p)
        return True

    def drain(self, seconds):
        self.until(lambda: False, seconds)

    # ---- the protocol
    def setup(self, **kw):
        self.sub(self.rt, **kw)
        return self

    def ask(
        self,
        payload,
        ts=True,
        ft=None,
        corr=True,
        rt=True,
        qos=1,
        topic=REQ,
        extra=(),
        pid=None,
        dup=0,
        retain=0,
        wait=True,
        raw=None,
        after=(),
        send=True,
        timeout=4,
    ):
        """A request. ts: True: of the clock, None: none, else this text; extra: properties in
        front, after: behind the others; raw: the whole list of properties instead."""
        r = Req()
        r.answer = r.ts = None
        r.corr = os.urandom(16) if corr is True else corr
        r.pid = (self.pid() if pid is None else pid) if qos else None
        ps = list(extra)
        if rt is not None:
            ps.append((RTOPIC, self.rt if rt is True else rt))
        if r.corr is not None:
            ps.append((CORR, r.corr))
        if ts is not None:
            ps.append((USER, ("__ts", self.clock.tick() if ts is True else ts)))
        if ft is not None:
            ps.append((USER, ("__ft", ft)))
        ps += after
        if raw is not None:
            ps = raw
        r.bytes = self.publish_bytes(topic, payload, qos, r.pid, dup, retain, ps)
        if r.pid:
            self.used.add(r.pid)
            self.inflight[r.pid] = r
        if r.corr is not None:
            self.pending[r.corr] = r
        if not send:
            return r
        self.send(r.bytes)
        if wait:
            self.wait(r, timeout)
        return r

    def wait(self, r, timeout=4):
        ok = self.until(lambda: r.answer is not None and r.pid not in self.used, timeout)
        if not ok:
            self.trace.append("no answer or PUBACK for a request")
        return r

    def set(self, k, v, *opts, **kw):
        return self.ask(resp("SET", k, v, *opts), **kw)

    def get(self, k, **kw):
        kw.setdefault("ts", None)
        return self.ask(resp("GET", k), **kw)

    def dele(self, k, **kw):
        kw.setdefault("ts", None)
        return self.ask(resp("DEL", k), **kw)

    def vdel(self, k, v, **kw):
        kw.setdefault("ts", None)
        return self.ask(resp("VDEL", k, v), **kw)

    def keynotify(self, k, *opts, **kw):
        kw.setdefault("ts", None)
        return self.ask(resp("KEYNOTIFY", k, *opts), **kw)

    def note_topic(self, k="+"):
        return NOTE % (self.cid.encode().hex().upper(), k if k in "+#" else b(k).hex().upper())

    def key(self, name="k"):
        return "%s-%s" % (self.cid, name)

    def work(self, n=1, notify=True):
        """The ordinary session: some of each verb, waiting for each reply."""
        if notify:
            self.sub(self.note_topic())
            self.keynotify(self.key("n"))
        for i in range(n):
            self.set(self.key("a"), "v%d" % i)
            self.get(self.key("a"))
            self.set(self.key("n"), "x%d" % i)
            self.vdel(self.key("a"), "other")
            self.vdel(self.key("a"), "v%d" % i)
            self.set(self.key("b"), "w", "PX", "60000")
            self.dele(self.key("b"))
            self.get(self.key("b"))
        if notify:
            self.drain(0.05)
            self.keynotify(self.key("n"), "STOP")
        return self

    def bye(self, code=None, ps=None, linger=0.1):
        self.drain(linger)
        body = b""
        if code is not None:
            body = bytes([code]) + (props(ps) if ps is not None else b"")
        self.send(packet(0xE0, body))
        time.sleep(0.05)
        self.drop()
