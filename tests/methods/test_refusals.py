"""What keeps scores down: sampled Shapley values beside accepted people."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.methods import bank, linked

import stepladder as sl
from stepladder.errors import NotFittedError, ParameterError
from stepladder.methods import refusals

STEP = bank.fitted(paths=2)


def wide(found: pd.DataFrame) -> pd.DataFrame:
    """One row per person, one column per feature."""
    return found.pivot(index="person", columns="feature", values="pull")


def exact(values: np.ndarray, accepted: np.ndarray, scorer: sl.model.scorer.Scorer) -> np.ndarray:
    """(features,) one person's Shapley values, by asking about every coalition of features."""
    count = len(values)
    worth = {}
    for size in range(count + 1):
        for chosen in combinations(range(count), size):
            rows = accepted.copy()
            rows[:, list(chosen)] = values[list(chosen)]
            worth[frozenset(chosen)] = scorer.goal.margin(scorer.score(rows)).mean()
    pulls = np.zeros(count)
    for f in range(count):
        for coalition, without in worth.items():
            if f not in coalition:
                size = len(coalition)
                weight = factorial(size) * factorial(count - size - 1) / factorial(count)
                pulls[f] += weight * (worth[coalition | {f}] - without)
    return pulls


def test_one_row_per_person_and_feature_the_strongest_pull_down_first():
    found = STEP.refusals(bank.REJECTED.head(4))
    assert list(found.columns) == ["person", "feature", "pull"]
    assert found["person"].tolist() == np.repeat(bank.REJECTED.index[:4], 7).tolist()
    for _, rows in found.groupby("person"):
        assert sorted(rows["feature"]) == sorted(bank.SCHEMA.names)
        assert rows["pull"].is_monotonic_increasing
    assert (found.groupby("person")["pull"].first() < 0).all()


@pytest.mark.parametrize("people", [bank.REJECTED, bank.PEOPLE.head(30)])
def test_pulls_add_up_to_how_much_less_a_person_scores_than_accepted_people(people: pd.DataFrame):
    found = STEP.refusals(people).groupby("person")["pull"].sum()
    among = STEP.scorer_.score(STEP.background_).mean()
    np.testing.assert_allclose(found[people.index], bank.score(people) - among, atol=1e-12)


def test_the_background_is_accepted_and_evenly_spread():
    scores = STEP.scorer_.score(STEP.background_)
    assert len(scores) == refusals.ACCEPTED
    assert (np.diff(scores) >= 0).all()
    all_scores = bank.score(bank.TRAIN)
    accepted = all_scores[all_scores >= bank.GOAL.threshold]
    assert scores[0] == pytest.approx(accepted.min())
    assert scores[-1] == pytest.approx(accepted.max())
    assert scores.mean() == pytest.approx(accepted.mean(), abs=0.01)


def test_pulls_are_shapley_values_within_sampling_error():
    person = bank.REJECTED.head(1)
    values = STEP.space_.read(person)
    wanted = exact(values[0], STEP.background_, STEP.scorer_)
    found = refusals.pulls(values, STEP.background_, STEP.scorer_, seed=0)[0]
    np.testing.assert_allclose(found, wanted, atol=0.015)
    assert np.abs(wanted).max() > 0.1  # against which 0.015 is small
    assert np.argmin(found) == np.argmin(wanted)


def test_for_a_model_that_adds_up_every_order_gives_the_exact_value():
    def added_up(frame: pd.DataFrame) -> np.ndarray:
        return (frame["a"] + 2 * frame["b"] - frame["c"] + 4).to_numpy() / 10

    rows = pd.DataFrame(np.random.default_rng(0).uniform(0, 1, (80, 3)), columns=list("abc"))
    schema = sl.Schema([sl.Numeric(name) for name in "abc"])
    step = sl.StEP(paths=1).fit(rows, added_up, schema=schema, goal=sl.Goal(threshold=0.5))
    found = wide(step.refusals(rows.head(5)))
    shifts = rows.head(5) - step.background_.mean(axis=0)
    wanted = shifts * np.array([0.1, 0.2, -0.1])
    np.testing.assert_allclose(found[["a", "b", "c"]], wanted, atol=1e-12)


def test_a_person_is_told_the_same_alone_and_in_a_batch():
    together = wide(STEP.refusals(bank.PEOPLE.head(40)))
    for person in bank.PEOPLE.index[[0, 17, 39]]:
        alone = wide(STEP.refusals(bank.PEOPLE.loc[[person]]))
        np.testing.assert_allclose(alone.loc[person], together.loc[person], rtol=0, atol=1e-12)


def test_another_seed_draws_other_orders_and_the_same_seed_the_same():
    values = STEP.space_.read(bank.REJECTED.head(2))
    first, again, other = (
        refusals.pulls(values, STEP.background_, STEP.scorer_, seed) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    np.testing.assert_allclose(first, other, atol=0.03)


@pytest.mark.parametrize("features", [1, 7, 30])
def test_the_model_is_asked_about_a_bounded_number_of_rows(features: int):
    asked = [0]
    names = [f"f{i}" for i in range(features)]

    def counting(frame: pd.DataFrame) -> np.ndarray:
        asked[0] += len(frame)
        return 1 / (1 + np.exp(-frame[names].to_numpy().sum(axis=1)))

    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(300, features)), columns=names)
    schema = sl.Schema([sl.Numeric(name) for name in names])
    step = sl.StEP(paths=1).fit(rows, counting, schema=schema)
    asked[0] = 0
    step.refusals(rows.head(3))
    assert asked[0] <= 3 * (refusals.ROWS + 1) + refusals.ACCEPTED


