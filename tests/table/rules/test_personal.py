"""What single people can't do: as it's given, as arrays, and every way to get it wrong."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import stepladder as sl
from stepladder.errors import ColumnError, ParameterError, SchemaError
from stepladder.table.rules.personal import limit_arrays, locked_mask

SCHEMA = sl.Schema(
    [
        sl.Numeric("income", bounds=(0, None), integer=True),
        sl.Numeric("loan", change="decrease"),
        sl.Ordinal("education", levels=["school", "bachelor", "master"]),
        sl.Categorical("job", levels=["clerk", "smith"]),
        sl.Numeric("age", change="never"),
    ]
)

LABELS = np.array(["anna", "bob", "cy"], dtype=object)

OPEN = (-np.inf, np.inf)


def ends(limits: object, labels: np.ndarray = LABELS) -> dict[tuple[int, str], tuple]:
    """The limits that aren't open at both ends."""
    low, high = limit_arrays(SCHEMA, labels, limits)
    assert low.shape == high.shape == (len(labels), len(SCHEMA))
    pairs = {
        (i, name): (low[i, f], high[i, f])
        for i in range(len(labels))
        for f, name in enumerate(SCHEMA.names)
    }
    return {key: pair for key, pair in pairs.items() if pair != OPEN}


# ---- locked -----------------------------------------------------------------------------------


def test_a_list_locks_for_everybody_and_a_mapping_for_each():
    everybody = locked_mask(SCHEMA, LABELS, iter(["loan", "job"]))
    assert (everybody == [False, True, False, True, False]).all()
    each = locked_mask(SCHEMA, LABELS, {"bob": ["loan"], "cy": ["income", "job"]})
    assert each.tolist() == [
        [False] * 5,
        [False, True, False, False, False],
        [True, False, False, True, False],
    ]
    assert not locked_mask(SCHEMA, LABELS, ()).any()


@pytest.mark.parametrize(
    ("locked", "error", "sentence"),
    [
        ("loan", ParameterError, r"locked must be a list of names: locked=\['loan'\]\."),
        ({"bob": "loan"}, ParameterError, r"locked\['bob'\] must be a list of names: .*\['loan'\]"),
        ({"bob": 3}, ParameterError, r"locked\['bob'\] must be a list of names; got 3\."),
        (["laon"], SchemaError, "no feature 'laon'. Did you mean 'loan'"),
        ({"bob": ["laon"]}, SchemaError, "Did you mean 'loan'"),
        ({"ana": ["loan"]}, ParameterError, "locked names 'ana', .* Did you mean 'anna'"),
    ],
)
def test_what_is_locked_wrongly_is_refused(locked, error, sentence):
    with pytest.raises(error, match=sentence):
        locked_mask(SCHEMA, LABELS, locked)


# ---- limits -----------------------------------------------------------------------------------


def test_limits_by_person_become_two_arrays():
    limits = {
        "anna": {"income": (2000, None), "education": (None, "bachelor")},
        "cy": {"loan": (np.float32(0.5), Decimal(10)), "age": (0, 99), "income": (-np.inf, np.inf)},
    }
    assert ends(limits) == {
        (0, "income"): (2000, np.inf),
        (0, "education"): (-np.inf, 1),
        (2, "loan"): (0.5, 10),
        (2, "age"): (0, 99),
    }
    assert ends(None) == ends({}) == ends({"anna": {}}) == {}


FRAME = pd.DataFrame(
    {
        "person": ["anna", "cy", "cy"],
        "feature": ["income", "loan", "age"],
        "low": [2000, None, None],
        "high": [np.nan, 150.5, None],
        "note": "called",
    }
)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_frame_says_the_same_in_every_library(library):
    frame = {
        "pandas": FRAME,
        "polars": pl.from_pandas(FRAME),
        "pyarrow": pa.Table.from_pandas(FRAME),
    }[library]
    assert ends(frame) == {(0, "income"): (2000, np.inf), (2, "loan"): (-np.inf, 150.5)}


