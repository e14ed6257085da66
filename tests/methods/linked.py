"""A small lender's table whose features hang together, and people who break one of its rules."""

from __future__ import annotations

import numpy as np
import pandas as pd

import stepladder as sl

SCHEMA = sl.Schema(
    [
        sl.Numeric("income", integer=True, change="increase", months=24, unit="$ a month"),
        sl.Numeric(
            "loan",
            integer=True,
            bounds=(1, None),
            change="decrease",
            unit="$",
            times=1000,
            fall="borrow less",
        ),
        sl.Numeric("price", integer=True, change="never", label="home price"),
        sl.Derived("loan_to_value", "loan / price", decimals=3, percent=True),
        sl.Numeric("age", integer=True, change="time", unit="years"),
    ],
    require=["loan <= price"],
)
GOAL = sl.Goal(threshold=0.6)


def score(frame: pd.DataFrame) -> np.ndarray:
    raised = frame["income"] / 1000 - 6 * frame["loan_to_value"] + frame["age"] / 40
    return np.asarray(1 / (1 + np.exp(-raised)))


def _people() -> pd.DataFrame:
    random = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "income": random.integers(2000, 5000, 150),
            "loan": random.integers(50, 200, 150),
            "price": random.integers(100, 220, 150),
        }
    )
    rows["loan_to_value"] = (rows["loan"] / rows["price"]).round(3)
    return rows.assign(age=random.integers(20, 60, 150))


PEOPLE = _people()
REJECTED = PEOPLE[score(PEOPLE) < GOAL.threshold].head(25)


def fitted() -> sl.StEP:
    return sl.StEP(paths=3, step_size=0.5).fit(PEOPLE, score, schema=SCHEMA, goal=GOAL)
