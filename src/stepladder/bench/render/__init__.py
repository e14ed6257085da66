"""Tables as values, and their three forms: Markdown, LaTeX and text for a terminal.

table.py     the value: rows of entries under grouped columns
markdown.py  latex.py  text.py
"""

from __future__ import annotations

from typing import Literal

from stepladder.bench.render.latex import latex
from stepladder.bench.render.markdown import escaped, markdown
from stepladder.bench.render.table import EMPTY, Column, Entry, Row, Table, split
from stepladder.bench.render.text import text

__all__ = [
    "EMPTY",
    "Column",
    "Entry",
    "Format",
    "Row",
    "Table",
    "escaped",
    "latex",
    "markdown",
    "render",
    "split",
    "text",
]

Format = Literal["markdown", "latex", "text"]


def render(table: Table, form: Format, *, width: int = 120) -> str:
    """A table in one of the three forms, ending in a line break."""
    if form == "markdown":
        return markdown(table)
    return latex(table) if form == "latex" else text(table, width)
