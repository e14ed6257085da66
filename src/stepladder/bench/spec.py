"""What is to be run: a spec, read from TOML and checked before anything starts."""

from __future__ import annotations

import hashlib
import json
import tomllib
from fnmatch import fnmatch
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from stepladder import datasets
from stepladder.bench import models
from stepladder.errors import ParameterError, listing, nearest
from stepladder.kernels.alpha import Alpha, Power, Sloped, Unit, Volcano
from stepladder.methods import catalogue
from stepladder.methods.base import Method

Protocol = Literal["published", "fair"]
"""published: scaled on the whole table, as the paper did. fair: scaled on the train rows."""

ALPHAS: dict[str, type[Alpha]] = {
    "volcano": Volcano,
    "sloped": Sloped,
    "power": Power,
    "unit": Unit,
}

EDITION = 1
"""Raised when a model, a method or the judge starts to give other rows for the same settings."""

PACKAGED = files("stepladder.bench") / "specs"

Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(gt=0, lt=1)]
Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+-]*$")]


class Cell(NamedTuple):
    """The smallest piece of a run: one method on one dataset, model and seed."""

    dataset: str
    model: str
    method: str
    seed: int

    def __str__(self) -> str:
        return f"{self.dataset} / {self.model} / {self.method} / seed {self.seed}"


class Checked(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class MethodSpec(Checked):
    """One method of a spec: a label for the tables, its name in the catalogue and its settings.

    seeds, people, goal  where they differ from the spec's own
    """

    label: Label
    method: str
    settings: dict[str, Any] = {}
    seeds: Count | None = None
    people: Count | None = None
    goal: Share | None = None

    def make(self, seed: int) -> Method:
        """The method itself, seeded with the trial."""
        settings = {**self.settings, "random_state": seed}
        if "alpha" in settings:
            settings["alpha"] = _alpha(settings["alpha"])
        return catalogue.make(self.method, settings)


class Spec(Checked):
    """A run: every method on every dataset, model and seed.

    about          what it's for, in a sentence
    seeds          trials 0 … seeds - 1; each splits, trains and clusters with its own number
    people         how many of those turned down, in test order
    goal           the score a path has to reach
    turned_down    people who score below it are turned down
    time_budget    seconds per person, the same for every method; without one there's no limit
    retrained      under how many models, retrained on rows drawn anew, ends are tried
    """

    name: Label
    about: str = ""
    protocol: Protocol
    datasets: Annotated[tuple[str, ...], Field(min_length=1)]
    models: Annotated[tuple[str, ...], Field(min_length=1)]
    seeds: Count = 10
    people: Count = 1000
    goal: Share = 0.7
    turned_down: Share = 0.5
    time_budget: Annotated[float, Field(gt=0)] | None = None
    retrained: Annotated[int, Field(ge=0)] = 0
    methods: tuple[MethodSpec, ...]

    @model_validator(mode="after")
    def _known(self) -> Spec:
        for what, given, known in (
            ("dataset", self.datasets, datasets.names()),
            ("model", self.models, tuple(models.MODELS)),
        ):
            for name in given:
                if name not in known:
                    raise ValueError(
                        f"there's no {what} {name!r}.{nearest(name, known)} There are "
                        f"{listing(known)}"
                    )
        labels = tuple(entry.label for entry in self.methods)
        for named in (self.datasets, self.models, labels):
            if twice := {name for name in named if named.count(name) > 1}:
                raise ValueError(f"{min(twice)!r} is there twice; name each thing once")
        for entry in self.methods:
            goal = entry.goal or self.goal
            if goal < self.turned_down:
                raise ValueError(
                    f"the goal of {entry.label!r}, {goal}, is below turned_down, "
                    f"{self.turned_down}: some people would be there before they start"
                )
            if "random_state" in entry.settings:
                raise ValueError(
                    f"method {entry.label!r}: random_state is the trial's number, 0 … seeds - 1; "
                    "leave it out"
                )
            try:
                entry.make(0)
            except ParameterError as error:
                raise ValueError(f"method {entry.label!r}: {error}") from error
        return self

    def entry(self, label: str) -> MethodSpec:
        return next(entry for entry in self.methods if entry.label == label)

    def cells(self, only: tuple[str, ...] = ()) -> list[Cell]:
        """Every cell, seed by seed; with `only`, those that fit one of the patterns.

        A pattern is dataset/model/method, with * for any: "adult/*/step*".
        """
        most = max((entry.seeds or self.seeds for entry in self.methods), default=0)
        return [
            Cell(dataset, model, entry.label, seed)
            for seed in range(most)
            for dataset in self.datasets
            for model in self.models
            for entry in self.methods
            if seed < (entry.seeds or self.seeds)
            if not only or any(fnmatch(f"{dataset}/{model}/{entry.label}", p) for p in only)
        ]

    def fingerprint(self, cell: Cell) -> str:
        """What the rows of a cell depend on, as a short hash: rows with another are stale."""
        facts = {
            "edition": EDITION,
            "protocol": self.protocol,
            "cell": list(cell),
            "entry": self.entry(cell.method).model_dump(exclude={"seeds"}),
            "people": self.people,
            "goal": self.goal,
            "turned_down": self.turned_down,
            "time_budget": self.time_budget,
        }
        if self.retrained:  # rows of a spec without are the same as before there was any
            facts["retrained"] = self.retrained
        text = json.dumps(facts, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def packaged() -> tuple[str, ...]:
    """The names of the specs that ship with the package."""
    return tuple(sorted(f.name.removesuffix(".toml") for f in PACKAGED.iterdir()))


def load(source: str | Path) -> Spec:
    """The spec in a TOML file, or the packaged one of that name."""
    path = Path(source)
    if str(source) in packaged():
        text = (PACKAGED / f"{source}.toml").read_text(encoding="utf-8")
    elif path.is_file():
        text = path.read_text(encoding="utf-8")
    else:
        raise ParameterError(
            f"There's no spec {str(source)!r}: neither a file nor one of the packaged specs "
            f"({', '.join(packaged())}).{nearest(source, packaged())}"
        )
    try:
        return Spec.model_validate_json(json.dumps(tomllib.loads(text), default=str))
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"The spec {source} isn't valid TOML: {error}.") from error
    except ValidationError as error:
        raise ParameterError(f"The spec {source} can't be run: {_faults(error)}.") from error


def _faults(error: ValidationError) -> str:
    """Every fault of a spec, in one line."""
    faults = []
    for fault in error.errors():
        where = ".".join(str(part) for part in fault["loc"])
        message = fault["msg"].removeprefix("Value error, ")
        given = "" if fault["type"] in ("value_error", "missing") else f" (got {fault['input']!r})"
        faults.append(f"{where}: {message}{given}" if where else message)
    return "; ".join(faults)


def _alpha(given: Any) -> Alpha:
    """`{ kind = "volcano", degree = 2, cutoff = 0.5 }` as an alpha."""
    if not isinstance(given, dict) or given.get("kind") not in ALPHAS:
        raise ParameterError(
            f"alpha must be a table with a kind of {', '.join(ALPHAS)}, such as "
            f'{{ kind = "volcano", degree = 2, cutoff = 0.5 }}; got {given!r}.'
        )
    settings = {name: value for name, value in given.items() if name != "kind"}
    try:
        return ALPHAS[given["kind"]](**settings)
    except TypeError as error:
        raise ParameterError(f"alpha of kind {given['kind']}: {error}.") from error
