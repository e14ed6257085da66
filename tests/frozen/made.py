"""A few tables and models whose answers are frozen, and how an answer is written down.

The models are formulas, so that no library's training can change what they say.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from tests.contract import made

import stepladder as sl

FOLDER = Path(__file__).parent
PEOPLE = 12
METHODS = {"step": sl.StEP, "step.published": sl.StEP.published}


@dataclass(frozen=True)
class Case:
    """A table, a model of it, and the rules for changes."""

    rows: pd.DataFrame
    schema: sl.Schema
    model: Callable[[pd.DataFrame], np.ndarray]
    threshold: float

    def answer(self, method: str) -> pd.DataFrame:
        """Every row of every path, and how each path ended."""
        goal = sl.Goal(threshold=self.threshold)
        step = METHODS[method]().fit(self.rows, self.model, schema=self.schema, goal=goal)
        people = self.rows[self.model(self.rows) < self.threshold].iloc[:: len(self.rows) // 60]
        result = step.recourse(people.head(PEOPLE))
        endings = result.final[["person", "path", "outcome"]]
        return result.paths.merge(endings, on=["person", "path"])


def file_of(case: str, method: str) -> Path:
    return FOLDER / f"{case}-{method}.csv"


def read(file: Path | io.StringIO) -> pd.DataFrame:
    return pd.read_csv(file, keep_default_na=False)


# ---- loans: every kind of feature ---------------------------------------------------------------


def logistic(frame: pd.DataFrame) -> np.ndarray:
    """Smooth: every feature counts a little."""
    total = (
        frame["income"] / 25
        - frame["debt"] / 3
        + frame["savings"].astype(float) / 2
        + frame["years"] / 8
        + frame["studies"].map(made.STUDIES.index) / 2
        - frame["late"] / 2
        + (frame["job"] == "smith")
        + frame["home_own"]
        + frame["owner"]
    )
    return 1 / (1 + np.exp(3.5 - total.to_numpy(dtype=float)))


def stumps(frame: pd.DataFrame) -> np.ndarray:
    """Steps, as trees have them: most small changes change nothing."""
    votes = (
        2 * (frame["income"] >= 55)
        + 1 * (frame["income"] >= 80)
        + 2 * (frame["debt"] < 3.5)
        + 1 * ((frame["savings"] > 0.25) & (frame["years"] > 6))
        + 1 * (frame["studies"].map(made.STUDIES.index) >= 2)
        + 1 * (frame["late"] == 0)
        + 1 * (frame["job"] != "clerk")
        - 1 * ((frame["home_rent"] == 1) & ~frame["owner"])
    )
    return ((votes + 1) / 10).to_numpy(dtype=float)


# ---- numbers: nothing but floats ----------------------------------------------------------------

_RANDOM = np.random.default_rng(11)
NUMBERS = pd.DataFrame(_RANDOM.normal(size=(500, 6)).clip(-2, 2), columns=list("abcdef"))
_HIDDEN, _OUT = _RANDOM.normal(size=(6, 8)), _RANDOM.normal(size=8)


def network(frame: pd.DataFrame) -> np.ndarray:
    """Bent: what helps in one place harms in another."""
    hidden = np.tanh((frame.to_numpy()[:, :, None] * _HIDDEN).sum(axis=1))
    return 1 / (1 + np.exp(-(hidden * _OUT).sum(axis=1)))


CASES = {
    "loans-logistic": Case(made.TRAIN, made.SCHEMA, logistic, 0.7),
    "loans-stumps": Case(made.TRAIN, made.SCHEMA, stumps, 0.65),
    "numbers-network": Case(
        NUMBERS,
        sl.Schema(
            [
                sl.Numeric("a", change="increase"),
                sl.Numeric("b", change="never"),
                sl.Numeric("c", bounds=(-2, 2)),
                *(sl.Numeric(name) for name in "def"),
            ]
        ),
        network,
        0.7,
    ),
    "lattice": Case(
        made.LATTICE,
        sl.Schema([sl.Numeric(name, integer=True, bounds=(0, 5)) for name in "abcd"]),
        made.enough,
        0.7,
    ),
}
