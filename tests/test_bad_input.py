"""Bad input through the public API: each kind has its own error, with the facts in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import stepladder as sl
from stepladder import errors

LADDER = ["none", "school", "bachelor", "master"]
SCHEMA = sl.Schema(
    [
        sl.Numeric("income", bounds=(0, 200)),
        sl.Numeric("age", change="never"),
        sl.Numeric("children", integer=True),
        sl.Ordinal("education", levels=LADDER, change="increase"),
        sl.Categorical("job", levels=["clerk", "cook", "smith"]),
    ]
)


def rows(count: int = 80, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": rng.uniform(10, 90, count).round(1),
            "age": rng.integers(20, 70, count).astype(float),
            "children": rng.integers(0, 4, count),
            "education": rng.choice(LADDER, count),
            "job": rng.choice(["clerk", "cook", "smith"], count),
        }
    )


def model(frame: pd.DataFrame) -> np.ndarray:
    """More income and more education help; 0.5 is at 60 for somebody without any school."""
    rank = frame["education"].map({level: i for i, level in enumerate(LADDER)}).astype(float)
    return 1 / (1 + np.exp(-(frame["income"].astype(float) + 5 * rank - 60) / 10))


def fitted(by: Any = None, **settings: Any) -> sl.StEP:
    return sl.StEP(paths=2, **settings).fit(rows(), by or model, schema=SCHEMA)


def rejected(count: int = 3) -> pd.DataFrame:
    frame = rows()
    return frame[model(frame) < 0.5].head(count)


def said(kind: type[Exception], *words: str) -> Any:
    """pytest.raises of the very kind (no other of its tree), with all the words in its sentence."""

    def is_it(error: BaseException) -> bool:
        missing = [word for word in words if word not in str(error)]
        assert not missing, f"{missing} not in: {error}"
        return type(error) is kind

    return pytest.raises(kind, check=is_it)


# ---- empty ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "empty", [rows().head(0), pl.from_pandas(rows()).head(0)], ids=["pandas", "polars"]
)
def test_an_empty_reference_frame_is_refused(empty):
    with said(errors.EmptyFrameError, "no rows"):
        sl.StEP().fit(empty, model, schema=SCHEMA)


def test_an_empty_reference_frame_is_refused_also_with_a_space_from_elsewhere():
    space = sl.Space.fit(SCHEMA, rows())
    with said(errors.EmptyFrameError, "no rows"):
        sl.StEP().fit(rows().head(0), model, space=space)


@pytest.mark.parametrize(
    "nobody",
    [
        rows().head(0),
        pd.DataFrame(columns=list(SCHEMA.columns)),
        pl.from_pandas(rows()).head(0),
        pa.Table.from_pandas(rows()).slice(0, 0),
    ],
    ids=["pandas", "columns only", "polars", "pyarrow"],
)
def test_nobody_gets_an_empty_result_of_the_right_columns(nobody, tmp_path):
    result = fitted().recourse(nobody)
    for frame in (result.paths, result.final, result.changes, result.status):
        assert len(frame) == 0
    names = getattr(result.final, "column_names", None) or list(result.final.columns)
    own = ["person", "path", "outcome", "score", "distance", "steps"]
    assert names[:6] == own
    assert names[6:11] == ["changes", "effort", "months", "holds", "tight"]
    assert names[11:] == list(SCHEMA.columns)
    assert len(result.metrics()) == 1
    result.save(tmp_path / "nobody.json")
    assert len(sl.Recourse.load(tmp_path / "nobody.json").final) == 0


# ---- positives and negatives ------------------------------------------------------------------


def test_no_positives_are_reported_with_the_best_score_and_ways_out():
    best = f"{model(rows()).max() / 2:.3f}"
    with said(errors.PositivesError, "None of the 80", "at least 0.9", best, "Lower the goal"):
        sl.StEP().fit(rows(), lambda f: model(f) / 2, schema=SCHEMA, goal=sl.Goal(0.9))


def test_no_labelled_positives_are_told_from_no_positives():
    labels = (model(rows()) < 0.5).astype(int)
    with said(
        errors.PositivesError, "but none of them carries the desired label", "Leave labels out"
    ):
        sl.StEP().fit(rows(), model, schema=SCHEMA, labels=labels)


def test_labels_are_one_a_row():
    with said(errors.ParameterError, "(80,)", "(79,)"):
        sl.StEP().fit(rows(), model, schema=SCHEMA, labels=np.ones(79))


def test_where_nobody_is_turned_down_everybody_is_already_positive():
    step = sl.StEP(paths=2).fit(rows(), lambda f: np.full(len(f), 0.9), schema=SCHEMA)
    result = step.recourse(rows(5, seed=1))
    assert set(result.status["outcome"]) == {"already_positive"}
    assert result.status["reason"].str.contains("score of 0.900").all()
    assert len(result.changes) == 0
    assert set(result.final["steps"]) == {0}


def test_a_person_already_at_the_goal_is_told_so_and_left_as_they_are():
    frame = rows()
    person = frame[model(frame) >= 0.5].head(1)
    result = fitted().recourse(person)
    assert result.status["outcome"].tolist() == ["already_positive"]
    shown = result.final[list(SCHEMA.columns)].head(1)
    pd.testing.assert_frame_equal(shown.reset_index(drop=True), person.reset_index(drop=True))


def test_a_single_reference_row_is_enough_for_a_single_path():
    good = pd.DataFrame(
        [{"income": 90.0, "age": 40.0, "children": 1, "education": "master", "job": "cook"}]
    )
    space = sl.Space.fit(SCHEMA, rows())
    step = sl.StEP(paths=1).fit(good, model, schema=SCHEMA, space=space)
    assert set(step.recourse(rejected()).status["outcome"]) == {"reached"}


def test_a_single_reference_row_has_no_scale_of_its_own():
    with said(errors.ConstantError, "'income'", "(90.0)", "all 1 rows", "table in which it varies"):
        good = rows().head(1).assign(income=90.0)
        sl.StEP(paths=1).fit(good, model, schema=SCHEMA)


def test_more_clusters_than_positives_are_refused_with_the_number_there_is():
    top = np.sort(model(rows()))[-2]
    with said(errors.PositivesError, "5 paths", "only 2", "Ask for 2 at most"):
        sl.StEP(paths=5).fit(rows(), model, schema=SCHEMA, goal=sl.Goal(top))


def test_a_score_just_short_of_the_goal_is_not_said_to_be_there():
    with said(errors.PositivesError, "at least 0.7", "the nearest scores 0.69996."):
        sl.StEP().fit(rows(), lambda f: np.full(len(f), 0.69996), schema=SCHEMA, goal=sl.Goal(0.7))


# ---- columns ----------------------------------------------------------------------------------


def changed(**columns: Any) -> pd.DataFrame:
    return rejected(4).assign(**columns)


def test_a_missing_column_is_named_with_the_nearest_in_fit_and_in_recourse():
    wrong = rows().rename(columns={"education": "educaton"})
    with said(errors.ColumnError, "no column 'education'", "Did you mean 'educaton'?"):
        sl.StEP().fit(wrong, model, schema=SCHEMA)
    with said(errors.ColumnError, "no column 'age'"):
        fitted().recourse(rejected().drop(columns="age"))


def test_an_extra_column_is_set_aside_wherever_rows_are_read():
    step = sl.StEP(paths=2).fit(rows().assign(label=1), model, schema=SCHEMA)
    expected = fitted().recourse(rejected(4)).final
    found = step.recourse(changed(label="x", note=None))
    assert found.set_aside == ("label", "note")
    pd.testing.assert_frame_equal(found.final, expected)
    walk = step.walk(changed(label="x").head(1))
    assert list(walk.row.columns) == list(rows().columns)
    assert step.recourse(rejected(4)).set_aside == ()


def test_a_column_that_stands_twice_is_named():
    twice = pd.concat([rows(), rows()[["age"]]], axis=1)
    with said(errors.ColumnError, "'age' appears more than once", "Drop or rename"):
        sl.StEP().fit(twice, model, schema=SCHEMA)
    with said(errors.ColumnError, "'age' appears more than once"):
        fitted().recourse(twice.head(2))


@pytest.mark.parametrize(
    "people", [rejected().iloc[0], rejected().to_numpy(), {"income": [1]}, None]
)
def test_what_is_no_frame_is_refused(people):
    with said(errors.FrameError, "pandas, polars or PyArrow", type(people).__name__):
        fitted().recourse(people)


def test_people_need_one_label_each():
    people = rejected().set_index(pd.MultiIndex.from_tuples([(1, 2), (1, 3), (2, 2)]))
    with said(errors.FrameError, "2 levels", "reset_index"):
        fitted().recourse(people)


# ---- values -----------------------------------------------------------------------------------


def test_an_unknown_category_is_answered_with_the_nearest():
    with said(
        errors.LevelError, "'clark' isn't a level of 'job'", "Did you mean 'clerk'?", "'smith'"
    ):
        fitted().recourse(changed(job="clark"), invalid="raise")


def test_a_level_outside_the_ordinal_is_answered_with_the_nearest():
    with said(errors.LevelError, "'masters'", "'education'", "Did you mean 'master'?"):
        sl.StEP().fit(rows().replace({"education": {"master": "masters"}}), model, schema=SCHEMA)
    with said(errors.LevelError, "'masters'", "'education'"):
        fitted().recourse(changed(education="masters"), invalid="raise")


def strict(frame: pd.DataFrame) -> np.ndarray:
    """A model that can't do with a gap."""
    if frame.isna().any(axis=None):
        raise ValueError("a value is missing")
    return model(frame)


