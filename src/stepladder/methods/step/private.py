"""StEP with a guarantee for the reference rows: what is bought, and how people walk on it.

Paid once, the positives are replaced by made-up ones, and the default method runs on those. Paid
per direction, each step of a person asks the real positives for noisy directions; the clusters are
the parts around centres that are public or were found privately, so that one row has a say in one
direction only. What else a path needs (where the goal is met, whether a change can be taken back)
is asked of the model about the person's own rows, which costs nothing.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path as File
from typing import Any
from uuid import uuid4

import numpy as np

from stepladder.errors import (
    BudgetError,
    ModelError,
    ParameterError,
    ResultError,
    StepladderError,
)
from stepladder.kernels.alpha import Alpha
from stepladder.methods.base import TOO_LATE, Question, standing
from stepladder.methods.pace import Pace, TimeUpError
from stepladder.methods.step.clusters import Labels, partition
from stepladder.methods.step.default import Default, Options
from stepladder.methods.step.mixed import climb, declared, margins_of
from stepladder.methods.step.reference import Reference
from stepladder.methods.step.search import Trail
from stepladder.model.goal import Goal
from stepladder.model.scorer import Scorer
from stepladder.privacy import mechanism
from stepladder.privacy.mechanism import bounded, noisy_directions
from stepladder.privacy.pay import Pay, PayOnce, PayPerDirection
from stepladder.privacy.reference import (
    RELEASES,
    Facts,
    Layout,
    facts,
    made_up,
    nearest_centre,
)
from stepladder.result.path import Outcome, Path
from stepladder.table.feasible import Feasible, allowed
from stepladder.table.feature import Categorical, Change
from stepladder.table.space import Floats, Mask, Space

LOUD = 2.0
"""How many times longer than noise alone a direction has to be to be followed, and how many
standard deviations of it a column has to show to be moved at all."""

STRETCHES = 8
"""How many times a step is lengthened, where a single one is shown, until it changes the row."""

CENTRES, ROWS = 24, 2048
"""What a reference set is made of that only serves to find the centres of clusters."""


def ranges(space: Space) -> Floats:
    """(features, 2) what the schema declares each feature to lie within; levels by their place."""
    spans = [
        (0.0, len(feature.levels or ()) - 1.0)
        if isinstance(feature, Categorical)
        else feature.span or (0.0, 0.0)
        for feature in space.schema.features
    ]
    return np.array(spans, dtype=np.float64)


def box(space: Space) -> tuple[Floats, Floats]:
    """(columns,) the lowest and highest point within the declared ranges."""
    low, high = np.zeros(space.width), np.ones(space.width)
    for feature, (least, most) in zip(space.schema.features, ranges(space), strict=True):
        if not isinstance(feature, Categorical):
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
        if feature.change is not Change.NEVER:
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
    never = [feature.change is Change.NEVER for feature in space.schema.features]
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
            f"centres must be one public row a path: expected {paths}, got {len(points)}."
        )
    return points


@dataclass(frozen=True)
class Paid:
    """How people walk when each step is a query: directions are followed while they're loud.

    A path whose direction drowns in the noise, or turns back, or can't be paid for any more, goes
    on by what the model says of the person's own rows alone. With `next_only`, a single step is
    planned, which is lengthened until it changes the row.
    """

    pay: PayPerDirection
    held: Held
    alpha: Alpha
    step_size: float
    max_steps: int
    options: Options
    next_only: bool = False

    def walk(self, question: Question, reference: Reference) -> list[list[Path]]:
        """The paths of n people, one after the other."""
        routes, scorer, pace = [], question.scorer, question.pace
        for i, score in enumerate(question.scores):
            person = question.feasible.take(slice(i, i + 1))
            routes.append(self._paths_of(person, float(score), reference, scorer, pace))
            pace.reached(i + 1)
        return routes

    def _paths_of(
        self, person: Feasible, score: float, reference: Reference, scorer: Scorer, pace: Pace
    ) -> list[Path]:
        """One person's k paths, all advancing together: a step of all of them is one query."""
        k = reference.slots
        if pace.expired:
            return [standing(scorer.space, person.start[0], score, Outcome.TIMED_OUT, TOO_LATE)] * k
        each = person.take(np.zeros(k, dtype=np.intp))
        try:
            trail, alone = self._trail(each, score, reference, scorer, pace)
        except BudgetError:
            if not pace.releases:
                raise
            reason = "the privacy budget is used up, so no direction was asked for"
            return [standing(scorer.space, person.start[0], score, Outcome.STALLED, reason)] * k
        with suppress(TimeUpError):
            usual = Default(self.alpha, self.step_size, self.max_steps, self.options)
            usual.finish(trail, each, None, reference, scorer)
        paths = []
        for c, (values, after) in enumerate(zip(trail.values, trail.scores, strict=True)):
            outcome, reason = self._ending(trail, c, bool(alone[c]), pace.expired, scorer.goal)
            paths.append(Path(outcome, reason, values, scorer.space.to_points(values), after))
        return paths

    def _trail(
        self, each: Feasible, score: float, reference: Reference, scorer: Scorer, pace: Pace
    ) -> tuple[Trail, Mask]:
        """Where k paths of one person lead, and which went by the model alone in the end."""
        k, start = len(each), scorer.space.to_points(each.start)
        trail = Trail.begun(start)
        enquiry = Enquiry(self, each.take(slice(0, 1)), scorer)
        took, rows, scored = [np.arange(k)], [each.start], [np.full(k, score)]
        aims = np.full_like(start, np.nan)
        toward = np.zeros((k, int(reference.columns.sum())))
        with suppress(TimeUpError):
            for step in range(self.max_steps):
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
                self._move(trail, going, toward, aims, each, reference)
                paths = np.flatnonzero(going)
                seen = each.snap(trail.latent)[paths]
                after = scorer.score(seen)
                took.append(paths)
                rows.append(seen)
                scored.append(after)
                trail.reached[paths] = scorer.met(after)
                there = going & ~trail.reached & (trail.latent == aims).all(axis=1)
                aims[there] = np.nan  # a row refused that was accepted before: ask again
        trail.walked(took, rows, scored)
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
        for path in paths if self.options.mix else ():
            own = each.take(slice(path, path + 1))
            here = own.snap(trail.latent[[path]])
            # First by features that no path before has used, so that routes differ.
            for fixed in (used, np.zeros_like(used)) if used.any() else (used,):
                row, margin = here.copy(), margins_of(here, scorer)
                free = replace(
                    own,
                    lower=np.where(fixed, here, own.lower),
                    upper=np.where(fixed, here, own.upper),
                )
                climb(row, margin, free, tried, scorer, pace)
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
    ) -> None:
        """A step along its direction, or to its aim, for each path that is going. In place."""
        aimed: Mask = np.asarray(~np.isnan(aims).any(axis=1))
        stretch, start = reference.stretch(each), each.space.to_points(each.start)
        low, high = box(each.space)
        for path in np.flatnonzero(going):
            here = trail.latent[path]
            gap = np.zeros_like(here)
            gap[reference.columns] = toward[path]
            gap = aims[path] - here if aimed[path] else gap
            length = float(np.linalg.norm(gap / stretch[path]))
            if aimed[path] and length <= self.step_size:
                trail.latent[path] = aims[path]
                continue
            own = each.take(slice(path, path + 1))
            # Where only this step is shown, it has to change something that shows.
            for times in range(1, 1 + (STRETCHES if self.next_only else 1)):
                ahead = here + gap * (times * self.step_size / length)
                if not aimed[path]:  # noise has no business outside what is declared
                    ahead = np.clip(
                        ahead, np.minimum(low, start[path]), np.maximum(high, start[path])
                    )
                trail.latent[path] = own.project(ahead[None])[0]
                if (own.snap(trail.latent[[path]]) != own.start).any():
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

    def __init__(self, paid: Paid, person: Feasible, scorer: Scorer) -> None:
        self.paid, self.person, self.scorer = paid, person, scorer
        self.bound = bounded(paid.alpha)

    def directions(self, points: Floats, pace: Pace) -> Floats:
        """One noisy direction from each of the k points to its own cluster, once it's paid."""
        pay, multiplier = self.paid.pay, self.paid.held.multiplier
        positives = self.positives  # first, since time may be up before they're found
        pay.budget.spend(multiplier, "directions")
        pace.releases += 1
        return noisy_directions(
            points,
            *positives,
            self.paid.alpha,
            multiplier,
            neighbours=pay.budget.neighbours,
        )

    @cached_property
    def positives(self) -> tuple[Floats, Labels]:
        """The positives as near as this person could come to them, and their clusters.

        Those that don't meet the goal there are left out; so are those that the model can't judge,
        each for itself, for an error would tell of them.
        """
        held, space = self.paid.held, self.scorer.space
        rows = np.clip(held.values, self.person.lower, self.person.upper)
        aimed_at = np.ones(len(rows), dtype=bool)
        if self.paid.options.project:
            aimed_at = self._meet_goal(rows)
        return space.to_points(rows[aimed_at])[:, space.changeable], held.clusters[aimed_at]

    def _meet_goal(self, rows: Floats) -> Mask:
        scorer = self.scorer
        try:
            return scorer.met(scorer.score(rows))
        except ModelError:
            scorer.score(self.person.start)  # raises if the model is down, and says so of this row
        judged = np.zeros(len(rows), dtype=bool)
        for i in range(len(rows)):
            with suppress(ModelError):
                judged[i] = scorer.met(scorer.score(rows[i : i + 1]))[0]
        return judged

    @property
    def noise(self) -> float:
        """The standard deviation of the noise on each column."""
        return self.paid.held.multiplier * self.bound * self.paid.pay.budget.neighbours.moves

    def drowned(self, directions: Floats) -> Mask:
        """Which directions (k, m) aren't much longer than noise alone would be."""
        usual = self.noise * np.sqrt(directions.shape[1])
        return np.asarray(np.linalg.norm(directions, axis=1) < LOUD * usual)

    def heard(self, directions: Floats) -> Floats:
        """The same less the columns that don't stand out from the noise."""
        return np.where(np.abs(directions) > LOUD * self.noise, directions, 0.0)


def _facts(pay: Pay, positives: Floats, scorer: Scorer, centres: int, random_state: int) -> Facts:
    """Facts about the positives: from the file that keeps them, or once they're paid for."""
    file = None if pay.saved is None else File(pay.saved)
    made_for = {"schema": scorer.space.schema.rules.to_dict(), "goal": asdict(scorer.goal)}
    if file is not None and file.exists():
        return _found(pay, file, centres, made_for)
    if file is not None and not os.access(file.parent, os.W_OK):
        raise ResultError(
            f"A private reference set can't be saved as {str(file)!r}: the folder isn't there "
            "or can't be written to. Nothing was spent."
        )
    found = replace(
        _paid_for(pay, positives, scorer.space, centres, random_state), made_for=made_for
    )
    if file is not None:
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
        ("schema or goal", found.made_for != made_for),
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
    never = [feature.change is Change.NEVER for feature in space.schema.features]
    return allowed(space, np.where(never, middles, values))
