"""What kind of model somebody has, and how that kind is asked for scores.

scikit-learn, XGBoost, LightGBM, torch, or a function: told apart without importing what the caller
doesn't use.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from itertools import zip_longest
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder.errors import ModelError, listing, nearest
from stepladder.model.goal import Goal, python_scalar
from stepladder.table import frames
from stepladder.table.feature import Numeric
from stepladder.table.frames import Frame
from stepladder.table.space import Space

Ask = Callable[[Any], Any]

_ITS_COLUMNS = (
    "Give the schema the columns that it was trained on and no others, or wrap it in a function "
    "of a frame that makes them. (A model of encoded points has to be marked as one.)"
)
IF_NUMBER = (
    "(For a prediction that isn't a probability there is Goal.between(low, high), on the command "
    "line --goal-between LOW HIGH.)"
)


def name_of(model: Any) -> str:
    if hasattr(model, "steps") and hasattr(model, "predict"):  # a pipeline: its last word decides
        return f"{type(model).__name__} ending in {type(model.steps[-1][1]).__name__}"
    return str(getattr(model, "__qualname__", None) or type(model).__name__)


def _is_from(model: Any, module: str, kind: str) -> bool:
    """isinstance without importing what the caller doesn't use."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(model, getattr(loaded, kind, ()))


def asker(model: Any, name: str, goal: Goal, columns: int, levels: Mapping[str, list[Any]]) -> Ask:
    """The function that turns rows into this kind of model's scores.

    `levels` are those of columns that have to be given to it as categories.
    """
    if _is_from(model, "torch.nn", "Module"):
        module = _evaluating(model, name)
        return lambda rows: _pick(_of_two(_ask_torch(module, rows), goal, name), goal, None, name)
    trained_on = column_count(model)
    if trained_on is not None and trained_on != columns:
        raise ModelError(
            f"The model {name} was trained on {trained_on} columns but would be given {columns}. "
            f"{_ITS_COLUMNS}"
        )
    plain = trained_on is not None and column_names(model) is None
    categories = {column: pd.CategoricalDtype(known) for column, known in levels.items()}

    def prepared(rows: Any) -> Any:
        """A model trained without column names is asked without them."""
        if isinstance(rows, np.ndarray):
            return rows
        if plain:
            return frames.read(rows).to_numpy()
        return _pandas(rows).astype(categories) if is_lightgbm(model) else rows

    if _is_from(model, "xgboost", "Booster"):
        matrix = sys.modules["xgboost"].DMatrix
        return lambda rows: _pick(
            _of_two(model.predict(matrix(prepared(rows), enable_categorical=True)), goal, name),
            goal,
            None,
            name,
        )
    if _is_from(model, "lightgbm", "Booster"):
        return lambda rows: _pick(
            _of_two(model.predict(prepared(rows)), goal, name), goal, None, name
        )
    if goal.is_range and hasattr(model, "predict"):
        return lambda rows: model.predict(prepared(rows))
    if hasattr(model, "predict_proba"):
        classes = getattr(model, "classes_", None)
        return lambda rows: _pick(model.predict_proba(prepared(rows)), goal, classes, name)
    if _is_regressor(model):
        raise ModelError(
            f"The model {name} predicts a number, not a class, so it has no score from 0 to 1. "
            f"{IF_NUMBER}"
        )
    if hasattr(model, "predict"):
        wanted = desired_labels(model, goal, name) or (1,)
        return lambda rows: _is_one_of(np.asarray(model.predict(prepared(rows))), wanted)
    if callable(model):
        return lambda rows: _pick(model(rows), goal, None, name)
    raise ModelError(
        f"Can't ask {name} for scores: it has no predict_proba or predict and isn't callable. "
        "Pass a fitted estimator, a torch module or a function of a frame."
    )


def takes_cells(model: Any) -> bool:
    """Whether a model is asked with an array of a frame's cells: it knows no column's name."""
    if _is_from(model, "torch.nn", "Module"):
        return True
    return column_count(model) is not None and column_names(model) is None


def column_count(model: Any) -> int | None:
    """How many columns a model was trained on, if it says."""
    if _is_from(model, "xgboost", "Booster"):
        return int(model.num_features())
    if _is_from(model, "lightgbm", "Booster"):
        return int(model.num_feature())
    return getattr(model, "n_features_in_", None)


