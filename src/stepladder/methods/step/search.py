"""The search of the default method: a latent point follows equation 1, and its snap is shown.

For each path the latent point moves toward the weighted mean of its targets (a positive multiple of
equation 1) and never past it. Where it arrives and the row shown isn't accepted, α is sharpened:
its degree doubles, until the path settles on a single target, which is a row that is.

Where a path leads depends on no answer of the model, but for where it ends: so the steps of a few
paths are laid first, and asked about together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stepladder.kernels.alpha import Alpha
from stepladder.kernels.direction import centres
from stepladder.kernels.distance import measured
from stepladder.methods.asked import ONE_CALL, could_end
from stepladder.methods.pace import Pace, TimeUpError
from stepladder.methods.step.reference import Reference
from stepladder.methods.step.targets import Targets
from stepladder.model.scorer import Scorer
from stepladder.table.feasible import Feasible
from stepladder.table.space import Floats, Mask

AT_ONCE = 12
"""How many steps of a few paths are laid before the model is asked about them."""

SHARPEST = 32.0
"""Beyond this power of α a path settles on its nearest target."""


@dataclass(eq=False)
class Trail:
    """Where t paths have been. Each holds its own rows only, however long others are."""

    values: list[Floats]
    """for each path its rows (steps + 1, features), the start first"""
    scores: list[Floats]
    """for each path the scores (steps + 1,) of its rows"""
    reached: Mask
    stalled: Mask
    before: Floats
    """(t, columns) the latent point before the last step"""
    latent: Floats
    """(t, columns) the latent point"""

    @classmethod
    def begun(cls, points: Floats) -> Trail:
        """Paths that stand at points (t, columns); where they go is added by `record`."""
        nowhere = np.zeros(len(points), dtype=bool)
        return cls([], [], nowhere, nowhere.copy(), points.copy(), points)

    def record(
        self, took: list[NDArray[np.intp]], rows: list[Floats], scores: list[Floats]
    ) -> None:
        """Take up the rows and scores of each step in turn, for the paths that took it."""
        path = np.concatenate(took)
        order = path.argsort(kind="stable")  # by path, and by step within a path
        ends = np.cumsum(np.bincount(path))[:-1]
        self.values = np.split(np.concatenate(rows)[order], ends)
        self.scores = np.split(np.concatenate(scores)[order], ends)

    @property
    def steps(self) -> NDArray[np.int64]:
        """(t,) how many steps each path took"""
        return np.array([len(rows) - 1 for rows in self.values], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Stretch:
    """The next step of some paths, the g that are `going`."""

    going: NDArray[np.intp]
    ahead: Floats
    """(g, columns) where their latent points go"""
    seen: Floats
    """(g, features) the rows that are shown there"""
    kept: Mask
    """(g,) whether there's a way through; else the row shown is the one before"""
    arrived: Mask
    """(g,) whether the latent point is where it was drawn to"""
    home: Mask
    """(g,) whether that is the single target that the path has settled on"""


