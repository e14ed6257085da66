"""The default method: advice, in four stages.

1. Candidates: single changes, pairs and triples of them (`scan.py`); for people with too few, the
   ends that directions lead to (`led.py`), which make it complete.
2. Asked: each of the model, of every rule, and short by the slack (`judge.py`).
3. Chosen: a few that really differ, the easiest first (`chosen.py`), with amounts as small as will
   do, and round (`sizes.py`).
4. Laid: as steps that keep the rules (`laid.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stepladder.methods.base import TOO_LATE, Answer, Question, ReferenceTable, standing
from stepladder.methods.pace import TimeUpError
from stepladder.methods.step import scan, sizes
from stepladder.methods.step.blame import blame
from stepladder.methods.step.chosen import Options, choose
from stepladder.methods.step.cost import Cost
from stepladder.methods.step.judge import Ends, Judge, amounts
from stepladder.methods.step.laid import laid
from stepladder.methods.step.led import candidates, led, pared
from stepladder.methods.step.mixed import declared
from stepladder.methods.step.planner import Planner
from stepladder.methods.step.reference import Advice, Reference
from stepladder.methods.step.scan import Fronts, Scanned
from stepladder.methods.step.search import Search
from stepladder.result.path import Outcome, Path
from stepladder.table.effort import Effort
from stepladder.table.space import Floats, Mask, Space

Indices = NDArray[np.intp]

CLIP = 3.0
"""How many standard deviations an outlier counts when clusters are formed."""

TOGETHER = 128
"""How many people are advised at a time."""

PROMISING, OF_A_SET = 24, 3
"""How many of a person's candidates are asked about short of their amounts, and of a set."""

EASED = 2
"""How many times as many ends as there are paths have their amounts made as small as will do."""


@dataclass(frozen=True, eq=False)
class Found:
    """Ends that get a yes with slack, and ends that are tight."""

    calm: Ends
    tight: Ends

    def plus(self, other: Found) -> Found:
        return Found(self.calm.plus(other.calm), self.tight.plus(other.tight))


