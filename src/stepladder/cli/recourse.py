"""`stepladder recourse`: paths for every person of a table, from a model, data and a schema."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from stepladder.cli import Exit
from stepladder.cli.inputs import (
    DATA,
    MODEL,
    PEOPLE,
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
    Invalid,
    Labels,
    LedgerFile,
    Limit,
    Limits,
    Lock,
    MaxChanges,
    MaxSteps,
    MethodName,
    PathCount,
    Policy,
    Quiet,
    Slack,
    StepSize,
    TimeBudget,
    Trust,
    TrustPickle,
    Wanted,
    budget_of,
    is_private,
    locked_names,
    method_of,
    not_read_from,
)
from stepladder.cli.parts import Parts, Scheduler, To, Workers, check_parts
from stepladder.cli.report import check_page
from stepladder.cli.successors import Holds, Replacements, RetrainOn, SuccessorsFolder

if TYPE_CHECKING:
    import pandas as pd

    from stepladder.cli.limits import LimitsFile
    from stepladder.cli.results import Results
    from stepladder.methods.base import Method
    from stepladder.result.recourse import Recourse


def recourse(  # noqa: PLR0913, PLR0917  # one for each option
    model: Annotated[str, MODEL],
    data: Annotated[Path, DATA],
    people: Annotated[Path, PEOPLE],
    schema: Annotated[Path, SCHEMA],
    goal: GoalScore = None,
    goal_between: GoalBetween = None,
    desired: Desired = None,
    policy: Policy = None,
    labels: Labels = None,
    holds: Holds = None,
    retrain_on: RetrainOn = None,
    successors: SuccessorsFolder = None,
    identity: Identity = None,
    method: MethodName = "step",
    paths: PathCount = None,
    max_changes: MaxChanges = None,
    cost: Cost = None,
    slack: Slack = None,
    step_size: StepSize = None,
    max_steps: MaxSteps = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where results go: .parquet or .json (every step), .csv (every end)."),
    ] = None,
    to: To = None,
    scheduler: Scheduler = None,
    workers: Workers = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Also a report, an .html page; --out must then be a .parquet or .json."),
    ] = None,
    invalid: Invalid = "outcome",
    lock: Lock = None,
    limits: Limits = None,
    limit: Limit = None,
    time_budget: TimeBudget = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    ledger: LedgerFile = None,
    bought: Bought = None,
    trust: Trust = None,
    trust_pickle: TrustPickle = False,
    quiet: Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print counts and metrics as one JSON object.")
    ] = False,
) -> None:
    """Find paths to a yes for every person of a table.

    People are read, answered and written a thousand at a time, so there may be any number of
    them. Ctrl-C keeps what is finished, in a file named .partial beside the one asked for, or with
    --to as parts from which the same command goes on.
    """
    from stepladder.cli.limits import LimitsFile
    from stepladder.cli.results import Results
    from stepladder.privacy.pay import PayOnce

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
    private = is_private(method, epsilon, delta, ledger, bought)
    read = (model, data, people, schema, limits, ledger, bought)
    check_parts(to, out, scheduler, workers, time_budget, private=private, bought=bought)
    _check_places(out, report, *read, in_parts=to is not None)
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
        quiet=quiet,
    )
    locked = locked_names(inputs.rules, lock)
    bounded = None if limits is None else LimitsFile.read(limits, inputs.rules)
    rows = inputs.rows()
    space = inputs.space(rows, public=private)
    parts = None if to is None else Parts(to, inputs, space, identity, limit, bounded)
    total = inputs.check_people(
        space,
        identity,
        limit,
        bounded,
        invalid=invalid,
        private=private,
        size=None if parts is None else parts.size,
        look=None if parts is None else parts.look,
    )
    models = replacements.models(
        inputs, space, rows, trust=trust, trust_pickle=trust_pickle, quiet=quiet
    )
    with nullcontext() if out is None else Results(out) as results:
        paid = PayOnce(budget_of(epsilon, delta, ledger), saved=bought) if private else None
        chosen = method_of(method, settings, paid)
        inputs.fit(chosen, space, rows, models)
        fingerprints, aside = inputs.fingerprints(space, rows), inputs.set_aside(identity)
        del rows  # there may be many, and answering no longer needs them
        run = Run(
            chosen,
            results,
            fingerprints,
            aside,
            total,
            time_budget,
            invalid,
            most_faults=None if as_json else SHOWN,
            locked=locked,
            limits=bounded,
        )
        if parts is not None:
            run.answer_parts(parts, quiet, scheduler, workers)
            file = to
        else:
            run.answer(inputs.people(space, identity, limit), quiet)
            file = None if results is None or not run.people else results.keep(partial=run.stopped)
    if as_json:
        summary = {**run.to_dict(), "out": None if file is None else str(file)}
        typer.echo(json.dumps(summary, indent=2, default=str))
    elif not quiet or run.stopped:
        _say(run, file)
    _say_invalid(run)
    if run.stopped:
        raise typer.Exit(Exit.INTERRUPTED)
    if report is not None and file is not None:
        _write_report(report, file, chosen)
        if not quiet:
            typer.echo(f"The report is in {report}.", err=True)
    if run.outcomes["invalid_row"]:  # before "nobody has a path", which says that all went well
        raise typer.Exit(Exit.INVALID)
    if not run.outcomes["reached"] and run.people > run.outcomes["already_positive"]:
        raise typer.Exit(Exit.NOBODY)


def _check_places(
    out: Path | None, report: Path | None, *read: Path | str | None, in_parts: bool
) -> None:
    """Refuse files that couldn't be written, or are read."""
    from stepladder.cli.results import check_result_name

    if out is not None:
        check_result_name(out)
        not_read_from("--out", out, *read)
    if report is not None:
        if not in_parts and (out is None or out.suffix.lower() == ".csv"):
            raise typer.BadParameter(
                "--report is made from a result: give --out a .parquet or .json file."
            )
        check_page("--report", report, *([] if out is None else [out]), *read)


