"""NICE and alibi, from an environment of their own: `alone_peers.py` calls it.

    python alone_elsewhere.py nice|alibi FOLDER

Needs nothing of Stepladder. In the folder lie the reference rows, the people and a pipeline to be
trained; the routes that were found are put beside them. Rows are given to the libraries as arrays:
numbers as they are (alibi: standardised), categories as codes. Both go by the class with the higher
probability, so they're shown scores that are rescaled to meet the goal from ½ on.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


class Rows:
    """Rows as arrays and back, and a model asked about those arrays."""

    def __init__(self, train: pd.DataFrame, spec: dict[str, Any], model: Any, scaled: bool) -> None:
        self.columns, self.dtypes = list(train.columns), train.dtypes
        self.levels = spec["categories"]
        self.model, self.goal = model, spec["goal"]
        numbers = [name for name in self.columns if name not in self.levels]
        self.low = pd.Series(0.0, index=self.columns)
        self.wide = pd.Series(1.0, index=self.columns)
        if scaled:
            self.low[numbers] = train[numbers].mean()
            self.wide[numbers] = train[numbers].std()

    @property
    def coded(self) -> list[int]:
        return [i for i, name in enumerate(self.columns) if name in self.levels]

    def array(self, frame: pd.DataFrame) -> Any:
        found = np.zeros((len(frame), len(self.columns)))
        for i, name in enumerate(self.columns):
            if name in self.levels:
                known = {level: float(code) for code, level in enumerate(self.levels[name])}
                found[:, i] = frame[name].map(known)
            else:
                found[:, i] = (frame[name] - self.low[name]) / self.wide[name]
        return found

    def frame(self, array: Any) -> pd.DataFrame:
        found = {}
        for i, name in enumerate(self.columns):
            if name in self.levels:
                codes = np.clip(np.rint(array[:, i].astype(float)), 0, len(self.levels[name]) - 1)
                found[name] = np.asarray(self.levels[name])[codes.astype(int)]
            else:
                number = array[:, i].astype(float) * self.wide[name] + self.low[name]
                whole = np.issubdtype(self.dtypes[name], np.integer)
                found[name] = np.rint(number).astype(int) if whole else number
        return pd.DataFrame(found)

    def score(self, array: Any) -> Any:
        return self.model.predict_proba(self.frame(np.asarray(array)))[:, 1]

    def predict(self, array: Any) -> Any:
        """Two columns, the second at least ½ where the goal is met."""
        score, goal = self.score(array), self.goal
        share = np.where(score < goal, 0.5 * score / goal, 0.5 + 0.5 * (score - goal) / (1 - goal))
        return np.stack([1 - share, share], axis=1)


def nice(rows: Rows, train: pd.DataFrame, labels: Any) -> Any:
    explainer = import_module("nice").NICE(
        predict_fn=rows.predict,
        X_train=rows.array(train),
        cat_feat=rows.coded,
        y_train=labels,
        optimization="sparsity",
    )
    return lambda row: explainer.explain(row, target_class=[1])


def alibi(rows: Rows, train: pd.DataFrame, labels: Any) -> Any:
    import_module("tensorflow").compat.v1.disable_v2_behavior()
    proto = import_module("alibi.explainers").CounterfactualProto

    points = rows.array(train)
    explainer = proto(
        rows.predict,
        shape=(1, points.shape[1]),
        beta=0.01,
        theta=10.0,
        cat_vars={i: len(rows.levels[rows.columns[i]]) for i in rows.coded} or None,
        feature_range=(points.min(axis=0)[None], points.max(axis=0)[None]),
        use_kdtree=True,
        max_iterations=500,
        c_init=1.0,
        c_steps=5,
    )
    explainer.fit(points)

    def routes(row: Any) -> Any:
        found = explainer.explain(row).cf
        return row[:0] if found is None else found["X"]

    return routes


def main() -> None:
    library, folder = sys.argv[1], Path(sys.argv[2])
    spec = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    train, people = (pd.read_csv(folder / f"{name}.csv") for name in ("train", "people"))
    labels = np.array(spec["labels"])
    model = pickle.loads((folder / "model.pickle").read_bytes()).fit(train, labels)
    rows = Rows(train, spec, model, scaled=library == "alibi")
    answer = {"nice": nice, "alibi": alibi}[library](rows, train, labels)
    seconds, found, whose = [], [], []
    for person in range(len(people)):
        row = rows.array(people.iloc[[person]])
        began = time.perf_counter(), time.process_time()
        routes = np.asarray(answer(row), dtype=float).reshape(-1, row.shape[1])
        seconds.append((time.perf_counter() - began[0], time.process_time() - began[1]))
        found.append(routes)
        whose += [person] * len(routes)
    ends = np.concatenate(found)
    rows.frame(ends).set_axis(whose).to_csv(folder / "routes.csv")
    scores = rows.score(ends).tolist() if len(ends) else []
    print(json.dumps({"seconds": seconds, "scores": scores}))


if __name__ == "__main__":
    main()
