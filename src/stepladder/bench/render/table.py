"""A table as a value. What it says is settled before; how it looks, after."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from stepladder.numbers import rounded

WIDE = 8
"""A table with more columns than this shows a standard error below its number, not beside it."""


@dataclass(frozen=True)
class Entry:
    """What stands in one cell of a table: a number with its standard error, or words."""

    value: float = math.nan
    error: float = math.nan
    words: str = ""
    """instead of a number"""
    after: str = ""
    """words after the number and its error"""
    decimals: int = 2
    best: bool = False
    notes: tuple[int, ...] = ()
    """the numbers of its footnotes, from 1"""

    @property
    def main(self) -> str:
        return self.words or rounded(self.value, self.decimals)

    @property
    def aside(self) -> str:
        """What follows the number: its standard error, and the words after it."""
        known = not (self.words or math.isnan(self.value) or math.isnan(self.error))
        error = f"±{rounded(self.error, self.decimals)}" if known else ""
        return f"{error} {self.after}".strip()


EMPTY = Entry(words=" ")
"""A cell that is meant to be empty."""


@dataclass(frozen=True)
class Column:
    name: str
    group: str = ""
    left: bool = False
    """words stand left, numbers right"""


@dataclass(frozen=True)
class Row:
    heads: tuple[str, ...]
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Table:
    """Rows of entries under grouped columns. Rows with the same first head form a block.

    heads  what the row heads are called
    notes  footnotes, numbered from 1
    """

    name: str
    title: str
    heads: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


def split(table: Table) -> list[Table]:
    """One table for each column group, with the columns that have none; footnotes are left out."""
    groups = list(dict.fromkeys(c.group for c in table.columns if c.group))
    if len(groups) < 2:
        return [table]
    parts = []
    for group in groups:
        kept = [i for i, c in enumerate(table.columns) if c.group in (group, "")]
        columns = tuple(replace(table.columns[i], group="") for i in kept)
        rows = tuple(replace(r, entries=tuple(r.entries[i] for i in kept)) for r in table.rows)
        parts.append(
            replace(table, title=f"{table.title}, {group}", columns=columns, rows=rows, notes=())
        )
    return parts


def with_heads(table: Table) -> Iterator[tuple[Row, tuple[str, ...]]]:
    """Rows with the heads they show: one that repeats the row above, with all left of it, is
    left empty; the last always stands."""
    above: tuple[str, ...] = ()
    for row in table.rows:
        same = 0
        while same < len(row.heads) - 1 and row.heads[: same + 1] == above[: same + 1]:
            same += 1
        yield row, ("",) * same + row.heads[same:]
        above = row.heads
