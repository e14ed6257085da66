"""What routes ask and whether they would do, worked out from the rows before and after alone.

Plain code, written after the definitions in the guide and not after the library's, so that the two
can be held against each other. One row before for each row after; frames are raw.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from advice_tasks import Floats, Task
from numpy.typing import NDArray

import stepladder as sl

SHORT = 0.1
"""The share of a change that is missing when it falls short."""
DUST = 1e-9
"""Smaller changes, in standard deviations, are rounding."""

Mask = NDArray[np.bool_]


def chosen(schema: sl.Schema) -> list[Any]:
    """The features that a person can change."""
    return [f for f in schema.features if f.kind != "derived" and f.change != "never"]


def numbers(feature: Any, column: pd.Series[Any]) -> Floats:
    """A column as numbers: an ordinal's levels count from 0, a category's have no order."""
    if feature.kind == "ordinal":
        place = {level: i for i, level in enumerate(feature.levels)}
        return column.map(place).to_numpy(dtype=np.float64)
    return column.to_numpy(dtype=np.float64)


def changed(task: Task, before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Which of the features that can change do: one column each."""
    found = {}
    for feature in chosen(task.schema):
        old, new = before[feature.name].reset_index(drop=True), after[feature.name].to_numpy()
        if feature.kind == "numeric":
            dust = DUST * task.train[feature.name].std()
            found[feature.name] = np.abs(new.astype(float) - old.to_numpy(dtype=float)) > dust
        else:
            found[feature.name] = old.to_numpy() != new
    return pd.DataFrame(found)


# ---- how much it asks -------------------------------------------------------------------------


def efforts(task: Task, before: pd.DataFrame, after: pd.DataFrame) -> Floats:
    """The effort of each route: a sum over the things that change."""
    moved = changed(task, before, after)
    total = np.zeros(len(after))
    for feature in chosen(task.schema):
        rows = np.flatnonzero(moved[feature.name])
        if feature.kind == "categorical":
            sizes = np.full(len(rows), 0.5)
        else:
            known = numbers(feature, task.train[feature.name])
            old = numbers(feature, before[feature.name].iloc[rows])
            new = numbers(feature, after[feature.name].iloc[rows])
            sizes = np.array([_size(known, a, b) for a, b in zip(old, new, strict=True)])
        total[rows] += sizes * feature.difficulty + 0.1
    return total


def _size(known: Floats, old: float, new: float) -> float:
    """The larger of the share of people overtaken and the share of the usual range crossed."""
    overtaken = abs(_rank(known, new) - _rank(known, old))
    low, high = np.percentile(known, [2, 98])
    spread = (high - low) or 4 * known.std()
    return float(max(overtaken, abs(new - old) / spread))


def _rank(known: Floats, value: float) -> float:
    """The share of people below a value, with half of those who have it."""
    return float((known < value).mean() + (known == value).mean() / 2)


def distances(task: Task, before: pd.DataFrame, after: pd.DataFrame) -> Floats:
    """How far each route goes, in standard deviations; another level is one in each column."""
    squares = np.zeros(len(after))
    for feature in chosen(task.schema):
        if feature.kind == "categorical":
            other = before[feature.name].to_numpy() != after[feature.name].to_numpy()
            squares += np.where(other, 1.0 if len(feature.levels) == 2 else 2.0, 0.0)
        else:
            spread = numbers(feature, task.train[feature.name]).std()
            gap = numbers(feature, after[feature.name]) - numbers(feature, before[feature.name])
            squares += (gap / spread) ** 2
    return np.sqrt(squares)


# ---- rules ------------------------------------------------------------------------------------


