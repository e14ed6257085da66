"""dice-ml's descent on a torch module, under one person's constraints.

The library descends in its own coordinates: numbers from 0 to 1 between the ends of the table,
then a column for every level of every category. It imports torch, so `DiCE` imports this only
when it's asked for the gradient.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
import torch
from dice_ml.explainer_interfaces.dice_pytorch import DicePyTorch
from dice_ml.model_interfaces.pytorch_model import PyTorchModel

from stepladder.methods.dice_library import Data, Declared
from stepladder.model.goal import Goal
from stepladder.model.scorer import Scorer
from stepladder.table.feature import Categorical, Derived
from stepladder.table.space import Floats, Space

LEAST_ITERATIONS = 500
"""The library's own: it descends at least so long."""


class Coordinates:
    """The library's coordinates of a row: what it calls a transformer."""

    def __init__(self, declared: Declared) -> None:
        self.declared = declared
        self.low, high = declared.ends
        self.span = np.where(high > self.low, high - self.low, 1.0)
        self.names = [declared.names[c] for c in declared.numbers]
        self.slices: dict[int, slice] = {}
        for c in declared.categories.tolist():
            first = len(self.names)
            self.names += [f"{declared.names[c]}_{level}" for level in range(declared.levels[c])]
            self.slices[c] = slice(first, len(self.names))

    def of(self, rows: Floats) -> Floats:
        numbers = self.declared.numbers
        found = np.zeros((len(rows), len(self.names)))
        found[:, : len(numbers)] = (rows - self.low)[:, numbers] / self.span[numbers]
        for c, where in self.slices.items():
            found[np.arange(len(rows)), where.start + rows[:, c].astype(np.intp)] = 1.0
        return found

    # What follows has the library's names.

    def feed_data_params(self, data_interface: Any) -> None:
        """Nothing to learn."""

    def initialize_transform_func(self) -> None:
        """Nothing to make."""

    def transform(self, data: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame(self.of(self.declared.array(data)), columns=self.names)

    def inverse_transform(self, data: pd.DataFrame) -> pd.DataFrame:
        found = data[self.names].to_numpy(np.float64)
        numbers = self.declared.numbers
        rows = np.zeros((len(found), len(self.declared.levels)))
        rows[:, numbers] = found[:, : len(numbers)] * self.span[numbers] + self.low[numbers]
        for c, where in self.slices.items():
            rows[:, c] = found[:, where].argmax(axis=1)
        decimals = self.declared.decimals
        for c in numbers:
            rows[:, c] = rows[:, c].round(int(decimals[c]))
        return self.declared.frame(rows)


class Shared(torch.nn.Module):
    """Coordinates in, the rescaled score of the goal out; differentiable all the way."""

    def __init__(self, scorer: Scorer, coordinates: Coordinates, spread: float) -> None:
        super().__init__()
        model = copy.deepcopy(scorer.model).cpu().float().eval()  # the caller's stays as it is
        self.model = model.requires_grad_(False)
        self.goal, self.spread = scorer.goal, spread
        slope, offset = _inputs(scorer, coordinates)
        self.slope = torch.as_tensor(slope, dtype=torch.float32)
        self.offset = torch.as_tensor(offset, dtype=torch.float32)

    def forward(self, found: Any) -> Any:
        rows = found.reshape(-1, len(self.slope)).float() @ self.slope + self.offset
        answer = self.model(rows)
        score = _picked(answer.reshape(len(rows), -1), self.goal)
        share = _rescaled(score, self.goal, self.spread)[:, None]
        return share if found.ndim == 2 else share[0]


class Gradient(DicePyTorch):  # type: ignore[misc]  # dice-ml ships no types
    """The library's descent, kept inside a person's box at every step."""

    @classmethod
    def over(cls, data: Data, scorer: Scorer, spread: float) -> Gradient:
        coordinates = Coordinates(data.declared)
        with torch.random.fork_rng(devices=[]):
            model = PyTorchModel(Shared(scorer, coordinates, spread))
            model.model_type = "classifier"
            model.transformer = coordinates
            explainer = cls(data, model)
        explainer.coordinates = coordinates
        return explainer

    def limited(
        self, start: Floats, lower: Floats, upper: Floats, iterations: int | None
    ) -> dict[str, Any]:
        """Set one person's box. The library's own way, permitted_range, divides by its width."""
        coordinates, numbers = self.coordinates, self.data_interface.declared.numbers
        low, high = self.data_interface.declared.ends
        count = len(numbers)
        ends = np.stack(
            [np.maximum(lower, np.minimum(low, start)), np.minimum(upper, np.maximum(high, start))]
        )
        self.minx, self.maxx = (np.full((1, len(coordinates.names)), end) for end in (0.0, 1.0))
        scaled = (ends - coordinates.low) / coordinates.span
        self.minx[0, :count], self.maxx[0, :count] = scaled[:, numbers]
        if iterations is None:
            return {}
        return {"max_iter": iterations, "min_iter": min(iterations, LEAST_ITERATIONS)}


def _inputs(scorer: Scorer, coordinates: Coordinates) -> tuple[Floats, Floats]:
    """The model's inputs as a linear function of coordinates: (coordinates, inputs), (inputs,)."""
    space: Space = scorer.space
    declared = coordinates.declared
    where = {int(c): i for i, c in enumerate(declared.numbers)}
    if not scorer.takes_points:
        order = [space.schema.names.index(name) for name in space.template.columns]
        slope = np.zeros((len(coordinates.names), len(order)))
        for column, f in enumerate(order):
            slope[where[f], column] = coordinates.span[f]
        return slope, coordinates.low[order]
    slope, offset = np.zeros((len(coordinates.names), space.width)), np.zeros(space.width)
    for f, feature in enumerate(space.schema.features):
        columns = space.slices[feature.name]
        if isinstance(feature, Categorical):
            own = np.arange(coordinates.slices[f].start, coordinates.slices[f].stop)
            shown = own[1:] if len(own) == 2 else own
            slope[shown, np.arange(columns.start, columns.stop)] = 1.0
        elif not isinstance(feature, Derived):  # which a point doesn't have
            c = columns.start
            slope[where[f], c] = coordinates.span[f] / space.scale[c]
            offset[c] = (coordinates.low[f] - space.center[c]) / space.scale[c]
    return slope, offset


def _picked(answer: Any, goal: Goal) -> Any:
    """The score among a module's outputs, as `Scorer` picks it."""
    if answer.shape[1] > 1:
        return answer[:, [int(wanted) for wanted in goal.classes] or [1]].sum(dim=1)
    return 1.0 - answer[:, 0] if not goal.is_range and goal.desired == 0 else answer[:, 0]


def _rescaled(scores: Any, goal: Goal, spread: float) -> Any:
    """`dice.rescaled`, for tensors."""
    if goal.is_range:
        above = scores - goal.low if goal.low is not None else torch.full_like(scores, torch.inf)
        below = goal.high - scores if goal.high is not None else torch.full_like(scores, torch.inf)
        margin = torch.minimum(above, below)
        return 0.5 + 0.5 * margin / (spread + margin.abs())
    below, above = scores / goal.threshold, (1 - scores) / max(1 - goal.threshold, 1e-9)
    return torch.where(scores < goal.threshold, 0.5 * below, 1 - 0.5 * above.clamp(max=1))
