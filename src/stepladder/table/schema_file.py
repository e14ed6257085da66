"""A schema's YAML file: what it says, and where in it something is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stepladder.errors import SchemaError

PLAIN = (
    (r"'\\t' that cannot start any token", "there's a tab here; indent with spaces"),
    (r"(found character '.') that cannot start any token", r"\1; put text that has it in quotes"),
    ("mapping values are not allowed", "a colon can't be here; put text that has one in quotes"),
    ("expected <block end>", "this line is indented otherwise than those above it"),
    ("expected the node content, but found (.+)", r"expected a value, but found \1"),
    ("unexpected end of stream", "a text in quotes isn't closed"),
    ("undefined alias ('.+')", r"there's no \1 that could be repeated here"),
    ("constructor for the tag '(.+)'", r"the tag \1 isn't known; leave it out"),
    ("found another document", "a second document begins here; keep one"),
)
"""What the parser calls a problem, and how to say it."""


class Key(str):
    """The key of something in a file, where the key itself is the mistake."""


def read(text: str, path: str | Path) -> tuple[Any, Any]:
    """What YAML says, and the node of it, which knows where everything is.

    No key appears twice: neither of two rules is dropped silently.
    """
    import yaml  # only schemas on disk need it

    class Loader(yaml.SafeLoader):
        """Refuses a key that appears twice, and says where a value can't be read."""

        def compose_mapping_node(self, anchor: Any) -> Any:
            node, seen = super().compose_mapping_node(anchor), set[tuple[str, str]]()
            for key, _ in node.value:
                if (key.tag, str(key.value)) in seen:
                    raise yaml.MarkedYAMLError(
                        problem=f"{key.value!r} appears here a second time; keep one of the two",
                        problem_mark=key.start_mark,
                    )
                seen.add((key.tag, str(key.value)))
            return node

        def construct_object(self, node: Any, deep: bool = False) -> Any:
            try:
                return super().construct_object(node, deep)
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                raise yaml.MarkedYAMLError(
                    problem=f"{str(node.value)[:40]!r} can't be read as what it looks like "
                    f"({error}); put it in quotes if it's text",
                    problem_mark=node.start_mark,
                ) from error

    where = ""
    try:
        loader = Loader(text)
        root = loader.get_single_node()
        return (None if root is None else loader.construct_document(root)), root
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        where = _position(before.count("\n"), len(before) - before.rfind("\n") - 1)
        raise SchemaError(
            f"{path}{where}: the character U+{error.character:04X} can't be in YAML. Delete it."
        ) from error
    except RecursionError:
        raise SchemaError(f"{path}: not YAML of a schema: it's nested too deeply.") from None
    except yaml.YAMLError as error:
        if mark := getattr(error, "problem_mark", None):
            where = _position(mark.line, mark.column)
        problem = _plainly(str(getattr(error, "problem", None) or error))
        raise SchemaError(f"{path}{where}: not YAML: {problem}.") from error


def _plainly(problem: str) -> str:
    """A problem of a YAML file in plain words, and not in those of its parser."""
    for theirs, plain in PLAIN:
        if found := re.search(theirs, problem):
            problem = found.expand(plain)
            break
    return problem.replace("'<stream end>'", "the end of the file")


def position(node: Any, at: Sequence[str | int]) -> str:
    """Where the file holds a place of the schema, or the nearest thing around it."""
    for step in at:
        inside: list[Any] = []
        if node is not None and node.id == "sequence" and isinstance(step, int):
            inside = node.value[step : step + 1]
        elif node is not None and node.id == "mapping":
            pairs = [(key, value) for key, value in node.value if key.value == step]
            inside = [key if isinstance(step, Key) else value for key, value in pairs]
        if not inside:
            break
        node = inside[-1]  # of two the last, which overrules what is shared
    mark = None if node is None else node.start_mark
    return _position(0, 0) if mark is None else _position(mark.line, mark.column)


def _position(line: int, column: int) -> str:
    """Where something is in a file, counted from 0 here and from 1 by people."""
    return f", line {line + 1}, column {column + 1}"
