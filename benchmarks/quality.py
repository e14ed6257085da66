"""How good the default method's paths are beside the published method's, on the paper's tables.

    python benchmarks/quality.py                    all tables and models, one to two minutes
    python benchmarks/quality.py credit gmsc        some tables
    python benchmarks/quality.py --models lr        one model
    python benchmarks/quality.py --people 1000      more people

Ends with status 1 if a promise isn't kept: an average success of 0.99 or more, and, for the people
that both methods help, ends that are nearer on average than the published method's.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from paper import MODELS, TABLES, data_folder

import stepladder as sl
from stepladder.scorer import Scorer

ASKED, GOAL = 0.5, 0.7
"""Who scores below the one is turned down; who scores at least the other has arrived."""

LEAST_SUCCESS = 0.99

COLUMNS = {
    "success": "success",
    "avg_success": "avg success",
    "l2_distance": "l2",
    "nearest_l2_distance": "nearest",
    "path_steps": "steps",
    "sparsity": "changed",
    "distance_to_positives": "to positives",
}
"""The figures shown, under the names that fit above a column."""


@dataclass(frozen=True)
class Answer:
    """What one method gave the people of a task."""

    step: sl.StEP
    result: sl.Recourse
    milliseconds: float
    """a person"""

    @property
    def figures(self) -> dict[str, float]:
        row = self.result.metrics().iloc[0]
        return {name: float(row[name]) for name in COLUMNS} | {"ms": self.milliseconds}

    @property
    def nearest(self) -> NDArray[np.float64]:
        """(people,) the distance to each person's nearest successful end; NaN without one."""
        final = self.result.final
        reached = final[final["outcome"] == "reached"]
        nearest = reached.groupby("person")["distance"].min()
        return np.asarray(nearest.reindex(self.result.people), dtype=np.float64)


@dataclass(frozen=True)
class Comparison:
    """Both methods on one table under one model."""

    table: str
    model: str
    people: pd.DataFrame
    published: Answer
    default: Answer

    @property
    def nearest(self) -> tuple[float, float]:
        """The mean nearest distance of published and default, over people both help."""
        ours, theirs = self.default.nearest, self.published.nearest
        both = ~np.isnan(ours) & ~np.isnan(theirs)
        return float(theirs[both].mean()), float(ours[both].mean())

    @property
    def kept(self) -> bool:
        theirs, ours = self.nearest
        return self.default.figures["avg_success"] >= LEAST_SUCCESS and ours < theirs


def compare(folder: Path, name: str, model: str, people: int = 200, seed: int = 0) -> Comparison:
    """The two methods for the first people of a test split whom a model turns down."""
    table = TABLES[name](folder)
    train, test = table.split(seed)
    space = sl.Space.fit(table.schema, table.rows)
    points, labels = space.encode(table.rows), table.labels[train]
    scored = sl.encoded(MODELS[model](points[train], labels, seed))

    def answered(step: sl.StEP) -> Answer:
        step.fit(table.rows.iloc[train], scored, space=space, goal=sl.Goal(GOAL), labels=labels)
        start = time.perf_counter()
        result = step.recourse(asking)
        return Answer(step, result, 1e3 * (time.perf_counter() - start) / len(asking))

    scores = Scorer(scored, space, sl.Goal(ASKED)).score(space.read(table.rows.iloc[test]))
    asking = table.rows.iloc[test[scores < ASKED][:people]]
    return Comparison(
        name,
        model,
        asking,
        published=answered(sl.StEP.published(random_state=seed)),
        default=answered(sl.StEP(random_state=seed)),
    )


def lines(comparison: Comparison) -> Iterator[str]:
    """A comparison as two rows of figures and a verdict."""
    for name in ("published", "default"):
        answer: Answer = getattr(comparison, name)
        cells = " ".join(f"{value:12.2f}" for value in answer.figures.values())
        task = f"{comparison.table} / {comparison.model}" if name == "published" else ""
        yield f"{task:14} {name:10} {cells}"
    theirs, ours = comparison.nearest
    verdict = "kept" if comparison.kept else "MISSED"
    yield f"{'':14} nearest where both arrive: {theirs:.2f} → {ours:.2f} (promises {verdict})"


def main() -> int:
    parser = argparse.ArgumentParser(description="The default method beside the published one.")
    parser.add_argument("tables", nargs="*", default=list(TABLES), help=", ".join(TABLES))
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--people", type=int, default=200, help="how many people (default: 200)")
    parser.add_argument("--seed", type=int, default=0, help="of split, model and clusters")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.tables if name not in TABLES]
    if unknown:
        parser.error(f"no table {unknown[0]!r}; there are {', '.join(TABLES)}")
    folder = data_folder()
    if folder is None:
        print("skipped: the tables aren't here; say where with STEPLADDER_DATA")
        return 0
    print(f"{chosen.people} people a task, 3 paths each, a score of {GOAL} wanted\n")
    heads = " ".join(f"{head:>12}" for head in [*COLUMNS.values(), "ms a person"])
    print(f"{'task':14} {'method':10} {heads}")
    kept = True
    for table in chosen.tables:
        for model in chosen.models:
            comparison = compare(folder, table, model, chosen.people, chosen.seed)
            print("\n".join(lines(comparison)), flush=True)
            kept &= comparison.kept
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
