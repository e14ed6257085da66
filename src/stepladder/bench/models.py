"""The base models that turn people down: trained on encoded points, as the paper trained them.

Each takes the train points and labels, the validation ones, and a seed, and returns something
that a scorer knows how to ask.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import ExtraError

TREES, LEAVES = 10, (1, 5)
"""A forest's trees, and the least sizes of their leaves that are tried. The paper doesn't say what
it tried; of what we tried, a small and lightly regularised forest lands nearest to its numbers."""

HIDDEN, EPOCHS, BATCH, RATE = (16, 32), 5, 64, 1e-3
"""The network: two hidden layers, and how it's trained."""


@dataclass(frozen=True, eq=False)
class Lessons:
    """What a model learns from: points (n, columns) and labels (n,), 1 being the good outcome."""

    train: NDArray[np.float64]
    train_labels: NDArray[np.int64]
    validation: NDArray[np.float64]
    validation_labels: NDArray[np.int64]


def logistic_regression(lessons: Lessons, seed: int) -> Any:
    """scikit-learn's, with balanced classes."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(class_weight="balanced", random_state=seed)
    return model.fit(lessons.train, lessons.train_labels)


def random_forest(lessons: Lessons, seed: int) -> Any:
    """Of forests with different leaves, the one that is most often right on validation rows."""
    from sklearn.ensemble import RandomForestClassifier

    forests = [
        RandomForestClassifier(TREES, min_samples_leaf=least, random_state=seed).fit(
            lessons.train, lessons.train_labels
        )
        for least in LEAVES
    ]
    right = [forest.score(lessons.validation, lessons.validation_labels) for forest in forests]
    return forests[int(np.argmax(right))]


def dnn(lessons: Lessons, seed: int) -> Any:
    """Two hidden layers of 16 and 32 units, two sigmoid outputs, five epochs of Adam."""
    try:
        import torch
        from torch import nn
    except ImportError as error:
        raise ExtraError("torch", "torch", "The model 'dnn'") from error

    sizes = (lessons.train.shape[1], *HIDDEN)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers: list[nn.Module] = []
        for inward, outward in pairwise(sizes):
            layers += [nn.Linear(inward, outward), nn.ReLU()]
        network = nn.Sequential(*layers, nn.Linear(sizes[-1], 2), nn.Sigmoid())
        points = torch.tensor(lessons.train, dtype=torch.float32)
        good = torch.tensor(lessons.train_labels, dtype=torch.float32)
        wanted = torch.stack([1 - good, good], dim=1)
        optimiser, loss = torch.optim.Adam(network.parameters(), lr=RATE), nn.BCELoss()
        for _ in range(EPOCHS):
            order = torch.randperm(len(points))
            for batch in (order[at : at + BATCH] for at in range(0, len(order), BATCH)):
                optimiser.zero_grad()
                loss(network(points[batch]), wanted[batch]).backward()
                optimiser.step()
    return network.eval()


MODELS: dict[str, Callable[[Lessons, int], Any]] = {
    "logistic_regression": logistic_regression,
    "random_forest": random_forest,
    "dnn": dnn,
}
"""Every base model by its name."""