@dataclass(frozen=True)
class Default(Planner):
    """The default planner: candidates, asked, chosen, laid."""

    takes_gaps: ClassVar[bool] = True

    @property
    def settings(self) -> dict[str, Any]:
        return {"privacy": None, **self.parameters.advice}

    def learn(self, table: ReferenceTable) -> Reference:
        reference = super().learn(table)
        effort = Effort.learned(table.space, table.values)
        return self.advised(reference, table.values, effort)

    def advised(self, reference: Reference, rows: Floats, effort: Effort) -> Reference:
        """The reference with what is scanned, from rows (n, features), and what changes cost."""
        space, cost = effort.space, Cost(self.parameters.cost, effort, reference.weights)
        first, more = (
            Scanned.of(space, rows, count, core=core)
            for count, core in ((scan.VALUES, True), (scan.MORE, False))
        )
        if reference.ranges is not None:
            more = more.plus(declared(space, reference.ranges))
        return replace(reference, advice=Advice(first, more, cost))

    def reference(self, found: Floats, space: Space) -> Reference:
        values = space.grid.nearest(found)
        points = space.to_points(values)
        seen = np.clip(points[:, space.changeable], -CLIP, CLIP)
        return self._clustered(found, values, points, seen, space)

    def answer(self, question: Question, reference: Reference) -> Answer:
        """The paths of n people, as many at a time as time allows."""
        count, pace = len(question.feasible), question.pace
        paths: list[list[Path]] = []
        for people in pace.batches(np.arange(count)):
            for at in range(0, len(people), TOGETHER):
                some = question.take(people[at : at + TOGETHER])
                try:
                    paths += self._paths(some, reference)
                except TimeUpError:
                    break
                pace.reached(len(paths))
        for i in range(len(paths), count):
            start, score = question.feasible.start[i], question.scores[i]
            late = standing(question.scorer.space, start, score, Outcome.TIMED_OUT, TOO_LATE)
            paths.append([late] * reference.slots)
        return Answer(paths)

    def _paths(self, question: Question, reference: Reference) -> list[list[Path]]:
        advice = reference.advice
        assert advice is not None
        judge = Judge(question.feasible, question.scorer, advice.cost, self.parameters.slack)
        found, lost = self._found(judge, question, reference)
        ends, tight = self._chosen(judge, found, reference.slots)
        return self._laid(judge, ends, tight, lost, question, reference.slots)

    # ---- candidates, asked ----------------------------------------------------------------

    def _found(
        self, judge: Judge, question: Question, reference: Reference
    ) -> tuple[Found, dict[int, str]]:
        """Everybody's ends, and why some have none."""
        advice, everyone = reference.advice, np.arange(len(judge.feasible))
        assert advice is not None
        today = scan.worth(judge.scorer.goal, judge.scorer.goal.margin(question.scores))
        ones = scan.singles(judge, advice.scanned)
        found = self._asked(judge, ones)
        found = found.plus(self._sets(judge, Fronts.of(ones, judge, today), today, 2, everyone))
        short = _short_of_two(found.calm, judge)
        if len(short):
            own = judge.take(short)
            wide = scan.singles(own, advice.more).of(short)
            found = found.plus(self._asked(judge, wide))
            fronts = Fronts.of(ones.plus(wide), judge, today, _enough_alone(found.calm, judge))
            for size in (2, 3):
                found = found.plus(self._sets(judge, fronts, today, size, short))
            found = found.plus(self._all_but(judge, fronts, _short_of_two(found.calm, judge)))
        none = _short_of_two(found.calm, judge)
        if self.parameters.cost == "distance":
            none = everyone
        if not len(none):
            return found, {}
        search = Search(self.parameters.alpha, self.parameters.step_size, self.parameters.max_steps)
        leading = led(question, none, reference, search)
        ends = candidates(leading, judge.take(none), reference).of(none)
        found = found.plus(self._asked(judge, ends))
        without = np.setdiff1d(none, np.concatenate([found.calm.person, found.tight.person]))
        return found, blame(without, question.feasible, reference, judge.scorer)

    def _sets(
        self, judge: Judge, fronts: Fronts, today: Floats, size: int, people: Indices
    ) -> Found:
        """What pairs or triples of changes lead some people to."""
        some = Fronts(*(side[people] for side in (fronts.values, fronts.gain, fronts.cost)))
        need = -today[people] / (1 - self.parameters.slack)
        person, rows = scan.combined(some, size, need, judge.feasible.start[people])
        return self._asked(judge, judge.ends(people[person], rows))

    def _all_but(self, judge: Judge, fronts: Fronts, people: Indices) -> Found:
        """What is left for some people of everything that helps, but for what does so alone."""
        rows = scan.everything(fronts, judge.feasible.start)[people]
        tried = judge.ends(people, rows)
        yes = tried.take(tried.beyond >= 0)
        return self._asked(judge, pared(yes.person, yes.rows, judge))

    def _asked(self, judge: Judge, tried: Ends) -> Found:
        """The candidates that get a yes; one that is tight is also tried a little larger."""
        yes = tried.take(tried.beyond >= 0)
        yes = yes.take(_promising(yes, judge))
        calm = judge.calm(yes.person, yes.rows)
        tight = yes.take(~calm)
        if self.parameters.slack and len(tight):
            own = judge.feasible.take(tight.person)
            more = 1 / (1 - self.parameters.slack)
            way = np.where(amounts(own, tight.rows), tight.rows - own.start, 0.0)
            larger = judge.ends(tight.person, tight.rows + way * (more - 1))
            larger = larger.take(larger.beyond >= 0)
            larger = larger.take(judge.calm(larger.person, larger.rows))
            return Found(yes.take(calm).plus(larger), tight)
        return Found(yes.take(calm), tight)

    # ---- chosen ---------------------------------------------------------------------------

    def _chosen(self, judge: Judge, found: Found, slots: int) -> tuple[Ends, Mask]:
        """The ends that people are offered, each one's in order, and which are tight."""
        few = found.calm.take(_picked(found.calm, judge, max(6, EASED * slots)))
        few = sizes.eased(judge, few)
        best = sizes.rounded(judge, few.take(_picked(few, judge, slots)))
        # What is left over holds the next easiest, however like the others they are.
        calm = _filled(best, best.plus(found.calm), slots)
        lacking = np.flatnonzero(_counts(calm, judge) % slots)  # who has none at all still hasn't
        if len(lacking):
            larger = sizes.stretched(judge, calm.take(np.isin(calm.person, lacking)))
            calm = _filled(calm, calm.plus(larger), slots)
        tight = found.tight.take(_counts(calm, judge)[found.tight.person] == 0).first()
        tight = tight.take(_picked(tight, judge, slots))
        ends = calm.plus(tight)
        is_tight = np.repeat([False, True], [len(calm), len(tight)])
        order = np.lexsort((ends.cost, ends.person))
        return ends.take(order), is_tight[order]

    # ---- laid -----------------------------------------------------------------------------

    def _laid(
        self,
        judge: Judge,
        ends: Ends,
        tight: Mask,
        lost: dict[int, str],
        question: Question,
        slots: int,
    ) -> list[list[Path]]:
        """Everybody's paths."""
        space, of = judge.space, self.parameters
        paths: list[list[Path]] = [[] for _ in range(len(judge.feasible))]
        own = judge.feasible.take(ends.person)
        if len(ends):
            trails, scores = laid(own, ends.rows, judge.scorer, of.step_size, of.max_steps)
            met = judge.scorer.met(np.array([after[-1] for after in scores]))
            for i, (rows, after) in enumerate(zip(trails, scores, strict=True)):
                if len(rows) > 1 and met[i]:  # a model may answer differently when asked again
                    paths[ends.person[i]].append(
                        Path(Outcome.REACHED, "meets the goal", rows, space.to_points(rows), after)
                    )
        for person, mine in enumerate(paths):
            why = lost.get(person, "there's no other route" if mine else NONE)
            start, score = judge.feasible.start[person], question.scores[person]
            none = standing(space, start, score, Outcome.UNREACHABLE, why)
            mine += [none] * (slots - len(mine))
        return paths


