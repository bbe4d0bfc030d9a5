"""Reports: complete, self-contained, escaped, and limited in size."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from hetopt.analysis import plots
from hetopt.analysis.comparison import Comparison, ContradictionError
from hetopt.analysis.plots.saving import drawn
from hetopt.analysis.report import charts, html_of, render
from hetopt.analysis.tables import COLUMNS
from hetopt.core.errors import OutputError, SolverUnavailableError
from hetopt.core.instance import GpuType, Instance, Job, SyncRound
from tests.analysis import fakes
from tests.analysis.fakes import compare_alone as compare
from tests.conftest import make_instance

pytestmark = pytest.mark.filterwarnings("error:.*constrained_layout.*")

VOID = {"meta", "link", "br", "hr", "img", "input"}
NASTY = "<script>alert('x')</script>&\"'<img src=http://example.com/a.png onerror=alert(1)>"


class Page(HTMLParser):
    """Elements with their attributes and text; complains about unbalanced tags and repeated identifiers."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        assert not self.stack
        ids = [a["id"] for _, a in self.found if "id" in a]
        assert len(ids) == len(set(ids))

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.stack or self.stack[-1] not in ("script", "style"):
            self.text.append(data)

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [a for t, a in self.found if t == tag]


TIGHT = make_instance({"A": 1}, [(2, 1, [(1, [3], [1]), (1, [2], [0])])], name="tight")
PAIR = Instance(
    name="pair",
    gpu_types=(GpuType(name="V100", count=2), GpuType(name="T4", count=1)),
    jobs=(
        Job(name="resnet", rounds=(SyncRound(repeat=3, scale=2, processing_time=(4, 9), sync_time=(1, 1)),)),
        Job(name="bert", weight=3, release_date=3, rounds=(SyncRound(scale=2, processing_time=(7, None)),)),
    ),
)


@pytest.fixture(scope="module")
def table() -> Comparison:
    solvers = [fakes.Ordered(), fakes.Claiming(), fakes.Ordered(reverse=True), fakes.Bounding(), fakes.Broken()]
    try:
        return compare([PAIR, TIGHT], solvers)
    except ContradictionError as error:  # claiming is wrong where the reversed order is better
        return error.comparison


@pytest.fixture(scope="module")
def text(table: Comparison) -> str:
    return html_of(table)


@pytest.fixture(scope="module")
def small() -> Comparison:
    return compare(TIGHT, fakes.Ordered())


def test_everything_is_in_it(table: Comparison, text: str) -> None:
    page = Page(text)
    text = " ".join(" ".join(page.text).split())
    assert "5 solvers on 2 instances" in text and table.command() in text
    for row in table.rows:
        for column in COLUMNS:
            assert column.cell(row) in text
    for column in COLUMNS:
        assert column.meaning in text
    for summary in table.instances:
        assert summary.fingerprint[:12] in text and summary.name in text
    for word in ("OPTIMAL", "EXHAUSTED", "VERIFIED", "Flow time (JCT)", "numpy", "Seed 0"):
        assert word in text
    headings = [int(t[1]) for t, _ in page.found if re.fullmatch("h[1-6]", t)]
    assert headings.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(headings))


def test_charts_have_names_and_tooltips(text: str) -> None:
    page = Page(text)
    drawn = page.of("svg")
    assert all(a.get("role") == "img" and a.get("aria-label") for a in drawn)
    # two instances: ratios, then per instance three Gantt charts and the convergence, and flow times where two jobs are
    assert len(drawn) == 1 + 2 * (3 + 1) + 1
    assert len(re.findall(r"<title>resnet, round", text)) == 3 * 6
    assert "resnet, round 0, task 0: V100 · GPU 0, 0 to 4, synchronised at 5" in text
    assert all(a.get("scope") in ("col", "row") for a in page.of("th"))


