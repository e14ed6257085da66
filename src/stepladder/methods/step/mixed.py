"""Targets for people who could become no positive: rows put together from values positives have.

(Where the positives are made up, values within and beyond what the schema declares count too.)

Someone who can't become any one positive, since what they can't change spoils it, may still become
a row that the model accepts. From a projected positive of each cluster, one feature after another
takes the value that brings the score nearest to the goal, until it's met or nothing helps any more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepladder.methods.asked import margins
from stepladder.methods.pace import Pace
from stepladder.methods.step.reference import Reference, profiles
from stepladder.model.scorer import Scorer
from stepladder.table.feasible import Feasible
from stepladder.table.feature import Numeric
from stepladder.table.space import Floats, Mask, Space

STARTS = 64
"""Among how many projected positives of a cluster the best one to start from is looked for."""

TRIES = 4
"""From how many of those each path tries."""

VALUES = 16
"""How many values of a feature are tried, spread evenly over those that positives have."""

BEYOND = (1, 2, 4, 8)
"""How far beyond a declared range values are tried, in lengths of it, where bounds allow."""

Tried = list[tuple[int, float]]
"""Features, by their indices, and values to try for them."""

ROUNDS = 12
"""How many features may take another value, at most."""

AT_ONCE = 2**16
"""About how many rows the model is asked about at a time."""


def mixed(
    feasible: Feasible, reference: Reference, scorer: Scorer, pace: Pace
) -> tuple[Floats, Mask]:
    """A row for each of n people's k paths (n · k, features), and which of them meet the goal."""
    first, profile = profiles(feasible)
    each = feasible.take(np.repeat(first, reference.slots * TRIES))
    rows, beyond = _starts(each, reference, scorer)
    tried = _tried(reference.values, feasible.space)
    if reference.ranges is not None:
        tried = sorted({*tried, *declared(feasible.space, reference.ranges)})
    climb(rows, beyond, each, tried, scorer, pace)
    beyond = beyond.reshape(-1, TRIES)
    best = np.arange(len(beyond)), beyond.argmax(axis=1)
    shape = (len(first), reference.slots)
    ends = rows.reshape(*beyond.shape, -1)[best].reshape(*shape, -1)[profile]
    met = (beyond[best] >= 0).reshape(shape)[profile]
    return ends.reshape(-1, rows.shape[1]), met.reshape(-1)


def climb(
    rows: Floats, beyond: Floats, each: Feasible, tried: Tried, scorer: Scorer, pace: Pace
) -> None:
    """Change rows (t, features), a value at a time, until they meet the goal or nothing helps.

    In place; `beyond` (t,) says how far each is beyond the goal, -inf for one to leave alone.
    """
    going = np.flatnonzero((beyond < 0) & np.isfinite(beyond))
    for _ in range(ROUNDS):
        if not len(going) or not tried or pace.expired:
            break
        better, gained = _improved(rows[going], each.take(going), tried, scorer, pace)
        helps = gained > beyond[going]
        rows[going[helps]], beyond[going[helps]] = better[helps], gained[helps]
        going = going[helps & (beyond[going] < 0)]


def declared(space: Space, ranges: Floats) -> Tried:
    """Values spread over what each feature is declared to lie within (features, 2), and beyond.

    Levels are all of them. No reference row has a say in these.
    """
    tried: Tried = []
    for f, (feature, (low, high)) in enumerate(zip(space.schema.features, ranges, strict=True)):
        if not feature.chosen:
            continue
        values = np.arange(low, high + 1)
        if isinstance(feature, Numeric):
            beyond = np.multiply(BEYOND, high - low)
            values = np.concatenate([np.linspace(low, high, VALUES), low - beyond, high + beyond])
        rows = np.zeros((len(values), len(ranges)))
        rows[:, f] = values
        tried += [(f, float(value)) for value in np.unique(space.grid.nearest(rows)[:, f])]
    return tried