@dataclass(eq=False)
class Walking:
    """Where t paths are, and what each is drawn to."""

    feasible: Feasible
    targets: Targets
    reference: Reference
    latent: Floats
    """(t, columns) the latent point, and the one before the last step"""
    before: Floats
    shown: Floats
    """(t, features) the row that was shown last"""
    valid: Mask
    """(t, targets) what still is a target"""
    sharpness: Floats
    """(t,) the power of α"""
    settled: NDArray[np.int64]
    """(t,) the single target that a path has settled on; -1 for none"""
    reached: Mask
    stalled: Mask

    @classmethod
    def begun(cls, feasible: Feasible, targets: Targets, reference: Reference) -> Walking:
        count, points = len(feasible), feasible.space.to_points(feasible.start)
        nowhere = np.zeros(count, dtype=bool)
        return cls(
            feasible,
            targets,
            reference,
            points,
            points.copy(),
            feasible.start.copy(),
            targets.valid.copy(),
            np.ones(count),
            np.full(count, -1),
            nowhere,
            nowhere.copy(),
        )

    def copy(self) -> Walking:
        """The same, to go on with as if."""
        mine = ("latent", "before", "shown", "valid", "sharpness", "settled", "reached", "stalled")
        return replace(self, **{name: getattr(self, name).copy() for name in mine})

    @property
    def going(self) -> NDArray[np.intp]:
        """The paths that have somewhere to go."""
        return np.flatnonzero(self.valid.any(axis=1) & ~self.reached & ~self.stalled)

    def lay(self, alpha: Alpha, step_size: float) -> Stretch:
        """The next step of all paths that have somewhere to go."""
        going, columns = self.going, self.reference.columns
        own, ahead = self.feasible.take(going), self.latent[going]
        here = ahead[:, columns]
        goals = self._goals(here, going, alpha)
        gap = goals - here
        distance = np.linalg.norm(gap / self.reference.stretch(own)[:, columns], axis=1)
        arrived = distance <= step_size
        share = np.where(arrived, 1.0, step_size / np.maximum(distance, step_size))
        ahead[:, columns] = np.where(arrived[:, None], goals, here + gap * share[:, None])
        seen = own.snap(ahead)
        home = arrived & (self.settled[going] >= 0)
        seen[home] = self.targets.values[going[home], self.settled[going[home]]]
        kept = own.fulfils(seen)
        seen = np.where(kept[:, None], seen, self.shown[going])  # no way through there
        return Stretch(going, ahead, seen, kept, arrived, home)

    def _goals(self, here: Floats, going: NDArray[np.intp], alpha: Alpha) -> Floats:
        """Where each path is drawn: the mean of its targets, or the one it has settled on."""
        goals = centres(
            here,
            self.targets.points[going],
            self.valid[going],
            alpha,
            sharpness=self.sharpness[going],
            norm=self.reference.norm,
        )
        single = self.settled[going] >= 0
        goals[single] = self.targets.points[going[single], self.settled[going[single]]]
        return goals

    def take(self, step: Stretch, reached: Mask) -> None:
        """Go where a step leads; some of the paths (g,) have reached the goal by it.

        Arrived without being accepted: double α's degree, or settle on the nearest target.
        """
        going = step.going
        self.before[going], self.latent[going] = self.latent[going], step.ahead
        self.reached[going], self.shown[going] = reached, step.seen
        short = step.arrived & ~reached
        # A model may refuse what it accepted before; then it's no target.
        refused = going[short & step.home]
        self.valid[refused, self.settled[refused]] = False
        self.settled[refused] = -1
        doubled = going[short & ~step.home]
        self.sharpness[doubled] *= 2.0
        choosing = np.concatenate([refused, doubled[self.sharpness[doubled] > SHARPEST]])
        self.stalled[refused[~self.valid[refused].any(axis=1)]] = True
        choosing = choosing[self.valid[choosing].any(axis=1)]
        here = self.latent[choosing][:, None, self.reference.columns]
        moves = measured(self.targets.points[choosing] - here, self.reference.norm)
        apart = np.where(self.valid[choosing], np.linalg.norm(moves, axis=2), np.inf)
        self.settled[choosing] = apart.argmin(axis=1)


@dataclass(frozen=True)
class Search:
    """How the default method follows directions."""

    alpha: Alpha
    step_size: float
    max_steps: int

    def follow(
        self,
        feasible: Feasible,
        scores: Floats,
        targets: Targets,
        reference: Reference,
        scorer: Scorer,
        pace: Pace,
    ) -> Trail:
        """Follow t paths, one for each row of `feasible`, all advancing together."""
        walking = Walking.begun(feasible, targets, reference)
        took, rows, scored = [np.arange(len(feasible))], [feasible.start], [scores]
        foreseen = 0
        for taken in range(self.max_steps):
            if not len(walking.going) or pace.expired:
                break
            try:
                if taken == foreseen:
                    foreseen += self._foresee(walking, self.max_steps - taken, scorer)
                step = walking.lay(self.alpha, self.step_size)
                after = scorer.score(step.seen)
            except TimeUpError:
                break
            took.append(step.going)
            rows.append(step.seen)
            scored.append(after)
            could = step.kept & could_end(feasible.take(step.going), step.seen)
            walking.take(step, scorer.met(after) & could)
            unfinished = np.bincount(walking.going // reference.slots, minlength=1)
            pace.reached(len(feasible) // reference.slots - int(np.count_nonzero(unfinished)))
        trail = Trail([], [], walking.reached, walking.stalled, walking.before, walking.latent)
        trail.record(took, rows, scored)
        return trail

    def _foresee(self, walking: Walking, most: int, scorer: Scorer) -> int:
        """Ask about the next steps of a few paths at once; returns how many that makes.

        They're laid as if nothing was reached on the way.
        """
        steps = min(most, ONE_CALL // max(1, len(walking.going)), AT_ONCE)
        if not scorer.remembers or steps < 2:
            return 1
        walking, rows = walking.copy(), []
        for _ in range(steps):
            step = walking.lay(self.alpha, self.step_size)
            rows.append(step.seen)
            walking.take(step, step.home)
        scorer.score(np.concatenate(rows))
        return steps
