"""What the contract suite asks of and about: every method, three kinds of model, one small table.

The methods come from the catalogue, so that a new one is held to the contract without a word here.
Each is fitted once per process: `recourse` leaves a method as it was, and a test says so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from inspect import signature
from itertools import product
from pathlib import Path as File
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import stepladder as sl
from stepladder.methods import catalogue
from stepladder.methods.base import Method
from stepladder.result.path import Path

# ---- the table ----------------------------------------------------------------------------------

STUDIES = ["none", "school", "bachelor", "master"]
LATE = [0, 1, 2, 3]
JOBS = ["clerk", "nurse", "smith"]
HOMES = ["home_rent", "home_own", "home_kin"]

SCHEMA = sl.Schema(
    [
        sl.Numeric("income", bounds=(0, 120), typical=(10, 100), integer=True),
        sl.Numeric("debt", bounds=(0, 9), decimals=2, change="decrease"),
        sl.Numeric("savings", bounds=(-4, 4)),
        sl.Numeric("years", bounds=(0, 40), change="increase"),
        sl.Ordinal("studies", levels=STUDIES, change="increase"),
        sl.Ordinal("late", levels=LATE, change="decrease"),
        sl.Categorical("job", levels=JOBS),
        sl.Categorical("home", levels=["rent", "own", "kin"], onehot=HOMES),
        sl.Categorical("owner", levels=[False, True]),
        sl.Numeric("age", bounds=(18, 99), change="never", integer=True),
        sl.Categorical("sex", levels=["f", "m"], change="never"),
    ]
)
"""Every kind of feature, each way to change, and bounds that hold private methods' ranges too."""


