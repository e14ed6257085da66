"""How sure a value is: intervals that hold it with 95% confidence.

Shares have Wilson's interval, and their differences and ratios the ones built from two of
Wilson's; these say something even where everyone, or nobody, is counted. All other values have
what people drawn again give (the bootstrap), made wider the fewer people they rest on: few people
differ less from one another than people do (the expanded percentile interval of Hesterberg, "What
Teachers Should Know About the Bootstrap", The American Statistician 69, 2015). Where every draw
gives the same, as for one person, that says nothing, and the ends are NaN: an interval of no width
would claim to be certain.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Counts = NDArray[np.int64]
Interval = tuple[float, float]

TAIL = 0.025
"""Beyond each end of an interval: they hold with 95% confidence."""

ROUNDING = 1e-9
"""Values as close as that, in proportion, are the same but for the computer's rounding."""

UNKNOWN: Interval = (np.nan, np.nan)


def same(first: float, second: float) -> bool:
    """Whether two values differ by no more than rounding; two infinities don't differ."""
    return bool(np.isclose(first, second, rtol=ROUNDING, atol=0.0))


# ---- shares -------------------------------------------------------------------------------------


def wilson(share: Values, count: Counts, pairs: int = 1) -> tuple[Values, Values]:
    """The ends (g,) for shares (g,) of `count` people (Wilson 1927); NaN for a share of nobody.

    With more `pairs` than one, wide enough that all of them hold at once (Bonferroni).

    >>> low, high = wilson(np.array([0.9]), np.array([10]))
    >>> [float(end.round(2)[0]) for end in (low, high)]
    [0.6, 0.98]
    """
    z = -NormalDist().inv_cdf(TAIL / pairs)
    of = np.where(count > 0, count, np.nan)
    middle = (share + z**2 / (2 * of)) / (1 + z**2 / of)
    reach = np.sqrt(share * (1 - share) / of + (z / (2 * of)) ** 2) * z / (1 + z**2 / of)
    # rounding mustn't leave the share itself outside
    return np.clip(middle - reach, 0.0, share), np.clip(middle + reach, share, 1.0)


def difference_of_shares(shares: Interval, lows: Interval, highs: Interval) -> Interval:
    """Of the second share less the first, from Wilson's ends of both (Newcombe 1998)."""
    (p, q), (p_low, q_low), (p_high, q_high) = shares, lows, highs
    gap = q - p
    low = gap - np.hypot(q - q_low, p_high - p)
    return float(low), float(gap + np.hypot(q_high - q, p - p_low))


def ratio_of_shares(shares: Interval, lows: Interval, highs: Interval) -> Interval:
    """Of the first share over the second, from Wilson's ends of both (Donner and Zou 2012)."""
    (p, q), (p_low, q_low), (p_high, q_high) = shares, lows, highs
    if q == 0:
        return 0.0, np.inf  # both are 0: any ratio may be true
    # each is p² (or q²) less the square of how far the end lies from the share
    over, under = p_low * (2 * p - p_low), q_high * (2 * q - q_high)
    low = over / (p * q + np.sqrt((p * q) ** 2 - over * under)) if p else 0.0
    over, under = p_high * (2 * p - p_high), q_low * (2 * q - q_low)
    high = (p * q + np.sqrt((p * q) ** 2 - over * under)) / under if under else np.inf
    return float(low), float(high)


# ---- what people drawn again give ---------------------------------------------------------------


def says_something(draws: Values) -> bool:
    """Whether the draws (b,) that are known differ."""
    known = draws[~np.isnan(draws)]
    return known.size > 0 and not same(known.min(), known.max())


def between(draws: Values, centre: float, count: int, pairs: int = 1) -> Interval:
    """Where a value that rests on `count` people, two or more, lies; `draws` (b,) are of it.

    Its ends are the 2.5th and 97.5th percentile, stretched away from the centre by as much as
    Student's t, for that many people and all `pairs` at once (Bonferroni), is wider than the
    normal curve. A centre that is infinite has percentiles further out instead.
    """
    reach = np.sqrt(count / (count - 1)) * students(TAIL / pairs, count - 1)
    if not np.isfinite(centre):
        tail = NormalDist().cdf(-reach)
        return percentile(draws, tail), percentile(draws, 1 - tail)
    stretch = reach / -NormalDist().inv_cdf(TAIL)
    low, high = percentile(draws, TAIL), percentile(draws, 1 - TAIL)
    return float(centre - stretch * (centre - low)), float(centre + stretch * (high - centre))


def students(tail: float, freedom: int) -> float:
    """What Student's t with these degrees of freedom exceeds with the chance `tail`.

    >>> round(students(0.025, 2), 2), round(students(0.025, 100), 2)
    (4.3, 1.98)
    """
    from scipy.special import stdtrit  # only audits need it

    return -float(stdtrit(freedom, tail))


def percentile(draws: Values, share: float) -> float:
    """The draw with this share of those known below it (no mean of two: one may be infinite)."""
    known = np.sort(draws[~np.isnan(draws)])
    return float(known[round(share * (known.size - 1))]) if known.size else np.nan
