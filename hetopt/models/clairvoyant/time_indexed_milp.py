r"""The time-indexed MILP, aggregated by GPU type and round.

GPUs of a type are alike and so are the tasks of a round, so it is enough to count.  Variables, for the starts t in the
windows of ``windows``: :math:`x_{rkt} \in \{0, 1, \dots\}` tasks of round r that start on type k at tick t;
:math:`y_{rt} \in \{0, 1\}`, 1 if round r has synchronised by t; counts A, B; Z the makespan.  For the last round of job n let
:math:`E_n, D_n` be its earliest and latest completion.

.. math::

    \min \; & \sum_n w_n \Bigl( D_n - \sum_{t=E_n}^{D_n - 1} y_{\mathrm{last}(n), t} \Bigr)
        \;\bigl[\, - \sum_n w_n r_n \,\bigr] \quad\text{or}\quad Z & (1) \\
    & \sum_{k,t} x_{rkt} = d_r & (2) \\
    & \sum_r \; \sum_{t - p_{rk} < u \le t} x_{rku} \le m_k \quad \forall k, t & (3) \\
    & A_{rt} = A_{r,t-1} + \sum_{k} x_{r,k,\,t - p_{rk} - s_{rk}} & (4) \\
    & A_{rt} \ge d_r \, y_{rt} & (5) \\
    & B_{r+1,t} = B_{r+1,t-1} + \sum_k x_{r+1,k,t} & (6) \\
    & B_{r+1,t} \le d_{r+1} \, y_{rt} & (7) \\
    & y_{r,t} \le y_{r,t+1} & (8) \\
    & Z \ge D_n - \sum_{t=E_n}^{D_n-1} y_{\mathrm{last}(n), t} & (9)

A and B count the tasks of a round that have synchronised, and that have started, by t.  They are written as columns,
not as the sums that they are, because the sums have :math:`O(H^2)` entries; the relaxation is the same.
(3) suffices: a set of intervals that is nowhere deeper than :math:`m_k` can be coloured with :math:`m_k` GPUs,
because interval graphs are perfect.  :math:`y_{rt}` is 0 before the earliest and 1 from the latest end of the round on
and exists only in between.  The completion time of job n is :math:`D_n` less the number of ticks before it at
which the job was done.

Size: at most :math:`R K H` columns x for windows of length H, :math:`O((R + K) H)` rows, and an entry of (3) for each tick
that a task holds its GPU; the linear
relaxation is strong (it is what the Lagrangian bound reproduces), but the model grows with the time scale.
``Exclusions`` of a relaxation drop columns.

Canonical form: the tasks of a round are numbered by (start, type), and GPUs are those of the interval colouring
(lowest free number first, in order of start); ``decode(encode(s))`` keeps starts, types and objective of s.

References: J. P. Sousa and L. A. Wolsey, "A time indexed formulation of non-preemptive single machine scheduling
problems", Mathematical Programming 54 (1992); the aggregation by round and type is our reading.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.feasibility import violations
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate, offset
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Exclusions
from hetopt.core.status import Objective
from hetopt.models.base import BuiltModel, LinearWriter, Symbol, name_map
from hetopt.models.clairvoyant.windows import Windows, coloured, first_schedule, start_windows

__all__ = ["TimeIndexedMilp"]

ROUND: Final = ("job", "round")
SYMBOLS: Final = (
    Symbol("x", (*ROUND, "gpu_type", "start"), "tasks of the round that start on the type at the tick"),
    Symbol("y", (*ROUND, "tick"), "1 if the round has synchronised by the tick"),
    Symbol("Z", (), "makespan, ticks"),
    Symbol("A", (*ROUND, "tick"), "tasks of the round that have synchronised by the tick"),
    Symbol("B", (*ROUND, "tick"), "tasks of the round that have started by the tick"),
    Symbol("all", ROUND, "(2)"),
    Symbol("capacity", ("gpu_type", "tick"), "(3)"),
    Symbol("reached", (*ROUND, "tick"), "(4)"),
    Symbol("done", (*ROUND, "tick"), "(5)"),
    Symbol("begun", (*ROUND, "tick"), "(6)"),
    Symbol("next", (*ROUND, "tick"), "(7), the round that waits"),
    Symbol("stay", (*ROUND, "tick"), "(8)"),
    Symbol("span", ("job",), "(9)"),
)


@dataclass(frozen=True)
class TimeIndexedMilp:
    """The formulation of this module."""

    name: ClassVar[str] = "time-indexed-milp"

    def size(self, instance: Instance, windows: Windows) -> int:
        """Number of entries of (3), the largest part, for a look before building."""
        starts = np.maximum(windows.latest - windows.earliest + 1, 0)
        return int((starts * (instance.arrays.processing_time + 4)).sum())

    def build(
        self,
        instance: Instance,
        objective: Objective = Objective.TOTAL_WEIGHTED_COMPLETION,
        *,
        upper_bound: int | None = None,
        exclusions: Exclusions | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> BuiltModel:
        """The model; ``upper_bound`` is the value of a known schedule (default: of one made at once)."""
        if upper_bound is None:
            upper_bound = evaluate(instance, first_schedule(instance, objective), objective)
        windows = start_windows(instance, objective, upper_bound, exclusions)
        writer = LinearWriter(self.name.replace("-", "_"), stop)
        allowed = exclusions.allowed if exclusions is not None and exclusions.objective is objective else {}
        layout = _Layout.write(writer, instance, objective, windows, allowed)
        return BuiltModel(
            self.name,
            objective,
            instance,
            writer.finish(),
            name_map(instance, SYMBOLS),
            windows.cutoff,
            {"layout": layout},
        )

    def encode(self, built: BuiltModel, schedule: Schedule) -> NDArray[np.float64]:
        """Column values of a feasible schedule; ``ValueError`` where the model does not represent it."""
        layout: _Layout = built.extra["layout"]
        broken = violations(built.instance, schedule)
        if broken:
            raise ValueError(f"an infeasible schedule has no column values: {broken[0]}")
        values = layout.encoded(built, schedule)
        missed = built.linear.broken(values, 0.0)
        if missed:
            raise ValueError(f"the model does not represent this schedule: it breaks {missed[0]}")
        return values

    def decode(self, built: BuiltModel, values: Sequence[float] | NDArray[np.float64]) -> Schedule:
        """The schedule of a feasible point, in canonical form.

        Raises
        ------
        IntegralityError
            An integer column is not whole.
        ValueError
            The point breaks (2) or (3).
        """
        layout: _Layout = built.extra["layout"]
        point = built.linear.rounded(np.asarray(values, dtype=np.float64))
        count = point[layout.x].astype(np.int64)
        used = np.flatnonzero(count > 0)
        used = used[np.lexsort((layout.kind[used], layout.tick[used], layout.round[used]))]
        times = count[used]
        a = built.instance.arrays
        given = np.bincount(layout.round[used], weights=times, minlength=a.num_rounds).astype(np.int64)
        if not np.array_equal(given, a.scale):
            r = int(np.flatnonzero(given != a.scale)[0])
            raise ValueError(f"round {r} starts {given[r]} of its {a.scale[r]} tasks: constraint (2) is broken")
        return coloured(built.instance, np.repeat(layout.kind[used], times), np.repeat(layout.tick[used], times))


@dataclass(frozen=True)
class _Layout:
    """Where the columns are; round, kind, tick and x have one entry per column x."""

    round: NDArray[np.int64]
    kind: NDArray[np.int64]
    tick: NDArray[np.int64]
    x: NDArray[np.int64]
    y: list[dict[int, int]]
    ended: list[dict[int, int]]
    begun: list[dict[int, int]]
    makespan: int | None

    @classmethod
    def write(
        cls,
        model: LinearWriter,
        instance: Instance,
        objective: Objective,
        windows: Windows,
        allowed: dict[tuple[int, int], tuple[tuple[int, int], ...]],
    ) -> _Layout:
        """Write the whole model; the numbers are those of the module documentation."""
        a = instance.arrays
        label = [f"{a.round_job[r]}_{r - a.round_start[a.round_job[r]]}" for r in range(a.num_rounds)]
        minsum = objective is not Objective.MAKESPAN
        last = (a.round_start[1:] - 1).tolist()
        scale, p, s = a.scale.tolist(), a.processing_time.tolist(), a.sync_time.tolist()
        job = a.round_job.tolist()

        columns: list[tuple[int, int, int, int]] = []
        of_round: list[list[tuple[int, int, int]]] = [[] for _ in range(a.num_rounds)]  # (tick, type, column)
        for r in range(a.num_rounds):
            for k in range(a.num_types):
                low, high = int(windows.earliest[r, k]), int(windows.latest[r, k])
                most = min(scale[r], int(a.gpu_count[k]))
                for first, final in allowed.get((r, k), ((low, high),)) if low <= high else ():
                    for t in range(max(first, low), min(final, high) + 1):
                        column = model.add_variable(f"x_{label[r]}_{k}_{t}", 0, most, integer=True)
                        columns.append((r, k, t, column))
                        of_round[r].append((t, k, column))
        y: list[dict[int, int]] = []
        for r in range(a.num_rounds):
            cost = -float(a.weight[job[r]]) if minsum and r == last[job[r]] else 0.0  # (1)
            ticks = range(int(windows.earliest_end[r]), int(windows.latest_end[r]))
            y.append({t: model.add_variable(f"y_{label[r]}_{t}", 0, 1, integer=True, cost=cost) for t in ticks})
        makespan = None
        ends = windows.completion_latest.tolist()
        if minsum:  # (1)
            constant = sum(int(w) * end for w, end in zip(a.weight, ends, strict=True))
            model.offset = float(constant + offset(instance, objective))
        else:
            makespan = model.add_variable("Z", float(windows.completion_earliest.max()), cost=1.0)

        for r in range(a.num_rounds):
            model.add_row(f"all_{label[r]}", [(c, 1.0) for _, _, c in of_round[r]], scale[r], scale[r])  # (2)
        cls._write_capacity(model, a.gpu_count.tolist(), p, columns)
        ended: list[dict[int, int]] = [{} for _ in range(a.num_rounds)]
        started: list[dict[int, int]] = [{} for _ in range(a.num_rounds)]
        for r in range(a.num_rounds):
            ends_of = [(t + p[r][k] + s[r][k], c) for t, k, c in of_round[r]]
            done = ended[r] = cls._write_count(model, "A", label[r], "reached", list(y[r]), ends_of, scale[r])  # (4)
            for t, column in y[r].items():
                model.add_row(f"done_{label[r]}_{t}", [(done[t], 1.0), (column, -float(scale[r]))], 0)  # (5)
                if t + 1 in y[r]:
                    model.add_row(f"stay_{label[r]}_{t}", [(y[r][t + 1], 1.0), (column, -1.0)], 0)  # (8)
            if r == last[job[r]]:
                continue
            begun = [(t, c) for t, _, c in of_round[r + 1]]
            soonest = min((t for t, _ in begun), default=0)
            ticks_of = [t for t in y[r] if t >= soonest]
            count = started[r + 1] = cls._write_count(
                model, "B", label[r + 1], "begun", ticks_of, begun, scale[r + 1]
            )  # (6)
            for t in ticks_of:
                terms = [(count[t], -1.0), (y[r][t], float(scale[r + 1]))]
                model.add_row(f"next_{label[r + 1]}_{t}", terms, 0)  # (7)
        if makespan is not None:
            for n, r in enumerate(last):
                model.add_row(f"span_{n}", [(makespan, 1.0), *((c, 1.0) for c in y[r].values())], ends[n])  # (9)
        table = np.array(columns, dtype=np.int64).reshape(-1, 4)
        return cls(table[:, 0], table[:, 1], table[:, 2], table[:, 3], y, ended, started, makespan)

    @staticmethod
    def _write_count(
        model: LinearWriter,
        symbol: str,
        label: str,
        row: str,
        ticks: list[int],
        events: list[tuple[int, int]],
        most: int,
    ) -> dict[int, int]:
        """Columns that count the tasks with an event (tick, column x) up to each of the consecutive ``ticks``."""
        events = sorted(events)
        at, previous = 0, None
        out: dict[int, int] = {}
        for t in ticks:
            out[t] = model.add_variable(f"{symbol}_{label}_{t}", 0, most)
            terms = [(out[t], 1.0)] if previous is None else [(out[t], 1.0), (previous, -1.0)]
            while at < len(events) and events[at][0] <= t:
                terms.append((events[at][1], -1.0))
                at += 1
            model.add_row(f"{row}_{label}_{t}", terms, 0, 0)
            previous = out[t]
        return out

    @staticmethod
    def _write_capacity(
        model: LinearWriter, count: list[int], p: list[list[int]], columns: list[tuple[int, int, int, int]]
    ) -> None:
        """Constraint (3), at the ticks where something may start: overlap only grows there."""
        by_type: list[list[tuple[int, int, int]]] = [[] for _ in count]
        for r, k, t, column in columns:
            by_type[k].append((t, t + p[r][k], column))
        for k, held in enumerate(by_type):
            held.sort()
            active: list[tuple[int, int]] = []
            at = 0
            for t in sorted({start for start, _, _ in held}):
                while at < len(held) and held[at][0] == t:
                    active.append((held[at][1], held[at][2]))
                    at += 1
                active = [(end, c) for end, c in active if end > t]
                model.add_row(f"capacity_{k}_{t}", [(c, 1.0) for _, c in active], upper=count[k])

    def encoded(self, built: BuiltModel, schedule: Schedule) -> NDArray[np.float64]:
        """Values of every column."""
        a = built.instance.arrays
        rounds = a.round_start[schedule.job] + schedule.round
        kind = a.gpu_type[schedule.gpu]
        keys = zip(self.round.tolist(), self.kind.tolist(), self.tick.tolist(), strict=True)
        place = dict(zip(keys, self.x.tolist(), strict=True))
        values = np.zeros(built.linear.num_columns)
        for r, k, t in zip(rounds.tolist(), kind.tolist(), schedule.start.tolist(), strict=True):
            if (r, k, t) not in place:
                raise ValueError(
                    f"the model does not represent this schedule: round {r} does not start on type {k} at tick {t} in it"
                )
            values[place[r, k, t]] += 1.0
        ends = np.zeros(a.num_rounds, dtype=np.int64)
        np.maximum.at(ends, rounds, schedule.sync_end)
        for r, ticks in enumerate(self.y):
            for t, column in ticks.items():
                values[column] = float(t >= ends[r])
        for columns, times in ((self.ended, schedule.sync_end), (self.begun, schedule.start)):
            for r, counted in enumerate(columns):
                when = times[rounds == r] if counted else times[:0]
                for t, column in counted.items():
                    values[column] = float((when <= t).sum())
        if self.makespan is not None:
            values[self.makespan] = ends.max()
        return values
