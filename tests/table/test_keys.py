"""What tells rows apart."""

from __future__ import annotations

import numpy as np

from stepladder.table.keys import firsts, keys_of


def test_rows_that_differ_in_one_value_by_anything_have_other_keys():
    rng = np.random.default_rng(0)
    rows = rng.integers(-5, 1000, (500, 6)).astype(float)
    for column in range(6):
        for less in (1.0, 0.5, 2.0**-40, np.nan):
            other = rows.copy()
            other[:, column] -= less
            assert (keys_of(other) != keys_of(rows)).all()


def test_a_hundred_thousand_rows_of_small_whole_numbers_all_have_keys_of_their_own():
    grid = np.stack(np.unravel_index(np.arange(10**5), (10,) * 5), axis=1).astype(float)
    assert len(np.unique(keys_of(grid))) == len(grid)


def test_the_same_values_in_other_columns_are_another_row():
    assert len(set(keys_of(np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 0.0]])).tolist())) == 3


def test_the_first_of_each_is_kept_in_order_and_a_gap_is_like_another():
    rows = np.array([[1.0, np.nan], [2.0, 0.0], [1.0, np.nan], [2.0, -0.0], [1.0, 1.0]])
    assert firsts(rows).tolist() == [0, 1, 4]
    assert firsts(rows[:0]).tolist() == []
