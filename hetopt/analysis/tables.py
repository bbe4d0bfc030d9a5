"""The columns of a comparison: title, meaning and text of each, once, for every output form.

What is unknown is a dash everywhere a human reads it, an empty field in CSV and null in JSON; never 0, inf or nan.
"""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from hetopt.analysis.gaps import percentage, shortened
from hetopt.core.text import visible

if TYPE_CHECKING:
    from hetopt.analysis.comparison import Row

__all__ = [
    "COLUMNS",
    "DASH",
    "Column",
    "csv_text",
    "escape_latex",
    "grouped",
    "html_table",
    "latex_text",
    "seconds_text",
]

DASH: Final = "–"


def seconds_text(seconds: float | None) -> str | None:
    """Run time as text with three significant digits at most (``0.004``, ``12.3``)."""
    if seconds is None:
        return None
    if seconds < 0.001:
        return "<0.001"
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.2f}" if seconds < 10 else f"{seconds:.1f}"


@dataclass(frozen=True)
class Column:
    """One column.

    Parameters
    ----------
    key
        Attribute of :class:`~hetopt.analysis.comparison.Row`; also the JSON key and CSV header.
    title
        Heading.
    meaning
        One sentence for a reader who does not know it.
    text
        Text of a value that is not None.
    numeric
        Whether it is aligned and sorted as a number.
    """

    key: str
    title: str
    meaning: str
    text: Callable[[Any], str | None] = str
    numeric: bool = False

    def cell(self, row: Row) -> str:
        """Text of the row's value, a dash for what is unknown or empty."""
        value = getattr(row, self.key)
        return DASH if value is None or value == "" else self.text(value) or DASH

    def plain(self, row: Row) -> Any:
        """The value as a JSON scalar (fractions as floats)."""
        value = getattr(row, self.key)
        if isinstance(value, Fraction):
            return float(value)
        return value if value is None or isinstance(value, (int, float)) else str(value)


def grouped(value: int) -> str:
    """A whole number with narrow spaces between groups of three digits."""
    return f"{value:,}".replace(",", "\u202f")


COLUMNS: Final[tuple[Column, ...]] = (
    Column("instance", "Instance", "Name of the instance."),
    Column("tasks", "Tasks", "Its number of tasks (one task trains on one GPU at a time).", grouped, True),
    Column("solver", "Solver", "Name of the solver in the catalogue, with the parameters that tell two runs apart."),
    Column(
        "objective",
        "Objective",
        "Value of the best schedule that the solver found, re-computed from the schedule after checking that it is feasible; "
        "less is better.",
        grouped,
        True,
    ),
    Column(
        "lower_bound",
        "Lower bound",
        "What this solver proved by itself: no schedule has a smaller value. Rounded up to a whole number.",
        grouped,
        True,
    ),
    Column(
        "best_bound",
        "Best bound",
        "The largest lower bound known for the instance, over all rows and the library of best known values.",
        grouped,
        True,
    ),
    Column(
        "gap", "Gap", "(objective - best bound) / objective: at most this share can still be saved.", percentage, True
    ),
    Column(
        "ratio_to_bound",
        "Ratio to bound",
        "objective / best bound: the true ratio to the optimum is at most this.",
        lambda v: shortened(v, 4),
        True,
    ),
    Column(
        "ratio_to_optimum",
        "Ratio to optimum",
        "objective / optimum; a dash unless the optimum is proved (by a row of the instance, or by the library).",
        lambda v: shortened(v, 4),
        True,
    ),
    Column("seconds", "Time (s)", "Run time in seconds, building the model included.", seconds_text, True),
    Column("status", "Status", "What is known after the run; says nothing about why it ended."),
    Column("stop_reason", "Stopped by", "Why the run ended; says nothing about what is known."),
    Column("bound_trust", "Bound trust", "How far this solver's own lower bound can be trusted."),
    Column("message", "Message", "What the solver had to say, or why there is no answer."),
)

_LATEX: Final = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "[": "{[}",
    "]": "{]}",
    "\u2013": "--",
    "\u202f": r"\,",
    "\n": " ",
    "\r": " ",
    "\t": " ",
}


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it stands (no ligatures from dashes, no optional arguments from brackets)."""
    apart = re.sub("-(?=-)", "-\0", visible(text.replace("\0", "")))
    return "".join("{}" if c == "\0" else _LATEX.get(c, c) for c in apart)


def latex_text(rows: Sequence[Row], columns: Iterable[str] | None = None, caption: str = "", label: str = "") -> str:
    """A booktabs table; the preamble needs ``\\usepackage{booktabs}``.

    Parameters
    ----------
    rows
        Rows, printed in their order with a thin rule between instances.
    columns
        Keys of the columns to print; by default all but stop reason, bound trust and message.
    caption, label
        When one is given, the table floats in a ``table`` environment.
    """
    chosen = _chosen(columns or [c.key for c in COLUMNS if c.key not in ("stop_reason", "bound_trust", "message")])
    lines = [
        f"\\begin{{tabular}}{{{''.join('r' if c.numeric else 'l' for c in chosen)}}}",
        "\\toprule",
        " & ".join(escape_latex(c.title) for c in chosen) + r" \\",
        "\\midrule",
    ]
    previous: str | None = None
    for row in rows:
        if previous is not None and row.instance != previous:
            lines.append("\\addlinespace")
        previous = row.instance
        lines.append(" & ".join(escape_latex(c.cell(row)) for c in chosen) + r" \\")
    lines += ["\\bottomrule", "\\end{tabular}"]
    if caption or label:
        head = ["\\begin{table}", "\\centering"]
        head += [f"\\caption{{{escape_latex(caption)}}}"] if caption else []
        head += [f"\\label{{{label}}}"] if label else []
        lines = [*head, *lines, "\\end{table}"]
    return "\n".join(lines) + "\n"


def _chosen(keys: Iterable[str]) -> list[Column]:
    from hetopt.core.errors import UsageError

    known = {c.key: c for c in COLUMNS}
    wanted = list(keys)
    unknown = [k for k in wanted if k not in known]
    if unknown or not wanted:
        raise UsageError(f"no column is called {', '.join(map(repr, unknown)) or '(none)'}; known: {', '.join(known)}")
    return [known[k] for k in wanted]


def csv_text(rows: Sequence[Row]) -> str:
    """CSV (RFC 4180 quoting, line feeds): keys as header, floats in shortest round-trip form, unknown fields empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([c.key for c in COLUMNS])
    for row in rows:
        writer.writerow(["" if (v := c.plain(row)) is None else v for c in COLUMNS])
    return stream.getvalue()


def html_table(rows: Sequence[Row], caption: str) -> str:
    """A plain HTML table for notebooks, every text escaped."""
    head = "".join(f'<th scope="col" title="{html.escape(c.meaning)}">{html.escape(c.title)}</th>' for c in COLUMNS)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align:{"right" if c.numeric else "left"}">{html.escape(c.cell(row))}</td>'
            for c in COLUMNS
        )
        + "</tr>"
        for row in rows
    )
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
