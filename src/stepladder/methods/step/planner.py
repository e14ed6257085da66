"""What the three planners of StEP have in common: the default, the published and the private one.

A planner is a frozen value. It learns a `Reference` from the reference rows, and answers a question
from that alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from stepladder.errors import ParameterError
from stepladder.kernels.alpha import Alpha
from stepladder.methods.base import Answer, Question, ReferenceTable
from stepladder.methods.pace import Pace
from stepladder.methods.step.clusters import Clusterer, finds_own_number, partition
from stepladder.methods.step.cost import Kind
from stepladder.methods.step.reference import Distance, Reference, norm_of, without_outlying
from stepladder.model.successors import Successors
from stepladder.privacy.pay import Guarantee
from stepladder.result.path import Path
from stepladder.table.feasible import Feasible
from stepladder.table.space import Floats, Space

SAMPLE = 200
"""How many rejected reference rows serve to tell clusters of outliers from others."""


@dataclass(frozen=True)
class Parameters:
    """The hyper-parameters that every planner takes: see `StEP`. Assumed to be checked."""

    paths: int
    step_size: float
    max_steps: int
    alpha: Alpha
    clusterer: Clusterer
    random_state: int
    distance: Distance
    spare_clusters: int
    cost: Kind = "effort"
    slack: float = 0.1
    holds: float | None = None

    @property
    def advice(self) -> dict[str, Any]:
        """What routes are chosen by, as results echo it."""
        cost = self.cost if isinstance(self.cost, str) else getattr(self.cost, "__name__", "own")
        return {"cost": cost, "slack": self.slack, "holds": self.holds}

    @property
    def settings(self) -> dict[str, Any]:
        """As results echo them."""
        distance, clusterer = self.distance, self.clusterer
        return {
            "paths": self.paths,
            "step_size": self.step_size,
            "max_steps": self.max_steps,
            "alpha": repr(self.alpha),
            "clusterer": "k-means" if clusterer is None else str(clusterer),
            "random_state": self.random_state,
            "distance": dict(distance) if isinstance(distance, Mapping) else distance,
            "spare_clusters": self.spare_clusters,
        }


@dataclass(frozen=True)
class Planner(ABC):
    """One way to plan StEP's paths."""

    name: ClassVar[str] = "StEP"
    honours_rules: ClassVar[bool] = True
    takes_gaps: ClassVar[bool] = False
    is_private: ClassVar[bool] = False
    pays_per_answer: ClassVar[bool] = False

    parameters: Parameters

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What is set beyond the parameters, as results echo it."""

    @abstractmethod
    def reference(self, found: Floats, space: Space) -> Reference:
        """Positives (N, features), as they were found, in clusters."""

    @abstractmethod
    def answer(self, question: Question, reference: Reference) -> Answer:
        """The paths of n people, `slots` for each."""

    def learn(self, table: ReferenceTable) -> Reference:
        """Cluster the positives."""
        reference = self.reference(table.values[table.positive], table.space)
        return (
            self._without_outlying(reference, table)
            if self.parameters.spare_clusters
            else reference
        )

    def guarantee(self, reference: Reference, releases: int) -> Guarantee | None:
        """What is promised about the reference rows, after an answer that took some releases."""
        return None

    def _clustered(
        self, found: Floats, values: Floats, points: Floats, seen: Floats, space: Space
    ) -> Reference:
        """The reference of positives that are clustered by how they are `seen` (N, any)."""
        of, columns = self.parameters, space.changeable
        count = of.paths + of.spare_clusters
        labels = partition(seen, count, of.clusterer, of.random_state)
        return Reference(
            values=values,
            found=found,
            points=points,
            clusters=labels,
            slots=int(labels.max()) + 1 if finds_own_number(of.clusterer) else count,
            columns=columns,
            norm=norm_of(of.distance, points[:, columns], space, hard=self.honours_rules),
        )

    def _without_outlying(self, reference: Reference, table: ReferenceTable) -> Reference:
        """`paths` of the clusters: none that lies far out by the paper's rule, shortest path first.

        Path lengths are taken from reference rows that are turned down.
        """
        if table.accepted.all():
            raise ParameterError(
                "spare_clusters needs reference rows that are turned down, to see how long the "
                "paths to each cluster are; the model accepts all of them. Use spare_clusters=0."
            )
        question = turned_down(table, SAMPLE, self.parameters.random_state)
        return without_outlying(
            reference, self.to_clusters(question, reference), self.parameters.paths
        )

    def to_clusters(self, question: Question, reference: Reference) -> list[list[Path]]:
        """The paths of n people, one to each cluster."""
        return self.answer(question, reference).paths


def turned_down(
    table: ReferenceTable, count: int, random_state: int, successors: Successors | None = None
) -> Question:
    """What some reference rows that are turned down would ask."""
    rows = np.flatnonzero(~table.accepted)
    chosen = rows[np.random.default_rng(random_state).permutation(len(rows))[:count]]
    return Question(
        Feasible.around(table.space, table.values[chosen], policy=table.scorer.policy),
        table.scores[chosen],
        table.scorer,
        Pace(len(chosen), progress=False, time_budget=None),
        twins=np.zeros(len(chosen), dtype=np.intp),
        successors=successors,
    )
