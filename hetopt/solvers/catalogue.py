"""The catalogue of solvers: names and where they live, as strings; nothing is imported here.

Third parties add a solver through the entry-point group ``hetopt.solvers`` (see the developer
documentation); its name may not be one of these.
"""

from __future__ import annotations

from typing import Final

from hetopt.core.registry import Entry, Registry

__all__ = ["SOLVERS"]

SOLVERS: Final = Registry(what="solver", group="hetopt.solvers")


def _add(kind: str, name: str, target: str, summary: str, requires: tuple[str, ...] = (), install: str = "") -> None:
    SOLVERS.add(
        Entry(
            name=name, target=f"hetopt.solvers.{target}", kind=kind, summary=summary, requires=requires, install=install
        )
    )


# One line a solver, grouped by kind.
_add("heuristic", "fifo", "heuristics.event_rules:Fifo", "first come, first served, event by event")
_add("heuristic", "wspt", "heuristics.event_rules:Wspt", "least remaining work per weight first, event by event")
_add("heuristic", "srtf", "heuristics.event_rules:Srtf", "least remaining work first, event by event")
_add(
    "relaxation",
    "midpoint-lp",
    "relaxations.midpoint_lp:MidpointLp",
    "the midpoint LP of the Hare heuristic: bound and midpoints, exact up to 2,000 rounds",
    ("highspy",),
)
_add(
    "round",
    "fft-fast",
    "rounds.fast:FftFast",
    "FFT's per-round problem solved exactly by dual prices, a core and a proof",
    ("highspy",),
)
_add(
    "round",
    "fft-convex",
    "rounds.convex:FftConvexSolver",
    "linear relaxation of FFT's round, or a fairness utility with shares; bound, rents and a rounding",
    ("cvxpy", "highspy"),
)
_add(
    "round",
    "fft-milp",
    "rounds.milp:FftMilpSolver",
    "FFT's per-round problem as an integer programme (HiGHS, CBC and others)",
    ("highspy",),
)
_add(
    "relaxation",
    "time-indexed-lagrangian",
    "relaxations.time_indexed_lagrangian:TimeIndexedLagrangian",
    "capacity priced per type and tick, jobs as chains: the tightest bound here, exact",
)
_add("exact", "cpsat", "exact.cpsat:CpSat", "CP-SAT, an interval per task and GPU type", ("ortools",))
_add("exact", "cpsat-per-gpu", "exact.cpsat_per_gpu:CpSatPerGpu", "CP-SAT, an interval per task and GPU", ("ortools",))
_add(
    "heuristic", "hare", "heuristics.hare:Hare", "LP midpoint order on the earliest available GPU (Hare)", ("highspy",)
)
_add(
    "heuristic",
    "hare-eft",
    "heuristics.hare:HareEft",
    "LP midpoint orders by earliest finish with a waste penalty; best of several",
    ("highspy",),
)
_add(
    "heuristic",
    "local-search",
    "heuristics.local_search:LocalSearch",
    "annealing over list orders, allowed types and waste penalty; anytime",
)
_add(
    "relaxation",
    "midpoint-lp-strong",
    "relaxations.midpoint_lp_strong:MidpointLpStrong",
    "the midpoint LP with round lengths, capacities, heads and prices of GPU types",
    ("highspy",),
)
_add(
    "relaxation", "combinatorial", "relaxations.combinatorial:Combinatorial", "critical path, load, preemptive machine"
)
_add(
    "exact",
    "milp-disjunctive",
    "exact.milp_disjunctive:MilpDisjunctive",
    "disjunctive big-M MILP per GPU: the literature's baseline",
    ("highspy",),
)
_add(
    "exact",
    "milp-time-indexed",
    "exact.milp_time_indexed:MilpTimeIndexed",
    "time-indexed MILP, counts by GPU type and round",
    ("highspy",),
)
_add("exact", "auto", "exact.auto:Auto", "portfolio: search, certified bound, pruning, CP-SAT; needs no licence")
_add(
    "relaxation",
    "convex-qp",
    "relaxations.convex_qp:ConvexQpBound",
    "convex quadratic relaxation for unrelated machines (Clarabel)",
    ("cvxpy", "highspy"),
)
