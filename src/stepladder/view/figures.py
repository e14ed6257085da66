"""The paper's four figures, drawn again from its own points with directions that we compute.

Points, boundaries, symbols, labels and the ends of arrows are those of the TikZ pictures in Hamer
et al., "Simple Steps to Success", TMLR 2024: figures 1 (the loan example), 2 (a direction off the
data), 3 (without and with clusters) and the appendix's (MIM runs away). The paper drew
its arrows by hand; ours are what the kernel answers for those points, and each knows the paper's,
to be compared with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import Any

import numpy as np
import pandas as pd

from stepladder.kernels.alpha import Volcano
from stepladder.kernels.direction import directions
from stepladder.methods.mim import MIM
from stepladder.methods.step.clusters import partition
from stepladder.table.feature import Numeric
from stepladder.table.frames import Template
from stepladder.table.schema import Schema
from stepladder.table.space import Floats, Space
from stepladder.view.plots.export import save
from stepladder.view.plots.style import (
    BLUE,
    CROSS,
    INK,
    QUIET,
    RED,
    WIDTH,
    Chart,
    beside,
    checked_width,
    columns_in,
    headed,
    inner_width,
    marked,
    outer_width,
    panel,
    quantity,
)

ALPHA = Volcano(degree=2, cutoff=0.5)
"""The paper's, over the distances of the drawing."""

LENGTH = 4.2
"""Of a drawn arrow; a direction has none of its own."""

AXIS, LARGEST = 18, 340
"""Pixels that a panel's vertical axis takes, and how wide and high a panel is at most."""

# fmt: off
REJECTED = np.array([
    (1, 1.5), (1.5, 1), (2, 2), (2.75, 2.25), (3, 1.7), (1.7, 3), (1.5, 4), (3.5, 0.75), (4, 2.5),
    (1, 3),
])
LOWER = np.array([
    (6, 3), (7, 2), (7.25, 1.5), (6.5, 3.5), (6.25, 1.25), (7.5, 1), (7.75, 3), (7.25, 2.75),
    (8.25, 1.25), (8.5, 2.75), (8.75, 2), (9, 3), (8, 3.5), (7.75, 4),
])
UPPER = np.array([
    (5.75, 4.75), (6.75, 3.75), (6.5, 4.5), (7, 5.25), (7.75, 4.5), (6.25, 5.5), (7, 6.25),
    (6, 6.5), (8.5, 4.75), (7.5, 6.25), (8.25, 7),
])
UPPER_LEFT = UPPER + np.array([-5, 2])
MIM_REJECTED = np.array([
    (2, 1.5), (2.5, 1), (3, 2), (3.75, 2.25), (4, 3), (2.7, 3), (3, 4), (3.5, 4.75), (2.75, 5),
    (3, 6), (4, 5.5), (2, 5.75),
])
MIM_ACCEPTED = np.array([
    (7, 1.5), (7.5, 1), (7, 2), (7.75, 2.25), (8, 3), (6.7, 3), (7, 4), (6.75, 5), (7, 6), (8, 5.5),
    (6, 5.75), (6.5, 5.5),
])
# fmt: on


def _curve(count: int) -> Floats:
    """The boundary of figures 1 to 3."""
    x = np.linspace(0, 5.4, count)
    return np.column_stack([x, 5 * np.cos((x - 1.5) / 2.5)])


BOUNDARY = _curve(55)
UPRIGHT = np.array([(5.0, 0.0), (5.0, 10.0)])

Position = tuple[float, float]
"""Where something lies in a drawing."""


