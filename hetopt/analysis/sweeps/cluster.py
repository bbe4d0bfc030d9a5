"""Runs on a Dask cluster (extra ``cluster``): the same function, on as many machines as there are workers.

Records are written here, by the process that asked: workers need no shared folder.  Problems from files travel with
the run.  Dask gives the runs of a worker that is lost to another one; a run that takes several workers with it is
recorded as failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hetopt.analysis.sweeps.engine import Finished
from hetopt.analysis.sweeps.execute import RunInterrupted, State, make_record, run_one
from hetopt.analysis.sweeps.expand import Run, load_problem
from hetopt.core.errors import HetoptError, SolverUnavailableError, UsageError

__all__ = ["ClusterEngine"]


class ClusterEngine:
    """Workers of a running Dask scheduler.

    Parameters
    ----------
    address
        Of the scheduler, for example ``tcp://127.0.0.1:8786``.
    connect_seconds
        How long to wait for it.

    Raises
    ------
    SolverUnavailableError
        Dask is not installed.
    UsageError
        Nobody answers, or there are no workers.
    """

    def __init__(self, address: str, connect_seconds: float = 10.0) -> None:
        try:
            import distributed
        except ImportError:
            raise SolverUnavailableError(
                "--scheduler needs distributed, not installed here; get it with: pip install 'hetopt[cluster]'"
            ) from None
        self._library: Any = distributed
        try:
            self._client: Any = self._library.Client(address, timeout=connect_seconds, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise UsageError(
                f"scheduler {address}: no answer ({' '.join(str(error).split())}); is dask scheduler up?"
            ) from None
        self._futures: dict[Any, Run] = {}
        if not self.threads:
            self._client.close()
            raise UsageError(
                f"scheduler {address}: it has no workers; start some with: dask worker {address} --nthreads 1"
            )

    @property
    def threads(self) -> dict[str, int]:
        """Threads of each worker."""
        return {str(k): int(v) for k, v in self._client.nthreads().items()}

    @property
    def room(self) -> int:
        """One run a thread, and one more a worker, so that none is idle."""
        threads = self.threads
        return max(1, sum(threads.values()) + len(threads))

    def __enter__(self) -> ClusterEngine:
        return self

    def __exit__(self, *error: object) -> None:
        if self._futures:
            self._client.cancel(list(self._futures), force=True)
        self._futures = {}
        self._client.close()

    def submit(self, run: Run) -> None:
        """Hand a run to the scheduler."""
        travelling = None
        if run.problem.source in ("files", "trace"):
            try:
                travelling = load_problem(run.problem)
            except HetoptError:
                travelling = None  # the run meets the same error, and its record says so
        future = self._client.submit(run_one, run, travelling, pure=False, key=f"hetopt-{run.key}")
        self._futures[future] = run

    def completed(self) -> Iterator[Finished]:
        """Runs that have ended; waits for one."""
        with self._client.as_current():
            done = self._library.wait(list(self._futures), return_when="FIRST_COMPLETED").done
        for future in done:
            run = self._futures.pop(future)
            yield Finished(run, self._record(run, future))

    def _record(self, run: Run, future: Any) -> dict[str, Any]:
        try:
            record: dict[str, Any] = future.result()
        except RunInterrupted:
            raise KeyboardInterrupt from None
        except Exception as error:
            why = " ".join(str(error).split())
            return make_record(run, State.FAILED, reason=f"the cluster gave it up: {type(error).__name__}: {why}")
        finally:
            future.release()
        return record
