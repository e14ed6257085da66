"""The command `stepladder`: its groups, its version, and one sentence for whatever goes wrong."""

from __future__ import annotations

import errno
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import stepladder
from stepladder.cli import EXITS, Exit, audit, bench, demo, letter, recourse, report, schema, walk
from stepladder.cli.help import Command
from stepladder.errors import StepladderError


class Commands(TyperGroup):
    """Errors that the library raises on purpose go to stderr, without a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except StepladderError as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(Exit.ERROR) from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # whoever read our output has had enough
                raise
            named = f"{error.filename}: " if error.filename else ""
            typer.echo(f"Error: {named}{error.strerror or error}.", err=True)
            _forget_output()
            raise typer.Exit(Exit.ERROR) from error
        except KeyboardInterrupt as error:
            typer.echo("Stopped.", err=True)
            raise typer.Exit(Exit.INTERRUPTED) from error


def _forget_output() -> None:
    """Let what couldn't be written to stdout go, or Python would try again while it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


ENDINGS = "\b\nExit status:\n" + "\n".join(f"  {code:>3}  {why}" for code, why in EXITS.items())


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog=ENDINGS,
    help="Step-by-step algorithmic recourse: routes from a model's no to its yes.",
)
for command in (
    demo.demo,
    schema.schema,
    recourse.recourse,
    walk.walk,
    audit.audit,
    report.report,
    letter.letter,
):
    app.command(cls=Command, epilog=ENDINGS)(command)
app.add_typer(bench.app, name="bench")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"stepladder {stepladder.__version__}")
        raise typer.Exit


@app.callback()
def stepladder_(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version, and stop."
        ),
    ] = False,
) -> None:
    """Routes from a model's no to its yes."""
