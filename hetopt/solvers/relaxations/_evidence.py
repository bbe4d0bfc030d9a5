"""From floating-point splits to certified bounds: rounding, exact evaluation, the certificate.

A split gives every round g a *density* (weight per unit of work); what is left of a job's weight goes
to its path.  Rounded densities n_g / D keep the split valid whatever the rounding was, because the path takes the
rest; the value is then computed in whole numbers (page on certificates, ``midpoint-lp``).
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.certificate import Bound, Certificate
from hetopt.core.errors import VerificationError
from hetopt.core.instance import Instance
from hetopt.core.objectives import offset
from hetopt.core.status import Objective, Trust
from hetopt.solvers.relaxations._terms import Terms, capacity_of, task_work

__all__ = ["Family", "Split", "evaluate_split", "midpoint_bound", "round_split"]

_BITS: Final = 40


@dataclass(frozen=True, eq=False)
class Family:
    """One load family: prices, capacity rule, releases, and the whole-number densities (R,) of its rounds."""

    prices: tuple[int, ...]
    speed: bool
    release: bool
    density: list[int]


@dataclass(frozen=True, eq=False)
class Split:
    """Densities over a common denominator."""

    denominator: int
    families: tuple[Family, ...]


def _exponent(value: float) -> int:
    """Least e with value <= 2^e."""
    return math.frexp(value)[1] if value > 0 else 0


def round_split(instance: Instance, families: list[tuple[tuple[int, ...], bool, bool, NDArray[np.float64]]]) -> Split:
    """Round densities down to a common power of two and repair jobs whose parts exceed their weight.

    Parameters
    ----------
    families
        (prices, speed, release, density (R,) float64 >= 0) each.
    """
    a = instance.arrays
    works = [a.scale * task_work(instance, prices) for prices, *_ in families]
    starts = a.round_start[:-1]
    per_job = sum(np.add.reduceat(w.astype(np.float64), starts) for w in works)
    densities = [np.nan_to_num(np.maximum(f[3], 0.0), nan=0.0, posinf=0.0) for f in families]
    top = max(float(density.max(initial=0.0)) for density in densities)
    shift = max(0, min(_BITS + _exponent(float(np.max(per_job / a.weight))), 62 - _exponent(top)))
    unit = 1 << shift
    whole = [np.floor(density * float(unit) * (1 - 2.0**-45)).astype(np.int64).tolist() for density in densities]
    # exact repair; a floating-point screen leaves only the doubtful jobs
    used = sum(np.add.reduceat(np.array(n, dtype=np.float64) * w, starts) for n, w in zip(whole, works, strict=True))
    for n in np.flatnonzero(used > a.weight * float(unit) * (1 - 2.0**-46)).tolist():
        rounds = range(int(a.round_start[n]), int(a.round_start[n + 1]))
        room = int(a.weight[n]) * unit
        taken = sum(dens[g] * int(work[g]) for dens, work in zip(whole, works, strict=True) for g in rounds)
        if taken > room:
            for dens in whole:
                for g in rounds:
                    dens[g] = dens[g] * room // taken
    return Split(unit, tuple(Family(f[0], f[1], f[2], dens) for f, dens in zip(families, whole, strict=True)))


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


def _smith(density: list[int], work: list[int]) -> int:
    """Sum over g of n_g ((U + P_g)^2 - U^2), U the work before g in order of non-increasing density."""
    order = np.argsort(-np.array(density, dtype=np.int64) if max(density) < 2**63 else -np.array(density, dtype=object))
    sorted_work = np.array(work, dtype=object)[order].tolist()
    after = accumulate(sorted_work)
    ranked = np.array(density, dtype=object)[order].tolist()
    return sum(n * p * (2 * u - p) for n, p, u in zip(ranked, sorted_work, after, strict=True) if n)


def evaluate_split(instance: Instance, terms: Terms, split: Split) -> Fraction:
    """Exact bound on sum w_n C_n that a split proves.

    Raises
    ------
    VerificationError
        The parts of a job exceed its weight: a bug, since :func:`round_split` repairs that.
    """
    arrays = instance.arrays
    unit = split.denominator
    job = arrays.round_job.tolist()
    scale, end2, later, head = (x.tolist() for x in (terms.scale, terms.end2, terms.later, terms.head))
    rest = [int(w) * unit for w in arrays.weight.tolist()]
    doubled = 0  # 2 D x (sum of the parts x tails)
    load = Fraction(0)
    for family in split.families:
        per_task = task_work(instance, family.prices)
        work_of_task = per_task.tolist()
        work = (arrays.scale * per_task).tolist()
        density = family.density
        for g, n in enumerate(density):
            if n:
                rest[job[g]] -= n * work[g]
                doubled += n * work_of_task[g] * (end2[g] + 2 * scale[g] * later[g])
        members = np.array([n > 0 for n in density])
        if not members.any():
            continue
        v = capacity_of(instance, per_task, members) if family.speed else Fraction(arrays.num_gpus)
        if family.release:
            busy = _mean_busy(density, work, head, v.numerator, v.denominator)
            load += Fraction(busy, 2 * v.numerator * v.denominator * unit)
        else:
            load += Fraction(_smith(density, work) * v.denominator, 2 * v.numerator * unit)
    if min(rest) < 0:
        raise VerificationError(f"the parts of job {rest.index(min(rest))} exceed its weight")
    path = sum(c * p for c, p in zip(rest, terms.path.tolist(), strict=True))
    return Fraction(path, unit) + Fraction(doubled, 2 * unit) + load


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
                "density": [f.density[starts[n] : starts[n + 1]] for n in range(arrays.num_jobs)],
            }
            for f in split.families
        ],
    }
    exact = evaluate_split(instance, terms, split) if value is None else value
    certificate = Certificate(kind, exact, instance.fingerprint, data)
    return Bound(exact, kind, Trust.DERIVED, certificate).shifted(offset(instance, objective))
