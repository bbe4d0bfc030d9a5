"""Large relaxed runs of ``hlas``, ``hlas-queues``, ``las``, ``fifo``, ``srtf`` and ``wspt``: the same schedules as the simulator's, faster.

One kernel does the events over arrays, compiled where numba is at hand (extra ``fast``); the plain twin
gives the same bytes.  It covers relaxed synchronisation without noise and switching costs, and
service charged at the start of tasks; :func:`covers` says whether a policy and a setting qualify, and
:func:`simulate_fast` falls back to the simulator where they do not.

Training rounds are aggregated by choosing few of them (``rounds`` of the conversion): a job of R rounds costs R times
its number of tasks.  Complexity: O(T (log N + log M + K) + L) for L different sets of allowed types; memory about 8 words a task and
3 + 5 K a distinct kind of round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.instance import Instance
from hetopt.core.solver import NullObserver, Observer
from hetopt.solvers import _kernels
from hetopt.solvers.heuristics.event_rules import PRIORITIES
from hetopt.solvers.online.tasks import _kernel
from hetopt.solvers.online.tasks.engine import TaskProgress, simulate_tasks
from hetopt.solvers.online.tasks.outcome import TaskRun, policy_options
from hetopt.solvers.online.tasks.policies.keyed import Fifo, Srtf, Wspt
from hetopt.solvers.online.tasks.policies.service import UNIT, CapabilityRule, Charge, Hlas, Placement, Tie
from hetopt.solvers.online.tasks.setting import TaskSetting
from hetopt.solvers.online.tasks.view import TaskPolicy

__all__ = ["covers", "simulate_fast"]

Ints = NDArray[np.int64]
CHUNK: Final = 200_000
"""Events between two looks at the observer."""


def covers(policy: TaskPolicy, setting: TaskSetting | None = None) -> bool:
    """Whether the kernel does what the simulator does for a policy under a setting."""
    rules = setting or TaskSetting()
    if policy.gang or rules.noise or rules.switch_ticks:
        return False
    if isinstance(policy, Hlas):
        return policy.charge is Charge.START
    return isinstance(policy, (Fifo, Srtf, Wspt))


def simulate_fast(
    instance: Instance,
    policy: TaskPolicy,
    setting: TaskSetting | None = None,
    *,
    seed: int = 0,
    observer: Observer | None = None,
    listener: Callable[[TaskProgress], None] | None = None,
    chunk: int = CHUNK,
    check: bool = True,
) -> TaskRun:
    """As :func:`~hetopt.solvers.online.tasks.engine.simulate_tasks`, through the kernel where it can be.

    Parameters
    ----------
    instance, policy, setting, seed, observer, listener
        As there.  The observer is asked, and the listener told, every ``chunk`` events.
    check
        Whether the finished run goes through the independent checks (as slow as the run itself, for large ones).
    """
    if not covers(policy, setting):
        return simulate_tasks(instance, policy, setting, seed=seed, observer=observer, listener=listener)
    watching = observer or NullObserver()
    arguments, state, outputs = _arguments(instance, policy)
    fast = _kernels.numba_usable()
    inputs: list[Any] = arguments if fast else [v.tolist() if isinstance(v, np.ndarray) else v for v in arguments]
    kernel: Callable[..., int] = _compiled() if fast else _kernel.run_events
    progress = inputs[state]
    interrupted = False
    while kernel(chunk, *inputs):
        if watching.stop_requested():
            interrupted = True
            break
        if listener is not None:
            finished = int((np.asarray(inputs[outputs[2]]) >= 0).sum())
            listener(TaskProgress(policy.name, int(progress[3]), int(progress[2]), finished, instance.num_jobs))
    gpu, start, finish = (np.array(inputs[i], dtype=np.int64) for i in outputs)
    return _run(
        instance, policy, setting or TaskSetting(), seed, gpu, start, finish, int(progress[2]), interrupted, check
    )


def _compiled() -> Callable[..., int]:
    made: Callable[..., int] = _kernels.compiled(_kernel.run_events, _kernel.sift_up, _kernel.sift_down)
    return made


def _arguments(instance: Instance, policy: TaskPolicy) -> tuple[list[Any], int, tuple[int, int, int]]:
    """Arguments of the kernel after ``budget``; the place of ``state``, and those of gpu, start and finish."""
    a = instance.arrays
    jobs, kinds, gpus, tasks = a.num_jobs, a.num_types, a.num_gpus, a.num_tasks
    # equal rounds share one row of the tables
    table = np.concatenate([a.processing_time, a.sync_time, a.allowed], axis=1)
    change = np.ones(a.num_rounds, dtype=np.bool_)
    change[1:] = (table[1:] != table[:-1]).any(axis=1)
    profile = np.cumsum(change) - 1
    rows = np.flatnonzero(change)
    processing, sync, allowed = a.processing_time[rows], a.sync_time[rows], a.allowed[rows]
    dynamic = isinstance(policy, Hlas)
    far = np.iinfo(np.int64).max
    by_type = np.broadcast_to(np.arange(kinds), processing.shape)
    first = dynamic and policy.placement is Placement.FIRST  # type: ignore[attr-defined]
    order = np.argsort(np.where(allowed, by_type if first else processing + sync, far), axis=1, kind="stable")
    preferred = np.where(np.take_along_axis(allowed, order, axis=1), order, -1)
    sets, line_of = np.unique(allowed, axis=0, return_inverse=True)
    fixed = np.zeros(a.num_rounds, dtype=np.int64)
    divisor, limits = np.ones(jobs, dtype=np.int64), np.zeros(0, dtype=np.int64)
    ties = np.arange(jobs)
    charge = np.zeros_like(processing)
    if isinstance(policy, Hlas):
        charge = _charge(processing, allowed, a.gpu_count, policy.capability)
        divisor = a.weight.copy() if policy.weighted else divisor
        limits = np.array(policy.limits(instance.tick_seconds), dtype=np.int64)
        if policy.tie is Tie.ARRIVAL or len(limits):
            ties = np.argsort(a.release_date, kind="stable")
    else:
        fixed[PRIORITIES[policy.name](a)] = np.arange(a.num_rounds)
    rank = np.empty(jobs, dtype=np.int64)
    rank[ties] = np.arange(jobs)
    lines = len(sets)
    idle_base = np.concatenate(([0], np.cumsum(a.gpu_count)[:-1]))
    gpu, start, finish = (np.full(size, -1, dtype=np.int64) for size in (tasks, tasks, jobs))
    present = a.round_start[:-1].copy()
    arguments: list[Any] = [
        np.zeros(4, dtype=np.int64),
        int(dynamic),
        limits,
        rank,
        ties,
        divisor,
        np.argsort(a.release_date, kind="stable"),
        a.release_date,
        a.round_start[1:] - 1,
        a.round_job,
        a.task_start,
        profile,
        fixed,
        kinds,
        processing.ravel(),
        sync.ravel(),
        charge.ravel(),
        preferred.ravel(),
        line_of.ravel(),
        sets.ravel().astype(np.int64),
        lines,
        jobs,
        np.zeros(lines * jobs, dtype=np.int64),
        np.zeros(lines * jobs, dtype=np.int64),
        np.zeros(lines, dtype=np.int64),
        np.arange(gpus),
        np.zeros(gpus, dtype=np.int64),
        idle_base,
        a.gpu_count.copy(),
        a.gpu_type,
        gpus,
        np.zeros(gpus + jobs, dtype=np.int64),
        np.zeros(gpus + jobs, dtype=np.int64),
        present,
        a.task_start[present],
        np.zeros(jobs, dtype=np.int64),
        np.zeros(jobs, dtype=np.int64),
        gpu,
        start,
        finish,
    ]
    # fresh, writable int64: compiled code then sees one signature
    arguments = [np.array(v, dtype=np.int64) if isinstance(v, np.ndarray) else v for v in arguments]
    return arguments, 0, (len(arguments) - 3, len(arguments) - 2, len(arguments) - 1)


def _charge(processing: Ints, allowed: NDArray[np.bool_], count: Ints, rule: CapabilityRule) -> Ints:
    """Service of one task per row and type, as ``service_of`` has it."""
    if rule is CapabilityRule.NONE:
        return np.where(allowed, processing * UNIT, 0)
    if rule is CapabilityRule.MEAN:
        gpus = (allowed * count).sum(axis=1)
        total = (allowed * count * processing).sum(axis=1)
        return np.asarray(np.where(allowed, (total * UNIT // gpus)[:, None], 0), dtype=np.int64)
    far = np.iinfo(np.int64).max
    best = rule is CapabilityRule.BEST
    reference = np.where(allowed, processing, far).min(axis=1) if best else np.where(allowed, processing, 0).max(axis=1)
    return np.asarray(np.where(allowed, (reference * UNIT)[:, None], 0), dtype=np.int64)


def _run(
    instance: Instance,
    policy: TaskPolicy,
    setting: TaskSetting,
    seed: int,
    gpu: Ints,
    start: Ints,
    finish: Ints,
    events: int,
    interrupted: bool,
    check: bool,
) -> TaskRun:
    a = instance.arrays
    rounds = np.repeat(np.arange(a.num_rounds), a.scale)
    on = start >= 0
    kind = a.gpu_type[np.maximum(gpu, 0)]
    end = np.where(on, start + a.processing_time[rounds, kind], -1)
    made = TaskRun(
        instance=instance,
        policy=policy.name,
        options=policy_options(policy),
        setting=setting,
        seed=seed,
        gang=False,
        gpu=gpu,
        start=start,
        end=end,
        sync_end=np.where(on, end + a.sync_time[rounds, kind], -1),
        taken=start.copy(),
        given=end.copy(),
        finish=finish,
        events=events,
        interrupted=interrupted,
    )
    return made.checked() if check else made
