"""What a model from a file hands to scikit-learn's compiled code, checked before it's used.

Such code takes the sizes of its tables, and numbers in them that say where to read next, as they
are; crafted ones could read beyond a table and crash Python. Decision trees have a file of their
own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.metrics import DistanceMetric
from sklearn.neighbors import BallTree, KDTree
from sklearn.neighbors._base import NeighborsBase
from sklearn.svm._base import BaseLibSVM

from stepladder.model.loading.trees import parts

BUILT_IN = ("linear", "poly", "rbf", "sigmoid")
"""Kernels of libsvm's own. Of a function it can't be known how many columns it makes."""


def damaged(model: Any) -> str | None:
    """What to call the first part of a model that isn't sound; None if all of them are."""
    seen, waiting = set[int](), [model]
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        for kind, is_sound, name in CHECKS:
            if isinstance(item, kind) and not _holds(is_sound, item):
                return name
        if issparse(item) and not _holds(_matrix_is_sound, item):
            return "sparse matrix"
        waiting += parts(item)
    return None


def _holds(is_sound: Any, item: Any) -> bool:
    """Whether a check passes; what lacks an attribute, or has another kind of one, doesn't."""
    try:
        return bool(is_sound(item))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return False


def _lookup_is_sound(tree: Any) -> bool:
    """A tree of n rows: node i is split into 2i + 1 and 2i + 2, and leaves hold rows by number."""
    data, indices, nodes, bounds, *_ = (state := tree.__getstate__())
    count, width = data.shape
    ends = np.stack([nodes["idx_start"], nodes["idx_end"]])
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    return bool(
        indices.shape == (count,)
        and ((indices >= 0) & (indices < count)).all()
        and state[6] == len(nodes) > 0
        and ((ends >= 0) & (ends <= count)).all()
        and (2 * inner + 2 < len(nodes)).all()
        and bounds.shape[1:] == (len(nodes), width)
        and bounds.shape[0] == (2 if isinstance(tree, KDTree) else 1)
        and isinstance(state[11], DistanceMetric)
    )


def _neighbours_are_sound(model: Any) -> bool:
    """Each row that is looked up has a class that is there."""
    if not hasattr(model, "_fit_X"):
        return True  # it isn't fitted
    count = model._fit_X.shape[0]
    if model._tree is not None and model._tree.__getstate__()[0].shape != model._fit_X.shape:
        return False
    if not is_classifier(model):
        return True
    numbers = np.asarray(model._y)
    sizes = [len(known) for known in model.classes_] if model.outputs_2d_ else len(model.classes_)
    return bool(len(numbers) == count and ((numbers >= 0) & (numbers < sizes)).all())


def _vectors_are_sound(model: Any) -> bool:
    """The support vectors of every class have a weight against each other class."""
    if not hasattr(model, "support_"):
        return True  # it isn't fitted
    counts, total, vectors = model._n_support, len(model.support_), model.support_vectors_
    classes = len(counts)
    if model._impl in ("c_svc", "nu_svc"):
        others, pairs = classes - 1, classes * (classes - 1) // 2
        fits = len(model.classes_) == classes > 1 and bool(counts.sum() == total)
    else:  # a regression counts as two classes with the same vectors
        others, pairs = 1, 1
        fits = classes == 2
    if model.kernel == "precomputed":
        fits &= bool((model.support_ < model.shape_fit_[0]).all()) and not model._sparse
    else:
        fits &= model.kernel in BUILT_IN and vectors.shape == (total, model.n_features_in_)
    weights = model._dual_coef_
    return bool(
        fits
        and (counts >= 0).all()
        and (model.support_ >= 0).all()
        and bool(model._sparse) == issparse(vectors) == issparse(weights)
        and weights.shape == (others, total)
        and weights.data.nbytes == 8 * others * total  # a sparse one leaves nothing out
        and len(model._intercept_) == pairs
        and len(model._probA) in (0, pairs)
        and len(model._probB) in (0, pairs)
    )


def _matrix_is_sound(matrix: Any) -> bool:
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)  # which raises where it isn't
    return True


CHECKS = (
    ((KDTree, BallTree), _lookup_is_sound, "nearest-neighbour tree"),
    (NeighborsBase, _neighbours_are_sound, "nearest-neighbour model"),
    (BaseLibSVM, _vectors_are_sound, "support vector machine"),
)
"""Kinds of parts, whether one is sound, and what to call it."""
