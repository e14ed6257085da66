"""A small bank: a table with every kind of feature, and a smooth model of who gets a loan."""

from __future__ import annotations

import numpy as np
import pandas as pd

import stepladder as sl

LEVELS = ["school", "bachelor", "master"]
JOBS = ["clerk", "nurse", "smith"]

SCHEMA = sl.Schema(
    [
        sl.Numeric("income", bounds=(0, None), integer=True),
        sl.Numeric("debt", bounds=(0, None), decimals=2, change="decrease"),
        sl.Numeric("savings"),
        sl.Ordinal("education", levels=LEVELS, change="increase"),
        sl.Categorical("job", levels=JOBS),
        sl.Categorical("owner", levels=[False, True]),
        sl.Numeric("age", change="never", integer=True),
    ]
)


def table(rows: int, seed: int = 7) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": rng.integers(10_000, 90_000, rows),
            "debt": rng.uniform(0, 9_000, rows).round(2),
            "savings": rng.normal(size=rows),
            "education": rng.choice(LEVELS, rows),
            "job": rng.choice(JOBS, rows),
            "owner": rng.random(rows) < 0.5,
            "age": rng.integers(20, 65, rows),
        }
    )


def score(frame: pd.DataFrame) -> np.ndarray:
    """Likes income, savings, education, smiths and owners; dislikes debt and youth."""
    total = (
        frame["income"].to_numpy(float) / 20_000
        - frame["debt"].to_numpy(float) / 5_000
        + 0.4 * frame["savings"].to_numpy(float)
        + 0.5 * np.array([LEVELS.index(level) for level in frame["education"]])
        + 0.6 * np.array([job == "smith" for job in frame["job"]])
        + 0.3 * np.array([bool(owner) for owner in frame["owner"]])
        + (frame["age"].to_numpy(float) - 40) / 40
        - 3.5
    )
    return 1 / (1 + np.exp(-total))


GOAL = sl.Goal(threshold=0.6)
TRAIN = table(400)
PEOPLE = table(120, seed=8)
REJECTED = PEOPLE[score(PEOPLE) < GOAL.threshold].iloc[:25]


def fitted(step: sl.StEP | None = None, **settings: object) -> sl.StEP:
    """A method (by default StEP of these settings) fitted on the bank's table."""
    method = sl.StEP(**settings) if step is None else step  # type: ignore[arg-type]
    return method.fit(TRAIN, score, schema=SCHEMA, goal=GOAL)


def assert_sound(result: sl.Recourse, people: pd.DataFrame, locked: tuple[str, ...] = ()) -> None:
    """Every row of every path keeps the rules, scores as said, and the ends are what they claim."""
    names = list(SCHEMA.names)
    asked = result.paths.dropna(subset="score")  # who came too late wasn't even scored
    late = result.final.loc[result.final["score"].isna(), "outcome"]
    assert (late == "timed_out").all()
    np.testing.assert_allclose(asked["score"], score(asked[names]), atol=1e-12)
    for person, rows in result.paths.groupby("person"):
        feasible = sl.Feasible.of(result.space, people.loc[[person]], locked=locked)
        assert feasible.check(rows[names]) == []
    reached = result.final["outcome"] == "reached"
    assert (reached == (result.final["score"] >= GOAL.threshold)).all()
