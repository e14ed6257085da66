"""A path is valid if the rows a person would see keep every rule and the model accepts the last."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import stepladder as sl
from stepladder.bench import judge
from stepladder.model.scorer import Scorer
from stepladder.result.path import Outcome, Path
from stepladder.table.frames import Template

FRAME = pd.DataFrame(
    {"income": [10.0, 20.0, 30.0, 40.0], "jobs": [1, 2, 3, 4], "age": [30, 40, 50, 60]}
)
SCHEMA = sl.Schema(
    [
        sl.Numeric("income", bounds=(0, 100)),
        sl.Numeric("jobs", integer=True, change="increase"),
        sl.Numeric("age", integer=True, change="never"),
    ]
)
SPACE = sl.Space.fit(SCHEMA, FRAME)


def said_yes(frame: pd.DataFrame) -> np.ndarray:
    return (frame["income"] + 10 * frame["jobs"] >= 45).to_numpy(float)


SCORER = Scorer(said_yes, SPACE, sl.Goal(0.5))


def result(*routes: list[list[list[float]]], outcome: Outcome = Outcome.REACHED) -> sl.Recourse:
    """Paths of people through rows (income, jobs, age)."""
    made = []
    for person in routes:
        paths = []
        for rows in person:
            values = np.array(rows, dtype=float)
            scores = np.ones(len(values))
            paths.append(Path(outcome, "", values, SPACE.to_points(values), scores))
        made.append(paths)
    return sl.Recourse(
        space=SPACE,
        goal=SCORER.goal,
        template=Template.of(FRAME),
        people=np.arange(len(made)),
        routes=made,
        settings={},
        reference={},
    )


TODAY = [20.0, 2.0, 40.0]


def test_of_an_invalid_row_no_path_is_valid_and_others_are_judged_all_the_same():
    outside = result([[[900.0, 2.0, 40.0]]], outcome=Outcome.INVALID_ROW).routes
    routes = [*outside, *result([[TODAY, [30.0, 2.0, 40.0]]]).routes]
    both = replace(result(), people=np.arange(2), routes=routes)
    assert judge.valid(both, SCORER).tolist() == [[False], [True]]


@pytest.mark.parametrize(
    ("rows", "holds"),
    [
        ([TODAY, [30.0, 2.0, 40.0]], True),
        ([TODAY, [20.0, 3.0, 40.0]], True),
        ([TODAY, [30.0, 2.0, 41.0]], False),  # nobody grows older on demand
        ([TODAY, [40.0, 1.0, 40.0]], False),  # jobs only increase
        ([TODAY, [101.0, 2.0, 40.0]], False),  # out of bounds
        ([TODAY, [20.0, 2.6, 40.0]], True),  # shown as 3 jobs, which is accepted
        ([TODAY, [20.0, 2.4, 40.0]], False),  # shown as 2 jobs, which isn't
        ([TODAY, [30.0, 2.0, 41.0], [30.0, 2.0, 40.0]], False),  # broken on the way
        ([TODAY, [30.0, 2.0, 40.0 + 1e-13]], True),  # dust isn't a change
    ],
)
def test_what_holds_and_what_does_not(rows, holds):
    assert judge.valid(result([rows]), SCORER).tolist() == [[holds]]


LINKED = sl.Schema(
    [
        sl.Numeric("loan", change="decrease", multiple=10),
        sl.Numeric("price", change="never"),
        sl.Derived("ratio", "loan / price", decimals=2),
        sl.Categorical("account", levels=["none", "basic", "plus"], not_to=["none"]),
    ],
    require=["ratio >= 0.5"],
)
LOANS = pd.DataFrame(
    {
        "loan": [93.0, 80.0, 60.0],
        "price": [100.0, 100.0, 100.0],
        "ratio": [0.93, 0.8, 0.6],
        "account": ["none", "basic", "plus"],
    }
)


@pytest.mark.parametrize(
    ("end", "holds"),
    [
        ([60.0, 100.0, 0.6, 1.0], True),
        ([93.0, 100.0, 0.93, 1.0], True),  # their own loan needn't be a multiple
        ([60.0, 100.0, 0.93, 1.0], True),  # the ratio follows, whatever a method makes of it
        ([40.0, 100.0, 0.4, 1.0], False),  # below what is required
        ([60.0, 100.0, 0.6, 0.0], False),  # nobody closes their account
        ([70.0, 100.0, 0.6, 2.0], False),  # the ratio is 0.7 then, which isn't accepted
    ],
)
def test_what_follows_requirements_and_moves_are_judged(end, holds):
    def accepts(frame: pd.DataFrame) -> np.ndarray:
        return ((frame["ratio"] <= 0.6) | (frame["loan"] == 93)).to_numpy(float)

    space = sl.Space.fit(LINKED, LOANS)
    values = np.array([[93.0, 100.0, 0.93, 2.0], end])
    path = Path(Outcome.REACHED, "", values, space.to_points(values), np.ones(2))
    made = replace(
        result(), space=space, template=Template.of(LOANS), people=np.arange(1), routes=[[path]]
    )
    assert judge.valid(made, Scorer(accepts, space, sl.Goal(0.5))).tolist() == [[holds]]


def test_a_path_that_claims_nothing_is_not_valid():
    claimed = result([[TODAY, [30.0, 2.0, 40.0]]], outcome=Outcome.STALLED)
    assert not judge.valid(claimed, SCORER).any()


def test_the_row_of_a_person_holds_claims_and_what_is_true():
    good, bad = [TODAY, [30.0, 2.0, 40.0]], [TODAY, [30.0, 2.0, 50.0]]
    rows = judge.rows(result([good, bad], [bad, bad]), SCORER, np.array([0.5, np.nan]))
    assert rows["person"].tolist() == [0, 1]
    assert rows["success"].tolist() == [1, 1]
    assert rows["valid_success"].tolist() == [1, 0]
    assert rows["avg_valid_success"].tolist() == [0.5, 0]
    assert rows["sparsity"].tolist() == [1.5, 2.0]
    np.testing.assert_array_equal(rows["least_distance"], [0.5, np.nan])


@pytest.mark.parametrize(
    ("end", "held", "short"),
    [
        ([25.0, 2.0, 40.0], 0.5, 0.0),  # a yes by a hair: neither for a stricter model nor short
        ([30.0, 2.0, 40.0], 1.0, 1.0),  # still a yes at 29
        ([20.0, 3.0, 40.0], 1.0, 1.0),  # a tenth short of one whole job is that job
        ([22.0, 3.0, 40.0], 1.0, 1.0),
        ([5.0, 4.0, 40.0], 0.5, 1.0),  # less of a loss is no loss
    ],
)
def test_what_holds_when_retrained_and_a_tenth_short(end, held, short):
    def stricter(frame: pd.DataFrame) -> np.ndarray:
        return (frame["income"] + 10 * frame["jobs"] >= 50).to_numpy(float)

    successors = [SCORER, Scorer(stricter, SPACE, sl.Goal(0.5))]
    rows = judge.rows(result([[TODAY, end]]), SCORER, np.array([np.nan]), successors)
    assert rows["holds"].tolist() == [held]
    assert rows["tenth_short"].tolist() == [short]


def test_of_people_without_an_end_nothing_holds_or_falls_short():
    stuck = result([[TODAY]], outcome=Outcome.STALLED)
    rows = judge.rows(stuck, SCORER, np.array([np.nan]), [SCORER])
    assert rows[["holds", "tenth_short"]].isna().all(axis=None)


def test_nobody_to_judge():
    assert judge.rows(result(), SCORER, np.empty(0)).empty
