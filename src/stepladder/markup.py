"""HTML for notebooks: a heading and a table, everything in it escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

CELL = "text-align: left; vertical-align: top"


def block(title: str, *parts: str) -> str:
    """A bold title above some parts, which are HTML already."""
    return f"<div><p><b>{escape(title)}</b></p>{''.join(parts)}</div>"


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of plain texts and numbers."""
    above = _row("th", heads)
    below = "".join(_row("td", row) for row in rows)
    return f"<table><thead>{above}</thead><tbody>{below}</tbody></table>"


def _row(tag: str, cells: Sequence[Any]) -> str:
    made = "".join(f'<{tag} style="{CELL}">{escape(str(cell))}</{tag}>' for cell in cells)
    return f"<tr>{made}</tr>"
