"""Where tables are looked for, how a file is read, and how a download is kept."""

from __future__ import annotations

import os
import sys
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from stepladder.errors import DatasetError, ExtraError, ParameterError, ResultError
from stepladder.files import replacing

ENDINGS = (".csv", ".csv.gz", ".parquet")
"""The formats that are read, in the order they are looked for in one folder."""


@dataclass(frozen=True)
class Place:
    """A folder that tables are looked for in, and what it's called in an error."""

    name: str
    folder: Path | None

    def file(self, table: str) -> Path | None:
        """The file that holds a table; None if there's none."""
        if self.folder is None:
            return None
        files = (self.folder / f"{table}{ending}" for ending in ENDINGS)
        return next((file for file in files if file.is_file()), None)

    def __str__(self) -> str:
        if self.folder is None:
            return f"{self.name} (not set)"
        missing = "" if self.folder.is_dir() else ", which isn't there yet"
        return f"{self.name} ({self.folder}{missing})"


def places(data_dir: str | Path | None) -> tuple[Place, ...]:
    """The folders in the order they are looked in."""
    if data_dir is not None and not Path(data_dir).is_dir():
        raise ParameterError(
            f"data_dir must be a folder that exists; got {str(data_dir)!r}. Leave it out to look "
            "in STEPLADDER_DATA and the user cache, and to download what isn't there."
        )
    named = os.environ.get("STEPLADDER_DATA")
    return (
        *([] if data_dir is None else [Place("data_dir", Path(data_dir))]),
        Place("STEPLADDER_DATA", Path(named) if named else None),
        Place("the user cache", user_cache()),
    )


def user_cache() -> Path:
    """The user's folder for what can be downloaded again, by the custom of the platform."""
    home = Path.home()
    if sys.platform == "win32":
        named, usual = os.environ.get("LOCALAPPDATA"), home / "AppData" / "Local"
    elif sys.platform == "darwin":
        named, usual = None, home / "Library" / "Caches"
    else:
        named, usual = os.environ.get("XDG_CACHE_HOME"), home / ".cache"
    # A relative path would mean another folder in every working directory.
    return (Path(named) if named and Path(named).is_absolute() else usual) / "stepladder"


def read(file: Path) -> pd.DataFrame:
    """A file's table as it is. A nameless first column, such as a written index, is left out."""
    try:
        if file.suffix == ".parquet":
            frame = _read_parquet(file)
        else:
            frame = pd.read_csv(file, na_values="?", skipinitialspace=True)
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise DatasetError(f"{file} can't be read: {error}. {way_out(file)}") from error
    nameless = len(frame.columns) > 0 and str(frame.columns[0]) in ("", "Unnamed: 0")
    return frame.iloc[:, 1:] if nameless else frame


def _read_parquet(file: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(file)
    except ImportError as error:
        raise ExtraError("pyarrow", "parquet", f"Reading {file}") from error


def way_out(file: Path) -> str:
    """What to do about a file that isn't what it should be."""
    if file.parent == user_cache():
        return "Remove the file, and the table is downloaded again."
    return "Replace the file, or remove it to have the table looked for elsewhere and downloaded."


def keep(frame: pd.DataFrame, folder: Path, table: str) -> None:
    """Write a checked table into a folder, whole or not at all.

    A folder that can't be written to costs another download next time, so it's only warned of.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / f"{table}.csv.gz") as unfinished:
            packed = {"method": "gzip", "compresslevel": 6}
            frame.to_csv(unfinished, index=False, compression=packed)
    except (OSError, ResultError) as error:
        warnings.warn(
            f"The table {table!r} was downloaded but can't be kept in {folder}, so it will be "
            f"downloaded again next time. {error}",
            stacklevel=2,
        )
