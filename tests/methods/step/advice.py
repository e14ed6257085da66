"""What advice is held against, written out by hand: short of its amounts, is an end still a yes?"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

import stepladder as sl

Row = dict[str, object]


def short_of(
    schema: sl.Schema,
    start: Row,
    end: Row,
    slack: float = 0.1,
    follows: Callable[[Row], Row] = lambda row: row,
) -> Iterator[Row]:
    """The end with each number alone, and with all of them, short by the slack.

    follows  works out a row's derived features anew
    """
    moved = {}
    for feature in schema.features:
        if feature.kind != "numeric" or feature.change in ("never", "time"):
            continue
        before, after = start[feature.name], end[feature.name]
        if before != after and not pd.isna(before):
            moved[feature.name] = _short(feature, before, after, slack)
    for name, value in moved.items():
        yield follows({**end, name: value})
    if len(moved) > 1:
        yield follows({**end, **moved})


def _short(feature: sl.Numeric, before: float, after: float, slack: float) -> float:
    value = after - slack * (after - before)
    if not feature.integer:
        return value
    low = int(np.floor(value))
    if abs(value - low - 0.5) < 1e-9:  # as near to both: the one nearer to the start
        return low if before < value else low + 1
    return int(np.floor(value + 0.5))


def has_slack(
    schema: sl.Schema,
    says_yes: Callable[[pd.DataFrame], np.ndarray],
    start: pd.Series,
    end: pd.Series,
    slack: float = 0.1,
    follows: Callable[[Row], Row] = lambda row: row,
) -> bool:
    """Whether an end still gets a yes with its numbers a little short."""
    names = list(schema.names)
    rows = list(short_of(schema, start[names].to_dict(), end[names].to_dict(), slack, follows))
    return not rows or bool(says_yes(pd.DataFrame(rows)[names]).all())
