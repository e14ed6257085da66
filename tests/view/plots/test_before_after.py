"""Before and after: each change once, as large as its effort, and which way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.methods import bank

from stepladder.errors import ParameterError
from stepladder.view import plots
from stepladder.words import plans as words

STEP = bank.fitted(paths=3)
RESULT = STEP.recourse(bank.REJECTED.iloc[:6])


def drawn(chart: Any) -> list[pd.DataFrame]:
    """For each route its changes."""
    spec = chart.to_dict()
    texts = [panel["layer"][-1]["data"]["name"] for panel in spec["vconcat"]]
    return [pd.DataFrame(spec["datasets"][name]) for name in texts]


@pytest.mark.parametrize("person", RESULT.people.tolist())
def test_every_route_has_its_changes_each_as_large_as_its_effort(person: int):
    plan = words.plan(RESULT, person)
    found = drawn(plots.before_after(RESULT, person))
    assert len(found) == len(plan.routes)
    for rows, route in zip(found, plan.routes, strict=True):
        wanted = {words.capital(str(move)): move for move in route.changes}
        assert {text.replace("\n", " ") for text in rows["text"]} == set(wanted)
        for text, far in zip(rows["text"], rows["far"], strict=True):
            move = wanted[text.replace("\n", " ")]
            assert abs(far) == pytest.approx(move.effort)
            falls = isinstance(move.before, int | float) and move.after < move.before
            assert (far < 0) == (falls and not isinstance(move.before, bool))
        assert rows["far"].abs().is_monotonic_decreasing


def test_all_routes_are_on_one_scale():
    person = next(p for p in RESULT.people.tolist() if len(words.plan(RESULT, p).routes) > 1)
    panels = plots.before_after(RESULT, person).to_dict()["vconcat"]
    domains = [panel["layer"][0]["encoding"]["x"]["scale"]["domain"] for panel in panels]
    assert len(domains) > 1
    assert all(domain == domains[0] for domain in domains)


def test_where_nobody_weighed_effort_standard_deviations_are_drawn(tmp_path: Path):
    routes = [[replace(path, efforts=None) for path in own] for own in RESULT.routes]
    old = replace(RESULT, routes=routes)
    person = old.people.tolist()[0]
    chart = plots.before_after(old, person)
    slot = old.choices_at(0)[0]
    path = old.routes[0][slot]
    far = np.abs(path.points[-1] - path.points[0])
    assert drawn(chart)[0]["far"].abs().max() == pytest.approx(far.max())
    assert "Standard deviations" in str(chart.to_dict())
    plots.save(chart, tmp_path / "chart.svg")


def test_someone_who_has_a_yes_already_sees_that_nothing_changes(tmp_path: Path):
    yes = STEP.recourse(bank.PEOPLE[bank.score(bank.PEOPLE) > 0.7].iloc[[0]])
    chart = plots.before_after(yes, yes.people[0])
    assert "Nothing changes" in str(chart.to_dict()["vconcat"])
    plots.save(chart, tmp_path / "chart.svg")
    with pytest.raises(ParameterError, match="nobody called 'Ada'"):
        plots.before_after(RESULT, "Ada")
