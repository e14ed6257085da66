"""How fast the published method is on this machine, and how much memory equation 1 takes.

    python benchmarks/speed.py                 everything, one to two minutes
    python benchmarks/speed.py --no-memory     without the large memory run
    python benchmarks/speed.py --only method   one part: memory or method

Ends with status 1 if a promise isn't kept: the same end points as a plain pandas loop, 500 times
faster per person, and 20,000 people × 200,000 positives within 2 GiB. How fast equation 1 is beside
the machine's matrix product is in benchmarks/kernel.py.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from plain_loop import PlainLoop

from stepladder.kernels.alpha import Volcano
from stepladder.kernels.direction import directions

COLUMNS = 26
GIB = 2**30
MEMORY_SIZES = (20_000, 200_000)
TIMES_FASTER = 500


def best_of(action: Callable[[], object], repeats: int = 7) -> float:
    """The shortest of several times in seconds: what the machine can do when left alone."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


# ---- 1. memory ----------------------------------------------------------------------------------


def memory() -> bool:
    """Peak memory of a fresh process that answers 20,000 people over 200,000 positives."""
    n, count = MEMORY_SIZES
    heading(f"Peak memory of equation 1, {n:,} people × {count:,} positives × {COLUMNS} columns")
    print("4 billion pairs, in a process of its own: some 10 to 60 seconds", flush=True)
    answer = subprocess.run(
        [sys.executable, __file__, "--memory-child"], check=True, capture_output=True, text=True
    )
    seconds, peak = map(float, answer.stdout.split())
    kept = peak < 2 * GIB
    print(f"{peak / GIB:.2f} GiB at its peak (limit 2 GiB: {verdict(kept)}), {seconds:.0f} s")
    return kept


def memory_child() -> None:
    """What the fresh process runs: prints its seconds and its peak resident bytes."""
    rng = np.random.default_rng(0)
    n, count = MEMORY_SIZES
    points, positives = rng.normal(size=(n, COLUMNS)), rng.normal(size=(count, COLUMNS))
    start = time.perf_counter()
    directions(points, positives, Volcano())
    seconds = time.perf_counter() - start
    unit = 1 if sys.platform == "darwin" else 1024
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


# ---- 2. the published method --------------------------------------------------------------------


@dataclass(frozen=True)
class Credit:
    """Credit default with a logistic regression, as the paper's protocol has it (trial 0)."""

    schema: Any
    space: Any
    model: Any
    train: pd.DataFrame
    labels: pd.Series[int]
    people: pd.DataFrame


def load_credit(people: int) -> Credit:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split

    import stepladder as sl

    table = pd.read_csv(data_folder() / "credit_default.csv.gz")
    labels = 1 - table["default payment next month"]
    rows = table.drop(columns=["ID", "default payment next month"])
    rows = rows.rename(columns={"PAY_0": "PAY_1"})
    late = [f"PAY_{month}" for month in range(1, 7)]
    rows[late] = rows[late].clip(lower=0)
    rows["EDUCATION"] = rows["EDUCATION"].replace({0: 5, 6: 5})
    special: dict[str, sl.Numeric | sl.Ordinal | sl.Categorical] = {
        "SEX": sl.Categorical("SEX", change="never"),
        "MARRIAGE": sl.Categorical("MARRIAGE", change="never"),
        "AGE": sl.Numeric("AGE", change="never"),
        "EDUCATION": sl.Ordinal("EDUCATION", levels=[5, 4, 3, 2, 1], change="increase"),
    }
    schema = sl.Schema([special.get(name, sl.Numeric(name)) for name in rows.columns])
    space = sl.Space.fit(schema, rows)
    train, rest = train_test_split(rows, test_size=0.3, random_state=0)
    _, test = train_test_split(rest, test_size=0.5, random_state=0)
    model = LogisticRegression(class_weight="balanced", max_iter=1000)
    model.fit(space.encode(train), labels[train.index])
    rejected = test[model.predict_proba(space.encode(test))[:, 1] < 0.5]
    return Credit(schema, space, model, train, labels[train.index], rejected.iloc[:people])


def data_folder() -> Path:
    named = os.environ.get("STEPLADDER_DATA")
    return Path(named) if named else Path(__file__).parents[2] / "shared" / "data"


