"""Opens the pages of `fencepost matrix` and `fencepost compare` in a browser (headless Chromium).

    matrix_page_test.py BUILD_BIN_DIR [unittest arguments]

Needs the Debian packages chromium, chromium-driver and python3-selenium.
"""

import json
import sys

try:
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select

    from browser_page import PageTest
except ImportError:
    sys.exit("python3-selenium is missing: install the Debian package of that name, or run ci/setup")

import harness
from harness import run as fencepost


@harness.full_but("a browser goes through all of the page",
                  "test_every_requirement_and_case_is_there", "test_outcomes_of_a_run_come_first")
class MatrixPageTest(PageTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = harness.temporary_folder(cls.addClassCleanup)
        cls.open_browser(cls.folder / "profile")
        cls.page, cls.page_of_run = cls.folder / "matrix.html", cls.folder / "run.html"
        fencepost("matrix", "--html", cls.page, "--json", cls.folder / "matrix.json")
        cls.document = json.loads((cls.folder / "matrix.json").read_text(encoding="utf-8"))
        report = cls.folder / "report.json"
        fencepost("certify", "--endpoint", "inproc:?fault=nx-overwrites", "--run", "set.nx.*", "--json", report, "--quiet")
        fencepost("matrix", "--html", cls.page_of_run, "--json", cls.folder / "run.json", "--report", report)
        cls.run_document = json.loads((cls.folder / "run.json").read_text(encoding="utf-8"))

    def setUp(self):
        self.screen(1280, 900)
        self.media()

    def shown(self, selector):
        return self.run_script(
            "return [...document.querySelectorAll(arguments[0])].filter((row) => row.checkVisibility())"
            ".map((row) => row.querySelector('.id').textContent)", selector)

    def choose(self, form, label, value):
        for node in self.all(f"#{form} label"):
            if node.text.startswith(label):
                Select(node.find_element("tag name", "select")).select_by_visible_text(value)
                return
        self.fail(f"no choice {label}")

    def test_the_head_says_whether_something_is_left_unchecked(self):
        self.open_file(self.page)
        self.assertEqual(self.one("#p_verdict").text, "Complete")
        must = self.document["levels"]["must"]
        self.assertEqual(self.one("#p_lead").text,
                         f"{must['covered']} of {must['testable']} testable MUST requirements have a case.")
        figures = dict(zip(self.texts(".totals dt"), self.texts(".totals dd")))
        self.assertEqual(figures["requirements"], str(self.document["totals"]["requirements"]))
        self.assertEqual(figures["cases"], str(self.document["totals"]["cases"]))

    def test_every_requirement_and_case_is_there(self):
        self.open_file(self.page)
        self.assertEqual(set(self.shown("#p_requirement_list .requirement")),
                         {rule["id"] for rule in self.document["requirements"]})
        self.click(self.one("#p_tab_cases"))
        self.assertEqual(set(self.shown("#p_case_list li")), {case["id"] for case in self.document["cases"]})

    def test_filters(self):
        self.open_file(self.page)
        rules = self.document["requirements"]
        self.choose("p_requirement_filter", "Applies to", "client")
        self.assertEqual(set(self.shown(".requirement")), {rule["id"] for rule in rules if rule["binds"] == "client"})
        self.click(self.one("#p_requirement_filter .clear"))
        self.choose("p_requirement_filter", "Coverage", "unspecified")
        self.assertEqual(set(self.shown(".requirement")), {rule["id"] for rule in rules if rule["open"]})
        self.click(self.one("#p_requirement_filter .clear"))
        self.choose("p_requirement_filter", "Area", "quota")
        of_quota = {case["id"] for case in self.document["cases"] if case["area"] == "quota"}
        self.assertEqual(set(self.shown(".requirement")), {rule["id"] for rule in rules if of_quota & set(rule["cases"])})

    def test_a_cell_of_the_grid_leads_to_its_cases(self):
        self.open_file(self.page)
        self.click(self.one("#p_tab_grid"))
        button = self.all(".grid .number button")[0]
        words = button.get_attribute("aria-label").split()  # "8 cases of envelope for ENV-RESPONSE-1"
        self.click(button)
        cases = {case["id"] for case in self.document["cases"] if case["area"] == words[3] and words[5] in case["requirements"]}
        self.assertEqual(len(cases), int(words[0]))
        self.assertLessEqual(cases, set(self.shown("#p_case_list li")))

    def test_links_open_an_entry(self):
        self.open_file(self.page, "#SET-NX-2")
        detail = self.one(".requirement.open .detail").text
        self.assertIn("set.nx.refuses-existing-key", detail)
        self.click(next(link for link in self.all(".citing a") if link.text == "set.nx.refuses-existing-key"))
        self.assertEqual(self.shown("#p_case_list li.open"), ["set.nx.refuses-existing-key"])
        self.assertIn("fencepost certify --run set.nx.refuses-existing-key", self.one("#p_case_list li.open .command").text)

    def test_keys(self):
        self.open_file(self.page)
        self.one("body").send_keys("/")
        self.browser.switch_to.active_element.send_keys("env-ha-1")
        self.assertEqual(self.shown(".requirement"), ["ENV-HA-1"])
        self.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
        self.one("body").send_keys("j")
        self.assertIn("row", self.browser.switch_to.active_element.get_attribute("class"))

    def test_with_a_run_that_broke_something(self):
        self.open_file(self.page_of_run)
        broken = {rule["id"] for rule in self.run_document["requirements"]
                  if rule.get("result", {}).get("verdict") == "broken"}
        self.assertTrue(broken)
        self.assertEqual(self.one("#p_masthead").get_attribute("data-verdict"), "failed")
        self.assertRegex(self.one("#p_verdict").text, rf"^{len(broken)} requirements? broken$")
        self.click(next(chip for chip in self.all("#p_requirement_filter .chip") if "broken" in chip.text))
        self.assertEqual(set(self.shown(".requirement")), broken)

    def test_outcomes_of_a_run_come_first(self):
        self.open_file(self.page_of_run)
        states = [rule["result"]["verdict"] for rule in self.run_document["requirements"] if "result" in rule]
        figures = list(zip(self.texts(".totals dt"), self.texts(".totals dd")))
        self.assertEqual(figures[0], ("broken", str(states.count("broken"))))
        self.assertIn(("passed", str(states.count("passed"))), figures)
        self.assertEqual(self.texts("#p_requirement_list .group")[0], "Needs attention")
        self.assertEqual(self.shown("#p_requirement_list .requirement")[0], "SET-NX-2")
        self.click(self.one("#p_tab_grid"))
        cell = next(button for button in self.all(".grid .number button")
                    if button.get_attribute("aria-label").endswith("of set for SET-NX-2: failed"))
        self.assertIn("bad", cell.find_element("xpath", "..").get_attribute("class"))

    def test_fits_a_phone(self):
        self.screen(360, 740, mobile=True)
        self.open_file(self.page)
        for panel in ("requirements", "cases", "grid"):
            self.click(self.one(f"#p_tab_{panel}"))
            self.assertEqual(self.run_script("return document.documentElement.scrollWidth"), 360, panel)


class ComparePageTest(PageTest):
    @classmethod
    def setUpClass(cls):
        # What is made first is removed last: the browser writes to its folder until it ends.
        cls.folder = harness.temporary_folder(cls.addClassCleanup)
        cls.open_browser(cls.folder / "profile")

    def test_parts_of_runs_stand_side_by_side(self):
        folder = self.folder
        for name, endpoint in (("right", "inproc:"), ("wrong", "inproc:?fault=nx-overwrites")):
            fencepost("certify", "--endpoint", endpoint, "--run", "set.nx.*", "--json", folder / f"{name}.json", "--quiet")
        fencepost("compare", f"right={folder}/right.json", f"wrong={folder}/wrong.json", "--html", folder / "page.html")
        for width in (1400, 390):
            self.screen(width, 900)
            self.open_file(folder / "page.html")
            self.assertEqual(2, len(self.all("#p_columns tbody tr")))
            self.assertIn("certifies nothing", self.one("#p_columns").text)


if __name__ == "__main__":
    harness.main()