def test_a_column_of_text_holds_numbers_and_levels():
    rows = [("anna", "income", "2e3", None), ("anna", "education", "bachelor", "master")]
    frame = pl.DataFrame(rows, schema=["person", "feature", "low", "high"], orient="row")
    assert ends(frame) == {(0, "income"): (2000, np.inf), (0, "education"): (1, 2)}


def test_levels_that_are_numbers_are_found_as_numbers_and_as_text():
    schema = sl.Schema([sl.Ordinal("grade", levels=[10, 20, 30])])
    for end in (20, 20.0, np.int64(20)):
        low, _ = limit_arrays(schema, LABELS, {"bob": {"grade": (end, None)}})
        assert low[1, 0] == 1
    frame = pd.DataFrame({"person": ["bob"], "feature": "grade", "low": ["20"], "high": [None]})
    assert limit_arrays(schema, LABELS, frame)[0][1, 0] == 1
    with pytest.raises(ParameterError, match="low must be a level"):
        limit_arrays(schema, LABELS, {"bob": {"grade": ("20", None)}})


def test_people_are_who_the_index_says():
    mixed = np.array([1, "1", True, np.nan, 2.0], dtype=object)
    for person, row in ((1, 0), (1.0, 0), ("1", 1), (True, 2), (np.nan, 3), (np.int64(2), 4)):
        assert [*ends({person: {"loan": (1, 2)}}, mixed)] == [(row, "loan")]
    days = pd.date_range("2026-01-01", periods=2).to_numpy()
    for person in (pd.Timestamp("2026-01-02"), dt.datetime(2026, 1, 2)):
        assert [*ends({person: {"loan": (1, 2)}}, days)] == [(1, "loan")]


def test_a_label_that_several_share_stands_for_all_of_them():
    labels = np.array(["anna", "bob", "anna"], dtype=object)
    assert {*ends({"anna": {"loan": (1, 2)}}, labels)} == {(0, "loan"), (2, "loan")}
    assert locked_mask(SCHEMA, labels, {"anna": ["loan"]})[:, 1].tolist() == [True, False, True]


def one(feature: object, pair: object) -> dict:
    return {"anna": {feature: pair}}


@pytest.mark.parametrize(
    ("limits", "error", "sentence"),
    [
        ({"ana": {"loan": (1, 2)}}, ParameterError, r"'ana', .* mean 'anna'\? There are"),
        ({"1": {"loan": (1, 2)}}, ParameterError, "limits names '1', but nobody is called that"),
        (one("laon", (1, 2)), SchemaError, "of 'anna' on 'laon': .* Did you mean 'loan'"),
        (one("loan", (2, 1)), ParameterError, "contradictory: low 2 is above high 1"),
        (one("education", ("master", "school")), ParameterError, "low 'master' is above high 'sch"),
        (one("job", ("clerk", "smith")), ParameterError, "what has an order, and it's categorical"),
        (one("loan", ("much", None)), ParameterError, "low must be a number, .* got 'much'"),
        (one("loan", ("150", None)), ParameterError, "low must be a number, .* got '150'"),
        (one("loan", (None, np.nan)), ParameterError, "high must be a number, or None .* got nan"),
        (one("loan", (True, None)), ParameterError, "low must be a number, .* got True"),
        (one("loan", (np.inf, None)), ParameterError, "low must be a number, .* got inf"),
        (one("loan", (None, -np.inf)), ParameterError, "high must be a number, .* got -inf"),
        (one("loan", (10**400, None)), ParameterError, "low must be a number"),
        (one("education", ("bachelors", None)), ParameterError, "level, .* Did you mean 'bachelor"),
        (one("education", (1, None)), ParameterError, "low must be a level, .* got 1"),
        (one("education", ([], None)), ParameterError, "low must be a level"),
        (one("loan", 3), ParameterError, r"must be a pair, \(low, high\), .* got 3"),
        (one("loan", "ab"), ParameterError, "must be a pair"),
        (one("loan", (1, 2, 3)), ParameterError, "must be a pair"),
        ({"anna": [("loan", 1, 2)]}, ParameterError, r"limits\['anna'\] must be a mapping"),
        ([("anna", "loan", 1, 2)], ParameterError, "limits must be {person: .* got list"),
        (FRAME.rename(columns={"low": "lo"}), ColumnError, "no column 'low'. Did you mean 'lo'"),
        (pd.concat([FRAME, FRAME.tail(1)]), ParameterError, r"'cy' on 'age' \(row 2\) .* twice"),
        (FRAME.assign(person=[None, "cy", "cy"]), ParameterError, r"without a person \(row 0\)"),
        (FRAME.assign(feature=["income", None, "age"]), ParameterError, r"a feature \(row 1\)"),
        (FRAME.assign(high=["x", 1, 2]), ParameterError, r"\(row 0\): high must .* got 'x'"),
        (FRAME.assign(high=["nan", 1, 2]), ParameterError, r"\(row 0\): high must .* got 'nan'"),
        (FRAME.assign(high=[1999, 1, 2]), ParameterError, r"\(row 0\) are contradictory"),
    ],
)
def test_limits_that_are_wrong_are_refused_in_a_sentence(limits, error, sentence):
    with pytest.raises(error, match=sentence):
        limit_arrays(SCHEMA, LABELS, limits)


