"""What is wrong with a person's own row, for that person alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import stepladder as sl
from stepladder.errors import BoundsError, FormulaError
from stepladder.table.rules import faults

SCHEMA = sl.Schema(
    [
        sl.Numeric("loan", bounds=(0, 10)),
        sl.Numeric("price"),
        sl.Derived("ltv", "loan / price"),
        sl.Derived("odd", lambda rows: np.sqrt(rows["price"])),
    ]
)
FRAME = pd.DataFrame(
    {"loan": [1.0, 11.0, 1.0, 1.0], "price": [2.0, 4.0, 0.0, np.nan], "ltv": 0.5, "odd": 1.0}
)
SPACE = sl.Space.fit(SCHEMA, FRAME)
VALUES = SPACE.read(FRAME, allow_missing=True)


def test_each_row_is_told_by_itself():
    found: dict[int, str] = {}
    faults.add_bounds_faults(SPACE, VALUES, found)
    faults.add_formula_faults(SPACE, VALUES, found)
    assert found == {
        1: "'loan' is 11, outside the schema's own bounds 0 to 10. Widen the bounds, or correct "
        "the row.",
        2: "'ltv' can't be worked out as loan / price: it isn't a number here, as after a division "
        "by 0. Correct the row, or let the formula say what holds then, with where(…).",
    }


def test_what_lacks_a_value_isnt_held_against_a_formula():
    assert not faults.unworkable(SPACE, VALUES)[3].any()


def test_what_is_wrong_already_isnt_told_twice():
    found = {2: "the loan is odd"}
    faults.add_formula_faults(SPACE, VALUES, found)
    assert found == {2: "the loan is odd"}


def test_as_an_error_it_names_the_row():
    labels = np.array(["anna", "bob", "cy", "dee"])
    with pytest.raises(BoundsError, match=r"Row 'bob' has loan = 11.* \(1 in all\)"):
        faults.check_bounds(SPACE, VALUES, labels)
    with pytest.raises(FormulaError, match="Row 'cy': 'ltv' can't be worked out as loan / price"):
        faults.check_formulas(SPACE, VALUES, labels)
    with (
        np.errstate(invalid="ignore"),
        pytest.raises(FormulaError, match=r"'odd' can't be .* function"),
    ):
        faults.check_formulas(SPACE, np.array([[1.0, -1.0, 0.5, 1.0]]))
    faults.check_bounds(SPACE, VALUES[[0, 2, 3]])
    faults.check_formulas(SPACE, VALUES[[0, 1, 3]])
