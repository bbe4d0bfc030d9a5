r"""Load inequalities of midpoint relaxations, and their separation by sorting.

For tasks (or rounds of identical tasks) with work :math:`P_g > 0`, midpoints :math:`H_g` and capacity B,

.. math:: \sum_{g \in S} P_g H_g \ge \frac{P(S)^2}{2 B} \qquad \text{for every set } S.  \tag{load}

Separation.  For given H the violation :math:`P(S)^2 / (2B) - \sum_S P_g H_g` is largest on a set
:math:`\{g : H_g < \tau\}`: taking g out of a best set shows :math:`H_g \le P(S)/B`, adding one outside shows
:math:`H_g \ge P(S)/B`.  So the R prefixes of the order of non-decreasing H contain a most violated set among all
:math:`2^R`, in O(R log R) time.

For a round of d identical tasks one variable H (their common midpoint, by symmetry) and work P = d q are
enough: within a group of equal H the violation is convex in the work taken, so its ends decide.

References
----------
M. Queyranne, "Structure of a simple scheduling polyhedron", Mathematical Programming 58 (1993), Theorem 3.1 (the
polyhedron) and section 5 (separation); A. S. Schulz, "Scheduling to minimize total weighted completion time", IPCO 1996
(capacity of parallel machines).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

__all__ = ["LoadCut", "Prefixes", "largest_violation", "largest_violation_exact", "prefix_violations", "separate"]


@dataclass(frozen=True)
class LoadCut:
    """The load inequality of a set.

    Attributes
    ----------
    members : (m,) int64
        The set S.
    work
        P(S).
    right
        P(S)^2 / (2 B).
    """

    members: NDArray[np.int64]
    work: float
    right: float


@dataclass(frozen=True)
class Prefixes:
    """All prefixes of the order of non-decreasing midpoint.

    Attributes
    ----------
    order : (R,) int64
        The order; ties by index.
    work : (R,) float64
        P of each prefix.
    violation : (R,) float64
        P(S)^2 / (2 B) - sum of P H, for each prefix; positive where it is violated.
    """

    order: NDArray[np.int64]
    work: NDArray[np.float64]
    violation: NDArray[np.float64]

    @property
    def depth(self) -> NDArray[np.float64]:
        """Violation over work, (R,), in ticks: raising all midpoints by the largest one repairs the point."""
        depth: NDArray[np.float64] = self.violation / self.work
        return depth

    def peaks(self, share: float = 0.01) -> NDArray[np.int64]:
        """Prefixes that are violated locally most, and at least ``share`` as deeply as the deepest."""
        v, depth = self.violation, self.depth
        high = (v >= np.append(v[1:], -np.inf)) & (v >= np.concatenate(([-np.inf], v[:-1])))
        found: NDArray[np.int64] = np.flatnonzero(high & (depth > max(float(depth.max()) * share, 0.0)))
        return found


def prefix_violations(midpoint: NDArray[np.float64], work: NDArray[np.float64], capacity: float) -> Prefixes:
    """Violation of the load inequality of every prefix.

    Parameters
    ----------
    midpoint : (R,) float64, ticks
    work : (R,) float64, > 0
    capacity
        B.
    """
    order = np.argsort(midpoint, kind="stable")
    ordered = work[order]
    total = np.cumsum(ordered)
    return Prefixes(order, total, total * total / (2 * capacity) - np.cumsum(ordered * midpoint[order]))


def separate(
    midpoint: NDArray[np.float64],
    work: NDArray[np.float64],
    capacity: float,
    *,
    most: int = 50,
    tolerance: float = 1e-9,
) -> list[LoadCut]:
    """Violated load inequalities: the locally most violated prefixes, deepest first.

    Parameters
    ----------
    most
        At most so many.
    tolerance
        Cuts less deep than this many ticks are left out.
    """
    found = prefix_violations(midpoint, work, capacity)
    at = found.peaks()
    at = at[found.depth[at] > tolerance]
    at = at[np.argsort(-found.depth[at], kind="stable")[:most]]
    return [
        LoadCut(np.sort(found.order[: i + 1]), float(found.work[i]), float(found.work[i] ** 2 / (2 * capacity)))
        for i in at.tolist()
    ]


def largest_violation(midpoint: NDArray[np.float64], work: NDArray[np.float64], capacity: float) -> float:
    """Largest P(S)^2 / (2 B) - sum of P H over all sets, the empty one (0) included."""
    return max(0.0, float(prefix_violations(midpoint, work, capacity).violation.max(initial=0.0)))


def largest_violation_exact(
    midpoint: Sequence[Fraction], work: Sequence[int], capacity: Fraction | int
) -> tuple[Fraction, tuple[int, ...]]:
    """The same in rational arithmetic, with the least set that attains it."""
    order = sorted(range(len(work)), key=lambda g: (midpoint[g], g))
    best, size = Fraction(0), 0
    total, moment = 0, Fraction(0)
    for count, g in enumerate(order, start=1):
        total += work[g]
        moment += work[g] * midpoint[g]
        violation = Fraction(total * total) / (2 * capacity) - moment
        if violation > best:
            best, size = violation, count
    return best, tuple(sorted(order[:size]))
