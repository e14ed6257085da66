"""Maps: the reference rows, where the model says yes, and the paths, in two dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from stepladder.errors import ParameterError
from stepladder.methods.step import StEP
from stepladder.numbers import percent
from stepladder.result.path import Outcome
from stepladder.result.recourse import Recourse
from stepladder.table.feature import Feature, Numeric
from stepladder.table.frames import Frame
from stepladder.table.space import Floats, Mask
from stepladder.view.plots.axes import across_axis, framed, tick_labels, upright_axis
from stepladder.view.plots.plane import Chosen, Plane, Principal, Side, along, usual
from stepladder.view.plots.routes import different, drawable
from stepladder.view.plots.shade import areas
from stepladder.view.plots.style import (
    CROSS,
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
    beside,
    checked_width,
    columns_in,
    headed,
    inner_width,
    kind,
    marked,
    quantity,
    sampled,
)
from stepladder.view.plots.tracks import Drawn
from stepladder.words import plans as words

PEOPLE = 60
"""Of how many people the paths are drawn, where no one is named."""

NAMED = 5
"""How many of the values that aren't on a map are told, at most."""

POSITION = {"x": quantity("x"), "y": quantity("y")}
"""Where a mark lies on the map."""


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
    if person is not None and result is None:
        raise ParameterError(
            f"map(person={person!r}) needs the result that person is in: map(step, result, person)."
        )
    routes, people = ([], 0) if result is None else _routes(step, result, person, seed)
    base = routes[0].path.values[0] if person is not None else usual(step.space_, values)
    plane: Plane = (
        Principal.of(step.space_, values, base)
        if features is None
        else Chosen.named(step.space_, features, base)
    )
    trails = [plane.positions(route.path.values) for route in routes]
    panels = 1 if person is None else len(routes)
    ground = _Ground.of(step, plane, values, trails, MOST // panels, seed)
    if person is not None:
        return _of_person(ground, routes, person, width)
    notes = [f"Shaded: the model says yes to someone usual{_rest(plane, base)}."]
    notes += [_named(ground.met), *ground.notes]
    if result is not None:
        notes.append(
            f"Paths of {people:,} of {len(result.people):,} people; a dot is where one ends. Their "
            "other values are their own: where the shade says no, they may have a yes."
        )
    axis = axis_room(tick_labels(ground.up))
    inner = inner_width(width, 1, axis)
    shade = ground.shade(np.repeat(base[None], len(ground.nodes), axis=0))
    layers = [_yes(shade, ground, inner, axis), _rows(ground), *_some_paths(trails)]
    heading = headed("Where the model says yes", notes, width, _share(ground.met))
    return below([framed(layers, ground.up.title, inner)], **heading)


def _of_person(ground: _Ground, routes: Sequence[Drawn], person: Any, width: float) -> Chart:
    """One panel per route, each on a slice of its own."""
    axis = axis_room(tick_labels(ground.up))
    columns = columns_in(width, len(routes))
    inner = inner_width(width, columns, axis)
    panels = [
        _slice(ground, route, trail, inner, axis)
        for route, trail in zip(routes, ground.trails, strict=True)
    ]
    notes = [
        f"Shaded: the model says yes to person {person}, all other values being as they are along "
        "that route.",
        _named(ground.met),
        *ground.notes,
    ]
    reached = sum(route.path.outcome is Outcome.REACHED for route in routes)
    found = f"{reached} of {words.counted(len(routes), 'route')} to a yes. {_share(ground.met)}"
    title = f"Routes to a yes for person {person}"
    return beside(panels, columns, **headed(title, notes, width, found))


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
    return below([framed([points], up.title, inner)], **heading)


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


# ---- the ground -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Ground:
    """What paths are drawn over: the two axes, and the rows between their edges."""

    step: StEP
    plane: Plane
    across: Side
    up: Side
    trails: list[Floats]
    rows: Floats
    """(n, 2) where the rows that are drawn lie"""
    met: Mask
    """(n,) which of them get a yes"""
    notes: list[str]

    @classmethod
    def of(
        cls,
        step: StEP,
        plane: Plane,
        values: Floats,
        trails: list[Floats],
        most: int,
        seed: int,
    ) -> _Ground:
        """Of the rows at most so many are drawn, the points of trails among them."""
        passed = np.concatenate([*trails, np.empty((0, 2))])
        positions = plane.positions(values)
        across, up = plane.sides(positions, passed)
        inside = _inside(positions, across, up)
        kept = np.flatnonzero(inside)[sampled(int(inside.sum()), seed, most - len(passed))]
        scorer = step.scorer_
        met = scorer.yes(scorer.score(values[kept]), values[kept])
        notes = [plane.note] * bool(plane.note)
        notes += _counted(len(values), int(inside.sum()), len(kept), step.is_private)
        rows = _spread(positions[kept], across, up, seed)
        return cls(step, plane, across, up, trails, rows, met, notes)

    @property
    def nodes(self) -> Floats:
        """(cells, 2) where the model is asked."""
        x, y = np.meshgrid(self.across.nodes, self.up.nodes, indexing="ij")
        return np.column_stack([x.ravel(), y.ravel()])

    def beside(self, route: Drawn, trail: Floats) -> Floats:
        """(cells, features) a route's rows where it passes nearest to each node."""
        spans = np.array([np.ptp(side.edges) for side in (self.across, self.up)])
        return along(self.step.space_, trail, route.path.values, self.nodes, spans)

    def shade(self, base: Floats) -> pd.DataFrame:
        """Where the answer is yes, all that isn't on the map being as in base (cells, features)."""
        scorer = self.step.scorer_
        values = self.plane.values(self.nodes, base)
        scores = scorer.score(values)
        margins = scorer.goal.margin(scores)
        refused = ~scorer.yes(scores, values) & (margins >= 0)  # by policy
        margins = np.where(refused, -1e-9, margins).reshape(len(self.across.nodes), -1)
        slices = areas(margins, self.across, self.up)
        return pd.DataFrame(slices, columns=["area", "x", "low", "high"])


# ---- layers -----------------------------------------------------------------------------------


def _slice(ground: _Ground, route: Drawn, trail: Floats, width: float, axis: float) -> Chart:
    """One route, on the slice of the model that goes along it."""
    shade = ground.shade(ground.beside(route, trail))
    layers = [_yes(shade, ground, width, axis), _rows(ground), *_one_route(route, trail, ground.up)]
    return framed(layers, f"Route {route.name}\n{ground.up.title}", width)


def _yes(shade: pd.DataFrame, ground: _Ground, width: float, axis: float) -> Chart:
    """Where the model says yes."""
    channels = {
        "x": across_axis(ground.across, width),
        "y": {**upright_axis(ground.up, axis), "field": "low"},
        "y2": {"field": "high"},
        "detail": kind("area"),
    }
    return marked(shade, "area", channels, color=SHADE, opacity=1, clip=True, line=False)


def _rows(ground: _Ground) -> Chart:
    rows = pd.DataFrame(ground.rows, columns=["x", "y"])
    rows["met"] = ground.met
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


def _one_route(route: Drawn, trail: Floats, up: Side) -> list[Chart]:
    """A route from a ring, where the person stands today, to a dot where it ends."""
    rows = _trail_rows([route.name], [trail])
    along = {**POSITION, "order": quantity("step")}
    halo = {"stroke": PAPER, "strokeWidth": 5, "opacity": 0.8}
    dot = {"filled": True, "color": INK, "opacity": 1}
    ring = {"stroke": INK, "strokeWidth": 2.5, "size": 170, "opacity": 1}
    layers = [
        marked(rows, "line", along, **halo),
        marked(rows, "line", along, color=INK, strokeWidth=2),
        marked(rows, "point", along, **dot, size=45),
        marked(rows.head(1), "point", POSITION, **ring, shape="circle"),
    ]
    is_low = trail[0, 1] - up.edges[0] < 0.15 * np.ptp(up.edges)  # no room below it
    falls = trail[-1, 1] < trail[0, 1]
    today = {"dy": -17 if falls or is_low else 20}
    end = {"dx": 10, "align": "left"} if falls else {"dy": -14}
    return [
        *layers,
        *_labelled(rows.head(1), "today", today),
        *_labelled(rows.tail(1), f"route {route.name}", end),
    ]


def _labelled(row: pd.DataFrame, text: str, off: dict[str, Any]) -> list[Chart]:
    """A word beside a position, with an outline that sets it off what lies below."""
    look = {"text": text, "fontSize": 12, "baseline": "middle", **off}
    outline = {"color": PAPER, "stroke": PAPER, "strokeWidth": 4}
    return [
        marked(row, "text", POSITION, **look, **outline),
        marked(row, "text", POSITION, **look, color=INK),
    ]


# ---- words ------------------------------------------------------------------------------------


def _rest(plane: Plane, base: Floats) -> str:
    """What the other values of a slice are, as far as there's room: ' (job: clerk)'."""
    if not isinstance(plane, Chosen):
        return ""
    rest = [
        f"{feature.label}: {_roughly(feature, plane.space.shown(f, base[f]))}"
        for f, feature in enumerate(plane.space.schema.features)
        if f not in plane.indices
    ]
    more = [f"and {len(rest) - NAMED} more as usual"] if len(rest) > NAMED else []
    return f" ({'; '.join([*rest[:NAMED], *more])})" if rest else ""


def _roughly(feature: Feature, value: Any) -> str:
    """A value as people write it, to three digits."""
    short = isinstance(feature, Numeric) and isinstance(value, float)
    return words.value(feature, float(f"{value:.3g}") if short else value)


def _share(met: Mask) -> str:
    """How many of the rows have a yes."""
    return f"{percent(float(met.mean()))} of the rows drawn have a yes." if len(met) else ""
