"""Where a result comes from: fingerprints of the model, the data and the schema."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path as File
from typing import Any

import numpy as np
import pandas as pd

from stepladder.datasets.content import checksum
from stepladder.datasets.dataset import Kind
from stepladder.errors import ModelError, ParameterError
from stepladder.table import frames
from stepladder.table.frames import Frame
from stepladder.table.schema import Schema

LARGEST = 2**63
"""A whole number below it fits into 64 bits."""


def model_hash(model: str | File | bytes) -> str:
    """The SHA-256 of a model's file, or of its bytes."""
    if isinstance(model, bytes):
        return hashlib.sha256(model).hexdigest()
    if not isinstance(model, str | File):
        raise ParameterError(
            "A model's fingerprint is that of its file: give the file's name or its bytes; got "
            f"{type(model).__name__}."
        )
    try:
        with File(model).open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(
            f"The model at {str(model)!r} can't be read: {error.strerror or error}."
        ) from error


def data_hash(frame: Frame) -> str:
    """The SHA-256 of a frame's columns and rows in their order; its index doesn't count.

    Pandas, polars and PyArrow frames of the same content have the same hash. The form is that of
    `stepladder.datasets.content`: whole numbers as they are, everything else as text.
    """
    table = frames.read(frame)
    columns: dict[str, pd.Series] = {}
    kinds: dict[str, Kind] = {}
    for name in table.columns:
        cells = frames.values(table[name])
        if all(isinstance(v, int) and not isinstance(v, bool) and abs(v) < LARGEST for v in cells):
            columns[name], kinds[name] = pd.Series(np.array(cells, dtype=np.int64)), "whole"
        else:
            texts = [None if v is None else str(v) for v in cells]
            columns[name], kinds[name] = pd.Series(texts, dtype=object), "text"
    return checksum(pd.DataFrame(columns), kinds)


def schema_hash(schema: Schema) -> str:
    """The SHA-256 of a schema's content."""
    content: dict[str, Any] = schema.to_dict()
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def check_same(what: str, known: str | None, given: str | None) -> None:
    """Refuse another model or other data than a result was made with, by their fingerprints."""
    if given and known and given != known:
        raise ParameterError(
            f"This isn't the {what} that the result was made with: its SHA-256 is {given}, and "
            f"the result has {known}. Leave it out, or give the right one."
        )
