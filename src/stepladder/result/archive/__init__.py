"""Results as files: one format, written whole or batch by batch, with one reader.

Parquet and JSON hold the same:

- what holds for the whole run: the schema and its geometry, the goal, the method's settings;
- every row of every path: whose, of which path, which step, the raw features and the score; and how
  that path ended. A point is there only where it isn't the row's own, as the published method's;
- of every path, once, what it asks of the person (`efforts`), how the end's values rank among the
  reference rows (`ranks`), and how sure it is (`tight`, `holds`);
- what is known in the end: how many people, what was asked and dropped, what was spent.

Parquet has one row for each row of a path, and the rest as metadata. JSON is one object: `run`,
`people` with their paths, and `totals`.

content.py  what is written, and how a result is made of it again; kinds.py: of which types
writer.py   batch by batch; parquet_file.py and json_file.py are the two kinds of file
folder.py   a result in parts, each a Parquet file
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path as File

from stepladder.errors import ResultError
from stepladder.files import replacing
from stepladder.result.archive.content import AFTER, FORMAT, Content, to_result
from stepladder.result.archive.folder import read_folder
from stepladder.result.archive.json_file import JsonWriter, read_json
from stepladder.result.archive.parquet_file import ParquetWriter, read_parquet
from stepladder.result.archive.writer import Writer
from stepladder.result.recourse import Recourse

__all__ = ["WRITERS", "Writer", "load", "save"]

WRITERS: dict[str, type[Writer]] = {".parquet": ParquetWriter, ".json": JsonWriter}
"""By the ending of a file's name."""


def save(result: Recourse, path: str | File) -> None:
    """Write to a `.parquet` or `.json` file; what was there stays until the new one is whole."""
    file = File(path)
    if file.suffix.lower() not in WRITERS:
        raise ResultError(
            f"Can't save to {file.name!r}: expected a name that ends in .parquet or .json. "
            "For CSV write one of the frames, such as result.final.to_csv(…)."
        )
    with replacing(file, "Can't save to") as unfinished, unfinished.open("wb") as stream:
        writer = WRITERS[file.suffix.lower()](stream)
        writer.add(result)
        writer.end()


def load(path: str | File) -> Recourse:
    """Read back what was written: whole, batch by batch, or in parts to a folder."""
    file = File(path)
    if not file.exists():
        raise ResultError(f"There is no result at {str(file)!r}.")
    try:
        content = _reader(file)(file)
        found = content.run["format"]
        if found in AFTER:
            return to_result(content)
    except ResultError:  # a ValueError that says more
        raise
    except (
        *(AttributeError, LookupError, OSError, TypeError, ValueError),
        NotImplementedError,  # what PyArrow says of types that it can't convert
    ) as error:
        raise ResultError(
            f"{file.name!r} isn't a result that can be read back, or it's damaged. Expected a "
            ".parquet or .json file of result.save() or stepladder recourse."
        ) from error
    raise ResultError(
        f"{file.name!r} was saved in format {found!r}, but this version of stepladder reads "
        f"{FORMAT!r}. Use the version that saved it."
    )


def _reader(file: File) -> Callable[[File], Content]:
    if file.is_dir():
        return read_folder
    return read_json if file.suffix.lower() == ".json" else read_parquet
