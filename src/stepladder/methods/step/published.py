"""StEP exactly as its authors ran it.

Hamer, Perello, Valladares, Viswanathan and Zick, "Simple Steps to Success: A Method for
Step-Based Counterfactual Explanations", TMLR 2024, with the choices their text leaves open taken
from their experiments. Nothing is projected, accumulated or checked: points aren't rounded, bounds
don't hold, and a path may end anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any, ClassVar, Literal, cast, get_args
from zlib import crc32

import numpy as np

from stepladder.checks import choice
from stepladder.errors import ExtraError
from stepladder.kernels import gpu
from stepladder.kernels.direction import cluster_direction
from stepladder.methods.base import Answer, Question
from stepladder.methods.collecting import uncollected
from stepladder.methods.pace import TimeUpError
from stepladder.methods.step.clusters import Labels
from stepladder.methods.step.planner import Planner
from stepladder.methods.step.reference import Reference
from stepladder.model.goal import Goal
from stepladder.result.path import Outcome, Path
from stepladder.table.effort import Effort
from stepladder.table.feature import Categorical, Change, Numeric, Ordinal
from stepladder.table.space import Floats, Mask, Space

Backend = Literal["numpy", "torch", "cuda"]
"""NumPy; the same by torch on the CPU; and by torch on an NVIDIA GPU."""

TOLERANCE = {"torch": 1e-9, "cuda": 1e-4}
"""How far points may be from NumPy's, in standard deviations, with each of the other backends."""

ROOM = {"torch": 2**28, "cuda": 2**31}
"""How many bytes the points of all paths that are laid together may take with each of them."""

Draw = Callable[[Labels], Floats]
"""Noise (t, columns) for the next step of some paths (t,)."""


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


def check_backend(backend: object) -> Backend:
    """A backend that can be used here, or a clear sentence about why this one can't."""
    choice("backend", backend, get_args(Backend))
    if backend != "numpy":
        if find_spec("torch") is None:
            raise ExtraError("torch", "torch", f"backend={backend!r}")
        gpu.device_named(str(backend))
    return cast(Backend, backend)


class Order:
    """Where the rows of paths that are laid together, step by step, stand path by path."""

    def __init__(self, paths: int) -> None:
        self.counts: Labels = np.zeros(paths, dtype=np.intp)
        """how many rows each path has"""
        self._steps: list[Labels] = []

    def add(self, going: Labels) -> None:
        """Each of these paths has one more row."""
        self._steps.append(going)
        self.counts[going] += 1

    @property
    def places(self) -> list[Labels]:
        """For every step, the places of its rows among all of them."""
        starts = np.cumsum(self.counts) - self.counts
        return [starts[going] + step for step, going in enumerate(self._steps)]

    def joined(self, parts: list[Floats]) -> Floats:
        """What was found step by step, path by path."""
        rows = np.empty((self.counts.sum(), *parts[0].shape[1:]))
        for places, part in zip(self.places, parts, strict=True):
            rows[places] = part
        return rows


@dataclass(frozen=True, eq=False)
class Laid:
    """Paths one after the other, the first row of each being where its person stands today."""

    counts: Labels
    """(paths,) how many rows each has"""
    values: Floats
    points: Floats
    scores: Floats
    unfinished: Mask
    """(paths,) which don't meet the goal"""
    timed_out: bool

    def paths(self, goal: Goal, effort: Effort | None) -> list[Path]:
        """Each with its outcome, its reason and, where it's known, its effort."""
        ends = np.cumsum(self.counts)
        outcomes, reasons = [Outcome.REACHED] * len(ends), ["meets the goal"] * len(ends)
        short = np.flatnonzero(self.unfinished)
        endings = zip(short.tolist(), *self._endings(short, ends[short], goal), strict=True)
        for path, outcome, reason in endings:
            outcomes[path], reasons[path] = outcome, reason
        parts = list(map(slice, (ends - self.counts).tolist(), ends.tolist()))
        rows = [
            [array[part] for part in parts] for array in (self.values, self.points, self.scores)
        ]
        if effort is None:
            return list(map(Path, outcomes, reasons, *rows))
        weighed = effort.weighed(self.values[ends - self.counts], self.values[ends - 1])
        return list(map(Path, outcomes, reasons, *rows, *weighed))

    def _endings(self, short: Labels, ends: Labels, goal: Goal) -> tuple[list[Outcome], list[str]]:
        """How the paths ended that don't meet the goal, and why."""
        steps = (self.counts[short] - 1).tolist()
        if self.timed_out:
            told = [f"the time budget ended after {taken} steps" for taken in steps]
            return [Outcome.TIMED_OUT] * len(steps), told
        stalled = (self.points[ends - 1] == self.points[ends - 2]).all(axis=1).tolist()
        scores = _shown(self.scores[ends - 1], goal)
        return (
            [Outcome.STALLED if still else Outcome.STEP_LIMIT for still in stalled],
            [
                "no allowed move is left in the cluster's direction"
                if still
                else f"the score is {score} after {taken} steps, the most allowed"
                for still, score, taken in zip(stalled, scores, steps, strict=True)
            ],
        )


