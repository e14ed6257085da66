"""What users of other libraries run into (open issues of DiCE, CARLA, alibi), and we don't."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import stepladder as sl

LADDER = ["none", "school", "bachelor", "master"]
JOBS = ["clerk", "cook", "smith", "teacher"]
SCHEMA = sl.Schema(
    [
        sl.Numeric("income", bounds=(0, 120)),
        sl.Numeric("age", change="never"),
        sl.Numeric("children", integer=True, bounds=(0, 6)),
        sl.Numeric("debt", decimals=2, change="decrease", bounds=(0, None)),
        sl.Ordinal("education", levels=LADDER, change="increase"),
        sl.Categorical("job", levels=JOBS),
        sl.Categorical("sex", levels=["f", "m"], change="never"),
    ]
)
NUMBERS = ["income", "age", "children", "debt"]


def table(count: int = 400, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": rng.uniform(10, 90, count).round(1),
            "age": rng.integers(20, 70, count).astype(float),
            "children": rng.integers(0, 5, count),
            "debt": rng.uniform(0, 40, count).round(2),
            "education": rng.choice(LADDER, count),
            "job": rng.choice(JOBS, count),
            "sex": rng.choice(["f", "m"], count),
        }
    )


def worth(frame: pd.DataFrame) -> np.ndarray:
    rank = frame["education"].map({level: i for i, level in enumerate(LADDER)}).astype(float)
    trade = frame["job"].map({"clerk": 0, "cook": -8, "smith": 4, "teacher": 8}).astype(float)
    people = frame["children"].astype(float)
    return (frame["income"] + 7 * rank + trade - frame["debt"] - 3 * people).to_numpy(dtype=float)


def trained(frame: pd.DataFrame, labels: Any) -> Any:
    from sklearn.compose import make_column_transformer

    text = frame.select_dtypes(exclude="number").columns.tolist()
    columns = make_column_transformer(
        (OneHotEncoder(sparse_output=False), text), remainder="passthrough"
    )
    return make_pipeline(columns, GradientBoostingClassifier(n_estimators=40, random_state=0)).fit(
        frame, labels
    )


TRAIN = table()
LABELS = (worth(TRAIN) > 40).astype(int)


@pytest.fixture(scope="module")
def model() -> Any:
    return trained(TRAIN, LABELS)


@pytest.fixture(scope="module")
def rejected(model: Any) -> pd.DataFrame:
    people = table(60, seed=1)
    return people[model.predict_proba(people)[:, 1] < 0.7].set_index(
        np.arange(1000, 1000 + int((model.predict_proba(people)[:, 1] < 0.7).sum()))
    )


GOAL = sl.Goal(threshold=0.7)


@pytest.fixture(scope="module")
def result(model: Any, rejected: pd.DataFrame) -> sl.Recourse:
    return sl.StEP(paths=3).fit(TRAIN, model, schema=SCHEMA, goal=GOAL).recourse(rejected)


def each_path(result: sl.Recourse) -> Iterator[tuple[Any, pd.DataFrame]]:
    for (person, _), rows in result.paths.groupby(["person", "path"]):
        yield person, rows[list(SCHEMA.columns)]


# ---- the returned row is the row that was asked for -------------------------------------------


def test_rows_are_checked_after_rounding_so_they_score_what_they_say(result, model):
    paths = result.paths
    asked_again = model.predict_proba(paths[list(SCHEMA.columns)])[:, 1]
    assert asked_again == pytest.approx(paths["score"].to_numpy(), abs=0)
    reached = result.final[result.final["outcome"] == "reached"]
    assert len(reached) > 50
    assert (model.predict_proba(reached[list(SCHEMA.columns)])[:, 1] >= 0.7).all()


def test_whole_numbers_come_back_whole_and_decimals_short(result):
    assert result.paths["children"].dtype == TRAIN["children"].dtype
    assert (result.paths["debt"] == result.paths["debt"].round(2)).all()


def test_a_model_with_steps_between_whole_numbers_is_not_fooled_by_rounding():
    rng = np.random.default_rng(3)
    train = pd.DataFrame({"n": rng.integers(0, 20, 200), "x": rng.normal(size=200)})

    def steep(frame: pd.DataFrame) -> np.ndarray:
        return (frame["n"].to_numpy(dtype=float) >= 12.4).astype(float)

    step = sl.StEP(paths=2).fit(train, steep, schema=sl.Schema.infer(train))
    final = step.recourse(train[train["n"] < 12].head(20)).final
    assert set(final["outcome"]) == {"reached"}
    assert (final["n"] >= 13).all()
    assert (final["score"] == 1.0).all()


def test_the_factual_shown_is_the_input_to_the_last_digit(result, rejected):
    first = result.paths[result.paths["step"] == 0].drop_duplicates("person")
    pd.testing.assert_frame_equal(
        first.set_index("person")[list(SCHEMA.columns)],
        rejected,
        check_exact=True,
        check_names=False,
    )


def test_awkward_inputs_are_shown_as_they_are():
    rng = np.random.default_rng(0)
    train = pd.DataFrame({"a": rng.normal(1e9, 1e3, 100), "b": rng.random(100)})
    people = pd.DataFrame({"a": [1e9 + 0.1 + 0.2, 1 / 3], "b": [0.1 + 0.2, 1e-17]})
    step = sl.StEP(paths=1).fit(
        train, lambda f: (f["b"] > 0.5) * 1.0, schema=sl.Schema.infer(train)
    )
    paths = step.recourse(people).paths
    shown = paths[paths["step"] == 0][["a", "b"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(shown, people, check_exact=True)


# ---- rules are rules --------------------------------------------------------------------------


def test_every_row_of_every_path_obeys_every_rule(result, rejected):
    space = sl.Space.fit(SCHEMA, TRAIN)
    for person, rows in each_path(result):
        assert sl.Feasible.of(space, rejected.loc[[person]]).check(rows) == []


def test_ranges_and_frozen_features_are_respected(result, rejected):
    paths = result.paths
    assert paths["income"].between(0, 120).all()
    assert paths["children"].between(0, 6).all()
    for frozen in ("age", "sex"):
        assert (paths[frozen].to_numpy() == rejected[frozen].loc[paths["person"]].to_numpy()).all()


def test_nobody_is_asked_to_go_back_from_a_masters_to_a_bachelors(result, rejected):
    rank = {level: i for i, level in enumerate(LADDER)}
    masters = rejected.index[rejected["education"] == "master"]
    assert len(masters) > 3
    mine = result.paths[result.paths["person"].isin(masters)]
    assert set(mine["education"]) == {"master"}
    for _, rows in each_path(result):
        assert rows["education"].map(rank).is_monotonic_increasing


def onehot_table() -> tuple[pd.DataFrame, sl.Schema]:
    frame = TRAIN[["income", "debt"]].join(pd.get_dummies(TRAIN["job"], prefix="job"))
    groups = {"job": [f"job_{job}" for job in sorted(JOBS)]}
    return frame, sl.Schema.infer(frame, onehot=groups)


@pytest.mark.parametrize("dtype", [bool, int, float])
def test_one_hot_columns_made_before_us_are_one_category_with_a_single_level_set(dtype):
    frame, schema = onehot_table()
    frame = frame.astype({c: dtype for c in frame if c.startswith("job_")})
    model = RandomForestClassifier(30, random_state=0).fit(frame, LABELS)
    people = frame[model.predict_proba(frame)[:, 1] < 0.4].head(30)
    found = sl.StEP(paths=2).fit(frame, model, schema=schema).recourse(people)
    jobs = found.paths[[f"job_{job}" for job in JOBS]]
    assert (jobs.astype(int).sum(axis=1) == 1).all()
    assert (jobs.dtypes == frame[jobs.columns].dtypes).all()
    assert (found.final["outcome"] == "reached").all()
    assert "job" in set(found.changes["feature"])


# ---- a reason for everything ------------------------------------------------------------------


def test_there_is_no_result_without_a_reason(result, rejected):
    assert result.status["person"].tolist() == rejected.index.tolist()
    assert (result.status["reason"].str.len() > 0).all()
    assert len(result.final) == 3 * len(rejected)


def test_where_nothing_is_reachable_the_rules_that_block_are_named_at_once():
    calls = []

    def only_the_old(frame: pd.DataFrame) -> np.ndarray:
        calls.append(len(frame))
        return (frame["age"] > 60).to_numpy(dtype=float)

    step = sl.StEP(paths=3, max_steps=1000).fit(TRAIN, only_the_old, schema=SCHEMA)
    calls.clear()
    young = TRAIN[TRAIN["age"] <= 60].head(10)
    found = step.recourse(young)
    assert set(found.final["outcome"]) == {"unreachable"}
    assert found.status["reason"].str.contains("age").all()
    assert set(found.final["steps"]) == {0}
    assert len(calls) < 20


def test_some_people_may_fail_without_the_others_failing():
    people = TRAIN[LABELS == 0].head(6).astype({"children": float}).reset_index(drop=True)
    people.loc[0, "income"] = np.nan
    people.loc[1, "children"] = np.nan

    def model(frame: pd.DataFrame) -> np.ndarray:
        return np.where(frame.isna().any(axis=1), np.nan, (worth(frame) > 40) * 1.0)

    step = sl.StEP(paths=2).fit(TRAIN, model, schema=SCHEMA)
    status = step.recourse(people).status
    assert status["outcome"].tolist() == ["missing_value"] * 2 + ["reached"] * 4
    assert "income" in status["reason"][0]


# ---- any table --------------------------------------------------------------------------------


def test_categories_need_not_be_text():
    rng = np.random.default_rng(0)
    train = pd.DataFrame(
        {
            "region": rng.integers(1, 5, 200),
            "owner": rng.random(200) < 0.5,
            "grade": rng.choice([0.5, 1.5, 2.5], 200),
        }
    )
    schema = sl.Schema.infer(train, categorical=["region"], ordinal={"grade": [0.5, 1.5, 2.5]})

    def model(frame: pd.DataFrame) -> np.ndarray:
        return ((frame["region"] == 3) & frame["owner"] & (frame["grade"] > 1)).to_numpy(
            dtype=float
        )

    people = train[model(train) == 0].head(20)
    found = sl.StEP(paths=1).fit(train, model, schema=schema).recourse(people)
    assert (found.final["outcome"] == "reached").all()
    assert (found.paths[["region", "owner", "grade"]].dtypes == train.dtypes).all()
    assert model(found.final).all()


@pytest.mark.parametrize("kind", ["float64", "Int64", "int64[pyarrow]", "object", "float32"])
def test_people_may_hold_another_dtype_of_number_than_the_reference(kind):
    people = TRAIN[LABELS == 0].head(5).reset_index(drop=True)
    step = sl.StEP(paths=1).fit(TRAIN, lambda f: (worth(f) > 40) * 1.0, schema=SCHEMA)
    expected = step.recourse(people).final
    other = step.recourse(people.astype({"children": kind})).final
    assert other["children"].dtype == kind
    assert other["children"].tolist() == expected["children"].tolist()
    assert other["outcome"].tolist() == expected["outcome"].tolist()


def test_an_undeclared_numeric_column_is_a_number_however_few_values_it_has():
    train = TRAIN.assign(rate=np.resize([0.5, 1.0], len(TRAIN)))
    schema = sl.Schema.infer(train)
    assert schema["rate"].kind == schema["income"].kind == "numeric"
    many = pd.DataFrame({"x": np.arange(5000) / 7})  # as a category: 5000 columns
    assert sl.Space.fit(sl.Schema.infer(many), many).width == 1


def test_a_table_of_numbers_only_works():
    train = TRAIN[NUMBERS]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(train, LABELS)
    people = train[model.predict(train) == 0].head(10)
    step = sl.StEP(paths=2).fit(train, model, schema=sl.Schema.infer(train, never=["age"]))
    assert (step.recourse(people).final["outcome"] == "reached").all()


def test_a_table_of_categories_only_works():
    train = TRAIN[["education", "job", "sex"]]
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(
        train, train["job"].isin(["smith", "teacher"])
    )
    people = train[~model.predict(train)].head(10)
    step = sl.StEP(paths=2).fit(train, model, schema=sl.Schema.infer(train, never=["sex"]))
    final = step.recourse(people).final
    assert (final["outcome"] == "reached").all()
    assert set(final["job"]) <= {"smith", "teacher"}


def test_text_class_labels_work():
    words = np.where(LABELS == 1, "approved", "refused")
    model = trained(TRAIN, words)
    people = TRAIN[model.predict(TRAIN) == "refused"].head(10)
    step = sl.StEP(paths=1).fit(
        TRAIN, model, schema=SCHEMA, goal=sl.Goal(desired="approved"), labels=words
    )
    final = step.recourse(people).final
    assert (final["outcome"] == "reached").all()
    assert (model.predict(final[list(SCHEMA.columns)]) == "approved").all()


def test_one_of_many_classes_works():
    classes = np.digitize(worth(TRAIN), [20, 60])
    model = trained(TRAIN, classes)
    people = TRAIN[classes == 0].head(10)
    step = sl.StEP(paths=1).fit(TRAIN, model, schema=SCHEMA, goal=sl.Goal(0.6, desired=1))
    final = step.recourse(people).final
    assert (final["outcome"] == "reached").all()
    assert (model.predict_proba(final[list(SCHEMA.columns)])[:, 1] >= 0.6).all()


def test_polars_people_get_polars_results(model, rejected):
    step = sl.StEP(paths=2).fit(
        pl.from_pandas(TRAIN), lambda f: trained_on_pandas(model, f), schema=SCHEMA, goal=GOAL
    )
    found = step.recourse(pl.from_pandas(rejected.head(5)))
    assert isinstance(found.final, pl.DataFrame)
    assert found.final.select(SCHEMA.columns).schema == pl.from_pandas(rejected).schema
    assert found.final["person"].to_list() == np.repeat(np.arange(5), 2).tolist()


def trained_on_pandas(model: Any, frame: pl.DataFrame) -> np.ndarray:
    return model.predict_proba(frame.to_pandas())[:, 1]


# ---- seeds, noise and time --------------------------------------------------------------------


def smooth() -> Any:
    return lambda frame: 1 / (1 + np.exp(-(worth(frame) - 40) / 8))


@pytest.mark.parametrize("clusterer", [None, "random"])
def test_the_seed_decides_and_another_seed_decides_otherwise(clusterer):
    people = TRAIN[LABELS == 0].head(20)

    def ends(seed: int) -> pd.DataFrame:
        step = sl.StEP(paths=4, clusterer=clusterer, random_state=seed)
        return step.fit(TRAIN, smooth(), schema=SCHEMA).recourse(people).final

    pd.testing.assert_frame_equal(ends(1), ends(1), check_exact=True)
    if clusterer == "random":
        assert not ends(1).equals(ends(2))


def test_the_global_random_state_is_neither_used_nor_touched():
    people = TRAIN[LABELS == 0].head(5)
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()  # noqa: NPY002
    first = sl.StEP(spare_clusters=1).fit(TRAIN, smooth(), schema=SCHEMA).recourse(people)
    after = np.random.get_state()  # noqa: NPY002
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))
    np.random.seed(2)  # noqa: NPY002
    again = sl.StEP(spare_clusters=1).fit(TRAIN, smooth(), schema=SCHEMA).recourse(people)
    pd.testing.assert_frame_equal(first.final, again.final, check_exact=True)


def test_nothing_is_printed_and_progress_is_off_unless_asked_for(capfd):
    people = TRAIN[LABELS == 0].head(5)
    step = sl.StEP().fit(TRAIN, smooth(), schema=SCHEMA)
    step.recourse(people).metrics()
    assert capfd.readouterr() == ("", "")
    told: list[tuple[int, int]] = []
    step.recourse(people, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (5, 5)
    assert told == sorted(told)
    assert capfd.readouterr() == ("", "")


def slow(seconds: float) -> Any:
    def model(frame: pd.DataFrame) -> np.ndarray:
        time.sleep(seconds)
        return 1 / (1 + np.exp(-(worth(frame) - 40) / 8))

    return model


@pytest.mark.parametrize("published", [False, True])
def test_a_time_budget_ends_a_search_promptly_with_what_there_is(published):
    kind = sl.StEP.published if published else sl.StEP
    step = kind(paths=2, step_size=0.01, max_steps=10_000)
    step.fit(TRAIN, slow(0.05), schema=SCHEMA, goal=sl.Goal(0.95))
    people = TRAIN[LABELS == 0].head(8)
    started = time.monotonic()
    found = step.recourse(people, time_budget=0.5)
    assert time.monotonic() - started < 3
    assert len(found.final) == 16
    assert "timed_out" in set(found.status["outcome"])
    late = found.status[found.status["outcome"] == "timed_out"]
    assert late["reason"].str.contains("time budget").all()


def test_a_time_budget_that_suffices_changes_nothing():
    people = TRAIN[LABELS == 0].head(8)
    step = sl.StEP(paths=2).fit(TRAIN, smooth(), schema=SCHEMA)
    whole, limited = step.recourse(people), step.recourse(people, time_budget=600)
    pd.testing.assert_frame_equal(whole.final, limited.final, check_exact=True)


# ---- files ------------------------------------------------------------------------------------


def test_results_go_to_json_with_numpy_inside_and_come_back(tmp_path, result):
    result.save(tmp_path / "plan.json")
    content = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert sum(len(person["paths"]) for person in content["people"]) == len(result.final)
    loaded = sl.Recourse.load(tmp_path / "plan.json")
    pd.testing.assert_frame_equal(loaded.final, result.final, check_exact=True)
    pd.testing.assert_frame_equal(loaded.paths, result.paths, check_exact=True)


def test_a_goal_and_people_named_in_numpy_types_go_to_json(tmp_path):
    classes = np.digitize(worth(TRAIN), [20, 60])
    model = trained(TRAIN, classes)
    people = TRAIN[classes == 0].head(3).set_index(np.array([7, 8, 9], dtype=np.int16))
    goal = sl.Goal(np.float32(0.5), desired=np.int64(2))
    step = sl.StEP(paths=np.int64(2), step_size=np.float32(0.5), random_state=np.int32(1))
    step.fit(TRAIN, model, schema=SCHEMA, goal=goal).recourse(people).save(tmp_path / "plan.json")
    assert sl.Recourse.load(tmp_path / "plan.json").status["person"].tolist() == [7, 8, 9]


def test_results_with_gaps_in_them_go_to_json_and_come_back(tmp_path):
    people = TRAIN[LABELS == 0].head(2).reset_index(drop=True)
    people.loc[0, "income"] = np.nan
    step = sl.StEP(paths=1).fit(TRAIN, smooth(), schema=SCHEMA)
    found = step.recourse(people)
    found.save(tmp_path / "plan.json")
    json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    pd.testing.assert_frame_equal(sl.Recourse.load(tmp_path / "plan.json").final, found.final)


def test_results_go_to_csv(tmp_path, result):
    result.final.to_csv(tmp_path / "plan.csv", index=False)
    assert len(pd.read_csv(tmp_path / "plan.csv")) == len(result.final)
