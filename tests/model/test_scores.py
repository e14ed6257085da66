"""Scores in words: rounded to the nearest, and never on the wrong side of the goal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepladder as sl
from stepladder.model.scores import needed, score


@pytest.mark.parametrize(
    ("threshold", "value", "said"),
    [
        (0.75, 0.75, "75%"),
        (0.75, 0.7449, "74%"),
        (0.75, 0.7499, "74%"),  # 75% would be a yes
        (0.75, 0.7501, "75%"),
        (0.5, 0.29, "29%"),  # 0.29 * 100 is 28.999999999999996
        (0.5, 0.038, "4%"),
        (0.5, 0.008, "1%"),
        (0.5, 0.004, "under 1%"),
        (0.01, 0.008, "under 1%"),  # 1% would be a yes
        (0.5, 0.0, "0%"),
        (0.5, 0.994, "99%"),
        (0.5, 0.996, "over 99%"),
        (0.5, 1.0, "100%"),
        (1.0, 0.999, "99%"),
        (0.755, 0.7549, "75.4%"),
        (0.755, 0.755, "75.5%"),
        (0.755, 0.0004, "under 0.1%"),
        (0.755, 0.9996, "over 99.9%"),
        (1 / 3, 0.3333, "33.3300%"),
        (1e-7, 1e-7, "0.00001%"),
        (0.9999999999, 0.9999999999, "99.99999999%"),  # 100% would be another goal
        (0.9999999999, 0.9999999998, "99.99999998%"),
        (0.9999999999, 0.5, "50.00000000%"),
        (0.7000000001, 0.7, "70.00000000%"),
        (1 - 1e-14, 1 - 1e-14, "99.999999999999%"),
        (0.5, float("nan"), "not given"),
    ],
)
def test_a_score_is_rounded_to_the_nearest_and_short_of_the_goal_stays_short(
    threshold, value, said
):
    assert score(sl.Goal(threshold=threshold), value) == said


@given(percent=st.integers(2, 99), near=st.floats(-0.02, 0.02))
def test_what_is_read_is_a_yes_exactly_if_the_score_is(percent, near):
    goal = sl.Goal(threshold=percent / 100)
    value = min(max(goal.threshold + near, 0.0), 1.0)
    read = score(goal, value)
    figure = float(read.rpartition(" ")[2].rstrip("%"))
    assert (not read.startswith("under") and figure >= percent) == (value >= goal.threshold)
    assert abs(figure - 100 * value) <= (0.5 if value >= goal.threshold else 1)


@pytest.mark.parametrize(
    ("goal", "takes", "scores"),
    [
        (sl.Goal.between(600), "at least 600", {599.99: "599.99", 612.345: "612.3"}),
        (sl.Goal.between(None, -0.5), "at most −0.5", {-0.49999: "−0.49999", -3: "−3"}),
        (sl.Goal.between(0, 3), "0 to 3", {1 / 3: "0.3333", 10_000.0: "10,000"}),
    ],
)
def test_a_prediction_is_short_but_on_the_right_side_of_the_goal(goal, takes, scores):
    assert needed(goal) == takes
    assert {value: score(goal, value) for value in scores} == scores
