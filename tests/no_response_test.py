"""What the absence of an answer comes to: docs/VERDICTS.md, each cell a test.

    no_response_test.py BUILD_BIN_DIR [unittest arguments]

A conforming store stands behind a proxy that removes or adds something in what its broker sends: packets of MQTT 5,
read here from the standard. Nothing else is wrong, so that only this can be found.
"""

import collections
import json
import signal
import socket
import threading
import time

import harness

PUBLISH, PUBACK = 3, 4
# A reply to one of the first requests of a load or a search: 200 to 270 are those of the preflight.
EARLY = 300


def read_variable(data, at):
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at
    return None, at


def packets(buffer):
    """Takes whole packets from the front of the buffer."""
    while len(buffer) >= 2:
        length, start = read_variable(buffer, 1)
        if length is None or len(buffer) < start + length:
            return
        yield bytes(buffer[:start + length]), start
        del buffer[:start + length]


def topic_of(packet, start):
    size = int.from_bytes(packet[start:start + 2], "big")
    return packet[start + 2:start + 2 + size]


def is_reply(packet, start):
    return packet[0] >> 4 == PUBLISH and b"/response" in topic_of(packet, start)


class ChangingProxy(harness.Proxy):
    """`change(packet, is_reply, number)` says which packets go to the client in the place of one; `number` counts replies."""

    def __init__(self, port, change):
        self.change = change
        self.replies = 0
        self.lock = threading.Lock()
        self.begun = collections.defaultdict(bytearray)  # by connection: of a packet that is not whole yet
        super().__init__(port)

    @property
    def url(self):
        return f"mqtt://127.0.0.1:{self.port}"

    def changed(self, number, up, data):
        if up:
            return data
        with self.lock:
            buffer = self.begun[number]
            buffer += data
            return b"".join(each for packet, start in packets(buffer) for each in self.replaced(packet, start))

    def replaced(self, packet, start):
        reply = is_reply(packet, start)
        self.replies += reply
        return self.change(packet, reply, self.replies)


def without_pubacks(packet, _, __):
    return [] if packet[0] >> 4 == PUBACK else [packet]


def without_each_seventh_reply(packet, reply, number):
    return [] if reply and number % 7 == 0 else [packet]


def each_reply_twice(packet, reply, _):
    """With the QoS of the packet taken away: a packet identifier that comes twice would be a redelivery."""
    return [packet, as_qos_0(packet)] if reply else [packet]


def as_qos_0(packet):
    _, start = read_variable(packet, 1)
    size = int.from_bytes(packet[start:start + 2], "big")
    body = packet[start:start + 2 + size] + packet[start + 2 + size + (2 if packet[0] & 6 else 0):]
    length, out = len(body), bytearray([packet[0] & 0xf1])
    while True:
        length, low = divmod(length, 128)
        out.append(low | (0x80 if length else 0))
        if not length:
            return bytes(out) + body


def with_a_nul_in_the_topic(packet, reply, _):
    return [packet.replace(b"/response", b"/respons\0", 1)] if reply else [packet]


def with_puback_reasons(reason):
    """Each tenth PUBACK has this reason, though the request is answered."""
    def changed(packet, _, number):
        is_puback = packet[0] >> 4 == PUBACK
        return [bytes([0x40, 3]) + packet[2:4] + reason] if is_puback and number > EARLY and packet[3] % 10 == 0 else [packet]
    return changed


def without_our_properties(packet, reply, number):
    """As many stores would be that do not know MQTT 5: replies without `__ts` and `__stat`."""
    return [packet.replace(b"__ts", b"none").replace(b"__stat", b"nobody")] if reply and number > EARLY else [packet]


def late(packet, reply, number):
    """Once all that is delivered comes 1.5 s late."""
    if reply and number == EARLY:
        time.sleep(1.5)
    return [packet]


def with_connack_properties(properties):
    """These, and no others."""
    connack = b"\x20" + bytes([3 + len(properties)]) + b"\0\0" + bytes([len(properties)]) + properties
    return lambda packet, _, __: [connack if packet[0] >> 4 == 2 else packet]


