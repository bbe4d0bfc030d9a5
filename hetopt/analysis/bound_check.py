"""The approximation-bound checker: every step of the proof, on one instance, in exact arithmetic.

List scheduling in the order of midpoints of the LP is within a factor K of the LP, job by job
(theory pages, Theorems 1 and 2).  ``check_bound`` takes the midpoints, makes them an exact LP point,
builds the list schedule by a placement rule and verifies the seventeen steps; then it compares what
was measured with what is proved (K; alpha Phi_e(M); 3 alpha when no later round is shorter) and with
what the papers claim (alpha (2 + alpha), which is false for some instances of this model).

Complexity: O(T^2) exact operations for T tasks, at worst T times the longest path.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, PrivateAttr

from hetopt.analysis.certify.midpoint.constants import constants_of, phi
from hetopt.analysis.certify.midpoint.lists import Rule, list_order, list_schedule
from hetopt.analysis.certify.midpoint.steps import Evidence, OutOfTime, check_steps
from hetopt.analysis.certify.midpoint.tasks import TaskProblem
from hetopt.analysis.explain_bound import paragraph
from hetopt.analysis.midpoint_point import exact_evidence, midpoints_of_instance, midpoints_of_tasks
from hetopt.core.documents import Document, Part, exact_text, parse_exact
from hetopt.core.errors import Fault, InputError, NoSolutionError, UsageError
from hetopt.core.feasibility import violations
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.schedule import Schedule

__all__ = ["BoundCheck", "Constant", "Ratios", "StepRow", "check_bound"]

Exact = int | str


def _text(value: Fraction | int | None) -> Exact | None:
    return None if value is None else exact_text(value)


class StepRow(Part):
    """One step: the inequality ``left <= right`` with the least room, or the first one that is broken."""

    id: int
    name: str
    ok: bool
    left: Exact | None
    right: Exact | None
    where: str
    checked: int


class Constant(Part):
    """What the data say: see the theory page (null: infinite)."""

    gpus: int
    alpha_p: Exact
    alpha_s: Exact | None
    alpha_c: Exact
    alpha: Exact | None
    capacity: Exact
    weakest: Exact
    rho: Exact
    e: Exact
    psi: Exact
    forbidden: bool


class Ratios(Part):
    """Values (ticks x weight) and their quotients, exact; null where unknown."""

    lower_bound: Exact
    point_value: Exact
    list_value: Exact
    best_known: Exact
    optimum: Exact | None
    list_to_bound: Exact | None
    list_to_best_known: Exact
    list_to_optimum: Exact | None
    lp_solved_exactly: bool


class BoundCheck(Document):
    """Outcome of :func:`check_bound` (document ``hetopt/check``).

    ``K`` is proved for this instance; ``alpha_phi`` and ``three_alpha`` are null where they are not
    claimed (some task may not run everywhere, alpha is infinite, a later round is shorter);
    ``published`` is alpha (2 + alpha), the papers' claim, and ``published_is_proved`` says whether
    it follows here from what is proved.
    """

    format: Literal["hetopt/check"] = "hetopt/check"
    version: Literal[1] = 1
    fingerprint: str
    name: str
    rule: str
    ok: bool
    steps: Annotated[tuple[StepRow, ...], BeforeValidator(lambda v: tuple(v) if isinstance(v, list) else v)]
    K: Exact
    alpha_phi: Exact | None
    three_alpha: Exact | None
    published: Exact | None
    published_is_proved: bool
    constants: Constant
    ratios: Ratios

    _evidence: Evidence | None = PrivateAttr(default=None)

    def __bool__(self) -> bool:
        return self.ok

    @property
    def evidence(self) -> Evidence:
        """Problem, LP point, list and schedule that were checked (not part of the document)."""
        if self._evidence is None:
            raise UsageError("a check read from a file has no evidence; run check_bound on the instance")
        return self._evidence

    @property
    def failed(self) -> tuple[StepRow, ...]:
        """Steps that do not hold."""
        return tuple(step for step in self.steps if not step.ok)

    def explain(self) -> str:
        """Each step in words, with its numbers; then what the ratios say."""
        return "\n\n".join(self._paragraphs())

    def _paragraphs(self) -> Iterator[str]:
        c = self.constants
        title = self.name or "the instance"
        yield (
            f"The midpoint bound on {title}, placement rule {self.rule}: {c.gpus} GPUs, "
            f"alpha_p = {c.alpha_p}, alpha_c = {c.alpha_c}, rho = {c.rho}, e = {c.e}, V = {c.capacity}, W = {c.weakest}."
        )
        for step in self.steps:
            yield paragraph(step.id, step.name, step.ok, step.left, step.right, step.where, step.checked)
        r = self.ratios
        lines = [
            f"The list schedule has value {r.list_value}; the LP is at least {_short(r.lower_bound)}"
            + (" (its exact optimum)." if r.lp_solved_exactly else "."),
            f"Measured: at most {_short(r.list_to_bound)} times the LP."
            if r.list_to_bound is not None
            else "The lower bound is 0.",
        ]
        if r.list_to_optimum is not None:
            lines.append(f"Measured against the optimum {r.optimum}: {_short(r.list_to_optimum)}.")
        else:
            lines.append(f"Against the best known schedule ({r.best_known}): at least {_short(r.list_to_best_known)}.")
        lines.append(f"Proved for this instance: K = {_short(self.K)}.")
        if self.alpha_phi is not None:
            lines.append(
                f"Proved for all instances with these alpha, rho and M: alpha Phi_e(M) = {_short(self.alpha_phi)}."
            )
        if self.three_alpha is not None:
            lines.append(f"Proved because no later round of a job is shorter: 3 alpha = {_short(self.three_alpha)}.")
        if self.published is not None:
            status = (
                "follows here from what is proved" if self.published_is_proved else "is not proved here and can fail"
            )
            lines.append(f"Claimed by the papers: alpha (2 + alpha) = {_short(self.published)}; this {status}.")
        elif c.forbidden:
            lines.append(
                "Some task may not run on every GPU: the constants that depend on alpha alone are not claimed."
            )
        else:
            lines.append("alpha is infinite (a shortest sync time is 0, another is not): only K says something.")
        yield "\n".join(lines)

    def to_json(self) -> str:
        """The document as text, one step a line."""
        return super().to_json()


def _short(value: Exact | None) -> str:
    if value is None:
        return "unknown"
    number = parse_exact(value, "value")
    return str(number) if number.denominator == 1 else f"{float(number):.6g}"


def check_bound(
    instance: Instance | TaskProblem,
    rule: str | Rule = Rule.R1,
    *,
    midpoints: Sequence[Fraction | float] | None = None,
    schedules: Sequence[Schedule | Fraction | int] = (),
    optimum: Fraction | int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
) -> BoundCheck:
    """Check the guarantee of midpoint list scheduling on one instance, step by step.

    Parameters
    ----------
    instance
        A document, or tasks with their own times on every GPU.
    rule
        R1 (earliest available GPU), R2 (fastest GPU that does not delay the task) or R3 (insertion).
    midpoints : (T,)
        Midpoints to use, in ticks; default: those of the LP, solved in floating point.  Any numbers
        do: they are repaired to a feasible point, for which the theorems hold, too.
    schedules
        Feasible schedules known from elsewhere (or the values of such), to compare with.
    optimum
        The optimal value, where it is known.
    time_limit
        Seconds in all.
    seed
        Seed of the LP solver.

    Raises
    ------
    UsageError
        An unknown rule, or midpoints of the wrong number.
    InputError
        A given schedule is infeasible.
    NoSolutionError
        The time limit was reached before all steps were checked.
    """
    begin = time.monotonic()
    try:
        rule = Rule(rule)
    except ValueError:
        raise UsageError(f"no placement rule is called {rule!r}; known: {', '.join(Rule)}") from None
    values = tuple(_value(instance, item) for item in schedules)
    problem = instance if isinstance(instance, TaskProblem) else TaskProblem.from_instance(instance)
    split: Sequence[Fraction | float]
    if midpoints is not None:
        if len(midpoints) != problem.num_tasks:
            raise UsageError(f"{len(midpoints)} midpoints for {problem.num_tasks} tasks: one a task is needed")
        found: Sequence[Fraction | float] = midpoints
        split = [Fraction(0)] * problem.num_tasks
    elif isinstance(instance, TaskProblem):
        found, split = midpoints_of_tasks(problem)
    else:
        found, split = midpoints_of_instance(instance, time_limit=time_limit, seed=seed)
    lp = exact_evidence(problem, found, split)
    order = list_order(lp.point.midpoint)
    schedule = list_schedule(lp.problem, order, rule)
    known = values if optimum is None else (*values, Fraction(optimum))
    evidence = Evidence(lp.problem, constants_of(lp.problem), lp.point, order, schedule, rule, lp.split, known)
    name, fingerprint = ("", "") if isinstance(instance, TaskProblem) else (instance.name, instance.fingerprint)
    if time_limit is None:
        return summary(evidence, name, fingerprint, optimum)
    end = begin + time_limit
    try:
        return summary(evidence, name, fingerprint, optimum, lambda: time.monotonic() > end)
    except OutOfTime:
        raise NoSolutionError(
            f"the time limit of {time_limit:g} s was reached before all steps were checked; allow more"
        ) from None


def _value(instance: Instance | TaskProblem, item: Schedule | Fraction | int) -> Fraction:
    if not isinstance(item, Schedule):
        return Fraction(item)
    if isinstance(instance, TaskProblem):
        raise UsageError("with tasks of their own times, give the values of schedules")
    broken = violations(instance, item)
    if broken:
        raise InputError(
            Fault("schedules", str(broken[0]), "a schedule to compare with is feasible", "leave it out or correct it")
        )
    return Fraction(evaluate(instance, item))


def summary(
    evidence: Evidence,
    name: str,
    fingerprint: str,
    optimum: Fraction | int | None = None,
    stop: Callable[[], bool] | None = None,
) -> BoundCheck:
    """Run the steps on given evidence and report."""
    steps = check_steps(evidence, stop)
    c = evidence.constants
    lower, value = evidence.lower_bound, evidence.list_value
    best = min((value, *evidence.schedule_values))
    alpha = None if c.forbidden else c.alpha
    alpha_phi = None if alpha is None else alpha * phi(c.num_gpus, c.e)
    three = 3 * alpha if alpha is not None and c.e == 1 else None
    published = None if alpha is None else alpha * (2 + alpha)
    ratio: Any = value / lower if lower > 0 else None
    rows = tuple(
        StepRow(
            id=s.id, name=s.name, ok=s.ok, left=_text(s.left), right=_text(s.right), where=s.where, checked=s.checked
        )
        for s in steps
    )
    made = BoundCheck(
        fingerprint=fingerprint,
        name=name,
        rule=str(evidence.rule),
        ok=all(s.ok for s in steps),
        steps=rows,
        K=exact_text(evidence.factor),
        alpha_phi=_text(alpha_phi),
        three_alpha=_text(three),
        published=_text(published),
        published_is_proved=published is not None and alpha_phi is not None and alpha_phi <= published,
        constants=Constant(
            gpus=c.num_gpus,
            alpha_p=exact_text(c.alpha_p),
            alpha_s=_text(c.alpha_s),
            alpha_c=exact_text(c.alpha_c),
            alpha=_text(c.alpha),
            capacity=exact_text(c.capacity),
            weakest=exact_text(c.weakest),
            rho=exact_text(c.rho),
            e=exact_text(c.e),
            psi=exact_text(evidence.start_factor),
            forbidden=c.forbidden,
        ),
        ratios=Ratios(
            lower_bound=exact_text(lower),
            point_value=exact_text(evidence.point_value),
            list_value=exact_text(value),
            best_known=exact_text(best),
            optimum=_text(optimum),
            list_to_bound=_text(ratio),
            list_to_best_known=exact_text(value / best),
            list_to_optimum=None if optimum is None else exact_text(value / Fraction(optimum)),
            lp_solved_exactly=lower == evidence.point_value,
        ),
    )
    made._evidence = evidence
    return made
