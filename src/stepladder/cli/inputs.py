"""What the commands share: the options that name a model and its tables, and reading those."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from stepladder.cli.progress import working
from stepladder.errors import EmptyFrameError, FrameError, SchemaError, TableWarning, listing

if TYPE_CHECKING:
    import pandas as pd

    from stepladder.cli.limits import LimitsFile
    from stepladder.cli.tablefile import TableFile
    from stepladder.methods.base import Method
    from stepladder.model.goal import Goal
    from stepladder.privacy.accountant import Budget
    from stepladder.table.schema import Schema
    from stepladder.table.space import Space

AT_A_TIME = 1000
"""How many people are read, answered and written together."""

# ---- options ----------------------------------------------------------------------------------


def _score(given: float | None) -> float | None:
    if given is not None and not 0 < given <= 1:
        meant = f" Did you mean {given / 100:g}?" if 1 < given <= 100 else ""
        raise typer.BadParameter(f"{given:g} isn't a score above 0 and at most 1.{meant}")
    return given


def _seconds(given: float | None) -> float | None:
    if given is not None and not given > 0:
        raise typer.BadParameter(f"{given:g} isn't a number of seconds above 0.")
    return given


def _outcome_or_raise(given: str) -> str:
    if given not in ("outcome", "raise"):
        raise typer.BadParameter(f"{given!r} is neither outcome nor raise.")
    return given


MODEL = typer.Option(
    metavar="MODEL",
    help="A file (.skops, .onnx, XGBoost's .json or .ubj, LightGBM's .txt), module:name, or "
    "https://host/v2/models/name.",
)
DATA = typer.Option(help="The reference table, as the model was trained on.")
PEOPLE = typer.Option(help="The table of people who want a path.")
SCHEMA = typer.Option(help="What can change, and how: stepladder schema.")

GoalScore = Annotated[
    float | None,
    typer.Option(callback=_score, help="The score that a path has to reach, at most 1 (0.5)."),
]
GoalBetween = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="LOW HIGH",
        help="For a model that predicts a number: from where to where it should be, ends included; "
        "none for an open end.",
    ),
]
Desired = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CLASS",
        help="The class that people hope for (the second of two). May be repeated: any of them "
        "will do.",
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="A column of --data: positives must also have the desired label."
    ),
]
Identity = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="The column of --people that says who each is."),
]
Invalid = Annotated[
    str,
    typer.Option(
        callback=_outcome_or_raise,
        metavar="outcome|raise",
        help="Whether a row with an invalid value is that person's outcome, or ends the run.",
    ),
]


def _cost(given: str | None) -> str | None:
    if given not in (None, "effort", "distance"):
        raise typer.BadParameter(f"{given!r} is neither effort nor distance.")
    return given


Cost = Annotated[
    str | None,
    typer.Option(
        callback=_cost,
        metavar="effort|distance",
        help="What is least on the first path: what it asks of a person (effort), or how far it "
        "leads in standard deviations.",
    ),
]
Slack = Annotated[
    float | None,
    typer.Option(min=0, help="By what share changes may fall short and still lead to a yes (0.1)."),
]
StepSize = Annotated[
    float | None, typer.Option(help="How far a step may lead, in standard deviations (1).")
]
MaxSteps = Annotated[
    int | None, typer.Option(min=1, help="How many steps a path may have at most (50).")
]
MethodName = Annotated[str, typer.Option(metavar="NAME", help="step, dice, face, cchvae or mim.")]
MaxChanges = Annotated[
    int | None, typer.Option(min=1, help="How many things a path may change at most.")
]
Policy = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RULE",
        help='What a yes takes beside the model\'s: "dti <= 0.43". May be repeated.',
    ),
]
PathCount = Annotated[int | None, typer.Option(min=1, help="How many paths each person gets (3).")]
Lock = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="What can't change here, whatever the schema says: a,b. May be repeated.",
    ),
]
Limits = Annotated[
    Path | None,
    typer.Option(
        help="A table of how far people can go: person, feature, low, high; empty for an open end."
    ),
]
Limit = Annotated[int | None, typer.Option(min=1, help="Only this many people, from the top.")]
TimeBudget = Annotated[
    float | None,
    typer.Option(callback=_seconds, help="Seconds, after which whoever is left has timed_out."),
]
Epsilon = Annotated[
    float | None, typer.Option(help="A privacy budget for the rows of --data, with --delta.")
]
Delta = Annotated[
    float | None, typer.Option(help="The delta of that budget; about 1/n² for n rows is usual.")
]
LedgerFile = Annotated[
    Path | None, typer.Option(help="The file that keeps what was spent of the budget.")
]
Bought = Annotated[
    Path | None,
    typer.Option(
        help="A .json file for what the budget buys: kept there, and used again for nothing."
    ),
]
Trust = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TYPE",
        help="A type in a .skops model that you know to be harmless. May be repeated.",
    ),
]
TrustPickle = Annotated[
    bool, typer.Option("--trust-pickle", help="Open a pickled model, which can run anything.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]


def names(given: list[str] | None) -> list[str]:
    """What an option names that takes `a,b` and may be repeated."""
    return [name.strip() for part in given or () for name in part.split(",") if name.strip()]


def not_read_from(option: str, out: Path, *read: Path | str | None) -> None:
    """Refuse to write over what is read; a model may be named otherwise than by a file."""
    if out.resolve() in {Path(file).resolve() for file in read if file is not None}:
        raise typer.BadParameter(f"{option} {out} is a file that is read from; name another.")


def locked_names(schema: Schema, given: list[str] | None) -> list[str]:
    """The features that --lock names, by their names or labels."""
    from stepladder.cli.typed import position

    return [schema.names[position(schema, name)] for name in names(given)]


# ---- what they name ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Wanted:
    """What counts as a yes: a score, of which classes if any are named, or a range."""

    score: float
    desired: tuple[str, ...]
    range: Goal | None
    policy: tuple[str, ...] = ()
    """what a yes takes beside the model's"""

    @classmethod
    def of(
        cls,
        goal: float | None,
        between: tuple[str, str] | None,
        desired: list[str] | None,
        policy: list[str] | None,
    ) -> Wanted:
        """What --goal, --goal-between, --desired and --policy say, if they don't contradict."""
        from stepladder.model.goal import Goal

        for option, given in (("--goal", goal), ("--desired", desired)):
            if given and between is not None:
                raise typer.BadParameter(
                    "--goal-between is for a model that predicts a number, and "
                    f"{option} for one that scores classes; give one of them."
                )
        classes = tuple(desired or ())
        for named in classes:
            if classes.count(named) > 1:
                raise typer.BadParameter(f"--desired {named} is given more than once.")
        beside = tuple(policy or ())
        within = None if between is None else Goal.between(*map(_end, between), policy=beside)
        return cls(0.5 if goal is None else goal, classes, within, beside)

    def goal(self, model: Any) -> Goal:
        """The goal, in which classes are what the model knows them as."""
        from stepladder.model.goal import Goal

        classes = [_class(model, named) for named in self.desired]
        return self.range or Goal(threshold=self.score, desired=classes or None, policy=self.policy)


