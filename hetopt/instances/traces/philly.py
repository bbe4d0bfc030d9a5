"""The Philly job list in Pollux's CSV form (columns ``timestamp, duration, num_gpus, gpu_time, cluster``).

From the Microsoft Philly traces (Jeon et al., USENIX ATC 2019), as derived by Pollux (Qiao et al., OSDI 2021).  The file is
not sorted, repeats rows that are separate jobs, and names neither models nor GPU types: the work of a job is its duration in
seconds on its GPUs, at speed 1.  ``speeds`` makes GPU types of other speeds (made up: say so where you report results).

Arrivals count from the earliest timestamp of the rows that are read.  The time zone is not stated, so a
change of daylight saving inside the period would show as an hour's shift.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from hetopt.core.workload import TrainingJob, Workload
from hetopt.instances.report import LoadedWorkload
from hetopt.instances.traces.rows import Row, read_table, speeds_of, workload_of

__all__ = ["COLUMNS", "load_philly_workload"]

_MOMENT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}")
COLUMNS: Final = ("timestamp", "duration", "num_gpus", "gpu_time", "cluster")


def load_philly_workload(
    path: str | os.PathLike[str],
    speeds: Mapping[str, float] | None = None,
    *,
    cluster: str | None = None,
    min_seconds: float = 0.0,
    max_gpu_hours: float | None = None,
    max_gpus: int | None = None,
    jobs: int | None = None,
    strict: bool = True,
) -> LoadedWorkload:
    """Read the job list.

    Parameters
    ----------
    path
        The file.
    speeds
        Speed of each GPU type; by default one type ``GPU`` of speed 1.
    cluster
        Only the jobs of this virtual cluster.
    min_seconds, max_gpu_hours, max_gpus
        Leave out shorter jobs, and those with as many GPU hours or more, or more GPUs (Pollux: 60 and 1000).
        Jobs left out so are chosen away, counted in the report, and no error in strict mode.
    jobs
        Only the first so many rows of the file, before any choice.
    strict
        Malformed rows are errors, or dropped and counted.

    Raises
    ------
    InputError
        Bad rows, with line numbers; no job left.
    """
    table = read_table(path, COLUMNS, jobs=jobs)
    kinds, speed = speeds_of(speeds)
    chosen_away = {
        "another cluster": 0,
        f"shorter than {min_seconds:g} s": 0,
        "too many GPU hours": 0,
        "too many GPUs": 0,
    }
    reasons = list(chosen_away)
    parsed: list[tuple[Row, datetime | None, float, int]] = []
    for row in table.rows:
        moment: datetime | None = None
        try:
            if not _MOMENT.fullmatch(row.text("timestamp")):
                raise ValueError("another form")
            moment = datetime.fromisoformat(row.text("timestamp"))
        except ValueError:
            row.refuse("timestamp", row.fields["timestamp"], "a moment reads YYYY-MM-DD HH:MM:SS")
        duration, gpus = row.number("duration", above=0), row.whole("num_gpus", 1)
        if not row.faults:
            reason = None
            if cluster is not None and row.text("cluster") != cluster:
                reason = 0
            elif duration < min_seconds:
                reason = 1
            elif max_gpu_hours is not None and duration * gpus >= max_gpu_hours * 3600:
                reason = 2
            elif max_gpus is not None and gpus > max_gpus:
                reason = 3
            if reason is not None:
                chosen_away[reasons[reason]] += 1
                continue
        parsed.append((row, moment, duration, gpus))
    origin = min((m for _, m, _, _ in parsed if m is not None), default=None)

    def job(row: Row, moment: datetime | None, duration: float, gpus: int) -> TrainingJob | None:
        if row.faults or moment is None or origin is None:
            return None
        return TrainingJob(
            name=f"job #{row.line}",
            arrival=(moment - origin).total_seconds(),
            work=duration,
            demand=gpus,
            throughput=speed,
            attributes=(
                ("cluster", row.text("cluster")),
                ("line", str(row.line)),
                ("timestamp", row.text("timestamp")),
            ),
        )

    notes = tuple(f"{count} rows left out on request: {reason}" for reason, count in chosen_away.items() if count)
    return workload_of(
        ((row, job(row, moment, duration, gpus), None) for row, moment, duration, gpus in parsed),
        lambda made: Workload(Path(table.source).stem, kinds, made, work_unit="second", source=table.source),
        source=table.source,
        strict=strict,
        notes=notes,
    )
