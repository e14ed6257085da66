"""Whom a person could become: the positives that stay positive once projected onto their set.

The model is asked about projected rows, nearest first, in growing blocks, for all people and
clusters at once, until enough are found. What a person has in the end is a small set of targets
for each path, every one of them a row they could have tomorrow and that the model accepts. That
is what makes the search complete.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepladder.feasible import Feasible
from stepladder.kernels.distance import Metric, place
from stepladder.methods.pace import Pace
from stepladder.methods.step.reference import Reference
from stepladder.scorer import Scorer
from stepladder.space import Floats, Mask

Places = NDArray[np.intp]

FIRST, GROWTH = 64, 4
"""How many positives of a cluster are asked about at first for a person, and how that grows."""

ENOUGH = 32
"""How many targets a path needs before the asking stops."""

PATIENCE = 4096
"""How many positives of a cluster are asked about in vain before another's are used instead."""


@dataclass(frozen=True, eq=False)
class Targets:
    """The targets of t paths, at most w each: values (t, w, features), points (t, w, columns)."""

    values: Floats
    points: Floats
    valid: Mask
    """(t, w) which of them there are"""

    def take(self, paths: Places) -> Targets:
        return Targets(self.values[paths], self.points[paths], self.valid[paths])


def reachable(
    feasible: Feasible,
    reference: Reference,
    scorer: Scorer,
    pace: Pace,
    *,
    ask: bool,
    patient: bool,
) -> Targets:
    """The targets of n people's k paths, as n · k rows, person by person.

    Without `ask`, the nearest projected positives are taken on trust. Unless `patient`, a path
    with nothing near is left without, for others to `share` with it.
    """
    n, k = len(feasible), reference.slots
    sizes = np.array([len(members) for members in reference.members])
    distances = _projected_distances(feasible, reference)
    asked = np.zeros(distances.shape, dtype=bool)
    counts = np.zeros((n, k), dtype=np.int64)
    paths: list[Places] = []
    positives: list[Places] = []
    block = FIRST
    undecided = np.broadcast_to(sizes > 0, (n, k))
    while undecided.any() and not pace.expired:
        path, positive = _next_block(undecided, distances, asked, reference, block)
        if ask:
            met = _meets_goal(feasible, path // k, positive, reference, scorer, pace)
            path, positive = path[met], positive[met]
        paths.append(path)
        positives.append(positive)
        counts += np.bincount(path, minlength=n * k).reshape(n, k)
        undecided = (sizes > block) & (counts < ENOUGH)
        if block >= PATIENCE and not patient:
            found = _gathered(paths, positives, feasible, reference)
            for i in np.flatnonzero((undecided & (counts == 0)).any(axis=1)):
                if _different(found, slice(i * k, i * k + k)) >= k:
                    undecided[i] &= counts[i] > 0
        block *= GROWTH
    return _gathered(paths, positives, feasible, reference)


def _different(targets: Targets, paths: slice) -> int:
    """How many targets some paths have, those that a path has twice counted once."""
    pairs = zip(targets.points[paths], targets.valid[paths], strict=True)
    return sum(len(np.unique(points[valid], axis=0)) for points, valid in pairs)


def share(targets: Targets, slots: int) -> None:
    """Give each path without a target half of those of the same person's richest path.

    In place. The halves lie around the nearest target and around the one farthest from it, so a
    path whose targets are all the same row has none to give.
    """
    counts = targets.valid.sum(axis=1)
    for empty in np.flatnonzero(counts == 0):
        mine = np.arange(empty - empty % slots, empty - empty % slots + slots)
        for rich in mine[np.argsort(-counts[mine], kind="stable")]:
            moved = _farther_half(targets, rich)
            if len(moved):
                for array in (targets.values, targets.points):
                    array[empty, moved] = array[rich, moved]
                targets.valid[empty, moved] = True
                targets.valid[rich, moved] = False
                counts[empty], counts[rich] = len(moved), counts[rich] - len(moved)
                break


def _farther_half(targets: Targets, path: int) -> Places:
    """The places of those targets that lie nearer to the farthest one than to the nearest."""
    places = np.flatnonzero(targets.valid[path])
    if len(places) < 2:
        return places[:0]
    points = targets.points[path, places]
    from_first = np.linalg.norm(points - points[0], axis=1)
    from_far = np.linalg.norm(points - points[from_first.argmax()], axis=1)
    return np.asarray(places[from_far < from_first])


def _next_block(
    undecided: Mask, distances: Floats, asked: Mask, reference: Reference, block: int
) -> tuple[Places, Places]:
    """The paths and positives to ask about next, the nearest first within each path."""
    paths, positives = [], []
    for c, members in enumerate(reference.members):
        people = np.flatnonzero(undecided[:, c])
        if not len(people):
            continue
        near = distances[np.ix_(people, members)]
        if block < len(members):
            chosen = np.argpartition(near, block - 1, axis=1)[:, :block]
        else:
            chosen = np.broadcast_to(np.arange(len(members)), near.shape)
        order = np.take_along_axis(near, chosen, axis=1).argsort(axis=1, kind="stable")
        chosen = members[np.take_along_axis(chosen, order, axis=1)]
        fresh = ~asked[people[:, None], chosen]
        asked[people[:, None], chosen] = True
        rows = np.broadcast_to(people[:, None], chosen.shape)[fresh]
        paths.append(rows * reference.slots + c)
        positives.append(chosen[fresh])
    return np.concatenate(paths), np.concatenate(positives)


def _meets_goal(
    feasible: Feasible,
    people: Places,
    positives: Places,
    reference: Reference,
    scorer: Scorer,
    pace: Pace,
) -> Mask:
    """Whether each positive still meets the goal once it's projected onto that person's set."""
    met = np.zeros(len(people), dtype=bool)
    for start in range(0, len(people), 2**17):
        if pace.expired:
            break
        part = slice(start, start + 2**17)
        rows = _projected(feasible, people[part], reference.values[positives[part]])
        met[part] = scorer.met(scorer.score(rows))
    return met


def _projected(feasible: Feasible, people: Places, values: Floats) -> Floats:
    """π on values: allowed ones stay so, for the ends of each interval are allowed too."""
    return np.clip(values, feasible.lower[people], feasible.upper[people])


def _gathered(
    paths: list[Places], positives: list[Places], feasible: Feasible, reference: Reference
) -> Targets:
    """The positives found, projected, as arrays with one row a path."""
    space, k = feasible.space, reference.slots
    count = len(feasible) * k
    path = np.concatenate(paths) if paths else np.empty(0, dtype=np.intp)
    positive = np.concatenate(positives) if positives else np.empty(0, dtype=np.intp)
    order = path.argsort(kind="stable")  # keeps nearest first within a path
    path, positive = path[order], positive[order]
    firsts = np.searchsorted(path, np.arange(count))
    rank = np.arange(len(path)) - firsts[path]
    path, positive, rank = (a[rank < ENOUGH] for a in (path, positive, rank))
    width = max(int(rank.max(initial=0)) + 1, 1)
    rows = _projected(feasible, path // k, reference.values[positive])
    values = np.zeros((count, width, len(space.schema)))
    points = np.zeros((count, width, int(reference.columns.sum())))
    valid = np.zeros((count, width), dtype=bool)
    values[path, rank] = rows
    points[path, rank] = space.to_points(rows)[:, reference.columns]
    valid[path, rank] = True
    return Targets(values, points, valid)


def _projected_distances(feasible: Feasible, reference: Reference) -> Floats:
    """(n, N) squared distances from each person to each positive projected onto their set.

    Good enough to tell near from far; the directions are computed exactly elsewhere.
    """
    columns, metric = reference.columns, reference.metric
    here = feasible.space.to_points(feasible.start)[:, columns]
    there = reference.points[:, columns]
    low, high = (side[:, columns] for side in feasible.box)
    # Only a column that clips a positive for somebody needs work of its own.
    held = (low.max(axis=0) > there.min(axis=0)) | (high.min(axis=0) < there.max(axis=0))
    if metric is not None and metric.ndim == 2 and held.any():
        return _one_by_one(here, there, low, high, metric)
    x, y = here[:, ~held], there[:, ~held]
    weights = np.ones(len(held)) if metric is None or metric.ndim == 2 else metric**2
    if metric is not None and metric.ndim == 2:
        x, y = place(x, metric), place(y, metric)
    else:
        x, y = x * np.sqrt(weights[~held]), y * np.sqrt(weights[~held])
    squared = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - 2.0 * (x @ y.T)
    for j in np.flatnonzero(held):
        clipped = np.clip(there[:, j], low[:, [j]], high[:, [j]]) - here[:, [j]]
        squared += weights[j] * np.square(clipped, out=clipped)
    return np.asarray(squared)


def _one_by_one(here: Floats, there: Floats, low: Floats, high: Floats, metric: Metric) -> Floats:
    """The same where a whitening mixes columns that are clipped with others."""
    return np.stack(
        [
            (place(np.clip(there, low[i], high[i]) - here[i], metric) ** 2).sum(axis=1)
            for i in range(len(here))
        ]
    )
