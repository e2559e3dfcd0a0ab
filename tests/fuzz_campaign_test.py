"""ci/fuzz against a target with defects that were put there: python3 tests/fuzz_campaign_test.py"""

import json
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "fuzz/tools"))
sys.dont_write_bytecode = True

import campaign  # noqa: E402
import libfuzzer  # noqa: E402
import targets  # noqa: E402

BUGGY = """#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

__attribute__((noinline)) int read_past_the_end(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::uint8_t> copy(data, data + size);
  return copy.data()[size];
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 3 && data[0] == 'o' && data[1] == 'u' && data[2] == 't') return read_past_the_end(data, size) & 0;
  if (size > 3 && data[0] == 'b' && data[1] == 'u' && data[2] == 'g') {
    std::fprintf(stderr, "buggy.cc:7: check failed: data[2] != 'g'\\n");
    std::abort();
  }
  return 0;
}
"""
CLEAN = """#include <cstddef>
#include <cstdint>
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  volatile int sum = 0;
  for (std::size_t i = 0; i < size; ++i) sum = sum + (data[i] > 100 ? 1 : 2);
  return 0;
}
"""


class Project(unittest.TestCase):
    """A folder like this repository, with a target that is wrong and one that is not."""

    @classmethod
    def setUpClass(cls):
        cls.base = pathlib.Path(tempfile.mkdtemp(prefix="fencepost-campaign-test-")).resolve()
        (cls.base / "fuzz/options").mkdir(parents=True)
        (cls.base / "bin").mkdir()
        for name, text in (("buggy", BUGGY), ("clean", CLEAN)):
            source = cls.base / f"fuzz/{name}_fuzzer.cc"
            source.write_text(text, encoding="utf-8")
            (cls.base / f"fuzz/options/{name}_fuzzer.options").write_text("[libfuzzer]\nmax_len = 64\n", encoding="utf-8")
            subprocess.run(["clang++", "-g1", "-O1", "-std=c++20", "-fsanitize=fuzzer,address", source, "-o",
                            cls.base / f"bin/{name}_fuzzer"], check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.base)

    def setUp(self):
        for name in ("corpus", "build"):
            shutil.rmtree(self.base / name, ignore_errors=True)
        for name in ("buggy", "clean"):
            seeds = self.base / "corpus" / name / "seeds"
            seeds.mkdir(parents=True)
            (seeds / "start").write_bytes(b"start")

    def command(self, *arguments):
        return [ROOT / "ci/fuzz", "--root", self.base, "--programs", self.base / "bin", "--minimise-time", "3s", *arguments]

    def fuzz(self, *arguments):
        run = subprocess.run(self.command(*arguments), capture_output=True, text=True, check=False)
        return run.returncode, run.stdout + run.stderr

    def regressions(self):
        return sorted((self.base / "corpus/buggy/regressions").glob("*"))

    def summary(self):
        return json.loads((self.base / "build/fuzz-campaign/summary.json").read_text(encoding="utf-8"))

    def test_findings_are_minimised_named_and_replayed(self):
        code, output = self.fuzz("--time", "2m", "--findings", "2", "--jobs", "2", "buggy")
        self.assertEqual(code, campaign.FOUND, output)
        names = [path.name for path in self.regressions()]
        self.assertEqual([name.rsplit("-", 1)[0] for name in names],
                         ["check-LLVMFuzzerTestOneInput", "heap-buffer-overflow-read_past_the_end"], output)
        self.assertEqual(self.regressions()[0].read_bytes()[:3], b"bug")
        self.assertIn("FINDING buggy: check failed: data[2] != 'g' in LLVMFuzzerTestOneInput", output)
        replay = next(line.split("replay: ")[1] for line in output.splitlines() if "replay: " in line)
        self.assertNotEqual(subprocess.run(shlex.split(replay), capture_output=True, check=False, cwd=self.base).returncode, 0)
        self.assertEqual(len(self.summary()["targets"]["buggy"]["findings"]), 2)

        # The next campaign says that they are still there, keeps no second copy, be it of another input that fails in the
        # same way, and adds up.
        before = self.summary()["targets"]["buggy"]
        left = self.base / "build/fuzz-campaign/buggy/artifacts/left"
        left.mkdir(parents=True)
        (left / "crash-other").write_bytes(b"out" + b"x" * 400)
        code, output = self.fuzz("--time", "4s", "--jobs", "1", "buggy")
        self.assertEqual(code, campaign.FOUND, output)
        self.assertEqual([path.name for path in self.regressions()], names)
        after = self.summary()["targets"]["buggy"]
        self.assertGreaterEqual(after["core_seconds"], before["core_seconds"])
        self.assertGreater(after["executions"], before["executions"])
        self.assertEqual(len(after["findings"]), 2)

    def test_an_input_is_made_small_and_still_fails_in_the_same_way(self):
        program, long = self.base / "bin/buggy_fuzzer", self.base / "long"
        long.write_bytes(b"out" + b"x" * 400)
        failure = libfuzzer.reproduce(program, [], long, self.base)
        content = libfuzzer.minimise(program, [], long, failure, self.base, 10, self.base)
        self.assertLess(len(content), 403)
        long.write_bytes(content)
        self.assertEqual(libfuzzer.reproduce(program, [], long, self.base), failure)

    def test_a_target_that_fails_does_not_keep_the_others_from_running(self):
        code, output = self.fuzz("--time", "6s", "--jobs", "2")
        self.assertEqual(code, campaign.FOUND, output)
        self.assertGreater(self.summary()["targets"]["clean"]["executions"], 1000)
        self.assertGreater(self.summary()["targets"]["clean"]["core_seconds"], 0)

    def test_nothing_found_is_success_and_the_corpus_is_distilled(self):
        code, output = self.fuzz("--time", "3s", "--distil", "clean")
        self.assertEqual(code, campaign.DONE, output)
        self.assertIn("clean: distilled: 0 files, 0 bytes before", output)
        distilled = list((self.base / "corpus/clean/distilled").iterdir())
        self.assertNotEqual(distilled, [])
        self.assertEqual([path.name for path in distilled], [campaign.digest(path) for path in distilled])

    def test_interrupting_it_loses_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                self.setUp()
                with subprocess.Popen(self.command("--time", "1h", "clean"), stdout=subprocess.PIPE, text=True) as process:
                    corpus = self.base / "build/fuzz-campaign/clean/corpus"
                    self.wait_until(lambda: corpus.is_dir() and len(list(corpus.iterdir())) > 2)
                    process.send_signal(number)
                    output, _ = process.communicate(timeout=60)
                self.assertEqual(process.returncode, campaign.INTERRUPTED, output)
                self.assertGreater(len(list(corpus.iterdir())), 2)
                self.assertGreater(self.summary()["targets"]["clean"]["executions"], 0)
                self.assertEqual(self.summary()["last"]["exit_code"], campaign.INTERRUPTED)

    def test_a_finding_of_a_campaign_that_was_killed_is_taken_up_by_the_next(self):
        """Killed so that it cannot do anything, after the program had failed and before anybody looked at it."""
        arguments = self.command("--minimise-time", "1h", "--time", "1h", "--jobs", "1", "buggy")
        artifacts = self.base / "build/fuzz-campaign/buggy/artifacts/0"
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, start_new_session=True) as process:
            self.wait_until(lambda: artifacts.is_dir() and list(artifacts.iterdir()))
            process.kill()
        self.assertEqual(self.regressions(), [])
        code, output = self.fuzz("--time", "1s", "--jobs", "1", "buggy")
        self.assertEqual(code, campaign.FOUND, output)
        self.assertNotEqual(self.regressions(), [])
        self.assertEqual(list(artifacts.iterdir()), [])

    def test_what_cannot_be_done_is_said(self):
        code, output = self.fuzz("--time", "1s", "nothing")
        self.assertEqual((code, output), (campaign.WRONG, "fuzz: no such target: nothing; there are buggy, clean\n"))
        for arguments in (["--time", "0s"], ["--time", "1y"], ["--jobs", "0"], ["--no-such-option"]):
            self.assertEqual(self.fuzz(*arguments)[0], campaign.WRONG, arguments)
        run = subprocess.run([sys.executable, ROOT / "fuzz/tools/campaign.py", "--root", self.base, "clean"],
                             capture_output=True, text=True, env={"PATH": "/nowhere"}, check=False)
        self.assertEqual(run.returncode, campaign.WRONG)
        self.assertIn("clang++ is missing", run.stderr)

    def test_a_full_disk_ends_it(self):
        options = campaign.parse_arguments(["--time", "1s"])
        state = campaign.State(targets.Target("clean", self.base), self.base / "bin/clean_fuzzer",
                               self.base / "build/fuzz-campaign/clean")
        full = campaign.Campaign([state], options, self.base)
        state.part("corpus")
        least, campaign.LEAST_FREE_BYTES = campaign.LEAST_FREE_BYTES, 1 << 62
        try:
            full.work(0)
        finally:
            campaign.LEAST_FREE_BYTES = least
        self.assertIn("the disk is full", full.trouble)
        self.assertEqual(full.result(), campaign.WRONG)

    def wait_until(self, condition):
        end = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), end, "nothing happened for a minute")
            time.sleep(0.05)


