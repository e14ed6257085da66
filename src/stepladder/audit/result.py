"""What an audit found, as frames of the caller's kind, as plain values and as text."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from stepladder import markup
from stepladder.audit import text
from stepladder.table import frames
from stepladder.table.frames import Frame

TABLES = ("by_group", "gaps", "notions")


@dataclass(frozen=True, eq=False)
class Audit:
    """Recourse by group, as frames of the caller's kind.

    `by_group` has one row per group, `gaps` one for each measure with the two groups furthest
    apart, and `notions` one for each of six notions of fair recourse. Every number x has a 95%
    interval from x_low to x_high; where there's no telling how sure it is, these are NaN. A group
    in which fewer than `smallest` people asked is `small`. A gap is given among the groups in which
    at least `smallest` people have the number, and where other groups have it too, also among all
    of them, in a row that is marked `small`. Where groups are alike, `worst_off` and `best_off`
    are None.
    """

    by_group: Frame = field(repr=False)
    gaps: Frame = field(repr=False)
    notions: Frame = field(repr=False)
    people: int
    asked: int
    smallest: int
    budget: float
    effectiveness: float
    samples: int
    random_state: int

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values: None for NaN, and the texts "inf" and "-inf"."""
        facts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        tables = {name: [_plain(row) for row in _rows(facts.pop(name))] for name in TABLES}
        return {**_plain(facts), **tables}

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return markup.lines(str(self))

    def __str__(self) -> str:
        return text.written(
            _rows(self.by_group),
            _rows(self.gaps),
            _rows(self.notions),
            people=self.people,
            asked=self.asked,
            smallest=self.smallest,
        )


def _rows(frame: Frame) -> list[dict[str, Any]]:
    return frames.read(frame).rows(named=True)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row fit for JSON, which has no number for what isn't finite."""
    plain = dict(row)
    for name, cell in row.items():
        if isinstance(cell, float) and not math.isfinite(cell):
            plain[name] = None if math.isnan(cell) else str(cell)
    return plain
