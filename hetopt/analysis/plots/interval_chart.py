"""Estimates with confidence intervals, one line each (a forest plot)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hetopt.analysis.plots.style import axes_for, colour, plain_text, quiet, short_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["interval_height", "intervals"]

IntervalRow = tuple[str, float, float | None, float | None]


def interval_height(rows: Sequence[IntervalRow]) -> float:
    """Inches that suit the number of rows."""
    return 0.9 + 0.32 * max(len(rows), 1)


def intervals(
    rows: Sequence[IntervalRow],
    ax: Axes | None = None,
    *,
    label: str = "ratio",
    marks: Sequence[tuple[float, str]] = (),
    title: str | None = None,
) -> Axes:
    """Draw label, estimate and the ends of its interval (None: unknown) for each row.

    Parameters
    ----------
    rows
        Label, estimate, low and high end.
    ax
        Where to draw; None: a new figure.
    label
        What is on the axis.
    marks
        Vertical lines with a text each, for example a published value.
    title
        Title; by default none.
    """
    ax = axes_for(ax, 9.0, interval_height(rows))
    for n, (_, value, low, high) in enumerate(rows):
        if low is not None and high is not None:
            ax.plot([low, high], [n, n], color=colour(0), linewidth=2.2, alpha=0.55, solid_capstyle="butt")
        ax.plot([value], [n], marker="o", color=colour(0), markersize=6, linestyle="none", gid=f"ratios-{n}")
    ax.axvline(1.0, color="#808080", linewidth=1.0)
    for place, text in marks:
        ax.axvline(place, color=colour(1), linewidth=1.2, linestyle="--")
        ax.annotate(
            plain_text(text), (place, 1.0), xycoords=("data", "axes fraction"), xytext=(3, -1),
            textcoords="offset points", color=colour(1), fontsize="small", va="top",
        )  # fmt: skip
    ax.set_yticks(range(len(rows)), [plain_text(short_text(row[0], 56)) for row in rows], fontsize="small")
    ax.set_ylim(len(rows) - 0.4, -0.8)
    ax.set_xlabel(plain_text(label), loc="left")
    if title is not None:
        ax.set_title(plain_text(title), loc="left", fontsize="medium")
    quiet(ax, "x")
    if not rows:
        ax.text(0.5, 0.5, "no values", transform=ax.transAxes, ha="center", va="center", gid="empty")
    return ax
