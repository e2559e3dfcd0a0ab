"""What tests of the program share: the program itself, folders, processes, brokers, waiting, reports.

A test that imports this takes the folder with the programs of a build as its first argument:

    some_test.py BUILD_BIN_DIR [unittest arguments]

Brokers are on free loopback ports. Processes are ended by those who have started them, and nobody else's are.
"""

import contextlib
import dataclasses
import fcntl
import json
import os
import pathlib
import pty
import random
import re
import resource
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest
import xml.etree.ElementTree as ElementTree


def path_argument():
    """The next argument, a path, taken away from what is left for unittest."""
    if len(sys.argv) < 2:
        sys.exit(sys.modules["__main__"].__doc__)
    return pathlib.Path(sys.argv.pop(1)).resolve()


ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = path_argument()
FENCEPOST = BIN / "fencepost"
PLUGIN = BIN / "fencepost_statestore.so"

# Sanitized builds are slower, and the plugin needs their runtime in the broker.
PRELOAD = os.environ.get("FENCEPOST_TEST_PRELOAD", "")
SANITIZED = bool(os.environ.get("FENCEPOST_TEST_SANITIZED"))
SLOW = ["--timeout-scale", "5"] if SANITIZED else []
# True in ci/test without --full.
IN_GATE = bool(os.environ.get("FENCEPOST_GATE"))
# Seconds after which a program counts as hung. No test measures speed.
HANG = 300
# Seconds for what must not wait for each case: a hundredth of what a time-out of each would take, on a machine that is busy.
SOON = 60
# Why a case may be undecided on a conforming store: a machine that was too busy, or a clock that is not known well enough.
FOR_WANT_OF_TIME = re.compile(
    r"^the reply came \d+ ms after \S+, when it no longer proves anything"
    r"|^whether a timestamp -?\d+ ms ahead of our clock may be (refused|accepted) depends on the store's clock")
# Leaves out, of set.* and notify.*, what asks by a time that a busy machine may miss: else an exit code may be 4.
WITHOUT_HASTE = [word for case in ("set.*.refusal-keeps-the-expiry", "set.options.*px", "notify.deliver.*expir*",
                                   "notify.silence.expiry-*") for word in ("--skip", case)]
# For shells: while the process $1 runs. Where process 1 reaps nothing, as in many containers, what has ended stays as a zombie.
STILL_RUNS = "grep -qs '^State:[[:space:]]*[^Z[:space:]]' /proc/$1/status"
# No broker listens there: the port is only root's, and nobody's.
NO_PORT = 1
NOBODY = f"mqtt://127.0.0.1:{NO_PORT}"
# A file of cases that each conforming store passes.
OWN_CASES = """\
area: own
cases:
  - id: own.missing
    title: A key that nobody has written is missing
    requirements: [GET-MISS-1]
    steps:
      - get: k
        expect: missing
"""


class TimedResult(unittest.TextTestResult):
    """Says of each test that took a second or more how long, and how much of that was processor time."""

    def startTest(self, test):
        self.begun = time.monotonic(), processor_time()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        seconds = time.monotonic() - self.begun[0]
        if seconds >= 1:
            self.stream.writeln(f"    {seconds:.1f} s, {processor_time() - self.begun[1]:.1f} s of processor time: {test.id()}")


