"""HTML for notebooks: a heading and a table, everything in it escaped.

Colours and lines are the notebook's own, so that it fits a light theme and a dark one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

CELL = "text-align: left; vertical-align: top"
NUMBER = "text-align: right; vertical-align: top"


def block(title: str, *parts: str) -> str:
    """A bold title above some parts, which are HTML already."""
    return f"<div><p><b>{escape(title)}</b></p>{''.join(parts)}</div>"


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def lines(text: str) -> str:
    """Plain text that keeps its lines."""
    return f'<pre style="white-space: pre-wrap">{escape(text)}</pre>'


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]], numbers: Sequence[int] = ()) -> str:
    """A table of plain texts and numbers; `numbers` are the indices of the columns of numbers."""
    above = _row("th", heads, numbers)
    below = "".join(_row("td", row, numbers) for row in rows)
    return (
        '<div style="overflow-x: auto"><table style="margin-left: 0; margin-right: auto">'
        f"<thead>{above}</thead><tbody>{below}</tbody></table></div>"
    )


def _row(tag: str, cells: Sequence[Any], numbers: Sequence[int]) -> str:
    made = "".join(
        f'<{tag} style="{NUMBER if index in numbers else CELL}">{escape(str(cell))}</{tag}>'
        for index, cell in enumerate(cells)
    )
    return f"<tr>{made}</tr>"
