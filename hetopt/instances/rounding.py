"""Real-valued times and weights become whole numbers here, once, with a report of what that cost.

Times are rounded *up* to ticks, so that no positive time becomes 0 and a schedule of the rounded
instance can be carried out with the true times.  Weights are multiplied by one factor and, only where
no small factor makes all of them whole, rounded to the nearest whole number >= 1.  Arithmetic is
exact: a float counts as the shortest decimal that denotes it (0.3 is 3/10), as its author wrote it.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

import numpy as np

from hetopt.core.errors import Fault, InputError, UsageError, shown

__all__ = ["Rounder", "RoundingError", "RoundingReport", "exact", "nice_ticks_down", "tick_of", "whole_weights"]

_LARGEST_EXACT_WEIGHT: Final = 10**6


_FRACTION: Final = re.compile(r"[0-9]{1,300}/[0-9]{1,300}")


def exact(value: Any) -> Fraction | None:
    """The exact number that a Python or numpy number (or text: a decimal or p/q) denotes.

    ``None`` for what is no number, is not finite, or is too large or too small (but not 0) for a float.

    >>> exact(0.3)
    Fraction(3, 10)
    """
    if isinstance(value, (bool, np.bool_)) or value is None:
        return None
    if type(value) is Fraction and abs(value.numerator.bit_length() - value.denominator.bit_length()) < 1000:
        return value
    try:
        if isinstance(value, (int, np.integer)):
            number = Fraction(int(value))
        elif isinstance(value, Fraction):
            number = value
        elif isinstance(value, (float, np.floating)):
            number = Fraction(repr(float(value)))
        else:
            text = str(value).strip()
            # float() first: it is quick where the exact number would have a billion digits
            if not _FRACTION.fullmatch(text) and not 0 < abs(float(text)) < math.inf:
                return Fraction(0) if _ZERO.fullmatch(text) else None
            number = Fraction(text)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    if abs(number.numerator.bit_length() - number.denominator.bit_length()) < 1000:  # quick, and nearly always so
        return number
    return number if not number or _LEAST <= abs(number) <= _MOST else None


_ZERO: Final = re.compile(r"[-+]?(0+\.?0*|\.0+)([eE][-+]?[0-9]+)?")
_LEAST: Final = Fraction(math.ulp(0.0))
_MOST: Final = Fraction(sys.float_info.max)


def tick_of(tick_seconds: Any) -> Fraction:
    """A tick length as an exact number; a :class:`UsageError` unless it is a finite number > 0."""
    tick = exact(tick_seconds)
    if tick is None or tick <= 0:
        raise UsageError(
            f"tick_seconds {shown(tick_seconds)}: a tick is a finite number of seconds > 0; give for example 1 or 0.001"
        )
    return tick


@dataclass(frozen=True)
class RoundingError:
    """The largest relative error among some numbers, and where it is (``where`` is empty: all exact).

    ``true_value`` and ``rounded`` are in seconds for times, and in the original unit for weights.
    """

    relative: Fraction = Fraction(0)
    where: str = ""
    true_value: Fraction = Fraction(0)
    rounded: Fraction = Fraction(0)

    def __str__(self) -> str:
        if not self.where:
            return "exact"
        return f"{float(self.relative):.3g} at {self.where} ({float(self.true_value):.9g} became {float(self.rounded):.9g})"


@dataclass(frozen=True)
class RoundingReport:
    """What rounding to ticks and whole weights did.

    Attributes
    ----------
    tick_seconds
        Length of a tick.
    processing_time, sync_time, release_date, weight
        Largest relative error of each kind.
    weight_factor
        Whole weight = original weight x this, before rounding.
    """

    tick_seconds: float
    processing_time: RoundingError = RoundingError()
    sync_time: RoundingError = RoundingError()
    release_date: RoundingError = RoundingError()
    weight: RoundingError = RoundingError()
    weight_factor: Fraction = Fraction(1)

    @property
    def largest(self) -> RoundingError:
        """The largest relative error of any time: processing, sync or release."""
        return max((self.processing_time, self.sync_time, self.release_date), key=lambda e: e.relative)

    @property
    def largest_relative_error(self) -> float:
        """``largest.relative`` as a float."""
        return float(self.largest.relative)

    def __str__(self) -> str:
        parts = [f"tick {self.tick_seconds:g} s", f"largest relative rounding error of a time: {self.largest}"]
        if self.weight.where or self.weight_factor != 1:
            parts.append(f"weights x {float(self.weight_factor):.6g}, largest relative error: {self.weight}")
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""

        def plain(error: RoundingError) -> dict[str, Any]:
            return {
                "relative": float(error.relative),
                "where": error.where,
                "true_value": float(error.true_value),
                "rounded": float(error.rounded),
            }

        kinds = ("processing_time", "sync_time", "release_date", "weight")
        return {
            "tick_seconds": self.tick_seconds,
            **{kind: plain(getattr(self, kind)) for kind in kinds},
            "weight_factor": float(self.weight_factor),
        }


@dataclass
class Rounder:
    """Rounds times up to ticks and remembers the worst relative error of each kind."""

    tick: Fraction
    worst: dict[str, RoundingError] = field(default_factory=dict)

    def ticks(self, seconds: Fraction, kind: str, where: str) -> int:
        """The least number of ticks that last at least ``seconds`` (>= 0)."""
        count = -((-seconds) // self.tick)
        if seconds:
            relative = (count * self.tick - seconds) / seconds
            if relative > self.worst.get(kind, _EXACT).relative:
                self.worst[kind] = RoundingError(relative, where, seconds, count * self.tick)
        return int(count)

    def report(self, weight: RoundingError, factor: Fraction) -> RoundingReport:
        """The report of everything rounded so far."""
        return RoundingReport(float(self.tick), weight=weight, weight_factor=factor, **self.worst)


_EXACT: Final = RoundingError()


def whole_weights(
    weights: Sequence[Any], names: Sequence[str] = (), tolerance: Fraction = Fraction(1, 1000)
) -> tuple[list[int], Fraction, RoundingError]:
    """Whole weights >= 1 proportional to real ones.

    Whole weights stay as they are.  Otherwise all are multiplied by the least factor that makes them
    whole, if none then exceeds 10^6; failing that by a factor that keeps the relative error of
    rounding within ``tolerance``.

    Returns
    -------
    weights
        One whole number per weight.
    factor
        What they were multiplied by.
    error
        The largest relative error of rounding.

    Raises
    ------
    InputError
        A weight is not a finite number > 0; all faults at once.
    """
    labels = names or [f"weights[{i}]" for i in range(len(weights))]
    values = [exact(w) for w in weights]
    faults = [
        Fault(label, shown(given), "weights are finite numbers > 0", "give a positive weight")
        for label, given, value in zip(labels, weights, values, strict=True)
        if value is None or value <= 0
    ]
    if faults:
        raise InputError(faults)
    sound = [v for v in values if v is not None]
    if all(v.denominator == 1 for v in sound):
        return [int(v) for v in sound], Fraction(1), _EXACT
    denominator = math.lcm(*(v.denominator for v in sound))
    factor = Fraction(denominator, math.gcd(*(int(v * denominator) for v in sound)))
    if max(sound) * factor <= _LARGEST_EXACT_WEIGHT:
        return [int(v * factor) for v in sound], factor, _EXACT
    factor = 1 / (2 * tolerance * min(sound))
    whole = [max(1, round(v * factor)) for v in sound]
    error = _EXACT
    for label, value, count in zip(labels, sound, whole, strict=True):
        relative = abs(count / factor - value) / value
        if relative > error.relative:
            error = RoundingError(relative, label, value, count / factor)
    return whole, factor, error


def nice_ticks_down(most: Fraction) -> Any:
    """The numbers 1, 2, 5 x 10^k that are <= ``most``, from the largest down (endless)."""
    exponent = math.floor(math.log10(most.numerator) - math.log10(most.denominator)) + 1
    while True:
        for digit in (5, 2, 1):
            tick = digit * Fraction(10) ** exponent
            if tick <= most:
                yield tick
        exponent -= 1
