"""From floating-point splits to certified bounds: rounding, exact evaluation, the certificate.

A split gives every round g a *density* (weight per unit of work); what is left of a job's weight goes
to its path.  Rounded densities n_g / D keep the split valid whatever the rounding was, because the path takes the
rest; the value is then computed in whole numbers (page on certificates, ``midpoint-lp``).
"""

from __future__ import annotations

import heapq
import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.certificate import Bound, Certificate
from hetopt.core.errors import VerificationError
from hetopt.core.instance import Instance
from hetopt.core.objectives import offset
from hetopt.core.status import Objective, Trust
from hetopt.models.clairvoyant.round_terms import Terms, capacity_of, task_work

__all__ = ["Family", "Split", "evaluate_split", "midpoint_bound", "round_split"]

_BITS: Final = 40
_SAFE: Final = 2**62


@dataclass(frozen=True, eq=False)
class Family:
    """One load family.

    Attributes
    ----------
    prices
        Price of each type.
    speed, release
        Capacity rule; whether heads count.
    density : (R,) int64 or object
        Whole numbers n_g >= 0.
    """

    prices: tuple[int, ...]
    speed: bool
    release: bool
    density: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Split:
    """Densities over a common denominator."""

    denominator: int
    families: tuple[Family, ...]


def exact_dot(left: NDArray[Any], right: NDArray[Any]) -> int:
    """Exact scalar product of two arrays of whole numbers >= 0, int64 or object.

    int64 arrays are cut into limbs of 16 bits: sums of up to 2^31 products of limbs fit 64 bits.
    """
    if left.dtype == object or right.dtype == object:
        return sum(map(operator.mul, left.tolist(), right.tolist()))
    cut = [
        [(x >> shift) & 0xFFFF for shift in range(0, max(1, int(x.max(initial=0)).bit_length()), 16)]
        for x in (left, right)
    ]
    return sum(int(np.dot(x, y)) << 16 * (i + j) for i, x in enumerate(cut[0]) for j, y in enumerate(cut[1]))


def _times(*factors: NDArray[Any]) -> NDArray[Any]:
    """Product of arrays of whole numbers >= 0 without overflow: int64 where it fits, object where it might not."""
    size = math.prod(int(x.max(initial=0)) for x in factors)
    kind: Any = np.int64 if size < _SAFE else object
    out = factors[0].astype(kind)
    for x in factors[1:]:
        out = out * x.astype(kind)
    return out


def _exponent(value: float) -> int:
    """Least e with value <= 2^e."""
    return math.frexp(value)[1] if value > 0 else 0


def _spent(instance: Instance, parts: list[tuple[NDArray[Any], NDArray[np.int64]]]) -> list[int]:
    """Exact sum of density x work over the rounds of each job."""
    starts = instance.arrays.round_start[:-1]
    total = [0] * instance.num_jobs
    for density, work in parts:
        if density.dtype == object or int(work.sum()) >= 2**46:
            sums: list[int] = np.add.reduceat(density.astype(object) * work.astype(object), starts).tolist()
            total = [x + y for x, y in zip(total, sums, strict=True)]
            continue
        for shift in range(0, max(1, int(density.max(initial=0)).bit_length()), 16):
            limb = np.add.reduceat(((density >> shift) & 0xFFFF) * work, starts).tolist()
            total = [x + (y << shift) for x, y in zip(total, limb, strict=True)]
    return total


