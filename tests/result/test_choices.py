"""What makes two paths a choice."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stepladder as sl
from stepladder.result.choices import CLEARLY, amounts, chosen, differ, easiest_first

LEVELS = np.array([False, False, True])
"""Of income, debt and job, which is a category."""


def asks(**changes):
    """The set of features and the amounts of one path: income=3, debt=-2, job=1 (a level)."""
    names = ("income", "debt", "job")
    return (
        np.array([name in changes for name in names]),
        np.array([float(changes.get(name, 0.0)) for name in names]),
    )


def do_differ(one, other):
    (set_a, amounts_a), (set_b, amounts_b) = asks(**one), asks(**other)
    return bool(differ(set_a, set_b, amounts_a, amounts_b, LEVELS))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({"income": 4}, {"debt": -2}, True),  # another thing
        ({"income": 4, "debt": -2}, {"income": 4, "job": 1}, True),  # neither within the other
        ({"income": 4}, {"income": 4}, False),  # the same
        ({"income": 4}, {"income": 5}, False),  # nearly the same
        ({"income": 4}, {"income": 40}, False),  # more of the same
        ({"income": 4}, {"income": 4, "debt": -2}, False),  # and something else
        ({"income": 4}, {"income": 40, "debt": -2}, False),  # more, and something else
        ({"income": 4}, {"income": 3, "debt": -2}, True),  # three quarters, and something else
        ({"income": 4}, {"income": 3.01, "debt": -2}, False),  # hardly less
        ({"income": 4, "debt": -2}, {"income": 2, "debt": -2.1}, True),  # one for the other
        ({"income": 4, "debt": -2}, {"income": 2, "debt": -2}, False),  # less of the same
        ({"income": 4}, {"income": -4}, True),  # the other way
        ({"job": 1}, {"job": 2}, True),  # another level
        ({"job": 1}, {"job": 1, "income": 4}, False),
        ({"job": 1, "income": 4}, {"job": 2, "income": 4}, True),
        ({"income": 4}, {"income": np.nan}, False),  # from a gap one amount is as good as another
        ({"job": 0}, {"job": 1}, True),  # from a gap to the first level
    ],
)
def test_two_paths_differ_or_they_do_not_whichever_comes_first(one, other, expected):
    assert do_differ(one, other) is expected
    assert do_differ(other, one) is expected


def naive(set_a, set_b, amounts_a, amounts_b, levels):
    """The module's sentences, one feature at a time."""
    features = range(len(set_a))
    if any(set_a[f] and not set_b[f] for f in features) and any(
        set_b[f] and not set_a[f] for f in features
    ):
        return True

    def is_other(f):
        a, b = amounts_a[f], amounts_b[f]
        return a != b if levels[f] else (a > 0 > b or b > 0 > a)

    def has_all(more, less, much, little):
        return all(
            not less[f]
            or (more[f] and not is_other(f) and (levels[f] or abs(much[f]) >= abs(little[f])))
            for f in features
        )

    def is_clearly_less(f):
        small, large = sorted([abs(amounts_a[f]), abs(amounts_b[f])])
        return not levels[f] and small <= CLEARLY * large

    clearly = any(set_a[f] and set_b[f] and (is_other(f) or is_clearly_less(f)) for f in features)
    return clearly and not (
        has_all(set_a, set_b, amounts_a, amounts_b) or has_all(set_b, set_a, amounts_b, amounts_a)
    )


@settings(deadline=None)
@given(seed=st.integers(0, 2**32 - 1), features=st.integers(1, 4))
def test_differ_is_what_it_says_against_plain_loops(seed, features):
    rng = np.random.default_rng(seed)
    sets = rng.random((6, features)) < 0.6
    sizes = rng.choice([-4.0, -3.0, 1.0, 2.0, 3.0, 4.0], size=(6, features))
    levels = rng.random(features) < 0.3
    found = differ(sets[:, None], sets[None], sizes[:, None], sizes[None], levels)
    assert found.shape == (6, 6)
    for a in range(6):
        for b in range(6):
            assert found[a, b] == naive(sets[a], sets[b], sizes[a], sizes[b], levels)
    assert not found.diagonal().any()


