r"""Tiresias: discretised two-dimensional attained service (Gu et al., NSDI 2019; variants as in its published simulator).

Attained service is GPUs times time.  Jobs enter queue 0 and fall to the next one when their service
reaches a threshold; queues are served in order.  Inside a queue: by first start (2D-LAS), or by falling
Gittins index

.. math:: G(a) = \frac{P(S \le a + \Delta \mid S > a)}{E[\min(S - a, \Delta) \mid S > a]}

over a distribution of sizes S (here: a given sample, or the jobs finished so far), with quantum
Delta.  The published simulator's formula differs: it averages min(S, a + Delta) without subtracting a, multiplies
by a million and rounds, and gives 0 for the last sample points; ``variant="simulator"`` is that.
A job that has waited ``starvation`` times as long as it has run returns to queue 0 with its
counter at zero (off by default).  Type-blind: see ``placement``.  No guarantee known.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import UsageError
from hetopt.solvers.online.rounds.policies.placing import Placement, place, placement_of
from hetopt.solvers.online.rounds.state import Clairvoyance, RoundState

__all__ = ["GittinsVariant", "TiresiasGittins", "TiresiasLas", "TiresiasMemory", "gittins_index"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class GittinsVariant(StrEnum):
    """The index of the textbook, or that of the published simulator."""

    TEXTBOOK = "textbook"
    SIMULATOR = "simulator"


def gittins_index(
    attained: Floats, sizes: Floats, quantum: float, variant: GittinsVariant = GittinsVariant.TEXTBOOK
) -> Floats:
    """G(a) for each attained service, given a sample of sizes; 0 where no sample is larger than a."""
    ordered = np.sort(sizes)
    n = len(ordered)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    above = np.searchsorted(ordered, attained, side="right")
    within = np.searchsorted(ordered, attained + quantum, side="right")
    larger = n - above
    inside = within - above
    with np.errstate(divide="ignore", invalid="ignore"):
        if variant is GittinsVariant.TEXTBOOK:
            spent = (sums[within] - sums[above]) - attained * inside + quantum * (n - within)
            return np.where(larger > 0, inside / spent, 0.0)
        spent = (sums[within] - sums[above]) + (attained + quantum) * (n - within)
        raw = np.where((larger > 0) & (above < n - 1), np.round(inside / spent * 1e6), 0.0)
    return np.asarray(raw, dtype=np.float64)


@dataclass(frozen=True)
class TiresiasMemory:
    """Per job known at the last decision: first start (seconds), service and run and wait times written off by promotions."""

    ids: tuple[int, ...] = ()
    first: tuple[float, ...] = ()
    forgiven: tuple[float, ...] = ()
    since: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TiresiasLas:
    """Tiresias with 2D-LAS: queues by attained GPU-seconds, first started first inside.

    Parameters
    ----------
    thresholds
        GPU-seconds at which a job falls to the next queue, rising.
    starvation
        Waiting time over run time at which a job returns to queue 0; 0: never.
    placement
        See :class:`~hetopt.solvers.online.rounds.policies.placing.Placement`.
    """

    name: ClassVar[str] = "tiresias-las"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.NONE

    thresholds: tuple[float, ...] = (3250.0, 7200.0)
    starvation: float = 0.0
    placement: Placement = Placement.BLIND

    def __post_init__(self) -> None:
        object.__setattr__(self, "placement", placement_of(self.placement))
        object.__setattr__(self, "thresholds", tuple(float(t) for t in self.thresholds))
        rising = all(a < b for a, b in zip(self.thresholds, self.thresholds[1:], strict=False))
        if not rising or not all(0 < t < float("inf") for t in self.thresholds):
            raise UsageError(f"thresholds {self.thresholds}: rising numbers > 0")
        if not 0 <= self.starvation < float("inf"):
            raise UsageError(f"starvation {self.starvation}: a finite number >= 0")

    def decide(self, state: RoundState, memory: TiresiasMemory | None) -> tuple[Ints, TiresiasMemory]:
        """Queue by queue."""
        old = memory or TiresiasMemory()
        place_of = {i: p for p, i in enumerate(old.ids)}
        places = [place_of.get(i) for i in state.ids.tolist()]
        first = np.array([np.inf if p is None else old.first[p] for p in places])
        forgiven = np.array([0.0 if p is None else old.forgiven[p] for p in places])
        since = np.array(
            [a if p is None else old.since[p] for p, a in zip(places, state.arrival.tolist(), strict=True)]
        )
        service = state.attained - forgiven
        if self.starvation > 0:
            ran = service / state.demand
            waited = (state.now - since) - ran
            starving = (state.current < 0) & (ran > 0) & (waited >= self.starvation * ran)
            forgiven = np.where(starving, state.attained, forgiven)
            since = np.where(starving, state.now, since)
            service = state.attained - forgiven
        queue = np.searchsorted(np.array(self.thresholds), service, side="right")
        order = np.lexsort((np.arange(len(state)), state.arrival, self._key(state, service, first), queue))
        chosen = place(state, order.astype(np.int64), self.placement)
        first = np.where((chosen >= 0) & np.isinf(first), state.now, first)
        following = TiresiasMemory(
            tuple(state.ids.tolist()), tuple(first.tolist()), tuple(forgiven.tolist()), tuple(since.tolist())
        )
        return chosen, following

    def _key(self, state: RoundState, service: Floats, first: Floats) -> Floats:
        return first


@dataclass(frozen=True, kw_only=True)
class TiresiasGittins(TiresiasLas):
    """Tiresias with the Gittins index inside queues.

    Parameters
    ----------
    sizes
        A sample of job sizes in GPU-seconds; empty: the jobs that have finished.
    quantum
        Delta, GPU-seconds.
    variant
        See :class:`GittinsVariant`.
    """

    name: ClassVar[str] = "tiresias-gittins"

    sizes: tuple[float, ...] = ()
    quantum: float = 3250.0
    variant: GittinsVariant = GittinsVariant.TEXTBOOK

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "sizes", tuple(float(s) for s in self.sizes))
        if not 0 < self.quantum < float("inf"):
            raise UsageError(f"quantum {self.quantum}: a finite number > 0")
        try:
            object.__setattr__(self, "variant", GittinsVariant(self.variant))
        except ValueError:
            raise UsageError(f"variant {self.variant!r}: one of {', '.join(GittinsVariant)}") from None

    def _key(self, state: RoundState, service: Floats, first: Floats) -> Floats:
        sizes = np.array(self.sizes) if self.sizes else state.finished_service
        if not len(sizes):
            return first
        return -gittins_index(service, sizes, self.quantum, self.variant)
