"""Models from files, import paths and addresses: the same scores as in memory, and no surprises."""

from __future__ import annotations

import io
import json
import pickle
import sys
import threading
import uuid
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import joblib
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import stepladder as sl
from stepladder.errors import ExtraError, ModelError
from stepladder.model.loading import load, served
from stepladder.model.scorer import Scorer

RANDOM = np.random.default_rng(0)
ROWS = pd.DataFrame(
    {
        "income": RANDOM.normal(30, 8, 200).astype("float32"),
        "debt": RANDOM.uniform(1, 20, 200).astype("float32"),
        "age": RANDOM.integers(20, 60, 200),
        "job": RANDOM.choice(["clerk", "smith"], 200),
    }
)
NUMBERS = ROWS.drop(columns="job")
YES = np.where(ROWS["income"] - ROWS["debt"] > 20, "yes", "no")


def scores(model, frame=NUMBERS, goal=None):
    space = sl.Space.fit(sl.Schema.infer(frame), frame)
    return Scorer(model, space, goal or sl.Goal()).score(space.read(frame))


def classifier(frame=NUMBERS):
    text = [column for column in frame if column == "job"]
    numbers = [column for column in frame if column != "job"]
    encode = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(), text))
    return make_pipeline(encode, LogisticRegression()).fit(frame, YES)


class Crafted:
    """Unpickled, it writes a file."""

    def __init__(self, sign: Path) -> None:
        self.sign = sign

    def __reduce__(self):
        return Path.touch, (self.sign,)


class Custom(BaseEstimator):
    """A model of a type that skops doesn't know."""


# ---- files ------------------------------------------------------------------------------------


def test_a_skops_file_scores_as_its_model(tmp_path):
    skops = pytest.importorskip("skops.io")
    model = classifier(ROWS)
    skops.dump(model, tmp_path / "model.skops")
    np.testing.assert_allclose(
        scores(load(tmp_path / "model.skops"), ROWS, sl.Goal(desired="yes")),
        model.predict_proba(ROWS)[:, 1],
    )


def test_a_skops_file_of_trees_is_taken_as_it_is(tmp_path):
    skops = pytest.importorskip("skops.io")
    ensemble = pytest.importorskip("sklearn.ensemble")
    for kind in (ensemble.GradientBoostingClassifier, ensemble.HistGradientBoostingClassifier):
        model = kind(random_state=0).fit([[0.0], [1.0]] * 20, [0, 1] * 20)
        skops.dump(model, tmp_path / "trees.skops")
        loaded = load(tmp_path / "trees.skops")
        assert (loaded.predict_proba([[0.3]]) == model.predict_proba([[0.3]])).all()


TREES = {
    "tree": DecisionTreeClassifier(max_depth=3),
    "forest": RandomForestClassifier(3, max_depth=3, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=3),
    "histograms": HistGradientBoostingClassifier(max_iter=3),
    "inside": make_pipeline(
        OneHotEncoder(),  # which gives the trees more columns than the model takes
        BaggingClassifier(GradientBoostingClassifier(n_estimators=2), 2, max_features=0.5),
    ),
}
CELLS = np.random.default_rng(0).integers(0, 5, (200, 2)).astype(float)
GOOD = (CELLS.sum(axis=1) > 4) & (CELLS[:, 1] != 3)


@pytest.mark.parametrize("kind", TREES)
def test_sound_trees_are_taken_wherever_they_are(tmp_path, kind):
    skops = pytest.importorskip("skops.io")
    model = clone(TREES[kind]).fit(CELLS, GOOD)
    skops.dump(model, tmp_path / "model.skops")
    found = load(tmp_path / "model.skops").predict_proba(CELLS)
    np.testing.assert_array_equal(found, model.predict_proba(CELLS))


