"""The demonstration (``make demo``): exact and heuristic schedules compared on three shipped instances.

One instance was solved by hand, one is built from published throughput figures, one has 100 tasks.
Everything is measured while it runs; nothing is taken from stored results but the best known bounds
of the library, which the table names as such.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hetopt.analysis.compare import Progress, compare
from hetopt.analysis.comparison import Comparison
from hetopt.core.documents import write_text
from hetopt.core.errors import HetoptError, OutputError
from hetopt.instances import library

__all__ = ["INSTANCES", "SOLVERS", "main", "run_demo"]

INSTANCES: Final = ("hand-two-types", "gavel-figures-15", "T95")
SOLVERS: Final = (
    "cpsat",
    "milp-disjunctive",
    "milp-time-indexed",
    "auto",
    "local-search",
    "hare",
    "hare-eft",
    "wspt",
    "fifo",
    "srtf",
    "time-indexed-lagrangian",
    "midpoint-lp-strong",
)


def _tell(news: Progress) -> None:
    if news.result is not None:
        said = f"{news.result.status}, {news.result.runtime_seconds:.1f} s"
    elif news.error is not None:
        said = news.error
    else:
        return
    sys.stderr.write(f"[{news.index}/{news.total}] {news.instance}, {news.solver}: {said}\n")


def run_demo(time_limit: float = 6.0) -> Comparison:
    """The comparison; at most ``time_limit`` seconds a run."""
    instances = [library.load(name) for name in INSTANCES]
    return compare(instances, SOLVERS, time_limit=time_limit, threads=1, seed=0, listener=_tell)


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print the table, and write ``report.html``, ``table.csv`` and ``comparison.json``."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/demo"), help="folder to write into")
    parser.add_argument("--time-limit", type=float, default=6.0, help="seconds a run")
    options = parser.parse_args(argv)
    try:
        try:
            options.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{options.out}: no folder can be made there: {error.strerror}") from None
        comparison = run_demo(options.time_limit)
        sys.stdout.write(table_text(comparison))
        comparison.report(
            options.out / "report.html", title="hetopt: exact and heuristic schedules compared", command="make demo"
        )
        comparison.to_csv(options.out / "table.csv")
        write_text(options.out / "comparison.json", comparison.to_json())
    except HetoptError as error:
        sys.stderr.write(f"{error}\n")
        return int(error.exit_code)
    sys.stdout.write(f"\nThe report with Gantt charts and bounds over time: {options.out / 'report.html'}\n")
    return 0


def table_text(comparison: Comparison) -> str:
    """The table as plain columns, one block an instance."""
    from hetopt.analysis.tables import COLUMNS

    columns = [c for c in COLUMNS if c.key not in ("tasks", "stop_reason", "bound_trust", "message", "best_bound")]
    plain = str.maketrans({"\u202f": ",", "\u2013": "-"})
    rows = [[c.title for c in columns], *([c.cell(row).translate(plain) for c in columns] for row in comparison.rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(columns))]
    lines: list[str] = []
    previous = rows[0][0]
    for row in rows:
        if row[0] != previous:
            lines.append("")
        previous = row[0]
        cells = [
            cell.rjust(width) if column.numeric else cell.ljust(width)
            for cell, width, column in zip(row, widths, columns, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
