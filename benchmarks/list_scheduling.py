"""List scheduling: compiled kernel, plain twin and an independent heapq loop, in one run.

    python benchmarks/list_scheduling.py [--quick] [--repeat 3] [--output FILE.md]

Each row is one random instance of 4 GPU types; the three programs place the same list, their answers are compared
byte for byte, and the median rate of each is shown.  Compiling is not counted (one call before).
Rates change with the machine; read the ratios.  ``--quick`` stops at 100,000 tasks and 128 GPUs.
"""

from __future__ import annotations

import argparse
import heapq
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hetopt.core.instance import InstanceArrays
from hetopt.solvers import _kernels
from hetopt.solvers.heuristics import list_scheduling
from hetopt.solvers.heuristics.list_scheduling import PlacementRule, as_gamma, place

TYPES = 4


def random_arrays(tasks: int, gpus: int, seed: int) -> InstanceArrays:
    """About so many tasks in rounds of 1 to 5; jobs of about 10 rounds; a tenth of the (round, type) pairs forbidden."""
    rng = np.random.default_rng(seed)
    num_rounds = max(1, tasks // 3)
    num_jobs = max(1, num_rounds // 10)
    scale = rng.integers(1, 6, num_rounds)
    allowed = rng.random((num_rounds, TYPES)) < 0.9
    allowed[np.arange(num_rounds), rng.integers(0, TYPES, num_rounds)] = True
    processing = np.where(allowed, rng.integers(5, 60, (num_rounds, TYPES)), 0)
    sync = np.where(allowed, rng.integers(0, 8, (num_rounds, TYPES)), 0)
    round_start = np.sort(np.concatenate(([0, num_rounds], rng.choice(np.arange(1, num_rounds), num_jobs - 1, False))))
    far = np.iinfo(np.int64).max
    count = np.full(TYPES, gpus // TYPES)
    return InstanceArrays(
        gpu_count=count,
        gpu_type=np.repeat(np.arange(TYPES), count),
        weight=rng.integers(1, 10, num_jobs),
        release_date=rng.integers(0, 200, num_jobs),
        round_start=round_start,
        round_job=np.repeat(np.arange(num_jobs), np.diff(round_start)),
        scale=scale,
        task_start=np.concatenate(([0], np.cumsum(scale))),
        allowed=allowed,
        processing_time=processing,
        sync_time=sync,
        min_processing_time=np.where(allowed, processing, far).min(axis=1),
        min_sync_time=np.where(allowed, sync, far).min(axis=1),
        min_task_time=np.where(allowed, processing + sync, far).min(axis=1),
    )


def random_list(a: InstanceArrays, seed: int) -> np.ndarray:
    """Rounds in a random order that keeps those of a job in theirs."""
    key = np.random.default_rng(seed).random(a.num_rounds)
    for n in range(a.num_jobs):
        key[a.round_start[n] : a.round_start[n + 1]].sort()
    return np.argsort(key, kind="stable")


def heap_loop(a: InstanceArrays, order: np.ndarray, finish: bool) -> tuple[np.ndarray, np.ndarray]:
    """What one writes first: a heap of (free time, GPU) per type, tasks one at a time.

    By earliest finish the lowest index among the GPUs that are free in time has to be looked for in
    the heap; where the first GPU is not free in time it is the root.
    """
    first = [0, *np.cumsum(a.gpu_count).tolist()]
    heaps = [[(0, m) for m in range(first[k], first[k + 1])] for k in range(TYPES)]
    ready = a.release_date.tolist()
    processing, sync = a.processing_time.tolist(), a.sync_time.tolist()
    job_of, scale, task_start = a.round_job.tolist(), a.scale.tolist(), a.task_start.tolist()
    gpu, start = [0] * a.num_tasks, [0] * a.num_tasks
    for r in order.tolist():
        n, p, s, task = job_of[r], processing[r], sync[r], task_start[r]
        latest = since = ready[n]
        for _ in range(scale[r]):
            best = None
            for k in range(TYPES):
                if p[k]:
                    free, m = heaps[k][0]
                    begin = max(free, since)
                    rank = (begin + p[k] + s[k], begin, k) if finish else (free, m, k)
                    if best is None or rank < best:
                        best = rank
            k = best[2]
            heap = heaps[k]
            free, m = heap[0]
            if finish and free < since:
                m, at = min((entry[1], at) for at, entry in enumerate(heap) if entry[0] <= since)
                heap[at] = heap[-1]
                heap.pop()
                heapq.heapify(heap)
            else:
                heapq.heappop(heap)
            begin = max(free, since)
            end = begin + p[k]
            heapq.heappush(heap, (end, m))
            gpu[task], start[task] = m, begin
            task += 1
            latest = max(latest, end + s[k])
        ready[n] = latest
    return np.array(gpu), np.array(start)


def timed(
    call: Callable[[], tuple[np.ndarray, np.ndarray]], repeat: int
) -> tuple[float, tuple[np.ndarray, np.ndarray]]:
    """Median seconds, and the answer."""
    seconds = []
    for _ in range(repeat):
        began = time.perf_counter()
        answer = call()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds), answer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if not _kernels.numba_usable():
        print("numba is not usable here (extra 'fast'); there is nothing to compare", file=sys.stderr)
        return 6
    list_scheduling.WORTH_COMPILING = 0
    sizes = [(10_000, 16), (10_000, 128), (100_000, 128)]
    if not options.quick:
        sizes += [(100_000, 16), (100_000, 1024), (1_000_000, 16), (1_000_000, 128), (1_000_000, 1024)]
    lines = [
        "| tasks | GPUs | rule | compiled, tasks/s | plain twin, tasks/s | heapq loop, tasks/s | compiled / twin | compiled / loop | equal |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    print(*lines, sep="\n")
    wrong = 0
    for tasks, gpus in sizes:
        a = random_arrays(tasks, gpus, seed=0)
        order = random_list(a, seed=1)
        for rule in (PlacementRule.R1, PlacementRule.EARLIEST_FINISH):
            os.environ[_kernels.SWITCH] = "0"
            place(a, order, rule, as_gamma(0))
            fast, one = timed(lambda: place(a, order, rule, as_gamma(0)), options.repeat)  # noqa: B023
            os.environ[_kernels.SWITCH] = "1"
            slow, two = timed(lambda: place(a, order, rule, as_gamma(0)), options.repeat if tasks < 10**6 else 1)  # noqa: B023
            finish = rule is PlacementRule.EARLIEST_FINISH
            loop, three = timed(lambda: heap_loop(a, order, finish), options.repeat if tasks < 10**6 else 1)  # noqa: B023
            equal = all(x.tobytes() == y.tobytes() == z.tobytes() for x, y, z in zip(one, two, three, strict=True))
            wrong += not equal
            count = a.num_tasks
            lines.append(
                f"| {count} | {gpus} | {rule} | {count / fast:.3g} | {count / slow:.3g} | {count / loop:.3g} "
                f"| {slow / fast:.1f} | {loop / fast:.1f} | {'yes' if equal else 'NO'} |"
            )
            print(lines[-1], flush=True)
    if options.output:
        options.output.write_text("\n".join(lines) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
