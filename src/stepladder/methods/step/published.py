"""StEP exactly as its authors ran it.

Hamer, Perello, Valladares, Viswanathan and Zick, "Simple Steps to Success: A Method for
Step-Based Counterfactual Explanations", TMLR 2024, with the choices their text leaves open taken
from their experiments. Nothing is projected, accumulated or checked: points aren't rounded, bounds
don't hold, and a path may end anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar
from zlib import crc32

import numpy as np

from stepladder.kernels.direction import cluster_direction
from stepladder.methods.base import Answer, Question
from stepladder.methods.pace import TimeUpError
from stepladder.methods.step.clusters import Labels
from stepladder.methods.step.planner import Planner
from stepladder.methods.step.reference import Reference
from stepladder.model.goal import Goal
from stepladder.result.path import Outcome, Path
from stepladder.table.feature import Categorical, Change, Numeric, Ordinal
from stepladder.table.space import Floats, Mask, Space


@dataclass(frozen=True, eq=False)
class Rules:
    """What the published method does to a move, column by column."""

    space: Space

    @cached_property
    def continuous(self) -> Mask:
        """The columns that noise falls on."""
        return self.space.columns_of(lambda f: isinstance(f, Numeric) and f.chosen)

    @cached_property
    def ordinal(self) -> Mask:
        return self.space.columns_of(lambda f: isinstance(f, Ordinal))

    @cached_property
    def rising(self) -> Mask:
        return self.space.columns_of(lambda f: f.change is Change.INCREASE)

    @cached_property
    def falling(self) -> Mask:
        return self.space.columns_of(lambda f: f.change is Change.DECREASE)

    @cached_property
    def groups(self) -> list[slice]:
        """The one-hot groups of two columns or more that may change."""
        groups = [
            self.space.slices[f.name]
            for f in self.space.schema.features
            if isinstance(f, Categorical) and f.chosen
        ]
        return [where for where in groups if where.stop - where.start > 1]

    def kept(self, moves: Floats) -> Floats:
        """Moves (n, columns) in whole levels, and none the wrong way."""
        moves = moves.copy()
        level = 1.0 / self.space.scale[self.ordinal]
        moves[:, self.ordinal] = np.rint(moves[:, self.ordinal] / level) * level
        moves[:, self.rising] = np.maximum(moves[:, self.rising], 0.0)
        moves[:, self.falling] = np.minimum(moves[:, self.falling], 0.0)
        return moves

    def disturbed(self, moves: Floats, noise: float, draws: Floats) -> Floats:
        """Moves as a person really makes them: β of noise, the length over `continuous` kept."""
        lengths = np.linalg.norm(moves[:, self.continuous], axis=1, keepdims=True)
        drawn = draws * (noise * lengths / np.linalg.norm(draws, axis=1, keepdims=True))
        sums = moves + drawn
        sizes = np.linalg.norm(sums, axis=1, keepdims=True)
        sums *= np.divide(lengths, sizes, out=np.zeros_like(sizes), where=sizes > 0)
        return np.where(self.continuous, sums, moves)

    def snapped(self, points: Floats) -> Floats:
        """Points with a single level set in each one-hot group of two columns or more."""
        points = points.copy()
        for where in self.groups:
            chosen = points[:, where].argmax(axis=1)
            points[:, where] = 0.0
            points[np.arange(len(points)), where.start + chosen] = 1.0
        return points


@dataclass(frozen=True)
class Published(Planner):
    """The published planner: a direction, a step of fixed length, a look, and so on."""

    name: ClassVar[str] = "StEP.published"
    honours_rules: ClassVar[bool] = False

    noise: float

    @property
    def settings(self) -> dict[str, Any]:
        return {"noise": self.noise}

    def reference(self, found: Floats, space: Space) -> Reference:
        points = space.to_points(found)
        return self._clustered(found, found, points, points, space)

    def answer(self, question: Question, reference: Reference) -> Answer:
        """The paths of n people, all advancing together; of their rules only the changes count."""
        starts, scores = question.feasible.start, question.scores
        scorer, pace = question.scorer, question.pace
        space, rules = scorer.space, Rules(scorer.space)
        k, count = reference.slots, len(starts) * reference.slots
        going = np.arange(count).reshape(-1, k).T.ravel()  # paths to one cluster stand together
        points = space.to_points(starts)[going // k]
        took, visited, scored = [going], [points], [scores[going // k]]
        timed_out = False
        random = self._generators(starts, question.twins)
        for _ in range(self.parameters.max_steps):
            timed_out = pace.expired
            if timed_out or not len(going):
                break
            moves = rules.kept(self._moves(points, going % k, reference))
            if self.noise:
                drawn = np.zeros((len(starts), k, space.width))
                for person in np.unique(going // k):
                    drawn[person] = random[person].standard_normal((k, space.width))
                moves = rules.disturbed(moves, self.noise, drawn[going // k, going % k])
            ahead = rules.snapped(points + moves)
            try:
                score = scorer.score_points(ahead)
            except TimeUpError:
                timed_out = True
                break
            points = ahead
            took.append(going)
            visited.append(points)
            scored.append(score)
            on = ~scorer.met(score)
            going, points = going[on], points[on]
            pace.reached(len(starts) - len(np.unique(going // k)))
        path = np.concatenate(took)
        order = path.argsort(kind="stable")  # by path, and by step within a path
        rows, row_scores = np.concatenate(visited)[order], np.concatenate(scored)[order]
        values = space.to_values(rows, tidy=not scorer.takes_points)
        origin = starts[path[order] // k]  # what hasn't moved is shown as it was
        values = np.where(np.abs(values - origin) <= space.dust, origin, values)
        unfinished = np.isin(np.arange(count), going)
        ends, paths = np.cumsum(np.bincount(path)), []
        for start, end, falls_short in zip([0, *ends[:-1]], ends, unfinished, strict=True):
            part = slice(start, end)
            outcome, reason = self._ending(
                rows[part], row_scores[part], falls_short, timed_out, scorer.goal
            )
            paths.append(Path(outcome, reason, values[part], rows[part], row_scores[part]))
        return Answer([paths[i : i + k] for i in range(0, count, k)])

    def _generators(self, starts: Floats, twins: Labels) -> list[np.random.Generator]:
        """Where each person's noise comes from, whoever else with another row is asked about."""
        if not self.noise:
            return []
        rows = [crc32(start.tobytes()) for start in starts]
        return [
            np.random.default_rng((self.parameters.random_state, row, twin))
            for row, twin in zip(rows, twins.tolist(), strict=True)
        ]

    def _moves(self, points: Floats, cluster: Labels, reference: Reference) -> Floats:
        """Equation 1 (t, columns) toward each point's cluster, rescaled to the step size.

        `cluster` (t,) is in order.
        """
        here = points[:, reference.columns]
        toward, start = np.empty_like(here), 0
        for positives, size in zip(reference.prepared, np.bincount(cluster), strict=False):
            own = slice(start, start + size)
            toward[own] = cluster_direction(here[own], positives, self.parameters.alpha)
            start += size
        sizes = np.linalg.norm(toward, axis=1, keepdims=True)
        toward *= np.divide(
            self.parameters.step_size, sizes, out=np.zeros_like(sizes), where=sizes > 0
        )
        moves = np.zeros_like(points)
        moves[:, reference.columns] = toward
        return moves

    def _ending(
        self, points: Floats, scores: Floats, falls_short: bool, timed_out: bool, goal: Goal
    ) -> tuple[Outcome, str]:
        steps = len(scores) - 1
        if not falls_short:
            return Outcome.REACHED, "meets the goal"
        if timed_out:
            return Outcome.TIMED_OUT, f"the time budget ended after {steps} steps"
        if (points[-1] == points[-2]).all():
            return Outcome.STALLED, "no allowed move is left in the cluster's direction"
        return (
            Outcome.STEP_LIMIT,
            f"the score is {goal.shown(scores[-1])} after {steps} steps, the most allowed",
        )
