"""The event loop of the hlas, las, fifo, srtf and wspt family as one kernel over flat sequences of whole numbers.

The same source runs compiled over int64 arrays and as it stands over lists, with equal results (see
:mod:`hetopt.solvers._kernels`).  Everything that the loop remembers is in its arguments, so that it can be called again
to go on: it returns after ``budget`` events or when nothing is left.

``state`` holds: 0 length of the event heap, 1 next release in ``by_release``, 2 events so far, 3 present tick.
Events that are due at one tick are all acted on before the next decision, in any order: they commute.
"""

from __future__ import annotations

from typing import Any

__all__ = ["run_events", "sift_down", "sift_up"]


def sift_up(a: Any, b: Any, base: int, position: int) -> None:
    """Restore the heap with keys (a, b) at ``base`` after its entry at ``position`` (from 0) got a smaller key."""
    i = base + position
    while position > 0:
        position = (position - 1) // 2
        parent = base + position
        if a[parent] < a[i] or (a[parent] == a[i] and b[parent] <= b[i]):
            return
        a[i], a[parent] = a[parent], a[i]
        b[i], b[parent] = b[parent], b[i]
        i = parent


def sift_down(a: Any, b: Any, base: int, size: int) -> None:
    """Restore the heap with keys (a, b) at ``base`` after its first entry got a larger key."""
    position = 0
    while True:
        child = 2 * position + 1
        if child >= size:
            return
        c = base + child
        if child + 1 < size and (a[c + 1] < a[c] or (a[c + 1] == a[c] and b[c + 1] < b[c])):
            child += 1
            c += 1
        i = base + position
        if a[i] < a[c] or (a[i] == a[c] and b[i] <= b[c]):
            return
        a[i], a[c] = a[c], a[i]
        b[i], b[c] = b[c], b[i]
        position = child


