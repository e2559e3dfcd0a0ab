"""A conforming store may be slow, and its clock may differ from ours: no case may fail it for that.

usage: clock_delay_test.py BUILD_BIN_DIR [unittest arguments]
Certifies the reference store, over MQTT and in process, with delays and clocks of its own. What cannot be proved must
be inconclusive, for a reason that has to do with time. That stores with such clocks which are wrong still fail is shown
in suite/run/case_runner_time_test.cc, where stores can be wrong.
"""

import subprocess

import harness
from harness import HANG, SLOW, run

# Judged by the clock of the store alone: these must be decided wherever that clock could be measured.
SKEW_CASES = ["version.skew.just-within-a-minute-is-accepted", "version.skew.just-beyond-a-minute-is-refused",
              "fencing.future.just-within-a-minute-is-accepted", "fencing.future.just-beyond-a-minute-is-refused"]


class Run:
    """`fencepost certify`, started immediately; result() waits for it."""

    def __init__(self, test, endpoint, *arguments):
        self.endpoint = endpoint
        self.report = harness.temporary_folder(test.addCleanup) / "r.json"
        self.process = test.start_program("certify", "--quiet", "--endpoint", endpoint, "--json", self.report, *SLOW,
                                          *arguments, stderr=subprocess.STDOUT)

    def result(self):
        self.output, _ = self.process.communicate(timeout=HANG)
        return harness.load_json(self.report)


class ClockDelayTest(harness.FolderTest):
    def check(self, run, offset_ms):
        """Nothing failed, what is inconclusive says why, and the measured bounds hold the truth."""
        report = run.result()
        self.assert_none_failed(run.process.returncode, report, f"{run.endpoint}\n{run.output}")
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

    @harness.full("two whole certifications in real time; in process the same is stepped")
    def test_the_clock_differs(self):
        for option, offset_ms in (("30s", 30_000), ("-10m", -600_000)):
            report = self.check(Run(self, f"embedded?clock-offset={option}"), offset_ms)
            self.assertEqual("versions", report["clock_offset_bounds_ms"]["source"])
            self.decided(report)

    @harness.full("three whole certifications of a slow store in real time; in process the same is stepped")
    def test_answers_are_slow(self):
        # Side by side: they do little but wait. Cases that fill a quota follow one another, so one run has to do.
        slow = "response-delay=200ms"
        jittery = "response-delay=150ms&response-jitter=100ms&dialect=documented"
        runs = [
            (Run(self, f"embedded?{slow}"), 0),
            (Run(self, f"embedded?clock-offset=30s&{slow}", "--profile", "deployed", "--skip", "quota.*"), 30_000),
            (Run(self, f"embedded?clock-offset=-10m&{jittery}", "--profile", "documented", "--skip", "quota.*"), -600_000),
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
            self.check(Run(self, endpoint, "--profile", dialect), offset_ms)

    @harness.full("two whole certifications in real time")
    def test_a_second_run_meets_versions_that_the_first_has_moved(self):
        url = self.serve("--clock-offset", "-10m", "--response-delay", "5ms").url
        first = self.check(Run(self, url), -600_000)
        second = self.check(Run(self, url), -600_000)
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
                result = run(*command)
                self.assertEqual(2, result.returncode, result)
                self.assertIn(option + " must be a duration", result.stderr)
                self.assertIn(wanted, result.stderr)
                self.assertIn(f'not "{text}"', result.stderr)


if __name__ == "__main__":
    harness.main()
