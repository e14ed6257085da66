"""How a kernel over all pairs is cut into tiles: small enough for the cache, and for the budget.

A tile is a stack of small matrix products. Each is below the size from which a BLAS library spreads
it over threads of its own: those wait for one another in a spin, which on a machine with anything
else to do costs up to a hundred times what they gain. The tiles are spread over threads instead.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from math import ceil, prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

Item = TypeVar("Item")

# OpenBLAS multiplies alone up to 2^18 multiplications. Of the shapes below that, those of about
# 32 × 240 × 28 were the fastest where measured.
_PRODUCT, _PRODUCT_ROWS, _PRODUCT_COLUMNS = 2**18, 32, 240
# Points come in fours and positives in eights, as the kernels of BLAS take them. Odd rows are
# rounded in another way, so that a point would get other last digits in other company.
_ROWS, _COLUMNS = 4, 8
# Some four megabytes: it stays in the third cache between the five passes over it, and makes
# what Python adds to each of them small.
_TILE_PAIRS, _TILE_COLUMNS, _MOST_ROWS = 2**19, 2**11, 2**13
# What a tile takes for each pair and each coordinate at worst, which is when every pair is near.
_PAIR_BYTES, CELL_BYTES = 64, 64
# Below this many pairs, some two milliseconds, handing work to threads doesn't pay.
_THREADED_PAIRS = 2**19


@dataclass(frozen=True)
class Tiling:
    """Points of one product, and the most points and the most pieces of positives of a tile."""

    product_rows: int
    rows: int
    pieces: int
    threads: int
    memory: int
    """bytes for each thread"""


def pieces(count: int, m: int) -> tuple[int, int]:
    """Into how many even pieces `count` positives (count, m) are cut, and how large each is.

    They are filled up: the pieces hold a few more.

    >>> pieces(1000, 24)
    (5, 200)
    """
    most = min(_PRODUCT_COLUMNS, _PRODUCT // (_PRODUCT_ROWS * (m + 2)))
    return _evenly(count, most, _COLUMNS)


def _evenly(length: int, most: int, unit: int) -> tuple[int, int]:
    """The fewest pieces of whole units that hold `length`, and their size, at most `most`."""
    units = ceil(length / unit)
    k = max(1, ceil(units / max(1, most // unit)))
    return k, max(1, ceil(units / k)) * unit


def plan(n: int, count: int, m: int, memory: int, threads: int | None = None) -> Tiling:
    """The tiling of n points × count positives × m columns, within `memory` bytes.

    How the positives are cut depends on neither n nor the threads, and so no sum does.
    """
    k, q = pieces(count, m)
    pair_bytes = 2 * (_PAIR_BYTES + 8 * (m + 1) // q)
    cell_bytes = 4 * CELL_BYTES * m
    least = q * max(_ROWS * pair_bytes, cell_bytes)
    width = max(1, min(k, _TILE_COLUMNS // q, memory // least))
    threads = available_threads() if threads is None else threads
    threads = max(1, min(threads, memory // (width * least)))
    if n * count < _THREADED_PAIRS:
        threads = 1
    share = memory // threads
    most = min(share // cell_bytes, min(_TILE_PAIRS, share // pair_bytes) // (width * q))
    _, rows = _evenly(ceil(n / threads), min(most, _MOST_ROWS), _ROWS)
    _, product = _evenly(rows, _PRODUCT_ROWS, _ROWS)
    return Tiling(product, ceil(rows / product) * product, width, threads, share)


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


def scratch(shape: tuple[int, int], dtype: DTypeLike) -> NDArray[Any]:
    """Room for a tile of that shape, this thread's own and kept: fresh memory is slow."""
    size = prod(shape) * np.dtype(dtype).itemsize
    kept: NDArray[np.uint8] | None = getattr(_kept, "room", None)
    if kept is None or len(kept) < size:
        kept = _kept.room = np.empty(size, dtype=np.uint8)
    return kept[:size].view(dtype).reshape(shape)


_kept = threading.local()


def available_threads() -> int:
    """The CPUs this process may use, or OMP_NUM_THREADS where that says fewer."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(cpus, int(asked)) if asked.isdecimal() and int(asked) > 0 else cpus