def run_events(
    budget: int,
    state: Any,  # see the module
    dynamic: int,  # 1: keys are attained service; 0: keys are fixed_key of the round
    limits: Any,  # thresholds of the queues, rising; empty: continuous
    rank_of_job: Any,  # (N,) ties
    job_of_rank: Any,  # (N,)
    divisor: Any,  # (N,) service is divided by it
    by_release: Any,  # (N,) jobs in order of release
    release: Any,  # (N,)
    last_round: Any,  # (N,)
    round_job: Any,  # (R,)
    task_start: Any,  # (R + 1,)
    profile: Any,  # (R,) row of the tables by type
    fixed_key: Any,  # (R,)
    kinds: int,
    processing: Any,  # (P * K,)
    sync: Any,  # (P * K,)
    charge: Any,  # (P * K,) service of a task, parts of a tick
    preferred: Any,  # (P * K,) allowed types in order of preference, then -1
    line_of: Any,  # (P,) waiting line: jobs that may run on the same types
    usable: Any,  # (L * K,) whether a line may use a type
    lines: int,
    jobs: int,
    line_key: Any,  # (L * N,) heaps of waiting jobs
    line_rank: Any,  # (L * N,)
    line_size: Any,  # (L,)
    idle: Any,  # (M,) heaps of free GPUs by type
    idle_zero: Any,  # (M,) second keys, all 0
    idle_base: Any,  # (K,)
    idle_size: Any,  # (K,)
    gpu_type: Any,  # (M,)
    gpus: int,
    event_time: Any,  # (M + N,) heap: (tick, GPU) or (tick, M + job whose round is ready)
    event_what: Any,  # (M + N,)
    present: Any,  # (N,) present round
    next_task: Any,  # (N,)
    synced: Any,  # (N,) latest sync end of the present round
    service: Any,  # (N,)
    gpu: Any,  # (T,) out
    start: Any,  # (T,) out
    finish: Any,  # (N,) out
) -> int:
    """Run; the number of events acted on."""
    heap, coming, done = state[0], state[1], 0
    while done < budget and (heap > 0 or coming < jobs):
        now = event_time[0] if heap > 0 else release[by_release[coming]]
        if coming < jobs and release[by_release[coming]] < now:
            now = release[by_release[coming]]
        while heap > 0 and event_time[0] == now:
            what = event_what[0]
            heap -= 1
            event_time[0], event_what[0] = event_time[heap], event_what[heap]
            sift_down(event_time, event_what, 0, heap)
            done += 1
            if what < gpus:
                k = gpu_type[what]
                base, size = idle_base[k], idle_size[k]
                idle[base + size] = what
                idle_size[k] = size + 1
                sift_up(idle, idle_zero, base, size)
                continue
            n = what - gpus
            if present[n] == last_round[n]:
                finish[n] = now
                continue
            present[n] += 1
            r = present[n]
            next_task[n] = task_start[r]
            synced[n] = 0
            line = line_of[profile[r]]
            key = fixed_key[r]
            if dynamic == 1:
                key = service[n] // divisor[n]
                if len(limits) > 0:
                    level = 0
                    for limit in limits:
                        if key >= limit:
                            level += 1
                    key = level
            size = line_size[line]
            line_key[line * jobs + size], line_rank[line * jobs + size] = key, rank_of_job[n]
            line_size[line] = size + 1
            sift_up(line_key, line_rank, line * jobs, size)
        while coming < jobs and release[by_release[coming]] == now:
            n = by_release[coming]
            coming += 1
            done += 1
            r = present[n]
            line = line_of[profile[r]]
            key = fixed_key[r]
            if dynamic == 1:
                key = 0
            size = line_size[line]
            line_key[line * jobs + size], line_rank[line * jobs + size] = key, rank_of_job[n]
            line_size[line] = size + 1
            sift_up(line_key, line_rank, line * jobs, size)
        while True:
            best = -1
            for line in range(lines):
                if line_size[line] == 0:
                    continue
                able = False
                for k in range(kinds):
                    if usable[line * kinds + k] != 0 and idle_size[k] > 0:
                        able = True
                        break
                if not able:
                    continue
                if best < 0:
                    best = line
                else:
                    i, j = line * jobs, best * jobs
                    if line_key[i] < line_key[j] or (line_key[i] == line_key[j] and line_rank[i] < line_rank[j]):
                        best = line
            if best < 0:
                break
            top = best * jobs
            n = job_of_rank[line_rank[top]]
            r = present[n]
            row = profile[r] * kinds
            kind = -1
            for position in range(kinds):
                k = preferred[row + position]
                if k < 0:
                    break
                if idle_size[k] > 0:
                    kind = k
                    break
            base = idle_base[kind]
            m = idle[base]
            size = idle_size[kind] - 1
            idle_size[kind] = size
            idle[base] = idle[base + size]
            sift_down(idle, idle_zero, base, size)
            task = next_task[n]
            next_task[n] = task + 1
            gpu[task], start[task] = m, now
            end = now + processing[row + kind]
            event_time[heap], event_what[heap] = end, m
            sift_up(event_time, event_what, 0, heap)
            heap += 1
            if end + sync[row + kind] > synced[n]:
                synced[n] = end + sync[row + kind]
            if dynamic == 1:
                service[n] += charge[row + kind]
            if task + 1 == task_start[r + 1]:
                event_time[heap], event_what[heap] = synced[n], gpus + n
                sift_up(event_time, event_what, 0, heap)
                heap += 1
                size = line_size[best] - 1
                line_size[best] = size
                line_key[top], line_rank[top] = line_key[top + size], line_rank[top + size]
                sift_down(line_key, line_rank, top, size)
            elif dynamic == 1:
                key = service[n] // divisor[n]
                if len(limits) > 0:
                    level = 0
                    for limit in limits:
                        if key >= limit:
                            level += 1
                    key = level
                line_key[top] = key
                sift_down(line_key, line_rank, top, line_size[best])
        state[3] = now
    state[0], state[1] = heap, coming
    state[2] += done
    return done
