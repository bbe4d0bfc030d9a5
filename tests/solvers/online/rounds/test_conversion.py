"""Shares into rounds: time received approaches the shares; resets; precedence; idle GPUs are used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from hetopt.solvers.online.rounds import RoundSetting, simulate_rounds
from hetopt.solvers.online.rounds.conversion import SharePolicy
from tests.solvers.online.rounds.workloads import job, make


@dataclass(frozen=True, kw_only=True)
class Given(SharePolicy):
    """The same shares for ever, by name; counts how often it is asked through the log that it is given."""

    name: ClassVar[str] = "given"

    table: tuple[tuple[str, tuple[float, ...]], ...] = ()
    log: Any = None

    def shares(self, state, memory):
        if self.log is not None:
            self.log.append(state.now)
        known = dict(self.table)
        return np.array([known[name] for name in state.names]), None


def held(out, rounds=400):
    return np.array([j.gpu_seconds for j in out.jobs]) / (rounds * 10.0)


def test_time_received_approaches_the_shares():
    shares = (("a", (0.5, 0.25)), ("b", (0.3, 0.2)), ("c", (0.2, 0.55)))
    workload = make(*(job(n, 1e9, (1.0, 1.0)) for n in "abc"))
    out = simulate_rounds(
        workload, Given(table=shares), RoundSetting({"A": 1, "B": 1}, 10.0, max_rounds=400)
    )  # fmt: skip
    assert held(out) == pytest.approx([0.75, 0.5, 0.75], abs=0.02)


def test_a_job_without_a_share_fills_what_is_idle():
    shares = (("a", (1.0, 0.0)), ("b", (0.0, 0.0)))
    workload = make(*(job(n, 1e9, (1.0, 1.0)) for n in "ab"))
    out = simulate_rounds(workload, Given(table=shares), RoundSetting({"A": 1, "B": 1}, 10.0, max_rounds=50))
    assert [j.gpu_seconds for j in out.jobs] == [500.0, 500.0]


def test_shares_are_computed_anew_when_due_and_only_then():
    log = []
    names = [("a", 0.0), ("b", 35.0), ("c", 100.0), ("d", 1000.0)]
    workload = make(*(job(n, 1e9, (1.0, 1.0), arrival=t) for n, t in names))
    shares = tuple((n, (0.5, 0.5)) for n, _ in names)
    simulate_rounds(
        workload, Given(table=shares, log=log, reset_seconds=200), RoundSetting({"A": 4, "B": 4}, 10.0, max_rounds=150)
    )
    # the first reset is at 0, which counts as none; c must wait until 200 s after the one at 40; d need not wait
    assert log == [0.0, 40.0, 240.0, 1000.0]
    log.clear()
    simulate_rounds(
        workload, Given(table=shares, log=log, reset_seconds=0), RoundSetting({"A": 4, "B": 4}, 10.0, max_rounds=150)
    )
    assert log == [0.0, 40.0, 100.0, 1000.0]


def test_a_large_job_that_does_not_fit_is_passed_over():
    shares = (("big", (1.0, 0.0)), ("small", (0.1, 0.0)))
    workload = make(job("small", 1e9, (1.0, None)), job("big", 1e9, (1.0, None), demand=2), kinds=("A", "B"))
    out = simulate_rounds(workload, Given(table=shares), RoundSetting({"A": 2, "B": 1}, 10.0, max_rounds=200))
    small, big = (j.gpu_seconds / d for j, d in zip(out.jobs, (1, 2), strict=True))
    assert small + big == pytest.approx(2000) and big == pytest.approx(2000 * 1.0 / 1.1, rel=0.03)
