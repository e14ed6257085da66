"""How long a call may take, and how its caller is told how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from numbers import Real
from types import TracebackType
from typing import Any

from stepladder.errors import ExtraError, ParameterError

Progress = bool | Callable[[int, int], None]
"""False: silent. True: a bar in the terminal (rich). A function: called with (done, total)."""


class Pace:
    """One call's clock, progress and private releases.

    `with Pace(...) as pace:` shows a bar only inside.
    """

    def __init__(self, total: int, progress: Progress, time_budget: float | None) -> None:
        number = isinstance(time_budget, Real) and not isinstance(time_budget, bool)
        if time_budget is not None and not (number and time_budget > 0):
            raise ParameterError(
                f"time_budget must be a number of seconds above 0, or None; got {time_budget!r}."
            )
        if not (isinstance(progress, bool) or callable(progress)):
            raise ParameterError(
                f"progress must be True, False or a function of (done, total); got {progress!r}."
            )
        self.total = total
        self.done = 0
        self.releases = 0
        """how many private releases the call has taken, where each is paid for"""
        self._banked = 0
        self._deadline = None if time_budget is None else time.monotonic() + time_budget
        self._report = progress if callable(progress) else None
        self._bar: Any = _bar(total) if progress is True else None

    @property
    def expired(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def reached(self, count: int) -> None:
        """Say that `count` people beyond those banked are finished."""
        done = self._banked + count
        if done == self.done:
            return
        self.done = done
        if self._report is not None:
            self._report(done, self.total)
        if self._bar is not None:
            self._bar.update(0, completed=done)

    def bank(self, count: int) -> None:
        """Put `count` finished people away for good."""
        self.reached(count)
        self._banked += count

    def __enter__(self) -> Pace:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _bar(total: int) -> Any:
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar
    except ImportError as error:
        raise ExtraError("rich", "cli", "progress=True") from error
    columns = TextColumn("people"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    bar = Bar(*columns, console=Console())
    bar.add_task("people", total=total)
    return bar
