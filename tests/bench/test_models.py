"""The base models learn, and the same seed gives the same model."""

from __future__ import annotations

import numpy as np
import pytest

import stepladder as sl
from stepladder.bench.models import LEAVES, MODELS, TREES, Lessons
from stepladder.model.scorer import Scorer

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(8000, 2))
LABELS = (POINTS @ [1.0, -1.0] + RNG.normal(0, 0.3, 8000) > 0).astype(np.int64)
LESSONS = Lessons(POINTS[:7600], LABELS[:7600], POINTS[7600:], LABELS[7600:])


@pytest.mark.parametrize("name", MODELS)
def test_a_model_learns_and_its_seed_decides(name):
    import pandas as pd

    frame = pd.DataFrame(POINTS, columns=["a", "b"])
    space = sl.Space.fit(sl.Schema([sl.Numeric("a"), sl.Numeric("b")]), frame)

    def scores(seed: int) -> np.ndarray:
        model = sl.encoded(MODELS[name](LESSONS, seed))
        return Scorer(model, space, sl.Goal(0.5)).score_points(POINTS[7600:])

    first = scores(0)
    assert ((first > 0.5) == LABELS[7600:]).mean() > 0.8
    np.testing.assert_array_equal(first, scores(0))


def test_the_forest_is_one_of_those_tried():
    forest = MODELS["random_forest"](LESSONS, 0)
    assert (forest.n_estimators, forest.min_samples_leaf in LEAVES) == (TREES, True)
