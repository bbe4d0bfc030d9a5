"""Named families of generated instances, and the registry through which others add theirs.

A family is anything with ``name``, ``summary`` and ``generate`` (:class:`InstanceFamily`); most are a
:class:`KnobFamily`: defaults for the knobs, and knobs that the family's name fixes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from hetopt.core.errors import UsageError, shown
from hetopt.core.instance import Instance
from hetopt.core.registry import Entry, Registry
from hetopt.instances.generators.build import build
from hetopt.instances.generators.knobs import Release, parse_knobs
from hetopt.instances.real_times import gpu_types_of

__all__ = ["FAMILIES", "InstanceFamily", "KnobFamily"]

_TWO_TYPES: Final = {"V100": 2, "T4": 2}


class InstanceFamily(Protocol):
    """What the registry of families holds."""

    @property
    def name(self) -> str:
        """Public name, lower case with dashes."""

    @property
    def summary(self) -> str:
        """One line for tables and help."""

    def generate(
        self, *, jobs: int, gpus: Mapping[str, int] | None, seed: int, knobs: Mapping[str, Any], name: str
    ) -> Instance:
        """Make an instance; ``knobs`` holds what the user gave, ``None`` and missing alike mean the default."""


@dataclass(frozen=True)
class KnobFamily:
    """A family made of the standard knobs.

    Parameters
    ----------
    name, summary
        As for every family.
    defaults
        Knobs whose default differs from the general one.
    fixed
        Knobs that the family's name decides; giving them another value is an error.
    gpus
        The cluster when the user names none.
    one_type
        Whether the family is for clusters of one type only.
    """

    name: str
    summary: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    gpus: Mapping[str, int] = field(default_factory=lambda: _TWO_TYPES)
    one_type: bool = False

    def generate(
        self, *, jobs: int, gpus: Mapping[str, int] | None, seed: int, knobs: Mapping[str, Any], name: str
    ) -> Instance:
        """Make an instance of the family (see :func:`hetopt.instances.generators.generate`)."""
        types = gpu_types_of(self.gpus if gpus is None else gpus)
        if self.one_type and len(types) > 1:
            raise UsageError(
                f"gpus: {len(types)} types; the family {self.name} has one GPU type; name one type, or take the family identical"
            )
        given = {k: v for k, v in knobs.items() if v is not None}
        usual = parse_knobs({}, {**self.defaults, **self.fixed})
        wanted = parse_knobs(given, {**self.defaults, **self.fixed})
        for knob in self.fixed:
            if getattr(wanted, knob) != getattr(usual, knob):
                raise UsageError(
                    f"{knob} {shown(given.get(knob, given.get('related')))}: the family {self.name} fixes {knob} to "
                    f"{shown_knob(getattr(usual, knob))}; leave it out, or take another family"
                )
        if "load" in given or "burst" in given:
            wanted = parse_knobs({"release": _implied(self, given), **given}, {**self.defaults, **self.fixed})
        return build(name, jobs, types, seed, wanted)


def _implied(family: KnobFamily, given: Mapping[str, Any]) -> Release:
    """The release process when a load (or a burst size) is given: such knobs must act or be refused."""
    release = given.get("release", family.fixed.get("release", family.defaults.get("release")))
    knob = "load" if "load" in given else "burst"
    if release is None:
        return Release.BURSTS if "burst" in given else Release.POISSON
    if Release(release) is Release.BATCH or (Release(release) is Release.POISSON and "burst" in given):
        knob = knob if Release(release) is Release.BATCH else "burst"
        remedy = (
            "leave it out, or give the family poisson or bursts"
            if knob == "load"
            else "leave it out, or give the family bursts"
        )
        raise UsageError(
            f"{knob} {shown(given[knob])}: it has no effect where the release process is {release}; {remedy}"
        )
    return Release(release)


def shown_knob(value: Any) -> str:
    """A knob's value as a user would write it."""
    return shown(str(value)).strip("'")


batch = KnobFamily("batch", "every job released at 0; times on the types unrelated", fixed={"release": "batch"})
poisson = KnobFamily("poisson", "releases form a Poisson process at the given load", fixed={"release": "poisson"})
bursts = KnobFamily("bursts", "jobs come several at a time, bursts at the given load", fixed={"release": "bursts"})
ordered_types = KnobFamily(
    "ordered-types",
    "the types are ordered alike for every job, the first is fastest (V100 > P100 > K80)",
    fixed={"times": "ordered"},
    gpus={"V100": 2, "P100": 2, "K80": 2},
)
related = KnobFamily("related", "each type has one speed for all jobs", fixed={"times": "related"})
unrelated = KnobFamily("unrelated", "each job has its own factor per type", fixed={"times": "unrelated"})
identical = KnobFamily("identical", "all types are equally fast", fixed={"alpha": 1})
single_type = KnobFamily("single-type", "one GPU type", fixed={"alpha": 1}, gpus={"V100": 4}, one_type=True)
heavy_tailed = KnobFamily(
    "heavy-tailed",
    "Pareto processing times (index 1.2): a few jobs hold most of the work",
    defaults={"tail": 1.2, "time": (4, 20_000)},
)
unlike_rounds = KnobFamily("unlike-rounds", "the rounds of a job differ in length and scale", fixed={"alike": False})
memory_limited = KnobFamily(
    "memory-limited", "each type is forbidden for a job with chance 0.3", defaults={"forbidden": 0.3}
)
single_task = KnobFamily("single-task", "every round is one task", fixed={"scale": 1})
wide = KnobFamily(
    "wide", "rounds of 8 to 32 tasks, more than the GPUs of most small clusters", defaults={"scale": (8, 32)}
)

FAMILIES: Final = Registry(what="instance family", group="hetopt.instance_families")

for _spec in (
    batch,
    poisson,
    bursts,
    ordered_types,
    related,
    unrelated,
    identical,
    single_type,
    heavy_tailed,
    unlike_rounds,
    memory_limited,
    single_task,
    wide,
):
    FAMILIES.add(
        Entry(
            name=_spec.name,
            target=f"{__name__}:{_spec.name.replace('-', '_')}",
            kind="knobs",
            summary=_spec.summary,
        )
    )
