"""Records as one tidy table: a row a run, a column a fact; CSV, Parquet, LaTeX.

What is unknown is empty, never 0 or inf.  Among the runs on one problem, a schedule better than a bound that
another run claims to be proved is a contradiction, and :attr:`SweepTable.contradictions` says so.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from hetopt.analysis.sweeps.execute import State
from hetopt.analysis.sweeps.expand import Run
from hetopt.analysis.sweeps.spec import SweepSpec
from hetopt.analysis.sweeps.store import RunStore
from hetopt.analysis.tables import escape_latex
from hetopt.core.documents import fingerprint_of, write_bytes, write_text
from hetopt.core.errors import SolverUnavailableError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SweepTable", "collect", "percentile"]

_FIRST: Final = ("run", "action", "problem", "solver", "seed", "state", "reason")
_LAST: Final = (
    "best_objective",
    "best_bound",
    "ratio_to_best",
    "ratio_to_bound",
    "commit",
    "machine",
    "started",
    "seconds",
)


@dataclass(frozen=True)
class SweepTable:
    """Rows of a sweep.

    Attributes
    ----------
    spec
        The specification.
    rows
        One mapping a run, in the order of the specification; every row has every column of ``columns``.
    columns
        Names, in order: run to reason, grid arguments (``arg.alpha``), measures, references, provenance.
    missing
        Titles of runs without a record.
    """

    spec: SweepSpec
    rows: tuple[Mapping[str, Any], ...]
    columns: tuple[str, ...]
    missing: tuple[str, ...]
    contradictions: tuple[str, ...]
    provenances: tuple[Mapping[str, Any], ...] = ()

    @property
    def done(self) -> list[Mapping[str, Any]]:
        """Rows of runs that have figures."""
        return [row for row in self.rows if row["state"] == State.DONE]

    @cached_property
    def solvers(self) -> tuple[str, ...]:
        """Labels, in the order of the specification."""
        return tuple(dict.fromkeys(str(row["solver"]) for row in self.rows))

    @property
    def states(self) -> Counter[str]:
        """How many runs ended how; ``missing`` counts those without a record."""
        out = Counter(str(row["state"]) for row in self.rows)
        if self.missing:
            out["missing"] = len(self.missing)
        return out

    def values(self, metric: str, solver: str) -> dict[tuple[str, int], float]:
        """Finite numbers of a column by (problem, seed) for one solver; runs without it are left out."""
        out: dict[tuple[str, int], float] = {}
        for row in self.done:
            value = row.get(metric)
            if row["solver"] == solver and isinstance(value, (int, float)) and not isinstance(value, bool):
                out[str(row["problem"]), int(row["seed"])] = float(value)
        return out

    def where(self, **conditions: Any) -> SweepTable:
        """The rows whose columns have these values."""
        from dataclasses import replace

        kept = tuple(r for r in self.rows if all(r.get(k) == v for k, v in conditions.items()))
        return replace(self, rows=kept)

    def groups(self) -> list[SweepTable]:
        """A table each for what runs on instances, on workloads and on rounds: methods of different groups share no problem."""
        from dataclasses import replace

        kinds = (("solve", "check", "simulate-tasks"), ("simulate-rounds",), ("round",))
        parts = [tuple(r for r in self.rows if r["action"] in kind) for kind in kinds]
        return [replace(self, rows=rows) for rows in parts if rows]

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """CSV text (line feeds, floats in shortest round-trip form), also written to ``path`` when one is given."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.columns)
        for row in self.rows:
            writer.writerow(["" if (v := row.get(c)) is None else v for c in self.columns])
        text = stream.getvalue()
        if path is not None:
            write_text(path, text)
        return text

    def to_pandas(self) -> pd.DataFrame:
        """One row a run; whole numbers as ``Int64``, others as ``Float64``, text as ``string``, unknown ``<NA>``.

        Raises
        ------
        SolverUnavailableError
            pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise SolverUnavailableError(
                "tables need pandas, not installed here; get it with: pip install 'hetopt[report]'"
            ) from None
        data: dict[str, Any] = {}
        for column in self.columns:
            values = [row.get(column) for row in self.rows]
            known = [v for v in values if v is not None]
            if known and all(isinstance(v, bool) for v in known):
                kind = "boolean"
            elif known and all(isinstance(v, int) and not isinstance(v, bool) and abs(v) < 2**63 for v in known):
                kind = "Int64"
            elif known and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in known):
                kind = "Float64"
            else:
                kind, values = "string", [None if v is None else str(v) for v in values]
            data[column] = pd.Series(values, dtype=kind)
        return pd.DataFrame(data)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write Parquet in one step.

        Raises
        ------
        SolverUnavailableError
            pyarrow or pandas is not installed.
        """
        frame = self.to_pandas()
        try:
            import pyarrow
            import pyarrow.parquet as parquet
        except ImportError:
            raise SolverUnavailableError(
                "Parquet needs pyarrow, not installed here; get it with: pip install 'hetopt[parquet]'"
            ) from None
        sink = pyarrow.BufferOutputStream()
        parquet.write_table(pyarrow.Table.from_pandas(frame, preserve_index=False), sink)
        write_bytes(path, sink.getvalue().to_pybytes())

    def summary(self, metrics: Iterable[str]) -> list[dict[str, Any]]:
        """A row a solver: runs, how many are done, and mean, median and largest value of each metric."""
        chosen = tuple(metrics)
        out = []
        for solver in self.solvers:
            mine = [row for row in self.rows if row["solver"] == solver]
            row: dict[str, Any] = {
                "solver": solver,
                "runs": len(mine),
                "done": sum(r["state"] == State.DONE for r in mine),
            }
            for metric in chosen:
                values = sorted(self.values(metric, solver).values())
                row[f"{metric} mean"] = math.fsum(values) / len(values) if values else None
                row[f"{metric} median"] = percentile(values, 0.5)
                row[f"{metric} largest"] = values[-1] if values else None
            out.append(row)
        return out

    def metrics(self) -> tuple[str, ...]:
        """Columns that a report is about: those of the actions in the sweep that have values."""
        wanted = (
            "ratio_to_bound",
            "ratio_to_best",
            "ratio_to_lp",
            "mean_jct",
            "ftf_mean",
            "ftf_worst",
            "cost",
            "runtime_seconds",
        )
        return tuple(m for m in wanted if any(isinstance(r.get(m), (int, float)) for r in self.done))

    def to_latex(self, path: str | os.PathLike[str] | None = None) -> str:
        """The summary as a booktabs table, also written to ``path`` when one is given."""
        rows = self.summary(self.metrics())
        columns = [c for c in (rows[0] if rows else {}) if not c.endswith("largest")]
        lines = [f"\\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}", "\\toprule"]
        lines += [" & ".join(escape_latex(c.replace("_", " ")) for c in columns) + r" \\", "\\midrule"]
        for row in rows:
            cells = [
                "--" if row[c] is None else f"{row[c]:.4g}" if isinstance(row[c], float) else str(row[c])
                for c in columns
            ]
            lines.append(" & ".join([escape_latex(cells[0]), *cells[1:]]) + r" \\")
        text = "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"
        if path is not None:
            write_text(path, text)
        return text


