"""FACE: a chain of real rows from a person to a positive.

Poyiadzi, Sokol, Santos-Rodriguez, De Bie and Flach, "FACE: Feasible and Actionable Counterfactual
Explanations", AIES 2020, https://doi.org/10.1145/3375627.3375850.

The reference rows are the nodes of a graph that joins what is alike, and a person is led along the
lightest paths to k positives. Since every stop is somebody's row, a person can
only stop at rows that they could become: that keeps the rules, and leaves few rows to go by where
much can't change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Literal

import numpy as np

from stepladder.checks import choice, finite, whole_number
from stepladder.errors import ParameterError, PositivesError
from stepladder.methods.base import (
    TOO_LATE,
    Answer,
    Method,
    Question,
    ReferenceTable,
    standing,
)
from stepladder.methods.graphs import (
    LONGEST,
    Closeness,
    Graph,
    Indices,
    Listed,
    Nearest,
    OneWay,
    Rareness,
    Sparseness,
    Weigh,
    Within,
    nearest_ends,
)
from stepladder.methods.trails import offered
from stepladder.model.scorer import Scorer
from stepladder.result.path import Outcome
from stepladder.table.feasible import Feasible
from stepladder.table.feature import Change, Numeric
from stepladder.table.space import Floats, Mask

Kind = Literal["epsilon", "knn", "kde"]

SAMPLE = 1000
"""From how many rows the density of the KDE graph is estimated."""


class FACE(Method):
    """Feasible and Actionable Counterfactual Explanations (Poyiadzi et al., AIES 2020).

    paths               how many positives each person is led to
    graph               which rows are joined: "epsilon", those within `distance_threshold`; "knn",
                        nearest neighbours; "kde", nearest neighbours within `distance_threshold`,
                        by edges that are lighter the denser the rows between them
    distance_threshold  the longest step in "epsilon" and "kde", in standard deviations
    neighbours          how many nearest rows each row is joined to in "knn" and "kde"
    rows                how many reference rows are used, from the first on
    max_steps           how many rows a path may have
    random_state        the seed of the sample that densities are estimated from ("kde")
    checked             whether every row of a path must be one that the person could become, and
                        every step keep to the one-way features; if not, rows are joined with the
                        slips of the StEP paper's experiments: see `published`

    Learned by `fit`: `rows_`, the rows that paths go by.
    """

    def __init__(
        self,
        paths: int = 3,
        graph: Kind = "epsilon",
        distance_threshold: float = 3.0,
        neighbours: int = 50,
        rows: int = 10_000,
        max_steps: int = 50,
        random_state: int = 0,
        *,
        checked: bool = True,
    ) -> None:
        self.paths = whole_number("paths", paths, 1)
        self.graph = choice("graph", graph, ("epsilon", "knn", "kde"))
        self.distance_threshold = finite("distance_threshold", distance_threshold, above=0.0)
        if self.graph == "epsilon" and self.distance_threshold > LONGEST:
            raise ParameterError(
                f"distance_threshold must be at most {LONGEST:.2f} for the epsilon graph, whose "
                f"weight 2.024 - log(distance) is negative beyond; got {distance_threshold!r}. "
                "Use a smaller one, or graph='knn'."
            )
        self.neighbours = whole_number("neighbours", neighbours, 1)
        self.rows = whole_number("rows", rows, 1)
        self.max_steps = whole_number("max_steps", max_steps, 1)
        self.random_state = whole_number("random_state", random_state, 0)
        self.checked = bool(checked)

    @classmethod
    def published(
        cls,
        paths: int = 3,
        random_state: int = 0,
        distance_threshold: float = 3.0,
        graph: Kind = "epsilon",
    ) -> FACE:
        """As the StEP paper ran it, slips included.

        A person is joined only to rows with their own immutable values, but by a slip the length
        of that join is √(‖row - x‖² over changeable columns + ‖x‖² over immutable ones). Rows are
        joined to each other by their distance over all columns, and by another slip it isn't
        asked whether a person could make such a step. Whoever has fewer than k paths has none.
        """
        return cls(paths, graph, distance_threshold, random_state=random_state, checked=False)

    @property
    def honours_rules(self) -> bool:
        return self.checked

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "method": "FACE" if self.checked else "FACE.published",
            "paths": self.paths,
            "graph": self.graph,
            "distance_threshold": self.distance_threshold,
            "neighbours": self.neighbours,
            "rows": self.rows,
            "max_steps": self.max_steps,
            "random_state": self.random_state,
            "checked": self.checked,
        }

    # ---- fit ------------------------------------------------------------------------------

    def learn(self, table: ReferenceTable) -> None:
        space, values, ends = table.space, table.values[: self.rows], table.positive[: self.rows]
        if self.checked:
            values, ends = _stops(table.scorer, values, ends)
        if not ends.any():
            raise PositivesError(
                f"None of the first {self.rows} reference rows is a positive to lead a person to. "
                "Raise rows=, shuffle the reference rows, or lower the goal."
            )
        points = space.to_points(values)
        one_way = OneWay(
            rising=space.columns_of(lambda f: self.checked and f.change is Change.INCREASE),
            falling=space.columns_of(lambda f: self.checked and f.change is Change.DECREASE),
        )
        rows = Rows(values, points, ends, self._weigh(points), one_way)
        self.everywhere_ = None if self.checked else self._nearest(rows, slice(None))
        self.rows_ = rows

    def _weigh(self, points: Floats) -> Weigh:
        if self.graph == "knn":
            return Sparseness(self.neighbours, len(points))
        if self.graph == "kde":
            rng = np.random.default_rng(self.random_state)
            return Rareness(points[rng.permutation(len(points))[:SAMPLE]])
        return Closeness()

    def _nearest(self, rows: Rows, members: Indices | slice) -> Nearest:
        """The positives nearest to each of some rows, going by those rows only."""
        points = rows.points[members]
        graph: Graph
        if self.graph == "epsilon":
            graph = Within(points, self.distance_threshold, rows.one_way)
        else:
            longest = np.inf if self.graph == "knn" else self.distance_threshold
            graph = Listed.nearby(points, self.neighbours, longest, rows.weigh, rows.one_way)
        return nearest_ends(graph, rows.ends[members], self.paths)

    # ---- recourse -------------------------------------------------------------------------

    def answer(self, question: Question) -> Answer:
        feasible, scores, pace = question.feasible, question.scores, question.pace
        trails: list[list[Floats]] = []
        find = self._trails if self.checked else self._published_trails
        for i in range(len(feasible)):
            if pace.expired:
                break
            person = feasible.take(slice(i, i + 1))
            trails.append(find(person))
            pace.reached(i + 1)
        done = len(trails)
        paths, dropped = offered(
            feasible.take(slice(done)),
            scores[:done],
            trails,
            self.scorer_,  # about a few rows, which are in time to be shown
            self.paths,
            checked=self.checked,
            reason=(
                "no chain of reference rows that this person could become leads to a positive"
                if self.checked
                else f"fewer than {self.paths} positives can be reached along reference rows"
            ),
        )
        for start, score in zip(feasible.start[done:], scores[done:], strict=True):
            path = standing(self.space_, start, score, Outcome.TIMED_OUT, TOO_LATE)
            paths.append([path] * self.paths)
        return Answer(paths, dropped)

    def _trails(self, person: Feasible) -> list[Floats]:
        """The lightest paths by rows that the person could become."""
        rows, point = self.rows_, self.space_.to_points(person.start)
        lower, upper = person.limits
        # What never changes, and what is locked; what follows from the rest is worked out.
        fixed = (lower == upper)[0] & ~self.space_.links.linked
        profile = person.start[0, fixed]
        alike = np.flatnonzero((rows.values[:, fixed] == profile).all(axis=1))
        key = fixed.tobytes() + profile.tobytes()
        nearest = rows.known.get(key)
        if nearest is None:
            nearest = rows.known[key] = self._nearest(rows, alike)
        entries = np.flatnonzero(person.keeps(person.complete(rows.values[alike])))
        heads = rows.points[alike[entries]]
        joined, weights = self._joins(point, heads, np.linalg.norm(heads - point, axis=1))
        found = nearest.lightest(entries[joined], weights)
        return [rows.points[alike[path]] for path in found if len(path) <= self.max_steps]

    def _published_trails(self, person: Feasible) -> list[Floats]:
        """The lightest paths by any rows at all, beginning at one with the person's immutables."""
        assert self.everywhere_ is not None
        rows, point = self.rows_, self.space_.to_points(person.start)
        never = [feature.change is Change.NEVER for feature in self.space_.schema.features]
        entries = np.flatnonzero((rows.values[:, never] == person.start[:, never]).all(axis=1))
        heads = rows.points[entries]
        slipped = np.where(self.space_.changeable, heads - point, point)
        joined, weights = self._joins(point, heads, np.linalg.norm(slipped, axis=1))
        found = self.everywhere_.lightest(entries[joined], weights)
        if len(found) < self.paths or max(map(len, found)) > self.max_steps:
            return []
        return [rows.points[path] for path in found]

    def _joins(self, point: Floats, heads: Floats, lengths: Floats) -> tuple[Indices, Floats]:
        """Which of the rows at points (e, columns) a person is joined to, and how heavily."""
        joined = np.flatnonzero(lengths > 0)
        if self.graph != "knn":
            joined = joined[lengths[joined] <= self.distance_threshold]
        if self.graph != "epsilon":
            joined = joined[lengths[joined].argsort(kind="stable")[: self.neighbours]]
        tails = np.broadcast_to(point, (len(joined), point.shape[1]))
        return joined, self.rows_.weigh(tails, heads[joined], lengths[joined])


