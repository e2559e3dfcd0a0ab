"""Certificates of stores, and sites of them, in a browser (headless Chromium).

usage: certificate_test.py BUILD_BIN_DIR [unittest arguments]
All runs are in process. Needs the Debian packages chromium, chromium-driver and python3-selenium.
"""

import base64
import json
import pathlib
import re
import shutil
import sys
import tempfile

import jsonschema

try:
    from browser_page import PageTest
except ImportError:
    sys.exit("python3-selenium is missing: install the Debian package of that name, or run ci/setup")

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
                     'Good "fencepost" signature', "right.fpe is the evidence of this run",
                     "`fencepost judge right.fpe` repeats"):
            self.assertIn(text, found.stdout)
        page = (self.folder / "right.html").read_text("utf-8")
        self.assertIn("A store 2.1 (Example &lt;b&gt;)", page)

    def test_a_change_is_found(self):
        (self.folder / "right.fpe").write_bytes(b"fencepost evidence 1\n")
        found = self.verify("right.json")
        self.assertEqual(1, found.returncode, found.stdout)
        self.assertIn("right.fpe is not the evidence of this run", found.stderr)
        self.assertNotIn("It is signed", found.stdout)
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
        harness.must("ssh-keygen", "-q", "-Y", "sign", "-n", "fencepost", "-f", self.folder / "me", self.folder / "mine.json")
        found = self.verify("mine.json")
        self.assertEqual((0, False), (found.returncode, "not signed" in found.stdout), found.stderr)
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
        done = certify(self.folder, "right", "inproc:", "--resume", "right.fpe")
        self.assertEqual((2, True), (done.returncode, "remove --resume" in done.stderr), done.stderr)
        done = certify(self.folder, "nobody", harness.NOBODY)
        self.assertEqual((3, True), (done.returncode, "no certificate is written: " in done.stderr), done.stderr)
        self.assertEqual([], [name for name in ("part", "nobody") if (self.folder / f"{name}.json").exists()])
        done = run("certify", "--endpoint", "inproc:", "--certificate", "store.txt", cwd=self.folder)
        self.assertEqual((2, True), (done.returncode, "needs a file NAME.json" in done.stderr), done.stderr)


HOSTILE = "<img src=x onerror=alert(1)>"
STORES = {"right": ("inproc:", "Right store"), "wrong": ("inproc:?fault=nx-overwrites", "Hasty store")}
MORE_STORES = {"deployed": ("inproc:?dialect=deployed", "Deployed store"),
               "documented": ("inproc:?dialect=documented", "Documented store"),
               "forgetful": ("inproc:?fault=F01", HOSTILE)}


@harness.full_but("a browser goes through all pages of five stores",
                  "test_bad_certificates_are_left_out", "test_the_first_page_leads_to_each_store")
