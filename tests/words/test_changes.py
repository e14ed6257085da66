"""A change in words: what to do, from what to what, how big that is and how long it takes."""

from __future__ import annotations

import pytest
from tests.words.spoken import (
    COST,
    DEBTS,
    EDUCATION,
    JOB,
    LOAN,
    LTV,
    MONTHLY,
    OWNER,
    RATIO,
    RECORD,
    RISK,
    SHARE,
    YEARS,
)

import stepladder as sl
from stepladder.datasets import mortgage
from stepladder.errors import ParameterError
from stepladder.words import plans as words


@pytest.mark.parametrize(
    ("feature", "before", "after", "said"),
    [
        (MONTHLY, 3000, 3200, "raise income from $3,000 to $3,200 a month"),
        (MONTHLY, -50, 0, "raise income from −$50 to $0 a month"),
        (DEBTS, 877, 0, "pay down debts from $877 to $0 a month"),
        (DEBTS, 0, 50, "raise debts from $0 to $50 a month"),
        (LOAN, 138, 124, "borrow less: $124,000 instead of $138,000"),
        (YEARS, 1, 2, "raise years in job from 1 to 2 years"),
        (YEARS, 2, 1, "lower years in job from 2 to 1 year"),
        (SHARE, 0.4, 0.35, "lower debt share from 40% to 35%"),
        (RATIO, 0.4, 0.35, "lower ratio from 40% to 35% of income"),
        (EDUCATION, "school", "Bachelor", "raise education from school to Bachelor"),
        (RECORD, "3+ late", "none late", "mend the record from “3+ late” to “none late”"),
        (JOB, "clerk", "nurse in a hospital", "change job from clerk to “nurse in a hospital”"),
        (OWNER, False, True, "change home ownership from no to yes"),
        (MONTHLY, None, 3200, "fill in income: $3,200 a month"),
        (SHARE, None, 0, "fill in debt share: 0%"),
        (RECORD, None, "none late", "fill in record: “none late”"),
        (JOB, None, "clerk", "fill in job: clerk"),
        (LTV, 0.9, 0.8, "lower loan to value from 90% to 80%"),
        (COST, 900, 1100, "raise housing costs from $900 to $1,100 a month"),
        (RISK, "low", "rather high", "change risk from low to “rather high”"),
        (
            mortgage.SCHEMA["paperwork"],
            "proof missing",
            "all verified",
            "complete paperwork from “proof missing” to “all verified”",
        ),
    ],
)
def test_a_change_says_what_to_do_from_what_to_what(feature, before, after, said):
    assert words.change(feature, before, after) == said


def test_a_level_that_is_not_there_is_answered_with_the_nearest():
    with pytest.raises(ParameterError, match=r"'education' has no level 'Bachlor'.*'Bachelor'\?"):
        words.change(EDUCATION, "school", "Bachlor")


# ---- how big an ask it is ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("feature", "before", "after", "rank", "said"),
    [
        (MONTHLY, 3000, 4000, 0.83, "at least 8 in 10 applicants have as much or less"),
        (MONTHLY, 3000, 4000, 0.9, "at least 9 in 10 applicants have as much or less"),
        (MONTHLY, 3000, 4000, 0.98, "at least 9 in 10 applicants have as much or less"),
        (MONTHLY, 3000, 4000, 0.6, "at least 6 in 10 applicants have as much or less"),
        (MONTHLY, 3000, 4000, 0.59, ""),
        (DEBTS, 900, 100, 0.25, "at least 7 in 10 applicants have as much or more"),
        (DEBTS, 900, 100, 0.5, ""),
        (
            MONTHLY,
            3000,
            9000,
            0.985,
            "fewer than 2 in 100 applicants have more: this may be out of reach",
        ),
        (
            DEBTS,
            900,
            1,
            0.015,
            "fewer than 2 in 100 applicants have less: this may be out of reach",
        ),
        (EDUCATION, "school", "Bachelor", 0.83, ""),
        (
            EDUCATION,
            "school",
            "Master",
            0.985,
            "hardly any applicant has that: this may be out of reach",
        ),
        (JOB, "clerk", "nurse in a hospital", None, ""),
        (MONTHLY, None, 4000, 0.9, ""),
        (MONTHLY, 3000, 4000, None, ""),
    ],
)
def test_the_size_of_an_ask_is_said_beside_what_others_have(feature, before, after, rank, said):
    move = words.Move(feature, before, after, rank=rank)
    assert move.size == said
    assert move.is_extreme == ("out of reach" in said)


def test_a_small_step_in_high_places_is_no_big_ask():
    """The effort tells how many are overtaken at most: from beyond all others nobody is."""
    assert words.Move(MONTHLY, 9000, 9100, effort=0.101, rank=0.985).size == ""
    assert words.Move(MONTHLY, 3000, 9100, effort=0.8, rank=0.985).is_extreme
    assert words.Move(MONTHLY, 4000, 4050, effort=0.15, rank=0.83).size == ""
    hard = sl.Numeric("income", difficulty=5)
    assert words.Move(hard, 4000, 4050, effort=0.35, rank=0.83).size == ""
    assert words.Move(hard, 4000, 5000, effort=0.7, rank=0.83).size


# ---- how long it takes ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("feature", "before", "after", "months"),
    [
        (sl.Numeric("income", months=6), 3000, 9000, 6),
        (sl.Numeric("income", months_each=0.01), 3000, 3400, 4),
        (sl.Ordinal("record", levels=["a", "b", "c"], months_each=6), "a", "c", 12),
        (sl.Ordinal("record", levels=["a", "b", "c"], months_each=6), None, "c", 0),
        (sl.Categorical("job", levels=["a", "b"], months=3), "a", "b", 3),
        (LOAN, 138, 124, 0),
        (LTV, 0.9, 0.8, 0),
    ],
)
def test_a_change_takes_as_long_as_the_schema_says(feature, before, after, months):
    assert words.Move(feature, before, after).months == pytest.approx(months)
