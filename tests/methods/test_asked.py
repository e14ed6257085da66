"""What a yes takes: rules, policy and model together."""

from __future__ import annotations

import numpy as np
import pandas as pd

import stepladder as sl
from stepladder.methods.asked import accepted, could_end, margins
from stepladder.model.scorer import Scorer

ROWS = pd.DataFrame({"a": [0.0, 4.0], "b": [5.0, 9.0]})
SCHEMA = sl.Schema([sl.Numeric("a"), sl.Numeric("b")], ["a <= b"])
SPACE = sl.Space.fit(SCHEMA, ROWS)


def test_only_rows_that_keep_rules_and_policy_are_asked_about():
    seen = []

    def model(frame: pd.DataFrame) -> np.ndarray:
        seen.extend(frame["a"].tolist())
        return (frame["a"] / 10).to_numpy()

    goal = sl.Goal(policy=["b >= 5"])
    scorer = Scorer(model, SPACE, goal)
    person = sl.Feasible.around(SPACE, np.array([[0.0, 5.0]]), policy=scorer.policy)
    rows = np.array([[6.0, 9.0], [8.0, 7.0], [4.0, 4.5], [3.0, 5.0]])
    assert accepted(person, rows, scorer).tolist() == [True, False, False, False]
    assert seen == [6.0, 3.0]
    np.testing.assert_allclose(margins(person, rows, scorer), [0.1, -np.inf, -np.inf, -0.2])
    assert could_end(person, rows).tolist() == [True, True, False, True]
