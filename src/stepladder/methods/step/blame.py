"""Which rules keep a person from every positive, in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import listing
from stepladder.methods.step.reference import Reference
from stepladder.model.scorer import Scorer
from stepladder.table.feasible import Feasible
from stepladder.table.space import Floats


def blame(
    people: NDArray[np.intp], feasible: Feasible, reference: Reference, scorer: Scorer
) -> dict[int, str]:
    """For people who can become no positive, the rules that would have to give, in words.

    For each, the positive that the fewest rules keep them from; and of those rules only the ones
    that have to be given up for its row to meet the goal.
    """
    space, reasons = feasible.space, dict[int, str]()
    names = space.schema.names
    if not len(people):
        return reasons
    if reference.ranges is not None:  # what made-up rows are kept from says nothing
        way = "no row with what this person can't change was found that the model accepts"
        return dict.fromkeys(people.tolist(), way)
    own, nearest, given_up = feasible.take(people), [], []
    for person in people:
        stopped = feasible.take(np.array([person])).broken(reference.found) & ~space.links.linked
        nearest.append(int(stopped.sum(axis=1).argmin()))
        given_up.append(stopped[nearest[-1]])
    free = np.array(given_up)
    there = np.where(reference.found[nearest] == own.start, own.start, reference.values[nearest])
    allowed = own.complete(own.nearest(there))
    row = own.complete(np.where(free, reference.found[nearest], allowed))
    rules = -1
    while free.sum() != rules:  # one that is kept may be spared once another is
        rules = free.sum()
        for f in range(len(names)):
            trial = row.copy()
            trial[:, f] = allowed[:, f]
            trial = own.complete(trial)
            unneeded = np.flatnonzero(free[:, f])
            unneeded = unneeded[scorer.met(scorer.score(trial[unneeded]))]
            row[unneeded], free[unneeded, f] = trial[unneeded], False
    met = scorer.met(scorer.score(row))
    for i, person in enumerate(people.tolist()):
        one = own.take(slice(i, i + 1))
        needed = [name for name, gives in zip(names, free[i], strict=True) if gives]
        why = _in_words(one, row[[i]], needed, met=bool(met[i]))
        reasons[person] = f"none of the {len(reference.found)} positives can be reached; {why}"
    return reasons


def _in_words(one: Feasible, row: Floats, features: list[str], *, met: bool) -> str:
    """What one person would have to be spared for a row (1, features), which may meet the goal."""
    if not met:
        follows = np.flatnonzero(one.space.links.linked)
        if not len(follows):  # the model said yes to a row that it now says no to
            return "the model doesn't always say the same of the same row"
        names = [one.space.schema.names[f] for f in follows]
        return f"what follows from other features comes out otherwise here: {listing(names)}"
    names = features + [name for name in one.lost(row) if name not in features]
    ways = [f"the rules on {', '.join(names)}"] if names else []
    parts = [part.formula.text for part in (*one.missed(row), *one.refused(row))]
    if parts:
        ways.append(f"the requirement {listing(parts)}")
    if one.max_changes is not None and one.changes(row).sum() > one.max_changes:
        ways.append(f"max_changes={one.max_changes}")
    if not ways:  # all of it may be kept at the end, but not by hops on the way there
        hopping = [one.space.schema.names[f] for f in one.space.hops.allowed]
        ways = [f"the moves of {', '.join(hopping)}"] if hopping else []
    if not ways:
        return "the model doesn't always say the same of the same row"
    return f"it would be enough to give up {' and '.join(ways)}"
