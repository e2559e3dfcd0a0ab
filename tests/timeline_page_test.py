"""Opens the page of `fencepost check --html` in a browser (headless Chromium) and uses it as a reader would, with a
history of 100,000 operations.

    timeline_page_test.py BUILD_BIN_DIR [unittest arguments]

Needs the Debian packages chromium, chromium-driver and python3-selenium.
"""

import json
import random
import sys

try:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select

    from browser_page import PageTest, changed_page
except ImportError:
    sys.exit("python3-selenium is missing: install the Debian package of that name, or run ci/setup")

import harness

OPERATIONS = 100_000
CLIENTS = 16
STALE = 60_000  # this GET reads what was overwritten long before it was sent


def version(counter):
    return f"001696374425000:{counter:05}:StateStore"


def long_history():
    """What a conforming store may have said: each request takes effect at its own moment, somewhere between its call and its
    return. With one GET that is stale."""
    numbers = random.Random(18)
    lines = []
    written = overwritten = None
    for i in range(OPERATIONS):
        moment = 10_000 * (i + 1)
        call = {"type": "call", "id": i, "at": moment - numbers.randrange(60_000) if i > 5 else moment,
                "client": i % CLIENTS, "key": "hot \\x00key"}
        reply = {"type": "return", "id": i, "at": moment + numbers.randrange(60_000)}
        if i % 5 == 0:
            overwritten, written = written, (f"v{i}", version(i))
            call.update(request="SET", value=written[0])
            reply.update(reply="ok", version=written[1])
        else:
            if i == STALE + 4:
                call["at"], reply["at"] = moment + 100_000, moment + 150_000
            seen = overwritten if i == STALE + 4 else written
            call.update(request="GET")
            reply.update(reply="value", read=seen[0], version=seen[1])
        lines += [call, reply]
    lines.sort(key=lambda line: line["at"])
    return [{"type": "history", "format": 1}, *lines]


@harness.full_but("a browser goes through all of the page",
                  "test_the_first_screen_says_what_is_wrong", "test_texts_stay_text")