def column_names(model: Any) -> list[str] | None:
    """The columns a model was trained on, in its order; None if it saw no names."""
    if _is_from(model, "xgboost", "Booster"):
        known = model.feature_names
    elif _is_from(model, "lightgbm", "Booster"):
        known = model.feature_name()
    else:
        known = getattr(model, "feature_names_in_", None)
    if known is None or not all(isinstance(column, str) for column in known):
        return None
    names = [str(column) for column in known]
    if is_lightgbm(model) and names == [f"Column_{i}" for i in range(len(names))]:
        return None  # LightGBM's own names for an array's columns
    return names


def is_lightgbm(model: Any) -> bool:
    return _is_from(model, "lightgbm", "Booster") or _is_from(model, "lightgbm", "LGBMModel")


def categories_of(model: Any, name: str, space: Space) -> dict[str, list[Any]]:
    """The columns that a LightGBM model was trained on as pandas' categories, if these aren't.

    Of each it keeps the levels, in the order of its columns.
    """
    booster = getattr(model, "booster_", model) if is_lightgbm(model) else None
    kept = getattr(booster, "pandas_categorical", None) or []
    template = space.template
    given = [c for c in template.columns if template.dtypes[c] in (nw.Categorical, nw.Enum)]
    if not kept or len(given) == len(kept):
        return {}
    order = trained_order(model, name, space) or template.columns
    levelled = {
        feature.name: set(feature.levels or ())
        for feature in space.schema.features
        if not isinstance(feature, Numeric) and feature.columns == (feature.name,)
    }
    text = booster.model_to_string(num_iteration=1) if booster is not None else ""
    noted = re.search(r"^\[categorical_feature: ([\d,]+)\]$", text, flags=re.MULTILINE)
    columns = [order[int(index)] for index in noted[1].split(",")] if noted else []
    for column, levels in zip_longest(columns, kept):
        if column is None or not levelled.get(column, {object()}) <= set(levels or ()):
            which = "one of them" if column is None else repr(column)
            raise ModelError(
                f"The model {name} was trained on {len(kept)} columns of pandas' category dtype, "
                f"{which} with the levels {listing(levels or ())}, and the schema has no such "
                "category. Make the schema's levels those, written as they are there, or give a "
                "table whose columns have the category dtype (Parquet keeps it, CSV doesn't)."
            )
    return {column: list(levels) for column, levels in zip(columns, kept, strict=True)}


def _is_regressor(model: Any) -> bool:
    base = sys.modules.get("sklearn.base")
    return (
        base is not None
        and isinstance(model, base.BaseEstimator)
        and bool(base.is_regressor(model))
    )


def _pandas(rows: Frame) -> Frame:
    """LightGBM reads no polars, and of PyArrow no text."""
    return frames.read(rows).to_pandas()


def _of_two(answer: Any, goal: Goal, name: str) -> NDArray[Any]:
    """A single output is the probability of class 1, and what is left of it that of class 0."""
    scores = np.asarray(answer)
    if goal.is_range or goal.desired is None or (scores.ndim == 2 and scores.shape[1] > 1):
        return scores
    for wanted in goal.classes:
        if wanted not in (0, 1):
            raise ModelError(
                f"The model {name} has a single output, the probability of class 1, and no class "
                f"{wanted!r}. Ask for class 1 or 0."
            )
    if len(goal.classes) == 2:
        return np.ones_like(scores)
    return scores if goal.desired == 1 else 1.0 - scores


def _ask_torch(model: Any, rows: Any) -> NDArray[Any]:
    torch = sys.modules["torch"]
    if not isinstance(rows, np.ndarray):
        rows = frames.read(rows).to_numpy()
    first = next(iter(model.parameters()), None)
    like = torch.empty(0) if first is None else first
    with torch.inference_mode():
        tensor = torch.as_tensor(np.array(rows, dtype=np.float64))
        answer = model(tensor.to(dtype=like.dtype, device=like.device))
        return np.asarray(answer.cpu().double().numpy())


