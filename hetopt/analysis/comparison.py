"""Comparisons (document ``hetopt/comparison``): solvers side by side, with exact ratios inside."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from hetopt.analysis.tables import COLUMNS, csv_text, html_table, latex_text
from hetopt.core.documents import Document, Part, write_text, written_json
from hetopt.core.errors import VerificationError
from hetopt.core.instance import Instance
from hetopt.core.result import Result
from hetopt.core.status import Objective, Status, StopReason, Trust

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Comparison", "ComparisonDocument", "ContradictionError", "InstanceSummary", "Row"]


@dataclass(frozen=True)
class Row:
    """One solver on one instance; ``None`` is unknown.  The columns are explained in ``tables.COLUMNS``.

    A solver that could not run has status UNKNOWN, stop reason ERROR, and the reason as its message.
    """

    instance: str
    tasks: int
    solver: str
    objective: int | None
    lower_bound: int | None
    best_bound: int | None
    gap: Fraction | None
    ratio_to_bound: Fraction | None
    ratio_to_optimum: Fraction | None
    seconds: float | None
    status: Status
    stop_reason: StopReason
    bound_trust: Trust | None
    message: str

    def to_dict(self) -> dict[str, Any]:
        """JSON values, fractions as floats."""
        return {c.key: c.plain(self) for c in COLUMNS} | {"message": self.message}


@dataclass(frozen=True)
class InstanceSummary:
    """An instance with the best that is known about it after the comparison.

    ``best_bound_source`` and ``best_objective_source`` say which solver, or which entry of the library of best
    known values, a number is from.  ``optimum`` is None unless both meet.
    """

    name: str
    fingerprint: str
    jobs: int
    rounds: int
    tasks: int
    gpus: tuple[tuple[str, int], ...]
    best_bound: int | None
    best_bound_source: str | None
    best_bound_trust: Trust | None
    best_objective: int | None
    best_objective_source: str | None
    optimum: int | None

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        out = {**vars(self), "gpus": [{"name": name, "count": count} for name, count in self.gpus]}
        out["best_bound_trust"] = None if self.best_bound_trust is None else str(self.best_bound_trust)
        return out


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


_Number = Annotated[float, Field(strict=False)]
_Trust = Annotated[Trust, Field(strict=False)]


class _RowPart(Part):
    instance: str
    tasks: int
    solver: str
    objective: int | None
    lower_bound: int | None
    best_bound: int | None
    gap: _Number | None
    ratio_to_bound: _Number | None
    ratio_to_optimum: _Number | None
    seconds: _Number | None
    status: Annotated[Status, Field(strict=False)]
    stop_reason: Annotated[StopReason, Field(strict=False)]
    bound_trust: _Trust | None
    message: str


class _GpuPart(Part):
    name: str
    count: int


class _InstancePart(Part):
    name: str
    fingerprint: str
    jobs: int
    rounds: int
    tasks: int
    gpus: Annotated[tuple[_GpuPart, ...], BeforeValidator(_tuple)]
    best_bound: int | None
    best_bound_source: str | None
    best_bound_trust: _Trust | None
    best_objective: int | None
    best_objective_source: str | None
    optimum: int | None


class _SolverPart(Part):
    label: str
    solver: str
    kind: str
    version: str
    options: dict[str, Any]


class ComparisonDocument(Document):
    """The file form of a comparison: settings, instances, solvers, and one row a run."""

    format: Literal["hetopt/comparison"] = "hetopt/comparison"
    version: Literal[1] = 1
    objective_kind: Annotated[Objective, Field(strict=False)]
    time_limit: _Number | None
    work_limit: int | None
    seed: int
    threads: int
    versions: dict[str, str]
    interrupted: bool
    not_run: int
    contradictions: Annotated[tuple[str, ...], BeforeValidator(_tuple)]
    instances: Annotated[tuple[_InstancePart, ...], BeforeValidator(_tuple)]
    solvers: Annotated[tuple[_SolverPart, ...], BeforeValidator(_tuple)]
    rows: Annotated[tuple[_RowPart, ...], BeforeValidator(_tuple)]


class ContradictionError(VerificationError):
    """Two rows, or a row and the library, cannot both be right; ``comparison`` holds the whole table."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        super().__init__("\n".join(comparison.contradictions))


