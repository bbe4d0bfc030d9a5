"""One entry for every trace format, told apart by content: the number of fields, or the names in the header."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from hetopt.core.documents import read_text
from hetopt.core.errors import Fault, InputError, UsageError, shown
from hetopt.instances.report import LoadedWorkload
from hetopt.instances.traces import alibaba, philly, pollux, tiresias
from hetopt.instances.traces.gavel import load_gavel_workload
from hetopt.instances.traces.shockwave import load_shockwave_workload

__all__ = ["TraceFormat", "detect_format", "load_workload"]


class TraceFormat(StrEnum):
    """Formats of traces."""

    GAVEL = "gavel"
    SHOCKWAVE = "shockwave"
    PHILLY = "philly"
    POLLUX = "pollux"
    TIRESIAS = "tiresias"
    ALIBABA = "alibaba"


_HEADERS = {
    TraceFormat.PHILLY: philly.COLUMNS,
    TraceFormat.POLLUX: pollux.COLUMNS,
    TraceFormat.ALIBABA: (
        "name",
        "num_gpu",
        "gpu_milli",
        "gpu_spec",
        "creation_time",
        "deletion_time",
        "scheduled_time",
    ),
    TraceFormat.TIRESIAS: tiresias.COLUMNS,
}


def detect_format(path: str | os.PathLike[str]) -> TraceFormat:
    """The format of a file, from its first line that is not blank.

    Raises
    ------
    InputError
        None of the known ones; the text says what each looks like.
    """
    text, source = read_text(path)
    first = next((line for line in text.removeprefix("\ufeff").splitlines() if line.strip()), "")
    if not first:
        raise InputError(Fault("", "no job", "a trace has at least one job", "give another file", source))
    fields = first.split("\t")
    if len(fields) == 12:
        return TraceFormat.SHOCKWAVE
    if len(fields) in (7, 10):
        return TraceFormat.GAVEL
    header = {field.strip() for field in next(csv.reader([first]), [])}
    for kind, columns in _HEADERS.items():
        if header >= set(columns):
            return kind
    known = "; ".join(f"{kind}: a header with {', '.join(columns)}" for kind, columns in _HEADERS.items())
    rule = f"a trace has 7 or 10 (Gavel) or 12 (Shockwave) tab-separated fields a line, or is a CSV file; {known}"
    raise InputError(Fault("line 1", shown(first), rule, "give a trace of one of these formats", source))


def load_workload(
    path: str | os.PathLike[str],
    *,
    throughputs: str | os.PathLike[str] | None = None,
    types: Sequence[str] | None = None,
    speeds: Mapping[str, float] | None = None,
    profiles: Mapping[str, str | os.PathLike[str]] | None = None,
    jobs: int | None = None,
    strict: bool = True,
    **more: Any,
) -> LoadedWorkload:
    """Read a trace of any format.

    Parameters
    ----------
    path
        The file.
    throughputs
        Throughput table: needed by Gavel's traces, of use to Shockwave's, refused by others.
    types
        GPU types of the cluster.  For traces that name no types (Philly, Tiresias) each gets speed 1
        unless ``speeds`` says otherwise.
    speeds
        Made-up speeds of GPU types, for traces without throughputs.
    profiles
        For Pollux workloads: per GPU type the folder of profiles.
    jobs, strict
        As for the loader of each format.
    **more
        Further parameters of that loader.

    Raises
    ------
    UsageError
        A parameter that the format has no use for, or lacks.
    InputError
        As the loader of the format.
    """
    kind = detect_format(path)
    given = {"throughputs": throughputs, "speeds": speeds, "profiles": profiles}
    useful = {
        TraceFormat.GAVEL: {"throughputs"},
        TraceFormat.SHOCKWAVE: {"throughputs"},
        TraceFormat.PHILLY: {"speeds"},
        TraceFormat.TIRESIAS: {"speeds"},
        TraceFormat.ALIBABA: {"speeds"},
        TraceFormat.POLLUX: {"profiles"},
    }[kind]
    for key, value in given.items():
        if value is not None and key not in useful:
            raise UsageError(f"{key}: a {kind} trace has no use for it; it takes {', '.join(sorted(useful))}")
    if kind is TraceFormat.GAVEL:
        if throughputs is None:
            rule = "a Gavel trace needs its throughput table"
            raise InputError(Fault("", "no throughput table", rule, "give it with --throughputs FILE", str(path)))
        return load_gavel_workload(path, throughputs, types, jobs=jobs, strict=strict, **more)
    if kind is TraceFormat.SHOCKWAVE:
        return load_shockwave_workload(path, throughputs, types, jobs=jobs, strict=strict, **more)
    if kind is TraceFormat.POLLUX:
        if not profiles:
            rule = "a Pollux workload needs a folder of profiles per GPU type"
            raise InputError(Fault("", "no profiles", rule, "give profiles={'T4': 'profiles_t4'}", str(path)))
        chosen = profiles if types is None else {t: profiles[t] for t in types if t in profiles}
        return pollux.load_pollux_workload(path, chosen, jobs=jobs, strict=strict, **more)
    if kind is TraceFormat.ALIBABA:
        names = alibaba.TYPES if types is None else tuple(types)
        return alibaba.load_alibaba_workload(path, names, speeds=speeds, jobs=jobs, strict=strict, **more)
    if types is not None:
        made_up = speeds or {}
        unknown = [name for name in made_up if name not in types]
        if unknown:
            raise UsageError(f"speeds {', '.join(unknown)}: no such type; there are {', '.join(types)}")
        speeds = {name: made_up.get(name, 1.0) for name in types}
    if kind is TraceFormat.PHILLY:
        return philly.load_philly_workload(path, speeds, jobs=jobs, strict=strict, **more)
    return tiresias.load_tiresias_workload(path, speeds, jobs=jobs, strict=strict, **more)
