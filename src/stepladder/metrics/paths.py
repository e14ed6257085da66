"""The paths of many people as arrays, and the distances that the metrics are made of."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from stepladder.checks import whole_number
from stepladder.errors import ParameterError

DTYPES = {"reached": np.bool_, "steps": np.int64, "changed": np.int64}
"""Of the fields of `Paths` that aren't floats."""

TILE = 2**21
"""Numbers in the largest temporary array of `nearest_distance` (unless one point needs more)."""

SPARE = 8
"""Candidates that `nearest_distance` measures exactly beyond those it was asked for."""

TOLERANCE = 1e-9
"""How far `nearest_distance` may be off because rounding hid a nearer positive."""


@dataclass(frozen=True, eq=False)
class Paths:
    """The paths of n people, k each, in a space of m columns.

    What is unknown is NaN (the end of a person with a missing value, say), but never the
    start, end or length of a path that reached its goal.
    """

    start: NDArray[np.float64]
    """(n, m) where each person stands."""
    ends: NDArray[np.float64]
    """(n, k, m) where each path ends, failures included."""
    reached: NDArray[np.bool_]
    """(n, k) whether the end meets the goal."""
    lengths: NDArray[np.float64]
    """(n, k) the sum of the norms of a path's steps."""
    steps: NDArray[np.int64]
    """(n, k) the number of moves."""
    changed: NDArray[np.int64]
    """(n, k) the number of features in which the end differs from the start."""
    nearness: NDArray[np.float64]
    """(n, k) the mean distance from the end to its nearest positives, NaN where unknown."""
    effort: NDArray[np.float64]
    """(n, k) what the path asks of the person, NaN where unknown."""

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            array, dtype = np.asarray(getattr(self, name)), DTYPES.get(name, np.float64)
            if array.size and not np.can_cast(array.dtype, dtype, "same_kind"):
                raise ParameterError(
                    f"{name!r} of Paths must hold {np.dtype(dtype)}. Got {array.dtype} instead."
                )
            object.__setattr__(self, name, array.astype(dtype, copy=False))
        if self.ends.ndim != 3 or self.ends.shape[1] == 0:
            raise ParameterError(
                "'ends' of Paths must have the shape (people, paths, columns), with at least one "
                f"path. Got {self.ends.shape} instead."
            )
        n, k, m = self.ends.shape
        for name in self.__dataclass_fields__:
            expected = {"start": (n, m), "ends": (n, k, m)}.get(name, (n, k))
            if (shape := getattr(self, name).shape) != expected:
                raise ParameterError(
                    f"{name!r} of Paths must have the shape {expected}, to go with 'ends' of "
                    f"shape {self.ends.shape}. Got {shape} instead."
                )
        known = np.isfinite(distances(self)) & np.isfinite(self.lengths)
        if not known[self.reached].all():
            person, path = np.argwhere(self.reached & ~known)[0].tolist()
            raise ParameterError(
                "A path that reached its goal must have a finite start, end and length. "
                f"Path {path} of person {person} hasn't; mark it as not reached, or fill it in."
            )


def distances(paths: Paths) -> NDArray[np.float64]:
    """(n, k) the Euclidean distance from each start to each end; not finite where unknown."""
    return _norm(paths.ends, paths.start[:, None, :])


def pairwise(ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, k(k-1)/2) the distances between the k ends of each person, i < j, from (n, k, m)."""
    first, second = _pairs(ends.shape[1])
    columns = [_norm(ends[:, i], ends[:, j]) for i, j in zip(first, second, strict=True)]
    return np.stack(columns, axis=1) if columns else np.empty((len(ends), 0))


def pairwise_reached(reached: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(n, k(k-1)/2) whether both ends of each pair meet the goal, from (n, k)."""
    first, second = _pairs(reached.shape[1])
    return reached[:, first] & reached[:, second]


def nearest_distance(
    points: NDArray[np.float64], positives: NDArray[np.float64], neighbours: int = 5
) -> NDArray[np.float64]:
    """(p,) the mean distance from each of p points to its nearest positives.

    `points` is (p, m), `positives` (N, m). With fewer than `neighbours` positives all of them
    count; with none, or for a point that isn't finite, the answer is NaN. O(p·N·m) time, in
    tiles, and right to `TOLERANCE` however far from the origin the points lie.

    >>> nearest_distance(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 1.0]])).tolist()
    [3.0]
    """
    points, positives = np.asarray(points, np.float64), np.asarray(positives, np.float64)
    if points.ndim != 2 or positives.ndim != 2 or points.shape[1] != positives.shape[1]:
        raise ParameterError(
            "'points' and 'positives' must have the shapes (p, m) and (N, m). "
            f"Got {points.shape} and {positives.shape} instead."
        )
    neighbours = whole_number("neighbours", neighbours, 1)
    if not np.isfinite(positives).all():
        raise ParameterError("'positives' must be finite. Leave out rows with a missing value.")
    result = np.full(len(points), np.nan)
    count = min(neighbours, len(positives))
    if count == 0:
        return result
    known = np.flatnonzero(np.isfinite(points).all(axis=1))
    rows = max(1, TILE // ((count + SPARE) * max(points.shape[1], 1)))
    for tile in (known[at : at + rows] for at in range(0, len(known), rows)):
        result[tile] = _nearest_distance(points[tile], positives, count)
    return result


def _nearest_distance(
    points: NDArray[np.float64], positives: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Computational part of `nearest_distance`; assumes checked input.

    scikit-learn chooses candidates, by |a|² - 2ab + |b|², and they are measured by true
    differences. That sum is off by up to γ(|a| + |b|)² ≤ γ(8|a|² + 2d²), with γ about m machine
    epsilons, which bounds from below the distance of every positive that wasn't chosen. A point
    for which that bound leaves a doubt asks a tree, which is slower and exact.
    """
    from scipy.spatial import KDTree
    from sklearn.neighbors import NearestNeighbors

    kept = min(count + SPARE, len(positives))
    search = NearestNeighbors(n_neighbors=kept, algorithm="brute").fit(positives)
    about, chosen = search.kneighbors(points)
    nearest = np.sort(_norm(positives[chosen], points[:, None, :]), axis=1)[:, :count]
    if kept < len(positives):
        cut = np.square(about[:, -1])
        own = np.einsum("ij,ij->i", points, points)
        slack = 8.0 * (points.shape[1] + 4) * np.finfo(np.float64).eps * (own + cut)
        doubtful = nearest[:, -1] - np.sqrt(np.maximum(cut - slack, 0.0)) > TOLERANCE
        if doubtful.any():
            nearest[doubtful] = KDTree(positives).query(points[doubtful], k=[*range(1, count + 1)])[
                0
            ]
    return np.asarray(nearest.mean(axis=1))


def _norm(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # an unknown end may be infinite
        return np.asarray(np.linalg.norm(a - b, axis=-1))


def _pairs(k: int) -> tuple[list[int], list[int]]:
    pairs = list(combinations(range(k), 2))
    return [i for i, _ in pairs], [j for _, j in pairs]
