"""StEP with a guarantee for the reference rows, where each step of a person is paid for.

Each step asks the real positives for noisy directions; the clusters are the parts around centres
that are public or were found privately, so that one row has a say in one direction only. What else
a path needs (where the goal is met, whether a change can be taken back) is asked of the model about
the person's own rows, which costs nothing.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from stepladder.errors import BudgetError, ModelError, ParameterError, SchemaError
from stepladder.kernels.alpha import Unit
from stepladder.methods.asked import accepted, could_end, margins
from stepladder.methods.base import TOO_LATE, Answer, Question, ReferenceTable, standing
from stepladder.methods.pace import Pace, TimeUpError
from stepladder.methods.step import finish
from stepladder.methods.step.bought import Held, box, held, ranges
from stepladder.methods.step.clusters import Labels
from stepladder.methods.step.judge import calm
from stepladder.methods.step.mixed import climb, declared
from stepladder.methods.step.private import Private
from stepladder.methods.step.reference import Reference
from stepladder.methods.step.search import Trail
from stepladder.methods.steps import keeping, need_care
from stepladder.model.goal import Goal
from stepladder.model.scorer import Scorer, at_once
from stepladder.privacy.mechanism import bounded, noisy_directions
from stepladder.privacy.pay import PayPerDirection
from stepladder.result.path import Outcome, Path
from stepladder.table.feasible import Feasible
from stepladder.table.space import Floats, Mask, Space

LOUD = 2.0
"""How many times longer than noise alone a direction has to be to be followed, and how many
standard deviations of it a column has to show to be moved at all."""

STRETCHES = 8
"""How many times a step is lengthened, where a single one is shown, until it changes the row."""


@dataclass(frozen=True)
class PerDirection(Private):
    """The planner for which each step is a query: directions are followed while they're loud.

    A path whose direction drowns in the noise, or turns back, or can't be paid for any more, goes
    on by what the model says of the person's own rows alone. Where a question is about the next
    step only, that step is lengthened until it changes the row.
    """

    USUAL_ALPHA: ClassVar[Unit] = Unit()
    """With noise on each direction all positives pull alike: that takes the least noise."""

    pays_per_answer: ClassVar[bool] = True

    pay: PayPerDirection

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, usual in (("cost", "effort"), ("holds", None)):
            if (given := getattr(self.parameters, name)) != usual:
                raise ParameterError(
                    f"{name}={given!r} can't be used with PayPerDirection, which follows noisy "
                    f"directions and has no ends to choose from. Leave {name} out, or use "
                    "sl.PayOnce(budget)."
                )
        for name, usual in (("clusterer", None), ("distance", "euclidean")):
            if (given := getattr(self.parameters, name)) != usual:
                raise ParameterError(
                    f"{name}={given!r} can't be used with PayPerDirection: clusters lie around "
                    "private or public centres, and what one row can add is bounded in plain "
                    f"distance. Leave {name} out, or use sl.PayOnce(budget)."
                )

    @property
    def settings(self) -> dict[str, Any]:
        public = {} if self.pay.centres is None else {"clusterer": "public centres"}
        return {**public, "privacy": self.pay.settings, "slack": self.parameters.slack}

    def learn(self, table: ReferenceTable) -> Reference:
        """Keep the positives where only noisy directions come out."""
        _refuse_functions(table.space)
        of, positives = self.parameters, table.values[table.positive]
        kept = held(self.pay, positives, table.scorer, of.paths, of.random_state)
        return replace(self.reference(table.values[:0], table.space), held=kept)

    def reference(self, found: Floats, space: Space) -> Reference:
        return Reference(
            values=found,
            found=found,
            points=space.to_points(found),
            clusters=np.zeros(len(found), dtype=np.intp),
            slots=self.parameters.paths,
            columns=space.changeable,
            norm=None,
            ranges=ranges(space),
        )

    def _multiplier(self, reference: Reference) -> float:
        return _held(reference).multiplier

    def answer(self, question: Question, reference: Reference) -> Answer:
        """The paths of n people, one after the other."""
        paths = []
        for i, score in enumerate(question.scores):
            person = question.feasible.take(slice(i, i + 1))
            paths.append(self._paths_of(person, float(score), question, reference))
            question.pace.reached(i + 1)
        return Answer(paths)

    def _paths_of(
        self, person: Feasible, score: float, question: Question, reference: Reference
    ) -> list[Path]:
        """One person's k paths, all advancing together: a step of all of them is one query."""
        k, scorer, pace = reference.slots, question.scorer, question.pace
        if pace.expired:
            return [standing(scorer.space, person.start[0], score, Outcome.TIMED_OUT, TOO_LATE)] * k
        each = person.take(np.zeros(k, dtype=np.intp))
        try:
            trail, alone = self._trail(each, score, question, reference)
        except BudgetError:
            if not pace.releases:
                raise
            reason = "the privacy budget is used up, so no direction was asked for"
            return [standing(scorer.space, person.start[0], score, Outcome.STALLED, reason)] * k
        with suppress(TimeUpError):
            _finish(trail, each, reference, scorer, self.parameters.step_size)
        tight = np.zeros(k, dtype=bool)
        with suppress(TimeUpError):
            ends = np.array([rows[-1] for rows in trail.values])
            tight = trail.reached & ~calm(each, ends, self.parameters.slack, scorer)
        paths = []
        for c, (values, after) in enumerate(zip(trail.values, trail.scores, strict=True)):
            outcome, reason = self._ending(trail, c, bool(alone[c]), pace.expired, scorer.goal)
            points = scorer.space.to_points(values)
            paths.append(Path(outcome, reason, values, points, after, tight=bool(tight[c])))
        return paths

    def _trail(
        self, each: Feasible, score: float, question: Question, reference: Reference
    ) -> tuple[Trail, Mask]:
        """Where k paths of one person lead, and which went by the model alone in the end."""
        scorer, pace = question.scorer, question.pace
        k, start = len(each), scorer.space.to_points(each.start)
        trail = Trail.begun(start)
        enquiry = Enquiry(self, _held(reference), each.take(slice(0, 1)), scorer)
        took, rows, scored = [np.arange(k)], [each.start], [np.full(k, score)]
        shown, aims = each.start.copy(), np.full_like(start, np.nan)
        toward = np.zeros((k, int(reference.columns.sum())))
        with suppress(TimeUpError):
            for step in range(1 if question.next_only else self.parameters.max_steps):
                going = ~trail.reached & ~trail.stalled
                if not going.any() or pace.expired:
                    break
                asking = going & np.isnan(aims).any(axis=1)
                if asking.any():
                    toward, lost = self._asked(
                        enquiry, toward, trail, reference.columns, pace, first=step == 0
                    )
                    self._aim(aims, asking & lost, trail, each, scorer, pace)
                going &= ~trail.stalled
                trail.before[going] = trail.latent[going]
                stretches = STRETCHES if question.next_only else 1
                self._move(trail, going, toward, aims, each, reference, stretches)
                paths = np.flatnonzero(going)
                own = each.take(paths)
                seen = own.repair(own.snap(trail.latent[paths]))
                kept = own.fulfils(seen)
                seen = np.where(kept[:, None], seen, shown[paths])
                shown[paths] = seen
                after = scorer.score(seen)
                took.append(paths)
                rows.append(seen)
                scored.append(after)
                trail.reached[paths] = scorer.met(after) & kept & could_end(own, seen)
                there = going & ~trail.reached & (trail.latent == aims).all(axis=1)
                aims[there] = np.nan  # a row refused that was accepted before: ask again
        trail.record(took, rows, scored)
        return trail, np.asarray(~np.isnan(aims).any(axis=1))

    @staticmethod
    def _asked(
        enquiry: Enquiry, before: Floats, trail: Trail, columns: Mask, pace: Pace, *, first: bool
    ) -> tuple[Floats, Mask]:
        """New directions (k, m), and which of the paths have none to follow (any more)."""
        try:
            latest = enquiry.directions(trail.latent[:, columns], pace)
        except BudgetError:
            if first:
                raise
            return before, np.ones(len(before), dtype=bool)  # what was paid for isn't thrown away
        turned = (latest * before).sum(axis=1) < 0
        heard = enquiry.heard(latest)
        return heard, np.asarray(enquiry.drowned(latest) | turned | ~heard.any(axis=1))

    def _aim(
        self,
        aims: Floats,
        lost: Mask,
        trail: Trail,
        each: Feasible,
        scorer: Scorer,
        pace: Pace,
    ) -> None:
        """Give lost paths a row to go to that the model accepts, if one is found. In place."""
        paths = np.flatnonzero(lost)
        if not len(paths):
            return
        space, tried = scorer.space, declared(scorer.space, ranges(scorer.space))
        used = np.zeros(len(space.schema), dtype=bool)
        for path in paths:
            own = each.take(slice(path, path + 1))
            here = own.repair(own.snap(trail.latent[[path]]))
            # First by features that no path before has used, so that paths differ.
            for fixed in (used, np.zeros_like(used)) if used.any() else (used,):
                row, margin = here.copy(), margins(own, here, scorer)
                free = [(f, value) for f, value in tried if not fixed[f]]
                climb(row, margin, own, free, scorer, pace)
                if margin[0] >= 0:
                    aims[path] = space.to_points(row)[0]
                    used |= (row != here)[0]
                    break
        trail.stalled |= lost & np.isnan(aims).any(axis=1)

    def _move(
        self,
        trail: Trail,
        going: Mask,
        toward: Floats,
        aims: Floats,
        each: Feasible,
        reference: Reference,
        stretches: int,
    ) -> None:
        """A step along its direction, or to its aim, for each path that is going. In place.

        It's made up to `stretches` times as long, until it changes something that shows.
        """
        step_size = self.parameters.step_size
        aimed: Mask = np.asarray(~np.isnan(aims).any(axis=1))
        stretch, start = reference.stretch(each), each.space.to_points(each.start)
        low, high = box(each.space)
        for path in np.flatnonzero(going):
            here = trail.latent[path]
            gap = np.zeros_like(here)
            gap[reference.columns] = toward[path]
            gap = aims[path] - here if aimed[path] else gap
            length = float(np.linalg.norm(gap / stretch[path]))
            if aimed[path] and length <= step_size:
                trail.latent[path] = aims[path]
                continue
            own = each.take(slice(path, path + 1))
            for times in range(1, 1 + stretches):
                ahead = here + gap * (times * step_size / length)
                if not aimed[path]:  # noise has no business outside what is declared
                    ahead = np.clip(
                        ahead, np.minimum(low, start[path]), np.maximum(high, start[path])
                    )
                trail.latent[path] = np.clip(ahead, *(side[0] for side in own.box))
                if own.changes(own.snap(trail.latent[[path]])).any():
                    break

    def _ending(
        self, trail: Trail, path: int, alone: bool, late: bool, goal: Goal
    ) -> tuple[Outcome, str]:
        """How a path ended, and why."""
        steps = len(trail.scores[path]) - 1
        score = goal.shown(trail.scores[path][-1])
        if trail.reached[path]:
            by = ", led by the model alone from where directions gave out"
            return Outcome.REACHED, "meets the goal" + (by if alone else "")
        if late:
            return Outcome.TIMED_OUT, f"the time budget ended after {steps} steps"
        if trail.stalled[path]:
            return Outcome.STALLED, (
                f"the path ends at a score of {score}: directions gave out, and no row the "
                "model accepts was found from there"
            )
        return Outcome.STEP_LIMIT, f"the score is {score} after {steps} steps, the most allowed"


