"""Seeded synthetic instances: :func:`generate`, and the families that it knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hetopt.core.errors import UsageError, shown
from hetopt.core.instance import MAX_TASKS, Instance
from hetopt.instances.generators.families import FAMILIES, InstanceFamily, KnobFamily
from hetopt.instances.generators.knobs import Knobs, Release, Times

__all__ = ["FAMILIES", "InstanceFamily", "KnobFamily", "Knobs", "Release", "Times", "generate"]


def generate(
    jobs: int = 8,
    gpus: Mapping[str, int] | None = None,
    seed: int = 0,
    *,
    family: str = "batch",
    alpha: Any = None,
    load: Any = None,
    rounds: Any = None,
    scale: Any = None,
    sync: Any = None,
    weights: Any = None,
    related: Any = None,
    tick_seconds: Any = None,
    name: str | None = None,
    **knobs: Any,
) -> Instance:
    """A random instance; the same arguments give the same instance in every process.

    Knobs left out (or ``None``) take the family's default; numbers may be given as text, as on the
    command line.  A distribution on whole numbers is a number, a range ``(2, 6)`` or ``"2..6"``
    (uniform, ends included), a list of equally likely values ``[1, 2, 4]`` or ``"1,2,4"``, or chances
    ``{1: 0.7, 4: 0.3}`` or ``"1=0.7,4=0.3"``.

    Parameters
    ----------
    jobs
        Number of jobs, >= 1.
    gpus
        GPUs of each type; the family's own cluster by default (``{"V100": 2, "T4": 2}`` for most).
    seed
        Any whole number.
    family
        Name in :data:`FAMILIES`.
    alpha
        Largest ratio of a task's processing times over the types, and of its sync times: no task
        exceeds it, and one job attains it (exactly when 10 alpha is whole; else as closely as whole
        ticks allow).  Default 4.
    load
        Offered load: work released per tick over what the cluster does per tick, see the guide.
        Default 0.8 where releases are random; in a family that does not fix the releases, giving a
        load makes them a Poisson process.
    rounds
        Rounds per job.  Default uniform on 1 to 6.
    scale
        Tasks per round.  Default 1, 2 or 4 with chances 0.5, 0.3, 0.2.
    sync
        Share of a task's time that is synchronisation: a number or a range.  Default 0.1.
    weights
        Weights.  Default uniform on 1 to 5; ``"unit"`` or 1 for all alike.
    related
        Whether each type has one speed for all jobs.
    tick_seconds
        Length of a tick (recorded in the instance; times are drawn in ticks).
    name
        Name of the instance; made of family, jobs and seed by default.
    **knobs
        ``release``, ``burst``, ``times``, ``time``, ``tail``, ``alike``, ``forbidden``: see the guide;
        and whatever a family from elsewhere understands.

    Raises
    ------
    UsageError
        A family or knob that does not exist, or a value out of range: one line with knob, value, rule
        and remedy.
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int) or not 1 <= jobs <= MAX_TASKS:
        raise UsageError(f"jobs {shown(jobs)}: the number of jobs is a whole number from 1 to 2^27; give for example 8")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise UsageError(f"seed {shown(seed)}: a seed is a whole number; give for example 0")
    given = dict(
        alpha=alpha,
        load=load,
        rounds=rounds,
        scale=scale,
        sync=sync,
        weights=weights,
        related=related,
        tick_seconds=tick_seconds,
        **knobs,
    )
    chosen: InstanceFamily = FAMILIES.load(family)
    return chosen.generate(
        jobs=jobs, gpus=gpus, seed=seed, knobs=given, name=f"{family}-{jobs}-seed{seed}" if name is None else name
    )
