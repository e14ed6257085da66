"""What a method's paths are worth: one row per person.

Beside the metrics of what the method claims stands what holds: a path is *valid* if each of its
rows, as the person would see it (whole numbers, levels that exist), breaks no rule of the schema,
and the model accepts the last one.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder.metrics import each
from stepladder.model.scorer import Scorer
from stepladder.result.path import Outcome
from stepladder.result.recourse import Recourse
from stepladder.table.feasible import Feasible
from stepladder.table.space import Floats, Mask


def rows(result: Recourse, scorer: Scorer, least: Floats) -> pd.DataFrame:
    """Everyone's numbers; `least` (n,) is the closed form of the least distance, if there's one."""
    holds = valid(result, scorer)
    found = {
        "person": result.people,
        **each(result.measured()),
        "valid_success": holds.any(axis=1).astype(np.float64),
        "avg_valid_success": holds.sum(axis=1) / max(holds.shape[1], 1),
        "least_distance": least,
    }
    return pd.DataFrame(found)


def valid(result: Recourse, scorer: Scorer) -> Mask:
    """(n, k) which paths are valid."""
    space, k = result.space, len(result.routes[0]) if result.routes else 0
    flat = [path for routes in result.routes for path in routes]
    reached = [i for i, path in enumerate(flat) if path.outcome is Outcome.REACHED]
    start = np.array([flat[i].values[0] for i in reached]).reshape(-1, len(space.schema))
    feasible = Feasible.around(space, start)  # of the others some have no valid row to be around
    kept = np.zeros(len(flat), dtype=bool)
    ends = {}
    for number, i in enumerate(reached):
        one = feasible.take(slice(number, number + 1))
        seen = _seen(one, flat[i].values[1:])
        kept[i], ends[i] = not _breaks(one, seen), seen[-1]
    valid: NDArray[np.intp] = np.flatnonzero(kept)
    kept[valid] = scorer.met(scorer.score(np.array([ends[i] for i in valid]))) if len(valid) else 0
    return kept.reshape(len(result.routes), k)


def _seen(one: Feasible, values: Floats) -> Floats:
    """One person's rows as they'd see them: rounded, and with what follows from the rest."""
    space = one.space
    moved = np.abs(values - one.start) > space.dust
    return one.complete(np.where(moved, space.grid.nearest(values), one.start))


def _breaks(one: Feasible, values: Floats) -> bool:
    """Whether a row lies outside one person's feasible set, by more than rounding."""
    space = one.space
    lower, upper = one.limits
    beyond = (values < lower - space.dust) | (values > upper + space.dust)
    beyond &= ~space.links.linked
    beyond |= space.hops.broken(values, one.start)
    return bool(beyond.any() or not one.fulfils(values).all())
