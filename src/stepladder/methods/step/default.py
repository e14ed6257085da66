"""The default method: advice, in four stages.

1. Candidates (`gathered.py`): single changes, pairs and triples of them (`scan.py`); for people
   with too few, the ends that directions lead to (`led.py`), which make it complete.
2. Asked (`judge.py`): each of the model, of every rule, short by the slack, and of successors.
3. Chosen (`offers.py`): a few that really differ, the easiest first (`chosen.py`), with amounts as
   small as will do, and round (`sizes.py`).
4. Laid (`laid.py`): as steps that keep the rules.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stepladder.methods.base import TOO_LATE, Answer, Question, ReferenceTable, standing
from stepladder.methods.pace import TimeUpError
from stepladder.methods.parts import ONE
from stepladder.methods.step import scan
from stepladder.methods.step.blame import blame
from stepladder.methods.step.chosen import picked
from stepladder.methods.step.cost import Cost
from stepladder.methods.step.gathered import Gathering
from stepladder.methods.step.judge import Judge
from stepladder.methods.step.laid import laid
from stepladder.methods.step.led import to_clusters
from stepladder.methods.step.mixed import declared
from stepladder.methods.step.offers import Offers, offered
from stepladder.methods.step.planner import Planner
from stepladder.methods.step.reference import Advice, Reference
from stepladder.methods.step.scan import Scanned
from stepladder.methods.step.search import Search
from stepladder.methods.steps import keeping
from stepladder.model.scorer import Scorer
from stepladder.result.path import Outcome, Path
from stepladder.table.effort import Effort
from stepladder.table.space import Floats, Space

Indices = NDArray[np.intp]

CLIP = 3.0
"""How many standard deviations an outlier counts when clusters are formed."""


@dataclass(frozen=True)
class Default(Planner):
    """The default planner: candidates, asked, chosen, laid."""

    takes_gaps: ClassVar[bool] = True

    @property
    def settings(self) -> dict[str, Any]:
        return {"privacy": None, **self.parameters.advice}

    def learn(self, table: ReferenceTable) -> Reference:
        reference = super().learn(table)
        return self.advised(reference, table.values, table.effort)

    def advised(self, reference: Reference, rows: Floats, effort: Effort) -> Reference:
        """The reference with what is scanned, from rows (n, features), and what changes cost."""
        space, cost = effort.space, Cost(self.parameters.cost, effort, reference.weights)
        first, more = (
            Scanned.of(space, rows, count, core=core)
            for count, core in ((scan.VALUES, True), (scan.MORE, False))
        )
        if reference.ranges is not None:
            more = more.plus(declared(space, reference.ranges))
        learned = replace(reference, advice=Advice(first, more, cost))
        # Worked out here, so that no question changes what was learned.
        _ = learned.members, learned.strays, learned.weights, space.requirements.features
        return learned

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
            for at in range(0, len(people), ONE):
                if pace.expired:
                    break
                paths += self._paths(question.take(people[at : at + ONE]), reference)
                pace.reached(len(paths))
        for i in range(len(paths), count):
            start, score = question.feasible.start[i], question.scores[i]
            late = standing(question.scorer.space, start, score, Outcome.TIMED_OUT, TOO_LATE)
            paths.append([late] * reference.slots)
        return Answer(paths)

    def _paths(self, question: Question, reference: Reference) -> list[list[Path]]:
        of, advice = self.parameters, reference.advice
        assert advice is not None
        scorer, asked = question.scorer, replace(question, scorer=question.scorer.remembering())
        judge = Judge(
            asked.feasible, asked.scorer, advice.cost, of.slack, of.holds, asked.successors
        )
        gathering = Gathering(judge, asked, reference, self._search)
        try:
            offers = offered(judge, gathering.run(), reference.slots)
            paths = self._laid(judge, offers, scorer)
            without = np.flatnonzero([not mine for mine in paths])
            reasons = blame(without, asked.feasible, reference, asked.scorer)
        except TimeUpError:
            return self._in_time(gathering, reference.slots)
        for person, mine in enumerate(paths):
            why = reasons.get(person, "there's no other route")
            start, score = question.feasible.start[person], question.scores[person]
            none = standing(judge.space, start, score, Outcome.UNREACHABLE, why)
            paths[person] = mine + [none] * (reference.slots - len(mine))
        return paths

    def _in_time(self, gathering: Gathering, slots: int) -> list[list[Path]]:
        """The paths of n people by what was found when time was up: each is one step."""
        judge, question = gathering.judge, gathering.question
        ends, goal = gathering.found.good, judge.scorer.goal
        ends = ends.take(picked(ends, judge, slots))
        own = judge.feasible.take(ends.person)
        trails = [np.stack([start, end]) for start, end in zip(own.start, ends.rows, strict=True)]
        paths: list[list[Path]] = [[] for _ in range(len(judge.feasible))]
        for i, rows in enumerate(keeping(own, trails) if trails else ()):
            if len(rows) == 2 and not goal.is_range:  # else there's something left to ask
                person = ends.person[i]
                scores = np.array([question.scores[person], goal.threshold + ends.beyond[i]])
                points = judge.space.to_points(rows)
                path = Path(Outcome.REACHED, "meets the goal", rows, points, scores)
                paths[person].append(path)
        for person, mine in enumerate(paths):
            start, score = judge.feasible.start[person], question.scores[person]
            why = "the time budget ended before another route was found" if mine else TOO_LATE
            late = standing(judge.space, start, score, Outcome.TIMED_OUT, why)
            paths[person] = mine + [late] * (slots - len(mine))
        return paths

    def to_clusters(self, question: Question, reference: Reference) -> list[list[Path]]:
        """The paths of n people to the clusters as directions lead there, before any choice."""
        found, k = to_clusters(question, reference, self._search), reference.slots
        trail = found.trail
        some = np.asarray(found.targets.valid.any(axis=1))
        paths = [
            Path(
                Outcome.REACHED if some[path] else Outcome.UNREACHABLE,
                "",
                rows,
                question.scorer.space.to_points(rows),
                scores,
            )
            for path, (rows, scores) in enumerate(zip(trail.values, trail.scores, strict=True))
        ]
        return [paths[at : at + k] for at in range(0, len(paths), k)]

    @property
    def _search(self) -> Search:
        of = self.parameters
        return Search(of.alpha, of.step_size, of.max_steps)

    def _laid(self, judge: Judge, offers: Offers, scorer: Scorer) -> list[list[Path]]:
        """The paths of n people to what they're offered, the easiest first.

        `scorer` remembers nothing: the model confirms every row that is returned.
        """
        ends, of = offers.ends, self.parameters
        paths: list[list[Path]] = [[] for _ in range(len(judge.feasible))]
        if not len(ends):
            return paths
        own = judge.feasible.take(ends.person)
        trails, scores = laid(own, ends.rows, scorer, of.step_size, of.max_steps)
        met = scorer.met(np.array([after[-1] for after in scores]))
        for i, (rows, after) in enumerate(zip(trails, scores, strict=True)):
            if len(rows) < 2 or not met[i]:  # a model may answer differently when asked again
                continue
            outcome, reason = Outcome.REACHED, "meets the goal"
            if offers.unsure[i]:
                outcome = Outcome.UNSURE
                reason = f"nothing was found that holds with a probability of {of.holds:g}"
            points = judge.space.to_points(rows)
            path = Path(outcome, reason, rows, points, after, tight=bool(offers.tight[i]))
            paths[ends.person[i]].append(path)
        return paths
