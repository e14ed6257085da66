"""The published method on torch: NumPy's paths, and a model that stays where the points are."""

from __future__ import annotations

import gc
import pickle
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

import stepladder as sl
from stepladder.errors import ExtraError, ModelError, ParameterError
from stepladder.methods.step import on_device
from stepladder.methods.step import published as published_module
from stepladder.model.scorer import Scorer

HOMES = ["rent", "own", "kin"]
SCHEMA = sl.Schema(
    [
        sl.Numeric("income"),
        sl.Numeric("debt", change="decrease"),
        sl.Numeric("years", change="increase"),
        sl.Ordinal("studies", levels=range(5), change="increase"),
        sl.Categorical("home", levels=HOMES),
        sl.Categorical("owner", levels=[False, True]),
        sl.Numeric("age", change="never"),
    ]
)


def table(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": rng.normal(30, 8, rows),
            "debt": rng.normal(10, 4, rows),
            "years": rng.uniform(0, 20, rows),
            "studies": rng.integers(0, 5, rows),
            "home": rng.choice(HOMES, rows),
            "owner": rng.random(rows) < 0.5,
            "age": rng.normal(40, 10, rows),
        }
    )


TRAIN, PEOPLE = table(400, 0), table(60, 1)
SPACE = sl.Space.fit(SCHEMA, TRAIN)
POINTS = SPACE.encode(TRAIN)
TOTAL = POINTS @ np.linspace(1, 0.2, SPACE.width) + 0.3 * POINTS[:, 0] * POINTS[:, 2]
TWO, THREE = (TOTAL > 1).astype(int), np.digitize(TOTAL, [-1, 1])
GOAL = sl.Goal(threshold=0.7)


def network(outputs: int = 1) -> torch.nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        last = torch.nn.Sigmoid() if outputs == 1 else torch.nn.Softmax(dim=1)
        module = torch.nn.Sequential(
            torch.nn.Linear(SPACE.width, 16),
            torch.nn.Tanh(),
            torch.nn.Dropout(0.5),
            torch.nn.Linear(16, outputs),
            last,
        ).double()
    with torch.no_grad():  # a little of everything counts
        module[3].weight[:] *= 8
    return module


def logistic(labels: np.ndarray) -> LogisticRegression:
    return LogisticRegression(max_iter=1000).fit(POINTS, labels)


def answered(backend, model, goal=GOAL, people=PEOPLE, **settings):
    # Not so many steps that a path ends up going in a circle, or not, by its last digit.
    settings = {"max_steps": 8, **settings}
    step = sl.StEP.published(paths=3, step_size=0.5, backend=backend, **settings)
    return step.fit(TRAIN, model, space=SPACE, goal=goal).recourse(people)


def assert_same(given: sl.Recourse, wanted: sl.Recourse) -> None:
    within = given.settings["tolerance"]
    pd.testing.assert_frame_equal(given.paths, wanted.paths, rtol=within, atol=within)
    pd.testing.assert_frame_equal(given.final, wanted.final, rtol=within, atol=within)
    pd.testing.assert_frame_equal(given.status, wanted.status)
    assert given.asked == wanted.asked


@pytest.fixture
def on_host(monkeypatch):
    """How many rows were scored on the host while paths were laid."""
    rows: list[int] = []
    real = Scorer.score_points

    def counted(scorer, points):
        rows.append(len(points))
        return real(scorer, points)

    monkeypatch.setattr(Scorer, "score_points", counted)
    return rows


# ---- what stays on the device -------------------------------------------------------------------

STAYING = {
    "module": (sl.encoded(network()), GOAL),
    "module of float32": (sl.encoded(network().float()), GOAL),
    "module, for class 0": (sl.encoded(network()), sl.Goal(threshold=0.6, desired=0)),
    "module of 3 classes": (sl.encoded(network(3)), sl.Goal(threshold=0.6, desired=2)),
    "module of 2 classes": (sl.encoded(network(2)), sl.Goal(threshold=0.6)),
    "module, a range": (sl.encoded(network()), sl.Goal.between(0.6, None)),
    "logistic": (sl.encoded(logistic(TWO)), GOAL),
    "logistic, for class 0": (sl.encoded(logistic(TWO)), sl.Goal(threshold=0.6, desired=0)),
    "logistic of 3 classes": (sl.encoded(logistic(THREE)), sl.Goal(threshold=0.5, desired=2)),
    "logistic, two of 3": (sl.encoded(logistic(THREE)), sl.Goal(threshold=0.8, desired=[0, 2])),
    "linear": (sl.encoded(LinearRegression().fit(POINTS, TOTAL)), sl.Goal.between(1.5, None)),
    "ridge": (sl.encoded(Ridge().fit(POINTS, TOTAL)), sl.Goal.between(None, -1.0)),
}


@pytest.mark.parametrize("kind", STAYING)
def test_a_model_that_stays_there_gives_the_same_paths(kind, on_host):
    model, goal = STAYING[kind]
    wanted = answered("numpy", model, goal)
    on_host.clear()
    given = answered("torch", model, goal)
    assert on_host == []
    assert_same(given, wanted)
    outcomes = set(given.final["outcome"])
    assert "reached" in outcomes
    assert given.final["steps"].max() > 1


class Cautious(LogisticRegression):
    """Not a logistic regression, though it was one once."""

    def predict_proba(self, points):
        return 0.9 * super().predict_proba(points)


ASKED_ON_THE_HOST = {
    "function": sl.encoded(lambda points: 1 / (1 + np.exp(-points.sum(axis=1)))),
    "heir": sl.encoded(Cautious(max_iter=1000).fit(POINTS, TWO)),
    "raw rows": lambda frame: 1 / (1 + np.exp(0.1 * (frame["debt"] - frame["income"] + 25))),
}


