"""What people are compared by: features of the schema, or columns of a table of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
import typer

from stepladder.errors import ColumnError, FrameError, nearest

if TYPE_CHECKING:
    from stepladder.cli.tablefile import TableFile
    from stepladder.result.recourse import Recourse

Groups = Annotated[
    Path | None, typer.Option(help="A table that has these columns, if the schema doesn't.")
]
Identity = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="The column of --groups that says who each is."),
]


def opened(groups: Path | None, identity: str | None) -> TableFile | None:
    """The table of --groups, once it has the column that --id names."""
    from stepladder.cli.tablefile import TableFile

    if groups is None:
        if identity is not None:
            raise typer.BadParameter("--id names a column of --groups; give that too.")
        return None
    table = TableFile(groups)
    if identity and identity != table.index:
        table.require([identity], "--id")
    return table


def grouped(
    found: Recourse, wanted: list[str], table: TableFile | None, identity: str | None
) -> list[str] | dict[str, list[Any]]:
    """What --by names, as `audit` takes it: columns of the table, or else features."""
    known = found.space.schema.names
    theirs = [name for name in wanted if table is not None and name in table.columns]
    for name in wanted:
        if name not in (*theirs, *known):
            where = "" if table is None else f", nor a column of {str(table.file)!r}"
            nearby = nearest(name, known if table is None else (*known, *table.columns))
            way_out = (
                ""
                if table is not None
                else (" A column that the model doesn't see comes with its table: --groups TABLE.")
            )
            raise ColumnError(
                f"--by names {name!r}, which is no feature of the schema{where}.{nearby}{way_out}"
            )
    if table is None or not theirs:
        return wanted
    columns = _columns(found, table, theirs, identity)
    return {name: columns.get(name) or _today(found, name) for name in wanted}


def _today(found: Recourse, name: str) -> list[Any]:
    """Everyone's value of a feature today."""
    index = found.space.schema.position(name)
    values = [float(routes[0].values[0, index]) for routes in found.routes]
    return [None if np.isnan(value) else found.space.shown(index, value) for value in values]


def _columns(
    found: Recourse, table: TableFile, wanted: list[str], identity: str | None
) -> dict[str, list[Any]]:
    """Columns of a table, with a value for each person of the result, matched by what they're
    called: as in `stepladder recourse`, by --id, the index of a pandas frame, or 0, 1, 2, …"""
    label = identity or table.index
    called = [label] if label else []
    read = table.read(list(dict.fromkeys([*wanted, *called])), texts=called)
    labels = read[label].to_pylist() if label else range(len(read))
    row_of: dict[str, int] = {}
    for row, name in enumerate(labels):
        if row_of.setdefault(str(name), row) != row:
            raise FrameError(f"{str(table.file)!r} has more than one row for {name!r}.")
    people = [str(person) for person in pd.Index(found.people)]
    missing = [person for person in people if person not in row_of]
    if missing:
        by = f"by its column {label!r}" if label else "by their row number"
        raise FrameError(
            f"{str(table.file)!r} has no row for {len(missing):,} of the {len(people):,} people of "
            f"the result, such as {missing[0]!r}; it calls them {by}, such as "
            f"{next(iter(row_of), 'nobody')!r}. Name the column that says who each is: --id COLUMN."
        )
    rows = read.take([row_of[person] for person in people])
    return {name: rows[name].to_pylist() for name in wanted}
