"""A small MQTT 5 broker: connections, sessions, subscriptions, retained messages.

Numbers in comments are sections or statements of the MQTT 5 specification.  Messages to
the request topic of the state store are handed to `Broker.store` as well.
"""
import asyncio
import uuid
from collections import OrderedDict, deque

import mqtt5 as m
from mqtt5 import Message, MqttError

NEVER = 0xFFFFFFFF
QUEUE_LIMIT = 100_000           # messages that wait for one session; more are dropped


class Subscription:
    __slots__ = ("qos", "no_local", "as_published", "handling", "sub_id")

    def __init__(self, options, sub_id):
        self.qos = options & 3
        self.no_local = bool(options & 4)
        self.as_published = bool(options & 8)
        self.handling = options >> 4 & 3
        self.sub_id = sub_id


class Node:
    """One level of the tree of topic filters."""
    __slots__ = ("children", "subs")

    def __init__(self):
        self.children = {}
        self.subs = {}          # session -> Subscription


class Tree:
    def __init__(self):
        self.root = Node()

    def add(self, text, session, sub):
        node = self.root
        for level in text.split("/"):
            if level not in node.children:
                node.children[level] = Node()
            node = node.children[level]
        node.subs[session] = sub

    def remove(self, text, session):
        path = [(None, self.root)]
        for level in text.split("/"):
            path.append((level, path[-1][1].children[level]))
        path[-1][1].subs.pop(session, None)
        for i in range(len(path) - 1, 0, -1):
            level, node = path[i]
            if node.subs or node.children:
                break
            del path[i - 1][1].children[level]

    def match(self, topic):
        """[(session, Subscription)] of all filters that match the topic (4.7)."""
        found = []
        nodes = [self.root]
        # MQTT-4.7.2-1: a leading wildcard does not match a topic that begins with $.
        wild = not topic.startswith("$")
        for level in topic.split("/"):
            after = []
            for node in nodes:
                children = node.children
                if level in children:
                    after.append(children[level])
                if wild:
                    if "+" in children:
                        after.append(children["+"])
                    if "#" in children:
                        found.extend(children["#"].subs.items())
            nodes = after
            wild = True
        for node in nodes:
            found.extend(node.subs.items())
            if "#" in node.children:            # `a/#` matches `a` as well (4.7.1.2)
                found.extend(node.children["#"].subs.items())
        return found


def matches(text, topic):
    """Whether one filter matches one topic; for retained messages."""
    if topic[0] == "$" and text[0] in "+#":
        return False
    want, have = text.split("/"), topic.split("/")
    for i, level in enumerate(want):
        if level == "#":
            return True
        if i >= len(have) or (level != "+" and level != have[i]):
            return False
    return len(want) == len(have)


