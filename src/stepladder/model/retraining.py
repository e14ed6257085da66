"""Successors of a model: the same kind, retrained on resampled rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder.checks import whole_number
from stepladder.errors import ColumnError, ModelError, ParameterError, listing, nearest
from stepladder.model.asking import column_count, column_names, is_lightgbm, name_of
from stepladder.model.scorer import Encoded, encoded
from stepladder.model.successors import FEWEST
from stepladder.progress import Bar
from stepladder.table import frames
from stepladder.table.frames import Frame
from stepladder.table.space import Space

YOURSELF = (
    "Retrain it yourself on resampled rows, and pass the list of models to fit(…, successors=…); "
    "on the command line, a folder of model files: --successors FOLDER."
)

TRIES = 1000
"""How often rows are drawn for one model, before it's given up that every class is among them."""


def successors(
    model: Any,
    train: Frame,
    labels: Any,
    count: int = 48,
    random_state: int = 0,
    progress: bool | Callable[[int, int], None] = False,
    *,
    space: Space | None = None,
) -> list[Any]:
    """Models that may replace this one: the same kind, retrained on resampled rows of `train`.

    model     a scikit-learn estimator or pipeline, or what can be cloned as one is (the classes
              of XGBoost and LightGBM), trained with fit(rows, labels) and nothing else
    train     the rows that it was trained on; columns that it doesn't know are set aside
    labels    (n,) what it was trained to predict of them
    count     how many; `fit(successors=…)` searches on half of them and keeps half back
    progress  True for a bar, or a function called with (done, total)
    space     for `sl.encoded(model)`: the space whose points it was trained on

    Each is trained on as many rows as there are, drawn with replacement, and with a `random_state`
    of its own where it has one. The first ones are the same, however many are asked for.
    """
    whole_number("successors(count)", count, FEWEST)
    whole_number("successors(random_state)", random_state, 0)
    if not (isinstance(progress, bool) or callable(progress)):
        raise ParameterError(
            f"progress must be True, False or a function of (done, total); got {progress!r}."
        )
    inner = model.model if isinstance(model, Encoded) else model
    _check_clonable(inner)
    rows = _points(train, space) if isinstance(model, Encoded) else _rows(inner, train)
    known = _labels(inner, labels, len(rows))
    made = []
    bar = Bar("models", count, stays=True) if progress is True else None
    with bar or nullcontext():
        for one in _retrained(inner, rows, known, count, random_state):
            made.append(encoded(one) if isinstance(model, Encoded) else one)
            if bar is not None:
                bar.reached(len(made))
            if callable(progress):
                progress(len(made), count)
    return made


def _retrained(
    model: Any, rows: Any, labels: NDArray[Any], count: int, random_state: int
) -> Iterator[Any]:
    for index in range(count):
        random = np.random.default_rng([random_state, index])
        drawn = _drawn(labels, random, every_class=_classifies(model))
        one = _reseeded(model, random)
        try:
            one.fit(_some(rows, drawn), labels[drawn])
        except Exception as error:  # a model may raise anything
            raise ModelError(
                f"The model {name_of(model)} can't be retrained with fit(rows, labels): "
                f"{type(error).__name__}: {error}\nGive the rows and labels that it was trained "
                f"on, as it was given them. {YOURSELF}"
            ) from error
        yield one


def _drawn(
    labels: NDArray[Any], random: np.random.Generator, *, every_class: bool
) -> NDArray[np.intp]:
    """As many rows as there are, drawn with replacement; drawn again where one lacks a class."""
    classes, codes = np.unique(labels, return_inverse=True)
    for _ in range(TRIES):
        drawn = random.integers(len(labels), size=len(labels))
        if not every_class or len(np.unique(codes[drawn])) == len(classes):
            return drawn
    rarest = classes[np.bincount(codes).argmin()].item()
    raise ParameterError(
        f"{TRIES:,} times rows were drawn and one of the {len(classes)} classes in labels wasn't "
        f"among them; {rarest!r} is the rarest. Give more rows of it, or leave it out."
    )


