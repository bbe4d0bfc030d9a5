"""What commands print and write: one document on standard output at most, everything else on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def say(*lines: str) -> None:
    """Lines for a human, on standard error."""
    for line in lines:
        print(line, file=sys.stderr)  # noqa: T201
    sys.stderr.flush()


def deliver(text: str, *, output: str | None, as_json: bool, rescue: bool = False) -> None:
    """Write a document where it was asked for.

    Parameters
    ----------
    text
        The document.
    output
        A file, ``-``, or None.
    as_json
        Whether it is to be printed on standard output as well (once, if ``output`` is ``-``).
    rescue
        The document took long to make: if the file cannot be written it is printed, so that
        nothing is lost, and the error is raised all the same.
    """
    from hetopt.core.documents import write_text
    from hetopt.core.errors import OutputError

    if output is not None and output != "-":
        try:
            write_text(output, text)
        except OutputError:
            if rescue and not as_json:
                say("The document could not be written there and is printed on standard output instead.")
                write_text("-", text)
            elif as_json:
                write_text("-", text)
            raise
    if as_json or output == "-":
        write_text("-", text)


def shown_number(value: Any) -> str:
    """A number or text as people read it, on one line; what is unknown is a dash."""
    from hetopt.core.text import one_line

    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    return one_line(str(value))


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, left: Sequence[int] = (0,)) -> None:
    """A table on standard error: drawn by rich on a terminal, plain columns elsewhere."""
    cells = [[shown_number(cell) for cell in row] for row in rows]
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        drawn = Table(title=title or None, title_justify="left")
        for index, column in enumerate(columns):
            drawn.add_column(column, justify="left" if index in left else "right", overflow="fold")
        for row in cells:
            drawn.add_row(*(Text(cell) for cell in row))
        Console(stderr=True, highlight=False).print(drawn)
        return
    widths = [max(len(line[i]) for line in (list(columns), *cells)) for i in range(len(columns))]

    def line(row: Sequence[str]) -> str:
        parts = [
            cell.ljust(w) if i in left else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(parts).rstrip()

    say(*([title] if title else []), line(columns), *map(line, cells))


def facts(pairs: Mapping[str, Any]) -> None:
    """Name and value, one a line, on standard error; unknown values are dashes."""
    width = max(map(len, pairs), default=0)
    say(*(f"{name.ljust(width)}  {shown_number(value)}" for name, value in pairs.items()))
