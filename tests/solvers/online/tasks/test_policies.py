"""What each policy does, by hand: service, queues, blocking, matching, plans, re-planning, parameters."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hetopt.core.errors import InputError, UsageError
from hetopt.core.instance import Instance
from hetopt.core.status import Objective
from hetopt.instances.generators import generate
from hetopt.solvers.online.catalogue import POLICIES
from hetopt.solvers.online.tasks import TaskSetting, simulate_tasks
from hetopt.solvers.online.tasks.engine import make_policy
from hetopt.solvers.online.tasks.policies import hare_online
from hetopt.solvers.online.tasks.policies.allox import SchedAllox, SchedAlloxGang
from hetopt.solvers.online.tasks.policies.gavel_fifo import GavelFifo, GavelFifoGang
from hetopt.solvers.online.tasks.policies.hare_online import HareEftOnline, HareOnline
from hetopt.solvers.online.tasks.policies.keyed import Fifo
from hetopt.solvers.online.tasks.policies.plan import Replay, SchedHomo, mean_instance
from hetopt.solvers.online.tasks.policies.service import CapabilityRule, Hlas, HlasQueues, Las, service_of
from hetopt.solvers.online.tasks.tables import Tables
from tests.conftest import make_instance
from tests.solvers.random_instances import random_instance


def order_of_jobs(instance: Instance, policy: object) -> list[int]:
    """Jobs in the order in which their tasks start."""
    schedule = simulate_tasks(instance, policy).schedule  # type: ignore[arg-type]
    return [int(schedule.job[i]) for i in np.lexsort((schedule.gpu, schedule.start))]


def test_service_counts_by_capability() -> None:
    p, counts = [2, 6, 0], [1, 3, 5]
    assert [service_of(6, 1, p, counts, rule) for rule in CapabilityRule] == [2000, 6000, 5000, 6000]
    assert [service_of(2, 0, p, counts, rule) for rule in CapabilityRule] == [2000, 6000, 5000, 2000]
    assert service_of(3, 1, p, counts, CapabilityRule.BEST) == 1000  # half a task


def test_least_attained_service_goes_next_and_progress_is_what_counts() -> None:
    # one slow GPU for both: job 0 could use a GPU ten times as fast that job 1 may not use, and has none now
    rounds_a, rounds_b = [(1, [1, 10], [0, 0])] * 3, [(1, [None, 4], [None, 0])] * 3
    instance = make_instance(
        {"fast": 1, "slow": 1}, [(1, 0, [(1, [40, None], [0, None])]), (1, 1, rounds_a), (1, 1, rounds_b)]
    )
    # GPU time: job 1 is at 10 after its first task, so job 2 gets two tasks (4, 8, 12); progress: job 1 is at 1, 2, 3
    assert order_of_jobs(instance, Las()) == [0, 1, 2, 2, 2, 1, 1]
    assert order_of_jobs(instance, Hlas()) == [0, 1, 2, 1, 1, 2, 2]


def test_charging_at_the_start_spreads_the_gpus() -> None:
    instance = make_instance({"g": 2}, [(1, 0, [(2, [5], [0])]), (1, 0, [(2, [5], [0])])])
    assert order_of_jobs(instance, Hlas()) == [0, 1, 0, 1]
    assert order_of_jobs(instance, Hlas(charge="end")) == [0, 0, 1, 1]
    assert order_of_jobs(instance, Hlas(charge="round")) == [0, 0, 1, 1]


def test_the_task_goes_where_it_is_served_best() -> None:
    instance = make_instance({"a": 1, "b": 1}, [(1, 0, [(1, [5, 3], [0, 1])])])
    assert simulate_tasks(instance, Hlas()).gpu.tolist() == [1]
    assert simulate_tasks(instance, Las()).gpu.tolist() == [0]
    assert simulate_tasks(instance, Las(placement="best")).gpu.tolist() == [1]


def test_queues_are_first_come_first_served_inside() -> None:
    instance = make_instance({"g": 1}, [(1, 0, [(4, [3], [0])]), (1, 1, [(2, [3], [0])])])
    assert order_of_jobs(instance, Hlas()) == [0, 1, 0, 1, 0, 0]
    # both in the first queue until 6 ticks of service: job 0 came first
    assert order_of_jobs(instance, HlasQueues(queues=(6,))) == [0, 0, 1, 1, 0, 0]
    assert order_of_jobs(instance, Hlas(queues=(100,))) == order_of_jobs(instance, Fifo())
    halves = instance.model_copy(update={"tick_seconds": 0.5})
    assert order_of_jobs(halves, HlasQueues(queues=(3,))) == [0, 0, 1, 1, 0, 0]


def test_weights_and_ties() -> None:
    instance = make_instance({"g": 1}, [(1, 0, [(3, [2], [0])]), (3, 0, [(3, [2], [0])])])
    assert order_of_jobs(instance, Hlas()) == [0, 1, 0, 1, 0, 1]
    assert order_of_jobs(instance, Hlas(weighted=True)) == [0, 1, 1, 1, 0, 0]
    late = make_instance({"g": 1}, [(1, 2, [(1, [1], [0])]), (1, 1, [(1, [1], [0])]), (1, 0, [(1, [4], [0])])])
    assert order_of_jobs(late, Hlas()) == [2, 1, 0]
    assert order_of_jobs(late, Hlas(tie="job")) == [2, 0, 1]


def test_gavel_fifo_blocks_at_the_head_and_stays_on_its_type() -> None:
    jobs = [(1, 0, [(1, [4, 9], [0, 0])] * 2), (1, 0, [(2, [3, 8], [0, 0])]), (1, 0, [(1, [1, 1], [0, 0])])]
    instance = make_instance({"a": 2, "b": 1}, jobs)
    run = simulate_tasks(instance, GavelFifoGang())
    assert run.finish.tolist() == [8, 11, 9]  # job 2 waits behind job 1 although b is idle until 8
    assert run.gpu[:2].tolist() == [0, 0]
    relaxed = simulate_tasks(instance, GavelFifo())
    # job 1 is admitted to the one GPU of a that is left and runs its tasks one after another
    assert relaxed.finish.tolist() == [8, 6, 1]
    one = simulate_tasks(instance, GavelFifo(choice="random"), seed=1)
    assert one.schedule == simulate_tasks(instance, GavelFifo(choice="random"), seed=1).schedule
    kinds = {tuple(simulate_tasks(instance, GavelFifo(choice="random"), seed=s).gpu.tolist()) for s in range(8)}
    assert len(kinds) > 1
    for policy in (GavelFifoGang(), SchedAlloxGang()):
        with pytest.raises(InputError, match="none can run all of it"):
            simulate_tasks(make_instance({"a": 1, "b": 1}, [(1, 0, [(2, [1, 1], [0, 0])])]), policy)


def least_sum_of_completions(times: list[list[int]]) -> int:
    """Every assignment of jobs to machines, the shortest first on each."""
    best = None
    for places in itertools.product(range(len(times[0])), repeat=len(times)):
        total = 0
        for m in range(len(times[0])):
            at = 0
            for p in sorted(row[m] for row, where in zip(times, places, strict=True) if where == m):
                at += p
                total += at
        best = total if best is None else min(best, total)
    assert best is not None
    return best


@pytest.mark.parametrize("seed", range(6))
def test_allox_is_optimal_when_all_jobs_are_there(seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = rng.integers(1, 20, size=(5, 3)).tolist()
    instance = make_instance({"a": 1, "b": 1, "c": 1}, [(1, 0, [(1, row, [0, 0, 0])]) for row in times])
    run = simulate_tasks(instance, SchedAllox())
    assert run.value(Objective.TOTAL_WEIGHTED_COMPLETION) == least_sum_of_completions(times)
    assert simulate_tasks(instance, SchedAlloxGang()).value() == run.value()


def test_allox_runs_all_tasks_of_a_job_on_its_machine() -> None:
    instance = make_instance({"a": 2}, [(1, 0, [(3, [2], [1]), (1, [4], [0])])])
    run = simulate_tasks(instance, SchedAllox())
    assert len(set(run.gpu.tolist())) == 1
    assert run.finish.tolist() == [11]
    # a window of one lets only the first job in
    queue = make_instance({"a": 1}, [(1, 0, [(1, [9], [0])]), (1, 0, [(1, [1], [0])])])
    assert simulate_tasks(queue, SchedAllox(window=1)).finish.tolist() == [9, 10]
    assert simulate_tasks(queue, SchedAllox()).finish.tolist() == [10, 1]


def test_mean_times() -> None:
    instance = make_instance({"a": 1, "b": 3}, [(1, 0, [(1, [2, 5], [0, 1])]), (1, 0, [(2, [None, 4], [None, 2])])])
    blind = mean_instance(instance)
    assert blind.jobs[0].rounds[0].processing_time == (5, 5)  # (2 + 3 x 5) / 4, rounded up
    assert blind.jobs[0].rounds[0].sync_time == (1, 1)
    assert blind.jobs[1].rounds[0].processing_time == (None, 4)


@pytest.mark.parametrize("rule", ["hare", "wspt", "srtf", "fifo"])
def test_a_blind_plan_is_right_on_equal_gpus_and_wrong_on_others(rule: str) -> None:
    equal = random_instance(11, max_tasks=10)
    flat = mean_instance(equal)
    run = simulate_tasks(flat, SchedHomo(rule=rule))
    if rule != "hare":
        assert run.schedule == simulate_tasks(flat, POLICIES.load(rule)()).schedule
    # two jobs and two GPUs: blind to types, the plan puts the first job on the first GPU, wherever it is served worst
    instance = make_instance({"a": 1, "b": 1}, [(1, 0, [(1, [9, 1], [0, 0])]), (1, 0, [(1, [1, 9], [0, 0])])])
    assert simulate_tasks(instance, SchedHomo(rule=rule)).value() == 18
    assert simulate_tasks(instance, Hlas()).value() == 2


def test_replay_refuses_a_plan_of_something_else() -> None:
    one, other = random_instance(1), random_instance(2)
    plan = simulate_tasks(one, Fifo()).schedule
    assert len(plan) != other.num_tasks
    with pytest.raises(UsageError, match="give a plan of this instance"):
        simulate_tasks(other, Replay(plan))


def test_the_parts_that_are_left() -> None:
    instance = Instance.from_dict(
        {
            "format": "hetopt/clairvoyant",
            "version": 1,
            "gpu_types": [{"name": "g", "count": 1}],
            "jobs": [
                {
                    "name": "j",
                    "rounds": [
                        {"repeat": 3, "scale": 2, "processing_time": [4]},
                        {"scale": 1, "processing_time": [5]},
                    ],
                }
            ],
        }
    )
    tables = Tables(instance)

    def left(first: int, unstarted: int) -> list[tuple[int, int, int | None]]:
        return [(p.repeat, p.scale, p.processing_time[0]) for p in tables.parts_from(first, 0, unstarted)]

    assert left(0, 2) == [(3, 2, 4), (1, 1, 5)]
    assert left(0, 1) == [(1, 1, 4), (2, 2, 4), (1, 1, 5)]
    assert left(0, 0) == [(2, 2, 4), (1, 1, 5)]
    assert left(2, 1) == [(1, 1, 4), (1, 1, 5)]
    assert left(2, 0) == [(1, 1, 5)]
    assert left(3, 1) == [(1, 1, 5)]
    assert left(3, 0) == []


def test_replanning_prefers_what_smith_would() -> None:
    # at tick 1 a long job runs; a heavy short one and a light long one have come
    instance = make_instance({"g": 1}, [(1, 0, [(1, [5], [0])] * 2), (1, 1, [(1, [8], [0])]), (9, 1, [(1, [2], [0])])])
    for policy in (HareOnline(), HareEftOnline()):
        run = simulate_tasks(instance, policy)
        assert run.start[3] == 5
        assert order_of_jobs(instance, policy) == [0, 2, 0, 1]


def test_replanning_waits_for_what_runs() -> None:
    # the round of job 0 has started on one of two GPUs when job 1 comes; the next round may not start before both have synchronised
    for seed in range(30):
        instance = random_instance(seed, max_tasks=14)
        for policy in (HareOnline(warm_start=False), HareEftOnline(steps=20)):
            assert simulate_tasks(instance, policy).complete  # the independent checks have passed


def test_warm_starts_carry_the_shares_of_the_rounds_that_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = generate(jobs=15, seed=5, family="poisson", rounds=4, scale=2, load=1.5)
    real = hare_online.solve_midpoint_lp
    starts: list[bool] = []

    def watched(rest: Instance, *, start=None, **options):
        a = rest.arrays
        plain = (a.scale * a.min_processing_time).astype(float)
        plain /= np.add.reduceat(plain, a.round_start[:-1])[a.round_job]
        if start is not None:
            assert (start >= plain / 2 - 1e-12).all()
            assert np.allclose(np.add.reduceat(start, a.round_start[:-1]), 1)
        starts.append(start is not None and not np.allclose(start, plain))
        return real(rest, start=start, **options)

    monkeypatch.setattr(hare_online, "solve_midpoint_lp", watched)
    simulate_tasks(instance, HareOnline())
    # arrivals while every GPU is busy are planned together
    assert 1 < len(starts) <= len({job.release_date for job in instance.jobs})
    assert not starts[0]
    assert any(starts)
    starts.clear()
    simulate_tasks(instance, HareOnline(warm_start=False))
    assert not any(starts)


def test_hare_online_on_a_batch_is_hare_on_the_averaged_relaxation() -> None:
    from hetopt.solvers.heuristics.list_scheduling import list_schedule
    from hetopt.solvers.relaxations.midpoint_lp import solve_midpoint_lp

    instance = generate(jobs=8, seed=2, family="batch", rounds=3, scale=2)
    found = solve_midpoint_lp(instance, exact_rounds=0, tolerance=1e-3, max_iterations=200)
    assert (
        simulate_tasks(instance, HareOnline()).value()
        == simulate_tasks(instance, Replay(list_schedule(instance, found.midpoint, "R1"))).value()
    )


@pytest.mark.parametrize(
    ("name", "params", "what"),
    [
        ("hlas", {"capability": "good"}, "capability"),
        ("hlas", {"queues": (5, 3)}, "rising"),
        ("hlas", {"queues": (0,)}, "rising"),
        ("hlas", {"speed": 1}, "no parameter"),
        ("gavel-fifo-tasks", {"choice": "slow"}, "choice"),
        ("sched-allox", {"window": 0}, "window"),
        ("sched-homo", {"rule": "x"}, "rule"),
        ("hare-online", {"steps": 0}, "steps"),
        ("hare-online", {"tolerance": 2}, "tolerance"),
        ("fifo-gang", {"gang_types": "one"}, "no parameter"),
    ],
)
def test_wrong_parameters_are_one_clear_line(name: str, params: dict[str, object], what: str) -> None:
    with pytest.raises(UsageError, match=what) as error:
        make_policy(POLICIES.load(name), params)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "options", [{"switch_ticks": -1}, {"switch_ticks": 1.5}, {"noise": -0.1}, {"noise": "x"}, {"gang_hold": "x"}]
)
def test_wrong_settings_are_one_clear_line(options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        TaskSetting(**options)  # type: ignore[arg-type]


def test_the_catalogue_says_what_the_classes_say() -> None:
    for entry in POLICIES:
        if entry.kind == "tasks":
            cls = entry.load()
            assert cls.name == entry.name
            assert cls.clairvoyance.name.lower() == entry.clairvoyance  # type: ignore[attr-defined]
            assert cls.gang == entry.name.endswith("-gang")
