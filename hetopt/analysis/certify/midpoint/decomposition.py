"""Lemmas 1 and 2: where the time before a task's start went.

Call a task *chain-driven* if it starts the moment it is ready and *machine-driven* if it starts
later.  Before the start of any task j the time splits into

* full times G, at which all GPUs work on tasks listed before j;
* pieces tau of a path of tasks, each a predecessor (one round earlier) of the next;
* the release date A of the job where the path begins, if it reaches a first round.

The path comes in blocks.  A block ends at a *target* and goes back to a *head* (machine-driven) or
a *root* (chain-driven, first round); before a head comes a full time, which reaches back to the
last idle moment L of some GPU; the task that ended that idle period is chain-driven (Lemma 1) and
its chain is the next block, cut at L.  The cut is needed: the idle period may straddle the head's
start, so that the target starts after L.

Where types are forbidden, "GPU" in Lemma 1 means a GPU that the head may use, and a head that
starts at or after L has an empty path; the full time counted is then only what lies before L.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from hetopt.analysis.certify.midpoint.lists import TaskSchedule, ready_times, synchronised, trained
from hetopt.analysis.certify.midpoint.tasks import TaskProblem

__all__ = ["Block", "BrokenDecomposition", "Decomposition", "Idle", "ListSchedule", "Piece"]


class BrokenDecomposition(ValueError):
    """The schedule is not one that a placement rule makes: the procedure cannot go on."""


@dataclass(frozen=True)
class Piece:
    """A path task: what is counted of it (``tau``, units) and the fraction ``lam`` of its training."""

    task: int
    tau: int
    lam: Fraction


@dataclass(frozen=True)
class Idle:
    """Lemma 1 for a machine-driven task: the last idle moment before its start, where, and who ended it."""

    until: int
    gpu: int
    ended_by: int


@dataclass(frozen=True)
class Block:
    """One block: path pieces in order of time, its head or root, its target, and the cut L.

    ``full`` is the full time right before the head, (from, to) in units; None for a root.
    """

    first: int
    target: int
    entered_at: int
    cut: int
    is_root: bool
    path: tuple[Piece, ...]
    full: tuple[int, int] | None
    idle: Idle | None


@dataclass(frozen=True)
class Decomposition:
    """The blocks of task j, latest first, and A."""

    task: int
    blocks: tuple[Block, ...]
    release: int

    @cached_property
    def full(self) -> int:
        """G, units."""
        return sum(b.full[1] - b.full[0] for b in self.blocks if b.full is not None)

    @cached_property
    def path(self) -> tuple[Piece, ...]:
        """All path pieces, latest block first."""
        return tuple(piece for block in self.blocks for piece in block.path)

    @cached_property
    def heads(self) -> frozenset[int]:
        """Path tasks that are machine-driven heads."""
        return frozenset(b.first for b in self.blocks if not b.is_root and b.path)


class ListSchedule:
    """A schedule with the list that made it, ready for Lemmas 1 and 2.

    Parameters
    ----------
    problem, schedule
        Data and schedule.
    order : (T,)
        The list.
    """

    def __init__(self, problem: TaskProblem, schedule: TaskSchedule, order: Sequence[int]) -> None:
        self.problem, self.schedule, self.order = problem, schedule, tuple(order)
        self.ready = ready_times(problem, schedule)
        self.position = [0] * problem.num_tasks
        for place, i in enumerate(self.order):
            self.position[i] = place
        self.end = tuple(trained(problem, schedule, i) for i in range(problem.num_tasks))
        self.synced = tuple(synchronised(problem, schedule, i) for i in range(problem.num_tasks))
        self.on_gpu: list[list[int]] = [[] for _ in range(problem.num_gpus)]
        for i in sorted(self.order, key=lambda i: schedule.start[i]):
            self.on_gpu[schedule.gpu[i]].append(i)
        self._idle: dict[int, Idle | None] = {}

    def chain_driven(self, i: int) -> bool:
        """S_i = R_i."""
        return self.schedule.start[i] == self.ready[i]

    def is_root(self, i: int) -> bool:
        """Chain-driven and of a first round."""
        return self.problem.round[i] == 0 and self.chain_driven(i)

    def pred(self, i: int) -> int:
        """A task of the round before i's that synchronises when i starts."""
        tasks = self.problem.rounds[self.problem.job[i]][self.problem.round[i] - 1]
        return next(k for k in tasks if self.synced[k] == self.ready[i])

    def idle_before(self, v: int) -> Idle | None:
        """Lemma 1: the supremum of idle times before S_v on GPUs that v may use, among tasks listed before v.

        Raises
        ------
        BrokenDecomposition
            Nothing listed before v starts on that GPU afterwards.
        """
        if v not in self._idle:
            self._idle[v] = self._find_idle(v)
        return self._idle[v]

    def _find_idle(self, v: int) -> Idle | None:
        start, place = self.schedule.start, self.position[v]
        best: tuple[int, int] | None = None
        for m in self.problem.eligible[v]:
            until = start[v]
            for i in reversed(self.on_gpu[m]):
                if self.position[i] < place and start[i] < until:
                    if self.end[i] < until:
                        break
                    until = start[i]
            if until > 0 and (best is None or until > best[0]):
                best = (until, m)
                if until == start[v]:
                    break
        if best is None:
            return None
        until, m = best
        later = [i for i in self.on_gpu[m] if self.position[i] < place and start[i] >= until]
        if not later:
            raise BrokenDecomposition(
                f"{self.problem.name(v)} waits although GPU {m} is idle until tick {self.problem.text(until)} and stays so"
            )
        return Idle(until, m, min(later, key=lambda i: self.position[i]))

    def decompose(self, j: int) -> Decomposition:
        """Lemma 2 for task j.

        Raises
        ------
        BrokenDecomposition
            See :meth:`idle_before`; or the procedure does not move forward in the list.
        """
        start = self.schedule.start
        blocks: list[Block] = []
        x, limit, release = j, start[j], 0
        while True:
            chain = [x]
            while self.chain_driven(chain[-1]) and not self.is_root(chain[-1]):
                chain.append(self.pred(chain[-1]))
            chain.reverse()
            h = next((t for t, c in enumerate(chain) if start[c] >= limit), None)
            if h is None:
                raise BrokenDecomposition(
                    f"{self.problem.name(x)} starts before the idle period that it should have ended"
                )
            path = []
            for t in range(h):
                tau = min(limit, start[chain[t + 1]]) - start[chain[t]]
                trains = self.end[chain[t]] - start[chain[t]]
                path.append(Piece(chain[t], tau, min(Fraction(1), Fraction(tau, trains))))
            first = chain[0]
            if self.is_root(first):
                release = min(self.problem.release[self.problem.job[first]], limit)
                blocks.append(Block(first, chain[h], x, limit, True, tuple(path), None, None))
                break
            idle = self.idle_before(first)
            top = min(start[first], limit)
            bottom = 0 if idle is None else min(idle.until, top)
            blocks.append(Block(first, chain[h], x, limit, False, tuple(path), (bottom, top), idle))
            if idle is None:
                break
            if self.position[idle.ended_by] >= self.position[first]:
                raise BrokenDecomposition(f"the list does not move back before {self.problem.name(first)}")
            x, limit = idle.ended_by, bottom
        return Decomposition(j, tuple(blocks), release)
