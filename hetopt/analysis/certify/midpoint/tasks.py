"""Tasks with their own times on every GPU: the data of the exact checks, in whole units.

Task i of job n, round r trains for p[i][m] on GPU m and then synchronises for s[i][m]; ``None``
where it may not run.  Unlike the file format, tasks of one round may differ.  Times may be any
rationals: they are multiplied by one even number (``unit``), so that all later arithmetic,
midpoints included, is on Python integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any

from hetopt.core.documents import exact_text, parse_exact
from hetopt.core.instance import Instance

__all__ = ["Rational", "TaskProblem", "Times"]

Rational = int | Fraction
Times = tuple[int | None, ...]


@dataclass(frozen=True)
class TaskProblem:
    """N jobs, T tasks in (job, round, task) order, M GPUs.

    Attributes
    ----------
    unit
        Units a tick; even, so that half of every time is whole.
    num_gpus
        M.
    weight : (N,)
        Rational, > 0.
    release : (N,)
        Units.
    job, round : (T,)
        Indices from 0.
    processing, sync : (T, M)
        Units, ``None`` where forbidden.
    names : (N,)
        For messages.
    """

    unit: int
    num_gpus: int
    weight: tuple[Fraction, ...]
    release: tuple[int, ...]
    job: tuple[int, ...]
    round: tuple[int, ...]
    processing: tuple[Times, ...]
    sync: tuple[Times, ...]
    names: tuple[str, ...]

    @classmethod
    def from_tasks(
        cls, num_gpus: int, jobs: Iterable[tuple[Any, Any, Sequence[Sequence[tuple[Any, Any]]]]]
    ) -> TaskProblem:
        """Build from jobs ``(weight, release, rounds)``; a round is a list of tasks ``(p, s)``.

        ``p`` and ``s`` are one rational for all GPUs or a sequence of M (``None``: forbidden).
        """
        listed = [(Fraction(w), Fraction(a), rounds) for w, a, rounds in jobs]

        def row(value: Any) -> tuple[Fraction | None, ...]:
            many = [value] * num_gpus if not isinstance(value, (list, tuple)) else value
            if len(many) != num_gpus:
                raise ValueError(f"a task has {len(many)} times, there are {num_gpus} GPUs")
            return tuple(None if x is None else Fraction(x) for x in many)

        weight, release, job, number, p, s = [], [], [], [], [], []
        for n, (w, a, rounds) in enumerate(listed):
            if w <= 0 or a < 0 or not rounds:
                raise ValueError(f"job {n}: weight > 0, release >= 0 and at least one round are needed")
            weight.append(w)
            release.append(a)
            for r, tasks in enumerate(rounds):
                if not tasks:
                    raise ValueError(f"job {n}, round {r} has no task")
                for times, syncs in tasks:
                    job.append(n)
                    number.append(r)
                    p.append(row(times))
                    s.append(row(syncs))
                    if all(x is None for x in p[-1]) or any(
                        (x is None) != (y is None) or (x is not None and (x <= 0 or y is None or y < 0))
                        for x, y in zip(p[-1], s[-1], strict=True)
                    ):
                        raise ValueError(
                            f"job {n}, round {r}: p > 0 and s >= 0 on at least one GPU, and None in both or in neither"
                        )
        unit = 2 * lcm(
            *(x.denominator for x in release), *(x.denominator for t in (*p, *s) for x in t if x is not None)
        )

        def whole(times: tuple[Fraction | None, ...]) -> Times:
            return tuple(None if x is None else int(x * unit) for x in times)

        return cls(
            unit,
            num_gpus,
            tuple(weight),
            tuple(int(a * unit) for a in release),
            tuple(job),
            tuple(number),
            tuple(whole(t) for t in p),
            tuple(whole(t) for t in s),
            tuple(f"job {n}" for n in range(len(weight))),
        )

    @classmethod
    def from_instance(cls, instance: Instance) -> TaskProblem:
        """The tasks of a document; rows of one round share their times."""
        gpu_type = [k for k, kind in enumerate(instance.gpu_types) for _ in range(kind.count)]
        job, number, p, s = [], [], [], []
        for n, item in enumerate(instance.jobs):
            r = 0
            for part in item.rounds:
                times = tuple(
                    None if part.processing_time[k] is None else 2 * (part.processing_time[k] or 0) for k in gpu_type
                )
                syncs = tuple(None if part.sync_time[k] is None else 2 * (part.sync_time[k] or 0) for k in gpu_type)
                for _ in range(part.repeat):
                    job += [n] * part.scale
                    number += [r] * part.scale
                    p += [times] * part.scale
                    s += [syncs] * part.scale
                    r += 1
        return cls(
            2,
            len(gpu_type),
            tuple(Fraction(item.weight) for item in instance.jobs),
            tuple(2 * item.release_date for item in instance.jobs),
            tuple(job),
            tuple(number),
            tuple(p),
            tuple(s),
            tuple(item.name for item in instance.jobs),
        )

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> TaskProblem:
        """Read the plain form ``{"M", "jobs": [{"w", "a", "rounds": [[{"p", "s"}]]}]}``; numbers as ``"p/q"``."""

        def number(x: Any) -> Fraction | None:
            return None if x is None else parse_exact(x, "p, s, w or a")

        def times(task: dict[str, Any]) -> tuple[Any, Any]:
            return [number(x) for x in task["p"]], [number(x) for x in task["s"]]

        jobs = [
            (number(j["w"]), number(j["a"]), [[times(task) for task in tasks] for tasks in j["rounds"]])
            for j in raw["jobs"]
        ]
        made = cls.from_tasks(int(raw["M"]), jobs)
        names = tuple(str(j.get("name", f"job {n}")) for n, j in enumerate(raw["jobs"]))
        return replace(made, names=names)

    def refined(self, factor: int) -> TaskProblem:
        """The same problem with ``factor`` times as many units a tick."""

        def times(rows: tuple[Times, ...]) -> tuple[Times, ...]:
            known: dict[Times, Times] = {
                row: tuple(None if x is None else x * factor for x in row) for row in set(rows)
            }
            return tuple(known[row] for row in rows)

        return replace(
            self,
            unit=self.unit * factor,
            release=tuple(a * factor for a in self.release),
            processing=times(self.processing),
            sync=times(self.sync),
        )

    def ticks(self, value: Rational) -> Fraction:
        """A time in units as ticks."""
        return Fraction(value) / self.unit

    def text(self, value: Rational) -> str:
        """A time in units as ticks, in the exact notation of the formats."""
        return str(exact_text(self.ticks(value)))

    @property
    def num_tasks(self) -> int:
        """T."""
        return len(self.job)

    @property
    def num_jobs(self) -> int:
        """N."""
        return len(self.weight)

    @cached_property
    def eligible(self) -> tuple[tuple[int, ...], ...]:
        """E_i: the GPUs that task i may use."""
        known: dict[Times, tuple[int, ...]] = {
            row: tuple(m for m, x in enumerate(row) if x is not None) for row in set(self.processing)
        }
        return tuple(known[row] for row in self.processing)

    @cached_property
    def shortest(self) -> tuple[int, ...]:
        """q_i = min_m p_{i,m}, units."""
        known = {row: min(x for x in row if x is not None) for row in set(self.processing)}
        return tuple(known[row] for row in self.processing)

    @cached_property
    def shortest_sync(self) -> tuple[int, ...]:
        """sigma_i = min_m s_{i,m}, units."""
        known = {row: min(x for x in row if x is not None) for row in set(self.sync)}
        return tuple(known[row] for row in self.sync)

    @cached_property
    def rounds(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """``rounds[n][r]``: the tasks of a round."""
        out: list[list[list[int]]] = [[] for _ in self.weight]
        for i, (n, r) in enumerate(zip(self.job, self.round, strict=True)):
            if r == len(out[n]):
                out[n].append([])
            out[n][r].append(i)
        return tuple(tuple(tuple(tasks) for tasks in job) for job in out)

    @cached_property
    def kinds(self) -> tuple[tuple[Times, Times], ...]:
        """The different (processing, sync) rows that occur."""
        return tuple(dict.fromkeys(zip(self.processing, self.sync, strict=True)))

    def name(self, i: int) -> str:
        """Task i in words."""
        n, r = self.job[i], self.round[i]
        return f"{self.names[n]}, round {r}, task {i - self.rounds[n][r][0]}"

    def value(self, completion: Sequence[Rational]) -> Fraction:
        """Sum of w_n C_n, in ticks."""
        return sum((w * c for w, c in zip(self.weight, completion, strict=True)), Fraction(0)) / self.unit
