"""How a kernel over all pairs is cut into tiles: small enough for the cache, and for the budget.

A tile is a stack of small matrix products. Each is below the size from which a BLAS library spreads
it over threads of its own: those wait for one another in a spin, which on a machine with anything
else to do costs up to a hundred times what they gain. The tiles are spread over threads instead.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

Item = TypeVar("Item")

# OpenBLAS multiplies alone up to 2^18 multiplications. 32 × 288 × 28 is just below; of the shapes
# that are, those of about this one were the fastest where measured.
_PRODUCT, _PRODUCT_ROWS = 2**18, 32
_LEAST_COLUMNS, _MOST_COLUMNS = 64, 512
# Some four megabytes: it stays in the third cache between the five passes over it, and makes
# what Python adds to each of them small.
_TILE_PAIRS, _TILE_ROWS, _MOST_ROWS = 2**19, 128, 2**13
# What a tile takes for each pair and each coordinate at worst, which is when every pair is near.
_PAIR_BYTES, CELL_BYTES = 64, 64
# Below this many pairs, some two milliseconds, handing work to threads doesn't pay.
_THREADED_PAIRS = 2**19


@dataclass(frozen=True)
class Tiling:
    """Sizes of one small product, and the most rows and columns of a tile of them."""

    product_rows: int
    product_columns: int
    tile_rows: int
    tile_columns: int
    threads: int
    memory: int
    """bytes for each thread"""


def plan(n: int, count: int, m: int, memory: int, threads: int | None = None) -> Tiling:
    """The tiling of n points × count positives × m columns, within `memory` bytes."""
    threads = available_threads() if threads is None else threads
    if n * count < _THREADED_PAIRS:
        threads = 1
    share = memory // threads
    columns = _PRODUCT // (_PRODUCT_ROWS * (m + 2))
    columns = min(count, max(_LEAST_COLUMNS, min(_MOST_COLUMNS, columns)))
    rows = min(n, max(1, _PRODUCT // (columns * (m + 2))), _PRODUCT_ROWS)
    pair_bytes = _PAIR_BYTES + 8 * (m + 1) // columns
    pairs = max(1, min(_TILE_PAIRS, share // (2 * pair_bytes)))
    most_rows = max(1, min(n, _MOST_ROWS, share // (4 * CELL_BYTES * m)))
    tile_columns = min(count, max(1, pairs // min(most_rows, _TILE_ROWS)))
    tile_rows = max(1, min(most_rows, pairs // tile_columns))
    return Tiling(
        min(rows, tile_rows), min(columns, tile_columns), tile_rows, tile_columns, threads, share
    )


def stacks(length: int, piece: int, most: int) -> Iterator[tuple[slice, int]]:
    """Cut `length` into slices of up to `most`, each a whole number of even pieces.

    Yields each slice with the size of its pieces, which is at most `piece`.

    >>> list(stacks(10, 4, 8))
    [(slice(0, 8, None), 4), (slice(8, 10, None), 2)]
    >>> list(stacks(13, 4, 8))
    [(slice(0, 8, None), 4), (slice(8, 12, None), 4), (slice(12, 13, None), 1)]
    """
    even = ceil(length / ceil(length / piece))
    full = length - length % even
    stride = max(1, most // even) * even
    for start in range(0, full, stride):
        yield slice(start, min(start + stride, full)), even
    if full < length:
        yield slice(full, length), length - full


def spread(work: Callable[[Item], None], items: list[Item], threads: int) -> None:
    """Do `work` on each item, on so many threads; NumPy lets go of Python's lock meanwhile."""
    if threads == 1 or len(items) == 1:
        for item in items:
            work(item)
        return
    for _ in _pool(threads, os.getpid()).map(work, items):
        pass


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """Kept, as a step takes less time than starting threads; a forked process has its own."""
    return ThreadPoolExecutor(threads, thread_name_prefix="stepladder")


def scratch(count: int, dtype: DTypeLike) -> NDArray[Any]:
    """Room for a tile of `count` numbers, this thread's own and kept: fresh memory is slow."""
    size = count * np.dtype(dtype).itemsize
    kept: NDArray[np.uint8] | None = getattr(_kept, "room", None)
    if kept is None or len(kept) < size:
        kept = _kept.room = np.empty(size, dtype=np.uint8)
    return kept[:size].view(dtype)


_kept = threading.local()


def available_threads() -> int:
    """The CPUs this process may use, or OMP_NUM_THREADS where that says fewer."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(cpus, int(asked)) if asked.isdecimal() and int(asked) > 0 else cpus
