"""A feature of a table: what it is, and how it may change.

Three kinds (numeric, ordinal, categorical), each with a `Change`: any, increase, decrease or
never. (Coming from DiCE: `features_to_vary` is every feature whose change isn't never, and
`permitted_range` is `bounds` or `levels`.)

A feature also holds the words to speak of it: its label, its unit, and what a rise and a fall are
called. No rule and no distance depends on them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

from stepladder.errors import SchemaError, listing

Level = bool | int | float | str
Bounds = tuple[float | None, float | None]
Span = tuple[float, float]

WORDS = ("label", "unit", "percent", "times", "rise", "fall")
"""The settings that are only words."""


class Change(StrEnum):
    """How a feature may move away from the value a person has today."""

    ANY = "any"
    INCREASE = "increase"
    DECREASE = "decrease"
    NEVER = "never"


@dataclass(frozen=True, init=False, repr=False)
class _Feature:
    """What the three kinds share."""

    ordered: ClassVar[bool] = True
    kind: ClassVar[str]

    name: str
    change: Change = Change.ANY
    label: str = ""
    """what people call it: the name with spaces for underscores unless another is given"""

    def __init__(self, name: str, change: Change | str, label: str | None) -> None:
        self._set(name=name)
        if not isinstance(name, str):
            raise self._wrong("name must be text", name)
        if not name.strip():
            raise self._wrong("name must not be empty", name)
        try:
            self._set(change=Change(change))
        except ValueError:
            known = listing(how.value for how in Change)
            raise self._wrong(f"change must be one of {known}", change) from None
        if label is not None and not self._text("label", label):
            raise self._wrong("label must not be empty; leave it out to use the name", label)
        self._set(label=self._usual_label if label is None else label)

    @property
    def _usual_label(self) -> str:
        return " ".join(re.split(r"[\s_-]+", self.name)).strip() or self.name

    def _text(self, setting: str, value: Any) -> str:
        """Words as they were given, in one line and without spaces around them."""
        if not isinstance(value, str) or value != " ".join(value.split()):
            raise self._wrong(f"{setting} must be one line of text, without space around it", value)
        return value

    def _set(self, **settings: Any) -> None:
        for key, value in settings.items():
            object.__setattr__(self, key, value)

    def _wrong(self, problem: str, *got: Any) -> SchemaError:
        """The error for this feature: what is wrong, and what came if it isn't in the sentence."""
        came = f", got {got[0]!r}" if got else ""
        return SchemaError(f"The {self.kind} feature {self.name!r}: {problem}{came}.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The frame's columns this feature is read from."""
        return (self.name,)

    @property
    def settings(self) -> dict[str, Any]:
        """What was set beyond the name and the kind, as plain values."""
        settings = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name != "name" and getattr(self, field.name) != field.default
        }
        if "change" in settings:
            settings["change"] = settings["change"].value
        if self.label == self._usual_label:
            del settings["label"]
        return {key: list(v) if isinstance(v, tuple) else v for key, v in settings.items()}

    @property
    def rules(self) -> Self:
        """The same feature without the words: what is left decides what a person may do."""
        rules = {key: value for key, value in self.settings.items() if key not in WORDS}
        return type(self)(self.name, **rules)

    def __repr__(self) -> str:
        text = "".join(
            f", {key}={tuple(value) if isinstance(value, list) else value!r}"
            for key, value in self.settings.items()
        )
        return f"{type(self).__name__}({self.name!r}{text})"


