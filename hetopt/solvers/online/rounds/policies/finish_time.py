r"""Finish-time fairness over shares of time (Gavel's rendering of Themis; Mahajan et al., NSDI 2020).

.. math:: \min_{x \in X} \max_i \frac{t_i + r_i / \sum_j T_{ij} x_{ij}}{u_i + r_i / T_i^{iso}}

with t_i the age, r_i the work left, T_i^iso the throughput on an equal share, and u_i what the job
would have taken on equal shares for what it has done: (work done between two computations) /
(T_i^iso then), summed.  The value rho is the root of a continuous increasing function (the largest common
scaling of the throughputs that rho demands, one LP an evaluation), found by Brent's method.

Agnostic variant: every throughput of a job is that on the first type of the cluster on which it runs.
Guarantee: rho to 1e-9 (relative); among optimal x the largest sum of normalised throughputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hetopt.solvers.online.rounds.policies.base import TieBreakPolicy
from hetopt.solvers.online.rounds.policies.linear import (
    TieBreak,
    isolated_throughput,
    solve_centre,
    solve_linear,
    tidy,
    variables,
)
from hetopt.solvers.online.rounds.policies.max_min import max_min_level
from hetopt.solvers.online.rounds.state import Clairvoyance, RoundState

__all__ = ["FinishTimeFairness", "FinishTimeFairnessPerf", "IsolatedClock", "finish_time_shares", "isolated_clock"]

Floats = NDArray[np.float64]


def finish_time_shares(
    rate: Floats,
    count: NDArray[np.int64],
    demand: NDArray[np.int64],
    remaining: Floats,
    age: Floats,
    isolated_past: Floats,
    tie_break: TieBreak = TieBreak.CENTRE,
) -> tuple[float, Floats]:
    """The least largest rho, and shares (n, K) that attain it.

    Parameters
    ----------
    rate : (n, K) float64
        Throughputs, 0 where a job cannot run.
    remaining : (n,) float64
        Work left, > 0.
    age, isolated_past : (n,) float64
        t_i and u_i, seconds.
    """
    from scipy.optimize import brentq

    programme = variables(rate, count, demand)
    largest = rate.max(axis=1)
    seconds = remaining / largest  # least time left of each job
    scaled = tidy(np.where(rate > 0, rate / largest[:, None], 0.0))
    iso = isolated_throughput(scaled, count, demand)
    denominator = isolated_past + seconds / iso

    def coefficient(rho: float) -> Floats:
        return np.asarray(scaled * (np.maximum(rho * denominator - age, 0.0) / seconds)[:, None], dtype=np.float64)

    def level(rho: float) -> float:
        return max_min_level(programme, coefficient(rho))[0] - 1.0

    low = float((age / denominator).max())
    high = float(((age + seconds / iso) / denominator).max()) * (1 + 1e-12)
    if level(high) <= 0:  # the equal share is best possible, up to rounding
        rho = high
    else:
        # one usable time unit for everyone is the least that a job can have: rho at full speed is a lower bound
        low = max(low, float(((age + seconds) / denominator).max()) * (1 - 1e-12))
        rho = low if level(low) >= 0 else float(brentq(level, low, high, xtol=1e-12, rtol=1e-11))
    rho *= 1 + 1e-9
    need = seconds / (rho * denominator - age)
    rows, limits = _throughput_rows(programme, scaled, need)
    weights = scaled / iso[:, None]
    solve = solve_centre if tie_break is TieBreak.CENTRE else solve_linear
    x = solve(-weights[programme.job, programme.kind], rows, limits, what="finish-time fairness")
    return rho, programme.matrix(x)


def _throughput_rows(programme: Any, scaled: Floats, need: Floats) -> tuple[Any, Floats]:
    from scipy import sparse

    rows = sparse.vstack([programme.rows, -programme.by_job(scaled)]).tocsr()
    return rows, np.concatenate([programme.limits, -need * (1 - 1e-9)])


@dataclass(frozen=True)
class IsolatedClock:
    """u_i: seconds that the jobs would have taken on equal shares, and the figures of the last computation."""

    ids: NDArray[np.int64]
    past: Floats
    remaining: Floats
    isolated: Floats


def isolated_clock(state: RoundState, rate: Floats, old: IsolatedClock | None) -> IsolatedClock:
    """The clock moved on to a state."""
    past = np.zeros(len(state))
    if old is not None:
        place = {int(i): p for p, i in enumerate(old.ids.tolist())}
        for j, i in enumerate(state.ids.tolist()):
            p = place.get(i)
            if p is not None:
                past[j] = old.past[p] + (old.remaining[p] - state.remaining[j]) / old.isolated[p]
    isolated = isolated_throughput(rate, state.count, state.demand)
    clock = IsolatedClock(state.ids, past, state.remaining, isolated)
    for array in (clock.past, clock.remaining, clock.isolated):
        array.setflags(write=False)
    return clock


@dataclass(frozen=True, kw_only=True)
class FinishTimeFairnessPerf(TieBreakPolicy):
    """Shares that make the worst ratio of finish time to that on an equal share least (knows sizes)."""

    name: ClassVar[str] = "gavel-ftf-perf"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.SIZES

    def _rates(self, state: RoundState) -> Floats:
        return state.rate

    def shares(self, state: RoundState, memory: IsolatedClock | None) -> tuple[Floats, IsolatedClock]:
        """Optimal shares, and the clock of equal shares."""
        rate = self._rates(state)
        clock = isolated_clock(state, rate, memory)
        _, x = finish_time_shares(
            rate, state.count, state.demand, state.remaining, state.age, clock.past, self.tie_break
        )
        return x, clock


@dataclass(frozen=True, kw_only=True)
class FinishTimeFairness(FinishTimeFairnessPerf):
    """The same, blind to types: each job's throughput is taken from the first type on which it runs."""

    name: ClassVar[str] = "gavel-ftf"
    random_order: ClassVar[bool] = True

    def _rates(self, state: RoundState) -> Floats:
        first = np.argmax(state.rate > 0, axis=1)
        reference = state.rate[np.arange(len(state)), first]
        return np.where(state.rate > 0, reference[:, None], 0.0)
