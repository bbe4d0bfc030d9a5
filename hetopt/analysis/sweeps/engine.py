"""What engines have in common, and the loop that feeds them: claim, execute, write, let go."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from hetopt.analysis.sweeps.execute import State
from hetopt.analysis.sweeps.expand import Run
from hetopt.analysis.sweeps.store import Claim, RunStore
from hetopt.core.errors import HetoptError

__all__ = ["Engine", "Finished", "Progress", "SweepSummary", "execute_runs", "pending_runs"]


@dataclass(frozen=True)
class Finished:
    """A run that an engine is through with."""

    run: Run
    record: dict[str, Any]


class Engine(Protocol):
    """Executes runs somewhere; used as a context manager, which stops everything at its end."""

    @property
    def room(self) -> int:
        """How many runs may be under way at once."""

    def __enter__(self) -> Engine: ...

    def __exit__(self, *error: object) -> None: ...

    def submit(self, run: Run) -> None:
        """Start a run; there is room for it."""

    def completed(self) -> Iterator[Finished]:
        """Wait for at least one of the runs under way, give those that are done."""


@dataclass(frozen=True)
class Progress:
    """What a listener hears after each run.

    ``seconds_left`` is None as long as nothing is known about it.
    """

    finished: int
    total: int
    failed: int
    seconds: float
    seconds_left: float | None
    run: Run
    record: dict[str, Any]


@dataclass
class SweepSummary:
    """How a call ended.

    Attributes
    ----------
    total
        Runs of this call (of its shard).
    present
        Records that were there already and were kept.
    states
        Runs executed now, by state.
    elsewhere
        Runs that another process was executing.
    rejected
        Files that could not be trusted: name and reason.
    """

    total: int
    present: int = 0
    states: Counter[str] = field(default_factory=Counter)
    elsewhere: int = 0
    rejected: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def executed(self) -> int:
        """Runs executed now."""
        return sum(self.states.values())

    def line(self) -> str:
        """One line for people."""
        parts = [f"{self.total} runs: {self.present} there already, {self.executed} executed"]
        parts += [f"{n} {state}" for state in State if state is not State.DONE and (n := self.states[str(state)])]
        parts += [f"{self.elsewhere} under way in another process"] if self.elsewhere else []
        left = self.total - self.present - self.executed - self.elsewhere
        parts += [f"interrupted with {left} left"] if self.interrupted else []
        return ", ".join(parts)


def pending_runs(store: RunStore, runs: list[Run], retry_failed: bool) -> tuple[list[Run], list[str]]:
    """Runs without a record that counts, and what is wrong with files in their place."""
    survey = store.survey(runs)
    out = []
    for run in runs:
        record = survey.records.get(run.key)
        if record is None or (retry_failed and record["state"] != State.DONE):
            out.append(run)
    return out, list(survey.faults.values())


def execute_runs(
    store: RunStore,
    runs: list[Run],
    engine: Engine,
    *,
    retry_failed: bool = False,
    listener: Callable[[Progress], None] | None = None,
) -> SweepSummary:
    """Execute what has no record yet.

    Parameters
    ----------
    store
        Where records are and go.
    runs
        What is wanted.
    engine
        Who executes; entered and left here.
    retry_failed
        Execute failed and timed-out runs again.
    listener
        Called after each run.
    """
    store.tidy()
    waiting, faults = pending_runs(store, runs, retry_failed)
    summary = SweepSummary(len(runs), len(runs) - len(waiting), rejected=tuple(faults))
    if not waiting:
        return summary
    todo = len(waiting)
    queue, claims = iter(waiting), dict[str, Claim]()
    begin = time.perf_counter()
    try:
        with engine:
            exhausted = False
            while claims or not exhausted:
                while len(claims) < engine.room and not exhausted:
                    run = next(queue, None)
                    if run is None:
                        exhausted = True
                    elif (claim := _claimed(store, run, retry_failed, summary)) is not None:
                        claims[run.key] = claim
                        engine.submit(run)
                if not claims:
                    continue
                for done in engine.completed():
                    store.write(done.record)
                    claims.pop(done.run.key).release()
                    summary.states[done.record["state"]] += 1
                    if listener is not None:
                        listener(_progress(summary, todo, time.perf_counter() - begin, done))
    except KeyboardInterrupt:
        summary.interrupted = True
    finally:
        for claim in claims.values():
            claim.release()
    return summary


def _claimed(store: RunStore, run: Run, retry_failed: bool, summary: SweepSummary) -> Claim | None:
    """The right to execute a run that still has no record."""
    claim = store.claim(run.key)
    if claim is None:
        summary.elsewhere += 1
        return None
    try:
        record = store.read(run.key)
    except HetoptError:
        store.reject(run.key)
        record = None
    if record is not None and not (retry_failed and record["state"] != State.DONE):
        summary.present += 1
        claim.release()
        return None
    return claim


def _progress(summary: SweepSummary, todo: int, seconds: float, done: Finished) -> Progress:
    executed = summary.executed
    left = max(0, todo - executed - summary.elsewhere)
    failed = executed - summary.states[str(State.DONE)]
    return Progress(executed, todo, failed, seconds, seconds / executed * left, done.run, done.record)


def worker_environment() -> dict[str, str]:
    """Variables that keep numerical libraries to one thread a worker."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {name: os.environ.get(name, "1") for name in names}
