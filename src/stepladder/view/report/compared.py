"""Groups: whether one group of people is offered as much as another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from stepladder.audit import Audit
from stepladder.audit.columns import columns_of
from stepladder.metrics.fairness import NOTIONS
from stepladder.numbers import MISSING, rounded
from stepladder.result.recourse import Recourse
from stepladder.table import frames
from stepladder.view import plots
from stepladder.view.page import PageTable
from stepladder.view.plots.how_far import MOST
from stepladder.view.spread import easiest_paths
from stepladder.words import measures as words
from stepladder.words.measures import MEASURES, SHOWN, Row, Wording
from stepladder.words.plans import HELD

MOST_GROUPS = 30
"""Groups in one chart, at most; tables have all of them."""

MARK = f"{HELD}*"
"""What marks a small group, or a measure that rests on few people; it stays with its name."""


@dataclass(frozen=True)
class Divided:
    """People divided in one way, as the page shows it."""

    by: str
    pictures: tuple[str, ...]
    tables: tuple[PageTable, ...]


@dataclass(frozen=True)
class Groups:
    """All that the page says about groups."""

    terms: list[Wording]
    """what the tables hold, to be explained"""
    ways: list[Divided]


def compared(result: Recourse, found: Audit, groups: Any) -> Groups:
    """The groups of an audit; `groups` is what it divided people by, where that is known."""
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
    shown = {*SHOWN, *(row["measure"] for row in rows)}
    return Groups(
        terms=[measure for name, measure in MEASURES.items() if name in shown],
        ways=[
            _divided(
                by,
                [row for row in counts if row["by"] == by],
                [row for row in rows if row["by"] == by],
                found,
                _members(result, groups, by),
            )
            for by in dict.fromkeys(row["by"] for row in counts)
        ],
    )


def _divided(
    by: str, groups: Sequence[Row], gaps: Sequence[Row], found: Audit, pictures: Sequence[str]
) -> Divided:
    tables = [_offered(by, groups, found)]
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
        note = f"With groups of fewer than {found.smallest:,} people, it may well be chance."
        rest = " What isn't here lies between the same groups as above." if large else ""
        caption += ", those of few people included"
        tables.append(_differences(groups, small, caption, note + rest))
    first = []
    if len(groups) <= MOST_GROUPS:
        frame = pd.DataFrame(groups)
        first = [plots.picture(lambda width: plots.by_group(frame, width=width))]
    return Divided(by, (*first, *pictures), tuple(tables))


def _members(result: Recourse, groups: Any, by: str) -> list[str]:
    """How far each group has to go, and what it's asked to change; nothing for crossed columns."""
    if groups is None or by not in (columns := columns_of(result, groups)):
        return []
    own = columns[by]
    if not 1 < len(np.unique(own.codes)) <= MOST or not easiest_paths(result):
        return []
    return [
        plots.picture(lambda width: plots.how_far(result, own, width=width)),
        plots.picture(lambda width: plots.asked(result, own, width=width)),
    ]


# ---- tables -----------------------------------------------------------------------------------


def _offered(by: str, groups: Sequence[Row], found: Audit) -> PageTable:
    """What each group is offered."""
    counts = {"People": "people", "Asked": "asked"}
    if found.people == found.asked:
        del counts["People"]
    rows = [
        (
            row["group"].removeprefix(f"{by}=") + MARK * row["small"],  # the head says it
            *(f"{row[count]:,}" for count in counts.values()),
            *(_ranged(row, name, found.smallest) for name in SHOWN),
        )
        for row in groups
    ]
    heads = (by, *counts, *(MEASURES[measure].name for measure in SHOWN))
    is_marked = any(MARK in cell for row in rows for cell in row)
    return PageTable(
        f"What groups by {by} are offered",
        heads,
        tuple(rows),
        numbers=tuple(range(1, len(heads))),
        note=words.few(found.smallest) if is_marked else "",
    )


def _ranged(row: Row, name: str, smallest: int) -> str:
    """A number and, where it's known, its interval."""
    value = words.measured(row, name) + MARK * words.rests_on_few(row, name, smallest)
    return f"{value} {words.interval(row, name)}".rstrip()


def _ends(row: Row | None) -> tuple[str | None, str | None] | None:
    """The two groups furthest apart; None where nothing was compared."""
    return None if row is None else (row["worst_off"], row["best_off"])


def _differences(
    groups: Sequence[Row], gaps: Mapping[str, Row], caption: str, note: str = ""
) -> PageTable:
    """How far the groups furthest apart lie apart, in everything that was compared."""
    own = {row["group"]: row for row in groups}
    rows = []
    for name, measure in MEASURES.items():
        if name in gaps:
            row = gaps[name]
            ends = [own.get(row[end]) for end in ("worst_off", "best_off")]
            rows.append(
                (
                    measure.named(row.get("at", math.nan)),
                    *(_end(name, end) for end in ends),
                    words.difference(row),
                    _ratio([end[name] for end in ends if end is not None and name in end]),
                )
            )
    return PageTable(
        caption,
        ("Compared", "Worst off", "Best off", "Difference", "Ratio"),
        tuple(rows),
        numbers=(4,),
        note=note,
    )


def _ratio(values: Sequence[float]) -> str:
    """The smaller of two numbers over the larger; a dash where there aren't two."""
    known = len(values) == 2 and max(values) > 0
    return rounded(min(values) / max(values)) if known else MISSING


def _end(name: str, group: Row | None) -> str:
    """One of the two groups furthest apart, and its number."""
    if group is None:
        return MISSING
    called: str = group["group"]
    return f"{called}:{HELD}{words.measured(group, name)}" if name in group else called
