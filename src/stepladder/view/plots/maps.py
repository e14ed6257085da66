"""Maps: the reference rows, where the model says yes, and the paths, in two dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from stepladder.errors import ParameterError
from stepladder.methods.step import StEP
from stepladder.result.recourse import Recourse
from stepladder.table.frames import Frame
from stepladder.table.space import Floats, Mask
from stepladder.view.plots.axes import across_axis, framed, tick_labels, upright_axis
from stepladder.view.plots.plane import Chosen, Plane, Principal, Side, usual
from stepladder.view.plots.routes import different, drawable
from stepladder.view.plots.shade import areas
from stepladder.view.plots.style import (
    INK,
    MOST,
    NO,
    PAPER,
    SHADE,
    WIDTH,
    YES,
    Chart,
    Marks,
    axis_room,
    below,
    checked_width,
    headed,
    inner_width,
    kind,
    marked,
    quantity,
    sampled,
)
from stepladder.view.plots.tracks import Drawn

PEOPLE = 60
"""Of how many people the paths are drawn, where no one is named."""

POSITION = {"x": quantity("x"), "y": quantity("y")}
"""Where a mark lies on the map."""

CROSS = "M-0.8,-0.8L0.8,0.8M-0.8,0.8L0.8,-0.8"
"""A cross of two lines: Vega's own is an outline, which looks like a circle when it's small."""


def map(
    step: StEP,
    result: Recourse | None = None,
    person: Any = None,
    features: Sequence[str] | None = None,
    *,
    rows: Frame | None = None,
    width: float = WIDTH,
    seed: int = 0,
) -> Chart:
    """Paths over the data: reference rows, where the model says yes, and the way through.

    step      a fitted StEP: its positives and its model
    result    whose paths are drawn; of many people, those of some
    person    one of them; what isn't on the map is then as it is for them, and else usual
    features  the names of two features; None for the two principal dimensions
    rows      rows to draw instead of the positives, such as the training table
    seed      of which rows are drawn where there are too many

    A private method shows its made-up rows only; one that has none has no map.
    """
    width = checked_width(width)
    values = _drawable(step, rows)
    space, scorer = step.space_, step.scorer_
    if person is not None and result is None:
        raise ParameterError(
            f"map(person={person!r}) needs the result that person is in: map(step, result, person)."
        )
    routes, people = ([], 0) if result is None else _routes(step, result, person, seed)
    base = routes[0].path.values[0] if person is not None else usual(space, values)
    plane: Plane = (
        Principal.of(space, values, base)
        if features is None
        else Chosen.named(space, features, base)
    )
    trails = [plane.positions(route.path.values) for route in routes]
    along = np.concatenate([*trails, np.empty((0, 2))])
    positions = plane.positions(values)
    across, up = plane.sides(positions, along)
    inside = _inside(positions, across, up)
    kept = np.flatnonzero(inside)[sampled(int(inside.sum()), seed, MOST - len(along))]
    met = scorer.met(scorer.score(values[kept]))
    axis = axis_room(tick_labels(up))
    inner = inner_width(width, 1, axis)
    layers = [
        _yes(plane, across, up, step, inner, axis),
        _rows(_spread(positions[kept], across, up, seed), met),
    ]
    if person is None:
        layers += _some_paths(trails)
    else:
        layers += _one_person(routes, trails, inner)
    whose = "as they are for this person" if person is not None else "as they usually are"
    notes = [f"Shaded: the model says yes, all other values being {whose}."]
    notes.append(_named(met))
    notes += [plane.note] * bool(plane.note)
    notes += _counted(len(values), int(inside.sum()), len(kept), step.is_private)
    if person is None and result is not None:
        everyone = len(result.people)
        notes.append(f"Paths of {people:,} of {everyone:,} people; a dot is where one ends.")
    title = "Where the model says yes" if person is None else f"Routes to a yes for person {person}"
    return below([framed(layers, up, inner)], **headed(title, notes, width))


def clusters(step: StEP, *, width: float = WIDTH, seed: int = 0) -> Chart:
    """The clusters of positives in two principal dimensions; each path heads for one."""
    width = checked_width(width)
    values = _drawable(step, None)
    space, labels = step.space_, step.reference_.clusters
    plane = Principal.of(space, values, usual(space, values))
    positions = plane.positions(values)
    across, up = plane.sides(positions, np.empty((0, 2)))
    inside = _inside(positions, across, up)
    kept = np.flatnonzero(inside)[sampled(int(inside.sum()), seed)]
    sizes = {c: int((labels == c).sum()) for c in np.unique(labels).tolist()}
    names = {c: f"{c + 1} ({n:,} rows)" if c >= 0 else f"none ({n:,})" for c, n in sizes.items()}
    axis = axis_room(tick_labels(up))
    inner = inner_width(width, 1, axis)
    order = sorted(names, key=lambda c: (c < 0, c))
    marks = Marks("cluster", [names[c] for c in order], "Cluster", inner)
    rows = pd.DataFrame(positions[kept], columns=["x", "y"])
    rows["cluster"] = [names[c] for c in labels[kept].tolist()]
    channels = {"x": across_axis(across, inner), "y": upright_axis(up, axis), **marks.points()}
    points = marked(rows, "point", channels, size=30, opacity=0.8, strokeWidth=1.3)
    count = len(sizes) - (-1 in sizes)
    notes = [f"The rows that meet the goal, in {count} clusters; each path heads for one."]
    notes += [plane.note, *_counted(len(values), int(inside.sum()), len(kept), step.is_private)]
    heading = headed("Clusters of accepted rows", notes, width)
    return below([framed([points], up, inner)], **heading)


# ---- what is drawn ----------------------------------------------------------------------------


def _drawable(step: StEP, rows: Frame | None) -> Floats:
    """The values that may be shown: the caller's rows, the positives, or those made up for them."""
    if not isinstance(step, StEP):
        raise ParameterError(f"A map is drawn of a fitted sl.StEP; got {type(step).__name__}.")
    step._check_fitted()
    if step.is_private:
        if rows is not None:
            raise ParameterError(
                "This method was fitted under a privacy budget, which a picture of real rows isn't "
                "paid from. Leave rows out: its made-up rows are drawn, where it has some."
            )
        if not len(step.reference_.values):
            raise ParameterError(
                "This method pays for each direction and holds no rows that may be shown, so there "
                "is no map of them. Use sl.StEP(privacy=sl.PayOnce(budget)), which makes up rows."
            )
    if rows is None:
        return step.reference_.values
    values = step.space_.read(rows, allow_missing=True)
    values = values[~np.isnan(values).any(axis=1)]
    if not len(values):
        raise ParameterError("rows holds no row without a missing value, so there's none to draw.")
    return values


