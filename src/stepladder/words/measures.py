"""Groups in plain words: what they are compared in, and how that is written."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stepladder.metrics import groups
from stepladder.numbers import MISSING, percent, rounded

Form = Callable[[float], str]
"""Writes a number."""

Row = Mapping[str, Any]
"""A row of a frame of an `Audit`."""

EFFORT = (
    "Effort is what a route asks of a person: for each thing that changes a tenth, and the share "
    "of people overtaken, or of most people's range crossed if that is more; more for what is "
    "marked as difficult."
)

DISTANCE = (
    "Distance is how far the end of a route lies from where a person stands today, on the scale on "
    "which the method compares people."
)

BRACKETS = (
    "In brackets: the range that holds the true number or difference with 95% confidence, if these "
    "people stand for others like them. No brackets: they can't say how sure it is, being one "
    "person or all alike."
)


@dataclass(frozen=True)
class Wording:
    """One thing that groups are compared in."""

    name: str
    meaning: str
    form: Form = rounded
    """writes its numbers"""
    at: str = ""
    """what follows the name, where it speaks of a distance or a share, {}"""
    at_form: Form = rounded

    @property
    def term(self) -> str:
        """Its name where no such number is meant."""
        return self.name + self.at.format("…")

    @property
    def is_share(self) -> bool:
        return self.form is percent

    def named(self, at: float) -> str:
        """Its name, with the distance or share it speaks of."""
        return self.name if math.isnan(at) else self.name + self.at.format(self.at_form(at))


def _tenths(value: float) -> str:
    return rounded(value, 1)


MEASURES = {
    "selection_rate": Wording(
        "Had a yes already", "the share of everyone who needed no route", percent
    ),
    "success": Wording("Have a route", "the share of those who asked who have one", percent),
    "choice": Wording(
        "Routes to choose from", "how many different ones those who asked have, on average"
    ),
    "within_budget": Wording(
        "Have a route within",
        "the share of those who asked whose nearest route is no longer than that distance",
        percent,
        at=" {}",
    ),
    "trade_off": Wording(
        "Have a route within any distance",
        "the same, at the distance at which groups differ most",
        percent,
        at=", most apart at {}",
    ),
    "cost_of_effectiveness": Wording(
        "Distance until",
        "how far the nearest routes lead, once that share of those who asked have one",
        at=" {} have a route",
        at_form=percent,
    ),
    "mean_effort": Wording("Mean effort", "of the easiest route, over those who have one"),
    "mean_cost": Wording("Mean distance", "of the nearest route, over those who have one"),
    "median_cost": Wording(
        "Median distance", "half of them have a nearer route, half a longer one"
    ),
    "mean_steps": Wording("Mean steps", "of the nearest route, over those who have one", _tenths),
}
"""What groups are compared in, by its name in `stepladder.metrics.groups`.

"No route" is left out: it's "have a route" the other way round.
"""

SHOWN = ("success", "mean_effort", "mean_cost")
"""What is shown of every group."""


def measured(row: Row, name: str) -> str:
    """A measure of a group, as people read it."""
    return MEASURES[name].form(row[name])


def interval(row: Row, name: str) -> str:
    """The interval of a group's measure, in brackets; nothing if it isn't known."""
    low, high = (MEASURES[name].form(row[f"{name}_{end}"]) for end in ("low", "high"))
    return "" if MISSING in (low, high) else f"({low.removesuffix('%')}–{high})"


def rests_on_few(row: Row, name: str, smallest: int) -> bool:
    """Whether a measure rests on few people, though the group that asked isn't small."""
    return not row["small"] and 0 < row[groups.MEASURES[name].over] < smallest


def few(smallest: int) -> str:
    """What the mark of a group, a measure or a difference means."""
    return f"* of fewer than {smallest:,} people: too few to say much."


def difference(gap: Row) -> str:
    """How far two groups lie apart, and in brackets the interval of that."""
    scale, decimals, unit = (
        (100, 0, " percentage points") if MEASURES[gap["measure"]].is_share else (1, 2, "")
    )
    size, low, high = (
        rounded(scale * gap[name], decimals) for name in ("gap", "gap_low", "gap_high")
    )
    between = "" if MISSING in (low, high) else f"{low} to {high}"
    if gap["worst_off"] is None:
        return "no difference seen" + (f" ({between}{unit})" if between else "")
    if size == rounded(0.0, decimals):
        size = f"less than {'1' if unit else '0.01'}"
    return f"{size}{unit}" + (f" ({between})" if between else "")
