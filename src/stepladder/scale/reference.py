"""A reference set that needn't fit into memory: gone through shard by shard, never held.

It's passed over once for the scale of each feature, where no space is given, and once to score rows
and keep the positives. The published method's are then passed over twice more: to find clusters, by
a streaming k-means, and to be sorted by them. What ranks and effort need is a sample of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path as File
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder.errors import ConstantError, ParameterError, PositivesError, SchemaError
from stepladder.files import replacing, writing
from stepladder.methods import refusals
from stepladder.methods.step.default import Default
from stepladder.methods.step.method import PublishedStEP, StEP
from stepladder.methods.step.reference import Reference, norm_of
from stepladder.model.goal import Goal
from stepladder.model.loading import load
from stepladder.model.scorer import Scorer
from stepladder.result.archive.kinds import arrow
from stepladder.scale.complete import CompleteStEP
from stepladder.scale.engine import Engine, engine_of
from stepladder.scale.people import parquet_files
from stepladder.scale.shards import ROWS, ShardedPublished, ShardedStEP, Shards
from stepladder.table import frames
from stepladder.table.effort import Effort
from stepladder.table.feature import Change, Numeric, Ordinal
from stepladder.table.frames import Template
from stepladder.table.reading import own_columns
from stepladder.table.rules.agreement import compare
from stepladder.table.schema import Schema
from stepladder.table.space import Floats, Mask, Space

SAMPLE = 2**16
"""How many reference rows ranks and effort are taken from. A rank is then within 0.01 of that
among all rows, but for one time in 250,000 (Dvoretzky, Kiefer and Wolfowitz; Massart)."""

AT_ONCE = 2**14
"""How many rows are read, scored and clustered at a time."""


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
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    published = isinstance(step, PublishedStEP)
    screen = Screen(scorer, folder, step.random_state, ROWS, step.takes_gaps, published, SAMPLE)
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


# ---- blocks of rows -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """Some row groups of a Parquet file."""

    number: int
    file: File
    groups: tuple[int, ...]
    labels: str | None
    at_once: int
    """how many rows are read at a time"""

    def frames(self) -> Iterator[tuple[pd.DataFrame, NDArray[Any] | None]]:
        """The rows, some at a time, and their labels."""
        with arrow("parquet").ParquetFile(self.file) as opened:
            for batch in opened.iter_batches(
                self.at_once, row_groups=self.groups, use_threads=False
            ):
                rows = batch.to_pandas()
                if self.labels is None:
                    yield rows, None
                else:
                    yield rows.drop(columns=self.labels), rows[self.labels].to_numpy()


def blocks_of(files: list[File], labels: str | None) -> list[Block]:
    """Row groups next to each other, up to `ROWS` rows; one that is larger alone."""
    blocks: list[Block] = []
    for file in files:
        metadata = arrow("parquet").read_metadata(file)
        names = metadata.schema.to_arrow_schema().names
        if labels is not None and labels not in names:
            raise ParameterError(f"labels names {labels!r}, which isn't a column of {str(file)!r}.")
        groups: list[int] = []
        rows = 0
        for group in range(metadata.num_row_groups):
            size = metadata.row_group(group).num_rows
            if groups and rows + size > ROWS:
                blocks.append(Block(len(blocks), file, tuple(groups), labels, AT_ONCE))
                groups, rows = [], 0
            groups.append(group)
            rows += size
        if groups:
            blocks.append(Block(len(blocks), file, tuple(groups), labels, AT_ONCE))
    return blocks


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


# ---- screening ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Screen:
    """What every shard is screened with, and where its positives go."""

    scorer: Scorer
    folder: File
    seed: int
    most: int
    """how many positives a file holds, about"""
    takes_gaps: bool
    as_points: bool
    """whether positives are kept as points, or as values"""
    sample: int
    """how many rows a sample holds"""


@dataclass(frozen=True, eq=False)
class Sample:
    """Of some rows at `most` so many: those with the lowest of random numbers.

    Each row gets one by where it stands, so that the sample is uniform, and the same in whatever
    order others are joined to it.
    """

    most: int
    drawn: Floats
    values: Floats
    scores: Floats

    def joined(self, other: Sample) -> Sample:
        drawn = np.concatenate([self.drawn, other.drawn])
        kept = np.sort(drawn.argsort(kind="stable")[: self.most])
        values = np.concatenate([self.values, other.values])
        scores = np.concatenate([self.scores, other.scores])
        return Sample(self.most, drawn[kept], values[kept], scores[kept])

    def take(self, some: Mask) -> Sample:
        return Sample(self.most, self.drawn[some], self.values[some], self.scores[some])


@dataclass(frozen=True, eq=False)
class Screened:
    """What was found in some blocks: counts, files of positives, and samples."""

    rows: int
    missing: int
    positives: int
    pieces: tuple[File, ...]
    sample: Sample
    """of the rows that were scored"""
    positive: Sample
    """of the positives"""

    def joined(self, other: Screened) -> Screened:
        return Screened(
            self.rows + other.rows,
            self.missing + other.missing,
            self.positives + other.positives,
            (*self.pieces, *other.pieces),
            self.sample.joined(other.sample),
            self.positive.joined(other.positive),
        )


def screened(block: Block, screen: Screen) -> Screened:
    """Score a block's rows and keep its positives in files."""
    scorer = screen.scorer
    space, random = scorer.space, np.random.default_rng((screen.seed, block.number))
    none = Sample(screen.sample, np.empty(0), np.empty((0, len(space.schema))), np.empty(0))
    found = Screened(0, 0, 0, (), none, none)
    kept: list[Floats] = []
    pieces: list[File] = []

    def save() -> None:
        pieces.append(screen.folder / f"screened-{block.number:06d}-{len(pieces):03d}.npy")
        _save(pieces[-1], np.concatenate(kept))
        kept.clear()

    for rows, labels in block.frames():
        values = space.read(rows, allow_missing=True)
        scores = np.full(len(values), np.nan)
        asked = np.full(len(values), screen.takes_gaps) | ~np.isnan(values).any(axis=1)
        scores[asked] = scorer.score_known(values[asked])
        known = ~np.isnan(scores)
        desired = known if labels is None else known & scorer.is_desired(labels)
        drawn = random.random(len(rows))
        sample = Sample(screen.sample, drawn, values, scores).take(known)
        positive = scorer.yes(sample.scores, sample.values) & desired[known]
        own = sample.take(positive)
        part = (len(rows), int((~known).sum()), len(own.values), ())
        found = found.joined(Screened(*part, sample, own))
        kept.append(space.to_points(own.values) if screen.as_points else own.values)
        if sum(map(len, kept)) >= screen.most:
            save()
    if sum(map(len, kept)):
        save()
    return replace(found, pieces=tuple(pieces))


def _save(file: File, array: Floats) -> None:
    with replacing(file) as unfinished, unfinished.open("wb") as stream:
        np.save(stream, array)


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
        _save(own, points[labels == cluster][:, sort.columns])
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
            _learned, [(piece, AT_ONCE) for piece in found.pieces], _clusterer(step)
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
