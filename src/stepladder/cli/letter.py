"""`stepladder letter`: what one person of a saved result is told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
import typer

from stepladder.cli.inputs import Trust, TrustPickle, names
from stepladder.cli.report import OUT, RESULT, Date, check_page
from stepladder.errors import FrameError, ResultError, listing, nearest

if TYPE_CHECKING:
    from stepladder.methods.step import StEP
    from stepladder.result.recourse import Recourse

Lines = Annotated[str | None, typer.Option(help="Name and address; \\n begins a new line.")]


def letter(  # noqa: PLR0913, PLR0917  # one for each option
    result: Annotated[Path, RESULT],
    person: Annotated[str, typer.Option(help="Who it's for, as the result calls them.")],
    out: Annotated[Path, OUT],
    sender: Lines = None,
    recipient: Lines = None,
    date: Date = None,
    reference: Annotated[str | None, typer.Option(help="What to quote in an answer.")] = None,
    contact: Annotated[
        str | None, typer.Option(help="Whom to ask, and how; \\n begins a new line.")
    ] = None,
    deadline: Annotated[
        str | None, typer.Option(help="Until when something is to be done, and what.")
    ] = None,
    review: Annotated[
        str | None, typer.Option(help="How to have a person look at the decision again.")
    ] = None,
    statutory: Annotated[
        Path | None,
        typer.Option(help="A file of text that the law wants there; blank lines part paragraphs."),
    ] = None,
    hide: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Features that are never named, such as sex,race. Routes that change one are left "
            "out.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="With --data: says why the answer is no, and which rules are in the way."
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="The reference table; goes with --model.")
    ] = None,
    trust: Trust = None,
    trust_pickle: TrustPickle = False,
    show_score: Annotated[
        bool, typer.Option("--show-score", help="Tell the person their score.")
    ] = False,
    draft: Annotated[
        bool | None,
        typer.Option(
            "--draft/--no-draft", help="Mark it as a draft; usual if the schema has no labels."
        ),
    ] = None,
) -> None:
    """Write one person a letter: the decision, what would be enough for a yes, and why it's no."""
    from stepladder.result.recourse import Recourse
    from stepladder.view import letter as view

    if (model is None) != (data is None):
        raise typer.BadParameter("--model and --data go together.")
    check_page("--out", out, result, statutory, model, data)
    found = Recourse.load(result)
    page = view.letter(
        found,
        _called(person, pd.Index(found.people).tolist()),
        step=None if model is None else _fitted(found, model, data, names(trust), trust_pickle),
        sender=_lines(sender),
        recipient=_lines(recipient),
        date=date,
        reference=reference,
        contact=_lines(contact),
        deadline=deadline,
        review=review,
        statutory=None if statutory is None else _text(statutory),
        hide=names(hide),
        show_score=show_score,
        draft=draft,
    )
    view.write(page, out)
    typer.echo(f"The letter is in {out}.")


def _fitted(
    result: Recourse, model: str, data: Path | None, trust: list[str], trust_pickle: bool
) -> StEP:
    """A method that can be asked about the people of a result."""
    from stepladder.cli.tablefile import TableFile
    from stepladder.methods.step import StEP
    from stepladder.model.loading import load
    from stepladder.result.provenance import check_same, data_hash, model_hash

    if result.privacy is not None:
        raise ResultError(
            "This result was made under a privacy budget, and reasons read off the table would "
            "tell about the people in it. Leave out --model and --data."
        )
    assert data is not None  # it comes with the model
    schema, table = result.space.schema, TableFile(data)
    table.require(schema.columns, "the result")
    rows, known = table.frame(schema), result.fingerprints
    check_same("data", known.get("data"), data_hash(result.space.own(rows)))
    if Path(model).is_file():
        check_same("model", known.get("model"), model_hash(model))
    asked = load(model, trust=trust, trust_pickle=trust_pickle)
    return StEP().fit(rows, asked, space=result.space, goal=result.goal)


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


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FrameError(f"Can't read {str(file)!r} as text: {error}.") from error
