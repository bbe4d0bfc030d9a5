"""Colours and small helpers that all charts share.

The eight hues are those of Okabe and Ito's colour-blind-safe set, with black and yellow replaced and all moved to a
middle lightness, so that each stands out on white and on near-black paper.  With more than eight things to tell
apart, the hues come again lighter, then darker; markers and line styles differ as well.

References
----------
Okabe, Ito: Color universal design, how to make figures and presentations that are friendly to colorblind people, 2008.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from hetopt.core.errors import SolverUnavailableError, UsageError
from hetopt.core.instance import Instance
from hetopt.core.result import Result
from hetopt.core.schedule import Schedule
from hetopt.core.text import visible

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = [
    "HUES", "MARKERS", "axes_for", "colour", "colour_numbers", "ink_on", "labelled_results", "legend_below", "legend_columns", "legend_height",
    "plain_text", "quiet", "schedule_of", "short_text",
]  # fmt: skip

HUES: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56a5d8", "#c08a00", "#8468c4", "#7a8288")
MARKERS: Final = "osD^vP*X<>"


def _rgb(text: str) -> tuple[float, float, float]:
    return (int(text[1:3], 16) / 255, int(text[3:5], 16) / 255, int(text[5:7], 16) / 255)


def colour(index: int) -> tuple[float, float, float]:
    """Colour number ``index``, (3,) floats from 0 to 1; 24 distinct ones, then they come again."""
    r, g, b = _rgb(HUES[index % len(HUES)])
    shade = (index // len(HUES)) % 3
    if shade == 1:
        return (r + (1 - r) * 0.4, g + (1 - g) * 0.4, b + (1 - b) * 0.4)
    if shade == 2:
        return (r * 0.68, g * 0.68, b * 0.68)
    return (r, g, b)


def ink_on(background: Iterable[float]) -> str:
    """Black or white, whichever reads better on a colour (WCAG relative luminance)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in list(background)[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#ffffff" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "#000000"


def axes_for(ax: Axes | None, width: float = 8.0, height: float = 4.0) -> Axes:
    """The axes given, or those of a new figure (inches).

    Raises
    ------
    SolverUnavailableError
        Matplotlib is not installed.
    """
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise SolverUnavailableError(
            "charts need matplotlib, not installed here; get it with: pip install 'hetopt[report]'"
        ) from None
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def quiet(ax: Axes, grid: str | None = None) -> None:
    """Take away what carries no information: two spines, tick marks; a faint grid where asked for (x, y, both)."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(length=0)
    ax.set_axisbelow(True)
    if grid == "x":
        ax.grid(axis="x", alpha=0.25, linewidth=0.6)
    elif grid == "y":
        ax.grid(axis="y", alpha=0.25, linewidth=0.6)
    elif grid == "both":
        ax.grid(alpha=0.25, linewidth=0.6)


def legend_columns(labels: Iterable[str]) -> int:
    """In how many columns entries of these lengths fit below a chart eight inches wide."""
    longest = max((len(label) for label in labels), default=1)
    return max(1, 84 // (longest + 6))


def legend_height(labels: Sequence[str]) -> float:
    """Inches that :func:`legend_below` takes."""
    return 0.2 + 0.22 * -(-len(labels) // legend_columns(labels))


def legend_below(ax: Axes, handles: list[Artist] | None = None) -> None:
    """A legend without a frame, below the axis title, in as many columns as the entries' lengths leave room for."""
    from matplotlib.transforms import ScaledTranslation

    entries = handles if handles is not None else ax.get_legend_handles_labels()[0]
    columns = legend_columns(str(h.get_label()) for h in entries)
    figure = ax.get_figure(root=True)
    below = ax.transAxes if figure is None else ax.transAxes + ScaledTranslation(0, -0.45, figure.dpi_scale_trans)
    ax.legend(
        handles=entries, loc="upper left", bbox_to_anchor=(0.0, 0.0), bbox_transform=below, frameon=False,
        fontsize="small", ncols=max(1, min(len(entries), columns)), handleheight=1.0, borderpad=0.0,
    )  # fmt: skip


def short_text(text: str, limit: int = 28) -> str:
    """One line of at most ``limit`` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def plain_text(text: str) -> str:
    """Text that a drawing can hold, in which matplotlib sees no mathematics, and that does not begin like a hidden label."""
    shown = visible(text).replace("$", r"\$")
    return "\u200b" + shown if shown.startswith("_") else shown


def schedule_of(what: Result | Schedule, instance: Instance | None) -> Schedule | None:
    """The schedule to draw (None: there is none), checked to belong to the instance.

    Raises
    ------
    UsageError
        Neither a result nor a schedule, or of another instance.
    """
    if isinstance(what, Result):
        schedule = what.incumbent
    elif isinstance(what, Schedule):
        schedule = what
    else:
        raise UsageError(f"a Result or a Schedule is needed here; found {type(what).__name__}")
    if instance is not None and what.fingerprint != instance.fingerprint:
        raise UsageError(f"the schedule is not of instance {instance.name!r}: their fingerprints differ")
    return schedule


def colour_numbers(labels: Sequence[str], order: Sequence[str] | None) -> list[int]:
    """Colour number of each label: its place in ``order`` (labels that are not in it come after), else its own place."""
    if order is None:
        return list(range(len(labels)))
    known = list(order) + [label for label in labels if label not in order]
    return [known.index(label) for label in labels]


def labelled_results(results: Any) -> list[tuple[str, Result]]:
    """One result, several, or a mapping from labels to results, as pairs with distinct labels.

    Raises
    ------
    UsageError
        Something in it is not a result.
    """
    if isinstance(results, Result):
        pairs: list[tuple[str, Any]] = [(results.solver, results)]
    elif isinstance(results, Mapping):
        pairs = [(str(k), v) for k, v in results.items()]
    elif isinstance(results, Iterable):
        pairs = [(getattr(r, "solver", ""), r) for r in results]
    else:
        pairs = [("", results)]
    out: list[tuple[str, Result]] = []
    for label, result in pairs:
        if not isinstance(result, Result):
            raise UsageError(f"results are needed here; found {type(result).__name__}")
        number, name = 2, label
        while name in {known for known, _ in out}:
            name, number = f"{label} ({number})", number + 1
        out.append((name, result))
    return out