@dataclass(frozen=True, eq=False)
class Arrow:
    """A direction, and the arrow that the paper draws for it, by its two ends."""

    name: str
    start: Position
    toward: Floats
    paper: tuple[Position, Position] | None = None
    length: float = LENGTH

    @property
    def angle(self) -> float:
        """Degrees, from the right anticlockwise."""
        return math.degrees(math.atan2(self.toward[1], self.toward[0]))

    @property
    def off(self) -> float:
        """Degrees between this arrow and the paper's."""
        assert self.paper is not None
        (x, y), (x2, y2) = self.paper
        drawn = math.degrees(math.atan2(y2 - y, x2 - x))
        return abs((self.angle - drawn + 180) % 360 - 180)

    @property
    def end(self) -> Position:
        unit = self.toward / np.linalg.norm(self.toward)
        return self.start[0] + self.length * unit[0], self.start[1] + self.length * unit[1]


LABELS: dict[str, Position] = {
    "Boundary": (2.0, 5.5),
    "Rejection": (3.0, 3.5),
    "Acceptance": (7.0, 8.0),
    "PoI": (2.4, 1.0),
}
"""What stands on the drawing of figure 1, and where; PoI is the point of interest."""


@dataclass(frozen=True, eq=False)
class Panel:
    """One picture of a figure."""

    title: str
    rejected: Floats
    accepted: Floats
    boundary: Floats
    positions: tuple[Position, ...]
    """where the person stands, one after the other"""
    arrows: tuple[Arrow, ...] = ()
    labels: Mapping[str, Position] = field(default_factory=dict)
    """what stands on the drawing, and where"""


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure of the paper."""

    title: str
    note: str
    panels: tuple[Panel, ...]


# ---- the four ---------------------------------------------------------------------------------


def loan() -> Figure:
    """Figure 1: two groups of accepted applicants, two directions, and a path along the first."""
    accepted = np.concatenate([LOWER, UPPER])
    person = (1.5, 1.0)
    first, second = _toward(person, accepted, clusters=2)
    path = (person, (4.0, 1.0), (6.0, 2.5))
    legs = tuple(
        Arrow("", start, _toward(start, accepted, clusters=2)[0], drawn, length=2.2)
        for start, drawn in zip(
            path[:2], [((1.9, 1.0), (3.7, 1.0)), ((4.3, 1.2), (5.7, 2.2))], strict=True
        )
    )
    data = (REJECTED, accepted, BOUNDARY)
    both = (
        Arrow("d1", person, first, ((1.9, 1.1), (5.5, 1.5))),
        Arrow("d2", person, second, ((1.6, 1.4), (5.0, 5.0))),
    )
    return Figure(
        "The loan example",
        "Two directions, one to each cluster of accepted applicants. Someone who goes roughly "
        "along the first (grey) gets a new one from where they are.",
        (
            Panel("The dataset", *data, (person,), labels=LABELS),
            Panel("Possible recourse directions", *data, (person,), both),
            Panel("Possible stakeholder path", *data, path, legs),
        ),
    )


def off_data() -> Figure:
    """Figure 2: the shortest way over the boundary leads away from all accepted applicants."""
    accepted = np.concatenate([LOWER, UPPER])
    person = (1.2, 4.5)
    edge = _curve(5401)
    nearest = edge[np.linalg.norm(edge - person, axis=1).argmin()]
    arrows = (
        Arrow("d1", person, nearest - person, ((0.9, 4.6), (0.2, 5.3)), length=2.4),
        Arrow("d2", person, _toward(person, accepted)[0], ((1.5, 4.3), (4.0, 4.0)), length=3.4),
    )
    data = (REJECTED, accepted, BOUNDARY)
    labels = {**LABELS, "PoI": (2.1, 4.4)}
    return Figure(
        "A direction off the data",
        "d₁ is the shortest way over the boundary and leads off the manifold, where nobody is; d₂ "
        "is StEP's.",
        (
            Panel("The dataset and the model", *data, (person,), labels=labels),
            Panel("Recourse directions", *data, (person,), arrows),
        ),
    )


def clustering() -> Figure:
    """Figure 3: one direction between two groups, or one to each."""
    accepted = np.concatenate([LOWER, UPPER_LEFT])
    person = (1.5, 1.0)
    between = Arrow("d", person, _toward(person, accepted)[0], ((1.7, 1.2), (4.0, 4.0)))
    first, second = _toward(person, accepted, clusters=2)
    each = (
        Arrow("d1", person, first, ((1.7, 1.2), (6.0, 2.0))),
        Arrow("d2", person, second, ((1.5, 1.5), (1.5, 6.0))),
    )
    data = (REJECTED, accepted, BOUNDARY)
    labels = {"Boundary": (5.6, 2.2), "Rejection": (1.75, 4.45), "Acceptance": (5.5, 6.5)}
    labels["PoI"] = LABELS["PoI"]
    return Figure(
        "Without and with clusters",
        "One direction over all accepted applicants leads between them; one per cluster leads to "
        "each.",
        (
            Panel("No clustering", *data, (person,), (between,), labels),
            Panel("With clustering", *data, (person,), each),
        ),
    )


def mim() -> Figure:
    """The appendix's figure: rejected applicants nearby push MIM away from everyone accepted."""
    person = (2.0, 4.0)
    arrows = (
        Arrow("MIM", person, _mim(person), ((1.8, 4.0), (0.5, 4.0)), length=1.2),
        Arrow("StEP", person, _toward(person, MIM_ACCEPTED)[0], length=3.4),
    )
    labels = {"Boundary": (6.2, 9.3), "Rejection": (3.0, 7.0), "Acceptance": (7.2, 7.0)}
    labels["PoI"] = (2.1, 4.9)
    panel = Panel("Two directions", MIM_REJECTED, MIM_ACCEPTED, UPRIGHT, (person,), arrows, labels)
    return Figure(
        "MIM runs away",
        "Rejected applicants nearby push MIM's direction away from everyone accepted; StEP's "
        "leaves them out.",
        (panel,),
    )


