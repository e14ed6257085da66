"""The command line: one file a group of commands, with no maths of its own.

app.py       the command `stepladder`, and how it fails
bench.py     `stepladder bench …`
progress.py  how a long run shows itself
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence

from stepladder.errors import ExtraError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0, or 1 for an error, 2 for bad usage, 130 for Ctrl-C."""
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
