"""The wrapper round every round solver: it measures, re-computes, re-checks, and makes the Allocation."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from hetopt.core.allocation import Allocation, Cost, allocation_violations, evaluate_allocation, optimality_tolerance
from hetopt.core.errors import UsageError, VerificationError
from hetopt.core.round_problem import CostModel, RoundProblem
from hetopt.core.round_solver import RoundOutcome, RoundSolver, WorkConservation
from hetopt.core.solver import Limits
from hetopt.core.status import CUT_OFF, Status, StopReason
from hetopt.solvers.catalogue import SOLVERS
from hetopt.solvers.rounds.usage import most_gpus
from hetopt.solvers.run import Listener, Monitor, checked_limits, interrupts, plain_options

__all__ = ["run_round"]


def run_round(
    solver: str | RoundSolver,
    problem: RoundProblem,
    *,
    cost: CostModel | None = None,
    rule: WorkConservation | str = WorkConservation.MOST_GPUS,
    limits: Limits | None = None,
    seed: int = 0,
    incumbent: Allocation | None = None,
    params: dict[str, Any] | None = None,
    listener: Listener | None = None,
) -> Allocation:
    """Solve one FFT round and make a checked :class:`~hetopt.core.allocation.Allocation`.

    Parameters
    ----------
    solver
        Name in the catalogue, or a solver object.
    problem
        The round.
    cost
        Weights of the terms of the cost.
    rule
        Which allocations compete (work conservation).
    limits
        Time, work and threads.
    seed
        Seed of every random choice.
    incumbent
        An allocation to start from; one that breaks a rule is left out, and the message says so.
    params
        Parameters for a solver given by name.
    listener
        Called with each new point of the history.

    Raises
    ------
    UsageError, SolverUnavailableError
        The call makes no sense here, or something is not installed.
    VerificationError
        The solver's claims do not survive the check.
    """
    cost, limits = cost or CostModel(), checked_limits(limits)
    try:
        rule = WorkConservation(rule)
    except ValueError:
        raise UsageError(
            f"no work-conservation rule is called {rule!r}; known: {', '.join(WorkConservation)}"
        ) from None
    made = _make(solver, params)
    if rule not in made.rules:
        raise UsageError(f"{made.name} does not take the rule {rule}; it takes {', '.join(sorted(made.rules))}")
    notes: list[str] = []
    start = None
    if incumbent is not None:
        broken = allocation_violations(problem, incumbent)
        if broken:
            notes.append(f"the warm start was left out ({broken[0]})")
        else:
            start = incumbent.gpu_type
    if problem.waiting:
        names = ", ".join(repr(problem.jobs[j].name) for j in problem.waiting[:3])
        more = f" and {len(problem.waiting) - 3} more" if len(problem.waiting) > 3 else ""
        notes.append(f"demand above every usable type, so waiting: {names}{more}")
    problem.cost_terms(cost)  # overflow and finished jobs are refused before anything is solved
    monitor = Monitor(listener)
    began = time.perf_counter()
    with interrupts(monitor):
        try:
            outcome = made.solve_round(
                problem, cost=cost, rule=rule, limits=limits, seed=seed, incumbent=start, observer=monitor
            )
        except KeyboardInterrupt:
            status = Status.UNKNOWN if start is None else Status.FEASIBLE
            outcome = RoundOutcome(status, StopReason.INTERRUPTED, start, message="interrupted")
    seconds = time.perf_counter() - began
    return _checked(made, problem, outcome, cost, rule, seed, [*notes, outcome.message], seconds)


def _make(solver: str | RoundSolver, params: dict[str, Any] | None) -> RoundSolver:
    from hetopt.solvers.run import make_solver

    made: Any = make_solver(solver, params) if isinstance(solver, str) else solver
    if not isinstance(made, RoundSolver):
        rounds = [entry.name for entry in SOLVERS if entry.kind == "round"]
        raise UsageError(f"{solver} does not solve rounds; these do: {', '.join(rounds)}")
    return made


def _checked(
    solver: RoundSolver,
    problem: RoundProblem,
    outcome: RoundOutcome,
    cost: CostModel,
    rule: WorkConservation,
    seed: int,
    notes: list[str],
    seconds: float,
) -> Allocation:
    names = tuple(job.name for job in problem.jobs)
    chosen = outcome.gpu_type
    value: Cost | None = None
    tolerance = 0.0
    used = [0] * len(problem.gpu_types)
    if chosen is not None:
        for job, i in zip(problem.jobs, chosen, strict=True):
            if i is not None:
                used[i] += job.demand
        value = evaluate_allocation(problem, chosen, cost)
        tolerance = optimality_tolerance(problem, chosen, cost)
    bound = None if outcome.bound is None else float(outcome.bound)
    if bound is not None and value is not None and bound > value.total:
        if bound - value.total > tolerance:
            raise VerificationError(
                f"{solver.name}: the lower bound {bound} is above the cost {value.total} of an allocation"
            )
        bound = value.total
    made = Allocation(
        fingerprint=problem.fingerprint,
        names=names,
        gpu_type=(None,) * len(names) if chosen is None else tuple(chosen),
        gpus_used=tuple(used),
        cost=value,
        status=outcome.status,
        stop_reason=outcome.stop_reason,
        bound=bound,
        solver=solver.name,
        options={**plain_options(solver), "cost": cost.to_dict(), "rule": str(rule)},
        seed=seed,
        runtime_seconds=round(seconds, 6),
        message="; ".join(note for note in notes if note),
        certificate=outcome.certificate,
        extra=outcome.extra,
    )
    if chosen is None:
        return made
    broken = allocation_violations(problem, made)
    if broken:
        raise VerificationError(f"{solver.name} returned an allocation that breaks a rule: {broken[0]}")
    _check_rule(solver.name, problem, made, rule)
    proved = bound is not None and value is not None and value.total - bound <= tolerance
    if outcome.status is Status.OPTIMAL and not proved:
        raise VerificationError(
            f"{solver.name} claims OPTIMAL with cost {value.total if value else None} and bound {bound}"
        )
    if outcome.status is Status.FEASIBLE and proved:
        made = dataclasses.replace(made, status=Status.OPTIMAL, stop_reason=StopReason.PROVED)
    if made.status is Status.OPTIMAL and made.stop_reason in CUT_OFF:  # it had finished when the limit came
        made = dataclasses.replace(made, stop_reason=StopReason.PROVED)
    return made


def _check_rule(name: str, problem: RoundProblem, allocation: Allocation, rule: WorkConservation) -> None:
    used = sum(allocation.gpus_used)
    if rule is WorkConservation.MOST_GPUS:
        most = most_gpus(problem.arrays).value
        if used != most:
            raise VerificationError(f"{name} uses {used} GPUs; {most} can be used")
    elif rule is WorkConservation.MAXIMAL:
        left = [g.count - u for g, u in zip(problem.gpu_types, allocation.gpus_used, strict=True)]
        for job, i in zip(problem.jobs, allocation.gpu_type, strict=True):
            fits = [k for k, rate in enumerate(job.throughput) if rate is not None and job.demand <= left[k]]
            if i is None and fits:
                raise VerificationError(
                    f"{name} leaves job {job.name!r} waiting; it fits on {problem.gpu_types[fits[0]].name!r}"
                )
