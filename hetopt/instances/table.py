"""One's own throughput table (CSV) to an instance.

The first line names the columns, in any order; each further line is a job:

========================  ==========================================================================
column                    meaning
========================  ==========================================================================
``name``                  the job's name (required, unique)
``weight``                a number > 0 (1)
``release``               seconds >= 0 (0)
``rounds``                training rounds, a whole number >= 1 (the ``rounds`` argument, else 1)
``scale``                 tasks per round, a whole number >= 1 (1)
``steps``                 work of the whole job, a number > 0; needed with rates
``sync``                  share of a round that is synchronisation, >= 0 and < 1 (the ``sync`` argument, else 0)
``time:TYPE``             seconds of one task on that GPU type, synchronisation included
``rate:TYPE``             steps per second of the job on ``scale`` GPUs of the type, over all of them
``TYPE``                  the same as ``rate:TYPE`` if there is a ``steps`` column, else as ``time:TYPE``
========================  ==========================================================================

An empty cell takes the default; an empty cell, ``-``, ``null``, ``none`` or ``n/a`` in a type's column (or
a rate of 0) means that the job cannot run there.  With rates, the time of a round on a type is
steps / (rounds x rate), as for traces; the share ``sync`` of a time is sync time and the rest processing
time.  Fields are separated by commas, or by semicolons or tabs where the first line has those.
"""

from __future__ import annotations

import csv
import difflib
import io
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from hetopt.core.documents import read_text
from hetopt.core.errors import Fault, InputError, shown
from hetopt.instances.names import match_types
from hetopt.instances.real_times import RealJob, RealRound, from_real_times, gpu_types_of
from hetopt.instances.report import Loaded, LoadReport
from hetopt.instances.rounding import exact
from hetopt.instances.traces.convert import rounds_of, share_of

__all__ = ["load_table"]

_KNOWN: Final = ("name", "weight", "release", "rounds", "scale", "steps", "sync")
_CANNOT: Final = frozenset({"", "-", "null", "none", "n/a", "na"})
_DECIMAL: Final = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


@dataclass(frozen=True)
class _Columns:
    position: dict[str, int]
    types: dict[str, tuple[str, int]]  # GPU type -> (time or rate, column)


def _header(cells: list[str], source: str) -> tuple[_Columns, list[Fault]]:
    faults: list[Fault] = []
    position: dict[str, int] = {}
    types: dict[str, tuple[str, int]] = {}
    names = [cell.strip() for cell in cells]
    bare = "rate" if any(n.casefold() == "steps" for n in names) else "time"
    for i, name in enumerate(names):
        where = f"line 1 column {i + 1}"
        kind, mark, gpu = name.partition(":")
        key = name.casefold()
        if not name:
            faults.append(Fault(where, "''", "every column has a name", "name the column or remove it", source))
        elif key in _KNOWN:
            if key in position:
                faults.append(Fault(where, shown(name), "columns have unique names", "remove one of the two", source))
            position[key] = i
        elif mark and kind.strip().casefold() in ("time", "rate"):
            _add_type(types, gpu.strip(), kind.strip().casefold(), i, where, faults, source)
        elif mark or (near := difflib.get_close_matches(key, _KNOWN, n=1, cutoff=0.75)):
            remedy = "write time:TYPE or rate:TYPE" if mark else f"write {near[0]}, or time:{name} if it is a GPU type"
            faults.append(Fault(where, shown(name), "the column's name is not known", remedy, source))
        else:
            _add_type(types, name, bare, i, where, faults, source)
    if "name" not in position:
        faults.append(Fault("line 1", "no column 'name'", "jobs have names", "add the column", source))
    if not types:
        rule = "there is a time or rate column for at least one GPU type"
        faults.append(Fault("line 1", "no GPU type", rule, "add for example a column time:V100", source))
    elif "steps" not in position and any(kind == "rate" for kind, _ in types.values()):
        faults.append(
            Fault("line 1", "rates, but no column 'steps'", "a rate needs the work", "add a column steps", source)
        )
    return _Columns(position, types), faults


def _add_type(
    types: dict[str, tuple[str, int]], gpu: str, kind: str, column: int, where: str, faults: list[Fault], source: str
) -> None:
    if not gpu:
        faults.append(Fault(where, f"'{kind}:'", "a GPU type has a name", f"write {kind}:V100", source))
    elif any(gpu.casefold() == other.casefold() for other in types):
        faults.append(Fault(where, shown(gpu), "one column per GPU type (names ignoring case)", "remove one", source))
    else:
        types[gpu] = (kind, column)


