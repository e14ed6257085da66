"""Whether a yes has slack, by hand and by an independent loop; what is tight, or a trifle."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier
from tests.methods import bank, linked
from tests.methods.step.advice import has_slack

import stepladder as sl
from stepladder.methods.step.cost import Cost
from stepladder.methods.step.judge import Judge
from stepladder.model.scorer import Scorer
from stepladder.table.effort import Effort
from stepladder.table.feasible import Feasible


def judge_of(schema, start: pd.DataFrame, model, *, slack=0.1, policy=()) -> Judge:
    levels = {
        f.name: list(f.levels) for f in schema.features if f.kind not in ("numeric", "derived")
    }
    frame = pd.DataFrame(
        {f.name: levels.get(f.name, [-1.0, 1.0])[:2] for f in schema.features}
    ).astype(start.dtypes)
    space = sl.Space.fit(schema, frame)
    goal = sl.Goal(0.5, policy=policy)
    cost = Cost("effort", Effort.learned(space, space.read(frame)), np.ones(space.width))
    scorer = Scorer(model, space, goal)
    own = Feasible.around(space, space.read(start, allow_missing=True), policy=scorer.policy)
    return Judge(own, scorer, cost, slack)


PLANE = sl.Schema([sl.Numeric("a"), sl.Numeric("b")])
ZERO = pd.DataFrame({"a": [0.0], "b": [0.0]})


def calm(judge: Judge, *row: float) -> bool:
    return bool(judge.calm(np.array([0]), np.array([row], dtype=float))[0])


@pytest.mark.parametrize(
    ("accepts", "expected"),
    [
        (lambda a, b: (a >= 9) & (b >= 9), True),
        (lambda a, b: (a >= 9.5) & (b >= 1), False),  # a alone is too short
        (lambda a, b: (a >= 10) == (b >= 10), False),  # one without the other
        (lambda a, b: a + b >= 18.5, False),  # both together
        (lambda a, b: (a + b >= 19) | ((a == 9) & (b == 9)), True),
    ],
)
def test_numbers_are_short_each_alone_and_all_together(accepts, expected):
    judge = judge_of(PLANE, ZERO, lambda rows: accepts(rows["a"], rows["b"]).to_numpy(float))
    assert calm(judge, 10, 10) is expected


def test_without_slack_any_yes_will_do():
    judge = judge_of(PLANE, ZERO, lambda rows: (rows["a"] == 10).to_numpy(float), slack=0.0)
    assert calm(judge, 10, 10)


@pytest.mark.parametrize(
    ("end", "accepted", "expected"),
    [
        (4, {4}, True),  # a tenth short of four things is no thing short
        (5, {5}, False),  # 4.5 is as near to 4, which is nearer to the start
        (5, {4, 5}, True),
        (10, {10}, False),
        (10, {9, 10}, True),
        (-5, {-5}, False),
        (-5, {-4, -5}, True),
        (16, {14, 16}, True),  # 14.4
        (16, {15, 16}, False),
    ],
)
@pytest.mark.parametrize("declared", [True, False])
def test_whole_numbers_fall_short_by_whole_numbers(end, accepted, expected, declared):
    schema = sl.Schema([sl.Numeric("a", integer=declared)])
    start = pd.DataFrame({"a": [0]})  # a column of whole numbers, whatever is declared
    judge = judge_of(schema, start, lambda rows: rows["a"].isin(accepted).to_numpy(float))
    assert calm(judge, end) is expected


def test_levels_and_gaps_that_are_filled_are_there_in_full():
    schema = sl.Schema(
        [sl.Numeric("a", fill=True), sl.Ordinal("e", levels=list("uvwxyz")), sl.Numeric("b")]
    )
    start = pd.DataFrame({"a": [np.nan], "e": ["u"], "b": [0.0]})

    def model(rows):
        return ((rows["a"] == 10) & (rows["e"] == "z")).to_numpy(float)

    assert calm(judge_of(schema, start, model), 10, 5, 0)


def test_what_follows_is_worked_out_anew_and_policy_counts():
    schema = sl.Schema([sl.Numeric("loan"), sl.Derived("ratio", "loan / 100", decimals=3)])
    start = pd.DataFrame({"loan": [100.0], "ratio": [1.0]})

    def by_ratio(line):
        return judge_of(schema, start, lambda rows: (rows["ratio"] <= line).to_numpy(float))

    assert calm(by_ratio(0.55), 50, 0.5)
    assert not calm(by_ratio(0.54), 50, 0.5)
    for line, expected in ((0.55, True), (0.54, False)):
        policy = [f"ratio <= {line}"]
        assert (
            calm(judge_of(schema, start, lambda r: np.ones(len(r)), policy=policy), 50, 0.5)
            is expected
        )


# ---- every end that is returned ---------------------------------------------------------------


def boosted(frame: pd.DataFrame, labels: np.ndarray, names: list[str]):
    model = GradientBoostingClassifier(n_estimators=40, random_state=0)
    model.fit(pd.get_dummies(frame[names]).astype(float), labels)
    columns = pd.get_dummies(frame[names]).columns

    def scores(rows: pd.DataFrame) -> np.ndarray:
        dummies = pd.get_dummies(rows[names]).reindex(columns=columns, fill_value=0)
        return model.predict_proba(dummies.astype(float))[:, 1]

    return scores


BANK = boosted(bank.TRAIN, bank.score(bank.TRAIN) >= 0.6, list(bank.SCHEMA.names))


def ratio(row: dict) -> dict:
    return {**row, "loan_to_value": round(row["loan"] / row["price"], 3)}


@pytest.mark.parametrize(
    "settings", [{}, {"cost": "distance"}, {"slack": 0.25}, {"max_changes": 1}]
)
@pytest.mark.parametrize("model", [bank.score, BANK], ids=["smooth", "boosted"])
def test_all_ends_but_tight_ones_are_still_a_yes_a_little_short(model, settings):
    step = sl.StEP(paths=4, **settings)
    step.fit(bank.TRAIN, model, schema=bank.SCHEMA, goal=bank.GOAL)
    people = bank.PEOPLE[model(bank.PEOPLE) < 0.6].head(25)
    final = step.recourse(people).final
    slack = settings.get("slack", 0.1)

    def says_yes(frame):
        return model(frame) >= 0.6

    reached = final[final["outcome"] == "reached"]
    assert (~reached["tight"]).sum() > 50
    for i in np.flatnonzero(~reached["tight"]):
        start, end = people.loc[[reached["person"].iloc[i]]], reached.iloc[[i]]
        assert has_slack(bank.SCHEMA, says_yes, start, end, slack), end.T


def test_ends_have_slack_where_features_follow_from_others():
    final = linked.fitted().recourse(linked.REJECTED).final

    def says_yes(frame):
        return linked.score(frame) >= linked.GOAL.threshold

    reached = final[(final["outcome"] == "reached") & ~final["tight"]]
    assert len(reached) > 50
    for i in range(len(reached)):
        start, end = linked.REJECTED.loc[[reached["person"].iloc[i]]], reached.iloc[[i]]
        assert has_slack(linked.SCHEMA, says_yes, start, end, 0.1, ratio), end.T


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    accepted=st.sets(st.integers(-9, 9), min_size=1),
    start=st.integers(-9, 9),
    cost=st.sampled_from(["effort", "distance"]),
)
def test_an_end_is_tight_only_where_there_is_none_with_slack(accepted, start, cost):
    assume(start not in accepted)
    schema = sl.Schema([sl.Numeric("a", integer=True)])
    train = pd.DataFrame({"a": np.arange(-9, 10)})

    def says_yes(frame):
        return frame["a"].isin(accepted).to_numpy()

    step = sl.StEP(paths=1, cost=cost)
    step.fit(train, lambda frame: says_yes(frame).astype(float), schema=schema)
    person = pd.DataFrame({"a": [start]})
    end = step.recourse(person).final.iloc[0]
    assert end["outcome"] == "reached"
    slack = {
        a: has_slack(schema, says_yes, person, pd.DataFrame({"a": [a]})) for a in sorted(accepted)
    }
    assert end["tight"] == (not any(slack.values()))
    if not end["tight"]:
        assert slack[end["a"]]


# ---- trifles ----------------------------------------------------------------------------------


def test_nobody_is_asked_for_what_nobody_would_notice_unless_there_is_no_other_way():
    rng = np.random.default_rng(0)
    train = pd.DataFrame({"a": rng.normal(size=400), "b": rng.normal(size=400)})
    line = 0.3

    def model(rows):
        return 1 / (1 + np.exp(-20 * (rows["a"] + 0.5 * rows["b"] - line).to_numpy()))

    near = pd.DataFrame({"a": [line - 0.005, 0.0], "b": [0.0, 2 * line - 0.01]})
    step = sl.StEP(paths=3).fit(train, model, schema=PLANE)
    changes = step.recourse(near).changes
    low, high = np.percentile(train, [2, 98], axis=0)
    usual = np.minimum(train.std(ddof=0), (high - low) / 4)
    for name in PLANE.names:
        mine = changes[changes["feature"] == name]
        moved = (mine["after"].astype(float) - mine["before"].astype(float)).abs()
        assert (moved >= 0.05 * usual[name] * (1 - 1e-6)).all()

    def narrow(rows):  # a yes lies within a hundredth
        a = rows["a"].to_numpy()
        return ((a > 0.001) & (a < 0.01)).astype(float)

    few = pd.concat([train, pd.DataFrame({"a": [0.005], "b": [0.0]})], ignore_index=True)
    only = sl.StEP(paths=1).fit(few, narrow, schema=PLANE).recourse(ZERO).final.iloc[0]
    assert only["outcome"] == "reached"
    assert 0.001 < only["a"] < 0.01


# ---- few and many -----------------------------------------------------------------------------


def counted(judge: Judge) -> list[int]:
    """The sizes of the calls from now on, as they come."""
    sizes, ask = [], judge.scorer._ask

    def noted(rows):
        sizes.append(len(rows))
        return ask(rows)

    judge.scorer._ask = noted
    return sizes


def test_few_rows_are_asked_about_with_what_they_fall_short_to_and_the_answer_is_the_same(
    monkeypatch,
):
    start = pd.DataFrame({"a": [0.0, 3.0], "b": [0.0, -2.0]})

    def model(rows):
        return ((rows["a"] * 0.7 + rows["b"] * 0.3 + np.sin(rows["a"])) > 6).to_numpy(float)

    rng = np.random.default_rng(3)
    person, rows = rng.integers(0, 2, 60), rng.uniform(0, 20, (60, 2)).round(1)
    judge = judge_of(PLANE, start, model)
    own = judge.feasible.take(person)
    sizes = counted(judge)
    together, beyond = judge.steady(own, rows)
    assert len(sizes) == 1
    monkeypatch.setattr("stepladder.methods.step.judge.ONE_CALL", 0)
    in_turn, the_same = judge.steady(own, rows)
    assert len(sizes) == 3
    assert sizes[0] > sizes[1] + sizes[2]
    np.testing.assert_array_equal(in_turn, together)
    np.testing.assert_array_equal(the_same, beyond)
    assert 5 < together.sum() < 55


def test_what_falls_short_to_itself_isnt_asked_about():
    schema = sl.Schema([sl.Numeric("a", integer=True), sl.Numeric("b")])
    judge = judge_of(schema, ZERO, lambda rows: (rows["a"] >= 4).to_numpy(float))
    sizes = counted(judge)
    assert judge.calm(np.array([0]), np.array([[4.0, 0.0]]))[0]
    assert sizes == []
