"""One path, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from stepladder.table.space import Floats


class Outcome(StrEnum):
    """How a path ended. Failure is data: each comes with a reason."""

    REACHED = "reached"
    ALREADY_POSITIVE = "already_positive"
    STEP_LIMIT = "step_limit"
    STALLED = "stalled"
    UNREACHABLE = "unreachable"
    UNSURE = "unsure"
    MISSING_VALUE = "missing_value"
    INVALID_ROW = "invalid_row"
    TIMED_OUT = "timed_out"


@dataclass(frozen=True, eq=False)
class Path:
    """One person's route: s steps, so s + 1 rows, the first being where they stand today."""

    outcome: Outcome
    reason: str
    values: Floats
    """(s + 1, features) the rows"""
    points: Floats
    """(s + 1, columns) the same rows, encoded"""
    scores: Floats
    """(s + 1,)"""
    efforts: Floats | None = None
    """(features,) what each change asks of the person; None where nobody weighed it"""
    ranks: Floats | None = None
    """(features,) the share of reference rows below the end's values; NaN where unknown"""
    tight: bool = False
    """whether the end is no longer a yes if its changes fall a little short"""
    holds: float = np.nan
    """the probability that the end holds under a retrained model; NaN where unknown"""

    def weighed(self, efforts: Floats, ranks: Floats) -> Path:
        """The same, with what each change asks; made for millions, so without `replace`."""
        path = object.__new__(Path)
        path.__dict__.update(self.__dict__, efforts=efforts, ranks=ranks)
        return path

    @property
    def steps(self) -> int:
        return len(self.scores) - 1

    @property
    def is_unknown(self) -> bool:
        """Whether time was up before the person was even scored."""
        return self.outcome is Outcome.TIMED_OUT and bool(np.isnan(self.scores[0]))

    @property
    def length(self) -> float:
        return float(np.linalg.norm(np.diff(self.points, axis=0), axis=1).sum())

    @property
    def distance(self) -> float:
        return float(np.linalg.norm(self.points[-1] - self.points[0]))

    @property
    def effort(self) -> float:
        """What the path asks of the person in all; NaN where nobody weighed it."""
        return np.nan if self.efforts is None else float(self.efforts.sum())
