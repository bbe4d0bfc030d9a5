"""Small workloads and policies for the tests of the round-based simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hetopt.core.seeds import generator
from hetopt.core.workload import TrainingJob, Workload
from hetopt.solvers.online.rounds import Clairvoyance, RoundState


def job(name: str, work: float, rates: Sequence[float | None], *, arrival: float = 0.0, demand: int = 1, **more: Any):
    return TrainingJob(name, arrival, work, demand, tuple(rates), **more)


def make(*jobs: TrainingJob, kinds: Sequence[str] = ("A", "B")) -> Workload:
    return Workload("made", tuple(kinds), tuple(jobs), "step")


def random_workload(seed: int, jobs: int = 14, *, spread: float = 2000.0) -> Workload:
    draw = generator(seed, "round tests")
    made = []
    for j in range(jobs):
        rates: list[float | None] = [float(v) for v in draw.uniform(0.2, 4.0, 3)]
        if draw.random() < 0.3:
            rates[int(draw.integers(3))] = None
        made.append(
            job(
                f"j{j}", float(draw.uniform(10, 3000)), rates, arrival=float(draw.uniform(0, spread)),
                demand=int(draw.choice([1, 1, 2, 3])), weight=float(draw.integers(1, 4)),
            )
        )  # fmt: skip
    return make(*made, kinds=("A", "B", "C"))


@dataclass(frozen=True)
class Script:
    """Plays given allocations (job names to types), the last one for ever; other jobs wait."""

    name: ClassVar[str] = "script"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.NONE

    steps: tuple[dict[str, int], ...] = ({},)

    def decide(self, state: RoundState, memory: Any) -> tuple[Any, Any]:
        wish = self.steps[min(state.round, len(self.steps) - 1)]
        return np.array([wish.get(name, -1) for name in state.names], dtype=np.int64), memory
