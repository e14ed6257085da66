"""What privacy costs the people who ask: both ways of paying, at several ε, on six tasks.

    python benchmarks/privacy.py run                     everything: hours, resumable
    python benchmarks/privacy.py run --only adult/dnn    one dataset and model
    python benchmarks/privacy.py run --people 20         fewer people, to see that it works
    python benchmarks/privacy.py page                    write the tables of docs/privacy-results.md

Every cell (dataset, model, way of paying, ε) is one line of results/privacy/utility.csv, written
as soon as it's measured; one that is there, with as many people, isn't measured again. The noise
has no seed, on purpose: a second run agrees with the first up to chance.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from privacy_page import KEYS, NEXT_TO_NO_NOISE, ONCE, PER_DIRECTION, between, rendered

import stepladder as sl
from stepladder import datasets, metrics
from stepladder.bench import judge
from stepladder.bench import spec as specs
from stepladder.bench.tasks import Task, prepare
from stepladder.kernels.direction import directions
from stepladder.methods.step.bought import layout
from stepladder.methods.step.per_direction import Enquiry, PerDirection
from stepladder.model.scorer import Scorer
from stepladder.privacy.mechanism import UNITS, bounded, exact_sum, noisy_directions, pulls

ROOT = Path(__file__).parents[1]
CSV = ROOT / "results" / "privacy" / "utility.csv"
PAGE = ROOT / "docs" / "privacy-results.md"

DATASETS = "credit_default", "give_me_some_credit", "adult"
TASKS = tuple(product(DATASETS, ("logistic_regression", "dnn")))
EPSILONS = {
    ONCE: (0.1, 0.5, 1.0, 2.0, 5.0, math.inf),
    PER_DIRECTION: (0.1, 0.5, 1.0, 2.0, 5.0, NEXT_TO_NO_NOISE),
}
"""A budget has to be finite; paid per direction, this one has next to no noise."""

PEOPLE = {ONCE: 1000, PER_DIRECTION: 200}
ANGLES = 100
"""For how many people the directions are compared."""
PATHS, STEPS, SEED = 3, 10, 0

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Cell:
    """One line of the file."""

    dataset: str
    model: str
    way: str
    epsilon: float

    def __str__(self) -> str:
        return f"{self.dataset}/{self.model}, paid {self.way}, ε = {self.epsilon:g}"


# ---- a task ---------------------------------------------------------------------------------


class Asks:
    """The trained model as anybody's: a function of raw frames that keeps its scaling to itself."""

    def __init__(self, task: Task, goal: sl.Goal) -> None:
        self.space = task.space
        self.scorer = Scorer(task.model, task.space, goal)

    def __call__(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        return self.scorer.score_points(self.space.encode(frame))


@dataclass(frozen=True, eq=False)
class Ready:
    """A task of the fair protocol with all that the cells share."""

    task: Task
    schema: sl.Schema
    goal: sl.Goal
    people: pd.DataFrame
    """who is turned down: the test rows first, then the validation rows"""

    @cached_property
    def model(self) -> Asks:
        return Asks(self.task, self.goal)

    @property
    def delta(self) -> float:
        return 1 / len(self.task.train) ** 2

    @cached_property
    def positives(self) -> pd.DataFrame:
        """The real ones, which only this evaluation may look at."""
        accepted = self.goal.met(self.model(self.task.train))
        found: pd.DataFrame = self.task.train[accepted & (self.task.labels == 1)]
        return found

    def fitted(self, step: sl.StEP, model: Any, space: sl.Space | None = None) -> sl.StEP:
        return step.fit(
            self.task.train,
            model,
            schema=self.schema,
            goal=self.goal,
            labels=self.task.labels,
            space=space,
        )


@lru_cache(maxsize=1)
def ready(dataset: str, model: str) -> Ready:
    spec = specs.load("fair")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the logistic regression may stop before it converges
        task = prepare(spec, dataset, model, SEED, None)
    table, goal = datasets.load(dataset), sl.Goal(spec.goal)
    validation = table.rows.iloc[table.split(SEED).validation]
    refused = Asks(task, goal)(validation) < spec.turned_down
    people = pd.concat([task.turned_down, validation[refused]])
    return Ready(task, table.schema, goal, people)


# ---- a cell ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Answers:
    """What people got in one cell."""

    step: sl.StEP
    results: list[sl.Recourse]
    seconds_fit: float
    seconds: float

    @property
    def routes(self) -> list[Any]:
        return [routes for result in self.results for routes in result.routes]

    @property
    def spent(self) -> float:
        """The most that was spent on one budget."""
        guarantees = [result.privacy for result in self.results if result.privacy is not None]
        return max((paid.statement.spent for paid in guarantees), default=math.nan)


def answers(cell: Cell, at: Ready, people: pd.DataFrame) -> Answers:
    """Fit as the cell says, and answer everyone."""
    start = time.perf_counter()
    if cell.way == ONCE:
        if math.isinf(cell.epsilon):
            step = at.fitted(sl.StEP(PATHS, random_state=SEED), at.task.model, at.task.space)
        else:
            pay = sl.PayOnce(sl.Budget(cell.epsilon, at.delta))
            step = at.fitted(sl.StEP(PATHS, random_state=SEED, privacy=pay), at.model)
        fitted = time.perf_counter()
        results = [step.recourse(people)]
    else:
        budget = sl.Budget(cell.epsilon, at.delta)
        each = sl.PayPerDirection(budget, steps=STEPS)
        step = sl.StEP(PATHS, max_steps=STEPS, random_state=SEED, privacy=each)
        at.fitted(step, at.model)
        fitted = time.perf_counter()
        results = []
        for i in range(len(people)):
            # A budget for each: all that is paid for is the centres, which everyone shares.
            own = sl.Budget(cell.epsilon, at.delta)
            for entry in budget.entries():
                own.spend(entry.multiplier, entry.what, entry.count)
            step.privacy = replace(each, budget=own)
            results.append(step.recourse(people.iloc[[i]]))
    return Answers(step, results, fitted - start, time.perf_counter() - fitted)


def measured(cell: Cell, at: Ready, asked: int) -> dict[str, Any]:
    """The line of a cell."""
    people = at.people.iloc[:asked]
    found = answers(cell, at, people)
    values = metrics.summary(in_fair_space(found, at))
    holds = np.concatenate([judge.valid(r, found.step.scorer_) for r in found.results])
    reached = [p for own in found.routes for p in own if p.outcome is sl.Outcome.REACHED]
    alone = [("alone" in path.reason) for path in reached]
    return {
        **{key: getattr(cell, key) for key in KEYS},
        "delta": at.delta,
        "asked": asked,
        "people": len(people),
        "success": values["success"],
        "avg_success": values["avg_success"],
        "avg_valid_success": float(holds.mean()),
        "l2_distance": values["l2_distance"],
        "nearest_l2_distance": values["nearest_l2_distance"],
        "distance_to_positives": values["distance_to_positives"],
        "path_steps": values["path_steps"],
        "model_alone": mean(np.array(alone)) if cell.way == PER_DIRECTION else math.nan,
        **compared(found.step, at, people.iloc[:ANGLES]),
        "spent": found.spent,
        "ms_a_person": 1e3 * found.seconds / max(len(people), 1),
        "seconds_fit": found.seconds_fit,
    }


def in_fair_space(found: Answers, at: Ready) -> metrics.Paths:
    """The paths in standard deviations of the train rows, so that all cells measure alike.

    How near an end is to the real positives is no part of any guarantee: nobody is told.
    """
    space, flat = at.task.space, [path for own in found.routes for path in own]
    rows = [space.to_points(path.values) for path in flat]
    shape = len(found.routes), PATHS
    ends = np.array([points[-1] for points in rows])
    values = np.array([(path.values[0], path.values[-1]) for path in flat])
    reached = np.array([path.outcome is sl.Outcome.REACHED for path in flat])
    near = np.full(len(flat), np.nan)
    near[reached] = metrics.nearest_distance(ends[reached], space.encode(at.positives))
    lengths = [np.linalg.norm(np.diff(points, axis=0), axis=1).sum() for points in rows]
    return metrics.Paths(
        start=np.array([points[0] for points in rows[::PATHS]]),
        ends=ends.reshape(*shape, space.width),
        reached=reached.reshape(shape),
        lengths=np.array(lengths).reshape(shape),
        steps=np.array([path.steps for path in flat]).reshape(shape),
        changed=(values[:, 0] != values[:, 1]).sum(axis=1).reshape(shape),
        nearness=near.reshape(shape),
        effort=np.array([path.effort for path in flat]).reshape(shape),
    )


# ---- directions -----------------------------------------------------------------------------


def compared(step: sl.StEP, at: Ready, people: pd.DataFrame) -> dict[str, float]:
    """How far private directions at people's starts are off the exact ones, in degrees.

    heard           the share of directions of which anything is heard above the noise
    angle_released  the mean angle of directions with all their noise, heard or not
    """
    angles: Floats = np.empty(0)
    released = heard = math.nan
    space = step.space_
    if isinstance(step.privacy, sl.PayOnce):
        starts = space.encode(people)[:, space.changeable]
        real = layout(space).clipped(space.encode(at.positives)[:, space.changeable])
        made_up = step.reference_.points[:, space.changeable]
        exact, private = (directions(starts, rows, sl.Unit()) for rows in (real, made_up))
        angles = between_degrees(private, exact)
    elif isinstance(planner := step.planner, PerDirection):
        asked = [at_start(planner, step, people.iloc[[i]]) for i in range(len(people))]
        noisy, private, exact = (np.concatenate(part) for part in zip(*asked, strict=True))
        angles = between_degrees(private, exact)
        released = mean(between_degrees(noisy, exact))
        heard = mean(np.asarray(private.any(axis=1)))
    return {
        "angle": mean(angles),
        "angle_median": float(np.median(angles)) if len(angles) else math.nan,
        "angle_released": released,
        "heard": heard,
    }


def at_start(
    planner: PerDirection, step: sl.StEP, person: pd.DataFrame
) -> tuple[Floats, Floats, Floats]:
    """A person's noisy directions, what is heard of them, and the same sums without noise.

    Of clusters that hold a positive this person could become; paid for by nobody.
    """
    space = step.space_
    held = step.reference_.held
    assert held is not None
    enquiry = Enquiry(planner, held, sl.Feasible.of(space, person), step.scorer_)
    positives, clusters = enquiry.positives
    start = np.repeat(space.encode(person)[:, space.changeable], PATHS, axis=0)
    rows = positives, clusters, planner.parameters.alpha
    noisy = noisy_directions(
        start, *rows, held.multiplier, neighbours=planner.pay.budget.neighbours
    )
    bound = bounded(planner.parameters.alpha)
    units = exact_sum(pulls(start, *rows), bound, groups=clusters, count=PATHS)
    some = np.bincount(clusters, minlength=PATHS) > 0
    return noisy[some], enquiry.heard(noisy)[some], units[some] * (bound / UNITS)


def between_degrees(private: Floats, exact: Floats) -> Floats:
    """The angles between rows; one that is zero says nothing, and counts as a right angle.

    >>> between_degrees(np.array([[2.0, 2.0], [0.0, 0.0]]), np.array([[1.0, 0.0]] * 2)).round(1)
    array([45., 90.])
    """
    lengths = np.linalg.norm(private, axis=1) * np.linalg.norm(exact, axis=1)
    cosines = np.zeros(len(exact))
    np.divide((private * exact).sum(axis=1), lengths, out=cosines, where=lengths > 0)
    return np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))


def mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else math.nan


# ---- the file -------------------------------------------------------------------------------


def read(file: Path) -> pd.DataFrame:
    if not file.exists():
        return pd.DataFrame(columns=[*KEYS, "asked"])
    return pd.read_csv(file)


def lines_of(frame: pd.DataFrame, cell: Cell) -> Any:
    """(n,) which lines are this cell's."""
    same = np.ones(len(frame), dtype=bool)
    for key in KEYS:
        same &= (frame[key] == getattr(cell, key)).to_numpy()
    return same


def write(file: Path, cell: Cell, line: dict[str, Any]) -> None:
    """Put a line where it belongs: the file is read again, and replaced as a whole."""
    before = read(file)
    kept = before[~lines_of(before, cell)]
    new = pd.DataFrame([line])
    frame = pd.concat([kept, new]) if len(kept) else new
    order = {str(cell): i for i, cell in enumerate(cells())}
    names = [str(Cell(*key)) for key in zip(*(frame[key] for key in KEYS), strict=True)]
    positions = [order.get(name, len(order)) for name in names]
    frame = frame.iloc[np.argsort(positions, kind="stable")]
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    frame.to_csv(unfinished, index=False, float_format="%.6g")
    unfinished.replace(file)


def cells(only: str | None = None) -> Iterator[Cell]:
    """Every cell, those of one task together."""
    for dataset, model in TASKS:
        if only in (None, f"{dataset}/{model}"):
            for way, epsilons in EPSILONS.items():
                for epsilon in epsilons:
                    yield Cell(dataset, model, way, epsilon)


