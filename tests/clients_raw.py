"""A client of bytes for clients_test.py: what it sends, no library does. Uses the broker of FENCEPOST_HOST and FENCEPOST_PORT.

usage: clients_raw.py limits | at-once N | again | again-without-dup
"""

import os
import socket
import struct
import sys
import time

REQUESTS = "statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke"
ANSWERS = "clients/raw/services/statestore/_any_/command/invoke/response"


def packet(first, body):
    """A packet of at most 16383 bytes."""
    size = len(body)
    return bytes([first]) + (bytes([size]) if size < 128 else bytes([size % 128 | 128, size // 128])) + body


def text(content):
    return struct.pack(">H", len(content)) + content.encode()


def request(number, dup=False, payload=b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n", more=b""):
    properties = b"\x08" + text(ANSWERS) + b"\x09" + text(f"c{number}") + more
    size = len(properties)
    length = bytes([size]) if size < 128 else bytes([size % 128 | 128, size // 128])
    return packet(0x3A if dup else 0x32, text(REQUESTS) + struct.pack(">H", number) + length + properties + payload)


def set_request(number):
    timestamp = b"\x26" + text("__ts") + text(f"{int(time.time() * 1000):015}:00000:raw")
    return request(number, payload=b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n", more=timestamp)


class Client:
    def __init__(self):
        """Connects, with a session that lasts for a minute, and subscribes."""
        self.socket = socket.create_connection((os.environ["FENCEPOST_HOST"], int(os.environ["FENCEPOST_PORT"])), 30)
        self.file = self.socket.makefile("rb")
        self.socket.sendall(packet(0x10, text("MQTT") + b"\5\0\0\0\5\x11" + struct.pack(">I", 60) + text("raw")))
        self.connack = self.read(2)
        self.socket.sendall(packet(0x82, b"\0\x63\0" + text(ANSWERS) + b"\1"))
        self.read(9)

    def read(self, kind):
        """The body of the next packet, which is of this kind; responses before it are acknowledged. None: the end."""
        while True:
            try:
                first = self.file.read(1)
            except ConnectionResetError:  # it ended with a PUBACK of ours unread
                return None
            if not first:
                return None
            size, shift = 0, 0
            while True:
                byte = self.file.read(1)[0]
                size |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    break
            body = self.file.read(size)
            if first[0] >> 4 == 3:
                at = 2 + struct.unpack(">H", body[:2])[0]
                try:
                    self.socket.sendall(packet(0x40, body[at:at + 2]))
                except (BrokenPipeError, ConnectionResetError):
                    return None
            if first[0] >> 4 == kind:
                return body

    def send(self, *packets):
        self.socket.sendall(b"".join(packets))


def limits():
    print("connack", Client().connack.hex())


def at_once(count):
    client = Client()
    client.send(*(request(number) for number in range(1, count + 1)))
    for _ in range(count):
        assert client.read(4), "a PUBACK is missing"


def again(dup):
    client = Client()
    client.send(request(1))
    assert client.read(4) is not None
    client.send(request(2))
    assert client.read(4) is None, "the connection should have ended"
    client = Client()
    assert client.connack[0] == 1, "the session is gone"
    client.send(request(2, dup))
    assert client.read(4) is not None


if __name__ == "__main__":
    way = sys.argv[1]
    if way == "limits":
        limits()
    elif way == "at-once":
        at_once(int(sys.argv[2]))
    else:
        again(dup=way == "again")
