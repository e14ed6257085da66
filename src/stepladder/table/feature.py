"""A feature of a table: what it is, and how it may change.

Four kinds: numeric, ordinal, categorical, and derived (worked out from others, in `derived.py`).
The first three have a `Change`: any, increase, decrease, never, and for numbers time. (Coming from
DiCE: `features_to_vary` is every feature whose change isn't never, and `permitted_range` is
`bounds` or `levels`.)

A feature also holds the words to speak of it: its label, its unit, and what a rise and a fall are
called. No rule and no distance depends on them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import SchemaError, listing, nearest
from stepladder.numbers import plain
from stepladder.table.derived import Derived
from stepladder.table.kind import (
    ANYWHERE,
    AS_THEY_ARE,
    WORDS,
    Change,
    Counted,
    Described,
    Labels,
    Level,
    Moves,
    is_finite,
)
from stepladder.table.reach import End, Reach

__all__ = [
    "WORDS",
    "Bounds",
    "Categorical",
    "Change",
    "Derived",
    "Feature",
    "Level",
    "Moves",
    "Numeric",
    "Ordinal",
    "Span",
]

Bounds = tuple[float | None, float | None]
Span = tuple[float, float]


@dataclass(frozen=True, init=False, repr=False)
class Numeric(Counted):
    """A number: `bounds` (either end may be None), whole numbers only, or at most so many decimals.

    `typical` is the range most people lie in, as one knows it without looking at the table: from
    units, law, custom or documentation. It's no constraint (a row outside it is valid); private
    use takes its scale from it.

    What may be asked of a person: `reach` is how far from today's value a plan may go ("30%",
    ("-20%", "+50%"), 500, or (-100, None)), `multiple` what asked-for values are multiples of,
    `at_once` that it changes in a single step, `difficulty` how hard a change is beside others (1
    is usual), `months` how long a change takes, however large, `months_each` how long every unit
    of it takes, and `fill` that a missing value may be filled in.

    For people: `unit` is what a value is counted in ("$", "years", "$ a month", "% of income"),
    `percent` shows a share as per cent, and `times` is what to multiply by to get the unit: 1000
    where the table holds thousands. `rise` and `fall` are what to do to raise or lower it, where
    "raise" and "lower" won't do: "pay down debts".

    >>> Numeric("income", bounds=(0, None), typical=(0, 20_000))
    Numeric('income', bounds=(0.0, None), typical=(0.0, 20000.0))
    """

    kind: ClassVar[str] = "numeric"
    coarser: ClassVar[str] = "use multiple={0}"
    bounds: Bounds = (None, None)
    integer: bool = False
    decimals: int | None = None
    typical: Span | None = None
    reach: End | tuple[End, End] = None
    multiple: float | None = None
    at_once: bool = False
    difficulty: float = 1
    months: float = 0
    months_each: float = 0
    fill: bool = False
    unit: str = ""
    percent: bool = False
    times: float = 1
    rise: str = ""
    fall: str = ""

    def __init__(  # noqa: PLR0913  # every setting has a name and a meaning of its own
        self,
        name: str,
        *,
        change: Change | str = Change.ANY,
        bounds: Sequence[float | None] = (None, None),
        integer: bool = False,
        decimals: int | None = None,
        typical: Sequence[float] | None = None,
        reach: End | Sequence[End] = None,
        multiple: float | None = None,
        at_once: bool = False,
        difficulty: float = 1,
        months: float = 0,
        months_each: float = 0,
        fill: bool = False,
        label: str | None = None,
        unit: str = "",
        percent: bool = False,
        times: float = 1,
        rise: str = "",
        fall: str = "",
    ) -> None:
        super().__init__(name, change, label)
        self._set_decimals(integer, decimals)
        self._set(bounds=self._pair(bounds))
        self._check_bounds()
        if typical is not None:
            self._set(typical=self._checked_typical(typical))
        self._set(
            reach=None if reach is None else self._checked_reach(reach),
            multiple=None if multiple is None else self._checked_multiple(multiple),
            at_once=self._flag("at_once", at_once),
            difficulty=self._above_0("difficulty", difficulty),
            fill=self._flag("fill", fill),
        )
        self._set_time(months, months_each)
        self._set_words(unit, percent, times, rise, fall)
        self._refuse_unchosen("reach", "at_once", "fill")
        if self.change is Change.TIME:
            self._refuse_unchosen("multiple", "difficulty", "months", "months_each")

    def _pair(self, bounds: Sequence[float | None]) -> Bounds:
        ends = list(bounds) if isinstance(bounds, Iterable) else []
        if len(ends) != 2 or not all(end is None or is_finite(end) for end in ends):
            raise self._wrong(
                "bounds",
                "bounds must be two numbers, None (in a file null) for an open end",
                bounds,
            )
        low, high = (None if end is None else float(end) for end in ends)
        return low, high

    def _check_bounds(self) -> None:
        low, high = self.limits
        if low > high:
            raise self._wrong(
                "bounds", f"bounds are the wrong way round: low {low:g} is above high {high:g}"
            )
        if self.most_decimals is not None and low != -math.inf and high != math.inf:
            scale = 10.0**self.most_decimals
            if np.ceil(low * scale) > np.floor(high * scale):
                raise self._wrong(
                    "bounds", f"no allowed value lies within the bounds {low:g} to {high:g}"
                )

    def _checked_typical(self, typical: Sequence[float]) -> Span:
        ends = list(typical) if isinstance(typical, Iterable) else []
        if len(ends) != 2 or not all(is_finite(end) for end in ends):
            raise self._wrong("typical", "typical must be two finite numbers, (low, high)", typical)
        low, high = (float(end) for end in ends)
        if low >= high:
            raise self._wrong(
                "typical", f"typical must go from low to high: {low:g} isn't below {high:g}"
            )
        lowest, highest = self.limits
        if high <= lowest or low >= highest:
            raise self._wrong(
                "typical",
                f"typical, {low:g} to {high:g}, must overlap the bounds, {lowest:g} to {highest:g}",
            )
        return low, high

    def _checked_reach(self, given: Any) -> End | tuple[End, End]:
        reach = Reach.read(given)
        if reach is None:
            raise self._wrong(
                "reach",
                'reach must be how far from today\'s value a plan may go: "30%", a number, or a '
                'pair such as ("-20%", "+50%") or (-100, None)',
                given,
            )
        if reach.down.size > 0 or reach.up.size < 0:
            raise self._wrong(
                "reach",
                "reach goes from an end at or below 0 to an end at or above 0, such as "
                '("-20%", "+50%")',
                given,
            )
        falls = reach.down.size < 0 and self.change is not Change.INCREASE
        if not falls and (reach.up.size == 0 or self.change is Change.DECREASE):
            raise self._wrong("reach", "reach allows no change; use change='never'", given)
        return reach.written

    def _checked_multiple(self, given: Any) -> float:
        multiple = self._above_0("multiple", given)
        exact = Fraction(str(multiple))  # 0.1 is a tenth here, and isn't quite one as a float
        if self.most_decimals is not None and (exact * 10**self.most_decimals).denominator > 1:
            limit = "integer=True" if self.integer else f"decimals={self.decimals}"
            raise self._wrong("multiple", f"multiple has more decimals than {limit} allows", given)
        low, high = self.limits
        if math.isfinite(low) and math.isfinite(high):
            least, most = (Fraction(str(end)) / exact for end in (low, high))
            if math.ceil(least) > math.floor(most):
                raise self._wrong(
                    "multiple",
                    f"no multiple of {plain(multiple)} lies within the bounds {low:g} to {high:g}; "
                    "choose a smaller one or wider bounds",
                )
        return multiple

    @property
    def limits(self) -> tuple[float, float]:
        """The bounds as floats, infinite where open."""
        low, high = self.bounds
        return (-math.inf if low is None else low, math.inf if high is None else high)

    def reached(self, values: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The lowest and the highest that `reach` makes of today's values; infinite where open."""
        reach = Reach.read((None, None) if self.reach is None else self.reach)
        assert reach is not None  # it was checked when the feature was made
        return reach.around(np.asarray(values, dtype=np.float64))

    @property
    def span(self) -> Span | None:
        """The range that is declared: `typical` cut to the bounds, else the bounds.

        None if nothing is typical and an end of the bounds is open.
        """
        low, high = self.limits
        if self.typical is not None:
            return max(low, self.typical[0]), min(high, self.typical[1])
        return (low, high) if math.isfinite(low) and math.isfinite(high) else None


