"""Metrics: weights, and the Mahalanobis distance also where the covariance is singular."""

from __future__ import annotations

import numpy as np
import pytest

from stepladder.errors import ParameterError
from stepladder.kernels.distance import measured, weighting, whitening


def test_weights_scale_each_feature():
    norm = weighting([2, 0, 1])
    np.testing.assert_array_equal(measured(np.array([[1.0, 5.0, 3.0]]), norm), [[2, 0, 3]])


def test_no_metric_leaves_vectors_alone():
    vectors = np.ones((2, 3))
    assert measured(vectors, None) is vectors


def test_whitening_is_the_mahalanobis_distance():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4)) + 7
    moves = rng.normal(size=(20, 4))
    inverse = np.linalg.inv(np.cov(points.T, bias=True))
    expected = np.sqrt(np.einsum("ni,ij,nj->n", moves, inverse, moves))
    placed = measured(moves, whitening(points, ridge=1e-13))
    np.testing.assert_allclose(np.linalg.norm(placed, axis=1), expected, rtol=1e-8)


@pytest.mark.parametrize("shape", [(7,), (1, 7), (70, 7), (3, 40, 7), (0, 7), (2, 0, 7)])
def test_a_matrix_maps_each_vector_whatever_their_shape(shape):
    rng = np.random.default_rng(3)
    vectors, norm = rng.normal(size=shape), rng.normal(size=(7, 7))
    placed = measured(vectors, norm)
    assert placed.shape == shape
    np.testing.assert_allclose(placed, np.einsum("...j,kj->...k", vectors, norm), atol=1e-13)


def test_a_matrix_rounds_each_vector_alike_in_any_company():
    rng = np.random.default_rng(4)
    vectors, norm = rng.normal(size=(500, 24)), rng.normal(size=(24, 24))
    together = measured(vectors, norm)
    for part in (slice(0, 1), slice(1, 4), slice(30, 131)):
        np.testing.assert_array_equal(measured(vectors[part], norm), together[part])


def test_whitened_points_have_unit_covariance():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(300, 3)) * [1, 50, 0.01] + 3
    placed = measured(points, whitening(points, ridge=1e-12))
    np.testing.assert_allclose(np.cov(placed.T, bias=True), np.eye(3), atol=1e-3)


def test_whitening_survives_features_that_depend_on_one_another():
    rng = np.random.default_rng(2)
    one_hot = np.eye(3)[rng.integers(0, 3, 200)]
    points = np.hstack([one_hot, rng.normal(size=(200, 1)), np.zeros((200, 1))])
    norm = whitening(points)
    assert np.isfinite(norm).all()
    assert np.linalg.matrix_rank(norm) == 5
    np.testing.assert_allclose(norm, norm.T, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("points", [[[1.0, 2.0]], [[3.0, 3.0], [3.0, 3.0]]])
def test_points_without_spread_are_euclidean(points):
    np.testing.assert_array_equal(whitening(points), np.eye(2))


@pytest.mark.parametrize("wrong", [[1, -1], [1, np.nan], [np.inf], [[1, 2]], 3.0])
def test_bad_weights(wrong):
    with pytest.raises(ParameterError, match="at least 0"):
        weighting(wrong)


@pytest.mark.parametrize("wrong", [np.empty((0, 3)), [1.0, 2.0], [[np.nan, 1.0]]])
def test_bad_points(wrong):
    with pytest.raises(ParameterError, match="shape"):
        whitening(wrong)


@pytest.mark.parametrize("ridge", [0, -1, np.inf])
def test_bad_ridge(ridge):
    with pytest.raises(ParameterError, match="ridge"):
        whitening([[1.0, 2.0]], ridge=ridge)
