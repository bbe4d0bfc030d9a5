"""The numbers that midpoint relaxations are made of: lengths, ends, heads, tails, works, capacities.

Notation as in the page on certificates: L_g is a lower bound on the length of round g, e_g one on the time from
the average midpoint of its tasks to its end; head_g, tail_g and path_n follow.  All are computed
in whole numbers; e_g = ``end2[g] / (2 scale[g])``.

Validity of ``ROUND`` (S6 and S7): a GPU of type k trains and synchronises at most floor((t - s)/p) tasks of
one round within t ticks, so a round of d tasks lasts at least the least t that leaves room for d; and
the j-th last task of the round on a GPU (j = 0, 1, ...) has its midpoint at least p/2 + s + j p before the
end of the round, so the mean over its tasks is at least the mean of the d smallest such numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.instance import Instance, InstanceArrays

__all__ = ["Tail", "Terms", "capacity_of", "round_terms", "task_work"]

_SAFE: Final = 2**61


class Tail(StrEnum):
    """Which lengths and ends are used; each is at least as strong as the one before."""

    BASE = "base"
    CHAIN = "chain"
    ROUND = "round"


@dataclass(frozen=True, eq=False)
class Terms:
    """Whole-number data of a midpoint relaxation.

    Attributes
    ----------
    tail
        The choice made.
    length, head, later : (R,) int64
        L_g; earliest start; sum of L over the later rounds of the job.  Ticks.
    end2 : (R,) int64 or object
        2 d_g e_g.
    path : (N,) int64
        a_n plus the sum of L.
    scale : (R,) int64
        d_g.
    """

    tail: Tail
    length: NDArray[np.int64]
    head: NDArray[np.int64]
    later: NDArray[np.int64]
    end2: NDArray[Any]
    path: NDArray[np.int64]
    scale: NDArray[np.int64]

    @cached_property
    def tail_ticks(self) -> NDArray[np.float64]:
        """tail_g = e_g + later, (R,) float64."""
        out: NDArray[np.float64] = self.end2.astype(np.float64) / (2.0 * self.scale) + self.later
        return out


def _least(arrays: InstanceArrays, values: NDArray[np.int64]) -> NDArray[np.int64]:
    out: NDArray[np.int64] = np.where(arrays.allowed, values, np.iinfo(np.int64).max).min(axis=1)
    return out


def _bisect(low: NDArray[Any], high: NDArray[Any], enough: Any) -> NDArray[Any]:
    """Least x in (low, high] with ``enough(x, which)``, elementwise; ``enough(high)`` holds.

    ``enough`` is asked about the elements ``which`` that are still open.
    """
    low, high = low.copy(), high.copy()
    while True:
        which = np.flatnonzero(high - low > 1)
        if not len(which):
            return high
        middle = low[which] + (high[which] - low[which]) // 2
        ok = enough(middle, which)
        high[which[ok]] = middle[ok]
        low[which[~ok]] = middle[~ok]


def _round_bounds(
    scale: NDArray[np.int64],
    p: NDArray[np.int64],
    s: NDArray[np.int64],
    allowed: NDArray[np.bool_],
    count: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Length and doubled summed end of rounds of identical tasks; (R,) each."""
    biggest = int(scale.max()) * int((p + s).max() + 1)
    kind: Any = np.int64 if 4 * int(scale.max()) * biggest < _SAFE else object
    d, p, s = scale.astype(kind), p.astype(kind), s.astype(kind)
    count = count.astype(kind)
    safe = np.where(allowed, p, 1)
    most = np.minimum(count[None, :], d[:, None])  # more GPUs than tasks never matter

    def room(t: NDArray[Any], w: Any) -> Any:
        fit = np.where(allowed[w], np.clip((t[:, None] - s[w]) // safe[w], 0, d[w, None]), 0)
        return ((most[w] * fit).sum(axis=1) >= d[w]).astype(np.bool_)

    per_gpu = -(-d[:, None] // most)
    far = int((s + per_gpu * safe).max()) + 1
    upper = np.where(allowed, s + per_gpu * safe, far).min(axis=1)
    shortest = np.where(allowed, s + safe, far).min(axis=1)
    length = _bisect(np.minimum(shortest, upper) - 1, upper, room)

    def counts(x: NDArray[Any], w: Any) -> NDArray[Any]:
        fit = np.clip((x[:, None] - safe[w] - 2 * s[w]) // (2 * safe[w]) + 1, 0, d[w, None])
        return np.where(allowed[w], fit, 0)

    def filled(x: NDArray[Any], w: Any) -> Any:
        return ((most[w] * counts(x, w)).sum(axis=1) >= d[w]).astype(np.bool_)

    upper = np.where(allowed, safe + 2 * s + 2 * (per_gpu - 1) * safe, 2 * far).min(axis=1)
    shortest = np.where(allowed, safe + 2 * s, 2 * far).min(axis=1)
    at = _bisect(np.minimum(shortest, upper) - 1, upper, filled)
    full = counts(at - 1, slice(None))
    taken = (most * full).sum(axis=1)
    end2 = (most * full * (safe + 2 * s + safe * (full - 1))).sum(axis=1) + (d - taken) * at
    return length, end2


def round_terms(instance: Instance, tail: Tail) -> Terms:
    """Lengths, ends, heads, tails and paths of an instance; O(R K log horizon)."""
    a = instance.arrays
    d = a.scale
    if tail is Tail.BASE:
        length = a.min_processing_time + a.min_sync_time
        end2: NDArray[Any] = d * (a.min_processing_time + 2 * a.min_sync_time)
    elif tail is Tail.CHAIN:
        length = a.min_task_time
        end2 = d * _least(a, a.processing_time + 2 * a.sync_time)
    else:
        # equal neighbours (the repeats of a round) are computed once
        key = np.concatenate((d[:, None], a.processing_time, a.sync_time, a.allowed), axis=1)
        new = np.concatenate(([True], (key[1:] != key[:-1]).any(axis=1)))
        at, back = np.flatnonzero(new), np.cumsum(new) - 1
        length, end2 = _round_bounds(d[at], a.processing_time[at], a.sync_time[at], a.allowed[at], a.gpu_count)
        length, end2 = length.astype(np.int64)[back], end2[back]
    total = np.cumsum(length)
    last = total[a.round_start[1:] - 1]
    before = np.concatenate(([0], last[:-1]))
    return Terms(
        tail=tail,
        length=length,
        head=a.release_date[a.round_job] + total - length - before[a.round_job],
        later=last[a.round_job] - total,
        end2=end2,
        path=a.release_date + last - before,
        scale=d,
    )


def task_work(instance: Instance, prices: tuple[int, ...] | None = None) -> NDArray[np.int64]:
    """work_g = least pi_k p_gk over the types that g may use, (R,) int64."""
    a = instance.arrays
    if prices is None or all(p == 1 for p in prices):
        return a.min_processing_time
    return _least(a, a.processing_time * np.array(prices, dtype=np.int64))


def capacity_of(instance: Instance, work: NDArray[np.int64], members: NDArray[np.bool_] | None = None) -> Fraction:
    """V = sum over types of G_k max work_g / p_gk over the members allowed there, exactly."""
    a = instance.arrays
    total = Fraction(0)
    for k in range(a.num_types):
        use = a.allowed[:, k] if members is None else a.allowed[:, k] & members
        if not use.any():
            continue
        top, bottom = work[use], a.processing_time[use, k]
        # the floating-point maximum and everything that rounding might hide
        ratio = top / bottom
        close = np.flatnonzero(ratio >= ratio.max() * (1 - 1e-12))
        best = max(Fraction(x, y) for x, y in set(zip(top[close].tolist(), bottom[close].tolist(), strict=True)))
        total += int(a.gpu_count[k]) * best
    return total