def test_nothing_is_fetched_from_anywhere(text: str) -> None:
    page = Page(text)
    for tag, attributes in page.found:
        assert tag not in ("img", "iframe", "object", "embed", "base")
        for key in ("src", "href", "xlink:href", "action", "data"):
            value = attributes.get(key)
            assert value is None or value.startswith("#") or value == "data:,", (tag, attributes)
        assert "@import" not in str(attributes) and not re.search(r"url\((?!#)", str(attributes.get("style", "")))
    css = Path(charts.__file__).with_name("templates") / "report.css"
    assert "url(" not in css.read_text() and "@import" not in css.read_text()
    (policy,) = [a["content"] for a in page.of("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None and "default-src 'none'" in policy


def test_names_with_html_are_escaped_everywhere(two_jobs: Instance) -> None:
    jobs = tuple(j.model_copy(update={"name": f"{NASTY}{n}"}) for n, j in enumerate(two_jobs.jobs))
    gpus = tuple(g.model_copy(update={"name": f"{g.name}{NASTY}"}) for g in two_jobs.gpu_types)
    nasty = two_jobs.model_copy(update={"name": NASTY, "jobs": jobs, "gpu_types": gpus})
    table = compare(nasty, {NASTY: fakes.Ordered(), "b": fakes.Broken()})
    page = Page(html_of(table, title=NASTY, command=NASTY))
    assert not page.of("img")
    assert len(page.of("script")) == 1
    assert not any(key.startswith("on") for _, a in page.found for key in a)
    assert " ".join(page.text).count(NASTY) >= 5


@pytest.mark.parametrize("tasks", [1, 2])
@pytest.mark.parametrize("sync", [0, 2])
def test_charts_of_one_and_two_tasks_have_a_tooltip_each(tasks: int, sync: int) -> None:
    tiny = make_instance({"A": 1}, [(1, 0, [(tasks, [3], [sync])])], name="tiny")
    text = html_of(compare(tiny, [fakes.Ordered()]))
    titles = re.findall(r"<title>([^<]*), round 0, task (\d)", text)
    assert [n for _, n in titles] == [str(n) for n in range(tasks)]


UNDRAWABLE = ["\0", "\x01", "\x1b[2J", "\x85", "\ufffe", "\uffff"]


def test_characters_that_no_page_can_hold_are_shown_as_escapes(two_jobs: Instance) -> None:
    bad = "".join(UNDRAWABLE)
    jobs = tuple(j.model_copy(update={"name": f"{bad}{n}"}) for n, j in enumerate(two_jobs.jobs))
    gpus = tuple(g.model_copy(update={"name": f"{g.name}{bad}"}) for g in two_jobs.gpu_types)
    nasty = two_jobs.model_copy(update={"name": f"in{bad}", "jobs": jobs, "gpu_types": gpus})
    text = html_of(compare(nasty, {f"s{bad}": fakes.Ordered(), f"b{bad}": fakes.Broken()}), title=bad, command="\udcff")
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", text)
    assert "\\udcff" in text
    Page(text)
    assert len(re.findall(r"<title>\\x00\\x01\\x1b\[2J\\x85\\ufffe\\uffff[01], round", text)) == nasty.num_tasks
    for chart in (plots.gantt, plots.utilisation, plots.cdf):
        result = compare(nasty, [fakes.Ordered()]).results[nasty.name, "ordered"]
        ElementTree.fromstring(drawn(chart(result, nasty), "svg"))


def test_large_schedules_are_left_out_with_a_word(monkeypatch: pytest.MonkeyPatch, two_jobs: Instance) -> None:
    table = compare(two_jobs, [fakes.Ordered(), fakes.Ordered(reverse=True)])
    monkeypatch.setattr(charts, "MOST_BARS", 9)
    text = html_of(table)
    assert text.count("left out: 10 bars, and the limit is 9 a chart") == 2 and 'class="mark-bars"' not in text
    monkeypatch.setattr(charts, "MOST_BARS", 100)
    made, used = charts.charts_of(table, 0, 15)
    assert [c.svg is not None for c in made.gantts] == [True, False] and used == 10


def test_many_instances_have_few_charts_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "MANY_INSTANCES", 1)
    monkeypatch.setattr(charts, "FEW_CHARTS", 1)
    solvers = {"a": fakes.Ordered(), "b": fakes.Ordered(), "c": fakes.Ordered()}
    text = html_of(compare([TIGHT, TIGHT], solvers))
    assert text.count('class="mark-bars"') == 2
    assert text.count("Gantt chart: b, c</strong> left out") == 2


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, small: Comparison, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SolverUnavailableError, match=rf"{package}.*pip install 'hetopt\[report\]'"):
        html_of(small)


def test_contradictions_and_interruptions_are_announced(two_jobs: Instance) -> None:
    with pytest.raises(ContradictionError) as caught:
        compare(two_jobs, [fakes.Ordered(), fakes.Bounding(value=10**6)])
    assert "Contradiction." in html_of(caught.value.comparison)
    table = compare(two_jobs, [fakes.Interrupting(), fakes.Ordered()])
    assert "1 runs were not started" in html_of(table)


def test_a_table_of_failures_only_has_no_ratio_chart(two_jobs: Instance) -> None:
    page = Page(html_of(compare(two_jobs, [fakes.Broken(), fakes.Absent()])))
    assert not page.of("svg")
    assert "pip install gurobipy" in " ".join(page.text)


def test_same_comparison_same_bytes_whatever_the_style_of_the_user(small: Comparison) -> None:
    import matplotlib as mpl

    plain = html_of(small)
    with mpl.rc_context({"text.color": "red", "axes.facecolor": "black", "font.size": 30}):
        before = dict(mpl.rcParams)
        assert html_of(small) == plain
        assert dict(mpl.rcParams) == before


def test_written_in_one_step_or_not_at_all(small: Comparison, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "report.html"
    path.parent.mkdir()
    small.report(path, title="A & B", command="hetopt compare a --solvers b")
    assert path.read_text(encoding="utf-8") == html_of(small, title="A & B", command="hetopt compare a --solvers b")
    shown = " ".join(Page(path.read_text(encoding="utf-8")).text)
    assert "A & B" in shown and "hetopt compare a --solvers b" in shown
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]
    with pytest.raises(OutputError):
        render(small, "/proc/no/such/report.html")


def test_size_of_a_report_of_a_hundred_tasks_is_modest() -> None:
    instance = make_instance({"A": 4, "B": 4}, [(1, 0, [(2, [3, 5], [1, 0])] * 5) for _ in range(10)])
    assert instance.num_tasks == 100
    text = html_of(compare(instance, [fakes.Ordered(), fakes.Ordered(reverse=True)]))
    assert len(text.encode()) < 400_000
    assert np.char.count(text, "<title>job") == 200
