"""Figures with their intervals: recourse by group, and methods side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from stepladder import frames
from stepladder.errors import ColumnError, EmptyFrameError, listing, nearest
from stepladder.frames import Frame
from stepladder.view.plots.style import (
    FOLD,
    GAP,
    INK,
    QUIET,
    WIDTH,
    Chart,
    altair,
    axis_room,
    checked_width,
    columns_in,
    finished,
    folded,
    inner_width,
    panel_title,
)

LINE = 19
"""Pixels that a line of a label takes."""


def by_group(frame: Frame, *, width: float = WIDTH) -> Chart:
    """Success and cost by group, with intervals; groups of few people are marked, not hidden.

    frame  a row a group: group, people, small (True or False), success (a share from 0 to 1) and
           cost (missing where nobody succeeded); and where known, the ends of their 95% intervals,
           success_low, success_high, cost_low and cost_high
    """
    width = checked_width(width)
    table = _table(frame, ("group", "people", "small", "success", "cost"))
    ends = [f"{figure}_{end}" for figure in ("success", "cost") for end in ("low", "high")]
    known = table.columns.intersection(ends)
    table = table.reindex(columns=[*table.columns, *(end for end in ends if end not in known)])
    table["name"] = [
        folded(f"{group} ({int(people):,})", 22)
        for group, people in zip(table["group"], table["people"], strict=True)
    ]
    table["kind"] = np.where(table["small"].astype(bool), "few people", "enough people")
    columns = columns_in(width, 2)
    axis = axis_room(table["name"].tolist(), most=170)
    inner = inner_width(width, columns, axis)
    panels = [
        _ranges(table, "success", "People with a route", inner, axis, domain=(0.0, 1.0)),
        _ranges(table, "cost", "Distance to the goal", inner, axis),
    ]
    chart = altair().concat(*panels, columns=columns, spacing=GAP)
    notes = ["In brackets: people."]
    if len(known):
        notes = ["In brackets: people. Bars: where the figure lies with 95% confidence."]
    if table["small"].astype(bool).any():
        notes.append("Hollow: a group of few people, whose figures may be chance.")
    if table["cost"].isna().any():
        notes.append("No mark: nobody in the group has a route, so there's no cost.")
    return finished(chart, "Recourse by group", notes, width)


def methods(frame: Frame, *, width: float = WIDTH) -> Chart:
    """Methods side by side, a panel a metric.

    frame  a row a method and metric: method, metric, value, and low and high where known
    """
    width = checked_width(width)
    table = _table(frame, ("method", "metric", "value"))
    table["name"] = [folded(str(method), 22) for method in table["method"]]
    table["kind"] = "enough people"
    has_ranges = {"low", "high"} <= set(table.columns)
    for end in ("low", "high"):
        table[f"value_{end}"] = table[end] if has_ranges else np.nan
    metrics = list(dict.fromkeys(table["metric"]))
    columns = columns_in(width, len(metrics))
    axis = axis_room(table["name"].tolist(), most=170)
    inner = inner_width(width, columns, axis)
    order = list(dict.fromkeys(table["name"]))
    panels = [
        _ranges(
            table[table["metric"] == metric],
            "value",
            str(metric).replace("_", " ").capitalize(),
            inner,
            axis,
            names=order,
        )
        for metric in metrics
    ]
    chart = altair().concat(*panels, columns=columns, spacing=GAP)
    notes = ["Bars: from the low to the high end given for a figure."] if has_ranges else []
    return finished(chart, "Methods compared", notes, width)


def _table(frame: Frame, needed: Sequence[str]) -> pd.DataFrame:
    """The frame as pandas, once it has the columns needed and a row."""
    read = frames.read(frame)
    for name in needed:
        if name not in read.columns:
            raise ColumnError(
                f"The frame has no column {name!r}.{nearest(name, read.columns)} It needs "
                f"{listing(needed, most=len(needed))}."
            )
    if not len(read):
        raise EmptyFrameError("The frame has no rows, so there's nothing to draw.")
    return pd.DataFrame({name: frames.values(read[name]) for name in read.columns})


def _ranges(
    table: pd.DataFrame,
    figure: str,
    title: str,
    width: float,
    axis: float,
    *,
    domain: tuple[float, float] | None = None,
    names: Sequence[str] | None = None,
) -> Chart:
    """One figure a row: a mark, and a bar from its low to its high end."""
    alt = altair()
    order = list(dict.fromkeys(table["name"])) if names is None else list(names)
    columns = {"value": figure, "low": f"{figure}_low", "high": f"{figure}_high"}
    rows = pd.DataFrame({new: table[old].astype(float) for new, old in columns.items()})
    rows["name"], rows["kind"] = table["name"], table["kind"]
    rows = rows.dropna(subset=["value"])
    share = domain == (0.0, 1.0)
    most = rows[["value", "high"]].max().max()
    least = min(0.0, rows[["value", "low"]].min().min())
    # Room at both ends, so that no mark touches the labels.
    scale = alt.Scale(domain=[least, most or 1.0] if domain is None else list(domain), padding=9)
    look = alt.Axis(
        format=".0%" if share else ",~r",
        tickCount=2 if width < 220 else 4,
        grid=True,
        gridColor="#ececec",
    )
    side = alt.Axis(
        labelExpr=FOLD, labelLimit=0, minExtent=axis, maxExtent=axis, ticks=False, labelPadding=6
    )
    x = alt.X("value:Q", scale=scale, title=None, axis=look)
    y = alt.Y("name:N", title=None, axis=side, scale=alt.Scale(domain=order))
    base = alt.Chart(rows).encode(y=y)
    fill = alt.Fill(
        "kind:N",
        scale=alt.Scale(domain=["enough people", "few people"], range=[INK, "white"]),
        legend=None,
    )
    lines = max(name.count("\n") for name in order) + 1
    bars = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
    return alt.layer(
        bars.mark_rule(color=QUIET, strokeWidth=3).encode(x=_again(x, "low"), x2="high:Q"),
        base.mark_point(size=80, opacity=1, stroke=INK, strokeWidth=1.5).encode(x=x, fill=fill),
    ).properties(
        width=width,
        height=alt.Step(LINE * lines + 8),
        title=panel_title(title, width),
    )


def _again(x: Any, field: str) -> Any:
    """The same axis for another field."""
    again = x.copy()
    again.shorthand = f"{field}:Q"
    return again
