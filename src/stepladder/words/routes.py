"""A route in plain words: what it is among a person's choices, what to do, in which order, by when.

Each thing to do is said once, from today's value to the last, in the order in which things are done
with. Numbers that go up bit by bit aren't listed bit by bit; a level that is reached by way of
others names them, since each is a stay of its own.
What follows from a change without being asked for is said once per route, and rounded where the
schema doesn't say how.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stepladder.model.goal import Goal
from stepladder.model.scores import score
from stepladder.numbers import exact
from stepladder.table.amounts import value
from stepladder.table.feature import Derived
from stepladder.words.changes import (
    Move,
    capital,
    counted,
    is_number,
    listed,
    quoted,
    sentence,
    things,
    time,
)

DIGITS = 4
"""Of what follows, where the schema doesn't say how exact it is."""

EASIEST = "the easiest"
FEWEST = "fewest changes"
SMALLEST = "smallest changes"

TIGHT = "This is only just enough: if you fall a little short, it may be a no."


@dataclass(frozen=True)
class Step:
    """What to change next, and the score once that is done."""

    moves: tuple[Move, ...]
    score: float

    def __str__(self) -> str:
        return sentence(self.moves)


@dataclass(frozen=True)
class Task:
    """One thing to do on a route, from today's value to the last one."""

    move: Move
    by_way: tuple[Any, ...] = ()
    """the levels in between, in their order"""

    @property
    def text(self) -> str:
        """What to do and by when."""
        levels = [quoted(value(self.move.feature, level)) for level in self.by_way]
        by_way = f", by way of {listed(levels)}" if levels else ""
        months = self.move.months
        return f"{self.move}{by_way}" + (f", within {time(months)}" if months else "")

    def __str__(self) -> str:
        """The same as a sentence, with how big the ask is, where that is known."""
        size = f" ({self.move.size})" if self.move.size else ""
        return f"{capital(self.text)}{size}."


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
    kinds: tuple[str, ...] = ()
    """what it is among the person's choices: the easiest, fewest or smallest changes"""
    tight: bool = False
    """whether it's only just enough"""
    holds: float | None = None
    """the probability with which it holds, at least, if the model is retrained"""

    @property
    def features(self) -> frozenset[str]:
        """The names of what changes."""
        return frozenset(move.feature.name for move in self.changes)

    @property
    def count(self) -> str:
        """'one thing to do', 'three things to do'."""
        return things(len(self.changes))

    @property
    def kind(self) -> str:
        """What it is, in a few words: 'the easiest: one thing to do'."""
        others = ", ".join([self.count, *(kind for kind in self.kinds if kind != EASIEST)])
        return f"{EASIEST}: {others}" if EASIEST in self.kinds else others

    @property
    def tasks(self) -> tuple[Task, ...]:
        """What to do, each thing once, in the order in which things are done with.

        What is done within the same step comes in the order of the time that it takes.
        """
        found = []
        for move in self.changes:
            name = move.feature.name
            stays = [
                (number, moved.after)
                for number, step in enumerate(self.steps)
                for moved in step.moves
                if moved.feature.name == name
            ]
            levels = () if is_number(move.feature) else tuple(level for _, level in stays[:-1])
            found.append((stays[-1][0] if stays else 0, move.months, Task(move, levels)))
        return tuple(task for *_, task in sorted(found, key=lambda task: task[:2]))

    @property
    def score(self) -> float:
        """The score at its end."""
        return self.steps[-1].score if self.steps else math.nan

    def ending(self, goal: Goal) -> str:
        """Where it leads and how far past the line, or how sure it is to hold."""
        past = "" if self.holds is not None else f", {margin(goal, self.score)}"
        return f"The score is then {score(goal, self.score)}: a yes{past}."

    @property
    def certainty(self) -> str:
        """How sure it is, in a sentence each; empty where nothing is known."""
        sentences = [TIGHT] if self.tight else []
        if self.holds is not None:
            least = math.floor(100 * self.holds + 1e-9)  # down, since it's a bound
            sentences.append(
                f"It is expected to hold with a probability of at least {least}% if the model is "
                "retrained."
                if least
                else "It may well not hold if the model is retrained."
            )
        return " ".join(sentences)

    @property
    def consequence(self) -> str:
        """What follows from the changes without being asked for, in a sentence each; or nothing."""
        worked_out = [move for move in self.follows if isinstance(move.feature, Derived)]
        with_time = [move for move in self.follows if not isinstance(move.feature, Derived)]
        sentences = []
        if worked_out:
            sentences.append(f"That makes {_results(worked_out)}.")
        if with_time:
            verb = "is" if len(with_time) == 1 else "are"
            labels = listed(move.feature.label for move in with_time)
            ends = listed(_result(move) for move in with_time)
            sentences.append(f"By then, {labels} {verb} {ends}.")
        return " ".join(sentences)

    def __str__(self) -> str:
        """What to do in all, in its order, and by when."""
        return capital("; ".join(task.text for task in self.tasks)) + "."


def margin(goal: Goal, reached: float) -> str:
    """How far past the line a score is.

    >>> margin(Goal(threshold=0.75), 0.781), margin(Goal(threshold=0.75), 0.753)
    ('3 points past the line', 'less than a point past the line')
    """
    if goal.is_range:
        past = float(goal.margin(np.array(reached)))
        return f"{exact(float(f'{past:.3g}'))} past the line"
    points = round(round(100 * reached) - 100 * goal.threshold)  # as the score is shown
    size = counted(points, "point") if points > 0 else "less than a point"
    return f"{size} past the line"


def told_apart(routes: Sequence[Route]) -> tuple[Route, ...]:
    """The same routes, each knowing what it is among them: the easiest comes first.

    Of one route nothing is said but what it asks for; nor is a word that fits several of them.
    """
    if len(routes) < 2:
        return tuple(routes)
    counts = [len(route.changes) for route in routes]
    largest = [_largest(route) for route in routes]
    known = [effort for effort in largest if effort is not None]
    made = []
    for number, route in enumerate(routes):
        kinds = [EASIEST] if number == 0 else []
        if counts[number] > 1:  # of one thing to do there's no more to say
            if _is_least(counts[number], counts):
                kinds.append(FEWEST)
            if len(known) == len(routes) and _is_least(largest[number], known):
                kinds.append(SMALLEST)
        made.append(replace(route, kinds=tuple(kinds)))
    return tuple(made)


def _is_least(number: float | None, numbers: Sequence[float]) -> bool:
    """Whether a number is the least of some, and the only one."""
    return number == min(numbers) and numbers.count(number) == 1


def _largest(route: Route) -> float | None:
    """The largest effort that one change of a route asks for."""
    efforts = [move.effort for move in route.changes]
    known = [effort for effort in efforts if effort is not None]
    return max(known) if known and len(known) == len(efforts) else None


# ---- what follows -----------------------------------------------------------------------------


def _results(moves: Iterable[Move]) -> str:
    """What some features come out as: 'loan to value 80% and housing costs $900 a month'."""
    return listed(f"{move.feature.label} {_result(move)}" for move in moves)


def _result(move: Move) -> str:
    feature, after = move.feature, move.after
    if not is_number(feature):
        return quoted(value(feature, after))
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
