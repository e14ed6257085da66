"""A parameter checked in one sentence: what it is, what is expected, what came."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stepladder.errors import ParameterError


def whole_number(name: str, value: Any, least: int) -> int:
    """A parameter that is a whole number, or a clear sentence."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}; got {value!r}.")
    return int(value)


def finite(name: str, value: Any, *, above: float | None = None, least: float = -math.inf) -> float:
    """A parameter that is a finite number, or a clear sentence."""
    given = float(value) if isinstance(value, int | float | np.number) else math.nan
    if not math.isfinite(given) or given < least or (above is not None and given <= above):
        limit = f"above {above:g}" if above is not None else f"of at least {least:g}"
        raise ParameterError(f"{name} must be a number {limit}; got {value!r}.")
    return given


def choice(name: str, value: Any, known: Sequence[str]) -> str:
    """A parameter that is one of a few words, or a clear sentence."""
    if value not in known:
        raise ParameterError(f"{name} must be one of {', '.join(known)}; got {value!r}.")
    return str(value)
