"""Candidates, and what becomes of them when they're asked about, for a few people at a time.

Single changes first, then pairs of them. For people without two routes neither of which holds the
other: more values, triples, everything that helps but for what does so alone, and the ends that
directions lead to. Where routes have to hold under retrained models, changes are scanned again with
a higher score in view, for people with too few that do.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, reduce

import numpy as np

from stepladder.methods.asked import ONE_CALL
from stepladder.methods.base import Question
from stepladder.methods.step import scan, sizes
from stepladder.methods.step.judge import Ends, Indices, Judge
from stepladder.methods.step.led import candidates, led, pared
from stepladder.methods.step.reference import Advice, Reference
from stepladder.methods.step.scan import Fronts
from stepladder.methods.step.search import Search
from stepladder.table.keys import keys_of
from stepladder.table.space import Floats, Mask

PROMISING, OF_A_SET = 24, 3
"""How many of a person's candidates are asked about short of their amounts, and of a set."""

FEW = 64
"""Up to how many ends are asked about a little larger before it's known that they are tight."""

MANY = 3
"""From how many things on directions may lead to something easier than what was scanned."""

GREAT = 10.0
"""An effort at which no end is worth it: far out in the tail of some feature."""

AIMS = (0.65, 0.8, 0.9, 0.96)
"""The scores that are aimed at, one after the other, where routes have to hold."""


@dataclass(frozen=True, eq=False)
class Found:
    """What gets a yes: with slack and as surely as it has to hold, less surely, or tight."""

    good: Ends
    unsure: Ends
    tight: Ends

    def plus(self, other: Found) -> Found:
        return Found(
            self.good.plus(other.good),
            self.unsure.plus(other.unsure),
            self.tight.plus(other.tight),
        )


