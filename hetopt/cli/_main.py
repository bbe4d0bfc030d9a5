"""The application, and what becomes of every way in which a command can end."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer

from hetopt.core.errors import ExitCode, HetoptError

__all__ = ["app", "main"]

BROKEN_PIPE: Final = 141
"""128 + SIGPIPE, as other programs end when their reader has gone."""

INTERNAL_ERROR: Final = 1
"""An exception that should not have come here: a bug of ours."""

# Typer carries click inside and does not export these two; its BadParameter is a subclass of both.
_TyperUsageError: Final[Any] = typer.BadParameter.__mro__[1]
_TyperError: Final[Any] = typer.BadParameter.__mro__[2]

app = typer.Typer(
    name="hetopt",
    help="Schedules of deep-learning training jobs on heterogeneous GPU clusters: solve, bound, verify, compare.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done; 2 wrong usage or invalid input; 3 infeasible or unbounded; 4 no solution within the "
    "limits; 5 verification failed; 6 a solver or extra is missing; 130 interrupted.",
)


class _Interrupted(Exception):
    """Ctrl-C in a command; typer would turn KeyboardInterrupt into a silent exit code."""


def _version(wanted: bool) -> None:
    if wanted:
        import hetopt

        typer.echo(f"hetopt {hetopt.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Schedules of deep-learning training jobs on heterogeneous GPU clusters: solve, bound, verify, compare."""


def _say(text: str) -> None:
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text.rstrip("\n") + "\n")
        sys.stderr.flush()


def _occupy_standard_descriptors() -> None:
    """Descriptors 0 to 2 that are closed become the null device: a file opened next would get their number, and what
    libraries print would go into it.  Python's own streams stay None, so that reading and writing them is refused;
    only standard error becomes a stream, since it may be lost.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, so this one
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _abandon_stdout() -> None:
    """Standard output is gone or full: what is still buffered must not fail again when Python ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)


def _usage_text(error: Any) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "hetopt"
    message = " ".join(str(error.format_message()).split())
    return f"{path}: {message} (see {path} --help)"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv
        Arguments without the program's name; None: those of the process.

    Returns
    -------
    The exit code; every user's mistake is one line per fault on standard error, never a traceback.
    ``HETOPT_TRACEBACK=1`` shows tracebacks all the same.
    """
    _occupy_standard_descriptors()
    show = os.environ.get("HETOPT_TRACEBACK", "") not in ("", "0")
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        return _run(list(sys.argv[1:] if argv is None else argv), show)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    _say(f"hetopt: warning: {' '.join(str(message).split())}")


def _run(args: list[str], show: bool) -> int:
    try:
        code = command()(args=args, prog_name="hetopt", standalone_mode=False)
        if sys.stdout is not None:
            with contextlib.suppress(ValueError):
                sys.stdout.flush()
        return int(code) if isinstance(code, int) else int(ExitCode.DONE)
    except _TyperError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            _say(error.format_message())
        else:
            _say(_usage_text(error))
        return int(ExitCode.INVALID)
    except HetoptError as error:
        if show:
            traceback.print_exc()
        if "standard output" in str(error):
            _abandon_stdout()
        _say("\n".join(f"hetopt: {line}" for line in str(error).splitlines()) or f"hetopt: {type(error).__name__}")
        return int(error.exit_code)
    except (_Interrupted, KeyboardInterrupt, typer.Abort):
        _say("hetopt: interrupted")
        return int(ExitCode.INTERRUPTED)
    except (BrokenPipeError, SystemExit):  # typer ends the process when it meets a broken pipe
        _abandon_stdout()
        return BROKEN_PIPE
    except OSError as error:
        if error.errno == errno.ENOSPC:
            _abandon_stdout()
            _say(f"hetopt: {error.filename or 'output'}: cannot be written: {error.strerror}; make room there")
            return int(ExitCode.INVALID)
        return _internal(error, show)
    except MemoryError:
        _say("hetopt: out of memory; use a smaller instance, a coarser tick or fewer threads")
        return int(ExitCode.NO_SOLUTION)
    except Exception as error:
        return _internal(error, show)


def _internal(error: Exception, show: bool) -> int:
    if show:
        traceback.print_exc()
    what = " ".join(str(error).split())
    hint = "" if show else "; HETOPT_TRACEBACK=1 shows where"
    _say(f"hetopt: internal error: {type(error).__name__}: {what}; please report it with the input{hint}")
    return INTERNAL_ERROR


def command() -> Any:
    """The whole application as a callable command, its modules imported."""
    from hetopt.cli import (
        adversary,
        bound,
        check,
        compare,
        convert,
        export,
        generate,
        plot,
        reproduce,
        round,
        schema,
        simulate,
        solve,
        solvers,
        sweep,
        verify,
    )

    if not app.registered_commands:
        for module in (
            *(generate, convert, solve, bound, check, verify, compare, plot, export),
            *(adversary, round, simulate, sweep, reproduce, solvers, schema),
        ):
            module.register(app)
    root: Any = typer.main.get_command(app)
    run = root.invoke

    def invoke(context: Any) -> Any:
        try:
            return run(context)
        except KeyboardInterrupt:
            raise _Interrupted from None

    root.invoke = invoke
    return root
