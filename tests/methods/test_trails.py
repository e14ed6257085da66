"""What a baseline found is offered only as a person would see it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import stepladder as sl
from stepladder.methods.trails import offered
from stepladder.model.scorer import Scorer

FRAME = pd.DataFrame(
    {"income": [0.0, 10.0, 20.0, 30.0], "jobs": [0, 1, 2, 3], "age": [30, 40, 50, 60]}
)
SPACE = sl.Space.fit(
    sl.Schema(
        [
            sl.Numeric("income", bounds=(0, 90)),
            sl.Numeric("jobs", integer=True),
            sl.Numeric("age", integer=True, change="never"),
        ]
    ),
    FRAME,
)
ANN = np.array([[10.0, 1.0, 40.0]])


def said_yes(frame: pd.DataFrame) -> np.ndarray:
    return ((frame["income"] + 10 * frame["jobs"]) / 100).clip(0, 1).to_numpy(float)


SCORER = Scorer(said_yes, SPACE, sl.Goal(0.5))


def offer(*trails: list[list[float]], paths: int = 2, checked: bool = True):
    """What Ann is offered of trails through rows (income, jobs, age)."""
    points = [SPACE.to_points(np.array(trail, dtype=float)) for trail in trails]
    routes, dropped = offered(
        sl.Feasible.around(SPACE, ANN),
        SCORER.score(ANN),
        [points],
        SCORER,
        paths,
        checked=checked,
        reason="there was nothing",
    )
    return routes[0], dropped


def test_a_trail_that_keeps_the_rules_is_a_path_from_the_person_on():
    (path, gap), dropped = offer([[25.0, 2.0, 40.0], [40.0, 2.0, 40.0]])
    assert dropped == 0
    assert path.outcome == "reached"
    np.testing.assert_allclose(path.values, [ANN[0], [25, 2, 40], [40, 2, 40]])
    np.testing.assert_allclose(path.scores, [0.2, 0.45, 0.6])
    np.testing.assert_allclose(path.points, SPACE.to_points(path.values))
    assert (gap.outcome, gap.steps, gap.reason) == ("unreachable", 0, "there was nothing")


@pytest.mark.parametrize(
    ("trail", "said"),
    [
        ([[60.0, 1.0, 41.0]], "breaks the rules on age"),
        ([[60.0, 1.0, 45.0], [60.0, 1.0, 40.0]], "breaks the rules on age"),
        ([[95.0, 1.0, 40.0]], "breaks the rules on income"),
        ([[35.0, 1.49, 40.0]], "missed the goal on the row a person would see"),
    ],
)
def test_a_trail_that_breaks_a_rule_or_the_promise_is_dropped_and_counted(trail, said):
    (kept, gap), dropped = offer(trail, [[60.0, 1.0, 40.0]])
    assert dropped == 1
    assert kept.outcome == "reached"
    assert kept.values[-1].tolist() == [60, 1, 40]
    assert said in gap.reason


def test_whole_numbers_are_whole_and_what_has_not_moved_is_untouched():
    (path, _), _ = offer([[60.0, 1.4, 40.0 + 1e-14]])
    assert path.values[-1].tolist() == [60.0, 1.0, 40.0]


def test_only_as_many_as_are_asked_for_the_best_first():
    routes, dropped = offer(*[[[float(income), 1.0, 40.0]] for income in (50, 60, 70, 80)])
    assert [path.values[-1, 0] for path in routes] == [50, 60]
    assert dropped == 0


def test_unchecked_points_are_taken_as_they_are():
    (young, short), dropped = offer([[60.0, 1.5, 20.0]], [[20.0, 1.0, 40.0]], checked=False)
    assert dropped == 0
    assert (young.outcome, short.outcome) == ("reached", "stalled")
    np.testing.assert_allclose(young.points[-1], SPACE.to_points(np.array([[60.0, 1.5, 20.0]]))[0])
    assert short.reason == "ends at a score of 0.300"


# ---- rules on the way ----------------------------------------------------------------------------

STUDIES = ["none", "school", "master"]
RULED = sl.Space.fit(
    sl.Schema(
        [
            sl.Numeric("loan", at_once=True),
            sl.Ordinal("studies", levels=STUDIES, moves={"none": ["school"]}, months_each=12),
            sl.Derived("each", "100 / loan", decimals=1),
            sl.Numeric("age", change="time"),
        ]
    ),
    pd.DataFrame(
        {
            "loan": [10.0, 20.0, 50.0],
            "studies": STUDIES,
            "each": [10.0, 5.0, 2.0],
            "age": [30.0, 40.0, 50.0],
        }
    ),
)
BEN = np.array([[10.0, 0.0, 10.0, 40.0]])


def offer_ben(*rows: tuple[float, float]):
    """What Ben is offered of a trail through rows (loan, studies), and what the model was asked."""
    asked = []

    def model(frame: pd.DataFrame) -> np.ndarray:
        asked.append(frame)
        return (frame["loan"] / 50 + (frame["studies"] == "master")).clip(0, 1).to_numpy(float)

    scorer = Scorer(model, RULED, sl.Goal(0.8))
    values = np.array([[loan, studies, 0.0, 0.0] for loan, studies in rows])
    routes, dropped = offered(
        sl.Feasible.around(RULED, BEN),
        np.array([0.2]),
        [[RULED.to_points(values)]],
        scorer,
        1,
        checked=True,
    )
    return routes[0][0], dropped, asked


def test_what_follows_is_worked_out_on_every_row_of_a_trail():
    path, _, _ = offer_ben((10.0, 1.0), (10.0, 2.0))
    assert path.values[1:].tolist() == [[10, 1, 10, 41], [10, 2, 10, 42]]
    assert path.outcome == "reached"


def test_a_level_that_hops_twice_in_one_step_is_dropped():
    path, dropped, asked = offer_ben((10.0, 2.0))
    assert (path.outcome, dropped, asked) == ("unreachable", 1, [])
    assert path.reason == "what was found breaks the rules on studies"


def test_what_changes_at_once_is_laid_as_one_step():
    path, dropped, _ = offer_ben((20.0, 0.0), (40.0, 0.0))
    assert (path.outcome, dropped) == ("reached", 0)
    assert path.values[:, 0].tolist() == [10, 40]
    path, dropped, _ = offer_ben((20.0, 1.0), (40.0, 2.0))  # which one step doesn't lead to
    assert (path.outcome, dropped) == ("unreachable", 1)


def test_time_does_not_go_back():
    path, _, _ = offer_ben((50.0, 1.0), (50.0, 0.0))
    assert path.values.tolist() == [BEN[0].tolist(), [50, 0, 2, 40]]


def test_a_row_that_can_not_be_worked_out_is_dropped_and_not_asked_about():
    path, dropped, asked = offer_ben((0.0, 0.0))
    assert (path.outcome, dropped, asked) == ("unreachable", 1, [])
    assert path.reason == "what was found breaks the rules on each"
