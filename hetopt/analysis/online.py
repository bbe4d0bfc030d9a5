"""Online runs against the truth: certified lower bounds and proved optima of the same instance.

An online policy is compared with what an offline scheduler could do at best.  For a run of value V and a valid lower
bound L on the optimum, V / L is at least the ratio V / OPT: an *empirical competitive ratio* that errs on the safe side; on
small instances OPT itself is proved, and the ratio is exact.  The objective is the sum of weighted flow times (the weighted JCT)
unless said otherwise.  Bounds are checked in exact arithmetic (see ``hetopt.analysis.bounds``) and used only if VERIFIED.

With switching costs and without noise every run is a feasible offline schedule, so the comparison holds
as it is.  With noise the true times differ from those of the instance, and no comparison with its bounds is made.

The ``sweep_...`` functions run all policies over instances that differ in one knob; they return plain rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from hetopt.analysis.bounds import compute_bounds
from hetopt.analysis.gaps import ratio
from hetopt.analysis.metrics import Summary, job_metrics, summarise
from hetopt.core.errors import InputError, UsageError, VerificationError, shown
from hetopt.core.instance import Instance
from hetopt.core.simulation import PolicyOutcome
from hetopt.core.solver import Limits
from hetopt.core.status import Objective, Status, Trust
from hetopt.solvers.online.catalogue import POLICIES
from hetopt.solvers.online.tasks.engine import make_policy, simulate_tasks
from hetopt.solvers.online.tasks.outcome import TaskRun
from hetopt.solvers.online.tasks.setting import TaskSetting
from hetopt.solvers.online.tasks.view import TaskPolicy
from hetopt.solvers.run import run

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "KINDS",
    "OnlineComparison",
    "OnlineRow",
    "compare_online",
    "competitive_rows",
    "geometric_means",
    "ratio_cdf",
    "slowdown_cdf",
    "sweep_alpha",
    "sweep_gpus",
    "sweep_load",
    "sweep_sync",
    "task_policies",
]

KINDS: Final = ("midpoint-lp", "combinatorial")
"""Relaxations that are quick at every size; their bounds are the yardstick unless others are named."""


def task_policies() -> tuple[str, ...]:
    """Names of the task-level policies in the catalogue."""
    return tuple(entry.name for entry in POLICIES if entry.kind == "tasks")


@dataclass(frozen=True)
class OnlineRow:
    """One policy on one instance.

    Attributes
    ----------
    label, knows, gang
        The policy, its clairvoyance, and whether it schedules gangs.
    value
        Objective of the run; None where the policy cannot run the instance (``message`` says why).
    ratio_to_bound
        value / best verified lower bound: at least the true ratio.
    ratio_to_optimum
        value / proved optimum; None where none was asked for or proved.
    summary
        Flow times, slowdowns, utilisation, fairness of slowdowns.
    outcome
        Job by job, with series over time.
    """

    label: str
    knows: str
    gang: bool
    value: int | None
    ratio_to_bound: Fraction | None
    ratio_to_optimum: Fraction | None
    summary: Summary | None = None
    outcome: PolicyOutcome | None = None
    message: str = ""


@dataclass(frozen=True)
class OnlineComparison:
    """Policies on one instance, with the bound and the optimum that they are held against."""

    instance: Instance
    objective: Objective
    bound: Fraction | None
    bound_kind: str | None
    optimum: int | None
    rows: tuple[OnlineRow, ...]
    setting: TaskSetting = field(default_factory=TaskSetting)

    def __getitem__(self, label: str) -> OnlineRow:
        for row in self.rows:
            if row.label == label:
                return row
        raise KeyError(label)

    def to_rows(self) -> list[dict[str, Any]]:
        """Plain values, one mapping a policy; times in seconds."""
        tick = self.instance.tick_seconds
        out = []
        for row in self.rows:
            s = row.summary

            def seconds(value: Fraction | None) -> float | None:
                return None if value is None else float(value) * tick

            out.append(
                {
                    "instance": self.instance.name,
                    "policy": row.label,
                    "knows": row.knows,
                    "gang": row.gang,
                    "value": row.value,
                    "bound": None if self.bound is None else float(self.bound),
                    "optimum": self.optimum,
                    "ratio_to_bound": None if row.ratio_to_bound is None else float(row.ratio_to_bound),
                    "ratio_to_optimum": None if row.ratio_to_optimum is None else float(row.ratio_to_optimum),
                    "mean_jct": None if s is None else seconds(s.flow_time.mean),
                    "p99_jct": None if s is None else seconds(s.flow_time.p99),
                    "mean_slowdown": None if s is None or s.slowdown.mean is None else float(s.slowdown.mean),
                    "worst_slowdown": None if s is None or s.slowdown.largest is None else float(s.slowdown.largest),
                    "jain_index": None if s is None or s.jain_index is None else float(s.jain_index),
                    "utilisation": None if row.outcome is None else row.outcome.utilisation,
                    "longest_queue": None if row.outcome is None else _longest(row.outcome),
                    "makespan": None if s is None else s.makespan * tick,
                    "message": row.message,
                }
            )
        return out

    def to_pandas(self) -> pd.DataFrame:
        """:meth:`to_rows` as a data frame."""
        import pandas as pd

        return pd.DataFrame(self.to_rows())

    def to_markdown(self) -> str:
        """A table: value, ratios, mean JCT, slowdown, use."""
        lines = [
            "| policy | knows | value | / bound | / optimum | mean JCT (s) | mean slowdown | use |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
        ]

        def cell(value: Any, form: str = "") -> str:
            return "-" if value is None else format(value, form)

        for row in self.to_rows():
            cells = [
                *(row["policy"], row["knows"], cell(row["value"])),
                *(cell(row["ratio_to_bound"], ".3f"), cell(row["ratio_to_optimum"], ".3f")),
                *(cell(row["mean_jct"], ".1f"), cell(row["mean_slowdown"], ".2f"), cell(row["utilisation"], ".1%")),
            ]
            lines.append(f"| {' | '.join(cells)} |")
        return "\n".join(lines)


def _longest(outcome: PolicyOutcome) -> float:
    return max((value for _, value in outcome.series.get("waiting jobs", ())), default=0.0)


def _best_bound(
    instance: Instance, kinds: Sequence[str], objective: Objective, seconds: float | None
) -> tuple[Fraction | None, str | None]:
    """The largest VERIFIED bound and its kind."""
    found = compute_bounds(instance, kinds, objective=objective, time_limit=seconds)
    known = [(row.exact, row.kind) for row in found if row.exact is not None and row.trust is Trust.VERIFIED]
    best = max(known, key=lambda item: item[0], default=None)
    return (None, None) if best is None else best


def _optimum(instance: Instance, objective: Objective, solver: str, seconds: float | None) -> int | None:
    result = run(solver, instance, objective=objective, limits=Limits(time=seconds))
    return result.objective if result.status is Status.OPTIMAL else None


def compare_online(
    instance: Instance,
    policies: Iterable[str | TaskPolicy] | None = None,
    *,
    objective: Objective | str = Objective.TOTAL_WEIGHTED_FLOW,
    kinds: Sequence[str] = KINDS,
    optimum: bool = False,
    solver: str = "cpsat",
    time_limit: float | None = 30.0,
    setting: TaskSetting | None = None,
    seed: int = 0,
    params: Mapping[str, Mapping[str, Any]] | None = None,
    listener: Callable[[OnlineRow], None] | None = None,
) -> OnlineComparison:
    """Run policies on an instance and hold them against its bounds.

    Parameters
    ----------
    instance
        Jobs with release dates.
    policies
        Names or policy objects; every task-level policy by default.
    objective
        Flow times by default.
    kinds
        Relaxations for the bound.
    optimum
        Whether to prove the optimum as well (small instances).
    solver, time_limit
        For the optimum and the bounds: an exact solver, and seconds for each.
    setting, seed
        Rules of the simulation.
    params
        Parameters by policy name.
    listener
        Hears each row.

    Raises
    ------
    UsageError
        A name that is no task-level policy, or a wrong parameter.
    VerificationError
        A run below a lower bound or a proved optimum: one of the two would be wrong.
    """
    goal, rules = Objective(objective), setting or TaskSetting()
    made: list[TaskPolicy] = []
    for given in task_policies() if policies is None else policies:
        if isinstance(given, str):
            entry = POLICIES.entry(given)
            if entry.kind != "tasks":
                raise UsageError(
                    f"{given} is a policy of the round-based simulator; task-level ones: {', '.join(task_policies())}"
                )
            made.append(make_policy(entry.load(), dict((params or {}).get(given, {}))))
        else:
            made.append(given)
    if not made:
        raise UsageError(f"policies {shown(policies)}: name at least one")
    bound, kind, best = None, None, None
    if not rules.noise:
        bound, kind = _best_bound(instance, kinds, goal, time_limit)
        best = _optimum(instance, goal, solver, time_limit) if optimum else None
    rows = []
    for policy in made:
        row = _row(instance, policy, goal, rules, seed, bound, best)
        rows.append(row)
        if listener is not None:
            listener(row)
    return OnlineComparison(instance, goal, bound, kind, best, tuple(rows), rules)


def _row(
    instance: Instance,
    policy: TaskPolicy,
    goal: Objective,
    rules: TaskSetting,
    seed: int,
    bound: Fraction | None,
    best: int | None,
) -> OnlineRow:
    knows = policy.clairvoyance.words
    try:
        done: TaskRun = simulate_tasks(instance, policy, rules, seed=seed)
    except (
        InputError
    ) as error:  # the policy cannot run this instance (a gang larger than the cluster): said, not hidden
        return OnlineRow(policy.name, knows, policy.gang, None, None, None, message=str(error).splitlines()[0])
    value = done.value(goal)
    for name, least in (("lower bound", bound), ("proved optimum", best)):
        if least is not None and value < least:
            raise VerificationError(f"{policy.name} has value {value} on {instance.name!r}, below the {name} {least}")
    return OnlineRow(
        label=policy.name,
        knows=knows,
        gang=policy.gang,
        value=value,
        ratio_to_bound=ratio(value, bound),
        ratio_to_optimum=ratio(value, best),
        summary=summarise(instance, done.schedule),
        outcome=done.outcome(),
    )


def ratio_cdf(comparisons: Iterable[OnlineComparison]) -> dict[str, list[tuple[float, float]]]:
    """Per policy the points (ratio, share of the instances with at most that ratio); to the optimum where proved."""
    values: dict[str, list[float]] = {}
    for comparison in comparisons:
        for row in comparison.rows:
            found = row.ratio_to_bound if row.ratio_to_optimum is None else row.ratio_to_optimum
            if found is not None:
                values.setdefault(row.label, []).append(float(found))
    return {
        label: [(v, (i + 1) / len(ordered)) for i, v in enumerate(ordered)]
        for label, ordered in ((label, sorted(found)) for label, found in values.items())
    }


def slowdown_cdf(run_: TaskRun) -> list[tuple[float, float]]:
    """Points (slowdown, share of the jobs with at most that slowdown) of a run."""
    ordered = sorted(float(job.slowdown) for job in job_metrics(run_.instance, run_.schedule))
    return [(v, (i + 1) / len(ordered)) for i, v in enumerate(ordered)]


def competitive_rows(
    instances: Iterable[tuple[Mapping[str, Any], Instance]],
    policies: Iterable[str | TaskPolicy] | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """:func:`compare_online` over instances; each row begins with the instance's own knobs.

    Parameters
    ----------
    instances
        Pairs of knobs (for the rows) and instance.
    policies, options
        As for :func:`compare_online`.
    """
    chosen = None if policies is None else list(policies)
    return [
        {**knobs, **row}
        for knobs, instance in instances
        for row in compare_online(instance, chosen, **options).to_rows()
    ]


def _generated(
    knob: str, values: Iterable[Any], seeds: Iterable[int], knobs: Mapping[str, Any]
) -> list[tuple[dict[str, Any], Instance]]:
    from hetopt.instances.generators import generate

    chosen = list(seeds)
    out = []
    for value in values:
        for seed in chosen:
            made = generate(**{"family": "poisson", **knobs, knob: value, "seed": seed})
            out.append(({knob: str(value) if isinstance(value, dict) else value, "seed": seed}, made))
    return out


def sweep_alpha(
    values: Iterable[float] = (1, 2, 3, 4, 6, 8, 10),
    policies: Iterable[str] | None = None,
    *,
    seeds: Iterable[int] = range(3),
    knobs: Mapping[str, Any] | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """Heterogeneity: the largest ratio of a task's times over the GPU types, from 1 (alike) to 10."""
    return competitive_rows(_generated("alpha", values, seeds, knobs or {}), policies, **options)


