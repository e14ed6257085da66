"""A letter for one person: the decision, what stands in the way of a yes, and the routes to one.

The reasons are read off the routes that were found: what most of them change, and whether that is
enough by itself. They say what would lead to another answer, not how things came to be as they are.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

from stepladder.feature import Change, Feature
from stepladder.recourse import Recourse
from stepladder.view import words
from stepladder.view.page import render, write

__all__ = ["letter", "reasons", "write"]

MAIN = 4
"""How many reasons a letter gives, at most."""

LINE = 90
"""Letters in a printed line."""

ROOM = 16
"""Lines of steps for which a printed page has room."""


def letter(
    result: Recourse,
    person: Hashable,
    *,
    sender: str | None = None,
    recipient: str | None = None,
    date: str | dt.date | None = None,
    show_score: bool = False,
) -> str:
    """A letter as one HTML page, to be printed on A4 or US letter; `write` makes it a file.

    person      the value that names them in the index of the frame they came from
    sender      name and address, in lines; so is `recipient`
    show_score  whether the person is told their score, and that after each step
    """
    plan = words.plan(result, person)
    features = result.space.schema.features
    changed = frozenset[str]().union(*(route.features for route in plan.routes))
    still = [feature for feature in features if feature.name not in changed]
    return render(
        "letter.html.j2",
        title="Your application and the routes to a yes" if plan.routes else "Your application",
        sender=_lines(sender),
        recipient=_lines(recipient),
        date=None if date is None else str(date),
        plan=plan,
        is_yes=bool(result.goal.met(np.array(plan.score))),
        is_known=not np.isnan(plan.score),
        reasons=reasons(plan, features),
        spare=_either([f.label for f in still if f.change is not Change.NEVER]),
        fixed=words.listed([f.label for f in still if f.change is Change.NEVER] or [""]),
        told=_told(plan.routes),
        show_score=show_score,
        words=words,
    )


def reasons(plan: words.Plan, features: Sequence[Feature]) -> list[str]:
    """What stands between a person and a yes, by how many of their routes change it.

    What every route changes comes first, and what only few do is left out while there is more.
    """
    routes = plan.routes
    counts = Counter(name for route in routes for name in route.features)
    alone = Counter(name for route in routes if len(route.features) == 1 for name in route.features)
    ranked = sorted(
        (f for f in features if counts[f.name]), key=lambda f: (-counts[f.name], -alone[f.name])
    )
    most = [f for f in ranked if 2 * counts[f.name] > len(routes)]
    return [_reason(f, plan, counts[f.name], alone[f.name]) for f in (most or ranked)[:MAIN]]


def _reason(feature: Feature, plan: words.Plan, count: int, alone: int) -> str:
    """One reason: on how many routes something changes, and on how many nothing else does."""
    today = words.value(feature, plan.today[feature.name])
    name = f"{feature.label[:1].upper()}{feature.label[1:]}, today {today}"
    total = len(plan.routes)
    if total == 1:
        enough = "to change this is enough" if alone else "part of what has to change"
        return f"{name}: {enough}."
    part = f"all {total}" if count == total else f"{count} of {total}"
    end = ", never by itself"
    if alone:
        end = ", by itself" + (f" on {alone} of them" if alone < count else "")
    return f"{name}: part of {part} routes{end}."


def _told(routes: Sequence[words.Route]) -> list[bool]:
    """Of which routes the steps are told, so that a letter stays one page: the nearest always."""
    lines = [sum(math.ceil(len(str(step)) / LINE) for step in route.steps) for route in routes]
    fits = np.cumsum(lines) <= ROOM
    return [
        place == 0 or len(route.steps) == 1 or bool(fits[place])
        for place, route in enumerate(routes)
    ]


def _lines(text: str | None) -> list[str]:
    return [] if text is None else [line.strip() for line in text.strip().splitlines()]


def _either(labels: Sequence[str]) -> str:
    """'a', 'a or b', 'a, b or c'; empty for none."""
    *most, last = labels or [""]
    return f"{', '.join(most)} or {last}" if most else last
