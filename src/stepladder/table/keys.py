"""What tells rows apart, for looking them up: a row's own bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def keys_of(rows: Floats) -> list[bytes]:
    """A key for each row (n, columns): two rows have the same if all their values are the same.

    >>> one, two, three = keys_of(np.array([[0.0, np.nan], [-0.0, np.nan], [0.0, 1.0]]))
    >>> one == two, one == three
    (True, False)
    """
    cells = np.ascontiguousarray(rows + 0.0)  # minus zero is zero
    if not cells.size:
        return [b""] * len(cells)
    found: list[bytes] = cells.view(f"V{cells.itemsize * cells.shape[1]}").ravel().tolist()
    return found


def firsts(rows: Floats) -> NDArray[np.intp]:
    """The positions of rows (n, columns), in order, but for those that came before."""
    places: dict[bytes, int] = {}
    for place, key in enumerate(keys_of(rows)):
        places.setdefault(key, place)
    return np.fromiter(places.values(), dtype=np.intp, count=len(places))
