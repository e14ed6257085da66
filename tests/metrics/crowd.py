"""People in groups, for the tests of what groups are offered."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from stepladder.metrics.members import People

NAN, INF = math.nan, math.inf


def people(
    codes,
    cost,
    *,
    asked=None,
    steps=None,
    effort=None,
    choices=None,
    budget=2.0,
    effectiveness=0.7,
):
    """People whose effort is a tenth and a quarter of their cost, if nothing else is said."""
    codes, cost = np.array(codes, dtype=np.intp), np.array(cost, dtype=float)
    return People(
        codes=codes,
        groups=int(codes.max(initial=-1)) + 1,
        asked=np.ones(len(codes), bool) if asked is None else np.array(asked, bool),
        cost=cost,
        steps=np.ones(len(codes)) if steps is None else np.array(steps, float),
        effort=cost / 4 + 0.1 if effort is None else np.array(effort, float),
        choices=np.ones(len(codes)) if choices is None else np.array(choices, float),
        budget=budget,
        effectiveness=effectiveness,
    )


def by_hand() -> People:
    """Of six in group 0 five asked and four have a path; of four in group 1 all asked, two have."""
    return people(
        codes=[0, 1, 0, 1, 0, 1, 0, 1, 0, 0],
        cost=[3.0, 1.0, 1.0, INF, 2.0, 5.0, 6.0, NAN, NAN, NAN],
        asked=[1, 1, 1, 1, 1, 1, 1, 1, 1, 0],
        steps=[3, 2, 1, 9, 2, 4, 4, 9, 9, 9],
        effort=[0.5, 0.2, 0.3, 9, 0.4, 0.8, 0.2, 9, 9, 9],
        choices=[1, 1, 3, 0, 2, 2, 3, 0, 0, 0],
    )


def random_people(seed, n, count, chance=0.7):
    """People of `count` groups, with ties in cost, failures, and some who didn't ask."""
    rng = np.random.default_rng(seed)
    made = people(
        codes=rng.integers(count, size=n),
        cost=np.where(rng.random(n) < chance, rng.integers(1, 6, n) / 2, rng.choice([NAN, INF], n)),
        asked=rng.random(n) < 0.8,
        steps=rng.integers(1, 9, n),
        effort=rng.random(n),
        choices=rng.integers(1, 4, n),
        budget=1.5,
        effectiveness=rng.choice([0.1, 0.3, 0.5, 0.7, 1.0]),
    )
    object.__setattr__(made, "groups", count)  # the last of them may be empty
    return made


SEEDS, COUNTS = st.integers(0, 2**32 - 1), st.integers(1, 4)
CHANCES = st.sampled_from([0.0, 0.5, 1.0])


def drawn(rng, size, *, shift=0.0, chance=0.8, count=2, unlucky=None):
    """Groups alike, but that the last one's costs are shifted and its chance may differ."""
    codes = np.repeat(np.arange(count), size)
    last = codes == count - 1
    chances = np.where(last, chance if unlucky is None else unlucky, chance)
    cost = rng.gamma(4.0, 0.5, size * count) + shift * last
    choices = rng.integers(1, 4, size * count)
    cost[rng.random(len(cost)) >= chances] = NAN
    return people(codes, cost, steps=rng.integers(1, 9, len(cost)), choices=choices, budget=2.0)
