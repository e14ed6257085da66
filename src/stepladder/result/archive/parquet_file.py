"""A result as Parquet: one row for each row of a path, written batch by batch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path as File
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import ResultError
from stepladder.result.archive.content import BEFORE, Content, facts, file_names
from stepladder.result.archive.kinds import are_quoted, arrow, plain_labels, to_labels
from stepladder.result.archive.writer import Writer, own_points, to_json
from stepladder.result.path import Path
from stepladder.result.recourse import Recourse
from stepladder.table.feature import Categorical, Numeric
from stepladder.table.space import Floats, Space

RUN, TOTALS = b"stepladder.run", b"stepladder.totals"
"""Where Parquet holds what isn't a row."""


class ParquetWriter(Writer):
    """One row for each row of a path, with how that path ended; the rest as metadata."""

    table: Any

    def write(self, result: Recourse) -> None:
        rows = _arrow_table(result)
        if not self.begun:
            schema = rows.schema.with_metadata({RUN: to_json(facts(result))})
            self.table = arrow("parquet").ParquetWriter(self.stream, schema)
        self.table.write_table(rows)

    def close(self, totals: Mapping[str, Any]) -> None:
        self.table.add_key_value_metadata({TOTALS: to_json(totals).encode()})
        self.table.close()


def _arrow_table(result: Recourse) -> Any:
    """Every row of every path, of the same types in every batch."""
    pyarrow, columns = arrow(), result.template.columns
    flat = [path for routes in result.routes for path in routes]
    lengths = np.array([path.steps + 1 for path in flat], dtype=np.int64)
    pairs = [(i, k) for i, routes in enumerate(result.routes) for k in range(len(routes))]
    whose, slots = np.repeat(np.array(pairs, np.int64).reshape(-1, 2), lengths, axis=0).T

    def of_rows(parts: Sequence[NDArray[Any]]) -> Any:
        return pyarrow.array(np.concatenate(parts) if parts else [], pyarrow.float64())

    def of_paths(cells: Any, kind: Any) -> Any:
        return pyarrow.array(cells, kind).take(np.repeat(np.arange(len(flat)), lengths))

    def once(cells: Sequence[Floats | None]) -> Any:
        """What is long and the same in all rows of a path stands in the first of them."""
        kind = pyarrow.list_(pyarrow.float64())
        firsts = np.full(lengths.sum(), len(flat))
        firsts[lengths.cumsum() - lengths] = np.arange(len(flat))
        return pyarrow.array([*cells, None], kind).take(firsts)

    table = {
        "person": _arrow_labels(result.people).take(whose),
        "path": slots,
        "step": np.arange(len(whose)) - np.repeat(lengths.cumsum() - lengths, lengths),
    }
    features = _arrow_features(result.space, flat)
    table |= zip(file_names(columns), (features[column] for column in columns), strict=True)
    table |= {
        "score": of_rows([path.scores for path in flat]),
        "outcome": of_paths([path.outcome.value for path in flat], pyarrow.string()),
        "reason": of_paths([path.reason for path in flat], pyarrow.string()),
        "nearness": of_paths(result.nearness.ravel()[: len(flat)], pyarrow.float64()),
        "point": pyarrow.array(own_points(result), pyarrow.list_(pyarrow.float64())),
        "efforts": once([path.efforts for path in flat]),
        "ranks": once([path.ranks for path in flat]),
        "tight": of_paths([path.tight for path in flat], pyarrow.bool_()),
        "holds": of_paths([path.holds for path in flat], pyarrow.float64()),
    }
    return pyarrow.table(table)


def _arrow_labels(people: NDArray[Any]) -> Any:
    pyarrow = arrow()
    if are_quoted(people):
        return pyarrow.array([to_json(label) for label in plain_labels(people)], pyarrow.string())
    return pyarrow.array(people, pyarrow.string() if people.dtype == object else None)


def _arrow_features(space: Space, flat: Sequence[Path]) -> dict[str, Any]:
    """The rows of paths by their raw columns: every number as a float, and levels as they are.

    Along some paths a whole number may need decimals, and a file has one type for all of them.
    """
    pyarrow, arrays = arrow(), {}
    values = np.concatenate([path.values for path in flat] or [np.empty((0, len(space.schema)))])
    for f, feature in enumerate(space.schema.features):
        column, missing = values[:, f], np.isnan(values[:, f])
        codes = pyarrow.array(np.where(missing, 0, column), mask=missing)
        if isinstance(feature, Numeric) or feature.levels is None:
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


def read_parquet(file: File) -> Content:
    with arrow("parquet").ParquetFile(file) as opened:
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
        people = to_labels([json.loads(label) for label in people], labels["dtype"])
    weighed = "efforts" in table.column_names[first + len(columns) :]
    unknown = [None] * len(starts)  # in a file of the format before
    return Content(
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
        efforts=ends["efforts"].to_pylist() if weighed else unknown,
        ranks=ends["ranks"].to_pylist() if weighed else unknown,
        tight=ends["tight"].to_pylist() if weighed else [False] * len(starts),
        holds=ends["holds"].to_numpy() if weighed else np.full(len(starts), np.nan),
    )
