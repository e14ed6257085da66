"""The golden case: 400 people of Credit walked by an independent implementation of the paper.

It lies in a folder `golden` beside the tables (STEPLADDER_DATA), or in `../shared/golden` beside
the repository; its README says what each array holds.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.linear_model import LogisticRegression

import stepladder as sl


def golden_file() -> Path:
    """Where the golden case should lie."""
    if data := os.environ.get("STEPLADDER_DATA"):
        return Path(data).parent / "golden" / "credit_lr.npz"
    return Path(__file__).parents[2] / "shared" / "golden" / "credit_lr.npz"


@dataclass(frozen=True, eq=False)
class Given:
    """A clusterer that was told the answer."""

    labels: np.ndarray
    n_clusters: int = 3

    def get_params(self, deep: bool = False) -> dict:
        return {}

    def set_params(self, **settings: object) -> Given:
        return self

    def __sklearn_clone__(self) -> Given:
        return self

    def fit_predict(self, points: np.ndarray) -> np.ndarray:
        assert len(points) == len(self.labels)
        return self.labels


class Golden:
    """The case as raw rows over a space in which they encode to the very points of the file.

    Numeric features are their own standardised values (mean 0, deviation 1); SEX and MARRIAGE are
    categories again, and EDUCATION is a level from 0 to 4.
    """

    def __init__(self, file: Path) -> None:
        with np.load(file) as arrays:
            self.arrays = dict(arrays)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name]

    @cached_property
    def columns(self) -> list[str]:
        return [str(name) for name in self["feature_names"]]

    @cached_property
    def education(self) -> int:
        return self.columns.index("EDUCATION")

    @cached_property
    def lowest(self) -> float:
        """EDUCATION's lowest level in standardised units."""
        return float(min(self[name][:, self.education].min() for name in ("positives", "points")))

    def rows(self, points: np.ndarray) -> pd.DataFrame:
        alone = self["onehot_group"] == -1
        frame = pd.DataFrame(points[:, alone], columns=np.array(self.columns)[alone])
        level = (frame["EDUCATION"] - self.lowest) / self["ordinal_unit"][self.education]
        frame["EDUCATION"] = level.round().astype(int)
        frame["SEX"] = points[:, self["onehot_group"] == 0][:, 0].astype(int)
        frame["MARRIAGE"] = points[:, self["onehot_group"] == 1].argmax(axis=1)
        return frame

    @cached_property
    def schema(self) -> sl.Schema:
        immutable = dict(zip(self.columns, self["immutable"], strict=True))
        features: list = []
        for name in self.rows(self["points"]).columns:
            if name == "EDUCATION":
                features.append(sl.Ordinal(name, levels=range(5), change="increase"))
            elif name in ("SEX", "MARRIAGE"):
                levels = range(2 if name == "SEX" else 4)
                features.append(sl.Categorical(name, levels=levels, change="never"))
            else:
                features.append(sl.Numeric(name, change="never" if immutable[name] else "any"))
        return sl.Schema(features)

    @cached_property
    def space(self) -> sl.Space:
        fitted = sl.Space.fit(self.schema, self.rows(self["positives"]))
        center, scale = np.zeros(fitted.width), np.ones(fitted.width)
        unit = self["ordinal_unit"][self.education]
        center[self.education], scale[self.education] = -self.lowest / unit, 1.0 / unit
        return sl.Space(fitted.schema, fitted.template, center, scale)

    def model(self, points: np.ndarray) -> np.ndarray:
        return 1.0 / (1.0 + np.exp(-(points @ self["coef"] + self["intercept"])))

    def linear(self) -> LogisticRegression:
        """The same model as scikit-learn has it."""
        model = LogisticRegression()
        model.coef_, model.intercept_ = self["coef"][None], np.atleast_1d(self["intercept"])
        model.classes_, model.n_features_in_ = np.array([0, 1]), len(self.columns)
        return model

    def module(self) -> torch.nn.Module:
        """The same model as torch has it."""
        linear = torch.nn.Linear(len(self.columns), 1, dtype=torch.float64)
        with torch.no_grad():
            linear.weight[:] = torch.as_tensor(self["coef"])
            linear.bias[:] = float(self["intercept"].item())
        return torch.nn.Sequential(linear, torch.nn.Sigmoid())

    def published(self, backend: str = "numpy", model: Any = None) -> sl.StEP:
        """The published method, fitted on the case's positives with the case's clusters."""
        step = sl.StEP.published(
            backend=backend,
            paths=3,
            step_size=float(self["step_size"]),
            max_steps=int(self["max_steps"]),
            alpha=sl.Volcano(float(self["volcano_degree"]), float(self["volcano_cutoff"])),
            clusterer=Given(self["cluster"]),
        )
        goal = sl.Goal(threshold=float(self["threshold"]))
        rows = self.rows(self["positives"])
        return step.fit(rows, sl.encoded(model or self.model), space=self.space, goal=goal)
