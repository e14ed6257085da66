"""An audit in plain text, for whoever has to judge it: no wider than 80 columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

Row = dict[str, Any]

WIDTH = 80

SHOWN = 8
"""Groups of one kind in a printed audit."""

NONE = "–"
"""Where there is no figure."""

COLUMNS = {
    "success": ("have a route", ".0%"),
    "mean_cost": ("mean distance", ".2f"),
    "mean_steps": ("mean steps", ".1f"),
}
"""The measures that are told: what each is called, and how its figures are written."""

ENDS = {
    "success": ("fewest in", "most in"),
    "mean_cost": ("longest in", "shortest in"),
    "mean_steps": ("most in", "fewest in"),
}
"""How each says where the worst off are, and the best off."""

LEGEND = (
    "asked: people without a yes, for whom a route was looked for.",
    "mean distance: how far the end of the nearest route lies from where a person stands today, "
    "on the scale on which the method compares people.",
    "mean steps: on that route. Both means are of those who have one.",
    "In brackets: the range that holds the true figure or difference with 95% confidence, if these "
    "people stand for others like them. No brackets: they can't say how sure it is, being one "
    "person or all alike.",
    "Figures are rounded, so differences may not add up.",
)


def written(
    groups: Sequence[Row], gaps: Sequence[Row], *, people: int, asked: int, smallest: int
) -> str:
    """The rows of `Audit.by_group` and `Audit.gaps` as text."""
    already = people - asked
    rest = f" {already:,} had a yes already." if already else ""
    lines = [f"{people:,} people, of whom {asked:,} asked for a route to a yes.{rest}"]
    for by in dict.fromkeys(row["by"] for row in groups):
        own = [row for row in groups if row["by"] == by]
        lines += ["", *_folded(f"By {by}"), *_table(own)]
        for measure in COLUMNS:
            found = next(row for row in gaps if (row["by"], row["measure"]) == (by, measure))
            lines += _folded(_sentence(found, own), "  ")
    if groups:
        lines.append("")
    for note in _notes(groups, smallest):
        lines += _folded(note, "  ")
    return "\n".join(lines)


def _notes(groups: Sequence[Row], smallest: int) -> list[str]:
    notes = [*LEGEND] if groups else []
    if any(row["small"] for row in groups):
        notes.append(
            f"* fewer than {smallest:,} people asked: too few to say much. Differences leave such "
            "groups out, unless they are marked too."
        )
    return notes


def _folded(line: str, indent: str = "") -> list[str]:
    return wrap(line, WIDTH, initial_indent=indent, subsequent_indent=indent * 2)


# ---- the table ----------------------------------------------------------------------------------


def _table(rows: Sequence[Row]) -> list[str]:
    """The groups of one kind; where there are many, those in which most people asked."""
    largest = sorted(range(len(rows)), key=lambda i: -rows[i]["asked"])[:SHOWN]
    shown = [rows[i] for i in sorted(largest)]
    names = ["", *(row["group"] + "*" * row["small"] for row in shown)]
    columns = [["asked", *(f"{row['asked']:,}" for row in shown)]]
    columns[0] = _right(columns[0])
    for measure, (head, form) in COLUMNS.items():
        figures = _right([_number(row[measure], form) for row in shown])
        ranges = _left([_range(row, measure, form) for row in shown])
        columns.append(_left([head, *(f"{f} {r}" for f, r in zip(figures, ranges, strict=True))]))
    cells = ["   ".join(line).rstrip() for line in zip(*columns, strict=True)]
    room = max(len(name) for name in names)
    if 2 + room + 3 + max(map(len, cells)) <= WIDTH:
        lines = [f"  {name:<{room}}   {cell}" for name, cell in zip(names, cells, strict=True)]
    else:  # names that leave no room for figures have a line of their own
        lines = [f"      {cells[0]}"]
        for name, cell in zip(names[1:], cells[1:], strict=True):
            lines += [*_folded(name, "  "), f"      {cell}"]
    rest = len(rows) - len(shown)
    return [*lines, f"  … and {rest:,} more groups, in by_group"] if rest else lines


def _right(cells: list[str]) -> list[str]:
    width = max(map(len, cells))
    return [cell.rjust(width) for cell in cells]


def _left(cells: list[str]) -> list[str]:
    width = max(map(len, cells))
    return [cell.ljust(width) for cell in cells]


def _range(row: Row, measure: str, form: str) -> str:
    """The interval of a group's own figure, in brackets."""
    low, high = (row[f"{measure}_{end}"] for end in ("low", "high"))
    if math.isnan(low):
        return ""
    return f"({_number(low, form).removesuffix('%')}–{_number(high, form)})"


def _number(value: float, form: str) -> str:
    return NONE if math.isnan(value) else format(value, form)


# ---- how far groups lie apart -------------------------------------------------------------------


def _sentence(gap: Row, groups: Sequence[Row]) -> str:
    """A row of `Audit.gaps` in words."""
    measure = gap["measure"]
    head, form = COLUMNS[measure]
    said = f"{head.capitalize()}: "
    mark = "*" * gap["small"]
    if math.isnan(gap["gap"]):
        return f"{said}no two groups to compare."
    if gap["worst_off"] is None:
        return f"{said}no difference seen{mark}."
    values = {row["group"]: _number(row[measure], form) for row in groups}
    told = [
        f"{end} {name} ({values[name]})"
        for end, name in zip(ENDS[measure], (gap["worst_off"], gap["best_off"]), strict=True)
    ]
    return f"{said}{', '.join(told)}; {_apart(gap, form)}{mark}."


def _apart(gap: Row, form: str) -> str:
    """How far two groups lie apart, and whether that may be chance."""
    scale, places, unit = (100, 0, " percentage points") if form.endswith("%") else (1, 2, "")
    size, low, high = (
        f"{gap[name] * scale:z.{places}f}" for name in ("gap", "gap_low", "gap_high")
    )
    if float(size) == 0:
        size = f"less than {10**-places:g}"
    if math.isnan(gap["gap_low"]):
        return f"{size}{unit} apart, and no telling whether by chance"
    chance = "hardly by chance" if gap["gap_low"] > 0 else "which may be chance"
    return f"{size}{unit} apart ({low} to {high}), {chance}"
