"""Performance profiles as step functions: share of problems within a factor of the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from hetopt.analysis.plots.style import axes_for, colour, legend_below, legend_height, plain_text, quiet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["profiles"]

_DASHES = ("-", "--", "-.", ":")


class _Profile(Protocol):
    @property
    def solver(self) -> str: ...
    @property
    def ratios(self) -> tuple[float, ...]: ...
    @property
    def problems(self) -> int: ...


def profiles(found: Sequence[_Profile], ax: Axes | None = None, *, title: str | None = None) -> Axes:
    """Draw one step function a solver.

    Parameters
    ----------
    found
        From :func:`hetopt.analysis.sweeps.profiles.performance_profiles`.
    ax
        Where to draw; None: a new figure.
    title
        Title; by default none.
    """
    ax = axes_for(ax, 9.0, 3.6 + legend_height([p.solver for p in found]))
    largest = max((p.ratios[-1] for p in found if p.ratios), default=1.0)
    right = 1.0 + (largest - 1.0) * 1.05 if largest > 1.0 else 1.1
    for n, p in enumerate(found):
        count = max(p.problems, 1)
        places = [1.0, *p.ratios, right]
        shares = [0.0, *((i + 1) / count for i in range(len(p.ratios))), len(p.ratios) / count]
        ax.step(
            places, shares, where="post", color=colour(n % 24), linewidth=1.6, label=plain_text(p.solver),
            linestyle=_DASHES[(n // 8 + n) % len(_DASHES)], gid=f"cdf-{n}",
        )  # fmt: skip
    ax.set_ylim(0, 1.02)
    if largest > 8:
        ax.set_xscale("log")
    ax.set_xlim(1.0, right)
    ax.set_xlabel("factor of the best of all (1: best)", loc="left")
    ax.set_ylabel("share of problems")
    if title is not None:
        ax.set_title(plain_text(title), loc="left", fontsize="medium")
    quiet(ax, "both")
    if found:
        legend_below(ax)
    else:
        ax.text(0.5, 0.5, "no values", transform=ax.transAxes, ha="center", va="center", gid="empty")
    return ax
