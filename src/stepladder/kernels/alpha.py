"""Alpha: how much a positive counts, as a function of its distance.

Equation 1 adds up (y - x) · α(‖y - x‖) over the positives y. The paper's α is the volcano; the
others are its relatives. Each knows the largest pull z · α(z) that one positive can exert, which is
what a privacy guarantee is calibrated to.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stepladder.checks import finite

Floats: TypeAlias = NDArray[np.floating[Any]]


class Alpha(ABC):
    """A weight α(z) > 0 for every distance z > 0. Values, equal when their parameters are.

    Arrays of any shape go in and come out; float32 stays float32, everything else is float64.
    To add a family: state `_write`, `log`, `bound` and `peak`, and `_write_squared` where a root
    can be saved.
    """

    def __call__(self, distances: ArrayLike) -> Floats:
        """α(z) for each distance z; `inf` where α has a pole there."""
        z = _floats(distances)
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            return self._write(z, np.empty_like(z))[()]

    def of_squared(self, squared: ArrayLike, out: Floats | None = None) -> Floats:
        """α(z) from z², without the root where none is needed; in place if `out` is `squared`."""
        z2 = _floats(squared)
        into = np.empty_like(z2) if out is None else out
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            result = self._write_squared(z2, into)
        return result[()] if out is None else result

    def per_distance(self) -> Alpha:
        """The alpha z ↦ α(z) / z, under which each pull is a unit vector times α(z)."""
        return PerDistance(self)

    @abstractmethod
    def log(self, distances: ArrayLike) -> Floats:
        """log α(z). α sharpened to the power s has logarithm s · log α(z), which can't overflow."""

    @property
    @abstractmethod
    def bound(self) -> float:
        """sup over z > 0 of z · α(z): the most one positive can add to a direction; maybe `inf`."""

    @property
    @abstractmethod
    def peak(self) -> float:
        """sup over z > 0 of α(z), which is the bound of `per_distance()`; maybe `inf`."""

    @abstractmethod
    def _write(self, z: Floats, out: Floats) -> Floats:
        """α(z) into `out`, which may be `z` itself."""

    def _write_squared(self, z2: Floats, out: Floats) -> Floats:
        """α(√z2) into `out`, which may be `z2` itself."""
        return self._write(np.sqrt(z2, out=out), out)


@dataclass(frozen=True)
class Volcano(Alpha):
    """1 / max(z, cutoff)^degree: a power law with a flat top, so that no near positive rules alone.

    >>> Volcano(degree=2, cutoff=0.5)([0.1, 0.5, 2.0])
    array([4.  , 4.  , 0.25])
    """

    degree: float = 2.0
    cutoff: float = 0.5

    def __post_init__(self) -> None:
        finite("The degree of Volcano", self.degree, above=0)
        finite("The cutoff of Volcano", self.cutoff, above=0)

    def log(self, distances: ArrayLike) -> Floats:
        return -self.degree * np.log(np.maximum(_floats(distances), self.cutoff))

    @property
    def bound(self) -> float:
        # Below the cutoff z · α(z) rises; above it falls, unless the degree is under one.
        return _power(self.cutoff, 1.0 - self.degree) if self.degree >= 1 else math.inf

    @property
    def peak(self) -> float:
        return _power(self.cutoff, -self.degree)

    def _write(self, z: Floats, out: Floats) -> Floats:
        return _inverse_power(_at_least(self.cutoff, z, out), self.degree, out)

    def _write_squared(self, z2: Floats, out: Floats) -> Floats:
        return _inverse_power(_at_least(_power(self.cutoff, 2.0), z2, out), self.degree / 2, out)


