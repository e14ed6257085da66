"""A table from OpenML, for when no folder has it. Fetched by scikit-learn, checked by us."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pandas as pd

from stepladder.datasets import content
from stepladder.datasets.dataset import OpenML, PublishedTable
from stepladder.datasets.folders import ENDINGS, Place
from stepladder.errors import DatasetError, listing
from stepladder.progress import Bar

SERVER = "https://www.openml.org/"
"""Where scikit-learn asks."""

SECONDS = 10
"""How long the server may take to answer at all."""


def fetched(
    table: PublishedTable, source: OpenML, places: tuple[Place, ...], progress: bool
) -> pd.DataFrame:
    """The checked table. `places` are where it was looked for in vain, for the error."""
    way_out = _by_hand(table, source, places)
    try:
        # scikit-learn doesn't say how much has arrived.
        with Bar(f"Downloading {table.name} from OpenML") if progress else nullcontext():
            _knock()
            frame = _fetch(source.data_id)
    except (OSError, ValueError) as error:  # no network; a refusal, or a file cut short
        raise DatasetError(
            f"The table {table.name!r} is in none of the folders looked in, and {source.name} "
            f"can't be downloaded: {error}. {way_out}"
        ) from error
    try:
        arranged = source.arrange(frame)
    except (KeyError, IndexError, ValueError) as error:
        raise DatasetError(
            f"{source.name} isn't the table {table.name!r} any more: its columns are "
            f"{listing(frame.columns, most=30)}. {way_out}"
        ) from error
    return content.verified(arranged, table, source.name, way_out)


def _knock() -> None:
    """Raise an OSError soon if the server can't be reached.

    scikit-learn sets no time limit, so that a network that swallows packets would hang it.
    """
    try:
        with urlopen(Request(SERVER, method="HEAD"), timeout=SECONDS):
            pass
    except HTTPError as answer:  # whatever it says, it answers
        answer.close()


def _fetch(data_id: int) -> pd.DataFrame:
    """The data set as it is, every column as text."""
    from sklearn.datasets import fetch_openml

    with warnings.catch_warnings():
        # They're about retries and superseded versions; the checksum settles what came.
        warnings.simplefilter("ignore")
        bunch = fetch_openml(
            data_id=data_id,
            as_frame=True,
            parser="pandas",
            # All as text: up to scikit-learn 1.9, numbers that OpenML calls nominal can't be read
            # with pandas 3.1 (scikit-learn's pull request 34902). Our check finds the numbers.
            read_csv_kwargs={"dtype": str},
            cache=False,  # a checked table is kept in our own folder
            n_retries=1,
            delay=0.5,
        )
    # ARFF may put quotes around a text.
    return pd.DataFrame({name: bunch.frame[name].str.strip("'") for name in bunch.frame})


def _by_hand(table: PublishedTable, source: OpenML, places: tuple[Place, ...]) -> str:
    """Which file to put where, and what it should hold."""
    csv, packed, parquet = (f"{table.name}{ending}" for ending in ENDINGS)
    columns = listing(table.columns, most=len(table.columns))
    return (
        f"Put {csv}, {packed} or {parquet} in one of: {'; '.join(map(str, places))}. "
        f"It holds the columns {columns}: {source.by_hand}, from {table.provenance.page}"
    )
