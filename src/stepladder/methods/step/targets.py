"""Whom a person could become: the positives that stay positive once projected onto their set.

The model is asked about projected rows, nearest first, in growing blocks, for all people and
clusters at once, until enough are found. What a person has in the end is a small set of targets
for each path, every one of them a row they could have tomorrow and that the model accepts. That
is what makes the search complete.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepladder.kernels.distance import Norm, measured
from stepladder.methods.asked import accepted
from stepladder.methods.pace import Pace, TimeUpError
from stepladder.methods.step.reference import Reference, profiles
from stepladder.model.scorer import Scorer
from stepladder.table.feasible import Feasible
from stepladder.table.space import Floats, Mask

Indices = NDArray[np.intp]

FIRST, GROWTH = 64, 4
"""How many positives of a cluster are asked about at first for a person, and how that grows."""

ENOUGH = 32
"""How many targets a path needs before the asking stops."""

MENDED = 4
"""How many positives that break a requirement once projected are mended, of those asked about at a
time for a person."""

PATIENCE = 4096
"""How many positives of a cluster are asked about in vain before another's are used instead."""

AT_ONCE = 2**17
"""About how many rows the model is asked about at a time, at most."""

TILE = 2**16
"""How many distances are worked out at a time: so few stay in the cache between columns."""

UNASKED = -1
"""In place of the model's answer."""


@dataclass(frozen=True, eq=False)
class Targets:
    """The targets of t paths: values (t, `ENOUGH`, features) and points (t, `ENOUGH`, columns)."""

    values: Floats
    points: Floats
    valid: Mask
    """(t, `ENOUGH`) which of them there are"""

    def take(self, paths: Indices) -> Targets:
        """Those of some of the paths."""
        return Targets(self.values[paths], self.points[paths], self.valid[paths])


def reachable(
    feasible: Feasible,
    reference: Reference,
    scorer: Scorer,
    pace: Pace,
) -> Targets:
    """The targets of n people's k paths, as n · k rows, person by person.

    A path with nothing near is left without, for others to `share` with it.
    """
    n, k = len(feasible), reference.slots
    screening = Screening(feasible, reference, scorer)
    with suppress(TimeUpError):
        counts = screening.run(reference.members, np.ones((n, k), dtype=bool), pace)
        # Whoever finds nothing in any cluster may still become a positive that is in none.
        lost = np.asarray(counts.sum(axis=1) == 0)
        if lost.any() and len(reference.strays):
            nothing = reference.strays[:0]
            members = [reference.strays, *[nothing] * (k - 1)]
            screening.run(members, np.repeat(lost[:, None], k, axis=1), pace)
    return screening.targets()


