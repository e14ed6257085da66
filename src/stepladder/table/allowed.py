"""What a feature's values can be and what may be asked of a person, in short words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from stepladder.numbers import exact
from stepladder.table.amounts import amount, value
from stepladder.table.feature import Categorical, Change, Derived, Feature, Numeric, Ordinal
from stepladder.table.reach import Reach, Way

MOST_LEVELS = 8
"""How many levels of a feature a notebook shows."""


def called(feature: Feature) -> str:
    """What people call a feature, and its changes where they have a name of their own."""
    changes = [getattr(feature, way, "") for way in ("rise", "fall")]
    return "; ".join([feature.label, *(f"“{change}”" for change in changes if change)])


def may_change(feature: Feature) -> str:
    """How a feature may change, in a word or two."""
    return "with others" if isinstance(feature, Derived) else feature.change.value


def allowed(feature: Feature) -> str:
    """What a feature's values can be, and what may be asked of a person, in short.

    >>> allowed(Numeric("income", bounds=(0, None), integer=True, unit="$ a month", reach="30%"))
    "from $0 a month, in steps of $1; within 30% of today's value"
    """
    return "; ".join([_values(feature), *terms(feature)])


def _values(feature: Feature) -> str:
    """What a feature's values can be."""
    if isinstance(feature, Derived):
        worked_out = (
            feature.formula if isinstance(feature.formula, str) else "by a function of the others"
        )
        words = f"worked out: {worked_out}"
    elif not isinstance(feature, Numeric):
        levels = [value(feature, level) for level in feature.levels or ()]
        words = _few(levels, " < " if feature.ordered else ", ") or "the levels of the table"
        if feature.columns != (feature.name,):
            words += f"; columns: {_few(feature.columns, ', ')}"
        return words
    else:
        unit = f" ({feature.unit})" if feature.unit else ""
        words = _range(feature, *feature.bounds) or f"any number{unit}"
        if feature.multiple is not None:
            return f"{words}, in steps of {amount(feature, feature.multiple)[0]}"
    if feature.most_decimals is not None:
        words += f", in steps of {amount(feature, 10**-feature.most_decimals)[0]}"
    return words


def terms(feature: Feature) -> list[str]:
    """What may be asked of a person beyond what values there are, in short."""
    if isinstance(feature, Derived):
        return []
    words = _number_terms(feature) if isinstance(feature, Numeric) else _level_terms(feature)
    if not isinstance(feature, Categorical):
        each = "unit" if isinstance(feature, Numeric) else "level"
        words += ["all at once"] * feature.at_once
        words += [f"{_months(feature.months_each)} for each {each}"] * bool(feature.months_each)
    words += [f"difficulty {exact(feature.difficulty)}"] * (feature.difficulty != 1)
    words += [f"takes {_months(feature.months)}"] * bool(feature.months)
    return words + ["a gap may be filled"] * feature.fill


def _number_terms(feature: Numeric) -> list[str]:
    words = []
    if feature.typical is not None:
        words.append(f"typical: {_range(feature, *feature.typical)}")
    if feature.reach is not None:
        words.append(_within_reach(feature))
    if feature.change is Change.TIME:
        words.append("grows by one per year")
    return words


def _level_terms(feature: Ordinal | Categorical) -> list[str]:
    words = []
    if feature.not_to:
        words.append(f"not to {_few([value(feature, level) for level in feature.not_to], ', ')}")
    for level, to in feature.moves.items():
        where = f"only to {_few([value(feature, t) for t in to], ', ')}" if to else "nowhere"
        words.append(f"from {value(feature, level)} {where}")
    return words


def _months(months: float) -> str:
    return f"{exact(months)} {'month' if months == 1 else 'months'}"


def _within_reach(feature: Numeric) -> str:
    """How far from today's value a plan may go."""
    reach = Reach.read(feature.reach)
    assert reach is not None  # it was checked when the feature was made
    down, up = _size(feature, reach.down), _size(feature, reach.up)
    if down == up:
        return f"within {up} of today's value"
    ways = [f"{size} {way} " for size, way in ((down, "below"), (up, "above")) if size]
    return f"at most {'and '.join(ways)}today's value"


def _size(feature: Numeric, way: Way) -> str:
    """How far one way leads; empty if it has no end."""
    if math.isinf(way.size):
        return ""
    size = abs(way.size)
    if way.of_today:
        return f"{exact(size)}%"
    words = value(feature, size)
    return f"{words.removesuffix('%')} percentage points" if feature.percent else words


def _few(items: Sequence[str], between: str) -> str:
    rest = len(items) - MOST_LEVELS
    return between.join(items[:MOST_LEVELS]) + (f", … ({rest} more)" if rest > 0 else "")


def _range(feature: Numeric, low: float | None, high: float | None) -> str:
    """Two ends in words; empty if both are open."""
    if low is None:
        return "" if high is None else f"up to {value(feature, high)}"
    if high is None:
        return f"from {value(feature, low)}"
    return f"{amount(feature, low)[0]} to {value(feature, high)}"
