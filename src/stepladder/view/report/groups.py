"""Groups: whether one group of people is offered as much as another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from stepladder import frames
from stepladder.audit import Audit, audit
from stepladder.metrics.fairness import NOTIONS
from stepladder.recourse import Recourse
from stepladder.view import plots
from stepladder.view.page import Table
from stepladder.view.report.cells import NONE, Form, number, percent
from stepladder.view.words import HELD

MOST_GROUPS = 30
"""Groups in one chart, at most; tables have all of them."""

MARK = f"{HELD}*"
"""What marks a small group; it stays with its name."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Measure:
    """One thing that groups are compared in, in plain words."""

    name: str
    meaning: str
    is_share: bool = False
    at: str = ""
    """what follows the name, where it speaks of a distance or a share, {}"""
    at_form: Form = number

    @property
    def term(self) -> str:
        """Its name where no such figure is meant."""
        return self.name + self.at.format("…")

    def told(self, at: float) -> str:
        return self.name if math.isnan(at) else self.name + self.at.format(self.at_form(at))

    def value(self, value: float) -> str:
        return percent(value) if self.is_share else number(value)


MEASURES = {
    "selection_rate": Measure(
        "Had a yes already", "the share of everyone who needed no route", is_share=True
    ),
    "success": Measure("Have a route", "the share of those who asked who have one", is_share=True),
    "choice": Measure(
        "Routes to choose from", "how many different ones those who asked have, on average"
    ),
    "within_budget": Measure(
        "Have a route within",
        "the share of those who asked whose nearest route is no longer than that distance",
        is_share=True,
        at=" {}",
    ),
    "trade_off": Measure(
        "Have a route within any distance",
        "the same, at the distance at which groups differ most",
        is_share=True,
        at=", most apart at {}",
    ),
    "cost_of_effectiveness": Measure(
        "Distance until",
        "how far the nearest routes lead, once that share of those who asked have one",
        at=" {} have a route",
        at_form=percent,
    ),
    "mean_cost": Measure("Mean distance", "of the nearest route, over those who have one"),
    "median_cost": Measure(
        "Median distance", "half of them have a nearer route, half a longer one"
    ),
    "mean_steps": Measure("Mean steps", "of the nearest route, over those who have one"),
}
"""What groups are compared in, by its name in `stepladder.metrics.groups`.

To have no route is left out: it's to have one, the other way round.
"""

FIGURES = {"success": ".0%", "mean_cost": ".2f", "mean_steps": ".1f"}
"""What is told of every group, and how it's written."""


@dataclass(frozen=True)
class Divided:
    """People divided in one way, as the page shows it."""

    by: str
    picture: str | None
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class Groups:
    """All that the page tells of groups."""

    terms: list[Measure]
    """what stands in the tables, to be explained"""
    ways: list[Divided]


def compared(result: Recourse, groups: Any) -> Groups:
    """The groups of an audit, or of what `audit` divides people by."""
    found = groups if isinstance(groups, Audit) else audit(result, groups)
    counts, gaps, notions = (
        frames.read(frame).rows(named=True) for frame in (found.by_group, found.gaps, found.notions)
    )
    # Two of the notions are measures that have a row of their own, with a ratio.
    notions = [{**row, "measure": NOTIONS[row["notion"]]} for row in notions]
    seen = {row["measure"] for row in gaps}
    rows = [*gaps, *(row for row in notions if row["measure"] not in seen)]
    rows = [row for row in rows if row["measure"] in MEASURES and not math.isnan(row["gap"])]
    if found.people == found.asked:
        rows = [row for row in rows if row["measure"] != "selection_rate"]
    told = {*FIGURES, *(row["measure"] for row in rows)}
    return Groups(
        terms=[measure for name, measure in MEASURES.items() if name in told],
        ways=[
            _divided(
                by,
                [row for row in counts if row["by"] == by],
                [row for row in rows if row["by"] == by],
                found,
            )
            for by in dict.fromkeys(row["by"] for row in counts)
        ],
    )


