"""Why a person has no path, and the fewest rules that would have to give for one.

A rule is one thing that the schema, the goal, the method, a lock or a limit forbids this person: to
change a feature at all, to let it rise or fall, to go beyond a bound, out of reach or beyond their
own limits, to move to a level, to fill a gap, to change more than so many things, or to break a
requirement or the policy. Sets of rules are tried by increasing size; one opens a path if, with
these rules relaxed and all others kept, the person could come so near to somebody who is accepted
that they get a yes too. That's what the method itself looks for first. (What it tries last, rows
put together from several people's values, isn't tried here.)

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
from stepladder.methods.asked import accepted
from stepladder.methods.step import StEP
from stepladder.methods.steps import keeping
from stepladder.result.path import Outcome
from stepladder.table import frames
from stepladder.table.feasible import Feasible
from stepladder.table.feature import Change, Derived, Feature, Numeric
from stepladder.table.rules.links import changed
from stepladder.table.rules.personal import limit_arrays, locked_mask
from stepladder.table.rules.requirements import Requirements
from stepladder.table.schema import Schema
from stepladder.table.space import Floats, Mask
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
    CHANGES = "changes"
    GAP = "gap"
    REACH = "reach"
    MOVES = "moves"
    BELOW = "below"
    ABOVE = "above"
    FALL = "fall"
    RISE = "rise"
    REQUIRED = "required"
    POLICY = "policy"
    NEVER = "never"
    """also of what grows with time alone"""


@dataclass(frozen=True)
class Rule:
    """One thing that a person may not do: with a feature, or with a row as a whole."""

    kind: Kind
    feature: Feature | None = None
    today: Any = None
    """the value the person has"""
    text: str = ""
    """the condition, of a requirement or a policy; of most changes, how many those are"""

    @property
    def subject(self) -> str:
        """What would have to differ: 'age other than 33', 'debt'."""
        if self.kind is Kind.CHANGES:
            return f"more than {words.counted(int(self.text), 'thing')}"
        if self.feature is None:
            return f"“{self.text}”"
        label = self.feature.label
        if self.kind is not Kind.NEVER:
            return label
        levels = () if isinstance(self.feature, Numeric) else self.feature.levels or ()
        other = [level for level in levels if level != self.today]
        if len(other) == 1:
            return f"“{words.value(self.feature, other[0])}” for {label}"
        if self.today is None:
            return f"a value for {label}"
        return f"{label} other than {words.value(self.feature, self.today)}"

    @property
    def freedom(self) -> str:
        """What it could do: 'could also rise'; empty where it would only be another."""
        if self.kind in FREEDOMS:
            return FREEDOMS[self.kind]
        if self.kind in (Kind.FALL, Kind.RISE):
            return f"could also {self.kind.value}"
        assert isinstance(self.feature, Numeric)  # nothing else has bounds
        end = self.feature.bounds[0 if self.kind is Kind.BELOW else 1]
        return f"could go {self.kind.value} {words.value(self.feature, end)}"


FREEDOMS = {
    Kind.NEVER: "",
    Kind.LOCKED: "could change after all",
    Kind.LIMITED: "could go beyond its limits",
    Kind.CHANGES: "could change",
    Kind.GAP: "could be filled in",
    Kind.REACH: "could go further from today's value",
    Kind.MOVES: "could move to other levels",
    Kind.REQUIRED: "weren't required",
    Kind.POLICY: "weren't needed for a yes",
}
"""What could be without each kind of rule that needs no value to be told."""


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
    if outcome not in (Outcome.UNREACHABLE, Outcome.STALLED):
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
        self.is_box = self.freed(frozenset()).is_box

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
        """The rules that may keep this person from somebody who is accepted."""
        space, step = self.step.space_, self.step
        hopless = space.hops.broken(self.accepted, self.start)
        for f, feature in enumerate(space.schema.features):
            if isinstance(feature, Derived):
                continue
            mine, theirs = self.start[0, f], self.accepted[:, f]
            low, high = feature.limits if isinstance(feature, Numeric) else (-np.inf, np.inf)
            never, change = not feature.chosen, feature.change
            (near,), (far,) = _reached(feature, self.start[:, f])
            least, most = (end[0, f] for end in self.limits)
            gap = bool(np.isnan(mine)) and not never and not space.fillable[f]
            for kind, stops in (
                (Kind.NEVER, never & (theirs != mine)),
                (Kind.LOCKED, (not never and feature.name in self.locked) & (theirs != mine)),
                (Kind.LIMITED, (not never) & ((theirs < least) | (theirs > most))),
                (Kind.GAP, gap & ~np.isnan(theirs)),
                (Kind.REACH, (theirs < near) | (theirs > far)),
                (Kind.MOVES, hopless[:, f]),
                (Kind.FALL, (change is Change.INCREASE) & (theirs < mine)),
                (Kind.RISE, (change is Change.DECREASE) & (theirs > mine)),
                (Kind.BELOW, theirs < low),
                (Kind.ABOVE, theirs > high),
            ):
                if stops.any():
                    yield Rule(kind, feature, space.shown(f, mine))
        if step.max_changes is not None:
            yield Rule(Kind.CHANGES, text=str(step.max_changes))
        for text in space.schema.require:
            yield Rule(Kind.REQUIRED, text=text)
        for text in step.scorer_.goal.policy:
            yield Rule(Kind.POLICY, text=text)

    def opens(self, relaxed: frozenset[Rule]) -> bool:
        """Whether there'd be a yes as near as the person could then come to anyone accepted."""
        own = self.freed(relaxed)
        rows = own.repair(self.accepted)
        fresh = np.ones(len(rows), dtype=bool)
        for rule in relaxed if self.is_box else ():  # what a smaller set gives was asked before
            fresh &= changed(rows, self.freed(relaxed - {rule}).repair(self.accepted)).any(axis=1)
        rows = np.unique(rows[fresh], axis=0)[: self.rows_left]
        asked, is_open = 0, False
        while asked < len(rows) and not is_open:
            batch = rows[asked : asked + BATCH]
            asked += len(batch)
            is_open = self.gets_there(own, batch)
        mended = 0 if self.is_box else len(self.accepted)  # which takes as long as asking
        self.rows_left -= max(asked, mended, LEAST_EFFORT)
        return is_open

    def gets_there(self, own: Feasible, rows: Floats) -> bool:
        """Whether a path leads to any of some rows that get a yes."""
        each = own.take(np.zeros(len(rows), dtype=np.intp))
        found = np.flatnonzero(accepted(each, rows, self.step.scorer_))
        if own.is_box or not len(found):
            return bool(len(found))
        each, ends = each.take(found), rows[found]
        laid = keeping(each, [np.stack([self.start[0], end]) for end in ends])
        return any(not changed(path[-1], end).any() for path, end in zip(laid, ends, strict=True))

    def freed(self, relaxed: frozenset[Rule]) -> Feasible:
        """What this person could become without some rules."""
        space = self.step.space_
        gone = {(rule.kind, rule.text) for rule in relaxed}
        schema = Schema(
            (_without(feature, relaxed) for feature in space.schema.features),
            [text for text in space.schema.require if (Kind.REQUIRED, text) not in gone],
        )
        policy = self.step.scorer_.goal.policy
        low, high = self.limits
        is_lifted = self._of(relaxed, Kind.LIMITED)
        unlocked = self._of(relaxed, Kind.LOCKED)
        locked = locked_mask(schema, np.arange(1), self.locked) & ~unlocked
        is_capped = not any(rule.kind is Kind.CHANGES for rule in relaxed)
        return Feasible.around(
            replace(space, schema=schema),
            self.start,
            locked=locked,
            limits=(np.where(is_lifted, -np.inf, low), np.where(is_lifted, np.inf, high)),
            policy=Requirements.of(
                [text for text in policy if (Kind.POLICY, text) not in gone], schema, policy=True
            ),
            max_changes=self.step.max_changes if is_capped else None,
        )

    def _of(self, relaxed: frozenset[Rule], kind: Kind) -> Mask:
        """(features,) of which features a rule is relaxed, or all rules."""
        names = {
            rule.feature.name
            for rule in relaxed
            if rule.feature and rule.kind in (kind, Kind.NEVER)
        }
        return np.array([name in names for name in self.step.space_.schema.names])


