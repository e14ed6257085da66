"""Distances as linear maps: ‖v‖ by default, ‖w·v‖ with weights, ‖L v‖ whitened.

A norm is an array: None (Euclidean), (m,) weights or an (m, m) matrix. It says how far a positive
is, and so how much it counts; the direction itself stays in the space of the points.
"""

from __future__ import annotations

from math import ceil, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stepladder.errors import ParameterError

Norm: TypeAlias = NDArray[np.float64]

_AT_A_TIME = 32


def weighting(weights: ArrayLike) -> Norm:
    """The norm ‖w · v‖ of per-feature weights w (m,), each finite and at least 0.

    A feature of weight 0 doesn't count in the distance, yet still has its part in the direction.
    """
    w = np.array(weights, dtype=np.float64)
    if w.ndim != 1 or not (np.isfinite(w) & (w >= 0)).all():
        raise ParameterError(
            "The weights of a distance must be a list of finite numbers of at least 0, one "
            f"per feature. Got {weights!r} instead."
        )
    return w


def whitening(points: ArrayLike, ridge: float = 1e-6) -> Norm:
    """The Mahalanobis norm L (m, m) of points (n, m): ‖L v‖² = vᵀ (C + λI)⁻¹ v.

    C is the covariance of the points. λ = ridge · trace(C) / m makes it invertible where features
    depend on one another, as the columns of a one-hot group do; L is the symmetric root, so it
    turns nothing. Points without any spread give the Euclidean norm.
    """
    rows = np.array(points, dtype=np.float64)
    if rows.ndim != 2 or len(rows) == 0 or not np.isfinite(rows).all():
        raise ParameterError(
            "A whitening needs the points as a finite array of shape (n, m) with n at least 1. "
            f"Got an array of shape {rows.shape} instead."
        )
    if not (0 < ridge < np.inf):
        raise ParameterError(
            f"The ridge of a whitening must be a finite number above 0. Got {ridge!r} instead."
        )
    m = rows.shape[1]
    rows -= rows.mean(axis=0)
    covariance = rows.T @ rows / len(rows)
    spread = np.trace(covariance) / max(m, 1)
    if spread == 0:
        return np.eye(m)
    values, vectors = np.linalg.eigh(covariance)
    # Rounding leaves a singular covariance with eigenvalues a little below zero.
    scales = 1.0 / np.sqrt(np.maximum(values, 0.0) + ridge * spread)
    norm: Norm = (vectors * scales) @ vectors.T
    return norm


def measured(vectors: NDArray[Any], norm: Norm | None) -> NDArray[Any]:
    """Vectors (..., m) mapped so that their Euclidean length is their length in the norm.

    Assumes checked input. Without a norm these are the vectors themselves, not a copy. None depends
    on the others to the last bit, for a matrix takes so many at a time, filled up with zeros.
    """
    if norm is None:
        return vectors
    if norm.ndim == 1:
        weighted: NDArray[Any] = vectors * norm
        return weighted
    m, count = len(norm), prod(vectors.shape[:-1])
    times = ceil(count / _AT_A_TIME)
    filled = np.zeros((times * _AT_A_TIME, m))
    filled[:count] = vectors.reshape(count, m)
    mapped: NDArray[Any] = filled.reshape(times, _AT_A_TIME, m) @ norm.T.copy()
    return mapped.reshape(filled.shape)[:count].reshape(vectors.shape)
