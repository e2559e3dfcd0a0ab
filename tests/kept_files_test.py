"""Files of users that an earlier program has written are read by this one: a report, evidence and a baseline of one run of all
forms, of commit 3bef3f9 (`certify --endpoint 'inproc:?fault=S01' --seed 7 --stress none`; report and evidence of the cases
set.nx.refus*).

usage: kept_files_test.py BUILD_BIN_DIR [unittest arguments]"""

import base64
import json

import harness
from harness import ROOT, run

KEPT = ROOT / "tests" / "kept_files"
WRONG = "inproc:?fault=S01"


class KeptFiles(harness.FolderTest):
    def test_a_baseline_knows_its_failures_again(self):
        result = run("certify", "--endpoint", WRONG, "--seed", "7", "--stress", "none", "--baseline", KEPT / "baseline.yaml")
        self.assertEqual(0, result.returncode, result.stdout[-2000:])
        self.assertRegex(result.stdout, r"known: 1 root cause, \d+ failures; new: none")

    def test_evidence_comes_to_the_same_verdicts(self):
        evidence = self.folder / "run.evidence"
        evidence.write_bytes(base64.b64decode((KEPT / "run.evidence.base64").read_bytes()))
        result = run("judge", evidence)
        self.assertEqual(1, result.returncode, result.stdout[-2000:])
        self.assertIn("verdicts: 6 the same as in the run, 0 different", result.stdout)

    def test_a_report_is_compared_with_one_of_today(self):
        new = self.folder / "new.json"
        run("certify", "--endpoint", WRONG, "--seed", "7", "--stress", "none", "--run", "set.nx.refus*", "--json", new)
        old = json.loads((KEPT / "report.json").read_text(encoding="utf-8"))
        self.assertEqual("3bef3f9", old["suite_commit"][:7])
        self.assertEqual([each["requirement"] for each in old["differences"]],
                         [each["requirement"] for each in json.loads(new.read_text(encoding="utf-8"))["differences"]])
        result = run("compare", f"OLD={KEPT / 'report.json'}", f"NEW={new}")
        self.assertIn("SET-NX-2               failed 6     failed 6", result.stdout)
        self.assertIn("6 cases compared", result.stdout)


if __name__ == "__main__":
    harness.main()
