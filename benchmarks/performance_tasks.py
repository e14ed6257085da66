"""What `make bench-alone` and `make bench-bulk` ask about: tables, models, and who is turned down.

A task is one of `make bench-advice`'s, with up to a thousand people of rows that its model never
saw. Beside those four kinds of models there are three that take arrays: two of encoded points, and
an ONNX file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from advice_ends import ROOT, source
from advice_tasks import KEPT, MODELS, TRAIN, TURNED_DOWN, Floats, Task, kept, schema_of, untrained

import stepladder as sl
from stepladder import datasets
from stepladder.bench.models import Lessons, dnn
from stepladder.files import write_text
from stepladder.model.loading import load

RESULTS = ROOT / "results" / "performance"
BUILD = ROOT / "build" / "performance"

BEFORE = "125335e"
"""The commit that is measured beside this one."""

TABLES = ("credit_default", "adult", "give_me_some_credit")
KINDS = tuple(MODELS)
ARRAYS = ("encoded-logistic", "encoded-network", "onnx")
"""Models that take arrays: the first two encoded points, the last a tensor for each column."""

GOAL = 0.5
"""The usual one. A higher one takes more rows and calls."""
PEOPLE = 1000
PATHS = 3
SEED = 0

Figures = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Case:
    """A task, and the model as `fit` is given it."""

    task: Task
    """whose own model takes raw rows, to judge ends with"""
    given: Any
    space: sl.Space | None = None
    """what the given model's points are encoded by"""

    def fitted(self) -> Any:
        return self.fit(sl.StEP(paths=PATHS, random_state=SEED))

    def fit(self, method: Any) -> Any:
        task = self.task
        return method.fit(
            task.train,
            self.given,
            schema=task.schema,
            goal=sl.Goal(threshold=GOAL),
            labels=task.labels,
            space=self.space,
        )


def cases() -> list[tuple[str, str]]:
    """Table and kind of model, of all tasks with raw rows."""
    return [(table, kind) for table in TABLES for kind in KINDS]


def array_cases() -> list[tuple[str, str]]:
    return [(table, kind) for table in TABLES for kind in ARRAYS]


@lru_cache(maxsize=2)
def prepared(table: str, kind: str) -> Case:
    """A task made ready: its model trained, and people found whom it turns down."""
    train, labels, model, people = kept(
        f"performance/{table}-{kind}", lambda: _prepare(table, kind)
    )
    if kind == "onnx":
        file = KEPT / "performance" / f"{table}.onnx"
        file.write_bytes(model)
        model = load(file)
    if not kind.startswith("encoded"):
        return Case(Task(table, kind, SEED, train, labels, model, people), model)
    space = sl.Space.fit(schema_of(table), train)
    task = Task(table, kind, SEED, train, labels, OfRows(model, space), people)
    return Case(task, sl.encoded(model), space)


def _prepare(table: str, kind: str) -> tuple[Any, ...]:
    data = datasets.load(table)
    rows = data.split(SEED).train[:TRAIN]
    train, labels = data.rows.iloc[rows].reset_index(drop=True), data.labels[rows]
    model, asked = _trained(data, rows, train, kind)
    unseen = np.random.default_rng(SEED).permutation(np.setdiff1d(np.arange(len(data)), rows))
    others = data.rows.iloc[unseen]
    refused = asked.predict_proba(others)[:, 1] < TURNED_DOWN
    return train, labels, model, others[refused].head(PEOPLE).reset_index(drop=True)


def _trained(data: datasets.Dataset, rows: Any, train: pd.DataFrame, kind: str) -> tuple[Any, Any]:
    """A model to keep, and one of raw rows that says the same."""
    labels = data.labels[rows]
    if kind in MODELS:
        model = untrained(data.schema, kind, SEED).fit(train, labels)
        return model, model
    if kind == "onnx":
        skl2onnx: Any = import_module("skl2onnx")

        model = untrained(data.schema, "network", SEED).fit(train, labels)
        options = {id(model): {"zipmap": False}}
        made = skl2onnx.to_onnx(model, train[:1], options=options)
        _rename_inputs(made.graph, list(train.columns))
        return made.SerializeToString(), model
    space = sl.Space.fit(data.schema, train)
    points = space.encode(train)
    if kind == "encoded-logistic":
        model = MODELS["logistic"](SEED).fit(points, labels)
    else:
        model = dnn(Lessons(points, labels, points, labels), SEED)
    return model, OfRows(model, space)


def _rename_inputs(graph: Any, columns: list[str]) -> None:
    """Call the inputs what the columns are called: a converter may write dashes otherwise."""
    names = {given.name: column for given, column in zip(graph.input, columns, strict=True)}
    for given in graph.input:
        given.name = names[given.name]
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]


@dataclass(frozen=True, eq=False)
class OfRows:
    """A model of encoded points, asked about raw rows."""

    model: Any
    space: sl.Space

    def predict_proba(self, rows: pd.DataFrame) -> Floats:
        points = self.space.encode(rows)
        if hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(points))
        import torch

        with torch.inference_mode():
            answer = self.model(torch.as_tensor(points, dtype=torch.float32))
        return np.asarray(answer.double().numpy())


# ---- the model's own time -----------------------------------------------------------------------


@dataclass
class Clock:
    """How often a model was asked, about how many rows, and how long its own code took.

    It stands around the call that does the model's work (scikit-learn's `predict_proba`, torch's
    `forward`, onnxruntime's `run`), so what is laid out before and picked out after isn't counted
    as the model's. The object that `fit` is given stays of its kind.
    """

    calls: int = 0
    rows: int = 0
    wall: float = 0.0
    cpu: float = 0.0

    def reset(self) -> None:
        self.calls, self.rows, self.wall, self.cpu = 0, 0, 0.0, 0.0

    def around(self, function: Callable[..., Any], rows: Callable[..., int]) -> Callable[..., Any]:
        def timed(*given: Any, **named: Any) -> Any:
            wall, cpu = time.perf_counter(), time.process_time()
            try:
                return function(*given, **named)
            finally:
                self.wall += time.perf_counter() - wall
                self.cpu += time.process_time() - cpu
                self.calls += 1
                self.rows += rows(*given, **named)

        return timed

    def attach(self, model: Any) -> None:
        """Time this model from now on."""
        model = model.model if hasattr(model, "model") else model  # of encoded points
        if hasattr(model, "session"):
            session = model.session
            session.run = self.around(session.run, lambda _, t: len(next(iter(t.values()))))
        elif hasattr(model, "predict_proba"):
            model.predict_proba = self.around(model.predict_proba, len)
        else:
            model.forward = self.around(model.forward, len)


# ---- both codes ---------------------------------------------------------------------------------


def quiet_threads() -> None:
    """One thread for everything that would start more."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def by_code(script: str, before: bool, *given: object) -> Figures:
    """What a script prints, as JSON, run by the code before or by this one, in a new process."""
    src = source(BEFORE) / "src" if before else Path(sl.__file__).parents[1]
    folders = [src, ROOT / "benchmarks"]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    command = [sys.executable, "-W", "ignore", str(ROOT / "benchmarks" / script), *map(str, given)]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found: Figures = json.loads(done.stdout.splitlines()[-1])
    return found


def keep(name: str, figures: Figures) -> None:
    """Write figures to results/performance."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    write_text(json.dumps(figures, indent=1) + "\n", RESULTS / f"{name}.json")


def read(name: str) -> Figures:
    file = RESULTS / f"{name}.json"
    found: Figures = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found
