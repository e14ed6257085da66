"""What the tests of several commands share: a small table of people who want a loan."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def table() -> Callable[..., pd.DataFrame]:
    """A function that makes one: table(rows, seed=1). A model sees job, income, debt and age."""

    def made(rows: int, seed: int = 1) -> pd.DataFrame:
        random = np.random.default_rng(seed)
        frame = pd.DataFrame(
            {
                "job": random.choice(["clerk", "smith", "None"], rows),
                "income": random.normal(30, 8, rows).round(2),
                "debt": random.uniform(1, 20, rows).round(2),
                "age": random.integers(20, 60, rows),
                "sex": random.choice(["f", "m"], rows),
            }
        )
        frame["approved"] = np.where(frame["income"] - frame["debt"] > 20, "yes", "no")
        return frame

    return made
