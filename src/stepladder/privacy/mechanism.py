"""Gaussian noise on sums that one row can't move by more than a known amount.

Two things break a proof on paper once it runs on a machine, and both are closed here. A sum of
floats depends on the order of its terms, so that one row more can move it by more than its own
size (Casacuberta et al., CCS 2022): each row's share is cut to whole multiples of a small unit,
and those are added as integers, exactly. And noise made from floats shows in its last digits what
it was added to (Mironov, CCS 2012): OpenDP draws it on the integers too.

Whatever is released privately, a direction, a count or a centre, goes through `with_noise`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import ExtraError, ParameterError
from stepladder.kernels.alpha import Alpha
from stepladder.privacy.neighbours import Neighbours

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]

UNITS = 2**30
"""In how many units the bound of a row's share is counted. Sums of 2^32 rows still fit."""

SHY = 1.0 - 2.0**-40
"""What a share that is cut down is cut to, of its bound: rounding never takes it beyond."""

LEAST = float(np.finfo(float).tiny)
"""The smallest bound of an alpha that is used: below it floats have fewer digits."""


def noisy_sum(
    shares: Floats,
    bound: float,
    multiplier: float,
    *,
    groups: Labels | None = None,
    count: int = 1,
    neighbours: Neighbours = Neighbours.ADD_OR_REMOVE,
) -> Floats:
    """The sum (count, m) of the rows' shares (n, m) in each group, with noise.

    bound       the most a share may measure (L2); a longer one is cut down to it
    multiplier  the noise's standard deviation over the sensitivity
    groups      (n,) the group each row is in, 0 … count-1; one row is in one group, so all the
                sums together are as private as a single one (parallel composition)
    """
    sums = exact_sum(shares, bound, groups=groups, count=count)
    return with_noise(sums, multiplier * neighbours.moves) * (bound / UNITS)


def exact_sum(
    shares: Floats, bound: float, *, groups: Labels | None = None, count: int = 1
) -> NDArray[np.int64]:
    """The same without noise, in units of bound / `UNITS`: not to be released."""
    # In memory row by row: otherwise a row's length can depend, in its last digit, on how many
    # others there are.
    rows = np.ascontiguousarray(shares)
    with np.errstate(over="ignore", invalid="ignore"):
        parts = rows / bound
        lengths = np.linalg.norm(parts, axis=1)
    lost = ~np.isfinite(lengths)  # as whole numbers they could be anything
    parts[lost], lengths[lost] = 0.0, 0.0
    over = lengths > SHY
    factor = np.full(len(parts), float(UNITS))
    factor[over] = UNITS * SHY / lengths[over]
    units = np.trunc(parts * factor[:, None]).astype(np.int64)
    if groups is None:
        return np.asarray(units.sum(axis=0, keepdims=True))
    return np.stack([units[groups == g].sum(axis=0) for g in range(count)])


def noisy_counts(
    counts: NDArray[np.int64],
    each: int,
    multiplier: float,
    neighbours: Neighbours = Neighbours.ADD_OR_REMOVE,
) -> Floats:
    """Counts of any shape, to which a row adds one in each of `each` columns, with noise.

    A row more or less moves `each` counts by one: √each. A row replaced takes one from a count of
    each column and adds one to another: √(2 · each).
    """
    moved = math.nextafter(math.sqrt(each * neighbours.moves), math.inf)
    return with_noise(counts * UNITS, multiplier * moved) / UNITS


def noisy_counts_and_sums(
    away: Floats,
    multiplier: float,
    *,
    groups: Labels,
    count: int,
    neighbours: Neighbours = Neighbours.ADD_OR_REMOVE,
) -> tuple[Floats, Floats]:
    """How many rows (count,) each group has, and the sum (count, m) of what they are away (n, m).

    What a row is away is cut to a length of 1. Its share is (1, away), of a length of at most √2,
    and that's what a row more or less moves. A row replaced moves the sums by 2, which is √2 of
    these bounds: between two groups, √(‖a‖² + ‖b‖²) ≤ √(2 + 2); within one, the counts cancel, and
    ‖away - away'‖ ≤ 1 + 1. In whole units that holds as it stands, since a share at its bound is
    cut to `SHY` of it.
    """
    away = np.ascontiguousarray(away)  # row by row, as in `exact_sum`
    inside = away / np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1.0)
    bound = math.sqrt(2)
    shares = np.column_stack([np.ones(len(inside)), inside])
    sums = exact_sum(shares, bound, groups=groups, count=count)
    noisy = with_noise(sums, multiplier * neighbours.moves_counted) * (bound / UNITS)
    return noisy[:, 0], noisy[:, 1:]


def with_noise(sums: NDArray[np.int64], spread: float) -> Floats:
    """Whole numbers of any shape with noise of a standard deviation of `spread` · `UNITS`."""
    drawn = _gaussian(spread * UNITS)(sums.ravel().tolist())
    return np.array(drawn, dtype=np.float64).reshape(sums.shape)


def check() -> None:
    """See that noise can be drawn, before anything is paid for it."""
    _gaussian(1.0)


@lru_cache(maxsize=64)
def _gaussian(scale: float) -> Any:
    """OpenDP's Gaussian on whole numbers."""
    try:
        import opendp.prelude as dp
    except ImportError as error:
        raise ExtraError("opendp", "privacy", "Noise that keeps its promise") from error
    # "contrib" says that a person, not a machine, checked the proof.
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    return dp.m.make_gaussian(*space, scale=scale)


def noisy_directions(
    points: Floats,
    positives: Floats,
    clusters: Labels,
    alpha: Alpha,
    multiplier: float,
    *,
    neighbours: Neighbours = Neighbours.ADD_OR_REMOVE,
) -> Floats:
    """Equation 1 (k, m) from the point (m,) of each of k paths to its own cluster, with noise.

    positives  (N, m), and the cluster (N,) of each, which no other positive may have a say in
    Noise of `multiplier` · C falls on every column, C being the alpha's bound.
    """
    bound = bounded(alpha)
    return noisy_sum(
        pulls(points, positives, clusters, alpha),
        bound,
        multiplier,
        groups=clusters,
        count=len(points),
        neighbours=neighbours,
    )


def pulls(points: Floats, positives: Floats, clusters: Labels, alpha: Alpha) -> Floats:
    """(N, m) what each positive adds to the direction from its cluster's point."""
    toward = np.ascontiguousarray(positives - points[clusters])
    with np.errstate(over="ignore"):
        distances = np.linalg.norm(toward, axis=1)
        weights = np.zeros_like(distances)
        apart = distances > 0  # at distance 0 a positive adds nothing, even where α is infinite
        weights[apart] = np.minimum(alpha(distances[apart]), np.finfo(np.float64).max)
        return np.asarray(toward * weights[:, None])


def bounded(alpha: Alpha) -> float:
    """C, the most one positive can add to a direction; an alpha without it is refused."""
    if not LEAST <= alpha.bound < np.inf:
        reason = (
            "z · α(z) has no finite bound, so one row could move a direction by any amount"
            if alpha.bound > LEAST
            else "the bound of z · α(z) is too near to 0 to be told from it"
        )
        raise ParameterError(
            f"{alpha!r} can't be used privately: {reason}. Use sl.Unit(), sl.Volcano(…), "
            "sl.Sloped(…), or the per_distance() of the latter two."
        )
    return alpha.bound
