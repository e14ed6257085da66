"""Whom a person could become, worked by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

import stepladder as sl
from stepladder.methods.pace import Pace
from stepladder.methods.step import targets as screening
from stepladder.methods.step.reference import Reference
from stepladder.methods.step.targets import Targets, reachable, share
from stepladder.model.scorer import Scorer
from stepladder.table.feasible import Feasible

SCHEMA = sl.Schema([sl.Numeric("a"), sl.Numeric("b", change="increase")])
SPACE = sl.Space.fit(SCHEMA, pd.DataFrame({"a": [-1.0, 1.0], "b": [-1.0, 1.0]}))


def found(
    positives: list[list[float]],
    clusters: list[int],
    judge,
) -> Targets:
    """The targets of someone at (0, 0), for each of two paths."""
    values = np.array(positives, dtype=float)
    reference = Reference(
        values=values,
        found=values,
        points=SPACE.to_points(values),
        clusters=np.array(clusters),
        slots=2,
        columns=SPACE.changeable,
        norm=None,
    )
    scorer = Scorer(lambda rows: np.where(judge(rows), 0.9, 0.1), SPACE, sl.Goal())
    feasible = Feasible.around(SPACE, np.zeros((1, 2)))
    pace = Pace(1, progress=False, time_budget=None)
    return reachable(feasible, reference, scorer, pace)


def rows(targets: Targets, path: int) -> list[list[float]]:
    return targets.values[path][targets.valid[path]].tolist()


def test_a_positive_is_projected_before_the_model_is_asked():
    targets = found([[3, -2], [2, 1]], [0, 1], lambda rows: rows["a"] >= 2)
    assert rows(targets, 0) == [[3, 0]]  # b can't fall
    assert rows(targets, 1) == [[2, 1]]


def test_a_positive_that_is_none_once_projected_is_no_target():
    targets = found([[3, -2], [2, 1]], [0, 1], lambda rows: (rows["b"] < -1) | (rows["a"] == 2))
    assert rows(targets, 0) == []
    assert rows(targets, 1) == [[2, 1]]


def test_the_nearest_come_first():
    targets = found([[9, 0], [2, 0], [5, 0], [4, 0]], [0, 0, 0, 1], lambda rows: rows["a"] > 1)
    assert rows(targets, 0) == [[2, 0], [5, 0], [9, 0]]


def test_a_positive_in_no_cluster_is_the_last_resort():
    def judge(rows):
        return rows["a"] >= 9

    assert rows(found([[9, 0], [9.5, 0]], [0, -1], judge), 0) == [[9, 0]]
    assert rows(found([[3, 0], [9.5, 0]], [0, -1], judge), 0) == [[9.5, 0]]


@pytest.mark.parametrize(("accepted", "expected"), [(12, [[12, 0]]), (17, [])])
def test_a_cluster_is_given_up_only_after_many_were_asked_about_in_vain(
    accepted, expected, monkeypatch
):
    for name, value in {"FIRST": 2, "GROWTH": 2, "PATIENCE": 4}.items():
        monkeypatch.setattr(screening, name, value)
    positives = [[2, 0], [3, 0], *([a, 0] for a in range(10, 20))]
    targets = found(positives, [0, 0] + [1] * 10, lambda rows: rows["a"].isin([2, 3, accepted]))
    assert rows(targets, 0) == [[2, 0], [3, 0]]
    assert rows(targets, 1) == expected


def test_a_path_without_a_target_gets_the_farther_half_of_the_richest():
    targets = found([[2, 0], [3, 0], [8, 0], [9, 0]], [0, 0, 0, 0], lambda rows: rows["a"] > 1)
    share(targets, 2)
    assert rows(targets, 0) == [[2, 0], [3, 0]]
    assert rows(targets, 1) == [[8, 0], [9, 0]]


def test_a_single_target_is_not_shared():
    targets = found([[2, 0]], [0], lambda rows: rows["a"] > 1)
    share(targets, 2)
    assert rows(targets, 0) == [[2, 0]]
    assert rows(targets, 1) == []


def test_which_positives_are_the_nearest_does_not_depend_on_who_else_asks():
    names = list("abcd")
    lattice = pd.DataFrame(list(product(range(6), repeat=4)), columns=names)  # full of ties
    schema = sl.Schema(
        sl.Numeric(name, bounds=(0, 9), change="increase" if name in "bd" else "any")
        for name in names
    )
    space = sl.Space.from_schema(schema, lattice)
    enough = lattice.sum(axis=1) >= 9
    step = sl.StEP(paths=2).fit(
        lattice, lambda rows: np.where(rows.sum(axis=1) >= 9, 0.9, 0.1), space=space
    )
    feasible = Feasible.around(space, space.read(lattice[~enough].iloc[::7]))

    def asked(people: Feasible) -> Targets:
        pace = Pace(1, progress=False, time_budget=None)
        return reachable(people, step.reference_, step.scorer_, pace)

    together = asked(feasible)
    for i in range(len(feasible)):
        alone = asked(feasible.take(np.array([i])))
        for path in range(2):
            assert rows(alone, path) == rows(together, 2 * i + path)
