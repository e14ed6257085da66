"""How far from today's value a plan may go: `"30%"`, 500, `("-20%", "+50%")` or `(-100, None)`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepladder.numbers import plain
from stepladder.table.kind import is_finite, short

Floats = NDArray[np.float64]
End = float | str | None
"""A percentage of today's value or a number in the feature's unit; None if there's no end."""


@dataclass(frozen=True)
class Way:
    """One way that a plan may go: so much, or so many per cent of today's value."""

    size: float
    """below 0 downwards, above 0 upwards; infinite if there's no end"""
    of_today: bool = False
    """whether the size is a percentage of today's value"""

    def past(self, values: Floats) -> Floats:
        """How far this leads from some values."""
        # Divided last, since 10% of 70 is 7, and 0.1 times 70 isn't quite.
        return values + (np.abs(values) * self.size / 100 if self.of_today else self.size)

    def written(self, *, signed: bool) -> End:
        """As people write it."""
        if math.isinf(self.size):
            return None
        if not self.of_today:
            return short(self.size)
        return f"{'+' if signed and self.size > 0 else ''}{plain(self.size)}%"


@dataclass(frozen=True)
class Reach:
    """How far down and how far up a plan may go."""

    down: Way
    up: Way

    @classmethod
    def read(cls, given: Any) -> Reach | None:
        """A reach in any of its forms; None if it's something else."""
        if isinstance(given, str) or not isinstance(given, Iterable):
            up = None if given is None else _read(given, math.inf)
            return None if up is None else cls(Way(-up.size, up.of_today), up)
        ends = list(given)
        if len(ends) != 2:
            return None
        down, up = _read(ends[0], -math.inf), _read(ends[1], math.inf)
        return None if down is None or up is None else cls(down, up)

    @property
    def written(self) -> End | tuple[End, End]:
        """As people write it: the same text for the same reach, and None if it has no end."""
        if self.down == Way(-self.up.size, self.up.of_today):
            return self.up.written(signed=False)
        return self.down.written(signed=True), self.up.written(signed=True)

    def around(self, values: Floats) -> tuple[Floats, Floats]:
        """The lowest and the highest that may become of some values; open for a gap."""
        low, high = self.down.past(values), self.up.past(values)
        gap = np.isnan(values)
        return np.where(gap, -np.inf, low), np.where(gap, np.inf, high)


def _read(end: Any, no_end: float) -> Way | None:
    """One end of a reach; None if it isn't one."""
    if end is None:
        return Way(no_end)
    if is_finite(end):
        return Way(float(end))
    shape = re.fullmatch(r"\s*([+-]?\d+(?:\.\d+)?)\s*%\s*", end) if isinstance(end, str) else None
    if shape is None or not math.isfinite(size := float(shape[1])):
        return None
    return Way(size, of_today=size != 0)