def _shown(scores: Floats, goal: Goal) -> list[str]:
    """`goal.shown` of many: three decimals will do for nearly all of them."""
    short = [f"{score:.3f}" for score in scores.tolist()]
    same = goal.met(np.array(short, dtype=np.float64)) == goal.met(scores)
    for i in np.flatnonzero(~same):
        short[i] = goal.shown(scores[i])
    return short


@dataclass(frozen=True)
class Published(Planner):
    """The published planner: a direction, a step of fixed length, a look, and so on."""

    name: ClassVar[str] = "StEP.published"
    honours_rules: ClassVar[bool] = False

    noise: float
    backend: str = "numpy"

    @property
    def settings(self) -> dict[str, Any]:
        stated = {} if self.backend == "numpy" else {"tolerance": TOLERANCE[self.backend]}
        return {"noise": self.noise, "backend": self.backend, **stated}

    def reference(self, found: Floats, space: Space) -> Reference:
        points = space.to_points(found)
        return self._clustered(found, found, points, points, space)

    def answer(self, question: Question, reference: Reference) -> Answer:
        """The paths of n people, all advancing together; of their rules only the changes count."""
        draw, k = self._drawing(question, reference.slots), reference.slots
        if self.backend == "numpy":
            laid = self._laid(question, reference, draw)
        else:
            from stepladder.methods.step.on_device import lay  # it imports this file

            laid = lay(question, reference, self.parameters, self.noise, draw, self.backend)
        with uncollected():
            paths = laid.paths(question.scorer.goal, question.effort)
            return Answer([paths[i : i + k] for i in range(0, len(paths), k)])

    def _laid(self, question: Question, reference: Reference, draw: Draw | None) -> Laid:
        starts, scorer, pace = question.feasible.start, question.scorer, question.pace
        space, rules = scorer.space, Rules(scorer.space)
        k, count = reference.slots, len(starts) * reference.slots
        going = np.arange(count).reshape(-1, k).T.ravel()  # paths to one cluster stand together
        points, order = space.to_points(starts)[going // k], Order(count)
        visited, scored = [points], [question.scores[going // k]]
        order.add(going)
        timed_out = False
        for _ in range(self.parameters.max_steps):
            timed_out = pace.expired
            if timed_out or not len(going):
                break
            moves = rules.kept(self._moves(points, going % k, reference))
            if draw is not None:
                moves = rules.disturbed(moves, self.noise, draw(going))
            ahead = rules.snapped(points + moves)
            try:
                score = scorer.score_points(ahead)
            except TimeUpError:
                timed_out = True
                break
            points = ahead
            order.add(going)
            visited.append(points)
            scored.append(score)
            on = ~scorer.met(score)
            going, points = going[on], points[on]
            pace.reached(len(starts) - int(np.count_nonzero(np.bincount(going // k))))
        rows = order.joined(visited)
        values = space.to_values(rows, tidy=not scorer.takes_points)
        origin = starts.repeat(order.counts.reshape(-1, k).sum(axis=1), axis=0)
        values = np.where(np.abs(values - origin) <= space.dust, origin, values)  # hasn't moved
        unfinished = np.zeros(count, dtype=bool)
        unfinished[going] = True
        return Laid(order.counts, values, rows, order.joined(scored), unfinished, timed_out)

    def _drawing(self, question: Question, k: int) -> Draw | None:
        """Each person's noise, whoever else with another row is asked about; None without any."""
        if not self.noise:
            return None
        starts, width = question.feasible.start, question.scorer.space.width
        rows = [crc32(start.tobytes()) for start in starts]
        random = [
            np.random.default_rng((self.parameters.random_state, row, twin))
            for row, twin in zip(rows, question.twins.tolist(), strict=True)
        ]

        def draw(going: Labels) -> Floats:
            drawn = np.zeros((len(starts), k, width))
            for person in np.unique(going // k):
                drawn[person] = random[person].standard_normal((k, width))
            return drawn[going // k, going % k]

        return draw

    def _moves(self, points: Floats, cluster: Labels, reference: Reference) -> Floats:
        """Equation 1 (t, columns) toward each point's cluster, rescaled to the step size.

        `cluster` (t,) is in order.
        """
        here = np.ascontiguousarray(points[:, reference.columns])  # else norms round by company
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
