"""A reference set that needn't fit into memory: gone through shard by shard, never held.

It's passed over once for the scale of each feature, where no space is given, and once to score rows
and keep the positives. The published method's are then passed over twice more: to find clusters, by
a streaming k-means, and to be sorted by them. What ranks and effort need is a sample of the rows.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path as File
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import ConstantError, ParameterError, PositivesError, SchemaError
from stepladder.files import writing
from stepladder.methods import refusals
from stepladder.methods.step.default import Default
from stepladder.methods.step.method import PublishedStEP, StEP
from stepladder.methods.step.reference import Reference, norm_of
from stepladder.model.goal import Goal
from stepladder.model.loading import load
from stepladder.model.scorer import Scorer
from stepladder.scale import screening
from stepladder.scale.complete import CompleteStEP
from stepladder.scale.engine import Engine, engine_of
from stepladder.scale.people import parquet_files
from stepladder.scale.screening import Block, Screen, Screened, blocks_of, save, screened
from stepladder.scale.shards import ShardedPublished, ShardedStEP, Shards
from stepladder.table import frames
from stepladder.table.effort import Effort
from stepladder.table.feature import Change, Numeric, Ordinal
from stepladder.table.frames import Template
from stepladder.table.reading import own_columns
from stepladder.table.rules.agreement import compare
from stepladder.table.schema import Schema
from stepladder.table.space import Floats, Mask, Space


def fit(
    step: StEP,
    train: str | PathLike[str],
    model: Any,
    *,
    to: str | PathLike[str],
    schema: Schema | None = None,
    goal: Goal | None = None,
    labels: str | None = None,
    space: Space | None = None,
    client: Any = None,
) -> StEP:
    """A method fitted on reference rows that may be more than memory has room for.

    step    `sl.StEP(…)` or `sl.StEP.published(…)`, which stays as it is
    train   the name of a Parquet file, or of a folder of them
    model, schema, goal, space  as in `fit`; without a space, levels have to be in the schema
    to      a folder for the positives, which the method reads in every step
    labels  a column of `train`: a positive must also carry the desired label
    client  a `distributed.Client`: its workers, who have to reach both folders, go through the
            shards. Without one this process does, one after the other

    The published method's directions are sums over all positives, within rounding; its clusters
    come from a streaming k-means, and may be others than those that k-means finds in memory. The
    default method plans from a sample, and goes through all shards for whoever has no route there.
    Results name this in their settings, with the tolerance.
    """
    _check(step, schema, space, goal or Goal())
    engine, folder = engine_of(client), File(to)
    blocks = blocks_of(parquet_files(train), labels)
    if space is None:
        space = _space(schema, blocks, engine)
    opened = load(str(model)) if isinstance(model, str | PathLike) else model
    scorer = Scorer(opened, space, goal or Goal())
    _make_empty(folder)
    published = isinstance(step, PublishedStEP)
    screen = Screen(
        scorer,
        folder,
        step.random_state,
        screening.ROWS,
        step.takes_gaps,
        published,
        screening.SAMPLE,
    )
    found: Screened = engine.joined(screened, blocks, screen, Screened.joined)
    if not found.positives:
        raise PositivesError(
            f"None of the {found.rows:,} reference rows meets the goal ({scorer.goal}). Lower it, "
            "check which class is desired, or give more rows."
        )
    made: StEP
    if isinstance(step, PublishedStEP):
        made = _published(step, scorer, found, folder, engine)
    else:
        compare(space, found.sample.values)
        made = _default(step, scorer, found, engine)
    return made


def _make_empty(folder: File) -> None:
    """A folder that nothing is in: another method may still read its positives."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ParameterError(
                f"{str(folder)!r} isn't empty. Name another folder for the positives, or empty it."
            )


