"""Which charts a report has, and how many bars it can afford."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hetopt.analysis.comparison import Comparison, InstanceSummary, Row
from hetopt.analysis.plots.cdf_chart import cdf
from hetopt.analysis.plots.convergence_chart import convergence
from hetopt.analysis.plots.gantt_chart import bar_titles, gantt
from hetopt.analysis.plots.gantt_chart import chart_height as gantt_height
from hetopt.analysis.plots.ratio_chart import chart_height as ratio_height
from hetopt.analysis.plots.ratio_chart import ratios
from hetopt.analysis.plots.style import legend_height
from hetopt.analysis.report.inline_svg import chart_style, figure_axes, inline_svg
from hetopt.core.instance import Instance
from hetopt.core.result import Result

__all__ = ["Chart", "InstanceCharts", "charts_of", "ratio_chart"]

MOST_BARS: Final = 2_500
"""A Gantt chart with more tasks is left out."""
MOST_BARS_TOGETHER: Final = 15_000
"""When the Gantt charts of a report have this many bars, the following ones are left out."""


MANY_INSTANCES: Final = 8
"""With more instances than this, each has at most ``FEW_CHARTS`` Gantt charts and no chart of flow times."""
FEW_CHARTS: Final = 2


@dataclass(frozen=True)
class Chart:
    """A drawing with its caption; ``svg`` is None where it is left out, and ``caption`` says why."""

    name: str
    caption: str
    svg: str | None


@dataclass(frozen=True)
class InstanceCharts:
    """The charts of one instance."""

    gantts: tuple[Chart, ...]
    convergence: Chart | None
    flow_times: Chart | None


def ratio_chart(comparison: Comparison) -> Chart | None:
    """Ratios of all instances; None when none is known."""
    if all(row.ratio_to_bound is None for row in comparison.rows):
        return None
    with chart_style():
        ax = ratios(comparison, figure_axes(ratio_height(comparison)))
        known = [r for r in comparison.rows if r.ratio_to_bound is not None]
        label = f"Dot chart of {len(known)} ratios to the best lower bound, one line per instance"
        return Chart("ratios", label, inline_svg(ax, "ratios", label))


def _gantt_rows(comparison: Comparison, name: str) -> list[Row]:
    """The best exact run and every other run that is not exact, each with a schedule."""
    kinds = {s.label: s.kind for s in comparison.solvers}
    out: list[Row] = []
    exact = False
    for row in comparison.rows_of(name):
        if row.objective is None or (exact and kinds.get(row.solver) == "exact"):
            continue
        exact = exact or kinds.get(row.solver) == "exact"
        out.append(row)
    return out


def charts_of(comparison: Comparison, number: int, room: int) -> tuple[InstanceCharts, int]:
    """The charts of instance ``number`` with at most ``room`` bars; returns how many were used too."""
    summary = comparison.instances[number]
    instance = comparison.sources[number]
    order = [s.label for s in comparison.solvers]
    results = {
        label: comparison.results[summary.name, label] for label in order if (summary.name, label) in comparison.results
    }
    used = 0
    gantts = []
    rows = _gantt_rows(comparison, summary.name)
    most = FEW_CHARTS if len(comparison.instances) > MANY_INSTANCES else len(rows)
    for n, row in enumerate(rows):
        if n >= most:
            why = f"left out: a report of more than {MANY_INSTANCES} instances has {FEW_CHARTS} Gantt charts for each."
            gantts.append(Chart(", ".join(r.solver for r in rows[most:]), why, None))
            break
        chart = _gantt(results[row.solver], instance, summary, row, f"i{number}g{n}", room - used)
        used += summary.tasks if chart.svg is not None else 0
        gantts.append(chart)
    with chart_style():
        lines = None
        if any(p.incumbent is not None or p.bound is not None for r in results.values() for p in r.history):
            label = f"{summary.name}: incumbent (solid) and lower bound (dashed) over time of {len(results)} runs"
            height = 3.6 + legend_height([f"{name} (bound)" for name in results for _ in range(2)])
            ax = convergence(results, figure_axes(height), order=order)
            lines = Chart("convergence", label, inline_svg(ax, f"i{number}c", label))
        scheduled = {k: r for k, r in results.items() if r.incumbent is not None}
        flows = None
        if scheduled and instance.num_jobs > 1 and len(comparison.instances) <= MANY_INSTANCES:
            label = f"{summary.name}: distribution of the flow times of {instance.num_jobs} jobs under {len(scheduled)} schedules"
            ax = cdf(scheduled, instance, figure_axes(3.4 + legend_height(list(scheduled))), order=order)
            flows = Chart("flow times", label, inline_svg(ax, f"i{number}f", label))
    return InstanceCharts(tuple(gantts), lines, flows), used


def _gantt(result: Result, instance: Instance, summary: InstanceSummary, row: Row, prefix: str, room: int) -> Chart:
    label = f"Gantt chart: {row.solver} on {summary.name}, objective {row.objective}, {summary.tasks} tasks on {instance.num_gpus} GPUs"
    if summary.tasks > min(MOST_BARS, room):
        limit = f"{MOST_BARS} a chart" if summary.tasks > MOST_BARS else f"{MOST_BARS_TOGETHER} in a report"
        why = f"left out: {summary.tasks} bars, and the limit is {limit}. Draw it with hetopt plot, or in Python with hetopt.plot.gantt."
        return Chart(row.solver, why, None)
    with chart_style():
        ax = gantt(result, instance, figure_axes(gantt_height(result.schedule, instance)), title="")
        return Chart(row.solver, label, inline_svg(ax, prefix, label, bar_titles(result.schedule, instance)))
