"""A plan as a letter tells it: without what is hidden, with numbers no longer than people read.

A route that would change something hidden is left out, since it can't be told.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Any

from stepladder.errors import ParameterError, listing, nearest
from stepladder.numbers import short
from stepladder.result.path import Outcome
from stepladder.table.feature import Feature, Numeric
from stepladder.table.formula import Formula
from stepladder.table.schema import Schema
from stepladder.words.changes import Move
from stepladder.words.plans import HELD, Plan
from stepladder.words.routes import Route, told_apart

SPACE = re.compile(r"(?<=[\d%]) (?=\S)")
HYPHEN = re.compile(r"(?<=\d)-(?=\d)")
"""Where a line could end within a number and its unit."""

ELSEWHERE = "There is no route that can be set out in this letter. Please ask us."
"""What is said where all routes change something hidden."""


def hidden_names(hide: Iterable[str], schema: Schema) -> frozenset[str]:
    """The features to hide, each of which the schema knows."""
    names = (hide,) if isinstance(hide, str) else tuple(hide)
    for name in names:
        if name not in schema.names:
            raise ParameterError(
                f"hide names {name!r}, which is no feature of the schema."
                f"{nearest(name, schema.names)} It has {listing(schema.names)}."
            )
    return frozenset(names)


def mentions(text: str, hidden: Collection[str]) -> bool:
    """Whether a requirement speaks of something hidden."""
    formula = Formula.parse(text, "The requirement")
    return not formula.names.union(formula.before).isdisjoint(hidden)


def told(plan: Plan, schema: Schema, hidden: frozenset[str], broken: Iterable[str]) -> Plan:
    """The plan without what is hidden, its numbers short.

    broken  the requirements that today's values break, as the schema has them
    """
    routes = [_told(route, hidden) for route in plan.routes if not route.features & hidden]
    spoken = dict(zip(broken, plan.broken, strict=True))
    surest = plan.surest
    return replace(
        plan,
        routes=told_apart(routes),
        reason=ELSEWHERE if plan.routes and not routes else plan.reason,
        outcome=Outcome.UNREACHABLE if plan.routes and not routes else plan.outcome,
        lacking=tuple(
            label for label in plan.lacking if label not in {schema[n].label for n in hidden}
        ),
        broken=tuple(said for text, said in spoken.items() if not mentions(text, hidden)),
        surest=None if surest is None or surest.features & hidden else _told(surest, hidden),
    )


def _told(route: Route, hidden: frozenset[str]) -> Route:
    return replace(
        route,
        changes=tuple(map(_short, route.changes)),
        follows=tuple(_short(m) for m in route.follows if m.feature.name not in hidden),
    )


def _short(move: Move) -> Move:
    """A move whose numbers are short: the last one is never less far than what was found."""
    if move.before is None or not _is_open(move.feature):
        return replace(move, after=short_value(move.feature, move.after))
    rounding = ROUND_CEILING if move.after > move.before else ROUND_FLOOR
    return replace(
        move,
        before=short_value(move.feature, move.before),
        after=short_value(move.feature, move.after, rounding),
    )


def short_value(feature: Feature, value: Any, rounding: str = ROUND_HALF_EVEN) -> Any:
    """A value to four digits, unless the schema says how exact it is, or it's no number."""
    if value is None or not _is_open(feature):
        return value
    assert isinstance(feature, Numeric)  # nothing else is open
    # In decimals, or 0.07 would be 7.000000000000001 per cent, and rounded up to 7.001.
    scale = Decimal(str(100 if feature.percent else feature.times))
    shown = short(float(Decimal(str(value)) * scale), rounding)
    return float(Decimal(str(shown)) / scale)


def _is_open(feature: Feature) -> bool:
    """Whether values are numbers with any number of digits."""
    return (
        isinstance(feature, Numeric) and feature.most_decimals is None and feature.multiple is None
    )


def held(text: str) -> str:
    """A text in which no line ends within a number, or between one and the word behind it.

    >>> held("raise income to 3,200 dollars") == "raise income to 3,200\\N{NO-BREAK SPACE}dollars"
    True
    """
    return SPACE.sub(HELD, HYPHEN.sub("-\N{WORD JOINER}", text))