def test_reference_rows_with_a_gap_are_counted_and_are_no_positives():
    train = rows()
    train.loc[[0, 1, 2], "income"] = np.nan
    train.loc[[2, 3], "job"] = None
    step = sl.StEP(paths=2).fit(train, strict, schema=SCHEMA)
    result = step.recourse(rejected())
    whole = train.dropna()
    assert result.reference == {
        "rows": 80,
        "positives": int((model(whole) >= 0.5).sum()),
        "missing_value": 4,
    }
    assert set(result.status["outcome"]) == {"reached"}


def test_reference_rows_with_gaps_only_are_refused():
    train = rows()
    train.loc[::2, "income"] = np.nan
    train.loc[1::2, "job"] = None
    with said(errors.PositivesError, "Every one of the 80 reference rows lacks a value"):
        sl.StEP().fit(train, strict, schema=SCHEMA)


def test_a_person_with_a_gap_is_an_outcome_that_names_it_and_others_go_on():
    people = changed()
    people = people.astype({"children": float, "job": object})
    people.iloc[1, people.columns.get_indexer(["income", "job"])] = [np.nan, None]
    people.iloc[2, people.columns.get_loc("children")] = np.nan
    status = fitted(strict).recourse(people).status
    assert status["outcome"].tolist() == ["reached", "missing_value", "missing_value", "reached"]
    assert status["reason"].tolist()[1:3] == ["no value for income, job", "no value for children"]
    assert status["person"].tolist() == people.index.tolist()