@dataclass(frozen=True, init=False, repr=False)
class _Levelled(Described):
    """A feature whose values are levels out of a list, with where they may go."""

    levels: tuple[Level, ...] | None = None
    not_to: tuple[Level, ...] = ()
    moves: Moves = ANYWHERE
    labels: Labels = AS_THEY_ARE

    def __init__(
        self,
        name: str,
        change: Change | str,
        label: str | None,
        labels: Mapping[Level, str] | None,
        levels: Iterable[Level] | None,
        not_to: Iterable[Level],
        moves: Mapping[Level, Iterable[Level]] | None,
        reach: object,
    ) -> None:
        super().__init__(name, change, label)
        if self.change is Change.TIME:
            raise self._wrong(
                "change",
                "change 'time' is for numbers, which grow by one per year; let it change any way "
                "or never",
            )
        if reach is not None:
            raise self._wrong("reach", "reach is for numbers; use not_to or moves", reach)
        self._set_levels(levels)
        self._set(not_to=self._listed("not_to", not_to), moves=self._listed_moves(moves))
        self._set(labels=self._checked_labels(labels))
        if self.levels is not None:
            self.check_levels(self.levels)

    def _listed_moves(self, moves: Any) -> Moves:
        if moves is None:
            return Moves()
        held = self._per_level("moves", moves, "{from: [to, …]}", self.levels)
        to = {key: self._listed("moves", levels) for key, levels in held.items()}
        for key, levels in to.items():
            if key in levels:
                raise self._wrong(
                    "moves", f"moves lead from {key!r} to itself; leave that out, anybody may stay"
                )
        return Moves(to)

    def _checked_labels(self, labels: Any) -> Labels:
        if labels is None:
            return Labels()
        held = self._per_level("labels", labels, "{level: text}", self.levels)
        for level, text in held.items():
            if not self._text("labels", text):
                raise self._wrong("labels", f"the label of {level!r} must not be empty", text)
        twice = [text for text, count in Counter(held.values()).items() if count > 1]
        if twice:
            raise self._wrong("labels", f"labels call two levels {twice[0]!r}")
        return Labels(held)

    def check_levels(self, levels: Sequence[Level]) -> None:
        """Refuse `not_to` and `moves` that don't fit the levels, declared or learned."""
        named = [("not_to", level) for level in self.not_to]
        named += [("moves", level) for key, to in self.moves.items() for level in (key, *to)]
        for setting, level in [*named, *(("labels", level) for level in self.labels)]:
            if level not in levels:
                raise self._wrong(
                    setting,
                    f"{setting} names {level!r}, which is none of its levels."
                    f"{nearest(level, levels)} They are {listing(levels)}",
                )
        if named and not any(self.allows(a, b) for a in levels for b in levels if a != b):
            raise self._wrong(
                named[0][0], "not_to and moves leave no move from any level; use change='never'"
            )

    def allows(self, before: Level, after: Level) -> bool:
        """Whether one step may lead from a level to another; anybody may stay."""
        to = self.moves.get(before)
        return before == after or (after not in self.not_to and (to is None or after in to))


