"""The search of the default method: a latent point follows equation 1, and its snap is shown.

For each path the latent point moves toward the weighted mean of its targets (a positive multiple of
equation 1) and never past it. Where it arrives and the row shown isn't accepted, α is sharpened:
its degree doubles, until the path settles on a single target, which is a row that is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepladder.kernels.alpha import Alpha
from stepladder.kernels.direction import centres
from stepladder.kernels.distance import Norm, measured
from stepladder.methods.asked import could_end
from stepladder.methods.pace import Pace, TimeUpError
from stepladder.methods.step.reference import Reference
from stepladder.methods.step.targets import Targets
from stepladder.model.scorer import Scorer
from stepladder.table.feasible import Feasible
from stepladder.table.space import Floats, Mask

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
        count, space, columns = len(feasible), feasible.space, reference.columns
        stretch = reference.stretch(feasible)[:, columns]
        trail = Trail.begun(space.to_points(feasible.start))
        shown = feasible.start.copy()
        took, rows, scored = [np.arange(count)], [feasible.start], [scores]
        valid = targets.valid.copy()
        sharpness = np.ones(count)
        settled = np.full(count, -1)
        for _ in range(self.max_steps):
            going = np.flatnonzero(valid.any(axis=1) & ~trail.reached & ~trail.stalled)
            if not len(going) or pace.expired:
                break
            here = trail.latent[going][:, columns]
            goals = self._goals(here, going, targets, valid, sharpness, settled, reference.norm)
            gap = goals - here
            distance = np.linalg.norm(gap / stretch[going], axis=1)
            arrived = distance <= self.step_size
            share = np.where(arrived, 1.0, self.step_size / np.maximum(distance, self.step_size))
            ahead = trail.latent[going]
            ahead[:, columns] = np.where(arrived[:, None], goals, here + gap * share[:, None])
            own = feasible.take(going)
            seen = own.snap(ahead)
            home = arrived & (settled[going] >= 0)
            seen[home] = targets.values[going[home], settled[going[home]]]
            kept = own.fulfils(seen)
            seen = np.where(kept[:, None], seen, shown[going])  # no way through there
            try:
                after = scorer.score(seen)
            except TimeUpError:
                break
            took.append(going)
            rows.append(seen)
            scored.append(after)
            trail.before[going], trail.latent[going] = trail.latent[going], ahead
            trail.reached[going] = scorer.met(after) & kept & could_end(own, seen)
            shown[going] = seen
            self._sharpen(
                trail, going, arrived, home, targets, valid, sharpness, settled, reference
            )
            unfinished = valid.any(axis=1) & ~trail.reached & ~trail.stalled
            pace.reached(int((~unfinished.reshape(-1, reference.slots).any(axis=1)).sum()))
        trail.record(took, rows, scored)
        return trail

    def _goals(
        self,
        here: Floats,
        going: NDArray[np.intp],
        targets: Targets,
        valid: Mask,
        sharpness: Floats,
        settled: NDArray[np.int64],
        norm: Norm | None,
    ) -> Floats:
        """Where each path is drawn: the mean of its targets, or the one it has settled on."""
        goals = centres(
            here,
            targets.points[going],
            valid[going],
            self.alpha,
            sharpness=sharpness[going],
            norm=norm,
        )
        single = settled[going] >= 0
        goals[single] = targets.points[going[single], settled[going[single]]]
        return goals

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
        reference: Reference,
    ) -> None:
        """Arrived without being accepted: double α's degree, or settle on the nearest target."""
        columns, norm = reference.columns, reference.norm
        short = arrived & ~trail.reached[going]
        # A model may refuse what it accepted before; then it's no target.
        refused = going[short & home]
        valid[refused, settled[refused]] = False
        settled[refused] = -1
        doubled = going[short & ~home]
        sharpness[doubled] *= 2.0
        choosing = np.concatenate([refused, doubled[sharpness[doubled] > SHARPEST]])
        trail.stalled[refused[~valid[refused].any(axis=1)]] = True
        choosing = choosing[valid[choosing].any(axis=1)]
        moves = targets.points[choosing] - trail.latent[choosing][:, None, columns]
        apart = np.linalg.norm(measured(moves, norm), axis=2)
        settled[choosing] = np.where(valid[choosing], apart, np.inf).argmin(axis=1)
