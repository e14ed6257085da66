"""A result in plain words: what to change, from what to what, in which order.

Units, labels and what a change is called come from the schema; numbers are read off the rows that
were checked and show every digit, so give a `Numeric` its `decimals` to keep them short. What
follows from a change without being asked for is said once per route, and rounded where the schema
doesn't say how.
Steps come in the order they are to be taken. What one step holds is to be done together, and is
listed in the schema's order: scores are known for steps only, not for the changes within one.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from stepladder import markup
from stepladder.errors import ParameterError, listing, nearest
from stepladder.model.goal import Goal
from stepladder.model.scores import needed, score
from stepladder.result.offer import Offer
from stepladder.result.path import Outcome, Path
from stepladder.result.recourse import Recourse
from stepladder.table.amounts import amount, value
from stepladder.table.feature import Categorical, Derived, Feature, Numeric
from stepladder.table.rules.faults import outside_bounds
from stepladder.table.schema import Schema
from stepladder.table.space import Floats, Mask, Space

__all__ = [
    "HELD",
    "WIDTH",
    "Move",
    "Plan",
    "Route",
    "Step",
    "action",
    "capital",
    "change",
    "counted",
    "listed",
    "needed",
    "offer",
    "plan",
    "plans",
    "requirement",
    "score",
    "value",
]

WIDTH = 80
"""Columns of plain text."""

HELD = "\N{NO-BREAK SPACE}"
"""A space at which no line is broken."""

DIGITS = 4
"""Of what follows, where the schema doesn't say how exact it is."""

SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", "==": "=", "*": "×"}
"""Signs of a formula as people write them."""

PARTS = re.compile(
    r"""was\(\s*(?P<before>`[^`]*`|\w+)\s*\)|'[^']*'|"[^"]*"|`(?P<odd>[^`]*)`"""
    r"""|(?P<word>[^\W\d]\w*)|<=|>=|!=|==|\*\*?"""
)
"""What of a formula reads otherwise for people: features, today's values, and signs."""


# ---- changes ----------------------------------------------------------------------------------


def change(feature: Feature, before: Any, after: Any) -> str:
    """What to do, from what to what; the unit appears once.

    Values follow the feature's label, or a colon where the schema's own phrase leaves it out.

    >>> change(Numeric("income", unit="$ a month"), 3000, 3200)
    'raise income from $3,000 to $3,200 a month'
    >>> change(Numeric("loan", unit="$", fall="borrow less"), 9000, 8000)
    'borrow less: $8,000 instead of $9,000'
    """
    start, end = amount(feature, before)[0], value(feature, after)
    if not _is_number(feature):
        start, end = _quoted(start), _quoted(end)
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
    if _rises(feature, before, after):
        return feature.rise or f"raise {feature.label}"
    return feature.fall or f"lower {feature.label}"


def _is_number(feature: Feature) -> bool:
    return isinstance(feature, Numeric) or (isinstance(feature, Derived) and not feature.levels)


def _rises(feature: Feature, before: Any, after: Any) -> bool:
    if _is_number(feature):
        return bool(after > before)
    levels = () if isinstance(feature, Numeric) else feature.levels or ()
    for level in (before, after):
        if level not in levels:
            raise ParameterError(
                f"{feature.name!r} has no level {level!r}.{nearest(level, levels)} "
                f"It has {listing(levels)}."
            )
    return levels.index(after) > levels.index(before)


def _quoted(text: str) -> str:
    """A level of several words in quotes, so that it's clear where it ends."""
    return f"“{text}”" if " " in text else text


# ---- plans ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Move:
    """One thing to change."""

    feature: Feature
    before: Any
    after: Any

    @property
    def action(self) -> str:
        return action(self.feature, self.before, self.after)

    @property
    def start(self) -> str:
        return value(self.feature, self.before)

    @property
    def end(self) -> str:
        return value(self.feature, self.after)

    def __str__(self) -> str:
        return change(self.feature, self.before, self.after)


@dataclass(frozen=True)
class Step:
    """What to change next, and the score once that is done."""

    moves: tuple[Move, ...]
    score: float

    def __str__(self) -> str:
        return _sentence(self.moves)


@dataclass(frozen=True)
class Route:
    """One way to a yes, step by step."""

    steps: tuple[Step, ...]
    changes: tuple[Move, ...]
    """all of it at once: from today's values to the last step's"""
    follows: tuple[Move, ...] = ()
    """what comes out otherwise then, without being asked for"""
    months: float = 0.0
    """how long it takes"""

    @property
    def features(self) -> frozenset[str]:
        """The names of what changes."""
        return frozenset(move.feature.name for move in self.changes)

    @property
    def consequence(self) -> str:
        """What follows from the changes, and how long they take, in a sentence each; or nothing."""
        worked_out = [move for move in self.follows if isinstance(move.feature, Derived)]
        with_time = [move for move in self.follows if not isinstance(move.feature, Derived)]
        sentences = []
        if worked_out:
            sentences.append(f"That makes {_results(worked_out)}.")
        if self.months:
            then = f", which makes {_results(with_time)}" if with_time else ""
            sentences.append(f"It takes about {_time(self.months)}{then}.")
        return " ".join(sentences)

    def __str__(self) -> str:
        return _sentence(self.changes)


