"""A feature's values as people write them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest

import stepladder as sl
from stepladder.table.amounts import moved, value

EURO = sl.Numeric("rent", unit="€")
MONTHLY = sl.Numeric("income", unit="$ a month")
YEARS = sl.Numeric("years_in_job", unit="years")
SHARE = sl.Numeric("share", percent=True, label="debt share")
RATIO = sl.Numeric("ratio", unit="% of income", times=100)
LOAN = sl.Numeric("loan", unit="$", times=1000)
COUNT = sl.Numeric("count")
EDUCATION = sl.Ordinal("education", levels=["school", "Bachelor", "Master"])
JOB = sl.Categorical("job", levels=["clerk", "nurse in a hospital"])
OWNER = sl.Categorical("owner", levels=[False, True], label="home ownership")


@pytest.mark.parametrize(
    ("feature", "v", "said"),
    [
        (JOB.but(labels={"clerk": "works in an office"}), "clerk", "works in an office"),
        (JOB.but(labels={"clerk": "works in an office"}), "nurse in a hospital", JOB.levels[1]),
        (OWNER.but(labels={True: "owns their home"}), True, "owns their home"),
        (OWNER.but(labels={True: "owns their home"}), np.bool_(False), "no"),
        (sl.Ordinal("a", levels=[1, 2], labels={2: "high"}), 2.0, "high"),
        (MONTHLY, 3200, "$3,200 a month"),
        (MONTHLY, 3200.5, "$3,200.50 a month"),
        (MONTHLY, 3200.0, "$3,200 a month"),
        (MONTHLY, -200, "−$200 a month"),
        (MONTHLY, 0, "$0 a month"),
        (EURO, 1_234_567.25, "€1,234,567.25"),
        (EURO, 0.125, "€0.125"),
        (sl.Numeric("a", unit="US$"), 1500, "US$1,500"),
        (sl.Numeric("a", unit="CHF"), 1500, "1,500 CHF"),
        (sl.Numeric("a", unit="°C"), -3.5, "−3.5 °C"),
        (LOAN, 138, "$138,000"),
        (LOAN, 138.5, "$138,500"),
        (SHARE, 0.35, "35%"),
        (SHARE, 0.07, "7%"),
        (SHARE, 0.3512, "35.12%"),
        (SHARE, -0.5, "−50%"),
        (RATIO, 0.35, "35% of income"),
        (YEARS, 1, "1 year"),
        (YEARS, 1.0, "1 year"),
        (YEARS, 1.5, "1.5 years"),
        (YEARS, 0, "0 years"),
        (YEARS, 2500, "2,500 years"),
        (sl.Numeric("a", unit="hours a week"), 1, "1 hour a week"),
        (COUNT, 1990, "1990"),  # a year
        (COUNT, 19900, "19,900"),
        (COUNT, 1e15, "1,000,000,000,000,000"),
        (COUNT, np.int64(7), "7"),
        (COUNT, np.float64("nan"), "not given"),
        (JOB, None, "not given"),
        (EDUCATION, "Bachelor", "Bachelor"),
        (sl.Ordinal("a", levels=[2020, 2021]), 2021, "2021"),
        (sl.Ordinal("a", levels=[1.0, 1.5]), 1.0, "1"),
        (sl.Ordinal("a", levels=[-1, 1234567.25]), 1234567.25, "1234567.25"),
        (sl.Ordinal("a", levels=[-1, -0.5]), -1, "−1"),
        (sl.Ordinal("a", levels=[-1, -0.5]), -0.5, "−0.5"),
        (JOB, "nurse in a hospital", "nurse in a hospital"),
        (OWNER, True, "yes"),
        (OWNER, np.False_, "no"),
        (sl.Categorical("since"), dt.date(2020, 3, 1), "2020-03-01"),
        (sl.Categorical("since"), "1 March 2020", "1 March 2020"),
    ],
)
def test_a_value_is_written_as_people_write_it(feature, v, said):
    assert value(feature, v) == said


@pytest.mark.parametrize(
    ("feature", "v", "said"),
    [
        (COUNT, 0.1234567890123456, "0.1234567890123456"),
        (COUNT, 1234567890123.4568, "1,234,567,890,123.4568"),
        (COUNT, 0.1 + 0.2, "0.30000000000000004"),
        (COUNT, np.float64(1e-7), "0.0000001"),
        (COUNT, -0.0, "0"),
        (COUNT, 1e22, "10,000,000,000,000,000,000,000"),
        (EURO, 1234.5600000000002, "€1,234.5600000000002"),
        (SHARE, -0.0, "0%"),
        (SHARE, 0.1234567890123456, "12.34567890123456%"),
        (RATIO, 0.07, "7% of income"),
        (sl.Numeric("a", unit="months", times=12), 1 / 12, "1 month"),
        (sl.Numeric("a", unit="m", times=0.3048), 6, "1.8288 m"),
    ],
)
def test_a_number_shows_every_digit_and_no_more(feature, v, said):
    assert value(feature, v) == said


@pytest.mark.parametrize("times", [1, 12, 100, 1000, 0.3048])
def test_a_number_as_shown_is_the_one_in_the_row(times):
    feature = sl.Numeric("a", times=times)
    for v in np.random.default_rng(0).lognormal(0, 9, 500).tolist():
        shown = Decimal(value(feature, v).replace(",", ""))
        assert float(shown / Decimal(str(times))) == v


@pytest.mark.parametrize(
    ("unit", "one"),
    [
        ("years", "year"),
        ("days", "day"),
        ("mins", "min"),
        ("hours a week", "hour a week"),
        ("degrees Celsius", "degree Celsius"),
        ("houses", "house"),
        ("inches", "inch"),
        ("boxes", "box"),
        ("glasses", "glass"),
    ],
)
def test_a_unit_of_one_is_singular(unit, one):
    assert value(sl.Numeric("a", unit=unit), 1) == f"1 {one}"
    assert value(sl.Numeric("a", unit=unit), 2) == f"2 {unit}"


@pytest.mark.parametrize(
    "unit",
    [
        *("s", "ms", "hrs", "m/s", "hours/week", "Mbps", "kbps", "kWs", "GBs", "Siemens"),
        *("calories", "salaries", "series", "minus", "basis", "class", "bonuses", "kg"),
    ],
)
def test_a_unit_that_is_not_plainly_a_plural_stays(unit):
    assert value(sl.Numeric("a", unit=unit), 1) == f"1 {unit}"


@pytest.mark.parametrize(
    ("feature", "before", "after", "said"),
    [
        (MONTHLY, 3000, 3200, "income: $3,000 → $3,200 a month"),
        (SHARE, 0.4, 0.35, "debt share: 40% → 35%"),
        (OWNER, False, np.True_, "home ownership: no → yes"),
        (JOB, None, "clerk", "job: not given → clerk"),
    ],
)
def test_a_change_in_short_has_the_label_and_the_unit_once(feature, before, after, said):
    assert moved(feature, before, after) == said


@pytest.mark.parametrize(
    ("v", "said"),
    [
        (float(np.float32(34.1)), "34.1"),  # as tables from 32-bit floats have it
        (34.13, "34.13"),  # a value of its own, beyond the decimals of what is asked for
        (float(np.float32(34.13)), "34.130001068115234"),
    ],
)
def test_what_a_32_bit_float_adds_to_a_value_is_not_said(v, said):
    assert value(sl.Numeric("share", decimals=1), v) == said
