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
            apart *= np.repeat(own.difficulty, columns, axis=1)
            return np.asarray(np.linalg.norm(apart, axis=1))
        assert callable(self.kind)
        if not len(rows):
            return np.empty(0)
        answer = self.kind(space.to_frame(own.start), space.to_frame(rows))
        costs = np.asarray(answer, dtype=np.float64)
        if costs.shape != (len(rows),) or not np.isfinite(costs).all():
            raise ParameterError(
                f"The cost function returned {_shown(costs)} for {len(rows)} rows; expected one "
                "finite number per row."
            )
        return costs


def _shown(costs: Floats) -> str:
    odd = costs[~np.isfinite(costs)] if costs.ndim == 1 else costs[:0]
    return f"{odd[0]}" if len(odd) else f"the shape {costs.shape}"