def sweep_load(
    values: Iterable[float] = (0.3, 0.5, 0.7, 0.9, 1.1, 1.3),
    policies: Iterable[str] | None = None,
    *,
    seeds: Iterable[int] = range(3),
    knobs: Mapping[str, Any] | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """Load: work that arrives over what the cluster can do."""
    return competitive_rows(_generated("load", values, seeds, knobs or {}), policies, **options)


def sweep_sync(
    values: Iterable[float] = (0, 0.1, 0.2, 0.3, 0.5),
    policies: Iterable[str] | None = None,
    *,
    seeds: Iterable[int] = range(3),
    knobs: Mapping[str, Any] | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """Share of a round's time that is synchronisation."""
    return competitive_rows(_generated("sync", values, seeds, knobs or {}), policies, **options)


def sweep_gpus(
    values: Iterable[Mapping[str, int]] = (
        {"V100": 1, "T4": 1},
        {"V100": 2, "T4": 2},
        {"V100": 4, "T4": 4},
        {"V100": 8, "T4": 8},
    ),
    policies: Iterable[str] | None = None,
    *,
    seeds: Iterable[int] = range(3),
    knobs: Mapping[str, Any] | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """Number of GPUs."""
    return competitive_rows(_generated("gpus", [dict(v) for v in values], seeds, knobs or {}), policies, **options)


def geometric_means(
    rows: Iterable[Mapping[str, Any]], knob: str, measure: str = "ratio_to_bound"
) -> dict[tuple[Any, str], float]:
    """Geometric mean of a measure by (knob, policy), over the rows that have it."""
    logs: dict[tuple[Any, str], list[float]] = {}
    for row in rows:
        if row[measure] is not None:
            logs.setdefault((row[knob], row["policy"]), []).append(math.log(row[measure]))
    return {key: math.exp(math.fsum(values) / len(values)) for key, values in logs.items()}