def test_what_is_derived_follows_and_has_no_pull_of_its_own():
    step = linked.fitted()
    people = linked.REJECTED.head(6)
    found = wide(step.refusals(people))
    assert (found["loan_to_value"].abs() < 2e-3).all()  # the table has rounded it
    assert (found[["loan", "price"]].abs().max(axis=1) > 0.05).all()
    assert (found["age"].abs() > 1e-4).any()  # it isn't chosen, and yet it pulls
    among = step.scorer_.score(step.background_).mean()
    gap = linked.score(people) - among
    np.testing.assert_allclose(found.sum(axis=1)[people.index], gap, atol=1e-12)


def test_what_a_formula_does_not_explain_is_a_pull_of_the_derived_feature_itself():
    """A payment depends on the loan and on terms that no other column holds."""
    random = np.random.default_rng(0)
    rows = pd.DataFrame({"loan": random.integers(50, 150, 200).astype(float)})
    rows["payment"] = (rows["loan"] * random.uniform(5, 15, 200)).round(2)
    schema = sl.Schema(
        [
            sl.Numeric("loan", change="decrease"),
            sl.Derived("payment", "was(payment) * loan / was(loan)"),
        ]
    )
    step = sl.StEP(paths=1).fit(
        rows, lambda frame: 1 / (1 + np.exp(frame["payment"] / 200 - 5)), schema=schema
    )
    dear = pd.DataFrame({"loan": [100.0], "payment": [2000.0]})
    found = wide(step.refusals(dear)).iloc[0]
    assert found["payment"] < -0.5
    assert abs(found["loan"]) < 0.2
    assert found["payment"] < found["loan"]


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_the_frame_is_of_the_callers_kind(library: str):
    plain = bank.REJECTED.head(2).reset_index(drop=True)
    other = pl.DataFrame(plain.to_dict("list"))
    found = STEP.refusals(other if library == "polars" else other.to_arrow())
    assert isinstance(found, pl.DataFrame if library == "polars" else pa.Table)
    as_pandas = found.to_pandas()
    pd.testing.assert_frame_equal(
        as_pandas.astype({"feature": object}), STEP.refusals(plain).astype({"feature": object})
    )


def test_gaps_are_values_where_the_model_scores_them_and_no_pulls_where_not():
    gap = bank.REJECTED.head(2).astype({"debt": float})
    gap.iloc[0, gap.columns.get_loc("debt")] = np.nan
    found = wide(STEP.refusals(gap))
    assert found.iloc[0].isna().all()
    assert found.iloc[1].notna().all()

    def forgiving(frame: pd.DataFrame) -> np.ndarray:
        return bank.score(frame.assign(debt=frame["debt"].fillna(9000.0)))

    step = sl.StEP(paths=1).fit(bank.TRAIN, forgiving, schema=bank.SCHEMA, goal=bank.GOAL)
    pulls = wide(step.refusals(gap)).iloc[0]
    assert pulls["debt"] < 0
    among = step.scorer_.score(step.background_).mean()
    assert pulls.sum() == pytest.approx(forgiving(gap)[0] - among, abs=1e-12)


def test_an_invalid_row_has_no_pulls_and_stops_nobody_else():
    odd = bank.REJECTED.head(2).copy()
    odd.iloc[0, odd.columns.get_loc("income")] = -5
    found = wide(STEP.refusals(odd))
    assert found.iloc[0].isna().all()
    assert found.iloc[1].notna().all()


def test_for_a_range_of_predictions_either_side_pulls_down():
    rows = pd.DataFrame({"dose": np.linspace(0, 10, 101), "other": np.arange(101) % 7})
    schema = sl.Schema([sl.Numeric("dose"), sl.Numeric("other")])
    goal = sl.Goal.between(4, 6)
    step = sl.StEP(paths=1).fit(rows, lambda frame: frame["dose"], schema=schema, goal=goal)
    found = wide(step.refusals(rows.iloc[[5, 95]]))
    assert (found["dose"] < -3).all()
    assert (found["other"] == 0).all()


def test_private_refusals_look_at_bought_rows_alone():
    fields = [sl.Numeric("a", bounds=(0, 10)), sl.Numeric("b", bounds=(0, 10))]
    schema = sl.Schema(fields)
    rows = pd.DataFrame(np.random.default_rng(0).uniform(0, 10, (500, 2)), columns=["a", "b"])

    def model(frame: pd.DataFrame) -> np.ndarray:
        return 1 / (1 + np.exp(10 - frame["a"] - frame["b"]))

    budget = sl.Budget(epsilon=5, delta=1e-5)
    step = sl.StEP(paths=1, privacy=sl.PayOnce(budget)).fit(rows, model, schema=schema)
    made_up = {tuple(row) for row in step.reference_.values.tolist()}
    assert {tuple(row) for row in step.background_.tolist()} <= made_up
    assert (step.scorer_.score(step.background_) >= 0.5).all()
    assert (wide(step.refusals(pd.DataFrame({"a": [1.0], "b": [2.0]}))) < 0).all(axis=None)

    budget = sl.Budget(epsilon=5, delta=1e-5)
    step = sl.StEP(paths=1, privacy=sl.PayPerDirection(budget)).fit(rows, model, schema=schema)
    with pytest.raises(ParameterError, match="no accepted rows to hold a refusal against"):
        step.refusals(rows.head(1))


def test_refusals_need_a_fitted_method():
    with pytest.raises(NotFittedError):
        sl.StEP().refusals(bank.REJECTED)


def test_nobody_gives_an_empty_frame():
    assert STEP.refusals(bank.REJECTED.head(0)).empty
