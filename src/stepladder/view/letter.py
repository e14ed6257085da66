"""A letter for one person: the decision, what would be enough for a yes, and why it is a no.

What is enough by itself comes first, then what is enough together, the easiest first in each. Why
the answer is no is what weighed against this person beside people who are accepted
(`Method.refusals`), in words and without numbers, and what the policy asks for; it needs the fitted
method. Who has no route is told which rules stand in the way and what else there is to do.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from stepladder.errors import ParameterError
from stepladder.methods.base import Method
from stepladder.methods.step import StEP
from stepladder.methods.step.why import Opening, why_not
from stepladder.model.goal import Goal
from stepladder.numbers import percent
from stepladder.result.path import Outcome
from stepladder.result.recourse import Recourse
from stepladder.table import frames
from stepladder.table.feature import Change
from stepladder.table.frames import Frame
from stepladder.table.rules.requirements import Requirements
from stepladder.table.schema import Schema
from stepladder.view.page import render, write
from stepladder.view.told import held, hidden_names, mentions, short_value, told
from stepladder.words import plans as words
from stepladder.words.routes import TIGHT, Route

__all__ = ["letter", "write"]

MAIN = 4
"""How many reasons a letter gives, at most."""

SMALL = 0.05
"""The share of all that pulls a score down from which something counts as a reason."""

OPENINGS = 3
"""How many ways to relax the rules are told, at most."""

MOST_ROWS = 20_000
"""How many rows the model is asked about, at most, to find which rules are in the way."""

SEARCHED = frozenset({Outcome.UNREACHABLE, Outcome.STALLED, Outcome.STEP_LIMIT})
"""Outcomes of a search that went to its end and found no route."""

OPEN = {
    "reference": "the reference of this letter",
    "review": "who looks at the decision again, and how to ask for it",
    "deadline": "until when, and for what",
    "contact": "whom to ask, and how",
    "statutory": "what the law says has to be here",
}
"""What belongs into each slot."""


def letter(  # noqa: PLR0913  # every slot has a name and a meaning of its own
    result: Recourse,
    person: Hashable,
    *,
    step: Method | None = None,
    sender: str | None = None,
    recipient: str | None = None,
    date: str | dt.date | None = None,
    reference: str | None = None,
    contact: str | None = None,
    deadline: str | None = None,
    review: str | None = None,
    statutory: str | None = None,
    hide: Iterable[str] = (),
    show_score: bool = False,
    draft: bool | None = None,
) -> str:
    """A letter as one HTML page, to be printed on A4 or US letter; `write` makes it a file.

    person      the value that names them in the index of the frame they came from
    step        the fitted method, for why the answer is no, and which rules stand in the way
    sender      name and address, in lines; so is `recipient`
    reference   what to quote in an answer
    contact     whom to ask, in lines
    deadline    until when something is to be done, and what
    review      how to have a person look at the decision again
    statutory   text that the law wants there; a blank line begins a paragraph
    hide        features that are never named, such as sex; routes that change them are left out
    show_score  whether the person is told their score, and that after each route
    draft       whether it says DRAFT, and shows slots that are left open; by default if no feature
                of the schema has a label
    """
    schema, index = result.space.schema, result.index_of(person)
    hidden = hidden_names(hide, schema)
    plan = told(words.plan(result, person), schema, hidden, result.broken_today[index])
    asked = None if step is None else _Asked(step, result, index, hidden)
    is_draft = _lacks_labels(schema) if draft is None else draft
    slots = {
        "reference": _lines(reference),
        "review": _lines(review),
        "deadline": _lines(deadline),
        "contact": _lines(contact),
        "statutory": _paragraphs(statutory),
    }
    alone = [route for route in plan.routes if len(route.changes) == 1]
    together = [route for route in plan.routes if len(route.changes) > 1]
    is_no = plan.outcome is not Outcome.ALREADY_POSITIVE and not math.isnan(plan.score)
    searched = bool(plan.routes) or plan.outcome in SEARCHED
    return render(
        "letter.html.j2",
        title="Your application and the routes to a yes" if plan.routes else "Your application",
        header={
            "sender": _lines(sender),
            "recipient": _lines(recipient),
            "date": _lines(None if date is None else str(date)),
        },
        slots={name: lines for name, lines in slots.items() if lines or is_draft},
        open=OPEN,
        is_draft=is_draft,
        lacks_labels=_lacks_labels(schema),
        plan=plan,
        is_no=is_no,
        is_yes=plan.outcome is Outcome.ALREADY_POSITIVE,
        is_invalid=plan.outcome is Outcome.INVALID_ROW,
        lacks=plan.outcome in (Outcome.MISSING_VALUE, Outcome.INVALID_ROW),
        unmet=_unmet(result, index, hidden) if is_no else [],
        weighed=asked.weighed() if asked and is_no else [],
        openings=asked.openings() if asked and plan.outcome in SEARCHED else [],
        alone=list(enumerate(alone, 1)),
        together=list(enumerate(together, len(alone) + 1)),
        spare=words.listed(_labels(schema, plan, hidden, chosen=True), "or") if searched else "",
        fixed=words.listed(_labels(schema, plan, hidden, chosen=False)) if searched else "",
        has_results=any(route.follows for route in plan.routes),
        show_score=show_score,
        more=partial(_more, goal=result.goal if show_score else None),
        held=held,
        words=words,
    )


def _lacks_labels(schema: Schema) -> bool:
    """Whether things are called what a table's columns are called, and nothing else."""
    return not any({"label", "labels"} & feature.settings.keys() for feature in schema.features)


