"""Figures as the report's tables write them."""

from __future__ import annotations

import math
from collections.abc import Callable

NONE = "–"
"""What a table holds where there is no figure."""

Form = Callable[[float], str]
"""Writes a figure."""


def number(value: float, form: str = ".2f") -> str:
    """A figure, or a dash where there is none.

    >>> number(-0.034), number(math.inf), number(math.nan)
    ('−0.03', '∞', '–')
    """
    if math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return format(value, f"z{form}").replace("-", "−")


def percent(value: float) -> str:
    """A share as a percentage."""
    return number(value, ".0%")


def share(part: int, of: int) -> str:
    """How much of the whole a part is; nothing where there is no whole."""
    return percent(part / of) if of else ""
