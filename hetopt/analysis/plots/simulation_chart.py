"""Charts of simulations: distributions of completion times and of finish-time fairness; queue and GPU use over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from hetopt.analysis.plots.style import axes_for, colour, legend_below, legend_height, plain_text, quiet
from hetopt.core.simulation import PolicyOutcome, SimulationResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["completion_times", "fairness", "over_time"]

_DASHES: Final = ("-", "--", "-.", ":")
_POINTS: Final = 1500
"""A longer step function is drawn by its mean over so many equal spans."""


def _style(n: int) -> dict[str, object]:
    return {"color": colour(n % 24), "linewidth": 1.5, "linestyle": _DASHES[(n // 8 + n) % len(_DASHES)]}


def _distribution(result: SimulationResult, ax: Axes | None, values: Sequence[Sequence[float]], prefix: str) -> Axes:
    labels = [o.policy for o in result.policies]
    ax = axes_for(ax, 9.0, 3.6 + legend_height(labels))
    drawn = False
    for n, (label, numbers) in enumerate(zip(labels, values, strict=True)):
        if numbers:
            ordered = sorted(numbers)
            shares = [i / len(ordered) for i in range(len(ordered) + 1)]
            ax.step(
                [min(0.0, ordered[0]), *ordered], shares, where="post", label=plain_text(label), gid=f"{prefix}-{n}",
                **_style(n),  # type: ignore[arg-type]
            )  # fmt: skip
            drawn = True
    ax.set_ylim(0, 1.02)
    ax.set_xlim(left=0)
    ax.set_ylabel("share of finished jobs")
    quiet(ax, "both")
    if drawn:
        legend_below(ax)
    else:
        ax.text(0.5, 0.5, "no job finished", transform=ax.transAxes, ha="center", va="center", gid="empty")
    return ax


def completion_times(result: SimulationResult, ax: Axes | None = None) -> Axes:
    """Distribution of job completion times, one step function a policy."""
    ax = _distribution(result, ax, [[v / 3600 for v in o.jcts] for o in result.policies], "jct")
    ax.set_xlabel("job completion time (hours)", loc="left")
    return ax


def fairness(result: SimulationResult, ax: Axes | None = None) -> Axes:
    """Distribution of finish-time fairness; above 1 a job did worse than alone on an equal share."""
    ax = _distribution(result, ax, [o.fairness for o in result.policies], "ftf")
    ax.axvline(1.0, color="0.5", linewidth=0.8)
    ax.set_xlabel("completion time over that alone on an equal share (above 1: unfair)", loc="left")
    return ax


def over_time(result: SimulationResult, series: str, ax: Axes | None = None, *, share: bool = False) -> Axes:
    """A series of the simulations (``waiting jobs``, ``GPUs in use``) over time.

    Parameters
    ----------
    result
        The simulations.
    series
        Its name; policies that have none of that name are left out.
    ax
        Where to draw; None: a new figure.
    share
        Divide by the number of GPUs.
    """
    labels = [o.policy for o in result.policies]
    ax = axes_for(ax, 9.0, 3.4 + legend_height(labels))
    drawn = False
    for n, outcome in enumerate(result.policies):
        times, values = _steps(outcome, series)
        if times:
            scale = outcome.gpus if share else 1
            ax.step(
                [t / 3600 for t in times], [v / scale for v in values], where="post", label=plain_text(labels[n]),
                gid=f"series-{n}", **_style(n),  # type: ignore[arg-type]
            )  # fmt: skip
            drawn = True
    ax.set_ylim(bottom=0)
    ax.set_xlim(left=0)
    ax.set_xlabel("time (hours)", loc="left")
    ax.set_ylabel(f"share of {series}" if share else series)
    quiet(ax, "both")
    if drawn:
        legend_below(ax)
    else:
        ax.text(0.5, 0.5, "nothing was recorded", transform=ax.transAxes, ha="center", va="center", gid="empty")
    return ax


def _steps(outcome: PolicyOutcome, series: str) -> tuple[list[float], list[float]]:
    """Times and values of a step function, thinned by averaging when it is long."""
    points = outcome.series.get(series, ())
    if len(points) <= _POINTS:
        return [t for t, _ in points], [v for _, v in points]
    import numpy as np

    times, values = np.array([t for t, _ in points]), np.array([v for _, v in points])
    area = np.concatenate([[0.0], np.cumsum(np.diff(times) * values[:-1])])
    edges = np.linspace(times[0], times[-1], _POINTS + 1)
    mean = np.diff(np.interp(edges, times, area)) / np.diff(edges)
    return [*edges[:-1].tolist(), float(times[-1])], [*mean.tolist(), float(values[-1])]
