"""The lender's rules written out by hand in plain pandas, and held against rows.

Nothing here asks Stepladder what a rule means: a mistake there can't hide here.
"""

from __future__ import annotations

import lender
import numpy as np
import pandas as pd
from lender import BY_HAND, LENDER, Terms

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
UNITS = {name: 10.0**-decimals for name, (_, decimals) in lender.FORMULAS.items()}
"""What the last decimal of each derived column is worth."""

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


def worked_out(rows: pd.DataFrame) -> pd.DataFrame:
    """What the formulas say of rows as they stand, unrounded."""
    return pd.DataFrame({name: by_hand(rows) for name, by_hand in BY_HAND.items()})


def carried(today: pd.DataFrame) -> pd.DataFrame:
    """What people's own values differ from their formulas by."""
    return today[list(BY_HAND)] - worked_out(today)


def off(today: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """By how much each derived value differs from its formula, today's difference carried along.

    In units of its last decimal, and half a unit is what rounding takes.
    """
    wanted = worked_out(rows) + carried(today)
    apart = (rows[list(UNITS)] - wanted).abs() / pd.Series(UNITS)
    same = worked_out(rows) == worked_out(today)
    still = (rows[list(UNITS)] - today[list(UNITS)]).abs() / pd.Series(UNITS)
    return apart.mask(same, still)


def completed(today: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with their age and all that is derived as they follow from the rest."""
    rows = rows.assign(age=today["age"] + (months(today, rows) // 12).astype(today["age"].dtype))
    before, differs = worked_out(today), carried(today)
    for name, by_hand in BY_HAND.items():
        now = by_hand(rows)
        then = (now + differs[name]).round(lender.FORMULAS[name][1])
        rows[name] = then.where(now != before[name], today[name])
    return rows


def broken(
    today: pd.DataFrame, rows: pd.DataFrame, terms: Terms = LENDER, tolerance: float = 0.0
) -> pd.DataFrame:
    """Which rules rows break: a column for each, and a row for each of `rows` and `today`.

    A derived value may be off by `tolerance` of itself, beyond rounding.
    """
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
        wrong[f"{name} round"] = moved[name] & (
            (then[name].round(digits) - then[name]).abs() > DUST
        )
    for name, share in REACH.items():
        far = (then[name] - now[name]).abs() - share * now[name].abs()
        wrong[f"{name} reach"] = far > DUST * now[name].abs()
    for name, most in FAR.items():
        wrong[f"{name} reach"] = (then[name] - now[name]).abs() > most
    for name, hops in HOPS.items():
        pairs = zip(today[name], rows[name], strict=True)
        wrong[name] = pd.Series([not _gets_to(hops, *pair) for pair in pairs], index=rows.index)
    wrong["age"] = rows["age"] != today["age"] + months(today, rows) // 12
    differs = off(today, rows)
    for name, (_, decimals) in lender.FORMULAS.items():
        wrong[name] = ~(differs[name] <= 0.5 + 1e-6 + tolerance * then[name].abs() * 10**decimals)
    for rule, excess in {
        LINKS[-2]: [part["housing_ratio"] - part["total_ratio"] for part in (now, then)],
        LINKS[-1]: [part["months_employed"] - (part["age"] - 16) * 12 for part in (now, then)],
    }.items():
        before, after = excess
        wrong[rule] = (after > 0) & (after > before.clip(lower=0) + DUST)
    return pd.DataFrame(wrong, index=rows.index)


def ill_stepped(today: pd.DataFrame, paths: pd.DataFrame) -> pd.DataFrame:
    """Which rows of paths, as `Recourse.paths` has them, are no step from the row before.

    The first has to be the person's own; today has one row for each of them.
    """
    keys = [paths["person"], paths["path"]]
    own = ranked(paths[today.columns])
    earlier, first = own.groupby(keys, sort=False).shift(), paths["step"] == 0
    wrong = {"own row": first & (own != ranked(today)).any(axis=1)}
    for name, hops in HOPS.items():
        pairs = zip(earlier[name], own[name], first, strict=True)
        wrong[f"{name} hop"] = pd.Series(
            [not (begun or here == there or there in hops[here]) for here, there, begun in pairs],
            index=paths.index,
        )
    for name in AT_ONCE:
        moved = (own[name] != earlier[name]) & ~first
        wrong[f"{name} at once"] = moved & (moved.groupby(keys, sort=False).cumsum() > 1)
    numbers = own[[*UP, *DOWN, "term"]]
    by_path = numbers.groupby(keys, sort=False)
    way = np.sign(by_path.transform("last") - by_path.transform("first"))
    wrong["undone"] = ((numbers - by_path.shift()) * way < 0).any(axis=1)
    return pd.DataFrame(wrong, index=paths.index)


def _gets_to(hops: dict[str, set[str]], here: str, there: str) -> bool:
    """Whether a level leads to another, in however many hops."""
    seen, ahead = {here}, [here]
    while ahead:
        fresh = hops[ahead.pop()] - seen
        seen |= fresh
        ahead += fresh
    return there in seen
