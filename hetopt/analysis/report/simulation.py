"""Simulations as one HTML file that needs nothing else."""

from __future__ import annotations

import os
from importlib.resources import files
from typing import Any

from hetopt.analysis.plots.simulation_chart import completion_times, fairness, over_time
from hetopt.analysis.plots.style import legend_height
from hetopt.analysis.report.charts import Chart
from hetopt.analysis.report.inline_svg import chart_style, figure_axes, inline_svg
from hetopt.analysis.simulations import COLUMNS, cell, rows_of
from hetopt.core.documents import write_text
from hetopt.core.errors import SolverUnavailableError
from hetopt.core.simulation import SimulationResult
from hetopt.core.text import visible

__all__ = ["render_simulation", "simulation_html"]


def simulation_html(result: SimulationResult, *, facts: dict[str, str] | None = None, command: str = "") -> str:
    """The report as text.

    Parameters
    ----------
    result
        What to report.
    facts
        Further facts for the head: cluster, round length, ...
    command
        The command line that made it; empty: not shown.

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
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        loader=jinja2.FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
    )
    environment.filters["svg"] = markupsafe.Markup  # made by inline_svg, which escapes
    rows = rows_of(result)
    jobs = len(result.policies[0].jobs) if result.policies else 0
    return environment.get_template("simulation.html.j2").render(
        css=markupsafe.Markup((folder / "report.css").read_text(encoding="utf-8")),
        title=f"{len(rows)} polic{'ies' if len(rows) != 1 else 'y'} on {result.workload}",
        result=result,
        jobs=jobs,
        facts=facts or {},
        columns=COLUMNS,
        rows=[(row, [cell(row, field, spec) for field, _, spec in COLUMNS]) for row in rows],
        best=_best(rows),
        charts=_charts(result),
        command=command,
    )


def render_simulation(
    result: SimulationResult,
    path: str | os.PathLike[str],
    *,
    facts: dict[str, str] | None = None,
    command: str = "",
) -> None:
    """Write :func:`simulation_html` in one step."""
    write_text(path, simulation_html(result, facts=facts, command=command))


def _best(rows: Any) -> dict[str, float]:
    """Best value of each column in which less is better (use of GPUs: more), among policies that finished everything."""
    complete = [row for row in rows if not row.unfinished]
    out: dict[str, float] = {}
    for field in ("mean_jct", "median_jct", "p99_jct", "makespan", "mean_fairness", "worst_fairness", "unfair"):
        known = [v for row in complete if (v := getattr(row, field)) is not None]
        if len(known) > 1:
            out[field] = min(known)
    return out


def _charts(result: SimulationResult) -> list[Chart]:
    labels = [o.policy for o in result.policies]
    room = legend_height(labels)
    jobs = len(result.policies[0].jobs) if result.policies else 0
    text = f"{len(labels)} policies, {jobs} jobs"
    with chart_style():
        drawn = (
            ("Completion times", completion_times(result, figure_axes(3.6 + room)), "distribution of completion times"),
            ("Finish-time fairness", fairness(result, figure_axes(3.6 + room)), "distribution of finish-time fairness"),
            ("Waiting jobs", over_time(result, "waiting jobs", figure_axes(3.4 + room)), "waiting jobs over time"),
            (
                "GPUs in use",
                over_time(result, "GPUs in use", figure_axes(3.4 + room), share=True),
                "share of GPUs in use over time",
            ),
        )
        return [
            Chart(name, f"{what}: {text}", inline_svg(ax, f"s{n}", f"{what}: {text}"))
            for n, (name, ax, what) in enumerate(drawn)
        ]
