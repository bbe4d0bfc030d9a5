r"""The midpoint LP to optimality: cutting planes over completion times (HiGHS).

Reduction.  Given completion times C, raising every midpoint to :math:`H_g = C_{n(g)} - \mathrm{tail}_g` (as late as its
job allows) keeps every constraint of the LP: chains and releases hold because C_n >= path_n, loads because they only
bound H from below.  So the LP is

.. math:: \min \sum_n w_n C_n \quad C_n \ge \mathrm{path}_n, \quad
   \sum_{g \in S} P_g (C_{n(g)} - \mathrm{tail}_g) \ge \tfrac12 P(S)^2 \;\; \text{for every } S,

with one variable a *job*.  Cuts are separated by sorting H (``hetopt.models.cuts.load``), at the optimum of the current
relaxation and at points between it and the best feasible point known (in-out separation), which is moved by line search.  The
multipliers y_S of the cuts are a split: the density of g is the sum of y_S over the sets S that contain g.

The same reduction holds for the strengthened inequalities, as they bound midpoints from below only: several load
families (prices), and release-strengthened ones, :math:`\sum_S P_g (H_g - t) \ge P(S)^2 / 2` for S among the rounds
with head at least t.

Ends when the relaxation's value and that of the feasible point agree to 1e-9 relative, or no cut is deeper than
1e-9 ticks.  Finite (finitely many sets), no polynomial bound is claimed.

References
----------
W. Ben-Ameur, J. Neto, "Acceleration of cutting-plane and column generation algorithms", Networks 49 (2007): in-out separation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.models._native import load_highspy
from hetopt.models.cuts.load import prefix_violations
from hetopt.solvers.relaxations._splitting import Game

__all__ = ["CuttingPlane", "Load", "exact_densities", "solve_cutting"]

Floats = NDArray[np.float64]
_BETWEEN: Final = (1.0, 0.5, 0.2)
_PER_POINT: Final = 60
_TOLERANCE: Final = 1e-9


@dataclass(frozen=True, eq=False)
class Load:
    """One family of load inequalities.

    Attributes
    ----------
    work : (R,) float64
        Work of each round over the capacity.
    head : (R,) int64, optional
        Heads, for release-strengthened inequalities.
    thresholds
        How many of their values are used, at most (spread over the order of the heads).
    """

    work: Floats
    head: NDArray[np.int64] | None = None
    thresholds: int = 64

    @cached_property
    def layers(self) -> list[tuple[float, NDArray[np.int64]]]:
        """(t, rounds with head >= t), t rising; one layer at 0 without heads."""
        if self.head is None:
            return [(0.0, np.arange(len(self.work)))]
        values = np.unique(self.head)
        if len(values) > self.thresholds:
            values = values[np.unique(np.linspace(0, len(values) - 1, self.thresholds).astype(np.int64))]
        return [(float(t), np.flatnonzero(self.head >= t)) for t in values.tolist()]


@dataclass(frozen=True, eq=False)
class CuttingPlane:
    """Result of the cutting-plane method.

    Attributes
    ----------
    completion : (N,) float64
        Feasible completion times (of the LP), ticks.
    densities : one (R,) float64 per load family
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
    densities: tuple[Floats, ...]
    lower: float
    upper: float
    optimal: bool
    rounds: int
    cuts: int
    active: tuple[NDArray[np.int64], ...]


