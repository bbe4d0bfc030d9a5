"""Midpoints and weight splits for the exact checks, found in floating point and then made exact.

For documents the solver ``midpoint-lp`` is asked; for tasks with their own times on every GPU (which
that solver cannot read) a small linear program with lazily added load inequalities is solved here.
Nothing found here is believed: the exact checks repair the midpoints and re-evaluate the split.

Complexity: one linear program a round of cuts, each O(tasks) rows at most; meant for up to a few
hundred different tasks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from hetopt.analysis.certify.midpoint.points import Point, lp_inequalities, repaired, split_bound
from hetopt.analysis.certify.midpoint.tasks import TaskProblem
from hetopt.core.errors import NoSolutionError
from hetopt.core.instance import Instance
from hetopt.core.solver import Limits
from hetopt.solvers.run import run, was_interrupted

__all__ = ["LpEvidence", "exact_evidence", "levelled", "midpoints_of_instance", "midpoints_of_tasks"]

_TOLERANCE = 1e-9
_GRID = 1 << 20


@dataclass(frozen=True)
class LpEvidence:
    """An exact LP point, a split that proves a lower bound, and the problem (perhaps with a finer unit).

    ``optimal`` is True where both values agree exactly: then they are the value of the LP.
    """

    problem: TaskProblem
    point: Point
    split: tuple[Fraction, ...]
    value: Fraction
    lower_bound: Fraction

    @property
    def optimal(self) -> bool:
        """Whether the LP value is known exactly."""
        return self.value == self.lower_bound


def midpoints_of_instance(
    instance: Instance, *, time_limit: float | None = None, seed: int = 0
) -> tuple[list[float], list[Fraction]]:
    """Midpoint and part of the weight of every task, from the solver ``midpoint-lp``.

    Raises
    ------
    NoSolutionError
        The time limit left no midpoints.
    KeyboardInterrupt
        The user stopped the solver: what would follow is not what was asked for.
    """
    result = run("midpoint-lp", instance, limits=Limits(time=time_limit), seed=seed)
    if was_interrupted(result):
        raise KeyboardInterrupt
    a = instance.arrays
    found = result.extra.get("midpoint")
    if found is None:
        raise NoSolutionError(f"midpoint-lp gave no midpoints ({result.stop_reason}); allow more time")
    midpoint = np.repeat(np.asarray(found, dtype=np.float64), a.scale).tolist()
    split = [Fraction(0)] * a.num_tasks
    certificate = result.certificate
    if certificate is not None:
        data = certificate.data
        density = [n for row in data["families"][0]["density"] for n in row]
        q = a.min_processing_time.tolist()
        for g, n in enumerate(density):
            for i in range(int(a.task_start[g]), int(a.task_start[g + 1])):
                split[i] = Fraction(int(n) * q[g], int(data["denominator"]))
    return midpoint, split


def midpoints_of_tasks(problem: TaskProblem, *, max_rounds: int = 200) -> tuple[list[float], list[float]]:
    """Midpoint (ticks) and part of the weight of every task, by linear programming with lazy cuts."""
    groups: dict[tuple[int, int, int, int], list[int]] = {}
    for i in range(problem.num_tasks):
        key = (problem.job[i], problem.round[i], problem.shortest[i], problem.shortest_sync[i])
        groups.setdefault(key, []).append(i)
    keys, members = list(groups), list(groups.values())
    index = {i: g for g, tasks in enumerate(members) for i in tasks}
    unit, count, jobs = problem.unit, len(keys), problem.num_jobs
    q = np.array([key[2] / unit for key in keys])
    sigma = np.array([key[3] / unit for key in keys])
    load = q * np.array([len(tasks) for tasks in members])
    rows: list[tuple[list[int], list[float], float]] = []  # sum of coefficient x variable <= right-hand side
    lower = np.zeros(count + jobs)
    for n, rounds in enumerate(problem.rounds):
        of_round = [sorted({index[i] for i in tasks}) for tasks in rounds]
        for g in of_round[0]:
            lower[g] = problem.release[n] / unit + q[g] / 2
        for before, after in pairwise(of_round):
            rows += [([g, k], [1.0, -1.0], -(q[g] / 2 + sigma[g] + q[k] / 2)) for g in before for k in after]
        rows += [([g, count + n], [1.0, -1.0], -(q[g] / 2 + sigma[g])) for g in of_round[-1]]
    fixed = len(rows)
    weight = np.array([float(w) for w in problem.weight])
    cost = np.concatenate((np.zeros(count), weight / weight.max()))
    cuts: set[tuple[int, ...]] = set()

    def add(order: NDArray[np.int64], most: int, point: NDArray[np.float64] | None) -> int:
        total = np.cumsum(load[order])
        if point is None:
            lack = np.ones(count)
        else:
            lack = (total / 2 / problem.num_gpus - np.cumsum(load[order] * point[order]) / total) / total[-1]
        added = 0
        for place in np.argsort(-lack, kind="stable")[:most]:
            if lack[place] <= _TOLERANCE:
                break
            chosen = tuple(sorted(order[: place + 1].tolist()))
            if chosen in cuts:
                continue
            cuts.add(chosen)
            size = float(total[place])
            rows.append((list(chosen), [-float(load[g]) / size for g in chosen], -size / 2 / problem.num_gpus))
            added += 1
        return added

    everything = np.arange(count)
    solve: Any = linprog  # its stubs know neither sparse matrices nor these options
    add(everything, 1, None)
    result: Any = None
    for _ in range(max_rounds):
        data = [(r, c, v) for r, (columns, values, _) in enumerate(rows) for c, v in zip(columns, values, strict=True)]
        r, c, v = (np.array(column) for column in zip(*data, strict=True))
        matrix = coo_matrix((v, (r, c)), shape=(len(rows), count + jobs)).tocsr()
        bounds = np.column_stack((lower, np.full(count + jobs, np.inf)))
        options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        result = solve(cost, A_ub=matrix, b_ub=[row[2] for row in rows], bounds=bounds, method="highs", options=options)
        if result.x is None:
            raise NoSolutionError(f"the midpoint LP was not solved: {result.message}")
        h = result.x[:count]
        if not add(np.lexsort((everything, h)), 20, h):
            break
    h = result.x[:count]
    prices = -np.asarray(result.ineqlin.marginals) * weight.max()
    part = np.zeros(count)
    for row in range(fixed, len(prices)):
        columns, values, _ = rows[row]
        part[columns] -= max(0.0, prices[row]) * np.array(values)
    midpoint, split = [0.0] * problem.num_tasks, [0.0] * problem.num_tasks
    for g, tasks in enumerate(members):
        for i in tasks:
            midpoint[i], split[i] = float(h[g]), float(part[g]) / len(tasks)
    return midpoint, split


def levelled(problem: TaskProblem, midpoint: Sequence[float]) -> list[Fraction]:
    """Exact midpoints (ticks) that a vertex near ``midpoint`` would have.

    Midpoints within 1e-6 of a whole number of units are taken as that; runs of equal ones that are
    not are lifted to where the tightest load inequality (over prefixes with no other unknown run)
    holds with equality.
    """
    unit, q = problem.unit, problem.shortest
    order = sorted(range(problem.num_tasks), key=lambda i: midpoint[i])
    known = [abs(round(midpoint[i] * unit) - midpoint[i] * unit) <= 1e-6 * unit for i in order]
    level = [Fraction(round(midpoint[i] * unit)) for i in order]
    at = total = 0
    moment = Fraction(0)
    while at < len(order):
        stop = at + 1
        if not known[at]:
            close = midpoint[order[at]] + 1e-6 * max(1.0, midpoint[order[at]])
            while stop < len(order) and not known[stop] and midpoint[order[stop]] <= close:
                stop += 1
            block = sum(q[i] for i in order[at:stop])
            inside, others = total + block, moment
            best = (Fraction(inside * inside, 2 * problem.num_gpus) - others) / block
            for place in range(stop, len(order)):
                if not known[place]:
                    break
                inside += q[order[place]]
                others += q[order[place]] * level[place]
                best = max(best, (Fraction(inside * inside, 2 * problem.num_gpus) - others) / block)
            level[at:stop] = [best] * (stop - at)
        for place in range(at, stop):
            total += q[order[place]]
            moment += q[order[place]] * level[place]
        at = stop
    out = [Fraction(0)] * problem.num_tasks
    for i, value in zip(order, level, strict=True):
        out[i] = value / unit
    return out


def _feasible(problem: TaskProblem, exact: Sequence[Fraction]) -> tuple[TaskProblem, Point] | None:
    scale = math.lcm(*(x.denominator for x in exact))
    if scale > _GRID << 20:
        return None
    fine = problem.refined(scale // math.gcd(scale, problem.unit))
    h = tuple(int(x * fine.unit) for x in exact)
    q, sigma = fine.shortest, fine.shortest_sync
    done = tuple(max(h[i] + q[i] // 2 + sigma[i] for i in rounds[-1]) for rounds in fine.rounds)
    point = Point(h, done)
    if all(item.holds for item in lp_inequalities(fine, point, fine.num_gpus)):
        return fine, point
    return None


def exact_evidence(
    problem: TaskProblem, midpoint: Sequence[float | Fraction], split: Sequence[float | Fraction]
) -> LpEvidence:
    """The best exact point and split near the given ones."""
    choices: list[tuple[TaskProblem, Point]] = []
    if all(isinstance(x, Fraction) for x in midpoint):
        found = _feasible(problem, [Fraction(x) for x in midpoint])
    else:
        found = _feasible(problem, levelled(problem, [float(x) for x in midpoint]))
    if found is not None:
        choices.append(found)
    fine = problem.refined(_GRID)
    choices.append((fine, repaired(fine, list(midpoint), Fraction(problem.num_gpus))))
    problem, point = min(choices, key=lambda item: item[0].value(item[1].completion))
    bound, exact = max(
        ((split_bound(problem, parts, Fraction(problem.num_gpus)), parts) for parts in _splits(problem, split)),
        key=lambda item: item[0],
    )
    return LpEvidence(problem, point, exact, problem.value(point.completion), bound)


def _splits(problem: TaskProblem, split: Sequence[float | Fraction]) -> list[tuple[Fraction, ...]]:
    """Candidates: as given (rounded to a grid), with simple densities c/q, and the critical paths alone."""
    q = problem.shortest

    def within(parts: list[Fraction]) -> tuple[Fraction, ...]:
        used = [Fraction(0)] * problem.num_jobs
        for i, c in enumerate(parts):
            used[problem.job[i]] += c
        shrink = [min(Fraction(1), w / u) if u else Fraction(1) for w, u in zip(problem.weight, used, strict=True)]
        return tuple(c * shrink[problem.job[i]] for i, c in enumerate(parts))

    known = [max(Fraction(0), Fraction(c)) for c in split]
    out = [tuple([Fraction(0)] * problem.num_tasks)]
    if all(isinstance(c, Fraction) for c in split):
        return [*out, within(known)]
    grid = 1 << 50
    out.append(within([Fraction(math.floor(c * grid), grid) for c in known]))
    for limit in (10**4, 10**6, 10**8):
        density = [(c * problem.unit / q[i]).limit_denominator(limit) for i, c in enumerate(known)]
        out.append(within([d * q[i] / problem.unit for i, d in enumerate(density)]))
    return out
