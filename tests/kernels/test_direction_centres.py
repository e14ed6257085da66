"""Each point's own centre: parallel to equation 1, and safe at any sharpness."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepladder.kernels.alpha import Power, Sloped, Unit, Volcano
from stepladder.kernels.direction import centres, directions
from stepladder.kernels.distance import weighting


def world(seed: int, n: int = 6, t: int = 9, m: int = 4):
    rng = np.random.default_rng(seed)
    points, targets = rng.normal(size=(n, m)), 2 * rng.normal(size=(n, t, m))
    valid = rng.random((n, t)) < 0.7
    valid[:, 0] = True
    return points, targets, valid


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(
        [(Volcano(2, 0.5), Volcano(4, 0.5)), (Power(1.5), Power(3)), (Unit(), Power(2))]
    ),
    st.sampled_from([None, np.array([1.0, 3.0, 0.5, 2.0])]),
)
def test_equation_1_points_from_the_point_to_the_centre(seed, alphas, norm):
    points, targets, valid = world(seed)
    alpha, doubled = alphas
    for sharpness, sharpened in ((1.0, alpha), (2.0, doubled)):
        found = centres(points, targets, valid, alpha, sharpness=np.full(6, sharpness), norm=norm)
        for i, x in enumerate(points):
            own = targets[i, valid[i]]
            d = directions(x, own, sharpened, norm=norm)
            moves = own - x
            z = np.linalg.norm(moves if norm is None else moves * norm, axis=1)
            np.testing.assert_allclose(
                d, (found[i] - x) * sharpened(z).sum(), rtol=1e-9, atol=1e-9 * np.abs(d).max()
            )


@pytest.mark.parametrize("alpha", [Volcano(2, 1e-3), Sloped(1.0), Sloped(1e-3), Power(2), Unit()])
@pytest.mark.parametrize("sharpness", [1e3, 1e6, 1e300])
def test_a_high_sharpness_settles_on_the_nearest_target(alpha, sharpness):
    points, targets, valid = world(1)
    found = centres(points, targets, valid, alpha, sharpness=np.full(6, sharpness))
    z = np.where(valid, np.linalg.norm(targets - points[:, None], axis=2), np.inf)
    nearest = targets[np.arange(6), z.argmin(axis=1)]
    np.testing.assert_allclose(found, nearest, atol=1e-6)


def test_a_low_sharpness_approaches_the_plain_mean():
    points, targets, valid = world(2)
    found = centres(points, targets, valid, Volcano(), sharpness=np.full(6, 1e-12))
    means = np.array([t[v].mean(axis=0) for t, v in zip(targets, valid, strict=True)])
    np.testing.assert_allclose(found, means, atol=1e-9)


def test_each_point_has_its_own_sharpness():
    points, targets, valid = world(3)
    sharpness = np.array([1.0, 2, 4, 8, 16, 32])
    together = centres(points, targets, valid, Volcano(), sharpness=sharpness)
    for i in range(6):
        one = slice(i, i + 1)
        alone = centres(points[one], targets[one], valid[one], Volcano(), sharpness=sharpness[one])
        np.testing.assert_array_equal(together[one], alone)


@pytest.mark.parametrize("alpha", [Power(2), Unit(), Volcano().per_distance()])
@pytest.mark.parametrize("sharpness", [1.0, 1e9])
def test_a_target_at_the_point_wins_where_alpha_is_infinite(alpha, sharpness):
    points = np.array([[1.0, 2.0]])
    targets = np.array([[[1.0, 2.0], [1.1, 2.0], [9.0, 9.0]]])
    found = centres(points, targets, np.ones((1, 3), bool), alpha, sharpness=np.array([sharpness]))
    np.testing.assert_array_equal(found, points)


def test_without_a_valid_target_the_point_stays():
    points, targets, valid = world(4)
    valid[2] = False
    found = centres(points, targets, valid, Power(2), sharpness=np.ones(6))
    np.testing.assert_array_equal(found[2], points[2])
    none = centres(
        points, np.empty((6, 0, 4)), np.empty((6, 0), bool), Unit(), sharpness=np.ones(6)
    )
    np.testing.assert_array_equal(none, points)
    assert none is not points


def test_what_stands_in_invalid_places_does_not_matter():
    points, targets, valid = world(5)
    before = centres(points, targets, valid, Sloped(), sharpness=np.ones(6))
    targets[~valid] = np.nan
    np.testing.assert_array_equal(
        centres(points, targets, valid, Sloped(), sharpness=np.ones(6)), before
    )


@pytest.mark.parametrize("norm", [None, weighting([1, 2, 3, 4])])
@pytest.mark.parametrize("memory", [1, 2000, 10**5])
def test_any_memory_budget_gives_the_same(memory, norm):
    points, targets, valid = world(6, n=50)
    sharpness = np.linspace(1, 5, 50)
    whole = centres(points, targets, valid, Volcano(), sharpness=sharpness, norm=norm)
    tiled = centres(
        points, targets, valid, Volcano(), sharpness=sharpness, norm=norm, memory=memory
    )
    np.testing.assert_allclose(tiled, whole, rtol=1e-13)


def test_temporaries_stay_within_the_budget():
    points, targets, valid = world(7, n=2000, t=100, m=6)
    tracemalloc.start()
    try:
        centres(points, targets, valid, Volcano(), sharpness=np.ones(2000), memory=2**20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - points.nbytes <= 2**20
