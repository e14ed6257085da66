"""Why a person has no path, and the fewest rules that would have to give for one.

A rule is one thing that the schema, a lock or a limit forbids this person: to change a feature at
all, to let it rise or fall, or to go beyond a bound or their own limits. Sets of rules are tried by
increasing size; one opens a path if, with these rules relaxed and all others kept, the person could
come so near to somebody who is accepted that the model accepts them too. That's what the method
itself looks for first. (What it tries last, rows put together from several people's values, isn't
tried here.)

Where single rules would each do, all of them are listed, for whoever makes the rules to choose.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from typing import Any

import numpy as np

from stepladder import markup
from stepladder.checks import whole_number
from stepladder.errors import ParameterError
from stepladder.methods.step import StEP
from stepladder.result.path import Outcome
from stepladder.table import frames
from stepladder.table.feasible import Feasible
from stepladder.table.feature import Change, Feature, Numeric
from stepladder.table.rules.personal import limit_arrays, locked_mask
from stepladder.table.schema import Schema
from stepladder.table.space import Floats
from stepladder.words import plans as words

SHOWN = 3
"""How many openings are listed, at most, if each is of several rules."""

LEAST_EFFORT = 100
"""As how many rows each set of rules counts, at least."""

BATCH = 1000
"""How many rows the model is asked about at a time: a yes among them saves asking on."""


class Kind(StrEnum):
    """What a rule forbids, the easiest to relax first."""

    LOCKED = "locked"
    LIMITED = "limited"
    BELOW = "below"
    ABOVE = "above"
    FALL = "fall"
    RISE = "rise"
    NEVER = "never"


@dataclass(frozen=True)
class Rule:
    """One thing that a person may not do with a feature."""

    feature: Feature
    kind: Kind
    today: Any
    """the value the person has"""

    @property
    def subject(self) -> str:
        """What would have to differ: 'age other than 33', 'debt'."""
        label = self.feature.label
        if self.kind is not Kind.NEVER:
            return label
        levels = () if isinstance(self.feature, Numeric) else self.feature.levels or ()
        other = [level for level in levels if level != self.today]
        if len(other) == 1:
            return f"“{words.value(self.feature, other[0])}” for {label}"
        return f"{label} other than {words.value(self.feature, self.today)}"

    @property
    def freedom(self) -> str:
        """What it could do: 'could also rise'; empty where it would only be another."""
        if self.kind is Kind.NEVER:
            return ""
        if self.kind is Kind.LOCKED:
            return "could change after all"
        if self.kind is Kind.LIMITED:
            return "could go beyond its limits"
        if self.kind in (Kind.FALL, Kind.RISE):
            return f"could also {self.kind.value}"
        assert isinstance(self.feature, Numeric)  # nothing else has bounds
        end = self.feature.bounds[0 if self.kind is Kind.BELOW else 1]
        return f"could go {self.kind.value} {words.value(self.feature, end)}"


@dataclass(frozen=True)
class Opening:
    """Rules that would open a path if all of them were relaxed."""

    rules: tuple[Rule, ...]

    def __str__(self) -> str:
        """'with age other than 33, and if debt could also rise'."""
        subjects: dict[str, list[str]] = {}
        for rule in sorted(self.rules, key=lambda rule: rule.freedom != ""):
            subjects.setdefault(rule.freedom, []).append(rule.subject)
        clauses = [
            f"if {words.listed(what)} {freedom}" if freedom else f"with {words.listed(what)}"
            for freedom, what in subjects.items()
        ]
        return ", and ".join(clauses)


@dataclass(frozen=True)
class WhyNot:
    """Why a person has no path, and what would open one."""

    reason: str
    openings: tuple[Opening, ...] = ()
    """sets of rules, all of the same size, which is the smallest there is"""
    note: str = ""
    """what isn't listed: that there are more, or that not all sets could be tried"""

    def for_the_person(self) -> WhyNot:
        """Without openings that need what never changes, such as an age, if there are others."""
        could = [o for o in self.openings if all(rule.kind is not Kind.NEVER for rule in o.rules)]
        return replace(self, openings=tuple(could or self.openings))

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return markup.lines(str(self))

    def __str__(self) -> str:
        text = self.reason
        if len(self.openings) == 1:
            text += f" There would be one {self.openings[0]}."
        elif self.openings:
            ways = ", or\n- ".join(str(opening) for opening in self.openings)
            text += f" There would be one\n- {ways}."
        gap = "\n" if len(self.openings) > 1 else " "
        return f"{text}{gap}{self.note}" if self.note else text


def why_not(
    step: StEP,
    row: Any,
    *,
    locked: Iterable[str] = (),
    limits: Mapping[str, tuple[Any, Any]] | None = None,
    most_rows: int = 200_000,
) -> WhyNot:
    """Why a person has no path under a fitted method, and the fewest rules that stand in the way.

    row        what the person has today: a frame of one row, a mapping or a Series
    locked     features that this person can't change either
    limits     how far this person can go, {feature: (low, high)}; None for an open end
    most_rows  about how many rows the model is asked about, at most
    """
    most_rows = whole_number("most_rows", most_rows, 1)
    locked = (locked,) if isinstance(locked, str) else tuple(locked)
    if not isinstance(step, StEP):
        raise ParameterError(f"why_not asks a fitted sl.StEP; got {step!r}.")
    if not step.honours_rules:
        raise ParameterError(
            "The published method doesn't keep all rules, so they can't be what is in the way. "
            "Ask with sl.StEP()."
        )
    walk = step.walk(row, locked=locked)
    if walk.done:
        return WhyNot("Nothing needs to change: this is a yes already.")
    if step.is_private:  # every look at the reference rows would have to be paid for
        return WhyNot(
            "Which rules are in the way can't be told by a method that keeps its reference rows "
            "private."
        )
    own = {} if limits is None else {frames.labels(walk.row)[0]: limits}
    result = step.recourse(walk.row, locked=locked, limits=own)
    (plan,) = words.plans(result)
    _, outcome, _ = result.best_at(0)
    if outcome is Outcome.REACHED:
        return WhyNot("There is a route already.")
    if outcome is not Outcome.UNREACHABLE:
        return WhyNot(plan.note)
    ends = limit_arrays(step.space_.schema, result.people, own)
    search = _Search(step, result.routes[0][0].values[:1], locked, ends, most_rows)
    return search.answer(plan.note)


