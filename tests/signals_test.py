"""signals_test.py BIN: every command that talks to an endpoint ends soon after the first SIGINT, SIGTERM, SIGHUP or SIGQUIT,
with its reports, and at once after the second, also while the endpoint says nothing."""
import json
import os
import signal
import threading
import time

from harness import FENCEPOST, HANG, FolderTest, main
import hostile_broker

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
# 2 s are promised, 1 s of it for what is under way. Here others may keep the machine busy.
SOON = 10 if os.environ.get("FENCEPOST_TEST_PRELOAD") else 5
# So many requests are answered before nothing is: more than what is asked before a run.
ANSWERS = 250
SCENARIO = """area: hostile
cases:
  - id: hostile.set
    title: A key is set
    requirements: [SET-OK-1]
    steps:
      - set: {key: k, value: v}
        expect: ok
"""


class FallsSilent:
    """A right broker and store that answers so many requests, and nothing afterwards."""

    def __init__(self, answers):
        self.left, self.lock, self.silent = answers, threading.Lock(), threading.Event()

    def __call__(self, peer):
        def act(peer, request):
            with self.lock:
                self.left -= 1
                if self.left < 0:
                    self.silent.set()
                    return
            peer.acknowledge(request)
            peer.send(request.reply())
        peer.serve(on_request=act)


class Signals(FolderTest):
    def arguments_of(self, command, port):
        url = f"mqtt://127.0.0.1:{port}"
        self.write("case.yaml", SCENARIO)
        self.write("fleet.txt", f"one {url}\n")
        return {
            "certify": ["certify", "-q", "--endpoint", url, "--json", "report.json", "--junit", "report.xml"],
            "probe": ["probe", "--endpoint", url],
            "explore": ["explore", "--endpoint", url],
            "replay": ["replay", "case.yaml", "--runs", "1000", "--endpoint", url, "--json", "report.json"],
            "diff": ["diff", url, "inproc:", "--json", "report.json"],
            "certify-all": ["certify-all", "fleet.txt", "--out-dir", "."],
        }[command]

    def signalled(self, command, answers, *numbers):
        """The exit code, and the seconds from the first of these signals on."""
        mode = FallsSilent(answers)
        with hostile_broker.Hostile(mode) as broker:
            with open(self.folder / "log", "w", encoding="utf-8") as log:
                process = self.start(FENCEPOST, *self.arguments_of(command, broker.port), cwd=self.folder,
                                     stdout=log, stderr=log)
            self.assertTrue(mode.silent.wait(HANG), command)
            begin = time.monotonic()
            for number in numbers:
                process.send_signal(number)
                time.sleep(0.2 if len(numbers) > 1 else 0)  # two that are there at once may be delivered in any order
            code = process.wait(HANG)
            return code, time.monotonic() - begin

    def test_the_first_ends_a_run_with_its_reports(self):
        for command in ("certify", "probe", "explore", "replay", "diff", "certify-all"):
            # All of certify; of the others, whose way of ending is the same, one each.
            for number in SIGNALS if command == "certify" else (signal.SIGQUIT,):
                with self.subTest(f"{command} {number.name}"):
                    code, seconds = self.signalled(command, ANSWERS, number)
                    # What was wrong before counts more than that the run ended early.
                    codes = (130, 1) if command in ("certify", "certify-all") else (130,)
                    self.assertIn(code, codes, (self.folder / "log").read_text(encoding="utf-8")[-2000:])
                    self.assertLess(seconds, SOON)
                    if command == "certify":
                        report = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))
                        self.assertEqual(report["exit_code"], code)
                        # What nobody waited for any more is not the store's fault.
                        self.assertEqual([], [case["id"] for case in report["cases"]
                                              if case["verdict"] == "failed" and "no response" in case["message"]])
                        self.assertGreater(report["summary"]["not_run"], 0)
                        (self.folder / "report.json").unlink()

    def test_before_the_first_case(self):
        code, seconds = self.signalled("certify", 0, signal.SIGINT)
        self.assertEqual(code, 130)
        self.assertLess(seconds, SOON)

    def test_the_second_ends_it_at_once(self):
        for command in ("certify", "explore"):
            with self.subTest(command):
                code, seconds = self.signalled(command, ANSWERS, signal.SIGTERM, signal.SIGINT)
                self.assertEqual(code, 128 + signal.SIGINT)
                self.assertLess(seconds, 1)

    def test_serve_and_record(self):
        for number in SIGNALS:
            server = self.serve()
            recorder = self.start_program("record", "--endpoint", server.url, "--out", self.folder / "out.yaml")
            self.assertIn("recording", recorder.stdout.readline())
            begin = time.monotonic()
            self.assertEqual(self.stop(recorder, number)[0], 0, number)
            self.assertLess(time.monotonic() - begin, SOON)
            self.assertTrue((self.folder / "out.yaml").exists())
            begin = time.monotonic()
            self.assertEqual(self.stop(server.process, number)[0], 0, number)
            self.assertLess(time.monotonic() - begin, SOON)


if __name__ == "__main__":
    main()
