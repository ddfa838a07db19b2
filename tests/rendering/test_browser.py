"""Pages in a real browser: they load nothing, fit every window, can be read, and obey the keyboard."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.command import LUNA, fill, inside

pytestmark = pytest.mark.browser

PAGES = ("context", "diff", "host")
WIDTHS = (400, 1400)
THEMES = ("light", "dark")

LONG = "a-name-without-any-blank-" * 8


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a page of each kind, with long names and lines that are lost."""
    folder = tmp_path_factory.mktemp("pages")
    long = {
        f"agents/a/memories/{LONG}.md": f"- [fact] {LONG * 9}\n",
        "agents/a/KNOWLEDGE.md": "A sentence of some length. " * 400,
    }
    workspace = fill(folder / "w", {**long, "ctxasm.yaml": "date: 2025-03-14\n"})
    own = ("-w", str(workspace), "-b", "700")
    rules = {f".claude/rules/{LONG}.md": f"{LONG * 9}\n", "CLAUDE.md": "<!-- out -->\nSee @docs/x.md, and stop.\n"}
    project = fill(folder / "p", {**rules, "docs/x.md": "Never.\n", "AGENTS.md": "Other.\n", ".git/HEAD": ""}, base={})
    assert inside("explain", *LUNA, "--html", folder / "context.html", "--budgets", "1k,4k,16k").code == 0
    assert inside("explain", *own, "--html", folder / "long.html").code == 0
    assert inside("diff", "@1k", "@4k", *LUNA, "--html", folder / "diff.html").code == 0
    assert inside("explain", "--host", "all", "--html", folder / "host.html", cwd=project).code == 0
    return folder


class Browser(NamedTuple):
    """A headless Chromium."""

    driver: Any

    def open(self, page: Path, width: int = 1400, theme: str = "light") -> None:
        """Show a page in a window of this width."""
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        scheme = [{"name": "prefers-color-scheme", "value": theme}]
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        self.driver.get(page.as_uri())

    def run(self, script: str, *values: object) -> Any:
        """The value that a script returns."""
        return self.driver.execute_script(script, *values)

    def press(self, *keys: str) -> None:
        """Press keys, one after the other, wherever the focus is."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def log(self, kind: str) -> list[Any]:
        """What the browser noted since the last time: its `browser` or its `performance` log."""
        return list(self.driver.get_log(kind))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests, without a network."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    program, service = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    assert program, "install Debian's packages chromium and chromium-driver"
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in ("headless", "no-sandbox", "disable-gpu", "proxy-server=127.0.0.1:9"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(service))
    yield Browser(driver)
    driver.quit()


@pytest.mark.parametrize("name", PAGES)
def test_page_loads_nothing_and_reports_no_error(browser: Browser, pages: Path, name: str) -> None:
    browser.log("browser")
    browser.log("performance")
    browser.open(pages / f"{name}.html")
    browser.run("document.querySelectorAll('details').forEach(each => { each.open = true })")
    events = [json.loads(entry["message"])["message"] for entry in browser.log("performance")]
    sent = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert sent == [(pages / f"{name}.html").as_uri()]
    assert browser.log("browser") == []


WIDE = """
document.querySelectorAll('details').forEach(each => { each.open = true })
const wide = [...document.querySelectorAll('body *')].filter(
    each => !each.closest('.scrolls table, title') && each.getBoundingClientRect().right > innerWidth + 1)
