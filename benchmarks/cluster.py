"""Recourse on a cluster of this machine: how much faster, what a lost worker costs, and a reference
set larger than memory.

    python benchmarks/cluster.py run                    everything, some ten minutes
    python benchmarks/cluster.py run --only speed       one part: speed, killed or reference
    python benchmarks/cluster.py page                   write the figures into docs/scale.md

Figures go to results/performance/cluster.json. Ends with status 1 if a promise isn't kept: two
workers at least 1.7 times as fast as one, the same rows whatever is killed, and a reference set of
four times the memory that all workers have together.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from cluster_page import filled
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import stepladder as sl
from stepladder import scale
from stepladder.datasets import load

distributed: Any = importlib.import_module("distributed")  # whose classes have no types

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "results" / "performance" / "cluster.json"
PAGE = ROOT / "docs" / "scale.md"

FASTER = 1.7
TIMES_MEMORY = 4

PEOPLE, PART = 4000, 100
ROUNDS = 3


@contextmanager
def cluster(workers: int, memory: str | None = None) -> Iterator[Any]:
    """A client of some worker processes, one thread each, that have everything imported."""
    limit = {} if memory is None else {"memory_limit": memory}
    with (
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            **limit,
        ) as local,
        distributed.Client(local) as client,
    ):
        client.run(_warm)
        yield client


def _warm() -> None:
    for module in ("sklearn.cluster", "sklearn.linear_model", "stepladder.scale"):
        importlib.import_module(module)


def rejected(count: int) -> tuple[sl.StEP, pd.DataFrame]:
    """The default method under a logistic regression on credit card clients, and people."""
    clients = load("credit_default")
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    codes = clients.rows.select_dtypes("number")
    schema = sl.Schema([f for f in clients.schema.features if f.name in codes.columns])
    model.fit(codes, clients.labels)
    turned_down = codes[model.predict_proba(codes)[:, 1] < 0.5]
    step = sl.StEP(paths=3).fit(codes.head(10_000), model, schema=schema)
    return step, pd.concat([turned_down] * 3, ignore_index=True).head(count)


# ---- two workers beside one ---------------------------------------------------------------------


def speed() -> dict[str, Any]:
    """Two workers beside one, by the clock; and by the processors' time, whatever else runs."""
    step, people = rejected(PEOPLE)
    pairs = []
    for _ in range(ROUNDS):
        one, two = (timed(step, people, workers) for workers in (1, 2))
        pairs.append((one, two))
        print(
            f"one worker {one.clock:.1f} s, two {two.clock:.1f} s, by the processors' time "
            f"{one.busy:.1f} and {two.busy:.1f} s"
        )
    times = statistics.median(one.clock / two.clock for one, two in pairs)
    return {
        "people": len(people),
        "part_size": PART,
        "one_worker_s": round(statistics.median(one.clock for one, _ in pairs), 2),
        "two_workers_s": round(statistics.median(two.clock for _, two in pairs), 2),
        "times_faster": round(times, 2),
        "times_faster_by_processor_time": round(
            statistics.median(one.busy / two.busy for one, two in pairs), 2
        ),
        "kept": times >= FASTER,
    }


@dataclass(frozen=True)
class Timed:
    """Seconds that a run took: by the clock, and at least on two cores that nobody else uses."""

    clock: float
    busy: float


def timed(step: sl.StEP, people: pd.DataFrame, workers: int) -> Timed:
    with cluster(workers) as client, folder() as to:
        scale.recourse(step, people.head(2 * PART), to / "warm", client=client, part_size=PART)
        before, began = client.run(time.process_time), time.perf_counter()
        own = time.process_time()
        scale.recourse(step, people, to / "plan", client=client, part_size=PART)
        clock, own = time.perf_counter() - began, time.process_time() - own
        after = client.run(time.process_time)
        spent = [after[worker] - before[worker] for worker in before]
    return Timed(clock, max(*spent, (sum(spent) + own) / 2))


# ---- a worker killed ----------------------------------------------------------------------------


