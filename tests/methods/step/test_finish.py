"""The last touches of a path, worked by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import stepladder as sl
from stepladder.methods.asked import ONE_CALL
from stepladder.methods.step import finish
from stepladder.model.scorer import Scorer
from stepladder.table.feasible import Feasible

SCHEMA = sl.Schema(
    [
        sl.Numeric("a"),
        sl.Numeric("b"),
        sl.Categorical("job", levels=["clerk", "nurse", "smith"]),
    ]
)
FRAME = pd.DataFrame({"a": [-1.0, 1.0], "b": [-1.0, 1.0], "job": ["clerk", "smith"]})
SPACE = sl.Space.fit(SCHEMA, FRAME)  # mean 0 and deviation 1: a value is its own column
START = np.array([[0.0, 0.0, 0.0]])


def scorer(judge) -> Scorer:
    return Scorer(lambda rows: np.where(judge(rows), 0.9, 0.1), SPACE, sl.Goal())


def feasible() -> Feasible:
    return Feasible.around(SPACE, START)


def test_the_first_row_on_a_line_is_found_to_a_256th_of_it():
    start, stop = SPACE.to_points(START), SPACE.to_points(np.array([[4.0, 0.0, 0.0]]))
    asked = scorer(lambda rows: rows["a"] >= 1.3)
    ends = finish.first_on_line(start, stop, np.array([[4.0, 0.0, 0.0]]), feasible(), asked)
    assert 1.3 <= ends[0, 0] <= 1.3 + 4 / 256 + 1e-9


def test_an_end_stays_where_no_row_before_it_counts():
    start, stop = SPACE.to_points(START), SPACE.to_points(np.array([[4.0, 0.0, 0.0]]))
    asked = scorer(lambda rows: rows["a"] >= 4.0)
    ends = finish.first_on_line(start, stop, np.array([[4.0, 0.0, 0.0]]), feasible(), asked)
    assert ends.tolist() == [[4.0, 0.0, 0.0]]


def test_a_change_that_isnt_needed_is_taken_back_and_the_needed_one_kept():
    asked = scorer(lambda rows: rows["a"] >= 1.0)
    ends = np.array([[1.0, 9.0, 2.0]])
    kept = finish.taken_back(ends, feasible(), np.ones(SPACE.width), asked)
    assert kept.tolist() == [[1.0, 0.0, 0.0]]


def test_of_two_changes_that_each_suffice_the_more_wasteful_goes():
    asked = scorer(lambda rows: (rows["a"] >= 1.0) | (rows["b"] >= 3.0))
    ends = np.array([[1.0, 3.0, 0.0]])
    kept = finish.taken_back(ends, feasible(), np.ones(SPACE.width), asked)
    assert kept.tolist() == [[1.0, 0.0, 0.0]]
    heavy = np.array([10.0, 1.0, 1.0, 1.0, 1.0])  # now a is the hard one to change
    kept = finish.taken_back(ends, feasible(), heavy, asked)
    assert kept.tolist() == [[0.0, 3.0, 0.0]]


def laid(rows: list[list[float]], end: list[float], step_size: float = 1.0) -> list[list[float]]:
    walked = np.array([rows], dtype=float)
    steps = np.array([len(rows) - 1])
    found, count = finish.laid_again(walked, steps, np.array([end], dtype=float), SPACE, step_size)
    return found[0, : count[0] + 1].tolist()


def test_a_detour_is_straightened():
    rows = [[0, 0, 0], [1, 1, 0], [2, -1, 0], [3, 0, 0]]
    assert laid(rows, [3, 0, 0]) == [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]]


@pytest.mark.parametrize("way", [1, -1])
def test_a_feature_that_went_to_and_fro_goes_only_one_way(way):
    rows = [[0, 0, 0], [2 * way, 0, 0], [1 * way, 0, 0], [3 * way, 0, 0]]
    expected = [[0, 0, 0], [2 * way, 0, 0], [3 * way, 0, 0]]
    for step_size in (0.5, 1.0, 2.0):
        assert laid(rows, [3 * way, 0, 0], step_size) == expected


def test_a_level_on_the_way_that_isnt_the_last_is_left_out():
    rows = [[0, 0, 0], [1, 0, 1], [2, 0, 2]]
    assert laid(rows, [2, 0, 2]) == [[0, 0, 0], [1, 0, 0], [2, 0, 2]]


def test_small_steps_are_joined_up_to_the_step_size():
    rows = [[0, 0, 0], [0.4, 0, 0], [0.8, 0, 0], [1.2, 0, 0], [1.6, 0, 0]]
    assert laid(rows, [1.6, 0, 0]) == [[0, 0, 0], [0.8, 0, 0], [1.6, 0, 0]]


@pytest.mark.parametrize("step_size", [0.1, 1.0])
def test_a_level_further_away_than_a_step_is_one_step(step_size):
    rows = [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 2]]
    assert laid(rows, [0, 0, 2], step_size) == [[0, 0, 0], [0, 0, 2]]


def test_changes_undone_with_foresight_are_those_undone_one_by_one():
    names = [f"x{i}" for i in range(9)]
    schema = sl.Schema([sl.Numeric(name) for name in names])
    frame = pd.DataFrame({name: [-1.0, 1.0] for name in names})
    space, rng, calls = sl.Space.fit(schema, frame), np.random.default_rng(5), []
    weights = rng.normal(1, 1, 9)

    def model(rows):
        calls.append(len(rows))
        return np.where(rows[names].to_numpy() @ weights >= 3.0, 0.9, 0.1)

    ends = rng.uniform(1, 2, (12, 9)) * (weights > 0)
    rank = rng.uniform(0.1, 1, (12, 9)) * (ends != 0)
    own = Feasible.around(space, np.zeros((12, 9)))
    asked = Scorer(model, space, sl.Goal())
    in_turn = finish.reset(ends, own, rank, asked)
    one_by_one = len(calls)
    calls.clear()
    np.testing.assert_array_equal(finish.reset(ends, own, rank, asked.remembering()), in_turn)
    assert len(calls) <= -(-one_by_one // 5)  # five changes of twelve paths fit into one call
    assert max(calls) <= ONE_CALL
    assert 0 < (in_turn != 0).sum() < (ends != 0).sum()
