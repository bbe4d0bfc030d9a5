"""Brute force over all allocations of a tiny round, in rational arithmetic, without models or solvers."""

from __future__ import annotations

import itertools
from fractions import Fraction

from hetopt.core.round_problem import CostModel, RoundProblem


def allocations(problem: RoundProblem):
    """Every feasible allocation, as a tuple of types or None."""
    options = [[None, *[i for i, x in enumerate(job.throughput) if x is not None]] for job in problem.jobs]
    for choice in itertools.product(*options):
        used = [0] * len(problem.gpu_types)
        for job, i in zip(problem.jobs, choice):
            if i is not None:
                used[i] += job.demand
        if all(u <= g.count for u, g in zip(used, problem.gpu_types)):
            yield choice, sum(used)


def exact(problem: RoundProblem, choice, cost: CostModel) -> Fraction:
    return sum((problem.exact_cost(j, i, cost) for j, i in enumerate(choice) if i is not None), Fraction(0))


def optimum(problem: RoundProblem, rule: str, cost: CostModel | None = None) -> Fraction:
    """Least cost among the allocations that the rule admits."""
    cost = cost or CostModel()
    found = list(allocations(problem))
    if rule == "most-gpus":
        most = max(used for _, used in found)
        found = [(c, u) for c, u in found if u == most]
    elif rule == "maximal":
        found = [(c, u) for c, u in found if _maximal(problem, c)]
    return min(exact(problem, choice, cost) for choice, _ in found)


def _maximal(problem: RoundProblem, choice) -> bool:
    left = [g.count for g in problem.gpu_types]
    for job, i in zip(problem.jobs, choice):
        if i is not None:
            left[i] -= job.demand
    return not any(
        i is None and any(x is not None and job.demand <= left[k] for k, x in enumerate(job.throughput))
        for job, i in zip(problem.jobs, choice)
    )