def table(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    home = rng.integers(len(HOMES), size=rows)
    return pd.DataFrame(
        {
            "income": rng.integers(10, 100, rows),
            "debt": rng.uniform(0, 9, rows).round(2),
            "savings": rng.normal(size=rows).clip(-3, 3).astype("float32"),
            "years": rng.uniform(0, 20, rows),
            "studies": rng.choice(STUDIES, rows),
            "late": rng.choice(LATE, rows),
            "job": rng.choice(JOBS, rows),
            **{column: (home == i).astype(int) for i, column in enumerate(HOMES)},
            "owner": rng.random(rows) < 0.5,
            "age": rng.choice([30, 50], rows),  # few, so that FACE finds rows of one's own age
            "sex": rng.choice(["f", "m"], rows),
        },
        index=[f"person {i}" for i in range(rows)],
    )


def liked(frame: pd.DataFrame) -> pd.Series:
    """Who got a loan so far: the labels that the models learn."""
    total = (
        frame["income"] / 25
        - frame["debt"] / 3
        + frame["savings"] / 2
        + frame["years"] / 8
        + frame["studies"].map(STUDIES.index) / 2
        - frame["late"] / 2
        + (frame["job"] == "smith")
        + frame["home_own"]
        + frame["owner"]
    )
    return total > 3.0


TRAIN = table(300, seed=0)
LABELS = liked(TRAIN)
GOAL = sl.Goal(threshold=0.7)
COLUMNS = list(TRAIN.columns)
SPACE = sl.Space.from_schema(SCHEMA, TRAIN)
"""Declared by the schema, not learned: the encoded model and private methods agree on it."""

# ---- three kinds of model -----------------------------------------------------------------------
#
# Each judges every row by itself: a product of matrices may round a row otherwise among others, and
# rows that are found by scores would then differ in the last bit, through no fault of the method.


class Logistic(LogisticRegression):
    """Adds up each row on its own."""

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return (X * self.coef_[0]).sum(axis=1) + self.intercept_[0]


class Linear(torch.nn.Linear):
    """Adds up each row on its own."""

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        return (points[:, None] * self.weight).sum(dim=2) + self.bias


class Dropout(torch.nn.Module):
    """A small network that is left in training mode, where the same row scores differently."""

    def __init__(self, width: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.Sequential(
            Linear(width, 12),
            torch.nn.ReLU(),
            torch.nn.Dropout(0.5),
            Linear(12, 12),
            torch.nn.Tanh(),
            Linear(12, 1),
            torch.nn.Sigmoid(),
        ).double()

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        return self.layers(points)[:, 0]


def flags(module: torch.nn.Module) -> list[bool]:
    """Which parts of a network are in training mode."""
    return [part.training for part in module.modules()]


def _encoded() -> sl.Encoded:
    random = torch.get_rng_state()
    try:
        network = Dropout(SPACE.width)
        points = torch.as_tensor(SPACE.encode(TRAIN))
        wanted = torch.as_tensor(LABELS.to_numpy(float))
        network.eval()
        pace = torch.optim.Adam(network.parameters(), lr=0.02)
        for _ in range(150):
            pace.zero_grad()
            torch.nn.functional.binary_cross_entropy(network(points), wanted).backward()
            pace.step()
    finally:
        torch.set_rng_state(random)
    network.train()
    network.layers[3].eval()  # as one freezes a part
    return sl.encoded(network)


def numbers(frame: pd.DataFrame) -> np.ndarray:
    """Rows as a classifier takes them; many times quicker than a transformer for each column."""
    texts = {"studies": STUDIES, "job": JOBS, "sex": ["f", "m"]}
    columns = []
    for column in COLUMNS:
        cells = frame[column].to_numpy()
        columns += [cells == level for level in texts[column]] if column in texts else [cells]
    return np.stack([np.asarray(column, dtype=float) for column in columns], axis=1)


def _pipeline(*steps: Any) -> Any:
    return make_pipeline(FunctionTransformer(numbers), *steps).fit(TRAIN, LABELS)


MODELS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: _pipeline(StandardScaler(), Logistic()),
    "trees": lambda: _pipeline(GradientBoostingClassifier(n_estimators=25, random_state=0)),
    "torch": _encoded,
}


@cache
def model(kind: str) -> Any:
    return MODELS[kind]()


def scores(kind: str, frame: pd.DataFrame) -> np.ndarray:
    """What the model says of rows, asked without the library's scorer."""
    if kind != "torch":
        return np.asarray(model(kind).predict_proba(frame[COLUMNS])[:, 1])
    network = model(kind).model
    points = torch.as_tensor(SPACE.encode(frame[COLUMNS]))
    for layer in network.layers:  # by hand, without dropout, and without touching its flags
        points = points if isinstance(layer, torch.nn.Dropout) else layer(points)
    return np.asarray(points[:, 0].detach())


# ---- every method -------------------------------------------------------------------------------

SMALL = {"random_state": 3, "samples": 300, "rounds": 8, "epochs": 3, "distance_threshold": 7.0}
"""Settings for a table this small, that also make slow methods quick: for whichever knows them."""


def _small(name: str) -> dict[str, Any]:
    """The settings of that method in this suite: small ones, and two paths where it has several."""
    module, title = catalogue.WHERE[name.removesuffix(catalogue.AS_PUBLISHED)]
    maker = getattr(import_module(module), title)
    known = signature(maker.published if name.endswith(catalogue.AS_PUBLISHED) else maker)
    paths = min(2, known.parameters["paths"].default)
    return {"paths": paths, **{k: v for k, v in SMALL.items() if k in known.parameters}}


CENTRES = (_public := table(200, seed=9))[liked(_public)].iloc[:2]
"""Rows of another table, which is public."""

ONCE, PER_DIRECTION = "step, paid once", "step, paid per direction"
NOISY = "step.published, noisy"
"""Which imitates people who stray, of two alike each in their own way."""


def _of_the_guide() -> type[Method]:
    """The method that docs/methods.md shows how to write."""
    page = File(__file__).parents[2] / "docs" / "methods.md"
    code = page.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {"__name__": "guide"}
    exec(compile(code, str(page), "exec"), names)
    found: type[Method] = names["Nearest"]
    # Pickles find a class by where it is.
    sys.modules["guide"] = ModuleType("guide")
    sys.modules["guide"].Nearest = found  # type: ignore[attr-defined]
    return found


def _backends() -> dict[str, Callable[[], Method]]:
    """The published StEP on every backend that this machine has, beside NumPy."""
    found = ["torch", "cuda"] if torch.cuda.is_available() else ["torch"]
    return {
        f"step.published, {backend}": lambda backend=backend: sl.StEP.published(
            paths=2, random_state=3, backend=backend
        )
        for backend in found
    }


GUIDE = "the guide's own"
_Nearest = _of_the_guide()

METHODS: dict[str, Callable[[], Method]] = {
    GUIDE: lambda: _Nearest(paths=2),
    **{name: lambda name=name: catalogue.make(name, _small(name)) for name in catalogue.NAMES},
    NOISY: lambda: sl.StEP.published(paths=2, random_state=3, noise=0.3),
    **_backends(),
    ONCE: lambda: sl.StEP(paths=2, random_state=3, privacy=sl.Budget(8, 1e-6)),
    PER_DIRECTION: lambda: sl.StEP(
        paths=2,
        random_state=3,
        privacy=sl.PayPerDirection(sl.Budget(50, 1e-6), steps=400, centres=CENTRES),
        max_steps=4,
    ),
}


def rounding(name: str) -> float:
    """How far a method's rows may be off, alone, in a batch or in another order.

    Not at all; but torch multiplies rows otherwise by where they stand, and GPUs add up as they go.
    """
    return float(METHODS[name]().settings.get("tolerance", 0.0))


HONOURING = [name for name, make in METHODS.items() if make().honours_rules]
"""Those that keep the schema's rules."""
REPEATABLE = [name for name in METHODS if name != PER_DIRECTION]
"""Those whose answers aren't drawn anew each time, and spend nothing of a budget."""
SEEDED = [name for name in REPEATABLE if name != ONCE]
"""Those of which two are alike if their seeds are: private noise has none."""


def fit(method: Method, kind: str = "logistic") -> Method:
    return method.fit(TRAIN, model(kind), goal=GOAL, space=SPACE)


@cache
def fitted(name: str, kind: str = "logistic") -> Method:
    return fit(METHODS[name](), kind)


@cache
def people(kind: str = "logistic") -> pd.DataFrame:
    """Four who are turned down, one who is accepted, and one without a value."""
    asked = table(60, seed=1)
    met = scores(kind, asked) >= GOAL.threshold
    lacking = asked[~met].iloc[[4]].assign(years=np.nan)
    return pd.concat([asked[~met].iloc[:2], asked[met].iloc[:1], asked[~met].iloc[2:4], lacking])


ACCEPTED, LACKING = 2, 5
"""Where those two stand among the people."""


@cache
def answer(name: str, kind: str = "logistic") -> sl.Recourse:
    """What the method says of those people, asked about together."""
    return fitted(name, kind).recourse(people(kind))


@cache
def alone(name: str, kind: str = "logistic") -> list[list[Path]]:
    """What it says of each of them by themselves."""
    method = fitted(name, kind)
    return [method.recourse(people(kind).iloc[[i]]).routes[0] for i in range(len(people(kind)))]


# ---- a table full of ties -----------------------------------------------------------------------

LATTICE = pd.DataFrame(list(product(range(6), repeat=4)), columns=list("abcd"))
"""Every row there can be, so that many lie equally far from any one."""


def enough(frame: pd.DataFrame) -> np.ndarray:
    return np.where(frame.sum(axis=1) >= 9, 0.9, 0.1)


def on_the_lattice(name: str) -> Method:
    """A method that is fitted there: what is near, the last bit must not decide."""
    features = [
        sl.Numeric(
            column,
            bounds=(0, 9),
            typical=(0, 5.7),
            integer=True,
            change="increase" if column in "bd" else "any",
        )
        for column in LATTICE
    ]
    space = sl.Space.from_schema(sl.Schema(features), LATTICE)
    return METHODS[name]().fit(LATTICE, enough, goal=GOAL, space=space)
