"""A page of HTML that the program has written, as a reader in a headless Chromium has it before him.

Needs chromium, chromium-driver and python3-selenium: see ci/setup.
"""
import json
import re
import shutil
import unittest

from selenium import webdriver
from selenium.common.exceptions import JavascriptException, TimeoutException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from harness import HANG, free_port

# The driver's load event is not enough: it may be that of the page before. The page marks the moment when it is drawn; an
# observer is notified of the mark whether it was made before or comes later. False in any other page.
WHEN_DRAWN = """
const [page, done] = arguments;
const drawn = (list, observer) => {
  if (list.getEntriesByName('p_ready').length === 0) return;
  observer.disconnect();
  done(true);
};
if (location.href.split('#')[0] === page) new PerformanceObserver(drawn).observe({type: 'mark', buffered: true});
else done(false);
"""


def changed_page(html, name, change):
    """A copy of the page whose data `change` was applied to: for what no run here does."""
    begin, data, end = re.fullmatch(r'(.*id="p_data">)(.*?)(</script>.*)', html.read_text("utf-8"), re.S).groups()
    document = json.loads(data)
    change(document)
    copy = html.with_name(f"{name}.html")
    copy.write_text(begin + json.dumps(document).replace("<", "\\u003c") + end, encoding="utf-8")
    return copy


def start_browser(folder):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync",
                     "--disable-dev-shm-usage", f"--user-data-dir={folder}", "--window-size=1280,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service(shutil.which("chromedriver"), port=free_port()), options=options)


class PageTest(unittest.TestCase):
    """One browser for all tests of a class, which calls open_browser() in its setUpClass."""

    @classmethod
    def open_browser(cls, folder):
        """`folder` is for the browser's own files."""
        for program in ("chromium", "chromedriver"):
            if not shutil.which(program):
                raise RuntimeError(f"{program} is missing: install chromium and chromium-driver, or run ci/setup --for-tests")
        cls.browser = start_browser(folder)
        cls.addClassCleanup(cls.browser.quit)
        cls.browser.set_script_timeout(HANG)
        cls.browser.get("about:blank")
        cls.browser.get_log("performance")  # the browser's own first page

    def tearDown(self):
        """After any test: the page loaded nothing but itself, and reported no error."""
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                self.assertRegex(url, r"^(file:///.*\.html(#.*)?|about:blank)$")
        self.assertEqual(self.browser.get_log("browser"), [])

    # --- a reader's hands and eyes ---

    def cdp(self, command, **arguments):
        return self.browser.execute_cdp_cmd(command, arguments)

    def screen(self, width, height, mobile=False):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def media(self, media="", scheme="light"):
        self.cdp("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open_file(self, file, place="", scripts=True):
        """Returns when the page is drawn; without `scripts`, when it is loaded."""
        self.browser.get("about:blank")  # so that a place in the page that is open is gone to like in a new one
        self.browser.get(file.as_uri() + place)
        if scripts:
            WebDriverWait(self.browser, HANG, ignored_exceptions=[JavascriptException]).until(
                lambda browser: browser.execute_async_script(WHEN_DRAWN, file.as_uri()))

    def run_script(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        found = self.all(selector)
        self.assertEqual(len(found), 1, selector)
        return found[0]

    def texts(self, selector):
        return self.run_script(
            "return [...document.querySelectorAll(arguments[0])]"
            ".map((node) => node.textContent.replace(/\\s+/g, ' ').trim())", selector)

    def eventually(self, look, wanted):
        """For what a browser does after a click, by an event of its own: going to a place in the page, copying."""
        try:
            WebDriverWait(self.browser, HANG).until(lambda _: look() == wanted)
        except TimeoutException:
            self.assertEqual(look(), wanted)

    def click(self, node):
        """In the middle of the screen, so that nothing that sticks to its edges is in the way."""
        self.run_script("arguments[0].scrollIntoView({block: 'center'})", node)
        node.click()