class TimelinePageTest(PageTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = harness.temporary_folder(cls.addClassCleanup)
        cls.open_browser(cls.folder / "profile")
        cls.page = cls.check("long", long_history(), code=1)
        cls.document = json.loads((cls.folder / "long.json").read_text("utf-8"))

    @classmethod
    def check(cls, name, lines, code):
        history = cls.folder / f"{name}.jsonl"
        history.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        page = history.with_suffix(".html")
        done = harness.run("check", history, "--html", page, "--json", history.with_suffix(".json"))
        assert done.returncode == code, done.stdout + done.stderr
        return page

    def setUp(self):
        self.screen(1280, 900)
        self.media()

    def view(self):
        """(from, to, how many bars were drawn), when the page has drawn."""
        return self.browser.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => {"
            " const {from, to, drawn} = document.getElementById('p_canvas').dataset;"
            " done([Number(from), Number(to), Number(drawn)]); }))")

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def detail(self):
        return self.one("#p_detail").text

    def test_opens_quickly_with_all_operations(self):
        self.open_file(self.page)
        ready = self.run_script("return performance.getEntriesByName('p_ready')[0].startTime")
        self.assertLess(ready, 5000)
        self.assertLess(self.page.stat().st_size, 60 * OPERATIONS)
        self.press("0")
        begin, end, drawn = self.view()
        self.assertLess(begin, 0)
        self.assertGreater(end, 10_000 * OPERATIONS)
        # No more than there are pixels for.
        self.assertGreater(drawn, 1000)
        self.assertLess(drawn, OPERATIONS / 2)
        self.assertLess(float(self.one("#p_canvas").get_attribute("data-ms")), 500)

    def test_the_first_screen_says_what_is_wrong(self):
        self.open_file(self.page)
        self.assertEqual(self.one("#p_verdict").text, "1 violation")
        [key] = self.document["histories"][0]["keys"]
        text = self.one(".finding").text
        self.assertIn(key["requirement"], text)
        self.assertIn("MUST", text)
        self.assertIn(key["text"], text)
        self.assertIn('"hot \\x00key"', text)
        self.assertGreater(len(self.one(".finding blockquote").text), 20)
        rows = self.texts(".finding tbody tr")
        self.assertEqual(len(rows), len(key["witness"]))
        self.assertLessEqual(len(rows), 4)
        bottom = self.run_script("return document.querySelector('#p_canvas').getBoundingClientRect().top")
        self.assertLess(bottom, 700)

    def test_the_finding_is_in_view_and_marked(self):
        self.open_file(self.page)
        begin, end, drawn = self.view()
        [key] = self.document["histories"][0]["keys"]
        first = min(one["called"] for one in self.operations_of(key))
        self.assertLess(begin, first)
        self.assertLess(end - begin, 10_000_000)
        self.assertLess(drawn, 5000)
        for scheme in ("light", "dark"):
            self.media(scheme=scheme)
            self.view()
            self.assertGreater(self.pixels_like_the_mark(), 100, scheme)

    def operations_of(self, key):
        lines = [json.loads(line) for line in (self.folder / "long.jsonl").read_text("utf-8").splitlines()]
        origin = min(line["at"] for line in lines if "at" in line)
        numbers = {one["number"] for one in key["witness"]}
        returned = [line["id"] for line in lines if line["type"] == "return"]
        wanted = {returned[number] for number in numbers}
        return [{"called": line["at"] - origin} for line in lines if line["type"] == "call" and line["id"] in wanted]

    def pixels_like_the_mark(self):
        return self.run_script("""
            const canvas = document.getElementById('p_canvas');
            const wanted = getComputedStyle(document.querySelector('.finding-mark')).color.match(/[\\d.]+/g).map(Number);
            const pen = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {willReadFrequently: true});
            pen.drawImage(canvas, 0, 0);
            const data = pen.getImageData(0, 0, canvas.width, canvas.height).data;
            let count = 0;
            for (let i = 0; i < data.length; i += 4)
              if (wanted.slice(0, 3).every((part, at) => Math.abs(data[i + at] - part) < 8)) ++count;
            return count;""")

    def test_the_keyboard_goes_everywhere(self):
        self.open_file(self.page)
        before = self.view()
        self.press("+")
        closer = self.view()
        self.assertAlmostEqual(closer[1] - closer[0], (before[1] - before[0]) / 2, delta=1)
        self.press("]")
        self.assertGreater(self.view()[0], closer[0])
        self.press("0", "w")
        for now, then in zip(self.view()[:2], before[:2]):
            self.assertAlmostEqual(now, then, delta=1)
        self.press("n")
        self.assertIn("Operation", self.detail())
        self.assertEqual(len(self.all("tr.chosen")), 1)
        first = self.detail()
        self.press("n")
        self.assertNotEqual(self.detail(), first)
        self.press("p")
        self.assertEqual(self.detail(), first)
        self.run_script("document.getElementById('p_canvas').focus()")
        self.press(Keys.ARROW_RIGHT)
        later = self.detail()
        self.assertNotEqual(later, first)
        self.press(Keys.ARROW_LEFT)
        self.assertEqual(self.detail(), first)
        self.press(Keys.ARROW_DOWN)
        self.assertNotEqual(self.detail(), first)
        self.press(Keys.ESCAPE)
        self.assertNotIn("Operation", self.detail())

    def test_pointing_tells_and_a_click_chooses(self):
        self.open_file(self.page)
        self.click(self.one(".finding tbody tr:nth-child(1) .pick"))
        chosen = self.detail()
        self.press(Keys.ESCAPE)
        # The first row is the client of the first operation of the finding, which stands near the left edge.
        begin, end, _ = self.view()
        canvas = self.one("#p_canvas")
        self.run_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
        places = self.run_script("return document.querySelector('tr[data-place]').dataset.place")
        self.assertTrue(places)
        share = 0.2 / 1.4  # the room before the finding
        x = 80 + share * (canvas.size["width"] - 80) + 3 - canvas.size["width"] / 2
        y = 30 + 13 - canvas.size["height"] / 2
        ActionChains(self.browser).move_to_element_with_offset(canvas, int(x), int(y)).perform()
        self.assertIn("→", self.one(".tip").text)
        ActionChains(self.browser).click().perform()
        self.assertEqual(self.detail(), chosen)
        ActionChains(self.browser).click_and_hold().move_by_offset(-100, 0).release().perform()
        self.assertGreater(self.view()[0], begin)

    def test_what_is_in_view_stands_in_a_table(self):
        self.open_file(self.page)
        self.click(self.one("#p_list summary"))
        self.view()
        rows = self.texts("#p_list tbody tr")
        self.assertGreater(len(rows), 10)
        self.assertLessEqual(len(rows), 200)

    def test_all_kinds_of_events_and_several_findings(self):
        def operation(number, at, client, key, request, said, **more):
            sent = {name: more.pop(name) for name in ("value", "condition", "px_ms", "token") if name in more}
            return [{"type": "call", "id": number, "at": at, "client": client, "key": key, "request": request, **sent},
                    {"type": "return", "id": number, "at": at + 1_000_000, "reply": said, **more}]

        lost = {"type": "call", "id": 9, "at": 3_000_000, "client": 2, "key": "a", "request": "SET", "value": "z"}
        page = self.check("kinds", [
            {"type": "history", "format": 1}, *operation(1, 0, 1, "a", "KEYNOTIFY", "ok"),
            *operation(2, 2_000_000, 0, "a", "SET", "ok", value="\\xff\\x00", condition="NX", px_ms=90000, version=version(1)),
            lost, {"type": "notification", "at": 3_500_000, "client": 1, "key": "a", "operation": "SET",
                   "value": "\\xff\\x00", "version": version(1), "duplicate": True},
            *operation(3, 5_000_000, 2, "a", "SET", "ok", value="b", condition="NX", version=version(2)),
            *operation(4, 6_000_000, 2, "b", "DEL", "deleted", version=version(9)),
            {"type": "connection", "at": 9_000_000, "client": 2, "link": "lost"}], code=1)
        self.open_file(page)
        self.assertEqual(self.one("#p_verdict").text, "2 violations")
        which = Select(self.one("#p_which"))
        self.assertEqual(len(which.options), 2)
        which.select_by_index(1)
        self.assertIn('"b"', self.one(".finding .cited").text)
        self.assertEqual(self.view()[2], 1)
        self.click(self.one("#p_only"))
        self.press("0")
        self.assertEqual(self.view()[2], 5)
        Select(self.one("#p_which")).select_by_index(0)
        self.run_script("document.activeElement.blur()")
        self.press("n")
        self.assertIn("ff 00", self.detail())
        self.assertIn("NX PX 90000", self.detail())

    def test_nothing_wrong_and_nothing_at_all(self):
        page = self.check("right", [{"type": "history", "format": 1},
                                    {"type": "call", "id": 1, "at": 5, "client": 1, "key": "k", "request": "GET"},
                                    {"type": "return", "id": 1, "at": 9, "reply": "missing"}], code=0)
        self.open_file(page)
        self.assertEqual((self.one("#p_verdict").text, self.all(".finding")), ("No violations", []))
        self.assertEqual(self.view()[2], 1)
        self.open_file(self.check("empty", [{"type": "history", "format": 1}], code=5))
        self.assertEqual(self.one("#p_verdict").text, "No operations")

    def test_texts_stay_text(self):
        def change(document):
            document["verdicts"][0]["text"] = document["verdicts"][0]["rule"] = "</script><img src=x onerror='window.broken=1'>"
            document["texts"][0] = "<img src=x onerror='window.broken=1'>"

        self.open_file(changed_page(self.page, "hostile", change))
        self.assertIsNone(self.run_script("return window.broken"))
        self.assertEqual(self.all("img, script[src], link, iframe"), [])
        self.assertIn("<img src=x", self.one(".finding").text)

    def test_fits_a_phone(self):
        self.screen(390, 844, mobile=True)
        self.open_file(self.page)
        self.assertEqual(self.run_script("return document.documentElement.scrollWidth"), 390)

    def test_names_and_roles_for_screen_readers(self):
        self.open_file(self.page)
        nameless = self.run_script(
            "return [...document.querySelectorAll('button, input, select')].filter((one) => one.checkVisibility() &&"
            " !one.textContent.trim() && !one.getAttribute('aria-label') && !one.labels?.length).length")
        self.assertEqual(nameless, 0)
        ids = self.run_script("return [...document.querySelectorAll('[id]')].map((one) => one.id)")
        self.assertEqual(len(ids), len(set(ids)))
        self.assertTrue(all("_" in one for one in ids), "ids of the page hold an underscore")


if __name__ == "__main__":
    harness.main()
