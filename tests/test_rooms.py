"""A room's docstring says what is in it, and is true."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "stepladder"
ROOMS = [file.parent for file in SOURCE.rglob("__init__.py") if file.parent != SOURCE]


each_room = pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(SOURCE)))


def docstring(room: Path) -> str:
    return ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8"))) or ""


@each_room
def test_every_file_that_a_room_names_is_there(room: Path):
    for name in re.findall(r"[\w/]+\.py\b|^\w+/", docstring(room), flags=re.MULTILINE):
        assert (room / name).exists() or (SOURCE / name).exists(), name


@each_room
def test_every_file_of_a_room_is_named(room: Path):
    files = [file.name for file in room.glob("*.py") if file.name != "__init__.py"]
    folders = [f"{file.parent.name}/" for file in room.glob("*/__init__.py")]
    assert [name for name in [*files, *folders] if name not in docstring(room)] == []
