"""How far everyone has to go: shares of each group within an effort."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.methods import bank

from stepladder.errors import EmptyFrameError, ParameterError
from stepladder.result.path import Outcome
from stepladder.view import plots

STEP = bank.fitted(paths=2)
RESULT = STEP.recourse(bank.REJECTED.iloc[:12])
HALVES = {"half": ["a"] * 6 + ["b"] * 6}
EASIEST = RESULT.final.query("outcome == 'reached'").groupby("person", sort=False)["effort"].first()


def line(chart: Any) -> pd.DataFrame:
    spec = chart.to_dict()
    return pd.DataFrame(spec["datasets"][spec["vconcat"][0]["layer"][1]["data"]["name"]])


def test_a_line_is_the_share_within_each_effort():
    rows = line(plots.how_far(RESULT, HALVES))
    assert set(rows["group"]) == {"a", "b"}
    for name, some in (("a", EASIEST.iloc[:6]), ("b", EASIEST.iloc[6:])):
        own = rows[rows["group"] == name]
        assert own["effort"].iloc[1:-1].tolist() == pytest.approx(sorted(some))
        assert own["share"].iloc[1:-1].tolist() == pytest.approx(np.arange(1, 7) / 6)
        assert own["effort"].iloc[-1] == pytest.approx(EASIEST.max())  # to the end of the axis


def test_the_median_of_each_group_stands_at_the_end_of_its_line():
    chart = plots.how_far(RESULT, HALVES)
    medians = [sorted(EASIEST.iloc[:6])[2], sorted(EASIEST.iloc[6:])[2]]
    spec = chart.to_dict()
    labels = pd.DataFrame(spec["datasets"][spec["vconcat"][0]["layer"][-1]["data"]["name"]])
    wanted = {f"{name} {m:.2f}" for name, m in zip("ab", medians, strict=True)}
    assert set(labels["label"]) == wanted
    for name, m in zip("ab", medians, strict=True):
        said = f"f {name} (6\N{NO-BREAK SPACE}people) half have a route within effort {m:.2f}"
        assert said in spec["description"]


def test_who_has_no_route_keeps_the_line_below_all():
    first, *rest = RESULT.routes
    without = [replace(path, outcome=Outcome.STALLED) for path in first]
    rows = line(plots.how_far(replace(RESULT, routes=[without, *rest]), HALVES))
    ends = rows.groupby("group")["share"].max()
    assert ends.to_dict() == pytest.approx({"a": 5 / 6, "b": 1.0})


def test_who_had_a_yes_already_is_not_counted():
    some = STEP.recourse(bank.PEOPLE.iloc[:20])
    asked = int((some.status["outcome"] != "already_positive").sum())
    assert 0 < asked < 20
    assert f"{asked}\N{NO-BREAK SPACE}people" in plots.how_far(some).to_dict()["description"]
    yes = STEP.recourse(bank.PEOPLE[bank.score(bank.PEOPLE) > 0.7].iloc[:2])
    with pytest.raises(EmptyFrameError, match="Nobody asked"):
        plots.how_far(yes)


def test_too_many_groups_to_tell_apart_are_refused():
    with pytest.raises(ParameterError, match="at most 8 groups apart; got 12"):
        plots.how_far(RESULT, {"who": [f"p{i}" for i in range(12)]})


def test_features_of_the_schema_are_groups_too(tmp_path: Path):
    chart = plots.how_far(RESULT, ["owner"])
    assert set(line(chart)["group"]) <= {"False", "True"}
    plots.save(chart, tmp_path / "chart.svg")
