"""Results put together by hand, for the tests of the audit."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import stepladder as sl

REACHED, MISSED, HAPPY = sl.Outcome.REACHED, sl.Outcome.STALLED, sl.Outcome.ALREADY_POSITIVE
KINDS = {"pandas": lambda f: f, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


def path(outcome, *scores):
    """A path along one number, whose row is its score; its effort is a quarter, and a tenth."""
    values = np.array(scores, dtype=float)[:, None]
    efforts = values[-1] / 4 + 0.1
    return sl.Path(outcome, "", values, values, np.array(scores, dtype=float), efforts)


def reaching(*costs):
    return [path(REACHED, 0.0, cost / 2, cost) for cost in costs]


def handmade(routes, people=None, convert=KINDS["pandas"]):
    """A result put together by hand over one number, `a`."""
    frame = convert(pd.DataFrame({"a": [0.0, 1.0]}))
    fitted = sl.Space.fit(sl.Schema([sl.Numeric("a")]), frame)
    space = sl.Space(fitted.schema, fitted.template, np.zeros(1), np.ones(1))
    return sl.Recourse(
        space=space,
        goal=sl.Goal(0.5),
        template=space.template,
        people=np.arange(len(routes)) if people is None else np.array(people),
        routes=routes,
        settings={},
        reference={},
    )


def five(**settings):
    """Two women, two men and one whose sex isn't known; one of the men asked for nothing."""
    return handmade(
        [
            reaching(2.0, 4.0),
            [path(MISSED, 0.0, 0.1), path(MISSED, 0.0, 0.2)],
            reaching(1.0, 1.0),  # twice the same
            [path(HAPPY, 1.0)] * 2,
            [path(MISSED, 0.0, 0.1), *reaching(3.0)],
        ],
        **settings,
    )


SEX = ["f", "f", "m", "m", None]


def many(costs):
    """People with one path each, of these costs; NaN where it fails."""
    return handmade([[path(MISSED, 0.0)] if math.isnan(c) else reaching(c) for c in costs])


def row(frame, **wanted):
    """The one row of a pandas frame that has these values."""
    mask = np.logical_and.reduce([frame[name] == value for name, value in wanted.items()])
    assert mask.sum() == 1
    return frame[mask].iloc[0]


def planted(sizes, shares):
    """Groups a, b, … of these sizes, of which just these shares have a path; costs alike."""
    costs = np.full((len(sizes), max(sizes)), np.nan)
    for own, size, share in zip(costs, sizes, shares, strict=True):
        own[: round(size * share)] = np.linspace(1.0, 3.0, round(size * share))
    kept = np.concatenate([own[:size] for own, size in zip(costs, sizes, strict=True)])
    return many(kept), {"group": np.repeat(list("abcdefgh")[: len(sizes)], sizes)}
