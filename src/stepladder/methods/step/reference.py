"""The positives a StEP is fitted on, and their clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Literal

import numpy as np

from stepladder.errors import ParameterError
from stepladder.kernels.direction import Positives, prepare
from stepladder.kernels.distance import Norm, weighting, whitening
from stepladder.methods.step.clusters import Labels, outlying
from stepladder.result.path import Outcome, Path
from stepladder.table.feasible import Feasible
from stepladder.table.space import Floats, Mask, Space

if TYPE_CHECKING:
    from stepladder.methods.step.bought import Held
    from stepladder.methods.step.cost import Cost
    from stepladder.methods.step.scan import Scanned

Distance = Literal["euclidean", "mahalanobis"] | Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Advice:
    """What the default planner goes by beside the positives."""

    scanned: Scanned
    """the values that are tried for everybody"""
    more: Scanned
    """and for people to whom those are no help"""
    cost: Cost


@dataclass(frozen=True, eq=False)
class Reference:
    """N positives as allowed values (N, features) and points (N, columns), with their cluster (N,).

    `columns` are those that may change: distances and directions live on them alone.
    """

    values: Floats
    found: Floats
    """(N, features) the same rows as they were found, decimals that aren't allowed included"""
    points: Floats
    clusters: Labels
    slots: int
    """how many paths each person gets; slots beyond the clusters found start without one"""
    columns: Mask
    norm: Norm | None
    ranges: Floats | None = None
    """(features, 2) what the schema declares each feature to lie within, where the rows are made
    up: then values beyond those of the rows are worth a try too"""
    held: Held | None = None
    """the real positives, where only noisy sums may be asked about them"""
    advice: Advice | None = None

    @cached_property
    def prepared(self) -> list[Positives]:
        """Each cluster's positives as equation 1 wants them."""
        return [
            prepare(self.points[self.clusters == c][:, self.columns], self.norm)
            for c in range(self.slots)
        ]

    @cached_property
    def members(self) -> list[Labels]:
        """Which positives each cluster holds."""
        return [np.flatnonzero(self.clusters == c) for c in range(self.slots)]

    @cached_property
    def weights(self) -> Floats:
        """(columns,) how hard each column is to change: the norm's weights, if it has them."""
        weights = np.ones(len(self.columns))
        if self.norm is not None and self.norm.ndim == 1:
            weights[self.columns] = self.norm
        return weights

    def projected(self, feasible: Feasible, positives: Labels) -> Floats:
        """π: some positives, one for each of n people, as near as that person could come to it.

        A value that the person has already they may keep, even if nobody else may take it.
        """
        return feasible.repair(self._found_or_own(feasible, positives))

    def settled(self, feasible: Feasible, positives: Labels) -> Floats:
        """The same before requirements are looked at: a row that breaks none is the same."""
        return feasible.settle(self._found_or_own(feasible, positives))

    def _found_or_own(self, feasible: Feasible, positives: Labels) -> Floats:
        own = self.found[positives] == feasible.start
        return np.where(own, feasible.start, self.values[positives])

    def stretch(self, feasible: Feasible) -> Floats:
        """(n, columns) how many times as long as usual a step may be for each of n people.

        Once, except where somebody stands outside a declared range: then in proportion to how far
        it has to be widened to take them in, or they'd need hundreds of steps to get into it.
        """
        space = feasible.space
        stretch = np.ones((len(feasible), space.width))
        if self.ranges is None:
            return stretch
        low, high = self.ranges.T
        widened = np.maximum(high, feasible.start) - np.minimum(low, feasible.start)
        for f, feature in enumerate(space.schema.features):
            if feature.ordered and high[f] > low[f]:
                column = space.slices[feature.name].start
                stretch[:, column] = widened[:, f] / (high[f] - low[f])
        return stretch

    @cached_property
    def strays(self) -> Labels:
        """The positives in no cluster: noise, or a cluster of outliers that was dropped."""
        return np.flatnonzero(self.clusters < 0)


def profiles(feasible: Feasible) -> tuple[Labels, Labels]:
    """The first of the people with each profile, and which profile each of n people has.

    People of one profile project alike, so the model is asked about a row once for all of them:
    they have the same box, and the same values of their own that rules look at.
    """
    start, space = feasible.start, feasible.space
    own = np.where(start == space.grid.nearest(start), np.inf, start)
    if not feasible.is_box:  # formulas, moves and a count of changes look at any of today's values
        own = start
    box = np.concatenate([*feasible.limits, *feasible.reachable, own], axis=1)
    _, first, profile = np.unique(box, axis=0, return_index=True, return_inverse=True)
    return first, profile.reshape(-1)  # NumPy 2.0 gives it an extra axis


def norm_of(distance: Distance, points: Floats, space: Space, *, hard: bool) -> Norm | None:
    """The distance as the kernels know it, over the changeable columns of `points`.

    If `hard`, what is twice as difficult is twice as far; but for a whitening, which has its own
    weights.
    """
    if distance == "mahalanobis":
        return whitening(points)
    weights = space.difficulty.copy() if hard else np.ones(space.width)
    if isinstance(distance, Mapping):
        for name, weight in distance.items():
            space.schema.position(name)
            if not (isinstance(weight, Real) and 0 < weight < np.inf):
                raise ParameterError(
                    f"distance[{name!r}] must be a number above 0; got {weight!r}."
                )
            weights[space.slices[name]] *= weight
    elif (weights == 1.0).all():
        return None
    return weighting(weights[space.changeable])


def without_outlying(reference: Reference, paths: list[list[Path]], count: int) -> Reference:
    """`count` of the clusters: none that lies far out by the paper's rule, shortest paths first.

    `paths` are some people's paths to all of them.
    """
    lengths = _mean_lengths(paths, reference)
    far_out = np.isinf(lengths)
    far_out[~far_out] = outlying(lengths[~far_out])
    order = np.lexsort((lengths, far_out))[:count]
    kept = np.full(reference.slots + 1, -1, dtype=np.intp)  # the last one is for −1
    kept[np.sort(order)] = np.arange(len(order))
    return replace(reference, clusters=kept[reference.clusters], slots=len(order))


def _mean_lengths(paths: list[list[Path]], reference: Reference) -> Floats:
    """(k,) how long the paths to each cluster are; infinite for one that nobody can go to."""
    lengths = np.array([[path.length for path in own] for own in paths])
    gone = np.array([[path.outcome is Outcome.UNREACHABLE for path in own] for own in paths])
    gone |= [len(members) == 0 for members in reference.members]
    tried = (~gone).sum(axis=0)
    total = np.where(gone, 0.0, lengths).sum(axis=0)
    return np.where(tried > 0, total / np.maximum(tried, 1), np.inf)
