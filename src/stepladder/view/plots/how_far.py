"""How far everyone has to go: the share of each group that has a route within an effort."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from stepladder.audit.columns import GroupColumn, columns_of, numbered
from stepladder.errors import EmptyFrameError, ParameterError
from stepladder.numbers import percent, rounded
from stepladder.result.path import Outcome
from stepladder.result.recourse import Recourse
from stepladder.table.frames import Frame
from stepladder.table.space import Floats
from stepladder.view.plots.ends import end_labels, label_room
from stepladder.view.plots.style import (
    APART,
    GRID,
    QUIET,
    WIDTH,
    Chart,
    Marks,
    axis_room,
    below,
    checked_width,
    headed,
    inner_width,
    marked,
    panel,
    people,
    quantity,
)
from stepladder.words import plans as words

HEIGHT = 260
"""Of the panel, in pixels."""

MOST = 8
"""Lines that can be told apart in one picture."""

Divided: TypeAlias = Frame | Mapping[str, Any] | Sequence[str] | str | GroupColumn | None
"""What people are divided by: as `audit` takes it, a column that it read, or nothing."""

EVERYONE = "everyone"
"""What the one line is called where people aren't divided."""


def how_far(
    result: Recourse,
    groups: Divided = None,
    *,
    width: float = WIDTH,
) -> Chart:
    """The share of people who have a route within an effort, group by group.

    groups  what `stepladder.audit.audit` divides people by; several columns are crossed. None for
            everyone in one line

    It's the effort of each person's easiest route, over those who asked. A line that ends below
    100% belongs to a group in which some have no route.
    """
    width = checked_width(width)
    far = efforts(result)
    parts = {name: far[who] for name, who in members(result, groups).items()}
    if len(parts) > MOST:
        raise ParameterError(
            f"how_far can tell at most {MOST} groups apart; got {len(parts)}. Divide people by "
            "fewer columns, or by one of fewer values."
        )
    unit = _unit(result)
    notes = ["On the easiest route of each."]
    if len(parts) > 1:
        notes.append(f"Beside a name: the {unit.lower()} within which half of them have a route.")
    title = "How far everyone has to go"
    drawn = _panel(parts, unit, width)
    return below([drawn], **headed(title, notes, width, _told(parts, unit)))


def _unit(result: Recourse) -> str:
    weighed = all(path.efforts is not None for routes in result.routes for path in routes)
    return "Effort" if weighed else "Distance"


def efforts(result: Recourse) -> Floats:
    """(n,) the effort of everyone's easiest route; infinite where there's none.

    Who didn't ask has NaN. Where nobody weighed effort, it's distance.
    """
    far = np.full(len(result.people), np.nan)
    for i, routes in enumerate(result.routes):
        if routes[0].outcome is Outcome.ALREADY_POSITIVE or routes[0].is_unknown:
            continue
        slot, *_ = result.best_at(i)
        path = None if slot is None else routes[slot]
        weighed = path is not None and path.efforts is not None
        far[i] = np.inf if path is None else path.effort if weighed else path.distance
    return far


def members(result: Recourse, groups: Divided) -> dict[str, Any]:
    """Who asked (n,) in each group, by the group's name, where anybody did."""
    asked = ~np.isnan(efforts(result))
    if not asked.any():
        raise EmptyFrameError("Nobody asked for a route, so there's nothing to draw.")
    if groups is None:
        return {EVERYONE: asked}
    columns = (
        [groups] if isinstance(groups, GroupColumn) else list(columns_of(result, groups).values())
    )
    codes, labels = numbered(columns)
    if len(columns) == 1:
        labels = [label.removeprefix(f"{columns[0].name}=") for label in labels]
    found = {label: asked & (codes == code) for code, label in enumerate(labels)}
    return {label: who for label, who in found.items() if who.any()}


def _median(far: Floats) -> float:
    """The effort within which half have a route; infinite where fewer have one at all."""
    return float(np.quantile(far, 0.5, method="inverted_cdf"))


def _line(name: str, far: Floats, end: float) -> pd.DataFrame:
    """The share within each effort at which it rises, from 0 to the end of the axis."""
    known = np.sort(far[np.isfinite(far)])
    share = [0.0, *(np.arange(1, len(known) + 1) / len(far)).tolist()]
    steps = [0.0, *known.tolist(), end]
    return pd.DataFrame({"group": name, "effort": steps, "share": [*share, share[-1]]})


def _panel(parts: Mapping[str, Floats], unit: str, width: float) -> Chart:
    # Labels of lines that end alike stand in this order, from the bottom up.
    ordered = sorted(parts, key=lambda name: -_median(parts[name]))
    known = [far[np.isfinite(far)].max(initial=0.0) for far in parts.values()]
    end = float(max(known)) or 1.0
    rows = pd.concat([_line(name, parts[name], end) for name in ordered], ignore_index=True)
    axis = axis_room(["100%"])
    look = {"minExtent": axis, "maxExtent": axis, "format": ".0%", "tickCount": 5, **GRID}
    wide = {"domain": [0, end], "nice": False}
    x = quantity(
        "effort", title=f"{unit} of the easiest route", scale=wide, axis={"tickCount": 6, **GRID}
    )
    y = quantity("share", title=None, scale={"domain": [0, 1], "nice": False}, axis=look)
    marks = Marks("group", list(parts), None, width)
    half = pd.DataFrame({"share": [0.5]})
    layers = [
        marked(half, "rule", {"y": y}, color=QUIET, strokeDash=[2, 3]),
        marked(rows, "line", {"x": x, "y": y, **marks.lines()}, interpolate="step-after"),
    ]
    room = 0.0
    if len(parts) > 1:
        ends = rows.groupby("group", sort=False).tail(1)
        ends = ends.assign(label=[f"{name} {rounded(_median(parts[name]))}" for name in ordered])
        layers += end_labels(ends, x, y, (0.0, 1.0), HEIGHT, marks.lines()["color"])
        room = label_room(ends["label"].tolist())
    title = f"People with a route within some {unit.lower()}"
    return panel(layers, title, inner_width(width, 1, axis) - room, HEIGHT, resolve=APART)


def _told(parts: Mapping[str, Floats], unit: str) -> str:
    """Half of each group, in words."""
    each = []
    for name, far in parts.items():
        within = f"half have a route within {unit.lower()} {rounded(_median(far))}"
        if not np.isfinite(_median(far)):
            within = f"{percent(float(np.isfinite(far).mean()))} have a route at all"
        each.append(f"of {name} ({people(len(far))}) {within}")
    return words.capital("; ".join(each)) + "."
