"""The command `stepladder`: its groups, its version, and one sentence for whatever goes wrong."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import stepladder
from stepladder.cli import bench
from stepladder.errors import StepladderError


class Commands(TyperGroup):
    """Errors that the library raises on purpose are said on stderr, without a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except StepladderError as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(1) from error
        except KeyboardInterrupt as error:
            typer.echo("Stopped.", err=True)
            raise typer.Exit(130) from error


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Step-by-step algorithmic recourse: routes from a model's no to its yes.",
)
app.add_typer(bench.app, name="bench")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"stepladder {stepladder.__version__}")
        raise typer.Exit


@app.callback()
def stepladder_(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Say which, and stop."),
    ] = False,
) -> None:
    """Routes from a model's no to its yes."""
