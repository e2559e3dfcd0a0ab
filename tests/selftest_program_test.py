"""Runs `fencepost selftest` with some of the faulty stores, and looks at what it writes: the JSON against
docs/selftest.schema.json and against itself, the page in a browser (headless Chromium), as its readers would.

    selftest_program_test.py BUILD_BIN_DIR [unittest arguments]

The stores are in process: this needs no broker. Needs the Debian packages chromium, chromium-driver, python3-jsonschema
and python3-selenium.
"""

import collections
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import unittest

try:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select, WebDriverWait

    from browser_page import PageTest, changed_page
except ImportError:
    sys.exit("python3-selenium is missing: install the Debian package of that name, or run ci/setup --for-tests")

import harness
from harness import FENCEPOST, HANG, run
from schema_checks import complaints, taken

SCHEMA = harness.load_schema("selftest")
# Stores of every kind: some that are caught, one that only concurrent requests show, a conforming one, one that does no work.
SELECTED = ("S0*", "H01", "H19", "B01", "Z02")


class Run:
    """A selftest with what it wrote."""

    def __init__(self, folder, name, *arguments):
        self.json_file = folder / f"{name}.json"
        self.html = folder / f"{name}.html"
        done = run("selftest", "--json", self.json_file, "--html", self.html, *arguments)
        self.code = done.returncode
        if not self.json_file.exists():
            raise RuntimeError(done.stdout + done.stderr)
        self.json = harness.load_json(self.json_file)


class Fixture:
    """One run for all tests of this file."""

    run = None
    folder = None

    @classmethod
    def get(cls):
        if cls.run is None:
            cls.run = Run(cls.folder, "some", *(word for glob in SELECTED for word in ("--fault", glob)))
        return cls.run


def setUpModule():
    Fixture.folder = harness.temporary_folder(unittest.addModuleCleanup)


