"""People in the United States census of 1994: who earned more than 50,000 dollars (1), who not (0).

The table is UCI's training file followed by its test file.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from stepladder.datasets.table import Cleaned, Kind, OpenML, Provenance, Table
from stepladder.schema import Schema

LABEL = "income"

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
    fixed = ["age", "marital-status", "relationship", "race", "sex", "native-country"]
    schema = Schema.infer(rows, never=fixed, increase=["education-num"])
    return Cleaned(rows, labels, schema)


def _arrange(frame: pd.DataFrame) -> pd.DataFrame:
    """OpenML calls the label `class`, and has UCI's test file first."""
    named = frame.rename(columns={"class": LABEL})
    return pd.concat([named.iloc[TESTED:], named.iloc[:TESTED]])


TABLE = Table(
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
