"""The default method beside the published one on the paper's own tables and models."""

from __future__ import annotations

import os

import numpy as np
import pytest

import stepladder as sl
from stepladder.bench.spec import Spec
from stepladder.bench.tasks import prepare

GOAL, PEOPLE = 0.7, 200
TASKS = [
    (dataset, model)
    for dataset in ("credit_default", "give_me_some_credit", "adult")
    for model in ("logistic_regression", "dnn")
]
FARTHEST = {"credit_default": 1.5, "give_me_some_credit": 3.0, "adult": 1.5}
"""How far the nearest end may be, by the closed form of the least distance there is."""


@pytest.fixture(scope="module", params=TASKS, ids="-".join)
def task(request):
    folder = os.environ.get("STEPLADDER_DATA", "../shared/data")
    if not os.path.isdir(folder):
        pytest.skip(f"the paper's tables aren't at {folder}; STEPLADDER_DATA says where they are")
    dataset, model = request.param
    spec = Spec(name="q", protocol="fair", datasets=(dataset,), models=(model,), methods=())
    return dataset, prepare(spec, dataset, model, seed=0, data_dir=folder)


def answered(step: sl.StEP, task):
    step.fit(task.train, task.model, space=task.space, goal=sl.Goal(GOAL), labels=task.labels)
    return step.recourse(task.turned_down.iloc[:PEOPLE])


def least(result: sl.Recourse, column: str) -> np.ndarray:
    """(n,) the least distance or effort of each person's successful ends; NaN without one."""
    final = result.final
    reached = final[final["outcome"] == "reached"]
    return reached.groupby("person")[column].min().reindex(result.people).to_numpy()


@pytest.mark.parametrize(("cost", "slack"), [("effort", 0.1), ("distance", 0.0)])
def test_the_default_always_arrives_for_less_than_published_and_breaks_no_rule(task, cost, slack):
    dataset, task = task
    people = task.turned_down.iloc[:PEOPLE]
    step = sl.StEP(cost=cost, slack=slack)
    default, published = answered(step, task), answered(sl.StEP.published(), task)
    reached = default.final["outcome"] == "reached"
    assert reached.mean() >= 0.99
    assert default.metrics()["success"][0] >= published.metrics()["success"][0]

    ours, theirs = least(default, cost), least(published, cost)
    both = ~np.isnan(ours) & ~np.isnan(theirs)
    assert ours[both].mean() < theirs[both].mean()
    shortest = task.least_distances(people, GOAL).mean()
    if cost == "distance" and not np.isnan(shortest):
        assert shortest <= np.nanmean(ours) <= FARTHEST[dataset] * shortest
    first = default.final[default.final["path"] == 0].set_index("person")[cost]
    np.testing.assert_allclose(first.reindex(default.people), ours)  # the easiest comes first

    rows = default.paths[list(people.columns)]
    start = sl.Feasible.of(default.space, people.loc[default.paths["person"]])
    assert start.check(rows) == []
    scores = step.scorer_.score(default.space.read(rows))
    assert abs(scores - default.paths["score"]).max() < 1e-6  # a float32 network's own rounding
    assert (default.final["score"][reached] >= GOAL).all()
