"""A result as plans in plain words: what to change, from what to what, in which order.

Every figure is read off the rows that were checked. The schema allows whole dollars and named
levels only, so nothing is rounded on the way here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import pairwise
from math import floor
from typing import Any

import stepladder as sl


def _thousands(value: Any) -> str:
    return f"${value * 1000:,}"


def _monthly(value: Any) -> str:
    return f"${value:,} a month"


WORDS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "income": ("Raise income", _monthly),
    "housing_cost": ("Lower housing costs", _monthly),
    "other_debts": ("Pay down other debts", _monthly),
    "loan": ("Borrow less", _thousands),
    "credit_record": ("Mend credit record", str),
    "paperwork": ("Complete paperwork", str),
}
"""What a change is called, and how its values are written, for all that may change."""


CHOICE = 30
"""Among how many of the most readable plans those of different kinds are chosen."""


@dataclass(frozen=True)
class Move:
    """One thing to change."""

    feature: str
    before: Any
    after: Any

    @property
    def action(self) -> str:
        return WORDS[self.feature][0]

    @property
    def start(self) -> str:
        return WORDS[self.feature][1](self.before)

    @property
    def end(self) -> str:
        return WORDS[self.feature][1](self.after)

    def __str__(self) -> str:
        start = self.start.removesuffix(" a month")  # once is enough
        return f"{self.action.lower()}: {start} → {self.end}"


@dataclass(frozen=True)
class Step:
    """What to change next, and the score once that is done."""

    moves: tuple[Move, ...]
    score: float


@dataclass(frozen=True)
class Route:
    """One way to a yes, step by step."""

    steps: tuple[Step, ...]
    changes: tuple[Move, ...]
    """The whole way in one: from today's values to the last step's."""

    @property
    def features(self) -> frozenset[str]:
        return frozenset(move.feature for move in self.changes)


@dataclass(frozen=True)
class Plan:
    """One person's different routes, the nearest first."""

    person: Hashable
    today: dict[str, Any]
    score: float
    routes: tuple[Route, ...]


def plans(result: sl.Recourse) -> list[Plan]:
    """The plans of everyone who has a route."""
    names = result.space.schema.names
    reached = result.final[result.final["outcome"] == "reached"].sort_values("distance")
    rows: dict[tuple[Hashable, int], list[dict[str, Any]]] = {}
    for row in result.paths.to_dict("records"):
        rows.setdefault((row["person"], row["path"]), []).append(row)
    made = []
    for person, group in reached.groupby("person", sort=True):
        taken = [rows[person, path] for path in group["path"]]
        routes: dict[tuple[Move, ...], Route] = {}
        for route in (_route(one, names) for one in taken):
            routes.setdefault(route.changes, route)  # two that end alike are one to a reader
        today = taken[0][0]
        facts = {name: today[name] for name in names}
        made.append(Plan(person, facts, today["score"], tuple(routes.values())))
    return made


def _route(rows: list[dict[str, Any]], names: tuple[str, ...]) -> Route:
    steps = tuple(
        Step(moves, after["score"])
        for before, after in pairwise(rows)
        if (moves := _moves(before, after, names))
    )
    return Route(steps, _moves(rows[0], rows[-1], names))


def _moves(
    before: dict[str, Any], after: dict[str, Any], names: tuple[str, ...]
) -> tuple[Move, ...]:
    return tuple(Move(n, before[n], after[n]) for n in names if before[n] != after[n])


def instructive(plans: list[Plan], count: int) -> list[Plan]:
    """A few plans that differ in kind: each brings changes that those before it didn't.

    Readable plans come first: no raise to wait for, several routes, and on the nearest two changes
    in three steps. Who the people are plays no part.
    """

    def odd(plan: Plan) -> tuple[bool, int, int, int]:
        nearest = plan.routes[0]
        return (
            "income" in nearest.features,
            -len(plan.routes),
            abs(len(nearest.features) - 2),
            abs(len(nearest.steps) - 3),
        )

    left, chosen, seen = sorted(plans, key=odd), list[Plan](), set[str]()
    while left and len(chosen) < count:
        kind = max((plan.routes[0].features for plan in left[:CHOICE]), key=lambda f: len(f - seen))
        plan = next(plan for plan in left if plan.routes[0].features == kind)
        left.remove(plan)
        chosen.append(plan)
        seen |= kind
    return chosen


def percent(score: float) -> str:
    """A score in whole per cent, cut off rather than rounded: 75% is shown only from 0.75 on."""
    return f"{floor(score * 100 + 1e-9)}%"


def situation(today: dict[str, Any]) -> str:
    """Where a person stands, in a sentence."""
    return (
        f"Asks for {_thousands(today['loan'])} to buy a home for {_thousands(today['price'])}, "
        f"with a household income of {_monthly(today['income'])}."
    )
