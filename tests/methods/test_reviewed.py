"""Promises that once didn't hold, each with the case that showed it."""

from __future__ import annotations

import json
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans

import stepladder as sl
from stepladder.errors import ModelError, ParameterError, ResultError, SchemaError
from stepladder.methods.step import scan

RNG = np.random.default_rng(0)
ROWS = pd.DataFrame({"a": RNG.normal(0, 1, 600), "b": RNG.normal(0, 1, 600)})
SCHEMA = sl.Schema([sl.Numeric("a"), sl.Numeric("b")])
GOAL = sl.Goal(threshold=0.7)


def sigmoid(rows: pd.DataFrame) -> np.ndarray:
    return 1 / (1 + np.exp(-(rows["a"].to_numpy() + rows["b"].to_numpy() - 1)))


LOW = ROWS[sigmoid(ROWS) < 0.5]


@pytest.mark.parametrize(
    "other",
    [
        sl.Numeric("a", bounds=(-9, 1)),
        sl.Numeric("a", integer=True),
        sl.Numeric("a", change="never"),
        sl.Ordinal("a", levels=[0, 1]),
    ],
)
def test_a_schema_that_differs_from_its_space_in_any_rule_is_refused(other):
    space = sl.Space.fit(SCHEMA, ROWS)
    schema = sl.Schema([other, sl.Numeric("b")])
    with pytest.raises(SchemaError, match="differ in 'a'"):
        sl.StEP().fit(ROWS, sigmoid, schema=schema, space=space, goal=GOAL)


def test_a_positive_that_the_clusterer_calls_noise_is_still_reached():
    crowd = pd.DataFrame({"x": np.linspace(5, 6, 40), "team": ["m"] * 40})
    alone = pd.DataFrame({"x": [9.0], "team": ["f"]})
    poor = pd.DataFrame({"x": np.linspace(0, 1, 20), "team": ["f"] * 20})
    train = pd.concat([crowd, alone, poor], ignore_index=True)

    def model(rows: pd.DataFrame) -> np.ndarray:
        good = np.where(rows["team"] == "m", rows["x"] >= 5, rows["x"] >= 8.9)
        return np.where(good, 0.9, 0.1)

    schema = sl.Schema([sl.Numeric("x"), sl.Categorical("team", change="never")])
    step = sl.StEP(clusterer=DBSCAN(eps=0.3)).fit(train, model, schema=schema, goal=GOAL)
    assert (step.reference_.clusters < 0).any()
    assert step.recourse(poor.head(3)).metrics()["success"][0] == 1.0


def test_only_rules_that_matter_are_blamed():
    train = pd.DataFrame({"income": RNG.normal(50, 20, 300), "age": RNG.uniform(20, 60, 300)})
    schema = sl.Schema([sl.Numeric("income"), sl.Numeric("age", change="never")])

    def model(rows: pd.DataFrame) -> np.ndarray:
        return np.where(rows["income"] > 60, 0.9, 0.1)

    step = sl.StEP().fit(train, model, schema=schema, goal=GOAL)
    poor = train[train["income"] < 40].head(5)
    assert (step.recourse(poor).status["outcome"] == "reached").all()
    status = step.recourse(poor, locked=["income"]).status
    assert (status["outcome"] == "unreachable").all()
    assert status["reason"].str.endswith("the rules on income").all()


def test_a_spent_budget_ends_the_call_at_once_and_everyone_has_an_outcome():
    step = sl.StEP().fit(ROWS, lambda rows: time.sleep(0.05) or sigmoid(rows), schema=SCHEMA)
    many = pd.concat([LOW] * 12, ignore_index=True)
    start = time.perf_counter()
    status = step.recourse(many, time_budget=0.1).status
    assert time.perf_counter() - start < 5
    assert len(status) == len(many)
    assert (status["outcome"] == "timed_out").any()


def test_a_path_number_from_a_result_frame_can_be_taken_and_saved():
    step = sl.StEP().fit(ROWS, sigmoid, schema=SCHEMA, goal=GOAL)
    best = step.recourse(LOW.head(1)).status["best_path"][0]
    walk = step.walk(LOW.head(1))
    walk.take(best)
    assert json.loads(walk.to_json())["history"][-1]["path"] == best


def test_what_a_saved_walk_says_is_checked_again():
    fixed = sl.Schema([sl.Numeric("a"), sl.Numeric("b", change="never")])
    step = sl.StEP(step_size=0.2).fit(ROWS, sigmoid, schema=fixed, goal=GOAL)
    walk = step.walk(LOW.head(1))
    walk.take(walk.directions()[0].path)
    content = json.loads(walk.to_json())
    for row in content["followed"]["rows"][1:]:
        row["b"] = 5.0
    content["history"] = []
    again = step.resume(json.dumps(content))
    assert {c.feature for offer in again.directions() for c in offer.changes} == {"a"}
    assert again.score == pytest.approx(walk.score)
    assert not again.done
    for wrong in ({"format": 99}, {"followed": {"path": 0, "rows": []}}, {"locked": ["nobody"]}):
        with pytest.raises(ResultError):
            step.resume(json.dumps({**content, **wrong}))
    other = sl.StEP().fit(ROWS, sigmoid, schema=SCHEMA, goal=GOAL)
    with pytest.raises(ResultError, match="another schema"):
        other.resume(walk.to_json())


