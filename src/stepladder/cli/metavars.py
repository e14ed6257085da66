"""What stands for an option's value in the help: FILE or N, and not the name of a Python type."""

from __future__ import annotations

import types
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from typer.models import OptionInfo

NAMES: dict[type, str] = {Path: "FILE", int: "N", float: "NUMBER"}
"""By the type of the value; any other is TEXT."""


def named(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same command, every option of which names its value, unless it does already."""
    for hint in get_type_hints(command, include_extras=True).values():
        if get_origin(hint) is not Annotated:
            continue
        given, *extras = get_args(hint)
        kind = _kind(given)
        for option in extras:
            if isinstance(option, OptionInfo) and option.metavar is None and kind is not bool:
                option.metavar = _name(kind)
    return command


def _kind(hint: Any) -> type:
    """The type of a value, or of one of several; of one that may be left out, what it is then."""
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(part for part in get_args(hint) if part is not type(None))
    if get_origin(hint) is list:
        (hint,) = get_args(hint)
    return hint if isinstance(hint, type) else str


def _name(kind: type) -> str:
    if issubclass(kind, Enum):
        return "|".join(str(choice.value) for choice in kind)
    return NAMES.get(kind, "TEXT")
