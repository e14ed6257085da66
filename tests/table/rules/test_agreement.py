"""Whether a reference table agrees with its schema: told in one sentence."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import stepladder as sl
from stepladder.errors import SchemaError, TableWarning
from stepladder.table.rules.agreement import compare


def compared(ltv: list[float], require: tuple[str, ...] = (), **exact: int) -> None:
    frame = pd.DataFrame({"loan": [1.0, 2.0, 3.0], "price": [3.0, 3.0, 4.0], "ltv": ltv})
    derived = sl.Derived("ltv", "loan / price", **exact)
    schema = sl.Schema([sl.Numeric("loan"), sl.Numeric("price"), derived], require)
    space = sl.Space.fit(schema, frame)
    compare(space, space.read(frame, allow_missing=True))


def test_a_column_that_follows_its_formula_up_to_rounding_is_fine():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compared([1 / 3, 2 / 3, 0.75])
        compared([0.33, 0.67, 0.75], decimals=2)
        compared([np.nan, 2 / 3, 0.75])


def test_one_that_doesnt_is_told_in_how_many_rows_and_by_how_much():
    with pytest.warns(
        TableWarning, match=r"in 2 of 3 reference rows, by 0\.\d+ in .* 0\.25 at most"
    ):
        compared([1 / 3, 0.7, 0.5])


def test_a_requirement_that_nobody_keeps_is_refused():
    ltv = [1 / 3, 2 / 3, 0.75]
    with pytest.raises(SchemaError, match=r"None of the 3 reference rows keeps .* price <= loan"):
        compared(ltv, ("loan <= price and price <= loan",))
    compared(ltv, ("loan <= 1",))
