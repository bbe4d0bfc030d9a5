"""A metric over a grid argument, one line a solver: the mean, and all values as points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hetopt.analysis.plots.style import MARKERS, axes_for, colour, legend_below, legend_height, plain_text, quiet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["trend"]


def trend(
    series: Mapping[str, Sequence[tuple[float, float]]],
    ax: Axes | None = None,
    *,
    x_label: str = "",
    y_label: str = "",
    title: str | None = None,
) -> Axes:
    """Draw the means of equal x as a line and every value as a faint point.

    Parameters
    ----------
    series
        Label to (x, y) pairs.
    ax
        Where to draw; None: a new figure.
    x_label, y_label, title
        Texts.
    """
    ax = axes_for(ax, 9.0, 3.6 + legend_height(list(series)))
    everything = [point for points in series.values() for point in points]
    for n, (label, points) in enumerate(series.items()):
        groups: dict[float, list[float]] = {}
        for x, y in points:
            groups.setdefault(x, []).append(y)
        places = sorted(groups)
        ax.plot(
            places, [sum(groups[x]) / len(groups[x]) for x in places], color=colour(n % 24), linewidth=1.6,
            marker=MARKERS[n % len(MARKERS)], markersize=5, label=plain_text(label), gid=f"incumbent-{n}",
        )  # fmt: skip
        ax.plot(
            [x for x, _ in points], [y for _, y in points], color=colour(n % 24), linestyle="none",
            marker=MARKERS[n % len(MARKERS)], markersize=3, alpha=0.35,
        )  # fmt: skip
    for axis, values in (("x", [x for x, _ in everything]), ("y", [y for _, y in everything])):
        if values and min(values) > 0 and max(values) > 30 * min(values):
            (ax.set_xscale if axis == "x" else ax.set_yscale)("log")
    ax.set_xlabel(plain_text(x_label), loc="left")
    ax.set_ylabel(plain_text(y_label))
    if title is not None:
        ax.set_title(plain_text(title), loc="left", fontsize="medium")
    quiet(ax, "both")
    if everything:
        legend_below(ax)
    else:
        ax.text(0.5, 0.5, "no values", transform=ax.transAxes, ha="center", va="center", gid="empty")
    return ax
