"""What all pictures share: sizes, shapes, dashes, greys, words and how many points are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder.checks import finite
from stepladder.errors import ExtraError
from stepladder.table.feature import Feature
from stepladder.table.kind import Counted
from stepladder.words.plans import HELD

Chart: TypeAlias = Any
"""An Altair chart of any kind; Altair is an extra, so it can't be named here."""

MOST = 5_000
"""How many points are drawn at most."""

WIDTH, NARROWEST, NARROW, WIDE = 600, 280, 480, 900
"""Pixels: the usual width of a picture, the least, and the widths from which there's room for
two panels beside each other, or three."""

MARGIN, GAP, SPILL, LETTER = 10, 20, 16, 6.6
"""Pixels around a picture, between its panels, for what the last label of an axis needs beyond its
end, and that a letter takes."""

PAPER, SHADE, QUIET, INK = "#ffffff", "#dfe5ec", "#6b6b6b", "#222222"
"""What is drawn on; where the goal is met; what is in the background; text and lines."""

EDGE, FAINT = "#b5b5b5", "#ececec"
"""The lines of axes, and those across a panel."""

# The numbers of colours, shapes and dashes share no divisor, so that no two of 30 look alike.
COLOURS = ("#0b3c6f", "#c4501b", "#1f7a5c", "#7b4fa0", "#856900")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [12, 5], [5, 2, 1, 2, 1, 2])

YES, NO = "#4f7cac", "#808080"
"""Rows with a yes and rows with a no."""

BLUE, RED = "#1717d6", "#d11414"
"""What the paper draws as accepted and as rejected."""

CROSS = "M-0.8,-0.8L0.8,0.8M-0.8,0.8L0.8,-0.8"
"""A cross of two lines: Vega's own is an outline, which looks like a circle when it's small."""

DARK = {
    PAPER: "#15181c",
    SHADE: "#27405c",
    QUIET: "#a0a6ad",
    INK: "#e8e8e8",
    EDGE: "#5f666e",
    FAINT: "#2b3036",
    **dict(zip(COLOURS, ("#82b4ee", "#f2915e", "#4fc7a2", "#bd9be0", "#dcbc45"), strict=True)),
    YES: "#6f9fd0",
    NO: "#8f8f8f",
    BLUE: "#93a5ff",
    RED: "#ff7a70",
}
"""What each colour is on a dark page."""

_TEXT = {
    "labelFontSize": 12,
    "titleFontSize": 12,
    "titleFontWeight": "normal",
    "labelColor": INK,
    "titleColor": INK,
}
_LINES = {"tickColor": EDGE, "domainColor": EDGE}

LOOK = {
    "font": "sans-serif",
    "view": {"stroke": EDGE},
    "title": {"color": INK, "subtitleColor": INK},
    "axis": {**_TEXT, **_LINES, "grid": False, "labelOverlap": True, "labelFlush": False},
    "legend": {**_TEXT, "symbolSize": 70, "titleLimit": 0},
}
"""The house's look, as Vega-Lite's configuration."""

GRID = {"grid": True, "gridColor": FAINT}
"""Faint lines across a panel, of an axis."""

APART = {"scale": dict.fromkeys(("color", "shape", "strokeDash"), "independent")}
"""Layers that share no legend."""


def altair() -> Any:
    """The library that makes charts."""
    try:
        import altair
    except ImportError as error:
        raise ExtraError("altair", "view", "Drawing a chart") from error
    return altair


# ---- parts of a chart -------------------------------------------------------------------------
# Plain Vega-Lite, given when a chart is made. Altair's own objects hold each possible setting, and
# it copies all of a chart, each panel and its layers again, whenever it's put into another one or
# something is added to it: that took most of the time.


def quantity(field: str, **settings: Any) -> dict[str, Any]:
    """A channel that shows a column of numbers."""
    return {"field": field, "type": "quantitative", **settings}


def kind(field: str, **settings: Any) -> dict[str, Any]:
    """A channel that shows a column of names."""
    return {"field": field, "type": "nominal", **settings}


def marked(rows: pd.DataFrame, mark: str, channels: dict[str, Any], **look: Any) -> Chart:
    """A mark for each row, or a line through them."""
    alt = altair()
    return alt.Chart(rows, mark={"type": mark, **look}, encoding=alt.Encoding(**channels))


def panel(layers: Sequence[Chart], title: str, width: float, height: Any, **settings: Any) -> Chart:
    """Layers on one another, under a heading."""
    letters = max(12, int(width / LETTER / 1.1))
    lines = [line for part in title.split("\n") for line in wrap(part, letters)]
    heading = {"text": lines, "anchor": "start", "frame": "group", "fontSize": 12, "offset": 8}
    return altair().layer(*layers, width=width, height=height, title=heading, **settings)


def beside(panels: Sequence[Chart], columns: int, **settings: Any) -> Chart:
    """Panels in a number of columns."""
    return altair().concat(*panels, columns=columns, spacing=GAP, **settings)


def below(panels: Sequence[Chart], **settings: Any) -> Chart:
    """Panels below one another."""
    return altair().vconcat(*panels, spacing=GAP, **settings)


