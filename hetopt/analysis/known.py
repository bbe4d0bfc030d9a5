"""Best known values of shipped instances, looked up by fingerprint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hetopt.core.instance import Instance
from hetopt.core.objectives import offset
from hetopt.core.status import Objective, Trust
from hetopt.instances import library

__all__ = ["BestKnown", "best_known"]


@dataclass(frozen=True)
class BestKnown:
    """What somebody found before; ``None`` is unknown, and every number says where it came from."""

    lower_bound: int | None = None
    lower_source: str = ""
    trust: Trust | None = None
    objective: int | None = None
    objective_source: str = ""


_TRUST: Final = {"published": Trust.REPORTED, "solver": Trust.REPORTED, "certificate": Trust.DERIVED}
"""A certificate counts as VERIFIED only where it is checked, which is not here; a proof by hand has no word of its own."""


def best_known(instance: Instance, objective: Objective) -> BestKnown | None:
    """The library's entry for the instance, found by its fingerprint; None when it has none for this objective.

    The library holds total weighted completion times; weighted flow times differ by a constant.
    """
    entry = library.by_fingerprint(instance.fingerprint)
    if entry is None or objective is Objective.MAKESPAN or (entry.lower is None and entry.upper is None):
        return None
    shift = offset(instance, objective)
    lower, upper = entry.lower, entry.upper
    return BestKnown(
        lower_bound=None if lower is None else lower.value + shift,
        lower_source="" if lower is None else f"{entry.name}, {lower.source}",
        trust=None if lower is None else _TRUST.get(lower.trust),
        objective=None if upper is None else upper.value + shift,
        objective_source="" if upper is None else f"{entry.name}, {upper.source}",
    )