def _evaluating(model: Any, name: str) -> Any:
    """A torch module in evaluation mode, where a row's score doesn't depend on dropout or company.

    The caller's module may be in use elsewhere, so its mode is left alone: this is a copy with the
    same weights, which further training changes in both (a layer that is replaced it doesn't see).
    """
    tensors = [*model.parameters(), *model.buffers()]
    try:
        return deepcopy(model, {id(tensor): tensor for tensor in tensors}).eval()
    except Exception as error:
        if not any(module.training for module in model.modules()):
            return model
        raise ModelError(
            f"The model {name} is in training mode and can't be copied to be asked in evaluation "
            f"mode ({type(error).__name__}: {error}). Call its eval() first."
        ) from error


def _pick(answer: Any, goal: Goal, classes: Any, name: str) -> NDArray[Any]:
    """The desired class's column of a model's answer, or the sum of several classes' columns.

    A single column is taken as it is.
    """
    scores = np.asarray(answer)
    if scores.ndim != 2 or scores.shape[1] == 1:
        return scores
    width = scores.shape[1]
    if classes is not None:
        columns = _class_indices(list(classes), goal, name)
    else:
        columns = _numbered_classes(width, goal, name)
    return scores[:, columns[0]] if len(columns) == 1 else scores[:, sorted(columns)].sum(axis=1)


def _numbered_classes(width: int, goal: Goal, name: str) -> list[int]:
    """The columns of the desired classes, where classes are known by their numbers only."""
    if goal.desired is None and width == 2:
        return [1]
    odd = [
        wanted
        for wanted in goal.classes
        if not isinstance(wanted, int | np.integer)
        or isinstance(wanted, bool)
        or not 0 <= wanted < width
    ]
    if goal.desired is None or odd:
        got = f"; got {odd[0]!r}" if odd else ""
        raise ModelError(
            f"The model {name} returns {width} columns and doesn't name its classes. Say which "
            f"class is desired by its number, 0 to {width - 1}{got}."
        )
    return [int(wanted) for wanted in goal.classes]


def _class_indices(classes: list[Any], goal: Goal, name: str) -> list[int]:
    """Where the desired classes are among those that a model names."""
    plain = [python_scalar(known) for known in classes]
    if goal.desired is None:
        if len(classes) == 2:
            return [1]
        raise ModelError(
            f"The model {name} knows {len(classes)} classes, {listing(plain)}. Say which of them "
            "is desired."
        )
    for wanted in goal.classes:
        if wanted not in plain:
            raise ModelError(
                f"The model {name} has no class {wanted!r}.{nearest(wanted, plain)} "
                f"Its classes are {listing(plain)}."
            )
    return [plain.index(wanted) for wanted in goal.classes]


def _is_one_of(answers: NDArray[Any], wanted: Sequence[Any]) -> NDArray[Any]:
    """Which of a model's answers are one of the desired classes."""
    return np.asarray(np.any([answers == label for label in wanted], axis=0))


def desired_labels(model: Any, goal: Goal, name: str) -> tuple[Any, ...]:
    """The labels of the desired classes; none where neither goal nor model names one."""
    classes = getattr(model, "classes_", None)
    if goal.is_range or classes is None:
        return goal.classes
    return tuple(python_scalar(classes[i]) for i in _class_indices(list(classes), goal, name))


def trained_order(model: Any, name: str, space: Space) -> tuple[str, ...] | None:
    """The columns in the order the model knows them, if it says and it differs from ours."""
    known = column_names(model)
    if known is None:
        return None
    order = tuple(known)
    if is_lightgbm(model):  # it writes spaces as underscores
        real = {column.replace(" ", "_"): column for column in space.template.columns}
        order = tuple(real.get(column, column) for column in order)
    given = space.template.columns
    absent = [column for column in order if column not in given]
    unknown = [column for column in given if column not in order]
    # One that has an input for each column isn't shown the others, and needn't know them.
    if absent or (unknown and column_count(model) is not None):
        problems = []
        if absent:
            problems.append(f"needs {listing(absent)}, which the schema doesn't name")
        if unknown:
            problems.append(f"doesn't know {listing(unknown)}, which the schema names")
        close = nearest(absent[0], unknown) if absent else ""
        raise ModelError(
            f"The model {name} was trained on other columns: it {', and '.join(problems)}.{close} "
            f"{_ITS_COLUMNS}"
        )
    return None if order == given else order
