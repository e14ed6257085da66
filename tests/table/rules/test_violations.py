"""Rules that rows break, in words: the plainest first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import stepladder as sl

SCHEMA = sl.Schema(
    [
        sl.Numeric("loan", bounds=(0, 900), reach=("-50%", None), multiple=10, change="decrease"),
        sl.Numeric("price", change="never"),
        sl.Derived("ltv", "loan / price"),
        sl.Numeric("age", change="time", bounds=(18, 65)),
        sl.Numeric("savings", decimals=1, fill=True),
        sl.Numeric("debt"),
        sl.Categorical("account", levels=["none", "basic", "gold"], not_to=["none"], fill=True),
    ],
    require=["loan <= price", "savings >= debt or account == 'gold'"],
)
TODAY: dict[str, Any] = {
    "loan": 100.0,
    "price": 200.0,
    "ltv": 0.5,
    "age": 64.0,
    "savings": 5.0,
    "debt": 1.0,
    "account": "basic",
}
TRAIN = pd.DataFrame([TODAY, {**TODAY, "loan": 50.0, "age": 40.0, "savings": 9.0, "debt": 2.0}])
SPACE = sl.Space.fit(SCHEMA, TRAIN)


def told(after: dict[str, Any], before: dict[str, Any] | None = None, **rest: Any) -> list[str]:
    frame = pd.DataFrame([{**TODAY, **(before or {})}])
    feasible = sl.Feasible.of(SPACE, frame, **rest)
    found = feasible.check(frame.assign(**after))
    return [f"{violation.feature} {violation.rule}" for violation in found]


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ({}, []),
        ({"loan": 110.0, "ltv": 0.55}, ["loan may only decrease"]),
        ({"loan": 95.0, "ltv": 0.475}, ["loan must be a multiple of 10"]),
        ({"loan": 40.0, "ltv": 0.2}, ["loan is out of reach"]),
        ({"loan": 90.0}, ["ltv doesn't follow from the rest of the row"]),
        ({"age": 65.0}, ["age only grows with the time that a plan takes"]),
        ({"age": 66.0}, ["age must lie within 18 and 65"]),
        ({"price": 201.0, "ltv": 100 / 201}, ["price never changes"]),
        ({"savings": 5.55}, ["savings has at most 1 decimals"]),
        ({"savings": np.nan}, ["savings can't be left empty"]),
        ({"account": "none"}, ["account can't get to that level"]),
        (
            {"debt": 6.0},
            ["savings, debt, account must keep savings >= debt or account == 'gold'"],
        ),
    ],
)
def test_the_rule_is_named(after, words):
    assert told(after) == words


def test_a_gap_may_be_filled_where_the_schema_says_so_and_not_with_just_any_level():
    assert told({"debt": 2.0}, {"debt": np.nan}) == ["debt has no value, and may not be filled in"]
    assert told({"savings": 7.0}, {"savings": np.nan}) == []
    assert told({"account": "basic"}, {"account": None}) == []
    assert told({"account": "none"}, {"account": None}) == ["account can't get to that level"]


def test_what_is_locked_or_beyond_a_persons_own_limits_is_told():
    assert told({"debt": 2.0}, locked=["debt"]) == ["debt is locked"]
    assert told({"debt": 2.0}, limits={0: {"debt": (0, 1.5)}}) == [
        "debt lies beyond this person's limits"
    ]


def test_a_violation_says_what_became_of_what():
    frame = pd.DataFrame([TODAY], index=["anna"])
    (found,) = sl.Feasible.of(SPACE, frame).check(frame.assign(price=201.0, ltv=100 / 201))
    assert str(found) == "price never changes: 200.0 became 201.0 (row anna)"
