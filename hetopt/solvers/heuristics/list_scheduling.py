r"""List scheduling on heterogeneous GPUs: tasks in the order of a key, each placed once and for good.

Problem: given a key :math:`H` per round, put the tasks one after another, in the order of (H snapped
to a grid of :math:`10^{-6}` of the horizon, job, round, task), on a GPU that they may use.  With
:math:`F_m` the time from which GPU m is free and :math:`R_i` the time from which task i is ready
(release date, or the end of the synchronisation of the round before), the rules are

* ``R1`` (``earliest-available``, the rule of Hare): least :math:`(F_m, m)`;
  start :math:`\max(F_m, R_i)`;
* ``R2``: among the GPUs that reach the earliest start :math:`\max(\min_m F_m, R_i)`, least
  :math:`(p_{im} + s_{im}, m)`;
* ``R3`` (insertion): the earliest :math:`t \ge R_i` at which some GPU is idle on :math:`[t, t + p_{im})`,
  least :math:`(t, m)`;
* ``earliest-finish``: least :math:`(S + p_{im} + s_{im} + \gamma (p_{im} - \min_k p_{ik}),\ S,\ m)` with
  :math:`S = \max(F_m, R_i)`.  The penalty makes up for the speed that a slow GPU wastes.

Guarantee: with the midpoints of the LP relaxation as keys, R1, R2 and R3 keep every completion time
within the factor K of Theorem 2 of the theory pages (alpha times Phi(M) when nothing is forbidden).
For ``earliest-finish``: no guarantee known.

Complexity: O(K + log M) a task for R1, R2 and ``earliest-finish`` (K types, M GPUs); R3 looks at the
idle gaps of every GPU, O(M + gaps) a task.  Memory O(T + R K + M).

References
----------
Munier, Queyranne and Schulz, *Approximation bounds for a general class of precedence constrained
parallel machine scheduling problems*, IPCO 1998 (list scheduling by LP midpoints on identical
machines).  Hare, *Job scheduling for distributed machine learning on heterogeneous GPUs*: the rule R1;
our reading, from public summaries.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetopt.core.errors import UsageError
from hetopt.core.instance import Instance, InstanceArrays
from hetopt.core.schedule import Schedule
from hetopt.solvers import _kernels
from hetopt.solvers.heuristics import _placement

__all__ = ["GRID", "PlacementRule", "as_gamma", "list_order", "list_schedule", "place", "reserve"]

GRID: Final = 1e-6
"""Keys closer than this fraction of the horizon can fall on one point of the grid; then job and round decide."""


WORTH_COMPILING: Final = 20_000
"""From so many tasks on the compiled twin is used even if it has to be loaded or compiled first."""


class PlacementRule(StrEnum):
    """Which GPU a task goes to; see the module."""

    R1 = "R1"
    R2 = "R2"
    R3 = "R3"
    EARLIEST_FINISH = "earliest-finish"

    @classmethod
    def _missing_(cls, value: object) -> PlacementRule | None:
        return cls.R1 if value == "earliest-available" else None


_CODES: Final = {
    PlacementRule.R1: _placement.EARLIEST_AVAILABLE,
    PlacementRule.R2: _placement.EARLIEST_START,
    PlacementRule.EARLIEST_FINISH: _placement.EARLIEST_FINISH,
}


def as_gamma(value: float | Fraction | str) -> Fraction:
    """A penalty as the nearest fraction with denominator at most 1000, so that ties are exact.

    Raises
    ------
    UsageError
        It is not a finite number >= 0.
    """
    try:
        exact = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, TypeError, ZeroDivisionError):
        raise UsageError(f"gamma {value!r}: the waste penalty is a finite number >= 0") from None
    if exact < 0:
        raise UsageError(f"gamma {value!r}: the waste penalty is a finite number >= 0")
    return exact.limit_denominator(1000)


def list_order(instance: Instance, key: ArrayLike) -> NDArray[np.int64]:
    """The rounds in list order.

    Parameters
    ----------
    instance
        The instance.
    key
        (R,) finite numbers, ticks.  Snapped to the grid; a round whose key is below that of an
        earlier round of its job is raised to it, since no list may put it first.

    Returns
    -------
    (R,) int64, a permutation of the rounds
    """
    a = instance.arrays
    keys = np.asarray(key, dtype=np.float64)
    if keys.shape != (a.num_rounds,):
        raise ValueError(f"key needs one entry for each of the {a.num_rounds} rounds; shape {keys.shape}")
    if not np.isfinite(keys).all():
        raise ValueError(f"key[{int(np.flatnonzero(~np.isfinite(keys))[0])}] is not a finite number")
    snapped = np.rint(keys / (GRID * instance.horizon))
    first = np.zeros(a.num_rounds, dtype=np.bool_)
    first[a.round_start[:-1]] = True
    if (~first[1:] & (snapped[1:] < snapped[:-1])).any():
        for n in range(a.num_jobs):
            part = slice(a.round_start[n], a.round_start[n + 1])
            snapped[part] = np.maximum.accumulate(snapped[part])
    # rounds are numbered by (job, round), so a stable sort breaks ties as it should
    return np.argsort(snapped, kind="stable").astype(np.int64)


def place(
    arrays: InstanceArrays,
    order: NDArray[np.int64],
    rule: PlacementRule = PlacementRule.R1,
    gamma: Fraction = Fraction(0),
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List scheduling on arrays.

    Parameters
    ----------
    arrays
        The instance.
    order
        (R,) rounds in list order; the rounds of a job in their own order.
    rule
        Placement rule.
    gamma
        Waste penalty of ``earliest-finish``.

    Returns
    -------
    gpu, start : (T,) int64
        GPU and start tick of each task.
    """
    a = arrays
    if rule is PlacementRule.R3:
        return _insert(a, order)
    gpu = np.empty(a.num_tasks, dtype=np.int64)
    start = np.empty(a.num_tasks, dtype=np.int64)
    first_gpu = np.concatenate(([0], np.cumsum(a.gpu_count)[:-1])).astype(np.int64)
    fast = (
        _kernels.numba_usable()
        and _fits(a, gamma)
        and (a.num_tasks >= WORTH_COMPILING or _kernels.loaded(_placement.place))
    )
    if rule is PlacementRule.R1 and not fast:
        gpus, starts = [0] * a.num_tasks, [0] * a.num_tasks
        _placement.place_with_heaps(
            order.tolist(),
            a.round_job.tolist(),
            a.task_start.tolist(),
            a.processing_time.tolist(),
            a.sync_time.tolist(),
            first_gpu.tolist(),
            a.gpu_count.tolist(),
            a.release_date.tolist(),
            gpus,
            starts,
        )
        return np.array(gpus, dtype=np.int64), np.array(starts, dtype=np.int64)
    size = np.array([1 << (int(c) - 1).bit_length() for c in a.gpu_count], dtype=np.int64)
    base = np.concatenate(([0], np.cumsum(2 * size)[:-1])).astype(np.int64)
    tree = np.zeros(2 * int(size.sum()), dtype=np.int64)
    for b, leaves, count in zip(base.tolist(), size.tolist(), a.gpu_count.tolist(), strict=True):
        tree[b + leaves + count : b + 2 * leaves] = _placement.NEVER
        for node in range(leaves - 1, 0, -1):
            tree[b + node] = min(tree[b + 2 * node], tree[b + 2 * node + 1])
    inputs = [
        *(order, a.round_job, a.task_start, a.processing_time.ravel(), a.sync_time.ravel(), a.min_processing_time),
        *(first_gpu, size, base + 1, tree),
    ]
    penalty = (gamma.numerator, gamma.denominator)
    code = _CODES[rule]
    if fast:
        _kernels.compiled(_placement.place)(code, *inputs, *penalty, a.release_date.copy(), gpu, start)
        return gpu, start
    gpus, starts = [0] * a.num_tasks, [0] * a.num_tasks
    lists: list[Any] = [v.tolist() for v in inputs]
    plain: Callable[..., None] = _placement.place
    plain(code, *lists, *penalty, a.release_date.tolist(), gpus, starts)
    return np.array(gpus, dtype=np.int64), np.array(starts, dtype=np.int64)