class Screening:
    """The asking for n people: what has been asked and found so far."""

    def __init__(self, feasible: Feasible, reference: Reference, scorer: Scorer) -> None:
        self.feasible, self.reference, self.scorer = feasible, reference, scorer
        self.paths: list[Indices] = []
        self.positives: list[Indices] = []
        self.distances = _projected_distances(feasible, reference)
        self.asked = np.zeros(self.distances.shape, dtype=bool)
        first, self.profile = profiles(feasible)
        self.known = np.full((len(first), len(reference.values)), UNASKED, dtype=np.int8)

    def run(self, members: list[Indices], wanted: Mask, pace: Pace) -> NDArray[np.int64]:
        """Ask about the members of each path's cluster for the paths `wanted` (n, k).

        Returns how many targets each path has got (n, k).
        """
        n, k = wanted.shape
        sizes = np.array([len(positives) for positives in members])
        counts = np.zeros((n, k), dtype=np.int64)
        undecided = wanted & (sizes > 0)
        block = FIRST
        while undecided.any() and not pace.expired:
            path, positive = self._next_block(undecided, members, block)
            met = self._meets_goal(path // k, positive)
            path, positive = path[met], positive[met]
            self.paths.append(path)
            self.positives.append(positive)
            counts += np.bincount(path, minlength=n * k).reshape(n, k)
            undecided = undecided & (sizes > block) & (counts < ENOUGH)
            if block >= PATIENCE:
                found = self.targets()
                for i in np.flatnonzero((undecided & (counts == 0)).any(axis=1)):
                    if _different(found, slice(i * k, i * k + k)) >= k:
                        undecided[i] &= counts[i] > 0
            block *= GROWTH
        return counts

    def _next_block(
        self, undecided: Mask, members: list[Indices], block: int
    ) -> tuple[Indices, Indices]:
        """The paths and positives to ask about next, the nearest first within each path."""
        paths, positives = [], []
        for c, choice in enumerate(members):
            people = np.flatnonzero(undecided[:, c])
            if not len(people):
                continue
            near = self.distances[np.ix_(people, choice)]
            if block < len(choice):
                chosen = np.argpartition(near, block - 1, axis=1)[:, :block]
            else:
                chosen = np.broadcast_to(np.arange(len(choice)), near.shape)
            order = np.take_along_axis(near, chosen, axis=1).argsort(axis=1, kind="stable")
            chosen = choice[np.take_along_axis(chosen, order, axis=1)]
            fresh = ~self.asked[people[:, None], chosen]
            self.asked[people[:, None], chosen] = True
            rows = np.broadcast_to(people[:, None], chosen.shape)[fresh]
            paths.append(rows * len(members) + c)
            positives.append(chosen[fresh])
        return np.concatenate(paths), np.concatenate(positives)

    def _meets_goal(self, people: Indices, positives: Indices) -> Mask:
        """Whether each positive still meets the goal once it's projected onto that person's set."""
        profile, count = self.profile[people], self.known.shape[1]
        fresh = np.flatnonzero(self.known[profile, positives] == UNASKED)
        cells, first = np.unique(profile[fresh] * count + positives[fresh], return_index=True)
        for start in range(0, len(cells), AT_ONCE):
            part = fresh[first[start : start + AT_ONCE]]
            own = self.feasible.take(people[part])
            rows = self.reference.settled(own, positives[part])
            mend = _worth_mending(own, rows, people[part], part)
            rows[mend] = own.take(mend).repair(rows[mend])
            met = accepted(own, rows, self.scorer)
            self.known.flat[cells[start : start + AT_ONCE]] = met
        return np.asarray(self.known[profile, positives] == 1)

    def targets(self) -> Targets:
        """What has been found so far, projected, as arrays with one row per path."""
        return _gathered(self.paths, self.positives, self.feasible, self.reference)


def _worth_mending(own: Feasible, rows: Floats, people: Indices, order: Indices) -> Indices:
    """Which of the rows that break a requirement are mended: the first few of each person.

    order  (n,) rows come in, the nearest of each person first
    """
    broken = np.flatnonzero(~(own.fulfils(rows) & own.passes(rows)))
    broken = broken[np.lexsort((order[broken], people[broken]))]
    firsts = np.searchsorted(people[broken], people[broken])
    return np.asarray(broken[np.arange(len(broken)) - firsts < MENDED])


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


def _farther_half(targets: Targets, path: int) -> Indices:
    """The indices of those targets that lie nearer to the farthest one than to the nearest."""
    indices = np.flatnonzero(targets.valid[path])
    if len(indices) < 2:
        return indices[:0]
    points = targets.points[path, indices]
    from_first = np.linalg.norm(points - points[0], axis=1)
    from_far = np.linalg.norm(points - points[from_first.argmax()], axis=1)
    return np.asarray(indices[from_far < from_first])


def _gathered(
    paths: list[Indices], positives: list[Indices], feasible: Feasible, reference: Reference
) -> Targets:
    """The positives found, projected, as arrays with one row per path."""
    space, k = feasible.space, reference.slots
    count = len(feasible) * k
    path = np.concatenate(paths) if paths else np.empty(0, dtype=np.intp)
    positive = np.concatenate(positives) if positives else np.empty(0, dtype=np.intp)
    order = path.argsort(kind="stable")  # keeps nearest first within a path
    path, positive = path[order], positive[order]
    firsts = np.searchsorted(path, np.arange(count))
    rank = np.arange(len(path)) - firsts[path]
    path, positive, rank = (a[rank < ENOUGH] for a in (path, positive, rank))
    rows = reference.projected(feasible.take(path // k), positive)
    # As wide as it can get: sums then have one order, whoever else is asked about.
    values = np.zeros((count, ENOUGH, len(space.schema)))
    points = np.zeros((count, ENOUGH, int(reference.columns.sum())))
    valid = np.zeros((count, ENOUGH), dtype=bool)
    values[path, rank] = rows
    points[path, rank] = space.to_points(rows)[:, reference.columns]
    valid[path, rank] = True
    return Targets(values, points, valid)


def _projected_distances(feasible: Feasible, reference: Reference) -> Floats:
    """(n, N) squared distances from each person to each positive projected onto their set.

    Good enough to tell near from far; the directions are computed exactly elsewhere. Each is
    summed column by column, not by a matrix product, whose last digit depends on the other rows in
    it: that would let the order of two positives, and so a path, depend on who else is asked about.
    """
    columns, norm = reference.columns, reference.norm
    here = feasible.space.to_points(feasible.start)[:, columns]
    there = reference.points[:, columns]
    low, high = (side[:, columns] for side in feasible.box)
    if norm is not None and norm.ndim == 2:
        return _whitened(here, there, low, high, norm)
    squared = np.zeros((len(here), len(there)))
    rows = max(1, TILE // max(1, len(there)))
    apart = np.empty((rows, len(there)))
    by_column = np.ascontiguousarray(there.T)
    for start in range(0, len(here), rows):
        part = slice(start, start + rows)
        own, gap = squared[part], apart[: len(squared[part])]
        for j, column in enumerate(by_column):
            if low[part, j].max() > column.min() or high[part, j].min() < column.max():
                np.clip(column, low[part, j, None], high[part, j, None], out=gap)
                np.subtract(gap, here[part, j, None], out=gap)
            else:
                np.subtract(column, here[part, j, None], out=gap)
            if norm is not None:
                gap *= norm[j]
            own += np.square(gap, out=gap)
    return squared


def _whitened(here: Floats, there: Floats, low: Floats, high: Floats, norm: Norm) -> Floats:
    """The same where a whitening mixes columns: one person at a time, so products are alike."""
    return np.stack(
        [
            np.square(measured(np.clip(there, low[i], high[i]) - here[i], norm)).sum(axis=1)
            for i in range(len(here))
        ]
    )
