r"""CP-SAT: one optional interval per task and GPU *type*, one cumulative per type.

Sets: jobs n with rounds r = 1..R_n, each of d identical tasks i; types k with G_k GPUs.

Variables: :math:`S_i` start of task i; :math:`x_{ik} \in \{0, 1\}` task i trains on type k; :math:`E_r` end of round r
(for one-task rounds an expression).  With :math:`q_{rk} = p_{rk} + s_{rk}`:

.. math::
   \min \sum_n w_n E_{n,R_n} \quad\text{or}\quad \min \max_n E_{n,R_n} \tag{0}

.. math::
   \sum_k x_{ik} = 1 \tag{1}

.. math::
   E_r \ge S_i + \sum_k q_{rk} x_{ik}, \qquad S_i \ge E_{r-1} \ (\text{first rounds: } S_i \ge r_n) \tag{2}

.. math::
   x_{ik} = 1 \Rightarrow S_i \in \text{window}_{rk} \tag{3}

.. math::
   |\{i : x_{ik} = 1,\ S_i \le t < S_i + p_{rk}\}| \le G_k \quad \forall k, t
   \qquad (\text{cumulative; no-overlap when } G_k = 1) \tag{4}

.. math::
   S_i \le S_{i+1} \quad \text{within a round (its tasks are interchangeable)} \tag{5}

.. math::
   E_r \ge E_{r-1} + \Lambda_r, \qquad E_{n,R_n} \ge E_r + \sum_{r' > r} \Lambda_{r'} \tag{6}

.. math::
   \text{objective} \le U, \qquad \text{objective} \ge L \tag{7}

(6) is implied and helps the linear relaxation: :math:`\Lambda_r` is the least time in which the d tasks of a round
fit on the whole cluster.  In (7) U is the value of a known schedule (posted as "at most U", with that schedule as
a complete hint: "less than U" would make the hint infeasible and idle every neighbourhood search), L a bound
from outside.  Aggregating GPUs by type is what makes the model strong: swapping equal GPUs changes nothing.  Which GPU of
the type comes afterwards from interval colouring, which exists because interval graphs are perfect.

Windows are those of :mod:`~hetopt.models.clairvoyant.windows` with :math:`\Lambda`, intersected with exclusions.

Size: O(tasks x types) intervals.  Numbers: weights are divided by their greatest common divisor; if a sum of
coefficients can still pass 2^31, ``wide`` says so and the backend turns off the presolve step that cannot count so far.

References: P. Laborie, J. Rogerie, P. Shaw, P. Vilim, "IBM ILOG CP optimizer for scheduling", Constraints 23 (2018), for
optional intervals; :math:`\Lambda` is inequality (S7) of the theory pages.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.certificate import Bound
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate, offset
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Exclusions
from hetopt.core.status import Objective
from hetopt.models._native import load_cpsat
from hetopt.models.base import BuildStopped
from hetopt.models.clairvoyant.windows import coloured, first_schedule, left_shifted, start_windows

__all__ = ["BuiltCpModel", "IntervalCpSat", "round_lengths"]

WIDE: Final = 2**31
"""Sums of coefficients from here on need care (or-tools issue 5293: a 32-bit sum in presolve)."""


@dataclass(frozen=True)
class BuiltCpModel:
    """A CP-SAT model of an instance and what its variables mean.

    Attributes
    ----------
    formulation, instance, objective
        What it is a model of.
    proto
        The ``CpModel``.
    start
        Start variable of each task.
    place
        For each task its possible places as (place, literal); a place is a type (or a GPU); the literal is ``None``
        where there is one place only.
    end
        Variable of the end of each round, ``None`` where it is an expression of the only task.
    makespan
        Variable, for the makespan.
    divisor, constant
        True objective = ``divisor`` x the model's objective + ``constant``.
    cutoff
        Schedules of value at most this are represented.
    wide
        Whether a sum of coefficients can reach 2^31.
    """

    formulation: str
    instance: Instance
    objective: Objective
    proto: Any
    start: tuple[Any, ...]
    place: tuple[tuple[tuple[int, Any], ...], ...]
    end: tuple[Any, ...]
    makespan: Any
    divisor: int
    constant: int
    cutoff: int
    wide: bool

    def lower_bound(self, reported: float) -> int | None:
        """A bound in the true objective from the model's reported bound, or None when it says nothing."""
        if not math.isfinite(reported):
            return None
        return self.divisor * math.ceil(reported - 1e-6) + self.constant