class Enquiry:
    """What one person's paths may ask of the positives: noisy directions, each paid for."""

    def __init__(self, planner: PerDirection, held: Held, person: Feasible, scorer: Scorer) -> None:
        self.planner, self.held, self.person, self.scorer = planner, held, person, scorer
        self.budget, self.alpha = planner.pay.budget, planner.parameters.alpha
        self.bound = bounded(self.alpha)

    def directions(self, points: Floats, pace: Pace) -> Floats:
        """One noisy direction from each of the k points to its own cluster, once it's paid."""
        self.budget.spend(self.held.multiplier, "directions")
        pace.releases += 1
        return noisy_directions(
            points,
            *self.positives,
            self.alpha,
            self.held.multiplier,
            neighbours=self.budget.neighbours,
        )

    @cached_property
    def positives(self) -> tuple[Floats, Labels]:
        """The positives as near as this person could come to them, and their clusters.

        Those that don't meet the goal there are left out; so are those that the model can't judge,
        each by itself, since an error would tell of them.
        """
        held, space = self.held, self.scorer.space
        rows = self.person.repair(held.values)
        aimed_at = self._meet_goal(rows)
        return space.to_points(rows[aimed_at])[:, space.changeable], held.clusters[aimed_at]

    def _meet_goal(self, rows: Floats) -> Mask:
        # All at once: if the time budget could end here, whether it did would tell how many there
        # are. And only once they're paid for, as everything else that is asked about them.
        scorer = self.scorer.in_parts(at_once)
        try:
            return accepted(self.person.take(np.zeros(len(rows), dtype=np.intp)), rows, scorer)
        except ModelError:
            scorer.score(self.person.start)  # raises if the model is down, and says so of this row
        judged = np.zeros(len(rows), dtype=bool)
        for i in range(len(rows)):
            with suppress(ModelError):
                judged[i] = accepted(self.person, rows[i : i + 1], scorer)[0]
        return judged

    @property
    def noise(self) -> float:
        """The standard deviation of the noise on each column."""
        return self.held.multiplier * self.bound * self.budget.neighbours.moves

    def drowned(self, directions: Floats) -> Mask:
        """Which directions (k, m) aren't much longer than noise alone would be."""
        usual = self.noise * np.sqrt(directions.shape[1])
        return np.asarray(np.linalg.norm(directions, axis=1) < LOUD * usual)

    def heard(self, directions: Floats) -> Floats:
        """The same less the columns that don't stand out from the noise."""
        return np.where(np.abs(directions) > LOUD * self.noise, directions, 0.0)


