"""The walk of the default method: a latent point follows equation 1, its snap is what is shown.

For each path the latent point moves toward the weighted mean of its targets (a positive multiple of
equation 1) and never past it. Where it arrives and the row shown isn't accepted, α is sharpened:
its degree doubles, until the path settles on a single target, which is a row that is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepladder.feasible import Feasible
from stepladder.kernels.alpha import Alpha
from stepladder.kernels.centre import centres
from stepladder.kernels.distance import Metric
from stepladder.methods.pace import Pace
from stepladder.methods.step.reference import Reference
from stepladder.methods.step.targets import Targets
from stepladder.scorer import Scorer
from stepladder.space import Floats, Mask

SHARPEST = 32.0
"""Beyond this power of α a path settles on its nearest target."""


@dataclass(eq=False)
class Trail:
    """Where t paths have been: the rows and scores of every step, step by step."""

    values: list[Floats]
    """(t, features) after each step, the start first"""
    scores: list[Floats]
    """(t,) after each step"""
    steps: NDArray[np.int64]
    """(t,) how many steps each path took"""
    reached: Mask
    stalled: Mask
    before: Floats
    """(t, columns) the latent point before the last step"""
    latent: Floats
    """(t, columns) the latent point"""

    def rows(self, path: int) -> Floats:
        return np.stack([v[path] for v in self.values[: self.steps[path] + 1]])

    def scores_of(self, path: int) -> Floats:
        return np.array([s[path] for s in self.scores[: self.steps[path] + 1]])


@dataclass(frozen=True)
class Search:
    """How the default method walks; see `StEP` for what the options mean."""

    alpha: Alpha
    step_size: float
    max_steps: int
    latent: bool
    sharpen: bool

    def walk(
        self,
        feasible: Feasible,
        scores: Floats,
        targets: Targets,
        reference: Reference,
        scorer: Scorer,
        pace: Pace,
    ) -> Trail:
        """Walk t paths, one for each row of `feasible`, all advancing together."""
        count, space, columns = len(feasible), feasible.space, reference.columns
        points = space.to_points(feasible.start)
        trail = Trail(
            values=[feasible.start],
            scores=[scores],
            steps=np.zeros(count, dtype=np.int64),
            reached=np.zeros(count, dtype=bool),
            stalled=np.zeros(count, dtype=bool),
            before=points.copy(),
            latent=points,
        )
        valid = targets.valid.copy()
        sharpness = np.ones(count)
        settled = np.full(count, -1)
        for _ in range(self.max_steps):
            going = np.flatnonzero(valid.any(axis=1) & ~trail.reached & ~trail.stalled)
            if not len(going) or pace.expired:
                break
            here = trail.latent[going][:, columns]
            goals = self._goals(here, going, targets, valid, sharpness, settled, reference.metric)
            gap = goals - here
            distance = np.linalg.norm(gap, axis=1)
            arrived = distance <= self.step_size
            share = np.where(arrived, 1.0, self.step_size / np.maximum(distance, self.step_size))
            trail.before[going] = trail.latent[going]
            trail.latent[np.ix_(going, columns)] = np.where(
                arrived[:, None], goals, here + gap * share[:, None]
            )
            rows = feasible.take(going).snap(trail.latent[going])
            home = arrived & (settled[going] >= 0)
            rows[home] = targets.values[going[home], settled[going[home]]]
            previous = trail.values[-1]
            self._record(trail, going, rows, scorer)
            if not self.latent:
                trail.latent[going] = space.to_points(rows)
                arrived |= (rows == previous[going]).all(axis=1)
            self._sharpen(trail, going, arrived, home, targets, valid, sharpness, settled, columns)
            unfinished = valid.any(axis=1) & ~trail.reached & ~trail.stalled
            pace.reached(int((~unfinished.reshape(-1, reference.slots).any(axis=1)).sum()))
        return trail

    def _goals(
        self,
        here: Floats,
        going: NDArray[np.intp],
        targets: Targets,
        valid: Mask,
        sharpness: Floats,
        settled: NDArray[np.int64],
        metric: Metric | None,
    ) -> Floats:
        """Where each path is drawn: the mean of its targets, or the one it has settled on."""
        goals = centres(
            here,
            targets.points[going],
            valid[going],
            self.alpha,
            sharpness=sharpness[going],
            metric=metric,
        )
        single = settled[going] >= 0
        goals[single] = targets.points[going[single], settled[going[single]]]
        return goals

    def _record(self, trail: Trail, going: NDArray[np.intp], rows: Floats, scorer: Scorer) -> None:
        values, scores = trail.values[-1].copy(), trail.scores[-1].copy()
        values[going] = rows
        scores[going] = scorer.score(rows)
        trail.values.append(values)
        trail.scores.append(scores)
        trail.steps[going] += 1
        trail.reached[going] = scorer.met(scores[going])

    def _sharpen(
        self,
        trail: Trail,
        going: NDArray[np.intp],
        arrived: Mask,
        home: Mask,
        targets: Targets,
        valid: Mask,
        sharpness: Floats,
        settled: NDArray[np.int64],
        columns: Mask,
    ) -> None:
        """Arrived without being accepted: double α's degree, or settle on the nearest target."""
        short = arrived & ~trail.reached[going]
        if not self.sharpen:
            trail.stalled[going[short]] = True
            return
        # A target taken on trust can turn out to be refused; then it's no target.
        refused = going[short & home]
        valid[refused, settled[refused]] = False
        settled[refused] = -1
        doubled = going[short & ~home]
        sharpness[doubled] *= 2.0
        choosing = np.concatenate([refused, doubled[sharpness[doubled] > SHARPEST]])
        choosing = choosing[valid[choosing].any(axis=1)]
        apart = np.linalg.norm(
            targets.points[choosing] - trail.latent[choosing][:, None, columns], axis=2
        )
        settled[choosing] = np.where(valid[choosing], apart, np.inf).argmin(axis=1)
