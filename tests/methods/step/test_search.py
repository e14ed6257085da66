"""The search of the default method, where the mean of its targets is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd

import stepladder as sl
from stepladder.methods.base import Question
from stepladder.methods.pace import Pace
from stepladder.methods.step.led import led
from stepladder.methods.step.search import Search, Trail
from stepladder.table.feasible import Feasible


def followed(step: sl.StEP, person: pd.DataFrame, step_size: float) -> Trail:
    """Where directions lead somebody, in steps of so many standard deviations."""
    feasible = Feasible.of(step.space_, person)
    pace = Pace(1, progress=False, time_budget=None)
    one = np.array([0])
    question = Question(feasible, step.scorer_.score(feasible.start), step.scorer_, pace, one)
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
