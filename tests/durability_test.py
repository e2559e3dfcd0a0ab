"""Faults of what has to outlive a kill are found with the right rule first, and no conforming store is rejected.

    durability_test.py BUILD_BIN_DIR [unittest arguments]
"""

import json
import subprocess
import unittest

import harness
from harness import ROOT


def durability(*arguments):
    return subprocess.run([ROOT / "ci" / "durability", "--bin", harness.FENCEPOST, *arguments], capture_output=True, text=True,
                          check=False)


class Stores(harness.FolderTest):
    def pass_on(self, *arguments):
        done = durability(*arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_some_faults_are_found_with_the_right_rule_first(self):
        """One of each rule. They are found at the first kill or restart, which takes longer on a busy machine."""
        table = self.pass_on("--seeds", "1", "K10", "K36", "K48", "K53", "K44")
        self.assertEqual(table.count("| LIFE-DURABLE-"), 5)

    def test_an_unusual_store_is_not_rejected(self):
        self.assertIn("| B22 |", self.pass_on("--seeds", "1", "--right", "3s", "B22"))

    @harness.full("55 faults, and 13 conforming stores for 30 s each")
    def test_all_faults_are_found_and_no_right_store_is_rejected(self):
        self.pass_on("--seeds", "1", "--right", "30s")

    def test_without_kills_they_are_right(self):
        """Values, versions and expiry in memory stay as they are."""
        done = harness.run("certify", "--endpoint", "embedded?database=store.db&fault=K28", "--run", "get.*",
                           "--json", "report.json", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(json.loads((self.folder / "report.json").read_text())["summary"]["passed"], 5)

    def test_what_cannot_be_meant_is_said(self):
        for wrong in (["K99"], ["--seeds", "0"], ["--right", "soon"], ["--check", "K01"]):
            self.assertEqual(durability(*wrong).returncode, 2, wrong)


class Table(unittest.TestCase):
    def test_of_the_document_has_each_store(self):
        done = durability("--check")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    harness.main()
