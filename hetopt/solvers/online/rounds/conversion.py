r"""From shares of time to rounds: the conversion of Gavel (Narayanan et al., OSDI 2020, Section 5), our reading of it.

A *share rule* gives x_ij, the share of time that job i should run on type j.  Per type,
f_ij is the job's part of all time run there since the last reset, in which every job
is charged half a round in advance; jobs are served by falling priority x_ij / f_ij (then by the deficit of
time owed from before the last reset, then by x_ij, then by arrival), type by type in the order
of the cluster; a job that does not fit is passed over, and a job runs on one type.  Shares are
computed anew when jobs have come or gone and at least ``reset_seconds`` have passed (or the last
reset was at time 0).

Guarantee: over a long time without arrivals the time received approaches the shares (as far as
whole jobs fit); none is known for one round.  Complexity: O(n K log n) a round.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import UsageError
from hetopt.core.seeds import generator
from hetopt.solvers.online.rounds.state import Clairvoyance, RoundState

__all__ = ["Randomness", "ShareMemory", "SharePolicy", "serve"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Randomness(StrEnum):
    """Source of random orders: ours (a generator per round), or one Mersenne twister that runs through the simulation."""

    HETOPT = "hetopt"
    STREAM = "stream"


@dataclass(frozen=True)
class ShareMemory:
    """What the conversion remembers between rounds; arrays over the jobs known at the last decision.

    ``base`` (n, K) and ``type_base`` (K,) are the run times at the last reset; ``counted`` jobs were
    there at that reset; ``extra`` belongs to the share rule, ``stream`` to the random order.
    """

    ids: Ints
    shares: Floats
    has_share: NDArray[np.bool_]
    base: Floats
    type_base: Floats
    counted: int
    deficit: Floats
    last_reset: float
    stale: bool
    extra: Any = None
    stream: Any = None


def serve(state: RoundState, order: list[int], ranking: list[Ints]) -> Ints:
    """Serve types in ``order``; on each, jobs of its ranking in turn if they fit and do not run yet."""
    chosen = np.full(len(state), -1, dtype=np.int64)
    for k in order:
        left = int(state.count[k])
        for j in ranking[k].tolist():
            if left == 0:
                break
            need = int(state.demand[j])
            if chosen[j] < 0 and need <= left and state.rate[j, k] > 0:
                chosen[j] = k
                left -= need
    return chosen


class ShareRule(Protocol):
    """Shares of time from a state, with memory of its own (None at first)."""

    def shares(self, state: RoundState, memory: Any) -> tuple[Floats, Any]:
        """x, (n, K) float64, >= 0, and the rule's next memory."""


