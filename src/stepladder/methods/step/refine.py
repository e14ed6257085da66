"""Nearer ends: change is spent where it earns the most score for its distance.

A path heads for the mean of its targets and so moves every feature, whatever that is worth. Here
the model is asked what a little more or less of each feature earns, and change is given out in
proportion to it, until the goal is met. On a linear model that is the least distance there is.

No feature goes further than where its path was headed. Only the nearest end of each person may go
as far in a feature as any target of its path. So whatever value is asked for lies between the
person's own and one that positives have, and ends of different paths stay apart.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from stepladder.methods.asked import accepted, margins
from stepladder.methods.step.finish import between, sizes
from stepladder.methods.step.reference import Reference
from stepladder.methods.step.targets import Targets
from stepladder.model.scorer import Scorer
from stepladder.table.feasible import Feasible
from stepladder.table.feature import Categorical
from stepladder.table.space import Floats, Mask, Space

NEAR = 2
"""How many of its nearest targets a path tries to go to in a straight line."""

PROBE = 0.5
"""By how many standard deviations a feature is moved to see what that earns."""

CLOSE = 0.25
"""Ends of a person that lie nearer to one another than this are one path."""

LEAST = 1e-6
"""What earns less than this share of what the best feature does earns nothing."""

AT_ONCE = 2**17
"""About how many rows the model is asked about at a time."""

PARTS, LEVELS = 4, 3
"""Into how many parts a stretch is cut to find its first row that meets the goal, and how often."""


def refined(
    ends: Floats,
    arrived: Floats,
    paths: NDArray[np.intp],
    targets: Targets,
    feasible: Feasible,
    reference: Reference,
    scorer: Scorer,
) -> Floats:
    """Ends (p, features) that meet the goal too, and are as near or nearer.

    arrived  (p, features) where the paths ended, before they were shortened
    paths    (p,) which paths these are: person i has those from i · slots on

    An end that would come `CLOSE` to a nearer one of the same person stays where it is.
    """
    space, count, slots, weights = feasible.space, len(ends), reference.slots, reference.weights
    aims, straight = _in_a_line(ends, arrived, targets, feasible, weights, scorer)
    both = feasible.take(np.tile(np.arange(count), 2))
    tried, headed = np.concatenate([ends, straight]), np.concatenate([arrived, aims])
    tried = _spent(tried, headed, headed, both, weights, scorer)
    far = _far(space, both.start, tried, weights).reshape(2, count)
    found = np.where((far[1] < far[0])[:, None], tried[count:], tried[:count])
    nearest = _nearest_of_each(paths // slots, far.min(axis=0))
    its = targets.take(nearest)
    lower = np.where(its.valid[:, :, None], its.values, np.inf).min(axis=1)
    upper = np.where(its.valid[:, :, None], its.values, -np.inf).max(axis=1)
    for _ in range(2):
        found[nearest] = _spent(
            found[nearest], lower, upper, feasible.take(nearest), weights, scorer
        )
    far = _far(space, feasible.start, found, weights)
    alike = _alike(paths, slots, found, far, space)
    return np.where(alike[:, None], ends, found)


def _in_a_line(
    ends: Floats,
    arrived: Floats,
    targets: Targets,
    feasible: Feasible,
    weights: Floats,
    scorer: Scorer,
) -> tuple[Floats, Floats]:
    """Of a path's nearest targets the one with the nearest end on the line to it, and that end.

    A path without a target it can take keeps where it went and its end.
    """
    order = np.argsort(~targets.valid, axis=1, kind="stable")[:, :NEAR]
    path, rank = np.nonzero(np.take_along_axis(targets.valid, order, axis=1))
    own, aims = feasible.take(path), targets.values[path, order[path, rank]]
    way = sizes(feasible.space, own.start, aims, weights)
    found, met = _first(way, way, aims, np.ones(len(path)), own, scorer)
    far = np.full(order.shape, np.inf)
    far[path, rank] = np.where(met, _far(feasible.space, own.start, found, weights), np.inf)
    best = far.argmin(axis=1)
    chosen = np.flatnonzero((rank == best[path]) & met)
    heading, straight = arrived.copy(), ends.copy()
    heading[path[chosen]], straight[path[chosen]] = aims[chosen], found[chosen]
    return heading, straight


def _alike(paths: NDArray[np.intp], slots: int, ends: Floats, far: Floats, space: Space) -> Mask:
    """(p,) which ends lie `CLOSE` to a nearer one of the same person's."""
    people, person = np.unique(paths // slots, return_inverse=True)
    at = person.reshape(-1), paths % slots  # NumPy 2.0 gives it an extra axis
    points = np.full((len(people), slots, space.width), np.nan)
    points[at] = space.to_points(ends)
    order = np.full(points.shape[:2], np.nan)
    order[at] = far
    alike = np.zeros(order.shape, dtype=bool)
    for one, other in permutations(range(slots), 2):
        close = np.linalg.norm(points[:, one] - points[:, other], axis=1) < CLOSE
        nearer = order[:, other] < order[:, one]
        alike[:, one] |= close & (nearer | (order[:, other] == order[:, one]) & (other < one))
    return np.asarray(alike[at])


def _nearest_of_each(people: NDArray[np.intp], far: Floats) -> NDArray[np.intp]:
    """The index of each person's nearest path."""
    order = np.lexsort((far, people))
    first = np.diff(people[order], prepend=-1) > 0
    return np.asarray(order[first])


def _spent(
    ends: Floats,
    lower: Floats,
    upper: Floats,
    feasible: Feasible,
    weights: Floats,
    scorer: Scorer,
) -> Floats:
    """Ends with the change in them given out anew, within what `lower` and `upper` allow too.

    To minimise ‖x - start‖ where the score has the gradient g and a least value, x - start is λg,
    cut off at the limits, for the smallest λ that will do.
    """
    space, start = feasible.space, feasible.start
    lower = np.minimum(np.minimum(lower, ends), start)
    upper = np.maximum(np.maximum(upper, ends), start)
    size = max(1, AT_ONCE // ends.shape[1])
    parts = [slice(at, at + size) for at in range(0, len(ends), size)]
    earned = np.concatenate(
        [_earned(ends[p], lower[p], upper[p], feasible.take(p), weights, scorer) for p in parts]
        or [np.zeros_like(ends)]
    )
    earned[np.abs(earned) < LEAST * np.abs(earned).max(axis=1, keepdims=True)] = 0.0
    limits = np.where(earned > 0, upper, np.where(earned < 0, lower, start))
    unordered = _unordered(space)
    limits = np.where(unordered & (earned > 0), ends, np.where(unordered, start, limits))
    earned, room = np.abs(earned), sizes(space, start, limits, weights)
    far = _far(space, start, ends, weights)
    found, met = _first(earned, room, limits, _as_far(earned, room, far), feasible, scorer)
    nearer = met & (_far(space, start, found, weights) < far)
    return np.where(nearer[:, None], found, ends)


def _earned(
    ends: Floats,
    lower: Floats,
    upper: Floats,
    feasible: Feasible,
    weights: Floats,
    scorer: Scorer,
) -> Floats:
    """(p, features) what score a feature earns for its distance as its value rises.

    Each is moved a bit back where it has changed, and else a bit on if there is room; a category
    goes all the way back, and earns what was lost.
    """
    space, start = feasible.space, feasible.start
    unordered, bit = _unordered(space), _bits(space)
    back = np.where(ends > start, np.maximum(ends - bit, start), np.minimum(ends + bit, start))
    on = np.where(upper > ends, np.minimum(ends + bit, upper), np.maximum(ends - bit, lower))
    other = np.where(unordered | (ends != start), np.where(unordered, start, back), on)
    moved = sizes(space, other, ends, weights)
    paths, features = np.nonzero(moved)
    rows = ends[paths]
    rows[np.arange(len(paths)), features] = other[paths, features]
    each = feasible.take(paths)
    gain = margins(feasible, ends, scorer)[paths]
    gain -= margins(each, each.complete(rows), scorer)
    gain[np.isinf(gain)] = 0.0  # what the rules forbid earns nothing
    earned = np.zeros_like(ends)
    earned[paths, features] = gain / moved[paths, features]
    return np.where(~unordered & (ends < other), -earned, earned)


def _first(
    pull: Floats, room: Floats, limits: Floats, most: Floats, feasible: Feasible, scorer: Scorer
) -> tuple[Floats, Mask]:
    """The first rows that meet the goal as features go λ · pull toward their limits, λ up to most.

    `room` (p, features) is how far each limit is. Returns the limits themselves where no row of
    those that were tried does, and which (p,) do.
    """
    found, sure = limits.copy(), np.zeros(len(limits), dtype=bool)
    low, width = np.zeros(len(limits)), most
    parts = np.arange(1, PARTS + 1) / PARTS
    for _ in range(LEVELS):
        spent = (low[:, None] + parts * width[:, None])[:, :, None] * pull[:, None]
        shares = np.minimum(spent / np.where(room > 0, room, 1.0)[:, None], 1.0)
        rows = between(feasible, limits, shares)
        many = feasible.take(np.repeat(np.arange(len(limits)), PARTS))
        met = accepted(many, rows.reshape(-1, rows.shape[2]), scorer).reshape(rows.shape[:2])
        hit, at = met.any(axis=1), np.where(met.any(axis=1), met.argmax(axis=1), PARTS - 1)
        found[hit] = rows[hit, at[hit]]
        sure |= hit
        low, width = low + width * at / PARTS, width / PARTS
    return found, sure


def _as_far(pull: Floats, room: Floats, far: Floats) -> Floats:
    """(p,) the λ at which λ · pull, cut off at the room there is, is as long as `far`."""
    pulled = (pull > 0) & (room > 0)
    low = np.zeros(len(far))
    high = np.where(pulled, room / np.where(pulled, pull, 1.0), 0.0).max(axis=1, initial=0.0)
    for _ in range(30):
        middle = (low + high) / 2
        over = np.linalg.norm(np.minimum(middle[:, None] * pull, room), axis=1) >= far
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return np.asarray(high)


def _far(space: Space, start: Floats, ends: Floats, weights: Floats) -> Floats:
    return np.asarray(np.linalg.norm(sizes(space, start, ends, weights), axis=1))


def _unordered(space: Space) -> Mask:
    return np.array([isinstance(feature, Categorical) for feature in space.schema.features])


def _bits(space: Space) -> Floats:
    """(features,) the little change that is tried in each, one that the feature can take."""
    bits = []
    for f, feature in enumerate(space.schema.features):
        where = space.slices[feature.name]
        bit = PROBE * float(space.scale[where].max(initial=0.0))
        step = float(space.grid.steps[f])
        bits.append(max(round(bit / step), 1) * step if step else bit)
    return np.array(bits)
