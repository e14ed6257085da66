"""Equation 1 in torch against the naive loop, and what the fused kernel is trusted with.

The kernel itself runs on an NVIDIA GPU alone. Elsewhere its arithmetic is imitated: the same halves
of float16, three products instead of one, sums in float32. What decides whether to trust it, and
answers again where it can't be, is the real thing in both.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.kernels.naive import (
    assert_matches_naive,
    naive_direction,
    power,
    sloped,
    table,
    volcano,
)

from stepladder.errors import ParameterError
from stepladder.kernels import gpu
from stepladder.kernels.alpha import Alpha, Power, Sloped, Unit, Volcano
from stepladder.kernels.direction import directions
from stepladder.kernels.distance import weighting, whitening

FAMILIES = [
    (Volcano(2, 0.5), volcano(2, 0.5)),
    (Volcano(1.7, 0.8), volcano(1.7, 0.8)),
    (Volcano(4, 0.5), volcano(4, 0.5)),
    (Sloped(4.0), sloped(4.0)),
    (Power(2), power(2)),
    (Power(3), power(3)),
    (Unit(), power(1)),
    (Volcano(2, 0.5).per_distance(), lambda z: volcano(2, 0.5)(z) / z),
]
each_family = pytest.mark.parametrize(
    ("alpha", "weight"), FAMILIES, ids=[repr(alpha) for alpha, _ in FAMILIES]
)
CPU = torch.device("cpu")


def found(points, positives, alpha, norm=None, there=CPU):
    held = gpu.prepare(np.asarray(positives, dtype=float), norm, there)
    tensor = torch.as_tensor(np.asarray(points, dtype=float)).to(there)
    return gpu.cluster_direction(tensor, held, alpha).cpu().numpy()


# ---- in float64 ---------------------------------------------------------------------------------


@each_family
def test_against_the_naive_loop(alpha, weight):
    points, positives = table()
    given = found(points, positives, alpha)
    assert_matches_naive(given, points, positives, weight, tolerance=gpu.TOLERANCE["cpu"])


@pytest.mark.parametrize("kind", ["weights", "whitened"])
def test_with_a_norm(kind):
    points, positives = table(1)
    norm = weighting([1, 2, 0, 1, 0.5]) if kind == "weights" else whitening(positives)
    given = found(points, positives, Volcano(2, 0.5), norm)
    assert_matches_naive(given, points, positives, volcano(2, 0.5), norm)


@pytest.mark.parametrize(("tile", "rows"), [(1, 1), (7, 3), (64, 5), (10_000, 100)])
def test_at_any_tiling(monkeypatch, tile, rows):
    monkeypatch.setitem(gpu._TILE, "cpu", tile)
    monkeypatch.setitem(gpu._MOST_ROWS, "cpu", rows)
    points, positives = table(2)
    assert_matches_naive(
        found(points, positives, Unit()), points, positives, power(1), tolerance=1e-12
    )


def test_near_pairs_are_added_from_their_differences():
    rng = np.random.default_rng(3)
    positives = 1e4 + rng.normal(size=(40, 3)) * [1, 1e4, 1]
    points = positives[:5] + 1e-5
    given = found(points, positives, Volcano(8, 1e-9))
    assert_matches_naive(given, points, positives, volcano(8, 1e-9), tolerance=1e-10)


@pytest.mark.parametrize("alpha", [Volcano(), Power(3), Unit()], ids=repr)
def test_a_positive_at_distance_0_adds_nothing(alpha):
    point = [[0.1, 0.2, 0.3]]
    assert (found(point, np.repeat(point, 4, axis=0), alpha) == 0).all()


def test_without_positives_or_points():
    assert (found([[1.0, 2.0]], np.empty((0, 2)), Unit()) == 0).all()
    assert found(np.empty((0, 2)), [[1.0, 2.0]], Unit()).shape == (0, 2)


class Hat(Alpha):
    """Somebody's own α, which torch has never heard of."""

    def log(self, distances):
        return np.log(self(distances))

    bound = peak = 1.0

    def _write(self, z, out):
        out[...] = 1 / (1 + z)
        return out


def test_somebodys_own_alpha():
    points, positives = table(4)
    given = found(points, positives, Hat())
    assert_matches_naive(given, points, positives, lambda z: 1 / (1 + z))


def test_a_device_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ParameterError, match=r"needs an NVIDIA GPU .* backend='torch'"):
        gpu.device_named("cuda")
    assert gpu.device_named("torch") == CPU


