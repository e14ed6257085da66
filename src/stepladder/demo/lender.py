"""A model of the lenders' decisions on the mortgage applications, for the demo to explain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from stepladder.datasets.mortgage import CREDIT, MORTGAGE, PAPERWORK

THRESHOLD = 0.75
"""The model's chance of a yes from which it counts as one.

At 0.5 a model of lenders who say yes to 88 in 100 would hardly turn anyone down; at 0.75 it turns
down about as many as they did.
"""


def measures(rows: pd.DataFrame) -> NDArray[np.float64]:
    """What the model looks at: the lender's ratios and ranks, worked out from an application.

    They are worked out here, behind the schema, so that a plan speaks of dollars and its
    numbers can't contradict one another.
    """
    columns = [
        100 * rows["housing_cost"] / rows["income"],
        100 * (rows["housing_cost"] + rows["other_debts"]) / rows["income"],
        100 * rows["loan"] / rows["price"],
        rows["income"],
        rows["credit_record"].map(CREDIT.index),
        rows["mortgage_record"].map(MORTGAGE.index),
        rows["paperwork"] == PAPERWORK[1],
        rows["bankruptcy"] == "yes",
        rows["self_employed"] == "yes",
        rows["dependents"],
        rows["units"],
    ]
    return np.column_stack(columns).astype(np.float64)


BETTER_WHEN = [-1, -1, -1, 1, 1, 1, 1, -1, 0, 0, 0]
"""Which way each measure may move the score: less debt or a better record never lowers it."""


def fitted(rows: pd.DataFrame, approved: NDArray[np.int64], seed: int) -> Any:
    """A gradient-boosted model of the lenders' decisions, fitted."""
    boosted = HistGradientBoostingClassifier(
        learning_rate=0.05,
        max_iter=100,
        max_leaf_nodes=8,
        monotonic_cst=BETTER_WHEN,
        random_state=seed,
    )
    return make_pipeline(FunctionTransformer(measures), boosted).fit(rows, approved)
