"""What the rule of work conservation and the measure of work change in one FFT round.

    python benchmarks/round_rules.py [--quick] [--output FILE.md]

For each family 8 rounds of 120 jobs on 4 types and about 60 GPUs, each solved to a proof under the three rules and with remaining work.
Columns: GPUs used and jobs that run under most-gpus / maximal / none (mean); rounds in which ``maximal`` is cheaper than most-gpus and by how much of the cost
at most; jobs whose type (or waiting) changes when costs use the remaining work (mean share of the jobs that run).
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from hetopt.core.round_problem import CostModel, WorkMeasure
from hetopt.instances.rounds import generate_round
from hetopt.solvers.rounds.run import run_round

FAMILIES: dict[str, dict] = {
    "demands 1, 2, 4, 8": {},
    "the same, fairness factors 0": {"fairness": 0.0},
    "demands 2, 3, fairness factors 0": {"demands": (2, 3), "fairness": 0.0},
    "demands 4, 5, 7, fairness factors 0": {"demands": (4, 5, 7), "fairness": 0.0},
    "demands 3, 8, half of the types closed": {"demands": (3, 8), "forbidden": 0.5, "fairness": 0.3},
}


def main() -> int:
    parser = argparse.ArgumentParser(description="work conservation and remaining work in one round")
    parser.add_argument("--quick", action="store_true", help="2 rounds a family")
    parser.add_argument("--output", default="", help="write the table here as well")
    options = parser.parse_args()
    lines: list[str] = []

    def say(*cells: str) -> None:
        lines.append("| " + " | ".join(cells) + " |")
        sys.stdout.write(lines[-1] + "\n")
        sys.stdout.flush()

    say("family", "GPUs used", "jobs that run", "maximal cheaper", "by at most", "changed by remaining work")
    say(*["---"] * 6)
    for label, knobs in FAMILIES.items():
        used: list[list[int]] = []
        running: list[list[int]] = []
        saved: list[float] = []
        changed: list[float] = []
        for seed in range(2 if options.quick else 8):
            problem = generate_round(120, 4, [13, 14, 15, 17], seed, **knobs)
            made = [run_round("fft-milp", problem, rule=rule) for rule in ("most-gpus", "maximal", "none")]
            used.append([sum(a.gpus_used) for a in made])
            running.append([sum(i is not None for i in a.gpu_type) for a in made])
            costs = [a.cost.total for a in made if a.cost is not None]
            saved.append((costs[0] - costs[1]) / abs(costs[0]))
            other = run_round("fft-fast", problem, cost=CostModel(work=WorkMeasure.REMAINING))
            differ = sum(a != b for a, b in zip(made[0].gpu_type, other.gpu_type, strict=True))
            changed.append(differ / max(1, running[-1][0]))

        def means(rows: list[list[int]]) -> str:
            return " / ".join(f"{statistics.mean(column):.1f}" for column in zip(*rows, strict=True))

        cheaper = [s for s in saved if s > 1e-9]
        say(
            label,
            means(used),
            means(running),
            f"{len(cheaper)} of {len(saved)}",
            f"{max(cheaper, default=0.0):.2%}",
            f"{statistics.mean(changed):.0%}",
        )
    if options.output:
        Path(options.output).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
