"""What a task-level run gives: the schedule, checked, and the figures of each job."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import NoSolutionError
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.schedule import Schedule
from hetopt.core.simulation import JobOutcome, PolicyOutcome
from hetopt.core.status import Objective
from hetopt.solvers.online.rounds.fairness import times_alone
from hetopt.solvers.online.rounds.setting import TICKS_PER_SECOND, JobTable
from hetopt.solvers.online.tasks.checks import require_sound
from hetopt.solvers.online.tasks.setting import TaskSetting

__all__ = ["TaskRun", "policy_options"]

Ints = NDArray[np.int64]


def policy_options(policy: object) -> dict[str, Any]:
    """Parameters of a policy as plain values."""
    if not dataclasses.is_dataclass(policy) or isinstance(policy, type):
        return {}
    out: dict[str, Any] = {}
    for f in dataclasses.fields(policy):
        if not f.repr:
            continue
        value = getattr(policy, f.name)
        plain = value is None or isinstance(value, (bool, int, float))
        out[f.name] = value if plain else list(value) if isinstance(value, tuple) else str(value)
    return out


@dataclass(frozen=True, eq=False)
class TaskRun:
    """One policy on one instance, in ticks; -1 stands for "not yet" where the run was interrupted.

    Attributes
    ----------
    gpu, start, end, sync_end : (T,) int64
        As in a schedule; with noise the true ends.
    taken, given : (T,) int64
        The ticks between which the task held its GPU: with the switch before it, and under gang scheduling the
        wait for the others of its round after it.
    finish : (N,) int64
        Completion time of each job.
    events
        Events that the simulator acted on.
    """

    instance: Instance
    policy: str
    options: dict[str, Any]
    setting: TaskSetting
    seed: int
    gang: bool
    gpu: Ints
    start: Ints
    end: Ints
    sync_end: Ints
    taken: Ints
    given: Ints
    finish: Ints
    events: int
    interrupted: bool = False
    message: str = field(default="")

    def __post_init__(self) -> None:
        for name in ("gpu", "start", "end", "sync_end", "taken", "given", "finish"):
            getattr(self, name).setflags(write=False)

    def checked(self) -> TaskRun:
        """Run the independent checks, and give the run back."""
        require_sound(self)
        return self

    @property
    def complete(self) -> bool:
        """Whether every job has finished."""
        return bool((self.finish >= 0).all())

    @cached_property
    def started(self) -> Schedule:
        """The tasks that have started, as rows of a schedule (all of them in a complete run); with noise the true ends."""
        a = self.instance.arrays
        rounds = np.repeat(np.arange(a.num_rounds, dtype=np.int64), a.scale)
        on = np.flatnonzero(self.start >= 0)
        job = a.round_job[rounds[on]]
        return Schedule(
            instance=self.instance.name,
            fingerprint=self.instance.fingerprint,
            job=job,
            round=rounds[on] - a.round_start[job],
            task=on - a.task_start[rounds[on]],
            gpu=self.gpu[on],
            start=self.start[on],
            end=self.end[on],
            sync_end=self.sync_end[on],
        )

    @property
    def schedule(self) -> Schedule:
        """The schedule of a complete run.

        Raises
        ------
        NoSolutionError
            The run was interrupted.
        """
        if not self.complete:
            raise NoSolutionError(f"the run of {self.policy} was interrupted; what was done is in started")
        return self.started

    def value(self, objective: Objective = Objective.TOTAL_WEIGHTED_FLOW) -> int:
        """Exact objective of a complete run."""
        return evaluate(self.instance, self.schedule, objective)

    def _job_of_task(self) -> Ints:
        a = self.instance.arrays
        return np.asarray(np.repeat(a.round_job, a.scale), dtype=np.int64)

    def series(self) -> dict[str, tuple[tuple[float, float], ...]]:
        """Step functions of time in seconds: GPUs in use (held), and jobs that wait (arrived, none of their tasks holds a GPU)."""
        tick, a = self.instance.tick_seconds, self.instance.arrays
        on = np.flatnonzero(self.start >= 0)
        last = int(max(self.end.max(initial=0), self.finish.max(initial=0), self.taken.max(initial=0)))
        given = np.where(self.given[on] >= 0, self.given[on], last)
        held = _steps(np.concatenate([self.taken[on], given]), np.repeat([1, -1], len(on)))
        # a job runs from the first taking to the last giving of each group of overlapping holds
        job = self._job_of_task()[on]
        order = np.lexsort((self.taken[on], job))
        begins, ends, owner = self.taken[on][order], given[order], job[order]
        if len(order):
            # running maximum of the ends within each job: shift jobs apart so that one pass does for all
            shift = owner * (last + 1)
            reach = np.maximum.accumulate(ends + shift) - shift
            fresh = np.ones(len(order), dtype=np.bool_)
            fresh[1:] = (owner[1:] != owner[:-1]) | (begins[1:] > reach[:-1])
            closing = np.append(reach[:-1][fresh[1:]], reach[-1])
            opening = begins[fresh]
        else:
            opening = closing = np.zeros(0, dtype=np.int64)
        done = np.where(self.finish >= 0, self.finish, last + 1)
        present = np.flatnonzero(a.release_date <= last)
        leaving = done[present][done[present] <= last]
        moments = np.concatenate([a.release_date[present], leaving, opening, closing])
        change = np.concatenate(
            [
                np.ones(len(present), dtype=np.int64),
                -np.ones(len(leaving), dtype=np.int64),
                -np.ones(len(opening), dtype=np.int64),
                np.ones(len(closing), dtype=np.int64),
            ]
        )
        waiting = _steps(moments, change)

        def seconds(steps: list[tuple[int, int]]) -> tuple[tuple[float, float], ...]:
            return tuple((t * tick, float(v)) for t, v in steps)

        return {"GPUs in use": seconds(held), "waiting jobs": seconds(waiting)}

    def job_outcomes(self) -> tuple[JobOutcome, ...]:
        """What happened to each job, in seconds.  A migration is a task on another GPU type than the job's task before it."""
        a, tick = self.instance.arrays, self.instance.tick_seconds
        on = np.flatnonzero(self.start >= 0)
        job = self._job_of_task()[on]
        n = self.instance.num_jobs
        never = np.iinfo(np.int64).max
        first = np.full(n, never, dtype=np.int64)
        np.minimum.at(first, job, self.start[on])
        end = np.where(self.given[on] >= 0, self.given[on], self.end[on])
        held = np.bincount(job, weights=(end - self.taken[on]).astype(np.float64), minlength=n)
        order = np.lexsort((on, self.start[on], job))
        kind, owner = a.gpu_type[self.gpu[on]][order], job[order]
        moved = (owner[1:] == owner[:-1]) & (kind[1:] != kind[:-1])
        moves = np.bincount(owner[1:][moved], minlength=n)
        alone = self._alone()
        return tuple(
            JobOutcome(
                name=self.instance.jobs[i].name,
                arrival=int(a.release_date[i]) * tick,
                first_start=None if first[i] == never else int(first[i]) * tick,
                finish=None if self.finish[i] < 0 else int(self.finish[i]) * tick,
                gpu_seconds=float(held[i]) * tick,
                migrations=int(moves[i]),
                alone=alone[i],
            )
            for i in range(n)
        )

    def _alone(self) -> list[float | None]:
        """Time alone on an equal share, as in the round-based simulator; a job that no single type can run has none."""
        a = self.instance.arrays
        seconds = (
            np.add.reduceat(a.processing_time + a.sync_time, a.round_start[:-1], axis=0) * self.instance.tick_seconds
        )
        able = np.logical_and.reduceat(a.allowed, a.round_start[:-1], axis=0)
        rate = np.where(able, 1.0 / np.maximum(seconds, 1e-300), 0.0)
        scale = self.instance.tick_seconds * TICKS_PER_SECOND
        table = JobTable(
            gpu_types=tuple(g.name for g in self.instance.gpu_types),
            count=np.asarray(a.gpu_count, dtype=np.int64),
            names=tuple(job.name for job in self.instance.jobs),
            arrival=np.rint(a.release_date * scale).astype(np.int64),
            demand=np.maximum.reduceat(a.scale, a.round_start[:-1]).astype(np.int64),
            rate=rate,
            work=np.ones(self.instance.num_jobs),
            weight=a.weight.astype(np.float64),
            moving=np.zeros(self.instance.num_jobs, dtype=np.int64),
            waiting_for_ever=(),
        )
        finish = np.where(self.finish >= 0, np.rint(self.finish * scale), -1).astype(np.int64)
        with np.errstate(divide="ignore"):
            found = times_alone(table, finish)
        return [v if v is not None and np.isfinite(v) else None for v in found]

    def utilisation(self) -> float | None:
        """GPU time held over GPU time there was from the first arrival to the last finish."""
        a = self.instance.arrays
        if not (self.finish >= 0).any():
            return None
        end = int(self.finish.max())
        span = end - int(a.release_date.min())
        on = np.flatnonzero(self.start >= 0)
        given = np.where(self.given[on] >= 0, self.given[on], end)
        held = int(np.maximum(np.minimum(given, end) - np.minimum(self.taken[on], end), 0).sum())
        return held / (span * a.num_gpus) if span > 0 else None

    def outcome(self) -> PolicyOutcome:
        """The run as a row of a ``hetopt/simulation``."""
        return PolicyOutcome(
            policy=self.policy,
            jobs=self.job_outcomes(),
            gpus=self.instance.num_gpus,
            utilisation=self.utilisation(),
            options={**self.options, "events": self.events},
            series=self.series(),
            interrupted=self.interrupted,
            message=self.message or ("interrupted" if self.interrupted else ""),
        )


def _steps(moments: Ints, change: Any) -> list[tuple[int, int]]:
    """Partial sums of changes, one point where the value changes."""
    if not len(moments):
        return []
    times, place = np.unique(moments, return_inverse=True)
    total = np.cumsum(np.bincount(place.ravel(), weights=change, minlength=len(times))).astype(np.int64)
    keep = np.ones(len(times), dtype=np.bool_)
    keep[1:] = total[1:] != total[:-1]
    return list(zip(times[keep].tolist(), total[keep].tolist(), strict=True))
