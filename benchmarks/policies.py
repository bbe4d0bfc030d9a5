"""FFT against the other round-based policies on public traces: one table a trace, and an HTML report each on request.

``python benchmarks/policies.py [FOLDER] [--quick] [--policies a,b] [--report-dir DIR]`` where FOLDER holds Gavel's files
(``physical_cluster/*.trace``, ``simulation_throughputs.json``).  Clusters give the load that the traces were made for.
Without FOLDER the policies run on 40 made jobs on 12 GPUs, which shows that they work and nothing else.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from hetopt.analysis.simulate import read_workload, simulate
from hetopt.analysis.simulations import COLUMNS, cell, rows_of
from hetopt.core.seeds import generator
from hetopt.core.workload import TrainingJob, Workload
from hetopt.solvers.online.catalogue import POLICIES

CASES = (
    ("physical_cluster/artifact_evaluation.trace", {"V100": 4, "P100": 2, "K80": 2}, True),
    ("physical_cluster/medium_test.trace", {"V100": 4, "P100": 2, "K80": 2}, True),
    ("physical_cluster/minimize_makespan.trace", {"V100": 8, "P100": 8, "K80": 8}, False),
    ("physical_cluster/max_min_fairness.trace", {"V100": 8, "P100": 8, "K80": 8}, False),
    ("msr_seed0/e13805.trace", {"V100": 16, "P100": 16, "K80": 16}, False),
    ("msr_seed0/2869ce.trace", {"V100": 24, "P100": 24, "K80": 24}, False),
)

MADE_GPUS = {"V100": 4, "P100": 4, "K80": 4}


def made_workload() -> Workload:
    """Forty jobs that arrive over an hour, one to four GPUs each."""
    rng = generator(0, "policies benchmark")
    jobs = tuple(
        TrainingJob(
            name=f"job{n}",
            arrival=float(round(arrival)),
            work=float(rng.integers(500, 5000)),
            demand=int(rng.choice([1, 1, 2, 4])),
            throughput=tuple(float(rate) for rate in np.round(rng.uniform(0.5, 1.0) * np.array([4.0, 2.0, 1.0]), 3)),
        )
        for n, arrival in enumerate(np.sort(rng.uniform(0, 3600, 40)))
    )
    return Workload("made", tuple(MADE_GPUS), jobs)


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--quick", action="store_true", help="the two small traces only")
    parser.add_argument("--policies", default=",".join(e.name for e in POLICIES if e.kind == "rounds"))
    parser.add_argument("--migration-seconds", type=float, default=20.0)
    parser.add_argument("--report-dir", type=Path)
    options = parser.parse_args()
    for name, gpus, quick in CASES if options.folder is not None else (("made", MADE_GPUS, True),):
        if options.quick and not quick:
            continue
        if options.folder is None:
            workload = made_workload()
        else:
            table = options.folder / "simulation_throughputs.json"
            workload = read_workload(options.folder / name, gpus, throughputs=table, strict=False)
        began = time.perf_counter()
        result = simulate(
            workload,
            options.policies.split(","),
            gpus,
            migration_seconds=options.migration_seconds,
            unrunnable="wait",
        )
        cluster = ", ".join(f"{k}={v}" for k, v in gpus.items())
        print(f"\n{name}: {len(workload)} jobs on {cluster}, {time.perf_counter() - began:.0f} s")
        lines = [[heading for _, heading, _ in COLUMNS]]
        lines += [[cell(row, field, spec) for field, _, spec in COLUMNS] for row in rows_of(result)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
        for line in lines:
            print(
                "  ".join(
                    text.rjust(w) if i else text.ljust(w) for i, (text, w) in enumerate(zip(line, widths, strict=True))
                )
            )
        for row in rows_of(result):
            if row.message:
                print(f"{row.policy}: {row.message}")
        if options.report_dir is not None:
            from hetopt.analysis.report.simulation import render_simulation

            options.report_dir.mkdir(parents=True, exist_ok=True)
            render_simulation(result, options.report_dir / f"{Path(name).stem}.html", facts={"GPUs": cluster})


if __name__ == "__main__":
    main()