def _fits(a: InstanceArrays, gamma: Fraction) -> bool:
    """Whether every score of ``earliest-finish`` stays within 64 bits."""
    longest = a.processing_time.max(axis=1)
    end = int(a.release_date.max()) + int((a.scale * (longest + a.sync_time.max(axis=1))).sum())
    return gamma.denominator * end + gamma.numerator * int(longest.max()) < 2**62


def _insert(a: InstanceArrays, order: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """R3.  Each GPU keeps its idle gaps [begins[i], ends[i]) in time order; the last one never ends."""
    types = a.gpu_type.tolist()
    begins: list[list[int]] = [[0] for _ in types]
    ends: list[list[int]] = [[_placement.NEVER] for _ in types]
    members = [np.flatnonzero(a.gpu_type == k).tolist() for k in range(a.num_types)]
    ready = a.release_date.tolist()
    processing, sync, task_start = a.processing_time.tolist(), a.sync_time.tolist(), a.task_start.tolist()
    gpu, start = np.empty(a.num_tasks, dtype=np.int64), np.empty(a.num_tasks, dtype=np.int64)
    for r in order.tolist():
        job = int(a.round_job[r])
        since = synchronised = ready[job]
        usable = [(p, m) for k, p in enumerate(processing[r]) if p for m in members[k]]
        for task in range(task_start[r], task_start[r + 1]):
            when, where, gap, length = _placement.NEVER, -1, -1, 0
            for p, m in usable:
                begin, end = begins[m], ends[m]
                for i in range(max(0, bisect_right(begin, since) - 1), len(begin)):
                    t = begin[i] if begin[i] > since else since
                    if t >= when:
                        break
                    if t + p <= end[i]:
                        when, where, gap, length = t, m, i, p
                        break
            begin, end = begins[where], ends[where]
            pieces = [(b, e) for b, e in ((begin[gap], when), (when + length, end[gap])) if b < e]
            begin[gap : gap + 1] = [b for b, _ in pieces]
            end[gap : gap + 1] = [e for _, e in pieces]
            gpu[task], start[task] = where, when
            synchronised = max(synchronised, when + length + sync[r][types[where]])
        ready[job] = synchronised
    return gpu, start


def list_schedule(
    instance: Instance,
    key: ArrayLike,
    rule: PlacementRule | str = PlacementRule.R1,
    *,
    gamma: float | Fraction = 0,
) -> Schedule:
    """The list schedule of a key.

    Parameters
    ----------
    instance
        The instance.
    key
        (R,) one number per round, ticks (for example midpoints); see :func:`list_order`.
    rule
        ``R1`` (or ``earliest-available``), ``R2``, ``R3``, ``earliest-finish``.
    gamma
        Waste penalty of ``earliest-finish``: ticks per tick of processing time above the least one.

    Raises
    ------
    UsageError
        No such rule, or a penalty for a rule that has none.
    """
    try:
        rule = PlacementRule(rule)
    except ValueError:
        raise UsageError(f"no placement rule is called {rule!r}; known: {', '.join(PlacementRule)}") from None
    penalty = as_gamma(gamma)
    if penalty and rule is not PlacementRule.EARLIEST_FINISH:
        raise UsageError(f"gamma {gamma}: only {PlacementRule.EARLIEST_FINISH} takes a waste penalty")
    return Schedule.from_starts(instance, *place(instance.arrays, list_order(instance, key), rule, penalty))


def reserve(instance: Instance) -> float:
    """Seconds to leave of a time limit for making the schedule and checking it; a generous guess."""
    return 1.2e-5 * instance.num_tasks
