"""Shockwave's traces (Zheng et al., NSDI 2023; repository uw-mad-dash/shockwave).

One job a line, **twelve** tab-separated fields, no header: job type, command, working directory, step option,
needs data, total steps, scale factor, mode (``static``, ``accordion``, ``gns``), priority weight, SLO,
duration (seconds on V100 with its GPUs), arrival (seconds).  The throughput table is Gavel's format.

Without a table the rate on V100 is total steps / duration, and V100 is the only type.  Jobs of the modes
``accordion`` and ``gns`` changed their batch size in the original runs, so their total steps are an upper
estimate of the work; here every job is static.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hetopt.core.documents import read_text
from hetopt.core.errors import Fault
from hetopt.core.workload import TrainingJob, Workload
from hetopt.instances.names import match_types
from hetopt.instances.report import LoadedWorkload
from hetopt.instances.traces.gavel import ThroughputTable, load_throughputs
from hetopt.instances.traces.rows import Row, first_rows, workload_of

__all__ = ["MODES", "load_shockwave_workload"]

MODES: Final = ("static", "accordion", "gns")
_FIELDS: Final = (
    "job_type",
    "command",
    "working_directory",
    "num_steps_arg",
    "needs_data_dir",
    "total_steps",
    "scale_factor",
    "mode",
    "priority_weight",
    "SLO",
    "duration",
    "arrival_time",
)


def load_shockwave_workload(
    trace: str | os.PathLike[str],
    throughputs: str | os.PathLike[str] | ThroughputTable | None = None,
    types: Sequence[str] | None = None,
    *,
    jobs: int | None = None,
    strict: bool = True,
) -> LoadedWorkload:
    """Read a trace.

    Parameters
    ----------
    trace
        The file.
    throughputs
        The table, or its file; None: the rate on V100 from steps and duration.
    types
        GPU types, matched ignoring case; by default those of the table without ``..._unconsolidated``.
    jobs, strict
        As for :func:`~hetopt.instances.traces.gavel.load_gavel_workload`.

    Raises
    ------
    InputError
        Bad rows, with line numbers; a type without rates; no job left.
    """
    text, source = read_text(trace)
    table = (
        throughputs
        if isinstance(throughputs, ThroughputTable) or throughputs is None
        else load_throughputs(throughputs)
    )
    if table is None:
        names = ("V100",) if types is None else tuple(types)
        match_types(names, ("V100",), f"{source} (without a throughput table only V100 has rates)")
        columns: list[str] = []
    else:
        names = tuple(k for k in table.types if not k.endswith("_unconsolidated")) if types is None else tuple(types)
        columns = [table.types[k] for k in match_types(names, table.types, table.source)]
    lines = [(i, raw.removesuffix("\r")) for i, raw in enumerate(text.split("\n"), start=1) if raw.strip()]

    def read(line: int, raw: str) -> tuple[Row, TrainingJob | None, tuple[str, str] | None]:
        fields = raw.split("\t")
        row = Row(line, dict(zip(_FIELDS, fields, strict=False)))
        if len(fields) != len(_FIELDS):
            rule = "a line of a Shockwave trace has 12 tab-separated fields"
            row.faults.append(Fault(f"line {line}", f"{len(fields)} fields", rule, "separate the fields with tabs"))
            return row, None, None
        model, mode = row.text("job_type"), row.text("mode")
        if not model:
            row.refuse("job_type", model, "a job type is text")
        if mode not in MODES:
            row.refuse("mode", mode, f"a mode is one of {', '.join(MODES)}")
        steps, scale = row.whole("total_steps", 1), row.whole("scale_factor", 1)
        weight, slo = row.number("priority_weight", above=0), row.number("SLO")
        duration, arrival = row.number("duration", above=0), row.number("arrival_time", least=0)
        if row.faults:
            return row, None, None
        rates = (steps / duration,) if table is None else tuple(table.rate(k, model, scale) for k in columns)
        if table is not None and all(rate is None for rate in rates):
            return row, None, table.why_not(model, scale, names)
        attributes = {"line": str(line), "model": model, "mode": mode, "duration": repr(duration)}
        if slo >= 0:
            attributes["slo"] = repr(slo)
        job = TrainingJob(
            name=f"{model} #{line}",
            arrival=arrival,
            work=steps,
            demand=scale,
            throughput=rates,
            weight=weight,
            attributes=tuple(sorted(attributes.items())),
        )
        return row, job, None

    chosen = first_rows(lines, jobs, source)
    return workload_of(
        (read(i, raw) for i, raw in chosen),
        lambda made: Workload(name=Path(source).stem, gpu_types=names, jobs=made, work_unit="step", source=source),
        source=source,
        strict=strict,
    )
