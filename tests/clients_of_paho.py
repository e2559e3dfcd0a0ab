"""A client of the state store with Paho: what `fencepost serve --judge-clients -- python3 clients_of_paho.py WAY` judges.

WAY is what it does: `right`, or how it is wrong."""

import os
import queue
import sys
import time
import uuid

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes

REQUESTS = "statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke"
NOTIFICATIONS = "clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8"
PATIENCE = 30


def payload(*words):
    parts = [word if isinstance(word, bytes) else word.encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


class Clock:
    """A hybrid logical clock."""

    def __init__(self, node):
        self.node = node
        self.last = (0, 0)

    def now(self):
        wall = time.time_ns() // 1_000_000
        self.last = (wall, 0) if wall > self.last[0] else (self.last[0], self.last[1] + 1)
        return f"{self.last[0]:015}:{self.last[1]:05}:{self.node}"

    def merge(self, text):
        wall, counter, _ = text.split(":")
        other = (int(wall), int(counter))
        if other >= self.last:
            self.last = (other[0], other[1] + 1)


class Client:
    def __init__(self, name, way):
        self.way = way
        self.clock = Clock(name)
        self.responses = queue.Queue()
        self.notes = queue.Queue()
        self.subscribed = queue.Queue()
        self.topic = f"clients/{name}/services/statestore/_any_/command/invoke/response"
        self.told_at = f"{NOTIFICATIONS}/{name.encode().hex().upper()}/command/notify/+"
        self.mqtt = mqtt.Client(name, protocol=mqtt.MQTTv5)
        self.mqtt.on_message = self.on_message
        self.mqtt.on_subscribe = lambda *_: self.subscribed.put(True)
        self.mqtt.connect(os.environ["FENCEPOST_HOST"], int(os.environ["FENCEPOST_PORT"]))
        self.mqtt.loop_start()
        self.mqtt.subscribe([(self.topic, mqtt.SubscribeOptions(qos=1)), (self.told_at, mqtt.SubscribeOptions(qos=1))])
        self.subscribed.get(timeout=PATIENCE)

    def on_message(self, _client, _userdata, message):
        stamps = [value for name, value in getattr(message.properties, "UserProperty", []) if name == "__ts"]
        if stamps and self.way != "clock-not-merged":
            self.clock.merge(stamps[0])
        (self.notes if message.topic.startswith(NOTIFICATIONS) else self.responses).put((message.payload, stamps))

    def send(self, *words, token=None, correlation=None):
        properties = mqtt.Properties(PacketTypes.PUBLISH)
        if self.way != "no-response-topic":
            properties.ResponseTopic = self.topic
        properties.CorrelationData = correlation or uuid.uuid4().bytes
        if self.way != "no-timestamp":
            properties.UserProperty = ("__ts", self.clock.now())
        if token:
            properties.UserProperty = ("__ft", token)
        self.mqtt.publish(REQUESTS, payload(*words), qos=0 if self.way == "qos-0" else 1, properties=properties)

    def ask(self, *words, token=None):
        self.send(*words, token=token)
        answered = self.way not in ("qos-0", "no-response-topic")
        return self.responses.get(timeout=PATIENCE) if answered else (b"", [])

    def end(self):
        self.mqtt.disconnect()
        self.mqtt.loop_stop()


def main(way):
    client = Client("paho-client", way)
    client.ask("set" if way == "lower-case" else "SET", "key", b"one \x00\xff", "PX", "60000")
    if way == "reused-correlation":
        for number in range(20):
            client.send("SET", f"key{number}", "value", correlation=b"always the same")
        for number in range(20):
            client.responses.get(timeout=PATIENCE)
    if way == "large":
        value = b"v" * 3_000_000
        client.ask("SET", "large", value)
        assert client.ask("GET", "large")[0] == b"$3000000\r\n" + value + b"\r\n"
    if way == "fails":
        return 3
    if way == "right":
        client.ask("KEYNOTIFY", "key")
        _, stamps = client.ask("SET", "lock", "me", "NEX", "PX", "10000")
        client.ask("SET", "key", "two", token=stamps[0])
        assert b"two" in client.notes.get(timeout=PATIENCE)[0]
        assert client.ask("GET", "key")[0] == b"$3\r\ntwo\r\n"
        for number in range(50):
            client.send("SET", f"key{number}", "value")
        for number in range(50):
            assert client.responses.get(timeout=PATIENCE)[0] == b"+OK\r\n"
        client.ask("KEYNOTIFY", "key", "STOP")
        client.ask("VDEL", "lock", "me")
        client.ask("DEL", "key", token=stamps[0])
    if way == "clock-not-merged":
        _, stamps = client.ask("SET", "lock", "me", "NEX", "PX", "10000")
        client.ask("SET", "key", "two", token=stamps[0])
    client.end()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
