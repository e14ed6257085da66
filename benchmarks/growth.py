"""How cost grows with people and with reference rows, and whether memory stays flat.

    python benchmarks/growth.py run                      what isn't there yet: an hour or more
    python benchmarks/growth.py run --again              all of it
    python benchmarks/growth.py run --only 'default-*'   only runs whose names fit
    python benchmarks/growth.py run --most 10000         no run with more people than that
    python benchmarks/growth.py lines                    what is aimed at, met or missed

People and reference rows are those of the credit table, drawn again and jittered; people lie in a
Parquet file, and answers go to a folder, as `stepladder.scale.recourse` does it. Each run is a new
process, whose peak memory is all that it ever held. What is measured goes to
results/performance/growth.json; `cost_model.py` is fitted to it.
"""

from __future__ import annotations

import argparse
import json
import pickle
import resource
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from advice_tasks import TURNED_DOWN, Task
from performance_lines import Line, show
from performance_tasks import (
    BUILD,
    PATHS,
    SEED,
    Case,
    Clock,
    Figures,
    by_code,
    keep,
    prepared,
    quiet_threads,
    read,
)

import stepladder as sl
from stepladder.files import replacing
from stepladder.table.feature import Numeric

TABLE = "credit_default"
FOLDER = BUILD / "growth"
CHUNK = 20_000
"""People who are made at a time."""
JITTER = 0.05
"""By how much numbers are made to differ, as a share."""

GIB = 2**30
MOST_MEMORY = 2 * GIB
FLAT = 1.25
"""How much more memory a hundred times the people may take."""
LINEAR = 1.15
"""The steepest slope between two runs, on log scales, that is called linear."""


class Run(NamedTuple):
    """One measurement: who asks how, and how many they are."""

    method: str
    kind: str
    people: int
    reference: int
    fitted_to: bool = True
    """whether the cost model is fitted to it; else it's predicted"""

    @property
    def name(self) -> str:
        return f"{self.method}-{self.kind}-{self.people}-{self.reference}"


USUAL = 6000
"""Reference rows where people are varied."""
FEW = {"published": 500, "default": 100}
"""People where reference rows are varied."""

RUNS = [
    *(Run("published", "encoded-logistic", 10**n, USUAL, n < 6) for n in (3, 4, 5, 6)),
    *(Run("published", "encoded-logistic", FEW["published"], 10**n, n < 6) for n in (3, 4, 5, 6)),
    Run("published", "encoded-logistic", FEW["published"], 300_000),
    Run("published", "encoded-network", 1000, USUAL),
    Run("published", "encoded-network", 20_000, 30_000, False),
    Run("published", "encoded-logistic", 5000, 100_000, False),
    *(Run("default", "encoded-logistic", 10**n, USUAL, n < 5) for n in (2, 3, 4, 5)),
    *(Run("default", "encoded-logistic", FEW["default"], 10**n, n < 6) for n in (3, 4, 5, 6)),
    Run("default", "encoded-logistic", FEW["default"], 300_000),
    Run("default", "logistic", 300, USUAL),
    Run("default", "logistic", 1000, USUAL),
    Run("default", "encoded-network", 1000, USUAL),
    Run("default", "logistic", 3000, 30_000, False),
    Run("default", "encoded-network", 5000, USUAL, False),
]
"""Three decades of people, three of reference rows, and some of both to predict."""


# ---- rows ---------------------------------------------------------------------------------------


def drawn(rows: pd.DataFrame, schema: sl.Schema, count: int, seed: Sequence[int]) -> pd.DataFrame:
    """Rows drawn from others, each number a little different and still one that may be."""
    random = np.random.default_rng(seed)
    found = rows.iloc[random.integers(0, len(rows), count)].reset_index(drop=True)
    for feature in schema.features:
        if not isinstance(feature, Numeric):
            continue
        numbers = found[feature.name].to_numpy(dtype=np.float64)
        numbers = numbers * np.exp(JITTER * random.standard_normal(count))
        low, high = (end if end is not None else way for end, way in _ends(feature))
        numbers = np.clip(np.rint(numbers) if feature.integer else numbers, low, high)
        found[feature.name] = numbers.astype(rows[feature.name].dtype)
    return found


