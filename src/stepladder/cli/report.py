"""`stepladder report`: a saved result as a page for whoever has to judge it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from stepladder.cli.groups import Groups, Identity, grouped, opened
from stepladder.cli.inputs import names, not_read_from
from stepladder.errors import ExtraError, ModelError

RESULT = typer.Argument(
    metavar="RESULT", help="What stepladder recourse or Recourse.save wrote as .parquet or .json."
)
OUT = typer.Option(help="The page: a file ending in .html.")
Date = Annotated[str | None, typer.Option(help="A date to put on it; none if left out.")]


def report(
    result: Annotated[Path, RESULT],
    out: Annotated[Path, OUT],
    by: Annotated[
        list[str] | None,
        typer.Option(help="Columns to compare groups by: sex,race. Each, and every pair."),
    ] = None,
    groups: Groups = None,
    identity: Identity = None,
    people: Annotated[int, typer.Option(min=0, help="How many people's plans are shown.")] = 10,
    title: Annotated[str | None, typer.Option(help="The heading at the top.")] = None,
    model: Annotated[
        Path | None, typer.Option(help="The model's file, for its fingerprint.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="The reference table, for its fingerprint.")
    ] = None,
    date: Date = None,
) -> None:
    """Make a report of a result: one HTML page, for whoever has to judge it."""
    from stepladder.cli.tablefile import TableFile
    from stepladder.result.recourse import Recourse
    from stepladder.view import report as view

    wanted = names(by)
    if (by or groups is not None) and not wanted:
        raise typer.BadParameter("--by names at least one column, such as sex.")
    check_page("--out", out, result, model, data, groups)
    others = opened(groups, identity)
    if model is not None and not model.is_file():
        raise ModelError(f"There is no model file at {str(model)!r}.")
    found = Recourse.load(result)
    rows = None
    if data is not None:
        table = TableFile(data)
        table.require(found.space.schema.columns, "the result")
        rows = table.frame(found.space.schema)
    page = view.report(
        found,
        groups=grouped(found, wanted, others, identity) if wanted else None,
        people=people,
        title=title,
        model=model,
        data=rows,
        date=date,
    )
    view.write(page, out)
    typer.echo(f"The report is in {out}.")


def check_page(option: str, page: Path, *read: Path | str | None) -> None:
    """Refuse a file that a page couldn't be written to, before the page is made."""
    from stepladder.files import check_place
    from stepladder.view.page import check_name

    for package in ("jinja2", "altair", "vl_convert"):
        if importlib.util.find_spec(package) is None:
            raise ExtraError(package, "view", "Making a page")
    not_read_from(option, page, *read)
    check_name(page)
    check_place(page)
