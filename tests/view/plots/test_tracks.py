"""What changes along routes: numbers on one scale, levels as boxes, lines named at their ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from tests.methods import bank

import stepladder as sl
from stepladder.result.path import Outcome, Path
from stepladder.view import plots

SCHEMA = sl.Schema(
    [
        sl.Numeric("income"),
        sl.Numeric("debt"),
        sl.Ordinal("record", levels=["poor", "fair", "good"]),
        sl.Categorical("job", levels=["clerk", "nurse"]),
    ]
)


def made(*routes: list[list[float]]) -> sl.Recourse:
    """One person with routes of such rows, on the way to a yes."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "income": rng.normal(3000, 1000, 300),
            "debt": rng.normal(500, 100, 300),
            "record": rng.choice(["poor", "fair", "good"], 300),
            "job": rng.choice(["clerk", "nurse"], 300),
        }
    )
    step = sl.StEP(paths=1).fit(rows, lambda f: (f["income"] > 3000) * 1.0, schema=SCHEMA)
    result = step.recourse(rows[rows["income"] < 3000].head(1).set_axis(["Ada"]))
    paths = []
    for route in routes:
        values = np.array(route, dtype=float)
        scores = np.linspace(0.2, 0.8, len(values))
        points = step.space_.to_points(values)
        paths.append(Path(Outcome.REACHED, "", values, points, scores))
    return replace(result, routes=[paths], settings={"cost": "effort"})


BOTH = made(
    [[2000, 500, 0, 0], [2500, 500, 1, 0], [3000, 500, 2, 0]],
    [[2000, 500, 0, 0], [2000, 490, 0, 1]],
)


def panels(chart: Any) -> dict[str, tuple[dict[str, Any], list[pd.DataFrame]]]:
    """The panels below the score by their titles, with the frames of their layers."""
    spec = chart.to_dict()
    _, numbers, *boxes = spec["vconcat"]
    return {
        panel["title"]["text"][0]: (
            panel,
            [pd.DataFrame(spec["datasets"][layer["data"]["name"]]) for layer in panel["layer"]],
        )
        for panel in [*numbers["concat"], *boxes]
    }


def test_every_change_has_a_panel_with_the_routes_that_make_it():
    found = panels(plots.person(BOTH, "Ada"))
    assert list(found) == ["Income", "Debt", "Record", "Job"]
    routes = {title: frames[0]["route"].unique().tolist() for title, (_, frames) in found.items()}
    assert routes == {"Income": ["1"], "Debt": ["2"], "Record": ["Route 1"], "Job": ["Route 2"]}


def test_a_pixel_is_the_same_share_of_a_standard_deviation_in_every_panel():
    found = panels(plots.person(BOTH, "Ada"))
    spans = []
    for title in ("Income", "Debt"):
        low, high = found[title][0]["layer"][0]["encoding"]["y"]["scale"]["domain"]
        scale = BOTH.space.scale[BOTH.space.slices[title.lower()].start]
        spans.append((high - low) / scale)
    assert np.ptp(spans) < 1e-9
    assert spans[0] >= 1  # a small change doesn't fill its panel


def test_levels_are_boxes_as_long_as_they_last():
    found = panels(plots.person(BOTH, "Ada"))
    panel, (boxes, *_) = found["Record"]
    assert panel["layer"][0]["mark"]["type"] == "rect"
    assert "line" not in [layer["mark"]["type"] for layer in panel["layer"]]
    assert boxes["level"].tolist() == ["poor", "fair", "good"]
    assert boxes[["start", "end"]].to_numpy().tolist() == [[-0.5, 0.5], [0.5, 1.5], [1.5, 2.5]]
    job = found["Job"][1][0]
    assert job[["level", "kind"]].to_numpy().tolist() == [["clerk", "today"], ["nurse", "then"]]


def test_lines_are_named_at_their_ends_and_need_no_legend():
    spec = plots.person(BOTH, "Ada").to_dict()
    score = spec["vconcat"][0]
    labels = pd.DataFrame(spec["datasets"][score["layer"][-1]["data"]["name"]])
    assert labels[["label", "step"]].to_numpy().tolist() == [["Route 1", 2], ["Route 2", 1]]
    assert "'orient': 'bottom'" not in str(spec)
    alone = plots.person(made([[2000, 500, 0, 0], [3000, 500, 0, 0]]), "Ada")
    assert "Route 1" not in str(alone.to_dict()["vconcat"])


def test_a_picture_of_routes_tells_them_in_words_too():
    description = plots.person(BOTH, "Ada").to_dict()["description"]
    assert "Route 1 ends at 80%: Raise income from 2000 to 3000" in description
    assert "path 0" not in description


def test_the_bank_is_drawn():
    step = bank.fitted(paths=3)
    result = step.recourse(bank.REJECTED.iloc[:3])
    for person in result.people.tolist():
        assert plots.person(result, person).to_dict()
