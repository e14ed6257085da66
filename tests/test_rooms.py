"""A room's docstring says what is in it, and is true."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "stepladder"
ROOMS = [file.parent for file in SOURCE.rglob("__init__.py") if file.parent != SOURCE]


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(SOURCE)))
def test_every_file_that_a_room_names_is_there(room: Path):
    said = ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8"))) or ""
    for name in re.findall(r"[\w/]+\.py\b|^\w+/", said, flags=re.MULTILINE):
        assert (room / name).exists() or (SOURCE / name).exists(), name
