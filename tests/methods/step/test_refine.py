"""Nearer ends, worked by hand: change is spent where it earns the most."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import stepladder as sl
from stepladder.methods.step import finish
from stepladder.methods.step.reference import Reference, norm_of
from stepladder.methods.step.refine import refined
from stepladder.methods.step.targets import Targets
from stepladder.model.scorer import Scorer
from stepladder.table.feasible import Feasible

LEVELS = ["clerk", "nurse", "smith"]
SCHEMA = sl.Schema([sl.Numeric("a"), sl.Numeric("b"), sl.Categorical("job", levels=LEVELS)])
FRAME = pd.DataFrame({"a": [-1.0, 1.0], "b": [-1.0, 1.0], "job": ["clerk", "smith"]})
SPACE = sl.Space.fit(SCHEMA, FRAME)  # mean 0 and deviation 1: a value is its own column


def nearer(
    ends: list[list[float]],
    targets: list[list[list[float]]],
    judge,
    *,
    distance: dict[str, float] | None = None,
) -> np.ndarray:
    """The ends that paths of someone at (0, 0, clerk) get, who walked to `ends`."""
    rows, goals = np.array(ends, dtype=float), np.array(targets, dtype=float)
    points = SPACE.to_points(goals.reshape(-1, 3))
    positives = Reference(
        values=goals.reshape(-1, 3),
        found=goals.reshape(-1, 3),
        points=points,
        clusters=np.repeat(np.arange(len(ends)), goals.shape[1]),
        slots=len(ends),
        columns=SPACE.changeable,
        norm=norm_of(distance or "euclidean", points, SPACE, hard=True),
    )
    found = Targets(goals, points.reshape(*goals.shape[:2], -1), np.ones(goals.shape[:2], bool))
    return refined(
        rows,
        rows,
        np.arange(len(ends)),
        found,
        Feasible.around(SPACE, np.zeros((len(ends), 3))),
        positives,
        Scorer(judge, SPACE, sl.Goal(0.5)),
    )


def sigmoid(a: float, b: float):
    """A linear model that is content once a·x + b·y reaches 5."""
    return lambda rows: 1 / (1 + np.exp(5 - a * rows["a"] - b * rows["b"]))


def test_under_a_linear_model_the_end_is_the_nearest_there_is():
    found = nearer([[2.0, 2.0, 0.0]], [[[9.0, 9.0, 0.0]]], sigmoid(2, 1))
    least = np.array([2.0, 1.0])  # 2 · 2 + 1 = 5, along the coefficients
    assert found[0, :2] == pytest.approx(least, abs=0.05)
    assert np.linalg.norm(found[0, :2]) >= np.linalg.norm(least)


def test_no_feature_goes_further_than_in_a_target():
    found = nearer([[1.0, 3.0, 0.0]], [[[1.0, 4.0, 0.0], [0.5, 6.0, 0.0]]], sigmoid(2, 1))
    assert found[0] == pytest.approx([1.0, 3.0, 0.0], abs=0.05)  # a would be worth more


def test_a_feature_that_is_hard_to_change_is_spared():
    ends, targets = [[2.0, 2.0, 0.0]], [[[9.0, 9.0, 0.0]]]
    found = nearer(ends, targets, sigmoid(2, 1), distance={"a": 4.0})
    # To minimise (4a)² + b² where 2a + b = 5: a = 2λ/16, b = λ, so λ = 4.
    assert found[0, :2] == pytest.approx([0.5, 4.0], abs=0.1)


def test_a_category_that_earns_nothing_goes_back_and_one_that_is_needed_stays():
    ends, targets = [[5.0, 0.0, 2.0]], [[[6.0, 0.0, 2.0]]]
    assert nearer(ends, targets, sigmoid(1, 0))[0, 2] == 0

    def smiths_only(rows):
        return sigmoid(1, 0)(rows) * (rows["job"] == "smith")

    kept = nearer(ends, targets, smiths_only)
    assert kept.tolist() == ends


def test_a_category_that_harms_goes_back():
    def smiths_last(rows):
        return sigmoid(1, 0)(rows) - 0.1 * (rows["job"] == "smith")

    found = nearer([[7.0, 0.0, 2.0]], [[[8.0, 0.0, 2.0]]], lambda rows: smiths_last(rows).clip(0))
    assert found[0] == pytest.approx([5.0, 0.0, 0.0], abs=0.1)


def test_a_target_in_a_straight_line_is_tried_where_the_walk_went_round():
    def judge(rows):
        return np.where((rows["a"] >= 4) & (rows["b"] >= 4) | (rows["b"] <= -1), 0.9, 0.1)

    found = nearer([[4.0, 4.0, 0.0]], [[[0.0, -2.0, 0.0], [5.0, 5.0, 0.0]]], judge)
    assert found[0] == pytest.approx([0.0, -1.0, 0.0], abs=0.05)


def test_of_two_ends_that_would_be_one_route_the_farther_stays_where_it_was():
    targets = [[[9.0, 9.0, 0.0]], [[9.0, 9.0, 0.0]]]
    found = nearer([[2.0, 2.0, 0.0], [1.5, 6.0, 0.0]], targets, sigmoid(2, 1))
    assert found[0, :2] == pytest.approx([2.0, 1.0], abs=0.05)
    assert found[1].tolist() == [1.5, 6.0, 0.0]


def test_a_straight_line_turns_a_category_once_past_the_half():
    feasible = Feasible.around(SPACE, np.zeros((1, 3)))
    rows = finish.straight(feasible, np.array([[4.0, 0.0, 2.0]]), np.array([4]))
    assert rows[0].tolist() == [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 2], [4, 0, 2]]


@pytest.fixture(scope="module")
def plane():
    """A linear model over two features, people far below it and positives beyond."""
    random = np.random.default_rng(0)
    rows = pd.DataFrame(random.normal(0, 2, (400, 2)), columns=["a", "b"])
    return rows, lambda rows: 1 / (1 + np.exp(3 - 2 * rows["a"] - 0.5 * rows["b"]))


def distances(plane, **settings) -> np.ndarray:
    rows, model = plane
    step = sl.StEP(**settings).fit(rows, model, schema=sl.Schema.infer(rows))
    final = step.recourse(rows[model(rows) < 0.3]).final
    assert (final["outcome"] == "reached").all()
    return final.groupby("person")["distance"].min().to_numpy()


def test_the_nearest_end_is_about_as_near_as_can_be(plane):
    rows, model = plane
    space = sl.Space.fit(sl.Schema.infer(rows), rows)
    asking = rows[model(rows) < 0.3]
    missing = 3 - 2 * asking["a"] - 0.5 * asking["b"]
    least = missing / np.linalg.norm(np.array([2, 0.5]) * space.scale)
    by_distance = distances(plane, cost="distance", slack=0)
    assert by_distance.mean() <= 1.05 * least.mean()
    assert by_distance.mean() < distances(plane, slack=0).mean()


@pytest.mark.parametrize("distance", ["euclidean", {"a": 5.0}])
@pytest.mark.parametrize("step_size", [0.2, 1.0])
def test_no_step_is_longer_than_the_step_size_whatever_the_weights(plane, distance, step_size):
    rows, model = plane
    step = sl.StEP(step_size=step_size, distance=distance)
    step.fit(rows, model, schema=sl.Schema.infer(rows))
    for paths in step.recourse(rows[model(rows) < 0.3]).routes:
        for path in paths:
            lengths = np.linalg.norm(np.diff(path.points, axis=0), axis=1)
            assert lengths.max() <= step_size * (1 + 1e-6)
