"""`stepladder walk`: one person's loop with the program, in a terminal or from a script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stepladder.cli.inputs import (
    DATA,
    MODEL,
    SCHEMA,
    Bought,
    Cost,
    Delta,
    Desired,
    Epsilon,
    GoalBetween,
    GoalScore,
    Identity,
    Inputs,
    Labels,
    LedgerFile,
    Lock,
    MaxChanges,
    MaxSteps,
    PathCount,
    Policy,
    Slack,
    StepSize,
    Trust,
    TrustPickle,
    Wanted,
    budget_of,
    is_private,
    locked_names,
    method_of,
    not_read_from,
    say_aside,
)
from stepladder.cli.successors import Holds, Replacements, RetrainOn, SuccessorsFolder
from stepladder.errors import (
    ColumnError,
    DtypeError,
    FrameError,
    ParameterError,
    ResultError,
    listing,
    nearest,
)

if TYPE_CHECKING:
    from stepladder.privacy.pay import PayPerDirection
    from stepladder.table.schema import Schema
    from stepladder.table.space import Space


def walk(  # noqa: PLR0913, PLR0917  # one for each option
    model: Annotated[str, MODEL],
    data: Annotated[Path, DATA],
    schema: Annotated[Path, SCHEMA],
    goal: GoalScore = None,
    goal_between: GoalBetween = None,
    person: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which of --people it is about.")
    ] = None,
    people: Annotated[Path | None, typer.Option(help="The table that has the person.")] = None,
    identity: Identity = None,
    row: Annotated[
        Path | None, typer.Option(help="The person's row instead: JSON, {feature: value}.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="The .json file that keeps the walk, event by event.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with a walk that was kept, and keep it there.")
    ] = None,
    lock: Lock = None,
    desired: Desired = None,
    policy: Policy = None,
    labels: Labels = None,
    holds: Holds = None,
    retrain_on: RetrainOn = None,
    successors: SuccessorsFolder = None,
    paths: PathCount = None,
    max_changes: MaxChanges = None,
    cost: Cost = None,
    slack: Slack = None,
    step_size: StepSize = None,
    max_steps: MaxSteps = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    ledger: LedgerFile = None,
    bought: Bought = None,
    trust: Trust = None,
    trust_pickle: TrustPickle = False,
) -> None:
    """Walk with one person: offers, what they took or what happened, and offers from there.

    In a terminal it asks; else it reads one command per line from stdin, and stops at one that
    it can't follow. Each event is kept as it happens, so that the walk can be resumed.
    """
    from stepladder.cli.session import Session
    from stepladder.files import check_place
    from stepladder.methods.step import StEP
    from stepladder.privacy.pay import PayPerDirection

    wanted = Wanted.of(goal, goal_between, desired, policy)
    settings = {
        "paths": paths,
        "max_changes": max_changes,
        "cost": cost,
        "slack": slack,
        "step_size": step_size,
        "max_steps": max_steps,
        "holds": holds,
    }
    replacements = Replacements.of(holds, retrain_on, successors)
    private = is_private("step", epsilon, delta, ledger, bought)
    if resume is not None:
        if person is not None or row is not None:
            raise typer.BadParameter("--resume says who it is; leave out --person and --row.")
        people = None  # so that it needn't be taken out of a command that resumes a walk
    if (person is None) != (people is None):
        raise typer.BadParameter("--person and --people come together: who, and in which table.")
    if sum(given is not None for given in (person, row, resume)) != 1:
        raise typer.BadParameter(
            "A walk is about one person: give --person and --people, --row, or --resume."
        )
    file = save or resume
    if save is not None and save != resume:
        not_read_from("--save", save, model, data, people, schema, row, ledger, bought)
        if save.exists():
            raise ResultError(f"{str(save)!r} is there already; go on with it by --resume {save}.")
    if epsilon is not None and file is not None and ledger is None:
        raise typer.BadParameter(
            "A walk that is kept needs --ledger: what it spent has to be kept too."
        )
    begun = None if resume is None else _text(resume, "walk")
    start = None if row is None else _row(row)
    inputs = Inputs.read(
        model=model,
        data=data,
        people=people,
        schema=schema,
        wanted=wanted,
        labels=labels,
        identity=identity,
        trust=trust,
        trust_pickle=trust_pickle,
        retrain_on=retrain_on,
    )
    locked = locked_names(inputs.rules, lock)
    rows = inputs.rows()
    space = inputs.space(rows, public=private)
    if person is not None:
        start = _person(inputs, space, identity, person)
    elif row is not None and start is not None:
        _check_row(start, inputs.rules, row)
        say_aside(row, inputs.rules.set_aside(start))
    if file is not None:
        check_place(file)
    models = replacements.models(inputs, space, rows, trust=trust, trust_pickle=trust_pickle)
    paid = PayPerDirection(budget_of(epsilon, delta, ledger), saved=bought) if private else None
    _say_paid_again(paid, file)
    step = method_of("step", settings, paid)
    assert isinstance(step, StEP)
    inputs.fit(step, space, rows, models)
    del rows  # there may be many, and a walk may take an hour
    try:
        walked = step.walk(start) if begun is None else step.resume(begun)
    except ResultError as error:
        raise ResultError(f"{str(resume)!r}: {error}") from error
    for name in locked:
        walked.lock(name)
    raise typer.Exit(Session(step, walked, file).run())


def _say_paid_again(paid: PayPerDirection | None, file: Path | None) -> None:
    """Say what resuming a walk that is kept will cost, where it needn't."""
    if paid is not None and paid.saved is None and file is not None:
        typer.echo(
            "Without --bought FILE, the clusters that offers lead to are paid for again whenever "
            "this walk is resumed.",
            err=True,
        )