def ends_at(*numbers):
    """The connection of each of these replies ends in its place."""
    numbers = set(numbers)

    def change(packet, reply, number):
        if reply and number in numbers:
            raise ConnectionAbortedError
        return [packet]
    return change


def ends_at_a_set():
    """The connection of the first reply to a SET of a case ends: neither the preflight nor clean-up is judged."""
    ended = []

    def change(packet, reply, _):
        if reply and b"+OK" in packet and b"-preflight" not in packet and not ended:
            ended.append(packet)
            raise ConnectionAbortedError
        return [packet]
    return change


TWO_REQUESTS = """\
area: own
cases:
  - id: own.refused
    title: NX on a key that exists
    requirements: [SET-NX-2, SET-NOT-APPLIED-1]
    divergence: [set-not-applied]
    steps:
      - del: k                            # of what was there before, a recorder knows nothing
        expect: {reply: {count: 0}}
      - set: {key: k, value: "one"}
        expect: ok
      - set: {key: k, value: "two", options: [NX]}
        expect: not-applied
"""


class Behind(harness.FolderTest):
    def behind(self, change, *options):
        proxy = ChangingProxy(self.serve(*options).port, change)
        self.addCleanup(proxy.close)
        return proxy.url

    def check(self, code, *arguments):
        done = harness.run(*arguments, cwd=self.folder)
        self.assertEqual(code, done.returncode, done.stdout[-3000:] + done.stderr[-1000:])
        return done.stdout + done.stderr

    def stress(self, code, url, *arguments, rate=400):
        """At this rate: each client as soon as it has its response (0) takes all of a processor to pass a proxy in Python.
        No reply comes too late where all have to come."""
        limits = ["--duration", "2s" if rate else "1s", "--timeout-scale", "20" if code == 0 else "0.3"]
        return self.check(code, "stress", "--endpoint", url, *limits, "--no-shrink", *(["--rate", str(rate)] if rate else []),
                          *arguments)

    def explore(self, code, url):
        # It ends with what it finds, or after 400 workloads, on a busy machine later.
        limits = [] if code == 1 else ["--max-examples", "400"]
        return self.check(code, "explore", "--endpoint", url, "--duration", "2m", *limits, "--timeout-scale", "0.3", "-q")

    def certify(self, code, url):
        report = self.folder / "r.json"
        said = self.check(code, "certify", "--endpoint", url, "--quiet", "--timeout-scale", "0.3", "--json", report,
                          "--run", "set.plain.*", "--run", "get.*", "--run", "envelope.delivery.*",
                          "--skip", "*.more-than-65535-packets")
        return said, {difference["requirement"] for difference in harness.load_json(report)["differences"]}


