"""How long simulations of large clusters take: 4,000 jobs on 1,000 GPUs of 8 types over 1,000 rounds.

``python benchmarks/simulation.py [--quick] [--policies a,b]`` prints a table: rounds, seconds in all, seconds in the
policy, seconds a round in the engine itself, peak memory.  The trace is seeded and synthetic: Poisson
arrivals, demands 1, 2, 4, 8, run times log-normal, types up to six times apart.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time

import numpy as np

from hetopt.core.seeds import generator
from hetopt.core.workload import TrainingJob, Workload
from hetopt.solvers.online.catalogue import POLICIES
from hetopt.solvers.online.rounds import RoundSetting, simulate_rounds

TYPES = ("A100", "V100", "T4", "P100", "K80", "M60", "P4", "P40")
SPEED = np.array([6.0, 4.0, 2.0, 2.5, 1.0, 1.2, 1.5, 2.2])


def workload(jobs: int, gpus: int, rounds: int, seed: int) -> Workload:
    """Jobs that keep about three times the GPUs wanted: half arrive at once, the others over the run."""
    draw = generator(seed, "benchmark simulation")
    demand = draw.choice([1, 2, 4, 8], size=jobs, p=[0.5, 0.2, 0.2, 0.1])
    seconds = draw.lognormal(0.0, 1.0, size=jobs)
    wanted = float((seconds * demand).sum())
    seconds *= 0.9 * rounds * 300.0 * gpus / wanted * float(SPEED.mean() / SPEED.max())
    arrival = np.where(np.arange(jobs) < jobs // 2, 0.0, draw.uniform(0, rounds * 150.0, size=jobs))
    affinity = draw.uniform(0.5, 1.5, size=(jobs, len(TYPES)))
    made = [
        TrainingJob(
            name=f"job {j}",
            arrival=float(arrival[j]),
            work=float(seconds[j] * SPEED.max()),
            demand=int(demand[j]),
            throughput=tuple(float(v) for v in SPEED * affinity[j]),
        )
        for j in range(jobs)
    ]
    return Workload("synthetic", TYPES, tuple(made))


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="400 jobs, 100 GPUs, 100 rounds")
    parser.add_argument("--policies", default="fft,srtf-rounds,las-rounds")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    jobs, gpus, rounds = (400, 96, 100) if options.quick else (4000, 1000, 1000)
    made = workload(jobs, gpus, rounds, options.seed)
    setting = RoundSetting({kind: gpus // len(TYPES) for kind in TYPES}, migration_seconds=30, max_rounds=rounds)
    print(f"{jobs} jobs, {gpus} GPUs of {len(TYPES)} types, at most {rounds} rounds")
    print(
        f"{'policy':<24}{'rounds':>7}{'seconds':>9}{'policy s':>10}{'median ms':>11}{'max ms':>9}{'engine ms':>11}"
        f"{'finished':>10}{'peak MB':>9}"
    )
    for name in options.policies.split(","):
        policy = POLICIES.load(name)()
        began = time.perf_counter()
        outcome = simulate_rounds(made, policy, setting, seed=options.seed)
        seconds = time.perf_counter() - began
        spent = outcome.decision_seconds
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        engine = (seconds - sum(spent)) / max(1, len(spent))
        print(
            f"{name:<24}{len(spent):>7}{seconds:>9.1f}{sum(spent):>10.1f}{1e3 * statistics.median(spent):>11.1f}"
            f"{1e3 * max(spent):>9.1f}{1e3 * engine:>11.2f}{len(outcome.jcts):>10}{peak:>9.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
