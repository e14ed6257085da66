"""Of many ends, a few that really differ: the easiest, the one of fewest things, and others."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

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
    own, levels, kind = judge.feasible.take(ends.person), judge.space.unordered, judge.cost.kind
    near = worth_it(ends, judge)
    sets, moved = own.changes(ends.rows), amounts(judge.space, own.start, ends.rows)
    order = np.lexsort((ends.cost, ends.person))
    bounds = np.searchsorted(ends.person[order], np.arange(len(judge.feasible) + 1))
    found = [np.empty(0, dtype=np.intp)]
    for low, high in pairwise(bounds):
        mine = order[low:high]
        if len(mine):
            about = ends.cost[mine], near[mine], sets[mine], moved[mine], levels
            found.append(mine[choose(*about, count, by_sets=kind != "distance")])
    return np.concatenate(found)


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
) -> Indices:
    """Up to so many of one person's e ends, the cheapest first; what hardly differs fills up.

    What costs too much isn't chosen, but for the cheapest.

    near     (e,) which don't cost too much to be offered for being different
    sets     (e, features) what each changes, and by how much: `amounts`
    levels   (features,) which are categories
    by_sets  whether other features count for more than cost: the end of fewest things is among
             them, and one that shares no feature with it, if there is one
    """
    things, chosen = sets.sum(axis=1), [0]
    apart, other = np.ones(len(cost), dtype=bool), np.ones(len(cost), dtype=bool)

    def mark(end: int) -> None:
        """Note which ends differ from all that are chosen."""
        nonlocal apart, other
        apart &= (sets & ~sets[end]).any(axis=1) & (sets[end] & ~sets).any(axis=1)
        other &= differ(sets, sets[end], amounts, amounts[end], levels)

    mark(0)
    fewest = int(np.lexsort((cost, things, ~near))[0])
    strangers = ~(sets & sets[[0, fewest]].any(axis=0)).any(axis=1) & (cost <= APART * cost[0])
    for wanted in (fewest if things[fewest] < things[0] else 0, int(strangers.argmax())):
        if by_sets and wanted not in chosen and len(chosen) < count:
            chosen.append(wanted)
            mark(wanted)
    while len(chosen) < min(count, near.sum()):
        left = near.copy()
        left[chosen] = False
        better = (left & apart & by_sets, left & other, left)
        chosen.append(int(next(mask for mask in better if mask.any()).argmax()))
        mark(chosen[-1])
    return np.array(sorted(chosen), dtype=np.intp)
