"""The people an audit is about, in groups: as they are, and drawn again.

A group is weighted: everyone counts once, or as often as a draw has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stepladder.checks import finite
from stepladder.errors import ParameterError

Values = NDArray[np.float64]

TILE = 2**21
"""Weights held at once while people are drawn again (unless one draw is larger)."""


@dataclass(frozen=True, eq=False)
class People:
    """n people, the group of each, and what recourse offers them."""

    codes: NDArray[np.intp]
    """(n,) their group, from 0 to groups - 1"""
    groups: int
    asked: NDArray[np.bool_]
    """(n,) False for those who met the goal already, and asked for nothing"""
    cost: Values
    """(n,) the distance of the nearest path that reaches; NaN or infinite where none does"""
    steps: Values
    """(n,) the steps of that path"""
    effort: Values
    """(n,) what the easiest path that reaches asks of them; NaN where that isn't known"""
    choices: Values
    """(n,) how many different paths reach"""
    budget: float
    """the cost that `within_budget` asks about"""
    effectiveness: float
    """the share of a group that `cost_of_effectiveness` asks about"""

    def __post_init__(self) -> None:
        shapes = {
            name: getattr(self, name).shape
            for name in ("codes", "asked", "cost", "steps", "effort", "choices")
        }
        if self.codes.ndim != 1 or len(set(shapes.values())) > 1:
            raise ParameterError(f"The arrays of People must have one shape, (n,). Got {shapes}.")
        if self.codes.size and not 0 <= self.codes.min() <= self.codes.max() < self.groups:
            raise ParameterError(
                f"'codes' of People must lie between 0 and {self.groups - 1}, for {self.groups} "
                f"groups. Got {self.codes.min()} to {self.codes.max()} instead."
            )
        finite("The effectiveness, a share of a group,", self.effectiveness, above=0, most=1)

    @property
    def reached(self) -> NDArray[np.bool_]:
        """(n,) who asked and has a path to the goal."""
        return np.asarray(self.asked & np.isfinite(self.cost))


@dataclass(frozen=True, eq=False)
class Group:
    """One group, its people weighted in b ways: once each, or as often as they were drawn."""

    people: Values
    """(b,) how many there are"""
    asked: Values
    """(b,) how many of them asked"""
    weights: Values
    """(b, r) how often each of those with a path is there, nearest first"""
    upto: Values
    """(b, r) how many have one as near as that"""
    cost: Values
    """(r,) ascending"""
    steps: Values
    """(r,)"""
    effort: Values
    """(r,)"""
    choices: Values
    """(r,)"""
    budget: float
    effectiveness: float

    @property
    def reached(self) -> Values:
        """(b,) how many have a path."""
        return self.within(len(self.cost))

    def within(self, near: int) -> Values:
        """(b,) how many there are of the nearest `near`."""
        return self.upto[:, near - 1] if near else np.zeros(len(self.asked))


def once(people: People) -> list[Group]:
    """Every group as it is: b is 1."""
    weights = np.ones((1, len(people.codes)))
    return [_weighted(members, weights, people) for members in _members(people)]


def drawn_again(people: People, rng: np.random.Generator, samples: int) -> Iterator[list[Group]]:
    """Every group once n of the n people are drawn with replacement; `samples` times, in tiles."""
    parts = _members(people)
    for weights in _resampled(len(people.codes), samples, rng):
        yield [_weighted(members, weights, people) for members in parts]


# ---- people in order, and weighted ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Members:
    """Where a group stands once people are in order: who has a path, who asked, the others."""

    where: slice
    asked: int
    cost: Values
    steps: Values
    effort: Values
    choices: Values


def _members(people: People) -> list[_Members]:
    """Every group, of people in order of group, then of having a path, asking, and cost."""
    reached = people.reached
    cost = np.where(reached, people.cost, np.inf)
    order = np.lexsort((cost, ~people.asked, people.codes))
    ends = np.searchsorted(people.codes[order], np.arange(people.groups + 1))
    parts = []
    for start, end in pairwise(ends.tolist()):
        own = order[start:end]
        first = own[reached[own]]
        parts.append(
            _Members(
                where=slice(start, end),
                asked=int(people.asked[own].sum()),
                cost=people.cost[first],
                steps=people.steps[first],
                effort=people.effort[first],
                choices=people.choices[first],
            )
        )
    return parts


def _weighted(members: _Members, weights: Values, people: People) -> Group:
    """A group under weights (b, n) of people in order."""
    own = weights[:, members.where]
    first = own[:, : len(members.cost)]
    return Group(
        people=own.sum(axis=1),
        asked=own[:, : members.asked].sum(axis=1),
        weights=first,
        upto=first.cumsum(axis=1),
        cost=members.cost,
        steps=members.steps,
        effort=members.effort,
        choices=members.choices,
        budget=people.budget,
        effectiveness=people.effectiveness,
    )


def _resampled(n: int, samples: int, rng: np.random.Generator) -> Iterator[Values]:
    """Weights (b, n), in tiles: how often each person is drawn."""
    rows = max(1, TILE // max(n, 1))
    for done in range(0, samples, rows):
        b = min(rows, samples - done)
        drawn = rng.integers(n, size=(b, n)) if n else np.empty((b, 0), dtype=np.int64)
        drawn += np.arange(b)[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=b * n).reshape(b, n).astype(np.float64)
