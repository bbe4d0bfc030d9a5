r"""The FFT scheduler: the per-round cost problem with its fairness compensation (Mo, Xu, Lau, ICS 2025; our reading).

Each round the cheapest of the allocations that use the most GPUs, with the cost of
:class:`~hetopt.core.round_problem.CostModel`, and

.. math:: \rho_j(t+1) = \max\Big\{0,\ \rho_j(t) + \mu_j(t) \Big(\frac{W_j}{\tau_j - a_j} - \sum_i \theta_{ij} x_{ij}(t)\Big)\Big\},
          \qquad \mu_j(t) = \frac{t - a_j}{\tau_j - a_j}

with tau_j the completion time on an exclusive 1/n share: now + (work left) / T_iso for the n jobs
active now; mu_j = 0 where tau_j <= a_j.  Time is in rounds.  The fairness term rho theta has the
unit (work per round) squared, so the unit of work matters.  Our reading: each job's work is counted in
rounds on its fastest type (theta at most 1), so that neither steps nor epochs nor scaled
throughputs change anything; ``work_unit="raw"`` takes the workload's numbers as they are.

Guarantee: each round is optimal to ``gap`` unless ``nodes`` ran out.  A bound on unfinished jobs is
claimed by the paper; its constants are unknown to us.  Complexity: that of ``fft-fast`` a round.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import UsageError
from hetopt.core.round_problem import CostModel, RoundGpuType, RoundJob, RoundProblem, WorkMeasure
from hetopt.core.round_solver import WorkConservation
from hetopt.core.solver import Limits
from hetopt.solvers.online.rounds.fairness import isolated_rate
from hetopt.solvers.online.rounds.policies.market import RoundView, arrays_of, solve_view
from hetopt.solvers.online.rounds.state import Clairvoyance, RoundState

__all__ = ["Fft", "FftMemory", "WorkUnit", "round_problem_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class WorkUnit(StrEnum):
    """What work is counted in: rounds on the job's fastest type, or the workload's own unit."""

    FASTEST = "fastest"
    RAW = "raw"


@dataclass(frozen=True)
class FftMemory:
    """Fairness factors rho of the jobs of the last round, and its prices."""

    ids: Ints
    rho: Floats
    prices: tuple[float, ...]


@dataclass(frozen=True)
class _Units:
    """Jobs in rounds and in the chosen unit of work."""

    theta: Floats
    work: Floats
    done: Floats
    age: Floats


@dataclass(frozen=True, kw_only=True)
class Fft:
    """FFT: per-round cost minimisation by type prices, with fairness compensation.

    Parameters
    ----------
    fairness
        Whether rho is updated and enters the cost.
    migration
        Weight of the migration cost.
    age, size
        Weights of the two parts of the cost of completion time.
    work
        Total work in the cost (the paper's equation (3)) or what remains.
    rule
        Which allocations compete: most-gpus or none (fft-fast), maximal (other solvers).
    solver
        A round solver; ``fft-fast`` runs without documents, others through ``run_round``.
    work_unit
        See :class:`WorkUnit`.
    gap
        Relative gap proved in each round.
    nodes
        Most nodes of the search in each round (deterministic).
    """

    name: ClassVar[str] = "fft"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.SIZES

    fairness: bool = True
    migration: float = 1.0
    age: float = 1.0
    size: float = 1.0
    work: WorkMeasure = WorkMeasure.TOTAL
    rule: WorkConservation = WorkConservation.MOST_GPUS
    solver: str = "fft-fast"
    work_unit: WorkUnit = WorkUnit.FASTEST
    gap: float = 1e-4
    nodes: int = 500
    model: CostModel = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.fairness, bool):
            raise UsageError(f"fairness {self.fairness!r}: true or false")
        for key, kind in (("rule", WorkConservation), ("work_unit", WorkUnit), ("work", WorkMeasure)):
            try:
                object.__setattr__(self, key, kind(getattr(self, key)))
            except ValueError:
                raise UsageError(f"{key} {getattr(self, key)!r}: one of {', '.join(kind)}") from None
        if not 0 <= self.gap < 1:
            raise UsageError(f"gap {self.gap}: a relative gap is at least 0 and below 1")
        if isinstance(self.nodes, bool) or not isinstance(self.nodes, int) or self.nodes < 1:
            raise UsageError(f"nodes {self.nodes!r}: a whole number >= 1")
        weight = 1.0 if self.fairness else 0.0
        object.__setattr__(self, "model", CostModel(self.age, self.size, self.migration, weight, self.work))

    def decide(self, state: RoundState, memory: FftMemory | None) -> tuple[Ints, FftMemory]:
        """The cheapest allocation of the round, and the fairness factors of the next."""
        units = self._units(state)
        rho = _carried(state, memory)
        prices = memory.prices if memory is not None else ()
        if self.solver == "fft-fast":
            chosen, prices = self._fast(state, units, rho, prices)
        else:
            chosen, prices = self._by_documents(state, units, rho), ()
        speed = np.where(chosen >= 0, units.theta[np.arange(len(state)), chosen], 0.0)
        following = self._compensated(state, units, rho, speed) if self.fairness else rho
        following.setflags(write=False)
        return chosen, FftMemory(state.ids, following, prices)

    def _units(self, state: RoundState) -> _Units:
        theta = state.rate * state.round_seconds
        unit = theta.max(axis=1) if self.work_unit is WorkUnit.FASTEST else np.ones(len(state))
        return _Units(theta / unit[:, None], state.work / unit, state.done / unit, state.age / state.round_seconds)

    def _fast(
        self, state: RoundState, units: _Units, rho: Floats, prices: tuple[float, ...]
    ) -> tuple[Ints, tuple[float, ...]]:
        arrays = arrays_of(state)
        theta = np.where(arrays.allowed, units.theta, 1.0)
        work = units.work - units.done if self.work is WorkMeasure.REMAINING else units.work
        work = np.maximum(work, np.finfo(np.float64).tiny)[:, None]
        moving = (state.moving / state.round_seconds)[:, None] * _moves(state)
        terms = {
            "jct": self.age * (units.age[:, None] * theta / work) + self.size * (state.demand[:, None] * work / theta),
            "migration": self.migration * moving,
            "fairness": -self.model.fairness * (rho[:, None] * theta),
        }
        outcome = solve_view(
            RoundView(arrays, terms), self.rule, gap=self.gap, nodes=self.nodes, prices=prices, seed=state.seed
        )
        assert outcome.gpu_type is not None
        chosen = np.array([-1 if k is None else k for k in outcome.gpu_type], dtype=np.int64)
        return chosen, tuple(outcome.extra.get("prices", ()))

    def _by_documents(self, state: RoundState, units: _Units, rho: Floats) -> Ints:
        from hetopt.solvers.rounds.run import run_round

        problem = round_problem_of(state, rho, units.theta, units.work, units.done)
        answer = run_round(self.solver, problem, cost=self.model, rule=self.rule, limits=Limits(), seed=state.seed)
        return np.array([-1 if k is None else k for k in answer.gpu_type], dtype=np.int64)

    def _compensated(self, state: RoundState, units: _Units, rho: Floats, speed: Floats) -> Floats:
        iso = isolated_rate(units.theta, state.count, state.demand, len(state))
        alone = units.age + np.maximum(units.work - units.done, 0.0) / iso  # tau - a
        positive = alone > 0
        span = np.where(positive, alone, 1.0)
        mu = np.where(positive, units.age / span, 0.0)
        return np.asarray(np.maximum(0.0, rho + mu * (units.work / span - speed)), dtype=np.float64)


def _moves(state: RoundState) -> Floats:
    """1 where running a job there moves it, (n, K): a job that did not run pays nothing (as in the format)."""
    kinds = np.arange(len(state.count))[None, :]
    return np.asarray(
        ((state.current[:, None] >= 0) & (kinds != state.current[:, None])).astype(np.float64), dtype=np.float64
    )


def _carried(state: RoundState, memory: FftMemory | None) -> Floats:
    """Fairness factors of the jobs of this round; new jobs begin at 0."""
    rho = np.zeros(len(state))
    if memory is not None and len(memory.ids):
        order = np.argsort(memory.ids)
        place = np.searchsorted(memory.ids[order], state.ids)
        place = np.minimum(place, len(order) - 1)
        found = memory.ids[order][place] == state.ids
        rho[found] = memory.rho[order][place[found]]
    return rho


def round_problem_of(
    state: RoundState,
    rho: Floats,
    theta: Floats | None = None,
    work: Floats | None = None,
    done: Floats | None = None,
) -> RoundProblem:
    """The round as a ``hetopt/round`` document, for other solvers, for files, and for checks of the fast path.

    ``theta`` (n, K) per round, ``work`` and ``done`` (n,) are in the workload's unit by default.
    """
    theta = state.rate * state.round_seconds if theta is None else theta
    work = state.work if work is None else work
    done = state.done if done is None else done
    moving = (state.moving / state.round_seconds)[:, None] * _moves(state)
    jobs: list[Any] = [
        RoundJob(
            name=name,
            demand=int(state.demand[j]),
            work=float(work[j]),
            done=float(done[j]),
            release_date=float(state.arrival[j] / state.round_seconds),
            throughput=tuple(float(v) if v > 0 else None for v in theta[j]),
            current_type=None if state.current[j] < 0 else int(state.current[j]),
            migration_cost=tuple(moving[j].tolist()),
            fairness=float(rho[j]),
        )
        for j, name in enumerate(state.names)
    ]
    return RoundProblem(
        name=f"round {state.round}",
        round_seconds=state.round_seconds,
        now=state.now / state.round_seconds,
        gpu_types=tuple(
            RoundGpuType(name=name, count=int(number))
            for name, number in zip(state.gpu_types, state.count.tolist(), strict=True)
        ),
        jobs=tuple(jobs),
    )
