"""An audit in plain text, for whoever has to judge it: no wider than 80 columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap

from stepladder.metrics.fairness import NOTIONS
from stepladder.words import measures as words
from stepladder.words.measures import MEASURES, SHOWN, Row

WIDTH = 80

ENDS = {
    "success": ("fewest in", "most in"),
    "mean_effort": ("hardest in", "easiest in"),
    "mean_cost": ("longest in", "shortest in"),
    "mean_steps": ("most in", "fewest in"),
    "choice": ("fewest in", "most in"),
    "within_budget": ("fewest in", "most in"),
    "trade_off": ("fewest in", "most in"),
    "cost_of_effectiveness": ("longest in", "shortest in"),
}
"""What is compared, and how to say where the worst off are, and the best off."""


def written(
    groups: Sequence[Row],
    gaps: Sequence[Row],
    notions: Sequence[Row],
    *,
    people: int,
    asked: int,
    smallest: int,
) -> str:
    """The rows of an `Audit` as text."""
    compared = [*gaps, *({**row, "measure": NOTIONS[row["notion"]]} for row in notions)]
    already = people - asked
    rest = f" {already:,} had a yes already." if already else ""
    lines = [f"{people:,} people, of whom {asked:,} asked for a route to a yes.{rest}"]
    for by in dict.fromkeys(row["by"] for row in groups):
        own = [row for row in groups if row["by"] == by]
        lines += ["", *_folded(f"By {by}"), *_table(own, smallest)]
        if len(own) < 2:
            lines.append("  There are no two groups to compare.")
            continue
        for measure in ENDS:
            found = next(row for row in compared if (row["by"], row["measure"]) == (by, measure))
            lines += _folded(_sentence(found, own), "  ")
    if groups:
        lines.append("")
    for note in _notes(groups, smallest):
        lines += _folded(note, "  ")
    return "\n".join(lines)


def _notes(groups: Sequence[Row], smallest: int) -> list[str]:
    if not groups:
        return []
    notes = [
        "Asked: people without a yes, for whom a route was looked for.",
        *(f"{MEASURES[name].term}: {MEASURES[name].meaning}." for name in ENDS),
        words.EFFORT,
        words.DISTANCE,
        words.BRACKETS,
        "Numbers are rounded, so differences may not add up.",
    ]
    if any(
        row["small"] or any(words.rests_on_few(row, name, smallest) for name in SHOWN)
        for row in groups
    ):
        notes.append(
            f"{words.few(smallest)} Differences leave such groups out, unless they are marked too."
        )
    return notes


def _folded(line: str, indent: str = "") -> list[str]:
    return wrap(line, WIDTH, initial_indent=indent, subsequent_indent=indent * 2)


# ---- the table ----------------------------------------------------------------------------------


def _table(rows: Sequence[Row], smallest: int) -> list[str]:
    """The groups of one kind."""
    names = ["", *(row["group"] + "*" * row["small"] for row in rows)]
    columns = [_right(["asked", *(f"{row['asked']:,}" for row in rows)])]
    for name in SHOWN:
        values = _right([words.measured(row, name) for row in rows])
        marks = _left(["*" * words.rests_on_few(row, name, smallest) for row in rows])
        ranges = [words.interval(row, name) for row in rows]
        cells = [f"{v}{m} {r}" for v, m, r in zip(values, marks, ranges, strict=True)]
        columns.append(_left([MEASURES[name].name.lower(), *cells]))
    texts = ["   ".join(line).rstrip() for line in zip(*columns, strict=True)]
    room = max(len(name) for name in names)
    if 2 + room + 3 + max(map(len, texts)) <= WIDTH:
        lines = [f"  {name:<{room}}   {text}" for name, text in zip(names, texts, strict=True)]
    else:  # names that leave no room for numbers have a line of their own
        lines = [f"      {texts[0]}"]
        for name, text in zip(names[1:], texts[1:], strict=True):
            lines += [*_folded(name, "  "), f"      {text}"]
    return lines


def _right(cells: list[str]) -> list[str]:
    width = max(map(len, cells))
    return [cell.rjust(width) for cell in cells]


def _left(cells: list[str]) -> list[str]:
    width = max(map(len, cells))
    return [cell.ljust(width) for cell in cells]


# ---- how far groups lie apart -------------------------------------------------------------------


def _sentence(gap: Row, groups: Sequence[Row]) -> str:
    """A row of `Audit.gaps` in words."""
    measure = gap["measure"]
    lead = f"{MEASURES[measure].named(gap.get('at', math.nan))}: "
    mark = "*" * gap["small"]
    if math.isnan(gap["gap"]):
        return f"{lead}no two groups to compare."
    if gap["worst_off"] is None:
        return f"{lead}{words.difference(gap)}{mark}."
    values = {
        row["group"]: f" ({words.measured(row, measure)})" if measure in row else ""
        for row in groups
    }
    ends = [
        f"{end} {name}{values[name]}"
        for end, name in zip(ENDS[measure], (gap["worst_off"], gap["best_off"]), strict=True)
    ]
    apart = f"a difference of {words.difference(gap)}, {_chance(gap['gap_low'])}"
    return f"{lead}{', '.join(ends)}; {apart}{mark}."


def _chance(low: float) -> str:
    """Whether a difference whose interval begins at `low` may be chance."""
    if math.isnan(low):
        return "and no telling whether by chance"
    return "hardly by chance" if low > 0 else "which may be chance"
