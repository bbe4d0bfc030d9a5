"""A policy that peeks is an error: each level, each thing it may not see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from hetopt.core.errors import VerificationError
from hetopt.solvers.online.rounds.state import Clairvoyance, PeekError
from hetopt.solvers.online.tasks import Agent, ClusterView, JobView, Start, simulate_tasks
from tests.conftest import make_instance

INSTANCE = make_instance({"g": 2, "h": 1}, [(1, 0, [(2, [3, 5], [1, 1])] * 2), (2, 6, [(1, [2, None], [0, None])])])

SIZES: dict[str, Callable[[JobView], Any]] = {
    "remaining_work": lambda job: job.remaining_work,
    "remaining_rounds": lambda job: job.remaining_rounds,
    "work_on": lambda job: job.work_on(0),
    "time_on": lambda job: job.time_on(0),
    "parts": lambda job: job.remaining_rounds_as_parts(1),
}


class Curious:
    """FIFO that looks at something on the way."""

    name: ClassVar[str] = "curious"
    gang: ClassVar[bool] = False

    def __init__(self, clairvoyance: Clairvoyance, look: Callable[[ClusterView], Any]) -> None:
        self.clairvoyance, self.look = clairvoyance, look

    def begin(self, view: ClusterView) -> Agent:
        look = self.look

        class _Agent(Agent):
            def next_start(self, view: ClusterView) -> Start | None:
                look(view)
                for n, job in view.jobs.items():
                    if view.unstarted(n):
                        for k in job.preferred:
                            if view.free[k]:
                                return Start(n, (view.free[k][0],))
                return None

        return _Agent()


@pytest.mark.parametrize("what", SIZES)
def test_sizes_are_for_those_who_declare_them(what: str) -> None:
    def look(view: ClusterView) -> None:
        for job in view.jobs.values():
            SIZES[what](job)

    with pytest.raises(PeekError, match="knows no sizes"):
        simulate_tasks(INSTANCE, Curious(Clairvoyance.NONE, look))
    assert simulate_tasks(INSTANCE, Curious(Clairvoyance.SIZES, look)).complete


def test_the_future_is_for_full_clairvoyance() -> None:
    def look(view: ClusterView) -> None:
        assert view.instance.num_jobs == 2

    for level in (Clairvoyance.NONE, Clairvoyance.SIZES):
        with pytest.raises(PeekError, match="whole instance"):
            simulate_tasks(INSTANCE, Curious(level, look))
    assert simulate_tasks(INSTANCE, Curious(Clairvoyance.FULL, look)).complete


def test_jobs_that_have_not_arrived_are_not_there() -> None:
    seen: dict[int, set[int]] = {}
    simulate_tasks(
        INSTANCE, Curious(Clairvoyance.FULL, lambda view: seen.setdefault(view.now, set()).update(view.jobs))
    )
    assert seen[0] == {0}
    assert all(1 not in jobs for now, jobs in seen.items() if now < 6)
    assert 1 in seen[6]


@pytest.mark.parametrize(
    ("start", "why"),
    [
        (Start(1, (0,)), "no task that could start"),
        (Start(0, (0, 1)), "one GPU"),
        (Start(0, (7,)), "not free"),
        (Start(0, (0,), 5), "no such task"),
    ],
)
def test_a_start_against_the_rules_is_refused(start: Start, why: str) -> None:
    class Wrong(Curious):
        def begin(self, view: ClusterView) -> Agent:
            class _Agent(Agent):
                def next_start(self, view: ClusterView) -> Start | None:
                    return start

            return _Agent()

    with pytest.raises(VerificationError, match=why):
        simulate_tasks(INSTANCE, Wrong(Clairvoyance.NONE, lambda view: None))
