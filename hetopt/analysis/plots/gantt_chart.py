"""Gantt chart of a schedule: one row a GPU, grouped by type, one colour a job.

All bars are two collections (training; synchronisation, lighter and thinner), so that tens of thousands draw in
about a second.  Synchronising does not hold the GPU: the tails lie along the lower edge of the row, where they may
run under the next task's bar without hiding it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from hetopt.analysis.plots.style import (
    axes_for,
    colour,
    ink_on,
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
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = ["bar_titles", "chart_height", "gantt"]

_HALF: Final = 0.40
_MOST_LABELS: Final = 400
_MOST_TICKS: Final = 40


def gantt(
    what: Result | Schedule,
    instance: Instance | None = None,
    ax: Axes | None = None,
    *,
    title: str | None = None,
    legend: int = 12,
    labels: bool = True,
    sync: bool = True,
) -> Axes:
    """Draw a schedule.

    Parameters
    ----------
    what
        A result (without a schedule: an empty chart that says so) or a schedule.
    instance
        Its instance, for names of jobs and GPU types; without it they are numbers.
    ax
        Where to draw; None: a new figure whose height goes with the number of GPUs.
    title
        Title; by default the instance, the solver and the value.
    legend
        Largest number of jobs in the legend, 0 for none; the rest is counted in its last line.
    labels
        Whether to write job numbers into bars that are wide enough (never on more than 400 bars).
    sync
        Whether to draw the synchronisation tails.

    Raises
    ------
    UsageError
        Not a schedule, or of another instance.
    """
    schedule = schedule_of(what, instance)
    gpus = _number_of_gpus(schedule, instance)
    ax = axes_for(ax, 9.0, chart_height(schedule, instance, legend))
    _rows(ax, gpus, instance)
    ax.set_xlabel(_unit(instance), loc="left")
    ax.set_title(_title(what, schedule, instance) if title is None else title, loc="left", fontsize="medium")
    quiet(ax, "x")
    if schedule is None or not len(schedule):
        ax.set_xlim(0, 1)
        ax.set_xticks([])
        ax.text(0.5, 0.5, "no schedule", transform=ax.transAxes, ha="center", va="center", gid="empty")
        return ax
    _bars(ax, schedule, sync)
    ax.set_xlim(
        min(0, int(schedule.start.min())), max(1, int(schedule.sync_end.max()), int(schedule.end.max())) * 1.005
    )
    if labels and len(schedule) <= _MOST_LABELS:
        _job_numbers(ax, schedule)
    if legend > 0:
        _legend(ax, schedule, instance, legend)
    return ax


def chart_height(schedule: Schedule | None, instance: Instance | None, legend: int = 12) -> float:
    """Inches that suit the number of GPUs and the legend."""
    labels = [text for _, text in _legend_labels(schedule, instance, legend)]
    return min(0.95 + 0.3 * max(_number_of_gpus(schedule, instance), 2), 14.0) + legend_height(labels)


def bar_titles(schedule: Schedule, instance: Instance | None) -> list[str]:
    """One line for each training bar, in the order in which they are drawn (for tooltips)."""
    rows = _gpu_names(_number_of_gpus(schedule, instance), instance)
    columns = (
        schedule.job,
        schedule.round,
        schedule.task,
        schedule.gpu,
        schedule.start,
        schedule.end,
        schedule.sync_end,
    )
    out = []
    for job, part, task, gpu, start, end, sync_end in zip(*(c.tolist() for c in columns), strict=True):
        tail = f", synchronised at {sync_end}" if sync_end > end else ""
        out.append(f"{_job_name(job, instance)}, round {part}, task {task}: {rows[gpu]}, {start} to {end}{tail}")
    return out


def _number_of_gpus(schedule: Schedule | None, instance: Instance | None) -> int:
    used = int(schedule.gpu.max(initial=-1)) + 1 if schedule is not None else 0
    return max(used, instance.num_gpus if instance is not None else 0, 1)


def _gpu_names(gpus: int, instance: Instance | None) -> list[str]:
    names = [f"GPU {m}" for m in range(gpus)]
    if instance is not None:
        for m, k in enumerate(instance.arrays.gpu_type.tolist()):
            names[m] = f"{instance.gpu_types[k].name} · GPU {m}"
    return names


def _job_name(job: int, instance: Instance | None) -> str:
    inside = instance is not None and 0 <= job < instance.num_jobs
    return instance.jobs[job].name if inside and instance is not None else f"job {job}"


def _unit(instance: Instance | None) -> str:
    if instance is None or instance.tick_seconds == 1:
        return "time (ticks)" if instance is None else "time (ticks of 1 s)"
    return f"time (ticks of {instance.tick_seconds:g} s)"


def _title(what: Result | Schedule, schedule: Schedule | None, instance: Instance | None) -> str:
    name = instance.name if instance is not None else schedule.instance if schedule is not None else ""
    parts = [short_text(name, 48)] if name else []
    if isinstance(what, Result):
        parts.append(what.solver)
        if what.objective is not None:
            parts.append(f"{what.objective_kind} {what.objective}")
    elif schedule is not None and len(schedule):
        parts.append(f"makespan {schedule.makespan}")
    return plain_text(" · ".join(parts))


def _rows(ax: Axes, gpus: int, instance: Instance | None) -> None:
    """GPU 0 on top; a line and a faint band part the types."""
    ax.set_ylim(gpus - 0.5, -0.5)
    if instance is None or gpus > instance.num_gpus:
        step = -(-gpus // _MOST_TICKS)
        ax.set_yticks(range(0, gpus, step), [f"GPU {m}" for m in range(0, gpus, step)], fontsize="small")
        return
    first = 0
    ticks: list[float] = []
    names: list[str] = []
    each = gpus <= _MOST_TICKS
    for k, kind in enumerate(instance.gpu_types):
        if k % 2:
            ax.axhspan(first - 0.5, first + kind.count - 0.5, color="#808080", alpha=0.08, linewidth=0)
        if k:
            ax.axhline(first - 0.5, color="#808080", linewidth=0.8)
        name = plain_text(short_text(kind.name, 18))
        if each:
            ticks += range(first, first + kind.count)
            names += [f"{name} · {m}" for m in range(first, first + kind.count)]
        else:
            ticks.append(first + (kind.count - 1) / 2)
            names.append(f"{name} × {kind.count}")
        first += kind.count
    ax.set_yticks(ticks, names, fontsize="small")


def _boxes(left: Any, right: Any, top: Any, bottom: Any) -> Any:
    """Corners (T, 4, 2) of T boxes from their sides (T,)."""
    corners = [np.stack([x, y], axis=-1) for x, y in ((left, top), (right, top), (right, bottom), (left, bottom))]
    return np.stack(corners, axis=1).astype(float)


def _bars(ax: Axes, schedule: Schedule, sync: bool) -> None:
    from matplotlib.collections import PolyCollection

    jobs = int(schedule.job.max()) + 1
    table = np.array([colour(j) for j in range(min(max(jobs, 1), 24))])
    face = table[schedule.job % len(table)]
    row = schedule.gpu.astype(float)
    tail = schedule.sync_end > schedule.end
    if sync and tail.any():
        boxes = _boxes(schedule.end[tail], schedule.sync_end[tail], row[tail] + _HALF * 0.45, row[tail] + _HALF)
        ax.add_collection(
            PolyCollection(
                boxes, facecolors=np.c_[face[tail], np.full(int(tail.sum()), 0.45)], linewidths=0, gid="sync"
            )
        )
    boxes = _boxes(
        schedule.start, schedule.end, row - _HALF, row + _HALF * 0.45 if sync and tail.any() else row + _HALF
    )
    thin = 0.5 if len(schedule) <= 2000 else 0.0
    bars = PolyCollection(boxes, facecolors=face, edgecolors=face * 0.7, linewidths=thin, gid="bars")
    ax.add_collection(bars)


def _job_numbers(ax: Axes, schedule: Schedule) -> None:
    span = max(1, int(schedule.sync_end.max()))
    lower = bool((schedule.sync_end > schedule.end).any())
    middle = -_HALF * 0.275 if lower else 0.0
    columns = (schedule.job, schedule.gpu, schedule.start, schedule.end)
    for n, (job, gpu, start, end) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        text = str(job)
        if (end - start) / span >= 0.014 * len(text) + 0.004:
            ax.text(
                (start + end) / 2, gpu + middle, text, ha="center", va="center", fontsize=6.5,
                color=ink_on(colour(job % 24)), clip_on=True, gid=f"inside-{n}", in_layout=False,
            )  # fmt: skip


def _legend_labels(schedule: Schedule | None, instance: Instance | None, most: int) -> list[tuple[int | None, str]]:
    """Job (None: the rest) and text of each entry."""
    present = [] if schedule is None or most <= 0 else np.unique(schedule.job).tolist()
    shown = present if len(present) <= most else present[: most - 1]
    out: list[tuple[int | None, str]] = [(j, f"{j}: {short_text(_job_name(j, instance), 30)}") for j in shown]
    if len(shown) < len(present):
        out.append((None, f"and {len(present) - len(shown)} more jobs"))
    return out


def _legend(ax: Axes, schedule: Schedule, instance: Instance | None, most: int) -> None:
    from matplotlib.patches import Patch

    handles: list[Artist] = []
    for job, text in _legend_labels(schedule, instance, most):
        fill = "none" if job is None else colour(job % 24)
        handles.append(Patch(facecolor=fill, edgecolor="none", label=plain_text(text)))
    legend_below(ax, handles)
