"""Incumbent (solid) and lower bound (dashed) of runs over time, as the step functions that they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from hetopt.analysis.plots.style import (
    MARKERS,
    axes_for,
    colour,
    colour_numbers,
    labelled_results,
    legend_below,
    legend_height,
    plain_text,
    quiet,
)
from hetopt.core.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["convergence"]


def convergence(
    results: Result | Iterable[Result] | Mapping[str, Result],
    ax: Axes | None = None,
    *,
    title: str | None = None,
    log_time: bool | None = None,
    order: Sequence[str] | None = None,
) -> Axes:
    """Draw the history of one or several runs.

    Parameters
    ----------
    results
        A result, several, or a mapping from labels to results.  A run of one point is a marker.
    ax
        Where to draw; None: a new figure.
    title
        Title; by default none.
    log_time
        Whether time is on a logarithmic axis; None: when the times span more than a factor of 50.
    order
        Labels in the order of their colours, so that several charts agree; None: that of ``results``.
    """
    pairs = labelled_results(results)
    ax = axes_for(ax, 9.0, 3.6 + legend_height([f"{label} (bound)" for label, _ in pairs for _ in range(2)]))
    last = max((r.runtime_seconds for _, r in pairs), default=0.0)
    times = [
        max(p.seconds, 1e-4) for _, r in pairs for p in r.history if p.incumbent is not None or p.bound is not None
    ]
    logarithmic = log_time if log_time is not None else bool(times) and max(*times, last) > 50 * min(times)
    drawn = False
    numbers = colour_numbers([label for label, _ in pairs], order)
    for n, (label, result) in zip(numbers, pairs, strict=True):
        for kind in ("incumbent", "bound"):
            points = [
                (max(p.seconds, 1e-4) if logarithmic else p.seconds, v)
                for p in result.history
                if (v := getattr(p, kind)) is not None
            ]
            if not points:
                continue
            end = max(result.runtime_seconds, points[-1][0])
            x, y = [t for t, _ in points] + [end], [v for _, v in points] + [points[-1][1]]
            name = plain_text(label) + (" (bound)" if kind == "bound" else "")
            style = "-" if kind == "incumbent" else "--"
            marker = MARKERS[n % len(MARKERS)]
            ax.step(
                x, y, where="post", linestyle=style, color=colour(n % 24), linewidth=1.6, label=name, marker=marker,
                markersize=4.5, markevery=range(len(points)), fillstyle="full" if kind == "incumbent" else "none", gid=f"{kind}-{n}",
            )  # fmt: skip
            drawn = True
    if logarithmic:
        ax.set_xscale("log")
    elif last > 0:
        ax.set_xlim(left=0)
    ax.set_xlabel("time (s)", loc="left")
    ax.set_ylabel(str(pairs[0][1].objective_kind) if pairs else "objective")
    if title is not None:
        ax.set_title(plain_text(title), loc="left", fontsize="medium")
    quiet(ax, "both")
    if drawn:
        legend_below(ax)
    else:
        ax.text(0.5, 0.5, "nothing was recorded", transform=ax.transAxes, ha="center", va="center", gid="empty")
    return ax
