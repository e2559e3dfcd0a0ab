"""Makes the seeds of the fuzz targets, corpus/TARGET/seeds, from what the repository says elsewhere: the scenarios, the
hostile vectors of codec/testing/vectors.cc (print_vectors prints them), the timestamps of hlc/hlc_test.cc.
usage: make_seeds.py --vectors PROGRAM [--check]      PROGRAM: print_vectors, as it was built
                                                      --check: writes nothing; fails when the files are others"""

import argparse
import functools
import json
import math
import pathlib
import re
import struct
import subprocess
import sys
import zlib

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_SEEDS = 200  # of a target: a campaign runs all of them before it begins


class Sources:
    """What seeds are made from, read once."""

    def __init__(self, vectors_program):
        self.requests, self.replies = read_vectors(vectors_program)
        self.timestamps = read_timestamps(ROOT / "hlc" / "hlc_test.cc")
        paths = sorted(path for path in (ROOT / "scenarios").rglob("*.yaml") if path.parent.name != "clients")
        self.client_cases = {path: path.read_text(encoding="utf-8")
                             for path in sorted((ROOT / "scenarios" / "clients").glob("*.yaml"))}
        self.scenarios = {path: path.read_text(encoding="utf-8") for path in paths if path.name != "requirements.yaml"}

    def cases(self):
        """Every case of every scenario file, as YAML has it."""
        for text in self.scenarios.values():
            yield from yaml.safe_load(text)["cases"]


class Seeds(dict):
    """File names and bytes; the first of equal bytes stays. What a target would cut off, or has no room for, is left out."""

    def __init__(self, target):
        super().__init__()
        options = (ROOT / "fuzz" / "options" / f"{target}_fuzzer.options").read_text(encoding="utf-8")
        self.max_len = int(re.search(r"^max_len = (\d+)$", options, re.M).group(1))
        self.known = set()

    def add(self, name, content):
        if len(content) > self.max_len or content in self.known or len(self) == MAX_SEEDS:
            return
        name = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")
        others = sum(re.fullmatch(re.escape(name) + r"(-no\d+)?", other) is not None for other in self)
        self.known.add(content)
        self[f"{name}-no{others + 1}" if others else name] = content


# --- sources


def read_vectors(program):
    kinds = {"request": {}, "reply": {}}
    for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines():
        kind, name, digits = line.split(" ")
        kinds[kind][dashed(name)] = bytes.fromhex(digits)
    return kinds["request"], kinds["reply"]


def dashed(camel):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", camel).lower()


def read_timestamps(path):
    """The first strings of the rows of the test's tables, those read and those refused."""
    escapes = {"r": b"\r", "n": b"\n", "t": b"\t", "0": b"\0", "\\": b"\\", '"': b'"'}

    def unescaped(text):
        out = b""
        for part in re.findall(r'\\x[0-9a-f]{2}|\\.|[^\\]', text):
            if part.startswith("\\x"):
                out += bytes.fromhex(part[2:])
            else:
                out += escapes[part[1]] if part.startswith("\\") else part.encode()
        return out

    tests = path.read_text(encoding="utf-8").split("\nTEST(HlcParse, ")[1:]
    rows = [re.findall(r'^ +\{"((?:[^"\\]|\\.)*)"(?:sv)?, ', test.split("\n}\n")[0], re.M) for test in tests]
    read, refused = rows[0], [row for group in rows[1:] for row in group]
    if len(read) < 15 or len(refused) < 50:
        sys.exit(f"make_seeds: {path} is not written as this script expects")
    return [unescaped(row) for row in read], [unescaped(row) for row in refused]


def bytes_of(spec):
    """The bytes that a scenario writes so; nothing when a run decides them."""
    if isinstance(spec, (str, int)):
        return None if str(spec).startswith("$") else str(spec).encode()
    if not isinstance(spec, dict):
        return None
    if "escaped" in spec:
        return spec["escaped"].encode().decode("unicode_escape").encode("latin-1")
    if "hex" in spec:
        return bytes.fromhex(spec["hex"])
    for key in ("exact", "name", "key"):
        if key in spec:
            return bytes_of(spec[key])
    if "all_bytes" in spec:
        return bytes(range(256))
    parts = spec.get("join") or spec.get("command")
    if not isinstance(parts, list):
        return None
    parts = [bytes_of(part) for part in parts]
    if None in parts:
        return None
    return b"".join(parts) if "join" in spec else request(*parts)


def walk(node):
    yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from walk(child)


# --- encodings, written here once more


def request(*arguments):
    arguments = [argument.encode() if isinstance(argument, str) else argument for argument in arguments]
    return b"*%d\r\n" % len(arguments) + b"".join(b"$%d\r\n%s\r\n" % (len(each), each) for each in arguments)


def text(content):
    """As InputReader::text() reads it."""
    content = content.encode() if isinstance(content, str) else content
    return bytes([len(content)]) + content


def number(value):
    return value.to_bytes(8, "little")


# --- the seeds of each target


def command_decoder(seeds, sources):
    for name, content in sources.requests.items():
        if not name.endswith("-as-value"):
            seeds.add(name, content)
    sdk = ["SET SETKEY2 VALUE5", "GET SETKEY2", "DEL SETKEY2", "VDEL SETKEY2 ABC", "SET testkey testvalue NX",
           "SET testkey testvalue NEX", "SET testkey testvalue PX 10", "SET key value NX PX 1000",
           "SET key value NEX PX 1000", "SET key value PX 1000 NEX", "KEYNOTIFY K", "KEYNOTIFY K STOP", "SCAN key*"]
    for line in sdk:
        seeds.add(f"sdk-{line}", request(*line.split(" ")))
    for expiry in ("0", "05", "1500.5", "1.", ".5", "1E+16", "-1", "3155760000000", "3155760000001", "99999999999999999999"):
        seeds.add(f"expiry-{expiry.replace('-', 'minus-').replace('+', 'plus-')}", request("SET", "k", "v", "PX", expiry))
    seeds.add("length-at-the-limit", b"*1\r\n$268435455\r\n")
    seeds.add("length-past-the-limit", b"*1\r\n$268435456\r\n")
    seeds.add("count-past-the-limit", b"*1048577\r\n")
    for name, step in requests_of(sources):
        seeds.add(f"scenario-{name}", step)


