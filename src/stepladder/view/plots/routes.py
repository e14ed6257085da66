"""One person's routes: the score after each step, and what changes on the way."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from stepladder.errors import ParameterError
from stepladder.model.goal import Goal
from stepladder.result.path import Path
from stepladder.result.recourse import Recourse
from stepladder.table.feature import Feature, Numeric
from stepladder.table.space import Space
from stepladder.view.plots.style import (
    APART,
    FOLD,
    GRID,
    QUIET,
    SHADE,
    WIDTH,
    Chart,
    Marks,
    axis_room,
    below,
    beside,
    checked_width,
    columns_in,
    folded,
    headed,
    inner_width,
    kind,
    marked,
    number_axis,
    panel,
    quantity,
    times,
    titled,
)
from stepladder.words import plans as words

HEIGHT = 140
"""Of a panel, in pixels."""

ROOM = 0.08
"""The share of an axis that is left free at its ends."""


def person(result: Recourse, person: Hashable, *, width: float = WIDTH) -> Chart:
    """One person's routes, step by step: the score with the goal, and each feature that changes.

    person  the value that names them in the index of the frame they came from

    Routes have the numbers they have in `words.plan`. Where none reaches the goal, the attempts
    are drawn.
    """
    width = checked_width(width)
    plan, routes = drawable(result, person)
    changing = _changing(routes, result.space)
    tracks = {f: _track(result, routes, f) for f in changing}
    axis = axis_room([label for track in tracks.values() for label in track.labels])
    wide = inner_width(width, 1, axis)
    names = [route.name for route in routes]
    legend = "Route" if plan.routes else "Attempt"
    marks = Marks("route", names, legend if len(names) > 1 else None, wide)
    panels = [_scores(result.goal, routes, marks, wide, axis)]
    if changing:
        columns = columns_in(width, len(changing))
        part = inner_width(width, columns, axis)
        quiet = Marks("route", names, None, part)
        last = max(route.path.steps for route in routes)
        drawn = [_feature(track, quiet, part, axis, last) for track in tracks.values()]
        panels.append(beside(drawn, columns))
    notes = [f"Shaded: what a yes takes ({words.needed(result.goal)}). Step 0 is today."]
    if len(routes) > 1 and changing:
        notes.append("Below the score: each thing that changes, on the routes that change it.")
    notes += [plan.note] * bool(plan.note)
    title = f"Routes to a yes for person {person}"
    return below(panels, **headed(title, notes, width))


@dataclass(frozen=True)
class Drawn:
    """A route as it's drawn."""

    name: str
    path: Path


def drawable(result: Recourse, person: Hashable) -> tuple[words.Plan, list[Drawn]]:
    """A person's plan in words, and the routes to draw, under the same numbers."""
    plan = words.plan(result, person)
    if np.isnan(plan.score):
        raise ParameterError(f"There's nothing to draw for {person!r}. {plan.note}")
    return plan, different(result, result.index_of(person))


def different(result: Recourse, index: int) -> list[Drawn]:
    """The different paths of the person at an index: those that reach the goal, or all attempts."""
    paths = [result.routes[index][slot] for slot in result.choices_at(index)]
    attempts = {path.values[-1].tobytes(): path for path in result.routes[index]}
    return [Drawn(str(n), path) for n, path in enumerate(paths or attempts.values(), 1)]


def _changing(routes: list[Drawn], space: Space) -> list[int]:
    """The features that any route asks to change, in the schema's order."""
    asked = space.links.changes
    moved = [asked(route.path.values[0], route.path.values).any(axis=0) for route in routes]
    found: list[int] = np.flatnonzero(np.any(moved, axis=0)).tolist()
    return found


# ---- the score --------------------------------------------------------------------------------


