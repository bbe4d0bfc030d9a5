"""A sweep as one HTML page that needs nothing else: tables, performance profiles, paired comparisons, trends."""

from __future__ import annotations

import os
from importlib.resources import files
from typing import Any, Final

from hetopt.analysis.sweeps.collect import SweepTable
from hetopt.analysis.sweeps.paired import PairedComparison, compare_all
from hetopt.analysis.sweeps.profiles import performance_profiles
from hetopt.analysis.tables import DASH
from hetopt.core.documents import write_text
from hetopt.core.errors import SolverUnavailableError

__all__ = ["MEANINGS", "html_of_sweep", "write_report"]

MEANINGS: Final = {
    "ratio_to_bound": "objective over the largest lower bound of any run on the same problem",
    "ratio_to_best": "objective over the best objective of any run on the same problem",
    "ratio_to_lp": "list schedule over the exact midpoint-LP bound",
    "mean_jct": "mean job completion time (finish - arrival) in seconds",
    "ftf_mean": "mean finish-time fairness: JCT over the time alone on a 1/n share",
    "ftf_worst": "worst finish-time fairness of any job",
    "cost": "cost of the allocation of the round",
    "runtime_seconds": "seconds of the method itself, libraries loaded before",
}

_PROFILED: Final = ("mean_jct", "objective", "cost", "runtime_seconds")


def _charts(table: SweepTable) -> list[tuple[str, str]]:
    """(heading, svg) of every chart that has something to show."""
    from hetopt.analysis.plots.interval_chart import interval_height, intervals
    from hetopt.analysis.plots.profile_chart import profiles
    from hetopt.analysis.plots.style import legend_height
    from hetopt.analysis.plots.trend_chart import trend
    from hetopt.analysis.report.inline_svg import chart_style, figure_axes, inline_svg

    out: list[tuple[str, str]] = []

    def add(heading: str, ax: Any) -> None:
        out.append((heading, inline_svg(ax, f"c{len(out)}", heading)))

    def group_charts(table: SweepTable) -> None:
        for metric in _PROFILED:
            found = performance_profiles(table, metric)
            if len(found) > 1 and found[0].problems > 1:
                ax = profiles(found, figure_axes(3.4 + legend_height([p.solver for p in found])))
                add(f"Performance profile of {_words(metric)} over {found[0].problems} problems and seeds", ax)
        for metric in _PROFILED[:3]:
            pairs = compare_all(table, metric)
            rows = [(p.other, p.ratio.estimate, p.ratio.low, p.ratio.high) for p in pairs if p.ratio is not None]
            if rows:
                ax = intervals(
                    rows, figure_axes(interval_height(rows)), label=f"{_words(metric)} over that of {pairs[0].mine}"
                )
                add(f"{_words(metric)}: others over {pairs[0].mine}, geometric means with 95 % intervals", ax)
        for argument in (c for c in table.columns if c.startswith("arg.") and c != "arg.seed"):
            for metric in table.metrics():
                series = trends(table, argument, metric)
                if len({x for points in series.values() for x, _ in points}) > 1:
                    name = argument.removeprefix("arg.")
                    ax = trend(
                        series, figure_axes(3.4 + legend_height(list(series))), x_label=name, y_label=_words(metric)
                    )
                    add(f"{_words(metric)} over {name}", ax)

    with chart_style():
        for group in table.groups():
            group_charts(group)
    return out


def trends(table: SweepTable, argument: str, metric: str) -> dict[str, list[tuple[float, float]]]:
    """(argument, metric) of every run that has both as numbers, by solver."""
    out: dict[str, list[tuple[float, float]]] = {}
    for row in table.done:
        x, y = row.get(argument), row.get(metric)
        if isinstance(x, (int, float)) and isinstance(y, (int, float)) and not isinstance(x, bool):
            out.setdefault(str(row["solver"]), []).append((float(x), float(y)))
    return out


def _words(metric: str) -> str:
    return metric.replace("_", " ")


def _number(value: Any) -> str:
    if value is None or value == "":
        return DASH
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def html_of_sweep(table: SweepTable, *, command: str = "") -> str:
    """The page as text.

    Raises
    ------
    SolverUnavailableError
        jinja2 or matplotlib is not installed.
    """
    try:
        import jinja2
        import markupsafe
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise SolverUnavailableError(
            f"reports need {error.name}, not installed here; get it with: pip install 'hetopt[report]'"
        ) from None
    folder = files("hetopt.analysis.report") / "templates"
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = _number
    environment.filters["words"] = _words
    metrics = table.metrics()
    shown = [c for c in table.columns if c not in _HIDDEN]
    return environment.get_template("sweep.html.j2").render(
        table=table,
        css=markupsafe.Markup((folder / "report.css").read_text(encoding="utf-8")),
        metrics=[(m, MEANINGS[m]) for m in metrics],
        summary=table.summary(metrics),
        charts=[(heading, markupsafe.Markup(svg)) for heading, svg in _charts(table)],
        pairs=[_pair_cells(p) for group in table.groups() for m in _PROFILED[:3] for p in compare_all(group, m)],
        columns=shown,
        command=command,
        states=sorted(table.states.items()),
        problems=len({row["problem"] for row in table.rows}),
    )


_HIDDEN: Final = frozenset(
    {
        "commit",
        "machine",
        "started",
        "message",
        "fingerprint",
        "solver_version",
        "deterministic",
        "work",
        "broken_steps",
    }
)


def _pair_cells(p: PairedComparison) -> list[str]:
    r = p.ratio
    span = DASH if r is None or r.low is None or r.high is None else f"{r.low:.3f} to {r.high:.3f}"
    estimate = DASH if r is None else f"{r.estimate:.3f}"
    extremes = f"{_number(p.smallest)} to {_number(p.largest)}"
    return [
        _words(p.metric),
        p.mine,
        p.other,
        estimate,
        span,
        f"{p.wins} / {p.ties} / {p.losses}",
        extremes,
        str(p.left_out),
    ]


def write_report(table: SweepTable, path: str | os.PathLike[str], *, command: str = "") -> None:
    """Write :func:`html_of_sweep` in one step."""
    write_text(path, html_of_sweep(table, command=command))