def _routes(step: StEP, result: Recourse, person: Any, seed: int) -> tuple[list[Drawn], int]:
    """The different routes of one person, or of some people, and how many people that is."""
    if odd := step.space_.schema.differs_in(result.space.schema):
        raise ParameterError(
            f"The result and the method differ in {odd!r}, so they don't belong "
            "together. Give the method that the result is from."
        )
    if person is not None:
        return drawable(result, person)[1], 1
    found: list[Drawn] = []
    people = points = 0
    for i in sampled(len(result.people), seed, PEOPLE):
        routes = different(result, i)
        points += sum(len(route.path.values) for route in routes)
        if points > MOST // 2:  # half of the points are the rows'
            break
        if not np.isnan(routes[0].path.values).any():
            found += routes
            people += 1
    return found, people


def _inside(positions: Floats, across: Side, up: Side) -> Mask:
    low = [across.edges[0], up.edges[0]]
    high = [across.edges[-1], up.edges[-1]]
    return np.asarray(((positions >= low) & (positions <= high)).all(axis=1))


def _spread(positions: Floats, across: Side, up: Side, seed: int) -> Floats:
    """Positions, those on a level spread a little, so that they don't lie on one another."""
    rng = np.random.default_rng(seed)
    spread = positions.astype(np.float64, copy=True)
    for axis, side in enumerate((across, up)):
        if side.levels is not None:
            spread[:, axis] += rng.uniform(-0.3, 0.3, len(spread))
    return spread


