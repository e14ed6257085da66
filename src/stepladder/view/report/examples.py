"""Some people's plans: in words and as a picture, or what stands in the way of one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from stepladder.methods.step import StEP
from stepladder.methods.step.why import WhyNot, why_not
from stepladder.result.path import Outcome
from stepladder.result.recourse import Recourse
from stepladder.table.feature import Feature
from stepladder.view import plots
from stepladder.words import plans as words

MOST_ROWS = 20_000
"""How many rows the model is asked about, at most, to find what would open one person a route."""


@dataclass(frozen=True)
class Shown:
    """One person, as the page shows them."""

    plan: words.Plan
    today: str
    why: WhyNot | None
    pictures: tuple[str, ...]


def chosen(indices: Sequence[int], count: int) -> list[int]:
    """`count` of the indices, evenly over their order, whoever they stand for.

    >>> chosen(range(100), 4)
    [12, 37, 62, 87]
    """
    if len(indices) <= count:
        return list(indices)
    return [indices[(2 * i + 1) * len(indices) // (2 * count)] for i in range(count)]


def shown(result: Recourse, index: int, step: StEP | None) -> Shown:
    """The person at an index of the result."""
    # Alone under a name that is text: others may be called the same, and names may be dates.
    name = np.array([str(pd.Index(result.people).tolist()[index])], dtype=object)
    alone = replace(result, people=name, routes=[result.routes[index]])
    (plan,) = words.plans(alone)
    return Shown(
        plan=plan,
        today=_today(result.space.schema.features, plan.today),
        why=_why(alone, plan, step),
        pictures=tuple(_pictures(alone, plan, name[0])),
    )


def _pictures(alone: Recourse, plan: words.Plan, name: str) -> Iterator[str]:
    """Before and after, and how sure each route is where there are several.

    Someone without a route sees the attempts.
    """
    if math.isnan(plan.score) or not any(path.steps for path in alone.routes[0]):
        return
    if not plan.routes:
        yield plots.picture(lambda width: plots.person(alone, name, width=width))
        return
    yield plots.picture(lambda width: plots.before_after(alone, name, width=width))
    if len(plan.routes) > 1:
        yield plots.picture(lambda width: plots.certainty(alone, name, width=width))


def _today(features: Sequence[Feature], today: Mapping[str, Any]) -> str:
    return "; ".join(f"{f.label}: {words.value(f, today[f.name])}" for f in features)


def _why(alone: Recourse, plan: words.Plan, step: StEP | None) -> WhyNot | None:
    """What would open a route to someone who has none, where a method is there to be asked."""
    path = alone.routes[0][0]
    unreachable = alone.best_at(0)[1] is Outcome.UNREACHABLE
    if step is None or plan.routes or not unreachable or not step.honours_rules or step.is_private:
        return None
    row = alone.space.to_frame(path.values[:1], alone.template)
    why = why_not(step, row, most_rows=MOST_ROWS)
    return why if why.openings else None
