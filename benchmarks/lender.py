"""A lender's table whose columns hang together, its schema, and three kinds of model for it.

Five links: a ratio (ltv), a sum (total_debt), a monthly payment from amount, rate and term, an
order between two columns (housing_ratio below total_ratio), and seniority below age. The rate
follows the ltv, the payment the rate, and the housing ratio the payment: a chain of four.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

import stepladder as sl

EDUCATION = ["none", "school", "bachelor", "master"]
JOBS = ["unemployed", "temporary", "permanent", "self-employed"]
ACCOUNTS = ["none", "overdrawn", "basic", "plus"]

FORMULAS = {
    "ltv": ("loan / price", 3),
    "rate": ("base_rate + where(ltv > 0.8, 0.6, where(ltv > 0.6, 0.25, 0))", 2),
    "payment": ("loan * (rate / 1200) / (1 - (1 + rate / 1200) ** (0 - term))", 2),
    "housing_ratio": ("payment / income", 3),
    "total_debt": ("card + car + loan", 0),
}
REQUIRE = ["housing_ratio <= total_ratio", "months_employed <= (age - 16) * 12"]
POLICY = ("ltv <= 0.95",)


@dataclass(frozen=True, eq=False)
class Terms:
    """What the lender's schema says in numbers, so that a check by hand needs no schema."""

    multiples: Mapping[str, int] = field(
        default_factory=lambda: {"income": 50, "loan": 1000, "term": 12, "card": 100, "car": 100}
    )
    never: tuple[str, ...] = ("price", "base_rate", "region")


LENDER = Terms()
SMALL = Terms(
    {"income": 1000, "loan": 50_000, "term": 120, "card": 5000, "car": 100},
    ("price", "base_rate", "region", "car", "education", "months_employed", "total_ratio", "job"),
)
"""Grids so coarse that everything a person could become can be listed."""


def schema(terms: Terms = LENDER) -> sl.Schema:
    """The lender's rules as a schema."""
    return sl.Schema(_chosen(terms) + _derived(), require=REQUIRE)


def undeclared(terms: Terms = LENDER) -> sl.Schema:
    """The same without links: what is derived is a number like any other."""
    free: list[Any] = [
        sl.Numeric(name, bounds=(0, None), decimals=decimals)
        for name, (_, decimals) in FORMULAS.items()
    ]
    return sl.Schema(_chosen(terms) + free)


def underived(terms: Terms = LENDER) -> sl.Schema:
    """The same for a model that works out by itself what is derived, and without requirements."""
    return sl.Schema(_chosen(terms))


def _chosen(terms: Terms) -> list[Any]:
    step = terms.multiples
    features = [
        sl.Numeric("age", integer=True, change="time"),
        sl.Numeric("price"),
        sl.Numeric("base_rate"),
        sl.Categorical("region", levels=["north", "south"]),
        sl.Numeric(
            "income",
            bounds=(0, None),
            change="increase",
            reach="30%",
            months=6,
            multiple=step["income"],
        ),
        sl.Numeric(
            "loan",
            bounds=(1000, None),
            change="decrease",
            at_once=True,
            difficulty=0.5,
            multiple=step["loan"],
        ),
        sl.Numeric("term", bounds=(60, 360), at_once=True, multiple=step["term"]),
        sl.Numeric("card", bounds=(0, None), change="decrease", months=3, multiple=step["card"]),
        sl.Numeric("car", bounds=(0, None), change="decrease", months=3, multiple=step["car"]),
        sl.Numeric("total_ratio", bounds=(0, None), decimals=3, change="decrease"),
        sl.Numeric("months_employed", integer=True, change="increase", reach=36, months_each=1),
        sl.Ordinal("education", levels=EDUCATION, change="increase", months_each=24),
        sl.Categorical(
            "job",
            levels=JOBS,
            not_to=["unemployed"],
            moves={"unemployed": ["temporary", "self-employed"], "temporary": ["permanent"]},
            months=6,
        ),
        sl.Categorical(
            "account",
            levels=ACCOUNTS,
            not_to=["none", "overdrawn"],
            moves={"none": ["basic"], "overdrawn": ["basic"]},
            months=2,
        ),
    ]
    return [_never(f) if f.name in terms.never else f for f in features]


def _never(feature: Any) -> Any:
    """The same feature as one that nobody can change."""
    kept = {"levels", "bounds", "integer", "decimals"}
    settings = {name: value for name, value in feature.settings.items() if name in kept}
    return type(feature)(feature.name, **settings | {"change": "never"})


def _derived() -> list[Any]:
    return [
        sl.Derived(name, text, decimals=decimals) for name, (text, decimals) in FORMULAS.items()
    ]


# ---- the table --------------------------------------------------------------------------------


BY_HAND: dict[str, Callable[[pd.DataFrame], pd.Series[float]]] = {
    "ltv": lambda rows: rows["loan"] / rows["price"],
    "rate": lambda rows: (
        rows["base_rate"] + 0.25 * (rows["ltv"] > 0.6) + 0.35 * (rows["ltv"] > 0.8)
    ),
    "payment": lambda rows: (
        rows["loan"] * (rows["rate"] / 1200) / (1 - (1 + rows["rate"] / 1200) ** -rows["term"])
    ),
    "housing_ratio": lambda rows: rows["payment"] / rows["income"],
    "total_debt": lambda rows: rows["card"] + rows["car"] + rows["loan"],
}
"""The formulas once more, in plain pandas."""


