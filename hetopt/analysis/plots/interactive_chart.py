"""Gantt chart as a plotly figure, to zoom into (extra ``interactive``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hetopt.analysis.plots.gantt_chart import _gpu_names, _job_name, _number_of_gpus, _unit, bar_titles
from hetopt.analysis.plots.style import colour, schedule_of
from hetopt.core.errors import SolverUnavailableError
from hetopt.core.instance import Instance
from hetopt.core.result import Result
from hetopt.core.schedule import Schedule

if TYPE_CHECKING:
    import plotly.graph_objects

__all__ = ["gantt_interactive"]


def gantt_interactive(what: Result | Schedule, instance: Instance | None = None) -> plotly.graph_objects.Figure:
    """One row a GPU, one trace a job (click a legend entry to hide it), details on hovering.

    Write it with ``figure.write_html(path, include_plotlyjs=True)``: one file that works offline.

    Raises
    ------
    SolverUnavailableError
        Plotly is not installed.
    """
    try:
        import plotly.graph_objects as go
    except ImportError:
        raise SolverUnavailableError(
            "interactive charts need plotly, not installed here; get it with: pip install 'hetopt[interactive]'"
        ) from None
    import html

    schedule = schedule_of(what, instance)
    gpus = _number_of_gpus(schedule, instance)
    names = _gpu_names(gpus, instance)
    figure: Any = go.Figure()
    if schedule is not None and len(schedule):
        titles = [html.escape(t) for t in bar_titles(schedule, instance)]
        for job in sorted(set(schedule.job.tolist())):
            mine = (schedule.job == job).nonzero()[0].tolist()
            red, green, blue = (round(255 * c) for c in colour(job % 24))
            figure.add_bar(
                orientation="h",
                base=schedule.start[mine].tolist(),
                x=(schedule.end - schedule.start)[mine].tolist(),
                y=schedule.gpu[mine].tolist(),
                name=html.escape(_job_name(job, instance)),
                marker={"color": f"rgb({red},{green},{blue})"},
                hovertext=[titles[i] for i in mine],
                hoverinfo="text",
            )
    figure.update_layout(
        barmode="overlay",
        xaxis_title=_unit(instance),
        yaxis={
            "tickmode": "array", "tickvals": list(range(gpus)), "ticktext": [html.escape(n) for n in names],
            "range": [gpus - 0.5, -0.5],
        },
    )  # fmt: skip
    return figure