@dataclass(frozen=True, kw_only=True)
class SharePolicy:
    """Base of the policies that give shares of time; subclasses define ``shares``.

    Parameters
    ----------
    reset_seconds
        Least time between two computations of the shares; 0: whenever jobs come or go.
    randomness
        Source of random orders.
    """

    name: ClassVar[str]
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.NONE
    random_order: ClassVar[bool] = False
    """Whether types are visited in a new random order each round (policies blind to types)."""
    only_shared: ClassVar[bool] = False
    """Whether jobs with a share of 0 on a type may not run there even if it would be idle."""

    reset_seconds: float = 1920.0
    randomness: Randomness = field(default=Randomness.HETOPT)

    def __post_init__(self) -> None:
        if not 0 <= self.reset_seconds < float("inf"):
            raise UsageError(f"reset_seconds {self.reset_seconds}: a finite number of seconds >= 0")
        try:
            object.__setattr__(self, "randomness", Randomness(self.randomness))
        except ValueError:
            raise UsageError(f"randomness {self.randomness!r}: one of {', '.join(Randomness)}") from None

    def shares(self, state: RoundState, memory: Any) -> tuple[Floats, Any]:
        """See :class:`ShareRule`."""
        raise TypeError(f"{type(self).__name__} defines no shares")

    def decide(self, state: RoundState, memory: ShareMemory | None) -> tuple[Ints, ShareMemory]:
        """Serve jobs by what they are owed; see the module."""
        memory = self._updated(state, memory)
        chosen, stream = self._served(state, memory)
        memory = _with(memory, stream=stream)
        if memory.stale and (chosen < 0).all():  # nothing would run, so new shares cannot wait
            memory = self._updated(state, memory, at_once=True)
            chosen, stream = self._served(state, memory)
            memory = _with(memory, stream=stream)
        return chosen, memory

    def _served(self, state: RoundState, memory: ShareMemory) -> tuple[Ints, Any]:
        """The jobs that run, and the next state of the random stream."""
        fraction = (0.5 * state.round_seconds + state.run_time - memory.base) / np.maximum(
            memory.counted * 0.5 * state.round_seconds + state.type_run_time - memory.type_base, 1e-300
        )
        x = memory.shares
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            priority = np.where(x > 0, np.where(fraction > 0, x / fraction, 1e9 * x), 0.0)
        priority = np.where(memory.has_share[:, None] & (state.rate > 0), priority, 0.0)
        ranking = []
        for k in range(len(state.count)):
            ranked = np.lexsort((-x[:, k], -memory.deficit[:, k], -priority[:, k]))
            if self.only_shared:
                ranked = ranked[priority[ranked, k] > 0]
            ranking.append(ranked.astype(np.int64))
        order, stream = self._type_order(state, memory.stream)
        return serve(state, order, ranking), stream

    def _type_order(self, state: RoundState, stream: Any) -> tuple[list[int], Any]:
        order = list(range(len(state.count)))
        if not self.random_order:
            return order, stream
        if self.randomness is Randomness.HETOPT:
            drawn = generator(state.seed, self.name, "type order", str(state.round)).permutation(len(order))
            return [int(k) for k in drawn], stream
        twister = random.Random()
        if stream is None:
            twister.seed(state.seed + 5)
        else:
            twister.setstate(stream)
        twister.shuffle(order)
        return order, twister.getstate()

    def _updated(self, state: RoundState, old: ShareMemory | None, *, at_once: bool = False) -> ShareMemory:
        """Jobs that came and went; a reset where one is due."""
        n, kinds = state.rate.shape
        zeros = np.zeros((n, kinds))
        if old is None:
            memory = ShareMemory(
                state.ids, zeros, np.zeros(n, dtype=np.bool_), zeros, np.zeros(kinds), 0, zeros, 0.0, True
            )
        elif np.array_equal(old.ids, state.ids):
            memory = old
        else:
            where = {int(i): p for p, i in enumerate(old.ids.tolist())}
            place = np.array([where.get(i, len(old.ids)) for i in state.ids.tolist()], dtype=np.int64)

            def kept(values: Any) -> Any:
                return np.concatenate([values, np.zeros((1, *values.shape[1:]), dtype=values.dtype)])[place]

            memory = _with(
                old,
                ids=state.ids,
                shares=kept(old.shares),
                has_share=kept(old.has_share),
                base=kept(old.base),
                deficit=kept(old.deficit),
                stale=True,
            )
        elapsed = state.now - memory.last_reset
        due = at_once or elapsed >= self.reset_seconds or memory.last_reset == 0.0
        if not (memory.stale and due):
            return memory
        owed = np.where(memory.has_share[:, None], memory.shares, 0.0) * elapsed
        x, extra = self.shares(state, memory.extra)
        return _with(
            memory,
            deficit=memory.deficit + owed - (state.run_time - memory.base),
            base=state.run_time,
            type_base=state.type_run_time,
            counted=n,
            shares=np.clip(np.where(state.rate > 0, x, 0.0), 0.0, 1.0),
            has_share=np.ones(n, dtype=np.bool_),
            last_reset=state.now,
            stale=False,
            extra=extra,
        )


def _with(memory: ShareMemory, **changes: Any) -> ShareMemory:
    from dataclasses import replace

    for value in changes.values():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    return replace(memory, **changes)
