"""Schedules (document ``hetopt/schedule``): one row a task, kept in columns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BeforeValidator, Field

from hetopt.core.documents import MAX_EXACT, Document, JsonRows, Part, read_json, read_text, write_text, written_json
from hetopt.core.errors import Fault
from hetopt.core.instance import Instance

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COLUMNS", "Schedule", "ScheduleDocument"]

COLUMNS: Final = ("job", "round", "task", "gpu", "start", "end", "sync_end")
_LINE: Final = "{" + ", ".join(f'"{c}": %d' for c in COLUMNS) + "}"
_Number = Annotated[int, Field(ge=-MAX_EXACT, le=MAX_EXACT)]


class _Row(Part):
    job: _Number
    round: _Number
    task: _Number
    gpu: _Number
    start: _Number
    end: _Number
    sync_end: _Number


class ScheduleDocument(Document):
    """The file form of a schedule; only its shape is checked here, see ``hetopt.core.feasibility``."""

    format: Literal["hetopt/schedule"] = "hetopt/schedule"
    version: Literal[1] = 1
    instance: str
    fingerprint: str
    tasks: Annotated[tuple[_Row, ...], BeforeValidator(lambda v: tuple(v) if isinstance(v, list) else v)]


def _columns_of(tasks: Any) -> dict[str, NDArray[np.int64]] | None:
    """The columns of rows that keep every rule of their shape; None where one does not."""
    if type(tasks) is not list or set(map(type, tasks)) - {dict} or set(map(len, tasks)) - {len(COLUMNS)}:
        return None
    try:
        rows = list(map(itemgetter(*COLUMNS), tasks))
        if set(map(type, chain.from_iterable(rows))) - {int}:
            return None
        table = np.array(rows, dtype=np.int64).reshape(-1, len(COLUMNS))
    except (KeyError, OverflowError):
        return None
    if (np.abs(table) > MAX_EXACT).any() or (table == np.iinfo(np.int64).min).any():
        return None
    return {c: table[:, i] for i, c in enumerate(COLUMNS)}


@dataclass(frozen=True, eq=False)
class Schedule:
    """A schedule, feasible or not: seven read-only int64 columns with one entry per row.

    Attributes
    ----------
    instance, fingerprint
        Name and fingerprint of the instance that it was made for.
    job, round, task : (T,) int64
        Which task (indices from 0, repeats of rounds expanded).
    gpu : (T,) int64
        GPU, numbered type by type from 0.
    start, end, sync_end : (T,) int64
        Ticks: training occupies the GPU on [start, end); the task has synchronised at ``sync_end``.
    """

    instance: str
    fingerprint: str
    job: NDArray[np.int64]
    round: NDArray[np.int64]
    task: NDArray[np.int64]
    gpu: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    sync_end: NDArray[np.int64]

    def __post_init__(self) -> None:
        for name in COLUMNS:
            column = np.ascontiguousarray(getattr(self, name), dtype=np.int64)
            if column.flags.writeable:
                column = column.copy()
                column.setflags(write=False)
            object.__setattr__(self, name, column)

    def __len__(self) -> int:
        return len(self.job)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schedule):
            return NotImplemented
        same = self.fingerprint == other.fingerprint and len(self) == len(other)
        return same and all(np.array_equal(getattr(self, c), getattr(other, c)) for c in COLUMNS)

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def from_starts(cls, instance: Instance, gpu: ArrayLike, start: ArrayLike) -> Schedule:
        """Complete a schedule from GPU and start of each task, in (job, round, task) order.

        Parameters
        ----------
        instance
            The instance.
        gpu, start : (T,) int
            GPU and start tick per task.  Nothing is checked beyond the number of entries; times on
            a forbidden type come out as 0 and the feasibility checker refuses them.
        """
        a = instance.arrays
        gpus, starts = np.asarray(gpu, dtype=np.int64), np.asarray(start, dtype=np.int64)
        if gpus.shape != (a.num_tasks,) or starts.shape != (a.num_tasks,):
            raise ValueError(
                f"gpu and start need one entry for each of the {a.num_tasks} tasks; shapes {gpus.shape} and {starts.shape}"
            )
        rounds = np.repeat(np.arange(a.num_rounds, dtype=np.int64), a.scale)
        types = a.gpu_type[gpus]
        job = a.round_job[rounds]
        end = starts + a.processing_time[rounds, types]
        return cls(
            instance=instance.name,
            fingerprint=instance.fingerprint,
            job=job,
            round=rounds - a.round_start[job],
            task=np.arange(a.num_tasks, dtype=np.int64) - a.task_start[rounds],
            gpu=gpus,
            start=starts,
            end=end,
            sync_end=end + a.sync_time[rounds, types],
        )

    @classmethod
    def from_document(cls, document: ScheduleDocument) -> Schedule:
        """Columns of a parsed document."""
        columns = {c: np.array([getattr(row, c) for row in document.tasks], dtype=np.int64) for c in COLUMNS}
        return cls(document.instance, document.fingerprint, **columns)

    @classmethod
    def from_dict(cls, raw: Any, source: str = "", faults: Sequence[Fault] = ()) -> Schedule:
        """Read a parsed ``hetopt/schedule``; all faults of its shape at once."""
        columns = _columns_of(raw.get("tasks")) if isinstance(raw, dict) else None
        if columns is None:  # something is wrong with a row: the reader of documents says what
            return cls.from_document(ScheduleDocument.from_dict(raw, source, faults))
        document = ScheduleDocument.from_dict({**raw, "tasks": []}, source, faults)
        return cls(document.instance, document.fingerprint, **columns)

    @classmethod
    def from_json(cls, text: str, source: str = "") -> Schedule:
        """Read from text."""
        raw, faults = read_json(text, source)
        return cls.from_dict(raw, source, faults)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schedule:
        """Read from a file."""
        return cls.from_json(*read_text(path))

    def replace(self, **columns: ArrayLike) -> Self:
        """A copy with some columns replaced (for tests and repairs)."""
        return type(self)(
            self.instance,
            self.fingerprint,
            **{c: np.asarray(columns.get(c, getattr(self, c)), dtype=np.int64) for c in COLUMNS},
        )

    def to_dict(self) -> dict[str, Any]:
        """The ``hetopt/schedule`` document as plain JSON values."""
        lists = [getattr(self, c).tolist() for c in COLUMNS]
        tasks = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*lists, strict=True)]
        return {**self._head(), "tasks": tasks}

    def to_json(self) -> str:
        """The document as text, one task a line."""
        return written_json(self.to_written())

    def rows(self) -> JsonRows:
        """The rows as they are written, without one object for each."""
        if not len(self):
            return JsonRows("[]")
        columns = [getattr(self, c).tolist() for c in COLUMNS]
        return JsonRows("[\n" + ",\n".join(map(_LINE.__mod__, zip(*columns, strict=True))) + "\n]")

    def _head(self) -> dict[str, Any]:
        return {"format": "hetopt/schedule", "version": 1, "instance": self.instance, "fingerprint": self.fingerprint}

    def to_written(self) -> dict[str, Any]:
        """As :meth:`to_dict`, for :func:`~hetopt.core.documents.written_json` only: the rows are text already."""
        return {**self._head(), "tasks": self.rows()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write in one step."""
        write_text(path, self.to_json())

    def to_pandas(self) -> pd.DataFrame:
        """One row a task, in ticks."""
        import pandas as pd

        return pd.DataFrame({c: getattr(self, c) for c in COLUMNS})

    @cached_property
    def makespan(self) -> int:
        """Largest ``sync_end``; 0 for an empty schedule."""
        return int(self.sync_end.max(initial=0))

    def __repr__(self) -> str:
        return f"Schedule({self.instance!r}: {len(self)} tasks, makespan {self.makespan})"

    def _repr_html_(self) -> str:
        return str(self.to_pandas().to_html(max_rows=20))
