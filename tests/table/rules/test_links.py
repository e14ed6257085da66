"""What follows from what a plan sets, worked by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import stepladder as sl
from stepladder.errors import SchemaError
from stepladder.table.feasible import Feasible

SCHEMA = sl.Schema(
    [
        sl.Derived("burden", "payment / income", decimals=2),  # before what it builds on
        sl.Numeric("loan", months=6),
        sl.Numeric("income", months_each=12),
        sl.Derived("payment", "was(payment) * loan / was(loan)"),
        sl.Derived("grade", "where(burden > 0.5, 'B', 'A')", levels=["A", "B"]),
        sl.Numeric("age", change="time"),
    ]
)
FRAME = pd.DataFrame(
    {
        "burden": [0.5, 0.3],
        "loan": [100.0, 50.0],
        "income": [10.0, 20.0],
        "payment": [5.0, 7.0],
        "grade": ["A", "A"],
        "age": [30.0, 40.0],
    }
)
SPACE = sl.Space.fit(SCHEMA, FRAME)


def row(**other: object) -> pd.DataFrame:
    return FRAME.head(1).assign(**other)


def became(today: pd.DataFrame, **asked: float) -> dict[str, object]:
    """The row that a change makes of today's."""
    feasible = Feasible.of(SPACE, today)
    values = feasible.start.copy()
    for name, value in asked.items():
        values[0, SCHEMA.position(name)] = value
    return SPACE.to_frame(feasible.complete(values)).iloc[0].to_dict()


def test_what_builds_on_what_follows_is_worked_out_after_it():
    then = became(row(), loan=160.0)
    assert (then["payment"], then["burden"], then["grade"]) == (8.0, 0.8, "B")
    assert became(row(), loan=50.0)["burden"] == 0.25


def test_what_a_value_differs_from_its_formula_by_is_carried_along():
    assert became(row(burden=0.6), loan=160.0)["burden"] == 0.9
    assert became(row(burden=0.6), loan=50.0)["burden"] == 0.35


def test_a_row_in_which_nothing_changes_is_the_persons_own_to_the_last_digit():
    odd = row(burden=0.123456789, grade="B")
    assert became(odd) == odd.iloc[0].to_dict()


def test_a_level_that_doesnt_follow_stays_until_its_formula_says_something_else():
    assert became(row(grade="B"), loan=90.0)["grade"] == "B"
    assert became(row(grade="B"), loan=160.0)["grade"] == "B"
    assert became(row(burden=0.6, grade="A"), loan=80.0)["grade"] == "A"


def test_a_gap_in_what_follows_is_worked_out_once_something_changes():
    assert np.isnan(became(row(burden=np.nan))["burden"])
    assert became(row(burden=np.nan), income=20.0)["burden"] == 0.25


def test_what_cant_be_worked_out_breaks_the_rules():
    feasible = Feasible.of(SPACE, row())
    values = feasible.start.copy()
    values[0, SCHEMA.position("income")] = 0.0
    values = feasible.complete(values)
    assert np.isnan(values[0, 0])
    assert feasible.keeps(values).tolist() == [False]
    assert feasible.lost(values) == ["burden"]
    rules = [v.rule for v in feasible.check(SPACE.to_frame(values))]
    assert rules == ["doesn't follow from the rest of the row"]


def test_a_plan_takes_as_long_as_the_slowest_change_and_whole_years_count():
    start = Feasible.of(SPACE, row()).start

    def months(**asked: float) -> float:
        values = start.copy()
        for name, value in asked.items():
            values[0, SCHEMA.position(name)] = value
        return SPACE.links.months(values, start)[0]

    assert months() == 0
    assert months(loan=90.0) == months(loan=1.0) == 6
    assert months(income=11.5) == 18
    assert months(income=11.5, loan=90.0) == 18
    assert months(age=50.0) == 0
    assert became(row(), loan=90.0)["age"] == 30
    assert became(row(), income=11.5)["age"] == 31
    assert became(row(), income=13.0, loan=1.0)["age"] == 33


def test_the_features_behind_what_follows_are_those_that_a_plan_may_set():
    def roots(*names: str) -> list[str]:
        found = SPACE.links.roots(SCHEMA.position(name) for name in names)
        return [SCHEMA.names[f] for f in found]

    assert roots("burden") == roots("grade") == ["loan", "income"]
    assert roots("payment") == ["loan"]
    assert roots("age") == []
    movers = SPACE.links.movers(SCHEMA.position("age"))
    assert [SCHEMA.names[f] for f in movers] == ["loan", "income"]  # by the time that they take


def test_a_function_of_the_frame_will_do_and_must_give_one_value_per_row():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 4.0]})
    double = sl.Schema([sl.Numeric("a"), sl.Derived("b", lambda rows: 2 * rows["a"])])
    space = sl.Space.fit(double, frame)
    feasible = Feasible.of(space, frame.head(1))
    assert feasible.complete(np.array([[5.0, 0.0]])).tolist() == [[5.0, 10.0]]
    wrong = sl.Schema([sl.Numeric("a"), sl.Derived("b", lambda rows: np.zeros(7))])
    with pytest.raises(SchemaError, match=r"returned the shape \(7,\) for 1 rows"):
        Feasible.of(sl.Space.fit(wrong, frame), frame.head(1))
