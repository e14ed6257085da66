"""Any model as a scorer, and what becomes of one that misbehaves."""

from __future__ import annotations

import pickle
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import stepladder as sl
from stepladder.errors import ModelError, ParameterError
from stepladder.model.scorer import Scorer

RNG = np.random.default_rng(7)
N = 200
FRAME = pd.DataFrame(
    {
        "income": RNG.normal(40, 10, N).round(2),
        "debt": RNG.normal(10, 4, N).round(2),
        "children": RNG.integers(0, 4, N),
    }
)
LABELS = (FRAME["income"] - 2 * FRAME["debt"] > 20).to_numpy().astype(int)
WORDS = np.where(LABELS == 1, "approved", "refused")
THREE = np.digitize(FRAME["income"], [35, 45])
CATEGORIES = FRAME.assign(job=pd.Categorical(RNG.choice(["clerk", "cook", "smith"], N)))
MIXED = FRAME.assign(job=CATEGORIES["job"].astype(str))


def scorer(model: Any, frame: Any = FRAME, goal: sl.Goal | None = None) -> Scorer:
    space = sl.Space.fit(sl.Schema.infer(frame), frame)
    return Scorer(model, space, goal or sl.Goal())


def scores(model: Any, frame: Any = FRAME, goal: sl.Goal | None = None) -> np.ndarray:
    asked = scorer(model, frame, goal)
    return asked.score(asked.space.read(frame))


def light(**settings: Any) -> Any:
    return lightgbm.LGBMClassifier(n_estimators=10, n_jobs=1, verbose=-1, **settings)


def extreme(**settings: Any) -> Any:
    return xgboost.XGBClassifier(n_estimators=10, n_jobs=1, **settings)


def logistic() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression())


# ---- kinds of models --------------------------------------------------------------------------


def test_an_estimator_is_asked_for_the_probability_of_its_second_class():
    model = LogisticRegression(max_iter=1000).fit(FRAME, LABELS)
    assert (scores(model) == model.predict_proba(FRAME)[:, 1]).all()


def test_a_pipeline_over_text_columns_gets_the_raw_frame():
    columns = make_column_transformer(
        (OneHotEncoder(), ["job"]), (StandardScaler(), ["income", "debt"]), remainder="drop"
    )
    model = make_pipeline(columns, LogisticRegression()).fit(MIXED, LABELS)
    assert (scores(model, MIXED) == model.predict_proba(MIXED)[:, 1]).all()


def test_an_estimator_trained_on_an_array_is_asked_with_an_array():
    model = RandomForestClassifier(20, random_state=0).fit(FRAME.to_numpy(), LABELS)
    assert (scores(model) == model.predict_proba(FRAME.to_numpy())[:, 1]).all()


def test_a_model_is_given_its_columns_in_the_order_it_learned_them():
    turned = FRAME[["children", "debt", "income"]]
    for model in (logistic(), light(), extreme()):
        model.fit(turned, LABELS)
        assert scores(model) == pytest.approx(model.predict_proba(turned)[:, 1])


def test_a_booster_is_given_its_columns_in_the_order_it_learned_them():
    turned = FRAME[["children", "debt", "income"]]
    booster = light().fit(turned, LABELS).booster_
    assert (scores(booster) == booster.predict(turned)).all()
    grown = extreme().fit(turned, LABELS).get_booster()
    assert (scores(grown) == grown.predict(xgboost.DMatrix(turned))).all()


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas])
def test_models_answer_about_polars_and_pyarrow_frames_as_about_pandas_ones(kind):
    for model in (
        logistic().fit(FRAME, LABELS),
        RandomForestClassifier(5, random_state=0).fit(FRAME.to_numpy(), LABELS),
        extreme().fit(FRAME, LABELS),
        light().fit(FRAME, LABELS),
        light().fit(FRAME, LABELS).booster_,
        extreme().fit(FRAME, LABELS).get_booster(),
    ):
        assert scores(model, kind(FRAME)) == pytest.approx(scores(model), abs=1e-12)


def test_xgboost_is_asked_as_estimator_and_as_booster():
    model = extreme().fit(FRAME, LABELS)
    expected = model.predict_proba(FRAME)[:, 1]
    assert scores(model) == pytest.approx(expected)
    assert scores(model.get_booster()) == pytest.approx(expected)


