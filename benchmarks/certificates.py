"""Time of exact certificate checks: ``python benchmarks/certificates.py [--quick]``.

One instance of 10,000 rounds (1,000 with ``--quick``), one relaxation a row: seconds to make the
bound, seconds to check its certificate, the verdict.
"""

from __future__ import annotations

import argparse
import random
import time

from hetopt.analysis.certify import check_certificate
from hetopt.core.instance import GpuType, Instance, Job, SyncRound
from hetopt.core.solver import Limits
from hetopt.solvers.run import run

KINDS = ("midpoint-lp", "midpoint-lp-strong", "combinatorial", "time-indexed-lagrangian")


def made(rounds: int, seed: int = 1) -> Instance:
    rng = random.Random(seed)
    jobs = []
    for n in range(rounds // 10):
        parts = tuple(
            SyncRound(
                scale=rng.randint(1, 4),
                processing_time=tuple(rng.randint(2, 40) for _ in range(3)),
                sync_time=(0, 1, 1),
            )
            for _ in range(10)
        )
        jobs.append(
            Job(name=f"j{n}", weight=rng.randint(1, 9), release_date=rng.randint(0, rounds // 20), rounds=parts)
        )
    count = max(1, rounds // 300)
    return Instance(
        name="bench", gpu_types=tuple(GpuType(name=f"t{k}", count=count) for k in range(3)), jobs=tuple(jobs)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 rounds")
    parser.add_argument("--seconds", type=float, default=20.0, help="time limit of each relaxation")
    options = parser.parse_args()
    instance = made(1000 if options.quick else 10_000)
    print(f"{instance.num_rounds} rounds, {instance.num_tasks} tasks, {instance.num_gpus} GPUs")
    print(f"{'kind':26} {'bound':>16} {'made in s':>10} {'checked in s':>12}  verdict")
    for kind in KINDS:
        result = run(kind, instance, limits=Limits(time=options.seconds))
        if result.certificate is None:
            print(f"{kind:26} no certificate: {result.message}")
            continue
        begin = time.perf_counter()
        verdict = check_certificate(instance, result.certificate)
        seconds = time.perf_counter() - begin
        word = "valid" if verdict.valid else verdict.reasons[0]
        print(
            f"{kind:26} {float(result.certificate.bound):16.2f} {result.runtime_seconds:10.2f} {seconds:12.2f}  {word}"
        )


if __name__ == "__main__":
    main()