@dataclass(frozen=True, eq=False)
class Gathering:
    """The search for candidates for n people, all of whose single changes are asked about once."""

    judge: Judge
    question: Question
    reference: Reference
    search: Search
    more: dict[int, Ends] = field(default_factory=dict)
    """more single changes, of people whom the first didn't help enough, once they're asked about"""
    parts: list[Found] = field(default_factory=list)
    """what was found so far: if time is up, it's what there is"""

    @property
    def found(self) -> Found:
        """All that was found so far."""
        none = self.judge.nothing()
        return reduce(Found.plus, self.parts, Found(none, none, none))

    def run(self) -> Found:
        """What all n people could be offered."""
        judge, goal = self.judge, self.judge.scorer.goal
        short, aims = np.arange(len(judge.feasible)), [0.0]
        if judge.holds is not None and not goal.is_range:
            aims += [aim - goal.threshold for aim in AIMS if aim > goal.threshold]
        for beyond in aims:
            if len(short):
                self.scan(short, beyond)
                short = _short_of_two(self.found.good, judge)
        if judge.cost.kind == "distance":
            self.lead_nearby(aims)
            return self.found
        lacking = _short_of_two if judge.holds is None else _without
        short = lacking(self.found.good, judge)
        if len(short):
            self.try_everything(short, _alone(self.found.good, judge))
            short = lacking(self.found.good, judge)
        short = np.union1d(short, _of_many(self.found.good, judge))
        if len(short):
            self.lead(short)
        return self.found

    @property
    def advice(self) -> Advice:
        advice = self.reference.advice
        assert advice is not None
        return advice

    @cached_property
    def today(self) -> Floats:
        """(n,) where people stand, on the scale on which what changes earn adds up."""
        goal = self.judge.scorer.goal
        return scan.worth(goal, goal.margin(self.question.scores))

    @cached_property
    def ones(self) -> Ends:
        """Single changes."""
        return self.judge.ends(*scan.singles(self.judge, self.advice.scanned))

    def wide(self, people: Indices) -> Ends:
        """Single changes of some people, more of them than `ones` are."""
        new = np.setdiff1d(people, list(self.more))
        person, rows = scan.singles(self.judge.take(new), self.advice.more)
        if self.judge.slack and 2 * len(rows) <= ONE_CALL:
            self._with_larger(new[person], rows)  # what is asked next of those that get a yes
        found = self.judge.ends(new[person], rows)
        self.more.update({int(p): found.take(found.person == p) for p in new})
        return self.judge.nothing().plus(*(self.more[int(p)] for p in people))

    def scan(self, people: Indices, beyond: float) -> None:
        """Look at what single changes, pairs and triples lead to.

        beyond  how far past the goal the score in view lies
        """
        judge = self.judge
        goal = scan.worth(judge.scorer.goal, np.array(beyond))
        need = (goal - self.today) / (1 - judge.slack)
        ones = self.ones.take(np.isin(self.ones.person, people))
        pairs = self._sets(Fronts.of(ones, judge, self.today), need, (2,), people)
        found = self._asked(ones, *pairs, beyond=beyond)
        short = np.intersect1d(people, _short_of_two(found.good, judge))
        if len(short):
            wide = self.wide(short)
            found = found.plus(self._asked(wide, beyond=beyond))
            enough = _alone(found.good, judge)
            fronts = Fronts.of(ones.plus(wide), judge, self.today, enough)
            self._asked(*self._sets(fronts, need, (2, 3), short), beyond=beyond)

    def _sets(
        self, fronts: Fronts, need: Floats, sizes: tuple[int, ...], people: Indices
    ) -> list[Ends]:
        """What sets of so many changes lead some people to, by how many there are."""
        some = Fronts(*(side[people] for side in (fronts.values, fronts.gain, fronts.cost)))
        start = self.judge.feasible.start[people]
        found = [scan.combined(some, size, need[people], start) for size in sizes]
        person, rows = (np.concatenate(sides) for sides in zip(*found, strict=True))
        ends = self.judge.ends(people[person], rows)
        things = self.judge.feasible.take(ends.person).changes(ends.rows).sum(axis=1)
        largest = np.clip(things, sizes[0], sizes[-1])
        return [ends.take(largest == size) for size in sizes]

    def try_everything(self, people: Indices, left_out: Mask) -> None:
        """See what some people need of everything that helps, but for what does so alone."""
        ones = self.ones.plus(self.wide(people))
        fronts = Fronts.of(ones, self.judge, self.today, left_out)
        rows = scan.everything(fronts, self.judge.feasible.start)[people]
        tried = self.judge.ends(people, rows)
        yes = tried.take(tried.beyond >= 0)
        self._asked(pared(yes.person, yes.rows, self.judge))

    def lead(self, people: Indices, beyond: float = 0.0) -> Found:
        """Follow some people's directions, with a score in view so far past the goal."""
        judge = replace(self.judge.take(people), scorer=self.judge.scorer.raised(beyond))
        question = replace(self.question, scorer=judge.scorer)
        leading = led(question, people, self.reference, self.search)
        ends = candidates(leading, judge, self.reference)
        return self._asked(replace(ends, beyond=ends.beyond + beyond).of(people))

    def lead_nearby(self, aims: list[float]) -> None:
        """Follow everybody's directions, aiming further in where nothing holds."""
        left = np.arange(len(self.judge.feasible))
        for beyond in aims:
            if len(left):
                left = np.setdiff1d(left, self.lead(left, beyond).good.person)

    def _asked(self, *tried: Ends, beyond: float = 0.0) -> Found:
        """The most promising of each; one that is tight is also tried a little larger."""
        judge, yes = self.judge, [ends.take(ends.beyond >= beyond) for ends in tried]
        best = judge.nothing().plus(*(ends.take(_promising(ends, judge)) for ends in yes))
        calm, more = self._calm(best)
        good = best.take(calm).plus(more)
        sure = judge.sure(good.rows)
        self.parts.append(Found(good.take(sure), good.take(~sure), best.take(~calm)))
        return self.parts[-1]

    def _calm(self, ends: Ends) -> tuple[Mask, Ends]:
        """(e,) which ends have slack, and what those that haven't are a little larger, if that has.

        Where they're few all of it is asked about together, needed or not: see `Judge.steady`.
        """
        judge, count, times = self.judge, len(ends), 1 / (1 - self.judge.slack)
        if not judge.slack or count > FEW:
            calm = judge.calm(ends.person, ends.rows)
            tight = ends.take(~calm)
            return calm, sizes.larger(judge, tight, (times,)) if len(tight) else tight
        yes, beyond, rows = self._with_larger(ends.person, ends.rows)
        calm, larger = yes[:count], np.flatnonzero(yes[count:] & ~yes[:count])
        cost = judge.cost.of(judge.feasible.take(ends.person), rows)
        return calm, Ends(ends.person, rows, beyond[count:], cost).take(larger).first()

    def _with_larger(self, person: Indices, rows: Floats) -> tuple[Mask, Floats, Floats]:
        """`Judge.steady` of rows and of the same a little larger, asked about at once."""
        judge, own = self.judge, self.judge.feasible.take(person)
        more = own.repair(sizes.enlarged(judge, person, rows, 1 / (1 - judge.slack)))
        twice = np.tile(np.arange(len(rows)), 2)
        return *judge.steady(own.take(twice), np.concatenate([own.repair(rows), more])), more


