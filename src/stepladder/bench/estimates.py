"""From rows to estimates: a mean over trials, with its standard error.

A trial's value is the mean over its people with a defined one. An estimate is the mean of those
over the trials, each counting the same, and its standard error is their standard deviation (over
n - 1) divided by the root of their number. One trial has no standard error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder.errors import ResultError, listing

TASK = ["dataset", "model", "method"]
KEYS = [*TASK, "seed"]

Task = tuple[str, str, str]
"""dataset, model and method"""


class Estimate(NamedTuple):
    """A mean over trials; `error` is NaN for one trial, both are for none."""

    mean: float
    error: float
    trials: int
    """how many have a value"""

    def times(self, scale: float) -> Estimate:
        return Estimate(self.mean * scale, self.error * scale, self.trials)

    @property
    def error_percent(self) -> float:
        """The standard error in percent of the mean; NaN where that can't be said."""
        if not self.mean:
            return float("nan")
        return 100 * self.error / abs(self.mean)


NONE = Estimate(float("nan"), float("nan"), 0)


class Trials(NamedTuple):
    """How the trials of one dataset, model and method went."""

    finished: int
    people: float
    """how many a finished trial had, on average"""
    failures: dict[int, str]
    """seed → why that trial crashed"""


class Estimates:
    """Every estimate of two frames of results.

    rows   one per person: dataset, model, method, seed, person, then metrics
    cells  one per trial of a method: people, seconds, dropped, error and so on
    """

    def __init__(self, rows: pd.DataFrame, cells: pd.DataFrame) -> None:
        _check("rows", rows, KEYS)
        _check("cells", cells, [*KEYS, "people", "error"])
        self._trials = _trials(cells)
        self._estimates: dict[Task, dict[str, Estimate]] = {task: {} for task in self._trials}
        for by_trial in (_by_trial(rows), _of_cells(cells[cells["error"] == ""])):
            for task, estimates in _over_trials(by_trial):
                self._estimates.setdefault(task, {}).update(estimates)
        self.metrics = tuple(dict.fromkeys(m for own in self._estimates.values() for m in own))

    def tasks(self) -> list[Task]:
        """Every dataset, model and method that was run, crashed ones too."""
        return sorted(self._trials)

    def trials(self, dataset: str, model: str, method: str) -> Trials | None:
        """How its trials went; None if there were none."""
        return self._trials.get((dataset, model, method))

    def of(self, dataset: str, model: str, method: str, metric: str) -> Estimate:
        """One estimate: `NONE` if no trial has a value."""
        return self._estimates.get((dataset, model, method), {}).get(metric, NONE)


def largest_error(estimates: Iterable[Estimate]) -> float:
    """The paper's "Max Error %": the largest standard error over its mean; NaN without any."""
    known = [f.error_percent for f in estimates if not np.isnan(f.error_percent)]
    return max(known, default=float("nan"))


def _check(name: str, frame: pd.DataFrame, needed: list[str]) -> None:
    if missing := [column for column in needed if column not in frame.columns]:
        raise ResultError(
            f"The {name} of these results lack {listing(missing)}; they weren't written by "
            "`stepladder bench run`."
        )


def _by_trial(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over people, one row per trial. Numbers are kept as short floats; sums aren't."""
    metrics = [c for c in rows.columns if c not in (*KEYS, "person")]
    values = rows[metrics].astype(np.float64)
    # A category that nobody has isn't a group.
    return values.groupby([rows[key] for key in KEYS], observed=True).mean()


def _of_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """What is known of each trial, one row per trial; what isn't recorded is left out."""
    people = cells["people"].where(cells["people"] > 0).astype(np.float64)
    per_person = {
        "ms_a_person": ("seconds", 1000.0),
        "dropped_a_person": ("dropped", 1.0),
        "model_rows_a_person": ("model_rows", 1.0),
    }
    made = {
        name: factor * cells[column].astype(np.float64) / people
        for name, (column, factor) in per_person.items()
        if column in cells.columns
    }
    for name in ("people", "seconds_fit", "peak_mib"):
        if name in cells.columns:
            made[name] = cells[name].astype(np.float64)
    return pd.DataFrame(made).set_axis(pd.MultiIndex.from_frame(cells[KEYS]), axis=0)


def _over_trials(by_trial: pd.DataFrame) -> Iterator[tuple[Task, dict[str, Estimate]]]:
    """Every estimate of every task, from one row per trial."""
    for (dataset, model, method), group in by_trial.groupby(level=TASK, observed=True):
        values = group.to_numpy(np.float64)
        estimates = {str(name): _estimate(values[:, i]) for i, name in enumerate(group.columns)}
        yield (str(dataset), str(model), str(method)), estimates


def _estimate(values: NDArray[np.float64]) -> Estimate:
    """Of (t,) values of trials, some perhaps undefined."""
    defined = values[~np.isnan(values)]
    count = len(defined)
    if not count:
        return NONE
    error = defined.std(ddof=1) / np.sqrt(count) if count > 1 else np.nan
    return Estimate(float(defined.mean()), float(error), count)


def _trials(cells: pd.DataFrame) -> dict[Task, Trials]:
    found = {}
    for (dataset, model, method), group in cells.groupby(TASK, observed=True):
        crashed = group[group["error"] != ""]
        finished = group[group["error"] == ""]
        failures = {int(s): str(e) for s, e in zip(crashed["seed"], crashed["error"], strict=True)}
        people = float(finished["people"].mean()) if len(finished) else 0.0
        found[str(dataset), str(model), str(method)] = Trials(len(finished), people, failures)
    return found
