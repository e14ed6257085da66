"""A number as people read it."""

from __future__ import annotations

from decimal import Decimal


def number(n: float | Decimal, *, apart: bool, cents: bool = False) -> str:
    """A number with all the digits it takes to tell it from any other, and no more.

    >>> [number(n, apart=True) for n in (0.35, 1234567890123.4568, 1e-7)]
    ['0.35', '1,234,567,890,123.4568', '0.0000001']
    """
    exact = n if isinstance(n, Decimal) else Decimal(str(n))
    if exact == exact.to_integral_value():
        said = f"{exact:z,.0f}"
    else:
        said = f"{exact:,.2f}" if cents and round(exact, 2) == exact else f"{exact.normalize():,f}"
    return (said if apart else said.replace(",", "")).replace("-", "−")
