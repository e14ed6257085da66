"""Models from .skops files: scikit-learn's own load as they are; a crafted file does no harm."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC, NuSVC

import stepladder as sl
from stepladder.errors import ModelError
from stepladder.model.loading import load

skops = pytest.importorskip("skops.io")

RANDOM = np.random.default_rng(0)
NUMBERS = ["income", "debt", "age"]
ROWS = pd.DataFrame(
    {
        "income": RANDOM.normal(30, 8, 120),
        "debt": RANDOM.uniform(1, 20, 120),
        "age": RANDOM.integers(20, 60, 120),
        "job": RANDOM.choice(["clerk", "smith", "cook"], 120),
    }
)
LEVELS = ROWS.assign(job=ROWS["job"].astype("category"))
YES = np.where(ROWS["income"] - ROWS["debt"] + 3 * (ROWS["job"] == "cook") > 20, "yes", "no")

logistic = LogisticRegression(max_iter=500)
pair = [("logistic", logistic), ("bayes", GaussianNB())]
CLASSIFIERS = {
    "logistic": logistic,
    "svc": SVC(),
    "svc-probability": SVC(probability=True, random_state=0),
    "svc-linear": SVC(kernel="linear"),
    "nu-svc": NuSVC(nu=0.1),
    "neighbours": KNeighborsClassifier(),
    "neighbours-ball": KNeighborsClassifier(algorithm="ball_tree", metric="manhattan"),
    "neighbours-brute": KNeighborsClassifier(algorithm="brute"),
    "bayes": GaussianNB(),
    "forest": RandomForestClassifier(3, random_state=0),
    "extra-trees": ExtraTreesClassifier(3, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=3),
    "histograms": HistGradientBoostingClassifier(max_iter=3),
    "ada": AdaBoostClassifier(n_estimators=3),
    "bagging": BaggingClassifier(logistic, 3, random_state=0),
    "voting": VotingClassifier(pair, voting="soft"),
    "stacking": StackingClassifier(pair),
    "calibrated": CalibratedClassifierCV(LinearSVC()),
    "calibrated-isotonic": CalibratedClassifierCV(logistic, method="isotonic"),
    "network": MLPClassifier((4,), max_iter=5, random_state=0),
    "discriminant": LinearDiscriminantAnalysis(),
    "sgd": SGDClassifier(loss="log_loss", random_state=0),
    "search": GridSearchCV(logistic, {"C": [0.1, 1.0]}, scoring="roc_auc"),
    "process": GaussianProcessClassifier(1.0 * RBF()),
}
STEPS = {
    "imputer": SimpleImputer(),
    "neighbour-imputer": KNNImputer(),
    "bins": KBinsDiscretizer(),
    "powers": PolynomialFeatures(),
    "logarithm": FunctionTransformer(np.log1p),
    "quantiles": QuantileTransformer(n_quantiles=20),
    "best": SelectKBest(k=2),
}
ENCODED = make_column_transformer(
    (StandardScaler(), make_column_selector(dtype_include="number")), (OneHotEncoder(), ["job"])
)
MODELS = {
    **{name: make_pipeline(ENCODED, model) for name, model in CLASSIFIERS.items()},
    **{
        name: make_pipeline(make_column_transformer((step, NUMBERS)), logistic)
        for name, step in STEPS.items()
    },
    "ordinal": make_pipeline(
        make_column_transformer((OrdinalEncoder(), ["job"]), remainder="passthrough"),
        RandomForestClassifier(3, random_state=0),
    ),
    "sparse": make_pipeline(
        make_column_transformer((OneHotEncoder(), ["job", "age"]), sparse_threshold=1), SVC()
    ),
    "categories": HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.skops"


def fitted(kind: str):
    rows = LEVELS if kind == "categories" else ROWS
    return clone(MODELS[kind]).fit(rows, YES), rows


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The `probability`:FutureWarning")
@pytest.mark.filterwarnings("ignore:Bins whose width are too small")
@pytest.mark.parametrize("kind", MODELS)
def test_scikit_learns_own_models_load_as_they_are(file, kind):
    model, rows = fitted(kind)
    skops.dump(model, file)
    loaded = load(file)
    ask = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    np.testing.assert_array_equal(getattr(loaded, ask)(rows), getattr(model, ask)(rows))


# ---- what is trusted by name ------------------------------------------------------------------


def twice(cells):
    return 2 * cells


def test_a_type_that_is_not_known_is_refused_by_name_and_taken_when_trusted(file):
    model = make_pipeline(FunctionTransformer(twice), logistic).fit(ROWS[NUMBERS], YES)
    skops.dump(model, file)
    name = f"{twice.__module__}.twice"
    with pytest.raises(
        ModelError, match=rf"harmless: '{name}'\..* --trust {name} \(trust=\['{name}'\] in Python"
    ):
        load(file)
    expected = model.predict_proba(ROWS[NUMBERS])
    for trust in ([name], (name, "other.Type"), name):
        found = load(file, trust=trust).predict_proba(ROWS[NUMBERS])
        np.testing.assert_array_equal(found, expected)


def test_fit_takes_what_is_trusted_with_a_models_name(file):
    rows = ROWS[NUMBERS]
    skops.dump(make_pipeline(SplineTransformer(), logistic).fit(rows, YES), file)
    schema, names = sl.Schema.infer(rows), skops.get_untrusted_types(file=file)
    with pytest.raises(ModelError, match=r"--trust scipy\.interpolate"):
        sl.StEP(paths=1).fit(rows, file, schema=schema)
    step = sl.StEP(paths=1).fit(rows, file, schema=schema, trust=names)
    assert step.scorer_.model.classes_.tolist() == ["no", "yes"]


# ---- crafted files ----------------------------------------------------------------------------


def crafted(file: Path, **change: str) -> None:
    """A saved model, with something else in place of its parameter C."""
    skops.dump(LogisticRegression(C=0.5).fit(ROWS[NUMBERS], YES), file)
    with zipfile.ZipFile(file) as opened:
        parts = {name: opened.read(name) for name in opened.namelist()}
    state = json.loads(parts["schema.json"])
    state["content"]["content"]["C"] = change
    with zipfile.ZipFile(file, "w") as written:
        for name, part in {**parts, "schema.json": json.dumps(state)}.items():
            written.writestr(name, part)


def text(said: str) -> dict[str, str]:
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(said),
    }


def several(*items) -> dict[str, object]:
    return {
        "__class__": "tuple",
        "__module__": "builtins",
        "__loader__": "TupleNode",
        "content": list(items),
    }


@pytest.mark.parametrize(
    ("module", "name", "loader"),
    [
        ("sklearn.utils._testing", "TempMemmap", "ConstructorFromReduceNode"),  # writes a file
        ("sklearn.utils._testing", "TempMemmap", "ObjectNode"),
        ("sklearn.utils._bunch", "Bunch", "ConstructorFromReduceNode"),
        ("sklearn.calibration", "_CalibratedClassifier", "ConstructorFromReduceNode"),
        ("sklearn.utils.parallel", "Parallel", "ObjectNode"),
        ("sklearn.datasets", "fetch_openml", "FunctionNode"),
        ("sklearn.datasets._base", "load_files", "FunctionNode"),
        ("sklearn.utils.validation", "check_is_fitted", "FunctionNode"),
        ("sklearn.utils.fixes", "os", "FunctionNode"),  # which it imports
        ("sklearn.base", "Bunch", "ObjectNode"),
        ("sklearn.nowhere", "Thing", "ObjectNode"),
        ("sklearn", "calibration", "TypeNode"),
        ("sklearn.neighbors._quad_tree", "_QuadTree", "ObjectNode"),
        ("sklearn.metrics._dist_metrics", "MahalanobisDistance64", "ObjectNode"),
        ("numpy", "dtype", "ConstructorFromReduceNode"),  # its state could be set too
        ("functools", "partial", "ConstructorFromReduceNode"),
        ("os", "system", "FunctionNode"),
        ("builtins", "eval", "TypeNode"),
    ],
)
def test_what_is_not_known_to_be_harmless_is_refused(file, module, name, loader):
    content = several(text("1"))
    crafted(file, __class__=name, __module__=module, __loader__=loader, content=content)
    with pytest.raises(ModelError, match=rf"harmless: .*'{module}\.{name}'"):
        load(file)


def test_a_method_of_a_class_that_is_known_is_refused(file):
    owner = {"__class__": "StandardScaler", "__module__": "sklearn.preprocessing._data"}
    made = {**owner, "__loader__": "ObjectNode"}
    crafted(file, **owner, __loader__="MethodNode", content={"func": "fit", "obj": made})
    with pytest.raises(ModelError, match=r"StandardScaler\.fit'"):
        load(file)


def spoilt_lookup(place: int, value):
    """A nearest-neighbour model with something else in its tree's state."""
    model = KNeighborsClassifier().fit(ROWS[NUMBERS], YES)
    state = list(model._tree.__getstate__())
    state[place] = value(state[place].copy()) if isinstance(state[place], np.ndarray) else value
    model._tree.__setstate__(tuple(state))
    return model


