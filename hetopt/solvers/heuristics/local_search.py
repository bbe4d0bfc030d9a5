"""Local search: annealing over list orders, allowed types and waste penalty, decoded by list scheduling.

Problem: clairvoyant scheduling for any of the three objectives.  A schedule is coded by a sequence of
rounds, a set of GPU types per round, and one waste penalty (``_annealing``); decoding places the
rounds in that order by earliest finish.  No code need decode to an optimal schedule: the tasks of a
round are placed together and greedily (measured: 2712 where the optimum is at most 2708).

Annealing runs in *cycles*: each starts from the best code so far at a high temperature and cools
geometrically; their lengths double, so that stopping at any time finds a cooled search close by.

Guarantee: the result is never worse than the start (a warm start included); otherwise none known.

Complexity: O(R + sum of scale x (K + M/K)) a decode in the worst case, for R rounds, K types and M GPUs;
usually much less, since a step starts near its first change and stops when it is not acceptable.  Work
units are decodes.  Memory O(R K + T) plus the kept states, O(R).

References
----------
Kirkpatrick, Gelatt and Vecchi, *Optimization by simulated annealing*, Science 220, 1983.  Bierwirth,
*A generalized permutation approach to job shop scheduling with genetic algorithms*, OR Spektrum 17, 1995
(sequences in which a job stands once per operation).
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.certificate import Bound
from hetopt.core.instance import Instance, InstanceArrays
from hetopt.core.objectives import evaluate, offset
from hetopt.core.schedule import Schedule
from hetopt.core.seeds import generator
from hetopt.core.solver import Exclusions, Limits, NullObserver, Observer, Outcome
from hetopt.core.status import Capability, Objective, SolverKind, Status, StopReason
from hetopt.solvers import _kernels
from hetopt.solvers.heuristics import _annealing, event_rules
from hetopt.solvers.heuristics.list_scheduling import WORTH_COMPILING, list_order, reserve
from hetopt.solvers.relaxations.midpoint_lp import solve_midpoint_lp

__all__ = ["DEFAULT_SECONDS", "LocalSearch", "anneal"]

DEFAULT_SECONDS: Final = 60.0
"""Time limit where neither a time nor a work limit is given."""
_GAMMAS: Final = (0, 4, 8, 16, 24, 32, 48)
_FIRST_CYCLE: Final = 10_000
_CHUNK: Final = 1000
_HOT: Final = (0.2, 0.1, 0.05)
_COLD: Final = 0.002
"""Temperatures at the start (in turn) and end of a cycle, as parts of the mean excess per job over the trivial bound."""
_SHORT: Final = 5.0
"""Time limits below this many seconds are not spent on compiling kernels."""
_FAR: Final = 2**62


def trivial_bound(a: InstanceArrays, objective: Objective) -> int:
    """The value if every job ran alone on its fastest GPUs (flow times: without the constant)."""
    alone = a.release_date + np.add.reduceat(a.min_task_time, a.round_start[:-1])
    if objective is Objective.MAKESPAN:
        return int(alone.max())
    return sum(w * c for w, c in zip(a.weight.tolist(), alone.tolist(), strict=True))


@dataclass
class _Code:
    """A coded schedule: (R,) jobs, (R,) sets of types, penalty in 1/16."""

    sequence: NDArray[np.int64]
    types: list[int]
    gamma: int


def _type_sets(allowed: NDArray[np.bool_]) -> list[int]:
    """The types of each row (R, K) as one number with a bit for each; there may be more than 63 types."""
    if allowed.shape[1] <= 62:
        sets: list[int] = (allowed @ (1 << np.arange(allowed.shape[1], dtype=np.int64))).tolist()
        return sets
    return [sum(1 << k for k in np.flatnonzero(row).tolist()) for row in allowed]


class _Search:
    """The arrays of one instance and the state of one search; kernels compiled or not."""

    def __init__(self, instance: Instance, objective: Objective, compile_now: bool = True) -> None:
        a = instance.arrays
        self.instance, self.objective, self.a = instance, objective, a
        self.makespan = int(objective is Objective.MAKESPAN)
        self.offset = offset(instance, objective)
        longest = int((a.processing_time + a.sync_time).max())
        self.fast = (
            _kernels.numba_usable()
            and a.num_types <= 60
            and _annealing.DENOMINATOR * instance.horizon + 3 * _annealing.DENOMINATOR * longest < _FAR
            and (compile_now or _kernels.at_hand(_annealing.anneal, _annealing.decode))
        )
        self.allowed = _type_sets(a.allowed)
        left = np.cumsum(a.min_task_time[::-1])[::-1]
        after = np.append(left, 0)[a.round_start[1:]]
        self.rest = left - a.min_task_time - after[a.round_job]
        first_gpu = np.concatenate(([0], np.cumsum(a.gpu_count)))
        self.spacing = max(8, (a.num_gpus + 2 * a.num_jobs) // 16)
        states = (a.num_rounds - 1) // self.spacing + 1
        whole = a.release_date + left[a.round_start[:-1]] - after
        first_value = (
            int(whole.max()) if self.makespan else sum(w * c for w, c in zip(a.weight.tolist(), whole.tolist()))
        )
        self.valid = self._new(1)
        kept_free = self._new(states * a.num_gpus)
        kept_ready = self._new(states * a.num_jobs)
        kept_done = self._new(states * a.num_jobs)
        kept_value = self._new(states)
        for n, release in enumerate(a.release_date.tolist()):
            kept_ready[n] = release
        kept_value[0] = first_value
        self.fixed = [
            *map(self._given, (a.weight, a.round_start, a.scale, a.processing_time.ravel(), a.sync_time.ravel())),
            *map(self._given, (a.min_processing_time, a.min_task_time, self.rest, first_gpu)),
            self.spacing,
            self.valid,
            *(kept_free, kept_ready, kept_done, kept_value),
            *(self._new(a.num_gpus), self._new(a.num_jobs), self._new(a.num_jobs)),
        ]
        self.first_value = first_value
        plain: tuple[Callable[..., Any], Callable[..., Any]] = (_annealing.decode, _annealing.anneal)
        self._decode, self._anneal = plain
        if self.fast:
            self._decode = _kernels.compiled(_annealing.decode)
            self._anneal = _kernels.compiled(_annealing.anneal, _annealing.decode)
        self.scratch = (self._new(a.num_rounds), self._new(a.num_rounds))
        self.allowed_given = self._given(self.allowed)

    def _new(self, length: int) -> Any:
        return np.zeros(length, dtype=np.int64) if self.fast else [0] * length

    def _given(self, values: Any) -> Any:
        array = np.asarray(values, dtype=np.int64 if self.fast or isinstance(values, np.ndarray) else object)
        return array.copy() if self.fast else array.tolist()

    def value(self, code: _Code, limit: int = _FAR) -> int:
        """Value of a code, in the objective without its constant."""
        self.valid[0] = 0
        given = (self._given(code.sequence), self._given(code.types), code.gamma)
        return int(self._decode(0, limit, self.makespan, *given, *self.fixed))

    def start(self, code: _Code) -> None:
        """Make a code the current and the best one."""
        value = self.value(code)
        self.current = [self._given(code.sequence), self._given(code.types), self._given([code.gamma])]
        self.best = [self._given(code.sequence), self._given(code.types), self._given([code.gamma])]
        self.values = self._given([value, value])
        self.valid[0] = 0

    def back_to_best(self) -> None:
        """Make the best code the current one."""
        for current, best in zip(self.current, self.best, strict=True):
            current[:] = best[:]
        self.values[0] = self.values[1]
        self.valid[0] = 0

    def steps(self, draws: NDArray[np.float64], slack: NDArray[np.int64]) -> None:
        """Take one step for each row of draws."""
        flat = draws.ravel()
        given = (flat, slack) if self.fast else (flat.tolist(), slack.tolist())
        state = (*self.current, *self.best, self.values, self.allowed_given, *self.scratch)
        self._anneal(len(slack), *given, self.makespan, *state, *self.fixed)

    def best_code(self) -> _Code:
        """The best code so far."""
        sequence, types, gamma = self.best
        return _Code(np.array(sequence, dtype=np.int64), [int(t) for t in types], int(gamma[0]))


def _schedule(search: _Search, code: _Code) -> Schedule:
    """The schedule that a code decodes to, with GPU numbers."""
    a = search.a
    fast = search.fast and (a.num_tasks >= WORTH_COMPILING or _kernels.loaded(_annealing.write))
    first_gpu = np.concatenate(([0], np.cumsum(a.gpu_count)))
    arrays = [
        *(
            a.round_start,
            a.task_start,
            a.processing_time.ravel(),
            a.sync_time.ravel(),
            a.min_processing_time,
            first_gpu,
        ),
        *(np.zeros(a.num_gpus, dtype=np.int64), np.arange(a.num_gpus), a.release_date.copy()),
        np.zeros(a.num_jobs, dtype=np.int64),
        *(np.zeros(a.num_tasks, dtype=np.int64), np.zeros(a.num_tasks, dtype=np.int64)),
    ]
    if fast:
        types = np.array(code.types, dtype=np.int64)
        _kernels.compiled(_annealing.write)(code.sequence, types, code.gamma, *arrays)
        return Schedule.from_starts(search.instance, *arrays[-2:])
    lists: list[Any] = [v.tolist() for v in arrays]
    plain: Callable[..., None] = _annealing.write
    plain(code.sequence.tolist(), code.types, code.gamma, *lists)
    return Schedule.from_starts(search.instance, *lists[-2:])


def _starts(search: _Search, start: Schedule | None, seconds: float | None, observer: Observer) -> Iterator[_Code]:
    """Codes to begin with: the given schedule first, then orders of several keys with several penalties.

    The last keys are midpoints, found in at most so many ``seconds`` each.
    """
    a = search.a
    if start is not None:
        yield _encode(search, start)
    work = event_rules.remaining_work(a)
    release = a.release_date[a.round_job]
    smith = work / a.weight[a.round_job]
    # a round further down its job is due later by what comes before it
    head = np.cumsum(a.min_task_time) - a.min_task_time
    head = head - head[a.round_start[:-1]][a.round_job]
    keys = [release + smith, release + head + smith, smith[a.round_start[:-1]][a.round_job] + head, release + head]
    for key in chain(keys, (_midpoints(search.instance, release, seconds, observer) for release in (False, True))):
        sequence = a.round_job[list_order(search.instance, key)]
        for gamma in _GAMMAS:
            yield _Code(sequence, search.allowed, gamma)


def _midpoints(instance: Instance, release: bool, seconds: float | None, observer: Observer) -> NDArray[np.float64]:
    """Averaged midpoints of the plain or release-strengthened relaxation."""
    return solve_midpoint_lp(
        instance,
        release=release,
        exact_rounds=0,
        tolerance=1e-3,
        max_iterations=300,
        limits=Limits(time=seconds),
        observer=_Unhurried(observer),
    ).midpoint


class _Unhurried(NullObserver):
    """Passes on the wish to stop; its clock starts anew, so that a part of a run can have a limit of its own."""

    def __init__(self, outer: Observer) -> None:
        self._outer = outer

    def stop_requested(self) -> bool:
        """As the run says."""
        return self._outer.stop_requested()


def _encode(search: _Search, schedule: Schedule) -> _Code:
    """Rounds in the order of their starts, on the types that they use."""
    a = search.a
    row = a.round_start[schedule.job] + schedule.round
    first = np.full(a.num_rounds, np.iinfo(np.int64).max)
    np.minimum.at(first, row, schedule.start)
    types = [0] * a.num_rounds
    for r, k in {*zip(row.tolist(), a.gpu_type[schedule.gpu].tolist(), strict=True)}:
        types[r] |= 1 << k
    return _Code(a.round_job[np.argsort(first, kind="stable")], types, 0)


def anneal(
    instance: Instance,
    objective: Objective = Objective.TOTAL_WEIGHTED_COMPLETION,
    *,
    seed: int = 0,
    time: float | None = None,
    decodes: int | None = None,
    start: Schedule | None = None,
    observer: Observer | None = None,
    target: int | None = None,
) -> tuple[Schedule, int, int]:
    """Search for a good schedule.

    Parameters
    ----------
    instance
        The instance.
    objective
        What to minimise.
    seed
        Seed of the random choices.  With ``decodes`` and no ``time`` the answer depends on nothing else.
    time
        Seconds; without ``time`` and ``decodes``, 60.
    decodes
        Number of decodings.
    start
        A feasible schedule; the answer is never worse.
    observer
        Told about better schedules; can ask to stop.
    target
        A value to be content with, for example a lower bound.

    Returns
    -------
    schedule, value, decodes
        The best schedule, its value in ``objective``, and the decodings done.
    """
    began = clock.perf_counter()
    observer = observer or NullObserver()
    if time is None and decodes is None:
        time = DEFAULT_SECONDS
    deadline = None if time is None else began + max(0.0, time - reserve(instance))
    search = _Search(instance, objective, compile_now=deadline is None or deadline - began > _SHORT)
    budget = _FAR if decodes is None else max(1, decodes)
    enough = search.first_value if target is None else max(search.first_value, target - search.offset)
    best: tuple[int, Schedule] | None = None
    if start is not None:
        best = evaluate(instance, start, objective), start

    def late() -> bool:
        return observer.stop_requested() or (deadline is not None and clock.perf_counter() >= deadline)

    def keep(code: _Code, value: int) -> tuple[int, Schedule]:
        if best is not None and best[0] <= value + search.offset:
            return best
        made = _schedule(search, code)
        observer.record(incumbent=value + search.offset, schedule=made)
        return value + search.offset, made

    used, chosen = 0, None
    for code in _starts(search, start, None if deadline is None else 0.1 * (deadline - began), observer):
        if chosen is not None and (used >= budget or late()):
            break
        value = search.value(code, _FAR if chosen is None else chosen[0])
        used += 1
        if chosen is None or value < chosen[0]:
            chosen = value, code
    assert chosen is not None
    search.start(chosen[1])
    best = keep(chosen[1], chosen[0])

    rng = generator(seed, "local-search")
    length, rate, number = _FIRST_CYCLE, 0.0, 0
    while used < budget and not late() and min(best[0] - search.offset, search.values[1]) > enough:
        cycle = min(length, budget - used)
        if budget - used < 3 * cycle:
            cycle = budget - used
        if decodes is None and deadline is not None and rate:
            cycle = min(max(cycle, 1), max(1, int(rate * (deadline - clock.perf_counter()))))
            whole = int(0.95 * rate * (deadline - clock.perf_counter()))
            if cycle <= whole < 3 * cycle:
                cycle = whole
        search.back_to_best()
        at, cycle_began = 0, clock.perf_counter()
        chunk = _CHUNK if decodes is not None and deadline is None else 16
        while at < cycle and not late() and search.values[1] > enough:
            count = min(chunk, cycle - at)
            draws = rng.random((count, _annealing.DRAWS))
            search.steps(draws, _slack(search, draws[:, -1], at + np.arange(count), cycle, _HOT[number % len(_HOT)]))
            at += count
            if deadline is not None:  # look at the clock about twenty times a second
                chunk = max(1, min(20_000, int(0.05 * at / (clock.perf_counter() - cycle_began + 1e-9))))
        used += at
        rate = at / (clock.perf_counter() - cycle_began + 1e-9)
        length *= 2
        number += 1
        best = keep(search.best_code(), int(search.values[1]))
    return best[1], best[0], used


def _slack(
    search: _Search, draws: NDArray[np.float64], at: NDArray[np.int64], cycle: int, hottest: float
) -> NDArray[np.int64]:
    """What each step may lose: Metropolis' rule, with the random number drawn before the step."""
    excess = max(1, int(search.values[1]) - search.first_value)
    scale = excess if search.makespan else excess / search.a.num_jobs
    # few steps for many rounds: start cooler, there is no time to come back from far
    hot = _COLD + (hottest - _COLD) * min(1.0, cycle / (50.0 * search.a.num_rounds))
    temperature = scale * hot * (_COLD / hot) ** (at / cycle)
    return np.minimum(np.floor(-temperature * np.log1p(-draws)), 2.0**60).astype(np.int64)


