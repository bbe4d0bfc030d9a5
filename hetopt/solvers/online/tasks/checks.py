"""Independent checks of a task-level run; they share no code with the event loop.

A complete run without noise must pass the feasibility checker of the offline problem as it stands: switching
costs and gangs only add idle time to a schedule.  With noise the ends are the true ones, so the two rules
that compare ends with the profiled times give way to a comparison with the noise, drawn again
from the seed; every other rule of the checker stays.  Beyond that:

* with switching costs, before a task whose GPU had another job's task before it lie at least
  ``switch_ticks`` after the GPU was given back;
* under gang scheduling all tasks of a round start at one tick on different GPUs, and no GPU is used by anybody
  else until the last of them has synchronised (or trained).

An interrupted run is checked for the tasks that it started.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hetopt.core.errors import VerificationError
from hetopt.core.feasibility import ViolationKind, violations
from hetopt.solvers.online.tasks.setting import GangHold, GangTypes, noise_factors, real_ticks

if TYPE_CHECKING:
    from hetopt.solvers.online.tasks.outcome import TaskRun

__all__ = ["problems_of", "require_sound"]


def require_sound(run: TaskRun) -> None:
    """Raise :class:`VerificationError` with the first broken rules of a run."""
    found = list(problems_of(run))
    if found:
        more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
        raise VerificationError(f"run of {run.policy}: {'; '.join(found[:3])}{more}")


def problems_of(run: TaskRun) -> Iterator[str]:
    """Every broken rule in words; nothing for a sound run."""
    ignored = set()
    if run.setting.noise:
        ignored |= {ViolationKind.WRONG_END, ViolationKind.WRONG_SYNC_END}
    if not run.complete:
        ignored.add(ViolationKind.MISSING_TASK)
    for violation in violations(run.instance, run.started):
        if violation.kind not in ignored:
            yield str(violation)
    if run.setting.noise:
        yield from _noise(run)
    if run.setting.switch_ticks:
        yield from _switches(run)
    if run.gang:
        yield from _gangs(run)
    a = run.instance.arrays
    for n in range(run.instance.num_jobs):
        last = slice(int(a.task_start[a.round_start[n + 1] - 1]), int(a.task_start[a.round_start[n + 1]]))
        if run.finish[n] >= 0 and int(run.sync_end[last].max()) != int(run.finish[n]):
            yield f"job {n}: finish {run.finish[n]}, its last round has synchronised at {run.sync_end[last].max()}"


def _noise(run: TaskRun) -> Iterator[str]:
    factors = noise_factors(run.instance, run.setting, run.seed)
    assert factors is not None
    a = run.instance.arrays
    rounds = np.repeat(np.arange(a.num_rounds), a.scale)
    for task in np.flatnonzero(run.start >= 0).tolist():
        r, kind = int(rounds[task]), int(a.gpu_type[run.gpu[task]])
        true = real_ticks(int(a.processing_time[r, kind]), float(factors[task]))
        if run.end[task] - run.start[task] != true:
            yield f"task {task}: {run.end[task] - run.start[task]} ticks, with its noise it takes {true}"
        if run.sync_end[task] - run.end[task] != a.sync_time[r, kind]:
            yield f"task {task}: sync of {run.sync_end[task] - run.end[task]} ticks, it takes {a.sync_time[r, kind]}"


def _held_until(run: TaskRun) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The tick until which each started task must hold its GPU, from the schedule alone."""
    if not run.gang:
        return run.end
    a = run.instance.arrays
    until = run.sync_end if run.setting.gang_hold is GangHold.SYNC else run.end
    return np.repeat(np.maximum.reduceat(until, a.task_start[:-1]), a.scale)


def _switches(run: TaskRun) -> Iterator[str]:
    a, free = run.instance.arrays, _held_until(run)
    job = np.repeat(a.round_job, a.scale)
    on = np.flatnonzero(run.start >= 0)
    order = on[np.lexsort((run.start[on], run.gpu[on]))]
    for before, after in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
        if run.gpu[before] == run.gpu[after] and job[before] != job[after]:
            pause = int(run.start[after] - free[before])
            if pause < run.setting.switch_ticks:
                yield f"task {after}: starts {pause} ticks after another job's on GPU {run.gpu[after]}, the switch takes {run.setting.switch_ticks}"


def _gangs(run: TaskRun) -> Iterator[str]:
    a, until = run.instance.arrays, _held_until(run)
    for r in range(a.num_rounds):
        part = slice(int(a.task_start[r]), int(a.task_start[r + 1]))
        if run.start[part.start] < 0:
            continue
        if len(set(run.start[part].tolist())) != 1:
            yield f"round {r}: its tasks start at {sorted(set(run.start[part].tolist()))}, a gang starts at once"
        kinds = a.gpu_type[run.gpu[part]]
        if run.setting.gang_types is GangTypes.ONE and len(set(kinds.tolist())) != 1:
            yield f"round {r}: the gang spans GPU types"
    on = np.flatnonzero(run.start >= 0)
    order = on[np.lexsort((run.start[on], run.gpu[on]))]
    for before, after in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
        if run.gpu[before] == run.gpu[after] and run.start[after] < until[before]:
            yield f"task {after}: starts on GPU {run.gpu[after]} at {run.start[after]}, its gang holds it until {until[before]}"