@pytest.mark.parametrize("column", ["income", "job", "children", "education"])
def test_a_single_person_with_a_gap_is_shown_as_they_came(column):
    person = rejected(1).assign(**{column: None})
    result = fitted(strict).recourse(person)
    assert result.status["reason"].tolist() == [f"no value for {column}"]
    assert result.final[column].isna().all()
    assert result.final["score"].isna().all()


@pytest.mark.parametrize("odd", [np.inf, -np.inf])
def test_infinity_is_refused_by_name(odd):
    with said(errors.NotFiniteError, "'income' is infinite in 1 of 80 rows", "position 7"):
        train = rows()
        train.loc[7, "income"] = odd
        sl.StEP().fit(train, model, schema=SCHEMA)
    with said(errors.NotFiniteError, "'age'"):
        fitted().recourse(changed(age=odd), invalid="raise")


@pytest.mark.parametrize(
    "column", [["a", "b", "c", "d"], [True] * 4, pd.to_datetime(["2020-01-01"] * 4)]
)
def test_a_wrong_dtype_is_refused_by_name_with_a_way_out(column):
    with said(errors.DtypeError, "'income' is declared numeric but holds", "numbers"):
        fitted().recourse(changed(income=column))


def test_numbers_where_levels_belong_are_refused_by_name():
    with said(errors.LevelError, "3 isn't a level of 'education'", "'none'"):
        fitted().recourse(changed(education=3), invalid="raise")


def test_a_constant_column_is_refused_unless_it_never_changes():
    train = rows().assign(children=1)
    with said(errors.ConstantError, "'children'", "never changes", "drop it"):
        sl.StEP().fit(train, model, schema=SCHEMA)
    fixed = sl.Schema(
        [
            sl.Numeric("children", change="never") if f.name == "children" else f
            for f in SCHEMA.features
        ]
    )
    step = sl.StEP(paths=2).fit(train, model, schema=fixed)
    assert set(step.recourse(changed(children=1)).status["outcome"]) == {"reached"}


def test_bounds_that_a_person_already_breaks_are_refused_by_name():
    with said(errors.BoundsError, "Row 'anna'", "income = 250", "0 to 200", "Widen the bounds"):
        fitted().recourse(rejected(1).assign(income=250.0).set_axis(["anna"]), invalid="raise")


# ---- one bad row ------------------------------------------------------------------------------

