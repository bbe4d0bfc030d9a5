"""Good schedules of small structured problems, as exact witnesses of upper bounds.

Jobs are placed one after the other; each task goes where it synchronises first, gaps included; the
order of the jobs is improved by swaps and moves from three starts.  No guarantee: the value found is
exact, its quality is whatever it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction

from hetopt.analysis.certify.midpoint.lists import TaskSchedule, completion
from hetopt.analysis.certify.midpoint.tasks import TaskProblem

__all__ = ["best_witness", "is_feasible", "place_jobs"]


def place_jobs(problem: TaskProblem, order: Sequence[int]) -> TaskSchedule:
    """Place the jobs in this order; every task where its p + s ends first (then lowest index)."""
    busy: list[list[tuple[int, int]]] = [[] for _ in range(problem.num_gpus)]
    gpu, start = [0] * problem.num_tasks, [0] * problem.num_tasks
    for n in order:
        ready = problem.release[n]
        for tasks in problem.rounds[n]:
            done = ready
            for i in tasks:
                best: tuple[int, int, int] | None = None
                for m in problem.eligible[i]:
                    p, s = problem.processing[i][m] or 0, problem.sync[i][m] or 0
                    time = ready
                    for begin, end in busy[m]:
                        if begin >= time + p:
                            break
                        time = max(time, end)
                    if best is None or (time + p + s, time, m) < best:
                        best = (time + p + s, time, m)
                assert best is not None
                finish, start[i], gpu[i] = best
                busy[gpu[i]].append((start[i], start[i] + (problem.processing[i][gpu[i]] or 0)))
                busy[gpu[i]].sort()
                done = max(done, finish)
            ready = done
    return TaskSchedule(tuple(gpu), tuple(start))


def _starts(problem: TaskProblem) -> list[tuple[int, ...]]:
    jobs = range(problem.num_jobs)
    work = [sum(problem.shortest[i] for tasks in rounds for i in tasks) for rounds in problem.rounds]
    return [
        tuple(sorted(jobs, key=lambda n: (work[n] / problem.weight[n], n))),
        tuple(sorted(jobs, key=lambda n: (-problem.weight[n], problem.release[n], n))),
        tuple(sorted(jobs, key=lambda n: (problem.release[n], n))),
    ]


def _neighbours(order: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for a, b in itertools.combinations(range(len(order)), 2):
        swapped = list(order)
        swapped[a], swapped[b] = swapped[b], swapped[a]
        yield tuple(swapped)
        moved = list(order)
        moved.insert(a, moved.pop(b))
        yield tuple(moved)


def best_witness(problem: TaskProblem, most: int = 400) -> tuple[TaskSchedule, Fraction]:
    """The best schedule found and its exact value (ticks); at most ``most`` orders are tried."""
    same = [
        (
            problem.weight[n],
            problem.release[n],
            tuple(tuple((problem.processing[i], problem.sync[i]) for i in t) for t in r),
        )
        for n, r in enumerate(problem.rounds)
    ]
    kind = {data: k for k, data in enumerate(dict.fromkeys(same))}
    known: dict[tuple[int, ...], tuple[Fraction, TaskSchedule]] = {}

    def value(order: tuple[int, ...]) -> Fraction:
        key = tuple(kind[same[n]] for n in order)  # jobs with equal data are interchangeable
        if key not in known:
            schedule = place_jobs(problem, order)
            known[key] = (problem.value(completion(problem, schedule)), schedule)
        return known[key][0]

    for start in _starts(problem):
        at, improved = start, True
        while improved and len(known) < most:
            improved = False
            for order in _neighbours(at):
                if value(order) < value(at):
                    at, improved = order, True
                    break
                if len(known) >= most:
                    break
        value(at)
    best = min(known.values(), key=lambda item: item[0])
    return best[1], best[0]


def is_feasible(problem: TaskProblem, schedule: TaskSchedule) -> bool:
    """Whether a task schedule breaks no rule (releases, rounds, eligibility, overlap)."""
    spans: list[list[tuple[int, int]]] = [[] for _ in range(problem.num_gpus)]
    for n, rounds in enumerate(problem.rounds):
        ready = problem.release[n]
        for tasks in rounds:
            done = ready
            for i in tasks:
                m, begin = schedule.gpu[i], schedule.start[i]
                p, s = problem.processing[i][m], problem.sync[i][m]
                if p is None or s is None or begin < ready:
                    return False
                spans[m].append((begin, begin + p))
                done = max(done, begin + p + s)
            ready = done
    return all(a[1] <= b[0] for span in spans for a, b in itertools.pairwise(sorted(span)))
