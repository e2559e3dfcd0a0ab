"""signals_test.py BIN: every command that talks to an endpoint ends soon after the first SIGINT, SIGTERM, SIGHUP or SIGQUIT,
with its reports, and immediately after the second, also while the endpoint says nothing.

signals_test.py BIN [--figures] [unittest arguments]        --figures: prints each time"""
import json
import os
import pathlib
import signal
import sys
import threading
import time

from harness import BIN, FENCEPOST, HANG, FolderTest, main, wait_until
import hostile_broker

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
# What is promised; 1 s of it is for what is in flight. A program that is sanitized, or not optimised, is slower at reports.
CACHE = BIN.parent / "CMakeCache.txt"
QUICK = (CACHE.exists() and "CMAKE_BUILD_TYPE:STRING=Rel" in CACHE.read_text(encoding="utf-8")
         and not os.environ.get("FENCEPOST_TEST_SANITIZED"))
SOON = 2 if QUICK else 8
FIGURES = "--figures" in sys.argv and not sys.argv.remove("--figures")
CONNECTING = ("certify", "probe", "explore", "replay", "compare", "certify-all", "stress", "record")
# How many requests are answered before none is: more than a run sends before its cases.
ANSWERS = 250
SCENARIO = (pathlib.Path(__file__).parent / "one_case.yaml").read_text(encoding="utf-8")


class Ending:
    """How long a process takes to end, from now on: wall time, but for the time in which one of its threads, or of those of a
    process that it has started, could have run and the machine did not run it (proc(5), schedstat), as others may keep the
    machine busy."""

    def __init__(self, process):
        self.process, self.first, self.last = process, {}, {}
        self.look()
        self.first, self.begin = dict(self.last), time.monotonic()

    def look(self):
        found = [self.process.pid]
        for pid in found:
            for thread in pathlib.Path(f"/proc/{pid}/task").glob("*"):
                try:
                    self.last[thread] = int((thread / "schedstat").read_text(encoding="ascii").split()[1]) / 1e9
                    found += (thread / "children").read_text(encoding="ascii").split()
                except (OSError, IndexError):  # it has ended
                    pass

    def wait(self):
        """The exit code, and seconds."""
        late = 0.0  # of looking: this process has to wait, too
        while self.process.poll() is None:
            assert time.monotonic() < self.begin + HANG, "it does not end"
            self.look()
            before = time.monotonic()
            time.sleep(0.01)
            late = time.monotonic() - before - 0.01
        wall = time.monotonic() - self.begin
        waited = max([self.last[each] - self.first.get(each, 0.0) for each in self.last] or [0.0])
        return self.process.returncode, wall - waited - late, wall


def is_pending(process, number):
    """Has this signal been sent, and not been handled?"""
    lines = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="ascii").splitlines()
    return any(int(line.split()[1], 16) >> (number - 1) & 1 for line in lines if line.startswith(("SigPnd:", "ShdPnd:")))


def says_nothing(heard):
    """Takes connections, and nothing more."""
    def act(peer):
        heard.set()
        while peer.socket.recv(65536):
            pass
    return act