def processor_time():
    """Seconds that this process and those that it has waited for have used."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def main():
    unittest.main(module="__main__", testRunner=unittest.TextTestRunner(verbosity=2, resultclass=TimedResult))


def full(reason):
    """For a test, or a class of them, that ci/test leaves to ci/test --full, and why. By hand all tests run."""
    return unittest.skipIf(IN_GATE, f"only in ci/test --full: {reason}")


def full_but(reason, *kept):
    """The same for all tests of a class but these."""
    def mark(cls):
        names = unittest.defaultTestLoader.getTestCaseNames(cls)
        unknown = set(kept) - set(names)
        if unknown:
            raise AssertionError(f"{cls.__name__} has no {', '.join(sorted(unknown))}")
        for name in set(names) - set(kept):
            setattr(cls, name, full(reason)(getattr(cls, name)))
        return cls
    return mark


# --- the program ---

MOSQUITTO = next((path for path in ("/usr/sbin/mosquitto", "/usr/bin/mosquitto") if os.access(path, os.X_OK)), None)

def run(*arguments, **options):
    """Runs the program to its end: what it returned and what it said, as text."""
    return run_command(FENCEPOST, *arguments, **options)


def run_command(*command, **options):
    """The same for any command. Line ends stay as they are."""
    done = subprocess.run([str(part) for part in command],
                          **{"capture_output": True, "timeout": HANG, "check": False, **options})
    done.stdout, done.stderr = ((said or b"").decode("utf-8") for said in (done.stdout, done.stderr))
    return done


def must(*command, **options):
    """What a command says that has to succeed."""
    done = run_command(*command, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command[0]} returned {done.returncode}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def unwrapped(console):
    """What certify printed, with the lines whole that its console has broken at 100 columns."""
    out = []
    for line in console.split("\n"):
        words = line.split()
        indent = len(line) - len(line.lstrip(" "))
        if out and words and indent in (4, 6, 8, 11, 12) and len(out[-1].rpartition("\n")[2]) + 1 + len(words[0]) > 100:
            out[-1] += "\n" + line
        else:
            out.append(line)
    return "\n".join(re.sub(r"\n +", " ", line) for line in out)


# One that is conformant, in the form that each dialect has for it.
REFUSES_EXISTING_KEY = """\
  - id: refuses-existing-key
    title: NX on an existing key is refused
    requirements: [SET-NX-2, SET-NOT-APPLIED-1]
    divergence: [set-not-applied]
    steps:
      - set: {key: k, value: "one"}
        expect: {reply: ok, ts: {save: v1, greater_than: [sent]}}
      - set: {key: k, value: "two", options: [NX]}
        expect: not-applied
"""


def undecided_and_skipped(late="came-too-late", connections="needs-connections", rules=("SET-NX-2", "SET-NX-2")):
    """Cases that a run in process cannot decide, and cannot run, for the end of a file of scenarios."""
    return f"""\
  - id: {late}
    title: Cannot be decided
    requirements: [{rules[0]}]
    tags: [late]
    steps:
      - get: {{key: k, mark: t}}
        expect: missing
      - get: k
        expect: {{reply: missing, before: t + 0ms}}
  - id: {connections}
    title: Is skipped in process
    requirements: [{rules[1]}]
    requires: [transport]
    steps:
      - get: k
        expect: missing
"""


def reproduce_command(output):
    """The first command that a run prints for showing a failure again, for the shell."""
    return re.search(r"reproduce +(.*)", output).group(1)


def environment(**more):
    """Ours without what GitHub Actions may have put there."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")} | more


# --- waiting ---


def wait_until(condition, seconds=HANG):
    """The first value of `condition` that is true. For what has no event to wait for: another process's state."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s in vain")
        time.sleep(0.01)
    return value


CLAIMS = []


def free_port():
    """From below the range that the kernel gives to connections, so that no connection takes it in the meantime; nor does
    another test: a socket whose name is only this port's is held until this process ends."""
    end = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    while True:
        port = random.randrange(max(1024, end - 20_000), end)
        claim = socket.socket(socket.AF_UNIX)
        with socket.socket() as probe, contextlib.suppress(OSError):
            claim.bind(f"\0fencepost-test-port-{port}")
            probe.bind(("127.0.0.1", port))
            CLAIMS.append(claim)
            return port
        claim.close()


def listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def connections_to(port):
    """How many TCP connections to this port of the loopback are established."""
    lines = pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    rows = [line.split() for line in lines]
    return sum(row[2] == f"0100007F:{port:04X}" and row[3] == "01" for row in rows)


def tcp_frame(ports, sequence, had, flags, data):
    """Ethernet, IPv4, TCP."""
    tcp = struct.pack(">HHIIBBHHH", *ports, sequence, had, 0x50, flags, 65535, 0, 0) + data
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0, b"\x7f\0\0\x01", b"\x7f\0\0\x01")
    return b"\0" * 12 + b"\x08\0" + ip + tcp