return [document.scrollingElement.scrollWidth, ...wide.map(each => each.tagName + '.' + each.className)]
"""


@pytest.mark.parametrize("name", [*PAGES, "long"])
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_overflows_sideways(browser: Browser, pages: Path, name: str, width: int) -> None:
    browser.open(pages / f"{name}.html", width)
    scrolled, *wide = browser.run(WIDE)
    assert wide == []
    assert scrolled <= width


CONTRAST = """
document.querySelectorAll('details').forEach(each => { each.open = true })
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true})
const rgba = colour => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1)
    return [...canvas.getImageData(0, 0, 1, 1).data]
}
const light = ([r, g, b]) => [r, g, b].map(each => each / 255).map(
    each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4
).reduce((sum, each, at) => sum + each * [0.2126, 0.7152, 0.0722][at], 0)
const behind = element => {
    for (let each = element; each; each = each.parentElement) {
        const colour = rgba(getComputedStyle(each).backgroundColor)
        if (colour[3] === 255) return colour
        if (colour[3] > 0) throw new Error('a background that is seen through')
    }
    return rgba(getComputedStyle(document.documentElement).colorScheme === 'dark' ? '#121212' : '#fff')
}
const found = {}
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
while (walker.nextNode()) {
    const element = walker.currentNode.parentElement
    if (!walker.currentNode.data.trim() || element.closest('svg, title')) continue
    const style = getComputedStyle(element)
    const [a, b] = [light(rgba(style.color)), light(behind(element))]
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
    const size = parseFloat(style.fontSize), bold = style.fontWeight >= 700
    const least = size >= 24 || (bold && size >= 18.66) ? 3 : 4.5
    const name = element.tagName + '.' + element.className + ' in ' + element.parentElement.className
    if (ratio < least) found[name] = ratio
}
return found
"""
"""WCAG 2.1, 1.4.3: the ratio of contrast is 4.5 at least, and 3 for large text."""


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("theme", THEMES)
def test_every_text_has_the_contrast_of_level_aa(browser: Browser, pages: Path, name: str, theme: str) -> None:
    browser.open(pages / f"{name}.html", theme=theme)
    assert browser.run(CONTRAST) == {}


@pytest.mark.parametrize("theme", THEMES)
def test_page_is_as_light_as_the_person_wants_it(browser: Browser, pages: Path, theme: str) -> None:
    browser.open(pages / "context.html", theme=theme)
    red, green, blue = browser.run("return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (red + green + blue > 3 * 128) == (theme == "light")


FOCUSED = """
const element = document.activeElement, style = getComputedStyle(element)
const number = [...document.querySelectorAll('summary, a')].indexOf(element)
return [number, element.tagName, style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0]
"""

IS_OPEN = "return document.activeElement.parentElement.open"


@pytest.mark.parametrize("name", PAGES)
def test_the_keyboard_reaches_and_opens_every_part(browser: Browser, pages: Path, name: str) -> None:
    browser.open(pages / f"{name}.html")
    count = browser.run("return document.querySelectorAll('summary, a').length")
    reached = set()
    for _ in range(count + 20):
        browser.press("\ue004")  # Tab
        number, tag, is_seen = browser.run(FOCUSED)
        if tag == "BODY":
            break
        assert is_seen, f"the focus on {tag} {number} can't be seen"
        if tag == "SUMMARY":
            states = [browser.run(IS_OPEN)]
            for key in ("\ue007", " ", " "):  # Enter, and blanks: what is in it is reached next
                browser.press(key)
                states.append(browser.run(IS_OPEN))
            assert states == [False, True, False, True]
        reached.add(number)
    assert {*range(count)} <= reached


def test_the_keyboard_scrolls_a_wide_table(browser: Browser, pages: Path) -> None:
    browser.open(pages / "host.html", 400)
    browser.run("document.querySelectorAll('.scrolls')[1].focus()")
    browser.press("\ue014")  # Right
    assert browser.run(SCROLLED) == "0"


SCROLLED = """
const element = document.activeElement
const scrolled = new Promise(end => element.addEventListener('scroll', () => end(element.getAttribute('tabindex'))))
return element.scrollLeft ? element.getAttribute('tabindex') : scrolled
"""
"""Waits until the element with the focus is scrolled, and gives its place among those that take the focus."""


def test_a_link_to_a_file_opens_it(browser: Browser, pages: Path) -> None:
    browser.open(pages / "context.html")
    browser.run("document.querySelector('a[href=\"#file-1\"]').focus()")
    browser.press("\ue007")
    assert browser.run("return document.getElementById('file-1').parentElement.open")
    assert browser.run("return document.getElementById('file-1').getBoundingClientRect().top < innerHeight")