UNKNOWN_JOB = (
    "'clark' isn't a level of 'job'. Did you mean 'clerk'? Known levels: 'clerk', 'cook', 'smith'. "
    "Correct the value, or add the level to the schema."
)
BAD_CELLS = {
    "job": ("clark", UNKNOWN_JOB),
    "education": (
        3,
        "3 isn't a level of 'education'. Known levels: 'none', 'school', 'bachelor', 'master'. "
        "Correct the value, or add the level to the schema.",
    ),
    "age": (np.inf, "'age' is infinite. Replace it with a number or a gap."),
    "income": (
        250.0,
        "'income' is 250, outside the schema's own bounds 0 to 200. Widen the bounds, or correct "
        "the row.",
    ),
}


@pytest.mark.parametrize("column", BAD_CELLS)
def test_one_bad_row_is_that_persons_outcome_and_others_are_answered_as_before(column):
    cell, sentence = BAD_CELLS[column]
    people, step = rejected(4).astype(object), fitted()
    expected = step.recourse(people)
    people.iloc[1, people.columns.get_loc(column)] = cell
    result = step.recourse(people)
    person = people.index[1]
    status = result.status.set_index("person")
    assert status.loc[person, ["outcome", "reason"]].tolist() == ["invalid_row", sentence]
    own = result.final["person"] == person
    assert result.final.loc[own, ["score", "distance"]].isna().all(axis=None)
    assert (result.final.loc[own, "steps"] == 0).all()
    pd.testing.assert_frame_equal(result.final[~own], expected.final[~own])


def test_a_value_that_cannot_be_read_is_missing_and_all_others_stay_as_they_came():
    people = rejected(2)
    people.iloc[0, people.columns.get_indexer(["job", "income"])] = ["clark", 250.0]
    final = fitted().recourse(people).final
    assert final["job"].isna().tolist() == [True, True, False, False]
    assert final["income"].tolist()[:2] == [250.0, 250.0]
    assert final["age"].tolist()[:2] == [people["age"].iloc[0]] * 2


def test_all_that_is_wrong_with_a_row_is_said_and_a_gap_beside_it_is_not():
    people = rejected(2)
    people.iloc[0] = [250.0, np.nan, 1, "school", "clark"]
    status = fitted().recourse(people).status
    assert status["outcome"].tolist() == ["invalid_row", "reached"]
    assert status["reason"][0] == f"{UNKNOWN_JOB} {BAD_CELLS['income'][1]}"


def test_who_would_be_accepted_but_for_the_bounds_has_an_invalid_row():
    people = rows()[model(rows()) >= 0.5].head(2).assign(income=[250.0, 90.0])
    outcomes = fitted().recourse(people).status["outcome"]
    assert outcomes.tolist() == ["invalid_row", "already_positive"]


def test_a_batch_of_nothing_but_bad_rows_asks_the_model_nothing():
    result = fitted().recourse(rejected(3).assign(job="clark"))
    assert set(result.status["outcome"]) == {"invalid_row"}
    assert result.asked["rows"] == 0
    assert result.metrics()["success"][0] == 0.0


@pytest.mark.parametrize("library", [pl.from_pandas, pa.Table.from_pandas])
def test_a_bad_row_is_an_outcome_in_frames_of_every_library(library):
    people = rejected(3).reset_index(drop=True)
    people.loc[2, "job"] = "clark"
    result = fitted().recourse(library(people))
    assert list(result.status["outcome"])[2] in ("invalid_row", pa.scalar("invalid_row"))
    assert nulls(result.final["job"]) == 2


def nulls(column: Any) -> int:
    return column.null_count if isinstance(column.null_count, int) else column.null_count()


def test_what_concerns_a_whole_column_is_an_error_whatever_is_invalid():
    people = rejected(3)
    people.iloc[0, people.columns.get_loc("job")] = "clark"
    with said(errors.ColumnError, "'age'"):
        fitted().recourse(people.drop(columns="age"))
    with said(errors.DtypeError, "'income' is declared numeric but holds"):
        fitted().recourse(people.assign(income=["a", "b", "c"]))


@pytest.mark.parametrize("odd", ["skip", None, True, ["raise"]])
def test_what_becomes_of_invalid_rows_is_one_of_two_words(odd):
    with said(errors.ParameterError, "invalid", "outcome, raise", repr(odd)):
        fitted().recourse(rejected(), invalid=odd)


def test_a_walk_from_a_bad_row_is_refused():
    step, person = fitted(), rejected(1)
    with said(errors.LevelError, "'clark'"):
        step.walk(person.assign(job="clark"))
    with said(errors.BoundsError, "'income' can't be 250"):
        step.walk(person.assign(income=250.0))