def round_lengths(instance: Instance) -> NDArray[np.int64]:
    """(R,) least ticks in which all tasks of each round can train and synchronise on the empty cluster."""
    a = instance.arrays
    lengths = a.min_task_time.copy()
    least = a.min_task_time
    most = np.where(
        a.allowed, a.sync_time + a.processing_time * (-(-a.scale[:, None] // a.gpu_count)), np.iinfo(np.int64).max
    )
    high = most.min(axis=1)
    for r in range(a.num_rounds):
        kinds = np.flatnonzero(a.allowed[r])
        p, s, count = a.processing_time[r, kinds], a.sync_time[r, kinds], a.gpu_count[kinds]
        low, up = int(least[r]), int(high[r])
        while low < up:
            middle = (low + up) // 2
            room = int((np.minimum(count, a.scale[r]) * np.maximum(0, (middle - s) // p)).sum())
            low, up = (low, middle) if room >= a.scale[r] else (middle + 1, up)
        lengths[r] = low
    return lengths


@dataclass(frozen=True)
class IntervalCpSat:
    """The formulation; its fields are modelling choices.

    Parameters
    ----------
    symmetry
        Post (5).
    chain_cuts
        Post (6).
    """

    name: ClassVar[str] = "interval-cpsat"
    per_gpu: ClassVar[bool] = False

    symmetry: bool = True
    chain_cuts: bool = True

    def build(
        self,
        instance: Instance,
        objective: Objective,
        *,
        upper_bound: int | None = None,
        bound: Bound | None = None,
        exclusions: Exclusions | None = None,
        hint: Schedule | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> BuiltCpModel:
        """The model of an instance.

        Parameters
        ----------
        upper_bound
            Value of a feasible schedule; without one, that of a quick list schedule.
        bound
            Lower bound on the objective from outside.
        exclusions
            What a relaxation has excluded.
        hint
            Feasible schedule of value at most ``upper_bound``; given to the solver as a complete hint.
        stop
            Asked now and then; once true, building ends with ``BuildStopped``.
        """
        if upper_bound is None:
            upper_bound = evaluate(instance, hint or first_schedule(instance, objective), objective)
        return _Builder(self, instance, objective, upper_bound, exclusions, stop).build(bound, hint)

    def encode(self, built: BuiltCpModel, schedule: Schedule) -> dict[int, int]:
        """Values of all variables by index; ``ValueError`` where the model does not represent the schedule."""
        return _encode(built, schedule, self.per_gpu)

    def decode(self, built: BuiltCpModel, values: Callable[[Any], int]) -> Schedule:
        """The schedule in a solution; ``values`` gives the value of a variable or literal."""
        kind, start = _decoded(built, values)
        return coloured(built.instance, kind, start)


def _decoded(built: BuiltCpModel, values: Callable[[Any], int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    start = np.array([values(v) for v in built.start], dtype=np.int64)
    place = np.array([next(k for k, x in options if x is None or values(x)) for options in built.place], dtype=np.int64)
    return place, start


def _encode(built: BuiltCpModel, schedule: Schedule, per_gpu: bool) -> dict[int, int]:
    a = built.instance.arrays
    shifted = left_shifted(built.instance, schedule)
    kind = shifted.gpu if per_gpu else a.gpu_type[shifted.gpu]
    rounds = a.round_start[shifted.job] + shifted.round
    order = np.lexsort((shifted.task, kind, shifted.start, rounds))
    out: dict[int, int] = {}
    ends = np.zeros(a.num_rounds, dtype=np.int64)
    np.maximum.at(ends, rounds, shifted.sync_end)
    for i, row in enumerate(order.tolist()):
        out[built.start[i].index] = int(shifted.start[row])
        if int(kind[row]) not in {k for k, _ in built.place[i]}:
            raise ValueError(f"the model leaves out place {int(kind[row])} for task {i}")
        for k, literal in built.place[i]:
            if literal is not None:
                out[literal.index] = int(k == kind[row])
    for variable, end in zip(built.end, ends.tolist(), strict=True):
        if variable is not None:
            out[variable.index] = end
    if built.makespan is not None:
        out[built.makespan.index] = int(ends.max())
    return out


class _Builder:
    """Writes one model; shared by the formulations per type and per GPU."""

    def __init__(
        self,
        formulation: Any,
        instance: Instance,
        objective: Objective,
        upper_bound: int,
        exclusions: Exclusions | None,
        stop: Callable[[], bool] | None,
    ) -> None:
        self.formulation, self.instance, self.objective = formulation, instance, objective
        self.stop = stop or (lambda: False)
        self.lengths = round_lengths(instance)
        self.exclusions = exclusions if exclusions is not None and exclusions.objective is objective else None
        windows = start_windows(instance, objective, upper_bound, self.exclusions)
        self.cutoff = windows.cutoff
        a = instance.arrays
        self.first, self.last = windows.earliest.copy(), windows.latest.copy()
        self.round_first = np.zeros(a.num_rounds, dtype=np.int64)
        self.round_last = windows.latest_end.copy()
        self.tail = np.zeros(a.num_rounds, dtype=np.int64)
        self._tighten(windows.completion_latest)
        self.cp = load_cpsat()
        self.model = self.cp.CpModel()
        self.start: list[Any] = []
        self.place: list[tuple[tuple[int, Any], ...]] = []
        self.end: list[Any] = [None] * a.num_rounds
        self.finish: list[Any] = [None] * a.num_rounds
        self.intervals: dict[int, list[Any]] = {}

    def _tighten(self, completion_latest: NDArray[np.int64]) -> None:
        """Heads and tails with whole-round lengths; window ends of rounds for the end variables."""
        a = self.instance.arrays
        completion = completion_latest.copy()
        if self.objective is not Objective.MAKESPAN:
            total = self.cutoff - offset(self.instance, self.objective)
            least = a.release_date + np.add.reduceat(self.lengths, a.round_start[:-1])
            floor = sum(int(w) * int(c) for w, c in zip(a.weight, least, strict=True))
            slack = [(total - floor) // int(w) + int(c) for w, c in zip(a.weight, least, strict=True)]
            completion = np.minimum(completion, np.array(slack, dtype=np.int64))
        for n in range(a.num_jobs):
            head = int(a.release_date[n])
            for r in range(int(a.round_start[n]), int(a.round_start[n + 1])):
                self.first[r] = np.maximum(self.first[r], head)
                opened = a.allowed[r] & (self.first[r] <= self.last[r])
                if opened.any():
                    head = max(head, int(self.first[r][opened].min()))
                head += int(self.lengths[r])
                self.round_first[r] = head
            tail = 0
            for r in range(int(a.round_start[n + 1]) - 1, int(a.round_start[n]) - 1, -1):
                self.tail[r] = tail
                self.round_last[r] = int(completion[n]) - tail
                room = self.round_last[r] - a.processing_time[r] - a.sync_time[r]
                self.last[r] = np.where(a.allowed[r], np.minimum(self.last[r], room), self.first[r] - 1)
                tail += int(self.lengths[r])

    def build(self, bound: Bound | None, hint: Schedule | None) -> BuiltCpModel:
        a, model = self.instance.arrays, self.model
        for n in range(a.num_jobs):
            for r in range(int(a.round_start[n]), int(a.round_start[n + 1])):
                if self.stop():
                    raise BuildStopped
                self._add_round(r, None if r == a.round_start[n] else self.finish[r - 1])
        self._add_capacities()
        if self.formulation.chain_cuts:
            self._add_chain_cuts()
        last = [int(r) - 1 for r in a.round_start[1:]]
        divisor = math.gcd(*[int(w) for w in a.weight]) if self.objective is not Objective.MAKESPAN else 1
        weights = [int(w) // divisor for w in a.weight]
        constant = 0 if self.objective is Objective.MAKESPAN else offset(self.instance, self.objective)
        top = int(self.round_last.max(initial=1))
        makespan = None
        if self.objective is Objective.MAKESPAN:
            makespan = model.new_int_var(int(self.round_first.max()), max(top, int(self.round_first.max())), "")
            for r in last:
                model.add(makespan >= self.finish[r])
            goal = makespan
        else:
            goal = sum(w * self.finish[r] for w, r in zip(weights, last, strict=True))
        highest = (self.cutoff - constant) // divisor
        lowest = None if bound is None else -(-(bound.ceiling - constant) // divisor)
        if lowest is not None:
            model.add(goal >= min(lowest, highest))
        model.add(goal <= highest)
        model.minimize(goal)
        built = BuiltCpModel(
            formulation=self.formulation.name,
            instance=self.instance,
            objective=self.objective,
            proto=model,
            start=tuple(self.start),
            place=tuple(self.place),
            end=tuple(self.end),
            makespan=makespan,
            divisor=divisor,
            constant=constant,
            cutoff=self.cutoff,
            wide=self._widest(weights) >= WIDE,
        )
        if hint is not None:
            for index, value in self.formulation.encode(built, hint).items():
                model.add_hint(model.get_int_var_from_proto_index(index), value)
        return built

    def _widest(self, weights: list[int]) -> int:
        """Largest sum of (coefficient x range) of a row that can become one over Booleans."""
        a = self.instance.arrays
        busy = int((a.processing_time + a.sync_time).max())
        top = int(self.round_last.max(initial=1))
        energy = int((a.scale * a.processing_time.max(axis=1)).sum())
        return max((sum(weights) + 1) * (top + busy * a.num_types), energy)

    def _domain(self, r: int, k: int) -> Any:
        """Domain of a start on type k; ``None`` when it is empty."""
        low, high = int(self.first[r, k]), int(self.last[r, k])
        if low > high:
            return None
        if self.exclusions is not None and (r, k) in self.exclusions.allowed:
            parts = [
                (max(low, x), min(high, y)) for x, y in self.exclusions.allowed[(r, k)] if max(low, x) <= min(high, y)
            ]
            return parts or None
        return [(low, high)]

    def _add_round(self, r: int, before: Any) -> None:
        a, model, cp = self.instance.arrays, self.model, self.cp
        scale = int(a.scale[r])
        domains = {k: self._domain(r, k) for k in np.flatnonzero(a.allowed[r]).tolist()}
        options = [k for k, parts in domains.items() if parts]
        if not options:  # nothing left: the cutoff cannot be met
            model.add_bool_or([])
            options = [next(iter(domains))]
            domains[options[0]] = [(0, max(0, int(self.round_last[r])))]
        union = cp.Domain.from_intervals([list(part) for k in options for part in domains[k]])
        previous = None
        if scale > 1:
            high = max(int(self.round_last[r]), int(self.round_first[r]))
            self.end[r] = model.new_int_var(int(self.round_first[r]), high, "")
        for _ in range(scale):
            start = model.new_int_var_from_domain(union, "")
            finish = self._add_task(r, start, options, domains, union)
            if before is not None:
                model.add(start >= before)
            if self.formulation.symmetry and previous is not None:
                model.add(previous <= start)
            previous = start
            if scale > 1:
                model.add(self.end[r] >= finish)
            else:
                self.finish[r] = finish
        if scale > 1:
            self.finish[r] = self.end[r]
        else:
            model.add(self.finish[r] <= max(int(self.round_last[r]), 0))

    def _places(self, kinds: list[int]) -> list[tuple[int, int]]:
        """(place, type): types themselves, or each GPU of the types."""
        if not self.formulation.per_gpu:
            return [(k, k) for k in kinds]
        first = np.concatenate(([0], np.cumsum(self.instance.arrays.gpu_count)))
        return [(g, k) for k in kinds for g in range(int(first[k]), int(first[k + 1]))]

    def _add_task(self, r: int, start: Any, options: list[int], domains: dict[int, Any], union: Any) -> Any:
        """Intervals of one task; returns the expression of its synchronised end."""
        a, model, cp = self.instance.arrays, self.model, self.cp
        places = self._places(options)
        literals: list[Any] = [model.new_bool_var("") for _ in places] if len(places) > 1 else [None]
        if len(places) > 1:
            model.add_exactly_one(literals)
        finish = start
        for (g, k), literal in zip(places, literals, strict=True):
            p, q = int(a.processing_time[r, k]), int(a.processing_time[r, k] + a.sync_time[r, k])
            if literal is None:
                interval = model.new_fixed_size_interval_var(start, p, "")
                finish = start + q
            else:
                interval = model.new_optional_fixed_size_interval_var(start, p, literal, "")
                finish = finish + q * literal
                own = cp.Domain.from_intervals([list(part) for part in domains[k]])
                if own.flattened_intervals() != union.flattened_intervals():
                    model.add_linear_expression_in_domain(start, own).only_enforce_if(literal)
            self.intervals.setdefault(g, []).append(interval)
        self.start.append(start)
        self.place.append(tuple((g, literal) for (g, _), literal in zip(places, literals, strict=True)))
        return finish

    def _add_capacities(self) -> None:
        a, model = self.instance.arrays, self.model
        for g, intervals in sorted(self.intervals.items()):
            count = 1 if self.formulation.per_gpu else int(a.gpu_count[g])
            if count == 1:
                model.add_no_overlap(intervals)
            elif len(intervals) > count:
                model.add_cumulative(intervals, [1] * len(intervals), count)

    def _add_chain_cuts(self) -> None:
        a, model = self.instance.arrays, self.model
        for n in range(a.num_jobs):
            rounds = range(int(a.round_start[n]), int(a.round_start[n + 1]))
            final = self.finish[rounds[-1]]
            for r in rounds:
                if r > rounds[0] and a.scale[r] > 1:
                    model.add(self.finish[r] >= self.finish[r - 1] + int(self.lengths[r]))
                if r < rounds[-1] - 1:
                    model.add(final >= self.finish[r] + int(self.tail[r]))
