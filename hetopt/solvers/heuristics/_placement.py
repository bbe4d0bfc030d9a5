"""The inner loops of list scheduling, as kernels (see :mod:`hetopt.solvers._kernels`).

Each GPU type keeps a tournament tree of the times from which its GPUs are free (leaves padded to a
power of two with ``NEVER``), so that "lowest GPU index free by time t" is one walk down and one walk
up: O(K + log M) a task for K types and M GPUs.  A heap of (time, index) would answer only "lowest
index among those free first", which is another GPU as soon as several are free when a round gets ready.
"""

from __future__ import annotations

import heapq
from collections.abc import MutableSequence, Sequence
from typing import Final

__all__ = ["EARLIEST_AVAILABLE", "EARLIEST_FINISH", "EARLIEST_START", "NEVER", "place", "place_with_heaps"]

NEVER: Final = 2**62
"""Padding of the trees: later than every time of an instance."""
EARLIEST_AVAILABLE: Final = 0
EARLIEST_START: Final = 1
EARLIEST_FINISH: Final = 2


def place(
    rule: int,
    order: Sequence[int],
    round_job: Sequence[int],
    task_start: Sequence[int],
    processing: Sequence[int],
    sync: Sequence[int],
    shortest: Sequence[int],
    first_gpu: Sequence[int],
    size: Sequence[int],
    root: Sequence[int],
    tree: MutableSequence[int],
    numerator: int,
    denominator: int,
    ready: MutableSequence[int],
    gpu: MutableSequence[int],
    start: MutableSequence[int],
) -> None:
    """Place the tasks of the rounds of ``order`` one after another.

    Parameters
    ----------
    rule
        ``EARLIEST_AVAILABLE`` (R1): least (free time, index).  ``EARLIEST_START`` (R2): least (start,
        p + s, index).  ``EARLIEST_FINISH``: least (finish + penalty, start, index).
    order
        (R,) rounds; the rounds of a job in their own order.
    round_job, task_start
        (R,) and (R + 1,), as in ``InstanceArrays``.
    processing, sync
        (R * K,) ticks, row by row; p = 0 marks a forbidden type.
    shortest
        (R,) least p of each round, ticks.
    first_gpu, size, root
        (K,) first GPU of a type, leaves of its tree, place of its root in ``tree``.
    tree
        The free times; node i of a tree that starts at b = root - 1 is ``tree[b + i]``.  Changed.
    numerator, denominator
        The penalty of ``EARLIEST_FINISH`` is numerator / denominator ticks per tick of p above ``shortest``.
    ready
        (N,) time from which the next round of the job may start; release dates at first.  Changed.
    gpu, start
        (T,) the answer.
    """
    num_types = len(size)
    for position in range(len(order)):
        r = order[position]
        job = round_job[r]
        row = r * num_types
        since = ready[job]
        least = shortest[r]
        synchronised = since
        for task in range(task_start[r], task_start[r + 1]):
            best_type = -1
            best = 0
            best_then = 0
            for k in range(num_types):
                p = processing[row + k]
                if p == 0:
                    continue
                free = tree[root[k]]
                begin = free if free > since else since
                if rule == EARLIEST_AVAILABLE:
                    value = free
                    then = 0
                elif rule == EARLIEST_START:
                    value = begin
                    then = p + sync[row + k]
                else:
                    value = denominator * (begin + p + sync[row + k]) + numerator * (p - least)
                    then = begin
                if best_type < 0 or value < best or (value == best and then < best_then):
                    best_type = k
                    best = value
                    best_then = then
            p = processing[row + best_type]
            base = root[best_type] - 1
            leaves = size[best_type]
            free = tree[base + 1]
            begin = free if free > since else since
            # which of the type's GPUs: the lowest index free first (R1) or free by the start
            by = free if rule == EARLIEST_AVAILABLE else begin
            node = 1
            while node < leaves:
                node = 2 * node
                if tree[base + node] > by:
                    node = node + 1
            gpu[task] = first_gpu[best_type] + node - leaves
            start[task] = begin
            end = begin + p
            tree[base + node] = end
            node = node // 2
            while node > 0:
                left = tree[base + 2 * node]
                right = tree[base + 2 * node + 1]
                tree[base + node] = left if left < right else right
                node = node // 2
            end = end + sync[row + best_type]
            if end > synchronised:
                synchronised = end
        ready[job] = synchronised


def place_with_heaps(
    order: Sequence[int],
    round_job: Sequence[int],
    task_start: Sequence[int],
    processing: Sequence[Sequence[int]],
    sync: Sequence[Sequence[int]],
    first_gpu: Sequence[int],
    count: Sequence[int],
    ready: MutableSequence[int],
    gpu: MutableSequence[int],
    start: MutableSequence[int],
) -> None:
    """R1 with one heap of (free time, GPU) per type: what plain Python does fastest.

    ``processing`` and ``sync`` are rows per round; the rest is as in :func:`place`.
    """
    replace = heapq.heapreplace
    heaps = [[(0, first + i) for i in range(c)] for first, c in zip(first_gpu, count, strict=True)]
    for r in order:
        job = round_job[r]
        since = synchronised = ready[job]
        usable = [(heaps[k], p, s) for k, (p, s) in enumerate(zip(processing[r], sync[r], strict=True)) if p]
        heap, p, s = usable[0]
        several = len(usable) > 1
        for task in range(task_start[r], task_start[r + 1]):
            if several:
                heap, p, s = usable[0]
                top = heap[0]
                for other, q, z in usable:
                    if other[0] < top:
                        heap, p, s = other, q, z
                        top = other[0]
            free, m = heap[0]
            begin = free if free > since else since
            gpu[task] = m
            start[task] = begin
            replace(heap, (begin + p, m))
            if begin + p + s > synchronised:
                synchronised = begin + p + s
        ready[job] = synchronised
