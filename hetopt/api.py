"""The public functions: thin, typed, and with every import inside, so that importing this costs nothing."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hetopt.analysis.certify import Verification
    from hetopt.analysis.comparison import Comparison
    from hetopt.analysis.reproduction.results import Reproduction
    from hetopt.analysis.sweeps.collect import SweepTable
    from hetopt.core.allocation import Allocation
    from hetopt.core.certificate import Bound, Certificate
    from hetopt.core.instance import Instance
    from hetopt.core.result import HistoryPoint, Result
    from hetopt.core.round_problem import CostModel, RoundProblem
    from hetopt.core.round_solver import RoundSolver
    from hetopt.core.schedule import Schedule
    from hetopt.core.simulation import SimulationResult
    from hetopt.core.solver import Solver
    from hetopt.core.status import Objective
    from hetopt.core.workload import Workload

__all__ = [
    "bound",
    "check_bound",
    "compare",
    "generate",
    "load",
    "simulate",
    "solve",
    "solve_round",
    "verify",
]


def load(source: str | os.PathLike[str]) -> Any:
    """Read a document from a file, or an instance of the shipped library by its name.

    Parameters
    ----------
    source
        Path of a JSON document (``-``: standard input) or the name of a shipped instance.  A file
        of that name comes first.

    Returns
    -------
    The object of the document's ``format``: an :class:`~hetopt.core.instance.Instance` for
    ``hetopt/clairvoyant``, a :class:`~hetopt.core.schedule.Schedule`, a
    :class:`~hetopt.core.result.Result`, a :class:`~hetopt.core.certificate.Certificate`, ...

    Raises
    ------
    InputError
        Unreadable file, or a document that breaks rules; every fault is in the text.
    UsageError
        Neither a file nor a library name.
    """
    from hetopt.analysis.documents import load_any

    return load_any(source)


def _as_instance(value: Any) -> Instance:
    from hetopt.core.errors import UsageError
    from hetopt.core.instance import Instance

    if isinstance(value, (str, os.PathLike)):
        value = load(value)
    if not isinstance(value, Instance):
        raise UsageError(f"an Instance, a path or a library name is needed here; found {type(value).__name__}")
    return value


def generate(*, jobs: int = 8, gpus: Mapping[str, int] | str | None = None, seed: int = 0, **knobs: Any) -> Instance:
    """Make a synthetic instance; the same arguments give the same instance for ever.

    Parameters
    ----------
    jobs
        Number of jobs.
    gpus
        GPUs of each type, ``{"V100": 2, "T4": 2}`` or ``"V100=2,T4=2"``; the family's own by default.
    seed
        Seed of every random choice.
    **knobs
        ``family``, ``alpha``, ``load``, ``rounds``, ``scale``, ``sync``, ``weights``, ``tick_seconds``, ...:
        see :func:`hetopt.instances.generators.generate`.

    Raises
    ------
    UsageError
        A knob that does not exist or a value out of range.
    """
    from hetopt.instances.generators import generate as make

    return make(jobs=jobs, gpus=None if gpus is None else parse_gpus(gpus), seed=seed, **knobs)


def parse_gpus(gpus: Mapping[str, int] | str) -> dict[str, int]:
    """``"V100=2,T4=2"`` (or a mapping) as a checked mapping from type to number of GPUs.

    Raises
    ------
    UsageError
        With one line per fault.
    """
    from hetopt.core.errors import UsageError

    if not isinstance(gpus, (str, Mapping)):
        raise UsageError(f"gpus: found {type(gpus).__name__}; write a mapping or text like V100=2,T4=2")
    pairs: Iterable[tuple[Any, Any]]
    if isinstance(gpus, str):
        halves = [part.rpartition("=") for part in gpus.split(",")]
        pairs = [(name.strip(), count.strip()) for name, _, count in halves]
    else:
        pairs = gpus.items()
    out: dict[str, int] = {}
    faults: list[str] = []
    for name, count in pairs:
        if isinstance(count, str) and count.isascii() and count.isdigit() and len(count) < 10:
            count = int(count)
        if not isinstance(name, str) or not name:
            faults.append(f"gpus: found {count!r} alone; write TYPE=COUNT,TYPE=COUNT")
        elif name in out:
            faults.append(f"gpus: the type {name!r} stands twice; add up its counts")
        elif isinstance(count, bool) or not isinstance(count, int) or count < 1:
            faults.append(f"gpus: {name!r} has the count {count!r}; a whole number >= 1 is needed")
        else:
            out[name] = count
    if not pairs:
        faults.append("gpus: no type is given; write TYPE=COUNT,TYPE=COUNT")
    if faults:
        raise UsageError("\n".join(faults))
    return out


def _warm_schedule(source: Schedule | Result | str | os.PathLike[str] | None) -> Schedule | None:
    from hetopt.core.errors import UsageError
    from hetopt.core.result import Result
    from hetopt.core.schedule import Schedule

    if isinstance(source, (str, os.PathLike)):
        source = load(source)
    if source is None or isinstance(source, Schedule):
        return source
    if not isinstance(source, Result):
        raise UsageError(f"a warm start is a Schedule, a Result or a file with one; found {type(source).__name__}")
    if source.incumbent is None:
        raise UsageError(f"the warm start has no schedule (status {source.status}); leave it out")
    return source.incumbent


def solve(
    instance: Instance | str | os.PathLike[str],
    solver: str | Solver = "auto",
    *,
    objective: Objective | str = "total-weighted-completion",
    time_limit: float | None = None,
    work_limit: int | None = None,
    threads: int = 1,
    seed: int = 0,
    warm_start: Schedule | Result | str | os.PathLike[str] | None = None,
    bound: Bound | None = None,
    params: Mapping[str, Any] | None = None,
    listener: Callable[[HistoryPoint], None] | None = None,
) -> Result:
    """Solve an instance; whatever comes back has been checked by code that shares nothing with the solver.

    Parameters
    ----------
    instance
        The instance, its path, or the name of a shipped one.
    solver
        A name that ``hetopt solvers`` lists, or a solver object with its own parameters.
    objective
        ``total-weighted-completion`` (sum of w C), ``total-weighted-flow`` (sum of w (C - r), the
        weighted JCT) or ``makespan``; whole numbers of ticks.
    time_limit
        Seconds, model building included; None: exact solvers run until they have a proof, ``auto``
        and ``local-search`` take 60 s.
    work_limit
        Limit in the solver's own deterministic unit; None: no limit.
    threads, seed
        With one thread and no time limit, the same seed gives the same schedule.
    warm_start
        A schedule to start from (or a result or file that has one): the answer is never worse.
    bound
        A valid lower bound from outside.
    params
        Parameters of a solver given by name.
    listener
        Called with each new point of the history.

    Returns
    -------
    A result; look at its ``status``, its truth value is refused.  Up to 5,000 rounds a bound whose
    certificate proves it in exact arithmetic is VERIFIED.

    Raises
    ------
    InputError, UsageError, SolverUnavailableError
        Invalid input, a call that makes no sense, a solver that is not installed.
    VerificationError
        The solver's claims did not survive the check.
    """
    from hetopt.analysis.certify import trusted_result
    from hetopt.core.errors import UsageError
    from hetopt.core.solver import make_limits
    from hetopt.solvers.run import run

    if isinstance(seed, bool) or not isinstance(seed, int):
        raise UsageError(f"seed {seed!r}: a seed is a whole number")
    problem = _as_instance(instance)
    result = run(
        solver,
        problem,
        objective=objective,
        limits=make_limits(time_limit, work_limit, threads),
        seed=seed,
        warm_start=_warm_schedule(warm_start),
        bound=bound,
        params=dict(params or {}),
        listener=listener,
    )
    return trusted_result(problem, result)


def solve_round(
    problem: RoundProblem | str | os.PathLike[str],
    solver: str | RoundSolver = "fft-fast",
    *,
    rule: str = "most-gpus",
    cost: CostModel | Mapping[str, Any] | None = None,
    time_limit: float | None = None,
    work_limit: int | None = None,
    threads: int = 1,
    seed: int = 0,
    warm_start: Allocation | str | os.PathLike[str] | None = None,
    params: Mapping[str, Any] | None = None,
    listener: Callable[[HistoryPoint], None] | None = None,
) -> Allocation:
    """Solve one FFT round: which jobs run in the next interval, and on which GPU type.

    Parameters
    ----------
    problem
        The round, or its path.
    solver
        ``fft-fast``, ``fft-milp``, ``fft-convex``, another round solver's name, or a solver object.
    rule
        Work conservation: ``most-gpus``, ``maximal`` or ``none``.
    cost
        A :class:`CostModel`, or a mapping with some of its fields: the weights ``age``, ``size``, ``migration`` and ``fairness``
        of the terms (1 each by default) and ``work``, ``total`` or ``remaining``.
    time_limit
        Seconds, model building included; None: until there is a proof.
    work_limit
        Limit in the solver's own deterministic unit.
    threads, seed
        With one thread and no time limit, the same seed gives the same allocation.
    warm_start
        An allocation to start from; one that breaks a rule is left out and the message says so.
    params
        Parameters of a solver given by name.
    listener
        Called with each new point of the history.

    Returns
    -------
    A checked allocation; look at its ``status``, its truth value is refused.

    Raises
    ------
    InputError, UsageError, SolverUnavailableError
        Invalid input, a call that makes no sense, a solver that is not installed.
    VerificationError
        The solver's claims did not survive the check.
    """
    from hetopt.core.allocation import Allocation
    from hetopt.core.errors import UsageError
    from hetopt.core.round_problem import CostModel, RoundProblem
    from hetopt.core.solver import make_limits
    from hetopt.solvers.rounds.run import run_round

    if isinstance(seed, bool) or not isinstance(seed, int):
        raise UsageError(f"seed {seed!r}: a seed is a whole number")
    if isinstance(problem, (str, os.PathLike)):
        problem = load(problem)
    if not isinstance(problem, RoundProblem):
        raise UsageError(f"a RoundProblem or the path of a hetopt/round is needed here; found {type(problem).__name__}")
    if isinstance(warm_start, (str, os.PathLike)):
        warm_start = load(warm_start)
    if warm_start is not None and not isinstance(warm_start, Allocation):
        raise UsageError(
            f"a warm start of a round is an Allocation or a file with one; found {type(warm_start).__name__}"
        )
    if not isinstance(cost, CostModel):
        terms = dict(cost or {})
        known = [field.name for field in dataclasses.fields(CostModel)]
        unknown = [key for key in terms if key not in known]
        if unknown:
            raise UsageError(f"cost: no field of the cost model is called {unknown[0]!r}; known: {', '.join(known)}")
        cost = CostModel(**terms)
    return run_round(
        solver,
        problem,
        cost=cost,
        rule=rule,
        limits=make_limits(time_limit, work_limit, threads),
        seed=seed,
        incumbent=warm_start,
        params=dict(params or {}),
        listener=listener,
    )


def compare(
    instances: Instance | str | os.PathLike[str] | Iterable[Instance | str | os.PathLike[str]],
    solvers: str | Solver | Sequence[str | Solver] | Mapping[str, str | Solver],
    **options: Any,
) -> Comparison:
    """Run each solver on each instance and put the answers side by side.

    Parameters
    ----------
    instances
        One or several of: an instance, its path, the name of a shipped one.
    solvers
        Names, solver objects, or a mapping from labels to either.
    **options
        ``objective``, ``time_limit`` (per run), ``work_limit``, ``seed``, ``threads``, ``params``,
        ``warm_start``, ``known``, ``listener``: see :func:`hetopt.analysis.compare.compare`.

    Returns
    -------
    A :class:`~hetopt.analysis.comparison.Comparison` with ``to_pandas``, ``to_latex``, ``plot``, ``report``.
    """
    from hetopt.analysis.compare import compare as run_all
    from hetopt.core.instance import Instance

    given = [instances] if isinstance(instances, (Instance, str, os.PathLike)) else list(instances)
    return run_all([_as_instance(item) for item in given], solvers, **options)


def verify(
    problem: Instance | RoundProblem | str | os.PathLike[str],
    document: Schedule | Result | Certificate | Allocation | Mapping[str, Any] | str | os.PathLike[str],
) -> Verification:
    """Check a schedule, result, certificate or allocation against its problem: exactly, and with no solver.

    Parameters
    ----------
    problem
        The instance (or the round, for an allocation), its path, or the name of a shipped instance.
    document
        What is to be checked, as an object, as parsed JSON, or as the path of its file.

    Returns
    -------
    A verification; ``valid`` says whether everything holds, ``violations`` what does not, and
    ``notes`` what was proved and what rests on a solver's word.

    Raises
    ------
    InputError
        A malformed document.
    """
    from hetopt.analysis.certify import verify as judge
    from hetopt.analysis.documents import read_raw
    from hetopt.core.instance import Instance
    from hetopt.core.round_problem import RoundProblem

    if isinstance(problem, (str, os.PathLike)):
        problem = load(problem)
    if not isinstance(problem, RoundProblem):
        problem = _as_instance(problem)
    assert isinstance(problem, (Instance, RoundProblem))
    if isinstance(document, (str, os.PathLike)):
        raw, label = read_raw(document)
        return judge(problem, raw, label)
    return judge(problem, dict(document) if isinstance(document, Mapping) else document)


def bound(instance: Instance | str | os.PathLike[str], kind: str | Sequence[str] = "all", **options: Any) -> Any:
    """Lower bounds of an instance, each with its trust and certificate.

    Parameters
    ----------
    instance
        The instance, its path, or the name of a shipped one.
    kind
        ``all``, one kind, or several.
    **options
        See :func:`hetopt.analysis.bounds.compute_bounds`.
    """
    from hetopt.analysis.bounds import compute_bounds

    return compute_bounds(_as_instance(instance), kind, **options)


def check_bound(instance: Instance | str | os.PathLike[str], **options: Any) -> Any:
    """Check the proof of the approximation bound on an instance, step by step in exact arithmetic.

    Parameters
    ----------
    instance
        The instance, its path, or the name of a shipped one.
    **options
        See :func:`hetopt.analysis.bound_check.check_bound`.
    """
    from hetopt.analysis.bound_check import check_bound as check

    return check(_as_instance(instance), **options)


def simulate(
    workload: Workload | str | os.PathLike[str],
    policy: Any,
    *,
    gpus: Mapping[str, int] | str,
    throughputs: str | os.PathLike[str] | None = None,
    speeds: Mapping[str, float] | None = None,
    jobs: int | None = None,
    strict: bool = True,
    **options: Any,
) -> SimulationResult:
    """Simulate online scheduling policies on a workload, each from the beginning.

    Parameters
    ----------
    workload
        A workload or the path of a trace.
    policy
        A name that ``hetopt simulate --list`` prints, a policy object, several, or a mapping from labels to either.
        The kind of a policy says which simulator runs it: by rounds, or task by task.
    gpus
        GPUs of each type, ``{"V100": 2, "T4": 2}`` or ``"V100=2,T4=2"``.
    throughputs
        Throughput table, for traces that need one.
    speeds
        Made-up speeds of GPU types, for traces without throughputs (1 by default).
    jobs
        Only the first so many jobs of a file.
    strict
        Bad lines and jobs that are too large for the cluster are errors; otherwise the former are left
        out and the latter wait for ever.
    **options
        ``round_seconds``, ``migration_seconds``, ``rounds``, ``seed``, ``params``, ``max_rounds``, ...: see
        :func:`hetopt.analysis.simulate.simulate`.

    Returns
    -------
    One :class:`~hetopt.core.simulation.PolicyOutcome` a policy, with what happened to each job.

    Raises
    ------
    InputError, UsageError
        A bad trace, a job that cannot run (by name), an unknown policy or parameter.
    """
    from hetopt.analysis.simulate import read_workload
    from hetopt.analysis.simulate import simulate as run
    from hetopt.core.workload import Workload

    cluster = parse_gpus(gpus)
    if not isinstance(workload, Workload):
        workload = read_workload(workload, cluster, throughputs=throughputs, speeds=speeds, jobs=jobs, strict=strict)
    options.setdefault("unrunnable", "error" if strict else "wait")
    return run(workload, policy, cluster, **options)


def sweep(spec: str | os.PathLike[str], out: str | os.PathLike[str], **options: Any) -> SweepTable:
    """Run what a sweep file asks for, one record a run; what is recorded already is not run again.

    Call it under ``if __name__ == "__main__"`` in scripts: worker processes import the script.

    Parameters
    ----------
    spec
        TOML; see the guide to sweeps.
    out
        Folder of the records.
    **options
        ``jobs``, ``part`` (``"1/4"``), ``scheduler``, ``retry_failed``, ``listener``: see
        :func:`hetopt.analysis.sweeps.sweep.run_sweep`.

    Returns
    -------
    The table of all runs that have a record, with ``to_pandas``, ``to_csv``, ``to_latex``, ``to_parquet``.

    Raises
    ------
    VerificationError
        A schedule is better than a bound that another run claims to be proved.
    """
    from hetopt.analysis.sweeps.sweep import run_sweep
    from hetopt.core.errors import VerificationError

    summary, table = run_sweep(spec, out, **options)
    if summary.interrupted:
        raise KeyboardInterrupt
    if table.contradictions:
        raise VerificationError("\n".join(table.contradictions))
    return table


def reproduce(folder: str | os.PathLike[str], out: str | os.PathLike[str], **options: Any) -> Reproduction:
    """Run what the claims of a paper need, and judge each; a second call resumes.

    Call it under ``if __name__ == "__main__"`` in scripts: worker processes import the script.

    Parameters
    ----------
    folder
        Of the paper, for example ``paper_repro/hare``.
    out
        Folder of the records.
    **options
        ``quick``, ``jobs``, ``retry_failed``, ``listener``: see :func:`hetopt.analysis.reproduction.reproduce.reproduce`.

    Returns
    -------
    Results with ``verdicts()``, ``claims`` and ``save(path)``.
    """
    from hetopt.analysis.reproduction.reproduce import reproduce as run_paper

    results, interrupted = run_paper(folder, out, **options)
    if interrupted:
        raise KeyboardInterrupt
    return results
