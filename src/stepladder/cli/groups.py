"""What people are compared by: features of the schema, or columns of a table of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import typer

from stepladder.errors import ColumnError, FrameError, nearest

if TYPE_CHECKING:
    from stepladder.cli.files import Table
    from stepladder.recourse import Recourse

GROUPS = typer.Option(help="A table that has these columns, if the schema hasn't.")


def opened(groups: Path, wanted: list[str], identity: str | None) -> Table:
    """The table of --groups, once it has the columns that --by and --id name."""
    from stepladder.cli.files import Table

    table = Table(groups)
    table.require(wanted, "--by")
    if identity and identity != table.index:
        table.require([identity], "--id")
    return table


def features(found: Recourse, wanted: list[str]) -> list[str]:
    """Features of the result's schema."""
    known = found.space.schema.names
    for name in wanted:
        if name not in known:
            raise ColumnError(
                f"--by names {name!r}, which is no feature of the schema.{nearest(name, known)} "
                "A column that the model doesn't see comes with its table: --groups TABLE."
            )
    return wanted


def columns(
    found: Recourse, table: Table, wanted: list[str], identity: str | None
) -> dict[str, list[Any]]:
    """Columns of a table, with a value for each person of the result, matched by what they're
    called: as in `stepladder recourse`, by --id, the index of a pandas frame, or 0, 1, 2, …"""
    label = identity or table.index
    read = table.read(list(dict.fromkeys([*wanted, *([label] if label else [])])))
    called = read[label].to_pylist() if label else range(len(read))
    places: dict[str, int] = {}
    for place, name in enumerate(called):
        if places.setdefault(str(name), place) != place:
            raise FrameError(f"{str(table.file)!r} has more than one row for {name!r}.")
    people = [str(person) for person in pd.Index(found.people)]
    for person in people:
        if person not in places:
            raise FrameError(
                f"{str(table.file)!r} has no row for {person!r}, who is in the result. Name the "
                "column that says who each is: --id COLUMN."
            )
    rows = read.take([places[person] for person in people])
    return {name: rows[name].to_pylist() for name in wanted}
