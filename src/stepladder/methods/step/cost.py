"""What routes are ordered by: effort, distance, or a function of the caller's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from stepladder.errors import ParameterError
from stepladder.table.effort import Effort
from stepladder.table.feasible import Feasible
from stepladder.table.frames import Frame
from stepladder.table.space import Floats

CostFunction = Callable[[Frame, Frame], Any]
"""Takes rows before and after, as frames of the reference's kind; returns one cost per row."""

Kind = Literal["effort", "distance"] | CostFunction


def check(cost: Kind) -> Kind:
    """The cost, or a clear sentence about what isn't one."""
    if not (callable(cost) or cost in ("effort", "distance")):
        raise ParameterError(
            f"cost must be 'effort', 'distance' or a function of rows before and after; got "
            f"{cost!r}."
        )
    return cost


@dataclass(frozen=True, eq=False)
class Cost:
    """The cost of getting from one row to another."""

    kind: Kind
    effort: Effort
    weights: Floats
    """(columns,) how hard each column is to change, where the cost is a distance"""

    def efforts(self, own: Feasible, rows: Floats) -> Floats:
        """(n, features) what rows ask of people, feature by feature."""
        return self.effort.of(own.start, rows, own.difficulty)

    def of(self, own: Feasible, rows: Floats) -> Floats:
        """(n,) the cost of rows (n, features), one for each of n people."""
        space = own.space
        if self.kind == "effort":
            return np.asarray(self.efforts(own, rows).sum(axis=1))
        if self.kind == "distance":
            apart = (space.to_points(rows) - space.to_points(own.start)) * self.weights
            columns = [where.stop - where.start for where in space.slices.values()]
            if own.difficulty is not None:
                apart *= np.repeat(own.difficulty, columns, axis=1)
            return np.asarray(np.linalg.norm(apart, axis=1))
        assert callable(self.kind)
        if not len(rows):
            return np.empty(0)
        answer = self.kind(space.to_frame(own.start), space.to_frame(rows))
        try:
            costs = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError):
            raise _no_costs(repr(answer)[:60], len(rows)) from None
        if costs.shape != (len(rows),):
            raise _no_costs(f"the shape {costs.shape}", len(rows))
        if not np.isfinite(costs).all():
            raise _no_costs(str(costs[~np.isfinite(costs)][0]), len(rows))
        return costs


def _no_costs(shown: str, rows: int) -> ParameterError:
    return ParameterError(
        f"The cost function returned {shown} for {rows} rows; expected one finite number per row."
    )
