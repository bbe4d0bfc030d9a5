"""Online runs against bounds and optima: ratios, refusals, tables, sweeps."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from hetopt.analysis import online
from hetopt.analysis.online import (
    compare_online,
    geometric_means,
    ratio_cdf,
    slowdown_cdf,
    sweep_alpha,
    sweep_gpus,
    sweep_load,
    sweep_sync,
    task_policies,
)
from hetopt.core.errors import UsageError, VerificationError
from hetopt.solvers.online.tasks import TaskSetting, simulate_tasks
from hetopt.solvers.online.tasks.policies.keyed import Fifo
from tests.conftest import make_instance
from tests.oracle import optimum as true_optimum
from tests.solvers.random_instances import random_instance

SMALL = make_instance(
    {"a": 1, "b": 1},
    [(1, 0, [(2, [4, 9], [1, 1])]), (3, 1, [(1, [2, None], [0, None])]), (1, 2, [(1, [3, 5], [0, 0])])],
)


def test_every_policy_is_between_the_bound_and_its_ratio() -> None:
    found = compare_online(SMALL, optimum=True, time_limit=10)
    assert found.optimum == true_optimum(SMALL, "total-weighted-flow")
    assert found.bound is not None
    assert 0 < found.bound <= found.optimum
    assert {row.label for row in found.rows} == set(task_policies())
    for row in found.rows:
        if row.value is None:
            assert row.gang
            assert row.message
            continue
        assert row.ratio_to_optimum == Fraction(row.value, found.optimum)
        assert row.ratio_to_optimum >= 1
        assert row.ratio_to_bound == row.value / found.bound
    text = found.to_markdown()
    assert text.count("\n") == len(found.rows) + 1
    json.dumps(found.to_rows())
    assert found["fifo"].label == "fifo"


def test_a_run_below_a_bound_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(online, "_best_bound", lambda *args: (Fraction(10**6), "made up"))
    with pytest.raises(VerificationError, match="below the lower bound 1000000"):
        compare_online(SMALL, ["fifo"])


def test_with_noise_no_bound_is_claimed() -> None:
    found = compare_online(SMALL, ["fifo"], setting=TaskSetting(noise=0.2))
    assert found.bound is None
    assert found.rows[0].ratio_to_bound is None


def test_names_are_checked() -> None:
    with pytest.raises(UsageError, match="round-based"):
        compare_online(SMALL, ["fft"])
    with pytest.raises(UsageError, match="no parameter"):
        compare_online(SMALL, ["hlas"], params={"hlas": {"speed": 1}})


def test_distributions() -> None:
    comparisons = [compare_online(random_instance(seed, 8), ["fifo", "hlas"], time_limit=5) for seed in range(4)]
    for points in ratio_cdf(comparisons).values():
        assert [share for _, share in points] == [0.25, 0.5, 0.75, 1.0]
        assert all(v >= 1 for v, _ in points)
        assert points == sorted(points)
    points = slowdown_cdf(simulate_tasks(SMALL, Fifo()))
    assert points[-1][1] == 1.0
    assert all(v >= 1 for v, _ in points)


@pytest.mark.parametrize(
    ("sweep", "knob", "values"),
    [
        (sweep_alpha, "alpha", (1, 10)),
        (sweep_load, "load", (0.3, 1.5)),
        (sweep_sync, "sync", (0, 0.5)),
        (sweep_gpus, "gpus", ({"V100": 1}, {"V100": 2})),
    ],
)
def test_sweeps_vary_one_knob(sweep: Any, knob: str, values: tuple[Any, ...]) -> None:
    rows = sweep(values, ["hlas", "fifo"], seeds=(0, 1), knobs={"jobs": 5, "rounds": 2, "scale": 1}, time_limit=5)
    assert len(rows) == 2 * 2 * 2
    means = geometric_means(rows, knob)
    assert len(means) == 4
    assert all(value >= 1 for value in means.values())
    keys = [str(v) if isinstance(v, dict) else v for v in values]
    assert {row[knob] for row in rows} == set(keys)
    if knob == "load":
        assert means[1.5, "fifo"] > means[0.3, "fifo"]
