"""Results as files: one format, written whole or batch by batch, with one reader.

Parquet and JSON hold the same:

- what holds for the whole run: the schema and its geometry, the goal, the method's settings;
- every row of every path: whose, of which path, which step, the raw features and the score; and how
  that path ended. A point is there only where it isn't the row's own, as the published method's;
- what is known in the end: how many people, what was asked and dropped, what was spent.

Parquet has one row for each row of a path, and the rest as metadata. JSON is one object: `run`,
`people` with their paths, and `totals`.
"""

from __future__ import annotations

import base64
import importlib
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path as File
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder.errors import ExtraError, ResultError
from stepladder.files import replacing
from stepladder.model.goal import Goal
from stepladder.privacy.pay import Guarantee
from stepladder.result.path import Outcome, Path
from stepladder.result.recourse import Recourse, free_name
from stepladder.table import frames
from stepladder.table.feature import Categorical, Numeric
from stepladder.table.frames import Frame, Template
from stepladder.table.schema import Schema
from stepladder.table.space import Floats, Space

FORMAT = 2
"""Of the files written here."""

BEFORE, AFTER = ("person", "path", "step"), ("score", "outcome", "reason", "nearness", "point")
"""The columns of a file before and after the features."""

RUN, TOTALS = b"stepladder.run", b"stepladder.totals"
"""Where Parquet holds what isn't a row."""


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
    """Read back what was written, whole or batch by batch."""
    file = File(path)
    if not file.is_file():
        raise ResultError(f"There is no result at {str(file)!r}.")
    try:
        content = (_read_json if file.suffix.lower() == ".json" else _read_parquet)(file)
        found = content.run["format"]
        if found == FORMAT:
            return _result(content)
    except (AttributeError, LookupError, OSError, TypeError, ValueError) as error:
        raise ResultError(
            f"{file.name!r} isn't a result that can be read back, or it's damaged. Expected a "
            ".parquet or .json file of result.save() or stepladder recourse."
        ) from error
    raise ResultError(
        f"{file.name!r} was saved in format {found!r}, but this version of stepladder reads "
        f"{FORMAT!r}. Use the version that saved it."
    )


# ---- writing ----------------------------------------------------------------------------------


class Writer(ABC):
    """Writes results to an open file: any number of batches of one run, and then the end."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.people = self.dropped = 0
        self.asked: Counter[str] = Counter()
        self.privacy: Guarantee | None = None
        self.begun = False

    def add(self, result: Recourse) -> None:
        """Write the paths of a batch of people."""
        if not self.begun:
            self.begin(result)
            self.begun = True
        self.write(result)
        self.people += len(result.people)
        self.dropped += result.dropped
        self.asked.update(result.asked)
        self.privacy = result.privacy

    def end(self) -> None:
        """Write what closes the file, if there is one."""
        if self.begun:
            self.close(
                {
                    "people": self.people,
                    "dropped": self.dropped,
                    "asked": dict(self.asked),
                    "privacy": None if self.privacy is None else self.privacy.to_dict(),
                }
            )
            self.begun = False

    @abstractmethod
    def begin(self, result: Recourse) -> None:
        """Write what holds for the whole run."""

    @abstractmethod
    def write(self, result: Recourse) -> None:
        """Write a batch's people and their paths."""

    @abstractmethod
    def close(self, totals: Mapping[str, Any]) -> None:
        """Write what is known in the end."""


def _run(result: Recourse) -> dict[str, Any]:
    """What holds for the whole run, and what is needed to read its rows again."""
    return {
        "format": FORMAT,
        "version": importlib.import_module("stepladder").__version__,  # loaded already
        "columns": list(result.template.columns),
        "frame": _described(result.template),
        "labels": {"dtype": str(result.people.dtype), "quoted": _are_quoted(result.people)},
        "schema": result.space.schema.to_dict(),
        "center": result.space.center.tolist(),
        "scale": result.space.scale.tolist(),
        "public": result.space.public,
        "goal": asdict(result.goal),
        "settings": dict(result.settings),
        "reference": dict(result.reference),
        "fingerprints": dict(result.fingerprints),
        "set_aside": list(result.set_aside),
    }


