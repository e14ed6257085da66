"""Effort against certainty: each route at its effort, as high as it is sure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from tests.methods import bank

import stepladder as sl
from stepladder.errors import ParameterError
from stepladder.view import plots

STEP = bank.fitted(paths=3)
RESULT = STEP.recourse(bank.REJECTED.iloc[:6])
INDEX = next(i for i in range(6) if len(RESULT.choices_at(i)) > 1)
PERSON = RESULT.people.tolist()[INDEX]


def points(chart: Any, layer: int = 0) -> pd.DataFrame:
    spec = chart.to_dict()
    return pd.DataFrame(spec["datasets"][spec["vconcat"][0]["layer"][layer]["data"]["name"]])


def with_paths(**changes: Any) -> sl.Recourse:
    return replace(
        RESULT, routes=[[replace(path, **changes) for path in own] for own in RESULT.routes]
    )


def test_without_successors_the_margin_says_how_sure():
    rows = points(plots.certainty(RESULT, PERSON))
    final = RESULT.choices(PERSON)
    assert rows["route"].tolist() == [str(n + 1) for n in range(len(final))]
    assert rows["effort"].tolist() == pytest.approx(final["effort"].tolist())
    assert rows["sure"].tolist() == pytest.approx((final["score"] - 0.6).tolist())


def test_with_successors_the_probability_does():
    chart = plots.certainty(with_paths(holds=0.93, tight=True), PERSON)
    assert (points(chart)["sure"] == 0.93).all()
    assert (points(chart)["kind"] == "tight").all()
    text = chart.to_dict()["description"]
    assert "probability that the yes holds 93%" in text
    assert "Hollow" in text
    assert "Hollow" not in plots.certainty(with_paths(tight=False), PERSON).to_dict()["description"]


def test_routes_that_lie_on_one_another_share_a_label():
    own = [[path] * 3 for path, *_ in RESULT.routes]
    same = replace(RESULT, routes=own)
    labels = points(plots.certainty(same, PERSON), 1)["label"].tolist()
    assert labels == ["1"]  # one that is another isn't shown
    spread = points(plots.certainty(RESULT, PERSON), 1)["label"]
    numbers = [number for label in spread for number in label.split(", ")]
    assert sorted(numbers) == [str(n + 1) for n in range(len(RESULT.choices(PERSON)))]


def test_without_effort_there_is_distance():
    chart = plots.certainty(with_paths(efforts=None), PERSON)
    assert "distance" in chart.to_dict()["description"]


def test_someone_without_a_route_has_no_such_picture():
    yes = STEP.recourse(bank.PEOPLE[bank.score(bank.PEOPLE) > 0.7].iloc[[0]])
    with pytest.raises(ParameterError, match="no route to draw"):
        plots.certainty(yes, yes.people[0])
