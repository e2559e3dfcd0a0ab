"""hostile_test.py BIN [--sanitized]: a selection of hostile_campaign.py: at each layer, what has done harm or is likely to.
Sanitizers take several times the memory."""
import concurrent.futures
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import hostile_broker  # noqa: E402
import hostile_campaign  # noqa: E402

LIMIT = 600  # seconds; a program that hangs ends by it
if "--sanitized" in sys.argv:
    hostile_campaign.MOST_MEMORY_KB *= 16
    # An endpoint like these meets few cases, and sanitized it takes longest to load them.
    scenarios = pathlib.Path(__file__).resolve().parents[1] / "scenarios/set"
    hostile_campaign.ARGUMENTS["certify"] = ["certify", "-q", "--scenarios", str(scenarios)]
SELECTION = {
    "certify": ["tcp.http", "tcp.zeros", "tcp.cut-after-3", "connack.unknown-property", "connack.receive-maximum-1",
                "disconnect.0x8e", "suback.qos-0", "puback.pubrec", "publish.user-properties-2000000", "publish.of-100-mib",
                "resp3.escapes", "flood.messages"],
    "probe": ["first.publish", "envelope.no-correlation"],
    "explore": ["puback.pubrec", "disconnect.0x98"],
    "record": ["flood.large-messages", "flood.properties", "publish.nul"],
    "replay": ["puback.reason-0x87", "flags.publish"],
    "stress": ["puback.pubrec", "flood.messages", "tcp.cut-after-3", "resp3.escapes"],
    "certify-all": ["puback.pubrec", "flood.messages"],
}
# What Paho would not survive, or keep at any size.
PAHO = {
    "certify": ["puback.pubcomp", "puback.pubrec", "connack.user-properties-10000", "publish.user-properties-2000000",
                "publish.of-100-mib", "flood.messages"],
    "stress": ["puback.pubcomp"],
}


class Endpoint(unittest.TestCase):
    def do_no_harm(self, selection, options=()):
        program = str(pathlib.Path(sys.argv[1]).resolve() / "fencepost")
        pairs = [(mode, command) for command, modes in selection.items() for mode in modes]
        # Most of the time they wait for each other.
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            runs = list(pool.map(lambda pair: hostile_campaign.run(program, *pair, LIMIT, options), pairs))
        for (mode, command), run in zip(pairs, runs):
            with self.subTest(f"{command} {mode}"):
                self.assertEqual(run.complaints(LIMIT), [], run.output[-2000:])
        return runs

    def test_does_no_harm(self):
        self.do_no_harm(SELECTION)

    @unittest.skipIf(os.environ.get("FENCEPOST_GATE"), "only in ci/test --full: Paho's memory is not ours")
    def test_does_no_harm_to_paho(self):
        runs = self.do_no_harm(PAHO, ["--driver", "paho"])
        self.assertIn("a PUBCOMP for no PUBLISH of QoS 2", runs[0].output)

    def test_a_flood_is_called_one(self):
        program = str(pathlib.Path(sys.argv[1]).resolve() / "fencepost")
        # It ends for what has come, and not for the time that this takes on a busy machine.
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as patient:
            print("url: mqtt://127.0.0.1\ntimeout: 600s", file=patient, flush=True)
            run = hostile_campaign.run(program, "flood.messages", "certify", LIMIT,
                                       ["--descriptor", patient.name, "--timeout-scale", "40"])
        self.assertIn("the endpoint floods", run.output)
        self.assertEqual(run.code, 3)

    def test_the_ways_are_many(self):
        self.assertGreaterEqual(len(hostile_broker.MODES), 150)


class Campaign(unittest.TestCase):
    def test_complains(self):
        def complaints(code=0, seconds=1.0, memory_kb=1000, output="fine", mode="none"):
            return hostile_campaign.Run(mode, "certify", code, seconds, memory_kb, output).complaints(LIMIT)

        self.assertEqual(complaints(), [])
        too_much = hostile_campaign.MOST_MEMORY_KB + 1
        for bad in (complaints(code=None), complaints(code=-11), complaints(code=70), complaints(memory_kb=too_much),
                    complaints(output="user:sesame-4711@"), complaints(output="\x1b[2J"), complaints(code=3, output=" \n"),
                    complaints(mode="tcp.http")):
            self.assertEqual(len(bad), 1, bad)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
