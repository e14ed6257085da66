"""The people of one call in parts: one after the other, or side by side in several processes.

A part is answered as it would be alone, with the same calls of the model whoever works on it, so
that answers are the same to the last bit however many processes there are.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pickle import PicklingError
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import ParameterError
from stepladder.methods.pace import Pace, Tally, TimeUpError
from stepladder.table.space import Floats, Mask

if TYPE_CHECKING:
    from stepladder.methods.base import Answer, Method

ONE = 128
"""How many people are answered together at most where others are answered side by side, and in the
default method always: so that the model is asked the same, whoever asks."""


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the people who aren't at the goal: n of them, at `values` (n, features)."""

    people: NDArray[np.intp]
    """(n,) which of all the call's people they are"""
    values: Floats
    scores: Floats
    """(n,) what the model says of them today"""
    twins: NDArray[np.intp]
    """(n,) how many people with the very same row came before each"""
    locked: Mask
    limits: tuple[Floats, Floats] | None
    difficulty: Floats | None
    next_only: bool

    def cut(self, size: int) -> list[Part]:
        """The same people, so many at a time."""

        def some(part: slice) -> Part:
            return Part(
                self.people[part],
                self.values[part],
                self.scores[part],
                self.twins[part],
                self.locked[part],
                None if self.limits is None else (self.limits[0][part], self.limits[1][part]),
                None if self.difficulty is None else self.difficulty[part],
                self.next_only,
            )

        return [some(slice(at, at + size)) for at in range(0, len(self.people), size)]


def answered(
    method: Method, asking: Part, pace: Pace, n_jobs: int = 1
) -> Iterator[tuple[Part, Answer]]:
    """Everybody's answers, part by part in their order; those that time is up for don't come."""
    size = pace.crowd(method.batch)
    if n_jobs == 1 or len(asking.people) <= min(size, ONE):
        for part in asking.cut(size):
            if pace.expired:
                return
            try:
                yield part, method.answer_part(part, pace)
            except TimeUpError:
                return
        return
    parts = asking.cut(min(size, ONE))
    for part, (answer, tally) in zip(
        parts, _side_by_side(method, parts, pace, n_jobs), strict=True
    ):
        pace.add(tally)
        if answer is not None:
            yield part, answer


def _side_by_side(
    method: Method, parts: Sequence[Part], pace: Pace, n_jobs: int
) -> Iterator[tuple[Answer | None, Tally]]:
    from joblib import Parallel, delayed

    # Processes share no clock but that on the wall.
    until = None if pace.left is None else time.time() + pace.left
    jobs = (delayed(_alone)(method, part, until) for part in parts)
    try:
        yield from Parallel(n_jobs=n_jobs, return_as="generator")(jobs)
    except (PicklingError, BrokenProcessPool) as error:
        why = str(error.__cause__ or error).strip().strip('"').rstrip().splitlines()[-1]
        raise ParameterError(
            f"n_jobs={n_jobs} hands the method and its model to other processes, and that failed "
            f"({why}). Use n_jobs=1, or threads: with joblib.parallel_config(backend='threading')."
        ) from error


def _alone(method: Method, part: Part, until: float | None) -> tuple[Answer | None, Tally]:
    """One part's answer, if it's there in time, and what it took."""
    left = None if until is None else max(until - time.time(), 1e-9)
    pace = Pace(len(part.people), progress=False, time_budget=left)
    try:
        return method.answer_part(part, pace), pace.tally
    except TimeUpError:
        return None, pace.tally
