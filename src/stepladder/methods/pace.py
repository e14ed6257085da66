"""How long a call may take, how large its questions to the model are, and how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Real
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import ParameterError
from stepladder.progress import Bar

Progress = bool | Callable[[int, int], None]
"""False: silent. True: a bar in the terminal (rich). A function: called with (done, total)."""


SMALLEST = 100
"""How many rows the model is asked about at first, and at least, when time is short: asked about
few, many models take as long as about a hundred."""

SHARE = 0.1
"""What part of the time budget one question to the model may take."""

FULL = 8.0
"""How many seconds a time budget has to allow for people to come in full batches."""

GROWTH = 8
"""By how much a question, or a batch of people, may be larger than the one before."""


class TimeUpError(Exception):
    """The time budget has ended; whoever works on an answer returns what there is of it."""


@dataclass
class Tally:
    """What the model was asked."""

    calls: int = 0
    rows: int = 0
    """in all those calls"""
    successors: int = 0
    """rows that the model's successors were asked about, all of them together"""


class Pace:
    """One call's clock, progress, questions to the model and private releases.

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
        self.tally = Tally()
        self._banked = 0
        self._budget = time_budget
        self._deadline = None if time_budget is None else time.monotonic() + time_budget
        self._most = SMALLEST  # rows in the next call, where time is short
        self._report = progress if callable(progress) else None
        self._bar = Bar("people", total, stays=True) if progress is True else None

    @property
    def left(self) -> float | None:
        """How many seconds are left of the time budget; None if there's none."""
        return None if self._deadline is None else max(self._deadline - time.monotonic(), 0.0)

    def add(self, tally: Tally) -> None:
        """Count what was asked elsewhere for this call."""
        self.tally.calls += tally.calls
        self.tally.rows += tally.rows
        self.tally.successors += tally.successors

    @property
    def expired(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def parts(self, count: int) -> Iterator[slice]:
        """The parts in which the model is asked about `count` rows, each to be asked when it comes.

        Without a time budget it's one. With one, a part takes about `SHARE` of it at the speed of
        the part before, so the clock decides how many rows go into a call, but never which are
        asked; and where the budget has ended, `TimeUpError` comes instead of the next part.
        """
        for part in self._in_time(count):
            self.tally.calls += 1
            self.tally.rows += part.stop - part.start
            yield part

    def successor_parts(self, count: int) -> Iterator[slice]:
        """`parts` for a successor of the model, whose rows are counted apart."""
        for part in self._in_time(count):
            self.tally.successors += part.stop - part.start
            yield part

    def _in_time(self, count: int) -> Iterator[slice]:
        start = 0
        while start < count:
            if self.expired:
                raise TimeUpError
            stop = count if self._budget is None else min(count, start + self._most)
            began = time.monotonic()
            yield slice(start, stop)
            self._timed(stop - start, time.monotonic() - began)
            start = stop

    def crowd(self, most: int) -> int:
        """How many of at most so many people to take on at once.

        Between two questions to the model nothing looks at the clock, and what is done there grows
        with the people; so with little time they're fewer.
        """
        if self._budget is None:
            return most
        return max(1, min(most, int(most * self._budget / FULL)))

    def batches(self, people: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
        """All people at once, to be answered when they come.

        With a time budget the first comes alone, then as many as take half of what is left at the
        speed of those before, and none once it has ended: so most are done by then, instead of all
        half done.
        """
        most = max(len(people), 1)
        start, size = 0, most if self._deadline is None else 1
        while start < len(people) and not self.expired:
            began = time.monotonic()
            part = people[start : start + size]
            yield part
            start += len(part)
            if self._deadline is not None:
                now = time.monotonic()
                each = max((now - began) / len(part), 1e-9)
                in_time = int((self._deadline - now) / 2 / each)
                size = max(1, min(in_time, GROWTH * size, most))

    def _timed(self, rows: int, seconds: float) -> None:
        """Learn from a call how large the next may be."""
        if self._budget is None:
            return
        in_time = int(SHARE * self._budget * rows / max(seconds, 1e-9))
        self._most = max(SMALLEST, min(in_time, GROWTH * max(rows, SMALLEST)))

    def reached(self, count: int) -> None:
        """Say that `count` people beyond those banked are finished."""
        done = self._banked + count
        if done <= self.done:  # some people's paths may be finished before others' are begun
            return
        self.done = done
        if self._report is not None:
            self._report(done, self.total)
        if self._bar is not None:
            self._bar.reached(done)

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
