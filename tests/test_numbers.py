"""Numbers as people read them."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest

from stepladder.numbers import MISSING, exact, percent, plain, rounded


@pytest.mark.parametrize("n", [0.1, 1 / 3, 123456.789, 1e-7, 1e15, -2.5])
def test_exact_digits_tell_a_number_from_any_other(n: float):
    assert float(exact(n, apart=False).replace("−", "-")) == n


def test_exact_writes_no_more_than_there_is():
    assert [exact(n) for n in (1200.0, 1200, np.float64(1200), Decimal("1200.00"))] == ["1,200"] * 4
    assert exact(-0.0) == "0"
    assert exact(12.5, cents=True) == "12.50"
    assert exact(12.555, cents=True) == "12.555"


def test_a_rounded_number_has_its_decimals_or_a_dash():
    assert [rounded(n, 0) for n in (1234.6, -0.4, math.nan)] == ["1235", "0", MISSING]
    assert [percent(n) for n in (0.005, -math.inf, math.nan)] == ["0%", "−∞", MISSING]


def test_a_plain_number_can_be_typed_again():
    assert [plain(n) for n in (1e6, -0.25, 0.1 + 0.2)] == ["1000000", "-0.25", "0.3"]
