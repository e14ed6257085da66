"""What people are called, and what the caller's frames are made of, as plain values and back."""

from __future__ import annotations

import base64
import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder.errors import ExtraError
from stepladder.table import frames
from stepladder.table.frames import Frame, Template

# ---- labels -----------------------------------------------------------------------------------


def are_quoted(people: NDArray[Any]) -> bool:
    """Whether a Parquet column can't hold what people are called, but only the JSON of it."""
    return people.dtype == object and not all(isinstance(label, str) for label in people)


def plain_labels(people: NDArray[Any]) -> list[Any]:
    """What people are called as JSON knows it; dates as text, and durations as numbers."""
    if people.dtype.kind == "M":
        return list(np.datetime_as_string(people).tolist())
    plain = people.astype(np.int64 if people.dtype.kind == "m" else object).tolist()
    return [None if isinstance(label, float) and np.isnan(label) else label for label in plain]


def to_labels(plain: Sequence[Any], dtype: str) -> NDArray[Any]:
    """What people are called, from what JSON knows."""
    labels = np.empty(len(plain), dtype=object)
    labels[:] = plain
    return labels.astype(dtype)


# ---- frames -----------------------------------------------------------------------------------


def described(template: Template) -> Any:
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


def to_template(kind: Any, rows: Frame) -> Template:
    """The template that `described` described; `rows` are those of all paths."""
    if kind is None:
        return Template.of(rows)
    if isinstance(kind, dict):
        return Template.of_pandas({name: _dtype(dtype) for name, dtype in kind.items()})
    library, schema = kind
    empty = arrow("ipc").read_schema(arrow().py_buffer(base64.b64decode(schema))).empty_table()
    if library == "polars":
        empty = importlib.import_module("polars").from_arrow(empty)
    return Template.of(empty)


def _dtype(kind: Any) -> Any:
    """The dtype of a pandas column."""
    if isinstance(kind, dict) and "arrow" in kind:
        return pd.ArrowDtype(arrow().type_for_alias(kind["arrow"]))
    if isinstance(kind, dict):
        return pd.CategoricalDtype(**kind)
    return pd.api.types.pandas_dtype(kind)


def arrow(part: str = "") -> Any:
    try:
        return importlib.import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError as error:
        raise ExtraError("pyarrow", "parquet", "Saving to Parquet") from error
