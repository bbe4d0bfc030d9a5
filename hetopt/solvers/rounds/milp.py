"""``fft-milp``: the integer programme of an FFT round, handed to a MILP backend as it stands.

Problem: one FFT round under any of the three work-conservation rules.  Formulation and references:
:mod:`hetopt.models.rounds.fft_milp`.  The most usable GPUs come from a pre-solve (:mod:`~hetopt.solvers.rounds.usage`).

What is done for the numbers: costs are scaled by a power of two so that the backend's absolute tolerances (1e-6) are
below 1e-9 of the cost of the answer, and solved again with another scale where the first answer shows that they were not; a pair
that alone makes an allocation dearer than one that is known is left out, so that throughputs over many orders of
magnitude do not meet in one model.

Guarantee: optimal to 1e-9 of its cost when it says OPTIMAL, on the word of the backend.  Complexity: exponential in the worst
case; seconds for 4,000 jobs on 8 types.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from hetopt.core.allocation import optimality_tolerance
from hetopt.core.errors import VerificationError
from hetopt.core.round_problem import CostModel, RoundProblem
from hetopt.core.round_solver import RoundOutcome, WorkConservation
from hetopt.core.solver import Limits, Observer
from hetopt.core.status import Capability, SolverKind, Status, StopReason
from hetopt.models.base import LinearModel
from hetopt.models.rounds.fft_milp import BuiltRound, FftMilp
from hetopt.solvers.backends import highs, pulp_backend
from hetopt.solvers.backends.answer import Answer, Request
from hetopt.solvers.exact._milp import check_backend
from hetopt.solvers.rounds.usage import most_gpus

__all__ = ["FftMilpSolver"]

_TARGET = 2.0**18
"""Size of the scaled cost: 1e-9 of it is 2.6e-4, well above the tolerances of the backends."""

_TRIES = 5
"""Scalings tried at most."""


@dataclass(frozen=True)
class FftMilpSolver:
    """The solver of this module.

    Parameters
    ----------
    backend
        ``highs`` (direct), ``cbc``, ``pulp-highs``, ``gurobi``, ``cplex`` or ``scip`` (through PuLP).
    log_file
        File for the backend's log.

    Notes
    -----
    The work limit counts branch-and-bound nodes.
    """

    name: ClassVar[str] = "fft-milp"
    kind: ClassVar[SolverKind] = SolverKind.ROUND
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.EXACT,
            Capability.LOWER_BOUND,
            Capability.WARM_START,
            Capability.ANYTIME,
            Capability.DETERMINISTIC,
        }
    )
    rules: ClassVar[frozenset[WorkConservation]] = frozenset(WorkConservation)

    backend: str = "highs"
    log_file: str = ""

    def __post_init__(self) -> None:
        check_backend(self.backend)

    def solve_round(
        self,
        problem: RoundProblem,
        *,
        cost: CostModel,
        rule: WorkConservation,
        limits: Limits,
        seed: int,
        incumbent: Sequence[int | None] | None,
        observer: Observer,
    ) -> RoundOutcome:
        """Solve one round; see :class:`~hetopt.core.round_solver.RoundOutcome`."""
        formulation = FftMilp()
        usage = most_gpus(problem.arrays)
        built = formulation.build(problem, cost, rule, most_gpus=usage.value)
        best = _start(formulation, built, usage.gpu_type.tolist(), incumbent)
        least = _least(built)
        proved: float | None = None
        nodes, answer = 0, None
        for _ in range(_TRIES):
            value = _value(built, best, formulation)
            size = abs(value) if value else abs(least)
            if size == 0.0:  # nothing costs less than nothing
                proved = 0.0
                break
            scale = 2.0 ** round(math.log2(_TARGET / size))
            left = None if limits.time is None else limits.time - observer.elapsed()
            request = Request(
                _scaled(built, scale, value - least),
                seconds=left,
                nodes=None if limits.work is None else max(0, limits.work - nodes),
                threads=limits.threads,
                seed=seed,
                start=formulation.encode(built, best),
                log_file=self.log_file,
            )
            if self.backend == "highs":
                answer = highs.solve(request, stop=observer.stop_requested)
            else:
                answer = pulp_backend.solve(request, self.backend, stop=observer.stop_requested)
            nodes += answer.nodes or 0
            _refuse_nonsense(self.backend, answer)
            if answer.values is not None:
                found = formulation.decode(built, answer.values)
                if _value(built, found, formulation) <= value:
                    best = found
            if answer.bound is not None:
                bound = answer.bound / scale
                proved = bound if proved is None else max(proved, bound)
            reached = abs(_value(built, best, formulation))
            if answer.status is not Status.OPTIMAL or reached * scale >= _TARGET / 64:
                break
        return self._outcome(problem, cost, built, usage.cut is None, best, proved, answer, nodes)

    def _outcome(
        self,
        problem: RoundProblem,
        cost: CostModel,
        built: BuiltRound,
        reported_usage: bool,
        best: tuple[int | None, ...],
        proved: float | None,
        answer: Answer | None,
        nodes: int,
    ) -> RoundOutcome:
        value = _value(built, best, FftMilp())
        tolerance = optimality_tolerance(problem, best, cost)
        bound = None if proved is None else Fraction(min(proved, value)) - Fraction(tolerance) / 4
        if answer is None:
            status, stop = Status.OPTIMAL, StopReason.PROVED
        else:
            closed = proved is not None and value - proved <= tolerance / 2
            status = Status.OPTIMAL if closed else Status.FEASIBLE
            stop = StopReason.PROVED if closed else answer.stop_reason
            if stop is StopReason.PROVED and not closed:
                stop = StopReason.GAP
        notes = [] if answer is None or not answer.message else [answer.message]
        if reported_usage and built.rule is WorkConservation.MOST_GPUS:
            notes.append(
                f"that no allocation uses more than {sum(_used(problem, best))} GPUs rests on the word of HiGHS"
            )
        extra: dict[str, Any] = {
            "columns": built.linear.num_columns,
            "rows": built.linear.num_rows,
            "native": "" if answer is None else answer.native,
            "version": "" if answer is None else answer.version,
        }
        return RoundOutcome(status, stop, best, bound, work=nodes, message="; ".join(notes), extra=extra)


def _start(
    formulation: FftMilp, built: BuiltRound, most: list[int], incumbent: Sequence[int | None] | None
) -> tuple[int | None, ...]:
    """The warm start where the rule admits it and it is cheaper, else an allocation that uses the most GPUs (or none)."""
    free = built.rule is WorkConservation.NONE
    own: tuple[int | None, ...] = tuple(None if free or i < 0 else i for i in most)
    if incumbent is not None:
        given = tuple(incumbent)
        try:
            formulation.encode(built, given)
        except ValueError:
            return own
        if _value(built, given, formulation) < _value(built, own, formulation):
            return given
    return own


def _value(built: BuiltRound, gpu_type: tuple[int | None, ...], formulation: FftMilp) -> float:
    values = formulation.encode(built, gpu_type)
    return math.fsum((built.linear.cost * values).tolist())


def _least(built: BuiltRound) -> float:
    """Sum over jobs of their cheapest option, waiting included: below the cost of every allocation."""
    cheapest = np.zeros(len(built.problem.jobs))
    np.minimum.at(cheapest, built.pair_job, built.linear.cost[: len(built.pair_job)])
    return math.fsum(cheapest.tolist())


def _scaled(built: BuiltRound, scale: float, slack: float) -> LinearModel:
    """The model in other units of cost; pairs that cost more than ``slack`` above their job's cheapest option are fixed at 0."""
    linear, pairs = built.linear, len(built.pair_job)
    cheapest = np.zeros(len(built.problem.jobs))
    np.minimum.at(cheapest, built.pair_job, linear.cost[:pairs])
    cost, upper = linear.cost * scale, linear.upper.copy()
    dear = np.flatnonzero(linear.cost[:pairs] - cheapest[built.pair_job] > slack * (1 + 1e-9))
    cost[dear], upper[dear] = 0.0, 0.0
    return replace(linear, cost=cost, upper=upper)


def _used(problem: RoundProblem, gpu_type: tuple[int | None, ...]) -> list[int]:
    return [job.demand for job, i in zip(problem.jobs, gpu_type, strict=True) if i is not None]


def _refuse_nonsense(backend: str, answer: Answer) -> None:
    if answer.status in (Status.INFEASIBLE, Status.UNBOUNDED):
        raise VerificationError(f"{backend} calls a round {answer.status} that has an allocation of finite cost")