@dataclass(frozen=True, init=False, repr=False)
class Numeric(_Feature):
    """A number: `bounds` (either end may be None), whole numbers only, or at most so many decimals.

    `typical` is the range most people lie in, as one knows it without looking at the table: from
    units, law, custom or documentation. It's no constraint (a row outside it is valid); private
    use takes its scale from it.

    For people: `unit` is what a value is counted in ("$", "years", "$ a month", "% of income"),
    `percent` shows a share as per cent, and `times` is what to multiply by to get the unit: 1000
    where the table holds thousands. `rise` and `fall` are what to do to raise or lower it, where
    "raise" and "lower" won't do: "pay down debts".

    >>> Numeric("income", bounds=(0, None), typical=(0, 20_000))
    Numeric('income', bounds=(0.0, None), typical=(0.0, 20000.0))
    """

    kind: ClassVar[str] = "numeric"
    bounds: Bounds = (None, None)
    integer: bool = False
    decimals: int | None = None
    typical: Span | None = None
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
        label: str | None = None,
        unit: str = "",
        percent: bool = False,
        times: float = 1,
        rise: str = "",
        fall: str = "",
    ) -> None:
        super().__init__(name, change, label)
        if not isinstance(integer, bool | np.bool_):
            raise self._wrong("integer must be True or False", integer)
        whole_number = isinstance(decimals, Integral) and not isinstance(decimals, bool)
        if decimals is not None and not (whole_number and 0 <= decimals <= 12):
            raise self._wrong("decimals must be a whole number between 0 and 12", decimals)
        if integer and decimals:
            raise self._wrong(f"integer=True means no decimals, but decimals={decimals}")
        self._set(
            bounds=self._pair(bounds),
            integer=bool(integer),
            decimals=None if decimals is None else int(decimals),
        )
        self._check_bounds()
        if typical is not None:
            self._set(typical=self._checked_typical(typical))
        self._set(rise=self._text("rise", rise), fall=self._text("fall", fall))
        self._set_unit(unit, percent, times)

    def _set_unit(self, unit: str, percent: bool, times: float) -> None:
        if not isinstance(percent, bool | np.bool_):
            raise self._wrong("percent must be True or False", percent)
        if isinstance(times, bool) or not _is_finite(times) or times <= 0:
            raise self._wrong("times must be a number above 0", times)
        if percent and (unit or times != 1):
            raise self._wrong(
                "percent=True sets unit and times by itself; leave them out, or spell it out with "
                'unit="% of income", times=100'
            )
        times = float(times)
        self._set(
            unit=self._text("unit", unit),
            percent=bool(percent),
            times=int(times) if times.is_integer() else times,
        )

    def _pair(self, bounds: Sequence[float | None]) -> Bounds:
        ends = list(bounds) if isinstance(bounds, Iterable) else []
        if len(ends) != 2 or not all(end is None or _is_finite(end) for end in ends):
            raise self._wrong(
                "bounds must be two numbers, None (in a file null) for an open end", bounds
            )
        low, high = (None if end is None else float(end) for end in ends)
        return low, high

    def _check_bounds(self) -> None:
        low, high = self.limits
        if low > high:
            raise self._wrong(f"bounds are the wrong way round: low {low:g} is above high {high:g}")
        if self.most_decimals is not None and low != -math.inf and high != math.inf:
            scale = 10.0**self.most_decimals
            if np.ceil(low * scale) > np.floor(high * scale):
                raise self._wrong(f"no allowed value lies within the bounds {low:g} to {high:g}")

    def _checked_typical(self, typical: Sequence[float]) -> Span:
        ends = list(typical) if isinstance(typical, Iterable) else []
        if len(ends) != 2 or not all(_is_finite(end) for end in ends):
            raise self._wrong("typical must be two finite numbers, (low, high)", typical)
        low, high = (float(end) for end in ends)
        if low >= high:
            raise self._wrong(f"typical must go from low to high: {low:g} isn't below {high:g}")
        lowest, highest = self.limits
        if high <= lowest or low >= highest:
            raise self._wrong(
                f"typical, {low:g} to {high:g}, must overlap the bounds, {lowest:g} to {highest:g}"
            )
        return low, high

    @property
    def limits(self) -> tuple[float, float]:
        """The bounds as floats, infinite where open."""
        low, high = self.bounds
        return (-math.inf if low is None else low, math.inf if high is None else high)

    @property
    def most_decimals(self) -> int | None:
        """How many decimals a value may have; None if any number."""
        return 0 if self.integer else self.decimals

    @property
    def span(self) -> Span | None:
        """The range that is declared: `typical` cut to the bounds, else the bounds.

        None if nothing is typical and an end of the bounds is open.
        """
        low, high = self.limits
        if self.typical is not None:
            return max(low, self.typical[0]), min(high, self.typical[1])
        return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def _is_finite(value: Any) -> bool:
    """Whether a value is a number that a float can hold."""
    try:
        return isinstance(value, Real) and math.isfinite(value)
    except OverflowError:  # a whole number of more than 300 digits
        return False


