"""A feature's values as people write them: with their unit, and no more digits than they have."""

from __future__ import annotations

import math
import re
import unicodedata
from decimal import Decimal
from typing import Any

import numpy as np

from stepladder.numbers import exact
from stepladder.table.feature import Categorical, Derived, Feature, Numeric, Ordinal

NO_VALUE = "not given"


def value(feature: Feature, v: Any) -> str:
    """A value of a feature as people write it.

    >>> value(Numeric("income", unit="$ a month"), 3200)
    '$3,200 a month'
    >>> value(Numeric("share", percent=True), 0.35)
    '35%'
    """
    number, unit = amount(feature, v)
    return f"{number} {unit}".rstrip()


def moved(feature: Feature, before: Any, after: Any) -> str:
    """A change in short; the unit is named once.

    >>> moved(Numeric("income", unit="$ a month"), 3000, 3200)
    'income: $3,000 → $3,200 a month'
    """
    return f"{feature.label}: {amount(feature, before)[0]} → {value(feature, after)}"


def within(feature: Feature, low: Any, high: Any) -> str:
    """From where to where, None for an open end; the unit is named once.

    >>> within(Numeric("income", unit="$ a month"), 3000, None)
    'at least $3,000 a month'
    """
    if low is None:
        return f"at most {value(feature, high)}"
    if high is None:
        return f"at least {value(feature, low)}"
    return f"between {amount(feature, low)[0]} and {value(feature, high)}"


def amount(feature: Feature, v: Any) -> tuple[str, str]:
    """A value as an amount and the words behind it: ('$3,200', 'a month')."""
    v = v.item() if isinstance(v, np.generic) else v
    if v is None or (isinstance(v, float) and math.isnan(v)):
        return NO_VALUE, ""
    is_number = isinstance(v, int | float) and not isinstance(v, bool)
    if not is_number or not isinstance(feature, Numeric | Derived):
        return _level(feature, v), ""
    v = _without_dust(feature, v)
    sign = "−" if v < 0 else ""
    counted = _multiplied(abs(v), 100 if feature.percent else feature.times)
    if feature.percent:
        return f"{sign}{exact(counted)}%", ""
    first, _, rest = feature.unit.partition(" ")
    if any(unicodedata.category(letter) == "Sc" for letter in first):  # a currency
        return f"{sign}{first}{exact(counted, cents=True)}", rest
    if first.startswith("%"):
        return f"{sign}{exact(counted)}{first}", rest
    # Without a unit, four digits may well be a year.
    number = exact(counted, apart=bool(feature.unit) or counted >= 10_000)
    return f"{sign}{number}", _singular(feature.unit) if counted == 1 else feature.unit


def _without_dust(feature: Numeric | Derived, v: float) -> float:
    """A value to the feature's decimals, where it has more only from once being a 32-bit float.

    >>> _without_dust(Numeric("share", decimals=1), 34.099998474121094)
    34.1
    >>> _without_dust(Numeric("share", decimals=1), 34.13)
    34.13
    """
    if isinstance(v, int) or feature.most_decimals is None:
        return v
    short = round(v, feature.most_decimals)
    single = np.float32(v)
    return short if float(single) == v and single == np.float32(short) else v


def _level(feature: Feature, v: Any) -> str:
    """A level as people call it."""
    if isinstance(feature, Ordinal | Categorical) and v in feature.labels:
        return feature.labels[v]
    if isinstance(v, bool):
        return "yes" if v else "no"
    return exact(v, apart=False) if isinstance(v, int | float) else str(v)


def _multiplied(v: float, times: float) -> Decimal:
    """A value in its unit, so that dividing gives the value back; 0.07 in per cent is 7."""
    factor = Decimal(str(times))
    exact = Decimal(str(v)) * factor
    short = Decimal(str(float(exact)))  # 1, where a twelfth by 12 would be 0.99999999999999996
    return short if float(short / factor) == v else exact


def _singular(unit: str) -> str:
    """The unit of one: 'years' is 'year', and 'hours a week' is 'hour a week'.

    Only a word that is plainly a plural loses its ending; 'ms', 'Mbps' and 'calories' stay.
    """
    first, space, rest = unit.partition(" ")
    is_word = re.fullmatch("[a-z]{4,}", first) and re.search("[aeiouy]", first)
    if not is_word or re.search("(ss|us|is|ies|oes|[^o]uses)$", first):
        return unit
    return re.sub("(?<=ch|sh|ss)es$|(?<=x)es$|s$", "", first) + space + rest
