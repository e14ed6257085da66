"""What the public kernels ask of their input, each with its own sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from stepladder.checks import whole_number
from stepladder.errors import ParameterError
from stepladder.kernels.alpha import Alpha
from stepladder.kernels.distance import Norm, measured

# Beyond these, squares of coordinates could leave the range of the type.
_LARGEST: dict[np.dtype[np.floating[Any]], float] = {
    np.dtype(np.float64): 1e140,
    np.dtype(np.float32): 1e15,
}


def matrix(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """`values` as a finite float64 array of shape (n, m)."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"The {name} must be an array of numbers: {error}.") from error
    if array.ndim != 2:
        raise ParameterError(
            f"The {name} must be an array of shape (rows, columns). "
            f"Got one of shape {array.shape} instead."
        )
    wrong = len(array) - int(np.isfinite(array).all(axis=1).sum())
    if wrong:
        raise ParameterError(
            f"The {name} must be finite. Got {wrong} row(s) with a missing or infinite value."
        )
    return array


def labels_of(clusters: ArrayLike, count: int) -> NDArray[np.intp]:
    """`clusters` as whole numbers of at least -1, one for each of `count` positives."""
    labels = np.asarray(clusters)
    is_whole = np.issubdtype(labels.dtype, np.integer) or labels.size == 0
    if not is_whole or labels.shape != (count,) or labels.min(initial=-1) < -1:
        raise ParameterError(
            f"The clusters must be {count} whole numbers of at least -1, one for each positive. "
            f"Got {labels.dtype} of shape {labels.shape} instead."
        )
    return labels.astype(np.intp, copy=False)


def working_dtype(dtype: DTypeLike) -> np.dtype[np.floating[Any]]:
    """`dtype` as the NumPy type to calculate in."""
    for working in _LARGEST:
        if np.dtype(dtype) == working:
            return working
    raise ParameterError(f"The dtype must be float64 or float32. Got {dtype!r} instead.")


def check_call(
    points: NDArray[np.float64],
    positives: NDArray[np.float64],
    alpha: object,
    norm: object,
    dtype: np.dtype[np.floating[Any]],
    memory: object,
) -> None:
    """Whether points (n, m), positives (N, m) and the parameters go together."""
    m = points.shape[1]
    if positives.shape[1] != m:
        raise ParameterError(
            f"The positives must have as many columns as the points, {m}. "
            f"Got {positives.shape[1]} instead."
        )
    if not isinstance(alpha, Alpha):
        raise ParameterError(
            f"The alpha must be a Volcano, Sloped, Power or Unit. Got {alpha!r} instead."
        )
    checked = None if norm is None else _checked_norm(norm, m)
    whole_number("The memory", memory, 1)
    for name, array in (("points", points), ("positives", positives)):
        size = max(np.abs(a).max(initial=0.0) for a in (array, measured(array, checked)))
        if size > _LARGEST[dtype]:
            raise ParameterError(
                f"The {name} must be within ±{_LARGEST[dtype]:g} in {dtype}, after the norm too. "
                f"Got a value of size {size:g}; standardise the features."
            )


def _checked_norm(norm: object, m: int) -> Norm:
    if isinstance(norm, np.ndarray) and norm.shape in ((m,), (m, m)):
        array: Norm = norm.astype(np.float64, copy=False)
        if np.isfinite(array).all():
            return array
    raise ParameterError(
        f"The norm must be a finite array of shape ({m},) or ({m}, {m}); `weighting` and "
        f"`whitening` make one. Got {norm!r} instead."
    )
