"""MQTT 5 packet codec (OASIS MQTT Version 5.0).

Section numbers in comments are those of the MQTT 5 specification.  Decoding is
strict: what the specification calls malformed raises MqttError with 0x81, what it
calls a protocol error raises it with 0x82, or with the more exact reason code
that it names for the case.
"""
import struct

(CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP, SUBSCRIBE, SUBACK,
 UNSUBSCRIBE, UNSUBACK, PINGREQ, PINGRESP, DISCONNECT, AUTH) = range(1, 16)

# Reason codes (2.4).
MALFORMED = 0x81
PROTOCOL_ERROR = 0x82
IMPLEMENTATION_ERROR = 0x83
UNSUPPORTED_VERSION = 0x84
BAD_AUTH_METHOD = 0x8C
SHUTTING_DOWN = 0x8B
KEEP_ALIVE_TIMEOUT = 0x8D
TAKEN_OVER = 0x8E
FILTER_INVALID = 0x8F
TOPIC_INVALID = 0x90
ID_NOT_FOUND = 0x92
RECEIVE_MAXIMUM = 0x93
ALIAS_INVALID = 0x94
PACKET_TOO_LARGE = 0x95
PAYLOAD_FORMAT = 0x99
SHARED_NOT_SUPPORTED = 0x9E
SUBID_NOT_SUPPORTED = 0xA1

# Property identifiers (2.2.2.2).
PFI, EXPIRY, CONTENT_TYPE, RESPONSE_TOPIC, CORRELATION = 0x01, 0x02, 0x03, 0x08, 0x09
SUB_ID, SESSION_EXPIRY, ASSIGNED_ID, AUTH_METHOD, AUTH_DATA = 0x0B, 0x11, 0x12, 0x15, 0x16
PROBLEM_INFO, WILL_DELAY, RESPONSE_INFO, REASON, RECEIVE_MAX = 0x17, 0x18, 0x19, 0x1F, 0x21
ALIAS_MAX, ALIAS, USER, MAX_PACKET, SUB_ID_AVAILABLE, SHARED_AVAILABLE = (
    0x22, 0x23, 0x26, 0x27, 0x29, 0x2A)

TYPES = {0x01: "byte", 0x02: "u32", 0x03: "str", 0x08: "str", 0x09: "bin", 0x0B: "var",
         0x11: "u32", 0x12: "str", 0x13: "u16", 0x15: "str", 0x16: "bin", 0x17: "byte",
         0x18: "u32", 0x19: "byte", 0x1A: "str", 0x1C: "str", 0x1F: "str", 0x21: "u16",
         0x22: "u16", 0x23: "u16", 0x24: "byte", 0x25: "byte", 0x26: "pair", 0x27: "u32",
         0x28: "byte", 0x29: "byte", 0x2A: "byte"}

# The properties that a client may put into each packet (table 2-4).
ALLOWED = {
    CONNECT: {SESSION_EXPIRY, AUTH_METHOD, AUTH_DATA, PROBLEM_INFO, RESPONSE_INFO,
              RECEIVE_MAX, ALIAS_MAX, USER, MAX_PACKET},
    "will": {PFI, EXPIRY, CONTENT_TYPE, RESPONSE_TOPIC, CORRELATION, WILL_DELAY, USER},
    PUBLISH: {PFI, EXPIRY, CONTENT_TYPE, RESPONSE_TOPIC, CORRELATION, SUB_ID, ALIAS, USER},
    PUBACK: {REASON, USER},
    SUBSCRIBE: {SUB_ID, USER},
    UNSUBSCRIBE: {USER},
    DISCONNECT: {SESSION_EXPIRY, REASON, USER},
}

# The reason codes that a client may send in acknowledgements (3.4.2.1, 3.5.2.1, 3.6.2.1, 3.7.2.1).
PUBACK_CODES = {0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99}
PUBREL_CODES = {0x00, 0x92}
# ... and in DISCONNECT (3.14.2.1).
DISCONNECT_CODES = {0x00, 0x04, 0x80, 0x81, 0x82, 0x83, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97,
                    0x98, 0x99}


