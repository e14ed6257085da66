"""`stepladder recourse`: paths for every person of a table, from a model, data and a schema."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from stepladder.cli import Exit
from stepladder.errors import EmptyFrameError, FrameError, SchemaError, listing

if TYPE_CHECKING:
    from stepladder.cli.files import Table
    from stepladder.cli.results import Results
    from stepladder.methods.base import Method
    from stepladder.recourse import Recourse
    from stepladder.schema import Schema

AT_A_TIME = 1000
"""How many people are read, answered and written together."""


def recourse(  # noqa: PLR0913, PLR0917  # an option each
    model: Annotated[
        str,
        typer.Option(
            help="A file (.skops, .onnx, XGBoost's .json or .ubj, LightGBM's .txt), module:name, "
            "or https://host/v2/models/name.",
        ),
    ],
    data: Annotated[Path, typer.Option(help="The reference table, as the model was trained on.")],
    people: Annotated[Path, typer.Option(help="The table of people who want a path.")],
    schema: Annotated[Path, typer.Option(help="What can change, and how: stepladder schema.")],
    goal: Annotated[float, typer.Option(help="The score that a path has to reach.")] = 0.5,
    desired: Annotated[
        str | None, typer.Option(help="The class that is hoped for (the second of two).")
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(help="A column of --data: who is followed must carry the desired label too."),
    ] = None,
    identity: Annotated[
        str | None, typer.Option("--id", help="The column of --people that says who each is.")
    ] = None,
    method: Annotated[str, typer.Option(help="step, dice, face, cchvae or mim.")] = "step",
    paths: Annotated[int | None, typer.Option(help="How many paths each person gets (3).")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where results go: .parquet or .json (every step), .csv (every end)."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many people.")] = None,
    time_budget: Annotated[
        float | None, typer.Option(help="Seconds, after which whoever is left has timed_out.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="A privacy budget for the rows of --data, with --delta.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="Of that budget; about 1/n² for n rows is usual.")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="The file that keeps what was spent of the budget.")
    ] = None,
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Open a pickled model, which can run anything.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Say counts and metrics as one JSON object.")
    ] = False,
) -> None:
    """Find paths to a yes for every person of a table.

    People are read, answered and written a thousand at a time, so there may be any number of
    them. Ctrl-C keeps what is finished, in a file named .partial beside the one asked for.
    """
    from stepladder.cli.files import Table
    from stepladder.cli.results import Results
    from stepladder.goal import Goal
    from stepladder.loading import load

    _check_files(out, (data, people, schema, ledger))
    rules = _schema(schema)
    if labels in rules.columns:
        raise typer.BadParameter(f"--labels {labels} is a feature in {schema}; take it out there.")
    reference, waiting = Table(data), Table(people)
    for table in (reference, waiting):
        table.require(rules.columns, "the schema")
        if not quiet:
            _say_left_aside(table, {*rules.columns, labels, identity})
    if labels:
        reference.require([labels], "--labels")
    if identity and identity != waiting.index:
        waiting.require([identity], "--id")
    asked = load(model, trust_pickle=trust_pickle)
    wanted = Goal(threshold=goal, desired=_class(asked, desired))
    chosen = _method(method, paths, _budget(epsilon, delta, ledger))
    with nullcontext() if out is None else Results(out) as results:
        frame = reference.frame(rules, [labels] if labels else [])
        carried = frame.pop(labels) if labels else None
        chosen.fit(frame, asked, schema=rules, goal=wanted, labels=carried)
        run = Run(chosen, waiting, results, limit, time_budget)
        run.answer(waiting.batches(rules, identity, AT_A_TIME, limit), quiet)
        place = None if results is None or not run.people else results.keep(partial=run.stopped)
    if as_json:
        said = {**run.to_dict(), "out": None if place is None else str(place)}
        typer.echo(json.dumps(said, indent=2, default=str))
    elif not quiet or run.stopped:
        _say(run, place)
    if run.stopped:
        raise typer.Exit(Exit.INTERRUPTED)
    if not run.outcomes["reached"] and run.people > run.outcomes["already_positive"]:
        raise typer.Exit(Exit.NOBODY)


# ---- the run ----------------------------------------------------------------------------------


@dataclass
class Run:
    """A run over a table, batch by batch, and what is known of it so far."""

    method: Method
    table: Table
    results: Results | None
    limit: int | None
    time_budget: float | None
    people: int = 0
    seconds: float = 0.0
    stopped: bool = False
    outcomes: Counter[str] = field(default_factory=Counter)
    sums: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """the sum over the people of whom a metric says something"""
    measured: Counter[str] = field(default_factory=Counter)
    """how many those are"""
    privacy: Any = None

    @property
    def total(self) -> int | None:
        """How many people there will be; None where only reading the file would tell."""
        known = [count for count in (self.table.rows, self.limit) if count is not None]
        return min(known) if self.table.rows is not None else None

    def answer(self, batches: Iterable[tuple[Any, Any]], quiet: bool) -> None:
        """Answer batches of people until they, or the user's patience, come to an end."""
        from stepladder.cli.progress import PeopleBar
        from stepladder.cli.results import uninterrupted

        began = time.monotonic()
        try:
            with PeopleBar(self.total, shown=not quiet) as bar:
                for people, names in batches:
                    before, spent = self.people, time.monotonic() - began
                    budget = self.time_budget and max(self.time_budget - spent, 1e-9)
                    found = self._asked(people, lambda n, _, b=before: bar.reached(b + n), budget)
                    with uninterrupted():
                        if self.results is not None:
                            self.results.add(found, names)
                        self._count(found)
                    bar.reached(self.people)
        except KeyboardInterrupt:
            self.stopped = True
        self.seconds = time.monotonic() - began
        if not (self.people or self.stopped):
            raise EmptyFrameError(f"{str(self.table.file)!r} has no rows.")

    def _asked(self, people: Any, progress: Any, budget: float | None) -> Recourse:
        try:
            return self.method.recourse(people, progress=progress, time_budget=budget)
        except FrameError as error:
            where = f"From row {self.people:,} on, counted there from 0 again: "
            place = f"{str(self.table.file)!r}: {where if self.people else ''}"
            raise type(error)(f"{place}{error}") from error

    def _count(self, found: Recourse) -> None:
        from stepladder.metrics import each

        self.people += len(found.people)
        self.outcomes.update(found.status["outcome"].to_pylist())
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
            "metrics": {
                name: self.sums[name] / count if count else None
                for name, count in self.measured.items()
            },
            "goal": str(self.method.scorer_.goal),
            "settings": self.method.settings,
            "reference": self.method.counts_,
            "privacy": None if self.privacy is None else self.privacy.to_dict(),
        }