# ---- rules ------------------------------------------------------------------------------------


def test_a_schema_in_which_nothing_changes_is_refused():
    fixed = sl.Schema.infer(rows(), never=SCHEMA.names)
    with said(errors.SchemaError, "No feature", "may change", "at least one feature change"):
        sl.StEP().fit(rows(), model, schema=fixed)


def test_a_person_with_everything_locked_has_an_outcome_and_its_reason():
    status = fitted().recourse(rejected(), locked=SCHEMA.names).status
    assert set(status["outcome"]) == {"unreachable"}
    assert status["reason"].str.contains("income|education|job|children").all()


def test_a_locked_feature_that_does_not_exist_is_answered_with_the_nearest():
    with said(errors.SchemaError, "no feature 'incom'", "Did you mean 'income'?"):
        fitted().recourse(rejected(), locked=["incom"])


def test_a_fit_without_a_schema_says_how_to_get_one():
    with said(errors.SchemaError, "fit needs a schema", "sl.Schema.infer"):
        sl.StEP().fit(rows(), model)


def test_recourse_before_fit_says_so():
    with said(errors.NotFittedError, "call fit"):
        sl.StEP().recourse(rows())


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("paths", 0),
        ("paths", 2.5),
        ("paths", True),
        ("max_steps", 0),
        ("step_size", 0.0),
        ("step_size", float("nan")),
        ("step_size", "big"),
        ("random_state", -1),
        ("random_state", None),
        ("alpha", "volcano"),
        ("distance", "manhattan"),
        ("spare_clusters", -1),
    ],
)
def test_a_setting_out_of_range_is_refused_with_what_came(setting, value):
    with said(errors.ParameterError, setting, repr(value)):
        sl.StEP(**{setting: value})


@pytest.mark.parametrize("budget", [0, -1.0, float("nan"), "a minute"])
def test_a_time_budget_is_a_number_of_seconds(budget):
    with said(errors.ParameterError, "time_budget", repr(budget)):
        fitted().recourse(rejected(), time_budget=budget)


# ---- models -----------------------------------------------------------------------------------


class FailsAfter:
    """A model that answers so many times, then raises until it's mended."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def __call__(self, frame: pd.DataFrame) -> np.ndarray:
        self.left -= 1
        if self.left < 0:
            raise ConnectionError("the model server is gone")
        return model(frame)


def test_a_model_that_fails_half_way_is_reported_with_rows_and_can_be_asked_again():
    flaky = FailsAfter(10**6)
    step = sl.StEP(paths=2).fit(rows(), flaky, schema=SCHEMA)
    expected = step.recourse(rejected()).final
    for calls in (0, 1, 2, 3, 5):
        flaky.left = calls
        with said(
            errors.ModelError, "FailsAfter", "ConnectionError", "server is gone", "'income': "
        ):
            step.recourse(rejected())
        flaky.left = 10**6
        pd.testing.assert_frame_equal(step.recourse(rejected()).final, expected)


def test_a_fit_that_fails_leaves_the_old_one_standing():
    step = fitted()
    expected = step.recourse(rejected()).final
    with pytest.raises(errors.ModelError):
        step.fit(rows(seed=5), FailsAfter(0), schema=SCHEMA)
    with pytest.raises(errors.PositivesError, match="only 1 "):  # found out when clustering
        step.fit(rows(), model, schema=SCHEMA, goal=sl.Goal(model(rows()).max()))
    pd.testing.assert_frame_equal(step.recourse(rejected()).final, expected)


def test_a_model_with_nan_for_some_rows_is_reported_with_them():
    def holey(frame: pd.DataFrame) -> np.ndarray:
        return np.where(frame["job"] == "smith", np.nan, model(frame))

    with said(errors.ModelError, "holey", "returned nan", "'job': 'smith'"):
        sl.StEP().fit(rows(), holey, schema=SCHEMA)


def test_a_model_that_never_saw_a_level_raises_our_error_and_not_its_own():
    columns = rows()[["job"]]
    seen = columns[columns["job"] != "smith"]
    pipe = make_pipeline(OneHotEncoder(), LogisticRegression())
    pipe.fit(seen, np.arange(len(seen)) % 2)
    schema = sl.Schema([sl.Categorical("job", levels=["clerk", "cook", "smith"])])
    with said(errors.ModelError, "Pipeline ending in LogisticRegression", "{'job': 'smith'}"):
        sl.StEP().fit(columns, pipe, schema=schema)
