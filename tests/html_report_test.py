"""Opens the HTML reports of real runs in a browser (headless Chromium) and uses them as a reader would.

    html_report_test.py BUILD_BIN_DIR [unittest arguments]

The runs are in process, most with the cases of this file: they need no broker and take no time. Needs the Debian packages
chromium, chromium-driver and python3-selenium.
"""

import json
import re
import sys

try:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select

    from browser_page import PageTest, changed_page
except ImportError:
    sys.exit("python3-selenium is missing: install the Debian package of that name, or run ci/setup --for-tests")

import harness
from harness import FENCEPOST, HANG, Reports, must

MAX_CLEAN_PAGE = 3_000_000  # bytes of the page of a run in which every built-in case passed or was skipped
MAX_PAGE_OF_ONE_FAULT = 4_000_000

# A case for each verdict that a store in process can have, and bytes that break out of any text that is not escaped.
SCENARIOS = r"""
area: sample
cases:
""" + harness.REFUSES_EXISTING_KEY + r"""  - id: breaks-out
    title: "</script><img src=x onerror='window.broken=1'> & <!-- stay in here"
    requirements: [GET-HIT-1, GET-HIT-2, GET-HIT-3]
    steps:
      - set: {key: k, value: {escaped: '</script><script>window.broken=1</script>'}, properties: [["<b>", "</dl>"]]}
        expect: ok
      - get: k
        expect: {reply: {value: {escaped: '<img src=x onerror="window.broken=1">'}}}
  - id: expects-other-bytes
    title: Fails on every store
    requirements: [SET-NX-2]
    steps:
      - set: {key: k, value: {hex: "00017f80ffc30d0a5d5d3e3c26"}, content_type: "text/plain", correlation: {hex: "00ff"}}
        expect: ok
      - get: k
        expect:
          reply: {value: {hex: "00017f80fec30d0a5d5d3e3c26"}}
      - get: k
        expect: missing
""" + harness.undecided_and_skipped(rules=("SET-PX-1", "ENV-QOS-1")) + r"""  - id: p-cases
    title: Three clients, a wait, and an open point
    requirements: [SET-OPTION-OPEN-3, NTF-VALUE-1, GET-HIT-2]
    clients: {b: {observes: true}, a: {}, c: {}}
    steps:
      - keynotify: {key: k, client: b}
        expect: ok
      - wait: 2s
      - set: {key: k, value: v, client: a}
        expect: {reply: {open: {executed: ok, refused: {error: syntax}}}, cites: SET-OPTION-OPEN-3}
      - notification: {client: b, key: k, operation: set, value: v, cites: NTF-VALUE-1}
      - get: {key: k, client: c}
        expect: {reply: {value: v}}
"""
FAILED = ("breaks-out", "expects-other-bytes")

# For the text of every element that can be seen: the contrast with what is behind it (WCAG 2, 1.4.3).
CONTRASTS = r"""
const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
const parse = (text) => text.match(/[\d.]+/g).map(Number);
const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const behind = (node) => {
  for (; node; node = node.parentElement) {
    const [r, g, b, a = 1] = parse(getComputedStyle(node).backgroundColor);
    if (a === 1) return [r, g, b];
  }
  return [255, 255, 255];
};
const found = new Map();
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !node.checkVisibility() || node.closest('.unseen, .skip, script, option')) continue;
  const a = luminance(parse(getComputedStyle(node).color));
  const b = luminance(behind(node));
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const name = `${node.tagName}.${node.className} "${walker.currentNode.data.trim().slice(0, 30)}"`;
  if (ratio < 4.5) found.set(name, ratio);
}
return [...found].map(([name, ratio]) => `${ratio.toFixed(2)} ${name}`);
"""


class Report(Reports):
    """The reports of one run, as files in a folder of their own."""

    def __init__(self, folder, name, *arguments, scenarios=SCENARIOS):
        (folder / name).mkdir()
        if scenarios:
            arguments += ("--transcripts", "all")
        super().__init__(folder / name, *arguments, kinds=("json", "html"), scenarios=scenarios)
        self.html = self.paths["html"]

    def changed(self, name, change):
        return changed_page(self.html, name, change)


def hundred_cases(first):
    lines = [f"area: generated-{first // 100}", "cases:"]
    for number in range(first, first + 100):
        lines += [f"  - id: generated.case-{number:04}", f"    title: The generated case with the number {number}",
                  "    requirements: [GET-HIT-1]", "    steps:",
                  f"      - set: {{key: k, value: 'v{number}'}}", "        expect: ok"]
        for value in (f"v{number}", f"v{number}", "other" if number % 250 == 7 else f"v{number}"):
            lines += ["      - get: k", f"        expect: {{reply: {{value: '{value}'}}}}"]
    return "\n".join(lines) + "\n"


@harness.full_but("a browser goes through all of the page",
                  "test_the_head_says_verdict_score_and_circumstances", "test_bytes_of_a_peer_stay_text",
                  "test_a_failure_is_told_in_full", "test_searches_ids_titles_and_rules", "test_fits_a_phone")
