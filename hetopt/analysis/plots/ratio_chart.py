"""Dot chart: ratio of each solver's objective to the best bound, one line an instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hetopt.analysis.plots.style import (
    MARKERS,
    axes_for,
    colour,
    legend_below,
    legend_height,
    plain_text,
    quiet,
    short_text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hetopt.analysis.comparison import Comparison

__all__ = ["chart_height", "ratios"]


def chart_height(comparison: Comparison) -> float:
    """Inches that suit the numbers of instances and solvers."""
    labels = [s.label for s in comparison.solvers]
    return min(0.75 + (0.32 + 0.06 * len(labels)) * max(len(comparison.instances), 2), 22.0) + legend_height(labels)


def ratios(comparison: Comparison, ax: Axes | None = None, *, title: str | None = None) -> Axes:
    """Draw every ratio to the best bound that is known; rows without one are not drawn, nor stand for a number.

    Parameters
    ----------
    comparison
        The table.
    ax
        Where to draw; None: a new figure.
    title
        Title; by default none.
    """
    names = [i.name for i in comparison.instances]
    labels = [s.label for s in comparison.solvers]
    ax = axes_for(ax, 9.0, chart_height(comparison))
    place = {name: n for n, name in enumerate(names)}
    spread = 0.62 / max(len(labels), 1)
    smallest = largest = 1.0
    drawn = False
    for n, label in enumerate(labels):
        found = [
            (float(r.ratio_to_bound), place[r.instance])
            for r in comparison.rows
            if r.solver == label and r.ratio_to_bound is not None
        ]
        if not found:
            continue
        drawn = True
        smallest, largest = min(smallest, *(x for x, _ in found)), max(largest, *(x for x, _ in found))
        shift = (n - (len(labels) - 1) / 2) * spread
        ax.plot(
            [x for x, _ in found], [y + shift for _, y in found], linestyle="none", marker=MARKERS[n % len(MARKERS)],
            color=colour(n % 24), markersize=6, markeredgewidth=0.5, label=plain_text(label), gid=f"ratios-{n}", clip_on=False,
        )  # fmt: skip
    for y in range(len(names)):
        ax.axhspan(y - 0.38, y + 0.38, color="#808080", alpha=0.09, linewidth=0)
    ax.axvline(1.0, color="#808080", linewidth=1.0)
    ax.set_yticks(range(len(names)), [plain_text(short_text(name, 24)) for name in names], fontsize="small")
    ax.set_ylim(len(names) - 0.4, -0.6)
    if largest > 8 * smallest:
        ax.set_xscale("log")
    ax.set_xlim(left=smallest * (0.98 if largest < 2 else 0.95), right=max(1.02, 1 + (largest - 1) * 1.06))
    ax.set_xlabel("objective / best lower bound (1: proved optimal)", loc="left")
    if title is not None:
        ax.set_title(plain_text(title), loc="left", fontsize="medium")
    quiet(ax, "x")
    ax.tick_params(axis="x", labeltop=len(names) > 12)  # a tall chart is read from both ends
    if drawn:
        legend_below(ax)
    else:
        ax.text(0.5, 0.5, "no ratio is known", transform=ax.transAxes, ha="center", va="center", gid="empty")
    return ax
