#!/usr/bin/env python3
"""What clients can do to the broker of `fencepost serve`: thousands of connections, registrations, readers that do not read,
and garbage. Measures the memory of the broker, and how long a request of a well-behaved client takes meanwhile; right
afterwards the store has to be conformant.

    serve_load.py BIN [--connections N] [--registrations N] [--slow N] [--megabytes N] [--certify GLOB] [--markdown FILE]

Fails where the broker ends, takes more than --memory MB, or keeps the well-behaved client waiting for more than --latency ms.
"""
import argparse
import pathlib
import random
import re
import resource
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from hostile_broker import (CONNECT, DISCONNECT, PUBLISH, SUBSCRIBE, Peer, Request, packet, publish,  # noqa: E402
                            text, timestamp, user)

REQUESTS = "statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke"


def command(*words):
    words = [word.encode() if isinstance(word, str) else word for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


class Client:
    """An MQTT 5 client that does only what the test wants."""

    def __init__(self, port, name):
        self.name = name
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.peer = Peer(self.socket, None)
        self.send(packet(CONNECT, text("MQTT") + b"\x05\x02\x00\x00\x00" + text(name)))
        kind, _, body = self.peer.read_packet()
        assert (kind, body[1]) == (2, 0), (kind, body)
        self.topic = f"clients/{name}/services/statestore/_any_/command/invoke/response"
        self.number = 0

    def send(self, data):
        self.socket.sendall(data)

    def subscribe(self, topic):
        self.send(packet(SUBSCRIBE, b"\0\1\0" + text(topic) + b"\1"))
        kind, _, body = self.peer.read_packet()
        assert (kind, body[3]) == (9, 1), (kind, body)

    def request(self, *words):
        """The bytes of a request."""
        self.number += 1
        properties = (b"\x08" + text(self.topic) + b"\x09" + text(f"{self.number:016}")
                      + user("__ts", timestamp()))
        return publish(REQUESTS, command(*words), properties, qos=1, packet_id=self.number % 65535 + 1)

    def ask(self, *words):
        """The payload of the reply."""
        self.send(self.request(*words))
        while True:
            kind, flags, body = self.peer.read_packet()
            if kind == PUBLISH:
                reply = Request(flags, body)
                self.send(packet(4, struct.pack(">H", reply.id)))
                return reply.payload

    def break_off(self):
        """Also while a thread reads."""
        self.socket.shutdown(socket.SHUT_RDWR)

    def leave(self):
        self.send(packet(DISCONNECT))
        self.socket.close()


class WellBehaved:
    """Sends requests all the time: how long does it wait?"""

    def __init__(self, port):
        self.client = Client(port, "well-behaved")
        self.client.subscribe(self.client.topic)
        self.times, self.trouble, self.ends = [], "", False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            while not self.ends:
                begin = time.monotonic()
                reply = self.client.ask("SET", "well-behaved", "v")
                self.times.append((time.monotonic() - begin) * 1000)
                if reply != b"+OK\r\n":
                    self.trouble = repr(reply)
                    return
                time.sleep(0.002)
        except (OSError, AssertionError) as error:
            self.trouble = repr(error)

    def taken(self):
        """Those since the last call: median, the slowest of a hundred, the slowest."""
        times, self.times = sorted(self.times) or [0.0], []
        return times[len(times) // 2], times[len(times) * 99 // 100], times[-1]


class Load:
    def __init__(self, options, program, folder):
        self.options, self.folder = options, folder
        self.rows, self.bad = [], []
        ready = folder / "url"
        self.server = subprocess.Popen([program, "serve", "--port", "0", "--ready-file", ready], stdout=subprocess.DEVNULL)
        while not ready.exists():
            assert self.server.poll() is None, "serve has ended"
            time.sleep(0.02)
        time.sleep(0.1)
        self.url = ready.read_text(encoding="ascii").strip()
        self.port = int(self.url.rpartition(":")[2])
        children = pathlib.Path(f"/proc/{self.server.pid}/task/{self.server.pid}/children")
        self.broker = int(children.read_text(encoding="ascii"))
        self.good = WellBehaved(self.port)
        self.kept = []

    def megabytes(self, what="VmRSS"):
        status = pathlib.Path(f"/proc/{self.broker}/status").read_text(encoding="ascii")
        return int(re.search(what + r":\s+(\d+)", status).group(1)) // 1024

    def measure(self, what, act):
        self.good.taken()
        begin = time.monotonic()
        note = act() or ""
        seconds = time.monotonic() - begin
        time.sleep(1)  # what is still in flight
        median, hundredth, worst = self.good.taken()
        memory = self.megabytes()
        self.rows.append((what, seconds, memory, median, hundredth, worst, note))
        print(f"{what}: {seconds:.1f} s, broker {memory} MB, well-behaved client {median:.1f} ms, 1% {hundredth:.1f} ms, "
              f"worst {worst:.1f} ms {note}", flush=True)
        if memory > self.options.memory:
            self.bad.append(f"{what}: {memory} MB")
        if worst > self.options.latency:
            self.bad.append(f"{what}: a request took {worst:.0f} ms")
        if self.good.trouble:
            self.bad.append(f"{what}: the well-behaved client: {self.good.trouble}")

    # --- what is done to it

    def connect(self):
        for number in range(self.options.connections):
            self.kept.append(Client(self.port, f"idle-{number}"))
        return f"{len(self.kept)} connections"

    def register(self):
        each = 100_000
        self.observers = []
        for first in range(0, self.options.registrations, each):
            observer = Client(self.port, f"observer-{first}")
            reader = threading.Thread(target=drain, args=(observer.socket,), daemon=True)
            reader.start()
            for at in range(0, min(each, self.options.registrations - first), 500):
                observer.send(b"".join(observer.request("KEYNOTIFY", f"key-{first + at + i}") for i in range(500)))
            self.observers.append(observer)
        for observer in self.observers:  # all have been handled when this is answered
            observer.send(observer.request("SET", observer.name, "done"))
        asker = Client(self.port, "asker")
        asker.subscribe(asker.topic)
        for observer in self.observers:
            while asker.ask("GET", observer.name) == b"$-1\r\n":
                time.sleep(0.05)
        return f"{self.options.registrations} registrations"

    def let_go(self):
        for observer in self.observers:
            observer.break_off()

    def too_many(self):
        greedy = Client(self.port, "greedy")
        greedy.subscribe(greedy.topic)
        threading.Thread(target=drain, args=(greedy.socket,), daemon=True).start()
        for at in range(0, 250_000, 500):
            greedy.send(b"".join(greedy.request("KEYNOTIFY", f"k{at + i}") for i in range(500)))
        greedy.break_off()
        return "250,000 registrations of one client"

    def do_not_read(self):
        slow = [Client(self.port, f"slow-{number}") for number in range(self.options.slow)]
        for client in slow:
            client.subscribe("flood")
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        flood = Client(self.port, "flood")
        threading.Thread(target=drain, args=(flood.socket,), daemon=True).start()
        content = b"x" * 65536
        for number in range(self.options.megabytes * 16):
            flood.send(publish("flood", content, qos=1, packet_id=number % 65535 + 1))
        time.sleep(1)
        self.kept += slow
        return f"{len(slow)} clients that do not read {self.options.megabytes} MiB"

    def garbage(self):
        noise = random.Random(1)
        left = self.options.megabytes << 20
        connections = 0
        while left > 0:
            connections += 1
            with socket.create_connection(("127.0.0.1", self.port), timeout=60) as wild:
                try:
                    if connections % 2:  # as a client that has been let in
                        wild.sendall(packet(CONNECT, text("MQTT") + b"\x05\x02\x00\x00\x00" + text("wild")))
                    for _ in range(16):
                        wild.sendall(noise.randbytes(65536))
                        left -= 65536
                except OSError:
                    left -= 65536
        return f"{self.options.megabytes} MiB of garbage over {connections} connections"

    def large_packets(self):
        """Announced and not sent."""
        for number in range(100):
            client = Client(self.port, f"large-{number}")
            try:
                client.send(b"\x30\xff\xff\xff\x7f" + b"x" * 1000)
            except OSError:
                pass
            self.kept.append(client)
        return "100 packets of 256 MiB announced"

    def fill(self):
        writer = Client(self.port, "writer")
        writer.subscribe(writer.topic)
        value = b"x" * 1_000_000
        refused = 0
        for number in range(400):
            refused += b"-ERR" in writer.ask("SET", f"large-{number}", value)
        for number in range(400):
            writer.ask("DEL", f"large-{number}")
        writer.leave()
        return f"400 values of 1 MB, {refused} refused"


def drain(connection):
    try:
        while connection.recv(1 << 20):
            pass
    except OSError:
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("--connections", type=int, default=3000)
    parser.add_argument("--registrations", type=int, default=500_000)
    parser.add_argument("--slow", type=int, default=20)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--memory", type=int, default=1024, metavar="MB")
    parser.add_argument("--latency", type=float, default=1000, metavar="MS")
    parser.add_argument("--certify", default="*", metavar="GLOB", help="the cases that are run in the end")
    parser.add_argument("--markdown", metavar="FILE")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    program = str(pathlib.Path(options.bin).resolve() / "fencepost")
    with tempfile.TemporaryDirectory() as folder:
        load = Load(options, program, pathlib.Path(folder))
        try:
            load.measure("nothing", lambda: time.sleep(1))
            load.measure("connections", load.connect)
            load.measure("registrations", load.register)
            load.measure("observers go", load.let_go)
            load.measure("too many", load.too_many)
            load.measure("slow readers", load.do_not_read)
            load.measure("garbage", load.garbage)
            load.measure("large packets", load.large_packets)
            load.measure("a full store", load.fill)
            begin = time.monotonic()
            done = subprocess.run([program, "certify", "-q", "--endpoint", load.url, "--run", options.certify], cwd=folder,
                                  capture_output=True, text=True, check=False)
            print(f"certify: exit code {done.returncode} after {time.monotonic() - begin:.1f} s; most memory of the broker "
                  f"{load.megabytes('VmHWM')} MB")
            if done.returncode not in (0, 4):
                load.bad.append("certify: " + done.stdout[-1500:] + done.stderr[-500:])
        finally:
            load.good.ends = True
            load.server.terminate()
            load.server.wait()
    for complaint in load.bad:
        print("BAD ", complaint)
    if options.markdown:
        pathlib.Path(options.markdown).write_text(table(load.rows), encoding="utf-8")
    return 1 if load.bad else 0


def table(rows):
    lines = ["| what clients do | took | broker's memory | a request of a well-behaved client: median | 1% | worst |",
             "|---" * 6 + "|"]
    for what, seconds, memory, median, hundredth, worst, note in rows:
        lines.append(f"| {what}{': ' + note if note else ''} | {seconds:.1f} s | {memory} MB | {median:.1f} ms "
                     f"| {hundredth:.1f} ms | {worst:.1f} ms |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