def percentile(ordered: list[float], share: float) -> float | None:
    """Linear interpolation between the order statistics; None of nothing."""
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def collect(spec: SweepSpec, runs: list[Run], store: RunStore) -> SweepTable:
    """The table of the runs of a specification; unsound files count as missing."""
    survey = store.survey(runs)
    rows: list[dict[str, Any]] = []
    missing, provenances = [], dict[str, Mapping[str, Any]]()
    problems: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        record = survey.records.get(run.key)
        if record is None:
            missing.append(run.title)
            continue
        origin = record["provenance"]
        shared = {k: origin.get(k) for k in ("versions", "commit", "machine")}
        provenances.setdefault(fingerprint_of(shared), shared)
        row = {
            "run": run.key[:12],
            "action": str(run.action),
            "problem": run.problem.name,
            "solver": run.label,
            "seed": run.seed,
            "state": record["state"],
            "reason": record["reason"],
            **{
                f"arg.{k}": v if isinstance(v, (int, float, str, bool)) else str(v)
                for k, v in run.problem.varied.items()
            },
            **record["measures"],
            "commit": origin.get("commit"),
            "machine": (origin.get("machine") or {}).get("cpu"),
            "started": origin.get("started"),
            "seconds": origin.get("seconds"),
        }
        rows.append(row)
        if run.action.value in ("solve", "check"):
            place = fingerprint_of(
                [
                    dict(run.problem.content),
                    run.objective or spec.objective if run.action == "solve" else "total-weighted-completion",
                ]
            )
            problems.setdefault(place, []).append(row)
    contradictions = [text for group in problems.values() for text in _references(group)]
    names = dict.fromkeys(name for row in rows for name in row)
    grid = [n for n in names if n.startswith("arg.")]
    middle = [n for n in names if n not in (*_FIRST, *_LAST, *grid)]
    columns = (*_FIRST, *grid, *middle, *(n for n in _LAST if n in names))
    return SweepTable(spec, tuple(rows), columns, tuple(missing), tuple(contradictions), tuple(provenances.values()))


def _references(rows: list[dict[str, Any]]) -> list[str]:
    """Fill in the best objective and bound of one problem; texts of contradictions."""
    values = [(r["objective"], r["solver"]) for r in rows if r.get("objective") is not None]
    bounds = [(r["bound"], r["solver"]) for r in rows if r.get("bound") is not None]
    best, low = min(values, default=None), max(bounds, default=None)
    for row in rows:
        row["best_objective"] = None if best is None else best[0]
        row["best_bound"] = None if low is None else low[0]
        value = row.get("objective")
        if value is not None and best is not None and best[0] > 0:
            row["ratio_to_best"] = value / best[0]
        if value is not None and low is not None and low[0] > 0:
            row["ratio_to_bound"] = value / low[0]
    if best is not None and low is not None and low[0] > best[0]:
        return [
            f"{rows[0]['problem']}: {low[1]} claims the bound {low[0]}, and {best[1]} has a schedule of value {best[0]}"
        ]
    return []
