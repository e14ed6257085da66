"""Of many ends, a few that really differ: the easiest, the one of fewest things, and others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepladder.table.space import Floats, Mask

APART = 2.0
"""Within how many times the least cost an end that shares no feature goes before cheaper ones."""

OTHER = 0.75
"""Amounts are clearly other where a shared change is at most this part as large."""


@dataclass(frozen=True, eq=False)
class Options:
    """One person's ends: what each costs, which features it changes (e, features), by how much."""

    cost: Floats
    sets: Mask
    amounts: Floats
    """(e, features) signed changes, of a category 1"""


def choose(ends: Options, count: int) -> list[int]:
    """Up to `count` of a person's ends, the cheapest first; what hardly differs fills up."""
    order = np.argsort(ends.cost, kind="stable").tolist()
    if not order:
        return []
    first, things = order[0], ends.sets.sum(axis=1)
    chosen = [first]

    def add(candidates: list[int]) -> None:
        if candidates and len(chosen) < count:
            chosen.append(candidates[0])

    fewest = min(order, key=lambda e: (things[e], ends.cost[e]))
    if things[fewest] < things[first]:
        add([fewest])
    taken = ends.sets[chosen].any(axis=0)
    near = ends.cost <= APART * ends.cost[first]
    add([e for e in order if near[e] and not (ends.sets[e] & taken).any()])
    while len(chosen) < count:
        rest = [e for e in order if e not in chosen]
        apart = [e for e in rest if all(_apart(ends, e, c) for c in chosen)]
        other = [e for e in rest if all(_differ(ends, e, c) for c in chosen)]
        if not (found := apart or other or rest):
            break
        chosen.append(found[0])
    return sorted(chosen, key=order.index)


def _apart(ends: Options, one: int, other: int) -> bool:
    """Whether neither set of features holds the other."""
    mine, theirs = ends.sets[one], ends.sets[other]
    return bool((mine & ~theirs).any() and (theirs & ~mine).any())


def _differ(ends: Options, one: int, other: int) -> bool:
    """Whether two ends really differ: by their features, or clearly by their amounts."""
    if _apart(ends, one, other):
        return True
    shared = ends.sets[one] & ends.sets[other]
    mine, theirs = np.abs(ends.amounts[one][shared]), np.abs(ends.amounts[other][shared])
    small, large = np.minimum(mine, theirs), np.maximum(mine, theirs)
    opposite = np.sign(ends.amounts[one][shared]) != np.sign(ends.amounts[other][shared])
    return bool(shared.any() and ((small <= OTHER * large) | opposite).any())
