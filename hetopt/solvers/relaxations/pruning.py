"""Exclusions from a dual: which (round, type, start) no schedule of value <= UB can use.

Statement.  Let L(u) be the Lagrangian bound and, for a task of round r forced onto type k from tick t,
``V_n(r, k, t)`` the cheapest way to run its job.  Every schedule in which some task of round r starts at t on type k
has value >= L(u) - V_n + V_n(r, k, t).  If that exceeds UB, no schedule of value <= UB does so.
(The other jobs keep their V, the constraint only concerns job n.)

Computing V_n(r, k, t): with F the forward values of ``chain_windows`` (rounds before r done by a) and B the
mirrored backward values (rounds after r from b on, finishing included), it is

.. math:: c_k(t) + \\min_{a \\le t,\\; b \\ge t + p_k + s_k} F(a) + B(b) + C'(a, b),

C' the price of the other d - 1 tasks within [a, b].  Without window capacities all of those take one (type k', start t'),
and a, b are the ends of the hull of both: four cases (inside, left, right, around), each a prefix, suffix or sliding
minimum of constant width.  With them, every width from L_r to W_r is tried (one GPU-slot of k less for the others), and
for hulls longer than W_r the cases left and right remain.

All in integers; O(R T K^2 log T) without, plus O(R T W K^2) with window capacities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from hetopt.core.instance import Instance
from hetopt.core.objectives import offset
from hetopt.core.solver import Exclusions
from hetopt.core.status import Objective
from hetopt.solvers.relaxations.chain_windows import (
    INFINITE,
    ChainProblem,
    Ints,
    capacities,
    evaluate_job,
    fill,
    prefix_sums,
)
from hetopt.solvers.relaxations.time_indexed_lagrangian import Dual

__all__ = ["exclusions", "marginals"]


def _slide(values: Ints, width: int) -> Ints:
    """Minimum of each ``values[i : i + width]``, shorter at the end; by doubling, O(n log width)."""
    out = values.copy()
    have = 1
    while have < width:
        step = min(have, width - have)
        if step >= len(out):
            break
        np.minimum(out[:-step], out[step:], out=out[:-step])
        have += step
    return out


def _at(values: Ints, index: Ints) -> Ints:
    """``values[index]``, INFINITE outside."""
    inside = (index >= 0) & (index < len(values))
    out = np.full(len(index), INFINITE, dtype=np.int64)
    out[inside] = values[index[inside]]
    return out


def _backward(n: int, problem: ChainProblem, weight: int, sums: Ints, margin: int) -> Ints:
    """(R_n + 1, length + margin): cheapest rest of job n when its round i may start from each tick on."""
    first, last = int(problem.round_start[n]), int(problem.round_start[n + 1])
    length = problem.length
    ticks = np.arange(length + margin, dtype=np.int64)
    out = np.empty((last - first + 1, length + margin), dtype=np.int64)
    out[-1] = weight * ticks
    for i in range(last - first - 1, -1, -1):
        r = first + i
        later, row = out[i + 1], out[i]
        # past the last tick nothing is priced any more: the rest runs in the shortest windows
        row[length:] = weight * (ticks[length:] + int(problem.shortest[r:last].sum()))
        here = np.full(length, INFINITE, dtype=np.int64)
        scale, p, q, allowed = int(problem.scale[r]), problem.processing[r], problem.busy[r], problem.allowed[r]
        costs = [sums[k, p[k] : p[k] + length] - sums[k, :length] for k in range(problem.num_types)]
        if not problem.capped[r]:
            for k in np.flatnonzero(allowed).tolist():
                np.minimum(here, scale * costs[k] + later[q[k] : q[k] + length], out=here)
        else:
            for w, least, room in _widths(problem, r, costs):
                total = np.minimum(fill(least, room, scale), INFINITE)
                np.minimum(here, total + later[w : w + length], out=here)
        row[:length] = here
        row[:] = np.minimum.accumulate(row[::-1])[::-1]
    return np.minimum(out, INFINITE)


def _widths(problem: ChainProblem, r: int, costs: list[Ints]) -> Iterator[tuple[int, Ints, Ints]]:
    """Each window width of a capped round: (w, (K, length) least prices m_k(a, a + w), (K,) capacities)."""
    length = problem.length
    p, q, allowed = problem.processing[r], problem.busy[r], problem.allowed[r]
    least = np.full((problem.num_types, length), INFINITE, dtype=np.int64)
    for w in range(int(problem.widest[r]) + 1):
        for k in range(problem.num_types):
            if allowed[k] and w >= q[k]:
                shift = w - int(q[k])
                # past the last tick every price is 0
                price = np.zeros(length, dtype=np.int64)
                if shift < length:
                    price[: length - shift] = costs[k][shift:]
                np.minimum(least[k], price, out=least[k])
        if w >= problem.shortest[r]:
            yield w, least, capacities(w, p, q, allowed, problem.count, int(problem.scale[r]))


def _others(
    before: Ints, later: Ints, costs: list[Ints], problem: ChainProblem, r: int, k: int, ticks: Ints, beyond: int
) -> Ints:
    """Cheapest F + B + price of the d - 1 other tasks, all at one (k', t'), for the forced (k, t) at each tick t.

    ``beyond`` < 0: all hulls; else only those longer than ``beyond``.
    """
    length = problem.length
    q = problem.busy[r]
    others = int(problem.scale[r]) - 1
    end = later[q[k] : q[k] + length]
    if others == 0:
        return before + end if beyond < 0 else np.full(length, INFINITE, dtype=np.int64)
    out = np.full(length, INFINITE, dtype=np.int64)
    for j in np.flatnonzero(problem.allowed[r]).tolist():
        price = others * costs[j]
        finish = later[q[j] : q[j] + length]
        gap = int(q[k] - q[j])
        # left: t' before t, ends no later; b = t + q_k
        head = np.minimum.accumulate(np.minimum(before + price, INFINITE))
        last = np.minimum(ticks, ticks + gap) if beyond < 0 else ticks + int(q[k]) - beyond - 1
        np.minimum(out, _at(head, np.minimum(last, length - 1)) + end, out=out)
        # right: t' from t on, ends no earlier; a = t
        tail = np.minimum.accumulate((price + finish)[::-1])[::-1]
        first = np.maximum(ticks, ticks + gap) if beyond < 0 else ticks + beyond - int(q[j]) + 1
        # past the last tick the others are free, and best as early as they may be
        right = np.where(first < length, _at(tail, np.maximum(first, 0)), later[np.maximum(first, 0) + q[j]])
        np.minimum(out, before + right, out=out)
        if beyond >= 0:
            continue
        if gap >= 0:  # inside
            np.minimum(out, before + end + _slide(price, gap + 1), out=out)
        else:  # around: t + gap <= t' <= t
            around = np.full(length - gap, INFINITE, dtype=np.int64)
            around[-gap:] = np.minimum(before + price, INFINITE) + finish
            np.minimum(out, _slide(around, -gap + 1)[:length], out=out)
    return out


def marginals(dual: Dual) -> Iterator[tuple[int, int, int, Ints]]:
    """For each (round, type): ``(round, type, weight of the job, V_n(r, k, t) - V_n)``, scaled, one entry a tick.

    Past the last tick the marginal grows by the weight per tick.  INFINITE and above: impossible.
    """
    problem = dual.problem
    sums = prefix_sums(problem, dual.prices)
    weights = problem.weight << dual.bits
    length = problem.length
    usage = np.zeros((problem.num_types, length + problem.reach + 1), dtype=np.int64)
    ticks = np.arange(length, dtype=np.int64)
    margin = int(max(problem.widest.max(), problem.busy.max())) + 1
    for n in range(problem.num_jobs):
        first, last = int(problem.round_start[n]), int(problem.round_start[n + 1])
        values = np.empty((last - first + 1, length), dtype=np.int64)
        widths = np.empty((last - first, length), dtype=np.int64)
        base = evaluate_job(n, problem, weights, sums, values, widths, usage)
        back = _backward(n, problem, int(weights[n]), sums, margin)
        for i, r in enumerate(range(first, last)):
            before, later, p = values[i], back[i + 1], problem.processing[r]
            costs = [sums[k, p[k] : p[k] + length] - sums[k, :length] for k in range(problem.num_types)]
            kinds = np.flatnonzero(problem.allowed[r]).tolist()
            if not problem.capped[r]:
                for k in kinds:
                    rest = _others(before, later, costs, problem, r, k, ticks, -1)
                    yield r, k, int(weights[n]), np.minimum(rest, INFINITE) + costs[k] - base
                continue
            scale, wide = int(problem.scale[r]), int(problem.widest[r])
            best = {k: _others(before, later, costs, problem, r, k, ticks, wide) for k in kinds}
            for w, least, room in _widths(problem, r, costs):
                for k in kinds:
                    if room[k] == 0:
                        continue
                    fewer = room.copy()
                    fewer[k] -= 1
                    rest = np.zeros(length, dtype=np.int64) if scale == 1 else fill(least, fewer, scale - 1)
                    total = np.minimum(before + rest, INFINITE) + later[w : w + length]
                    # windows [a, a + w] around [t, t + q_k]: a from t + q_k - w to t
                    reach = w - int(problem.busy[r, k])
                    padded = np.concatenate((np.full(reach, INFINITE, dtype=np.int64), total))
                    np.minimum(best[k], _slide(padded, reach + 1)[:length], out=best[k])
            for k in kinds:
                yield r, k, int(weights[n]), np.minimum(best[k], INFINITE) + costs[k] - base


def exclusions(
    instance: Instance,
    dual: Dual,
    upper_bound: int,
    objective: Objective,
    stop: Callable[[], bool] = lambda: False,
) -> Exclusions | None:
    """What no schedule of value <= ``upper_bound`` (in ``objective``: completion or flow) uses.

    ``stop`` is asked at each (round, type); once it is true the answer is None.

    Every such schedule survives; if the bound is above ``upper_bound`` there is none, and everything goes.
    Where time is coarsened by g, a coarse tick x stands for the starts g x .. g x + g - 1.
    """
    problem = dual.problem
    g = problem.coarsening
    completion = upper_bound - offset(instance, objective)
    spare = int(((completion << dual.bits) - dual.value * (1 << dual.bits)) // g)
    shape = (instance.num_rounds, problem.num_types)
    earliest = np.zeros(shape, dtype=np.int64)
    latest = np.full(shape, -1, dtype=np.int64)
    allowed: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}
    end = problem.length - 1
    for r, k, slope, marginal in marginals(dual):
        if stop():
            return None
        open_ticks: NDArray[np.bool_] = marginal <= spare
        if not open_ticks.any():
            continue
        places = np.flatnonzero(open_ticks)
        breaks = np.flatnonzero(np.diff(places) > 1)
        starts = places[np.concatenate(([0], breaks + 1))].tolist()
        ends = places[np.concatenate((breaks, [len(places) - 1]))].tolist()
        if ends[-1] == end:
            ends[-1] += (spare - int(marginal[end])) // slope
        starts, ends = [g * x for x in starts], [g * x + g - 1 for x in ends]
        earliest[r, k], latest[r, k] = starts[0], ends[-1]
        allowed[(r, k)] = tuple(zip(starts, ends, strict=True))
    return Exclusions(objective=objective, upper_bound=upper_bound, earliest=earliest, latest=latest, allowed=allowed)
