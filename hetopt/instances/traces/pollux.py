"""Pollux' step-time profiles and workloads (Qiao et al., OSDI 2021), and a user's own clone of Sia's profiles.

A *profile* is a folder a model: ``placements.csv`` (``placement, local_bsz, step_time, sync_time``), ``scalability.csv``
(``num_nodes, num_replicas, local_bsz, step_time, sync_time``) and ``validation-B.csv`` (one row an epoch of a run with global
batch B; ``iteration`` is cumulative).  A placement is a *text* of digits, one a server: ``12`` is one GPU on one server and two on
another.  ``step_time`` includes ``sync_time``.  Sia's clones (Jayaram Subramanya et al., SOSP 2023) name the
files ``placements-CLUSTER.csv`` and ``scalability-CLUSTER.csv`` and order the columns in other ways; columns are read by name.

The time of a step with global batch B on n GPUs: the rows with n GPUs on the fewest servers (placements with
equal numbers of servers: the first in order of the text, read from the end, fullest first), linear in between
the profiled local batches, ceil(B / n) per GPU.  A local batch above the largest profiled one is done in k equal
sub-steps that synchronise once: time(sub-step) + (k - 1) x (time - sync).  Below the smallest, that of the smallest.

A workload is a CSV file ``name, time, application, num_replicas, batch_size``; a job's work is the last ``iteration`` of
its application's run with that batch.
"""

from __future__ import annotations

import math
import os
import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hetopt.core.errors import Fault, InputError, UsageError, shown
from hetopt.core.workload import TrainingJob, Workload
from hetopt.instances.report import LoadedWorkload
from hetopt.instances.traces.rows import Row, Table, read_table, workload_of

__all__ = ["COLUMNS", "Profile", "StepTime", "load_pollux_workload", "load_profile"]

COLUMNS: Final = ("name", "time", "application", "num_replicas", "batch_size")
_VALIDATION: Final = re.compile(r"validation-([0-9]+)\.csv")


@dataclass(frozen=True)
class StepTime:
    """Seconds of a step and of the gradient exchange in it."""

    step: float
    sync: float


