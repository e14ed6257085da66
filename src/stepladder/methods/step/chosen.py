"""Of many ends, a few that really differ: the easiest, the one of fewest things, and others."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from stepladder.methods.step.judge import Ends, Indices, Judge
from stepladder.result.choices import amounts, differ, levels_of
from stepladder.table.space import Floats, Mask

APART = 2.0
"""Within how many times the least cost an end that shares no feature goes before cheaper ones."""


def picked(ends: Ends, judge: Judge, count: int) -> Indices:
    """Up to so many of each person's ends, in the order of their cost within each person."""
    own, levels = judge.feasible.take(ends.person), levels_of(judge.space)
    sets, moved = own.changes(ends.rows), amounts(judge.space, own.start, ends.rows)
    order = np.lexsort((ends.cost, ends.person))
    bounds = np.searchsorted(ends.person[order], np.arange(len(judge.feasible) + 1))
    found = [np.empty(0, dtype=np.intp)]
    for low, high in pairwise(bounds):
        mine = order[low:high]
        if len(mine):
            found.append(mine[choose(ends.cost[mine], sets[mine], moved[mine], levels, count)])
    return np.concatenate(found)


def choose(cost: Floats, sets: Mask, amounts: Floats, levels: Mask, count: int) -> Indices:
    """Up to so many of one person's e ends, the cheapest first; what hardly differs fills up.

    sets    (e, features) what each changes, and by how much: `amounts`
    levels  (features,) which are categories
    """
    things, chosen = sets.sum(axis=1), [0]
    apart, other = np.ones(len(cost), dtype=bool), np.ones(len(cost), dtype=bool)

    def mark(end: int) -> None:
        """Note which ends differ from all that are chosen."""
        nonlocal apart, other
        apart &= (sets & ~sets[end]).any(axis=1) & (sets[end] & ~sets).any(axis=1)
        other &= differ(sets, sets[end], amounts, amounts[end], levels)

    mark(0)
    fewest = int(np.lexsort((cost, things))[0])
    strangers = ~(sets & sets[[0, fewest]].any(axis=0)).any(axis=1) & (cost <= APART * cost[0])
    for wanted in (fewest if things[fewest] < things[0] else 0, int(strangers.argmax())):
        if wanted not in chosen and len(chosen) < count:
            chosen.append(wanted)
            mark(wanted)
    while len(chosen) < min(count, len(cost)):
        left = np.ones(len(cost), dtype=bool)
        left[chosen] = False
        better = [mask for mask in (left & apart, left & other, left) if mask.any()]
        chosen.append(int(better[0].argmax()))
        mark(chosen[-1])
    return np.array(sorted(chosen), dtype=np.intp)
