"""What counts as a yes."""

from __future__ import annotations

import numpy as np
import pytest

import stepladder as sl
from stepladder.errors import ParameterError


def test_an_open_range_has_one_end():
    assert sl.Goal.between(low=2).met(np.array([1.0, 2.0, 3.0])).tolist() == [False, True, True]
    assert sl.Goal.between(high=2).met(np.array([1.0, 2.0, 3.0])).tolist() == [True, True, False]


def test_the_threshold_itself_meets_the_goal():
    goal = sl.Goal(threshold=0.7)
    assert goal.met(np.array([0.69, 0.7, 0.71])).tolist() == [False, True, True]
    assert goal.margin(np.array([0.5, 0.9])) == pytest.approx([-0.2, 0.2])
    inside = sl.Goal.between(0, 10).margin(np.array([-1.0, 4.0, 12.0]))
    assert inside == pytest.approx([-1.0, 4.0, -2.0])


def test_a_goal_reads_as_words():
    assert str(sl.Goal(0.7, desired="approved")) == "a score of at least 0.7 for 'approved'"
    assert str(sl.Goal.between(low=1.5)) == "a prediction from 1.5 to ∞"


@pytest.mark.parametrize("threshold", [0, -0.1, 1.1, float("nan"), "high", None])
def test_a_threshold_is_a_probability(threshold):
    with pytest.raises(ParameterError, match=r"threshold.*above 0 and at most 1.*Goal\.between"):
        sl.Goal(threshold=threshold)


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((None, None), "needs a low end, a high end or both"),
        ((3, 2), "low 3 is above high 2; swap them"),
        ((float("nan"), 2), r"between\(low\) must be a number"),
        ((0, "ten"), r"between\(high\) must be a number.*got 'ten'"),
    ],
)
def test_the_ends_of_a_range_are_numbers_in_order(ends, said):
    with pytest.raises(ParameterError, match=said):
        sl.Goal.between(*ends)


def test_numpy_numbers_are_numbers():
    assert sl.Goal(threshold=np.float32(0.5)).met(np.array([0.5])).all()