NONE = "no row was found that gets a yes and can be got to"


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
    keyed = np.column_stack([ends.person, np.packbits(sets, axis=1)])
    _, which = np.unique(keyed, axis=0, return_inverse=True)
    which = which.reshape(-1)
    order = np.lexsort((ends.cost, which))
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order)) - np.searchsorted(which[order], which[order])
    return rank


def _picked(ends: Ends, judge: Judge, count: int) -> Indices:
    """Up to so many of each person's ends that really differ."""
    own = judge.feasible.take(ends.person)
    sets = own.changes(ends.rows)
    moved = np.where(np.isnan(own.start), 1.0, ends.rows - own.start)
    picked: list[int] = []
    order = np.argsort(ends.person, kind="stable")
    bounds = np.searchsorted(ends.person[order], np.arange(len(judge.feasible) + 1))
    for low, high in zip(bounds[:-1], bounds[1:], strict=True):
        mine = order[low:high]
        chosen = choose(Options(ends.cost[mine], sets[mine], moved[mine]), count)
        picked += mine[chosen].tolist()
    return np.array(picked, dtype=np.intp)


def _counts(ends: Ends, judge: Judge) -> Indices:
    """(n,) how many ends each person has."""
    return np.bincount(ends.person, minlength=len(judge.feasible))


def _filled(ends: Ends, more: Ends, count: int) -> Ends:
    """Each person's ends, and the cheapest of `more`, which begins with them, up to so many.

    None of them costs less than the cheapest end.
    """
    least = np.full(int(more.person.max(initial=-1)) + 1, np.inf)
    np.minimum.at(least, ends.person, ends.cost)
    mine = np.arange(len(more)) < len(ends)
    every = more.take(mine | (more.cost >= least[more.person])).first()
    mine = np.arange(len(every)) < len(ends.first())
    order = np.lexsort((every.cost, ~mine, every.person))
    place = np.arange(len(order)) - np.searchsorted(every.person[order], every.person[order])
    return every.take(np.sort(order[place < count]))


def _short_of_two(ends: Ends, judge: Judge) -> Indices:
    """The people who don't have two ends each of which holds no other's set of features."""
    sets = judge.feasible.take(ends.person).changes(ends.rows)
    short = []
    for person in range(len(judge.feasible)):
        mine = np.unique(sets[ends.person == person], axis=0)
        holds = (mine[:, None] >= mine[None]).all(axis=2)  # each holds itself
        if (holds.sum(axis=1) == 1).sum() < 2:
            short.append(person)
    return np.array(short, dtype=np.intp)


def _enough_alone(ends: Ends, judge: Judge) -> Mask:
    """(n, features) which changes are enough by themselves."""
    changes = judge.feasible.take(ends.person).changes(ends.rows)
    alone = np.flatnonzero(changes.sum(axis=1) == 1)
    enough = np.zeros(judge.feasible.start.shape, dtype=bool)
    enough[ends.person[alone], changes[alone].argmax(axis=1)] = True
    return enough
