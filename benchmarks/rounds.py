"""FFT rounds: fft-fast, HiGHS on the sparse model and PuLP with CBC on the same rounds; max-min fairness against cvxpy with SCS.

    python benchmarks/rounds.py [--quick] [--cases FOLDER] [--limit 60] [--output FILE.md]

Every time includes building the model from the same ``RoundProblem`` (whose arrays and fingerprint are made before); one thread; the programs run one after another on
each round, so read the ratios.  HiGHS gets the sparse model through highspy with gap 0 and with 1e-4, PuLP builds its own objects and runs the CBC that it
ships with gap 0.  A program that reaches the limit counts with the limit, so its ratio is a lower bound; costs that differ by more than the
two gaps allow stop the run.  ``--cases`` adds the rounds (``*.json``, hetopt/round) of a folder.  ``--quick``: 400 jobs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hetopt.core.round_problem import RoundProblem
from hetopt.core.solver import Limits
from hetopt.instances.rounds import generate_round
from hetopt.models._native import load_cvxpy, load_highspy
from hetopt.models.rounds.fft_milp import FftMilp
from hetopt.solvers.backends.highs import pass_model
from hetopt.solvers.rounds.max_min import max_min_shares
from hetopt.solvers.rounds.run import run_round
from hetopt.solvers.rounds.usage import most_gpus


def rounds(quick: bool, folder: str) -> list[tuple[str, bool, RoundProblem]]:
    """Label, whether it counts for the medians (the main family), round."""
    jobs, gpus, seeds = (400, 100, 3) if quick else (4000, 1000, 8)
    out = []
    if folder:
        for path in sorted(Path(folder).glob("*.json")):
            problem = RoundProblem.load(path)
            out.append((path.stem, len(problem.jobs) >= jobs, problem))
    out += [(f"seed {s}", True, generate_round(jobs, 8, gpus, s)) for s in range(seeds)]
    odd = [gpus // 8 - gpus // 8 % 2 + 1 + (-2) ** (i % 3) for i in range(8)]
    more: list[tuple[str, dict]] = [
        ("forbidden 0.4", {"forbidden": 0.4}),
        ("demands 2, 3", {"demands": (2, 3)}),
        ("demands 2, 3, forbidden 0.5", {"demands": (2, 3), "forbidden": 0.5}),
        ("odd capacities, demands 2, 4, 8", {"demands": (2, 4, 8), "gpus": odd}),
        ("fairness factors 0", {"fairness": 0.0}),
        ("equal jobs in fifties", {"copies": 50}),
        ("throughputs over 14 orders", {"spread": 7.0}),
    ]
    for label, knobs in more:
        out.append((label, False, generate_round(**{"jobs": jobs, "types": 8, "gpus": gpus, "seed": 11, **knobs})))
    out.append(("underloaded", False, generate_round(max(10, jobs // 40), 8, gpus, 11)))
    return out


def timed(work: Callable[[], float | None]) -> tuple[float, float | None]:
    began = time.perf_counter()
    cost = work()
    return time.perf_counter() - began, cost


def fast(problem: RoundProblem, gap: float, limit: float) -> Callable[[], float | None]:
    def work() -> float | None:
        made = run_round("fft-fast", problem, params={"gap": gap}, limits=Limits(time=limit))
        return (
            made.cost.total if made.cost is not None and made.gap is not None and made.gap <= max(gap, 1e-9) else None
        )

    return work


def highs(problem: RoundProblem, gap: float, limit: float) -> Callable[[], float | None]:
    def work() -> float | None:
        most = most_gpus(problem.arrays).value
        built = FftMilp().build(problem, most_gpus=most)
        program = load_highspy().Highs()
        options = {"output_flag": False, "threads": 1, "mip_rel_gap": gap, "mip_abs_gap": 0.0, "time_limit": limit}
        for name, value in options.items():
            program.setOptionValue(name, value)
        pass_model(program, built.linear)
        thread = threading.Thread(target=program.run)  # HiGHS keeps its number of threads per calling thread
        thread.start()
        thread.join()
        finished = program.getModelStatus().name == "kOptimal"
        return float(program.getInfo().objective_function_value) if finished else None

    return work


def cbc(problem: RoundProblem, limit: float) -> Callable[[], float | None]:
    from hetopt.models._native import load_pulp
    from hetopt.models.pulp_problem import to_pulp

    pulp = load_pulp()

    def work() -> float | None:
        most = most_gpus(problem.arrays).value
        built = FftMilp().build(problem, most_gpus=most)
        model = to_pulp(built.linear)
        model.solve(pulp.PULP_CBC_CMD(msg=False, timeLimit=limit, threads=1, gapRel=0.0))
        return float(pulp.value(model.objective)) if model.sol_status == 1 else None

    return work


def line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def race(quick: bool, folder: str, limit: float, say: Callable[[str], None]) -> None:
    run_round("fft-fast", generate_round(60, 4, 24, 0))
    say(
        line(
            [
                "round",
                "fft-fast, 1e-9",
                "HiGHS, 0",
                "ratio",
                "CBC, 0",
                "ratio",
                "fft-fast, 1e-4",
                "HiGHS, 1e-4",
                "ratio",
            ]
        )
    )
    say("|---" * 9 + "|")
    ratios: dict[str, list[float]] = {"HiGHS": [], "CBC": [], "1e-4": []}
    for label, counts, problem in rounds(quick, folder):
        problem.arrays, problem.fingerprint  # noqa: B018 - reading and identifying the document is nobody's solving
        times, costs = {}, {}
        for name, work in (
            ("fast", fast(problem, 0.0, limit)),
            ("highs", highs(problem, 0.0, limit)),
            ("cbc", cbc(problem, limit)),
            ("fast4", fast(problem, 1e-4, limit)),
            ("highs4", highs(problem, 1e-4, limit)),
        ):
            times[name], costs[name] = timed(work)
        known = [c for n, c in costs.items() if c is not None and not n.endswith("4")]
        if known and max(known) - min(known) > 1e-6 * max(1.0, abs(known[0])):
            raise SystemExit(f"{label}: the programs disagree: {costs}")
        pairs = (("HiGHS", "highs", "fast"), ("CBC", "cbc", "fast"), ("1e-4", "highs4", "fast4"))
        if counts:
            for key, slow, quickest in pairs:
                ratios[key].append(times[slow] / times[quickest])

        def shown(name: str, times: dict = times, costs: dict = costs) -> str:
            return f"{times[name]:.3f}{'' if costs[name] is not None else ' (limit)'}"

        cells = [label, shown("fast")]
        for _, slow, quickest in pairs:
            if slow == "highs4":
                cells.append(shown("fast4"))
            cells += [shown(slow), f"{times[slow] / times[quickest]:.1f}"]
        say(line(cells))
    for key, values in ratios.items():
        say(f"median ratio to {key} over {len(values)} rounds: {statistics.median(values):.1f}")


def fairness(quick: bool, say: Callable[[str], None]) -> None:
    from scipy import sparse

    cvxpy = load_cvxpy()
    say("")
    say(line(["max-min fairness", "ours, certified 1e-3", "cvxpy + SCS", "ratio", "value", "SCS"]))
    say("|---" * 6 + "|")
    ratios = []
    for seed in range(2 if quick else 4):
        problem = generate_round(400 if quick else 4000, 8, 100 if quick else 1000, seed)
        a = problem.arrays
        usable = a.allowed.any(axis=1)
        rate = np.where(a.allowed, a.throughput, 0.0)[usable]
        demand = a.demand[usable]
        rate = rate / (rate @ (a.count / a.count.sum()))[:, None] * demand[:, None]
        if seed == 0:
            max_min_shares(rate, demand, a.count)
        ours, _ = timed(lambda r=rate, d=demand, g=a.count: max_min_shares(r, d, g).value)
        made = max_min_shares(rate, demand, a.count)

        def peer(rate: np.ndarray = rate, demand: np.ndarray = demand, count: np.ndarray = a.count) -> float:
            jobs, types = rate.shape
            x, z = cvxpy.Variable(jobs * types, nonneg=True), cvxpy.Variable()
            entries, job = np.arange(jobs * types), np.repeat(np.arange(jobs), types)
            shape = (jobs, jobs * types)
            speed = sparse.csr_matrix((rate.ravel(), (job, entries)), shape=shape)
            once = sparse.csr_matrix((np.ones(jobs * types), (job, entries)), shape=shape)
            kind = np.tile(np.arange(types), jobs)
            fill = sparse.csr_matrix(
                (np.repeat(demand, types).astype(float), (kind, entries)), shape=(types, jobs * types)
            )
            program = cvxpy.Problem(cvxpy.Maximize(z), [speed @ x >= z, once @ x <= 1, fill @ x <= count])
            program.solve(solver="SCS")
            return float(program.value)

        theirs, value = timed(peer)
        ratios.append(theirs / ours)
        say(
            line(
                [
                    f"seed {seed}",
                    f"{ours:.4f}",
                    f"{theirs:.3f}",
                    f"{theirs / ours:.1f}",
                    f"{made.value:.6f}",
                    f"{value:.6f}",
                ]
            )
        )
    say(f"median ratio: {statistics.median(ratios):.1f}")


def main() -> int:
    parser = argparse.ArgumentParser(description="FFT rounds: fft-fast, HiGHS, CBC; max-min fairness against cvxpy")
    parser.add_argument("--quick", action="store_true", help="400 jobs, 3 seeds")
    parser.add_argument("--cases", default="", help="folder with more rounds")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a program on a round")
    parser.add_argument("--output", default="", help="write the tables here as well")
    options = parser.parse_args()
    lines: list[str] = []

    def say(text: str) -> None:
        lines.append(text)
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    race(options.quick, options.cases, options.limit, say)
    fairness(options.quick, say)
    if options.output:
        Path(options.output).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
