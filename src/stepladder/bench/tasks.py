"""A task: one dataset, model and seed made ready, so that every method gets the very same.

The two protocols differ in one thing only here: `published` scales with the mean and standard
deviation of the whole table before it's split, as the paper did; `fair` with those of the train
rows. Levels of categories are known beforehand in both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder import datasets
from stepladder.bench.models import MODELS, Lessons
from stepladder.bench.spec import Spec
from stepladder.model.goal import Goal
from stepladder.model.scorer import Encoded, Scorer, encoded
from stepladder.table.feature import Numeric
from stepladder.table.space import Floats, Space

FRESH = 1000
"""The seed of the first retrained model: none that a task has itself."""


@dataclass(frozen=True, eq=False)
class Task:
    """What a method is given."""

    train: pd.DataFrame
    labels: NDArray[np.int64]
    """of the train rows"""
    space: Space
    model: Encoded
    turned_down: pd.DataFrame
    """the test rows that the model turns down, in test order"""
    kind: str
    """which model it is, and what it learned from, so that it can be retrained"""
    lessons: Lessons
    seed: int
    count: int = 0
    """how many retrained models there are"""

    @cached_property
    def retrained(self) -> tuple[Encoded, ...]:
        """The same kind of model, each learned from as many train rows, drawn with replacement."""
        made = []
        for number in range(self.count):
            drawn = np.random.default_rng([self.seed, number]).integers(
                0, len(self.labels), len(self.labels)
            )
            lessons = replace(
                self.lessons,
                train=self.lessons.train[drawn],
                train_labels=self.lessons.train_labels[drawn],
            )
            made.append(encoded(MODELS[self.kind](lessons, FRESH + number)))
        return tuple(made)

    def least_distances(self, people: pd.DataFrame, goal: float) -> Floats:
        """(n,) how near any row that meets the goal can be; NaN unless the model is linear.

        Under logistic regression the score rises fastest along its coefficients, so that's the
        gap in logits over the norm of those that belong to numbers a person can change. Rules
        that bind, whole numbers and categories can only make it farther (a category nearer, too).
        """
        model = self.model.model
        if not hasattr(model, "coef_"):
            return np.full(len(people), np.nan)
        free = self.space.columns_of(
            lambda feature: isinstance(feature, Numeric) and feature.chosen
        )
        gap = np.log(goal / (1 - goal)) - model.decision_function(self.space.encode(people))
        return np.asarray(gap / np.linalg.norm(model.coef_[0, free]))


def prepare(spec: Spec, dataset: str, model: str, seed: int, data_dir: Path | None) -> Task:
    """Load, split, scale, train, and see who is turned down."""
    table = datasets.load(dataset, data_dir)
    rows, labels, split = table.rows, table.labels, table.split(seed)
    space = Space.fit(table.schema, rows)
    if spec.protocol == "fair":
        space = Space.fit(space.schema, rows.iloc[split.train])
    points = space.encode(rows)
    lessons = Lessons(
        points[split.train], labels[split.train], points[split.validation], labels[split.validation]
    )
    trained: Any = MODELS[model](lessons, seed)
    scorer = Scorer(encoded(trained), space, Goal(spec.turned_down))
    refused = scorer.score_points(points[split.test]) < spec.turned_down
    return Task(
        rows.iloc[split.train],
        labels[split.train],
        space,
        encoded(trained),
        rows.iloc[split.test[refused]],
        model,
        lessons,
        seed,
        spec.retrained,
    )
