"""`stepladder report` and `stepladder letter`: a saved result as a page for people to read."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from stepladder.cli.groups import Groups, Identity, grouped, opened
from stepladder.cli.inputs import names, not_read_from
from stepladder.errors import ExtraError, FrameError, ModelError, listing, nearest

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


def letter(
    result: Annotated[Path, RESULT],
    person: Annotated[str, typer.Option(help="Who it's for, as the result calls them.")],
    out: Annotated[Path, OUT],
    sender: Annotated[
        str | None, typer.Option(help="Name and address; \\n begins a new line.")
    ] = None,
    recipient: Annotated[
        str | None, typer.Option(help="Name and address; \\n begins a new line.")
    ] = None,
    date: Date = None,
    show_score: Annotated[
        bool, typer.Option("--show-score", help="Tell the person their score.")
    ] = False,
) -> None:
    """Write one person a letter: the decision, the main reasons, and the routes to a yes."""
    from stepladder.result.recourse import Recourse
    from stepladder.view import letter as view

    check_page("--out", out, result)
    found = Recourse.load(result)
    page = view.letter(
        found,
        _called(person, pd.Index(found.people).tolist()),
        sender=_lines(sender),
        recipient=_lines(recipient),
        date=date,
        show_score=show_score,
    )
    view.write(page, out)
    typer.echo(f"The letter is in {out}.")


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


def _called(name: str, people: list[Any]) -> Any:
    """The person of that name, as the result knows them."""
    found = [person for person in people if str(person) == name]
    if len(found) > 1:
        raise FrameError(
            f"{len(found)} people of the result are called {name!r}, so it isn't clear who is "
            "meant. Give people different names before asking for recourse."
        )
    if not found:
        raise FrameError(
            f"The result has nobody called {name!r}.{nearest(name, people)} "
            f"It has {listing(people)}."
        )
    return found[0]


def _lines(text: str | None) -> str | None:
    return None if text is None else text.replace("\\n", "\n")
