"""Every command in the pages for readers is run, in their order, in an empty folder.

usage: pages_test.py BUILD_BIN_DIR [unittest arguments]

A line that ends in `# exit code 1` has to return that. Files that a page shows are in the folder; its ports are free ones.
"""

import os
import re
import shlex
import shutil

from documents_test import documents, shell_blocks
from harness import BIN, PLUGIN, PRELOAD, ROOT, FolderTest, free_port, main, run_command, wait_until

EXPECTED = re.compile(r"^(.*?)\s*# exit code (\d+)$")


def script_of(text):
    """The commands of a page as one shell script, which ends at the first that returns what it should not."""
    lines = []
    for line in shell_blocks(text):
        expected = EXPECTED.match(line)
        if expected:
            line = f"code=0; {{ {expected[1]}; }} || code=$?; test $code -eq {expected[2]}"
        lines.append(line)
    return "\n".join(["set -eu", "trap 'jobs -p | xargs -r kill' EXIT", *lines, "echo THE END", ""])


class Pages(FolderTest):
    def run_page(self, name, files=()):
        """`files`: the language of a fenced block, and the file that the page says it is."""
        text = documents()[name]
        for port in re.findall(r"\b[18]883\b", text):
            text = text.replace(port, str(free_port()))
        for language, file in files:
            shown = re.search(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
            self.assertIsNotNone(shown, f"{name} shows no {language}")
            self.write(file, shown[1])
        here = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}:/usr/sbin", HOME=str(self.folder), NO_COLOR="1")
        for variable in [name for name in here if name.startswith("GITHUB_")]:
            del here[variable]
        if PRELOAD:
            here["LD_PRELOAD"] = PRELOAD
        # In a file: what is left in the background must not keep us waiting for the end of a pipe.
        with (self.folder / ".said").open("wb") as said:
            done = run_command("bash", "-c", script_of(text), cwd=self.folder, env=here, capture_output=False, stdout=said,
                               stderr=said)
        self.said = self.read(".said")
        self.assertEqual(0, done.returncode, f"{name}:\n{self.said[-6000:]}")
        # A broker in the background may log the last disconnections behind it.
        self.assertIn("THE END\n", self.said[-6000:], name)

    def wait_for_log(self, text):
        """A broker of the page has to end with it, and then prints the rest of its log."""
        wait_until(lambda: text in self.read("store.log"))

    def test_clients(self):
        self.run_page("docs/CLIENTS.md")
        self.assertIn("$3\none\n", self.said)
        self.assertIn("fault S01, response_delay_ms 0", self.said)
        self.assertIn("fault none, response_delay_ms 0", self.said)
        self.wait_for_log('me: SET key "one": +OK, SET-OK-1\nme: GET key: $3 "one", GET-HIT-3\n')

    def test_authorization(self):
        self.run_page("docs/AUTHORIZATION.md", [("json", "policies.json")])
        self.wait_for_log("a: DEL colors/red: -ERR ")
        self.assertIn("AUTH-DENIED-1", self.read("store.log"))

    def test_brokers(self):
        self.run_page("docs/BROKERS.md")
        self.assertIn("rule      SET-NX-2 (must)", self.said)
        for name in ("report.html", "matrix.html", "known.yaml", "report.xml"):
            self.assertTrue((self.folder / name).exists(), name)

    def test_fuzzers(self):
        self.run_page("docs/FUZZERS.md")
        self.assertIn("SET-NX-2", self.said)

    def test_troubleshooting(self):
        self.run_page("docs/TROUBLESHOOTING.md")
        self.assertIn("Connection refused", self.said)

    def test_format(self):
        self.run_page("scenarios/FORMAT.md", [("yaml", "my.yaml")])
        self.assertIn("rule      SET-NOT-APPLIED-1 (must)", self.said)

    def test_contributing(self):
        """Its quick commands that run the program, for a fault that exists; other tests have the selftest and the builds."""
        lines = [line for line in shell_blocks(documents()["CONTRIBUTING.md"]) if line.startswith("    fencepost ")
                 and "selftest" not in line]
        self.assertEqual(4, len(lines), lines)
        for line in lines:
            line = line.replace("F23", "F01").replace("docs/COVERAGE.md", "COVERAGE.md")
            line = line.replace("lint scenarios", shlex.join(["lint", str(ROOT / "scenarios")]))
            done = run_command("bash", "-c", line, cwd=self.folder, env=dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}"))
            self.assertEqual(1 if "?fault=" in line else 0, done.returncode, line + done.stdout[-3000:] + done.stderr)

    def test_mosquitto(self):
        text = (ROOT / "docs/MOSQUITTO.md").read_text(encoding="utf-8")
        self.assertIn("/usr/lib/fencepost/fencepost_statestore.so", text)
        self.run_page("docs/MOSQUITTO.md", [("conf", "mosquitto.conf")])

    def write(self, name, text):
        text = text.replace("/usr/lib/fencepost/fencepost_statestore.so", str(PLUGIN))
        if name == "mosquitto.conf" and os.geteuid() == 0:
            text += "user root\n"
        return super().write(name, text)


class Script(FolderTest):
    def test_a_command_that_returns_something_else_fails_the_page(self):
        for text, good in (("    true\n", True), ("    false\n", False), ("    false   # exit code 1\n", True),
                           ("    true   # exit code 1\n", False), ("    nosuchcommand\n", False), ("no commands\n", True)):
            done = run_command(shutil.which("bash"), "-c", script_of(text))
            self.assertEqual(good, done.returncode == 0, text)


if __name__ == "__main__":
    main()
