"""How effort, scores and changes are spread over the people of a result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from stepladder.errors import EmptyFrameError
from stepladder.model.goal import Goal
from stepladder.result.path import Outcome, Path
from stepladder.result.recourse import Recourse
from stepladder.table.space import Floats
from stepladder.view.plots.asked import Asked, asked_for, bars
from stepladder.view.plots.style import (
    INK,
    PAPER,
    QUIET,
    WIDTH,
    Chart,
    Panels,
    below,
    beside,
    checked_width,
    columns_in,
    folded,
    headed,
    inner_width,
    marked,
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


def easiest_paths(result: Recourse) -> list[Path]:
    """The easiest path to the goal of everyone who has one."""
    found = [(result.best_at(i)[0], i) for i in asking(result)]
    return [result.routes[i][slot] for slot, i in found if slot is not None]


def distributions(result: Recourse, *, width: float = WIDTH) -> Chart:
    """Effort, things to change, scores, and what changes which way, on everyone's easiest route."""
    width = checked_width(width)
    today = np.array([result.routes[i][0].scores[0] for i in asking(result)])
    today = today[~np.isnan(today)]
    if not today.size:
        raise EmptyFrameError("Nobody asked for a route, so there's nothing to draw.")
    paths = easiest_paths(result)
    after = np.array([path.scores[-1] for path in paths])
    columns = columns_in(width, 2)
    inner = inner_width(width, columns, UPRIGHT)
    ends = _ends(result.goal, [*today, *after])
    panels = [_scores("Score today", today, ends, result.goal, inner)]
    notes = [f"Dashed: what a yes takes ({words.needed(result.goal)})."]
    if not paths:
        return below(panels, **headed("Scores today", notes, width))
    panels = [
        *_far(result, paths, inner),
        *panels,
        _scores("Score after the last step", after, ends, result.goal, inner),
    ]
    often = [one for one in asked_for(result, paths) if one.total]
    parts = [beside(panels, columns), *([_features(often, len(paths), width)] if often else [])]
    notes.insert(0, "How many people, on the easiest route of each.")
    found = (
        f"{words.capital(often[0].feature.label)} changes most often: {often[0]}." if often else ""
    )
    return below(parts, **headed("How routes differ from person to person", notes, width, found))


def _far(result: Recourse, paths: list[Path], width: float) -> list[Chart]:
    """How far people have to go: the effort, or where nobody weighed it the distance."""
    changes = result.space.links.changes
    things = np.array([int(changes(p.values[0], p.values[-1]).sum()) for p in paths])
    weighed = all(path.efforts is not None for path in paths)
    far = np.array([path.effort if weighed else path.distance for path in paths])
    title = "Effort" if weighed else "Distance"
    return [
        _binned(title, far, (0.0, float(far.max()) or 1.0), width),
        _counted("Things to change", things, width),
    ]


def _ends(goal: Goal, scores: list[float]) -> tuple[float, float]:
    """Between which scores an axis runs."""
    if not goal.is_range:
        return 0.0, 1.0
    seen = [*scores, *(end for end in (goal.low, goal.high) if end is not None)]
    return float(min(seen)), float(max(seen)) if max(seen) > min(seen) else float(min(seen)) + 1


def _counted(title: str, numbers: Any, width: float) -> Chart:
    last = max(1, int(numbers.max()))
    if last > BINS:
        return _binned(title, numbers, (0.0, float(last)), width)
    counts = np.bincount(numbers, minlength=last + 1)[1:]
    middles = np.arange(1, last + 1)
    rows = pd.DataFrame({"low": middles - 0.4, "high": middles + 0.4, "people": counts})
    axis = {"format": "d", "tickMinStep": 1, "tickCount": min(last, 8)}
    return panel([_bars(rows, (0.5, last + 0.5), axis)], title, width, HEIGHT)


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


def _features(often: list[Asked], people: int, width: float) -> Chart:
    rows = pd.DataFrame(
        {
            "name": [folded(one.feature.label, 22) for one in often],
            "share": [one.total / people for one in often],
            "label": [str(one) for one in often],
        }
    )
    return bars(rows, "What changes, and which way", Panels.of(width, 1, rows["name"]), 0)