class _Search:
    """The asking for one person: which rules there are, and which sets of them open a path."""

    def __init__(
        self,
        step: StEP,
        start: Floats,
        locked: tuple[str, ...],
        limits: tuple[Floats, Floats],
        most_rows: int,
    ) -> None:
        self.step, self.start, self.locked, self.limits = step, start, locked, limits
        self.rows_left = most_rows
        self.accepted = step.reference_.values

    def answer(self, reason: str) -> WhyNot:
        rules = sorted(self.binding(), key=lambda rule: list(Kind).index(rule.kind))
        for size in range(1, len(rules) + 1):
            found = list[Opening]()
            for chosen in combinations(rules, size):
                if self.opens(frozenset(chosen)):
                    if size > 1 and len(found) == SHOWN:
                        return WhyNot(reason, tuple(found), "There are other ways like these.")
                    found.append(Opening(chosen))
                if self.rows_left <= 0:
                    return WhyNot(reason, tuple(found), _unfinished(size, found))
            if found:
                return WhyNot(reason, tuple(found))
        return WhyNot(reason, note="No change of the rules was found that would open one.")

    def binding(self) -> Iterator[Rule]:
        """The rules that keep this person from somebody who is accepted."""
        space = self.step.space_
        for f, feature in enumerate(space.schema.features):
            mine, theirs = self.start[0, f], self.accepted[:, f]
            low, high = feature.limits if isinstance(feature, Numeric) else (-np.inf, np.inf)
            never, change = feature.change is Change.NEVER, feature.change
            least, most = (end[0, f] for end in self.limits)
            for kind, stops in (
                (Kind.NEVER, never & (theirs != mine)),
                (Kind.LOCKED, (not never and feature.name in self.locked) & (theirs != mine)),
                (Kind.LIMITED, (not never) & ((theirs < least) | (theirs > most))),
                (Kind.FALL, (change is Change.INCREASE) & (theirs < mine)),
                (Kind.RISE, (change is Change.DECREASE) & (theirs > mine)),
                (Kind.BELOW, theirs < low),
                (Kind.ABOVE, theirs > high),
            ):
                if stops.any():
                    yield Rule(feature, kind, space.shown(f, mine))

    def opens(self, relaxed: frozenset[Rule]) -> bool:
        """Whether the model accepts anyone as near as the person could then come to them."""
        rows = self.projected(relaxed)
        fresh = np.ones(len(rows), dtype=bool)
        for rule in relaxed:  # a row that a smaller set gives too was asked about before
            fresh &= (rows != self.projected(relaxed - {rule})).any(axis=1)
        rows = np.unique(rows[fresh], axis=0)[: self.rows_left]
        scorer, asked, is_open = self.step.scorer_, 0, False
        while asked < len(rows) and not is_open:
            batch = rows[asked : asked + BATCH]
            asked += len(batch)
            is_open = bool(scorer.met(scorer.score(batch)).any())
        self.rows_left -= max(asked, LEAST_EFFORT)
        return is_open

    def projected(self, relaxed: frozenset[Rule]) -> Floats:
        """The accepted rows as near as this person could come to them."""
        space = self.step.space_
        schema = Schema(_without(feature, relaxed) for feature in space.schema.features)
        unlocked = {rule.feature.name for rule in relaxed if rule.kind in (Kind.LOCKED, Kind.NEVER)}
        locked = [name for name in self.locked if name not in unlocked]
        lifted = {rule.feature.name for rule in relaxed if rule.kind in (Kind.LIMITED, Kind.NEVER)}
        is_lifted = [name in lifted for name in space.schema.names]
        low, high = self.limits
        own = Feasible.around(
            replace(space, schema=schema),
            self.start,
            locked=locked_mask(schema, np.arange(1), locked),
            limits=(np.where(is_lifted, -np.inf, low), np.where(is_lifted, np.inf, high)),
        )
        return own.repair(self.accepted)


def _without(feature: Feature, relaxed: frozenset[Rule]) -> Feature:
    """The feature without some of its rules."""
    kinds = {rule.kind for rule in relaxed if rule.feature.name == feature.name}
    settings = feature.settings
    if kinds & {Kind.NEVER, Kind.FALL, Kind.RISE}:
        settings["change"] = Change.ANY
    if isinstance(feature, Numeric):
        low, high = feature.bounds
        settings["bounds"] = (
            None if Kind.BELOW in kinds else low,
            None if Kind.ABOVE in kinds else high,
        )
    return type(feature)(feature.name, **settings)


def _unfinished(size: int, found: list[Opening]) -> str:
    """What is left open when the asking ends among the sets of some size."""
    if found:
        return "There may be other ways like these: there was too much to try."
    least = f"It would take at least {size} rules at once. " if size > 1 else ""
    return f"{least}Which rules are in the way wasn't found out: there was too much to try."
