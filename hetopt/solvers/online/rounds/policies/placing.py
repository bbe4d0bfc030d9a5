"""Jobs in an order of precedence onto types: the placement of policies that rank jobs."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import UsageError
from hetopt.solvers.online.rounds.state import RoundState

__all__ = ["Placement", "place", "placement_of"]

Ints = NDArray[np.int64]


class Placement(StrEnum):
    """Which type a ranked job takes among those with room.

    ``fastest``: that of its largest throughput.  ``blind``: the one that it ran on, else that with the
    most free GPUs (first in the cluster's order on ties): what a policy that knows one kind of GPU does.
    """

    FASTEST = "fastest"
    BLIND = "blind"


def placement_of(value: Placement | str) -> Placement:
    """A checked placement."""
    try:
        return Placement(value)
    except ValueError:
        raise UsageError(f"placement {value!r}: one of {', '.join(Placement)}") from None


def place(state: RoundState, order: Ints, placement: Placement, *, blocking: bool = False) -> Ints:
    """Types of the jobs, served in ``order``; a job that fits nowhere is passed over (or ends the round: ``blocking``)."""
    chosen = np.full(len(state), -1, dtype=np.int64)
    left = state.count.copy()
    smallest = int(state.demand.min()) if len(state) else 0
    for j in order.tolist():
        if int(left.max()) < smallest:
            break
        fits = (state.rate[j] > 0) & (left >= state.demand[j])
        if not fits.any():
            if blocking:
                break
            continue
        if placement is Placement.FASTEST:
            k = int(np.argmax(np.where(fits, state.rate[j], -1.0)))
        elif state.current[j] >= 0 and fits[state.current[j]]:
            k = int(state.current[j])
        else:
            k = int(np.argmax(np.where(fits, left, -1)))
        chosen[j] = k
        left[k] -= state.demand[j]
    return chosen