def _ends(feature: Any) -> Iterator[tuple[float | None, float]]:
    return zip(feature.bounds, (-np.inf, np.inf), strict=True)


def people_file(kind: str, count: int) -> Path:
    """A Parquet file of people who are turned down; made once, a part at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    FOLDER.mkdir(parents=True, exist_ok=True)
    file, task = FOLDER / f"people-{kind}-{count}.parquet", prepared(TABLE, kind).task
    if file.exists():
        return file
    made, part = 0, 0
    schema = pa.Schema.from_pandas(task.people, preserve_index=False)
    with replacing(file) as unfinished, pq.ParquetWriter(unfinished, schema) as writer:
        while made < count:
            rows = drawn(task.people, task.schema, CHUNK, (SEED, part))
            rows = rows[task.score(rows) < TURNED_DOWN].head(count - made)
            writer.write_table(pa.Table.from_pandas(rows, schema, preserve_index=False))
            made, part = made + len(rows), part + 1
    return file


def reference_file(kind: str, count: int) -> Path:
    """A Parquet file of reference rows, drawn from the task's own with their labels; made once."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    file, task = FOLDER / f"reference-{kind}-{count}.parquet", prepared(TABLE, kind).task
    if not file.exists():
        picked = np.random.default_rng((SEED, count)).integers(0, len(task.train), count)
        parts = [
            drawn(task.train.iloc[own], task.schema, len(own), (SEED, count, label)).assign(
                label=label
            )
            for label, own in ((label, picked[task.labels[picked] == label]) for label in (0, 1))
        ]
        with replacing(file) as unfinished:
            pd.concat(parts, ignore_index=True).to_parquet(unfinished, index=False)
    return file


def with_reference(case: Case, count: int) -> Case:
    """The case with the reference rows of a file."""
    task = case.task
    rows = pd.read_parquet(reference_file(task.kind, count))
    labels = rows.pop("label").to_numpy()
    made = Task(task.table, task.kind, task.seed, rows, labels, task.model, task.people)
    return Case(made, case.given, case.space)


# ---- one run ------------------------------------------------------------------------------------


def measured(run: Run) -> Figures:
    """One run in this process; the files of people and reference rows are there."""
    from sklearn.cluster import KMeans

    case, clock = prepared(TABLE, run.kind), Clock()
    clock.attach(case.given)
    quiet_threads()
    make: Callable[..., Any] = sl.StEP if run.method == "default" else sl.StEP.published
    case = with_reference(case, run.reference)
    cpu = time.process_time()
    step = case.fit(make(paths=PATHS, clusterer=KMeans(n_init=1), random_state=SEED))
    fit, after_fit = time.process_time() - cpu, peak()
    learned = {name: part for name, part in vars(step).items() if name != "scorer_"}
    method_bytes = len(pickle.dumps(learned))  # the model is timed, which can't be pickled
    step.recourse(case.task.people.head(2))
    del case
    answers, file = FOLDER / f"answers-{run.name}", people_file(run.kind, run.people)
    shutil.rmtree(answers, ignore_errors=True)
    clock.reset()
    wall, cpu = time.perf_counter(), time.process_time()
    answer(step, file, answers)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    size, held = sum(part.stat().st_size for part in answers.rglob("*.parquet")), peak()
    again = time.process_time()
    answer(step, file, answers)  # everything is there: what is left is to look through the people
    again = time.process_time() - again
    shutil.rmtree(answers)
    return {
        **run._asdict(),
        "positives": int(step.counts_["positives"]),
        "columns": int(step.space_.width),
        "seconds": round(wall, 3),
        "cpu": round(cpu, 3),
        "model_cpu": round(clock.cpu, 3),
        "calls": clock.calls,
        "rows": clock.rows,
        "fit_cpu": round(fit, 3),
        "fit_peak": after_fit,
        "method_bytes": method_bytes,
        "peak": held,
        "resumed_cpu": round(again, 3),
        "bytes_in": file.stat().st_size,
        "bytes_out": size,
    }