# ---- the fused kernel ---------------------------------------------------------------------------


def imitated(high, low, norms, fused, form):
    """What the kernel would say, in its arithmetic."""

    def product(a, b):
        (ah, al), (bh, bl) = ([half.float() for half in side] for side in (a, b))
        return al @ bh + ah @ bl + ah @ bh

    positives = fused.high, fused.low
    squared = product((high, low), (fused.high.T, fused.low.T)) + (norms[:, None] + fused.norms)
    base = squared.clamp(min=form.least)
    match form.family:
        case "bell":
            weights = torch.exp2(squared * form.exponent)
        case "reciprocal":
            weights = 1 / base
        case "root":
            weights = base.rsqrt()
        case _:
            weights = torch.exp2(torch.log2(base) * form.exponent)
    if form.divided:
        weights = weights * squared.clamp(min=1e-30).rsqrt()
    weights = weights * form.gain
    upper = weights.half()
    halves = upper, (weights - upper.float()).half()
    sums = product(halves, fused.terms or positives)
    return sums[None], weights.sum(dim=1)[None], squared.amin(dim=1)[None]


@pytest.fixture(params=["imitated", "cuda"])
def fused(request, monkeypatch):
    """The device that the fused kernel is tried on, and how many points it was trusted with."""
    trusted: list[int] = []
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no NVIDIA GPU here: the fused kernel itself isn't tried, only its arithmetic")
    if request.param == "imitated":
        monkeypatch.setattr(gpu, "_can_fuse", lambda there: True)
        monkeypatch.setattr(gpu, "_launch", imitated)
        monkeypatch.setitem(gpu._NEAR, "cpu", gpu._NEAR["cuda"])
    quick = gpu._quick

    def watched(*given):
        answer = quick(*given)
        trusted.append(int(answer[1].sum()))
        return answer

    monkeypatch.setattr(gpu, "_quick", watched)
    return torch.device("cpu" if request.param == "imitated" else "cuda"), trusted


def cloud(seed: int, n: int = 200, count: int = 700, m: int = 24):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, m)) - 0.5, rng.normal(size=(count, m))


