"""How much of each change an end really needs, and amounts that a person would say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepladder.methods.step.judge import Ends, Indices, Judge, amounts
from stepladder.table.rules.links import changed
from stepladder.table.space import Floats, Mask

PARTS, LEVELS = 5, 3
"""Into how many parts a change is cut to find how much of it will do, and how often."""

SHARES = (0.0, 0.25, 0.5, 0.75)
"""What part of a single change is tried, all others being as they are."""

ROUND = (2, 10, 20, 100)
"""By what a change's power of ten is divided for the unit that its value is rounded to."""

FURTHER = 0.05
"""What part of a change may be added for a rounder value, at most."""

LARGER = (1.1, 1.25, 1.5)
"""How many times as large amounts are tried where there's no other end to offer."""

HARDLY = (1.01, 1.02, 1.03, 1.05)
"""The same where those aren't within reach either."""


def eased(judge: Judge, ends: Ends) -> Ends:
    """Ends that get a yes with slack, with as little change as still does."""
    rows = _one_by_one(judge, ends.person, _together(judge, ends.person, ends.rows))
    return _weighed(judge, ends, rows)


def _weighed(judge: Judge, ends: Ends, rows: Floats) -> Ends:
    """The same ends at other rows, where those cost less."""
    cost = judge.cost.of(judge.feasible.take(ends.person), rows)
    less = cost < ends.cost
    return Ends(
        ends.person,
        np.where(less[:, None], rows, ends.rows),
        ends.beyond,
        np.where(less, cost, ends.cost),
    )


def _together(judge: Judge, person: Indices, ends: Floats) -> Floats:
    """Ends with all their amounts in proportion, as small as will do."""
    own = judge.feasible.take(person)
    moving, way = amounts(own, ends), np.nan_to_num(ends - own.start)
    least = np.where(moving, judge.noticed / np.where(moving, np.abs(way), 1.0), 0.0)
    low, best = np.minimum(least.max(axis=1), 1.0), ends.copy()
    width = (1.0 - low) / PARTS
    going = np.flatnonzero(moving.any(axis=1) & (low < 1.0))
    for level in range(LEVELS):
        # At first the least that would be noticed is tried too.
        tried = np.arange(level != 0, PARTS)
        shares = low[going, None] + width[going, None] * tried
        rows = own.start[going, None] + shares[:, :, None] * way[going, None]
        rows = np.where(moving[going, None], rows, ends[going, None])
        each = np.repeat(going, len(tried))
        rows = own.take(each).settle(rows.reshape(-1, ends.shape[1]))
        yes = judge.yes(person[each], rows).reshape(-1, len(tried))
        hit, at = yes.any(axis=1), yes.argmax(axis=1)
        best[going[hit]] = rows.reshape(-1, len(tried), ends.shape[1])[hit, at[hit]]
        part = np.where(hit, tried[at], PARTS)
        low[going] += width[going] * np.maximum(part - 1, 0)
        width[going] /= PARTS
        going = going[part > 0]  # else there's nothing below
    return best


def _one_by_one(judge: Judge, person: Indices, ends: Floats) -> Floats:
    """Ends of several changes with each in turn as small as will do, the dearest first."""
    own, best = judge.feasible.take(person), ends.copy()
    moving = own.changes(ends)
    moving[moving.sum(axis=1) < 2] = False
    moving &= ~np.isnan(own.start)
    price = np.where(moving, judge.cost.efforts(own, ends), -1.0)
    order = np.argsort(-price, axis=1, kind="stable")
    for rank in range(int(moving.sum(axis=1).max(initial=0))):
        feature = order[:, rank]
        going = np.flatnonzero(moving[np.arange(len(ends)), feature])
        hit, less = _smaller(judge, person[going], best[going], feature[going])
        best[going[hit]] = less[hit]
    return best


