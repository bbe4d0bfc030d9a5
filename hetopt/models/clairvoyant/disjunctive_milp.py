r"""The disjunctive big-M MILP per GPU, as the literature on job shops and on this problem writes it.

Sets: jobs n, rounds r of job n, tasks i of a round (:math:`i = 1..d_r`), GPUs g of type k(g); a task is written
a = (n, r, i).  Times in ticks.  Variables: :math:`x_{ag} \in \{0, 1\}` task a runs on GPU g, :math:`S_a \ge 0` its start,
:math:`F_{nr}` when round r has synchronised, :math:`y_{ab} \in \{0, 1\}` a goes before b where both share a GPU,
Z the makespan.

.. math::

    \min \; & \sum_n w_n F_{n,\mathrm{last}} \quad\text{or}\quad \sum_n w_n (F_{n,\mathrm{last}} - r_n) \quad\text{or}\quad Z & (1) \\
    & \sum_g x_{ag} = 1 & (2) \\
    & S_a \ge r_n \quad\text{(first round)} & (3) \\
    & F_{nr} \ge S_a + \sum_g (p_{r k(g)} + s_{r k(g)}) x_{ag} & (4) \\
    & S_a \ge F_{n,r-1} & (5) \\
    & Z \ge F_{n,\mathrm{last}} & (6) \\
    & S_b \ge S_a + p_{a k(g)} - M_{abg} (3 - x_{ag} - x_{bg} - y_{ab}) & (7) \\
    & S_a \ge S_b + p_{b k(g)} - M_{bag} (2 - x_{ag} - x_{bg} + y_{ab}) & (8) \\
    & S_{(n,r,i+1)} \ge S_{(n,r,i)} \quad\text{(symmetry, optional)} & (9)

(7) and (8) stand for pairs that could overlap: tasks of different jobs, and tasks of one round; rounds of one
job are kept apart by (4) and (5).  :math:`M_{abg}` is computed for each pair and type: the latest start of a plus
:math:`p_{a k(g)}` minus the earliest start of b (``windows``); where that is not positive, a never ends after b
starts and the pair needs no rows on that type.  With (9), tasks of a round are numbered by start, so that y of a
pair within a round is fixed to 1 and left out, and (8) with it.

Size: :math:`O(T M)` columns and :math:`O(T^2 M)` rows for T tasks and M GPUs.  The bound of its linear relaxation is
hardly more than the longest chain, because every :math:`y = 1/2` switches (7) and (8) off: a baseline, not a method
for more than about 25 tasks.

Canonical form: without (9), ``decode(encode(s)) == s``; with it, the tasks of a round are renumbered by
(start, GPU).

References: A. S. Manne, "On the job-shop scheduling problem", Operations Research 8 (1960), for the pairs and
big M; the assignment to GPUs and rounds is our reading of the job-completion-time formulations for
heterogeneous GPU clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.feasibility import violations
from hetopt.core.instance import Instance, InstanceArrays
from hetopt.core.objectives import evaluate, offset
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Exclusions
from hetopt.core.status import Objective
from hetopt.models.base import BuiltModel, LinearWriter, Symbol, name_map
from hetopt.models.clairvoyant.windows import Windows, first_schedule, placed_in_order, start_windows

__all__ = ["DisjunctiveMilp"]

TASK: Final = ("job", "round", "task")
OTHER: Final = ("other_job", "other_round", "other_task")
SYMBOLS: Final = (
    Symbol("x", (*TASK, "gpu"), "1 if the task runs on the GPU"),
    Symbol("S", TASK, "start of the task, ticks"),
    Symbol("F", ("job", "round"), "when the round has synchronised, ticks"),
    Symbol("y", (*TASK, *OTHER), "1 if the first task goes before the other one where they share a GPU"),
    Symbol("Z", (), "makespan, ticks"),
    Symbol("assign", TASK, "(2)"),
    Symbol("sync", TASK, "(4)"),
    Symbol("next", TASK, "(5)"),
    Symbol("span", ("job",), "(6)"),
    Symbol("before", (*TASK, *OTHER, "gpu"), "(7)"),
    Symbol("after", (*TASK, *OTHER, "gpu"), "(8)"),
    Symbol("number", TASK, "(9)"),
)


@dataclass(frozen=True)
class DisjunctiveMilp:
    """The formulation of this module.

    Parameters
    ----------
    symmetry_breaking
        Whether the tasks of a round are numbered by start, constraint (9).
    """

    name: ClassVar[str] = "disjunctive-milp"
    symmetry_breaking: bool = True

    def size(self, instance: Instance) -> int:
        """Upper bound on the number of rows, for a look before building."""
        a = instance.arrays
        of_job = np.bincount(a.round_job, weights=a.scale, minlength=a.num_jobs)
        pairs = (a.num_tasks**2 - (of_job**2).sum() + (a.scale * (a.scale - 1)).sum()) / 2
        return int(2 * pairs * a.num_gpus + 3 * a.num_tasks + a.num_jobs)

    def build(
        self,
        instance: Instance,
        objective: Objective = Objective.TOTAL_WEIGHTED_COMPLETION,
        *,
        upper_bound: int | None = None,
        exclusions: Exclusions | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> BuiltModel:
        """The model; ``upper_bound`` is the value of a known schedule (default: of one made at once).

        See :mod:`hetopt.models.clairvoyant.windows` for what is cut off with it.
        """
        if upper_bound is None:
            upper_bound = evaluate(instance, first_schedule(instance, objective), objective)
        windows = start_windows(instance, objective, upper_bound, exclusions)
        writer = LinearWriter(self.name.replace("-", "_"), stop)
        layout = _Layout.write(writer, instance, objective, windows, self.symmetry_breaking)
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
        """Column values of a feasible schedule.

        Raises
        ------
        ValueError
            It is infeasible, or outside the windows (its value is above the cutoff, or it idles: see
            :func:`~hetopt.models.clairvoyant.windows.left_shifted`).
        """
        layout: _Layout = built.extra["layout"]
        broken = violations(built.instance, schedule)
        if broken:
            raise ValueError(f"an infeasible schedule has no column values: {broken[0]}")
        values = layout.encoded(built, schedule, self.symmetry_breaking)
        missed = built.linear.broken(values, 0.0)
        if missed:
            raise ValueError(f"the model does not represent this schedule: it breaks {missed[0]}")
        return values

    def decode(self, built: BuiltModel, values: Sequence[float] | NDArray[np.float64]) -> Schedule:
        """The schedule of a feasible point.

        Starts are rounded down: all differences in (4), (5), (7), (8) are whole once x and y are, so whole starts
        keep them.  Where a backend's tolerances have broken one by more, the GPUs and the order are kept and the
        starts made anew (left-shifted), which is always feasible; the caller sees the difference in
        the objective.

        Raises
        ------
        IntegralityError
            An integer column is not whole.
        """
        layout: _Layout = built.extra["layout"]
        point = built.linear.rounded(np.asarray(values, dtype=np.float64))
        gpu = np.full(len(layout.start), -1, dtype=np.int64)
        for task, choices in enumerate(layout.x):
            for g, column in choices.items():
                if point[column] == 1.0:
                    gpu[task] = g
        if (gpu < 0).any():
            raise ValueError(f"no GPU is chosen for task {int(np.flatnonzero(gpu < 0)[0])}: constraint (2) is broken")
        start = point[layout.start]
        whole = Schedule.from_starts(built.instance, gpu, np.floor(start + 1e-3).astype(np.int64))
        if not violations(built.instance, whole):
            return whole
        return placed_in_order(built.instance, gpu, start)


@dataclass(frozen=True)
class _Layout:
    """Where the columns are: GPU -> column of x for each task, and the columns of S, F, y, Z."""

    x: list[dict[int, int]]
    start: NDArray[np.int64]
    finish: NDArray[np.int64]
    y: dict[tuple[int, int], int]
    makespan: int | None

    @classmethod
    def write(
        cls, model: LinearWriter, instance: Instance, objective: Objective, windows: Windows, symmetry_breaking: bool
    ) -> _Layout:
        """Write the whole model; the numbers are those of the module documentation."""
        a = instance.arrays
        rounds = np.repeat(np.arange(a.num_rounds), a.scale).tolist()
        label = [f"{a.round_job[r]}_{r - a.round_start[a.round_job[r]]}" for r in range(a.num_rounds)]
        task = [f"{label[r]}_{i - a.task_start[r]}" for i, r in enumerate(rounds)]
        kinds = a.gpu_type.tolist()
        usable = windows.earliest <= windows.latest
        low = np.where(usable, windows.earliest, np.iinfo(np.int64).max).min(axis=1).tolist()
        high = np.where(usable, windows.latest, -1).max(axis=1).tolist()
        low = [min(e, h) if h >= 0 else 0 for e, h in zip(low, high, strict=True)]
        last = (a.round_start[1:] - 1).tolist()
        is_last = np.isin(np.arange(a.num_rounds), last).tolist()
        minsum = objective is not Objective.MAKESPAN

        x = [
            {
                g: model.add_variable(f"x_{task[i]}_{g}", 0, 1, integer=True)
                for g in range(a.num_gpus)
                if usable[r, kinds[g]]
            }
            for i, r in enumerate(rounds)
        ]
        start = [model.add_variable(f"S_{task[i]}", low[r], max(low[r], high[r])) for i, r in enumerate(rounds)]  # (3)
        finish = [
            model.add_variable(
                f"F_{label[r]}",
                int(windows.earliest_end[r]),
                max(int(windows.earliest_end[r]), int(windows.latest_end[r])),
                cost=float(a.weight[a.round_job[r]]) if minsum and is_last[r] else 0.0,  # (1)
            )
            for r in range(a.num_rounds)
        ]
        makespan = None
        if minsum:
            model.offset = float(offset(instance, objective))
        else:
            makespan = model.add_variable("Z", float(windows.completion_earliest.max()), cost=1.0)  # (1)
        p, s = a.processing_time.tolist(), a.sync_time.tolist()
        for i, r in enumerate(rounds):
            model.add_row(f"assign_{task[i]}", [(c, 1.0) for c in x[i].values()], 1, 1)  # (2)
            held = [(c, -float(p[r][kinds[g]] + s[r][kinds[g]])) for g, c in x[i].items()]
            model.add_row(f"sync_{task[i]}", [(finish[r], 1.0), (start[i], -1.0), *held], 0)  # (4)
            if r > a.round_start[a.round_job[r]]:
                model.add_row(f"next_{task[i]}", [(start[i], 1.0), (finish[r - 1], -1.0)], 0)  # (5)
            if symmetry_breaking and i > a.task_start[r]:
                model.add_row(f"number_{task[i]}", [(start[i], 1.0), (start[i - 1], -1.0)], 0)  # (9)
        if makespan is not None:
            for n, r in enumerate(last):
                model.add_row(f"span_{n}", [(makespan, 1.0), (finish[r], -1.0)], 0)  # (6)
        y: dict[tuple[int, int], int] = {}
        for i, j in _pairs(a, rounds):
            q, r = rounds[i], rounds[j]
            numbered = symmetry_breaking and q == r
            for g in sorted(x[i].keys() & x[j].keys()):
                k = kinds[g]
                forward = high[q] + p[q][k] - low[r]  # M of (7)
                back = high[r] + p[r][k] - low[q]  # M of (8)
                if forward <= 0 or back <= 0:
                    continue
                if not numbered and (i, j) not in y:
                    y[i, j] = model.add_variable(f"y_{task[i]}_{task[j]}", 0, 1, integer=True)
                both = [(x[i][g], -float(forward)), (x[j][g], -float(forward))]
                order = [] if numbered else [(y[i, j], -float(forward))]
                model.add_row(
                    f"before_{task[i]}_{task[j]}_{g}",
                    [(start[j], 1.0), (start[i], -1.0), *both, *order],
                    p[q][k] - (2 if numbered else 3) * forward,
                )  # (7)
                if numbered:
                    continue
                both = [(x[i][g], -float(back)), (x[j][g], -float(back))]
                model.add_row(
                    f"after_{task[i]}_{task[j]}_{g}",
                    [(start[i], 1.0), (start[j], -1.0), *both, (y[i, j], float(back))],
                    p[r][k] - 2 * back,
                )  # (8)
        return cls(x, np.array(start, dtype=np.int64), np.array(finish, dtype=np.int64), y, makespan)

    def encoded(self, built: BuiltModel, schedule: Schedule, symmetry_breaking: bool) -> NDArray[np.float64]:
        """Values of every column; nothing is checked beyond the GPUs."""
        a = built.instance.arrays
        rounds = a.round_start[schedule.job] + schedule.round
        index = a.task_start[rounds] + schedule.task
        if symmetry_breaking:
            order = np.lexsort((schedule.gpu, schedule.start, rounds))
            index = np.empty_like(order)
            index[order] = np.arange(len(order))
        values = np.zeros(built.linear.num_columns)
        start = np.empty(a.num_tasks, dtype=np.int64)
        for row, i in enumerate(index.tolist()):
            start[i] = schedule.start[row]
            column = self.x[i].get(int(schedule.gpu[row]))
            if column is None:
                raise ValueError(
                    f"the model does not represent this schedule: GPU {schedule.gpu[row]} is cut off for task {i}"
                )
            values[column] = 1.0
        values[self.start] = start
        ends = np.zeros(a.num_rounds, dtype=np.int64)
        np.maximum.at(ends, rounds, schedule.sync_end)
        values[self.finish] = ends
        for (i, j), column in self.y.items():
            values[column] = float(start[i] <= start[j])
        if self.makespan is not None:
            values[self.makespan] = ends.max()
        return values


def _pairs(a: InstanceArrays, rounds: list[int]) -> Iterator[tuple[int, int]]:
    """Pairs of tasks that (7) and (8) keep apart: of different jobs, or of one round."""
    jobs = a.round_job.tolist()
    for i in range(a.num_tasks):
        for j in range(i + 1, a.num_tasks):
            if rounds[i] == rounds[j] or jobs[rounds[i]] != jobs[rounds[j]]:
                yield i, j