def spoilt(file: Path, field: str, value: int) -> None:
    """Another number in the first node of every tree in a skops file."""
    with zipfile.ZipFile(file) as opened:
        parts = {name: opened.read(name) for name in opened.namelist()}
    with zipfile.ZipFile(file, "w") as written:
        for name, part in parts.items():
            content = io.BytesIO(part)
            if name.endswith(".npy"):
                cells = np.load(content, allow_pickle=False)
                if field in (cells.dtype.names or ()):
                    cells[field][0] = value
                    np.save(content := io.BytesIO(), cells)
            written.writestr(name, content.getvalue())


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        *[(kind, "left_child", 2**40) for kind in ("tree", "forest", "boosting", "inside")],
        *[("tree", child, wrong) for child in ("left_child", "right_child") for wrong in (0, -5)],
        ("tree", "right_child", -1),
        ("tree", "feature", 2),
        ("tree", "feature", -2),
        ("boosting", "feature", 7),
        ("histograms", "left", 2**31),
        ("histograms", "right", 0),
        ("histograms", "feature_idx", 2),
        ("histograms", "feature_idx", -1),
        ("histograms", "is_categorical", 1),
    ],
)
def test_a_tree_whose_nodes_lead_elsewhere_is_refused(tmp_path, kind, field, value):
    skops = pytest.importorskip("skops.io")
    skops.dump(clone(TREES[kind]).fit(CELLS, GOOD), tmp_path / "model.skops")
    spoilt(tmp_path / "model.skops", field, value)
    with pytest.raises(ModelError, match=r"model\.skops' holds a damaged tree: a node names"):
        load(tmp_path / "model.skops")


def test_categories_that_go_left_are_looked_up_where_they_are():
    trees = pytest.importorskip("stepladder.model.loading.trees")
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features=[1]).fit(CELLS, GOOD)
    assert trees.are_sound(model)  # which skops doesn't read, for its encoder
    predictor = model._predictors[0][0]
    split = predictor.nodes["is_categorical"] == 1
    assert split.any()
    predictor.nodes["bitset_idx"][split] = len(predictor.raw_left_cat_bitsets)
    assert not trees.are_sound(model)
    predictor.nodes["bitset_idx"][split] = 0
    predictor.raw_left_cat_bitsets = predictor.raw_left_cat_bitsets[:, :3]
    assert not trees.are_sound(model)


def test_a_tree_that_is_hidden_or_made_for_other_rows_is_refused(tmp_path):
    skops = pytest.importorskip("skops.io")
    wide = DecisionTreeRegressor(max_depth=1).fit(np.eye(50), np.arange(50) == 49)
    forest = clone(TREES["forest"]).fit(CELLS, GOOD)
    forest.estimators_[1] = wide  # its own word is that it takes 50 columns
    boosting = clone(TREES["boosting"]).fit(CELLS, GOOD)
    boosting.estimators_ = np.repeat(boosting.estimators_, 9, axis=1)
    nameless = DecisionTreeClassifier(max_depth=1).fit(CELLS, GOOD)
    del nameless.n_features_in_
    hidden = make_pipeline(StandardScaler(), LogisticRegression()).fit(CELLS, GOOD)
    hidden.notes = {"kept": [np.array([(nameless,)], dtype=object)]}
    for model in (forest, boosting, nameless, hidden):
        skops.dump(model, tmp_path / "model.skops")
        with pytest.raises(ModelError, match="damaged tree"):
            load(tmp_path / "model.skops")


def test_a_skops_file_of_unknown_types_is_refused_by_name_with_a_way_out(tmp_path):
    skops = pytest.importorskip("skops.io")
    skops.dump(Custom(), tmp_path / "model.skops")
    with pytest.raises(ModelError, match=r"harmless: '.*Custom'.*--trust .*Custom \(trust=\["):
        load(tmp_path / "model.skops")


@pytest.mark.parametrize("suffix", [".json", ".ubj"])
def test_an_xgboost_file_scores_as_its_model(tmp_path, suffix):
    model = xgboost.XGBClassifier(n_estimators=5, n_jobs=1).fit(NUMBERS, YES == "yes")
    model.save_model(tmp_path / f"model{suffix}")
    found = scores(load(tmp_path / f"model{suffix}"))
    np.testing.assert_allclose(found, model.predict_proba(NUMBERS)[:, 1], atol=1e-6)


def test_a_lightgbm_file_scores_as_its_model(tmp_path):
    model = lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1).fit(NUMBERS, YES == "yes")
    model.booster_.save_model(tmp_path / "model.txt")
    found = scores(load(tmp_path / "model.txt"))
    np.testing.assert_allclose(found, model.predict_proba(NUMBERS)[:, 1])


