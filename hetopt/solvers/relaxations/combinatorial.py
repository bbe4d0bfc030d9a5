"""Combinatorial bounds (solver ``combinatorial``): critical path, load, preemptive single machine.

Problem: bounds on the total weighted completion time or the makespan without any optimisation.  Works are
measured at prices of the GPU types (all alike, and those of the fractional assignment LP), capacities accordingly.

* path: every job alone (round lengths S7).
* load: sum w C by Smith's rule on jobs as blocks of work; makespan: work that starts at t or later and is followed by at
  least r ticks, t + P/V + r, best over all pairs (t, r): the bound of Jackson's preemptive schedule.
* preemptive: sum w C in layers of equal weight, each by shortest remaining processing time with releases.

Guarantee: none as a ratio (each part can be arbitrarily weak).  Complexity O(R log R), times the number of distinct
weights for the layers (left out where there are more than ``layers``), and times up to 256 thresholds for the makespan.

References
----------
W. E. Smith, Naval Res. Logist. Quart. 3 (1956); L. Schrage, Operations Research 16 (1968): SRPT; J. R. Jackson (1955) and
J. Carlier, EJOR 11 (1982): heads and tails.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hetopt.core.certificate import Bound, Certificate
from hetopt.core.instance import Instance
from hetopt.core.objectives import offset
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Exclusions, Limits, Observer, Outcome
from hetopt.core.status import Capability, Objective, SolverKind, Status, StopReason, Trust
from hetopt.models.clairvoyant.round_terms import Tail, capacity_of, round_terms, task_work
from hetopt.solvers.relaxations._prices import assignment_prices, whole_prices
from hetopt.solvers.relaxations.midpoint_lp import Clock

__all__ = ["Combinatorial", "combinatorial_bounds"]

Proof = tuple[Fraction, dict[str, Any]]


def combinatorial_bounds(
    instance: Instance, objective: Objective, *, layers: int = 200, late: Callable[[], bool] | None = None
) -> list[Proof]:
    """All parts: exact value and certificate data, for the total weighted completion time or the makespan.

    Parameters
    ----------
    layers
        The preemptive part is left out where there are more distinct weights than this.
    late
        Asked now and then; once it says True no further part is begun.  The first part is always there.
    """
    return list(_proofs(instance, objective, layers, late or (lambda: False)))


def _proofs(instance: Instance, objective: Objective, layers: int, late: Callable[[], bool]) -> Iterator[Proof]:
    """The parts, cheap ones first."""
    terms = round_terms(instance, Tail.ROUND)
    weight = instance.arrays.weight.tolist()
    path = terms.path.tolist()
    makespan = objective is Objective.MAKESPAN
    about = str(objective if makespan else Objective.TOTAL_WEIGHTED_COMPLETION)
    alone = max(path) if makespan else sum(w * p for w, p in zip(weight, path, strict=True))
    yield Fraction(alone), {"objective": about, "part": "path"}
    for pi in _price_vectors(instance, late):
        if late():
            return
        shown = {"prices": list(pi)}
        if makespan:
            value, t, r = _makespan_load(instance, pi, terms.head, terms.later + instance.arrays.min_sync_time, late)
            yield value, {"objective": about, "part": "load", **shown, "head": t, "tail": r}
            continue
        yield _smith_jobs(instance, pi), {"objective": about, "part": "load", **shown}
        if len(set(weight)) <= layers:
            preemptive = _layers(instance, pi, late)
            if preemptive is not None:
                yield preemptive, {"objective": about, "part": "preemptive", **shown}


def _price_vectors(instance: Instance, late: Callable[[], bool]) -> Iterator[tuple[int, ...]]:
    alike = (1,) * len(instance.gpu_types)
    yield alike
    if len(alike) > 1 and not late():
        other = whole_prices(instance, assignment_prices(instance))
        if other != alike:
            yield other


def _works(instance: Instance, prices: tuple[int, ...]) -> tuple[NDArray[Any], list[int], Fraction]:
    """Work of each round and of each job, and the capacity."""
    per_task = task_work(instance, prices)
    work = instance.arrays.scale * per_task
    jobs = np.add.reduceat(work, instance.arrays.round_start[:-1]).tolist()
    return work, jobs, capacity_of(instance, per_task)


def _last_sync(instance: Instance) -> list[int]:
    out: list[int] = instance.arrays.min_sync_time[instance.arrays.round_start[1:] - 1].tolist()
    return out


def _smith_jobs(instance: Instance, prices: tuple[int, ...]) -> Fraction:
    _, works, capacity = _works(instance, prices)
    a = instance.arrays
    weight, first = a.weight.tolist(), int(a.release_date.min())
    # exact as an order: different ratios of numbers below 2^53 differ by at least 2^-106
    order = sorted(range(len(works)), key=lambda n: (works[n] << 128) // weight[n])
    done, moment = 0, 0
    for n in order:
        done += works[n]
        moment += weight[n] * done
    fixed: int = sum(w * (first + s) for w, s in zip(weight, _last_sync(instance), strict=True))
    return fixed + Fraction(moment) / capacity


def _shortest_remaining(work: list[int], release: list[int]) -> int:
    """Sum of completion times of preemptive SRPT on a machine of speed 1."""
    order = sorted(range(len(work)), key=release.__getitem__)
    now, at, total = 0, 0, 0
    waiting: list[int] = []
    while at < len(order) or waiting:
        if not waiting:
            now = max(now, release[order[at]])
        while at < len(order) and release[order[at]] <= now:
            heapq.heappush(waiting, work[order[at]])
            at += 1
        end = now + waiting[0]
        if at < len(order) and release[order[at]] < end:
            now, left = release[order[at]], end - release[order[at]]
            heapq.heapreplace(waiting, left)
        else:
            now = end
            total += now
            heapq.heappop(waiting)
    return total


def _layers(instance: Instance, prices: tuple[int, ...], late: Callable[[], bool]) -> Fraction | None:
    """None when time ran out: some layers prove less than all, and a certificate is about all."""
    _, works, capacity = _works(instance, prices)
    a = instance.arrays
    weight, release = a.weight.tolist(), a.release_date.tolist()
    below, total = 0, 0
    for level in sorted(set(weight)):
        if late():
            return None
        # in units of 1/numerator of a tick everything is whole
        members = [n for n, w in enumerate(weight) if w >= level]
        total += (level - below) * _shortest_remaining(
            [works[n] * capacity.denominator for n in members], [release[n] * capacity.numerator for n in members]
        )
        below = level
    fixed: int = sum(w * s for w, s in zip(weight, _last_sync(instance), strict=True))
    return fixed + Fraction(total, capacity.numerator)


def _makespan_load(
    instance: Instance,
    prices: tuple[int, ...],
    head: NDArray[np.int64],
    rest: NDArray[np.int64],
    late: Callable[[], bool],
) -> tuple[Fraction, int, int]:
    """Best t + P(S)/V(S) + r: found with the capacity of all rounds, evaluated with that of S."""
    work, _, capacity = _works(instance, prices)
    speed = float(capacity)
    thresholds = np.unique(rest)
    if len(thresholds) > 256:
        thresholds = thresholds[np.unique(np.linspace(0, len(thresholds) - 1, 256).astype(np.int64))]
    order = np.argsort(head, kind="stable")[::-1]
    heads = head[order]
    best, pair = -np.inf, (0, 0)
    for number, r in enumerate(thresholds.tolist()):
        if number and late():  # every pair is a bound
            break
        total = np.cumsum(np.where(rest[order] >= r, work[order], 0))
        value = np.where(total > 0, heads + total / speed + r, -np.inf)
        i = int(value.argmax())
        if value[i] > best:
            best, pair = float(value[i]), (int(heads[i]), r)
    t, r = pair
    inside = (head >= t) & (rest >= r)
    exact = capacity_of(instance, task_work(instance, prices), inside)
    return t + int(work[inside].astype(object).sum()) / exact + r, t, r


@dataclass(frozen=True)
class Combinatorial:
    """Solver ``combinatorial``: the best of the parts.

    Parameters
    ----------
    layers
        Most distinct weights for which the preemptive part is computed.
    """

    name: ClassVar[str] = "combinatorial"
    kind: ClassVar[SolverKind] = SolverKind.RELAXATION
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.LOWER_BOUND, Capability.CERTIFICATE, Capability.DETERMINISTIC}
    )
    objectives: ClassVar[frozenset[Objective]] = frozenset(Objective)

    layers: int = 200

    def __post_init__(self) -> None:
        if self.layers < 0:
            raise ValueError(f"layers {self.layers}: a whole number >= 0 is needed")

    def solve(
        self,
        problem: Instance,
        *,
        objective: Objective = Objective.TOTAL_WEIGHTED_COMPLETION,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        seed: int = 0,
        incumbent: Schedule | None = None,
        bound: Bound | None = None,
        exclusions: Exclusions | None = None,
        observer: Observer | None = None,
    ) -> Outcome:
        """The largest of the bounds (``extra["parts"]``: all of them, for the certificate's objective)."""
        clock = Clock(limits, observer, 2e-6 * problem.num_rounds)
        proofs = combinatorial_bounds(problem, objective, layers=self.layers, late=clock)
        value, data = max(proofs, key=lambda proof: proof[0])
        certificate = Certificate(self.name, value, problem.fingerprint, data)
        parts = {" ".join((d["part"], str(d.get("prices", "")))).strip(): v for v, d in proofs}
        return Outcome(
            status=Status.UNKNOWN,
            stop_reason=clock.reason or StopReason.EXHAUSTED,
            bound=Bound(value, self.name, Trust.DERIVED, certificate).shifted(offset(problem, objective)),
            work=len(proofs),
            message=f"{data['part']} bound",
            extra={"parts": parts},
        )
