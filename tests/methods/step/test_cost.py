"""What counts as easy: effort, distance, or a function of rows before and after."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pandas.testing import assert_frame_equal
from tests.methods import bank

import stepladder as sl
from stepladder.errors import ParameterError

NAMES = list(bank.SCHEMA.names)


def money(before: pd.DataFrame, after: pd.DataFrame) -> np.ndarray:
    """Income is what counts, and everything else a little."""
    other = (before[NAMES[1:]] != after[NAMES[1:]]).sum(axis=1)
    return (after["income"] - before["income"]).abs() / 1000 + 0.01 * other


def costs(result: sl.Recourse, people: pd.DataFrame) -> pd.Series:
    ends = result.final[NAMES].reset_index(drop=True)
    starts = people.loc[result.final["person"], NAMES].reset_index(drop=True)
    return money(starts, ends)


def test_a_function_of_ones_own_decides_what_comes_first():
    result = bank.fitted(cost=money).recourse(bank.REJECTED)
    bank.assert_sound(result, bank.REJECTED)
    assert (result.final["outcome"] == "reached").all()
    mine = costs(result, bank.REJECTED).to_numpy().reshape(-1, 3)
    assert (np.diff(mine, axis=1) >= -1e-12).all()
    usual = costs(bank.fitted().recourse(bank.REJECTED), bank.REJECTED).to_numpy().reshape(-1, 3)
    assert mine[:, 0].mean() < usual[:, 0].mean()
    assert result.settings["cost"] == "money"


def test_a_function_gets_frames_of_the_reference_kind_with_its_dtypes():
    seen = []

    def cost(before, after):
        seen.append((before, after))
        return np.ones(len(after))

    bank.fitted(cost=cost).recourse(bank.REJECTED.head(3))
    assert seen
    for before, after in seen:
        assert len(before) == len(after)
        for frame in (before, after):
            assert (frame.dtypes == bank.TRAIN.dtypes).all()
    seen.clear()
    step = sl.StEP(cost=cost)
    train = pl.from_pandas(bank.TRAIN)
    step.fit(train, lambda frame: bank.score(frame.to_pandas()), schema=bank.SCHEMA, goal=bank.GOAL)
    step.recourse(pl.from_pandas(bank.REJECTED.head(1)))
    assert all(isinstance(frame, pl.DataFrame) for pair in seen for frame in pair)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda before, after: 1.0, r"returned the shape \(\) for \d+ rows; expected one finite"),
        (lambda before, after: np.ones((len(after), 2)), r"returned the shape \(\d+, 2\)"),
        (lambda before, after: np.full(len(after), np.nan), "returned nan for"),
        (lambda before, after: np.full(len(after), np.inf), "returned inf for"),
        (lambda before, after: ["dear"] * len(after), "The cost function"),
    ],
)
def test_a_function_that_gives_no_number_per_row_is_told_so(answer, said):
    with pytest.raises(ParameterError, match=said):
        bank.fitted(cost=answer).recourse(bank.REJECTED.head(2))


def test_what_is_no_cost_is_refused():
    for wrong in ("money", 3, None):
        with pytest.raises(ParameterError, match="cost must be 'effort', 'distance' or a function"):
            sl.StEP(cost=wrong)


def test_by_distance_ends_are_nearer_and_by_effort_easier():
    by_effort, by_distance = (
        bank.fitted(cost=cost, slack=0).recourse(bank.REJECTED).final
        for cost in ("effort", "distance")
    )
    for column, better, other in (
        ("effort", by_effort, by_distance),
        ("distance", by_distance, by_effort),
    ):
        least, theirs = (final.groupby("person")[column].min() for final in (better, other))
        assert least.mean() < theirs.mean()


@pytest.mark.parametrize("cost", ["distance", money], ids=["distance", "function"])
def test_whatever_the_cost_a_person_gets_the_same_alone_or_in_a_batch(cost):
    step, people = bank.fitted(cost=cost), bank.REJECTED.head(12)
    together = step.recourse(people).paths
    alone = [step.recourse(people.iloc[[i]]).paths for i in range(len(people))]
    assert_frame_equal(together, pd.concat(alone, ignore_index=True), rtol=1e-12)
