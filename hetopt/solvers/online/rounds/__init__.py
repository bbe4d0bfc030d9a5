"""The round-based simulator (``engine``), what policies see (``state``), and the policies (``policies``)."""

from __future__ import annotations

from hetopt.solvers.online.rounds.engine import RoundProgress, simulate_rounds
from hetopt.solvers.online.rounds.setting import RoundSetting, Unrunnable
from hetopt.solvers.online.rounds.state import ActiveJob, Clairvoyance, PeekError, RoundPolicy, RoundState

__all__ = [
    "ActiveJob",
    "Clairvoyance",
    "PeekError",
    "RoundPolicy",
    "RoundProgress",
    "RoundSetting",
    "RoundState",
    "Unrunnable",
    "simulate_rounds",
]