def _named(met: Mask) -> str:
    """What the marks of rows are."""
    marks = ["Circles: rows with a yes"] * bool(met.any()) + ["crosses: rows with a no"] * (
        not met.all()
    )
    return f"{'; '.join(marks)}."


def _counted(everyone: int, inside: int, drawn: int, private: bool) -> list[str]:
    """What was left out of the picture, in sentences."""
    notes = []
    if private:
        notes.append("The rows are made up under a privacy guarantee; no real row is shown.")
    if drawn < inside:
        notes.append(f"{drawn:,} of {inside:,} rows are drawn, chosen at random.")
    if inside < everyone:
        notes.append(f"{everyone - inside:,} of {everyone:,} rows lie beyond the edges.")
    return notes


# ---- layers -----------------------------------------------------------------------------------


def _yes(plane: Plane, across: Side, up: Side, step: StEP, width: float, axis: float) -> Chart:
    """Where the model says yes."""
    scorer = step.scorer_
    x, y = np.meshgrid(across.middles, up.middles, indexing="ij")
    scores = scorer.score(plane.values(np.column_stack([x.ravel(), y.ravel()])))
    margins = scorer.goal.margin(scores).reshape(x.shape)
    frame = pd.DataFrame(areas(margins, across, up), columns=["area", "x", "low", "high"])
    channels = {
        "x": across_axis(across, width),
        "y": {**upright_axis(up, axis), "field": "low"},
        "y2": {"field": "high"},
        "detail": kind("area"),
    }
    return marked(frame, "area", channels, color=SHADE, opacity=1, clip=True, line=False)


def _rows(positions: Floats, met: Mask) -> Chart:
    rows = pd.DataFrame(positions, columns=["x", "y"])
    rows["met"] = met
    kinds = [True, False]
    shape = {"domain": kinds, "range": ["circle", CROSS]}
    colour = {"domain": kinds, "range": [YES, NO]}
    channels = {
        **POSITION,
        "shape": kind("met", scale=shape, legend=None),
        "color": kind("met", scale=colour, legend=None),
    }
    return marked(rows, "point", channels, size=20, opacity=0.7, strokeWidth=1, clip=True)


def _trail_rows(routes: Sequence[str], trails: list[Floats]) -> pd.DataFrame:
    parts = [
        pd.DataFrame({"route": name, "step": np.arange(len(t)), "x": t[:, 0], "y": t[:, 1]})
        for name, t in zip(routes, trails, strict=True)
    ]
    columns = ["route", "step", "x", "y"]
    return pd.concat(parts) if parts else pd.DataFrame(columns=columns)


def _some_paths(trails: list[Floats]) -> list[Chart]:
    """Many people's paths, all alike."""
    if not trails:
        return []
    rows = _trail_rows([str(i) for i in range(len(trails))], trails)
    ends = rows.groupby("route", sort=False).tail(1)
    along = {**POSITION, "detail": kind("route"), "order": quantity("step")}
    return [
        marked(rows, "line", along, color=INK, strokeWidth=0.8, opacity=0.6, clip=True),
        marked(ends, "point", POSITION, filled=True, color=INK, size=22, opacity=1, clip=True),
    ]


def _one_person(routes: list[Drawn], trails: list[Floats], width: float) -> list[Chart]:
    """One person's routes, each with its own look, and a ring where they stand today."""
    marks = Marks("route", [route.name for route in routes], "Route, from the ring", width)
    rows = _trail_rows(marks.kinds, trails)
    along = {**POSITION, "order": quantity("step")}
    halo, ring = {"stroke": PAPER, "strokeWidth": 5}, {"stroke": INK, "strokeWidth": 2.5}
    return [
        marked(rows, "line", {**along, "detail": kind("route")}, **halo, opacity=0.8),
        marked(rows, "line", {**along, **marks.lines()}, strokeWidth=2),
        marked(rows, "point", {**along, **marks.points()}, filled=True, size=60, opacity=1),
        marked(rows.head(1), "point", POSITION, **ring, shape="circle", size=170, opacity=1),
    ]
