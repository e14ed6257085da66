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

TREES = 10
FORESTS: tuple[dict[str, int], ...] = ({"max_depth": 20}, {"min_samples_leaf": 5})
"""The forests tried: small and lightly regularised. The paper doesn't say which ones it tried; its
figures lie between what these two give, and far from what a hundred trees give."""

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
    """Of `FORESTS`, the one with the best balanced accuracy on the validation rows."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import balanced_accuracy_score

    forests = [RandomForestClassifier(TREES, random_state=seed, **settings) for settings in FORESTS]
    scores = []
    for forest in forests:
        forest.fit(lessons.train, lessons.train_labels)
        said = forest.predict(lessons.validation)
        scores.append(balanced_accuracy_score(lessons.validation_labels, said))
    return forests[int(np.argmax(scores))]


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