@dataclass(frozen=True)
class Marks:
    """How several kinds of things are told apart: each by a colour, a shape and a dash of its own.

    `legend` is its title; None draws none. It shows shapes, since dashes spoil their outline.
    """

    field: str
    kinds: Sequence[str]
    legend: str | None
    width: float

    def _channel(self, values: Sequence[Any], *, legend: bool = True) -> dict[str, Any]:
        chosen = [values[i % len(values)] for i in range(len(self.kinds))]
        look = None
        if legend and self.legend is not None:
            longest = max(map(len, self.kinds), default=0)
            fitting = int(self.width // (longest * LETTER + 30))
            look = {
                "title": self.legend,
                "orient": "bottom",
                "columns": max(1, fitting),
                "labelLimit": 0,
            }
        scale = {"domain": list(self.kinds), "range": chosen}
        return kind(self.field, scale=scale, legend=look)

    def points(self) -> dict[str, Any]:
        """The channels of points."""
        return {
            "color": self._channel(COLOURS),
            "shape": self._channel(SHAPES),
        }

    def lines(self) -> dict[str, Any]:
        """The channels of lines, which the legend leaves out."""
        return {
            "color": self._channel(COLOURS, legend=False),
            "strokeDash": self._channel(DASHES, legend=False),
        }


def headed(title: str, notes: Sequence[str], width: float, found: str = "") -> dict[str, Any]:
    """What the outermost chart has: the heading, wrapped to the width, and the house's look.

    found  what the picture shows, in a sentence or two, for whoever can't see it
    """
    letters = int((width - 2 * MARGIN) / LETTER)
    return {
        "title": {
            "text": wrap(title, int(letters * 0.85)),
            "subtitle": [line for note in notes for line in wrap(note, letters)],
            "anchor": "start",
            "frame": "bounds",
            "fontSize": 15,
            "subtitleFontSize": 12,
            "offset": 14,
        },
        "description": " ".join([f"{title}.", *([found] if found else []), *notes]),
        "padding": MARGIN,
        "background": PAPER,
        "config": LOOK,
    }


def checked_width(width: Any) -> float:
    return finite("width, in pixels,", width, least=NARROWEST)


def columns_in(width: float, panels: int) -> int:
    """How many panels fit beside each other."""
    fitting = 1 if width < NARROW else 2 if width < WIDE else 3
    return max(1, min(panels, fitting))


def inner_width(width: float, columns: int, axis: float) -> float:
    """How wide each panel's own area is, beside its vertical axis."""
    return (width - 2 * MARGIN - (columns - 1) * GAP) / columns - axis - SPILL


def outer_width(inner: float, columns: int, axis: float) -> float:
    """How wide panels with such areas of their own make a picture: `inner_width` backwards."""
    return columns * (inner + axis + SPILL) + (columns - 1) * GAP + 2 * MARGIN


def axis_room(labels: Sequence[str], least: float = 48, most: float = 150) -> float:
    """Pixels that a vertical axis with these labels takes."""
    longest = max((len(line) for label in labels for line in label.split("\n")), default=0)
    return float(np.clip(longest * LETTER + 14, least, most))


def folded(text: str, letters: int = 18) -> str:
    """A label in lines that fit beside an axis."""
    return "\n".join(wrap(text, letters, break_long_words=False)) or text


FOLD = "split(datum.label, '\\n')"
"""What makes an axis show folded labels."""


def names_axis(room: float) -> dict[str, Any]:
    """A vertical axis of folded names that takes `room` pixels."""
    return {
        "labelExpr": FOLD,
        "labelLimit": 0,
        "minExtent": room,
        "maxExtent": room,
        "ticks": False,
        "labelPadding": 6,
    }


@dataclass(frozen=True)
class Panels:
    """Panels with the same rows, in columns; the first in each line has the rows' names."""

    names: list[str]
    columns: int
    room: float
    """pixels that the names take"""
    inner: float
    """how wide each panel's own area is"""

    @classmethod
    def of(cls, width: float, panels: int, names: Iterable[str]) -> Panels:
        order = list(dict.fromkeys(names))
        columns, room = columns_in(width, panels), axis_room(order, most=170)
        return cls(order, columns, room, inner_width(width - room, columns, 0))

    @property
    def step(self) -> float:
        """Pixels that a row takes, with all lines of its name."""
        return 19 * (1 + max(name.count("\n") for name in self.names)) + 8

    def axis(self, index: int) -> dict[str, Any]:
        """The vertical axis of the panel at this index."""
        if index % self.columns:
            return {"labels": False, "ticks": False, "domain": False}
        return names_axis(self.room)


def people(count: int) -> str:
    """'1 person', '2 people', on one line."""
    return f"{count:,}{HELD}{'person' if count == 1 else 'people'}"


def titled(feature: Feature) -> str:
    """A feature as a title, with its unit.

    >>> from stepladder.table.feature import Numeric
    >>> titled(Numeric("other_debts", unit="$ a month"))
    'Other debts, in $ a month'
    """
    title = feature.label[:1].upper() + feature.label[1:]
    unit = feature.unit if isinstance(feature, Counted) else ""
    return f"{title}, in {unit}" if unit else title


def times(feature: Feature) -> float:
    """What a feature's numbers are multiplied by to be drawn in its unit."""
    return float(feature.times) if isinstance(feature, Counted) else 1.0


def number_axis(feature: Feature | None = None, **settings: Any) -> dict[str, Any]:
    """An axis of numbers as people write them; whole ones have no ticks between them."""
    if isinstance(feature, Counted) and feature.percent:
        return {"format": ",~%", **settings}
    if isinstance(feature, Counted) and feature.most_decimals == 0:
        settings["tickMinStep"] = feature.times
    return {"format": ",~r", **settings}


def sampled(count: int, seed: int, most: int = MOST) -> NDArray[np.intp]:
    """Which of `count` rows are drawn: all, or `most` of them at random, in their order."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).permutation(count)[:most])