def _json(content: Any) -> str:
    return json.dumps(content, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    """NumPy's scalars and dates as JSON knows them."""
    return value.item() if hasattr(value, "item") else str(value)


def _number(value: float) -> float | None:
    """A number, or None for NaN, which JSON doesn't know."""
    return None if np.isnan(value) else float(value)


def _names(columns: Sequence[str]) -> list[str]:
    """What the features' columns are called in a file, which has some of its own."""
    return [free_name(name, columns, (*BEFORE, *AFTER)) for name in columns]


def _own_points(result: Recourse) -> list[Floats | None]:
    """The points of all rows that aren't those of their rows; None for the others."""
    flat = [path for routes in result.routes for path in routes]
    if not flat:
        return []
    points = np.concatenate([path.points for path in flat])
    expected = _encoded(result.space, np.concatenate([path.values for path in flat]))
    same = (points == expected) | (np.isnan(points) & np.isnan(expected))
    return [
        None if is_same else point for point, is_same in zip(points, same.all(axis=1), strict=True)
    ]


def _encoded(space: Space, values: Floats) -> Floats:
    """The points of rows; NaN where a value is missing."""
    points = np.full((len(values), space.width), np.nan)
    whole = ~np.isnan(values).any(axis=1)
    points[whole] = space.to_points(values[whole])
    return points


# ---- labels -----------------------------------------------------------------------------------


def _are_quoted(people: NDArray[Any]) -> bool:
    """Whether a Parquet column can't hold what people are called, but only the JSON of it."""
    return people.dtype == object and not all(isinstance(label, str) for label in people)


def _plain_labels(people: NDArray[Any]) -> list[Any]:
    """What people are called as JSON knows it; dates as text, and lengths of time as numbers."""
    if people.dtype.kind == "M":
        return list(np.datetime_as_string(people).tolist())
    plain = people.astype(np.int64 if people.dtype.kind == "m" else object).tolist()
    return [None if isinstance(label, float) and np.isnan(label) else label for label in plain]


def _labels(plain: Sequence[Any], dtype: str) -> NDArray[Any]:
    """What people are called, from what JSON knows."""
    labels = np.empty(len(plain), dtype=object)
    labels[:] = plain
    return labels.astype(dtype)


# ---- the caller's frame -----------------------------------------------------------------------


def _described(template: Template) -> Any:
    """What a frame is made of, as plain values: dtypes of pandas, or an Arrow schema."""
    if template.library == "pandas":
        return {name: _described_dtype(dtype) for name, dtype in template.empty.dtypes.items()}
    try:
        schema = frames.read(template.empty).to_arrow().schema
    except ImportError:  # polars without PyArrow: it's read back as pandas
        return None
    return [template.library, base64.b64encode(schema.serialize().to_pybytes()).decode()]


def _described_dtype(dtype: Any) -> Any:
    if isinstance(dtype, pd.CategoricalDtype):
        return {"categories": dtype.categories.tolist(), "ordered": bool(dtype.ordered)}
    if isinstance(dtype, pd.ArrowDtype):  # its own name for text means another dtype to pandas
        return {"arrow": str(dtype.pyarrow_dtype)}
    return str(dtype)


def _template(described: Any, rows: Frame) -> Template:
    """The template that was described so; `rows` are those of all paths."""
    if described is None:
        return Template.of(rows)
    if isinstance(described, dict):
        return Template.of_pandas(
            {name: _dtype(said, frames.read(rows)[name]) for name, said in described.items()}
        )
    library, schema = described
    arrow = _arrow("ipc").read_schema(_arrow().py_buffer(base64.b64decode(schema)))
    empty = arrow.empty_table()
    return Template.of(empty if library == "pyarrow" else _polars(empty))


def _polars(table: Any) -> Frame:
    return importlib.import_module("polars").from_arrow(table)


def _dtype(described: Any, column: Any) -> Any:
    """The dtype of a pandas column.

    Batches of one run may differ: where whole numbers were described, a later one can have gaps.
    """
    if isinstance(described, dict) and "arrow" in described:
        return pd.ArrowDtype(_arrow().type_for_alias(described["arrow"]))
    if isinstance(described, dict):
        return pd.CategoricalDtype(**described)
    dtype = pd.api.types.pandas_dtype(described)
    if not isinstance(dtype, np.dtype) or dtype.kind not in "iub" or not column.is_null().any():
        return dtype
    return np.dtype(object if dtype.kind == "b" else np.float64)


# ---- JSON -------------------------------------------------------------------------------------


class JsonWriter(Writer):
    """One object: the run, a list of people with their paths, and totals."""

    def begin(self, result: Recourse) -> None:
        self.stream.write(f'{{"run": {_json(_run(result))},\n"people": ['.encode())

    def write(self, result: Recourse) -> None:
        names = _names(result.template.columns)
        labels, points = _plain_labels(result.people), iter(_own_points(result))
        for i, (label, routes) in enumerate(zip(labels, result.routes, strict=True)):
            paths = [
                {
                    "path": k,
                    "outcome": path.outcome.value,
                    "reason": path.reason,
                    "nearness": _number(result.nearness[i, k]),
                    "rows": _json_rows(result, path, names, points),
                }
                for k, path in enumerate(routes)
            ]
            comma = "," if self.people or i else ""
            self.stream.write(f"{comma}\n{_json({'person': label, 'paths': paths})}".encode())

    def close(self, totals: Mapping[str, Any]) -> None:
        self.stream.write(f'\n],\n"totals": {_json(totals)}}}\n'.encode())


def _json_rows(
    result: Recourse, path: Path, names: Sequence[str], points: Iterator[Floats | None]
) -> list[dict[str, Any]]:
    rows = []
    for step, (values, score) in enumerate(zip(path.values, path.scores, strict=True)):
        cells = _cells(result.space, values)
        row = {name: cells[c] for name, c in zip(names, result.template.columns, strict=True)}
        row = {"step": step, **row, "score": _number(score)}
        if (point := next(points)) is not None:
            row["point"] = [_number(value) for value in point]
        rows.append(row)
    return rows


def _cells(space: Space, values: Floats) -> dict[str, Any]:
    """A row (features,) as plain values by its raw columns; None where one is missing."""
    cells: dict[str, Any] = {}
    for f, feature in enumerate(space.schema.features):
        value = float(values[f])
        if isinstance(feature, Categorical) and feature.onehot:
            for code, name in enumerate(feature.onehot):
                cells[name] = None if np.isnan(value) else int(value == code)
        else:
            cells[feature.name] = None if np.isnan(value) else space.shown(f, value)
    return cells


def _read_json(file: File) -> _Content:
    content = json.loads(file.read_text(encoding="utf-8"))
    run, people = content["run"], content["people"]
    paths = [path for person in people for path in person["paths"]]
    rows = [row for path in paths for row in path["rows"]]
    columns = run["columns"]
    names = _names(columns)
    return _Content(
        run=run,
        totals=content["totals"],
        people=_labels([person["person"] for person in people], run["labels"]["dtype"]),
        slots=np.array([path["path"] for path in paths], dtype=np.int64),
        outcomes=[path["outcome"] for path in paths],
        reasons=[path["reason"] for path in paths],
        nearness=np.array([path["nearness"] for path in paths], dtype=np.float64),
        lengths=np.array([len(path["rows"]) for path in paths], dtype=np.int64),
        rows=pd.DataFrame([[row[name] for name in names] for row in rows], columns=columns),
        scores=np.array([row["score"] for row in rows], dtype=np.float64),
        points=[row.get("point") for row in rows],
    )


# ---- Parquet ----------------------------------------------------------------------------------


class ParquetWriter(Writer):
    """One row for each row of a path, with how that path ended; the rest as metadata."""

    table: Any

    def begin(self, result: Recourse) -> None:
        schema = _arrow_table(result).schema.with_metadata({RUN: _json(_run(result))})
        self.table = _arrow("parquet").ParquetWriter(self.stream, schema)

    def write(self, result: Recourse) -> None:
        self.table.write_table(_arrow_table(result))

    def close(self, totals: Mapping[str, Any]) -> None:
        self.table.add_key_value_metadata({TOTALS: _json(totals).encode()})
        self.table.close()


def _arrow_table(result: Recourse) -> Any:
    """Every row of every path, of the same types in every batch."""
    pyarrow, columns = _arrow(), result.template.columns
    flat = [path for routes in result.routes for path in routes]
    lengths = np.array([path.steps + 1 for path in flat], dtype=np.int64)
    places = [(i, k) for i, routes in enumerate(result.routes) for k in range(len(routes))]
    whose, slots = np.repeat(np.array(places, np.int64).reshape(-1, 2), lengths, axis=0).T

    def of_rows(parts: Sequence[NDArray[Any]]) -> Any:
        return pyarrow.array(np.concatenate(parts) if parts else [], pyarrow.float64())

    def of_paths(cells: Any, kind: Any) -> Any:
        return pyarrow.array(cells, kind).take(np.repeat(np.arange(len(flat)), lengths))

    table = {
        "person": _arrow_labels(result.people).take(whose),
        "path": slots,
        "step": np.arange(len(whose)) - np.repeat(lengths.cumsum() - lengths, lengths),
    }
    features = _arrow_features(result.space, flat)
    table |= zip(_names(columns), (features[column] for column in columns), strict=True)
    table |= {
        "score": of_rows([path.scores for path in flat]),
        "outcome": of_paths([path.outcome.value for path in flat], pyarrow.string()),
        "reason": of_paths([path.reason for path in flat], pyarrow.string()),
        "nearness": of_paths(result.nearness.ravel()[: len(flat)], pyarrow.float64()),
        "point": pyarrow.array(_own_points(result), pyarrow.list_(pyarrow.float64())),
    }
    return pyarrow.table(table)


def _arrow_labels(people: NDArray[Any]) -> Any:
    pyarrow = _arrow()
    if _are_quoted(people):
        return pyarrow.array([_json(label) for label in _plain_labels(people)], pyarrow.string())
    return pyarrow.array(people, pyarrow.string() if people.dtype == object else None)


def _arrow_features(space: Space, flat: Sequence[Path]) -> dict[str, Any]:
    """The rows of paths by their raw columns: every number as a float, and levels as they are.

    Along some paths a whole number may need decimals, and a file has one type for all of them.
    """
    pyarrow, arrays = _arrow(), {}
    values = np.concatenate([path.values for path in flat] or [np.empty((0, len(space.schema)))])
    for f, feature in enumerate(space.schema.features):
        column, missing = values[:, f], np.isnan(values[:, f])
        codes = pyarrow.array(np.where(missing, 0, column), mask=missing)
        if isinstance(feature, Numeric):
            arrays[feature.name] = codes
        elif isinstance(feature, Categorical) and feature.onehot:
            for code, name in enumerate(feature.onehot):
                arrays[name] = pyarrow.array((column == code).astype(np.int64), mask=missing)
        else:
            try:
                levels = pyarrow.array(list(feature.levels or ()))
            except pyarrow.ArrowException as error:
                raise ResultError(
                    f"Parquet can't hold these rows ({error}). Save them as .json instead."
                ) from error
            arrays[feature.name] = levels.take(codes.cast(pyarrow.int64()))
    return arrays


def _read_parquet(file: File) -> _Content:
    with _arrow("parquet").ParquetFile(file) as opened:
        metadata = opened.metadata.metadata
        run, totals = json.loads(metadata[RUN]), json.loads(metadata[TOTALS])
        table = opened.read()
    columns, first = run["columns"], len(BEFORE)
    starts = np.flatnonzero(table["step"].to_numpy() == 0)
    ends = table.take(starts)
    slots = ends["path"].to_numpy()
    people = ends["person"].take(np.flatnonzero(slots == 0)).to_numpy()
    labels = run["labels"]
    if labels["quoted"]:
        people = _labels([json.loads(label) for label in people], labels["dtype"])
    return _Content(
        run=run,
        totals=totals,
        people=people.astype(labels["dtype"]),
        slots=slots,
        outcomes=ends["outcome"].to_pylist(),
        reasons=ends["reason"].to_pylist(),
        nearness=ends["nearness"].to_numpy(),
        lengths=np.diff(np.append(starts, len(table))),
        rows=table.select(range(first, first + len(columns))).rename_columns(columns),
        scores=table["score"].to_numpy(),
        points=table["point"].to_pylist(),
    )


def _arrow(part: str = "") -> Any:
    try:
        return importlib.import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError as error:
        raise ExtraError("pyarrow", "parquet", "Saving to Parquet") from error


# ---- reading ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Content:
    """What a file holds of n people and p paths with r rows in all, path by path."""

    run: Mapping[str, Any]
    totals: Mapping[str, Any]
    people: NDArray[Any]
    """(n,)"""
    slots: NDArray[np.int64]
    """(p,) which of its person's paths each is"""
    outcomes: Sequence[str]
    reasons: Sequence[str]
    nearness: Floats
    """(p,)"""
    lengths: NDArray[np.int64]
    """(p,) how many rows each path has"""
    rows: Frame
    """(r) the raw rows"""
    scores: Floats
    """(r,)"""
    points: Sequence[Sequence[float | None] | None]
    """(r) those that aren't the row's own"""


def _result(content: _Content) -> Recourse:
    run, totals, people = content.run, content.totals, content.people
    template = _template(run["frame"], content.rows)
    center, scale = np.array(run["center"]), np.array(run["scale"])
    space = Space(Schema.from_dict(run["schema"]), template, center, scale, public=run["public"])
    values = space.read(content.rows, allow_missing=True)
    points = _encoded(space, values)
    for row, own in enumerate(content.points):
        if own is not None:
            points[row] = own
    flat, ends = [], content.lengths.cumsum()
    for outcome, reason, length, end in zip(
        content.outcomes, content.reasons, content.lengths, ends, strict=True
    ):
        part = slice(end - length, end)
        path = Path(Outcome(outcome), reason, values[part], points[part], content.scores[part])
        flat.append(path)
    count = len(flat) // max(len(people), 1)
    in_order = np.array_equal(content.slots, np.tile(np.arange(count), len(people)))
    if not in_order or not content.lengths.all() or len(people) != totals["people"]:
        raise ValueError("its parts don't fit together")
    result = Recourse(
        space=space,
        goal=Goal(**run["goal"]),
        template=template,
        people=people,
        routes=[flat[i * count : (i + 1) * count] for i in range(len(people))],
        settings=run["settings"],
        reference=run["reference"],
        dropped=totals["dropped"],
        asked=totals["asked"],
        privacy=Guarantee.from_dict(paid) if (paid := totals["privacy"]) else None,
        fingerprints=run["fingerprints"],
        set_aside=tuple(run["set_aside"]),
    )
    # The positives aren't saved; what they gave is.
    result.__dict__["nearness"] = content.nearness.reshape(len(people), max(count, 1))
    return result


WRITERS: dict[str, type[Writer]] = {".parquet": ParquetWriter, ".json": JsonWriter}
"""By the ending of a file's name."""