@dataclass(frozen=True)
class Profile:
    """Step times of one model on one GPU type.

    Attributes
    ----------
    model, gpu_type
        Names.
    steps
        Per number of GPUs and number of servers: (local batch, step time) in rising order of the batch.
    iterations
        Steps of a whole run per global batch.
    """

    model: str
    gpu_type: str
    steps: Mapping[tuple[int, int], tuple[tuple[int, StepTime], ...]]
    iterations: Mapping[int, int]

    def servers(self, gpus: int) -> int | None:
        """The fewest servers profiled with so many GPUs; None: not profiled."""
        return min((nodes for n, nodes in self.steps if n == gpus), default=None)

    def step_time(self, gpus: int, batch: int) -> StepTime | None:
        """Time of one step with a global batch; None: no profile with so many GPUs."""
        nodes = self.servers(gpus)
        if nodes is None:
            return None
        rows = self.steps[gpus, nodes]
        local, largest = -(-batch // gpus), rows[-1][0]
        parts = max(1, -(-local // largest))
        one = _interpolated(rows, -(-local // parts))
        return StepTime(one.step + (parts - 1) * (one.step - one.sync), one.sync)


def _interpolated(rows: tuple[tuple[int, StepTime], ...], local: int) -> StepTime:
    at = bisect_left([size for size, _ in rows], local)
    if at == 0 or at == len(rows):
        return rows[min(at, len(rows) - 1)][1]
    (low, first), (high, second) = rows[at - 1], rows[at]
    share = (local - low) / (high - low)
    return StepTime(first.step + share * (second.step - first.step), first.sync + share * (second.sync - first.sync))


def load_profile(folder: str | os.PathLike[str], gpu_type: str, *, cluster: str | None = None) -> Profile:
    """Read the profile of a model.

    Parameters
    ----------
    folder
        The model's folder; its name is the model's.
    gpu_type
        Name of the GPU type of the measurements.
    cluster
        For clones of Sia: the cluster in the names of the files (``aws``, ``azure``, ``rtx``, ``quad``, ``dgx``, ``dgx-ext``).

    Raises
    ------
    InputError
        No placements, bad rows.
    """
    root = Path(folder)
    suffix = "" if cluster is None else f"-{cluster}"
    faults: list[Fault] = []
    found: dict[tuple[int, int], dict[str, dict[int, StepTime]]] = {}

    def take(row: Row, table: Table, gpus: int, nodes: int, placement: str) -> None:
        local = row.whole("local_bsz", 1)
        step, sync = row.number("step_time", above=0), row.number("sync_time", least=0)
        if not row.faults and sync >= step:
            row.refuse("sync_time", sync, f"the gradient exchange is part of the step of {step:g} s")
        if row.faults:
            faults.extend(Fault(f.where, f.found, f.rule, f.remedy, table.source) for f in row.faults)
            return
        found.setdefault((gpus, nodes), {}).setdefault(placement, {})[local] = StepTime(step, sync)

    table = read_table(root / f"placements{suffix}.csv", ("placement", "local_bsz", "step_time", "sync_time"))
    for row in table.rows:
        placement = row.text("placement")
        if not re.fullmatch(r"[1-9]+", placement):
            row.refuse("placement", placement, "a placement is digits from 1 to 9, one a server")
        take(row, table, sum(int(d) for d in placement if d.isdigit()), len(placement), placement)
    wide = root / f"scalability{suffix}.csv"
    if wide.exists():
        columns = ("num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time")
        table = read_table(wide, columns)
        for row in table.rows:
            take(row, table, row.whole("num_replicas", 1), row.whole("num_nodes", 1), "")
    iterations: dict[int, int] = {}
    for path in sorted(root.glob("validation-*.csv")):
        match = _VALIDATION.fullmatch(path.name)
        if match is None:
            continue
        table = read_table(path, ("iteration",))
        last = table.rows[-1].whole("iteration", 1) if table.rows else 0
        for row in table.rows:
            faults.extend(Fault(f.where, f.found, f.rule, f.remedy, table.source) for f in row.faults)
        if last:
            iterations[int(match[1])] = last
    if faults:
        raise InputError(faults)
    if not found:
        rule = "a profile has at least one placement"
        raise InputError(Fault("", "no row", rule, "give a model's folder", str(root / f"placements{suffix}.csv")))
    # of placements of one shape the fullest servers count: 13 before 22, as texts read from the end
    steps = {
        key: tuple(sorted(max(by.items(), key=lambda item: item[0][::-1])[1].items()))
        for key, by in sorted(found.items())
    }
    return Profile(root.name, gpu_type, steps, dict(sorted(iterations.items())))


def load_pollux_workload(
    path: str | os.PathLike[str],
    profiles: Mapping[str, str | os.PathLike[str]],
    *,
    clusters: Mapping[str, str] | None = None,
    jobs: int | None = None,
    strict: bool = True,
) -> LoadedWorkload:
    """Read a workload with the profiles of its applications.

    Parameters
    ----------
    path
        The file.
    profiles
        Per GPU type: the folder that has a folder a model.  A model without a folder cannot run on the type.
    clusters
        Per GPU type: the cluster in the file names of a clone of Sia.
    jobs
        Only the first so many rows.
    strict
        Rows without a job are errors, or dropped and counted.

    Raises
    ------
    UsageError
        No profiles.
    InputError
        Bad rows, no profile for a job, no job left.
    """
    if not profiles:
        raise UsageError(f"profiles {shown(profiles)}: a folder of profiles per GPU type is needed")
    table = read_table(path, COLUMNS, jobs=jobs)
    kinds = tuple(profiles)
    known: dict[tuple[str, str], Profile | None] = {}
    counts: dict[str, dict[int, int]] = {}

    def profile(kind: str, model: str) -> Profile | None:
        if (kind, model) not in known:
            folder = Path(profiles[kind]) / model
            usable = bool(model) and Path(model).name == model and folder.is_dir()
            known[kind, model] = load_profile(folder, kind, cluster=(clusters or {}).get(kind)) if usable else None
            found = known[kind, model]
            if found is not None:
                counts.setdefault(model, {}).update(found.iterations)
        return known[kind, model]

    def read(row: Row) -> tuple[Row, TrainingJob | None, tuple[str, str] | None]:
        model, arrival = row.text("application"), row.number("time", least=0)
        gpus, batch = row.whole("num_replicas", 1), row.whole("batch_size", 1)
        if row.faults:
            return row, None, None
        found = [profile(kind, model) for kind in kinds]
        if not any(found):
            return row, None, ("unknown model", f"no profile of {model!r} on {', '.join(kinds)}")
        if batch not in counts[model]:
            have = ", ".join(map(str, sorted(counts[model]))) or "none"
            return row, None, ("no run with the batch", f"{model} with batch {batch}; there are runs with {have}")
        times = [None if p is None else p.step_time(gpus, batch) for p in found]
        if all(t is None for t in times):
            return row, None, ("no rate for the scale factor", f"{model} on {gpus} GPUs is not profiled")
        shares = [t.sync / t.step for t in times if t is not None]
        facts = {
            "line": str(row.line),
            "model": model,
            "batch": str(batch),
            "sync_share": f"{math.fsum(shares) / len(shares):.6g}",
        }
        job = TrainingJob(
            name=f"{row.text('name')} #{row.line}",
            arrival=arrival,
            work=counts[model][batch],
            demand=gpus,
            throughput=tuple(None if t is None else 1.0 / t.step for t in times),
            attributes=tuple(sorted(facts.items())),
        )
        return row, job, None

    return workload_of(
        [read(row) for row in table.rows],
        lambda made: Workload(Path(table.source).stem, kinds, made, work_unit="step", source=table.source),
        source=table.source,
        strict=strict,
    )