def _divided(by: str, groups: Sequence[Row], gaps: Sequence[Row], found: Audit) -> Divided:
    tables = [_figures(by, groups, found)]
    large = {row["measure"]: row for row in gaps if not row["small"]}
    small = {
        row["measure"]: row
        for row in gaps
        if row["small"] and _ends(row) != _ends(large.get(row["measure"]))
    }
    caption = f"How groups by {by} differ"
    if large:
        tables.append(_differences(groups, large, caption))
    if small:
        note = f"With groups in which fewer than {found.smallest} asked, it may well be chance."
        rest = " What isn't here lies between the same groups as above." if large else ""
        caption += ", those of few people included"
        tables.append(_differences(groups, small, caption, note + rest))
    picture = None
    if len(groups) <= MOST_GROUPS:
        frame = pd.DataFrame(groups)
        picture = plots.picture(lambda width: plots.by_group(frame, width=width))
    return Divided(by, picture, tuple(tables))


# ---- tables -----------------------------------------------------------------------------------


def _figures(by: str, groups: Sequence[Row], found: Audit) -> Table:
    """What each group is offered."""
    counts = {"People": "people", "Asked": "asked"}
    if found.people == found.asked:
        del counts["People"]
    rows = [
        (
            row["group"].removeprefix(f"{by}=") + MARK * row["small"],  # the head says it
            *(f"{row[count]:,}" for count in counts.values()),
            *(_ranged(row, measure, form) for measure, form in FIGURES.items()),
        )
        for row in groups
    ]
    heads = (by, *counts, *(MEASURES[measure].name for measure in FIGURES))
    few = any(row["small"] for row in groups)
    return Table(
        f"What groups by {by} are offered",
        heads,
        tuple(rows),
        numbers=tuple(range(1, len(heads))),
        note=f"* Fewer than {found.smallest} asked: too few to say much." if few else "",
    )


def _ranged(row: Row, measure: str, form: str) -> str:
    """A figure and, where it's known, from where to where it may lie."""
    value, low, high = (number(row[measure + end], form) for end in ("", "_low", "_high"))
    return value if NONE in (low, high) else f"{value} ({low.removesuffix('%')}–{high})"


def _ends(row: Row | None) -> tuple[str | None, str | None] | None:
    """The two groups furthest apart; None where nothing was compared."""
    return None if row is None else (row["worst_off"], row["best_off"])


def _differences(
    groups: Sequence[Row], gaps: Mapping[str, Row], caption: str, note: str = ""
) -> Table:
    """How far the groups furthest apart lie apart, in everything that was compared."""
    own = {row["group"]: row for row in groups}
    rows = []
    for name, measure in MEASURES.items():
        if name in gaps:
            row = gaps[name]
            is_alike = row["worst_off"] is None
            rows.append(
                (
                    measure.told(row.get("at", math.nan)),
                    *(_end(name, own.get(end)) for end in (row["worst_off"], row["best_off"])),
                    _apart(row, measure),
                    NONE if is_alike else number(row.get("ratio", math.nan)),
                )
            )
    return Table(
        caption,
        ("Compared", "Worst off", "Best off", "Difference", "Ratio"),
        tuple(rows),
        numbers=(3, 4),
        note=note,
    )


def _end(name: str, group: Row | None) -> str:
    """One of the two groups furthest apart, and its figure."""
    if group is None:
        return NONE
    called: str = group["group"]
    return f"{called}:{HELD}{MEASURES[name].value(group[name])}" if name in group else called


def _apart(row: Row, measure: Measure) -> str:
    """A difference, and from where to where it may lie."""
    times, form, unit = (100, ".0f", " points") if measure.is_share else (1, ".2f", "")
    size, low, high = (number(times * row[end], form) for end in ("gap", "gap_low", "gap_high"))
    between = "" if NONE in (low, high) else f"{low} to {high}"
    if row["worst_off"] is None:
        return f"none seen ({between}{unit})" if between else "none seen"
    if size in ("0", "0.00"):
        size = f"under {'1' if measure.is_share else '0.01'}"
    return f"{size}{unit} ({between})" if between else f"{size}{unit}"
