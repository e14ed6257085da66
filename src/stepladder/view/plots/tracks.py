"""What changes along a person's routes, feature by feature and all on one scale.

A pixel of height is the same part of a standard deviation in every panel of numbers, so that a
small change looks small. A level has no height: it's drawn as a box, as long as it lasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from stepladder.result.path import Path
from stepladder.result.recourse import Recourse
from stepladder.table.feature import Feature, Numeric
from stepladder.table.space import Floats, Space
from stepladder.view.plots.ends import end_labels
from stepladder.view.plots.style import (
    APART,
    GRID,
    INK,
    LETTER,
    PAPER,
    QUIET,
    SHADE,
    Chart,
    Marks,
    folded,
    kind,
    marked,
    number_axis,
    panel,
    quantity,
    times,
    titled,
)

HEIGHT = 140
"""Of a panel, in pixels."""

LINE = 14
"""Pixels that a line of text in a box takes."""

TEXT = {
    "color": INK,
    "fontSize": 12,
    "lineBreak": "\n",
    "lineHeight": LINE,
    "baseline": "middle",
    "limit": 0,
}
"""The look of text in a box."""

LEAST = 1.0
"""How many standard deviations an axis spans at least, lest a small change fill it."""

ROOM = 0.08
"""The share of an axis that is left free at its ends."""


@dataclass(frozen=True)
class Drawn:
    """A route as it's drawn."""

    name: str
    path: Path


@dataclass(frozen=True)
class Area:
    """How wide a panel is, how much its upright axis takes, and the last step it shows."""

    width: float
    axis: float
    last: int


@dataclass(frozen=True)
class Track:
    """One feature along the routes that change it; `scale` is its standard deviation, drawn."""

    feature: Feature
    routes: list[Drawn]
    columns: list[Floats]
    """for each route the value at each step"""
    names: dict[float, str]
    """what levels are called; empty for a number"""
    scale: float

    @property
    def labels(self) -> list[str]:
        """The longest texts beside its axis."""
        return [] if self.names else [f"{end:,.0f}" for end in self.ends]

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest value."""
        values = np.concatenate(self.columns)
        return float(values.min()), float(values.max())

    @property
    def extent(self) -> float:
        """How many standard deviations its values span."""
        return 0.0 if self.names else float(np.ptp(self.ends)) / self.scale


def tracks(result: Recourse, routes: list[Drawn]) -> list[Track]:
    """What any route asks to change, in the schema's order."""
    return [_track(result.space, routes, f) for f in changing(result.space, routes)]


def changing(space: Space, routes: Sequence[Drawn]) -> list[int]:
    """The features that any route asks to change, in the schema's order."""
    asked = space.links.changes
    moved = [asked(route.path.values[0], route.path.values).any(axis=0) for route in routes]
    found: list[int] = np.flatnonzero(np.any(moved, axis=0)).tolist()
    return found


def _track(space: Space, routes: list[Drawn], f: int) -> Track:
    feature = space.schema.features[f]
    routes = [r for r in routes if (r.path.values[:, f] != r.path.values[0, f]).any()]
    drawn = times(feature)
    columns = [route.path.values[:, f] * drawn for route in routes]
    names: dict[float, str] = {}
    if not isinstance(feature, Numeric):
        names = {float(c): str(space.shown(f, c)) for c in range(len(feature.levels or ()))}
    scale = float(space.scale[space.slices[feature.name].start])
    return Track(feature, routes, columns, names, scale * drawn)


def lined(track: Track, marks: Marks, area: Area, extent: float) -> Chart:
    """A panel of one number, which spans so many standard deviations as every other panel."""
    low, high = _domain(track, extent)
    look = {"minExtent": area.axis, "maxExtent": area.axis, **GRID}
    ticks = number_axis(track.feature, tickCount=4, **look)
    scale = {"domain": [low, high], "nice": False, "zero": False}
    y = quantity("value", scale=scale, title=None, axis=ticks)
    rows = long(track.routes, track.columns)
    layers = lines(rows, y, marks, area.last)
    if len(marks.kinds) > 1:
        ends = rows.groupby("route", sort=False).tail(1)
        ends = ends.assign(label=ends["route"])
        layers += end_labels(ends, over_steps(area.last), y, (low, high), HEIGHT)
    return panel(layers, titled(track.feature), area.width, HEIGHT, resolve=APART)


