"""What the report and the letter share: templates that are filled in, and files written whole.

A page is one file that holds all it needs: its style, its pictures, no script and nothing from a
network. Whatever comes from a table or a schema is text to it, never markup.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path as File
from typing import Any

from stepladder.errors import ExtraError, ResultError
from stepladder.files import replacing


@dataclass(frozen=True)
class PageTable:
    """A table of a page; `numbers` are the indices of the columns that hold numbers."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    note: str = ""

    @property
    def is_wide(self) -> bool:
        """Whether a phone shows its rows below each other."""
        return len(self.heads) > 3


def render(template: str, **facts: Any) -> str:
    """A page from one of the templates."""
    page: str = _environment().get_template(template).render(**facts)
    return page


def write(html: str, path: str | File) -> None:
    """Write a page to a `.html` file, whole or not at all."""
    file = File(path)
    check_name(file)
    with replacing(file, "Can't write a page to") as unfinished:
        unfinished.write_text(html, encoding="utf-8", newline="\n")


def check_name(file: File) -> None:
    """Refuse a file that isn't called as a page is."""
    if file.suffix not in (".html", ".htm"):
        raise ResultError(
            f"Can't write a page to {file.name!r}: expected a name that ends in .html."
        )


@cache
def _environment() -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise ExtraError("jinja2", "view", "Making a page") from error
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_source),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _source(name: str) -> str:
    return (files("stepladder.view") / "templates" / name).read_text(encoding="utf-8")
