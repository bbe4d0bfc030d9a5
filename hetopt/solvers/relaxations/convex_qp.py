"""A convex quadratic relaxation for unrelated machines (solver ``convex-qp``).

Problem and proof: ``hetopt.models.clairvoyant.convex_qp``.  For a split of the jobs' weights over their path and their rounds the
program knows which type every task runs on, which the midpoint LPs do not; Clarabel solves it through cvxpy.  The split is
that of the strengthened midpoint LP, then improved by a few steps of multiplicative weights against the midpoints
of the program's solution (its value is concave in the split, the midpoints are a supergradient).

The bound does not trust the solver: a convex quadratic lies above its tangent at the (rounded) solution, and the
tangent is minimised round by round, in whole numbers.  An error of size eps in the point costs order eps^2.

Guarantee: no ratio for rounds in chains is known; for single-task jobs without sync and releases Skutella's analysis
(factor 2, Theorem 3.4 there) uses a program of this kind with the linear lower bounds inside it.
Complexity: a QP with R x intervals x K variables and as many sparse rows a step; the exact evaluation is O(R K I log R).

References
----------
M. Skutella, "Convex quadratic and semidefinite programming relaxations in scheduling", Journal of the ACM 48 (2001).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.certificate import Bound, Certificate
from hetopt.core.instance import Instance
from hetopt.core.objectives import offset
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Exclusions, Limits, Observer, Outcome
from hetopt.core.status import Capability, Objective, SolverKind, Status, StopReason, Trust
from hetopt.models.clairvoyant.convex_qp import build_convex_qp
from hetopt.models.clairvoyant.round_terms import Terms, task_work
from hetopt.solvers.relaxations._evidence import Split, round_split
from hetopt.solvers.relaxations.midpoint_lp import COMPLETION, Clock
from hetopt.solvers.relaxations.midpoint_lp_strong import solve_midpoint_lp_strong

__all__ = ["ConvexQpBound", "Tangent", "evaluate_tangent"]

Floats = NDArray[np.float64]
_POINT: Final = 2**20
_PRICE: Final = 2**20


@dataclass(frozen=True, eq=False)
class Tangent:
    """Evidence: where the tangent is taken.

    Attributes
    ----------
    density : (R,) int64
        n_g over ``denominator`` (prices 1).
    starts
        Interval starts.
    point : (R, I, K) int64
        y over 2^20.
    capacity_prices : (I, K) int64
        lambda over 2^20.
    """

    denominator: int
    density: NDArray[Any]
    starts: tuple[int, ...]
    point: NDArray[np.int64]
    capacity_prices: NDArray[np.int64]


def evaluate_tangent(instance: Instance, terms: Terms, tangent: Tangent) -> Fraction:
    """Exact bound on the total weighted completion time."""
    a = instance.arrays
    unit = tangent.denominator
    q = a.min_processing_time.tolist()
    part = [n * x for n, x in zip(tangent.density.tolist(), q, strict=True)]  # v_g x D
    scale, job = a.scale.tolist(), a.round_job.tolist()
    rest = [int(w) * unit for w in a.weight.tolist()]
    later = 0
    for g, v in enumerate(part):
        rest[job[g]] -= v * scale[g]
        later += v * scale[g] * int(terms.later[g])
    assert min(rest) >= 0
    path = sum(c * int(x) for c, x in zip(rest, terms.path.tolist(), strict=True))
    members = [g for g, v in enumerate(part) if v]
    gpus = a.gpu_count.tolist()
    common = math.lcm(*gpus)
    # everything below in units of 1 / (2 D E F lcm(G)): E of the point, F of the capacity prices
    least: dict[int, int] = {}
    quadratic = 0
    first = (np.searchsorted(np.array(tangent.starts), terms.head, side="right") - 1).tolist()
    for layer, start in enumerate(tangent.starts):
        for k, count in enumerate(gpus):
            here = [g for g in members if first[g] <= layer and a.allowed[g, k]]
            p = {g: int(a.processing_time[g, k]) for g in here}
            y = dict(zip(here, tangent.point[here, layer, k].tolist(), strict=True)) if here else {}
            price = int(tangent.capacity_prices[layer, k])
            for g, pressure in _pressures(here, part, p, y).items():
                sync2 = p[g] + 2 * int(a.sync_time[g, k]) + 2 * start
                gradient = part[g] * sync2 * _POINT * _PRICE * common
                gradient += 2 * pressure * _PRICE * (common // count)
                gradient += 2 * price * p[g] * unit * _POINT * common
                least[g] = min(least.get(g, gradient), gradient)
                quadratic += y[g] * pressure * (common // count)
    scales = 2 * unit * _POINT * _PRICE * common
    value = Fraction(path + later, unit)
    value += Fraction(sum(scale[g] * x for g, x in least.items()), scales)
    value -= Fraction(quadratic, 2 * unit * _POINT**2 * common)
    for layer in range(len(tangent.starts) - 1):
        length = tangent.starts[layer + 1] - tangent.starts[layer]
        value -= Fraction(int(tangent.capacity_prices[layer] @ a.gpu_count) * length, _PRICE)
    return value


def _pressures(here: list[int], part: list[int], p: dict[int, int], y: dict[int, int]) -> dict[int, int]:
    """Sum over h of min(v_g p_h, v_h p_g) y_h for each g, by sorting the ratios v / p (exactly)."""
    ratio = {g: Fraction(part[g], p[g]) for g in here}
    order = sorted(here, key=lambda g: (-ratio[g], g))
    ahead = 0
    behind = sum(part[g] * y[g] for g in here)
    out = {}
    for g in order:  # equal ratios give equal terms on either side
        ahead += p[g] * y[g]
        behind -= part[g] * y[g]
        out[g] = part[g] * ahead + p[g] * behind
    return out


def _intervals(terms: Terms, part: Floats, most: int) -> tuple[int, ...]:
    heads = np.sort(terms.head[part > 0])
    if not len(heads):
        return (0,)
    at = np.unique(np.linspace(0, len(heads) - 1, most + 1).astype(np.int64)[:-1])
    return tuple(np.unique(np.concatenate((heads[:1], heads[at]))).tolist())


def _midpoints(instance: Instance, starts: tuple[int, ...], part: Floats, point: Floats) -> Floats:
    """Mean time of work plus p/2 + s of each round in the solution, (R,): the supergradient of the value in the split."""
    a = instance.arrays
    p = a.processing_time.astype(np.float64)
    total = np.zeros(a.num_rounds)
    for layer, start in enumerate(starts):
        for k in range(a.num_types):
            y = point[:, layer, k]
            order = np.argsort(-np.where(a.allowed[:, k], part / np.maximum(p[:, k], 1.0), -1.0), kind="stable")
            work = (p[:, k] * y)[order]
            middle = np.empty_like(work)
            middle[order] = np.cumsum(work) - work / 2
            total += y * (start + middle / a.gpu_count[k] + p[:, k] / 2 + a.sync_time[:, k])
    out: Floats = total / a.scale
    return out


@dataclass(frozen=True)
class ConvexQpBound:
    """Solver ``convex-qp``.

    Parameters
    ----------
    steps
        Splits tried (the unit of the work limit).
    intervals
        Intervals of time, at most; more than one matters where heads differ.
    size
        Variables of a program, about: larger instances get fewer intervals, and fewer steps (four times this over all).
    max_rounds
        Above so many rounds nothing is computed.
    """

    name: ClassVar[str] = "convex-qp"
    kind: ClassVar[SolverKind] = SolverKind.RELAXATION
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.LOWER_BOUND, Capability.CERTIFICATE, Capability.DETERMINISTIC, Capability.ANYTIME}
    )
    objectives: ClassVar[frozenset[Objective]] = COMPLETION

    steps: int = 8
    intervals: int = 4
    size: int = 6000
    max_rounds: int = 5000

    def __post_init__(self) -> None:
        for name in ("steps", "intervals", "size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)}: a whole number >= 1 is needed")

    def solve(
        self,
        problem: Instance,
        *,
        objective: Objective = Objective.TOTAL_WEIGHTED_COMPLETION,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        seed: int = 0,
        incumbent: Schedule | None = None,
        bound: Bound | None = None,
        exclusions: Exclusions | None = None,
        observer: Observer | None = None,
    ) -> Outcome:
        """Bound with its tangent."""
        clock = Clock(limits, observer, 1e-3 * problem.num_rounds * self.intervals / 4)
        columns = problem.num_rounds * len(problem.gpu_types)
        if problem.num_rounds > self.max_rounds:
            note = f"not computed: {problem.num_rounds} rounds are above max_rounds ({self.max_rounds})"
            return Outcome(Status.UNKNOWN, StopReason.EXHAUSTED, work=0, message=note)
        share = Limits(None if limits.time is None else limits.time * 0.3, None, limits.threads)
        strong = solve_midpoint_lp_strong(problem, max_iterations=60, exact_rounds=200, limits=share, observer=observer)
        terms = strong.terms
        start = _merged(problem, strong.split)
        most = self.steps if limits.work is None else max(1, min(self.steps, limits.work))
        intervals = max(1, min(self.intervals, self.size // columns))
        most = max(1, min(most, 4 * self.size // (columns * intervals)))
        best, done, troubles = _improve(problem, terms, start, most, intervals, clock)
        value, tangent = best
        certificate = Certificate(self.name, value, problem.fingerprint, _data(problem, tangent))
        note = f"{done} splits, {len(tangent.starts)} intervals"
        return Outcome(
            status=Status.UNKNOWN,
            stop_reason=clock.reason or StopReason.EXHAUSTED,
            bound=Bound(value, self.name, Trust.DERIVED, certificate).shifted(offset(problem, objective)),
            work=done,
            message=note + (f"; {troubles}" if troubles else ""),
            solver_version="clarabel",
        )


def _merged(instance: Instance, split: Split) -> Floats:
    """Part of the weight of each round over all families, (R,)."""
    total = np.zeros(instance.num_rounds)
    for family in split.families:
        work = instance.arrays.scale * task_work(instance, family.prices)
        total += family.density.astype(np.float64) * work / split.denominator
    return total


def _improve(
    instance: Instance, terms: Terms, share: Floats, most: int, intervals: int, clock: Clock
) -> tuple[tuple[Fraction, Tangent], int, str]:
    a = instance.arrays
    weight = a.weight.astype(np.float64)
    ones = (1,) * a.num_types
    work = a.scale * a.min_processing_time
    begin = a.round_start[:-1]
    best: tuple[Fraction, Tangent] | None = None
    trouble, done = "", 0
    for step in range(1, most + 1):
        split = round_split(instance, [(ones, False, False, share / work)])
        density = split.families[0].density
        part = density.astype(np.float64) * a.min_processing_time / split.denominator
        starts = _intervals(terms, part, intervals)
        point, prices, said = _solved(instance, terms, part, starts, clock)
        trouble = said or trouble
        tangent = Tangent(
            split.denominator,
            density,
            starts,
            np.rint(point * _POINT).astype(np.int64),
            np.rint(prices * _PRICE).astype(np.int64),
        )
        value = evaluate_tangent(instance, terms, tangent)
        done = step
        if best is None or value > best[0]:
            best = (value, tangent)
        if clock() or said or not part.any():
            break
        late = _midpoints(instance, starts, part, point) + terms.later
        late = np.where(part > 0, late, -np.inf)
        top = np.maximum(np.maximum.reduceat(late, begin), terms.path)
        rate = 2.0 / np.sqrt(step)
        rounds = share * np.exp(rate * np.where(part > 0, (late - top[a.round_job]) / top[a.round_job], 0.0))
        rest = np.maximum(weight - np.add.reduceat(share, begin), 1e-3 * weight)
        paths = rest * np.exp(rate * (terms.path - top) / top)
        total = np.add.reduceat(rounds, begin) + paths
        share = rounds * (weight / total)[a.round_job]
    assert best is not None
    return best, done, trouble


def _solved(
    instance: Instance, terms: Terms, part: Floats, starts: tuple[int, ...], clock: Clock
) -> tuple[Floats, Floats, str]:
    """A point (R, I, K), capacity prices (I, K), and what went wrong, if anything."""
    a = instance.arrays
    shape = (a.num_rounds, len(starts), a.num_types)
    fallback = np.zeros(shape)
    if not part.any():
        return fallback, np.zeros(shape[1:]), ""
    # before anything is solved: all work on its fastest type in the last interval
    fastest = np.where(a.allowed, a.processing_time, np.iinfo(np.int64).max).argmin(axis=1)
    fallback[np.arange(a.num_rounds), len(starts) - 1, fastest] = np.where(part > 0, a.scale, 0)
    options: dict[str, Any] = {"tol_gap_abs": 1e-6, "tol_gap_rel": 1e-6, "tol_feas": 1e-6}
    late = fallback, np.zeros(shape[1:]), "no time left for the quadratic program"
    left = clock.left()
    if left is not None and left <= 0.5:
        return late
    built = build_convex_qp(instance, part, terms.head, starts)
    left = clock.left()  # building loads cvxpy the first time
    if left is not None:
        if left <= 0.1:
            return late
        options["time_limit"] = 0.6 * left  # cvxpy's own compilation comes on top
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an inaccurate solution is as good a tangent point as any
            built.problem.solve(solver="CLARABEL", **options)
    except Exception as error:  # cvxpy raises its own SolverError; the fallback point proves a bound
        if type(error).__name__ != "SolverError":
            raise
        return fallback, np.zeros(shape[1:]), "Clarabel gave up"
    point = built.point()
    if point is None:
        return fallback, np.zeros(shape[1:]), f"Clarabel says {built.problem.status}"
    return point, built.capacity_prices(), ""


def _data(instance: Instance, tangent: Tangent) -> dict[str, Any]:
    starts = instance.arrays.round_start.tolist()
    density, point = tangent.density.tolist(), tangent.point.tolist()
    spans = [slice(starts[n], starts[n + 1]) for n in range(instance.num_jobs)]
    return {
        "tail": "round",
        "denominator": tangent.denominator,
        "density": [density[span] for span in spans],
        "starts": list(tangent.starts),
        "point_denominator": _POINT,
        "point": [point[span] for span in spans],
        "price_denominator": _PRICE,
        "capacity_prices": tangent.capacity_prices[:-1].tolist(),
    }