class SelftestJsonTest(unittest.TestCase):
    def setUp(self):
        self.document = Fixture.get().json

    def runs(self, kind):
        """(store, dialect, run) of each."""
        return [(store, dialect, run) for store in self.document[kind] for dialect, run in store["dialects"].items()]

    def test_follows_the_schema(self):
        self.assertEqual(complaints(SCHEMA, self.document), [])
        self.assertEqual({fault["id"] for fault in self.document["faults"]},
                         {f"S{number:02}" for number in range(1, 10) if number != 16} | {"H01"})
        self.assertEqual([len(self.document[kind]) for kind in ("benign", "null_stores")], [1, 1])
        self.assertEqual(set(self.document["references"]), {"deployed", "documented"})
        self.assertFalse(self.document["over_the_wire"])

    def test_the_schema_refuses_what_it_should(self):
        def without(document):
            del document["survivors"]

        def with_more(document):
            document["faults"][0]["dialects"]["deployed"]["mood"] = "good"

        def with_an_unknown_reason(document):
            document["survivors"].append(
                {"id": "S01", "dialect": "deployed", "excused": False, "reason": "bad luck", "text": "?"})

        self.assertEqual(taken(SCHEMA, self.document, (without, with_more, with_an_unknown_reason)), [])

    def test_every_case_is_counted_once_in_each_run(self):
        size = len(self.document["cases"])
        self.assertGreater(size, 1000)
        runs = [run for kind in ("faults", "benign", "null_stores") for _, _, run in self.runs(kind)]
        for run in runs + list(self.document["references"].values()):
            listed = [at for name in ("killers", "bystanders", "warned", "inconclusive", "skipped") for at in run[name]]
            self.assertEqual(len(listed), len(set(listed)))
            self.assertEqual(len(listed) + run["passed"], size)
            self.assertLess(max(listed, default=0), size)

    def test_killers_cite_what_the_fault_breaks_and_bystanders_do_not(self):
        cases = self.document["cases"]
        for fault, _, run in self.runs("faults"):
            for at in run["killers"]:
                self.assertTrue(set(cases[at]["requirements"]) & set(fault["requirements"]), (fault["id"], cases[at]["id"]))
            for at in run["bystanders"]:
                self.assertFalse(set(cases[at]["requirements"]) & set(fault["requirements"]), (fault["id"], cases[at]["id"]))
            self.assertEqual(run["as_it_should_be"], bool(run["killers"]))
            self.assertEqual("first_killer" in run, bool(run["killers"]))
            if run["killers"]:
                self.assertIn(run["first_killer"], run["killers"])
                self.assertGreater(run["time_to_kill_ms"], 0)
                self.assertLessEqual(run["time_to_kill_ms"], run["duration_ms"])

    def test_scores_add_up(self):
        def score(stores):
            runs = [run["as_it_should_be"] for store in stores for run in store["dialects"].values()]
            self.assertEqual([store["as_it_should_be"] for store in stores],
                             [all(run["as_it_should_be"] for run in store["dialects"].values()) for store in stores])
            return {"as_they_should_be": sum(runs), "total": len(runs),
                    "stores_as_they_should_be": sum(store["as_it_should_be"] for store in stores), "stores": len(stores)}

        faults = self.document["faults"]
        scores = self.document["score"]
        self.assertEqual(scores["faults"], score(faults))
        self.assertEqual(scores["concurrency_faults"]["total"], 0)
        self.assertEqual(scores["benign"], score(self.document["benign"]))
        self.assertEqual(scores["null_stores"], score(self.document["null_stores"]))
        canaries = scores["canaries"]
        self.assertEqual(canaries["planted"] - canaries["red"], len(self.document["canary_survivors"]))
        for letters, area in self.document["areas"].items():
            own = [fault for fault in faults if fault["id"].rstrip("0123456789") == letters]
            self.assertEqual(area["total"], len(own))
            self.assertEqual(area["caught"], sum(fault["as_it_should_be"] for fault in own))
        times = [run["time_to_kill_ms"] for _, _, run in self.runs("faults") if run["killers"]]
        self.assertEqual(self.document["time_to_kill"]["median_ms"], statistics.median_high(times))
        self.assertEqual(self.document["time_to_kill"]["longest_ms"], max(times))

    def test_the_page_has_the_number_of_wrong_expectations(self):
        page = (harness.ROOT / "docs/SELFTEST.md").read_text("utf-8")
        said = re.search(r"more than ([\d,]+) expectations, each made wrong", page)
        count = int(said.group(1).replace(",", ""))
        self.assertTrue(count <= self.document["score"]["canaries"]["planted"] <= count * 1.1, said.group(0))

    def test_survivors_are_those_without_a_killer(self):
        survivors = {(one["id"], one["dialect"]): one for one in self.document["survivors"]}
        self.assertEqual(set(survivors),
                         {(fault["id"], dialect) for fault, dialect, run in self.runs("faults") if not run["killers"]})

    def test_unique_killers_are_those_of_the_matrix(self):
        alone = collections.defaultdict(list)
        caught = set()
        ran = set()
        for fault, dialect, run in self.runs("faults"):
            caught.update(run["killers"])
            ran.update(set(range(len(self.document["cases"]))) - set(run["skipped"]))
            if len(run["killers"]) == 1:
                alone[run["killers"][0]].append({"id": fault["id"], "dialect": dialect})
        self.assertEqual(self.document["unique_killers"], [{"case": at, "faults": alone[at]} for at in sorted(alone)])
        self.assertEqual(self.document["cases_without_kill"], sorted(ran - caught))
        self.assertTrue(self.document["cases_without_kill"])

    def test_the_exit_code_says_whether_it_is_proved(self):
        self.assertEqual(Fixture.get().code, 0 if self.document["proved"] else 1)
        bad = self.document["canary_survivors"] or any(not one["excused"] for one in self.document["survivors"])
        if bad:
            self.assertFalse(self.document["proved"])

    def test_complains_before_the_run_about_a_file_that_cannot_be_written(self):
        for option in ("--json", "--html"):
            done = run("selftest", option, "/nowhere/at/all")
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stdout, "")
            self.assertIn("/nowhere/at/all", done.stderr)

    def test_what_had_finished_is_written_when_it_is_interrupted(self):
        file = Fixture.folder / "interrupted.json"
        with subprocess.Popen([FENCEPOST, "selftest", "--json", file], stdout=subprocess.PIPE) as process:
            harness.wait_until(lambda: self.handles_interrupts(process.pid))
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=HANG)
            self.assertEqual(process.returncode, 130)
        document = harness.load_json(file)
        self.assertEqual(complaints(SCHEMA, document), [])
        self.assertTrue(document["interrupted"])
        self.assertFalse(document["proved"])
        self.assertLess(len(document["faults"]), document["catalogue"]["faults"])

    def handles_interrupts(self, pid):
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        caught = int(re.search(r"SigCgt:\s*([0-9a-f]+)", status).group(1), 16)
        return caught >> (signal.SIGINT - 1) & 1 == 1


