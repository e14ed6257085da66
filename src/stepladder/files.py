"""Files written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from stepladder.errors import ResultError


@contextmanager
def replacing(file: Path, failing: str = "Can't write to") -> Iterator[Path]:
    """A place beside `file` to write to, which takes its place once the block ends well.

    Until then what was there stays, and whatever goes wrong nothing else is left. `failing` begins
    the sentence that an `OSError` becomes.
    """
    unfinished = file.with_name(f".{file.name}.{uuid4().hex}")
    try:
        yield unfinished
        unfinished.replace(file)
    except OSError as error:
        raise ResultError(
            f"{failing} {str(file)!r}: {error.strerror or error}. Choose a folder that is there, "
            "can be written to and has room."
        ) from error
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
