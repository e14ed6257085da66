"""A result as a folder: parts that are Parquet results of their own, and `run.json` beside them.

`run.json` says of which run the parts are, and how many there will be: so a run that was stopped
goes on where it was, and what isn't finished, or is of another run, isn't taken for a result.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import chain
from pathlib import Path as File
from typing import Any

import numpy as np

from stepladder.errors import ResultError
from stepladder.files import replacing, write_text, writing
from stepladder.result.archive.content import Content
from stepladder.result.archive.kinds import arrow
from stepladder.result.archive.parquet_file import ParquetWriter, read_parquet
from stepladder.result.recourse import Recourse

RUN_FILE = "run.json"

HASH = 64
"""How long a SHA-256 is as text, which nobody wants to read."""


@dataclass(frozen=True)
class Folder:
    """A folder of results in parts; `run` is what its `run.json` says."""

    path: File
    run: Mapping[str, Any]

    @classmethod
    def begun(cls, path: File, run: Mapping[str, Any]) -> Folder:
        """The folder of a run, which may have been begun before; that of another is refused."""
        run = json.loads(json.dumps(run, default=str))  # as it will be read
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
        if (path / RUN_FILE).exists():
            before = cls.opened(path)
            if differing := difference(before.run, run):
                raise ResultError(
                    f"{str(path)!r} holds the parts of another run: {differing}. Name another "
                    "folder, or empty this one."
                )
            return before
        if any(path.iterdir()):
            raise ResultError(
                f"{str(path)!r} isn't empty and holds no parts of a result. Name another folder, "
                "or empty this one."
            )
        write_text(json.dumps(run, indent=1), path / RUN_FILE)
        return cls(path, run)

    @classmethod
    def opened(cls, path: File) -> Folder:
        """The folder of a run that was begun."""
        try:
            run = json.loads((path / RUN_FILE).read_text(encoding="utf-8"))
            return cls(path, {**run, "parts": int(run["parts"])})
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise ResultError(
                f"There is no result at {str(path)!r}: the folder has no {RUN_FILE} that can be "
                "read. Name a file, or a folder that stepladder.scale.recourse wrote to."
            ) from error

    def part(self, number: int) -> File:
        return self.path / f"part-{number:06d}.parquet"

    @property
    def parts(self) -> list[File]:
        """All parts in order, finished or not."""
        return [self.part(number) for number in range(self.run["parts"])]

    @property
    def finished(self) -> set[int]:
        """The numbers of the parts that are there: a part is there whole or not at all."""
        return {number for number, part in enumerate(self.parts) if part.exists()}

    def put(self, number: int, content: bytes) -> None:
        """Put a part in its place."""
        with replacing(self.part(number)) as unfinished:
            unfinished.write_bytes(content)

    def tidy(self) -> None:
        """Remove what a killed run left of parts that it hadn't finished."""
        for left in self.path.glob(".part-*"):
            left.unlink(missing_ok=True)


def difference(known: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """What sets one run apart from another, in a few words; nothing if they're the same."""
    for name in dict.fromkeys([*known, *given]):
        one, other = known.get(name), given.get(name)
        if one == other:
            continue
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            return difference(one, other)
        what = name.replace("_", " ")
        if any(isinstance(v, list | dict) or len(str(v)) == HASH for v in (one, other)):
            return f"{what} changed"
        return f"{what} is {one!r} there and {other!r} here"
    return ""


def as_part(result: Recourse) -> bytes:
    """A result as the bytes of a Parquet file."""
    stream = BytesIO()
    writer = ParquetWriter(stream)
    writer.add(result)
    writer.end()
    return stream.getvalue()


def read_folder(path: File) -> Content:
    """All parts as one."""
    folder = Folder.opened(path)
    there = len(folder.finished)
    if there < len(folder.parts):
        raise ResultError(
            f"{str(path)!r} holds {there:,} of {len(folder.parts):,} parts of a result. Ask again "
            "with the same settings and the same folder: the run goes on where it stopped."
        )
    return _joined([read_parquet(part) for part in folder.parts])


def _joined(parts: Sequence[Content]) -> Content:
    first = parts[0]
    for part in parts[1:]:
        if {**part.run, "labels": None} != {**first.run, "labels": None}:
            raise ValueError("its parts are of different runs")

    def arrays(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    def lists(name: str) -> list[Any]:
        return list(chain.from_iterable(getattr(part, name) for part in parts))

    asked: Counter[str] = Counter()
    for part in parts:
        asked.update(part.totals["asked"])
    return Content(
        run=first.run,
        totals={
            "people": sum(part.totals["people"] for part in parts),
            "dropped": sum(part.totals["dropped"] for part in parts),
            "asked": dict(asked),
            "privacy": parts[-1].totals["privacy"],
        },
        people=arrays("people"),
        slots=arrays("slots"),
        outcomes=lists("outcomes"),
        reasons=lists("reasons"),
        nearness=arrays("nearness"),
        lengths=arrays("lengths"),
        rows=arrow().concat_tables([part.rows for part in parts]),
        scores=arrays("scores"),
        points=lists("points"),
        efforts=lists("efforts"),
        ranks=lists("ranks"),
        tight=lists("tight"),
        holds=arrays("holds"),
    )
