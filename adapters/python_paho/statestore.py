"""A small client of the state store, with Paho (Debian: python3-paho-mqtt).

    client = Client("127.0.0.1", 1883, "me")
    client.ask(b"SET", b"key", b"value", timeout=5)
    token = Lock(client, b"lock", b"me").acquire(lease_ms=10_000, timeout=5)"""

import queue
import threading
import time
import uuid

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes

REQUESTS = "statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke"
NOTIFICATIONS = "clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8"
MAX_DRIFT_MS = 60_000
RECEIVE_MAXIMUM = 65_535


class Failure(Exception):
    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


class Clock:
    """A hybrid logical clock: what it stamps is greater than all that it has stamped and merged."""

    def __init__(self, node):
        self.node, self.last, self.lock = node, (0, 0), threading.Lock()

    def now(self):
        with self.lock:
            wall = time.time_ns() // 1_000_000
            self.last = (wall, 0) if wall > self.last[0] else (self.last[0], self.last[1] + 1)
            return f"{self.last[0]:015}:{self.last[1]:05}:{self.node}"

    def merge(self, text):
        parts = text.split(":")
        if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts[:2]) or not parts[2]:
            raise Failure("reply", f"no timestamp: {text}")
        other = (int(parts[0]), int(parts[1]))
        if other[0] - time.time_ns() // 1_000_000 > MAX_DRIFT_MS:
            raise Failure("reply", f"a timestamp of the future: {text}")
        with self.lock:
            self.last = max(self.last, other)


