"""From knobs to an instance: seeded draws by inversion, one named stream per knob.

Every draw inverts uniform numbers of PCG64, whose stream is fixed for ever, so that the same seed gives
the same instance in every process and with every release of numpy; and because each knob has a stream
of its own, changing one of them leaves the draws of the others as they are.

Linear in the number of rounds (jobs, where the rounds of a job are alike).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.documents import MAX_EXACT
from hetopt.core.errors import UsageError
from hetopt.core.instance import MAX_TASKS, GpuType, Instance, Job, SyncRound
from hetopt.core.seeds import generator
from hetopt.instances.generators.knobs import ALPHA_GRID, MAX_TIME, Knobs, Release, Times

__all__ = ["build"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_COARSE: Final = 10
"""alpha with a denominator up to this is attained exactly by one job, whose times are made multiples of it."""


def _uniform(seed: int, stream: str, shape: int | tuple[int, ...]) -> Floats:
    return generator(seed, "generate", stream).random(shape)


def _factors(seed: int, knobs: Knobs, jobs: int, types: int) -> Floats:
    """(N, K) slow-downs in [1, alpha]: at least one 1 in each row; one row has a factor of alpha."""
    rows = 1 if knobs.times is Times.RELATED else jobs
    top = float(knobs.alpha)
    factors = np.exp(_uniform(seed, "factors", (rows, types)) * np.log(top))
    extreme = int(_uniform(seed, "extreme", 1)[0] * rows)
    if knobs.times is Times.ORDERED:
        factors.sort(axis=1)
        factors[:, 0] = 1.0
        factors[extreme, -1] = top if types > 1 else 1.0
    else:
        fastest = (_uniform(seed, "fastest", rows) * types).astype(np.int64)
        factors[np.arange(rows), fastest] = 1.0
        if types > 1:
            factors[extreme, (fastest[extreme] + 1) % types] = top
    return np.broadcast_to(factors, (jobs, types))


def _base_times(seed: int, knobs: Knobs, number: int) -> Ints:
    """(P,) processing times on the fastest type in ticks: log-uniform on the range, or Pareto cut at its end."""
    low, high = knobs.time.values
    uniform = _uniform(seed, "time", number)
    if knobs.tail is None:
        times = np.floor(low * np.exp(uniform * np.log((high + 1) / low)))
    else:
        with np.errstate(over="ignore"):
            times = np.floor(low * (1.0 - uniform) ** (-1.0 / knobs.tail))
    out: Ints = np.clip(times, low, high).astype(np.int64)
    return out


def _slowed(base: Ints, factors: Floats, alpha: Fraction) -> Ints:
    """(P, K) base time x factor, rounded down, and never above alpha x base in exact arithmetic."""
    alpha_grid = int(alpha * ALPHA_GRID)
    cap = base // ALPHA_GRID * alpha_grid + base % ALPHA_GRID * alpha_grid // ALPHA_GRID
    exactly = factors >= float(alpha)
    slowed = np.floor(base[:, None] * factors).astype(np.int64)
    out: Ints = np.maximum(base[:, None], np.where(exactly, cap[:, None], np.minimum(slowed, cap[:, None])))
    return out


def _allowed(seed: int, knobs: Knobs, jobs: int, factors: Floats) -> NDArray[np.bool_]:
    """(N, K): each type is forbidden with the chance given, but one (drawn) per job never is."""
    types = factors.shape[1]
    allowed = _uniform(seed, "forbidden", (jobs, types)) >= knobs.forbidden
    kept = (_uniform(seed, "kept", jobs) * types).astype(np.int64)
    allowed[np.arange(jobs), kept] = True
    return allowed


def _release_dates(seed: int, knobs: Knobs, need: Floats) -> Ints:
    """(N,) release dates in ticks; ``need`` (N,) is each job's work in ticks of the whole cluster."""
    jobs = len(need)
    if knobs.release is Release.BATCH:
        return np.zeros(jobs, dtype=np.int64)
    gap = float(need.mean()) / knobs.load
    exponential = -np.log1p(-_uniform(seed, "gaps", jobs))
    if knobs.release is Release.POISSON:
        gaps = gap * exponential
    else:
        # the next job opens a new burst with chance 1 / burst: geometric sizes with that mean
        opens = _uniform(seed, "bursts", jobs) < 1.0 / knobs.burst
        gaps = np.where(opens, gap * knobs.burst * exponential, 0.0)
    gaps[0] = 0.0
    dates = np.floor(np.cumsum(gaps))
    if dates[-1] >= MAX_EXACT:
        raise UsageError(
            f"load {knobs.load:g}: the last release would be past 2^53 ticks; give a higher load or fewer jobs"
        )
    return dates.astype(np.int64)


