"""The state store behind the request topic.

Comments name the section of the article ("State store protocol") or the number in the
fact sheet ("facts N", "8a.N", "8b.N") that a rule comes from.
"""
import re
from collections import deque
from decimal import Decimal, InvalidOperation
import time

import mqtt5 as m
from database import STORE
from mqtt5 import Message, MqttError

ID = "statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8"
REQUEST_TOPIC = ID + "/command/invoke"
# "... or one that begins with clients/statestore/v1/FA9A... isn't permitted."
FORBIDDEN_PREFIX = "clients/" + ID
NOTIFY_TOPIC = "clients/" + ID + "/%s/command/notify/%s"

# The error strings of the article's list (facts 3.3).
TS_SKEW = ("the request timestamp is too far in the future; ensure that the client and broker "
           "system clocks are synchronized")
FT_REQUIRED = "a fencing token is required for this request"
FT_SKEW = ("the request fencing token timestamp is too far in the future; ensure that the client "
           "and broker system clocks are synchronized")
FT_LOWER = ("the request fencing token is a lower version %s the fencing token protecting the "
            "resource")
SYNTAX = "syntax error"
UNKNOWN_COMMAND = "unknown command"
ARITY = "wrong number of arguments"
TS_MISSING = "missing timestamp"
TS_MALFORMED = "malformed timestamp"
KEY_EMPTY = "the key length is zero"

MAX_SKEW = 60_000               # "Clock skew": more than a minute ahead is rejected
INT64 = 2**63 - 1

OK = b"+OK\r\n"
GET_MISS = b"$-1\r\n"
DELETED = b":1\r\n"
NOTHING = b":0\r\n"

# Verb -> least and greatest number of elements of the request array (facts 2).
VERBS = {b"SET": (3, None), b"GET": (2, 2), b"DEL": (2, 2), b"VDEL": (3, 3),
         b"KEYNOTIFY": (2, None)}
OPTIONS = (b"NX", b"NEX", b"PX")


class Refused(Exception):
    """A request that is answered with -ERR and this text."""

    def __init__(self, text):
        super().__init__(text)
        self.text = text


class Entry:
    __slots__ = ("value", "version", "token", "expires", "timer")

    def __init__(self, value, version, token):
        self.value = value
        self.version = version
        self.token = token
        self.expires = None         # loop time
        self.timer = None


def bulk(data):
    return b"$%d\r\n%s\r\n" % (len(data), data)


