"""What the main() of a replay says of files on which a target fails, and of files that are not there.
usage: replay_test.py PROGRAM      PROGRAM: failing_fuzzer, which fails by the first letter of its input"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop()


def run(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=100)
    return done.returncode, done.stdout, done.stderr


class Replay(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)

    def write(self, **files):
        for name, content in files.items():
            (self.folder / name).write_text(content)

    def test_accepts_what_the_target_accepts(self):
        self.write(b="good", a="", nested="fine")
        code, out, err = run(self.folder)
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"^replay: 3 inputs in \d+\.\d\d s, 0 failed\n$")

    def test_names_every_file_that_ends_it_and_how(self):
        self.write(a="good", b="check", c="good", d="exit", e="raise", f="good")
        code, out, err = run(self.folder)
        self.assertEqual(code, 1)
        self.assertIn("6 inputs", out)
        self.assertIn("3 failed", out)
        said = [line for line in err.splitlines() if line.startswith("replay:")]
        folder = self.folder
        self.assertEqual([line.split(" (")[0] for line in said], [f"replay: failed on {folder}/{name}" for name in "bde"])
        self.assertIn("(exit code 7)", said[1])
        self.assertIn("check failed: letter != 'c'", err)

    def test_names_a_file_that_is_answered_with_something_else_than_0(self):
        self.write(a="good", b="1")
        code, _, err = run(self.folder)
        self.assertEqual(code, 1)
        self.assertIn("the target returned 1", err)
        self.assertIn(f"failed on {self.folder}/b", err)

    def test_takes_files_and_folders_in_the_order_of_their_names(self):
        self.write(b="raise", a="raise")
        code, _, err = run(self.folder / "b", self.folder / "a")
        self.assertEqual(code, 1)
        self.assertLess(err.index("/a ("), err.index("/b ("))

    def test_complains_of_what_is_not_there(self):
        code, out, err = run(self.folder / "none")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("none: cannot be read", err)

    def test_complains_of_nothing_to_do(self):
        self.assertEqual(run(self.folder)[0], 2)
        self.assertEqual(run()[0], 2)

    def test_says_how_it_is_used(self):
        code, out, _ = run("--help")
        self.assertEqual(code, 0)
        self.assertIn("usage: ", out)


if __name__ == "__main__":
    unittest.main()