@dataclass(frozen=True)
class Plan:
    """One person's different routes, the nearest first. As text, it can be handed to them."""

    person: Hashable
    today: dict[str, Any]
    score: float
    goal: Goal
    routes: tuple[Route, ...]
    outcome: Outcome = Outcome.REACHED
    reason: str = ""
    """why there are no routes, without a score; empty where there are"""
    best: float | None = None
    """the best score of attempts that stopped short of a yes"""
    lacking: tuple[str, ...] = ()
    """what there is no valid value for, where that is why there are no routes"""
    broken: tuple[str, ...] = ()
    """the requirements that today's values break"""

    @property
    def note(self) -> str:
        """Why there are no routes, and how far attempts got; empty where there are routes."""
        if self.best is None:
            return self.reason
        most = score(self.goal, self.best)
        return f"{self.reason.removesuffix('.')}; the best one gets to {most}."

    @property
    def caution(self) -> str:
        """Which requirements today's values break, in a sentence; empty if none."""
        if not self.broken:
            return ""
        rules = "a rule" if len(self.broken) == 1 else f"{len(self.broken)} rules"
        worse = " No route makes that worse." if self.routes else ""
        return f"Today's values break {rules}: {'; '.join(self.broken)}.{worse}"

    @property
    def standing(self) -> str:
        """Where they stand: 'Score today: 41%; a yes takes 75%.'"""
        return f"Score today: {score(self.goal, self.score)}; a yes takes {needed(self.goal)}."

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return markup.lines(str(self))

    def __str__(self) -> str:
        lines = _wrapped(f"Person {self.person}. {self.standing}")
        for sentence in (self.caution, self.note):
            lines += _wrapped(sentence)
        for number, route in enumerate(self.routes, 1):
            steps = f"in {counted(len(route.steps), 'step')}"
            title = f"Route {number}, {steps}" if len(self.routes) > 1 else f"A route {steps}"
            lines += ["", f"{title} (the nearest)" if len(self.routes) > number == 1 else title]
            if len(route.steps) > 1:
                lines += _wrapped(str(route))
            for position, step in enumerate(route.steps, 1):
                end = ", a yes" if step is route.steps[-1] else ""
                then = f"Score: {score(self.goal, step.score)}{end}.".replace(" ", HELD)
                lines += _wrapped(f"{step} {then}", f"{position:3}. ")
            lines += _wrapped(route.consequence)
        return "\n".join(lines)


def plan(result: Recourse, person: Hashable) -> Plan:
    """The plan of one person, by the name that `result.people` has for them."""
    return _plan(result, person, result.index_of(person))


def plans(result: Recourse) -> list[Plan]:
    """Everyone's plans, in the result's order."""
    people = pd.Index(result.people).tolist()
    return [_plan(result, person, index) for index, person in enumerate(people)]


def _plan(result: Recourse, person: Hashable, index: int) -> Plan:
    paths, space = result.routes[index], result.space
    today = paths[0].values[0]
    _, outcome, _ = result.best_at(index)
    lacking = _lacking(outcome, space, today)
    return Plan(
        person=person,
        today={name: space.shown(f, today[f]) for f, name in enumerate(space.schema.names)},
        score=float(paths[0].scores[0]),
        goal=result.goal,
        routes=tuple(_route(paths[slot], space) for slot in result.choices_at(index)),
        outcome=outcome,
        reason=_reason(outcome, lacking),
        lacking=lacking,
        best=_best(result, paths) if outcome in (Outcome.STEP_LIMIT, Outcome.STALLED) else None,
        broken=tuple(requirement(text, space.schema) for text in result.broken_today[index]),
    )


def _route(path: Path, space: Space) -> Route:
    steps = tuple(
        Step(moves, float(score))
        for (before, after), score in zip(pairwise(path.values), path.scores[1:], strict=True)
        if (moves := _moves(before, after, space))
    )
    start, end = path.values[0], path.values[-1]
    return Route(
        steps,
        changes=_moves(start, end, space),
        follows=_named(space.links.following(start, end), start, end, space),
        months=float(space.links.months(end[None], start[None])[0]),
    )


def _moves(before: Floats, after: Floats, space: Space) -> tuple[Move, ...]:
    """What is to be done to get from one row to another."""
    return _named(space.links.changes(before, after), before, after, space)


def _named(features: Mask, before: Floats, after: Floats, space: Space) -> tuple[Move, ...]:
    return tuple(
        Move(space.schema.features[f], space.shown(f, before[f]), space.shown(f, after[f]))
        for f in np.flatnonzero(features).tolist()
    )