def _scores(goal: Goal, routes: list[Drawn], marks: Marks, width: float, axis: float) -> Chart:
    rows = _rows(routes, [route.path.scores for route in routes])
    low, high = _met(goal)
    domain = (0.0, 1.0)
    if goal.is_range:
        domain = _roomy([*rows["value"], *(end for end in (low, high) if np.isfinite(end))])
    scale = {"domain": list(domain), "nice": False}
    look: dict[str, Any] = {"tickCount": 4, "minExtent": axis, "maxExtent": axis}
    ticks = number_axis(**look) if goal.is_range else {"format": ".0%", **look}
    shade = pd.DataFrame({"low": [max(low, domain[0])], "high": [min(high, domain[1])]})
    edges = pd.DataFrame({"value": [end for end in (low, high) if np.isfinite(end)]})
    y = quantity("value", scale=scale, title=None, axis=ticks)
    band = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
    layers = [
        marked(shade, "rect", band, color=SHADE),
        marked(edges, "rule", {"y": y}, color=QUIET, strokeWidth=1.5),
        *_lines(rows, y, marks, max(1, int(rows["step"].max()))),
    ]
    return panel(layers, "Score", width, HEIGHT, resolve=APART)


def _met(goal: Goal) -> tuple[float, float]:
    """Between which scores the goal is met."""
    if not goal.is_range:
        return goal.threshold, np.inf
    low = -np.inf if goal.low is None else float(goal.low)
    return low, np.inf if goal.high is None else float(goal.high)


# ---- what changes -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Track:
    """One feature along the routes that change it.

    labels  what is written beside its axis
    levels  the highest first; None for a number
    """

    title: str
    rows: pd.DataFrame
    feature: Feature
    labels: list[str]
    levels: list[str] | None


def _track(result: Recourse, routes: list[Drawn], index: int) -> _Track:
    feature = result.space.schema.features[index]
    routes = [r for r in routes if (r.path.values[:, index] != r.path.values[0, index]).any()]
    columns = [route.path.values[:, index] for route in routes]
    if isinstance(feature, Numeric):
        rows = _rows(routes, [column * times(feature) for column in columns])
        ends = [f"{rows['value'].min():,.0f}", f"{rows['value'].max():,.0f}"]
        return _Track(titled(feature), rows, feature, ends, None)
    seen = np.unique(np.concatenate(columns))
    if feature.ordered:  # the levels between are part of the ladder
        seen = np.arange(seen[0], seen[-1] + 1)
    names = {code: folded(str(result.space.shown(index, code))) for code in seen}
    rows = _rows(routes, [[names[code] for code in column] for column in columns])
    levels = list(names.values())[::-1]
    return _Track(titled(feature), rows, feature, levels, levels)


def _feature(track: _Track, marks: Marks, width: float, axis: float, last: int) -> Chart:
    look: dict[str, Any] = {"minExtent": axis, "maxExtent": axis}
    if track.levels is None:
        scale = {"domain": list(_roomy(track.rows["value"])), "nice": False, "zero": False}
        ticks = number_axis(track.feature, tickCount=4, **look)
        y = quantity("value", scale=scale, title=None, axis=ticks)
    else:
        ticks = {"labelExpr": FOLD, "labelLimit": 0, **GRID, **look}
        y = kind("value", scale={"domain": track.levels}, title=None, axis=ticks)
    layers = _lines(track.rows, y, marks, last)
    return panel(layers, track.title, width, HEIGHT, resolve=APART)


# ---- lines ------------------------------------------------------------------------------------


def _rows(routes: list[Drawn], columns: list[Any]) -> pd.DataFrame:
    """A long frame: route, step, value."""
    return pd.DataFrame(
        [
            {"route": route.name, "step": step, "value": value}
            for route, column in zip(routes, columns, strict=True)
            for step, value in enumerate(column)
        ]
    )


def _roomy(values: Any) -> tuple[float, float]:
    """The ends of an axis with a little room around values."""
    low, high = float(min(values)), float(max(values))
    room = ROOM * (high - low) or 0.5
    return low - room, high + room


def _lines(rows: pd.DataFrame, y: dict[str, Any], marks: Marks, last: int) -> list[Chart]:
    """Each route as a line with a mark at each step, up to the `last` of any."""
    ticks = {"format": "d", "tickMinStep": 1, "tickCount": min(last, 10)}
    scale = {"domain": [0, last], "nice": False, "padding": 8}
    at = {"x": quantity("step", scale=scale, title="Step", axis=ticks), "y": y}
    line = {**at, **marks.lines(), "order": quantity("step")}  # levels would sort it otherwise
    return [
        marked(rows, "line", line, strokeWidth=2),
        marked(rows, "point", {**at, **marks.points()}, filled=True, size=55, opacity=1),
    ]