@pytest.mark.parametrize("suffix", [".pkl", ".pickle", ".joblib"])
def test_a_pickle_is_refused_with_the_reason_unless_trusted(tmp_path, suffix):
    file = tmp_path / f"model{suffix}"
    if suffix == ".joblib":
        joblib.dump(classifier(), file, compress=3)
    else:
        file.write_bytes(pickle.dumps(classifier()))
    with pytest.raises(ModelError, match=r"runs whatever program it holds.*--trust-pickle"):
        load(file)
    np.testing.assert_allclose(
        scores(load(file, trust_pickle=True)), classifier().predict_proba(NUMBERS)[:, 1]
    )


def test_a_broken_pickle_that_is_trusted_is_one_sentence(tmp_path):
    (tmp_path / "model.pkl").write_bytes(b"\x80\x04nonsense")
    with pytest.raises(ModelError, match="can't be unpickled"):
        load(tmp_path / "model.pkl", trust_pickle=True)


@pytest.mark.parametrize(
    "suffix",
    [".pkl", ".pickle", ".joblib", ".json", ".ubj", ".txt", ".skops", ".onnx", ".bin", ""],
)
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_crafted_pickle_is_never_executed_whatever_its_name(tmp_path, suffix, protocol, capfd):
    pytest.importorskip("skops.io")
    pytest.importorskip("onnxruntime")
    sign = tmp_path / "executed"
    crafted = pickle.dumps(Crafted(sign), protocol)
    (tmp_path / f"model{suffix}").write_bytes(crafted)
    with pytest.raises(ModelError) as refused:
        load(tmp_path / f"model{suffix}")
    assert not sign.exists()
    assert len(str(refused.value).splitlines()) == 1
    assert capfd.readouterr() == ("", "")
    if protocol and suffix in (".json", ".ubj", ".txt", ".skops", ".onnx"):
        assert "It holds a pickle" in str(refused.value)
    pickle.loads(crafted)
    assert sign.exists()  # so the test would have seen it


@pytest.mark.parametrize("suffix", [".json", ".ubj", ".txt", ".skops", ".onnx"])
@pytest.mark.parametrize("content", [b"", b"hello\n", b'{"a": 1}', b"tree\nhello", b"PK\x03\x04"])
def test_a_file_that_is_something_else_is_one_sentence(tmp_path, suffix, content):
    pytest.importorskip("skops.io")
    pytest.importorskip("onnxruntime")
    file = tmp_path / f"model{suffix}"
    file.write_bytes(content)
    with pytest.raises(ModelError, match=r"can't be read as an? .* model: ") as refused:
        load(file)
    assert len(str(refused.value).splitlines()) == 1


def test_a_missing_file_and_an_unknown_ending_are_said(tmp_path):
    with pytest.raises(ModelError, match="There is no model file at"):
        load(tmp_path / "model.onnx")
    (tmp_path / "model.h5").touch()
    with pytest.raises(ModelError, match=r"Can't tell what kind .* \.skops, \.onnx.*module:name"):
        load(tmp_path / "model.h5")


@pytest.mark.parametrize(
    ("package", "suffix", "install"),
    [
        ("skops.io", ".skops", r"'stepladder\[models\]'"),
        ("onnxruntime", ".onnx", r"'stepladder\[models\]'"),
        ("xgboost", ".ubj", "xgboost"),  # which no extra brings
        ("lightgbm", ".txt", "lightgbm"),
    ],
)
def test_without_its_library_a_file_says_what_to_install(
    tmp_path, monkeypatch, package, suffix, install
):
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / f"model{suffix}").touch()
    with pytest.raises(ExtraError, match=f"pip install {install}$"):
        load(tmp_path / f"model{suffix}")


# ---- ONNX -------------------------------------------------------------------------------------


def onnx(tmp_path: Path, model, example, **options) -> Path:
    pytest.importorskip("onnxruntime")
    convert = pytest.importorskip("skl2onnx")
    made = convert.to_onnx(model, example, options={id(model): options} if options else None)
    file = tmp_path / "model.onnx"
    file.write_bytes(made.SerializeToString())
    return file


def test_onnx_with_an_input_for_each_column_takes_them_by_name(tmp_path):
    model = classifier(ROWS)
    file = onnx(tmp_path, model, ROWS[:1], zipmap=False)
    expected = model.predict_proba(ROWS)
    np.testing.assert_allclose(scores(load(file), ROWS), expected[:, 1], atol=1e-5)
    turned = ROWS[["job", "age", "debt", "income"]]
    np.testing.assert_allclose(scores(load(file), turned), expected[:, 1], atol=1e-5)
    against = scores(load(file), ROWS, sl.Goal(desired=0))
    np.testing.assert_allclose(against, expected[:, 0], atol=1e-5)


