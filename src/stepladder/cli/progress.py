"""What is going on, in a terminal: work that takes a while, and a run of the bench cell by cell."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from stepladder.numbers import duration
from stepladder.progress import Bar


def working(what: str, *, shown: bool = True) -> Bar:
    """A bar on stderr that moves while something is done; none where that isn't a terminal."""
    return Bar(what, console=Console(stderr=True, highlight=False), shown=shown)


class RunBar:
    """Watches a run of the bench (`stepladder.bench.runner.Watch`) and counts what it sees.

    In a terminal it's a bar with an estimate, elsewhere plain lines.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False)
        self.total = self.before = self.ran = self.failed = 0
        self._bar: Bar | None = None

    def started(self, total: int, done: int) -> None:
        self.total, self.before = total, done
        self._say(f"{cells(total)}, {done} of them done before.")
        if not self.console.is_terminal or done == total:
            return
        self._bar = Bar("cells", total, done=done, console=self.console)
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
        if self._bar is not None:
            self._bar.reached(done, str(cell))
            if error:
                self._say(f"failed: {cell}: {error}")
            return
        left = "" if remaining is None or done == total else f"about {duration(remaining)} left"
        how = f"failed: {error}" if error else duration(seconds)
        self._say(f"[{done}/{total}] {cell}: {how}" + (f"; {left}" if left else ""))

    def finished(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _say(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)


def cells(count: int) -> str:
    return f"{count} cell" if count == 1 else f"{count} cells"