@dataclass(frozen=True)
class SolverSummary:
    """A solver of the comparison: label in the rows, name, kind, version of the library behind it, parameters."""

    label: str
    solver: str
    kind: str
    version: str
    options: dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """Solvers side by side on instances; made by :func:`hetopt.analysis.compare.compare`.

    Attributes
    ----------
    rows
        One a run, by instance (in the order given), then objective (unknown last), then solver.
    instances
        What is known about each instance; ``sources`` holds the instances themselves, in the same order.
    results
        The result behind each row, by (instance name, solver label); a solver that could not run has none.
    interrupted, not_run
        Whether Ctrl-C ended it, and how many runs did not start for that.
    contradictions
        What cannot be true together, one sentence each; empty unless a bound is wrong.
    """

    objective: Objective
    time_limit: float | None
    work_limit: int | None
    seed: int
    threads: int
    rows: tuple[Row, ...]
    instances: tuple[InstanceSummary, ...]
    solvers: tuple[SolverSummary, ...]
    versions: Mapping[str, str]
    sources: tuple[Instance, ...] = field(default=(), repr=False)
    results: Mapping[tuple[str, str], Result] = field(default_factory=dict, repr=False)
    interrupted: bool = False
    not_run: int = 0
    contradictions: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def rows_of(self, instance: str) -> tuple[Row, ...]:
        """The rows of one instance."""
        return tuple(row for row in self.rows if row.instance == instance)

    @property
    def failures(self) -> tuple[Row, ...]:
        """Rows of solvers that could not run or broke; their messages say why."""
        return tuple(row for row in self.rows if row.stop_reason is StopReason.ERROR)

    def command(self) -> str:
        """A command line that runs the same comparison: instances by their names, solvers with their defaults."""
        import shlex

        words = ["hetopt", "compare", *(shlex.quote(i.name) for i in self.instances)]
        words += ["--solvers", shlex.quote(",".join(dict.fromkeys(s.solver for s in self.solvers)))]
        if self.objective is not Objective.TOTAL_WEIGHTED_COMPLETION:
            words += ["--objective", str(self.objective)]
        words += ["--time-limit", f"{self.time_limit:g}"] if self.time_limit is not None else []
        words += ["--work-limit", str(self.work_limit)] if self.work_limit is not None else []
        words += ["--seed", str(self.seed), "--threads", str(self.threads)]
        return " ".join(words)

    def to_dict(self) -> dict[str, Any]:
        """The ``hetopt/comparison`` document as plain JSON values."""
        return {
            "format": "hetopt/comparison",
            "version": 1,
            "objective_kind": str(self.objective),
            "time_limit": self.time_limit,
            "work_limit": self.work_limit,
            "seed": self.seed,
            "threads": self.threads,
            "versions": dict(self.versions),
            "interrupted": self.interrupted,
            "not_run": self.not_run,
            "contradictions": list(self.contradictions),
            "instances": [i.to_dict() for i in self.instances],
            "solvers": [vars(s) for s in self.solvers],
            "rows": [row.to_dict() for row in self.rows],
        }

    def to_json(self) -> str:
        """The document as text, one row a line."""
        return written_json(self.to_dict())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the document in one step."""
        write_text(path, self.to_json())

    def to_pandas(self) -> pd.DataFrame:
        """One row a run; unknown numbers are ``<NA>``, ratios and gaps floats."""
        import pandas as pd

        whole = {"tasks", "objective", "lower_bound", "best_bound"}
        data = {}
        for c in COLUMNS:
            kind = "Int64" if c.key in whole else "Float64" if c.numeric else "string"
            data[c.key] = pd.Series([c.plain(r) for r in self.rows], dtype=kind)
        return pd.DataFrame(data)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """CSV text, also written to ``path`` when one is given; unknown fields are empty."""
        text = csv_text(self.rows)
        if path is not None:
            write_text(path, text)
        return text

    def to_latex(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        columns: Iterable[str] | None = None,
        caption: str = "",
        label: str = "",
    ) -> str:
        """A booktabs table, also written to ``path`` when one is given; see :func:`hetopt.analysis.tables.latex_text`."""
        text = latex_text(self.rows, columns, caption, label)
        if path is not None:
            write_text(path, text)
        return text

    def plot(self, ax: Axes | None = None) -> Axes:
        """Ratio to the best bound of each solver on each instance."""
        from hetopt.analysis.plots import ratios

        return ratios(self, ax=ax)

    def report(self, path: str | os.PathLike[str], *, title: str | None = None, command: str | None = None) -> None:
        """Write a self-contained HTML report; see :func:`hetopt.analysis.report.render`."""
        from hetopt.analysis.report import render

        render(self, path, title=title, command=command)

    def __repr__(self) -> str:
        cut = f", interrupted with {self.not_run} runs not started" if self.interrupted else ""
        return f"Comparison({len(self.instances)} instances x {len(self.solvers)} solvers, {self.objective}: {len(self.rows)} rows{cut})"

    def _repr_html_(self) -> str:
        return html_table(self.rows, repr(self))
