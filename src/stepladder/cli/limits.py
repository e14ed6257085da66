"""What single people can't do, from a file: one row per person and feature."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from stepladder.cli.tablefile import TableFile, names_of
from stepladder.errors import ParameterError, listing, nearest
from stepladder.table.rules.personal import COLUMNS, read_limits
from stepladder.table.schema import Schema


@dataclass(frozen=True)
class LimitsFile:
    """Limits that fit the schema, of people who are called as text, whatever a table calls them."""

    file: Path
    rows: pd.DataFrame
    """`COLUMNS`, the index counting what messages count"""
    counted: str
    """what that is: lines or rows"""

    @classmethod
    def read(cls, file: Path, schema: Schema) -> LimitsFile:
        table = TableFile(file)
        table.require(COLUMNS, "--limits")
        found = table.read([*COLUMNS], schema, texts=COLUMNS)
        rows = found.to_pandas().assign(person=names_of(found["person"])).reset_index(drop=True)
        rows["person"] = [None if name is None else str(name) for name in rows["person"]]
        counted, first = ("line", 2) if _one_line_each(file, len(rows)) else ("row", 1)
        limits = cls(file, rows.set_axis(range(first, first + len(rows))), counted)
        for _ in read_limits(schema, limits.rows, source=repr(str(file)), row=counted):
            pass  # each is checked as it's read
        return limits

    @property
    def people(self) -> set[str]:
        return {*self.rows["person"]}

    def check_known(self, people: Iterable[pd.DataFrame], table: Path) -> None:
        """Refuse somebody who isn't in the table of people."""
        known = [str(name) for batch in people for name in batch.index]
        there = {*known}
        for row, person in self.rows["person"].items():
            if person not in there:
                raise ParameterError(
                    f"{str(self.file)!r}, {self.counted} {row}: nobody in {str(table)!r} is called "
                    f"{person!r}.{nearest(person, known)} It has {listing(known)}."
                )

    def of(self, people: pd.DataFrame) -> pd.DataFrame:
        """The limits of some people, called as their table calls them."""
        called = {str(label): label for label in people.index}
        own = self.rows[self.rows["person"].isin(called)]
        labels = [called[name] for name in own["person"]]
        return own.assign(person=pd.Series(labels, own.index, dtype=object))


def _one_line_each(file: Path, rows: int) -> bool:
    """Whether every row of a CSV has a line to itself, so that lines can be told from rows."""
    if file.suffix.lower() != ".csv":
        return False
    with file.open("rb") as lines:
        return sum(1 for _ in lines) == rows + 1