def test_onnx_with_one_input_takes_all_columns_in_order_and_knows_its_classes(tmp_path):
    model = LogisticRegression(max_iter=1000).fit(NUMBERS.to_numpy(np.float32), YES)
    loaded = load(onnx(tmp_path, model, NUMBERS.to_numpy(np.float32)[:1]))
    assert loaded.classes_ == ["no", "yes"]
    expected = model.predict_proba(NUMBERS.to_numpy(np.float32))
    for column, name in enumerate(["no", "yes"]):
        found = scores(loaded, NUMBERS, sl.Goal(desired=name))
        np.testing.assert_allclose(found, expected[:, column], atol=1e-5)


def test_onnx_scores_several_classes_by_their_sum(tmp_path):
    numbers = NUMBERS.to_numpy(np.float32)
    third = np.where(NUMBERS["debt"] > NUMBERS["debt"].median(), "partly", YES)
    model = LogisticRegression(max_iter=1000).fit(numbers, third)
    loaded = load(onnx(tmp_path, model, numbers[:1]))
    assert loaded.classes_ == ["no", "partly", "yes"]
    found = scores(loaded, NUMBERS, sl.Goal(desired=["yes", "partly"]))
    np.testing.assert_allclose(found, 1 - model.predict_proba(numbers)[:, 0], atol=1e-5)


def test_fit_takes_the_name_of_a_model_for_the_model(tmp_path):
    model = LogisticRegression(max_iter=1000).fit(NUMBERS.to_numpy(np.float32), YES)
    file = onnx(tmp_path, model, NUMBERS.to_numpy(np.float32)[:1])
    schema = sl.Schema.infer(NUMBERS)
    for named in (file, str(file)):
        step = sl.StEP(paths=1).fit(NUMBERS, named, schema=schema)
        assert step.scorer_.model.classes_ == ["no", "yes"]
    with pytest.raises(ModelError, match=r"There is no model file at 'none\.onnx'"):
        sl.StEP(paths=1).fit(NUMBERS, "none.onnx", schema=schema)


def test_an_onnx_regression_reaches_for_a_range(tmp_path):
    model = LinearRegression().fit(NUMBERS.to_numpy(np.float32), NUMBERS["debt"])
    loaded = load(onnx(tmp_path, model, NUMBERS.to_numpy(np.float32)[:1]))
    found = scores(loaded, NUMBERS, sl.Goal.between(low=5))
    np.testing.assert_allclose(found, NUMBERS["debt"], atol=1e-3)


def test_onnx_that_does_not_fit_the_table_says_what_it_wants(tmp_path):
    loaded = load(onnx(tmp_path, classifier(ROWS), ROWS[:1], zipmap=False))
    with pytest.raises(
        ModelError, match=r"model\.onnx was trained on other.*: it needs 'job', which"
    ):
        scores(loaded, NUMBERS)
    with pytest.raises(ModelError, match=r"takes numbers as 'age', but got 'x\d+'"):
        scores(loaded, ROWS.assign(age="x" + ROWS["age"].astype(str)))
    with pytest.raises(ModelError, match=r"takes whole numbers as 'age', but got \d+\.5.*integer"):
        scores(loaded, ROWS.assign(age=ROWS["age"] + 0.5))
    model = LogisticRegression(max_iter=1000).fit(NUMBERS.to_numpy(np.float32), YES)
    with pytest.raises(ModelError, match="trained on 3 columns but would be given 4"):
        scores(load(onnx(tmp_path, model, NUMBERS.to_numpy(np.float32)[:1])), ROWS)


def test_recourse_runs_on_an_onnx_model(tmp_path):
    loaded = load(onnx(tmp_path, classifier(ROWS), ROWS[:1], zipmap=False))
    step = sl.StEP(paths=2).fit(ROWS, loaded, schema=sl.Schema.infer(ROWS, never=["age"]))
    assert (step.recourse(ROWS.head(20)).final["score"] >= 0.5).all()


# ---- import paths -----------------------------------------------------------------------------


