"""Rows brought to keep requirements: a few values are changed, and as little as will do.

A row that breaks none is left as it is. In one that does, each feature that the broken condition
depends on is moved by itself toward the person's own value and toward either limit, until every
rule is kept; the smallest such move is taken. Where no feature can mend it alone, the one that
mends most is moved and another is tried after it. What still breaks something goes back toward the
person's own row, where every requirement is kept or no worse than today.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stepladder.table.feature import Categorical, Ordinal

if TYPE_CHECKING:
    from stepladder.table.feasible import Feasible

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

HALVINGS = 8
"""How finely the least move is looked for."""

ROUNDS = 2
"""How many features may be moved, one after the other."""

WIDE = 4.0
"""How many standard deviations count as a limit where there's none."""

AT_ONCE = 2**12
"""How many rows are mended at a time."""


def mended(feasible: Feasible, rows: Floats) -> Floats:
    """Settled rows (n, features), those that break a requirement mended where they can be."""
    if feasible.is_box:
        return rows
    broken = np.flatnonzero(~_good(feasible, rows))
    if not len(broken):
        return rows
    rows = rows.copy()
    everyone = np.zeros(len(rows), dtype=np.intp) if len(feasible) == 1 else np.arange(len(rows))
    for start in range(0, len(broken), AT_ONCE):
        part = broken[start : start + AT_ONCE]
        rows[part] = _mended(feasible.take(everyone[part]), rows[part])
    return rows


def _good(feasible: Feasible, rows: Floats) -> Mask:
    return feasible.fulfils(rows) & feasible.passes(rows)


def _mended(own: Feasible, rows: Floats) -> Floats:
    """Rows that each break something, one for each of n people, as far as they can be mended."""
    if own.max_changes is not None:
        rows = _fewer(own, rows, own.max_changes)
    for _ in range(ROUNDS):
        kept = _kept(own, rows)
        patterns, which = np.unique(kept, axis=0, return_inverse=True)
        for p, pattern in enumerate(patterns):
            knobs = _knobs(own, pattern)
            if pattern.all() or not len(knobs):
                continue
            left = np.flatnonzero(which.reshape(-1) == p)
            rows[left] = _moved_one(own.take(left), rows[left], knobs)
    left = np.flatnonzero(~_good(own, rows))
    if len(left):
        rows[left] = _drawn_back(own.take(left), rows[left])
    return rows


def _kept(own: Feasible, rows: Floats) -> Mask:
    """(n, parts) which conditions rows keep: those required first, then the policy's."""
    kept = own.space.requirements.kept(rows, own.start, own.kept_today)
    return np.concatenate([kept, own.policy.hold(rows, own.start)], axis=1)


def _knobs(own: Feasible, kept: Mask) -> NDArray[np.intp]:
    """The features that may be set so that conditions (parts,) that aren't kept come to be."""
    parts = (*own.space.requirements.parts, *own.policy.parts)
    about = [part.features for part, held in zip(parts, kept, strict=True) if not held]
    return own.space.links.roots(np.concatenate(about) if about else ())


def _fewer(own: Feasible, rows: Floats, most: int) -> Floats:
    """Rows with no more than so many changes: the largest are kept."""
    space = own.space
    apart = np.abs(space.to_points(rows) - space.to_points(own.start))
    far = [apart[:, space.slices[name]].max(axis=1, initial=0.0) for name in space.schema.names]
    sizes = np.where(own.changes(rows), np.stack(far, axis=1), -1.0)
    rank = np.argsort(np.argsort(-sizes, axis=1, kind="stable"), axis=1, kind="stable")
    return own.complete(np.where((rank >= most) & own.space.links.chosen, own.start, rows))


