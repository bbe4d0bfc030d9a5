"""What a formulation is, and the neutral linear model that formulations write and backends read.

A :class:`Formulation` turns an instance into a :class:`BuiltModel` (a :class:`LinearModel` and what
its columns stand for), a schedule into column values (``encode``) and column values into a schedule
(``decode``).  ``decode(encode(s))`` equals ``s`` up to the canonical form that each formulation
documents.

Names of columns and rows are a symbol and whole numbers (``x_0_2_1_17``), so they survive every LP
and MPS reader whatever the jobs are called; :class:`NameMap` leads back to the originals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import VerificationError
from hetopt.core.instance import Instance
from hetopt.core.schedule import Schedule
from hetopt.core.status import Objective

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "INTEGRALITY_TOLERANCE",
    "BuiltModel",
    "BuildStopped",
    "Formulation",
    "IntegralityError",
    "LinearModel",
    "LinearWriter",
    "NameMap",
    "Symbol",
]

INTEGRALITY_TOLERANCE: Final = 1e-5
"""How far from a whole number an integer column may be in a backend's answer."""

INFINITY: Final = float("inf")


class IntegralityError(VerificationError):
    """A backend calls a point feasible in which an integer column is not whole."""


class BuildStopped(Exception):
    """Building was given up because ``stop()`` said so (time limit, Ctrl-C); never reaches a user."""