def _say(run: Run, place: Path | None) -> None:
    from stepladder.cli.results import RESULTS

    if run.stopped:
        of = f" of {run.total:,}" if run.total else ""
        kept = f"are kept in {place}" if place else "were finished, and nothing was written"
        typer.echo(f"Stopped. {run.people:,}{of} people {kept}.", err=True)
        return
    reached, before = run.outcomes["reached"], run.outcomes["already_positive"]
    rest = {
        name: n for name, n in run.outcomes.items() if name not in ("reached", "already_positive")
    }
    why = f" ({', '.join(f'{name} {n:,}' for name, n in sorted(rest.items()))})" if rest else ""
    typer.echo(
        f"{run.people:,} people: {reached:,} have a path to {run.method.scorer_.goal}, "
        f"{before:,} are there already, {sum(rest.values()):,} have none{why}."
    )
    if run.privacy is not None:
        typer.echo(f"Privacy: {run.privacy}", err=True)
    if place is not None:
        typer.echo(f"Written to {place}: {RESULTS[place.suffix.lower()]}.", err=True)


# ---- what was asked for -----------------------------------------------------------------------


def _check_files(out: Path | None, read: Iterable[Path | None]) -> None:
    from stepladder.cli.results import check_result_name

    if out is None:
        return
    check_result_name(out)
    if out.resolve() in {file.resolve() for file in read if file is not None}:
        raise typer.BadParameter(f"--out {out} is a file that is read from; name another.")


def _schema(file: Path) -> Schema:
    from stepladder.schema import Schema

    if not file.is_file():
        raise SchemaError(
            f"There is no schema file at {str(file)!r}. Make one: stepladder schema TABLE --out …"
        )
    return Schema.load(file)


def _say_left_aside(table: Table, named: set[Any]) -> None:
    extra = [column for column in table.columns if column not in named]
    if extra:
        typer.echo(f"{table.file}: not in the schema, left aside: {listing(extra)}.", err=True)


def _class(model: Any, said: str | None) -> Any:
    """The class that was said, as the model knows it; a number of one that names none."""
    if said is None:
        return None
    classes = getattr(model, "classes_", None)
    for known in [] if classes is None else np.asarray(classes).tolist():
        if str(known) == said:
            return known
    return int(said) if said.isdecimal() else said


def _budget(epsilon: float | None, delta: float | None, ledger: Path | None) -> Any:
    from stepladder.privacy.accountant import Budget

    if epsilon is None and delta is None:
        return None if ledger is None else Budget.open(ledger)
    if epsilon is None or delta is None:
        raise typer.BadParameter(
            "--epsilon and --delta come together; about 1/n² is a usual delta."
        )
    return Budget(epsilon, delta, ledger=ledger)


def _method(name: str, paths: int | None, budget: Any) -> Method:
    from stepladder.methods.catalogue import make

    if budget is not None and name != "step":
        raise typer.BadParameter(f"Only --method step can keep to a privacy budget; got {name}.")
    asked = {"paths": paths, "privacy": budget}
    return make(name, {setting: value for setting, value in asked.items() if value is not None})
