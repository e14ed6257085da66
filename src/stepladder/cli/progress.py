"""How a long run shows itself: a bar with an estimate in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn


class Bar:
    """Watches a run of the bench (`stepladder.bench.runner.Watch`) and counts what it sees."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False)
        self.total = self.before = self.ran = self.failed = 0
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def started(self, total: int, done: int) -> None:
        self.total, self.before = total, done
        self._say(f"{cells(total)}, {done} of them done before.")
        if not self.console.is_terminal or done == total:
            return
        columns = (
            *(TextColumn("cells"), BarColumn(), MofNCompleteColumn()),
            *(TextColumn("{task.fields[left]}"), TextColumn("{task.fields[last]}", markup=False)),
        )
        self._bar = Progress(*columns, console=self.console, transient=True)
        self._task = self._bar.add_task("cells", total=total, completed=done, left="", last="")
        self._bar.start()

    def cell(
        self,
        cell: Any,
        seconds: float,
        error: str,
        done: int,
        total: int,
        remaining: float | None,
    ) -> None:
        self.ran += 1
        self.failed += bool(error)
        left = "" if remaining is None or done == total else f"about {duration(remaining)} left"
        if self._bar is not None:
            self._bar.update(self._task, completed=done, left=left, last=str(cell))
            if error:
                self._say(f"failed: {cell}: {error}")
            return
        how = f"failed: {error}" if error else duration(seconds)
        self._say(f"[{done}/{total}] {cell}: {how}" + (f"; {left}" if left else ""))

    def finished(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _say(self, words: str) -> None:
        self.console.print(words, markup=False, highlight=False, soft_wrap=True)


class PeopleBar:
    """How many people are finished, and how long the rest takes at the pace so far: a bar on stderr
    if that's a terminal, else nothing."""

    def __init__(self, total: int, *, shown: bool = True, console: Console | None = None) -> None:
        self.total = total
        console = console or Console(stderr=True, highlight=False)
        columns = (
            TextColumn("people"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
        )
        visible = shown and console.is_terminal
        self._bar = Progress(*columns, console=console, transient=True, disable=not visible)
        self._task = self._bar.add_task("people", total=total, left="")
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def reached(self, count: int) -> None:
        """So many are finished."""
        left = ""
        if 0 < count < self.total:
            pace = (time.monotonic() - self._began) / count
            left = f"about {duration(pace * (self.total - count))} left"
        self._bar.update(self._task, completed=count, left=left)


def cells(count: int) -> str:
    return f"{count} cell" if count == 1 else f"{count} cells"


def duration(seconds: float) -> str:
    """A time that a person can read.

    >>> duration(0.04), duration(8.26), duration(75), duration(7500)
    ('0.0 s', '8.3 s', '1 min 15 s', '2 h 5 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"
