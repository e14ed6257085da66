"""What candidates are judged by: rules, the model, whether a yes has some slack, and holds.

A yes has slack if it's still one when its numbers fall a little short of what was planned, each
alone and all together: what follows from them is worked out anew, and levels are there in full.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stepladder.methods.asked import ONE_CALL, margins, may_end
from stepladder.methods.step.cost import Cost
from stepladder.model.scorer import Scorer
from stepladder.model.successors import Successors
from stepladder.table.feasible import Feasible
from stepladder.table.keys import firsts
from stepladder.table.rules.links import changed
from stepladder.table.space import Floats, Mask, Space

Indices = NDArray[np.intp]

NOTICED = 0.05
"""How many standard deviations a number has to move for a person to notice."""


@dataclass(frozen=True, eq=False)
class Ends:
    """Rows (c, features) that people's candidates lead to, and whose each is."""

    person: Indices
    rows: Floats
    beyond: Floats
    """(c,) how far past the goal the model sees them; minus infinity where a rule is broken"""
    cost: Floats
    """(c,)"""

    def __len__(self) -> int:
        return len(self.person)

    def take(self, which: Indices | Mask) -> Ends:
        return Ends(self.person[which], self.rows[which], self.beyond[which], self.cost[which])

    def of(self, people: Indices) -> Ends:
        """The same where person i is the one at `people[i]`."""
        return replace(self, person=people[self.person])

    def first(self) -> Ends:
        """Without those that a person has twice."""
        return self.take(firsts(np.column_stack([self.person, self.rows])))

    def plus(self, *others: Ends) -> Ends:
        every = (self, *others)
        return Ends(
            np.concatenate([ends.person for ends in every]),
            np.concatenate([ends.rows for ends in every]),
            np.concatenate([ends.beyond for ends in every]),
            np.concatenate([ends.cost for ends in every]),
        )


@dataclass(frozen=True, eq=False)
class Judge:
    """Who asks, of which model, and what counts as easy: candidates are judged by it."""

    feasible: Feasible
    scorer: Scorer
    cost: Cost
    slack: float
    holds: float | None = None
    successors: Successors | None = None

    def take(self, people: Indices) -> Judge:
        """The same for some of the people."""
        return replace(self, feasible=self.feasible.take(people))

    @property
    def space(self) -> Space:
        return self.feasible.space

    def ends(self, person: Indices, rows: Floats) -> Ends:
        """Candidates once they're asked about; what changes nothing, or comes twice, goes."""
        person, rows = self._made(person, rows)
        own = self.feasible.take(person)
        return Ends(person, rows, margins(own, rows, self.scorer), self.cost.of(own, rows))

    def calm_ends(self, person: Indices, rows: Floats) -> Ends:
        """The candidates that get a yes with slack."""
        person, rows = self._made(person, rows)
        own = self.feasible.take(person)
        calm, beyond = self.steady(own, rows)
        return Ends(person, rows, beyond, self.cost.of(own, rows)).take(calm)

    def _made(self, person: Indices, rows: Floats) -> tuple[Indices, Floats]:
        """Rows that keep the rules, without those that change nothing or come twice."""
        own = self.feasible.take(person)
        rows = own.repair(rows)
        kept = np.flatnonzero(own.changes(rows).any(axis=1))
        kept = kept[firsts(np.column_stack([person, rows])[kept])]
        return person[kept], rows[kept]

    def nothing(self) -> Ends:
        """No candidates."""
        none = np.empty(0)
        return Ends(none.astype(np.intp), self.feasible.start[:0], none, none)

    def calm(self, person: Indices, rows: Floats) -> Mask:
        """(c,) which rows that get a yes still get one where they fall short."""
        return calm(self.feasible.take(person), rows, self.slack, self.scorer)

    def yes(self, person: Indices, rows: Floats) -> Mask:
        """(c,) which settled rows get a yes with slack that holds."""
        met, _ = self.steady(self.feasible.take(person), rows)
        met[met] = self.sure(rows[met])
        return met

    def steady(self, own: Feasible, rows: Floats) -> tuple[Mask, Floats]:
        """(c,) which settled rows get a yes with slack, and how far past the goal each is.

        Where they're few they're asked about together with what they are when they fall short,
        since a call takes longer than a row; where they're many, only those that get a yes are.
        """
        if self.slack and 0 < len(rows) <= ONE_CALL:
            which, short = _short(own, rows, self.slack)
            if len(rows) + len(short) <= ONE_CALL:
                return _together(own, rows, which, short, self.scorer)
        beyond = margins(own, rows, self.scorer)
        met = np.flatnonzero(beyond >= 0)
        yes: Mask = np.zeros(len(rows), dtype=bool)
        yes[met] = calm(own.take(met), rows[met], self.slack, self.scorer)
        return yes, beyond

    def sure(self, rows: Floats) -> Mask:
        """(c,) which rows hold as surely as is asked for."""
        if self.holds is None or self.successors is None:
            return np.ones(len(rows), dtype=bool)
        return self.successors.sure(rows, self.holds)

    def trifles(self, person: Indices, rows: Floats) -> Mask:
        """(c, features) which numbers move by less than a person would notice."""
        own = self.feasible.take(person)
        moved = np.abs(rows - own.start)
        return np.asarray(own.changes(rows) & (moved < self.noticed * (1 - 1e-9)))

    @cached_property
    def noticed(self) -> Floats:
        """(features,) the least change that somebody would notice; 0 for a level.

        Where outliers make the standard deviation large, a quarter of the spread stands for it.
        """
        space, least = self.space, np.zeros(len(self.space.schema))
        for f in np.flatnonzero(space.links.by_amount):
            usual = space.scale[space.slices[space.schema.names[f]].start]
            least[f] = NOTICED * min(usual, self.cost.effort.spread[f] / 4)
        return least

    def within(self, own: Feasible, rows: Floats) -> Floats:
        """Rows in which no number goes further than reference rows, or the person, have it."""
        low, high = self.cost.effort.ends
        return np.clip(rows, np.fmin(own.start, low), np.fmax(own.start, high))


