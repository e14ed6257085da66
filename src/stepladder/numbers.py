"""A number as people read it."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Decimal

MISSING = "–"
"""Where there is no number."""

DIGITS = 4
"""As many as people read of a number that could have any."""


def exact(n: float | Decimal, *, apart: bool = True, cents: bool = False) -> str:
    """A number with all the digits it takes to tell it from any other, and no more.

    apart  whether a comma sets thousands apart
    cents  whether an amount that has one decimal is written with two

    >>> [exact(n) for n in (0.35, 1234567890123.4568, 1e-7, -0.0)]
    ['0.35', '1,234,567,890,123.4568', '0.0000001', '0']
    """
    given = n if isinstance(n, Decimal) else Decimal(str(n))
    if given == given.to_integral_value():
        digits = f"{given:z,.0f}"
    elif cents and round(given, 2) == given:
        digits = f"{given:,.2f}"
    else:
        digits = f"{given.normalize():,f}"
    return (digits if apart else digits.replace(",", "")).replace("-", "−")


def plain(n: float) -> str:
    """A number as it's typed, for a label or a message: no commas, and no rounding noise.

    >>> [plain(n) for n in (1200.0, -0.5, 0.1 + 0.2)]
    ['1200', '-0.5', '0.3']
    """
    return f"{n:.15g}"


def short(n: float, rounding: str = ROUND_HALF_EVEN) -> float:
    """A number to four digits, or to the whole if that has more; `rounding` is decimal's.

    >>> short(0.802325581), short(1174.2857), short(123456.78), short(0.12341, "ROUND_CEILING")
    (0.8023, 1174.0, 123457.0, 0.1235)
    """
    if not math.isfinite(n) or n == 0:
        return n
    given = Decimal(str(n))
    last = Decimal(1).scaleb(min(0, given.adjusted() - DIGITS + 1))
    return float(given.quantize(last, rounding=rounding))


def rounded(n: float, decimals: int = 2) -> str:
    """A number with so many decimals, or a dash where there is none.

    >>> [rounded(n) for n in (7.0551, -0.034, -0.001, math.inf, math.nan)]
    ['7.06', '−0.03', '0.00', '∞', '–']
    """
    return _rounded(n, f"z.{decimals}f")


def percent(share: float, decimals: int = 0) -> str:
    """A share in per cent, or a dash where there is none.

    >>> percent(0.347), percent(0.347, 1), percent(math.nan)
    ('35%', '34.7%', '–')
    """
    return _rounded(share, f"z.{decimals}%")


def _rounded(n: float, form: str) -> str:
    if math.isnan(n):
        return MISSING
    return ("∞" if n > 0 else "−∞") if math.isinf(n) else format(n, form).replace("-", "−")


def duration(seconds: float) -> str:
    """A time as people say it.

    >>> duration(0.04), duration(8.26), duration(75), duration(7500)
    ('0.0 s', '8.3 s', '1 min 15 s', '2 h 5 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"
