"""Equation 1 by other means, to be timed beside `cluster_direction`: torch and numba.

Each takes points and what `prepare` made, for the paper's α, 1 / max(z, cutoff)². They look for
near pairs, as they'd have to, but couldn't add any. Why the library has neither is in
docs/decisions/0010-numpy-tiles.md.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepladder.kernels.alpha import Floats
from stepladder.kernels.direction import Positives

CUTOFF2 = 0.25
NEAR = 1e-2
TORCH_TILE = 256, 2048
"""The fastest of those tried."""
NUMBA_ROWS = 4
"""Points that share what is read of the positives."""

Rival = Callable[[NDArray[np.float64], Positives], Floats]


def rivals() -> dict[str, Rival]:
    """Those whose library is installed, by name."""
    found: dict[str, Rival] = {}
    if find_spec("torch"):
        found["torch"] = by_torch()
    if find_spec("numba"):
        found["numba, all loops"] = by_numba()
        found["numba between products"] = by_numba_between_products()
    return found


def centred(points: NDArray[np.float64], positives: Positives) -> tuple[Floats, Floats]:
    """Points as rows [-2s, |s|², 1], and |s|²."""
    moved = points - positives.origin
    norms = np.einsum("ij,ij->i", moved, moved)
    rows = np.column_stack([-2 * moved, norms, np.ones(len(moved))])
    dtype = positives.factor.dtype
    return rows.astype(dtype), norms.astype(dtype)


def finished(sums: Floats, points: NDArray[np.float64], positives: Positives) -> Floats:
    """Σ w (y - x) of sums of w [y - origin, 1]."""
    m = points.shape[1]
    return sums[:, :m] - sums[:, m:] * (points - positives.origin)


def by_torch() -> Rival:
    """Large products and in-place passes, tile by tile."""
    import torch

    prepared: dict[int, tuple[Any, Any]] = {}

    def direction(points: NDArray[np.float64], positives: Positives) -> Floats:
        k, depth, q = positives.factor.shape
        if id(positives) not in prepared:
            columns = np.ascontiguousarray(positives.factor.swapaxes(0, 1)).reshape(depth, k * q)
            terms = positives.terms.reshape(k * q, depth - 1)
            prepared[id(positives)] = torch.from_numpy(columns), torch.from_numpy(terms)
        columns, terms = prepared[id(positives)]
        rows, norms = map(torch.from_numpy, centred(points, positives))
        height, width = TORCH_TILE
        sums = torch.zeros((len(points), depth - 1), dtype=torch.float64)
        room = torch.empty(height * width, dtype=columns.dtype)
        for i in range(0, len(points), height):
            for j in range(0, k * q, width):
                part, across = rows[i : i + height], columns[:, j : j + width]
                tile = room[: len(part) * across.shape[1]].view(len(part), -1)
                torch.mm(part, across, out=tile)
                assert not (tile.amin(1) <= NEAR * norms[i : i + height]).any()
                tile.clamp_min_(CUTOFF2).reciprocal_()
                sums[i : i + height] += tile @ terms[j : j + width]
        return finished(sums.numpy(), points, positives)

    return direction


def by_numba() -> Rival:
    """Distances, α and sums in one compiled loop, nothing of size people × positives kept."""
    numba: Any = import_module("numba")

    def loops(rows: Floats, limits: Floats, factor: Floats, terms: Floats) -> tuple[Floats, Any]:
        k, depth, q = factor.shape
        sums = np.zeros((len(rows), depth - 1))
        near = np.zeros(len(rows) // NUMBA_ROWS, dtype=np.int64)
        one, cutoff2 = factor.dtype.type(1), factor.dtype.type(CUTOFF2)
        for block in numba.prange(len(rows) // NUMBA_ROWS):
            first = block * NUMBA_ROWS
            tile = np.empty((NUMBA_ROWS, q), dtype=factor.dtype)
            part = np.empty((NUMBA_ROWS, depth - 1), dtype=factor.dtype)
            for piece in range(k):
                tile[:] = 0
                part[:] = 0
                for c in range(depth):
                    for r in range(NUMBA_ROWS):
                        x = rows[first + r, c]
                        for j in range(q):
                            tile[r, j] += x * factor[piece, c, j]
                for r in range(NUMBA_ROWS):
                    for j in range(q):
                        near[block] += tile[r, j] <= limits[first + r]
                        tile[r, j] = one / max(tile[r, j], cutoff2)
                for j in range(q):
                    for r in range(NUMBA_ROWS):
                        w = tile[r, j]
                        for c in range(depth - 1):
                            part[r, c] += w * terms[piece, j, c]
                sums[first : first + NUMBA_ROWS] += part
        return sums, near.sum()

    compiled = numba.njit(fastmath=True, error_model="numpy", parallel=True)(loops)

    def direction(points: NDArray[np.float64], positives: Positives) -> Floats:
        rows, norms = centred(points, positives)
        sums, near = compiled(rows, NEAR * norms, positives.factor, positives.terms)
        assert not near
        return finished(sums, points, positives)

    return direction


def by_numba_between_products() -> Rival:
    """The library's tiles on one thread, with one compiled pass where NumPy makes three."""
    from stepladder.kernels.tiling import plan, scratch

    numba: Any = import_module("numba")

    def between(tile: Floats, limits: Floats) -> int:
        near = 0  # counted: that compiles to vectors, a minimum doesn't
        one, cutoff2 = tile.dtype.type(1), tile.dtype.type(CUTOFF2)
        for i in range(tile.shape[0]):
            for j in range(tile.shape[1]):
                near += tile[i, j] <= limits[i]
                tile[i, j] = one / max(tile[i, j], cutoff2)
        return near

    compiled = numba.njit(fastmath=True, error_model="numpy")(between)

    def direction(points: NDArray[np.float64], positives: Positives) -> Floats:
        rows, norms = centred(points, positives)
        _, depth, q = positives.factor.shape
        tiling = plan(len(points), len(positives.points), depth - 2, 2**28, threads=1)
        p = tiling.product_rows
        sums = np.zeros((len(points), depth - 1))
        for i in range(0, len(points), tiling.rows):
            own = rows[i : i + tiling.rows].reshape(-1, 1, p, depth)
            for start in range(0, len(positives.factor), tiling.pieces):
                block = slice(start, start + tiling.pieces)
                columns = positives.factor[block]
                tile = scratch((len(own) * p, len(columns) * q), columns.dtype)
                products = tile.reshape(len(own), p, len(columns), q).swapaxes(1, 2)
                np.matmul(own, columns, out=products)
                assert not compiled(tile, NEAR * norms[i : i + tiling.rows])
                parts = (products @ positives.terms[block]).sum(axis=1)
                sums[i : i + tiling.rows] += parts.reshape(-1, depth - 1)
        return finished(sums, points, positives)

    return direction