def requests_of(sources):
    """The first payload of each case that is written out, or that is broken."""
    for case in sources.cases():
        for node in walk(case["steps"]):
            payload = bytes_of(node["payload"]) if isinstance(node, dict) and "payload" in node else None
            if payload:
                yield case["id"], payload
                break


def reply_decoder(seeds, sources):
    for name, content in sources.replies.items():
        seeds.add(name, content)
    plain = ["+OK", "-1", ":-1", "$-1", ":0", ":1", ":6", ":-2", ":9223372036854775807", ":-9223372036854775808",
             ":-9223372036854775809", "-ERR missing timestamp", "-ERR: not authorized", "-ERR ", "$-2", "+ok"]
    for line in plain:
        seeds.add("line-" + line.replace("-", "minus-").replace("+", "plus-"), line.encode() + b"\r\n")
    seeds.add("value", b"$4\r\n1234\r\n")
    for words in ("NOTIFY SET VALUE abc", "NOTIFY SET VALUE ", "NOTIFY DEL", "NOTIFY DELETE", "NOTIFY", "NOTIFY SET",
                  "NOTIFY SET VALUE", "NOTIFY SET value abc", "NOTIFY SET VALUE abc more", "NOTIFY DELETED", "SET NOTIFY"):
        seeds.add(f"notification-{words.replace(' ', '-', 3)}" + ("empty" if words.endswith(" ") else ""),
                  request(*words.split(" ")))
    seeds.add("notification-of-simple-strings", b"*2\r\n+NOTIFY\r\n+DEL\r\n")
    seeds.add("page-of-keys", b"*2\r\n*1\r\n$4\r\nkey1\r\n$3\r\n\0\xffx\r\n")
    for depth in (8, 9, 100):
        seeds.add(f"nested-{depth}", b"*1\r\n" * depth + b":1\r\n")
    for length in (64, 65):
        seeds.add(f"line-of-{length}", b"+" + b"a" * length + b"\r\n")
    seeds.add("claims-more-than-there-is", b"*100\r\n" + b"+\r\n" * 50)
    seeds.add("nested-claims", b"*30\r\n" * 8 + b"!" * 90)