FIGURES: dict[str, Callable[[], Figure]] = {
    "loan": loan,
    "off-data": off_data,
    "clustering": clustering,
    "mim": mim,
}
"""Each figure by the name of its file."""


def _toward(start: Position, accepted: Floats, clusters: int = 1) -> Floats:
    """StEP's directions (clusters, 2), that to the lowest cluster first."""
    labels = partition(accepted, clusters, None, random_state=0)
    found = directions(np.array(start), accepted, ALPHA, clusters=labels)
    heights = [accepted[labels == c, 1].mean() for c in range(clusters)]
    ordered: Floats = found[np.argsort(heights)].astype(np.float64)
    return ordered


def _mim(start: Position) -> Floats:
    """MIM's direction, over the distances of the drawing."""
    schema = Schema([Numeric("score"), Numeric("balance")])
    rows = pd.DataFrame(np.concatenate([MIM_REJECTED, MIM_ACCEPTED]), columns=["score", "balance"])
    space = Space(schema, Template.of(rows), np.zeros(2), np.ones(2))
    method = MIM(alpha=ALPHA).fit(rows, _right_of_five, space=space)
    toward: Floats = method.directions(np.array([start]))[0]
    return toward


def _right_of_five(rows: pd.DataFrame) -> Any:
    return (rows["score"] > 5).astype(float)


# ---- drawing ----------------------------------------------------------------------------------


def draw(figure: Figure, *, width: float = WIDTH) -> Chart:
    """A figure as an Altair chart, its panels beside each other where there's room."""
    width = checked_width(width)
    columns = columns_in(width, len(figure.panels))
    side = min(inner_width(width, columns, AXIS), LARGEST)
    panels = [_panel(one, side) for one in figure.panels]
    marks = "Triangles: rejected. Crosses: accepted. Dashed: the boundary. Ring: the person."
    drawn = outer_width(side, columns, AXIS)  # text beyond the panels would be cut off
    return beside(panels, columns, **headed(figure.title, [figure.note, marks], drawn))


