"""Optimum by exhaustive search, for tiny instances; shares nothing with models or solvers.

Every objective here is regular (it never gets better when a task ends later), so some optimal
schedule is semi-active: listing its tasks by start, each starts when its GPU becomes free or its
round becomes ready, whichever is later.  The search tries every such list and every GPU for
each task, reading the jobs of the instance directly, in integers.  Within a round tasks are alike, and so
are GPUs of one type with the same free time, so one of each is tried.
"""

from __future__ import annotations

from hetopt.core.instance import Instance

MAX_TASKS = 8


def optimum(instance: Instance, objective: str = "total-weighted-completion") -> int:
    """Optimal value of a tiny instance."""
    return solve(instance, objective)[0]


def solve(instance: Instance, objective: str = "total-weighted-completion") -> tuple[int, list[tuple[int, ...]]]:
    """Optimal value and the rows (job, round, task, gpu, start) of an optimal schedule."""
    rounds = [[part for part in job.rounds for _ in range(part.repeat)] for job in instance.jobs]
    tasks = sum(part.scale for chain in rounds for part in chain)
    if tasks > MAX_TASKS:
        raise ValueError(f"{tasks} tasks are too many for exhaustive search")
    kinds = [k for k, gpu in enumerate(instance.gpu_types) for _ in range(gpu.count)]
    weights = [job.weight for job in instance.jobs]
    release = [job.release_date for job in instance.jobs]
    makespan = objective == "makespan"

    def least(part) -> int:
        return min(p + s for p, s in zip(part.processing_time, part.sync_time) if p is not None)

    # least time that the rounds from r on take, once round r is ready
    tail = [[sum(least(part) for part in chain[r:]) for r in range(len(chain) + 1)] for chain in rounds]
    best: list = [None, []]
    seen: dict[tuple, int] = {}

    def bound(state) -> int:
        ends = []
        for n, (r, left, ready, synced) in enumerate(state):
            if r == len(rounds[n]):
                ends.append(ready)
            elif left == rounds[n][r].scale:
                ends.append(ready + tail[n][r])
            else:
                ends.append(max(synced, ready + least(rounds[n][r])) + tail[n][r + 1])
        return max(ends) if makespan else sum(w * c for w, c in zip(weights, ends))

    def visit(state, free, last, rows) -> None:
        value = bound(state)
        if best[0] is not None and value >= best[0]:
            return
        if all(r == len(rounds[n]) for n, (r, _, _, _) in enumerate(state)):
            best[0], best[1] = value, list(rows)
            return
        # a free time before the last start is as good as the last start: lists are in order of start
        key = (state, tuple(sorted((kinds[g], max(f, last)) for g, f in enumerate(free))), last)
        if key in seen:
            return
        seen[key] = 1
        moves = []
        for n, (r, _, ready, _) in enumerate(state):
            if r == len(rounds[n]):
                continue
            part = rounds[n][r]
            tried = set()
            for g, k in enumerate(kinds):
                if part.processing_time[k] is None:
                    continue
                start = max(free[g], ready)
                if start < last or (k, start) in tried:
                    continue
                tried.add((k, start))
                moves.append((start, n, g, k))
        for start, n, g, k in sorted(moves):
            r, left, ready, synced = state[n]
            part = rounds[n][r]
            end = start + part.processing_time[k]
            synced = max(synced, end + part.sync_time[k])
            row = (n, r, part.scale - left, g, start)
            after = (
                (r + 1, rounds[n][r + 1].scale if r + 1 < len(rounds[n]) else 0, synced, 0)
                if left == 1
                else (
                    r,
                    left - 1,
                    ready,
                    synced,
                )
            )
            visit(
                (*state[:n], after, *state[n + 1 :]),
                (*free[:g], end, *free[g + 1 :]),
                start,
                [*rows, row],
            )

    first = tuple((0, rounds[n][0].scale, release[n], 0) for n in range(len(rounds)))
    visit(first, (0,) * len(kinds), 0, [])
    value = best[0]
    if objective == "total-weighted-flow":
        value -= sum(w * r for w, r in zip(weights, release))
    return value, best[1]
