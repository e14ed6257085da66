"""Features: what each kind is, and what it refuses to be."""

from __future__ import annotations

import numpy as np
import pandas as pd
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
    with pytest.raises(
        SchemaError, match=r"numeric feature 'income': change .*'increase'.*got 'up'"
    ):
        sl.Numeric("income", change="up")


@pytest.mark.parametrize("change", ["increase", "decrease"])
def test_a_category_has_no_order_to_go_along(change):
    with pytest.raises(SchemaError, match=rf"'job'.*change '{change}' needs an order.*ordinal"):
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


@pytest.mark.parametrize(
    "bounds", [(float("nan"), 1), (0, float("inf")), (0, 1, 2), (0, 10**400), "low"]
)
def test_bounds_that_are_no_pair_of_numbers_are_refused(bounds):
    with pytest.raises(SchemaError, match="numeric feature 'a': bounds"):
        sl.Numeric("a", bounds=bounds)


@pytest.mark.parametrize("decimals", [-1, 13])
def test_decimals_are_between_none_and_twelve(decimals):
    with pytest.raises(SchemaError, match="between 0 and 12"):
        sl.Numeric("a", decimals=decimals)


def test_a_whole_number_with_decimals_is_a_contradiction():
    with pytest.raises(SchemaError, match="integer=True means no decimals"):
        sl.Numeric("a", integer=True, decimals=2)


# ---- what is typical --------------------------------------------------------------------------


@pytest.mark.parametrize("typical", [(0, 80), [0.0, 80.0], np.array([0, 80])])
def test_typical_is_a_pair_of_numbers_that_is_kept_and_shown(typical):
    feature = sl.Numeric("hours", typical=typical)
    assert feature.typical == (0.0, 80.0)
    assert repr(feature) == "Numeric('hours', typical=(0.0, 80.0))"
    assert feature == sl.Numeric("hours", typical=(0, 80))
    assert feature != sl.Numeric("hours")


def test_nothing_is_typical_unless_it_is_said():
    assert sl.Numeric("hours", bounds=(0, 168)).typical is None
    assert "typical" not in sl.Numeric("hours", bounds=(0, 168)).settings


@pytest.mark.parametrize(
    "typical",
    [
        *((0, None), (None, 1), (0, float("inf")), (float("nan"), 1), (0, 10**400)),
        *((0,), (0, 1, 2), (), 5, "01", ("0", "1"), True),
    ],
)
def test_a_typical_range_that_is_no_pair_of_finite_numbers_is_refused(typical):
    said = r"numeric feature 'a': typical must be two finite numbers, \(low, high\), got"
    with pytest.raises(SchemaError, match=said):
        sl.Numeric("a", typical=typical)


@pytest.mark.parametrize("typical", [(5, 1), (5, 5)])
def test_a_typical_range_goes_from_low_to_high(typical):
    with pytest.raises(SchemaError, match=r"typical must go .*: 5 isn't below [15]\."):
        sl.Numeric("a", typical=typical)


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ((10, None), "10 to inf"),
        ((6, None), "6 to inf"),
        ((None, 0), "-inf to 0"),
        ((None, 2), "-inf to 2"),
        ((8, 9), "8 to 9"),
    ],
)
def test_a_typical_range_outside_the_bounds_is_refused(bounds, said):
    with pytest.raises(SchemaError, match=rf"typical, 2 to 6, must overlap the bounds, {said}\.$"):
        sl.Numeric("a", bounds=bounds, typical=(2, 6))


@pytest.mark.parametrize(
    ("bounds", "typical", "span"),
    [
        ((None, None), None, None),
        ((0, None), None, None),
        ((None, 9), None, None),
        ((0, 9), None, (0.0, 9.0)),
        ((4, 4), None, (4.0, 4.0)),
        ((None, None), (2, 6), (2.0, 6.0)),
        ((0, 9), (2, 6), (2.0, 6.0)),
        ((3, None), (2, 6), (3.0, 6.0)),
        ((3, 5), (2, 6), (3.0, 5.0)),
        ((4, 4), (2, 6), (4.0, 4.0)),
    ],
)
def test_the_span_is_what_is_typical_within_the_bounds_else_the_bounds(bounds, typical, span):
    assert sl.Numeric("a", bounds=bounds, typical=typical).span == span