# ---- the run ----------------------------------------------------------------------------------


@dataclass
class Run:
    """A run over a table, batch by batch, and what is known of it so far."""

    method: Method
    results: Results | None
    fingerprints: dict[str, str]
    set_aside: tuple[str, ...]
    total: int
    time_budget: float | None
    invalid: str
    """whether an invalid row is an outcome, or an error"""
    most_faults: int | None
    """how many people with an invalid row are kept by name; None for all"""
    locked: Sequence[str] = ()
    limits: LimitsFile | None = None
    people: int = 0
    seconds: float = 0.0
    stopped: bool = False
    outcomes: Counter[str] = field(default_factory=Counter)
    sums: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """the sum over the people of whom a metric says something"""
    measured: Counter[str] = field(default_factory=Counter)
    """how many those are"""
    privacy: Any = None
    faults: list[dict[str, Any]] = field(default_factory=list)
    """people with an invalid row, and what is wrong with it"""

    def answer(self, batches: Iterable[pd.DataFrame], quiet: bool) -> None:
        """Answer batches of people until they, or the user's patience, come to an end."""
        from rich.console import Console

        from stepladder.files import uninterrupted
        from stepladder.progress import Bar

        began = time.monotonic()
        try:
            console = Console(stderr=True, highlight=False)
            with Bar("people", self.total, console=console, shown=not quiet) as bar:

                def reached(done: int, _: int) -> None:
                    bar.reached(self.people + done)

                for people in batches:
                    spent = time.monotonic() - began
                    left = self.time_budget and max(self.time_budget - spent, 1e-9)
                    found = self.method.recourse(
                        people,
                        progress=reached,
                        time_budget=left,
                        invalid="raise" if self.invalid == "raise" else "outcome",
                        locked=self.locked,
                        limits=None if self.limits is None else self.limits.of(people),
                    )
                    found = replace(found, fingerprints=self.fingerprints, set_aside=self.set_aside)
                    with uninterrupted():
                        if self.results is not None:
                            self.results.add(found)
                        self._count(found)
                    bar.reached(self.people)
        except KeyboardInterrupt:
            self.stopped = True
        self.seconds = time.monotonic() - began

    def answer_parts(
        self, parts: Parts, quiet: bool, scheduler: str | None, workers: int | None
    ) -> None:
        """Answer people part by part into a folder, and count who is in it then."""
        from rich.console import Console

        from stepladder.progress import Bar
        from stepladder.result.recourse import Recourse

        began = time.monotonic()
        run = parts.run(self)
        try:
            console = Console(stderr=True, highlight=False)
            with Bar("people", self.total, console=console, shown=not quiet) as bar:
                run.answer(
                    client=scheduler, workers=workers, progress=lambda done, _: bar.reached(done)
                )
        except KeyboardInterrupt:
            self.stopped = True
        self.seconds = time.monotonic() - began
        for number in sorted(run.folder.finished):
            self._count(Recourse.load(run.folder.part(number)))

    def _count(self, found: Recourse) -> None:
        from stepladder.metrics import each

        self.people += len(found.people)
        status = found.status
        self.outcomes.update(status["outcome"].tolist())
        wrong = status.loc[status["outcome"] == "invalid_row", ["person", "reason"]]
        self.faults = [*self.faults, *wrong.to_dict("records")][: self.most_faults]
        self.privacy = found.privacy
        for name, values in each(found.measured()).items():
            known = values[np.isfinite(values)]
            self.sums[name] += float(known.sum())
            self.measured[name] += len(known)

    def to_dict(self) -> dict[str, Any]:
        """Counts and metrics as plain values."""
        return {
            "people": self.people,
            "complete": not self.stopped,
            "seconds": round(self.seconds, 3),
            "outcomes": dict(self.outcomes),
            "invalid": self.faults,
            "metrics": {
                name: self.sums[name] / count if count else None
                for name, count in self.measured.items()
            },
            "goal": str(self.method.scorer_.goal),
            "settings": self.method.settings,
            "reference": self.method.counts_,
            "privacy": None if self.privacy is None else self.privacy.to_dict(),
            "set_aside": list(self.set_aside),
        }


