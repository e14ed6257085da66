"""`StEP.published` against 400 people walked by an independent implementation of the paper.

Each backend is held to it within the tolerance that it states, with a model that is asked on the
host, and with one that stays on the device.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from tests.golden import Golden, golden_file

EXACT = 1e-9
"""How far NumPy may be off."""

CASES = [
    *(("numpy", kind) for kind in ("function", "linear", "module")),
    *(("torch", kind) for kind in ("function", "linear", "module")),
    *(("cuda", kind) for kind in ("function", "linear", "module")),
]


@pytest.fixture(scope="module")
def golden():
    file = golden_file()
    if not file.exists():
        pytest.skip(f"no golden case at {file}; it lies beside the folder STEPLADDER_DATA names")
    return Golden(file)


def fitted(golden, backend, kind):
    if backend == "cuda" and not torch.cuda.is_available():
        pytest.skip("no NVIDIA GPU here: the golden case isn't walked on one")
    models = {"function": golden.model, "linear": golden.linear(), "module": golden.module()}
    return golden.published(backend, models[kind])


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def step(golden, request):
    return fitted(golden, *request.param)


@pytest.fixture(scope="module")
def result(golden, step):
    return step.recourse(golden.rows(golden["points"]))


@pytest.fixture(scope="module")
def tolerance(result):
    """What the result states; in standard deviations, as the points are."""
    return result.settings.get("tolerance", EXACT)


def of_each_path(result, take):
    return np.array([[take(path) for path in routes] for routes in result.routes])


def test_the_case_is_set_as_it_was_given(golden):
    for name in ("points", "positives"):
        encoded = golden.space.encode(golden.rows(golden[name]))
        assert_allclose(encoded, golden[name], rtol=0, atol=1e-12)
    assert_array_equal(golden.space.changeable, ~golden["immutable"])


def test_every_path_ends_where_it_should(golden, result, tolerance):
    ends = of_each_path(result, lambda path: path.points[-1])
    assert_allclose(ends, golden["final"], rtol=0, atol=tolerance)


def test_the_frame_of_ends_encodes_to_the_same_points(golden, result, tolerance):
    final = result.final
    assert list(final["path"]) == [0, 1, 2] * len(golden["points"])
    ends = golden.space.encode(final[list(golden.schema.names)])
    assert_allclose(ends, golden["final"].reshape(len(final), -1), rtol=0, atol=tolerance)


def test_the_same_paths_succeed(golden, result):
    reached = result.final["outcome"].to_numpy().reshape(-1, 3) == "reached"
    assert_array_equal(reached, golden["success"])
    assert not reached.all()  # failures are part of the case


def test_every_path_is_as_long_and_has_as_many_steps(golden, result, tolerance):
    lengths = of_each_path(result, lambda path: path.length)
    within = tolerance if tolerance == EXACT else tolerance * golden["steps"]  # each may be off
    assert (np.abs(lengths - golden["path_length"]) <= within).all()
    assert_array_equal(of_each_path(result, lambda path: path.steps), golden["steps"])


def test_the_paths_agree_step_by_step(golden, result, tolerance):
    for i, expected in enumerate(golden["paths_cluster0_first20"]):
        walked = expected[~np.isnan(expected).all(axis=1)]
        assert_allclose(result.routes[i][0].points, walked, rtol=0, atol=tolerance)


def test_the_frame_of_paths_encodes_to_the_same_steps(golden, result, tolerance):
    paths = result.paths
    for i, expected in enumerate(golden["paths_cluster0_first20"]):
        walked = expected[~np.isnan(expected).all(axis=1)]
        mine = paths[(paths["person"] == i) & (paths["path"] == 0)]
        assert list(mine["step"]) == list(range(len(walked)))
        encoded = golden.space.encode(mine[list(golden.schema.names)])
        assert_allclose(encoded, walked, rtol=0, atol=tolerance)
        assert_allclose(mine["score"], golden.model(walked), rtol=0, atol=tolerance)


def test_one_person_alone_walks_the_same_paths(golden, step, result, tolerance):
    alone = step.recourse(golden.rows(golden["points"][7:8]))
    for mine, theirs in zip(alone.routes[0], result.routes[7], strict=True):
        assert_allclose(mine.points, theirs.points, rtol=0, atol=tolerance / 1000)


def test_the_result_names_its_backend_and_how_far_off_it_may_be(step, result):
    assert result.settings["backend"] == step.backend
    assert ("tolerance" in result.settings) == (step.backend != "numpy")