def method(people: int, sample: int) -> bool:
    """The published method in bulk against the plain loop on a sample, ends compared."""
    import stepladder as sl

    heading(
        f"The published method, Credit under logistic regression, {people} people, 3 paths each"
    )
    if not (data_folder() / "credit_default.csv.gz").exists():
        print(f"skipped: no credit_default.csv.gz in {data_folder()}; set STEPLADDER_DATA")
        return True
    credit = load_credit(people)
    step = sl.StEP.published(paths=3, random_state=0)
    step.fit(
        credit.train,
        sl.encoded(credit.model),
        schema=credit.schema,
        goal=sl.Goal(threshold=0.7),
        labels=credit.labels,
        space=credit.space,
    )
    step.recourse(credit.people.iloc[:2])  # imports and caches warm up outside the clock
    result = step.recourse(credit.people)
    ours = best_of(lambda: step.recourse(credit.people)) / len(credit.people)

    chosen = np.unique(np.linspace(0, len(credit.people) - 1, sample).astype(int))
    loop, clusters = plain_loop(credit)
    names = list(credit.space.column_names)
    sampled = credit.people.iloc[chosen]
    points = pd.DataFrame(credit.space.encode(sampled), columns=names)

    def all_paths() -> list[list[tuple[pd.Series[float], int]]]:
        return [[loop.path(points.loc[i], cluster) for cluster in clusters] for i in points.index]

    paths = all_paths()
    plain_seconds = best_of(all_paths, repeats=3)
    ends = np.array([[end.to_numpy() for end, _ in own] for own in paths])
    steps = np.array([[taken for _, taken in own] for own in paths])

    final = result.final.set_index("person")
    rows = final.loc[sampled.index, list(credit.schema.names)]
    gap = float(np.abs(credit.space.encode(rows).reshape(ends.shape) - ends).max())
    # Some people need more steps than others, and the sample is small: compare times per step.
    plain = plain_seconds / steps.sum() * final["steps"].sum() / len(credit.people)
    ratio = plain / ours
    fast, same = ratio >= TIMES_FASTER, gap <= 1e-9
    count = len(credit.people)
    print(f"{'':20} {'people':>8} {'steps per path':>14} {'ms per person':>14}")
    print(f"{'plain pandas loop':20} {len(chosen):8} {steps.mean():14.1f} {1e3 * plain:14.2f}")
    print(f"{'StEP.published':20} {count:8} {final['steps'].mean():14.1f} {1e3 * ours:14.3f}")
    print("(the loop's time is brought from its sample's steps to everybody's)")
    print(f"{ratio:,.0f} times faster per person (promised {TIMES_FASTER}: {verdict(fast)})")
    print(f"end points differ by at most {gap:.1e} (promised 1e-9: {verdict(same)})")
    return fast and same


def plain_loop(credit: Credit) -> tuple[PlainLoop, list[pd.DataFrame]]:
    """The plain loop and its clusters, found as the protocol says."""
    from sklearn.cluster import KMeans

    space, names = credit.space, list(credit.space.column_names)
    train = pd.DataFrame(space.encode(credit.train), columns=names)
    accepted = credit.model.predict_proba(train.to_numpy())[:, 1] >= 0.7
    positives = train[accepted & (credit.labels.to_numpy() == 1)]
    clusters = KMeans(3, n_init=10, random_state=0).fit_predict(positives.to_numpy())
    education = names.index("EDUCATION")
    loop = PlainLoop(
        credit.model,
        changeable=[name for name, free in zip(names, space.changeable, strict=True) if free],
        increase_only=["EDUCATION"],
        ordinal_units={"EDUCATION": 1.0 / float(space.scale[education])},
        onehot_groups=[names[space.slices["MARRIAGE"]]],
    )
    return loop, [positives[clusters == c] for c in range(3)]


# ---- the command --------------------------------------------------------------------------------


def verdict(kept: bool) -> str:
    return "kept" if kept else "MISSED"


def main() -> int:
    parser = argparse.ArgumentParser(description="How fast Stepladder is on this machine.")
    parser.add_argument("--only", choices=["memory", "method"], help="run one part")
    parser.add_argument(
        "--memory",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="the 20,000 × 200,000 memory run, some 10 to 60 seconds (default: on)",
    )
    parser.add_argument("--people", type=int, default=1000, help="people of the published run")
    parser.add_argument("--sample", type=int, default=5, help="people the plain loop answers")
    parser.add_argument("--memory-child", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.memory_child:
        memory_child()
        return 0
    parts: dict[str, Callable[[], bool]] = {
        "memory": memory,
        "method": lambda: method(chosen.people, chosen.sample),
    }
    if not chosen.memory:
        del parts["memory"]
    if chosen.only:
        parts = {chosen.only: parts[chosen.only]}
    kept = [run() for run in parts.values()]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