def _moved_one(own: Feasible, rows: Floats, knobs: NDArray[np.intp]) -> Floats:
    """Each row with the one feature moved that mends it by the least, or mends most of it."""
    space, ends = own.space, _ends(own, rows, knobs)
    person, knob, end = (np.concatenate(side) for side in zip(*ends, strict=True))
    each, here = own.take(person), rows[person, knob]
    tried = _with(each, rows[person], knob, end)
    good = _good(each, tried)
    low, high = np.zeros(len(person)), np.ones(len(person))
    stepped = np.isin(knob, np.flatnonzero([f.ordered for f in space.schema.features]))
    best = tried.copy()
    going = np.flatnonzero(good & stepped)
    few, its, base = each.take(going), knob[going], rows[person[going]]
    for _ in range(HALVINGS):
        if not len(going):
            break
        middle = (low[going] + high[going]) / 2
        trial = _with(few, base, its, here[going] + middle * (end[going] - here[going]))
        enough = _good(few, trial)
        best[going[enough]] = trial[enough]
        high[going[enough]], low[going[~enough]] = middle[enough], middle[~enough]
    scale = np.array(
        [float(space.scale[space.slices[n]].max(initial=1.0)) for n in space.schema.names]
    )
    size = np.nan_to_num(np.abs(best[np.arange(len(best)), knob] - here) / scale[knob], nan=1.0)
    size = np.where(stepped, size, 1.0)
    # A move that mends all comes first, the smallest of them; else one that breaks fewest.
    worse = np.where(good, 0, 1 + (~_kept(each, best)).sum(axis=1))
    order = np.lexsort((size, worse, person))
    firsts = order[np.diff(person[order], prepend=-1) > 0]
    found = rows.copy()
    found[person[firsts]] = best[firsts]
    return found


def _ends(
    own: Feasible, rows: Floats, knobs: NDArray[np.intp]
) -> list[tuple[NDArray[np.intp], NDArray[np.intp], Floats]]:
    """Where features may be moved to: people, features and values, one each per trial."""
    space, (lower, upper), found = own.space, own.limits, []
    everyone = np.arange(len(rows))
    for f in knobs:
        feature = space.schema.features[f]
        if isinstance(feature, Categorical | Ordinal):
            ends = [np.full(len(rows), float(i)) for i in range(len(feature.levels or ()))]
        else:
            where = space.slices[feature.name].start
            spread = WIDE * space.scale[where]
            least = np.fmin(np.fmin(rows[:, f], own.start[:, f]), space.center[where]) - spread
            most = np.fmax(np.fmax(rows[:, f], own.start[:, f]), space.center[where]) + spread
            ends = [
                own.start[:, f],
                np.where(np.isinf(lower[:, f]), least, lower[:, f]),
                np.where(np.isinf(upper[:, f]), most, upper[:, f]),
            ]
        for end in ends:
            moves = np.flatnonzero(~np.isnan(end) & (end != rows[:, f]))
            found.append((everyone[moves], np.full(len(moves), f), end[moves]))
    nobody = np.empty(0, dtype=np.intp)
    return found or [(nobody, nobody, np.empty(0))]


def _with(own: Feasible, rows: Floats, features: NDArray[np.intp], values: Floats) -> Floats:
    """Settled rows with one feature each moved to a value, and settled again."""
    rows = rows.copy()
    for f in np.unique(features).tolist():
        mine = np.flatnonzero(features == f)
        rows[mine, f] = own.take(mine).nearest_in(f, values[mine])
    return own.complete(rows)


def _drawn_back(own: Feasible, rows: Floats) -> Floats:
    """Rows moved toward the person's own until they keep everything, where they come to that."""
    low, high, found = np.zeros(len(rows)), np.ones(len(rows)), rows.copy()
    ordered = np.array([feature.ordered for feature in own.space.schema.features])
    for halving in range(HALVINGS + 1):
        middle = (low + high) / 2 if halving else high  # the share of the way back
        back = np.where(ordered, middle[:, None], middle[:, None] > 0.5)
        trial = own.settle(rows + np.nan_to_num(own.start - rows) * back)
        enough = _good(own, trial)
        found[enough] = trial[enough]
        high, low = np.where(enough, middle, high), np.where(enough, low, middle)
    return found
