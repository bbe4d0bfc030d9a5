"""Flexible job shops in the FJSPLIB text format, as instances whose objective is the makespan.

First line: number of jobs, number of machines, optionally the nominal mean number of machines per
operation (which may be fractional, is often wrong, and is never used).  Then one line a job: the
number of operations, and for each operation the number of machines that can do it and as many pairs
``machine duration``.  Machines are numbered from 1; a file numbered from 0 is refused unless it is said to be one.

A machine becomes a GPU type of count 1, an operation a round of one task, a machine that cannot do an
operation ``null``; releases and sync times are 0, weights 1.  Then the makespan of a schedule of the instance
is the makespan of the job shop, and the optima are the same.
"""

from __future__ import annotations

import csv
import io
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hetopt.core.documents import read_text
from hetopt.core.errors import Fault, InputError, shown
from hetopt.core.instance import GpuType, Instance, Job, SyncRound
from hetopt.instances.report import Loaded, LoadReport

__all__ = ["BestKnown", "load_best_known", "load_fjsplib"]

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True)
class BestKnown:
    """Published bounds on the makespan of one job shop; equal ones mean that it is solved."""

    instance: str
    path: str
    jobs: int
    machines: int
    operations: int
    lower_bound: int
    upper_bound: int


def load_best_known(path: str | os.PathLike[str]) -> tuple[BestKnown, ...]:
    """Read a table of bounds: CSV with the columns ``instance, path, jobs, machines, operations, lower_bound, upper_bound``.

    Raises
    ------
    InputError
        A column is missing, a number is no whole number, or a lower bound is above its upper bound; all at once.
    """
    text, source = read_text(path)
    reader = csv.DictReader(io.StringIO(text))
    wanted = ("instance", "path", "jobs", "machines", "operations", "lower_bound", "upper_bound")
    missing = [c for c in wanted if c not in (reader.fieldnames or ())]
    if missing:
        rule = f"the header names {', '.join(wanted)}"
        raise InputError(Fault("line 1", f"no column {', '.join(missing)}", rule, "add the columns", source))
    faults: list[Fault] = []
    out: list[BestKnown] = []
    for row in reader:
        where = f"line {reader.line_num}"
        numbers: list[int] = []
        for key in wanted[2:]:
            given = (row[key] or "").strip()
            if not _WHOLE.fullmatch(given) or int(given) < 1:
                faults.append(Fault(f"{where} {key}", shown(given), "a whole number >= 1", "correct it", source))
                continue
            numbers.append(int(given))
        if len(numbers) < 5:
            continue
        if numbers[3] > numbers[4]:
            rule = f"a lower bound is at most the upper bound {numbers[4]}"
            faults.append(Fault(f"{where} lower_bound", str(numbers[3]), rule, "swap or correct them", source))
        out.append(BestKnown(row["instance"], row["path"], *numbers))
    if faults:
        raise InputError(faults)
    return tuple(out)


def load_fjsplib(path: str | os.PathLike[str], *, zero_based: bool = False, name: str | None = None) -> Loaded:
    """Read a flexible job shop.

    There is no lenient mode: a job shop without some of its operations is another job shop.

    Parameters
    ----------
    path
        The file (``.fjs`` or ``.txt``).
    zero_based
        Whether machines are numbered from 0.
    name
        Name of the instance; the file's by default.

    Raises
    ------
    InputError
        All faults at once, with line numbers.
    """
    text, source = read_text(path)
    lines = [(i, line.split()) for i, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if not lines:
        raise InputError(Fault("", "no text", "a job shop has a first line and one line a job", "give a file", source))
    first_line, head = lines[0]
    if len(head) not in (2, 3) or not all(_WHOLE.fullmatch(t) and int(t) >= 1 for t in head[:2]):
        rule = "the first line has the number of jobs, the number of machines and perhaps a mean"
        raise InputError(Fault(f"line {first_line}", shown(" ".join(head)), rule, "give an FJSPLIB file", source))
    jobs, machines = int(head[0]), int(head[1])
    faults: list[Fault] = []
    if jobs != len(lines) - 1:
        rule = f"line {first_line} announces {jobs} jobs, a line each"
        faults.append(Fault("", f"{len(lines) - 1} lines of jobs", rule, "correct the number or the lines", source))
    made = []
    for n, (line, tokens) in enumerate(lines[1:]):
        rounds = _operations(f"line {line}", tokens, machines, zero_based, source, faults)
        made.append(Job.model_construct(name=f"job {n + 1}", weight=1, release_date=0, rounds=tuple(rounds)))
    if faults:
        raise InputError(faults)
    instance = Instance(
        name=Path(source).stem if name is None else name,
        gpu_types=tuple(GpuType(name=f"machine {m + (not zero_based)}", count=1) for m in range(machines)),
        jobs=tuple(Job(name=j.name, rounds=j.rounds) for j in made),
    )
    used = {m for j in made for r in j.rounds for m, p in enumerate(r.processing_time) if p is not None}
    idle = [instance.gpu_types[m].name for m in range(machines) if m not in used]
    notes = (f"no operation uses {', '.join(idle)}",) if idle else ()
    return Loaded(instance, LoadReport(rows=len(made), kept=len(made), notes=notes))


def _operations(
    where: str, tokens: list[str], machines: int, zero_based: bool, source: str, faults: list[Fault]
) -> list[SyncRound]:
    """The rounds of one line; what is wrong with it goes to ``faults``."""

    def refuse(place: str, found: str, rule: str, remedy: str = "correct the line") -> list[SyncRound]:
        faults.append(Fault(place, found, rule, remedy, source))
        return []

    odd = next((t for t in tokens if not _WHOLE.fullmatch(t)), None)
    if odd is not None:
        return refuse(where, shown(odd), "a line of a job has whole numbers only")
    numbers = [int(t) for t in tokens]
    base = 0 if zero_based else 1
    rounds, at = [], 1
    if numbers[0] < 1:
        return refuse(where, f"{numbers[0]} operations", "a job has at least one operation")
    for operation in range(numbers[0]):
        place = f"{where} operation {operation + 1}"
        if at >= len(numbers) or numbers[at] < 1 or at + 2 * numbers[at] >= len(numbers):
            rule = "an operation is a number k >= 1 of machines and then k pairs of machine and duration"
            return refuse(place, f"{max(0, len(numbers) - at)} numbers left on the line", rule)
        count = numbers[at]
        pairs = list(
            zip(numbers[at + 1 : at + 1 + 2 * count : 2], numbers[at + 2 : at + 2 + 2 * count : 2], strict=True)
        )
        at += 1 + 2 * count
        times: list[int | None] = [None] * machines
        for machine, duration in pairs:
            if not base <= machine < machines + base:
                hint = (
                    "say that the file is numbered from 0 (zero_based=True, --zero-based)"
                    if machine == 0
                    else "correct it"
                )
                rule = f"machines are numbered {base} to {machines - 1 + base}"
                return refuse(place, f"machine {machine}", rule, hint)
            if times[machine - base] is not None:
                return refuse(place, f"machine {machine} twice", "a machine is listed once for an operation")
            if duration < 1:
                return refuse(place, f"duration {duration}", "a duration is a whole number >= 1")
            times[machine - base] = duration
        rounds.append(SyncRound(scale=1, processing_time=tuple(times)))
    if at != len(numbers):
        return refuse(where, f"{len(numbers) - at} numbers after the last operation", "a line ends with its operations")
    return rounds
