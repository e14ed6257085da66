"""Equation 1 as one would say it aloud: the reference the kernels are held to."""

from __future__ import annotations

import math

import numpy as np


def naive_direction(point, positives, weight, norm=None):
    """d = Σ (y - x) α(‖y - x‖) by exact summation, and Σ ‖y - x‖ α, the scale of its errors."""
    terms = []
    for y in positives:
        move = [float(b) - float(a) for a, b in zip(point, y, strict=True)]
        placed = move
        if norm is not None and norm.ndim == 1:
            placed = [w * v for w, v in zip(norm, move, strict=True)]
        elif norm is not None:
            placed = [math.fsum(w * v for w, v in zip(row, move, strict=True)) for row in norm]
        z = math.sqrt(math.fsum(v * v for v in placed))
        w = 0.0 if z == 0 and not any(move) else weight(z)
        terms.append([w * v for v in move])
    m = len(point)
    direction = np.array([math.fsum(t[c] for t in terms) for c in range(m)])
    return direction, math.fsum(math.hypot(*t) for t in terms)


def volcano(degree, cutoff):
    return lambda z: 1.0 / max(z, cutoff) ** degree


def sloped(width):
    return lambda z: math.exp(-((z / width) ** 2) / 2)


def power(degree):
    return lambda z: 1.0 / z**degree


def table(seed: int = 0, n: int = 12, count: int = 150, m: int = 5):
    """Points and positives with outliers of size 300 and with points that sit on positives."""
    rng = np.random.default_rng(seed)
    positives = rng.normal(size=(count, m)) * np.exp(rng.normal(size=(count, 1)))
    positives[:5] = 300 + rng.normal(size=(5, m))
    points = rng.normal(size=(n, m))
    points[0], points[1] = positives[0], positives[7]
    points[2] = positives[1] + 1e-3 * rng.normal(size=m)
    return points, positives


def assert_matches_naive(result, points, positives, weight, norm=None, tolerance=1e-12):
    for row, point in zip(result, points, strict=True):
        expected, scale = naive_direction(point, positives, weight, norm)
        np.testing.assert_allclose(row, expected, rtol=0, atol=tolerance * scale)