def _domain(track: Track, extent: float) -> tuple[float, float]:
    """The ends of an axis that spans so many standard deviations, from 0 if nothing is below."""
    low, high = track.ends
    middle, half = (low + high) / 2, max(LEAST, extent) * track.scale * (0.5 + ROOM)
    start, end = middle - half, middle + half
    return (0.0, end - start) if low >= 0 > start else (start, end)


# ---- lines ------------------------------------------------------------------------------------


def long(routes: list[Drawn], columns: Sequence[Any]) -> pd.DataFrame:
    """A long frame: route, step, value."""
    return pd.DataFrame(
        [
            {"route": route.name, "step": step, "value": value}
            for route, column in zip(routes, columns, strict=True)
            for step, value in enumerate(column)
        ]
    )


def over_steps(last: int) -> dict[str, Any]:
    """The axis of steps."""
    ticks = {"format": "d", "values": list(range(0, last + 1, 1 + last // 11))}
    scale = {"domain": [0, last], "nice": False, "padding": 8}
    return quantity("step", scale=scale, title="Step", axis=ticks)


def lines(rows: pd.DataFrame, y: dict[str, Any], marks: Marks, last: int) -> list[Chart]:
    """Each route as a line with a mark at each step, up to the `last` of any."""
    at = {"x": over_steps(last), "y": y}
    line = {**at, **marks.lines(), "order": quantity("step")}
    return [
        marked(rows, "line", line, strokeWidth=2),
        marked(rows, "point", {**at, **marks.points()}, filled=True, size=55, opacity=1),
    ]


# ---- boxes ------------------------------------------------------------------------------------


def boxed(track: Track, what: str, area: Area) -> Chart:
    """One row per route: today's level, and each one after it from the step that brings it.

    what  what stands before the number of a route
    """
    rows = _box_rows(track, what, area)
    deep = LINE * int(rows["lines"].max()) + 6
    x = {**over_steps(area.last), "scale": {"domain": [-0.5, area.last + 0.5], "nice": False}}
    look = {"ticks": False, "minExtent": area.axis, "maxExtent": area.axis}
    y = kind("route", title=None, axis=look, scale={"domain": list(dict.fromkeys(rows["route"]))})
    shade = {"domain": ["today", "then"], "range": [PAPER, SHADE]}
    box = {"x": {**x, "field": "start"}, "x2": {"field": "end"}, "y": y}
    box["fill"] = kind("kind", scale=shade, legend=None)
    text = {"x": {**x, "field": "middle"}, "y": y, "text": kind("level")}
    layers = [marked(rows, "rect", box, stroke=QUIET, height=deep)]
    for lines in range(1, int(rows["lines"].max()) + 1):
        off = -(lines - 1) * LINE / 2  # the first line stands where the text is put
        layers.append(marked(rows[rows["lines"] == lines], "text", text, **TEXT, dy=off))
    return panel(layers, titled(track.feature), area.width, {"step": deep + 8}, resolve=APART)


def _box_rows(track: Track, what: str, area: Area) -> pd.DataFrame:
    """One row per box: whose it is, from when to when, and its level in lines that fit it."""
    rows = pd.DataFrame(
        [
            {"route": f"{what}{route.name}", **box}
            for route, column in zip(track.routes, track.columns, strict=True)
            for box in _held(column)
        ]
    )
    pixels = (rows["end"] - rows["start"]) * area.width / (area.last + 1)
    rows["level"] = [
        folded(track.names.get(code, "none"), max(6, int(room / LETTER)))
        for code, room in zip(rows["code"], pixels, strict=True)
    ]
    rows["middle"] = (rows["start"] + rows["end"]) / 2
    rows["kind"] = np.where(rows["start"] > 0, "then", "today")
    rows["lines"] = rows["level"].str.count("\n") + 1
    return rows


def _held(column: Floats) -> list[dict[str, float]]:
    """From when to when a route holds each level, a step reaching half-way to the next."""
    turns = [0, *(np.flatnonzero(column[1:] != column[:-1]) + 1), len(column)]
    return [
        {"code": column[first], "start": first - 0.5, "end": after - 0.5}
        for first, after in pairwise(turns)
    ]
