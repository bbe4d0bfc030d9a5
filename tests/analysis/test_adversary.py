"""The adversary reaches the stated ratios, keeps proofs, resumes to the same state, and stops when asked."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hetopt.analysis import adversary
from hetopt.analysis.adversary import HallOfFame, champions, search
from hetopt.analysis.adversary_moves import (
    Rounds,
    as_instance,
    estimate,
    family_starts,
    random_genome,
    tasks_of,
    varied,
)
from hetopt.analysis.certify import check_certificate, verify
from hetopt.core.certificate import Certificate
from hetopt.core.documents import parse_exact
from hetopt.core.errors import UsageError
from hetopt.core.objectives import evaluate
from hetopt.solvers.run import run


@pytest.mark.parametrize(
    ("rounds", "gpus", "least"), [("alike", 1, "2.9"), ("alike", 2, "2.9"), ("any", 3, "3.03"), ("any", 4, "3.11")]
)
def test_stated_ratios_are_reached_and_proved_by_files(tmp_path, rounds, gpus, least):
    hall = search("hare", rounds=rounds, gpus=gpus, out=tmp_path, budget=16)
    assert hall.best.exact_ratio >= Fraction(least)
    assert HallOfFame.load(tmp_path / "hall-of-fame.json") == hall
    seen = 0
    for entry, instance, by_rule, schedule in champions(tmp_path):
        seen += 1
        assert verify(instance, by_rule).valid and verify(instance, schedule).valid
        assert evaluate(instance, by_rule) == entry.rule_value and evaluate(instance, schedule) == entry.schedule_value
        assert entry.exact_ratio == Fraction(entry.rule_value, entry.schedule_value)
        certificate = Certificate.load(tmp_path / f"{entry.name}.certificate.json")
        assert check_certificate(instance, certificate).valid
        assert certificate.bound == parse_exact(entry.lower_bound, "") <= entry.schedule_value
        if rounds == "alike":
            assert all(
                len({(r.scale, r.processing_time, r.sync_time) for r in job.rounds}) == 1 for job in instance.jobs
            )
    assert seen == len(hall.entries)
    ratios = [entry.exact_ratio for entry in hall.entries]
    assert ratios == sorted(ratios, reverse=True)
    best = hall.best
    assert run("hare", as_instance(adversary._key(best.genome), gpus, "again")).objective == best.rule_value


def test_a_resumed_search_is_the_same_search(tmp_path):
    whole = search("hare", gpus=2, budget=36, seed=5, out=tmp_path / "one")
    for budget in (5, 20, 36):
        part = search("hare", gpus=2, budget=budget, seed=5, out=tmp_path / "two")
        assert part.steps == budget
    assert part == whole
    names = [sorted(p.name for p in (tmp_path / where).iterdir()) for where in ("one", "two")]
    assert names[0] == names[1]
    with pytest.raises(UsageError, match="seed"):
        search("hare", gpus=2, budget=36, seed=6, out=tmp_path / "one")


def test_it_can_be_stopped_and_reports_progress(tmp_path):
    told = []

    def listener(progress):
        told.append(progress)
        if progress.step == 9:
            raise KeyboardInterrupt

    hall = search("hare", gpus=2, budget=50, out=tmp_path, listener=listener)
    assert hall.steps == 9 and HallOfFame.load(tmp_path / "hall-of-fame.json") == hall
    assert [p.step for p in told] == list(range(1, 10)) and any(p.improved for p in told)
    assert search("hare", gpus=2, budget=50, stop=lambda: True).steps == 0
    assert search("hare", gpus=2, budget=50, time_limit=0).steps == 0


@pytest.mark.parametrize(
    "arguments",
    [
        {"rule": "midpoint-lp"},
        {"rounds": "some"},
        {"gpus": 0},
        {"budget": -1},
        {"max_tasks": 1},
        {"rule": "no-such-rule"},
    ],
)
def test_senseless_arguments_are_refused(arguments):
    with pytest.raises(UsageError):
        search(**arguments)


def test_other_rules_can_be_attacked():
    hall = search("fifo", gpus=1, budget=25, families=False, seed=2)
    assert hall.best is not None and hall.best.exact_ratio > 1


@pytest.mark.parametrize("rounds", list(Rounds))
def test_neighbours_are_valid_instances_of_the_class(rounds):
    rng = np.random.default_rng(3)
    for gpus in (1, 3):
        genome = random_genome(rng, gpus, rounds, 20)
        for _ in range(200):
            new = varied(rng, genome, gpus, rounds, 20)
            if new is None:
                continue
            genome = new
            assert tasks_of(genome) <= 20
            as_instance(genome, gpus, "x")
            if rounds is Rounds.ALIKE:
                assert all(len(set(parts)) == 1 for _, _, parts in genome)


def test_the_estimate_agrees_with_the_rule_on_the_families():
    from hetopt.analysis.certify.midpoint.tasks import TaskProblem
    from hetopt.analysis.witness import best_witness

    for gpus in (3, 4):
        for genome in family_starts(gpus, Rounds.ANY, 30)[3:]:
            instance = as_instance(genome, gpus, "x")
            exact = Fraction(run("hare", instance).objective) / best_witness(TaskProblem.from_instance(instance))[1]
            assert abs(estimate(genome, gpus) / exact - 1) < Fraction(1, 50), genome
