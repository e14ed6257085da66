"""By distance and without slack, is StEP as near as 0.1 was in the fair table?

What 0.1 had, in results/advice/fair-0.1.json, are means over the people of each trial.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

import stepladder as sl
from stepladder.bench import spec as specs
from stepladder.bench.tasks import prepare

RECORDED = Path(__file__).parents[1] / "results" / "advice" / "fair-0.1.json"
WITHIN = 1.02


def compared(seeds: int) -> pd.DataFrame:
    """One row per trial of the first so many seeds: 0.1's distances, and ours."""
    fair, rows = specs.load("fair"), []
    for name, before in json.loads(RECORDED.read_text(encoding="utf-8")).items():
        dataset, model, seed = name.split("/")
        if int(seed) >= seeds:
            continue
        task = prepare(fair, dataset, model, int(seed), None)
        step = sl.StEP(cost="distance", slack=0.0, random_state=int(seed))
        goal = sl.Goal(threshold=fair.goal)
        step.fit(task.train, task.model, goal=goal, labels=task.labels, space=task.space)
        found = step.recourse(task.turned_down.iloc[: fair.people]).metrics().iloc[0]
        rows.append(
            {
                "task": f"{dataset}, {model}",
                "seed": int(seed),
                **{f"{metric}, 0.1": value for metric, value in before.items()},
                **{metric: float(found[metric]) for metric in before},
            }
        )
        print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def is_near(found: pd.DataFrame) -> bool:
    """Say how near each task's ends are beside 0.1's, and whether all are within 2 %."""
    means = found.drop(columns="seed").groupby("task").mean()
    ratio = means["l2_distance"] / means["l2_distance, 0.1"]
    nearest = means["nearest_l2_distance"] / means["nearest_l2_distance, 0.1"]
    print(means.assign(ratio=ratio, nearest=nearest).round(3).to_string())
    return bool((ratio <= WITHIN).all())
