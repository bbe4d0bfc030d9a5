r"""The midpoint LP as a linear model: one variable a round by symmetry, load cuts as chained prefix sums.

Sets: jobs n, their rounds r = 1..R_n, a round also written g; orders o of all rounds (for the load cuts).
Parameters: q, sigma: least processing and sync time; d tasks; P = d q; capacity B; L, e, head: lengths, ends and earliest
starts (``round_terms``), for the base form q + sigma, q/2 + sigma, and a_n plus the lengths before.
Variables: :math:`H_{nr}` midpoint, :math:`C_n` completion, Z makespan (that objective only), :math:`A_{ok}` chained sums.

.. math::
   \min \sum_n w_n C_n \;\text{ or }\; \sum_n w_n (C_n - a_n) \;\text{ or }\; Z \tag{1}
   \\ H_{n1} \ge a_n + L_{n1} - e_{n1} \tag{2}
   \\ H_{n,r+1} - H_{nr} \ge e_{nr} + L_{n,r+1} - e_{n,r+1} \tag{3}
   \\ C_n \ge H_{nR_n} + e_{nR_n} \tag{4}
   \\ A_{ok} = A_{o,k-1} + P_{o(k)} H_{o(k)} \tag{5}
   \\ A_{ok} \ge (P_{o(1)} + \dots + P_{o(k)})^2 / (2B) \tag{6}
   \\ Z \ge C_n \tag{7}

In the strengthened form (``strong=True``) round ends :math:`E_{nr}` stand between the midpoints, with round lengths (S7), ends (S6),
true midpoints and capacity V; (2) to (4) are then

.. math::
   E_{nr} \ge E_{n,r-1} + L_{nr} \;(E_{n0} = a_n), \quad E_{nr} \ge H_{nr} + e_{nr}, \quad
   H_{nr} \ge E_{n,r-1} + q_{nr}/2, \quad C_n = E_{nR_n}. \tag{8}

Each order gives R load cuts in 3R entries, where dense prefix rows would take R^2/2.  The LP is the limit of adding the order
of the current H again and again (``hetopt.models.cuts.load``: a most violated set is a prefix of it); a file holds the
orders given, by default that of the earliest midpoints and Smith's rule on whole jobs, or all sets when there are few rounds.

References
----------
Hare (HPDC 2022; TCC 2024), our reading of public summaries; M. Queyranne, Mathematical Programming 58 (1993).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import UsageError
from hetopt.core.instance import Instance
from hetopt.core.objectives import completion_times, offset
from hetopt.core.schedule import Schedule
from hetopt.core.status import Objective
from hetopt.models.base import BuiltModel, LinearWriter, Symbol, name_map
from hetopt.models.clairvoyant.round_terms import Tail, capacity_of, round_terms, task_work
from hetopt.models.cuts.load import prefix_violations

__all__ = ["MidpointLpModel", "MidpointPoint"]

Order = Sequence[int]
_FEW: Final = 4
"""With at most so many rounds the default orders are all permutations: the LP is then complete."""


@dataclass(frozen=True, eq=False)
class MidpointPoint:
    """A point of the LP: midpoints (R,) and completion times (N,), ticks."""

    midpoint: NDArray[np.float64]
    completion: NDArray[np.float64]


@dataclass(frozen=True)
class MidpointLpModel:
    """The formulation; a relaxation, so ``decode`` gives midpoints and no schedule.

    Parameters
    ----------
    strong
        S1, S2, S6, S7 and true midpoints instead of the published form.
    """

    name: ClassVar[str] = "midpoint-lp"
    strong: bool = False

    def build(
        self,
        instance: Instance,
        objective: Objective = Objective.TOTAL_WEIGHTED_COMPLETION,
        orders: Sequence[Order] | None = None,
    ) -> BuiltModel:
        """The model with the load cuts of the given orders.

        Parameters
        ----------
        orders
            Permutations of 0..R-1.
        """
        a = instance.arrays
        terms = round_terms(instance, Tail.ROUND if self.strong else Tail.BASE)
        end = terms.tail_ticks - terms.later
        work = a.scale * a.min_processing_time
        capacity = float(capacity_of(instance, task_work(instance))) if self.strong else float(a.num_gpus)
        chosen = default_orders(instance) if orders is None else [list(order) for order in orders]
        for order in chosen:
            if sorted(order) != list(range(a.num_rounds)):
                raise UsageError("orders are permutations of the numbers of the rounds")
        writer = LinearWriter("midpoint_lp_strong" if self.strong else "midpoint_lp")
        span = objective is Objective.MAKESPAN
        if not span:
            writer.offset = float(offset(instance, objective))
        names = [f"{n}_{r}" for n in range(a.num_jobs) for r in range(int(a.round_start[n + 1] - a.round_start[n]))]
        midpoint = [writer.add_variable(f"H_{name}") for name in names]
        ends = [writer.add_variable(f"E_{name}") for name in names] if self.strong else []
        completion = [
            writer.add_variable(f"C_{n}", cost=0.0 if span else float(w)) for n, w in enumerate(a.weight.tolist())
        ]
        if span:
            top = writer.add_variable("Z", cost=1.0)
            for n, c in enumerate(completion):
                writer.add_row(f"span_{n}", [(top, 1.0), (c, -1.0)], lower=0.0)
        for n in range(a.num_jobs):
            release = float(a.release_date[n])
            rounds = range(int(a.round_start[n]), int(a.round_start[n + 1]))
            for g in rounds:
                first = g == rounds[0]
                if self.strong:
                    before = [] if first else [(ends[g - 1], -1.0)]
                    since = release if first else 0.0
                    writer.add_row(
                        f"length_{names[g]}", [(ends[g], 1.0), *before], lower=since + float(terms.length[g])
                    )
                    half = float(a.min_processing_time[g]) / 2
                    writer.add_row(f"begin_{names[g]}", [(midpoint[g], 1.0), *before], lower=since + half)
                    writer.add_row(f"end_{names[g]}", [(ends[g], 1.0), (midpoint[g], -1.0)], lower=float(end[g]))
                    continue
                own = float(terms.length[g] - end[g])
                if first:
                    writer.add_row(f"release_{names[g]}", [(midpoint[g], 1.0)], lower=release + own)
                else:
                    gap = float(end[g - 1]) + own
                    writer.add_row(f"chain_{names[g]}", [(midpoint[g], 1.0), (midpoint[g - 1], -1.0)], lower=gap)
            last = rounds[-1]
            if self.strong:
                writer.add_row(f"done_{n}", [(completion[n], 1.0), (ends[last], -1.0)], lower=0.0, upper=0.0)
            else:
                terms_of_row = [(completion[n], 1.0), (midpoint[last], -1.0)]
                writer.add_row(f"done_{n}", terms_of_row, lower=float(end[last]))
        for o, order in enumerate(chosen):
            total, previous = 0.0, None
            for k, g in enumerate(order):
                total += float(work[g])
                chained = writer.add_variable(f"A_{o}_{k}", lower=total * total / (2 * capacity))
                row = [(chained, 1.0), (midpoint[g], -float(work[g]))]
                if previous is not None:
                    row.append((previous, -1.0))
                writer.add_row(f"load_{o}_{k}", row, lower=0.0, upper=0.0)
                previous = chained
        symbols = [
            Symbol("H", ("job", "round"), "midpoint of the tasks of the round"),
            Symbol("C", ("job",), "completion time"),
            Symbol("A", ("order", "position"), "sum of work x midpoint over the first rounds of the order"),
        ]
        if self.strong:
            symbols.insert(1, Symbol("E", ("job", "round"), "end of the round"))
        if span:
            symbols.append(Symbol("Z", (), "makespan"))
        return BuiltModel(
            formulation=self.name,
            objective=objective,
            instance=instance,
            linear=writer.finish(),
            names=name_map(instance, symbols),
            extra={"orders": tuple(tuple(order) for order in chosen), "work": work, "capacity": capacity},
        )

    def encode(self, built: BuiltModel, schedule: Schedule) -> NDArray[np.float64]:
        """Column values of a feasible schedule: mean true midpoints of the rounds, true ends and completion times."""
        a = built.instance.arrays
        place = np.asarray(a.round_start)[schedule.job] + schedule.round
        midpoint = np.bincount(place, (schedule.start + schedule.end) / 2, a.num_rounds) / a.scale
        parts = [midpoint]
        if self.strong:
            done = np.zeros(a.num_rounds)
            np.maximum.at(done, place, schedule.sync_end.astype(np.float64))
            parts.append(done)
        completion = completion_times(built.instance, schedule).astype(np.float64)
        parts.append(completion)
        if built.objective is Objective.MAKESPAN:
            parts.append(np.array([completion.max()]))
        work = built.extra["work"]
        parts.extend(np.cumsum((work * midpoint)[list(order)]) for order in built.extra["orders"])
        return np.concatenate(parts)

    def decode(self, built: BuiltModel, values: Sequence[float] | NDArray[np.float64]) -> MidpointPoint:
        """Midpoints and completion times of a point."""
        x = np.asarray(values, dtype=np.float64)
        rounds, jobs = built.instance.arrays.num_rounds, built.instance.arrays.num_jobs
        skip = 2 * rounds if self.strong else rounds
        return MidpointPoint(x[:rounds].copy(), x[skip : skip + jobs].copy())

    def violated_order(
        self, built: BuiltModel, values: Sequence[float] | NDArray[np.float64], tolerance: float = 1e-9
    ) -> list[int] | None:
        """The order whose cuts the point breaks (deeper than ``tolerance`` ticks), or None: it satisfies all."""
        found = prefix_violations(
            self.decode(built, values).midpoint, built.extra["work"] * 1.0, built.extra["capacity"]
        )
        return found.order.tolist() if float(found.depth.max()) > tolerance else None


def default_orders(instance: Instance) -> list[list[int]]:
    """All orders of few rounds; else by earliest midpoint, and jobs by weight over work."""
    a = instance.arrays
    rounds = list(range(a.num_rounds))
    if len(rounds) <= _FEW:
        return [list(order) for order in permutations(rounds)]
    terms = round_terms(instance, Tail.BASE)
    early = (terms.head + a.min_processing_time / 2).tolist()
    work = a.scale * a.min_processing_time
    per_job = np.add.reduceat(work, a.round_start[:-1]) / a.weight
    job = a.round_job.tolist()
    return [
        sorted(rounds, key=lambda g: (early[g], g)),
        sorted(rounds, key=lambda g: (float(per_job[job[g]]), job[g], g)),
    ]
