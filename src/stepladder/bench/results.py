"""The folder that a run fills: rows, one per person, and what is known of each cell.

While a run is on, every finished cell is a file of its own under `cells/`, written beside its
place and then renamed, so a run that is killed at any moment loses only the cells it was working
on. A finished run is packed into two files, `rows.parquet` and `cells.parquet`; a run that goes on
later adds cells beside them.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from stepladder.bench.spec import Cell, Spec
from stepladder.errors import ExtraError, ResultError
from stepladder.files import replacing

KEYS = ["dataset", "model", "method", "seed"]
FACTS = b"stepladder"
"""Where a cell's file keeps what is known of it."""


@dataclass(frozen=True)
class CellFacts:
    """What is known of a cell beside its rows. `error` says why there are none."""

    fingerprint: str
    people: int = 0
    seconds_fit: float = 0.0
    seconds: float = 0.0
    model_calls: int = 0
    model_rows: int = 0
    peak_mib: float = 0.0
    dropped: int = 0
    error: str = ""
    settings: str = "{}"
    versions: str = "{}"


class Results:
    """The results in a folder; reading needs no run, writing is for runs."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._pending = self.folder / "cells"

    @property
    def is_empty(self) -> bool:
        return not self._packed("cells").is_file() and not any(self._files())

    @property
    def is_unpacked(self) -> bool:
        """Whether some cells lie in files of their own."""
        return any(self._files())

    # ---- reading --------------------------------------------------------------------------

    @cached_property
    def rows(self) -> pd.DataFrame:
        """One row for each dataset, model, method, seed and person."""
        return self._read()[0]

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row for each dataset, model, method and seed: `CellFacts`."""
        return self._read()[1]

    def finished(self, spec: Spec) -> set[Cell]:
        """The cells that needn't be run again: those that worked, with the spec as it is now."""
        if self.is_empty:
            return set()
        kept = self.cells[self.cells["error"] == ""]
        known = {
            Cell(*key): print_
            for *key, print_ in kept[[*KEYS, "fingerprint"]].itertuples(index=False)
        }
        return {cell for cell in spec.cells() if known.get(cell) == spec.fingerprint(cell)}

    def _read(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Rows and cells; a cell under `cells/` is newer than the same one packed."""
        if self.is_empty:
            raise ResultError(
                f"There are no results in {self.folder}. Make some with: stepladder bench run SPEC "
                f"--out {self.folder}"
            )
        try:
            rows, cells = self._one_by_one()
            if self._packed("cells").is_file():
                newer = pd.MultiIndex.from_frame(cells[KEYS])
                rows = _joined(self._older("rows", newer), rows)
                cells = _joined(self._older("cells", newer), cells)
        except (OSError, KeyError, ValueError) as error:
            raise ResultError(
                f"The results in {self.folder} can't be read: {error}. Delete the damaged file and "
                "run the bench again; it makes what is missing."
            ) from error
        return _ordered(rows), _ordered(cells)

    def _one_by_one(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The rows and cells that lie in files of their own."""
        rows, cells = [], []
        for file in self._files():
            table = _parquet().read_table(file)
            cell, facts = json.loads(table.schema.metadata[FACTS])
            key = dict(zip(KEYS, cell, strict=True))
            cells.append({**key, **facts})
            if len(table):
                rows.append(table.to_pandas().assign(**key))
        nothing = pd.DataFrame(columns=KEYS)
        return pd.concat(rows) if rows else nothing, pd.DataFrame(cells) if cells else nothing

    def _older(self, name: str, newer: pd.MultiIndex) -> pd.DataFrame:
        """What is packed and hasn't been run again since."""
        frame: pd.DataFrame = _parquet().read_table(self._packed(name)).to_pandas()
        frame = frame.astype(dict.fromkeys(KEYS[:3], object))
        return frame[~pd.MultiIndex.from_frame(frame[KEYS]).isin(newer)]

    # ---- writing --------------------------------------------------------------------------

    def put(self, cell: Cell, rows: pd.DataFrame, facts: CellFacts) -> None:
        """Keep a finished cell: whole, or not at all."""
        parquet = _parquet()
        from pyarrow import Table

        self._pending.mkdir(parents=True, exist_ok=True)
        table = Table.from_pandas(_short(rows), preserve_index=False)
        known = json.dumps([list(cell), asdict(facts)])
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), FACTS: known})
        name = ".".join(str(part) for part in cell)
        with replacing(self._pending / f"{name}.parquet") as unfinished:
            parquet.write_table(table, unfinished)

    def pack(self) -> None:
        """Put everything into two small files. If killed on the way, nothing is lost or doubled."""
        files = self._files()
        rows, cells = self._read()
        for name, frame in (("rows", rows), ("cells", cells)):
            with replacing(self._packed(name)) as unfinished:
                _write_small(frame, unfinished)
        for file in files:  # what was put since stays, and is newer
            file.unlink(missing_ok=True)
        for left in (*self.folder.glob(".*.parquet.*"), *self._pending.glob(".*.parquet.*")):
            left.unlink(missing_ok=True)  # by a run that was killed while it wrote
        if self._pending.is_dir() and not any(self._pending.iterdir()):
            self._pending.rmdir()
        for name in ("rows", "cells"):
            self.__dict__.pop(name, None)

    # ---- pieces ---------------------------------------------------------------------------

    def _packed(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"

    def _files(self) -> list[Path]:
        return sorted(self._pending.glob("*.parquet"))


def _short(rows: pd.DataFrame) -> pd.DataFrame:
    """Numbers as float32, which has more digits than any table shows; people keep their names."""
    long = [n for n in rows.columns if rows[n].dtype == np.float64 and n != "person"]
    return rows.astype(dict.fromkeys(long, np.float32))


def _joined(older: pd.DataFrame, newer: pd.DataFrame) -> pd.DataFrame:
    """Both, or the one that has rows: an empty frame would make every column an object."""
    parts = [frame for frame in (older, newer) if len(frame)]
    return pd.concat(parts) if parts else older


def _ordered(frame: pd.DataFrame) -> pd.DataFrame:
    """By cell, people staying in the order they were asked in."""
    order = [*KEYS, *(name for name in frame.columns if name not in KEYS)]
    return frame[order].sort_values(KEYS, kind="stable", ignore_index=True)


def _write_small(frame: pd.DataFrame, file: Path) -> None:
    from pyarrow import Table

    table = Table.from_pandas(
        frame.astype(dict.fromkeys(KEYS[:3], "category")), preserve_index=False
    )
    numbers = [name for name in frame.columns if frame[name].dtype == np.float32]
    _parquet().write_table(
        table,
        file,
        compression="zstd",
        compression_level=19,
        use_dictionary=[name for name in frame.columns if name not in numbers],
        use_byte_stream_split=numbers,
    )


def _parquet() -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ExtraError("pyarrow", "bench", "The bench's results") from error
    return parquet
