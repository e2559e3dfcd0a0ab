"""What the documents say of the program is so: counts, commands and options, files and links.

usage: documents_test.py BUILD_BIN_DIR [unittest arguments]
"""

import functools
import json
import re
import subprocess
import unittest

from harness import ROOT, main, must, run, FENCEPOST

# Written by the program, and compared with it elsewhere (matrix_test.py).
GENERATED = {"docs/COVERAGE.md"}
# Decisions and measurements say what was true when they were made.
OF_THEIR_TIME = ("docs/decisions/", "docs/MUTATION.md")
# A sample of output keeps its count for a while: as long as it is this close, nobody has to edit it for a new case.
SAMPLE_TOLERANCE = 0.05
SAMPLES = ("README.md", "docs/CERTIFY.md")
WORDS = {"five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}


def documents():
    listed = must("git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "*.md").splitlines()
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in listed
            if name not in GENERATED and not name.startswith(OF_THEIR_TIME)}


def number(text):
    return WORDS[text] if text in WORDS else int(text.replace(",", ""))


@functools.lru_cache(maxsize=None)
def help_of(command):
    return run(*([command] if command else []), "--help-all").stdout


def commands():
    return set(re.findall(r"^  ([a-z-]+) {2,}", help_of(""), re.MULTILINE))


BLOCK = re.compile(r"""^```(?P<language>\w*)\n(?P<fenced>.*?)^```
    |(?P<indented>^[ ]{4}\S[^\n]*\n(?:^[ ]{4,}\S[^\n]*\n)*)""", re.MULTILINE | re.DOTALL | re.VERBOSE)


def shell_blocks(text):
    """Fenced blocks without a language or of a shell, and indented ones, as they come; their lines, continued lines as one."""
    blocks = [found["fenced"] if found["indented"] is None else found["indented"] for found in BLOCK.finditer(text)
              if (found["language"] or "") in ("", "sh", "shell", "bash")]
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]


def calls(text):
    """(command, options) of each line that runs the program."""
    for line in shell_blocks(text) + re.findall(r"`([^`\n]*)`", text):
        for call in re.finditer(r"(?:^|/|[;&|(:] |-- )fencepost ([a-z-]+)([^|;#>`]*)", line.strip()):
            yield call.group(1), re.findall(r"(?<![\w'\"-])(--[a-z][a-z-]*)", call.group(2))


class Counts(unittest.TestCase):
    """Documents give a count either as it is, or as `more than` a round number, which leaves room for a tenth more."""

    @classmethod
    def setUpClass(cls):
        stores = json.loads(must(FENCEPOST, "list", "faults", "--json"))
        kinds = [store["kind"] for store in stores if store["needs"] not in ("kill", "failover")]
        found = re.search(r"(\d+) files, (\d+) cases, (\d+) requirements", must(FENCEPOST, "lint"))
        cls.counts = {"cases": int(found.group(2)), "requirements": int(found.group(3)),
                      "listed": sum(store["kind"] == "fault" for store in stores),
                      "wrong": kinds.count("fault"), "right": kinds.count("benign"), "idle": kinds.count("null")}

    def check(self, name, pattern, of):
        found = re.findall(pattern, documents()[name])
        self.assertTrue(found, f"{name} says nothing like {pattern!r} any more: bring this test up to date")
        actual = self.counts[of]
        for more, said in found:
            low, high = (number(said) + 1, number(said) * 1.1) if more else (number(said),) * 2
            self.assertTrue(low <= actual <= high, f"{name}: {more}{said}, but there are {actual} ({of})")

    def test_of_stores_that_the_selftest_runs(self):
        self.check("README.md", r"`fencepost list faults` lists (more than )?(\d+)", "listed")
        self.check("docs/FUZZERS.md", r"`fencepost list faults` lists (more than )?(\d+)", "listed")
        self.check("docs/SELFTEST.md", r"(more than )?(\d+) faulty stores", "wrong")
        self.check("docs/SELFTEST.md", r"([Mm]ore than )?(\d+) conforming variants", "right")
        self.check("docs/SELFTEST.md", r"(more than )?(\w+) null stores", "idle")

    def test_of_cases_in_samples_of_output(self):
        for name in SAMPLES:
            found = [int(count) for count in re.findall(r"(\d+) cases[,:]", documents()[name])]
            self.assertGreaterEqual(len(found), 1, name)
            for said in found:
                self.assertLessEqual(abs(self.counts["cases"] - said), SAMPLE_TOLERANCE * said,
                                     f"{name}: {said} cases, but there are {self.counts['cases']}")

    def test_no_document_has_a_count_that_nobody_checks(self):
        for name, text in documents().items():
            for line in re.findall(r".*\b\d,?\d{3} (?:cases|expectations)\b.*", text):
                self.assertIn(name, (*SAMPLES, "docs/SELFTEST.md"), line)


class Commands(unittest.TestCase):
    def test_exist(self):
        known = commands()
        self.assertIn("certify", known)
        for name, text in documents().items():
            for command, _ in calls(text):
                self.assertIn(command, known, f"{name}: fencepost {command}")

    def test_have_these_options(self):
        seen = 0
        for name, text in documents().items():
            for command, options in calls(text):
                for option in options:
                    seen += 1
                    self.assertRegex(help_of(command), rf"(?<![\w-]){option}(?![\w-])", f"{name}: {command} {option}")
        self.assertGreater(seen, 20)

    def test_each_is_in_a_document(self):
        everything = "\n".join(documents().values())
        self.assertEqual([command for command in sorted(commands()) if f"`{command}" not in everything
                          and f"fencepost {command}" not in everything], [])


class Tables(unittest.TestCase):
    def test_of_smallest_bounds_has_each_fault_once(self):
        done = subprocess.run([ROOT / "ci" / "smallest-bounds", "--check", "--bin", FENCEPOST], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Files(unittest.TestCase):
    def test_the_entry_page_leads_to_every_page(self):
        entry = documents()["docs/README.md"]
        pages = [path.name for path in (ROOT / "docs").glob("*.md") if path.name != "README.md"]
        self.assertEqual([name for name in sorted(pages) if f"]({name})" not in entry], [])

    def test_links_lead_somewhere(self):
        for name, text in documents().items():
            for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text):
                self.assertTrue(((ROOT / name).parent / target).exists(), f"{name}: {target}")

    def test_sources_that_are_named_exist(self):
        """A path is from the root or from the folder of the document; a name alone is somewhere in the repository."""
        tracked = must("git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
        names = {path.rpartition("/")[2] for path in tracked}
        for name, text in documents().items():
            for path in re.findall(r"`([\w./-]+\.(?:h|cc|py))`", text):
                if path.startswith("x_") or "NAME" in path:  # stands for any
                    continue
                if "/" in path:
                    here = any(one == path or one.endswith("/" + path) for one in tracked)
                else:
                    here = path in names
                self.assertTrue(here, f"{name}: {path}")


if __name__ == "__main__":
    main()
