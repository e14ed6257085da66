"""What each group of people is asked to change, and which way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from stepladder.errors import EmptyFrameError
from stepladder.numbers import percent
from stepladder.result.path import Path
from stepladder.result.recourse import Recourse
from stepladder.table.feature import Categorical, Derived, Feature
from stepladder.view.plots.how_far import Divided, members
from stepladder.view.plots.style import (
    GRID,
    INK,
    LETTER,
    WIDTH,
    Chart,
    Panels,
    beside,
    checked_width,
    folded,
    headed,
    kind,
    marked,
    panel,
    quantity,
)
from stepladder.words import plans as words

MOST = 12
"""Features in a picture, at most: those asked for most often."""


@dataclass(frozen=True)
class Asked:
    """How many routes ask for a change of one feature, and which way."""

    feature: Feature
    raised: int
    lowered: int
    other: int
    """to another level, or from a gap"""

    @property
    def total(self) -> int:
        return self.raised + self.lowered + self.other

    def __str__(self) -> str:
        """'raise 160, lower 7'"""
        counts = {"raise": self.raised, "lower": self.lowered, "change": self.other}
        return ", ".join(f"{way} {count:,}" for way, count in counts.items() if count)


def asked_for(result: Recourse, paths: Iterable[Path]) -> list[Asked]:
    """How many of the paths change each feature and which way, the most often changed first."""
    features, space = result.space.schema.features, result.space
    ordered = np.array([not isinstance(f, Categorical | Derived) for f in features])
    counts = np.zeros((3, len(features)), dtype=np.int64)
    for path in paths:
        start, end = path.values[0], path.values[-1]
        changed = space.links.changes(start, end)
        up, down = (changed & ordered & way for way in (end > start, end < start))
        counts += np.stack([up, down, changed & ~up & ~down])
    found = [
        Asked(feature, *column) for feature, column in zip(features, counts.T.tolist(), strict=True)
    ]
    return sorted(found, key=lambda one: -one.total)


def asked(
    result: Recourse,
    groups: Divided = None,
    *,
    width: float = WIDTH,
) -> Chart:
    """What the easiest routes of each group change: how often, and which way.

    groups  what `stepladder.audit.audit` divides people by; several columns are crossed. None for
            everyone together
    """
    width = checked_width(width)
    paths = _easiest(result, groups)
    if not paths:
        raise EmptyFrameError("Nobody has a route, so there's nothing to draw.")
    whole = asked_for(result, [path for own in paths.values() for path in own])
    shown = [one.feature for one in whole if one.total]
    names = [folded(feature.label, 22) for feature in shown[:MOST]]
    layout = Panels.of(width, len(paths), names)
    panels, told = [], []
    for index, (group, own) in enumerate(paths.items()):
        of = {one.feature.name: one for one in asked_for(result, own)}
        counts = [of[feature.name] for feature in shown[:MOST]]
        panels.append(_panel(counts, group, len(own), layout, index))
        most = max(counts, key=lambda one: one.total)
        told.append(f"{group}: most often {most.feature.label} ({_shares(most, len(own))})")
    notes = ["The share of each group's easiest routes that change something, and which way."]
    if len(shown) > MOST:
        notes.append(f"The {MOST} things that change most often.")
    title = f"What {'people are' if groups is None else 'each group is'} asked to change"
    found = words.capital("; ".join(told)) + "."
    return beside(panels, layout.columns, **headed(title, notes, width, found))


def _easiest(result: Recourse, groups: Divided) -> dict[str, list[Path]]:
    """The easiest path of everyone who has one, by the name of their group."""
    found = {}
    for name, who in members(result, groups).items():
        best = [(i, result.best_at(i)[0]) for i in np.flatnonzero(who).tolist()]
        found[name] = [result.routes[i][slot] for i, slot in best if slot is not None]
    return {name: own for name, own in found.items() if own}


def _shares(one: Asked, people: int) -> str:
    """'raise 62%, lower 3%'"""
    counts = {"raise": one.raised, "lower": one.lowered, "change": one.other}
    return ", ".join(f"{way} {percent(n / people)}" for way, n in counts.items() if n)


def _panel(counts: Sequence[Asked], group: str, people: int, layout: Panels, index: int) -> Chart:
    rows = pd.DataFrame(
        {
            "name": [folded(one.feature.label, 22) for one in counts],
            "share": [one.total / people for one in counts],
            "label": [_shares(one, people) for one in counts],
        }
    )
    return bars(rows, f"{group}, {people:,} with a route", layout, index)


def bars(rows: pd.DataFrame, title: str, layout: Panels, index: int) -> Chart:
    """A bar for each row's `share` of its `name`, with its `label` at the end."""
    room = LETTER * max(map(len, rows["label"])) + 8
    scale = {"domain": [0, layout.inner / max(layout.inner - room, 60)], "nice": False}
    ticks = {"format": ".0%", "values": [0, 0.5, 1], **GRID}
    y = kind("name", title=None, axis=layout.axis(index), scale={"domain": layout.names})
    at = {"x": quantity("share", scale=scale, axis=ticks, title=None), "y": y}
    look = {"align": "left", "baseline": "middle", "dx": 4, "fontSize": 12, "limit": 0}
    layers = [
        marked(rows, "bar", at, color=INK, height=11),
        marked(rows, "text", {**at, "text": kind("label")}, color=INK, **look),
    ]
    return panel(layers, title, layout.inner, {"step": layout.step})
