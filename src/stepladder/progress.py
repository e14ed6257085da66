"""A bar in the terminal that says how much is done, drawn by rich (extra: cli)."""

from __future__ import annotations

import time
from typing import Any, Self

from stepladder.errors import ExtraError
from stepladder.numbers import duration


class Bar:
    """How much of a total is done, and how long the rest takes at the pace so far.

    total    None where nobody knows it: the bar moves, beside the time gone by
    done     how much was done before
    console  rich's; the standard output unless given
    shown    False for a bar that nobody sees
    stays    whether its last state is left behind, outside a terminal too; else it's gone once it
             stops, and is seen in a terminal only
    """

    def __init__(
        self,
        title: str,
        total: int | None = None,
        *,
        done: int = 0,
        console: Any = None,
        shown: bool = True,
        stays: bool = False,
    ) -> None:
        try:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeElapsedColumn,
            )
        except ImportError as error:
            raise ExtraError("rich", "cli", "progress=True") from error
        # rich's own console knows only what the terminal was when it was first asked for.
        console = console or Console()
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TimeElapsedColumn() if total is None else MofNCompleteColumn(),
            TextColumn("{task.fields[note]}", markup=False),
        )
        hidden = not shown or not (stays or console.is_terminal)
        self._bar = Progress(*columns, console=console, transient=not stays, disable=hidden)
        self._task = self._bar.add_task(title, total=total, completed=done, note="")
        self._total, self._before, self._began = total, done, time.monotonic()

    def start(self) -> None:
        self._began = time.monotonic()
        self._bar.start()

    def stop(self) -> None:
        self._bar.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def reached(self, done: int, note: str = "") -> None:
        """Show that so much is done; `note` stands behind the bar."""
        text = " ".join(part for part in (self._left(done), note) if part)
        self._bar.update(self._task, completed=done, note=text)

    def _left(self, done: int) -> str:
        """How long the rest takes, once there is a pace to go by."""
        if self._total is None or not self._before < done < self._total:
            return ""
        pace = (time.monotonic() - self._began) / (done - self._before)
        return f"about {duration(pace * (self._total - done))} left"
