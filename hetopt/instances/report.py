"""What a loader read, kept and dropped, and what rounding did: the report beside every loaded instance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from hetopt.core.instance import Instance
from hetopt.core.workload import Workload
from hetopt.instances.rounding import RoundingReport

__all__ = ["Dropped", "LoadReport", "Loaded", "LoadedWorkload"]


@dataclass(frozen=True)
class Dropped:
    """One row that was left out: where it stood, the kind of reason, and the reason in words."""

    where: str
    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}: {self.detail}"


@dataclass(frozen=True)
class LoadReport:
    """What happened to the rows of a source.

    Attributes
    ----------
    rows
        Rows read (blank lines do not count).
    kept
        Rows that became jobs.
    dropped
        Rows left out, in order; ``rows == kept + len(dropped)``.
    rounding
        What rounding did, once ticks were chosen.
    notes
        Anything else that a reader should know, one sentence each.
    """

    rows: int
    kept: int
    dropped: tuple[Dropped, ...] = ()
    rounding: RoundingReport | None = None
    notes: tuple[str, ...] = ()

    @property
    def reasons(self) -> Mapping[str, int]:
        """Rows dropped by kind of reason, in alphabetical order."""
        return dict(sorted(Counter(d.reason for d in self.dropped).items()))

    def __str__(self) -> str:
        parts = [f"{self.kept} of {self.rows} rows became jobs"]
        if self.dropped:
            parts.append("dropped: " + ", ".join(f"{count} {reason}" for reason, count in self.reasons.items()))
        if self.rounding is not None:
            parts.append(str(self.rounding))
        return "; ".join((*parts, *self.notes))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "rows": self.rows,
            "kept": self.kept,
            "reasons": dict(self.reasons),
            "dropped": [{"where": d.where, "reason": d.reason, "detail": d.detail} for d in self.dropped],
            "rounding": None if self.rounding is None else self.rounding.to_dict(),
            "notes": list(self.notes),
        }


class Loaded(NamedTuple):
    """An instance and the report of how it was made."""

    instance: Instance
    report: LoadReport


class LoadedWorkload(NamedTuple):
    """A workload and the report of how it was read."""

    workload: Workload
    report: LoadReport
