"""Effort against certainty: what each route of a person asks, and how sure its yes is."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from stepladder.errors import ParameterError
from stepladder.model.goal import Goal
from stepladder.numbers import percent, rounded
from stepladder.result.recourse import Recourse
from stepladder.view.plots.routes import drawable
from stepladder.view.plots.style import (
    APART,
    GRID,
    INK,
    PAPER,
    WIDTH,
    Chart,
    axis_room,
    below,
    checked_width,
    headed,
    inner_width,
    kind,
    marked,
    number_axis,
    panel,
    quantity,
)
from stepladder.view.plots.tracks import Drawn
from stepladder.words import plans as words

HEIGHT = 180
"""Of the panel, in pixels."""

NEAR = 22
"""Pixels within which two routes share a label."""


def certainty(result: Recourse, person: Hashable, *, width: float = WIDTH) -> Chart:
    """A person's routes by the effort each takes and how sure its yes is.

    person  the value that names them in the index of the frame they came from

    How sure is the probability that the yes holds under a retrained model, where successors told
    it, and else how far the score lies past what a yes takes. Effort that nobody weighed is
    distance.
    """
    width = checked_width(width)
    plan, routes = drawable(result, person)
    if not plan.routes:
        raise ParameterError(f"There's no route to draw for {person!r}. {plan.note}")
    scales = _Scales.of(result.goal, routes)
    rows = scales.rows(routes)
    axis = axis_room(["100%"])
    notes = ["Further left is easier, further up is surer."]
    if (rows["kind"] == "tight").any():
        notes.append("Hollow: no longer a yes if something falls a little short.")
    notes += [
        f"Route {number}: {words.listed(move.action for move in route.changes)}."
        for number, route in enumerate(plan.routes, 1)
    ]
    title = f"Effort against certainty, for person {person}"
    drawn = _panel(rows, scales, inner_width(width, 1, axis), axis)
    return below([drawn], **headed(title, notes, width, scales.told(rows)))


@dataclass(frozen=True)
class _Scales:
    """What the two axes stand for."""

    goal: Goal
    across: str
    up: str
    is_weighed: bool
    is_known: bool
    """whether successors told how sure a yes is"""

    @classmethod
    def of(cls, goal: Goal, routes: list[Drawn]) -> _Scales:
        weighed = all(route.path.efforts is not None for route in routes)
        known = not any(np.isnan(route.path.holds) for route in routes)
        up = "Probability that the yes holds" if known else "Score past what a yes takes"
        return cls(goal, "Effort" if weighed else "Distance", up, weighed, known)

    @property
    def is_share(self) -> bool:
        return self.is_known or not self.goal.is_range

    def rows(self, routes: list[Drawn]) -> pd.DataFrame:
        paths = [route.path for route in routes]
        margins = self.goal.margin(np.array([path.scores[-1] for path in paths]))
        return pd.DataFrame(
            {
                "route": [route.name for route in routes],
                "effort": [path.effort if self.is_weighed else path.distance for path in paths],
                "sure": [path.holds for path in paths] if self.is_known else margins,
                "kind": ["tight" if path.tight else "with slack" for path in paths],
            }
        )

    def told(self, rows: pd.DataFrame) -> str:
        """The routes in words."""
        form = percent if self.is_share else rounded
        return " ".join(
            f"Route {route}: {self.across.lower()} {rounded(effort)}, "
            f"{self.up[:1].lower()}{self.up[1:]} {form(sure)}."
            for route, effort, sure in zip(rows["route"], rows["effort"], rows["sure"], strict=True)
        )


def _panel(rows: pd.DataFrame, scales: _Scales, width: float, axis: float) -> Chart:
    far = float(rows["effort"].max()) * 1.08 or 1.0
    low, high = 0.0, float(rows["sure"].max()) * 1.2 or 0.1
    if scales.is_known:
        low, high = max(0.0, float(rows["sure"].min()) - 0.1), 1.0
    look: dict[str, Any] = {"minExtent": axis, "maxExtent": axis, "tickCount": 5, **GRID}
    ticks = {"format": "~%", **look} if scales.is_share else number_axis(**look)
    upright = {"domain": [low, high], "nice": False, "zero": False, "padding": 8}
    x = quantity(
        "effort",
        title=scales.across,
        scale={"domain": [0, far], "nice": False},
        axis={"tickCount": 6, **GRID},
    )
    y = quantity("sure", title=None, scale=upright, axis=ticks)
    fill = {"domain": ["with slack", "tight"], "range": [INK, PAPER]}
    point = {"x": x, "y": y, "fill": kind("kind", scale=fill, legend=None)}
    text = {"x": x, "y": y, "text": kind("label")}
    labels = _labels(rows, width / far, HEIGHT / (high - low))
    layers = [
        marked(rows, "point", point, stroke=INK, strokeWidth=1.5, size=80, opacity=1),
        marked(labels, "text", text, color=INK, fontSize=12, fontWeight="bold", dy=-13),
    ]
    return panel(layers, scales.up, width, HEIGHT, resolve=APART)


def _labels(rows: pd.DataFrame, across: float, up: float) -> pd.DataFrame:
    """The numbers of routes at their points; those that lie on one another share a label."""
    shared: list[list[int]] = []
    at = np.column_stack([rows["effort"] * across, rows["sure"] * up])
    for i in range(len(rows)):
        near = [one for one in shared if np.abs(at[one[0]] - at[i]).max() < NEAR]
        if near:
            near[0].append(i)
        else:
            shared.append([i])
    highest = [max(one, key=lambda i: at[i, 1]) for one in shared]
    return rows.iloc[highest].assign(label=[", ".join(rows["route"].iloc[one]) for one in shared])
