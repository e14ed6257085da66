"""Features that are worked out from others whenever a row is made, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from stepladder.errors import SchemaError, listing, nearest
from stepladder.table.formula import Bound, Formula
from stepladder.table.frames import Frame
from stepladder.table.kind import Change, Counted, Described, Level

Worked = str | Callable[[Frame], Any]
"""How a feature is worked out: a formula, or a function of the frame."""


@dataclass(frozen=True, init=False, repr=False)
class Derived(Counted):
    """A column that the model sees and that follows from others, by a formula.

    A formula has the arithmetic and comparisons of Python, `and`, `or`, `not`, `min`, `max`,
    `abs`, `round`, `floor`, `ceil`, `log`, `exp` and `where(condition, then, otherwise)`; levels
    are in quotes, odd names in backticks, and `was(x)` is today's value. A function of the frame
    will do too, but no file can hold it. One that gives text lists it as `levels`.

    The settings that say how exact it is and how it's spoken of are those of `Numeric`.

    >>> Derived("ltv", "loan / price", decimals=3)
    Derived('ltv', formula='loan / price', decimals=3)
    """

    kind: ClassVar[str] = "derived"
    coarser: ClassVar[str] = "round in the formula, as in round(x / {0}) * {0}"
    formula: Worked = ""
    levels: tuple[Level, ...] | None = None
    integer: bool = False
    decimals: int | None = None
    unit: str = ""
    percent: bool = False
    times: float = 1
    rise: str = ""
    fall: str = ""

    def __init__(
        self,
        name: str,
        formula: Worked,
        *,
        decimals: int | None = None,
        integer: bool = False,
        levels: Iterable[Level] | None = None,
        label: str | None = None,
        unit: str = "",
        percent: bool = False,
        times: float = 1,
        rise: str = "",
        fall: str = "",
    ) -> None:
        super().__init__(name, Change.ANY, label)
        if not isinstance(formula, str) and not callable(formula):
            raise self._wrong(
                "formula",
                "formula must be text such as 'loan / price', or a function of the frame",
                formula,
            )
        self._set(formula=formula)
        with SchemaError.within("formula"):
            self.parsed  # noqa: B018  # what can't be read is refused at once
        self._set_decimals(integer, decimals)
        self._set_levels(levels)
        self._set_words(unit, percent, times, rise, fall)
        self._check_levels()

    def _check_levels(self) -> None:
        if self.levels is None:
            return
        odd = [level for level in self.levels if not isinstance(level, str)]
        if odd:
            raise self._wrong(
                "levels",
                "levels are for a formula that gives text; leave them out for numbers and truths",
                odd[0],
            )
        if self.most_decimals is not None:
            raise self._wrong(
                "levels", "levels are text, which has no decimals; keep one of the two"
            )

    def check_result(self, bound: Bound) -> None:
        """Refuse a formula that gives something other than the settings say."""
        of = f"The formula of {self.name!r}"
        if self.levels is None and bound.kind == "text":
            raise SchemaError(f"{of} gives text; list it, as in levels={list(bound.texts)!r}.")
        if self.levels is not None and bound.kind != "text":
            what = "a number" if bound.kind == "number" else "yes or no"
            raise SchemaError(
                f"{of} gives {what}, but levels are for text. Leave levels out, or give text, such "
                "as where(x > 1, 'high', 'low')."
            )
        for text in bound.texts:
            if text not in (self.levels or ()):
                raise SchemaError(
                    f"{of} gives {text!r}, which is none of its levels."
                    f"{nearest(text, self.levels or ())} They are {listing(self.levels or ())}."
                )

    @property
    def parsed(self) -> Formula | None:
        """The formula as it's read; None for a function."""
        if not isinstance(self.formula, str):
            return None
        return Formula.parse(self.formula, f"The formula of {self.name!r}")

    @property
    def chosen(self) -> bool:
        return False

    @property
    def ordered(self) -> bool:
        return self.levels is None


def in_working_order(features: Sequence[Described]) -> tuple[Derived, ...]:
    """The derived ones among some features, each after those that its formula reads.

    A function may read any column, so functions come as late as they can.
    """
    derived = {f.name: f for f in features if isinstance(f, Derived)}
    needs: dict[str, list[str]] = {}
    for name, feature in derived.items():
        formula = feature.parsed
        needs[name] = [] if formula is None else sorted(formula.names & derived.keys())
    waiting = sorted(derived, key=lambda name: not isinstance(derived[name].formula, str))
    ordered: list[Derived] = []
    while waiting:
        ready = [name for name in waiting if not set(needs[name]) & set(waiting)]
        if not ready:
            circle = _circle(waiting, needs)
            at = next(i for i, f in enumerate(features) if f.name == circle[0])
            first, *rest = map(repr, circle)
            raise SchemaError(
                f"The formulas go in a circle: {first} needs {', which needs '.join(rest)}. Work "
                "one of them out from other features, or from today's values, by was(…).",
                *("features", at, "formula"),
            )
        waiting.remove(ready[0])
        ordered.append(derived[ready[0]])
    return tuple(ordered)


def _circle(waiting: Sequence[str], needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Names of which each needs the next, and the last is the first again."""
    way = [waiting[0]]
    while way.count(way[-1]) < 2:
        way.append(next(name for name in needs[way[-1]] if name in waiting))
    return way[way.index(way[-1]) :]
