"""Best known values of shipped instances, looked up by fingerprint."""

from __future__ import annotations

from dataclasses import dataclass

from hetopt.core.instance import Instance
from hetopt.core.status import Objective, Trust

__all__ = ["BestKnown", "best_known"]


@dataclass(frozen=True)
class BestKnown:
    """What somebody found before; ``None`` is unknown, and every number says where it came from."""

    lower_bound: int | None = None
    lower_source: str = ""
    trust: Trust | None = None
    objective: int | None = None
    objective_source: str = ""


def best_known(instance: Instance, objective: Objective) -> BestKnown | None:
    """The library's entry for the instance, or None when the library does not have it (under this objective)."""
    return None
