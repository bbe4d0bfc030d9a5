"""Distribution of the jobs' flow times (JCT): the share of jobs done within a time, one step function a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from hetopt.analysis.metrics import job_metrics
from hetopt.analysis.plots.gantt_chart import _unit
from hetopt.analysis.plots.style import (
    axes_for,
    colour,
    colour_numbers,
    labelled_results,
    legend_below,
    legend_height,
    plain_text,
    quiet,
    schedule_of,
)
from hetopt.core.instance import Instance
from hetopt.core.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["cdf"]

_DASHES = ("-", "--", "-.", ":")


def cdf(
    results: Result | Iterable[Result] | Mapping[str, Result],
    instance: Instance,
    ax: Axes | None = None,
    *,
    title: str | None = None,
    order: Sequence[str] | None = None,
) -> Axes:
    """Draw the empirical distribution of flow times of one or several runs on an instance.

    Parameters
    ----------
    results
        A result, several, or a mapping from labels to results; those without a schedule are left out.
    instance
        Their instance.
    ax
        Where to draw; None: a new figure.
    title
        Title; by default none.
    order
        Labels in the order of their colours, so that several charts agree; None: that of ``results``.
    """
    pairs = labelled_results(results)
    ax = axes_for(ax, 9.0, 3.6 + legend_height([label for label, _ in pairs]))
    drawn = False
    numbers = colour_numbers([label for label, _ in pairs], order)
    for n, (label, result) in zip(numbers, pairs, strict=True):
        schedule = schedule_of(result, instance)
        if schedule is None:
            continue
        flows = sorted(job.flow_time for job in job_metrics(instance, schedule))
        shares = [i / len(flows) for i in range(len(flows) + 1)]
        ax.step(
            [0, *flows], shares, where="post", color=colour(n % 24), linewidth=1.6, label=plain_text(label),
            linestyle=_DASHES[(n // 8 + n) % len(_DASHES)], gid=f"cdf-{n}",
        )  # fmt: skip
        drawn = True
    ax.set_ylim(0, 1.02)
    ax.set_xlim(left=0)
    ax.set_xlabel("flow time of a job: " + _unit(instance).removeprefix("time ").strip("()"), loc="left")
    ax.set_ylabel("share of jobs")
    if title is not None:
        ax.set_title(plain_text(title), loc="left", fontsize="medium")
    quiet(ax, "both")
    if drawn:
        legend_below(ax)
    else:
        ax.text(0.5, 0.5, "no schedule", transform=ax.transAxes, ha="center", va="center", gid="empty")
    return ax
