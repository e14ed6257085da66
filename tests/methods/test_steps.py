"""Steps that keep the rules."""

from __future__ import annotations

import numpy as np
import pandas as pd

import stepladder as sl
from stepladder.methods.steps import keeping, need_care, walkable

ROWS = pd.DataFrame({"a": [0.0, 4.0], "b": [0.0, 9.0], "c": ["p", "r"]})


def person(*, require: tuple[str, ...] = (), at_once: bool = False) -> sl.Feasible:
    levels = sl.Categorical("c", levels=["p", "q", "r"], moves={"p": ["q"], "q": ["r"]})
    features = [sl.Numeric("a", at_once=at_once), sl.Numeric("b"), levels]
    space = sl.Space.fit(sl.Schema(features, require), ROWS)
    return sl.Feasible.of(space, ROWS.head(1))


def line(end: list[float]) -> np.ndarray:
    return np.linspace(0.0, 1.0, 3)[:, None] * np.array(end)


def test_what_changes_at_once_does_so_in_one_step():
    (rows,) = keeping(person(at_once=True), [line([4.0, 8.0, 0.0])])
    assert rows[:, 0].tolist() == [0, 4, 4]
    assert rows[:, 1].tolist() == [0, 4, 8]


def test_each_hop_of_a_level_is_a_step():
    (rows,) = keeping(person(), [np.array([[0.0, 0, 0], [0.0, 1, 2]])])
    assert np.unique(rows[:, 2]).tolist() == [0, 1, 2]
    assert (np.diff(rows[:, 2]) <= 1).all()
    assert rows[-1].tolist() == [0, 1, 2]


def test_a_row_on_the_way_that_breaks_a_requirement_is_left_out():
    own = person(require=("a <= 1 or a >= 3",))
    assert need_care(own)
    (rows,) = keeping(own, [line([4.0, 0.0, 0.0])])
    assert rows[:, 0].tolist() == [0, 4]


def test_a_level_that_no_hops_within_the_rules_lead_to_is_not_walkable():
    own = person(require=("c != 'q' or b >= 5",))
    rows = np.array([[0.0, 0.0, 2.0], [0.0, 6.0, 2.0]])
    assert walkable(own, rows).tolist() == [False, True]