class Silence(Behind):
    def test_a_proxy_that_changes_nothing_is_no_finding(self):
        url = self.behind(lambda packet, _, __: [packet])
        self.assertIn("no rule is broken", self.stress(0, url))
        self.assertIn("no rule is broken", self.explore(0, url))

    def test_no_puback(self):
        url = self.behind(without_pubacks)
        said, rules = self.certify(1, url)
        self.assertEqual({"ENV-MQTT5-3"}, rules, said)
        self.assertIn("VIOLATION  ENV-MQTT5-3", self.stress(1, url))
        self.assertIn("REJECTED  ENV-MQTT5-3", self.explore(1, url))

    def test_no_puback_with_room_for_few(self):
        """Its Receive Maximum keeps all but the first requests from being sent: that is no store that does not answer."""
        url = self.behind(without_pubacks, "--receive-maximum", "2")
        for command in ("certify", "explore"):
            self.assertRegex(self.check(3, command, "--endpoint", url, "--timeout-scale", "0.1"),
                             r"breaks MQTT 5 at .*4\.3\.2 \(ENV-MQTT5-3\): no acknowledgement of the PUBLISH")
        said = self.stress(1, url)
        self.assertIn("VIOLATION  ENV-MQTT5-3", said)
        self.assertNotIn("VIOLATION  ENV-RESPONSE-1", said)

    def test_lost_replies(self):
        url = self.behind(without_each_seventh_reply)
        said = self.stress(1, url, rate=0)
        self.assertIn("VIOLATION  ENV-RESPONSE-1", said)
        self.assertIn("no response, though requests that were sent later have one", said)
        self.assertIn("REJECTED  ENV-RESPONSE-1", self.explore(1, self.behind(without_each_seventh_reply)))

    def test_doubled_replies(self):
        url = self.behind(each_reply_twice)
        said = self.stress(1, url, rate=0)
        self.assertIn("VIOLATION  ENV-RESPONSE-1", said)
        self.assertIn("a second response to one request", said)
        self.assertIn("REJECTED", self.explore(1, url))
        self.certify(1, url)

    def test_late_replies(self):
        self.assertIn("answered too late", self.stress(4, self.behind(late)))

    def test_refused_requests_that_are_answered(self):
        # The second is a reason that MQTT does not have.
        for reason in (b"\x80", b"\x01"):
            self.assertIn("VIOLATION  ENV-PUBACK-1", self.stress(1, self.behind(with_puback_reasons(reason))))
            self.assertIn("REJECTED  ENV-PUBACK-1", self.explore(1, self.behind(with_puback_reasons(reason))))

    def test_replies_without_version_and_status(self):
        url = self.behind(without_our_properties)
        self.assertRegex(self.stress(1, url), "VIOLATION  (VER|ENV-STATUS)-")
        self.assertRegex(self.explore(1, url), "REJECTED  (VER|ENV-STATUS)-")

    def test_malformed_packets(self):
        url = self.behind(with_a_nul_in_the_topic)
        self.assertIn("VIOLATION  ENV-MQTT5-3", self.stress(1, url))
        # The preflight leaves it to what judges.
        for command in ("certify", "explore"):
            self.assertIn("ENV-MQTT5-3", self.check(1, command, "--endpoint", url))

    def test_nothing_can_be_asked(self):
        """Of a broker that takes packets of 20 bytes, or none of QoS 1, says its CONNACK: no client may ask it."""
        for properties, said in ((b"\x27\0\0\0\x14", "Maximum Packet Size of 20"), (b"\x24\0", "Maximum QoS 0")):
            url = self.behind(with_connack_properties(properties))
            case = self.write("case.yaml", TWO_REQUESTS)
            for command in (["certify"], ["explore"], ["probe"], ["replay", case], ["stress", "--duration", "1s"]):
                with self.subTest(said + command[0]):
                    self.assertIn(said, self.check(3, *command, "--endpoint", url))

    def test_nobody_answers(self):
        url = self.behind(lambda packet, reply, _: [] if reply else [packet])
        self.assertIn("a broker, but no state store", self.stress(3, url))

    def part(self, name, *selection):
        self.check(0, "certify", "--quiet", "--endpoint", "inproc:", "--seed", "1", "--json", self.folder / name, *selection)

    def assert_a_part(self, said):
        self.assertRegex(said, r"\d+ of \d+ cases selected")
        self.assertNotRegex(said, r"(?i)\bconformant\b")

    def test_a_part_is_no_certificate_in_a_comparison(self):
        """And where all the runs are parts, the head of the page counts none as conformant."""
        self.part("a.json", "--run", "get.*")
        said = self.check(0, "compare", "a.json", "a.json", "--json", "c.json", "--html", "c.html")
        self.assert_a_part(said)
        for column in self.load("c.json")["columns"]:
            self.assertEqual("no failure in a part", column["verdict"])
            self.assert_a_part(column["part"])
        self.assertIn("0 of 2 conformant, 2 no failure in a part", self.read("c.html"))
        self.part("whole.json")
        self.assert_a_part(self.check(0, "compare", "whole.json", "whole.json", "--run", "get.*"))
        self.assertIn(": conformant, ", self.check(0, "compare", "whole.json"))

    def test_a_part_is_no_certificate_of_a_fleet(self):
        self.write("fleet.txt", "right inproc:\n")
        self.assert_a_part(self.check(0, "certify-all", "fleet.txt", "--out-dir", "out", "--run", "get.*"))
        self.assertIn("0 of 1 conformant, 1 no failure in a part", self.read("out/index.html"))

    def test_a_part_is_no_certificate_on_github_and_in_sarif(self):
        names = {name: self.folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        done = harness.run("certify", "--endpoint", "inproc:", "--run", "get.*", "--sarif", self.folder / "r.sarif",
                           env=harness.environment(GITHUB_ACTIONS="true", **{name: str(path) for name, path in names.items()}))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assert_a_part(done.stdout)
        self.assert_a_part(self.read("GITHUB_STEP_SUMMARY").replace("State store conformance", ""))
        self.assertIn("verdict=part\n", self.read("GITHUB_OUTPUT"))
        [run] = self.load("r.sarif")["runs"]
        self.assertEqual("part", run["invocations"][0]["exitCodeDescription"])

    def test_a_part_is_no_certificate_from_its_evidence(self):
        self.part("r.json", "--run", "get.*", "--evidence", self.folder / "r.fpe")
        for command in ("judge", "merge"):
            self.assert_a_part(self.check(0, command, "r.fpe"))
        self.assertNotIn("onformant", self.check(0, "matrix", "--report", "r.json"))

    def test_a_shard_is_no_certificate_nor_are_some_of_them(self):
        for shard in (1, 2):
            self.part(f"{shard}.json", "--shard", f"{shard}/3", "--run", "get.*")
        self.assert_a_part(self.check(0, "compare", "1.json"))
        said = self.check(4, "merge", "1.json", "2.json")
        self.assertIn("shard 3 of 3 is missing", said)
        self.assertNotIn("onformant", said)
        self.part("3.json", "--shard", "3/3", "--run", "get.*")
        self.assert_a_part(self.check(0, "merge", "1.json", "2.json", "3.json"))

    def test_a_part_with_known_failures_is_no_certificate(self):
        self.write("known.yaml", "version: 1\nskip:\n  - {case: 'get.*', reason: known}\n")
        self.assert_a_part(self.check(0, "certify", "--endpoint", "inproc:", "--run", "get.*", "--run", "set.nx.*",
                                      "--baseline", "known.yaml"))

    def test_a_part_of_the_cases_of_clients_is_no_certificate(self):
        adapter = harness.ROOT / "adapters" / "python_paho" / "adapter.py"
        said = self.check(0, "certify-client", "--run", "get.missing", "--html", self.folder / "c.html", "--",
                          "/usr/bin/python3", "-B", adapter)
        self.assertRegex(said, r"client: partial run without a failure: 1 of \d+ cases selected;")
        self.assertIn("A part without a failure", self.read("c.html"))

    def test_a_part_is_no_certificate(self):
        page = self.folder / "r.html"
        said = self.check(0, "certify", "--endpoint", "inproc:", "--run", "set.nx.refuses-equal-value", "--html", page,
                          "--junit", self.folder / "r.xml", "--json", self.folder / "r.json", "--badge", self.folder / "b.json")
        self.assertRegex(said, r"1 of \d+ cases selected; not a statement of conformance")
        self.assertNotIn("conformant", said)
        html = page.read_text("utf-8")
        self.assertIn("Partial run without a failure", html)
        self.assertNotIn("Every case that ran passed", html)
        self.assertRegex((self.folder / "r.xml").read_text("utf-8"), r'name="selected" value="1 of \d+ cases selected"')
        self.assertEqual(1, harness.load_json(self.folder / "r.json")["selected"]["cases"])
        self.assertIn("(part)", json.loads((self.folder / "b.json").read_text("utf-8"))["message"])

    def test_a_baseline_hides_no_other_rule(self):
        baseline = self.folder / "known.yaml"
        self.check(1, "certify", "--quiet", "--endpoint", "inproc:?fault=C08", "--baseline", baseline, "--update-baseline",
                   "--stress", "none")  # which leaves the reasons to write
        baseline.write_text(baseline.read_text("utf-8").replace("reason: ''", "reason: known"), "utf-8")
        self.check(0, "certify", "--quiet", "--endpoint", "inproc:?fault=C08", "--baseline", baseline, "--stress", "short")
        # With 20,000 requests, as many as `short` has, a third of the seeds does not show the fault.
        self.check(1, "certify", "--quiet", "--endpoint", "inproc:?fault=C08+T20", "--baseline", baseline, "--stress", "10s",
                   "--seed", "1")

    def test_nothing_to_record(self):
        self.assertIn("no request was seen", self.check(5, "record", "--endpoint", self.serve().url, "--duration", "500ms",
                                                        "--out", self.folder / "cases.yaml"))


class Endings(Behind):
    """Connections that end, and endpoints that go away: docs/VERDICTS.md, the rows about these."""

    def test_a_connection_ends_at_a_reply(self):
        said, _ = self.certify(1, self.behind(ends_at_a_set()))
        self.assertIn("the connection of client ", said)
        self.assertIn("lost with a connection that ended", self.stress(4, self.behind(ends_at(EARLY))))
        # A few workloads of many are cut short: the others are enough. An end may also meet a clean-up, which is not judged.
        self.assertIn("cut short", self.explore(0, self.behind(ends_at(420, 450, 480, 510))))

    def test_connections_end_again_and_again(self):
        self.assertIn("connections ended", self.stress(3, self.behind(ends_at(*range(EARLY, 10 ** 6)))))
        self.assertIn("cut short", self.explore(4, self.behind(ends_at(*range(400, 10 ** 6, 9)))))

    def test_a_connection_ends_while_an_endpoint_is_probed(self):
        self.assertIn("unspecified points ", self.check(0, "probe", "--endpoint", self.behind(ends_at(420))))

    def test_a_connection_ends_in_a_replay(self):
        case = self.write("case.yaml", harness.OWN_CASES)
        said = self.check(1, "replay", case, "--endpoint", self.behind(ends_at(420)), "--repeat", "500")
        self.assertIn("connection closed by the broker", said)
        self.assertRegex(said, r"failed in 1 of 500 runs")

    def test_what_is_lost_with_a_connection_may_have_happened_or_not(self):
        """So that `check` of the history that `stress` has kept finds an order."""
        self.stress(4, self.behind(ends_at(EARLY)), "--history", self.folder / "h.jsonl")
        self.assertIn("unknown", self.check(0, "check", "h.jsonl"))

    def test_nobody_is_there(self):
        case = self.write("case.yaml", harness.OWN_CASES)
        self.write("fleet.txt", f"gone {harness.NOBODY}\n")
        for command, said in ((["certify"], "no broker at"), (["stress", "--duration", "1s"], "no broker at"),
                              (["explore"], "no broker at"), (["probe"], "no broker at"), (["replay", case], "no broker at"),
                              (["record", "--out", "o.yaml"], "no broker at")):
            with self.subTest(command[0]):
                self.assertIn(f"{said} {harness.NOBODY}", self.check(3, *command, "--endpoint", harness.NOBODY))
        self.assertIn("no broker at " + harness.NOBODY, self.check(3, "compare", harness.NOBODY))
        self.assertIn("gone: unreachable (exit code 3)", self.check(3, "certify-all", "fleet.txt", "--out-dir", "out"))

    def lost(self, *command):
        """What the command says whose broker ends when some of the run is over; it exits with 3."""
        server = self.serve()
        proxy = ChangingProxy(server.port, lambda packet, _, number: self.killed(server, proxy, number) or [packet])
        self.addCleanup(proxy.close)
        return self.check(3, *command, "--endpoint", proxy.url)

    def killed(self, server, proxy, number):
        if number == 420:
            server.process.kill()
            proxy.listener.shutdown(socket.SHUT_RDWR)

    def test_the_broker_ends(self):
        case = self.write("case.yaml", harness.OWN_CASES)
        report = ("--json", self.folder / "r.json", "--evidence", self.folder / "r.fpe")
        for command in (["certify", "-q", *report], ["stress", "-q", "--duration", "5s"], ["explore", "--duration", "9s", "-q"],
                        ["probe"], ["replay", case, "--repeat", "9999"]):
            with self.subTest(command[0]):
                self.assertIn("the endpoint was lost", self.lost(*command))
        for command in ("judge", "merge"):
            said = self.check(3, command, "r.fpe")
            self.assertIn("the endpoint was lost during the run", said)
            self.assertIn("no verdict", said)
        self.assertIn(": unreachable", self.check(3, "compare", "r.json"))

    def test_the_broker_of_a_recorder_ends(self):
        server = self.serve("--open-routing")
        recorder = self.start_program("record", "--endpoint", server.url, "--out", self.folder / "o.yaml")
        self.assertIn("mqtt://", recorder.stdout.readline())
        self.stress(0, server.url)
        self.stop(server.process, signal.SIGKILL)
        said = "".join(recorder.communicate(timeout=harness.HANG))
        self.assertEqual(3, recorder.returncode, said)
        self.assertIn("the endpoint was lost", said)
        self.assertIn("get:", self.read("o.yaml"))


class Subscriber(Behind):
    """What `record` makes of what a subscriber sees, who is no party to it: the same rows."""

    def recorded(self, code, change, *options):
        """Of three requests of a client that asks one after the other; `change` is of what the recorder gets."""
        server = self.serve("--open-routing", *options)
        proxy = ChangingProxy(server.port, change)
        self.addCleanup(proxy.close)
        recorder = self.start_program("record", "--endpoint", proxy.url, "--out", self.folder / "o.yaml")
        self.assertIn("mqtt://", recorder.stdout.readline())
        self.write("case.yaml", TWO_REQUESTS)
        harness.run("certify", "--endpoint", server.url, "--scenarios", self.folder / "case.yaml")
        time.sleep(0.5)
        exit_code, said = self.stop(recorder, signal.SIGINT)
        self.assertEqual(code, exit_code, said)
        return said

    def test_right_answers(self):
        self.recorded(0, lambda packet, _, __: [packet])
        self.assertRegex(self.read("o.yaml"), r"set: .*NX.*\n +expect: {reply: not-applied")

    def test_a_wrong_answer(self):
        self.assertIn("broke SET-NX-2", self.recorded(1, lambda packet, _, __: [packet], "--fault", "nx-overwrites"))

    def test_replies_that_are_not_seen(self):
        said = self.recorded(0, lambda packet, reply, _: [] if reply else [packet])
        self.assertIn("the response was not seen", said)

    def test_replies_that_are_seen_twice(self):
        self.recorded(0, each_reply_twice)

    def test_replies_without_version_and_status(self):
        bare = lambda packet, reply, _: [packet.replace(b"__ts", b"none").replace(b"__stat", b"nobody")] if reply else [packet]
        self.assertRegex(self.recorded(1, bare), "broke (VER|ENV-STATUS)-")

    def test_the_connection_of_the_recorder_ends(self):
        server = self.serve("--open-routing")
        proxy = ChangingProxy(server.port, ends_at(3))
        self.addCleanup(proxy.close)
        recorder = self.start_program("record", "--endpoint", proxy.url, "--out", self.folder / "o.yaml")
        self.assertIn("mqtt://", recorder.stdout.readline())
        self.stress(0, server.url)
        said = "".join(recorder.communicate(timeout=harness.HANG))
        self.assertEqual(3, recorder.returncode, said)
        self.assertIn("the endpoint was lost: the broker ended the connection", said)

    def test_malformed_packets(self):
        server = self.serve("--open-routing")
        proxy = ChangingProxy(server.port, with_a_nul_in_the_topic)
        self.addCleanup(proxy.close)
        recorder = self.start_program("record", "--endpoint", proxy.url, "--out", self.folder / "o.yaml")
        self.assertIn("mqtt://", recorder.stdout.readline())
        self.stress(0, server.url)
        said = "".join(recorder.communicate(timeout=harness.HANG))
        self.assertEqual(3, recorder.returncode, said)
        self.assertIn("U+0000", said)


if __name__ == "__main__":
    harness.main()
