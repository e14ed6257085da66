"""The command line: one file per command or group of them, with no maths of its own.

app.py       the command `stepladder`, and how it fails
demo.py      `stepladder demo`
schema.py    `stepladder schema`
recourse.py  `stepladder recourse`
parts.py     its `--to`: people in parts, here or on a cluster
walk.py      `stepladder walk`
session.py   a walk as a conversation
typed.py     what is typed in it, read into the values of a row
audit.py     `stepladder audit`
report.py    `stepladder report`
letter.py    `stepladder letter`
bench.py     `stepladder bench …`
groups.py    what people are compared by
inputs.py    a model, its tables and its schema, as commands are given them
limits.py    `--limits`: how far each person can go
successors.py models that may replace this one, retrained or from a folder
help.py      help that names what an option takes
tablefile.py a table in a file, read at once or batch by batch
results.py   where results go, batch by batch
progress.py  the progress of a bench run
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from enum import IntEnum

from stepladder.errors import ExtraError


class Exit(IntEnum):
    """How a command ended, for whoever started it."""

    OK = 0
    ERROR = 1
    USAGE = 2
    NOBODY = 3
    INVALID = 4
    INTERRUPTED = 130


EXITS = {
    Exit.OK: "all went well",
    Exit.ERROR: "an error, explained in one sentence",
    Exit.USAGE: "the command was used wrongly",
    Exit.NOBODY: "all went well, but nobody has a path",
    Exit.INVALID: "some rows were invalid: they are listed, and everybody else was answered",
    Exit.INTERRUPTED: "stopped by Ctrl-C; what was finished is kept where the command says",
}
"""What each exit status means."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give back its exit status, one of `EXITS`."""
    for package in ("rich", "typer"):
        if importlib.util.find_spec(package) is None:
            sys.stderr.write(f"{ExtraError(package, 'cli', 'The command line')}\n")
            return 1
    from stepladder.cli.app import app

    try:
        app(args=None if arguments is None else list(arguments), prog_name="stepladder")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