def _text(file: Path, what: str) -> str:
    if not file.is_file():
        raise ResultError(f"There is no {what} at {str(file)!r}.")
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ResultError(f"{str(file)!r} isn't text, so it's no {what}.") from error


def _row(file: Path) -> dict[str, Any]:
    """A person's row from a JSON file."""
    try:
        row = json.loads(_text(file, "row"))
    except json.JSONDecodeError as error:
        raise FrameError(
            f"{file}, line {error.lineno}, column {error.colno}: not JSON ({error.msg})."
        ) from error
    if not isinstance(row, dict) or any(isinstance(cell, dict | list) for cell in row.values()):
        raise FrameError(f"{str(file)!r} isn't a row: expected one object, {{feature: value}}.")
    return row


def _check_row(row: dict[str, Any], rules: Schema, file: Path) -> None:
    """Refuse a row that lacks a column of the schema, or has words for a number.

    What is derived may be left out, and is worked out.
    """
    derived = [feature.name for feature in rules.derived]
    for name in rules.columns:
        if name not in row and name not in derived:
            raise ColumnError(
                f"{str(file)!r} has no {name!r}, which the schema names.{nearest(name, row)}"
            )
    for name, cell in row.items():
        wordy = isinstance(cell, str | bool) and name in rules.names
        if wordy and rules[name].kind == "numeric":
            raise DtypeError(f"{str(file)!r}: {name!r} is a number, but stands there as {cell!r}.")


def _person(inputs: Inputs, space: Space, identity: str | None, wanted: str) -> Any:
    """The row of whoever is called so: a frame of one."""
    assert inputs.waiting is not None
    found, known = [], list[str]()
    for people in inputs.people(space, identity, None):
        called = [str(name) for name in people.index]
        found += [people.iloc[[i]] for i, name in enumerate(called) if name == wanted]
        known += called
    if len(found) == 1:
        return found[0]
    file = str(inputs.waiting.file)
    if found:
        raise ParameterError(f"{len(found)} people of {file!r} are called {wanted!r}; name one.")
    raise ParameterError(
        f"{file!r} has nobody called {wanted!r}.{nearest(wanted, known)} It has {listing(known)}."
    )
