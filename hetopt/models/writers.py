"""LP and MPS files of a linear model, written so that every reader gets the same problem back.

Two things go wrong in such files elsewhere and are avoided here.  Names come from the model and are
a letter followed by letters, digits and underscores (see ``base``), never job names.  The constant
of the objective, for which readers disagree or which they drop, is the coefficient of one more
column, ``objective_constant``, fixed at 1.

Bounds of every column are written out, because defaults for integer columns differ between
readers.  Numbers are the shortest text that reads back as the same binary64.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from hetopt.models.base import LinearModel

__all__ = ["CONSTANT", "lp_text", "mps_text"]

CONSTANT: Final = "objective_constant"
"""Name of the column that carries the constant of the objective."""

SAFE: Final = re.compile(r"[A-DF-Za-df-z][A-Za-z0-9_]{0,199}")
"""Names that every reader takes: no blank or operator in them, and no start that reads as a number (``e5``)."""

WIDTH: Final = 100
_QUOTED: Final = {True: "'INTORG'", False: "'INTEND'"}


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))


def _check_names(model: LinearModel) -> None:
    for names in (model.column_names, model.row_names):
        if len(set(names)) != len(names):
            raise ValueError("names of a linear model are unique")
        for name in names:
            if not SAFE.fullmatch(name) or name in (CONSTANT, "obj"):
                raise ValueError(f"{name!r} is not a safe name")


def _wrapped(head: str, parts: list[str], tail: str = "") -> str:
    """One statement over as many lines as it takes; LP readers limit the length of a line."""
    lines, line = [], head
    for part in parts:
        if len(line) + 1 + len(part) > WIDTH:
            lines.append(line)
            line = "  "
        line += f" {part}"
    return "\n".join([*lines, f"{line} {tail}".rstrip()])


def _terms(pairs: Iterator[tuple[str, float]]) -> list[str]:
    return [f"{'-' if value < 0 else '+'} {_number(abs(value))} {name}" for name, value in pairs]


def lp_text(model: LinearModel) -> str:
    """The model in CPLEX LP format; two-sided rows become two rows, the second with ``_high`` at its name's end."""
    _check_names(model)
    names = model.column_names
    parts = _terms((names[j], float(model.cost[j])) for j in np.flatnonzero(model.cost))
    if model.offset:
        parts.append(f"{'-' if model.offset < 0 else '+'} {_number(abs(model.offset))} {CONSTANT}")
    out = [f"\\ {model.name}: {model.num_columns} columns, {model.num_rows} rows", "Minimize"]
    out.append(_wrapped(" obj:", parts or [f"+ 0 {names[0]}"]))
    out.append("Subject To")
    for i in range(model.num_rows):
        entries = slice(int(model.row_start[i]), int(model.row_start[i + 1]))
        row = _terms(
            (names[j], float(v))
            for j, v in zip(model.column[entries].tolist(), model.value[entries].tolist(), strict=True)
        )
        row = row or [f"+ 0 {names[0]}"]
        low, high, name = float(model.row_lower[i]), float(model.row_upper[i]), model.row_names[i]
        if low == high:
            out.append(_wrapped(f" {name}:", row, f"= {_number(low)}"))
            continue
        if np.isfinite(low):
            out.append(_wrapped(f" {name}:", row, f">= {_number(low)}"))
        if np.isfinite(high):
            suffix = "_high" if np.isfinite(low) else ""
            out.append(_wrapped(f" {name}{suffix}:", row, f"<= {_number(high)}"))
    out.append("Bounds")
    for name, lower, upper in zip(names, model.lower.tolist(), model.upper.tolist(), strict=True):
        if lower == upper:
            out.append(f" {name} = {_number(lower)}")
        elif np.isneginf(lower) and np.isposinf(upper):
            out.append(f" {name} free")
        elif np.isposinf(upper):
            out.append(f" {name} >= {_number(lower)}")
        else:
            out.append(f" {'-inf' if np.isneginf(lower) else _number(lower)} <= {name} <= {_number(upper)}")
    if model.offset:
        out.append(f" {CONSTANT} = 1")
    whole = [names[j] for j in np.flatnonzero(model.integer)]
    if whole:
        out.append("General")
        out.extend(_wrapped("", whole).split("\n"))
    out.append("End")
    return "\n".join(out) + "\n"


def mps_text(model: LinearModel) -> str:
    """The model in free MPS format."""
    _check_names(model)
    columns: list[list[tuple[int, float]]] = [[] for _ in range(model.num_columns)]
    for i in range(model.num_rows):
        entries = slice(int(model.row_start[i]), int(model.row_start[i + 1]))
        for j, v in zip(model.column[entries].tolist(), model.value[entries].tolist(), strict=True):
            columns[j].append((i, v))
    out = [f"NAME {model.name}", "ROWS", " N obj"]
    right, ranges = [], []
    for name, low, high in zip(model.row_names, model.row_lower.tolist(), model.row_upper.tolist(), strict=True):
        if low == high:
            kind, side = "E", low
        elif np.isfinite(low):
            kind, side = "G", low
            if np.isfinite(high):
                ranges.append(f" RANGE {name} {_number(high - low)}")
        elif np.isfinite(high):
            kind, side = "L", high
        else:
            kind, side = "N", 0.0
        out.append(f" {kind} {name}")
        if side:
            right.append(f" RHS {name} {_number(side)}")
    out.append("COLUMNS")
    inside = False
    for j, name in enumerate(model.column_names):
        if bool(model.integer[j]) != inside:
            inside = not inside
            out.append(f" MARKER{j} 'MARKER' {_QUOTED[inside]}")
        cost = float(model.cost[j])
        if cost or not columns[j]:
            out.append(f" {name} obj {_number(cost)}")
        out.extend(f" {name} {model.row_names[i]} {_number(v)}" for i, v in columns[j])
    if inside:
        out.append(f" MARKER{model.num_columns} 'MARKER' {_QUOTED[False]}")
    if model.offset:
        out.append(f" {CONSTANT} obj {_number(model.offset)}")
    out.append("RHS")
    out.extend(right)
    if ranges:
        out.append("RANGES")
        out.extend(ranges)
    out.append("BOUNDS")
    for name, lower, upper in zip(model.column_names, model.lower.tolist(), model.upper.tolist(), strict=True):
        if lower == upper:
            out.append(f" FX BOUND {name} {_number(lower)}")
            continue
        out.append(f" MI BOUND {name}" if np.isneginf(lower) else f" LO BOUND {name} {_number(lower)}")
        out.append(f" PL BOUND {name}" if np.isposinf(upper) else f" UP BOUND {name} {_number(upper)}")
    if model.offset:
        out.append(f" FX BOUND {CONSTANT} 1")
    out.append("ENDATA")
    return "\n".join(out) + "\n"
