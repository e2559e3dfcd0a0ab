#!/usr/bin/python3
"""Wrong and unusual clients, for certify_client_test.py: the adapter of adapters/python_paho/ with one thing changed.

    faulty_clients.py NAME      the adapter that is wrong, or unusual, in this way
    faulty_clients.py --list    a line for each, JSON: kind, name, the rule of the first failure, a case that shows it"""

import inspect
import json
import os
import pathlib
import sys
import textwrap
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "adapters" / "python_paho"))
import adapter
import statestore
from statestore import Client, Clock, Failure, Lock

CHANGES = {}


def wrong(case, rule, also=()):
    """What is wrong breaks this rule, and this case shows it. Rules of these areas are broken `also`, in other cases."""
    return _change("wrong", case, rule, also)


def unusual(function):
    return _change("unusual", "*", "")(function)


def _change(kind, case, rule, also=()):
    def add(function):
        CHANGES[function.__name__.replace("_", "-")] = (kind, case, rule, also, function)
        return function
    return add


def wrap(owner, name, replacement):
    """`replacement` gets the original, and then what the original gets."""
    original = getattr(owner, name)
    setattr(owner, name, lambda *arguments, **named: replacement(original, *arguments, **named))


def change_source(owner, name, old, new):
    """A function of which one text of its source is another."""
    function = getattr(owner, name)
    source = textwrap.dedent(inspect.getsource(function))
    if old not in source:
        sys.exit(f"{name} has no {old!r}")
    place = {}
    exec(source.replace(old, new), vars(sys.modules[function.__module__]), place)  # pylint: disable=exec-used
    setattr(owner, name, place[name])


def on_words(change):
    """Requests whose words are changed before they are sent."""
    wrap(Client, "ask", lambda ask, self, *words, **how: ask(self, *change(*words), **how))


def on_result(command, change):
    """Results of one command that are changed before they are reported."""
    def perform(original, client, name, *rest):
        result = original(client, name, *rest)
        return change(result) if name == command else result
    wrap(adapter, "perform", perform)


def on_reply(change):
    """Payloads of replies that are changed before they are read."""
    def on_message(original, self, client, userdata, message):
        if not message.topic.startswith(self.told_at):
            message.payload = change(message.payload)
        original(self, client, userdata, message)
    wrap(Client, "on_message", on_message)


def on_properties(change):
    """Properties of requests that are changed before they are sent."""
    def publish(original, topic, payload, qos, properties):
        return original(topic, payload, qos=qos, properties=change(properties) or properties)

    def make(original, self, *arguments):
        original(self, *arguments)
        wrap(self.mqtt, "publish", publish)
    wrap(Client, "__init__", make)


def shifted(stamp, wall=0, counter=0):
    parts = stamp.split(":")
    return f"{int(parts[0]) + wall:015}:{int(parts[1]) + counter:05}:{parts[2]}"


# --- what is sent ---

@wrong("set.value.text", "CASE-VERB-1")
def lower_case_verb():
    on_words(lambda verb, *rest: (verb.lower(), *rest))


@wrong("set.condition.present.nx", "CASE-OPTION-1")
def lower_case_option():
    on_words(lambda *words: tuple(word.lower() if word == b"NX" else word for word in words))


@wrong("set.value.two-byte-characters", "RESP-INVALID-4")
def length_of_characters():
    statestore.array = lambda *words: b"*%d\r\n" % len(words) + b"".join(
        b"$%d\r\n%s\r\n" % (len(word.decode(errors="replace")), word) for word in words)


@wrong("set.value.all-bytes", "SET-VALUE-1")
def values_as_text():
    on_words(lambda *words: tuple(word.decode(errors="replace").encode() for word in words))


@wrong("key.upper-case.get", "KEY-BINARY-1")
def keys_in_lower_case():
    on_words(lambda verb, key, *rest: (verb, key.lower(), *rest))