def _smaller(judge: Judge, person: Indices, ends: Floats, feature: Indices) -> tuple[Mask, Floats]:
    """(e,) which ends will do with less of one of their changes, and with how little (e, features).

    feature  (e,) which change it is
    """
    each, f = np.repeat(np.arange(len(ends)), len(SHARES)), np.repeat(feature, len(SHARES))
    own = judge.feasible.take(person[each])
    start = own.start[np.arange(len(each)), f]
    way = np.tile(SHARES, len(ends)) * (ends[each, f] - start)
    rows = ends[each]
    rows[np.arange(len(each)), f] = start + way
    rows = own.settle(rows)
    some = own.changes(rows).any(axis=1)
    some &= (way == 0) | ((np.abs(way) >= judge.noticed[f]) & judge.space.links.by_amount[f])
    yes: Mask = np.zeros(len(each), dtype=bool)
    yes[some] = judge.yes(person[each[some]], rows[some])
    by_end = yes.reshape(-1, len(SHARES))
    least = np.arange(len(ends)) * len(SHARES) + by_end.argmax(axis=1)
    return np.asarray(by_end.any(axis=1)), rows[least]


def larger(judge: Judge, ends: Ends, times: Sequence[float] = LARGER) -> Ends:
    """Ends with their amounts so many times as large, where that gets a yes with slack."""
    rows = [enlarged(judge, ends.person, ends.rows, t) for t in times]
    return judge.calm_ends(np.tile(ends.person, len(times)), np.concatenate(rows))


def enlarged(judge: Judge, person: Indices, rows: Floats, times: float) -> Floats:
    """Rows (c, features) of people (c,) with their amounts so many times as large."""
    own = judge.feasible.take(person)
    way = np.where(amounts(own, rows), rows - own.start, 0.0)
    return judge.within(own, rows + way * (times - 1))


def rounded(judge: Judge, ends: Ends) -> Ends:
    """Ends whose amounts are as round as a yes with slack allows, a little further if need be."""
    own, rows = judge.feasible.take(ends.person), ends.rows
    tried = _rounder(rows, np.where(amounts(own, rows), rows - own.start, 0.0))
    count = tried.shape[1]
    each = np.repeat(np.arange(len(rows)), count)
    tried = own.take(each).settle(tried.reshape(-1, rows.shape[1]))
    other = np.asarray(changed(tried, rows[each]).any(axis=1))
    yes: Mask = np.asarray(~other)
    yes[other] = judge.yes(ends.person[each[other]], tried[other])
    by_end: Mask = yes.reshape(-1, count)
    found = tried.reshape(-1, count, rows.shape[1])[np.arange(len(rows)), by_end.argmax(axis=1)]
    hit = np.flatnonzero(by_end.any(axis=1))
    best = rows.copy()
    best[hit] = found[hit]
    return Ends(ends.person, best, ends.beyond, judge.cost.of(own, best))


def _rounder(rows: Floats, way: Floats) -> Floats:
    """(c, tries, features) values rounded away from where people stand, the roundest first.

    way  (c, features) by how much each number changes; 0 for what isn't to be rounded
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        power = 10.0 ** np.floor(np.log10(np.abs(way)))
        unit = power / np.array(ROUND)[:, None, None]
        outward = np.where(way > 0, np.ceil(rows / unit - 1e-9), np.floor(rows / unit + 1e-9))
        # Divided where the unit is a fraction: 131 times 0.1 isn't quite 13.1.
        values = np.where(unit < 1, outward / np.rint(1 / unit), outward * unit)
        close = np.abs(values - rows) <= FURTHER * np.abs(way)
    values = np.where(way != 0, values, rows)
    roundest = np.where(close.any(axis=0), close.argmax(axis=0), len(ROUND) - 1)
    tries = [
        np.take_along_axis(values, np.minimum(roundest + finer, len(ROUND) - 1)[None], axis=0)[0]
        for finer in range(len(ROUND) - 1)
    ]
    return np.stack(tries, axis=1)
