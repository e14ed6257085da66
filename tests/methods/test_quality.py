"""The default method beside the published one on the paper's own tables and models."""

from __future__ import annotations

import os

import pytest
from paper import MODELS, TABLES, data_folder
from quality import GOAL, LEAST_SUCCESS, compare

import stepladder as sl

PEOPLE = 200


@pytest.fixture(scope="module", params=[(t, m) for t in TABLES for m in MODELS], ids="-".join)
def comparison(request):
    folder = data_folder()
    if folder is None:
        said = os.environ.get("STEPLADDER_DATA", "../shared/data")
        pytest.skip(f"the paper's tables aren't at {said}; STEPLADDER_DATA says where they are")
    return compare(folder, *request.param, people=PEOPLE)


def test_the_default_always_arrives_nearer_than_published_and_breaks_no_rule(comparison):
    assert len(comparison.people) == PEOPLE
    result, figures = comparison.default.result, comparison.default.figures
    reached = result.final["outcome"] == "reached"
    assert reached.mean() == pytest.approx(figures["avg_success"])
    assert figures["avg_success"] >= LEAST_SUCCESS
    assert figures["success"] >= comparison.published.figures["success"]

    published, default = comparison.nearest  # over the people whom both help
    assert default < published

    people, names = comparison.people, list(comparison.people.columns)
    start = sl.Feasible.of(result.space, people.loc[result.paths["person"]])
    assert start.check(result.paths[names]) == []
    scores = comparison.default.step.scorer_.score(result.space.read(result.paths[names]))
    assert abs(scores - result.paths["score"]).max() < 1e-6  # a float32 network's own rounding
    assert (result.final["score"][reached] >= GOAL).all()