class FallsSilent:
    """A conforming broker and store that answers this number of requests, and nothing afterwards."""

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
    def arguments_of(self, command, port, scheme="mqtt"):
        url = f"{scheme}://127.0.0.1:{port}"
        self.write("case.yaml", SCENARIO)
        self.write("fleet.txt", f"one {url}\n")
        return {
            "certify": ["certify", "-q", "--endpoint", url, "--json", "report.json", "--junit", "report.xml"],
            "probe": ["probe", "--endpoint", url],
            "explore": ["explore", "--endpoint", url],
            "replay": ["replay", "case.yaml", "--repeat", "1000", "--endpoint", url, "--json", "report.json"],
            "compare": ["compare", url, "inproc:", "--json", "report.json"],
            "certify-all": ["certify-all", "fleet.txt", "--out-dir", "."],
            "stress": ["stress", "-q", "--endpoint", url, "--duration", "300s", "--keep-going", "--json",
                       "stress.json"],
            "record": ["record", "--endpoint", url, "--out", "recorded.yaml"],
        }[command]

    def signalled(self, command, answers, *numbers):
        """The exit code, and the seconds from the first of these signals on."""
        mode = FallsSilent(answers)
        with hostile_broker.Hostile(mode) as broker:
            with open(self.folder / "log", "w", encoding="utf-8") as log:
                process = self.start(FENCEPOST, *self.arguments_of(command, broker.port), cwd=self.folder,
                                     stdout=log, stderr=log)
            self.assertTrue(mode.silent.wait(HANG), command)
            return self.ending(process, command, *numbers)

    def ending(self, process, what, *numbers):
        ending = Ending(process)
        for number in numbers:
            process.send_signal(number)
            # Two that are pending together may be delivered in any order.
            wait_until(lambda number=number: process.poll() is not None or not is_pending(process, number))
        code, seconds, wall = ending.wait()
        if FIGURES:
            print(f"{what}: {seconds:.2f} s ({wall:.2f} s by the clock on the wall), exit code {code}", flush=True)
        return code, seconds

    def test_while_nobody_answers(self):
        """While it connects: the endpoint takes the connection and says nothing, to MQTT and to TLS."""
        for scheme in ("mqtt", "mqtts"):
            for command in CONNECTING:
                with self.subTest(f"{command} {scheme}"):
                    heard = threading.Event()
                    with hostile_broker.Hostile(says_nothing(heard)) as broker:
                        with open(self.folder / "log", "w", encoding="utf-8") as log:
                            process = self.start(FENCEPOST, *self.arguments_of(command, broker.port, scheme),
                                                 cwd=self.folder, stdout=log, stderr=log)
                        self.assertTrue(heard.wait(HANG), command)
                        code, seconds = self.ending(process, f"{command} connecting to {scheme}", signal.SIGTERM)
                        self.assertEqual(code, 130, (self.folder / "log").read_text(encoding="utf-8")[-2000:])
                        self.assertLess(seconds, SOON)

    def test_while_it_writes_reports(self):
        process = self.start(FENCEPOST, "certify", "-q", "--endpoint", "inproc:", "--transcripts", "all", "--json",
                             "report.json", "--junit", "report.xml", "--html", "report.html", cwd=self.folder, stdout=-3,
                             stderr=-3)
        wait_until(lambda: (self.folder / "report.json").exists() and (self.folder / "report.json").stat().st_size > 0)
        code, seconds = self.ending(process, "certify, reports", signal.SIGTERM)
        self.assertIn(code, (0, 130))
        self.assertLess(seconds, SOON)
        self.assertEqual(json.loads((self.folder / "report.json").read_text(encoding="utf-8"))["summary"]["failed"], 0)
        self.assertIn("</html>", (self.folder / "report.html").read_text(encoding="utf-8"))

    def test_the_first_ends_a_run_with_its_reports(self):
        for command in ("certify", "probe", "explore", "replay", "compare", "certify-all", "stress"):
            # All of certify; of the others, whose way of ending is the same, one each.
            for number in SIGNALS if command == "certify" else (signal.SIGQUIT,):
                with self.subTest(f"{command} {number.name}"):
                    code, seconds = self.signalled(command, ANSWERS, number)
                    # What was wrong before counts more than that the run ended early.
                    codes = (130, 1) if command in ("certify", "stress") else (130,)
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
                self.assertLess(seconds, SOON)  # the exit code shows that nothing else was waited for

    def test_serve_and_record(self):
        for number in SIGNALS:
            server = self.serve()
            recorder = self.start_program("record", "--endpoint", server.url, "--out", self.folder / "out.yaml")
            self.assertIn("recording", recorder.stdout.readline())
            # There was nothing to record.
            for process, what, expected in ((recorder, "record", 5), (server.process, "serve", 0)):
                code, seconds = self.ending(process, what, number)
                self.assertEqual(code, expected, number)
                self.assertLess(seconds, SOON)
            self.assertTrue((self.folder / "out.yaml").exists())


if __name__ == "__main__":
    main()
