#!/usr/bin/python3
"""An adapter of `fencepost certify-client` around statestore.py.

Commands come as JSON Lines on standard input, results go to standard output: docs/CLIENTS.md."""

import json
import queue
import sys
import threading

from statestore import Client, Failure, Lock, bulk

CAPABILITIES = ["set", "get", "del", "vdel", "observe", "conditions", "expiry", "tokens", "versions", "concurrent",
                "reconnects", "error-text", "binary", "locks", "lock-waits", "lock-renewal", "lock-holder"]


def choose(payload, results):
    if payload not in results:
        raise Failure("reply", f"not a reply to this: {payload[:100]!r}")
    return results[payload]


def lock_of(client, name, holder):
    """Always the same one, which knows whether it is renewed."""
    return client.locks.setdefault((name, holder), Lock(client, name, holder))


def perform_lock(client, key, command):
    lock, timeout = lock_of(client, key, bytes.fromhex(command.get("holder", ""))), command["timeout_ms"] / 1000
    if command["command"] == "lock":
        token = lock.acquire(command["lease_ms"], timeout, command["wait"], command.get("renew_ms"))
        return {"held": token is not None, "token": token}
    if command["command"] == "unlock":
        lock.release(timeout)
        return {}
    owner = lock.owner(timeout)
    return {"holder": None if owner is None else owner.hex()}


def perform(client, name, key, value, command):
    """The result of a command; raises Failure."""
    how = {"timeout": command["timeout_ms"] / 1000, "token": command.get("token")}
    if name == "set":
        options = [command["condition"].upper().encode()] if "condition" in command else []
        options += [b"PX", b"%d" % command["px_ms"]] if "px_ms" in command else []
        payload, version = client.ask(b"SET", key, value, *options, **how)
        refusals = (b":-1\r\n", b"-1\r\n") if "condition" in command else ()
        return {"applied": choose(payload, {b"+OK\r\n": True, **dict.fromkeys(refusals, False)}), "version": version}
    if name == "get":
        payload, version = client.ask(b"GET", key, **how)
        value = bulk(payload)
        if payload != b"$-1\r\n" and value is None:
            raise Failure("reply", f"not a reply to GET: {payload[:100]!r}")
        return {"value": None if value is None else value.hex(), "version": version}
    if name == "del":
        return {"deleted": choose(client.ask(b"DEL", key, **how)[0], {b":0\r\n": 0, b":1\r\n": 1})}
    if name == "vdel":
        counts = {b":0\r\n": 0, b":1\r\n": 1, b":-1\r\n": -1, b"-1\r\n": -1}
        return {"deleted": choose(client.ask(b"VDEL", key, value, **how)[0], counts)}
    if name in ("lock", "unlock", "holder"):
        return perform_lock(client, key, command)
    if name == "observe":
        client.observed.add(key)
        choose(client.ask(b"KEYNOTIFY", key, **how)[0], {b"+OK\r\n": True})
    elif name == "unobserve":
        choose(client.ask(b"KEYNOTIFY", key, b"STOP", **how)[0], {b"+OK\r\n": True, b":0\r\n": False})
        client.observed.discard(key)
    elif name == "notification":
        try:
            return client.notes.get(timeout=how["timeout"])
        except queue.Empty:
            return {"none": True}
    return {}


class Adapter:
    """Commands in, results out."""

    def __init__(self, make_client=Client):
        self.make_client, self.client, self.lock = make_client, None, threading.Lock()

    def say(self, line):
        with self.lock:
            print(json.dumps(line), flush=True)

    def connect(self, command):
        if self.client:
            self.client.close()
        self.client = None
        if command["command"] == "connect":
            self.client = self.make_client(command["host"], command["port"], command["client_id"])
            self.client.locks = {}
            if not self.client.ready.wait(command["timeout_ms"] / 1000):
                raise Failure("connection", "no connection")
        return {}

    def run(self, act):
        command = act[-1]
        try:
            self.say({"id": command["id"], "ok": act[0](*act[1:])})
        except Failure as failure:
            self.say({"id": command["id"], "error": {"kind": failure.kind, "text": str(failure)}})

    def main(self):
        self.say({"fencepost_adapter": 1, "name": "python-paho", "capabilities": CAPABILITIES})
        for command in map(json.loads, sys.stdin):
            key, value = (bytes.fromhex(command.get(part, "")) for part in ("key", "value"))
            if command["command"] in ("connect", "disconnect"):
                self.run((self.connect, command))
            else:  # several may be in flight
                act = (perform, self.client, command["command"], key, value, command)
                threading.Thread(target=self.run, args=(act,), daemon=True).start()


if __name__ == "__main__":
    Adapter().main()
