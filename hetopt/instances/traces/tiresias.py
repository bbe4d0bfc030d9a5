"""Tiresias' traces, cluster shapes and service samples (Gu et al., NSDI 2019; repository SymbioticLab/Tiresias).

A trace is a CSV file with at least ``job_id, num_gpu, submit_time, duration, model_name``; other columns
(``iterations``, ``interval``, ``start_time``, ...) differ between files and are not needed.  Identifiers may repeat: the line
is the job's identity.  No GPU types are named: work is the duration in seconds on the job's GPUs, at speed 1.

A cluster file has one row of ``num_switch, num_node_p_switch, num_gpu_p_node``; GPUs in all are the product of the three.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hetopt.core.errors import Fault, InputError
from hetopt.core.workload import TrainingJob, Workload
from hetopt.instances.report import LoadedWorkload
from hetopt.instances.traces.rows import Row, read_table, speeds_of, workload_of

__all__ = ["COLUMNS", "load_service_samples", "load_tiresias_cluster", "load_tiresias_workload"]

COLUMNS: Final = ("job_id", "num_gpu", "submit_time", "duration", "model_name")


def load_tiresias_workload(
    path: str | os.PathLike[str],
    speeds: Mapping[str, float] | None = None,
    *,
    jobs: int | None = None,
    strict: bool = True,
) -> LoadedWorkload:
    """Read a trace.

    Parameters
    ----------
    path
        The file.
    speeds
        Speed of each GPU type; by default one type ``GPU`` of speed 1.
    jobs
        Only the first so many rows.
    strict
        Malformed rows are errors, or dropped and counted.
    """
    table = read_table(path, COLUMNS, jobs=jobs)
    kinds, speed = speeds_of(speeds)

    def job(row: Row) -> TrainingJob | None:
        gpus, arrival, duration = (
            row.whole("num_gpu", 1),
            row.number("submit_time", least=0),
            row.number("duration", above=0),
        )
        if row.faults:
            return None
        facts = {"line": str(row.line), "model": row.text("model_name"), "job_id": row.text("job_id")}
        return TrainingJob(
            name=f"{row.text('model_name')} #{row.line}",
            arrival=arrival,
            work=duration,
            demand=gpus,
            throughput=speed,
            attributes=tuple(sorted(facts.items())),
        )

    return workload_of(
        ((row, job(row), None) for row in table.rows),
        lambda made: Workload(Path(table.source).stem, kinds, made, work_unit="second", source=table.source),
        source=table.source,
        strict=strict,
    )


def load_tiresias_cluster(path: str | os.PathLike[str]) -> int:
    """GPUs in all of a cluster file."""
    table = read_table(path, ("num_switch", "num_node_p_switch", "num_gpu_p_node"))
    if len(table.rows) != 1:
        rule = "a cluster file has one row"
        raise InputError(Fault("", f"{len(table.rows)} rows", rule, "give another file", table.source))
    row = table.rows[0]
    gpus = row.whole("num_switch", 1) * row.whole("num_node_p_switch", 1) * row.whole("num_gpu_p_node", 1)
    if row.faults:
        raise InputError([Fault(f.where, f.found, f.rule, f.remedy, table.source) for f in row.faults])
    return gpus


def load_service_samples(path: str | os.PathLike[str]) -> tuple[float, ...]:
    """Samples of a job's GPU time in seconds (column ``duration``), sorted: a service-time distribution."""
    table = read_table(path, ("duration",))
    values = [row.number("duration", above=0) for row in table.rows]
    faults = [Fault(f.where, f.found, f.rule, f.remedy, table.source) for row in table.rows for f in row.faults]
    if faults or not values:
        raise InputError(faults or [Fault("", "no sample", "at least one sample", "give another file", table.source)])
    return tuple(sorted(values))
