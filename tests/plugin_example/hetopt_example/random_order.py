"""Jobs one after the other in the best of some random orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.schedule import Schedule
from hetopt.core.seeds import generator
from hetopt.core.solver import Limits, Observer, Outcome
from hetopt.core.status import Capability, Objective, SolverKind, Status, StopReason


@dataclass(frozen=True)
class RandomOrder:
    """Guarantee: none known.  O(tries x tasks x GPUs)."""

    tries: int = 10

    name: ClassVar[str] = "random-order"
    kind: ClassVar[SolverKind] = SolverKind.HEURISTIC
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.HEURISTIC, Capability.DETERMINISTIC})
    objectives: ClassVar[frozenset[Objective]] = frozenset(Objective)

    def __post_init__(self) -> None:
        if isinstance(self.tries, bool) or not isinstance(self.tries, int) or self.tries < 1:
            raise ValueError(f"tries is {self.tries!r}; a whole number >= 1 is needed")

    def solve(
        self, problem: Instance, *, objective: Objective, limits: Limits, seed: int, observer: Observer, **_: Any
    ) -> Outcome:
        random = generator(seed, "random-order")
        best: tuple[int, Schedule] | None = None
        for _try in range(self.tries):
            schedule = in_order(problem, random.permutation(problem.num_jobs))
            value = evaluate(problem, schedule, objective)
            if best is None or value < best[0]:
                best = value, schedule
                observer.record(incumbent=value, schedule=schedule)
            if observer.stop_requested():
                break
        assert best is not None
        return Outcome(Status.FEASIBLE, StopReason.EXHAUSTED, schedule=best[1], claimed=best[0], work=self.tries)


def in_order(instance: Instance, order: Any) -> Schedule:
    """Jobs in the order given, each task on the GPU that ends it first."""
    a = instance.arrays
    free = np.zeros(a.num_gpus, dtype=np.int64)
    gpu, start = np.zeros(a.num_tasks, dtype=np.int64), np.zeros(a.num_tasks, dtype=np.int64)
    for job in order:
        ready = a.release_date[job]
        for r in range(a.round_start[job], a.round_start[job + 1]):
            synchronised = ready
            for task in range(a.task_start[r], a.task_start[r + 1]):
                begin = np.maximum(free, ready)
                far = np.iinfo(np.int64).max
                end = np.where(a.allowed[r, a.gpu_type], begin + a.processing_time[r, a.gpu_type], far)
                g = int(end.argmin())
                gpu[task], start[task], free[g] = g, begin[g], end[g]
                synchronised = max(synchronised, end[g] + a.sync_time[r, a.gpu_type[g]])
            ready = synchronised
    return Schedule.from_starts(instance, gpu, start)
