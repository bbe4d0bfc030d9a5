"""Whether a constraint or linear model of an instance can be built in the time there is; said before it is tried.

Building takes Python objects for every pair of task and GPU type, and cannot be interrupted everywhere.  A model that
could not be built within the limit is refused at once, with a list schedule instead.
"""

from __future__ import annotations

from typing import Final

from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Limits, Observer, Outcome
from hetopt.core.status import Objective, Status, StopReason
from hetopt.solvers.relaxations.time_indexed_lagrangian import quick_schedule

__all__ = ["refused", "too_large"]

ALWAYS: Final = 50_000
"""Pairs of task and type up to which building is tried whatever the limit."""
RATE: Final = 25_000
"""Pairs that are built and handed over in a second, optimistically."""
MOST: Final = 4_000_000
"""Pairs beyond which a model would not fit usual memory."""


def too_large(instance: Instance, limits: Limits) -> str:
    """Why no model is built, in one line; empty where one is."""
    pairs = instance.num_tasks * len(instance.gpu_types)
    if limits.time is None:
        most, of = MOST, "memory has room for"
    else:
        most, of = min(MOST, max(ALWAYS, int(RATE * limits.time))), f"{limits.time:g} s have room for"
    if pairs <= most:
        return ""
    return (
        f"the model was not built: {instance.num_tasks} tasks x {len(instance.gpu_types)} GPU types are {pairs} pairs, "
        f"{of} about {most}; auto and local-search take instances of this size"
    )


def refused(
    instance: Instance, objective: Objective, limits: Limits, incumbent: Schedule | None, observer: Observer, why: str
) -> Outcome:
    """A list schedule, or the warm start where that is better, and the reason."""
    schedule = quick_schedule(instance)
    value = evaluate(instance, schedule, objective)
    if incumbent is not None:
        given = evaluate(instance, incumbent, objective)
        if given <= value:
            schedule, value = incumbent, given
    observer.record(incumbent=value, schedule=schedule)
    stop = StopReason.MEMORY if limits.time is None else StopReason.TIME
    return Outcome(
        Status.FEASIBLE, stop, schedule, value, warm_start=None if incumbent is None else "accepted", message=why
    )
