"""One person's routes: the score after each step, and what changes on the way."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from stepladder.errors import ParameterError
from stepladder.model.goal import Goal
from stepladder.result.recourse import Recourse
from stepladder.view.plots.ends import end_labels, label_room
from stepladder.view.plots.style import (
    APART,
    NARROW,
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
    headed,
    inner_width,
    marked,
    number_axis,
    panel,
    quantity,
)
from stepladder.view.plots.tracks import (
    HEIGHT,
    ROOM,
    Area,
    Drawn,
    boxed,
    lined,
    lines,
    long,
    over_steps,
    tracks,
)
from stepladder.words import plans as words


def person(result: Recourse, person: Hashable, *, width: float = WIDTH) -> Chart:
    """One person's routes, step by step: the score with the goal, and each feature that changes.

    person  the value that names them in the index of the frame they came from

    Routes have the numbers they have in `words.plan`. Where none reaches the goal, the attempts
    are drawn.
    """
    width = checked_width(width)
    plan, routes = drawable(result, person)
    changes = tracks(result, routes)
    axis = axis_room([label for track in changes for label in track.labels])
    names = [route.name for route in routes]
    marks = Marks("route", names, None, width)
    last = max(1, *(route.path.steps for route in routes))
    what = "Route " if plan.routes else "Attempt "
    whole = Area(inner_width(width, 1, axis), axis, last)
    panels = [_scores(result.goal, routes, what if width >= NARROW else "", marks, whole)]
    if changes:
        numbers = [track for track in changes if not track.names]
        columns = columns_in(width, len(numbers))
        part = replace(whole, width=inner_width(width, columns, axis))
        extent = max(track.extent for track in changes)
        if numbers:
            panels.append(beside([lined(track, marks, part, extent) for track in numbers], columns))
        panels += [boxed(track, what, whole) for track in changes if track.names]
    notes = [f"Shaded: what a yes takes ({words.needed(result.goal)}). Step 0 is today."]
    if changes:
        notes.append(
            "Below the score: each thing that changes, on the routes that change it; numbers are "
            "on one scale, levels are boxes."
        )
    notes += [plan.note] * bool(plan.note)
    title = f"Routes to a yes for person {person}"
    return below(panels, **headed(title, notes, width, told(plan)))


def told(plan: words.Plan) -> str:
    """What a picture of a person's routes shows, in words."""
    return " ".join(
        [
            plan.standing,
            *(
                f"Route {number} ends at {words.score(plan.goal, route.steps[-1].score)}: {route}"
                for number, route in enumerate(plan.routes, 1)
            ),
        ]
    )


def route_title(plan: words.Plan, number: int) -> str:
    """'Route 1, the easiest: one thing to do', counted from 1; of one alone 'One thing to do'."""
    route = plan.routes[number - 1]
    if len(plan.routes) == 1:
        return words.capital(route.kind)
    return f"Route {number}{',' if words.EASIEST in route.kinds else ':'} {route.kind}"


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


# ---- the score --------------------------------------------------------------------------------


def _scores(goal: Goal, routes: list[Drawn], what: str, marks: Marks, area: Area) -> Chart:
    rows = long(routes, [route.path.scores for route in routes])
    low, high = _met(goal)
    domain = (0.0, 1.0)
    if goal.is_range:
        domain = _roomy([*rows["value"], *(end for end in (low, high) if np.isfinite(end))])
    scale = {"domain": list(domain), "nice": False}
    look: dict[str, Any] = {"tickCount": 4, "minExtent": area.axis, "maxExtent": area.axis}
    ticks = number_axis(**look) if goal.is_range else {"format": ".0%", **look}
    shade = pd.DataFrame({"low": [max(low, domain[0])], "high": [min(high, domain[1])]})
    edges = pd.DataFrame({"value": [end for end in (low, high) if np.isfinite(end)]})
    y = quantity("value", scale=scale, title=None, axis=ticks)
    band = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
    layers = [
        marked(shade, "rect", band, color=SHADE),
        marked(edges, "rule", {"y": y}, color=QUIET, strokeWidth=1.5),
        *lines(rows, y, marks, area.last),
    ]
    if len(routes) > 1:
        ends = rows.groupby("route", sort=False).tail(1)
        ends = ends.assign(label=[f"{what}{route}" for route in ends["route"]])
        layers += end_labels(ends, over_steps(area.last), y, domain, HEIGHT, is_crowded=True)
    room = label_room([f"{what}1"]) if len(routes) > 1 else 0.0
    return panel(layers, "Score", area.width - room, HEIGHT, resolve=APART)


def _met(goal: Goal) -> tuple[float, float]:
    """Between which scores the goal is met."""
    if not goal.is_range:
        return goal.threshold, np.inf
    low = -np.inf if goal.low is None else float(goal.low)
    return low, np.inf if goal.high is None else float(goal.high)


def _roomy(values: Any) -> tuple[float, float]:
    """The ends of an axis with a little room around values."""
    low, high = float(min(values)), float(max(values))
    room = ROOM * (high - low) or 0.5
    return low - room, high + room
