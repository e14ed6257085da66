"""Intervals: against scipy, a published example, and what they claim."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, t

from stepladder.metrics.intervals import (
    between,
    difference_of_shares,
    ratio_of_shares,
    says_something,
    students,
    wilson,
)


def ends(shares, counts, pairs=1):
    """Two shares with Wilson's ends, as the functions take them."""
    lows, highs = wilson(np.array(shares), np.array(counts, dtype=float), pairs)
    return tuple(shares), tuple(lows), tuple(highs)


@pytest.mark.parametrize(("part", "count"), [(0, 1), (1, 1), (0, 30), (7, 30), (30, 30), (1, 4000)])
def test_wilson_s_interval_is_scipy_s(part, count):
    expected = binomtest(part, count).proportion_ci(0.95, method="wilson")
    low, high = wilson(np.array([part / count]), np.array([float(count)]))
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_a_share_of_nobody_has_no_interval():
    low, high = wilson(np.array([math.nan]), np.array([0.0]))
    assert math.isnan(low[0])
    assert math.isnan(high[0])


def test_of_more_pairs_the_interval_is_wider():
    (_, one_low, one_high), (_, low, high) = (ends((0.3, 0.6), (50, 50), n) for n in (1, 10))
    assert all(np.array(low) < one_low)
    assert all(np.array(high) > one_high)


def test_the_difference_of_newcombe_s_own_example():
    """56 of 70 less 48 of 80 (Newcombe 1998, table II, method 10)."""
    found = difference_of_shares(*ends((48 / 80, 56 / 70), (80, 70)))
    assert found == pytest.approx((0.0524, 0.3339), abs=5e-5)


PARTS = st.tuples(st.integers(1, 60), st.integers(1, 60)).flatmap(
    lambda counts: st.tuples(*(st.integers(0, n) for n in counts), st.just(counts))
)


@given(PARTS)
def test_difference_and_ratio_agree_and_hold_their_own_figure(drawn):
    first, second, counts = drawn
    p, q = first / counts[0], second / counts[1]
    if p > q:
        (p, q), counts = (q, p), counts[::-1]
    low, high = difference_of_shares(*ends((p, q), counts))
    assert -1 <= low <= q - p <= high <= 1
    smallest, largest = ratio_of_shares(*ends((p, q), counts))
    assert 0 <= smallest <= (p / q if q else 1.0) * (1 + 1e-9)
    assert largest >= (p / q if q else 1.0) * (1 - 1e-9)
    assert low < high
    assert smallest < largest
    if abs(low) > 1e-9:
        assert (low > 0) == (largest < 1)


def test_a_ratio_holds_the_true_one_about_95_times_in_100():
    rng = np.random.default_rng(0)
    counts, hits, tables = (80, 120), 0, 2000
    for first, second in zip(
        rng.binomial(80, 0.5, tables), rng.binomial(120, 0.8, tables), strict=True
    ):
        low, high = ratio_of_shares(*ends((first / 80, second / 120), counts))
        hits += low <= 0.5 / 0.8 <= high
    assert 0.935 <= hits / tables <= 0.97


def test_draws_that_differ_by_rounding_alone_say_nothing():
    assert not says_something(np.array([0.1, 0.1 + 1e-17, 0.1 * (1 + 1e-15), np.nan]))
    assert not says_something(np.array([np.inf, np.inf]))
    assert not says_something(np.array([np.nan]))
    assert says_something(np.array([1.0, np.inf]))
    assert says_something(np.array([0.1, 0.11]))


def test_between_percentiles_and_stretched_for_more_pairs():
    draws = np.arange(1001.0)
    assert between(draws, 500.0, 10**6) == pytest.approx((25.0, 975.0), abs=0.01)
    low, high = between(draws, 500.0, 10**6, pairs=10)
    assert low < 0.0
    assert high > 1000.0


@pytest.mark.parametrize("count", [2, 3, 10, 200])
def test_between_is_stretched_for_few_people(count):
    """By as much as the interval of a mean is wider than a normal one with the spread of draws."""
    low, high = between(np.arange(1001.0), 500.0, count)
    stretch = t.isf(0.025, count - 1) / 1.959964 * math.sqrt(count / (count - 1))
    assert (500.0 - low, high - 500.0) == pytest.approx((475.0 * stretch,) * 2, rel=1e-4)


def test_around_an_infinite_centre_few_people_have_percentiles_further_out():
    draws = np.append(np.arange(1000.0), math.inf)
    assert between(draws, math.inf, 10**6) == (25.0, 975.0)
    low, high = between(draws, math.inf, 5)
    assert low < 5.0
    assert high > 995.0


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 30, 1000, 10**6])
@pytest.mark.parametrize("pairs", [1, 66, 1000])
def test_student_s_t_is_scipy_s(freedom, pairs):
    tail = 0.025 / pairs
    assert students(tail, freedom) == pytest.approx(t.isf(tail, freedom), rel=1e-4)
