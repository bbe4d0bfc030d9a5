"""An instance as plain Python lists for the event loop, with the sums that policies ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hetopt.core.instance import Instance, SyncRound

if TYPE_CHECKING:
    from hetopt.solvers.online.tasks.view import JobStates

__all__ = ["Tables"]


class Tables:
    """Lists over jobs, rounds and GPUs; lists per round are shared by equal rounds next to each other."""

    states: JobStates

    def __init__(self, instance: Instance) -> None:
        a = instance.arrays
        self.arrays = a
        self.jobs = instance.jobs
        self.names = [job.name for job in instance.jobs]
        self.release: list[int] = a.release_date.tolist()
        self.weight: list[int] = a.weight.tolist()
        self.round_start: list[int] = a.round_start.tolist()
        self.round_job: list[int] = a.round_job.tolist()
        self.scale: list[int] = a.scale.tolist()
        self.task_start: list[int] = a.task_start.tolist()
        self.gpu_type: list[int] = a.gpu_type.tolist()
        self.is_free = bytearray(b"\x01" * a.num_gpus)
        self.processing: list[list[int]] = []
        self.sync: list[list[int]] = []
        self.total: list[list[int]] = []
        self.preferred: list[list[int]] = []
        for job in instance.jobs:
            for part in job.rounds:
                p = [v or 0 for v in part.processing_time]
                s = [v or 0 for v in part.sync_time]
                both = [x + y for x, y in zip(p, s, strict=True)]
                liked = sorted((k for k, v in enumerate(p) if v), key=lambda k: (both[k], k))
                for rows, row in ((self.processing, p), (self.sync, s), (self.total, both), (self.preferred, liked)):
                    rows.extend([row] * part.repeat)
        work = np.cumsum((a.scale * a.min_processing_time)[::-1])[::-1]
        after = np.append(work, 0)[a.round_start[1:]]
        self.remaining: list[int] = (work - after[a.round_job]).tolist()
        self.demand: list[int] = np.maximum.reduceat(a.scale, a.round_start[:-1]).tolist()

        able = np.logical_and.reduceat(a.allowed, a.round_start[:-1], axis=0)
        self.runnable: list[list[int]] = [np.flatnonzero(row).tolist() for row in able]

    def work_on(self, first: int, job: int, kind: int) -> int | None:
        """Rounds ``first`` to the end of the job on one GPU of a type: scale x p, then the sync."""
        a, part = self.arrays, slice(first, self.round_start[job + 1])
        if not a.allowed[part, kind].all():
            return None
        return int((a.scale[part] * a.processing_time[part, kind] + a.sync_time[part, kind]).sum())

    def time_on(self, first: int, job: int, kind: int) -> int | None:
        """The same with every task on a GPU of its own: p + s a round."""
        a, part = self.arrays, slice(first, self.round_start[job + 1])
        if not a.allowed[part, kind].all():
            return None
        return int((a.processing_time[part, kind] + a.sync_time[part, kind]).sum())

    def parts_from(self, first: int, job: int, unstarted: int) -> list[SyncRound]:
        """Round ``first`` of a job with so many tasks (0: without it), and the later ones."""

        def like(part: SyncRound, scale: int, repeat: int) -> SyncRound:
            return SyncRound(repeat=repeat, scale=scale, processing_time=part.processing_time, sync_time=part.sync_time)

        parts = iter(self.jobs[job].rounds)
        skip = first - self.round_start[job]
        part = next(parts)
        while skip >= part.repeat:
            skip -= part.repeat
            part = next(parts)
        left = part.repeat - skip
        out: list[SyncRound] = []
        if unstarted != part.scale:
            left -= 1
            if unstarted:
                out.append(like(part, unstarted, 1))
        if left:
            out.append(like(part, part.scale, left))
        return [*out, *parts]
