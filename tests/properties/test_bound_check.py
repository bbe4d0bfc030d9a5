"""No step of the proof is ever violated: random problems of nine families, three rules, LP points and arbitrary points."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from hetopt.analysis.bound_check import check_bound
from hetopt.analysis.certify.midpoint.lists import Rule
from hetopt.analysis.certify.midpoint.points import prefix_loads
from hetopt.core.documents import parse_exact
from tests.properties.tasks import FAMILIES, random_midpoints, random_problem


def check(family: str, seed: int, max_tasks: int, rule: Rule) -> None:
    rng = random.Random(f"{family}{seed}")
    problem = random_problem(rng, family, max_tasks)
    midpoints = random_midpoints(rng, problem) if seed % 3 else None
    found = check_bound(problem, rule, midpoints=midpoints)
    assert found.ok, (family, seed, rule, found.failed)
    r = found.ratios
    assert parse_exact(r.list_value, "") <= parse_exact(found.K, "") * parse_exact(r.point_value, "")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_few_hundred_instances(family):
    for seed in range(34):
        check(family, seed, 10, list(Rule)[seed % 3])


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("part", range(8))
def test_thousands_of_instances(family, part):
    for seed in range(1000 + 70 * part, 1070 + 70 * part):
        check(family, seed, 18, list(Rule)[seed % 3])


@pytest.mark.parametrize("seed", range(20))
def test_prefixes_find_the_most_violated_load_inequality(seed):
    rng = random.Random(seed)
    n, capacity = rng.randint(1, 9), Fraction(rng.randint(1, 9), rng.randint(1, 3))
    q, h = [rng.randint(1, 9) for _ in range(n)], [rng.randint(0, 20) for _ in range(n)]

    def lack(total: Fraction, moment: Fraction) -> Fraction:
        return total * total / (2 * capacity) - moment

    by_prefix = max(
        x.left / (2 * capacity) - x.right / (2 * capacity) for x in prefix_loads(q, h, range(n), capacity, "")
    )
    best = max(
        lack(Fraction(sum(q[i] for i in s)), Fraction(sum(q[i] * h[i] for i in s)))
        for bits in range(1, 1 << n)
        for s in [[i for i in range(n) if bits >> i & 1]]
    )
    assert max(by_prefix, 0) == max(best, 0)
