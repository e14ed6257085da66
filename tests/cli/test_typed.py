"""What is typed in a walk: names, numbers and levels, as people write them."""

from __future__ import annotations

import pandas as pd
import pytest

import stepladder as sl
from stepladder.cli.typed import number, pairs, position, positions, value
from stepladder.errors import ParameterError

SCHEMA = sl.Schema(
    [
        sl.Numeric("income", label="monthly income", bounds=(0, 20_000), unit="$ a month"),
        sl.Numeric("share", label="loan", unit="% of income", times=100, bounds=(None, 0.9)),
        sl.Numeric("term", label="loan term", integer=True, unit="years"),
        sl.Categorical("job", levels=["clerk", "night clerk", "sales, retail", "driver's mate"]),
        sl.Categorical("late_payments", levels=[False, True]),
        sl.Numeric("home", label="home and garden"),
    ]
)

# ---- features ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("income 4000", [("income", "4000")]),
        ("monthly income 4,000", [("income", "4,000")]),
        ("\"Monthly  income\" '4000'", [("income", "'4000'")]),
        ("monthly income=4,000,loan term=3", [("income", "4,000"), ("term", "3")]),
        (
            "loan 35% of income, loan term 3 years",
            [("share", "35% of income"), ("term", "3 years")],
        ),
        ("job sales, retail, income 3", [("job", "sales, retail"), ("income", "3")]),
        ("job driver's mate and income 3", [("job", "driver's mate"), ("income", "3")]),
        ('job "clerk, income", income 3', [("job", '"clerk, income"'), ("income", "3")]),
        ("late payments yes; home and garden 2", [("late_payments", "yes"), ("home", "2")]),
        ("income=1 job=night clerk", [("income", "1"), ("job", "night clerk")]),
        ("income, loan 3", [("income", ""), ("share", "3")]),
        ("income 4000,", [("income", "4000")]),
    ],
)
def test_a_line_tells_of_features_and_their_values(said, told):
    assert [(SCHEMA.names[where], text) for where, text in pairs(SCHEMA, said)] == told


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("incme 3000", "There's no feature called 'incme'. Did you mean 'income'?"),
        ("monthly incme=3000", "There's no feature called 'monthly incme'. Did you mean 'monthly"),
        ("income 3000, dept 3", "There's no feature called 'dept'."),
        ("jib night clerk", "There's no feature called 'jib night clerk'. Did you mean 'job'?"),
        ("income's 3", "There's no feature called \"income's\". Did you mean 'income'?"),
        ("income/3", "There's no feature called 'income/3'."),
    ],
)
def test_what_does_not_begin_with_a_feature_is_answered_with_those_there_are(said, answer):
    with pytest.raises(ParameterError) as error:
        list(pairs(SCHEMA, said))
    assert str(error.value).startswith(answer)
    assert "There are 'monthly income', 'loan', " in str(error.value)


def test_a_list_of_features_takes_commas_and_and():
    said = "income, 'loan term' and home and garden, Income"
    assert [SCHEMA.names[where] for where in positions(SCHEMA, said)] == ["income", "term", "home"]


def test_a_list_of_features_takes_no_values():
    with pytest.raises(ParameterError, match=r"no feature called 'income 5'\. Did you mean"):
        positions(SCHEMA, "loan, income 5")


def test_a_name_comes_before_a_label_and_a_shared_label_is_no_name():
    one, two, three = (
        sl.Numeric("a", label="b"),
        sl.Numeric("b", label="pay"),
        sl.Numeric("c", label="pay"),
    )
    schema = sl.Schema([one, two, three])
    assert position(schema, "b") == 1
    with pytest.raises(ParameterError, match="'pay' could be any of 'b', 'c'; use that name"):
        position(schema, "pay")


def test_labels_that_differ_in_case_only_are_told_apart_by_it():
    schema = sl.Schema(
        [sl.Numeric("d1", label="debt"), sl.Numeric("d2", label="Debt"), sl.Numeric("DEBTS")]
    )
    assert [position(schema, said) for said in ("debt", "Debt", "D1", "debts")] == [0, 1, 0, 2]
    assert list(pairs(schema, "Debt 3, debt 4")) == [(1, "3"), (0, "4")]
    with pytest.raises(ParameterError, match="'DEBT' could be any of 'd1', 'd2'; use that name"):
        position(schema, "DEBT")


@pytest.mark.parametrize("said", ["income 5, income 6", "loan term=3 Term=3"])
def test_a_feature_that_is_told_twice_is_refused(said):
    with pytest.raises(ParameterError, match=r"The line names .* twice. Name it once."):
        list(pairs(SCHEMA, said))


