"""The axes of a map: numbers in their unit, or the names of levels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from stepladder.view.plots.plane import Side
from stepladder.view.plots.style import (
    APART,
    FOLD,
    LETTER,
    NARROW,
    Chart,
    folded,
    number_axis,
    panel,
    quantity,
)

TALLEST = 480
"""Pixels."""


def framed(layers: Sequence[Chart], title: str, width: float) -> Chart:
    """The map with the title of its upright axis on top."""
    return panel(layers, title, width, min(TALLEST, 0.8 * width), resolve=APART)


def tick_labels(side: Side) -> list[str]:
    """The longest labels beside an axis."""
    if side.levels is None:
        return [f"{side.edges[0]:,.0f}", f"{side.edges[-1]:,.0f}"]
    return [folded(level) for level in side.levels]


def _look(side: Side, letters: int = 18, ticks: int = 5, **settings: float) -> dict[str, Any]:
    """Scale and ticks: numbers as they are, or the names of levels."""
    scale = {"domain": [side.edges[0], side.edges[-1]], "nice": False, "zero": False}
    if side.levels is None:
        return {"scale": scale, "axis": number_axis(side.feature, tickCount=ticks, **settings)}
    names = json.dumps([folded(level, letters) for level in side.levels])
    axis = {
        "values": list(range(len(side.levels))),
        "labelExpr": FOLD.replace("datum.label", f"{names}[datum.value]"),
        "labelLimit": 0,
        **settings,
    }
    return {"scale": scale, "axis": axis}


def across_axis(side: Side, width: float) -> dict[str, Any]:
    letters = max(6, int(width / LETTER / len(side.levels or " ")) - 1)
    return quantity(
        "x", title=side.title, **_look(side, letters, ticks=3 if width < NARROW / 2 else 5)
    )


def upright_axis(side: Side, room: float) -> dict[str, Any]:
    return quantity("y", title=None, **_look(side, minExtent=room, maxExtent=room))
