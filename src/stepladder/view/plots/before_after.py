"""Before and after: all that each route of a person asks for, on one scale."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd

from stepladder.numbers import rounded
from stepladder.result.recourse import Recourse
from stepladder.table.feature import Numeric
from stepladder.table.space import Space
from stepladder.view.plots.routes import drawable, route_title, told
from stepladder.view.plots.style import (
    APART,
    COLOURS,
    INK,
    LETTER,
    PAPER,
    SHADE,
    WIDTH,
    Chart,
    below,
    checked_width,
    headed,
    inner_width,
    marked,
    panel,
    quantity,
)
from stepladder.view.plots.tracks import Drawn
from stepladder.words import plans as words

LINE, BAR, GAP = 15, 20, 8
"""Pixels that a line of text, the bar below it and the space after it take."""


def before_after(result: Recourse, person: Hashable, *, width: float = WIDTH) -> Chart:
    """What each of a person's routes changes, from what to what, and how much that asks of them.

    person  the value that names them in the index of the frame they came from

    Every bar is on one scale: effort, or standard deviations where nobody weighed the effort. To
    the right something rises, to the left it falls; another level is a box.
    """
    width = checked_width(width)
    plan, routes = drawable(result, person)
    inner = inner_width(width, 1, 0)
    asked = [_asked(result.space, route, inner) for route in routes]
    ends = _ends([one for rows in asked for one in rows])
    unit = "Effort" if routes[0].path.efforts is not None else "Standard deviations"
    panels = [
        _panel(rows, _title(route, plan), unit if route is routes[-1] else "", inner, ends)
        for route, rows in zip(routes, asked, strict=True)
        if rows
    ]
    notes = ["To the right of the ring, today, something rises; to the left it falls."]
    if any(one.is_level for rows in asked for one in rows):
        notes.append("A box is another level.")
    notes.append("All bars are on one scale.")
    notes += [plan.note] * bool(plan.note)
    if not panels:
        panels = [_panel([], "Nothing changes", unit, inner, ends)]
    title = f"Before and after, for person {person}"
    return below(panels, **headed(title, notes, width, told(plan)))


@dataclass(frozen=True)
class _Ask:
    """One thing that changes: what is said of it, in lines, and how far it goes."""

    lines: list[str]
    far: float
    """below 0 where it falls"""
    is_level: bool


def _asked(space: Space, route: Drawn, width: float) -> list[_Ask]:
    """What a route asks for, the greatest first."""
    start, end = route.path.values[0], route.path.values[-1]
    sizes = _sizes(space, route)
    found = []
    for f in np.flatnonzero(space.links.changes(start, end)).tolist():
        feature = space.schema.features[f]
        text = words.change(feature, space.shown(f, start[f]), space.shown(f, end[f]))
        falls = isinstance(feature, Numeric) and end[f] < start[f]
        lines = wrap(words.capital(text), max(12, int(width / LETTER)))
        is_level = not isinstance(feature, Numeric)
        found.append(_Ask(lines, -sizes[f] if falls else sizes[f], is_level))
    return sorted(found, key=lambda one: -abs(one.far))


def _sizes(space: Space, route: Drawn) -> list[float]:
    """How large each change is: its effort, or where that isn't known its standard deviations."""
    path = route.path
    if path.efforts is not None:
        return [float(effort) for effort in path.efforts]
    apart = np.nan_to_num(path.points[-1] - path.points[0])
    return [
        float(np.linalg.norm(apart[space.slices[feature.name]]))
        for feature in space.schema.features
    ]


def _title(route: Drawn, plan: words.Plan) -> str:
    """What a route is in all: 'Route 1, the easiest: one thing to do, effort 0.15'."""
    if not plan.routes:
        return f"Attempt {route.name}"
    title = route_title(plan, int(route.name))
    weighed = route.path.efforts is not None
    return f"{title}, effort {rounded(route.path.effort)}" if weighed else title


def _ends(asked: Sequence[_Ask]) -> tuple[float, float]:
    """The ends of the scale: 0 is on it, with room for the ring."""
    far = [one.far for one in asked]
    low, high = min([0.0, *far]), max([0.0, *far])
    room = 0.05 * (high - low) or 0.5
    return low - room, high + room


def _panel(
    asked: Sequence[_Ask], title: str, unit: str, width: float, ends: tuple[float, float]
) -> Chart:
    """The changes of a route below one another: a line of words and a bar each."""
    heights = [LINE * len(one.lines) + BAR + GAP for one in asked]
    tops = np.cumsum([0, *heights])
    rows = pd.DataFrame(
        {
            "far": [one.far for one in asked],
            "at": [float(top + h - GAP - BAR / 2) for top, h in zip(tops, heights, strict=False)],
            "top": [float(top) for top in tops[:-1]],
            "text": ["\n".join(one.lines) for one in asked],
            "zero": 0.0,
        }
    )
    levels = np.array([one.is_level for one in asked], dtype=bool)
    deep = float(max(tops[-1], 1))
    down = {"domain": [0, deep], "nice": False, "reverse": True}
    ticks: dict[str, Any] = {"labelExpr": "format(abs(datum.value), ',~r')", "tickCount": 5}
    x = quantity("far", scale={"domain": list(ends), "nice": False}, title=unit or None, axis=ticks)
    if not unit:
        x["axis"] = {"labels": False, "ticks": False}
    y = quantity("at", scale=down, axis=None)
    layers = _marks(rows[~levels], rows[levels], x, y)
    text = {"x": {"value": 2}, "y": {**y, "field": "top"}, "text": {"field": "text"}}
    look = {"align": "left", "baseline": "top", "lineBreak": "\n", "lineHeight": LINE}
    layers.append(marked(rows, "text", text, color=INK, fontSize=12, dy=5, **look))
    return panel(layers, title, width, deep, resolve=APART)


def _marks(
    numbers: pd.DataFrame, levels: pd.DataFrame, x: dict[str, Any], y: dict[str, Any]
) -> list[Chart]:
    """A line from today at 0, with a ring there and a head at its end; of a level, a box."""
    both = pd.concat([numbers, levels])
    zero = {**x, "field": "zero"}
    bar = {"x": zero, "x2": {"field": "far"}, "y": y}
    layers = [marked(levels, "rect", bar, color=SHADE, stroke=INK, height=12)]
    layers.append(marked(numbers, "rule", bar, color=COLOURS[0], strokeWidth=4))
    head = {"filled": True, "color": COLOURS[0], "size": 130, "opacity": 1}
    for way, shape in ((1, "triangle-right"), (-1, "triangle-left")):
        some = numbers[np.sign(numbers["far"]) == way]
        layers.append(marked(some, "point", {"x": x, "y": y}, shape=shape, **head))
    ring = {"filled": True, "fill": PAPER, "stroke": INK, "strokeWidth": 2, "size": 60}
    layers.append(marked(both, "point", {"x": zero, "y": y}, **ring, opacity=1))
    return layers
