"""Help that names what an option takes, FILE or N, and not the Python type it becomes."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand

NAMES = {"path": "FILE", "int": "N", "float": "NUMBER", "str": "TEXT"}
"""What stands for a value, by its type, where the option has no word of its own."""

TYPE = re.compile(r"<(?:list\[)?(?P<kind>[^<>\]]+?)(?: range)?\]?>")
"""A type, as typer shows it: <int range>, <list[str]>, <text|latex>."""


class Command(TyperCommand):
    """A command whose help is free of types."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write down arguments and options."""
        found: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                found[parameter.param_type_name].append((record[0], record[1]))
        arguments = [(TYPE.sub("", name).rstrip(), text) for name, text in found["argument"]]
        options = [(TYPE.sub(_named, name), text) for name, text in found["option"]]
        for title, rows in (("Arguments", arguments), ("Options", options)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _named(found: re.Match[str]) -> str:
    return NAMES.get(found["kind"], found["kind"])
