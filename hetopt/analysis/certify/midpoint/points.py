"""Points of the midpoint LP and lower bounds on it, exactly.

    (load)   sum_{i in S} q_i H_i >= (sum_{i in S} q_i)^2 / (2B)     every set S of tasks
    (round)  H_k - q_k/2 >= H_i + q_i/2 + sigma_i                     k in the round after i's
    (rel)    H_i >= a_n + q_i/2                                       first rounds
    (compl)  C_n >= H_i + q_i/2 + sigma_i                             last rounds

For given H the load inequality that is violated most belongs to a prefix of the order of
non-decreasing H, so T of them are enough.

Lower bounds come from *splits*: job n divides its weight into c_{n,0} (which earns the critical
path) and c_i >= 0 for its tasks; with tail_i = q_i/2 + sigma_i + the longest path of the rounds
after i's,

    LP >= sum_n c_{n,0} (a_n + critical path of n) + min_H { sum_i c_i (H_i + tail_i) : (load) },

and Smith's rule (order of non-increasing c_i/q_i, midpoints of q_i/B placed back to back) attains
the minimum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise

from hetopt.analysis.certify.midpoint.tasks import Rational, TaskProblem

__all__ = ["Inequality", "Point", "lp_inequalities", "prefix_loads", "repaired", "split_bound", "tails"]


@dataclass(frozen=True)
class Inequality:
    """``left <= right`` (or ``left = right``), where it stands, and its two sides.

    ``power`` says what the sides are measured in: 0 pure numbers or ticks, 1 units, 2 units squared.
    """

    left: Rational
    right: Rational
    where: str
    equal: bool = False
    power: int = 1

    @property
    def holds(self) -> bool:
        """Whether it is true."""
        return self.left == self.right if self.equal else self.left <= self.right


@dataclass(frozen=True)
class Point:
    """Midpoints H (T,) and completion times C (N,), in units of the problem."""

    midpoint: tuple[int, ...]
    completion: tuple[int, ...]


def prefix_loads(
    cost: Sequence[int], time: Sequence[int], members: Sequence[int], capacity: Rational, where: str
) -> Iterator[Inequality]:
    """``c(S)^2 <= 2 V sum_S c_i t_i`` for the prefixes S of ``members`` by ``time``; the tightest of each tie is last."""
    total = moment = 0
    order = sorted(members, key=lambda i: time[i])
    for position, i in enumerate(order):
        total += cost[i]
        moment += cost[i] * time[i]
        if position + 1 == len(order) or time[order[position + 1]] != time[i] or cost[order[position + 1]] != cost[i]:
            yield Inequality(
                total * total, 2 * capacity * moment, f"{where}, first {position + 1} tasks by midpoint", power=2
            )


def lp_inequalities(problem: TaskProblem, point: Point, capacity: Rational) -> Iterator[Inequality]:
    """Every inequality of the LP that has to be looked at, in units (load: square units)."""
    h, q, sigma = point.midpoint, problem.shortest, problem.shortest_sync
    for n, rounds in enumerate(problem.rounds):
        for i in rounds[0]:
            yield Inequality(problem.release[n] + q[i] // 2, h[i], f"(rel) {problem.name(i)}")
        for r, (before, after) in enumerate(pairwise(rounds)):
            ready = max(h[i] + q[i] // 2 + sigma[i] for i in before)
            first = min(h[k] - q[k] // 2 for k in after)
            yield Inequality(ready, first, f"(round) {problem.names[n]}, rounds {r} and {r + 1}")
        done = max(h[i] + q[i] // 2 + sigma[i] for i in rounds[-1])
        yield Inequality(done, point.completion[n], f"(compl) {problem.names[n]}")
    yield from prefix_loads(q, h, range(problem.num_tasks), capacity, "(load)")


def forward(problem: TaskProblem, midpoint: Sequence[int]) -> list[int]:
    """Midpoints raised until (rel) and (round) hold, round by round."""
    h, q, sigma = list(midpoint), problem.shortest, problem.shortest_sync
    for n, rounds in enumerate(problem.rounds):
        ready = problem.release[n]
        for tasks in rounds:
            for i in tasks:
                h[i] = max(h[i], ready + q[i] // 2)
            ready = max(h[i] + q[i] // 2 + sigma[i] for i in tasks)
    return h


def repaired(problem: TaskProblem, midpoint: Sequence[Rational | float], capacity: Rational) -> Point:
    """A point that satisfies the LP exactly, near given midpoints (in ticks, any numbers).

    Round to the grid of units; raise until (rel) and (round) hold; shift everything by the largest
    violation of a prefix load inequality divided by its load, rounded up to the grid.
    """
    h = forward(problem, [round(Fraction(x) * problem.unit) for x in midpoint])
    q = problem.shortest
    total = moment = shift = 0
    for i in sorted(range(problem.num_tasks), key=lambda i: h[i]):
        total += q[i]
        moment += q[i] * h[i]
        lack = Fraction(total * total) / (2 * capacity) - moment
        if lack > 0:
            shift = max(shift, -(-lack // total))
    shifted = tuple(x + shift for x in h)
    sigma = problem.shortest_sync
    done = tuple(max(shifted[i] + q[i] // 2 + sigma[i] for i in rounds[-1]) for rounds in problem.rounds)
    return Point(shifted, done)


def tails(problem: TaskProblem) -> tuple[list[int], list[int]]:
    """tail_i per task (from its midpoint to the end of its job, at least) and a_n + critical path per job; units."""
    q, sigma = problem.shortest, problem.shortest_sync
    tail = [0] * problem.num_tasks
    path = []
    for n, rounds in enumerate(problem.rounds):
        after = 0
        for tasks in reversed(rounds):
            for i in tasks:
                tail[i] = q[i] // 2 + sigma[i] + after
            after += max(q[i] + sigma[i] for i in tasks)
        path.append(problem.release[n] + after)
    return tail, path


def split_bound(problem: TaskProblem, split: Sequence[Rational], capacity: Rational) -> Fraction:
    """The bound (in ticks) that a split of the weights proves; see the module.

    Parameters
    ----------
    split : (T,)
        c_i >= 0; what the tasks of a job leave of its weight is c_{n,0}.

    Raises
    ------
    ValueError
        Some c_i < 0, or a job gives away more than its weight.
    """
    q = problem.shortest
    tail, path = tails(problem)
    rest = list(problem.weight)
    for i, c in enumerate(split):
        if c < 0:
            raise ValueError(f"the part of {problem.name(i)} is {c}, below 0")
        rest[problem.job[i]] -= c
    for n, left in enumerate(rest):
        if left < 0:
            raise ValueError(
                f"{problem.names[n]} gives away {problem.weight[n] - left} of its weight {problem.weight[n]}"
            )
    bound = sum((left * p for left, p in zip(rest, path, strict=True)), Fraction(0))
    used = [i for i, c in enumerate(split) if c > 0]

    def falls(i: int, k: int) -> int:
        left, right = split[i] * q[k], split[k] * q[i]
        return (left < right) - (left > right)

    used.sort(key=cmp_to_key(falls))
    load = 0
    for i in used:
        bound += split[i] * (Fraction(2 * load + q[i]) / (2 * capacity) + tail[i])
        load += q[i]
    return bound / problem.unit
