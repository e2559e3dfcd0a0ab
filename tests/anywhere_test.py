"""The program, and the scripts that build it, wherever and as whom they are started.

usage: anywhere_test.py BUILD_BIN_DIR [unittest arguments]

The program is a copy in a folder whose name a shell, a list or a configuration file would take apart. Nothing is built: the
scripts get a cmake that only writes down its arguments.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess

from harness import FENCEPOST, PLUGIN, ROOT, WITHOUT_HASTE, FolderTest, main, must, reproduce_command, run_command, wait_until

# CMake takes all of this but the double quotes.
TAKEN = "a b'c $e (ü) & `f` ~!@%^=+,{}"
ODD = TAKEN + ' "d" ; | < > * ? [ ] # \\ ${x}'
MISREAD = ['"', ";", "|", "<", ">", "*", "?", "[", "]", "#", "\\", "${x}", "$ENV{x}", "\n"]
BARE = {"PATH": "/usr/bin:/bin"}


def as_nobody(test):
    """Options of a process. What it uses has to be below the folder of the test, which it may enter then."""
    if os.geteuid() != 0:
        test.skipTest("NOT CHECKED: another user: that needs root")
    test.folder.chmod(0o755)
    nobody = {"user": "nobody", "group": "nogroup", "extra_groups": []}
    if run_command("test", "-r", test.folder, cwd="/", **nobody).returncode != 0:
        test.skipTest(f"NOT CHECKED: another user, who may not enter {test.folder.parent}")
    return nobody


class Program(FolderTest):
    def setUp(self):
        super().setUp()
        self.place = self.folder / ODD
        self.place.mkdir()
        self.program = shutil.copy2(FENCEPOST, self.place)
        shutil.copy2(PLUGIN, self.place)

    def certify(self, *arguments, code=0, **options):
        """With a broker, in the odd folder: what it said."""
        report = self.place / "report.json"
        done = run_command(self.program, "certify", "--quiet", "--run", "set.nx.*", *WITHOUT_HASTE, "--json", report.name,
                           *arguments, **{"cwd": self.place, "env": BARE, **options})
        self.assertEqual(code, done.returncode, done.stdout + done.stderr)
        self.assertGreater(len(json.loads(report.read_text(encoding="utf-8"))["cases"]), 3)
        report.unlink()
        return done.stdout

    def test_with_little_in_the_environment(self):
        for more in ({}, {"LC_ALL": "C"}, {"LANG": "xx_YY.UTF-8"}, {"HOME": "/nonexistent"}, {"TMPDIR": str(self.place)},
                     {"TMPDIR": "/nonexistent"}, {"TERM": "dumb"}):
            with self.subTest(more):
                self.certify(env=BARE | more)
        with self.subTest("nothing"):
            self.certify(env={})

    def test_without_standard_input_and_in_a_session_without_a_terminal(self):
        self.certify(preexec_fn=lambda: os.close(0), start_new_session=True)

    def test_without_a_stream_to_write_to(self):
        """What it opens itself does not take the place of the stream."""
        self.certify(preexec_fn=lambda: os.close(1), code=70)
        self.certify(preexec_fn=lambda: os.close(2))

    def test_whatever_the_mask_of_new_files(self):
        for mask in (0o077, 0o022, 0o777):
            with self.subTest(oct(mask)):
                self.certify(umask=mask)

    def test_as_an_ordinary_user(self):
        nobody = as_nobody(self)
        shutil.chown(self.place, "nobody")
        self.certify(**nobody)
        self.certify(umask=0o077, **nobody)

    def test_a_command_that_reproduces_works_from_there(self):
        said = self.certify("--endpoint", "embedded?fault=S01", code=1)
        again = run_command("sh", "-c", reproduce_command(said), cwd=self.place, env=BARE)
        self.assertEqual(1, again.returncode, again.stdout + again.stderr)

    def test_a_broker_with_tls_and_its_files(self):
        """Its own socket is in the folder for temporary files, whose name may be longer than a socket's, too."""
        deep = self.place / ("d" * 100)
        deep.mkdir()
        for folder in (self.place, deep):
            ready = self.place / "ready"
            server = self.start(self.program, "serve", "--port", 0, "--ready-file", ready.name, "--tls", "ca.pem", "--record",
                                "seen.jsonl", cwd=self.place, env=BARE | {"TMPDIR": str(folder)}, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
            wait_until(lambda server=server, ready=ready: ready.exists() or server.poll() is not None)
            code, said = self.stop(server, signal.SIGTERM)
            self.assertEqual(0, code, said)
            self.assertIn("ready at mqtts://", said)
            ready.unlink(missing_ok=True)


class Scripts(FolderTest):
    CMAKE = """#!/bin/sh
    echo "$*" >> {log}
    if [ "$1" = --build ]; then
      mkdir -p "$2/bin"
      printf '#!/bin/sh\\nprintf "%%s\\\\n" "$PWD" "$@"\\n' > "$2/bin/fencepost"
      chmod 755 "$2/bin/fencepost"
    fi
    """

    def setUp(self):
        super().setUp()
        self.log = self.folder / "cmake.log"
        self.log.touch(mode=0o666)
        self.log.chmod(0o666)
        for name, text in (("cmake", self.CMAKE.format(log=shlex.quote(str(self.log)))), ("ccache", "#!/bin/sh\n"),
                           ("dpkg-query", "#!/bin/sh\necho installed\n"), ("npm", "#!/bin/sh\n")):
            self.write(f"tools/{name}", text).chmod(0o755)
        self.caller = self.folder / "the caller's folder"
        self.caller.mkdir()

    def source(self, name):
        folder = self.folder / name / "fencepost"
        shutil.copytree(ROOT / "ci", folder / "ci")
        return folder

    def script(self, source, name, *arguments, **options):
        variables = BARE | {"PATH": f"{self.folder}/tools:/usr/bin:/bin"} | options.pop("env", {})
        return run_command(source / "ci" / name, *arguments, cwd=self.caller, env=variables, **options)

    def assert_certifies(self, source, **options):
        done = self.script(source, "certify", "--json", "a report", **options)
        self.assertEqual((0, [str(self.caller), "certify", "--json", "a report"]), (done.returncode, done.stdout.splitlines()),
                         done.stderr)

    def test_certify_builds_below_the_source_and_runs_where_the_caller_is(self):
        source = self.source(TAKEN)
        self.assert_certifies(source)
        self.assert_certifies(source, preexec_fn=lambda: os.close(0), start_new_session=True)
        self.assertIn(f"-B {source}/build/release ", self.log.read_text(encoding="utf-8"))

    def test_certify_builds_elsewhere_and_leaves_the_source_alone(self):
        source = self.source(TAKEN)
        before = sorted(source.rglob("*"))
        for folder in ("seen from the caller", str(self.folder / "elsewhere" / TAKEN)):
            self.assert_certifies(source, env={"FENCEPOST_BUILD_DIR": folder})
            self.assertTrue((self.caller / folder / "release.log").exists())
        self.assertEqual(before, sorted(source.rglob("*")))

    def test_certify_as_an_ordinary_user_from_a_source_that_is_not_theirs(self):
        nobody = as_nobody(self)
        source = self.source("s")
        done = self.script(source, "certify", **nobody)
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertIn("build cannot be written to: set FENCEPOST_BUILD_DIR to one that can\n", done.stderr)
        mine = self.folder / "mine"
        mine.mkdir()
        shutil.chown(mine, "nobody")
        self.assert_certifies(source, env={"FENCEPOST_BUILD_DIR": str(mine / "b")}, **nobody)
        self.assertTrue((mine / "b" / "home").is_dir())

    def test_a_path_that_cmake_misreads_is_refused_at_once(self):
        good = self.source("good")
        for part in MISREAD:
            for source, variables, what in ((self.source(f"x{part}y"), {}, "move the source to one without"),
                                            (good, {"FENCEPOST_BUILD_DIR": f"x{part}y"}, "set FENCEPOST_BUILD_DIR to one")):
                for name in ("build", "certify", "tidy"):
                    done = self.script(source, name, env=variables)
                    self.assertEqual((1, ""), (done.returncode, done.stdout), part)
                    self.assertIn(what, done.stderr, part)
                    self.assertEqual(1 + part.count("\n"), done.stderr.count("\n"), done.stderr)
        self.assertEqual("", self.log.read_text(encoding="utf-8"))


class Commit(FolderTest):
    def test_of_a_source_of_another_user(self):
        """git refuses a folder of another user, unless its settings allow it."""
        as_nobody(self)
        source = self.folder / TAKEN
        git = ("git", "-c", "user.name=n", "-c", "user.email=e", "-C", source)
        must("git", "init", "-q", source)
        must(*git, "commit", "-q", "--allow-empty", "-m", "m")
        for path in (source, *source.rglob("*")):
            shutil.chown(path, "nobody")
        self.assertNotEqual(0, run_command(*git, "log", env=BARE).returncode)
        must("cmake", f"-DSOURCE={source}", f"-DOUTPUT={self.folder}/commit.cc", "-P", ROOT / "cmake/commit.cmake", env=BARE)
        self.assertRegex(self.read("commit.cc"), r'return "[0-9a-f]{7,}, \d{4}-\d\d-\d\d"; ')


if __name__ == "__main__":
    main()
