"""``hetopt check``: the approximation-bound checker, step by step."""

from __future__ import annotations

import difflib
from typing import Annotated

import typer

from hetopt.cli import _options as opt

RULES = ("R1", "R2", "R3")


def _rule(value: str) -> str:
    if value.upper() not in RULES:
        near = difflib.get_close_matches(value.upper(), RULES, n=1)
        raise typer.BadParameter(
            f"no rule is called {value!r}; {f'did you mean {near[0]}?' if near else 'known: R1, R2, R3'}"
        )
    return value.upper()


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check")(check)


def check(
    instance: opt.InstanceArgument,
    rule: Annotated[
        str, typer.Option("--rule", metavar="R1|R2|R3", callback=_rule, help="Placement rule of the list schedule.")
    ] = "R1",
    explain: Annotated[bool, typer.Option("--explain", help="Explain each step in words.")] = False,
    output: opt.OutputOption = None,
    as_json: opt.JsonOption = False,
    seed: opt.SeedOption = 0,
    time_limit: opt.TimeLimitOption = None,
    verbose: opt.VerboseOption = False,
) -> int:
    """Check the proof of the approximation bound on an instance, lemma by lemma, in exact arithmetic."""
    from hetopt.analysis.bound_check import check_bound
    from hetopt.cli._output import deliver, facts, say, table
    from hetopt.cli._progress import logging_to
    from hetopt.core.errors import ExitCode

    problem = opt.instance_of(instance)
    with logging_to(None, verbose=verbose):
        made = check_bound(problem, rule, seed=seed, time_limit=time_limit)
    rows = [(s.id, s.name, "holds" if s.ok else "DOES NOT HOLD", s.where) for s in made.steps]
    if explain:
        say(made.explain())
    else:
        table("", ("step", "what", "verdict", "tightest at"), rows, left=(1, 2, 3))
        facts(
            {
                "lower bound": made.ratios.lower_bound,
                "list schedule": made.ratios.list_value,
                "list / lower bound": made.ratios.list_to_bound,
                "proved for this instance, K": made.K,
                "alpha Phi(M)": made.alpha_phi,
                "3 alpha": made.three_alpha,
                "published, alpha (2 + alpha)": made.published,
            }
        )
    deliver(made.to_json(), output=output, as_json=as_json)
    return int(ExitCode.DONE if made.ok else ExitCode.VERIFICATION_FAILED)
