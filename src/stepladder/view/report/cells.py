"""Figures as the report's tables write them."""

from __future__ import annotations

from collections.abc import Callable

from stepladder.words.groups import NONE, number

__all__ = ["NONE", "Form", "number", "percent", "share"]

Form = Callable[[float], str]
"""Writes a figure."""


def percent(value: float) -> str:
    """A share as a percentage."""
    return number(value, ".0%")


def share(part: int, of: int) -> str:
    """How much of the whole a part is; nothing where there is no whole."""
    return percent(part / of) if of else ""