def _reached(feature: Feature, today: Floats) -> tuple[Floats, Floats]:
    """How far from today's values a plan may go; infinitely far but for some numbers."""
    if isinstance(feature, Numeric):
        return feature.reached(today)
    return np.full(len(today), -np.inf), np.full(len(today), np.inf)


def _without(feature: Feature, relaxed: frozenset[Rule]) -> Feature:
    """The feature without some of its rules."""
    kinds = {rule.kind for rule in relaxed if rule.feature and rule.feature.name == feature.name}
    if not kinds:
        return feature
    settings: dict[str, Any] = {}
    if kinds & {Kind.NEVER, Kind.FALL, Kind.RISE}:
        settings["change"] = Change.ANY
    if kinds & {Kind.NEVER, Kind.GAP}:
        settings["fill"] = True
    if Kind.REACH in kinds:
        settings["reach"] = None
    if Kind.MOVES in kinds:
        settings |= {"not_to": (), "moves": None}
    if kinds & {Kind.BELOW, Kind.ABOVE}:
        assert isinstance(feature, Numeric)  # nothing else has bounds
        low, high = feature.bounds
        settings["bounds"] = (
            None if Kind.BELOW in kinds else low,
            None if Kind.ABOVE in kinds else high,
        )
    return feature.but(**settings)


def _unfinished(size: int, found: list[Opening]) -> str:
    """What is left open when the asking ends among the sets of some size."""
    if found:
        return "There may be other ways like these: there was too much to try."
    least = f"It would take at least {size} rules at once. " if size > 1 else ""
    return f"{least}Which rules are in the way wasn't found out: there was too much to try."
