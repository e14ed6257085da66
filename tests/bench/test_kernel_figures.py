"""What the decision on the kernel says was measured is what was measured; and what is promised."""

from __future__ import annotations

import json
from pathlib import Path

import kernel
import numpy as np
import pytest
from kernel_rivals import by_torch

from stepladder.kernels.alpha import Volcano
from stepladder.kernels.direction import cluster_direction, prepare

DECISION = Path(__file__).parents[2] / "docs" / "decisions" / "0010-numpy-tiles.md"


@pytest.fixture
def figures():
    return json.loads(kernel.FIGURES.read_text(encoding="utf-8"))


def test_the_decision_shows_what_was_measured(figures):
    shown = kernel.table(figures, threads=1, people=kernel.SHAPES[0][0])
    assert "\n".join(shown) in DECISION.read_text(encoding="utf-8")


def test_nothing_measured_falls_short(figures):
    one = [figure for figure in figures if figure["by"] == kernel.OURS and figure["threads"] == 1]
    assert len(one) == len(kernel.PROMISED) * len(kernel.COLUMNS) * len(kernel.SHAPES)
    assert not [figure for figure in one if kernel.falls_short(figure)]
    assert kernel.falls_short(one[0] | {"of_matmul": kernel.PROMISED[one[0]["dtype"]] - 0.01})


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_torch_is_timed_at_the_same_sum(dtype):
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    points, ready = rng.normal(size=(300, 24)), prepare(rng.normal(size=(3000, 24)), dtype=dtype)
    ours = cluster_direction(points, ready, Volcano())
    theirs = by_torch()(points, ready)
    tolerance = kernel.TOLERANCE[dtype] * np.abs(ours).max()
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=10 * tolerance)