def test_xgboost_reads_category_dtypes():
    model = extreme(enable_categorical=True)
    model.fit(CATEGORIES, LABELS)
    expected = model.predict_proba(CATEGORIES)[:, 1]
    assert scores(model, CATEGORIES) == pytest.approx(expected)
    assert scores(model.get_booster(), CATEGORIES) == pytest.approx(expected)


@pytest.mark.parametrize("frame", [FRAME, CATEGORIES], ids=["numbers", "categories"])
def test_lightgbm_is_asked_as_estimator_and_as_booster(frame):
    model = light().fit(frame, LABELS)
    expected = model.predict_proba(frame)[:, 1]
    assert scores(model, frame) == pytest.approx(expected)
    assert scores(model.booster_, frame) == pytest.approx(expected)


def declared(*jobs: str) -> sl.Schema:
    numbers = [sl.Numeric(name, typical=(0, 50)) for name in FRAME]
    return sl.Schema([*numbers, sl.Categorical("job", levels=jobs)])


def checked(model: Any, frame: Any, schema: sl.Schema) -> np.ndarray:
    """The scores of a frame's rows in a public space, once they are seen to be the model's own."""
    asked = Scorer(model, sl.Space.from_schema(schema, frame), sl.Goal())
    scores = asked.score(asked.space.read(frame))
    asked.check_levels(frame, np.arange(len(frame)), scores)
    return scores


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
@pytest.mark.parametrize("boosted", [light, extreme])
def test_boosted_models_know_levels_by_name_in_whatever_order_a_schema_has_them(boosted, kind):
    settings = {"enable_categorical": True} if boosted is extreme else {}
    strong = np.where(CATEGORIES["job"] == "cook", 1, LABELS)
    model = boosted(**settings).fit(CATEGORIES, strong)
    expected = model.predict_proba(CATEGORIES)[:, 1]
    schema = declared("smith", "cook", "clerk")
    assert checked(model, kind(CATEGORIES), schema) == pytest.approx(expected)


def test_a_model_that_goes_by_codes_is_refused_where_a_schema_has_other_ones():
    def coded(frame: pd.DataFrame) -> np.ndarray:
        return frame["job"].cat.codes.to_numpy() / 3

    levels = CATEGORIES["job"].dtype.categories.tolist()
    assert checked(coded, CATEGORIES, declared(*levels)) == pytest.approx(coded(CATEGORIES))
    with pytest.raises(ModelError, match=r"'job' has other levels, or another order, .*Train"):
        checked(coded, CATEGORIES, declared(*levels[::-1]))
    more = CATEGORIES.assign(job=CATEGORIES["job"].cat.set_categories(["actor", *levels]))
    with pytest.raises(ModelError, match="'job' has other levels"):
        checked(coded, more, declared(*levels))


def test_a_model_that_cannot_read_the_tables_own_levels_is_asked_with_the_schemas():
    def strict(frame: pd.DataFrame) -> np.ndarray:
        if frame["job"].dtype.categories.tolist() != ["clerk", "cook", "smith"]:
            raise ValueError("another list")
        return np.full(len(frame), 0.5)

    more = CATEGORIES.assign(job=CATEGORIES["job"].cat.add_categories("actor"))
    assert (checked(strict, more, declared("clerk", "cook", "smith")) == 0.5).all()


def test_boosted_models_trained_on_arrays_are_asked_with_arrays():
    array = FRAME.to_numpy()
    boosted = light().fit(array, LABELS)
    grown = extreme().fit(array, LABELS)
    expected = boosted.booster_.predict(array)
    assert scores(boosted) == pytest.approx(expected)
    assert scores(boosted.booster_) == pytest.approx(expected)
    assert scores(grown) == pytest.approx(grown.predict_proba(array)[:, 1])
    assert scores(grown.get_booster()) == pytest.approx(scores(grown))


LEVELLED = pd.DataFrame(
    {
        "job": np.random.default_rng(1).choice(["clerk", "smith", "cook"], 200),
        "income": np.random.default_rng(2).normal(30, 8, 200).round(1),
        "rooms": np.random.default_rng(3).integers(1, 4, 200),
        "member": np.random.default_rng(4).choice([True, False], 200),
    }
)
TRAINED = LEVELLED.astype({"job": "category", "rooms": "category"})
BOUGHT = (LEVELLED["income"] + 9 * (LEVELLED["job"] == "cook") + 4 * LEVELLED["rooms"]) > 40


