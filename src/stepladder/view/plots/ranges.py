"""Numbers with their intervals: recourse by group, and methods side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from stepladder.errors import ColumnError, EmptyFrameError, listing, nearest
from stepladder.numbers import rounded
from stepladder.table import frames
from stepladder.table.frames import Frame
from stepladder.view.plots.style import (
    GRID,
    INK,
    PAPER,
    QUIET,
    WIDTH,
    Chart,
    Panels,
    beside,
    checked_width,
    folded,
    headed,
    kind,
    marked,
    panel,
    people,
    quantity,
)


def by_group(frame: Frame, *, width: float = WIDTH) -> Chart:
    """Success and effort by group, with intervals; groups of few people are marked, not hidden.

    frame  rows of `Audit.by_group`, or what has its columns: group, asked, small, success and
           mean_effort, or mean_cost where nobody weighed effort, with _low and _high after the last
           two for the ends of their intervals
    """
    width = checked_width(width)
    far = "mean_effort" if _is_known(frame, "mean_effort") else "mean_cost"
    ends = [f"{measure}_{end}" for measure in ("success", far) for end in ("low", "high")]
    table = _table(frame, ("group", "asked", "small", "success", far, *ends))
    table["name"] = [
        folded(f"{group}, {people(int(count))}", 22)
        for group, count in zip(table["group"], table["asked"], strict=True)
    ]
    table["kind"] = np.where(table["small"].astype(bool), "few people", "enough people")
    layout = Panels.of(width, 2, table["name"])
    what = "effort" if far == "mean_effort" else "distance"
    panels = [
        _ranges(table, "success", "People with a route", layout, 0, share=True),
        _ranges(table, far, f"Mean {what} to the goal", layout, 1),
    ]
    notes = []
    if table[ends].notna().any(axis=None):
        notes.append("Bars: where the number lies with 95% confidence.")
    if table["small"].astype(bool).any():
        notes.append("Hollow: a group of few people, whose numbers may be chance.")
    if table[far].isna().any():
        notes.append(f"No mark: nobody in the group has a route, so there's no {what}.")
    heading = headed("Routes by group", notes, width, _furthest(table, far, what))
    return beside(panels, layout.columns, **heading)


def _is_known(frame: Frame, name: str) -> bool:
    """Whether a frame has a column with a number in it."""
    read = frames.read(frame)
    return name in read.columns and any(
        cell is not None and not np.isnan(cell) for cell in frames.values(read[name])
    )


def _furthest(table: pd.DataFrame, far: str, what: str) -> str:
    """Who has to go furthest, and who least."""
    known = table.dropna(subset=[far]).astype({far: float}).sort_values(far, kind="stable")
    if len(known) < 2:
        return ""
    least, most = (
        f"{row['group']}, {rounded(row[far])}" for _, row in known.iloc[[0, -1]].iterrows()
    )
    return f"The mean {what} is least for {least}, and most for {most}."


def methods(frame: Frame, *, width: float = WIDTH) -> Chart:
    """Methods side by side, one panel per metric.

    frame  one row per method and metric: method, metric, value, and low and high where known
    """
    width = checked_width(width)
    table = _table(frame, ("method", "metric", "value"))
    table["name"] = [folded(str(method), 22) for method in table["method"]]
    table["kind"] = "enough people"
    has_ranges = {"low", "high"} <= set(table.columns)
    for end in ("low", "high"):
        table[f"value_{end}"] = table[end] if has_ranges else np.nan
    metrics = list(dict.fromkeys(table["metric"]))
    layout = Panels.of(width, len(metrics), table["name"])
    panels = [
        _ranges(
            table[table["metric"] == metric],
            "value",
            str(metric).replace("_", " ").capitalize(),
            layout,
            index,
        )
        for index, metric in enumerate(metrics)
    ]
    notes = ["Bars: from the low to the high end given for a number."] if has_ranges else []
    return beside(panels, layout.columns, **headed("Methods compared", notes, width))


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
    measure: str,
    title: str,
    layout: Panels,
    index: int,
    *,
    share: bool = False,
) -> Chart:
    """One number in each row: a mark, and a bar from its low to its high end."""
    columns = {"value": measure, "low": f"{measure}_low", "high": f"{measure}_high"}
    rows = pd.DataFrame({new: table[old].astype(float) for new, old in columns.items()})
    rows["name"], rows["kind"] = table["name"], table["kind"]
    rows = rows.dropna(subset=["value"])
    most = rows[["value", "high"]].max().max()
    least = min(0.0, rows[["value", "low"]].min().min())
    domain = [0.0, 1.0] if share else [least, most if most > 0 else 1.0]
    ticks = 2 if layout.inner < 220 else 4
    x = quantity(
        "value",
        scale={"domain": domain, "padding": 9},  # so that no mark touches the labels
        axis={"format": ".0%" if share else ",~r", "tickCount": ticks, **GRID},
        title=None,
    )
    y = kind("name", title=None, axis=layout.axis(index), scale={"domain": layout.names})
    look = {"domain": ["enough people", "few people"], "range": [INK, PAPER]}
    points = {"x": x, "y": y, "fill": kind("kind", scale=look, legend=None)}
    bars = {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y}
    known = rows[["name", "low", "high"]].dropna()
    layers = [
        marked(known, "rule", bars, color=QUIET, strokeWidth=3),
        marked(rows, "point", points, size=80, opacity=1, stroke=INK, strokeWidth=1.5),
    ]
    return panel(layers, title, layout.inner, {"step": layout.step})