def _lacking(outcome: Outcome, space: Space, today: Floats) -> tuple[str, ...]:
    """The labels of features without a valid value, where that is how it ended."""
    if outcome not in (Outcome.MISSING_VALUE, Outcome.INVALID_ROW):
        return ()
    lacks = np.isnan(today)
    if outcome is Outcome.INVALID_ROW:
        lacks |= outside_bounds(space, today[None])[0]
    return tuple(space.schema.features[f].label for f in np.flatnonzero(lacks))


def _reason(outcome: Outcome, lacking: Sequence[str]) -> str:
    """Why someone has no route, for themselves to read."""
    match outcome:
        case Outcome.REACHED:
            return ""
        case Outcome.ALREADY_POSITIVE:
            return "Nothing needs to change: this is a yes already."
        case Outcome.MISSING_VALUE | Outcome.INVALID_ROW:
            what = "value" if outcome is Outcome.MISSING_VALUE else "valid value"
            return f"No route can be worked out, since there is no {what} for {listed(lacking)}."
        case Outcome.TIMED_OUT:
            return (
                "The search for a route ran out of time before it found one. There may still be "
                "one: ask for another search."
            )
        case Outcome.UNREACHABLE:
            return "No route was found among the changes that are possible here."
        case Outcome.UNSURE:
            return "No route was found that is likely to hold once the model is retrained."
        case Outcome.STEP_LIMIT:
            return "No route was found within the steps allowed."
        case Outcome.STALLED:
            return "No route was found that gets all the way."


def _best(result: Recourse, paths: Sequence[Path]) -> float:
    """The score nearest to a yes that these paths end with."""
    ends = np.array([path.scores[-1] for path in paths])
    return float(ends[np.argmax(result.goal.margin(ends))])


# ---- what follows -----------------------------------------------------------------------------


def _results(moves: Iterable[Move]) -> str:
    """What some features come out as: 'loan to value 80% and housing costs $900 a month'."""
    return listed(f"{move.feature.label} {_result(move)}" for move in moves)


def _result(move: Move) -> str:
    feature, after = move.feature, move.after
    if not _is_number(feature):
        return _quoted(value(feature, after))
    if isinstance(feature, Derived) and after is not None and feature.most_decimals is None:
        after = _short(after)
    return value(feature, after)


def _short(number: float) -> float:
    """A number to four digits, and to the next whole one if it's larger.

    >>> _short(0.802325581), _short(1174.2857), _short(123456.78)
    (0.8023, 1174.0, 123457.0)
    """
    size = math.floor(math.log10(abs(number))) if number else 0
    return round(number, max(0, DIGITS - 1 - size))


def _time(months: float) -> str:
    """'5 months', '1 year', '18 months'."""
    whole = math.ceil(months)
    return counted(whole, "month") if whole % 12 else counted(whole // 12, "year")


def requirement(text: str, schema: Schema) -> str:
    """A requirement with features called by their labels, and signs as people write them.

    >>> requirement("loan_amount <= was(price)", Schema([Numeric("loan_amount"), Numeric("price")]))
    'loan amount ≤ price today'
    """
    names = set(schema.names)

    def spoken(found: re.Match[str]) -> str:
        before, odd, word = found["before"], found["odd"], found["word"]
        if before is not None:
            return f"{requirement(before, schema)} today"
        name = odd if odd is not None else word
        return schema[name].label if name in names else SIGNS.get(found[0], found[0])

    return PARTS.sub(spoken, text)


# ---- offers -----------------------------------------------------------------------------------


def offer(made: Offer, schema: Schema, goal: Goal) -> str:
    """One offer of a walk: what to do next, and how far that leads.

    The schema and the goal are the method's: `step.space_.schema`, `step.scorer_.goal`.
    """
    moves = [Move(schema[asked.feature], asked.before, asked.after) for asked in made.changes]
    then = f"The score is then {score(goal, made.score)}"
    if made.reaches_goal and made.steps_left:
        lead = "leads" if made.steps_left == 1 else "lead"
        ending = f", and {counted(made.steps_left, 'more step')} {lead} to a yes."
    elif made.reaches_goal:
        ending = ", a yes."
    else:
        ending = "; a yes isn't in sight on this route yet."
    return f"{_sentence(moves)} {then}{ending}"


# ---- sentences --------------------------------------------------------------------------------


def counted(number: int, thing: str) -> str:
    """'1 step', '2 steps'."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return f"{text[:1].upper()}{text[1:]}"


def _sentence(moves: Sequence[Move]) -> str:
    return capital("; ".join(str(move) for move in moves)) + "."


def listed(items: Iterable[str], last: str = "and") -> str:
    """'a', 'a and b', 'a, b and c'; empty for nothing."""
    *most, end = list(items) or [""]
    return f"{', '.join(most)} {last} {end}" if most else end


def _wrapped(text: str, lead: str = "") -> list[str]:
    """Lines of a text, those after the first indented to where it began."""
    lines = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(HELD, " ") for line in lines]
