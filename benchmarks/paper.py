"""The paper's three tables, cleaned as its authors did, and its models, for tests and benchmarks.

They lie in the folder that STEPLADDER_DATA names; nothing here is downloaded.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import stepladder as sl


def data_folder() -> Path | None:
    """Where the tables lie: STEPLADDER_DATA, or `../shared/data` beside the repository."""
    named = os.environ.get("STEPLADDER_DATA")
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(named) if named else beside
    return folder if folder.is_dir() else None


@dataclass(frozen=True)
class Table:
    """A cleaned table: raw rows, labels (1 is the good outcome) and the rules for changes."""

    name: str
    rows: pd.DataFrame
    labels: NDArray[np.int64]
    schema: sl.Schema

    def split(self, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Train and test positions: 70 and 15 per cent, as the paper splits."""
        train, rest = train_test_split(np.arange(len(self.rows)), test_size=0.3, random_state=seed)
        _, test = train_test_split(rest, test_size=0.5, random_state=seed)
        return train, test


def credit(folder: Path) -> Table:
    raw = pd.read_csv(folder / "credit_default.csv.gz").drop(columns="ID")
    labels = (raw.pop("default payment next month") == 0).to_numpy().astype(int)
    raw = raw.rename(columns={"PAY_0": "PAY_1"})
    late = [f"PAY_{i}" for i in range(1, 7)]
    raw[late] = raw[late].clip(lower=0)
    raw["EDUCATION"] = raw["EDUCATION"].replace({0: 5, 6: 5})
    schema = sl.Schema.infer(
        raw,
        never=["SEX", "MARRIAGE", "AGE"],
        increase=["EDUCATION"],
        ordinal={"EDUCATION": [5, 4, 3, 2, 1]},
        categorical=["SEX", "MARRIAGE"],
    )
    return Table("credit", raw, labels, schema)


def gmsc(folder: Path) -> Table:
    raw = pd.read_csv(folder / "give_me_some_credit.csv.gz").dropna().reset_index(drop=True)
    labels = (raw.pop("SeriousDlqin2yrs") == 0).to_numpy().astype(int)
    return Table("gmsc", raw, labels, sl.Schema.infer(raw, never=["age"]))


def adult(folder: Path) -> Table:
    raw = pd.read_csv(folder / "adult.csv.gz").dropna().reset_index(drop=True)
    labels = (raw.pop("income") == ">50K").to_numpy().astype(int)
    raw = raw.drop(columns=["education", "fnlwgt"])
    fixed = ["age", "marital-status", "relationship", "race", "sex", "native-country"]
    schema = sl.Schema.infer(raw, never=fixed, increase=["education-num"])
    return Table("adult", raw, labels, schema)


TABLES: dict[str, Callable[[Path], Table]] = {"credit": credit, "gmsc": gmsc, "adult": adult}


def logistic(points: NDArray[np.float64], labels: NDArray[np.int64], seed: int) -> Any:
    model = LogisticRegression(class_weight="balanced", max_iter=1000, random_state=seed)
    return model.fit(points, labels)


def network(points: NDArray[np.float64], labels: NDArray[np.int64], seed: int) -> Any:
    """The paper's two-layer network: 16 and 32 units, two sigmoid outputs, five epochs of Adam."""
    import torch
    from torch import nn

    torch.manual_seed(seed)
    net = nn.Sequential(
        nn.Linear(points.shape[1], 16),
        nn.ReLU(),
        nn.Linear(16, 32),
        nn.ReLU(),
        nn.Linear(32, 2),
        nn.Sigmoid(),
    )
    x = torch.tensor(points, dtype=torch.float32)
    y = torch.tensor(np.stack([1 - labels, labels], axis=1), dtype=torch.float32)
    optimiser, loss = torch.optim.Adam(net.parameters(), lr=1e-3), nn.BCELoss()
    for _ in range(5):
        order = torch.randperm(len(x))
        for batch in (order[start : start + 64] for start in range(0, len(x), 64)):
            optimiser.zero_grad()
            loss(net(x[batch]), y[batch]).backward()
            optimiser.step()
    return net.eval()


MODELS: dict[str, Callable[[NDArray[np.float64], NDArray[np.int64], int], Any]] = {
    "lr": logistic,
    "dnn": network,
}
