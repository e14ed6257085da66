"""What people are offered of all that was found: k ends each, with the amounts they really need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepladder.methods.step import sizes
from stepladder.methods.step.chosen import picked, worth_it
from stepladder.methods.step.gathered import Found
from stepladder.methods.step.judge import Ends, Indices, Judge
from stepladder.table.space import Mask

FEWEST, TIMES = 6, 2
"""How many ends of a person have their amounts made as small as will do: at least so many, and so
many times as many as there are paths."""


@dataclass(frozen=True, eq=False)
class Offers:
    """Ends by person and cost, and which of them are tight, or don't hold as surely as asked."""

    ends: Ends
    tight: Mask
    unsure: Mask


def offered(judge: Judge, found: Found, slots: int) -> Offers:
    """Up to `slots` ends for each person; tight or unsure ones only for people without others."""
    noted = _of_note(judge, found.good)
    few = noted.take(picked(noted, judge, max(FEWEST, TIMES * slots)))
    few = sizes.eased(judge, few).first()
    if judge.cost.kind == "distance":  # a little further the same way is nearer than another way
        more = sizes.larger(judge, few)
        few = few.plus(more.take(judge.sure(more.rows))).first()
    best = sizes.rounded(judge, few.take(picked(few, judge, slots)))
    # What is left over holds the next easiest, however like the others they are.
    good = _filled(best, few.take(worth_it(few, judge)), slots)
    for times in (sizes.LARGER, sizes.HARDLY):
        counts = _counts(good, judge)
        lacking = np.flatnonzero((counts > 0) & (counts < slots))
        if len(lacking):
            more = sizes.larger(judge, good.take(np.isin(good.person, lacking)), times)
            good = _filled(good, more.take(judge.sure(more.rows)), slots)
    if judge.holds is None:  # what has to hold may lie far out, and isn't worth a slot then
        good = _filled(good, found.good, slots)
    # Better an easiest end that isn't round than a path that leads nowhere.
    good = _filled(good, noted, slots, cheaper=True)
    unsure = _surest(judge, _of_others(found.unsure, good, judge).first(), slots)
    both = good.plus(unsure)
    tight = _of_others(found.tight, both, judge).first()
    if judge.holds is not None:
        tight = _surest(judge, tight, slots)
    tight = tight.take(picked(tight, judge, slots))
    ends = both.plus(tight)
    order = np.lexsort((ends.cost, ends.person))
    kind = np.repeat([0, 1, 2], [len(good), len(unsure), len(tight)])[order]
    doubtful = (kind == 1) | ((kind == 2) & (judge.holds is not None))
    return Offers(ends.take(order), kind == 2, doubtful)


def _of_note(judge: Judge, ends: Ends) -> Ends:
    """The ends without a change too small to notice; all of a person's where there's none."""
    plain = np.asarray(~judge.trifles(ends.person, ends.rows).any(axis=1))
    counts = _counts(ends.take(plain), judge)
    return ends.take(plain | (counts[ends.person] == 0))


def _of_others(ends: Ends, others: Ends, judge: Judge) -> Ends:
    """The ends of people who have none of the others."""
    return ends.take(_counts(others, judge)[ends.person] == 0)


def _surest(judge: Judge, ends: Ends, count: int) -> Ends:
    """So many of each person's ends that hold most surely."""
    if judge.successors is None or not len(ends):
        return ends
    order = np.lexsort((-judge.successors.surest(ends.rows), ends.person))
    place = np.arange(len(order)) - np.searchsorted(ends.person[order], ends.person[order])
    return ends.take(order[place < count])


def _counts(ends: Ends, judge: Judge) -> Indices:
    """(n,) how many ends each person has."""
    return np.bincount(ends.person, minlength=len(judge.feasible))


def _filled(ends: Ends, more: Ends, count: int, *, cheaper: bool = False) -> Ends:
    """Each person's ends, and the cheapest of `more`, up to so many.

    Unless `cheaper` ones will do, these cost no less than the easiest of the ends.
    """
    ends = ends.first()
    least = np.full(1 + max(ends.person.max(initial=-1), more.person.max(initial=-1)), np.inf)
    np.minimum.at(least, ends.person, ends.cost)
    if not cheaper:
        more = more.take(more.cost >= least[more.person])
    every = ends.plus(more).first()
    filler = np.arange(len(every)) >= len(ends)
    order = np.lexsort((every.cost, filler, every.person))
    place = np.arange(len(order)) - np.searchsorted(every.person[order], every.person[order])
    return every.take(np.sort(order[place < count]))