def _finish(
    trail: Trail, feasible: Feasible, reference: Reference, scorer: Scorer, step_size: float
) -> None:
    """Pare down the paths that reached the goal, and lay all of them to keep the rules. In place.

    `feasible` has the set of each path.
    """
    if need_care(feasible):
        _lay_the_rest(trail, feasible, scorer)
    done = np.flatnonzero(trail.reached)
    if not len(done):
        return
    own, trails = feasible.take(done), [trail.values[path].copy() for path in done]
    ends = finish.shortened(trail, np.array([rows[-1] for rows in trails]), done, feasible, scorer)
    ends = finish.taken_back(ends, own, reference.weights, scorer)
    for rows, end in zip(trails, ends, strict=True):
        rows[-1] = end
    trails = finish.laid(trails, ends, scorer.space, step_size)
    if need_care(own):
        trails = keeping(own, trails)
        gone = np.array([len(rows) < 2 for rows in trails])
        trail.reached[done[gone]], trail.stalled[done[gone]] = False, True
        for path in done[gone]:
            trail.values[path], trail.scores[path] = trail.values[path][:1], trail.scores[path][:1]
        done, trails = done[~gone], [rows for rows in trails if len(rows) > 1]
    if trails:
        finish.replay(trail, done, trails, feasible, scorer)


def _lay_the_rest(trail: Trail, feasible: Feasible, scorer: Scorer) -> None:
    """Lay the paths that fell short of the goal as steps that keep the rules, too. In place."""
    short = np.flatnonzero(~trail.reached & (trail.steps > 0))
    if not len(short):
        return
    trails = keeping(feasible.take(short), [trail.values[path] for path in short])
    for path, rows in zip(short, trails, strict=True):
        trail.values[path], trail.scores[path] = rows, trail.scores[path][: len(rows)]
    moved = np.array([len(rows) > 1 for rows in trails])
    rest = [rows for rows in trails if len(rows) > 1]
    if rest:
        finish.replay(trail, short[moved], rest, feasible, scorer)


def _refuse_functions(space: Space) -> None:
    """A function would be shown real positives; and a row could change what it says of others."""
    for feature in space.schema.derived:
        if feature.parsed is None:
            raise SchemaError(
                f"{feature.name!r} is worked out by a function, which PayPerDirection would have "
                "to show reference rows to. Write it as a formula in text, or use "
                "sl.PayOnce(budget)."
            )


def _held(reference: Reference) -> Held:
    """The positives that a reference for this planner keeps."""
    assert reference.held is not None
    return reference.held