# ---- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("feature", "said", "is_"),
    [
        (sl.Numeric("a"), "-3.5", -3.5),
        (sl.Numeric("a"), "−1,234.5", -1234.5),
        (sl.Numeric("a"), ".5", 0.5),
        (sl.Numeric("a", unit="years"), "3 years", 3.0),
        (sl.Numeric("a", unit="hours a week"), "1 hour a week", 1.0),
        (sl.Numeric("a", unit="$ a month"), "$1,100 a month", 1100.0),
        (sl.Numeric("a", unit="$ a month"), "−$5", -5.0),
        (sl.Numeric("a", unit="$ a month"), "1100 $", 1100.0),
        (sl.Numeric("a", unit="m2"), "50 m2", 50.0),
        (sl.Numeric("a", unit="$", times=1000, integer=True), "$45,000", 45.0),
        (sl.Numeric("a", percent=True), "35", 0.35),
        (sl.Numeric("a", percent=True), "35 %", 0.35),
        (sl.Numeric("a", percent=True), "35 per cent", 0.35),
        (sl.Numeric("a", percent=True), "35 Percent", 0.35),
        (sl.Numeric("a", percent=True), "0.35 per cent", 0.0035),
        (sl.Numeric("a", percent=True), "1.1", 0.011),
        (sl.Numeric("a", percent=True), "0.35%", 0.0035),
        (sl.Numeric("a", percent=True), "0", 0.0),
        (sl.Numeric("a", unit="% of income", times=100), "35% of income", 0.35),
        (sl.Numeric("a", unit="% of income", times=100), "35", 0.35),
        (sl.Numeric("a", unit="% of income", times=100), "35 per cent of income", 0.35),
    ],
)
def test_a_number_is_read_as_it_is_shown(feature, said, is_):
    assert number(feature, said, 1) == is_


@pytest.mark.parametrize(
    "said", ["", "nan", "inf", "1e400", "1,2", "12,34", "two", "5%", "$5", "--5", "5 per cent"]
)
def test_what_is_no_number_is_refused(said):
    with pytest.raises(ParameterError, match="a is a number, such as 1; "):
        number(sl.Numeric("a"), said, 1)


def test_two_numbers_are_told_to_keep_apart_by_a_comma():
    with pytest.raises(ParameterError, match=r"'3000 term 4' isn't one. Commas go between"):
        number(SCHEMA["income"], "3000 term 4", 1)


@pytest.mark.parametrize(
    ("said", "either"), [("0.35", "0.35% or 35%"), ("1", "1% or 100%"), ("-.5", "−0.5% or −50%")]
)
@pytest.mark.parametrize("words", [{"percent": True}, {"unit": "%", "times": 100}, {"unit": "%"}])
def test_a_share_of_one_or_less_is_asked_about(said, either, words):
    with pytest.raises(ParameterError, match=f"Is a {either}[?] Write it with the % sign"):
        number(sl.Numeric("a", **words), said, 0.4)


@pytest.mark.parametrize(
    ("name", "said", "answer"),
    [
        ("income", "−5", "monthly income can't be −$5: it lies between $0 and $20,000 a month."),
        ("share", "95", "loan can't be 95%: it's at most 90% of income."),
        ("term", "+2", "Say what loan term is now, not by how much it rose."),
        ("job", "clerc", "job can't be 'clerc': it's one of 'clerk', 'night clerk', "),
        ("late_payments", "maybe", "late payments can't be 'maybe': it's one of 'no', 'yes'."),
        ("income", " ", "What is monthly income now? Such as: happened monthly income $1 a month"),
    ],
)
def test_what_a_feature_cannot_be_is_said_in_its_own_words(name, said, answer):
    with pytest.raises(ParameterError) as error:
        value(SCHEMA[name], said, 1)
    assert str(error.value).startswith(answer)


@pytest.mark.parametrize(
    ("feature", "said", "is_"),
    [
        (sl.Numeric("share", decimals=1, percent=True), "35.55", 0.3555),
        (sl.Numeric("loan", integer=True, unit="$", times=1000), "$70,500", 70.5),
        (sl.Numeric("age", integer=True, change="never"), "30.5", 30.5),
    ],
)
def test_what_happened_may_have_more_digits_than_plans_do(feature, said, is_):
    assert value(feature, said, 1) == is_
    rows = pd.DataFrame({feature.name: [0.0, 100.0]})
    space = sl.Space.fit(sl.Schema([feature]), rows)
    assert sl.Feasible.of(space, pd.DataFrame({feature.name: [is_]})).start == is_


@pytest.mark.parametrize(
    ("name", "said", "is_"),
    [
        ("job", "Night  Clerk", 1),
        ("job", "“night clerk”", 1),
        ("job", "sales, retail", 2),
        ("job", "driver's mate", 3),
        ("late_payments", "yes", 1),
        ("late_payments", "False", 0),
    ],
)
def test_a_level_is_read_with_its_spaces_in_quotes_or_not(name, said, is_):
    assert value(SCHEMA[name], said, None) == is_
