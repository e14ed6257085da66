"""Partitions of the positives: k-means, any scikit-learn clusterer, or random assignment."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import ParameterError, PositivesError
from stepladder.table.space import Floats, Mask

Labels = NDArray[np.intp]
Clusterer = Literal["random"] | Any | None
"""None for k-means, "random", or a scikit-learn clusterer."""


def partition(points: Floats, count: int, clusterer: Clusterer, random_state: int) -> Labels:
    """The cluster (n,) of each point, 0 … k−1; −1 for a point that belongs to none.

    A clusterer with an `n_clusters` or `n_components` setting is asked for `count` clusters; one
    that finds its own number (affinity propagation, mean shift, DBSCAN) keeps it, and then that
    is how many paths there are. A `random_state` of its own that isn't set takes ours.
    """
    check(clusterer)
    if count > len(points) and not finds_own_number(clusterer):
        raise PositivesError(
            f"{count} paths were asked for, each with its own cluster, but only {len(points)} "
            f"reference rows meet the goal. Ask for {len(points)} at most, lower the goal, "
            "or give more reference rows."
        )
    if clusterer == "random":
        return _random(len(points), count, random_state)
    if clusterer is None:
        from sklearn.cluster import KMeans  # scikit-learn costs a second; only fit needs it

        clusterer = KMeans(n_init=10)
    if count > 1 and not finds_own_number(clusterer):
        count = min(count, len(np.unique(points, axis=0)))  # equal points can't be told apart
    return _numbered(_asked(clusterer, count, random_state).fit_predict(points))


def check(clusterer: Clusterer) -> None:
    """Refuse what can't partition anything."""
    if clusterer is None or (isinstance(clusterer, str) and clusterer == "random"):
        return
    if isinstance(clusterer, type) or not hasattr(clusterer, "fit_predict"):
        raise ParameterError(
            "clusterer must be None (k-means), 'random' or a scikit-learn clusterer, such as "
            f"AffinityPropagation(); got {clusterer!r}."
        )


def finds_own_number(clusterer: Clusterer) -> bool:
    """Whether a clusterer decides by itself how many clusters there are."""
    if clusterer is None or isinstance(clusterer, str):
        return False
    asked = (getattr(clusterer, name, None) for name in ("n_clusters", "n_components"))
    return all(number is None for number in asked)


def _random(points: int, count: int, random_state: int) -> Labels:
    """Uniformly random clusters, none of them empty."""
    rng = np.random.default_rng(random_state)
    labels = rng.integers(count, size=points)
    labels[rng.permutation(points)[:count]] = np.arange(count)
    return labels.astype(np.intp)


def _asked(clusterer: Any, count: int, random_state: int) -> Any:
    """A fresh copy of the caller's clusterer with our number of clusters and seed."""
    from sklearn.base import clone

    if not hasattr(clusterer, "get_params"):  # no settings to take over
        return clusterer
    copy = clone(clusterer)
    known = copy.get_params(deep=False)
    settings: dict[str, Any] = {
        name: count
        for name in ("n_clusters", "n_components")
        if known.get(name) is not None  # None: it's to find its own number
    }
    if "random_state" in known and known["random_state"] is None:
        settings["random_state"] = random_state
    return copy.set_params(**settings)


def _numbered(found: NDArray[Any]) -> Labels:
    """Labels renumbered 0 … k−1 without gaps; noise (below 0) stays −1."""
    labels = np.full(len(found), -1, dtype=np.intp)
    kept = found >= 0
    if not kept.any():
        raise PositivesError(
            "The clusterer called every positive noise, so there's no cluster to go to. Loosen it."
        )
    labels[kept] = np.unique(found[kept], return_inverse=True)[1]
    return labels


def outlying(lengths: Floats) -> Mask:
    """Which clusters the paper would ignore: a mask (k,).

    Those whose mean path length is two standard deviations or more above the mean of the others
    (the paper's remedy for clusters made of outliers). `lengths` (k,) are the mean path lengths.
    """
    mask = np.zeros(len(lengths), dtype=bool)
    for c in range(len(lengths)):
        others = np.delete(lengths, c)
        if len(others) > 1:
            mask[c] = lengths[c] > others.mean() and (
                lengths[c] >= others.mean() + 2 * others.std()
            )
    return mask