@dataclass(frozen=True, init=False, repr=False)
class _Levelled(_Feature):
    """A feature whose values are levels out of a list."""

    levels: tuple[Level, ...] | None = None

    def __init__(
        self,
        name: str,
        change: Change | str,
        label: str | None,
        levels: Iterable[Level] | None,
    ) -> None:
        super().__init__(name, change, label)
        self._set(levels=None if levels is None else self._listed(levels))

    def _listed(self, levels: Iterable[Level]) -> tuple[Level, ...]:
        if isinstance(levels, str) or not isinstance(levels, Iterable):
            raise self._wrong("levels must be a list of levels, not one text or number", levels)
        # NumPy scalars become Python's, so that a schema can be written down.
        plain = tuple(v.item() if isinstance(v, np.generic) else v for v in levels)
        if not plain:
            raise self._wrong("levels must name at least one level", levels)
        for level in plain:
            odd_float = isinstance(level, float) and not math.isfinite(level)
            if odd_float or not isinstance(level, bool | int | float | str):
                raise self._wrong("levels must be texts, numbers or booleans", level)
        twice = [v for v, count in Counter(plain).items() if count > 1]
        if twice:
            raise self._wrong(f"levels name {twice[0]!r} more than once")
        return plain


@dataclass(frozen=True, init=False, repr=False)
class Ordinal(_Levelled):
    """A level on a ladder: `levels` from lowest to highest.

    `rise` and `fall` are what to do to get up or down it, where "raise" and "lower" won't do.

    >>> Ordinal("education", levels=["school", "bachelor", "master"], change="increase")
    Ordinal('education', change='increase', levels=('school', 'bachelor', 'master'))
    """

    kind: ClassVar[str] = "ordinal"
    rise: str = ""
    fall: str = ""

    def __init__(
        self,
        name: str,
        *,
        levels: Iterable[Level] | None = None,
        change: Change | str = Change.ANY,
        label: str | None = None,
        rise: str = "",
        fall: str = "",
    ) -> None:
        super().__init__(name, change, label, levels)
        self._set(rise=self._text("rise", rise), fall=self._text("fall", fall))
        if self.levels is None:
            raise SchemaError(
                f"Ordinal({name!r}) needs its levels, lowest first: "
                f'Ordinal({name!r}, levels=["low", "middle", "high"]).'
            )

    @property
    def span(self) -> Span:
        """The lowest and the highest position on the ladder."""
        return 0.0, float(len(self.levels or ()) - 1)


@dataclass(frozen=True, init=False, repr=False)
class Categorical(_Levelled):
    """One of several unordered levels; without `levels`, those of the frame a space is fitted on.

    A category that the frame holds as several 0/1 columns names them, one per level:

    >>> Categorical("job", levels=["clerk", "smith"], onehot=["job_clerk", "job_smith"])
    Categorical('job', levels=('clerk', 'smith'), onehot=('job_clerk', 'job_smith'))
    """

    ordered: ClassVar[bool] = False
    kind: ClassVar[str] = "categorical"
    onehot: tuple[str, ...] | None = None

    def __init__(
        self,
        name: str,
        *,
        levels: Iterable[Level] | None = None,
        change: Change | str = Change.ANY,
        onehot: Sequence[str] | None = None,
        label: str | None = None,
    ) -> None:
        super().__init__(name, change, label, onehot if levels is None else levels)
        self._set(onehot=None if onehot is None else tuple(onehot))
        if self.change not in (Change.ANY, Change.NEVER):
            raise self._wrong(
                f"change {self.change.value!r} needs an order; make it ordinal, with its levels "
                "from lowest to highest, or let it change any way or never"
            )
        if self.onehot is not None:
            self._check_onehot(self.onehot, len(self.levels or ()))

    def _check_onehot(self, onehot: tuple[str, ...], levels: int) -> None:
        if not all(isinstance(column, str) for column in onehot):
            raise self._wrong("onehot must be a list of column names", onehot)
        if len(set(onehot)) < max(2, len(onehot)):
            raise self._wrong("onehot must name two or more different columns", onehot)
        if len(onehot) != levels:
            raise self._wrong(
                f"onehot names {len(onehot)} columns for {levels} levels; each level needs one "
                "column"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        return self.onehot or (self.name,)


Feature = Numeric | Ordinal | Categorical
