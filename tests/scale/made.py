"""A small table with every kind of column, and methods fitted on it whose answers workers can give.

The model is one that Python finds by itself, since workers are processes of their own, and judges
every row by itself, so that nothing depends on who else is asked about.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import stepladder as sl

LEVELS = {"studies": ["none", "school", "master"], "job": ["clerk", "nurse", "smith"]}
SCHEMA = sl.Schema(
    [
        sl.Numeric("income", bounds=(0, 200), integer=True),
        sl.Numeric("debt", bounds=(0, 20), decimals=2, change="decrease"),
        sl.Ordinal("studies", levels=LEVELS["studies"], change="increase"),
        sl.Categorical("job", levels=LEVELS["job"]),
        sl.Numeric("age", change="never", integer=True),
    ]
)


def table(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": rng.integers(10, 100, rows),
            "debt": rng.uniform(0, 9, rows).round(2),
            "studies": rng.choice(LEVELS["studies"], rows),
            "note": "no feature",
            "job": pd.Categorical(rng.choice(LEVELS["job"], rows), LEVELS["job"]),
            "age": rng.integers(20, 70, rows),
        },
        index=[f"person {i}" for i in range(rows)],
    )


@cache
def model() -> object:
    rows = table(400, seed=0)
    liked = rows["income"] / 20 - rows["debt"] / 2 + (rows["job"] == "smith") > 1.5
    coded = make_column_transformer(
        (OrdinalEncoder(categories=list(LEVELS.values())), list(LEVELS)), remainder="passthrough"
    )
    trees = GradientBoostingClassifier(n_estimators=10, random_state=0)
    return make_pipeline(coded, trees).fit(rows.drop(columns="note"), liked)


def fit(method: sl.Method) -> sl.Method:
    goal = sl.Goal(threshold=0.6)
    return method.fit(table(400, seed=0), model(), schema=SCHEMA, goal=goal)


@cache
def fitted(name: str = "step") -> sl.Method:
    makers = {
        "step": lambda: sl.StEP(paths=2),
        "published": lambda: sl.StEP.published(paths=2),
        "noisy": lambda: sl.StEP.published(paths=2, noise=0.3),
    }
    return fit(makers[name]())


FRAMES = ("final", "paths", "changes", "status")


def assert_same(given: sl.Recourse, wanted: sl.Recourse) -> None:
    """That two results are the same to the last bit."""
    assert given.people.dtype == wanted.people.dtype
    assert given.people.tolist() == wanted.people.tolist()
    for name in FRAMES:
        one, other = getattr(given, name), getattr(wanted, name)
        assert type(one) is type(other)
        if not isinstance(one, pd.DataFrame):
            assert one.schema == other.schema
            one, other = one.to_pandas(), other.to_pandas()
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    np.testing.assert_array_equal(given.nearness, wanted.nearness)
    assert (given.settings, given.set_aside) == (wanted.settings, wanted.set_aside)
    assert (given.reference, given.dropped) == (wanted.reference, wanted.dropped)
