"""What counts as a yes."""

from __future__ import annotations

import numpy as np
import pandas as pd
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
    assert str(sl.Goal(0.7, desired=["a", 2])) == "a score of at least 0.7 for 'a' or 2"
    assert str(sl.Goal(desired=["a", "b", "c"])) == "a score of at least 0.5 for 'a', 'b' or 'c'"
    assert str(sl.Goal.between(low=1.5)) == "a prediction from 1.5 to ∞"


def test_several_classes_are_one_goal_however_they_are_listed():
    goal = sl.Goal(desired=["approved", "partly"])
    assert goal.classes == ("approved", "partly")
    for same in (("approved", "partly"), np.array(["approved", "partly"])):
        assert sl.Goal(desired=same) == goal
        assert hash(sl.Goal(desired=same)) == hash(goal)
    assert sl.Goal(desired=["approved"]) == sl.Goal(desired="approved")
    assert sl.Goal(desired="approved").classes == ("approved",)
    assert sl.Goal().classes == ()
    assert type(sl.Goal(desired=np.array([1, 2])).classes[0]) is int
    assert type(sl.Goal(desired=np.int64(1)).desired) is int


@pytest.mark.parametrize(
    ("desired", "said"),
    [
        (["a", "b", "a"], "names 'a' more than once"),
        ([1, np.int64(1)], "names 1 more than once"),
        ([], r"a class, or a list of classes; got \[\]"),
        (["a", None], "Leave it out for the second class of two"),
    ],
)
def test_a_list_of_classes_that_is_none_is_refused(desired, said):
    with pytest.raises(ParameterError, match=said):
        sl.Goal(desired=desired)


@pytest.mark.parametrize("threshold", [0.9999999999, 0.7000001, 1 / 3, 1e-9, 0.5, 1])
def test_a_goal_is_told_as_it_is(threshold):
    said = str(sl.Goal(threshold=threshold)).removeprefix("a score of at least ")
    assert float(said) == threshold
    low, _, high = str(sl.Goal.between(threshold, 1.00000001)).split()[3:]
    assert (float(low), float(high)) == (threshold, 1.00000001)


@pytest.mark.parametrize(
    ("goal", "score", "said"),
    [
        (sl.Goal(threshold=0.7), 0.123456, "0.123"),
        (sl.Goal(threshold=0.7), 0.6999, "0.6999"),
        (sl.Goal(threshold=0.7), np.nextafter(0.7, 0), "0.6999999999999998"),
        (sl.Goal(threshold=0.7), 0.7, "0.700"),
        (sl.Goal(threshold=0.9999), 0.99989, "0.99989"),
        (sl.Goal(threshold=1), 0.99999, "0.99999"),
        (sl.Goal.between(high=2), 2.00001, "2.00001"),
    ],
)
def test_a_score_short_of_the_goal_is_not_shown_as_one_that_meets_it(goal, score, said):
    assert goal.shown(score) == said


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


@pytest.mark.parametrize(("policy", "what"), [("a + 1", "a number"), ("'x'", "text")])
def test_a_policy_has_to_be_true_or_false_of_a_row(policy, what):
    rows = pd.DataFrame({"a": [0.0, 1.0]})
    goal = sl.Goal(policy=[policy])
    with pytest.raises(sl.errors.FormulaError, match=f"The policy .* is {what}"):
        sl.StEP().fit(rows, lambda f: f["a"], schema=sl.Schema([sl.Numeric("a")]), goal=goal)


def test_one_text_is_no_list_of_conditions():
    for make in (sl.Goal, sl.Goal.between):
        with pytest.raises(sl.errors.ParameterError, match="must be a list of conditions"):
            make(0.5, policy="a <= 3")
