"""What a privacy budget buys of the positives: made-up rows, or the centres of clusters.

Nothing here is learned from a row that isn't paid for: ranges come from the schema.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path as File
from typing import Any
from uuid import uuid4

import numpy as np

from stepladder.errors import ParameterError, ResultError, StepladderError
from stepladder.methods.step.clusters import Labels, partition
from stepladder.model.scorer import Scorer
from stepladder.privacy import mechanism
from stepladder.privacy.pay import Pay, PayOnce, PayPerDirection
from stepladder.privacy.reference import RELEASES, Facts, Layout, facts, made_up, nearest_centre
from stepladder.table.feature import Categorical, Derived
from stepladder.table.space import Floats, Space

CENTRES, ROWS = 24, 2048
"""The size of a reference set that only serves to find the centres of clusters."""


def ranges(space: Space) -> Floats:
    """(features, 2) what the schema declares each feature to lie within; levels by their index."""
    spans = [
        (0.0, len(feature.levels or ()) - 1.0)
        if isinstance(feature, Categorical)
        else getattr(feature, "span", None) or (0.0, 0.0)  # what is derived has none
        for feature in space.schema.features
    ]
    return np.array(spans, dtype=np.float64)


def box(space: Space) -> tuple[Floats, Floats]:
    """(columns,) the lowest and highest point within the declared ranges."""
    low, high = np.zeros(space.width), np.ones(space.width)
    for feature, (least, most) in zip(space.schema.features, ranges(space), strict=True):
        if not isinstance(feature, Categorical | Derived):
            column = space.slices[feature.name].start
            low[column] = (least - space.center[column]) / space.scale[column]
            high[column] = (most - space.center[column]) / space.scale[column]
    return low, high


def layout(space: Space) -> Layout:
    """The columns that may change, as a private reference set knows them."""
    low, high = box(space)
    changeable = space.changeable
    groups, start = [], 0
    for feature in space.schema.features:
        if feature.chosen:
            where = space.slices[feature.name]
            width = where.stop - where.start
            if width > 1:
                groups.append(slice(start, start + width))
            start += width
    return Layout(low[changeable], high[changeable], tuple(groups))


def bought(pay: PayOnce, positives: Floats, scorer: Scorer, random_state: int) -> Floats:
    """Made-up values (rows, features) for the price of a reference set, or from a saved one."""
    found = _facts(pay, positives, scorer, pay.centres, random_state)
    return _as_values(made_up(found, pay.rows, _rng(random_state, "rows")), scorer.space)


@dataclass(frozen=True, eq=False)
class Held:
    """The real positives, which only noisy sums may be asked about, around k centres."""

    values: Floats
    """(N, features)"""
    clusters: Labels
    """(N,) which centre each is nearest to"""
    multiplier: float
    """of each step's noise"""


def held(
    pay: PayPerDirection, positives: Floats, scorer: Scorer, paths: int, random_state: int
) -> Held:
    """The positives ready to be asked, and the noise that each step will have."""
    space = scorer.space
    columns, plan = space.changeable, layout(space)
    if pay.centres is not None:
        centres, multiplier = _public(pay.centres, space, paths), pay.for_steps()
    else:
        found = _facts(pay, positives, scorer, CENTRES, random_state)
        points = made_up(found, ROWS, _rng(random_state, "rows"))
        labels = partition(points, paths, None, random_state)
        centres = np.array([points[labels == c].mean(axis=0) for c in range(labels.max() + 1)])
        centres = centres[np.arange(paths) % len(centres)]  # made-up points may be all alike
        multiplier = pay.for_steps(found.title)
    low, high = ranges(space).T
    never = ~space.links.chosen
    values = np.where(never, positives, np.clip(positives, low, high))
    points = plan.clipped(space.to_points(positives)[:, columns])
    return Held(values, nearest_centre(points, centres), multiplier)


def _public(centres: Any, space: Space, paths: int) -> Floats:
    """Public rows as centres (k, changeable columns)."""
    try:
        points = space.encode(centres)[:, space.changeable]
    except StepladderError as error:
        raise ParameterError(f"centres must be a frame of public rows. {error}") from error
    if len(points) != paths:
        raise ParameterError(
            f"centres must be one public row per path: expected {paths}, got {len(points)}."
        )
    return points


def _facts(pay: Pay, positives: Floats, scorer: Scorer, centres: int, random_state: int) -> Facts:
    """Facts about the positives: from the file that keeps them, or once they're paid for."""
    if pay.saved is None:
        return _paid_for(pay, positives, scorer.space, centres, random_state)
    file = File(pay.saved)
    made_for = {"schema": scorer.space.schema.rules.to_dict(), "goal": asdict(scorer.goal)}
    if file.exists():
        return _found(pay, file, centres, made_for)
    if not os.access(file.parent, os.W_OK):
        raise ResultError(
            f"A private reference set can't be saved as {str(file)!r}: the folder isn't there "
            "or can't be written to. Nothing was spent."
        )
    found = replace(
        _paid_for(pay, positives, scorer.space, centres, random_state), made_for=made_for
    )
    found.save(file)
    return found


def _paid_for(pay: Pay, positives: Floats, space: Space, centres: int, random_state: int) -> Facts:
    """New facts, for as much as this way to pay sets aside for them."""
    multiplier, title = pay.multiplier(), f"{pay.buys} {uuid4().hex[:12]}"
    mechanism.check()
    pay.budget.spend(multiplier, title, count=RELEASES)
    points = space.to_points(positives)[:, space.changeable]
    rng = _rng(random_state, "centres")
    return facts(points, layout(space), multiplier, centres, rng, pay.budget.neighbours, title)


def _found(pay: Pay, file: File, centres: int, made_for: Any) -> Facts:
    """The facts in a file, once they're paid for: by this budget, if it hasn't done so before."""
    found, budget = Facts.load(file), pay.budget
    cost = budget.cost(found.multiplier, RELEASES)
    most = pay.epsilon if isinstance(pay, PayOnce) else None
    for what, differs in (
        ("schema or goal", found.made_for != json.loads(json.dumps(made_for))),  # no tuples there
        ("neighbours", found.neighbours is not budget.neighbours),
        ("number of centres", len(found.centres) != centres),
        ("epsilon", most is not None and cost > most * (1 + 1e-6)),
    ):
        if differs:
            raise ResultError(
                f"The private reference set in {str(file)!r} was made with another {what}. Use "
                "what it was made with, or another file for a new one, which has to be paid for."
            )
    if all(entry.what != found.title for entry in budget.entries()):
        budget.spend(found.multiplier, found.title, count=RELEASES)
    return found


def _rng(random_state: int, purpose: str) -> np.random.Generator:
    """A generator for each purpose, so that saved facts give the same rows as fresh ones."""
    return np.random.default_rng([random_state, *purpose.encode()])


def _as_values(made: Floats, space: Space) -> Floats:
    """Values (n, features) of made-up points; what never changes is the middle of its range."""
    points = np.zeros((len(made), space.width))
    points[:, space.changeable] = made
    values = space.to_values(points)
    middles = ranges(space).mean(axis=1)
    return space.links.filled(space.grid.nearest(np.where(space.links.chosen, values, middles)))