def completed(task: Task, before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Rows with what follows from the rest worked out by hand; only the mortgages have any.

    What somebody's own ratio differs from its formula by (they are rounded) is carried along.
    """
    if task.table != "mortgage":
        return after
    after = after.copy()
    share = after["loan"].to_numpy(dtype=float) / before["loan"].to_numpy(dtype=float)
    after["housing_cost"] = np.rint(before["housing_cost"].to_numpy() * (0.2 + 0.8 * share))
    now, then = _ratios(before), _ratios(after)
    for name in now:
        after[name] = np.round(then[name] + (before[name].to_numpy() - now[name]), 3)
    return after


def _ratios(rows: pd.DataFrame) -> dict[str, Floats]:
    """The ratios of mortgages as their formulas say, unrounded."""
    loan, price, income, cost, debts = (
        rows[name].to_numpy(dtype=float)
        for name in ("loan", "price", "income", "housing_cost", "other_debts")
    )
    return {
        "loan_to_value": loan / price,
        "housing_ratio": cost / income,
        "total_ratio": (cost + debts) / income,
    }


def keeps(task: Task, before: pd.DataFrame, after: pd.DataFrame, *, whole: bool = True) -> Mask:
    """Which routes keep every rule; those of a method that rounds nothing needn't be `whole`."""
    kept = np.ones(len(after), dtype=bool)
    moved = changed(task, before, after)
    for feature in task.schema.features:
        old, new = before[feature.name].to_numpy(), after[feature.name].to_numpy()
        if feature.kind == "derived":
            continue
        if feature.change == "never":
            kept &= _same(old, new)
            continue
        if feature.kind in ("ordinal", "categorical"):
            kept &= np.isin(new, list(task.schema.levels[feature.name]))
        if feature.kind != "categorical":
            there = numbers(feature, after[feature.name])
            gap = there - numbers(feature, before[feature.name])
            ok = _in_bounds(feature, there, gap, whole=whole)
            kept &= ok | ~moved[feature.name].to_numpy()
    if task.table == "mortgage":
        told = completed(task, before, after)
        for name in ("housing_cost", "loan_to_value", "housing_ratio", "total_ratio"):
            kept &= np.abs(told[name] - after[name].astype(float)).to_numpy() < DUST
        kept &= (after["housing_ratio"] <= after["total_ratio"]).to_numpy()
    return kept


def _same(old: NDArray[Any], new: NDArray[Any]) -> Mask:
    if old.dtype.kind in "if":
        return np.asarray(np.isclose(old.astype(float), new.astype(float), rtol=1e-9))
    return np.asarray(old == new)


def _in_bounds(feature: Any, there: Floats, gap: Floats, *, whole: bool) -> Mask:
    """Whether changed numbers or ladders go the way, as far and in the steps that they may."""
    ok = np.ones(len(there), dtype=bool)
    if feature.change == "increase":
        ok &= gap > 0
    if feature.change == "decrease":
        ok &= gap < 0
    if feature.kind == "ordinal":
        return ok
    low, high = (end if end is not None else way for end, way in _ends(feature))
    ok &= (there >= low) & (there <= high)
    if feature.reach is not None:
        share = float(str(feature.reach).rstrip("%")) / 100
        ok &= np.abs(gap) <= share * np.abs(there - gap) + 1e-9
    step = feature.multiple or (1 if feature.integer else None)
    if whole and step is not None:
        ok &= there % step == 0
    return ok


def _ends(feature: Any) -> Iterator[tuple[float | None, float]]:
    return zip(feature.bounds, (-np.inf, np.inf), strict=True)


# ---- would it do? -----------------------------------------------------------------------------


def shortened(
    task: Task, before: pd.DataFrame, after: pd.DataFrame
) -> Iterator[tuple[Mask, pd.DataFrame]]:
    """Routes with numeric changes a tenth short: all together, then each alone.

    Each time with a mask of the routes that it says something of. Levels change in full.
    """
    moved = changed(task, before, after)
    numeric = [f.name for f in chosen(task.schema) if f.kind == "numeric"]
    for names in chain([numeric], ([name] for name in numeric)):
        concerned = moved[names].any(axis=1).to_numpy()
        if concerned.any():
            yield concerned, completed(task, before, less(task, before, after, names))


def less(task: Task, before: pd.DataFrame, after: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Rows with the changes of some features a tenth short.

    Of whole things people have whole numbers: the nearest, and the shorter of two.
    """
    after = after.copy()
    for name in names:
        old, new = before[name].to_numpy(dtype=float), after[name].to_numpy(dtype=float)
        gap = (1 - SHORT) * (new - old)
        if getattr(task.schema[name], "integer", False):
            gap = np.sign(gap) * np.ceil(np.abs(gap) - 0.5 - DUST)
        after[name] = old + gap
    return after


def least_when_short(task: Task, before: pd.DataFrame, after: pd.DataFrame) -> Floats:
    """The least score of each route over all the ways in which its changes may fall short."""
    least = task.score(after)
    for concerned, rows in shortened(task, before, after):
        least[concerned] = np.minimum(least[concerned], task.score(rows[concerned]))
    return least
