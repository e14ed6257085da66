"""The search of the default method, where the mean of its targets is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd

import stepladder as sl
from stepladder.methods.base import Question
from stepladder.methods.pace import Pace
from stepladder.methods.step.led import led
from stepladder.methods.step.search import AT_ONCE, Search, Trail
from stepladder.model.scorer import Scorer
from stepladder.table.feasible import Feasible


def followed(
    step: sl.StEP, person: pd.DataFrame, step_size: float, scorer: Scorer | None = None
) -> Trail:
    """Where directions lead somebody, in steps of so many standard deviations."""
    feasible = Feasible.of(step.space_, person)
    pace = Pace(1, progress=False, time_budget=None)
    one, asked = np.array([0]), scorer or step.scorer_
    question = Question(feasible, asked.score(feasible.start), asked, pace, one)
    return led(question, one, step.reference_, Search(step.alpha, step_size, 50)).trail


def test_a_path_refused_at_the_mean_is_drawn_nearer_to_a_target_before_it_settles_on_one():
    def model(frame):
        return frame["a"].isin([2.0, 7.0]).to_numpy(float)

    train = pd.DataFrame({"a": [0.0, 1.0, 2.0, 7.0, 8.0, 9.0]})
    step = sl.StEP(paths=1).fit(train, model, schema=sl.Schema([sl.Numeric("a")]))
    trail = followed(step, pd.DataFrame({"a": [1.0]}), 99.0)  # every step goes all the way
    _, mean, nearer, still_nearer, *_, end = trail.values[0][:, 0]
    assert 4.5 > mean > nearer > still_nearer > end == 2.0


def test_small_directions_add_up_until_a_category_changes():
    schema = sl.Schema([sl.Categorical("job", levels=["clerk", "nurse", "smith"])])
    train = pd.DataFrame({"job": ["clerk", "nurse", "smith"]})

    def model(frame):
        return (frame["job"] == "smith").to_numpy() * 1.0

    step = sl.StEP(paths=1).fit(train, model, schema=schema)
    trail = followed(step, train.iloc[[0]], 0.3)
    assert trail.reached.tolist() == [True]
    assert trail.steps[0] > 1
    assert set(trail.values[0][:-1, 0]) == {0.0}


def test_a_trail_that_is_laid_first_and_asked_about_once_is_the_same():
    def model(frame):
        calls.append(len(frame))
        return (frame["a"].isin([6.0, 9.0]) | (frame["a"] > 40)).to_numpy(float)

    calls: list[int] = []
    train = pd.DataFrame({"a": [0.0, 1.0, 2.0, 6.0, 9.0, 41.0, 45.0]})
    schema = sl.Schema([sl.Numeric("a", integer=True)])
    step = sl.StEP(paths=2).fit(train, model, schema=schema)
    person, taken = pd.DataFrame({"a": [2]}), {}
    for scorer in (step.scorer_, step.scorer_.remembering()):
        calls.clear()
        trail = followed(step, person, 0.005, scorer)
        taken[scorer.remembers] = len(calls), trail
    (in_turn, one), (at_once, other) = taken[False], taken[True]
    assert max(one.steps) > 2 * AT_ONCE
    assert at_once < in_turn / 4
    for mine, theirs in zip(one.values, other.values, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(one.latent, other.latent)
    np.testing.assert_array_equal(one.before, other.before)
    np.testing.assert_array_equal(one.reached, other.reached)
