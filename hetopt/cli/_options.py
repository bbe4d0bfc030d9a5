"""Options that more than one command has, with their checks; nothing heavy is imported here."""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from hetopt.core.instance import Instance
    from hetopt.core.solver import Limits

OBJECTIVES: Final = ("total-weighted-completion", "total-weighted-flow", "makespan")


def seconds(text: str) -> float:
    """A finite number of seconds >= 0 (parsers are given defaults as well, hence ``str``)."""
    text = str(text)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise typer.BadParameter(f"{text!r} is not a finite number of seconds >= 0; leave the option out for no limit")
    return value


def whole(text: str) -> int:
    """A whole number."""
    text = str(text)
    if not re.fullmatch(r"[+-]?[0-9]{1,30}", text, re.ASCII):
        raise typer.BadParameter(f"{text!r} is not a whole number")
    return int(text)


def count(text: str) -> int:
    """A whole number >= 1."""
    if (value := whole(text)) < 1:
        raise typer.BadParameter(f"{text!r} is less than 1")
    return value


def natural(text: str) -> int:
    """A whole number >= 0."""
    if (value := whole(text)) < 0:
        raise typer.BadParameter(f"{text!r} is less than 0")
    return value


def _objective(value: str) -> str:
    if value not in OBJECTIVES:
        near = difflib.get_close_matches(value, OBJECTIVES, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(OBJECTIVES)}"
        raise typer.BadParameter(f"no objective is called {value!r}; {hint}")
    return value


def place(value: str | None) -> str | None:
    """A file to write, whose folder is there: better refused now than after an hour's run."""
    from hetopt.core.errors import OutputError

    if value is not None and value != "-" and not Path(value).parent.exists():
        folder = Path(value).parent
        raise OutputError(f"{value}: cannot be written: there is no folder {folder}; create it, or correct the name")
    return value


InstanceArgument = Annotated[
    str, typer.Argument(metavar="INSTANCE", help="File, - for standard input, or the name of a shipped instance.")
]
OutputOption = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", callback=place, help="Write here; - is standard output.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one document on standard output and nothing else there.")
]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", parser=whole, help="Seed of every random choice.")]
ThreadsOption = Annotated[int, typer.Option("--threads", metavar="N", parser=count, help="Threads of the solver.")]
TimeLimitOption = Annotated[
    float | None,
    typer.Option("--time-limit", metavar="SECONDS", parser=seconds, help="Seconds, model building included."),
]
WorkLimitOption = Annotated[
    int | None,
    typer.Option("--work-limit", metavar="N", parser=natural, help="Limit in the solver's own deterministic unit."),
]
ObjectiveOption = Annotated[
    str, typer.Option("--objective", metavar="NAME", callback=_objective, help=f"One of {', '.join(OBJECTIVES)}.")
]
ParamOption = Annotated[
    list[str] | None,
    typer.Option("--param", metavar="KEY=VALUE", help="A parameter of the solver; may be given again."),
]
ParamsOption = Annotated[
    str | None, typer.Option("--params", metavar="FILE.toml", help="Parameters from a file; --param comes on top.")
]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Say on standard error what is going on.")]


def limits_of(time_limit: float | None, work_limit: int | None, threads: int) -> Limits:
    """Checked limits."""
    from hetopt.core.solver import make_limits

    return make_limits(time_limit, work_limit, threads)


def instance_of(source: str) -> Instance:
    """The instance of a command's argument."""
    from hetopt.analysis.documents import load_instance

    return load_instance(source)


def names_of(text: str, option: str) -> list[str]:
    """``a,b,c`` as a list of names without repeats."""
    from hetopt.core.errors import UsageError

    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise UsageError(f"{option} {text!r}: an empty name; write names with single commas between them")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"{option} {text!r}: {', '.join(twice)} stands twice; name each once")
    return names


def _value(text: str) -> Any:
    """A value in TOML notation; what is none stands for itself as text."""
    try:
        read = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return read["value"] if list(read) == ["value"] else text


def params_of(pairs: list[str] | None, path: str | None) -> dict[str, Any]:
    """Parameters from ``--params FILE.toml`` with those of ``--param key=value`` on top.

    Raises
    ------
    InputError
        The file cannot be read or is not TOML.
    UsageError
        A pair without ``=``, a key twice.
    """
    from hetopt.core.errors import UsageError

    out = {} if path is None else read_params(path)
    seen: set[str] = set()
    for pair in pairs or ():
        key, sign, value = pair.partition("=")
        key = key.strip().replace("-", "_")
        if not sign or not key:
            raise UsageError(f"--param {pair!r}: found no key=value; write for example --param iterations=1000")
        if key in seen:
            raise UsageError(f"--param {key} is given twice; give it once")
        seen.add(key)
        out[key] = _value(value.strip())
    return out


def read_params(path: str) -> dict[str, Any]:
    """The key = value lines of a TOML file (see the folder ``solvers/``)."""
    from hetopt.core.documents import read_text
    from hetopt.core.errors import Fault, InputError

    text, label = read_text(path if path == "-" else Path(path))
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(Fault("", "", f"not TOML: {error}", "correct the syntax there", label)) from None