@pytest.mark.parametrize("kind", ASKED_ON_THE_HOST)
def test_any_other_model_is_asked_on_the_host(kind, on_host):
    model = ASKED_ON_THE_HOST[kind]
    wanted = answered("numpy", model)
    on_host.clear()
    given = answered("torch", model)
    assert on_host != []
    assert_same(given, wanted)


def test_a_module_that_only_the_host_can_run(on_host, monkeypatch):
    """As one with an operation that its device doesn't know."""
    module, wanted = network(), answered("numpy", sl.encoded(network()))
    on_host.clear()
    monkeypatch.setattr(on_device, "_answers", lambda *given: lambda points: points.no_such_thing)
    given = answered("torch", sl.encoded(module))
    assert on_host != []
    assert_same(given, wanted)


def test_a_model_that_answers_otherwise_there_is_asked_on_the_host(on_host, monkeypatch):
    real = on_device._linear

    def off(*given):
        answers = real(*given)
        return lambda points: answers(points) * 0.99

    wanted = answered("numpy", sl.encoded(logistic(TWO)))
    on_host.clear()
    monkeypatch.setattr(on_device, "_linear", off)
    assert_same(answered("torch", sl.encoded(logistic(TWO))), wanted)
    assert on_host != []


class Failing(torch.nn.Module):
    """Fine where people stand, and nowhere beyond."""

    def forward(self, points):
        score = torch.sigmoid(points.sum(dim=1))
        return torch.where(score > 0.5, torch.nan, score)


def test_what_is_wrong_with_a_model_is_said_as_ever():
    module = Failing()
    step = sl.StEP.published(backend="torch")
    rejected = PEOPLE[POINTS_OF_PEOPLE.sum(axis=1) < -1]
    step.fit(TRAIN, sl.encoded(network()), space=SPACE, goal=GOAL)
    step.scorer_ = Scorer(sl.encoded(module), SPACE, GOAL)
    with pytest.raises(ModelError, match=r"The model Failing returned nan for"):
        step.recourse(rejected)


POINTS_OF_PEOPLE = SPACE.encode(PEOPLE)

# ---- the rest of the method ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"noise": 0.3, "random_state": 5},
        {"distance": "mahalanobis"},
        {"distance": {"debt": 3.0}},
        {"alpha": sl.Unit()},
        {"alpha": sl.Sloped(2.0), "max_steps": 3},
        {"spare_clusters": 1},
    ],
    ids=str,
)
def test_every_setting_gives_the_same_paths(settings):
    model = sl.encoded(logistic(TWO))
    assert_same(answered("torch", model, **settings), answered("numpy", model, **settings))


def test_time_that_is_up_is_said():
    model = sl.encoded(logistic(TWO))
    step = sl.StEP.published(backend="torch").fit(TRAIN, model, space=SPACE, goal=GOAL)
    assert "timed_out" in set(step.recourse(PEOPLE, time_budget=1e-9).status["outcome"])


def test_people_come_in_batches_that_fit(monkeypatch):
    model = sl.encoded(network())
    wanted = answered("torch", model)
    step = sl.StEP.published(paths=3, step_size=0.5, max_steps=8, backend="torch")
    step.fit(TRAIN, model, space=SPACE, goal=GOAL)
    monkeypatch.setitem(published_module.ROOM, "torch", 7 * 8 * 3 * 9 * SPACE.width)
    assert step.batch == 7
    given = step.recourse(PEOPLE)
    within = {"rtol": 1e-9, "atol": 1e-9}
    pd.testing.assert_frame_equal(given.final, wanted.final, **within)


def test_positives_leave_the_device_with_their_method():
    gc.collect()
    before = len(on_device._clusters)
    step = sl.StEP.published(backend="torch")
    step.fit(TRAIN, sl.encoded(network()), space=SPACE, goal=GOAL).recourse(PEOPLE)
    assert len(on_device._clusters) == before + 1
    del step
    gc.collect()
    assert len(on_device._clusters) == before


def test_a_pickle_holds_nothing_of_the_device():
    step = sl.StEP.published(backend="torch").fit(
        TRAIN, sl.encoded(logistic(TWO)), space=SPACE, goal=GOAL
    )
    numpy = sl.StEP.published().fit(TRAIN, sl.encoded(logistic(TWO)), space=SPACE, goal=GOAL)
    for method in (step, numpy):
        method.recourse(PEOPLE)
    assert abs(len(pickle.dumps(step)) - len(pickle.dumps(numpy))) < 200


# ---- what can be asked for ----------------------------------------------------------------------


def test_a_backend_nobody_knows():
    with pytest.raises(
        ParameterError, match="backend must be one of numpy, torch, cuda; got 'gpu'"
    ):
        sl.StEP.published(backend="gpu")


@pytest.mark.parametrize("backend", ["torch", "cuda"])
def test_a_backend_without_torch(monkeypatch, backend):
    monkeypatch.setattr(
        published_module, "find_spec", lambda name: None if name == "torch" else find_spec(name)
    )
    with pytest.raises(ExtraError, match=r"needs torch.*pip install 'stepladder\[torch\]'"):
        sl.StEP.published(backend=backend)


def test_a_gpu_that_is_not_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ParameterError, match="needs an NVIDIA GPU"):
        sl.StEP.published(backend="cuda")


def test_settings_and_repr_say_which():
    assert repr(sl.StEP.published(backend="torch")) == "StEP.published(backend='torch')"
    torch_settings, numpy_settings = (
        sl.StEP.published(backend=backend).settings for backend in ("torch", "numpy")
    )
    assert torch_settings["backend"] == "torch"
    assert torch_settings["tolerance"] == 1e-9
    assert numpy_settings["backend"] == "numpy"
    assert "tolerance" not in numpy_settings
