"""Alibaba's GPU traces: the nodes and pods of 2023 ("openb") and the mini-batch times of 2020.

2023 (Weng, Yang et al., USENIX ATC 2023): a node list (``sn, cpu_milli, memory_mib, gpu, model``) and a pod list (``name,
cpu_milli, memory_mib, num_gpu, gpu_milli, gpu_spec, qos, pod_phase, creation_time, deletion_time, scheduled_time``).  A pod becomes
a job: arrival = creation, work = deletion - scheduled in seconds, demand = ``num_gpu``; it may run on the types of ``gpu_spec``
(separated by ``|``, repetitions ignored; empty: any).  No throughputs are known, so all eligible types have speed 1 unless ``speeds`` says otherwise.

Left out with a reason: pods that need no GPU; pods that never ran (no scheduled time); pods that ask for types outside
the cluster; by default pods with a fraction of a GPU (``fractions = "whole"`` gives them a whole one) and failed pods.  The
run time of a pod that was still running at the latest deletion time of the list is cut off there; the report says how many.

2020 (Weng et al., NSDI 2022): relative mini-batch times of the workers of a job, for the spread of task times.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from hetopt.core.errors import Fault, InputError, UsageError, shown
from hetopt.core.workload import TrainingJob, Workload
from hetopt.instances.names import match_types
from hetopt.instances.report import LoadedWorkload
from hetopt.instances.traces.rows import Row, read_table, workload_of

__all__ = ["TYPES", "Fractions", "WorkerTimes", "load_alibaba_nodes", "load_alibaba_workload", "load_worker_times"]

TYPES: Final = ("G2", "G3", "T4", "P100", "V100M16", "V100M32", "A10")
"""GPU types of the 2023 cluster."""
_NODES: Final = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_PODS: Final = (
    *("name", "num_gpu", "gpu_milli", "gpu_spec", "pod_phase"),
    *("creation_time", "deletion_time", "scheduled_time"),
)


class Fractions(StrEnum):
    """What becomes of a pod that needs a fraction of a GPU: left out, or given a whole one."""

    DROP = "drop"
    WHOLE = "whole"


def load_alibaba_nodes(path: str | os.PathLike[str]) -> dict[str, int]:
    """GPUs of each type in a node list, in falling order of number; nodes without GPUs do not count.

    Raises
    ------
    InputError
        Bad rows; a node with GPUs and no model.
    """
    table = read_table(path, _NODES)
    count: Counter[str] = Counter()
    faults: list[Fault] = []
    for row in table.rows:
        gpus, model = row.whole("gpu", 0), row.text("model")
        if gpus and not model:
            row.refuse("model", model, f"a node with {gpus} GPUs names their type")
        faults += [Fault(f.where, f.found, f.rule, f.remedy, table.source) for f in row.faults]
        if gpus:
            count[model] += gpus
    if faults:
        raise InputError(faults)
    return dict(sorted(count.items(), key=lambda item: (-item[1], item[0])))


def load_alibaba_workload(
    path: str | os.PathLike[str],
    types: Sequence[str] = TYPES,
    *,
    speeds: Mapping[str, float] | None = None,
    fractions: Fractions | str = Fractions.DROP,
    failed: bool = False,
    jobs: int | None = None,
    strict: bool = False,
) -> LoadedWorkload:
    """Read a pod list.

    Parameters
    ----------
    path
        The file.
    types
        GPU types of the cluster, matched ignoring case.
    speeds
        Speeds of types (made up); 1 for those not named.
    fractions
        See :class:`Fractions`.
    failed
        Whether failed pods are kept (their run time is not their work).
    jobs
        Only the first so many rows.
    strict
        Every row that gives no job is an error; lenient by default, since most lists have many.

    Raises
    ------
    InputError
        Bad rows (strict), unknown types, no job left.
    """
    try:
        rule = Fractions(fractions)
    except ValueError:
        raise UsageError(f"fractions {shown(fractions)}: one of {', '.join(Fractions)}") from None
    table = read_table(path, _PODS, jobs=jobs)
    match_types(types, TYPES, table.source)
    folded = {name.casefold(): name for name in types}
    speed = {name.casefold(): float(value) for name, value in (speeds or {}).items()}
    for name, value in speed.items():
        if name not in folded or not value > 0:
            raise UsageError(f"speeds {name!r}: {value}: speeds > 0 of the types {', '.join(types)}")
    cut_off = 0
    ends = [row.text("deletion_time") for row in table.rows]
    latest = max((end for end in ends if end.isdigit()), key=int, default="")

    def read(row: Row) -> tuple[Row, TrainingJob | None, tuple[str, str] | None]:
        nonlocal cut_off
        gpus, share = row.whole("num_gpu", 0), row.whole("gpu_milli", 0)
        created, deleted = row.number("creation_time", least=0), row.number("deletion_time", least=0)
        scheduled = row.number("scheduled_time", least=0) if row.text("scheduled_time") else None
        name = row.text("name")
        if row.faults:
            return row, None, None
        if not gpus:
            return row, None, ("needs no GPU", f"pod {name!r}")
        if scheduled is None:
            return row, None, ("never ran", f"pod {name!r} has no scheduled time ({row.text('pod_phase')})")
        if share < 1000 and rule is Fractions.DROP:
            return row, None, ("fraction of a GPU", f"pod {name!r} needs {share}/1000 of one")
        if row.text("pod_phase") == "Failed" and not failed:
            return row, None, ("failed", f"the run time of pod {name!r} is not its work")
        if deleted <= scheduled:
            return row, None, ("no run time", f"pod {name!r} ran from {scheduled:g} to {deleted:g}")
        asked = {part.strip().casefold() for part in row.text("gpu_spec").split("|") if part.strip()}
        able = [(not asked or kind in asked) for kind in folded]
        if not any(able):
            return row, None, ("runs on no requested type", f"pod {name!r} asks for {row.text('gpu_spec')}")
        cut_off += row.text("pod_phase") == "Running" and row.text("deletion_time") == latest
        rates = tuple(speed.get(kind, 1.0) if ok else None for kind, ok in zip(folded, able, strict=True))
        facts = {"line": str(row.line), "phase": row.text("pod_phase"), "gpu_milli": str(share)}
        job = TrainingJob(
            name=name,
            arrival=created,
            work=deleted - scheduled,
            demand=gpus,
            throughput=rates,
            attributes=tuple(sorted(facts.items())),
        )
        return row, job, None

    rows = [read(row) for row in table.rows]
    notes = (f"{cut_off} jobs still ran at the end of the trace: their work is cut off there",) if cut_off else ()
    return workload_of(
        rows,
        lambda made: Workload(Path(table.source).stem, tuple(types), made, work_unit="second", source=table.source),
        source=table.source,
        strict=strict,
        notes=notes,
    )


@dataclass(frozen=True)
class WorkerTimes:
    """Relative mini-batch times of one worker (no unit; the job's largest is 1000) and its share of a GPU in percent."""

    worker: int
    gpu_percent: int
    times: tuple[float, ...]


def load_worker_times(path: str | os.PathLike[str]) -> tuple[WorkerTimes, ...]:
    """Mini-batch times by worker; workers may have different numbers of samples.

    Raises
    ------
    InputError
        Bad rows; a worker with two shares.
    """
    table = read_table(path, ("worker", "gpu", "time", "batch_time_norm"))
    gathered: dict[int, tuple[int, list[float]]] = {}
    faults: list[Fault] = []
    for row in table.rows:
        worker, share = row.whole("worker", 0), row.whole("gpu", 1)
        time = row.number("batch_time_norm", least=0, most=1000)
        known = gathered.setdefault(worker, (share, []))
        if known[0] != share:
            row.refuse("gpu", share, f"worker {worker} has {known[0]} percent elsewhere")
        known[1].append(time)
        faults += [Fault(f.where, f.found, f.rule, f.remedy, table.source) for f in row.faults]
    if faults or not gathered:
        raise InputError(faults or [Fault("", "no sample", "at least one sample", "give another file", table.source)])
    return tuple(WorkerTimes(w, share, tuple(times)) for w, (share, times) in sorted(gathered.items()))
