"""A change in plain words: what to do, from what to what, and how big that is beside others.

Units, labels and what a change is called come from the schema; numbers are read off the rows that
were checked and show every digit, so give a `Numeric` its `decimals` to keep them short.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from stepladder.errors import ParameterError, listing, nearest
from stepladder.table.amounts import amount, value
from stepladder.table.effort import EACH
from stepladder.table.feature import Categorical, Derived, Feature, Numeric

MOST = 0.98
"""The share of applicants beyond which an ask may be out of reach."""

FEW = f"fewer than {100 - 100 * MOST:.0f} in 100"

LARGE = 0.6
"""The share of applicants beyond which an ask leads to where most aren't."""

NOTABLE = 0.1
"""The share of applicants that a notable ask overtakes."""

SPELLED = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
"""Numbers that are written as words."""


def change(feature: Feature, before: Any, after: Any) -> str:
    """What to do, from what to what; the unit appears once.

    Values follow the feature's label, or a colon where the schema's own phrase leaves it out.

    >>> change(Numeric("income", unit="$ a month"), 3000, 3200)
    'raise income from $3,000 to $3,200 a month'
    >>> change(Numeric("loan", unit="$", fall="borrow less"), 9000, 8000)
    'borrow less: $8,000 instead of $9,000'
    """
    start, end = amount(feature, before)[0], value(feature, after)
    if not is_number(feature):
        start, end = quoted(start), quoted(end)
    what = action(feature, before, after)
    if before is None:
        return f"{what}: {end}"
    if what.endswith(feature.label):
        return f"{what} from {start} to {end}"
    return f"{what}: {end} instead of {start}"


def action(feature: Feature, before: Any, after: Any) -> str:
    """What to do, without the values: 'raise income', 'change job', 'borrow less'."""
    if before is None:
        return f"fill in {feature.label}"
    if isinstance(feature, Categorical) or (isinstance(feature, Derived) and feature.levels):
        return f"change {feature.label}"
    if rises(feature, before, after):
        return feature.rise or f"raise {feature.label}"
    return feature.fall or f"lower {feature.label}"


def is_number(feature: Feature) -> bool:
    return isinstance(feature, Numeric) or (isinstance(feature, Derived) and not feature.levels)


def rises(feature: Feature, before: Any, after: Any) -> bool:
    """Whether an ordered feature goes up."""
    if is_number(feature):
        return bool(after > before)
    levels = () if isinstance(feature, Numeric) else feature.levels or ()
    for level in (before, after):
        if level not in levels:
            raise ParameterError(
                f"{feature.name!r} has no level {level!r}.{nearest(level, levels)} "
                f"It has {listing(levels)}."
            )
    return levels.index(after) > levels.index(before)


# ---- moves ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Move:
    """One thing to change."""

    feature: Feature
    before: Any
    after: Any
    effort: float | None = None
    """what it asks of a person, where that is known"""
    rank: float | None = None
    """the share of applicants who have less than it leads to, where that may be told"""

    @property
    def action(self) -> str:
        return action(self.feature, self.before, self.after)

    @property
    def start(self) -> str:
        return value(self.feature, self.before)

    @property
    def end(self) -> str:
        return value(self.feature, self.after)

    @property
    def months(self) -> float:
        """How long it takes."""
        once = getattr(self.feature, "months", 0) or 0.0
        each = getattr(self.feature, "months_each", 0) or 0.0
        return float(once + each * self._units)

    @property
    def _units(self) -> float:
        """How many units or levels lie between."""
        if self.before is None:
            return 0.0
        if is_number(self.feature):
            return abs(float(self.after) - float(self.before))
        levels = getattr(self.feature, "levels", None) or ()
        if self.before not in levels or self.after not in levels:
            return 0.0
        return float(abs(levels.index(self.after) - levels.index(self.before)))

    @property
    def size(self) -> str:
        """How big an ask it is beside what others have; empty for a small one, or if unknown.

        Ranks count those who have just as much by half, so only what ties can't make untrue is
        said; levels are held by many at once, so of them nothing is, unless hardly anybody has it.

        >>> Move(Numeric("income"), 3000, 4000, rank=0.83).size
        'at least 8 in 10 applicants have as much or less'
        """
        share = self._overtaken
        if share is None:
            return ""
        more, less = ("more", "less") if self._goes_up else ("less", "more")
        if self.is_extreme and is_number(self.feature):
            return f"{FEW} applicants have {more}: this may be out of reach"
        if self.is_extreme:
            return "hardly any applicant has that: this may be out of reach"
        if share < LARGE or self._crossed < NOTABLE or not is_number(self.feature):
            return ""
        tenths = math.floor(10 * share + 1e-9)
        return f"at least {tenths} in 10 applicants have as much or {less}"

    @property
    def is_extreme(self) -> bool:
        """Whether it leads to where hardly anybody is, from where more people are."""
        share = self._overtaken
        return share is not None and share > MOST >= share - self._crossed

    @property
    def _goes_up(self) -> bool:
        return rises(self.feature, self.before, self.after)

    @property
    def _crossed(self) -> float:
        """The share of applicants that it overtakes, at most, as the effort tells of it."""
        if self.effort is None:
            return math.inf
        return (self.effort - EACH) / getattr(self.feature, "difficulty", 1.0)

    @property
    def _overtaken(self) -> float | None:
        """The share of applicants who are left behind, whichever way it goes."""
        if self.rank is None or self.before is None or not self.feature.ordered:
            return None
        return self.rank if self._goes_up else 1 - self.rank

    def __str__(self) -> str:
        return change(self.feature, self.before, self.after)


# ---- phrases ----------------------------------------------------------------------------------


def counted(number: int, thing: str) -> str:
    """'1 step', '2 steps'."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return f"{text[:1].upper()}{text[1:]}"


def listed(items: Iterable[str], last: str = "and") -> str:
    """'a', 'a and b', 'a, b and c'; empty for nothing."""
    *most, end = list(items) or [""]
    return f"{', '.join(most)} {last} {end}" if most else end


def quoted(text: str) -> str:
    """A level of several words in quotes, so that it's clear where it ends."""
    return f"“{text}”" if " " in text else text


def things(number: int) -> str:
    """'one thing to do', 'three things to do', '12 things to do'."""
    spelled = SPELLED[number] if number < len(SPELLED) else f"{number:,}"
    return f"{spelled} {'thing' if number == 1 else 'things'} to do"


def joined(moves: Sequence[Move]) -> str:
    return "; ".join(str(move) for move in moves)


def sentence(moves: Sequence[Move]) -> str:
    return f"{capital(joined(moves))}."


def time(months: float) -> str:
    """'5 months', '1 year', '18 months'."""
    whole = math.ceil(months)
    return counted(whole, "month") if whole % 12 else counted(whole // 12, "year")
