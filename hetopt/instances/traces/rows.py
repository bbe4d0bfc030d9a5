"""Reading tables by header name, with line numbers, and faults that become drops in lenient mode."""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hetopt.core.documents import read_text
from hetopt.core.errors import Fault, InputError, UsageError, shown
from hetopt.core.workload import TrainingJob, Workload
from hetopt.instances.report import Dropped, LoadedWorkload, LoadReport
from hetopt.instances.rounding import exact

__all__ = ["MALFORMED", "Row", "Table", "first_rows", "read_table", "speeds_of", "workload_of"]

MALFORMED: Final = "malformed row"
_DECIMAL: Final = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")


@dataclass
class Row:
    """One line of a table; what is wrong with it gathers in ``faults``."""

    line: int
    fields: Mapping[str, str]
    faults: list[Fault] = field(default_factory=list)

    def text(self, key: str) -> str:
        """A field without blanks round it."""
        return self.fields[key].strip()

    def refuse(self, key: str, found: Any, rule: str) -> None:
        """Note a fault of a field."""
        self.faults.append(Fault(f"line {self.line} {key}", shown(found), rule, "correct the field"))

    def number(
        self, key: str, *, least: float | None = None, above: float | None = None, most: float | None = None
    ) -> float:
        """A finite number; 0 and a fault where there is none."""
        value = self._value(key)
        ok = value is not None and (least is None or value >= least) and (above is None or value > above)
        if value is None or not ok or (most is not None and value > most):
            bounds = [f">= {least:g}" if least is not None else "", f"> {above:g}" if above is not None else ""]
            bounds.append(f"<= {most:g}" if most is not None else "")
            self.refuse(key, self.fields[key], " ".join(("a number", *(b for b in bounds if b))))
            return 0.0
        return value

    def _value(self, key: str) -> float | None:
        text = self.text(key)
        value = float(text) if _DECIMAL.fullmatch(text) else math.inf
        return value if math.isfinite(value) else None

    def whole(self, key: str, least: int) -> int:
        """A whole number; ``least`` and a fault where there is none."""
        value = self._value(key)
        if value is None or not value.is_integer() or value < least or value > 2**53:
            self.refuse(key, self.fields[key], f"a whole number >= {least}")
            return least
        return int(value)


@dataclass(frozen=True)
class Table:
    """A CSV file: its header, its rows, its name."""

    columns: tuple[str, ...]
    rows: list[Row]
    source: str


def read_table(path: str | os.PathLike[str], required: Sequence[str], *, jobs: int | None = None) -> Table:
    """Read a CSV file with a header; LF or CRLF, with or without a final newline, blank lines ignored.

    A row with too few or too many fields has a fault.

    Raises
    ------
    InputError
        A required column is missing.
    UsageError
        ``jobs`` is no whole number >= 1, or more than there are rows.
    """
    text, source = read_text(path)
    lines = csv.reader(io.StringIO(text.removeprefix("\ufeff")))
    header: tuple[str, ...] = ()
    rows: list[Row] = []
    for fields in lines:
        if not any(f.strip() for f in fields):
            continue
        if not header:
            header = tuple(f.strip() for f in fields)
            continue
        row = Row(lines.line_num, dict(zip(header, fields, strict=False)))
        if len(fields) != len(header):
            row.faults.append(
                Fault(f"line {row.line}", f"{len(fields)} fields", f"the header has {len(header)}", "correct the line")
            )
            row.fields = {key: row.fields.get(key, "") for key in header}
        rows.append(row)
    missing = [key for key in required if key not in header]
    if missing:
        found = f"the columns {', '.join(header)}" if header else "no header"
        rule = f"the header names {', '.join(required)}"
        raise InputError(Fault("line 1", found, f"{rule}; {', '.join(missing)} missing", "give another file", source))
    return Table(header, first_rows(rows, jobs, source), source)


def first_rows(rows: list[Any], jobs: int | None, source: str) -> list[Any]:
    """The first so many rows; all of them for None."""
    if jobs is None:
        return rows
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise UsageError(f"jobs {shown(jobs)}: the number of jobs to read is a whole number >= 1; leave it out for all")
    if jobs > len(rows):
        raise UsageError(f"jobs {jobs}: {source} has {len(rows)} jobs; ask for at most that many")
    return rows[:jobs]


def speeds_of(speeds: Mapping[str, float] | None, default: str = "GPU") -> tuple[tuple[str, ...], tuple[float, ...]]:
    """GPU types and their speeds for traces that name no type: by default one type of speed 1.

    Raises
    ------
    UsageError
        A speed is not a finite number > 0.
    """
    given = {default: 1.0} if speeds is None else dict(speeds)
    for name, speed in given.items():
        value = exact(speed)
        if not name or value is None or value <= 0:
            raise UsageError(f"speeds {name!r}: {shown(speed)}: a speed is a number > 0, for example V100=1,T4=0.4")
    if not given:
        raise UsageError("speeds: at least one GPU type is needed, for example V100=1,T4=0.4")
    return tuple(given), tuple(float(v) for v in given.values())


def workload_of(
    rows: Iterable[tuple[Row, TrainingJob | None, tuple[str, str] | None]],
    make: Callable[[tuple[TrainingJob, ...]], Workload],
    *,
    source: str,
    strict: bool,
    notes: tuple[str, ...] = (),
) -> LoadedWorkload:
    """Gather jobs; what is wrong is an error (strict) or a drop counted by reason.

    Parameters
    ----------
    rows
        Each row with its job, or with the reason (kind, words) why there is none.  A row with faults is malformed.
    make
        The workload of the jobs.
    source, strict, notes
        For messages and the report.

    Raises
    ------
    InputError
        In strict mode every row without a job; in any mode no job left.
    """
    jobs: list[TrainingJob] = []
    dropped: list[Dropped] = []
    faults: list[Fault] = []
    count = 0
    for row, job, reason in rows:
        count += 1
        if row.faults:
            faults += [Fault(f.where, f.found, f.rule, f.remedy, source) for f in row.faults]
            dropped.append(Dropped(f"line {row.line}", MALFORMED, "; ".join(map(str, row.faults))))
        elif job is None:
            assert reason is not None
            remedy = "correct the row, ask for other types, or leave such rows out (strict=False, --lenient)"
            faults.append(Fault(f"line {row.line}", "", f"{reason[0]}: {reason[1]}", remedy, source))
            dropped.append(Dropped(f"line {row.line}", *reason))
        else:
            jobs.append(job)
    if strict and faults:
        raise InputError(faults)
    if not jobs:
        found = f"no job ({len(dropped)} rows dropped: {'; '.join(map(str, dropped[:3]))})" if dropped else "no job"
        raise InputError(Fault("", found, "a workload has at least one job", "give another file or type", source))
    return LoadedWorkload(make(tuple(jobs)), LoadReport(count, len(jobs), tuple(dropped), notes=notes))
