"""A result in plain words: one person's routes, or why there are none; and a walk's offers."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from stepladder import markup
from stepladder.model.goal import Goal
from stepladder.model.scores import needed, score
from stepladder.result.offer import Asked, Offer
from stepladder.result.path import Outcome, Path
from stepladder.result.recourse import Recourse
from stepladder.table.amounts import value
from stepladder.table.rules.faults import outside_bounds
from stepladder.table.schema import Schema
from stepladder.table.space import Floats, Mask, Space
from stepladder.words.changes import (
    Move,
    action,
    capital,
    change,
    counted,
    joined,
    listed,
    sentence,
    things,
)
from stepladder.words.routes import EASIEST, Route, Step, Task, told_apart

__all__ = [
    "EASIEST",
    "HELD",
    "WIDTH",
    "Move",
    "Plan",
    "Route",
    "Step",
    "Task",
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
    "wrapped",
]

WIDTH = 80
"""Columns of plain text."""

HELD = "\N{NO-BREAK SPACE}"
"""A space at which no line is broken."""

SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", "==": "=", "*": "×"}
"""Signs of a formula as people write them."""

PARTS = re.compile(
    r"""was\(\s*(?P<before>`[^`]*`|\w+)\s*\)|'[^']*'|"[^"]*"|`(?P<odd>[^`]*)`"""
    r"""|(?P<word>[^\W\d]\w*)|<=|>=|!=|==|\*\*?"""
)
"""What of a formula reads otherwise for people: features, today's values, and signs."""


# ---- plans ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """One person's different routes, the easiest first. As text, it can be handed to them."""

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
    surest: Route | None = None
    """the route most likely to hold, where none is sure enough to count as one"""

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
        lines = wrapped(f"Person {self.person}. {self.standing}")
        for text in (self.caution, self.note):
            lines += wrapped(text)
        several = len(self.routes) > 1
        for number, route in enumerate(self.routes, 1):
            lead = "," if EASIEST in route.kinds else ":"
            title = f"Route {number}{lead} {route.kind}" if several else f"A route: {route.kind}"
            lines += ["", *wrapped(title), *self._told(route)]
        if self.surest is not None:
            lines += ["", *wrapped(f"The surest: {self.surest.kind}"), *self._told(self.surest)]
        return "\n".join(lines)

    def _told(self, route: Route) -> list[str]:
        """A route in lines: what to do, what comes of it, and how sure that is."""
        tasks = list(map(str, route.tasks))
        if len(tasks) == 1:
            lines = wrapped(tasks[0], "  ")
        else:
            lines = [line for n, task in enumerate(tasks, 1) for line in wrapped(task, f"{n:3}. ")]
        rest = [route.consequence, route.ending(self.goal), route.certainty]
        return [*lines, *wrapped(" ".join(filter(None, rest)), "  ")]


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
        routes=told_apart([_route(paths[slot], space) for slot in result.choices_at(index)]),
        outcome=outcome,
        reason=_reason(outcome, lacking),
        lacking=lacking,
        best=_best(result, paths) if outcome in (Outcome.STEP_LIMIT, Outcome.STALLED) else None,
        broken=tuple(requirement(text, space.schema) for text in result.broken_today[index]),
        surest=_surest(paths, space) if outcome is Outcome.UNSURE else None,
    )


def _surest(paths: Sequence[Path], space: Space) -> Route:
    """Of the paths that may not hold, the one that is likeliest to."""
    unsure = [path for path in paths if path.outcome is Outcome.UNSURE]
    return _route(max(unsure, key=lambda path: np.nan_to_num(path.holds)), space)


def _route(path: Path, space: Space) -> Route:
    steps = tuple(
        Step(moves, float(score))
        for (before, after), score in zip(pairwise(path.values), path.scores[1:], strict=True)
        if (moves := _moves(before, after, space))
    )
    start, end = path.values[0], path.values[-1]
    return Route(
        steps,
        changes=_measured(path, space),
        follows=_named(space.links.following(start, end), start, end, space),
        months=float(space.links.months(end[None], start[None])[0]),
        tight=path.tight,
        holds=_known(path.holds),
    )


def _measured(path: Path, space: Space) -> tuple[Move, ...]:
    """What a path asks for in all, with how much that is."""
    start, end = path.values[0], path.values[-1]
    asked = np.flatnonzero(space.links.changes(start, end)).tolist()
    return tuple(
        replace(
            move,
            effort=None if path.efforts is None else _known(path.efforts[f]),
            rank=None if path.ranks is None else _known(path.ranks[f]),
        )
        for f, move in zip(asked, _moves(start, end, space), strict=True)
    )


def _known(number: float) -> float | None:
    return None if math.isnan(number) else float(number)


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
            return (
                "Routes to a yes were found, but none that is likely enough to hold if the model "
                "is retrained."
            )
        case Outcome.STEP_LIMIT:
            return "No route was found within the steps allowed."
        case Outcome.STALLED:
            return "No route was found that gets all the way."


def _best(result: Recourse, paths: Sequence[Path]) -> float:
    """The score nearest to a yes that these paths end with."""
    ends = np.array([path.scores[-1] for path in paths])
    return float(ends[np.argmax(result.goal.margin(ends))])


# ---- requirements -----------------------------------------------------------------------------


def requirement(text: str, schema: Schema) -> str:
    """A requirement with features called by their labels, and signs as people write them.

    >>> from stepladder.table.feature import Numeric
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
    """One offer of a walk: what to do in all, what of it first, and how far that leads.

    The schema and the goal are the method's: `step.space_.schema`, `step.scorer_.goal`.
    """
    first, total = (_asked(part, schema) for part in (made.changes, made.total))
    lead = sentence(first)
    if made.reaches_goal and total:
        next_up = f" First, {joined(first)}." if made.steps_left else ""
        lead = f"{capital(things(len(total)))}. {sentence(total)}{next_up}"
    then = f"The score is then {score(goal, made.score)}"
    if made.reaches_goal and made.steps_left:
        more = "leads" if made.steps_left == 1 else "lead"
        ending = f", and {counted(made.steps_left, 'more step')} {more} to a yes."
    elif made.reaches_goal:
        ending = ", a yes."
    else:
        ending = "; a yes isn't in sight on this route yet."
    return f"{lead} {then}{ending}"


def _asked(changes: Sequence[Asked], schema: Schema) -> list[Move]:
    return [Move(schema[asked.feature], asked.before, asked.after) for asked in changes]


# ---- sentences --------------------------------------------------------------------------------


def wrapped(text: str, lead: str = "", width: int = WIDTH) -> list[str]:
    """Lines of a text, those after the first indented to where it began."""
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(HELD, " ") for line in lines]
