"""Exact objectives, computed from the schedule and the instance alone (Python integers)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import Fault, InputError
from hetopt.core.instance import Instance
from hetopt.core.schedule import Schedule
from hetopt.core.status import Objective

__all__ = ["completion_times", "evaluate", "flow_times", "offset"]


def completion_times(instance: Instance, schedule: Schedule) -> NDArray[np.int64]:
    """Completion time C_n of each job: the largest ``sync_end`` of its last round.

    Returns
    -------
    (N,) int64, ticks

    Raises
    ------
    InputError
        The last round of some job has no row.
    """
    last = np.array([sum(part.repeat for part in job.rounds) - 1 for job in instance.jobs], dtype=np.int64)
    least = np.iinfo(np.int64).min
    out = np.full(instance.num_jobs, least, dtype=np.int64)
    inside = (schedule.job >= 0) & (schedule.job < instance.num_jobs)
    job = schedule.job[inside]
    of_last = schedule.round[inside] == last[job]
    np.maximum.at(out, job[of_last], schedule.sync_end[inside][of_last])
    absent = np.flatnonzero(out == least)
    if len(absent):
        raise InputError(
            [
                Fault("tasks", f"no row for the last round of job {n}", "a schedule has every task once", "add it")
                for n in absent
            ]
        )
    return out


def flow_times(instance: Instance, schedule: Schedule) -> NDArray[np.int64]:
    """Flow time F_n = C_n - r_n of each job (the JCT), (N,) int64, ticks."""
    release = np.array([job.release_date for job in instance.jobs], dtype=np.int64)
    return completion_times(instance, schedule) - release


def offset(instance: Instance, objective: Objective) -> int:
    """What to add to the total weighted completion time to get ``objective``; 0 for the makespan."""
    return -instance.total_weighted_release if objective is Objective.TOTAL_WEIGHTED_FLOW else 0


def evaluate(instance: Instance, schedule: Schedule, objective: Objective = Objective.TOTAL_WEIGHTED_COMPLETION) -> int:
    """Exact value of a schedule.

    ``total-weighted-completion``: sum of w_n C_n.  ``total-weighted-flow``: sum of w_n (C_n - r_n).
    ``makespan``: the largest C_n.
    """
    completions = [int(c) for c in completion_times(instance, schedule)]
    if objective is Objective.MAKESPAN:
        return max(completions)
    value = sum(job.weight * c for job, c in zip(instance.jobs, completions, strict=True))
    return value + offset(instance, objective)