class Session:
    """What outlives a connection (4.1)."""

    def __init__(self, broker, client_id):
        self.broker = broker
        self.client_id = client_id
        self.conn = None
        self.expiry = 0
        self.subs = {}                  # filter -> Subscription
        self.queue = deque()            # (message, qos, retain, sub_ids) not sent yet
        self.inflight = OrderedDict()   # packet id -> [entry or None once PUBREC came, sent]
        self.received = set()           # packet ids of QoS 2 PUBLISHes of the client, before PUBREL
        self.next_pid = 1
        self.timer = None               # end of the session
        self.will = None                # (message, timer) of a delayed will

    def deliver(self, message, qos, retain=False, sub_ids=None):
        conn = self.conn
        if conn is None and (qos == 0 or self.expiry == 0):
            return
        if qos == 0 and not self.queue:
            conn.send_publish(message, 0, retain, False, None, sub_ids)
        elif len(self.queue) < QUEUE_LIMIT:
            # 4.9: with the quota used up QoS 0 may wait as well; it keeps its place so.
            self.queue.append((message, qos, retain, sub_ids))
            if conn is not None:
                self.pump()

    def pump(self):
        """Send what may be sent: as many unacknowledged as the client's Receive Maximum."""
        conn = self.conn
        while self.queue:
            message, qos, retain, sub_ids = self.queue[0]
            if qos and (conn.quota <= 0 or len(self.inflight) >= 65535):
                return
            entry = self.queue.popleft()
            if qos == 0:
                conn.send_publish(message, 0, retain, False, None, sub_ids)
                continue
            while self.next_pid in self.inflight:
                self.next_pid = self.next_pid % 65535 + 1
            pid = self.next_pid
            self.next_pid = pid % 65535 + 1
            if conn.send_publish(message, qos, retain, False, pid, sub_ids):
                self.inflight[pid] = [entry, True]
                conn.quota -= 1

    def resume(self):
        """4.4: on reconnection send unacknowledged PUBLISH and PUBREL again, in order."""
        for slot in self.inflight.values():
            slot[1] = False
        self.queue = deque(e for e in self.queue if e[1])
        self.resend()

    def resend(self):
        conn = self.conn
        for pid, slot in list(self.inflight.items()):
            if slot[1]:
                continue
            if slot[0] is None:
                conn.send(m.enc_ack(m.PUBREL, pid, 0))
            else:
                if conn.quota <= 0:
                    return
                message, qos, retain, sub_ids = slot[0]
                if not conn.send_publish(message, qos, retain, True, pid, sub_ids):
                    del self.inflight[pid]
                    continue
                conn.quota -= 1
            slot[1] = True
        self.pump()

    def acknowledged(self, kind, pid, code):
        """PUBACK, PUBREC or PUBCOMP of the client."""
        slot = self.inflight.get(pid)
        conn = self.conn
        if kind == m.PUBREC:
            if slot is None:
                conn.send(m.enc_ack(m.PUBREL, pid, m.ID_NOT_FOUND))
                return
            if code < 0x80:
                slot[0] = None
                slot[1] = True
                conn.send(m.enc_ack(m.PUBREL, pid, 0))
                return
        if slot is None:
            return
        del self.inflight[pid]
        conn.quota = min(conn.quota + 1, conn.receive_max)
        self.resend()