def test_the_noise_of_one_person_is_not_that_of_another(monkeypatch):
    monkeypatch.setattr("stepladder.methods.step.method.PAIRS", 10 * len(ROWS))
    crowd = pd.concat([LOW.head(1)] * 200, ignore_index=True)
    step = sl.StEP.published(paths=1, noise=0.5).fit(ROWS, sigmoid, schema=SCHEMA, goal=GOAL)
    ends = step.recourse(crowd).final[["a", "b"]]
    assert len(ends.drop_duplicates()) == len(crowd)


def test_clusterers_that_find_their_own_number_and_those_that_are_none():
    own = AgglomerativeClustering(n_clusters=None, distance_threshold=8.0)
    step = sl.StEP(clusterer=own).fit(ROWS, sigmoid, schema=SCHEMA, goal=GOAL)
    found = step.recourse(LOW.head(4))
    assert found.final["path"].nunique() == step.reference_.clusters.max() + 1
    for wrong in (KMeans, "k-means", 3):
        with pytest.raises(ParameterError, match="clusterer must be"):
            sl.StEP(clusterer=wrong)


def test_dropped_clusters_are_the_last_resort_and_not_gone():
    near = pd.DataFrame({"x": RNG.normal(3, 0.2, 60), "team": ["m"] * 60})
    far = pd.DataFrame({"x": RNG.normal(40, 0.2, 5), "team": ["f"] * 5})
    poor = pd.DataFrame({"x": RNG.normal(0, 0.2, 60), "team": ["m"] * 57 + ["f"] * 3})
    train = pd.concat([near, far, poor], ignore_index=True)

    def model(rows: pd.DataFrame) -> np.ndarray:
        good = np.where(rows["team"] == "m", rows["x"] > 2, rows["x"] > 38)
        return np.where(good, 0.9, 0.1)

    schema = sl.Schema([sl.Numeric("x"), sl.Categorical("team", change="never")])
    step = sl.StEP(paths=1, spare_clusters=2, max_steps=200).fit(
        train, model, schema=schema, goal=GOAL
    )
    women = poor[poor["team"] == "f"]
    assert (step.recourse(women).status["outcome"] == "reached").all()


def test_a_model_that_writes_to_its_input_changes_no_path():
    def tidy(points: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-(points.sum(axis=1) - 1)))

    def untidy(points: np.ndarray) -> np.ndarray:
        scores = tidy(points)
        points *= 2
        return scores

    ends = [
        sl.StEP.published()
        .fit(ROWS, sl.encoded(model), schema=SCHEMA, goal=GOAL)
        .recourse(LOW.head(20))
        .final
        for model in (tidy, untidy)
    ]
    pd.testing.assert_frame_equal(*ends)


def test_the_same_projected_row_is_asked_about_once():
    train = pd.DataFrame({"x": RNG.normal(0, 1, 4000), "team": RNG.choice(["m", "f"], 4000)})
    schema = sl.Schema([sl.Numeric("x"), sl.Categorical("team", change="never")])

    def model(rows: pd.DataFrame) -> np.ndarray:
        return np.where(rows["team"] == "m", 0.9, 0.1)

    step = sl.StEP().fit(train, model, schema=schema, goal=GOAL)
    people = train[train["team"] == "f"].head(100)
    result = step.recourse(people)
    assert (result.status["outcome"] == "unreachable").all()
    scanned = (1 + scan.VALUES + scan.MORE) * len(people)
    assert result.asked["rows"] <= step.counts_["positives"] + scanned


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"goal": 0.7}, "goal"), ({"schema": [1]}, "schema"), ({"space": "a"}, "space")],
)
def test_what_is_not_a_goal_a_schema_or_a_space_is_named(settings, said):
    with pytest.raises(ParameterError, match=f"{said} must be a stepladder"):
        sl.StEP().fit(ROWS, sigmoid, **{"schema": SCHEMA, **settings})


def test_labels_of_a_range_goal_must_be_numbers():
    with pytest.raises(ParameterError, match="labels must be numbers"):
        sl.StEP().fit(
            ROWS,
            lambda rows: rows["a"].to_numpy(),
            schema=SCHEMA,
            goal=sl.Goal.between(0, 1),
            labels=["low"] * len(ROWS),
        )


def test_a_model_that_raises_from_now_on_blames_no_row():
    calls = []

    def tired(rows: pd.DataFrame) -> np.ndarray:
        calls.append(len(rows))
        if len(calls) > 2:
            raise RuntimeError("no more")
        return sigmoid(rows)

    step = sl.StEP().fit(ROWS, tired, schema=SCHEMA, goal=GOAL)
    with pytest.raises(ModelError, match="more than one of them"):
        step.recourse(LOW)


def test_a_weighted_feature_is_changed_less():
    def moved(step: sl.StEP) -> float:
        changed = step.fit(ROWS, sigmoid, schema=SCHEMA, goal=GOAL).recourse(LOW).final
        return float(np.abs(changed["b"] - changed["person"].map(ROWS["b"])).mean())

    usual, weighted = (
        sl.StEP(paths=1, cost="distance", distance=distance)
        for distance in ("euclidean", {"b": 10.0})
    )
    assert moved(weighted) < 0.6 * moved(usual)


def test_a_method_and_a_result_are_shown_in_one_line():
    step = sl.StEP(paths=2).fit(ROWS, sigmoid, schema=SCHEMA, goal=GOAL)
    assert repr(step) == "StEP(paths=2)"
    assert repr(sl.StEP.published(noise=0.1)) == "StEP.published(noise=0.1)"
    result = step.recourse(LOW.head(3))
    assert repr(result) == (
        "Recourse(3 people, 2 paths each, 3 of them reach a score of at least 0.7)"
    )
