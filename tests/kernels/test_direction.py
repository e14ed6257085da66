"""Equation 1 against a naive loop, a case by hand and the golden case, at any tiling."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from tests.kernels.naive import assert_matches_naive, power, sloped, table, volcano

from stepladder.errors import ParameterError
from stepladder.kernels import tiling
from stepladder.kernels.alpha import Power, Sloped, Unit, Volcano
from stepladder.kernels.direction import cluster_direction, directions, prepare
from stepladder.kernels.distance import weighting, whitening

FAMILIES = [
    (Volcano(2, 0.5), volcano(2, 0.5)),
    (Volcano(1.7, 0.8), volcano(1.7, 0.8)),
    (Sloped(4.0), sloped(4.0)),
    (Power(2), power(2)),
    (Power(3), power(3)),
    (Unit(), power(1)),
    (Volcano(2, 0.5).per_distance(), lambda z: volcano(2, 0.5)(z) / z),
]


@pytest.mark.parametrize(("alpha", "weight"), FAMILIES, ids=[repr(alpha) for alpha, _ in FAMILIES])
def test_against_the_naive_loop(alpha, weight):
    points, positives = table(0)
    assert_matches_naive(directions(points, positives, alpha), points, positives, weight)


def test_by_hand():
    # From the origin: (3, 4) is 5 away, weight 1/25; (0.1, 0) is within the cutoff, weight 4.
    positives = [[3.0, 4.0], [0.1, 0.0], [0.0, 0.0]]
    result = directions([0.0, 0.0], positives, Volcano(2, 0.5))
    np.testing.assert_allclose(result, [3 / 25 + 0.4, 4 / 25], rtol=1e-15)


@pytest.mark.parametrize("shift", [0.0, 300.0, 1e6])
def test_near_pairs_far_from_the_origin_do_not_cancel(shift):
    rng = np.random.default_rng(3)
    far = rng.normal(size=(40, 6)) * 300
    positives = np.vstack([far, far + 1e-3 * rng.normal(size=far.shape)]) + shift
    points = far[:10] + 1e-3 * rng.normal(size=(10, 6)) + shift
    result = directions(points, positives, Power(2))
    assert_matches_naive(result, points, positives, power(2))


def test_a_pole_at_distance_zero_adds_nothing():
    for alpha in (Power(2), Unit(), Volcano().per_distance()):
        np.testing.assert_array_equal(directions([[1.0, 2.0]], [[1.0, 2.0]], alpha), [[0, 0]])
        result = directions([1.0, 2.0], [[1.0, 2.0], [4.0, 6.0]], alpha)
        np.testing.assert_allclose(result, np.array([3, 4]) * alpha(5.0), rtol=1e-14)


def test_an_overflowing_weight_outweighs_all_others():
    result = directions([0.0, 0.0], [[1e-110, 0.0], [0.0, 1.0]], Power(4))
    assert np.isfinite(result).all()
    assert result[0] > 1e100 * abs(result[1])


@pytest.mark.parametrize("norm", ["weights", "zero weight", "whitening"])
def test_the_metric_sets_the_distance_and_not_the_space(norm):
    points, positives = table(4)
    chosen = {
        "weights": weighting([1, 0.5, 2, 3, 0.1]),
        "zero weight": weighting([0, 1, 2, 1, 1]),
        "whitening": whitening(positives),
    }[norm]
    result = directions(points, positives, Volcano(2, 0.5), norm=chosen)
    assert_matches_naive(result, points, positives, volcano(2, 0.5), chosen, tolerance=1e-11)


@pytest.mark.parametrize("norm", [None, np.array([1.0, 2.0, 0.5, 1.0, 3.0])])
@pytest.mark.parametrize("memory", [1, 1000, 20_000, 10**6])
def test_any_memory_budget_gives_the_same(memory, norm):
    points, positives = table(5)
    labels = np.arange(len(positives)) % 3
    result = directions(points, positives, Power(2), clusters=labels, norm=norm, memory=memory)
    for c in range(3):
        cluster = positives[labels == c]
        assert_matches_naive(result[:, c], points, cluster, power(2), norm)


@pytest.mark.parametrize("case", ["spread", "all near", "few positives", "one point"])
def test_temporaries_stay_within_the_budget(case):
    rng = np.random.default_rng(6)
    n, count, m, memory = 3000, 4000, 8, 2**20
    n, count = {"few positives": (60_000, 2), "one point": (1, 60_000)}.get(case, (n, count))
    positives, points = rng.normal(size=(count, m)), rng.normal(size=(n, m))
    if case == "all near":
        n = 300
        positives[1:] = 100 + 1e-3 * positives[1:]
        positives[0] = -100 * count
        points = 100 + 1e-3 * points[:n]
    ready = prepare(positives)
    tracemalloc.start()
    try:
        cluster_direction(points, ready, Volcano(), memory=memory)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - n * m * 8 <= memory


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("count", [1, 7, 8, 9, 240, 241, 500, 2100])
@pytest.mark.parametrize("n", [1, 4, 5, 37])
def test_what_fills_up_adds_nothing(n, count, dtype):
    points, positives = table(12, n=40, count=2100)
    points, positives = points[:n], positives[:count]
    for alpha, weight in ((Volcano(2, 0.5), volcano(2, 0.5)), (Power(3), power(3))):
        result = directions(points, positives, alpha, dtype=dtype)
        tolerance = 1e-12 if dtype == "float64" else 1e-5
        assert_matches_naive(result, points, positives, weight, tolerance=tolerance)


@pytest.mark.parametrize("alpha", [Volcano(2, 0.5), Volcano(1.7, 0.8), Sloped(4.0), Power(3)])
@pytest.mark.parametrize("norm", ["none", "weights", "matrix"])
def test_a_point_gets_the_same_to_the_last_bit_in_any_company(alpha, norm, monkeypatch):
    points, positives = table(13, n=300, count=2500, m=9)
    positives[100:700] = positives[1] + 1e-4 * positives[100:700]  # near a point, and many
    points[50:60] = positives[0] + 1e-3 * points[50:60]
    chosen = {"none": None, "weights": np.arange(1, 10) / 5, "matrix": whitening(positives)}[norm]
    ready = prepare(positives, chosen)
    together = cluster_direction(points, ready, alpha)
    for others in (slice(0, 1), slice(2, 3), slice(1, 3), slice(40, 57), slice(2, 300)):
        alone = cluster_direction(points[others], ready, alpha)
        np.testing.assert_array_equal(alone, together[others])
    monkeypatch.setattr(tiling, "available_threads", lambda: 3)
    order = np.random.default_rng(0).permutation(300)
    np.testing.assert_array_equal(cluster_direction(points[order], ready, alpha), together[order])


def test_float32_is_close_and_stays_float32():
    points, positives = table(7, n=40, count=2000, m=20)
    result = directions(points, positives, Volcano(2, 0.5), dtype=np.float32)
    assert result.dtype == np.float32
    assert_matches_naive(result, points, positives, volcano(2, 0.5), tolerance=1e-5)


def test_clusters_are_answered_apart():
    points, positives = table(8)
    labels = np.random.default_rng(8).integers(-1, 4, len(positives))
    labels[labels == 2] = 3  # an empty cluster in between
    result = directions(points, positives, Volcano(), clusters=labels)
    assert result.shape == (len(points), 4, points.shape[1])
    for c in range(4):
        alone = directions(points, positives[labels == c], Volcano())
        np.testing.assert_array_equal(result[:, c], alone)
    assert not result[:, 2].any()


def test_shapes_at_the_edges():
    positives = np.ones((3, 2))
    alpha = Volcano()
    assert directions([0.0, 0.0], positives, alpha).shape == (2,)
    assert directions([0.0, 0.0], positives, alpha, clusters=[0, 1, -1]).shape == (2, 2)
    assert directions(np.empty((0, 2)), positives, alpha).shape == (0, 2)
    np.testing.assert_array_equal(directions(np.ones((4, 2)), np.empty((0, 2)), alpha), 0)
    for norm in (None, np.empty(0), np.empty((0, 0))):
        result = directions(np.empty((3, 0)), np.empty((2, 0)), alpha, norm=norm)
        assert result.shape == (3, 0)
    assert directions(np.ones((4, 2)), positives, alpha, clusters=[-1] * 3).shape == (4, 0, 2)


def test_input_is_left_as_it_came():
    points, positives = table(9)
    before = points.copy(), positives.copy()
    directions(points, positives, Power(2), norm=weighting(np.ones(5)))
    np.testing.assert_array_equal(points, before[0])
    np.testing.assert_array_equal(positives, before[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": np.ones((2, 3))}, "as many columns as the points, 3"),
        ({"points": [[np.nan, 1.0]]}, r"points must be finite. Got 1 row"),
        ({"positives": [[np.inf, 1.0]]}, r"positives must be finite. Got 1 row"),
        ({"positives": [1.0, 2.0]}, "positives must be an array of shape"),
        ({"points": np.ones((1, 2, 2))}, "points must be an array of shape"),
        ({"points": [["a", "b"]]}, "points must be an array of numbers"),
        ({"points": [[1e200, 0.0]]}, "points must be within"),
        ({"positives": [[1e20, 0.0]], "dtype": np.float32}, "positives must be within"),
        ({"alpha": lambda z: z}, "alpha must be a Volcano"),
        ({"clusters": [0.5, 1, 2]}, "clusters must be 3 whole numbers"),
        ({"clusters": [0, 1]}, "clusters must be 3 whole numbers"),
        ({"clusters": [0, 1, -2]}, "clusters must be 3 whole numbers"),
        ({"norm": np.ones(3)}, "norm must be"),
        ({"norm": np.array([1.0, np.nan])}, "norm must be"),
        ({"norm": "euclidean"}, "norm must be"),
        ({"dtype": np.float16}, "dtype must be float64 or float32"),
        ({"memory": 0}, "memory must be"),
        ({"memory": 1.5}, "memory must be"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"points": np.zeros((2, 2)), "positives": np.ones((3, 2)), "alpha": Volcano()}
    arguments |= change
    if "positives" in change or "alpha" in change:
        arguments["points"] = arguments["points"][:1]
    with pytest.raises(ParameterError, match=message):
        directions(**arguments)


def golden_folder() -> Path:
    if data := os.environ.get("STEPLADDER_DATA"):
        return Path(data).parent / "golden"
    return Path(__file__).parents[3] / "shared" / "golden"


def test_the_golden_directions():
    path = golden_folder() / "credit_lr.npz"
    if not path.exists():
        pytest.skip(f"the golden case isn't at {path}; STEPLADDER_DATA may say where it is")
    golden = np.load(path)
    free = ~golden["immutable"].astype(bool)
    alpha = Volcano(float(golden["volcano_degree"]), float(golden["volcano_cutoff"]))
    result = np.zeros_like(golden["directions"])
    result[:, :, free] = directions(
        golden["points"][:, free],
        golden["positives"][:, free],
        alpha,
        clusters=golden["cluster"],
    )
    np.testing.assert_allclose(result, golden["directions"], rtol=0, atol=1e-9)
