"""Positions in a few digits, to compare a split with one that was written down."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray


def digest(positions: NDArray[np.intp]) -> str:
    return hashlib.sha256(positions.astype("<i8").tobytes()).hexdigest()[:16]
