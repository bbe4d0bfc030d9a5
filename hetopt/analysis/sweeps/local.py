"""Runs in processes of this machine: one executor of one worker a slot, so that a crash takes one run with it.

A worker that dies (out of memory, a crash of native code) or overstays its limit by far costs its own run, which is
recorded with the reason; the slot gets a new worker.  Workers are in a process group of their own, so that
Ctrl-C reaches the parent only, and end when their parent is gone.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.connection import wait as wait_for
from typing import Any, Final

from hetopt.analysis.sweeps.engine import Finished, worker_environment
from hetopt.analysis.sweeps.execute import RunInterrupted, State, make_record, run_one
from hetopt.analysis.sweeps.expand import Run
from hetopt.core.errors import UsageError

__all__ = ["LocalEngine", "hard_limit"]

_GRACE: Final = 30.0
"""Seconds beyond the time limit (and a tenth of it) after which a worker is ended: loading and building a problem counts, too."""


def hard_limit(run: Run) -> float | None:
    """Seconds after which a run is ended by force; None: never."""
    limit = run.limits.get("time")
    return None if limit is None else 1.1 * limit + _GRACE


def _begin_worker(environment: dict[str, str]) -> None:
    os.environ.update(environment)
    with contextlib.suppress(OSError, AttributeError):
        os.setpgid(0, 0)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait_for([sentinel])
    os._exit(1)


@dataclass
class _Slot:
    """An executor of one worker, and what it is doing."""

    executor: ProcessPoolExecutor
    pid: int | None = None
    run: Run | None = None
    future: Future[dict[str, Any]] | None = None
    end: float | None = None
    overdue: bool = False


class LocalEngine:
    """Worker processes on this machine.

    Parameters
    ----------
    jobs
        Number of workers, >= 1.
    """

    def __init__(self, jobs: int) -> None:
        if jobs < 1:
            raise UsageError(f"jobs {jobs}: at least one worker is needed")
        self.jobs = jobs
        self._slots: list[_Slot] = []

    @property
    def room(self) -> int:
        """Number of workers."""
        return self.jobs

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(self, *error: object) -> None:
        for slot in self._slots:
            if slot.run is not None:
                _kill(slot.pid)
            slot.executor.shutdown(wait=True, cancel_futures=True)
        self._slots = []

    def _new_slot(self) -> _Slot:
        context = multiprocessing.get_context("spawn")
        executor = ProcessPoolExecutor(1, context, initializer=_begin_worker, initargs=(worker_environment(),))
        try:
            return _Slot(executor, executor.submit(os.getpid).result())
        except BrokenProcessPool:
            raise UsageError(
                "a worker process could not be started; a script that runs sweeps does so under if __name__ == '__main__'"
            ) from None

    def submit(self, run: Run) -> None:
        """Give a run to an idle worker."""
        slot = next((s for s in self._slots if s.run is None), None)
        if slot is None:
            slot = self._new_slot()
            self._slots.append(slot)
        limit = hard_limit(run)
        slot.run, slot.overdue = run, False
        slot.end = None if limit is None else time.monotonic() + limit
        slot.future = slot.executor.submit(run_one, run)

    def completed(self) -> Iterator[Finished]:
        """Runs that have ended; waits for one."""
        busy = {slot.future: slot for slot in self._slots if slot.future is not None}
        while True:
            now = time.monotonic()
            ends = [slot.end for slot in busy.values() if slot.end is not None and not slot.overdue]
            done, _ = wait(busy, max(0.0, min(ends) - now) if ends else None, FIRST_COMPLETED)
            if done:
                break
            for slot in busy.values():
                if slot.end is not None and not slot.overdue and time.monotonic() >= slot.end:
                    slot.overdue = True
                    _kill(slot.pid)
        for future in done:
            yield self._finish(busy[future], future)

    def _finish(self, slot: _Slot, future: Future[dict[str, Any]]) -> Finished:
        run = slot.run
        assert run is not None
        slot.run = slot.future = None
        try:
            return Finished(run, future.result())
        except BrokenProcessPool:
            slot.executor.shutdown(wait=True, cancel_futures=True)
            self._slots.remove(slot)
            if slot.overdue:
                text = f"ended by force {_GRACE:g} s and a tenth of the limit after its time limit of {run.limits['time']:g} s"
                return Finished(run, make_record(run, State.TIMED_OUT, reason=text))
            text = "the worker process died (killed from outside, out of memory, or a crash of a native library)"
            return Finished(run, make_record(run, State.FAILED, reason=text))
        except RunInterrupted:
            raise KeyboardInterrupt from None
        except Exception as error:  # what could not be sent back, for example
            return Finished(run, make_record(run, State.FAILED, reason=f"broke: {type(error).__name__}: {error}"))


def _kill(pid: int | None) -> None:
    if pid is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
