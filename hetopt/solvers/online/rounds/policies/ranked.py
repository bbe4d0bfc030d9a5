"""Policies that rank the jobs each round: shortest remaining time, least attained service, first come first served.

Each serves jobs in its order and passes over those that do not fit.  Ties go to the earlier arrival.
No guarantee known on unrelated GPU types.  Complexity: O(n log n + n K) a round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hetopt.solvers.online.rounds.policies.placing import Placement, place, placement_of
from hetopt.solvers.online.rounds.state import Clairvoyance, RoundState

__all__ = ["FifoRounds", "LasRounds", "SrtfRounds"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class SrtfRounds:
    """Shortest remaining time first: time left on the fastest type that the job can use.

    Parameters
    ----------
    placement
        See :class:`~hetopt.solvers.online.rounds.policies.placing.Placement`.
    """

    name: ClassVar[str] = "srtf-rounds"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.SIZES

    placement: Placement = Placement.FASTEST

    def __post_init__(self) -> None:
        object.__setattr__(self, "placement", placement_of(self.placement))

    def decide(self, state: RoundState, memory: Any) -> tuple[Ints, Any]:
        """Least time left first."""
        left = state.remaining / state.rate.max(axis=1)
        return place(state, np.argsort(left, kind="stable"), self.placement), None


@dataclass(frozen=True, kw_only=True)
class LasRounds:
    """Least attained service first (GPU-seconds over weight), knowing no sizes."""

    name: ClassVar[str] = "las-rounds"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.NONE

    placement: Placement = Placement.FASTEST

    def __post_init__(self) -> None:
        object.__setattr__(self, "placement", placement_of(self.placement))

    def decide(self, state: RoundState, memory: Any) -> tuple[Ints, Any]:
        """Least service first."""
        return place(state, np.argsort(state.attained / state.weight, kind="stable"), self.placement), None


@dataclass(frozen=True, kw_only=True)
class FifoRounds:
    """First come, first served: earlier arrivals go first; ``blocking`` lets none overtake a job that does not fit."""

    name: ClassVar[str] = "fifo-rounds"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.NONE

    placement: Placement = Placement.FASTEST
    blocking: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "placement", placement_of(self.placement))

    def decide(self, state: RoundState, memory: Any) -> tuple[Ints, Any]:
        """Order of arrival."""
        order = np.arange(len(state), dtype=np.int64)
        return place(state, order, self.placement, blocking=self.blocking), None