class Memo(dict[bytes, Nearest]):
    """What can be worked out again, so it isn't pickled and the oldest gives way to the newest."""

    MOST = 256
    LOCK = Lock()  # people may ask from many threads

    def __setitem__(self, key: bytes, value: Nearest) -> None:
        with self.LOCK:
            while len(self) >= self.MOST:
                del self[next(iter(self))]
            super().__setitem__(key, value)

    def __reduce__(self) -> tuple[type[Memo], tuple[()]]:
        return Memo, ()


@dataclass(frozen=True, eq=False)
class Rows:
    """The reference rows that paths go by, and how they may be joined."""

    values: Floats
    """(n, features)"""
    points: Floats
    """(n, columns)"""
    ends: Mask
    """(n,) the positives"""
    weigh: Weigh
    one_way: OneWay
    known: Memo = field(default_factory=Memo)
    """what was worked out for rows with the same fixed values, for the next person with them"""


def _stops(scorer: Scorer, values: Floats, ends: Mask) -> tuple[Floats, Mask]:
    """The rows that somebody could be shown, as they would be, and which of them are positives."""
    shown, inside = scorer.space.grid.nearest(values), np.ones(len(values), dtype=bool)
    other = (shown != values).any(axis=1)
    ends = ends.copy()
    ends[other] &= scorer.yes(scorer.score(shown[other]), shown[other])
    for f, feature in enumerate(scorer.space.schema.features):
        if isinstance(feature, Numeric):
            low, high = feature.limits
            inside &= (low <= shown[:, f]) & (shown[:, f] <= high)
    return shown[inside], ends[inside]
