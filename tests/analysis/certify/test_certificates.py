"""Certificates: what they prove is true, what is changed is refused, what is malformed is refused with the reason."""

from __future__ import annotations

import copy
import random
from fractions import Fraction

import pytest

from hetopt.analysis.certify import check_certificate, trusted
from hetopt.analysis.certify.reading import Refused
from hetopt.core.certificate import Bound, Certificate
from hetopt.core.status import Objective, Trust
from tests.analysis.certify.brute import best_values, random_instance
from tests.analysis.certify.evidence import MAKERS, prove, stated
from tests.conftest import make_instance


def places(value, path=()):
    """Paths of all whole numbers inside a JSON value."""
    if isinstance(value, int) and not isinstance(value, bool):
        yield path
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from places(item, (*path, i))


def changed(value, path, new):
    out = copy.deepcopy(value)
    at = out
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = new
    return out


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("seed", range(40))
def test_no_evidence_proves_more_than_the_optimum(kind, seed):
    rng = random.Random(f"{kind}{seed}")
    instance = random_instance(rng, 4)
    best = dict(zip((Objective.TOTAL_WEIGHTED_COMPLETION, Objective.MAKESPAN), best_values(instance)))
    proved = 0
    for _ in range(12):
        data = MAKERS[kind](rng, instance)
        try:
            got = prove(instance, kind, data)
        except Refused:
            continue
        proved += 1
        assert got.bound <= best[got.objective], (instance, data)
    assert proved


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("seed", range(15))
def test_any_number_changed_is_refused_or_still_proves_the_bound(kind, seed):
    rng = random.Random(f"change{kind}{seed}")
    instance = random_instance(rng, 6)
    while True:
        try:
            certificate = stated(instance, kind, MAKERS[kind](rng, instance))
            break
        except Refused:
            continue
    assert check_certificate(instance, certificate).valid
    refused = 0
    for path in places(certificate.data):
        at = certificate.data
        for part in path:
            at = at[part]
        for new in (at + 1, at - 1, -at - 1, 3 * at + 7):
            data = changed(certificate.data, path, new)
            verdict = check_certificate(instance, Certificate(kind, certificate.bound, certificate.fingerprint, data))
            if verdict.valid:
                assert prove(instance, kind, data).bound == certificate.bound
            else:
                refused += 1
                assert verdict.reasons and verdict.reasons[0]
    for by in (1, -1, Fraction(1, 10**9), -Fraction(1, 10**9)):
        verdict = check_certificate(
            instance, Certificate(kind, certificate.bound + by, certificate.fingerprint, certificate.data)
        )
        assert not verdict.valid and "proves" in verdict.reasons[0]
    assert refused or not list(places(certificate.data))


@pytest.fixture
def small():
    return make_instance(
        {"a": 2, "b": 1}, [(3, 1, [(2, (4, 2), (0, 1)), (1, (3, None), (1, None))]), (2, 0, [(1, (6, 5), (0, 0))])]
    )


def good(instance):
    data = {
        "tail": "round",
        "denominator": 100,
        "families": [{"prices": [1, 1], "capacity": "speed", "release": True, "density": [[20, 10], [30]]}],
    }
    return stated(instance, "midpoint-lp-strong", data)


def test_a_value_worked_out_by_hand():
    # one GPU, two unit-weight jobs of 2 and 4 ticks: Smith's rule on midpoints 1 and 4, plus the halves
    instance = make_instance({"a": 1}, [(1, 0, [(1, (2,), (0,))]), (1, 0, [(1, (4,), (0,))])])
    data = {
        "tail": "base",
        "denominator": 4,
        "families": [{"prices": [1], "capacity": "gpus", "release": False, "density": [[2], [1]]}],
    }
    assert prove(instance, "midpoint-lp", data).bound == 2 + 6 == best_values(instance)[0]


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("tail",), "rounds", "data.tail"),
        (("denominator",), 0, "data.denominator"),
        (("denominator",), True, "data.denominator"),
        (("denominator",), "100", "data.denominator"),
        (("families",), [], "at least one family"),
        (("families", 0, "prices"), [1], "2 items"),
        (("families", 0, "prices", 1), 0, "prices[1]"),
        (("families", 0, "capacity"), "gpu", "capacity"),
        (("families", 0, "release"), 1, "release"),
        (("families", 0, "density"), [[20, 10]], "2 items"),
        (("families", 0, "density", 0), [20], "2 items"),
        (("families", 0, "density", 0, 1), -1, "density[0][1]"),
        (("families", 0, "density", 0, 1), 1.5, "density[0][1]"),
        (("families", 0, "density", 1, 0), 500, "gives away"),
        (("families", 0, "extra"), 1, "not known"),
        (("extra",), 1, "not known"),
    ],
)
def test_malformed_data_is_refused_with_its_place(small, path, value, reason):
    certificate = good(small)
    verdict = check_certificate(
        small,
        Certificate(certificate.kind, certificate.bound, small.fingerprint, changed(certificate.data, path, value)),
    )
    assert not verdict.valid and reason in verdict.reasons[0]