@dataclass(frozen=True)
class LocalSearch:
    """Annealing over list orders; no guarantee known beyond "never worse than its start".  See the module."""

    name: ClassVar[str] = "local-search"
    kind: ClassVar = SolverKind.HEURISTIC
    capabilities: ClassVar = frozenset(
        {Capability.HEURISTIC, Capability.WARM_START, Capability.ANYTIME, Capability.DETERMINISTIC}
    )
    objectives: ClassVar = frozenset(Objective)

    def solve(
        self,
        problem: Instance,
        *,
        objective: Objective,
        limits: Limits,
        seed: int,
        incumbent: Schedule | None,
        bound: Bound | None,
        exclusions: Exclusions | None,
        observer: Observer,
    ) -> Outcome:
        """Anneal within the limits (work: decodes); 60 s where there is none.  One thread."""
        schedule, value, used = anneal(
            problem,
            objective,
            seed=seed,
            time=limits.time,
            decodes=limits.work,
            start=incumbent,
            observer=observer,
            target=None if bound is None else bound.ceiling,
        )
        enough = trivial_bound(problem.arrays, objective) + offset(problem, objective)
        if bound is not None:
            enough = max(enough, bound.ceiling)
        if observer.stop_requested():
            reason = StopReason.INTERRUPTED
        elif limits.work is not None and used >= limits.work:
            reason = StopReason.WORK
        elif value <= enough:
            reason = StopReason.EXHAUSTED
        else:
            reason = StopReason.TIME
        return Outcome(
            Status.FEASIBLE,
            reason,
            schedule,
            claimed=value,
            work=used,
            deterministic=reason in (StopReason.WORK, StopReason.EXHAUSTED) and limits.time is None,
        )