class MqttError(Exception):
    """Ends the connection with this reason code."""

    def __init__(self, code, text=""):
        super().__init__(text)
        self.code = code
        self.text = text


class Message:
    """An application message on its way through the broker."""
    __slots__ = ("topic", "payload", "qos", "retain", "props", "expires")

    def __init__(self, topic, payload, qos=0, retain=False, props=None, expires=None):
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.retain = retain
        self.props = props if props is not None else {}
        self.expires = expires          # loop time at which the Message Expiry Interval is over


class Reader:
    """Reads the fields of one packet; running past its end is a malformed packet."""
    __slots__ = ("buf", "pos", "end")

    def __init__(self, buf):
        self.buf = buf
        self.pos = 0
        self.end = len(buf)

    def take(self, count):
        start = self.pos
        stop = start + count
        if stop > self.end:
            raise MqttError(MALFORMED, "packet too short")
        self.pos = stop
        return self.buf[start:stop]

    def byte(self):
        pos = self.pos
        if pos >= self.end:
            raise MqttError(MALFORMED, "packet too short")
        self.pos = pos + 1
        return self.buf[pos]

    def u16(self):
        return int.from_bytes(self.take(2), "big")

    def u32(self):
        return int.from_bytes(self.take(4), "big")

    def var(self):
        """Variable Byte Integer (1.5.5): four bytes at most, in the shortest form."""
        value = 0
        for shift in (0, 7, 14, 21):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if byte == 0 and shift:
                    raise MqttError(MALFORMED, "integer not in its shortest form")
                return value
        raise MqttError(MALFORMED, "variable byte integer too long")

    def bin(self):
        return self.take(self.u16())

    def str(self):
        """UTF-8 string (1.5.4): well formed, no surrogates, no U+0000."""
        data = self.take(self.u16())
        if b"\0" in data:
            raise MqttError(MALFORMED, "U+0000 in a string")
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise MqttError(MALFORMED, "ill-formed UTF-8") from None

    def pair(self):
        return self.str(), self.str()

    def done(self):
        if self.pos != self.end:
            raise MqttError(MALFORMED, "bytes after the end of the packet")

    def packet_id(self):
        pid = self.u16()
        if pid == 0:
            raise MqttError(PROTOCOL_ERROR, "packet identifier 0")      # 2.2.1
        return pid

    def properties(self, kind):
        length = self.var()
        stop = self.pos + length
        if stop > self.end:
            raise MqttError(MALFORMED, "property length beyond the packet")
        props = {}
        if not length:
            return props
        allowed = ALLOWED[kind]
        whole, self.end = self.end, stop
        while self.pos < stop:
            ident = self.var()
            if ident not in allowed:
                # 2.2.2.2: an identifier that is not valid for its packet type is malformed.
                raise MqttError(MALFORMED, "property 0x%02X does not belong here" % ident)
            if ident == USER:
                props.setdefault(USER, []).append((self.str(), self.str()))
                continue
            if ident in props:
                raise MqttError(PROTOCOL_ERROR, "property 0x%02X twice" % ident)
            value = getattr(self, TYPES[ident])()
            if ident in (PFI, PROBLEM_INFO, RESPONSE_INFO) and value > 1:
                raise MqttError(PROTOCOL_ERROR, "property 0x%02X is neither 0 nor 1" % ident)
            if ident in (RECEIVE_MAX, MAX_PACKET, SUB_ID) and value == 0:
                raise MqttError(PROTOCOL_ERROR, "property 0x%02X is 0" % ident)
            if ident == ALIAS and value == 0:
                raise MqttError(ALIAS_INVALID, "topic alias 0")        # 3.3.2.3.4
            props[ident] = value
        self.end = whole
        return props


# ---------------------------------------------------------------- decoding

class Connect:
    """The fields of a CONNECT packet (3.1)."""


