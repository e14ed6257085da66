"""How steps, distances, scores and changes are spread over the people of a result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from stepladder.errors import EmptyFrameError
from stepladder.model.goal import Goal
from stepladder.result.path import Outcome, Path
from stepladder.result.recourse import Recourse
from stepladder.table.feature import Feature
from stepladder.table.space import Floats
from stepladder.view.plots.style import (
    GRID,
    INK,
    PAPER,
    QUIET,
    WIDTH,
    Chart,
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
    names_axis,
    panel,
    quantity,
)
from stepladder.words import plans as words

BINS = 20
"""Bars of a distribution, at most."""

HEIGHT = 130
"""Of a panel, in pixels."""

UPRIGHT = 48
"""Pixels that the axis with the counts of people takes."""


def asking(result: Recourse) -> list[int]:
    """The indices of those who weren't at the goal already, as far as is known."""
    return [
        i
        for i, (first, *_) in enumerate(result.routes)
        if first.outcome is not Outcome.ALREADY_POSITIVE and not first.is_unknown
    ]


def nearest_paths(result: Recourse) -> list[Path]:
    """The nearest path to the goal of everyone who has one."""
    found = [(result.best_at(i)[0], i) for i in asking(result)]
    return [result.routes[i][slot] for slot, i in found if slot is not None]


def changed(result: Recourse, paths: Iterable[Path]) -> list[tuple[Feature, int]]:
    """How many of the paths change each feature, the most often changed first."""
    features = result.space.schema.features
    counts = np.zeros(len(features), dtype=np.int64)
    for path in paths:
        counts += result.space.links.changes(path.values[0], path.values[-1])
    return sorted(
        zip(features, counts.tolist(), strict=True), key=lambda found: found[1], reverse=True
    )


def distributions(result: Recourse, *, width: float = WIDTH) -> Chart:
    """Steps, distance, score today and after, and what changes, on everyone's nearest route."""
    width = checked_width(width)
    today = np.array([result.routes[i][0].scores[0] for i in asking(result)])
    today = today[~np.isnan(today)]
    if not today.size:
        raise EmptyFrameError("Nobody asked for a route, so there's nothing to draw.")
    paths = nearest_paths(result)
    after = np.array([path.scores[-1] for path in paths])
    columns = columns_in(width, 2)
    inner = inner_width(width, columns, UPRIGHT)
    ends = _ends(result.goal, [*today, *after])
    panels = [_scores("Score today", today, ends, result.goal, inner)]
    if paths:
        steps = np.array([path.steps for path in paths])
        distances = np.array([path.distance for path in paths])
        panels = [
            _steps(steps, inner),
            _binned("Distance", distances, (0.0, float(distances.max()) or 1.0), inner),
            *panels,
            _scores("Score after the last step", after, ends, result.goal, inner),
        ]
    parts = [beside(panels, columns)]
    if paths:
        parts.append(_features([f for f in changed(result, paths) if f[1]], len(paths), width))
    notes = ["How many people, on the nearest route of each."]
    notes.append(f"Dashed: what a yes takes ({words.needed(result.goal)}).")
    title = "How routes differ from person to person"
    return below(parts, **headed(title, notes, width))


def _ends(goal: Goal, scores: list[float]) -> tuple[float, float]:
    """Between which scores an axis runs."""
    if not goal.is_range:
        return 0.0, 1.0
    seen = [*scores, *(end for end in (goal.low, goal.high) if end is not None)]
    return float(min(seen)), float(max(seen)) if max(seen) > min(seen) else float(min(seen)) + 1


def _steps(steps: Any, width: float) -> Chart:
    last = int(steps.max())
    if last > BINS:
        return _binned("Steps", steps, (0.0, float(last)), width)
    counts = np.bincount(steps, minlength=last + 1)[1:]
    middles = np.arange(1, last + 1)
    rows = pd.DataFrame({"low": middles - 0.4, "high": middles + 0.4, "people": counts})
    axis = {"format": "d", "tickMinStep": 1, "tickCount": min(last, 8)}
    return panel([_bars(rows, (0.5, last + 0.5), axis)], "Steps", width, HEIGHT)


def _binned(title: str, values: Floats, ends: tuple[float, float], width: float) -> Chart:
    axis = {"format": ",~r", "tickCount": 5}
    return panel([_bars(_bins(values, ends), ends, axis)], title, width, HEIGHT)


def _scores(
    title: str, values: Floats, ends: tuple[float, float], goal: Goal, width: float
) -> Chart:
    axis: dict[str, Any] = {"format": ",~r", "tickCount": 4}
    if not goal.is_range:
        axis = {"format": ".0%", "values": [0, 0.25, 0.5, 0.75, 1]}
    edges = [goal.low, goal.high] if goal.is_range else [goal.threshold]
    rows = pd.DataFrame({"edge": [edge for edge in edges if edge is not None]})
    edge = {"x": quantity("edge")}
    layers = [
        _bars(_bins(values, ends), ends, axis),
        marked(rows, "rule", edge, color=QUIET, strokeDash=[5, 4], strokeWidth=2),
    ]
    return panel(layers, title, width, HEIGHT)


def _bins(values: Floats, ends: tuple[float, float]) -> pd.DataFrame:
    counts, edges = np.histogram(values, bins=BINS, range=ends)
    return pd.DataFrame({"low": edges[:-1], "high": edges[1:], "people": counts})


def _bars(rows: pd.DataFrame, ends: tuple[float, float], axis: dict[str, Any]) -> Chart:
    room = UPRIGHT - 8
    count = {"tickMinStep": 1, "tickCount": 4, "minExtent": room, "maxExtent": room}
    channels = {
        "x": quantity("low", scale={"domain": ends, "nice": False}, axis=axis, title=None),
        "x2": {"field": "high"},
        "y": quantity("people", axis={"format": ",d", **count}, title=None, scale={"zero": True}),
        "y2": {"field": "base"},
    }
    known = rows[rows["people"] > 0].assign(base=0)
    return marked(known, "rect", channels, color=INK, stroke=PAPER)


def _features(found: list[tuple[Feature, int]], people: int, width: float) -> Chart:
    names = [folded(feature.label, 22) for feature, _ in found]
    rows = pd.DataFrame({"name": names, "share": [count / people for _, count in found]})
    room = axis_room(names, most=170)
    inner = inner_width(width, 1, room)
    lines = max(name.count("\n") for name in names) + 1
    axis = {"format": ".0%", "tickCount": 4, **GRID}
    channels = {
        "x": quantity("share", scale={"domain": [0, 1]}, axis=axis, title=None),
        "y": kind("name", title=None, axis=names_axis(room), scale={"domain": names}),
    }
    bars = marked(rows, "bar", channels, color=INK, height=11)
    return panel([bars], "What changes", inner, {"step": 18 * lines + 6})
