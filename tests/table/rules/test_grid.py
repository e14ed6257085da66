"""The values that features can take at all."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepladder as sl
from stepladder.table.rules.grid import Grid


def grid(dtype: str = "float64", **settings) -> Grid:
    frame = pd.DataFrame({"a": pd.Series([0.0, 10.0], dtype=dtype)})
    return sl.Space.fit(sl.Schema([sl.Numeric("a", **settings)]), frame).grid


def test_multiples_have_no_dust():
    over = grid(multiple=0.05)
    assert over.column(0, np.array([0.149, 0.33, -0.16])).tolist() == [0.15, 0.35, -0.15]


@pytest.mark.parametrize(
    ("settings", "end", "low", "high"),
    [
        ({"integer": True}, 1.5, 2.0, 1.0),
        ({"decimals": 1}, 1.23, 1.3, 1.2),
        ({"multiple": 500}, 1200.0, 1500.0, 1000.0),
        ({"multiple": 0.25}, 0.5, 0.5, 0.5),
        ({}, 1.23, 1.23, 1.23),
    ],
)
def test_an_end_is_the_nearest_value_that_isnt_beyond_it(settings, end, low, high):
    over = grid(**settings)
    assert over.inside(0, np.array([end]), 1.0).tolist() == [low]
    assert over.inside(0, np.array([end]), -1.0).tolist() == [high]


def test_bounds_are_those_of_allowed_values():
    over = grid(multiple=3, bounds=(-4, 10))
    assert (over.lowest[0], over.highest[0]) == (-3.0, 9.0)


@given(
    st.lists(st.floats(-1e6, 1e6, width=64), min_size=1, max_size=5), st.sampled_from([1.0, -1.0])
)
def test_in_a_float32_column_an_end_is_the_very_next_number_whoever_else_asks(ends, way):
    over, ends = grid("float32"), np.array(ends)
    inside = over.inside(0, ends, way)
    assert ((inside - ends) * way >= 0).all()
    assert (inside == inside.astype(np.float32)).all()
    outwards = np.nextafter(inside.astype(np.float32), np.float32(-way * np.inf)).astype(float)
    assert ((outwards - ends) * way < 0).all()
    alone = [over.inside(0, ends[[i]], way)[0] for i in range(len(ends))]
    assert inside.tolist() == alone


def test_bounds_of_a_float32_column_are_float32_too():
    over = grid("float32", bounds=(0.1, None))
    assert not over.outside(0, np.array([np.float32(0.1)], dtype=float)).any()
    assert over.outside(0, np.array([0.09])).all()
    assert not over.outside(0, np.array([np.nan])).any()