def write_pcap(path, frames):
    """A capture file of frames of Ethernet, each with its time."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for moment, frame in frames:
            file.write(struct.pack("<IIII", int(moment), round(moment % 1 * 1e6), len(frame), len(frame)) + frame)


class Proxy:
    """Passes TCP connections on to a port of the loopback, until `close`. Subclasses see, change or end what passes."""

    def __init__(self, to_port):
        self.to_port = to_port
        self.accepted = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def passes(self, number, up, data):
        """`data` came on connection `number` (from 1), from the client when `up`; empty: its end. False cuts it."""
        del number, up, data
        return True

    def changed(self, number, up, data):
        """What is sent in the place of `data`."""
        del number, up
        return data

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.to_port))
            except OSError:
                client.close()
                continue
            for each in (client, server):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.accepted += 1
            threading.Thread(target=self.relay, args=(self.accepted, client, server), daemon=True).start()

    def relay(self, number, client, server):
        with client, server:
            back = threading.Thread(target=self.pump, args=(number, False, server, client), daemon=True)
            back.start()
            self.pump(number, True, client, server)
            back.join()

    def pump(self, number, up, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if not self.passes(number, up, data):
                    # Both directions end, as in a network that breaks.
                    source.shutdown(socket.SHUT_RDWR)
                    break
                sink.sendall(self.changed(number, up, data))
            else:
                self.passes(number, up, b"")
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def close(self):
        self.listener.close()


def children_of(pid):
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()]
    except FileNotFoundError:
        return []


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


# --- files ---


def load_json(path):
    return json.loads(path.read_text(encoding="utf-8"))


def load_schema(name):
    return load_json(ROOT / "docs" / f"{name}.schema.json")


def junit_count(root, name):
    """The sum over all suites of a JUnit document: tests, failures, errors or skipped."""
    return sum(int(suite.get(name)) for suite in root.findall("testsuite"))


class Reports:
    """What a run of `certify` returned (`code`), said (`out`, and with its errors `said`) and wrote (`json`, ...).

    `kinds` are the reports that it writes into `folder`; `scenarios` is the text of a file, of several, or empty for the
    built-in cases.
    """

    def __init__(self, folder, *arguments, kinds=("json", "junit"), scenarios="", env=None):
        self.paths = {kind: folder / f"report.{kind}" for kind in kinds}
        command = ["certify", "--quiet"]
        for kind, path in self.paths.items():
            command += [f"--{kind}", path]
        if scenarios:
            command += ["--scenarios", write_scenarios(folder, scenarios)]
        done = run(*command, *arguments, cwd=folder, env=env or environment())
        self.code = done.returncode
        self.out = done.stdout
        self.said = done.stdout + done.stderr
        if not all(path.exists() for path in self.paths.values()):
            raise RuntimeError(self.said)
        self.json = load_json(self.paths["json"])
        self.junit = ElementTree.parse(self.paths["junit"]).getroot() if "junit" in kinds else None
        self.cases = {case["id"]: case for case in self.json["cases"]}

    def text(self, kind):
        return self.paths[kind].read_text(encoding="utf-8")

    def verdicts(self):
        return {name: case["verdict"] for name, case in self.cases.items()}

    def those(self, *verdicts):
        return {name for name, verdict in self.verdicts().items() if verdict in verdicts}


def write_scenarios(folder, scenarios):
    """The name of the file, or for several texts of the folder, that they are in."""
    if isinstance(scenarios, str):
        (folder / "sample.yaml").write_text(scenarios, encoding="utf-8")
        return "sample.yaml"
    (folder / "samples").mkdir()
    for number, text in enumerate(scenarios):
        (folder / "samples" / f"{number}.yaml").write_text(text, encoding="utf-8")
    return "samples"


# --- processes ---


@dataclasses.dataclass
class Server:
    """A broker that somebody has started."""

    process: subprocess.Popen
    port: int

    @property
    def url(self):
        return f"mqtt://127.0.0.1:{self.port}"

    def url_of(self, user, password):
        return f"mqtt://{user}:{password}@127.0.0.1:{self.port}"


class Terminal:
    """A process on a terminal of its own, for what the program shows only there."""

    def __init__(self, test, *command, columns=0, **options):
        self.shown = ""
        self.primary, secondary = pty.openpty()
        fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))
        test.addCleanup(os.close, self.primary)
        self.process = test.start(*command, stdout=secondary, stderr=secondary,
                                  env={**os.environ, "TERM": "xterm", "NO_COLOR": "1"}, **options)
        os.close(secondary)

    def read_until(self, pattern):
        """What matches the pattern, as soon as it is shown; None when nothing more comes."""
        while not (found := re.search(pattern, self.shown)):
            try:
                part = os.read(self.primary, 65536)
            except OSError:  # the end, on Linux
                part = b""
            if not part:
                return None
            self.shown += part.decode("utf-8", "replace")
        return found

    def end(self):
        """The exit code, when all has been read."""
        self.read_until(r"(?!)")
        return self.process.wait(HANG)


# --- tests ---


class FolderTest(unittest.TestCase):
    """Each test has a folder of its own, `self.folder`, and all that it starts ends with it."""

    def assert_none_failed(self, code, report, said):
        """A run of a conforming store: what did not pass is undecided, and only for want of time."""
        failed = [f"{case['id']}: {case['message']}" for case in report["cases"]
                  if case["verdict"] not in ("passed", "skipped", "inconclusive")]
        self.assertEqual([], failed, said)
        for case in report["cases"]:
            if case["verdict"] == "inconclusive":
                self.assertRegex(case["message"], FOR_WANT_OF_TIME, case["id"])
        self.assertGreater(report["summary"]["passed"], 0, said)
        self.assertEqual(code, 4 if report["summary"]["inconclusive"] else 0, said)

    def setUp(self):
        self.folder = temporary_folder(self.addCleanup)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
        return path

    def read(self, name):
        return (self.folder / name).read_text(encoding="utf-8")

    def load(self, name):
        return load_json(self.folder / name)

    def start(self, *command, **options):
        """A process whose output, if it is a pipe, is text; killed in the end if it still runs."""
        process = subprocess.Popen([str(part) for part in command], text=True, encoding="utf-8", **options)

        def end():
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream:
                    stream.close()

        self.addCleanup(end)
        return process

    def start_program(self, *arguments, **options):
        return self.start(FENCEPOST, *arguments, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})

    def serve(self, *options):
        """`fencepost serve`, once it is ready."""
        server = Server(None, free_port())
        server.process = self.start_program("serve", "--port", server.port, *options)
        line = server.process.stdout.readline()
        if f"ready at {server.url}" not in line:
            self.fail(f"serve is not ready: {line}{server.process.communicate(timeout=HANG)}")
        return server

    def start_mosquitto(self, *lines):
        """A broker with these lines in its configuration, once it listens."""
        server = Server(None, free_port())
        config = self.write("mosquitto.conf", mosquitto_config(server.port, "persistence false", "set_tcp_nodelay true",
                                                               "max_queued_messages 100000", *lines))
        server.process = self.start(MOSQUITTO, "-c", config, stderr=subprocess.DEVNULL,
                                    env={**os.environ, "LD_PRELOAD": PRELOAD} if PRELOAD else None)
        wait_until(lambda: listening(server.port) or server.process.poll() is not None)
        self.assertIsNone(server.process.poll(), "the broker has ended")
        return server

    def password_file(self, **passwords):
        """For mosquitto: user -> password."""
        path = self.folder / "passwords"
        path.touch(mode=0o600)
        for user, password in passwords.items():
            must("mosquitto_passwd", "-b", path, user, password)
        return path

    def stop(self, process, number):
        """Sends the signal: the exit code, and what it has said since, with its errors."""
        process.send_signal(number)
        parts = process.communicate(timeout=HANG)
        return process.returncode, "".join(part for part in parts if part)


def temporary_folder(add_cleanup):
    """For the cleanup of a test, a class or a module."""
    directory = tempfile.TemporaryDirectory()
    add_cleanup(directory.cleanup)
    return pathlib.Path(directory.name).resolve()


def mosquitto_config(port, *lines):
    user = ["user root"] if os.geteuid() == 0 else []
    return "\n".join([f"listener {port} 127.0.0.1", "max_inflight_messages 0", *lines, *user, ""])