@dataclass(frozen=True)
class Sloped(Alpha):
    """exp(-(z / width)² / 2): a bell, under which far positives hardly count at all."""

    width: float = 1.0

    def __post_init__(self) -> None:
        finite("The width of Sloped", self.width, above=0)

    def log(self, distances: ArrayLike) -> Floats:
        with np.errstate(over="ignore", under="ignore"):
            logs: Floats = -0.5 * np.square(_floats(distances) / self.width)
        return logs

    @property
    def bound(self) -> float:
        return self.width * math.exp(-0.5)

    @property
    def peak(self) -> float:
        return 1.0

    def _write(self, z: Floats, out: Floats) -> Floats:
        np.divide(z, self.width, out=out)
        return self._bell(np.square(out, out=out), out)

    def _write_squared(self, z2: Floats, out: Floats) -> Floats:
        # Two divisions, since width² can overflow or vanish where width doesn't.
        np.divide(z2, self.width, out=out)
        return self._bell(np.divide(out, self.width, out=out), out)

    @staticmethod
    def _bell(ratio2: Floats, out: Floats) -> Floats:
        return np.exp(np.multiply(ratio2, -0.5, out=out), out=out)


@dataclass(frozen=True)
class Power(Alpha):
    """1 / z^degree: the volcano without its cutoff, `inf` at distance 0."""

    degree: float = 2.0

    def __post_init__(self) -> None:
        finite("The degree of Power", self.degree, above=0)

    def per_distance(self) -> Alpha:
        return Power(self.degree + 1)

    def log(self, distances: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return -self.degree * np.log(_floats(distances))

    @property
    def bound(self) -> float:
        return 1.0 if self.degree == 1 else math.inf

    @property
    def peak(self) -> float:
        return math.inf

    def _write(self, z: Floats, out: Floats) -> Floats:
        return _inverse_power(z, self.degree, out)

    def _write_squared(self, z2: Floats, out: Floats) -> Floats:
        return _inverse_power(z2, self.degree / 2, out)


@dataclass(frozen=True)
class Unit(Alpha):
    """1 / z: every positive pulls with the same strength, whatever its distance."""

    def per_distance(self) -> Alpha:
        return Power(2.0)

    def log(self, distances: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return -np.log(_floats(distances))

    @property
    def bound(self) -> float:
        return 1.0

    @property
    def peak(self) -> float:
        return math.inf

    def _write(self, z: Floats, out: Floats) -> Floats:
        return _inverse_power(z, 1.0, out)

    def _write_squared(self, z2: Floats, out: Floats) -> Floats:
        return _inverse_power(z2, 0.5, out)


@dataclass(frozen=True)
class PerDistance(Alpha):
    """α(z) / z for another α: what `per_distance()` returns where no family is closed under it."""

    alpha: Alpha

    def log(self, distances: ArrayLike) -> Floats:
        z = _floats(distances)
        with np.errstate(divide="ignore"):
            return self.alpha.log(z) - np.log(z)

    @property
    def bound(self) -> float:
        return self.alpha.peak

    @property
    def peak(self) -> float:
        # α(z) / z grows without end towards 0 for every α here: none vanishes there.
        return math.inf

    def _write(self, z: Floats, out: Floats) -> Floats:
        # A copy, since `out` may be `z`, and α would overwrite the distance it is divided by.
        return np.divide(self.alpha(z), z, out=out)


def _floats(values: ArrayLike) -> Floats:
    array = np.asarray(values)
    return array if array.dtype == np.float32 else array.astype(np.float64, copy=False)


def _at_least(least: float, values: Floats, out: Floats) -> Floats:
    """The larger of each value and `least` into `out`: `maximum` of an array and a number takes two
    to three times as long."""
    return np.clip(values, least, np.inf, out=out)


def _inverse_power(base: Floats, degree: float, out: Floats) -> Floats:
    """base^-degree into `out`: by squares, roots and one division where they make it up,
    for a general power costs ten times as much."""
    while degree > 1 and degree % 2 == 0:
        base = np.multiply(base, base, out=out)
        degree /= 2
    if degree == 0.5:
        base = np.sqrt(base, out=out)
    elif degree != 1:
        return np.power(base, -degree, out=out)
    return np.divide(1.0, base, out=out)


def _power(base: float, exponent: float) -> float:
    try:
        return float(base**exponent)
    except OverflowError:
        return math.inf
