"""Opens the page of `fencepost certify-client --html` in a browser (headless Chromium), as its reader has it.

    certificate_page_test.py BUILD_BIN_DIR [unittest arguments]

Needs the Debian packages chromium, chromium-driver, python3-selenium and python3-paho-mqtt.
"""

import sys

try:
    from browser_page import PageTest
except ImportError:
    sys.exit("python3-selenium is missing: install the Debian package of that name, or run ci/setup")

import harness

PYTHON = "/usr/bin/python3"  # which has Debian's Paho
CHANGED = (PYTHON, "-B", harness.ROOT / "tests" / "faulty_clients.py")
CASES = ("--run", "malformed.get.[bl]*-alone", "--run", "get.*", "--run", "session.m*")


@harness.full_but("a browser goes through all of the page",
                  "test_a_difference_is_above_the_fold_with_all_that_shows_it")
class CertificatePageTest(PageTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = harness.temporary_folder(cls.addClassCleanup)
        cls.open_browser(cls.folder / "profile")
        cls.page = cls.certify("wrong", 1, *CHANGED, "crashes-on-a-malformed-reply")

    @classmethod
    def certify(cls, name, code, *adapter):
        page = cls.folder / f"{name}.html"
        done = harness.run("certify-client", "--html", page, "--quiet", *CASES, "--", *adapter)
        assert done.returncode == code, done.stdout + done.stderr
        return page

    def test_a_difference_is_above_the_fold_with_all_that_shows_it(self):
        for width in (1400, 390):
            self.screen(width, 900)
            self.open_file(self.page)
            self.assertEqual(self.one("h1").text, "✗ Not conformant")
            first = self.all(".judged")[0]
            self.assertLess(self.run_script("return arguments[0].getBoundingClientRect().top", first), 450)
            said = first.text
            for text in ("GET-HIT-1", "GET of a key that exists is answered with", "malformed.get.line-end-alone",
                         'step 1, get "k" (scenarios/clients/malformed.yaml:', "the adapter ended with exit code 7",
                         '> PUBLISH: "*2\\r\\n$3\\r\\nGET\\r\\n$1\\r\\nk\\r\\n"', "< PUBLISH to clients/fencepost-client-",
                         "certify-client --run malformed.get.line-end-alone -- "):
                self.assertIn(text, said)
            self.assertLessEqual(self.run_script("return document.documentElement.scrollWidth"), width)

    def test_every_case_is_there_by_area_with_its_verdict_and_time(self):
        self.screen(1400, 900)
        self.open_file(self.page)
        self.assertEqual(["results: 14 cases", "malformed: 3 cases, 2 failed"], self.texts(".area summary"))
        self.assertEqual({"✓ passed", "✗ failed"}, set(self.texts(".area .verdict")))
        for time in self.texts(".area td:last-child"):
            self.assertRegex(time, r"^\d+ ms$")
        link = self.all(".area a")[0]
        self.click(link)
        place = "return location.hash"
        self.eventually(lambda: self.run_script(place), "#case-malformed.get.line-end-alone")

    def test_what_the_adapter_said_last_is_shown_as_text(self):
        script = self.folder / "dies.sh"
        script.write_text("""echo '{"fencepost_adapter": 1, "name": "<b>n</b>", "capabilities": ["get"]}'
read line; echo 'panic: <script>1</script>' >&2; exit 9\n""", encoding="utf-8")
        page = self.certify("dies", 1, "/bin/sh", script)
        self.open_file(page)
        self.assertEqual({"panic: <script>1</script>"}, set(self.texts(".words")))
        self.assertIn("<b>n</b>", self.one(".lead").text)

    def test_a_right_client_has_no_failure_and_the_page_is_light_and_dark(self):
        page = self.certify("right", 0, PYTHON, "-B", harness.ROOT / "adapters" / "python_paho" / "adapter.py")
        colours = set()
        for scheme in ("light", "dark"):
            self.media(scheme=scheme)
            self.open_file(page)
            colours.add(self.run_script("return getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(len(colours), 2)
        self.assertEqual(self.one("h1").text, "◔ A part without a failure")  # of all cases
        self.assertEqual([], self.all(".judged"))
        self.click(self.all(".area summary")[0])
        self.assertIn("get.missing", self.one(".area[open]").text)


if __name__ == "__main__":
    harness.main()
