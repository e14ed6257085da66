"""Groups in plain words: what they are compared in, and how figures and differences are written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stepladder.metrics import groups

Row = Mapping[str, Any]
"""A row of a frame of an `Audit`."""

NONE = "–"
"""Where there is no figure."""

DISTANCE = (
    "Distance is how far the end of a route lies from where a person stands today, on the scale on "
    "which the method compares people."
)

BRACKETS = (
    "In brackets: the range that holds the true figure or difference with 95% confidence, if these "
    "people stand for others like them. No brackets: they can't say how sure it is, being one "
    "person or all alike."
)


@dataclass(frozen=True)
class Measure:
    """One thing that groups are compared in."""

    name: str
    meaning: str
    form: str = ".2f"
    """how its figures are written"""
    at: str = ""
    """what follows the name, where it speaks of a distance or a share, {}"""
    at_form: str = ".2f"

    @property
    def term(self) -> str:
        """Its name where no such figure is meant."""
        return self.name + self.at.format("…")

    @property
    def is_share(self) -> bool:
        return self.form.endswith("%")

    def told(self, at: float) -> str:
        return self.name if math.isnan(at) else self.name + self.at.format(number(at, self.at_form))


MEASURES = {
    "selection_rate": Measure(
        "Had a yes already", "the share of everyone who needed no route", ".0%"
    ),
    "success": Measure("Have a route", "the share of those who asked who have one", ".0%"),
    "choice": Measure(
        "Routes to choose from", "how many different ones those who asked have, on average"
    ),
    "within_budget": Measure(
        "Have a route within",
        "the share of those who asked whose nearest route is no longer than that distance",
        ".0%",
        at=" {}",
    ),
    "trade_off": Measure(
        "Have a route within any distance",
        "the same, at the distance at which groups differ most",
        ".0%",
        at=", most apart at {}",
    ),
    "cost_of_effectiveness": Measure(
        "Distance until",
        "how far the nearest routes lead, once that share of those who asked have one",
        at=" {} have a route",
        at_form=".0%",
    ),
    "mean_cost": Measure("Mean distance", "of the nearest route, over those who have one"),
    "median_cost": Measure(
        "Median distance", "half of them have a nearer route, half a longer one"
    ),
    "mean_steps": Measure("Mean steps", "of the nearest route, over those who have one", ".1f"),
}
"""What groups are compared in, by its name in `stepladder.metrics.groups`.

To have no route is left out: it's to have one, the other way round.
"""

FIGURES = ("success", "mean_cost", "mean_steps")
"""What is told of every group."""


def number(value: float, form: str = ".2f") -> str:
    """A figure, or a dash where there is none.

    >>> number(-0.034), number(math.inf), number(math.nan)
    ('−0.03', '∞', '–')
    """
    if math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return format(value, f"z{form}").replace("-", "−")


def figure(row: Row, name: str) -> str:
    """A figure of a group."""
    return number(row[name], MEASURES[name].form)


def interval(row: Row, name: str) -> str:
    """From where to where a figure of a group may lie, in brackets; nothing if it isn't known."""
    low, high = (number(row[f"{name}_{end}"], MEASURES[name].form) for end in ("low", "high"))
    return "" if NONE in (low, high) else f"({low.removesuffix('%')}–{high})"


def rests_on_few(row: Row, name: str, smallest: int) -> bool:
    """Whether a figure is of few people, though the group that asked isn't small."""
    return not row["small"] and 0 < row[groups.MEASURES[name].over] < smallest


def few(smallest: int) -> str:
    """What the mark of a group, of a figure or of a difference means."""
    return f"* of fewer than {smallest:,} people: too few to say much."


def difference(gap: Row) -> str:
    """How far two groups lie apart, and in brackets from where to where that may lie."""
    scale, form, unit = (
        (100, ".0f", " percentage points") if MEASURES[gap["measure"]].is_share else (1, ".2f", "")
    )
    size, low, high = (number(scale * gap[name], form) for name in ("gap", "gap_low", "gap_high"))
    between = "" if NONE in (low, high) else f"{low} to {high}"
    if gap["worst_off"] is None:
        return "no difference seen" + (f" ({between}{unit})" if between else "")
    if size == number(0.0, form):
        size = f"less than {'1' if unit else '0.01'}"
    return f"{size}{unit}" + (f" ({between})" if between else "")
