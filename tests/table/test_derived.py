"""Derived features: what they are, what they refuse, and the order they're worked out in."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import stepladder as sl
from stepladder.errors import SchemaError

LOAN, PRICE = sl.Numeric("loan"), sl.Numeric("price", change="never")
GRADE = sl.Derived("grade", "where(loan > 9, 'high', 'low')", levels=["low", "high"])


def double(frame):
    return frame["loan"] * 2


def test_a_derived_feature_is_set_by_nobody_and_changes_with_others():
    ltv = sl.Derived("ltv", "loan / price", decimals=3, percent=True, fall="borrow less")
    assert (ltv.kind, ltv.change, ltv.chosen, ltv.columns) == ("derived", "any", False, ("ltv",))
    assert (ltv.most_decimals, ltv.label) == (3, "ltv")
    assert ltv.parsed.names == {"loan", "price"}
    assert sl.Derived("n", "loan", integer=True).most_decimals == 0


def test_it_is_a_frozen_value_that_shows_itself():
    ltv = sl.Derived("ltv", "loan / price", decimals=3, unit="x", label="loan to value")
    assert repr(ltv) == (
        "Derived('ltv', label='loan to value', formula='loan / price', decimals=3, unit='x')"
    )
    assert eval(repr(ltv), vars(sl).copy()) == ltv == pickle.loads(pickle.dumps(ltv))
    assert ltv.rules == sl.Derived("ltv", "loan / price", decimals=3)
    assert hash(ltv.rules) != hash(ltv)
    with pytest.raises(AttributeError):
        ltv.formula = "loan"


def test_a_function_of_the_frame_will_do():
    twice = sl.Derived("twice", double)
    assert twice.formula is double
    assert twice.parsed is None
    assert twice == sl.Derived("twice", double) == pickle.loads(pickle.dumps(twice))


@pytest.mark.parametrize("formula", [5, None, ["loan"]])
def test_a_formula_is_text_or_a_function(formula):
    said = r"'a': formula must be text such as 'loan / price', or a function of the frame, got"
    with pytest.raises(SchemaError, match=said):
        sl.Derived("a", formula)


def test_a_formula_that_cannot_be_read_is_refused_at_once_by_name_and_place():
    with pytest.raises(SchemaError, match=r"^The formula of 'ltv', at character \d of") as caught:
        sl.Derived("ltv", "loan /")
    assert caught.value.at == ("formula",)


def test_decimals_below_zero_are_answered_with_rounding_in_the_formula():
    said = r"for thousands round in the formula, as in round\(x / 1000\) \* 1000, got -3\.$"
    with pytest.raises(SchemaError, match=said):
        sl.Derived("a", "loan", decimals=-3)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"levels": [1, 2]}, "levels are for a formula that gives text; leave them out .* got 1"),
        ({"levels": ["x"], "decimals": 2}, "levels are text, which has no decimals; keep one of"),
        ({"levels": ["x"], "integer": True}, "levels are text, which has no decimals"),
        ({"levels": []}, "levels must name at least one level"),
        ({"integer": True, "decimals": 2}, "integer=True means no decimals"),
        ({"percent": True, "unit": "$"}, "percent=True sets unit and times by itself"),
        ({"times": 0}, "times must be a number above 0, got 0"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings, said):
    with pytest.raises(SchemaError, match=f"^The derived feature 'a': {said}"):
        sl.Derived("a", "where(loan > 1, 'x', 'y')", **settings)


# ---- in a schema ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "levels", "said"),
    [
        ("where(loan > 1, 'x', 'y')", None, r"gives text; list it, as in levels=\['x', 'y'\]\."),
        ("grade", None, r"gives text; list it, as in levels=\['low', 'high'\]"),
        ("loan", ["x"], "gives a number, but levels are for text. Leave levels out, or give text"),
        ("loan > 1", ["x"], "gives yes or no, but levels are for text"),
        (
            "where(loan > 1, 'low', 'hgh')",
            ["low", "high"],
            "gives 'hgh', .* mean 'high'.* They are",
        ),
    ],
)
def test_what_a_formula_gives_is_what_its_settings_say(formula, levels, said):
    with pytest.raises(SchemaError, match=f"^The formula of 'a' {said}") as caught:
        sl.Schema([LOAN, GRADE, sl.Derived("a", formula, levels=levels)])
    assert caught.value.at == ("features", 2, "formula")


def test_a_formula_gives_numbers_truths_or_listed_text():
    text = sl.Derived("a", "where(grade == 'low', 'x', 'y')", levels=["x", "y", "z"])
    for derived in (sl.Derived("a", "loan > 5"), sl.Derived("a", "loan + 1"), text):
        assert sl.Schema([LOAN, GRADE, derived]).derived == (GRADE, derived)


def test_a_name_that_is_no_feature_is_answered_with_the_nearest():
    with pytest.raises(
        SchemaError, match=r"^The formula of 'ltv'.* 'prise'\. Did you mean 'price'"
    ):
        sl.Schema([LOAN, PRICE, sl.Derived("ltv", "loan / prise")])
    with pytest.raises(SchemaError, match=r"^The formula of 'ltv'.* 'lone'\. Did you mean 'loan'"):
        sl.Schema([LOAN, PRICE, sl.Derived("ltv", "was(lone) / price")])


def test_levels_that_are_not_known_yet_are_checked_when_they_are():
    risky = sl.Derived("risky", "where(job == 'smiht', 1, loan)")
    schema = sl.Schema([LOAN, sl.Categorical("job"), risky])
    with pytest.raises(SchemaError, match=r"^The formula of 'risky'.*Did you mean 'smith'"):
        schema.with_levels({"job": ["clerk", "smith"]})
    known = schema.with_levels({"job": ["clerk", "smiht"]})
    assert known["job"] == sl.Categorical("job", levels=["clerk", "smiht"])
    said = (
        r"names 'lone', which is no feature of the schema\. Did you mean 'loan'\? It has 'loan', "
    )
    with pytest.raises(SchemaError, match=said):
        sl.Schema([LOAN, sl.Categorical("job"), sl.Derived("a", "where(job == 'x', 1, lone)")])


def test_each_is_worked_out_after_those_it_reads():
    a = sl.Derived("a", "b + c")
    b = sl.Derived("b", "c * 2")
    c = sl.Derived("c", "loan")
    last = sl.Derived("last", double)
    upon = sl.Derived("upon", "last + a")
    assert sl.Schema([a, b, upon, last, c, LOAN]).derived == (c, b, a, last, upon)
    assert sl.Schema([LOAN]).derived == ()


def test_todays_value_of_itself_is_no_circle():
    payment = sl.Derived("payment", "was(payment) * loan / was(loan)")
    assert sl.Schema([payment, LOAN]).derived == (payment,)


@pytest.mark.parametrize(
    ("formulas", "said", "at"),
    [
        ({"a": "a + 1"}, "'a' needs 'a'", 1),
        ({"a": "b", "b": "a"}, "'a' needs 'b', which needs 'a'", 1),
        (
            {"x": "a", "a": "loan + b", "b": "c", "c": "a"},
            "'a' needs 'b', which needs 'c', which needs 'a'",
            2,
        ),
    ],
)
def test_a_circle_is_refused_in_its_order(formulas, said, at):
    features = [LOAN, *(sl.Derived(name, formula) for name, formula in formulas.items())]
    said = rf"^The formulas go in a circle: {said}\. Work one of them out .* values, by was\(…\)\.$"
    with pytest.raises(SchemaError, match=said) as caught:
        sl.Schema(features)
    assert caught.value.at == ("features", at, "formula")


def test_what_a_file_cannot_hold_is_said_by_name(tmp_path):
    schema = sl.Schema([LOAN, sl.Derived("twice", double)])
    said = "^The derived feature 'twice' is worked out by a function, which no file can hold. Write"
    with pytest.raises(SchemaError, match=said):
        schema.save(tmp_path / "schema.yaml")
    assert list(tmp_path.iterdir()) == []


def test_a_truth_may_stand_in_a_column_of_booleans():
    rows = pd.DataFrame({"loan": [50.0, 150.0, 90.0, 200.0], "big": [False, True, False, True]})
    schema = sl.Schema([sl.Numeric("loan"), sl.Derived("big", "loan > 100")])
    space = sl.Space.fit(schema, rows)
    moved = sl.Feasible.of(space, rows.head(1)).repair(np.array([[120.0, 0.0]]))
    frame = space.to_frame(moved)
    assert frame["big"].tolist() == [True]
    assert frame["big"].dtype == bool
