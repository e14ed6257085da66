"""Borrowers in the United States: who kept up for two years (1), who fell 90 days behind (0)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from stepladder.datasets.dataset import Cleaned, Kind, OpenML, Provenance, PublishedTable
from stepladder.table.feature import Numeric
from stepladder.table.schema import Schema

LABEL = "SeriousDlqin2yrs"

LATE = (0, 4)
"""How often most people are late within two years: twice a year is often."""

SCHEMA = Schema(
    [
        # What is owed on cards and credit lines, as a share of the limits; fees can go beyond 1.
        Numeric("RevolvingUtilizationOfUnsecuredLines", typical=(0, 1.5)),
        Numeric("age", integer=True, change="never"),
        Numeric("NumberOfTime30-59DaysPastDueNotWorse", integer=True, typical=LATE),
        # Debts, alimony and the cost of living as a share of the income: most live within it.
        Numeric("DebtRatio", typical=(0, 1)),
        # Dollars.
        Numeric("MonthlyIncome", typical=(0, 20_000)),
        # A few cards, a car, studies, a home.
        Numeric("NumberOfOpenCreditLinesAndLoans", integer=True, typical=(0, 20)),
        Numeric("NumberOfTimes90DaysLate", integer=True, typical=LATE),
        # A mortgage and a credit line on a home, and on a second one.
        Numeric("NumberRealEstateLoansOrLines", integer=True, typical=(0, 4)),
        Numeric("NumberOfTime60-89DaysPastDueNotWorse", integer=True, typical=LATE),
        # A partner and three children.
        Numeric("NumberOfDependents", typical=(0, 4)),
    ]
)

_COLUMNS: dict[str, Kind] = {
    LABEL: "whole",
    "RevolvingUtilizationOfUnsecuredLines": "number",
    "age": "whole",
    "NumberOfTime30-59DaysPastDueNotWorse": "whole",
    "DebtRatio": "number",
    "MonthlyIncome": "number",
    "NumberOfOpenCreditLinesAndLoans": "whole",
    "NumberOfTimes90DaysLate": "whole",
    "NumberRealEstateLoansOrLines": "whole",
    "NumberOfTime60-89DaysPastDueNotWorse": "whole",
    "NumberOfDependents": "number",
}


def _clean(raw: pd.DataFrame) -> Cleaned:
    """Rows with a missing value are dropped: an income or the number of dependents."""
    rows = raw.dropna().reset_index(drop=True)
    labels = (rows.pop(LABEL) == 0).to_numpy().astype(np.int64)
    return Cleaned(rows, labels, SCHEMA)


def _arrange(frame: pd.DataFrame) -> pd.DataFrame:
    """OpenML's copy has another label, and its rows were shuffled before they were uploaded.

    The shuffle is known (TabArena's dataset_curation, GiveMeSomeCredit.py), so that it can be
    undone: row i of the copy is row order[i] of the table.
    """
    order = pd.Series(np.arange(len(frame))).sample(frac=1, random_state=42).to_numpy()
    label = frame["FinancialDistressNextTwoYears"].astype(str).map({"No": 0, "Yes": 1})
    named = frame.drop(columns="FinancialDistressNextTwoYears").assign(**{LABEL: label})
    return named.iloc[np.argsort(order)]


TABLE = PublishedTable(
    name="give_me_some_credit",
    columns=_COLUMNS,
    checksum="57374fec1f278060f3ee2142b099e1650bb0b03fe56166337ab1ec8250977c98",
    provenance=Provenance(
        citation=(
            "Credit Fusion and W. Cukierski (2011), Give Me Some Credit, Kaggle: the file "
            "cs-training.csv."
        ),
        licence="The rules of the Kaggle competition; not to be redistributed",
        page="https://www.kaggle.com/c/GiveMeSomeCredit/data",
    ),
    source=OpenML(46929, _arrange, "the file cs-training.csv as it is"),
    clean=_clean,
)
