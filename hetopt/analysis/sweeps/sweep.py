"""A whole sweep: specification in, records and a table out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hetopt.analysis.sweeps.collect import SweepTable, collect
from hetopt.analysis.sweeps.engine import Engine, Progress, SweepSummary, execute_runs, pending_runs
from hetopt.analysis.sweeps.expand import Run, expand, shard
from hetopt.analysis.sweeps.local import LocalEngine
from hetopt.analysis.sweeps.provenance import available_cores
from hetopt.analysis.sweeps.spec import SweepSpec, read_spec
from hetopt.analysis.sweeps.store import RunStore
from hetopt.core.documents import write_text
from hetopt.core.errors import UsageError

__all__ = ["Plan", "crowding", "parse_shard", "plan_sweep", "run_sweep"]


@dataclass(frozen=True)
class Plan:
    """What a sweep would do.

    Attributes
    ----------
    spec, runs
        The specification, and its runs (of the shard).
    pending
        Runs without a record.
    seconds
        Estimate for one worker after another has taken its share; None: some runs have no limit and nothing like
        them has been recorded.
    upper
        Whether ``seconds`` is a limit and not an expectation.
    """

    spec: SweepSpec
    runs: tuple[Run, ...]
    pending: tuple[Run, ...]
    seconds: float | None
    upper: bool
    rejected: tuple[str, ...] = ()


def parse_shard(text: str) -> tuple[int, int]:
    """``i/n`` as two whole numbers.

    Raises
    ------
    UsageError
        Anything else, or i not from 1 to n.
    """
    left, slash, right = text.partition("/")
    if not (slash and left.isascii() and left.isdigit() and right.isascii() and right.isdigit()):
        raise UsageError(f"shard {text!r}: write i/n, for example 1/4")
    number, of = int(left), int(right)
    if not 1 <= number <= of:
        raise UsageError(f"shard {text!r}: the number is from 1 to {of}")
    return number, of


def _runs(spec_file: str | os.PathLike[str], part: str | None) -> tuple[SweepSpec, list[Run]]:
    spec = read_spec(spec_file)
    runs = expand(spec, Path(spec_file).parent, os.fspath(spec_file))
    return spec, runs if part is None else shard(runs, *parse_shard(part))


def plan_sweep(
    spec_file: str | os.PathLike[str], out: str | os.PathLike[str], *, jobs: int = 1, part: str | None = None
) -> Plan:
    """What :func:`run_sweep` would execute; nothing is written."""
    spec, runs = _runs(spec_file, part)
    pending, rejected = runs, list[str]()
    means: dict[tuple[str, str], list[float]] = {}
    if (Path(out) / "runs").is_dir():
        store = RunStore(out)
        pending, rejected = pending_runs(store, runs, retry_failed=False)
        for run in runs:
            if run not in pending:
                record = store.read(run.key)
                seconds = None if record is None else record["provenance"].get("seconds")
                if seconds is not None:
                    means.setdefault((run.action, run.label), []).append(seconds)
    total, upper = 0.0, False
    for run in pending:
        known, limit = means.get((run.action, run.label)), run.limits["time"]
        if known:
            total += sum(known) / len(known)
        elif limit is not None:
            total, upper = total + limit, True
        else:
            return Plan(spec, tuple(runs), tuple(pending), None, False, tuple(rejected))
    return Plan(spec, tuple(runs), tuple(pending), total / max(1, jobs), upper, tuple(rejected))


def crowding(runs: list[Run] | tuple[Run, ...], jobs: int) -> str | None:
    """A warning where workers x threads exceed the cores that the process has."""
    threads = max((run.limits["threads"] for run in runs), default=1)
    cores = available_cores()
    if jobs * threads <= cores:
        return None
    return (
        f"{jobs} workers x {threads} threads on {cores} cores: run times will be longer than with one core a thread; "
        f"use --jobs {max(1, cores // threads)}"
    )


def run_sweep(
    spec_file: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    part: str | None = None,
    scheduler: str | None = None,
    retry_failed: bool = False,
    listener: Callable[[Progress], None] | None = None,
) -> tuple[SweepSummary, SweepTable]:
    """Execute what has no record yet, and collect the table of all runs (also those of other shards that are there).

    Parameters
    ----------
    spec_file
        TOML.
    out
        Folder of the records.
    jobs
        Worker processes; by default one a core that this process really has.
    part
        ``i/n``: only that shard.
    scheduler
        Address of a Dask scheduler, in place of worker processes.
    retry_failed
        Execute failed and timed-out runs again.
    listener
        Called after each run.

    Raises
    ------
    InputError, UsageError, OutputError, SolverUnavailableError
        The specification or the call is wrong; nothing has been executed.
    """
    if scheduler is not None and jobs is not None:
        raise UsageError("jobs and scheduler: choose one; a cluster has as many workers as it has")
    spec, runs = _runs(spec_file, part)
    engine: Engine
    if scheduler is None:
        jobs = (
            jobs
            if jobs is not None
            else max(1, available_cores() // max((r.limits["threads"] for r in runs), default=1))
        )
        engine = LocalEngine(jobs)
        warning = crowding(runs, min(jobs, len(runs)))
        if warning is not None:
            warnings.warn(warning, stacklevel=2)
    else:
        from hetopt.analysis.sweeps.cluster import ClusterEngine

        cluster = ClusterEngine(scheduler)
        if max(cluster.threads.values()) > 1:
            text = "some workers have more than one thread: runs share a process and slow each other down; use --nthreads 1"
            warnings.warn(text, stacklevel=2)
        engine = cluster
    store = RunStore(out)
    write_text(store.folder / "spec.toml", Path(spec_file).read_text(encoding="utf-8"))
    summary = execute_runs(store, runs, engine, retry_failed=retry_failed, listener=listener)
    everything = runs if part is None else _runs(spec_file, None)[1]
    return summary, collect(spec, everything, store)
