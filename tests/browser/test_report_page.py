"""The report in a real browser: no console error, no request, readable on a phone and a desk, in light and dark."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.analysis import fakes
from tests.analysis.fakes import compare_alone as compare
from tests.conftest import make_instance

pytestmark = pytest.mark.browser

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SIZES = {"phone": (390, 844), "narrow": (360, 640), "desk": (1440, 900)}

# contrast of every visible text against the first opaque background behind it; text inside bars has its own test
CONTRAST = """() => {
  const parse = s => { const m = s.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const lum = c => { const l = c.slice(0, 3).map(v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2]; };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const out = [];
  let n = 0;
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.data.trim() || element.closest("script, style, title, .mark-inside") || !element.getClientRects().length) continue;
    let back = null;
    for (let e = element; e && !back; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c[3] === 1) back = c;
    }
    const style = getComputedStyle(element);
    const ink = parse(element.closest("svg") ? style.fill : style.color);
    const [a, b] = [lum(ink), lum(back || [255, 255, 255])].sort((x, y) => y - x);
    n += 1;
    if ((a + 0.05) / (b + 0.05) < 4.5 || ink[3] < 1) out.push([node.data.trim().slice(0, 40), ink, back]);
  }
  return [n, out];
}"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    hard = make_instance(
        {"V100": 2, "T4 <b>": 3},
        [(n % 3 + 1, n, [(n % 3 + 1, [2 + n, 5 + n], [1, 2])] * 3) for n in range(8)],
        name="a rather long instance name <i>with html</i> " + "x" * 60,
    )
    easy = make_instance({"A": 1}, [(2, 1, [(1, [3], [1]), (1, [2], [0])])], name="tight")
    table = compare([hard, easy], [fakes.Ordered(), fakes.Ordered(reverse=True), fakes.Bounding(), fakes.Broken()])
    path = tmp_path_factory.mktemp("report") / "report.html"
    table.report(path)
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium is installed (Debian: apt-get install chromium)")
    with api.sync_playwright() as play:
        made = play.chromium.launch(executable_path=chromium, args=FLAGS)
        yield made
        made.close()


@pytest.fixture(params=[(s, c) for s in SIZES for c in ("light", "dark")], ids=lambda p: "-".join(p))
def page(request: pytest.FixtureRequest, browser: Any, report: Path) -> Iterator[Any]:
    size, scheme = request.param
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    made = context.new_page()
    made.problems, made.requests = [], []
    made.on("console", lambda m: made.problems.append(m.text))
    made.on("pageerror", lambda e: made.problems.append(str(e)))

    def route(r: Any) -> None:
        made.requests.append(r.request.url)
        if r.request.url == report.as_uri():
            r.continue_()
        else:
            r.abort()

    context.route("**/*", route)
    made.goto(report.as_uri())
    made.scheme, made.width = scheme, width
    yield made
    context.close()


def test_page(page: Any, report: Path) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert page.locator("article").count() == 2
    assert page.locator(".mark-bars").first.locator("> *").count() == 45
    assert (
        page.locator("svg.chart").count() == 1 + 4 + 3
    )  # ratios; two Gantt charts and convergence each; flow times of several jobs
    assert page.evaluate(
        "[...document.querySelectorAll('svg.chart')].every(s => s.getBoundingClientRect().height > 100)"
    )
    # no sideways scrolling of the page; whatever is wider scrolls inside its own box
    wide = page.evaluate("[document.documentElement.scrollWidth, document.body.scrollWidth, window.innerWidth]")
    assert wide[0] <= wide[2] and wide[1] <= wide[2]
    escaped = page.evaluate(
        "[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll') && e.getClientRects().length"
        " && e.getBoundingClientRect().right > window.innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
    )
    assert escaped == []
    count, poor = page.evaluate(CONTRAST)
    assert count > 200 and poor == []
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (sum(dark) < 200) == (page.scheme == "dark")
    small = page.evaluate(
        "[...document.querySelectorAll('p, td, th, li, dd, dt, summary, figcaption')]"
        ".filter(e => parseFloat(getComputedStyle(e).fontSize) < 12).length"
    )
    assert small == 0
    assert page.evaluate("document.querySelectorAll('i, b:not(.facts b)').length") == 0
    assert page.problems == [] and page.requests == [report.as_uri()]


def test_sorting(page: Any) -> None:
    def column(number: int) -> list[str | None]:
        return page.evaluate(
            "n => [...document.querySelectorAll('#table tbody tr')].map(r => r.cells[n].getAttribute('data-v'))", number
        )

    heads = page.evaluate("[...document.querySelectorAll('#table thead th')].map(t => t.textContent.trim())")
    for title, kind in (("Objective", float), ("Solver", str), ("Ratio to bound", float)):
        number = heads.index(title)
        button = page.locator("#table thead th").nth(number).locator("button")
        for direction in ("ascending", "descending"):
            button.click()
            assert page.locator("#table thead th").nth(number).get_attribute("aria-sort") == direction
            values = column(number)
            known = [kind(v) for v in values if v is not None]
            assert known == sorted(known, reverse=direction == "descending")
            assert values[: len(known)].count(None) == 0  # what is unknown comes last, both ways
    assert page.locator("#table thead th[aria-sort=none]").count() == len(heads) - 1
    assert page.problems == []


def test_a_bar_tells_what_it_is(page: Any) -> None:
    figure = page.locator("figure.gantt").first
    bar = figure.locator(".mark-bars > *").first
    title = bar.locator("title").text_content()
    assert title.startswith("job0, round 0, task 0: ")
    bar.dispatch_event("click", {"bubbles": True})
    assert figure.locator("figcaption").text_content() == title
    assert figure.locator(".chosen").count() == 1
    assert page.problems == []


def test_keyboard_reaches_headings_of_the_table(page: Any) -> None:
    page.locator("#table thead button").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("#table thead th").first.get_attribute("aria-sort") == "ascending"


def test_checks_can_fail(browser: Any, report: Path, tmp_path: Path) -> None:
    """A page with a fetch, poor contrast and a wide box is seen as such by the same checks."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        '<body style="background:#fff"><p style="color:#bbb;width:3000px">pale</p><img src="http://example.com/x.png">'
    )
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    seen: list[str] = []
    context.route(
        "**/*", lambda r: (seen.append(r.request.url), r.continue_() if r.request.url == bad.as_uri() else r.abort())
    )
    page.goto(bad.as_uri())
    assert seen == [bad.as_uri(), "http://example.com/x.png"]
    assert page.evaluate(CONTRAST)[1]
    assert page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    context.close()
