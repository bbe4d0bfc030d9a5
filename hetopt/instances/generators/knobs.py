"""The knobs of the generators: what each may be, checked with one clear line for what it may not."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import UsageError, shown
from hetopt.instances.rounding import exact

__all__ = ["ALPHA_GRID", "MAX_TIME", "Choice", "Knobs", "Release", "Share", "Times", "parse_knobs"]

MAX_TIME: Final = 10**6
"""Longest processing time that the generators draw (on the fastest type), in ticks."""

ALPHA_GRID: Final = 10**6
"""alpha is used to six decimals (rounded down), so that exact products stay in 64 bits."""

_MAX_ALPHA: Final = 10**6
_MAX_COUNT: Final = 2**27


class Release(StrEnum):
    """How jobs are released: all at 0, one at a time, or several at a time."""

    BATCH = "batch"
    POISSON = "poisson"
    BURSTS = "bursts"


class Times(StrEnum):
    """How a job's times on the types hang together.

    UNRELATED: each job has its own factor per type.  RELATED: one factor per type for all jobs.
    ORDERED: each job has its own factors, and they never fall in the order of the types (the first
    is fastest for every job).
    """

    UNRELATED = "unrelated"
    RELATED = "related"
    ORDERED = "ordered"


@dataclass(frozen=True)
class Choice:
    """A distribution on whole numbers: values with probabilities, or a uniform range when ``probabilities`` is empty.

    ``values`` then is (lowest, highest), both included.
    """

    values: tuple[int, ...]
    probabilities: tuple[float, ...] = ()

    def draw(self, uniform: NDArray[np.float64]) -> NDArray[np.int64]:
        """One number per uniform number in [0, 1), by inversion."""
        if not self.probabilities:
            low, high = self.values
            return low + np.floor(uniform * (high - low + 1)).astype(np.int64)
        edges = np.cumsum(self.probabilities)
        index = np.searchsorted(edges / edges[-1], uniform, side="right")
        return np.array(self.values, dtype=np.int64)[np.minimum(index, len(self.values) - 1)]

    @property
    def highest(self) -> int:
        """The largest value that can be drawn."""
        return max(self.values)


@dataclass(frozen=True)
class Share:
    """A uniform distribution on [low, high]."""

    low: float
    high: float

    def draw(self, uniform: NDArray[np.float64]) -> NDArray[np.float64]:
        """One number per uniform number in [0, 1)."""
        return self.low + uniform * (self.high - self.low)


@dataclass(frozen=True)
class Knobs:
    """Everything that shapes a generated instance; see the guide for the distribution behind each."""

    release: Release = Release.BATCH
    load: float = 0.8
    burst: float = 4.0
    times: Times = Times.UNRELATED
    alpha: Fraction = Fraction(4)
    time: Choice = Choice((4, 60))
    tail: float | None = None
    rounds: Choice = Choice((1, 6))
    alike: bool = True
    scale: Choice = Choice((1, 2, 4), (0.5, 0.3, 0.2))
    sync: Share = Share(0.1, 0.1)
    weights: Choice = Choice((1, 5))
    forbidden: float = 0.0
    tick_seconds: float = 1.0


_RANGE: Final = re.compile(r"\s*(-?[0-9.]+)\s*(?:\.\.|-|:)\s*(-?[0-9.]+)\s*")


def _refuse(knob: str, value: Any, rule: str, remedy: str) -> UsageError:
    return UsageError(f"{knob} {shown(value)}: {rule}; {remedy}")


def _number(
    knob: str, value: Any, low: float, high: float, rule: str, remedy: str, *, open_low: bool = False
) -> Fraction:
    number = exact(value)
    if number is None or number < low or number > high or (open_low and number == low):
        raise _refuse(knob, value, rule, remedy)
    return number


def _choice(knob: str, value: Any, what: str, highest: int) -> Choice:
    rule = f"{what} are whole numbers from 1 to {highest}"
    remedy = "give a number (3), a range (2..6), values (1,2,4) or chances (1=0.7,4=0.3)"

    def whole(item: Any) -> int:
        number = exact(item)
        if number is None or number.denominator != 1 or not 1 <= number <= highest:
            more = ""
            if number is not None and number.denominator != 1 and number > 0 and knob == "weights":
                more = f"multiply all weights by {number.denominator}, or "
            raise _refuse(knob, value, rule, more + remedy)
        return int(number)

    if isinstance(value, Choice):
        return value
    if isinstance(value, str):
        span = _RANGE.fullmatch(value)
        if span:
            value = (span[1], span[2])
        elif "=" in value:
            pairs = [item.partition("=") for item in value.split(",")]
            value = {key: chance for key, _, chance in pairs}
        elif "," in value:
            value = value.split(",")
        elif knob == "weights" and value.strip() == "unit":
            value = 1
    if isinstance(value, Mapping) and value:
        chances = [exact(p) for p in value.values()]
        if any(p is None or p < 0 for p in chances) or not any(chances):
            raise _refuse(knob, dict(value), "chances are numbers >= 0, not all 0", remedy)
        return Choice(tuple(whole(v) for v in value), tuple(float(p) for p in chances if p is not None))
    if isinstance(value, tuple):
        if len(value) != 2:
            raise _refuse(knob, value, "a range has two ends", "write (2, 6), or a list for single values")
        low, high = whole(value[0]), whole(value[1])
        if low > high:
            raise _refuse(knob, value, "a range goes from the lower to the higher end", f"write ({high}, {low})")
        return Choice((low, high))
    if isinstance(value, list) and value:
        return Choice(tuple(whole(v) for v in value), (1.0,) * len(value))
    number = whole(value)
    return Choice((number, number))


def _share(knob: str, value: Any) -> Share:
    rule, remedy = (
        "the share of a round that is synchronisation is >= 0 and <= 0.99",
        "give a share (0.1) or a range (0..0.3)",
    )
    if isinstance(value, Share):
        return value
    if isinstance(value, str) and (span := _RANGE.fullmatch(value)):
        value = (span[1], span[2])
    ends = value if isinstance(value, (tuple, list)) else (value, value)
    if len(ends) != 2:
        raise _refuse(knob, value, rule, remedy)
    low, high = (_number(knob, end, 0, 0.99, rule, remedy) for end in ends)
    if low > high:
        raise _refuse(
            knob, value, "a range goes from the lower to the higher end", f"write {float(high):g}..{float(low):g}"
        )
    return Share(float(low), float(high))


def _flag(knob: str, value: Any) -> bool:
    known = {"true": True, "false": False, "yes": True, "no": False}
    if isinstance(value, str) and value.casefold() in known:
        return known[value.casefold()]
    if not isinstance(value, bool):
        raise _refuse(knob, value, "this knob is on or off", "give true or false")
    return value


def _member(knob: str, value: Any, kind: type[Release] | type[Times]) -> Any:
    try:
        return kind(value)
    except ValueError:
        raise _refuse(knob, value, "no such choice", f"give one of {', '.join(kind)}") from None


def _parse(knob: str, value: Any) -> Any:
    if knob == "release":
        return _member(knob, value, Release)
    if knob == "times":
        return _member(knob, value, Times)
    if knob == "alpha":
        number = _number(
            knob, value, 1, _MAX_ALPHA, "the largest ratio of a task's times is >= 1 and <= 10^6", "give for example 4"
        )
        return Fraction(math.floor(number * ALPHA_GRID), ALPHA_GRID)
    if knob == "load":
        rule = "the offered load is > 0 and <= 1000 (1: the cluster just keeps up)"
        return float(_number(knob, value, 0, 1000, rule, "give for example 0.8", open_low=True))
    if knob == "burst":
        return float(
            _number(knob, value, 1, _MAX_COUNT, "the mean number of jobs of a burst is >= 1", "give for example 4")
        )
    if knob == "tail":
        rule = "the Pareto index is > 0 and <= 100"
        return (
            None if value is None else float(_number(knob, value, 0, 100, rule, "give for example 1.2", open_low=True))
        )
    if knob == "forbidden":
        return float(
            _number(knob, value, 0, 1, "the chance that a type is forbidden is >= 0 and <= 1", "give for example 0.3")
        )
    if knob == "tick_seconds":
        rule = "a tick is a finite number of seconds > 0"
        return float(_number(knob, value, 0, 1e300, rule, "give for example 1", open_low=True))
    if knob == "alike":
        return _flag(knob, value)
    if knob == "sync":
        return _share(knob, value)
    what, highest = {
        "time": ("processing times in ticks", MAX_TIME),
        "rounds": ("rounds per job", _MAX_COUNT),
        "scale": ("tasks per round", _MAX_COUNT),
        "weights": ("weights", 2**40),
    }[knob]
    choice = _choice(knob, value, what, highest)
    if knob == "time" and choice.probabilities:
        raise _refuse(knob, value, "times are drawn from a range", "give a range (4..60)")
    return choice


KNOBS: Final = tuple(f.name for f in fields(Knobs))


def parse_knobs(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> Knobs:
    """Knobs from what a user gave (``None``: not given) over a family's defaults.

    ``related`` is short for ``times``: True is related, False unrelated.

    Raises
    ------
    UsageError
        An unknown knob, or a value out of range: one line with knob, value, rule, remedy.
    """
    wanted = {k: v for k, v in given.items() if v is not None}
    if "related" in wanted:
        if "times" in wanted:
            raise UsageError("related and times: both say how times on the types hang together; give one of them")
        wanted["times"] = Times.RELATED if _flag("related", wanted.pop("related")) else Times.UNRELATED
    for knob in wanted:
        if knob not in KNOBS:
            raise UsageError(
                f"knob {knob!r}: the generators have none of that name; known: {', '.join((*KNOBS, 'related'))}"
            )
    return Knobs(**{k: _parse(k, v) for k, v in {**defaults, **wanted}.items()})