@wrong("key.nul.del", "KEY-BINARY-1")
def keys_end_at_nul():
    on_words(lambda verb, key, *rest: (verb, key.partition(b"\x00")[0], *rest))


@wrong("set.condition.present.nx", "SET-NX-2", also=("LOCK",))
def condition_not_sent():
    on_words(lambda *words: tuple(word for word in words if word not in (b"NX", b"NEX")))


@wrong("set.condition.present.nex-same", "SET-NEX-2")
def nx_for_nex():
    on_words(lambda *words: tuple(b"NX" if word == b"NEX" else word for word in words))


@wrong("set.condition.present.nex-same", "SET-NEX-4")
def nex_with_a_value():
    on_words(lambda *words: (*words, words[2]) if words[-1] == b"NEX" else words)


@wrong("set.expiry.of-1500-milliseconds", "SET-PX-1", also=("LOCK",))
def expiry_in_seconds():
    on_words(lambda *words: (*words[:-1], b"%d" % (int(words[-1]) // 1000)) if b"PX" in words else words)


@wrong("set.expiry.beyond-32-bits", "SET-PX-1")
def expiry_of_32_bits():
    on_words(lambda *words: (*words[:-1], b"%d" % (int(words[-1]) & 0xFFFFFFFF)) if b"PX" in words else words)


@wrong("set.expiry.of-a-second", "SET-PX-1", also=("LOCK",))
def expiry_not_sent():
    on_words(lambda *words: words[:words.index(b"PX")] if b"PX" in words else words)


@wrong("vdel.count.different", "VDEL-GRAMMAR-1", also=("LOCK",))
def vdel_as_del():
    on_words(lambda verb, key, *rest: (b"DEL", key) if verb == b"VDEL" else (verb, key, *rest))


@wrong("observe.stop", "NTF-STOP-1")
def stop_not_sent():
    wrap(adapter, "perform", lambda original, client, name, *rest: client.observed.discard(rest[0]) or {}
         if name == "unobserve" else original(client, name, *rest))


@wrong("get.missing", "ENV-QOS-2")
def qos_0():
    change_source(Client, "publish", "qos=1", "qos=0")


@wrong("get.missing", "ENV-RESPONSE-TOPIC-5")
def no_response_topic():
    on_properties(lambda properties: delattr(properties, "ResponseTopic"))


@wrong("get.missing", "ENV-RESPONSE-TOPIC-3", also=("MQTT",))
def response_topic_of_the_store():
    def change(properties):
        properties.ResponseTopic = statestore.NOTIFICATIONS + "/response"
    on_properties(change)


@wrong("get.missing", "ENV-CORRELATION-2")
def no_correlation_data():
    on_properties(lambda properties: delattr(properties, "CorrelationData"))


@wrong("together.order.reversed.gets", "ENV-CORRELATION-3", also=("LIFE", "VER"))
def correlation_data_used_again():
    uuid.uuid4 = lambda: uuid.UUID(int=1)


# --- clocks and tokens ---

@wrong("set.value.text", "HLC-REQUIRED-2")
def no_timestamp():
    change_source(Client, "publish", 'properties.UserProperty = ("__ts", self.clock.now())', "pass")


@wrong("set.value.text", "HLC-REQUIRED-2")
def timestamp_of_seconds_alone():
    Clock.now = lambda self: str(int(time.time()))


@wrong("clock.merged.ahead-by-a-second", "HLC-CLIENT-2")
def clock_not_merged():
    Clock.merge = lambda self, text: None


@wrong("clock.of-a-read", "HLC-CLIENT-2")
def clock_not_merged_of_reads():
    def ask(original, self, *words, **how):
        before = self.clock.last
        reply = original(self, *words, **how)
        if words[0] == b"GET":
            self.clock.last = before
        return reply
    wrap(Client, "ask", ask)


@wrong("clock.idle", "HLC-CLIENT-1", also=("ENV",))
def clock_goes_back():
    times = iter(range(0, 1_000_000, 5_000))
    wrap(Clock, "now", lambda now, self: shifted(now(self), wall=-next(times)))


@wrong("set.value.text", "ENV-CLOCK-1")
def clock_two_minutes_ahead():
    wrap(Clock, "now", lambda now, self: shifted(now(self), wall=120_000))


@wrong("clock.version-of-the-future.by-two-minutes", "VER-DRIFT-1")
def merges_the_future():
    statestore.MAX_DRIFT_MS = 10**12


@wrong("lock.sequence", "LOCK-TOKEN-2")
def token_edited():
    wrap(Client, "ask", lambda ask, self, *words, token=None, **how: ask(
        self, *words, token=token and shifted(token, counter=1), **how))


@wrong("lock.token-of-deletes.del", "FT-REQUIRED-2")
def token_not_sent_with_deletes():
    wrap(Client, "ask", lambda ask, self, *words, token=None, **how: ask(
        self, *words, token=token if words[0] == b"SET" else None, **how))


@wrong("lock.sequence", "LOCK-TOKEN-2")
def token_not_sent():
    wrap(Client, "ask", lambda ask, self, *words, token=None, **how: ask(self, *words, **how))


# --- what is made of replies ---

@wrong("set.condition.present.nx", "SET-NOT-APPLIED-1")
def not_applied_taken_for_success():
    on_result("set", lambda result: {**result, "applied": True})


@wrong("get.missing", "GET-MISS-1")
def missing_taken_for_empty():
    on_result("get", lambda result: {**result, "value": result["value"] or ""})


@wrong("get.value.empty", "GET-HIT-4")
def empty_taken_for_missing():
    on_result("get", lambda result: {**result, "value": result["value"] or None})


@wrong("get.value.line-end", "GET-HIT-3", also=("NTF",))
def values_end_at_the_line():
    statestore.bulk = adapter.bulk = lambda data: None if data == b"$-1\r\n" else data.split(b"\r\n")[1]


@wrong("get.value.nul", "GET-HIT-3")
def values_end_at_nul():
    on_reply(lambda payload: payload if b"\x00" not in payload else b"$0\r\n\r\n")


@wrong("malformed.get.length-too-short", "GET-HIT-1", also=("NTF",))
def length_not_checked():
    statestore.bulk = adapter.bulk = lambda data: None if data == b"$-1\r\n" else data[data.index(b"\n") + 1:-2]


@wrong("get.value.like-an-error", "GET-HIT-3")
def error_looked_for_anywhere():
    on_reply(lambda payload: payload[payload.index(b"-ERR"):] if b"-ERR" in payload else payload)


@wrong("error.set.quota-exceeded", "RESP-ERROR-FORM-1", also=("ERR",))
def errors_taken_for_success():
    on_reply(lambda payload: b"+OK\r\n" if payload.startswith(b"-ERR") else payload)


@wrong("error.get.not-authorized", "RESP-ERROR-FORM-1", also=("ERR",))
def errors_taken_for_missing():
    on_reply(lambda payload: b"$-1\r\n" if payload.startswith(b"-ERR") else payload)


@wrong("error.set.not-authorized", "ERR-TEXT-7")
def error_text_ignored():
    wrap(Failure, "__init__", lambda init, self, kind, text: init(self, kind, "it failed"))


@wrong("error.unknown-text.of-words", "ERR-UNKNOWN-1")
def unknown_errors_are_fatal():
    on_reply(lambda payload: os._exit(3) if b"moon" in payload else payload)


@wrong("malformed.set.nothing", "SET-OK-1")
def anything_is_ok():
    on_reply(lambda payload: payload if payload[:1] in (b"-", b"$", b":") else b"+OK\r\n")


@wrong("malformed.get.bytes-alone", "GET-HIT-1", also=("SET",))
def crashes_on_a_malformed_reply():
    on_reply(lambda payload: os._exit(7) if payload[:1] not in (b"+", b"-", b"$", b":") else payload)


@wrong("malformed.del.no-digits", "DEL-COUNT-1")
def hangs_on_a_malformed_reply():
    def ask(original, self, *words, **how):
        reply = original(self, *words, **how)
        while reply[0] == b":\r\n":
            time.sleep(1)
        return reply
    wrap(Client, "ask", ask)


@wrong("del.count.absent", "DEL-MISS-1")
def deletes_are_always_one():
    on_result("del", lambda result: {"deleted": 1})


@wrong("vdel.count.different", "VDEL-MISMATCH-2")
def another_value_taken_for_none():
    on_result("vdel", lambda result: {"deleted": max(0, result["deleted"])})


@wrong("version.is-reported.of-the-store", "VER-GET-1")
def version_of_its_own():
    on_result("get", lambda result: {**result, "version": f"{time.time_ns() // 1_000_000}:0:me"})


@wrong("reply.of-nobody.unknown", "ENV-CORRELATION-1", also=("LIFE", "VER"))
def takes_any_response():
    change_source(Client, "on_message", 'self.waiting.pop(getattr(message.properties, "CorrelationData", None), None)',
                  "self.waiting.popitem()[1] if self.waiting else None")


@wrong("together.order.reversed.gets", "ENV-CORRELATION-1", also=("LIFE", "VER"))  # the version of another reply
def matches_by_order():
    change_source(Client, "on_message", 'self.waiting.pop(getattr(message.properties, "CorrelationData", None), None)',
                  "self.waiting.pop(next(iter(self.waiting), None), None)")


@wrong("reply.late", "ENV-CORRELATION-1", also=("LIFE",))
def takes_a_late_reply():
    kept = []

    def on_message(original, self, client, userdata, message):
        known = getattr(message.properties, "CorrelationData", None) in self.waiting
        if known or message.topic.startswith(self.told_at):
            return original(self, client, userdata, message)
        for answer in self.waiting.values():
            answer.put((message.payload, None))
        return kept.append(message)
    wrap(Client, "on_message", on_message)


@wrong("error.set.syntax", "RESP-ERROR-FORM-1", also=("ERR", "SET", "ENV"))
def does_not_wait_for_the_reply():
    def ask(original, self, *words, **how):
        try:
            return original(self, *words, **how)
        except Failure:
            return (b"+OK\r\n" if words[0] == b"SET" else b"$-1\r\n"), None
    wrap(Client, "ask", ask)


@wrong("session.many-requests", "GET-MISS-1", also=("ENV",))
def remembers_values():
    seen = {}

    def perform(original, client, name, key, value, command):
        result = original(client, name, key, value, command)
        if name == "set":
            seen[key] = value.hex()
        return {**result, "value": seen.get(key, result["value"])} if name == "get" else result
    wrap(adapter, "perform", perform)


# --- notifications ---

@wrong("observe.other-keys.other", "NTF-SEND-3")
def tells_of_any_key():
    change_source(Client, "on_notification", "key in self.observed", "True")


@wrong("observe.several-keys", "NTF-TOPIC-1", also=("LIFE",))
def tells_the_first_key():
    change_source(Client, "on_notification", "key.hex()", "sorted(self.observed)[0].hex()")


@wrong("observe.key.lower-case-hex", "NTF-TOPIC-1")
def key_left_in_hex():
    change_source(Client, "on_notification", "key.hex()", "key.hex().encode().hex()")


@wrong("observe.delete", "NTF-SEND-2")
def deletions_taken_for_empty_values():
    on_result("notification", lambda note: {**note, "operation": "set", "value": note.get("value") or ""})


@wrong("observe.delete", "NTF-KEEP-1")
def ends_with_a_deletion():
    def perform(original, client, name, *rest):
        result = original(client, name, *rest)
        if result.get("operation") == "delete":
            client.observed.clear()
        return result
    wrap(adapter, "perform", perform)


@wrong("observe.order", "NTF-SEND-1")
def tells_the_last_first():
    import queue

    def make(original, self, *arguments):
        original(self, *arguments)
        self.notes = queue.LifoQueue()

    def perform(original, client, name, *rest):
        if name == "notification":
            time.sleep(0.2)
        return original(client, name, *rest)
    wrap(Client, "__init__", make)
    wrap(adapter, "perform", perform)


@wrong("observe.malformed.length-too-long", "NTF-FORMAT-1")
def takes_malformed_notifications():
    change_source(Client, "on_notification", "bulk(message.payload[len(prefix):])", "message.payload[len(prefix) + 4:-2]")


@wrong("observe.malformed.empty-array", "NTF-FORMAT-1")
def crashes_on_a_malformed_notification():
    wrap(Client, "on_notification", lambda original, self, message: os._exit(9) if message.payload == b"*0\r\n" else original(
        self, message))


@wrong("observe.order-of-a-queue", "NTF-SEND-1", also=("LIFE",))
def tells_the_last_notification_first():
    change_source(Client, "__init__", "queue.Queue()", "queue.LifoQueue()")


@wrong("reply.sent-again", "ENV-RESPONSE-1", also=("ENV", "LIFE", "SET", "GET"))
def drops_what_was_sent_again():
    wrap(Client, "on_message", lambda original, self, client, userdata, message: None if message.dup else original(
        self, client, userdata, message))


@wrong("reply.of-nobody.of-another-last-byte", "ENV-CORRELATION-1")
def looks_at_most_of_the_correlation_data():
    change_source(Client, "on_message", 'self.waiting.pop(getattr(message.properties, "CorrelationData", None), None)',
                  'next((self.waiting.pop(each) for each in list(self.waiting) '
                  'if each[:-1] == (getattr(message.properties, "CorrelationData", None) or b"")[:-1]), None)')


@wrong("lock-helper.renewal-of-a-lost-lock", "LOCK-ACQUIRE-2")
def renews_with_a_plain_set():
    change_source(Lock, "renew", "self.attempt(lease_ms, lease_ms / 1000) is None",
                  'self.client.ask(b"SET", self.name, self.holder, b"PX", b"%d" % lease_ms, timeout=5) is None')


@wrong("lock-helper.reply-behind-the-lease", "LOCK-ACQUIRE-3")
def takes_a_lock_whose_lease_has_ended():
    change_source(Lock, "attempt", "time.monotonic() < ends", "True")


# --- connections and limits ---

@wrong("cut.observed", "LIFE-RECONNECT-1")
def observes_no_longer_after_a_reconnect():
    change_source(Client, "on_subscribe", "self.observed | set(self.watched)", "[]")


@wrong("cut.observed-no-longer", "LIFE-RECONNECT-1")
def observes_again_what_was_stopped():
    change_source(adapter, "perform", "client.observed.discard(key)", "pass")


@wrong("cut.idle", "LIFE-KEY-1")
def never_connects_again():
    wrap(Client, "on_disconnect", lambda original, self, *rest: self.mqtt.disconnect() and None or original(self, *rest))


@wrong("limit.receive-maximum.of-one", "MQTT-3.3.4-7")
def ignores_the_receive_maximum():
    change_source(Client, "on_connect", 'getattr(properties, "ReceiveMaximum", RECEIVE_MAXIMUM)', "RECEIVE_MAXIMUM")


@wrong("limit.packet-size", "MQTT-3.2.2-15")
def ignores_the_packet_size():
    change_source(Client, "on_connect", 'getattr(properties, "MaximumPacketSize", None)', "None")


@wrong("limit.keep-alive", "MQTT-3.2.2-21")
def ignores_the_keep_alive_of_the_broker():
    change_source(Client, "on_connect", 'getattr(properties, "ServerKeepAlive", self.mqtt._keepalive)', "60")


@wrong("connect.refused.busy", "ENV-MQTT5-1")
def takes_a_refusal_for_a_connection():
    change_source(Client, "on_connect", "self.largest_packet =", "self.ready.set()\n    self.largest_packet =")
    change_source(Client, "on_disconnect", "self.ready.clear()", "pass")


@wrong("cut.with-a-reason.busy", "LIFE-KEY-1")
def gives_up_when_the_broker_gives_a_reason():
    def on_disconnect(original, self, client, userdata, code, *rest):
        if rest:
            self.mqtt.disconnect()
        original(self, client, userdata, code, *rest)
    wrap(Client, "on_disconnect", on_disconnect)


@wrong("limit.refused-places", "ENV-PUBACK-1", also=("SET", "GET"))
def keeps_the_places_of_refused_requests():
    def publish(original, self, *arguments):
        if getattr(self, "places", None) == 0:
            raise Failure("busy", "no place")
        self.places = getattr(self, "places", None) and self.places - 1
        original(self, *arguments)

    def on_connect(original, self, client, userdata, flags, reason, properties):
        self.places = getattr(properties, "ReceiveMaximum", None)
        original(self, client, userdata, flags, reason, properties)

    def on_message(original, self, *arguments):
        self.places = self.places and self.places + 1
        original(self, *arguments)
    wrap(Client, "publish", publish)
    wrap(Client, "on_connect", on_connect)
    wrap(Client, "on_message", on_message)


def session_of_an_hour():
    change_source(Client, "__init__", "self.mqtt.connect(host, port)",
                  "self.mqtt.connect(host, port, properties=session())")
    statestore.session = lambda: properties

    properties = statestore.mqtt.Properties(statestore.PacketTypes.CONNECT)
    properties.SessionExpiryInterval = 3600


@wrong("cut.observed", "LIFE-RECONNECT-1")
def takes_its_session_for_its_registrations():
    session_of_an_hour()
    change_source(Client, "on_connect", "qos = ", "if _flags['session present']: return self.ready.set()\n    qos = ")


@wrong("session.forgotten", "LIFE-RECONNECT-1", also=("ENV", "GET"))
def takes_its_session_for_granted():
    session_of_an_hour()
    change_source(Client, "on_connect", "qos = ",
                  "if hasattr(self, 'was'): return self.on_subscribe()\n    self.was = True\n    qos = ")


@wrong("session.reply-after-a-reconnect.set.before", "ENV-CORRELATION-1", also=("LIFE",))
def takes_a_reply_of_the_connection_before():
    def on_message(original, self, client, userdata, message):
        known = getattr(message.properties, "CorrelationData", None) in self.waiting
        if not known and not message.topic.startswith(self.told_at) and self.reconnected:
            message.properties.CorrelationData = next(iter(self.waiting), b"")
        original(self, client, userdata, message)

    def on_disconnect(original, self, *rest):
        self.reconnected = True
        original(self, *rest)
    Client.reconnected = False
    wrap(Client, "on_message", on_message)
    wrap(Client, "on_disconnect", on_disconnect)


@wrong("session.lost-notification.set.as-asked", "LIFE-RECONNECT-1")
def tells_nothing_after_a_reconnect():
    change_source(Client, "on_disconnect", "self.ready.clear()",
                  "self.ready.clear()\n    self.on_notification = lambda *_: None")


# --- adapters that do nothing ---

# --- locks ---

@wrong("lock-helper.taken", "LOCK-ACQUIRE-3")
def locks_without_an_end():
    change_source(Lock, "attempt", 'b"NEX", b"PX", b"%d" % lease_ms', 'b"NEX"')


@wrong("lock-helper.taken", "LOCK-ACQUIRE-1")
def locks_without_a_condition():
    change_source(Lock, "attempt", 'b"NEX", ', "")


@wrong("lock-helper.held-by-another.other", "LOCK-ACQUIRE-2")
def refusal_taken_for_the_lock():
    change_source(Lock, "attempt", "return None", "return version")


@wrong("lock-helper.held-by-another.other", "LOCK-ACQUIRE-2")
def refusal_taken_for_an_error():
    change_source(Lock, "attempt", "return None", "raise Failure('service', 'held')")


@wrong("lock-helper.error.quota-exceeded", "RESP-ERROR-FORM-1")
def errors_taken_for_a_refusal():
    def attempt(original, self, *arguments):
        try:
            return original(self, *arguments)
        except Failure:
            return None
    wrap(Lock, "attempt", attempt)


@wrong("lock-helper.renewed", "LOCK-TOKEN-1")
def token_of_the_first_time():
    def attempt(original, self, *arguments):
        token = original(self, *arguments)
        self.first = getattr(self, "first", None) or token
        return token and self.first
    wrap(Lock, "attempt", attempt)


@wrong("lock-helper.no-version", "LOCK-TOKEN-1")
def makes_up_a_token():
    change_source(Lock, "attempt", "version is None", "not (version := version or self.client.clock.now())")


@wrong("lock-helper.taken", "LOCK-RELEASE-1")
def gives_back_with_del():
    change_source(Lock, "release", 'b"VDEL", self.name, self.holder', 'b"DEL", self.name')


@wrong("lock-helper.release-of-a-lost-lock", "LOCK-RELEASE-1")
def gives_back_what_others_hold():
    change_source(Lock, "release", "self.name, self.holder", "self.name, self.owner(timeout) or self.holder")


@wrong("lock-helper.taken", "LOCK-RELEASE-1")
def keeps_its_locks():
    Lock.release = lambda self, timeout: self.stop()


@wrong("lock-helper.held-by-another.other", "LOCK-HOLDER-1")
def takes_itself_for_the_holder():
    change_source(adapter, "perform_lock", "owner.hex()", 'b"me".hex()')


@wrong("lock-helper.waits-for-the-last", "LOCK-ACQUIRE-1")
def gives_up_with_the_first_change():
    change_source(Lock, "wait_for_it", "changed.wait(max(0.0, end - time.monotonic()))",
                  "changed.wait(max(0.0, end - time.monotonic()))\n            return None")


@wrong("lock-helper.renews", "LOCK-RENEW-1")
def never_renews():
    Lock.renew = lambda *_: None


@wrong("lock-helper.renews", "LOCK-RELEASE-1")
def renews_what_was_given_back():
    Lock.stop = lambda self: None


def only_says(report):
    def main():
        client = adapter.Adapter()
        client.say({"fencepost_adapter": 1, "name": "null", "capabilities": adapter.CAPABILITIES})
        for command in map(json.loads, sys.stdin):
            line = report(command["command"])
            if line is not None:
                client.say({"id": command["id"], **line})
    adapter.Adapter.main = lambda self: main()


EMPTY = {"set": {"applied": True, "version": None}, "get": {"value": None, "version": None}, "del": {"deleted": 1},
         "vdel": {"deleted": 1}, "notification": {"none": True}}


@wrong("*", "")
def null_success():
    only_says(lambda command: {"ok": EMPTY.get(command, {})})


@wrong("*", "")
def null_error():
    only_says(lambda command: {"ok": {}} if command == "connect" else {"error": {"kind": "reply", "text": "no"}})


# --- unusual, and right ---

@unusual
def stamps_without_zeros():
    wrap(Clock, "now", lambda now, self: ":".join(part.lstrip("0") or "0" for part in now(self).split(":")))


@unusual
def stamps_sets_only():
    change_source(Client, "publish", 'properties.UserProperty = ("__ts", self.clock.now())',
                  'properties.UserProperty = ("__ts", self.clock.now()) if b"SET" in payload[:14] else ("x", "y")')


@unusual
def short_correlation_data():
    numbers = iter(range(1, 10**9))

    class Short:
        def __init__(self):
            self.bytes = b"%d" % next(numbers)
    uuid.uuid4 = Short


@unusual
def response_topic_of_its_own():
    change_source(Client, "__init__", "clients/{name}/services/statestore/_any_/command/invoke/response", "mine/{name}/r")


@unusual
def further_properties():
    def change(properties):
        for pair in (("__protVer", "1.0"), ("__srcId", "me"), ("$partition", "me"), ("$high_priority", "")):
            properties.UserProperty = pair
        properties.ContentType, properties.MessageExpiryInterval = "application/octet-stream", 10
    on_properties(change)


@unusual
def expiry_before_the_condition():
    on_words(lambda *words: (*words[:3], *words[4:], words[3]) if len(words) == 6 else words)


@unusual
def reads_before_it_writes():
    def ask(original, self, *words, **how):
        if words[0] == b"SET" and words[1]:
            original(self, b"GET", b"something else", timeout=how["timeout"])
        return original(self, *words, **how)
    wrap(Client, "ask", ask)


@unusual
def subscribes_one_by_one():
    change_source(Client, "on_connect", "self.mqtt.subscribe([(self.topic, qos), (self.told_at + \"+\", qos)])",
                  "self.mqtt.subscribe(self.told_at + '#', options=qos)\n"
                  "    self.second = self.mqtt.subscribe(self.topic, options=qos)")
    change_source(Client, "on_subscribe", "for key", "if _[2] != self.second[1]: return\n    for key")


@unusual
def responses_at_qos_0():
    change_source(Client, "on_connect", "(self.topic, qos)", "(self.topic, mqtt.SubscribeOptions(qos=0))")


@unusual
def keeps_its_session():
    session_of_an_hour()


@unusual
def keeps_its_session_and_subscriptions():
    session_of_an_hour()
    change_source(Client, "on_connect", "qos = ",
                  "if _flags['session present']: return self.on_subscribe()\n    qos = ")


@unusual
def waits_on_through_a_reconnect():
    session_of_an_hour()
    setattr(Client, "on_disconnect", lambda self, *_: self.ready.clear())


@unusual
def leaves_empty_keys_to_the_store():
    change_source(Client, "ask", "if not words[1]:", "if False:")


@unusual
def of_a_large_envelope():
    on_properties(lambda properties: setattr(properties, "UserProperty", ("padding", "x" * 1500)))


@unusual
def slow():
    wrap(Client, "ask", lambda ask, self, *words, **how: time.sleep(0.03) or ask(self, *words, **how))


@unusual
def hex_in_upper_case():
    on_result("get", lambda result: {**result, "value": result["value"] and result["value"].upper()})


@unusual
def of_few_capabilities():
    adapter.CAPABILITIES[:] = ["set", "get"]


@unusual
def connects_again_when_told():
    adapter.CAPABILITIES.remove("reconnects")


@unusual
def takes_locks_with_nx():
    adapter.CAPABILITIES.remove("lock-renewal")
    change_source(Lock, "attempt", 'b"NEX"', 'b"NX"')


@unusual
def names_itself_in_locks():
    adapter.CAPABILITIES.remove("lock-holder")
    wrap(adapter, "lock_of", lambda lock_of, client, name, _holder: lock_of(client, name, client.clock.node.encode()))


@unusual
def asks_for_locks_again_and_again():
    change_source(Lock, "wait_for_it", "changed.wait(max(0.0, end - time.monotonic()))", "changed.wait(0.05)")


@unusual
def one_after_the_other():
    adapter.CAPABILITIES.remove("concurrent")


def main():
    if sys.argv[1:] == ["--list"]:
        for name, (kind, case, rule, also, _) in CHANGES.items():
            print(json.dumps({"kind": kind, "name": name, "case": case, "rule": rule, "also": also}))
        return
    CHANGES[sys.argv[1]][-1]()
    adapter.Adapter().main()


if __name__ == "__main__":
    main()