@dataclass(frozen=True)
class Inputs:
    """A model, its tables and what is wanted of it: all there, and fitting together."""

    rules: Schema
    reference: TableFile
    waiting: TableFile | None
    """the people who want a path"""
    labels: str | None
    named: str
    """what the model was called"""
    model: Any
    goal: Goal
    retrain_on: str | None = None
    """the column of labels that models like it are trained on"""
    talks: bool = True
    """whether work that takes a while shows itself"""

    @classmethod
    def read(
        cls,
        *,
        model: str,
        data: Path,
        people: Path | None,
        schema: Path,
        wanted: Wanted,
        labels: str | None,
        identity: str | None,
        trust: list[str] | None,
        trust_pickle: bool,
        retrain_on: str | None = None,
        quiet: bool = False,
    ) -> Inputs:
        """Open everything that was named."""
        from stepladder.cli.tablefile import TableFile
        from stepladder.model.loading import load

        rules = _schema(schema)
        label_columns = {"--labels": labels, "--retrain-on": retrain_on}
        for option, column in label_columns.items():
            if column in rules.columns:
                raise typer.BadParameter(
                    f"{option} {column} is a feature in {schema}; take it out there."
                )
        reference = TableFile(data)
        waiting = None if people is None else TableFile(people)
        for table in (reference, waiting):
            if table is not None:
                table.require(rules.columns, "the schema")
                if not quiet:
                    used = (labels, retrain_on) if table is reference else (identity,)
                    say_aside(table.file, _aside(rules, table, *used))
        for option, column in label_columns.items():
            reference.require([column] if column else [], option)
        if identity and waiting is not None and identity != waiting.index:
            waiting.require([identity], "--id")
        with working("Loading the model", shown=not quiet):
            asked = load(model, trust=names(trust), trust_pickle=trust_pickle)
        goal = wanted.goal(asked)
        return cls(rules, reference, waiting, labels, model, asked, goal, retrain_on, not quiet)

    def set_aside(self, identity: str | None) -> tuple[str, ...]:
        """The columns that people came with and no feature uses."""
        assert self.waiting is not None
        return _aside(self.rules, self.waiting, identity)

    def rows(self) -> pd.DataFrame:
        """The reference table, with the labels if there are any: read here, and nowhere else."""
        with working("Reading the table", shown=self.talks):
            rows = self.reference.frame(self.rules, self._label_columns)
        if not len(rows):
            raise EmptyFrameError(f"{str(self.reference.file)!r} has no rows.")
        return rows

    def space(self, rows: pd.DataFrame, *, public: bool) -> Space:
        """The space of the reference rows, once they and the model fit the schema.

        A `public` one learns nothing from them: see `Space.from_schema`.
        """
        from stepladder.model.scorer import Scorer
        from stepladder.table.space import Space

        with self.reference.blamed():
            make = Space.from_schema if public else Space.fit
            space = make(self.rules, rows)
            values = space.read(rows, allow_missing=True)
        complete = values[~np.isnan(values).any(axis=1)]
        Scorer(self.model, space, self.goal).score(complete[:1])
        return space

    def people(
        self, space: Space, identity: str | None, limit: int | None, size: int | None = None
    ) -> Iterator[pd.DataFrame]:
        """The people, `size` at a time or as usual; levels are read as the space has them."""
        assert self.waiting is not None
        return self.waiting.people(space.schema, identity, size or AT_A_TIME, limit)

    def check_people(
        self,
        space: Space,
        identity: str | None,
        limit: int | None,
        limits: LimitsFile | None = None,
        *,
        invalid: str,
        private: bool,
        size: int | None = None,
        look: Callable[[pd.DataFrame], None] | None = None,
    ) -> int:
        """Refuse people who can't be answered, before anything is begun or paid for; count them.

        So their table is read twice: everyone has to be checked before the first is answered, and
        there may be more of them than memory has room for. Where invalid rows are outcomes, only
        what concerns all rows is refused: a wrong column, or that nobody is left to pay for.
        Whoever else has to `look` at everybody, `size` at a time, does so here.
        """
        from stepladder.table.rules.faults import (
            add_bounds_faults,
            add_formula_faults,
            check_bounds,
            check_formulas,
        )

        table, hashes, faulty = self.waiting, [], 0
        unmet = set() if limits is None else limits.people
        assert table is not None
        for people in self.people(space, identity, limit, size):
            if look is not None:
                look(people)
            hashes.append(table.hashed(people, identity))
            unmet.difference_update(map(str, people.index))
            with table.blamed():
                if invalid == "outcome":
                    values, faults = space.read_each(people)
                    add_bounds_faults(space, values, faults)
                    add_formula_faults(space, values, faults)
                    faulty += len(faults)
                    continue
                values = space.read(people, allow_missing=True)
                check_bounds(space, values, people.index.to_numpy())
                check_formulas(space, values, people.index.to_numpy())
        count = sum(map(len, hashes))
        if not count:
            raise EmptyFrameError(f"{str(table.file)!r} has no rows.")
        if private and faulty == count:
            raise FrameError(
                f"Every row of {str(table.file)!r} is invalid, so nothing was spent. What is wrong "
                "with the first is said with --invalid raise."
            )
        table.check_names(hashes, space.schema, identity, limit)
        if limits is not None and unmet:  # unless they come after the first `limit` people
            limits.check_known(self.people(space, identity, None), table.file)
        return count

    def fingerprints(self, space: Space, rows: pd.DataFrame) -> dict[str, str]:
        """Of the model's file, if it's one, and of the reference rows, if they aren't private."""
        from stepladder.result.provenance import data_hash, model_hash

        known = {"model": model_hash(self.named)} if Path(self.named).is_file() else {}
        if not space.public:
            known["data"] = data_hash(self.without_labels(rows))
        return known

    def fit(
        self,
        method: Method,
        space: Space,
        rows: pd.DataFrame,
        successors: list[Any] | None = None,
    ) -> None:
        with (
            self.reference.blamed(),
            _warnings_said(),
            working("Learning from the table", shown=self.talks),
        ):
            method.fit(
                self.without_labels(rows),
                self.model,
                schema=self.rules,
                goal=self.goal,
                labels=rows[self.labels] if self.labels else None,
                space=space,
                successors=successors,
            )

    def without_labels(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The columns that the model sees."""
        return rows.drop(columns=self._label_columns)

    @property
    def _label_columns(self) -> list[str]:
        """The columns of labels, each only once: the same may be named twice."""
        return list(dict.fromkeys(filter(None, (self.labels, self.retrain_on))))


@contextmanager
def _warnings_said() -> Iterator[None]:
    """Say what a fit warns of as one sentence each, not as Python does."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TableWarning)
        yield
    for warning in caught:
        typer.echo(f"Note: {warning.message}", err=True)


def _schema(file: Path) -> Schema:
    from stepladder.table.schema import Schema

    if not file.is_file():
        raise SchemaError(
            f"There is no schema file at {str(file)!r}. Make one: stepladder schema TABLE --out …"
        )
    return Schema.load(file)


def _aside(rules: Schema, table: TableFile, *used: str | None) -> tuple[str, ...]:
    """The columns of a table that are neither in the schema nor used otherwise."""
    return tuple(column for column in rules.set_aside(table.columns) if column not in used)


def say_aside(file: Path, columns: Sequence[str]) -> None:
    if columns:
        typer.echo(f"{file}: not in the schema, set aside: {listing(columns)}.", err=True)


def _end(given: str) -> float | None:
    """One end of a range; none is open."""
    if given.lower() == "none":
        return None
    try:
        end = float(given)
    except ValueError:
        end = math.nan
    if not math.isfinite(end):
        raise typer.BadParameter(
            f"--goal-between takes two numbers, LOW and HIGH, or none for an open end; got "
            f"{given!r}."
        )
    return end


def _class(model: Any, named: str) -> Any:
    """The class that was named, as the model knows it, if it does; else digits are a number."""
    classes = getattr(model, "classes_", None)
    for known in [] if classes is None else np.asarray(classes).tolist():
        if str(known) == named:
            return known
    return int(named) if named.isdecimal() else named


def is_private(
    method: str,
    epsilon: float | None,
    delta: float | None,
    ledger: Path | None,
    bought: Path | None = None,
) -> bool:
    """Whether answers are to keep to a privacy budget, asked for in options that go together."""
    if (epsilon, delta, ledger) == (None, None, None):
        if bought is not None:
            raise typer.BadParameter(
                "--bought goes with a privacy budget: --epsilon and --delta, or its --ledger."
            )
        return False
    if (epsilon is None) != (delta is None):
        raise typer.BadParameter(
            "--epsilon and --delta come together; about 1/n² is a usual delta."
        )
    if method != "step":
        raise typer.BadParameter(f"Only --method step can keep to a privacy budget; got {method}.")
    return True


def budget_of(epsilon: float | None, delta: float | None, ledger: Path | None) -> Budget:
    """The privacy budget that was asked for, or what a ledger has left of one."""
    from stepladder.privacy.accountant import Budget

    if epsilon is None or delta is None:
        assert ledger is not None
        return Budget.open(ledger)
    return Budget(epsilon, delta, ledger=ledger)


def method_of(name: str, settings: Mapping[str, Any], privacy: Any) -> Method:
    """The method of that name, with the settings that were given, None for those that weren't."""
    from stepladder.methods.catalogue import make

    given = {setting: value for setting, value in settings.items() if value is not None}
    for setting in given:
        if name != "step" and setting != "paths":
            raise typer.BadParameter(f"--{setting.replace('_', '-')} is for --method step.")
    return make(name, given if privacy is None else {**given, "privacy": privacy})
