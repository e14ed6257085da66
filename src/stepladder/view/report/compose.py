"""The report put together."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path as File
from typing import Any

from stepladder.audit import Audit, audit
from stepladder.checks import whole_number
from stepladder.errors import ParameterError
from stepladder.methods.step import StEP
from stepladder.result.recourse import Recourse
from stepladder.table.frames import Frame
from stepladder.view.page import render
from stepladder.view.plots.routes import route_title
from stepladder.view.report.compared import compared
from stepladder.view.report.everyone import everyone
from stepladder.view.report.examples import chosen, shown
from stepladder.view.report.findings import findings, lead
from stepladder.view.report.settings import called, made, rules
from stepladder.view.spread import asking
from stepladder.words import plans as words


def report(
    result: Recourse,
    *,
    step: StEP | None = None,
    groups: Audit | Frame | Mapping[str, Any] | Sequence[str] | str | None = None,
    people: int = 10,
    title: str | None = None,
    model: str | File | bytes | None = None,
    data: Frame | None = None,
    date: str | dt.date | None = None,
) -> str:
    """A result as one HTML page; `write` makes it a file.

    step    the fitted method, to tell those without a route what would open one
    groups  what `stepladder.audit.audit` divides people by, or a finished audit, which doesn't
            know who is in which group: what each is asked to change isn't drawn then
    people  how many people's plans are shown, spread evenly over the result's order
    model   the model's file or its bytes, for its fingerprint
    data    the table the method was fitted on, for its fingerprint
    date    left out unless given
    """
    people = whole_number("people", people, 0)
    if step is not None and not isinstance(step, StEP):
        raise ParameterError(f"report(step) takes a fitted sl.StEP; got {step!r}.")
    asked = asking(result)
    found = groups if groups is None or isinstance(groups, Audit) else audit(result, groups)
    members = None if isinstance(groups, Audit) else groups
    return render(
        "report.html.j2",
        title=title or "Routes to a yes",
        date=None if date is None else str(date),
        lead=lead(result),
        findings=findings(result, found),
        everyone=everyone(result),
        groups=None if found is None else compared(result, found, members),
        shown=[shown(result, index, step) for index in chosen(asked, people)],
        asked=len(asked),
        goal=result.goal,
        made=made(result, model, data),
        settings=called(result),
        rules=rules(result),
        privacy=None if result.privacy is None else str(result.privacy).splitlines(),
        words=words,
        route_title=route_title,
    )