def _check(step: StEP, schema: Schema | None, space: Space | None, goal: Goal) -> None:
    """Refuse what can't be had of rows that are never all in memory."""
    if not isinstance(step, StEP) or step.is_private:
        raise ParameterError(
            "A reference set in shards is for sl.StEP(…) without a privacy budget, and for "
            f"sl.StEP.published(…); got {step!r}."
        )
    of = step.planner.parameters
    if getattr(step, "backend", "numpy") != "numpy":
        raise ParameterError("A reference set in shards is for backend='numpy'.")
    if of.spare_clusters or of.distance == "mahalanobis" or step.holds is not None:
        raise ParameterError(
            "A reference set in shards takes neither spare_clusters, nor distance='mahalanobis', "
            "nor holds. Leave them out."
        )
    streams = of.clusterer is None or hasattr(of.clusterer, "partial_fit")
    if isinstance(step, PublishedStEP) and not streams:
        raise ParameterError(
            f"A reference set in shards is clustered batch by batch, which {of.clusterer!r} can't "
            "do. Leave clusterer out for a streaming k-means, or give one with partial_fit."
        )
    rules = schema if space is None else space.schema
    if rules is None:
        raise SchemaError("fit needs a schema, or a space that was fitted before.")
    step._check_known(rules, goal)
    for feature in rules.features:
        if not isinstance(feature, Numeric) and feature.levels is None:
            raise SchemaError(
                f"{feature.name!r} has no levels in the schema. Declare them, or give a space that "
                "was fitted before: nobody looks at all rows first."
            )


# ---- the scale ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Spread:
    """Of each feature how many values there are, their mean and their squares around it."""

    count: Floats
    mean: Floats
    squares: Floats

    def joined(self, other: Spread) -> Spread:
        """Of both together (Chan, Golub and LeVeque)."""
        count = self.count + other.count
        share = np.divide(other.count, count, out=np.zeros_like(count), where=count > 0)
        gap = other.mean - self.mean
        squares = self.squares + other.squares + gap**2 * self.count * share
        return Spread(count, self.mean + gap * share, squares)


def _spread(block: Block, space: Space) -> Spread:
    empty = np.zeros(len(space.schema))
    found = Spread(empty, empty, empty)
    for rows, _ in block.frames():
        values = space.read(rows, allow_missing=True)
        known = ~np.isnan(values)
        count = known.sum(axis=0).astype(np.float64)
        filled = np.where(known, values, 0.0)
        mean = filled.sum(axis=0) / np.maximum(count, 1)
        squares = (np.where(known, values - mean, 0.0) ** 2).sum(axis=0)
        found = found.joined(Spread(count, mean, squares))
    return found


def _space(schema: Schema | None, blocks: list[Block], engine: Engine) -> Space:
    """The space of all rows; of the first of them only what they are made of is taken."""
    assert schema is not None
    rows, _ = next(blocks[0].frames())
    template = Template.of(own_columns(schema, frames.read(rows)).to_native())
    plain = Space(schema, template, np.zeros(0), np.ones(0))
    width = max(part.stop for part in plain.slices.values())
    center, scale = np.zeros(width), np.ones(width)
    found: Spread = engine.joined(_spread, blocks, plain, Spread.joined)
    for f, feature in enumerate(schema.features):
        if not isinstance(feature, Numeric | Ordinal):
            continue
        column = plain.slices[feature.name].start
        deviation = np.sqrt(found.squares[f] / max(found.count[f], 1.0))
        if not deviation > 0 and feature.change is not Change.NEVER:
            raise ConstantError(
                f"{feature.name!r} never varies in the reference rows, so it has no scale to "
                "measure a change by. Declare that it never changes, or drop it."
            )
        center[column], scale[column] = found.mean[f], deviation or 1.0
    return replace(plain, center=center, scale=scale)


# ---- clusters -----------------------------------------------------------------------------------


def _learned(piece: tuple[File, int], clusterer: Any) -> Any:
    """A clusterer that has seen one more piece, so many positives at a time."""
    clusterer = deepcopy(clusterer)  # a task may be done again, and must begin with the same
    file, at_once = piece
    points = np.load(file)
    least = getattr(clusterer, "n_clusters", None) or 1
    for start in range(0, len(points), at_once):
        batch = points[start : start + at_once]
        if len(batch) >= least or hasattr(clusterer, "cluster_centers_"):
            clusterer.partial_fit(batch)
    return clusterer


