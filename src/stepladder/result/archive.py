"""Results as files: one content, written as JSON or Parquet, whole or not at all."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder.errors import ExtraError, ResultError
from stepladder.files import replacing
from stepladder.table import frames
from stepladder.table.frames import Frame, Template

FORMAT = 1
"""Of the files written here."""

STREAMED = b"stepladder.result.recourse"
"""Where Parquet files that `stepladder recourse` wrote hold what isn't a row."""


@dataclass(frozen=True, eq=False)
class Archive:
    """All there is to say of p paths with r rows in all, path by path."""

    facts: Mapping[str, Any]
    """what isn't a row, as plain values"""
    endings: list[tuple[str, str]]
    """(p) each path's outcome and reason"""
    lengths: NDArray[np.int64]
    """(p,) how many rows each path has"""
    rows: Frame
    """(r) the raw rows"""
    template: Template
    """what the caller's rows are made of; those of a path may be finer"""
    points: NDArray[np.float64]
    """(r, columns); (r, 0) where they are those of the rows"""
    scores: NDArray[np.float64]
    """(r,)"""


def write(archive: Archive, path: str | File) -> None:
    """Write to a `.parquet` or `.json` file; what was there stays until the new one is whole."""
    file = File(path)
    if file.suffix not in (".parquet", ".json"):
        raise ResultError(
            f"Can't save to {file.name!r}: expected a name that ends in .parquet or .json. "
            "For CSV write one of the frames, such as result.final.to_csv(…)."
        )
    with replacing(file, "Can't save to") as unfinished:
        (_write_json if file.suffix == ".json" else _write_parquet)(archive, unfinished)


def read(path: str | File) -> Archive:
    """Read back what `write` wrote, or `stepladder recourse` to Parquet.

    From JSON and from that command, rows come as a pandas frame.
    """
    file = File(path)
    if not file.is_file():
        raise ResultError(f"There is no result at {str(file)!r}.")
    try:
        archive = (_read_json if file.suffix == ".json" else _read_parquet)(file)
        found = archive.facts["format"]
    except (AttributeError, LookupError, OSError, TypeError, ValueError) as error:
        raise not_a_result(file) from error
    if found != FORMAT:
        raise ResultError(
            f"{file.name!r} was saved in format {found!r}, but this version of stepladder reads "
            f"{FORMAT!r}. Use the version that saved it."
        )
    return archive


def not_a_result(path: str | File) -> ResultError:
    return ResultError(
        f"{File(path).name!r} isn't a result that can be read back, or it's damaged. Expected a "
        "file written by result.save(), or the .parquet of stepladder recourse; its .json and .csv "
        "are for other programs."
    )


def _content(archive: Archive) -> dict[str, Any]:
    """What isn't a row, with what is needed to read the rows again."""
    return {
        "format": FORMAT,
        "library": archive.template.library,
        "columns": list(archive.template.columns),
        "dtypes": _said_dtypes(archive.template),
        **archive.facts,
    }


# ---- JSON -------------------------------------------------------------------------------------


def _write_json(archive: Archive, file: File) -> None:
    rows = [_plain_row(row) for row in frames.read(archive.rows).rows(named=True)]
    people, paths, ends = archive.facts["people"], archive.facts["paths"], archive.lengths.cumsum()
    entries = []
    for i, (outcome, reason) in enumerate(archive.endings):
        part = slice(int(ends[i] - archive.lengths[i]), int(ends[i]))
        entries.append(
            {
                "person": people[i // paths],
                "path": i % paths,
                "outcome": outcome,
                "reason": reason,
                "scores": without_nan(archive.scores[part]),
                "rows": rows[part],
                "points": without_nan(archive.points[part]),
            }
        )
    content = {**_content(archive), "routes": entries}
    file.write_text(json.dumps(content, allow_nan=False, default=_plain_cell), encoding="utf-8")


def _read_json(file: File) -> Archive:
    content = json.loads(file.read_text(encoding="utf-8"))
    entries = content.pop("routes")
    rows = pd.DataFrame(
        [row for entry in entries for row in entry["rows"]], columns=content["columns"]
    )
    scores = np.array([s for entry in entries for s in entry["scores"]], dtype=np.float64)
    points = [p for entry in entries for p in entry["points"]]
    return Archive(
        facts=content,
        endings=[(entry["outcome"], entry["reason"]) for entry in entries],
        lengths=np.array([len(entry["scores"]) for entry in entries], dtype=np.int64),
        rows=rows,
        template=_said_template(content["dtypes"]) or Template.of(rows),
        points=np.array(points, dtype=np.float64).reshape(len(scores), -1 if points else 0),
        scores=scores,
    )


def _said_dtypes(template: Template) -> dict[str, Any] | None:
    """The dtypes of a pandas frame as plain values; None for other libraries."""
    if template.library != "pandas":
        return None
    return {name: _said_dtype(dtype) for name, dtype in template.empty.dtypes.items()}


def _said_dtype(dtype: Any) -> Any:
    if isinstance(dtype, pd.CategoricalDtype):
        return {"categories": dtype.categories.tolist(), "ordered": bool(dtype.ordered)}
    if isinstance(dtype, pd.ArrowDtype):  # its own name for text means another dtype to pandas
        return {"arrow": str(dtype.pyarrow_dtype)}
    return str(dtype)


def _dtype(said: Any) -> Any:
    if isinstance(said, dict) and "arrow" in said:
        return pd.ArrowDtype(importlib.import_module("pyarrow").type_for_alias(said["arrow"]))
    return pd.CategoricalDtype(**said) if isinstance(said, dict) else said


def _said_template(dtypes: Mapping[str, Any] | None) -> Template | None:
    """The template of a pandas frame whose dtypes were said so."""
    if dtypes is None:
        return None
    return Template.of_pandas({name: _dtype(said) for name, said in dtypes.items()})


def _plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: None if pd.isna(v) else v for name, v in row.items()}