@pytest.fixture
def module(tmp_path, monkeypatch) -> str:
    """The name of a new module in the current folder."""
    name = f"mine_{uuid.uuid4().hex}"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / f"{name}.py").write_text(
        "class Box:\n    @staticmethod\n    def score(frame):\n        return frame['debt'] / 100\n"
        "score = Box.score\nnumber = 3\n"
    )
    yield name
    sys.modules.pop(name, None)


def test_a_function_in_the_current_folder(module):
    for name in ("score", "Box.score"):
        np.testing.assert_allclose(scores(load(f"{module}:{name}")), NUMBERS["debt"] / 100)


def test_an_import_path_that_leads_nowhere_is_said(module, tmp_path):
    with pytest.raises(ModelError, match=r"has no 'scor'.*Did you mean 'score'\?"):
        load(f"{module}:scor")
    with pytest.raises(ModelError, match="is a int; expected a function"):
        load(f"{module}:number")
    with pytest.raises(ModelError, match="is a type; expected a function"):
        load(f"{module}:Box")
    with pytest.raises(ModelError, match="can't be imported: ModuleNotFoundError"):
        load("nowhere_at_all:model")
    (tmp_path / "broken_module.py").write_text("1 / 0\n")
    with pytest.raises(ModelError, match="can't be imported: ZeroDivisionError"):
        load("broken_module:model")


# ---- the Open Inference Protocol --------------------------------------------------------------


