"""What the words of a report mean, for a reader who has only the report."""

from __future__ import annotations

from typing import Final

from hetopt.core.status import Objective, Status, StopReason, Trust

__all__ = ["OBJECTIVES", "STATUSES", "STOP_REASONS", "TERMS", "TRUSTS"]

STATUSES: Final[dict[Status, str]] = {
    Status.OPTIMAL: "A schedule is known and a lower bound of the same value: nothing better exists.",
    Status.FEASIBLE: "A schedule is known; whether something better exists is not.",
    Status.INFEASIBLE: "It is proved that there is no schedule at all.",
    Status.UNBOUNDED: "There are solutions of arbitrarily small value (a modelling fault, in scheduling).",
    Status.UNKNOWN: "Neither a schedule nor a proof that there is none; a lower bound may be known all the same.",
}
STOP_REASONS: Final[dict[StopReason, str]] = {
    StopReason.PROVED: "The question is settled.",
    StopReason.GAP: "The gap that was asked for is reached.",
    StopReason.TIME: "The time limit was reached.",
    StopReason.MEMORY: "The memory limit was reached.",
    StopReason.WORK: "The limit of deterministic work was reached.",
    StopReason.EXHAUSTED: "The method is done: a heuristic has no more to try, a relaxation is solved.",
    StopReason.INTERRUPTED: "The user stopped it; what was known by then is shown.",
    StopReason.ERROR: "It could not run or broke; the message says why.",
}
TRUSTS: Final[dict[Trust, str]] = {
    Trust.REPORTED: "The solver says so, within its floating-point tolerances.",
    Trust.DERIVED: "Computed from a dual solution and rounded to the safe side.",
    Trust.VERIFIED: "A certificate was checked in exact arithmetic, without any solver.",
}
OBJECTIVES: Final[dict[Objective, str]] = {
    Objective.TOTAL_WEIGHTED_COMPLETION: "sum over jobs of weight × completion time, in ticks",
    Objective.TOTAL_WEIGHTED_FLOW: "sum over jobs of weight × (completion time − release date), in ticks: the weighted JCT",
    Objective.MAKESPAN: "the largest completion time, in ticks",
}
TERMS: Final[dict[str, str]] = {
    "Job, round, task": "A job trains in rounds, one after the other. A round is a number of equal tasks (its scale). A task "
    "trains on one GPU without interruption; how long depends on the GPU type.",
    "Synchronisation": "After training, a task synchronises for some time without holding its GPU. The next round starts "
    "when all tasks of the round have synchronised. In Gantt charts it is the pale strip behind a bar.",
    "Flow time (JCT)": "From a job's release to its completion.",
    "Slowdown": "Flow time over the time that the job would take with the cluster to itself; at least 1.",
    "Lower bound": "A number that no schedule can go below. Solvers that only bound have no schedule, hence no objective.",
    "Utilisation": "Training time over GPUs × makespan.",
    "–": "Unknown, or not defined. It never stands for 0.",
}
