"""Max-min shares: certified, equal to the linear programme, feasible, and the same bytes without numba."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from hetopt.core.errors import UsageError
from hetopt.solvers.rounds import max_min
from hetopt.solvers.rounds.max_min import max_min_shares


def random_case(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    jobs, types = int(rng.integers(1, 40)), int(rng.integers(1, 6))
    rate = rng.lognormal(0.0, 1.0, (jobs, types)) * (rng.random((jobs, types)) < 0.7)
    rate[np.arange(jobs), rng.integers(0, types, jobs)] = rng.lognormal(0.0, 1.0, jobs)
    return rate, rng.choice([1, 2, 4], jobs), rng.integers(1, 30, types)


def solved(rate: np.ndarray, demand: np.ndarray, count: np.ndarray) -> float:
    """The programme written out: variables x (n K) and z."""
    jobs, types = rate.shape
    rows, right = [], []
    for j in range(jobs):
        row = np.zeros(jobs * types + 1)
        row[j * types : (j + 1) * types], row[-1] = -rate[j], 1.0
        rows.append(row)
        right.append(0.0)
        row = np.zeros(jobs * types + 1)
        row[j * types : (j + 1) * types] = 1.0
        rows.append(row)
        right.append(1.0)
    for i in range(types):
        row = np.zeros(jobs * types + 1)
        row[i:-1:types] = demand
        rows.append(row)
        right.append(count[i])
    bounds = [(0.0, 0.0 if r == 0 else None) for r in rate.ravel()] + [(0.0, None)]
    cost = np.zeros(jobs * types + 1)
    cost[-1] = -1.0
    answer = linprog(cost, A_ub=np.array(rows), b_ub=np.array(right), bounds=bounds, method="highs")
    return -float(answer.fun)


def test_value_and_bound_enclose_the_linear_programme() -> None:
    for seed in range(40):
        rate, demand, count = random_case(seed)
        made = max_min_shares(rate, demand, count, gap=1e-3)
        best = solved(rate, demand, count)
        assert made.value <= best * (1 + 1e-9)
        assert made.bound >= best * (1 - 1e-9)
        assert made.gap <= 1e-3
        assert (made.shares >= 0).all()
        assert (made.shares.sum(axis=1) <= 1 + 1e-12).all()
        assert (demand @ made.shares <= count * (1 + 1e-12)).all()
        assert (rate * made.shares).sum(axis=1).min() == pytest.approx(made.value)


def test_the_plain_twin_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [max_min_shares(*random_case(seed)) for seed in range(6)]
    monkeypatch.setattr(max_min, "numba_usable", lambda: False)
    for seed, first in enumerate(made):
        again = max_min_shares(*random_case(seed))
        assert again.shares.tobytes() == first.shares.tobytes()
        assert (again.value, again.bound, again.steps) == (first.value, first.bound, first.steps)


def test_prices_of_the_round_before_are_a_start() -> None:
    rate, demand, count = random_case(3)
    first = max_min_shares(rate, demand, count, gap=1e-4)
    again = max_min_shares(rate, demand, count, gap=1e-4, prices=first.prices)
    assert again.gap <= 1e-4
    assert again.steps <= 2 * first.steps


def test_limits_and_refusals() -> None:
    rate, demand, count = random_case(5)
    short = max_min_shares(rate, demand, count, gap=1e-9, max_steps=20)
    assert short.steps <= 20
    assert short.value <= short.bound
    with pytest.raises(UsageError, match="job 0"):
        max_min_shares(np.zeros((1, 2)), np.ones(1, dtype=np.int64), np.ones(2, dtype=np.int64))
    with pytest.raises(UsageError, match="finite"):
        max_min_shares(np.full((1, 1), np.nan), np.ones(1, dtype=np.int64), np.ones(1, dtype=np.int64))
    nobody = max_min_shares(np.zeros((0, 2)), np.zeros(0, dtype=np.int64), np.ones(2, dtype=np.int64))
    assert nobody.gap == 0.0
