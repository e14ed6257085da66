"""Who could become no positive may still become a row put together from what positives have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import stepladder as sl
from stepladder.methods.base import Question
from stepladder.methods.pace import Pace
from stepladder.methods.step.led import led
from stepladder.methods.step.mixed import climb, mixed
from stepladder.methods.step.search import Search
from stepladder.table.feasible import Feasible

SCHEMA = sl.Schema(
    [
        sl.Numeric("a", integer=True),
        sl.Numeric("b", integer=True, bounds=(0, 8)),
        sl.Categorical("c", levels=["x", "y"], change="never"),
    ]
)
TRAIN = pd.DataFrame({"a": [9, 0, 1, 8, 0], "b": [0, 8, 7, 1, 0], "c": ["y", "y", "y", "y", "x"]})
ONE = np.array([0])
PERSON = pd.DataFrame({"a": [1], "b": [2], "c": ["x"]})


def model(frame: pd.DataFrame) -> np.ndarray:
    """Takes every y, and an x only if both numbers are large; more of either is better."""
    both = (frame["a"].clip(0, 5) + frame["b"].clip(0, 5)) / 10
    return np.where(frame["c"] == "y", 1.0, both).astype(float)


def fitted(**settings: object) -> sl.StEP:
    step = sl.StEP(paths=2, **settings)
    return step.fit(TRAIN, model, schema=SCHEMA, goal=sl.Goal(1.0))


def test_no_positive_can_be_reached_but_a_mix_of_two_can():
    result = fitted().recourse(PERSON)
    assert result.status["outcome"].tolist() == ["reached"]
    final = result.final[result.final["outcome"] == "reached"]
    assert (model(final[["a", "b", "c"]]) == 1.0).all()
    assert (final["c"] == "x").all()
    assert (final[["a", "b"]].to_numpy() >= 5).all()


@pytest.mark.parametrize("made_up", [False, True])
def test_a_path_left_over_is_mixed_where_positives_are_made_up(made_up):
    train = pd.concat([TRAIN, pd.DataFrame({"a": [7], "b": [7], "c": ["x"]})], ignore_index=True)
    step = sl.StEP(paths=2).fit(train, model, schema=SCHEMA, goal=sl.Goal(1.0))
    reference = step.reference_
    if made_up:
        ranges = np.array([[0.0, 9.0], [0.0, 8.0], [0.0, 1.0]])
        reference = replace(reference, ranges=ranges)
    feasible = Feasible.of(step.space_, PERSON)  # who could become a single one of the positives
    pace = Pace(1, progress=False, time_budget=None)
    question = Question(feasible, step.scorer_.score(feasible.start), step.scorer_, pace, ONE)
    found = led(question, ONE, reference, Search(step.alpha, 1.0, 50))
    assert found.targets.valid.any(axis=1).sum() == 1 + made_up
    assert found.trail.reached.sum() == 1 + made_up


def test_a_path_to_a_mixed_row_goes_straight_there_in_steps_of_the_size_asked_for():
    schema = sl.Schema([sl.Numeric("a"), sl.Numeric("b", bounds=(0, 8)), *SCHEMA.features[2:]])
    step = sl.StEP(paths=1, step_size=0.25, slack=0)
    step.fit(TRAIN, model, schema=schema, goal=sl.Goal(1.0))
    path = step.recourse(PERSON).paths[["a", "b", "c"]]
    points = step.space_.encode(path)
    moves = np.diff(points, axis=0)
    assert len(moves) > 4
    assert (np.linalg.norm(moves, axis=1) <= 0.25 + 1e-9).all()
    way = points[-1] - points[0]
    assert np.linalg.norm(moves, axis=1).sum() == pytest.approx(np.linalg.norm(way))


def test_values_come_from_positives_and_from_the_persons_own_limits():
    step = fitted()
    values = step.space_.read(PERSON)
    feasible = Feasible.of(step.space_, PERSON, locked=["a"])
    rows, met = mixed(feasible, step.reference_, step.scorer_, Pace(1, False, None))
    assert rows.shape == (2, 3)
    assert not met.any()
    assert (rows[:, 0] == 1).all()
    assert (rows[:, 2] == values[0, 2]).all()
    assert feasible.take(np.array([0, 0])).keeps(rows).all()


def test_time_that_is_up_ends_the_search():
    step = fitted()
    feasible = Feasible.around(step.space_, step.space_.read(PERSON))
    pace = Pace(1, False, 1e-9)
    _, met = mixed(feasible, step.reference_, step.scorer_, pace)
    assert not met.any()


def test_with_nothing_to_try_a_row_stays_as_it_is():
    step = fitted()
    each = Feasible.of(step.space_, PERSON)
    rows, beyond = each.start.copy(), np.array([-0.5])
    climb(rows, beyond, each, [], step.scorer_, Pace(1, progress=False, time_budget=None))
    assert (rows == each.start).all()
    assert beyond.tolist() == [-0.5]
