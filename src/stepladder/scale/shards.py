"""Positives in shards on disk, and equation 1 over them: sums of each shard, added up by a tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path as File
from typing import Any

import numpy as np

from stepladder.errors import ParameterError
from stepladder.kernels.alpha import Alpha
from stepladder.kernels.direction import cluster_direction, prepare
from stepladder.kernels.distance import Norm
from stepladder.methods.step.clusters import Labels
from stepladder.methods.step.method import PublishedStEP
from stepladder.methods.step.published import Published
from stepladder.methods.step.reference import Reference
from stepladder.scale.engine import Engine, Here
from stepladder.table.space import Floats

MEMORY = 2**25
"""Bytes that the kernel may take for its own temporaries on a shard."""

PEOPLE = 2**13
"""How many people go through all shards together: each step reads them from disk once."""

TOLERANCE = (
    "directions to 1e-12 of their terms' lengths; ranks within 0.01, and effort as a sample of the "
    "reference rows has it"
)
"""By how much results may differ from those of the same clusters in memory."""


REFIT = "A reference set in shards is fitted with stepladder.scale.fit(step, train, model, …)."


@dataclass(frozen=True)
class Shards:
    """Which files hold the positives: `count` shards, of each one file per cluster."""

    folder: File
    count: int
    clusters: int
    norm: Norm | None = field(compare=False)

    def files(self, shard: int) -> tuple[File, ...]:
        return tuple(
            self.folder / f"positives-{shard:06d}-{cluster}.npy" for cluster in range(self.clusters)
        )


@dataclass(frozen=True, eq=False)
class Asked:
    """Points (t, columns) that ask for a direction, each to its own cluster (t,), in its order."""

    points: Floats
    cluster: Labels
    norm: Norm | None
    alpha: Alpha


def partial_directions(files: tuple[File, ...], asked: Asked) -> Floats:
    """Equation 1 (t, columns) over the positives of one shard, each point's own cluster."""
    toward = np.zeros_like(asked.points)
    ends = np.searchsorted(asked.cluster, np.arange(len(files) + 1))
    for file, start, end in zip(files, ends[:-1], ends[1:], strict=True):
        if start < end:
            positives = prepare(np.load(file), asked.norm)
            here = asked.points[start:end]
            toward[start:end] = cluster_direction(here, positives, asked.alpha, memory=MEMORY)
    return toward


def added(one: Floats, other: Floats) -> Floats:
    return one + other


@dataclass(frozen=True)
class ShardedPublished(Published):
    """The published planner, whose positives stay on disk."""

    shards: Shards = field(kw_only=True)
    engine: Engine = field(kw_only=True, default_factory=Here, compare=False)

    @property
    def settings(self) -> dict[str, Any]:
        return {
            **super().settings,
            "clusterer": "streaming k-means" if self.parameters.clusterer is None else "streaming",
            "shards": self.shards.count,
            "tolerance": TOLERANCE,
        }

    def _moves(self, points: Floats, cluster: Labels, reference: Reference) -> Floats:
        of, columns = self.parameters, reference.columns
        here = np.ascontiguousarray(points[:, columns])  # or a norm is rounded by their number
        asked = Asked(here, cluster, self.shards.norm, of.alpha)
        files = [self.shards.files(shard) for shard in range(self.shards.count)]
        toward = self.engine.joined(partial_directions, files, asked, added)
        sizes = np.linalg.norm(toward, axis=1, keepdims=True)
        toward *= np.divide(of.step_size, sizes, out=np.zeros_like(sizes), where=sizes > 0)
        moves = np.zeros_like(points)
        moves[:, columns] = toward
        return moves


class ShardedStEP(PublishedStEP):
    """The paper's method on positives in shards, made by `scale.fit`."""

    planner: ShardedPublished

    @property
    def batch(self) -> int:
        return PEOPLE

    def fit(self, *_: Any, **__: Any) -> Any:
        """Refused: its reference rows are those it was made with."""
        raise ParameterError(REFIT)