class _Separator:
    """Finds violated cuts; times in units of the horizon."""

    def __init__(self, game: Game, loads: Sequence[Load], unit: float) -> None:
        self.job = game.job
        self.jobs = len(game.path)
        self.tail = game.tail / unit
        self.layers: list[tuple[int, float, NDArray[np.int64], Floats]] = [
            (f, t / unit, inside, load.work[inside] / unit) for f, load in enumerate(loads) for t, inside in load.layers
        ]

    def deepest(self, completion: Floats) -> float:
        """Largest violation over work."""
        midpoint = completion[self.job] - self.tail
        return max(
            float(prefix_violations(midpoint[inside] - t, work, 1.0).depth.max()) for _, t, inside, work in self.layers
        )

    def cuts(self, point: Floats) -> list[tuple[float, int, Floats, float, NDArray[np.int64], float]]:
        """(depth, family, row, right, members, work) of the locally deepest cuts at a point, deepest first."""
        midpoint = point[self.job] - self.tail
        found: list[tuple[float, int, int, float, NDArray[np.int64], float]] = []
        for layer, (_, t, inside, work) in enumerate(self.layers):
            prefixes = prefix_violations(midpoint[inside] - t, work, 1.0)
            depth = prefixes.depth
            for i in prefixes.peaks().tolist():
                found.append((float(depth[i]), layer, i, t, prefixes.order[: i + 1], float(prefixes.work[i])))
        found.sort(key=lambda cut: -cut[0])
        out = []
        for depth_, layer, _, t, order, total in found[:_PER_POINT]:
            family, _, inside, work = self.layers[layer]
            members, part = inside[order], work[order]
            row = np.bincount(self.job[members], part, self.jobs).astype(np.float64)
            right = 0.5 * total**2 + float(part @ self.tail[members]) + t * total
            out.append((depth_, family, row, right, np.sort(members), total))
        return out


def solve_cutting(
    game: Game, loads: Sequence[Load], start: Floats, *, stop: Callable[[], bool], most_rounds: int = 2000
) -> CuttingPlane:
    """Solve the LP over completion times.

    Parameters
    ----------
    game
        Tails, paths and weights (its ``work`` is not used).
    loads
        Families of load inequalities.
    start : (N,) float64
        Completion times to start from (for example those of averaged midpoints); need not be feasible.
    stop
        Asked before every LP.
    """
    highspy = load_highspy()
    lp = highspy.Highs()
    settings: tuple[tuple[str, Any], ...] = (
        ("output_flag", False),
        ("primal_feasibility_tolerance", 1e-10),
        ("dual_feasibility_tolerance", 1e-10),
        ("threads", 1),
    )
    for option, setting in settings:
        lp.setOptionValue(option, setting)
    jobs = len(game.path)
    # times in units of the horizon and weights in units of the largest keep the tolerances relative
    unit = max(max(float(load.work.sum()) for load in loads), float(game.path.max()))
    top = float(game.weight.max())
    path, weight = game.path / unit, game.weight / top
    separator = _Separator(game, loads, unit)
    lp.addVars(jobs, path, np.full(jobs, highspy.kHighsInf))
    lp.changeColsCost(jobs, np.arange(jobs, dtype=np.int32), weight)
    members: list[tuple[int, float, NDArray[np.int64]]] = []
    inner = np.maximum(start / unit, path)
    inner = inner + max(separator.deepest(inner), 0.0)
    lower, multiplier, rounds = -np.inf, np.zeros(0), 0
    while True:
        lp.run()
        rounds += 1
        if lp.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            break  # numerical trouble: what is known so far stays valid
        solution = lp.getSolution()
        outer = np.array(solution.col_value)
        lower = float(weight @ outer)
        multiplier = np.array(solution.row_dual)
        repaired = outer + max(separator.deepest(outer), 0.0)
        if weight @ repaired < weight @ inner:
            inner = repaired
        upper = float(weight @ inner)
        if upper - lower <= _TOLERANCE * abs(upper) or rounds >= most_rounds or stop():
            break
        added = 0
        seen: set[tuple[int, float, float]] = set()
        for share in _BETWEEN:
            for _, family, row, right, inside, total in separator.cuts(share * outer + (1.0 - share) * inner):
                key = (family, total, right)
                if key in seen or row @ outer >= right - 1e-13 * total:
                    continue
                seen.add(key)
                used = np.flatnonzero(row)
                scale = 1.0 / total
                lp.addRow(right * scale, highspy.kHighsInf, len(used), used.astype(np.int32), row[used] * scale)
                members.append((family, scale, inside))
                added += 1
        if not added:
            break
        inner = _advance(inner, outer, separator.deepest)
    upper = float(weight @ inner)
    densities = tuple(np.zeros_like(load.work) for load in loads)
    active = []
    for y, (family, scale, inside) in zip(multiplier.tolist(), members, strict=False):
        if y > 0:
            # y belongs to the scaled row; in ticks and true weights its work is unit x larger
            densities[family][inside] += y * scale * top / unit
            active.append(inside)
    return CuttingPlane(
        completion=inner * unit,
        densities=densities,
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