@dataclass(frozen=True, eq=False)
class Sort:
    """How pieces are sorted into the files of shards."""

    clusterer: Any
    """None where there is a single cluster"""
    shards: Shards
    columns: Mask


def _sorted(piece: tuple[int, File], sort: Sort) -> NDArray[np.intp]:
    """Put the positives of a piece into one file per cluster; returns how many each has."""
    shard, file = piece
    points = np.load(file)
    labels = np.zeros(len(points), dtype=np.intp)
    if sort.clusterer is not None:
        labels = np.asarray(sort.clusterer.predict(points), dtype=np.intp)
    for cluster, own in enumerate(sort.shards.files(shard)):
        save(own, points[labels == cluster][:, sort.columns])
    return np.bincount(labels, minlength=sort.shards.clusters)


def _added(one: NDArray[np.intp], other: NDArray[np.intp]) -> NDArray[np.intp]:
    return one + other


def _published(
    step: PublishedStEP, scorer: Scorer, found: Screened, folder: File, engine: Engine
) -> ShardedStEP:
    """The method, its positives sorted by cluster."""
    space, of = scorer.space, step.planner.parameters
    columns = space.changeable
    norm = norm_of(of.distance, np.empty((0, int(columns.sum()))), space, hard=False)
    shards = Shards(folder, len(found.pieces), of.paths, norm)
    clusterer = None
    if of.paths > 1:
        clusterer = engine.chained(
            _learned, [(piece, screening.AT_ONCE) for piece in found.pieces], _clusterer(step)
        )
    pieces = list(enumerate(found.pieces))
    counts = engine.joined(_sorted, pieces, Sort(clusterer, shards, columns), _added)
    if not counts.all():
        raise PositivesError(
            f"{of.paths} paths were asked for, each with its own cluster, but only "
            f"{np.count_nonzero(counts)} of the clusters hold any of the {found.positives:,} "
            "positives. Ask for fewer paths."
        )
    for piece in found.pieces:
        piece.unlink(missing_ok=True)
    made = object.__new__(ShardedStEP)
    planner = ShardedPublished(
        *(getattr(step.planner, field.name) for field in fields(step.planner)),
        shards=shards,
        engine=engine,
    )
    made.__dict__ = {**step.__dict__, "planner": planner}
    none = np.empty((0, len(space.schema)))
    made.reference_ = Reference(
        values=none,
        found=none,
        points=np.empty((0, space.width)),
        clusters=np.empty(0, dtype=np.intp),
        slots=of.paths,
        columns=columns,
        norm=norm,
    )
    return _known(made, scorer, found)


def _default(step: StEP, scorer: Scorer, found: Screened, engine: Engine) -> CompleteStEP:
    """The default method, as a sample of the rows and of the positives tells it."""
    planner, space = step.planner, scorer.space
    assert isinstance(planner, Default)
    made = object.__new__(CompleteStEP)
    made.__dict__ = {**step.__dict__, "pieces": found.pieces, "engine": engine}
    _known(made, scorer, found)
    reference = planner.reference(found.positive.values, space)
    made.reference_ = planner.advised(reference, found.sample.values, made.effort_)
    return made


Made = TypeVar("Made", bound=StEP)


def _known(made: Made, scorer: Scorer, found: Screened) -> Made:
    """The method with what `fit` learns whatever the planner is."""
    made.space_, made.scorer_, made.successors_ = scorer.space, scorer, None
    made.effort_ = Effort.learned(scorer.space, found.sample.values)
    made.positives_ = None
    made.counts_ = {
        "rows": found.rows,
        "positives": found.positives,
        "missing_value": found.missing,
    }
    accepted = found.positive
    margins = scorer.goal.margin(accepted.scores)
    made.background_ = refusals.background(accepted.values, margins)
    return made


def _clusterer(step: PublishedStEP) -> Any:
    """A fresh clusterer that learns batch by batch."""
    from sklearn.base import clone
    from sklearn.cluster import MiniBatchKMeans

    of = step.planner.parameters
    if of.clusterer is None:
        return MiniBatchKMeans(of.paths, random_state=of.random_state, n_init=3)
    return clone(of.clusterer).set_params(n_clusters=of.paths)
