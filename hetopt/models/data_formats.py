"""An instance as data for other tools: MiniZinc (``.dzn`` for the model ``jct.mzn``) and FJSPLIB (``.fjs``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hetopt.core.errors import Fault, InputError
from hetopt.core.instance import Instance
from hetopt.core.status import Objective

__all__ = ["dzn_text", "fjs_text"]

KINDS = {Objective.TOTAL_WEIGHTED_COMPLETION: 1, Objective.TOTAL_WEIGHTED_FLOW: 2, Objective.MAKESPAN: 3}


def _list(values: Iterable[int]) -> str:
    return "[" + ", ".join(str(int(v)) for v in values) + "]"


def dzn_text(instance: Instance, objective: Objective) -> str:
    """Data for ``models/jct.mzn``; indices from 1, times in ticks, -1 where a round cannot run on a type."""
    a = instance.arrays

    def table(values: Iterable[Iterable[int]]) -> str:
        return "[" + "".join(f"| {', '.join(str(int(v)) for v in row)} " for row in values) + "|]"

    allowed = a.allowed
    lines = [
        f"objective_kind = {KINDS[objective]};",
        f"horizon = {instance.horizon};",
        f"n_types = {a.num_types};",
        f"n_jobs = {a.num_jobs};",
        f"n_rounds = {a.num_rounds};",
        f"gpu_count = {_list(a.gpu_count)};",
        f"weight = {_list(a.weight)};",
        f"release_date = {_list(a.release_date)};",
        f"last_round = {_list(a.round_start[1:])};",
        f"round_job = {_list(a.round_job + 1)};",
        f"scale = {_list(a.scale)};",
        f"processing_time = {table([[p if ok else -1 for p, ok in zip(*row, strict=True)] for row in zip(a.processing_time, allowed, strict=True)])};",
        f"sync_time = {table([[s if ok else -1 for s, ok in zip(*row, strict=True)] for row in zip(a.sync_time, allowed, strict=True)])};",
    ]
    return "\n".join(lines) + "\n"


def fjs_text(instance: Instance) -> str:
    """The instance as a flexible job shop: a round is an operation, a GPU a machine (numbered from 1).

    FJSPLIB knows operations of one task that hold a machine, no release dates, and no weights (its objective is the
    makespan).

    Raises
    ------
    InputError
        The instance has something that the format cannot say; all of it is listed.
    """
    faults = list(_unsayable(instance))
    if faults:
        raise InputError(faults)
    a = instance.arrays
    gpus = [[g + 1 for g in range(a.num_gpus) if a.gpu_type[g] == k] for k in range(a.num_types)]
    lines, choices = [], 0
    for n in range(a.num_jobs):
        numbers = [int(a.round_start[n + 1] - a.round_start[n])]
        for r in range(int(a.round_start[n]), int(a.round_start[n + 1])):
            machines = [
                (g, int(a.processing_time[r, k])) for k in range(a.num_types) if a.allowed[r, k] for g in gpus[k]
            ]
            choices += len(machines)
            numbers.append(len(machines))
            for machine, time in machines:
                numbers += [machine, time]
        lines.append(" ".join(map(str, numbers)))
    return "\n".join([f"{a.num_jobs} {a.num_gpus} {choices / a.num_rounds:.3g}", *lines]) + "\n"


def _unsayable(instance: Instance) -> Iterator[Fault]:
    for n, job in enumerate(instance.jobs):
        if job.release_date:
            yield Fault(
                f"jobs[{n}].release_date",
                str(job.release_date),
                "fjs has no release dates",
                "export dzn, lp or mps instead",
            )
        for r, part in enumerate(job.rounds):
            if part.scale > 1:
                yield Fault(
                    f"jobs[{n}].rounds[{r}].scale",
                    str(part.scale),
                    "an operation of fjs is one task on one machine",
                    "export dzn, lp or mps instead",
                )
            if any(part.sync_time):
                yield Fault(
                    f"jobs[{n}].rounds[{r}].sync_time",
                    str(list(part.sync_time)),
                    "fjs cannot say that a task goes on without its machine",
                    "export dzn, lp or mps instead",
                )
