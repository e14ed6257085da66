"""The positives a StEP is fitted on, and their clusters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stepladder.clusters import Labels
from stepladder.kernels.direction import Positives, prepare
from stepladder.kernels.distance import Metric
from stepladder.space import Floats, Mask


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
    metric: Metric | None

    @cached_property
    def prepared(self) -> list[Positives]:
        """Each cluster's positives as equation 1 wants them."""
        return [
            prepare(self.points[self.clusters == c][:, self.columns], self.metric)
            for c in range(self.slots)
        ]

    @cached_property
    def members(self) -> list[Labels]:
        """Which positives each cluster holds."""
        return [np.flatnonzero(self.clusters == c) for c in range(self.slots)]

    @cached_property
    def weights(self) -> Floats:
        """(columns,) how hard each column is to change: the metric's, where it's one a column."""
        weights = np.ones(len(self.columns))
        if self.metric is not None and self.metric.ndim == 1:
            weights[self.columns] = self.metric
        return weights

    @cached_property
    def strays(self) -> Labels:
        """The positives in no cluster: noise, or a cluster of outliers that was dropped."""
        return np.flatnonzero(self.clusters < 0)