def _labels(
    schema: Schema, plan: words.Plan, hidden: frozenset[str], *, chosen: bool
) -> Sequence[str]:
    """What no route changes, though it could be changed; or what never changes."""
    changed = frozenset[str]().union(*(route.features for route in plan.routes))
    return [
        f.label
        for f in schema.features
        if f.name not in changed | hidden and (f.chosen if chosen else f.change is Change.NEVER)
    ]


def _more(route: Route, goal: Goal | None) -> str:
    """What comes of a route, and how sure it is.

    goal  where the person is told the score
    """
    sentences = [route.consequence]
    if goal is not None:
        sentences.append(route.ending(goal))
    if route.tight:
        sentences.append(TIGHT)
    if route.holds is not None:
        least = percent(math.floor(100 * route.holds + 1e-9) / 100)  # it's a bound
        sentences.append(f"We expect this to hold with a probability of at least {least}.")
    return " ".join(filter(None, sentences))


# ---- reasons ----------------------------------------------------------------------------------


def _unmet(result: Recourse, index: int, hidden: frozenset[str]) -> list[str]:
    """What the policy asks for and today's values don't keep."""
    schema, today = result.space.schema, result.routes[index][0].values[:1]
    policy = Requirements.of(result.goal.policy, schema, policy=True)
    texts = [part.formula.text for part in policy.parts]
    kept = policy.hold(today, today)[0]
    return [
        words.requirement(text, schema)
        for text, is_kept in zip(texts, kept, strict=True)
        if not is_kept and not mentions(text, hidden)
    ]


@dataclass(frozen=True, eq=False)
class _Asked:
    """What a fitted method says of one person of a result."""

    step: Method
    result: Recourse
    index: int
    hidden: frozenset[str]

    def __post_init__(self) -> None:
        if not isinstance(self.step, Method):
            raise ParameterError(
                f"step must be a fitted method, such as sl.StEP; got {self.step!r}."
            )
        if odd := self.result.space.schema.differs_in(self.step.space_.schema):
            raise ParameterError(
                f"The result and the method it was given with differ in {odd!r}. Give the method "
                "that made the result, or none."
            )

    @property
    def row(self) -> Frame:
        values = self.result.routes[self.index][0].values[:1]
        return self.result.space.to_frame(values, self.result.template)

    def weighed(self) -> list[str]:
        """What weighed most against them, with the value they have: 'Income: $2,000 a month'."""
        if self.step.background_ is None:
            return []
        found = frames.read(self.step.refusals(self.row))
        pulls = dict(zip(found["feature"].to_list(), found["pull"].to_list(), strict=True))
        down = sum(pull for pull in pulls.values() if pull < 0)
        strong = [name for name, pull in pulls.items() if pull < SMALL * down]
        return [self._said(name) for name in strong if name not in self.hidden][:MAIN]

    def _said(self, name: str) -> str:
        space = self.result.space
        feature, f = space.schema[name], space.schema.position(name)
        value: Any = space.shown(f, self.result.routes[self.index][0].values[0, f])
        return (
            f"{words.capital(feature.label)}: {words.value(feature, short_value(feature, value))}"
        )

    def openings(self) -> list[str]:
        """What would have to be otherwise for a route, in words."""
        step = self.step
        if not isinstance(step, StEP) or not step.honours_rules or step.is_private:
            return []
        found = why_not(step, self.row, most_rows=MOST_ROWS).for_the_person()
        told = [opening for opening in found.openings if not self._is_hidden(opening)]
        return [str(opening) for opening in told[:OPENINGS]]

    def _is_hidden(self, opening: Opening) -> bool:
        return any(
            rule.feature.name in self.hidden
            if rule.feature is not None
            else bool(rule.text) and not rule.text.isdigit() and mentions(rule.text, self.hidden)
            for rule in opening.rules
        )


# ---- slots ------------------------------------------------------------------------------------


def _lines(text: str | None) -> list[str]:
    return [] if text is None else [line.strip() for line in text.strip().splitlines()]


def _paragraphs(text: str | None) -> list[str]:
    parts = [] if text is None else text.strip().split("\n\n")
    return [" ".join(part.split()) for part in parts if part.strip()]
