"""Equation 1: the direction from a point to a set of positives.

    d(x) = Σ_j (y_j - x) · α(‖y_j - x‖)

`directions` checks its input and answers for many points and clusters. Two bare kernels assume
checked input. `cluster_direction` is for many points and one cluster, whose positives are prepared
once for all steps: the published method's. `centres` is for points that have a few targets of their
own, and says where each is drawn: the direction is a positive multiple of the way there. That is
the default method's.

All squared distances of a tile of `cluster_direction` come from one matrix product,
|x|² + |y|² - 2 x·y, and its sums from another, W Y - (Σ W) x. Both cancel badly for a y much nearer
to x than to the origin, so the coordinates are centred on the positives first, and the few pairs
that are still near in that sense are left out of the products and added from their differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from stepladder.kernels.alpha import Alpha, Floats
from stepladder.kernels.checks import check_call, labels_of, matrix, working_dtype
from stepladder.kernels.distance import Norm, measured
from stepladder.kernels.tiling import CELL_BYTES, Tiling, pieces, plan, scratch, spread

MEMORY = 2**28
"""Bytes that temporaries may take by default. Inputs, two centred copies and results are extra."""

Pairs: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]

_NEAR_PAIRS = 2**12
# A pair is near when its distance² is at most this share of |x|². Beyond it at most (1 + 2/√share)²
# roundings pile up in a distance²: some 1e-13 of it in float64 and 1e-5 in float32.
_NEAR = {np.dtype(np.float64): 1e-2, np.dtype(np.float32): 2e-2}
# Also near: distances² so small that a steep α might overflow in the products.
_CONTACT = {np.dtype(np.float64): 1e-24, np.dtype(np.float32): 1e-8}


def directions(
    points: ArrayLike,
    positives: ArrayLike,
    alpha: Alpha,
    *,
    clusters: ArrayLike | None = None,
    norm: Norm | None = None,
    dtype: DTypeLike = np.float64,
    memory: int = MEMORY,
) -> Floats:
    """Equation 1 at each point, over all positives or over each cluster of them.

    points     (n, m), or one point (m,)
    positives  (N, m); with none, every direction is zero
    clusters   (N,) whole numbers: the cluster of each positive, -1 for none
    norm       None, (m,) or (m, m): see `stepladder.kernels.distance`
    dtype      float64, exact to about 1e-13 of Σ ‖y_j - x‖ α, or float32, to about 1e-5, but faster
    memory     bytes that temporaries may take; the result doesn't depend on it beyond rounding

    Returns (n, m), or (n, k, m) with clusters, k being the largest label plus one; without the
    first axis for one point. A positive at distance 0 adds nothing, even where α is infinite.
    Cost: about 4 m floating-point operations and one α per pair.

    >>> from stepladder.kernels.alpha import Unit
    >>> directions([0.0, 0.0], [[2.0, 0.0], [0.0, 4.0], [0.0, 9.0]], Unit())
    array([1., 2.])
    """
    x = matrix("points", np.atleast_2d(np.asarray(points)))
    y = matrix("positives", positives)
    working = working_dtype(dtype)
    check_call(x, y, alpha, norm, working, memory)
    if clusters is None:
        result = cluster_direction(x, prepare(y, norm, working), alpha, memory=memory)
    else:
        labels = labels_of(clusters, len(y))
        k = int(labels.max(initial=-1)) + 1
        result = np.zeros((len(x), k, x.shape[1]), dtype=working)
        for c in range(k):
            cluster = prepare(y[labels == c], norm, working)
            result[:, c] = cluster_direction(x, cluster, alpha, memory=memory)
    return result[0] if np.ndim(points) == 1 else result


@dataclass(frozen=True, eq=False)
class Positives:
    """One cluster's positives as `cluster_direction` wants them; made by `prepare`.

    points  (N, m)         as they came, for exact differences
    origin  (m,)           their mean: coordinates centred on it cancel least
    factor  (k, m + 2, q)  columns [t, 1, |t|²], t being y - origin mapped by the norm
    terms   (k, q, m + 1)  rows [y - origin, 1]: what the weights are multiplied with

    The last two are cut into k pieces of q, filled up with positives that add nothing.
    """

    points: NDArray[np.float64]
    origin: NDArray[np.float64]
    factor: Floats
    terms: Floats
    norm: Norm | None


def prepare(
    positives: NDArray[np.float64],
    norm: Norm | None = None,
    dtype: DTypeLike = np.float64,
) -> Positives:
    """All that equation 1 needs of the positives (N, m) and that no point changes.

    Assumes checked input.
    """
    n, m = positives.shape
    k, q = pieces(n, m)
    origin = positives.mean(axis=0) if n else np.zeros(m)
    centred = np.zeros((k * q, m))
    np.subtract(positives, origin, out=centred[:n])
    factor = _factor(measured(centred, norm), dtype)
    terms = np.ones((k * q, m + 1), dtype=dtype)
    terms[:, :m] = centred
    # Those that fill up are never near, at distance² |s|² + 1, and multiply their weight by 0.
    factor[n:, m + 1] = 1.0
    terms[n:] = 0.0
    # Transposed here: BLAS takes half as long again for small products with a matrix of rows.
    columns = np.ascontiguousarray(factor.reshape(k, q, m + 2).swapaxes(1, 2))
    return Positives(positives, origin, columns, terms.reshape(k, q, m + 1), norm)


def cluster_direction(
    points: NDArray[np.float64],
    positives: Positives,
    alpha: Alpha,
    *,
    memory: int = MEMORY,
) -> Floats:
    """Equation 1 at points (n, m) over one cluster: (n, m), in the dtype it was prepared in.

    In float64 a point gets the same to the last bit whatever other points are asked about, and on
    however many threads: see `tiling`. Assumes checked input.
    """
    n, m = points.shape
    result = np.zeros((n, m), dtype=positives.factor.dtype)
    if result.size == 0 or len(positives.points) == 0:
        return result
    tiling = plan(n, len(positives.points), m, memory)

    def answer(start: int) -> None:
        rows = slice(start, start + tiling.rows)
        with np.errstate(over="ignore", under="ignore"):
            result[rows] = _block_direction(points[rows], positives, alpha, tiling)

    spread(answer, list(range(0, n, tiling.rows)), tiling.threads)
    return result


def _block_direction(
    points: NDArray[np.float64], positives: Positives, alpha: Alpha, tiling: Tiling
) -> NDArray[np.float64]:
    """Equation 1 at a tile's worth of points, filled up to whole products with the origin."""
    n, m = points.shape
    dtype, q = positives.factor.dtype, positives.factor.shape[2]
    p = tiling.product_rows
    height = ceil(n / p)
    centred = np.zeros((height * p, m))
    np.subtract(points, positives.origin, out=centred[:n])
    factor = _factor(measured(centred, positives.norm), dtype)
    norms = factor[:, m + 1].copy()
    limits = np.maximum(_NEAR[dtype] * norms[:n], _CONTACT[dtype])
    # [-2s, |s|², 1] · [t, 1, |t|²] = |s - t|²
    factor[:, :m] *= -2.0
    factor[:, m] = norms
    factor[:, m + 1] = 1.0
    factor = factor.reshape(height, 1, p, m + 2)

    sums = np.zeros((height, p, m + 1))
    apart = np.zeros((n, m))
    for start in range(0, len(positives.factor), tiling.pieces):
        block = slice(start, start + tiling.pieces)
        columns = positives.factor[block]
        tile = scratch((len(centred), len(columns) * q), dtype)
        products = tile.reshape(height, p, len(columns), q).swapaxes(1, 2)
        np.matmul(factor, columns, out=products)
        squared = tile[:n]
        near = _near_pairs(squared, limits)
        if near is not None:
            squared[near] = 1.0
        weights = alpha.of_squared(squared, out=squared)
        if near is not None:
            weights[near] = 0.0
            y = positives.points[start * q : (start + tiling.pieces) * q]
            _add_near(apart, points, y, near, alpha, positives.norm, tiling.memory)
        sums += (products @ positives.terms[block]).sum(axis=1)
    by_point = sums.reshape(-1, m + 1)[:n]
    apart += by_point[:, :m] - by_point[:, m:] * centred[:n]
    return apart


