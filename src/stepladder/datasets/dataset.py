"""What a table is before it's loaded, and what `load` makes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder.checks import whole_number
from stepladder.table.schema import Schema

Kind = Literal["whole", "number", "text"]
"""What a column holds: whole numbers without gaps, numbers, or text; the latter two may be missing.

In a frame they are int64, float64, and what pandas makes of text.
"""


class Cleaned(NamedTuple):
    """What a table's cleaning returns."""

    rows: pd.DataFrame
    labels: NDArray[np.int64]
    schema: Schema
    groups: pd.DataFrame | None = None


class Split(NamedTuple):
    """Positions of rows, each in one of three parts, in the order they were drawn."""

    train: NDArray[np.intp]
    validation: NDArray[np.intp]
    test: NDArray[np.intp]


@dataclass(frozen=True)
class Provenance:
    """Whose table it is, what may be done with it, and where this copy comes from."""

    citation: str
    licence: str
    page: str
    """The address of the page that publishes it."""
    read_from: str = ""
    """The file, package or service this copy was read from."""


@dataclass(frozen=True)
class OpenML:
    """A data set on OpenML, and how its columns and rows become the published table's."""

    data_id: int
    arrange: Callable[[pd.DataFrame], pd.DataFrame]
    by_hand: str
    """What to take from the page that publishes the table, for those who can't reach OpenML."""

    @property
    def name(self) -> str:
        return f"OpenML data set {self.data_id}"


@dataclass(frozen=True)
class Package:
    """A table that an installed package brings along."""

    name: str
    read: Callable[[], pd.DataFrame]
    way_out: str


@dataclass(frozen=True)
class PublishedTable:
    """A table as it was published, where to get it, and how it's cleaned."""

    name: str
    columns: Mapping[str, Kind]
    checksum: str
    """Of the content: see content.py."""
    provenance: Provenance
    source: OpenML | Package
    clean: Callable[[pd.DataFrame], Cleaned]
    """Takes the checked table, which it may change."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A cleaned table: raw rows, labels, the rules for changes, and where it comes from."""

    name: str
    rows: pd.DataFrame
    """In raw units, one column per feature."""
    labels: NDArray[np.int64]
    """(rows,): 1 is the good outcome, 0 the other."""
    schema: Schema
    provenance: Provenance
    groups: pd.DataFrame | None = None
    """What an audit can compare people by and a model shouldn't see, one row for each of `rows`;
    None where the rows hold all there is."""

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return (
            f"Dataset({self.name!r}: {len(self):,} rows, {len(self.schema)} features, "
            f"{self.labels.mean():.1%} of the labels good)"
        )

    def split(self, seed: int) -> Split:
        """Train, validation and test positions: 70, 15 and 15 per cent, as the paper splits.

        The rows that aren't for training are halved with the same seed.
        """
        from sklearn.model_selection import train_test_split

        seed = whole_number("seed", seed, 0, most=2**32 - 1)
        train, rest = train_test_split(np.arange(len(self)), test_size=0.3, random_state=seed)
        validation, test = train_test_split(rest, test_size=0.5, random_state=seed)
        return Split(train, validation, test)
