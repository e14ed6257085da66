"""Other libraries, asked about the same people one by one, as their users would ask them.

    python benchmarks/alone_peers.py install      NICE and alibi, each in an environment of its own
    python benchmarks/alone_peers.py TABLE KIND   one task, as JSON

DiCE is called through dice-ml itself: told which features may vary and what a yes takes. It's also
reported as Stepladder runs it (`sl.DiCE`), which is faster. NICE and alibi don't work with today's
NumPy or pandas, so they answer from environments of their own (`alone_elsewhere.py`), about a model
that is trained there on the same rows. Both give one route.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from advice_ends import ROOT
from advice_measures import keeps
from advice_tasks import Floats, Task, untrained
from performance_tasks import (
    BUILD,
    GOAL,
    PATHS,
    SEED,
    Case,
    Figures,
    by_code,
    prepared,
    quiet_threads,
)

from stepladder.methods.dice import DiCE

PEOPLE = 8
"""How many people each library is asked about; a slow one fewer."""
LIMIT = 10.0
"""Seconds after which an answer isn't waited for any more: DiCE may look for hours where there's
little to find."""
FOLDER = BUILD / "peers"


@dataclass(frozen=True)
class Peer:
    """Another library."""

    label: str
    several: bool = True
    """whether it gives more than one route"""
    library: bool = True
    """whether it's the library itself, not what we make of it"""
    needs: tuple[str, ...] = ()
    """what to install in an environment of its own: what it says it needs isn't all"""
    people: int = PEOPLE
    kinds: tuple[str, ...] | None = None
    """which models it's asked about; all, where it doesn't say"""


PEERS = {
    "dice-random": Peer("DiCE, random"),
    "dice-genetic": Peer("DiCE, genetic"),
    "our-dice-random": Peer("DiCE, random, as Stepladder runs it", library=False),
    "our-dice-genetic": Peer("DiCE, genetic, as Stepladder runs it", library=False),
    "nice": Peer("NICE", several=False, needs=("NICEx==0.2.3", "scipy", "scikit-learn==1.9.1")),
    "alibi": Peer(
        "alibi, prototypes",
        several=False,
        needs=("alibi[tensorflow]==0.9.6", "click", "scikit-learn==1.9.1"),
        people=1,
        kinds=("logistic",),
    ),
}


def beside(table: str, kind: str) -> Figures:
    """Every peer's figures on one task, in a new process."""
    return by_code("alone_peers.py", False, table, kind)


def asked(table: str, kind: str) -> Figures:
    """Every peer's figures on one task."""
    case, found = prepared(table, kind), Figures()
    quiet_threads()
    for name, peer in PEERS.items():
        if peer.kinds and kind not in peer.kinds:
            continue
        if peer.needs:
            found[name] = elsewhere(name, case)
        elif peer.library:
            found[name] = by_library(case, name.removeprefix("dice-"))
        else:
            found[name] = by_us(case, name.removeprefix("our-dice-"))
    return found


# ---- DiCE ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Retyped:
    """A model that is shown rows in the dtypes it was trained on: dice-ml turns codes into text."""

    model: Any
    dtypes: pd.Series[Any]

    def predict_proba(self, rows: pd.DataFrame) -> Floats:
        return np.asarray(self.model.predict_proba(rows.astype(self.dtypes)))

    def predict(self, rows: pd.DataFrame) -> Floats:
        return np.asarray(self.predict_proba(rows)[:, 1] >= GOAL, dtype=np.float64)


def by_library(case: Case, algorithm: str) -> Figures:
    """dice-ml as its users call it."""
    import dice_ml

    task = case.task
    features = task.schema.features
    text = [f.name for f in features if f.kind == "categorical" or isinstance(_first(f), str)]
    data = dice_ml.Data(
        dataframe=task.train.assign(label=task.labels),
        continuous_features=[name for name in task.schema.names if name not in text],
        outcome_name="label",
    )
    model = dice_ml.Model(
        model=Retyped(task.model, task.train.dtypes), backend="sklearn", model_type="classifier"
    )
    explainer = dice_ml.Dice(data, model, method=algorithm)
    settings: dict[str, Any] = {"random_seed": SEED} if algorithm == "random" else {}
    vary = [f.name for f in features if f.change != "never"]

    def routes(row: pd.DataFrame) -> pd.DataFrame:
        answer = explainer.generate_counterfactuals(
            row,
            total_CFs=PATHS,
            desired_class=1,
            features_to_vary=vary,
            stopping_threshold=GOAL,
            **settings,
        )
        found: pd.DataFrame | None = answer.cf_examples_list[0].final_cfs_df
        if found is None:
            return row.head(0)
        return found[row.columns].astype(task.train.dtypes)

    return timed(task, routes)


def _first(feature: Any) -> Any:
    return (feature.levels or [0])[0] if feature.kind == "ordinal" else 0


