"""What keeps a person's score down, beside people who are accepted: sampled Shapley values.

Somebody accepted is turned into the person, one feature after the other, and each feature is
credited with what the score does when its turn comes. What a feature does depends on those before
it, so this is averaged over orders drawn by chance (Castro, Gómez and Tejada 2009; Štrumbelj and
Kononenko 2014), each of them also taken the other way round, which cancels much of that chance
(Mitchell, Cooper, Frank and Holmes 2022). Since everyone accepted is turned into the person as
often, pulls add up exactly to how much less the person scores than accepted people do on average.

A derived feature follows whenever what it's worked out from has its turn. Its own turn hands over
only what the formula doesn't explain, so it has a pull of its own where people with the same inputs
differ, and none otherwise.

The same orders are used for everybody, so a person's pulls don't depend on who else is asked about.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepladder.model.scorer import Scorer
from stepladder.table.frames import Frame, Template
from stepladder.table.rules.links import changed
from stepladder.table.schema import Schema
from stepladder.table.space import Floats, Mask

ACCEPTED = 64
"""How many accepted rows a person is held against, at most."""

ROWS = 2000
"""How many rows the model is asked about for one person, at most, beside the accepted ones.

Of more than a thousand features an order and its reverse are taken all the same.
"""

AT_ONCE = 2**16
"""How many rows are held at a time."""


def background(values: Floats, margins: Floats) -> Floats:
    """Up to 64 of n accepted rows (n, features), evenly spread from the lowest margin (n,) up.

    Rows that lack a value are taken only where there are no others.
    """
    whole = ~np.isnan(values).any(axis=1)
    if whole.any():
        values, margins = values[whole], margins[whole]
    return np.asarray(values[np.argsort(margins, kind="stable")[_spread(len(values), ACCEPTED)]])


def pulls(values: Floats, accepted: Floats, scorer: Scorer, seed: int) -> Floats:
    """(n, features) how far each feature pulls the score of n people up, or down if below 0.

    values    (n, features) people's rows
    accepted  (b, features) rows to hold them against: see `background`

    Scores count as margins, so that of a range of predictions either side is below 0. NaN for a
    person whose row the model can't score for a gap, or a mix of it with an accepted one.
    """
    features = values.shape[1]
    each = max(1, ROWS // (2 * max(1, features - 1)))
    accepted = accepted[_spread(len(accepted), each)]
    orders = _orders(features, len(accepted), each // len(accepted), seed)
    held = np.tile(accepted, (len(orders) // len(accepted), 1))
    trails = _Trails(scorer, orders, held)
    found = np.full(values.shape, np.nan)
    size = max(1, AT_ONCE // (len(orders) * features))
    for start in range(0, len(values), size):
        part = slice(start, start + size)
        found[part] = trails.pulls(values[part])
    return found


def _spread(count: int, most: int) -> NDArray[np.intp]:
    """At most so many of `count` indices, evenly spread."""
    return np.linspace(0, count - 1, min(count, most)).round().astype(np.intp)


def _orders(features: int, rows: int, rounds: int, seed: int) -> NDArray[np.intp]:
    """(orders, features) for each of some rows as many orders, each followed by its reverse."""
    random = np.random.default_rng(seed)
    drawn = random.permuted(np.tile(np.arange(features), (rounds * rows, 1)), axis=1)
    forth = drawn.reshape(rounds, rows, features)
    return np.concatenate([forth, forth[:, :, ::-1]], axis=1).reshape(-1, features)


@dataclass(frozen=True, eq=False)
class _Trails:
    """The ways from accepted rows to a person, one per order."""

    scorer: Scorer
    orders: NDArray[np.intp]
    """(orders, features)"""
    held: Floats
    """(orders, features) the accepted row that each begins at"""

    @cached_property
    def taken(self) -> Mask:
        """(orders, features + 1, features) which values are the person's after so many turns."""
        turn = np.argsort(self.orders, axis=1)
        return np.asarray(turn[:, None, :] < np.arange(turn.shape[1] + 1)[None, :, None])

    def pulls(self, people: Floats) -> Floats:
        """(n, features) what each feature does on average when its turn comes."""
        orders, features = self.orders.shape
        margins = self.margins(people)  # (n, orders, features + 1)
        gains = np.empty((len(people), orders, features))
        np.put_along_axis(gains, self.orders[None], np.diff(margins, axis=2), axis=2)
        return np.asarray(gains.mean(axis=1))

    def margins(self, people: Floats) -> Floats:
        """How far beyond the goal each row of each trail is; a row like the one before is it."""
        shape = (len(people), *self.taken.shape)
        rows = self.mixed(people, shape)
        fresh = np.ones(shape[:3], dtype=bool)
        fresh[:, :, 1:] = changed(rows[:, :, 1:], rows[:, :, :-1]).any(axis=3)
        # The same row comes up in many trails, above all where features have few values.
        asked, which = np.unique(rows[fresh], axis=0, return_inverse=True)
        margins = self.scorer.goal.margin(self.scorer.score_known(asked))
        found = np.empty(shape[:3])
        found[fresh] = margins[which.reshape(-1)]
        latest = np.maximum.accumulate(np.where(fresh, np.arange(shape[2]), 0), axis=2)
        return np.take_along_axis(found, latest, axis=2)

    def mixed(self, people: Floats, shape: tuple[int, ...]) -> Floats:
        """(n, orders, features + 1, features) the rows of each person's trails."""
        links = self.scorer.space.links
        taken = np.broadcast_to(self.taken, shape).reshape(-1, shape[3])
        own = np.broadcast_to(people[:, None, None], shape).reshape(-1, shape[3])
        held = np.broadcast_to(self.held[None, :, None], shape).reshape(-1, shape[3])
        rows = np.where(taken, own, held)
        for d, f in enumerate(links.derived):
            start = np.where(taken[:, [f]], own, held)
            rows[:, f] = links.followed(d, rows, start, links.worked_out(start)[:, d])
        return rows.reshape(shape)


def frame(found: Floats, people: NDArray[Any], schema: Schema, template: Template) -> Frame:
    """Pulls (n, features) as rows of person, feature, pull; each person's lowest first."""
    order = np.argsort(found, axis=1, kind="stable")
    names = np.array(schema.names, dtype=object)[order].reshape(-1)
    return template.build(
        {
            "person": np.repeat(people, len(schema)),
            "feature": template.texts(names.tolist()),
            "pull": np.take_along_axis(found, order, axis=1).reshape(-1),
        }
    )