def request_sequence(seeds, _sources):
    """Each request of the enumeration once, sixteen in a row, in each state of a key."""
    for first in range(0, 544, 16):
        seeds.add(f"requests-from-{first:03}", bytes([first // 16 % 11]) + b"".join(
            request.to_bytes(2, "little") for request in range(first, first + 16)))


def round_trip(seeds, _sources):
    for dialect, form in enumerate(("documented", "deployed")):
        for verb, name in enumerate(("set", "get", "del", "vdel", "keynotify")):
            seeds.add(f"{form}-{name}", bytes([dialect, 0, verb]) + text("k") + text("v"))
        for condition in range(3):
            for expiry in (0, 1, 1001, 3155760000001):
                seeds.add(f"{form}-set-condition-{condition}-expiry-{expiry}",
                          bytes([dialect, 0, 0]) + text("k") + bytes([condition]) + number(expiry) + text("*1\r\n"))
        seeds.add(f"{form}-keynotify-stop", bytes([dialect, 0, 4]) + text("k\r\n") + b"\1")
        for kind in range(6):
            for verb in (0, 3, 4):
                seeds.add(f"{form}-reply-{kind}-to-{verb}", bytes([dialect, 1, kind, verb]) + text("value"))
        for error in range(12):
            seeds.add(f"{form}-error-{error}-to-keynotify", bytes([dialect, 1, 5, 4, error]))
        seeds.add(f"{form}-greatest-count", bytes([dialect, 1, 4, 2]) + number(2**64 - 1))
        seeds.add(f"{form}-notification-of-set", bytes([dialect, 2, 0]) + text("$-1\r\n"))
        seeds.add(f"{form}-notification-of-delete", bytes([dialect, 2, 1]))


def names(seeds, sources):
    words = {"documented", "deployed"}
    for node in walk([case["steps"] for case in sources.cases()]):
        if isinstance(node, dict) and isinstance(node.get("error"), str):
            words.add(node["error"])
    for source in ("codec/dialect.cc", "codec/error_code.cc"):  # every name, and every text
        content = re.sub(r'"\s*"', "", (ROOT / source).read_text(encoding="utf-8"))
        words |= set(re.findall(r'"([a-z][a-z; -]+)"', content))
    for word in sorted(words):
        seeds.add(word[:60], word.encode())
    for name, content in (("empty", b""), ("wildcard", b"a+b"), ("hash", b"#"), ("nul", b"a\0b"), ("unknown", b"unknown")):
        seeds.add(f"client-id-{name}", content)


def topics(seeds, sources):
    prefix = "clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8"
    for name, one, other in (
            ("empty", "", ""), ("key", "SOMECLIENT", "SOMEKEY"), ("empty-key", "c", ""), ("bytes", b"\0\xff", b"\x80/+#"),
            ("digits", "534F4D454B4559", ""), ("lower-case-digits", "4f", ""), ("odd-digits", "4F5", ""),
            ("notification", prefix + "/61/command/notify/6B", ""), ("no-key", prefix + "/61/command/notify/", ""),
            ("no-client", prefix + "//command/notify/6B", ""), ("odd-key", prefix + "/61/command/notify/6", ""),
            ("no-infix", prefix + "/61/command/6B", ""), ("prefix-alone", prefix, ""), ("prefix-and-more", prefix + "X/61", ""),
            ("odd-client", prefix + "/6/command/notify/6B", ""), ("wildcard-topic", "a/+", ""), ("nul-topic", "a\0b", ""),
            ("sys-topic", "$SYS/a", ""), ("request-topic", "statestore" + prefix[18:] + "/command/invoke", ""),
            ("almost-long-id", b"\0", "long"), ("long-id", b"\1", "long"), ("almost-long-topic", b"\2", "long"),
            ("long-topic", b"\3", "long")):
        seeds.add(name, text(one) + text(other))
    for filter_, topic in (("a/b", "a/b"), ("a/+", "a/b"), ("a/+", "a"), ("a/+", "a/"), ("a/#", "a"), ("a/#", "a/b/c"),
                           ("#", "a/b"), ("#", "$SYS/a"), ("+/a", "$SYS/a"), ("$SYS/+", "$SYS/a"), ("+", ""), ("/+", "/a"),
                           ("+/+", "/a"), ("a/#/b", "a/b"), ("a+", "ab"), ("a#", "ab"), ("a", "a/b"), ("a/b", "a")):
        spelled = "-to-".join(re.sub("[+]", "plus", re.sub("#", "hash", each.replace("$", "dollar"))) or "nothing"
                              for each in (filter_.replace("/", "-slash-"), topic.replace("/", "-slash-")))
        seeds.add(f"filter-{spelled}", text(filter_) + text(topic))
    for case in sources.cases():
        for node in walk(case["steps"]):
            topic = bytes_of(node.get("response_topic")) if isinstance(node, dict) else None
            if topic and len(topic) < 256:
                seeds.add(f"scenario-{case['id']}", text(topic) + text(""))
                break


def hlc_timestamp(seeds, sources):
    read, refused = sources.timestamps
    lines = [each for each in read if b"\n" not in each]
    for i, line in enumerate(lines):
        seeds.add(f"read-{i:02}-{readable(line)}", b"\n".join([line, lines[(i + 1) % len(lines)], lines[(i + 5) % len(lines)]]))
    for i, line in enumerate(refused):
        seeds.add(f"refused-{i:02}-{readable(line)}", line)
    orders = {"padded-alike": "1:1:X 000000000000001:00001:X 1:01:X", "wall-numeric": "9:0:n 10:0:n 100:0:n",
              "counter-numeric": "5:9:n 5:10:n 5:99:n", "node-bytewise": "5:5:B 5:5:a 5:5:\x7f",
              "node-prefix": "5:5:a 5:5:aa 5:5:ab", "wall-before-counter": "1:9:z 2:0:a 1:18446744073709551615:z",
              "counter-before-node": "5:1:z 5:2:a 5:2:z", "past-32-bits": "4294967295:0:n 4294967296:0:n 1:4294967296:n",
              "largest": "9223372036854775807:18446744073709551615:n 9223372036854775806:0:n 0:0:n"}
    for name, line in orders.items():
        seeds.add(f"order-{name}", line.replace(" ", "\n").encode())
    seeds.add("order-node-above-ascii", b"5:5:\x7f\n5:5:\x80\n5:5:\xc3\xa9")
    for case in sources.cases():
        for node in walk(case["steps"]):
            if isinstance(node, dict) and isinstance(node.get("text"), str):
                seeds.add(f"scenario-{case['id']}-{readable(node['text'].encode())}", node["text"].encode())


def readable(content):
    for sign, word in (("-", "minus"), ("+", "plus"), (":", "-"), (".", "point"), (",", "comma"), (" ", "blank")):
        content = content.replace(sign.encode(), word.encode())
    return re.sub(r"[^a-z0-9]+", "-", content.decode("latin-1").lower())[:40].strip("-") or "signs"


def hlc_clock(seeds, _sources):
    # As the target reads them: limits by index, three wall clocks, then events; nodes are 0, 8 and 16.
    forward, back, forged, receive, local = 0, 1, 2, 3, 7
    now = 1_696_374_425_000

    def trace(*events, drift=4, counter=7, walls=(now, now, now)):
        return bytes([drift, counter]) + b"".join(map(number, walls)) + bytes(events)

    seeds.add("frozen-clock", trace(local, local, local))
    seeds.add("ticking-clock", trace(local, forward, 1, local, forward, 3, local))
    seeds.add("backward-clock", trace(forward, 3, local, back, 3, local, local))
    seeds.add("backward-past-the-drift", trace(forward, 5, local, back, 5, local))
    for jump in (3, 4, 5):
        seeds.add(f"forged-{(59_999, 60_000, 60_001)[jump - 3]}-ahead", trace(forged, jump, 0, local))
    seeds.add("message-there-and-back", trace(local, 8 + receive, 0, receive, 1, 16 + receive, 2, local))
    seeds.add("message-from-a-fast-clock", trace(8 + local, receive, 0, local, walls=(now, now + 60_000, now)))
    seeds.add("message-from-too-fast-a-clock", trace(8 + local, receive, 0, local, walls=(now, now + 60_001, now)))
    seeds.add("message-from-the-past", trace(local, 8 + receive, 0, walls=(now - 3_600_000, now, now)))
    seeds.add("same-wall-greater-counter", trace(local, local, local, 8 + local, 8 + receive, 2))
    seeds.add("own-wall-wins", trace(forward, 3, local, 8 + local, receive, 1))
    seeds.add("counter-at-its-limit", trace(local, local, local, local, local, counter=2))
    seeds.add("counter-limit-zero", trace(local, local, forward, 1, local, counter=0))
    seeds.add("forged-counter-at-the-limit", trace(forged, 1, 7, forged, 1, 6, local))
    seeds.add("wall-at-the-end-of-64-bits", trace(local, 8 + local, forged, 0, 0, local, walls=(2**64 - 1, 2**64 - 60_001, 0)))
    seeds.add("wall-zero", trace(local, local, receive, 0, walls=(0, 0, 0)))
    seeds.add("drift-without-limit", trace(8 + local, receive, 0, drift=7, walls=(0, 2**63, 0)))
    seeds.add("all-nodes-talk", trace(*[event for i in range(30) for event in (8 * (i % 3) + receive, i)]))


def fencing(seeds, _sources):
    # As the target reads them: what (0: no token, 2: a token, 7: a token, and then a delete), three indexes.
    none, token, delete = bytes([0, 0, 0, 0]), lambda *part: bytes([2, *part]), lambda *part: bytes([7, *part])
    seeds.add("no-token-at-all", none + none)
    seeds.add("token-then-none", token(1, 1, 1) + none)
    seeds.add("equal-token", token(1, 1, 1) * 2)
    for part, name in enumerate(("wall", "counter", "node")):
        for low in range(7):
            older, newer = [3, 3, 3], [3, 3, 3]
            older[part], newer[part] = low, low + 1
            seeds.add(f"{name}-{low}-newer", token(*older) + token(*newer) + token(*older))
            seeds.add(f"{name}-{low}-older", token(*newer) + token(*older) + token(*newer))
    seeds.add("wall-before-counter", token(2, 0, 0) + token(1, 7, 7))
    seeds.add("counter-before-node", token(1, 2, 0) + token(1, 1, 7))
    seeds.add("deleted-and-made-again", token(5, 5, 5) + delete(5, 5, 5) + none + token(0, 0, 0))
    seeds.add("refused-delete-keeps-the-token", token(5, 5, 5) + delete(4, 5, 5) + none)
    seeds.add("largest", token(7, 7, 7) + token(6, 7, 7) + token(7, 6, 7))


def scenario_loader(seeds, sources):
    """Cases that have keys, or words, which no case before them has."""
    # First what no case has: there is a limit.
    seeds.add("recorded", b"area: a\ncases:\n  - id: a\n    title: t\n    requirements: [R-1]\n    recorded:\n"
              b"      by: explore\n      when: '2026-01-01T00:00:00Z'\n      endpoint: 'mqtt://a:1883'\n      seed: 7\n"
              b"      requirement: R-1\n      signature: 'R-1: m | want a | got b'\n      message: m\n"
              b"      expected: a\n      actual: b\n    steps:\n      - get: k\n        expect: missing\n")
    seeds.add("no-cases", b"area: a\ncases: []\n")
    seeds.add("nothing", b"")
    for name, junk in (("lists", "["), ("mappings", "{"), ("entries", "- "), ("keys", "? "), ("both", "[{")):
        seeds.add(f"nested-{name}", b"area: a\ncases: " + junk.encode() * 600)
    seeds.add("anchor-and-alias", b"area: &a [*a]\ncases: *a\n")
    seeds.add("tags", b"area: !!str a\ncases: !x []\n")
    seeds.add("two-documents", b"area: a\n---\ncases: []\n")
    seeds.add("not-utf-8", b"area: \xff\xfe\xc3\x28\ncases: []\n")
    seeds.add("carriage-returns", b"area: a\r\ncases: []\r\n")
    seeds.add("line-end-missing", b"area: a\ncases:")
    seeds.add("key-twice", b"area: a\narea: b\ncases: []\n")
    known = set()
    for content in sources.scenarios.values():
        lines = content.splitlines(keepends=True)
        starts = [i for i, line in enumerate(lines) if line.startswith("  - id: ")] + [len(lines)]
        head = [line for line in lines[:starts[0]] if not line.startswith("#")]
        for begin, end in zip(starts, starts[1:]):
            body = "".join(line for line in lines[begin:end] if not line.lstrip().startswith("#"))
            words = set(re.findall(r"[a-z_]+(?=:)|(?<=[:\[] )[a-z-]+", body))
            case = re.sub(r"\b[A-Z]{2,}(-[A-Z0-9]+)*-\d+\b", "R-1", "".join(head) + body).rstrip() + "\n"
            if words <= known or len(case) > seeds.max_len or members(yaml.safe_load(case)["cases"][0]) > 9:
                continue
            known |= words
            seeds.add(re.search(r"- id: (\S+)", body).group(1), case.encode())


def client_language(seeds, sources):
    """Lines of adapters, and of each family of cases for clients one that has words which none before it has."""
    line = lambda name, value: seeds.add(name, json.dumps(value).encode())
    line("greeting", {"fencepost_adapter": 1, "name": "mine", "capabilities": ["set", "get"]})
    line("greeting-of-another-version", {"fencepost_adapter": 2, "name": "mine", "capabilities": []})
    for name, ok in (("applied", {"applied": True, "version": "1:0:n"}), ("value", {"value": "6f6e65", "version": None}),
                     ("missing", {"value": None}), ("deleted", {"deleted": -1}), ("done", {}), ("none", {"none": True}),
                     ("change", {"key": "6b", "operation": "set", "value": "", "version": "1:0:n"}),
                     ("deletion", {"key": "6b", "operation": "delete"}), ("odd-digits", {"value": "6f6"})):
        line(f"result-{name}", {"id": 3, "ok": ok})
    line("result-error", {"id": 3, "error": {"kind": "service", "text": "not authorized"}})
    line("result-both", {"id": 3, "error": {}, "ok": {}})
    seeds.add("line-nested", b"{" + b'"a":{' * 300)
    seeds.add("line-cut", b'{"id": 1, "ok": {"value": "6f')
    known = set()
    for content in sources.client_cases.values():
        lines = content.splitlines(keepends=True)
        starts = [i for i, each in enumerate(lines) if each.startswith("  - id: ")] + [len(lines)]
        for begin, end in zip(starts, starts[1:]):
            body = "".join(lines[begin:end])
            words = set(re.findall(r"[a-z_]+(?=:)|(?<=[:\[] )[a-z-]+", body))
            case = re.sub(r"\b[A-Z]{2,}(-[A-Z0-9]+)*-\d+\b", "R-1", "".join(lines[:starts[0]]) + body).rstrip() + "\n"
            if words <= known or len(case) > seeds.max_len or members(yaml.safe_load(case)["cases"][0]) > 9:
                continue
            known |= words
            seeds.add("case-" + re.search(r"- id: (\S+)", body).group(1), case.encode())
    seeds.add("case-without-a-rule", b"certifies: clients\narea: a\ncases:\n  - id: a\n    title: t\n    requirements: [R-1]\n"
              b"    steps:\n      - get: k\n        expect: error\n")


def members(case):
    """How many cases a family has: each is loaded, which takes its time."""
    return math.prod(len(values) for values in case.get("axes", {}).values())


def descriptor_loader(seeds, _sources):
    whole = re.search(r"```yaml\n(.*?)```", (ROOT / "docs" / "DESCRIPTORS.md").read_text(encoding="utf-8"), re.S).group(1)
    seeds.add("documented", whole.encode())
    for line in whole.splitlines():
        key = line.split(":")[0]
        if re.fullmatch("[a-z_]+", key) and key not in ("url", "roles", "capabilities"):
            seeds.add(f"with-{key}", f"url: mqtts://h\n{line}\n".encode())
    for i, url in enumerate(("embedded", "inproc:", "mqtt://h", "mqtt://u:p@h:1", "mqtts://[::1]:8883", "mqtt://h:65536",
                             "mqtt://h:0", "mqtt://", "http://h", "embedded?fault=x", "inproc:?a=b&c=d", "mqtt://u:%20@h",
                             "mqtt://u:%2@h", "inproc:?dialect=deployed")):
        seeds.add(f"url-{i:02}-{readable(url.encode())}", f"url: '{url}'\n".encode())
    roles = {"user": "{user: u}", "password": "{user: u, password: 'p:1'}", "variable": "{user: u, password_env: PATH}",
             "both": "{user: u, password: p, password_env: PATH}", "no-user": "{password: p}", "nothing": "{}",
             "no-certificate": "{user: u, key: k}"}
    for name, role in roles.items():
        seeds.add(f"role-{name}", f"url: mqtt://h\nroles: {{default: {role}, restricted: {role}}}\n".encode())
    seeds.add("user-twice", b"url: mqtt://u@h\nroles: {default: {user: u}}\n")
    seeds.add("limits", b"url: mqtt://h\ncapabilities: {quota: 100000, max_packet_size: 1024}\n")
    seeds.add("limits-passed", b"url: mqtt://h\ncapabilities: {quota: 100001, max_packet_size: 1023}\n")
    seeds.add("own-endpoint-with-roles", b"url: embedded\nroles: {}\ntls: {}\nhooks: {}\ncapabilities: {}\n")
    seeds.add("bad-prefix", b"url: mqtt://h\nkey_prefix: /a/\n")
    seeds.add("secret-without-colon", b"url: mqtt://h\nroles:\n  default:\n    password hunter2\n")
    seeds.add("nested-lists", b"url: " + b"[" * 600)


def mqtt_packet(seeds, _sources):
    def packet(first, content):
        assert len(content) < 128
        return bytes([first, len(content)]) + content

    def string(content):
        return len(content).to_bytes(2, "big") + content

    connect = string(b"MQTT") + b"\x05"
    every = {
        "connect": packet(0x10, connect + b"\x02\0\x3c\0" + string(b"c")),
        "connect-with-all": packet(0x10, connect + b"\xee\0\0\x08\x11\xff\xff\xff\xff\x21\0\1" + string(b"c") +
                                   b"\5\x18\0\0\0\5" + string(b"w") + string(b"p") + string(b"u") + string(b"")),
        "connack": packet(0x20, b"\1\0\x08\x27\0\0\4\0\x21\0\x0a"),
        "publish-0": packet(0x30, string(b"t") + b"\0" + b"payload"),
        "publish-1": packet(0x32, string(b"t") + b"\0\7" + b"\x1c\1\1\2\1\2\3\4\x08\0\1r\x09\0\1\0" +
                            b"\x26\0\1a\0\1b\x26\0\1a\0\0"),
        "publish-2-again": packet(0x3d, string(b"t") + b"\1\2\0"),
        "publish-with-identifiers": packet(0x30, string(b"t") + b"\5\x0b\1\x0b\x80\1"),
        "puback": packet(0x40, b"\0\1"),
        "puback-refused": packet(0x40, b"\0\1\x97\4\x1f\0\1q"),
        "pubrec": packet(0x50, b"\0\1\x10"),
        "pubrel": packet(0x62, b"\0\1"),
        "pubcomp": packet(0x70, b"\0\1"),
        "subscribe": packet(0x82, b"\0\1\0" + string(b"a/#") + b"\1" + string(b"b") + b"\x2e"),
        "suback": packet(0x90, b"\0\1\0\1\x80"),
        "unsubscribe": packet(0xa2, b"\0\1\0" + string(b"a")),
        "unsuback": packet(0xb0, b"\0\1\0\x11"),
        "pingreq": packet(0xc0, b""),
        "pingresp": packet(0xd0, b""),
        "disconnect": packet(0xe0, b""),
        "disconnect-with-reason": packet(0xe0, b"\x8e\0"),
        "auth": packet(0xf0, b"\x18\4\x15\0\1m"),
    }
    for name, content in every.items():
        seeds.add(name, content)
    seeds.add("one-after-the-other", every["connack"] + every["publish-1"] + every["pingresp"])
    seeds.add("too-large", b"\x30\xff\xff\xff\x7f")
    seeds.add("length-without-end", b"\x30\xff\xff\xff\xff\1")


def client_wire(seeds, _sources):
    """Records of client_wire_fuzzer.cc: sessions of clients, right and wrong."""
    request_topic = b"statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke"
    response_topic = b"clients/c/services/statestore/_any_/command/invoke/response"
    told_at = b"clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/63/command/notify/"

    def string(content):
        return len(content).to_bytes(2, "big") + content

    def number_of(length):
        return bytes([length]) if length < 128 else bytes([length % 128 | 128, length // 128])

    def packet(first, content):
        return bytes([first]) + number_of(len(content)) + content

    def sent(content, connection=0):
        """In pieces that a record can hold."""
        pieces = [content[i:i + 255] for i in range(0, len(content), 255)]
        return b"".join(bytes([connection << 4, len(piece)]) + piece for piece in pieces)

    def property_pairs(*pairs):
        return b"".join(b"\x26" + string(name) + string(value) for name, value in pairs)

    def words(*all_words):
        return b"*%d\r\n" % len(all_words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in all_words)

    def ask(number, *all_words, first=0x32, more=b"", stamp=b"1700000000000:0:c", topic=request_topic):
        properties = b"\x08" + string(response_topic) + b"\x09" + string(b"%04d" % number) + more
        properties += property_pairs((b"__ts", stamp)) if stamp else b""
        name = b"" if first & 6 == 0 else number.to_bytes(2, "big")
        return packet(first, string(topic) + name + number_of(len(properties)) + properties + words(*all_words))

    def connect(flags=2, expiry=b"", client=b"c"):
        head = string(b"MQTT") + b"\x05" + bytes([flags]) + b"\0\x3c"
        return packet(0x10, head + number_of(len(expiry)) + expiry + string(client))

    keeps = b"\x11\0\0\x0e\x10"
    subscribe = packet(0x82, b"\0\1\0" + string(response_topic) + b"\1" + string(told_at + b"+") + b"\1")
    begin = connect() + subscribe
    write, read = ask(2, b"SET", b"k", b"v"), ask(3, b"GET", b"k", stamp=b"")
    acks = packet(0x40, b"\0\1") + packet(0x40, b"\0\2")
    end, cut, later = packet(0xe0, b""), b"\x0e", b"\x0f\x14"
    fence = property_pairs((b"__ft", b"1700000000000:1:StateStore"))
    sessions = {
        "right": sent(begin + write + read + acks + end),
        "one-by-one": b"".join(sent(bytes([byte])) for byte in begin + write),
        "not-subscribed": sent(connect() + write),
        "at-qos-0": sent(begin + ask(0, b"SET", b"k", b"v", first=0x30)),
        "at-qos-2": sent(begin + ask(2, b"SET", b"k", b"v", first=0x34)),
        "again-with-dup": sent(begin + write) + cut + sent(connect(0, keeps) + ask(2, b"SET", b"k", b"v", first=0x3a)),
        "dup-without-a-reconnect": sent(begin + write + ask(2, b"SET", b"k", b"v", first=0x3a)),
        "same-identifier": sent(begin + write + ask(2, b"SET", b"k", b"w")),
        "same-correlation": sent(begin + write + ask(2, b"GET", b"k")),
        "two-response-topics": sent(begin + ask(2, b"GET", b"k", more=b"\x08" + string(b"r"))),
        "two-timestamps": sent(begin + ask(2, b"SET", b"k", b"v", more=property_pairs((b"__ts", b"1:0:x")))),
        "token": sent(begin + write + ask(4, b"SET", b"l", b"w", more=fence)),
        "clock-goes-back": sent(begin + write) + later + sent(ask(5, b"SET", b"k", b"v", stamp=b"1600000000000:0:c")),
        "observed": sent(begin + ask(2, b"KEYNOTIFY", b"k") + ask(3, b"SET", b"k", b"v") + acks),
        "observed-by-another": sent(begin + ask(2, b"KEYNOTIFY", b"k")) + sent(connect(client=b"d") + write, 1),
        "stopped": sent(begin + ask(2, b"KEYNOTIFY", b"k") + ask(3, b"KEYNOTIFY", b"k", b"STOP")),
        "session-kept": sent(connect(2, keeps) + subscribe + write) + cut + later + sent(connect(0, keeps) + acks),
        "taken-over": sent(begin) + sent(connect(), 1) + sent(write),
        "reserved-topic": sent(begin + ask(2, b"GET", b"k", topic=b"statestore/v1/other")),
        "lower-case": sent(begin + ask(2, b"set", b"k", b"v", b"nx")),
        "not-resp": sent(begin + packet(0x32, string(request_topic) + b"\0\2\0hello")),
        "older-version": sent(packet(0x10, string(b"MQTT") + b"\x04\2\0\x3c" + string(b"c"))),
        "before-connect": sent(write),
        "connect-twice": sent(connect() + connect()),
        "ping": sent(begin + packet(0xc0, b"")),
        "unsubscribe": sent(begin + packet(0xa2, b"\0\2\0" + string(response_topic)) + write),
        "puback-of-nothing": sent(begin + packet(0x40, b"\0\x63")),
        "malformed": sent(begin + b"\x36\xff\xff\xff\xff"),
    }
    for name, content in sessions.items():
        seeds.add(name, content)


def evidence(seeds, _sources):
    """Records as docs/EVIDENCE.md describes them, and a file of them."""
    def number(value):
        out = b""
        while value >= 128:
            out += bytes([value & 127 | 128])
            value >>= 7
        return out + bytes([value])

    def signed(value):
        return number(2 * value if value >= 0 else -2 * value - 1)

    def text(value):
        return number(len(value)) + value

    message = (number(127) + number(1) + text(b"t") + text(b"\0\xff") + text(b"r") + text(b"c") + text(b"a/b") + number(1) +
               number(60) + number(2) + text(b"__ts") + text(b"1") + text(b"a") + text(b""))
    every = {
        "head": b"\x01\0\x08" + text(b"{}"),
        "opened": b"\x02\x01\x0c" + signed(1) + text(b"SET-1/1"),
        "not-opened": b"\x02\x01\x48" + text(b"SET-1/1") + b"\x01" + text(b"gone") + b"\x01" + signed(135),
        "now-twice": b"\x05\x01\x02" + signed(1_000_000) + b"\x05\x01\x02" + signed(17),
        "wall": b"\x06\x01\x02" + signed(1_767_225_600_000),
        "connect": b"\x09\x01\x39\x01" + text(b"id") + text(b"role") + number(5) + bytes(5),
        "publish": b"\x0c\x01\x83\x01" + signed(3) + message,
        "nothing": b"\x0d\x01\x01\x01",
        "ended": b"\x10\x01\x07\x01" + signed(3) + signed(-1),
        "closed": b"\x03\x01\0",
    }
    for name, content in every.items():
        seeds.add(name, content)
    records = b"".join(every.values())
    seeds.add("one-after-the-other", records)
    packed = zlib.compress(records, 6)
    sizes = struct.pack("<II", len(packed), len(records))
    file = b"fencepost evidence 1\n" + sizes + struct.pack("<I", zlib.crc32(packed, zlib.crc32(sizes))) + packed
    seeds.add("file", file)
    seeds.add("file-cut", file[:-3])
    seeds.add("number-too-long", b"\x05" + b"\xff" * 10 + b"\x01")


def history(seeds, _sources):
    # As the target reads them: action and outcome, values, condition and what follows it, version, call, duration.
    outcomes = {"SET": ["ok", "not applied", "token required", "token lower", "refused", "unknown"],
                "GET": ["value", "missing", "refused", "unknown"],
                "DEL": ["missing", "deleted", "token required", "token lower", "refused", "unknown"],
                "VDEL": ["not applied", "missing", "deleted", "token required", "token lower", "refused", "unknown"],
                "CAS": ["ok", "not applied", "refused", "unknown"]}
    actions = list(outcomes)

    def operation(action, outcome, at, took, value=0, other=0, version=0, condition=0, px=None, token=None, resent=False):
        # The byte whose remainders by 5 and, without its last three bits, by the number of outcomes, say what it is.
        wanted = outcomes[action].index(outcome)
        what = next(byte for byte in range(256)
                    if byte % 5 == actions.index(action) and byte // 8 % len(outcomes[action]) == wanted)
        more = next(byte for byte in range(256) if (byte // 4 % 4 == 1) == (px is not None) and byte % 3 == condition
                    and (byte // 16 % 2 == 1) == (token is not None) and (byte // 32 == 1) == resent)
        extra = bytes([] if px is None else [px]) + bytes([] if token is None else [token])
        return bytes([what, value + 4 * other, more]) + extra + bytes([version, at, took])

    first = operation("SET", "ok", 0, 1, version=2)
    second = operation("SET", "ok", 2, 1, value=1, version=4)
    seeds.add("one-after-the-other", b"\0" + first + second + operation("GET", "value", 4, 1, other=1, version=4))
    seeds.add("stale-read", b"\0" + first + second + operation("GET", "value", 4, 1, other=0, version=2))
    seeds.add("missing", b"\0" + first + operation("GET", "missing", 2, 1))
    seeds.add("two-nx", b"\0" + b"".join(
        operation("SET", "ok", 0, 8, value=i, version=2 + 2 * i, condition=1) for i in range(2)))
    seeds.add("nex", b"\0" + first + operation("SET", "not applied", 2, 1, value=1, version=2, condition=2))
    seeds.add("deleted-twice", b"\0" + first + operation("DEL", "deleted", 2, 4, version=2) * 2)
    seeds.add("compare-and-delete", b"\0" + first + operation("VDEL", "not applied", 2, 1, value=1)
              + operation("VDEL", "deleted", 4, 1, version=2))
    seeds.add("no-reply", b"\0" + first + operation("SET", "unknown", 2, 0, value=1)
              + operation("GET", "value", 4, 1, other=1, version=4))
    seeds.add("sent-again", b"\0" + operation("SET", "ok", 0, 1, version=2, resent=True) + second
              + operation("GET", "value", 4, 1, version=6))
    seeds.add("expires", b"\x21" + operation("SET", "ok", 0, 1, version=2, px=8) + operation("GET", "missing", 9, 1))
    seeds.add("gone-too-early", b"\0" + operation("SET", "ok", 0, 1, version=2, px=8) + operation("GET", "missing", 4, 1))
    seeds.add("fenced", b"\0" + operation("SET", "ok", 0, 1, version=2, token=4)
              + operation("SET", "token lower", 2, 1, value=1, token=2) + operation("DEL", "token required", 4, 1)
              + operation("DEL", "deleted", 6, 1, version=2, token=4))
    seeds.add("register", b"\0" + operation("SET", "ok", 0, 1) + operation("CAS", "ok", 2, 1, value=1, other=0)
              + operation("CAS", "not applied", 4, 1, value=2, other=0) + operation("GET", "value", 6, 1, other=1))


def history_file(seeds, _sources):
    for path in sorted((ROOT / "tests" / "histories").glob("*.jsonl")):
        seeds.add(path.stem, path.read_bytes())
    document = (ROOT / "docs" / "HISTORY.md").read_text(encoding="utf-8")
    example = re.search(r'(    {"type":"history".*?)\n\n', document, re.S).group(1)
    seeds.add("documented", re.sub("(?m)^    ", "", example).encode() + b"\n")
    header = b'{"type":"history","format":1}\n'
    seeds.add("others", header + b"\n".join([
        b'{"type":"connection","at":1,"client":2,"link":"resumed"}', b'{"type":"restart","at":5}',
        b'{"type":"notification","at":4,"client":2,"key":"k","operation":"DELETE"}',
        b'{"type":"notification","at":6,"client":2,"key":"k","operation":"SET","value":"\\\\x00","duplicate":true}']))
    seeds.add("fenced", header + b'{"type":"call","id":1,"at":0,"client":0,"request":"SET","key":"k","value":"v","condition":'
              b'"NEX","px_ms":5,"timestamp":"1:0:c","token":"1:0:c"}\n{"type":"return","id":1,"reply":"refused","at":3,'
              b'"reason":"\\\\r"}\n')
    seeds.add("words", b"INFO  jepsen.util - 0\t:invoke\t:write\t1\nINFO  jepsen.util - 0\t:ok\t:write\t1\n"
              b"INFO  jepsen.util - 1\t:invoke\t:cas\t[1 2]\nINFO  jepsen.util - 1\t:info\t:cas\t:timed-out\n")
    seeds.add("maps", b"{:process 0, :type :invoke, :f :read, :value nil}\n{:process 0, :type :ok, :f :read, :value 3}\n"
              b"{:process 1, :type :invoke, :f :write, :value 3}\n{:process 1, :type :fail, :f :write, :value 3}\n")


def output(seeds, _sources):
    texts = ["\x1b]0;x\x07",
             "\x1b[31mred\x1b[0m", "\r\x1b[K", "\x9b2J", "\x85", "\u202eabc", "a\u2028b", "a\nb\r\n", "\t",
             "::error title=a::b",
             "\n  ::add-mask::a", "a ##[error]b", "###[x]####vso[y]", "##vso[task.complete]",
             "mqtt://[::1]:1883", "fe80::a", "it's",
             "certify --endpoint 'a b' ''", "a'\\''b", "certify | sh", "$(x) `y`", "\u00e9\u65e5\U0001f600"]
    for i, text in enumerate(texts):
        seeds.add(f"{i:02}-{readable(text.encode())}", text.encode())
    seeds.add("broken-utf-8", b"\xff\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82")


# Target -> what makes its seeds.
GENERATORS = {
    "client_language": client_language,
    "command_decoder": command_decoder,
    "descriptor_loader": descriptor_loader,
    "evidence": evidence,
    "fencing": fencing,
    "history": history,
    "history_file": history_file,
    "hlc_clock": hlc_clock,
    "hlc_timestamp": hlc_timestamp,
    "mqtt_packet": mqtt_packet,
    "client_wire": client_wire,
    "names": names,
    "output": output,
    "reply_decoder": reply_decoder,
    "request_sequence": request_sequence,
    "round_trip": round_trip,
    "scenario_loader": scenario_loader,
    "topics": topics,
}
# Targets whose seeds trace_tool makes of fuzz/traces: check_trace_seeds.cmake looks at them.
MADE_OF_TRACES = {"conforming_store", "service", "store_trace"}


def differences(folder, seeds):
    """What is to be done to the folder so that it has these files and no others."""
    there = {path.name: path for path in folder.glob("*")} if folder.is_dir() else {}
    for name in sorted(there.keys() - seeds.keys()):
        yield f"{there[name].relative_to(ROOT)} is none of the seeds that the script makes", there[name].unlink
    for name, content in seeds.items():
        path = folder / name
        if name not in there or path.read_bytes() != content:
            yield f"{path.relative_to(ROOT)} is not what the script makes", functools.partial(write, path, content)


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", required=True, metavar="PROGRAM")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    sources = Sources(arguments.vectors)
    count, found = 0, []
    for target, generate in GENERATORS.items():
        seeds = Seeds(target)
        generate(seeds, sources)
        count += len(seeds)
        found += differences(ROOT / "corpus" / target / "seeds", seeds)
    unknown = {path.parent.name for path in (ROOT / "corpus").glob("*/seeds")} - GENERATORS.keys() - MADE_OF_TRACES
    for complaint, repair in found:
        if arguments.check:
            print(complaint)
        else:
            repair()
    for target in sorted(unknown):
        print(f"corpus/{target}/seeds: nothing makes these; see GENERATORS")
    print(f"seeds: {count} of {len(GENERATORS)} targets, {len(found)} {'differ' if arguments.check else 'written'}")
    return 1 if unknown or (found and arguments.check) else 0


if __name__ == "__main__":
    sys.exit(main())
