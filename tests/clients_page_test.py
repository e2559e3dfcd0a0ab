"""Opens the page of `fencepost serve --judge-clients --html` in a browser (headless Chromium), as its reader has it.

    clients_page_test.py BUILD_BIN_DIR [unittest arguments]

Needs the Debian packages chromium, chromium-driver, python3-selenium and mosquitto-clients.
"""

import sys

try:
    from browser_page import PageTest
except ImportError:
    sys.exit("python3-selenium is missing: install the Debian package of that name, or run ci/setup")

import harness

REQUESTS = "statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke"
CLIENT = "it's <b>me</b>"


@harness.full_but("a browser goes through all of the page",
                  "test_it_says_who_broke_what_and_with_which_bytes")
class ClientsPageTest(PageTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = harness.temporary_folder(cls.addClassCleanup)
        cls.open_browser(cls.folder / "profile")
        cls.page = cls.folder / "clients.html"
        done = harness.run("serve", "--judge-clients", "--html", cls.page, "--", "sh", "-c",
                           f'mosquitto_pub -V 5 -h $FENCEPOST_HOST -p $FENCEPOST_PORT -i "$0" -q 0 -t {REQUESTS} -m "GET <i>"',
                           CLIENT)
        assert done.returncode == 1, done.stdout + done.stderr

    def test_it_says_who_broke_what_and_with_which_bytes(self):
        for width in (1400, 390):
            self.screen(width, 900)
            self.open_file(self.page)
            self.assertEqual(self.one("h1").text, "✗ Not conformant")
            self.assertEqual(self.texts(".judged .id"), ["ENV-QOS-2", "ENV-RESPONSE-TOPIC-5", "ENV-CORRELATION-2",
                                                         "RESP-ARRAY-1"])
            self.assertEqual(self.texts(".judged blockquote")[0], "A client publishes its requests with QoS 1.")
            self.assertEqual(set(self.texts(".seen .who b")), {f'"{CLIENT}"'})
            self.assertEqual(self.texts(".seen .why")[0], "the request has QoS 0")
            self.assertRegex(self.one(".judged:first-of-type pre").text, r"0000 +30 4b 00")
            self.assertTrue(self.one(".judged:first-of-type pre").is_displayed())
            self.assertLessEqual(self.run_script("return document.documentElement.scrollWidth"), width)

    def test_it_is_light_and_dark(self):
        colours = set()
        for scheme in ("light", "dark"):
            self.media(scheme=scheme)
            self.open_file(self.page)
            colours.add(self.run_script("return getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(len(colours), 2)
        theme = self.one("#p_theme")
        self.click(theme)
        self.assertEqual(theme.text, "Theme: light")
        self.assertEqual(self.run_script("return document.documentElement.dataset.theme"), "light")

    def test_the_rules_that_were_kept_can_be_read(self):
        self.open_file(self.page)
        self.click(self.one(".kept summary"))
        shown = self.texts(".kept tbody th")
        self.assertIn("MQTT-3.3.1-1", shown)
        self.assertNotIn("ENV-QOS-2", shown)
        self.assertEqual(self.one(".kept summary").text, f"{len(shown)} rules that no client breaks")


if __name__ == "__main__":
    harness.main()
