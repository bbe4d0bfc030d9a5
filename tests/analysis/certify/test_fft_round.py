"""Certificates of FFT rounds: valid ones pass, and no changed number lets a false bound through."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import pytest

from hetopt.analysis.certify import check_certificate
from hetopt.core.certificate import Certificate
from hetopt.core.round_problem import RoundProblem
from hetopt.solvers.rounds.run import run_round
from tests.solvers.rounds.oracle import optimum
from tests.solvers.rounds.test_fast import random_round


def certified(problem: RoundProblem, rule: str = "most-gpus") -> Certificate:
    certificate = maybe_certified(problem, rule)
    assert certificate is not None
    return certificate


def maybe_certified(problem: RoundProblem, rule: str) -> Certificate | None:
    return run_round("fft-fast", problem, rule=rule, params={"certify": True}).certificate


@pytest.mark.parametrize("rule", ["most-gpus", "none"])
def test_certificates_of_random_rounds_hold(rule: str) -> None:
    absent = 0
    for seed in range(80):
        problem = random_round(seed)
        certificate = maybe_certified(problem, rule)
        if certificate is None:
            absent += 1
            continue
        assert check_certificate(problem, certificate).valid
    assert absent <= (11 if rule == "most-gpus" else 0)


def _numbers(value: Any, path: tuple = ()):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _numbers(item, (*path, key))
    elif isinstance(value, list):
        for k, item in enumerate(value):
            yield from _numbers(item, (*path, k))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path


def _changed(data: dict, path: tuple, by: int) -> dict:
    out = copy.deepcopy(data)
    place = out
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] += by
    return out


def test_a_changed_number_is_refused_or_still_a_proof() -> None:
    refused = 0
    for seed in (3, 5, 8, 13, 21):
        problem = random_round(seed)
        certificate = certified(problem)
        best = optimum(problem, "most-gpus")
        for path in _numbers(certificate.data):
            for by in (1, -1, 2**41):
                data = _changed(certificate.data, path, by)
                verdict = check_certificate(
                    problem, Certificate("fft-round", certificate.bound, certificate.fingerprint, data)
                )
                refused += not verdict.valid
                if verdict.valid and path[0] != "cost":
                    assert certificate.bound <= best
        for shift in (1, -1):
            bound = certificate.bound + Fraction(shift, 2**40)
            assert not check_certificate(
                problem, Certificate("fft-round", bound, certificate.fingerprint, certificate.data)
            ).valid
    assert refused > 20


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"rule": "maximal"}, "data.rule"),
        ({"used": 10**6}, "data.used"),
        ({"usage_cut": None}, "solver's word"),
        ({"prices": [0]}, "data.prices"),
        ({"tree": {"prices": [0.5]}}, "data"),
        ({"denominator": 0}, "data.denominator"),
        ({"cost": {"age": 1}}, "data.cost"),
        ({"extra": 1}, "extra"),
    ],
)
def test_malformed_evidence_is_refused_with_the_place(change: dict, word: str) -> None:
    problem = random_round(8)
    certificate = certified(problem)
    data = {**certificate.data, **change}
    verdict = check_certificate(problem, Certificate("fft-round", certificate.bound, certificate.fingerprint, data))
    assert not verdict.valid
    assert word in verdict.reasons[0]


def test_another_round_is_refused() -> None:
    assert not check_certificate(random_round(9), certified(random_round(8))).valid