class HtmlReportTest(PageTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = harness.temporary_folder(cls.addClassCleanup)
        cls.open_browser(cls.folder / "profile")
        cls.sample = Report(cls.folder, "sample", "--endpoint", "inproc:")
        cls.built_in = Report(cls.folder, "built-in", "--endpoint", "inproc:", scenarios="")

    def setUp(self):
        self.screen(1280, 900)
        self.media()
        self.cdp("Emulation.setScriptExecutionDisabled", value=False)

    # --- a reader's hands and eyes ---

    def open(self, page, place="", scripts=True):
        self.open_file(page.html if isinstance(page, Report) else page, place, scripts)

    def shown(self, kind="case"):
        """The ids of the rows that can be seen."""
        return self.run_script(
            "return [...document.querySelectorAll(`.${arguments[0]}`)].filter((row) => row.checkVisibility())"
            ".map((row) => row.querySelector('.id').textContent)", kind)

    def row(self, name):
        """The list entry of a case or requirement."""
        return self.run_script(
            "return [...document.querySelectorAll('.case, .requirement')]"
            ".find((row) => row.querySelector('.id').textContent === arguments[0])", name)

    def opened(self):
        return self.texts(".row[aria-expanded=true] .what .id")

    def within(self, name, selector):
        return self.row(name).find_elements(By.CSS_SELECTOR, selector)

    def text_within(self, name, selector):
        return [node.text for node in self.within(name, selector)]

    def press(self, *keys):
        self.browser.switch_to.active_element.send_keys(*keys)

    def focused(self):
        return self.run_script("return document.activeElement.querySelector('.id')?.textContent ?? document.activeElement.id")

    def chip(self, word, panel="cases"):
        for chip in self.all(f"#p_{panel} .chip"):
            if word in chip.text:
                return chip
        return self.fail(f"no chip {word}")

    def search(self, text, panel="case"):
        field = self.one(f"#p_{panel}_filter input[type=search]")
        field.clear()
        field.send_keys(text)

    # --- what is shown ---

    def test_the_head_says_verdict_score_and_circumstances(self):
        self.open(self.sample)
        self.assertEqual(self.one("#p_verdict").text, "NOT conformant")
        self.assertEqual(self.browser.title, "✗ NOT conformant: inproc: (Fencepost)")
        self.assertEqual(self.one(".masthead > .lead").text, "2 of 5 cases that ran failed; 1 root cause explains them.")
        self.assertEqual(self.one(".big").text, "2 of 6 cases passed")
        self.assertEqual(self.one(".sum").text, "6 planned = 5 ran + 1 skipped + 0 not run")
        states = {rule["id"]: rule["state"] for rule in self.sample.json["requirements"]}
        known = json.loads(must(FENCEPOST, "list", "requirements", "--json"))
        musts = [rule["id"] for rule in known if rule["level"] == "must" and not rule["untestable"] and rule["id"] in states]
        kept = sum(states[name] == "passed" for name in musts)
        self.assertTrue(self.one(".levels").text.startswith(f"MUST requirements: {kept} of {len(musts)} met (of all levels: "))
        self.assertIn(self.sample.json["suite_commit"], self.one(".of").text)
        self.assertEqual(self.one(".unchecked h2").text, "Not checked: 1 case")
        self.assertTrue(self.texts(".unchecked li")[0].startswith("1 needs transport: this endpoint has no MQTT connections"))
        self.assertEqual(self.text_within("needs-connections", ".tag"), ["needs transport"])
        self.assertFalse(self.one(".facts").is_displayed())
        self.click(self.one("#p_run summary"))
        facts = dict(zip(self.texts(".facts dt"), self.texts(".facts dd")))
        self.assertEqual(facts["system"], self.sample.json["environment"]["system"])
        self.assertIn("OpenSSL", facts["libraries"])
        self.assertEqual(facts["Endpoint"], "inproc:")
        self.assertEqual(facts["Seed"], str(self.sample.json["seed"]))
        self.assertEqual(facts["Dialect observed"], "deployed")
        self.assertEqual(facts["Started"], self.sample.json["started"])
        self.assertEqual(facts["Exit code"], "1")
        self.assertEqual(self.one("#p_command").text, self.sample.json["command"])

    def test_bytes_of_a_peer_stay_text(self):
        self.open(self.sample)
        for row in self.all("h4 > .row[aria-expanded=false]"):
            self.click(row)
        for row in self.all(".message button.row"):
            self.click(row)
        self.assertIsNone(self.run_script("return window.broken"))
        self.assertEqual(self.all("img, iframe, object, embed, link, script[src], [onerror]"), [])
        self.assertEqual(self.text_within("breaks-out", ".what .title"),
                         ["</script><img src=x onerror='window.broken=1'> & <!-- stay in here"])
        self.assertIn("</script><script>window.broken=1</script>", self.text_within("breaks-out", ".bytes")[1])
        self.assertIn("Property <b>", self.text_within("breaks-out", ".pairs dt"))

    def test_what_failed_is_first_and_open(self):
        self.open(self.sample)
        self.assertEqual(self.texts("#p_case_list .group")[0], "Needs attention")
        self.assertEqual(self.shown()[:3], [*FAILED, "came-too-late"])
        self.assertEqual(self.opened(), list(FAILED))
        # Both got another value than they expect.
        self.assertEqual(self.one(".broken h2").text, "1 root cause explains 2 failures")
        [difference] = self.sample.json["differences"]
        self.assertEqual(self.texts(".broken li > a.id"), [difference["requirement"]])
        tabs, broken = self.one(".tabs").rect["y"], self.one(".broken").rect
        self.assertLess(broken["y"] + broken["height"], min(tabs, 900), "above the fold, before all else")
        self.assertEqual(self.texts(".broken li .note a.id"), difference["cases"][:1])

    def test_a_failure_is_told_in_full(self):
        self.open(self.sample)
        name = "expects-other-bytes"
        case = self.sample.cases[name]
        # The rule of its root cause, not the one that the case is about.
        self.assertEqual(self.text_within(name, "blockquote"),
                         ["GET returns the bytes that SET stored, unchanged."])
        caption = self.text_within(name, "figcaption")[0]
        self.assertIn("GET-HIT-3 MUST applies to the store", caption)
        self.assertIn("1 of 2 failures of D1: see breaks-out. This case stopped before the step it tests",
                      self.text_within(name, ".remark")[0])
        expected, actual = self.within(name, ".comparison .bytes")
        self.assertEqual(expected.text, case["failure"]["expected"])
        self.assertEqual(actual.text, case["failure"]["actual"])
        self.assertEqual([mark.text for mark in expected.find_elements(By.CSS_SELECTOR, "mark")], ["\\xfe"])
        self.assertEqual([mark.text for mark in actual.find_elements(By.CSS_SELECTOR, "mark")], ["\\xff"])
        self.assertIn("The first difference is at byte 9: expected \\xfe (0xfe), actual \\xff (0xff).",
                      self.text_within(name, ".hint"))
        self.assertEqual(self.text_within(name, ".command code"), [case["reproduce"]])

    def test_the_line_that_failed_is_marked_among_the_steps(self):
        self.open(self.sample)
        name = "expects-other-bytes"
        lines = self.text_within(name, ".source li")
        self.assertEqual(lines[0].strip(), "- id: expects-other-bytes")
        failing = self.within(name, ".source .failing")
        self.assertEqual([node.find_element(By.TAG_NAME, "code").text.strip() for node in failing],
                         ["- get: k", "expect:", 'reply: {value: {hex: "00017f80fec30d0a5d5d3e3c26"}}'])
        number = self.run_script("return getComputedStyle(arguments[0]).counterReset", self.within(name, ".source")[0])
        self.assertEqual(number, f"line {self.sample.cases[name]['line'] - 1}")
        self.assertIn(f":{self.sample.cases[name]['failure']['line']}", self.text_within(name, ".steps h5")[0])

    def test_the_transcript_is_a_sequence_diagram(self):
        self.open(self.sample, "#p-cases")
        case = self.sample.cases["p-cases"]
        messages = self.within("p-cases", ".message")
        self.assertEqual(len(messages), len(case["transcript"]))
        self.assertEqual(self.text_within("p-cases", ".heads .name"), ["a", "b", "c", "store"])
        self.assertEqual(self.text_within("p-cases", ".pause"), ["2.00 s later"])
        for entry, message in zip(case["transcript"], messages):
            self.assertEqual(message.find_element(By.CSS_SELECTOR, ".ms").text, f"{entry['ms']:.3f}")
            self.assertIn(entry["direction"], message.get_attribute("class"))
            words = re.sub(r"fencepost/[^/]+/[0-9a-f]{8}/", "…/", entry["summary"])
            self.assertIn(words, message.find_element(By.CSS_SELECTOR, ".label").text)
            if entry["direction"] == "event":
                continue
            arrow = message.find_element(By.CSS_SELECTOR, ".arrow").rect
            lane = message.find_elements(By.CSS_SELECTOR, ".lifeline")["abc".index(entry["client"])].rect
            self.assertAlmostEqual(arrow["x"], lane["x"], delta=2)
        blamed = self.within("expects-other-bytes", ".message.blamed")
        self.assertEqual(len(blamed), 1)
        self.assertIn("actual", blamed[0].text)
        self.assertIn(self.sample.cases["expects-other-bytes"]["failure"]["actual"], blamed[0].text)

    def test_no_message_is_blamed_for_what_did_not_come(self):
        def change(document):
            for case in document["report"]["cases"]:
                case.get("failure", {}).update(actual="nothing within 3000 ms")

        self.open(self.sample.changed("silent", change))
        self.assertEqual(len(self.within("expects-other-bytes", ".message.received")), 2)
        self.assertEqual(self.all(".blamed"), [])

    def test_a_message_opens_in_full(self):
        self.open(self.sample)
        name = "expects-other-bytes"
        sent = self.within(name, ".message.sent button.row")[0]
        self.run_script("arguments[0].focus()", sent)
        self.press(Keys.ENTER)
        self.assertEqual(sent.get_attribute("aria-expanded"), "true")
        entry = next(entry for entry in self.sample.cases[name]["transcript"] if entry["direction"] == "sent")
        pairs = dict(zip(self.text_within(name, ".message .pairs dt"), self.text_within(name, ".message .pairs dd")))
        self.assertEqual(pairs["Topic"], entry["topic"])
        self.assertEqual(pairs["Correlation data"], "00FF")
        self.assertEqual(pairs["Content type"], "text/plain")
        self.assertEqual(pairs["Property __ts"], dict(entry["user_properties"])["__ts"])
        payload = self.within(name, ".payload")[0]
        self.assertIn("\\x00\\x01\\x7f\\x80\\xff\\xc3\\r\\n", payload.text)
        self.assertEqual(payload.text.replace("\n", ""), entry["payload"])
        hexadecimal = self.text_within(name, ".hex")[0]
        self.assertTrue(hexadecimal.startswith("0000  2a 34 0d 0a" if "*4" in entry["payload"] else "0000  2a 33 0d 0a"))
        self.assertIn("00 01 7f 80 ff c3", re.sub(r"\s+", " ", re.sub(r"(?m)^[0-9a-f]{4}|  \S+$", "", hexadecimal)))
        digits = re.findall(r"\b[0-9a-f]{2}\b", " ".join(line[6:54] for line in hexadecimal.splitlines()))
        self.assertEqual(len(digits), entry["payload_bytes"])
        self.press(Keys.SPACE)
        self.assertEqual(sent.get_attribute("aria-expanded"), "false")
        self.click(self.within(name, ".message.received button.row")[0])
        self.assertRegex(self.text_within(name, ".message.received dd")[-1], r"^0\.\d+ ms after the request at")

    def test_requirements_have_a_state_and_say_why(self):
        self.open(self.sample, "#p_requirements")
        states = dict(zip(self.shown("requirement"), self.texts(".requirement .badge")))
        self.assertEqual(states["GET-HIT-3"], "✗ broken")
        self.assertEqual(states["SET-NX-2"], "✓ passed")
        self.assertEqual(states["SET-PX-1"], "? inconclusive")
        self.assertEqual(states["ENV-QOS-1"], "– skipped")
        self.assertEqual(states["SET-NOT-APPLIED-1"], "✓ passed")
        self.assertEqual(states["SET-OPTION-OPEN-3"], "○ unspecified")
        self.assertEqual(states["ENV-MQTT5-1"], "⊘ not testable")
        self.assertEqual(states["DEL-COUNT-1"], "∅ not covered")
        notes = dict(zip(self.shown("requirement"), self.texts(".requirement .state-note")))
        self.assertEqual(notes["SET-OPTION-OPEN-3"], "seen: executed")
        self.assertEqual(notes["GET-HIT-3"], "D1: 2 cases")
        self.assertEqual(notes["SET-NX-2"], "1 of 2 cases; 1 failed for another reason")
        self.assertEqual(notes["SET-NOT-APPLIED-1"], "1 case")
        self.assertEqual(states["GET-HIT-2"], "✓ passed")
        self.assertEqual(notes["GET-HIT-2"], "1 of 2 cases; 1 failed for another reason")
        self.assertEqual(states["GET-HIT-1"], "? not shown")
        self.assertIn("the suite itself always uses MQTT 5", notes["ENV-MQTT5-1"])
        self.click(self.row("SET-NX-2").find_element(By.CSS_SELECTOR, ".row"))
        self.assertEqual(self.text_within("SET-NX-2", "dd a.id"), ["refuses-existing-key", "expects-other-bytes"])

    def test_every_requirement_of_the_catalogue_is_there(self):
        known = {entry["id"]: entry for entry in json.loads(must(FENCEPOST, "list", "requirements", "--json"))}
        self.open(self.built_in, "#p_requirements")
        self.assertEqual(set(self.shown("requirement")), set(known))
        levels = dict(zip(self.shown("requirement"), self.texts(".requirement .level")))
        self.assertEqual(levels, {name: entry["level"].upper() for name, entry in known.items()})
        counts = [int(text) for text in self.texts("#p_requirements .chip b")]
        self.assertEqual(sum(counts), len(known))

    def test_the_baseline_and_early_ends_are_told(self):
        def change(document):
            cases = {case["id"]: case for case in document["report"]["cases"]}
            cases["breaks-out"].update(verdict="expected-failure", baseline="known since May, TICKET-7")
            cases["refuses-existing-key"].update(verdict="failed", unexpected_pass=True, baseline="should fail", failure={
                "requirement": "SET-NOT-APPLIED-1", "step": 0, "line": 1, "expected": "", "actual": ""})
            cases["p-cases"].update(verdict="lost", message="the connection is gone")
            cases["needs-connections"].update(verdict="not-run")
            cases["came-too-late"].update(verdict="warning", failure={
                "requirement": "ENV-RESPONSE-TOPIC-6", "step": 1, "line": 1, "expected": "a", "actual": "b"})
            states = {"GET-HIT-1": "expected-failure", "NTF-VALUE-1": "not-run"}
            document["report"]["requirements"] = [
                {**rule, "state": states.get(rule["id"], rule["state"])} for rule in document["report"]["requirements"]
            ] + [{"id": "ENV-RESPONSE-TOPIC-6", "state": "warning", "note": "D2: 1 case"}]

        self.open(self.sample.changed("baseline", change))
        words = {name: self.text_within(name, ".badge")[0] for name in self.sample.cases}
        self.assertEqual(words, {
            "breaks-out": "x expected failure", "refuses-existing-key": "✗ failed", "p-cases": "⊗ lost",
            "needs-connections": "· not run", "came-too-late": "! warning", "expects-other-bytes": "✗ failed"})
        self.click(self.row("breaks-out").find_element(By.CSS_SELECTOR, ".row"))
        self.assertIn("Baseline: known since May, TICKET-7", self.text_within("breaks-out", ".remark"))
        self.assertIn("Unexpected pass: the baseline expects it to fail, and it passed",
                      self.text_within("refuses-existing-key", ".remark"))
        self.click(self.one("#p_tab_requirements"))
        states = dict(zip(self.shown("requirement"), self.texts(".requirement .badge")))
        self.assertEqual(states["GET-HIT-1"], "x expected failure")
        self.assertEqual(states["NTF-VALUE-1"], "· not run")
        self.assertEqual(states["SET-NOT-APPLIED-1"], "✓ passed")
        self.assertEqual(states["SET-PX-1"], "? inconclusive")
        self.assertEqual(states["ENV-RESPONSE-TOPIC-6"], "! warning")

    def test_a_run_that_could_not_begin(self):
        report = Report(self.folder, "unreachable", "--endpoint", "mqtt://someone:secret@127.0.0.1:1")
        self.assertEqual(report.code, 3)
        self.assertNotIn("secret", report.html.read_text("utf-8"))
        self.open(report)
        self.assertEqual(self.one("#p_verdict").text, "Endpoint unreachable")
        self.assertIn("no broker", self.one(".alert").text)
        self.assertEqual(self.one(".sum").text, "6 planned = 0 ran + 0 skipped + 6 not run")
        self.assertEqual(set(self.texts(".case .badge")), {"· not run"})
        for name in ("requirements", "observed", "latency"):
            self.click(self.one(f"#p_tab_{name}"))
        self.assertIn("No request was answered in this run.", self.one("#p_latency").text)

    def test_dialect_forms_and_open_points(self):
        self.open(self.built_in)
        self.click(self.one("#p_tab_observed"))
        rows = self.texts("#p_observed tbody th")
        self.assertEqual(rows, [*self.built_in.json["forms_observed"], *[
            name for name in rows if name in self.built_in.json["open_points_observed"]]])
        self.assertEqual(set(rows), {*self.built_in.json["forms_observed"], *self.built_in.json["open_points_observed"]})
        link = self.all("#p_observed td a")[0]
        name = link.text
        self.click(link)
        self.eventually(self.opened, [name])

    def test_latencies_are_counted_in_buckets(self):
        def change(document):
            for case in document["report"]["cases"]:
                case["round_trips_ms"] = []
            document["report"]["cases"][0]["round_trips_ms"] = [0.001, 0.0019, 0.002, 1, 1.5, 1.99, 2, 4.999, 5, 4000]
            document["report"]["latency_ms"].update(p50=1.5, p99=4000)

        self.open(self.sample.changed("latency", change), "#p_latency")
        rows = [[cell.text for cell in row.find_elements(By.CSS_SELECTOR, "th, td")] for row in self.all(".histogram tbody tr")]
        self.assertEqual({cells[0]: cells[2] for cells in rows if cells[2] != "0"}, {
            "0.001 – 0.002 ms": "2", "0.002 – 0.005 ms": "1", "1 – 2 ms": "3", "2 – 5 ms": "2", "5 – 10 ms": "1",
            "2 – 5 s": "1"})
        self.assertEqual({cells[0]: cells[1] for cells in rows if cells[1]}, {"1 – 2 ms": "◀ p50", "2 – 5 s": "◀ p99"})
        self.assertEqual(self.texts(".slowest tbody tr"), ["refuses-existing-key4.00 sNX on an existing key is refused"])
        self.open(self.built_in, "#p_latency")
        total = sum(int(text) for text in self.texts(".histogram tbody td:nth-child(3)"))
        self.assertEqual(total, self.built_in.json["latency_ms"]["round_trips"])

    # --- finding things ---

    def test_filters_by_verdict_level_and_area(self):
        self.open(self.built_in)
        everything = len(self.built_in.cases)
        self.assertEqual(len(self.shown()), everything)
        skipped = [name for name, case in self.built_in.cases.items() if case["verdict"] == "skipped"]
        self.assertTrue(skipped)
        self.click(self.chip("skipped"))
        self.assertEqual(sorted(self.shown()), sorted(skipped))
        self.assertEqual(self.chip("skipped").get_attribute("aria-pressed"), "true")
        self.assertEqual(self.one("#p_case_filter .found").text, f"{len(skipped)} of {everything} cases")
        self.click(self.chip("passed"))
        self.assertEqual(len(self.shown()), everything)
        self.click(self.one("#p_case_filter .clear"))
        self.click(self.chip("skipped"))
        self.click(self.one("#p_case_filter .clear"))
        self.assertEqual(len(self.shown()), everything)
        self.assertEqual(self.chip("skipped").get_attribute("aria-pressed"), "false")
        level, area = self.all("#p_case_filter select")
        may = {name: case["area"] for name, case in self.built_in.cases.items() if case["level"] == "may"}
        Select(level).select_by_value("may")
        self.assertEqual(set(self.shown()), set(may))
        chosen = max(may.values())
        Select(area).select_by_value(chosen)
        self.assertEqual(set(self.shown()), {name for name, its_area in may.items() if its_area == chosen})
        self.assertLess(len(self.shown()), len(may))
        self.click(self.one("#p_case_filter .clear"))
        self.assertEqual(len(self.shown()), everything)

    def test_searches_ids_titles_and_rules(self):
        self.open(self.sample)
        for text, found in (("EXPECTS-other", ["expects-other-bytes"]), ("on every store", ["expects-other-bytes"]),
                            ("store every", ["expects-other-bytes"]), ("ENV-QOS", ["needs-connections"]),
                            ("request of another qos fails", ["needs-connections"]), ("nothing has this", [])):
            self.search(text)
            self.assertEqual(self.shown(), found, text)
        self.assertEqual(self.one("#p_case_filter .found").text, "0 of 6 cases")
        self.click(self.one("#p_tab_requirements"))
        self.search("wrong number of arguments", "requirement")
        self.assertIn("ERR-TEXT-9", self.shown("requirement"))
        self.assertNotIn("ERR-TEXT-10", self.shown("requirement"))

    def test_what_broke_leads_to_its_cases(self):
        self.open(self.sample)
        self.click(self.all(".broken button")[0])
        [difference] = self.sample.json["differences"]
        rule, best = difference["requirement"], difference["cases"][0]
        self.assertEqual(self.shown(), difference["cases"])
        self.click(self.one(".broken").find_element(By.LINK_TEXT, rule))
        self.eventually(self.focused, rule)
        self.assertEqual(self.shown(), [])
        self.click(self.row(rule).find_element(By.LINK_TEXT, best))
        self.eventually(self.focused, best)
        self.browser.back()
        self.eventually(self.focused, rule)

    def assert_on_screen(self, name):
        top, height = self.run_script("const box = arguments[0].getBoundingClientRect(); return [box.top, innerHeight]",
                                      self.row(name))
        self.assertGreater(top, 0)
        self.assertLess(top, height / 2)

    def test_links_go_to_one_case_or_requirement(self):
        last = list(self.built_in.cases)[-20]
        self.open(self.built_in, "#" + last)
        self.assertEqual(self.opened(), [last])
        self.assertEqual(self.focused(), last)
        self.assert_on_screen(last)
        self.open(self.built_in, "#NTF-DEL-1")
        self.assertEqual(self.opened(), ["NTF-DEL-1"])
        self.assert_on_screen("NTF-DEL-1")
        self.open(self.built_in, "#%")
        self.assertEqual(self.opened(), [])
        # Hidden by the filter, it is shown all the same.
        self.search("nothing has this")
        self.run_script("location.hash = arguments[0]", last)
        self.eventually(self.opened, [last])
        self.assertEqual(len(self.shown()), len(self.built_in.cases))

    def test_what_is_opened_stands_in_the_address(self):
        self.open(self.sample)
        self.click(self.row("needs-connections").find_element(By.CSS_SELECTOR, ".row"))
        self.assertTrue(self.browser.current_url.endswith("#needs-connections"))

    def test_works_by_keyboard_alone(self):
        self.open(self.sample)
        rows = self.shown()
        body = self.one("body")
        body.send_keys("j")
        self.assertEqual(self.focused(), rows[0])
        self.press("j")
        self.press(Keys.ARROW_DOWN)
        self.assertEqual(self.focused(), rows[2])
        self.press("k")
        self.press(Keys.ARROW_UP)
        self.assertEqual(self.focused(), rows[0])
        outline = self.run_script("return getComputedStyle(document.activeElement).outlineStyle")
        self.assertEqual(outline, "solid")
        self.press(Keys.ENTER)
        self.assertEqual(self.opened(), [FAILED[1]])
        self.press(Keys.SPACE)
        self.assertEqual(self.opened(), list(FAILED))
        self.press("n")
        self.press("n")
        self.assertEqual(self.focused(), "came-too-late")
        self.press("n")
        self.assertEqual(self.focused(), "came-too-late")
        self.press("/")
        self.press("needs/j")
        self.assertEqual(self.one("#p_case_filter input").get_attribute("value"), "needs/j")
        self.press(Keys.ESCAPE)
        self.assertEqual(self.shown(), rows)
        self.one("#p_tab_cases").send_keys(Keys.ARROW_RIGHT)
        self.assertEqual(self.focused(), "p_tab_requirements")
        self.assertTrue(self.one("#p_requirements").is_displayed())
        self.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
        self.assertEqual(self.focused(), "p_tab_latency")

    def test_the_tab_key_reaches_everything(self):
        self.open(self.sample)
        reached = set()
        for _ in range(120):
            self.press(Keys.TAB)
            reached.add(self.run_script("const it = document.activeElement; return it.id || it.className || it.tagName"))
        for name in ("skip", "p_theme", "copy", "p_tab_cases", "link", "chip bad", "source", "p_case_2_row",
                     "p_message_2_1_row", "SUMMARY"):
            self.assertIn(name, reached)

    def test_single_keys_can_be_switched_off(self):
        self.open(self.sample)
        self.click(self.one(".help summary"))
        self.click(self.one("#p_keys"))
        self.one("body").send_keys("j")
        self.assertNotIn(self.focused(), self.sample.cases)

    def test_names_and_roles_for_screen_readers(self):
        self.open(self.sample)
        self.assertEqual([tab.get_attribute("aria-selected") for tab in self.all("[role=tab]")],
                         ["true", "false", "false", "false"])
        for row in self.all("button.row"):
            target = row.get_attribute("aria-controls")
            self.assertEqual(len(self.all(f"[id='{target}']")), 1)
        nameless = self.run_script(
            "return [...document.querySelectorAll('button, input, select')].filter((one) => !one.textContent.trim() &&"
            " !one.getAttribute('aria-label') && !one.labels?.length).length")
        self.assertEqual(nameless, 0)
        ids = self.run_script("return [...document.querySelectorAll('[id]')].map((one) => one.id)")
        self.assertEqual(len(ids), len(set(ids)))
        self.assertTrue(all("_" in one for one in ids), "ids of the page hold an underscore")

    def test_copies_the_command(self):
        self.open(self.sample)
        button = self.within("expects-other-bytes", ".copy")[0]
        self.click(button)
        self.eventually(lambda: button.text, "Copied")
        self.assertEqual(self.one("#p_said").get_attribute("textContent"), "Copied the command")
        self.one("#p_case_filter input").send_keys(Keys.CONTROL, "v")
        self.assertEqual(self.one("#p_case_filter input").get_attribute("value"),
                         self.sample.cases["expects-other-bytes"]["reproduce"])

    # --- light, dark, narrow, on paper, without scripts ---

    def background(self):
        colour = self.run_script("return getComputedStyle(document.body).backgroundColor")
        return "dark" if sum(int(part) for part in re.findall(r"\d+", colour)[:3]) < 300 else "light"

    def test_light_and_dark(self):
        self.media(scheme="dark")
        self.open(self.sample)
        self.assertEqual(self.background(), "dark")
        for name, wanted in (("light", "light"), ("dark", "dark"), ("automatic", "dark")):
            self.click(self.one("#p_theme"))
            self.assertEqual(self.one("#p_theme").text, "Theme: " + name)
            self.assertEqual(self.background(), wanted)
        self.media(scheme="light")
        self.assertEqual(self.background(), "light")

    def test_contrast_is_enough_in_both(self):
        for scheme in ("light", "dark"):
            self.media(scheme=scheme)
            self.open(self.sample)
            for row in self.all("h4 > .row[aria-expanded=false]") + self.all(".message.blamed .row"):
                self.click(row)
            for panel in ("cases", "requirements", "observed", "latency"):
                self.click(self.one(f"#p_tab_{panel}"))
                self.assertEqual(self.run_script(CONTRASTS), [], f"{scheme} {panel}")

    def test_fits_a_phone(self):
        self.screen(360, 740, mobile=True)
        for report in (self.sample, self.built_in):
            self.open(report)
            for row in self.all(".message button.row")[:6]:
                self.click(row)
            for panel in ("cases", "requirements", "observed", "latency"):
                self.click(self.one(f"#p_tab_{panel}"))
                self.assertEqual(self.run_script("return document.documentElement.scrollWidth"), 360, panel)
                self.assertTrue(self.one("#p_tab_latency").is_displayed())

    def test_prints_everything(self):
        self.open(self.sample)
        self.cdp("Page.printToPDF")  # tells the page that it is going to be printed
        self.media(media="print", scheme="dark")
        for panel in ("cases", "requirements", "observed", "latency"):
            self.assertTrue(self.one(f"#p_{panel} h2").is_displayed(), panel)
        self.assertEqual(len(self.shown("requirement")), len(self.all(".requirement")))
        self.assertGreater(len(self.all(".requirement")), 100)
        self.assertEqual(self.background(), "light")
        for selector in (".bars", ".filter", ".copy", "#p_theme"):
            self.assertFalse(any(node.is_displayed() for node in self.all(selector)), selector)

    def test_without_scripts_it_tells_what_did_not_pass(self):
        self.cdp("Emulation.setScriptExecutionDisabled", value=True)
        self.open(self.sample, scripts=False)
        text = self.cdp("Page.captureSnapshot")["data"]
        self.assertIn("NOT conformant", text)
        nodes = self.cdp("DOM.getDocument", depth=-1)["root"]
        static = self.texts_of(nodes, "NOSCRIPT")
        self.assertIn("expects-other-bytes", static)
        self.assertIn("GET returns the bytes that SET stored, unchanged.", static)
        self.assertIn("1 other: expects-other-bytes", static)
        self.assertIn("actual $41\\r\\n</script><script>window.broken=1</script>", static)

    def texts_of(self, node, name, inside=False):
        inside = inside or node["nodeName"] == name
        own = node.get("nodeValue", "") if inside and node["nodeName"] == "#text" else ""
        return own + "".join(self.texts_of(child, name, inside) for child in node.get("children", []))

    # --- size ---

    def drawn_after(self):
        """Milliseconds from asking for the page that is open until it was drawn."""
        return self.run_script("return performance.getEntriesByName('p_ready')[0].startTime")

    def test_a_clean_run_of_the_built_in_cases_is_small_and_opens_at_once(self):
        self.assertLess(self.built_in.html.stat().st_size, MAX_CLEAN_PAGE)
        self.open(self.built_in)
        print(f"{len(self.built_in.cases)} cases ({self.built_in.html.stat().st_size / 1e6:.2f} MB): "
              f"drawn after {self.drawn_after():.0f} ms")

    def test_messages_that_were_not_kept_are_said_to_be(self):
        passed, skipped = (next(name for name, case in self.built_in.cases.items() if case["verdict"] == verdict)
                           for verdict in ("passed", "skipped"))
        not_kept = "Not recorded for cases that passed: run with --transcripts all to record them."
        for name, said in ((passed, [not_kept]), (skipped, [])):
            self.open(self.built_in, "#" + name)
            self.assertEqual(self.text_within(name, ".talk .hint"), said)

    def test_one_fault_is_told_once_and_what_shows_it_best_is_open(self):
        report = Report(self.folder, "nx", "--endpoint", "inproc:?fault=nx-overwrites", scenarios="")
        self.open(report)
        [difference] = report.json["differences"]
        best = report.cases[difference["cases"][0]]
        self.assertEqual(self.opened(), [best["id"]])
        self.assertEqual(self.shown()[0], best["id"])
        self.assertEqual(self.texts(".broken .command code"), [best["reproduce"]])
        self.assertEqual(best["alone"], {"verdict": "failed"})

    def test_of_a_difference_in_most_cases_the_first_ones_have_their_messages(self):
        report = Report(self.folder, "blank", "--endpoint", "inproc:?fault=version-with-a-blank", scenarios="")
        self.assertLess(report.html.stat().st_size, MAX_PAGE_OF_ONE_FAULT)
        [difference] = report.json["differences"]
        self.assertGreater(len(difference["cases"]), 1000)
        kept = "Recorded for only the first cases of a root cause: run with --transcripts all to record them."
        for place, said in ((99, []), (100, [kept])):
            name = difference["cases"][place]
            self.open(report, "#" + name)
            hints = [hint for hint in self.text_within(name, ".talk .hint") if hint.startswith("Recorded")]
            self.assertEqual(hints, said)
            self.assertIn("transcript", report.cases[name])
        print(f"{len(difference['cases'])} failures ({report.html.stat().st_size / 1e6:.2f} MB): "
              f"drawn after {self.drawn_after():.0f} ms")

    def test_a_thousand_cases(self):
        report = Report(self.folder, "thousand", "--endpoint", "inproc:",
                        scenarios=[hundred_cases(first) for first in range(0, 1000, 100)])
        self.open(report)
        size = report.html.stat().st_size / 1e6
        print(f"1,000 cases ({size:.1f} MB): drawn after {self.drawn_after():.0f} ms")
        self.assertEqual(len(self.shown()), 1000)
        self.assertEqual(len(self.all(".sequence")), 1, "details are made when they are opened")
        self.assertEqual(len(self.opened()), 1)
        self.search("number 993")
        self.assertEqual(self.shown(), ["generated.case-0993"])


if __name__ == "__main__":
    harness.main()