def _panel(shown: Panel, side: float) -> Chart:
    scale = {"domain": [0, 10], "nice": False}
    bare = {"labels": False, "ticks": False}
    at = {
        "x": quantity("x", scale=scale, axis=bare, title="Credit Score"),
        "y": quantity("y", scale=scale, axis=bare, title="Bank Account Balance"),
    }
    along = {**at, "order": quantity("order")}

    def frame(positions: Any) -> pd.DataFrame:
        rows = pd.DataFrame(np.reshape(positions, (-1, 2)), columns=["x", "y"])
        return rows.assign(order=range(len(rows)))

    edge = {"color": QUIET, "strokeDash": [5, 4], "strokeWidth": 1.5, "clip": True}
    cross = {"shape": CROSS, "stroke": BLUE, "strokeWidth": 1.6, "size": 60, "opacity": 1}
    solid = {"shape": "triangle-up", "filled": True, "size": 75, "opacity": 1}
    ring = {"shape": "circle", "stroke": INK, "strokeWidth": 1.5, "size": 330, "opacity": 1}
    person = frame(shown.positions)
    layers = [
        marked(frame(shown.boundary), "line", along, **edge),
        marked(frame(shown.rejected), "point", at, color=RED, **solid),
        marked(frame(shown.accepted), "point", at, **cross),
        marked(person, "line", along, color=QUIET, strokeWidth=4, opacity=0.5),
        marked(person, "point", at, color=INK, **solid),
        marked(person.head(1), "point", at, **ring),
        *(layer for arrow in shown.arrows for layer in _arrow(arrow, scale)),
        *(_label(text, frame(place), at) for text, place in shown.labels.items()),
    ]
    return panel(layers, shown.title, side, side)


def _label(text: str, row: pd.DataFrame, at: dict[str, Any]) -> Chart:
    """A word on the drawing, in the colour of what it names."""
    colour = {"Rejection": RED, "Acceptance": BLUE}.get(text, INK)
    return marked(row, "text", at, text=text, color=colour, fontSize=13)


def _arrow(arrow: Arrow, scale: dict[str, Any]) -> list[Chart]:
    """A line, its head, and its symbol beside the head."""
    rows = pd.DataFrame(
        {
            "x": [arrow.start[0]],
            "y": [arrow.start[1]],
            "x2": [arrow.end[0]],
            "y2": [arrow.end[1]],
            "turn": [90 - arrow.angle],
        }
    )
    start = {"x": quantity("x", scale=scale), "y": quantity("y", scale=scale)}
    end = {"x": quantity("x2", scale=scale), "y": quantity("y2", scale=scale)}
    line = {**start, "x2": {"field": "x2"}, "y2": {"field": "y2"}}
    head = {**end, "angle": quantity("turn", scale=None)}
    is_steep = abs(abs(arrow.angle) - 90) < 30
    off = (12, 4) if is_steep else (-4, -13)
    return [
        marked(rows, "rule", line, color=INK, strokeWidth=2),
        marked(rows, "point", head, shape="triangle", filled=True, size=110, color=INK, opacity=1),
        *(_symbol(rows, end, arrow.name.removeprefix("d"), off) if arrow.name else ()),
    ]


def _symbol(
    rows: pd.DataFrame, at: dict[str, Any], below: str, off: tuple[float, float]
) -> list[Chart]:
    """The paper's name of a direction: a d with an arrow above it and something below."""
    dx, dy = off
    look = {"align": "left", "color": INK}
    parts = [
        {"text": "d", "fontSize": 16, "fontStyle": "italic", "dx": dx, "dy": dy},
        {"text": "→", "fontSize": 11, "dx": dx + 1, "dy": dy - 13},
    ]
    if below:
        parts.append({"text": below, "fontSize": 11, "dx": dx + 9, "dy": dy + 4})
    return [marked(rows, "text", at, **look, **part) for part in parts]


def write(folder: str | File, *, width: float = WIDTH) -> list[File]:
    """The four figures as SVG files in a folder that exists."""
    files = []
    for name, figure in FIGURES.items():
        file = File(folder) / f"{name}.svg"
        save(draw(figure(), width=width), file)
        files.append(file)
    return files