def decode_connect(body):
    r = Reader(body)
    c = Connect()
    name = r.bin()
    c.level = r.byte()
    if name != b"MQTT" or c.level != 5:
        raise MqttError(UNSUPPORTED_VERSION, "not MQTT 5")             # 3.1.2.1, 3.1.2.2
    flags = r.byte()
    if flags & 1:
        raise MqttError(MALFORMED, "reserved connect flag")           # MQTT-3.1.2-3
    c.clean = bool(flags & 2)
    will, will_qos, will_retain = flags & 4, flags >> 3 & 3, bool(flags & 0x20)
    if will_qos == 3 or (not will and (will_qos or will_retain)):
        raise MqttError(MALFORMED, "will flags")                      # 3.1.2.6, 3.1.2.7
    c.keep_alive = r.u16()
    c.props = r.properties(CONNECT)
    if AUTH_DATA in c.props and AUTH_METHOD not in c.props:
        raise MqttError(PROTOCOL_ERROR, "authentication data without method")
    c.client_id = r.str()
    c.will = None
    c.will_delay = 0
    if will:
        props = r.properties("will")
        c.will_delay = props.pop(WILL_DELAY, 0)
        topic = r.str()
        check_topic(topic)
        if RESPONSE_TOPIC in props and not topic_ok(props[RESPONSE_TOPIC]):
            raise MqttError(PROTOCOL_ERROR, "will response topic")
        c.will = Message(topic, r.bin(), will_qos, will_retain, props)
    if flags & 0x80:
        r.str()                                                       # user name: not looked at
    if flags & 0x40:
        r.bin()                                                       # password: likewise
    r.done()
    return c


def topic_ok(topic):
    """A topic name: at least one character, no wildcards (4.7)."""
    return topic != "" and "+" not in topic and "#" not in topic


def check_topic(topic):
    if not topic_ok(topic):
        raise MqttError(TOPIC_INVALID, "topic name")


def decode_publish(flags, body):
    """Returns message, DUP, packet identifier (None for QoS 0), topic alias (None or > 0)."""
    qos = flags >> 1 & 3
    dup = flags & 8
    if qos == 3:
        raise MqttError(MALFORMED, "QoS 3")                            # MQTT-3.3.1-4
    if dup and not qos:
        raise MqttError(MALFORMED, "DUP with QoS 0")                   # MQTT-3.3.1-2
    r = Reader(body)
    topic = r.str()
    pid = r.packet_id() if qos else None
    props = r.properties(PUBLISH)
    if SUB_ID in props:
        raise MqttError(PROTOCOL_ERROR, "subscription identifier from a client")  # 3.3.4-6
    alias = props.pop(ALIAS, None)
    if topic == "":
        if alias is None:
            raise MqttError(PROTOCOL_ERROR, "no topic")                # 3.3.2.1
    else:
        check_topic(topic)
    return Message(topic, body[r.pos:], qos, bool(flags & 1), props), dup, pid, alias


def decode_ack(body, codes):
    """PUBACK, PUBREC, PUBREL or PUBCOMP: packet identifier and reason code (3.4.2)."""
    if len(body) == 2:
        pid, code = int.from_bytes(body, "big"), 0
        if pid == 0:
            raise MqttError(PROTOCOL_ERROR, "packet identifier 0")
        return pid, code
    r = Reader(body)
    pid = r.packet_id()
    code = r.byte()
    if code not in codes:
        raise MqttError(PROTOCOL_ERROR, "reason code")
    if r.pos < r.end:
        r.properties(PUBACK)
    r.done()
    return pid, code


def decode_subscribe(body):
    """Packet identifier, subscription identifier or None, [(filter, options byte)] (3.8)."""
    r = Reader(body)
    pid = r.packet_id()
    props = r.properties(SUBSCRIBE)
    filters = []
    while r.pos < r.end:
        text = r.str()
        options = r.byte()
        if options & 0xC0:
            raise MqttError(MALFORMED, "reserved bits of the options")  # MQTT-3.8.3-5
        if options & 3 == 3 or options >> 4 & 3 == 3:
            raise MqttError(PROTOCOL_ERROR, "QoS or retain handling 3")
        check_filter(text)
        if text.startswith("$share/") and options & 4:
            raise MqttError(PROTOCOL_ERROR, "No Local on a shared subscription")
        filters.append((text, options))
    if not filters:
        raise MqttError(PROTOCOL_ERROR, "no topic filter")             # MQTT-3.8.3-2
    return pid, props.get(SUB_ID), filters


