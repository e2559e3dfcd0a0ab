"""The bugs in fuzz/planted/: each patch fits the sources, and one that does not is seen: python3 tests/planted_test.py"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "fuzz/tools"))
sys.dont_write_bytecode = True

import planted  # noqa: E402
import targets  # noqa: E402

PATCH = """A counts as b.
Target: thing

diff --git a/code.cc b/code.cc
--- a/code.cc
+++ b/code.cc
@@ -1 +1 @@
-a
+b
"""
FAILS = """#include <cstddef>
#include <cstdint>
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 2 && data[0] == 'b' && data[1] == 'u') __builtin_trap();
  return 0;
}
"""


class Ours(unittest.TestCase):
    def test_every_bug_fits_the_sources(self):
        bugs = planted.read_bugs(ROOT)
        self.assertGreaterEqual(len(bugs), 12)
        self.assertEqual(planted.check(bugs, ROOT), [])

    def test_they_touch_the_product_alone(self):
        for bug in planted.read_bugs(ROOT):
            touched = {line.split("/")[1] for line in bug.path.read_text(encoding="utf-8").splitlines()
                       if line.startswith("+++ ")}
            self.assertLessEqual(touched, {"codec", "hlc", "reference_store", "suite", "endpoint"}, bug.name)


class Others(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="fencepost-planted-test-"))
        self.addCleanup(shutil.rmtree, self.root)
        for name in ("fuzz/planted", "fuzz/options", "corpus/thing/seeds"):
            (self.root / name).mkdir(parents=True)
        (self.root / "code.cc").write_text("a\n", encoding="utf-8")
        (self.root / "fuzz/thing_fuzzer.cc").write_text(FAILS, encoding="utf-8")
        (self.root / "fuzz/options/thing_fuzzer.options").write_text("[libfuzzer]\nmax_len = 8\n", encoding="utf-8")
        self.patch = self.root / "fuzz/planted/01-a-is-b.patch"
        self.patch.write_text(PATCH, encoding="utf-8")

    def test_a_bug_is_read_applied_and_taken_back(self):
        bugs = planted.read_bugs(self.root, ["01"])
        self.assertEqual([(bug.name, bug.what, bug.target) for bug in bugs], [("01-a-is-b", "A counts as b.", "thing")])
        self.assertEqual(planted.check(bugs, self.root), [])
        planted.apply(bugs[0], self.root)
        self.assertEqual((self.root / "code.cc").read_text(encoding="utf-8"), "b\n")
        planted.apply(bugs[0], self.root, "-R")
        self.assertEqual((self.root / "code.cc").read_text(encoding="utf-8"), "a\n")

    def test_a_bug_that_does_not_fit_any_more_is_named(self):
        (self.root / "code.cc").write_text("c\n", encoding="utf-8")
        self.assertIn("01-a-is-b.patch", planted.check(planted.read_bugs(self.root), self.root)[0])

    def test_a_target_that_is_not_there_is_named(self):
        self.patch.write_text(PATCH.replace("thing", "nothing"), encoding="utf-8")
        self.assertEqual(planted.check(planted.read_bugs(self.root), self.root), ["01-a-is-b.patch: no target nothing"])

    def test_what_is_no_bug_and_names_that_fit_none(self):
        with self.assertRaises(targets.Failure):
            planted.read_bugs(self.root, ["02"])
        self.patch.write_text(PATCH.replace("Target: ", ""), encoding="utf-8")
        with self.assertRaises(targets.Failure):
            planted.read_bugs(self.root)

    def test_a_hunt_ends_with_what_it_found_or_with_its_time(self):
        target = targets.choose(["thing"], self.root)[0]
        program = self.root / "thing_fuzzer"
        for text, kind in ((FAILS, "crash"), (FAILS.replace("__builtin_trap()", "return 0"), None)):
            (self.root / "fuzz/thing_fuzzer.cc").write_text(text, encoding="utf-8")
            subprocess.run(["clang++", "-g1", "-O1", "-fsanitize=fuzzer", self.root / "fuzz/thing_fuzzer.cc", "-o", program],
                           check=True)
            result = planted.hunt(target, program, self.root, 3, seed=1)
            self.assertEqual(result.failure.kind if result.failure else None, kind)
            self.assertGreater(result.executions, 0)


if __name__ == "__main__":
    unittest.main()
