"""Every route's measures, task by task, from the ends that were kept: one row per route.

No value of anybody's row is among them, so that they can be published.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

import advice_brute
import numpy as np
import pandas as pd
from advice_ends import Cell, cells
from advice_measures import (
    changed,
    distances,
    efforts,
    keeps,
    least_when_short,
)
from advice_tasks import GOALS, KEPT, Floats, Task, kept, prepared

from stepladder.files import replacing

ENDS, MEASURED = KEPT / "ends", KEPT / "measured"

WITH_AN_END = ("reached", "unsure")
"""Outcomes of paths that lead to a yes of today's model."""

SAID = ["person", "path", "outcome", "said_effort", "said_holds", "said_tight", "rows_asked", "ms"]


def everything(pattern: str = "*") -> pd.DataFrame:
    """The measures of all cells that were answered so far, if their names fit."""
    found = [pd.read_parquet(file) for file in _measured(pattern)]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def _measured(pattern: str) -> Iterator[Path]:
    """The file of each cell, measured now where the ends are newer."""
    by_task: dict[tuple[str, str, int], list[Cell]] = {}
    for cell in cells():
        if _ends(cell).exists() and fnmatch(cell.name, pattern):
            by_task.setdefault(cell[:3], []).append(cell)
    MEASURED.mkdir(parents=True, exist_ok=True)
    for of_task in by_task.values():
        stale = [cell for cell in of_task if not _is_current(cell)]
        if stale:
            _measure(prepared(*stale[0][:3]), stale)
        yield from map(_file, of_task)


def _ends(cell: Cell) -> Path:
    return ENDS / f"{cell.name}.parquet"


def _file(cell: Cell) -> Path:
    return MEASURED / f"{cell.name}.parquet"


def _is_current(cell: Cell) -> bool:
    file = _file(cell)
    return file.exists() and file.stat().st_mtime >= _ends(cell).stat().st_mtime


def _measure(task: Task, of_task: Sequence[Cell]) -> None:
    frames = [pd.read_parquet(_ends(cell)) for cell in of_task]
    measured = [routes(task, cell, frame) for cell, frame in zip(of_task, frames, strict=True)]
    votes = _held(task, frames, measured)
    for cell, frame, held in zip(of_task, measured, votes, strict=True):
        with replacing(_file(cell)) as unfinished:
            frame.assign(held=held).to_parquet(unfinished)
    print(f"measured {task.name}: {', '.join(cell.method for cell in of_task)}", flush=True)


def routes(task: Task, cell: Cell, answers: pd.DataFrame) -> pd.DataFrame:
    """What each route of a cell asks, and whether it does."""
    said = answers[SAID].astype({"said_tight": "boolean"})
    heads = {name: getattr(cell, name) for name in ("table", "kind", "seed", "method", "goal")}
    rows = said.assign(**heads)
    there = answers["outcome"].isin(WITH_AN_END).to_numpy()
    before, after = pairs(task, answers[there])
    moved = changed(task, before, after)
    worked_out = pd.DataFrame(
        {
            "things": moved.sum(axis=1),
            "features": ["|".join(moved.columns[row]) for row in moved.to_numpy()],
            "effort": efforts(task, before, after),
            "distance": distances(task, before, after),
            "score": task.score(after) if len(after) else np.empty(0),
            "kept": keeps(task, before, after, whole=cell.method != "published"),
            "short": least_when_short(task, before, after) if len(after) else np.empty(0),
        }
    ).set_axis(answers.index[there])
    return rows.join(worked_out.astype({"kept": "boolean"})).assign(there=there)


def pairs(task: Task, answers: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows before and after, one of each per answer."""
    names = list(task.people.columns)
    after = answers[[f"after {name}" for name in names]].set_axis(names, axis=1)
    before = task.people.loc[answers["person"].to_numpy()]
    return before.reset_index(drop=True), after.reset_index(drop=True)


def _held(
    task: Task, answers: Sequence[pd.DataFrame], measured: Sequence[pd.DataFrame]
) -> list[Floats]:
    """For each cell and route, the share of fresh models that say yes; NaN where there's no end."""
    whole = pd.concat(answers, ignore_index=True)
    goals = np.concatenate([frame["goal"].to_numpy() for frame in measured])
    there = np.concatenate([frame["there"].to_numpy() for frame in measured])
    _, after = pairs(task, whole[there])
    held = np.full(len(whole), np.nan)
    if there.any():
        said_yes = [task.score(after, model) >= goals[there] for model in task.fresh]
        held[there] = np.mean(said_yes, axis=0)
    return np.split(held, np.cumsum([len(frame) for frame in answers])[:-1])


def by_brute_force(pattern: str = "*") -> pd.DataFrame:
    """What brute force finds for each person: one row per task, goal and person."""
    found = []
    for task in dict.fromkeys(cell[:3] for cell in cells() if fnmatch(cell.name, pattern)):
        tried = kept(f"brute/{'-'.join(map(str, task))}", lambda t=task: _tried(t))  # type: ignore[misc]
        for goal in GOALS:
            facts = pd.DataFrame(tried.facts(goal)).rename_axis("person").reset_index()
            table, kind, seed = task
            found.append(facts.assign(table=table, kind=kind, seed=seed, goal=goal))
    return pd.concat(found, ignore_index=True)


def _tried(task: tuple[str, str, int]) -> advice_brute.Found:
    print(f"brute force: {'-'.join(map(str, task))}", flush=True)
    return advice_brute.tried(prepared(*task))
