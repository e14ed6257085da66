"""Conditions on several features, and what those who break them today owe."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import stepladder as sl
from stepladder.table.feasible import Feasible
from stepladder.table.rules.requirements import Requirements

FEATURES = [
    sl.Numeric("a"),
    sl.Numeric("b"),
    sl.Categorical("c", levels=["x", "y"]),
]
FRAME = pd.DataFrame({"a": [0.0, 10.0], "b": [5.0, 20.0], "c": ["x", "y"]})


def kept(requirement: str, today: tuple[float, float, float], *rows: tuple) -> list[bool]:
    """Which rows somebody may have."""
    space = sl.Space.fit(sl.Schema(FEATURES, [requirement]), FRAME)
    feasible = Feasible.around(space, np.array([today], dtype=float))
    return feasible.fulfils(np.array(rows, dtype=float)).tolist()


def test_who_keeps_it_keeps_it():
    assert kept("a <= b", (1, 2, 0), (2, 2, 0), (2.1, 2, 0), (0, -1, 0)) == [True, False, False]


@pytest.mark.parametrize("requirement", ["a <= b", "b >= a", "a < b"])
def test_of_an_inequality_that_is_broken_today_the_excess_may_not_grow(requirement):
    rows = [(5, 2, 0), (4, 2, 1), (6, 3, 0), (5, 1.9, 0), (0, 2, 0)]
    assert kept(requirement, (5, 2, 0), *rows) == [True, True, True, False, True]


def test_any_other_form_stays_as_it_is_or_is_mended():
    rows = [(5, 2, 0), (4, 2, 0), (5, 2, 1), (1, 2, 0), (5, 3, 0)]
    assert kept("a <= 1 or c == 'y'", (5, 2, 0), *rows) == [True, False, True, True, True]


def test_each_part_of_an_and_is_owed_by_itself():
    rows = [(9, 4, 0), (12, 4, 0), (9, 6, 0), (7, 4, 0)]
    assert kept("a <= 8 and b <= 5", (9, 4, 0), *rows) == [True, False, False, True]
    assert kept("2 <= a <= 8", (9, 4, 0), (9, 4, 0), (1, 4, 0)) == [True, False]


def test_a_gap_isnt_judged_until_it_is_filled():
    assert kept("a <= b", (np.nan, 2, 0), (np.nan, -9, 0), (3, 2, 0), (1, 2, 0)) == [
        True,
        False,
        True,
    ]


def test_what_is_carried_on_by_rounding_alone_isnt_worse():
    third = 0.1 + 0.2
    assert kept("a <= b", (third, 0.0, 0), (0.3 + 1e-17, 0.0, 0), (third * (1 + 1e-8), 0.0, 0)) == [
        True,
        False,
    ]


def test_they_know_what_they_are_about():
    found = Requirements.of(["was(a) + b <= 3 and c == 'x'"], sl.Schema(FEATURES))
    assert [part.features.tolist() for part in found.parts] == [[1], [2]]
    assert found.features.tolist() == [1, 2]
    assert Requirements.of([], sl.Schema(FEATURES)).hold(
        np.zeros((2, 3)), np.zeros((2, 3))
    ).shape == (2, 0)
