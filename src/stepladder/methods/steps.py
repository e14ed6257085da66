"""Paths as steps that keep the rules: nothing on the way breaks one, and some things go at once.

A feature that changes `at_once`, a gap that is filled, and a level with rules of its own change in
one step, but for a level that can only be got to by way of others: then each of those is a step. A
row on the way that breaks a requirement is left out; so where no small steps keep them, a path is
one step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepladder.table.feasible import Feasible
from stepladder.table.rules.links import changed
from stepladder.table.space import Floats, Mask

Indices = NDArray[np.intp]


def need_care(feasible: Feasible) -> bool:
    """Whether steps have rules of their own."""
    gaps = bool(np.isnan(feasible.start).any())
    return not feasible.is_box or gaps or bool(feasible.space.at_once.any())


def keeping(feasible: Feasible, trails: list[Floats]) -> list[Floats]:
    """The rows (steps + 1, features) of p people's paths, as steps that keep the rules.

    The first and the last row of each stay. A path whose level can't get to its own by hops that
    keep the rules is cut before them.
    """
    path = np.repeat(np.arange(len(trails)), [len(rows) for rows in trails])
    rows, own = np.concatenate(trails), feasible.take(path)
    ends = np.array([trail[-1] for trail in trails])[path]
    single = _single(own)
    rows = np.where(single, np.where(changed(rows, own.start), ends, own.start), rows)
    rows = own.complete(rows)
    last = np.diff(path, append=-1) != 0
    first = np.diff(path, prepend=-1) != 0
    # The ends themselves were asked about, and mustn't differ by a last digit.
    rows = np.where(last[:, None], ends, rows)
    kept = own.fulfils(rows) | last | first
    rows, path = rows[kept], path[kept]
    moved = changed(rows[1:], rows[:-1]).any(axis=1) | (path[1:] != path[:-1])
    kept = np.concatenate([[True], moved])
    laid = _split(rows[kept], path[kept], len(trails))
    if feasible.space.hops.allowed:
        laid = [_hopping(feasible.take(slice(i, i + 1)), own) for i, own in enumerate(laid)]
    return laid


def walkable(feasible: Feasible, rows: Floats) -> Mask:
    """Which rows (n, features) levels can get to one hop at a time, keeping the rules on the way.

    Hops are tried before everything else, and after it.
    """
    space, found = feasible.space, np.ones(len(rows), dtype=bool)
    about = space.links.roots([*space.requirements.features, *space.links.derived])
    if not np.isin(list(space.hops.allowed), about).any():
        return found
    several = np.flatnonzero(space.hops.several(rows, feasible.start, *feasible.reachable))
    if len(several):
        whose = np.zeros_like(several) if len(feasible) == 1 else several
        own, ends = feasible.take(whose), rows[several]
        found[several] = _hops_keep(own, own.start, ends) | _hops_keep(own, ends, ends)
    return found


def _hops_keep(own: Feasible, rest: Floats, ends: Floats) -> Mask:
    """(n,) whose levels can hop to those of `ends` while all else is as in `rest` (n, features)."""
    hops, (lower, upper) = own.space.hops, own.reachable
    here, start = rest.copy(), own.start
    hopping = {f: ~np.isnan(start[:, f]) for f in hops.allowed}
    for f, known in hopping.items():
        here[known, f] = start[known, f]
    here = own.complete(here)
    kept = own.fulfils(here)
    for f, known in hopping.items():
        who = np.flatnonzero(known)
        sides = np.stack([side[who, f] for side in (start, ends, lower, upper)], axis=1)
        different, which = np.unique(sides, axis=0, return_inverse=True)
        chains = [hops.chain(f, *its) for its in different.tolist()]
        for hop in range(max(map(len, chains), default=0)):
            level = np.array([chain[hop] if hop < len(chain) else np.nan for chain in chains])
            following = level[which.reshape(-1)]
            going = ~np.isnan(following)
            here[who[going], f] = following[going]
            here = own.complete(here)
            kept &= own.fulfils(here)
    return kept


def _single(own: Feasible) -> Mask:
    """(n, features) what changes in one step, for each of n people."""
    space, single = own.space, np.zeros(own.start.shape, dtype=bool)
    single |= space.at_once
    single[:, list(space.hops.allowed)] = True
    return np.asarray((single | np.isnan(own.start)) & space.links.chosen)


def _split(rows: Floats, path: Indices, count: int) -> list[Floats]:
    return np.split(rows, np.searchsorted(path, np.arange(1, count)))


def _hopping(person: Feasible, rows: Floats) -> Floats:
    """One path's rows with a step for every hop that its levels take.

    Where a hop breaks a rule when it comes in its turn, they're tried before everything else, and
    after it.
    """
    hops, (lower, upper) = person.space.hops, person.reachable
    chains = {
        f: hops.chain(f, rows[0, f], rows[-1, f], lower[0, f], upper[0, f])
        for f in hops.allowed
        if rows[0, f] != rows[-1, f] and not np.isnan(rows[[0, -1], f]).any()
    }
    if all(len(chain) <= 1 for chain in chains.values()):
        return rows
    still = rows.copy()
    still[:, list(chains)] = rows[0, list(chains)]
    for turn in (_turn(rows, chains), 0, len(rows) - 1):
        laid = person.complete(_with_hops(still, chains, turn))
        laid[-1] = rows[-1]
        broken = np.flatnonzero(~person.fulfils(laid))
        on_the_way = range(turn, turn + sum(len(chain) for chain in chains.values()) + 1)
        if not set(broken.tolist()) & set(on_the_way):
            laid = np.delete(laid, broken, axis=0)
            moved = changed(laid[1:], laid[:-1]).any(axis=1)
            return np.asarray(laid[np.concatenate([[True], moved])])
    return rows[:1]


def _turn(rows: Floats, chains: dict[int, tuple[float, ...]]) -> int:
    """After which row the first of the levels changes."""
    moved = (rows[:, list(chains)] != rows[0, list(chains)]).any(axis=1)
    return int(moved.argmax()) - 1


def _with_hops(rows: Floats, chains: dict[int, tuple[float, ...]], turn: int) -> Floats:
    """Rows with the hops of each chain, one after the other, put in after one of them."""
    before, after, here = rows[: turn + 1], rows[turn + 1 :].copy(), rows[turn].copy()
    hops = []
    for f, chain in chains.items():
        for level in chain:
            here[f] = level
            hops.append(here.copy())
        after[:, f] = chain[-1]
    return np.concatenate([before, np.array(hops), after])
