"""What tells rows apart, for looking them up: a number that mixes all of a row's bits.

Two rows that differ have the same key about once in 2^64 pairs. That may cost a candidate, or show
a search the score of another row; never an answer, since what is offered is asked about anew.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]


def keys_of(rows: Floats) -> Keys:
    """(n,) a key for each row (n, columns): the same for the same values, gaps included.

    >>> one, two, three = keys_of(np.array([[0.0, np.nan], [-0.0, np.nan], [0.0, 1.0]]))
    >>> bool(one == two), bool(one == three)
    (True, False)
    """
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)  # minus zero is zero
    # Whole numbers differ in their high bits only, and a product carries nothing down.
    bits = bits ^ (bits >> np.uint64(32))
    return np.asarray((bits * _multipliers(rows.shape[1])).sum(axis=1, dtype=np.uint64))


@lru_cache(maxsize=64)
def _multipliers(columns: int) -> Keys:
    """(columns,) odd numbers: no change of a single value is lost by multiplying with one."""
    drawn = np.random.default_rng(0).integers(0, 2**63, columns, dtype=np.uint64)
    return 2 * drawn + np.uint64(1)


def firsts(rows: Floats) -> NDArray[np.intp]:
    """The positions of rows (n, columns), in order, but for those that came before."""
    return np.flatnonzero(~pd.Index(keys_of(rows)).duplicated())