def _write_report(page: Path, result: Path, method: Method) -> None:
    """A report of all that was found; unlike the run itself, it holds everyone in memory."""
    from stepladder.methods.step import StEP
    from stepladder.result.recourse import Recourse
    from stepladder.view.report import report, write

    step = method if isinstance(method, StEP) else None
    write(report(Recourse.load(result), step=step), page)


SHOWN = 10
"""How many people with an invalid row are listed."""


def _say_invalid(run: Run) -> None:
    """List invalid rows; with --quiet too, since they are errors."""
    count = run.outcomes["invalid_row"]
    if not count:
        return
    rows = "1 row is" if count == 1 else f"{count:,} rows are"
    typer.echo(f"{rows} invalid:", err=True)
    for fault in run.faults[:SHOWN]:
        typer.echo(f"  {fault['person']}: {fault['reason']}", err=True)
    if count > SHOWN:
        typer.echo(f"  and {count - SHOWN:,} more", err=True)


def _say(run: Run, file: Path | None) -> None:
    from stepladder.cli.results import RESULTS

    if run.stopped:
        kept = f"are kept in {file}" if file else "were finished, and nothing was written"
        on = "; the same command goes on from there" if file and file.is_dir() else ""
        typer.echo(f"Stopped. {run.people:,} of {run.total:,} people {kept}{on}.", err=True)
        return
    reached, before = run.outcomes["reached"], run.outcomes["already_positive"]
    rest = {
        name: n for name, n in run.outcomes.items() if name not in ("reached", "already_positive")
    }
    why = f" ({', '.join(f'{name} {n:,}' for name, n in sorted(rest.items()))})" if rest else ""
    typer.echo(
        f"{_people(run.people)}: {reached:,} {_have(reached)} a path to "
        f"{run.method.scorer_.goal}, {before:,} had a yes already, "
        f"{sum(rest.values()):,} {_have(sum(rest.values()))} none{why}."
    )
    if left_out := run.method.counts_.get("missing_value"):
        typer.echo(f"Reference rows left out, since a value is missing: {left_out:,}.", err=True)
    if run.privacy is not None:
        typer.echo(f"Privacy: {run.privacy}", err=True)
    if file is not None:
        what = (
            "every row of every path, in parts" if file.is_dir() else RESULTS[file.suffix.lower()]
        )
        typer.echo(f"Written to {file}: {what}.", err=True)


def _people(count: int) -> str:
    return "1 person" if count == 1 else f"{count:,} people"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"
