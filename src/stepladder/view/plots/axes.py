"""The axes of a map: numbers in their unit, or the names of levels at their places."""

from __future__ import annotations

import json
from typing import Any

from stepladder.view.plots.plane import Side
from stepladder.view.plots.style import (
    FOLD,
    LETTER,
    Chart,
    altair,
    folded,
    number_axis,
    panel_title,
)

TALLEST = 480
"""Pixels."""


def framed(chart: Chart, up: Side, width: float) -> Chart:
    """The map with the title of its upright axis on top."""
    height = min(TALLEST, 0.8 * width)
    title = panel_title(up.title, width)
    return altair().vconcat(chart.properties(width=width, height=height, title=title))


def tick_labels(side: Side) -> list[str]:
    """The longest labels beside an axis."""
    if side.levels is None:
        return [f"{side.edges[0]:,.0f}", f"{side.edges[-1]:,.0f}"]
    return [folded(level) for level in side.levels]


def _look(side: Side, letters: int = 18, **settings: float) -> dict[str, Any]:
    """Scale and ticks: numbers as they are, or a level's name at its place."""
    alt = altair()
    scale = alt.Scale(domain=[side.edges[0], side.edges[-1]], nice=False, zero=False)
    if side.levels is None:
        return {"scale": scale, "axis": number_axis(side.feature, tickCount=5, **settings)}
    names = json.dumps([folded(level, letters) for level in side.levels])
    axis = alt.Axis(
        values=list(range(len(side.levels))),
        labelExpr=FOLD.replace("datum.label", f"{names}[datum.value]"),
        labelLimit=0,
        **settings,
    )
    return {"scale": scale, "axis": axis}


def across_axis(side: Side, width: float) -> Any:
    letters = max(6, int(width / LETTER / len(side.levels or " ")) - 1)
    return altair().X("x:Q", title=side.title, **_look(side, letters))


def upright_axis(side: Side, room: float) -> Any:
    return altair().Y("y:Q", title=None, **_look(side, minExtent=room, maxExtent=room))
