r"""The integer programme of one FFT scheduling round, as one reads it in a paper.

Sets: jobs j, GPU types i; :math:`A` the pairs (j, i) in which the job can run on the type and its demand is at most the type's
number of GPUs.  Parameters: cost :math:`c_{ji}` (:class:`~hetopt.core.round_problem.CostModel`: our reading of FFT's equations (3)
to (6)), demand :math:`d_j`, GPUs :math:`G_i`, and :math:`U^*`, the most GPUs that any allocation can use.
Variables: :math:`x_{ji} \in \{0, 1\}` for (j, i) in A, job j runs on type i.

.. math::

    \min \; & \sum_{(j,i) \in A} c_{ji} x_{ji} & (1) \\
    & \sum_i x_{ji} \le 1 & (2) \\
    & \sum_j d_j x_{ji} \le G_i & (3) \\
    & \sum_{(j,i) \in A} d_j x_{ji} = U^* & (4) \\
    & \sum_{j \in v} \sum_i x_{ji} + n_v z_v \ge n_v & (5) \\
    & \sum_j d_j x_{ji} \ge (G_i - d_v + 1)\, z_v \quad\text{for each type } i \text{ of } v & (6)

Work conservation is one of three rules.  ``most-gpus``: (4).  ``maximal`` ("no waiting job fits in what is left"): (5) and (6) with one binary
:math:`z_v` for each class v of the :math:`n_v` jobs that are alike in demand and usable types: either all of them run, or what is left
on each of their types is less than their demand.  ``none``: neither.

The papers' equation (7) asks for :math:`K = \min(\sum G_i, \sum d_j)` GPUs, which can be infeasible (7 GPUs and demands of 2); (4) equals it
whenever it is feasible.  :math:`U^*` is an input because it takes an optimisation of its own
(:func:`hetopt.solvers.rounds.usage.most_gpus`).

Size: at most n K columns, n + K rows and 2 n K entries (3 n K with (4) or (5)); built with numpy in O(n K).

References: FFT (ICS 2025) for (1) to (3), in our reading of public material; (4) to (6) are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import UsageError
from hetopt.core.round_problem import CostModel, RoundProblem
from hetopt.core.round_solver import WorkConservation
from hetopt.models.base import INFINITY, LinearModel, NameMap, Symbol

__all__ = ["BuiltRound", "FftMilp", "demand_classes", "round_costs"]

SYMBOLS: Final = (
    Symbol("x", ("job", "gpu_type"), "1 if the job runs on the GPU type"),
    Symbol("z", ("class",), "1 if a job of the class (alike in demand and usable types) may wait"),
    Symbol("once", ("job",), "(2)"),
    Symbol("room", ("gpu_type",), "(3)"),
    Symbol("use", (), "(4)"),
    Symbol("wait", ("class",), "(5)"),
    Symbol("full", ("class", "gpu_type"), "(6)"),
)


@dataclass(frozen=True, eq=False)
class BuiltRound:
    """A formulation of one round, ready to be solved or written.

    Attributes
    ----------
    formulation, problem, cost, rule
        What it is a model of.
    linear
        The model; its first columns are the x, ordered by job, then type.
    names
        What its names stand for.
    pair_job, pair_type : (P,) int64
        Job and type of each x.
    class_of : (n,) int64
        Class of each job for (5) and (6), -1 where there are none.
    """

    formulation: str
    problem: RoundProblem
    cost: CostModel
    rule: WorkConservation
    linear: LinearModel
    names: NameMap
    pair_job: NDArray[np.int64]
    pair_type: NDArray[np.int64]
    class_of: NDArray[np.int64]


def round_costs(problem: RoundProblem, cost: CostModel) -> NDArray[np.float64]:
    """c_ji, (n, K) float64; meaningless where the pair is not allowed."""
    terms = problem.cost_terms(cost)
    return terms["jct"] + terms["migration"] + terms["fairness"]


def demand_classes(problem: RoundProblem) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Classes of jobs alike in demand and usable types: the class of each job (-1 where it can run nowhere), and a job of each class."""
    a = problem.arrays
    active = np.flatnonzero(a.allowed.any(axis=1))
    member = np.full(len(a.demand), -1, dtype=np.int64)
    if not len(active):
        return member, active
    rows = np.column_stack([a.demand[active], np.packbits(a.allowed[active], axis=1)])
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    member[active] = inverse.ravel()
    return member, active[first]


