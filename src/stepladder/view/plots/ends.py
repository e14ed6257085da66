"""Labels at the ends of lines, moved apart where they would lie on one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from stepladder.table.space import Floats
from stepladder.view.plots.style import INK, LETTER, PAPER, Chart, kind, marked, quantity

LINE = 14
"""Pixels from one label to the next, at least."""

OFF = 9
"""Pixels between the end of a line and its label."""


def label_room(labels: Sequence[str]) -> float:
    """Pixels that labels take to the right of a panel."""
    return OFF + LETTER * max(map(len, labels), default=0)


def end_labels(
    ends: pd.DataFrame,
    x: dict[str, Any],
    y: dict[str, Any],
    domain: Sequence[float],
    height: float,
    colour: dict[str, Any] | None = None,
    *,
    is_crowded: bool = False,
) -> list[Chart]:
    """Layers of text beside the ends of lines.

    ends    one row per line: its `label`, and the columns that x and y show
    domain  the two ends of the upright axis, `height` pixels apart
    colour  the channel that gives labels the colours of their lines
    is_crowded  whether other lines may pass below the labels, so that they need an outline
    """
    pixel = (domain[1] - domain[0]) / height
    moved = ends.assign(at=ends[y["field"]].astype(float))
    for _, rows in moved.groupby(x["field"]):
        spread = apart(rows["at"].to_numpy(), LINE * pixel, domain[0], domain[1])
        moved.loc[rows.index, "at"] = spread
    scale = {"domain": list(domain), "nice": False, "zero": False}
    channels = {"x": x, "y": quantity("at", scale=scale), "text": kind("label")}
    look = {"align": "left", "baseline": "middle", "dx": OFF, "fontSize": 12}
    text = marked(moved, "text", {**channels, "color": colour or {"value": INK}}, **look)
    if not is_crowded:
        return [text]
    halo = {"color": PAPER, "stroke": PAPER, "strokeWidth": 4, "strokeJoin": "round"}
    return [marked(moved, "text", channels, **look, **halo), text]


def apart(positions: Floats, least: float, low: float, high: float) -> Floats:
    """Positions at least so far apart, in their order and as near to where they were as can be.

    They stay between low and high while there is room for all of them.

    >>> apart(np.array([1.0, 1.0, 5.0]), 1.0, 0.0, 10.0).tolist()
    [0.5, 1.5, 5.0]
    """
    order = np.argsort(positions, kind="stable")
    groups: list[list[float]] = []  # of neighbours: the sum of where they'd begin, and how many
    for place, i in enumerate(order):
        groups.append([float(positions[i]) - place * least, 1])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            total, count = groups.pop()
            groups[-1] = [groups[-1][0] + total, groups[-1][1] + count]
    starts = np.concatenate([[total / count] * int(count) for total, count in groups] or [[]])
    last = high - (len(order) - 1) * least
    found = np.empty(len(order))
    found[order] = np.clip(starts, low, max(low, last)) + np.arange(len(order)) * least
    return found
