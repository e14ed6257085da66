"""The paper's axioms, as properties of the kernel."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepladder.kernels.alpha import Power, Sloped, Unit, Volcano
from stepladder.kernels.direction import directions

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 8)
smooth = st.sampled_from([Volcano(2, 0.5), Volcano(3, 1.0), Sloped(2.0), Volcano(1, 0.2)])
alphas = smooth | st.sampled_from([Unit(), Power(1.5), Power(2)])


def world(seed: int, m: int, n: int = 4, count: int = 60):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(n, m)), 2 * rng.normal(size=(count, m))


def orthogonal(rng: np.random.Generator, m: int):
    """Rotations and reflections alike: the sign of the determinant is left to chance."""
    q, r = np.linalg.qr(rng.normal(size=(m, m)))
    return q * np.sign(np.diag(r))


def scale_of(points, positives, alpha):
    """Σ ‖y - x‖ α, against which a direction's rounding is measured."""
    z = np.linalg.norm(positives[None] - points[:, None], axis=2)
    return (z * alpha(z)).sum(axis=1)[:, None]


def assert_same(result, expected, scale, tolerance=1e-10):
    assert (np.abs(result - expected) <= tolerance * (1 + scale)).all()


@given(seeds, sizes, alphas, st.floats(-1e3, 1e3))
def test_shift_invariance(seed, m, alpha, size):
    """Moving all data by one vector leaves every direction as it was."""
    rng, points, positives = world(seed, m)
    shift = size * rng.normal(size=m)
    shifted = directions(points + shift, positives + shift, alpha)
    scale = scale_of(points, positives, alpha)
    assert_same(shifted, directions(points, positives, alpha), scale, tolerance=1e-9)


@given(seeds, sizes, alphas)
def test_rotation_and_reflection_faithfulness(seed, m, alpha):
    """Turning or mirroring all data turns or mirrors the direction with it: d(Ax) = A d(x)."""
    rng, points, positives = world(seed, m)
    turn = orthogonal(rng, m)
    turned = directions(points @ turn.T, positives @ turn.T, alpha)
    scale = scale_of(points, positives, alpha)
    assert_same(turned, directions(points, positives, alpha) @ turn.T, scale)


@given(seeds, sizes, smooth, st.floats(1e-9, 1e-3))
def test_continuity_in_the_data(seed, m, alpha, size):
    """Data that move by at most δ change a direction by at most a constant times δ."""
    rng, points, positives = world(seed, m)
    nudge = rng.uniform(-1, 1, size=positives.shape)
    moved = positives + size * nudge / max(1.0, np.linalg.norm(nudge, axis=1).max())
    change = directions(points, moved, alpha) - directions(points, positives, alpha)
    # z ↦ z α(z) along a line and the turn of y - x: both slopes are at most α's and z α's.
    slope = alpha.peak * (1 + getattr(alpha, "degree", 1.0))
    assert (np.linalg.norm(change, axis=1) <= len(positives) * slope * size + 1e-9).all()


@given(seeds, sizes, alphas, st.integers(0, 50))
def test_negatives_are_ignored(seed, m, alpha, count):
    """Rows that the model turns down can come and go without changing any direction."""
    rng, points, rows = world(seed, m)
    normal = rng.normal(size=m)
    more = rng.normal(size=(count, m))
    negatives = more[more @ normal < 0]
    both = np.vstack([rows, negatives])
    alone = directions(points, rows[rows @ normal >= 0], alpha)
    together = directions(points, both[both @ normal >= 0], alpha)
    np.testing.assert_array_equal(together, alone)


@given(seeds, sizes, alphas)
def test_monotone_in_an_added_positive(seed, m, alpha):
    """A new positive turns the direction towards itself: (d' - d) · (y - x) > 0."""
    rng, points, positives = world(seed, m)
    new = 2 * rng.normal(size=(1, m))
    change = directions(points, np.vstack([positives, new]), alpha)
    change -= directions(points, positives, alpha)
    pull = new - points
    length = np.linalg.norm(pull, axis=1)
    along = np.einsum("ij,ij->i", change, pull)
    across = change - pull * (along / length**2)[:, None]
    scale = scale_of(points, np.vstack([positives, new]), alpha)
    assert (along > 0).all()
    assert_same(across, 0.0, scale)
    np.testing.assert_allclose(along / length**2, alpha(length), rtol=1e-6)


@given(seeds, sizes, alphas)
def test_dependence_on_the_model_through_the_data_only(seed, m, alpha):
    """Two models that agree on every row give one direction, however they differ elsewhere."""
    rng, points, rows = world(seed, m)
    normal = rng.normal(size=m)
    accepted = {row.tobytes() for row in rows[rows @ normal >= 0]}

    def plane(at):
        return at @ normal >= 0

    def memory(at):
        return np.array([row.tobytes() in accepted for row in at])

    elsewhere = rng.normal(size=(50, m))
    assert plane(elsewhere).any() or not memory(elsewhere).any()
    np.testing.assert_array_equal(
        directions(points, rows[plane(rows)], alpha),
        directions(points, rows[memory(rows)], alpha),
    )
