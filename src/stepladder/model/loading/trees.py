"""The trees of a scikit-learn model from a file, checked before they are used.

A tree is a table of nodes, which name their children and features by number. scikit-learn follows
these numbers as they are, so a crafted one could read beyond the table and crash Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import IsolationForest
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.tree._tree import TREE_LEAF, Tree
from sklearn.utils.validation import check_array

TRUSTING = (BaseForest, BaseGradientBoosting, IsolationForest)
"""Models that give their trees rows of their own width, whatever width a tree was made for."""

BITSET = 8
"""How many whole numbers hold the levels of a category that go left."""


def are_sound(model: Any) -> bool:
    """Whether every node of every tree in a model leads to nodes and features that are there."""
    seen, boosted = set[tuple[int, int, int]](), list[Any]()
    waiting: list[tuple[Any, Any, int]] = [(model, None, 0)]
    while waiting:
        item, holder, width = waiting.pop()  # a model's part, the model, and its number of columns
        if (id(item), id(holder), width) in seen:
            continue
        seen.add((id(item), id(holder), width))
        if isinstance(item, BaseEstimator):
            own = vars(item).get("n_features_in_")
            if isinstance(own, int | np.integer):
                width = min(int(own), width) if isinstance(holder, TRUSTING) else int(own)
            holder = item
        if isinstance(item, BaseGradientBoosting) and "estimators_" in vars(item):
            boosted.append(item)
        elif isinstance(item, Tree):
            if not _tree_is_sound(item, width):
                return False
        elif isinstance(item, TreePredictor) and not _predictor_is_sound(item, holder, width):
            return False
        waiting += [(part, holder, width) for part in parts(item)]
    return all(_has_room(fitted) for fitted in boosted)


def parts(item: Any) -> Iterator[Any]:
    """What an object is made of."""
    if isinstance(item, type | ModuleType | FunctionType):
        return
    if isinstance(item, dict):
        yield from item.values()
    elif isinstance(item, list | tuple | set | frozenset):
        yield from item
    elif isinstance(item, np.ndarray) and item.dtype == object:
        yield from item.flat
    yield from getattr(item, "__dict__", {}).values()


def _tree_is_sound(tree: Tree, width: int) -> bool:
    left = tree.children_left
    inner = left != TREE_LEAF
    children = np.stack([left, tree.children_right])
    return _leads_on(children, tree.feature, inner, min(width, tree.n_features))


def _predictor_is_sound(predictor: TreePredictor, holder: Any, width: int) -> bool:
    if not _keeps_width(getattr(holder, "_preprocessor", None), width):
        return False
    nodes = predictor.nodes
    children = np.stack([nodes["left"], nodes["right"]]).astype(np.int64)
    if not _leads_on(children, nodes["feature_idx"], nodes["is_leaf"] == 0, width):
        return False
    split = nodes[(nodes["is_leaf"] == 0) & (nodes["is_categorical"] != 0)]
    if not split.size:
        return True
    known = holder._bin_mapper.is_categorical_
    return len(known) == width and all(
        [
            known[split["feature_idx"]].all(),
            *(
                levels.shape[1:] == (BITSET,) and (split["bitset_idx"] < len(levels)).all()
                for levels in (predictor.raw_left_cat_bitsets, predictor.binned_left_cat_bitsets)
            ),
        ]
    )


def _keeps_width(preprocessor: Any, width: int) -> bool:
    """Whether trees on a category dtype get as many columns as the model takes.

    scikit-learn gives such a model an encoder for its levels and a check of its numbers. Both make
    one column of each column, so what they make of one row tells for all.
    """
    if preprocessor is None:
        return True
    if type(preprocessor) is not ColumnTransformer:
        return False
    if not all(_is_kept(step) for _, step, _ in preprocessor.transformers_):
        return False
    names = getattr(preprocessor, "feature_names_in_", None)
    row = pd.DataFrame(np.full((1, width), np.nan, dtype=object), columns=names)
    try:
        return bool(preprocessor.transform(row).shape == (1, width))
    except ValueError:  # scikit-learn's own takes a row without any value
        return False


def _is_kept(step: Any) -> bool:
    """Whether a step makes one column of each column, or is left out."""
    if type(step) is FunctionTransformer:
        return getattr(step.func, "func", None) is check_array
    return type(step) is OrdinalEncoder or isinstance(step, str)


def _leads_on(
    children: NDArray[np.int64], feature: NDArray[np.int64], inner: NDArray[np.bool_], width: int
) -> bool:
    """Whether inner nodes lead to later ones, so not in a circle, by features that are there."""
    count = len(inner)
    later = (children > np.arange(count)) & (children < count)
    known = (feature >= 0) & (feature < width)
    return count > 0 and bool((later & known)[:, inner].all())


def _has_room(model: Any) -> bool:
    """Whether a boosted model adds up as many trees per round as it has scores to add them to."""
    row = np.zeros((1, model.n_features_in_), dtype=np.float32)
    return bool(model._raw_predict_init(row).shape[1] == model.estimators_.shape[1])
