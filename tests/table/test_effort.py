"""Effort: by hand, and against plain loops written from its definition.

"Of an ordered feature the larger of the share of reference rows overtaken (mid-ranks) and the
change over the spread from the 2nd to the 98th percentile; of a category 0.5; each times
`difficulty`; plus 0.1 for each thing changed."
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stepladder as sl
from stepladder.table.effort import Effort

JOBS = ["clerk", "smith", "nurse"]
SCHEMA = sl.Schema(
    [
        sl.Numeric("income", difficulty=2, fill=True),
        sl.Numeric("gain"),
        sl.Ordinal("education", levels=["none", "school", "master"], difficulty=0.5),
        sl.Categorical("job", levels=JOBS, fill=True),
        sl.Numeric("age", change="never"),
        sl.Derived("both", "income + gain"),
    ]
)
INCOME, GAIN, EDUCATION, JOB, AGE, BOTH = range(6)


def table(seed=0, n=200):
    """Incomes with a long tail, gains that are mostly nothing."""
    rng = np.random.default_rng(seed)
    gain = np.where(rng.random(n) < 0.9, 0.0, rng.integers(1, 9, n) * 1000.0)
    rows = pd.DataFrame(
        {
            "income": rng.lognormal(8, 1, n).round(),
            "gain": gain,
            "education": rng.choice(["none", "school", "master"], n, p=[0.5, 0.4, 0.1]),
            "job": rng.choice(JOBS, n),
            "age": rng.integers(18, 80, n),
        }
    )
    return rows.assign(both=rows["income"] + rows["gain"])


ROWS = table()
SPACE = sl.Space.fit(SCHEMA, ROWS)
VALUES = SPACE.read(ROWS)
LEARNED = Effort.learned(SPACE, VALUES)


def naive(start, end, values, difficulty=1.0):
    """(features,) the definition, one feature at a time."""
    found = []
    for f, feature in enumerate(SCHEMA.features):
        before, after = start[f], end[f]
        same = before == after or (np.isnan(before) and np.isnan(after))
        if same or isinstance(feature, sl.Derived):
            found.append(0.0)
            continue
        size = 0.5
        if feature.ordered and not np.isnan(before) and feature.change != "never":
            column = [x for x in values[:, f] if not np.isnan(x)]

            def rank(value, column=column):
                equal = sum(x == value for x in column)
                return (sum(x < value for x in column) + equal / 2) / len(column)

            low, high = np.percentile(column, [2, 98])
            crossed = abs(after - before) / (high - low)
            size = max(abs(rank(after) - rank(before)), crossed)
        times = np.broadcast_to(difficulty, len(SCHEMA))[f]
        found.append(size * getattr(feature, "difficulty", 1.0) * times + 0.1)
    return found


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_effort_is_what_it_says_against_plain_loops(seed):
    rng = np.random.default_rng(seed)
    start, end = (VALUES[rng.integers(len(VALUES), size=8)].copy() for _ in range(2))
    end[:, AGE] = start[:, AGE]
    end[:, GAIN] = rng.choice([0.0, 500.0, 1e6], 8)  # between what there is, and beyond it
    kept = rng.random(start.shape) < 0.3
    end[kept] = start[kept]
    start[rng.random(8) < 0.2, INCOME] = np.nan  # a gap
    start[rng.random(8) < 0.2, JOB] = np.nan
    end[:, BOTH] = rng.random(8)  # follows, so it's no effort
    times = rng.choice([0.5, 1.0, 3.0], start.shape)
    expected = [naive(a, b, VALUES) for a, b in zip(start, end, strict=True)]
    np.testing.assert_allclose(LEARNED.of(start, end), expected)
    harder = [naive(a, b, VALUES, t) for a, b, t in zip(start, end, times, strict=True)]
    np.testing.assert_allclose(LEARNED.of(start, end, times), harder)


def moved(effort, feature, before, after):
    start, end = VALUES[:1].copy(), VALUES[:1].copy()
    start[0, feature], end[0, feature] = before, after
    return effort.of(start, end)[0, feature]


def test_by_hand():
    column = np.arange(101.0)[:, None]  # the 2nd percentile is 2, the 98th is 98
    space = sl.Space.fit(sl.Schema([sl.Numeric("a")]), pd.DataFrame({"a": column[:, 0]}))
    effort = Effort.learned(space, column)
    assert effort.of(np.array([[10.0]]), np.array([[40.0]]))[0, 0] == pytest.approx(30 / 96 + 0.1)
    assert effort.of(np.array([[40.0]]), np.array([[40.0]]))[0, 0] == 0.0
    assert effort.ranks(np.array([[0.0], [50.0], [50.5], [100.0], [200.0], [-9.0]]))[
        :, 0
    ] == pytest.approx([0.5 / 101, 50.5 / 101, 51 / 101, 100.5 / 101, 1.0, 0.0])


def test_to_leave_what_most_have_overtakes_half_of_them_at_least():
    assert moved(LEARNED, GAIN, 0.0, 1.0) >= np.mean(ROWS["gain"] == 0) / 2 + 0.1


def test_in_the_tail_where_nobody_is_overtaken_any_more_it_is_the_way_that_counts():
    top = ROWS["income"].max()
    near, far = (moved(LEARNED, INCOME, top + 1, top + way) for way in (1000.0, 2000.0))
    assert far - 0.1 == pytest.approx((near - 0.1) * 1999 / 999)


def test_a_gap_and_a_category_are_a_half_by_their_difficulty():
    assert moved(LEARNED, JOB, 0.0, 2.0) == pytest.approx(0.6)
    assert moved(LEARNED, JOB, np.nan, 0.0) == pytest.approx(0.6)
    assert moved(LEARNED, INCOME, np.nan, 5000.0) == pytest.approx(0.5 * 2 + 0.1)


def test_nothing_is_asked_of_who_stays_and_one_row_may_stand_for_all():
    assert not LEARNED.of(VALUES, VALUES).any()
    both = LEARNED.of(VALUES[:1], VALUES[:5])
    np.testing.assert_array_equal(both, LEARNED.of(np.repeat(VALUES[:1], 5, axis=0), VALUES[:5]))


def test_ranks_are_mid_ranks_of_what_is_ordered_and_can_be_chosen():
    rows = VALUES[:3].copy()
    rows[0, INCOME] = np.nan
    ranks = LEARNED.ranks(rows)
    assert np.isnan(ranks[0, INCOME])
    assert np.isnan(ranks[:, [JOB, AGE, BOTH]]).all()
    for row, rank in zip(rows, ranks, strict=True):
        for f in (GAIN, EDUCATION):
            below, equal = (VALUES[:, f] < row[f]).mean(), (VALUES[:, f] == row[f]).mean()
            assert rank[f] == pytest.approx(below + equal / 2)


def test_what_hardly_ever_varies_has_a_spread_by_its_scale():
    rows = pd.DataFrame({"a": [0.0] * 199 + [10.0]})
    space = sl.Space.fit(sl.Schema([sl.Numeric("a")]), rows)
    effort = Effort.learned(space, space.read(rows))
    assert effort.spread[0] == pytest.approx(4 * rows["a"].std(ddof=0))
    assert np.isfinite(effort.of(np.array([[0.0]]), np.array([[5.0]]))).all()


def test_declared_effort_knows_nothing_of_any_row():
    declared = sl.Schema(
        [
            sl.Numeric("income", bounds=(0, 8000)),
            sl.Ordinal("education", levels=["none", "school", "master"]),
            sl.Categorical("job", levels=JOBS),
        ]
    )
    efforts = [
        Effort.declared(sl.Space.from_schema(declared, rows[["income", "education", "job"]]))
        for rows in (ROWS, table(seed=1, n=50).assign(income=1.0))
    ]
    start, end = np.array([[1000.0, 0.0, 0.0]]), np.array([[3000.0, 1.0, 1.0]])
    first, second = (effort.of(start, end) for effort in efforts)
    np.testing.assert_array_equal(first, second)
    assert first[0] == pytest.approx([2000 / 8000 + 0.1, 1 / 2 + 0.1, 0.6])
    assert all(np.isnan(effort.ranks(end)).all() for effort in efforts)
    assert all(known is None for effort in efforts for known in effort.known)
