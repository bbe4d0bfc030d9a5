"""Strict reading of the ``data`` of a certificate: what is not exactly as documented is refused."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hetopt.core.errors import shown
from hetopt.core.status import Objective

__all__ = ["Proved", "Refused", "keys", "listed", "one_of", "whole"]


class Refused(Exception):
    """The certificate proves nothing; the text says why."""


@dataclass(frozen=True)
class Proved:
    """The value that the evidence proves, and the objective that it is about (None: the problem has just one)."""

    bound: Fraction
    objective: Objective | None = Objective.TOTAL_WEIGHTED_COMPLETION


def keys(value: Any, required: Collection[str], where: str) -> dict[str, Any]:
    """An object with exactly these keys."""
    if not isinstance(value, dict):
        raise Refused(f"{where}: an object is required, found {shown(value)}")
    for key in required:
        if key not in value:
            raise Refused(f"{where}: the key {key!r} is missing")
    for key in value:
        if key not in required:
            raise Refused(f"{where}: the key {shown(key)} is not known")
    return value


def whole(value: Any, where: str, least: int = 0) -> int:
    """A whole number >= ``least``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise Refused(f"{where}: a whole number >= {least} is required, found {shown(value)}")
    return value


def listed(value: Any, where: str, length: int | None = None) -> list[Any]:
    """A list, of exactly ``length`` items when that is given."""
    if not isinstance(value, list):
        raise Refused(f"{where}: a list is required, found {shown(value)}")
    if length is not None and len(value) != length:
        raise Refused(f"{where}: {length} items are required, found {len(value)}")
    return value


def one_of(value: Any, allowed: Collection[Any], where: str) -> Any:
    """One of some values, of the same type."""
    if not any(type(value) is type(item) and value == item for item in allowed):
        raise Refused(f"{where}: one of {', '.join(map(repr, allowed))} is required, found {shown(value)}")
    return value
