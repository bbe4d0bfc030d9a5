"""Share of each GPU type that trains, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hetopt.analysis.metrics import busy_over_time
from hetopt.analysis.plots.gantt_chart import _unit
from hetopt.analysis.plots.style import (
    axes_for,
    colour,
    legend_below,
    legend_height,
    plain_text,
    quiet,
    schedule_of,
    short_text,
)
from hetopt.core.instance import Instance
from hetopt.core.result import Result
from hetopt.core.schedule import Schedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["utilisation"]


def utilisation(
    what: Result | Schedule, instance: Instance, ax: Axes | None = None, *, title: str | None = None
) -> Axes:
    """Draw the busy share of each GPU type as a step function.

    Parameters
    ----------
    what
        A result or a schedule; without any task the chart is empty.
    instance
        Its instance.
    ax
        Where to draw; None: a new figure.
    title
        Title; by default none.
    """
    schedule = schedule_of(what, instance)
    ax = axes_for(ax, 9.0, 2.8 + legend_height([g.name for g in instance.gpu_types]))
    ax.set_ylim(0, 1.05)
    ax.set_xlabel(_unit(instance), loc="left")
    ax.set_ylabel("share of GPUs training")
    if title is not None:
        ax.set_title(plain_text(title), loc="left", fontsize="medium")
    quiet(ax, "y")
    if schedule is None or not len(schedule):
        ax.text(0.5, 0.5, "no schedule", transform=ax.transAxes, ha="center", va="center", gid="empty")
        return ax
    times, busy = busy_over_time(instance, schedule)
    for k, kind in enumerate(instance.gpu_types):
        share = busy[:, k] / kind.count
        ax.step(
            times,
            share,
            where="post",
            color=colour(k % 24),
            linewidth=1.4,
            label=plain_text(short_text(kind.name)),
            gid=f"busy-{k}",
        )
        ax.fill_between(times, share, step="post", color=colour(k % 24), alpha=0.12, linewidth=0)
    ax.set_xlim(0, int(times[-1]) or 1)
    legend_below(ax)
    return ax
