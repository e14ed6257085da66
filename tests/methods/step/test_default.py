"""The default planner as a whole: the easiest first, the same alone, and a yes that holds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from sklearn.linear_model import LogisticRegression
from tests.methods import bank

import stepladder as sl
from stepladder.errors import ParameterError
from stepladder.methods.pace import TimeUpError
from stepladder.methods.step import default
from stepladder.model.successors import FLAT, Successors

COUNT = 24
WEIGHTS = np.random.default_rng(0).normal(0, 1, (4, COUNT))


def successor(i: int):
    """The bank's model as it might be after retraining: other weights, another line."""
    shift = 0.35 * WEIGHTS[0, i]
    income = 1 + 0.15 * WEIGHTS[1, i]
    smiths = 0.3 * WEIGHTS[2, i]

    def model(frame: pd.DataFrame) -> np.ndarray:
        known = np.clip(bank.score(frame), 1e-12, 1 - 1e-12)
        raised = (income - 1) * frame["income"].to_numpy(float) / 20_000
        total = np.log(known / (1 - known)) + shift + raised - (income - 1) * 2
        return 1 / (1 + np.exp(-(total + smiths * (frame["job"] == "smith").to_numpy())))

    return model


MODELS = [successor(i) for i in range(COUNT)]
GOAL = bank.GOAL.threshold


def fitted(**settings) -> sl.StEP:
    step = sl.StEP(**settings)
    return step.fit(bank.TRAIN, bank.score, schema=bank.SCHEMA, goal=bank.GOAL, successors=MODELS)


@pytest.fixture(scope="module")
def holding() -> sl.StEP:
    return fitted(holds=0.9)


@pytest.fixture(scope="module")
def result(holding) -> sl.Recourse:
    return holding.recourse(bank.REJECTED)


def refusals(rows: pd.DataFrame, models: list) -> np.ndarray:
    ends = rows[list(bank.SCHEMA.names)]
    return np.stack([model(ends) < GOAL for model in models]).sum(axis=0)


def test_ends_that_are_reached_hold_by_the_half_that_is_searched_on(result):
    bank_rows = result.final[result.final["outcome"] == "reached"]
    assert len(bank_rows) > 60
    assert (refusals(bank_rows, MODELS[::2]) <= 0.1 * COUNT / 2).all()


def test_what_is_stated_comes_from_the_half_that_is_kept_back(holding, result):
    ends = result.final[result.final["outcome"].isin(["reached", "unsure"])]
    votes = COUNT // 2 - refusals(ends, MODELS[1::2])
    own: Successors = holding.successors_
    np.testing.assert_allclose(ends["holds"], own.stated(votes))
    assert own.prior != FLAT  # pooled over the paths of reference rows that are turned down


def test_routes_that_have_to_hold_do_so_more_often_than_others(result):
    usual = fitted().recourse(bank.REJECTED).final
    holding = result.final[result.final["outcome"] == "reached"]
    assert refusals(holding, MODELS[1::2]).mean() < 0.5 * refusals(usual, MODELS[1::2]).mean()
    assert holding["effort"].mean() > usual["effort"].mean()  # it isn't free


def test_by_distance_they_hold_too():
    final = fitted(holds=0.9, cost="distance").recourse(bank.REJECTED.head(10)).final
    reached = final[final["outcome"] == "reached"]
    assert len(reached) > 20
    assert (refusals(reached, MODELS[::2]) <= 0.1 * COUNT / 2).all()


def test_where_nothing_holds_the_surest_path_is_kept_and_is_no_success():
    schema = sl.Schema([sl.Numeric("a", bounds=(0, 10))])
    train = pd.DataFrame({"a": np.linspace(0, 10, 101)})

    def above(line):
        return lambda frame: 1 / (1 + np.exp(line - frame["a"].to_numpy()))

    later = [above(line) for line in np.linspace(2, 13, 16)]
    step = sl.StEP(paths=2, holds=0.9)
    step.fit(train, above(5.0), schema=schema, successors=later)
    found = step.recourse(pd.DataFrame({"a": [1.0]}))
    end = found.final[found.final["outcome"] == "unsure"].iloc[-1]
    assert found.status["outcome"].tolist() == ["unsure"]
    assert found.status["reason"][0] == "nothing was found that holds with a probability of 0.9"
    assert end["a"] > 9.9  # as far as one may go
    assert 0 < end["holds"] < 0.9
    assert found.metrics()["success"][0] == 0.0


def test_holds_takes_successors():
    with pytest.raises(ParameterError, match=r"holds=0\.9 needs successors"):
        bank.fitted(holds=0.9)


def test_without_holds_successors_state_and_change_nothing():
    stated, usual = fitted().recourse(bank.REJECTED), bank.fitted().recourse(bank.REJECTED)
    assert_frame_equal(
        stated.final.drop(columns="holds"), usual.final.drop(columns="holds"), rtol=1e-12
    )
    assert stated.final["holds"].notna().all()
    assert usual.final["holds"].isna().all()


@pytest.mark.parametrize(
    "settings",
    [{}, {"holds": 0.9}, {"slack": 0.0, "paths": 5}, {"max_changes": 1}, {"spare_clusters": 2}],
    ids=str,
)
def test_a_person_gets_the_same_alone_or_in_a_batch(settings):
    step, people = fitted(**settings), bank.REJECTED.head(10)
    together = step.recourse(people)
    for name in ("paths", "final", "changes"):
        alone = [getattr(step.recourse(people.iloc[[i]]), name) for i in range(len(people))]
        expected = pd.concat([mine for mine in alone if len(mine)], ignore_index=True)
        assert_frame_equal(getattr(together, name), expected, rtol=1e-12)