@dataclass(frozen=True, init=False, repr=False)
class Ordinal(_Levelled):
    """A level on a ladder: `levels` from lowest to highest.

    `not_to` are levels that nobody is advised to move to, and `moves` the only levels that some
    levels may go to in one step. `at_once`, `difficulty`, `months`, `months_each` (for every
    level) and `fill` are as for numbers.

    `labels` says what people call its levels, {level: text}. `rise` and `fall` are what to do to
    get up or down it, where "raise" and "lower" won't do.

    >>> Ordinal("education", levels=["school", "bachelor", "master"], change="increase")
    Ordinal('education', change='increase', levels=('school', 'bachelor', 'master'))
    """

    kind: ClassVar[str] = "ordinal"
    at_once: bool = False
    difficulty: float = 1
    months: float = 0
    months_each: float = 0
    fill: bool = False
    rise: str = ""
    fall: str = ""

    def __init__(  # noqa: PLR0913  # every setting has a name and a meaning of its own
        self,
        name: str,
        *,
        levels: Iterable[Level] | None = None,
        change: Change | str = Change.ANY,
        not_to: Iterable[Level] = (),
        moves: Mapping[Level, Iterable[Level]] | None = None,
        at_once: bool = False,
        difficulty: float = 1,
        months: float = 0,
        months_each: float = 0,
        fill: bool = False,
        label: str | None = None,
        labels: Mapping[Level, str] | None = None,
        rise: str = "",
        fall: str = "",
        reach: None = None,
    ) -> None:
        super().__init__(name, change, label, labels, levels, not_to, moves, reach)
        if self.levels is None:
            raise SchemaError(
                f"Ordinal({name!r}) needs its levels, lowest first: "
                f'Ordinal({name!r}, levels=["low", "middle", "high"]).'
            )
        self._set(
            at_once=self._flag("at_once", at_once),
            difficulty=self._above_0("difficulty", difficulty),
            fill=self._flag("fill", fill),
            rise=self._text("rise", rise),
            fall=self._text("fall", fall),
        )
        self._set_time(months, months_each)
        self._refuse_unchosen("not_to", "moves", "at_once", "fill")

    def allows(self, before: Level, after: Level) -> bool:
        levels = self.levels or ()
        rises = levels.index(after) - levels.index(before)
        one_way = {Change.INCREASE: rises >= 0, Change.DECREASE: rises <= 0}
        return super().allows(before, after) and one_way.get(self.change, True)

    @property
    def span(self) -> Span:
        """The lowest and the highest position on the ladder."""
        return 0.0, float(len(self.levels or ()) - 1)


