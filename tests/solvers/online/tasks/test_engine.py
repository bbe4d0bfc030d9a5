"""The task-level simulator: plans carried out, offline rules, gangs, switching, noise, order, interruption."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hetopt.core.errors import InputError, NoSolutionError, VerificationError
from hetopt.core.feasibility import violations
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.schedule import Schedule
from hetopt.core.status import Objective
from hetopt.solvers.heuristics.event_rules import PRIORITIES, dispatch
from hetopt.solvers.heuristics.list_scheduling import PlacementRule, list_schedule
from hetopt.solvers.online.catalogue import POLICIES
from hetopt.solvers.online.tasks import GangTypes, TaskSetting, simulate_tasks
from hetopt.solvers.online.tasks.checks import problems_of
from hetopt.solvers.online.tasks.policies.keyed import Fifo, FifoGang, Srtf, SrtfGang, Wspt
from hetopt.solvers.online.tasks.policies.plan import Replay, ReplayGang
from hetopt.solvers.online.tasks.policies.service import Hlas, HlasGang
from tests.conftest import make_instance
from tests.solvers.random_instances import random_instance

NAMES = [entry.name for entry in POLICIES if entry.kind == "tasks"]
seeds = st.integers(0, 10_000)


def longest_paths(instance: Instance, plan: Schedule) -> Schedule:
    """Earliest starts for the plan's sequences, by relaxation to a fixed point: an evaluator of its own."""
    a = instance.arrays
    start = np.zeros(instance.num_tasks, dtype=np.int64)
    rounds = np.repeat(np.arange(a.num_rounds), a.scale)
    order = np.lexsort((plan.end, plan.start, plan.gpu))
    while True:
        kind = a.gpu_type[plan.gpu]
        end = start + a.processing_time[rounds, kind]
        synced = end + a.sync_time[rounds, kind]
        new = a.release_date[a.round_job[rounds]].copy()
        for i in range(instance.num_tasks):
            r = rounds[i]
            if r > a.round_start[a.round_job[r]]:
                new[i] = max(new[i], synced[rounds == r - 1].max())
        for before, after in pairwise(order.tolist()):
            if plan.gpu[before] == plan.gpu[after]:
                new[after] = max(new[after], end[before])
        if np.array_equal(new, start):
            return Schedule.from_starts(instance, plan.gpu, start)
        start = new


@settings(deadline=None, derandomize=True, max_examples=40)
@given(seed=seeds, rule=st.sampled_from(list(PlacementRule)))
def test_a_list_schedule_carried_out_is_itself(seed: int, rule: PlacementRule) -> None:
    instance = random_instance(seed, max_tasks=12)
    key = np.random.default_rng(seed).random(instance.num_rounds) * instance.horizon
    plan = list_schedule(instance, key, rule)
    for hold in (False, True):
        run = simulate_tasks(instance, Replay(plan, hold))
        assert run.schedule == plan
        for objective in Objective:
            assert run.value(objective) == evaluate(instance, plan, objective)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(seed=seeds)
def test_a_plan_with_gaps_is_kept_if_held_and_closed_if_not(seed: int) -> None:
    instance = random_instance(seed, max_tasks=12)
    tight = list_schedule(instance, np.arange(instance.num_rounds))
    # stretch time: every start doubled stays feasible and has gaps
    a = instance.arrays
    loose = Schedule.from_starts(instance, tight.gpu, 2 * tight.start + int(a.processing_time.max()))
    loose = Schedule.from_starts(instance, loose.gpu, loose.start)
    assert not violations(instance, loose)
    assert simulate_tasks(instance, Replay(loose, hold=True)).schedule == loose
    closed = simulate_tasks(instance, Replay(loose)).schedule
    assert closed == longest_paths(instance, loose)
    assert (closed.start <= loose.start).all()


@settings(deadline=None, derandomize=True, max_examples=40)
@given(seed=seeds)
def test_relaxed_rules_make_the_schedules_of_the_offline_rules(seed: int) -> None:
    instance = random_instance(seed, max_tasks=14)
    for policy in (Fifo(), Srtf(), Wspt()):
        run = simulate_tasks(instance, policy)
        gpu, start = dispatch(instance.arrays, PRIORITIES[policy.name](instance.arrays))
        assert np.array_equal(run.gpu, gpu)
        assert np.array_equal(run.start, start)


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_finishes_every_job_and_repeats(name: str) -> None:
    policy = POLICIES.load(name)()
    ran = 0
    for seed in range(8):
        instance = random_instance(seed, max_tasks=12)
        strange = TaskSetting(switch_ticks=2, noise=0.4, gang_types="one", gang_hold="train")
        for setting in (TaskSetting(), TaskSetting(switch_ticks=2, noise=0.4), strange):
            try:
                run = simulate_tasks(instance, policy, setting, seed=seed)
            except InputError:
                assert policy.gang  # a round with more tasks than GPUs
                continue
            ran += 1
            assert run.complete
            assert not list(problems_of(run))
            if not setting.noise:
                assert not violations(instance, run.schedule)
            again = simulate_tasks(instance, policy, setting, seed=seed)
            assert run.schedule == again.schedule
            outcome = run.outcome()
            assert outcome.to_dict()["unfinished"] == 0
            assert 0 < outcome.utilisation <= 1
    assert ran >= 4


