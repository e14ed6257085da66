"""The alphas: their formulas, their bounds found by search, and what makes them values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepladder.errors import ParameterError
from stepladder.kernels.alpha import Alpha, PerDistance, Power, Sloped, Unit, Volcano

degrees = st.floats(0.25, 6.0)
scales = st.floats(0.05, 20.0)
families = st.one_of(
    st.builds(Volcano, degree=degrees, cutoff=scales),
    st.builds(Sloped, width=scales),
    st.builds(Power, degree=degrees | st.just(1.0)),
    st.just(Unit()),
)
alphas = st.one_of(
    families,
    families.map(lambda alpha: alpha.per_distance()),
    families.map(lambda alpha: alpha.per_distance().per_distance()),
)
distances = st.floats(1e-3, 1e3)


def test_formulas_by_hand():
    z = np.array([0.25, 0.5, 2.0])
    np.testing.assert_allclose(Volcano(2, 0.5)(z), [4, 4, 0.25], rtol=1e-15)
    np.testing.assert_allclose(Volcano(3, 0.5)(z), [8, 8, 0.125], rtol=1e-15)
    np.testing.assert_allclose(Sloped(2.0)(z), np.exp([-1 / 128, -1 / 32, -0.5]), rtol=1e-15)
    np.testing.assert_allclose(Power(2.5)(z), [32, 2**2.5, 2**-2.5], rtol=1e-15)
    np.testing.assert_allclose(Unit()(z), [4, 2, 0.5], rtol=1e-15)


def test_poles_and_flat_tops_at_zero():
    assert Power(2)(0.0) == math.inf
    assert Unit()(0.0) == math.inf
    assert Volcano(2, 0.5)(0.0) == 4
    assert Sloped(1)(0.0) == 1
    assert Volcano(2, 0.5).per_distance()(0.0) == math.inf


@pytest.mark.parametrize(
    ("alpha", "bound"),
    [
        (Volcano(2, 0.5), 2.0),
        (Volcano(1, 0.3), 1.0),
        (Volcano(0.9, 0.5), math.inf),
        (Sloped(3.0), 3.0 * math.exp(-0.5)),
        (Power(1), 1.0),
        (Power(2), math.inf),
        (Power(0.5), math.inf),
        (Unit(), 1.0),
        (Volcano(2, 0.5).per_distance(), 4.0),
        (Sloped(3.0).per_distance(), 1.0),
        (Unit().per_distance(), math.inf),
        (Volcano(2, 0.5).per_distance().per_distance(), math.inf),
        (Volcano(3, 1e-200), math.inf),
    ],
)
def test_bounds_by_hand(alpha: Alpha, bound: float):
    assert alpha.bound == pytest.approx(bound, rel=1e-15)


@given(alphas)
def test_bound_is_what_a_search_finds(alpha: Alpha):
    z = np.geomspace(1e-7, 1e7, 28_001)
    pulls = z * alpha(z)
    if math.isinf(alpha.bound):
        # No bound: the search finds its largest pull at an end of the range, still rising.
        assert pulls.argmax() in (0, len(z) - 1)
    else:
        assert pulls.max() <= alpha.bound * (1 + 1e-12)
        assert pulls.max() >= alpha.bound * (1 - 1e-3)


@given(alphas, distances)
def test_pull_never_exceeds_the_bound(alpha: Alpha, z: float):
    assert z * alpha(z) <= alpha.bound * (1 + 1e-12)


@given(alphas, distances)
def test_per_distance_divides_by_the_distance(alpha: Alpha, z: float):
    assert alpha.per_distance()(z) == pytest.approx(alpha(z) / z, rel=1e-12)


@given(alphas, distances)
def test_squared_distances_give_the_same_weight(alpha: Alpha, z: float):
    assert alpha.of_squared(z * z) == pytest.approx(alpha(z), rel=1e-12, abs=1e-300)


@given(alphas, distances)
def test_log_is_the_logarithm(alpha: Alpha, z: float):
    if (weight := float(alpha(z))) > 1e-300:
        assert alpha.log(z) == pytest.approx(math.log(weight), rel=1e-12, abs=1e-12)


@given(degrees, scales, distances)
def test_a_doubled_degree_is_the_square(degree: float, cutoff: float, z: float):
    for alpha, doubled in (
        (Volcano(degree, cutoff), Volcano(2 * degree, cutoff)),
        (Power(degree), Power(2 * degree)),
    ):
        assert 2 * alpha.log(z) == pytest.approx(doubled.log(z), rel=1e-14)
        assert alpha(z) ** 2 == pytest.approx(doubled(z), rel=1e-12)


@given(alphas)
def test_writing_in_place_and_keeping_the_dtype(alpha: Alpha):
    z = np.geomspace(0.1, 10, 12).reshape(3, 4)
    expected, before = alpha(z), z.copy()
    np.testing.assert_array_equal(z, before)
    squared = z**2
    assert alpha.of_squared(squared, out=squared) is squared
    np.testing.assert_allclose(squared, expected, rtol=1e-12)
    for result in (alpha(z.astype(np.float32)), alpha.of_squared((z**2).astype(np.float32))):
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-30)
    assert alpha([1, 2]).dtype == np.float64


def test_alphas_are_values():
    assert Volcano(2, 0.5) == Volcano() != Volcano(3, 0.5)
    assert len({Volcano(), Volcano(2, 0.5), Sloped(), Power(), Unit(), Unit()}) == 4
    assert repr(Volcano()) == "Volcano(degree=2.0, cutoff=0.5)"
    assert Power(2).per_distance() == Power(3)
    assert Volcano().per_distance() == PerDistance(Volcano())
    with pytest.raises(AttributeError):
        Volcano().degree = 3.0  # type: ignore[misc]


@pytest.mark.parametrize("wrong", [0, -1.0, math.inf, math.nan, "2", None, True])
@pytest.mark.parametrize(
    ("family", "name"),
    [(Volcano, "degree"), (Volcano, "cutoff"), (Sloped, "width"), (Power, "degree")],
)
def test_bad_parameters_are_named(family: type[Alpha], name: str, wrong: object):
    with pytest.raises(
        ParameterError, match=f"{name} of {family.__name__} must be a number above 0; got"
    ):
        family(**{name: wrong})