@dataclass(frozen=True)
class LinearModel:
    r"""Minimise ``cost @ x + offset`` subject to ``row_lower <= A x <= row_upper``, ``lower <= x <= upper``.

    With n columns, m rows and z nonzeros:

    Attributes
    ----------
    name
        Safe name for the files.
    cost, lower, upper : (n,) float64
        Objective coefficients and bounds; infinite bounds are ``inf``.
    integer : (n,) bool
        Whether the column is integer.
    row_lower, row_upper : (m,) float64
        Bounds of the rows.
    row_start : (m + 1,) int64
        Row i has the entries ``row_start[i] .. row_start[i + 1] - 1``.
    column, value : (z,) int64, float64
        Column and coefficient of each entry.
    column_names, row_names
        Unique safe names.
    offset
        Constant of the objective.
    """

    name: str
    cost: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    integer: NDArray[np.bool_]
    row_lower: NDArray[np.float64]
    row_upper: NDArray[np.float64]
    row_start: NDArray[np.int64]
    column: NDArray[np.int64]
    value: NDArray[np.float64]
    column_names: tuple[str, ...]
    row_names: tuple[str, ...]
    offset: float = 0.0

    @property
    def num_columns(self) -> int:
        """N."""
        return len(self.cost)

    @property
    def num_rows(self) -> int:
        """M."""
        return len(self.row_lower)

    @property
    def num_entries(self) -> int:
        """Z."""
        return len(self.value)

    def objective(self, values: NDArray[np.float64]) -> float:
        """Objective of a point, offset included."""
        return float(self.cost @ values) + self.offset

    def activity(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """``A x``, (m,)."""
        rows = np.repeat(np.arange(self.num_rows), np.diff(self.row_start))
        out = np.zeros(self.num_rows)
        np.add.at(out, rows, self.value * values[self.column])
        return out

    def broken(self, values: NDArray[np.float64], tolerance: float = 1e-6) -> list[str]:
        """Names of the rows and columns that a point breaks by more than ``tolerance`` (relative above 1)."""
        out: list[str] = []
        sides = (
            (values, self.lower, self.upper, self.column_names),
            (self.activity(values), self.row_lower, self.row_upper, self.row_names),
        )
        for level, low, high, names in sides:
            slack = tolerance * np.maximum(1.0, np.abs(level))
            bad = ~((level >= low - slack) & (level <= high + slack))
            out.extend(names[i] for i in np.flatnonzero(bad))
        return out

    def rounded(self, values: NDArray[np.float64], tolerance: float = INTEGRALITY_TOLERANCE) -> NDArray[np.float64]:
        """The point with its integer columns made whole.

        Raises
        ------
        IntegralityError
            A value is not a number, or further than ``tolerance`` from a whole number.
        """
        whole = np.where(self.integer, np.round(values), values)
        off = ~(np.abs(whole - values) <= tolerance)
        if off.any():
            i = int(np.flatnonzero(off)[0])
            raise IntegralityError(
                f"column {self.column_names[i]} has the value {float(values[i])!r}, "
                f"further than {tolerance:g} from a whole number ({int(off.sum())} such columns)"
            )
        return whole

    def with_floor(self, value: float) -> LinearModel:
        """The model with one more row, ``objective >= value``: a lower bound from outside."""
        used = np.flatnonzero(self.cost)
        return replace(
            self,
            row_lower=np.append(self.row_lower, value - self.offset),
            row_upper=np.append(self.row_upper, INFINITY),
            row_start=np.append(self.row_start, self.num_entries + len(used)),
            column=np.append(self.column, used),
            value=np.append(self.value, self.cost[used]),
            row_names=(*self.row_names, "objective_floor"),
        )


@dataclass(frozen=True)
class Symbol:
    """A family of columns or rows: what its indices are, and what it means."""

    name: str
    indices: tuple[str, ...]
    meaning: str


@dataclass(frozen=True)
class NameMap:
    """What the safe names of a model stand for.

    ``symbols`` describes each family; the numbers in a name are its indices in that order (jobs, types and so
    on counted from 0, rounds within their job).
    """

    symbols: tuple[Symbol, ...]
    jobs: tuple[str, ...]
    gpu_types: tuple[str, ...]

    def indices(self, name: str) -> dict[str, int]:
        """Indices in a safe name, by what they index; ``KeyError`` for a name of another model."""
        symbol, *numbers = name.split("_")
        known = {s.name: s for s in self.symbols}[symbol]
        if len(numbers) != len(known.indices):
            raise KeyError(name)
        return dict(zip(known.indices, map(int, numbers), strict=True))

    def original(self, name: str) -> dict[str, Any]:
        """What a safe name stands for, with the names of jobs and types as the instance has them."""
        out: dict[str, Any] = {"symbol": name.split("_")[0], **self.indices(name)}
        for key in ("job", "other_job"):
            if key in out:
                out[f"{key}_name"] = self.jobs[out[key]]
        if "gpu_type" in out:
            out["gpu_type_name"] = self.gpu_types[out["gpu_type"]]
        return out


class LinearWriter:
    """Collects columns and rows one by one and makes a :class:`LinearModel`.

    Parameters
    ----------
    name
        Safe name of the model.
    stop
        Asked now and then; once it says True, building is given up with :class:`BuildStopped`.
    """

    def __init__(self, name: str, stop: Callable[[], bool] | None = None) -> None:
        self.name = name
        self.offset = 0.0
        self._stop = stop
        self._names: list[str] = []
        self._lower: list[float] = []
        self._upper: list[float] = []
        self._integer: list[bool] = []
        self._cost: list[float] = []
        self._row_names: list[str] = []
        self._row_lower: list[float] = []
        self._row_upper: list[float] = []
        self._row_start: list[int] = [0]
        self._column: list[int] = []
        self._value: list[float] = []

    def add_variable(
        self, name: str, lower: float = 0.0, upper: float = INFINITY, *, integer: bool = False, cost: float = 0.0
    ) -> int:
        """Add a column; its index is the handle that rows use."""
        self._names.append(name)
        self._lower.append(lower)
        self._upper.append(upper)
        self._integer.append(integer)
        self._cost.append(cost)
        if self._stop is not None and not len(self._names) & 1023 and self._stop():
            raise BuildStopped
        return len(self._names) - 1

    def add_row(
        self, name: str, terms: Iterable[tuple[int, float]], lower: float = -INFINITY, upper: float = INFINITY
    ) -> None:
        """Add ``lower <= sum of coefficient * column <= upper``; zero coefficients are left out."""
        for column, value in terms:
            if value:
                self._column.append(column)
                self._value.append(value)
        self._row_start.append(len(self._column))
        self._row_names.append(name)
        self._row_lower.append(lower)
        self._row_upper.append(upper)
        if self._stop is not None and not len(self._row_names) & 255 and self._stop():
            raise BuildStopped

    def finish(self) -> LinearModel:
        """The model."""
        return LinearModel(
            name=self.name,
            cost=np.array(self._cost, dtype=np.float64),
            lower=np.array(self._lower, dtype=np.float64),
            upper=np.array(self._upper, dtype=np.float64),
            integer=np.array(self._integer, dtype=np.bool_),
            row_lower=np.array(self._row_lower, dtype=np.float64),
            row_upper=np.array(self._row_upper, dtype=np.float64),
            row_start=np.array(self._row_start, dtype=np.int64),
            column=np.array(self._column, dtype=np.int64),
            value=np.array(self._value, dtype=np.float64),
            column_names=tuple(self._names),
            row_names=tuple(self._row_names),
            offset=self.offset,
        )


@dataclass(frozen=True)
class BuiltModel:
    """A formulation of one instance, ready to be solved or written.

    Attributes
    ----------
    formulation, objective, instance
        What it is a model of.
    linear
        The model.
    names
        What its names stand for.
    cutoff
        Schedules of value at most this are represented (at least one of each value that occurs); worse ones
        may be cut off.  ``None``: nothing is cut off that matters for the optimum.
    extra
        What ``encode`` and ``decode`` of the formulation need.
    """

    formulation: str
    objective: Objective
    instance: Instance
    linear: LinearModel
    names: NameMap
    cutoff: int | None = None
    extra: dict[str, Any] = field(default_factory=dict)


class Formulation(Protocol):
    """A way to write the problem as a linear model; see the package documentation for how to add one."""

    name: str

    def build(self, instance: Instance, objective: Objective) -> BuiltModel:
        """The model of an instance."""

    def encode(self, built: BuiltModel, schedule: Schedule) -> NDArray[np.float64]:
        """Column values of a feasible schedule; ``ValueError`` where the model does not represent it."""

    def decode(self, built: BuiltModel, values: Sequence[float] | NDArray[np.float64]) -> Schedule:
        """The schedule of a feasible point."""


def name_map(instance: Instance, symbols: Iterable[Symbol]) -> NameMap:
    """The name map of a model of ``instance``."""
    return NameMap(
        tuple(symbols), tuple(job.name for job in instance.jobs), tuple(gpu.name for gpu in instance.gpu_types)
    )
