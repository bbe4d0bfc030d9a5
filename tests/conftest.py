"""Shared fixtures: small instances, a brute-force oracle, the place of the public data."""

from __future__ import annotations

from pathlib import Path

import pytest

from hetopt.core.instance import GpuType, Instance, Job, SyncRound

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"


def make_instance(gpus: dict[str, int], jobs: list[tuple], name: str = "made") -> Instance:
    """Jobs as (weight, release, [(scale, processing, sync), ...])."""
    return Instance(
        name=name,
        gpu_types=tuple(GpuType(name=k, count=v) for k, v in gpus.items()),
        jobs=tuple(
            Job(
                name=f"job{n}",
                weight=weight,
                release_date=release,
                rounds=tuple(SyncRound(scale=d, processing_time=tuple(p), sync_time=tuple(s)) for d, p, s in rounds),
            )
            for n, (weight, release, rounds) in enumerate(jobs)
        ),
    )


@pytest.fixture
def two_jobs() -> Instance:
    """The example of the format: two jobs on two GPU types, one type forbidden for one job."""
    return Instance(
        name="two-jobs",
        gpu_types=(GpuType(name="V100", count=2), GpuType(name="T4", count=1)),
        jobs=(
            Job(
                name="resnet",
                rounds=(SyncRound(repeat=3, scale=2, processing_time=(4, 9), sync_time=(1, 1)),),
            ),
            Job(
                name="bert",
                weight=3,
                release_date=3,
                rounds=(
                    SyncRound(scale=1, processing_time=(7, None), sync_time=(2, None)),
                    SyncRound(scale=3, processing_time=(5, None)),
                ),
            ),
        ),
    )


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public traces, or a skip where it is not there (a fresh clone)."""
    path = SHARED / "data"
    if not path.is_dir():
        pytest.skip("the public data folder is not on this machine")
    return path