@dataclass
class _Reader:
    columns: _Columns
    source: str
    rounds: int
    sync: Fraction
    faults: list[Fault]

    def cell(self, row: list[str], key: str) -> str:
        i = self.columns.position.get(key)
        return "" if i is None or i >= len(row) else row[i].strip()

    def number(
        self,
        line: int,
        column: str,
        text: str,
        rule: str,
        *,
        above: int | None = None,
        least: int | None = None,
        below: int | None = None,
        whole: bool = False,
    ) -> Fraction | None:
        value = exact(text) if _DECIMAL.fullmatch(text) else None
        sound = value is not None and (above is None or value > above) and (least is None or value >= least)
        if value is None or not sound or (below is not None and value >= below) or (whole and value.denominator != 1):
            remedy = "correct the cell"
            if re.fullmatch(r"[0-9]+,[0-9]+", text):
                remedy = "write a decimal point"
            elif column in self.columns.types:
                remedy += ", or remove the column if it is no GPU type"
            self.faults.append(Fault(f"line {line} column {column!r}", shown(text), rule, remedy, self.source))
            return None
        return value

    def optional(
        self, line: int, row: list[str], key: str, default: Fraction, rule: str, **limits: Any
    ) -> Fraction | None:
        text = self.cell(row, key)
        return self.number(line, key, text, rule, **limits) if text else default

    def job(self, line: int, row: list[str], types: list[str]) -> RealJob | None:
        before = len(self.faults)
        name = self.cell(row, "name")
        if not name:
            self.faults.append(
                Fault(f"line {line} column 'name'", "nothing", "jobs have names", "name it", self.source)
            )
        weight = self.optional(line, row, "weight", Fraction(1), "a weight is a number > 0", above=0)
        release = self.optional(line, row, "release", Fraction(0), "a release is seconds >= 0", least=0)
        whole = "a whole number >= 1"
        rounds = self.optional(line, row, "rounds", Fraction(self.rounds), whole, above=0, whole=True)
        scale = self.optional(line, row, "scale", Fraction(1), whole, above=0, whole=True)
        sync = self.optional(line, row, "sync", self.sync, "a share >= 0 and < 1", least=0, below=1)
        steps: Fraction | None = None
        if any(kind == "rate" for kind, _ in self.columns.types.values()):
            steps = self.number(line, "steps", self.cell(row, "steps"), "the work is a number > 0", above=0)
        times = [self.time(line, row, gpu, steps, rounds) for gpu in types]
        if len(self.faults) > before:
            return None
        if all(t is None for t in times):
            rule = f"a job can run on at least one of {', '.join(types)}"
            self.faults.append(
                Fault(
                    f"line {line}", "no time for any type", rule, "fill in a cell or ask for other types", self.source
                )
            )
            return None
        share = Fraction(0) if sync is None else sync
        part = RealRound(
            processing_seconds=[None if t is None else t * (1 - share) for t in times],
            sync_seconds=[None if t is None else t * share for t in times],
            scale=int(scale or 1),
            repeat=int(rounds or 1),
        )
        return RealJob(name, [part], weight, release)

    def time(
        self, line: int, row: list[str], gpu: str, steps: Fraction | None, rounds: Fraction | None
    ) -> Fraction | None:
        kind, i = self.columns.types[gpu]
        text = row[i].strip() if i < len(row) else ""
        if text.casefold() in _CANNOT:
            return None
        if kind == "time":
            return self.number(line, gpu, text, "a time is seconds > 0, or empty where the job cannot run", above=0)
        rate = self.number(line, gpu, text, "a rate is a number >= 0, or empty where the job cannot run", least=0)
        return steps / (rounds * rate) if rate and rate > 0 and steps and rounds else None


def _lines(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    start = 1
    for row in reader:
        if any(cell.strip() for cell in row):
            yield start, row
        start = reader.line_num + 1


def load_table(
    path: str | os.PathLike[str],
    gpus: Mapping[str, int] | None = None,
    *,
    rounds: int = 1,
    tick_seconds: Any = 1,
    sync: Any = 0,
    name: str | None = None,
) -> Loaded:
    """Read a throughput table (see the module's text for the columns).

    Parameters
    ----------
    path
        The CSV file.
    gpus
        Count per GPU type, names matched ignoring case; types of the table that are not asked for are left
        out.  By default one GPU of each type of the table.
    rounds, sync
        For rows that do not say.
    tick_seconds
        Length of a tick in seconds; ``None``: chosen as by ``from_real_times``.
    name
        Name of the instance; the file's by default.

    Raises
    ------
    InputError
        All faults at once, with line and column.
    """
    share, per_job = share_of(sync), rounds_of(rounds)
    text, source = read_text(path)
    head = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max((",", ";", "\t"), key=head.count)
    try:
        lines = list(_lines(text, delimiter))
    except csv.Error as error:
        raise InputError(Fault("", "", f"not CSV: {error}", "close the quotation marks", source)) from None
    if not lines:
        raise InputError(Fault("", "an empty file", "the first line names the columns", "add a header", source))
    columns, faults = _header(lines[0][1], source)
    if faults:
        raise InputError(faults)
    known = list(columns.types)
    wanted = dict.fromkeys(known, 1) if gpus is None else dict(gpus)
    types = gpu_types_of(wanted)
    chosen = [known[k] for k in match_types([g.name for g in types], known, source)]

    reader = _Reader(columns, source, per_job, share, [])
    jobs: list[RealJob] = []
    seen: dict[str, int] = {}
    width = len(lines[0][1])
    for line, row in lines[1:]:
        if len(row) != width:
            rule = f"the first line names {width} columns"
            reader.faults.append(Fault(f"line {line}", f"{len(row)} cells", rule, "add or remove cells", source))
            continue
        job = reader.job(line, row, chosen)
        given = reader.cell(row, "name")
        if given and given in seen:
            rule = f"names are unique and line {seen[given]} has this one"
            reader.faults.append(Fault(f"line {line} column 'name'", shown(given), rule, "rename one", source))
        seen.setdefault(given, line)
        if job is not None:
            jobs.append(job)
    if not lines[1:]:
        reader.faults.append(Fault("", "no row", "a table has at least one job", "add a row", source))
    if reader.faults:
        raise InputError(reader.faults)
    title = Path(source).stem if name is None else name
    instance, rounding = from_real_times(wanted, jobs, tick_seconds=tick_seconds, name=title)
    unused = [gpu for gpu in known if gpu not in chosen]
    notes = (f"GPU types not asked for: {', '.join(unused)}",) if unused else ()
    return Loaded(instance, LoadReport(rows=len(jobs), kept=len(jobs), rounding=rounding, notes=notes))