def _reseeded(model: Any, random: np.random.Generator) -> Any:
    """A clone that isn't trained yet, with random states of its own."""
    from sklearn.base import clone

    try:
        one = clone(model)
    except Exception as error:
        raise ModelError(
            f"The model {name_of(model)} can't be cloned: {type(error).__name__}: {error} "
            f"{YOURSELF}"
        ) from error
    seeded = [name for name in sorted(one.get_params()) if f"__{name}".endswith("__random_state")]
    return one.set_params(**{name: int(random.integers(2**31)) for name in seeded})


# ---- what is given ----------------------------------------------------------------------------


def _check_clonable(model: Any) -> None:
    if isinstance(model, type) or not (hasattr(model, "get_params") and hasattr(model, "fit")):
        raise ModelError(
            f"Only what can be cloned can be retrained here: a scikit-learn estimator or pipeline, "
            f"or XGBoost's and LightGBM's classes for it; got {name_of(model)}. {YOURSELF}"
        )


def _points(train: Frame, space: Space | None) -> NDArray[np.float64]:
    if space is None:
        raise ParameterError(
            "An encoded model is retrained on points: give successors(…, space=) the space that it "
            "was trained in, sl.Space.fit(schema, train) if it was fitted on this table."
        )
    return space.encode(train)


def _rows(model: Any, train: Frame) -> Any:
    """The rows as the model was given them: its columns in its order, or an array without names."""
    table = frames.read(train)
    columns, count = column_names(model), column_count(model)
    if columns is None:
        if count is not None and count != len(table.columns):
            raise ColumnError(
                f"The model {name_of(model)} was trained on {count} columns without names, and "
                f"train has {len(table.columns)}. Give it those {count} and no others."
            )
        return table.to_numpy() if count is not None else _plain(table)
    if is_lightgbm(model):  # it writes spaces as underscores
        real = {column.replace(" ", "_"): column for column in table.columns}
        columns = [real.get(column, column) for column in columns]
    for column in columns:
        if column not in table.columns:
            raise ColumnError(
                f"train has no column {column!r}, which the model {name_of(model)} was trained on."
                f"{nearest(column, table.columns)}"
            )
    own = table.select(columns)
    return own.to_pandas() if is_lightgbm(model) else _plain(own)


def _plain(table: nw.DataFrame[Any]) -> Frame:
    """Without the caller's index: rows drawn twice would have the same label."""
    return nw.maybe_reset_index(table).to_native()


def _labels(model: Any, given: Any, count: int) -> NDArray[Any]:
    labels = np.asarray(given)
    if labels.dtype == object:  # pandas' own dtypes come as objects, which scikit-learn refuses
        labels = np.array(labels.tolist())
    if labels.shape != (count,):
        raise ParameterError(
            f"labels must be one per row of train: expected ({count},), got {labels.shape}."
        )
    if pd.isna(labels).any():
        raise ParameterError(
            f"labels lack a value for {int(pd.isna(labels).sum())} of {count} rows. Leave those "
            "rows out."
        )
    classes = getattr(model, "classes_", None)
    if classes is not None and np.ndim(classes) == 1:
        known, seen = np.asarray(classes).tolist(), np.unique(labels).tolist()
        if odd := [label for label in seen if label not in known]:
            raise ParameterError(
                f"labels hold {listing(odd)}, which the model {name_of(model)} doesn't know; its "
                f"classes are {listing(known)}. Give the labels that it was trained on."
            )
        if absent := [label for label in known if label not in seen]:
            raise ParameterError(
                f"No row has the label {listing(absent)}, which the model {name_of(model)} knows. "
                "Give the rows and labels that it was trained on."
            )
    elif len(np.unique(labels)) < 2 and _classifies(model):
        raise ParameterError(
            f"labels must have two classes at least; got nothing but {labels[:1].tolist()}."
        )
    return labels


def _classifies(model: Any) -> bool:
    return hasattr(model, "classes_") or hasattr(model, "predict_proba")


def _some(rows: Any, drawn: NDArray[np.intp]) -> Any:
    if isinstance(rows, np.ndarray):
        return rows[drawn]
    return _plain(frames.read(rows)[drawn.tolist()])
