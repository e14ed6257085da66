"""Successors made by retraining: what can be cloned, on resampled rows, the same every time."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
import xgboost
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import stepladder as sl
from stepladder.errors import ColumnError, ModelError, ParameterError

RNG = np.random.default_rng(7)
N = 120
FRAME = pd.DataFrame(
    {
        "income": RNG.normal(40, 10, N).round(2),
        "debt": RNG.normal(10, 4, N).round(2),
        "job": RNG.choice(["clerk", "smith"], N),
    },
    index=[f"p{i}" for i in range(N)],
)
NUMBERS = FRAME[["income", "debt"]]
LABELS = (FRAME["income"] - 2 * FRAME["debt"] + RNG.normal(0, 5, N) > 20).to_numpy()
WORDS = np.where(LABELS, "yes", "no")


class Recorder(ClassifierMixin, BaseEstimator):
    """A model that keeps the rows, labels and random state that it was trained with."""

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, rows: Any, labels: Any) -> Recorder:
        self.rows_, self.labels_ = rows, labels
        self.classes_ = np.unique(labels)
        return self

    def predict_proba(self, rows: Any) -> np.ndarray:
        return np.full((len(rows), 2), 0.5)


def pipeline(last: Any) -> Any:
    columns = make_column_transformer(
        (StandardScaler(), ["income", "debt"]), (OneHotEncoder(), ["job"])
    )
    return make_pipeline(columns, last).fit(FRAME, WORDS)


def scored(models: list[Any], rows: Any = FRAME) -> np.ndarray:
    return np.array([model.predict_proba(rows)[:, 1] for model in models])


# ---- what is made -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "rows", "labels"),
    [
        (pipeline(LogisticRegression()), FRAME, WORDS),
        (pipeline(RandomForestClassifier(5, random_state=0)), FRAME, WORDS),
        (LogisticRegression().fit(NUMBERS.to_numpy(), LABELS), NUMBERS, LABELS),
        (xgboost.XGBClassifier(n_estimators=5, n_jobs=1).fit(NUMBERS, LABELS), NUMBERS, LABELS),
        (
            lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1).fit(NUMBERS, WORDS),
            NUMBERS,
            WORDS,
        ),
    ],
    ids=["pipeline", "forest", "no names", "xgboost", "lightgbm"],
)
def test_the_same_kind_of_model_is_retrained(model, rows, labels):
    asked = rows.to_numpy() if not hasattr(model, "feature_names_in_") else rows
    before = scored([model], asked)
    made = sl.successors(model, rows, labels, 4)
    assert [type(one) for one in made] == [type(model)] * 4
    found = scored(made, asked)
    assert len(np.unique(found, axis=0)) == 4
    assert ((found > 0.5) == (before > 0.5)).mean() > 0.8
    np.testing.assert_array_equal(scored([model], asked), before)  # which is left as it was


def test_the_same_seed_makes_the_same_models_however_many_are_asked_for():
    model = pipeline(RandomForestClassifier(5))  # which has no random state of its own
    some, more = sl.successors(model, FRAME, WORDS, 2), sl.successors(model, FRAME, WORDS, 3)
    np.testing.assert_array_equal(scored(some), scored(more)[:2])
    other = sl.successors(model, FRAME, WORDS, 2, random_state=1)
    assert (scored(some) != scored(other)).any(axis=1).all()


def test_each_has_rows_and_a_random_state_of_its_own():
    made = sl.successors(Recorder(random_state=3).fit(FRAME, WORDS), FRAME, WORDS, 3)
    assert len({model.random_state for model in made} | {3}) == 4
    by_row = {tuple(row): label for row, label in zip(FRAME.to_numpy(), WORDS, strict=True)}
    for model in made:
        assert len(model.rows_) == N
        assert 60 < len(model.rows_.drop_duplicates()) < 90  # about 0.63 of 120
        assert [by_row[tuple(row)] for row in model.rows_.to_numpy()] == model.labels_.tolist()
        assert model.rows_.index.is_unique


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas])
def test_frames_of_every_kind_are_resampled_as_they_are(kind):
    rows = kind(FRAME.reset_index(drop=True))
    made = sl.successors(Recorder(), rows, WORDS, 2)
    theirs = sl.successors(Recorder(), FRAME, WORDS, 2)
    for one, other in zip(made, theirs, strict=True):
        assert type(one.rows_) is type(rows)
        back = one.rows_.to_pandas()
        pd.testing.assert_frame_equal(back, other.rows_.reset_index(drop=True), check_dtype=False)


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(LABELS.astype(int), dtype="Int64", index=FRAME.index),
        pd.Series(WORDS, dtype="category"),
        pl.Series(WORDS.tolist()),
        pa.chunked_array([WORDS.tolist()]),
        WORDS.tolist(),
    ],
    ids=["Int64", "category", "polars", "PyArrow", "list"],
)
def test_labels_of_every_kind_are_read(labels):
    (one, _) = sl.successors(LogisticRegression(), NUMBERS, labels, 2)
    assert len(one.classes_) == 2


def test_columns_are_those_of_the_model_in_its_order():
    model = LogisticRegression().fit(FRAME[["debt", "income"]], WORDS)
    made = sl.successors(model, FRAME, WORDS, 2)
    assert made[0].feature_names_in_.tolist() == ["debt", "income"]


def test_a_resample_that_lacks_a_class_is_drawn_again():
    rare = np.array(["no"] * (N - 1) + ["yes"])
    made = sl.successors(Recorder(), FRAME, rare, 12)
    assert all(len(model.classes_) == 2 for model in made)


def test_a_regressor_has_no_classes_to_lack():
    model = LinearRegression().fit(NUMBERS, FRAME["income"])
    made = sl.successors(model, NUMBERS, np.arange(N) * 1.5, 2)
    assert made[0].coef_.tolist() != made[1].coef_.tolist()


def test_an_encoded_model_is_retrained_on_points_of_its_space():
    space = sl.Space.fit(sl.Schema.infer(FRAME), FRAME)
    model = sl.encoded(LogisticRegression().fit(space.encode(FRAME), WORDS))
    made = sl.successors(model, FRAME, WORDS, 2, space=space)
    assert [type(one) for one in made] == [type(model)] * 2
    assert made[0].model.n_features_in_ == space.width
    step = sl.StEP().fit(FRAME, model, space=space, successors=made)
    assert step.successors_.count == 1
    with pytest.raises(ParameterError, match=r"successors\(…, space=\)"):
        sl.successors(model, FRAME, WORDS, 2)


def test_progress_is_reported(capsys):
    seen = []
    sl.successors(
        Recorder(), FRAME, WORDS, 3, progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(1, 3), (2, 3), (3, 3)]
    sl.successors(Recorder(), FRAME, WORDS, 3, progress=True)
    assert "models" in capsys.readouterr().out


# ---- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        lambda frame: np.ones(len(frame)),
        torch.nn.Linear(2, 1),
        xgboost.train({"nthread": 1}, xgboost.DMatrix(NUMBERS, label=LABELS), 2),
        LogisticRegression,
        "model.skops",
    ],
    ids=["function", "torch", "Booster", "class", "file name"],
)
def test_what_cannot_be_cloned_is_to_be_retrained_by_the_caller(model):
    with pytest.raises(ModelError, match=r"can be cloned.*Retrain it yourself.*successors=…"):
        sl.successors(model, FRAME, WORDS)


def test_a_clone_that_fails_says_so():
    class Odd(Recorder):
        def __init__(self, seed: int = 0) -> None:
            self.seed = seed + 1  # which scikit-learn's clone doesn't allow

    with pytest.raises(ModelError, match=r"Odd can't be cloned: RuntimeError.*Retrain it yourself"):
        sl.successors(Odd(), FRAME, WORDS)


def test_a_model_that_cannot_be_trained_on_these_rows_says_so():
    model = make_pipeline(FunctionTransformer(), LogisticRegression())
    with pytest.raises(ModelError, match=r"LogisticRegression can't be retrained .*ValueError"):
        sl.successors(model, FRAME, WORDS)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (WORDS[:-1], r"expected \(120,\), got \(119,\)"),
        (WORDS.reshape(-1, 1), r"expected \(120,\), got \(120, 1\)"),
        (np.where(LABELS, "yes", None), "lack a value for"),
        (LABELS, "labels hold False, True, which the model .* classes are 'no', 'yes'"),
        (np.full(N, "yes"), "No row has the label 'no'"),
    ],
    ids=["short", "column", "gaps", "other classes", "one class"],
)
def test_labels_that_do_not_fit_are_answered(labels, message):
    with pytest.raises(ParameterError, match=message):
        sl.successors(pipeline(LogisticRegression()), FRAME, labels)


def test_a_model_that_was_not_trained_needs_two_classes_too():
    with pytest.raises(ParameterError, match="two classes at least"):
        sl.successors(Recorder(), FRAME, np.ones(N))


def test_classes_that_are_never_drawn_together_are_answered():
    with pytest.raises(ParameterError, match="one of the 120 classes"):
        sl.successors(Recorder(), FRAME, np.arange(N))


def test_columns_that_do_not_fit_are_answered():
    with pytest.raises(ColumnError, match=r"no column 'income', .* Did you mean 'incom'\?"):
        sl.successors(
            LogisticRegression().fit(NUMBERS, WORDS),
            NUMBERS.rename(columns={"income": "incom"}),
            WORDS,
        )
    with pytest.raises(ColumnError, match="2 columns without names, and train has 3"):
        sl.successors(LogisticRegression().fit(NUMBERS.to_numpy(), WORDS), FRAME, WORDS)


@pytest.mark.parametrize(
    "settings", [{"count": 1}, {"count": 2.0}, {"random_state": -1}, {"progress": "yes"}]
)
def test_parameters_out_of_range_are_answered(settings):
    with pytest.raises(ParameterError, match="must be"):
        sl.successors(Recorder(), FRAME, WORDS, **settings)