# ---- which of them ----------------------------------------------------------------------------


def _promising(ends: Ends, judge: Judge) -> Indices:
    """Each person's cheapest ends: the first of each set of features, then the second, …"""
    rank = _rank_in_set(ends, judge)
    few = np.flatnonzero(rank < OF_A_SET)
    order = few[np.lexsort((ends.cost[few], rank[few], ends.person[few]))]
    place = np.arange(len(order)) - np.searchsorted(ends.person[order], ends.person[order])
    return np.sort(order[place < PROMISING])


def _rank_in_set(ends: Ends, judge: Judge) -> Indices:
    """(c,) how many of a person's ends with the same features cost less."""
    sets = judge.feasible.take(ends.person).changes(ends.rows)
    keyed = keys_of(np.column_stack([ends.person, sets]).astype(np.float64))
    _, which = np.unique(keyed, return_inverse=True)
    order = np.lexsort((ends.cost, which))
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order)) - np.searchsorted(which[order], which[order])
    return rank


def _short_of_two(ends: Ends, judge: Judge) -> Indices:
    """The people who don't have two ends each of which holds no other's set of features.

    They have none, or one whose features are in all the others. An end of great effort doesn't
    count: there may be an easier one.
    """
    if judge.cost.kind == "effort":
        ends = ends.take(ends.cost <= GREAT)
    ends = ends.take(np.argsort(ends.person, kind="stable"))
    sets = judge.feasible.take(ends.person).changes(ends.rows)
    people, at = np.unique(ends.person, return_index=True)
    short = np.ones(len(judge.feasible), dtype=bool)
    if len(people):
        shared = np.logical_and.reduceat(sets, at).sum(axis=1)
        short[people] = np.minimum.reduceat(sets.sum(axis=1), at) == shared
    return np.flatnonzero(short)


def _of_many(ends: Ends, judge: Judge) -> Indices:
    """The people whose easiest end is of many things: directions may lead to an easier one."""
    things = judge.feasible.take(ends.person).changes(ends.rows).sum(axis=1)
    order = np.lexsort((ends.cost, ends.person))
    first = order[np.diff(ends.person[order], prepend=-1) > 0]
    return np.asarray(ends.person[first[things[first] >= MANY]])


def _without(ends: Ends, judge: Judge) -> Indices:
    """The people who have no end."""
    return np.setdiff1d(np.arange(len(judge.feasible)), ends.person)


def _alone(ends: Ends, judge: Judge) -> Mask:
    """(n, features) which changes are ends by themselves."""
    changes = judge.feasible.take(ends.person).changes(ends.rows)
    alone = np.flatnonzero(changes.sum(axis=1) == 1)
    enough = np.zeros(judge.feasible.start.shape, dtype=bool)
    enough[ends.person[alone], changes[alone].argmax(axis=1)] = True
    return enough
