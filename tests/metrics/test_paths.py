"""The arrays behind the metrics: shapes, distances, and the nearest positives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stepladder.errors import ParameterError
from stepladder.metrics import Paths, distances, nearest_distance, pairwise, pairwise_reached
from stepladder.metrics import paths as paths_module

pytestmark = pytest.mark.filterwarnings("error")

Floats = NDArray[np.float64]


def fields(n: int = 2, k: int = 3, m: int = 4) -> dict[str, Any]:
    return {
        "start": np.zeros((n, m)),
        "ends": np.ones((n, k, m)),
        "reached": np.ones((n, k), dtype=bool),
        "lengths": np.ones((n, k)),
        "steps": np.ones((n, k), dtype=int),
        "changed": np.ones((n, k), dtype=int),
        "nearness": np.full((n, k), np.nan),
        "effort": np.full((n, k), np.nan),
    }


@pytest.mark.parametrize("name", fields())
def test_a_wrong_shape_is_named(name: str) -> None:
    given_fields = fields()
    given_fields[name] = given_fields[name][:1, :1]
    with pytest.raises(ParameterError, match="of Paths must have the shape"):
        Paths(**given_fields)


@pytest.mark.parametrize(
    ("name", "value"),
    [("ends", np.ones((2, 4))), ("ends", np.ones((2, 0, 4))), ("steps", np.float64(1.0))],
)
def test_a_wrong_rank_is_named(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=name):
        Paths(**fields() | {name: value})


@pytest.mark.parametrize(("name", "dtype"), [("reached", int), ("steps", float), ("start", str)])
def test_a_wrong_dtype_is_named(name: str, dtype: type) -> None:
    given_fields = fields()
    given_fields[name] = given_fields[name].astype(dtype)
    with pytest.raises(ParameterError, match=f"{name!r} of Paths must hold"):
        Paths(**given_fields)


@pytest.mark.parametrize("name", ["start", "ends", "lengths"])
@pytest.mark.parametrize("unknown", [np.nan, np.inf])
def test_a_successful_path_is_known_and_a_failed_one_need_not_be(name: str, unknown: float) -> None:
    given_fields = fields()
    given_fields[name][1, ..., -1] = unknown
    with pytest.raises(ParameterError, match=r"finite start, end and length.*of person 1"):
        Paths(**given_fields)
    given_fields["reached"][1] = False
    assert Paths(**given_fields).reached.sum() == 3


def test_other_widths_and_empty_lists_are_taken_in() -> None:
    narrow = fields() | {"ends": np.ones((2, 3, 4), dtype=np.float32)}
    assert Paths(**narrow).ends.dtype == np.float64
    nobody = fields(n=0) | {"reached": np.empty((0, 3))}
    assert Paths(**nobody).reached.dtype == np.bool_


def test_distances_and_pairs_by_hand() -> None:
    square = fields(n=1, m=2) | {"ends": np.array([[[3.0, 4.0], [0.0, 0.0], [3.0, 0.0]]])}
    paths = Paths(**square)
    np.testing.assert_array_equal(distances(paths), [[5.0, 0.0, 3.0]])
    np.testing.assert_array_equal(pairwise(paths.ends), [[5.0, 4.0, 3.0]])  # 01, 02, 12
    np.testing.assert_array_equal(
        pairwise_reached(np.array([[True, False, True]])), [[False, True, False]]
    )


def test_one_path_has_no_pairs() -> None:
    assert pairwise(np.ones((2, 1, 4))).shape == (2, 0)
    assert pairwise_reached(np.ones((2, 1), dtype=bool)).shape == (2, 0)


def brute(points: Floats, positives: Floats, neighbours: int) -> list[float]:
    means = []
    for point in points.tolist():
        near = sorted(math.dist(point, other) for other in positives.tolist())[:neighbours]
        means.append(math.fsum(near) / len(near))
    return means


def test_nearest_distance_by_hand() -> None:
    points, positives = np.array([[0.0], [10.0]]), np.array([[1.0], [2.0], [4.0], [100.0]])
    np.testing.assert_allclose(nearest_distance(points, positives, neighbours=2), [1.5, 7.0])
    np.testing.assert_allclose(nearest_distance(points, positives, neighbours=3), [7 / 3, 23 / 3])
    np.testing.assert_allclose(nearest_distance(points, positives), [26.75, 28.25])  # all four


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    points=st.integers(0, 30),
    positives=st.integers(1, 60),
    columns=st.integers(1, 6),
    neighbours=st.integers(1, 8),
    outlier=st.sampled_from([1.0, 300.0, 1e6]),
    spacing=st.sampled_from([1.0, 1e-3, 1e-7]),
    tile=st.sampled_from([1, 100, 2**21]),
)
def test_nearest_distance_is_brute_force(
    seed: int,
    points: int,
    positives: int,
    columns: int,
    neighbours: int,
    outlier: float,
    spacing: float,
    tile: int,
) -> None:
    """Also for tight crowds far out, where |a|² - 2ab + |b|² can't tell neighbours apart."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(3, columns)) * np.array([[1.0], [1.0], [outlier]])

    def crowd(size: int) -> Floats:
        rows = centres[random.integers(3, size=size)]
        return np.asarray(rows + spacing * random.integers(-4, 5, size=(size, columns)))

    asked, data = crowd(points), crowd(positives)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths_module, "TILE", tile)
        found = nearest_distance(asked, data, neighbours)
    np.testing.assert_allclose(found, brute(asked, data, neighbours), rtol=1e-12, atol=1e-9)