def killed() -> dict[str, Any]:
    step, people = rejected(PEOPLE // 2)
    with folder() as to:
        scale.recourse(step, people, to / "here", part_size=PART)
        with cluster(2) as client:
            pids = list(client.run(os.getpid).values())

            def kill() -> None:
                while len(list((to / "there").glob("part-*"))) < 5:
                    time.sleep(0.05)
                os.kill(pids[0], signal.SIGKILL)

            killer = threading.Thread(target=kill)
            killer.start()
            began = time.perf_counter()
            scale.recourse(step, people, to / "there", client=client, part_size=PART)
            seconds = time.perf_counter() - began
            killer.join()
            replaced = pids[0] not in client.run(os.getpid).values()
        same = equal(sl.Recourse.load(to / "there"), sl.Recourse.load(to / "here"))
        whole = equal(sl.Recourse.load(to / "there"), step.recourse(people), scores=1e-12)
    return {
        "people": len(people),
        "killed": replaced,
        "seconds": round(seconds, 1),
        "same_as_parts_in_one_process": same,
        "same_as_one_call": whole,
        "kept": replaced and same and whole,
    }


def equal(given: sl.Recourse, wanted: sl.Recourse, scores: float = 0.0) -> bool:
    """Whether all rows are the same to the last bit; scores may differ by as much as is said.

    A logistic regression multiplies matrices, which rounds a row's score by its company.
    """
    for name in ("final", "paths", "changes", "status"):
        one, other = getattr(given, name), getattr(wanted, name)
        if "score" in one and scores:
            if not np.allclose(one["score"], other["score"], rtol=0, atol=scores, equal_nan=True):
                return False
            one, other = one.drop(columns="score"), other.drop(columns="score")
        if not one.equals(other):
            return False
    return True


# ---- more reference rows than memory ------------------------------------------------------------

COLUMNS, LIMIT = 24, 512 * 2**20
ASKING, STEPS = 64, 6


def reference(times: float = TIMES_MEMORY) -> dict[str, Any]:
    """The published method on positives of which the workers' memory holds a quarter."""
    names = [f"x{i}" for i in range(COLUMNS)]
    schema = sl.Schema([sl.Numeric(name) for name in names])
    rows = int(times * 2 * LIMIT / (8 * COLUMNS)) + 1
    with folder() as to:
        make(to / "train", names, rows)
        sample = pd.read_parquet(next((to / "train").iterdir())).head(20_000)
        labels = sample.sum(axis=1) > -8
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(sample, labels)
        people = pd.DataFrame(
            np.random.default_rng(1).normal(-0.7, 0.4, (ASKING, COLUMNS)), columns=names
        )
        with cluster(2, memory=f"{LIMIT} B") as client, peaks(client) as seen:
            pids = set(client.run(os.getpid).values())
            began = time.perf_counter()
            step = scale.fit(
                sl.StEP.published(paths=2, max_steps=STEPS, step_size=0.5),
                to / "train",
                model,
                to=to / "positives",
                schema=schema,
                client=client,
            )
            fitted = time.perf_counter() - began
            result = step.recourse(people)
            asked = time.perf_counter() - began - fitted
            survived = pids == set(client.run(os.getpid).values())
        disk = sum(file.stat().st_size for file in (to / "positives").iterdir())
    memory = 2 * LIMIT
    ok = survived and rows * 8 * COLUMNS >= TIMES_MEMORY * memory and max(seen) < LIMIT
    return {
        "workers_memory_gib": round(memory / 2**30, 2),
        "reference_rows": rows,
        "columns": COLUMNS,
        "reference_gib": round(rows * 8 * COLUMNS / 2**30, 2),
        "positives_gib": round(disk / 2**30, 2),
        "peak_of_a_worker_mib": round(max(seen) / 2**20),
        "shards": step.settings["shards"],
        "fit_s": round(fitted),
        "people": len(people),
        "people_s": round(asked),
        "reached": int((result.status["outcome"] == "reached").sum()),
        "times_memory": round(rows * 8 * COLUMNS / memory, 2),
        "kept": bool(ok),
    }


def make(place: Path, names: list[str], rows: int) -> None:
    place.mkdir()
    random = np.random.default_rng(0)
    size = 2**20
    for number, start in enumerate(range(0, rows, size)):
        count = min(size, rows - start)
        table = pa.table({name: random.normal(size=count) for name in names})
        pq.write_table(
            table,
            place / f"{number:04d}.parquet",
            row_group_size=2**17,
            use_dictionary=False,
            compression="none",
        )


@contextmanager
def peaks(client: Any) -> Iterator[list[int]]:
    """The most memory that any worker was seen to have, looked at ten times a second."""
    psutil = importlib.import_module("psutil")  # it ships no types
    seen, over = [0], threading.Event()
    workers = [psutil.Process(pid) for pid in client.run(os.getpid).values()]

    def look() -> None:
        while not over.wait(0.1):
            for worker in workers:
                if worker.is_running():
                    seen.append(worker.memory_info().rss)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield seen
    finally:
        over.set()
        watcher.join()


@contextmanager
def folder() -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(prefix="cluster-", dir=_build()))
    try:
        yield place
    finally:
        shutil.rmtree(place)


def _build() -> Path:
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    return build


# ---- the command --------------------------------------------------------------------------------

MEASURES = {"speed": speed, "killed": killed, "reference": reference}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=["run", "page"])
    parser.add_argument("--only", choices=list(MEASURES))
    given = parser.parse_args()
    known = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    if given.what == "page":
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), known), encoding="utf-8")
        return 0
    for name, measure in MEASURES.items():
        if given.only in (None, name):
            known[name] = measure()
            print(name, json.dumps(known[name]))
            FIGURES.parent.mkdir(parents=True, exist_ok=True)
            FIGURES.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    return 0 if all(found["kept"] for found in known.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
