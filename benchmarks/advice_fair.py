"""By distance and without slack, is StEP as near as 0.1 was in the fair table?

What 0.1 had, in results/advice/fair-0.1.json, are means over the people of each trial; what StEP
has goes to fair-now.json beside it.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from advice_lines import Line

import stepladder as sl
from stepladder.bench import names
from stepladder.bench import spec as specs
from stepladder.bench.tasks import prepare
from stepladder.files import write_text

FOLDER = Path(__file__).parents[1] / "results" / "advice"
BEFORE, NOW = FOLDER / "fair-0.1.json", FOLDER / "fair-now.json"
METRICS = ("l2_distance", "nearest_l2_distance")
WITHIN = 1.02

Distances = dict[str, dict[str, float]]
"""For each trial (dataset/model/seed) its distances by name."""


def read(file: Path) -> Distances:
    found: Distances = json.loads(file.read_text(encoding="utf-8"))
    return found


def rerun() -> None:
    """StEP by distance and without slack, on the fair table's trials."""
    fair, found = specs.load("fair"), {}
    for name in read(BEFORE):
        dataset, model, seed = name.split("/")
        task = prepare(fair, dataset, model, int(seed), None)
        step = sl.StEP(cost="distance", slack=0.0, random_state=int(seed))
        goal = sl.Goal(threshold=fair.goal)
        step.fit(task.train, task.model, goal=goal, labels=task.labels, space=task.space)
        metrics = step.recourse(task.turned_down.iloc[: fair.people]).metrics().iloc[0]
        found[name] = {metric: round(float(metrics[metric]), 6) for metric in METRICS}
        print(name, found[name], flush=True)
    write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", NOW)


def line(before: Distances, now: Distances) -> Line:
    """Whether every task's distance is within 2 % of what it was, or nearer."""
    ratios = {
        metric: {
            task: _mean(now, task, metric) / _mean(before, task, metric)
            for task in dict.fromkeys(name.rpartition("/")[0] for name in now)
        }
        for metric in METRICS
    }
    told = []
    for metric, words in zip(METRICS, ("all routes", "the nearest"), strict=True):
        worst = max(ratios[metric], key=ratios[metric].__getitem__)
        dataset, model = worst.split("/")
        told.append(
            f"{words} {np.mean(list(ratios[metric].values())):.2f} times, at most "
            f"{ratios[metric][worst]:.3f} ({names.dataset(dataset)}, {names.model(model)})"
        )
    return Line(
        "By distance and without slack: the distances of 0.1's fair table within 2 %",
        all(ratio <= WITHIN for ratio in ratios["l2_distance"].values()),
        "; ".join(told),
    )


def _mean(distances: Distances, task: str, metric: str) -> float:
    """The mean over the trials of a task."""
    own = [each[metric] for name, each in distances.items() if name.rpartition("/")[0] == task]
    return float(np.mean(own))