def test_nearest_distance_of_a_close_crowd_far_out() -> None:
    """Spacing 1e-6 at a distance of 300: the rounded squares are noise, the answer isn't."""
    random = np.random.default_rng(0)
    positives = 300.0 + 1e-6 * random.uniform(size=(400, 3))
    points = positives[:20] + 1e-8
    found = nearest_distance(points, positives)
    np.testing.assert_allclose(found, brute(points, positives, 5), rtol=1e-3, atol=0.0)
    assert found.max() < 1e-6


def test_nearest_distance_of_many_ties_is_exact() -> None:
    positives = np.repeat([[0.0, 0.0], [300.0, 1.0], [5.0, 0.0]], 200, axis=0)
    points = np.array([[0.0, 0.0], [300.0, 0.0], [0.0, 12.0], [300.0, 1.0]])
    np.testing.assert_array_equal(nearest_distance(points, positives), [0.0, 1.0, 12.0, 0.0])


def test_nearest_distance_of_the_unknown_is_nan() -> None:
    points = np.array([[np.nan, 0.0], [0.0, 0.0], [np.inf, 0.0]])
    found = nearest_distance(points, np.array([[3.0, 4.0]]))
    np.testing.assert_array_equal(found, [np.nan, 5.0, np.nan])
    assert np.isnan(nearest_distance(points, np.empty((0, 2)))).all()
    assert nearest_distance(np.empty((0, 2)), np.ones((3, 2))).shape == (0,)


@pytest.mark.parametrize(
    ("points", "positives", "neighbours", "message"),
    [
        (np.ones(3), np.ones((2, 3)), 5, "shapes"),
        (np.ones((1, 2)), np.ones((2, 3)), 5, "shapes"),
        (np.ones((1, 3)), np.ones((2, 3)), 0, "neighbours"),
        (np.ones((1, 3)), np.full((2, 3), np.nan), 5, "positives"),
    ],
)
def test_nearest_distance_refuses(
    points: Floats, positives: Floats, neighbours: int, message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        nearest_distance(points, positives, neighbours)


def test_nearest_distance_keeps_to_its_memory() -> None:
    tracemalloc = pytest.importorskip("tracemalloc")
    random = np.random.default_rng(0)
    points, positives = random.normal(size=(2000, 8)), random.normal(size=(20_000, 8))
    tracemalloc.start()
    try:
        nearest_distance(points, positives)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * 8 * paths_module.TILE  # the whole table of distances would be 320 MB