def _starts(each: Feasible, reference: Reference, scorer: Scorer) -> tuple[Floats, Floats]:
    """For each path the `TRIES` projected positives of its cluster nearest to meeting the goal.

    In place of the last of them, the first path begins at the person's own row. A path whose
    cluster is empty has nowhere else to start from: it's infinitely far from the goal.
    """
    shape = (-1, reference.slots, TRIES)
    rows, beyond = each.start.copy(), np.full(len(each), -np.inf)
    by_path, by_path_beyond = rows.reshape(*shape, rows.shape[1]), beyond.reshape(shape)
    for c, members in enumerate(reference.members):
        if not len(members):
            continue
        some = members[np.unique(np.linspace(0, len(members) - 1, STARTS).astype(np.intp))]
        own = each.take(slice(None, None, reference.slots * TRIES))
        people = np.repeat(np.arange(len(own)), len(some))
        many = reference.projected(own.take(people), np.tile(some, len(own)))
        found = margins(own.take(people), many, scorer).reshape(len(own), len(some))
        many = many.reshape(len(own), len(some), -1)
        order = np.argsort(-found, axis=1, kind="stable")
        best = order[:, np.arange(TRIES) % order.shape[1]]  # a small cluster's are tried again
        by_path[:, c] = np.take_along_axis(many, best[:, :, None], axis=1)
        by_path_beyond[:, c] = np.take_along_axis(found, best, axis=1)
    own = each.take(slice(None, None, reference.slots * TRIES))
    by_path[:, 0, -1] = own.repair(own.start)
    by_path_beyond[:, 0, -1] = margins(own, by_path[:, 0, -1], scorer)
    return rows, beyond


def _tried(rows: Floats, space: Space) -> Tried:
    """The features and values to try: those of the positives (N, features), evenly spread."""
    tried = []
    for f in np.flatnonzero(space.links.chosen).tolist():
        column = rows[~np.isnan(rows[:, f]), f]
        values = np.unique(column)
        if len(values) > VALUES:
            shares = np.linspace(0, 1, VALUES)
            values = np.unique(np.quantile(column, shares, method="nearest"))
        tried += [(f, float(value)) for value in values]
    return tried


def _improved(
    rows: Floats, each: Feasible, tried: Tried, scorer: Scorer, pace: Pace
) -> tuple[Floats, Floats]:
    """Each row with the one value changed that helps most, and how far it then is from the goal.

    Beside the values `tried`, each of their features may go back to the person's own value, and to
    either end of what may be asked of them.
    """
    better, gained = rows.copy(), np.full(len(rows), -np.inf)
    shared: NDArray[np.intp] = np.array([f for f, _ in tried], dtype=np.intp)
    personal = np.tile(np.unique(shared), 3)
    features = np.concatenate([shared, personal])
    values = np.array([value for _, value in tried])
    size = max(1, AT_ONCE // len(features))
    for start in range(0, len(rows), size):
        if pace.expired:
            break
        part = slice(start, start + size)
        own, count = each.take(part), len(features)
        many = np.repeat(rows[part][:, None], count, axis=1)
        many[:, np.arange(len(shared)), shared] = values
        many[:, np.arange(len(shared), count), personal] = _own_values(own, np.unique(shared))
        own = own.take(np.repeat(np.arange(len(own)), count))
        many = own.repair(many.reshape(-1, rows.shape[1]))
        found = margins(own, many, scorer).reshape(-1, count)
        best = np.arange(len(found)), found.argmax(axis=1)
        better[part], gained[part] = many.reshape(*found.shape, -1)[best], found[best]
    return better, gained


def _own_values(own: Feasible, features: NDArray[np.intp]) -> Floats:
    """(n, 3 · features) what people have, and the ends of what may be asked of them, if any."""
    start, (lower, upper) = own.start, own.reachable
    ends = [np.where(np.isfinite(side), side, start)[:, features] for side in (lower, upper)]
    return np.concatenate([start[:, features], *ends], axis=1)
