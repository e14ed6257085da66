"""What advice is held against, written out by hand: short of its amounts, is an end still a yes?"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator

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
    whole: Container[str] = (),
) -> Iterator[Row]:
    """The end with each number alone, and with all of them, short by the slack.

    follows  works out a row's derived features anew
    whole    whose columns hold whole numbers only, whatever the schema says
    """
    moved = {}
    for feature in schema.features:
        if feature.kind != "numeric" or feature.change in ("never", "time"):
            continue
        before, after = start[feature.name], end[feature.name]
        if before != after and not pd.isna(before):
            counted = feature.integer or feature.name in whole
            moved[feature.name] = _short(before, after, slack, counted=counted)
    for name, value in moved.items():
        yield follows({**end, name: value})
    if len(moved) > 1:
        yield follows({**end, **moved})


def _short(before: float, after: float, slack: float, *, counted: bool) -> float:
    value = after - slack * (after - before)
    if not counted:
        return value
    low = int(np.floor(value))
    if abs(value - low - 0.5) < 1e-9:  # as near to both: the one nearer to the start
        return low if before < value else low + 1
    return int(np.floor(value + 0.5))


def has_slack(
    schema: sl.Schema,
    says_yes: Callable[[pd.DataFrame], np.ndarray],
    start: pd.DataFrame,
    end: pd.DataFrame,
    slack: float = 0.1,
    follows: Callable[[Row], Row] = lambda row: row,
) -> bool:
    """Whether an end, a frame of one row as the start is, still gets a yes a little short of it."""
    names = list(schema.names)
    whole = {name for name in names if start[name].dtype.kind in "iu"}
    before, after = (frame[names].to_dict("records")[0] for frame in (start, end))
    rows = list(short_of(schema, before, after, slack, follows, whole))
    if not rows:
        return True
    return bool(says_yes(pd.DataFrame(rows)[names].astype(start[names].dtypes)).all())
