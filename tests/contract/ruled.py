"""A table with every rule there is, and the rules written out once more, by hand.

`broken` asks the library nothing: it goes by the frames of a result alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from tests.contract import made

import stepladder as sl
from stepladder.methods.base import Method

STUDIES = ["none", "school", "bachelor", "master"]
ACCOUNTS = ["none", "overdrawn", "basic", "plus"]
GRADES = ["A", "B"]

SCHEMA = sl.Schema(
    [
        sl.Derived("ltv", "loan / price", decimals=3),  # first: it has no column among points
        sl.Numeric("income", bounds=(0, 200), typical=(10, 120), integer=True, reach=("-10%", 40)),
        sl.Numeric("loan", bounds=(0, 300), typical=(20, 200), multiple=5, at_once=True, months=2),
        sl.Categorical("account", levels=ACCOUNTS, not_to=["none"], moves={"overdrawn": ["basic"]}),
        sl.Derived("payment", "was(payment) * loan / was(loan)", decimals=2),
        sl.Numeric("price", change="never", typical=(100, 300)),
        sl.Derived("grade", "where(ltv > 0.6, 'B', 'A')", levels=GRADES),
        sl.Ordinal(
            "studies",
            levels=STUDIES,
            change="increase",
            moves={"none": ["school"], "school": ["bachelor"]},
            months_each=18,
        ),
        sl.Numeric("savings", bounds=(0, 60), decimals=1, months=3),
        sl.Numeric("age", change="time", typical=(18, 99)),
        sl.Derived("spare", "income - payment - 0.1 * savings", decimals=2),
    ],
    require=["payment <= 0.6 * income", "savings <= income and savings <= 50"],
)
GOAL = sl.Goal(threshold=0.6, policy=["ltv <= 0.7"])

COLUMNS = list(SCHEMA.names)
CHOSEN = [feature.name for feature in SCHEMA.features if feature.chosen]


def follow(rows: pd.DataFrame) -> pd.DataFrame:
    """Reference rows with what follows from the rest, in the schema's order."""
    rows = rows.assign(ltv=(rows["loan"] / rows["price"]).round(3))
    rows = rows.assign(grade=np.where(rows["ltv"] > 0.6, "B", "A"))
    rows = rows.assign(spare=(rows["income"] - rows["payment"] - 0.1 * rows["savings"]).round(2))
    return rows[COLUMNS]


