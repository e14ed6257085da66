"""The default method: StEP made to keep its promises.

Directions aim at positives that the person could really become (`targets.py`), a latent point
follows them (`search.py`), and what reaches the goal is brought nearer (`refine.py`) and pared down
to what it needs (`finish.py`).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import listing
from stepladder.methods.base import TOO_LATE, Answer, Question, standing
from stepladder.methods.pace import Pace, TimeUpError
from stepladder.methods.step import finish, refine
from stepladder.methods.step.mixed import mixed
from stepladder.methods.step.planner import Planner
from stepladder.methods.step.reference import Reference
from stepladder.methods.step.search import Search, Trail
from stepladder.methods.step.targets import Targets, reachable, share
from stepladder.methods.steps import keeping, need_care
from stepladder.model.goal import Goal
from stepladder.model.scorer import Scorer
from stepladder.result.path import Outcome, Path
from stepladder.table.feasible import Feasible
from stepladder.table.space import Floats, Space

CLIP = 3.0
"""How many standard deviations an outlier counts when clusters are formed."""

FAR = 1000
"""Nobody is advised to take more steps than this."""


@dataclass(frozen=True)
class Options:
    """What the default method does beyond the paper; `published` does none of it.

    project      aim only at positives that still meet the goal once projected onto the
                 person's feasible set; off: at all positives of the cluster
    mix          where a person could become no positive, put a row together from their values
    latent       accumulate the exact direction and show its snap; off: go on from the snap
    sharpen      double α's degree where a path stalls, down to a single positive
    shorten      cut the last step at the first row that meets the goal
    refine       spend change where it earns the most score for its distance, for nearer ends
    take_back    take back changes that aren't needed, and lay the path again
    changeable   form clusters on the columns that can change, outliers clipped
    replace      where a cluster holds nothing a person can reach, split another that does
    """

    project: bool = True
    mix: bool = True
    latent: bool = True
    sharpen: bool = True
    shorten: bool = True
    refine: bool = True
    take_back: bool = True
    changeable: bool = True
    replace: bool = True


@dataclass(frozen=True, eq=False)
class Searched:
    """The paths of some people, before the last touches."""

    people: int
    each: Feasible
    """for each path, the set of the person whose it is"""
    targets: Targets
    trail: Trail


@dataclass(frozen=True)
class Default(Planner):
    """The default planner: targets, then a search toward them, then the last touches."""

    takes_gaps: ClassVar[bool] = True

    options: Options

    @property
    def settings(self) -> dict[str, Any]:
        return {"privacy": None, **asdict(self.options)}

    def reference(self, found: Floats, space: Space) -> Reference:
        values = space.grid.nearest(found)
        points = space.to_points(values)
        changeable = self.options.changeable
        seen = np.clip(points[:, space.changeable], -CLIP, CLIP) if changeable else points
        return self._clustered(found, values, points, seen, space)

    def answer(self, question: Question, reference: Reference) -> Answer:
        """The paths of n people: first everybody's are found, then they're shortened.

        Without a time budget all people advance together; with one, as many as time allows.
        """
        pace, scorer = question.pace, question.scorer
        count, k = len(question.feasible), reference.slots
        found = [
            self._search(question, people, reference) for people in pace.batches(np.arange(count))
        ]
        paths: list[list[Path]] = []
        for part in found:
            blame: dict[int, str] = {}
            with suppress(TimeUpError):  # what is reached is good as it is, if not short
                own = (part.trail, part.each, part.targets, reference, scorer)
                finished(*own, self.options, self.parameters.step_size)
                alone = np.flatnonzero(~part.targets.valid.reshape(part.people, -1).any(axis=1))
                blame = _blame(alone, part.each.take(np.arange(part.people) * k), reference, scorer)
            paths += self._paths(part, reference, blame, scorer, late=pace.expired)
        for i in range(len(paths), count):
            start, score = question.feasible.start[i], question.scores[i]
            late = standing(scorer.space, start, score, Outcome.TIMED_OUT, TOO_LATE)
            paths.append([late] * k)
        return Answer(paths)

    def _search(
        self, question: Question, people: NDArray[np.intp], reference: Reference
    ) -> Searched:
        """Where some people's paths lead to."""
        feasible, k, of = question.feasible.take(people), reference.slots, self.parameters
        scorer, pace = question.scorer, question.pace
        targets = self._targets(feasible, reference, scorer, pace)
        each = feasible.take(np.repeat(np.arange(len(people)), k))
        search = Search(
            of.alpha, of.step_size, of.max_steps, self.options.latent, self.options.sharpen
        )
        scores = np.repeat(question.scores[people], k)
        trail = search.follow(each, scores, targets, reference, scorer, pace)
        return Searched(len(people), each, targets, trail)

    def _paths(
        self,
        part: Searched,
        reference: Reference,
        blame: dict[int, str],
        scorer: Scorer,
        *,
        late: bool,
    ) -> list[list[Path]]:
        """Each person's paths as data."""
        trail, k = part.trail, reference.slots
        points = np.split(
            scorer.space.to_points(np.concatenate(trail.values)), np.cumsum(trail.steps + 1)[:-1]
        )
        about = part.targets, reference, blame, late, scorer.goal
        paths = [
            Path(*self._ending(path, trail, *about), *rows)
            for path, rows in enumerate(zip(trail.values, points, trail.scores, strict=True))
        ]
        return [paths[i : i + k] for i in range(0, len(paths), k)]

    def _targets(
        self, feasible: Feasible, reference: Reference, scorer: Scorer, pace: Pace
    ) -> Targets:
        """Whom each path could lead to; as many as are found in time."""
        count, k, replace = len(feasible), reference.slots, self.options.replace
        targets = reachable(
            feasible, reference, scorer, pace, ask=self.options.project, patient=not replace
        )
        if self.options.mix:
            lost = ~targets.valid.reshape(count, -1).any(axis=1)
            self._mix(targets, np.flatnonzero(lost), feasible, reference, scorer, pace)
        if replace:
            share(targets, k)
        if self.options.mix and reference.ranges is not None:
            # Made-up positives have no more to say than rows put together from their values.
            short = np.unique(np.flatnonzero(~targets.valid.any(axis=1)) // k)
            self._mix(targets, short, feasible, reference, scorer, pace)
        return targets

    @staticmethod
    def _mix(
        targets: Targets,
        people: NDArray[np.intp],
        feasible: Feasible,
        reference: Reference,
        scorer: Scorer,
        pace: Pace,
    ) -> None:
        """Give some people's paths without any target one that is put together. In place."""
        slots = reference.slots
        if not len(people):
            return
        try:
            rows, met = mixed(feasible.take(people), reference, scorer, pace)
        except TimeUpError:
            return
        paths = (people[:, None] * slots + np.arange(slots)).ravel()
        met &= ~targets.valid[paths].any(axis=1)
        paths = paths[met]
        targets.values[paths, 0] = rows[met]
        targets.points[paths, 0] = feasible.space.to_points(rows[met])[:, reference.columns]
        targets.valid[paths, 0] = True

    def _ending(
        self,
        path: int,
        trail: Trail,
        targets: Targets,
        reference: Reference,
        blame: dict[int, str],
        late: bool,
        goal: Goal,
    ) -> tuple[Outcome, str]:
        """How a path ended, and why."""
        slots = reference.slots
        score, steps = trail.scores[path][-1], len(trail.scores[path]) - 1
        if trail.reached[path]:
            return Outcome.REACHED, "meets the goal"
        if late:
            return Outcome.TIMED_OUT, f"the time budget ended after {steps} steps"
        if not targets.valid[path].any():
            alone = (
                "nothing in this path's cluster can be reached, and other paths have none to share"
            )
            return Outcome.UNREACHABLE, blame.get(path // slots, alone)
        if trail.stalled[path]:
            short = f"the path ends at a score of {goal.shown(score)}, short of the goal"
            return Outcome.STALLED, short
        left = np.linalg.norm(
            targets.points[path][targets.valid[path]] - trail.latent[path][reference.columns],
            axis=1,
        ).min()
        more = left / self.parameters.step_size
        way_out = (
            f"{left:.1f} away: allow about {int(np.ceil(more))} more"
            if more <= FAR
            else f"more than {FAR:,} steps away, so a value of this row may be wrong"
        )
        return Outcome.STEP_LIMIT, (
            f"the score is {goal.shown(score)} after {steps} steps, the most allowed; a row that "
            f"meets the goal is {way_out}"
        )


def finished(
    trail: Trail,
    feasible: Feasible,
    targets: Targets | None,
    reference: Reference,
    scorer: Scorer,
    options: Options,
    step_size: float,
) -> None:
    """Bring paths that reached the goal nearer, pare them down and lay them again. In place.

    Without targets nothing is refined.
    """
    if need_care(feasible):
        _lay_the_rest(trail, feasible, scorer)
    done = np.flatnonzero(trail.reached)
    if not len(done) or not (
        options.shorten or options.refine or options.take_back or need_care(feasible)
    ):
        return
    own, steps = feasible.take(done), trail.steps[done]
    trails = [trail.values[path].copy() for path in done]
    arrived = np.array([rows[-1] for rows in trails])
    ends, turned = arrived, done[:0]
    if options.shorten:
        ends = finish.shortened(trail, ends, done, feasible, scorer)
    if options.refine and targets is not None:
        own_targets = targets.take(done)
        nearer = refine.refined(ends, arrived, done, own_targets, own, reference, scorer)
        turned = _layable(nearer, arrived, own, steps, step_size)
        ends = ends.copy()
        ends[turned] = nearer[turned]
    if options.take_back:
        ends = finish.taken_back(ends, own, reference.weights, scorer)
    for rows, end in zip(trails, ends, strict=True):
        rows[-1] = end
    lines = finish.straight(own.take(turned), ends[turned], steps[turned])
    for path, rows in zip(turned, lines, strict=True):
        trails[path] = rows
    if options.refine or options.take_back:
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


def _layable(
    ends: Floats, arrived: Floats, feasible: Feasible, steps: NDArray[np.int64], step_size: float
) -> NDArray[np.intp]:
    """Which ends a straight line of as many steps as were taken reaches, in steps as small.

    Categories don't count: a level is there or not, however small the steps.
    """
    space = feasible.space
    ordered = space.columns_of(lambda feature: feature.ordered)
    start = space.to_points(feasible.start)[:, ordered]
    new, old = (
        np.linalg.norm(space.to_points(rows)[:, ordered] - start, axis=1) / steps
        for rows in (ends, arrived)
    )
    return np.flatnonzero(new <= np.maximum(old, step_size) * (1 + 1e-9))


def _blame(
    people: NDArray[np.intp], feasible: Feasible, reference: Reference, scorer: Scorer
) -> dict[int, str]:
    """For people who can become no positive, the rules that would have to give, in words.

    For each, the positive that the fewest rules keep them from; and of those rules only the ones
    that have to be given up for its row to meet the goal.
    """
    space, reasons = feasible.space, dict[int, str]()
    names = space.schema.names
    if not len(people):
        return reasons
    if reference.ranges is not None:  # what made-up rows are kept from says nothing
        way = "no row with what this person can't change was found that the model accepts"
        return dict.fromkeys(people.tolist(), way)
    own, nearest, given_up = feasible.take(people), [], []
    for person in people:
        stopped = feasible.take(np.array([person])).broken(reference.found) & ~space.links.linked
        nearest.append(int(stopped.sum(axis=1).argmin()))
        given_up.append(stopped[nearest[-1]])
    free = np.array(given_up)
    there = np.where(reference.found[nearest] == own.start, own.start, reference.values[nearest])
    allowed = own.complete(own.nearest(there))
    row = own.complete(np.where(free, reference.found[nearest], allowed))
    rules = -1
    while free.sum() != rules:  # one that is kept may be spared once another is
        rules = free.sum()
        for f in range(len(names)):
            trial = row.copy()
            trial[:, f] = allowed[:, f]
            trial = own.complete(trial)
            unneeded = np.flatnonzero(free[:, f])
            unneeded = unneeded[scorer.met(scorer.score(trial[unneeded]))]
            row[unneeded], free[unneeded, f] = trial[unneeded], False
    met = scorer.met(scorer.score(row))
    for i, person in enumerate(people.tolist()):
        one = own.take(slice(i, i + 1))
        needed = [name for name, gives in zip(names, free[i], strict=True) if gives]
        why = _in_words(one, row[[i]], needed, met=bool(met[i]))
        reasons[person] = f"none of the {len(reference.found)} positives can be reached; {why}"
    return reasons


def _in_words(one: Feasible, row: Floats, features: list[str], *, met: bool) -> str:
    """What one person would have to be spared for a row (1, features), which may meet the goal."""
    if not met:
        follows = np.flatnonzero(one.space.links.linked)
        if not len(follows):  # the model said yes to a row that it now says no to
            return "the model doesn't always say the same of the same row"
        names = [one.space.schema.names[f] for f in follows]
        return f"what follows from other features comes out otherwise here: {listing(names)}"
    names = features + [name for name in one.lost(row) if name not in features]
    ways = [f"the rules on {', '.join(names)}"] if names else []
    parts = [part.formula.text for part in (*one.missed(row), *one.refused(row))]
    if parts:
        ways.append(f"the requirement {listing(parts)}")
    if one.max_changes is not None and one.changes(row).sum() > one.max_changes:
        ways.append(f"max_changes={one.max_changes}")
    if not ways:  # all of it may be kept at the end, but not by hops on the way there
        hopping = [one.space.schema.names[f] for f in one.space.hops.allowed]
        ways = [f"the moves of {', '.join(hopping)}"] if hopping else []
    if not ways:
        return "the model doesn't always say the same of the same row"
    return f"it would be enough to give up {' and '.join(ways)}"
