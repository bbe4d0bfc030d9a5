"""``hetopt generate``: seeded synthetic instances."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hetopt.cli import _options as opt


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("generate")(generate)


def _knob(option: str, text: str) -> Any:
    return typer.Option(option, metavar="VALUE", help=text)


def generate(
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", parser=opt.count, help="Number of jobs.")] = 8,
    gpus: Annotated[
        str | None,
        typer.Option("--gpus", metavar="TYPE=COUNT,...", help="GPUs of each type; V100=2,T4=2 for most families."),
    ] = None,
    seed: opt.SeedOption = 0,
    family: Annotated[
        str,
        typer.Option("--family", metavar="NAME", help="batch, poisson, bursts, ordered-types, ...; `list` lists them."),
    ] = "batch",
    alpha: Annotated[str | None, _knob("--alpha", "Largest ratio of a task's times over the types, such as 4.")] = None,
    load: Annotated[str | None, _knob("--load", "Offered load; 1 just keeps the cluster busy.")] = None,
    rounds: Annotated[str | None, _knob("--rounds", "Rounds per job: 3, 2..6, 1,2,4 or 1=0.7,4=0.3.")] = None,
    scale: Annotated[str | None, _knob("--scale", "Tasks per round, written like --rounds.")] = None,
    sync: Annotated[str | None, _knob("--sync", "Share of a round that is synchronisation: 0.1 or 0..0.3.")] = None,
    weights: Annotated[str | None, _knob("--weights", "Weights, written like --rounds, or unit.")] = None,
    tick: Annotated[str | None, _knob("--tick", "Seconds of a tick.")] = None,
    name: Annotated[str | None, typer.Option("--name", metavar="TEXT", help="Name of the instance.")] = None,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", metavar="KNOB=VALUE", help="Any other knob of the family; see the guide."),
    ] = None,
    output: opt.OutputOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """Make a random instance; the same options give the same instance for ever.

    Without -o the instance goes to standard output.
    """
    from hetopt import api
    from hetopt.cli._output import deliver, say, table
    from hetopt.core.errors import UsageError

    if family == "list":
        from hetopt.instances.generators import FAMILIES

        table("", ("family", "what it is"), [(entry.name, entry.summary) for entry in FAMILIES], left=(0, 1))
        return
    knobs: dict[str, Any] = {
        "alpha": alpha,
        "load": load,
        "rounds": rounds,
        "scale": scale,
        "sync": sync,
        "weights": weights,
        "tick_seconds": tick,
    }
    for pair in param or ():
        key, sign, value = pair.partition("=")
        key = key.strip().replace("-", "_")
        if not sign or not key:
            raise UsageError(f"--param {pair!r}: found no KNOB=VALUE; write for example --param forbidden=0.3")
        if knobs.get(key) is not None:
            raise UsageError(f"the knob {key} is given twice; give it once")
        knobs[key] = value.strip()
    instance = api.generate(jobs=jobs, gpus=gpus, seed=seed, family=family, name=name, **knobs)
    say(repr(instance))
    deliver(instance.to_json(), output=output or "-", as_json=as_json and output not in (None, "-"))
