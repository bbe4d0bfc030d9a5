"""The catalogue of scheduling policies: names and where they live, as strings; nothing is imported here.

``kind`` says which simulator runs a policy: ``rounds`` (a decision at each round border, for
:mod:`hetopt.solvers.online.rounds`) or ``tasks`` (event by event).  Third parties add a policy
through the entry-point group ``hetopt.policies``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hetopt.core.registry import Entry, Registry

__all__ = ["POLICIES", "PolicyEntry"]

POLICIES: Final = Registry(what="policy", group="hetopt.policies")


@dataclass(frozen=True)
class PolicyEntry(Entry):
    """A registered policy.

    Parameters
    ----------
    clairvoyance
        ``none``, ``sizes`` (of arrived jobs) or ``full``.
    """

    clairvoyance: str = "none"


def _add(kind: str, name: str, target: str, clairvoyance: str, summary: str, requires: tuple[str, ...] = ()) -> None:
    POLICIES.add(
        PolicyEntry(
            name=name,
            target=f"hetopt.solvers.online.{target}",
            kind=kind,
            summary=summary,
            requires=requires,
            clairvoyance=clairvoyance,
        )
    )


# One line a policy, grouped by kind.
_R: Final = "rounds.policies."
_H: Final = ("highspy",)
_add("rounds", "fft", _R + "fft:Fft", "sizes", "FFT: least cost a round with fairness compensation", _H)
_add("rounds", "gavel-max-min", _R + "max_min:MaxMinFairness", "none", "max-min fair time shares, type-blind", _H)
_add(
    "rounds",
    "gavel-max-min-perf",
    _R + "max_min:MaxMinFairnessPerf",
    "none",
    "max-min fair normalised throughput (Gavel)",
    _H,
)
_add(
    "rounds",
    "gavel-water-filling",
    _R + "max_min:MaxMinFairnessWaterFilling",
    "none",
    "lexicographic max-min fairness (Gavel)",
)
_add("rounds", "gavel-ftf", _R + "finish_time:FinishTimeFairness", "sizes", "finish-time fairness, type-blind", _H)
_add("rounds", "gavel-ftf-perf", _R + "finish_time:FinishTimeFairnessPerf", "sizes", "finish-time fairness (Gavel)", _H)
_add("rounds", "gavel-fifo", _R + "fifo:Fifo", "none", "first in, first out on random types, no moves (Gavel)")
_add("rounds", "gavel-fifo-perf", _R + "fifo:FifoPerf", "none", "first in, first out on the fastest free type (Gavel)")
_add("rounds", "gavel-makespan", _R + "makespan:MinMakespan", "sizes", "shares of least makespan (exact LP)")
_add("rounds", "gavel-max-throughput", _R + "throughput:MaxSumThroughput", "none", "shares of the most throughput", _H)
_add("rounds", "gavel-allox", _R + "allox:GavelAlloX", "sizes", "AlloX as Gavel runs it")
_add("rounds", "min-jct", _R + "min_jct:MinJct", "sizes", "shares of least total completion time")
_add("rounds", "allox", _R + "allox:AlloX", "sizes", "AlloX: matching of waiting jobs to free GPUs, no moves")
_add("rounds", "themis-like", _R + "themis:ThemisAuction", "sizes", "an auction each round among the worst off", _H)
_add("rounds", "tiresias-las", _R + "tiresias:TiresiasLas", "none", "Tiresias 2D-LAS: queues by attained service")
_add("rounds", "tiresias-gittins", _R + "tiresias:TiresiasGittins", "none", "Tiresias with the Gittins index")
_add("rounds", "sia-like", _R + "sia:SiaRigid", "none", "Sia's integer programme for rigid jobs", _H)
_add("rounds", "oef-noncooperative-like", _R + "oef:OefNonCooperative", "none", "OEF-like, equal speed-ups")
_add("rounds", "oef-cooperative-like", _R + "oef:OefCooperative", "none", "OEF-like, envy-free")
_add("rounds", "srtf-rounds", _R + "ranked:SrtfRounds", "sizes", "shortest remaining time first, by rounds")
_add("rounds", "las-rounds", _R + "ranked:LasRounds", "none", "least attained service first, by rounds")
_add("rounds", "fifo-rounds", _R + "ranked:FifoRounds", "none", "first come, first served, by rounds")

_T: Final = "tasks.policies."
_GANG: Final = ", gang"
for _name, _target, _knows, _what, _requires in (
    ("hlas", "service:Hlas", "none", "heterogeneity-aware least attained service (Hare's online rule)", ()),
    ("hlas-queues", "service:HlasQueues", "none", "hlas in queues by thresholds of service", ()),
    ("las", "service:Las", "none", "least attained service, blind to types", ()),
    ("fifo", "keyed:Fifo", "none", "first come, first served, task by task", ()),
    ("srtf", "keyed:Srtf", "sizes", "least remaining work first, task by task", ()),
    ("wspt", "keyed:Wspt", "sizes", "least remaining work per weight first, task by task", ()),
    ("gavel-fifo-tasks", "gavel_fifo:GavelFifo", "none", "Gavel's FIFO with head-of-line blocking (Gavel_FIFO)", ()),
    ("sched-homo", "plan:SchedHomo", "full", "a plan for mean times, carried out with the true ones (Sched_Homo)", _H),
    ("sched-allox", "allox:SchedAllox", "sizes", "AlloX's matching of jobs to machines (Sched_AlloX)", ()),
    ("hare-online", "hare_online:HareOnline", "sizes", "Hare, planned anew at arrivals", _H),
):
    _add("tasks", _name, _T + _target, _knows, _what, _requires)
    _add("tasks", f"{_name}-gang", f"{_T}{_target}Gang", _knows, _what + _GANG, _requires)
_add("tasks", "hare-eft-online", _T + "hare_online:HareEftOnline", "sizes", "hare-online by earliest finish", _H)