def _plain_cell(value: Any) -> Any:
    """NumPy's scalars and dates as JSON knows them."""
    return value.item() if hasattr(value, "item") else str(value)


def without_nan(array: NDArray[np.float64]) -> Any:
    """Nested lists with None for NaN, which JSON doesn't know."""
    plain = array.astype(object)
    plain[np.isnan(array)] = None
    return plain.tolist()


# ---- Parquet ----------------------------------------------------------------------------------


def _write_parquet(archive: Archive, file: File) -> None:
    pyarrow, parquet = _parquet()
    try:
        if isinstance(archive.rows, pd.DataFrame):
            table = pyarrow.Table.from_pandas(archive.rows, preserve_index=False)
        else:
            table = frames.read(archive.rows).to_arrow()
    except pyarrow.ArrowException as error:
        raise ResultError(
            f"Parquet can't hold these rows ({error}). Save them as .json instead."
        ) from error
    extra = {
        "path": np.repeat(np.arange(len(archive.lengths)), archive.lengths),
        "score": archive.scores,
        "point": list(archive.points),
    }
    for name, column in extra.items():
        table = table.append_column(f"stepladder.{name}", pyarrow.array(column))
    content = {**_content(archive), "endings": archive.endings}
    text = json.dumps(content, allow_nan=False, default=_plain_cell)
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), "stepladder": text})
    parquet.write_table(table, file)


def _read_parquet(file: File) -> Archive:
    _, parquet = _parquet()
    table = parquet.read_table(file)
    metadata = table.schema.metadata or {}
    if STREAMED in metadata:
        return _streamed(table, json.loads(metadata[STREAMED]))
    facts = json.loads(metadata[b"stepladder"])
    endings = [(outcome, reason) for outcome, reason in facts.pop("endings")]
    path, scores, points = (
        table[f"stepladder.{name}"].to_pylist() for name in ("path", "score", "point")
    )
    rows: Frame = table.drop_columns([f"stepladder.{name}" for name in ("path", "score", "point")])
    if facts["library"] == "pandas":
        rows = rows.to_pandas()
    elif facts["library"] == "polars":
        rows = importlib.import_module("polars").from_arrow(rows)
    return Archive(
        facts=facts,
        endings=endings,
        lengths=np.bincount(path, minlength=len(endings)) if path else np.zeros(0, np.int64),
        rows=rows,
        template=_said_template(facts["dtypes"]) or Template.of(rows),
        points=np.array(points, dtype=np.float64).reshape(len(scores), -1 if points else 0),
        scores=np.array(scores, dtype=np.float64),
    )


def _streamed(table: Any, facts: dict[str, Any]) -> Archive:
    """What was written batch by batch: person, path, step, the features, score, outcome, reason."""
    columns = facts["columns"]
    rows = table.select(range(3, 3 + len(columns))).rename_columns(columns).to_pandas()
    starts = np.flatnonzero(np.asarray(table["step"]) == 0)
    paths = int(np.asarray(table["path"]).max()) + 1
    people = pd.Index(table["person"].take(starts[::paths]).to_pandas())
    outcomes, reasons = (table[name].take(starts).to_pylist() for name in ("outcome", "reason"))
    return Archive(
        facts={
            **facts,
            "paths": paths,
            "people": people.tolist(),
            "people_dtype": str(people.to_numpy().dtype),
            "nearness": [[None] * paths] * len(people),
        },
        endings=list(zip(outcomes, reasons, strict=True)),
        lengths=np.diff(np.append(starts, len(rows))),
        rows=rows,
        template=Template.of(rows),
        points=np.empty((len(rows), 0)),
        scores=np.array(table[3 + len(columns)].to_pylist(), dtype=np.float64),
    )


def _parquet() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise ExtraError("pyarrow", "parquet", "Saving to Parquet") from error