REPORTS = {
    ("check", "agree", "check failed: a == b"): """
/r/fuzz/x_fuzzer.cc:9: check failed: a == b
==1== ERROR: libFuzzer: deadly signal
    #0 0x1 in __sanitizer_print_stack_trace (/r/bin/x+0x1)
    #7 0x2 in fencepost::check_failed(char const*, char const*, int) /r/base/../base/check.cc:10:3
    #8 0x3 in fencepost::(anonymous namespace)::agree(std::string const&) /r/build/../codec/topics.cc:10:3
    #9 0x4 in LLVMFuzzerTestOneInput /r/fuzz/topics_fuzzer.cc:9:3
""",
    ("stack-overflow", "read_value", "AddressSanitizer: stack-overflow"): """
AddressSanitizer:DEADLYSIGNAL
==1==ERROR: AddressSanitizer: stack-overflow on address 0x7ffc (pc 0x5 bp 0x6 sp 0x7 T0)
    #0 0x5 in operator new(unsigned long) (/r/bin/x+0x2)
    #0 0x5 in std::vector<int>::push_back(int) /usr/include/c++/12/bits/stl_vector.h:5:1
    #1 0x6 in void fencepost::codec::read_value<int, A<B>>(Cursor&) /r/codec/resp3.cc:150
""",
    ("undefined", "sum", "signed integer overflow: 1 + 2 cannot be represented in type 'int'"): """
/r/hlc/hlc.cc:5:7: runtime error: signed integer overflow: 1 + 2 cannot be represented in type 'int'
    #0 0x5 in fencepost::hlc::Clock::sum(int) const /r/hlc/hlc.cc:5:7
""",
    ("timeout", "unknown", "timeout after N seconds"): "==1== ERROR: libFuzzer: timeout after 26 seconds\n",
    ("out-of-memory", "unknown", "out-of-memory (used: NMb; limit: NMb)"):
        "==1== ERROR: libFuzzer: out-of-memory (used: 2561Mb; limit: 2560Mb)\n",
    ("leak", "unknown", "LeakSanitizer: detected"): "==1==ERROR: LeakSanitizer: detected memory leaks\n",
    ("exception", "unknown", "terminate called after throwing an instance of 'std::bad_alloc'"):
        "terminate called after throwing an instance of 'std::bad_alloc'\n==1== ERROR: libFuzzer: deadly signal\n",
    ("crash", "unknown", "deadly signal"): "==1== ERROR: libFuzzer: deadly signal\n",
    ("crash", "unknown", "it ended without a word"): "",
}


