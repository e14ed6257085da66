"""The metrics: each a pure function of the paths of many people.

A metric has a value for each person (`metric.each(paths)`, NaN where it says nothing of them) and
is itself the mean over the people who have one (`metric(paths)`; NaN if nobody has). Unless it
says otherwise it looks at successful paths only and takes a person's mean over them.

The paper prints other diversities than its text defines, so both of those are here twice: the
definition, and `…_as_printed`, which is only for a comparison with the paper's own tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepladder.metrics.paths import Paths, distances, pairwise, pairwise_reached

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Metric:
    """A metric with its name, which way is better, and what it means in one line."""

    name: str
    each: Callable[[Paths], Values]
    """a value (n,) for each person"""
    higher_is_better: bool
    meaning: str

    def __call__(self, paths: Paths) -> float:
        return mean_of_defined(self.each(paths))


METRICS: dict[str, Metric] = {}
"""Every metric by its name, in the order of a report."""


def _metric(
    meaning: str, *, higher_is_better: bool = False, name: str | None = None
) -> Callable[[Callable[[Paths], Values]], Metric]:
    def made(each: Callable[[Paths], Values]) -> Metric:
        metric = Metric(name or each.__name__, each, higher_is_better, meaning)
        METRICS[metric.name] = metric
        return metric

    return made


@_metric("people with a path to the goal", higher_is_better=True)
def success(paths: Paths) -> Values:
    """Whether a person has at least one successful path."""
    return np.where(paths.reached.any(axis=1), 1.0, 0.0)


@_metric("paths that reach the goal", higher_is_better=True, name="avg_success")
def average_success(paths: Paths) -> Values:
    """The share of successful paths."""
    return np.asarray(paths.reached.sum(axis=1) / paths.reached.shape[1])


@_metric("from a person to an end")
def l2_distance(paths: Paths) -> Values:
    """‖x⁰ - xˡ‖: from the person to the end of a path."""
    return _mean_where(distances(paths), paths.reached)


@_metric("from a person to the nearest")
def nearest_l2_distance(paths: Paths) -> Values:
    """From the person to the nearest successful end."""
    nearest = np.where(paths.reached, distances(paths), np.inf).min(axis=1)
    return np.where(np.isfinite(nearest), nearest, np.nan)


@_metric("length of a path, step by step")
def path_length(paths: Paths) -> Values:
    """Σ ‖xⁱ - xⁱ⁻¹‖: the lengths of the steps of a path, added up."""
    return _mean_where(paths.lengths, paths.reached)


@_metric("moves in a path")
def path_steps(paths: Paths) -> Values:
    """The number of moves taken."""
    return _mean_where(paths.steps, paths.reached)


@_metric("between two ends of a person", higher_is_better=True)
def diversity(paths: Paths) -> Values:
    """The mean distance between two successful ends, for a person with at least two."""
    return _mean_where(pairwise(paths.ends), pairwise_reached(paths.reached))


@_metric("as in the paper's tables", higher_is_better=True)
def diversity_as_printed(paths: Paths) -> Values:
    """With S the sum of distances between all k ends, failures included: S/9 for k = 3, else
    S/(k(k+1)/2), for everyone (but those with an unknown end)."""
    k = paths.ends.shape[1]
    return _apart(paths) / (9 if k == 3 else k * (k + 1) / 2)


@_metric("spread of the ends by their reach", higher_is_better=True)
def proximal_diversity(paths: Paths) -> Values:
    """The sum of distances between successful ends over the distance from the person to the
    furthest of them, for people with at least two (not all of them where the person stands)."""
    both = pairwise_reached(paths.reached)
    total = np.where(both, pairwise(paths.ends), 0.0).sum(axis=1)
    furthest = np.where(paths.reached, distances(paths), 0.0).max(axis=1)
    return _ratio(total, np.where(both.any(axis=1), furthest, 0.0))


@_metric("as in the paper's tables", higher_is_better=True)
def proximal_diversity_as_printed(paths: Paths) -> Values:
    """The same with all k ends, failures included, for everyone (but those with an unknown end,
    or with every end where they stand)."""
    return _ratio(_apart(paths), distances(paths).max(axis=1))


@_metric("features that change along a path")
def sparsity(paths: Paths) -> Values:
    """The number of features that change."""
    return _mean_where(paths.changed, paths.reached)


@_metric("what a path asks of a person")
def effort(paths: Paths) -> Values:
    """What the changes of a path ask of the person, over the paths where that is known."""
    known = paths.reached & np.isfinite(paths.effort)
    return _mean_where(paths.effort, known)


@_metric("what the easiest asks")
def easiest_effort(paths: Paths) -> Values:
    """The same of a person's easiest path."""
    known = paths.reached & np.isfinite(paths.effort)
    easiest = np.where(known, paths.effort, np.inf).min(axis=1)
    return np.where(np.isfinite(easiest), easiest, np.nan)


@_metric("from an end to the data")
def distance_to_positives(paths: Paths) -> Values:
    """From the end of a path to its nearest positives, over the paths where that is known."""
    known = paths.reached & np.isfinite(paths.nearness)
    return _mean_where(paths.nearness, known)


def each(paths: Paths) -> dict[str, Values]:
    """Every metric's values (n,) by its name: one for each person."""
    return {name: metric.each(paths) for name, metric in METRICS.items()}


def summary(paths: Paths) -> dict[str, float]:
    """Every metric of these paths, by its name."""
    return {name: metric(paths) for name, metric in METRICS.items()}


def mean_of_defined(values: Values) -> float:
    """The mean of (n,) values over those that are defined, or NaN."""
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if defined.size else float("nan")


def _apart(paths: Paths) -> Values:
    """(n,) the sum of distances between all k ends of a person; NaN where one is unknown."""
    known = np.isfinite(paths.ends).all(axis=(1, 2))
    return np.where(known, pairwise(paths.ends).sum(axis=1), np.nan)


def _mean_where(values: Values | NDArray[np.int64], where: NDArray[np.bool_]) -> Values:
    """(n,) row means of (n, j) values, counting only those in `where`; NaN for a row with none."""
    return _ratio(np.where(where, values, 0.0).sum(axis=1), where.sum(axis=1).astype(np.float64))


def _ratio(over: Values, under: Values) -> Values:
    """`over / under`, NaN where `under` isn't positive or isn't known."""
    result = np.full(over.shape, np.nan)
    np.divide(over, under, out=result, where=(under > 0) & np.isfinite(under))
    return result
