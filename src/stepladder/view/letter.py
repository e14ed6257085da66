"""A letter for one person: the decision, what stands in the way of a yes, and the routes to one.

The reasons are read off the routes that were found: what most of them change, and whether that is
enough by itself. They say what would lead to another answer, not how things came to be as they are.

Every route is given in a sentence, and as a table of its steps unless these are too many, so that
a letter usually prints on one page. Where names are long it may take another.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

from stepladder.result.path import Outcome
from stepladder.result.recourse import Recourse
from stepladder.table.feature import Change, Feature, Numeric
from stepladder.view.page import PageTable, render, write
from stepladder.words import plans as words

__all__ = ["letter", "reasons", "write"]

MAIN = 4
"""How many reasons a letter gives, at most."""

ROWS = 14
"""Rows that the tables of a letter have, all together: so it's usually one page."""

SEARCHED = frozenset({Outcome.UNREACHABLE, Outcome.STALLED, Outcome.STEP_LIMIT})
"""Outcomes of a search that went to its end and found no route."""


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
    header = {
        "sender": _lines(sender),
        "recipient": _lines(recipient),
        "date": _lines(None if date is None else str(date)),
    }
    main = reasons(plan, features)
    spare = words.listed((f.label for f in still if f.chosen), "or")
    fixed = words.listed(f.label for f in still if f.change is Change.NEVER)
    if not plan.routes and plan.outcome not in SEARCHED:
        spare, fixed = "", ""
    routes = list(zip(plan.routes, _tables(plan, show_score), strict=True))
    return render(
        "letter.html.j2",
        title="Your application and the routes to a yes" if plan.routes else "Your application",
        header=header,
        plan=plan,
        is_yes=bool(result.goal.met(np.array(plan.score))),
        is_scored=not np.isnan(plan.score),
        is_invalid=plan.outcome is Outcome.INVALID_ROW,
        reasons=main,
        routes=routes,
        has_results=any(route.follows for route in plan.routes),
        is_short=any(table is None and len(route.steps) > 1 for route, table in routes),
        spare=spare,
        fixed=fixed,
        show_score=show_score,
        words=words,
    )


# ---- reasons ----------------------------------------------------------------------------------


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
    name, total = f"{words.capital(feature.label)}, today {today}", len(plan.routes)
    if total == 1:
        return f"{name}: {'to change this is enough' if alone else 'part of what has to change'}."
    part = f"{count} of {total}"
    if count == total:
        part = "both" if total == 2 else f"all {total}"
    end = "along with other things"
    if alone:
        end = f"and {f'on {alone} of them ' if alone < count else ''}nothing else needs to"
    return f"{name}: changes on {part} routes, {end}."


# ---- steps ------------------------------------------------------------------------------------


def _tables(plan: words.Plan, with_score: bool) -> list[PageTable | None]:
    """The steps of each route, where they're several and not too many.

    Of the nearest route at least the first steps are shown.
    """
    tables: list[PageTable | None] = []
    left = ROWS
    for route in plan.routes:
        count, fits = len(route.steps), left - 2  # the head and today take one row each
        is_shown = count > 1 and (count <= fits or not tables)
        tables.append(_table(plan, route, min(count, fits), with_score) if is_shown else None)
        left -= min(count, fits) + 2 if is_shown else 0
    return tables


def _table(plan: words.Plan, route: words.Route, shown: int, with_score: bool) -> PageTable:
    """A route as a table: what changes, today and after each of the first `shown` steps."""
    moved = {move.feature.name: move.feature for step in route.steps for move in step.moves}
    features = [moved[name] for name in plan.today if name in moved]
    values, rows = dict(plan.today), []
    for number, step in enumerate((words.Step((), plan.score), *route.steps[:shown])):
        values |= {move.feature.name: move.after for move in step.moves}
        row = ["Today" if number == 0 else str(number)]
        row += [words.value(feature, values[feature.name]) for feature in features]
        if with_score:
            end = ", a yes" if number == len(route.steps) else ""
            row.append(words.score(plan.goal, step.score) + end)
        rows.append(tuple(row))
    heads = ["Step", *(words.capital(feature.label) for feature in features)]
    if with_score:
        heads.append("Score")
    texts = {column for column, f in enumerate(features, 1) if not isinstance(f, Numeric)}
    numbers = tuple(column for column in range(1, len(heads)) if column not in texts)
    more = len(route.steps) - shown
    note = f"… and {words.counted(more, 'more step')}: ask us for them." if more else ""
    return PageTable("", tuple(heads), tuple(rows), numbers, note)


def _lines(text: str | None) -> list[str]:
    return [] if text is None else [line.strip() for line in text.strip().splitlines()]