class Connection(asyncio.Protocol):
    def __init__(self, broker):
        self.broker = broker
        self.choices = broker.choices
        self.state = "new"              # new, up, closed
        self.buf = bytearray()
        self.out = []
        self.session = None
        self.will = None
        self.will_delay = 0
        self.keep_alive = 0
        self.quota = self.receive_max = 65535
        self.max_packet = None
        self.aliases = {}
        self.acks = deque()             # [packet or None]: acknowledgements in their order (4.6)
        self.unacked = 0                # QoS 1 and 2 of the client under way
        self.transport = None

    # ------------------------------------------------------------ network

    def connection_made(self, transport):
        self.transport = transport
        self.broker.connections.add(self)
        self.alive_timer = self.broker.loop.call_later(10, self.transport.abort)

    def connection_lost(self, exc):
        self.broker.connections.discard(self)
        self.alive_timer.cancel()
        self.down(True)

    def eof_received(self):
        self.flush()
        return False                    # then close

    def data_received(self, data):
        if self.state == "closed":
            return
        buf = self.buf
        buf += data
        self.heard = self.broker.loop.time()
        pos = 0
        size = len(buf)
        limit = self.choices.maximum_packet
        try:
            while size - pos >= 2:
                first = buf[pos]
                length = 0
                for i in range(4):                      # 2.1.4: remaining length
                    at = pos + 1 + i
                    if at >= size:
                        length = None
                        break
                    length |= (buf[at] & 0x7F) << 7 * i
                    if buf[at] < 0x80:
                        if i and buf[at] == 0:
                            raise MqttError(m.MALFORMED, "length not in its shortest form")
                        break
                else:
                    raise MqttError(m.MALFORMED, "remaining length too long")
                if length is None:
                    break
                self.check_header(first)
                start = at + 1
                if start - pos + length > limit:
                    raise MqttError(m.PACKET_TOO_LARGE, "packet too large")
                if size - start < length:
                    break
                body = bytes(memoryview(buf)[start:start + length])
                pos = start + length
                self.packet(first >> 4, first & 15, body)
                if self.state == "closed":
                    break
        except MqttError as error:
            self.fail(error)
        if self.state == "closed":
            self.buf = bytearray()
        elif pos:
            del buf[:pos]

    def check_header(self, first):
        kind, flags = first >> 4, first & 15
        if self.state == "new" and kind != m.CONNECT:
            raise MqttError(m.PROTOCOL_ERROR, "CONNECT expected")       # MQTT-3.1.0-1
        if kind == 0:
            raise MqttError(m.MALFORMED, "packet type 0")
        if kind in (m.CONNACK, m.SUBACK, m.UNSUBACK, m.PINGRESP):
            raise MqttError(m.PROTOCOL_ERROR, "a packet that only servers send")
        want = 2 if kind in (m.PUBREL, m.SUBSCRIBE, m.UNSUBSCRIBE) else 0
        if kind != m.PUBLISH and flags != want:
            raise MqttError(m.MALFORMED, "reserved header flags")       # MQTT-2.1.3-1

    def send(self, data):
        if self.state == "closed":
            return
        if not self.out:
            self.broker.loop.call_soon(self.flush)
        self.out.append(data)

    def flush(self):
        if self.out:
            self.broker.store.commit()      # before anybody hears of it
            if not self.transport.is_closing():
                self.transport.write(b"".join(self.out))
            self.out = []

    def send_publish(self, message, qos, retain, dup, pid, sub_ids):
        """False if it must not be sent: expired, or too large for the client (3.1.2.11.4)."""
        left = None
        if message.expires is not None:
            rest = message.expires - self.broker.loop.time()
            if rest <= 0 and not dup:
                return False
            left = max(1, int(rest + 0.999))
        data = m.enc_publish(message, qos, retain, dup, pid, sub_ids, left)
        if self.max_packet is not None and len(data) > self.max_packet:
            return False
        self.send(data)
        return True

    # ------------------------------------------------------------ the end

    def fail(self, error):
        if self.state == "new":
            # No DISCONNECT before a successful CONNACK (MQTT-3.14.0-1).
            self.close(None)
        else:
            self.close(error.code)

    def close(self, code):
        """Say DISCONNECT with this reason code (None: say nothing) and close."""
        if self.state == "closed":
            return
        if code is not None and self.state == "up":
            self.send(m.enc_disconnect(code))
        self.flush()
        self.down(True)
        self.finish()

    def finish(self):
        """Close our half, and the rest soon: an immediate close with bytes unread would reset
        the connection, and the client might never see the DISCONNECT."""
        self.flush()                    # nothing can be written afterwards
        try:
            if self.transport.can_write_eof():
                self.transport.write_eof()
        except OSError:
            pass
        self.alive_timer.cancel()
        self.alive_timer = self.broker.loop.call_later(1, self.transport.abort)

    def down(self, publish_will):
        """The connection is over for its session."""
        if self.state == "up":
            self.state = "closed"
            self.broker.connection_down(self, publish_will)
        self.state = "closed"

    def check_alive(self):
        """3.1.2.10: one and a half times the keep alive without a packet."""
        rest = self.heard + self.keep_alive * 1.5 - self.broker.loop.time()
        if rest <= 0:
            self.close(m.KEEP_ALIVE_TIMEOUT)
        else:
            self.alive_timer = self.broker.loop.call_later(rest, self.check_alive)

    # ------------------------------------------------------------ packets

    def packet(self, kind, flags, body):
        if kind == m.PUBLISH:
            self.on_publish(flags, body)
        elif kind == m.PUBACK or kind == m.PUBREC:
            pid, code = m.decode_ack(body, m.PUBACK_CODES)
            self.session.acknowledged(kind, pid, code)
        elif kind == m.PUBREL:
            pid, code = m.decode_ack(body, m.PUBREL_CODES)
            known = pid in self.session.received
            if known:
                self.session.received.discard(pid)
                self.unacked = max(0, self.unacked - 1)
            self.send(m.enc_ack(m.PUBCOMP, pid, 0 if known else m.ID_NOT_FOUND))
        elif kind == m.PUBCOMP:
            pid, code = m.decode_ack(body, m.PUBREL_CODES)
            self.session.acknowledged(kind, pid, code)
        elif kind == m.SUBSCRIBE:
            self.on_subscribe(body)
        elif kind == m.UNSUBSCRIBE:
            pid, filters = m.decode_unsubscribe(body)
            codes = [0 if self.broker.unsubscribe(self.session, f) else 0x11 for f in filters]
            self.send(m.enc_codes(m.UNSUBACK, pid, codes))
        elif kind == m.PINGREQ:
            if body:
                raise MqttError(m.MALFORMED, "PINGREQ with a body")
            self.send(m.packet(m.PINGRESP, 0, b""))
        elif kind == m.DISCONNECT:
            code, expiry = m.decode_disconnect(body)
            if expiry is not None:
                if self.session.expiry == 0 and expiry:
                    raise MqttError(m.PROTOCOL_ERROR, "session expiry")   # 3.14.2.2.2
                self.session.expiry = expiry
            self.down(code != 0)                # 3.14.4: 0x00 discards the will
            self.finish()
        elif kind == m.CONNECT:
            if self.state == "up":
                raise MqttError(m.PROTOCOL_ERROR, "second CONNECT")       # MQTT-3.1.0-2
            self.on_connect(body)
        else:
            raise MqttError(m.PROTOCOL_ERROR, "AUTH without a method")    # 4.12

    def on_connect(self, body):
        try:
            c = m.decode_connect(body)
            if m.AUTH_METHOD in c.props:
                raise MqttError(m.BAD_AUTH_METHOD, "no extended authentication")
        except MqttError as error:
            old = error.code == m.UNSUPPORTED_VERSION and body[6:7] in (b"\x03", b"\x04")
            # 3.1.2.2; a client of an older version gets the CONNACK of that version.
            self.send(b"\x20\x02\x00\x01" if old else m.enc_connack(False, error.code, {}))
            self.close(None)
            return
        ch = self.choices
        props = {}
        if not c.client_id:
            c.client_id = "auto-" + uuid.uuid4().hex                      # 3.1.3.1
            props[m.ASSIGNED_ID] = c.client_id
        self.receive_max = self.quota = c.props.get(m.RECEIVE_MAX, 65535)
        self.max_packet = c.props.get(m.MAX_PACKET)
        self.keep_alive = c.keep_alive
        self.will, self.will_delay = c.will, c.will_delay
        session, present = self.broker.open_session(c.client_id, c.clean)
        session.expiry = c.props.get(m.SESSION_EXPIRY, 0)
        session.conn = self
        self.session = session
        self.state = "up"
        self.alive_timer.cancel()
        if self.keep_alive:
            self.alive_timer = self.broker.loop.call_later(self.keep_alive * 1.5, self.check_alive)
        if ch.receive_maximum != 65535:
            props[m.RECEIVE_MAX] = ch.receive_maximum
        props[m.MAX_PACKET] = ch.maximum_packet
        if ch.topic_alias_maximum:
            props[m.ALIAS_MAX] = ch.topic_alias_maximum
        if not ch.subscription_ids:
            props[m.SUB_ID_AVAILABLE] = 0
        props[m.SHARED_AVAILABLE] = 0
        self.send(m.enc_connack(present, 0, props))
        session.resume()

    def on_subscribe(self, body):
        pid, sub_id, filters = m.decode_subscribe(body)
        if sub_id is not None and not self.choices.subscription_ids:
            raise MqttError(m.SUBID_NOT_SUPPORTED, "subscription identifier")   # 3.2.2.3.12
        codes = []
        retained = []
        for text, options in filters:
            if text.startswith("$share/"):
                codes.append(m.SHARED_NOT_SUPPORTED)
                continue
            sub = Subscription(options, sub_id)
            new = self.broker.subscribe(self.session, text, sub)
            codes.append(sub.qos)
            if sub.handling == 0 or (sub.handling == 1 and new):          # 3.8.3.1
                retained.append((text, sub))
        self.send(m.enc_codes(m.SUBACK, pid, codes))
        for text, sub in retained:
            self.broker.send_retained(self.session, text, sub)

    def on_publish(self, flags, body):
        message, dup, pid, alias = m.decode_publish(flags, body)
        if alias is not None:
            if alias > self.choices.topic_alias_maximum:
                raise MqttError(m.ALIAS_INVALID, "topic alias")           # MQTT-3.3.2-9
            if message.topic:
                self.aliases[alias] = message.topic
            elif alias in self.aliases:
                message.topic = self.aliases[alias]
            else:
                raise MqttError(m.PROTOCOL_ERROR, "unknown topic alias")
        ack = None
        if message.qos:
            if message.qos == 2 and pid in self.session.received:
                self.send(m.enc_ack(m.PUBREC, pid, 0))                    # 4.3.3: not twice
                return
            if self.unacked >= self.choices.receive_maximum:
                raise MqttError(m.RECEIVE_MAXIMUM, "receive maximum exceeded")   # 3.3.4
            self.unacked += 1
            ack = [message.qos, pid, None]
            self.acks.append(ack)
        self.broker.accept(self, self.session.client_id, message, ack)

    def acknowledge(self, ack, code=0):
        """Acknowledge one PUBLISH.  4.6: in the order in which they came."""
        if ack is None or ack[2] is not None:
            return
        ack[2] = code
        while self.acks and self.acks[0][2] is not None:
            qos, pid, code = self.acks.popleft()
            if qos == 1:
                self.unacked -= 1
                self.send(m.enc_ack(m.PUBACK, pid, code, self.choices.puback_form))
            else:
                if code < 0x80 and self.session is not None:
                    self.session.received.add(pid)
                else:
                    self.unacked -= 1
                self.send(m.enc_ack(m.PUBREC, pid, code, self.choices.puback_form))


