"""Gaps and ratios, exact; ``None`` wherever a side is unknown or the quotient has no meaning."""

from __future__ import annotations

from fractions import Fraction

from hetopt.core.result import relative_gap

__all__ = ["excess", "percentage", "ratio", "relative_gap", "shortened"]


def ratio(objective: int | Fraction | None, reference: int | Fraction | None) -> Fraction | None:
    """``objective / reference`` exactly.

    Parameters
    ----------
    objective
        Value of a schedule.
    reference
        A lower bound, or the optimum.

    Returns
    -------
    None
        Where a side is unknown, or the reference is 0 or less and differs from the objective (a bound of 0
        says nothing about a quotient).  Equal sides have the ratio 1.
    """
    if objective is None or reference is None:
        return None
    if objective == reference:
        return Fraction(1)
    return Fraction(objective) / Fraction(reference) if reference > 0 else None


def excess(objective: int | Fraction | None, reference: int | Fraction | None) -> Fraction | None:
    """``ratio - 1``: by how much of the reference the objective lies above it."""
    quotient = ratio(objective, reference)
    return None if quotient is None else quotient - 1


def shortened(value: Fraction | None, digits: int) -> str | None:
    """Decimal text of an exact number that never hides a difference from a whole number.

    Rounds to nearest, except that a ratio above 1 never reads ``1.0000`` and one below never does either:
    then as many digits are added as are needed (at most 12).
    """
    if value is None:
        return None
    places = digits
    while places < 12 and value.denominator != 1 and Fraction(f"{float(value):.{places}f}").denominator == 1:
        nearest = round(value)
        if abs(value - nearest) >= Fraction(1, 2 * 10**digits):
            break
        places += 1
    return f"{float(value):.{places}f}"


def percentage(value: Fraction | None, digits: int = 2) -> str | None:
    """A gap as text in per cent; a gap that is not 0 never reads as 0."""
    if value is None:
        return None
    text = shortened(value * 100, digits)
    return f"{text} %"