def test_relaxed_and_gang_differ_as_the_papers_say() -> None:
    # job 0 holds one of two GPUs for 10 ticks; job 1 has rounds of two tasks of 2 ticks
    instance = make_instance({"g": 2}, [(1, 0, [(1, [10], [0])]), (1, 0, [(2, [2], [1])])])
    relaxed = simulate_tasks(instance, Fifo())
    assert relaxed.finish.tolist() == [10, 5]  # one after another on the other GPU, then the sync
    gang = simulate_tasks(instance, FifoGang())
    assert gang.finish.tolist() == [10, 13]
    assert gang.start[1:].tolist() == [10, 10]


def test_a_gang_holds_its_gpus_until_the_last_has_synchronised() -> None:
    # the gang of job 0 needs 2 ticks on the fast GPU and 6 on the slow one, 1 to synchronise; job 1 waits for the fast one
    instance = make_instance(
        {"fast": 1, "slow": 1}, [(1, 0, [(2, [2, 6], [1, 1])]), (1, 0, [(1, [3, None], [0, None])])]
    )
    held = simulate_tasks(instance, FifoGang())
    assert held.finish.tolist() == [7, 10]
    assert held.given.tolist() == [7, 7, 10]
    trained = simulate_tasks(instance, FifoGang(), TaskSetting(gang_hold="train"))
    assert trained.finish.tolist() == [7, 9]
    relaxed = simulate_tasks(instance, Fifo())
    assert relaxed.finish.tolist() == [7, 5]


def test_a_gang_that_fits_nowhere_is_an_error_that_names_the_job() -> None:
    instance = make_instance({"a": 2, "b": 2}, [(1, 0, [(3, [2, 2], [0, 0])]), (1, 0, [(5, [1, 1], [0, 0])])])
    with pytest.raises(InputError, match="job1") as error:
        simulate_tasks(instance, HlasGang())
    assert len(error.value.faults) == 1
    with pytest.raises(InputError) as error:
        simulate_tasks(instance, HlasGang(), TaskSetting(gang_types=GangTypes.ONE))
    assert len(error.value.faults) == 2


def test_a_gang_of_one_type_stays_on_it() -> None:
    instance = make_instance({"a": 2, "b": 3}, [(1, 0, [(2, [2, 2], [0, 0])]), (1, 0, [(2, [4, 4], [0, 0])])])
    setting = TaskSetting(gang_types=GangTypes.ONE)
    run = simulate_tasks(instance, SrtfGang(), setting)
    kinds = instance.arrays.gpu_type[run.gpu]
    assert kinds[0] == kinds[1]
    assert kinds[2] == kinds[3]
    # without backfilling, what stands behind a gang that does not fit waits
    blocked = make_instance({"a": 2}, [(1, 0, [(1, [4], [0])]), (1, 0, [(2, [1], [0])]), (1, 0, [(1, [1], [0])])])
    assert simulate_tasks(blocked, FifoGang()).finish.tolist() == [4, 5, 1]
    assert simulate_tasks(blocked, FifoGang(backfill=False)).finish.tolist() == [4, 5, 6]


def test_switching_costs_are_paid_when_a_gpu_changes_its_job_and_only_then() -> None:
    instance = make_instance({"g": 1}, [(1, 0, [(2, [3], [0])]), (1, 0, [(1, [3], [0])])])
    run = simulate_tasks(instance, Fifo(), TaskSetting(switch_ticks=5))
    assert run.start.tolist() == [0, 3, 11]  # first load free, same job free, then 6 + 5
    assert run.taken.tolist() == [0, 3, 6]
    assert not violations(instance, run.schedule)


def test_noise_is_the_same_for_every_policy_and_seeded() -> None:
    instance = random_instance(5, max_tasks=14)
    setting = TaskSetting(noise=0.5)
    one = simulate_tasks(instance, Fifo(), setting, seed=1)
    assert simulate_tasks(instance, Fifo(), setting, seed=1).schedule == one.schedule
    assert simulate_tasks(instance, Fifo(), setting, seed=2).schedule != one.schedule
    single = make_instance({"g": 1}, [(1, 0, [(1, [1000], [0])] * 3), (1, 0, [(1, [1000], [0])])])
    lengths = [
        (run.end - run.start).tolist()
        for run in (simulate_tasks(single, p, TaskSetting(noise=0.3), seed=4) for p in (Fifo(), Srtf(), Hlas()))
    ]
    assert lengths[0] == lengths[1] == lengths[2]
    assert len(set(lengths[0])) > 1