def table(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    loan = rng.integers(4, 41, rows) * 5.0
    made = pd.DataFrame(
        {
            "income": rng.integers(20, 120, rows),
            "loan": loan,
            "account": rng.choice(ACCOUNTS, rows),
            "payment": (loan * rng.uniform(0.15, 0.3, rows)).round(2),
            "price": rng.choice([150.0, 200.0], rows),
            "studies": rng.choice(STUDIES, rows),
            "savings": rng.uniform(0, 20, rows).round(1),
            "age": rng.integers(20, 60, rows).astype(float),
        },
        index=[f"person {i}" for i in range(rows)],
    )
    return follow(made)


TRAIN = table(400, seed=0)


def model(frame: pd.DataFrame) -> np.ndarray:
    """Likes what is spare, studies, savings and an account; a gap counts as none."""
    total = (
        np.nan_to_num(frame["spare"].to_numpy(float)) / 30
        - 3 * frame["ltv"].to_numpy(float)
        - 0.5 * (frame["grade"] == "B").to_numpy(float)
        + 0.5 * np.array([STUDIES.index(level) for level in frame["studies"]])
        + 0.5 * np.array([ACCOUNTS.index(level) for level in frame["account"]])
        + np.nan_to_num(frame["savings"].to_numpy(float)) / 20
        + frame["age"].to_numpy(float) / 40
        - 2.8
    )
    return 1 / (1 + np.exp(-total))


SPACE = sl.Space.from_schema(SCHEMA, TRAIN)


def is_yes(rows: pd.DataFrame) -> np.ndarray:
    return np.asarray((model(rows) >= GOAL.threshold) & (rows["ltv"] <= 0.7))


_ASKED = table(300, seed=1)
PEOPLE = _ASKED[~is_yes(_ASKED)].iloc[:12].copy()
PEOPLE.loc[PEOPLE.index[1], "payment"] = 0.9 * PEOPLE["income"].iloc[1]  # breaks a requirement
PEOPLE.loc[PEOPLE.index[2], "loan"] += 1.7  # no multiple, and not what its ratio says
PEOPLE.loc[PEOPLE.index[3], "ltv"] += 0.004
LOCKED = {PEOPLE.index[4]: ["studies"], PEOPLE.index[5]: ["loan", "account"]}
LIMITS = {
    PEOPLE.index[6]: {"loan": (PEOPLE["loan"].iloc[6] - 20, None), "studies": (None, "bachelor")},
    PEOPLE.index[7]: {"income": (None, int(PEOPLE["income"].iloc[7]) + 4)},
}


LACKING = PEOPLE.iloc[[0, 9]].assign(savings=np.nan, spare=np.nan)
"""Whose savings aren't known, and so not what they have to spare."""

CENTRES = table(100, seed=9)[is_yes].iloc[:2]
"""Rows of another table, which is public."""


def method(name: str, **settings: Any) -> Method:
    """A method of the contract suite; StEP's may have other settings."""
    if name == made.PER_DIRECTION:
        settings["privacy"] = sl.PayPerDirection(sl.Budget(50, 1e-6), steps=400, centres=CENTRES)
        settings["max_steps"] = 4
    elif name == made.ONCE:
        settings["privacy"] = sl.Budget(8, 1e-6)
    elif not settings:
        return made.METHODS[name]()
    return sl.StEP(paths=2, random_state=3, **settings)


def fit(method: Method) -> Method:
    return method.fit(TRAIN, model, goal=GOAL, space=SPACE)


@cache
def fitted(name: str) -> Method:
    return fit(method(name))


@cache
def answer(name: str) -> sl.Recourse:
    return fitted(name).recourse(PEOPLE, locked=LOCKED, limits=LIMITS)


# ---- the rules, by hand -------------------------------------------------------------------------


def broken(rows: pd.DataFrame, most: int | None = None) -> list[str]:
    """Every rule that the rows of one path break; the first is the person's own."""
    today, found = rows.iloc[0], list[str]()
    for number in range(1, len(rows)):
        here = (today, rows.iloc[number - 1], rows.iloc[number])
        found += [f"step {number}: {what}" for what in _wrong(*here)]
        changed = [name for name in CHOSEN if _differs(today[name], rows.iloc[number][name])]
        if most is not None and len(changed) > most:
            found.append(f"step {number}: {', '.join(changed)} change")
    values = rows["loan"].drop_duplicates()
    if len(values) > 2:
        found.append(f"loan changes more than once: {values.tolist()}")
    return found


def _differs(before: Any, after: Any) -> bool:
    both_missing = pd.isna(before) and pd.isna(after)
    return not both_missing and before != after


def _wrong(today: Any, before: Any, row: Any) -> Iterator[str]:
    for name, rules in (
        ("income", _income),
        ("loan", _loan),
        ("account", _account),
        ("studies", _studies),
        ("savings", _savings),
    ):
        if _differs(today[name], row[name]) or _differs(before[name], row[name]):
            yield from (f"{name}: {what}" for what in rules(today, before, row))
    if row["price"] != today["price"]:
        yield f"price became {row['price']}"
    yield from _time(today, before, row)
    yield from _following(today, row)
    yield from _required(today, row)


def _income(today: Any, _: Any, row: Any) -> Iterator[str]:
    if row["income"] != round(row["income"]):
        yield "isn't whole"
    if not 0.9 * today["income"] <= row["income"] <= min(200, today["income"] + 40):
        yield f"{today['income']} can't reach {row['income']}"


def _loan(today: Any, _: Any, row: Any) -> Iterator[str]:
    if row["loan"] != today["loan"] and (row["loan"] % 5 or not 0 <= row["loan"] <= 300):
        yield f"{row['loan']} isn't allowed"


def _account(_: Any, before: Any, row: Any) -> Iterator[str]:
    if before["account"] == row["account"]:
        return
    if row["account"] == "none" or (before["account"], row["account"]) == ("overdrawn", "plus"):
        yield f"{before['account']} can't hop to {row['account']}"


def _studies(_: Any, before: Any, row: Any) -> Iterator[str]:
    rise = STUDIES.index(row["studies"]) - STUDIES.index(before["studies"])
    if rise < 0 or (rise > 1 and before["studies"] in ("none", "school")):
        yield f"{before['studies']} can't hop to {row['studies']}"


def _savings(today: Any, _: Any, row: Any) -> Iterator[str]:
    if pd.isna(today["savings"]):
        yield "a gap was filled"
    elif row["savings"] != round(row["savings"], 1) or not 0 <= row["savings"] <= 60:
        yield f"{row['savings']} isn't allowed"


def _time(today: Any, before: Any, row: Any) -> Iterator[str]:
    months = 2.0 if row["loan"] != today["loan"] else 0.0
    if _differs(row["savings"], today["savings"]):
        months = max(months, 3.0)
    risen = STUDIES.index(row["studies"]) - STUDIES.index(today["studies"])
    years = math.floor(max(months, 18 * risen) / 12)
    if row["age"] != today["age"] + years:
        yield f"age is {row['age']} after {years} years from {today['age']}"
    if row["age"] < before["age"]:
        yield "time goes back"


def _following(today: Any, row: Any) -> Iterator[str]:
    """What follows, with what today's value differs from its formula by carried along."""
    ltv = {True: today["loan"] / today["price"], False: row["loan"] / row["price"]}
    payment = today["payment"] * row["loan"] / today["loan"]
    spare = [
        rows["income"] - rows["payment"] - 0.1 * np.nan_to_num(rows["savings"])
        for rows in (today, row)
    ]
    for name, wanted, decimals in (
        ("ltv", today["ltv"] + ltv[False] - ltv[True], 3),
        ("payment", payment, 2),
        ("spare", today["spare"] + spare[1] - spare[0], 2),
    ):
        if pd.isna(today[name]):
            continue
        stays = row[name] == today[name] and abs(wanted - today[name]) < 1e-9
        if not stays and abs(row[name] - wanted) > 0.51 * 10**-decimals:
            yield f"{name} is {row[name]}, not {wanted}"
    grades = ["B" if rows["ltv"] > 0.6 else "A" for rows in (today, row)]
    if today["grade"] == grades[0] and row["grade"] != grades[1]:
        yield f"grade is {row['grade']} at {row['ltv']}"


def _required(today: Any, row: Any) -> Iterator[str]:
    for what, excess in (
        ("payment <= 0.6 * income", lambda rows: rows["payment"] - 0.6 * rows["income"]),
        ("savings <= income", lambda rows: rows["savings"] - rows["income"]),
        ("savings <= 50", lambda rows: rows["savings"] - 50),
    ):
        if excess(row) > max(0.0, excess(today)) + 1e-9:
            yield f"{what} is broken by {excess(row)}"
