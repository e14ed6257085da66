"""A parameter checked in one sentence: what it is, what is expected, what came, and a way out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from stepladder.errors import ParameterError


def whole_number(name: str, value: Any, least: int, most: int | None = None) -> int:
    """A parameter that is a whole number, or a clear sentence."""
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):
        limit = f"of at least {least}" if most is None else f"from {least} to {most:,}"
        raise ParameterError(f"{name} must be a whole number {limit}; got {value!r}.")
    return int(value)


def finite(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
    hint: str = "",
) -> float:
    """A parameter that is a finite number within limits, or a clear sentence; `hint` ends it."""
    given = as_float(value)
    within = (
        math.isfinite(given)
        and (above is None or given > above)
        and (least is None or given >= least)
        and (below is None or given < below)
        and (most is None or given <= most)
    )
    if not within:
        ends = {"above": above, "of at least": least, "below": below, "at most": most}
        limits = " and ".join(f"{word} {end:g}" for word, end in ends.items() if end is not None)
        if least is not None and most is not None:
            limits = f"from {least:g} to {most:g}"
        raise ParameterError(
            f"{name} must be a number{limits and ' ' + limits}; got {value!r}.{hint and ' ' + hint}"
        )
    return given


def as_float(value: Any) -> float:
    """A value as a float; NaN, which is within no limits, if it isn't a number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # a whole number of more than 300 digits
        return math.inf


def choice(name: str, value: Any, known: Sequence[str]) -> str:
    """A parameter that is one of a few words, or a clear sentence."""
    if value not in known:
        raise ParameterError(f"{name} must be one of {', '.join(known)}; got {value!r}.")
    return str(value)
