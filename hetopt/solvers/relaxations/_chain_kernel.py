"""The chain programme of ``chain_windows`` as one loop nest over int64 arrays, for numba.

Gives the same bytes as :func:`hetopt.solvers.relaxations.chain_windows.evaluate_plain` (all values are
integers, ties are broken alike); never run uncompiled except by the test that compares the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["evaluate"]


def evaluate(
    round_start: Any,
    release: Any,
    scale: Any,
    allowed: Any,
    processing: Any,
    busy: Any,
    count: Any,
    shortest: Any,
    widest: Any,
    capped: Any,
    weight: Any,
    sums: Any,
    length: int,
    values: Any,
    widths: Any,
    job_values: Any,
    usage: Any,
    first_job: int,
    end_job: int,
) -> None:
    """Jobs first_job .. end_job - 1; see ``chain_windows.evaluate_job`` for the meaning of each array."""
    infinite = 1 << 61
    num_types = len(count)
    least = np.empty((num_types, length), np.int64)
    vals = np.empty(num_types, np.int64)
    types = np.empty(num_types, np.int64)
    spots = np.empty(num_types, np.int64)
    room = np.empty(num_types, np.int64)
    for n in range(first_job, end_job):
        first = round_start[n]
        chain = round_start[n + 1] - first
        for e in range(length):
            values[0, e] = 0 if e >= release[n] else infinite
        for i in range(chain):
            r = first + i
            d = scale[r]
            for e in range(length):
                values[i + 1, e] = infinite
                widths[i, e] = -1
            if not capped[r]:
                for k in range(num_types):
                    if not allowed[r, k]:
                        continue
                    p = processing[r, k]
                    q = busy[r, k]
                    for t in range(release[n], length - q):
                        before = values[i, t]
                        if before >= infinite:
                            continue
                        total = before + d * (sums[k, t + p] - sums[k, t])
                        if total < values[i + 1, t + q]:
                            values[i + 1, t + q] = total
                            widths[i, t + q] = q
            else:
                for k in range(num_types):
                    for e in range(length):
                        least[k, e] = infinite
                for w in range(min(widest[r], length - 1) + 1):
                    for k in range(num_types):
                        room[k] = 0
                        if allowed[r, k] and w >= busy[r, k]:
                            p = processing[r, k]
                            shift = w - busy[r, k]
                            times = d
                            if p > 0:
                                times = min((shift + p) // p, d)
                            room[k] = min(d, count[k] * times)
                            for a in range(release[n], length - w):
                                price = sums[k, a + shift + p] - sums[k, a + shift]
                                if price < least[k, a]:
                                    least[k, a] = price
                    if w < shortest[r]:
                        continue
                    for a in range(release[n], length - w):
                        before = values[i, a]
                        if before >= values[i + 1, a + w]:
                            continue
                        found = 0
                        for k in range(num_types):
                            if room[k] > 0:
                                value = least[k, a]
                                j = found
                                while j > 0 and vals[j - 1] > value:
                                    vals[j] = vals[j - 1]
                                    types[j] = types[j - 1]
                                    j -= 1
                                vals[j] = value
                                types[j] = k
                                found += 1
                        left = d
                        total = before
                        for j in range(found):
                            take = min(left, room[types[j]])
                            total += take * vals[j]
                            left -= take
                            if left == 0:
                                break
                        if left == 0 and total < values[i + 1, a + w]:
                            values[i + 1, a + w] = total
                            widths[i, a + w] = w
            for e in range(1, length):
                if values[i + 1, e - 1] <= values[i + 1, e]:
                    values[i + 1, e] = values[i + 1, e - 1]
                    widths[i, e] = -1
        best = infinite
        end = 0
        for e in range(length):
            if values[chain, e] < infinite and values[chain, e] + weight[n] * e < best:
                best = values[chain, e] + weight[n] * e
                end = e
        job_values[n] = best
        for i in range(chain - 1, -1, -1):
            r = first + i
            while widths[i, end] < 0:
                end -= 1
            w = widths[i, end]
            start = end - w
            d = scale[r]
            found = 0
            for k in range(num_types):
                if allowed[r, k] and w >= busy[r, k]:
                    p = processing[r, k]
                    value = infinite
                    spot = start
                    for t in range(start, end - busy[r, k] + 1):
                        price = sums[k, t + p] - sums[k, t]
                        if price < value:
                            value = price
                            spot = t
                    j = found
                    while j > 0 and vals[j - 1] > value:
                        vals[j] = vals[j - 1]
                        types[j] = types[j - 1]
                        spots[j] = spots[j - 1]
                        j -= 1
                    vals[j] = value
                    types[j] = k
                    spots[j] = spot
                    found += 1
            left = d
            for j in range(found):
                k = types[j]
                p = processing[r, k]
                take = left
                if capped[r]:
                    times = d
                    if p > 0:
                        times = min((w - busy[r, k] + p) // p, d)
                    take = min(left, min(d, count[k] * times))
                usage[k, spots[j]] += take
                usage[k, spots[j] + p] -= take
                left -= take
                if left == 0:
                    break
            end = start