def test_without_categories_none_need_be_named():
    one, other = np.array([True]), np.array([True])
    assert not differ(one, other, np.array([1.0]), np.array([2.0]))
    assert differ(one, other, np.array([1.0]), np.array([-2.0]))


def picked(order, *paths):
    sets, sizes = (np.array(part) for part in zip(*(asks(**path) for path in paths), strict=True))
    return chosen(order, sets, sizes, LEVELS)


def test_the_easiest_the_one_of_fewest_things_and_what_differs_from_them_are_chosen():
    paths = (
        {"income": 4.0, "debt": -2.0},  # 0
        {"income": 4.5, "debt": -2.0},  # 1: more of it
        {"income": 5.0},  # 2: within the first, but a single thing
        {"job": 1.0},  # 3: another single thing
        {"job": 1.0, "debt": -9.0},  # 4: more than that
        {"income": 4.0, "debt": -2.0, "job": 2.0},  # 5: more than the first
    )
    assert picked([0, 1, 2, 3, 4, 5], *paths) == [0, 2, 3]
    assert picked([3, 0, 1, 2, 4, 5], *paths) == [3, 0]  # of two single things the easier
    assert picked([5, 4, 2], *paths) == [5, 4, 2]
    assert picked([], *paths) == []


def test_no_two_that_are_chosen_are_one_but_for_the_one_of_fewest_things():
    rng = np.random.default_rng(0)
    for _ in range(200):
        sets, sizes = rng.random((8, 3)) < 0.6, rng.choice([-3.0, 1.0, 2.0, 4.0], size=(8, 3))
        order = rng.permutation(8)[:6].tolist()
        kept = chosen(order, sets, sizes, LEVELS)
        fewest = min(order, key=lambda path: int(sets[path].sum()))
        assert kept == [path for path in order if path in kept]
        assert kept[0] == order[0]
        assert fewest in kept
        for a, b in combinations(kept, 2):
            if {a, b} != {order[0], fewest}:
                assert differ(sets[a], sets[b], sizes[a], sizes[b], LEVELS)
        for left in set(order) - set(kept):
            assert not differ(sets[kept], sets[left], sizes[kept], sizes[left], LEVELS).all()


def test_amounts_are_differences_of_what_is_ordered_and_levels_of_what_is_not():
    schema = sl.Schema(
        [
            sl.Numeric("income"),
            sl.Ordinal("education", levels=["none", "school"]),
            sl.Categorical("job", levels=["clerk", "smith", "nurse"]),
        ]
    )
    rows = pd.DataFrame(
        {"income": [2.0, 5.0], "education": ["none", "school"], "job": ["smith", "nurse"]}
    )
    space = sl.Space.fit(schema, rows)
    values = space.read(rows)
    assert space.unordered.tolist() == [False, False, True]
    assert amounts(space, values[:1], values[1:]).tolist() == [[3.0, 1.0, 2.0]]
    values[0] = np.nan
    found = amounts(space, values[:1], values[1:])
    assert np.isnan(found[0, :2]).all()
    assert found[0, 2] == 2.0


def path(outcome, end, efforts):
    values = np.array([[0.0], [end]])
    return sl.Path(outcome, "", values, values, np.array([0.1, 0.9]), efforts)


def test_the_easiest_come_first_by_effort_by_the_order_of_a_cost_or_else_by_distance():
    reached, unsure = sl.Outcome.REACHED, sl.Outcome.UNSURE
    weighed = [
        path(reached, 1.0, np.array([0.5])),
        path(unsure, 0.5, np.array([0.1])),  # no success
        path(reached, 2.0, np.array([0.3])),
    ]
    assert easiest_first(weighed, in_order=False) == [2, 0]
    assert easiest_first(weighed, in_order=True) == [0, 2]
    unknown = [path(one.outcome, one.values[-1, 0], None) for one in weighed]
    assert easiest_first(unknown, in_order=False) == [0, 2]
