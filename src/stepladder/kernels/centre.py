"""Where a point is drawn when it has targets of its own, at any sharpness of α."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepladder.kernels.alpha import Alpha, Floats
from stepladder.kernels.direction import MEMORY
from stepladder.kernels.distance import Metric, place


def centres(
    points: NDArray[np.float64],
    targets: NDArray[np.float64],
    valid: NDArray[np.bool_],
    alpha: Alpha,
    *,
    sharpness: NDArray[np.float64],
    metric: Metric | None = None,
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
        weights = _weights(_distances(moves, metric), usable, alpha, sharpness[block])
        total = weights.sum(axis=1)
        total[total == 0] = 1.0
        result[block] += np.einsum("nt,ntm->nm", weights, moves) / total[:, None]
    return result


def _distances(moves: NDArray[np.float64], metric: Metric | None) -> NDArray[np.float64]:
    placed = place(moves, metric)
    squared: NDArray[np.float64] = np.einsum("ntm,ntm->nt", placed, placed)
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
