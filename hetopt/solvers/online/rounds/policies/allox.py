r"""AlloX: completion times on unrelated machines as a matching (Le et al., EuroSys 2020).

If job i is the k-th from the last on machine m, which is free in avail_m seconds, it adds
avail_m + k P_im to the sum of completion times (its own wait for the machine, and its length once for itself and
for each job after it), so the least sum is a least-cost matching of jobs with (machine, k).  Machines of a type that
are free at the same time are alike: columns are (group, k) with as many places as machines.  This transportation
problem has integral vertices, so an LP with whole-number costs (thousandths of the shortest time, at most
10^9) solves it; levels k are added until the last one has room everywhere, which proves that none further is needed.

Scheduling: running jobs are never moved; the first max(alpha n, free GPUs) waiting jobs by arrival are matched with
all machines, busy ones included, and on each free machine the job with the largest k runs.  The restriction to
single-GPU jobs is the original's; **ours** for jobs of z GPUs: such a job weighs like one of z times
its length on one machine, and starts if z GPUs are free.
Guarantee: with all jobs at hand, one GPU each, and no reassignment, the sum of completion times is least.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import UsageError
from hetopt.solvers.online.rounds.conversion import SharePolicy
from hetopt.solvers.online.rounds.policies.linear import solve_linear
from hetopt.solvers.online.rounds.state import Clairvoyance, RoundState

__all__ = ["AlloX", "GavelAlloX", "completion_matching"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def completion_matching(seconds: Floats, machines: Ints, available: Floats | None = None) -> tuple[float, Ints, Ints]:
    """Least sum of completion times of jobs on G groups of equal machines.

    Parameters
    ----------
    seconds : (n, G) float64
        Processing times; inf where a job cannot run.
    machines : (G,) int64
        Machines of each group.
    available : (G,) float64
        Seconds until the machines of the group are free; None: all are free now.

    Returns
    -------
    The sum, and for each job its group and its place from the last (1, 2, ...), both (n,) int64; -1 and 0 for
    a job that can run on none of the groups that have machines.
    """
    n, groups = seconds.shape
    start = np.zeros(groups) if available is None else available
    usable = np.isfinite(seconds) & (machines > 0)[None, :]
    group, place = np.full(n, -1, dtype=np.int64), np.zeros(n, dtype=np.int64)
    able = np.flatnonzero(usable.any(axis=1))
    if not len(able):
        return 0.0, group, place
    longest = float(max(seconds[usable].max(), start.max()))
    scale = max(float(seconds[usable].min()) / 1000.0, longest / 1e9)
    cost = np.rint(np.where(usable, seconds, 0.0) / scale)[able]
    levels = min(len(able), 2 * -(-len(able) // int(machines[usable.any(axis=0)].sum())) + 1)
    while True:
        chosen, full = _matched(cost, np.rint(start / scale), usable[able], machines, levels)
        if not full or levels >= len(able):
            break
        levels = min(len(able), 2 * levels)
    group[able], place[able] = chosen[:, 0], chosen[:, 1]
    on = group[able]
    return float((start[on] + place[able] * seconds[able, on]).sum()), group, place


def _matched(cost: Floats, start: Floats, usable: NDArray[np.bool_], machines: Ints, levels: int) -> tuple[Ints, bool]:
    """The matching with so many levels, and whether the last level is full in some group."""
    from scipy import sparse

    job, group = np.nonzero(usable)
    n, groups = cost.shape
    jobs, where = np.repeat(job, levels), np.repeat(group, levels)
    level = np.tile(np.arange(1, levels + 1), len(job))
    v = len(jobs)
    places = sparse.csr_matrix((np.ones(v), (where * levels + level - 1, np.arange(v))), (groups * levels, v))
    once = sparse.csr_matrix((np.ones(v), (jobs, np.arange(v))), (n, v))
    weights = start[where] + cost[jobs, where] * level
    y = solve_linear(
        weights, places, np.repeat(machines, levels).astype(np.float64), equal=(once, np.ones(n)), what="AlloX"
    )
    picked = np.flatnonzero(y > 0.5)
    if len(picked) != n or np.abs(y - np.rint(y)).max() > 1e-6:
        raise RuntimeError("AlloX: a vertex of a transportation problem is not integral")
    chosen = np.zeros((n, 2), dtype=np.int64)
    chosen[jobs[picked], 0], chosen[jobs[picked], 1] = where[picked], level[picked]
    last = np.bincount(where[picked][level[picked] == levels], minlength=groups)
    return chosen, bool(((last >= machines) & (machines > 0) & usable.any(axis=0)).any())


def _groups(state: RoundState, free: Ints, running: Ints) -> tuple[Ints, Ints, Floats]:
    """Type, number and seconds until free (at a round's border) of groups of machines, the free ones first.

    ``running`` (n,) int64 is the type of each job that keeps its GPUs, -1 for the others.
    """
    kinds = len(state.count)
    busy: dict[tuple[float, int], int] = {}
    for j in np.flatnonzero(running >= 0).tolist():
        k = int(running[j])
        left = float(state.remaining[j] / state.rate[j, k])
        border = float(np.ceil(left / state.round_seconds)) * state.round_seconds
        busy[border, k] = busy.get((border, k), 0) + int(state.demand[j])
    later = sorted(busy.items())
    kind = np.array([*range(kinds), *(k for (_, k), _ in later)], dtype=np.int64)
    number = np.concatenate([free, np.array([m for _, m in later], dtype=np.int64)])
    at = np.array([*([0.0] * kinds), *(border for (border, _), _ in later)])
    return kind, number, at


def _newly_placed(
    state: RoundState, free: Ints, waiting: Ints, alpha: float, running: Ints | None = None
) -> list[tuple[int, int]]:
    """(job, type) pairs to start on free GPUs; ``running``: count on busy machines as well."""
    number = min(len(waiting), max(int(free.sum()), int(alpha * len(waiting))))
    entered = waiting[:number]
    if not number or not free.any():
        return []
    kinds = len(state.count)
    kind, machines, at = np.arange(kinds), free, np.zeros(kinds)
    if running is not None:
        kind, machines, at = _groups(state, free, running)
    with np.errstate(divide="ignore"):
        seconds = np.where(
            state.rate[entered] > 0,
            (state.remaining[entered] * state.demand[entered])[:, None] / state.rate[entered],
            np.inf,
        )[:, kind]
    _, group, place = completion_matching(seconds, machines, at)
    left, out = free.copy(), []
    for p in np.lexsort((entered, -place)).tolist():
        j, g = int(entered[p]), int(group[p])
        if 0 <= g < kinds and state.demand[j] <= left[g]:
            left[g] -= state.demand[j]
            out.append((j, g))
    return out


@dataclass(frozen=True, kw_only=True)
class AlloX:
    """AlloX at round borders: matching for free GPUs, running jobs stay.

    Parameters
    ----------
    alpha
        Part of the waiting jobs, by arrival, that enter the matching (at least as many as GPUs are free).
    """

    name: ClassVar[str] = "allox"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.SIZES

    alpha: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise UsageError(f"alpha {self.alpha}: a part from 0 to 1")

    def decide(self, state: RoundState, memory: Any) -> tuple[Ints, Any]:
        """Running jobs stay; waiting ones are matched with what is free."""
        chosen = state.current.copy()
        on = np.flatnonzero(chosen >= 0)
        used = np.bincount(chosen[on], weights=state.demand[on], minlength=len(state.count)).astype(np.int64)
        waiting = np.flatnonzero(chosen < 0)
        for j, k in _newly_placed(state, state.count - used, waiting, self.alpha, state.current):
            chosen[j] = k
        return chosen, None


@dataclass(frozen=True, kw_only=True)
class GavelAlloX(SharePolicy):
    """AlloX as Gavel runs it: shares of 0 and 1, turned into rounds; jobs without a share may fill idle GPUs."""

    name: ClassVar[str] = "gavel-allox"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.SIZES

    alpha: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.alpha <= 1:
            raise UsageError(f"alpha {self.alpha}: a part from 0 to 1")

    def shares(self, state: RoundState, memory: Any) -> tuple[Floats, Any]:
        """1 on the type of each placed job; placed jobs stay where they are."""
        kept = dict(memory or ())
        placed = {j: kept[i] for j, i in enumerate(state.ids.tolist()) if i in kept}
        left = state.count.copy()
        for j, k in placed.items():
            left[k] -= state.demand[j]
        waiting = np.array([j for j in range(len(state)) if j not in placed], dtype=np.int64)
        placed.update(_newly_placed(state, left, waiting, self.alpha))
        x = np.zeros(state.rate.shape)
        for j, k in placed.items():
            x[j, k] = 1.0
        return x, tuple((int(state.ids[j]), k) for j, k in sorted(placed.items()))
