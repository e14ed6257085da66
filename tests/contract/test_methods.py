"""What every method promises, whatever it does: one suite over all of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import stepladder as sl

METHODS: dict[str, Callable[[], sl.StEP]] = {
    "StEP": lambda: sl.StEP(paths=2, random_state=3),
    "StEP.published": lambda: sl.StEP.published(paths=2, random_state=3),
    "StEP.published with noise": lambda: sl.StEP.published(paths=2, random_state=3, noise=0.3),
}
SCHEMA = sl.Schema(
    [
        sl.Numeric("income"),
        sl.Numeric("years", change="increase"),
        sl.Numeric("age", change="never"),
        sl.Ordinal("grade", levels=["low", "middle", "high"], change="increase"),
        sl.Categorical("job", levels=["clerk", "nurse", "smith"]),
        sl.Categorical("sex", levels=["f", "m"], change="never"),
    ]
)
GRADES = ["low", "middle", "high"]


def table(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": rng.normal(50, 15, rows),
            "years": rng.uniform(0, 20, rows),
            "age": rng.uniform(20, 65, rows),
            "grade": rng.choice(GRADES, rows),
            "job": rng.choice(["clerk", "nurse", "smith"], rows),
            "sex": rng.choice(["f", "m"], rows),
        },
        index=[f"person {i}" for i in range(rows)],
    )


TRAIN = table(300, 0)
SAID_YES = (
    TRAIN["income"]
    + TRAIN["years"]
    + 8 * TRAIN["grade"].map(GRADES.index)
    + 6 * (TRAIN["job"] == "smith")
    > 72
)
MODEL = make_pipeline(
    make_column_transformer(
        (StandardScaler(), ["income", "years", "age"]),
        (OneHotEncoder(), ["grade", "job", "sex"]),
    ),
    LogisticRegression(),
).fit(TRAIN, SAID_YES)
PEOPLE = table(40, 1)


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest) -> sl.StEP:
    made = METHODS[request.param]()
    return made.fit(TRAIN, MODEL, schema=SCHEMA, goal=sl.Goal(threshold=0.7))


def test_most_people_get_somewhere(method):
    assert method.recourse(PEOPLE).metrics()["success"][0] > 0.9


def test_what_never_changes_is_untouched_to_the_last_bit(method):
    paths = method.recourse(PEOPLE).paths.set_index("person")
    for name in ("age", "sex"):
        assert (paths[name] == PEOPLE[name].loc[paths.index]).all()


def test_an_ordinal_that_only_rises_never_falls(method):
    paths = method.recourse(PEOPLE).paths
    grades = paths["grade"].map(GRADES.index)
    assert (grades.groupby([paths["person"], paths["path"]]).diff().fillna(0) >= 0).all()


def test_each_row_has_one_level_of_each_category(method):
    for routes in method.recourse(PEOPLE).routes:
        for path in routes:
            job = path.points[:, method.space_.slices["job"]]
            assert np.isin(job, (0, 1)).all()
            assert (job.sum(axis=1) == 1).all()


def test_the_first_row_is_the_person_exactly_as_given(method):
    paths = method.recourse(PEOPLE).paths
    first = paths[(paths["step"] == 0) & (paths["path"] == 0)].set_index("person")
    pd.testing.assert_frame_equal(
        first[PEOPLE.columns], PEOPLE, check_names=False, check_index_type=False
    )


def test_a_path_counts_as_reached_if_and_only_if_its_last_row_meets_the_goal(method):
    final = method.recourse(PEOPLE).final
    met = MODEL.predict_proba(final[list(PEOPLE.columns)])[:, 1] >= 0.7
    assert (met == final["outcome"].isin(["reached", "already_positive"])).all()


def test_the_same_seed_gives_the_same_rows(method):
    first, again = method.recourse(PEOPLE), method.recourse(PEOPLE)
    pd.testing.assert_frame_equal(first.paths, again.paths)


def test_nobody_is_an_empty_result(method):
    result = method.recourse(PEOPLE.head(0))
    assert len(result.final) == len(result.paths) == len(result.status) == 0


def test_one_person_is_a_result_of_one(method):
    result = method.recourse(PEOPLE.head(1))
    assert result.final["person"].tolist() == ["person 0", "person 0"]


def test_a_missing_value_is_one_persons_outcome(method):
    people = PEOPLE.copy()
    people.loc["person 3", "income"] = np.nan
    status = method.recourse(people).status.set_index("person")
    assert status.loc["person 3", "outcome"] == "missing_value"
    assert "income" in status.loc["person 3", "reason"]
    assert (status.drop("person 3")["outcome"] != "missing_value").all()
