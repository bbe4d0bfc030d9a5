"""Every round-based policy of the catalogue: pure, deterministic, within capacity, all work done, honest about what it knows."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from hetopt.analysis.simulate import make_round_policy
from hetopt.core.errors import UsageError
from hetopt.solvers.online.catalogue import POLICIES
from hetopt.solvers.online.rounds import Clairvoyance, RoundPolicy, RoundSetting, simulate_rounds
from tests.solvers.online.rounds.workloads import job, make, random_workload

NAMES = [entry.name for entry in POLICIES if entry.kind == "rounds"]
GPUS = {"A": 3, "B": 3, "C": 4}


def same(a, b):
    """Deep equality of memories: arrays, dataclasses, tuples."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    if is_dataclass(a):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


class Watched:
    """A policy that is asked twice each time; whatever it changes or draws from elsewhere is noticed."""

    def __init__(self, policy):
        self.policy, self.name, self.clairvoyance = policy, policy.name, policy.clairvoyance
        self.asked = 0

    def decide(self, state, memory):
        before_state, before_memory = copy.deepcopy(state), copy.deepcopy(memory)
        first, after = self.policy.decide(state, memory)
        assert same(before_state, state) and same(before_memory, memory), "the policy changed what it was given"
        again, after_again = self.policy.decide(before_state, before_memory)
        assert np.array_equal(first, again) and same(after, after_again), "the same state gives another answer"
        used = np.bincount(first[first >= 0], weights=state.demand[first >= 0], minlength=len(state.count))
        assert (used <= state.count).all()
        self.asked += 1
        return first, after


@pytest.mark.parametrize("name", NAMES)
def test_policy_is_pure_and_does_all_the_work(name):
    entry = POLICIES.entry(name)
    policy = entry.load()()
    assert isinstance(policy, RoundPolicy) and policy.name == name
    assert entry.clairvoyance == ("none", "sizes", "full")[policy.clairvoyance]
    workload = random_workload(len(name))
    watched = Watched(policy)
    out = simulate_rounds(workload, watched, RoundSetting(GPUS, 100.0, migration_seconds=7.0), seed=3)
    assert watched.asked == len(out.decision_seconds) > 3
    assert len(out.jcts) == len(workload.jobs) and not out.message
    for spec, seen in zip(workload.jobs, out.jobs, strict=True):
        rates = [r for r, c in zip(spec.throughput, GPUS.values(), strict=True) if r and spec.demand <= c]
        # the work of a finished job fits the time that it held GPUs, at its slowest and fastest
        seconds = seen.gpu_seconds / spec.demand
        assert spec.work / max(rates) <= seconds + 1e-5
        assert seconds <= spec.work / min(rates) + 7.0 * seen.migrations + 1e-5
        assert seen.first_start >= spec.arrival and seen.finish - seen.first_start >= seconds - 1e-5
    for _, used in out.series["GPUs in use"]:
        assert 0 <= used <= 10
    assert 0 < out.utilisation <= 1
    held = sum(j.gpu_seconds for j in out.jobs)
    assert held == pytest.approx(out.utilisation * 10 * (out.makespan - min(j.arrival for j in out.jobs)), rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_policy_runs_one_job_on_its_only_type(name):
    workload = make(job("only", 100, (None, 2.0), demand=2), job("late", 10, (1.0, 1.0), arrival=1e6))
    out = simulate_rounds(workload, POLICIES.load(name)(), RoundSetting({"A": 2, "B": 3}, 30.0))
    assert out.jobs[0].finish == 50.0 and out.jobs[1].finish is not None


@pytest.mark.parametrize("name", NAMES)
def test_policy_ends_on_alike_jobs_and_extreme_numbers(name):
    jobs = [job(f"same{n}", 100, (1.0, 1.0, 1.0)) for n in range(9)]
    jobs += [job("tiny", 1e-7, (1e-7, 1e-8, None)), job("huge", 3e9, (1e7, None, 2e7), demand=3)]
    out = simulate_rounds(make(*jobs, kinds="ABC"), POLICIES.load(name)(), RoundSetting({"A": 2, "B": 2, "C": 3}, 40.0))
    assert len(out.jcts) == 11


def test_policies_without_sizes_never_see_them():
    for name in NAMES:
        policy = POLICIES.load(name)()
        if (
            policy.clairvoyance is Clairvoyance.NONE
        ):  # work scaled by a constant, same progress: same decisions until an end
            decisions = []
            for factor in (1.0, 1.5):
                jobs = [job(f"j{n}", factor * 1000, (1.0 + n, 3.0)) for n in range(4)]
                seen = []

                class Recorder:
                    name, clairvoyance = policy.name, policy.clairvoyance

                    def decide(self, state, memory, seen=seen, policy=policy):
                        chosen, memory = policy.decide(state, memory)
                        seen.append(tuple(chosen.tolist()))
                        return chosen, memory

                simulate_rounds(make(*jobs), Recorder(), RoundSetting({"A": 1, "B": 1}, 20.0, max_rounds=5))
                decisions.append(seen)
            assert decisions[0] == decisions[1], name


_SCRIPT = """
import json, sys
from hetopt.solvers.online.catalogue import POLICIES
from hetopt.solvers.online.rounds import RoundSetting, simulate_rounds
from tests.solvers.online.rounds.workloads import random_workload
out = {}
for name in sys.argv[1].split(","):
    run = simulate_rounds(random_workload(5, jobs=7), POLICIES.load(name)(), RoundSetting({"A": 3, "B": 3, "C": 4}, 100.0), seed=2)
    out[name] = [(j.finish, j.migrations) for j in run.jobs]
print(json.dumps(out))
"""


@pytest.mark.ci
def test_results_are_the_same_in_other_processes():
    found = []
    for hash_seed in ("0", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT, ",".join(NAMES)],
            capture_output=True,
            text=True,
            env=environment,
            check=True,
        )
        found.append(json.loads(done.stdout))
        assert not done.stderr
    assert found[0] == found[1]


