"""``time-indexed-lagrangian``: capacity priced per type and tick, jobs as chains, one exact bound.

Problem.  A schedule uses at most ``|G_k|`` GPUs of type k at any tick t.  With prices ``u_k(t) >= 0`` for these
capacity rows (0 from T on) every feasible schedule satisfies

.. math::
   \\sum_n w_n C_n \\;\\ge\\; L(u) = \\sum_n V_n(u) - \\sum_k |G_k| \\sum_t u_k(t), \\tag{1}

where ``V_n(u)`` is the cheapest way to run job n alone when it pays for what it uses
(:mod:`~hetopt.solvers.relaxations.chain_windows`).  ``max_u L(u)`` equals the linear relaxation of
the time-indexed model when jobs are free of capacities of their own, and is above it with the window capacities.

Guarantee: every ``L(u)`` is a lower bound, whatever the prices.  Prices are whole multiples of ``2^-bits`` and the
chain programme is in integers, so the value is exact (trust DERIVED, certificate kind
``time-indexed-lagrangian``).  How close to the maximum the subgradient method comes is not guaranteed.

Method: projected subgradient with Polyak steps towards the best known schedule, deflected, from prices that
integrate the Smith ratio of the jobs in process (a fluid approximation).

Complexity: O(iterations x cells), cells = T K per round, times ``W_r`` where capacities can bind.

References: M. Held, P. Wolfe, H. Crowder, "Validation of subgradient optimization", Mathematical
Programming 6 (1974); B. T. Polyak, USSR Comp. Math. 9 (1969); R. Moehring, A. Schulz, F. Stork, M. Uetz, "Solving
project scheduling problems by minimum cut computations", Management Science 49 (2003), for the relaxation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.certificate import Bound, Certificate
from hetopt.core.errors import UsageError
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate as value_of
from hetopt.core.objectives import offset
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Exclusions, Limits, Observer, Outcome
from hetopt.core.status import Capability, Objective, SolverKind, Status, StopReason, Trust
from hetopt.solvers import _kernels
from hetopt.solvers.heuristics.list_scheduling import PlacementRule, list_schedule
from hetopt.solvers.relaxations import _chain_kernel
from hetopt.solvers.relaxations.chain_windows import (
    ChainProblem,
    Ints,
    evaluate_job,
    free_values,
    kernel_arguments,
    prefix_sums,
)

__all__ = ["Dual", "TimeIndexedLagrangian", "maximise", "quick_schedule", "suitable_problem"]

KIND: Final = "time-indexed-lagrangian"
WINDOW_CELLS: Final = 10**8
"""Most cells of one evaluation with window capacities; past it narrower windows are tried, then none."""
CHAIN_CELLS: Final = 4 * 10**8
"""Most cells of one evaluation without; past it time is coarsened."""
ROW_CELLS: Final = 5 * 10**7
"""Most cells kept in memory for one job."""
EASY_CELLS: Final = 10**6
"""Cells of one evaluation from which time is coarsened if that costs next to nothing."""
EASY_TICKS: Final = 512
"""A round that takes this many coarse ticks loses at most 1/512 of its length."""
COMPILE_FROM: Final = 2 * 10**7
"""Cells of a whole run from which loading the compiled kernel pays."""
COMPILE_SECONDS: Final = 8.0
"""Time limits below this are not spent on compiling."""
STOP_CELLS: Final = 2 * 10**7
"""Cells between two looks at the clock."""


@dataclass(frozen=True)
class Dual:
    """Prices and what they prove.

    Attributes
    ----------
    problem
        The chain problem that they are about.
    bits
        Prices and values are multiples of ``2^-bits``.
    prices : (K, T) int64
        Scaled prices.
    job_values : (N,) int64
        Scaled V_n, in coarse ticks.
    value
        The bound on the total weighted completion time, exact.
    iterations
        Evaluations made.
    converged
        Whether the method stopped by itself.
    """

    problem: ChainProblem
    bits: int
    prices: Ints
    job_values: Ints
    value: Fraction
    iterations: int
    converged: bool
    window_limit: int

    def certificate(self, instance: Instance) -> Certificate:
        """The evidence as a document; the schema is in the reference on certificates."""
        data = {
            "coarsening": self.problem.coarsening,
            "window_limit": self.window_limit,
            "denominator": 1 << self.bits,
            "price_end": self.problem.price_end,
            "horizon": self.problem.length - 1,
            "prices": [_run_lengths(row) for row in self.prices],
        }
        return Certificate(kind=KIND, bound=self.value, fingerprint=instance.fingerprint, data=data)

    def bound(self, instance: Instance, objective: Objective) -> Bound:
        """As a bound on ``objective`` (completion or flow)."""
        made = Bound(self.value, KIND, Trust.DERIVED, self.certificate(instance))
        return made.shifted(offset(instance, objective))


def _run_lengths(row: Ints) -> list[list[int]]:
    if len(row) == 0:
        return []
    edges = np.flatnonzero(np.diff(row)) + 1
    starts = np.concatenate(([0], edges))
    runs = np.diff(np.concatenate((starts, [len(row)])))
    return [[int(v), int(n)] for v, n in zip(row[starts], runs, strict=True)]


def quick_schedule(instance: Instance) -> Schedule:
    """A feasible schedule for a first upper bound: jobs by Smith ratio within release order, earliest finish."""
    a = instance.arrays
    work = np.add.reduceat(a.scale * a.min_processing_time, a.round_start[:-1])
    share = np.cumsum(a.scale * a.min_processing_time) / a.num_gpus
    ahead = share - np.concatenate(([0.0], share))[a.round_start[:-1]][a.round_job]
    # a later round of a job never has a smaller key: ahead grows along the chain
    delay = work / a.weight
    rank = delay / max(1.0, float(delay.mean())) * (float(work.sum()) / a.num_gpus)
    key = a.release_date[a.round_job] + rank[a.round_job] / 2 + ahead
    return list_schedule(instance, key, PlacementRule.EARLIEST_FINISH)


def suitable_problem(instance: Instance, price_end: int, *, round_capacity: bool = True) -> tuple[ChainProblem, int]:
    """The chain problem with the widest windows and the finest time that stay affordable, and its window limit.

    Depends on the instance alone, so that the bytes do not depend on the machine.
    """
    rounds = int(np.diff(instance.arrays.round_start).max())
    typical = float(instance.arrays.min_task_time.mean())
    coarsening = 1
    while True:
        problem = ChainProblem.of(instance, price_end, coarsening=coarsening, window_limit=0)
        affordable = problem.cells <= CHAIN_CELLS and (rounds + 1) * problem.length <= ROW_CELLS
        if problem.length <= 64 or (
            affordable and (problem.cells <= EASY_CELLS or typical < 2 * EASY_TICKS * coarsening)
        ):
            break
        coarsening *= 2
    if round_capacity:
        top = int(problem.widest.max())
        for limit in (top, top // 2, top // 4, top // 8):
            wide = ChainProblem.of(instance, price_end, coarsening=coarsening, window_limit=limit)
            if limit > 0 and wide.cells <= WINDOW_CELLS:
                return wide, limit
    return problem, 0


class _OutOfTime(Exception):
    """An evaluation was given up half-way."""


class _Evaluator:
    """Evaluates L(u) for one problem, compiled where that pays, asking ``stop`` every :data:`STOP_CELLS` or so."""

    def __init__(self, problem: ChainProblem, bits: int, compile_it: bool, stop: Callable[[], bool]) -> None:
        self.problem, self.bits, self.stop = problem, bits, stop
        self.weight = problem.weight << bits
        self.job_values = np.empty(problem.num_jobs, dtype=np.int64)
        self.usage = np.empty((problem.num_types, problem.length + problem.reach + 1), dtype=np.int64)
        rounds = int(np.diff(problem.round_start).max())
        self.values = np.empty((rounds + 1, problem.length), dtype=np.int64)
        self.widths = np.empty((rounds, problem.length), dtype=np.int64)
        self.compiled = compile_it and _kernels.numba_usable()
        self.batch = max(1, problem.num_jobs * STOP_CELLS // max(1, problem.cells))

    def __call__(self, prices: Ints) -> int:
        """Scaled L(u) in coarse ticks; leaves V_n in ``job_values`` and the GPUs in use in ``usage``."""
        problem = self.problem
        sums = prefix_sums(problem, prices)
        self.usage[:] = 0
        for first in range(0, problem.num_jobs, self.batch):
            if first and self.stop():
                raise _OutOfTime
            end = min(first + self.batch, problem.num_jobs)
            if self.compiled:
                _kernels.compiled(_chain_kernel.evaluate)(
                    *kernel_arguments(problem),
                    self.weight,
                    sums,
                    problem.length,
                    self.values,
                    self.widths,
                    self.job_values,
                    self.usage,
                    first,
                    end,
                )
            else:
                for n in range(first, end):
                    self.job_values[n] = evaluate_job(
                        n, problem, self.weight, sums, self.values, self.widths, self.usage
                    )
        paid = sum(int(c) * int(s) for c, s in zip(problem.count, prices.sum(axis=1), strict=True))
        return sum(self.job_values.tolist()) - paid

    def slope(self) -> NDArray[np.float64]:
        """(K, T) GPUs in use minus GPUs there are: a subgradient."""
        used = np.cumsum(self.usage[:, : self.problem.price_end], axis=1)
        return (used - self.problem.count[:, None]).astype(np.float64)


def _fluid_prices(problem: ChainProblem) -> NDArray[np.float64]:
    """(T,) weight per GPU and tick still to be finished when jobs are a fluid in Smith order."""
    work = np.add.reduceat(
        problem.scale * np.where(problem.allowed, problem.processing, np.iinfo(np.int64).max).min(axis=1),
        problem.round_start[:-1],
    )
    order = np.argsort(-problem.weight / np.maximum(work, 1), kind="stable")
    gpus = float(problem.count.sum())
    ends = np.cumsum(work[order]) / gpus
    left = np.concatenate((np.cumsum(problem.weight[order][::-1])[::-1], [0])).astype(np.float64)
    ticks = np.arange(problem.price_end, dtype=np.float64)
    out: NDArray[np.float64] = np.interp(ticks, np.concatenate(([0.0], ends)), left) / gpus
    return out


def maximise(
    instance: Instance,
    problem: ChainProblem,
    window_limit: int,
    *,
    upper_bound: int,
    iterations: int,
    seconds: float | None = None,
    stop: Callable[[], bool] = lambda: False,
    on_better: Callable[[Dual], None] = lambda dual: None,
) -> Dual:
    """Raise L(u) by a subgradient method.

    Parameters
    ----------
    upper_bound
        Total weighted completion time of a schedule: where the steps aim.
    iterations
        Most evaluations.
    seconds
        Roughly how long it may take; says whether compiling pays.
    stop
        Asked before and within each evaluation; what is known then is returned (at least the bound of prices 0).
    on_better
        Told now and then of a better bound (not of every one).
    """
    bits = problem.bits()
    compile_it = problem.cells * iterations >= COMPILE_FROM and (
        seconds is None
        or seconds >= COMPILE_SECONDS
        or (_kernels.numba_usable() and _kernels.at_hand(_chain_kernel.evaluate))
    )
    oracle = _Evaluator(problem, bits, compile_it, stop)
    unit = float(1 << bits)
    g = problem.coarsening
    top = max(1, problem.price_budget // max(1, problem.price_end))

    def scaled(prices: NDArray[np.float64]) -> Ints:
        return np.minimum(np.rint(np.minimum(prices * unit, float(top))), top).astype(np.int64)

    def dual(prices: Ints, values: Ints, best: int, made: int, converged: bool) -> Dual:
        return Dual(problem, bits, prices, values.copy(), Fraction(best * g, 1 << bits), made, converged, window_limit)

    shape = (problem.num_types, problem.price_end)
    fluid = np.broadcast_to(_fluid_prices(problem), shape)
    speed = np.where(
        problem.allowed, problem.processing.min(axis=1, where=problem.allowed, initial=1 << 62)[:, None], 0
    )
    speed = (speed / np.maximum(problem.processing, 1)).mean(axis=0)
    priced = fluid * (speed / max(1e-12, float(speed.max())))[:, None]
    target = upper_bound / g
    free = free_values(problem, oracle.weight)
    best, best_prices, best_values = sum(free.tolist()), np.zeros(shape, dtype=np.int64), free
    made, factor, idle, last_told = 0, 1.0, 0, -1
    value, converged = best, False
    current, direction = np.zeros(shape), np.zeros(shape)
    try:
        for start in (np.zeros(shape), 0.5 * fluid, fluid, 0.5 * priced, priced):
            if stop() or made >= iterations:
                break
            chosen = scaled(start)
            value = oracle(chosen)
            made += 1
            if made == 1 or value > best:
                best, best_prices, best_values = value, chosen, oracle.job_values.copy()
                current, direction = start.copy(), oracle.slope()
        value = best
        while made and made < iterations and not stop():
            gap = target - value / unit
            if best * g > (upper_bound - 1) << bits or factor < 1e-4 or gap <= 0:
                converged = True
                break
            step = np.where((current <= 0) & (direction < 0), 0.0, direction)
            norm = float((step * step).sum())
            if norm < 1e-9:
                converged = True
                break
            current = np.maximum(0.0, current + factor * gap / norm * step)
            chosen = scaled(current)
            value = oracle(chosen)
            made += 1
            direction = 0.7 * direction + 0.3 * oracle.slope()
            idle = 0 if value > best + max(1, abs(best) >> 20) else idle + 1
            if value > best:
                best, best_prices, best_values = value, chosen, oracle.job_values.copy()
                if -(-best * g >> bits) > last_told and made % 10 == 0:
                    last_told = -(-best * g >> bits)
                    on_better(dual(best_prices, best_values, best, made, False))
            if idle >= 20:
                factor, idle = factor * 0.7, 0
                current = best_prices / unit
    except _OutOfTime:
        pass
    return dual(best_prices, best_values, best, made, converged)


@dataclass(frozen=True)
class TimeIndexedLagrangian:
    """The bound of the module docstring; one unit of work is one evaluation of L(u).

    Parameters
    ----------
    iterations
        Most evaluations.
    round_capacity
        Whether rounds with more tasks than a type has GPUs count its capacity within their window (stronger).
    """

    name: ClassVar[str] = KIND
    kind: ClassVar[SolverKind] = SolverKind.RELAXATION
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.LOWER_BOUND, Capability.ANYTIME, Capability.DETERMINISTIC, Capability.CERTIFICATE}
    )
    objectives: ClassVar[frozenset[Objective]] = frozenset(
        {Objective.TOTAL_WEIGHTED_COMPLETION, Objective.TOTAL_WEIGHTED_FLOW}
    )

    iterations: int = 2000
    round_capacity: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.iterations, bool) or not isinstance(self.iterations, int) or self.iterations < 1:
            raise UsageError(f"iterations {self.iterations!r}: a whole number >= 1 is needed")
        if not isinstance(self.round_capacity, bool):
            raise UsageError(f"round_capacity {self.round_capacity!r}: true or false is needed")

    def solve(
        self,
        problem: Instance,
        *,
        objective: Objective,
        limits: Limits,
        seed: int = 0,
        incumbent: Schedule | None = None,
        bound: Bound | None = None,
        exclusions: Exclusions | None = None,
        observer: Observer,
    ) -> Outcome:
        """See :class:`~hetopt.core.solver.Solver`; ``extra["dual"]`` is the :class:`Dual`."""
        began = time.perf_counter()
        if (limits.work is not None and limits.work < 1) or (limits.time is not None and limits.time <= 0):
            reason = StopReason.TIME if limits.time is not None and limits.time <= 0 else StopReason.WORK
            status = Status.UNKNOWN if incumbent is None else Status.FEASIBLE
            return Outcome(status, reason, incumbent, work=0, message="no evaluation fits the limits")
        guide = incumbent if incumbent is not None else quick_schedule(problem)
        chain, window_limit = suitable_problem(problem, guide.makespan, round_capacity=self.round_capacity)

        def out_of_time() -> bool:
            return limits.time is not None and time.perf_counter() - began >= limits.time

        most = self.iterations if limits.work is None else min(self.iterations, limits.work)
        dual = maximise(
            problem,
            chain,
            window_limit,
            upper_bound=value_of(problem, guide),
            iterations=most,
            seconds=limits.time,
            stop=lambda: out_of_time() or observer.stop_requested(),
            on_better=lambda better: observer.record(bound=better.bound(problem, objective)),
        )
        if dual.converged or dual.iterations >= self.iterations:
            reason = StopReason.EXHAUSTED
        elif dual.iterations >= most:
            reason = StopReason.WORK
        else:
            reason = StopReason.INTERRUPTED if observer.stop_requested() else StopReason.TIME
        extra: dict[str, Any] = {"dual": dual}
        return Outcome(
            status=Status.UNKNOWN if incumbent is None else Status.FEASIBLE,
            stop_reason=reason,
            schedule=incumbent,
            bound=dual.bound(problem, objective),
            work=dual.iterations,
            message=f"{dual.iterations} evaluations, prices up to tick {chain.price_end * chain.coarsening}"
            + (f", time coarsened by {chain.coarsening}" if chain.coarsening > 1 else ""),
            extra=extra,
        )
