"""The wrapper re-checks everything: each way in which a solver may be wrong is refused."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

from hetopt.core.certificate import Bound
from hetopt.core.errors import InfeasibleError, InputError, NoSolutionError, UsageError, VerificationError
from hetopt.core.instance import Instance
from hetopt.core.result import Result
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Limits, Outcome
from hetopt.core.status import Capability, Objective, SolverKind, Status, StopReason, Trust
from hetopt.solvers.run import make_solver, run

GPU = [0, 1, 0, 1, 0, 2, 1, 0, 1, 1]
START = [0, 0, 12, 12, 17, 17, 5, 21, 17, 22]
VALUE = 108


def bound(value: float | Fraction) -> Bound:
    return Bound(Fraction(value), "test", Trust.REPORTED)


@dataclass(frozen=True)
class Fake:
    """Returns what it is told to return."""

    name: ClassVar[str] = "fake"
    kind: ClassVar[SolverKind] = SolverKind.HEURISTIC
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.HEURISTIC})
    objectives: ClassVar[frozenset[Objective]] = frozenset({Objective.TOTAL_WEIGHTED_COMPLETION})
    outcome: Outcome
    recorded: Schedule | None = None
    interrupt: bool = False
    signals: int = 0

    def solve(self, problem: Instance, *, observer, **_: object) -> Outcome:
        if self.recorded is not None:
            observer.record(incumbent=VALUE, schedule=self.recorded)
        for _i in range(self.signals):
            os.kill(os.getpid(), signal.SIGINT)
            assert observer.stop_requested()
        if self.interrupt:
            raise KeyboardInterrupt
        return self.outcome


@pytest.fixture
def schedule(two_jobs: Instance) -> Schedule:
    return Schedule.from_starts(two_jobs, GPU, START)


@pytest.fixture
def worse(two_jobs: Instance) -> Schedule:
    return Schedule.from_starts(two_jobs, GPU, [100 + s for s in START])


def done(schedule: Schedule | None, status: Status = Status.FEASIBLE, **more: object) -> Outcome:
    return Outcome(status, StopReason.EXHAUSTED, schedule, **more)  # type: ignore[arg-type]


def test_objective_is_recomputed(two_jobs: Instance, schedule: Schedule) -> None:
    result = run(Fake(done(schedule)), two_jobs)
    assert (result.objective, result.status, result.bound, result.gap) == (VALUE, Status.FEASIBLE, None, None)
    with pytest.raises(VerificationError, match="claims"):
        run(Fake(done(schedule, claimed=VALUE - 1)), two_jobs)


def test_infeasible_schedules_are_refused(two_jobs: Instance, schedule: Schedule) -> None:
    bad = schedule.replace(start=np.zeros(len(schedule)))
    with pytest.raises(VerificationError, match="infeasible schedule"):
        run(Fake(done(bad)), two_jobs)


def test_a_bound_above_the_value_is_refused(two_jobs: Instance, schedule: Schedule) -> None:
    with pytest.raises(VerificationError, match="above the value"):
        run(Fake(done(schedule, bound=bound(VALUE + 1))), two_jobs)
    with pytest.raises(VerificationError, match="above the value"):
        run(Fake(done(schedule)), two_jobs, bound=bound(Fraction(VALUE * 10 + 1, 10)))


@pytest.mark.parametrize("claim", [None, VALUE - 1])
def test_optimal_needs_an_equal_bound(two_jobs: Instance, schedule: Schedule, claim: int | None) -> None:
    own = None if claim is None else bound(claim)
    with pytest.raises(VerificationError, match="claims OPTIMAL"):
        run(Fake(done(schedule, Status.OPTIMAL, bound=own)), two_jobs)


def test_an_outside_bound_can_prove_optimality(two_jobs: Instance, schedule: Schedule) -> None:
    result = run(Fake(done(schedule)), two_jobs, bound=bound(Fraction(VALUE * 2 - 1, 2)))
    assert (result.status, result.stop_reason, result.gap) == (Status.OPTIMAL, StopReason.PROVED, 0)


def test_infeasible_claims_against_a_witness(two_jobs: Instance, schedule: Schedule) -> None:
    with pytest.raises(VerificationError, match="feasible schedule of value"):
        run(Fake(done(None, Status.INFEASIBLE)), two_jobs, warm_start=schedule)


def test_never_worse_than_the_warm_start(two_jobs: Instance, schedule: Schedule, worse: Schedule) -> None:
    result = run(Fake(done(worse)), two_jobs, warm_start=schedule)
    assert result.objective == VALUE
    assert result.warm_start == "rejected: fake takes no warm start"
    result = run(Fake(done(None, Status.UNKNOWN)), two_jobs, warm_start=schedule)
    assert (result.objective, result.status) == (VALUE, Status.FEASIBLE)


def test_an_infeasible_warm_start_is_told(two_jobs: Instance, schedule: Schedule) -> None:
    bad = schedule.replace(start=np.zeros(len(schedule)))
    result = run(Fake(done(schedule)), two_jobs, warm_start=bad)
    assert result.warm_start is not None
    assert result.warm_start.startswith("rejected: tasks[")


def test_unknown_shows_no_number(two_jobs: Instance) -> None:
    result = run(Fake(done(None, Status.UNKNOWN, message="nothing found")), two_jobs)
    assert (result.objective, result.bound, result.gap, result.incumbent) == (None, None, None, None)
    with pytest.raises(NoSolutionError, match="nothing found"):
        _ = result.schedule
    with pytest.raises(NoSolutionError):
        result.raise_for_status()
    with pytest.raises(TypeError):
        bool(result)
    with pytest.raises(InfeasibleError):
        run(Fake(done(None, Status.INFEASIBLE)), two_jobs).raise_for_status()


def test_interrupt_keeps_the_best(two_jobs: Instance, schedule: Schedule) -> None:
    result = run(Fake(done(None), recorded=schedule, interrupt=True), two_jobs)
    assert (result.objective, result.stop_reason, result.status) == (VALUE, StopReason.INTERRUPTED, Status.FEASIBLE)
    polite = run(Fake(done(schedule), signals=1), two_jobs)
    assert polite.stop_reason is StopReason.INTERRUPTED
    assert not polite.deterministic
    hard = run(Fake(done(None), recorded=schedule, signals=2), two_jobs)
    assert (hard.objective, hard.stop_reason) == (VALUE, StopReason.INTERRUPTED)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"objective": "makespan"}, "does not take"),
        ({"objective": "mean"}, "no objective is called"),
        ({"limits": Limits(time=-1)}, "time limit"),
        ({"limits": Limits(time=float("nan"))}, "time limit"),
        ({"limits": Limits(threads=0)}, "thread"),
        ({"limits": Limits(work=-1)}, "work limit"),
        ({"params": {"a": 1}}, "params"),
    ],
)
def test_calls_that_make_no_sense(two_jobs: Instance, arguments: dict, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        run(Fake(done(None)), two_jobs, **arguments)


def test_unknown_names_get_a_hint() -> None:
    with pytest.raises(UsageError, match="no solver is called 'nosuch'"):
        make_solver("nosuch")


def test_results_round_trip(two_jobs: Instance, schedule: Schedule) -> None:
    result = run(Fake(done(schedule, bound=bound(100))), two_jobs, seed=3)
    again = Result.from_dict(json.loads(result.to_json()))
    assert again.to_dict() == result.to_dict()
    raw = json.loads(result.to_json())
    for change in ({"status": "OPTIMAL"}, {"status": "GOOD"}, {"bound_trust": None}, {"objective": "5"}, {"x": 1}):
        with pytest.raises(InputError):
            Result.from_dict({**raw, **change})
