"""What a method answers on a task: one row per person and path, as plain values.

Run as a program it answers for one task and goal and writes the rows to a file: so does the code of
another commit, by whose `stepladder` it's then run.

    python benchmarks/advice_ends.py TABLE KIND SEED METHOD GOAL FILE
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from advice_tasks import GOALS, SEEDS, Task, kept, prepared, tasks

import stepladder as sl
from stepladder.methods import catalogue

ROOT = Path(__file__).parents[1]
BEFORE = "ac97205"
"""The commit that 0.1's answers come from."""
PATHS = 3
SUCCESSORS = 48


@dataclass(frozen=True)
class Entry:
    """A method of the comparison: its name in the catalogue, its settings, and who asks it."""

    label: str
    method: str = "step"
    settings: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = max(SEEDS.values())
    before: bool = False
    """whether the code before this work answers"""
    successors: bool = False
    derived: bool = True
    """whether it takes schemas with derived features"""


METHODS = {
    "before": Entry("Stepladder 0.1", before=True),
    "published": Entry("StEP as published", "step.published", derived=False),
    "face": Entry("FACE", "face"),
    "cchvae": Entry("C-CHVAE", "cchvae", seeds=1),
    "effort": Entry("StEP by effort", settings={"cost": "effort", "slack": 0.1}),
    "bare": Entry("StEP by distance, no slack", settings={"cost": "distance", "slack": 0.0}),
    "holds-effort": Entry(
        "StEP by effort, holds=0.9",
        settings={"cost": "effort", "slack": 0.1, "holds": 0.9},
        seeds=1,
        successors=True,
    ),
    "holds-distance": Entry(
        "StEP by distance, holds=0.9",
        settings={"cost": "distance", "slack": 0.1, "holds": 0.9},
        seeds=1,
        successors=True,
    ),
    "dice-random": Entry("DiCE, random", "dice", seeds=1),
    "dice-genetic": Entry("DiCE, genetic", "dice", {"algorithm": "genetic"}, seeds=1),
}
OURS = ("effort", "bare", "holds-effort", "holds-distance")
PEERS = ("published", "dice-random", "dice-genetic", "face", "cchvae")


class Cell(NamedTuple):
    """The smallest piece of the run."""

    table: str
    kind: str
    seed: int
    method: str
    goal: float

    @property
    def name(self) -> str:
        return f"{self.table}-{self.kind}-{self.seed}-{self.method}-{self.goal:g}"


def cells() -> list[Cell]:
    """Every cell, method by method."""
    return [
        Cell(*task, method, goal)
        for method, entry in METHODS.items()
        for task in tasks()
        if task[2] < entry.seeds and (entry.derived or task[0] != "mortgage")
        for goal in GOALS
    ]


def ends(task: Task, method: str, goal: float) -> pd.DataFrame:
    """Everybody's ends by one method: person, path, what it says of them, and the row itself."""
    entry = METHODS[method]
    settings = {"paths": PATHS, "random_state": task.seed, **entry.settings}
    asked: dict[str, Any] = {
        "goal": sl.Goal(threshold=goal),
        "schema": task.schema,
        "labels": task.labels,
    }
    if entry.successors:
        asked["successors"] = _successors(task)
    fitted = catalogue.make(entry.method, settings).fit(task.train, task.model, **asked)
    start = time.perf_counter()
    result = fitted.recourse(task.people)
    seconds = time.perf_counter() - start
    final: pd.DataFrame = result.final
    says = pd.DataFrame(
        {
            "person": final["person"],
            "path": final["path"],
            "outcome": final["outcome"].astype(str),
            "said_effort": final.get("effort"),
            "said_holds": final.get("holds"),
            "said_tight": final.get("tight"),
            "rows_asked": result.asked["rows"] / len(task.people),
            "ms": 1000 * seconds / len(task.people),
        }
    )
    return pd.concat([says, final[list(task.people.columns)].add_prefix("after ")], axis=1)


def _successors(task: Task) -> list[Any]:
    models: list[Any] = kept(
        f"successors/{task.name}",
        lambda: sl.successors(
            task.model, task.train, task.labels, count=SUCCESSORS, random_state=task.seed
        ),
    )
    return models


def answered(cell: Cell, file: Path) -> None:
    """Write the ends of a cell to a file, by the code that the method is of."""
    if not METHODS[cell.method].before:
        ends(prepared(*cell[:3]), cell.method, cell.goal).to_parquet(file)
        return
    prepared(*cell[:3])  # kept by us, so that the older code has nothing to make
    folders = [source(BEFORE) / "src", ROOT / "benchmarks"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    command = [sys.executable, "-W", "ignore", __file__, *map(str, cell), str(file)]
    subprocess.run(command, env=environment, check=True)


def source(commit: str) -> Path:
    """The tree of a commit, taken out of the repository once."""
    folder = ROOT / "build" / "before" / commit
    if not folder.exists():
        archive = subprocess.run(
            ["git", "archive", commit, "src"], cwd=ROOT, check=True, capture_output=True
        )
        with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
            files.extractall(folder, filter="data")
    return folder


if __name__ == "__main__":
    table, kind, seed, method, goal, file = sys.argv[1:]
    folder = Path(sl.__file__).parents[2]
    if METHODS[method].before and folder.name != BEFORE:
        sys.exit(f"{method} is answered by commit {BEFORE}, not by the code in {folder}.")
    ends(prepared(table, kind, int(seed)), method, float(goal)).to_parquet(file)