class Reading(unittest.TestCase):
    def test_failures(self):
        """A failure names only this repository's files, in any place where the compiler has found them."""
        for expected, report in REPORTS.items():
            self.assertEqual(libfuzzer.read_failure(report, ROOT), libfuzzer.Failure(*expected), report)

    def test_what_the_target_said_before_a_check_is_told(self):
        failure = libfuzzer.read_failure("#5\tNEW cov: 1\nstep 3\nthe model says no\na.cc:9: check failed: !x\n", ROOT)
        self.assertEqual((failure.text, failure.detail), ("check failed: !x", "step 3; the model says no"))

    def test_names_tell_inputs_apart(self):
        failure = libfuzzer.Failure("check", "agree", "check failed: a == b")
        self.assertEqual(failure.name(b"abc"), "check-agree-a9993e36")
        self.assertNotEqual(failure.name(b"abd"), failure.name(b"abc"))

    def test_progress(self):
        progress = libfuzzer.Progress()
        progress.read("#4096\tREDUCE cov: 48 ft: 60 corp: 12/101b lim: 4 exec/s: 2048 rss: 30Mb L: 2/4 MS: 1 EraseBytes-")
        self.assertEqual(progress, libfuzzer.Progress(4096, 48, 60, 12, 2048))
        progress.read("stat::number_of_executed_units: 5000")
        progress.read("anything else")
        self.assertEqual(progress.executions, 5000)

    def test_times(self):
        self.assertEqual([campaign.seconds(text) for text in ("90", "60s", "10m", "4h", "1d")],
                         [90, 60, 600, 14400, 86400])


if __name__ == "__main__":
    unittest.main()
