"""The tasks of `make bench-advice`: a table, a kind of model and a seed, and who is turned down.

A model is a scikit-learn pipeline on raw rows, so that it can be cloned and retrained. What takes
a while (retrained models) is kept under build/advice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import stepladder as sl
from stepladder import datasets
from stepladder.files import replacing

KEPT = Path(__file__).parents[1] / "build" / "advice"

SEEDS = {"credit_default": 3, "adult": 3, "give_me_some_credit": 1, "mortgage": 3}
"""The tables, and with how many seeds each."""
GOALS = (0.5, 0.7)
TURNED_DOWN = 0.5
"""People who score below it are turned down, whatever they then plan for."""
PEOPLE = 50
TRAIN = 6000
"""Rows that a model learns from, and that methods have for reference."""
FRESH = 48
"""Retrained models that no method has seen: they say whether a route holds."""
FRESH_FROM = 1_000_000
"""The seed of the first of those; successors for planning have small ones."""

Floats = NDArray[np.float64]


def _logistic(seed: int) -> Any:
    return LogisticRegression(max_iter=500, random_state=seed)


def _forest(seed: int) -> Any:
    return RandomForestClassifier(40, min_samples_leaf=10, random_state=seed)


def _boosted(seed: int) -> Any:
    return HistGradientBoostingClassifier(
        learning_rate=0.1, max_iter=60, max_leaf_nodes=15, random_state=seed
    )


def _network(seed: int) -> Any:
    return MLPClassifier((16, 16), alpha=0.01, max_iter=40, random_state=seed)


MODELS: dict[str, Callable[[int], Any]] = {
    "logistic": _logistic,
    "forest": _forest,
    "boosted": _boosted,
    "network": _network,
}


def untrained(schema: sl.Schema, kind: str, seed: int) -> Any:
    """A pipeline for raw rows of this schema."""
    levels = {name: list(known) for name, known in schema.levels.items()}
    categories = [f.name for f in schema.features if f.kind == "categorical"]
    ladders = [f.name for f in schema.features if f.kind == "ordinal" and _is_text(levels[f.name])]
    numbers = [name for name in schema.names if name not in (*categories, *ladders)]
    columns = make_column_transformer(
        (StandardScaler(), numbers),
        (OrdinalEncoder(categories=[levels[name] for name in ladders]), ladders),
        (OneHotEncoder(categories=[levels[name] for name in categories]), categories),
        sparse_threshold=0,
    )
    return make_pipeline(columns, MODELS[kind](seed))


def _is_text(levels: list[Any]) -> bool:
    return isinstance(levels[0], str)


@dataclass(frozen=True, eq=False)
class Task:
    """What every method is given."""

    table: str
    kind: str
    seed: int
    train: pd.DataFrame
    labels: NDArray[np.int64]
    model: Any
    people: pd.DataFrame
    """those who are turned down, numbered from 0"""

    @property
    def name(self) -> str:
        return f"{self.table}-{self.kind}-{self.seed}"

    @cached_property
    def schema(self) -> sl.Schema:
        return schema_of(self.table)

    def score(self, rows: pd.DataFrame, model: Any = None) -> Floats:
        model = self.model if model is None else model
        return np.asarray(model.predict_proba(rows[self.train.columns])[:, 1], dtype=np.float64)

    @cached_property
    def fresh(self) -> list[Any]:
        """Models retrained on rows drawn anew, none of which a method was shown."""
        models: list[Any] = kept(
            f"fresh/{self.name}",
            lambda: [retrained(self, FRESH_FROM + i) for i in range(FRESH)],
        )
        return models


def retrained(task: Task, seed: int) -> Any:
    """The same kind of model, trained on as many rows drawn with replacement, and another seed."""
    random = np.random.default_rng([task.seed, seed])
    rows = random.integers(0, len(task.train), len(task.train))
    model = clone(task.model)
    model.steps[-1][1].set_params(random_state=int(random.integers(2**31)))
    return model.fit(task.train.iloc[rows], task.labels[rows])


@lru_cache(maxsize=2)
def prepared(table: str, kind: str, seed: int) -> Task:
    """A task made ready: trained, and the first people who are turned down found."""
    parts = kept(f"tasks/{table}-{kind}-{seed}", lambda: _prepare(table, kind, seed))
    return Task(table, kind, seed, *parts)


def schema_of(table: str) -> sl.Schema:
    schema: sl.Schema = import_module(f"stepladder.datasets.{table}").SCHEMA
    return schema


def _prepare(table: str, kind: str, seed: int) -> tuple[Any, ...]:
    data = _loaded(table)
    split = data.split(seed)
    rows = split.train[:TRAIN]
    train, labels = data.rows.iloc[rows].reset_index(drop=True), data.labels[rows]
    model = untrained(data.schema, kind, seed).fit(train, labels)
    # Lenders turned down so few of the mortgages that some of those it learned from are needed too.
    others = data.rows.iloc[np.concatenate([split.test, split.validation, rows])]
    refused = model.predict_proba(others)[:, 1] < TURNED_DOWN
    people = others[refused].head(PEOPLE).reset_index(drop=True)
    return train, labels, model, people


@lru_cache(maxsize=1)
def _loaded(table: str) -> datasets.Dataset:
    return datasets.load(table)


def tasks() -> list[tuple[str, str, int]]:
    """Table, kind of model and seed of every task, seed by seed."""
    return [
        (table, kind, seed)
        for seed in range(max(SEEDS.values()))
        for table, kind in product(SEEDS, MODELS)
        if seed < SEEDS[table]
    ]


def kept(name: str, make: Callable[[], Any]) -> Any:
    """What was made before, or is made now and kept."""
    file = KEPT / f"{name}.joblib"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as unfinished:
            joblib.dump(make(), unfinished, compress=1)
    return joblib.load(file)
