"""What a yes takes: the rules and the policy are kept, there's a way, and the model says so.

Only rows that keep them are asked about. Rows are assumed to be made by `Feasible.repair` or
`complete`, so that each of their values by itself is allowed.
"""

from __future__ import annotations

import numpy as np

from stepladder.methods.steps import walkable
from stepladder.model.scorer import Scorer
from stepladder.table.feasible import Feasible
from stepladder.table.space import Floats, Mask

ONE_CALL = 768
"""Up to how many rows a model takes hardly longer over than over one."""


def foresee(feasible: Feasible, rows: Floats, scorer: Scorer) -> None:
    """Ask about rows (n, features) that may be asked about soon, where that saves calls.

    It does if they're few, and the scorer remembers what it was told.
    """
    if scorer.remembers and 0 < len(rows) <= ONE_CALL:
        margins(feasible, rows, scorer)


def accepted(feasible: Feasible, rows: Floats, scorer: Scorer) -> Mask:
    """Which rows (n, features), one for each of n people or all of one, would get a yes."""
    return margins(feasible, rows, scorer) >= 0.0


def could_end(feasible: Feasible, rows: Floats) -> Mask:
    """Which rows that keep the rules a path could end at: policy is kept, and hops lead there."""
    passed = np.flatnonzero(feasible.passes(rows))
    own = feasible if len(feasible) == 1 else feasible.take(passed)
    could = np.zeros(len(rows), dtype=bool)
    could[passed[walkable(own, rows[passed])]] = True
    return could


def may_end(feasible: Feasible, rows: Floats) -> Mask:
    """(n,) which rows keep the rules, and could be where a path ends."""
    if feasible.is_box:
        return np.ones(len(rows), dtype=bool)
    return np.asarray(feasible.fulfils(rows) & could_end(feasible, rows))


def margins(feasible: Feasible, rows: Floats, scorer: Scorer) -> Floats:
    """(n,) how far rows are beyond the goal; minus infinity for one that breaks a rule."""
    kept, found = may_end(feasible, rows), np.full(len(rows), -np.inf)
    found[kept] = scorer.goal.margin(scorer.score(rows[kept]))
    return found