def put(field: str | None, value: int):
    def changed(cells):
        if field is None:
            cells[0] = value
        else:
            cells[field][0] = value
        return cells

    return changed


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (1, put(None, 2**40)),
        (1, put(None, -1)),
        (1, lambda cells: cells[:5]),
        (2, put("idx_end", 10**6)),
        (2, put("idx_start", -3)),
        (2, lambda cells: cells[:2]),
        (3, lambda cells: cells[:, :1].copy()),
        (3, lambda cells: cells[:1]),
        (6, 10**6),
    ],
)
def test_a_crafted_tree_of_neighbours_is_refused(file, place, value):
    skops.dump(spoilt_lookup(place, value), file)
    with pytest.raises(ModelError, match="holds a damaged nearest-neighbour tree"):
        load(file)


def test_neighbours_of_a_class_that_is_not_there_are_refused(file):
    for algorithm in ("brute", "kd_tree"):
        model = KNeighborsClassifier(algorithm=algorithm).fit(ROWS[NUMBERS], YES)
        model._y = model._y.copy()
        model._y[0] = 10**9
        skops.dump(model, file)
        with pytest.raises(ModelError, match="holds a damaged nearest-neighbour model"):
            load(file)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("_n_support", lambda cells: cells + 10**6),
        ("_n_support", lambda cells: cells * np.array([-1, 1], cells.dtype)),
        ("_n_support", lambda cells: np.repeat(cells, 50)),
        ("_intercept_", lambda cells: cells[:0]),
        ("_dual_coef_", lambda cells: cells[:, :3].copy()),
        ("support_vectors_", lambda cells: cells[:, :1].copy()),
        ("support_", lambda cells: np.arange(10**5, dtype=cells.dtype)),
        ("_probA", lambda cells: np.zeros(7)),
        ("kernel", lambda _: "precomputed"),
    ],
)
def test_crafted_support_vectors_are_refused(file, attribute, value):
    model = SVC().fit(ROWS[NUMBERS], YES)
    setattr(model, attribute, value(getattr(model, attribute)))
    if attribute == "kernel":
        model.shape_fit_ = (2, 3)
    skops.dump(model, file)
    with pytest.raises(ModelError, match="holds a damaged support vector machine"):
        load(file)


def test_a_crafted_sparse_matrix_is_refused(file):
    model = LogisticRegression().fit(ROWS[NUMBERS], YES).sparsify()
    model.coef_.indices[:] = 10**6
    skops.dump(model, file)
    with pytest.raises(ModelError, match="holds a damaged sparse matrix"):
        load(file)


def test_trees_that_would_get_other_columns_than_they_were_made_for_are_refused(file):
    model, _ = fitted("categories")
    model._preprocessor = make_column_transformer((OrdinalEncoder(), ["job"])).fit(LEVELS)
    skops.dump(model, file)
    with pytest.raises(ModelError, match="holds a damaged tree"):
        load(file)
