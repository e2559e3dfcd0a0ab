"""Evidence as bytes, by docs/EVIDENCE.md alone: read, taken apart and put together again.

    head, rest = evidence_file.parts(path.read_bytes())
    head["selection"]["run"] = ["get.*"]
    path.write_bytes(evidence_file.of_parts(head, rest))
"""

import json
import struct
import zlib

import hostile_broker

MAGIC = b"fencepost evidence 1\n"
HEAD = b"\x01\x00\x08"  # of no session, with a text
# Between frames, while their content is changed: times count from the record before, within the frame.
BOUNDARY = b"\x00\xffboundary of two frames\xff\x00"


def frames(data):
    """The content of each frame."""
    assert data.startswith(MAGIC)
    place = len(MAGIC)
    while place < len(data):
        size, unpacked, checksum = struct.unpack_from("<III", data, place)
        packed = data[place + 12:place + 12 + size]
        assert zlib.crc32(packed, zlib.crc32(data[place:place + 8])) == checksum
        content = zlib.decompress(packed)
        assert len(content) == unpacked
        yield content
        place += 12 + size


def of_content(content):
    """A file of these frames."""
    out = MAGIC
    for frame in content.split(BOUNDARY):
        packed = zlib.compress(frame)
        numbers = struct.pack("<II", len(packed), len(frame))
        out += numbers + struct.pack("<I", zlib.crc32(packed, zlib.crc32(numbers))) + packed
    return out


def content_of(data):
    """The content of all frames, with what stands between them."""
    return BOUNDARY.join(frames(data))


def parts(data):
    """The head, and the bytes of all records behind it, with what stands between frames."""
    content = content_of(data)
    assert content.startswith(HEAD)
    size, at, shift = 0, len(HEAD), 0
    while True:
        size |= (content[at] & 0x7f) << shift
        shift, at = shift + 7, at + 1
        if content[at - 1] < 0x80:
            return json.loads(content[at:at + size]), content[at + size:]


def of_parts(head, rest):
    text = json.dumps(head).encode()
    return of_content(HEAD + hostile_broker.variable(len(text)) + text + rest)
