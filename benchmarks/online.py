"""Task-level simulation: events a second, next to a plain SimPy model of the same policy in the same run; and one large run.

``python benchmarks/online.py [--quick]``: a Poisson instance, policy ``hlas``.  The kernel (compiled, and its plain twin), the general
simulator, and a straightforward SimPy model must finish every job at the same tick.  An event is a task's start or end, a
sync end, a round end, a job's arrival or end: the same count for all, so rates compare.

``python benchmarks/online.py --philly FILE [--gpus 2000] [--jobs N]``: the Philly job list on GPUs of five types of
made-up speeds, jobs of few rounds (rounds aggregated), with progress, memory and the time of each step.  Ctrl-C keeps what is done.

``python benchmarks/online.py --ratios``: all task-level policies against verified lower bounds, by heterogeneity.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from bisect import insort
from typing import Any

from hetopt.analysis.online import geometric_means, sweep_alpha
from hetopt.core.instance import Instance
from hetopt.instances.generators import generate
from hetopt.instances.traces import load_workload, workload_to_instance
from hetopt.solvers import _kernels
from hetopt.solvers.online.tasks import simulate_tasks
from hetopt.solvers.online.tasks.fast import simulate_fast
from hetopt.solvers.online.tasks.policies.service import Hlas
from hetopt.solvers.run import Monitor, interrupts

FIVE = {"A100": 1.0, "V100": 0.6, "RTX": 0.45, "T4": 0.3, "K80": 0.12}
"""Made-up speeds of five types."""


def simpy_hlas(instance: Instance) -> list[int]:
    """Finish ticks under hlas (service at the best type's time, charged at starts), as one would write it with SimPy."""
    import simpy

    env = simpy.Environment()
    types = [k for k, g in enumerate(instance.gpu_types) for _ in range(g.count)]
    free: list[int] = list(range(len(types)))
    jobs = [[part for part in job.rounds for _ in range(part.repeat)] for job in instance.jobs]
    waiting: list[tuple[int, int, int]] = []
    service, left, finish = [0] * len(jobs), [0] * len(jobs), [0] * len(jobs)
    part_of: list[Any] = [None] * len(jobs)
    done: list[Any] = [None] * len(jobs)
    ends: list[list[Any]] = [[] for _ in jobs]
    asked = False

    def train(m: int, p: int, s: int) -> Any:
        yield env.timeout(p)
        insort(free, m)
        decide()
        yield env.timeout(s)

    def dispatch(_: Any) -> None:
        nonlocal asked
        asked = False
        again = True
        while free and again:
            again = False
            for entry in waiting:
                n, part = entry[2], part_of[entry[2]]
                able = [
                    (part.processing_time[types[m]] + part.sync_time[types[m]], types[m], m)
                    for m in free
                    if part.processing_time[types[m]] is not None
                ]
                if not able:
                    continue
                m = min(able)[2]
                free.remove(m)
                waiting.remove(entry)
                service[n] += min(p for p in part.processing_time if p is not None)
                left[n] -= 1
                k = types[m]
                ends[n].append(env.process(train(m, part.processing_time[k], part.sync_time[k])))
                if left[n]:
                    insort(waiting, (service[n], instance.jobs[n].release_date, n))
                else:
                    done[n].succeed()
                again = True
                break

    def decide() -> None:
        # once a tick, when everything else of the tick has happened
        nonlocal asked
        if not asked:
            asked = True
            event = env.event()
            event._ok, event._value = True, None
            event.callbacks.append(dispatch)
            env.schedule(event, priority=9)

    def life(n: int) -> Any:
        yield env.timeout(instance.jobs[n].release_date)
        for part in jobs[n]:
            part_of[n], left[n], done[n], ends[n] = part, part.scale, env.event(), []
            insort(waiting, (service[n], instance.jobs[n].release_date, n))
            decide()
            yield done[n]
            yield env.all_of(ends[n])
        finish[n] = int(env.now)

    for n in range(len(jobs)):
        env.process(life(n))
    env.run()
    return finish


def side_by_side(quick: bool) -> None:
    """The table of rates."""
    instance = generate(
        jobs=200 if quick else 2000, seed=1, family="poisson", rounds=5, scale=4, load=0.9,
        gpus={"A100": 8, "V100": 16, "T4": 16},
    )  # fmt: skip
    events = 3 * instance.num_tasks + instance.num_rounds + 2 * instance.num_jobs
    policy = Hlas()

    def plain() -> list[int]:
        import os

        os.environ[_kernels.SWITCH] = "1"
        try:
            return simulate_fast(instance, policy, check=False).finish.tolist()
        finally:
            del os.environ[_kernels.SWITCH]

    ways: list[tuple[str, Any]] = [("kernel, plain twin", plain)]
    if _kernels.numba_usable():
        simulate_fast(generate(jobs=3, seed=0), policy)  # compile
        ways.append(("kernel, compiled", lambda: simulate_fast(instance, policy, check=False).finish.tolist()))
    ways.append(("simulator, all checks", lambda: simulate_tasks(instance, policy).finish.tolist()))
    ways.append(("SimPy model", lambda: simpy_hlas(instance)))
    rows, answers = [], []
    for name, way in ways:
        began = time.perf_counter()
        answers.append(way())
        rows.append((name, time.perf_counter() - began))
    if any(answer != answers[0] for answer in answers):
        raise SystemExit("the models disagree")
    slowest = rows[-1][1]
    print(
        f"{instance.num_jobs} jobs, {instance.num_tasks} tasks, {instance.num_gpus} GPUs, {events} events; all models agree\n"
    )
    print("| model | seconds | events a second | against SimPy |\n| --- | --- | --- | --- |")
    for name, seconds in rows:
        print(f"| {name} | {seconds:.3f} | {events / seconds:,.0f} | {slowest / seconds:.1f} x |")


def philly(path: str, gpus: int, jobs: int | None, rounds: int) -> None:
    """The large run."""
    share = gpus // len(FIVE)
    cluster = dict.fromkeys(FIVE, share)
    cluster["A100"] += gpus - share * len(FIVE)

    def told(what: str, began: float) -> None:
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{what}: {time.perf_counter() - began:.1f} s, peak memory {memory:.2f} GB", flush=True)

    began = time.perf_counter()
    read = load_workload(path, types=tuple(FIVE), speeds=FIVE, jobs=jobs)
    told(f"read {len(read.workload)} jobs", began)
    began = time.perf_counter()
    instance = workload_to_instance(read.workload, cluster, rounds=rounds).instance
    told(f"instance of {instance.num_tasks} tasks on {instance.num_gpus} GPUs", began)
    began = time.perf_counter()
    monitor = Monitor()
    with interrupts(monitor):
        run = simulate_fast(
            instance,
            Hlas(),
            observer=monitor,
            listener=lambda p: print(
                f"  {p.finished} of {p.total} jobs, {p.events} events", file=sys.stderr, flush=True
            ),
        )
    told(f"hlas{' (interrupted)' if run.interrupted else ''}: {run.events} kernel events, run and checks", began)
    began = time.perf_counter()
    summary = run.outcome().to_dict()
    told("outcomes, series, fairness", began)
    jct = summary["jct"]
    print(
        f"finished {summary['jobs']}, mean JCT {jct['mean']:.0f} s, p99 {jct['p99']:.0f} s, utilisation {summary['utilisation']:.1%}"
    )


def ratios(quick: bool) -> None:
    """Geometric means of value / verified lower bound by heterogeneity, weighted flow time."""
    alphas = (1, 4) if quick else (1, 2, 4, 7, 10)
    rows = sweep_alpha(
        alphas,
        seeds=range(1 if quick else 3),
        knobs={"jobs": 8 if quick else 15, "rounds": 3, "scale": 2, "load": 1.0, "gpus": {"V100": 2, "T4": 2}},
        kinds=("combinatorial", "midpoint-lp", "time-indexed-lagrangian"),
        time_limit=5.0,
    )
    means = geometric_means(rows, "alpha")
    print(f"| policy | {' | '.join(f'alpha {a}' for a in alphas)} |\n| --- |{' --- |' * len(alphas)}")
    for policy in dict.fromkeys(row["policy"] for row in rows):
        cells = [f"{means[a, policy]:.2f}" if (a, policy) in means else "-" for a in alphas]
        print(f"| `{policy}` | {' | '.join(cells)} |")


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--philly", metavar="FILE")
    parser.add_argument("--gpus", type=int, default=2000)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--ratios", action="store_true", help="empirical competitive ratios by heterogeneity")
    options = parser.parse_args()
    if options.ratios:
        ratios(options.quick)
        return
    if options.philly:
        philly(options.philly, options.gpus, options.jobs, options.rounds)
    else:
        side_by_side(options.quick)


if __name__ == "__main__":
    main()
