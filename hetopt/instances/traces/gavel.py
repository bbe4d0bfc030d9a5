"""Gavel's traces and throughput tables (Narayanan et al., OSDI 2020; repository stanford-futuredata/gavel).

A trace has one job a line, tab-separated, no header, in two dialects told apart by the number of
fields, never by what stands in them:

* ten: job type, command, working directory, step option, needs data, **total steps, scale factor**,
  priority weight, SLO, **arrival time**;
* seven: job type, command, step option, needs data, **total steps, arrival time, scale factor**
  (weight 1, no SLO).  The last two are in the opposite order from the ten.

A throughput table is JSON: ``table[worker type][key]["null"]`` is the rate in steps per second, summed
over the workers, of the job ``key`` = text of a Python tuple ``('model (batch size b)', scale factor)``;
other entries are rates of pairs sharing GPUs and are not used.  A rate of 0, or no key, means that the
job cannot run there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from hetopt.core.documents import json_path, read_json, read_text
from hetopt.core.errors import Fault, InputError, UsageError, shown
from hetopt.core.workload import TrainingJob, Workload
from hetopt.instances.names import hint, match_types
from hetopt.instances.real_times import gpu_types_of
from hetopt.instances.report import Dropped, Loaded, LoadedWorkload, LoadReport
from hetopt.instances.rounding import exact
from hetopt.instances.traces.convert import refuse_dropped, rounds_of, share_of, workload_to_instance

__all__ = ["ThroughputTable", "load_gavel", "load_gavel_workload", "load_throughputs"]

_KEY: Final = re.compile(r"""\(\s*(['"])(?P<model>.*)\1\s*,\s*(?P<scale>[0-9]+)\s*,?\s*\)""", re.DOTALL)
_SPREAD: Final = "_unconsolidated"
_REASONS: Final = ("malformed row", "unknown model", "no rate for the scale factor", "rate 0 on every type")

# field numbers (from 1) of what is read, by the number of fields of the line
_DIALECTS: Final[dict[int, dict[str, int]]] = {
    10: {"job_type": 1, "total_steps": 6, "scale_factor": 7, "priority_weight": 8, "SLO": 9, "arrival_time": 10},
    7: {"job_type": 1, "total_steps": 5, "arrival_time": 6, "scale_factor": 7},
}


@dataclass(frozen=True)
class ThroughputTable:
    """Rates of single jobs from a throughput table.

    Attributes
    ----------
    types
        Worker types in the order of the file, ``..._unconsolidated`` ones included.
    rates
        Per type: steps per second of (model, scale factor), > 0; absent where the job cannot run.
    zeros
        Per type: the (model, scale factor) pairs listed with a rate of 0.
    source
        Name of the file.
    """

    types: tuple[str, ...]
    rates: Mapping[str, Mapping[tuple[str, int], float]]
    zeros: Mapping[str, frozenset[tuple[str, int]]] = field(default_factory=dict)
    source: str = ""

    def rate(self, gpu_type: str, model: str, scale: int) -> float | None:
        """Steps per second of the job on ``scale`` GPUs of a type, over all its workers; ``None``: cannot run."""
        return self.rates[gpu_type].get((model, scale))

    def why_not(self, model: str, scale: int, types: Sequence[str]) -> tuple[str, str]:
        """The kind of reason, and the reason in words, why a job runs on none of ``types``."""
        listed: set[tuple[str, int]] = set()
        for kind in self.types:
            listed |= set(self.rates[kind]) | set(self.zeros.get(kind, ()))
        models = sorted({m for m, _ in listed})
        if model not in models:
            return _REASONS[1], f"the table has no model {model!r}; {hint(model, models, 3)}"
        scales = sorted({k for m, k in listed if m == model})
        if scale not in scales:
            return _REASONS[2], f"{model} has rates for scale factors {', '.join(map(str, scales))}, not for {scale}"
        where = [kind for kind in self.types if (model, scale) in self.rates[kind]]
        elsewhere = f"; it runs on {', '.join(where)}" if where else ""
        return _REASONS[3], f"{model} at scale factor {scale} has no rate above 0 on {', '.join(types)}{elsewhere}"


def load_throughputs(path: str | os.PathLike[str]) -> ThroughputTable:
    """Read a throughput table.

    Raises
    ------
    InputError
        All faults at once, with their JSON paths.
    """
    text, source = read_text(path)
    raw, faults = read_json(text, source)

    def fault(parts: Sequence[str], found: Any, rule: str, remedy: str) -> None:
        faults.append(Fault(json_path(parts), shown(found), rule, remedy, source))

    rates: dict[str, dict[tuple[str, int], float]] = {}
    zeros: dict[str, set[tuple[str, int]]] = {}
    if not isinstance(raw, dict) or not raw:
        fault((), raw, "a throughput table is an object with a key per worker type", "give Gavel's JSON file")
        raise InputError(faults)
    marked = {f.where for f in faults}
    for kind, table in raw.items():
        rates[kind], zeros[kind] = {}, set()
        if not isinstance(table, dict):
            fault((kind,), table, "rates by job are an object", "give Gavel's JSON file")
            continue
        for key, entry in table.items():
            match = _KEY.fullmatch(key)
            if match is None or int(match["scale"]) < 1:
                fault((kind, key), key, "keys read ('model', scale factor)", "write the tuple as Python prints it")
                continue
            if not isinstance(entry, dict):
                fault((kind, key), entry, "rates of a job are an object", 'write {"null": rate}')
                continue
            rate = entry.get("null", 0)
            job = (match["model"], int(match["scale"]))
            if isinstance(rate, bool) or not isinstance(rate, (int, float)) or rate < 0:
                if json_path((kind, key, "null")) not in marked:
                    fault((kind, key, "null"), rate, "a rate is a finite number >= 0", "write 0 where it cannot run")
            elif rate > 0:
                rates[kind][job] = float(rate)
            elif "null" in entry:
                zeros[kind].add(job)
    if faults:
        raise InputError(faults)
    return ThroughputTable(tuple(rates), rates, {k: frozenset(z) for k, z in zeros.items()}, source)


@dataclass(frozen=True)
class _Row:
    line: int
    model: str
    steps: int
    scale: int
    arrival: float
    weight: float = 1.0
    slo: float | None = None


def _read_row(line: int, text: str) -> tuple[_Row | None, list[Fault]]:
    fields = text.split("\t")
    dialect = _DIALECTS.get(len(fields))
    if dialect is None:
        rule = "a line has 10 tab-separated fields, or 7 in the older dialect"
        return None, [Fault(f"line {line}", f"{len(fields)} fields", rule, "separate the fields with tabs")]
    faults: list[Fault] = []

    def number(
        key: str, rule: str, *, whole: bool = False, least: float | None = None, above: float | None = None
    ) -> Any:
        given = fields[dialect[key] - 1].strip()
        value = exact(given) if re.fullmatch(r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?", given) else None
        ok = value is not None and not (whole and value.denominator != 1)
        ok = ok and value is not None and (least is None or value >= least) and (above is None or value > above)
        if not ok or value is None:
            faults.append(Fault(f"line {line} field {dialect[key]} ({key})", shown(given), rule, "correct the field"))
            return None
        return int(value) if whole else float(value)

    model = fields[0].strip()
    if not model:
        faults.append(Fault(f"line {line} field 1 (job_type)", "''", "a job type is text", "write the model's name"))
    steps = number("total_steps", "total steps are a whole number >= 1", whole=True, least=1)
    scale = number("scale_factor", "a scale factor is a whole number >= 1", whole=True, least=1)
    arrival = number("arrival_time", "an arrival is a number of seconds >= 0", least=0)
    weight, slo = 1.0, -1.0
    if "priority_weight" in dialect:
        weight = number("priority_weight", "a priority weight is a number > 0", above=0)
        slo = number("SLO", "an SLO is a number; a negative one means none")
    if faults:
        return None, faults
    return _Row(line, model, steps, scale, arrival, weight, slo if slo >= 0 else None), []


def _rows(text: str) -> Iterator[tuple[int, _Row | None, list[Fault]]]:
    for line, raw in enumerate(text.split("\n"), start=1):
        content = raw.removesuffix("\r")
        if content.strip():
            yield line, *_read_row(line, content)


def _first(jobs: int | None) -> int | None:
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1):
        raise UsageError(f"jobs {shown(jobs)}: the number of jobs to read is a whole number >= 1; leave it out for all")
    return jobs


def load_gavel_workload(
    trace: str | os.PathLike[str],
    throughputs: str | os.PathLike[str] | ThroughputTable,
    types: Sequence[str] | None = None,
    *,
    jobs: int | None = None,
    strict: bool = True,
) -> LoadedWorkload:
    """Read a trace with its throughput table.

    Parameters
    ----------
    trace
        The trace (either dialect; a line says which by its number of fields).
    throughputs
        The table, or the JSON file that it is in.
    types
        GPU types, matched ignoring case; the workload keeps the spelling given.  By default the
        types of the table that hold the workers of a job close together (not ``..._unconsolidated``).
    jobs
        Only the first that many jobs of the trace.
    strict
        Malformed rows and jobs that can run on none of the types are errors (all of them at once), or
        dropped and counted by reason.

    Raises
    ------
    InputError
        Bad rows, with line numbers; a type that the table lacks; no job left.
    UsageError
        ``jobs`` is no whole number >= 1, or more than there are.
    """
    wanted = _first(jobs)
    text, source = read_text(trace)
    table = throughputs if isinstance(throughputs, ThroughputTable) else load_throughputs(throughputs)
    names = tuple(k for k in table.types if not k.endswith(_SPREAD)) if types is None else tuple(types)
    columns = [table.types[k] for k in match_types(names, table.types, table.source)]

    rows = list(_rows(text))
    if wanted is not None:
        if wanted > len(rows):
            raise UsageError(f"jobs {wanted}: {source} has {len(rows)} jobs; ask for at most that many")
        rows = rows[:wanted]
    faults = [fault for _, _, found in rows for fault in found]
    dropped: list[Dropped] = []
    made: list[TrainingJob] = []
    for line, row, found in rows:
        if row is None:
            if not strict:
                dropped.append(Dropped(f"line {line}", _REASONS[0], "; ".join(map(str, found))))
            continue
        rates = tuple(table.rate(kind, row.model, row.scale) for kind in columns)
        if all(rate is None for rate in rates):
            dropped.append(Dropped(f"line {line}", *table.why_not(row.model, row.scale, names)))
            continue
        attributes = {"line": str(line), "model": row.model}
        if row.slo is not None:
            attributes["slo"] = repr(row.slo)
        made.append(
            TrainingJob(
                name=f"{row.model} #{line}",
                arrival=row.arrival,
                work=row.steps,
                demand=row.scale,
                throughput=rates,
                weight=row.weight,
                attributes=tuple(sorted(attributes.items())),
            )
        )
    if strict:
        found_here: list[Fault] = [Fault(f.where, f.found, f.rule, f.remedy, source) for f in faults]
        try:
            refuse_dropped(dropped, source)
        except InputError as error:
            found_here.extend(error.faults)
        if found_here:
            raise InputError(sorted(found_here, key=lambda f: int(f.where.split()[1])))
    if not made:
        what = f"no job ({len(dropped)} rows dropped: {'; '.join(map(str, dropped[:3]))})" if dropped else "no job"
        raise InputError(
            Fault("", what, "a trace has at least one job that can run", "give another file or type", source)
        )
    workload = Workload(name=Path(source).stem, gpu_types=names, jobs=tuple(made), work_unit="step", source=source)
    return LoadedWorkload(workload, LoadReport(rows=len(rows), kept=len(made), dropped=tuple(dropped)))


def load_gavel(
    trace: str | os.PathLike[str],
    throughputs: str | os.PathLike[str] | ThroughputTable,
    gpus: Mapping[str, int],
    rounds: int,
    *,
    jobs: int | None = None,
    tick_seconds: Any = 1,
    sync: Any = 0,
    strict: bool = True,
    name: str | None = None,
) -> Loaded:
    """An instance from a Gavel trace: R equal rounds per job, of as many tasks as its scale factor.

    The time of a round (= of each of its tasks) on type k is total steps / (R x rate), with the table's
    rate for the job's scale factor; the share ``sync`` of it is sync time, the rest processing time, both
    rounded up to ticks; no rate: null.  Releases are the trace's arrivals, rounded up.  Jobs are named
    by model and line.

    Parameters
    ----------
    trace, throughputs, jobs, strict
        As for :func:`load_gavel_workload`.
    gpus
        Count per GPU type; names match the table's ignoring case.
    rounds
        Training rounds per job, R.
    tick_seconds
        Length of a tick in seconds; ``None``: chosen, see ``from_real_times``.
    sync
        Share of a round's time that is synchronisation, 0 <= F < 1.
    name
        Name of the instance; the file's by default.

    Examples
    --------
    ``load_gavel("small_test.trace", "simulation_throughputs.json", {"V100": 4, "P100": 2}, rounds=5)``
    """
    types = gpu_types_of(gpus)
    rounds_of(rounds)
    share_of(sync)
    read = load_gavel_workload(trace, throughputs, [g.name for g in types], jobs=jobs, strict=strict)
    return workload_to_instance(
        read.workload, gpus, rounds=rounds, tick_seconds=tick_seconds, sync=sync, report=read.report, name=name
    )
