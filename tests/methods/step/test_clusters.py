"""Partitions of the positives, and which of them the paper would ignore."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import (
    DBSCAN,
    AffinityPropagation,
    AgglomerativeClustering,
    KMeans,
    MeanShift,
)
from sklearn.mixture import GaussianMixture

from stepladder.errors import ParameterError, PositivesError
from stepladder.methods.step.clusters import finds_own_number, outlying, partition

CENTRES = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])


@pytest.fixture
def blobs():
    """Three tight groups of twenty."""
    rng = np.random.default_rng(0)
    return np.repeat(CENTRES, 20, axis=0) + 0.1 * rng.normal(size=(60, 2))


def assert_finds_the_blobs(labels):
    groups = [set(labels[i * 20 : i * 20 + 20].tolist()) for i in range(3)]
    assert all(len(group) == 1 for group in groups)
    assert set.union(*groups) == {0, 1, 2}


def test_k_means_is_the_default(blobs):
    assert_finds_the_blobs(partition(blobs, 3, None, 0))


@pytest.mark.parametrize(
    "clusterer",
    [
        KMeans(n_clusters=7, n_init=3),
        AgglomerativeClustering(n_clusters=5),
        GaussianMixture(n_components=2),
    ],
    ids=lambda c: type(c).__name__,
)
def test_a_clusterer_is_asked_for_our_number_and_left_as_it_was(blobs, clusterer):
    before = clusterer.get_params()
    assert_finds_the_blobs(partition(blobs, 3, clusterer, 0))
    assert clusterer.get_params() == before
    assert not hasattr(clusterer, "labels_")


@pytest.mark.parametrize(
    "clusterer",
    [AffinityPropagation(damping=0.9, preference=-50), MeanShift(bandwidth=2.0), DBSCAN(eps=1.0)],
    ids=lambda c: type(c).__name__,
)
def test_a_clusterer_that_finds_its_own_number_keeps_it(blobs, clusterer):
    assert finds_own_number(clusterer)
    labels = partition(blobs, 50, clusterer, 0)
    assert_finds_the_blobs(labels)


@pytest.mark.parametrize("clusterer", [None, "random", KMeans(), GaussianMixture()], ids=str)
def test_other_clusterers_do_not_find_their_own_number(clusterer):
    assert not finds_own_number(clusterer)


def test_noise_belongs_to_no_cluster_and_leaves_no_gap(blobs):
    points = np.concatenate([[[100.0, 100.0]], blobs, [[-100.0, 5.0]]])
    labels = partition(points, 3, DBSCAN(eps=1.0), 0)
    assert labels[0] == labels[-1] == -1
    assert_finds_the_blobs(labels[1:-1])


def test_nothing_but_noise_is_refused(blobs):
    with pytest.raises(PositivesError, match="every positive noise"):
        partition(blobs, 3, DBSCAN(eps=1e-9), 0)


@pytest.mark.parametrize("clusterer", [None, "random", KMeans(n_init=1)], ids=str)
def test_the_same_seed_gives_the_same_clusters(clusterer):
    points = np.random.default_rng(1).normal(size=(200, 4))
    first = partition(points, 5, clusterer, 3)
    np.testing.assert_array_equal(first, partition(points, 5, clusterer, 3))
    assert (first != partition(points, 5, clusterer, 4)).any()


def test_a_seed_of_the_clusterer_s_own_is_kept():
    points = np.random.default_rng(1).normal(size=(200, 4))
    own = KMeans(n_init=1, random_state=5)
    np.testing.assert_array_equal(partition(points, 5, own, 3), partition(points, 5, own, 4))


def test_random_clusters_are_never_empty():
    for seed in range(50):
        labels = partition(np.zeros((4, 2)), 4, "random", seed)
        assert sorted(labels.tolist()) == [0, 1, 2, 3]


def test_random_clusters_ignore_where_points_lie(blobs):
    labels = partition(blobs, 3, "random", 0)
    assert all(len(set(labels[i * 20 : i * 20 + 20].tolist())) == 3 for i in range(3))


def test_points_that_coincide_make_fewer_clusters_and_no_warning():
    points = np.repeat([[0.0, 1.0], [5.0, 1.0]], 10, axis=0)
    for clusterer in (None, KMeans(n_init=2)):
        assert set(partition(points, 3, clusterer, 0).tolist()) == {0, 1}
    assert set(partition(np.zeros((5, 2)), 3, None, 0).tolist()) == {0}


def test_more_clusters_than_points_are_refused_with_the_most_there_can_be():
    with pytest.raises(PositivesError, match=r"Ask for 2 at most"):
        partition(np.eye(2), 3, None, 0)
    with pytest.raises(PositivesError, match="only 2"):
        partition(np.eye(2), 3, "random", 0)


@pytest.mark.parametrize("wrong", ["kmeans", 3, object()], ids=["a name", "a number", "an object"])
def test_what_is_no_clusterer_is_refused(wrong):
    with pytest.raises(ParameterError, match="scikit-learn clusterer"):
        partition(np.eye(5), 2, wrong, 0)


# ---- the paper's remedy ---------------------------------------------------------------------


def test_a_cluster_two_deviations_above_the_others_is_outlying_by_hand():
    # The others of the last, 4, 5 and 6, have mean 5 and deviation √(2/3) = 0.816: 5 + 1.633.
    assert outlying(np.array([4.0, 5.0, 6.0, 6.64])).tolist() == [False, False, False, True]
    assert outlying(np.array([4.0, 5.0, 6.0, 6.62])).tolist() == [False, False, False, False]


def test_exactly_two_deviations_above_is_outlying():
    # 3 and 5 have mean 4 and deviation 1: the line is drawn at 6.
    assert outlying(np.array([3.0, 5.0, 6.0])).tolist() == [False, False, True]


def test_short_paths_are_never_outlying():
    assert outlying(np.array([0.001, 5.0, 5.1, 5.2])).tolist() == [False] * 4


def test_two_outlying_clusters_can_hide_each_other():
    # As the rule is stated: each raises the other's mean and deviation.
    assert not outlying(np.array([1.0, 1.1, 50.0, 60.0]))[2]


def test_equal_lengths_are_not_outlying():
    assert outlying(np.full(5, 2.5)).tolist() == [False] * 5


@pytest.mark.parametrize("lengths", [[], [3.0], [1.0, 100.0]], ids=["none", "one", "two"])
def test_with_less_than_two_others_nothing_is_outlying(lengths):
    assert not outlying(np.array(lengths)).any()
