"""Which two tables a guarantee tells nobody apart."""

from __future__ import annotations

from enum import StrEnum


class Neighbours(StrEnum):
    """How two tables differ that nobody can tell apart, but for (ε, δ)."""

    ADD_OR_REMOVE = "add_or_remove"
    """one has a row more than the other"""
    REPLACE_ONE = "replace_one"
    """one row of the one stands where another row of the other does"""

    def __repr__(self) -> str:
        return repr(self.value)

    @property
    def moves(self) -> float:
        """How many bounds of a row's share two sums can lie apart: exactly so for directions."""
        return 1.0 if self is Neighbours.ADD_OR_REMOVE else 2.0
