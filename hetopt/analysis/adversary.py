"""Search for instances on which a list-scheduling rule does badly, and keep them with proofs.

Method: integer neighbourhood search over small instances on M alike GPUs (alpha = 1), from random
starts and from the families of the theory pages.  A quick estimate (everything at its earliest
midpoint, the cheapest job lifted until the load inequalities hold) filters candidates; what passes
is measured: the rule itself is run, a good schedule is found, and the ratio rule / schedule is exact.
It is a proved lower bound on rule / optimum, because the schedule is there to be checked.

No guarantee how large a ratio is found.  O(tasks log tasks) a candidate, a linear program for those
that pass the filter.  Each step has its own random generator, so a search that is resumed does the
same as one that was never stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from hetopt.analysis.adversary_moves import Genome, Rounds, as_instance, estimate, family_starts, random_genome, varied
from hetopt.analysis.certify import check_certificate
from hetopt.analysis.certify.midpoint.tasks import TaskProblem
from hetopt.analysis.witness import best_witness
from hetopt.core.certificate import Certificate
from hetopt.core.documents import Document, Part, exact_text, parse_exact
from hetopt.core.errors import OutputError, UsageError, VerificationError
from hetopt.core.feasibility import violations
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.schedule import Schedule
from hetopt.core.seeds import generator
from hetopt.core.solver import Limits
from hetopt.core.status import SolverKind
from hetopt.solvers.catalogue import SOLVERS
from hetopt.solvers.run import run

__all__ = ["Champion", "HallOfFame", "Progress", "Rounds", "champions", "search"]

_FILE: Final = "hall-of-fame.json"
_SIZE: Final = 12


class Champion(Part):
    """One instance of the hall of fame.

    ``ratio`` = ``rule_value`` / ``schedule_value``, exact; files are beside the hall: the instance,
    both schedules, and a certificate that bounds the optimum from below.
    """

    name: str
    ratio: int | str
    rule_value: int
    schedule_value: int
    lower_bound: int | str | None
    tasks: int
    step: int
    genome: Any

    @property
    def exact_ratio(self) -> Fraction:
        """The ratio as a fraction."""
        return parse_exact(self.ratio, "ratio")


class HallOfFame(Document):
    """State of a search (document ``hetopt/hall-of-fame``), enough to resume it."""

    format: Literal["hetopt/hall-of-fame"] = "hetopt/hall-of-fame"
    version: Literal[1] = 1
    rule: str
    rounds: Annotated[Rounds, Field(strict=False)]
    gpus: Annotated[int, Field(ge=1)]
    seed: int
    max_tasks: Annotated[int, Field(ge=1)]
    families: bool
    steps: Annotated[int, Field(ge=0)]
    measured: Annotated[int, Field(ge=0)]
    entries: Annotated[tuple[Champion, ...], BeforeValidator(lambda v: tuple(v) if isinstance(v, list) else v)] = ()

    @property
    def best(self) -> Champion | None:
        """The entry with the largest ratio."""
        return self.entries[0] if self.entries else None


class _Outcome(StrEnum):
    FILTERED = "filtered"
    MEASURED = "measured"
    KEPT = "kept"


@dataclass(frozen=True)
class Progress:
    """What a listener is told after a step: how far the search is, and the best entry."""

    step: int
    budget: int
    measured: int
    best: Champion | None
    improved: bool


Listener = Callable[[Progress], None]


def search(
    rule: str = "hare",
    *,
    rounds: Rounds | str = Rounds.ANY,
    gpus: int = 3,
    out: str | Path | None = None,
    budget: int = 2000,
    seed: int = 0,
    max_tasks: int | None = None,
    families: bool = True,
    time_limit: float | None = None,
    listener: Listener | None = None,
    stop: Callable[[], bool] | None = None,
) -> HallOfFame:
    """Search for instances with a large ratio rule / optimum.

    Parameters
    ----------
    rule
        A heuristic of the catalogue.
    rounds
        ``"alike"`` (all rounds of a job equal) or ``"any"``.
    gpus
        M, at least 1.
    out
        Folder of the hall of fame; a search that it holds is resumed.  None: nothing is written.
    budget
        Steps in all (those done before a resume count).
    seed
        Seed of every random choice.
    max_tasks
        Tasks an instance may have; default 5 M + 4.
    families
        Whether to start from the known families, too; otherwise from random instances only.
    time_limit
        Seconds.
    listener, stop
        Called after each step; asked before each step.  Ctrl-C ends the search with what it has.

    Raises
    ------
    UsageError
        Arguments that make no sense, or a folder that holds another search.
    """
    hall = _opened(rule, rounds, gpus, out, budget, seed, max_tasks, families)
    folder = None if out is None else Path(out)
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{folder}: no folder can be made there: {error.strerror}; name another") from None
    end = None if time_limit is None else time.monotonic() + time_limit
    starts = family_starts(hall.gpus, hall.rounds, hall.max_tasks) if hall.families else []
    try:
        while hall.steps < budget and not (stop is not None and stop()) and (end is None or time.monotonic() < end):
            hall, outcome = _step(hall, starts, folder)
            if folder is not None and (outcome is _Outcome.KEPT or hall.steps % 200 == 0):
                hall.save(folder / _FILE)
            if listener is not None:
                listener(Progress(hall.steps, budget, hall.measured, hall.best, outcome is _Outcome.KEPT))
    except KeyboardInterrupt:
        pass  # what has been found is kept, as at the end of the budget
    if folder is not None:
        hall.save(folder / _FILE)
    return hall


def _opened(
    rule: str,
    rounds: Rounds | str,
    gpus: int,
    out: str | Path | None,
    budget: int,
    seed: int,
    max_tasks: int | None,
    families: bool,
) -> HallOfFame:
    if SOLVERS.entry(rule).kind != SolverKind.HEURISTIC:
        raise UsageError(
            f"{rule} is not a heuristic; the adversary searches for instances on which a heuristic does badly"
        )
    try:
        rounds = Rounds(rounds)
    except ValueError:
        raise UsageError(f"rounds {rounds!r}: write one of {', '.join(Rounds)}") from None
    if gpus < 1:
        raise UsageError(f"gpus {gpus}: at least one GPU is needed")
    if budget < 0:
        raise UsageError(f"budget {budget}: a number of steps >= 0 is needed")
    most = 5 * gpus + 4 if max_tasks is None else max_tasks
    if most < 2:
        raise UsageError(f"max_tasks {most}: at least two tasks are needed")
    fresh = HallOfFame(
        rule=rule, rounds=rounds, gpus=gpus, seed=seed, max_tasks=most, families=families, steps=0, measured=0
    )
    path = None if out is None else Path(out) / _FILE
    if path is None or not path.exists():
        return fresh
    found = HallOfFame.load(path)
    for field in ("rule", "rounds", "gpus", "seed", "max_tasks", "families"):
        if getattr(found, field) != getattr(fresh, field):
            raise UsageError(
                f"{path} holds a search with {field} {getattr(found, field)}, not {getattr(fresh, field)}; name another folder"
            )
    return found


def _step(hall: HallOfFame, starts: list[Genome], folder: Path | None) -> tuple[HallOfFame, _Outcome]:
    rng = generator(hall.seed, "adversary", hall.rule, hall.rounds, str(hall.gpus), str(hall.steps))
    candidate = _candidate(hall, starts, rng)
    hall = hall.model_copy(update={"steps": hall.steps + 1})
    known = {_key(entry.genome) for entry in hall.entries}
    floor = hall.entries[-1].exact_ratio if len(hall.entries) >= _SIZE else Fraction(1)
    if candidate is None or candidate in known:
        return hall, _Outcome.FILTERED
    if hall.rule == "hare" and estimate(candidate, hall.gpus) <= floor * Fraction(98, 100):
        return hall, _Outcome.FILTERED
    entry, files = _measure(candidate, hall)
    hall = hall.model_copy(update={"measured": hall.measured + 1})
    if entry.exact_ratio <= floor:
        return hall, _Outcome.MEASURED
    ranked = sorted((*hall.entries, entry), key=lambda e: (-e.exact_ratio, e.step))
    if folder is not None:
        for suffix, document in files.items():
            document.save(folder / f"{entry.name}.{suffix}.json")
        for dropped in ranked[_SIZE:]:
            for path in folder.glob(f"{dropped.name}.*.json"):
                path.unlink()
    return hall.model_copy(update={"entries": tuple(ranked[:_SIZE])}), _Outcome.KEPT


def _candidate(hall: HallOfFame, starts: list[Genome], rng: np.random.Generator) -> Genome | None:
    if hall.steps < len(starts):
        return starts[hall.steps]
    if not hall.entries or rng.random() < 0.05:
        return random_genome(rng, hall.gpus, hall.rounds, hall.max_tasks)
    place = min(int(rng.geometric(0.35)) - 1, len(hall.entries) - 1)
    return varied(rng, _key(hall.entries[place].genome), hall.gpus, hall.rounds, hall.max_tasks)


def _key(genome: Any) -> Genome:
    return tuple((w, a, tuple((d, q, s) for d, q, s in rounds)) for w, a, rounds in genome)


def _documents(instance: Instance, problem: TaskProblem) -> tuple[Schedule, int]:
    found, _ = best_witness(problem, 60)
    schedule = Schedule.from_starts(instance, found.gpu, [start // problem.unit for start in found.start])
    broken = violations(instance, schedule)
    if broken:
        raise VerificationError(f"{instance.name}: the schedule to compare with is infeasible: {broken[0]}")
    return schedule, evaluate(instance, schedule)


def _measure(genome: Genome, hall: HallOfFame) -> tuple[Champion, dict[str, Any]]:
    name = f"{hall.rule}-{hall.rounds}-m{hall.gpus}-{hall.steps:06d}"
    instance = as_instance(genome, hall.gpus, name)
    result = run(hall.rule, instance, limits=Limits(time=30), seed=hall.seed)
    problem = TaskProblem.from_instance(instance)
    schedule, value = _documents(instance, problem)
    rule_value = result.raise_for_status().objective
    assert rule_value is not None
    if rule_value < value:  # the rule itself is the best schedule known
        schedule, value = result.schedule, rule_value
    certificate = _lower_bound(instance)
    files: dict[str, Any] = {"instance": instance, "rule": result.schedule, "schedule": schedule}
    if certificate is not None:
        files["certificate"] = certificate
    entry = Champion(
        name=name,
        ratio=exact_text(Fraction(rule_value, value)),
        rule_value=rule_value,
        schedule_value=value,
        lower_bound=None if certificate is None else exact_text(certificate.bound),
        tasks=instance.num_tasks,
        step=hall.steps,
        genome=genome,
    )
    return entry, files


def _lower_bound(instance: Instance) -> Certificate | None:
    certificate = run("midpoint-lp", instance, limits=Limits(time=30)).certificate
    if certificate is None:
        return None
    verdict = check_certificate(instance, certificate)
    if not verdict.valid:
        raise VerificationError(f"{instance.name}: {'; '.join(verdict.reasons)}")
    return certificate


def champions(folder: str | Path) -> Iterator[tuple[Champion, Instance, Schedule, Schedule]]:
    """Entries of a hall with their instance, the rule's schedule and the schedule to compare with."""
    place = Path(folder)
    for entry in HallOfFame.load(place / _FILE).entries:
        instance = Instance.load(place / f"{entry.name}.instance.json")
        yield (
            entry,
            instance,
            Schedule.load(place / f"{entry.name}.rule.json"),
            Schedule.load(place / f"{entry.name}.schedule.json"),
        )
