"""The lender's rules written out by hand in plain pandas, and held against rows.

Nothing here asks Stepladder what a rule means: a mistake there can't hide here.
"""

from __future__ import annotations

import lender
import numpy as np
import pandas as pd
from lender import LENDER, Terms, worked_out

LOWEST = {"income": 0, "loan": 1000, "term": 60, "card": 0, "car": 0, "total_ratio": 0}
HIGHEST = {"term": 360}
UP = "income", "months_employed", "education"
DOWN = "loan", "card", "car", "total_ratio"
REACH = {"income": 0.3}
"""as a share of today's value"""
FAR = {"months_employed": 36}
"""in the feature's own unit"""
MONTHS = {"income": 6, "card": 3, "car": 3, "job": 6, "account": 2}
MONTHS_EACH = {"months_employed": 1, "education": 24}
AT_ONCE = "loan", "term"
HOPS = {
    "job": {
        "unemployed": {"temporary", "self-employed"},
        "temporary": {"permanent"},
        "permanent": {"temporary", "self-employed"},
        "self-employed": {"temporary", "permanent"},
    },
    "account": {
        "none": {"basic"},
        "overdrawn": {"basic"},
        "basic": {"plus"},
        "plus": {"basic"},
    },
}
LINKS = (*lender.FORMULAS, "housing_ratio <= total_ratio", "months_employed <= (age - 16) * 12")
"""The rules that tie columns together, as `broken` names them."""

DUST = 1e-9


def ranked(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the ladder of education as numbers."""
    return rows.assign(education=rows["education"].map(lender.EDUCATION.index).astype(float))


def months(today: pd.DataFrame, rows: pd.DataFrame) -> pd.Series[float]:
    """How long it takes to get from today's rows to others, the slowest change counting."""
    now, then = ranked(today), ranked(rows)
    each = {name: (now[name] != then[name]) * length for name, length in MONTHS.items()}
    each |= {name: (then[name] - now[name]).abs() * one for name, one in MONTHS_EACH.items()}
    return pd.DataFrame(each, index=rows.index).max(axis=1)


def off(today: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """By how much each derived value differs from its formula, today's difference carried along.

    In units of its last decimal, and half a unit is what rounding takes.
    """
    wanted = worked_out(rows) + (today[list(lender.FORMULAS)] - worked_out(today))
    units = {name: 10.0**-decimals for name, (_, decimals) in lender.FORMULAS.items()}
    return (rows[list(units)] - wanted).abs() / pd.Series(units)


def completed(today: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with their age and all that is derived as they follow from the rest."""
    rows = rows.assign(age=today["age"] + (months(today, rows) // 12).astype(today["age"].dtype))
    before = worked_out(today)
    for name, (_, decimals) in lender.FORMULAS.items():
        now = worked_out(rows)[name]
        carried = (now + (today[name] - before[name])).round(decimals)
        rows[name] = carried.where(now != before[name], today[name])
    return rows


def broken(today: pd.DataFrame, rows: pd.DataFrame, terms: Terms = LENDER) -> pd.DataFrame:
    """Which rules rows break: a column for each, and a row for each of `rows` and `today`."""
    now, then = ranked(today), ranked(rows[today.columns])
    wrong = dict[str, "pd.Series[bool]"]()
    for name in terms.never:
        wrong[f"{name} never"] = now[name] != then[name]
    for name in UP:
        wrong[f"{name} up"] = then[name] < now[name]
    for name in DOWN:
        wrong[f"{name} down"] = then[name] > now[name]
    moved = then != now
    for name, low in LOWEST.items():
        wrong[f"{name} bounds"] = moved[name] & (then[name] < low)
    for name, high in HIGHEST.items():
        wrong[f"{name} bounds"] |= moved[name] & (then[name] > high)
    for name, step in terms.multiples.items():
        wrong[f"{name} multiple"] = moved[name] & (then[name] % step != 0)
    for name in ("total_ratio", "months_employed"):
        digits = 3 if name == "total_ratio" else 0
        wrong[f"{name} round"] = moved[name] & ((then[name].round(digits) - then[name]).abs() > DUST)
    for name, share in REACH.items():
        far = (then[name] - now[name]).abs() - share * now[name].abs()
        wrong[f"{name} reach"] = far > DUST * now[name].abs()
    for name, most in FAR.items():
        wrong[f"{name} reach"] = (then[name] - now[name]).abs() > most
    for name, hops in HOPS.items():
        pairs = zip(today[name], rows[name], strict=True)
        wrong[name] = pd.Series([not _gets_to(hops, *pair) for pair in pairs], index=rows.index)
    wrong["age"] = rows["age"] != today["age"] + months(today, rows) // 12
    apart = off(today, rows)
    for name in lender.FORMULAS:
        wrong[name] = ~(apart[name] <= 0.5 + 1e-6)
    for rule, excess in {
        LINKS[-2]: [part["housing_ratio"] - part["total_ratio"] for part in (now, then)],
        LINKS[-1]: [part["months_employed"] - (part["age"] - 16) * 12 for part in (now, then)],
    }.items():
        before, after = excess
        wrong[rule] = (after > 0) & (after > before.clip(lower=0) + DUST)
    return pd.DataFrame(wrong, index=rows.index)


def ill_stepped(paths: pd.DataFrame) -> pd.DataFrame:
    """Which rows of paths, as `Recourse.paths` has them, are no single step from the one before."""
    keys = [paths["person"], paths["path"]]
    earlier = paths.groupby(keys, sort=False).shift()
    first, wrong = paths["step"] == 0, {}
    for name, hops in HOPS.items():
        pairs = zip(earlier[name], paths[name], first, strict=True)
        wrong[f"{name} hop"] = [
            not (begun or here == there or there in hops[here]) for here, there, begun in pairs
        ]
    moved = paths[list(AT_ONCE)].ne(earlier[list(AT_ONCE)]) & ~first.to_numpy()[:, None]
    for name in AT_ONCE:
        wrong[f"{name} at once"] = moved[name].groupby(keys).cumsum().gt(1) & moved[name]
    found = pd.DataFrame(wrong, index=paths.index)
    chosen = ranked(paths[["income", "loan", "term", "card", "car", "total_ratio", "education"]])
    ends = chosen.groupby(keys, sort=False).transform("last")
    starts = chosen.groupby(keys, sort=False).transform("first")
    back = (chosen - chosen.groupby(keys, sort=False).shift()) * np.sign(ends - starts) < 0
    found["undone"] = back.any(axis=1)
    return found


def _gets_to(hops: dict[str, set[str]], here: str, there: str) -> bool:
    """Whether a level leads to another, in however many hops."""
    seen, ahead = {here}, [here]
    while ahead:
        fresh = hops[ahead.pop()] - seen
        seen |= fresh
        ahead += fresh
    return there in seen