# ---- feasible sets ----------------------------------------------------------------------------


def one_number(**settings: object) -> sl.Space:
    schema = sl.Schema([sl.Numeric("x", **settings)])
    return sl.Space.fit(schema, pd.DataFrame({"x": [0.0, 200.0]}))


def at(*values: float) -> pd.DataFrame:
    return pd.DataFrame({"x": [float(value) for value in values]})


def limited(space: sl.Space, value: float, low: object, high: object) -> sl.Feasible:
    return sl.Feasible.of(space, at(value), limits={0: {"x": (low, high)}})


def test_within_their_limits_a_person_has_a_smaller_box():
    feasible = limited(one_number(), 100, 50, 150)
    assert [end.item() for end in feasible.limits] == [50, 150]
    assert feasible.repair(np.array([[20.0]])).item() == 50


def test_outside_their_limits_a_person_stays_or_enters_them():
    feasible = limited(one_number(), 100, 150, 180)
    rows = np.array([[90.0], [100.0], [120.0], [150.0], [180.0], [181.0]])
    assert feasible.keeps(rows).tolist() == [False, True, False, True, True, False]
    assert feasible.repair(rows)[:, 0].tolist() == [100, 100, 100, 150, 180, 180]
    assert feasible.repair(np.array([[130.0]])).item() == 150
    assert feasible.blocked_by(at(120, 160)) == [("x",), ()]
    (found,) = feasible.check(at(120))
    assert str(found) == "x lies beyond this person's limits: 100.0 became 120.0 (row 0)"


@pytest.mark.parametrize(
    ("settings", "low", "high"),
    [
        ({"change": "decrease"}, 150, None),
        ({"change": "increase"}, None, 50),
        ({"bounds": (0, 120)}, 130, None),
        ({"integer": True}, 150.2, 150.8),
        ({"change": "never"}, 150, 160),
    ],
)
def test_limits_that_leave_nothing_else_leave_the_value_that_a_person_has(settings, low, high):
    feasible = limited(one_number(**settings), 100, low, high)
    rows = np.array([[100.0], [50.0], [120.0], [130.0], [150.0], [151.0]])
    assert feasible.keeps(rows).tolist() == [True, *[False] * 5]
    assert (feasible.repair(rows) == 100).all()


def test_the_ends_of_limits_are_values_that_the_feature_can_take():
    feasible = limited(one_number(integer=True), 100, 50.3, 149.9)
    assert [end.item() for end in feasible.limits] == [51, 149]
    frame = at(100, 0).astype(np.float32)
    space = sl.Space.fit(sl.Schema([sl.Numeric("x")]), frame)
    feasible = sl.Feasible.of(space, frame.head(1), limits={0: {"x": (0.1, 1e300)}})
    low, high = (end.item() for end in feasible.limits)
    assert low >= 0.1
    assert low == np.float32(low)
    assert high == np.inf


def test_a_row_that_is_locked_and_limited_stays():
    limits = {0: {"x": (150, None)}}
    feasible = sl.Feasible.of(one_number(), at(100), locked=["x"], limits=limits)
    assert feasible.keeps(np.array([[100.0], [150.0]])).tolist() == [True, False]