def by_us(case: Case, algorithm: str) -> Figures:
    """DiCE through Stepladder."""
    method = case.fit(DiCE(PATHS, algorithm, random_state=SEED))

    def routes(row: pd.DataFrame) -> pd.DataFrame:
        final: pd.DataFrame = method.recourse(row).final
        return final.loc[final["outcome"] == "reached", list(row.columns)]

    return timed(case.task, routes)


def timed(task: Task, routes: Callable[[pd.DataFrame], pd.DataFrame]) -> Figures:
    """Ask about people one by one; what it took, and how many of the routes are any good."""
    seconds, found, late = [], [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for person in range(PEOPLE):
            row = task.people.iloc[[person]]
            began = time.perf_counter(), time.process_time()
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                try:
                    rows = in_time(lambda row=row: routes(row))  # type: ignore[misc]
                except TooLateError:
                    rows, late = row.head(0), late + 1
                except Exception as error:  # noqa: BLE001  # it then has no route for this person
                    if type(error).__name__ != "UserConfigValidationException":
                        return {"why_not": f"{type(error).__name__}: {error}"[:200]}
                    rows = row.head(0)
            seconds.append((time.perf_counter() - began[0], time.process_time() - began[1]))
            found.append(rows.set_axis([person] * len(rows)))
    return {**_times(seconds), "late": late, **judged(task, pd.concat(found), PEOPLE)}


class TooLateError(BaseException):
    """An answer isn't there in time; nothing that catches errors catches it."""


def in_time(answer: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """An answer, unless it takes more CPU time than `LIMIT`."""

    def give_up(*_: object) -> None:
        raise TooLateError

    usual = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        return answer()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, usual)


def _times(seconds: list[tuple[float, float]]) -> Figures:
    wall, cpu = 1e3 * np.median(seconds, axis=0)
    return {"ms": round(float(wall), 2), "cpu_ms": round(float(cpu), 2)}


def judged(task: Task, after: pd.DataFrame, people: int, scores: Any = None) -> Figures:
    """How many routes there are per person, and which share is accepted and keeps the rules."""
    before = task.people.loc[after.index].reset_index(drop=True)
    rows = after.reset_index(drop=True)
    if not len(rows):
        return {"people": people, "routes": 0.0, "valid": 0.0, "broken": 0.0}
    scores = task.score(rows) if scores is None else np.asarray(scores)
    kept = keeps(task, before, rows)
    return {
        "people": people,
        "routes": round(len(rows) / people, 3),
        "valid": round(float(((scores >= GOAL) & kept).mean()), 3),
        "broken": round(float((~kept).mean()), 3),
    }


# ---- in other environments ----------------------------------------------------------------------


def install() -> None:
    """Make an environment for each peer that needs one."""
    for name, peer in PEERS.items():
        if peer.needs:
            subprocess.run([sys.executable, "-m", "venv", str(FOLDER / name)], check=True)
            pip = [str(_python(name)), "-m", "pip", "install", "--quiet", *peer.needs]
            failed = subprocess.run(pip, check=False).returncode
            print(f"{name}: {'failed' if failed else 'installed'}")


def _python(name: str) -> Path:
    return FOLDER / name / "bin" / "python"


def elsewhere(name: str, case: Case) -> Figures:
    """A peer's figures from an environment of its own, or why there are none."""
    if not _python(name).exists():
        return {"why_not": "not installed (python benchmarks/alone_peers.py install)"}
    task, people = case.task, PEERS[name].people
    folder = BUILD / f"{name}-{task.name}"
    folder.mkdir(parents=True, exist_ok=True)
    task.train.to_csv(folder / "train.csv", index=False)
    task.people.head(people).to_csv(folder / "people.csv", index=False)
    categories = {
        f.name: list(task.schema.levels[f.name])
        for f in task.schema.features
        if f.kind == "categorical"
    }
    spec = {"labels": task.labels.tolist(), "categories": categories, "goal": GOAL}
    (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    (folder / "model.pickle").write_bytes(pickle.dumps(untrained(task.schema, task.kind, SEED)))
    script = ROOT / "benchmarks" / "alone_elsewhere.py"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(_python(name)), "-W", "ignore", str(script), name, str(folder)],
        env={**environment, "OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        check=False,
        text=True,
    )
    if done.returncode:
        return {"why_not": (done.stderr.strip().splitlines() or ["it failed"])[-1][:200]}
    told = json.loads(done.stdout.splitlines()[-1])
    after = pd.read_csv(folder / "routes.csv", index_col=0)
    rows = after[list(task.people.columns)]
    return {**_times(told["seconds"]), **judged(task, rows, people, told["scores"])}


if __name__ == "__main__":
    if sys.argv[1:] == ["install"]:
        install()
    else:
        print(json.dumps(asked(*sys.argv[1:])))