@harness.full_but("a browser goes through all of the page",
                  "test_the_head_has_the_scores", "test_a_fault_opens_to_its_killers", "test_texts_stay_text")
class SelftestPageTest(PageTest):
    @classmethod
    def setUpClass(cls):
        cls.open_browser(Fixture.folder / "profile")
        cls.document = Fixture.get().json

    def setUp(self):
        self.screen(1280, 900)
        self.open()

    def open(self, page=None, place=""):
        self.open_file(page or Fixture.get().html, place)

    def shown(self):
        return self.texts("#p_fault_list .what .id")

    def readout(self):
        return self.texts("#p_readout p")

    def choose(self, label, value):
        for node in self.all("#p_fault_filter label, #p_matrix_tools label"):
            if node.text.startswith(label):
                Select(node.find_element(By.TAG_NAME, "select")).select_by_value(value)
                return
        self.fail(f"no choice {label}")

    # --- the head ---

    def test_the_head_has_the_scores(self):
        scores = self.document["score"]
        figures = dict(zip(self.texts(".figure dt"), self.texts(".figure .value")))
        faults, canaries = scores["faults"], scores["canaries"]
        sign = "✓" if faults["stores_as_they_should_be"] == faults["stores"] else "✗"
        self.assertEqual(figures["Faults caught"], f"{faults['stores_as_they_should_be']} of {faults['stores']}{sign}")
        self.assertTrue(figures["Wrong expectations detected"].startswith(f"{canaries['red']:,} of {canaries['planted']:,}"))
        title = "Proved for a selection" if self.document["proved"] else "NOT proved"
        self.assertEqual(self.one("#p_verdict").text, title)
        self.assertIn(title, self.browser.title)
        self.assertIn(f"{len(self.document['cases']):,} cases", self.one(".circumstances").text)

    def test_survivors_say_why(self):
        def change(document):
            document["survivors"] = [
                {"id": "H01", "dialect": dialect, "excused": True, "reason": "needs-concurrency", "text": "it is luck"}
                for dialect in ("deployed", "documented")]
            next(fault for fault in document["faults"] if fault["id"] == "H01")["as_it_should_be"] = False

        self.open(changed_page(Fixture.get().html, "survivor", change))
        row = next(row for row in self.texts(".attention > li") if "H01" in row)
        self.assertIn("it is luck", row)
        self.assertIn("every dialect", row)
        self.click(self.one(".attention a[href='#H01']"))
        self.eventually(lambda: self.texts(".row[aria-expanded=true] .what .id"), ["H01"])
        chip = next(chip for chip in self.all("#p_fault_filter .chips .chip") if "concurrency" in chip.text)
        self.click(chip)
        self.assertEqual(self.shown(), ["H01"])

    def test_meetings_have_a_table(self):
        stores = self.document["meetings"]["stores"]
        names = self.texts("#p_meetings_body tbody th")
        self.assertEqual(sorted(names), sorted(f"{store['id']} {store['name']}".strip() for store in stores))
        row = next(text for text in self.texts("#p_meetings_body tbody tr") if text.startswith("H19 "))
        found = next(store for store in stores if store["id"] == "H19")
        self.assertIn("✓ caught", row)
        self.assertIn(found["requirement"], row)

    def test_areas_count_their_faults(self):
        names = self.texts(".areas tbody th")
        self.assertEqual(names, [area["name"] for area in self.document["areas"].values()])
        caught = self.texts(".areas td:nth-child(3)")
        self.assertEqual(caught, [f"{area['caught']} of {area['total']}" for area in self.document["areas"].values()])
        self.click(self.all(".areas button")[names.index("Versions, clock")])
        self.assertEqual(self.shown(), ["H01"])

    # --- the list of faults ---

    def test_lists_searches_and_filters(self):
        everything = [fault["id"] for fault in self.document["faults"]]
        self.assertEqual(sorted(self.shown()), sorted(everything))
        field = self.one("#p_fault_filter input[type=search]")
        field.send_keys("NX overwrites")
        self.assertEqual(self.shown(), ["S01"])
        self.assertEqual(self.one("#p_fault_filter .found").text, f"1 of {len(everything)} faults")
        field.send_keys(" no such fault")
        self.assertIn("No fault matches", self.one("#p_fault_list").text)
        field.send_keys(Keys.ESCAPE)
        self.assertEqual(len(self.shown()), len(everything))
        self.choose("Area", "H")
        self.assertEqual(self.shown(), ["H01"])

    def test_orders_by_the_number_of_killers(self):
        self.choose("Order", "killers")
        killers = {fault["id"]: len({at for run in fault["dialects"].values() for at in run["killers"]})
                   for fault in self.document["faults"]}
        counts = [killers[name] for name in self.shown()]
        self.assertEqual(counts, sorted(counts))
        self.assertGreater(len(set(counts)), 2)

    def test_a_fault_opens_to_its_killers(self):
        self.open(place="#S01")
        fault = self.document["faults"][0]
        self.assertEqual(fault["id"], "S01")
        detail = self.one("#p_fault_S01_detail")
        self.assertIn(", ".join(fault["requirements"]), detail.text)
        for more in detail.find_elements(By.XPATH, ".//button[starts-with(text(), 'and ')]"):
            self.click(more)
        cases = self.document["cases"]
        killers = {cases[at]["id"] for run in fault["dialects"].values() for at in run["killers"]}
        listed = self.run_script("return [...arguments[0].querySelector('.case-areas').querySelectorAll('.case-id')]"
                             ".map((one) => one.textContent)", detail)
        self.assertEqual(sorted(listed), sorted(killers))
        runs = self.texts("#p_fault_S01_detail .runs tbody th")
        self.assertEqual(runs, list(fault["dialects"]))
        run = fault["dialects"][runs[0]]
        self.assertEqual(self.texts("#p_fault_S01_detail .runs tbody tr:first-child td")[:4],
                         [f"{count:,}" for count in (len(run["killers"]), len(run["bystanders"]),
                                                     len(run["inconclusive"]), run["passed"])])

    def test_a_case_leads_to_what_it_catches(self):
        at = self.document["faults"][0]["dialects"]["deployed"]["killers"][0]
        wanted = [fault["id"] for fault in self.document["faults"]
                  if any(at in run["killers"] for run in fault["dialects"].values())]
        name = self.document["cases"][at]["id"]
        self.open(place="#" + name)
        self.assertEqual(sorted(self.shown()), sorted(wanted))
        self.click(next(chip for chip in self.all("#p_fault_filter > .chip") if name in chip.text))
        self.assertEqual(len(self.shown()), len(self.document["faults"]))

    # --- the matrix ---

    def codes_on_screen(self):
        """The colours that the canvas has, apart from its ground."""
        return self.run_script(
            "const canvas = document.querySelector('#p_canvas');"
            "const copy = document.createElement('canvas');"
            "[copy.width, copy.height] = [canvas.width, canvas.height];"
            "const pen = copy.getContext('2d', {willReadFrequently: true});"
            "pen.drawImage(canvas, 0, 0);"
            "const data = pen.getImageData(0, 0, copy.width, copy.height).data;"
            "const seen = {};"
            "for (let i = 0; i < data.length; i += 4) {"
            "  const name = `rgb(${data[i]}, ${data[i + 1]}, ${data[i + 2]})`; seen[name] = (seen[name] ?? 0) + 1; }"
            "return seen")

    def drawn(self):
        WebDriverWait(self.browser, HANG).until(lambda _: self.run_script(
            "const canvas = document.querySelector('#p_canvas'); return canvas.width > 300 && "
            "canvas.width === canvas.getContext('2d').canvas.clientWidth"))

    def test_the_matrix_is_drawn_in_both_themes(self):
        for theme in ("light", "dark"):
            self.run_script("document.documentElement.dataset.theme = arguments[0]", theme)
            self.run_script("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            self.drawn()
            colours = self.codes_on_screen()
            for kind in ("detecting", "non-detecting"):
                wanted = self.run_script(
                    "return getComputedStyle(document.querySelector(`.legend .${arguments[0]}`)).color", kind)
                self.assertGreater(colours.get(wanted, 0), 100, f"{theme} {kind} {wanted}")

    def columns(self):
        areas = list(dict.fromkeys(case["area"] for case in self.document["cases"]))
        return [at for area in areas for at, case in enumerate(self.document["cases"]) if case["area"] == area]

    def rows(self):
        return [fault for letters in self.document["areas"] for fault in self.document["faults"] if fault["area"] == letters]

    def outcome(self, fault, at):
        for name, word in (("killers", "detecting"), ("bystanders", "non-detecting"), ("inconclusive", "inconclusive"),
                           ("skipped", "skipped")):
            if any(at in run[name] for run in fault["dialects"].values()):
                return word
        return "passed"

    def test_the_keyboard_goes_through_the_matrix(self):
        columns, rows = self.columns(), self.rows()
        canvas = self.one("#p_canvas")
        self.run_script("arguments[0].focus({focusVisible: true})", canvas)
        self.assertIn(rows[0]["id"], self.readout()[1])
        self.assertIn(self.document["cases"][columns[0]]["id"], self.readout()[2])
        ActionChains(self.browser).key_down(Keys.SHIFT).send_keys(Keys.ARROW_RIGHT).key_up(Keys.SHIFT).perform()
        first = next(at for at in columns[1:] if self.outcome(rows[0], at) not in ("passed", "skipped"))
        self.assertTrue(self.readout()[0].startswith(self.outcome(rows[0], first)), self.readout())
        self.assertIn(self.document["cases"][first]["id"], self.readout()[2])
        canvas.send_keys(Keys.END, Keys.ARROW_DOWN)
        self.assertIn(rows[1]["id"], self.readout()[1])
        self.assertIn(self.document["cases"][columns[-1]]["id"], self.readout()[2])
        self.assertTrue(self.readout()[0].startswith(self.outcome(rows[1], columns[-1])))
        canvas.send_keys(Keys.ARROW_RIGHT)  # there is nothing beyond
        self.assertIn(self.document["cases"][columns[-1]]["id"], self.readout()[2])
        canvas.send_keys(Keys.ENTER)
        self.assertEqual(self.texts(".row[aria-expanded=true] .what .id"), [rows[1]["id"]])

    def test_pointing_tells_and_a_click_opens(self):
        self.choose("Scale", "10")
        self.drawn()
        canvas = self.one("#p_canvas")
        self.run_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
        # In the first row, the first case: behind the names of the faults, below those of the areas.
        place = self.run_script("const box = arguments[0].getBoundingClientRect(); return [box.width, box.height]", canvas)
        x, y = 235 - int(place[0] / 2), 110 - int(place[1] / 2)
        ActionChains(self.browser).move_to_element_with_offset(canvas, x, y).perform()
        fault, case = self.rows()[0], self.document["cases"][self.columns()[0]]
        self.assertIn(fault["name"], self.readout()[1])
        self.assertIn(case["id"], self.readout()[2])
        self.assertTrue(self.readout()[0].startswith(self.outcome(fault, self.columns()[0])))
        ActionChains(self.browser).click().perform()
        self.assertEqual(self.texts(".row[aria-expanded=true] .what .id"), [fault["id"]])

    def test_the_same_stands_in_a_table(self):
        self.click(self.one("#p_heat summary"))
        areas = self.texts(".heat thead th")[1:]
        cells = dict(zip(areas, self.texts(".heat tbody tr:first-child td")))
        cases = self.document["cases"]
        for area in areas:
            wanted = sum(any(cases[at]["area"] == area for run in fault["dialects"].values() for at in run["killers"])
                         for fault in self.rows() if fault["area"] == "S")
            self.assertEqual(cells[area], str(wanted), area)
        button = self.one(".heat tbody tr:first-child button[aria-label^='Cases of set ']")
        wanted = int(button.text)
        self.click(button)
        self.assertEqual(len(self.shown()), wanted)

    # --- any input ---

    def test_texts_stay_text(self):
        def change(document):
            document["faults"][0]["text"] = "</script><img src=x onerror='window.broken=1'>"
            document["faults"][0]["name"] = document["cases"][0]["title"] = "<img src=x onerror='window.broken=1'>"

        self.open(changed_page(Fixture.get().html, "hostile", change), "#S01")
        self.assertIsNone(self.run_script("return window.broken"))
        self.assertEqual(self.all("img, script[src], link, iframe"), [])
        self.assertIn("<img src=x", self.one("#p_fault_S01_row").text)

    def test_says_so_when_nothing_ran(self):
        def change(document):
            for name in ("faults", "benign", "null_stores", "survivors", "unique_killers", "cases_without_kill",
                         "canary_survivors", "cases"):
                document[name] = []
            document["areas"] = document["references"] = {}
            document["score"]["canaries"] = {"red": 0, "planted": 0}

        self.open(changed_page(Fixture.get().html, "nothing", change))
        text = self.one("#p_main").text
        for sentence in ("Nothing ran.", "there is no matrix", "No fault was run.", "None was planted."):
            self.assertIn(sentence, text)

    def test_tells_what_else_went_wrong(self):
        def change(document):
            document["canary_survivors"] = [{"case": 0, "what": "step 7: nothing", "dialect": "deployed"}]
            run = document["benign"][0]["dialects"]["deployed"]
            run["bystanders"], run["as_it_should_be"] = [1], False
            run = document["null_stores"][0]["dialects"]["deployed"]
            run["passes"], run["as_it_should_be"] = [2], False

        self.open(changed_page(Fixture.get().html, "wrong", change))
        rows = "\n".join(self.texts(".attention > li"))
        ids = [case["id"] for case in self.document["cases"]]
        for sentence in ("step 7: nothing", f"a false positive: {ids[1]} failed", f"passed: {ids[2]}"):
            self.assertIn(sentence, rows)

    def test_fits_a_phone(self):
        self.screen(360, 740, mobile=True)
        self.open(place="#S01")
        self.click(self.one("#p_heat summary"))
        self.assertEqual(self.run_script("return document.documentElement.scrollWidth"), 360)

    def test_names_and_roles_for_screen_readers(self):
        self.open(place="#S01")
        nameless = self.run_script(
            "return [...document.querySelectorAll('button, input, select')].filter((one) => one.checkVisibility() &&"
            " !one.textContent.trim() && !one.getAttribute('aria-label') && !one.labels?.length).length")
        self.assertEqual(nameless, 0)
        ids = self.run_script("return [...document.querySelectorAll('[id]')].map((one) => one.id)")
        self.assertEqual(len(ids), len(set(ids)))
        self.assertTrue(all("_" in one for one in ids), "ids of the page hold an underscore")


if __name__ == "__main__":
    harness.main()
