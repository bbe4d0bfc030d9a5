"""Exact solvers side by side on the same instances, in one run: proofs, time to proof, objective, gap.

    python benchmarks/exact.py [--quick] [--instances DIR_OR_FILES...] [--time 30] [--threads 2] [--repeat 3]
                               [--solvers pyjobshop,cpsat,...] [--output table.md]

``pyjobshop`` is the peer (PyJobShop with its OR-Tools backend: one renewable resource per GPU type, a train task and a
resource-free sync task per task, tied by mode dependencies); install it with ``pip install pyjobshop``.  The order of
the solvers turns with every repeat, so that a machine that slows down hits all of them.  Ratios bind, seconds do not.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from hetopt.core.errors import SolverUnavailableError
from hetopt.core.instance import Instance
from hetopt.core.solver import Limits
from hetopt.core.status import Status
from hetopt.solvers.run import run

LIBRARY = Path(__file__).resolve().parents[1] / "hetopt" / "instances" / "library"
TIMED = ("S101", "S102", "S105", "S106", "T35", "T50")
CONGESTED = ("T70", "T95", "T120", "T220", "U60")
QUICK = ("T08", "T15", "T35")
DEFAULT = ("pyjobshop", "cpsat", "cpsat-per-gpu", "milp-disjunctive", "milp-time-indexed", "auto")


@dataclass(frozen=True)
class Cell:
    """One run: seconds, whether it proved, objective and bound (None: unknown)."""

    seconds: float
    proved: bool
    objective: int | None
    bound: int | None

    @property
    def gap(self) -> float | None:
        if not self.objective or self.bound is None:
            return None
        return (self.objective - self.bound) / self.objective


def pyjobshop(instance: Instance, limit: float, threads: int) -> Cell:
    """The peer, model building included, as its documentation suggests to write it."""
    from pyjobshop import Model

    began = time.perf_counter()
    model = Model()
    resources = [model.add_renewable(capacity=g.count, name=str(k)) for k, g in enumerate(instance.gpu_types)]
    nothing = model.add_renewable(capacity=sum(g.count for g in instance.gpu_types), name="none")
    for job in instance.jobs:
        peer_job = model.add_job(weight=job.weight, release_date=job.release_date)
        before: list = []
        for part in [same for same in job.rounds for _ in range(same.repeat)]:
            this = []
            for _ in range(part.scale):
                train, sync = model.add_task(job=peer_job), model.add_task(job=peer_job)
                for k, (p, s) in enumerate(zip(part.processing_time, part.sync_time, strict=True)):
                    if p is None:
                        continue
                    trained = model.add_mode(train, [resources[k]], duration=p, demands=[1])
                    synced = model.add_mode(sync, [nothing], duration=s, demands=[0])
                    model.add_mode_dependency(trained, [synced])
                model.add_end_before_start(train, sync)
                for earlier in before:
                    model.add_end_before_start(earlier, train)
                this.append(sync)
            before = this
    # weighted flow time is the weighted completion time less a constant
    model.set_objective(weight_total_flow_time=1)
    left = max(0.1, limit - (time.perf_counter() - began))
    result = model.solve(solver="ortools", time_limit=left, display=False, num_workers=threads)
    seconds = time.perf_counter() - began
    constant = instance.total_weighted_release
    found = result.status.name in ("OPTIMAL", "FEASIBLE")
    objective = round(result.objective) + constant if found else None
    bound = math.ceil(result.lower_bound - 1e-6) + constant if found else None
    return Cell(seconds, result.status.name == "OPTIMAL", objective, bound)


def measure(solver: str, instance: Instance, limit: float, threads: int) -> Cell:
    """One run of one solver."""
    if solver == "pyjobshop":
        return pyjobshop(instance, limit, threads)
    result = run(solver, instance, limits=Limits(time=limit, threads=threads))
    return Cell(result.runtime_seconds, result.status is Status.OPTIMAL, result.objective, result.bound)


def median(cells: list[Cell]) -> Cell:
    """The run of median time (proved before not proved)."""
    return sorted(cells, key=lambda c: (not c.proved, c.seconds))[(len(cells) - 1) // 2]


def shown(cell: Cell | None, best: int | None) -> str:
    if cell is None:
        return "–"
    if cell.proved:
        return f"opt {cell.seconds:.2f}s"
    if cell.objective is None or best is None:
        return "none" if cell.bound is None else f"none / {cell.bound}"
    low = "–" if cell.bound is None else f"{cell.bound / best:.3f}"
    return f"{cell.objective / best:.3f} / {low}"


def report(table: dict[str, dict[str, Cell]], solvers: list[str], limit: float, threads: int) -> str:
    """Markdown."""
    lines = [
        f"{limit:g} s, {threads} threads, building included. Cells: `opt t` = proved in t; else objective / best and bound / best of this run.",
        "",
        "| instance | best | " + " | ".join(solvers) + " |",
        "| --- | --- |" + " --- |" * len(solvers),
    ]
    for name, row in table.items():
        best = min((c.objective for c in row.values() if c.objective is not None), default=None)
        lines.append(f"| {name} | {best} | " + " | ".join(shown(row.get(s), best) for s in solvers) + " |")
    lines += ["", "| solver | proved | mean objective / best | mean own gap |", "| --- | --- | --- | --- |"]
    for s in solvers:
        cells = [(row[s], min(c.objective for c in row.values() if c.objective)) for row in table.values() if s in row]
        ratios = [c.objective / b for c, b in cells if c.objective is not None]
        gaps = [c.gap for c, _ in cells if c.gap is not None]
        lines.append(
            f"| {s} | {sum(c.proved for c, _ in cells)} of {len(cells)} | "
            + (f"{statistics.mean(ratios):.4f}" if ratios else "–")
            + " | "
            + (f"{100 * statistics.mean(gaps):.1f} %" if gaps else "–")
            + " |"
        )
    lines.append("")
    if {"pyjobshop", "cpsat"} <= set(solvers):
        both = {n: (r["cpsat"], r["pyjobshop"]) for n, r in table.items() if {"cpsat", "pyjobshop"} <= set(r)}
        missed = [n for n, (own, peer) in both.items() if peer.proved and not own.proved]
        slower = [n for n, (own, peer) in both.items() if peer.proved and own.proved and own.seconds > peer.seconds]
        lines.append(
            f"- proved by pyjobshop and not by cpsat: {', '.join(missed) or 'none'}; slower than it: {', '.join(slower) or 'none'}"
        )
        ratios = {
            n: own.seconds / (peer.seconds if peer.proved else limit)
            for n, (own, peer) in both.items()
            if n in TIMED and own.proved
        }
        if ratios:
            mean = math.exp(statistics.mean(map(math.log, ratios.values())))
            each = ", ".join(f"{n} {x:.3f}" for n, x in ratios.items())
            lines.append(
                f"- time to proof, cpsat / pyjobshop (limit where it did not prove): {each}; geometric mean {mean:.3f}"
            )
    if "auto" in solvers:
        gaps = {n: r["auto"].gap for n, r in table.items() if n in CONGESTED and r["auto"].gap is not None}
        if gaps:
            each = ", ".join(f"{n} {100 * g:.2f}" for n, g in gaps.items())
            lines.append(
                f"- certified gap of auto in per cent: {each}; mean {100 * statistics.mean(gaps.values()):.2f}"
            )
    return "\n".join(lines) + "\n"


def instances(given: list[str]) -> list[Path]:
    found: list[Path] = []
    for text in given:
        path = Path(text)
        found += sorted(path.glob("*.json")) if path.is_dir() else [path]
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--instances", nargs="+", default=[os.environ.get("HETOPT_STUDY", str(LIBRARY))], help="files or folders"
    )
    parser.add_argument("--only", default="", help="comma-separated names")
    parser.add_argument("--solvers", default=",".join(DEFAULT))
    parser.add_argument("--time", type=float, default=30.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=1, help="median of so many runs")
    parser.add_argument("--output", help="write the Markdown here as well")
    parser.add_argument("--quick", action="store_true", help="three small instances, 3 s each")
    options = parser.parse_args(argv)
    solvers = options.solvers.split(",")
    limit = min(3.0, options.time) if options.quick else options.time
    only = set(options.only.split(",")) - {""}
    table: dict[str, dict[str, Cell]] = {}
    chosen = []
    for path in instances(options.instances):
        try:
            instance = Instance.load(path)
        except ValueError as error:
            print(f"{path} left out: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        if only and path.stem not in only:
            continue
        chosen.append((path.stem, instance))
    if options.quick:
        known = [(n, i) for n, i in chosen if n in QUICK]
        chosen = known or sorted(chosen, key=lambda pair: pair[1].num_tasks)[:3]
    if not chosen:
        print("no instance found; give files or a folder with --instances", file=sys.stderr)
        return 2
    missing: set[str] = set()
    tiny = min(chosen, key=lambda pair: pair[1].num_tasks)[1]
    for solver in solvers:  # imports and compiled kernels are not measured
        try:
            measure(solver, tiny, 20.0, options.threads)
        except (ImportError, SolverUnavailableError) as error:
            missing.add(solver)
            print(f"{solver} left out: {error}", file=sys.stderr)
    for name, instance in chosen:
        runs: dict[str, list[Cell]] = {}
        for turn in range(options.repeat):
            shift = turn % len(solvers)
            for solver in solvers[shift:] + solvers[:shift]:
                if solver in missing:
                    continue
                cell = measure(solver, instance, limit, options.threads)
                runs.setdefault(solver, []).append(cell)
                print(
                    f"{name} {solver}: {shown(cell, cell.objective)} {cell.objective} {cell.bound}",
                    file=sys.stderr,
                    flush=True,
                )
        table[name] = {solver: median(cells) for solver, cells in runs.items()}
    text = report(table, [s for s in solvers if s not in missing], limit, options.threads)
    print(text)
    if options.output:
        Path(options.output).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