@dataclass(frozen=True)
class FftMilp:
    """The formulation of this module.

    Parameters
    ----------
    relaxed
        Whether x and z may be fractional: the linear relaxation.
    """

    name: ClassVar[str] = "fft-milp"
    relaxed: bool = False

    def build(
        self,
        problem: RoundProblem,
        cost: CostModel | None = None,
        rule: WorkConservation | str = WorkConservation.MOST_GPUS,
        *,
        most_gpus: int | None = None,
    ) -> BuiltRound:
        """The model of a round; ``most_gpus`` is U* and needed for that rule alone."""
        cost, rule = cost or CostModel(), WorkConservation(rule)
        a = problem.arrays
        n, types = a.allowed.shape
        job, kind = (index.astype(np.int64) for index in np.nonzero(a.allowed))
        pairs = np.arange(len(job), dtype=np.int64)
        demand = a.demand[job].astype(np.float64)
        active = np.flatnonzero(a.allowed.any(axis=1))
        costs = [round_costs(problem, cost)[job, kind]]
        names = [f"x_{j}_{i}" for j, i in zip(job.tolist(), kind.tolist(), strict=True)]
        member = np.full(n, -1, dtype=np.int64)
        rows = _Rows()
        by_type = np.argsort(kind, kind="stable")
        rows.add(
            [f"once_{j}" for j in active.tolist()], np.searchsorted(active, job), pairs, 1.0, -INFINITY, 1.0
        )  # (2)
        room = [f"room_{i}" for i in range(types)]
        rows.add(room, kind[by_type], by_type, demand[by_type], -INFINITY, a.count.astype(np.float64))  # (3)
        if rule is WorkConservation.MOST_GPUS:
            if most_gpus is None:
                raise UsageError("the rule most-gpus needs the most GPUs that can be used; pass most_gpus")
            rows.add(["use"], np.zeros_like(pairs), pairs, demand, float(most_gpus), float(most_gpus))  # (4)
        elif rule is WorkConservation.MAXIMAL:
            member, sample = demand_classes(problem)
            classes = len(sample)
            z = len(pairs) + np.arange(classes, dtype=np.int64)
            names += [f"z_{v}" for v in range(classes)]
            costs.append(np.zeros(classes))
            size = np.bincount(member[member >= 0], minlength=classes).astype(np.float64)
            rows.add(
                [f"wait_{v}" for v in range(classes)],
                np.concatenate([member[job], np.arange(classes)]),
                np.concatenate([pairs, z]),
                np.concatenate([np.ones(len(pairs)), size]),
                size,
                INFINITY,
            )  # (5)
            for v in range(classes):
                for i in np.flatnonzero(a.allowed[sample[v]]).tolist():
                    on = pairs[kind == i]
                    filled = float(a.count[i] - a.demand[sample[v]] + 1)
                    value = np.append(demand[on], -filled)
                    rows.add([f"full_{v}_{i}"], np.zeros(len(value)), np.append(on, z[v]), value, 0.0, INFINITY)  # (6)
        columns = len(names)
        linear = rows.finish(self.name.replace("-", "_"), np.concatenate(costs), names, not self.relaxed, columns)
        called = NameMap(
            SYMBOLS, tuple(item.name for item in problem.jobs), tuple(item.name for item in problem.gpu_types)
        )
        return BuiltRound(self.name, problem, cost, rule, linear, called, job, kind, member)

    def encode(self, built: BuiltRound, gpu_type: Sequence[int | None]) -> NDArray[np.float64]:
        """Column values of an allocation.

        Raises
        ------
        ValueError
            It breaks a row: too many GPUs, a forbidden type, or the rule.
        """
        chosen = np.array([-1 if i is None else i for i in gpu_type], dtype=np.int64)
        values = np.zeros(built.linear.num_columns)
        pairs = len(built.pair_job)
        values[:pairs] = chosen[built.pair_job] == built.pair_type
        if int(values[:pairs].sum()) != int((chosen >= 0).sum()):
            raise ValueError("the model does not represent this allocation: a job runs where it cannot")
        waits = built.class_of[(chosen < 0) & (built.class_of >= 0)]
        values[pairs + waits] = 1.0
        broken = built.linear.broken(values, 1e-9)
        if broken:
            raise ValueError(f"the model does not represent this allocation: it breaks {broken[0]}")
        return values

    def decode(self, built: BuiltRound, values: Sequence[float] | NDArray[np.float64]) -> tuple[int | None, ...]:
        """The allocation of a feasible point.

        Raises
        ------
        IntegralityError
            An integer column is not whole.
        """
        point = built.linear.rounded(np.asarray(values, dtype=np.float64))
        out: list[int | None] = [None] * len(built.problem.jobs)
        for p in np.flatnonzero(point[: len(built.pair_job)] > 0.5).tolist():
            out[int(built.pair_job[p])] = int(built.pair_type[p])
        return tuple(out)


class _Rows:
    """Rows in blocks of arrays; entries of a block come sorted by row or are sorted here."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._row: list[NDArray[np.int64]] = []
        self._column: list[NDArray[np.int64]] = []
        self._value: list[NDArray[np.float64]] = []
        self._lower: list[NDArray[np.float64]] = []
        self._upper: list[NDArray[np.float64]] = []

    def add(
        self,
        names: list[str],
        row: NDArray[np.generic],
        column: NDArray[np.int64],
        value: NDArray[np.float64] | float,
        lower: NDArray[np.float64] | float,
        upper: NDArray[np.float64] | float,
    ) -> None:
        """Rows called ``names``; ``row`` counts within the block."""
        self._row.append(row.astype(np.int64) + len(self._names))
        self._column.append(column)
        self._value.append(np.broadcast_to(np.asarray(value, dtype=np.float64), column.shape))
        self._lower.append(np.broadcast_to(np.asarray(lower, dtype=np.float64), (len(names),)))
        self._upper.append(np.broadcast_to(np.asarray(upper, dtype=np.float64), (len(names),)))
        self._names += names

    def finish(
        self, name: str, cost: NDArray[np.float64], columns: list[str], integer: bool, count: int
    ) -> LinearModel:
        row, column, value = np.concatenate(self._row), np.concatenate(self._column), np.concatenate(self._value)
        order = np.argsort(row, kind="stable")
        start = np.zeros(len(self._names) + 1, dtype=np.int64)
        np.cumsum(np.bincount(row, minlength=len(self._names)), out=start[1:])
        return LinearModel(
            name=name,
            cost=cost,
            lower=np.zeros(count),
            upper=np.ones(count),
            integer=np.full(count, integer),
            row_lower=np.concatenate(self._lower),
            row_upper=np.concatenate(self._upper),
            row_start=start,
            column=column[order],
            value=value[order],
            column_names=tuple(columns),
            row_names=tuple(self._names),
        )