def test_the_seed_matters_to_policies_that_draw_and_to_no_other():
    for name in NAMES:
        runs = [
            simulate_rounds(
                random_workload(1, jobs=11), POLICIES.load(name)(), RoundSetting(GPUS, 100.0), seed=seed
            ).jcts
            for seed in (0, 1)
        ]
        drawing = name in ("gavel-fifo", "gavel-max-min", "gavel-ftf", "themis-like")
        assert (runs[0] != runs[1]) == drawing, name


@pytest.mark.parametrize(
    ("name", "params", "words"),
    [
        ("fft", {"gap": 2}, "gap"),
        ("fft", {"rule": "some"}, "most-gpus"),
        ("fft", {"fairness": 3}, "true or false"),
        ("fft", {"speed": 3}, "no parameter 'speed'"),
        ("fft", {"age": -1}, "weights are finite"),
        ("fft", {"nodes": 0}, "nodes"),
        ("gavel-max-min", {"tie_break": "odd"}, "centre"),
        ("gavel-max-min", {"reset_seconds": -1}, "reset_seconds"),
        ("gavel-max-min", {"randomness": "dice"}, "stream"),
        ("allox", {"alpha": 3}, "alpha"),
        ("gavel-allox", {"alpha": -1}, "alpha"),
        ("min-jct", {"gap": 0}, "gap"),
        ("sia-like", {"power": 0}, "power"),
        ("sia-like", {"idle": -1}, "idle"),
        ("themis-like", {"fairness": 1}, "fairness"),
        ("srtf-rounds", {"placement": "best"}, "fastest, blind"),
    ],
)
def test_wrong_parameters_are_one_clear_line(name, params, words):
    with pytest.raises(UsageError, match=words) as caught:
        make_round_policy(POLICIES.load(name), params)
    assert len(str(caught.value).splitlines()) == 1