# ---- the command ----------------------------------------------------------------------------


def run(file: Path, only: str | None, people: int | None) -> None:
    """Measure what isn't in the file yet."""
    for cell in cells(only):
        asked = people or PEOPLE[cell.way]
        before = read(file)
        if (before.loc[lines_of(before, cell), "asked"] == asked).any():
            print(f"{cell}: there already", flush=True)
            continue
        line = measured(cell, ready(cell.dataset, cell.model), asked)
        write(file, cell, line)
        names = "people", "success", "avg_success", "l2_distance", "angle", "ms_a_person"
        print(f"{cell}: " + ", ".join(f"{name} {line[name]:.4g}" for name in names), flush=True)


def page(file: Path, page: Path) -> None:
    """Replace what is between the two marks."""
    text = page.read_text(encoding="utf-8")
    before, _, after = between(text)
    page.write_text(before + rendered(read(file)) + after, encoding="utf-8")
    print(f"{page} has the tables of {file}")


def main() -> int:
    parser = argparse.ArgumentParser(description="What privacy costs the people who ask.")
    parser.add_argument("command", choices=["run", "page"])
    parser.add_argument(
        "--only", choices=["/".join(task) for task in TASKS], help="one dataset and model"
    )
    parser.add_argument(
        "--people",
        type=int,
        help="most people per cell (default: 1000 once, 200 per direction)",
    )
    parser.add_argument("--csv", type=Path, default=CSV, help="the file of measured cells")
    chosen = parser.parse_args()
    if chosen.people is not None and chosen.people < 1:
        parser.error(f"--people must be at least 1; got {chosen.people}.")
    if chosen.command == "page":
        page(chosen.csv, PAGE)
    else:
        run(chosen.csv, chosen.only, chosen.people)
    return 0


if __name__ == "__main__":
    sys.exit(main())
