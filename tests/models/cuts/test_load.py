"""Separation by sorting finds what exhaustive search over all sets finds."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hetopt.models.cuts.load import largest_violation, largest_violation_exact, prefix_violations, separate

points = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), min_size=1, max_size=7)


def _violation(members, midpoint, work, capacity) -> Fraction:
    total = sum(work[g] for g in members)
    return Fraction(total * total) / (2 * capacity) - sum(work[g] * midpoint[g] for g in members)


def _brute(midpoint, work, capacity) -> Fraction:
    sets = (s for size in range(1, len(work) + 1) for s in combinations(range(len(work)), size))
    return max([Fraction(0), *(_violation(s, midpoint, work, capacity) for s in sets)])


@settings(deadline=None, derandomize=True, max_examples=150)
@given(points, st.integers(1, 5))
def test_equals_exhaustive_search(point, capacity) -> None:
    midpoint = [Fraction(h, 2) for h, _ in point]
    work = [p for _, p in point]
    expected = _brute(midpoint, work, capacity)
    value, members = largest_violation_exact(midpoint, work, capacity)
    assert value == expected
    assert value == 0 or _violation(members, midpoint, work, capacity) == value
    floats = np.array([float(h) for h in midpoint]), np.array(work, dtype=float)
    assert largest_violation(*floats, capacity) == pytest.approx(float(expected), abs=1e-9)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(points, st.integers(1, 3))
def test_cuts_are_violated_and_repairing_the_deepest_repairs_all(point, capacity) -> None:
    midpoint = np.array([h / 2 for h, _ in point])
    work = np.array([float(p) for _, p in point])
    for cut in separate(midpoint, work, capacity):
        assert cut.right == pytest.approx(work[cut.members].sum() ** 2 / (2 * capacity))
        assert work[cut.members] @ midpoint[cut.members] < cut.right
    depth = max(0.0, float(prefix_violations(midpoint, work, capacity).depth.max()))
    assert largest_violation(midpoint + depth, work, capacity) == pytest.approx(0.0, abs=1e-9)
    assert not separate(midpoint + depth + 1e-6, work, capacity)


def test_no_cut_where_nothing_is_violated_and_the_most_asked_for() -> None:
    work = np.array([2.0, 3.0, 1.0])
    assert separate(np.array([10.0, 10.0, 10.0]), work, 1.0) == []
    cuts = separate(np.zeros(3), work, 1.0, most=1)
    assert [cut.members.tolist() for cut in cuts] == [[0, 1, 2]]
