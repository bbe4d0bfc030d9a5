"""Simulations side by side: one row a policy, tables, CSV, and the figures behind the charts."""

from __future__ import annotations

import csv
import io
import math
import os
import statistics
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from hetopt.core.documents import write_text
from hetopt.core.simulation import PolicyOutcome, SimulationResult, jain_index

__all__ = ["COLUMNS", "SimulationRow", "rows_of", "to_csv", "to_pandas"]


@dataclass(frozen=True)
class SimulationRow:
    """Figures of one policy; times in seconds, None where nothing is known.

    Attributes
    ----------
    finished, unfinished
        Jobs.
    mean_jct, median_jct, p99_jct, makespan
        Of the finished jobs.
    mean_fairness, worst_fairness, unfair, jain
        Finish-time fairness: mean, worst, the part above 1, Jain's index.
    utilisation
        GPU-seconds held over those there were until the last finish.
    migrations
        Moves and resumptions.
    decisions, decision_median, decision_max
        Number and wall-clock seconds of decisions (round-based policies).
    """

    policy: str
    finished: int
    unfinished: int
    mean_jct: float | None
    median_jct: float | None
    p99_jct: float | None
    makespan: float | None
    mean_fairness: float | None
    worst_fairness: float | None
    unfair: float | None
    jain: float | None
    utilisation: float | None
    migrations: int
    decisions: int
    decision_median: float | None
    decision_max: float | None
    message: str


COLUMNS: Final[tuple[tuple[str, str, str], ...]] = (
    ("policy", "policy", "s"),
    ("finished", "jobs done", "d"),
    ("unfinished", "not done", "d"),
    ("mean_jct", "mean JCT (s)", ".0f"),
    ("median_jct", "median JCT (s)", ".0f"),
    ("p99_jct", "p99 JCT (s)", ".0f"),
    ("makespan", "makespan (s)", ".0f"),
    ("mean_fairness", "mean FTF", ".3f"),
    ("worst_fairness", "worst FTF", ".2f"),
    ("unfair", "FTF > 1", ".1%"),
    ("jain", "Jain", ".3f"),
    ("utilisation", "GPU use", ".1%"),
    ("migrations", "moves", "d"),
    ("decisions", "decisions", "d"),
    ("decision_median", "median decision (s)", ".4f"),
    ("decision_max", "longest decision (s)", ".4f"),
)
"""Field, heading and format of each column of the table."""


def rows_of(result: SimulationResult) -> tuple[SimulationRow, ...]:
    """One row a policy, in order."""
    return tuple(_row(outcome) for outcome in result.policies)


def _row(outcome: PolicyOutcome) -> SimulationRow:
    jcts, rho, spent = outcome.jcts, outcome.fairness, outcome.decision_seconds
    return SimulationRow(
        policy=outcome.policy,
        finished=len(jcts),
        unfinished=len(outcome.jobs) - len(jcts),
        mean_jct=math.fsum(jcts) / len(jcts) if jcts else None,
        median_jct=float(np.median(jcts)) if jcts else None,
        p99_jct=float(np.percentile(jcts, 99)) if jcts else None,
        makespan=outcome.makespan,
        mean_fairness=math.fsum(rho) / len(rho) if rho else None,
        worst_fairness=max(rho, default=None),
        unfair=sum(r > 1 for r in rho) / len(rho) if rho else None,
        jain=jain_index(rho),
        utilisation=outcome.utilisation,
        migrations=sum(job.migrations for job in outcome.jobs),
        decisions=len(spent),
        decision_median=statistics.median(spent) if spent else None,
        decision_max=max(spent, default=None),
        message=outcome.message,
    )


def cell(row: SimulationRow, field: str, spec: str) -> str:
    """One cell as text; a dash where nothing is known."""
    value = getattr(row, field)
    return "-" if value is None else format(value, spec)


def to_csv(result: SimulationResult, path: str | os.PathLike[str]) -> None:
    """Write the table as CSV, numbers in full."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    fields = [field for field, _, _ in COLUMNS] + ["message"]
    writer.writerow(fields)
    for row in rows_of(result):
        writer.writerow(["" if (v := getattr(row, field)) is None else v for field in fields])
    write_text(path, text.getvalue())


def to_pandas(result: SimulationResult, jobs: bool = False) -> Any:
    """The table as a pandas DataFrame, or with ``jobs`` one row for each policy and job."""
    import pandas as pd

    if not jobs:
        return pd.DataFrame([vars(row) for row in rows_of(result)])
    return pd.DataFrame(
        [
            {
                "policy": outcome.policy,
                "job": job.name,
                "arrival": job.arrival,
                "first_start": job.first_start,
                "finish": job.finish,
                "jct": job.jct,
                "gpu_seconds": job.gpu_seconds,
                "migrations": job.migrations,
                "finish_time_fairness": job.finish_time_fairness,
            }
            for outcome in result.policies
            for job in outcome.jobs
        ]
    )
