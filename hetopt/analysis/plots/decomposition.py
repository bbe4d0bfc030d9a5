"""The decomposition of Lemma 2 on the Gantt chart: full times, chains, heads, roots, and the release date.

Every task before the chosen one is a pale bar; path tasks are coloured by their part (head, root,
other), the counted piece of each is filled and what lies beyond the cut is hatched; full times, in
which every GPU works, are shaded over the whole height.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hetopt.analysis.bound_check import BoundCheck
from hetopt.analysis.certify.midpoint.decomposition import BrokenDecomposition
from hetopt.analysis.plots.style import HUES, axes_for, legend_below, quiet
from hetopt.core.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["decomposition"]

_PARTS: Final = {"head": HUES[1], "root": HUES[2], "path task": HUES[0], "chosen task": "#222222"}
_PALE: Final = "#d9dcdf"
_FULL: Final = "#f3e3a8"
_RELEASE: Final = HUES[3]


def decomposition(
    check: BoundCheck, task: int | None = None, ax: Axes | None = None, *, title: str | None = None
) -> Axes:
    """Draw how the time before a task's start splits up.

    Parameters
    ----------
    check
        A check with its evidence (not one read from a file).
    task
        Index of the task, in (job, round, task) order; default: the one that starts last.
    ax
        Where to draw; None: a new figure.
    title
        Title; by default the identity S = G + path + A in numbers.

    Raises
    ------
    UsageError
        There is no such task, or the schedule has no decomposition.
    """
    from matplotlib.patches import Patch

    ev = check.evidence
    problem, schedule, made = ev.problem, ev.schedule, ev.list
    chosen = max(range(problem.num_tasks), key=lambda i: (schedule.start[i], i)) if task is None else task
    if not 0 <= chosen < problem.num_tasks:
        raise UsageError(f"task {task}: tasks are numbered 0 to {problem.num_tasks - 1}")
    try:
        found = made.decompose(chosen)
    except BrokenDecomposition as error:
        raise UsageError(f"no decomposition: {error}") from None
    ax = axes_for(ax, 9.0, 1.6 + 0.32 * problem.num_gpus)

    def ticks(value: int) -> float:
        return float(problem.ticks(value))

    for block in found.blocks:
        if block.full is not None and block.full[0] < block.full[1]:
            ax.axvspan(ticks(block.full[0]), ticks(block.full[1]), color=_FULL, linewidth=0, zorder=0)
    if found.release:
        ax.axvspan(
            0, ticks(found.release), facecolor="none", edgecolor=_RELEASE, hatch="..", linewidth=0, alpha=0.5, zorder=0
        )
    roots = {block.first for block in found.blocks if block.is_root}
    pieces = {piece.task: piece for piece in found.path}
    for i in range(problem.num_tasks):
        start, end = schedule.start[i], made.end[i]
        if made.position[i] > made.position[chosen]:
            continue
        row, width = schedule.gpu[i] - 0.4, ticks(end - start)
        ax.broken_barh(
            [(ticks(start), width)], (row, 0.8), facecolors=_PALE, edgecolor="white", linewidth=0.6, zorder=2
        )
        if i in pieces:
            part = "head" if i in found.heads else "root" if i in roots else "path task"
            colour = _PARTS[part]
            counted = min(pieces[i].tau, end - start)
            ax.broken_barh(
                [(ticks(start), width)],
                (row, 0.8),
                facecolors="none",
                edgecolor=colour,
                hatch="///",
                linewidth=0.8,
                zorder=3,
            )
            ax.broken_barh([(ticks(start), ticks(counted))], (row, 0.8), facecolors=colour, zorder=4)
            if pieces[i].tau > counted:  # waiting for the synchronisation of this task
                ax.broken_barh([(ticks(end), ticks(pieces[i].tau - counted))], (row, 0.16), facecolors=colour, zorder=4)
        elif i == chosen:
            ax.broken_barh([(ticks(start), width)], (row, 0.8), facecolors=_PARTS["chosen task"], zorder=4)
    for block in found.blocks[1:]:
        ax.axvline(ticks(block.cut), color="#555555", linewidth=0.8, linestyle=":", zorder=5)
    ax.set_ylim(problem.num_gpus - 0.5, -0.5)
    ax.set_xlim(0, ticks(made.end[chosen]) * 1.01)
    ax.set_yticks(range(problem.num_gpus), [f"GPU {m}" for m in range(problem.num_gpus)])
    ax.set_xlabel("ticks", loc="left")
    path = sum(piece.tau for piece in found.path)
    numbers = f"{ticks(schedule.start[chosen]):g} = full {ticks(found.full):g} + path {ticks(path):g} + release {ticks(found.release):g}"
    ax.set_title(
        f"Start of {problem.name(chosen)}: {numbers}" if title is None else title, loc="left", fontsize="medium"
    )
    quiet(ax, "x")
    handles = [Patch(facecolor=colour, label=part) for part, colour in _PARTS.items()]
    handles += [
        Patch(facecolor=_FULL, label="full time"),
        Patch(facecolor="none", edgecolor=_RELEASE, hatch="..", label="release date"),
    ]
    legend_below(ax, [*handles])
    return ax
