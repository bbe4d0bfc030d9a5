"""Comparisons as one HTML file that needs nothing else: no network, no fonts, no scripts from anywhere."""

from __future__ import annotations

import os
from fractions import Fraction
from importlib.resources import files
from typing import Any, Final

from hetopt.analysis.comparison import Comparison
from hetopt.analysis.metrics import Summary, summarise
from hetopt.analysis.report.charts import MOST_BARS_TOGETHER, charts_of, ratio_chart
from hetopt.analysis.report.glossary import OBJECTIVES, STATUSES, STOP_REASONS, TERMS, TRUSTS
from hetopt.analysis.tables import COLUMNS, DASH, grouped
from hetopt.core.documents import write_text
from hetopt.core.errors import SolverUnavailableError
from hetopt.core.status import Status
from hetopt.core.text import visible

__all__ = ["html_of", "render"]

_TEMPLATES: Final = "templates"


def html_of(comparison: Comparison, *, title: str | None = None, command: str | None = None) -> str:
    """The report as text.

    Parameters
    ----------
    comparison
        What to report.  Charts need its results; a table alone is reported without them.
    title
        Heading; by default the numbers of solvers and instances.
    command
        The command line that made it; by default one that compares the same names.

    Raises
    ------
    SolverUnavailableError
        jinja2 or matplotlib is not installed.
    """
    try:
        import jinja2
        import markupsafe
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise SolverUnavailableError(
            f"reports need {error.name}, not installed here; get it with: pip install 'hetopt[report]'"
        ) from None
    folder = files("hetopt.analysis.report") / _TEMPLATES
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        loader=jinja2.FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
    )
    environment.globals.update(
        css=markupsafe.Markup((folder / "report.css").read_text(encoding="utf-8")),
        js=markupsafe.Markup((folder / "report.js").read_text(encoding="utf-8")),
        dash=DASH,
    )
    environment.filters["grouped"] = lambda v: DASH if v is None else grouped(v)
    environment.filters["svg"] = markupsafe.Markup  # made by inline_svg, which escapes
    instances, solvers = len(comparison.instances), len(comparison.solvers)
    heading = title or (
        f"{solvers} solver{'s' if solvers != 1 else ''} on {instances} instance{'s' if instances != 1 else ''}"
    )
    return environment.get_template("report.html.j2").render(
        title=heading,
        comparison=comparison,
        objective_meaning=OBJECTIVES[comparison.objective],
        columns=COLUMNS,
        rows=[_cells(comparison, row) for row in comparison.rows],
        ratio_chart=ratio_chart(comparison),
        sections=_sections(comparison),
        command=command or comparison.command(),
        glossary={
            "Status": [(str(k), v) for k, v in STATUSES.items()],
            "Stopped by": [(str(k), v) for k, v in STOP_REASONS.items()],
            "Bound trust": [(str(k), v) for k, v in TRUSTS.items()],
            "Other words": list(TERMS.items()),
        },
        proved=sum(i.optimum is not None for i in comparison.instances),
    )


def render(
    comparison: Comparison, path: str | os.PathLike[str], *, title: str | None = None, command: str | None = None
) -> None:
    """Write :func:`html_of` in one step.

    Raises
    ------
    OutputError
        The place cannot be written; nothing is left half-written.
    """
    write_text(path, html_of(comparison, title=title, command=command))


def _cells(comparison: Comparison, row: Any) -> dict[str, Any]:
    values = [r.objective for r in comparison.rows_of(row.instance) if r.objective is not None]
    cells = [
        {"key": c.key, "text": c.cell(row), "value": c.plain(row), "numeric": c.numeric, "wide": c.key == "message"}
        for c in COLUMNS
    ]
    return {
        "cells": cells,
        "best": row.objective is not None and row.objective == min(values),
        "failed": row.status is Status.UNKNOWN and bool(row.message) and row.lower_bound is None,
    }


def _sections(comparison: Comparison) -> list[dict[str, Any]]:
    room = MOST_BARS_TOGETHER
    out = []
    for number, summary in enumerate(comparison.instances):
        section: dict[str, Any] = {"summary": summary, "anchor": f"instance-{number}", "charts": None, "quality": []}
        if comparison.sources:
            section["charts"], used = charts_of(comparison, number, room)
            room -= used
            for row in comparison.rows_of(summary.name):
                result = comparison.results.get((summary.name, row.solver))
                if result is not None and result.incumbent is not None:
                    figures = summarise(comparison.sources[number], result.incumbent)
                    section["quality"].append((row.solver, _figures(figures)))
        out.append(section)
    return out


def _figures(s: Summary) -> list[str]:
    """In the order of the headings in the template."""

    def rounded(value: Fraction | None, digits: int, unit: str = "") -> str:
        return DASH if value is None else f"{float(value):.{digits}f}{unit}"

    percent = None if s.overall_utilisation is None else 100 * s.overall_utilisation
    return [
        grouped(s.makespan),
        rounded(s.flow_time.mean, 1),
        rounded(s.flow_time.median, 0),
        rounded(s.flow_time.p99, 0),
        rounded(s.slowdown.mean, 2),
        rounded(s.slowdown.largest, 2),
        rounded(percent, 1, " %"),
        rounded(s.jain_index, 3),
    ]