class Store:
    topic = REQUEST_TOPIC

    def __init__(self, broker, choices, database):
        self.broker = broker
        self.database = database
        self.loop = broker.loop
        self.ch = ch = choices
        self.data = {}                  # key -> Entry
        self.watchers = {}              # key -> {client id: whether it asked with GET}
        self.watched = {}               # client id -> set of keys
        self.lanes = {}                 # client id -> [due time of the last, waiting requests]
        self.clock = (0, 0)             # one clock for all keys ...
        self.clocks = {}                # ... or one for each; outlives the deletion of the key
        self.outbox = None              # notifications of the request in hand
        self.expiring = set()           # keys with an expiry, when a sweep finds them
        self.sweeping = False
        self.order = ch.check_order.split("/")
        self.not_applied = b"-1\r\n" if ch.documented else b":-1\r\n"       # 8a.1, 8a.2
        self.deletion = b"DEL" if ch.documented else b"DELETE"              # 8a.4
        self.lower = FT_LOWER % ("that" if ch.documented else "than")       # 8a.7
        self.sweep = int(ch.expiry_noticed[6:]) if ch.expiry_noticed.startswith("sweep-") else 0
        # facts 5.1; padding never matters, a colon in the node id is refused by all SDKs.
        self.hlc = re.compile((" *" if ch.hlc_blank == "taken" else "")
                              + (r"\+?" if ch.hlc_plus == "taken" else "")
                              + r"([0-9]+):([0-9]+):([^:]%s)"
                              % ("*" if ch.hlc_node_empty == "taken" else "+"))
        self.form = "%015d:%05d:%s" if ch.hlc_form == "padded" else "%d:%d:%s"
        self.load()

    # ------------------------------------------------------------ what outlives the process

    def load(self):
        self.clocks = self.database.read_clocks()
        self.clock = self.clocks.pop(STORE, (0, 0))
        for key, value, version, token, expires in self.database.read_pairs():
            entry = self.data[key] = Entry(value, version, token)
            if expires is not None:         # also if that is over: it expires as others do
                self.expire_at(key, entry, expires)

    def commit(self):
        self.database.commit(self.data)

    # ------------------------------------------------------------ the envelope

    def accept(self, conn, client_id, message, ack):
        """A PUBLISH to the request topic (conn is None: a will).  True if other subscribers
        of the topic may see it as well."""
        ch = self.ch
        props = message.props
        topic = props.get(m.RESPONSE_TOPIC)
        correlation = props.get(m.CORRELATION)
        if topic is not None and (topic == REQUEST_TOPIC or topic.startswith(FORBIDDEN_PREFIX)
                                  or not m.topic_ok(topic)):
            # "The state store disconnects MQTT clients that use an invalid response topic."
            if conn is None:
                return False
            if ch.invalid_topic_ack == "failure":
                conn.acknowledge(ack, m.TOPIC_INVALID)
            raise MqttError(ch.invalid_topic_code, "response topic")
        if ch.payload_format == "checked" and props.get(m.PFI) == 1:
            try:
                message.payload.decode("utf-8")
            except UnicodeDecodeError:
                self.refuse("failure-code", conn, message, ack, m.PAYLOAD_FORMAT)  # 3.3.2.3.2
                return False
        # "If these properties aren't present or the request isn't QoS 1, the request fails."
        if message.qos != 1:
            self.refuse(ch.qos_refused, conn, message, ack)
        elif topic is None:
            self.refuse(ch.response_topic_missing, conn, message, ack)
        elif correlation is None or (correlation == b"" and ch.correlation_empty == "as-missing"):
            self.refuse(ch.correlation_missing, conn, message, ack)
        else:
            if conn is not None and ch.puback == "before-response":
                conn.acknowledge(ack)
            if ch.service_time_ms:
                self.wait(conn, client_id, message, ack)
            else:
                self.serve(conn, client_id, message, ack)
        return True

    def refuse(self, way, conn, message, ack, code=None):
        if conn is not None:
            if way == "disconnect":
                raise MqttError(m.IMPLEMENTATION_ERROR, "request refused")
            failure = way == "failure-code"
            conn.acknowledge(ack, (code or self.ch.failure_code) if failure else 0)
        if way == "error-reply" and m.RESPONSE_TOPIC in message.props:
            self.reply(message, self.error(SYNTAX, None), None)

    def wait(self, conn, client_id, message, ack):
        """A service time, without overtaking among the requests of one client (8b.33)."""
        lane = self.lanes.setdefault(client_id, [0, deque()])
        delay = self.ch.rng.uniform(0, self.ch.service_time_ms) / 1000
        lane[0] = max(lane[0], self.loop.time() + delay)
        lane[1].append((conn, client_id, message, ack))
        self.loop.call_at(lane[0], self.due, client_id)

    def due(self, client_id):
        lane = self.lanes[client_id]
        request = lane[1].popleft()
        if not lane[1]:
            del self.lanes[client_id]
        self.serve(*request)

    def serve(self, conn, client_id, message, ack):
        ch = self.ch
        pairs = message.props.get(m.USER, ())
        if ch.property_repeated == "first":
            pairs = reversed(pairs)
        users = dict(pairs)
        if ch.property_empty == "missing":
            for name in ("__ts", "__ft"):
                if users.get(name) == "":
                    del users[name]
        if ch.protocol_version == "505" and "__protVer" in users and not re.fullmatch(
                r"1\.[0-9]{1,5}", users["__protVer"]):
            # facts 1.5: mRPC's "version not supported".
            self.reply(message, b"", None, "505", [
                ("__stMsg", "protocol version not supported"), ("__supProtMajVer", "1"),
                ("__requestProtVer", users["__protVer"])])
        else:
            self.outbox = []
            verb = None
            try:
                args = self.parse(message.payload)
                verb = self.verb(args)
                payload, version = self.execute(conn, client_id, verb, args, users)
            except Refused as error:
                payload = self.error(error.text, verb)
                version = self.reading() if ch.ts_error == "clock" else None
            told, self.outbox = self.outbox, None
            # facts 4: before the response to any later request, in either order.
            if ch.notify_order == "after-response":
                self.reply(message, payload, version)
            for item in told:
                self.publish_notification(*item)
            if ch.notify_order == "before-response":
                self.reply(message, payload, version)
        if conn is not None:
            conn.acknowledge(ack)           # does nothing if it came before the response

    def error(self, text, verb):
        """"-ERR responses": facts 3.1, last row."""
        ch = self.ch
        if ch.documented and verb == b"KEYNOTIFY" and (
                ch.keynotify_error == "colon" or text not in (SYNTAX, ARITY)):
            return b"-ERR: " + text.encode() + b"\r\n"                  # 8a.8
        return b"-ERR " + text.encode() + (b"\r\n" if ch.error_crlf else b"")

    def reply(self, request, payload, version, status="200", more=()):
        """Publish the response; facts 1.4 for its properties."""
        ch = self.ch
        props = {}
        if ch.response_format == "0":
            props[m.PFI] = 0
        if ch.response_content_type:
            props[m.CONTENT_TYPE] = "application/octet-stream"
        # "When the state store sends a response, it includes the correlation data."
        correlation = request.props.get(m.CORRELATION)
        if correlation is not None:
            props[m.CORRELATION] = correlation
        users = []
        if ch.stat == "sent":
            users.append(("__stat", status))        # ADR 15: 200 with -ERR as well
        if version is not None:
            users.append(("__ts", self.form % version))
        if ch.response_protver:
            users.append(("__protVer", "1.0"))
        if ch.response_srcid:
            users.append(("__srcId", "StateStore"))
        users.extend(more)
        if ch.property_order == "ts-first":
            users.reverse()
        elif ch.property_order == "shuffled":
            ch.rng.shuffle(users)
        if users:
            props[m.USER] = users
        message = Message(request.props[m.RESPONSE_TOPIC], payload, ch.response_qos, False, props)
        expiry = 60 if ch.response_expiry == "60s" else None
        if ch.response_expiry == "of-the-request":
            expiry = request.props.get(m.EXPIRY)
        if expiry:
            message.expires = self.loop.time() + expiry
        self.broker.route(message)

    # ------------------------------------------------------------ the payload

    def length(self, data, start):
        """The decimal number of a `*` or `$` line, and where the next line begins."""
        stop = data.find(b"\r\n", start, start + 24)
        text = data[start:stop]
        if stop < 0 or not text.isdigit():
            raise Refused(SYNTAX)
        if len(text) > 1 and text[0] == 0x30 and self.ch.resp_leading_zeros == "refused":
            raise Refused(SYNTAX)
        return int(text), stop + 2

    def parse(self, data):
        """"Request format": an array of bulk strings; `$` counts bytes (8a.20)."""
        if data[:1] != b"*":
            raise Refused(SYNTAX)
        count, pos = self.length(data, 1)
        args = []
        for _ in range(count):
            if data[pos:pos + 1] != b"$":
                raise Refused(SYNTAX)
            size, pos = self.length(data, pos + 1)
            end = pos + size
            if data[end:end + 2] != b"\r\n":
                raise Refused(SYNTAX)
            args.append(data[pos:end])
            pos = end + 2
        if pos != len(data) and self.ch.resp_trailing == "syntax-error":
            raise Refused(SYNTAX)
        return args

    def verb(self, args):
        ch = self.ch
        if not args:
            raise Refused(SYNTAX if ch.resp_empty_array == "syntax-error" else ARITY)
        verb = args[0]
        if verb in VERBS:
            return verb
        if verb == b"" and ch.verb_empty == "syntax-error":
            raise Refused(SYNTAX)
        if verb.upper() in VERBS:
            # "The client must send both the verbs and the options in upper case."
            if ch.verb_case == "taken":
                return verb.upper()
            if ch.verb_case == "syntax-error":
                raise Refused(SYNTAX)
        raise Refused(UNKNOWN_COMMAND)

    def execute(self, conn, client_id, verb, args, users):
        """Returns the payload of the response and the version for its __ts, or None."""
        options = ts = ft = None
        for check in self.order:
            if check == "arguments":
                least, most = VERBS[verb]
                if len(args) < least or (most and len(args) > most):
                    raise Refused(ARITY)
                if verb == b"SET":
                    options = self.set_options(args)
                elif verb == b"KEYNOTIFY":
                    options = self.keynotify_options(args)
            elif check == "key":
                if len(args) > 1 and not args[1]:
                    raise Refused(KEY_EMPTY)        # "Keys can't be zero length in state store"
            elif check == "ts":
                ts = self.timestamp(verb, users.get("__ts"))
            else:
                ft = self.token(verb, users.get("__ft"))
        key = args[1]
        if verb == b"GET":
            return self.get(key)
        if verb == b"SET":
            return self.set(key, args[2], options, ts, ft)
        if verb == b"DEL":
            return self.delete(key, ft, None)
        if verb == b"VDEL":
            return self.delete(key, ft, args[2])
        return self.keynotify(conn, client_id, key, options)

    def option(self, word):
        if self.ch.option_case == "taken":
            return word.upper()
        return word

    def unknown_option(self):
        return Refused(SYNTAX if self.ch.option_unknown == "syntax-error" else ARITY)

    def set_options(self, args):
        """"SET options": NX, NEX, PX.  Returns (nx, nex, value for nex, px or None)."""
        ch = self.ch
        nx = nex = False
        compare, px = args[2], None
        i, count = 3, len(args)
        while i < count:
            word = self.option(args[i])
            i += 1
            if word in (b"NX", b"NEX"):
                again = nx if word == b"NX" else nex
                if again and ch.option_repeated == "syntax-error":
                    raise Refused(SYNTAX)
                if px is not None and ch.option_order == "condition-first":
                    raise Refused(SYNTAX)
                if word == b"NX":
                    nx = True
                else:
                    nex = True
                    # `NEX <value>` in the list of options, `NEX PX 10000` in the example: 8a.3.
                    if ch.nex_argument == "compared" and i < count \
                            and self.option(args[i]) not in OPTIONS:
                        if not again or ch.option_repeated == "last":
                            compare = args[i]
                        i += 1
                if nx and nex and ch.option_nx_nex == "syntax-error":
                    raise Refused(SYNTAX)
            elif word == b"PX":
                if i >= count:
                    raise Refused(SYNTAX if ch.px_missing == "syntax-error" else ARITY)
                if px is not None and ch.option_repeated == "syntax-error":
                    raise Refused(SYNTAX)
                number = self.milliseconds(args[i])
                i += 1
                if px is None or ch.option_repeated == "last":
                    px = number
            else:
                raise self.unknown_option()
        return nx, nex, compare, px

    def milliseconds(self, text):
        ch = self.ch
        if text[:1] == b"+" and ch.px_plus == "taken":
            text = text[1:]
        if text.isdigit():
            if len(text) > 1 and text[0] == 0x30 and ch.px_leading_zeros == "refused":
                raise Refused(SYNTAX)
            digits = text.lstrip(b"0") or b"0"
            if len(digits) > 20:
                raise Refused(SYNTAX)               # "an integer overflow" is an invalid payload
            number = int(digits)
        elif ch.px_fraction == "rounded-down" and len(text) <= 64 and re.fullmatch(
                rb"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?", text):
            try:
                value = Decimal(text.decode())
            except InvalidOperation:
                raise Refused(SYNTAX) from None
            if value > ch.px_max:
                raise Refused(SYNTAX)
            number = int(value)
        else:
            raise Refused(SYNTAX)
        if number > ch.px_max or (number == 0 and ch.px_zero == "syntax-error"):
            raise Refused(SYNTAX)
        if ch.px_sum == "int64" and self.now() + number > INT64:
            raise Refused(SYNTAX)
        return number

    def keynotify_options(self, args):
        """"KEYNOTIFY request messages".  Returns STOP, GET or None."""
        ch = self.ch
        if len(args) == 2:
            return None
        word = self.option(args[2])
        if word != b"STOP" and not (word == b"GET" and ch.keynotify_get == "taken"):
            raise Refused(SYNTAX if ch.keynotify_option == "syntax-error" else ARITY)
        if len(args) > 3:
            raise Refused(SYNTAX if ch.keynotify_extra == "syntax-error" else ARITY)
        return word

    # ------------------------------------------------------------ clocks

    def now(self):
        """The wall clock of the store, ms since the Unix epoch."""
        ms = time.time_ns() // 1_000_000 + self.ch.clock_offset_ms
        return ms - ms % self.ch.clock_grain_ms

    def parse_hlc(self, text):
        found = self.hlc.fullmatch(text)
        if not found:
            raise Refused(TS_MALFORMED)
        wall, counter = found[1].lstrip("0") or "0", found[2].lstrip("0") or "0"
        if len(wall) > 20 or len(counter) > 20:
            raise Refused(TS_MALFORMED)
        wall, counter = int(wall), int(counter)
        if wall > self.ch.hlc_wall_max or counter > self.ch.hlc_counter_max:
            raise Refused(TS_MALFORMED)
        return wall, counter, found[3]

    def timestamp(self, verb, text):
        if verb != b"SET":
            # "On these requests, the client doesn't specify a __ts"; SDKs do: 8a.10.
            if text is None or self.ch.ts_elsewhere == "ignored":
                return None
        elif text is None:
            raise Refused(TS_MISSING)
        ts = self.parse_hlc(text)
        if ts[0] - self.now() > MAX_SKEW:           # exactly a minute is not more than a minute
            raise Refused(TS_SKEW)
        return ts

    def token(self, verb, text):
        if text is None or (verb in (b"GET", b"KEYNOTIFY") and self.ch.ft_elsewhere == "ignored"):
            return None
        ft = self.parse_hlc(text)
        if ft[0] - self.now() > MAX_SKEW:
            raise Refused(FT_SKEW)
        return ft

    def stamp(self, key, other):
        """The next version, by the update rules of hybrid logical clocks (facts 5.3).  It is
        always greater than `other` and than the version before."""
        per_key = self.ch.clock_scope == "key"
        mine = self.clocks.get(key, (0, 0)) if per_key else self.clock
        wall = self.now()
        if wall > mine[0] and wall > other[0]:
            new = (wall, 0)
        elif mine[0] == other[0]:
            new = (mine[0], max(mine[1], other[1]) + 1)
        elif mine[0] > other[0]:
            new = (mine[0], mine[1] + 1)
        else:
            new = (other[0], other[1] + 1)
        if new[1] > self.ch.hlc_counter_max:
            if self.ch.hlc_counter_full == "malformed" and other[:2] == (new[0], new[1] - 1):
                raise Refused(TS_MALFORMED)
            new = (new[0] + 1, 0)
        if per_key:
            self.clocks[key] = new
        else:
            self.clock = new
        self.database.clocks[key if per_key else STORE] = new
        return new[0], new[1], self.ch.node_id

    def reading(self):
        wall = self.now()
        new = self.clock if self.clock[0] >= wall else (wall, 0)
        return new[0], new[1], self.ch.node_id

    # ------------------------------------------------------------ the verbs

    def live(self, key):
        """The entry of a key, or None; an expired key does not exist, noticed or not."""
        entry = self.data.get(key)
        if entry is not None and entry.expires is not None and self.loop.time() >= entry.expires:
            self.expire(key, entry)
            return None
        return entry

    def get(self, key):
        entry = self.live(key)
        if entry is None:
            return GET_MISS, None
        return bulk(entry.value), entry.version

    def older(self, one, other):
        if self.ch.token_tie == "equal":
            return one[:2] < other[:2]
        return one < other

    def check_fence(self, entry, ft):
        """"Fencing token algorithm"."""
        if entry is not None and entry.token is not None:
            if ft is None:
                raise Refused(FT_REQUIRED)
            if self.older(ft, entry.token):
                raise Refused(self.lower)

    def newest_token(self, entry, ft):
        """"The state store updates a key-value pair's fencing token ..., if it's newer." """
        token = entry.token if entry is not None else None
        if ft is not None and (token is None or self.older(token, ft)):
            return ft
        return token

    def set(self, key, value, options, ts, ft):
        ch = self.ch
        nx, nex, compare, px = options
        entry = self.live(key)
        if ch.fence_order == "token-first":
            self.check_fence(entry, ft)
        if entry is not None and (nx or (nex and entry.value != compare)):
            if ch.refused_set_token == "stored":
                entry.token = self.newest_token(entry, ft)
                self.database.pairs.add(key)
            if ch.refused_set_moves_clock:
                try:
                    self.stamp(key, ts)
                except Refused:
                    pass
            return self.not_applied, entry.version if ch.ts_not_applied == "stored" else None
        self.check_fence(entry, ft)
        version = self.stamp(key, ts)
        token = self.newest_token(entry, ft)
        changed = entry is None or entry.value != value
        if entry is None:
            entry = self.data[key] = Entry(value, version, token)
        else:
            entry.value, entry.version, entry.token = value, version, token
        if px is not None or ch.set_without_px == "clears":
            self.set_expiry(key, entry, px)
        self.database.pairs.add(key)
        if changed or ch.notify_same_value:
            self.notify(key, value, version)
        return OK, version

    def delete(self, key, ft, value):
        """DEL, and VDEL with a value: "only deletes if it has the same keyValue"."""
        ch = self.ch
        entry = self.live(key)
        if entry is None:
            return NOTHING, None            # "... isn't considered an error"
        if ch.fence_order == "token-first":
            self.check_fence(entry, ft)
        if value is not None and value != entry.value:
            return self.not_applied, entry.version if ch.ts_vdel_differs == "stored" else None
        self.check_fence(entry, ft)
        self.drop(key, entry)
        self.notify(key, None, entry.version)
        # "This version is also returned on successful GET, DEL, and VDEL requests."
        return DELETED, entry.version

    def drop(self, key, entry):
        self.set_expiry(key, entry, None)
        self.database.pairs.add(key)
        del self.data[key]                  # with its token: it belongs to the key-value pair

    # ------------------------------------------------------------ expiry

    def set_expiry(self, key, entry, px):
        if entry.timer is not None:
            entry.timer.cancel()
            entry.timer = None
        if px is None:
            if entry.expires is not None:
                entry.expires = None
                self.expiring.discard(key)
            return
        self.expire_at(key, entry, self.loop.time() + px / 1000)

    def expire_at(self, key, entry, expires):
        entry.expires = expires
        if self.ch.expiry_noticed == "timer":
            entry.timer = self.loop.call_at(entry.expires, self.expire, key, entry)
        elif self.sweep:
            self.expiring.add(key)
            if not self.sweeping:
                self.sweeping = True
                self.loop.call_later(self.sweep / 1000, self.do_sweep)

    def do_sweep(self):
        for key in list(self.expiring):
            self.live(key)
        self.sweeping = bool(self.expiring)
        if self.sweeping:
            self.loop.call_later(self.sweep / 1000, self.do_sweep)

    def expire(self, key, entry):
        self.drop(key, entry)
        if self.ch.notify_expiry:                                        # 8a.5
            version = entry.version
            if self.ch.notify_expiry_ts == "time":
                version = self.stamp(key, (0, 0, ""))
            self.notify(key, None, version)

    # ------------------------------------------------------------ notifications

    def keynotify(self, conn, client_id, key, option):
        ch = self.ch
        version = self.reading() if ch.ts_keynotify == "clock" else None
        here = self.watchers.get(key, {})
        if option == b"STOP":
            if client_id not in here:
                return NOTHING, version
            del here[client_id]
            self.watched[client_id].discard(key)
            if not here:
                del self.watchers[key]
            return OK, version
        if client_id in here:
            here[client_id] = option == b"GET"
            return (OK if ch.keynotify_again == "+OK" else NOTHING), version
        # A request that is served after its client went is not registered any more.
        if conn is not None and conn.state == "up":
            self.watchers.setdefault(key, here)[client_id] = option == b"GET"
            self.watched.setdefault(client_id, set()).add(key)
        return OK, version

    def client_gone(self, client_id):
        """"... the state store internally removes any KEYNOTIFY messages when a given client
        disconnects", for a session that goes on as well."""
        for key in self.watched.pop(client_id, ()):
            here = self.watchers[key]
            del here[client_id]
            if not here:
                del self.watchers[key]

    def notify(self, key, value, version):
        here = self.watchers.get(key)
        if not here:
            return
        for client_id, asked in here.items():
            item = (client_id, key, value, version, asked)
            if self.outbox is not None:
                self.outbox.append(item)
            else:
                self.publish_notification(*item)

    def publish_notification(self, client_id, key, value, version, asked):
        """"KEYNOTIFY notification topics", "... notification message format"."""
        ch = self.ch
        topic = NOTIFY_TOPIC % (client_id.encode("utf-8").hex().upper(), key.hex().upper())
        if len(topic) > 65535:
            return                          # facts 4: no topic can name so long a key
        if value is None:
            payload = b"*2\r\n$6\r\nNOTIFY\r\n" + bulk(self.deletion)
        elif ch.notify_value == "if-GET" and not asked:                  # 8a.6
            payload = b"*2\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n"
        else:
            payload = b"*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n" + bulk(value)
        # "The KEYNOTIFY notification message contains the timestamp of the value ..."
        users = [("__ts", self.form % version)]
        if ch.response_protver:
            users.append(("__protVer", "1.0"))
        props = {m.USER: users}
        if ch.response_content_type:
            props[m.CONTENT_TYPE] = "application/octet-stream"
        message = Message(topic, payload, ch.notify_qos, False, props)
        if ch.documented:
            self.broker.route(message)      # to those who subscribed to the topic
            return
        session = self.broker.push(client_id, message)                   # 8a.12
        if ch.notify_others == "routed":
            self.broker.route(message, but=session)
