"""Rows brought to keep requirements: a few values change, and as little as will do."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

import stepladder as sl
from stepladder.table.feasible import Feasible
from stepladder.table.rules.requirements import Requirements

FRAME = pd.DataFrame({"a": [0.0, 10.0, 5.0], "b": [0.0, 10.0, 4.0], "c": ["x", "y", "x"]})


def feasible(require: list[str], today: list[float], **rest) -> Feasible:
    schema = sl.Schema(
        [
            sl.Numeric("a", decimals=1),
            sl.Numeric("b", bounds=(0, 10)),
            sl.Categorical("c", levels=["x", "y"]),
        ],
        require,
    )
    space = sl.Space.fit(schema, FRAME)
    policy = Requirements.of(rest.pop("policy", ()), schema)
    return Feasible.around(space, np.array([today]), policy=policy, **rest)


def test_a_row_that_keeps_everything_stays_as_it_is():
    own = feasible(["a <= b"], [0.0, 5.0, 0.0])
    assert own.repair(np.array([[3.0, 4.0, 1.0]])).tolist() == [[3.0, 4.0, 1.0]]


def test_the_smallest_change_that_mends_it_is_made():
    own = feasible(["a <= b"], [0.0, 5.0, 0.0])
    mended = own.repair(np.array([[6.0, 5.9, 1.0]]))[0]
    assert own.keeps(mended[None]).all()
    assert mended[2] == 1.0
    assert np.abs(mended[:2] - [6.0, 5.9]).sum() < 0.25


def test_a_policy_is_mended_for_as_well():
    own = feasible([], [9.0, 5.0, 0.0], policy=["a <= 2"])
    mended = own.repair(np.array([[9.0, 7.0, 1.0]]))[0]
    assert mended[0] <= 2
    assert mended[1:].tolist() == [7.0, 1.0]


def test_where_one_feature_isnt_enough_another_is_moved_after_it():
    own = feasible(["a <= 2", "b <= 3"], [0.0, 0.0, 0.0])
    mended = own.repair(np.array([[8.0, 9.0, 1.0]]))
    assert own.keeps(mended).all()
    assert mended[0, 2] == 1.0


def test_of_too_many_changes_the_largest_are_kept():
    own = feasible([], [0.0, 0.0, 0.0], max_changes=1)
    assert own.repair(np.array([[9.0, 1.0, 0.0]])).tolist() == [[9.0, 0.0, 0.0]]


@given(
    st.lists(st.tuples(*[st.floats(-20, 20)] * 2, st.integers(0, 1)), min_size=1, max_size=6),
    st.tuples(*[st.floats(0, 10)] * 2, st.integers(0, 1)),
)
def test_whatever_is_repaired_keeps_the_rules_and_each_row_by_itself(rows, today):
    own = feasible(["a + b <= 9", "c != 'y' or a >= 1"], list(map(float, today)))
    values = np.array(rows, dtype=float)
    together = own.repair(values)
    assert own.keeps(together).all()
    for row, found in zip(values, together, strict=True):
        assert own.repair(row[None]).tolist() == [found.tolist()]
