"""The published method as one would first write it, in pandas: one person and one step at a time.

The rules are those of `StEP.published()`; the point is to have them once more, written plainly,
to compare end points and time with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class PlainLoop:
    """Leads one person to one cluster. Column names are those of the encoded frame."""

    model: Any
    changeable: list[str]
    increase_only: list[str]
    ordinal_units: dict[str, float]
    onehot_groups: list[list[str]]
    threshold: float = 0.7
    step_size: float = 1.0
    max_steps: int = 50
    degree: float = 2.0
    cutoff: float = 0.5

    def path(self, person: pd.Series[float], cluster: pd.DataFrame) -> tuple[pd.Series[float], int]:
        """The last point of the path and the number of steps it took."""
        point = person.copy()
        for step in range(self.max_steps):
            if self.score(point) >= self.threshold:
                return point, step
            move = self.move(point, cluster).reindex(point.index, fill_value=0.0)
            point = self.snap(point + move)
        return point, self.max_steps

    def score(self, point: pd.Series[float]) -> float:
        return float(self.model.predict_proba(point.to_numpy()[None])[0, 1])

    def move(self, point: pd.Series[float], cluster: pd.DataFrame) -> pd.Series[float]:
        differences = cluster[self.changeable] - point[self.changeable]
        distances = np.sqrt((differences**2).sum(axis=1))
        weights = 1.0 / distances.clip(lower=self.cutoff) ** self.degree
        direction = differences.mul(weights, axis=0).sum()
        move: pd.Series[float] = direction / np.linalg.norm(direction) * self.step_size
        for name, unit in self.ordinal_units.items():
            move[name] = round(move[name] / unit) * unit
        for name in self.increase_only:
            move[name] = max(move[name], 0.0)
        return move

    def snap(self, point: pd.Series[float]) -> pd.Series[float]:
        for group in self.onehot_groups:
            chosen = str(point[group].idxmax())
            point[group] = 0.0
            point[chosen] = 1.0
        return point
