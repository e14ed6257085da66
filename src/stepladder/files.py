"""Files written whole or not at all."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from uuid import uuid4

from stepladder.errors import ResultError


@contextmanager
def replacing(file: Path, failing: str = "Can't write to") -> Iterator[Path]:
    """A temporary file beside `file` to write to, which replaces it once the block ends well.

    Until then what was there stays, and whatever goes wrong nothing else is left. `failing` begins
    the sentence that an `OSError` becomes.
    """
    unfinished = beside(file)
    try:
        with writing(file, failing):
            yield unfinished
            unfinished.replace(file)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def beside(file: Path) -> Path:
    """A hidden name beside a file, not in use yet."""
    return file.with_name(f".{file.name}.{uuid4().hex}")


@contextmanager
def writing(file: Path, failing: str = "Can't write to") -> Iterator[None]:
    """What goes wrong when writing to `file` becomes a sentence about it."""
    try:
        yield
    except OSError as error:
        raise ResultError(
            f"{failing} {str(file)!r}: {error.strerror or error}. Choose a folder that exists, "
            "can be written to and has room."
        ) from error


def write_text(text: str, file: Path) -> None:
    """Write a text file, whole or not at all."""
    with replacing(file) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def check_place(file: Path) -> None:
    """Refuse a file that couldn't be written, before doing the work it's for."""
    probe = beside(file)
    with writing(file):
        probe.touch()
        probe.unlink()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until this is done."""
    came: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        came.append(number)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
