"""The kernel: the schedules of the simulator, compiled and plain alike, in pieces, interruptible."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hetopt.instances.generators import generate
from hetopt.solvers import _kernels
from hetopt.solvers.online.tasks import TaskPolicy, TaskSetting, simulate_tasks
from hetopt.solvers.online.tasks.fast import covers, simulate_fast
from hetopt.solvers.online.tasks.policies.keyed import Fifo, FifoGang, Srtf, Wspt
from hetopt.solvers.online.tasks.policies.service import Hlas, HlasQueues, Las
from tests.solvers.online.tasks.test_engine import _Stop
from tests.solvers.random_instances import random_instance

POLICIES: list[TaskPolicy] = [
    *(Fifo(), Srtf(), Wspt(), Las(), Hlas(), HlasQueues(queues=(2, 5)), Las(queues=(4,))),
    *(Hlas(capability="mean"), Hlas(capability="worst", tie="job"), Hlas(weighted=True, placement="first")),
]


def same(one, other) -> bool:
    columns = ("gpu", "start", "end", "sync_end", "taken", "given", "finish")
    return all(np.array_equal(getattr(one, c), getattr(other, c)) for c in columns)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(seed=st.integers(0, 10_000), policy=st.sampled_from(POLICIES))
def test_plain_twin_and_simulator_agree(seed: int, policy: TaskPolicy) -> None:
    instance = random_instance(seed, max_tasks=16)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(_kernels.SWITCH, "1")
        assert same(simulate_fast(instance, policy), simulate_tasks(instance, policy))
        assert same(simulate_fast(instance, policy, chunk=1), simulate_tasks(instance, policy))


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_busy_cluster_in_both_twins(policy: TaskPolicy, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = generate(
        jobs=60, seed=4, family="poisson", rounds=3, scale=3, load=1.5, gpus={"V100": 3, "T4": 5, "K80": 2}
    )
    slow = simulate_tasks(instance, policy)
    monkeypatch.setenv(_kernels.SWITCH, "1")
    plain = simulate_fast(instance, policy, chunk=17)
    assert same(plain, slow)
    monkeypatch.setenv(_kernels.SWITCH, "0")
    if _kernels.numba_usable():
        compiled = simulate_fast(instance, policy, chunk=17)
        assert same(compiled, plain)
        assert compiled.events == plain.events


def test_what_the_kernel_does_not_cover_goes_to_the_simulator() -> None:
    instance = random_instance(3, max_tasks=8)
    for policy, setting in (
        (Hlas(charge="end"), TaskSetting()),
        (Fifo(), TaskSetting(noise=0.2)),
        (Fifo(), TaskSetting(switch_ticks=1)),
    ):
        assert not covers(policy, setting)
        assert same(simulate_fast(instance, policy, setting), simulate_tasks(instance, policy, setting))
    assert not covers(FifoGang())


def test_interrupted_between_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_kernels.SWITCH, "1")
    instance = generate(jobs=20, seed=4, family="poisson", rounds=3)
    whole = simulate_fast(instance, Hlas())
    heard: list[int] = []
    part = simulate_fast(instance, Hlas(), observer=_Stop(3), chunk=10, listener=lambda p: heard.append(p.events))
    assert part.interrupted
    assert not part.complete
    assert len(heard) == 3
    on = part.start >= 0
    assert on.any()
    assert np.array_equal(part.start[on], whole.start[on])
