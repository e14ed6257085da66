"""The areas of a map where the model says yes, from its margins on a grid."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from stepladder.table.space import Floats
from stepladder.view.plots.plane import Side

Band = tuple[float, float]
"""Its lower and upper end on the upright axis."""


def areas(margins: Floats, across: Side, up: Side) -> list[tuple[str, float, float, float]]:
    """The areas where margins (columns, cells) aren't below zero, cut into upright slices.

    Neighbouring columns with the same bands of yes belong together, so that their edge is a line.
    """
    slices: list[tuple[str, float, float, float]] = []
    columns = [_bands(column, up) for column in margins]
    apart = [True, *(not _joined(*pair) for pair in pairwise(columns)), True]
    if across.levels is not None:
        apart = [True] * len(apart)
    part = 0
    for i, bands in enumerate(columns):
        part += apart[i]
        xs = [across.nodes[i]]
        xs = [across.edges[i]] * apart[i] + xs + [across.edges[i + 1]] * apart[i + 1]
        slices += [
            (f"{part}.{band}", float(x), low, high)
            for x in xs
            for band, (low, high) in enumerate(bands)
        ]
    return slices


def _joined(left: list[Band], right: list[Band]) -> bool:
    """Whether two columns have the same bands, each overlapping the other's."""
    return len(left) == len(right) and all(
        a[0] < b[1] and b[0] < a[1] for a, b in zip(left, right, strict=True)
    )


def _bands(margins: Floats, up: Side) -> list[Band]:
    """The bands in which the goal is met along one column of the map."""
    met = np.concatenate([[False], margins >= 0, [False]])
    turns = np.flatnonzero(met[1:] != met[:-1])
    ends = [_turn(margins, int(turn), up) for turn in turns]
    return list(zip(ends[::2], ends[1::2], strict=True))


def _turn(margins: Floats, cell: int, up: Side) -> float:
    """Where the margin crosses zero between the cells `cell` - 1 and `cell`."""
    if cell in (0, len(margins)) or up.levels is not None:
        return float(up.edges[cell])
    before, after = margins[cell - 1], margins[cell]
    share = before / (before - after)
    return float(up.nodes[cell - 1] + share * (up.nodes[cell] - up.nodes[cell - 1]))