def filled(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with all that is derived, one after the other, as each is rounded."""
    rows = rows.copy()
    for name, worked_out in BY_HAND.items():
        rows[name] = worked_out(rows).round(FORMULAS[name][1])
    return rows


def table(count: int, seed: int, terms: Terms = LENDER) -> pd.DataFrame:
    """Applications that follow every formula and keep every requirement."""
    rng = np.random.default_rng(seed)
    age = rng.integers(19, 70, count)
    price = rng.integers(16, 160, count) * 5000.0
    loan = price * rng.uniform(0.25, 1.0, count)
    rows = pd.DataFrame(
        {
            "age": age,
            "price": price,
            "base_rate": rng.integers(20, 61, count) / 10,
            "region": rng.choice(["north", "south"], count),
            "income": rng.lognormal(8.4, 0.5, count),
            "loan": loan,
            "term": rng.integers(8, 31, count) * 12.0,
            "card": rng.exponential(4000, count) * (rng.random(count) < 0.6),
            "car": rng.exponential(9000, count) * (rng.random(count) < 0.4),
            "months_employed": np.floor((age - 16) * 12 * rng.beta(1, 2.5, count)),
            "education": rng.choice(EDUCATION, count, p=[0.15, 0.45, 0.25, 0.15]),
            "job": rng.choice(JOBS, count, p=[0.1, 0.25, 0.45, 0.2]),
            "account": rng.choice(ACCOUNTS, count, p=[0.15, 0.2, 0.4, 0.25]),
        }
    )
    for name, step in terms.multiples.items():
        rows[name] = (rows[name] / step).round() * step
    rows["loan"] = rows["loan"].clip(lower=terms.multiples["loan"])
    rows["income"] = rows["income"].clip(lower=1000)
    rows["term"] = rows["term"].clip(lower=terms.multiples["term"])
    rows = filled(rows)
    other = (rows["card"] + rows["car"]) / 40 / rows["income"] + rng.exponential(0.03, count)
    rows["total_ratio"] = (rows["housing_ratio"] + other).round(3)
    return rows[list(schema(terms).names)]


def applicants(count: int, seed: int, terms: Terms = LENDER) -> pd.DataFrame:
    """Applications as they come in: some differ from a formula, break a rule or aren't round."""
    rng = np.random.default_rng(seed + 1)
    rows = table(count, seed, terms)
    odd = rng.random((8, count)) < 0.04
    rows.loc[odd[0], "payment"] += 12.34  # an insurance that the formula doesn't know
    rows.loc[odd[1], "ltv"] += 0.012  # another valuation
    rows.loc[odd[2], "rate"] -= 0.15  # a rebate
    rows.loc[odd[3], "total_ratio"] = (rows.loc[odd[3], "housing_ratio"] * 0.9).round(3)
    rows.loc[odd[4], "months_employed"] = (rows.loc[odd[4], "age"] - 15) * 12.0
    rows.loc[odd[5], "loan"] += 123  # neither round nor what its columns were worked out from
    rows.loc[odd[6], "income"] += 7
    rows.loc[odd[7], "total_debt"] += 2500  # a debt that the table doesn't name
    return rows


def labels(rows: pd.DataFrame, seed: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Who paid back: mostly by ratios and the payment, with chance on top."""
    total = (
        3.2
        - 4.0 * (rows["ltv"] - 0.55)
        - 3.0 * rows["housing_ratio"]
        - 2.5 * (rows["total_ratio"] - rows["housing_ratio"])
        - rows["total_debt"] / 300_000
        - rows["rate"] / 8
        + rows["months_employed"].clip(upper=120) / 100
        + 0.3 * rows["education"].map(EDUCATION.index)
        + rows["job"].map({"unemployed": -1.2, "temporary": -0.4, "permanent": 0.5}).fillna(0.0)
        + rows["account"].map({"none": -0.8, "overdrawn": -1.0, "plus": 0.4}).fillna(0.0)
        + (rows["age"] - 40) / 60
    )
    chance = np.random.default_rng(seed).logistic(scale=0.5, size=len(rows))
    return (total.to_numpy() + chance > 1.0).astype(np.int64)


# ---- models -----------------------------------------------------------------------------------

MODELS = "logistic", "trees", "network"


def trained(kind: str, rows: pd.DataFrame, answers: Any) -> Any:
    """A model of one kind that sees every column, the derived ones included."""
    from sklearn.compose import ColumnTransformer, make_column_selector
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    words = make_column_selector(dtype_exclude="number")
    columns = ColumnTransformer(
        [("words", OneHotEncoder(sparse_output=False), words)],
        remainder=StandardScaler(),
        verbose_feature_names_out=False,
    )
    judge = {
        "logistic": LogisticRegression(max_iter=2000),
        "trees": HistGradientBoostingClassifier(max_iter=120, random_state=0),
        "network": MLPClassifier((32, 16), max_iter=80, early_stopping=True, random_state=0),
    }[kind]
    return make_pipeline(columns, judge).fit(rows, answers)