def build(name: str, jobs: int, gpu_types: tuple[GpuType, ...], seed: int, knobs: Knobs) -> Instance:
    """Draw an instance.

    Raises
    ------
    UsageError
        More than 2^27 tasks.
    InputError
        The sum of weight x horizon reaches 2^53.
    """
    types = len(gpu_types)
    rounds = knobs.rounds.draw(_uniform(seed, "rounds", jobs))
    parts_of = np.ones(jobs, dtype=np.int64) if knobs.alike else rounds
    if int(parts_of.sum()) > MAX_TASKS:
        raise UsageError(
            f"rounds: {int(parts_of.sum())} rounds; an instance has at most 2^27 tasks; give fewer rounds or jobs"
        )
    first = np.concatenate(([0], np.cumsum(parts_of)))
    parts = int(first[-1])
    owner = np.repeat(np.arange(jobs), parts_of)
    repeat = rounds if knobs.alike else np.ones(parts, dtype=np.int64)
    scale = knobs.scale.draw(_uniform(seed, "scale", parts))
    tasks = int((repeat.astype(object) * scale).sum()) if jobs else 0
    if tasks > MAX_TASKS:
        raise UsageError(
            f"jobs {jobs}: {tasks} tasks; an instance has at most 2^27 tasks; give fewer jobs, rounds or tasks per round"
        )

    factors = _factors(seed, knobs, jobs, types)
    allowed = _allowed(seed, knobs, jobs, factors)
    base = _base_times(seed, knobs, parts)
    extreme = int(_uniform(seed, "extreme", 1)[0] * (1 if knobs.times is Times.RELATED else jobs))
    if types > 1:
        # one job shows the full ratio: on every type, with times that make alpha x time whole
        allowed[extreme] = True
        step = knobs.alpha.denominator
        if step <= _COARSE:
            mine = slice(first[extreme], first[extreme + 1])
            base[mine] = np.minimum(-(-base[mine] // step) * step, MAX_TIME // step * step)
    share = knobs.sync.draw(_uniform(seed, "sync", jobs))[owner]
    sync_base = np.floor(base * (share / (1.0 - share)) + 0.5).astype(np.int64)
    processing = _slowed(base, factors[owner], knobs.alpha)
    sync = np.where(sync_base[:, None] > 0, _slowed(sync_base, factors[owner], knobs.alpha), 0)

    count = np.array([g.count for g in gpu_types], dtype=np.float64)
    speed = (np.where(allowed[owner], 1.0 / processing, 0.0) * count).sum(axis=1)
    need: Floats = np.bincount(owner, weights=repeat * scale / speed, minlength=jobs).astype(np.float64)
    release = _release_dates(seed, knobs, need)
    weights = knobs.weights.draw(_uniform(seed, "weights", jobs))

    sync_shown = np.where(allowed[owner], sync, -1)
    processing_shown = np.where(allowed[owner], processing, -1)
    made = _parts(repeat, scale, processing_shown, sync_shown)
    edges = first.tolist()
    chains = tuple(
        Job(name=f"job{n}", weight=weight, release_date=date, rounds=tuple(made[edges[n] : edges[n + 1]]))
        for n, (weight, date) in enumerate(zip(weights.tolist(), release.tolist(), strict=True))
    )
    longest = repeat.astype(np.float64) * scale * (processing_shown.max(axis=1) + np.maximum(sync_shown.max(axis=1), 0))
    safe = float(weights.sum(dtype=np.float64)) * (float(longest.sum()) + float(release[-1])) < MAX_EXACT / 2
    fields = {"name": name, "tick_seconds": knobs.tick_seconds, "gpu_types": gpu_types, "jobs": chains}
    # the checks across fields hold by construction, except for size; leaving them out halves the time
    return Instance.model_validate(fields, context={"checked": True}) if safe else Instance(**fields)


def _parts(repeat: Ints, scale: Ints, processing: Ints, sync: Ints) -> list[SyncRound]:
    """One part per row; equal rows share one (frozen) object."""
    known: dict[tuple[int, ...], SyncRound] = {}
    out = []
    types = processing.shape[1]
    rows = np.column_stack((repeat, scale, processing, sync)).tolist()
    for row in map(tuple, rows):
        part = known.get(row)
        if part is None:
            times, syncs = row[2 : 2 + types], row[2 + types :]
            part = known[row] = SyncRound(
                repeat=row[0],
                scale=row[1],
                processing_time=tuple(None if p < 0 else p for p in times),
                sync_time=tuple(None if s < 0 else s for s in syncs),
            )
        out.append(part)
    return out
