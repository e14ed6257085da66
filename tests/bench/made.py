"""Small results made by hand, so that every figure can be worked out on paper."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from stepladder.bench.estimates import Estimates

CREDIT, LR = "credit_default", "logistic_regression"


class Made:
    """Rows and cells, added a trial at a time."""

    def __init__(self):
        self.rows, self.cells = [], []

    def trial(self, method="step", seed=0, dataset=CREDIT, model=LR, error="", **facts):
        """A trial; keyword arguments with lists are figures, one value a person, others facts."""
        key = {"dataset": dataset, "model": model, "method": method, "seed": seed}
        estimates = {name: given for name, given in facts.items() if isinstance(given, Sequence)}
        people = len(next(iter(estimates.values()), ()))
        for person in range(people):
            own = {name: float(values[person]) for name, values in estimates.items()}
            self.rows.append({**key, "person": person, **own})
        known = {"people": people, "seconds_fit": 0.0, "seconds": 0.0, "dropped": 0}
        known |= {name: given for name, given in facts.items() if name not in estimates}
        cell = {"model_calls": 0, "model_rows": 0, "peak_mib": 0.0, "settings": "{}"}
        self.cells.append({**key, **cell, "versions": '{"numpy": "2.4"}', **known, "error": error})
        return self

    def frames(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        keys = ["dataset", "model", "method", "seed"]
        return pd.DataFrame(self.rows, columns=None if self.rows else keys), pd.DataFrame(
            self.cells
        )

    def estimates(self) -> Estimates:
        return Estimates(*self.frames())
