"""What the kinds of features share: a name, a change, words to speak of it, levels or decimals."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from stepladder.errors import SchemaError, listing

Level = bool | int | float | str

WORDS = ("label", "labels", "unit", "percent", "times", "rise", "fall")
"""The settings that are only words."""

ROUNDED = {1: "tens", 2: "hundreds", 3: "thousands", 6: "millions"}
"""What numbers are called that end in so many zeros."""


class Change(StrEnum):
    """How a feature may move away from the value a person has today."""

    ANY = "any"
    INCREASE = "increase"
    DECREASE = "decrease"
    NEVER = "never"
    TIME = "time"
    """not chosen: it grows by one per year that a plan takes"""


T = TypeVar("T")


class PerLevel(Mapping[Level, T]):
    """Something about each of some levels: a frozen mapping."""

    def __init__(self, held: Mapping[Level, T] | None = None) -> None:
        self._held = dict(held or {})

    def __getitem__(self, level: Level) -> T:
        return self._held[level]

    def __iter__(self) -> Iterator[Level]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __hash__(self) -> int:
        return hash(frozenset(self._held.items()))

    def __repr__(self) -> str:
        return repr(self._held)


Moves = PerLevel[tuple[Level, ...]]
"""The levels that some levels may go to in one step, and to no others."""

Labels = PerLevel[str]
"""What people call some levels."""

ANYWHERE = Moves()
"""Every level may go to every other."""

AS_THEY_ARE = Labels()
"""Levels are called what they are."""


@dataclass(frozen=True, init=False, repr=False)
class Described:
    """A feature's name, its change and its label."""

    kind: ClassVar[str]

    name: str
    change: Change = Change.ANY
    label: str = ""
    """what people call it: the name with spaces for underscores unless another is given"""

    def __init__(self, name: str, change: Change | str, label: str | None) -> None:
        self._set(name=name)
        if not isinstance(name, str):
            raise self._wrong("name", "name must be text", name)
        if not name.strip():
            raise self._wrong("name", "name must not be empty", name)
        try:
            self._set(change=Change(change))
        except ValueError:
            known = listing(how.value for how in Change)
            raise self._wrong("change", f"change must be one of {known}", change) from None
        if label is not None and not self._text("label", label):
            raise self._wrong(
                "label", "label must not be empty; leave it out to use the name", label
            )
        self._set(label=self._usual_label if label is None else label)

    @property
    def _usual_label(self) -> str:
        return " ".join(re.split(r"[\s_-]+", self.name)).strip() or self.name

    @property
    def ordered(self) -> bool:
        """Whether its values have an order."""
        return True

    @property
    def chosen(self) -> bool:
        """Whether a plan may set its value."""
        return self.change not in (Change.NEVER, Change.TIME)

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
        if self.label == self._usual_label:
            del settings["label"]
        return {key: _plain(value) for key, value in settings.items()}

    def but(self, **settings: Any) -> Self:
        """The same feature with some settings changed."""
        return type(self)(self.name, **{**self.settings, **settings})

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

    # ---- checks ---------------------------------------------------------------------------

    def _set(self, **settings: Any) -> None:
        for key, value in settings.items():
            object.__setattr__(self, key, value)

    def _wrong(self, setting: str, problem: str, *got: Any) -> SchemaError:
        """The error for this feature: what is wrong, and what came if it isn't in the sentence."""
        came = f", got {got[0]!r}" if got else ""
        return SchemaError(f"The {self.kind} feature {self.name!r}: {problem}{came}.", setting)

    def _text(self, setting: str, value: Any) -> str:
        """Words as they were given, in one line and without spaces around them."""
        if not isinstance(value, str) or value != " ".join(value.split()):
            raise self._wrong(
                setting, f"{setting} must be one line of text, without space around it", value
            )
        return value

    def _flag(self, setting: str, value: Any) -> bool:
        if not isinstance(value, bool | np.bool_):
            raise self._wrong(setting, f"{setting} must be True or False", value)
        return bool(value)

    def _above_0(self, setting: str, value: Any) -> float:
        if not is_finite(value) or value <= 0:
            raise self._wrong(setting, f"{setting} must be a number above 0", value)
        return short(value)

    def _from_0(self, setting: str, value: Any) -> float:
        if not is_finite(value) or value < 0:
            raise self._wrong(setting, f"{setting} must be a number of at least 0", value)
        return short(value)

    def _listed(self, setting: str, levels: Any) -> tuple[Level, ...]:
        """Different levels, as they were given."""
        if isinstance(levels, str | Mapping) or not isinstance(levels, Iterable):
            raise self._wrong(
                setting, f"{setting} must be a list of levels, not one text or number", levels
            )
        # NumPy scalars become Python's, so that a schema can be written down.
        plain = tuple(v.item() if isinstance(v, np.generic) else v for v in levels)
        for level in plain:
            odd_float = isinstance(level, float) and not math.isfinite(level)
            if odd_float or not isinstance(level, bool | int | float | str):
                raise self._wrong(setting, f"{setting} must be texts, numbers or booleans", level)
        twice = [v for v, count in Counter(plain).items() if count > 1]
        if twice:
            raise self._wrong(setting, f"{setting} name {twice[0]!r} more than once")
        return plain

    def _per_level(
        self, setting: str, given: Any, example: str, levels: Iterable[Level] | None
    ) -> dict[Level, Any]:
        """What a mapping holds of some levels; JSON makes text of their keys, which is undone."""
        if not isinstance(given, Mapping):
            raise self._wrong(setting, f"{setting} must be a mapping such as {example}", given)
        known = list(levels or ())
        texts = {json.dumps(level): level for level in known if not isinstance(level, str)}
        keys = [key if key in known else texts.get(key, key) for key in given]
        return dict(zip(self._listed(setting, keys), given.values(), strict=True))

    def _set_levels(self, levels: Iterable[Level] | None) -> None:
        """The levels, of which there's at least one, if any are declared."""
        plain = None if levels is None else self._listed("levels", levels)
        if plain == ():
            raise self._wrong("levels", "levels must name at least one level", levels)
        self._set(levels=plain)

    def _set_time(self, months: float, months_each: float) -> None:
        """How long a change takes: a time however large it is, or one for each unit or level."""
        self._set(months=self._from_0("months", months))
        self._set(months_each=self._from_0("months_each", months_each))
        if months and months_each:
            raise self._wrong(
                "months_each",
                "a change takes either months, however large it is, or months_each for every unit "
                "or level; keep one of the two",
            )

    def _refuse_unchosen(self, *settings: str) -> None:
        """Refuse what says nothing of a feature that no plan sets."""
        given = self.settings
        if not self.chosen and (odd := [key for key in settings if key in given]):
            why = "never changes" if self.change is Change.NEVER else "changes with time alone"
            raise self._wrong(
                odd[0],
                f"it {why}, so {' and '.join(odd)} would say nothing; leave it out, or choose "
                "another change",
            )


