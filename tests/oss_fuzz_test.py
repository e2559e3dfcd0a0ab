"""Builds the fuzz targets with ci/oss-fuzz/build.sh, in an environment like that of OSS-Fuzz, and holds the result to the
rules of that infrastructure: python3 tests/oss_fuzz_test.py ROOT WORK [address|undefined|memory]. WORK is kept between runs.
With `memory`, the C++ library is libc++, as in the image, from ci/oss-fuzz/memory-root."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(ROOT / "fuzz/tools"))
sys.dont_write_bytecode = True

import oss_fuzz_rules as rules  # noqa: E402
import pack  # noqa: E402
import targets  # noqa: E402

WORK = pathlib.Path(sys.argv[2]).resolve()
SANITIZER = sys.argv[3] if len(sys.argv) > 3 else "address"
# As the image base-builder has them.
SANITIZER_FLAGS = {
    "address": "-fsanitize=address -fsanitize-address-use-after-scope",
    "undefined": "-fsanitize=array-bounds,bool,builtin,enum,function,integer-divide-by-zero,null,object-size,return,"
                 "returns-nonnull-attribute,shift,signed-integer-overflow,unsigned-integer-overflow,unreachable,vla-bound,"
                 "vptr -fno-sanitize-recover=array-bounds,bool,builtin,enum,function,integer-divide-by-zero,null,"
                 "object-size,return,returns-nonnull-attribute,shift,signed-integer-overflow,unreachable,vla-bound,vptr",
    "memory": "-fsanitize=memory -fsanitize-memory-track-origins",
}
FLAGS = f"-O1 -fno-omit-frame-pointer -gline-tables-only {SANITIZER_FLAGS[SANITIZER]} -fsanitize=fuzzer-no-link"
EXPECTED = [target.program for target in targets.all_targets(ROOT)]
MEMORY_ROOT = WORK.parent / "oss-fuzz-memory-root"
COMPILER, CXXFLAGS, LDFLAGS, ENGINE = "clang", FLAGS.split(), ["-static-libstdc++"], "-fsanitize=fuzzer"
if SANITIZER == "memory":
    subprocess.run([ROOT / "ci/oss-fuzz/memory-root", MEMORY_ROOT], check=True)
    COMPILER = (MEMORY_ROOT / "complete").read_text(encoding="utf-8").strip()
    CXXFLAGS += ["-stdlib=libc++", "-nostdinc++", "-isystem", str(MEMORY_ROOT / "libcxx/include/c++/v1")]
    LDFLAGS = ["-stdlib=libc++", f"-L{MEMORY_ROOT / 'libcxx/lib'}"]
    ENGINE = str(MEMORY_ROOT / "libFuzzingEngine.a")
CXX = COMPILER.replace("clang", "clang++")


def environment(out, engine):
    """What the script is given, and nothing of ours. The image links libc++ statically; its stand-in here, without `memory`,
    is a static libstdc++."""
    # Compilers that are here: the script brings the wrapper `ccache` into play when it is there.
    ours = {name: value for name, value in os.environ.items() if name.startswith("CCACHE_") or name == "HOME"}
    return {**ours, "PATH": "/usr/local/bin:/usr/bin:/bin", "CC": COMPILER, "CXX": CXX, "CFLAGS": FLAGS,
            "CXXFLAGS": shlex.join(CXXFLAGS), "LDFLAGS": shlex.join(LDFLAGS), "SANITIZER": SANITIZER,
            "FUZZING_ENGINE": "libfuzzer",
            "ARCHITECTURE": "x86_64", "FUZZING_LANGUAGE": "c++", "LIB_FUZZING_ENGINE": engine, "OUT": str(out),
            "SRC": str(MEMORY_ROOT / "src" if SANITIZER == "memory" else WORK / "src"), "WORK": str(WORK / "work")}


def build(out, engine):
    """A copy of the script is run, as the image has it."""
    (WORK / "src").mkdir(parents=True, exist_ok=True)
    (WORK / "work").mkdir(exist_ok=True)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    script = shutil.copy2(ROOT / "ci/oss-fuzz/build.sh", WORK / "src/build.sh")
    run = subprocess.run([script], cwd=ROOT, env=environment(out, engine), stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, check=False)
    if run.returncode != 0:
        raise AssertionError(run.stdout.decode(errors="replace")[-5000:])


class Built(unittest.TestCase):
    """What the script makes."""

    @classmethod
    def setUpClass(cls):
        WORK.chmod(0o755)
        cls.out = WORK / "out"
        build(cls.out, ENGINE)

    def test_every_target_has_options(self):
        """Scripts take those with a .options file for targets, CMake those in its lists: no target is forgotten."""
        text = (ROOT / "fuzz/CMakeLists.txt").read_text(encoding="utf-8")
        named = re.findall(r"^fencepost_add_fuzz_target\((\w+) LIBRARIES", text, re.MULTILINE)
        for names in re.findall(r"foreach\(name ([\w ]+)\)\s+fencepost_add_fuzz_target", text):
            named += names.split()
        self.assertEqual(sorted(name + "_fuzzer" for name in named), EXPECTED)

    def test_every_target_keeps_the_rules(self):
        self.assertNotEqual(EXPECTED, [])
        self.assertEqual(rules.check_names(self.out, EXPECTED), [])
        for name in EXPECTED:
            with self.subTest(name):
                self.assertEqual(rules.check_program(self.out / name, SANITIZER), [])

    def test_the_tests_of_the_image_replay_all_inputs(self):
        run = subprocess.run([ROOT / "ci/oss-fuzz/run_tests.sh"], env=environment(self.out, ""), cwd="/",
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(run.stdout.count(", ok\n"), len(EXPECTED), run.stdout)

    def test_the_tests_of_the_image_fail_without_targets(self):
        with tempfile.TemporaryDirectory() as empty:
            run = subprocess.run([ROOT / "ci/oss-fuzz/run_tests.sh"], env=environment(empty, ""), capture_output=True,
                                 check=False)
        self.assertNotEqual(run.returncode, 0)

    def test_links_with_an_engine_that_is_an_archive(self):
        """As AFL++ and honggfuzz have it: main() comes from an archive. This one tells when a target returns something
        else than 0, which the rules forbid."""
        engine = WORK / "work/libFuzzingEngine.a"
        subprocess.run([CXX, *CXXFLAGS, "-std=c++20", "-c", ROOT / "fuzz/replay_main.cc", "-o", WORK / "work/main.o"],
                       check=True)
        subprocess.run(["ar", "rcs", engine, WORK / "work/main.o"], check=True)
        out = WORK / "out-archive"
        build(out, str(engine))
        self.assertEqual(rules.check_names(out, EXPECTED), [])
        for target in targets.all_targets(ROOT):
            run = subprocess.run([out / target.program, *target.folders()], cwd="/", capture_output=True, text=True,
                                 check=False)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn(f"replay: {len(target.inputs())} inputs in ", run.stdout)

    def test_a_dictionary_with_an_error_is_refused(self):
        broken = WORK / "work/broken.dict"
        broken.write_text('a="unfinished\n', encoding="utf-8")
        self.assertIn("broken.dict", rules.check_dictionary(self.out / EXPECTED[0], broken)[0])

    def test_the_archive_is_the_same_each_time(self):
        target = targets.all_targets(ROOT)[0]
        again = WORK / "work/again.zip"
        pack.write_seed_corpus(target, again)
        self.assertEqual(again.read_bytes(), (self.out / (target.program + "_seed_corpus.zip")).read_bytes())


GOOD = """extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, unsigned long size) {
  return %s;
}"""


class RulesCanFail(unittest.TestCase):
    """Each rule is given something that breaks it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="fencepost-rules-test-"))
        cls.folder.chmod(0o755)
        cls.good = cls.compile("good_fuzzer", "0")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def compile(cls, name, body, *flags, engine=None, prefix=""):
        engine = ENGINE if engine is None else engine
        source = cls.folder / "source.cc"
        source.write_text(prefix + GOOD % body, encoding="utf-8")
        program = cls.folder / "out" / name
        program.parent.mkdir(exist_ok=True)
        subprocess.run([CXX, *(CXXFLAGS if engine else []), source, engine or "-g0", *LDFLAGS, *flags, "-o", program],
                       check=True)
        return program

    def seeds(self, program, files):
        with zipfile.ZipFile(program.with_name(program.name + "_seed_corpus.zip"), "w") as archive:
            for name in files:
                archive.writestr(name, name)

    def assert_complains(self, complaints, text):
        self.assertTrue(any(text in complaint for complaint in complaints), (complaints, text))

    def test_a_good_target_has_no_complaints(self):
        self.seeds(self.good, ["a"])
        self.assertEqual(rules.check_program(self.good, SANITIZER), [])

    def test_names(self):
        folder = self.folder / "names"
        folder.mkdir()
        shutil.copy2(self.good, folder / "bad.name")
        shutil.copy2(self.good, folder / "stranger")
        complaints = rules.check_names(folder, ["bad.name", "missing"])
        self.assertEqual(complaints, ["missing: not built", "stranger: not a target of this project",
                                      "bad.name: a name is of letters, digits, _ and -"])

    def test_a_program_without_the_entry_point_is_no_target(self):
        folder = self.folder / "plain"
        folder.mkdir()
        shutil.copy2("/bin/true", folder / "plain_fuzzer")
        self.assertEqual(rules.check_names(folder, ["plain_fuzzer"]), ["plain_fuzzer: not built"])

    def test_seed_corpora(self):
        program = self.folder / "out/x_fuzzer"
        archive = program.with_name("x_fuzzer_seed_corpus.zip")
        archive.unlink(missing_ok=True)
        self.assert_complains(rules.check_seed_corpus(program), "missing")
        self.seeds(program, [])
        self.assert_complains(rules.check_seed_corpus(program), "empty")
        self.seeds(program, ["a/b"])
        self.assert_complains(rules.check_seed_corpus(program), "no folders")
        archive.write_bytes(b"not an archive")
        self.assert_complains(rules.check_seed_corpus(program), "not a zip")

    def test_options(self):
        options = self.good.with_name("good_fuzzer.options")
        dictionary = self.good.with_name("good.dict")
        try:
            for text, complaint in (("max_len = 5\n", "not a .options file"), ("[other]\na = b\n", "not a .options file"),
                                    ("[libfuzzer]\ndict = none.dict\n", "no dictionary none.dict")):
                options.write_text(text, encoding="utf-8")
                self.assert_complains(rules.check_options(self.good), complaint)
            options.write_text("[libfuzzer]\ndict = good.dict\n", encoding="utf-8")
            dictionary.write_text("nonsense\n", encoding="utf-8")
            self.assert_complains(rules.check_options(self.good), "good.dict")
            dictionary.write_text('"fine"\n', encoding="utf-8")
            self.assertEqual(rules.check_options(self.good), [])
        finally:
            options.unlink()
            dictionary.unlink(missing_ok=True)

    def test_foreign_libraries(self):
        program = self.compile("foreign_fuzzer", "0", "-Wl,--no-as-needed", "-lyaml-cpp")
        self.assert_complains(rules.check_libraries(program), "which the runner does not have")
        self.assert_complains(rules.check_libraries(self.folder / "source.cc"), "ldd")

    def test_instrumentation(self):
        bare = self.compile("bare_fuzzer", "0", engine="", prefix="int main() {}\n")
        complaints = rules.check_instrumentation(bare, SANITIZER)
        self.assert_complains(complaints, "not built with the sanitizer")
        self.assert_complains(complaints, "not instrumented")

    def test_a_target_that_fails_on_some_input(self):
        program = self.compile("crash_fuzzer", "size > 3 ? (__builtin_trap(), 1) : 0")
        self.seeds(program, ["a"])
        self.assert_complains(rules.check_runs(program), "exit code")

    def test_a_target_that_uses_memory_that_it_has_not_written(self):
        if SANITIZER != "memory":
            self.skipTest("only MemorySanitizer sees it")
        program = self.compile("unwritten_fuzzer", "size > 3 && unwritten(new int[size])[0] == 5 ? (__builtin_trap(), 1) : 0",
                               prefix="volatile int* unwritten(volatile int* p) { return p; }\n")
        self.seeds(program, ["long enough"])
        self.assert_complains(rules.check_runs(program), "exit code")

    def test_a_target_that_takes_too_few_inputs(self):
        """More runs than requested are enough: libFuzzer reads its corpus folder again in runs of more than a second."""
        program = self.folder / "out/counts_fuzzer"
        for said, complains in (("", True), ("Done 999 runs", True), ("Done 1000 runs", False), ("Done 1006 runs", False)):
            with self.subTest(said):
                program.write_text(f"#!/bin/sh\necho '#999 NEW' >&2\necho '{said} in 1 second(s)' >&2\n", encoding="utf-8")
                program.chmod(0o755)
                self.assertEqual(rules.check_run(program, [], "no corpus") != [], complains)

    def test_a_target_that_does_not_end(self):
        limits, rules.libfuzzer.LIMITS = rules.libfuzzer.LIMITS, ["-timeout=1"]
        try:
            program = self.compile("endless_fuzzer", "size > 3 ? (endless(data), 0) : 0",
                                   prefix="void endless(const volatile unsigned char* d) { while (*d != *d + 1) {} }\n")
            self.assert_complains(rules.check_run(program, [], "no corpus"), "timeout")
        finally:
            rules.libfuzzer.LIMITS = limits

    def test_a_target_that_fails_on_a_seed(self):
        program = self.compile("seed_fuzzer", "size == 4 && data[0] == 's' && data[3] == 'd' ? (__builtin_trap(), 1) : 0")
        self.seeds(program, ["seed"])
        self.assert_complains(rules.check_runs(program), "with its seed corpus")

    def test_a_target_that_needs_to_write_where_it_is(self):
        """Also for root, whom no mode of a file holds off."""
        for name, place in (("writes_fuzzer", self.folder / "out/left-behind"), ("cwd_fuzzer", "left-behind")):
            with self.subTest(name):
                program = self.compile(name, f'static_cast<int>(std::fopen("{place}", "w") == nullptr && (std::abort(), 1))',
                                       prefix="#include <cstdio>\n#include <cstdlib>\n")
                self.seeds(program, ["a"])
                self.assert_complains(rules.check_run(program, [], "no corpus"), "exit code")

    def test_a_target_that_changes_its_folder(self):
        """By a way around the modes, here as their owner."""
        if os.geteuid() == 0:
            self.skipTest("root starts programs as nobody, who cannot")
        place = self.folder / "out"
        program = self.compile("chmod_fuzzer", f'chmod("{place}", 0755) != 0 || std::fopen("{place}/new", "w") == nullptr',
                               prefix="#include <cstdio>\n#include <sys/stat.h>\n")
        self.assert_complains(rules.check_run(program, [], "no corpus"), "changed the folder")


if __name__ == "__main__":
    WORK.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=sys.argv[:1])