def test_the_span_of_an_ordinal_is_its_ladder():
    assert sl.Ordinal("a", levels=["low", "middle", "high"]).span == (0.0, 2.0)
    assert sl.Ordinal("a", levels=["only"]).span == (0.0, 0.0)


def test_what_is_typical_is_no_constraint():
    frame = pd.DataFrame({"a": [1.0, 500.0, -20.0]})
    schema = sl.Schema([sl.Numeric("a", typical=(0, 10))])
    feasible = sl.Feasible.of(sl.Space.fit(schema, frame), frame.iloc[[0]])
    assert feasible.check(frame) == []


# ---- words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "label"),
    [
        *(
            ("income", "income"),
            ("other_debts", "other debts"),
            ("marital-status", "marital status"),
        ),
        *(("_x__y ", "x y"), ("_", "_")),
    ],
)
def test_a_feature_is_called_by_its_name_unless_it_has_a_label(name, label):
    assert sl.Numeric(name).label == label
    assert sl.Numeric(name).settings == {}
    for feature in (
        sl.Numeric(name, label="what one owes"),
        sl.Ordinal(name, levels=[1, 2], label="what one owes"),
        sl.Categorical(name, label="what one owes"),
    ):
        assert feature.label == feature.settings["label"] == "what one owes"


def test_words_are_kept_and_shown():
    loan = sl.Numeric("loan", unit="$", times=1000, rise="borrow more", fall="borrow less")
    assert repr(loan) == (
        "Numeric('loan', unit='$', times=1000, rise='borrow more', fall='borrow less')"
    )
    assert eval(repr(loan), vars(sl).copy()) == loan
    assert loan != sl.Numeric("loan")
    ladder = sl.Ordinal("record", levels=[1, 2], rise="mend the record")
    assert repr(ladder) == "Ordinal('record', levels=(1, 2), rise='mend the record')"
    assert sl.Numeric("share", percent=np.True_).settings == {"percent": True}
    assert sl.Numeric("share", times=np.float64(1000)).settings == {"times": 1000}


@pytest.mark.parametrize("setting", ["label", "unit", "rise", "fall"])
@pytest.mark.parametrize("text", [5, None, " x", "x ", "two\nlines"])
def test_words_are_texts_of_one_line(setting, text):
    if setting == "label" and text is None:
        return
    with pytest.raises(
        SchemaError, match=f"numeric feature 'a': {setting} must be one line of text"
    ):
        sl.Numeric("a", **{setting: text})


def test_a_label_is_not_empty():
    with pytest.raises(SchemaError, match="label must not be empty; leave it out"):
        sl.Categorical("a", label="")


@pytest.mark.parametrize("times", [0, -1, float("inf"), float("nan"), "2", True, None])
def test_times_is_a_number_above_0(times):
    with pytest.raises(SchemaError, match="times must be a number above 0, got"):
        sl.Numeric("a", times=times)


def test_percent_is_true_or_false():
    with pytest.raises(SchemaError, match="percent must be True or False, got 'yes'"):
        sl.Numeric("a", percent="yes")


@pytest.mark.parametrize("also", [{"unit": "%"}, {"times": 100}])
def test_percent_says_its_unit_by_itself(also):
    with pytest.raises(SchemaError, match=r"percent=True sets unit and times by itself.*% of inc"):
        sl.Numeric("a", percent=True, **also)


@pytest.mark.parametrize(
    ("feature", "bare"),
    [
        (
            sl.Numeric("a", bounds=(0, 5), label="b", unit="$", times=2, rise="c", fall="d"),
            sl.Numeric("a", bounds=(0, 5)),
        ),
        (sl.Numeric("a", percent=True, decimals=1), sl.Numeric("a", decimals=1)),
        (
            sl.Ordinal("a", levels=[1, 2], change="increase", label="b", rise="c"),
            sl.Ordinal("a", levels=[1, 2], change="increase"),
        ),
        (
            sl.Categorical("a", onehot=["x", "y"], change="never", label="b"),
            sl.Categorical("a", onehot=["x", "y"], change="never"),
        ),
    ],
)
def test_the_rules_of_a_feature_are_what_is_left_without_the_words(feature, bare):
    assert feature.rules == bare
    assert bare.rules == bare


# ---- names, levels and one-hot columns --------------------------------------------------------


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
