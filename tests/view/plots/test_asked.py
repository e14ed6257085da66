"""What each group is asked to change: how often, and which way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from tests.methods import bank

from stepladder.errors import EmptyFrameError
from stepladder.result.path import Outcome
from stepladder.table.feature import Numeric
from stepladder.view import plots
from stepladder.view.plots.asked import Asked

STEP = bank.fitted(paths=2)
RESULT = STEP.recourse(bank.REJECTED.iloc[:12])
HALVES = {"half": ["a"] * 6 + ["b"] * 6}


def frames(chart: Any) -> list[pd.DataFrame]:
    """For each group its rows."""
    spec = chart.to_dict()
    shared = spec.get("data")  # which has it if there's one panel
    names = [(panel.get("data") or shared)["name"] for panel in spec["concat"]]
    return [pd.DataFrame(spec["datasets"][name]) for name in names]


def test_ways_are_said_with_their_counts():
    income = Numeric("income")
    assert str(Asked(income, 160, 7, 0)) == "raise 160, lower 7"
    assert str(Asked(income, 0, 0, 1200)) == "change 1,200"
    assert str(Asked(income, 0, 0, 0)) == ""


def test_shares_are_those_of_the_easiest_routes_of_each_group():
    best = RESULT.status[["person", "best_path"]].astype({"best_path": int})
    changes = RESULT.changes.merge(
        best, left_on=["person", "path"], right_on=["person", "best_path"]
    )
    people = RESULT.people.tolist()
    found = frames(plots.asked(RESULT, HALVES))
    for rows, members in zip(found, (people[:6], people[6:]), strict=True):
        own = changes[changes["person"].isin(members)]["feature"].value_counts() / 6
        shares = rows.set_index("name")["share"]
        assert shares[shares > 0].to_dict() == pytest.approx(own.to_dict())


def test_a_bar_says_which_way_at_its_end():
    rows = frames(plots.asked(RESULT))[0].set_index("name")
    path = [RESULT.routes[i][RESULT.choices_at(i)[0]] for i in range(12)]
    raised = sum(p.values[-1][0] > p.values[0][0] for p in path)
    assert raised > 0
    assert f"raise {raised / 12:.0%}" in rows.loc["income", "label"]


def test_where_nobody_has_a_route_there_is_nothing_to_draw():
    routes = [[replace(p, outcome=Outcome.STALLED) for p in own] for own in RESULT.routes]
    with pytest.raises(EmptyFrameError, match="Nobody has a route"):
        plots.asked(replace(RESULT, routes=routes))
