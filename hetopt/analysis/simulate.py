"""Runs online policies on a workload; the kind of each policy says which simulator runs it.

Round-based policies see the workload as it is.  Task-level policies see an instance made of it (R equal training
rounds a job, times rounded up to ticks), whose jobs arrive at their release dates.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias

from hetopt.core.errors import UsageError, shown
from hetopt.core.simulation import PolicyOutcome, SimulationResult
from hetopt.core.workload import Workload
from hetopt.solvers.online.catalogue import POLICIES
from hetopt.solvers.online.rounds.engine import RoundProgress, simulate_rounds
from hetopt.solvers.online.rounds.setting import RoundSetting, Unrunnable
from hetopt.solvers.online.rounds.state import RoundPolicy
from hetopt.solvers.online.tasks.setting import GangHold, GangTypes, TaskSetting
from hetopt.solvers.run import Monitor, interrupts

__all__ = ["DEFAULT_ROUNDS", "PolicyLike", "SimulationListener", "make_round_policy", "read_workload", "simulate"]

DEFAULT_ROUNDS: Final = 10
"""Training rounds of a job in the instances that task-level policies see."""

PolicyLike: TypeAlias = str | RoundPolicy
SimulationListener: TypeAlias = Callable[[str, int, int, int], None]
"""Called with the label of the policy, the jobs finished, the jobs in all, and the round (or event)."""


def read_workload(
    trace: str | os.PathLike[str],
    gpus: Mapping[str, int],
    *,
    throughputs: str | os.PathLike[str] | None = None,
    speeds: Mapping[str, float] | None = None,
    jobs: int | None = None,
    strict: bool = True,
) -> Workload:
    """The workload of a trace file, on the types of a cluster.

    Parameters
    ----------
    trace
        The file.
    gpus
        GPUs of each type.
    throughputs
        Throughput table, for formats that need one (Gavel's traces do).
    speeds
        Made-up speeds of GPU types, for formats without throughputs.
    jobs
        Only the first so many jobs of the file.
    strict
        Malformed lines and jobs that no type can run are errors, or left out.
    """
    from hetopt.instances import traces

    types = tuple(gpus)
    return traces.load_workload(
        trace, throughputs=throughputs, speeds=speeds, types=types, jobs=jobs, strict=strict
    ).workload


def _parameters(cls: Any) -> tuple[str, ...]:
    return tuple(f.name for f in dataclasses.fields(cls) if f.init) if dataclasses.is_dataclass(cls) else ()


def make_round_policy(cls: Any, params: Mapping[str, Any] | None = None) -> Any:
    """A policy of its class and parameters; a wrong one is one clear line."""
    name = getattr(cls, "name", cls.__name__)
    known = _parameters(cls)
    given = {key: tuple(v) if isinstance(v, list) else v for key, v in (params or {}).items()}
    for key in given:
        if key not in known:
            raise UsageError(f"{name} has no parameter {key!r}; it has: {', '.join(known) or 'none'}")
    try:
        return cls(**given)
    except (TypeError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{name}: {error}") from None


def simulate(
    workload: Workload,
    policies: PolicyLike | Sequence[PolicyLike] | Mapping[str, PolicyLike],
    gpus: Mapping[str, int],
    *,
    rounds: int = DEFAULT_ROUNDS,
    round_seconds: float = 300.0,
    migration_seconds: float | Mapping[str, float] = 0.0,
    early_end: bool = False,
    whole_steps: bool = False,
    max_rounds: int | None = None,
    unrunnable: Unrunnable | str = Unrunnable.ERROR,
    tick_seconds: float | None = 1.0,
    sync: float = 0.0,
    switch_seconds: float = 0.0,
    noise: float = 0.0,
    gang_types: GangTypes | str = GangTypes.ANY,
    gang_hold: GangHold | str = GangHold.SYNC,
    seed: int = 0,
    params: Mapping[str, Mapping[str, Any]] | None = None,
    listener: SimulationListener | None = None,
) -> SimulationResult:
    """Simulate policies on a workload, one after another, each from the beginning.

    Parameters
    ----------
    workload
        The jobs.
    policies
        Names of the catalogue or policy objects, or a mapping from labels to either.
    gpus
        GPUs of each type.
    rounds, tick_seconds, sync
        For task-level policies: training rounds of a job, length of a tick, share of a round that is synchronisation.
    switch_seconds, noise, gang_types, gang_hold
        For task-level policies: see :class:`~hetopt.solvers.online.tasks.setting.TaskSetting`; the switch is rounded up to ticks.
    round_seconds, migration_seconds, early_end, whole_steps, max_rounds, unrunnable
        For round-based policies; see :class:`~hetopt.solvers.online.rounds.setting.RoundSetting`.
    seed
        Seed of every random choice.
    params
        Parameters by policy name (or label).
    listener
        Hears of progress.

    Raises
    ------
    InputError, UsageError
        A job that cannot run on this cluster, by name; a policy or parameter that does not exist.
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise UsageError(f"seed {shown(seed)}: a seed is a whole number")
    plans = _plans(policies, params or {})
    setting = RoundSetting(
        gpus=gpus,
        round_seconds=round_seconds,
        migration_seconds=migration_seconds,
        early_end=early_end,
        whole_steps=whole_steps,
        max_rounds=max_rounds,
        unrunnable=Unrunnable(unrunnable) if unrunnable in tuple(Unrunnable) else unrunnable,  # type: ignore[arg-type]
    )
    if isinstance(switch_seconds, bool) or not (
        isinstance(switch_seconds, (int, float)) and 0 <= switch_seconds < math.inf
    ):
        raise UsageError(f"switch_seconds {shown(switch_seconds)}: a finite number of seconds >= 0")
    rules = (
        float(switch_seconds),
        TaskSetting(noise=noise, gang_types=gang_types, gang_hold=gang_hold),  # type: ignore[arg-type]
    )
    monitor = Monitor()
    outcomes: list[PolicyOutcome] = []
    with interrupts(monitor):
        for label, kind, policy in plans:
            if monitor.stop_requested():
                break
            if kind == "tasks":
                outcome = _run_tasks(
                    workload, policy, gpus, rounds, tick_seconds, sync, rules, seed, monitor, label, listener
                )
            else:
                outcome = _run_rounds(workload, policy, setting, seed, monitor, label, listener)
            outcomes.append(dataclasses.replace(outcome, policy=label))
    return SimulationResult(workload=workload.name, seed=seed, policies=tuple(outcomes))


def _plans(
    policies: PolicyLike | Sequence[PolicyLike] | Mapping[str, PolicyLike], params: Mapping[str, Mapping[str, Any]]
) -> list[tuple[str, str, Any]]:
    pairs: Iterable[tuple[str | None, PolicyLike]]
    if isinstance(policies, Mapping):
        pairs = list(policies.items())
    elif isinstance(policies, str) or not isinstance(policies, Sequence):
        pairs = [(None, policies)]
    else:
        pairs = [(None, p) for p in policies]
    out: list[tuple[str, str, Any]] = []
    for label, policy in pairs:
        if isinstance(policy, str):
            entry = POLICIES.entry(policy)
            made, kind = make_round_policy(entry.load(), params.get(label or policy)), entry.kind
            if kind not in ("rounds", "tasks"):
                kind = "rounds" if hasattr(made, "decide") else "tasks"
        else:
            made, kind = policy, "rounds" if hasattr(policy, "decide") else "tasks"
            if kind == "tasks" and not hasattr(policy, "begin"):
                raise UsageError(f"{shown(policy)} is no policy: it has neither decide nor begin")
        out.append((label or str(made.name), kind, made))
    names = [label for label, _, _ in out]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not out or twice:
        what = f"{', '.join(twice)} stands twice" if twice else "no policy is given"
        raise UsageError(f"policies: {what}; name each once, or give a mapping from labels to policies")
    unused = sorted(set(params) - {label for label, _, _ in out})
    if unused:
        raise UsageError(f"params: parameters are given for {unused[0]!r}, which is not simulated")
    return out


def _run_rounds(
    workload: Workload,
    policy: RoundPolicy,
    setting: RoundSetting,
    seed: int,
    monitor: Monitor,
    label: str,
    listener: SimulationListener | None,
) -> PolicyOutcome:
    def heard(news: RoundProgress) -> None:
        if listener is not None:
            listener(label, news.finished, news.total, news.round)

    return simulate_rounds(workload, policy, setting, seed=seed, observer=monitor, listener=heard)


def _run_tasks(
    workload: Workload,
    policy: Any,
    gpus: Mapping[str, int],
    rounds: int,
    tick_seconds: float | None,
    sync: float,
    rules: tuple[float, TaskSetting],
    seed: int,
    monitor: Monitor,
    label: str,
    listener: SimulationListener | None,
) -> PolicyOutcome:
    from hetopt.instances.traces import workload_to_instance
    from hetopt.solvers.online.tasks.engine import TaskProgress
    from hetopt.solvers.online.tasks.fast import simulate_fast

    def heard(news: TaskProgress) -> None:
        if listener is not None:
            listener(label, news.finished, news.total, news.events)

    made = workload_to_instance(workload, dict(gpus), rounds=rounds, tick_seconds=tick_seconds, sync=sync)
    switch_seconds, setting = rules
    if switch_seconds:
        ticks = math.ceil(Fraction(repr(switch_seconds)) / Fraction(repr(made.instance.tick_seconds)))
        setting = dataclasses.replace(setting, switch_ticks=ticks)
    done = simulate_fast(made.instance, policy, setting, seed=seed, observer=monitor, listener=heard)
    return done.outcome()
