"""Features: what each kind is, and what it refuses to be."""

from __future__ import annotations

import numpy as np
import pytest

import stepladder as sl
from stepladder.errors import SchemaError


@pytest.mark.parametrize(
    ("feature", "kind", "ordered"),
    [
        (sl.Numeric("a"), "numeric", True),
        (sl.Ordinal("a", levels=[1, 2]), "ordinal", True),
        (sl.Categorical("a"), "categorical", False),
    ],
)
def test_a_feature_knows_its_name_its_kind_and_its_change(feature, kind, ordered):
    assert (feature.name, feature.kind, feature.change) == ("a", kind, "any")
    assert feature.ordered is ordered


@pytest.mark.parametrize("change", ["any", "increase", "decrease", "never"])
def test_the_four_changes_are_given_as_words_or_as_members(change):
    assert sl.Numeric("a", change=change).change is sl.Change(change)
    assert sl.Numeric("a", change=sl.Change(change)) == sl.Numeric("a", change=change)


def test_a_change_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(SchemaError, match=r"Numeric\('income'\): change .*'increase'.*got 'up'"):
        sl.Numeric("income", change="up")


@pytest.mark.parametrize("change", ["increase", "decrease"])
def test_a_category_has_no_order_to_go_along(change):
    with pytest.raises(SchemaError, match=rf"'job'.*change='{change}' needs an order.*Ordinal"):
        sl.Categorical("job", change=change)


def test_bounds_the_wrong_way_round_are_refused():
    with pytest.raises(SchemaError, match="low 5 is above high 1"):
        sl.Numeric("a", bounds=(5, 1))


@pytest.mark.parametrize("bounds", [(0.2, 0.8), (1.5, 1.9)])
def test_bounds_without_a_whole_number_between_them_are_refused(bounds):
    with pytest.raises(SchemaError, match="no allowed value lies within"):
        sl.Numeric("a", bounds=bounds, integer=True)


def test_bounds_without_an_allowed_decimal_between_them_are_refused():
    with pytest.raises(SchemaError, match="no allowed value lies within"):
        sl.Numeric("a", bounds=(0.11, 0.19), decimals=1)


@pytest.mark.parametrize("bounds", [(float("nan"), 1), (0, float("inf")), (0, 1, 2), "low"])
def test_bounds_that_are_no_pair_of_numbers_are_refused(bounds):
    with pytest.raises(SchemaError, match=r"Numeric\('a'\): bounds"):
        sl.Numeric("a", bounds=bounds)


@pytest.mark.parametrize("decimals", [-1, 13])
def test_decimals_are_between_none_and_twelve(decimals):
    with pytest.raises(SchemaError, match="between 0 and 12"):
        sl.Numeric("a", decimals=decimals)


def test_a_whole_number_with_decimals_is_a_contradiction():
    with pytest.raises(SchemaError, match="integer=True means no decimals"):
        sl.Numeric("a", integer=True, decimals=2)


@pytest.mark.parametrize("name", ["", "  "])
def test_a_feature_needs_a_name(name):
    with pytest.raises(SchemaError, match="name must not be empty"):
        sl.Numeric(name)


def test_an_ordinal_without_levels_is_answered_with_an_example():
    with pytest.raises(SchemaError, match=r"needs its levels, lowest first: Ordinal\('edu', lev"):
        sl.Ordinal("edu")


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        (["a", "b", "a"], "'a' more than once"),
        ([1, True], "more than once"),
        ([], "at least one level"),
        ("abc", "not one text"),
        ([float("nan"), 1.0], "levels"),
    ],
)
def test_levels_are_a_list_of_different_values(levels, said):
    with pytest.raises(SchemaError, match=said):
        sl.Ordinal("edu", levels=levels)


def test_levels_of_numpy_become_plain_values():
    levels = sl.Ordinal("a", levels=np.array([3, 1, 2])).levels
    assert levels == (3, 1, 2)
    assert {type(level) for level in levels} == {int}


def test_levels_keep_their_own_types():
    levels = sl.Categorical("a", levels=["1", 1, "yes", False, 2.5]).levels
    assert [type(level) for level in levels] == [str, int, str, bool, float]


@pytest.mark.parametrize(
    ("onehot", "said"),
    [(["x"], "two or more"), (["x", "x"], "more than once|two or more")],
)
def test_one_hot_columns_are_two_or_more_and_different(onehot, said):
    with pytest.raises(SchemaError, match=said):
        sl.Categorical("job", onehot=onehot)


def test_one_hot_columns_are_one_for_each_level():
    with pytest.raises(SchemaError, match="2 columns for 3 levels"):
        sl.Categorical("job", levels=["a", "b", "c"], onehot=["x", "y"])


def test_one_hot_columns_are_the_columns_that_are_read():
    feature = sl.Categorical("job", onehot=["job_a", "job_b"])
    assert feature.columns == feature.levels == ("job_a", "job_b")
