"""Credit card clients in Taiwan in 2005: who paid next month's bill (1), who defaulted (0)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from stepladder.datasets.dataset import Cleaned, Kind, OpenML, Provenance, PublishedTable
from stepladder.table.feature import Categorical, Numeric, Ordinal
from stepladder.table.schema import Schema

LABEL = "default payment next month"
MONTHS = range(1, 7)
"""September (1) back to April (6) 2005."""

# Money is in New Taiwan dollars.
SCHEMA = Schema(
    [
        # From a first card to a good customer's.
        Numeric("LIMIT_BAL", integer=True, typical=(10_000, 500_000)),
        Categorical("SEX", levels=[1, 2], change="never"),
        # 5 is unknown, 4 other, then high school, university and graduate school.
        Ordinal("EDUCATION", levels=[5, 4, 3, 2, 1], change="increase"),
        # 1 is married, 2 single, 3 other; 0 is a code that the documentation leaves out.
        Categorical("MARRIAGE", levels=[0, 1, 2, 3], change="never"),
        Numeric("AGE", integer=True, change="never"),
        # Months of delay. Three, or 90 days, is what banks call a default.
        *(Numeric(f"PAY_{month}", integer=True, typical=(0, 3)) for month in MONTHS),
        # A bill is rarely more than half of a high limit.
        *(Numeric(f"BILL_AMT{month}", integer=True, typical=(0, 250_000)) for month in MONTHS),
        # Few pay more than a month's wage, which was about 43,000 on average.
        *(Numeric(f"PAY_AMT{month}", integer=True, typical=(0, 50_000)) for month in MONTHS),
    ]
)

_COLUMNS: dict[str, Kind] = dict.fromkeys(
    [
        *("ID", "LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE"),
        *("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6"),
        *(f"BILL_AMT{month}" for month in MONTHS),
        *(f"PAY_AMT{month}" for month in MONTHS),
        LABEL,
    ],
    "whole",
)


def _clean(raw: pd.DataFrame) -> Cleaned:
    """As the paper's authors cleaned it: no delay is 0 however it's coded, unknown schooling 5."""
    labels = (raw.pop(LABEL) == 0).to_numpy().astype(np.int64)
    rows = raw.drop(columns="ID").rename(columns={"PAY_0": "PAY_1"})
    late = [f"PAY_{month}" for month in MONTHS]
    rows[late] = rows[late].clip(lower=0)
    rows["EDUCATION"] = rows["EDUCATION"].replace({0: 5, 6: 5})
    return Cleaned(rows, labels, SCHEMA)


def _arrange(frame: pd.DataFrame) -> pd.DataFrame:
    """OpenML calls the columns x1 to x23 and y, and leaves the ID out, which counts the rows."""
    features = [name for name in _COLUMNS if name not in ("ID", LABEL)]
    theirs = {f"x{number}": name for number, name in enumerate(features, 1)}
    named = frame.rename(columns=str.lower).rename(columns={**theirs, "y": LABEL})
    return named.drop(columns="id", errors="ignore").assign(ID=np.arange(1, len(named) + 1))


TABLE = PublishedTable(
    name="credit_default",
    columns=_COLUMNS,
    checksum="d78f61ccfa15a721ef9da6b8f388a84fb5256d80ced343c7e1b54fefe8806cea",
    provenance=Provenance(
        citation=(
            "I-C. Yeh and C. Lien (2009), The comparisons of data mining techniques for the "
            "predictive accuracy of probability of default of credit card clients, Expert Systems "
            "with Applications 36(2), 2473-2480. UCI Machine Learning Repository, "
            "doi:10.24432/C55S3H."
        ),
        licence="CC BY 4.0",
        page="https://archive.ics.uci.edu/dataset/350/default+of+credit+card+clients",
    ),
    source=OpenML(42477, _arrange, "the sheet from its second row on, where the column names are"),
    clean=_clean,
)
