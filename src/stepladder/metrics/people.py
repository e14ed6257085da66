"""The metrics: each a pure function of the paths of many people, giving one number.

Unless it says otherwise a metric looks at successful paths only, takes a person's mean over
them, and then the mean over the people who have one. A metric of nothing is NaN.

The paper prints other diversities than its text defines, so both of those are here twice: the
definition, and `…_as_printed`, which is only for a comparison with the paper's own tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepladder.metrics.paths import Paths, distances, pairwise, pairwise_reached


def success(paths: Paths) -> float:
    """The share of people with at least one successful path."""
    return _mean_over_people(np.where(paths.reached.any(axis=1), 1.0, 0.0))


def average_success(paths: Paths) -> float:
    """The share of successful paths."""
    return _mean_over_people(paths.reached.sum(axis=1) / paths.reached.shape[1])


def l2_distance(paths: Paths) -> float:
    """‖x⁰ - xˡ‖: from the person to the end of a path."""
    return _mean_over_people(_mean_where(distances(paths), paths.reached))


def nearest_l2_distance(paths: Paths) -> float:
    """From the person to the nearest successful end."""
    nearest = np.where(paths.reached, distances(paths), np.inf).min(axis=1)
    return _mean_over_people(nearest)


def path_length(paths: Paths) -> float:
    """Σ ‖xⁱ - xⁱ⁻¹‖: the way walked."""
    return _mean_over_people(_mean_where(paths.lengths, paths.reached))


def path_steps(paths: Paths) -> float:
    """The number of moves taken."""
    return _mean_over_people(_mean_where(paths.steps, paths.reached))


def sparsity(paths: Paths) -> float:
    """The number of features that change."""
    return _mean_over_people(_mean_where(paths.changed, paths.reached))


def distance_to_positives(paths: Paths) -> float:
    """From the end of a path to its nearest positives, over the paths where that is known."""
    known = paths.reached & np.isfinite(paths.nearness)
    return _mean_over_people(_mean_where(paths.nearness, known))


def diversity(paths: Paths) -> float:
    """The mean distance between two successful ends, over people with at least two."""
    return _mean_over_people(_mean_where(pairwise(paths.ends), pairwise_reached(paths.reached)))


def diversity_as_printed(paths: Paths) -> float:
    """With S the sum of distances between all k ends, failures included: S/9 for k = 3, else
    S/(k(k+1)/2), over all people (but those with an unknown end)."""
    k = paths.ends.shape[1]
    return _mean_over_people(_apart(paths) / (9 if k == 3 else k * (k + 1) / 2))


def proximal_diversity(paths: Paths) -> float:
    """The sum of distances between successful ends over the distance from the person to the
    furthest of them, over people with at least two (not all of them where the person stands)."""
    both = pairwise_reached(paths.reached)
    total = np.where(both, pairwise(paths.ends), 0.0).sum(axis=1)
    furthest = np.where(paths.reached, distances(paths), 0.0).max(axis=1)
    return _mean_over_people(_ratio(total, np.where(both.any(axis=1), furthest, 0.0)))


def proximal_diversity_as_printed(paths: Paths) -> float:
    """The same with all k ends, failures included, over all people (but those with an unknown
    end, or with every end where they stand)."""
    return _mean_over_people(_ratio(_apart(paths), distances(paths).max(axis=1)))


@dataclass(frozen=True)
class Metric:
    """A metric with its name, which way is better, and what it means in one line."""

    name: str
    function: Callable[[Paths], float]
    higher_is_better: bool
    meaning: str

    def __call__(self, paths: Paths) -> float:
        return self.function(paths)


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("success", success, True, "people with a path to the goal"),
        Metric("avg_success", average_success, True, "paths that reach the goal"),
        Metric("l2_distance", l2_distance, False, "from a person to an end"),
        Metric("nearest_l2_distance", nearest_l2_distance, False, "from a person to the nearest"),
        Metric("path_length", path_length, False, "way walked along a path"),
        Metric("path_steps", path_steps, False, "moves in a path"),
        Metric("diversity", diversity, True, "between two ends of a person"),
        Metric("diversity_as_printed", diversity_as_printed, True, "as in the paper's tables"),
        Metric("proximal_diversity", proximal_diversity, True, "spread of the ends by their reach"),
        Metric(
            "proximal_diversity_as_printed",
            proximal_diversity_as_printed,
            True,
            "as in the paper's tables",
        ),
        Metric("sparsity", sparsity, False, "features that change along a path"),
        Metric("distance_to_positives", distance_to_positives, False, "from an end to the data"),
    )
}
"""Every metric by its name, in the order of a report."""


def summary(paths: Paths) -> dict[str, float]:
    """Every metric of these paths, by its name."""
    return {name: metric(paths) for name, metric in METRICS.items()}


def _apart(paths: Paths) -> NDArray[np.float64]:
    """(n,) the sum of distances between all k ends of a person; NaN where one is unknown."""
    known = np.isfinite(paths.ends).all(axis=(1, 2))
    return np.where(known, pairwise(paths.ends).sum(axis=1), np.nan)


def _mean_over_people(values: NDArray[np.float64]) -> float:
    """The mean of (n,) values over those that are defined, or NaN."""
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if defined.size else float("nan")


def _mean_where(
    values: NDArray[np.float64] | NDArray[np.int64], where: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """(n,) row means of (n, j) values, counting only where told; NaN for a row with none."""
    return _ratio(np.where(where, values, 0.0).sum(axis=1), where.sum(axis=1).astype(np.float64))


def _ratio(over: NDArray[np.float64], under: NDArray[np.float64]) -> NDArray[np.float64]:
    """`over / under`, NaN where `under` isn't positive or isn't known."""
    result = np.full(over.shape, np.nan)
    np.divide(over, under, out=result, where=(under > 0) & np.isfinite(under))
    return result