@pytest.mark.parametrize("kind", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_lightgbm_on_categories_is_asked_with_a_table_that_holds_them_as_text(kind):
    model = light(min_child_samples=5).fit(TRAINED, BOUGHT)
    expected = model.predict_proba(TRAINED)[:, 1]
    assert len(np.unique(expected)) > 5
    schema = sl.Schema.infer(LEVELLED, categorical=["rooms"])
    read = lightgbm.Booster(model_str=model.booster_.model_to_string())
    for asked in (model, model.booster_, read):
        for frame in (LEVELLED, LEVELLED[["income", "member", "rooms", "job"]], TRAINED):
            space = sl.Space.fit(schema, kind(frame))
            np.testing.assert_allclose(
                Scorer(asked, space, sl.Goal()).score(space.read(kind(frame))), expected
            )


def test_lightgbm_on_other_categories_than_the_tables_is_one_sentence_with_a_way_out():
    model = light().fit(TRAINED, BOUGHT)
    other = LEVELLED.assign(job=LEVELLED["job"].str.upper())
    space = sl.Space.fit(sl.Schema.infer(other, categorical=["rooms"]), other)
    with pytest.raises(
        ModelError, match=r"levels 'clerk', 'cook', 'smith'.*schema has no.*Parquet keeps it"
    ):
        Scorer(model, space, sl.Goal())


def test_lightgbm_finds_columns_whose_names_hold_spaces():
    spaced = FRAME.rename(columns={"income": "yearly income"})
    model = light().fit(spaced[["debt", "yearly income", "children"]], LABELS)
    expected = model.booster_.predict(spaced[["debt", "yearly income", "children"]])
    assert scores(model.booster_, spaced) == pytest.approx(expected)


class Net(torch.nn.Module):
    """A small network; `outputs` 1 or 2, the last with probabilities that sum to one."""

    def __init__(self, columns: int, outputs: int, dropout: float = 0.0) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.body = torch.nn.Linear(columns, 8)
        self.drop = torch.nn.Dropout(dropout)
        self.norm = torch.nn.BatchNorm1d(8)
        self.head = torch.nn.Linear(8, outputs)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        answer = self.head(self.norm(self.drop(torch.relu(self.body(rows)))))
        return torch.sigmoid(answer) if answer.shape[1] == 1 else torch.softmax(answer, dim=1)


def tensor(array: Any) -> torch.Tensor:
    return torch.tensor(np.asarray(array, dtype=np.float32))


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_torch_module_is_asked_about_raw_rows(outputs):
    net = Net(3, outputs).eval()
    expected = net(tensor(FRAME)).detach().numpy()[:, -1]
    assert scores(net) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_torch_module_is_asked_about_points(outputs):
    space = sl.Space.fit(sl.Schema.infer(MIXED), MIXED)
    net = Net(space.width, outputs).eval()
    expected = net(tensor(space.encode(MIXED))).detach().numpy()[:, -1]
    assert scores(sl.encoded(net), MIXED) == pytest.approx(expected, abs=1e-6)


def test_a_torch_module_in_double_precision_is_asked_in_it():
    net = Net(3, 1).double().eval()
    expected = net(torch.tensor(FRAME.to_numpy())).detach().numpy()[:, 0]
    assert (scores(net) == expected).all()


def test_dropout_is_off_while_scoring_and_no_flag_is_touched():
    class Watched(Net):
        """In training mode, and nobody may say otherwise."""

        def train(self, mode: bool = True) -> Watched:
            assert mode or self is not net, "its mode was changed under its owner's feet"
            return super().train(mode)

    net: Net = Watched(3, 1, dropout=0.5)
    net.norm.training = False  # frozen, as in fine-tuning
    first, second = scores(net), scores(net)
    assert (first == second).all()
    assert (net.training, net.drop.training, net.norm.training) == (True, True, False)


def test_a_torch_module_that_learns_on_is_asked_as_it_is_now():
    net = Net(3, 1).train()
    asked = scorer(net)
    values = asked.space.read(FRAME)
    before = asked.score(values)
    with torch.no_grad():
        net.head.bias += 1.0
    assert (asked.score(values) > before).all()


def test_a_torch_module_that_cannot_be_copied_has_to_be_in_evaluation_mode():
    class Single(Net):
        def __deepcopy__(self, memo: dict[int, Any]) -> Single:
            raise TypeError("there can be only one")

    with pytest.raises(ModelError, match=r"only one.*Call its eval"):
        scorer(Single(3, 1).train())
    assert len(scores(Single(3, 1).eval())) == N


def test_a_torch_module_that_raises_is_named():
    class Broken(torch.nn.Module):
        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            raise ValueError("no")

    with pytest.raises(ModelError, match="Broken raised ValueError: no"):
        scores(Broken())


def test_a_function_of_a_frame_is_a_model():
    def rule(rows: pd.DataFrame) -> pd.Series:
        return (rows["income"] > 40).astype(float)

    assert scores(rule).tolist() == (FRAME["income"] > 40).astype(float).tolist()


def test_a_function_may_answer_with_flags_with_a_list_or_with_a_column():
    expected = (FRAME["debt"] < 9).to_numpy()
    for answer in (
        lambda rows: rows["debt"] < 9,
        lambda rows: (rows["debt"] < 9).tolist(),
        lambda rows: rows[["debt"]] < 9,
    ):
        assert (scores(answer) == expected).all()


def test_a_model_trained_on_points_is_marked_so():
    space = sl.Space.fit(sl.Schema.infer(MIXED), MIXED)
    points = space.encode(MIXED)
    model = LogisticRegression().fit(points, LABELS)
    assert (scores(sl.encoded(model), MIXED) == model.predict_proba(points)[:, 1]).all()


def test_points_that_are_no_rows_are_scored_as_they_are_by_a_model_of_points():
    space = sl.Space.fit(sl.Schema.infer(MIXED), MIXED)
    model = LogisticRegression().fit(space.encode(MIXED), LABELS)
    between = space.encode(MIXED)[:5] + 0.123
    asked = Scorer(sl.encoded(model), space, sl.Goal())
    assert (asked.score_points(between) == model.predict_proba(between)[:, 1]).all()


def test_a_search_over_settings_is_asked_as_its_best_estimator():
    model = GridSearchCV(logistic(), {"logisticregression__C": [0.1, 1.0]}).fit(FRAME, LABELS)
    assert (scores(model) == model.predict_proba(FRAME)[:, 1]).all()


@pytest.mark.parametrize("kind", [RidgeClassifier, SVC])
def test_a_classifier_that_only_predicts_scores_nought_or_one(kind):
    model = kind().fit(FRAME, WORDS)
    wanted = scores(model, goal=sl.Goal(desired="approved"))
    assert wanted.tolist() == (model.predict(FRAME) == "approved").tolist()
    assert scores(model).tolist() == (model.predict(FRAME) == "refused").tolist()


def test_a_model_sees_the_columns_dtypes_and_order_it_was_trained_on():
    seen = []

    def spy(rows: pd.DataFrame) -> np.ndarray:
        seen.append(rows)
        return np.zeros(len(rows))

    scores(spy, CATEGORIES)
    pd.testing.assert_frame_equal(seen[0], CATEGORIES)


def test_rows_are_asked_about_in_the_parts_they_are_cut_into():
    seen = []
    asked = scorer(lambda rows: (seen.append(len(rows)), rows["income"] / 1e6)[1])
    values = asked.space.read(FRAME)
    cut = asked.in_parts(lambda count: [slice(0, 3), slice(3, count)])
    assert (cut.score(values) == asked.score(values)).all()
    assert seen == [3, N - 3, N]


@pytest.mark.parametrize(
    "model",
    [
        logistic().fit(FRAME, LABELS),
        light().fit(FRAME, LABELS),
        extreme().fit(FRAME, LABELS).get_booster(),
        sl.encoded(RandomForestClassifier(3, random_state=0).fit(FRAME.to_numpy(), LABELS)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_scorer_can_be_sent_to_another_process(model):
    asked = scorer(model)
    values = asked.space.read(FRAME)
    assert (pickle.loads(pickle.dumps(asked)).score(values) == asked.score(values)).all()


# ---- goals ------------------------------------------------------------------------------------


def test_text_labels_name_the_desired_class():
    model = logistic().fit(FRAME, WORDS)
    assert (
        scores(model, goal=sl.Goal(desired="approved")) == model.predict_proba(FRAME)[:, 0]
    ).all()
    assert scorer(model, goal=sl.Goal(desired="approved")).desired == ("approved",)
    assert scorer(model).desired == ("refused",)  # the second in the order of the alphabet


def test_one_of_many_classes_is_named():
    model = logistic().fit(FRAME, THREE)
    for desired in (0, 1, 2, np.int64(2)):
        expected = model.predict_proba(FRAME)[:, desired]
        assert (scores(model, goal=sl.Goal(desired=desired)) == expected).all()


def test_one_of_many_columns_of_a_module_or_booster_is_named_by_number():
    net = Net(3, 3).eval()
    expected = net(tensor(FRAME)).detach().numpy()
    for desired in (0, 2, np.int64(1)):
        goal = sl.Goal(desired=desired)
        assert scores(net, goal=goal) == pytest.approx(expected[:, desired], abs=1e-6)
    booster = extreme().fit(FRAME, THREE).get_booster()
    expected = booster.predict(xgboost.DMatrix(FRAME))
    assert scores(booster, goal=sl.Goal(desired=1)) == pytest.approx(expected[:, 1])


@pytest.mark.parametrize(
    "model",
    [
        logistic().fit(FRAME, THREE),
        light().fit(FRAME, THREE),
        light().fit(FRAME, THREE).booster_,
        extreme().fit(FRAME, THREE),
        extreme().fit(FRAME, THREE).get_booster(),
        Net(3, 3).eval(),
        lambda rows: np.stack([rows["income"] / 100, *[0.5 - rows["income"] / 200] * 2], axis=1),
    ],
    ids=["sklearn", "lightgbm", "lightgbm-own", "xgboost", "xgboost-own", "torch", "function"],
)
def test_several_classes_score_the_sum_of_theirs(model):
    first, second, last = (scores(model, goal=sl.Goal(desired=c)) for c in range(3))
    assert scores(model, goal=sl.Goal(desired=[0, 2])) == pytest.approx(first + last, abs=1e-6)
    assert scores(model, goal=sl.Goal(desired=(2, 1))) == pytest.approx(second + last, abs=1e-6)
    with pytest.raises(ModelError, match="3"):
        scores(model, goal=sl.Goal(desired=[0, 3]))


def test_a_classifier_that_only_predicts_scores_one_for_any_desired_class():
    words = np.where(LABELS == 1, "yes", np.where(FRAME["income"] > 40, "partly", "no"))
    model = RidgeClassifier().fit(FRAME, words)
    found = scores(model, goal=sl.Goal(desired=["yes", "partly"]))
    assert found.tolist() == (model.predict(FRAME) != "no").tolist()
    assert len(set(model.predict(FRAME))) == 3


def test_of_several_classes_the_unknown_one_is_answered_with_the_nearest():
    model = logistic().fit(FRAME, WORDS)
    with pytest.raises(ModelError, match=r"no class 'refusd'\. Did you mean 'refused'\?"):
        scorer(model, goal=sl.Goal(desired=["approved", "refusd"]))


def test_a_label_of_any_desired_class_is_desired():
    words = np.where(LABELS == 1, "yes", np.where(FRAME["income"] > 40, "partly", "no"))
    model = logistic().fit(FRAME, words)
    asked = scorer(model, goal=sl.Goal(desired=["yes", "partly"]))
    assert asked.desired == ("yes", "partly")
    assert asked.is_desired(words).tolist() == (words != "no").tolist()
    with pytest.raises(ParameterError, match="classes 'yes', 'partly'; the labels are '0', '1'"):
        asked.is_desired(LABELS)


@pytest.mark.parametrize(
    "model",
    [
        Net(3, 1).eval(),
        extreme().fit(FRAME, LABELS).get_booster(),
        light().fit(FRAME, LABELS).booster_,
    ],
    ids=["torch", "xgboost", "lightgbm"],
)
def test_a_single_output_is_the_second_class_and_the_rest_the_first(model):
    plain = scores(model)
    assert (scores(model, goal=sl.Goal(desired=1)) == plain).all()
    assert scores(model, goal=sl.Goal(desired=0)) == pytest.approx(1 - plain)
    assert (scores(model, goal=sl.Goal(desired=[0, 1])) == 1).all()
    for desired in ("approved", [1, "approved"]):
        with pytest.raises(ModelError, match=r"single output.*no class 'approved'"):
            scores(model, goal=sl.Goal(desired=desired))


def test_a_range_of_predictions_is_a_goal():
    model = LinearRegression().fit(FRAME, FRAME["income"] * 2)
    asked = scorer(model, goal=sl.Goal.between(70, 90))
    found = asked.score(asked.space.read(FRAME))
    assert found == pytest.approx(2 * FRAME["income"])
    assert asked.met(found).tolist() == FRAME["income"].between(35, 45).tolist()


def test_labels_are_compared_with_the_desired_class():
    model = logistic().fit(FRAME, WORDS)
    asked = scorer(model, goal=sl.Goal(desired="approved"))
    assert asked.is_desired(WORDS).tolist() == (WORDS == "approved").tolist()
    with pytest.raises(
        ParameterError, match=r"'approved'; the labels are '0', '1'\. Say which of them"
    ):
        asked.is_desired(LABELS)


# ---- models that misbehave --------------------------------------------------------------------


def answered(answer: Any, goal: sl.Goal | None = None) -> str:
    """The sentence that a model with this answer is reported in."""

    def model(rows: pd.DataFrame) -> Any:
        return answer(rows)

    with pytest.raises(ModelError) as caught:
        scores(model, goal=goal)
    return str(caught.value)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("goal", [sl.Goal(), sl.Goal.between(0, 1)])
def test_an_answer_that_is_no_number_is_reported_with_its_rows(odd, goal):
    said = answered(lambda rows: np.where(rows["income"] == FRAME["income"][5], odd, 0.5), goal)
    assert f"returned {odd} for 1 of {N} rows" in said
    assert f"'income': {FRAME['income'][5]}" in said


@pytest.mark.parametrize(
    ("answer", "shape"),
    [
        (lambda rows: np.zeros(len(rows) - 1), f"({N - 1},)"),
        (lambda rows: 0.5, "()"),
        (lambda rows: np.zeros((len(rows), 2, 1)), f"({N}, 2, 1)"),
        (lambda rows: np.zeros((1, len(rows))), f"{N} columns"),
        (lambda rows: None, "()"),
    ],
)
def test_an_answer_of_the_wrong_shape_is_reported_with_both_shapes(answer, shape):
    said = answered(answer)
    assert shape in said


def test_the_row_that_a_model_raises_on_is_found_and_shown():
    asked_about = []

    def model(rows: pd.DataFrame) -> np.ndarray:
        asked_about.append(len(rows))
        if (rows["debt"] == FRAME["debt"][123]).any():
            raise KeyError("odd debt")
        return np.zeros(len(rows))

    with pytest.raises(ModelError, match="model raised KeyError: 'odd debt'") as caught:
        scores(model)
    said = str(caught.value)
    assert "this row: {" in said
    assert f"'debt': {FRAME['debt'][123]}" in said
    assert len(asked_about) <= 2 * np.ceil(np.log2(N)) + 1
    assert isinstance(caught.value.__cause__, KeyError)


def test_rows_that_only_fail_together_are_counted_and_a_few_shown():
    def model(rows: pd.DataFrame) -> np.ndarray:
        if len(rows) > 100:
            raise MemoryError("too many")
        return np.zeros(len(rows))

    with pytest.raises(ModelError, match=f"{N} rows together: .*and {N - 3} more"):
        scores(model)


def test_a_model_of_points_that_raises_is_shown_with_raw_rows():
    def model(points: np.ndarray) -> np.ndarray:
        raise ValueError("no")

    with pytest.raises(ModelError, match=r"such as \{'income'"):
        scores(sl.encoded(model))


@pytest.mark.parametrize("odd", [1.5, -0.2])
def test_an_answer_that_is_no_probability_is_reported_with_a_way_out(odd):
    said = answered(lambda rows: np.full(len(rows), odd))
    assert f"returned {odd:g}" in said
    assert "from 0 to 1" in said
    assert "Goal.between" in said


def test_answers_in_words_are_reported():
    said = answered(lambda rows: np.full(len(rows), "yes"))
    assert "'yes'" in said
    assert "isn't a number" in said


def test_an_unknown_class_is_answered_with_the_nearest():
    model = logistic().fit(FRAME, WORDS)
    with pytest.raises(
        ModelError, match=r"no class 'aproved'. Did you mean 'approved'\?.*'refused'"
    ):
        scorer(model, goal=sl.Goal(desired="aproved"))


def test_many_classes_need_a_desired_one():
    model = logistic().fit(FRAME, THREE)
    with pytest.raises(ModelError, match=r"knows 3 classes, .*\. Say which of them is desired\."):
        scorer(model)


def test_many_unnamed_columns_need_a_desired_one():
    with pytest.raises(ModelError, match=r"returns 3 columns.*by its number, 0 to 2\."):
        scores(Net(3, 3).eval())


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(max_iter=1000).fit(FRAME[["income", "debt"]].to_numpy(), LABELS),
        extreme().fit(FRAME[["income", "debt"]].to_numpy(), LABELS).get_booster(),
        light().fit(FRAME[["income", "debt"]].to_numpy(), LABELS).booster_,
    ],
    ids=["sklearn", "xgboost", "lightgbm"],
)
def test_a_model_of_other_columns_is_refused_with_both_numbers(model):
    with pytest.raises(
        ModelError, match=r"trained on 2 columns but would be given 3\..*encoded points"
    ):
        scorer(model)


def test_a_model_of_a_column_that_the_schema_lacks_is_answered_with_the_nearest():
    model = logistic().fit(FRAME.rename(columns={"debt": "debts"}), LABELS)
    with pytest.raises(ModelError, match=r"needs 'debts', .* Did you mean 'debt'\?"):
        scorer(model)


TWO = FRAME[["income", "debt"]]


@pytest.mark.parametrize(
    "model",
    [
        logistic().fit(TWO.assign(years=1.0), LABELS),
        extreme().fit(TWO.assign(years=1.0), LABELS).get_booster(),
        light().fit(TWO.assign(years=1.0), LABELS).booster_,
    ],
    ids=["sklearn", "xgboost", "lightgbm"],
)
def test_a_model_of_other_columns_is_refused_with_their_names(model):
    needs = "it needs 'years', which the schema doesn't name, and doesn't know 'children', which"
    with pytest.raises(ModelError, match=needs):
        scorer(model)


def test_a_model_of_fewer_columns_says_which_it_does_not_know():
    with pytest.raises(ModelError, match=r"other columns: it doesn't know 'children', which"):
        scorer(logistic().fit(TWO, LABELS))


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        logistic(),
        light(),
        extreme(),
        RidgeClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore:This Pipeline instance is not fitted:FutureWarning")
def test_a_model_that_was_never_fitted_is_reported_by_name(model):
    with pytest.raises(ModelError, match=rf"{type(model).__name__}.*(?i:fit)"):
        scores(model)


def test_a_regressor_needs_a_range():
    model = LinearRegression().fit(FRAME, FRAME["income"])
    with pytest.raises(ModelError, match=r"predicts a number, not a class.*Goal\.between"):
        scorer(model)


def test_what_is_no_model_is_refused():
    with pytest.raises(ModelError, match="Can't ask str for scores"):
        scorer("model.pkl")


def test_a_class_given_for_its_instance_is_reported():
    with pytest.raises(ModelError, match="LogisticRegression"):
        scores(LogisticRegression)


def test_no_rows_have_no_scores():
    model = logistic().fit(FRAME, LABELS)
    asked = scorer(model)
    assert asked.score(np.empty((0, 3))).shape == (0,)


def test_lightgbm_is_given_the_categories_it_was_trained_on_and_no_other_column():
    """Of two columns whose levels would fit, only one was a category when it was trained."""
    lightgbm = pytest.importorskip("lightgbm")
    random = np.random.default_rng(0)
    codes = random.integers(1, 5, 400)
    table = pd.DataFrame({"grade": random.integers(1, 4, 400), "code": codes})
    trained_on = table.assign(code=pd.Categorical(codes))
    model = lightgbm.LGBMClassifier(n_estimators=8, verbose=-1).fit(trained_on, codes % 2 == 0)
    schema = sl.Schema(
        [sl.Ordinal("grade", levels=[1, 2, 3]), sl.Categorical("code", levels=[1, 2, 3, 4])]
    )
    asked = Scorer(model, sl.Space.fit(schema, table), sl.Goal())
    expected = model.predict_proba(trained_on)[:, 1]
    np.testing.assert_allclose(asked.score(asked.space.read(table)), expected)


def test_a_gap_is_asked_about_by_itself_where_the_model_refuses_some():
    """Whether somebody gets an answer doesn't depend on who else asks."""
    rows = pd.DataFrame({"a": [1.0, 50.0, 2.0], "b": [np.nan, np.nan, 3.0]})
    schema = sl.Schema([sl.Numeric("a"), sl.Numeric("b")])

    def model(frame: pd.DataFrame) -> np.ndarray:
        return np.where(frame["b"].isna() & (frame["a"] > 40), np.nan, 0.3)

    scorer = Scorer(model, sl.Space.fit(schema, rows.fillna(1.0)), sl.Goal())
    values = scorer.space.read(rows, allow_missing=True)
    np.testing.assert_array_equal(scorer.score_gaps(values[:2]), [0.3, np.nan])
    np.testing.assert_array_equal(scorer.score_gaps(values[:1]), [0.3])


def test_a_model_that_refuses_every_gap_is_not_asked_about_each():
    rows = pd.DataFrame({"a": np.arange(200.0), "b": np.nan})
    asked = []

    def model(frame: pd.DataFrame) -> np.ndarray:
        asked.append(len(frame))
        raise ValueError("no gaps, please")

    schema = sl.Schema([sl.Numeric("a"), sl.Numeric("b", change="never", bounds=(0, 1))])
    space = sl.Space.fit(schema, rows.assign(b=1.0))
    scores = Scorer(model, space, sl.Goal()).score_gaps(space.read(rows, allow_missing=True))
    assert np.isnan(scores).all()
    assert len(asked) < 60


def test_a_policy_is_not_kept_by_what_is_missing():
    rows = pd.DataFrame({"a": [1.0, 2.0], "b": [np.nan, 2.0]})
    schema = sl.Schema([sl.Numeric("a"), sl.Numeric("b")])
    space = sl.Space.fit(schema, rows.fillna(1.0))
    scorer = Scorer(lambda frame: np.ones(len(frame)), space, sl.Goal(policy=["b <= 3"]))
    values = space.read(rows, allow_missing=True)
    assert scorer.yes(np.ones(2), values).tolist() == [False, True]


# ---- the form in which rows come --------------------------------------------------------------


class Seen:
    """A model that keeps what it was shown."""

    def __init__(self, **known: Any) -> None:
        self.__dict__.update(known, shown=[], classes_=[0, 1])

    def predict_proba(self, rows: Any) -> np.ndarray:
        self.shown.append(rows)
        first = rows[:, 0] if isinstance(rows, np.ndarray) else rows["income"].to_numpy()
        likely = np.clip(first / 100, 0, 1)
        return np.stack([1 - likely, likely], axis=1)


def test_a_model_that_knows_no_names_is_shown_arrays_and_one_that_does_frames():
    for known, kind in (
        ({"n_features_in_": 3}, np.ndarray),
        ({"n_features_in_": 3, "feature_names_in_": list(FRAME.columns)}, pd.DataFrame),
        ({}, pd.DataFrame),
    ):
        model = Seen(**known)
        found = scores(model)
        np.testing.assert_allclose(found, FRAME["income"] / 100)
        assert {type(rows) for rows in model.shown} == {kind}


def test_an_array_has_the_cells_of_the_frame_it_stands_for():
    model = Seen(n_features_in_=3)
    scores(model, pl.from_pandas(FRAME))
    np.testing.assert_array_equal(model.shown[0], FRAME.to_numpy(dtype=float))


def test_what_a_model_refuses_in_an_array_is_told_by_its_columns():
    class Fussy(Seen):
        def predict_proba(self, rows: np.ndarray) -> np.ndarray:
            if (rows[:, 2] == 3).any():
                raise ValueError("no more than two")
            return super().predict_proba(rows)

    with pytest.raises(ModelError, match=r"no more than two(.|\n)*'children': 3\.0"):
        scores(Fussy(n_features_in_=3))


def test_who_remembers_asks_about_the_same_values_once():
    model = Seen()
    asked = scorer(model)
    values = asked.space.read(FRAME)
    remembering = asked.remembering()
    assert remembering.remembers
    assert not asked.remembers
    first = remembering.score(values[[0, 1, 0, 2]])
    again = remembering.raised(0.2).score(values[[2, 3, 1]])
    np.testing.assert_allclose(first, FRAME["income"].iloc[[0, 1, 0, 2]] / 100)
    np.testing.assert_allclose(again, FRAME["income"].iloc[[2, 3, 1]] / 100)
    assert [len(rows) for rows in model.shown] == [3, 1]
    assert remembering.score(values[:0]).shape == (0,)
    asked.score(values[[0]])  # it remembers nothing of what the other was told
    assert len(model.shown) == 3