@dataclass(frozen=True, init=False, repr=False)
class Categorical(_Levelled):
    """One of several unordered levels; without `levels`, those of the frame a space is fitted on.

    `not_to` are levels that nobody is advised to move to, and `moves` the only levels that some
    levels may go to in one step. `difficulty`, `months` and `fill` are as for numbers, and `labels`
    says what people call its levels, {level: text}.

    A category that the frame holds as several 0/1 columns names them, one per level:

    >>> Categorical("job", levels=["clerk", "smith"], onehot=["job_clerk", "job_smith"])
    Categorical('job', levels=('clerk', 'smith'), onehot=('job_clerk', 'job_smith'))
    """

    kind: ClassVar[str] = "categorical"
    onehot: tuple[str, ...] | None = None
    difficulty: float = 1
    months: float = 0
    fill: bool = False

    def __init__(  # noqa: PLR0913  # every setting has a name and a meaning of its own
        self,
        name: str,
        *,
        levels: Iterable[Level] | None = None,
        change: Change | str = Change.ANY,
        onehot: Sequence[str] | None = None,
        not_to: Iterable[Level] = (),
        moves: Mapping[Level, Iterable[Level]] | None = None,
        difficulty: float = 1,
        months: float = 0,
        fill: bool = False,
        label: str | None = None,
        labels: Mapping[Level, str] | None = None,
        reach: None = None,
    ) -> None:
        known = onehot if levels is None else levels
        super().__init__(name, change, label, labels, known, not_to, moves, reach)
        self._set(onehot=None if onehot is None else tuple(onehot))
        if self.change not in (Change.ANY, Change.NEVER):
            raise self._wrong(
                "change",
                f"change {self.change.value!r} needs an order; make it ordinal, with its levels "
                "from lowest to highest, or let it change any way or never",
            )
        if self.onehot is not None:
            self._check_onehot(self.onehot, len(self.levels or ()))
        self._set(
            difficulty=self._above_0("difficulty", difficulty),
            months=self._from_0("months", months),
            fill=self._flag("fill", fill),
        )
        self._refuse_unchosen("not_to", "moves", "fill")

    def _check_onehot(self, onehot: tuple[str, ...], levels: int) -> None:
        if not all(isinstance(column, str) for column in onehot):
            raise self._wrong("onehot", "onehot must be a list of column names", onehot)
        if len(set(onehot)) < max(2, len(onehot)):
            raise self._wrong("onehot", "onehot must name two or more different columns", onehot)
        if len(onehot) != levels:
            raise self._wrong(
                "onehot",
                f"onehot names {len(onehot)} columns for {levels} levels; each level needs one "
                "column",
            )

    @property
    def ordered(self) -> bool:
        return False

    @property
    def columns(self) -> tuple[str, ...]:
        return self.onehot or (self.name,)


Feature = Numeric | Ordinal | Categorical | Derived
