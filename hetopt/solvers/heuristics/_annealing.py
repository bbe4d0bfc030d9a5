"""The inner loops of the local search, as kernels (see :mod:`hetopt.solvers._kernels`).

A *code* of a schedule is a sequence of jobs in which job n stands once per round (its r-th place is
its r-th round, so that every sequence respects the chains), a set of GPU types per round (bits), and
one waste penalty.  Decoding is list scheduling by earliest finish within the sets.  Since GPUs of a type
are alike, a type keeps only its sorted free times, and a task takes the GPU that has been free for
the shortest time (the gap left behind is least).

Two things make a step cheap.  The value of a partial decoding, each job counted as if its remaining
rounds took their least times, never falls; so a step stops once it is past what would be accepted.
And the state before every ``spacing``-th place is kept while it is that of the current code, so that a
step starts near the first place it changes.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import Final

__all__ = ["DENOMINATOR", "DRAWS", "anneal", "decode", "write"]

DENOMINATOR: Final = 16
"""Waste penalties of the search are whole multiples of 1/16."""
DRAWS: Final = 5
"""Uniform random numbers used by a step."""


def decode(
    low: int,
    limit: int,
    makespan: int,
    sequence: Sequence[int],
    types: Sequence[int],
    gamma: int,
    weight: Sequence[int],
    round_start: Sequence[int],
    scale: Sequence[int],
    processing: Sequence[int],
    sync: Sequence[int],
    shortest: Sequence[int],
    quickest: Sequence[int],
    rest: Sequence[int],
    first_gpu: Sequence[int],
    spacing: int,
    valid: MutableSequence[int],
    kept_free: MutableSequence[int],
    kept_ready: MutableSequence[int],
    kept_done: MutableSequence[int],
    kept_value: MutableSequence[int],
    free: MutableSequence[int],
    ready: MutableSequence[int],
    done: MutableSequence[int],
) -> int:
    """The value of a code, or some number above ``limit`` that the value is not below.

    Parameters
    ----------
    low
        The code is that of the kept states up to this place.
    limit
        Values above it are of no interest.
    makespan
        1 for the makespan, 0 for the sum of weight x completion.
    sequence, types, gamma
        The code: (R,) jobs, (R,) bits by type, penalty in ``1 / DENOMINATOR``.
    weight, round_start, scale, processing, sync, shortest, quickest
        The instance: (N,), (N + 1,), (R,), (R * K,), (R * K,), (R,) least p, (R,) least p + s.
    rest
        (R,) sum of ``quickest`` over the later rounds of the job.
    first_gpu
        (K + 1,) GPUs of type k are ``first_gpu[k] .. first_gpu[k + 1] - 1``.
    spacing, valid, kept_free, kept_ready, kept_done, kept_value
        Kept states: number 0 to ``valid[0]`` are those of the code before place number x spacing.
    free, ready, done
        Scratch: (M,) sorted per type, (N,), (N,).
    """
    num_types = len(first_gpu) - 1
    num_gpus = len(free)
    num_jobs = len(weight)
    kept = low // spacing
    if kept > valid[0]:
        kept = valid[0]
    for m in range(num_gpus):
        free[m] = kept_free[kept * num_gpus + m]
    for n in range(num_jobs):
        ready[n] = kept_ready[kept * num_jobs + n]
        done[n] = kept_done[kept * num_jobs + n]
    value = kept_value[kept]
    place = kept * spacing
    next_kept = place + spacing
    for at in range(place, len(sequence)):
        if at == next_kept:
            if at <= low:
                kept = at // spacing
                valid[0] = kept
                for m in range(num_gpus):
                    kept_free[kept * num_gpus + m] = free[m]
                for n in range(num_jobs):
                    kept_ready[kept * num_jobs + n] = ready[n]
                    kept_done[kept * num_jobs + n] = done[n]
                kept_value[kept] = value
            next_kept = at + spacing
        job = sequence[at]
        r = round_start[job] + done[job]
        done[job] += 1
        since = ready[job]
        synchronised = since
        row = r * num_types
        allowed = types[r]
        least = shortest[r]
        for _ in range(scale[r]):
            best_type = -1
            best = 0
            best_begin = 0
            for k in range(num_types):
                if (allowed >> k) & 1 == 0:
                    continue
                p = processing[row + k]
                begin = free[first_gpu[k]]
                if begin < since:
                    begin = since
                score = DENOMINATOR * (begin + p + sync[row + k]) + gamma * (p - least)
                if best_type < 0 or score < best or (score == best and begin < best_begin):
                    best_type = k
                    best = score
                    best_begin = begin
            m = first_gpu[best_type]
            last = first_gpu[best_type + 1] - 1
            while m < last and free[m + 1] <= best_begin:
                m += 1
            end = best_begin + processing[row + best_type]
            while m < last and free[m + 1] < end:
                free[m] = free[m + 1]
                m += 1
            free[m] = end
            end += sync[row + best_type]
            if end > synchronised:
                synchronised = end
        ready[job] = synchronised
        if makespan:
            whole = synchronised + rest[r]
            if whole > value:
                value = whole
        else:
            value += weight[job] * (synchronised - since - quickest[r])
        if value > limit:
            return value
    return value


def write(
    sequence: Sequence[int],
    types: Sequence[int],
    gamma: int,
    round_start: Sequence[int],
    task_start: Sequence[int],
    processing: Sequence[int],
    sync: Sequence[int],
    shortest: Sequence[int],
    first_gpu: Sequence[int],
    free: MutableSequence[int],
    names: MutableSequence[int],
    ready: MutableSequence[int],
    done: MutableSequence[int],
    gpu: MutableSequence[int],
    start: MutableSequence[int],
) -> None:
    """The schedule of a code: what :func:`decode` values, with GPU numbers.

    Parameters
    ----------
    sequence, types, gamma, round_start, processing, sync, shortest, first_gpu
        As in :func:`decode`.
    task_start
        (R + 1,) tasks of each round.
    free, names
        (M,) zeros and 0 .. M - 1: free times, sorted per type, and the GPUs that they belong to.  Changed.
    ready, done
        (N,) release dates and zeros.  Changed.
    gpu, start
        (T,) the answer.
    """
    num_types = len(first_gpu) - 1
    for at in range(len(sequence)):
        job = sequence[at]
        r = round_start[job] + done[job]
        done[job] += 1
        since = ready[job]
        synchronised = since
        row = r * num_types
        least = shortest[r]
        for task in range(task_start[r], task_start[r + 1]):
            best_type = -1
            best = 0
            best_begin = 0
            for k in range(num_types):
                if (types[r] >> k) & 1 == 0:
                    continue
                p = processing[row + k]
                begin = free[first_gpu[k]]
                if begin < since:
                    begin = since
                score = DENOMINATOR * (begin + p + sync[row + k]) + gamma * (p - least)
                if best_type < 0 or score < best or (score == best and begin < best_begin):
                    best_type = k
                    best = score
                    best_begin = begin
            m = first_gpu[best_type]
            last = first_gpu[best_type + 1] - 1
            while m < last and free[m + 1] <= best_begin:
                m += 1
            name = names[m]
            end = best_begin + processing[row + best_type]
            while m < last and free[m + 1] < end:
                free[m] = free[m + 1]
                names[m] = names[m + 1]
                m += 1
            free[m] = end
            names[m] = name
            gpu[task] = name
            start[task] = best_begin
            end += sync[row + best_type]
            if end > synchronised:
                synchronised = end
        ready[job] = synchronised


def anneal(
    steps: int,
    draws: Sequence[float],
    slack: Sequence[int],
    makespan: int,
    sequence: MutableSequence[int],
    types: MutableSequence[int],
    gamma: MutableSequence[int],
    best_sequence: MutableSequence[int],
    best_types: MutableSequence[int],
    best_gamma: MutableSequence[int],
    values: MutableSequence[int],
    allowed: Sequence[int],
    old_sequence: MutableSequence[int],
    old_types: MutableSequence[int],
    weight: Sequence[int],
    round_start: Sequence[int],
    scale: Sequence[int],
    processing: Sequence[int],
    sync: Sequence[int],
    shortest: Sequence[int],
    quickest: Sequence[int],
    rest: Sequence[int],
    first_gpu: Sequence[int],
    spacing: int,
    valid: MutableSequence[int],
    kept_free: MutableSequence[int],
    kept_ready: MutableSequence[int],
    kept_done: MutableSequence[int],
    kept_value: MutableSequence[int],
    free: MutableSequence[int],
    ready: MutableSequence[int],
    done: MutableSequence[int],
) -> None:
    """Take ``steps`` steps of annealing; a step changes the code and keeps it if not worse by more than its slack.

    Moves: one round to another place; two rounds swapped; the later rounds of a job moved together;
    the set of types of a round, or of all rounds of a job, changed; another penalty.

    Parameters
    ----------
    steps
        Number of steps, one decoding each.
    draws, slack
        (steps * DRAWS,) uniform in [0, 1); (steps,) what is accepted above the current value.
    sequence, types, gamma, best_sequence, best_types, best_gamma
        Current and best code (``gamma``, ``best_gamma``: one entry).  Changed.
    values
        [current value, best value].  Changed.
    allowed
        (R,) bits of the types on which the round may run.
    old_sequence, old_types
        Scratch, (R,) each.

    The others are those of :func:`decode`.
    """
    num_rounds = len(sequence)
    num_types = len(first_gpu) - 1
    near = 250 if num_rounds > 250 else num_rounds - 1
    for step in range(steps):
        base = step * DRAWS
        kind = draws[base]
        one = draws[base + 1]
        two = draws[base + 2]
        three = draws[base + 3]
        low = 0
        high = -1  # places low..high of the sequence are saved
        low_type = 0
        high_type = -1  # entries low_type..high_type of the sets are saved
        old_gamma = gamma[0]
        if kind < 0.7:
            # one round to another place (near ones more often), or swapped with it
            here = int(one * num_rounds)
            distance = 1 + int(two * two * two * (near if kind < 0.2 or kind > 0.6 else num_rounds - 1))
            there = here + distance if three < 0.5 else here - distance
            if there < 0:
                there = 0
            if there > num_rounds - 1:
                there = num_rounds - 1
            low = here if here < there else there
            high = there if here < there else here
            for at in range(low, high + 1):
                old_sequence[at] = sequence[at]
            job = sequence[here]
            if kind < 0.5:
                if here < there:
                    for at in range(here, there):
                        sequence[at] = sequence[at + 1]
                else:
                    for at in range(here, there, -1):
                        sequence[at] = sequence[at - 1]
            else:
                sequence[here] = sequence[there]
            sequence[there] = job
        elif kind < 0.8:
            # a job from some round on, all by the same distance
            here = int(one * num_rounds)
            job = sequence[here]
            distance = 1 + int(two * two * two * (num_rounds - 1))
            if three < 0.5:
                low = here - distance if here > distance else 0
                high = num_rounds - 1
                for at in range(low, num_rounds):
                    old_sequence[at] = sequence[at]
                bar = 0
                for at in range(here, num_rounds):
                    if old_sequence[at] == job:
                        there = at - distance
                        if there < bar:
                            there = bar
                        for back in range(at, there, -1):
                            sequence[back] = sequence[back - 1]
                        sequence[there] = job
                        bar = there + 1
            else:
                low = here
                high = num_rounds - 1
                for at in range(low, num_rounds):
                    old_sequence[at] = sequence[at]
                bar = num_rounds - 1
                for at in range(num_rounds - 1, here - 1, -1):
                    if old_sequence[at] == job:
                        there = at + distance
                        if there > bar:
                            there = bar
                        for forth in range(at, there):
                            sequence[forth] = sequence[forth + 1]
                        sequence[there] = job
                        bar = there - 1
        elif kind < 0.98:
            # the types of one round, or of all rounds of a job
            here = int(one * num_rounds)
            job = sequence[here]
            if kind < 0.93:
                nth = 0
                for at in range(here):
                    if sequence[at] == job:
                        nth += 1
                low = here
                low_type = round_start[job] + nth
                high_type = low_type
            else:
                low = here
                for at in range(here):
                    if sequence[at] == job:
                        low = at
                        break
                low_type = round_start[job]
                high_type = round_start[job + 1] - 1
            bit = 1 << int(two * num_types)
            for r in range(low_type, high_type + 1):
                old_types[r] = types[r]
                if three < 0.4:
                    wish = types[r] ^ bit
                elif three < 0.7:
                    wish = bit
                else:
                    wish = allowed[r]
                wish &= allowed[r]
                types[r] = wish if wish != 0 else allowed[r]
        else:
            gamma[0] = int(one * one * (3 * DENOMINATOR))
        limit = values[0] + slack[step]
        value = decode(
            low,
            limit,
            makespan,
            sequence,
            types,
            gamma[0],
            weight,
            round_start,
            scale,
            processing,
            sync,
            shortest,
            quickest,
            rest,
            first_gpu,
            spacing,
            valid,
            kept_free,
            kept_ready,
            kept_done,
            kept_value,
            free,
            ready,
            done,
        )
        if value <= limit:
            values[0] = value
            if valid[0] > low // spacing:
                valid[0] = low // spacing
            if value < values[1]:
                values[1] = value
                for at in range(num_rounds):
                    best_sequence[at] = sequence[at]
                    best_types[at] = types[at]
                best_gamma[0] = gamma[0]
        else:
            for at in range(low, high + 1):
                sequence[at] = old_sequence[at]
            for r in range(low_type, high_type + 1):
                types[r] = old_types[r]
            gamma[0] = old_gamma