def test_other_instance_kind_and_missing_key_are_refused(small, two_jobs):
    certificate = good(small)
    assert "the problem is" in check_certificate(two_jobs, certificate).reasons[0]
    unknown = Certificate("midpoint", certificate.bound, small.fingerprint, certificate.data)
    assert "known: midpoint-lp" in check_certificate(small, unknown).reasons[0]
    for key in certificate.data:
        data = {k: v for k, v in certificate.data.items() if k != key}
        assert (
            "missing"
            in check_certificate(
                small, Certificate(certificate.kind, certificate.bound, small.fingerprint, data)
            ).reasons[0]
        )


def test_the_base_kind_allows_nothing_stronger(small):
    base = {
        "tail": "base",
        "denominator": 100,
        "families": [{"prices": [1, 1], "capacity": "gpus", "release": False, "density": [[20, 10], [30]]}],
    }
    assert check_certificate(small, stated(small, "midpoint-lp", base)).valid
    for path, value in (
        (("tail",), "round"),
        (("families", 0, "capacity"), "speed"),
        (("families", 0, "prices"), [2, 2]),
    ):
        data = changed(base, path, value)
        with pytest.raises(Refused):
            prove(small, "midpoint-lp", data)
    with pytest.raises(Refused):
        prove(small, "midpoint-lp", {**base, "families": base["families"] * 2})


def test_only_a_proof_makes_a_bound_verified(small):
    certificate = good(small)
    bound = Bound(certificate.bound, "x", Trust.DERIVED, certificate)
    better, reasons = trusted(small, bound, Objective.TOTAL_WEIGHTED_COMPLETION)
    assert better.trust is Trust.VERIFIED and not reasons
    flow, reasons = trusted(small, bound.shifted(-3), Objective.TOTAL_WEIGHTED_FLOW)
    assert flow.value == certificate.bound - 3 and flow.trust is Trust.VERIFIED
    for wrong, objective in (
        (Bound(certificate.bound + 1, "x", Trust.DERIVED, certificate), Objective.TOTAL_WEIGHTED_COMPLETION),
        (bound, Objective.TOTAL_WEIGHTED_FLOW),
        (bound, Objective.MAKESPAN),
        (Bound(certificate.bound, "x", Trust.REPORTED, None), Objective.TOTAL_WEIGHTED_COMPLETION),
    ):
        same, reasons = trusted(small, wrong, objective)
        assert same is wrong and reasons


def test_the_check_of_ten_thousand_rounds_is_near_linear():
    # counts work, not seconds: the machine is told only what it must look at
    from hetopt.analysis.certify.kinds import midpoint_lp

    rng = random.Random(5)
    jobs = [
        (
            rng.randint(1, 9),
            rng.randint(0, 500),
            [(rng.randint(1, 4), (rng.randint(1, 50), rng.randint(1, 50)), (0, 1)) for _ in range(10)],
        )
        for _ in range(1000)
    ]
    instance = make_instance({"a": 40, "b": 60}, jobs)
    density = [[rng.randint(0, 2**20) for _ in range(10)] for _ in jobs]
    data = {
        "tail": "round",
        "denominator": 2**32,
        "families": [{"prices": [2, 1], "capacity": "speed", "release": True, "density": density}],
    }
    certificate = stated(instance, "midpoint-lp-strong", data)
    pushes = []
    plain = midpoint_lp.heapq.heappush

    class Counting:
        heappop = staticmethod(midpoint_lp.heapq.heappop)

        @staticmethod
        def heappush(heap, item):
            pushes.append(item)
            plain(heap, item)

    original, midpoint_lp.heapq = midpoint_lp.heapq, Counting
    try:
        assert check_certificate(instance, certificate).valid
    finally:
        midpoint_lp.heapq = original
    assert len(pushes) <= 10_000


def test_a_kind_for_the_other_sort_of_problem_is_refused(small):
    from hetopt.core.round_problem import RoundProblem

    certificate = good(small)
    wrong = Certificate("fft-round", certificate.bound, small.fingerprint, certificate.data)
    assert "about an FFT round" in check_certificate(small, wrong).reasons[0]
    problem = RoundProblem.from_dict(
        {
            "format": "hetopt/round",
            "version": 1,
            "name": "r",
            "round_seconds": 300,
            "now": 1,
            "gpu_types": [{"name": "a", "count": 1}],
            "jobs": [
                {
                    "name": "x",
                    "demand": 1,
                    "work": 4,
                    "done": 0,
                    "release_date": 0,
                    "throughput": [1.0],
                    "current_type": None,
                }
            ],
        }
    )
    other = Certificate(certificate.kind, certificate.bound, problem.fingerprint, certificate.data)
    assert "about an instance" in check_certificate(problem, other).reasons[0]


@pytest.mark.parametrize("seed", range(15))
def test_prices_too_large_for_64_bits_give_the_same_bound(seed):
    rng = random.Random(f"large{seed}")
    instance = random_instance(rng, 8)
    data = MAKERS["time-indexed-lagrangian"](rng, instance)
    factor = 2**70 + 1
    larger = {
        **data,
        "denominator": data["denominator"] * factor,
        "prices": [[[price * factor, length] for price, length in runs] for runs in data["prices"]],
    }
    kind = "time-indexed-lagrangian"
    assert prove(instance, kind, larger).bound == prove(instance, kind, data).bound
