"""What groups are offered: by hand and against plain loops."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.crowd import CHANCES, COUNTS, INF, NAN, SEEDS, by_hand, random_people

from stepladder.metrics.groups import MEASURES, by_group
from stepladder.metrics.members import People

BY_HAND = {
    "selection_rate": [1 / 6, 0.0],
    "success": [4 / 5, 2 / 4],
    "no_recourse": [1 / 5, 2 / 4],
    "mean_effort": [1.4 / 4, 1.0 / 2],
    "mean_cost": [12 / 4, 6 / 2],
    "median_cost": [2.5, 3.0],
    "mean_steps": [10 / 4, 6 / 2],
    "choice": [9 / 5, 3 / 4],
    "within_budget": [2 / 5, 1 / 4],
    "cost_of_effectiveness": [6.0, INF],  # four of five, and more than have a path
}


@pytest.mark.parametrize("name", MEASURES)
def test_by_hand(name):
    assert by_group(by_hand())[name].tolist() == pytest.approx(BY_HAND[name])


def test_which_way_is_better():
    better = {name for name, measure in MEASURES.items() if measure.higher_is_better}
    assert better == {"selection_rate", "success", "choice", "within_budget"}


def reference(made: People, code: int) -> dict[str, float]:
    """Every measure of one group as plain loops over people."""
    own = [i for i in range(len(made.codes)) if made.codes[i] == code]
    asked = [i for i in own if made.asked[i]]
    reached = sorted((i for i in asked if math.isfinite(made.cost[i])), key=lambda i: made.cost[i])
    cost = [float(made.cost[i]) for i in reached]

    def share(some, of):
        return len(some) / len(of) if of else NAN

    def mean(values, over):
        return math.fsum(values) / len(over) if over else NAN

    enough = [c for j, c in enumerate(cost) if (j + 1) / len(asked) >= made.effectiveness - 1e-9]
    return {
        "selection_rate": share([i for i in own if i not in asked], own),
        "success": share(reached, asked),
        "no_recourse": share([i for i in asked if i not in reached], asked),
        "mean_effort": mean([made.effort[i] for i in reached], reached),
        "mean_cost": mean(cost, cost),
        "median_cost": statistics.median(cost) if cost else NAN,
        "mean_steps": mean([made.steps[i] for i in reached], reached),
        "choice": mean([made.choices[i] for i in reached], asked),
        "within_budget": share([c for c in cost if c <= made.budget], asked),
        "cost_of_effectiveness": min(enough, default=INF) if asked else NAN,
    }


@given(seed=SEEDS, n=st.integers(0, 25), count=COUNTS, chance=CHANCES)
def test_against_plain_loops(seed, n, count, chance):
    made = random_people(seed, n, count, chance)
    found = by_group(made)
    for code in range(count):
        expected = reference(made, code)
        assert {k: v[code] for k, v in found.items()} == pytest.approx(expected, nan_ok=True)