def decode_unsubscribe(body):
    r = Reader(body)
    pid = r.packet_id()
    r.properties(UNSUBSCRIBE)
    filters = []
    while r.pos < r.end:
        filters.append(r.str())
        check_filter(filters[-1])
    if not filters:
        raise MqttError(PROTOCOL_ERROR, "no topic filter")             # MQTT-3.10.3-2
    return pid, filters


def check_filter(text):
    """A topic filter (4.7.1): wildcards only as whole levels, `#` only as the last one."""
    levels = text.split("/")
    for i, level in enumerate(levels):
        if ("#" in level and (level != "#" or i != len(levels) - 1)) or \
                ("+" in level and level != "+"):
            raise MqttError(FILTER_INVALID, "topic filter")
    if text == "":
        raise MqttError(FILTER_INVALID, "empty topic filter")          # MQTT-4.7.3-1


def decode_disconnect(body):
    """Reason code and session expiry interval or None (3.14.2)."""
    if not body:
        return 0, None
    r = Reader(body)
    code = r.byte()
    if code not in DISCONNECT_CODES:
        raise MqttError(PROTOCOL_ERROR, "reason code")
    props = r.properties(DISCONNECT) if r.pos < r.end else {}
    r.done()
    return code, props.get(SESSION_EXPIRY)


# ---------------------------------------------------------------- encoding

def enc_var(value):
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while True:
        byte = value & 0x7F
        value >>= 7
        out.append(byte | 0x80 if value else byte)
        if not value:
            return bytes(out)


def enc_bin(data):
    return len(data).to_bytes(2, "big") + data


def enc_str(text):
    return enc_bin(text.encode("utf-8"))


def enc_props(props):
    """Properties with their length; USER is a list of pairs, SUB_ID a list of integers."""
    out = []
    for ident, value in props.items():
        if ident == USER:
            for name, text in value:
                out.append(b"\x26" + enc_str(name) + enc_str(text))
        elif ident == SUB_ID:
            for number in value:
                out.append(b"\x0b" + enc_var(number))
        else:
            kind = TYPES[ident]
            if kind == "str":
                out.append(bytes((ident,)) + enc_str(value))
            elif kind == "bin":
                out.append(bytes((ident,)) + enc_bin(value))
            elif kind == "u32":
                out.append(struct.pack(">BI", ident, value))
            elif kind == "u16":
                out.append(struct.pack(">BH", ident, value))
            else:
                out.append(bytes((ident, value)))
    data = b"".join(out)
    return enc_var(len(data)) + data


def packet(kind, flags, body):
    return bytes((kind << 4 | flags,)) + enc_var(len(body)) + body


def enc_publish(message, qos, retain, dup, pid, sub_ids, left):
    """`left` is what is left of the Message Expiry Interval, None if it has none (3.3.2.3.3)."""
    props = message.props
    if left is not None or sub_ids:
        props = dict(props)
        if left is not None:
            props[EXPIRY] = left
        if sub_ids:
            props[SUB_ID] = sub_ids
    body = b"".join((enc_str(message.topic), pid.to_bytes(2, "big") if qos else b"",
                     enc_props(props), message.payload))
    return packet(PUBLISH, (8 if dup else 0) | qos << 1 | (1 if retain else 0), body)


def enc_connack(present, code, props):
    return packet(CONNACK, 0, bytes((1 if present else 0, code)) + enc_props(props))


def enc_ack(kind, pid, code, form="short"):
    """An acknowledgement; reason code and property length may be left out (3.4.2.1)."""
    body = pid.to_bytes(2, "big")
    if code or form != "short":
        body += bytes((code,))
    if form == "full":
        body += b"\0"
    return packet(kind, 2 if kind == PUBREL else 0, body)


def enc_codes(kind, pid, codes):
    """SUBACK or UNSUBACK."""
    return packet(kind, 0, pid.to_bytes(2, "big") + b"\0" + bytes(codes))


def enc_disconnect(code):
    return packet(DISCONNECT, 0, bytes((code,)))
