r"""The midpoint LP to optimality: cutting planes over completion times (HiGHS).

Reduction.  Given completion times C, raising every midpoint to :math:`H_g = C_{n(g)} - \mathrm{tail}_g` (as late as its
job allows) keeps every constraint of the LP: chains and releases hold because C_n >= path_n, loads because they only
bound H from below.  So the LP is

.. math:: \min \sum_n w_n C_n \quad C_n \ge \mathrm{path}_n, \quad
   \sum_{g \in S} P_g (C_{n(g)} - \mathrm{tail}_g) \ge \tfrac12 P(S)^2 \;\; \text{for every } S,

with one variable a *job*.  Cuts are separated by sorting H (``hetopt.models.cuts.load``), at the optimum of the current
relaxation and at points between it and the best feasible point known (in-out separation), which is moved by line search.  All
cuts from one order are one chain of sums, :math:`A_k = A_{k-1} + \sum_{\text{block } k} P_g (C_{n(g)} - \mathrm{tail}_g)` with a lower bound
on each A_k, so they cost R entries together and not R each; the first chains are those of averaged midpoints.  The
multipliers y_S of the cuts (reduced costs of the A_k) are a split: the density of g is the sum of y_S over the sets S that contain g.

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
from hetopt.models.cuts.load import Prefixes, prefix_violations
from hetopt.solvers.relaxations._splitting import Game

__all__ = ["CuttingPlane", "Load", "exact_densities", "solve_cutting"]

Floats = NDArray[np.float64]
_BETWEEN: Final = (0.5, 0.2, 0.05)
_PER_POINT: Final = 400
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

    def chains(self, midpoint: Floats, share: float) -> list[tuple[int, NDArray[np.int64], Prefixes]]:
        """(layer, positions of the locally deepest prefixes, prefixes), for each layer that has violated ones."""
        out = []
        for layer, (_, t, inside, work) in enumerate(self.layers):
            found = prefix_violations(midpoint[inside] - t, work, 1.0)
            peaks = found.peaks(share)
            if len(peaks) > _PER_POINT:
                peaks = np.sort(peaks[np.argsort(-found.depth[peaks], kind="stable")[:_PER_POINT]])
            if len(peaks):
                out.append((layer, peaks, found))
        return out


class _Program:
    """The LP: columns C_n and the chained sums."""

    def __init__(self, separator: _Separator, path: Floats, weight: Floats) -> None:
        highspy = load_highspy()
        self.infinite = highspy.kHighsInf
        self.optimal = highspy.HighsModelStatus.kOptimal
        self.separator = separator
        self.lp = highspy.Highs()
        # the number of threads is left alone: HiGHS refuses a second value in a process; the simplex method is serial
        settings: tuple[tuple[str, Any], ...] = (
            ("output_flag", False),
            ("primal_feasibility_tolerance", 1e-10),
            ("dual_feasibility_tolerance", 1e-10),
            ("parallel", "off"),
        )
        for option, setting in settings:
            self.lp.setOptionValue(option, setting)
        self.jobs = len(path)
        self.lp.addVars(self.jobs, path, np.full(self.jobs, self.infinite))
        self.lp.changeColsCost(self.jobs, np.arange(self.jobs, dtype=np.int32), weight)
        # for each chained sum: layer, scale, members in order, and how many of them it covers
        self.sums: list[tuple[int, float, NDArray[np.int64], int]] = []

    def add_chain(self, layer: int, positions: NDArray[np.int64], prefixes: Prefixes) -> None:
        """Add A_k for the prefixes that end at the positions (increasing)."""
        _, t, inside, work = self.separator.layers[layer]
        order = prefixes.order
        members = inside[order]
        constant = work[order] * (self.separator.tail[members] + t)
        previous, before, begin = -1, 1.0, 0
        for i in positions.tolist():
            block = slice(begin, i + 1)
            row = np.bincount(self.separator.job[members[block]], work[order[block]], self.jobs)
            used = np.flatnonzero(row)
            total = float(prefixes.work[i])
            scale = 1.0 / total
            column = self.jobs + len(self.sums)
            self.lp.addVar(0.5 * total, self.infinite)
            extra, value = [column], [-1.0]
            if previous >= 0:
                extra.append(previous)
                value.append(scale / before)
            right = float(constant[block].sum()) * scale
            index = np.concatenate((used, extra)).astype(np.int32)
            self.lp.addRow(right, right, len(index), index, np.concatenate((row[used] * scale, value)))
            self.sums.append((layer, scale, members, i + 1))
            previous, before, begin = column, scale, i + 1

    def solve(self, seconds: float | None) -> Floats | None:
        """Optimal completion times, or None."""
        if seconds is not None:
            self.lp.setOptionValue("time_limit", self.lp.getRunTime() + max(seconds, 0.0))
        self.lp.run()
        if self.lp.getModelStatus() != self.optimal:
            return None
        return np.array(self.lp.getSolution().col_value)[: self.jobs]

    def multipliers(self) -> Floats:
        """Reduced costs of the chained sums."""
        duals: Floats = np.array(self.lp.getSolution().col_dual, dtype=np.float64)
        return np.maximum(duals[self.jobs :], 0.0)


def solve_cutting(
    game: Game,
    loads: Sequence[Load],
    midpoint: Floats,
    *,
    stop: Callable[[], bool],
    left: Callable[[], float | None] = lambda: None,
    most_rounds: int = 2000,
) -> CuttingPlane:
    """Solve the LP over completion times.

    Parameters
    ----------
    game
        Tails, paths and weights (its ``work`` is not used).
    loads
        Families of load inequalities.
    midpoint : (R,) float64
        Midpoints to start from (for example averaged ones), ticks; need not be feasible.
    stop
        Asked before every LP.
    left
        Seconds left, for the LPs themselves.
    """
    # times in units of the horizon and weights in units of the largest keep the tolerances relative
    unit = max(max(float(load.work.sum()) for load in loads), float(game.path.max()))
    top = float(game.weight.max())
    path, weight = game.path / unit, game.weight / top
    separator = _Separator(game, loads, unit)
    program = _Program(separator, path, weight)
    inner = game.completion(midpoint) / unit
    inner = inner + max(separator.deepest(inner), 0.0)
    if len(separator.layers) == 1:
        for seed in (midpoint / unit, inner[game.job] - separator.tail):
            _, t, inside, work = separator.layers[0]
            program.add_chain(0, np.arange(len(inside)), prefix_violations(seed[inside] - t, work, 1.0))
    lower, multiplier, rounds = -np.inf, np.zeros(0), 0
    while True:
        outer = program.solve(left())
        rounds += 1
        if outer is None:
            break  # out of time, or numerical trouble: what is known so far stays valid
        lower = float(weight @ outer)
        multiplier = program.multipliers()
        repaired = outer + max(separator.deepest(outer), 0.0)
        if weight @ repaired < weight @ inner:
            inner = repaired
        upper = float(weight @ inner)
        if upper - lower <= _TOLERANCE * abs(upper) or rounds >= most_rounds or stop():
            break
        before = len(program.sums)
        for share in _BETWEEN:
            point = share * outer + (1.0 - share) * inner
            for chain in separator.chains(point[game.job] - separator.tail, 0.001):
                program.add_chain(*chain)
        if len(program.sums) == before:  # the optimum itself is left
            for chain in separator.chains(outer[game.job] - separator.tail, 0.001):
                program.add_chain(*chain)
            if len(program.sums) == before:
                break
        inner = _advance(inner, outer, separator.deepest)
    upper = float(weight @ inner)
    densities = tuple(np.zeros_like(load.work) for load in loads)
    active = []
    for y, (layer, scale, members, count) in zip(multiplier.tolist(), program.sums, strict=False):
        if y > 0:
            # y belongs to the scaled row; in ticks and true weights its work is unit x larger
            inside = members[:count]
            densities[separator.layers[layer][0]][inside] += y * scale * top / unit
            active.append(inside)
    return CuttingPlane(
        completion=inner * unit,
        densities=densities,
        lower=lower * unit * top,
        upper=upper * unit * top,
        optimal=upper - lower <= _TOLERANCE * abs(upper),
        rounds=rounds,
        cuts=len(program.sums),
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