def array(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def bulk(data):
    """The bytes of the bulk string that `data` is; None for any other bytes."""
    head, _, rest = data.partition(b"\r\n")
    digits = head[1:]
    if not head.startswith(b"$") or not digits.isdigit() or (len(digits) > 1 and digits.startswith(b"0")):
        return None
    return rest[:-2] if len(rest) == int(digits) + 2 and rest.endswith(b"\r\n") else None


def timestamp_of(message):
    stamps = [value for name, value in getattr(message.properties, "UserProperty", []) if name == "__ts"]
    return stamps[-1] if stamps else None


class Client:
    """A client of the state store. Any thread may use it."""

    def __init__(self, host, port, name):
        self.clock, self.lock, self.ready = Clock(name), threading.Lock(), threading.Event()
        self.waiting, self.observed, self.notes, self.largest_packet = {}, set(), queue.Queue(), None
        self.watched, self.closed = {}, threading.Event()  # key -> what is set when it may be another
        self.topic = f"clients/{name}/services/statestore/_any_/command/invoke/response"
        self.told_at = f"{NOTIFICATIONS}/{name.encode().hex().upper()}/command/notify/"
        self.mqtt = mqtt.Client(name, protocol=mqtt.MQTTv5)
        self.mqtt.reconnect_delay_set(1, 1)
        self.mqtt.on_connect, self.mqtt.on_subscribe = self.on_connect, self.on_subscribe
        self.mqtt.on_disconnect, self.mqtt.on_message = self.on_disconnect, self.on_message
        self.mqtt.connect(host, port)
        self.mqtt.loop_start()

    def close(self):
        self.closed.set()
        self.mqtt.disconnect()
        self.mqtt.loop_stop()

    def on_connect(self, _client, _userdata, _flags, _reason, properties):
        self.largest_packet = getattr(properties, "MaximumPacketSize", None)
        # Paho has no function for it, and does not look at the property itself.
        self.mqtt._keepalive = getattr(properties, "ServerKeepAlive", self.mqtt._keepalive)
        self.mqtt.max_inflight_messages_set(getattr(properties, "ReceiveMaximum", RECEIVE_MAXIMUM))
        qos = mqtt.SubscribeOptions(qos=1)
        self.mqtt.subscribe([(self.topic, qos), (self.told_at + "+", qos)])

    def on_subscribe(self, *_):
        for key in self.observed | set(self.watched):  # the store forgets registrations with the connection
            self.publish(array(b"KEYNOTIFY", key), uuid.uuid4().bytes)
        for changed in list(self.watched.values()):
            changed.set()
        self.ready.set()

    def on_disconnect(self, *_):
        self.ready.clear()
        with self.lock:
            for answer in self.waiting.values():
                answer.put(Failure("connection", "the connection has ended"))
            self.waiting.clear()

    def on_message(self, _client, _userdata, message):
        if message.topic.startswith(self.told_at):
            return self.on_notification(message)
        with self.lock:
            answer = self.waiting.pop(getattr(message.properties, "CorrelationData", None), None)
        if answer:
            answer.put((message.payload, timestamp_of(message)))

    def on_notification(self, message):
        try:
            key, version = bytes.fromhex(message.topic[len(self.told_at):]), timestamp_of(message)
            self.clock.merge(version or "")
        except (ValueError, Failure):
            return  # of no use to anybody
        if key in self.watched:
            self.watched[key].set()
        prefix = b"*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n"
        value = bulk(message.payload[len(prefix):]) if message.payload.startswith(prefix) else None
        is_deletion = message.payload in (array(b"NOTIFY", b"DELETE"), array(b"NOTIFY", b"DEL"))
        if key in self.observed and (is_deletion or value is not None):
            self.notes.put({"key": key.hex(), "operation": "delete" if is_deletion else "set",
                            "value": None if is_deletion else value.hex(), "version": version})

    def publish(self, payload, correlation, token=None):
        properties = mqtt.Properties(PacketTypes.PUBLISH)
        properties.ResponseTopic, properties.CorrelationData = self.topic, correlation
        properties.UserProperty = ("__ts", self.clock.now())
        if token:
            properties.UserProperty = ("__ft", token)
        # The header, and the lengths of the topic and of the packet, take no more than nine bytes.
        size = 9 + len(REQUESTS) + len(properties.pack()) + len(payload)
        if self.largest_packet and size > self.largest_packet:
            raise Failure("argument", f"the broker takes {self.largest_packet} bytes")
        self.mqtt.publish(REQUESTS, payload, qos=1, properties=properties)

    def ask(self, *words, timeout, token=None):
        """(payload, version) of the reply; an error of the store, and what is no reply, is a Failure."""
        end, correlation, answer = time.monotonic() + timeout, uuid.uuid4().bytes, queue.Queue()
        if not words[1]:
            raise Failure("argument", "a key has at least one byte")
        if not self.ready.wait(timeout):
            raise Failure("connection", "not connected")
        with self.lock:
            self.waiting[correlation] = answer
        try:
            self.publish(array(*words), correlation, token)
            reply = answer.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            raise Failure("timeout", "no reply") from None
        finally:
            with self.lock:
                self.waiting.pop(correlation, None)
        if isinstance(reply, Failure):
            raise reply
        payload, version = reply
        if version is not None:
            self.clock.merge(version)
        for start in (b"-ERR ", b"-ERR: "):
            text = payload[len(start):-2]
            if payload.startswith(start) and payload.endswith(b"\r\n") and b"\r" not in text and b"\n" not in text:
                raise Failure("service", text.decode(errors="replace").removeprefix(": "))
        return payload, version


class Lock:
    """A lock that this holder takes, renews and gives back."""

    def __init__(self, client, name, holder):
        self.client, self.name, self.holder, self.renewal = client, name, holder, None

    def attempt(self, lease_ms, timeout):
        """The token; None where another client holds it, or the lease has ended before the answer came."""
        ends = time.monotonic() + lease_ms / 1000  # it begins once the store has the request
        payload, version = self.client.ask(b"SET", self.name, self.holder, b"NEX", b"PX", b"%d" % lease_ms, timeout=timeout)
        if payload in (b":-1\r\n", b"-1\r\n"):
            return None
        if payload != b"+OK\r\n" or version is None:
            raise Failure("reply", f"neither a token nor a refusal: {payload[:100]!r}")
        return version if time.monotonic() < ends else None

    def acquire(self, lease_ms, timeout, wait=False, renew_ms=None):
        """The same; with `wait`, once it is free, or when the time is over."""
        self.stop()
        token = self.attempt(lease_ms, timeout)
        if token is None and wait:
            token = self.wait_for_it(lease_ms, timeout)
        if token is not None and renew_ms:
            stopped = threading.Event()
            act = threading.Thread(target=self.renew, args=(stopped, lease_ms, renew_ms / 1000), daemon=True)
            self.renewal = (stopped, act)
            act.start()
        return token

    def wait_for_it(self, lease_ms, timeout):
        end, changed = time.monotonic() + timeout, threading.Event()
        self.client.watched[self.name] = changed
        try:
            self.client.ask(b"KEYNOTIFY", self.name, timeout=timeout)
            while time.monotonic() < end:
                changed.clear()  # first, so that no change is missed
                token = self.attempt(lease_ms, timeout)
                if token is not None:
                    return token
                changed.wait(max(0.0, end - time.monotonic()))
            return None
        finally:
            del self.client.watched[self.name]
            if self.name not in self.client.observed:
                self.client.ask(b"KEYNOTIFY", self.name, b"STOP", timeout=timeout)

    def renew(self, stopped, lease_ms, period):
        while not stopped.wait(period) and not self.client.closed.is_set():
            try:
                if self.attempt(lease_ms, lease_ms / 1000) is None:
                    return  # it is another client's
            except Failure:
                pass  # until the next time

    def stop(self):
        """No renewal comes behind it."""
        if self.renewal:
            self.renewal[0].set()
            self.renewal[1].join()
        self.renewal = None

    def release(self, timeout):
        self.stop()
        payload, _ = self.client.ask(b"VDEL", self.name, self.holder, timeout=timeout)
        if payload not in (b":1\r\n", b":0\r\n", b":-1\r\n", b"-1\r\n"):
            raise Failure("reply", f"not a reply to VDEL: {payload[:100]!r}")

    def owner(self, timeout):
        """The name of who holds it; None: nobody."""
        payload, _ = self.client.ask(b"GET", self.name, timeout=timeout)
        name = bulk(payload)
        if name is None and payload != b"$-1\r\n":
            raise Failure("reply", f"not a reply to GET: {payload[:100]!r}")
        return name
