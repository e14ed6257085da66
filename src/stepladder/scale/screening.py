"""Reference rows screened block by block: scored, their positives put into files, and sampled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path as File
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder.errors import ParameterError
from stepladder.files import replacing
from stepladder.model.scorer import Scorer
from stepladder.result.archive.kinds import arrow
from stepladder.table.space import Floats, Mask

ROWS = 2**16
"""How many positives a shard holds, about: some 13 MB at 24 columns, and four times that while it
is worked on."""

SAMPLE = 2**16
"""How many reference rows ranks and effort are taken from. A rank is then within 0.01 of that
among all rows, but for one time in 250,000 (Dvoretzky, Kiefer and Wolfowitz; Massart)."""

AT_ONCE = 2**14
"""How many rows are read, scored and clustered at a time."""

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

    def put() -> None:
        pieces.append(screen.folder / f"screened-{block.number:06d}-{len(pieces):03d}.npy")
        save(pieces[-1], np.concatenate(kept))
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
            put()
    if sum(map(len, kept)):
        put()
    return replace(found, pieces=tuple(pieces))


def save(file: File, array: Floats) -> None:
    with replacing(file) as unfinished, unfinished.open("wb") as stream:
        np.save(stream, array)
