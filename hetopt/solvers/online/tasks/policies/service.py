r"""Least attained service, blind to GPU types (``las``) and aware of them (``hlas``).

``hlas``, heterogeneity-aware least attained service (Hare, IEEE TCC 2024; our reading of public
summaries): the job that has attained the least service goes next; service on a GPU counts by the
GPU's capability for that job; the task goes to the free GPU that serves the job best (least p + s).  No sizes are known.

What public material leaves open is a parameter:

* ``capability``: time t on a GPU of type k counts as :math:`t \cdot p_{ref} / p_k`, where :math:`p_{ref}` is the
  job's time on its ``best`` type (service in ticks of the best GPU: the default), its ``worst``, the
  ``mean`` over the GPUs that it may use, or :math:`p_k` itself (``none``: plain GPU time, as in LAS);
* ``charge``: when service is counted: at the ``start`` of a task with its profiled time (the default: it keeps one
  job from taking all free GPUs at one tick), at its ``end`` with the time it really took, or at the end of its ``round``;
* ``tie``: equal service goes by ``arrival`` and then job, or by ``job`` alone;
* ``placement``: the GPU that serves ``best``, or the ``first`` one (lowest index);
* ``queues``: thresholds in seconds of service; empty: continuous.  With thresholds, jobs are in queues
  by the thresholds that their service has reached, and inside a queue by arrival (as in Tiresias, NSDI 2019);
* ``weighted``: whether service is divided by the job's weight.

``hlas-queues`` is ``hlas`` with the thresholds 3250 s and 7200 s of the Tiresias simulator.

Guarantee: none known.  Without sizes no deterministic policy has a bounded ratio for the sum of flow times, even on one GPU
(Motwani, Phillips and Torng, *Nonclairvoyant scheduling*, Theor. Comput. Sci. 130, 1994).

Service is an integer, in thousandths of a tick, so runs do not depend on rounding.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar, Final

from hetopt.core.errors import UsageError, shown
from hetopt.solvers.online.rounds.state import Clairvoyance
from hetopt.solvers.online.tasks.policies.keyed import Key, KeyAgent
from hetopt.solvers.online.tasks.view import Agent, ClusterView, JobView

__all__ = ["UNIT", "CapabilityRule", "Charge", "Hlas", "HlasGang", "Las", "LasGang", "Placement", "Tie", "service_of"]

UNIT: Final = 1000
"""Parts of a tick in which service is counted."""


class CapabilityRule(StrEnum):
    """The reference time of the capability; see the module."""

    BEST = "best"
    WORST = "worst"
    MEAN = "mean"
    NONE = "none"


class Charge(StrEnum):
    """When service is counted; see the module."""

    START = "start"
    END = "end"
    ROUND = "round"


class Tie(StrEnum):
    """Order of jobs with equal service."""

    ARRIVAL = "arrival"
    JOB = "job"


class Placement(StrEnum):
    """Which free GPU a task takes."""

    BEST = "best"
    FIRST = "first"


def service_of(ticks: int, gpu_type: int, processing: list[int], counts: list[int], rule: CapabilityRule) -> int:
    """Service of ``ticks`` on a type, in parts of a tick, rounded down.

    Parameters
    ----------
    ticks
        Time trained.
    gpu_type
        Where.
    processing
        The job's profiled time per type, 0 where it cannot run.
    counts
        GPUs per type.
    rule
        The reference.
    """
    if rule is CapabilityRule.NONE:
        return ticks * UNIT
    if rule is CapabilityRule.MEAN:
        gpus = sum(c for c, p in zip(counts, processing, strict=True) if p)
        total = sum(c * p for c, p in zip(counts, processing, strict=True) if p)
        return ticks * total * UNIT // (gpus * processing[gpu_type])
    able = [p for p in processing if p]
    reference = min(able) if rule is CapabilityRule.BEST else max(able)
    return ticks * reference * UNIT // processing[gpu_type]


class _ServiceAgent(KeyAgent):
    def __init__(self, policy: Hlas, view: ClusterView) -> None:
        super().__init__(policy.gang, policy.backfill)
        self.policy, self.gpu_type = policy, view.gpu_type
        self.view = view
        self.counts = [count for _, count in view.gpu_types]
        self.limits = policy.limits(view.tick_seconds)
        self.service: dict[int, int] = {}
        self.pending: dict[int, int] = {}  # counted at the end of the round
        self.present: dict[int, list[int]] = {}  # profiled times of the round that runs

    def key(self, job: JobView) -> Key:
        service = self.service[job.index]
        if self.policy.weighted:
            service //= job.weight
        if self.limits:
            return (bisect_right(self.limits, service), job.arrival)
        return (service, job.arrival) if self.policy.tie is Tie.ARRIVAL else (service,)

    def types(self, job: JobView) -> list[int]:
        if self.policy.placement is Placement.BEST:
            return job.preferred
        return sorted(job.preferred)

    def choice(self, view: ClusterView, job: JobView) -> int | None:
        for k in self.types(job):
            if view.free[k]:
                return view.free[k][0]
        return None

    def released(self, job: JobView) -> None:
        self.service[job.index] = 0
        self.pending[job.index] = 0

    def ready(self, job: JobView) -> None:
        self.present[job.index] = job.processing
        super().ready(job)

    def started(self, job: JobView, gpu: int) -> None:
        if self.policy.charge is Charge.START:
            kind = self.gpu_type[gpu]
            p = job.processing
            self.service[job.index] += service_of(p[kind], kind, p, self.counts, self.policy.capability)
            self.rekey(job)

    def trained(self, job: int, gpu: int, ticks: int) -> None:
        if self.policy.charge is Charge.START:
            return
        kind = self.gpu_type[gpu]
        gained = service_of(ticks, kind, self.present[job], self.counts, self.policy.capability)
        if self.policy.charge is Charge.END:
            self.service[job] += gained
            self.rekey(self.view.jobs[job])
        else:
            self.pending[job] += gained

    def round_ended(self, job: int) -> None:
        self.service[job] += self.pending[job]
        self.pending[job] = 0

    def finished(self, job: int) -> None:
        super().finished(job)
        del self.service[job], self.pending[job], self.present[job]


@dataclass(frozen=True)
class Hlas:
    """Heterogeneity-aware least attained service, relaxed; see the module for the parameters.

    ``backfill`` matters under gang scheduling only.
    """

    name: ClassVar[str] = "hlas"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.NONE
    gang: ClassVar[bool] = False

    capability: CapabilityRule = CapabilityRule.BEST
    charge: Charge = Charge.START
    tie: Tie = Tie.ARRIVAL
    placement: Placement = Placement.BEST
    queues: tuple[float, ...] = ()
    weighted: bool = False
    backfill: bool = True

    def __post_init__(self) -> None:
        for key, kind in (
            ("capability", CapabilityRule),
            ("charge", Charge),
            ("tie", Tie),
            ("placement", Placement),
        ):
            try:
                object.__setattr__(self, key, kind(getattr(self, key)))
            except ValueError:
                raise UsageError(f"{key} {shown(getattr(self, key))}: one of {', '.join(kind)}") from None
        given = self.queues
        values = (given,) if isinstance(given, (int, float)) and not isinstance(given, bool) else tuple(given)
        sound = all(isinstance(v, (int, float)) and not isinstance(v, bool) and 0 < v < math.inf for v in values)
        if not sound or list(values) != sorted(set(values)):
            raise UsageError(f"queues {shown(given)}: thresholds are rising seconds > 0, for example 3250 and 7200")
        object.__setattr__(self, "queues", tuple(float(v) for v in values))

    def limits(self, tick_seconds: float) -> list[int]:
        """Thresholds in parts of a tick."""
        return [math.ceil(Fraction(str(q)) * UNIT / Fraction(str(tick_seconds))) for q in self.queues]

    def begin(self, view: ClusterView) -> Agent:
        """See :class:`~hetopt.solvers.online.tasks.view.TaskPolicy`."""
        return _ServiceAgent(self, view)


class HlasGang(Hlas):
    """``hlas`` with gang scheduling."""

    name: ClassVar[str] = "hlas-gang"
    gang: ClassVar[bool] = True


@dataclass(frozen=True)
class HlasQueues(Hlas):
    """``hlas`` in queues by thresholds of service."""

    name: ClassVar[str] = "hlas-queues"
    queues: tuple[float, ...] = (3250.0, 7200.0)


class HlasQueuesGang(HlasQueues):
    """``hlas-queues`` with gang scheduling."""

    name: ClassVar[str] = "hlas-queues-gang"
    gang: ClassVar[bool] = True


@dataclass(frozen=True)
class Las(Hlas):
    """Least attained service, blind to types: service is GPU time, and a task takes the first free GPU."""

    name: ClassVar[str] = "las"
    capability: CapabilityRule = CapabilityRule.NONE
    placement: Placement = Placement.FIRST


class LasGang(Las):
    """``las`` with gang scheduling."""

    name: ClassVar[str] = "las-gang"
    gang: ClassVar[bool] = True
