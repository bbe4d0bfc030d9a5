"""The round-based simulator: arrivals, progress, moves, completions, and a policy at every border.

Time is in whole ticks (microseconds); the events of :mod:`hetopt.solvers.online.events` act in their documented
order.  At a border everything that arrived by then is known, all GPUs are free, the policy decides, and
each job that runs holds its GPUs until it finishes or the round ends.  A job that moves or
resumes first loses its migration time (carried over into the next round if the round is too
short for it).  Completions inside a round happen at their exact tick, rounded up; the GPUs
of a finished job are free at the next border.

Guarantee: deterministic for a deterministic policy; every allocation is checked (types, throughputs,
capacities); work done by finished jobs is exactly their work.  Complexity: O(n + K) a round beside
the policy, in arrays; gaps without jobs cost nothing.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import VerificationError
from hetopt.core.simulation import JobOutcome, PolicyOutcome
from hetopt.core.solver import NullObserver, Observer
from hetopt.core.workload import Workload
from hetopt.solvers.online.events import EventKind, EventQueue
from hetopt.solvers.online.rounds.fairness import times_alone
from hetopt.solvers.online.rounds.setting import TICKS_PER_SECOND, JobTable, RoundSetting, job_table, ticks
from hetopt.solvers.online.rounds.state import Clairvoyance, FutureJob, RoundPolicy, RoundState

__all__ = ["RoundProgress", "simulate_rounds"]


@dataclass(frozen=True)
class RoundProgress:
    """What a progress listener hears at each border."""

    policy: str
    now: float
    round: int
    active: int
    finished: int
    total: int


def simulate_rounds(
    workload: Workload,
    policy: RoundPolicy,
    setting: RoundSetting,
    *,
    seed: int = 0,
    observer: Observer | None = None,
    listener: Callable[[RoundProgress], None] | None = None,
) -> PolicyOutcome:
    """Run one policy over a workload.

    Parameters
    ----------
    workload
        Jobs, in any order of arrival.
    policy
        Decides at each border.
    setting
        Cluster and rules.
    seed
        For policies that draw.
    observer
        Its ``stop_requested`` ends the simulation at the next border; what was done is kept.
    listener
        Called at each border.

    Raises
    ------
    InputError
        A job that cannot run on this cluster, by name.
    VerificationError
        The policy's allocation breaks a rule.
    """
    run = _Run(job_table(workload, setting), policy, setting, seed)
    watching = observer or NullObserver()
    run.loop(watching, listener)
    return run.outcome(workload)


class _Run:
    """State of one simulation; everything in ticks and in arrays over the jobs of the workload."""

    def __init__(self, table: JobTable, policy: RoundPolicy, setting: RoundSetting, seed: int) -> None:
        n, kinds = table.rate.shape
        self.table, self.policy, self.setting, self.seed = table, policy, setting, seed
        self.step = ticks(setting.round_seconds)
        self.done = np.zeros(n)
        self.current = np.full(n, -1, dtype=np.int64)
        self.last_type = np.full(n, -1, dtype=np.int64)
        self.moving_left = np.zeros(n, dtype=np.int64)
        self.held = np.zeros((n, kinds), dtype=np.int64)
        self.first_start = np.full(n, -1, dtype=np.int64)
        self.finish = np.full(n, -1, dtype=np.int64)
        self.moves = np.zeros(n, dtype=np.int64)
        self.active = np.zeros(0, dtype=np.int64)
        self.running = np.zeros(0, dtype=np.int64)
        self.span_of = np.zeros(n, dtype=np.int64)  # ticks that a running job uses of the round
        self.units_of = np.zeros(n)  # whole units of work that it does in the round
        self.round, self.idle_rounds, self.finished, self.busy = 0, 0, 0, 0
        self.finished_service: list[float] = []
        self.finished_now = self.progress = False
        self.round_start = 0
        self.memory: Any = None
        self.decision_seconds: list[float] = []
        self.queue_length: list[tuple[float, float]] = []
        self.gpus_used: list[tuple[float, float]] = []
        self.message, self.interrupted = "", False
        never = set(table.waiting_for_ever)
        self.order = [j for j in np.argsort(table.arrival, kind="stable").tolist() if j not in never]
        self.future = [self._future_job(j) for j in self.order] if policy.clairvoyance is Clairvoyance.FULL else []
        self.arrived = 0
        for array in (table.count, table.demand, table.rate, table.work, table.weight):
            array.setflags(write=False)

    def _future_job(self, j: int) -> FutureJob:
        t = self.table
        at = float(t.arrival[j]) / TICKS_PER_SECOND
        return FutureJob(t.names[j], at, int(t.demand[j]), float(t.work[j]), tuple(t.rate[j].tolist()))

    # ---------------------------------------------------------------------------------------- events

    def loop(self, observer: Observer, listener: Callable[[RoundProgress], None] | None) -> None:
        """Act on events until none is left, the user stops it, or nothing moves any more."""
        queue: EventQueue[int] = EventQueue()
        for j in self.order:
            queue.push(int(self.table.arrival[j]), EventKind.RELEASE, j)
        if self.order:
            queue.push(self._border_after(int(self.table.arrival[self.order[0]])), EventKind.BORDER, -1)
        fresh: list[int] = []
        while len(queue):
            now, kind, j = queue.pop()
            if kind is EventKind.JOB_END:
                self._end_job(now, j)
            elif kind is EventKind.RELEASE:
                fresh.append(j)
                self.arrived += 1
            else:
                self._settle(now, fresh)
                fresh = []
                if observer.stop_requested():
                    self.interrupted, self.message = True, "interrupted"
                    return
                if self.setting.max_rounds is not None and self.round >= self.setting.max_rounds:
                    self.message = f"stopped after {self.round} rounds"
                    return
                if listener is not None:
                    listener(self._heard(now))
                following = self._begin_round(now, queue)
                if following is None:
                    return
                if following >= 0:
                    queue.push(following, EventKind.BORDER, -1)

    def _heard(self, now: int) -> RoundProgress:
        seconds = now / TICKS_PER_SECOND
        return RoundProgress(self.policy.name, seconds, self.round, len(self.active), self.finished, len(self.order))

    def _border_after(self, arrival: int) -> int:
        """The first border at or after an arrival when nothing is active."""
        return arrival if self.setting.early_end else -(-arrival // self.step) * self.step

    def _settle(self, now: int, fresh: list[int]) -> None:
        """Book the round that ends at ``now``; jobs that finished in it were booked when they did."""
        left = self.running[self.finish[self.running] < 0]
        if len(left):
            self._advance(left, np.full(len(left), now - self.round_start, dtype=np.int64))
        if self.finished_now:
            self.active = self.active[self.finish[self.active] < 0]
        if fresh:
            joined = np.concatenate([self.active, np.array(fresh, dtype=np.int64)])
            self.active = joined[np.lexsort((joined, self.table.arrival[joined]))]
        self.finished_now = False

    def _advance(self, jobs: NDArray[np.int64], span: NDArray[np.int64]) -> None:
        """Jobs hold their GPUs for ``span`` ticks: migration first, then progress."""
        kind = self.current[jobs]
        used = self.span_of[jobs] if self.setting.early_end else span
        hold = np.minimum(span, used)
        lost = np.minimum(hold, self.moving_left[jobs])
        self.moving_left[jobs] -= lost
        self.held[jobs, kind] += hold
        gained = self.table.rate[jobs, kind] * ((hold - lost) / TICKS_PER_SECOND)
        if self.setting.whole_steps:
            gained = self.units_of[jobs]
        # a job that is not finished keeps some work to do, whatever rounding says
        ceiling = np.nextafter(self.table.work[jobs], 0.0)
        self.done[jobs] = np.minimum(self.done[jobs] + gained, ceiling)

    def _end_job(self, now: int, j: int) -> None:
        hold = now - self.round_start
        self.held[j, self.current[j]] += hold
        self.moving_left[j] = 0
        self.done[j] = self.table.work[j]
        self.finish[j] = now
        self.finished += 1
        self.finished_now = True
        self.finished_service.append(float(self.held[j].sum() * self.table.demand[j]) / TICKS_PER_SECOND)
        self.busy -= int(self.table.demand[j])
        _note(self.gpus_used, now, self.busy)

    # ---------------------------------------------------------------------------------------- rounds

    def state(self, now: int) -> RoundState:
        """What the policy sees."""
        t, active = self.table, self.active
        run_time = self.held[active] / TICKS_PER_SECOND
        demand = t.demand[active]
        sees_sizes = self.policy.clairvoyance >= Clairvoyance.SIZES
        arrays: dict[str, Any] = {
            "count": t.count,
            "ids": active.copy(),
            "arrival": t.arrival[active] / TICKS_PER_SECOND,
            "demand": demand,
            "rate": t.rate[active],
            "done": self.done[active],
            "current": self.current[active],
            "started": self.first_start[active] >= 0,
            "attained": run_time.sum(axis=1) * demand,
            "run_time": run_time,
            "type_run_time": self.held.sum(axis=0) / TICKS_PER_SECOND,
            "weight": t.weight[active],
            "moving": t.moving[active] / TICKS_PER_SECOND,
            "finished_service": np.array(self.finished_service),
            "_work": t.work[active] if sees_sizes else None,
        }
        for array in arrays.values():
            if array is not None:
                array.setflags(write=False)
        future = tuple(self.future[self.arrived :]) if self.policy.clairvoyance is Clairvoyance.FULL else None
        return RoundState(
            now=now / TICKS_PER_SECOND,
            round=self.round,
            round_seconds=self.setting.round_seconds,
            gpu_types=t.gpu_types,
            seed=self.seed,
            clairvoyance=self.policy.clairvoyance,
            _names=t.names,
            _future=future,
            **arrays,
        )

    def _begin_round(self, now: int, queue: EventQueue[int]) -> int | None:
        """Decide and start the jobs; the next border, -1 for none, or None to stop for good."""
        self.round_start = now
        if not len(self.active):
            self.current[self.running] = -1
            self.running = self.active
            self._note_border(now, 0)
            upcoming = queue.next_time
            return -1 if upcoming is None else self._border_after(upcoming)
        state = self.state(now)
        began = time.perf_counter()
        chosen, self.memory = self.policy.decide(state, self.memory)
        self.decision_seconds.append(time.perf_counter() - began)
        kinds = self._checked(chosen, state)
        self.round += 1
        ends = self._start_jobs(now, kinds, queue)
        self._note_border(now, len(self.active) - len(self.running))
        self.idle_rounds = self.idle_rounds + 1 if not self.progress else 0
        if self.idle_rounds >= self.setting.stall_rounds:
            names = ", ".join(repr(self.table.names[j]) for j in self.active[:3].tolist())
            self.message = (
                f"stopped: no work was done in {self.idle_rounds} rounds in a row although "
                f"{len(self.active)} jobs wait ({names}{', ...' if len(self.active) > 3 else ''})"
            )
            return None
        if self.setting.early_end and len(ends):
            return int(ends.max())
        return now + self.step

    def _checked(self, chosen: Any, state: RoundState) -> NDArray[np.int64]:
        where = f"policy {self.policy.name}, round {state.round}"
        kinds = np.asarray(chosen)
        if kinds.shape != (len(state),) or (len(state) and kinds.dtype.kind not in "iu"):
            raise VerificationError(
                f"{where}: the allocation has shape {kinds.shape} and type {kinds.dtype}; "
                f"one whole number a job, {len(state)} in all, is needed"
            )
        kinds = kinds.astype(np.int64)
        if ((kinds < -1) | (kinds >= len(state.count))).any():
            raise VerificationError(f"{where}: a GPU type that does not exist")
        on = np.flatnonzero(kinds >= 0)
        cannot = on[state.rate[on, kinds[on]] <= 0]
        if len(cannot):
            j = int(cannot[0])
            raise VerificationError(f"{where}: job {state.job(j).name!r} cannot run on {state.gpu_types[kinds[j]]!r}")
        used = np.bincount(kinds[on], weights=state.demand[on], minlength=len(state.count)).astype(np.int64)
        over = np.flatnonzero(used > state.count)
        if len(over):
            k = int(over[0])
            raise VerificationError(
                f"{where}: {used[k]} GPUs of {state.gpu_types[k]!r} are used, there are {state.count[k]}"
            )
        return kinds

    def _start_jobs(self, now: int, kinds: NDArray[np.int64], queue: EventQueue[int]) -> NDArray[np.int64]:
        """Book moves, push the completions of this round; the tick at which each job is through with it."""
        t, step = self.table, self.step
        chosen = np.flatnonzero(kinds >= 0)
        jobs, kind = self.active[chosen], kinds[chosen]
        before = self.current[jobs]
        self.current[self.running] = -1
        self.running = jobs
        self.current[jobs] = kind
        self.busy = int(t.demand[jobs].sum())
        moved = (self.last_type[jobs] >= 0) & (before != kind)
        self.moving_left[jobs[moved]] = t.moving[jobs[moved]]
        self.moves[jobs[moved]] += 1
        self.last_type[jobs] = kind
        new = self.first_start[jobs] < 0
        self.first_start[jobs[new]] = now
        rate = t.rate[jobs, kind]
        left = t.work[jobs] - self.done[jobs]
        lost = self.moving_left[jobs]
        with np.errstate(over="ignore"):
            seconds = np.minimum(left / rate, 2.0 * step / TICKS_PER_SECOND + 1.0)
        need = np.maximum(np.ceil(seconds * TICKS_PER_SECOND), 1.0).astype(np.int64) + lost
        if self.setting.whole_steps:
            room = np.maximum(step - lost, 0) / TICKS_PER_SECOND
            units = np.minimum(np.maximum(np.floor(rate * room + 1e-9), 1.0), left)
            span = np.minimum(lost + np.ceil(units / rate * TICKS_PER_SECOND).astype(np.int64), need)
            finishing = units >= left
            self.units_of[jobs], self.span_of[jobs] = units, span
        else:
            span = np.minimum(need, step)
            finishing = need <= step
            self.span_of[jobs] = span
        self.progress = bool((span > lost).any())
        for j, at in zip(jobs[finishing].tolist(), (now + need[finishing]).tolist(), strict=True):
            queue.push(at, EventKind.JOB_END, j)
        return np.asarray(now + np.maximum(span, 1), dtype=np.int64)

    def _note_border(self, now: int, waiting: int) -> None:
        self.busy = int(self.table.demand[self.running].sum())
        _note(self.queue_length, now, waiting)
        _note(self.gpus_used, now, self.busy)

    # ---------------------------------------------------------------------------------------- outcome

    def outcome(self, workload: Workload) -> PolicyOutcome:
        """What happened, in seconds."""
        t = self.table
        alone = times_alone(t, self.finish)
        held = (self.held * t.demand[:, None]).sum(axis=1)
        jobs = tuple(
            JobOutcome(
                name=t.names[j],
                arrival=float(workload.jobs[j].arrival),
                first_start=_seconds(self.first_start[j]),
                finish=_seconds(self.finish[j]),
                gpu_seconds=float(held[j]) / TICKS_PER_SECOND,
                migrations=int(self.moves[j]),
                alone=alone[j],
            )
            for j in range(len(t.names))
        )
        ended = self.finish[self.finish >= 0]
        span = (int(ended.max()) - int(t.arrival.min())) if len(ended) else 0
        total = int(t.count.sum())
        utilisation = float(self._held_until(int(ended.max()))) / (span * total) if span > 0 else None
        notes = [self.message]
        if t.waiting_for_ever:
            notes.append(f"{len(t.waiting_for_ever)} jobs need more GPUs of a type than there are and wait for ever")
        return PolicyOutcome(
            policy=self.policy.name,
            jobs=jobs,
            gpus=total,
            utilisation=None if utilisation is None else min(1.0, utilisation),
            decision_seconds=tuple(self.decision_seconds),
            series={"waiting jobs": tuple(self.queue_length), "GPUs in use": tuple(self.gpus_used)},
            interrupted=self.interrupted,
            message="; ".join(note for note in notes if note),
            options={"rounds": self.round},
        )

    def _held_until(self, end: int) -> int:
        """GPU-ticks held up to ``end`` (an interrupted run may have booked more)."""
        total, points = 0.0, [*self.gpus_used, (end / TICKS_PER_SECOND, 0.0)]
        for (at, value), (until, _) in itertools.pairwise(points):
            total += value * max(0.0, min(until, end / TICKS_PER_SECOND) - at)
        return round(total * TICKS_PER_SECOND)


def _seconds(value: np.int64) -> float | None:
    return None if value < 0 else float(value) / TICKS_PER_SECOND


def _note(series: list[tuple[float, float]], now: int, value: float) -> None:
    at = now / TICKS_PER_SECOND
    if series and series[-1][0] == at:
        series[-1] = (at, float(value))
        if len(series) > 1 and series[-2][1] == value:
            series.pop()
    elif not series or series[-1][1] != value:
        series.append((at, float(value)))
