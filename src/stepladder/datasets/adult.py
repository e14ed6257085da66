"""People in the United States census of 1994: who earned more than 50,000 dollars (1), who not (0).

The table is UCI's training file followed by its test file. The schema is written by hand, its
levels after UCI's documentation, in alphabetical order.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from stepladder.datasets.dataset import Cleaned, Kind, OpenML, Provenance, PublishedTable
from stepladder.table.feature import Categorical, Numeric
from stepladder.table.schema import Schema

LABEL = "income"

# Those who never worked have no occupation, and rows with a missing value are dropped.
WORK = [
    *("Federal-gov", "Local-gov", "Private", "Self-emp-inc", "Self-emp-not-inc", "State-gov"),
    "Without-pay",
]
MARITAL = [
    *("Divorced", "Married-AF-spouse", "Married-civ-spouse", "Married-spouse-absent"),
    *("Never-married", "Separated", "Widowed"),
]
OCCUPATIONS = [
    *("Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial", "Farming-fishing"),
    *("Handlers-cleaners", "Machine-op-inspct", "Other-service", "Priv-house-serv"),
    *("Prof-specialty", "Protective-serv", "Sales", "Tech-support", "Transport-moving"),
]
RELATIONSHIPS = ["Husband", "Not-in-family", "Other-relative", "Own-child", "Unmarried", "Wife"]
RACES = ["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"]
COUNTRIES = [
    *("Cambodia", "Canada", "China", "Columbia", "Cuba", "Dominican-Republic", "Ecuador"),
    *("El-Salvador", "England", "France", "Germany", "Greece", "Guatemala", "Haiti"),
    *("Holand-Netherlands", "Honduras", "Hong", "Hungary", "India", "Iran", "Ireland", "Italy"),
    *("Jamaica", "Japan", "Laos", "Mexico", "Nicaragua", "Outlying-US(Guam-USVI-etc)", "Peru"),
    *("Philippines", "Poland", "Portugal", "Puerto-Rico", "Scotland", "South", "Taiwan"),
    *("Thailand", "Trinadad&Tobago", "United-States", "Vietnam", "Yugoslavia"),
]

SCHEMA = Schema(
    [
        Numeric("age", integer=True, change="never"),
        Categorical("workclass", levels=WORK, label="kind of employer"),
        # The census' code: 1 is preschool, 16 a doctorate.
        Numeric(
            "education-num",
            integer=True,
            change="increase",
            typical=(1, 16),
            label="education level",
        ),
        Categorical("marital-status", levels=MARITAL, change="never", label="marital status"),
        Categorical("occupation", levels=OCCUPATIONS),
        Categorical("relationship", levels=RELATIONSHIPS, change="never"),
        Categorical("race", levels=RACES, change="never"),
        Categorical("sex", levels=["Female", "Male"], change="never"),
        # Dollars a year. Most people sell nothing, and few gain more than a car costs.
        Numeric(
            "capital-gain",
            integer=True,
            typical=(0, 20_000),
            label="capital gain",
            unit="$ a year",
        ),
        # Tax law lets 3,000 dollars of losses a year count against other income.
        Numeric(
            "capital-loss",
            integer=True,
            typical=(0, 3_000),
            label="capital loss",
            unit="$ a year",
        ),
        # From a few hours to two jobs.
        Numeric(
            "hours-per-week",
            integer=True,
            typical=(1, 80),
            label="working time",
            unit="hours a week",
        ),
        Categorical("native-country", levels=COUNTRIES, change="never", label="native country"),
    ]
)

_COLUMNS: dict[str, Kind] = {
    "age": "whole",
    "workclass": "text",
    "fnlwgt": "whole",
    "education": "text",
    "education-num": "whole",
    "marital-status": "text",
    "occupation": "text",
    "relationship": "text",
    "race": "text",
    "sex": "text",
    "capital-gain": "whole",
    "capital-loss": "whole",
    "hours-per-week": "whole",
    "native-country": "text",
    LABEL: "text",
}

TESTED = 16_281
"""How many rows UCI's test file has."""


def _clean(raw: pd.DataFrame) -> Cleaned:
    """Rows with a missing value are dropped; `education` repeats `education-num` in words, and
    `fnlwgt` is the survey's weight, not a fact about the person."""
    rows = raw.dropna().reset_index(drop=True)
    labels = (rows.pop(LABEL) == ">50K").to_numpy().astype(np.int64)
    rows = rows.drop(columns=["education", "fnlwgt"])
    return Cleaned(rows, labels, SCHEMA)


def _arrange(frame: pd.DataFrame) -> pd.DataFrame:
    """OpenML calls the label `class`, and has UCI's test file first."""
    named = frame.rename(columns={"class": LABEL})
    return pd.concat([named.iloc[TESTED:], named.iloc[:TESTED]])


TABLE = PublishedTable(
    name="adult",
    columns=_COLUMNS,
    checksum="6cf2714635bc5dd549a35fc3a8c1ed319e177780391889e4e0d85f1ff8fd6e7a",
    provenance=Provenance(
        citation=(
            "B. Becker and R. Kohavi (1996), Adult, UCI Machine Learning Repository, "
            "doi:10.24432/C5XW20."
        ),
        licence="CC BY 4.0",
        page="https://archive.ics.uci.edu/dataset/2/adult",
    ),
    source=OpenML(
        1590,
        _arrange,
        "a line of column names, adult.data, then adult.test without its first line and without "
        "the full stops that end its lines",
    ),
    clean=_clean,
)