class Counted(Described):
    """A number, asked for or worked out: how exact it is, and how it's spoken of."""

    coarser: ClassVar[str]
    """what to do instead of giving decimals below zero"""

    integer: bool
    decimals: int | None
    unit: str
    percent: bool
    times: float
    rise: str
    fall: str

    @property
    def most_decimals(self) -> int | None:
        """How many decimals a value may have; None if any number."""
        return 0 if self.integer else self.decimals

    def _set_decimals(self, integer: bool, decimals: int | None) -> None:
        integer = self._flag("integer", integer)
        whole_number = isinstance(decimals, Integral) and not isinstance(decimals, bool)
        if decimals is not None and not (whole_number and 0 <= decimals <= 12):
            problem = "decimals must be a whole number between 0 and 12"
            if whole_number and decimals < 0:
                zeros = min(-int(decimals), 12)
                problem += (
                    f"; for {ROUNDED.get(zeros, 'larger steps')} {self.coarser.format(10**zeros)}"
                )
            raise self._wrong("decimals", problem, decimals)
        if integer and decimals:
            raise self._wrong("decimals", f"integer=True means no decimals, but {decimals=}")
        self._set(integer=integer, decimals=None if decimals is None else int(decimals))

    def _set_words(self, unit: str, percent: bool, times: float, rise: str, fall: str) -> None:
        self._set(rise=self._text("rise", rise), fall=self._text("fall", fall))
        percent, times = self._flag("percent", percent), self._above_0("times", times)
        if percent and (unit or times != 1):
            raise self._wrong(
                "percent",
                "percent=True sets unit and times by itself; leave them out, or spell it out with "
                'unit="% of income", times=100',
            )
        self._set(unit=self._text("unit", unit), percent=percent, times=times)


def is_finite(value: Any) -> bool:
    """Whether a value is a number, and no truth, that a float can hold."""
    try:
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        return is_number and math.isfinite(value)
    except OverflowError:  # a whole number of more than 300 digits
        return False


def short(value: float) -> float:
    """A number as it's written in a file: whole ones without a point."""
    number = float(value)
    return int(number) if number.is_integer() else number


def _plain(value: Any) -> Any:
    """A setting as a file holds it."""
    if isinstance(value, Change):
        return value.value
    if isinstance(value, PerLevel):
        return {level: _plain(held) for level, held in value.items()}
    return list(value) if isinstance(value, tuple) else value
