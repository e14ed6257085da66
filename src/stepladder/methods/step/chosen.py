"""Of many ends, a few that really differ: the easiest, the one of fewest things, and others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepladder.methods.step.judge import Ends, Indices, Judge
from stepladder.result.choices import amounts, differ
from stepladder.table.space import Floats, Mask

APART = 2.0
"""Within how many times the least cost an end that shares no feature goes before cheaper ones."""

NEAR = {"effort": 3.0, "distance": 1.25}
"""The same of any end that really differs, and of the one of fewest things, by the kind of cost."""

LITTLE = 3.0
"""An effort that's worth it for an end that really differs, whatever the least is."""


def picked(ends: Ends, judge: Judge, count: int) -> Indices:
    """Up to so many of each person's ends, in the order of their cost within each person."""
    own, kind = judge.feasible.take(ends.person), judge.cost.kind
    order = np.lexsort((ends.cost, ends.person))
    people = ends.person[order]
    place = np.arange(len(order)) - np.searchsorted(people, people)
    shape = len(judge.feasible), int(place.max(initial=-1)) + 1

    def of_each(side: NDArray[Any], nothing: float | bool) -> NDArray[Any]:
        """(people, ends of one, …) the same, with nothing where somebody has fewer ends."""
        found = np.full((*shape, *side.shape[1:]), nothing)
        found[people, place] = side[order]
        return found

    chosen = choose(
        of_each(ends.cost, np.inf),
        of_each(worth_it(ends, judge), False),
        of_each(own.changes(ends.rows), False),
        of_each(amounts(judge.space, own.start, ends.rows), 0.0),
        judge.space.unordered,
        count,
        by_sets=kind != "distance",
    )
    return np.asarray(order[chosen[people, place]])


def worth_it(ends: Ends, judge: Judge) -> Mask:
    """(e,) which ends don't cost too much beside their person's cheapest."""
    least = np.full(len(judge.feasible), np.inf)
    np.minimum.at(least, ends.person, ends.cost)
    kind = judge.cost.kind
    most = NEAR["distance" if kind == "distance" else "effort"] * least
    if kind == "effort":
        most = np.maximum(most, LITTLE)
    return np.asarray(ends.cost <= most[ends.person])


def choose(
    cost: Floats,
    near: Mask,
    sets: Mask,
    amounts: Floats,
    levels: Mask,
    count: int,
    *,
    by_sets: bool,
) -> Mask:
    """(n, e) up to so many of the e ends of each of n people; what hardly differs fills up.

    What costs too much isn't chosen, but for the cheapest, which is first of all.

    cost     (n, e) in order; infinite where a person has fewer ends
    near     (n, e) which don't cost too much to be offered for being different
    sets     (n, e, features) what each changes, and by how much: `amounts`
    levels   (features,) which are categories
    by_sets  whether other features count for more than cost: the end of fewest things is among
             them, and one that shares no feature with it, if there is one
    """
    chosen, things = np.zeros(cost.shape, dtype=bool), sets.sum(axis=2)
    if not chosen.size:
        return chosen
    apart, other = np.ones_like(chosen), np.ones_like(chosen)  # from all that are chosen

    def take(end: Indices, people: Indices) -> None:
        """Choose an end of each of some people."""
        chosen[people, end] = True
        mine, far = sets[people, end][:, None], amounts[people, end][:, None]
        theirs = sets[people]
        apart[people] &= (theirs & ~mine).any(axis=2) & (mine & ~theirs).any(axis=2)
        other[people] &= differ(theirs, mine, amounts[people], far, levels)

    anybody = np.flatnonzero(np.isfinite(cost[:, 0]))
    take(np.zeros(len(anybody), dtype=np.intp), anybody)
    if by_sets:
        everybody, first = np.arange(len(cost)), things[:, 0]
        fewest = np.where(near, things, things.max() + 1).argmin(axis=1)
        known = (sets[:, 0] | sets[everybody, fewest])[:, None]
        strange = ~(sets & known).any(axis=2) & (cost <= APART * cost[:, :1])
        wanted = np.where(things[everybody, fewest] < first, fewest, 0), strange.argmax(axis=1)
        for end in wanted:
            free = ~chosen[everybody, end] & (chosen.sum(axis=1) < count)
            people = np.flatnonzero(free & np.isfinite(cost[everybody, end]))
            take(end[people], people)
    for _ in range(count - 1):
        left = near & ~chosen
        people = np.flatnonzero(left.any(axis=1) & (chosen.sum(axis=1) < count))
        if not len(people):
            break
        better = np.where(left & apart & by_sets, 3, np.where(left & other, 2, left))
        take(better[people].argmax(axis=1), people)
    return chosen