def answer(step: Any, file: Path, to: Path) -> None:
    """Everybody of a file answered, part by part, into a folder."""
    import_module("stepladder.scale").recourse(step, file, to=to)


def peak() -> int:
    """The most bytes that this process ever held in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run_all(pattern: str, most: int, again: bool) -> None:
    found = read("growth")
    for run in RUNS:
        if run.people > most or not fnmatch(run.name, pattern) or (run.name in found and not again):
            continue
        people_file(run.kind, run.people)  # made here, so that the run's memory is its own
        reference_file(run.kind, run.reference)
        found[run.name] = by_code("growth.py", False, "one", run.name)
        keep("growth", {each.name: found[each.name] for each in RUNS if each.name in found})
        print(_told(found[run.name]), flush=True)


def _told(one: Figures) -> str:
    people = one["people"]
    return (
        f"{one['method']} ({one['kind']}): {people:,} people, {one['reference']:,} reference rows: "
        f"{one['seconds']:.1f} s, CPU {one['cpu']:.1f} s ({1e3 * one['cpu'] / people:.3f} ms per "
        f"person), model {one['model_cpu']:.1f} s, {one['rows'] / people:.0f} rows per person, "
        f"peak {one['peak'] / GIB:.2f} GiB, fit {one['fit_cpu']:.1f} s"
    )


# ---- what it shows ------------------------------------------------------------------------------


def sweep(found: Figures, method: str, by: str) -> pd.DataFrame:
    """The runs of one method in which only people, or only reference rows, differ."""
    rows = pd.DataFrame([one for one in found.values() if one["method"] == method])
    rows = rows[rows["kind"] == "encoded-logistic"] if len(rows) else rows
    if not len(rows):
        return rows
    same = rows["reference"] == USUAL if by == "people" else rows["people"] == FEW[method]
    return rows[same].sort_values(by).reset_index(drop=True)


def slopes(runs: pd.DataFrame, by: str) -> list[float]:
    """The slope of CPU seconds from run to run, on log scales: 1 is linear."""
    steps = np.diff(np.log(runs["cpu"])) / np.diff(np.log(runs[by]))
    return [float(step) for step in steps]


def lines(found: Figures) -> list[Line]:
    """What is aimed at, and what was measured."""
    told = []
    for method in ("published", "default"):
        for by, words in (("people", "people"), ("reference", "reference rows")):
            runs = sweep(found, method, by)
            if len(runs) < 2:
                continue
            steep = slopes(runs, by)
            told.append(
                Line(
                    f"Cost grows linearly in {words}, {method}",
                    max(steep) <= LINEAR,
                    f"slopes {', '.join(f'{each:.2f}' for each in steep)} from "
                    f"{runs[by].min():,} to {runs[by].max():,}",
                )
            )
        runs = sweep(found, method, "people")
        if len(runs) > 1:
            low, high = runs["peak"].iloc[[1, -1]]
            told.append(
                Line(
                    f"Memory is flat, {method}",
                    bool(high <= FLAT * low and high < MOST_MEMORY),
                    f"{low / GIB:.2f} GiB for {runs['people'].iloc[1]:,} people, "
                    f"{high / GIB:.2f} GiB for {runs['people'].iloc[-1]:,} (under 2 is aimed at)",
                )
            )
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["run", "one", "lines"])
    parser.add_argument("run", nargs="?", help="the name of a single run")
    parser.add_argument("--only", default="*")
    parser.add_argument("--most", type=int, default=10**6)
    parser.add_argument("--again", action="store_true")
    given = parser.parse_args()
    if given.what == "one":
        print(json.dumps(measured(next(run for run in RUNS if run.name == given.run))))
        return
    if given.what == "run":
        run_all(given.only, given.most, given.again)
    sys.exit(not show(lines(read("growth"))))


if __name__ == "__main__":
    main()