def calm(own: Feasible, rows: Floats, slack: float, scorer: Scorer) -> Mask:
    """(c,) which rows that get a yes still get one where their numbers fall short by the slack."""
    found = np.ones(len(rows), dtype=bool)
    if slack > 0 and len(rows):
        which, short = _short(own, rows, slack)
        yes = _could_be(own.take(which), short)
        yes[yes] = scorer.met(scorer.score(short[yes]))
        found[which[~yes]] = False
    return found


def _together(
    own: Feasible, rows: Floats, which: Indices, short: Floats, scorer: Scorer
) -> tuple[Mask, Floats]:
    """`Judge.steady` in one call: short (s, features) are what rows `which` (s,) are cut to."""
    beyond, ends = np.full(len(rows), -np.inf), may_end(own, rows)
    yes = _could_be(own.take(which), short)
    scores = scorer.score(np.concatenate([rows[ends], short[yes]]))
    at = np.count_nonzero(ends)
    beyond[ends] = scorer.goal.margin(scores[:at])
    yes[yes] = scorer.met(scores[at:])
    met = beyond >= 0
    met[which[~yes]] = False
    return np.asarray(met), beyond


def _could_be(own: Feasible, short: Floats) -> Mask:
    """(s,) which rows that fall short could be, and keep the policy."""
    return np.asarray(own.workable(short) & own.passes(short))


def amounts(own: Feasible, rows: Floats) -> Mask:
    """(c, features) which numbers rows change, but for gaps that they fill."""
    return np.asarray(own.changes(rows) & own.space.links.by_amount & ~np.isnan(own.start))


def _short(own: Feasible, rows: Floats, slack: float) -> tuple[Indices, Floats]:
    """Rows with each number alone, and with all of them, short by the slack; and which each is of.

    Values in between may be none that would be asked for, but are such as columns can hold: falling
    a tenth short of four whole things is no thing short.
    """
    moved = amounts(own, rows)
    of, feature = np.nonzero(moved)
    back = own.space.grid.held(rows - slack * np.where(moved, rows - own.start, 0.0), own.start)
    each = rows[of]
    each[np.arange(len(of)), feature] = back[of, feature]
    several = np.flatnonzero(moved.sum(axis=1) > 1)
    which = np.concatenate([of, several])
    short = np.concatenate([each, np.where(moved, back, rows)[several]])
    less = changed(short, rows[which]).any(axis=1)
    which, short = which[less], short[less]
    return which, own.take(which).complete(short)