def test_people_beyond_those_advised_at_a_time_get_the_same(monkeypatch):
    step = bank.fitted()
    usual = step.recourse(bank.REJECTED).paths
    monkeypatch.setattr("stepladder.methods.step.default.ONE", 7)
    assert_frame_equal(step.recourse(bank.REJECTED).paths, usual, rtol=1e-12)


@pytest.mark.parametrize("most", [1, 2])
def test_no_path_changes_more_than_is_allowed(most):
    final = bank.fitted(max_changes=most).recourse(bank.REJECTED).final
    assert (final["outcome"] == "reached").any()
    assert final["changes"].max() == most


@pytest.mark.parametrize("cost", ["effort", "distance"])
def test_path_0_costs_no_more_than_brute_force_over_pairs_of_values(cost):
    """On a grid that is fine enough, for two numbers and a level, with slack."""
    rng = np.random.default_rng(0)
    train = pd.DataFrame(
        {"a": rng.normal(size=300), "b": rng.normal(size=300), "c": rng.choice(["x", "y"], 300)}
    )
    schema = sl.Schema([sl.Numeric("a"), sl.Numeric("b"), sl.Categorical("c", levels=["x", "y"])])

    def model(rows):
        total = 1.5 * rows["a"] + rows["b"] + 0.8 * (rows["c"] == "y") - 1
        return 1 / (1 + np.exp(-total.to_numpy()))

    step = sl.StEP(paths=3, cost=cost, slack=0).fit(train, model, schema=schema)
    people = train[model(train) < 0.4].head(12)
    final = step.recourse(people).final
    grid = np.linspace(-2, 2, 41)
    a, b, c = (side.ravel() for side in np.meshgrid(grid, grid, [0.0, 1.0]))
    cost_of = step.reference_.advice.cost
    for person in people.index:
        own = sl.Feasible.of(step.space_, people.loc[[person]])
        rows = np.stack([a, b, c], axis=1)
        rows = np.concatenate(
            [rows] + [np.where(np.arange(3) == f, own.start, rows) for f in (0, 1)]
        )
        yes = step.scorer_.met(step.scorer_.score(rows))
        least = cost_of.of(own.take(np.zeros(yes.sum(), dtype=np.intp)), rows[yes]).min()
        first = final[(final["person"] == person) & (final["path"] == 0)][cost].iloc[0]
        assert first <= 1.1 * least + 1e-9


def test_a_real_model_and_its_real_successors():
    columns = ["income", "debt", "savings", "age"]
    labels = (bank.score(bank.TRAIN) >= GOAL) ^ (np.random.default_rng(0).random(400) < 0.1)
    model = LogisticRegression(max_iter=2000).fit(bank.TRAIN[columns] / 1000, labels)
    schema = sl.Schema([bank.SCHEMA[name] for name in columns])
    train = bank.TRAIN[columns]

    class Scaled:
        """A model that can be cloned and retrained would do as well; this one is asked only."""

        def __init__(self, inner):
            self.inner = inner

        def __call__(self, frame):
            return self.inner.predict_proba(frame[columns] / 1000)[:, 1]

    retrained = sl.successors(model, train / 1000, labels, count=16, random_state=0)
    step = sl.StEP(holds=0.8)
    step.fit(train, Scaled(model), schema=schema, successors=[Scaled(one) for one in retrained])
    people = bank.PEOPLE[columns][Scaled(model)(bank.PEOPLE) < 0.5].head(10)
    final = step.recourse(people).final
    assert set(final["outcome"]) <= {"reached", "unsure"}
    reached = final[final["outcome"] == "reached"]
    fresh = sl.successors(model, train / 1000, labels, count=16, random_state=9)
    held = np.mean([Scaled(one)(reached[columns]) >= 0.5 for one in fresh])
    assert held > 0.8


def test_what_was_found_when_time_was_up_is_offered_as_one_step(monkeypatch):
    step = bank.fitted()

    def late(*_):
        raise TimeUpError

    monkeypatch.setattr(default, "offered", late)
    early = step.recourse(bank.REJECTED)
    reached = early.final["outcome"] == "reached"
    assert set(early.final["outcome"]) <= {"reached", "timed_out"}
    assert reached.groupby(early.final["person"]).any().mean() > 0.9
    assert (early.final["steps"][reached] == 1).all()
    bank.assert_sound(early, bank.REJECTED)


def test_one_person_alone_takes_few_calls():
    step = bank.fitted()
    calls = [
        step.recourse(bank.REJECTED.iloc[[i]]).asked["calls"] for i in range(len(bank.REJECTED))
    ]
    assert np.median(calls) <= 13
    assert max(calls) <= 25


def test_the_model_confirms_every_row_that_is_returned():
    shown: set[tuple[object, ...]] = set()

    def model(frame):
        last.append(frame)
        return bank.score(frame)

    last: list[pd.DataFrame] = []
    step = sl.StEP().fit(bank.TRAIN, model, schema=bank.SCHEMA, goal=bank.GOAL)
    result = step.recourse(bank.REJECTED.iloc[:5])
    for frame in last[-3:]:  # the last stage asks about whole paths, and remembers nothing
        shown |= set(frame.itertuples(index=False, name=None))
    ends = result.final[list(bank.SCHEMA.names)].itertuples(index=False, name=None)
    assert set(ends) <= shown
