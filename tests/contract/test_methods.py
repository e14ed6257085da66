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
from stepladder.methods.base import Method
from stepladder.methods.cchvae import CCHVAE
from stepladder.methods.dice import DiCE
from stepladder.methods.face import FACE
from stepladder.methods.mim import MIM

METHODS: dict[str, Callable[[], Method]] = {
    "StEP": lambda: sl.StEP(paths=2, random_state=3),
    "StEP.published": lambda: sl.StEP.published(paths=2, random_state=3),
    "StEP.published with noise": lambda: sl.StEP.published(paths=2, random_state=3, noise=0.3),
    "DiCE": lambda: DiCE(paths=2, random_state=3),
    "FACE": lambda: FACE(paths=2, random_state=3),
    "C-CHVAE": lambda: CCHVAE(paths=2, random_state=3),
    "MIM": lambda: MIM(random_state=3),
}
LEAST_SUCCESS = {"FACE": 0.3, "C-CHVAE": 0.5, "MIM": 0.0}
"""Where most people getting somewhere isn't to be expected of a method."""
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
            "age": rng.integers(4, 13, rows) * 5,
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


@pytest.fixture(scope="module", params=METHODS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def method(name: str) -> Method:
    """Fitted once for the whole suite: `recourse` leaves a method as it was."""
    return METHODS[name]().fit(TRAIN, MODEL, schema=SCHEMA, goal=sl.Goal(threshold=0.7))


@pytest.fixture(scope="module")
def result(method: Method) -> sl.Recourse:
    return method.recourse(PEOPLE)


def test_most_people_get_somewhere(name, result):
    assert result.metrics()["success"][0] >= LEAST_SUCCESS.get(name, 0.9)


def test_what_never_changes_is_untouched_to_the_last_bit(result):
    paths = result.paths.set_index("person")
    for name in ("age", "sex"):
        assert (paths[name] == PEOPLE[name].loc[paths.index]).all()


def test_an_ordinal_that_only_rises_never_falls(result):
    paths = result.paths
    grades = paths["grade"].map(GRADES.index)
    assert (grades.groupby([paths["person"], paths["path"]]).diff().fillna(0) >= 0).all()


def test_each_row_has_one_level_of_each_category(method, result):
    for routes in result.routes:
        for path in routes:
            job = path.points[:, method.space_.slices["job"]]
            assert np.isin(job, (0, 1)).all()
            assert (job.sum(axis=1) == 1).all()


def test_the_first_row_is_the_person_exactly_as_given(result):
    paths = result.paths
    first = paths[(paths["step"] == 0) & (paths["path"] == 0)].set_index("person")
    pd.testing.assert_frame_equal(
        first[PEOPLE.columns], PEOPLE, check_names=False, check_index_type=False
    )


def test_a_path_counts_as_reached_if_and_only_if_its_last_row_meets_the_goal(result):
    final = result.final
    met = MODEL.predict_proba(final[list(PEOPLE.columns)])[:, 1] >= 0.7
    assert (met == final["outcome"].isin(["reached", "already_positive"])).all()


def test_the_same_seed_gives_the_same_rows(method, result):
    pd.testing.assert_frame_equal(result.paths, method.recourse(PEOPLE).paths)


def test_nobody_is_an_empty_result(method):
    result = method.recourse(PEOPLE.head(0))
    assert len(result.final) == len(result.paths) == len(result.status) == 0


def test_one_person_is_a_result_of_one(method):
    result = method.recourse(PEOPLE.head(1))
    assert result.final["person"].tolist() == ["person 0"] * method.paths


def test_a_missing_value_is_one_persons_outcome(method):
    people = PEOPLE.copy()
    people.loc["person 3", "income"] = np.nan
    status = method.recourse(people).status.set_index("person")
    assert status.loc["person 3", "outcome"] == "missing_value"
    assert "income" in status.loc["person 3", "reason"]
    assert (status.drop("person 3")["outcome"] != "missing_value").all()
