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
CASE = b"\x15\x00\x08"
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


def text_at(content, at):
    """A text, and where what follows it begins."""
    size, shift = 0, 0
    while True:
        size |= (content[at] & 0x7f) << shift
        shift, at = shift + 7, at + 1
        if content[at - 1] < 0x80:
            return content[at:at + size], at + size


def results(data):
    """The heads and the cases of a file without packets, up to where it is cut: documents of JSON."""
    place, out = len(MAGIC), []
    while place + 12 <= len(data):
        size = struct.unpack_from("<I", data, place)[0]
        if place + 12 + size > len(data):
            break
        content, at = zlib.decompress(data[place + 12:place + 12 + size]), 0
        while at < len(content):
            assert content[at:at + 3] in (HEAD, CASE), content[at:at + 20]
            text, at = text_at(content, at + 3)
            out.append(json.loads(text))
        place += 12 + size
    return out


def parts(data):
    """The head, and the bytes of all records behind it, with what stands between frames."""
    content = content_of(data)
    assert content.startswith(HEAD)
    head, at = text_at(content, len(HEAD))
    return json.loads(head), content[at:]


def of_parts(head, rest):
    text = json.dumps(head).encode()
    return of_content(HEAD + hostile_broker.variable(len(text)) + text + rest)
