"""What is done to a path that reached the goal: no more is asked of the person than is needed.

The last step is shortened to the first row that meets the goal; changes that aren't needed are
taken back, the most wasteful first; and the path is laid again toward what is left of its end, so
that no step makes a change that a later one undoes. (`refine.py` looks for a nearer end before.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepladder.methods.asked import ONE_CALL, accepted, foresee, margins
from stepladder.methods.step.search import Trail
from stepladder.model.scorer import Scorer
from stepladder.table.feasible import Feasible
from stepladder.table.feature import Categorical
from stepladder.table.rules.links import changed
from stepladder.table.space import Floats, Mask, Space

Counts = NDArray[np.int64]

PARTS = 16
"""Into how many parts a stretch is cut to find the first row on it that meets the goal."""


def shortened(
    trail: Trail, ends: Floats, paths: NDArray[np.intp], feasible: Feasible, scorer: Scorer
) -> Floats:
    """The ends (p, features) of reached paths, at the first row of their last step that counts."""
    return first_on_line(
        trail.before[paths], trail.latent[paths], ends, feasible.take(paths), scorer
    )


def first_on_line(
    start: Floats, stop: Floats, ends: Floats, feasible: Feasible, scorer: Scorer
) -> Floats:
    """The first row between points start and stop (p, columns) that meets the goal.

    Looked for in `PARTS` parts of the line, and then in as many parts of the one before it.
    `ends` (p, features) are the rows at the stop; they stay where no earlier row does.
    """
    shares = np.arange(1, PARTS) / PARTS
    many = feasible.take(np.repeat(np.arange(len(start)), len(shares)))
    for _ in range(2):
        length = stop - start
        between = start[:, None] + shares[:, None] * length[:, None]
        rows = many.snap(between.reshape(-1, start.shape[1]))
        met = accepted(many, rows, scorer).reshape(len(start), len(shares))
        found = np.flatnonzero(met.any(axis=1))
        before = np.full(len(start), PARTS - 1)
        before[found] = met[found].argmax(axis=1)
        ends = ends.copy()
        ends[found] = rows.reshape(len(start), len(shares), -1)[found, before[found]]
        start = start + length * before[:, None] / PARTS
        stop = start + length / PARTS
    return ends


def taken_back(ends: Floats, feasible: Feasible, weights: Floats, scorer: Scorer) -> Floats:
    """Ends (p, features) less every change that the goal doesn't need.

    Features are reset in full, the most wasteful first; then what is left shrinks toward the start.
    `weights` (columns,) say how hard each column is to change.
    """
    ends = reset(ends, feasible, waste(ends, feasible, weights, scorer), scorer)
    to_points = feasible.space.to_points
    return first_on_line(to_points(feasible.start), to_points(ends), ends, feasible, scorer)


def reset(ends: Floats, feasible: Feasible, rank: Floats, scorer: Scorer) -> Floats:
    """Ends less what the goal doesn't need, changes undone in full from the highest rank down.

    rank  (p, features); what has 0 stays
    """
    ends = ends.copy()
    order, counts = np.argsort(-rank, axis=1, kind="stable"), (rank > 0).sum(axis=1)
    places, together = int(counts.max(initial=0)), _together(len(ends))
    for place in range(places):
        if place % together == 0:
            _foresee(
                ends, feasible, order, counts, range(place, min(place + together, places)), scorer
            )
        paths = np.flatnonzero(counts > place)
        trial = _reverted(ends, feasible, paths, order[paths, place])
        met = accepted(feasible.take(paths), trial, scorer)
        ends[paths[met]] = trial[met]
    return ends


def _together(paths: int) -> int:
    """How many changes can be undone in every combination, for so many paths, in one call."""
    return max(1, int(np.log2(ONE_CALL / max(paths, 1) + 1)))


def _foresee(
    ends: Floats,
    feasible: Feasible,
    order: NDArray[np.intp],
    counts: NDArray[np.intp],
    places: range,
    scorer: Scorer,
) -> None:
    """Ask about all that may come of undoing the next few changes, one after the other."""
    if not scorer.remembers or len(places) < 2:
        return
    some = np.arange(1, 2 ** len(places))[:, None] >> np.arange(len(places)) & 1
    path, which = (side.ravel() for side in np.indices((len(ends), len(some))))
    undone = some[which].astype(bool) & (np.array(places) < counts[path, None])
    row, place = np.nonzero(undone)
    rows, feature = ends[path], order[path[row], places.start + place]
    rows[row, feature] = feasible.start[path[row], feature]
    own = feasible.take(path)
    foresee(own, own.complete(rows), scorer)


def waste(ends: Floats, feasible: Feasible, weights: Floats, scorer: Scorer) -> Floats:
    """(p, features) how much distance² taking a change back saves for what it costs; 0 for none.

    The cost is how much nearer to missing the goal the end comes without that change alone.
    """
    moved = sizes(feasible.space, feasible.start, ends, weights)
    paths, features = np.nonzero(moved)
    reverted = _reverted(ends, feasible, paths, features)
    cost = margins(feasible, ends, scorer)[paths]
    cost -= margins(feasible.take(paths), reverted, scorer)
    found = np.zeros_like(moved)
    found[paths, features] = moved[paths, features] ** 2 / np.maximum(cost, 1e-12)
    return found


def _reverted(
    ends: Floats, feasible: Feasible, paths: NDArray[np.intp], features: NDArray[np.intp]
) -> Floats:
    """The ends of some paths, each with one feature as it was at the start."""
    rows = ends[paths]
    rows[np.arange(len(paths)), features] = feasible.start[paths, features]
    return feasible.take(paths).complete(rows)


def sizes(space: Space, start: Floats, ends: Floats, weights: Floats) -> Floats:
    """(p, features) how far each feature moved, in encoded units times its weight."""
    moved = np.square((space.to_points(ends) - space.to_points(start)) * weights)
    by_feature = [moved[:, space.slices[name]].sum(axis=1) for name in space.schema.names]
    return np.asarray(np.sqrt(np.stack(by_feature, axis=1)))


def between(feasible: Feasible, ends: Floats, shares: Floats) -> Floats:
    """Valid rows (p, s, features) on the way to the ends (p, features), a share of it each.

    `shares` (p, s, features) of 0 to 1; a category changes past the half.
    """
    space, start = feasible.space, feasible.start[:, None]
    unordered = [isinstance(feature, Categorical) for feature in space.schema.features]
    gone = np.where(unordered, shares > 0.5, shares)
    rows = start + gone * (ends[:, None] - start)
    rows = np.where(np.isnan(start), np.where(shares > 0.5, ends[:, None], start), rows)
    many = feasible.take(np.repeat(np.arange(len(ends)), shares.shape[1]))
    return many.settle(rows.reshape(-1, rows.shape[2])).reshape(rows.shape)


def straight(feasible: Feasible, ends: Floats, steps: Counts) -> list[Floats]:
    """For each of p paths its rows (steps + 1, features) in a line to its end (p, features)."""
    path = np.repeat(np.arange(len(steps)), steps + 1)
    firsts = np.cumsum(steps + 1) - (steps + 1)
    shares = (np.arange(len(path)) - firsts[path]) / steps[path]
    each = np.repeat(shares[:, None, None], ends.shape[1], axis=2)
    rows = between(feasible.take(path), ends[path], each)[:, 0]
    rows[firsts] = feasible.start  # where one stands may need mending, and is still the start
    return np.split(rows, firsts[1:])[: len(steps)]


def laid(trails: list[Floats], ends: Floats, space: Space, step_size: float) -> list[Floats]:
    """Trails turned toward nearer ends (p, features) by `laid_again`, in batches of like length.

    A trail is padded to at most twice its length, so that a long one costs others no room.
    """
    steps = np.array([len(rows) - 1 for rows in trails])
    turned = list(trails)
    size = np.ceil(np.log2(steps + 1))
    for like in np.unique(size):
        paths = np.flatnonzero(size == like)
        width = int(steps[paths].max()) + 1
        padded = np.empty((len(paths), width, ends.shape[1]))
        for i, path in enumerate(paths):
            padded[i, : steps[path] + 1] = trails[path]
            padded[i, steps[path] + 1 :] = trails[path][-1]
        rows, counts = laid_again(padded, steps[paths], ends[paths], space, step_size)
        for path, own, count in zip(paths, rows, counts, strict=True):
            turned[path] = own[: count + 1]
    return turned


def laid_again(
    rows: Floats, steps: Counts, ends: Floats, space: Space, step_size: float
) -> tuple[Floats, Counts]:
    """Paths (p, s + 1, features) of so many steps (p,) turned toward nearer ends (p, features).

    Each feature keeps the order it had but moves only from its start to its end, one way;
    steps that became small are joined while the sum stays within the step size. Returns the new
    rows, as many in front as each path now needs, and how many steps that makes.
    """
    start, end = rows[:, :1], ends[:, None]
    low, high = np.minimum(start, end), np.maximum(start, end)
    clipped = np.clip(rows, low, high)
    laid = np.where(
        end >= start,
        np.maximum.accumulate(clipped, axis=1),
        np.minimum.accumulate(clipped, axis=1),
    )
    unordered = [isinstance(feature, Categorical) for feature in space.schema.features]
    there = np.logical_or.accumulate(rows == end, axis=1)  # a level is there or not yet
    laid = np.where(unordered | np.isnan(start), np.where(there, end, start), laid)
    after = np.arange(rows.shape[1]) >= steps[:, None]
    laid = np.where(after[:, :, None], end, laid)
    points = space.to_points(laid.reshape(-1, laid.shape[2])).reshape(*laid.shape[:2], -1)
    kept = _kept(points, laid[:, :, space.links.chosen], steps, step_size)
    order = np.argsort(~kept, axis=1, kind="stable")
    return np.take_along_axis(laid, order[:, :, None], axis=1), kept.sum(axis=1) - 1


def _kept(points: Floats, values: Floats, steps: Counts, step_size: float) -> Mask:
    """Which rows (p, s + 1) to keep: as few as reach each end in steps of the size allowed.

    values  (p, s + 1, chosen) what plans set in them: a gap that is filled may be no distance away
    """
    kept = np.zeros(points.shape[:2], dtype=bool)
    kept[:, 0] = True
    positions, here = np.arange(points.shape[1]), np.zeros(len(points), dtype=np.intp)
    while (moving := np.flatnonzero(here < steps)).size:
        apart = np.linalg.norm(points[moving] - points[moving, here[moving]][:, None], axis=2)
        others = changed(values[moving], values[moving, here[moving]][:, None]).any(axis=2)
        ahead = (positions > here[moving, None]) & (positions <= steps[moving, None]) & others
        near = ahead & (apart <= step_size * (1 + 1e-9))
        furthest = near.shape[1] - 1 - near[:, ::-1].argmax(axis=1)
        # A level may be further away than a step; it's still the next thing to do.
        following = np.where(near.any(axis=1), furthest, ahead.argmax(axis=1))
        goes_on = ahead.any(axis=1)
        here[moving] = np.where(goes_on, following, steps[moving])
        kept[moving[goes_on], following[goes_on]] = True
    return kept


def replay(
    trail: Trail,
    paths: NDArray[np.intp],
    trails: list[Floats],
    feasible: Feasible,
    scorer: Scorer,
) -> None:
    """Score the new rows (steps + 1, features) of some paths, each cut at the first that counts.

    `feasible` has the set of each path of the trail.
    """
    steps = np.array([len(rows) - 1 for rows in trails])
    rows = np.concatenate([own[1:] for own in trails])
    scores = scorer.score(rows)
    met = scorer.met(scores) & feasible.take(np.repeat(paths, steps)).passes(rows)
    ends = np.cumsum(steps)[:-1]
    for path, own, after, yes in zip(
        paths, trails, np.split(scores, ends), np.split(met, ends), strict=True
    ):
        # A model may answer differently when asked again; then what was found before stands.
        if yes.any() or not trail.reached[path]:
            last = int(yes.argmax()) + 1 if yes.any() else len(after)
            trail.values[path] = own[: last + 1]
            trail.scores[path] = np.concatenate([trail.scores[path][:1], after[:last]])
            trail.reached[path] |= yes.any()  # what is laid anew may come by a yes