class SiteTest(PageTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = harness.temporary_folder(cls.addClassCleanup)
        cls.open_browser(cls.folder / "profile")
        cls.given = cls.folder / "given"
        cls.given.mkdir()
        cls.stores = STORES if harness.IN_GATE else STORES | MORE_STORES
        for name, (url, product) in cls.stores.items():
            certify(cls.given, name, url, *SHORT, product=f"{{name: '{product}', version: '1'}}")
        document = harness.load_json(cls.given / "wrong.json")
        document["product"]["version"], document["started"] = "2", "2999-01-01T00:00:00Z"
        (cls.given / "wrong-2.json").write_text(json.dumps(document), encoding="utf-8")
        cls.site = cls.folder / "site"
        done = run("compare", "--site", cls.site, cls.given)
        assert done.returncode == 0, done.stdout + done.stderr

    def pages(self):
        return sorted(self.site.rglob("*.html"))

    def test_bad_certificates_are_left_out(self):
        other = self.folder / "other"
        other.mkdir(exist_ok=True)
        shutil.copy(self.given / "right.json", other)
        for name, text in {"text.json": "text", "report.json": "{}", "changed.json":
                           (self.given / "wrong.json").read_text("utf-8").replace('"not conformant"', '"conformant"')}.items():
            (other / name).write_text(text, encoding="utf-8")
        done = run("compare", "--site", self.folder / "of other", other, self.folder / "nowhere.json")
        self.assertEqual((1, True), (done.returncode, "1 certificate, 4 left out" in done.stdout), done.stdout + done.stderr)
        for said in ("text.json: this is not a certificate", "report.json: this is not a certificate",
                     "changed.json: /verdict: must be", "nowhere.json"):
            self.assertIn(said, done.stderr)
        self.assertTrue((self.folder / "of other" / "store-right-store.html").exists())
        done = run("compare", "--site", self.folder / "none", other / "text.json")
        self.assertEqual((2, False), (done.returncode, (self.folder / "none").exists()), done.stderr)

    def test_the_first_page_leads_to_each_store(self):
        for width in (1400, 390):
            self.screen(width, 900)
            self.open_file(self.site / "index.html")
            self.assertEqual(f"{len(self.stores)} implementations", self.one("#p_verdict").text)
            self.assertLessEqual(self.run_script("return document.documentElement.scrollWidth"), width)
        links = self.all(".site-table tbody th a")
        self.assertEqual({product for _, product in self.stores.values()}, {link.text for link in links})
        groups = self.texts(".part-of-site:last-of-type tbody tr")
        self.assertGreater(len(groups), 10)
        self.assertTrue(any("✗" in row for row in groups))
        self.click(next(link for link in links if link.text == "Hasty store"))
        self.eventually(lambda: self.one("#p_verdict").text, "Hasty store 2")
        rows = self.texts(".site-table tbody tr")
        self.assertEqual(2, len(rows))
        self.assertIn("Not conformant", rows[0])
        self.assertIn("SET-NX-2", self.one(".broken-rules").text)
        self.click(self.all(".site-table a")[0])
        self.eventually(lambda: self.texts(".product"), ["Fencepost conformance certificate"])

    def test_rules_are_found_by_text(self):
        self.screen(1400, 900)
        self.open_file(self.site / "rules.html")
        self.click(self.one("#p_tab_requirements"))
        search = self.one("#p_requirements_filter input[type=search]")
        search.send_keys("does not set a key that exists")
        shown = "return [...document.querySelectorAll('#p_requirements tbody tr')].filter((row) => row.offsetParent).length"
        self.eventually(lambda: self.run_script(shown), 1)
        row = next(row for row in self.all("#p_requirements tbody tr") if row.is_displayed())
        self.assertIn("SET-NX-2", row.text)
        self.assertEqual(len(self.stores) + 1, len(self.run_script("return [...arguments[0].cells]", row)))
        self.click(self.one("nav a[href='index.html']"))
        self.eventually(lambda: self.texts("#p_verdict"), [f"{len(self.stores)} implementations"])

    def test_all_pages_are_light_and_dark_fit_and_show_text_of_others_as_text(self):
        for page in self.pages():
            colours = set()
            for width, scheme in ((1400, "light"), (390, "dark")):
                self.screen(width, 900)
                self.media(scheme=scheme)
                self.open_file(page)
                colours.add(self.run_script("return getComputedStyle(document.body).backgroundColor"))
                self.assertLessEqual(self.run_script("return document.documentElement.scrollWidth"), width, page)
            self.assertEqual(len(colours), 2)
            self.assertEqual([], self.all("img"))
            self.assertEqual(1, len(self.all("h1")), page)
        self.open_file(self.site / "index.html")
        self.assertIn(HOSTILE, self.texts(".site-table tbody th a"))

    def test_every_link_leads_to_a_file(self):
        for page in self.pages():
            self.open_file(page)
            for link in self.run_script("return [...document.querySelectorAll('a')].map((a) => a.getAttribute('href'))"):
                target = page.parent / link.partition("#")[0] if not link.startswith("#") else page
                self.assertTrue(target.exists(), f"{page}: {link}")

    def test_a_certificate_prints_on_one_sheet(self):
        for page in (self.site / "certificates").glob("*.html"):
            self.open_file(page)
            printed = self.cdp("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True)
            self.assertEqual(1, len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(printed["data"]))), page)


if __name__ == "__main__":
    harness.main()
