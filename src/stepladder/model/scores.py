"""A score and what a yes takes, as people read them: rounded, but on the right side of the goal."""

from __future__ import annotations

import math

import numpy as np

from stepladder.model.goal import Goal
from stepladder.numbers import exact
from stepladder.table.amounts import NO_VALUE

TYPED = 12
"""Up to how many digits a number may have been typed; one with more was worked out."""


def score(goal: Goal, value: float) -> str:
    """A score rounded to the goal's own digits; short of the goal is never shown as a yes.

    >>> [score(Goal(threshold=0.75), value) for value in (0.004, 0.038, 0.7499, 0.999)]
    ['under 1%', '4%', '74%', 'over 99%']
    """
    if math.isnan(value):
        return NO_VALUE
    if goal.is_range:
        short = float(f"{value:.4g}")
        same = bool(goal.met(np.array(short)) == goal.met(np.array(value)))
        return exact(short if same else value)
    decimals = _decimals(100 * goal.threshold)
    unit = 10**-decimals
    shown = round(100 * value, decimals)
    if value < goal.threshold and shown >= (yes := round(100 * goal.threshold, decimals)):
        shown = yes - unit
    if value > 0 and shown < unit / 2:
        return f"under {unit:.{decimals}f}%"
    if shown > 100 - unit / 2 and value < 1:
        return f"over {100 - unit:.{decimals}f}%"
    return f"{shown:.{decimals}f}%"


def needed(goal: Goal) -> str:
    """What a yes takes: '75%', 'at least 600', '0 to 3'."""
    if not goal.is_range:
        return score(goal, goal.threshold)
    low, high = (None if end is None else exact(end) for end in (goal.low, goal.high))
    if high is None:
        return f"at least {low}"
    return f"at most {high}" if low is None else f"{low} to {high}"


def _decimals(percent: float) -> int:
    """How many decimals a percentage is written with.

    As many as whoever chose the number wrote; of one that was worked out, such as a third, six
    digits, unless they would make 0 or 100 of it, which it isn't.
    """
    written = np.format_float_positional(float(f"{percent:.15g}"), trim="-")
    short = np.format_float_positional(percent, precision=6, fractional=False, trim="-")
    typed = len(written.strip("0.").replace(".", "")) <= TYPED
    shown = written if typed or float(short) in (0, 100) else short
    return len(shown.partition(".")[2])
