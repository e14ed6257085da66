"""Docstrings as they are in the code: lists in columns and examples stay in their lines."""

from __future__ import annotations

import re
from typing import Any

import griffe

COLUMNS = re.compile(r"^ *\S.*\S {2,}\S|^ {4,}\S", re.MULTILINE)


class AsWritten(griffe.Extension):
    """Fences the paragraphs of a docstring whose lines mean something."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            parts = obj.docstring.value.split("\n\n")
            obj.docstring.value = "\n\n".join(fenced(part) for part in parts)


def fenced(paragraph: str) -> str:
    if paragraph.lstrip().startswith(">>>"):
        return f"```python\n{paragraph}\n```"
    return f"```text\n{paragraph}\n```" if COLUMNS.search(paragraph) else paragraph
