"""A table as text for a terminal, drawn by rich (extra: cli)."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from stepladder.bench.render.table import WIDE, Table, split, with_heads
from stepladder.errors import ExtraError


def text(table: Table, width: int = 120) -> str:
    """Plain text, at most `width` columns; extra: cli."""
    console = _console(width)
    for part in drawn(table, width):
        console.print(part)
    lines = str(console.file.getvalue()).splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def drawn(table: Table, width: int) -> list[Any]:
    """What rich prints: one table, or one for each column group where they don't all fit."""
    all_columns = _drawn(table)
    wide = _console(10_000).measure(all_columns).maximum > width
    parts = split(table) if wide else [table]
    return [*(all_columns if part is table else _drawn(part) for part in parts), *_notes(table)]


def _drawn(table: Table) -> Any:
    box, rich_table, rich_text = _rich()
    beside = len(table.columns) <= WIDE
    made = rich_table(
        title=rich_text(table.title) if table.title else None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for head in table.heads:
        made.add_column(rich_text(head), overflow="fold")
    for column in table.columns:
        name = f"{column.group}\n{column.name}" if column.group else column.name
        made.add_column(
            rich_text(name),
            justify="left" if column.left else "right",
            overflow="fold",
            min_width=max(map(len, name.split())),
        )
    rows = list(with_heads(table))
    for i, (row, heads) in enumerate(rows):
        cells = []
        for entry in row.entries:
            notes = f"[{','.join(map(str, entry.notes))}]" if entry.notes else ""
            aside = entry.aside and (" " if beside else "\n") + entry.aside
            cell = rich_text(entry.main, style="bold" if entry.best else "")
            cells.append(cell.append(notes + aside, style="not bold"))
        ends = i + 1 < len(rows) and rows[i + 1][0].heads[0] != row.heads[0]
        made.add_row(*map(rich_text, heads), *cells, end_section=ends and len(table.heads) > 1)
    return made


def _notes(table: Table) -> list[Any]:
    _, _, rich_text = _rich()
    return [rich_text(f"[{i}] {note}") for i, note in enumerate(table.notes, 1)]


def _rich() -> tuple[Any, Callable[..., Any], Callable[..., Any]]:
    try:
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text
    except ImportError as error:
        raise ExtraError("rich", "cli", "A table as text") from error
    return box, RichTable, Text


def _console(width: int) -> Any:
    _rich()
    from rich.console import Console

    return Console(file=io.StringIO(), width=width, highlight=False, color_system=None)
