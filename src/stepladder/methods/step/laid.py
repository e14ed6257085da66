"""Ends as steps: small ones where that's possible, none of which undoes another.

All numbers advance together, in steps no longer than the step size unless there would be too many.
Where the score would fall on the way, things are done one after the other instead, in an order in
which it doesn't, if there is one.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise, permutations

import numpy as np
from numpy.typing import NDArray

from stepladder.methods.step.finish import straight
from stepladder.methods.steps import keeping
from stepladder.model.scorer import Scorer
from stepladder.table.feasible import Feasible
from stepladder.table.space import Floats, Space

Counts = NDArray[np.int64]

FALL = 1e-9
"""By how much a score may fall without being noticed."""

FEW = 8
"""Up to how many paths are asked about with every order of their things, before one is needed."""

THINGS = 4
"""Of how many things at most every order is looked at."""


def laid(
    own: Feasible, ends: Floats, scorer: Scorer, step_size: float, max_steps: int
) -> tuple[list[Floats], list[Floats]]:
    """For each of p ends (p, features) its rows (steps + 1, features), and scores (steps + 1,).

    A path whose levels can't hop there by steps that keep the rules has one row only.
    """
    trails = _together(own, ends, step_size, max_steps)
    everybody = {path: own.take(slice(path, path + 1)) for path in range(len(ends))}
    # Of a few paths the corners are asked about too, needed or not: it saves a call.
    corners = _corners_of(everybody, ends) if len(ends) <= FEW else {}
    every = _scored([*trails, *corners.values()], scorer)
    scores, known = every[: len(trails)], dict(zip(corners, every[len(trails) :], strict=True))

    def fall(scores: Floats) -> float:
        return _fall(scorer.goal.margin(scores))  # where a prediction has to fall, that's no fall

    falling = [path for path, after in enumerate(scores) if fall(after) > FALL]
    if len(ends) > FEW:
        corners = _corners_of({path: everybody[path] for path in falling}, ends)
        known = dict(zip(corners, _scored(list(corners.values()), scorer), strict=True))
    turned = {
        path: _in_turn(everybody[path], corners[path], known[path], scorer)
        for path in falling
        if path in corners
    }
    legs = {
        path: _legs(own.take(slice(path, path + 1)), corners, step_size, max_steps)
        for path, corners in turned.items()
    }
    if legs:
        again = keeping(own.take(np.array(list(legs))), list(legs.values()))
        for path, rows, after in zip(legs, again, _scored(again, scorer), strict=True):
            if 1 < len(rows) <= max_steps + 1 and fall(after) < fall(scores[path]):
                trails[path], scores[path] = rows, after
    return trails, scores


def _together(own: Feasible, ends: Floats, step_size: float, max_steps: int) -> list[Floats]:
    """For each of p ends its rows (steps + 1, features), all that changes advancing together.

    Where hops come on top of the steps, numbers take longer ones for it.
    """
    steps = np.minimum(_steps(own.space, own.start, ends, step_size), max_steps)
    trails = keeping(own, _ending_at(straight(own, ends, steps), ends))
    while True:
        over = np.array([len(rows) - 1 for rows in trails]) - max_steps
        again = np.flatnonzero((over > 0) & (steps > 1))
        if not len(again):
            return trails
        steps[again] = np.maximum(steps[again] - over[again], 1)
        some, those = own.take(again), ends[again]
        shorter = keeping(some, _ending_at(straight(some, those, steps[again]), those))
        for path, rows in zip(again, shorter, strict=True):
            trails[path] = rows


def _steps(space: Space, start: Floats, ends: Floats, step_size: float) -> Counts:
    """(p,) how many steps it takes to get from one row to another, at least one."""
    apart = np.linalg.norm(space.to_points(ends) - space.to_points(start), axis=1)
    return np.asarray(np.maximum(np.ceil(apart / step_size - 1e-9), 1), dtype=np.int64)


def _ending_at(trails: list[Floats], ends: Floats) -> list[Floats]:
    """The same, with the very ends that were asked about as their last rows."""
    return [np.concatenate([rows[:-1], end[None]]) for rows, end in zip(trails, ends, strict=True)]


def _scored(trails: list[Floats], scorer: Scorer) -> list[Floats]:
    if not trails:
        return []
    scores = scorer.score(np.concatenate(trails))
    return np.split(scores, np.cumsum([len(rows) for rows in trails])[:-1])


def _fall(scores: Floats) -> float:
    """By how much scores fall on the way, at most."""
    return float(np.max(np.maximum.accumulate(scores) - scores))


def _corners_of(people: dict[int, Feasible], ends: Floats) -> dict[int, Floats]:
    """The corners of some paths; not of those of a single thing, or of too many."""
    found = {path: _corners(person, ends[path]) for path, person in people.items()}
    return {path: rows for path, rows in found.items() if rows is not None}


def _in_turn(person: Feasible, corners: Floats, scores: Floats, scorer: Scorer) -> Floats:
    """The corners of a path that does one thing after the other: as the score falls the least."""
    margins = np.where(person.fulfils(corners), scorer.goal.margin(scores), -np.inf)
    orders = permutations(range(int(np.log2(len(corners)))))
    return corners[_along(min(orders, key=partial(_fall_along, margins)))]


def _fall_along(margins: Floats, order: tuple[int, ...]) -> float:
    return _fall(margins[_along(order)])


def _corners(person: Feasible, end: Floats) -> Floats | None:
    """Rows (2 ** things, features) that do some of the things on the way to an end, by their bits.

    None where there's a single thing, or too many.
    """
    things = np.flatnonzero(person.changes(end[None])[0])
    if not 2 <= len(things) <= THINGS:
        return None
    some = np.arange(2 ** len(things))[:, None] >> np.arange(len(things)) & 1
    rows = np.repeat(person.start, len(some), axis=0)
    rows[:, things] = np.where(some == 1, end[things], rows[:, things])
    rows = person.complete(rows)
    rows[-1] = end
    return rows


def _legs(person: Feasible, corners: Floats, step_size: float, max_steps: int) -> Floats:
    """One person's rows from corner to corner, in steps as small as there may be many."""
    counts = _steps(person.space, corners[:-1], corners[1:], step_size)
    while counts.sum() > max_steps and counts.max() > 1:
        counts[counts.argmax()] -= 1
    rows = [corners[:1]]
    for (here, there), count in zip(pairwise(corners), counts.tolist(), strict=True):
        shares = np.arange(1, count)[:, None] / count
        rows += [person.settle(here + shares * (there - here)), there[None]]
    return np.concatenate(rows)


def _along(order: tuple[int, ...]) -> list[int]:
    """The corners on the way, where things are done in an order."""
    return [0, *np.cumsum([1 << thing for thing in order]).tolist()]