def _near_pairs(squared: Floats, limits: Floats) -> Pairs | None:
    """Where in a tile distance² is at most its point's limit, point by point; None if nowhere."""
    hit = np.flatnonzero(squared.min(axis=1) <= limits)
    if len(hit) == 0:
        return None
    rows, columns = np.nonzero(squared[hit] <= limits[hit, None])
    return hit[rows], columns


def _add_near(
    out: NDArray[np.float64],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    near: Pairs,
    alpha: Alpha,
    norm: Norm | None,
    memory: int,
) -> None:
    """Add the terms of the near pairs of x and y to `out`, from exact differences."""
    rows, columns = near
    most = max(1, min(_NEAR_PAIRS, memory // (8 * CELL_BYTES * x.shape[1])))
    largest = np.finfo(np.float64).max
    # About so many pairs at a time, and all of a point's, so that others' don't change its sum.
    firsts = np.flatnonzero(np.diff(rows, prepend=-1))
    parts = np.split(firsts, np.flatnonzero(np.diff(firsts // most)) + 1)
    for part, stop in zip(parts, [*(later[0] for later in parts[1:]), len(rows)], strict=True):
        pairs = slice(part[0], stop)
        difference = y[columns[pairs]] - x[rows[pairs]]
        mapped = measured(difference, norm)
        squared = np.einsum("ij,ij->i", mapped, mapped)
        weights = alpha.of_squared(squared)
        # Infinite at 0 it must add nothing; infinite by overflow it must outweigh all others.
        weights = np.where((squared == 0) & np.isinf(weights), 0.0, np.minimum(weights, largest))
        difference *= weights[:, None]
        out[rows[part]] += np.add.reduceat(difference, part - part[0], axis=0)


def _factor(mapped: Floats, dtype: DTypeLike) -> Floats:
    """Rows [t, 1, |t|²] of mapped vectors t (n, m)."""
    n, m = mapped.shape
    factor = np.empty((n, m + 2), dtype=dtype)
    factor[:, :m] = mapped
    factor[:, m] = 1.0
    factor[:, m + 1] = np.einsum("ij,ij->i", mapped, mapped)
    return factor


# ---- targets of one's own ----------------------------------------------------------------------


def centres(
    points: NDArray[np.float64],
    targets: NDArray[np.float64],
    valid: NDArray[np.bool_],
    alpha: Alpha,
    *,
    sharpness: NDArray[np.float64],
    norm: Norm | None = None,
    memory: int = MEMORY,
) -> NDArray[np.float64]:
    """The mean of each point's own targets, weighted by α(‖target - point‖)^sharpness.

    points     (n, m)
    targets    (n, t, m): row i holds the targets of point i
    valid      (n, t) bool: which of them count; what stands in the others is never read into a sum
    sharpness  (n,) above 0; 1 is α itself

    Returns (n, m); a point without a valid target stays where it is. Assumes checked input.

    Equation 1 with α^sharpness is a positive multiple, Σ α^sharpness, of centre - point. The
    multiple overflows or vanishes at a high sharpness and the centre doesn't, for the largest
    logarithm is taken off first. A target at distance 0 where α is infinite wins outright.
    """
    n, t, m = targets.shape
    result = points.astype(np.float64)
    rows = max(1, memory // (8 * max(t, 1) * (3 * m + 4)))
    for start in range(0, n if t else 0, rows):
        block = slice(start, start + rows)
        usable = valid[block]
        moves = targets[block] - points[block, None]
        moves[~usable] = 0.0
        weights = _weights(_distances(moves, norm), usable, alpha, sharpness[block])
        total = weights.sum(axis=1)
        total[total == 0] = 1.0
        result[block] += np.einsum("nt,ntm->nm", weights, moves) / total[:, None]
    return result


def _distances(moves: NDArray[np.float64], norm: Norm | None) -> NDArray[np.float64]:
    mapped = measured(moves, norm)
    squared: NDArray[np.float64] = np.einsum("ntm,ntm->nt", mapped, mapped)
    return np.sqrt(squared, out=squared)


def _weights(
    distances: Floats, valid: NDArray[np.bool_], alpha: Alpha, sharpness: Floats
) -> Floats:
    """α^sharpness (n, t) over its largest in the row; 0 where not valid."""
    logs = np.where(valid, alpha.log(distances), -np.inf)
    highest = logs.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        # The gap before the sharpness: no power, however high, makes the largest anything but 1.
        weights: Floats = np.exp((logs - highest) * sharpness[:, None])
    # Infinite logarithms tell nothing by their gap: a pole beats all, and without targets none is.
    infinite = np.isinf(highest[:, 0])
    weights[infinite] = logs[infinite] == np.inf
    return weights
