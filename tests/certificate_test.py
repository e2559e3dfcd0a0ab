"""Certificates of stores: `certify --certificate` and `verify`.

usage: certificate_test.py BUILD_BIN_DIR [unittest arguments]
All runs are in process.
"""

import json
import pathlib
import shutil
import tempfile

import jsonschema

import harness
from harness import run
from schema_checks import left_open

SHORT = ("--stress", "none", "--depth", "0")
REPORT = harness.load_schema("report")
SCHEMA = harness.load_schema("certificate")


def complaints(document):
    resolver = jsonschema.RefResolver("", SCHEMA, store={"report.schema.json": REPORT, REPORT["$id"]: REPORT})
    validator = jsonschema.Draft202012Validator(SCHEMA, resolver=resolver)
    return [f"{error.json_path}: {error.message[:500]}" for error in validator.iter_errors(document)]


def certify(folder, name, url, *arguments, product="{name: A store, version: '2.1', owner: Example <b>}"):
    (folder / f"{name}.yaml").write_text(f"url: '{url}'\nproduct: {product}\n", encoding="utf-8")
    return run("certify", "--quiet", "--descriptor", f"{name}.yaml", "--certificate", f"{name}.json", *arguments, cwd=folder,
               env=harness.environment())


class CertificateTest(harness.FolderTest):
    @classmethod
    def setUpClass(cls):
        cls.made = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.made, ignore_errors=True)
        harness.must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", cls.made / "me")
        cls.right = certify(cls.made, "right", "inproc:", "--evidence", "right.fpe", "--sign", "me")

    def setUp(self):
        super().setUp()
        shutil.copytree(self.made, self.folder, dirs_exist_ok=True)

    def verify(self, *arguments):
        return run("verify", *arguments, cwd=self.folder)

    def test_a_right_store_has_one_that_says_what_it_is_worth(self):
        self.assertEqual((0, []), (self.right.returncode, complaints(self.load("right.json"))), self.right.stderr)
        self.assertEqual([], left_open(SCHEMA))
        found = self.verify("right.json")
        self.assertEqual(0, found.returncode, found.stderr)
        for text in ("right.json: conformant, ", " MUST rules met by A store 2.1 (Example <b>); judged by the article",
                     'Good "fencepost" signature', "right.fpe is the evidence of this run", "`fencepost judge right.fpe` repeats"):
            self.assertIn(text, found.stdout)
        page = (self.folder / "right.html").read_text("utf-8")
        self.assertIn("A store 2.1 (Example &lt;b&gt;)", page)

    def test_a_change_is_found(self):
        (self.folder / "right.fpe").write_bytes(b"fencepost evidence 1\n")
        found = self.verify("right.json")
        self.assertEqual((1, True), (found.returncode, "right.fpe is not the evidence of this run" in found.stderr), found.stderr)
        (self.folder / "right.fpe").unlink()
        found = self.verify("right.json")
        self.assertEqual((0, True), (found.returncode, "right.fpe is not here" in found.stdout), found.stderr)
        document = self.load("right.json")
        document["product"]["name"] = "Mine"
        self.write("right.json", json.dumps(document))
        found = self.verify("right.json")
        self.assertEqual((1, True), (found.returncode, "is not the file that was signed" in found.stderr), found.stderr)
        del document["signing_key"]
        self.write("mine.json", json.dumps(document))
        found = self.verify("mine.json")
        self.assertEqual((4, True), (found.returncode, "It is not signed: anybody may have written it." in found.stdout))
        document["exit_code"], document["verdict"] = 1, "conformant"
        self.write("mine.json", json.dumps(document))
        found = self.verify("mine.json")
        self.assertEqual((1, True), (found.returncode, "/verdict: must be" in found.stderr), found.stderr)

    def test_a_wrong_store_has_one_that_says_so(self):
        done = certify(self.folder, "wrong", "inproc:?fault=nx-overwrites", *SHORT)
        self.assertEqual(1, done.returncode, done.stderr)
        document = self.load("wrong.json")
        self.assertEqual(("not conformant", []), (document["verdict"], complaints(document)))
        self.assertEqual(["SET-NX-2"], [found["requirement"] for found in document["differences"]])
        self.assertIn("SET-NX-2</span>", (self.folder / "wrong.html").read_text("utf-8"))

    def test_a_part_of_a_run_has_none(self):
        for arguments in (["--run", "get.*"], ["--skip", "get.*"], ["--shard", "1/2"], ["--scenarios", "."],
                          ["--last-failed", "right.json"], ["--baseline", "b.yaml"]):
            done = certify(self.folder, "part", "inproc:", *arguments)
            self.assertEqual((2, True), (done.returncode, "--certificate is for a run " in done.stderr), done.stderr)
        done = certify(self.folder, "nobody", harness.NOBODY)
        self.assertEqual((3, True), (done.returncode, "no certificate is written: " in done.stderr), done.stderr)
        self.assertEqual([], [name for name in ("part", "nobody") if (self.folder / f"{name}.json").exists()])
        done = run("certify", "--endpoint", "inproc:", "--certificate", "store.txt", cwd=self.folder)
        self.assertEqual((2, True), (done.returncode, "needs a file NAME.json" in done.stderr), done.stderr)


if __name__ == "__main__":
    harness.main()