class Broker:
    def __init__(self, loop, choices):
        self.loop = loop
        self.choices = choices
        self.sessions = {}
        self.tree = Tree()
        self.retained = {}
        self.connections = set()
        self.store = None

    # ------------------------------------------------------------ sessions

    def open_session(self, client_id, clean):
        """The session of a new connection and whether it is an old one (3.1.4)."""
        session = self.sessions.get(client_id)
        if session is not None:
            if session.conn is not None:
                session.conn.close(m.TAKEN_OVER)                          # MQTT-3.1.4-3
            session = self.sessions.get(client_id)      # gone if it ended with its connection
        if session is not None and clean:
            self.end_session(session)
            session = None
        if session is not None:
            if session.timer is not None:
                session.timer.cancel()
                session.timer = None
            if session.will is not None:
                session.will[1].cancel()                                  # MQTT-3.1.3-9
                session.will = None
            return session, True
        session = self.sessions[client_id] = Session(self, client_id)
        return session, False

    def connection_down(self, conn, publish_will):
        session = conn.session
        session.conn = None
        self.store.client_gone(session.client_id)
        if conn.will is not None and publish_will:
            delay = min(conn.will_delay, session.expiry)
            if delay == 0:
                self.publish_will(session.client_id, conn.will)
            else:
                timer = self.loop.call_later(delay, self.will_due, session)
                session.will = (conn.will, timer)
        if session.expiry == 0:
            self.end_session(session)
        elif session.expiry != NEVER:
            session.timer = self.loop.call_later(session.expiry, self.end_session, session)

    def end_session(self, session):
        if self.sessions.get(session.client_id) is session:
            del self.sessions[session.client_id]
        if session.timer is not None:
            session.timer.cancel()
        for text in session.subs:
            self.tree.remove(text, session)
        session.subs = {}
        if session.will is not None:
            session.will[1].cancel()
            self.will_due(session)                       # 3.1.3.2.2: when the session ends

    def will_due(self, session):
        message, session.will = session.will[0], None
        self.publish_will(session.client_id, message)

    def publish_will(self, client_id, message):
        self.accept(None, client_id, message, None)

    # ------------------------------------------------------------ subscriptions

    def subscribe(self, session, text, sub):
        new = text not in session.subs
        session.subs[text] = sub
        self.tree.add(text, session, sub)
        return new

    def unsubscribe(self, session, text):
        if session.subs.pop(text, None) is None:
            return False
        self.tree.remove(text, session)
        return True

    def send_retained(self, session, text, sub):
        if "+" in text or "#" in text:
            found = [msg for topic, msg in self.retained.items() if matches(text, topic)]
        else:
            found = [self.retained[text]] if text in self.retained else []
        now = self.loop.time()
        for message in found:
            if message.expires is not None and message.expires <= now:
                self.retained.pop(message.topic, None)
            elif session.conn is not None:
                session.deliver(message, min(message.qos, sub.qos), True,
                                [sub.sub_id] if sub.sub_id else None)

    # ------------------------------------------------------------ messages

    def accept(self, conn, client_id, message, ack):
        """A PUBLISH of a client, or its will (conn is None)."""
        expiry = message.props.get(m.EXPIRY)
        if expiry is not None:
            message.expires = self.loop.time() + expiry
        if message.topic == self.store.topic:
            if self.store.accept(conn, client_id, message, ack):
                self.route(message, client_id)
            return
        if m.RESPONSE_TOPIC in message.props and not m.topic_ok(message.props[m.RESPONSE_TOPIC]):
            raise MqttError(m.PROTOCOL_ERROR, "response topic")           # MQTT-3.3.2-14
        reached = self.route(message, client_id)
        if ack is not None:
            conn.acknowledge(ack, 0 if reached else self.choices.no_subscribers)

    def route(self, message, publisher=None, but=None):
        """To the retained messages and to all who subscribed; returns how many that are."""
        if message.retain:
            if message.payload:
                self.retained[message.topic] = message
            else:
                self.retained.pop(message.topic, None)                    # MQTT-3.3.1-6
        found = self.tree.match(message.topic)
        if not found:
            return 0
        targets = {}
        for session, sub in found:
            if sub.no_local and session.client_id == publisher:
                continue                                                  # MQTT-3.8.3-3
            best = targets.get(session)
            if best is None:
                targets[session] = [sub.qos, sub.as_published,
                                    [sub.sub_id] if sub.sub_id else None]
            else:                       # 3.3.4: one copy, with the highest QoS and all identifiers
                best[0] = max(best[0], sub.qos)
                best[1] = best[1] or sub.as_published
                if sub.sub_id:
                    best[2] = (best[2] or []) + [sub.sub_id]
        for session, (qos, as_published, ids) in targets.items():
            if session is not but:
                session.deliver(message, min(qos, message.qos),
                                as_published and message.retain, ids)
        return len(targets)

    def push(self, client_id, message):
        """To the session of one connected client, whether it subscribed or not."""
        session = self.sessions.get(client_id)
        if session is None or session.conn is None:
            return None
        qos, ids = message.qos, []
        subs = [sub for other, sub in self.tree.match(message.topic) if other is session]
        if subs:
            qos = min(qos, max(sub.qos for sub in subs))
            ids = [sub.sub_id for sub in subs if sub.sub_id]
        session.deliver(message, qos, False, ids or None)
        return session
