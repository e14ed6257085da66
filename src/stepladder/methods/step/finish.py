"""What is done to a path that reached the goal: no more is asked of the person than is needed.

The last step is shortened to the first row that meets the goal; changes that aren't needed are
taken back, the most wasteful first; and the path is laid again toward what is left of its end, so that
no step makes a change that a later one undoes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepladder.feasible import Feasible
from stepladder.methods.step.search import Trail
from stepladder.schema import Categorical
from stepladder.scorer import Scorer
from stepladder.space import Floats, Space

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
    """The first of `PARTS` rows between points start and stop (p, columns) that meets the goal.

    `ends` (p, features) are the rows at the stop; they stay where no earlier row does.
    """
    shares = np.arange(1, PARTS) / PARTS
    between = start[:, None] + shares[:, None] * (stop - start)[:, None]
    many = feasible.take(np.repeat(np.arange(len(start)), len(shares)))
    rows = many.snap(between.reshape(-1, start.shape[1]))
    met = scorer.met(scorer.score(rows)).reshape(len(start), len(shares))
    rows = rows.reshape(len(start), len(shares), -1)
    first = rows[np.arange(len(start)), met.argmax(axis=1)]
    return np.where(met.any(axis=1, keepdims=True), first, ends)


def taken_back(ends: Floats, feasible: Feasible, scorer: Scorer) -> Floats:
    """Ends (p, features) less every change that the goal doesn't need.

    Whole features go first, the most wasteful first; then what is left shrinks toward the start.
    """
    ends, start = ends.copy(), feasible.start
    waste = _waste(ends, feasible, scorer)
    order = np.argsort(-waste, axis=1, kind="stable")
    for rank in range(int((waste > 0).sum(axis=1).max(initial=0))):
        feature = order[:, rank]
        paths = np.flatnonzero(waste[np.arange(len(ends)), feature] > 0)
        trial = _reverted(ends, start, paths, feature[paths])
        met = scorer.met(scorer.score(trial))
        ends[paths[met]] = trial[met]
    to_points = feasible.space.to_points
    return first_on_line(to_points(start), to_points(ends), ends, feasible, scorer)


def _waste(ends: Floats, feasible: Feasible, scorer: Scorer) -> Floats:
    """(p, features) how much distance² taking a change back saves for what it costs; 0 for none.

    The cost is how much nearer to missing the goal the end comes without that change alone.
    """
    sizes = _sizes(feasible.space, feasible.start, ends)
    paths, features = np.nonzero(sizes)
    reverted = scorer.score(_reverted(ends, feasible.start, paths, features))
    margin = scorer.goal.margin
    cost = margin(scorer.score(ends))[paths] - margin(reverted)
    waste = np.zeros_like(sizes)
    waste[paths, features] = sizes[paths, features] ** 2 / np.maximum(cost, 1e-12)
    return waste


def _reverted(
    ends: Floats, start: Floats, paths: NDArray[np.intp], features: NDArray[np.intp]
) -> Floats:
    """The ends of some paths, each with one feature as it was at the start."""
    rows = ends[paths]
    rows[np.arange(len(paths)), features] = start[paths, features]
    return rows


def _sizes(space: Space, start: Floats, ends: Floats) -> Floats:
    """(p, features) how far each feature moved, in encoded units."""
    moved = np.square(space.to_points(ends) - space.to_points(start))
    by_feature = [moved[:, space.slices[name]].sum(axis=1) for name in space.schema.names]
    return np.asarray(np.sqrt(np.stack(by_feature, axis=1)))


def laid_again(rows: Floats, end: Floats, space: Space, step_size: float) -> Floats:
    """A path's rows (s + 1, features) turned toward a nearer end.

    Each feature keeps the order of the walk but moves only from its start to its end, one way;
    steps that became small are joined while the sum stays within the step size.
    """
    start = rows[0]
    laid = np.clip(rows, np.minimum(start, end), np.maximum(start, end))
    rising = end >= start
    laid[:, rising] = np.maximum.accumulate(laid[:, rising], axis=0)
    laid[:, ~rising] = np.minimum.accumulate(laid[:, ~rising], axis=0)
    for f, feature in enumerate(space.schema.features):
        if isinstance(feature, Categorical):  # a level has no way to go: it's there or not yet
            there = np.logical_or.accumulate(rows[:, f] == end[f])
            laid[:, f] = np.where(there, end[f], start[f])
    laid[-1] = end
    return laid[_joined(space.to_points(laid), step_size)]


def _joined(points: Floats, step_size: float) -> list[int]:
    """Which rows of a path to keep: as few as reach its end in steps of the size allowed."""
    kept, last = [0], len(points) - 1
    while kept[-1] < last:
        here = kept[-1]
        far = np.linalg.norm(points[here + 1 :] - points[here], axis=1)
        near = np.flatnonzero(far <= step_size * (1 + 1e-9))
        ahead = here + 1 + int(near[-1]) if len(near) else here + 1
        kept.append(ahead)
    return kept
