"""A model of the lenders' decisions on the mortgage applications, for the demo to explain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from stepladder.datasets.mortgage import SCHEMA

THRESHOLD = 0.75
"""The model's chance of a yes from which it counts as one.

At 0.5 a model of lenders who say yes to 88 in 100 would hardly turn anyone down; at 0.75 it turns
down about as many as they did.
"""

BETTER_WHEN = {
    "housing_ratio": -1,
    "total_ratio": -1,
    "loan_to_value": -1,
    "income": 1,
    "dependents": 0,
    "units": 0,
    "credit_record": 1,
    "mortgage_record": 1,
    "paperwork": 1,
    "bankruptcy": -1,
    "self_employed": 0,
}
"""What the model looks at, and which way each column may move the score.

Less debt or a better record never lowers it.
"""


def fitted(rows: pd.DataFrame, approved: NDArray[np.int64], seed: int) -> Any:
    """A gradient-boosted model of the lenders' decisions, fitted."""
    levels = {name: SCHEMA.levels[name] for name in BETTER_WHEN if name in SCHEMA.levels}
    numbers = [name for name in BETTER_WHEN if name not in levels]
    columns = make_column_transformer(
        ("passthrough", numbers),
        (OrdinalEncoder(categories=list(levels.values())), list(levels)),
    )
    boosted = HistGradientBoostingClassifier(
        learning_rate=0.05,
        max_iter=100,
        max_leaf_nodes=8,
        monotonic_cst=[BETTER_WHEN[name] for name in (*numbers, *levels)],
        random_state=seed,
    )
    return make_pipeline(columns, boosted).fit(rows, approved)
