"""Models that cannot be built in time are refused before anything of them is made."""

from __future__ import annotations

import pytest

from hetopt.core.instance import GpuType, Instance, Job, SyncRound
from hetopt.core.objectives import evaluate
from hetopt.core.solver import Limits
from hetopt.core.status import Objective, Status, StopReason
from hetopt.models.clairvoyant.disjunctive_milp import DisjunctiveMilp
from hetopt.models.clairvoyant.interval_cpsat import IntervalCpSat
from hetopt.models.clairvoyant.time_indexed_milp import TimeIndexedMilp
from hetopt.solvers.exact._size import ALWAYS, MOST, RATE, too_large
from hetopt.solvers.run import run


def _long(tasks: int) -> Instance:
    rounds = (SyncRound(repeat=tasks, scale=1, processing_time=(3, 2), sync_time=(1, 1)),)
    return Instance(
        gpu_types=(GpuType(name="a", count=1), GpuType(name="b", count=1)), jobs=(Job(name="j", rounds=rounds),)
    )


@pytest.mark.parametrize("solver", ["cpsat", "cpsat-per-gpu", "milp-time-indexed", "milp-disjunctive"])
def test_nothing_is_built_and_the_reason_is_one_line(monkeypatch, solver):
    def build(*_, **__):
        raise AssertionError("a model is being built")

    for model in (DisjunctiveMilp, IntervalCpSat, TimeIndexedMilp):
        monkeypatch.setattr(model, "build", build)
    instance = _long(ALWAYS)
    plain = run(solver, instance, limits=Limits(time=1.0))
    assert (plain.status, plain.stop_reason) == (Status.FEASIBLE, StopReason.TIME)
    assert "100000 pairs" in plain.message and "\n" not in plain.message
    started = run(solver, instance, limits=Limits(time=1.0), warm_start=plain.incumbent, objective=Objective.MAKESPAN)
    assert started.warm_start == "accepted"
    assert started.objective == evaluate(instance, plain.incumbent, Objective.MAKESPAN)


def test_room_grows_with_the_limit_up_to_what_memory_holds():
    assert not too_large(_long(ALWAYS // 2), Limits(time=0.0))
    assert too_large(_long(ALWAYS // 2 + 1), Limits(time=0.0))
    assert not too_large(_long(10 * RATE // 2), Limits(time=10.0))
    assert too_large(_long(10 * RATE // 2 + 1), Limits(time=10.0))
    assert not too_large(_long(MOST // 2), Limits())
    assert "memory" in too_large(_long(MOST // 2 + 1), Limits())