@pytest.mark.parametrize("damage", ["start", "gpu", "end", "finish", "sync_end"])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_a_damaged_run_does_not_pass_the_checks(damage: str, noise: float) -> None:
    instance = make_instance({"g": 1, "h": 1}, [(1, 0, [(2, [9, 4], [1, 2])]), (1, 1, [(1, [5, None], [0, None])])])
    run = simulate_tasks(instance, Hlas(), TaskSetting(noise=noise), seed=3)
    assert not list(problems_of(run))
    column = getattr(run, damage).copy()
    column[0] = 1 - column[0] if damage == "gpu" else column[0] + 1
    assert list(problems_of(dataclasses.replace(run, **{damage: column})))


def test_damaged_gangs_and_switches_are_found() -> None:
    instance = make_instance({"g": 2}, [(1, 0, [(2, [3], [2])]), (1, 0, [(1, [3], [0])])])
    run = simulate_tasks(instance, FifoGang(), TaskSetting(switch_ticks=4))
    assert run.start.tolist() == [0, 0, 9]
    early = run.start.copy()
    early[2] = 4
    moved = dataclasses.replace(run, start=early, end=early + 3, sync_end=np.array([5, 5, 7]), finish=np.array([5, 7]))
    found = " ".join(problems_of(moved))
    assert "gang holds it" in found
    assert "switch takes 4" in found


def test_a_replayed_gang_plan_is_itself() -> None:
    for seed in range(20):
        instance = random_instance(seed, max_tasks=12)
        try:
            run = simulate_tasks(instance, HlasGang())
        except InputError:
            continue
        assert simulate_tasks(instance, ReplayGang(run.schedule, hold=True)).schedule == run.schedule


class _Stop:
    def __init__(self, after: int) -> None:
        self.left = after

    def record(self, **_: object) -> None: ...

    def elapsed(self) -> float:
        return 0.0

    def stop_requested(self) -> bool:
        self.left -= 1
        return self.left < 0


def test_an_interrupted_run_keeps_what_was_done() -> None:
    instance = make_instance({"g": 1}, [(1, 0, [(1, [3], [0])]), (1, 0, [(4, [3], [0])]), (1, 99, [(1, [1], [0])])])
    whole = simulate_tasks(instance, Fifo())
    part = simulate_tasks(instance, Fifo(), observer=_Stop(3))
    assert part.interrupted
    assert not part.complete
    assert part.finish.tolist() == [3, -1, -1]
    assert np.array_equal(part.start[:3], whole.start[:3])
    outcome = part.outcome()
    assert outcome.interrupted
    assert [job.finish for job in outcome.jobs] == [3.0, None, None]
    with pytest.raises(NoSolutionError):
        _ = part.schedule


def test_series_count_what_waits_and_what_runs() -> None:
    instance = make_instance({"g": 1}, [(1, 0, [(1, [3], [0])]), (1, 1, [(1, [2], [4])]), (1, 20, [(1, [1], [0])])])
    series = simulate_tasks(instance, Fifo()).series()
    assert series["GPUs in use"] == ((0.0, 1.0), (5.0, 0.0), (20.0, 1.0), (21.0, 0.0))
    # from 5 to 9 job 1 synchronises: it holds no GPU
    assert series["waiting jobs"] == ((0.0, 0.0), (1.0, 1.0), (3.0, 0.0), (5.0, 1.0), (9.0, 0.0))


def test_jobs_left_waiting_are_an_error() -> None:
    from hetopt.solvers.online.tasks import Agent, ClusterView

    class Idle(Fifo):
        def begin(self, view: ClusterView) -> Agent:
            agent = Agent()
            agent.next_start = lambda view: None  # type: ignore[method-assign]
            return agent

    with pytest.raises(VerificationError, match="for ever"):
        simulate_tasks(random_instance(1), Idle())


@pytest.mark.parametrize("name", NAMES)
def test_awkward_arrivals_end_in_a_schedule_or_one_clear_error(name: str) -> None:
    # unsorted arrivals, many at one tick, a hole of a million ticks, a round with more tasks than the cluster has GPUs
    rounds = [(1, [3, None], [1, None])]
    jobs = [(1, 10**6, rounds), (1, 5, [(5, [2, 4], [0, 1])]), (1, 0, rounds), (2, 5, rounds), (1, 0, rounds)]
    policy = POLICIES.load(name)()
    instance = make_instance({"a": 1, "b": 1}, jobs)
    if policy.gang:
        with pytest.raises(InputError, match="job1"):
            simulate_tasks(instance, policy)
        instance = make_instance({"a": 1, "b": 1}, [jobs[0], *jobs[2:]])
    run = simulate_tasks(instance, policy)
    assert run.complete
    assert run.finish[0] == 10**6 + 4
    assert run.events < 100  # the hole costs nothing
