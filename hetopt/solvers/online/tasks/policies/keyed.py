"""Policies by keys: the ready job of least key goes next, on a free GPU that it may use.

Whenever a GPU is free, jobs whose present round has tasks left are looked at in order of their
keys (ties by job), and the first that may use a free GPU gets one; a job that may use none is passed over (our reading:
no GPU idles while a ready task may use it).  Under gang scheduling a job goes when as many GPUs are free as its
round has tasks; with ``backfill`` later jobs may overtake one that does not fit, without it they wait.

* ``fifo``: (release date, job).  Knows no sizes.
* ``srtf``: remaining work, the sum of scale x least p over the rounds that have not ended.  Knows sizes.
* ``wspt``: remaining work over weight.  Knows sizes.

The GPU is the one of least p + s, lowest index on ties: relaxed, these three make exactly the schedules of the
offline rules of the same names (:mod:`hetopt.solvers.heuristics.event_rules`), which know no future either.

Guarantee: none known on heterogeneous GPUs.  Complexity: O(n) a start for n ready jobs, in practice O(log n).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from hetopt.solvers.online.rounds.state import Clairvoyance
from hetopt.solvers.online.tasks.setting import GangTypes
from hetopt.solvers.online.tasks.view import Agent, ClusterView, JobView, Start, allowed_free

__all__ = ["Fifo", "FifoGang", "KeyAgent", "Srtf", "SrtfGang", "Wspt", "WsptGang"]

Key = tuple[Any, ...]


def gang_gpus(view: ClusterView, job: JobView, preferred: list[int]) -> tuple[int, ...] | None:
    """GPUs for the tasks of a round, in order of preference; None: they do not fit."""
    need = job.scale
    if view.gang_types is GangTypes.ONE:
        for k in preferred:
            if len(view.free[k]) >= need:
                return tuple(view.free[k][:need])
        return None
    chosen: list[int] = []
    for k in preferred:
        chosen.extend(view.free[k][: need - len(chosen)])
        if len(chosen) == need:
            return tuple(chosen)
    return None


class KeyAgent(Agent):
    """Keeps ready jobs in order of key; subclasses define ``key``.

    Parameters
    ----------
    gang
        Whether rounds start all at once.
    backfill
        Whether a gang may overtake one that does not fit.
    """

    def __init__(self, gang: bool, backfill: bool) -> None:
        self.gang, self.backfill = gang, backfill
        self.waiting: list[Key] = []
        self.entry: dict[int, Key] = {}

    def key(self, job: JobView) -> Key:
        """What orders the jobs; the job's index follows as the last tie."""
        raise TypeError(f"{type(self).__name__} defines no key")

    def choice(self, view: ClusterView, job: JobView) -> int | None:
        """The free GPU for a task, or None."""
        return allowed_free(view, job.preferred)

    def types(self, job: JobView) -> list[int]:
        """Types in the order in which a gang takes them."""
        return job.preferred

    def _drop(self, n: int) -> None:
        old = self.entry.pop(n, None)
        if old is not None:
            del self.waiting[bisect_left(self.waiting, old)]

    def _put(self, job: JobView) -> None:
        self._drop(job.index)
        entry = (*self.key(job), job.index)
        self.entry[job.index] = entry
        insort(self.waiting, entry)

    def rekey(self, job: JobView) -> None:
        """The job's key may have changed; nothing happens if it does not wait."""
        if job.index in self.entry:
            self._drop(job.index)
            self._put(job)

    def ready(self, job: JobView) -> None:
        """See :class:`Agent`."""
        self._put(job)

    def finished(self, job: int) -> None:
        """See :class:`Agent`."""
        self._drop(job)

    def next_start(self, view: ClusterView) -> Start | None:
        """See :class:`Agent`."""
        while self.waiting and not view.unstarted(self.waiting[0][-1]):
            self._drop(self.waiting[0][-1])
        stale: list[int] = []
        found: Start | None = None
        for entry in self.waiting:
            n = entry[-1]
            if not view.unstarted(n):
                stale.append(n)
                continue
            job = view.jobs[n]
            if self.gang:
                gpus = gang_gpus(view, job, self.types(job))
                if gpus is not None:
                    found = Start(n, gpus)
                    break
                if not self.backfill:
                    break
            else:
                gpu = self.choice(view, job)
                if gpu is not None:
                    found = Start(n, (gpu,))
                    break
        for n in stale:
            self._drop(n)
        return found


class _FifoAgent(KeyAgent):
    def key(self, job: JobView) -> Key:
        return (job.arrival,)


class _SrtfAgent(KeyAgent):
    def key(self, job: JobView) -> Key:
        return (job.remaining_work,)


class _WsptAgent(KeyAgent):
    def key(self, job: JobView) -> Key:
        return (Fraction(job.remaining_work, job.weight),)


@dataclass(frozen=True)
class _Keyed:
    """Base of the fixed-key policies.

    Parameters
    ----------
    backfill
        Under gang scheduling: whether a job may overtake one whose round does not fit.
    """

    gang: ClassVar[bool] = False
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.NONE
    agent: ClassVar[type[KeyAgent]]

    backfill: bool = True

    def begin(self, view: ClusterView) -> Agent:
        """See :class:`~hetopt.solvers.online.tasks.view.TaskPolicy`."""
        return self.agent(self.gang, self.backfill)


class Fifo(_Keyed):
    """First come, first served; see the module."""

    name: ClassVar[str] = "fifo"
    agent: ClassVar[type[KeyAgent]] = _FifoAgent


class FifoGang(Fifo):
    """``fifo`` with gang scheduling."""

    name: ClassVar[str] = "fifo-gang"
    gang: ClassVar[bool] = True


class Srtf(_Keyed):
    """Least remaining work first; see the module."""

    name: ClassVar[str] = "srtf"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.SIZES
    agent: ClassVar[type[KeyAgent]] = _SrtfAgent


class SrtfGang(Srtf):
    """``srtf`` with gang scheduling."""

    name: ClassVar[str] = "srtf-gang"
    gang: ClassVar[bool] = True


class Wspt(_Keyed):
    """Least remaining work per weight first; see the module."""

    name: ClassVar[str] = "wspt"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.SIZES
    agent: ClassVar[type[KeyAgent]] = _WsptAgent


class WsptGang(Wspt):
    """``wspt`` with gang scheduling."""

    name: ClassVar[str] = "wspt-gang"
    gang: ClassVar[bool] = True
