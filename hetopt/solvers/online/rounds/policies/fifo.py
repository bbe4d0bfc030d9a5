"""First in, first out as Gavel has it (Narayanan et al., OSDI 2020; our reading of its artefact).

Jobs queue by arrival.  Base: running jobs keep their type; the type of a finished job is first offered to the
head of the queue; then the head takes a random type with enough free GPUs, and so on until the head
fits nowhere (head-of-line blocking).  Perf: the whole queue is placed anew each time, every job on its
fastest type with enough free GPUs.  Both give shares of 0 and 1, turned into rounds like any others.
No guarantee known.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hetopt.core.seeds import generator
from hetopt.solvers.online.rounds.conversion import Randomness, SharePolicy
from hetopt.solvers.online.rounds.state import RoundState

__all__ = ["Fifo", "FifoMemory", "FifoPerf"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FifoMemory:
    """Type of each placed job, and the state of the random stream (``randomness="stream"``)."""

    placed: tuple[tuple[int, int, int], ...] = ()
    stream: Any = None


@dataclass(frozen=True, kw_only=True)
class Fifo(SharePolicy):
    """First in, first out on random types; running jobs are never moved."""

    name: ClassVar[str] = "gavel-fifo"
    random_order: ClassVar[bool] = True
    only_shared: ClassVar[bool] = True

    def shares(self, state: RoundState, memory: FifoMemory | None) -> tuple[Floats, FifoMemory]:
        """1 on the type of each placed job."""
        memory = memory or FifoMemory()
        here = {int(i): j for j, i in enumerate(state.ids.tolist())}
        left = state.count.copy()
        placed: dict[int, int] = {}
        known = {i for i, _, _ in memory.placed}
        queue = [j for j, i in enumerate(state.ids.tolist()) if i not in known]
        for i, k, _ in sorted(memory.placed):
            if i in here:
                placed[here[i]] = k
                left[k] -= state.demand[here[i]]
        for i, k, _ in sorted(memory.placed):  # what finished jobs leave goes to the head of the queue first
            if i not in here and queue:
                head = queue[0]
                if state.rate[head, k] > 0 and state.demand[head] <= left[k]:
                    placed[head] = k
                    left[k] -= state.demand[head]
                    queue.pop(0)
        draw, ending = self._drawer(state, memory.stream)
        by_name = sorted(range(len(left)), key=lambda k: state.gpu_types[k].lower())
        for j in queue:
            fits = [k for k in by_name if state.demand[j] <= left[k] and state.rate[j, k] > 0]
            if not fits:
                break
            k = fits[draw(len(fits))]
            placed[j] = k
            left[k] -= state.demand[j]
        x = np.zeros(state.rate.shape)
        for j, k in placed.items():
            x[j, k] = 1.0
        kept = tuple((int(state.ids[j]), k, int(state.demand[j])) for j, k in sorted(placed.items()))
        return x, FifoMemory(kept, ending())

    def _drawer(self, state: RoundState, stream: Any) -> tuple[Any, Any]:
        if self.randomness is Randomness.HETOPT:
            ours = generator(state.seed, self.name, "type", str(state.round))
            return lambda n: int(ours.integers(n)), lambda: None
        twister = random.Random()
        if stream is None:
            twister.seed(state.seed)
        else:
            twister.setstate(stream)
        return twister.randrange, twister.getstate


@dataclass(frozen=True, kw_only=True)
class FifoPerf(SharePolicy):
    """First in, first out, each job on its fastest type that has room; all are placed anew each time."""

    name: ClassVar[str] = "gavel-fifo-perf"
    only_shared: ClassVar[bool] = True

    def shares(self, state: RoundState, memory: Any) -> tuple[Floats, Any]:
        """1 on the type of each placed job."""
        left = state.count.copy()
        x = np.zeros(state.rate.shape)
        for j in range(len(state)):
            usable = np.where((left >= state.demand[j]) & (state.rate[j] > 0), state.rate[j], 0.0)
            if not usable.any():
                break
            k = int(np.argmax(usable))
            x[j, k] = 1.0
            left[k] -= state.demand[j]
        return x, None
