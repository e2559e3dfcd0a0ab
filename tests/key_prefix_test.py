"""All keys that the suite writes, deletes or observes lie under the prefix that the descriptor names.

    key_prefix_test.py BUILD_BIN_DIR [unittest arguments]

A broker that keeps each request that it gets serves a whole run, the broken requests too: what a store might take for the key
of a SET, DEL, VDEL or KEYNOTIFY begins with the prefix, however broken the rest is.
"""

import json
import re

import harness
from harness import HANG, free_port, run

PREFIX = "team-a/fp"
ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.S)
LETTERS = {b"r": b"\r", b"n": b"\n", b"t": b"\t", b"0": b"\0"}


def unescaped(text):
    """The bytes of a payload in the log."""
    def byte(match):
        return bytes([int(match[1][1:], 16)]) if match[1][:1] == b"x" else LETTERS.get(match[1], match[1])
    return ESCAPE.sub(byte, text.encode())


def written_key(payload):
    """What the most lenient store could take for the key of a SET, DEL, VDEL or KEYNOTIFY; None where there is none, or the
    empty one, which each store refuses."""
    lines = [line for line in re.split(rb"[\r\n]+", payload) if line]
    while lines and lines[0][:1] in b"*$~>|%:+;":
        lines.pop(0)
    is_resp = payload[:1] in (b"*", b"~", b">", b"%", b"|")
    words = (lines[0].split() if lines else []) + lines[1:]
    if len(words) < 2 or words[0].upper() not in (b"SET", b"DEL", b"VDEL", b"KEYNOTIFY"):
        return None
    if words[1][:1] in b"$;":
        length = words[1][1:].strip(b" +")
        return words[2] if len(words) > 2 and length.isdigit() and int(length) > 0 else None
    if words[1][:1] == b"+":
        return words[1][1:]
    return None if is_resp else words[1]


class KeyPrefix(harness.FolderTest):
    def test_no_key_lies_elsewhere(self):
        port = free_port()
        self.start_program("serve", "--port", port, "--record", self.folder / "o.yaml", "--ready-file", self.folder / "ready",
                           cwd=self.folder, env=harness.environment())
        harness.wait_until(lambda: (self.folder / "ready").exists())
        self.write("d.yaml", json.dumps({"url": f"mqtt://127.0.0.1:{port}", "key_prefix": PREFIX}))
        done = run("certify", "--descriptor", "d.yaml", "-q", "--stress", "500ms", cwd=self.folder, env=harness.environment(),
                   timeout=HANG)
        self.assertIn(done.returncode, (0, 4), done.stdout[-2000:] + done.stderr)
        done = run("explore", "--descriptor", "d.yaml", "-q", "--duration", "1s", cwd=self.folder, env=harness.environment())
        self.assertIn(done.returncode, (0, 4), done.stdout[-2000:] + done.stderr)
        requests = keys = 0
        elsewhere = set()
        with open(self.folder / "o.yaml.log", encoding="utf-8") as log:
            for line in log:
                if "/command/invoke" not in line:
                    continue
                event = json.loads(line)
                message = event.get("message", {})
                if not message.get("topic", "").endswith("/command/invoke"):
                    continue
                requests += 1
                payload = message["payload"]
                if len(payload) > 4000:  # megabytes behind the key; no escape is cut
                    payload = payload[:4000].rsplit("\\", 1)[0]
                key = written_key(unescaped(payload))
                if key is None:
                    continue
                keys += 1
                if not key.startswith(PREFIX.encode() + b"/"):
                    elsewhere.add(message["payload"][:120])
        self.assertGreater(requests, 20_000)
        self.assertGreater(keys, 10_000)
        self.assertEqual(set(), elsewhere)

    def test_the_search_finds_what_it_looks_for(self):
        for payload, key in ((b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n", b"k"), (b"SET k v\r\n", b"k"),
                             (b"*3\n$3\nset\n$3\nabc\n", b"abc"), (b"*3\r\n$3\r\nSET\r\n$9\r\nteam-b", b"team-b"),
                             (b"KEYNOTIFY\r\nk\r\n", b"k"), (b"*2\r\n$3\r\nDEL\r\n+k\r\n", b"k")):
            self.assertEqual(key, written_key(payload), payload)
        for payload in (b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", b"*3\r\n$3\r\nSET\r\n$0\r\n\r\n$1\r\nv\r\n", b"",
                        b"*1\r\n$3\r\nDEL\r\n"):
            self.assertIsNone(written_key(payload), payload)
        self.assertEqual(b"a\r\n\\\x00\"", unescaped("a\\r\\n\\\\\\x00\\\""))


if __name__ == "__main__":
    harness.main()