def round_split(instance: Instance, families: list[tuple[tuple[int, ...], bool, bool, NDArray[np.float64]]]) -> Split:
    """Round densities down to a common power of two and repair jobs whose parts exceed their weight.

    Parameters
    ----------
    families
        (prices, speed, release, density (R,) float64 >= 0) each.
    """
    a = instance.arrays
    works = [a.scale * task_work(instance, prices) for prices, *_ in families]
    per_job = sum(np.add.reduceat(w.astype(np.float64), a.round_start[:-1]) for w in works)
    densities = [np.nan_to_num(np.maximum(f[3], 0.0), nan=0.0, posinf=0.0) for f in families]
    top = max(float(density.max(initial=0.0)) for density in densities)
    shift = max(0, min(_BITS + _exponent(float(np.max(per_job / a.weight))), 62 - _exponent(top)))
    unit = 1 << shift
    whole: list[NDArray[Any]] = [
        np.floor(density * float(unit) * (1 - 2.0**-45)).astype(np.int64) for density in densities
    ]
    spent = _spent(instance, list(zip(whole, works, strict=True)))
    for n, (taken, weight) in enumerate(zip(spent, a.weight.tolist(), strict=True)):
        if taken > weight * unit:
            rounds = slice(int(a.round_start[n]), int(a.round_start[n + 1]))
            for density in whole:
                density[rounds] = [x * weight * unit // taken for x in density[rounds].tolist()]
    return Split(unit, tuple(Family(f[0], f[1], f[2], density) for f, density in zip(families, whole, strict=True)))


def _mean_busy(density: list[int], work: list[int], head: list[int], a: int, b: int) -> int:
    """Sum over g of n_g Q_g of preemptive WSPT with processing times b P_g and releases a head_g."""
    members = [g for g, n in enumerate(density) if n]
    members.sort(key=head.__getitem__)
    total, now, at, count = 0, 0, 0, len(members)
    waiting: list[tuple[int, int]] = []  # (-density, remaining)
    while at < count or waiting:
        if not waiting:
            now = max(now, a * head[members[at]])
        while at < count and a * head[members[at]] <= now:
            g = members[at]
            heapq.heappush(waiting, (-density[g], b * work[g]))
            at += 1
        key, left = waiting[0]
        end = now + left
        if at < count and a * head[members[at]] < end:
            stop = a * head[members[at]]
            total -= key * (stop * stop - now * now)
            heapq.heapreplace(waiting, (key, end - stop))
            now = stop
        else:
            total -= key * (end * end - now * now)
            heapq.heappop(waiting)
            now = end
    return total


def _smith(density: NDArray[Any], work: NDArray[np.int64]) -> int:
    """Sum over g of n_g ((U + P_g)^2 - U^2), U the work before g in order of non-increasing density."""
    order = np.argsort(-density, kind="stable")
    ordered = work[order]
    after = np.cumsum(ordered)
    return exact_dot(density[order], _times(ordered, 2 * after - ordered))


def evaluate_split(instance: Instance, terms: Terms, split: Split) -> Fraction:
    """Exact bound on sum w_n C_n that a split proves.

    Raises
    ------
    VerificationError
        The parts of a job exceed its weight: a bug, since :func:`round_split` repairs that.
    """
    arrays = instance.arrays
    unit = split.denominator
    path_of_round = terms.path[arrays.round_job]
    doubled = 0  # 2 D x (sum of the parts x (tail - path))
    load = Fraction(0)
    parts = []
    for family in split.families:
        per_task = task_work(instance, family.prices)
        work = arrays.scale * per_task
        density = family.density
        parts.append((density, work))
        doubled += exact_dot(density, _times(per_task, terms.end2))
        doubled += 2 * exact_dot(density, _times(work, terms.later))
        doubled -= 2 * exact_dot(density, _times(work, path_of_round))
        members = density > 0
        if not members.any():
            continue
        v = capacity_of(instance, per_task, members) if family.speed else Fraction(arrays.num_gpus)
        if family.release:
            busy = _mean_busy(density.tolist(), work.tolist(), terms.head.tolist(), v.numerator, v.denominator)
            load += Fraction(busy, 2 * v.numerator * v.denominator * unit)
        else:
            load += Fraction(_smith(density, work) * v.denominator, 2 * v.numerator * unit)
    weights = arrays.weight.tolist()
    for n, (spent, weight) in enumerate(zip(_spent(instance, parts), weights, strict=True)):
        if spent > weight * unit:
            raise VerificationError(f"the parts of job {n} exceed its weight")
    path: int = sum(w * p for w, p in zip(weights, terms.path.tolist(), strict=True))
    return Fraction(path) + Fraction(doubled, 2 * unit) + load


def midpoint_bound(
    instance: Instance, terms: Terms, split: Split, kind: str, objective: Objective, value: Fraction | None = None
) -> Bound:
    """The bound, for ``objective``, with its certificate (which is about the weighted completion time).

    ``value`` is what :func:`evaluate_split` gave, where that is at hand.
    """
    arrays = instance.arrays
    starts = arrays.round_start.tolist()
    data: dict[str, Any] = {
        "tail": str(terms.tail),
        "denominator": split.denominator,
        "families": [
            {
                "prices": list(f.prices),
                "capacity": "speed" if f.speed else "gpus",
                "release": f.release,
                "density": [whole[starts[n] : starts[n + 1]] for n in range(arrays.num_jobs)],
            }
            for f, whole in zip(split.families, [f.density.tolist() for f in split.families], strict=True)
        ],
    }
    exact = evaluate_split(instance, terms, split) if value is None else value
    certificate = Certificate(kind, exact, instance.fingerprint, data)
    return Bound(exact, kind, Trust.DERIVED, certificate).shifted(offset(instance, objective))
