"""Which two tables nobody can tell apart under a guarantee."""

from __future__ import annotations

import math
from enum import StrEnum


class Neighbours(StrEnum):
    """How two tables differ that nobody can tell apart, but for (ε, δ)."""

    ADD_OR_REMOVE = "add_or_remove"
    """one has one more row than the other"""
    REPLACE_ONE = "replace_one"
    """one row of one is replaced by another in the other"""

    def __repr__(self) -> str:
        return repr(self.value)

    @property
    def moves(self) -> float:
        """How many bounds of a row's share two sums can lie apart.

        That's how many rows differ: one row replaced is one less and one more, and two shares may
        point opposite ways. So it's exact for sums of directions.
        """
        return 1.0 if self is Neighbours.ADD_OR_REMOVE else 2.0

    @property
    def moves_counted(self) -> float:
        """The same where shares can't point opposite ways, since each counts its row.

        The angle between two shares is then a right one at most, so that for a row that goes and
        one that comes in its place ‖a - b‖² ≤ ‖a‖² + ‖b‖²: √2 bounds, which two rows that count in
        different cells reach.
        """
        return math.sqrt(self.moves)
