"""MIM, turned into recourse the naive way: toward the accepted, away from the rejected.

Sliwinski, Strobel and Zick, "Axiomatic Characterization of Data-Driven Influence Measures for
Classification", AAAI 2019, measure what moved a decision at x by

    d(x) = Σ (x' - x) · α(‖x' - x‖) · (+1 if x' is decided as x is, -1 if not)

over all rows x'. Flipped, with +1 for rows that meet the goal and -1 for all others, it looks like
a direction to follow. It isn't: nearby rejected rows push harder than accepted ones further away
pull, and the sum may point away from every accepted row. It's here to be compared with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stepladder.checks import finite, whole_number
from stepladder.errors import ParameterError
from stepladder.kernels.alpha import Alpha, Volcano
from stepladder.kernels.direction import Positives, cluster_direction, prepare
from stepladder.methods.base import Answer, Method, Question, ReferenceTable
from stepladder.methods.pace import TimeUpError
from stepladder.methods.step.published import Rules
from stepladder.methods.trails import stepped
from stepladder.result.path import Outcome, Path
from stepladder.table.feasible import Feasible
from stepladder.table.space import Floats


class MIM(Method):
    """The monotone influence measure (Sliwinski et al., AAAI 2019), followed step by step.

    paths         1: there is a single direction
    step_size     the length of a step, in standard deviations
    max_steps     after how many steps a path gives up
    alpha         how a row's weight falls with its distance
    random_state  unused, since nothing is drawn; taken so that all methods can be made alike

    Each step is one of the published StEP's (whole levels, one way only, one category), and then
    clipped to what the person could become; the rows shown are rounded to valid ones. A path ends
    before the first step that breaks a rule all the same.
    """

    def __init__(
        self,
        paths: int = 1,
        step_size: float = 1.0,
        max_steps: int = 50,
        alpha: Alpha | None = None,
        random_state: int = 0,
    ) -> None:
        if whole_number("paths", paths, 1) != 1:
            raise ParameterError(
                f"MIM has one direction, so paths must be 1; got {paths!r}. "
                "For several paths use a method that has them, such as StEP."
            )
        self.paths = 1
        self.step_size = finite("step_size", step_size, above=0.0)
        self.max_steps = whole_number("max_steps", max_steps, 1)
        self.alpha = Volcano(degree=2, cutoff=0.5) if alpha is None else alpha
        if not isinstance(self.alpha, Alpha):
            raise ParameterError(
                f"alpha must be a Volcano, Sloped, Power or Unit; got {alpha!r}. "
                "For example: alpha=sl.Volcano(degree=2, cutoff=0.5)."
            )
        self.random_state = whole_number("random_state", random_state, 0)

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "method": "MIM",
            "paths": self.paths,
            "step_size": self.step_size,
            "max_steps": self.max_steps,
            "alpha": repr(self.alpha),
            "random_state": self.random_state,
        }

    def learn(self, table: ReferenceTable) -> None:
        points = table.space.to_points(table.values)[:, table.space.changeable]
        self.accepted_: Positives = prepare(points[table.accepted])
        self.rejected_: Positives = prepare(points[~table.accepted])

    def directions(self, points: Floats) -> Floats:
        """d at points (n, columns): (n, columns), zero in the columns that never change."""
        columns = self.space_.changeable
        here = np.ascontiguousarray(points[:, columns])
        toward = np.zeros_like(points)
        toward[:, columns] = cluster_direction(here, self.accepted_, self.alpha)
        toward[:, columns] -= cluster_direction(here, self.rejected_, self.alpha)
        return toward

    def answer(self, question: Question) -> Answer:
        feasible, scores, scorer = question.feasible, question.scores, question.scorer
        space, pace, rules = self.space_, question.pace, Rules(self.space_)
        going, points = np.arange(len(feasible)), space.to_points(feasible.start)
        shown = [[row] for row in feasible.start]
        scored = [[score] for score in scores]
        endings = [(Outcome.STEP_LIMIT, "")] * len(feasible)
        for _ in range(self.max_steps):
            if pace.expired or not len(going):
                break
            people = feasible.take(going)
            after = rules.snapped(points + rules.kept(self._moves(points)))
            after = np.clip(after, *people.box)
            rows = people.snap(after)
            kept = people.fulfils(rows)
            for i in going[~kept]:
                endings[i] = Outcome.STALLED, "the next step would break a rule"
            going, after, rows, people = (
                going[kept],
                after[kept],
                rows[kept],
                people.take(np.flatnonzero(kept)),
            )
            try:
                score = scorer.score(rows)
            except TimeUpError:
                break
            met = scorer.met(score) & people.passes(rows)
            stuck = (after == points[kept]).all(axis=1)
            for i, row, value in zip(going, rows, score, strict=True):
                shown[i].append(row)
                scored[i].append(value)
            for i in going[met]:
                endings[i] = Outcome.REACHED, "meets the goal"
            for i in going[stuck & ~met]:
                endings[i] = Outcome.STALLED, "no allowed move is left in the direction"
            going, points = going[~met & ~stuck], after[~met & ~stuck]
            pace.reached(len(feasible) - len(going))
        for i in going:
            steps = len(shown[i]) - 1
            endings[i] = (
                (Outcome.TIMED_OUT, f"the time budget ended after {steps} steps")
                if steps < self.max_steps
                else (
                    Outcome.STEP_LIMIT,
                    f"the score is {scorer.goal.shown(scored[i][-1])} after {steps} steps, the "
                    "most allowed",
                )
            )
        found = [
            self._checked(feasible.take(slice(i, i + 1)), *ending, np.array(rows), np.array(after))
            for i, (ending, rows, after) in enumerate(zip(endings, shown, scored, strict=True))
        ]
        return Answer([[path] for path, _ in found], sum(broke for _, broke in found))

    def _checked(
        self, person: Feasible, outcome: Outcome, reason: str, rows: Floats, scores: Floats
    ) -> tuple[Path, bool]:
        """A path through rows (s + 1, features), and whether it had to be cut.

        Where a row or a step of it breaks a rule, it ends before.
        """
        laid, broke = rows[1:], list[str]()
        while len(rows) > 1:
            laid, broken = stepped(person, rows[1:])
            if not broken:
                break
            rows, laid, broke = rows[:-1], rows[1:-1], broken
        if broke:
            outcome = Outcome.STALLED
            reason = f"the next step would break the rules on {', '.join(broke)}"
        after = scores[len(rows) - len(laid) : len(rows)]
        rows = np.concatenate([person.start, laid])
        points = self.space_.to_points(rows)
        path = Path(outcome, reason, rows, points, np.concatenate([scores[:1], after]))
        return path, bool(broke)

    def _moves(self, points: Floats) -> Floats:
        """The directions, rescaled to the step size."""
        toward = self.directions(points)
        sizes = np.linalg.norm(toward, axis=1, keepdims=True)
        toward *= np.divide(self.step_size, sizes, out=np.zeros_like(sizes), where=sizes > 0)
        return toward
