r"""The midpoint LP to optimality: cutting planes over completion times (HiGHS).

Reduction.  Given completion times C, raising every midpoint to :math:`H_g = C_{n(g)} - \mathrm{tail}_g` (as late as its
job allows) keeps every constraint of the LP: chains and releases hold because C_n >= path_n, loads because they only
bound H from below.  So the LP is

.. math:: \min \sum_n w_n C_n \quad C_n \ge \mathrm{path}_n, \quad
   \sum_{g \in S} P_g (C_{n(g)} - \mathrm{tail}_g) \ge \tfrac12 P(S)^2 \;\; \text{for every } S,

with one variable a *job*.  Cuts are separated by sorting H (``hetopt.models.cuts.load``), at the optimum of the current
relaxation and at points between it and the best feasible point known (in-out separation), which is moved by line search.  The
multipliers y_S of the cuts are a split: the density of g is the sum of y_S over the sets S that contain g.

Ends when the relaxation's value and that of the feasible point agree to 1e-9 relative, or no cut is deeper than
1e-9 ticks.  Finite (finitely many sets), no polynomial bound is claimed.

References
----------
W. Ben-Ameur, J. Neto, "Acceleration of cutting-plane and column generation algorithms", Networks 49 (2007): in-out separation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hetopt.models._native import load_highspy
from hetopt.models.cuts.load import prefix_violations
from hetopt.solvers.relaxations._splitting import Game

__all__ = ["CuttingPlane", "exact_densities", "solve_cutting"]

Floats = NDArray[np.float64]
_BETWEEN: Final = (1.0, 0.5, 0.2)
_PER_POINT: Final = 60
_TOLERANCE: Final = 1e-9


@dataclass(frozen=True, eq=False)
class CuttingPlane:
    """Result of the cutting-plane method.

    Attributes
    ----------
    completion : (N,) float64
        Feasible completion times (of the LP), ticks.
    density : (R,) float64
        Sum of the multipliers of the cuts that contain g, per unit of *normalised* work.
    lower, upper
        Value of the relaxation; value of ``completion``.
    optimal
        Whether they agree to 1e-9 relative.
    rounds, cuts
        LPs solved; cuts added.
    active
        Member arrays of the cuts with a positive multiplier.
    """

    completion: Floats
    density: Floats
    lower: float
    upper: float
    optimal: bool
    rounds: int
    cuts: int
    active: tuple[NDArray[np.int64], ...]


def solve_cutting(game: Game, start: Floats, *, stop: Callable[[], bool], most_rounds: int = 2000) -> CuttingPlane:
    """Solve the LP over completion times.

    Parameters
    ----------
    game
        Data, works normalised to capacity 1.
    start : (N,) float64
        Feasible completion times (for example from averaged midpoints).
    stop
        Asked before every LP.
    """
    highspy = load_highspy()
    lp = highspy.Highs()
    for option, setting in (
        ("output_flag", False),
        ("primal_feasibility_tolerance", 1e-10),
        ("dual_feasibility_tolerance", 1e-10),
        ("threads", 1),
    ):
        lp.setOptionValue(option, setting)
    jobs = len(game.path)
    # times in units of the horizon and weights in units of the largest keep the tolerances relative
    unit = max(float(game.work.sum()), float(game.path.max()))
    top = float(game.weight.max())
    work, tail, path, weight = game.work / unit, game.tail / unit, game.path / unit, game.weight / top
    lp.addVars(jobs, path, np.full(jobs, highspy.kHighsInf))
    lp.changeColsCost(jobs, np.arange(jobs, dtype=np.int32), weight)
    inner = np.maximum(start / unit, path)
    members: list[NDArray[np.int64]] = []
    scales: list[float] = []
    rounds = 0
    lower, multiplier = -np.inf, np.zeros(0)

    def deepest(point: Floats) -> float:
        return float(prefix_violations(point[game.job] - tail, work, 1.0).depth.max())

    inner = inner + max(deepest(inner), 0.0)
    while True:
        lp.run()
        rounds += 1
        if lp.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            break  # numerical trouble: what is known so far stays valid
        solution = lp.getSolution()
        outer = np.array(solution.col_value)
        lower = float(weight @ outer)
        multiplier = np.array(solution.row_dual)
        depth = deepest(outer)
        repaired = outer + max(depth, 0.0)
        if weight @ repaired < weight @ inner:
            inner = repaired
        upper = float(weight @ inner)
        if upper - lower <= _TOLERANCE * abs(upper) or rounds >= most_rounds or stop():
            break
        added = 0
        seen: set[tuple[int, float]] = set()
        for share in _BETWEEN:
            point = share * outer + (1.0 - share) * inner
            found = prefix_violations(point[game.job] - tail, work, 1.0)
            peaks = found.peaks()
            for i in peaks[np.argsort(-found.depth[peaks], kind="stable")[:_PER_POINT]].tolist():
                key = (i, float(found.work[i]))
                if key in seen:
                    continue
                seen.add(key)
                inside = found.order[: i + 1]
                row = np.bincount(game.job[inside], work[inside], jobs)
                right = 0.5 * found.work[i] ** 2 + float(work[inside] @ tail[inside])
                if row @ outer >= right - 1e-13 * found.work[i]:
                    continue
                used = np.flatnonzero(row)
                scale = 1.0 / float(found.work[i])
                lp.addRow(right * scale, highspy.kHighsInf, len(used), used.astype(np.int32), row[used] * scale)
                members.append(np.sort(inside))
                scales.append(scale)
                added += 1
        if not added:
            break
        inner = _advance(inner, outer, deepest)
    upper = float(weight @ inner)
    density = np.zeros_like(work)
    active = []
    for y, scale, inside in zip(multiplier.tolist(), scales, members, strict=False):
        if y > 0:
            # y belongs to the scaled row; in ticks and true weights its work is unit x larger
            density[inside] += y * scale * top / unit
            active.append(inside)
    return CuttingPlane(
        completion=inner * unit,
        density=density,
        lower=lower * unit * top,
        upper=upper * unit * top,
        optimal=upper - lower <= _TOLERANCE * abs(upper),
        rounds=rounds,
        cuts=len(members),
        active=tuple(active),
    )


def _advance(inner: Floats, outer: Floats, deepest: Callable[[Floats], float]) -> Floats:
    """The furthest feasible point (found by bisection) on the way from inner to outer."""
    low, high = 0.0, 1.0
    for _ in range(8):
        middle = 0.5 * (low + high)
        if deepest(middle * outer + (1.0 - middle) * inner) <= 1e-15:
            low = middle
        else:
            high = middle
    return low * outer + (1.0 - low) * inner


def exact_densities(
    active: tuple[NDArray[np.int64], ...],
    work: list[int],
    job: list[int],
    weight: list[int],
    tight: list[bool],
    most: int = 40,
) -> list[Fraction] | None:
    """Exact multipliers of the active cuts as densities (R,), or None where they are not determined.

    Dual basis: for every job whose completion time is above its path (``tight`` False) the works of the cuts take up
    its whole weight, sum over S of y_S P_n(S) = w_n.
    """
    rows = [n for n in range(len(weight)) if not tight[n]]
    if not active or len(active) != len(rows) or len(rows) > most:
        return None
    matrix = [[Fraction(0)] * len(active) + [Fraction(weight[n])] for n in rows]
    place = {n: i for i, n in enumerate(rows)}
    for column, inside in enumerate(active):
        for g in inside.tolist():
            if job[g] in place:
                matrix[place[job[g]]][column] += work[g]
    size = len(rows)
    for column in range(size):
        pivot = next((i for i in range(column, size) if matrix[i][column]), None)
        if pivot is None:
            return None
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        head = matrix[column]
        for i in range(size):
            if i != column and matrix[i][column]:
                factor = matrix[i][column] / head[column]
                matrix[i] = [x - factor * y for x, y in zip(matrix[i], head, strict=True)]
    values = [matrix[i][size] / matrix[i][i] for i in range(size)]
    if min(values) < 0:
        return None
    density = [Fraction(0)] * len(work)
    for y, inside in zip(values, active, strict=True):
        for g in inside.tolist():
            density[g] += y
    return density
