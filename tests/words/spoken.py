"""Features that tests of words share: with units, phrases and levels of their own."""

from __future__ import annotations

import stepladder as sl

MONTHLY = sl.Numeric("income", unit="$ a month")
YEARS = sl.Numeric("years_in_job", unit="years")
SHARE = sl.Numeric("share", percent=True, label="debt share")
RATIO = sl.Numeric("ratio", unit="% of income", times=100)
LOAN = sl.Numeric("loan", unit="$", times=1000, fall="borrow less")
DEBTS = sl.Numeric("debts", unit="$ a month", fall="pay down debts")
EDUCATION = sl.Ordinal("education", levels=["school", "Bachelor", "Master"])
RECORD = sl.Ordinal("record", levels=["3+ late", "none late"], rise="mend the record")
JOB = sl.Categorical("job", levels=["clerk", "nurse in a hospital"])
LTV = sl.Derived("ltv", "loan / price", label="loan to value", percent=True)
COST = sl.Derived(
    "cost",
    "was(cost) * loan / was(loan)",
    integer=True,
    label="housing costs",
    unit="$ a month",
)
RISK = sl.Derived("risk", "where(ltv > 0.8, 'rather high', 'low')", levels=["low", "rather high"])
AGE = sl.Numeric("age", integer=True, change="time", unit="years")
OWNER = sl.Categorical("owner", levels=[False, True], label="home ownership")
