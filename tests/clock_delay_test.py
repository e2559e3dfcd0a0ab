"""A right store may be slow, and its clock may differ from ours: no case may fail it for that.

usage: clock_delay_test.py BUILD_BIN_DIR [unittest arguments]
Certifies the reference store, over MQTT and in process, with delays and clocks of its own. What cannot be proved must
be inconclusive, for a reason that has to do with time. That stores with such clocks which are wrong still fail is shown
in conformance/run/case_runner_time_test.cc, where stores can be wrong.
"""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(sys.argv.pop(1)).resolve()
FENCEPOST = BIN / "fencepost"

# A sanitized broker and suite need more time, and fewer cases at once keep the evidence windows of cases open.
SANITIZED = bool(os.environ.get("FENCEPOST_TEST_PRELOAD", ""))
SLOW = ["--timeout-scale", "5"] if SANITIZED else []
# What a run may take at most before a test calls it hung. No test measures speed.
HANG = 240

# Why a case may be inconclusive: each says which time was missed, or what is not known of the clock.
REASONS = re.compile(r"^the reply came \d+ ms after \S+, when it no longer proves anything"
                     r"|^whether a timestamp -?\d+ ms ahead of our clock may be (refused|accepted) depends on the "
                     r"store's clock")
# Judged by the clock of the store alone: these must be decided wherever that clock could be measured.
SKEW_CASES = ["version.skew.just-within-a-minute-is-accepted", "version.skew.just-beyond-a-minute-is-refused",
              "fencing.future.just-within-a-minute-is-accepted", "fencing.future.just-beyond-a-minute-is-refused"]


class Run:
    """`fencepost certify`, started at once; result() waits for it."""

    def __init__(self, endpoint, *arguments):
        self.endpoint = endpoint
        self.folder = tempfile.TemporaryDirectory()
        self.report = pathlib.Path(self.folder.name) / "r.json"
        self.process = subprocess.Popen(
            [str(FENCEPOST), "certify", "--quiet", "--endpoint", endpoint, "--json", str(self.report), *SLOW,
             *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def result(self):
        try:
            self.output, _ = self.process.communicate(timeout=HANG)
            return json.loads(self.report.read_text())
        finally:
            self.process.kill()
            self.process.wait()
            self.folder.cleanup()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ClockDelayTest(unittest.TestCase):
    def check(self, run, offset_ms):
        """Nothing failed, what is inconclusive says why, and the measured bounds hold the truth."""
        report = run.result()
        cases = report["cases"]
        failed = [f"{case['id']}: {case['message']}" for case in cases if case["verdict"] in ("failed", "warning")]
        self.assertEqual([], failed, f"{run.endpoint}\n{run.output}")
        self.assertEqual(0, report["summary"]["not_run"], run.output)
        self.assertIn(run.process.returncode, (0, 4))
        self.assertGreater(report["summary"]["passed"], 0)
        for case in cases:
            if case["verdict"] == "inconclusive":
                self.assertRegex(case["message"], REASONS, case["id"])
        bounds = report["clock_offset_bounds_ms"]
        self.assertLess(bounds["low"], offset_ms, run.endpoint)
        self.assertGreater(bounds["high"], offset_ms, run.endpoint)
        summary = report["summary"]
        print(f"\n{run.endpoint}: {summary['passed']} passed, {summary['inconclusive']} inconclusive, "
              f"{report['duration_ms'] / 1000:.1f} s, offset between {bounds['low']} and {bounds['high']} ms "
              f"({bounds['source']})", end="", flush=True)
        return report

    def decided(self, report):
        verdicts = {case["id"]: case["verdict"] for case in report["cases"]}
        for case in SKEW_CASES:
            self.assertEqual("passed", verdicts[case])

    def test_the_clock_differs(self):
        for option, offset_ms in (("30s", 30_000), ("-10m", -600_000)):
            report = self.check(Run(f"embedded?clock-offset={option}"), offset_ms)
            self.assertEqual("versions", report["clock_offset_bounds_ms"]["source"])
            self.decided(report)

    def test_answers_are_slow(self):
        # Side by side: they do little but wait. Cases that fill a quota follow one another, so one run has to do.
        slow = "response-delay=200ms"
        jittery = "response-delay=150ms&response-jitter=100ms&dialect=documented"
        runs = [
            (Run(f"embedded?{slow}"), 0),
            (Run(f"embedded?clock-offset=30s&{slow}", "--profile", "deployed", "--skip", "quota.*"), 30_000),
            (Run(f"embedded?clock-offset=-10m&{jittery}", "--profile", "documented", "--skip", "quota.*"), -600_000),
        ]
        for run, offset_ms in runs:
            self.decided(self.check(run, offset_ms))

    def test_in_process_with_delays_up_to_the_limit_of_cases(self):
        # On a clock that is stepped by hand a run takes a fraction of a second.
        table = [("0s", 0, "response-delay=1ms"), ("0s", 0, "response-delay=1s&response-jitter=500ms"),
                 ("1ms", 1, "response-delay=200ms"), ("30s", 30_000, "response-delay=200ms&response-jitter=200ms"),
                 ("30s", 30_000, "response-delay=2800ms"), ("-59s", -59_000, "response-delay=500ms"),
                 ("-10m", -600_000, "response-delay=200ms"), ("-10m", -600_000, "response-delay=2800ms"),
                 ("366h", 366 * 3_600_000, "response-jitter=400ms")]
        for i, (option, offset_ms, delay) in enumerate(table):
            dialect = ("deployed", "documented")[i % 2]
            endpoint = f"inproc:?clock-offset={option}&{delay}&dialect={dialect}"
            self.check(Run(endpoint, "--profile", dialect), offset_ms)

    def test_a_second_run_meets_versions_that_the_first_has_moved(self):
        port = free_port()
        server = subprocess.Popen(
            [str(FENCEPOST), "serve", "--port", str(port), "--clock-offset", "-10m", "--response-delay", "5ms"],
            stdout=subprocess.PIPE, text=True)
        try:
            self.assertIn("ready", server.stdout.readline())
            url = f"mqtt://127.0.0.1:{port}"
            first = self.check(Run(url), -600_000)
            second = self.check(Run(url), -600_000)
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate()
        self.assertEqual("versions", first["clock_offset_bounds_ms"]["source"])
        self.assertEqual("refusals", second["clock_offset_bounds_ms"]["source"])
        self.decided(second)

    def test_options_are_checked(self):
        for option, text, wanted in (("clock-offset", "30", "such as 30s or -10m"),
                                     ("clock-offset", "367d", "such as 30s or -10m"),
                                     ("response-delay", "-1s", "such as 200ms"),
                                     ("response-delay", "61s", "at most 1m"),
                                     ("response-jitter", "fast", "such as 200ms")):
            for command in (["serve", f"--{option}={text}"], ["certify", "--endpoint", f"embedded?{option}={text}"]):
                result = subprocess.run([str(FENCEPOST), *command], capture_output=True, text=True, timeout=HANG)
                self.assertEqual(2, result.returncode, result)
                self.assertIn(option + " must be a duration", result.stderr)
                self.assertIn(wanted, result.stderr)
                self.assertIn(f'not "{text}"', result.stderr)


if __name__ == "__main__":
    unittest.main()
