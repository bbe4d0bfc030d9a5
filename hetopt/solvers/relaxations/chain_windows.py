"""Rounds in windows: the chain dynamic programme inside the time-indexed Lagrangian, in exact integers.

Problem.  Given prices ``u_k(t) >= 0`` per GPU of type k and tick t, with ``u_k(t) = 0`` from T on, find
for every job the cheapest way to run its chain of rounds when a task that trains on type k from t
pays ``c_k(t) = U_k(t + p_k) - U_k(t)`` (``U_k`` the prefix sums), and finishing at e pays ``w_n e``:

.. math::
   F_0(e) = 0 \\ (e \\ge r_n), \\qquad
   F_r(b) = \\min_{a \\le b} F_{r-1}(a) + C_r(a, b), \\qquad V_n = \\min_e w_n e + F_{R_n}(e).  \\tag{1}

``C_r(a, b)`` is the price of running round r within the window [a, b].  Its d tasks are alike, so
without capacities all of them take the cheapest (type, start) that fits:

.. math::
   C_r(a, b) = d \\min_k m_k(a, b), \\qquad m_k(a, b) = \\min_{a \\le t \\le b - p_k - s_k} c_k(t).  \\tag{2}

The form used where some type has fewer GPUs than the round has tasks is stronger.  In a window of length
``l = b - a`` a GPU of type k trains at most ``floor((l - s_k) / p_k)`` tasks of the round, so

.. math::
   C_r(a, b) = \\min \\sum_k n_k m_k(a, b), \\quad \\sum_k n_k = d, \\quad
   0 \\le n_k \\le |G_k| \\lfloor (l - s_k) / p_k \\rfloor,  \\tag{3}

which fills the types in the order of ``m_k`` (our strengthening; with it the bound is above
that of the time-indexed linear programme).  Windows shorter than ``L_r`` (capacities sum below d) hold no
round, and windows longer than ``W_r = max_k s_k + p_k ceil(d / |G_k|)`` need not be looked at: at
``W_r`` no capacity binds, so a longer window can be shrunk around the (type, start) that all tasks take.

Everything is int64: prices and weights are multiples of ``2^-bits``, so (1) has no rounding, and the
compiled kernel and its plain twin agree byte for byte.

Complexity: O(T K) a round for (2), O(T W_r K log K) for (3); memory O(R_n T) for one job.

References: M. L. Fisher, "Optimal solution of scheduling problems using Lagrange multipliers: part I", Operations
Research 21 (1973), for pricing resources per period; R. Moehring, A. Schulz, F. Stork, M. Uetz, Management
Science 49 (2003), for the relaxation in project scheduling.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.instance import Instance

__all__ = [
    "INFINITE",
    "ChainProblem",
    "Ints",
    "capacities",
    "evaluate_job",
    "evaluate_plain",
    "fill",
    "free_values",
    "kernel_arguments",
    "prefix_sums",
]

Ints = NDArray[np.int64]
INFINITE: Final = 1 << 61
"""Stands for "impossible"; sums of two of them and a true value still fit int64."""

MAGNITUDE: Final = 57
"""True values stay below 2^57."""


@dataclass(frozen=True)
class ChainProblem:
    """What the chain programme needs, in coarse ticks of ``coarsening`` ticks each.

    Coarsening by g replaces p by ``floor(p / g)``, p + s by ``floor((p + s) / g)`` and release dates by
    ``floor(r / g)``: starts rounded down then keep precedence and capacity (a task whose coarse interval
    covers [x, x + 1) trains at tick g (x + 1) - 1), so g times a coarse bound is a bound.

    Attributes
    ----------
    round_start : (N + 1,)
        First round of each job.
    release, weight : (N,)
        Coarse ticks; weights as they are.
    scale, shortest, widest : (R,)
        d, L_r, W_r.
    capped : (R,) bool
        Where form (3) is used.
    allowed : (R, K) bool
    processing, busy : (R, K)
        p and p + s, coarse ticks.
    count : (K,)
        GPUs of each type.
    price_end
        T: prices are 0 from here on.
    length
        Number of ticks looked at, 0 .. length - 1: ``max(T, latest release)`` plus the longest chain, plus 1.
    """

    coarsening: int
    round_start: Ints
    release: Ints
    weight: Ints
    scale: Ints
    allowed: NDArray[np.bool_]
    processing: Ints
    busy: Ints
    count: Ints
    shortest: Ints
    widest: Ints
    capped: NDArray[np.bool_]
    price_end: int
    length: int

    @property
    def num_jobs(self) -> int:
        """N."""
        return len(self.release)

    @property
    def num_types(self) -> int:
        """K."""
        return len(self.count)

    @property
    def reach(self) -> int:
        """Longest processing time: how far prefix sums are read past the last tick."""
        return int(self.processing.max(initial=0))

    @property
    def cells(self) -> int:
        """Work of one evaluation, in cells of the dynamic programme."""
        windows = np.where(self.capped, self.widest + 1, 1)
        return int(windows.sum()) * self.length * self.num_types

    @property
    def price_budget(self) -> int:
        """Largest sum of one type's prices (scaled) for which nothing overflows."""
        rounds = np.diff(np.concatenate(([0], np.cumsum(self.scale)))[self.round_start])
        return int(2**MAGNITUDE // max(1, int(rounds.max(initial=1))))

    def bits(self) -> int:
        """Binary digits after the point of prices and weights: as many as leave room for prices of the usual size."""
        top = int(self.weight.sum()) * self.length
        usual = 8 * max(1, int(self.weight.sum()) // int(self.count.sum())) * max(1, self.price_end)
        room = MAGNITUDE - top.bit_length(), self.price_budget.bit_length() - 1 - usual.bit_length()
        return max(0, min(20, *room))

    @classmethod
    def of(cls, instance: Instance, price_end: int, *, coarsening: int = 1, window_limit: int) -> ChainProblem:
        """Prepare an instance.

        Parameters
        ----------
        price_end
            T in ticks of the instance.
        coarsening
            g >= 1.
        window_limit
            Form (3) is used for the rounds whose capacities can bind and whose ``W_r`` (in coarse ticks) is at
            most this; 0 means nowhere.
        """
        a, g = instance.arrays, coarsening
        processing = np.where(a.allowed, a.processing_time // g, 0)
        busy = np.where(a.allowed, (a.processing_time + a.sync_time) // g, 0)
        sync = busy - processing
        waves = -(-a.scale[:, None] // a.gpu_count[None, :])
        widest = np.where(a.allowed, sync + processing * waves, 0).max(axis=1)
        capped = (a.allowed & (a.gpu_count[None, :] < a.scale[:, None])).any(axis=1) & (widest <= window_limit)
        capped &= window_limit > 0
        far = np.iinfo(np.int64).max
        shortest = np.where(a.allowed, busy, far).min(axis=1)
        for r in np.flatnonzero(capped).tolist():
            w = int(shortest[r])
            while capacities(w, processing[r], busy[r], a.allowed[r], a.gpu_count, int(a.scale[r])).sum() < a.scale[r]:
                w += 1
            shortest[r] = w
        chain = np.add.reduceat(shortest, a.round_start[:-1]).max()
        end = -(-price_end // g)
        release = a.release_date // g
        return cls(
            coarsening=g,
            round_start=a.round_start,
            release=release,
            weight=a.weight,
            scale=a.scale,
            allowed=a.allowed,
            processing=processing,
            busy=busy,
            count=a.gpu_count,
            shortest=shortest,
            widest=widest,
            capped=capped,
            price_end=end,
            length=int(max(end, int(release.max())) + chain + 1),
        )


def capacities(width: int, p: Ints, q: Ints, allowed: NDArray[np.bool_], count: Ints, scale: int) -> Ints:
    """(K,) tasks of a round that each type can take within a window, at most ``scale``."""
    spare = width - q + p
    fits = allowed & (width >= q)
    times = np.where(p > 0, spare // np.maximum(p, 1), scale)
    out: Ints = np.where(fits, np.minimum(scale, count * np.minimum(times, scale)), 0)
    return out


def prefix_sums(problem: ChainProblem, prices: Ints) -> Ints:
    """(K, length + reach + 1) sums of the prices before each tick; ``prices`` is (K, T)."""
    out = np.zeros((problem.num_types, problem.length + problem.reach + 1), dtype=np.int64)
    end = prices.shape[1]
    np.cumsum(prices, axis=1, out=out[:, 1 : end + 1])
    out[:, end + 1 :] = out[:, end : end + 1]
    return out


def evaluate_job(
    job: int, problem: ChainProblem, weight: Ints, sums: Ints, values: Ints, widths: Ints, usage: Ints
) -> int:
    """One job: fill ``values`` (R_n + 1, length) with (1), add its tasks to ``usage``, return V_n (plain twin).

    ``widths`` (R_n, length) gets the width of the best window that ends at each tick, -1 where ending
    earlier is as good.  ``usage`` (K, length + reach + 1) is a difference array of GPUs in use.
    """
    n, length, num_types = job, problem.length, problem.num_types
    first, last = int(problem.round_start[n]), int(problem.round_start[n + 1])
    release = int(problem.release[n])
    values[0, :release] = INFINITE
    values[0, release:] = 0
    ticks = np.arange(length, dtype=np.int64)
    for i, r in enumerate(range(first, last)):
        before, after, width = values[i], values[i + 1], widths[i]
        after[:] = INFINITE
        width[:] = -1
        scale, p, q, allowed = int(problem.scale[r]), problem.processing[r], problem.busy[r], problem.allowed[r]
        costs = [sums[k, p[k] : p[k] + length] - sums[k, :length] for k in range(num_types)]
        if not problem.capped[r]:
            for k in range(num_types):
                if allowed[k] and q[k] < length:
                    reach = length - int(q[k])
                    total = np.minimum(before[:reach] + scale * costs[k][:reach], INFINITE)
                    better = total < after[q[k] :]
                    after[q[k] :][better] = total[better]
                    width[q[k] :][better] = q[k]
        else:
            least = np.full((num_types, length), INFINITE, dtype=np.int64)
            for w in range(min(int(problem.widest[r]), length - 1) + 1):
                reach = length - w
                for k in range(num_types):
                    if allowed[k] and w >= q[k]:
                        shift = w - int(q[k])
                        np.minimum(least[k, :reach], costs[k][shift : shift + reach], out=least[k, :reach])
                if w < problem.shortest[r]:
                    continue
                room = capacities(w, p, q, allowed, problem.count, scale)
                total = np.minimum(before[:reach] + fill(least[:, :reach], room, scale), INFINITE)
                better = total < after[w:]
                after[w:][better] = total[better]
                width[w:][better] = w
        running = np.minimum.accumulate(after)
        width[1:][running[:-1] <= after[1:]] = -1
        after[:] = running
    ends = np.where(values[last - first] < INFINITE, values[last - first] + weight[n] * ticks, INFINITE)
    end = int(np.argmin(ends))
    _trace(first, last, end, problem, sums, widths, usage)
    return int(ends[end])


def fill(least: Ints, room: Ints, scale: int) -> Ints:
    """Price (3) for many windows of one width at once, INFINITE where no room."""
    usable = np.flatnonzero(room > 0)
    vals, caps = least[usable], room[usable]
    if len(usable) == 1 and caps[0] >= scale:
        alone: Ints = np.minimum(vals[0] * scale, INFINITE)
        return alone
    order = np.argsort(vals, axis=0, kind="stable")
    vals, caps = np.take_along_axis(vals, order, axis=0), caps[order]
    left = np.full(vals.shape[1], scale, dtype=np.int64)
    total = np.zeros(vals.shape[1], dtype=np.int64)
    for row, cap in zip(vals, caps, strict=True):
        take = np.minimum(left, cap)
        total += take * row
        left -= take
    return np.where(left == 0, total, INFINITE)


def _trace(first: int, last: int, end: int, problem: ChainProblem, sums: Ints, widths: Ints, usage: Ints) -> None:
    """Follow the best windows back from ``end`` and add the tasks to ``usage``."""
    for i in range(last - first - 1, -1, -1):
        r = first + i
        while widths[i, end] < 0:
            end -= 1
        w = int(widths[i, end])
        start = end - w
        p, q, scale = problem.processing[r], problem.busy[r], int(problem.scale[r])
        choices = []
        for k in range(problem.num_types):
            if problem.allowed[r, k] and w >= q[k]:
                span = w - int(q[k]) + 1
                price = sums[k, start + p[k] : start + p[k] + span] - sums[k, start : start + span]
                at = int(np.argmin(price))
                choices.append((int(price[at]), k, start + at))
        choices.sort()
        room = capacities(w, p, q, problem.allowed[r], problem.count, scale) if problem.capped[r] else None
        left = scale
        for _, k, at in choices:
            take = left if room is None else min(left, int(room[k]))
            usage[k, at] += take
            usage[k, at + p[k]] -= take
            left -= take
            if left == 0:
                break
        end = start


def evaluate_plain(problem: ChainProblem, weight: Ints, sums: Ints, job_values: Ints, usage: Ints) -> None:
    """Evaluate all jobs: ``job_values`` (N,) gets V_n, ``usage`` (K, length + reach + 1) the GPUs' differences."""
    rounds = int(np.diff(problem.round_start).max())
    values = np.empty((rounds + 1, problem.length), dtype=np.int64)
    widths = np.empty((rounds, problem.length), dtype=np.int64)
    usage[:] = 0
    for n in range(problem.num_jobs):
        job_values[n] = evaluate_job(n, problem, weight, sums, values, widths, usage)


def free_values(problem: ChainProblem, weight: Ints) -> Ints:
    """(N,) V_n when all prices are 0: every round in its shortest window."""
    out: Ints = weight * (problem.release + np.add.reduceat(problem.shortest, problem.round_start[:-1]))
    return out


def kernel_arguments(problem: ChainProblem) -> tuple[Any, ...]:
    """The problem as plain arrays, in the order that the kernel takes them."""
    return (
        problem.round_start,
        problem.release,
        problem.scale,
        problem.allowed,
        problem.processing,
        problem.busy,
        problem.count,
        problem.shortest,
        problem.widest,
        problem.capped,
    )