class Server(BaseHTTPRequestHandler):
    """A server of one model, whose score is debt / 100."""

    metadata: ClassVar[dict] = {}
    asked: ClassVar[list] = []
    busy = 0
    answer: ClassVar[object] = None

    def do_GET(self):
        known = self.path == "/v2/models/loans"
        self.say(200 if known else 404, self.metadata if known else {"error": "no such model"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if type(self).busy:
            type(self).busy -= 1
            self.say(503, {"error": "later"})
            return
        self.asked.append(body)
        first = body["inputs"][0]
        if len(body["inputs"]) == 1:
            debts = np.reshape(first["data"], first["shape"])[:, 1]
        else:
            debts = next(i["data"] for i in body["inputs"] if i["name"] == "debt")
        said = [round(debt / 100, 9) for debt in debts]
        label = {
            "name": "label",
            "datatype": "INT64",
            "shape": [len(said)],
            "data": [1] * len(said),
        }
        score = {"name": "score", "datatype": "FP64", "shape": [len(said)], "data": said}
        self.say(200, self.answer or {"outputs": [label, score]})

    def say(self, status, content):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


NAMED = [
    {"name": name, "datatype": kind, "shape": [-1, 1]}
    for name, kind in [("job", "BYTES"), ("debt", "FP32"), ("age", "INT64"), ("income", "FP64")]
]


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(served, "PAUSES", (0.01, 0.01))

    class Own(Server):
        metadata: ClassVar[dict] = {"name": "loans", "inputs": NAMED}
        asked: ClassVar[list] = []

    with ThreadingHTTPServer(("127.0.0.1", 0), Own) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        Own.url = f"http://127.0.0.1:{running.server_port}/v2/models/loans"
        yield Own
        running.shutdown()
        thread.join()


def test_a_served_model_is_asked_by_name_in_batches(server, monkeypatch):
    monkeypatch.setattr(served, "BATCH", 64)
    for url in (server.url, f"{server.url}/infer"):
        server.asked.clear()
        np.testing.assert_allclose(scores(load(url), ROWS), ROWS["debt"] / 100, atol=1e-6)
        assert [body["inputs"][0]["shape"] for body in server.asked] == [[64, 1]] * 3 + [[8, 1]]
        kinds = {i["name"]: i["datatype"] for i in server.asked[0]["inputs"]}
        assert kinds == {"income": "FP64", "debt": "FP32", "age": "INT64", "job": "BYTES"}
        assert server.asked[0]["inputs"][0]["data"][0] == ROWS["job"][0]


def test_a_served_model_with_one_input_takes_all_columns(server):
    server.metadata["inputs"] = [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}]
    np.testing.assert_allclose(scores(load(server.url)), NUMBERS["debt"] / 100, atol=1e-6)
    with pytest.raises(ModelError, match="trained on 3 columns but would be given 4"):
        scores(load(server.url), ROWS)


def test_a_served_model_that_declares_nothing_gets_every_column(server):
    server.metadata["inputs"] = []
    np.testing.assert_allclose(scores(load(server.url), ROWS), ROWS["debt"] / 100, atol=1e-6)
    assert server.asked[0]["parameters"] == {"content_type": "pd"}


def test_an_output_is_chosen_behind_the_address(server):
    server.metadata["outputs"] = [{"name": "score", "datatype": "FP64"}, {"name": "label"}]
    scores(load(f"{server.url}#score"), ROWS)
    assert server.asked[0]["outputs"] == [{"name": "score"}]
    with pytest.raises(ModelError, match="has no output 'scores'; it has score, label"):
        load(f"{server.url}#scores")


def test_a_busy_server_is_asked_again_and_not_for_ever(server):
    server.busy = 2
    np.testing.assert_allclose(scores(load(server.url), ROWS), ROWS["debt"] / 100, atol=1e-6)
    server.busy = 3
    with pytest.raises(ModelError, match=r"loans/infer refused, 503 .*: later\."):
        scores(load(server.url), ROWS)
    assert server.busy == 0


@pytest.mark.parametrize(
    "metadata",
    [
        {"inputs": [{"datatype": "FP64", "shape": [-1]}]},
        {"inputs": [{"name": "x", "datatype": "FP64", "shape": ["n", 1]}]},
        {"inputs": [{"name": "x", "datatype": "FP64", "shape": 3}]},
        {"inputs": [{"name": "x", "datatype": "FP64", "shape": None}]},
        {"inputs": [{"name": "x", "datatype": ["FP64"], "shape": [-1]}]},
        {"inputs": [{"name": ["x"], "datatype": "FP64", "shape": [-1]}]},
        {"inputs": ["x"]},
        {"inputs": {"name": "x", "datatype": "FP64", "shape": [-1]}},
        {"inputs": 3},
        {"outputs": [{"datatype": "FP64"}]},
        {"outputs": ["p"]},
        {"outputs": "p"},
    ],
    ids=str,
)
def test_a_server_that_tells_of_itself_in_other_ways_is_one_sentence(server, metadata):
    server.metadata.clear()
    server.metadata.update(metadata)
    said = r"loans (doesn't list its \w+ as|declares an input that isn't in) the"
    with pytest.raises(ModelError, match=said):
        load(server.url)


def test_what_a_server_cannot_do_is_one_sentence(server):
    with pytest.raises(ModelError, match=r"refused, 404 Not Found: no such model\."):
        load(server.url + "s")
    with pytest.raises(ModelError, match="isn't the address of a model"):
        load("http://127.0.0.1:1/models/loans")
    with pytest.raises(ModelError, match="can't be reached: "):
        load("http://127.0.0.1:1/v2/models/loans")
    server.metadata["inputs"] = [{"name": "x", "datatype": "IMAGE", "shape": [-1]}]
    with pytest.raises(ModelError, match="isn't in the protocol"):
        load(server.url)
    server.metadata["inputs"] = [{"name": "x", "datatype": "FP32", "shape": [-1, 3, 32, 32]}]
    with pytest.raises(ModelError, match="Expected one input for each column"):
        load(server.url)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"<html>hello", "didn't answer in JSON"),
        (b"[" * 100_000, "didn't answer in JSON"),
        ({"outputs": []}, "answered with no output"),
        ({"outputs": ["y"]}, "doesn't list its outputs"),
        ({"outputs": [{"name": "y", "datatype": "FP32", "data": [9**999], "shape": [1]}]}, "is"),
        ({"outputs": [{"name": "y", "datatype": "INT64"}]}, r"y \(INT64\).*#predict_proba"),
        ({"outputs": [{"name": "y", "datatype": "FP32", "data": [1], "shape": [2]}]}, "isn't one"),
        (
            {"outputs": [{"name": "y", "datatype": "FP32", "data": [1], "shape": [1]}]},
            r"shape \(1,\) for 200 rows",
        ),
    ],
)
def test_an_answer_that_is_none_is_said(server, answer, said):
    server.answer = answer
    with pytest.raises(ModelError, match=said):
        scores(load(server.url), ROWS)


def test_a_slow_server_is_given_up(server, monkeypatch):
    monkeypatch.setattr(served, "TIMEOUT", 0.05)
    monkeypatch.setattr(server, "do_GET", lambda _: threading.Event().wait(0.5))
    with pytest.raises(ModelError, match=r"didn't answer within 0\.05 seconds"):
        load(server.url)
