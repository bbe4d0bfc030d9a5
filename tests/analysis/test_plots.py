"""Charts: what is drawn is what the data say, nothing is shown, and the same chart has the same bytes."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from hetopt.analysis import plots
from hetopt.analysis.comparison import Comparison, ContradictionError
from hetopt.analysis.plots.style import colour, ink_on
from hetopt.core.errors import OutputError, SolverUnavailableError, UsageError
from hetopt.core.instance import Instance
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Limits
from hetopt.solvers.run import run
from tests.analysis import fakes
from tests.analysis.fakes import compare_alone as compare
from tests.conftest import make_instance

pytestmark = pytest.mark.filterwarnings("error:.*constrained_layout.*")


@pytest.fixture(autouse=True)
def _no_windows(monkeypatch: pytest.MonkeyPatch):
    def refuse(*a: object, **k: object) -> None:
        raise AssertionError("a chart called show()")

    monkeypatch.setattr(plt, "show", refuse)
    yield
    plt.close("all")


@pytest.fixture
def schedule(two_jobs: Instance) -> Schedule:
    return fakes.list_schedule(two_jobs, [0, 1])


@pytest.fixture
def table(two_jobs: Instance) -> Comparison:
    return compare(two_jobs, [fakes.Ordered(), fakes.Ordered(reverse=True), fakes.Bounding(), fakes.Broken()])


def boxes(ax: Axes, gid: str) -> list[tuple[float, float, float, float]]:
    """(left, right, upper, lower) of the bars of a chart."""
    found = [c for c in ax.collections if isinstance(c, PolyCollection) and c.get_gid() == gid]
    corners = [path.vertices for c in found for path in c.get_paths()]
    return [(v[:, 0].min(), v[:, 0].max(), v[:, 1].min(), v[:, 1].max()) for v in corners]


def test_gantt_bars_are_the_tasks(two_jobs: Instance, schedule: Schedule) -> None:
    ax = plots.gantt(schedule, two_jobs)
    bars = boxes(ax, "bars")
    assert [(a, b, round((c + d) / 2)) for a, b, c, d in bars] == list(
        zip(schedule.start.tolist(), schedule.end.tolist(), schedule.gpu.tolist(), strict=True)
    )
    tails = boxes(ax, "sync")
    late = schedule.sync_end > schedule.end
    assert [(a, b) for a, b, *_ in tails] == list(
        zip(schedule.end[late].tolist(), schedule.sync_end[late].tolist(), strict=True)
    )
    assert [t.get_text() for t in ax.get_yticklabels()] == ["V100 · 0", "V100 · 1", "T4 · 2"]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["0: resnet", "1: bert"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_no_two_bars_overlap_not_even_with_tails(two_jobs: Instance, schedule: Schedule) -> None:
    ax = plots.gantt(schedule, two_jobs)
    everything = boxes(ax, "bars") + boxes(ax, "sync")
    for i, (a, b, c, d) in enumerate(boxes(ax, "bars")):
        for j, (e, f, g, h) in enumerate(everything):
            assert i == j or min(b, f) <= max(a, e) or min(d, h) <= max(c, g) + 1e-9


def test_gantt_takes_results_and_given_axes(two_jobs: Instance) -> None:
    result = run(fakes.Ordered(), two_jobs, limits=Limits())
    ax = plt.figure().add_subplot()
    assert plots.gantt(result, ax=ax) is ax
    assert "ordered · total-weighted-completion" in ax.get_title(loc="left")
    assert ax.get_yticklabels()[0].get_text() == "GPU 0"


def test_empty_schedules_and_results_draw_empty_charts(two_jobs: Instance, tmp_path) -> None:
    nothing = run(fakes.Nothing(), two_jobs)
    empty = Schedule("x", two_jobs.fingerprint, *[np.zeros(0, dtype=np.int64)] * 7)
    for n, what in enumerate((nothing, empty)):
        for ax in (plots.gantt(what, two_jobs), plots.gantt(what), plots.utilisation(what, two_jobs)):
            assert not boxes(ax, "bars")
            assert [t.get_text() for t in ax.texts] == ["no schedule"]
            plots.save(ax, tmp_path / f"{n}.svg")
    assert [t.get_text() for t in plots.convergence([]).texts] == ["nothing was recorded"]
    assert [t.get_text() for t in plots.convergence(nothing).texts] == ["nothing was recorded"]
    assert [t.get_text() for t in plots.cdf(nothing, two_jobs).texts] == ["no schedule"]


def test_twenty_thousand_tasks_are_two_collections_and_limited_text(tmp_path) -> None:
    instance = make_instance({"A": 64, "B": 64}, [(1, 0, [(10, [3, 5], [1, 0])] * 20) for _ in range(100)])
    assert instance.num_tasks == 20000
    at = np.arange(20000)
    ax = plots.gantt(Schedule.from_starts(instance, at % 128, 8 * (at // 128)), instance)
    assert len(boxes(ax, "bars")) == 20000
    assert len(ax.collections) == 2 and len(ax.patches) <= 4 and not ax.texts
    assert len(ax.get_legend().get_texts()) == 12
    assert ax.get_legend().get_texts()[-1].get_text() == "and 89 more jobs"
    assert len(ax.get_yticks()) == 2
    plots.save(ax, tmp_path / "large.png")


def test_names_with_any_character_are_drawn_as_they_are(two_jobs: Instance, tmp_path) -> None:
    nasty = ("$x^{2}$ <b>&amp;", "_hidden", "a\nb\t" + "c" * 90)
    jobs = tuple(two_jobs.jobs[0].model_copy(update={"name": n}) for n in nasty)
    gpus = tuple(g.model_copy(update={"name": f"{g.name}_$"}) for g in two_jobs.gpu_types)
    instance = two_jobs.model_copy(update={"jobs": jobs, "gpu_types": gpus, "name": "$\\alpha"})
    ax = plots.gantt(fakes.list_schedule(instance, [0, 1, 2]), instance)
    assert len(ax.get_legend().get_texts()) == 3
    with mpl.rc_context({"svg.fonttype": "none"}):
        plots.save(ax, tmp_path / "n.svg")
    text = (tmp_path / "n.svg").read_text()
    assert "0: $x^{2}$ &lt;b&gt;&amp;amp;" in text and "$\\alpha" in text


def test_wrong_things_are_refused(two_jobs: Instance, schedule: Schedule) -> None:
    other = make_instance({"A": 1}, [(1, 0, [(1, [2], [0])])])
    with pytest.raises(UsageError, match="fingerprints differ"):
        plots.gantt(schedule, other)
    with pytest.raises(UsageError, match="found dict"):
        plots.gantt({}, two_jobs)
    with pytest.raises(UsageError, match="found int"):
        plots.convergence([3])


def test_convergence_steps_are_the_history(two_jobs: Instance) -> None:
    result = run(fakes.Ordered(reverse=True), two_jobs)
    ax = plots.convergence({"mine": result}, log_time=False)
    line = next(line for line in ax.lines if line.get_gid() == "incumbent-0")
    points = [(p.seconds, p.incumbent) for p in result.history if p.incumbent is not None]
    assert list(zip(line.get_xdata(), line.get_ydata(), strict=True))[: len(points)] == points
    assert all(a >= b for a, b in pairwise(line.get_ydata()))
    assert line.get_drawstyle() == "steps-post" and line.get_label() == "mine"


def test_colours_of_several_charts_agree_when_asked_to(two_jobs: Instance, table: Comparison) -> None:
    order = [s.label for s in table.solvers]
    last = "ordered (reverse=True)"
    for draw in (plots.convergence, lambda results, **kw: plots.cdf(results, two_jobs, **kw)):
        ax = draw({last: table.results["two-jobs", last], "new": table.results["two-jobs", "ordered"]}, order=order)
        colours = {line.get_label(): line.get_color() for line in ax.lines if not line.get_label().endswith("bound)")}
        assert colours[last] == colour(order.index(last)) and colours["new"] == colour(len(order))


def test_ratio_chart_has_each_known_ratio_and_no_other(table: Comparison) -> None:
    ax = table.plot()
    drawn = sorted(float(x) for line in ax.lines if str(line.get_gid()).startswith("ratios-") for x in line.get_xdata())
    assert drawn == sorted(float(r.ratio_to_bound) for r in table.rows if r.ratio_to_bound is not None)
    assert len(drawn) == 2
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["ordered", "ordered (reverse=True)"]


def test_ratio_chart_shows_what_lies_below_a_wrong_bound(two_jobs: Instance) -> None:
    with pytest.raises(ContradictionError) as caught:
        compare(two_jobs, [fakes.Ordered(), fakes.Bounding(value=10**6)])
    ax = caught.value.comparison.plot()
    (x,) = (x for line in ax.lines if str(line.get_gid()).startswith("ratios-") for x in line.get_xdata())
    assert ax.get_xlim()[0] < x < 1 < ax.get_xlim()[1]


def test_cdf_and_utilisation(two_jobs: Instance, table: Comparison) -> None:
    ax = plots.cdf([table.results["two-jobs", "ordered"], table.results["two-jobs", "bounding"]], two_jobs)
    (line,) = [line for line in ax.lines if str(line.get_gid()).startswith("cdf-")]
    assert line.get_ydata()[-1] == 1 and len(line.get_xdata()) == 3
    ax = plots.utilisation(table.results["two-jobs", "ordered"], two_jobs)
    assert len([line for line in ax.lines if str(line.get_gid()).startswith("busy-")]) == 2


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_saved_bytes_repeat_and_hold_no_date(two_jobs: Instance, schedule: Schedule, tmp_path, kind: str) -> None:
    for name in ("a", "b"):
        plots.save(plots.gantt(schedule, two_jobs), tmp_path / f"{name}.{kind}")
    first = (tmp_path / f"a.{kind}").read_bytes()
    assert first == (tmp_path / f"b.{kind}").read_bytes()
    if kind == "svg":
        ids = re.findall(rb'id="([^"]+)"', first)
        assert len(ids) == len(set(ids))
    assert b"dc:date" not in first and b"CreationDate" not in first
    assert [p.name for p in sorted(tmp_path.iterdir())] == [f"a.{kind}", f"b.{kind}"]


def test_saving_says_what_is_wrong(two_jobs: Instance, schedule: Schedule, tmp_path) -> None:
    ax = plots.gantt(schedule, two_jobs)
    with pytest.raises(UsageError, match=r"written as .svg, .pdf, .png"):
        plots.save(ax, tmp_path / "a.bmp")
    (tmp_path / "file").write_text("")
    for path in ("/proc/no/such.svg", tmp_path / "file" / "a.svg"):
        with pytest.raises(OutputError):
            plots.save(ax, path)
    plots.save(ax.figure, tmp_path / "a.svg")


def test_interactive_gantt_has_one_trace_a_job(two_jobs: Instance, schedule: Schedule) -> None:
    pytest.importorskip("plotly")
    figure = plots.gantt_interactive(schedule, two_jobs)
    assert [t.name for t in figure.data] == ["resnet", "bert"]
    bars = sorted((m, b, w) for t in figure.data for m, b, w in zip(t.y, t.base, t.x, strict=True))
    expected = zip(
        schedule.gpu.tolist(), schedule.start.tolist(), (schedule.end - schedule.start).tolist(), strict=True
    )
    assert bars == sorted(expected)


@pytest.mark.parametrize(
    ("package", "extra"), [("matplotlib.pyplot", "report"), ("plotly.graph_objects", "interactive")]
)
def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, schedule: Schedule, package: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    draw = plots.gantt if extra == "report" else plots.gantt_interactive
    with pytest.raises(SolverUnavailableError, match=rf"pip install 'hetopt\[{extra}\]'"):
        draw(schedule)


def test_colours_differ_and_text_on_them_is_readable() -> None:
    def luminance(rgb: tuple[float, ...]) -> float:
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    assert len({colour(n) for n in range(24)}) == 24 and colour(24) == colour(0)
    for n in range(24):
        back, ink = luminance(colour(n)), 1.0 if ink_on(colour(n)) == "#ffffff" else 0.0
        assert (max(back, ink) + 0.05) / (min(back, ink) + 0.05) >= 4.5


def test_importing_charts_loads_no_matplotlib() -> None:
    code = "import sys, hetopt.analysis.plots; sys.exit('matplotlib' in sys.modules or 'plotly' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
