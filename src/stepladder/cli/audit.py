"""`stepladder audit`: what groups of people are offered, from a saved result or from the inputs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
import typer

from stepladder.cli import Exit
from stepladder.cli.groups import GROUPS, columns, features, opened
from stepladder.cli.inputs import (
    AT_A_TIME,
    DATA,
    MODEL,
    PEOPLE,
    SCHEMA,
    Bought,
    Delta,
    Desired,
    Epsilon,
    GoalScore,
    Inputs,
    Labels,
    LedgerFile,
    Limit,
    MethodName,
    PathCount,
    Quiet,
    TimeBudget,
    TrustPickle,
    budget_of,
    is_private,
    method_of,
    names,
    not_read_from,
)
from stepladder.errors import ResultError

if TYPE_CHECKING:
    from stepladder.audit import Audit
    from stepladder.methods.base import Method
    from stepladder.recourse import Recourse

AUDITS = {".json": "every table of the audit", ".csv": "a row for each group"}
"""What an audit is written to, and what the file then holds."""


def audit(  # noqa: PLR0913, PLR0917  # an option each
    by: Annotated[
        list[str], typer.Option(help="Columns: sex,race. Each is looked at, and every pair.")
    ],
    result: Annotated[
        Path | None,
        typer.Argument(
            metavar="RESULT",
            help="What stepladder recourse wrote as .parquet, or Recourse.save.",
        ),
    ] = None,
    groups: Annotated[Path | None, GROUPS] = None,
    identity: Annotated[
        str | None,
        typer.Option("--id", help="The column that says who each is, of --people and --groups."),
    ] = None,
    budget: Annotated[
        float | None, typer.Option(min=0, help="The cost that one notion asks about (the median).")
    ] = None,
    smallest: Annotated[
        int, typer.Option(min=1, help="A group of fewer who asked is marked as small.")
    ] = 30,
    out: Annotated[
        Path | None,
        typer.Option(help="A file: .json (everything) or .csv (a row for each group)."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Say everything as one JSON object.")
    ] = False,
    model: Annotated[str | None, MODEL] = None,
    data: Annotated[Path | None, DATA] = None,
    people: Annotated[Path | None, PEOPLE] = None,
    schema: Annotated[Path | None, SCHEMA] = None,
    goal: GoalScore = 0.5,
    desired: Desired = None,
    labels: Labels = None,
    method: MethodName = "step",
    paths: PathCount = None,
    limit: Limit = None,
    time_budget: TimeBudget = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    ledger: LedgerFile = None,
    bought: Bought = None,
    trust_pickle: TrustPickle = False,
    quiet: Quiet = False,
) -> None:
    """Compare what groups of people are offered.

    It takes a RESULT, or instead --model, --data, --people and --schema with the options of
    stepladder recourse, and then works the result out first.
    """
    from stepladder.audit import audit as audited
    from stepladder.privacy.pay import PayOnce

    private = is_private(method, epsilon, delta, ledger, bought)
    wanted = names(by)
    if not wanted:
        raise typer.BadParameter("--by names at least one column, such as sex.")
    if out is not None:
        _check_out(out, result, groups, data, people, schema, ledger, bought)
    table = None if groups is None else opened(groups, wanted, identity)
    if result is not None:
        found = _loaded(result, model, data, people, schema)
    elif model is None or data is None or people is None or schema is None:
        raise typer.BadParameter(
            "An audit takes a RESULT, or --model, --data, --people and --schema."
        )
    else:
        inputs = Inputs.read(
            model=model,
            data=data,
            people=people,
            schema=schema,
            goal=goal,
            desired=desired,
            labels=labels,
            identity=identity,
            trust_pickle=trust_pickle,
            quiet=quiet,
            also=tuple(wanted),
        )
        if table is None and any(name not in inputs.rules.names for name in wanted):
            table = opened(people, wanted, identity)
        space = inputs.space(public=private)
        inputs.check_people(space, identity, limit)
        paid = PayOnce(budget_of(epsilon, delta, ledger), saved=bought) if private else None
        chosen = method_of(method, paths, paid)
        inputs.fit(chosen, space)
        found = _worked_out(inputs, chosen, identity, limit, time_budget, quiet)
    about = features(found, wanted) if table is None else columns(found, table, wanted, identity)
    made = audited(found, about, smallest=smallest, budget=budget)
    if out is not None:
        _write(made, out)
    if as_json:
        typer.echo(json.dumps(made.to_dict(), indent=2))
    elif not quiet:
        typer.echo(str(made))
    if out is not None and not quiet:
        typer.echo(f"Written to {out}: {AUDITS[out.suffix.lower()]}.", err=True)
    if made.asked and not any(found.best(i)[0] is not None for i in range(len(found.people))):
        raise typer.Exit(Exit.NOBODY)


# ---- the result -------------------------------------------------------------------------------


def _loaded(result: Path, *inputs: Any) -> Recourse:
    from stepladder.recourse import Recourse

    if any(given is not None for given in inputs):
        raise typer.BadParameter(
            "RESULT is there already, so --model, --data, --people and --schema have no use. "
            "Give it, or them."
        )
    return Recourse.load(result)


def _worked_out(
    inputs: Inputs,
    method: Method,
    identity: str | None,
    limit: int | None,
    time_budget: float | None,
    quiet: bool,
) -> Recourse:
    """The result for everyone: an audit looks at all of them at once."""
    from stepladder.cli.files import arrow
    from stepladder.cli.progress import PeopleBar

    assert inputs.waiting is not None
    batches = list(inputs.waiting.batches(inputs.rules, identity, AT_A_TIME, limit))
    everyone = arrow().concat_tables([part for part, _ in batches], promote_options="permissive")
    with PeopleBar(len(everyone), shown=not quiet) as bar:
        found = method.recourse(
            everyone, progress=lambda done, _: bar.reached(done), time_budget=time_budget
        )
    if found.privacy is not None and not quiet:
        typer.echo(f"Privacy: {found.privacy}", err=True)
    called = np.empty(len(everyone), dtype=object)
    called[:] = [name for _, part in batches for name in part.to_pylist()]
    return replace(found, people=called)


# ---- the file ---------------------------------------------------------------------------------


def _check_out(out: Path, *read: Path | None) -> None:
    from stepladder.cli.files import check_place

    if out.suffix.lower() not in AUDITS:
        raise ResultError(
            f"Can't write an audit to {str(out)!r}: expected a name that ends in "
            f"{', '.join(AUDITS)}."
        )
    not_read_from("--out", out, *read)
    check_place(out)


def _write(made: Audit, out: Path) -> None:
    from stepladder.cli.files import write_text

    told = made.to_dict()
    if out.suffix.lower() == ".csv":
        write_text(pd.DataFrame(told["by_group"]).to_csv(index=False), out)
    else:
        write_text(json.dumps(told, indent=2) + "\n", out)