def error(given, points, positives, weight, norm=None):
    """The largest error of a few directions beside the sum of their terms' lengths."""
    errors = []
    for i in range(0, len(points), len(points) // 10):
        expected, scale = naive_direction(points[i], positives, weight, norm)
        errors.append(np.linalg.norm(given[i] - expected) / scale)
    return max(errors)


@each_family
def test_the_fused_kernel_keeps_its_tolerance(fused, alpha, weight):
    there, trusted = fused
    points, positives = cloud(0)
    given = found(points, positives, alpha, there=there)
    assert trusted == [len(points)]
    assert error(given, points, positives, weight) <= gpu.TOLERANCE["cuda"]


@pytest.mark.parametrize("m", [1, 3, 16, 17, 40, 100])
def test_with_any_number_of_columns(fused, m):
    there, trusted = fused
    points, positives = cloud(1, m=m)
    given = found(points, positives, Volcano(), there=there)
    assert len(trusted) == 1
    assert error(given, points, positives, volcano(2, 0.5)) <= gpu.TOLERANCE["cuda"]


def test_with_more_columns_than_it_has_room_for(fused):
    there, trusted = fused
    points, positives = cloud(2, n=20, m=130)
    given = found(points, positives, Volcano(), there=there)
    assert trusted == []
    assert error(given, points, positives, volcano(2, 0.5)) <= 1e-9


@pytest.mark.parametrize("kind", ["weights", "whitened"])
def test_the_fused_kernel_with_a_norm(fused, kind):
    there, trusted = fused
    points, positives = cloud(3, m=5)
    points, positives = points + 3, positives * [1, 10, 0.1, 1, 1]
    norm = weighting([1, 0.1, 0, 1, 0.5]) if kind == "weights" else whitening(positives)
    given = found(points, positives, Volcano(), norm, there)
    assert trusted[0] > 150
    assert error(given, points, positives, volcano(2, 0.5), norm) <= gpu.TOLERANCE["cuda"]


def test_what_is_far_by_the_norm_and_near_without_it_is_answered_again(fused):
    there, trusted = fused
    points, positives = cloud(12, m=10)
    # Most positives agree with all points in a column that the norm makes little of, far from the
    # positives' mean: a few that hardly count are beyond it, on both sides.
    points[:, 9], positives[:, 9] = 1e4, 1e4
    positives[:70, 9], positives[:70:2, 0], positives[1:70:2, 0] = -9e4, 300, -300
    norm = weighting([1] * 9 + [1e-7])
    given = found(points, positives, Volcano(), norm, there)
    assert trusted == [0]
    assert error(given, points, positives, volcano(2, 0.5), norm) <= 1e-9


@pytest.mark.parametrize("alpha", [Volcano(8, 1e-100), Sloped(1e-300), Sloped(1e300)], ids=repr)
@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_units_beyond_all_measure(fused, alpha, unit):
    there, _ = fused
    points, positives = cloud(13, n=20)
    given = found(points * unit, positives * unit, alpha, there=there)
    with np.errstate(all="ignore"):
        exact = directions(points * unit, positives * unit, alpha)
    np.testing.assert_allclose(given, exact, rtol=1e-5, atol=0)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_in_any_unit(fused, unit):
    there, trusted = fused
    points, positives = cloud(4)
    given = found(points * unit, positives * unit, Volcano(2, 0.5 * unit), there=there)
    assert trusted == [len(points)]
    weight = volcano(2, 0.5 * unit)
    assert error(given, points * unit, positives * unit, weight) <= gpu.TOLERANCE["cuda"]


def test_far_from_the_origin(fused):
    there, trusted = fused
    points, positives = cloud(5)
    given = found(points + 1e5, positives + 1e5, Volcano(), there=there)
    assert trusted == [len(points)]
    weight = volcano(2, 0.5)
    assert error(given, points + 1e5, positives + 1e5, weight) <= gpu.TOLERANCE["cuda"]


def test_a_point_that_a_positive_is_near_to_is_answered_again(fused):
    there, trusted = fused
    points, positives = cloud(6)
    points[::2] = positives[:100]
    points[1::4] = positives[:50] + 1e-4
    for alpha, weight in ((Volcano(), volcano(2, 0.5)), (Power(3), power(3))):
        given = found(points, positives, alpha, there=there)
        assert trusted.pop() == 50
        assert error(given[::2], points[::2], positives, weight) <= 1e-6
        assert error(given[1::4], points[1::4], positives, weight) <= 1e-6


def test_a_point_too_far_away_is_answered_again(fused):
    there, trusted = fused
    points, positives = cloud(7)
    points[::2] += 1e5
    given = found(points, positives, Volcano(), there=there)
    assert trusted == [100]
    assert error(given[::2], points[::2], positives, volcano(2, 0.5)) <= 1e-9


def test_positives_too_wide_for_float16_are_noticed(fused):
    there, trusted = fused
    points, positives = cloud(8)
    positives[:2] = [[1e8], [-1e8]]
    given = found(points, positives, Volcano(), there=there)
    assert trusted == []
    assert error(given, points, positives, volcano(2, 0.5)) <= 1e-9


def test_heavy_tails_are_not_too_wide(fused):
    there, trusted = fused
    points, positives = cloud(9)
    positives[:20] *= 300
    given = found(points, positives, Volcano(), there=there)
    assert trusted[0] > 0
    assert error(given, points, positives, volcano(2, 0.5)) <= gpu.TOLERANCE["cuda"]


@pytest.mark.parametrize(
    ("alpha", "weight"),
    [
        (Volcano(20, 0.5), volcano(20, 0.5)),
        (Sloped(0.3), sloped(0.3)),
        (Hat(), lambda z: 1 / (1 + z)),
    ],
    ids=["too steep", "too narrow", "unknown"],
)
def test_an_alpha_it_cannot_be_trusted_with(fused, alpha, weight):
    there, trusted = fused
    points, positives = cloud(10)
    given = found(points, positives, alpha, there=there)
    assert sum(trusted) == 0
    assert error(given, points, positives, weight) <= 1e-9


def test_points_come_in_parts_that_fit(fused, monkeypatch):
    there, trusted = fused
    points, positives = cloud(14)
    monkeypatch.setattr(gpu, "_MOST_POINTS", 70)
    points[75] = positives[0]
    given = found(points, positives, Volcano(), there=there)
    assert trusted == [70, 69, 60]
    assert error(given, points, positives, volcano(2, 0.5)) <= gpu.TOLERANCE["cuda"]


def test_it_is_off_by_more_than_float64_and_so_really_tried(fused):
    there, _ = fused
    points, positives = cloud(11)
    given = found(points, positives, Volcano(), there=there)
    exact = directions(points, positives, Volcano())
    assert 1e-12 < np.abs(given - exact).max() < 1e-2
