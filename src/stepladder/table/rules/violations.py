"""Rules that rows break, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stepladder.numbers import plain
from stepladder.table import frames
from stepladder.table.derived import Derived
from stepladder.table.feature import Change, Numeric
from stepladder.table.frames import Frame
from stepladder.table.rules.grid import bounds_of
from stepladder.table.space import Floats

if TYPE_CHECKING:
    from stepladder.table.feasible import Feasible


@dataclass(frozen=True)
class Violation:
    """One feature of one row that the person couldn't have changed that way, or one requirement."""

    row: Any
    feature: str
    rule: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.feature} {self.rule}: {self.before!r} became {self.after!r} (row {self.row})"


def violations(feasible: Feasible, rows: Floats, frame: Frame) -> list[Violation]:
    """Every rule that rows (n, features), which `frame` holds, break."""
    space, labels, found = feasible.space, frames.labels(frame), list[Violation]()
    start = np.broadcast_to(feasible.start, rows.shape)
    for row, f in np.argwhere(feasible.broken(rows)).tolist():
        before, after = (space.shown(f, float(side[row, f])) for side in (start, rows))
        rule = next(_rules(feasible, f, start[row], rows[row]))
        found.append(Violation(labels[row], space.schema.names[f], rule, before, after))
    requirements = space.requirements
    kept = requirements.kept(rows, feasible.start, feasible.kept_today)
    for row, p in np.argwhere(~kept).tolist():
        part = requirements.parts[p]
        about = part.features.tolist()
        before, after = (
            tuple(space.shown(f, float(side[row, f])) for f in about) for side in (start, rows)
        )
        names = ", ".join(space.schema.names[f] for f in about)
        rule = f"must keep {part.formula.text}"
        found.append(Violation(labels[row], names, rule, before, after))
    return found


def _rules(feasible: Feasible, f: int, start: Floats, row: Floats) -> Iterator[str]:
    """The rules that a change of a feature breaks, in words, the plainest first."""
    space = feasible.space
    feature, before, after = space.schema.features[f], start[f], row[f]
    low, high = bounds_of(feature)
    outside = bool(space.grid.outside(f, row[[f]])[0])
    fixed = all((ends[:, f] == feasible.start[:, f]).all() for ends in feasible.reachable)
    for broken, rule in (
        (isinstance(feature, Derived), "doesn't follow from the rest of the row"),
        (
            feature.change is Change.TIME and not outside,
            "only grows with the time that a plan takes",
        ),
        (feature.change is Change.NEVER, "never changes"),
        (np.isnan(before) and not space.fillable[f], "has no value, and may not be filled in"),
        (np.isnan(after), "can't be left empty"),
        (feature.change is Change.INCREASE and after < before, "may only increase"),
        (feature.change is Change.DECREASE and after > before, "may only decrease"),
        (outside, f"must lie within {plain(low)} and {plain(high)}"),
        (fixed, "is locked"),
        (space.hops.broken(row[None], start[None])[0, f], "can't get to that level"),
    ):
        if broken:
            yield rule
    if isinstance(feature, Numeric):
        if after != space.grid.column(f, np.array([after]))[0]:
            yield _grain(feature)
        (lowest,), (highest,) = feature.reached(np.array([before]))
        if not lowest <= after <= highest:
            yield "is out of reach"
    yield "lies beyond this person's limits"


def _grain(feature: Numeric) -> str:
    """What the values of a number have to be, in words."""
    if feature.multiple is not None:
        return f"must be a multiple of {plain(feature.multiple)}"
    if feature.most_decimals is not None:
        decimals = feature.most_decimals
        return "must be whole" if decimals == 0 else f"has at most {decimals} decimals"
    return "must be a number that a float32 column can hold"
