"""The array view says what the document says."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hetopt.core.instance import GpuType, Instance, Job, SyncRound
from hetopt.core.seeds import generator


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """Small instances with forbidden types, sync times, repeats and releases."""
    types = draw(st.integers(1, 3))
    jobs = []
    for n in range(draw(st.integers(1, 4))):
        rounds = []
        for _ in range(draw(st.integers(1, 3))):
            times = draw(st.lists(st.one_of(st.none(), st.integers(1, 9)), min_size=types, max_size=types))
            if all(t is None for t in times):
                times[0] = 5
            sync = tuple(None if t is None else draw(st.integers(0, 3)) for t in times)
            rounds.append(
                SyncRound(
                    repeat=draw(st.integers(1, 3)),
                    scale=draw(st.integers(1, 3)),
                    processing_time=tuple(times),
                    sync_time=sync,
                )
            )
        jobs.append(
            Job(
                name=f"j{n}", weight=draw(st.integers(1, 9)), release_date=draw(st.integers(0, 9)), rounds=tuple(rounds)
            )
        )
    gpus = tuple(GpuType(name=f"g{k}", count=draw(st.integers(1, 2))) for k in range(types))
    return Instance(name="drawn", gpu_types=gpus, jobs=tuple(jobs))


@given(instances())
@settings(deadline=None, max_examples=60, derandomize=True)
def test_arrays_agree_with_the_document(instance: Instance) -> None:
    a = instance.arrays
    flat = [(n, part) for n, job in enumerate(instance.jobs) for part in job.rounds for _ in range(part.repeat)]
    assert a.num_rounds == instance.num_rounds == len(flat)
    assert a.num_tasks == instance.num_tasks == sum(part.scale for _, part in flat)
    assert a.num_gpus == instance.num_gpus
    for r, (n, part) in enumerate(flat):
        assert a.round_job[r] == n
        assert a.scale[r] == part.scale
        assert [None if not ok else int(p) for ok, p in zip(a.allowed[r], a.processing_time[r])] == list(
            part.processing_time
        )
        assert [None if not ok else int(s) for ok, s in zip(a.allowed[r], a.sync_time[r])] == list(part.sync_time)
        assert a.min_processing_time[r] == min(p for p in part.processing_time if p is not None)
        pairs = [p + s for p, s in zip(part.processing_time, part.sync_time) if p is not None and s is not None]
        assert a.min_task_time[r] == min(pairs)
    assert Instance.from_json(instance.to_json()) == instance
    assert instance.fingerprint == _plain_fingerprint(instance)
    assert Instance.from_json(instance.to_json()).fingerprint == instance.fingerprint


def _plain_fingerprint(instance: Instance) -> str:
    content = instance.to_dict()
    del content["name"]
    for job in content["jobs"]:
        merged: list[dict] = []
        for part in job["rounds"]:
            if merged and {**merged[-1], "repeat": 0} == {**part, "repeat": 0}:
                merged[-1]["repeat"] += part["repeat"]
            else:
                merged.append(part)
        job["rounds"] = merged
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def test_arrays_are_read_only(two_jobs: Instance) -> None:
    with pytest.raises(ValueError, match="read-only"):
        two_jobs.arrays.weight[0] = 7


def test_gpus_are_numbered_type_by_type(two_jobs: Instance) -> None:
    assert two_jobs.arrays.gpu_type.tolist() == [0, 0, 1]


def test_seeds_give_independent_repeatable_streams() -> None:
    a, b, c = generator(1, "x"), generator(1, "x"), generator(1, "y")
    first = a.integers(0, 2**60, 5)
    assert np.array_equal(first, b.integers(0, 2**60, 5))
    assert not np.array_equal(first, c.integers(0, 2**60, 5))
    assert generator(0, "generate").integers(0, 1000) == generator(0, "generate").integers(0, 1000)
