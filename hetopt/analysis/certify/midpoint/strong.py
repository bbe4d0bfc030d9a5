"""The stronger inequalities (S1) to (S7) for true midpoints of a schedule, as a test of them.

All hold for H_i = start + p/2 on the GPU used ("E2"); E_{n,r} is the end of round r, E_{n,0} = a_n.
Where a type is forbidden, its column of a work measure takes q instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from hetopt.analysis.certify.midpoint.points import Inequality, prefix_loads
from hetopt.analysis.certify.midpoint.tasks import TaskProblem

__all__ = ["inequalities", "round_length"]


def capacity_of(problem: TaskProblem, cost: Sequence[int], members: Sequence[int]) -> Fraction:
    """V_c = sum_m max_i c_i / p_{i,m} over the members."""
    rows = {(cost[i], problem.processing[i]) for i in members}
    total = Fraction(0)
    for m in range(problem.num_gpus):
        total += max((Fraction(c, row[m] or 1) for c, row in rows if row[m] is not None), default=Fraction(0))
    return total


def round_length(problem: TaskProblem, tasks: Sequence[int], cost: Sequence[int]) -> Fraction:
    """Lambda of (S7): a lower bound on the time a round takes, units."""
    kinds = {(problem.processing[i], problem.sync[i]) for i in tasks}
    if len(kinds) > 1:
        longest = max(min(p + (s or 0) for p, s in zip(*kind, strict=True) if p is not None) for kind in kinds)
        sigma = min(problem.shortest_sync[i] for i in tasks)
        return max(Fraction(longest), sigma + sum(cost[i] for i in tasks) / capacity_of(problem, cost, tasks))
    pairs = [(p, s or 0) for p, s in zip(*kinds.pop(), strict=True) if p is not None]
    low, high = 0, min(p for p, _ in pairs) * len(tasks) + max(s for _, s in pairs)
    while low < high:
        middle = (low + high) // 2
        if sum(max(0, (middle - s) // p) for p, s in pairs) >= len(tasks):
            high = middle
        else:
            low = middle + 1
    return Fraction(low)


def inequalities(problem: TaskProblem, h: Sequence[int], ends: Sequence[Sequence[int]]) -> Iterator[Inequality]:
    """(S1) to (S7), each family in turn."""
    p, q, sigma = problem, problem.shortest, problem.shortest_sync
    everyone = range(p.num_tasks)
    known = {
        kind: min(x + 2 * (y or 0) for x, y in zip(*kind, strict=True) if x is not None) for kind in p.kinds
    }  # twice min_m (p/2 + s)
    half_and_sync = [known[kind] for kind in zip(p.processing, p.sync, strict=True)]
    head = [0] * p.num_tasks
    for n, rounds in enumerate(p.rounds):
        at = p.release[n]
        for r, tasks in enumerate(rounds):
            out = max(2 * h[i] + half_and_sync[i] for i in tasks)
            after = min(2 * h[k] - q[k] for k in rounds[r + 1]) if r + 1 < len(rounds) else 2 * ends[n][r]
            yield Inequality(out, after, f"(S1) {p.names[n]}, after round {r}")
            for i in tasks:
                head[i] = at
            at += max(
                min(x + (y or 0) for x, y in zip(p.processing[i], p.sync[i], strict=True) if x is not None)
                for i in tasks
            )
    yield from prefix_loads(q, h, everyone, capacity_of(p, q, everyone), "(S2)")
    columns = {tuple(row[m] for row in p.processing) for m in range(p.num_gpus)}
    for column in sorted(columns, key=lambda c: tuple(x or 0 for x in c)):
        cost = [q[i] if x is None else x for i, x in enumerate(column)]
        yield from prefix_loads(cost, h, everyone, capacity_of(p, cost, everyone), "(S3)")
    for rounds in p.rounds:
        members = [i for tasks in rounds for i in tasks]
        yield from prefix_loads(q, h, members, capacity_of(p, q, members), "(S4)")
    for threshold in sorted(set(head)):
        members = [i for i in everyone if head[i] >= threshold]
        yield from prefix_loads(
            q, [x - threshold for x in h], members, capacity_of(p, q, members), f"(S5) from {threshold}"
        )
    for n, rounds in enumerate(p.rounds):
        begin = p.release[n]
        for tasks, end in zip(rounds, ends[n], strict=True):
            v, s = capacity_of(p, q, tasks), min(sigma[i] for i in tasks)
            yield from prefix_loads(q, [x - begin for x in h], tasks, v, f"(S6) {p.names[n]}")
            yield from prefix_loads(q, [end - s - x for x in h], tasks, v, f"(S6) {p.names[n]}, backwards")
            yield Inequality(begin + round_length(p, tasks, q), end, f"(S7) {p.names[n]}")
            begin = end
