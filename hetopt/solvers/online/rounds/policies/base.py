"""Base of the share policies whose linear programme has many optimal answers."""

from __future__ import annotations

from dataclasses import dataclass

from hetopt.core.errors import UsageError
from hetopt.solvers.online.rounds.conversion import SharePolicy
from hetopt.solvers.online.rounds.policies.linear import TieBreak

__all__ = ["TieBreakPolicy"]


@dataclass(frozen=True, kw_only=True)
class TieBreakPolicy(SharePolicy):
    """A share policy with a choice among optimal shares.

    Parameters
    ----------
    tie_break
        See :class:`~hetopt.solvers.online.rounds.policies.linear.TieBreak`.
    """

    tie_break: TieBreak = TieBreak.CENTRE

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            object.__setattr__(self, "tie_break", TieBreak(self.tie_break))
        except ValueError:
            raise UsageError(f"tie_break {self.tie_break!r}: one of {', '.join(TieBreak)}") from None
