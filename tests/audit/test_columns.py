"""Who is in which group: columns and features of every kind, in frames of every kind."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.audit.made import SEX, five, many, row
from tests.methods.bank import PEOPLE, fitted

import stepladder as sl
from stepladder.audit import audit
from stepladder.errors import FrameError


@pytest.fixture(scope="module")
def result():
    people = PEOPLE.copy()
    people.loc[people.index[:3], "job"] = None
    return fitted().recourse(people)


# ---- groups -------------------------------------------------------------------------------------


def test_every_column_and_every_pair_by_default():
    columns = {"sex": SEX, "race": list("abaab"), "old": [True, False, True, False, True]}
    made = audit(five(), columns, samples=5)
    kinds = ["sex", "race", "old", "sex & race", "sex & old", "race & old"]
    assert list(dict.fromkeys(made.by_group["by"])) == kinds
    crossed = made.by_group[made.by_group["by"] == "sex & race"]
    assert list(crossed["group"]) == [
        "sex=f & race=a",
        "sex=f & race=b",
        "sex=m & race=a",
        "sex=missing & race=b",
    ]
    for _, rows in made.by_group.groupby("by"):
        assert rows["people"].sum() == 5
        assert rows["asked"].sum() == 4


def test_by_chooses_columns_and_crosses_as_many_as_it_names():
    columns = {"sex": SEX, "race": list("abaab"), "old": [True, False, True, False, True]}
    by = ["race", ("sex", "race", "old"), "race"]
    found = audit(five(), columns, by=by, samples=5).by_group
    assert list(dict.fromkeys(found["by"])) == ["race", "sex & race & old"]
    assert "sex=f & race=a & old=True" in list(found["group"])
    alone = audit(five(), columns, by="race", samples=5).by_group
    assert set(alone["by"]) == {"race"}


def test_a_number_of_many_values_is_cut_into_four_bands_said_in_words():
    ages = np.random.default_rng(0).permutation(np.arange(20, 60))
    found = audit(many(np.ones(40)), {"age": ages}, samples=5).by_group
    assert list(found["group"]) == [
        "age=up to 29",
        "age=over 29 to 39",
        "age=over 39 to 49",
        "age=over 49",
    ]
    assert list(found["people"]) == [10, 10, 10, 10]


def test_the_ends_of_bands_are_round_and_still_true():
    incomes = np.linspace(12_345.67, 98_765.43, 100)
    found = audit(many(np.ones(100)), {"income": incomes}, samples=5).by_group
    assert list(found["group"]) == [
        "income=up to 33300",
        "income=over 33300 to 55100",
        "income=over 55100 to 76900",
        "income=over 76900",
    ]
    expected = np.diff([0, *((incomes <= end).sum() for end in (33300, 55100, 76900)), 100])
    assert list(found["people"]) == list(expected)


def test_the_ends_of_bands_aren_t_rounded_where_that_would_merge_them():
    close = 1_000_000 + np.arange(40)
    found = audit(many(np.ones(40)), {"number": close}, samples=5).by_group
    assert list(found["people"]) == [10, 10, 10, 10]
    assert found["group"][0] == "number=up to 1000009"


def test_a_number_that_is_mostly_one_value_has_fewer_bands():
    debts = [0] * 90 + list(range(1, 11))
    found = audit(many(np.ones(100)), {"debt": debts}, samples=5).by_group
    assert list(found["group"]) == ["debt=up to 0", "debt=over 0"]
    assert list(found["people"]) == [90, 10]
    top = audit(many(np.ones(100)), {"debt": [10] * 90 + list(range(10))}, samples=5).by_group
    assert list(top["group"]) == ["debt=up to 9", "debt=over 9"]
    assert list(top["people"]) == [10, 90]


def test_a_number_of_few_values_is_taken_as_it_is():
    children = [0.0, 1.0, 2.0, math.nan, 10.0]
    found = audit(five(), {"children": children}, samples=5).by_group
    assert [label.split("=")[1] for label in found["group"]] == ["0", "1", "2", "10", "missing"]


@pytest.mark.parametrize("gap", [None, math.nan, pd.NA, math.inf], ids=str)
def test_a_number_that_isn_t_known_is_a_group(gap):
    found = audit(many(np.ones(12)), {"age": [gap, *range(20, 31)]}, samples=5).by_group
    assert found["group"].iloc[-1] == "age=missing"
    assert found["people"].iloc[-1] == 1


def test_nothing_known_at_all_is_one_group():
    found = audit(five(), {"sex": [None] * 5}, samples=5)
    assert list(found.by_group["group"]) == ["sex=missing"]
    assert found.gaps["gap"].isna().all()


@pytest.mark.parametrize(("level", "called"), [("missing", "(missing)"), ("f", "missing")])
def test_a_level_called_missing_isn_t_taken_for_a_value_that_is(level, called):
    found = audit(five(), {"sex": [level, level, None, "x", None]}, samples=5).by_group
    counts = dict(zip(found["group"], found["people"], strict=True))
    assert counts == {f"sex={level}": 2, "sex=x": 1, f"sex={called}": 2}


def test_however_levels_are_called_those_without_a_value_are_called_otherwise():
    found = audit(five(), {"sex": ["missing", "(missing)", "x", "x", None]}, samples=5).by_group
    assert list(found["people"]) == [1, 1, 2, 1]
    assert found["group"].is_unique


# ---- features of the schema ---------------------------------------------------------------------


def test_the_schema_s_own_features_are_read_where_people_stand_today(result):
    made = audit(result, ["job", "education", "owner", "age"], by=["job"], samples=5)
    jobs = PEOPLE["job"].iloc[3:].value_counts()
    assert dict(zip(made.by_group["group"], made.by_group["people"], strict=True)) == {
        **{f"job={job}": count for job, count in jobs.items()},
        "job=missing": 3,
    }
    missing = row(made.by_group, group="job=missing")
    assert missing["success"] == 1.0  # the model scores a gap, so it's a value like another


def test_levels_stand_in_the_schema_s_order_and_numbers_in_bands(result):
    found = audit(result, ("education", "age", "owner"), samples=5).by_group
    education = found[found["by"] == "education"]["group"]
    assert list(education) == [f"education={level}" for level in ("school", "bachelor", "master")]
    assert list(found[found["by"] == "owner"]["group"]) == ["owner=False", "owner=True"]
    assert len(found[found["by"] == "age"]) == 4


def test_one_name_will_do_and_agrees_with_a_frame_of_the_same(result):
    by_name = audit(result, "age", samples=20)
    by_frame = audit(result, PEOPLE[["age"]], samples=20)
    pd.testing.assert_frame_equal(by_name.by_group, by_frame.by_group)
    pd.testing.assert_frame_equal(by_name.gaps, by_frame.gaps)


# ---- frames -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "column", [np.array, pl.Series, pa.array, tuple, pd.Series, pd.Categorical]
)
def test_a_mapping_takes_any_column(column):
    made = audit(five(), {"sex": column(["f", "f", "m", "m", "m"])}, samples=5)
    assert list(made.by_group["people"]) == [2, 3]


def test_pandas_rows_are_matched_by_their_labels():
    result = five(people=[40, 7, 99, 3, 12])
    whole = pd.DataFrame({"sex": SEX, "x": 0}, index=[40, 7, 99, 3, 12])
    whole.loc[1000] = ["f", 0]  # someone who isn't in the result
    expected = audit(result, {"sex": SEX}, samples=5).by_group
    for groups in (whole[["sex"]], whole[["sex"]].iloc[::-1], {"sex": whole["sex"].iloc[::-1]}):
        pd.testing.assert_frame_equal(audit(result, groups, samples=5).by_group, expected)


def test_labels_that_stand_twice_are_fine_while_the_rows_are_the_same():
    result = five(people=[1, 1, 2, 2, 3])
    groups = pd.DataFrame({"sex": SEX}, index=[1, 1, 2, 2, 3])
    assert list(audit(result, groups, samples=5).by_group["people"]) == [2, 2, 1]
    with pytest.raises(FrameError, match="labels aren't those of the 5 people"):
        audit(result, groups.iloc[::-1])


# ---- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ("jbo", "'jbo', which is no feature of the schema. Did you mean 'job'?"),
        (["age", "ownr"], "Did you mean 'owner'?"),
        ([], "no columns"),
        ({}, "no columns"),
        (pd.DataFrame(index=PEOPLE.index), "no columns"),
        ({"sex": ["f", "m"]}, "'sex' has 2 values for 120 people"),
        ({"sex": "f"}, "must be a column of values; got 'f'"),
        ({"sex": 3}, "must be a column of values; got 3"),
        ({1: ["f"] * 120}, "Column names must be text; got 1"),
        (pd.DataFrame({"sex": ["f", "m"]}), "2 rows whose labels aren't those of the 120 people"),
        (pl.DataFrame({"sex": ["f", "m"]}), "2 rows for 120 people"),
        (3, "Expected a pandas, polars or PyArrow frame, got int"),
    ],
    ids=str,
)
def test_groups_that_don_t_fit_are_answered_in_a_sentence(result, groups, said):
    with pytest.raises(sl.StepladderError) as error:
        audit(result, groups)
    assert said in str(error.value)
