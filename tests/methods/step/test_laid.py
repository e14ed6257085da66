"""Ends as steps: how many, how long, and in an order in which the score doesn't fall."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from tests.methods import bank

import stepladder as sl
from stepladder.methods.step.laid import laid
from stepladder.model.scorer import Scorer
from stepladder.table.feasible import Feasible


def space_of(schema: sl.Schema) -> sl.Space:
    """A space in which a number is its own coordinate."""
    frame = pd.DataFrame(
        {
            f.name: list(f.levels)[:2] if f.kind != "numeric" else [-1.0, 1.0]
            for f in schema.features
        }
    )
    return sl.Space.fit(schema, frame)


PLANE = space_of(sl.Schema([sl.Numeric("a"), sl.Numeric("b")]))


def steps_to(space, start, end, model, *, step_size=1.0, max_steps=50, goal=None):
    own = Feasible.around(space, np.array([start], dtype=float))
    scorer = Scorer(model, space, goal or sl.Goal(0.5))
    rows, scores = laid(own, np.array([end], dtype=float), scorer, step_size, max_steps)
    np.testing.assert_array_equal(scores[0], scorer.score(rows[0]))
    return rows[0], scores[0]


def rising(rows):
    return np.clip((rows["a"] + rows["b"]).to_numpy() / 20, 0, 1)


def test_all_numbers_advance_together_in_steps_of_the_size_allowed():
    rows, scores = steps_to(PLANE, [0, 0], [3, 4], rising)
    assert rows == pytest.approx(np.linspace([0, 0], [3, 4], 6))
    assert (np.diff(scores) > 0).all()


@pytest.mark.parametrize("max_steps", [1, 2, 3, 50])
def test_steps_are_longer_where_there_would_be_too_many(max_steps):
    rows, _ = steps_to(PLANE, [0, 0], [3, 4], rising, max_steps=max_steps)
    assert len(rows) - 1 == min(5, max_steps)
    assert rows[-1].tolist() == [3, 4]


def first_a(rows):
    """b is worth something only once a is 3; before, it harms."""
    a, b = rows["a"].to_numpy(), rows["b"].to_numpy()
    return 0.4 + np.where(a >= 3, 0.1 * b, -0.1 * np.minimum(b, 3)) + 0.001 * a


def test_what_harms_before_something_else_is_done_comes_after_it():
    rows, scores = steps_to(PLANE, [0, 0], [3, 4], first_a)
    assert (np.diff(scores) >= -1e-9).all()
    first = rows[: int((rows[:, 0] >= 3).argmax()) + 1]
    assert set(first[:, 1]) == {0.0}
    assert (np.linalg.norm(np.diff(rows, axis=0), axis=1) <= 1 + 1e-9).all()


@pytest.mark.parametrize("max_steps", [1, 2, 4])
def test_an_order_takes_no_more_steps_than_are_allowed_either(max_steps):
    rows, scores = steps_to(PLANE, [0, 0], [3, 4], first_a, max_steps=max_steps)
    assert len(rows) - 1 <= max_steps
    assert rows[-1].tolist() == [3, 4]
    if max_steps > 1:
        assert (np.diff(scores) >= -1e-9).all()


@pytest.mark.parametrize(("max_steps", "falls"), [(2, True), (3, False)])
def test_things_are_done_one_by_one_only_where_there_are_steps_for_it(max_steps, falls):
    cube = space_of(sl.Schema([sl.Numeric(name) for name in "abc"]))

    def model(rows):  # half of anything is worse than nothing
        done = rows.to_numpy()
        return np.where((done % 1 > 0).any(axis=1), 0.1, 0.4 + done.sum(axis=1) / 20)

    rows, scores = steps_to(cube, [0, 0, 0], [1, 1, 1], model, max_steps=max_steps)
    assert len(rows) - 1 <= max_steps
    assert (np.diff(scores) < 0).any() == falls


def test_a_score_that_falls_in_every_order_falls_as_little_as_it_can():
    def model(rows):  # a alone costs 0.3, b alone 0.1
        a, b = rows["a"] >= 1, rows["b"] >= 1
        half = (rows["a"] % 1 > 0) | (rows["b"] % 1 > 0)
        return np.select([a & b, a, b, half], [0.9, 0.1, 0.3, 0.0], 0.4)

    rows, scores = steps_to(PLANE, [0, 0], [1, 1], model)
    assert rows.tolist() == [[0, 0], [0, 1], [1, 1]]
    assert scores.tolist() == [0.4, 0.3, 0.9]


def test_a_prediction_that_has_to_fall_falls_in_a_straight_line():
    def model(rows):
        return 20.0 - rows["a"].to_numpy() - rows["b"].to_numpy()

    rows, _ = steps_to(PLANE, [0, 0], [6, 8], model, goal=sl.Goal.between(0, 8))
    assert rows == pytest.approx(np.linspace([0, 0], [6, 8], 11))


@pytest.mark.parametrize("max_steps", [2, 3, 6])
def test_hops_count_among_the_steps(max_steps):
    moves = {"w": ["x"], "x": ["y"], "y": ["z"]}
    schema = sl.Schema(
        [sl.Numeric("a"), sl.Categorical("c", levels=["w", "x", "y", "z"], moves=moves)]
    )

    def model(rows):
        return (rows["a"] / 20 + (rows["c"] == "y") * 0.3).to_numpy().clip(0, 1)

    rows, _ = steps_to(space_of(schema), [0, 0], [8, 2], model, max_steps=max_steps)
    assert rows[-1].tolist() == [8, 2]
    assert (np.diff(rows[:, 1]) <= 1).all()  # one hop at a time
    assert len(rows) - 1 <= max(max_steps, 3)  # two hops and one step for the number


def test_the_score_does_not_fall_where_an_order_exists_in_which_it_does_not():
    """Over the bank's people, against every order written out."""

    def model(frame):  # debt weighs more for those who own, so owning comes last
        return bank.score(frame) * np.where(frame["owner"] & (frame["debt"] > 2000), 0.7, 1.0)

    step = sl.StEP(paths=4).fit(bank.TRAIN, model, schema=bank.SCHEMA, goal=bank.GOAL)
    people = bank.PEOPLE[model(bank.PEOPLE) < 0.6].head(25)
    names = list(bank.SCHEMA.names)
    for (_, _), rows in step.recourse(people).paths.groupby(["person", "path"]):
        start, end = rows[names].iloc[0], rows[names].iloc[-1]
        things = [name for name in names if start[name] != end[name]]
        if not (np.diff(rows["score"]) < -1e-9).any() or len(things) > 4:
            continue
        for order in permutations(things):
            done = [order[:i] for i in range(len(order) + 1)]
            corners = [start.where(~start.index.isin(some), end) for some in done]
            scores = model(pd.DataFrame(corners).astype(bank.TRAIN.dtypes))
            assert (np.diff(scores) < -1e-9).any(), (things, order)


def test_paths_of_a_batch_are_laid_as_they_are_alone():
    rng = np.random.default_rng(0)
    starts, ends = rng.normal(0, 3, (12, 2)), rng.normal(0, 3, (12, 2))
    scorer = Scorer(first_a, PLANE, sl.Goal(0.5))
    together, _ = laid(Feasible.around(PLANE, starts), ends, scorer, 0.7, 6)
    for start, end, rows in zip(starts, ends, together, strict=True):
        own = Feasible.around(PLANE, start[None])
        assert (laid(own, end[None], scorer, 0.7, 6)[0][0] == rows).all()
